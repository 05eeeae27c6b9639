//! How much may be under way on a line of unknown rate.
//!
//! A stream into a socket fills it, and what the socket holds cannot be taken back: behind a fast
//! socket there may be a slow line, and an error on that costs the time of everything under way.
//! So nothing is assumed of such a line. Acknowledgements are requested regularly (ZCRCQ),
//! and from what they say (bytes per time, and the shortest round trip) follows what the line
//! itself holds. A line that turns out to be fast is left alone: acknowledgements would cost it
//! more than its errors do.

use crate::time::{Duration, Instant};

/// Bytes that may be under way before anything is known, and on a line that is not hit.
const FIRST: u64 = 2048;
/// Less than this is all overhead, on a line that is hit.
const LEAST: u64 = 512;
/// Bytes beyond what the line holds, so that one subpacket and its acknowledgement fit too.
const BESIDE: u64 = 64;
/// A line with this many bytes per second empties any socket at once.
const FAST: u64 = 500_000;
/// Acknowledgements that may be awaited at a time.
const PROBES: usize = 12;

/// An acknowledgement that was asked for.
#[derive(Clone, Copy, Debug)]
struct Probe {
    position: u64,
    /// When it was asked for.
    asked: Instant,
    /// What had been acknowledged then.
    acked: u64,
}

/// Bounds what is under way by what is acknowledged per time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Governor {
    /// Bytes that may be under way; `None` is no bound.
    window: Option<u64>,
    /// Bytes per second that the line has carried.
    rate: u64,
    shortest: Option<Duration>,
    /// Something was lost before.
    was_hit: bool,
    probes: [Option<Probe>; PROBES],
}

impl Governor {
    /// Governs, or leaves the line alone for good.
    pub(crate) fn new(governs: bool) -> Self {
        let window = governs.then_some(FIRST);
        Self { window, rate: 0, shortest: None, was_hit: false, probes: [None; PROBES] }
    }

    /// Bytes that may be under way; `None` is no bound.
    pub(crate) fn window(&self) -> Option<u64> {
        self.window
    }

    /// An acknowledgement of `position` is asked for, `acked` being acknowledged.
    pub(crate) fn asked(&mut self, position: u64, acked: u64, now: Instant) {
        if let Some(slot) = self.probes.iter_mut().find(|probe| probe.is_none()) {
            *slot = Some(Probe { position, asked: now, acked });
        }
    }

    /// `position` is acknowledged. `answer` is the shortest answer to anything so far.
    pub(crate) fn acknowledged(&mut self, position: u64, answer: Option<Duration>, now: Instant) {
        let mut found = None;
        for slot in &mut self.probes {
            if let Some(probe) = slot.take_if(|probe| probe.position <= position) {
                found = if probe.position == position { Some(probe) } else { found };
            }
        }
        let Some(Probe { asked, acked, .. }) = found else { return };
        let took = (now - asked).max(Duration::from_micros(1));
        let shortest = [self.shortest, answer].into_iter().flatten().fold(took, Duration::min);
        self.shortest = Some(shortest);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX).max(1);
        let sample = position.saturating_sub(acked).saturating_mul(1_000_000) / micros;
        // What grows may grow further: the window was what held it back.
        let grows = !self.was_hit && sample > self.rate + self.rate / 4;
        self.rate = if sample > self.rate { sample } else { (self.rate * 7 + sample) / 8 };
        if self.window.is_some() {
            let quarters = if grows { 12 } else { self.quarters() };
            self.window = (self.rate < FAST).then(|| self.fitting(quarters));
        }
    }

    /// How often in a window an acknowledgement is to be asked for. Where the line is hit, often:
    /// the window may be smaller then.
    pub(crate) fn parts(&self) -> u64 {
        if self.was_hit { 8 } else { 4 }
    }

    /// The window in quarters of what the line holds. Between two acknowledgements a part of the
    /// window is idle.
    fn quarters(&self) -> u64 {
        if self.was_hit { 4 } else { 6 }
    }

    /// What the line holds, `quarters / 4` times.
    fn fitting(&self, quarters: u64) -> u64 {
        let shortest = self.shortest.unwrap_or(Duration::ZERO).as_micros();
        let micros = u64::try_from(shortest).unwrap_or(u64::MAX);
        let held = self.rate.saturating_mul(micros) / 1_000_000;
        let least = if self.was_hit { LEAST } else { FIRST };
        (held.saturating_mul(quarters) / 4 + BESIDE).max(least)
    }

    /// How long this many bytes take to arrive; `None` while unknown.
    pub(crate) fn time_of(&self, bytes: u64) -> Option<Duration> {
        Some(Duration::from_micros(bytes.saturating_mul(1_000_000).checked_div(self.rate)?))
    }

    /// What is under way is not counted on any more.
    pub(crate) fn forget(&mut self) {
        self.probes = [None; PROBES];
    }

    /// Something was lost: whatever was said of the line, it is governed from now on.
    pub(crate) fn hit(&mut self) {
        self.was_hit = true;
        self.probes = [None; PROBES];
        let now = self.window.unwrap_or(FIRST);
        let fitting =
            if self.rate == 0 { (now / 2).max(LEAST) } else { self.fitting(self.quarters()) };
        self.window = Some(self.window.map_or(fitting, |window| window.min(fitting)));
    }
}
