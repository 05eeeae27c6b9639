//! What must be known about a plain NETBLT packet before its sender gets an engine: whether it is valid,
//! whether it opens a connection, and how to refuse it (RFC 998).

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;
use wetstring_proto::netblt::control::{Message, RATE_LEN, messages};
use wetstring_proto::netblt::packet::{Body, Packet, Ports, Terms};
use wetstring_proto::time::Instant;

/// Bytes of the common header.
const HEADER: usize = 12;
/// Bytes of the DATA and LDATA header, which its checksum covers.
const DATA_HEADER: usize = 24;
const VERSION: u8 = 1;
/// Bytes of an OPEN without a client string.
const OPEN_MIN: usize = 37;
const OPEN: u8 = 0;
const DATA: u8 = 6;
const LDATA: u8 = 7;
const REFUSED: u8 = 10;
const TYPES: u8 = 12;
/// The flag M of an OPEN: the opener sends.
const WRITE: u8 = 1;
/// Bytes of a GO, and of a CONTROL packet with one.
const GO: usize = 8;
const ONE_GO: usize = HEADER + GO;
/// Bytes of an ABORT without a reason.
const ABORT: usize = HEADER + 4;
/// The death timer in seconds that is stated to an unproved address: its KEEPALIVEs are sent four times as
/// often (RFC 998, 5.2.3). Our own timeout stays the same.
const SOON_S: u16 = 1;
/// How many READ openers are remembered, for how long, and how soon a second OPEN may be a network duplicate.
const OPENERS: usize = 256;
const FORGOTTEN: Duration = Duration::from_secs(30);
const COPIED: Duration = Duration::from_millis(100);
/// How much longer than its death timer a peer is remembered, and the minimum.
const LONGER: Duration = Duration::from_secs(5);
const LEAST: Duration = Duration::from_secs(10);
/// Prefix of a file name in our client strings.
const NAME: &[u8] = b" name=";

/// The refusal of a listener that encrypts. With its header no longer than the shortest OPEN.
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

/// Whether the opener sends (WRITE).
pub fn is_write(open: &[u8]) -> bool {
    open.get(33).is_some_and(|flags| flags & WRITE != 0)
}

/// The file that an OPEN offers (WRITE), as in the client string; `None` if it offers none.
pub fn offered(open: &[u8]) -> Option<&[u8]> {
    let client = open.get(OPEN_MIN - 1..).filter(|_| is_write(open))?;
    let client = &client[..client.iter().position(|byte| *byte == 0).unwrap_or(client.len())];
    // Any other client string is the bare name of a file (docs/protocols/netblt.md §10).
    let ours = client == b"wst1" || client.starts_with(b"wst1 ");
    let name = match client.windows(NAME.len()).position(|word| word == NAME) {
        Some(at) if ours => &client[at + NAME.len()..],
        None if ours => return None,
        _ => client,
    };
    (!name.is_empty()).then_some(name)
}

/// Source port.
pub fn local_port(packet: &[u8]) -> u16 {
    packet.get(6..8).map_or(0, |port| u16::from_be_bytes([port[0], port[1]]))
}

/// Destination port.
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

/// How much of a packet may be sent to an unproved address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fit {
    /// All of it.
    Whole,
    /// This packet instead.
    Part(Vec<u8>),
    /// No message until more is received.
    Not,
    /// Nothing; it is not needed.
    Drop,
}

/// A packet of at most this many bytes.
fn made(ports: Ports, body: Body<'_>, most: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; most];
    let len = Packet { ports, body }.put(&mut bytes)?;
    bytes.truncate(len);
    Some(bytes)
}

/// A sender (WRITE) whose address is not proved: bytes received and sent, and what it must have seen to
/// continue.
///
/// No more bytes are sent there than were received, so a forged OPEN makes us send its victim less than the
/// forger sent. A genuine peer copes with that: a RESPONSE is no longer than the OPEN, and states a death timer
/// so short that KEEPALIVEs follow at once, which pay for the GOs; lists of GOs are cut to what may be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unproved {
    got: u64,
    gave: u64,
    /// It understands our client strings.
    ours: bool,
    /// Its death timer in seconds.
    death_s: u16,
    /// Ports of its connection, as in what we send.
    ports: Ports,
    /// Numbers of the first and the last buffer granted to it.
    granted: Option<(u32, u32)>,
    /// The peer was told of the end.
    ended: bool,
}

impl Unproved {
    /// The sender of this OPEN.
    pub fn new(open: &[u8]) -> Self {
        let ours = open.get(OPEN_MIN - 1..).is_some_and(|client| client.starts_with(b"wst1"));
        let death_s = open.get(30..32).map_or(0, |death| u16::from_be_bytes([death[0], death[1]]));
        let ports = Ports { local: foreign_port(open), foreign: local_port(open) };
        Self { got: 0, gave: 0, ours, death_s, ports, granted: None, ended: false }
    }

    /// This was received; whether it proves the address: data for a buffer whose unpredictable number was in
    /// our GO.
    pub fn heard(&mut self, packet: &[u8]) -> bool {
        self.got += packet.len() as u64;
        let data = matches!(kind(packet), Some(DATA | LDATA)) && packet.len() >= DATA_HEADER;
        let Some((first, last)) = self.granted.filter(|_| data) else { return false };
        let buffer = u32::from_be_bytes([packet[12], packet[13], packet[14], packet[15]]);
        buffer.wrapping_sub(first) <= last.wrapping_sub(first)
    }

    /// Whether this many bytes may be sent: no more than were received.
    pub fn may_give(&self, len: usize) -> bool {
        self.gave + len as u64 <= self.got
    }

    /// How much of a packet may be sent: all, a part that makes sense alone, or nothing yet.
    pub fn fit(&self, packet: &[u8]) -> Fit {
        let short = match Packet::parse(packet) {
            // It learns of us from GOs, which its own KEEPALIVEs pay for.
            Ok(Packet { body: Body::KeepAlive, .. }) => return Fit::Drop,
            Ok(Packet { body: Body::Abort(why), .. }) => {
                let Some(short) = self.abort(why) else { return Fit::Drop };
                Some(short)
            }
            Ok(Packet { ports, body: Body::Response(terms) }) => self.response(ports, terms),
            Ok(Packet { ports, body: Body::Control(list) }) => self.control(ports, list),
            _ => Some(packet.to_vec()).filter(|packet| self.may_give(packet.len())),
        };
        match short {
            None => Fit::Not,
            Some(short) if short == packet => Fit::Whole,
            Some(short) => Fit::Part(short),
        }
    }

    /// Client strings that it does not understand would cost the bytes of a GO.
    fn response(&self, ports: Ports, terms: Terms<'_>) -> Option<Vec<u8>> {
        let terms = if self.ours {
            terms
        } else {
            Terms { client: b"", death_s: terms.death_s.min(SOON_S), ..terms }
        };
        let short = made(ports, Body::Response(terms), 2 * OPEN_MIN + terms.client.len());
        short.filter(|short| self.may_give(short.len()))
    }

    /// As many messages as may be sent; the control timer retransmits the rest: the first GO matters most, then
    /// that enough is left to retransmit it, and to send ABORT.
    fn control(&self, ports: Ports, list: &[u8]) -> Option<Vec<u8>> {
        let again = if self.ours { 0 } else { ONE_GO + ABORT };
        // A RATE leads the list, to measure the round trip; it must not cost the GO behind it.
        let rated = matches!(messages(list).next(), Some((_, Message::Rate { .. })));
        let dear = !self.may_give(HEADER + RATE_LEN + GO + again);
        let list = if rated && dear { list.get(RATE_LEN..)? } else { list };
        let mut fits = 0;
        for (_, said) in messages(list) {
            let len = match said {
                Message::Go { .. } => GO,
                Message::Ok { .. } => 2 * GO,
                Message::Resend { packets, .. } => (12 + 2 * packets.len()).next_multiple_of(4),
                Message::Rate { .. } => RATE_LEN,
            };
            let spare = match (fits, self.granted) {
                (0, None) => 0,
                (0, _) => ABORT,
                _ => again,
            };
            if !self.may_give(HEADER + fits + len + spare) {
                break;
            }
            fits += len;
        }
        let short = list.get(..fits).filter(|short| !short.is_empty())?;
        made(ports, Body::Control(short), HEADER + fits)
    }

    /// An ABORT, with its reason if that may be sent.
    fn abort(&self, why: &[u8]) -> Option<Vec<u8>> {
        let most = HEADER + why.len() + 4;
        let packets = [why, b""].map(|why| made(self.ports, Body::Abort(why), most.max(ABORT)));
        packets.into_iter().flatten().find(|packet| !self.ended && self.may_give(packet.len()))
    }

    /// How long after it was last heard it is remembered: longer than its own timeout, so that no peer waits
    /// for a host that has forgotten it.
    pub fn patience(&self, most: Duration) -> Duration {
        (Duration::from_secs(u64::from(self.death_s)) + LONGER).clamp(LEAST, most.max(LEAST))
    }

    /// The ABORT that tells it that it is dropped, if that may be sent.
    pub fn aborted(&self) -> Option<Vec<u8>> {
        self.abort(b"nothing received that proves the address")
    }

    /// This was sent.
    pub fn said(&mut self, packet: &[u8]) {
        self.gave += packet.len() as u64;
        match Packet::parse(packet) {
            Ok(Packet { body: Body::Abort(_), .. }) => self.ended = true,
            Ok(Packet { body: Body::Control(list), .. }) => {
                for (_, message) in messages(list) {
                    if let Message::Go { buffer } = message {
                        let first = self.granted.map_or(buffer, |(first, _)| first);
                        self.granted = Some((first, buffer));
                    }
                }
            }
            _ => {}
        }
    }
}

/// READ openers that have no engine yet: their OPEN is answered when it is retransmitted.
///
/// A sender has files for one receiver, so a forged datagram must not take its slot; and an OPEN is shorter
/// than the RESPONSE with a file's name. A receiver's packets depend on nothing that it received (RFC 998), so
/// there is no better proof.
#[derive(Debug, Default)]
pub struct Openers(VecDeque<(SocketAddr, u16, u32, Instant)>);

impl Openers {
    /// Whether this OPEN was received before, long enough ago not to be a network duplicate.
    pub fn is_repeated(&mut self, from: SocketAddr, open: &[u8], now: Instant) -> bool {
        let id = open.get(12..16).map_or(0, |id| u32::from_be_bytes([id[0], id[1], id[2], id[3]]));
        let port = local_port(open);
        self.0.retain(|(.., at)| now.since(*at) < FORGOTTEN);
        let known = self.0.iter().position(|(a, b, c, _)| (*a, *b, *c) == (from, port, id));
        let Some(known) = known else {
            if self.0.len() >= OPENERS {
                self.0.pop_front();
            }
            self.0.push_back((from, port, id, now));
            return false;
        };
        let repeated = now.since(self.0[known].3) >= COPIED;
        if repeated {
            self.0.remove(known);
        }
        repeated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An OPEN and a DATA packet of the model in the summary of RFC 998.
    const AN_OPEN: &str = "e3720100 00281000 1b580000 deadbeef 0000382c 00009c40 059e0005 001e003c \
         00030002 78000000";
    const A_DATA: &str = "d7890106 001c1000 1b580000 00000001 00010000 fbf90000 01020304";

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> = hex.bytes().filter(|b| *b != b' ').collect();
        let value = |c: u8| (c as char).to_digit(16).unwrap() as u8;
        digits.chunks(2).map(|pair| value(pair[0]) << 4 | value(pair[1])).collect()
    }

    #[test]
    fn packets_are_checked_by_checksum() {
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
        let mut peer = Unproved::new(&open);
        assert!(!peer.heard(&open) && peer.may_give(open.len()));
        assert!(!peer.may_give(open.len() + 1));
        // A forger of the OPEN can forge these too.
        assert!(!peer.heard(&keepalive) && !peer.heard(&data(u32::MAX)));
        let mut list = [0; 16];
        put_go(&mut list, 1, u32::MAX).unwrap();
        put_go(&mut list[8..], 2, 0).unwrap();
        peer.said(&made(ports, Body::Control(&list)));
        for far in [u32::MAX - 1, 1, 1000] {
            assert!(!peer.heard(&data(far)), "{far}");
        }
        assert!(!peer.heard(&keepalive));
        let damaged = [&data(0)[..4], &[9, 9][..], &data(0)[6..]].concat();
        assert!(!peer.heard(&damaged));
        assert!(peer.clone().heard(&data(u32::MAX)) && peer.heard(&data(0)));
    }

    #[test]
    fn a_reader_is_answered_when_its_open_is_retransmitted() {
        let (at, open) = (|ms: u64| Instant(ms * 1_000_000), bytes(AN_OPEN));
        let from = |n: u16| SocketAddr::from(([127, 0, 0, 1], n));
        let mut openers = Openers::default();
        assert!(!openers.is_repeated(from(1), &open, at(0)));
        assert!(!openers.is_repeated(from(1), &open, at(5)), "a copy that the network made");
        assert!(!openers.is_repeated(from(2), &open, at(500)), "another host");
        assert!(openers.is_repeated(from(1), &open, at(500)));
        assert!(!openers.is_repeated(from(1), &open, at(40_000)) && openers.0.len() == 1);
        for n in 2..20_000 {
            assert!(!openers.is_repeated(from(n), &open, at(40_000)));
        }
        assert_eq!(openers.0.len(), OPENERS);
    }

    #[test]
    fn a_dropped_peer_is_told_once_and_gets_no_keepalives() {
        let open = bytes(AN_OPEN);
        let ports = Ports { local: 7000, foreign: 4096 };
        let mut peer = Unproved::new(&open);
        assert_eq!(peer.fit(&made(ports, Body::KeepAlive, 20).unwrap()), Fit::Drop);
        let abort = made(ports, Body::Abort(b"a reason"), 40).unwrap();
        assert_eq!(peer.fit(&abort), Fit::Drop, "nothing came");
        peer.heard(&open);
        let told = peer.aborted().unwrap();
        assert_eq!((kind(&told), told.len() <= open.len()), (Some(5), true));
        assert_eq!(peer.fit(&abort), Fit::Whole);
        peer.said(&abort);
        assert_eq!((peer.fit(&abort), peer.aborted()), (Fit::Drop, None));
    }

    #[test]
    fn a_peer_with_a_name_of_any_length_gets_a_go_for_less_than_it_sent() {
        let (there, back) = ((4096, 7000), (7000, 4096));
        let ports = |(local, foreign)| Ports { local, foreign };
        for len in 0..60 {
            let name = vec![b'n'; len];
            let terms = Terms {
                id: 1,
                buffer_size: 1000,
                transfer_size: 0,
                packet_size: 1000,
                burst_size: 1,
                burst_interval_ms: 1,
                death_s: 60,
                write: true,
                checksum: true,
                outstanding: 4,
                client: &name,
            };
            let open = made(ports(there), Body::Open(terms), 200).unwrap();
            let response = Terms { client: b"wst1 x", ..terms };
            let response = made(ports(back), Body::Response(response), 200).unwrap();
            let mut list = [0; 32];
            for at in 0..4 {
                let buffer = 7 + at as u32;
                let into = &mut list[8 * at..];
                wetstring_proto::netblt::control::put_go(into, 1 + at as u16, buffer).unwrap();
            }
            let control = made(ports(back), Body::Control(&list), 200).unwrap();
            let mut peer = Unproved::new(&open);
            let (mut got, mut said) = (0, 0);
            let mut give = |peer: &mut Unproved, packet: &[u8], got: usize| {
                let packet = match peer.fit(packet) {
                    Fit::Not | Fit::Drop => return false,
                    Fit::Whole => packet.to_vec(),
                    Fit::Part(part) => part,
                };
                peer.said(&packet);
                said += packet.len();
                assert!(said <= got && kind(&packet).is_some(), "{len}: {said} for {got}");
                true
            };
            // RFC 998, 5.1: an OPEN is answered.
            peer.heard(&open);
            got += open.len();
            assert!(give(&mut peer, &response, got), "{len}: no RESPONSE to the first OPEN");
            let keepalive = made(ports(there), Body::KeepAlive, 20).unwrap();
            let mut alive = 0;
            while !give(&mut peer, &control, got) {
                assert!(!peer.heard(&keepalive), "a peer that forged the OPEN can forge it");
                got += keepalive.len();
                alive += 1;
            }
            assert!(alive <= 2, "{len}: a GO after {alive} KEEPALIVEs");
            assert_eq!(peer.granted.map(|(first, _)| first), Some(7));
            // It was lost: KEEPALIVEs pay for the next.
            let mut again = 0;
            for _ in 0..20 {
                assert!(!peer.heard(&keepalive), "a peer that forged the OPEN can forge it");
                got += keepalive.len();
                again += u32::from(give(&mut peer, &control, got));
            }
            assert!(again >= 9, "{len}: {again} times again");
            assert!(peer.aborted().is_some(), "{len}: it is told when it is forgotten");
            let wait = peer.patience(Duration::from_secs(120));
            assert!(wait > Duration::from_secs(60) && wait < Duration::from_secs(120));
        }
    }

    #[test]
    fn the_file_offered_by_an_open_is_parsed() {
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
    fn a_refusal_is_valid_and_no_longer_than_its_open() {
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
