//! Leaders: the header of every message between a host and its IMP.
//!
//! ```text
//! old, 32 bits:  flags 4 | type 4 | host 2 | IMP 6 | link 8 | id 4 | subtype 4
//! new, 96 bits:  0 4 | 15 4 | network 8 | flags 8 | type 8 | handling 8 | host 8 | IMP 16 | link 8 | id 4
//!                | subtype 4 | length 16
//! ```
//!
//! Host and IMP are the destination in what a host gives its IMP, and the source in what an IMP gives its host; in
//! a RFNM and its like, the destination of the message that it is about. Link and id together are the message-id,
//! which comes back in them as it went (RFC 533). Source: RFC 533, 660, 704, 802; \[HH\]; BBN Report 1822 as these quote it.

use core::fmt;

/// Length of an old leader in octets.
pub const OLD: usize = 4;
/// Length of a new leader in octets.
pub const NEW: usize = 12;
/// The type that a new leader's first octet has, where an old one has its own.
const FORMAT: u8 = 15;

/// Which of the two leaders an interface speaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Form {
    /// 32 bits: hosts 0 to 3 on IMPs 0 to 63.
    #[default]
    Old,
    /// 96 bits: hosts 0 to 255 on IMPs 0 to 65,535.
    New,
}

impl Form {
    /// Length of such a leader in octets.
    pub const fn octets(self) -> usize {
        match self {
            Self::Old => OLD,
            Self::New => NEW,
        }
    }
}

/// A host: its number at its IMP, and the IMP's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Address {
    /// Number at the IMP: 0 to 3 with old leaders.
    pub host: u8,
    /// Number of the IMP: 0 to 63 with old leaders.
    pub imp: u16,
}

impl Address {
    /// Host and IMP in one octet, as old leaders have them: the number that people gave a host.
    pub const fn from_octet(octet: u8) -> Self {
        Self { host: octet >> 6, imp: (octet & 0x3F) as u16 }
    }

    /// The octet of an old leader; `None` if the numbers are beyond it.
    pub const fn octet(self) -> Option<u8> {
        if self.host < 4 && self.imp < 64 { Some(self.host << 6 | self.imp as u8) } else { None }
    }
}

impl fmt::Display for Address {
    /// `host/IMP`, both decimal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.host, self.imp)
    }
}

/// Type of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Kind {
    /// A message to, or from, another host. Subtype 3 of a new leader is an uncontrolled packet.
    Regular = 0,
    /// Error in a leader: nothing is known of the message that had it. See [`LeaderError`].
    LeaderError = 1,
    /// The IMP, or the host, goes down.
    Down = 2,
    /// An uncontrolled packet: one packet, no RFNM, may be lost (RFC 660). Blocked link in the very old days.
    Uncontrolled = 3,
    /// Nothing. The new one's subtype is the padding between leader and data, in words of 16 bits.
    Nop = 4,
    /// Ready for next message.
    Rfnm = 5,
    /// Link table full (old), or the status of a dead host (new).
    Status = 6,
    /// The destination is dead. See [`Dead`].
    Dead = 7,
    /// Error in the data of the message of that id.
    DataError = 8,
    /// The message of that id was not delivered whole. See [`Incomplete`].
    Incomplete = 9,
    /// The interface was reset: what was in it is lost.
    Reset = 10,
}

impl Kind {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 11] = [
        Self::Regular,
        Self::LeaderError,
        Self::Down,
        Self::Uncontrolled,
        Self::Nop,
        Self::Rfnm,
        Self::Status,
        Self::Dead,
        Self::DataError,
        Self::Incomplete,
        Self::Reset,
    ];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Regular => "regular",
            Self::LeaderError => "error in leader",
            Self::Down => "going down",
            Self::Uncontrolled => "uncontrolled",
            Self::Nop => "nop",
            Self::Rfnm => "rfnm",
            Self::Status => "status",
            Self::Dead => "destination dead",
            Self::DataError => "error in data",
            Self::Incomplete => "incomplete transmission",
            Self::Reset => "interface reset",
        }
    }
}

/// Why an IMP, or a host, did not understand a leader: subtype of [`Kind::LeaderError`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LeaderError {
    /// The error line was raised during the leader.
    Line,
    /// Less than a leader came.
    Short,
    /// The type is none.
    Type,
    /// Another number.
    Other(u8),
}

impl LeaderError {
    /// What a subtype means.
    pub const fn of(subtype: u8) -> Self {
        match subtype {
            0 => Self::Line,
            1 => Self::Short,
            2 => Self::Type,
            other => Self::Other(other),
        }
    }
}

/// Why a destination is dead: subtype of [`Kind::Dead`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dead {
    /// Its IMP cannot be reached.
    Imp,
    /// The host is not up.
    Host,
    /// These hosts may not talk to each other (RFC 660).
    Prohibited,
    /// Another number.
    Other(u8),
}

impl Dead {
    /// What a subtype means.
    pub const fn of(subtype: u8) -> Self {
        match subtype {
            0 => Self::Imp,
            1 => Self::Host,
            3 => Self::Prohibited,
            other => Self::Other(other),
        }
    }

    /// The subtype.
    pub const fn subtype(self) -> u8 {
        match self {
            Self::Imp => 0,
            Self::Host => 1,
            Self::Prohibited => 3,
            Self::Other(other) => other,
        }
    }

    /// In words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Imp => "its IMP cannot be reached",
            Self::Host => "the host is not up",
            Self::Prohibited => "communication with it is prohibited",
            Self::Other(_) => "the destination is dead",
        }
    }
}

/// Why a message was not delivered: subtype of [`Kind::Incomplete`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Incomplete {
    /// The destination did not take it quickly enough.
    Slow,
    /// It was longer than a message may be.
    TooLong,
    /// The source took longer over it than is allowed.
    TooLate,
    /// It was lost in the net.
    Lost,
    /// There were no resources for it.
    Resources,
    /// Input or output failed while it was received.
    Failed,
    /// Another number.
    Other(u8),
}

impl Incomplete {
    /// What a subtype means.
    pub const fn of(subtype: u8) -> Self {
        match subtype {
            0 => Self::Slow,
            1 => Self::TooLong,
            2 => Self::TooLate,
            3 => Self::Lost,
            4 => Self::Resources,
            5 => Self::Failed,
            other => Self::Other(other),
        }
    }

    /// The subtype.
    pub const fn subtype(self) -> u8 {
        match self {
            Self::Slow => 0,
            Self::TooLong => 1,
            Self::TooLate => 2,
            Self::Lost => 3,
            Self::Resources => 4,
            Self::Failed => 5,
            Self::Other(other) => other,
        }
    }

    /// In words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Slow => "the destination did not take it quickly enough",
            Self::TooLong => "it was too long",
            Self::TooLate => "it took too long to come from the host",
            Self::Lost => "it was lost in the net",
            Self::Resources => "the net had no resources for it",
            Self::Failed => "input or output failed",
            Self::Other(_) => "no reason was given",
        }
    }
}

/// A leader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leader {
    /// Type.
    pub kind: Kind,
    /// Subtype, 0 to 15: its meaning is the type's.
    pub subtype: u8,
    /// The other host.
    pub address: Address,
    /// First eight bits of the message-id.
    pub link: u8,
    /// Last four bits of the message-id.
    pub id: u8,
    /// Four bits: priority, for the IMP, trace, octal (old); eight, of which 8 is trace (new).
    pub flags: u8,
    /// What is in a new leader only.
    pub long: Long,
}

/// What an old leader has no room for: zeros there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Long {
    /// Network.
    pub network: u8,
    /// Handling type.
    pub handling: u8,
    /// Length of the message in bits, where it is given.
    pub length_bits: u16,
}

/// Why octets are no leader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadLeader {
    /// Fewer octets than a leader has.
    Short {
        /// Expected length.
        expected: usize,
        /// Received length.
        came: usize,
    },
    /// A type that there is not.
    Type(u8),
    /// The first octet is that of the other form.
    Form(u8),
}

impl BadLeader {
    /// The subtype of the [`Kind::LeaderError`] that answers it.
    pub const fn subtype(self) -> u8 {
        match self {
            Self::Short { .. } => 1,
            Self::Type(_) | Self::Form(_) => 2,
        }
    }
}

impl fmt::Display for BadLeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short { expected, came } => {
                write!(f, "expected a leader of {expected} octets, got {came}")
            }
            Self::Type(kind) => write!(f, "expected a type of message from 0 to 10, got {kind}"),
            Self::Form(octet) => {
                write!(
                    f,
                    "expected a leader of the other form, got one that begins with {octet:02x}"
                )
            }
        }
    }
}

impl core::error::Error for BadLeader {}

impl Leader {
    /// A leader of this type without an address.
    pub const fn new(kind: Kind) -> Self {
        let (address, long) =
            (Address { host: 0, imp: 0 }, Long { network: 0, handling: 0, length_bits: 0 });
        Self { kind, subtype: 0, address, link: 0, id: 0, flags: 0, long }
    }

    /// A regular message to, or from, `address`.
    pub const fn regular(address: Address, link: u8) -> Self {
        Self { address, link, ..Self::new(Kind::Regular) }
    }

    /// What the destination's taking, or another fate, of this message makes its IMP tell the source.
    pub const fn answer(self, kind: Kind, subtype: u8) -> Self {
        Self { kind, subtype, flags: 0, ..self }
    }

    /// Whether this is a packet that no RFNM is given for.
    pub const fn is_uncontrolled(&self) -> bool {
        matches!((self.kind, self.subtype), (Kind::Uncontrolled, _) | (Kind::Regular, 3))
    }

    /// The same with the priority flag: IMPs send its packets before others.
    #[must_use]
    pub const fn urgent(mut self, form: Form) -> Self {
        match form {
            Form::Old => self.flags |= 8,
            Form::New => self.long.handling |= 128,
        }
        self
    }

    /// Whether it has the priority flag.
    pub const fn is_urgent(&self, form: Form) -> bool {
        match form {
            Form::Old => self.flags & 8 != 0,
            Form::New => self.long.handling & 128 != 0,
        }
    }

    /// Reads the leader at the beginning of a message.
    pub fn parse(form: Form, message: &[u8]) -> Result<Self, BadLeader> {
        let short = || BadLeader::Short { expected: form.octets(), came: message.len() };
        let first = *message.first().ok_or_else(short)?;
        let is_new = first & 0x0F == FORMAT;
        if is_new != (form == Form::New) {
            return Err(BadLeader::Form(first));
        }
        let octets = message.get(..form.octets()).ok_or_else(short)?;
        let kind =
            |number: u8| Kind::ALL.get(usize::from(number)).copied().ok_or(BadLeader::Type(number));
        let short = |at: usize| u16::from_be_bytes([octets[at], octets[at + 1]]);
        Ok(match form {
            Form::Old => Self {
                kind: kind(octets[0] & 0x0F)?,
                subtype: octets[3] & 0x0F,
                address: Address::from_octet(octets[1]),
                link: octets[2],
                id: octets[3] >> 4,
                flags: octets[0] >> 4,
                long: Long::default(),
            },
            Form::New => Self {
                kind: kind(octets[3])?,
                subtype: octets[9] & 0x0F,
                address: Address { host: octets[5], imp: short(6) },
                link: octets[8],
                id: octets[9] >> 4,
                flags: octets[2],
                long: Long { network: octets[1], handling: octets[4], length_bits: short(10) },
            },
        })
    }

    /// Writes the leader and returns its length; `None` if there is no room, or a number is too large for the form.
    pub fn put(&self, form: Form, into: &mut [u8]) -> Option<usize> {
        let octets = into.get_mut(..form.octets())?;
        if self.subtype > 15 || self.id > 15 {
            return None;
        }
        let last = self.id << 4 | self.subtype;
        match form {
            Form::Old => {
                if self.flags > 15 || self.long != Long::default() {
                    return None;
                }
                let first = self.flags << 4 | self.kind as u8;
                octets.copy_from_slice(&[first, self.address.octet()?, self.link, last]);
            }
            Form::New => {
                let Long { network, handling, length_bits } = self.long;
                let ([imp, imp_low], [length, length_low]) =
                    (self.address.imp.to_be_bytes(), length_bits.to_be_bytes());
                let (kind, host) = (self.kind as u8, self.address.host);
                let Self { flags, link, .. } = *self;
                octets.copy_from_slice(&[
                    FORMAT, network, flags, kind, handling, host, imp, imp_low, link, last, length,
                    length_low,
                ]);
            }
        }
        Some(form.octets())
    }
}
