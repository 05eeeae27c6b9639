//! The listening end, until the peer is known.
//!
//! Nothing is sent unasked to an address that has not answered: for each `Init` at most one datagram, never
//! longer than it. State for unknown peers is a table of [`HALVES`]; when it fills, an `Init` must first return
//! a cookie, which needs no state.

use super::code::{Exchanges, GOOD_FOR, GUESSES};
use super::session::{Opened, Session};
use super::wire::{COOKIE_LEN, Frame, REPLY_HEADER, RefusalReason, SHORTEST};
use super::{Credentials, Pattern, PublicKey, Suite, builder, random, remote_key};
use crate::datagram::endpoint::LONGEST;
use crate::datagram::limits::Bucket;
use sha2::{Digest, Sha256};
use snow::HandshakeState;
use std::net::{IpAddr, SocketAddr};
use wetstring_proto::time::{Duration, Instant};

/// Maximum handshakes under way.
pub const HALVES: usize = 64;
/// From this many on, an `Init` needs a cookie.
const COOKIES_FROM: usize = 8;
/// Maximum handshakes under way per address that has proved to exist.
const HALVES_PER_ADDRESS: usize = 8;
/// Timeout of a handshake.
const PATIENCE: Duration = Duration::from_secs(15);
/// Minimum lifetime of a cookie.
const COOKIE_EPOCH: Duration = Duration::from_secs(60);
/// Maximum handshakes per second: each takes some 0.2 ms of processor time.
const PER_SECOND: u64 = 400;
const AT_ONCE: u64 = 200;

/// Result of a datagram.
#[derive(Debug)]
pub enum GateOutput {
    /// Not ours, or no effect.
    Nothing,
    /// Send this back.
    Answer(Vec<u8>),
    /// Send this back; the reason may interest the user.
    Refused(Vec<u8>, RefusalReason),
    /// A peer is proved.
    Proved(Box<Proved>),
}

/// A peer at that address with that key or secret.
#[derive(Debug)]
pub struct Proved {
    /// The established session.
    pub session: Session,
    /// Its key; `None` with a secret.
    pub key: Option<PublicKey>,
    /// The packet that proved it, if any.
    pub packet: Vec<u8>,
}

enum State {
    /// Waiting for the dialer's key.
    Waits(Box<HandshakeState>),
    /// Waiting for any packet: the secret is proved by it.
    Ready(Box<Session>),
}

/// A handshake under way.
struct Half {
    from: SocketAddr,
    remote: u32,
    local: u32,
    suite: Suite,
    size: usize,
    state: State,
    reply: Vec<u8>,
    born: Instant,
}

/// The listener's side of all handshakes.
pub struct Gate {
    credentials: Credentials,
    halves: Vec<Half>,
    /// Cookie secrets: the current one and the previous one.
    salts: [[u8; 32]; 2],
    salted: Instant,
    bucket: Bucket,
    /// Our longest datagrams.
    most: usize,
    /// With a code phrase: the exchanges before the handshakes.
    exchanges: Exchanges,
    born: Instant,
}

impl Gate {
    /// A gate without handshakes.
    pub fn new(credentials: Credentials, now: Instant) -> Result<Self, String> {
        Ok(Self {
            credentials,
            halves: Vec::new(),
            salts: [random()?, random()?],
            salted: now,
            bucket: Bucket::new(PER_SECOND, AT_ONCE, now),
            most: LONGEST,
            exchanges: Exchanges::default(),
            born: now,
        })
    }

    /// Sessions that begin with datagrams of at most this many bytes.
    #[must_use]
    pub fn at_most(self, most: usize) -> Self {
        Self { most: most.max(SHORTEST), ..self }
    }

    /// Handshakes under way, including code phrase exchanges.
    pub fn waiting(&self) -> usize {
        self.halves.len().max(self.exchanges.len())
    }

    /// Wrong code phrases so far.
    pub fn guesses(&self) -> u32 {
        self.exchanges.wrong()
    }

    /// Whether the code phrase has admitted a peer.
    pub fn is_used(&self) -> bool {
        self.exchanges.is_used()
    }

    /// When an unused code phrase expires.
    pub fn ends_at(&self) -> Option<Instant> {
        let waits = matches!(self.credentials, Credentials::Code(_)) && !self.exchanges.is_used();
        waits.then(|| self.born + GOOD_FOR)
    }

    /// Whether no one can be admitted any more: too many wrong code phrases, or it has expired.
    pub fn is_over(&self, now: Instant) -> bool {
        self.guesses() >= GUESSES || self.ends_at().is_some_and(|end| now >= end)
    }

    /// A datagram of `len` bytes was received; `open` is a buffer for a packet.
    pub fn hear(
        &mut self,
        now: Instant,
        from: SocketAddr,
        frame: Frame<'_>,
        len: usize,
        open: &mut [u8],
    ) -> GateOutput {
        self.halves.retain(|half| now.since(half.born) < PATIENCE);
        self.exchanges.forget_old(now);
        match frame {
            Frame::CodeInit { sender, cookie, message } if len >= SHORTEST => {
                self.exchange(now, (from, sender), &cookie, &message).unwrap_or(GateOutput::Nothing)
            }
            Frame::Init { .. } if len >= SHORTEST => {
                self.init(now, from, frame, len).unwrap_or(GateOutput::Nothing)
            }
            Frame::Finish { receiver, message } => {
                self.finish(from, receiver, message).unwrap_or(GateOutput::Nothing)
            }
            Frame::Data { receiver, nonce, sealed } => {
                let Some(at) = self.find(from, receiver) else { return GateOutput::Nothing };
                let State::Ready(session) = &mut self.halves[at].state else {
                    return GateOutput::Nothing;
                };
                // A control message proves as much as a packet; the peer will repeat its request.
                let len = match session.open(nonce, sealed, open) {
                    Opened::Packet(len) => len,
                    Opened::Bad | Opened::Close(_) => return GateOutput::Nothing,
                    _ => 0,
                };
                let State::Ready(session) = self.halves.remove(at).state else {
                    return GateOutput::Nothing;
                };
                if matches!(self.credentials, Credentials::Code(_)) {
                    self.exchanges.use_up();
                    self.halves.clear();
                }
                let packet = open[..len].to_vec();
                GateOutput::Proved(Box::new(Proved { session: *session, key: None, packet }))
            }
            _ => GateOutput::Nothing,
        }
    }

    fn find(&self, from: SocketAddr, local: u32) -> Option<usize> {
        self.halves.iter().position(|half| half.local == local && half.from == from)
    }

    /// The first half of a code phrase exchange. A key is made only for an address that has answered.
    fn exchange(
        &mut self,
        now: Instant,
        (from, sender): (SocketAddr, u32),
        cookie: &[u8; COOKIE_LEN],
        message: &[u8],
    ) -> Option<GateOutput> {
        if let Some(answer) = self.exchanges.again(from, sender) {
            return Some(GateOutput::Answer(answer));
        }
        let Credentials::Code(phrase) = &self.credentials else {
            return self.refuse(now, sender, RefusalReason::Pattern);
        };
        let phrase = phrase.clone();
        if self.exchanges.is_over() || self.is_over(now) {
            return self.refuse(now, sender, RefusalReason::Used);
        }
        if !self.is_cookie(now, from, sender, cookie) {
            let cookie = self.cookie(from, sender, 0);
            return Some(GateOutput::Answer(Frame::Cookie { receiver: sender, cookie }.bytes(0)));
        }
        if !self.bucket.take(1, now) {
            return None;
        }
        self.exchanges.begin(now, &phrase, (from, sender), message).map(GateOutput::Answer)
    }

    /// Refuses with a reason, rate-limited.
    fn refuse(&mut self, now: Instant, receiver: u32, why: RefusalReason) -> Option<GateOutput> {
        let word = || GateOutput::Refused(Frame::Refuse { receiver, why }.bytes(0), why);
        self.bucket.take(1, now).then(word)
    }

    fn init(
        &mut self,
        now: Instant,
        from: SocketAddr,
        frame: Frame<'_>,
        len: usize,
    ) -> Option<GateOutput> {
        let Frame::Init { sender, suite, pattern, cookie, message } = frame else { return None };
        if let Some(half) =
            self.halves.iter().find(|half| half.from == from && half.remote == sender)
        {
            // Our answer was lost, or theirs was duplicated. One for one.
            return (half.reply.len() <= len).then(|| GateOutput::Answer(half.reply.clone()));
        }
        let refuse = |why| {
            let word = Frame::Refuse { receiver: sender, why }.bytes(0);
            Some(GateOutput::Refused(word, why))
        };
        if Pattern::of(&self.credentials).is_none_or(|ours| ours.code() != pattern) {
            return self.refuse(now, sender, RefusalReason::Pattern);
        }
        let suite = Suite::of(suite)?;
        if matches!(self.credentials, Credentials::Code(_)) {
            return self.coded(now, from, (sender, suite), message, len);
        }
        if self.halves.len() >= COOKIES_FROM && !self.is_cookie(now, from, sender, &cookie) {
            let cookie = self.cookie(from, sender, 0);
            return Some(GateOutput::Answer(Frame::Cookie { receiver: sender, cookie }.bytes(0)));
        }
        if !self.bucket.take(1, now) {
            return None;
        }
        let credentials = self.credentials.clone();
        match self.begin(now, from, (sender, suite), (&credentials, message), len) {
            Ok(reply) => Some(GateOutput::Answer(reply)),
            Err(snow::Error::Decrypt) => refuse(RefusalReason::Secret),
            Err(_) => None,
        }
    }

    /// The second half: under the key of the exchange, or it was a wrong guess.
    fn coded(
        &mut self,
        now: Instant,
        from: SocketAddr,
        (sender, suite): (u32, Suite),
        message: &[u8],
        len: usize,
    ) -> Option<GateOutput> {
        let (index, message) = message.split_first_chunk()?;
        let index = u32::from_be_bytes(*index);
        if self.exchanges.is_over() {
            return None;
        }
        let credentials = self.exchanges.credentials(from, index)?.clone();
        match self.begin(now, from, (sender, suite), (&credentials, message), len) {
            Ok(reply) => Some(GateOutput::Answer(reply)),
            Err(snow::Error::Decrypt) => {
                self.exchanges.guessed(from, index);
                let word = Frame::Refuse { receiver: sender, why: RefusalReason::Code }.bytes(0);
                Some(GateOutput::Refused(word, RefusalReason::Code))
            }
            Err(_) => None,
        }
    }

    fn begin(
        &mut self,
        now: Instant,
        from: SocketAddr,
        (remote, suite): (u32, Suite),
        (credentials, message): (&Credentials, &[u8]),
        len: usize,
    ) -> Result<Vec<u8>, snow::Error> {
        let mut state = builder(credentials, suite)?.build_responder()?;
        let mut payload = [0; 256];
        let got = state.read_message(message, &mut payload)?;
        let wish = payload[..got].try_into().map_or(0, u16::from_be_bytes);
        // A whole message can be retransmitted; one that was only announced cannot.
        let size = len.min(usize::from(wish)).min(self.most);
        if size < SHORTEST {
            return Err(snow::Error::Input);
        }
        let mut answer = [0; 256];
        let answered = state.write_message(&(size as u16).to_be_bytes(), &mut answer)?;
        debug_assert!(answered + REPLY_HEADER <= SHORTEST);
        let local = self.free_index();
        let frame = Frame::Reply { receiver: remote, sender: local, message: &answer[..answered] };
        let reply = frame.bytes(size);
        let state = if state.is_handshake_finished() {
            State::Ready(Box::new(Session::new(state, suite, (local, remote), size)?))
        } else {
            State::Waits(Box::new(state))
        };
        self.make_room(from.ip());
        let half =
            Half { from, remote, local, suite, size, state, reply: reply.clone(), born: now };
        self.halves.push(half);
        Ok(reply)
    }

    /// An index that no handshake has. Those of sessions are random too: one in four thousand million.
    fn free_index(&self) -> u32 {
        loop {
            let index = random().map_or(1, u32::from_be_bytes);
            if self.halves.iter().all(|half| half.local != index) {
                return index;
            }
        }
    }

    /// Drops the oldest where there are too many.
    fn make_room(&mut self, address: IpAddr) {
        let theirs = |half: &Half| half.from.ip() == address;
        if self.halves.iter().filter(|half| theirs(half)).count() >= HALVES_PER_ADDRESS
            && let Some(at) = self.halves.iter().position(theirs)
        {
            self.halves.remove(at);
        }
        if self.halves.len() >= HALVES {
            self.halves.remove(0);
        }
    }

    fn finish(&mut self, from: SocketAddr, local: u32, message: &[u8]) -> Option<GateOutput> {
        let at = self.find(from, local)?;
        let half = &mut self.halves[at];
        let State::Waits(state) = &mut half.state else { return None };
        let mut payload = [0; 256];
        // Forged: the state is unchanged.
        state.read_message(message, &mut payload).ok()?;
        let Half { state: State::Waits(state), remote, suite, size, .. } = self.halves.remove(at)
        else {
            return None;
        };
        let key = remote_key(state.get_remote_static());
        let session = Session::new(*state, suite, (local, remote), size).ok()?;
        Some(GateOutput::Proved(Box::new(Proved { session, key, packet: Vec::new() })))
    }

    /// Hash of address and index under a secret salt.
    fn cookie(&self, from: SocketAddr, sender: u32, epoch: usize) -> [u8; COOKIE_LEN] {
        let mut hash = Sha256::new();
        hash.update(self.salts[epoch]);
        match from.ip() {
            IpAddr::V4(ip) => hash.update(ip.to_ipv6_mapped().octets()),
            IpAddr::V6(ip) => hash.update(ip.octets()),
        }
        hash.update(from.port().to_be_bytes());
        hash.update(sender.to_be_bytes());
        let digest = hash.finalize();
        let mut cookie = [0; COOKIE_LEN];
        cookie.copy_from_slice(&digest[..COOKIE_LEN]);
        cookie
    }

    fn is_cookie(
        &mut self,
        now: Instant,
        from: SocketAddr,
        sender: u32,
        cookie: &[u8; COOKIE_LEN],
    ) -> bool {
        if now.since(self.salted) >= COOKIE_EPOCH
            && let Ok(salt) = random()
        {
            self.salts = [salt, self.salts[0]];
            self.salted = now;
        }
        (0..2).any(|epoch| self.cookie(from, sender, epoch) == *cookie)
    }
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gate").field("waiting", &self.waiting()).finish_non_exhaustive()
    }
}
