//! Framing of the byte stream (RFC 1055).
//!
//! ```text
//! [END] packet, with END as ESC DC and ESC as ESC DD, END
//! ```
//!
//! There is no type, no check and no length: damage that breaks no escape goes undetected. A frame
//! that is known to be bad is dropped and reported, because the header compression has to
//! know of it.

use core::fmt;

/// Ends a frame, and begins one if the line was idle.
pub const END: u8 = 0xC0;
/// Introduces an escape.
pub const ESC: u8 = 0xDB;
/// After ESC: the byte END.
pub const ESC_END: u8 = 0xDC;
/// After ESC: the byte ESC.
pub const ESC_ESC: u8 = 0xDD;

/// The fewest bytes of a frame: a compressed header without numbers has three. Shorter ones are noise, or
/// what noise has left of a frame.
pub const SHORTEST: usize = 3;

/// Most bytes that a packet of this length takes on the line.
pub const fn longest(packet_len: usize) -> usize {
    2 * packet_len + 2
}

/// Bytes that this packet takes on the line with the END after it, without one before it.
pub fn encoded_len(packet: &[u8]) -> usize {
    packet.len() + packet.iter().filter(|byte| matches!(**byte, END | ESC)).count() + 1
}

/// Bytes before the next END or ESC.
fn run_len(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| matches!(*byte, END | ESC)).unwrap_or(bytes.len())
}

/// Writes a packet as it is on the line; `lead` puts an END before it, which makes a frame of its own
/// of the noise that a receiver has collected while the line was idle.
///
/// Returns the length, or `None` if it does not fit; [`longest`] bytes are always enough.
pub fn encode(packet: &[u8], lead: bool, into: &mut [u8]) -> Option<usize> {
    let mut at = 0;
    if lead {
        *into.first_mut()? = END;
        at = 1;
    }
    let mut rest = packet;
    loop {
        let run = run_len(rest);
        into.get_mut(at..at + run)?.copy_from_slice(&rest[..run]);
        at += run;
        let Some(&byte) = rest.get(run) else { break };
        let escaped = if byte == END { ESC_END } else { ESC_ESC };
        into.get_mut(at..at + 2)?.copy_from_slice(&[ESC, escaped]);
        at += 2;
        rest = &rest[run + 1..];
    }
    *into.get_mut(at)? = END;
    Some(at + 1)
}

/// Why a frame was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadFrame {
    /// ESC was followed by something else than [`ESC_END`] or [`ESC_ESC`].
    Escape,
    /// It was longer than the room.
    TooLong,
    /// It was shorter than [`SHORTEST`].
    TooShort,
    /// The port had reported lost or damaged bytes ([`Decoder::line_error`]).
    Line,
}

impl BadFrame {
    /// The violated rule, in a word or two.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Escape => "escape",
            Self::TooLong => "too long",
            Self::TooShort => "too short",
            Self::Line => "line error",
        }
    }
}

impl fmt::Display for BadFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Escape => f.write_str("expected DC or DD after DB, got another byte"),
            Self::TooLong => f.write_str("the frame is longer than a packet may be"),
            Self::TooShort => write!(f, "expected at least {SHORTEST} bytes in a frame, got fewer"),
            Self::Line => f.write_str("bytes of the frame were lost or damaged at the port"),
        }
    }
}

impl core::error::Error for BadFrame {}

/// What was found on the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// A frame; its length in the room.
    Frame(usize),
    /// A dropped frame.
    Bad(BadFrame),
}

/// Counters of a [`Decoder`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DecoderStats {
    /// Frames delivered.
    pub frames: u64,
    /// Bytes of the line, all of them.
    pub line_bytes: u64,
    /// ENDs with nothing before them. They are no error.
    pub empty: u64,
    /// Frames dropped for a bad escape.
    pub bad_escapes: u64,
    /// Frames dropped because they were too long.
    pub too_long: u64,
    /// Frames dropped because they were too short.
    pub too_short: u64,
    /// Frames dropped because the port had lost or damaged bytes.
    pub line_errors: u64,
}

impl DecoderStats {
    /// Frames dropped, for any reason.
    pub const fn dropped(&self) -> u64 {
        self.bad_escapes + self.too_long + self.too_short + self.line_errors
    }
}

/// Finds frames in the bytes of a line, in any chunking.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    /// Bytes of the frame so far that are in the room.
    len: usize,
    escaped: bool,
    bad: Option<BadFrame>,
    stats: DecoderStats,
}

impl Decoder {
    /// A new decoder.
    pub fn new() -> Self {
        Self::default()
    }

    /// Its counters.
    pub fn stats(&self) -> &DecoderStats {
        &self.stats
    }

    /// The port has lost or damaged bytes here (overrun, framing or parity error): the current frame is
    /// dropped when it ends, or the next one, if none is.
    pub fn line_error(&mut self) {
        self.bad.get_or_insert(BadFrame::Line);
    }

    /// Forgets the current frame, as after a line was reopened.
    pub fn reset(&mut self) {
        self.len = 0;
        self.escaped = false;
        self.bad = None;
    }

    /// Looks at `bytes` until a frame ends; returns how many were used. The frame is put into `room`, which
    /// has to be the same until it ends; one that does not fit is dropped whole.
    pub fn next(&mut self, room: &mut [u8], bytes: &[u8]) -> (usize, Option<Found>) {
        let mut used = 0;
        while let Some(&byte) = bytes.get(used) {
            if !self.escaped {
                let rest = &bytes[used..];
                let run = run_len(rest);
                if run > 0 {
                    self.put(room, &rest[..run]);
                    used += run;
                    continue;
                }
            }
            used += 1;
            match byte {
                // Also after ESC: only the frame is lost, and not the next one with it.
                END => {
                    if let Some(found) = self.end() {
                        self.stats.line_bytes += used as u64;
                        return (used, Some(found));
                    }
                }
                ESC if !self.escaped => self.escaped = true,
                _ => self.escape(room, byte),
            }
        }
        self.stats.line_bytes += used as u64;
        (used, None)
    }

    /// The byte after ESC.
    fn escape(&mut self, room: &mut [u8], byte: u8) {
        self.escaped = false;
        match byte {
            ESC_END => self.put(room, &[END]),
            ESC_ESC => self.put(room, &[ESC]),
            _ => {
                self.bad.get_or_insert(BadFrame::Escape);
            }
        }
    }

    fn put(&mut self, room: &mut [u8], bytes: &[u8]) {
        if self.bad.is_some() {
            return;
        }
        match room.get_mut(self.len..self.len + bytes.len()) {
            Some(into) => {
                into.copy_from_slice(bytes);
                self.len += bytes.len();
            }
            None => self.bad = Some(BadFrame::TooLong),
        }
    }

    fn end(&mut self) -> Option<Found> {
        let (len, escaped, bad) = (self.len, self.escaped, self.bad);
        self.reset();
        let bad = match bad {
            None if escaped => Some(BadFrame::Escape),
            None if len == 0 => {
                self.stats.empty += 1;
                return None;
            }
            None if len < SHORTEST => Some(BadFrame::TooShort),
            bad => bad,
        };
        let Some(bad) = bad else {
            self.stats.frames += 1;
            return Some(Found::Frame(len));
        };
        match bad {
            BadFrame::Escape => self.stats.bad_escapes += 1,
            BadFrame::TooLong => self.stats.too_long += 1,
            BadFrame::TooShort => self.stats.too_short += 1,
            BadFrame::Line => self.stats.line_errors += 1,
        }
        Some(Found::Bad(bad))
    }
}
