//! The end that dials.

use super::session::Session;
use super::wire::{COOKIE_LEN, Frame};
use super::{Credentials, Pattern, PublicKey, Suite, builder, random, remote_key};
use snow::HandshakeState;
use wetstring_proto::time::{Duration, Instant};

/// How long to wait for the first answer before it is asked again.
const FIRST_WAIT: Duration = Duration::from_millis(1000);
/// The longest such wait.
const LONGEST_WAIT: Duration = Duration::from_millis(4000);
/// How often a length is tried before a shorter one is.
const TRIES: u32 = 2;
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
    sizes: Vec<usize>,
    /// Which of the sizes is tried.
    rung: usize,
    tries: u32,
    wait: Duration,
    next: Instant,
    attempts: Vec<Attempt>,
}

impl<'a> Initiator<'a> {
    /// Will try datagrams of these lengths, the longest first.
    pub fn new(credentials: &'a Credentials, sizes: Vec<usize>, now: Instant) -> Self {
        let suite = Suite::fastest();
        let (wait, attempts) = (FIRST_WAIT, Vec::new());
        Self { credentials, suite, sizes, rung: 0, tries: 0, wait, next: now, attempts }
    }

    /// When there is something to send.
    pub fn deadline(&self) -> Instant {
        self.next
    }

    /// The next length: the interface does not take the present one. False if there is none.
    pub fn shorter(&mut self, now: Instant) -> bool {
        self.next = now;
        self.tries = 0;
        self.attempts.pop();
        self.rung += 1;
        self.rung < self.sizes.len()
    }

    /// What to send now, if it is time.
    pub fn ask(&mut self, now: Instant) -> Result<Option<Vec<u8>>, String> {
        if now < self.next {
            return Ok(None);
        }
        if self.tries >= TRIES && self.rung + 1 < self.sizes.len() {
            (self.rung, self.tries) = (self.rung + 1, 0);
        }
        let size = self.sizes.get(self.rung).copied().unwrap_or_default();
        if self.attempts.last().is_none_or(|attempt| attempt.size != size) {
            self.begin(size).map_err(|error| format!("the handshake failed: {error}"))?;
        }
        self.tries += 1;
        self.next = now + self.wait;
        self.wait = (self.wait * 3 / 2).min(LONGEST_WAIT);
        Ok(self.attempts.last().map(|attempt| self.datagram(attempt)))
    }

    fn datagram(&self, attempt: &Attempt) -> Vec<u8> {
        let init = Frame::Init {
            sender: attempt.index,
            suite: self.suite.code(),
            pattern: Pattern::of(self.credentials).map_or(0, Pattern::code),
            cookie: attempt.cookie,
            message: &attempt.message,
        };
        init.bytes(attempt.size)
    }

    fn begin(&mut self, size: usize) -> Result<(), snow::Error> {
        let mut state = builder(self.credentials, self.suite)?.build_initiator()?;
        let mut message = vec![0; 256];
        let wish = (size as u16).to_be_bytes();
        let len = state.write_message(&wish, &mut message)?;
        message.truncate(len);
        let index = random().map_or(1, u32::from_be_bytes);
        if self.attempts.len() >= ATTEMPTS {
            self.attempts.remove(0);
        }
        self.attempts.push(Attempt { index, state, message, cookie: [0; COOKIE_LEN], size });
        Ok(())
    }

    /// A datagram came.
    pub fn hear(&mut self, frame: Frame<'_>, now: Instant) -> Answer {
        match frame {
            Frame::Cookie { receiver, cookie } => {
                let known = self.attempts.iter_mut().find(|attempt| attempt.index == receiver);
                // One cookie is enough: nobody can make us ask for ever.
                if let Some(attempt) = known.filter(|attempt| attempt.cookie == [0; COOKIE_LEN]) {
                    attempt.cookie = cookie;
                    self.next = now;
                    self.tries = self.tries.saturating_sub(1);
                }
                Answer::More
            }
            Frame::Reply { receiver, sender, message } => self.agree(receiver, sender, message),
            Frame::Refuse { receiver, why } => {
                let ours = self.attempts.iter().any(|attempt| attempt.index == receiver);
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
            Ok(session) if size >= super::gate::SHORTEST => {
                Answer::Ready(Box::new(Agreed { session, key, finish }))
            }
            _ => Answer::More,
        }
    }
}

impl std::fmt::Debug for Initiator<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Initiator").field("rung", &self.rung).finish_non_exhaustive()
    }
}
