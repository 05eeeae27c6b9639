//! The exchange before the handshake, where the ends have a code phrase: SPAKE2 (Ed25519).
//!
//! ```text
//! dialling                                                listening
//!    Ask     X, padding                              -->
//!  <-- Cookie  always: what is kept is kept for addresses that are there
//!    Ask     X, cookie                               -->
//!  <-- Told    its index, Y                                      (state is kept: bounded)
//!    Init    that index, NNpsk0 under the key of X and Y -->  the dialler's phrase is proved, or was a guess
//!  <-- Reply                                                     so is the listener's
//! ```
//!
//! An eavesdropper learns nothing that a phrase could be tried against. A participant has committed to one
//! phrase by X or Y; the `Init` or the answer to it tells whether it was right, once.

use super::phrase::Phrase;
use super::wire::{COOKIE_LEN, EXCHANGE_LEN, Frame};
use super::{Credentials, SHORTEST, Secret, random};
use sha2::{Digest, Sha256};
use spake2::{Ed25519Group, Identity, Password, Spake2};
use std::net::SocketAddr;
use wetstring_proto::time::{Duration, Instant};

/// Wrong phrases after which a listener ends.
pub const GUESSES: u32 = 3;
/// How long a listener waits for the peer that has its phrase.
pub const GOOD_FOR: Duration = Duration::from_secs(3600);
/// Maximum exchanges kept, all of addresses that have shown a cookie.
pub(super) const EXCHANGES: usize = 16;
/// Maximum per address.
const PER_ADDRESS: usize = 4;
/// How long one is kept.
const PATIENCE: Duration = Duration::from_secs(15);

type State = Spake2<Ed25519Group>;

fn names() -> (Identity, Identity) {
    (Identity::new(b"wetstring dials"), Identity::new(b"wetstring listens"))
}

/// The key for Noise: SPAKE2's own, which depends on both messages, both names and the phrase.
fn secret(key: &[u8]) -> Secret {
    let mut hash = Sha256::new();
    hash.update(b"wetstring netblt code phrase 1\0");
    hash.update(key);
    Secret(hash.finalize().into())
}

/// The dialer's exchange. It makes one key, so the side that answers has one guess.
pub(super) struct Asking {
    index: u32,
    state: Option<State>,
    message: [u8; EXCHANGE_LEN],
    cookie: [u8; COOKIE_LEN],
}

impl Asking {
    pub(super) fn new(phrase: &Phrase) -> Result<Self, String> {
        let (dials, listens) = names();
        let (state, message) = State::start_a(&Password::new(phrase.bytes()), &dials, &listens);
        let message =
            message.try_into().map_err(|_| format!("expected {EXCHANGE_LEN} bytes of SPAKE2"))?;
        let index = u32::from_be_bytes(random()?);
        Ok(Self { index, state: Some(state), message, cookie: [0; COOKIE_LEN] })
    }

    pub(super) fn datagram(&self) -> Vec<u8> {
        let (sender, cookie, message) = (self.index, self.cookie, self.message);
        Frame::CodeInit { sender, cookie, message }.bytes(SHORTEST)
    }

    pub(super) fn is(&self, index: u32) -> bool {
        self.index == index
    }

    /// One cookie is enough: no listener can make us retry indefinitely.
    pub(super) fn take_cookie(&mut self, cookie: [u8; COOKIE_LEN]) -> bool {
        let first = self.cookie == [0; COOKIE_LEN];
        if first {
            self.cookie = cookie;
        }
        first
    }

    /// What the handshake continues with; `None` if the message is invalid.
    pub(super) fn told(&mut self, sender: u32, message: [u8; EXCHANGE_LEN]) -> Option<Credentials> {
        let key = self.state.take()?.finish(&message).ok()?;
        Some(Credentials::Coded(secret(&key), sender))
    }
}

/// An exchange that a listener has answered.
struct Exchange {
    from: SocketAddr,
    remote: u32,
    local: u32,
    credentials: Credentials,
    answer: Vec<u8>,
    born: Instant,
}

/// A listener's exchanges.
#[derive(Default)]
pub(super) struct Exchanges {
    all: Vec<Exchange>,
    wrong: u32,
    /// The phrase has admitted a peer: it is used up.
    used: bool,
}

impl Exchanges {
    pub(super) fn forget_old(&mut self, now: Instant) {
        self.all.retain(|exchange| now.since(exchange.born) < PATIENCE);
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Wrong phrases so far.
    pub(super) fn wrong(&self) -> u32 {
        self.wrong
    }

    /// Whether the phrase is no longer valid.
    pub(super) fn is_over(&self) -> bool {
        self.used || self.wrong >= GUESSES
    }

    pub(super) fn is_used(&self) -> bool {
        self.used
    }

    pub(super) fn use_up(&mut self) {
        self.used = true;
        self.all.clear();
    }

    /// The answer that was already given: ours was lost, or theirs was duplicated.
    pub(super) fn again(&self, from: SocketAddr, remote: u32) -> Option<Vec<u8>> {
        let known = self.all.iter().find(|known| known.from == from && known.remote == remote);
        known.map(|known| known.answer.clone())
    }

    /// Answers; `None` if the message is invalid.
    pub(super) fn begin(
        &mut self,
        now: Instant,
        phrase: &Phrase,
        (from, remote): (SocketAddr, u32),
        message: &[u8],
    ) -> Option<Vec<u8>> {
        let (dials, listens) = names();
        let (state, ours) = State::start_b(&Password::new(phrase.bytes()), &dials, &listens);
        let key = state.finish(message).ok()?;
        let ours = ours.try_into().ok()?;
        let theirs = |known: &Exchange| known.from.ip() == from.ip();
        let oldest = if self.all.iter().filter(|known| theirs(known)).count() >= PER_ADDRESS {
            self.all.iter().position(theirs)
        } else {
            (self.all.len() >= EXCHANGES).then_some(0)
        };
        if let Some(at) = oldest {
            self.all.remove(at);
        }
        let local = loop {
            let local = u32::from_be_bytes(random().ok()?);
            if self.all.iter().all(|known| known.local != local) {
                break local;
            }
        };
        let answer = Frame::CodeReply { receiver: remote, sender: local, message: ours }.bytes(0);
        let credentials = Credentials::Coded(secret(&key), local);
        self.all.push(Exchange {
            from,
            remote,
            local,
            credentials,
            answer: answer.clone(),
            born: now,
        });
        Some(answer)
    }

    /// The key of this exchange.
    pub(super) fn credentials(&self, from: SocketAddr, local: u32) -> Option<&Credentials> {
        let known = self.all.iter().find(|known| known.from == from && known.local == local)?;
        Some(&known.credentials)
    }

    /// The phrases differed. The key is dropped: it was good for one guess.
    pub(super) fn guessed(&mut self, from: SocketAddr, local: u32) {
        self.wrong += 1;
        self.all.retain(|known| known.from != from || known.local != local);
    }
}
