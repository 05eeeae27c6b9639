//! Packets (RFC 998 section "Packet formats"): bytes and typed packets, both ways.
//!
//! ```text
//!  0        2     3     4        6            8              10
//! +--------+-----+-----+--------+------------+--------------+--------+
//! |checksum|ver=1|type | length | local port | foreign port |  zero  |  then by type:
//! +--------+-----+-----+--------+------------+--------------+--------+
//! OPEN, RESPONSE         id(4) buffer size(4) transfer size(4) packet size(2) burst size(2)
//!                        burst interval(2) death timer(2) flags(2) outstanding(2) client string
//! DATA, LDATA            buffer(4) high sequence(2) packet(2) data checksum(2) flags(2) data
//! NULL-ACK               high sequence(2) burst size(2) burst interval(2) zero(2)
//! CONTROL                messages (see `control`)
//! QUIT, ABORT, REFUSED   a reason
//! KEEPALIVE, QUITACK, DONE
//! ```
//!
//! All numbers are big endian. The length is exact; the packet is padded with zeros to a multiple
//! of four (docs/decisions/050).

use super::checksum::{Sum, checksum, is_sound};
use core::fmt;

/// Bytes of the header of every packet.
pub const HEADER: usize = 12;
/// Bytes before the data of DATA and LDATA.
pub const DATA_HEADER: usize = 24;
/// Bytes before the client string of OPEN and RESPONSE.
pub const OPEN_HEADER: usize = 36;
/// The version that is spoken (docs/decisions/050).
pub const VERSION: u8 = 1;

/// Types of packets.
pub mod kind {
    /// Asks for a connection.
    pub const OPEN: u8 = 0;
    /// Grants one.
    pub const RESPONSE: u8 = 1;
    /// Tells the peer that its sender is alive.
    pub const KEEPALIVE: u8 = 2;
    /// Closes a connection normally.
    pub const QUIT: u8 = 3;
    /// Answers QUIT.
    pub const QUITACK: u8 = 4;
    /// Ends a connection at once.
    pub const ABORT: u8 = 5;
    /// Data.
    pub const DATA: u8 = 6;
    /// The last data of a buffer.
    pub const LDATA: u8 = 7;
    /// Acknowledges control messages where there is no data.
    pub const NULL_ACK: u8 = 8;
    /// Carries control messages.
    pub const CONTROL: u8 = 9;
    /// Refuses a connection.
    pub const REFUSED: u8 = 10;
    /// The receiver has everything.
    pub const DONE: u8 = 11;
}

/// The two ports of a packet, as its sender sees them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ports {
    /// Of the packet's sender.
    pub local: u16,
    /// Of the packet's receiver.
    pub foreign: u16,
}

/// What OPEN and RESPONSE negotiate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Terms<'a> {
    /// The connection's unique ID; RESPONSE repeats that of OPEN.
    pub id: u32,
    /// Bytes of a buffer.
    pub buffer_size: u32,
    /// Bytes of the transfer, 0 if unknown. Information only.
    pub transfer_size: u32,
    /// Bytes of data in a packet.
    pub packet_size: u16,
    /// Packets of a burst.
    pub burst_size: u16,
    /// Milliseconds from the start of one burst to that of the next.
    pub burst_interval_ms: u16,
    /// Seconds of silence after which the packet's sender considers the other dead.
    pub death_s: u16,
    /// The side that opens sends the data (M: 1 = WRITE, 0 = READ).
    pub write: bool,
    /// Data has a checksum (C).
    pub checksum: bool,
    /// Most buffers that may be outstanding.
    pub outstanding: u16,
    /// The client string, without the NUL that ends it.
    pub client: &'a [u8],
}

/// The head of DATA and LDATA, and the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Data<'a> {
    /// Number of the buffer.
    pub buffer: u32,
    /// All control messages up to here have been received.
    pub high: u16,
    /// Number of the packet in its buffer, from 0.
    pub packet: u16,
    /// The last packet of its buffer (LDATA).
    pub last_of_buffer: bool,
    /// Its buffer is the last (L).
    pub last_buffer: bool,
    /// Checksum of the data; 0 if there is none.
    pub checksum: u16,
    /// The data.
    pub bytes: &'a [u8],
}

/// The flags of DATA between our own ends, besides L (docs/protocols/netblt.md §11).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Mark {
    /// Number of the last RATE message that the sender has, 14 bits.
    pub report: u16,
    /// The packet left at once after the one before.
    pub follows: bool,
}

/// The mark of a DATA packet that was read.
pub(crate) fn mark_of(bytes: &[u8]) -> Mark {
    let flags = bytes.get(22..24).map_or(0, |flags| u16_at(flags, 0));
    Mark { report: flags >> 2, follows: flags & 2 != 0 }
}

/// What a packet says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Body<'a> {
    /// OPEN.
    Open(Terms<'a>),
    /// RESPONSE.
    Response(Terms<'a>),
    /// KEEPALIVE.
    KeepAlive,
    /// QUIT, and why.
    Quit(&'a [u8]),
    /// QUITACK.
    QuitAck,
    /// ABORT, and why.
    Abort(&'a [u8]),
    /// DATA or LDATA.
    Data(Data<'a>),
    /// NULL-ACK.
    NullAck {
        /// All control messages up to here have been received.
        high: u16,
        /// Packets of a burst from now on.
        burst_size: u16,
        /// Milliseconds from burst to burst from now on.
        burst_interval_ms: u16,
    },
    /// CONTROL: its messages, for [`super::control::messages`].
    Control(&'a [u8]),
    /// REFUSED, and why.
    Refused(&'a [u8]),
    /// DONE.
    Done,
}

/// A packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet<'a> {
    /// Source and destination ports.
    pub ports: Ports,
    /// What it says.
    pub body: Body<'a>,
}

/// Why a packet is invalid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadPacket {
    /// Fewer bytes than the type or the length field requires.
    Short,
    /// The checksum of the packet is wrong.
    Checksum,
    /// Another version.
    Version(u8),
    /// A type that is not known.
    Type(u8),
    /// The checksum of the data is wrong.
    DataChecksum,
    /// A length that its type cannot have.
    Length,
    /// A string without a NUL.
    Text,
}

impl BadPacket {
    /// The rule that was broken, in a word or two.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Short => "short",
            Self::Checksum => "checksum",
            Self::Version(_) => "version",
            Self::Type(_) => "type",
            Self::DataChecksum => "data checksum",
            Self::Length => "length",
            Self::Text => "text",
        }
    }
}

impl fmt::Display for BadPacket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short => f.write_str("expected a complete packet, got fewer bytes"),
            Self::Checksum => f.write_str("the checksum of the packet is wrong"),
            Self::Version(got) => write!(f, "expected version {VERSION}, got {got}"),
            Self::Type(got) => write!(f, "expected a type from 0 to 11, got {got}"),
            Self::DataChecksum => f.write_str("the checksum of the data is wrong"),
            Self::Length => f.write_str("the length does not fit the type"),
            Self::Text => f.write_str("expected a string with a NUL at its end"),
        }
    }
}

impl core::error::Error for BadPacket {}

/// A 16-bit number in the middle of bytes that are known to be long enough.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// A 32-bit number likewise.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// The next multiple of four.
pub const fn padded(len: usize) -> usize {
    len.next_multiple_of(4)
}

impl<'a> Packet<'a> {
    /// Reads one datagram. What is after the packet and its padding is ignored.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, BadPacket> {
        let head: &[u8; HEADER] = bytes.first_chunk().ok_or(BadPacket::Short)?;
        let len = usize::from(u16_at(head, 4));
        if len < HEADER {
            return Err(BadPacket::Length);
        }
        let whole = bytes.get(..len).ok_or(BadPacket::Short)?;
        let kind = head[3];
        let is_data = matches!(kind, kind::DATA | kind::LDATA);
        if is_data && len < DATA_HEADER {
            return Err(BadPacket::Length);
        }
        if !is_sound(if is_data { &whole[..DATA_HEADER] } else { whole }) {
            return Err(BadPacket::Checksum);
        }
        if head[2] != VERSION {
            return Err(BadPacket::Version(head[2]));
        }
        let ports = Ports { local: u16_at(head, 6), foreign: u16_at(head, 8) };
        let rest = &whole[HEADER..];
        let bare = |body| if rest.is_empty() { Ok(body) } else { Err(BadPacket::Length) };
        let body = match kind {
            kind::OPEN => Body::Open(terms(whole)?),
            kind::RESPONSE => Body::Response(terms(whole)?),
            kind::KEEPALIVE => bare(Body::KeepAlive)?,
            kind::QUIT => Body::Quit(text(rest)?),
            kind::QUITACK => bare(Body::QuitAck)?,
            kind::ABORT => Body::Abort(text(rest)?),
            kind::DATA | kind::LDATA => Body::Data(Data {
                buffer: u32_at(whole, 12),
                high: u16_at(whole, 16),
                packet: u16_at(whole, 18),
                last_of_buffer: kind == kind::LDATA,
                last_buffer: u16_at(whole, 22) & 1 != 0,
                checksum: u16_at(whole, 20),
                bytes: &whole[DATA_HEADER..],
            }),
            kind::NULL_ACK if rest.len() == 8 => Body::NullAck {
                high: u16_at(rest, 0),
                burst_size: u16_at(rest, 2),
                burst_interval_ms: u16_at(rest, 4),
            },
            kind::NULL_ACK => return Err(BadPacket::Length),
            kind::CONTROL => Body::Control(rest),
            kind::REFUSED => Body::Refused(text(rest)?),
            kind::DONE => bare(Body::Done)?,
            other => return Err(BadPacket::Type(other)),
        };
        Ok(Self { ports, body })
    }

    /// The letter of its type in a trace.
    pub fn letter(&self) -> char {
        match self.body {
            Body::Open(_) => 'O',
            Body::Response(_) => 'R',
            Body::KeepAlive => 'K',
            Body::Quit(_) => 'Q',
            Body::QuitAck => 'q',
            Body::Abort(_) => 'A',
            Body::Data(Data { last_of_buffer: false, .. }) => 'D',
            Body::Data(_) => 'L',
            Body::NullAck { .. } => 'N',
            Body::Control(_) => 'C',
            Body::Refused(_) => 'X',
            Body::Done => 'E',
        }
    }

    /// Writes it; the length with padding, or `None` if it does not fit.
    pub fn put(&self, into: &mut [u8]) -> Option<usize> {
        match self.body {
            Body::Open(terms) => put_terms(into, kind::OPEN, self.ports, &terms),
            Body::Response(terms) => put_terms(into, kind::RESPONSE, self.ports, &terms),
            Body::KeepAlive => finish(into, kind::KEEPALIVE, self.ports, HEADER),
            Body::Quit(why) => put_text(into, kind::QUIT, self.ports, why),
            Body::QuitAck => finish(into, kind::QUITACK, self.ports, HEADER),
            Body::Abort(why) => put_text(into, kind::ABORT, self.ports, why),
            Body::Data(data) => {
                let end = DATA_HEADER + data.bytes.len();
                into.get_mut(DATA_HEADER..end)?.copy_from_slice(data.bytes);
                put_data_header(into, self.ports, &data, data.bytes.len())
            }
            Body::NullAck { high, burst_size, burst_interval_ms } => {
                let room = into.get_mut(HEADER..HEADER + 8)?;
                room[..2].copy_from_slice(&high.to_be_bytes());
                room[2..4].copy_from_slice(&burst_size.to_be_bytes());
                room[4..6].copy_from_slice(&burst_interval_ms.to_be_bytes());
                room[6..].fill(0);
                finish(into, kind::NULL_ACK, self.ports, HEADER + 8)
            }
            Body::Control(messages) => {
                let end = HEADER + messages.len();
                into.get_mut(HEADER..end)?.copy_from_slice(messages);
                finish(into, kind::CONTROL, self.ports, end)
            }
            Body::Refused(why) => put_text(into, kind::REFUSED, self.ports, why),
            Body::Done => finish(into, kind::DONE, self.ports, HEADER),
        }
    }
}

/// The parsed fields of OPEN or RESPONSE.
fn terms(whole: &[u8]) -> Result<Terms<'_>, BadPacket> {
    if whole.len() < OPEN_HEADER {
        return Err(BadPacket::Length);
    }
    let flags = u16_at(whole, 32);
    Ok(Terms {
        id: u32_at(whole, 12),
        buffer_size: u32_at(whole, 16),
        transfer_size: u32_at(whole, 20),
        packet_size: u16_at(whole, 24),
        burst_size: u16_at(whole, 26),
        burst_interval_ms: u16_at(whole, 28),
        death_s: u16_at(whole, 30),
        write: flags & 1 != 0,
        checksum: flags & 2 != 0,
        outstanding: u16_at(whole, 34),
        client: text(&whole[OPEN_HEADER..])?,
    })
}

/// The bytes before the NUL.
fn text(bytes: &[u8]) -> Result<&[u8], BadPacket> {
    let end = bytes.iter().position(|byte| *byte == 0).ok_or(BadPacket::Text)?;
    Ok(&bytes[..end])
}

fn put_terms(into: &mut [u8], kind: u8, ports: Ports, terms: &Terms<'_>) -> Option<usize> {
    let client = terms.client.split(|byte| *byte == 0).next().unwrap_or_default();
    into.get_mut(OPEN_HEADER..OPEN_HEADER + client.len())?.copy_from_slice(client);
    put_terms_before(into, kind, ports, terms, client.len())
}

/// Writes OPEN or RESPONSE around a client string that is in its place already.
/// [`Terms::client`] is not looked at.
pub(crate) fn put_terms_before(
    into: &mut [u8],
    kind: u8,
    ports: Ports,
    terms: &Terms<'_>,
    client_len: usize,
) -> Option<usize> {
    // With the NUL and the padding after it; they are part of the length.
    let len = OPEN_HEADER + padded(client_len + 1);
    let room = into.get_mut(..len)?;
    room[12..16].copy_from_slice(&terms.id.to_be_bytes());
    room[16..20].copy_from_slice(&terms.buffer_size.to_be_bytes());
    room[20..24].copy_from_slice(&terms.transfer_size.to_be_bytes());
    room[24..26].copy_from_slice(&terms.packet_size.to_be_bytes());
    room[26..28].copy_from_slice(&terms.burst_size.to_be_bytes());
    room[28..30].copy_from_slice(&terms.burst_interval_ms.to_be_bytes());
    room[30..32].copy_from_slice(&terms.death_s.to_be_bytes());
    let flags = u16::from(terms.write) | u16::from(terms.checksum) << 1;
    room[32..34].copy_from_slice(&flags.to_be_bytes());
    room[34..36].copy_from_slice(&terms.outstanding.to_be_bytes());
    room[OPEN_HEADER + client_len..].fill(0);
    finish(into, kind, ports, len)
}

fn put_text(into: &mut [u8], kind: u8, ports: Ports, why: &[u8]) -> Option<usize> {
    let why = why.split(|byte| *byte == 0).next().unwrap_or_default();
    let len = HEADER + padded(why.len() + 1);
    let room = into.get_mut(HEADER..len)?;
    room.fill(0);
    room[..why.len()].copy_from_slice(why);
    finish(into, kind, ports, len)
}

/// Writes the head of DATA or LDATA before `len` bytes of data that are after it already, and
/// the padding. [`Data::bytes`] is not looked at.
pub fn put_data_header(
    into: &mut [u8],
    ports: Ports,
    data: &Data<'_>,
    len: usize,
) -> Option<usize> {
    put_marked_header(into, ports, data, Mark::default(), len)
}

/// The same with a mark.
pub(crate) fn put_marked_header(
    into: &mut [u8],
    ports: Ports,
    data: &Data<'_>,
    mark: Mark,
    len: usize,
) -> Option<usize> {
    let head = into.get_mut(..DATA_HEADER)?;
    head[12..16].copy_from_slice(&data.buffer.to_be_bytes());
    head[16..18].copy_from_slice(&data.high.to_be_bytes());
    head[18..20].copy_from_slice(&data.packet.to_be_bytes());
    head[20..22].copy_from_slice(&data.checksum.to_be_bytes());
    let flags = u16::from(data.last_buffer) | u16::from(mark.follows) << 1 | mark.report << 2;
    head[22..24].copy_from_slice(&flags.to_be_bytes());
    let kind = if data.last_of_buffer { kind::LDATA } else { kind::DATA };
    finish(into, kind, ports, DATA_HEADER + len)
}

/// Writes the head of a CONTROL packet whose messages are after it already, to the end of `into`.
pub(crate) fn put_control_before(into: &mut [u8], ports: Ports) -> Option<usize> {
    let len = into.len();
    finish(into, kind::CONTROL, ports, len)
}

/// The checksum of the data of a packet, as its header carries it.
pub fn data_checksum(bytes: &[u8]) -> u16 {
    checksum(bytes)
}

/// Writes the common header of a packet of `len` bytes, the padding, and the checksum.
fn finish(into: &mut [u8], kind: u8, ports: Ports, len: usize) -> Option<usize> {
    let whole = into.get_mut(..padded(len))?;
    whole[len..].fill(0);
    whole[..2].fill(0);
    whole[2] = VERSION;
    whole[3] = kind;
    whole[4..6].copy_from_slice(&u16::try_from(len).ok()?.to_be_bytes());
    whole[6..8].copy_from_slice(&ports.local.to_be_bytes());
    whole[8..10].copy_from_slice(&ports.foreign.to_be_bytes());
    whole[10..12].fill(0);
    let covered = if matches!(kind, kind::DATA | kind::LDATA) { DATA_HEADER } else { len };
    let sum = Sum::default().with(&whole[..covered]).checksum();
    whole[..2].copy_from_slice(&sum.to_be_bytes());
    Some(padded(len))
}
