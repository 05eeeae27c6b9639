//! How long to wait for an answer.
//!
//! The wait follows the measured round trip (RFC 6298's estimator), only from packets that were
//! sent once, so that an answer is never credited to the wrong copy. It starts from what the line
//! rate makes possible.

use crate::session::AnswerTimeout;
use crate::time::{Duration, Instant};

/// The wait for one answer, learnt from the answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketTimeout {
    timeout: AnswerTimeout,
    /// The most bytes that were in flight for a measurement.
    longest: u64,
    /// When the oldest packet was last acknowledged, and the smoothed time for each packet between two of those.
    advanced: Option<Instant>,
    spacing: Duration,
}

/// The shortest wait: schedulers and terminal drivers pause for as long as this.
const FLOOR: Duration = Duration::from_millis(400);

impl PacketTimeout {
    pub(crate) fn new(initial: Duration, ceiling: Duration) -> Self {
        Self {
            timeout: AnswerTimeout::new(initial, ceiling),
            longest: 0,
            advanced: None,
            spacing: Duration::ZERO,
        }
    }

    /// A packet sent once was answered after `rtt`; this many bytes were in flight then, itself
    /// among them, in a window of this many packets.
    pub(crate) fn sample(&mut self, rtt: Duration, bytes: u64, window: u8) {
        self.longest = self.longest.max(bytes);
        let smoothed = self.timeout.rtt.sample(rtt, 8);
        self.timeout.set(self.usual(smoothed, window));
    }

    /// The timeout in the absence of errors.
    fn usual(&self, smoothed: Duration, window: u8) -> Duration {
        // In a window the peer, or later packets, report a loss before any
        // timer, and an unnecessary retransmission costs the whole packet.
        let wait = match window {
            0 | 1 => smoothed + self.timeout.rtt.variation() * 4,
            _ => smoothed * 3 + self.timeout.rtt.variation() * 4,
        };
        wait.clamp(FLOOR, self.timeout.ceiling.max(smoothed * 2))
    }

    /// The peer answered, with a refusal or with what came damaged: then it was noise for which we
    /// waited, and waits need not become longer. An acknowledgement tells less, since it may be of a
    /// copy that left before the one for which we waited too short.
    pub(crate) fn was_noise(&mut self, window: u8) {
        if let Some(smoothed) = self.timeout.rtt.smoothed() {
            self.timeout.set(self.timeout.get().min(self.usual(smoothed, window)));
        }
    }

    /// A timeout: the next one is longer, until something is measured again.
    pub(crate) fn timed_out(&mut self) {
        self.timeout.back_off(4);
    }

    /// How long to wait for an answer from the moment the packet has left, with this many bytes in
    /// way then.
    ///
    /// With more of them than were ever measured, the wait grows in proportion: at worst all of the
    /// time that was measured is the time that a slow stretch after the port takes for each byte.
    pub(crate) fn wait(&self, bytes: u64) -> Duration {
        if self.longest == 0 || bytes <= self.longest {
            return self.timeout.get();
        }
        let nanos = self.timeout.get().as_nanos() * u128::from(bytes) / u128::from(self.longest);
        let grown = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        grown.min(self.timeout.longest())
    }

    /// The oldest packets, this many, were acknowledged.
    pub(crate) fn advanced(&mut self, packets: u64, now: Instant) {
        if let Some(before) = self.advanced {
            let each = (now - before) / u32::try_from(packets.max(1)).unwrap_or(u32::MAX);
            self.spacing =
                if self.spacing.is_zero() { each } else { (self.spacing * 3 + each) / 4 };
        }
        self.advanced = Some(now);
    }

    /// Until when a packet that left at `left` may be behind others, as acknowledgements come now: a port may have
    /// taken a whole window, and pass it on for longer than any round trip that was measured (RFC 6298 restarts its
    /// timer at each of them for that).
    pub(crate) fn behind_others(&self, left: Instant) -> Option<Instant> {
        let advanced = self.advanced.filter(|advanced| *advanced > left)?;
        Some(advanced + (self.spacing * 4).min(self.timeout.ceiling))
    }

    /// A round trip that is certainly not longer than the real one: an answer that comes sooner
    /// after a packet cannot be about that packet. Zero before the first measurement.
    pub(crate) fn soonest(&self) -> Duration {
        self.timeout.rtt.smoothed().map_or(Duration::ZERO, |smoothed| {
            (smoothed / 4 * 3).min(smoothed.saturating_sub(self.timeout.rtt.variation()))
        })
    }

    /// The minimum RTT measured, if any: without queueing.
    pub(crate) fn shortest(&self) -> Option<Duration> {
        self.timeout.rtt.shortest()
    }

    /// The measured round trip, if any.
    pub(crate) fn smoothed(&self) -> Option<Duration> {
        self.timeout.rtt.smoothed()
    }
}
