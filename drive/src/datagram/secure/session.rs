//! An established session: seals and opens packets.

use super::keyring::{Opening, Sealing, Span};
use super::replay::Window;
use super::wire::{DATA_HEADER, data_header};
use super::{OVERHEAD, Suite, TAG};
use snow::HandshakeState;
use std::ops::Range;

/// Nonces with this bit are for control messages, whose first byte is their type. Unknown types are ignored.
const WORDS: u64 = 1 << 63;
/// The session has ended, with the reason in UTF-8.
const CLOSE: u8 = 1;
/// Probe: padding. Does a datagram of this length pass?
const PROBE: u8 = 2;
/// Probe acknowledged: its length in two bytes.
const PROBED: u8 = 3;
/// The longest datagram received recently, in two bytes.
const REPORT: u8 = 4;
/// Several packets (`bundle`).
const BUNDLE: u8 = 5;
/// A piece of a packet (`bundle`).
const PIECE: u8 = 6;
/// Bytes of the type of a control message.
const KIND: usize = 1;
/// Bytes that a control message adds to its content.
pub(in crate::datagram) const WORD_OVERHEAD: usize = OVERHEAD + KIND;
/// The longest reason.
const REASON_MAX: usize = 400;

/// Content of a sealed datagram.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Opened {
    /// A packet of this many bytes.
    Packet(usize),
    /// Several packets, at this range.
    Bundle(Range<usize>),
    /// A piece of a packet, at this range.
    Piece(Range<usize>),
    /// The peer probes whether datagrams of this length pass.
    Probe,
    /// The peer has received a probe of this length.
    Probed(usize),
    /// The longest datagram that the peer received recently.
    Report(usize),
    /// The peer has ended the session, with its reason, if any.
    Close(String),
    /// Forged, damaged, or a replay.
    Bad,
}

/// A session that both ends have established.
pub struct Session {
    sealing: Sealing,
    opening: Opening,
    span: Span,
    suite: Suite,
    /// The index by which the peer knows us, and its own.
    pub(in crate::datagram) local: u32,
    remote: u32,
    /// The nonce of the next packet or control message, without its highest bit.
    next: u64,
    window: Window,
    words: Window,
    /// Longest datagrams of this session, session headers included.
    size: usize,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("local", &self.local).finish_non_exhaustive()
    }
}

impl Session {
    pub(super) fn new(
        mut state: HandshakeState,
        suite: Suite,
        (local, remote): (u32, u32),
        size: usize,
    ) -> Result<Self, snow::Error> {
        if !state.is_handshake_finished() {
            return Err(snow::error::StateProblem::HandshakeNotFinished.into());
        }
        // The keys of Noise's Split(): the dialer's first.
        let (dialling, listening) = state.dangerously_get_raw_split();
        let (ours, theirs) =
            if state.is_initiator() { (dialling, listening) } else { (listening, dialling) };
        Ok(Self {
            sealing: Sealing::new(suite, &ours)?,
            opening: Opening::new(suite, &theirs)?,
            span: Span::PACKETS,
            suite,
            local,
            remote,
            next: 0,
            window: Window::default(),
            words: Window::default(),
            size,
        })
    }

    /// The longest datagram proved by the handshake.
    pub(in crate::datagram) fn size(&self) -> usize {
        self.size
    }

    /// The longest packet that fits.
    pub fn packet_max(&self) -> usize {
        self.size - OVERHEAD
    }

    /// The cipher.
    pub fn suite(&self) -> Suite {
        self.suite
    }

    /// Seals a packet into a datagram; returns its length. `None` if there are no nonces left (2^63), or no
    /// room.
    pub fn seal(&mut self, packet: &[u8], into: &mut [u8]) -> Option<usize> {
        let nonce = self.count()?;
        self.seal_as(nonce, packet, into)
    }

    /// The key generation of a nonce; control messages use the same keys.
    const fn generation(&self, nonce: u64) -> u64 {
        self.span.of(nonce & !WORDS)
    }

    fn seal_as(&mut self, nonce: u64, packet: &[u8], into: &mut [u8]) -> Option<usize> {
        let (header, body) = into.split_at_mut_checked(DATA_HEADER)?;
        data_header(header, self.remote, nonce);
        let generation = self.generation(nonce);
        Some(DATA_HEADER + self.sealing.seal(generation, nonce, packet, body)?)
    }

    /// The datagram that ends the session.
    pub fn close(&mut self, why: &str) -> Option<Vec<u8>> {
        let why: Vec<u8> = why.bytes().take(REASON_MAX).collect();
        self.word(CLOSE, &why)
    }

    /// A datagram of this length that is all padding; at least the minimum.
    pub(in crate::datagram) fn probe(&mut self, len: usize) -> Option<Vec<u8>> {
        self.word(PROBE, &vec![0; len.saturating_sub(WORD_OVERHEAD)])
    }

    /// Acknowledges a probe of this length.
    pub(in crate::datagram) fn probed(&mut self, len: usize) -> Option<Vec<u8>> {
        self.word(PROBED, &(len.min(0xFFFF) as u16).to_be_bytes())
    }

    /// Reports the length of received datagrams.
    pub(in crate::datagram) fn report(&mut self, longest: usize) -> Option<Vec<u8>> {
        self.word(REPORT, &(longest.min(0xFFFF) as u16).to_be_bytes())
    }

    /// A piece of a packet.
    pub(in crate::datagram) fn piece(&mut self, piece: &[u8]) -> Option<Vec<u8>> {
        self.word(PIECE, piece)
    }

    /// Seals several packets, which are in `bundle` after one free byte; returns the length.
    pub(in crate::datagram) fn bundle(
        &mut self,
        bundle: &mut [u8],
        into: &mut [u8],
    ) -> Option<usize> {
        *bundle.first_mut()? = BUNDLE;
        let nonce = self.count()? | WORDS;
        self.seal_as(nonce, bundle, into)
    }

    fn word(&mut self, kind: u8, contents: &[u8]) -> Option<Vec<u8>> {
        let mut word = vec![kind];
        word.extend(contents);
        let nonce = self.count()? | WORDS;
        let mut datagram = vec![0; word.len() + OVERHEAD];
        let len = self.seal_as(nonce, &word, &mut datagram)?;
        datagram.truncate(len);
        Some(datagram)
    }

    /// The next nonce. Packets and control messages are counted together, so both are in the current
    /// generation.
    fn count(&mut self) -> Option<u64> {
        // The last one is reserved by Noise.
        let nonce = Some(self.next).filter(|next| *next < WORDS - 1)?;
        self.next += 1;
        Some(nonce)
    }

    /// Opens what was received under a nonce.
    pub fn open(&mut self, nonce: u64, sealed: &[u8], into: &mut [u8]) -> Opened {
        let is_word = nonce >= WORDS;
        let window = if is_word { &self.words } else { &self.window };
        if !window.is_new(nonce) || sealed.len() < TAG || sealed.len() - TAG > into.len() {
            return Opened::Bad;
        }
        let generation = self.generation(nonce);
        let Some(len) = self.opening.open(generation, nonce, sealed, into) else {
            return Opened::Bad;
        };
        let window = if is_word { &mut self.words } else { &mut self.window };
        window.note(nonce);
        match &into[..len] {
            _ if !is_word => Opened::Packet(len),
            [CLOSE, why @ ..] => Opened::Close(String::from_utf8_lossy(why).into_owned()),
            [BUNDLE, ..] => Opened::Bundle(KIND..len),
            [PIECE, ..] => Opened::Piece(KIND..len),
            [PROBE, ..] => Opened::Probe,
            [PROBED, high, low] => Opened::Probed(usize::from(u16::from_be_bytes([*high, *low]))),
            [REPORT, high, low] => Opened::Report(usize::from(u16::from_be_bytes([*high, *low]))),
            // A control message of a later version.
            _ => Opened::Bad,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datagram::keys::Secret;
    use crate::datagram::secure::{Credentials, builder};

    /// Generations of 256 packets.
    const SHORT: Span = Span(8);

    /// Both ends of a session whose keys change often.
    fn pair(suite: Suite) -> (Session, Session) {
        let secret = Credentials::Secret(Secret::new(b"a long shared secret!!").unwrap());
        let mut dials = builder(&secret, suite).unwrap().build_initiator().unwrap();
        let mut listens = builder(&secret, suite).unwrap().build_responder().unwrap();
        let (mut message, mut payload) = ([0; 256], [0; 256]);
        let len = dials.write_message(&[], &mut message).unwrap();
        listens.read_message(&message[..len], &mut payload).unwrap();
        let len = listens.write_message(&[], &mut message).unwrap();
        dials.read_message(&message[..len], &mut payload).unwrap();
        let end = |state, ours| {
            let mut session = Session::new(state, suite, ours, 1400).unwrap();
            session.span = SHORT;
            session
        };
        (end(dials, (1, 2)), end(listens, (2, 1)))
    }

    fn nonce_of(datagram: &[u8]) -> u64 {
        u64::from_be_bytes(datagram[8..16].try_into().unwrap())
    }

    fn sealed(session: &mut Session, packet: &[u8]) -> Vec<u8> {
        let mut datagram = vec![0; packet.len() + OVERHEAD];
        assert_eq!(session.seal(packet, &mut datagram), Some(packet.len() + OVERHEAD));
        datagram
    }

    fn opened(session: &mut Session, datagram: &[u8]) -> Option<Vec<u8>> {
        let mut into = vec![0; 2000];
        match session.open(nonce_of(datagram), &datagram[DATA_HEADER..], &mut into) {
            Opened::Packet(len) => Some(into[..len].to_vec()),
            _ => None,
        }
    }

    #[test]
    fn keys_change_under_loss_reordering_copies_and_damage() {
        for suite in [Suite::AesGcm, Suite::ChaChaPoly] {
            let (mut ours, mut theirs) = pair(suite);
            let (mut way, mut dice, mut came) = (Vec::new(), wetstring_testkit::Dice(11), 0_u32);
            for number in 0..20_000_u32 {
                let datagram = sealed(&mut ours, &number.to_be_bytes());
                let draw = (dice.next() >> 33) as u32;
                if !draw.is_multiple_of(10) {
                    // At most 200 are reordered past it: not a generation.
                    way.push((number + draw / 16 % 200, number, datagram));
                }
            }
            way.sort();
            for (_, number, mut datagram) in way {
                datagram[20] ^= 1;
                assert_eq!(opened(&mut theirs, &datagram), None, "damaged");
                datagram[20] ^= 1;
                assert_eq!(opened(&mut theirs, &datagram), Some(number.to_be_bytes().to_vec()));
                assert_eq!(opened(&mut theirs, &datagram), None, "here before");
                came += 1;
            }
            assert!(came > 17_000, "{came}");
            // The other direction has keys of its own, which have not changed yet.
            let back = sealed(&mut theirs, b"back");
            assert_eq!(opened(&mut ours, &back), Some(b"back".to_vec()));
        }
    }

    #[test]
    fn a_key_is_used_for_one_generation_only() {
        let (mut ours, mut theirs) = pair(Suite::AesGcm);
        let first = sealed(&mut ours, b"first");
        let mut last = Vec::new();
        for _ in 0..256 * 3 {
            last = sealed(&mut ours, b"more");
            assert_eq!(opened(&mut theirs, &last), Some(b"more".to_vec()));
        }
        // It was lost for long enough: its key has been dropped.
        assert_eq!(opened(&mut theirs, &first), None);
        // A nonce of another generation is not of this key, whatever it says.
        for far in [256_u64, 512, 1 << 40] {
            let mut moved = last.clone();
            moved[8..16].copy_from_slice(&(nonce_of(&last) + far).to_be_bytes());
            assert_eq!(opened(&mut theirs, &moved), None, "{far}");
        }
        assert!(opened(&mut theirs, &sealed(&mut ours, b"goes on")).is_some());
    }

    #[test]
    fn the_end_is_sent_under_the_current_keys() {
        for packets in [0, 1, 255, 256, 257, 5000] {
            let (mut ours, mut theirs) = pair(Suite::ChaChaPoly);
            for _ in 0..packets {
                let datagram = sealed(&mut ours, b"word");
                opened(&mut theirs, &datagram).unwrap();
            }
            let end = ours.close("enough").unwrap();
            let mut into = [0; 500];
            let said = theirs.open(nonce_of(&end), &end[DATA_HEADER..], &mut into);
            assert_eq!(said, Opened::Close("enough".to_owned()), "{packets}");
        }
    }

    #[test]
    fn key_use_stays_far_below_cipher_limits() {
        // Blocks of the longest datagrams of a generation, of the 2^36 for an advantage of 2^-57.
        let packets = 1_u64 << Span::PACKETS.0;
        let blocks = packets * (crate::datagram::endpoint::LONGEST as u64 / 16 + 2);
        assert!(blocks <= 1 << 33, "{blocks}");
    }
}
