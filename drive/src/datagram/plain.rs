//! What must be known of a plain NETBLT packet before an engine is given to its sender: whether it is
//! one, whether it opens a connection, and how it is refused (RFC 998).

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
