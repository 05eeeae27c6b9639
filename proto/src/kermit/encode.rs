//! Source bytes to the data field of packets (\[KPM\] §6.5; locking shifts as C-Kermit has them).
//!
//! ```text
//! [locking shift] [DLE escape] [REPT count] [QBIN] [QCTL] char        one element
//!   #N or #O         #P          ~ tochar(n)   &      #
//! ```
//!
//! An element is never split: a packet is decoded by itself. Only the shift state continues from one
//! packet to the next.

use super::check::{ctl, tochar};
use super::prefix::{PrefixTable, is_control};
use super::scan::{self, BLOCK};

/// The longest run of one repeat count.
pub(super) const LONGEST_RUN: usize = 94;
const LF: u8 = 10;
const CR: u8 = 13;
pub(super) const SO: u8 = 14;
pub(super) const SI: u8 = 15;
pub(super) const DLE: u8 = 16;
/// Source bytes that must stay the same side of bit 7 before a locking shift pays (C-Kermit's).
const SHIFT_AHEAD: usize = 4;

/// Use of locking shifts, SO and SI, for bit 7 of file data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Shift {
    /// None.
    #[default]
    Off,
    /// Agreed by both sides; works together with the 8th-bit prefix and needs it.
    Negotiated,
    /// Set by the users of both sides; the 8th-bit prefix is not used.
    Forced,
}

/// How a sender writes data: the agreed prefixes and its own choices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Coding {
    /// The control prefix this side announced, normally `#`.
    pub qctl: u8,
    /// The 8th-bit prefix, if in effect, normally `&`.
    pub qbin: Option<u8>,
    /// The repeat prefix, if in effect, normally `~`.
    pub rept: Option<u8>,
    /// A character that the peer may take for a repeat prefix: it is never sent bare.
    pub other_rept: Option<u8>,
    /// Locking shifts; [`Shift::Negotiated`] without `qbin` counts as off.
    pub shift: Shift,
    /// File data is text: a line feed is sent as CR LF. Only for the data of files.
    pub text: bool,
    /// The control codes to prefix.
    pub prefix: PrefixTable,
    /// On an 8-bit channel, also prefix the prefix characters with bit 7 set, as C-Kermit does.
    ///
    /// Decoders compare whole bytes, so this is not needed; it costs 0.8 % on random data.
    pub strict_high: bool,
}

impl Default for Coding {
    /// `#`, no 8th-bit prefix, no repeat counts, binary, everything prefixed: readable by all.
    fn default() -> Self {
        Coding {
            qctl: b'#',
            qbin: None,
            rept: None,
            other_rept: None,
            shift: Shift::Off,
            text: false,
            prefix: PrefixTable::ALL,
            strict_high: true,
        }
    }
}

/// One source byte as it travels, without repeat count and shifts: 1 to 4 bytes.
#[derive(Clone, Copy, Debug)]
struct Element {
    bytes: [u8; 4],
    len: u8,
}

impl Element {
    const EMPTY: Element = Element { bytes: [0; 4], len: 0 };

    fn push(&mut self, byte: u8) {
        self.bytes[usize::from(self.len)] = byte;
        self.len += 1;
    }
}

impl Coding {
    /// The prefix that is really in use for bit 7: none when shifts are forced.
    fn eighth(&self) -> Option<u8> {
        if self.shift == Shift::Forced { None } else { self.qbin }
    }

    fn locking(&self) -> bool {
        match self.shift {
            Shift::Off => false,
            Shift::Negotiated => self.qbin.is_some(),
            Shift::Forced => true,
        }
    }

    /// Adds QCTL and the character for `byte`, whose bit 7 travels as it is.
    fn push_char(&self, element: &mut Element, byte: u8) {
        let low = byte & 0x7F;
        let seven_bit = self.eighth().is_some() || self.locking();
        // On a 7-bit line the parity bit may make either form of the code.
        let listed = self.prefix.contains(byte)
            || (seven_bit && self.prefix.contains(byte ^ 0x80))
            || (self.locking() && matches!(low, SO | SI | DLE))
            // Three bare Ctrl-Cs in a row stop a C-Kermit; a repeat count would part them.
            || (low == 3 && self.rept.is_none() && self.prefix != PrefixTable::CLEAR_OWN);
        if is_control(byte) && listed {
            element.push(self.qctl);
            element.push(ctl(byte));
            return;
        }
        let compared = if self.strict_high { low } else { byte };
        let prefixes = [Some(self.qctl), self.eighth(), self.rept, self.other_rept];
        if prefixes.contains(&Some(compared)) {
            element.push(self.qctl);
        }
        element.push(byte);
    }

    /// The element for `byte` where no locking shifts are in use.
    fn element(&self, byte: u8) -> Element {
        let mut element = Element::EMPTY;
        match self.eighth() {
            Some(qbin) if byte >= 0x80 => {
                element.push(qbin);
                self.push_char(&mut element, byte & 0x7F);
            }
            _ => {
                if self.text && byte == LF {
                    self.push_char(&mut element, CR);
                }
                self.push_char(&mut element, byte);
            }
        }
        element
    }

    /// Whether runs of `byte` may be encoded by a count: a line end in text never (peers that drop a
    /// CR forget to drop its count).
    fn counts(&self, byte: u8) -> bool {
        self.rept.is_some() && !(self.text && matches!(byte, CR | LF))
    }
}

/// Source bytes that must be there for a block: its own, and a whole run from its last.
const WINDOW: usize = BLOCK + 96;

/// Elements in a block from which on it is quicker to write all of its bytes as elements.
const DENSE: u32 = 8;
/// Room for that: each may take 4 bytes, and the last store is of 4.
const DENSE_ROOM: usize = 4 * BLOCK + 4;

/// A quick test that finds all bytes whose element is not the byte itself (and maybe some more).
#[derive(Debug, Clone)]
enum Filter {
    Two([u8; 2]),
    Six([u8; 6]),
    /// All controls, and these.
    Controls([u8; 4]),
    /// All controls, all bytes with bit 7, and these.
    High([u8; 4]),
    All,
}

impl Filter {
    fn new(elements: &[Element; 256]) -> Filter {
        let special = |&byte: &u8| elements[usize::from(byte)].len > 1;
        let all = || (0..=255u8).filter(special);
        let others = || all().filter(|&byte| !is_control(byte));
        let low = || others().filter(|&byte| byte < 0x80);
        match all().count() {
            0..=2 => Filter::Two(collect(all())),
            3..=6 => Filter::Six(collect(all())),
            _ if others().count() <= 4 => Filter::Controls(collect(others())),
            _ if low().count() <= 4 => Filter::High(collect(low())),
            _ => Filter::All,
        }
    }
}

/// The first codes in an array; what is left of it repeats the first.
fn collect<const N: usize>(mut codes: impl Iterator<Item = u8>) -> [u8; N] {
    let mut array = [codes.next().unwrap_or_default(); N];
    for place in &mut array[1..] {
        *place = codes.next().unwrap_or(*place);
    }
    array
}

/// Writes source bytes as elements; keeps the shift state of one file.
#[derive(Debug, Clone)]
pub struct Encoder {
    coding: Coding,
    /// `Coding::element` of every byte.
    elements: [Element; 256],
    filter: Filter,
    shifted: bool,
}

impl Encoder {
    /// An encoder at the start of a file.
    pub fn new(coding: &Coding) -> Encoder {
        let mut elements = [Element::EMPTY; 256];
        for (byte, element) in (0..=255u8).zip(&mut elements) {
            *element = coding.element(byte);
        }
        Encoder { coding: *coding, filter: Filter::new(&elements), elements, shifted: false }
    }

    /// Starts another file: the shift state is unshifted.
    pub fn reset(&mut self) {
        self.shifted = false;
    }

    /// Writes as many complete elements of `src` as fit in `dst`; returns source bytes used and bytes
    /// written.
    ///
    /// Unless `last`, up to 200 bytes of `src` may be left although there is room, because a run
    /// or a shift is decided by what follows. With more than 200 source bytes and at least 12 of
    /// room there is always progress.
    pub fn encode(&mut self, src: &[u8], last: bool, dst: &mut [u8]) -> (usize, usize) {
        if self.coding.locking() {
            return self.encode_shifting(src, last, dst);
        }
        let (mut used, mut written) = self.blocks(src, dst);
        // Near either end, one by one.
        while let Some(taken) = self.step(&src[used..], last, dst, &mut written) {
            used += taken;
        }
        (used, written)
    }

    /// Writes blocks of source, while there is plenty of source and room.
    fn blocks(&self, src: &[u8], dst: &mut [u8]) -> (usize, usize) {
        match &self.filter {
            Filter::Two(codes) => self.blocks_with(src, dst, |block| scan::codes(block, codes)),
            Filter::Six(codes) => self.blocks_with(src, dst, |block| scan::codes(block, codes)),
            Filter::Controls(codes) => {
                self.blocks_with(src, dst, |block| scan::controls(block, codes))
            }
            Filter::High(codes) => {
                self.blocks_with(src, dst, |block| scan::controls_and_high(block, codes))
            }
            Filter::All => self.blocks_with(src, dst, |_| u64::MAX),
        }
    }

    /// As [`blocks`](Self::blocks); `special` says which bytes may have elements of their own.
    #[inline]
    fn blocks_with(
        &self,
        src: &[u8],
        dst: &mut [u8],
        special: impl Fn(&[u8; BLOCK]) -> u64,
    ) -> (usize, usize) {
        let (mut used, mut written) = (0, 0);
        let rept = self.coding.rept.is_some();
        while let Some(window) = src[used..].first_chunk::<WINDOW>()
            && let Some(block) = window.first_chunk::<BLOCK>()
            && let Some(room) = dst[written..].first_chunk_mut::<BLOCK>()
        {
            // Long runs need no search.
            if rept && scan::run_length(&window[..8], 8) == 8 && self.coding.counts(window[0]) {
                let Some(put) = self.run(window, &mut dst[written..]) else { break };
                used += put.0;
                written += put.1;
                continue;
            }
            let runs = match window.first_chunk() {
                Some(ahead) if rept => scan::runs(ahead),
                _ => 0,
            };
            let events = special(block) | runs;
            if events == 0 {
                *room = *block;
                used += BLOCK;
                written += BLOCK;
                continue;
            }
            let dense = events.count_ones() >= DENSE;
            let (taken, put) = match dst[written..].first_chunk_mut() {
                Some(room) if dense => self.dense(window, room, events, runs),
                _ => self.events(window, &mut dst[written..], events, runs),
            };
            used += taken;
            written += put;
            if taken == 0 {
                break;
            }
        }
        (used, written)
    }

    /// Writes the run at the start of `window`; returns its length and that of its element.
    fn run(&self, window: &[u8], dst: &mut [u8]) -> Option<(usize, usize)> {
        let element = &self.elements[usize::from(window[0])];
        let run = scan::run_length(window, LONGEST_RUN + 2).min(LONGEST_RUN);
        let put = dst.first_chunk_mut::<6>()?;
        put[..2].copy_from_slice(&[self.coding.rept?, tochar(run as u8)]);
        put[2..].copy_from_slice(&element.bytes);
        Some((run, 2 + usize::from(element.len)))
    }

    /// Writes the first block of `window`, or what comes before its first run, byte by byte but
    /// without a branch that could be foreseen wrongly.
    #[inline]
    fn dense(
        &self,
        window: &[u8; WINDOW],
        room: &mut [u8; DENSE_ROOM],
        events: u64,
        runs: u64,
    ) -> (usize, usize) {
        let end = runs.trailing_zeros() as usize;
        if end == 0 {
            return self.events(window, room, events, runs);
        }
        let mut written = 0;
        for &byte in &window[..end] {
            let element = &self.elements[usize::from(byte)];
            // Written is at most 4 * 63 here; the mask shows it to the compiler.
            let at = written & (4 * BLOCK - 1);
            room[at..at + 4].copy_from_slice(&element.bytes);
            written += usize::from(element.len);
        }
        (end, written)
    }

    /// Writes the first block of `window`, or as much as there is room for; `events` says which
    /// bytes are not simply copied, `runs` where three or more of the same begin.
    #[inline]
    fn events(
        &self,
        window: &[u8; WINDOW],
        dst: &mut [u8],
        mut events: u64,
        runs: u64,
    ) -> (usize, usize) {
        let (mut at, mut written) = (0, 0);
        while at < BLOCK {
            events &= u64::MAX << at;
            let next = events.trailing_zeros() as usize; // BLOCK if there is none
            // A span is copied in steps of 16, and an element is written as 4 bytes.
            if dst.len() - written < next - at + 16 + 6 {
                break;
            }
            scan::copy_span(&window[at..], next - at, &mut dst[written..]);
            written += next - at;
            at = next;
            if next == BLOCK {
                break;
            }
            let byte = window[next];
            let element = &self.elements[usize::from(byte)];
            if runs >> next & 1 == 1
                && self.coding.counts(byte)
                && let Some((run, put)) = self.run(&window[next..], &mut dst[written..])
            {
                at += run;
                written += put;
            } else {
                dst[written..written + 4].copy_from_slice(&element.bytes);
                written += usize::from(element.len);
                at += 1;
            }
        }
        (at, written)
    }

    /// Writes the next element; `None` if there is no source, no room, or too little look-ahead.
    fn step(&self, src: &[u8], last: bool, dst: &mut [u8], written: &mut usize) -> Option<usize> {
        let byte = *src.first()?;
        let element = &self.elements[usize::from(byte)];
        let len = usize::from(element.len);
        let mut at = *written;
        let mut run = 1;
        if let Some(rept) = self.coding.rept.filter(|_| self.coding.counts(byte)) {
            run = scan::run_length(src, LONGEST_RUN);
            if run == src.len() && run < LONGEST_RUN && !last {
                return None;
            }
            // Two equal bytes are written out; for three plain ones a count is not longer.
            if run >= 3 {
                let head = dst.get_mut(at..at + 2 + len)?;
                head[..2].copy_from_slice(&[rept, tochar(run as u8)]);
                at += 2;
            } else {
                run = 1;
            }
        }
        dst.get_mut(at..at + len)?.copy_from_slice(&element.bytes[..len]);
        *written = at + len;
        Some(run)
    }

    fn encode_shifting(&mut self, src: &[u8], last: bool, dst: &mut [u8]) -> (usize, usize) {
        let (mut used, mut written) = (0, 0);
        while let Some((taken, put)) = self.step_shifting(&src[used..], last, &mut dst[written..]) {
            used += taken;
            written += put;
        }
        (used, written)
    }

    /// As `step`, with locking shifts.
    fn step_shifting(&mut self, src: &[u8], last: bool, dst: &mut [u8]) -> Option<(usize, usize)> {
        let byte = *src.first()?;
        let counts = self.coding.counts(byte);
        let mut run = if counts { scan::run_length(src, LONGEST_RUN) } else { 1 };
        let foresight = run < LONGEST_RUN && run == src.len() && counts
            || self.coding.shift == Shift::Negotiated && src.len() < run + SHIFT_AHEAD;
        if foresight && !last {
            return None;
        }
        if run == 2 {
            run = 1;
        }
        let high = byte >= 0x80;
        let lock = high != self.shifted && {
            let ahead = &src[run..src.len().min(run + SHIFT_AHEAD)];
            self.coding.shift == Shift::Forced
                || ahead.len() < SHIFT_AHEAD
                || ahead.iter().all(|&next| (next >= 0x80) == high)
        };
        // At most #N #P ~n & #c, or #O #M #J: room for 12.
        let mut out = [0u8; 12];
        let mut len = 0;
        let mut put = |bytes: &[u8]| {
            out[len..len + bytes.len()].copy_from_slice(bytes);
            len += bytes.len();
        };
        if lock {
            put(&[self.coding.qctl, ctl(if high { SO } else { SI })]);
        }
        let single = high != (self.shifted ^ lock);
        let mut element = Element::EMPTY;
        if self.coding.text && byte == LF {
            if single {
                element.push(self.coding.qbin.unwrap_or_default());
            }
            self.coding.push_char(&mut element, CR);
            put(&element.bytes[..usize::from(element.len)]);
            element = Element::EMPTY;
        }
        if matches!(byte & 0x7F, SO | SI | DLE) {
            put(&[self.coding.qctl, ctl(DLE)]);
        }
        if run > 1 {
            put(&[self.coding.rept.unwrap_or_default(), tochar(run as u8)]);
        }
        if single {
            element.push(self.coding.qbin.unwrap_or_default());
        }
        self.coding.push_char(&mut element, byte & 0x7F);
        put(&element.bytes[..usize::from(element.len)]);
        dst.get_mut(..len)?.copy_from_slice(&out[..len]);
        self.shifted ^= lock;
        Some((run, len))
    }
}

/// Encodes a name, a command or an error message: never text conversion, never locking shifts.
///
/// Returns source bytes used and bytes written; less than all of `src` if `dst` is too small.
pub fn encode_text(coding: &Coding, src: &[u8], dst: &mut [u8]) -> (usize, usize) {
    let plain = Coding { text: false, shift: Shift::Off, qbin: coding.eighth(), ..*coding };
    Encoder::new(&plain).encode(src, true, dst)
}
