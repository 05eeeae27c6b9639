//! What must be known of a plain NETBLT packet before an engine is given to its sender: whether it is
//! one, whether it opens a connection, and how it is refused (RFC 998).

use wetstring_proto::netblt::control::{Message, messages};
use wetstring_proto::netblt::packet::{Body, Packet};

/// Bytes of the common header.
const HEADER: usize = 12;
/// Bytes of the header of DATA and LDATA, which their checksum covers.
const DATA_HEADER: usize = 24;
const VERSION: u8 = 1;
/// Bytes of an OPEN without a client string.
const OPEN_MIN: usize = 37;
const OPEN: u8 = 0;
const DATA: u8 = 6;
const LDATA: u8 = 7;
const REFUSED: u8 = 10;
const TYPES: u8 = 12;
/// The flag M of an OPEN: who opens sends.
const WRITE: u8 = 1;
/// How the name of a file begins in our client strings.
const NAME: &[u8] = b" name=";

/// What a listener that encrypts answers. With the header no longer than the shortest OPEN.
pub const ENCRYPTED: &str = "expected --plain off";

/// The sum of 16-bit words in ones' complement; an odd byte counts as the high one of a word.
fn sum(bytes: &[u8]) -> u16 {
    let mut sum: u32 = 0;
    for word in bytes.chunks(2) {
        sum += u32::from(word[0]) << 8 | u32::from(word.get(1).copied().unwrap_or(0));
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    sum as u16
}

/// The type of a whole packet with a good checksum.
pub fn kind(packet: &[u8]) -> Option<u8> {
    if packet.len() < HEADER || packet[2] != VERSION || packet[3] >= TYPES {
        return None;
    }
    let len = usize::from(u16::from_be_bytes([packet[4], packet[5]]));
    let covered = match packet[3] {
        DATA | LDATA => DATA_HEADER,
        _ => len,
    };
    let whole = len >= HEADER && len <= packet.len() && covered <= packet.len();
    (whole && sum(&packet[..covered]) == 0xFFFF).then_some(packet[3])
}

/// Whether this opens a connection.
pub fn is_open(packet: &[u8]) -> bool {
    kind(packet) == Some(OPEN) && packet.len() >= OPEN_MIN
}

/// The file that an OPEN offers (WRITE), as it stands in the client string; `None` if it offers none.
pub fn offered(open: &[u8]) -> Option<&[u8]> {
    let write = open.get(33).is_some_and(|flags| flags & WRITE != 0);
    let client = open.get(OPEN_MIN - 1..).filter(|_| write)?;
    let client = &client[..client.iter().position(|byte| *byte == 0).unwrap_or(client.len())];
    // Another string than ours is the bare name of a file (docs/netblt.md).
    let ours = client == b"wst1" || client.starts_with(b"wst1 ");
    let name = match client.windows(NAME.len()).position(|word| word == NAME) {
        Some(at) if ours => &client[at + NAME.len()..],
        None if ours => return None,
        _ => client,
    };
    (!name.is_empty()).then_some(name)
}

/// The port of the one who sent it.
pub fn local_port(packet: &[u8]) -> u16 {
    packet.get(6..8).map_or(0, |port| u16::from_be_bytes([port[0], port[1]]))
}

/// The port that it is for.
pub fn foreign_port(packet: &[u8]) -> u16 {
    packet.get(8..10).map_or(0, |port| u16::from_be_bytes([port[0], port[1]]))
}

/// The REFUSED that answers an OPEN, no longer than it.
pub fn refused(open: &[u8], why: &str) -> Vec<u8> {
    let room = open.len().saturating_sub(HEADER + 1) / 4 * 4;
    let why = &why.as_bytes()[..why.len().min(room)];
    let len = (HEADER + why.len() + 1).next_multiple_of(4);
    let mut packet = vec![0, 0, VERSION, REFUSED];
    packet.extend((len as u16).to_be_bytes());
    packet.extend(foreign_port(open).to_be_bytes());
    packet.extend(local_port(open).to_be_bytes());
    packet.extend([0, 0]);
    packet.extend(why);
    packet.push(0);
    packet.resize(len, 0);
    let check = !sum(&packet);
    packet[..2].copy_from_slice(&check.to_be_bytes());
    packet
}

/// A partner whose address is not proved: bytes that came and went, and what it must have seen to go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unproved {
    got: u64,
    gave: u64,
    /// It opened for WRITE.
    sends: bool,
    /// Numbers of the first and the last buffer that it was granted.
    granted: Option<(u32, u32)>,
}

impl Unproved {
    /// Somebody who sent this OPEN.
    pub fn new(open: &[u8]) -> Self {
        let sends = open.get(33).is_some_and(|flags| flags & WRITE != 0);
        Self { got: 0, gave: 0, sends, granted: None }
    }

    /// This came; whether it proves the address.
    ///
    /// Who sends proves it by data for a buffer whose number stood in our GO and which nobody can guess. What
    /// a receiver says depends on nothing that it heard (RFC 998), so there anything that goes on counts.
    /// It is no proof against those on the way, but without security nothing is.
    pub fn heard(&mut self, packet: &[u8]) -> bool {
        self.got += packet.len() as u64;
        let Some(kind) = kind(packet) else { return false };
        if !self.sends {
            return kind != OPEN;
        }
        let data = matches!(kind, DATA | LDATA) && packet.len() >= DATA_HEADER;
        let Some((first, last)) = self.granted.filter(|_| data) else { return false };
        let buffer = u32::from_be_bytes([packet[12], packet[13], packet[14], packet[15]]);
        buffer.wrapping_sub(first) <= last.wrapping_sub(first)
    }

    /// Whether so many bytes may go there: no more than came.
    pub fn may_give(&self, len: usize) -> bool {
        self.gave + len as u64 <= self.got
    }

    /// This went there.
    pub fn said(&mut self, packet: &[u8]) {
        self.gave += packet.len() as u64;
        if let Ok(Packet { body: Body::Control(list), .. }) = Packet::parse(packet) {
            for (_, message) in messages(list) {
                if let Message::Go { buffer } = message {
                    self.granted = Some((self.granted.map_or(buffer, |(first, _)| first), buffer));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An OPEN and a DATA packet of the digest's model.
    const AN_OPEN: &str = "e3720100 00281000 1b580000 deadbeef 0000382c 00009c40 059e0005 001e003c \
         00030002 78000000";
    const A_DATA: &str = "d7890106 001c1000 1b580000 00000001 00010000 fbf90000 01020304";

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> = hex.bytes().filter(|b| *b != b' ').collect();
        let value = |c: u8| (c as char).to_digit(16).unwrap() as u8;
        digits.chunks(2).map(|pair| value(pair[0]) << 4 | value(pair[1])).collect()
    }

    #[test]
    fn packets_are_known_by_their_checksum() {
        let (open, data) = (bytes(AN_OPEN), bytes(A_DATA));
        assert!(is_open(&open) && kind(&data) == Some(6));
        assert_eq!((local_port(&open), foreign_port(&open)), (4096, 7000));
        for at in 0..open.len() {
            let mut damaged = open.clone();
            damaged[at] ^= 1;
            assert!(!is_open(&damaged), "byte {at}");
            assert!(!is_open(&open[..at]), "cut at {at}");
        }
    }

    #[test]
    fn data_for_a_granted_buffer_is_the_proof() {
        use wetstring_proto::netblt::control::put_go;
        use wetstring_proto::netblt::packet::{Data, Ports, data_checksum};
        let ports = Ports { local: 7000, foreign: 4096 };
        let made = |ports, body| {
            let mut out = vec![0; 200];
            let len = Packet { ports, body }.put(&mut out).unwrap();
            out.truncate(len);
            out
        };
        let data = |buffer| {
            let bytes = &b"x"[..];
            let checksum = data_checksum(bytes);
            let (last_of_buffer, last_buffer) = (true, true);
            let (high, packet) = (1, 0);
            let data = Data { buffer, high, packet, last_of_buffer, last_buffer, checksum, bytes };
            made(Ports { local: 4096, foreign: 7000 }, Body::Data(data))
        };
        let keepalive = made(Ports { local: 4096, foreign: 7000 }, Body::KeepAlive);
        let open = bytes(AN_OPEN);
        let mut partner = Unproved::new(&open);
        assert!(!partner.heard(&open) && partner.may_give(open.len()));
        assert!(!partner.may_give(open.len() + 1));
        // Whoever forged the OPEN can forge these.
        assert!(!partner.heard(&keepalive) && !partner.heard(&data(u32::MAX)));
        let mut list = [0; 16];
        put_go(&mut list, 1, u32::MAX).unwrap();
        put_go(&mut list[8..], 2, 0).unwrap();
        partner.said(&made(ports, Body::Control(&list)));
        for far in [u32::MAX - 1, 1, 1000] {
            assert!(!partner.heard(&data(far)), "{far}");
        }
        assert!(!partner.heard(&keepalive));
        let damaged = [&data(0)[..4], &[9, 9][..], &data(0)[6..]].concat();
        assert!(!partner.heard(&damaged));
        assert!(partner.clone().heard(&data(u32::MAX)) && partner.heard(&data(0)));
        // Who reads says nothing that it could not have guessed.
        let mut read = open.clone();
        read[33] &= !1;
        let mut partner = Unproved::new(&read);
        assert!(!partner.heard(&open) && partner.heard(&keepalive));
    }

    #[test]
    fn what_an_open_offers_is_read() {
        let with = |client: &[u8]| [&bytes(AN_OPEN)[..36], client, &[0, 0]].concat();
        assert_eq!(offered(&bytes(AN_OPEN)), Some(&b"x"[..]));
        assert_eq!(offered(&with(b"wst1 x s=3 name=a%20b")), Some(&b"a%20b"[..]));
        assert_eq!(offered(&with(b"wst1x name=a")), Some(&b"wst1x name=a"[..]));
        for none in [&b"wst1 end"[..], b"wst1", b"wst1 s=3 name=", b""] {
            assert_eq!(offered(&with(none)), None, "{none:?}");
        }
        let mut read = with(b"a");
        read[33] &= !1;
        assert_eq!(offered(&read), None, "READ offers nothing");
        assert_eq!(offered(&bytes(AN_OPEN)[..30]), None);
    }

    #[test]
    fn a_refusal_is_a_packet_and_no_longer_than_what_it_answers() {
        let open = bytes(AN_OPEN);
        for why in ["no", ENCRYPTED, "a reason that is far too long to fit into so short a packet"]
        {
            let packet = refused(&open, why);
            assert_eq!(kind(&packet), Some(10), "{why}");
            assert!(packet.len() <= open.len(), "{why}");
            assert_eq!((local_port(&packet), foreign_port(&packet)), (7000, 4096));
        }
        assert_eq!(refused(&open, "no"), bytes("651e010a00101b58100000006e6f0000"));
    }
}
