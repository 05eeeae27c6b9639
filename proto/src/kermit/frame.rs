//! Framing: packets in the byte stream (\[KPM\] §3, §6.1; parity sensing as C-Kermit).
//!
//! ```text
//! noise  MARK  LEN SEQ TYPE [LENX1 LENX2 HCHECK] DATA... CHECK  EOL  noise
//!              `------------------ body ---------------------'
//! ```
//!
//! A body is found by its length. What cannot be a packet is reported as damaged at once, and the
//! search continues after it. The block check is not verified here.

use super::check::{Check, unchar};
use super::correction::IS_BUILT;
use super::correction::finder::Finder;
use super::correction::packet::{HEADER, Header};
use super::packet::{SLACK, field};
use super::reason::BadPacket;
use super::scan;

mod corrected;

const CTRL_C: u8 = 3;
/// A terminator that is at most this many characters too early or too late shows that some were lost or added, rather than changed.
const MISPLACED: usize = 3;
/// Longest body of a short packet: LEN and the 95 bytes that C-Kermit 10 beta puts after it.
pub const LONGEST_SHORT: usize = 96;

/// The parity of a line, as software adds it to 7-bit characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Parity {
    /// Eight data bits.
    #[default]
    None,
    /// Bit 7 makes the number of ones even.
    Even,
    /// Bit 7 makes the number of ones odd.
    Odd,
    /// Bit 7 is one.
    Mark,
    /// Bit 7 is zero.
    Space,
}

impl Parity {
    /// Whether only seven bits of a character carry data.
    pub const fn is_seven_bit(self) -> bool {
        !matches!(self, Parity::None)
    }

    /// The byte as it travels; bit 7 of `byte` is replaced unless there is no parity.
    pub const fn add(self, byte: u8) -> u8 {
        let low = byte & 0x7F;
        let odd_ones = (low.count_ones() as u8 & 1) << 7;
        match self {
            Parity::None => byte,
            Parity::Even => low | odd_ones,
            Parity::Odd => low | (odd_ones ^ 0x80),
            Parity::Mark => low | 0x80,
            Parity::Space => low,
        }
    }

    /// [`add`](Parity::add) for a whole packet, EOL and padding included.
    pub fn apply(self, bytes: &mut [u8]) {
        if self.is_seven_bit() {
            for byte in bytes {
                *byte = self.add(*byte);
            }
        }
    }
}

/// What a [`FrameReader`] must know of the peer and the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameSettings {
    /// The character before each packet.
    pub mark: u8,
    /// The character after each packet; inside one it ends the packet early, which damages it.
    pub eol: u8,
    /// The line's parity; `None`: sense it from the first packet.
    pub parity: Option<Parity>,
    /// A clear channel: MARK and EOL in the data are data, length alone counts.
    pub transparent: bool,
    /// Ctrl-Cs in a row between packets that cancel the transfer; 0: never.
    pub interrupt: u8,
    /// Packets with error correction are looked for, too.
    pub correction: bool,
    /// Longest body (LEN to CHECK) expected; [`SLACK`] more is taken, and short packets always
    /// are, as far as the buffer goes.
    pub max_len: usize,
}

impl Default for FrameSettings {
    /// Ctrl-A, CR, parity to be sensed, short packets, no interrupt.
    fn default() -> Self {
        FrameSettings {
            mark: 1,
            eol: 13,
            parity: None,
            transparent: false,
            interrupt: 0,
            correction: false,
            max_len: LONGEST_SHORT,
        }
    }
}

impl FrameSettings {
    /// Bytes the buffer given to [`FrameReader::next`] should have.
    pub const fn buffer_len(&self) -> usize {
        let long = self.max_len.saturating_add(SLACK);
        if long < LONGEST_SHORT { LONGEST_SHORT } else { long }
    }
}

/// What the reader found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found<'a> {
    /// The body of a packet, LEN to the last CHECK character, parity stripped.
    Packet(&'a [u8]),
    /// An invalid packet.
    Damaged {
        /// What was wrong.
        why: BadPacket,
        /// Bytes discarded, MARK included.
        len: usize,
    },
    /// The agreed number of Ctrl-Cs came between packets.
    Interrupt,
    /// The data field of a packet with error correction.
    Corrected {
        /// Its number, modulo 64.
        seq: u8,
        /// The data field.
        data: &'a [u8],
        /// The most wrong characters in one code word.
        worst: usize,
    },
    /// A packet with error correction that has too many errors for it.
    Uncorrected {
        /// Its number, modulo 64.
        seq: u8,
        /// What was wrong.
        why: BadPacket,
        /// Bytes discarded.
        len: usize,
        /// Its terminator is in it: characters were lost.
        is_short: bool,
    },
}

/// How a packet ended badly, and after how many bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Damage {
    why: BadPacket,
    len: usize,
}

/// The header so far.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Length {
    /// More of it must come.
    Open,
    /// The body has this many bytes.
    Len(usize),
    /// It cannot be a packet.
    Bad(BadPacket),
}

/// Finds packets in a stream of bytes, however the stream is cut.
#[derive(Clone, Debug)]
pub struct FrameReader {
    /// May be changed between calls; a change of parity or of `transparent` acts from the next
    /// byte on.
    pub settings: FrameSettings,
    sensed: Option<Parity>,
    /// Of the packet so far, and of its first four bytes.
    sense: Sense,
    header_sense: Sense,
    /// MARK was seen; the body so far is in the first `held` bytes of the buffer.
    in_packet: bool,
    held: usize,
    /// Length of the body, 0 until the header is complete.
    need: usize,
    /// Only EOL courtesy was seen since the last packet.
    courtesy: bool,
    ctrl_cs: u8,
    noise_bytes: u64,
    /// A terminator came a few characters too soon, or too late: characters were lost, or added.
    is_misplaced: bool,
    /// Characters since the last packet, as long as its terminator is awaited.
    after: Option<usize>,
    finder: Finder,
    /// A packet with error correction is in the buffer, from its second byte on.
    corrected: Option<Header>,
}

/// Which parities the bytes of one packet allow.
#[derive(Clone, Copy, Debug)]
struct Sense {
    clear: bool,
    mark: bool,
    even: bool,
    odd: bool,
}

impl Sense {
    const ANY: Sense = Sense { clear: true, mark: true, even: true, odd: true };

    fn see(&mut self, byte: u8) {
        let even = byte.count_ones().is_multiple_of(2);
        self.clear &= byte < 0x80;
        self.mark &= byte >= 0x80;
        self.even &= even;
        self.odd &= !even;
    }

    /// The parity, the likeliest first where the bytes allow two.
    fn guess(self) -> Option<Parity> {
        match self {
            Sense { clear: true, .. } => Some(Parity::None),
            Sense { mark: true, .. } => Some(Parity::Mark),
            Sense { even: true, .. } => Some(Parity::Even),
            Sense { odd: true, .. } => Some(Parity::Odd),
            _ => None,
        }
    }
}

impl FrameReader {
    /// A reader at the start of a stream.
    pub fn new(settings: FrameSettings) -> FrameReader {
        FrameReader {
            settings,
            sensed: None,
            sense: Sense::ANY,
            header_sense: Sense::ANY,
            in_packet: false,
            held: 0,
            need: 0,
            courtesy: true,
            ctrl_cs: 0,
            noise_bytes: 0,
            is_misplaced: false,
            after: None,
            finder: Finder::new(),
            corrected: None,
        }
    }

    /// Bytes that belonged to no packet.
    ///
    /// Not counted: EOL, CR, LF, NUL, XON and XOFF directly after a packet (and at the start of
    /// the stream): senders' courtesy, padding, and what terminal lines and Telnet add.
    pub fn noise_bytes(&self) -> u64 {
        self.noise_bytes
    }

    /// The parity in force: the one set, or the one sensed; `None` until one is.
    pub fn sensed(&self) -> Option<Parity> {
        self.settings.parity.or(self.sensed)
    }

    /// Forgets a sensed parity. To be called when the packet it was sensed from proves damaged.
    pub fn forget_parity(&mut self) {
        self.sensed = None;
    }

    /// Whether an unfinished packet is held.
    pub fn mid_packet(&self) -> bool {
        self.in_packet || IS_BUILT && self.corrected.is_some()
    }

    /// Gives up the unfinished packet, for example after silence; returns its bytes, MARK
    /// included.
    pub fn abandon(&mut self) -> usize {
        let len = match self.corrected.take() {
            Some(_) if IS_BUILT => HEADER + self.held,
            _ if self.in_packet => self.held + 1,
            _ => 0,
        };
        self.in_packet = false;
        len
    }

    /// Takes bytes of `input` until something is found or there are no more; returns how many it
    /// took, and the find. Where packets with error correction are looked for it may take a part, and find nothing yet.
    ///
    /// `buf` must be the same memory every time, as long as an unfinished packet is held in it;
    /// [`FrameSettings::buffer_len`] says how long. A packet longer than `buf` is damaged.
    pub fn next<'a>(&mut self, buf: &'a mut [u8], input: &'a [u8]) -> (usize, Option<Found<'a>>) {
        if IS_BUILT && self.settings.correction {
            return self.next_of_both(buf, input);
        }
        self.usual(buf, input)
    }

    /// The same without error correction.
    fn usual<'a>(&mut self, buf: &'a mut [u8], input: &'a [u8]) -> (usize, Option<Found<'a>>) {
        let mut at = 0;
        while at < input.len() {
            if !self.in_packet {
                let (used, interrupt) = self.hunt(&input[at..]);
                at += used;
                if interrupt {
                    return (at, Some(Found::Interrupt));
                }
                if let Some(len) = self.whole(buf.len(), &input[at..]) {
                    self.in_packet = false;
                    self.courtesy = true;
                    return (at + len, Some(Found::Packet(&input[at..at + len])));
                }
                continue;
            }
            let (used, ended) = self.collect(buf, &input[at..]);
            at += used;
            match ended {
                None => {}
                Some(Ok(())) => {
                    let body = &mut buf[..self.held];
                    self.settle_parity(body);
                    self.in_packet = false;
                    self.courtesy = true;
                    return (at, Some(Found::Packet(body)));
                }
                Some(Err(Damage { why, len })) => {
                    return (at, Some(Found::Damaged { why, len }));
                }
            }
        }
        (at, None)
    }

    /// Looks for MARK; returns bytes taken and whether an interrupt was met.
    fn hunt(&mut self, input: &[u8]) -> (usize, bool) {
        let strip = self.strip();
        let FrameSettings { mark, eol, interrupt, .. } = self.settings;
        for (at, &raw) in input.iter().enumerate() {
            let byte = raw & strip;
            if byte == mark {
                self.start_packet(raw);
                return (at + 1, false);
            }
            self.courtesy &= byte == eol || matches!(byte & 0x7F, 0 | 10 | 13 | 17 | 19);
            if !self.courtesy {
                self.noise_bytes += 1;
            }
            self.ctrl_cs = if raw & 0x7F == CTRL_C { self.ctrl_cs + 1 } else { 0 };
            if interrupt > 0 && self.ctrl_cs >= interrupt {
                self.ctrl_cs = 0;
                return (at + 1, true);
            }
            // Without a limit the count must not overflow.
            self.ctrl_cs = self.ctrl_cs.min(254);
        }
        (input.len(), false)
    }

    fn start_packet(&mut self, mark: u8) {
        self.in_packet = true;
        self.held = 0;
        self.need = 0;
        self.ctrl_cs = 0;
        self.sense = Sense::ANY;
        self.sense.see(mark);
    }

    /// The bits of a byte that count.
    fn strip(&self) -> u8 {
        let eight = match self.sensed() {
            Some(parity) => !parity.is_seven_bit(),
            // The header has shown it, unless it allows odd parity as well.
            None => {
                self.in_packet
                    && self.held >= field::DATA
                    && self.header_sense.clear
                    && !self.header_sense.odd
            }
        };
        if eight { 0xFF } else { 0x7F }
    }

    /// The length of the body if all of it is in `input` as it is, undamaged.
    fn whole(&self, room: usize, input: &[u8]) -> Option<usize> {
        if !self.in_packet || self.sensed() != Some(Parity::None) {
            return None;
        }
        let Length::Len(len) = self.header(&input[..input.len().min(field::LONG_DATA)], room)
        else {
            return None;
        };
        let body = input.get(..len)?;
        let header = if body[field::LEN] == b' ' { field::LONG_DATA } else { field::DATA };
        if self.stop(&body[..header], 0xFF, false).is_some()
            || self.stop(&body[header..], 0xFF, self.settings.transparent).is_some()
        {
            return None;
        }
        Some(len)
    }

    /// The index of the first byte that cannot be in a packet: MARK or EOL.
    fn stop(&self, bytes: &[u8], strip: u8, transparent: bool) -> Option<usize> {
        if transparent {
            return None;
        }
        let FrameSettings { mark, eol, .. } = self.settings;
        scan::find(bytes, strip, mark, eol)
    }

    /// Reads the header from the body's first bytes.
    fn header(&self, body: &[u8], room: usize) -> Length {
        let Some(&len) = body.first() else { return Length::Open };
        let short = match len {
            b' ' => None,
            35..=127 => Some(usize::from(unchar(len)) + 1),
            _ => return Length::Bad(BadPacket::Length),
        };
        match body.get(field::SEQ) {
            None => return Length::Open,
            Some(32..=95) => {}
            Some(_) => return Length::Bad(BadPacket::Sequence),
        }
        if body.len() < field::DATA {
            return Length::Open;
        }
        let Some(len) = short else { return self.long_header(body, room) };
        if len > room { Length::Bad(BadPacket::Buffer) } else { Length::Len(len) }
    }

    /// Reads the rest of a long packet's header.
    fn long_header(&self, body: &[u8], room: usize) -> Length {
        let Some((covered, &[hcheck])) =
            body.get(..field::LONG_DATA).and_then(|header| header.split_last_chunk::<1>())
        else {
            return Length::Open;
        };
        let digit = |at: usize| usize::from(unchar(covered[at]));
        let (high, low) = (digit(field::LENX1), digit(field::LENX2));
        if !Check::Sum6.verify(covered, &[hcheck]) {
            return Length::Bad(BadPacket::HeaderCheck);
        }
        let extended = high * 95 + low;
        // 95 is no digit, but C-Kermit 10 beta fills 9024 bytes of data and then adds the check.
        if high > 95 || low > 94 || extended == 0 {
            return Length::Bad(BadPacket::LongLength);
        }
        let len = field::LONG_DATA + extended;
        if len > self.settings.max_len.saturating_add(SLACK) || len > room {
            return Length::Bad(BadPacket::TooLong);
        }
        Length::Len(len)
    }

    /// Takes bytes of an unfinished packet into `buf`; returns how many, and how it ended: well, or
    /// why not and after how many bytes.
    fn collect(&mut self, buf: &mut [u8], input: &[u8]) -> (usize, Option<Result<(), Damage>>) {
        let mut at = 0;
        while at < input.len() {
            let (used, ended) = if self.need > 0 && self.sensed().is_some() {
                self.collect_data(buf, &input[at..])
            } else {
                self.collect_byte(buf, input[at])
            };
            at += used;
            if ended.is_some() {
                return (at, ended);
            }
        }
        (at, None)
    }

    /// Takes the data of a packet whose header is known, on a line whose parity is known.
    fn collect_data(
        &mut self,
        buf: &mut [u8],
        input: &[u8],
    ) -> (usize, Option<Result<(), Damage>>) {
        let wanted = &input[..input.len().min(self.need - self.held)];
        let strip = self.strip();
        let stop = self.stop(wanted, strip, self.settings.transparent);
        let clean = &wanted[..stop.unwrap_or(wanted.len())];
        let Some(room) = buf.get_mut(self.held..self.held + clean.len()) else {
            return self.damaged(0, BadPacket::ShorterBuffer);
        };
        room.copy_from_slice(clean);
        if strip != 0xFF {
            strip_all(room, strip);
        }
        self.held += clean.len();
        if stop.is_some() {
            let (used, ended) = self.collect_byte(buf, wanted[clean.len()]);
            return (clean.len() + used, ended);
        }
        (clean.len(), (self.held == self.need).then_some(Ok(())))
    }

    /// Takes one byte of a packet.
    fn collect_byte(&mut self, buf: &mut [u8], raw: u8) -> (usize, Option<Result<(), Damage>>) {
        let byte = raw & self.strip();
        if !self.is_clear(buf) {
            if byte == self.settings.mark {
                if self.held > 0 {
                    // MARK is left for the hunt.
                    return self.damaged(0, BadPacket::Inside);
                }
                // Two MARKs in a row: the first one was noise.
                self.noise_bytes += 1;
                self.start_packet(raw);
                return (1, None);
            }
            if byte == self.settings.eol {
                return self.damaged(1, BadPacket::EndOfLine);
            }
        }
        let Some(room) = buf.get_mut(self.held) else {
            return self.damaged(1, BadPacket::Buffer);
        };
        // Bit 7 is kept until it is known what it means.
        *room = if self.sensed().is_some() { byte } else { raw };
        self.held += 1;
        self.sense.see(raw);
        if self.held == field::DATA {
            self.header_sense = self.sense;
            if self.sensed().is_none() && self.sense.guess().is_none() {
                // The byte is held and counted already.
                return (1, self.damaged(0, BadPacket::Parity).1);
            }
        }
        if self.need == 0 {
            let mut header = [0; field::LONG_DATA];
            let seen = self.held.min(field::LONG_DATA);
            header[..seen].copy_from_slice(&buf[..seen]);
            if self.sensed().is_none() {
                strip_all(&mut header, 0x7F);
            }
            match self.header(&header[..seen], buf.len()) {
                Length::Open => {}
                Length::Len(len) => self.need = len,
                Length::Bad(why) => return (1, self.damaged(0, why).1),
            }
        }
        (1, (self.held == self.need).then_some(Ok(())))
    }

    /// Whether the next byte is data that may be anything.
    fn is_clear(&self, buf: &[u8]) -> bool {
        let long = buf.first().is_some_and(|&len| len & 0x7F == b' ');
        let header = if long { field::LONG_DATA } else { field::DATA };
        self.settings.transparent && self.held >= header
    }

    /// Ends the packet as damaged by the next `used` bytes.
    fn damaged(&mut self, used: usize, why: BadPacket) -> (usize, Option<Result<(), Damage>>) {
        self.in_packet = false;
        self.courtesy = true;
        let missing = self.need.saturating_sub(self.held);
        self.is_misplaced |= why == BadPacket::EndOfLine && (1..=MISPLACED).contains(&missing);
        (used, Some(Err(Damage { why, len: 1 + self.held + used })))
    }

    /// Adopts the parity of a complete first packet, and strips it from the `body`.
    fn settle_parity(&mut self, body: &mut [u8]) {
        if self.sensed().is_some() {
            return;
        }
        // An 8-bit line shows in the header, which never has bit 7 set itself.
        let header = self.header_sense.guess();
        self.sensed = self.sense.guess().or(header.filter(|&parity| parity == Parity::None));
        if self.sensed.or(header).is_some_and(Parity::is_seven_bit) {
            strip_all(body, 0x7F);
        }
    }
}

fn strip_all(bytes: &mut [u8], strip: u8) {
    for byte in bytes {
        *byte &= strip;
    }
}
