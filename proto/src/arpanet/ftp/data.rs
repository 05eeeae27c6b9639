//! A file on its way over a data connection, in either direction.
//!
//! ```text
//! stream          bytes; the sender closes the connection
//! stream, records octets; FF 1 ends a record, FF 2 the file, FF 3 both, FF FF is FF
//! block           header (at least 24 bits): flags 8, count 16; then that many bytes
//!                 flags: 128 end of record, 64 end of file, 32 suspect, 16 restart marker (RFC 542)
//!                 codes: 1 end of record, 2 end of file, 3 suspect, 4 restart marker (RFC 354)
//! ```
//!
//! An image is bits: what is left of its last byte is filled with zeros. Lines end with CR LF on the way, or with their record.

use super::command::{Form, Mode, Structure, Type};
use crate::arpanet::bits::Queue;
use crate::arpanet::ncp::{Host, Id, State};

/// Octets of a file that are made into a piece at a time.
const PIECE: usize = 512;
/// Bits of what they may become.
const LONGEST: usize = (2 * PIECE + 80) * 8;

const EOR: u8 = 128;
const EOF: u8 = 64;
const MARKER: u8 = 16;
const ESCAPE: u8 = 0xFF;

/// Bytes of a block's header.
fn header_bytes(size: u8) -> usize {
    24_usize.div_ceil(usize::from(size))
}

/// Bits that are put together.
struct Piece {
    octets: [u8; LONGEST / 8],
    bits: usize,
}

impl Piece {
    fn new() -> Self {
        Self { octets: [0; LONGEST / 8], bits: 0 }
    }

    fn octet(&mut self, octet: u8) {
        self.octets[self.bits / 8] = octet;
        self.bits += 8;
    }

    /// A block's header, and its data, filled with zeros to a whole byte.
    fn block(&mut self, size: u8, flags: u8, data: &[u8]) {
        let size = usize::from(size);
        let count = (data.len() * 8).div_ceil(size);
        let header = [flags, (count >> 8) as u8, count as u8];
        let lead = header_bytes(size as u8) * size;
        crate::arpanet::bits::copy(&header, 0, &mut self.octets, self.bits + lead - 24, 24);
        let at = self.bits + lead;
        crate::arpanet::bits::copy(data, 0, &mut self.octets, at, data.len() * 8);
        self.bits = at + count * size;
    }
}

/// A file that is sent. Its octets are in the memory that each call is lent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Outgoing {
    form: Form,
    /// Position in the file of the next octets to be read.
    pub(crate) offset: u64,
    from: usize,
    to: usize,
    /// The store has said that this is all.
    pub(crate) ended: bool,
    /// All of it has been handed over.
    pub(crate) done: bool,
}

impl Outgoing {
    pub(crate) fn new(form: Form, offset: u64) -> Self {
        Self { form, offset, from: 0, to: 0, ended: false, done: false }
    }

    /// Whether the store is to be asked.
    pub(crate) fn wants(&self) -> bool {
        !self.ended && self.to - self.from < PIECE
    }

    /// Of the octets that were read, how many the other host is not known to have.
    pub(crate) fn waiting(&self, host: &Host<'_>, id: Id) -> u64 {
        (self.to - self.from + host.queued(id).div_ceil(8)) as u64
    }

    /// Where the store is to put octets.
    pub(crate) fn lend<'a>(&mut self, memory: &'a mut [u8]) -> &'a mut [u8] {
        memory.copy_within(self.from..self.to, 0);
        self.to -= self.from;
        self.from = 0;
        &mut memory[self.to..]
    }

    /// The store put this many there.
    pub(crate) fn filled(&mut self, memory: &[u8], len: usize) {
        self.to += len.min(memory.len() - self.to);
        self.offset += len as u64;
        self.ended = len == 0;
    }

    /// Hands over what the connection takes.
    pub(crate) fn pump(&mut self, host: &mut Host<'_>, id: Id, memory: &[u8]) {
        let Form { kind, mode, structure, .. } = self.form;
        let plain = (mode, structure) == (Mode::Stream, Structure::File) && kind != Type::Ascii;
        while plain && self.from < self.to {
            let octets = &memory[self.from..self.to];
            let wrote = host.write(id, octets, octets.len() * 8) / 8;
            self.from += wrote;
            if wrote == 0 {
                return;
            }
        }
        while !plain && !self.done && host.room(id) >= LONGEST {
            let octets = &memory[self.from..self.to];
            let octets = &octets[..octets.len().min(PIECE)];
            if octets.len() < PIECE && !self.ended {
                return;
            }
            let mut piece = Piece::new();
            self.from += self.make(octets, &mut piece);
            if self.ended && self.from == self.to {
                self.end(&mut piece);
                self.done = true;
            }
            host.write(id, &piece.octets, piece.bits);
        }
        self.done |= self.ended && self.from == self.to;
    }

    /// Makes a piece of the first of these octets, and says how many.
    fn make(&self, octets: &[u8], piece: &mut Piece) -> usize {
        let lines = self.form.kind == Type::Ascii;
        let size = self.form.byte;
        match (self.form.mode, self.form.structure) {
            (Mode::Stream, structure) => {
                for octet in octets {
                    match (*octet, structure, lines) {
                        (b'\n', Structure::File, true) => [b'\r', b'\n'].map(|o| piece.octet(o)),
                        (b'\r', Structure::File, true) => [b'\r', 0].map(|o| piece.octet(o)),
                        (b'\n', Structure::Record, true) => [ESCAPE, 1].map(|o| piece.octet(o)),
                        (ESCAPE, Structure::Record, _) => [ESCAPE; 2].map(|o| piece.octet(o)),
                        (octet, _, _) => {
                            piece.octet(octet);
                            continue;
                        }
                    };
                }
                octets.len()
            }
            (Mode::Block, Structure::Record) if lines => {
                let end = octets.iter().position(|octet| *octet == b'\n');
                let len = end.unwrap_or(octets.len());
                piece.block(size, if end.is_some() { EOR } else { 0 }, &octets[..len]);
                len + usize::from(end.is_some())
            }
            (Mode::Block, Structure::File) if lines => {
                let (mut text, mut len) = ([0; 2 * PIECE], 0);
                for octet in octets {
                    let (first, second) = match octet {
                        b'\n' => (b'\r', Some(b'\n')),
                        b'\r' => (b'\r', Some(0)),
                        octet => (*octet, None),
                    };
                    text[len] = first;
                    len += 1;
                    if let Some(second) = second {
                        text[len] = second;
                        len += 1;
                    }
                }
                piece.block(size, 0, &text[..len]);
                octets.len()
            }
            (Mode::Block, _) => {
                // Whole bytes, except for the last.
                let whole = octets.len() / usize::from(size) * usize::from(size);
                let len = if whole == 0 || octets.len() < PIECE { octets.len() } else { whole };
                if len > 0 {
                    piece.block(size, 0, &octets[..len]);
                }
                len
            }
        }
    }

    /// What ends the file, but for the closing of the connection.
    fn end(&self, piece: &mut Piece) {
        match (self.form.mode, self.form.structure) {
            (Mode::Stream, Structure::File) => {}
            (Mode::Stream, Structure::Record) => {
                piece.octet(ESCAPE);
                piece.octet(2);
            }
            (Mode::Block, _) => piece.block(self.form.byte, EOF, &[]),
        }
    }
}

/// What comes next of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    /// A byte; after an escape, if so.
    Plain { escaped: bool },
    /// A block's header.
    Header,
    /// N bits of a block with these flags.
    Block { bits: usize, flags: u8 },
}

/// A file that comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Incoming {
    form: Form,
    next: Next,
    cr: bool,
    queue: Queue,
    /// Octets that are stored.
    pub(crate) offset: u64,
    /// Octets that the store is to store next.
    storing: usize,
    /// The length that was announced.
    pub(crate) size: Option<u64>,
    /// The end of the file was marked.
    ended: bool,
    /// Nothing more will come.
    closed: bool,
    /// What came breaks a rule of the mode.
    pub(crate) broken: bool,
}

impl Incoming {
    pub(crate) fn new(form: Form, size: Option<u64>) -> Self {
        let next = match form.mode {
            Mode::Stream => Next::Plain { escaped: false },
            Mode::Block => Next::Header,
        };
        let (queue, cr) = (Queue::EMPTY, false);
        Self {
            form,
            next,
            cr,
            queue,
            offset: 0,
            storing: 0,
            size,
            ended: false,
            closed: false,
            broken: false,
        }
    }

    /// Whether its end was marked, where the mode marks it.
    pub(crate) fn is_whole(&self) -> bool {
        let marks = self.form.mode == Mode::Block || self.form.structure == Structure::Record;
        !self.broken && (self.ended || !marks)
    }

    /// Whether fewer or more octets came than were announced; lines become shorter on their way.
    pub(crate) fn differs(&self) -> bool {
        self.form.kind != Type::Ascii && self.size.is_some_and(|size| self.offset != size)
    }

    /// Whether the end was marked, so that the connection is of no more use.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended || self.broken
    }

    /// Takes what came and what there is room for.
    pub(crate) fn pump(&mut self, host: &mut Host<'_>, id: Id, memory: &mut [u8]) {
        while !self.broken && !self.ended && self.queue.room(memory) >= 8 * 600 {
            let mut some = [0; 256];
            let bits = host.peek(id, &mut some);
            let used = match self.next {
                Next::Header => self.header(memory, &some, bits),
                Next::Block { bits: left, flags } => {
                    self.block(memory, &some, bits.min(left), flags)
                }
                Next::Plain { .. } if self.form.byte == 8 => {
                    self.plain(memory, &some, bits / 8 * 8)
                }
                Next::Plain { .. } => self.queue.push(memory, &some, 0, bits),
            };
            host.consume(id, used);
            if used == 0 {
                // Less than a byte, or than a header, that will not become more.
                self.broken |= bits > 0 && host.has_all(id);
                break;
            }
        }
        if host.queued(id) == 0 || self.has_ended() {
            self.closed |= host.state(id) == State::Ended || self.has_ended();
        }
        self.broken |= self.closed && matches!(self.next, Next::Block { .. });
    }

    fn header(&mut self, memory: &mut [u8], some: &[u8], bits: usize) -> usize {
        let lead = header_bytes(self.form.byte) * usize::from(self.form.byte);
        if bits < lead {
            return 0;
        }
        let mut header = [0; 3];
        crate::arpanet::bits::copy(some, lead - 24, &mut header, 0, 24);
        let [flags, high, low] = header;
        let flags = match flags {
            1 => EOR,
            2 => EOF,
            3 => 0,
            4 => MARKER,
            flags => flags,
        };
        let bits = usize::from(u16::from_be_bytes([high, low])) * usize::from(self.form.byte);
        // Bits that mean nothing.
        self.broken = flags & 0x0F != 0;
        self.next = Next::Block { bits, flags };
        if bits == 0 {
            self.block(memory, &[], 0, flags);
        }
        lead
    }

    /// Takes at most N bits of a block.
    fn block(&mut self, memory: &mut [u8], some: &[u8], bits: usize, flags: u8) -> usize {
        let Next::Block { bits: left, .. } = self.next else { return 0 };
        let lines = self.form.kind == Type::Ascii;
        let bits = if self.form.byte == 8 { bits / 8 * 8 } else { bits };
        if flags & MARKER != 0 {
            // A place to begin again from: nothing of the file.
        } else if lines && self.form.structure == Structure::File {
            self.lines(memory, &some[..bits / 8]);
        } else {
            self.queue.push(memory, some, 0, bits);
        }
        self.next = Next::Block { bits: left - bits, flags };
        if left == bits {
            if flags & EOR != 0 && lines && self.form.structure == Structure::Record {
                self.queue.push(memory, b"\n", 0, 8);
            }
            self.next = Next::Header;
            self.ended |= flags & EOF != 0;
        }
        bits
    }

    /// Takes octets that are no blocks.
    fn plain(&mut self, memory: &mut [u8], some: &[u8], bits: usize) -> usize {
        let (octets, lines) = (&some[..bits / 8], self.form.kind == Type::Ascii);
        if self.form.structure == Structure::File {
            if lines {
                self.lines(memory, octets);
            } else {
                self.queue.push(memory, octets, 0, bits);
            }
            return bits;
        }
        for (at, octet) in octets.iter().enumerate() {
            let Next::Plain { escaped } = self.next else { return bits };
            let mut out = |octets: &[u8]| {
                self.queue.push(memory, octets, 0, octets.len() * 8);
            };
            match (escaped, *octet) {
                (false, ESCAPE) => {}
                (false, octet) => out(&[octet]),
                (true, ESCAPE) => out(&[ESCAPE]),
                (true, 1 | 3) if lines => out(b"\n"),
                (true, 1..=3) => {}
                (true, _) => self.broken = true,
            }
            self.next = Next::Plain { escaped: !escaped && *octet == ESCAPE };
            if escaped && matches!(octet, 2 | 3) {
                self.ended = true;
                return (at + 1) * 8;
            }
        }
        bits
    }

    /// CR LF is the end of a line, CR NUL a CR.
    fn lines(&mut self, memory: &mut [u8], octets: &[u8]) {
        for octet in octets {
            let cr = core::mem::replace(&mut self.cr, *octet == b'\r');
            let out: &[u8] = match (cr, *octet) {
                (true, b'\n') => b"\n",
                (true, 0) => b"\r",
                (true, b'\r') => b"\r",
                (true, octet) => &[b'\r', octet],
                (false, b'\r') => b"",
                (false, octet) => &[octet],
            };
            self.queue.push(memory, out, 0, out.len() * 8);
        }
    }

    /// Whether there are octets to store, which stay the same until they are [`stored`](Self::stored).
    pub(crate) fn ready(&mut self, memory: &mut [u8]) -> bool {
        self.storing = self.whole(memory);
        self.storing > 0
    }

    /// Octets that may be stored now: those that may be the filling of the last byte wait for the end.
    fn whole(&mut self, memory: &mut [u8]) -> usize {
        if self.closed && core::mem::take(&mut self.cr) {
            self.queue.push(memory, b"\r", 0, 8);
        }
        let len = self.queue.len() / 8;
        if !self.closed {
            let held =
                if self.form.byte == 8 { 0 } else { usize::from(self.form.byte).div_ceil(8) };
            return len.saturating_sub(held);
        }
        let Some(size) = self.size else { return len };
        let beyond = (self.offset + len as u64).saturating_sub(size);
        let filling = usize::from(self.form.byte).div_ceil(8);
        let extra = usize::try_from(beyond).unwrap_or(usize::MAX);
        if extra == 0 || self.form.byte == 8 || extra > filling.min(len) {
            return len;
        }
        let mut last = [0; 32];
        self.queue.peek(memory, (len - extra) * 8, &mut last, extra * 8);
        if last[..extra].iter().all(|octet| *octet == 0) { len - extra } else { len }
    }

    /// The octets that are to be stored, in one piece.
    pub(crate) fn lend<'a>(&self, memory: &'a [u8]) -> &'a [u8] {
        self.queue.front(memory, self.storing)
    }

    /// They have been stored: how many they were.
    pub(crate) fn stored(&mut self) -> usize {
        let len = core::mem::take(&mut self.storing);
        self.queue.drop(len * 8);
        self.offset += len as u64;
        len
    }

    /// All that will come has come, and is stored once `ready` says no.
    pub(crate) fn is_over(&self) -> bool {
        self.closed
    }
}
