//! The data field of packets to file bytes (\[KPM\] §6.5; locking shifts as C-Kermit has them).
//!
//! The elements are drawn in [`encode`](super::encode). A decoder accepts more than our encoder
//! writes: counts of 0 and 1, a DLE after the count, bare control characters, any character after
//! QCTL, a bare LF as a line end in text.

use super::check::{ctl, unchar};
use super::encode::{DLE, LONGEST_RUN, SI, SO, Shift};
use super::prefix::is_control;
use super::scan::{self, BLOCK};

const LF: u8 = 10;
const CR: u8 = 13;

/// Prefixes in a block from which on they are looked for beforehand.
const DENSE: u32 = 6;
/// Room for that: at most the block and what spans write after it.
const DENSE_ROOM: usize = BLOCK + 32;

/// Bytes of the field that must be there for a block: spans are copied in steps of 16.
const WINDOW: usize = BLOCK + 16;

/// Undoes the peer's encoding; keeps the shift state and, in text, a CR that waits for its LF.
#[derive(Clone, Debug)]
pub struct Decoder {
    qctl: u8,
    qbin: Option<u8>,
    rept: Option<u8>,
    shift: bool,
    text: bool,
    shifted: bool,
    pending_cr: bool,
    truncated: u64,
}

/// What one element says.
enum Element {
    /// Copies of a byte, and the index after the element.
    Bytes(usize, u8, usize),
    /// A locking shift: the new state, and the index after it.
    Lock(bool, usize),
    /// The data field ends inside the element.
    Truncated,
}

impl Decoder {
    /// A decoder at the start of a file.
    ///
    /// `qctl` is what the peer announced, `qbin` and `rept` what is in effect; `text` turns
    /// CR LF into LF. [`Shift::Negotiated`] without `qbin` counts as off, and [`Shift::Forced`]
    /// does without `qbin`.
    pub fn new(qctl: u8, qbin: Option<u8>, rept: Option<u8>, shift: Shift, text: bool) -> Decoder {
        Decoder {
            qctl,
            qbin: if shift == Shift::Forced { None } else { qbin },
            rept,
            shift: shift == Shift::Forced || (shift == Shift::Negotiated && qbin.is_some()),
            text,
            shifted: false,
            pending_cr: false,
            truncated: 0,
        }
    }

    /// Starts another file: unshifted, no CR waiting. The count of [`truncated`](Self::truncated)
    /// elements continues.
    pub fn reset(&mut self) {
        self.shifted = false;
        self.pending_cr = false;
    }

    /// Data fields that ended inside an element so far. Such an element is
    /// ambiguous, so it is dropped.
    pub fn truncated(&self) -> u64 {
        self.truncated
    }

    /// Decodes (the rest of) the data field of one packet; returns bytes used and bytes written.
    ///
    /// Stops before an element whose bytes do not fit in `dst`; with room for 188 there is always
    /// progress. Call again with the unused rest and new room.
    pub fn decode(&mut self, src: &[u8], dst: &mut [u8]) -> (usize, usize) {
        let (mut used, mut written) = (0, 0);
        while used < src.len() {
            let (taken, put) = self.literals(&src[used..], &mut dst[written..]);
            used += taken;
            written += put;
            if used == src.len() {
                break;
            }
            match self.element(src, used) {
                Element::Bytes(count, byte, next) => {
                    // A waiting CR comes first, and may come out too.
                    if dst.len() - written < count + usize::from(self.pending_cr) {
                        break;
                    }
                    written += self.put(count, byte, &mut dst[written..]);
                    used = next;
                }
                Element::Lock(shifted, next) => {
                    self.shifted = shifted;
                    used = next;
                }
                Element::Truncated => {
                    self.truncated += 1;
                    used = src.len();
                }
            }
        }
        (used, written)
    }

    /// Decodes blocks, and after them the bytes up to the next one that is not just itself.
    fn literals(&mut self, src: &[u8], dst: &mut [u8]) -> (usize, usize) {
        if self.shift || self.pending_cr {
            return (0, 0);
        }
        let rept = self.rept.unwrap_or(self.qctl);
        let qbin = self.qbin.unwrap_or(self.qctl);
        let cr = if self.text { CR } else { self.qctl };
        let codes = [self.qctl, rept, qbin, cr];
        let (used, written) = if self.qbin.is_none() && !self.text {
            self.blocks(src, dst, [self.qctl, rept])
        } else {
            self.blocks(src, dst, codes)
        };
        if self.pending_cr {
            return (used, written);
        }
        let (src, dst) = (&src[used..], &mut dst[written..]);
        let most = &src[..src.len().min(dst.len())];
        let plain = most.iter().position(|byte| codes.contains(byte)).unwrap_or(most.len());
        dst[..plain].copy_from_slice(&src[..plain]);
        (used + plain, written + plain)
    }

    /// Decodes blocks, while there is plenty of source and room and no CR waits.
    #[inline]
    fn blocks<const N: usize>(
        &mut self,
        src: &[u8],
        dst: &mut [u8],
        codes: [u8; N],
    ) -> (usize, usize) {
        let (mut used, mut written) = (0, 0);
        while let Some(window) = src[used..].first_chunk::<WINDOW>()
            && let Some(block) = window.first_chunk::<BLOCK>()
            && let Some(room) = dst[written..].first_chunk_mut::<BLOCK>()
        {
            let events = scan::codes(block, &codes);
            if events == 0 {
                *room = *block;
                used += BLOCK;
                written += BLOCK;
                continue;
            }
            let many = N == 2 && events.count_ones() >= DENSE;
            let dense = match dst[written..].first_chunk_mut() {
                Some(room) if many => self.dense(window, block, room),
                _ => None,
            };
            let (taken, put) = match dense {
                Some(done) => done,
                None => self.events(&src[used..], window, &mut dst[written..], events),
            };
            used += taken;
            written += put;
            if taken == 0 || self.pending_cr {
                break;
            }
        }
        (used, written)
    }

    /// Decodes the first block of `window`, or what comes before its first repeat count, where
    /// control prefixes are many and the only other prefix.
    ///
    /// Where each prefix stands is known beforehand, so that no step waits for the one before.
    #[inline]
    fn dense(
        &self,
        window: &[u8; WINDOW],
        block: &[u8; BLOCK],
        room: &mut [u8; DENSE_ROOM],
    ) -> Option<(usize, usize)> {
        const LAST: usize = BLOCK - 1;
        let prefixes = scan::codes(block, &[self.qctl]);
        let escaped = scan::escaped(prefixes);
        let counts = self.rept.map_or(0, |rept| scan::codes(block, &[rept]) & !escaped);
        let mut end = counts.trailing_zeros() as usize; // BLOCK if there is none
        if end < BLOCK / 2 {
            return None;
        }
        let mut prefixes = prefixes & !escaped;
        if end < BLOCK {
            prefixes &= (1 << end) - 1;
        } else if prefixes >> LAST == 1 {
            // What it prefixes is in the next block.
            prefixes ^= 1 << LAST;
            end = LAST;
        }
        scan::copy_span(window, prefixes.trailing_zeros() as usize, room);
        let mut count = 0;
        while prefixes != 0 {
            let prefix = prefixes.trailing_zeros() as usize % BLOCK;
            prefixes &= prefixes - 1;
            let next = prefixes.trailing_zeros() as usize;
            // Never negative; the remainder shows the compiler that it is in the room.
            let at = prefix.wrapping_sub(count) % BLOCK;
            room[at..at + 16].copy_from_slice(&window[prefix + 1..prefix + 17]);
            room[at] = uncontrol(window[prefix + 1]);
            if next - prefix > 17 {
                scan::copy_span(&window[prefix + 17..], next - prefix - 17, &mut room[at + 16..]);
            }
            count += 1;
        }
        Some((end, end - count))
    }

    /// Decodes the first block of `window` (the start of `src`), or as much as there is room for;
    /// `events` says which bytes begin an element of more than themselves.
    #[inline]
    fn events(
        &mut self,
        src: &[u8],
        window: &[u8; WINDOW],
        dst: &mut [u8],
        mut events: u64,
    ) -> (usize, usize) {
        let (mut at, mut written) = (0, 0);
        while at < BLOCK && !self.pending_cr {
            events &= u64::MAX << at;
            let next = events.trailing_zeros() as usize; // BLOCK if there is none
            // A span is copied in steps of 16; an element is at most a waiting CR and a run.
            if dst.len() - written < next - at + 16 + LONGEST_RUN {
                break;
            }
            scan::copy_span(&window[at..], next - at, &mut dst[written..]);
            written += next - at;
            at = next;
            if next == BLOCK {
                break;
            }
            let (first, second) = (window[next], window[next + 1]);
            let byte = uncontrol(second);
            if [first, second] == [CR, LF] && self.text {
                dst[written] = LF;
                written += 1;
                at += 2;
            } else if first == self.qctl && !(self.text && byte == CR) {
                dst[written] = byte;
                written += 1;
                at += 2;
            } else if [first, second, window[next + 2], window[next + 3]]
                == [self.qctl, b'M', self.qctl, b'J']
            {
                dst[written] = LF;
                written += 1;
                at += 4;
            } else {
                let Element::Bytes(count, byte, after) = self.element(src, next) else { break };
                written += self.put(count, byte, &mut dst[written..]);
                at = after;
            }
        }
        (at, written)
    }

    /// Ends a file: writes a CR that still waits for its LF; returns bytes written (0 or 1).
    ///
    /// With no room in `dst` the CR continues waiting.
    pub fn finish(&mut self, dst: &mut [u8]) -> usize {
        match dst.first_mut() {
            Some(room) if self.pending_cr => {
                *room = CR;
                self.pending_cr = false;
                1
            }
            _ => 0,
        }
    }

    /// Reads the element at `at`.
    fn element(&self, src: &[u8], mut at: usize) -> Element {
        let mut count = None;
        let mut literal = false;
        loop {
            let Some(&(mut byte)) = src.get(at) else { return Element::Truncated };
            at += 1;
            if Some(byte) == self.rept && count.is_none() {
                let Some(&said) = src.get(at) else { return Element::Truncated };
                at += 1;
                // 0 counts as 1, as in C-Kermit; more than 94 is invalid.
                count = Some(usize::from(unchar(said)).clamp(1, LONGEST_RUN));
                continue;
            }
            let single = Some(byte) == self.qbin;
            if single {
                let Some(&next) = src.get(at) else { return Element::Truncated };
                byte = next;
                at += 1;
            }
            if byte == self.qctl {
                let Some(&next) = src.get(at) else { return Element::Truncated };
                byte = uncontrol(next);
                at += 1;
            }
            if self.shift && !single && !literal {
                match byte & 0x7F {
                    SO => return Element::Lock(true, at),
                    SI => return Element::Lock(false, at),
                    DLE => {
                        literal = true;
                        continue;
                    }
                    _ => {}
                }
            }
            let shifted = self.shift && self.shifted;
            let high = u8::from(single ^ shifted) << 7;
            return Element::Bytes(count.unwrap_or(1), byte | high, at);
        }
    }

    /// Writes `count` copies of `byte`, as lines if the file is text; there is room for them and
    /// for the waiting CR.
    fn put(&mut self, count: usize, byte: u8, dst: &mut [u8]) -> usize {
        let mut written = 0;
        if self.pending_cr {
            self.pending_cr = false;
            if byte != LF {
                dst[0] = CR;
                written = 1;
            }
        }
        // The last CR of a run may belong to a line end.
        let now = if self.text && byte == CR {
            self.pending_cr = true;
            count - 1
        } else {
            count
        };
        dst[written..written + now].fill(byte);
        written + now
    }
}

/// The character after QCTL: a control if it can stand for one, else itself (\[KPM\] §6.5).
fn uncontrol(c: u8) -> u8 {
    // Without a branch: what follows a prefix is hard to predict.
    c ^ (u8::from(is_control(ctl(c))) << 6)
}
