//! The host-host protocol's words: the header of every message, and the control commands of link 0.
//!
//! ```text
//! message:  leader 32 (or 96) | 0 8 | S 8 | C 16 | 0 8 | C bytes of S bits | 1, zeros
//! command:  opcode 8 | parameters; never divided between messages, at most 120 octets in one
//! ```
//!
//! Source: \[HH\]. Its summary gives ALL the fields 8, 32, 32, 8; its text, which is followed, 8, 8, 16, 32.

use super::leader::{BadLeader, Form, Kind, Leader};
use core::fmt;

/// Octets between leader and text.
pub const HEADER: usize = 5;
/// The longest message, in bits after the leader.
pub const LONGEST_BITS: usize = 8063;
/// The longest message of a single packet, in bits after the leader.
pub const PACKET_BITS: usize = 1008;
/// The longest text of a control message, in octets.
pub const CONTROL: usize = 120;
/// The link of control messages.
pub const LINK: u8 = 0;
/// The links of connections.
pub const LINKS: core::ops::RangeInclusive<u8> = 2..=71;

/// The header before a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// Bits of a byte, S: 1 to 255; 8 on link 0.
    pub size: u8,
    /// Bytes, C.
    pub count: u16,
}

impl Header {
    /// Bits of the text.
    pub const fn bits(self) -> usize {
        self.size as usize * self.count as usize
    }

    /// Octets of the whole message after a leader, its last octet filled up.
    pub const fn octets(self) -> usize {
        HEADER + self.bits().div_ceil(8)
    }

    /// Writes it; `None` if there is no room.
    pub fn put(self, into: &mut [u8]) -> Option<usize> {
        let [high, low] = self.count.to_be_bytes();
        into.get_mut(..HEADER)?.copy_from_slice(&[0, self.size, high, low, 0]);
        Some(HEADER)
    }
}

/// What is wrong with a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadMessage {
    /// Its leader.
    Leader(BadLeader),
    /// It is of another type than a regular message.
    Kind(Kind),
    /// The header is truncated: this many octets followed the leader.
    Header(usize),
    /// Its bytes have no bits.
    NoSize,
    /// Its text is longer than the message.
    Text {
        /// Bits that the header says.
        expected: usize,
        /// Bits that came.
        came: usize,
    },
}

impl fmt::Display for BadMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Leader(bad) => bad.fmt(f),
            Self::Kind(kind) => {
                write!(f, "expected a regular message, got one of the type {}", kind.as_str())
            }
            Self::Header(came) => {
                write!(f, "expected a header of {HEADER} octets behind the leader, got {came}")
            }
            Self::NoSize => f.write_str("expected bytes of 1 to 255 bits, got 0"),
            Self::Text { expected, came } => {
                write!(f, "expected a text of {expected} bits, got {came}")
            }
        }
    }
}

impl core::error::Error for BadMessage {}

/// Reads a regular message: its leader, its header, and the octets that its text is in. What follows the text is
/// padding, and not looked at.
pub fn message(form: Form, octets: &[u8]) -> Result<(Leader, Header, &[u8]), BadMessage> {
    let leader = Leader::parse(form, octets).map_err(BadMessage::Leader)?;
    if leader.kind != Kind::Regular {
        return Err(BadMessage::Kind(leader.kind));
    }
    let (header, text) = text(&octets[form.octets()..])?;
    Ok((leader, header, text))
}

/// Reads what follows a leader.
pub fn text(octets: &[u8]) -> Result<(Header, &[u8]), BadMessage> {
    let [_, size, high, low, _, text @ ..] = octets else {
        return Err(BadMessage::Header(octets.len()));
    };
    let header = Header { size: *size, count: u16::from_be_bytes([*high, *low]) };
    if header.size == 0 {
        return Err(BadMessage::NoSize);
    }
    let (expected, came) = (header.bits(), text.len() * 8);
    let text = text.get(..expected.div_ceil(8)).ok_or(BadMessage::Text { expected, came })?;
    Ok((header, text))
}

/// A control command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Control {
    /// Nothing.
    Nop,
    /// Receiver to sender: a request for connection.
    Rts {
        /// The sending host's socket: even.
        mine: u32,
        /// Socket of the one who is told: odd.
        yours: u32,
        /// Link for the messages: 2 to 71.
        link: u8,
    },
    /// Sender to receiver: a request for connection.
    Str {
        /// The sending host's socket: odd.
        mine: u32,
        /// Socket of the one who is told: even.
        yours: u32,
        /// Bits of a byte: 1 to 255.
        size: u8,
    },
    /// Close: refuses, ends, and acknowledges.
    Cls {
        /// The sending host's socket.
        mine: u32,
        /// Socket of the one who is told.
        yours: u32,
    },
    /// Allocate: the receiver has room for this much more.
    All {
        /// The connection's link.
        link: u8,
        /// Messages.
        messages: u16,
        /// Bits.
        bits: u32,
    },
    /// Give back: the receiver wants a part of what it has allocated.
    Gvb {
        /// The connection's link.
        link: u8,
        /// Of the messages, in 128ths; 128 and more is all.
        messages: u8,
        /// Of the bits, likewise.
        bits: u8,
    },
    /// Return: the sender gives this much back.
    Ret {
        /// The connection's link.
        link: u8,
        /// Messages.
        messages: u16,
        /// Bits.
        bits: u32,
    },
    /// Interrupt by the receiver.
    Inr {
        /// The connection's link.
        link: u8,
    },
    /// Interrupt by the sender.
    Ins {
        /// The connection's link.
        link: u8,
    },
    /// Echo.
    Eco(u8),
    /// Echo reply, with what was in the echo.
    Erp(u8),
    /// An error was seen.
    Err {
        /// 0 undefined, 1 illegal opcode, 2 short parameters, 3 bad parameters, 4 no such socket, 5 not connected.
        code: u8,
        /// The command, as far as it fits.
        data: [u8; 10],
    },
    /// Reset: all state about the sending host is dropped.
    Rst,
    /// Reset reply.
    Rrp,
}

/// Codes of [`Control::Err`].
pub mod code {
    /// An opcode that there is not.
    pub const OPCODE: u8 = 1;
    /// A command that its message ends in the middle of.
    pub const SHORT: u8 = 2;
    /// Parameters that mean nothing.
    pub const PARAMETERS: u8 = 3;
    /// A socket that there is not.
    pub const SOCKET: u8 = 4;
    /// A link that nothing is connected by.
    pub const CONNECTION: u8 = 5;
}

/// What an error code means.
pub const fn code_as_str(number: u8) -> &'static str {
    match number {
        code::OPCODE => "illegal opcode",
        code::SHORT => "short parameter space",
        code::PARAMETERS => "bad parameters",
        code::SOCKET => "request on a non-existent socket",
        code::CONNECTION => "socket or link not connected",
        _ => "undefined",
    }
}

/// Names of the commands, in the order of their opcodes.
pub const NAMES: [&str; 14] = [
    "NOP", "RTS", "STR", "CLS", "ALL", "GVB", "RET", "INR", "INS", "ECO", "ERP", "ERR", "RST",
    "RRP",
];

/// Octets of the commands, in the order of their opcodes.
const LENGTHS: [usize; 14] = [1, 10, 10, 9, 8, 4, 8, 2, 2, 2, 2, 12, 1, 1];

/// How many octets a command has; `None` if there is none with this opcode.
pub fn len(opcode: u8) -> Option<usize> {
    LENGTHS.get(usize::from(opcode)).copied()
}

/// Why octets are no command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadControl {
    /// An opcode that there is not.
    Opcode(u8),
    /// The message ends before the command does.
    Short {
        /// Opcode.
        opcode: u8,
        /// Octets that it has.
        expected: usize,
        /// Octets that came.
        came: usize,
    },
    /// A socket that is not on this side of a connection, a link or a byte size that there is not.
    Parameters {
        /// Opcode.
        opcode: u8,
    },
}

impl BadControl {
    /// The code of the ERR that answers it.
    pub const fn code(self) -> u8 {
        match self {
            Self::Opcode(_) => code::OPCODE,
            Self::Short { .. } => code::SHORT,
            Self::Parameters { .. } => code::PARAMETERS,
        }
    }
}

impl fmt::Display for BadControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |opcode: u8| NAMES.get(usize::from(opcode)).copied().unwrap_or("?");
        match *self {
            Self::Opcode(opcode) => write!(f, "expected an opcode from 0 to 13, got {opcode}"),
            Self::Short { opcode, expected, came } => {
                write!(f, "expected {expected} octets of {}, got {came}", name(opcode))
            }
            Self::Parameters { opcode } => {
                write!(f, "expected sockets, link and byte size that {} may have", name(opcode))
            }
        }
    }
}

impl core::error::Error for BadControl {}

impl Control {
    /// Its opcode.
    pub const fn opcode(&self) -> u8 {
        match self {
            Self::Nop => 0,
            Self::Rts { .. } => 1,
            Self::Str { .. } => 2,
            Self::Cls { .. } => 3,
            Self::All { .. } => 4,
            Self::Gvb { .. } => 5,
            Self::Ret { .. } => 6,
            Self::Inr { .. } => 7,
            Self::Ins { .. } => 8,
            Self::Eco(_) => 9,
            Self::Erp(_) => 10,
            Self::Err { .. } => 11,
            Self::Rst => 12,
            Self::Rrp => 13,
        }
    }

    /// Its length in octets.
    pub const fn octets(&self) -> usize {
        LENGTHS[self.opcode() as usize]
    }

    /// Reads the first command of a text, and says how many octets it has. The text has one octet at least.
    pub fn parse(text: &[u8]) -> Result<(Self, usize), BadControl> {
        let opcode = text.first().copied().unwrap_or_default();
        let expected = len(opcode).ok_or(BadControl::Opcode(opcode))?;
        let short = BadControl::Short { opcode, expected, came: text.len() };
        let octets = text.get(..expected).ok_or(short)?;
        let word = |at: usize| {
            u32::from_be_bytes([octets[at], octets[at + 1], octets[at + 2], octets[at + 3]])
        };
        let short = |at: usize| u16::from_be_bytes([octets[at], octets[at + 1]]);
        let command = match opcode {
            0 => Self::Nop,
            1 => Self::Rts { mine: word(1), yours: word(5), link: octets[9] },
            2 => Self::Str { mine: word(1), yours: word(5), size: octets[9] },
            3 => Self::Cls { mine: word(1), yours: word(5) },
            4 => Self::All { link: octets[1], messages: short(2), bits: word(4) },
            5 => Self::Gvb { link: octets[1], messages: octets[2], bits: octets[3] },
            6 => Self::Ret { link: octets[1], messages: short(2), bits: word(4) },
            7 => Self::Inr { link: octets[1] },
            8 => Self::Ins { link: octets[1] },
            9 => Self::Eco(octets[1]),
            10 => Self::Erp(octets[1]),
            11 => {
                let mut data = [0; 10];
                data.copy_from_slice(&octets[2..]);
                Self::Err { code: octets[1], data }
            }
            12 => Self::Rst,
            _ => Self::Rrp,
        };
        if command.is_sensible() {
            Ok((command, expected))
        } else {
            Err(BadControl::Parameters { opcode })
        }
    }

    /// Whether its numbers may stand there: a connection goes from an odd socket to an even one.
    pub const fn is_sensible(&self) -> bool {
        match *self {
            Self::Rts { mine, yours, link } => {
                mine % 2 == 0 && yours % 2 == 1 && link >= *LINKS.start() && link <= *LINKS.end()
            }
            Self::Str { mine, yours, size } => mine % 2 == 1 && yours % 2 == 0 && size > 0,
            Self::Cls { mine, yours } => mine % 2 != yours % 2,
            _ => true,
        }
    }

    /// Writes it and returns its length; `None` if there is no room.
    pub fn put(&self, into: &mut [u8]) -> Option<usize> {
        let octets = into.get_mut(..self.octets())?;
        octets[0] = self.opcode();
        let rest = &mut octets[1..];
        match *self {
            Self::Rts { mine, yours, link: last } | Self::Str { mine, yours, size: last } => {
                rest[..4].copy_from_slice(&mine.to_be_bytes());
                rest[4..8].copy_from_slice(&yours.to_be_bytes());
                rest[8] = last;
            }
            Self::Cls { mine, yours } => {
                rest[..4].copy_from_slice(&mine.to_be_bytes());
                rest[4..].copy_from_slice(&yours.to_be_bytes());
            }
            Self::All { link, messages, bits } | Self::Ret { link, messages, bits } => {
                rest[0] = link;
                rest[1..3].copy_from_slice(&messages.to_be_bytes());
                rest[3..].copy_from_slice(&bits.to_be_bytes());
            }
            Self::Gvb { link, messages, bits } => rest.copy_from_slice(&[link, messages, bits]),
            Self::Inr { link: octet } | Self::Ins { link: octet } => rest[0] = octet,
            Self::Eco(octet) | Self::Erp(octet) => rest[0] = octet,
            Self::Err { code, data } => {
                rest[0] = code;
                rest[1..].copy_from_slice(&data);
            }
            Self::Nop | Self::Rst | Self::Rrp => {}
        }
        Some(self.octets())
    }
}
