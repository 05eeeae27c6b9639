//! Keeps the queue inside a serial driver short.
//!
//! A UART driver takes a page of bytes at once. At 9600 bps that is four seconds in which a
//! repeated packet, or the message that a person has given up, waits behind data. The driver can
//! not be told to take less, but the rate is known, so we can know how much is still in it.

use std::time::{Duration, Instant};

/// How much of the line's time may be queued in the driver.
const AHEAD: Duration = Duration::from_millis(60);
/// Bytes that may be queued in any case: a UART's FIFO, and a write worth its system call.
const AT_LEAST: usize = 16;

/// What a serial line of a known rate still has to send of what it was given.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    character: Duration,
    /// When the driver's queue is empty, if nothing holds it up.
    empty_at: Option<Instant>,
}

impl Pace {
    /// A line of `baud` bits per second, `bits` of them for a character.
    pub(super) fn new(baud: u32, bits: u32) -> Self {
        let nanos = u64::from(bits) * 1_000_000_000 / u64::from(baud.max(1));
        Self { character: Duration::from_nanos(nanos), empty_at: None }
    }

    fn queued(&self, now: Instant) -> Duration {
        self.empty_at.map_or(Duration::ZERO, |at| at.saturating_duration_since(now))
    }

    /// How many bytes the driver should be given now.
    pub(super) fn room(&self, now: Instant) -> usize {
        let queued = self.queued(now);
        let free = AHEAD.saturating_sub(queued).as_nanos() / self.character.as_nanos().max(1);
        let free = usize::try_from(free).unwrap_or(usize::MAX);
        if queued.is_zero() { free.max(AT_LEAST) } else { free }
    }

    /// The driver took so many bytes.
    pub(super) fn took(&mut self, now: Instant, bytes: usize) {
        let time = self.character.saturating_mul(u32::try_from(bytes).unwrap_or(u32::MAX));
        self.empty_at = Some(now + self.queued(now) + time);
    }

    /// How long until half of the room is free again.
    pub(super) fn rest(&self, now: Instant) -> Duration {
        self.queued(now).saturating_sub(AHEAD / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes as much as there is room for, as the loop does, for `time`; returns how much went.
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
