//! Detects the peer's protocol from its first bytes.
//!
//! Looks only at bytes. It is for a program whose engine receives what it does not understand:
//! every engine ignores other protocols, so without this two mismatched programs only time out.
//!
//! | received | from |
//! |---|---|
//! | a Send-Init, an I or a command of a client, with a good check | Kermit's sender, or client |
//! | a NAK in a packet, with a good check | Kermit's receiver, or server |
//! | a header with a good CRC | ZMODEM's sender or receiver |
//! | block 0, block 1, with a good check | the sender of YMODEM, of XMODEM |
//! | `C`, `G` or NAK alone | a receiver of XMODEM or YMODEM |
//! | `Shere` | UUCP's called side |

use crate::kermit;
use crate::xymodem::frame::{LONG, NAK, SHORT, SOH, STX, WANT_CRC, WANT_STREAM, sum};
use crate::zmodem::{self, PeerRole};

/// The protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PeerProtocol {
    /// Kermit.
    Kermit,
    /// XMODEM, for certain.
    Xmodem,
    /// YMODEM, for certain.
    Ymodem,
    /// XMODEM or YMODEM: their receivers ask for the first block alike.
    Xymodem,
    /// YMODEM-G.
    YmodemG,
    /// ZMODEM.
    Zmodem,
    /// UUCP.
    Uucp,
    /// trzsz, which a terminal recognises.
    Trzsz,
}

/// What is between a peer's program and the line. The programs of trzsz say so.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Host {
    /// Nothing that draws.
    #[default]
    Plain,
    /// tmux: it draws what the program writes to its window, and something may be drawn between lines.
    Tmux,
    /// The console of Windows, which draws everything.
    Windows,
}

impl Host {
    /// The end of a line of trzsz.
    pub const fn line_end(self) -> &'static [u8] {
        match self {
            Self::Plain | Self::Tmux => b"\n",
            Self::Windows => b"!\n",
        }
    }
}

/// The peer's role.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// It sends.
    Sender,
    /// It receives, or is a server.
    Receiver,
    /// It asks for a server (Kermit).
    Client,
}

/// The detected peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Detected {
    /// Offset of its first bytes.
    pub at: usize,
    /// Their length.
    pub len: usize,
    /// The protocol.
    pub protocol: PeerProtocol,
    /// The role of the peer.
    pub part: Part,
}

/// Control-A, with which Kermit's packets begin unless another mark was chosen.
const MARK: u8 = SOH;

/// Finds the first complete greeting of a protocol with a good check, from `from` on.
pub fn recognise(bytes: &[u8], from: usize) -> Option<Detected> {
    (from..bytes.len()).find_map(|at| {
        let rest = &bytes[at..];
        let heard = |(len, protocol, part)| Detected { at, len, protocol, part };
        match rest[0] & 0x7F {
            MARK | STX => kermit_packet(rest).or_else(|| block(rest)).map(heard),
            zmodem::packet::ZPAD => header(rest).map(heard),
            0x10 if rest[1..].starts_with(b"Shere") => {
                Some(heard((6, PeerProtocol::Uucp, Part::Receiver)))
            }
            _ => None,
        }
    })
}

/// Whether bytes between two silences are only a receiver's requests for the first block:
/// `C`, `G` or NAK. Within text they are letters.
pub fn start_characters(alone: &[u8]) -> Option<PeerProtocol> {
    let all = |code: u8| !alone.is_empty() && alone.iter().all(|byte| *byte == code);
    match () {
        () if all(WANT_CRC) || all(NAK) => Some(PeerProtocol::Xymodem),
        () if all(WANT_STREAM) => Some(PeerProtocol::YmodemG),
        () => None,
    }
}

/// Peers that announce their protocol in readable text: lrzsz's senders and U-Boot's
/// receivers. The text may predate the peer, so this may explain a failure but not cause one.
pub fn announced(text: &[u8]) -> Option<(PeerProtocol, Part)> {
    const WORDS: [(&[u8], PeerProtocol, Part); 5] = [
        (b"local XMODEM receive command", PeerProtocol::Xmodem, Part::Sender),
        (b"local YMODEM receive command", PeerProtocol::Ymodem, Part::Sender),
        (b"(xmodem) download", PeerProtocol::Xymodem, Part::Receiver),
        (b"(ymodem) download", PeerProtocol::Xymodem, Part::Receiver),
        (b"(kermit) download", PeerProtocol::Kermit, Part::Receiver),
    ];
    // The last one counts.
    (0..text.len()).rev().find_map(|at| {
        let said = WORDS.iter().find(|(words, ..)| text[at..].starts_with(words));
        said.map(|&(_, protocol, part)| (protocol, part))
    })
}

/// A packet as it is before negotiation: short, with a one-character block check. NAKs
/// may have another.
fn kermit_packet(bytes: &[u8]) -> Option<(usize, PeerProtocol, Part)> {
    if bytes[0] & 0x7F != MARK {
        return None;
    }
    let len = usize::from(kermit::check::unchar(bytes.get(1)? & 0x7F));
    let body = bytes.get(1..2 + len).filter(|_| (3..=94).contains(&len))?;
    // On a line with parity the check is over seven bits.
    let mut plain = [0; 95];
    for (to, byte) in plain.iter_mut().zip(body) {
        *to = byte & 0x7F;
    }
    let packet = kermit::packet::parse(&plain[..body.len()], kermit::check::Check::Sum6, false);
    let part = match packet.ok()?.kind {
        kermit::packet::kind::SEND_INIT => Part::Sender,
        kermit::packet::kind::NAK => Part::Receiver,
        kermit::packet::kind::INFO | b'R' | b'G' | b'C' | b'K' => Part::Client,
        _ => return None,
    };
    Some((2 + len, PeerProtocol::Kermit, part))
}

fn header(bytes: &[u8]) -> Option<(usize, PeerProtocol, Part)> {
    let most = bytes.len().min(2 * zmodem::packet::MAX_HEADER);
    let (0, speaker) = zmodem::recognise(&bytes[..most])? else { return None };
    // The shortest run of bytes that is this header.
    let len = (4..=most).find(|len| zmodem::recognise(&bytes[..*len]).is_some())?;
    let part = match speaker {
        PeerRole::Sender => Part::Sender,
        PeerRole::Receiver => Part::Receiver,
    };
    Some((len, PeerProtocol::Zmodem, part))
}

/// The first block of XMODEM or YMODEM, with a sum or a CRC.
fn block(bytes: &[u8]) -> Option<(usize, PeerProtocol, Part)> {
    let data = if bytes[0] == STX { LONG } else { SHORT };
    let protocol = match (bytes[0], bytes.get(1..3)?) {
        (SOH | STX, [0, 0xFF]) => PeerProtocol::Ymodem,
        (SOH | STX, [1, 0xFE]) => PeerProtocol::Xmodem,
        _ => return None,
    };
    let (body, check) = bytes[3..].split_at_checked(data)?;
    let crc = crate::crc::crc16(body).to_be_bytes();
    if check.starts_with(&crc) {
        return Some((3 + data + 2, protocol, Part::Sender));
    }
    (*check.first()? == sum(body)).then_some((3 + data + 1, protocol, Part::Sender))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(bytes: &[u8]) -> Option<(usize, usize, PeerProtocol, Part)> {
        recognise(bytes, 0).map(|heard| (heard.at, heard.len, heard.protocol, heard.part))
    }

    #[test]
    fn other_protocols_are_detected() {
        // As sent by G-Kermit 2.01, C-Kermit 9.0.302, lrzsz 0.12.21.
        let send_init = b"banner\r\n\x019 S~' @-#Y3~*!J*0+++J\"U1@O\r";
        assert_eq!(who(send_init), Some((8, 27, PeerProtocol::Kermit, Part::Sender)));
        assert_eq!(who(b"\x01# N3\r"), Some((0, 5, PeerProtocol::Kermit, Part::Receiver)));
        let zrinit = b"rz waiting to receive.**\x18B0100000023be50\r\x8a\x11";
        let (at, _, protocol, part) = who(zrinit).expect("ZRINIT");
        assert_eq!((at, protocol, part), (22, PeerProtocol::Zmodem, Part::Receiver));
        let (_, _, protocol, part) = who(b"rz\r**\x18B00000000000000\r\x8a\x11").expect("ZRQINIT");
        assert_eq!((protocol, part), (PeerProtocol::Zmodem, Part::Sender));
        assert_eq!(who(b"\x10Shere=host\0"), Some((0, 6, PeerProtocol::Uucp, Part::Receiver)));
    }

    #[test]
    fn first_blocks_are_told_by_their_numbers() {
        use crate::xymodem::frame::{Check, finish};
        for (number, protocol) in [(0, PeerProtocol::Ymodem), (1, PeerProtocol::Xmodem)] {
            for (len, check) in [(SHORT, Check::Sum), (SHORT, Check::Crc), (LONG, Check::Crc)] {
                let mut bytes = [0x5A; LONG + 5];
                let whole = finish(&mut bytes, number, len, check);
                assert_eq!(who(&bytes[..whole]), Some((0, whole, protocol, Part::Sender)));
                assert_eq!(who(&bytes[..whole - 1]), None);
            }
        }
    }

    #[test]
    fn damage_and_text_are_no_peer() {
        assert_eq!(who(b"\x01# N4\r"), None, "check");
        assert_eq!(who(b"\x01# Y?\r"), None, "an answer does not identify the role");
        assert_eq!(who(b"**\x18B0100000023be51\r\x8a\x11"), None);
        assert_eq!(who(b"login: "), None);
        for cut in 0..18 {
            assert_eq!(who(&b"**\x18B0100000023be50"[..cut]), None);
        }
        assert_eq!(start_characters(b"C"), Some(PeerProtocol::Xymodem));
        assert_eq!(start_characters(b"\x15\x15"), Some(PeerProtocol::Xymodem));
        assert_eq!(start_characters(b"G"), Some(PeerProtocol::YmodemG));
        for text in [&b""[..], b"CG", b"CANCEL", b"C\r\n"] {
            assert_eq!(start_characters(text), None);
        }
    }

    #[test]
    fn announcements_are_read() {
        let sx = b"Give your local XMODEM receive command now.\r\n\x18\x18\x18";
        assert_eq!(announced(sx), Some((PeerProtocol::Xmodem, Part::Sender)));
        let uboot = b"## Ready for binary (kermit) download to 0x80000 at 115200 bps...\r\n";
        let loadb = Some((PeerProtocol::Kermit, Part::Receiver));
        assert_eq!(announced(&[&sx[..], uboot].concat()), loadb);
        assert_eq!(announced(b"XMODEM or Kermit?"), None);
    }

    #[test]
    fn parity_hides_no_peer() {
        let even = |byte: u8| if byte.count_ones() % 2 == 1 { byte | 0x80 } else { byte };
        let nak = b"\x01# N3\r".map(even);
        assert_eq!(who(&nak), Some((0, 5, PeerProtocol::Kermit, Part::Receiver)));
    }
}
