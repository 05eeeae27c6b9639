//! How much may be in flight on a line of unknown rate.
//!
//! A stream fills a socket, and what the socket holds cannot be recalled: behind a fast
//! socket there may be a slow line, and an error on it costs the time of everything in flight.
//! So nothing is assumed of such a line. Acknowledgements are requested regularly (ZCRCQ),
//! and the bandwidth-delay product of the line follows from them (bytes per time, and the minimum
//! RTT). A line that turns out to be fast is left alone: acknowledgements would cost it
//! more than its errors do.
//!
//! Positions are those of the file. Where it is compressed on the way, what that saves is taken off: windows and rates are of
//! bytes on the line.

use super::packet::PACKS;
use crate::time::{Duration, Instant};

/// Bytes that may be in flight before anything is known, and on a line without errors.
const FIRST: u64 = 2048;
/// Least window on a line with errors; less is all overhead.
const LEAST: u64 = 512;
/// Bytes beyond what the line holds, so that one subpacket and its acknowledgement fit too.
const BESIDE: u64 = 64;
/// A line with this many bytes per second empties any socket at once.
const FAST: u64 = 500_000;
/// Most outstanding acknowledgement requests.
const PROBES: usize = 12;

/// A requested acknowledgement.
#[derive(Clone, Copy, Debug)]
struct Probe {
    position: u64,
    /// When it was requested.
    asked: Instant,
    /// The acknowledged position at that time.
    acked: u64,
    /// Bytes saved before `position`, and before what was acknowledged at that time.
    saved: u64,
    acked_saved: u64,
}

/// Limits the bytes in flight by the acknowledged rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Governor {
    /// Bytes that may be in flight; `None` is unlimited.
    window: Option<u64>,
    /// Bytes per second that the line has carried.
    rate: u64,
    shortest: Option<Duration>,
    /// Something was lost before.
    was_hit: bool,
    /// Bytes that compression has saved so far.
    saved: u64,
    /// Where the stream began, or the last requested acknowledgement that came; and what was saved before it.
    acked: u64,
    acked_saved: u64,
    /// What was saved before the last request.
    asked_saved: u64,
    probes: [Option<Probe>; PROBES],
}

impl Governor {
    /// Governs, or leaves the line alone permanently.
    pub(crate) fn new(governs: bool) -> Self {
        Self {
            window: governs.then_some(FIRST),
            rate: 0,
            shortest: None,
            was_hit: false,
            saved: 0,
            acked: 0,
            acked_saved: 0,
            asked_saved: 0,
            probes: [None; PROBES],
        }
    }

    /// Bytes that may be in flight; `None` is unlimited.
    pub(crate) fn window(&self) -> Option<u64> {
        self.window
    }

    /// An acknowledgement of `position` is requested, with `acked` acknowledged.
    pub(crate) fn asked(&mut self, position: u64, acked: u64, now: Instant) {
        let Self { saved, acked_saved, .. } = *self;
        self.asked_saved = saved;
        if let Some(slot) = self.probes.iter_mut().find(|probe| probe.is_none()) {
            *slot = Some(Probe { position, asked: now, acked, saved, acked_saved });
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
        let Some(Probe { asked, acked, saved, acked_saved, .. }) = found else { return };
        if PACKS {
            self.acked = position;
            self.acked_saved = saved;
        }
        let took = (now - asked).max(Duration::from_micros(1));
        let shortest = [self.shortest, answer].into_iter().flatten().fold(took, Duration::min);
        self.shortest = Some(shortest);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX).max(1);
        let saved = if PACKS { saved - acked_saved } else { 0 };
        let carried = position.saturating_sub(acked).saturating_sub(saved);
        let sample = carried.saturating_mul(1_000_000) / micros;
        // A growing rate may grow further: it was limited by the window.
        let grows = !self.was_hit && sample > self.rate + self.rate / 4;
        self.rate = if sample > self.rate { sample } else { (self.rate * 7 + sample) / 8 };
        if self.window.is_some() {
            let quarters = if grows { 12 } else { self.quarters() };
            self.window = (self.rate < FAST).then(|| self.fitting(quarters));
        }
    }

    /// Acknowledgement requests per window. Many on a line with errors:
    /// the window may be smaller then.
    pub(crate) fn parts(&self) -> u64 {
        if self.was_hit { 8 } else { 4 }
    }

    /// The window in quarters of the bandwidth-delay product. Between two acknowledgements a part of the
    /// window is idle.
    fn quarters(&self) -> u64 {
        if self.was_hit { 4 } else { 6 }
    }

    /// The bandwidth-delay product, `quarters / 4` times.
    fn fitting(&self, quarters: u64) -> u64 {
        let shortest = self.shortest.unwrap_or(Duration::ZERO).as_micros();
        let micros = u64::try_from(shortest).unwrap_or(u64::MAX);
        let held = self.rate.saturating_mul(micros) / 1_000_000;
        let least = if self.was_hit { LEAST } else { FIRST };
        (held.saturating_mul(quarters) / 4 + BESIDE).max(least)
    }

    /// Compression has saved this many of the bytes that are sent now.
    pub(crate) fn saves(&mut self, bytes: u64) {
        if PACKS {
            self.saved += bytes;
        }
    }

    /// Bytes on the line of what is sent up to `position` and not acknowledged: `acked` is.
    pub(crate) fn in_flight(&self, position: u64, acked: u64) -> u64 {
        match self.saved - self.acked_saved {
            _ if !PACKS => position.saturating_sub(acked),
            0 => position.saturating_sub(acked),
            saved => position.saturating_sub(self.acked).saturating_sub(saved),
        }
    }

    /// Bytes on the line from the last request, at `asked`, to `position`.
    pub(crate) fn since_request(&self, position: u64, asked: u64) -> u64 {
        let saved = if PACKS { self.saved - self.asked_saved } else { 0 };
        position.saturating_sub(asked).saturating_sub(saved)
    }

    /// How long this many bytes take to arrive; `None` while unknown.
    pub(crate) fn time_of(&self, bytes: u64) -> Option<Duration> {
        Some(Duration::from_micros(bytes.saturating_mul(1_000_000).checked_div(self.rate)?))
    }

    /// Whether the line has turned out to be slow.
    pub(crate) fn is_slow(&self) -> bool {
        self.window.is_some() && self.rate > 0
    }

    /// What is in flight is considered lost.
    pub(crate) fn forget(&mut self) {
        self.probes = [None; PROBES];
    }

    /// The stream begins at `position`, or goes on there.
    pub(crate) fn begin(&mut self, position: u64) {
        if !PACKS {
            return;
        }
        self.acked = position;
        self.acked_saved = self.saved;
        self.asked_saved = self.saved;
        if self.saved > 0 {
            // What was saved on the way to these positions will be saved again.
            self.probes = [None; PROBES];
        }
    }

    /// A loss: the line is governed from now on, whatever was configured.
    pub(crate) fn hit(&mut self) {
        self.was_hit = true;
        self.forget();
        let now = self.window.unwrap_or(FIRST);
        let fitting =
            if self.rate == 0 { (now / 2).max(LEAST) } else { self.fitting(self.quarters()) };
        self.window = Some(self.window.map_or(fitting, |window| window.min(fitting)));
    }
}
