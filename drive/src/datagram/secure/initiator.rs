//! The end that dials.

use super::code::Asking;
use super::session::Session;
use super::wire::{COOKIE_LEN, Frame};
use super::{Credentials, Pattern, PublicKey, Suite, builder, random, remote_key};
use crate::in_words;
use snow::HandshakeState;
use std::collections::VecDeque;
use wetstring_proto::time::{Duration, Instant};

/// How long to wait for the first answer before it is asked again.
const FIRST_WAIT: Duration = Duration::from_millis(1000);
/// The longest such wait.
const LONGEST_WAIT: Duration = Duration::from_millis(4000);
/// Handshakes under way at most; the oldest is forgotten.
const ATTEMPTS: usize = 8;

/// What a datagram led to.
#[derive(Debug)]
pub enum Answer {
    /// Nothing, or something to send at once.
    More,
    /// The listener says why it does not answer. Anybody could have said that.
    Refused(&'static str),
    /// The session stands. `finish` goes before the first packet, until something has come back.
    Ready(Box<Agreed>),
}

/// A session from the view of the one who dials.
#[derive(Debug)]
pub struct Agreed {
    /// What came of the handshake.
    pub session: Session,
    /// The listener's key, with key pairs. It is for the caller to judge.
    pub key: Option<PublicKey>,
    /// What the listener waits for, if it waits for anything.
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

/// Asks a listener for a session.
pub struct Initiator<'a> {
    credentials: &'a Credentials,
    suite: Suite,
    /// The longest first.
    sizes: Vec<usize>,
    /// Those of this round that have not left yet, and how many rounds there were.
    round: VecDeque<usize>,
    rounds: u32,
    wait: Duration,
    next: Instant,
    attempts: Vec<Attempt>,
    /// With a code phrase: the exchange before the handshake, and what it has made.
    exchange: Option<Asking>,
    coded: Option<Credentials>,
}

impl<'a> Initiator<'a> {
    /// Will try datagrams of these lengths, the longest first in the list.
    ///
    /// The first round asks with the second length, and right behind with the longest: where that one
    /// passes too, it costs no time. Shorter ones are for when nothing has answered two rounds.
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

    /// What the handshake is made with.
    fn with(&self) -> &Credentials {
        self.coded.as_ref().unwrap_or(self.credentials)
    }

    /// Whether a code phrase comes before the handshake, and its exchange is not over.
    fn exchanges(&self) -> bool {
        matches!(self.credentials, Credentials::Code(_)) && self.coded.is_none()
    }

    /// The first word of an exchange, when it is time.
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

    /// When there is something to send.
    pub fn deadline(&self) -> Instant {
        self.next
    }

    /// Whether a longer datagram than this one is under way in the first round, whose answer may be close
    /// behind.
    pub fn may_be_longer(&self, len: usize) -> bool {
        self.rounds == 1 && self.attempts.iter().any(|attempt| attempt.size > len)
    }

    /// The interface, or a router, does not take what was asked with. False if nothing is shorter.
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

    /// What to send now, if it is time. To be asked until there is nothing.
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

    /// Begins a handshake; where it stands.
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

    /// A datagram came.
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
                // One cookie is enough: nobody can make us ask for ever.
                if let Some(attempt) = known.filter(|attempt| attempt.cookie == [0; COOKIE_LEN]) {
                    attempt.cookie = cookie;
                    self.round.push_back(attempt.size);
                    self.next = self.next.min(now + self.wait);
                }
                Answer::More
            }
            Frame::Told { receiver, sender, message } => {
                // A second answer would be a second guess.
                let ours = self.exchange.as_mut().filter(|asking| asking.is(receiver));
                if let Some(asking) = ours.filter(|_| self.coded.is_none()) {
                    self.coded = asking.told(sender, message);
                    // What was no answer at all has bound nobody: asked anew, with other numbers.
                    self.exchange = self.exchange.take().filter(|_| self.coded.is_some());
                    self.next = now;
                    self.wait = FIRST_WAIT;
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
        // Damaged or forged: the state is as it was, and the true answer may still come.
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
