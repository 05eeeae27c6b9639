//! A session that stands: packets are sealed and opened.

use super::replay::Window;
use super::wire::{DATA_HEADER, data_header};
use super::{OVERHEAD, Suite, TAG};
use snow::{HandshakeState, StatelessTransportState};

/// Nonces from here on are the session's own words.
const WORDS: u64 = 1 << 63;
/// The session is over, and why, in UTF-8.
const CLOSE: u8 = 1;
/// The longest reason.
const REASON_MAX: usize = 400;

/// What came in a sealed datagram.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Opened {
    /// A packet of so many bytes.
    Packet(usize),
    /// The other end has ended the session; its words, if it had any.
    Close(String),
    /// Forged, damaged, or here before.
    Bad,
}

/// A session that both ends agree on.
pub struct Session {
    state: StatelessTransportState,
    suite: Suite,
    /// The index that the other end knows us by, and we it.
    pub(crate) local: u32,
    remote: u32,
    next: u64,
    next_word: u64,
    sealed_blocks: u64,
    window: Window,
    words: Window,
    /// Longest datagram of this session, headers of the session included.
    size: usize,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("local", &self.local).finish_non_exhaustive()
    }
}

impl Session {
    pub(super) fn new(
        state: HandshakeState,
        suite: Suite,
        (local, remote): (u32, u32),
        size: usize,
    ) -> Result<Self, snow::Error> {
        Ok(Self {
            state: state.into_stateless_transport_mode()?,
            suite,
            local,
            remote,
            next: 0,
            next_word: WORDS,
            sealed_blocks: 0,
            window: Window::default(),
            words: Window::default(),
            size,
        })
    }

    /// The longest packet that fits.
    pub fn packet_max(&self) -> usize {
        self.size - OVERHEAD
    }

    /// The cipher.
    pub fn suite(&self) -> Suite {
        self.suite
    }

    /// Seals a packet into a datagram; its length. `None` if the keys have carried all that they may,
    /// or there is no room.
    pub fn seal(&mut self, packet: &[u8], into: &mut [u8]) -> Option<usize> {
        self.sealed_blocks += packet.len() as u64 / 16 + 2;
        if self.sealed_blocks > self.suite.blocks() || self.next >= WORDS {
            return None;
        }
        let nonce = self.next;
        self.next += 1;
        self.seal_as(nonce, packet, into)
    }

    fn seal_as(&self, nonce: u64, packet: &[u8], into: &mut [u8]) -> Option<usize> {
        let (header, body) = into.split_at_mut_checked(DATA_HEADER)?;
        data_header(header, self.remote, nonce);
        Some(DATA_HEADER + self.state.write_message(nonce, packet, body).ok()?)
    }

    /// The datagram that ends the session.
    pub fn close(&mut self, why: &str) -> Option<Vec<u8>> {
        let mut word = vec![CLOSE];
        word.extend(why.bytes().take(REASON_MAX));
        let nonce = self.next_word;
        self.next_word = nonce.checked_add(1).filter(|next| *next < u64::MAX)?;
        let mut datagram = vec![0; word.len() + OVERHEAD];
        let len = self.seal_as(nonce, &word, &mut datagram)?;
        datagram.truncate(len);
        Some(datagram)
    }

    /// Opens what came under a nonce.
    pub fn open(&mut self, nonce: u64, sealed: &[u8], into: &mut [u8]) -> Opened {
        let is_word = nonce >= WORDS;
        let window = if is_word { &self.words } else { &self.window };
        if !window.is_new(nonce) || sealed.len() < TAG || sealed.len() - TAG > into.len() {
            return Opened::Bad;
        }
        let Ok(len) = self.state.read_message(nonce, sealed, into) else { return Opened::Bad };
        let window = if is_word { &mut self.words } else { &mut self.window };
        window.note(nonce);
        match &into[..len] {
            _ if !is_word => Opened::Packet(len),
            [CLOSE, why @ ..] => Opened::Close(String::from_utf8_lossy(why).into_owned()),
            // A word of a later version.
            _ => Opened::Bad,
        }
    }
}
