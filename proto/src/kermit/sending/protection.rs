//! How much error correction packets get, from what the receiver says of their errors (the module `correction`).
//!
//! Nothing until a packet is lost. Then enough for many errors, until acknowledgements tell how many there are: as many
//! wrong characters in a code word as the worst of the last packets had, and some more if that was many.

use super::{Core, Mem, slot_of};
use crate::engine::Cx;
use crate::kermit::bundle::{CAREFUL, PROBE, TRIED};
use crate::kermit::correction::packet::{self, Form};
use crate::kermit::correction::{IS_BUILT, parity_for};
use crate::kermit::packet::{LONG_HEADER, kind};
use crate::kermit::probe::ProbeState;
use crate::trace::{Again, TraceEvent};

/// Wrong characters in a code word that the first packets stand, before anything is known: on a line that lost a packet
/// early, and on one that carried this many bytes before it did.
const FIRST: [usize; 2] = [5, 2];
const CARRIED: u64 = 5000;
/// Length of the first packet of those, and of those that were never too long: they have bursts or single errors in
/// every code word, and their header is half a percent.
const LENGTHS: [usize; 2] = [600, 2400];
const LONGEST: usize = 6700;
/// Times longer the next packet is after each that came.
const GROWTH: usize = 2;
/// Times that codes are tried which did not pass the first time: noise may have been the reason.
const TRIES: u32 = 3;
/// Parts of a worst case, so that it is forgotten slowly.
const PARTS: usize = 16;
/// From this many wrong characters in a code word on they are no bursts that overlap, and the worst varies more.
const MANY: usize = 3;
/// Bytes between errors from which on the first packet that is lost costs less than parity symbols until then.
const RARE: u64 = 20_000;
/// Wrong characters in a code word that the first packets stand on such a line. More cost more than 1 % of a line that is clean by
/// now, and fewer, in longer packets, are lost on one that has become worse.
const EXPECTED: usize = 3;
/// Bytes that have one more wrong character than [`EXPECTED`] if errors are that far apart.
const DENSE: u64 = 200;
/// Packets after which one is forgotten in which characters were lost or added.
const FORGOTTEN: u32 = 32;
/// Packets in a row without an error that end it.
const CALM: u32 = 64;
/// Packets that show whether it costs more than it saves; and those that go without if it does, twice as many the next time.
const SHOWN: u32 = 16;
const REST: u32 = 64;
/// Characters of a data field that a code word has about, and what a header is longer than that of a packet without.
const WORD: usize = 200;
const HEADER: usize = 16;

/// What is known of errors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Protection {
    /// Parity symbols of a code word; 0: packets go without.
    parity: usize,
    /// Wrong characters in the worst code word of the last packets, in parts.
    worst: usize,
    /// What the first packets stand.
    least: usize,
    length: usize,
    /// Packets in a row that had no error.
    calm: u32,
    /// The packet in which the codes are tried that a careful sender leaves out, and how often that has failed.
    tried_in: Option<u64>,
    failures: u32,
    /// Packets came with errors.
    has_errors: bool,
    /// Packets to which characters were added, or of which some were lost: after such a place all is wrong. It is forgotten
    /// by packets that come, and the second one ends error correction.
    misplaced: u32,
    is_off: bool,
    /// Packets with error correction, the characters that it took, and those of the packets that came only by it.
    shown: u32,
    cost: usize,
    saved: usize,
    /// Packets that still go without because it cost more than it saved, and how many the next time.
    rest: u32,
    next_rest: u32,
}

/// A copy of a data packet in the queue.
pub(super) struct Queued {
    /// Where it ends in the stream.
    pub(super) leaves_at: u64,
    pub(super) len: usize,
    /// How it is written, if it has error correction.
    pub(super) form: Option<Form>,
}

/// Wrong characters to prepare for where the worst code word had this many.
const fn prepared(worst: usize) -> usize {
    match worst {
        0 | 1 => 1,
        2 | 3 => 3,
        4 => 4,
        _ => worst + (worst + 1) / 3,
    }
}

impl Protection {
    pub(super) const fn new() -> Self {
        Self {
            parity: 0,
            worst: 0,
            least: 0,
            length: LENGTHS[0],
            calm: 0,
            tried_in: None,
            failures: 0,
            has_errors: false,
            misplaced: 0,
            is_off: false,
            shown: 0,
            cost: 0,
            saved: 0,
            rest: 0,
            next_rest: REST,
        }
    }

    /// Errors are expected after about this many bytes.
    fn expect(&mut self, spacing: u64) {
        self.failed(0, 0);
        self.least = EXPECTED + (DENSE / spacing).min(6) as usize;
        self.parity = parity_for(self.least);
    }

    /// The line is cleaner than it was known to be: packets go without.
    pub(super) fn expect_none(&mut self) {
        self.parity = 0;
    }

    /// A packet was lost that had this many parity symbols, after this many bytes that came through.
    fn failed(&mut self, parity: usize, carried: u64) {
        self.calm = 0;
        if self.is_off || self.rest > 0 {
            return;
        }
        if self.parity == 0 {
            let kind = usize::from(carried > CARRIED);
            self.least = FIRST[kind];
            self.worst = 0;
            self.length = LENGTHS[kind];
            self.parity = parity_for(self.least);
        } else if parity >= self.parity {
            self.parity = parity_for(parity / 2 + parity / 4 + 1);
            self.worst = self.parity / 2 * PARTS;
            // Perhaps it was not errors, but one character more or less.
            self.length = (self.length / 2).max(LENGTHS[0]);
        }
    }

    /// A packet came to which characters were added, or of which some were lost.
    pub(super) fn misplaced(&mut self) {
        self.misplaced += FORGOTTEN;
        self.length = LENGTHS[0];
        if self.misplaced > FORGOTTEN {
            self.is_off = true;
            self.parity = 0;
        }
    }

    /// A packet came through.
    pub(super) fn passed(&mut self) {
        self.misplaced = self.misplaced.saturating_sub(1);
        self.rest = self.rest.saturating_sub(1);
    }

    /// A packet of this length came, which had this many parity symbols in each code word.
    fn weigh(&mut self, is_saved: bool, len: usize, parity: usize) {
        self.shown += 1;
        self.cost += len.div_ceil(WORD) * parity + HEADER;
        self.saved += if is_saved { len } else { 0 };
        if self.shown < SHOWN {
            return;
        }
        if self.cost > self.saved {
            self.rest = self.next_rest;
            self.next_rest = self.next_rest.saturating_mul(2);
            self.parity = 0;
        }
        self.shown = 0;
        self.cost = 0;
        self.saved = 0;
    }

    /// A packet of this length came with this many wrong characters in its worst code word.
    fn came(&mut self, errors: usize, len: usize) {
        self.calm = if errors == 0 { self.calm + 1 } else { 0 };
        self.has_errors |= errors > 0;
        let wrong = if self.length < LONGEST {
            // A few code words do not show how many errors the worst of many has.
            if len * GROWTH >= self.length && self.misplaced == 0 {
                self.length = (self.length * GROWTH).min(LONGEST);
            }
            self.worst = self.worst.max(errors * PARTS);
            let seen = self.worst.div_ceil(PARTS);
            self.least.max(prepared(seen) + if seen < MANY { 1 } else { 2 })
        } else {
            let forgotten = if self.worst > MANY * PARTS { 8 } else { 4 };
            self.worst = (errors * PARTS).max(self.worst - self.worst.div_ceil(forgotten));
            prepared(self.worst.div_ceil(PARTS))
        };
        self.parity = if self.calm >= CALM { 0 } else { parity_for(wrong) };
    }
}

impl Core {
    /// Room in the data field of a packet, of which this much the limits allow.
    pub(super) fn protected_room(&self, most: usize) -> usize {
        if !IS_BUILT || !self.link.agreed.correction {
            return most;
        }
        // So that a copy with parity symbols still fits.
        let most = most * 3 / 4;
        if self.protection.parity > 0 { most.min(self.protection.length) } else { most }
    }

    /// Whether the length of packets is chosen here.
    pub(super) fn is_protecting(&self) -> bool {
        IS_BUILT && self.protection.parity > 0
    }

    /// Corrects errors from the start on a line that is known to have many.
    pub(super) fn protect_known(&mut self) {
        let spacing = u64::from(self.link.config.known_spacing);
        if IS_BUILT && self.link.agreed.correction && (1..RARE).contains(&spacing) {
            self.protection.expect(spacing);
        }
    }

    /// A copy of a data packet was lost. If only its acknowledgement may be, that says nothing.
    pub(super) fn protected_lost(&mut self, number: u64, why: Again) {
        if !IS_BUILT || !self.link.agreed.correction || why == Again::Timeout {
            return;
        }
        self.protection
            .failed(self.flight.slot(number).parity.into(), self.lengths.bytes_carried());
        if self.protection.tried_in == Some(number) {
            self.protection.tried_in = None;
            self.protection.failures += 1;
        }
    }

    /// The receiver tells of the errors that a packet had.
    pub(super) fn protected_came(&mut self, cx: &mut Cx<'_>, number: u64, errors: u8) {
        if errors > 0 {
            self.hits += 1;
            self.lengths.confirm();
            let value = u64::from(errors);
            cx.trace.record(cx.now, &TraceEvent::Value { name: "mended", value });
        }
        if !IS_BUILT || self.protection.parity == 0 {
            return;
        }
        let slot = *self.flight.slot(number);
        self.protection.came(usize::from(errors), slot.data);
        if slot.parity > 0 {
            self.protection.weigh(errors > 0, slot.data, slot.parity.into());
        }
        let value = self.protection.parity as u64;
        cx.trace.record(cx.now, &TraceEvent::Value { name: "parity", value });
        if self.protection.tried_in == Some(number) {
            self.link.bare = ProbeState::Passed;
        }
    }

    /// The alphabet of a copy of a packet whose data field has this one. What was lost with the first try of all codes
    /// was perhaps hit by noise; but where no error was seen the line does not pass them.
    fn protected_letter(&self, number: u64, letter: u8) -> u8 {
        let Protection { tried_in, failures, has_errors, .. } = self.protection;
        let tries = match tried_in {
            Some(tried_in) => tried_in == number,
            None => self.link.bare == ProbeState::Failed && has_errors && failures < TRIES,
        };
        let bare = self.link.bare == ProbeState::Passed || tries;
        let letter =
            if letter == CAREFUL && self.link.chooses_alphabet() && bare { TRIED } else { letter };
        letter.to_ascii_lowercase()
    }

    /// Puts a copy of a data packet into the queue with error correction. `None` if it goes without.
    pub(super) fn enqueue_protected(
        &mut self,
        cx: &mut Cx<'_>,
        mem: &mut Mem<'_>,
        number: u64,
    ) -> Option<Queued> {
        let slot = *self.flight.slot(number);
        // A packet that was made for it may be too long to come through without.
        if !IS_BUILT || slot.kind != kind::DATA || self.protection.parity == 0 && slot.parity == 0 {
            return None;
        }
        let memory = slot_of(mem.slots, &self.link, &self.flight, number);
        let data = &memory[LONG_HEADER..LONG_HEADER + slot.data];
        let first = *data.first().filter(|letter| **letter != PROBE)?;
        // What was lost with as many gets more.
        let again = match slot.parity {
            0 => 0,
            parity => parity_for(usize::from(parity) * 3 / 4 + 1),
        };
        let mut parity = self.protection.parity.max(again);
        let letter = self.protected_letter(number, first);
        let long = self.link.agreed.send_long.unwrap_or(u16::from(self.link.theirs.max_short));
        let most = usize::from(self.link.config.send_length.min(long));
        let (ends_at, len) = self.link.enqueue_made(cx, mem.out, most, true, |room| {
            loop {
                let form = Form { letter, parity };
                let made = packet::write(data, (number % 64) as u8, form, room);
                if made.is_some() || parity <= 2 {
                    return made;
                }
                parity = parity_for(parity / 4);
            }
        })?;
        if letter != first.to_ascii_lowercase() && self.link.bare == ProbeState::Failed {
            self.protection.tried_in = Some(number);
        }
        let form = Some(Form { letter, parity });
        Some(Queued { leaves_at: ends_at, len, form })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parity_follows_the_errors_that_are_told() {
        let mut protection = Protection::new();
        protection.failed(0, 0);
        assert_eq!((protection.parity, protection.length), (10, LENGTHS[0]));
        for errors in [7, 6, 7, 5, 7, 6, 7, 7] {
            let len = protection.length;
            protection.came(errors, len);
        }
        assert_eq!(
            (protection.parity, protection.length),
            (20, LONGEST),
            "nine, and the next size"
        );
        for _ in 0..12 {
            protection.came(1, LONGEST);
        }
        assert_eq!(protection.parity, 2);
        protection.failed(2, 0);
        assert_eq!(protection.parity, 4);
        for _ in 0..CALM {
            protection.came(0, LONGEST);
        }
        assert_eq!(protection.parity, 0);
        protection.failed(0, 2 * CARRIED);
        assert_eq!((protection.parity, protection.length), (4, LENGTHS[1]));
    }
}
