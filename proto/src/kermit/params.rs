//! The parameter string of S, I and their acknowledgements, and negotiation.
//!
//! ```text
//! MAXL TIME NPAD PADC EOL QCTL QBIN CHKT REPT CAPAS... WINDO MAXLX1 MAXLX2 CHKPNT CHKINT(3)
//! WHATAMI SYSIDLEN SYSID... WHATAMI2 [own: 'W' flags [capabilities] check(3)]
//! ```
//!
//! Every field may be missing; a missing field means its default (kermit.md §5). The bytes after
//! WHATAMI2 are ours: peers ignore unknown fields, and another Wetstring learns from
//! them that its framer counts bytes on a clear channel, that digests of whole files may ride
//! in Z packets (docs/decisions/002), and of a list of capabilities (the module `capability`).
//!
//! The packets that carry these strings have only the 6-bit check, which passes one damaged packet
//! in 64, and a damaged agreement damages files without a sign. So a string that no Kermit sends is
//! doubted ([`doubt`]), and our own is followed by a CRC of it.

use super::capability::{BUNDLE, COMPRESS, CORRECTION, Capabilities, DIFFERENCE, ENTRIES};
use super::check::{Check, crc16, ctl, tochar, unchar};
use super::encode::Shift;
use super::packet::{LONG_HEADER, finish, kind};
use super::reason::BadPacket;
use crate::file::FileKind;

/// CAPAS: long packets.
pub const CAP_LONG: u8 = 2;
/// CAPAS: sliding windows.
pub const CAP_WINDOW: u8 = 4;
/// CAPAS: file attributes.
pub const CAP_ATTRIBUTES: u8 = 8;
/// CAPAS: recovery of partial files.
pub const CAP_RESEND: u8 = 16;
/// CAPAS: locking shifts.
pub const CAP_SHIFT: u8 = 32;

/// WHATAMI: the sender of this is a server.
pub const WMI_SERVER: u8 = 1;
/// WHATAMI: the file mode is binary.
pub const WMI_BINARY: u8 = 2;
/// WHATAMI: offers to stream.
pub const WMI_STREAM: u8 = 8;
/// WHATAMI: the channel is clear.
pub const WMI_CLEAR: u8 = 16;
/// WHATAMI2: the file mode is set by the user (manual), not detected.
pub const WMI2_MANUAL: u8 = 1;
/// WHATAMI: this byte is valid.
pub const WMI_VALID: u8 = 32;

/// Own flags: a digest of the whole file may ride in Z.
pub const OWN_DIGEST: u8 = 1;
/// Own flags: the framer goes by length alone while streaming on a clear channel.
pub const OWN_LENGTH: u8 = 2;
/// Own flags: a list of capabilities follows.
pub const OWN_LIST: u8 = 4;

/// A decoded parameter string; missing fields have defaults.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Params {
    /// Longest short packet to receive (LEN value).
    pub max_short: u8,
    /// Seconds after which the peer times out; 0 is never.
    pub time_s: Option<u8>,
    /// Padding bytes requested before each packet.
    pub pad_count: u8,
    /// The padding byte.
    pub pad: u8,
    /// Terminator requested after each packet.
    pub eol: u8,
    /// Control prefix this side will use.
    pub qctl: u8,
    /// 8th-bit prefix, `Y` (willing) or `N` (not); `N` if absent.
    pub qbin: u8,
    /// Requested block check, as a character.
    pub check: u8,
    /// Repeat prefix; blank if none.
    pub rept: u8,
    /// Capabilities (first CAPAS byte).
    pub capas: u8,
    /// Window slots.
    pub window: u8,
    /// Longest long packet; `None` where the string was silent.
    pub max_long: Option<u16>,
    /// WHATAMI, if valid.
    pub whatami: Option<u8>,
    /// System id, two characters; blanks if unknown.
    pub system: [u8; 2],
    /// WHATAMI2: the file mode is set by the user.
    pub manual: bool,
    /// Our own flags, if the peer is one of us; without that of the list.
    pub own: Option<u8>,
    /// Capabilities, if the peer is one of us.
    pub capabilities: Capabilities,
}

impl Default for Params {
    /// The defaults of an empty string.
    fn default() -> Self {
        Self {
            max_short: 80,
            time_s: None,
            pad_count: 0,
            pad: 0,
            eol: b'\r',
            qctl: b'#',
            qbin: b'N',
            check: b'1',
            rept: b' ',
            capas: 0,
            window: 1,
            max_long: None,
            whatami: None,
            system: *b"  ",
            manual: false,
            own: None,
            capabilities: Capabilities::NONE,
        }
    }
}

/// Whether a character may serve as a prefix: 33..=62 or 96..=126.
pub const fn is_prefix(c: u8) -> bool {
    matches!(c, 33..=62 | 96..=126)
}

fn number(c: u8) -> u8 {
    unchar(c & 0x7f).min(94)
}

/// The fields after CAPAS sit after however many CAPAS bytes there are.
fn parse_tail(tail: &[u8], p: &mut Params) {
    if let Some(&c) = tail.first() {
        p.window = number(c).clamp(1, 31);
    }
    if let (Some(&a), Some(&b)) = (tail.get(1), tail.get(2)) {
        let len = u16::from(number(a)) * 95 + u16::from(number(b));
        p.max_long = Some(if len < 10 { 80 } else { len.min(9024) });
    }
    if let Some(&c) = tail.get(7) {
        let byte = number(c);
        p.whatami = (byte & WMI_VALID != 0).then_some(byte);
    }
    let Some(&len) = tail.get(8) else { return };
    let len = usize::from(number(len));
    let Some(system) = tail.get(9..9 + len) else { return };
    for (to, from) in p.system.iter_mut().zip(system) {
        *to = *from;
    }
    if let Some(&c) = tail.get(9 + len) {
        p.manual = number(c) & (WMI_VALID | WMI2_MANUAL) == WMI_VALID | WMI2_MANUAL;
    }
    let own = tail.get(10 + len..).unwrap_or(&[]);
    let Some(list) = own_list(own) else { return };
    if own.len() >= list.end + OWN_CHECK {
        p.own = Some(number(own[1]) & !OWN_LIST);
        p.capabilities = Capabilities::parse(&own[list]);
    }
}

/// Bytes of our own extension before its list, and of the check after it.
const OWN_HEAD: usize = 2;
const OWN_CHECK: usize = 3;

/// Where the list of capabilities is in our own extension; it may be empty. `None` if it is not ours, or is cut.
fn own_list(own: &[u8]) -> Option<core::ops::Range<usize>> {
    let &[b'W', flags, ref rest @ ..] = own else { return None };
    let has_list = number(flags) & OWN_LIST != 0;
    let len = if has_list { Capabilities::list_len(rest)? } else { 0 };
    Some(OWN_HEAD..OWN_HEAD + len)
}

/// The CRC of the string up to and with our flags, as three characters.
fn own_check(covered: &[u8]) -> [u8; 3] {
    let crc = crc16(covered);
    [crc >> 12, crc >> 6 & 63, crc & 63].map(|part| tochar(part as u8))
}

/// Among the three prefixes: no repeat counts, as some say it.
const NO_REPEATS: (usize, Option<u8>) = (2, Some(b'N'));

/// The system ids are this long at most.
const LONGEST_SYSTEM: u8 = 2;

/// Why a parameter string looks damaged, if it does: something that no Kermit sends, or that hardly
/// one does and that would be read wrong without a sign.
pub fn doubt(data: &[u8]) -> Option<BadPacket> {
    let at = |index: usize| data.get(index).copied().filter(|c| *c != b' ');
    let prefixes = [at(5), at(6).filter(|c| *c != b'Y' && *c != b'N'), at(8)];
    if data.iter().any(|c| !(b' '..=b'~').contains(&(c & 0x7f))) && data.get(3) != Some(&0) {
        return Some(BadPacket::Control);
    }
    if at(4).is_some_and(|c| !(1..=31).contains(&number(c))) {
        return Some(BadPacket::Eol);
    }
    if at(5).is_some_and(|c| !is_prefix(c)) {
        return Some(BadPacket::ControlPrefix);
    }
    if at(6).is_some_and(|c| !is_prefix(c) && !matches!(c, b'Y' | b'N')) {
        return Some(BadPacket::BinaryPrefix);
    }
    if at(7).is_some_and(|c| !matches!(c, b'1' | b'2' | b'3' | b'B' | b'5')) {
        return Some(BadPacket::CheckType);
    }
    if (0..3).any(|i| prefixes[i].is_some() && prefixes[..i].contains(&prefixes[i])) {
        return Some(BadPacket::SamePrefixes);
    }
    // A wrong one changes the file without a sign; who means it retransmits it. `N` is an old way to
    // say that there is none.
    let usual = [Some(b'#'), Some(b'&'), Some(b'~')];
    if (0..3).any(|i| ![None, usual[i]].contains(&prefixes[i]) && (i, prefixes[i]) != NO_REPEATS) {
        return Some(BadPacket::UnusualPrefix);
    }
    doubt_tail(data)
}

/// Looks at what is after the checkpoint fields.
fn doubt_tail(data: &[u8]) -> Option<BadPacket> {
    let at = |index: usize| data.get(index).copied();
    let mut capas = 9;
    while at(capas).is_some_and(|c| number(c) & 1 != 0) {
        capas += 1;
    }
    let whatami = capas + 8;
    let valid = |c: u8| number(c) & WMI_VALID != 0;
    if at(whatami).is_some_and(|c| c != b' ' && !valid(c)) {
        return Some(BadPacket::Whatami);
    }
    let system = number(at(whatami + 1)?);
    if system > LONGEST_SYSTEM {
        return Some(BadPacket::LongSystem);
    }
    let whatami2 = whatami + 2 + usize::from(system);
    match data.len().checked_sub(whatami2) {
        None => Some(BadPacket::ShortSystem),
        Some(0) => None,
        Some(_) if !valid(data[whatami2]) => Some(BadPacket::Whatami2),
        Some(1) => None,
        Some(_) => {
            let own = &data[whatami2 + 1..];
            let check = own_list(own).and_then(|list| own.get(list.end..));
            let ours = check.is_some_and(|check| {
                data.len()
                    .checked_sub(OWN_CHECK)
                    .is_some_and(|end| check == own_check(&data[..end]))
            });
            (!ours).then_some(BadPacket::Unknown)
        }
    }
}

impl Params {
    /// The same in an S without C and G, which a program that waits to send by YMODEM takes for requests. The list of
    /// capabilities is one shorter for that, where it has error correction (of no use on a reliable line), and TIME a few seconds.
    pub(super) fn unlike_requests(self) -> Self {
        let shorter = Self { capabilities: self.capabilities.set(CORRECTION, false), ..self };
        let times = |params: Self| {
            (0..8).map(move |less| Self {
                time_s: params.time_s.map(|time| time.saturating_sub(less).max(1)),
                ..params
            })
        };
        let is_unlike = |params: &Self| {
            let (mut text, mut packet) = ([0; 40], [0; LONG_HEADER + 48]);
            let len = params.emit(&mut text, 40);
            packet[LONG_HEADER..][..len].copy_from_slice(&text[..len]);
            let (kind, check) = (kind::SEND_INIT, Check::Sum6);
            let (start, end) = finish(&mut packet, len, 0, kind, check, 1, false);
            !packet[start..end].iter().any(|byte| matches!(byte, b'C' | b'G'))
        };
        times(self).chain(times(shorter)).find(is_unlike).unwrap_or(self)
    }

    /// The file type that the sender of this has set by hand.
    pub fn manual_kind(&self) -> Option<FileKind> {
        let whatami = self.whatami.filter(|_| self.manual)?;
        Some(if whatami & WMI_BINARY != 0 { FileKind::Binary } else { FileKind::Text })
    }

    /// Reads a string of any length.
    pub fn parse(data: &[u8]) -> Self {
        let mut p = Self::default();
        let at = |index: usize| data.get(index).copied();
        if let Some(c) = at(0) {
            let len = number(c);
            p.max_short = if len < 10 { 80 } else { len };
        }
        p.time_s = at(1).map(number);
        p.pad_count = at(2).map_or(0, number);
        p.pad = at(3).map_or(0, ctl);
        p.eol = at(4).map(number).filter(|c| (1..=31).contains(c)).unwrap_or(b'\r');
        p.qctl = at(5).filter(|c| is_prefix(*c)).unwrap_or(b'#');
        p.qbin = at(6).filter(|c| is_prefix(*c) || *c == b'Y').unwrap_or(b'N');
        p.check = at(7).unwrap_or(b'1');
        p.rept = at(8).filter(|c| is_prefix(*c)).unwrap_or(b' ');
        p.capas = at(9).map_or(0, number);
        let mut index = 9;
        while at(index).is_some_and(|c| number(c) & 1 != 0) {
            index += 1;
        }
        parse_tail(data.get(index + 1..).unwrap_or(&[]), &mut p);
        p
    }

    /// Writes the string and returns its length, at most `limit`: peers that choke on long
    /// strings get a shorter one. `out` takes every string.
    pub fn emit(&self, out: &mut [u8; 40], limit: usize) -> usize {
        let max_long = self.max_long.unwrap_or(0);
        let head = [
            tochar(self.max_short),
            tochar(self.time_s.unwrap_or(0)),
            tochar(self.pad_count),
            ctl(self.pad),
            tochar(self.eol),
            self.qctl,
            self.qbin,
            self.check,
            self.rept,
            tochar(self.capas),
            tochar(self.window),
            tochar((max_long / 95) as u8),
            tochar((max_long % 95) as u8),
            b'0',
            b'_',
            b'_',
            b'_',
            tochar(self.whatami.unwrap_or(0)),
            tochar(2),
            self.system[0],
            self.system[1],
            tochar(WMI_VALID | if self.manual { WMI2_MANUAL } else { 0 }),
        ];
        out[..head.len()].copy_from_slice(&head);
        let mut len = head.len();
        if let Some(own) = self.own {
            let list = if self.capabilities.is_empty() { 0 } else { OWN_LIST };
            out[len] = b'W';
            out[len + 1] = tochar(own & !OWN_LIST | list);
            len += OWN_HEAD;
            len += self.capabilities.emit(&mut out[len..]);
            let check = own_check(&out[..len]);
            out[len..len + OWN_CHECK].copy_from_slice(&check);
            len += OWN_CHECK;
        }
        len.min(limit)
    }
}

/// What two parameter strings agree on, seen from one side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Agreed {
    /// Block check from the next packet on.
    pub check: Check,
    /// Every packet is on CRC-16 (type 5).
    pub forced_check: bool,
    /// 8th-bit prefix, if in use.
    pub qbin: Option<u8>,
    /// Repeat prefix, if in use.
    pub rept: Option<u8>,
    /// The peer's repeat prefix, if it differs from ours: repeat counts are off, but
    /// the peer may have misread ours, and use this one.
    pub other_rept: Option<u8>,
    /// Window slots.
    pub window: u8,
    /// Longest long packet we may send, if long packets were agreed on.
    pub send_long: Option<u16>,
    /// Attributes may be sent.
    pub attributes: bool,
    /// Recovery of partial files is possible.
    pub resend: bool,
    /// Locking shifts.
    pub shift: Shift,
    /// Data packets go unacknowledged.
    pub streaming: bool,
    /// Control characters may go bare.
    pub clear: bool,
    /// The peer is one of us, with these flags.
    pub own: Option<u8>,
    /// Everything after S goes in one window (the module `bundle`).
    pub bundle: bool,
    /// Its packets may have error correction (the module `correction`).
    pub correction: bool,
    /// What goes there, or streams, may be compressed.
    pub compress: bool,
    /// Of a file that the receiver has in an older version only the difference goes.
    pub difference: bool,
    /// Directories and symbolic links may be sent.
    pub entries: bool,
}

/// Puts `ours` (as sent) and `theirs` (as received) together.
///
/// `initiator` is the side that sent S; the rules for QBIN, REPT and CHKT differ by side only in
/// whose word is last, and the answer's is (kermit.md §3, §5.2, §7.3).
pub fn agree(ours: &Params, theirs: &Params, initiator: bool, forced_shift: bool) -> Agreed {
    let (proposal, answer) = if initiator { (ours, theirs) } else { (theirs, ours) };
    let capas = ours.capas & theirs.capas;
    let check = answer.check;
    let qbin = match (proposal.qbin, answer.qbin) {
        (b'N', _) | (_, b'N') | (b'Y', b'Y') => None,
        (b'Y', prefix) | (prefix, _) => Some(prefix),
    };
    let rept = (proposal.rept == answer.rept && answer.rept != b' ').then_some(answer.rept);
    let other_rept = Some(theirs.rept).filter(|other| ![b' ', ours.rept].contains(other));
    let shift = if forced_shift {
        Shift::Forced
    } else if capas & CAP_SHIFT != 0 && qbin.is_some() {
        Shift::Negotiated
    } else {
        Shift::Off
    };
    let both = |bit: u8| {
        ours.whatami.is_some_and(|w| w & bit != 0) && theirs.whatami.is_some_and(|w| w & bit != 0)
    };
    let own = match (ours.own, theirs.own) {
        (Some(a), Some(b)) => Some(a & b),
        _ => None,
    };
    let shared = ours.capabilities.both(theirs.capabilities);
    // What its data fields are made of needs eight bits, and the usual end of packets.
    let bundle = crate::kermit::bundle::IS_BUILT
        && (shared.has_version(BUNDLE, 2) || shared.has(BUNDLE) && !both(WMI_STREAM))
        && qbin.is_none()
        && shift == Shift::Off
        && (ours.eol, theirs.eol) == (b'\r', b'\r')
        && ours.max_short.min(theirs.max_short) >= 20;
    let streaming = both(WMI_STREAM) && !bundle;
    let is_plain = qbin.is_none() && shift == Shift::Off;
    let compress = if streaming {
        is_plain && shared.has_version(COMPRESS, 2)
    } else {
        bundle && shared.has(COMPRESS)
    };
    Agreed {
        check: match check {
            b'5' => Check::Crc16,
            c => Check::from_char(c).unwrap_or_default(),
        },
        forced_check: check == b'5',
        qbin: if forced_shift { None } else { qbin },
        rept,
        other_rept,
        window: if capas & CAP_WINDOW != 0 { ours.window.min(theirs.window).max(1) } else { 1 },
        send_long: if capas & CAP_LONG != 0 { theirs.max_long } else { None },
        attributes: capas & CAP_ATTRIBUTES != 0,
        resend: capas & CAP_RESEND != 0 && capas & CAP_ATTRIBUTES != 0,
        shift,
        streaming,
        clear: both(WMI_CLEAR),
        own,
        bundle,
        correction: bundle && shared.has(CORRECTION),
        compress,
        difference: bundle
            && shared.has(DIFFERENCE)
            && own.is_some_and(|own| own & OWN_DIGEST != 0),
        entries: shared.has(ENTRIES) && capas & CAP_ATTRIBUTES != 0,
    }
}

/// Fits an answer to the proposal it answers: REPT and CHKT are echoed where we support them, QBIN
/// is settled, our own mark is only shown to one of us.
pub fn answer(mut ours: Params, theirs: &Params, seven_bit: bool) -> Params {
    ours.rept = if ours.rept == b' ' { b' ' } else { theirs.rept };
    ours.check = match theirs.check {
        c @ (b'1' | b'2' | b'3' | b'B' | b'5') => c,
        _ => b'1',
    };
    ours.qbin = match theirs.qbin {
        _ if ours.qbin == b'N' => b'N',
        b'N' => b'N',
        b'Y' if seven_bit => b'&',
        // Willing is enough, both to willingness and to a prefix.
        _ => b'Y',
    };
    if theirs.own.is_none() {
        ours.own = None;
    }
    ours.capabilities = ours.capabilities.both(theirs.capabilities);
    ours
}

/// The text of the error packet by which one of us tells another that the digests differ.
pub(crate) const DIGESTS_DIFFER: &str = "The digests of the whole file differ";

/// Writes a digest as it rides in the data field of a Z packet between our own ends: `W` and 32
/// hexadecimal digits. Returns the length, 0 if it does not fit.
pub fn emit_digest(digest: &[u8; 16], out: &mut [u8]) -> usize {
    let Some(out) = out.get_mut(..33) else { return 0 };
    out[0] = b'W';
    for (pair, byte) in out[1..].chunks_exact_mut(2).zip(digest) {
        for (digit, half) in pair.iter_mut().zip([byte >> 4, byte & 15]) {
            *digit = if half < 10 { b'0' + half } else { b'a' + half - 10 };
        }
    }
    33
}
