//! The dialing end.

use super::code::Asking;
use super::session::Session;
use super::wire::{COOKIE_LEN, Frame};
use super::{Credentials, Pattern, PublicKey, Suite, builder, random, remote_key};
use crate::in_words;
use snow::HandshakeState;
use std::collections::VecDeque;
use wetstring_proto::time::{Duration, Instant};

/// How long to wait for the first answer before a retransmission.
const FIRST_WAIT: Duration = Duration::from_millis(1000);
/// The longest such wait.
const LONGEST_WAIT: Duration = Duration::from_millis(4000);
/// Maximum handshakes under way; the oldest is dropped.
const ATTEMPTS: usize = 8;

/// Result of a datagram.
#[derive(Debug)]
pub enum Answer {
    /// Nothing, or something to send at once.
    More,
    /// The listener refused, with a reason. It is not authenticated.
    Refused(&'static str),
    /// The session is established. `finish` is sent before the first packet, until something is received.
    Ready(Box<Agreed>),
}

/// An established session, at the dialer.
#[derive(Debug)]
pub struct Agreed {
    /// The session of the handshake.
    pub session: Session,
    /// The listener's key, with key pairs. The caller judges it.
    pub key: Option<PublicKey>,
    /// What the listener waits for, if anything.
    pub finish: Option<Vec<u8>>,
}

/// One handshake under way.
struct Attempt {
    index: u32,
    state: HandshakeState,
    message: Vec<u8>,
    cookie: [u8; COOKIE_LEN],
    size: usize,
}

/// Requests a session from a listener.
pub struct Initiator<'a> {
    credentials: &'a Credentials,
    suite: Suite,
    /// Longest first.
    sizes: Vec<usize>,
    /// Lengths of this round not sent yet, and the number of rounds.
    round: VecDeque<usize>,
    rounds: u32,
    wait: Duration,
    next: Instant,
    attempts: Vec<Attempt>,
    /// With a code phrase: the exchange before the handshake, and its result.
    exchange: Option<Asking>,
    coded: Option<Credentials>,
}

impl<'a> Initiator<'a> {
    /// Tries datagrams of these lengths, which are longest first in the list.
    ///
    /// The first round tries the second length, and right after it the longest: if that one passes too, it
    /// costs no time. Shorter ones are tried when nothing has answered two rounds.
    pub fn new(credentials: &'a Credentials, mut sizes: Vec<usize>, now: Instant) -> Self {
        sizes.dedup();
        let (suite, wait) = (Suite::fastest(), FIRST_WAIT);
        Self {
            credentials,
            suite,
            sizes,
            round: VecDeque::new(),
            rounds: 0,
            wait,
            next: now,
            attempts: Vec::new(),
            exchange: None,
            coded: None,
        }
    }

    /// Whether the listener may have learned whether it has our code phrase: it must not learn that again.
    pub fn has_shown_code(&self) -> bool {
        self.coded.is_some()
    }

    /// The inputs of the handshake.
    fn with(&self) -> &Credentials {
        self.coded.as_ref().unwrap_or(self.credentials)
    }

    /// Whether a code phrase exchange comes first and is not complete.
    fn exchanges(&self) -> bool {
        matches!(self.credentials, Credentials::Code(_)) && self.coded.is_none()
    }

    /// The first message of an exchange, when it is due.
    fn exchange(&mut self, now: Instant) -> Result<Option<Vec<u8>>, String> {
        let Credentials::Code(phrase) = self.credentials else { return Ok(None) };
        if now < self.next {
            return Ok(None);
        }
        self.next = now + self.wait;
        self.wait = (self.wait * 3 / 2).min(LONGEST_WAIT);
        if self.exchange.is_none() {
            self.exchange = Some(Asking::new(phrase)?);
        }
        Ok(self.exchange.as_ref().map(Asking::datagram))
    }

    /// When it next has something to send.
    pub fn deadline(&self) -> Instant {
        self.next
    }

    /// Whether a longer datagram than this one is under way in the first round; its answer may follow closely.
    pub fn may_be_longer(&self, len: usize) -> bool {
        self.rounds == 1 && self.attempts.iter().any(|attempt| attempt.size > len)
    }

    /// The interface, or a router, does not take this length. False if no length is shorter.
    pub fn shorter(&mut self, now: Instant) -> bool {
        let Some(most) = self.attempts.iter().map(|attempt| attempt.size).max() else {
            return true;
        };
        self.attempts.retain(|attempt| attempt.size < most);
        self.round.retain(|size| *size < most);
        self.sizes.retain(|size| *size < most);
        if self.attempts.is_empty() && self.round.is_empty() {
            self.next = now;
            self.rounds = 0;
        }
        !self.sizes.is_empty()
    }

    /// The lengths of a round.
    fn lengths(&self) -> Vec<usize> {
        match (&self.sizes[..], self.rounds) {
            ([long, short, ..], 0) => vec![*short, *long],
            ([_, _, rest @ ..], round) if round >= 2 && round % 2 == 0 && !rest.is_empty() => {
                rest.iter().rev().copied().collect()
            }
            ([_, short, ..], _) => vec![*short],
            (one, _) => one.to_vec(),
        }
    }

    /// What to send now, if anything is due. Called until it returns `None`.
    pub fn ask(&mut self, now: Instant) -> Result<Option<Vec<u8>>, String> {
        if self.exchanges() {
            return self.exchange(now);
        }
        if self.round.is_empty() {
            if now < self.next {
                return Ok(None);
            }
            self.round = self.lengths().into();
            self.rounds += 1;
            self.next = now + self.wait;
            self.wait = (self.wait * 3 / 2).min(LONGEST_WAIT);
        }
        let Some(size) = self.round.pop_front() else { return Ok(None) };
        let at = match self.attempts.iter().position(|attempt| attempt.size == size) {
            Some(at) => at,
            None => self
                .begin(size)
                .map_err(|error| format!("the handshake failed: {}", in_words(&error)))?,
        };
        Ok(Some(self.datagram(&self.attempts[at])))
    }

    fn datagram(&self, attempt: &Attempt) -> Vec<u8> {
        let init = Frame::Init {
            sender: attempt.index,
            suite: self.suite.code(),
            pattern: Pattern::of(self.with()).map_or(0, Pattern::code),
            cookie: attempt.cookie,
            message: &attempt.message,
        };
        init.bytes(attempt.size)
    }

    /// Begins a handshake; returns its index.
    fn begin(&mut self, size: usize) -> Result<usize, snow::Error> {
        let mut state = builder(self.with(), self.suite)?.build_initiator()?;
        let mut message = match self.with() {
            Credentials::Coded(_, listener) => listener.to_be_bytes().to_vec(),
            _ => Vec::new(),
        };
        let before = message.len();
        message.resize(before + 256, 0);
        let wish = (size as u16).to_be_bytes();
        let len = state.write_message(&wish, &mut message[before..])?;
        message.truncate(before + len);
        let index = random().map_or(1, u32::from_be_bytes);
        if self.attempts.len() >= ATTEMPTS {
            self.attempts.remove(0);
        }
        self.attempts.push(Attempt { index, state, message, cookie: [0; COOKIE_LEN], size });
        Ok(self.attempts.len() - 1)
    }

    /// A datagram was received.
    pub fn hear(&mut self, frame: Frame<'_>, now: Instant) -> Answer {
        match frame {
            Frame::Cookie { receiver, cookie } => {
                if let Some(asking) = self.exchange.as_mut().filter(|asking| asking.is(receiver)) {
                    if asking.take_cookie(cookie) {
                        self.next = now;
                    }
                    return Answer::More;
                }
                let known = self.attempts.iter_mut().find(|attempt| attempt.index == receiver);
                // One cookie is enough: no listener can make us retry indefinitely.
                if let Some(attempt) = known.filter(|attempt| attempt.cookie == [0; COOKIE_LEN]) {
                    attempt.cookie = cookie;
                    self.round.push_back(attempt.size);
                    self.next = self.next.min(now + self.wait);
                }
                Answer::More
            }
            Frame::CodeReply { receiver, sender, message } => {
                // A second answer would be a second guess.
                let ours = self.exchange.as_mut().filter(|asking| asking.is(receiver));
                if let Some(asking) = ours.filter(|_| self.coded.is_none()) {
                    self.coded = asking.told(sender, message);
                    if self.coded.is_some() {
                        self.next = now;
                        self.wait = FIRST_WAIT;
                    } else {
                        // An invalid answer has committed no one: retry with other numbers, but no sooner than after
                        // silence. Forged answers must not make us send and compute endlessly.
                        self.exchange = None;
                    }
                }
                Answer::More
            }
            Frame::Reply { receiver, sender, message } => self.agree(receiver, sender, message),
            Frame::Refuse { receiver, why } => {
                let asked = self.exchange.as_ref().is_some_and(|asking| asking.is(receiver));
                let ours = asked || self.attempts.iter().any(|attempt| attempt.index == receiver);
                if ours { Answer::Refused(why.words()) } else { Answer::More }
            }
            _ => Answer::More,
        }
    }

    fn agree(&mut self, receiver: u32, sender: u32, message: &[u8]) -> Answer {
        let Some(at) = self.attempts.iter().position(|attempt| attempt.index == receiver) else {
            return Answer::More;
        };
        let mut payload = [0; 256];
        let attempt = &mut self.attempts[at];
        // Damaged or forged: the state is unchanged, and the true answer may still arrive.
        let Ok(len) = attempt.state.read_message(message, &mut payload) else {
            return Answer::More;
        };
        let Attempt { mut state, size, .. } = self.attempts.remove(at);
        let granted = payload[..len].try_into().map_or(0, u16::from_be_bytes);
        let size = size.min(usize::from(granted));
        let mut finish = None;
        if !state.is_handshake_finished() {
            let mut message = vec![0; 256];
            let Ok(len) = state.write_message(&[], &mut message) else { return Answer::More };
            let frame = Frame::Finish { receiver: sender, message: &message[..len] };
            finish = Some(frame.bytes(0));
        }
        let key = remote_key(state.get_remote_static());
        match Session::new(state, self.suite, (receiver, sender), size) {
            Ok(session) if size >= super::SHORTEST => {
                Answer::Ready(Box::new(Agreed { session, key, finish }))
            }
            _ => Answer::More,
        }
    }
}

impl std::fmt::Debug for Initiator<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Initiator").field("rounds", &self.rounds).finish_non_exhaustive()
    }
}
