//! The escapes of ZMODEM's data link (ZDLE encoding, xyzmodem.md §4.3), both ways.
//!
//! ```text
//! ZDLE x        x in 40..5f, c0..df: the byte x XOR 40
//! ZDLE l, m     7f, ff
//! ZDLE h i j k  the end of a data subpacket
//! ZDLE ZDLE     never sent; five in a row are the cancel of the whole session
//! ```

// The tests for special bytes become vector instructions only without branches, and only where the
// loops around them are inlined.
#![allow(clippy::needless_bitwise_bool, clippy::inline_always)]

use super::scan::{BLOCK, block, mask};

/// CAN, the escape of ZMODEM.
pub const ZDLE: u8 = 0x18;

/// What a sender escapes besides ZDLE itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Escaping {
    /// DLE, XON, XOFF with and without bit 7, and CR after `@` (which Telenet takes for itself).
    #[default]
    Normal,
    /// All control characters with and without bit 7 (ESCCTL).
    Controls,
    /// XON and XOFF only ("turbo" of Omen and `sz -E`).
    Turbo,
    /// Nothing else; the line must be clear (DirZap).
    Zdle,
}

/// What a receiver ignores because it cannot be data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Dropping {
    /// Bare XON and XOFF, with and without bit 7.
    #[default]
    FlowControl,
    /// All bare control characters.
    Controls,
    /// Nothing.
    Nothing,
}

/// How a byte is sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Plain,
    Escaped,
    /// Escaped after `@`.
    AfterAt,
}

type Classes = [Class; 256];

static CLASSES: [Classes; 4] = [
    classes(Escaping::Normal),
    classes(Escaping::Controls),
    classes(Escaping::Turbo),
    classes(Escaping::Zdle),
];

const fn classes(escaping: Escaping) -> Classes {
    let mut classes = [Class::Plain; 256];
    let mut byte = 0;
    while byte < 256 {
        let low = byte & 0x7F;
        let flow = low == 0x11 || low == 0x13;
        let escaped = match escaping {
            Escaping::Normal => flow || low == 0x10,
            Escaping::Controls => byte & 0x60 == 0,
            Escaping::Turbo => flow,
            Escaping::Zdle => false,
        };
        if escaped || byte == ZDLE as usize {
            classes[byte] = Class::Escaped;
        } else if low == 0x0D && matches!(escaping, Escaping::Normal) {
            classes[byte] = Class::AfterAt;
        }
        byte += 1;
    }
    classes
}

/// Bytes that the output of [`Escaper::put`] needs beyond twice the length of its input.
pub(super) const SLACK: usize = 2 * BLOCK;

/// Escapes a stream of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Escaper {
    /// What is escaped.
    pub escaping: Escaping,
    /// The last byte sent.
    previous: u8,
}

impl Escaper {
    /// An escaper for this.
    pub const fn new(escaping: Escaping) -> Self {
        Self { escaping, previous: 0 }
    }

    /// The last byte sent was this one, and it was not escaped.
    pub(super) fn after(&mut self, byte: u8) {
        self.previous = byte;
    }

    /// Escapes all of `bytes` into `out`; returns the length.
    ///
    /// `out` must have room for twice as many bytes and 128 more, which are used as scratch.
    pub fn put(&mut self, bytes: &[u8], out: &mut [u8]) -> usize {
        let mut made = 0;
        // The first byte knows its predecessor, and gives one to the others.
        let Some((first, _)) = bytes.split_first() else { return 0 };
        made += self.put_one(*first, out);
        let whole = bytes.len().saturating_sub(2 * BLOCK) / BLOCK * BLOCK;
        made += self.blocks(bytes, 1, 1 + whole, &mut out[made..]);
        // The rest once more with room after it, so that whole blocks can be read there too.
        let from = whole;
        let rest = bytes.len() - from;
        let mut padded = [0u8; 4 * BLOCK];
        padded[..rest].copy_from_slice(&bytes[from..]);
        made += self.blocks(&padded, 1, rest, &mut out[made..]);
        made
    }

    fn put_one(&mut self, byte: u8, out: &mut [u8]) -> usize {
        let escape = match CLASSES[self.escaping as usize][usize::from(byte)] {
            Class::Plain => false,
            Class::Escaped => true,
            Class::AfterAt => self.previous & 0x7F == b'@',
        };
        if escape {
            out[0] = ZDLE;
            out[1] = byte ^ 0x40;
            self.previous = out[1];
            return 2;
        }
        out[0] = byte;
        self.previous = byte;
        1
    }

    fn blocks(&mut self, bytes: &[u8], from: usize, to: usize, out: &mut [u8]) -> usize {
        if from >= to {
            return 0;
        }
        let made = match self.escaping {
            // An escaped byte never turns into `@` here, so the source tells what was sent.
            Escaping::Normal => blocks(bytes, from, to, out, |before, byte| {
                ((byte & 0x7E) == 0x10)
                    | ((byte & 0x7F) == 0x13)
                    | (byte == ZDLE)
                    | (((byte & 0x7F) == 0x0D) & ((before & 0x7F) == b'@'))
            }),
            Escaping::Controls => blocks(bytes, from, to, out, |_, byte| byte & 0x60 == 0),
            Escaping::Turbo => {
                blocks(bytes, from, to, out, |_, byte| ((byte & 0x7D) == 0x11) | (byte == ZDLE))
            }
            Escaping::Zdle => blocks(bytes, from, to, out, |_, byte| byte == ZDLE),
        };
        self.previous = out[made - 1];
        made
    }
}

/// Escapes `bytes[from..to]`. A whole block must be readable from every position to `to`, and one
/// byte before `from`.
#[inline(always)]
fn blocks(
    bytes: &[u8],
    from: usize,
    to: usize,
    out: &mut [u8],
    special: impl Fn(u8, u8) -> bool,
) -> usize {
    let (mut at, mut made) = (from, 0);
    while at < to {
        let mut hits = mask(block(bytes, at - 1), block(bytes, at), &special);
        let len = (to - at).min(BLOCK);
        if len < BLOCK {
            hits &= (1 << len) - 1;
        }
        // Copies overshoot; the next one overwrites that.
        out[made..made + BLOCK].copy_from_slice(block(bytes, at));
        let mut done = 0;
        while hits != 0 {
            let hit = hits.trailing_zeros() as usize;
            hits &= hits - 1;
            made += hit - done;
            out[made] = ZDLE;
            out[made + 1] = bytes[at + hit] ^ 0x40;
            made += 2;
            done = hit + 1;
            out[made..made + BLOCK].copy_from_slice(block(bytes, at + done));
        }
        made += len - done;
        at += len;
    }
    made
}

/// Why unescaping stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// All input is used.
    Input,
    /// The output is full.
    Room,
    /// The end of a subpacket: `h`, `i`, `j` or `k`.
    End(u8),
    /// An escape that does not exist.
    Bad,
    /// Five CAN in a row.
    Cancel,
}

/// The result of unescaping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unescaped {
    /// Bytes of the input that are used.
    pub used: usize,
    /// Bytes of the output that were made.
    pub made: usize,
    /// Why it stopped.
    pub stop: Stop,
}

/// Undoes the escapes of a stream of bytes, in any chunking.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Unescaper {
    /// What is ignored.
    pub dropping: Dropping,
    /// ZDLE in a row, the last of which is the last byte seen.
    zdles: u8,
}

impl Unescaper {
    /// An unescaper that drops this.
    pub const fn new(dropping: Dropping) -> Self {
        Self { dropping, zdles: 0 }
    }

    /// Drops an incomplete escape.
    pub fn reset(&mut self) {
        self.zdles = 0;
    }

    fn drops(&self, byte: u8) -> bool {
        match self.dropping {
            Dropping::FlowControl => byte & 0x7D == 0x11,
            Dropping::Controls => byte & 0x60 == 0,
            Dropping::Nothing => false,
        }
    }

    /// Undoes the escapes of `bytes` into `out` until one of the two or a subpacket ends.
    pub fn take(&mut self, bytes: &[u8], out: &mut [u8]) -> Unescaped {
        let (mut used, mut made) = (0, 0);
        while used < bytes.len() {
            if self.zdles == 0 {
                let (u, m) = self.plain(&bytes[used..], &mut out[made..]);
                used += u;
                made += m;
            }
            let Some(&byte) = bytes.get(used) else { break };
            used += 1;
            match self.one(byte) {
                Err(stop) => return Unescaped { used, made, stop },
                Ok(None) => {}
                Ok(Some(_)) if made == out.len() => {
                    return Unescaped { used, made, stop: Stop::Room };
                }
                Ok(Some(byte)) => {
                    out[made] = byte;
                    made += 1;
                }
            }
        }
        Unescaped { used, made, stop: Stop::Input }
    }

    /// As [`take`](Self::take) for a few bytes, and stops as soon as the output is full.
    pub fn take_few(&mut self, bytes: &[u8], out: &mut [u8]) -> Unescaped {
        let (mut used, mut made) = (0, 0);
        while used < bytes.len() && made < out.len() {
            let byte = bytes[used];
            used += 1;
            match self.one(byte) {
                Err(stop) => return Unescaped { used, made, stop },
                Ok(None) => {}
                Ok(Some(byte)) => {
                    out[made] = byte;
                    made += 1;
                }
            }
        }
        let stop = if made == out.len() { Stop::Room } else { Stop::Input };
        Unescaped { used, made, stop }
    }

    /// Takes one byte: it may give one, or end something.
    fn one(&mut self, byte: u8) -> Result<Option<u8>, Stop> {
        if self.zdles == 0 {
            if byte == ZDLE {
                self.zdles = 1;
                return Ok(None);
            }
            return Ok((!self.drops(byte)).then_some(byte));
        }
        let zdles = core::mem::take(&mut self.zdles);
        match byte {
            ZDLE if zdles == 4 => Err(Stop::Cancel),
            ZDLE => {
                self.zdles = zdles + 1;
                Ok(None)
            }
            _ if zdles > 1 => Err(Stop::Bad),
            b'h'..=b'k' => Err(Stop::End(byte)),
            b'l' => Ok(Some(0x7F)),
            b'm' => Ok(Some(0xFF)),
            _ if byte & 0x60 == 0x40 => Ok(Some(byte ^ 0x40)),
            _ if self.dropping != Dropping::Nothing && byte & 0x7D == 0x11 => {
                self.zdles = 1;
                Ok(None)
            }
            _ => Err(Stop::Bad),
        }
    }

    fn plain(&self, bytes: &[u8], out: &mut [u8]) -> (usize, usize) {
        match self.dropping {
            Dropping::FlowControl => {
                unblocks(bytes, out, |byte| (byte == ZDLE) | ((byte & 0x7D) == 0x11))
            }
            Dropping::Controls => unblocks(bytes, out, |byte| byte & 0x60 == 0),
            Dropping::Nothing => unblocks(bytes, out, |byte| byte == ZDLE),
        }
    }
}

/// Undoes simple escapes as long as there is enough input and room; returns what was used and made.
/// It stops in front of what is not simple.
#[inline(always)]
fn unblocks(bytes: &[u8], out: &mut [u8], special: impl Fn(u8) -> bool) -> (usize, usize) {
    let (mut at, mut made) = (0, 0);
    // The last copy of a block begins at most 65 bytes after it.
    while at + 2 * BLOCK + 2 <= bytes.len() && made + 2 * BLOCK <= out.len() {
        let source = block(bytes, at);
        let mut hits = mask(source, source, |_, byte| special(byte));
        out[made..made + BLOCK].copy_from_slice(source);
        let mut done = 0;
        while hits != 0 {
            let hit = hits.trailing_zeros() as usize;
            made += hit - done;
            done = hit;
            let byte = bytes[at + hit];
            if byte == ZDLE {
                let code = bytes[at + hit + 1];
                if code & 0x60 != 0x40 {
                    return (at + hit, made);
                }
                out[made] = code ^ 0x40;
                made += 1;
                done += 1;
            }
            done += 1;
            hits = if done < BLOCK { hits & (u64::MAX << done) } else { 0 };
            out[made..made + BLOCK].copy_from_slice(block(bytes, at + done));
        }
        // The second byte of an escape may lie after the block.
        made += BLOCK.saturating_sub(done);
        at += done.max(BLOCK);
    }
    (at, made)
}
