//! Keeps the queue inside a serial driver short.
//!
//! A UART driver accepts a page of bytes at once. At 9600 bit/s that is four seconds in which a retransmission,
//! or a cancel, waits behind data. The driver cannot be told to accept less, but the rate is known, so we can
//! compute how much is still queued.

use std::time::{Duration, Instant};

/// Maximum time of data queued in the driver.
const AHEAD: Duration = Duration::from_millis(60);
/// Minimum bytes that may be queued: a UART's FIFO, and a write worth its system call.
const AT_LEAST: usize = 16;

/// Models the queue of a serial line with a known rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    character: Duration,
    /// When the driver's queue is empty, if nothing delays it.
    empty_at: Option<Instant>,
}

impl Pace {
    /// A line of `baud` bits per second, `bits` of them for a character.
    pub(crate) fn new(baud: u32, bits: u32) -> Self {
        let nanos = u64::from(bits) * 1_000_000_000 / u64::from(baud.max(1));
        Self { character: Duration::from_nanos(nanos), empty_at: None }
    }

    fn queued(&self, now: Instant) -> Duration {
        self.empty_at.map_or(Duration::ZERO, |at| at.saturating_duration_since(now))
    }

    /// Bytes that may be given to the driver now.
    pub(crate) fn room(&self, now: Instant) -> usize {
        let queued = self.queued(now);
        let free = AHEAD.saturating_sub(queued).as_nanos() / self.character.as_nanos().max(1);
        let free = usize::try_from(free).unwrap_or(usize::MAX);
        if queued.is_zero() { free.max(AT_LEAST) } else { free }
    }

    /// The driver accepted this many bytes.
    pub(crate) fn took(&mut self, now: Instant, bytes: usize) {
        let time = self.character.saturating_mul(u32::try_from(bytes).unwrap_or(u32::MAX));
        self.empty_at = Some(now + self.queued(now) + time);
    }

    /// Time until half of the room is free again.
    pub(crate) fn rest(&self, now: Instant) -> Duration {
        self.queued(now).saturating_sub(AHEAD / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes as much as there is room for, as the loop does, for `time`; returns the number of bytes sent.
    fn written(baud: u32, time: Duration) -> (usize, Duration) {
        let start = Instant::now();
        let (mut pace, mut now, mut bytes, mut longest) =
            (Pace::new(baud, 10), start, 0, Duration::ZERO);
        while now < start + time {
            let room = pace.room(now);
            if room > 0 {
                pace.took(now, room);
                bytes += room;
            }
            longest = longest.max(pace.queued(now));
            now += pace.rest(now).max(Duration::from_millis(1));
        }
        (bytes, longest)
    }

    #[test]
    fn the_line_never_starves_and_the_queue_stays_short() {
        for baud in [300, 1200, 9600, 115_200, 3_000_000] {
            let (bytes, longest) = written(baud, Duration::from_secs(20));
            let carried = baud as usize / 10 * 20;
            assert!(bytes >= carried, "{baud}: {bytes} of {carried}");
            let most = AHEAD.max(Duration::from_millis(1000 * 10 * 16 / u64::from(baud)));
            assert!(longest <= most + Duration::from_millis(1), "{baud}: {longest:?}");
        }
    }
}
