//! Dialing: the handshake, and then one engine.

use super::super::endpoint::{Endpoint, IcmpError, Inbox, Sent};
use super::super::keys::PublicKey;
use super::super::secure::{Agreed, Answer, Credentials, Frame, Initiator};
use super::association::{Association, Wire};
use super::sealed::Sealed;
use super::turning::Turning;
use super::{HostOptions, Peer, SessionHandler};
use crate::event::{self, Interest};
use crate::signals::Signals;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use wetstring_proto::time::Instant;

/// Timeout for any answer of a listener.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long only refusals may come: one may be forged, or be for a previous peer.
const REFUSED_FOR: Duration = Duration::from_millis(1500);

/// How much later the answer to a longer datagram may come than that to a shorter one.
const LONGER_LEAST: Duration = Duration::from_millis(20);
const LONGER_MOST: Duration = Duration::from_millis(500);

/// Why there is no session.
#[derive(Debug)]
#[non_exhaustive]
pub enum DialError {
    /// The socket failed.
    Io(io::Error),
    /// No answer.
    Silence,
    /// The other host reports that nothing listens on that port.
    NotListening,
    /// The listener refused, with its reason.
    Refused(String),
    /// The listener's key is not trusted, with the reason.
    Key(String),
    /// A code phrase was used, and then nothing was received. It must not be used again.
    Code,
    /// A signal arrived (its number).
    Interrupted(i32),
}

impl fmt::Display for DialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Silence => write!(
                f,
                "expected an answer within {} s, got none: is a listener there, and does it \
                 encrypt (a plain one needs --plain here too)?",
                PATIENCE.as_secs()
            ),
            Self::NotListening => {
                f.write_str("expected a listener, nothing listens at that address")
            }
            Self::Refused(why) | Self::Key(why) => f.write_str(why),
            Self::Code => f.write_str(
                "expected an answer to our code phrase, got none: the listener has gone, or is not \
                 who has the phrase; begin again with a new one",
            ),
            Self::Interrupted(signal) => write!(f, "interrupted by signal {signal}"),
        }
    }
}

impl std::error::Error for DialError {}

impl From<io::Error> for DialError {
    fn from(error: io::Error) -> Self {
        if IcmpError::of(&error) == Some(IcmpError::Refused) {
            Self::NotListening
        } else {
            Self::Io(error)
        }
    }
}

/// An established session without an engine.
#[allow(missing_debug_implementations)]
pub struct Dialled {
    endpoint: Endpoint,
    wire: Wire,
    peer: Peer,
}

impl Dialled {
    /// Who answered.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Runs the handler's engine until it ends.
    ///
    /// # Errors
    ///
    /// If waiting fails. What happens on the line is reported to the handler.
    pub fn run(
        self,
        handler: Box<dyn SessionHandler + '_>,
        options: HostOptions<'_>,
    ) -> io::Result<()> {
        let now = options.clock.now();
        let one = Association::new(self.peer, self.wire, handler, now, &options);
        let mut turning = Turning::new(self.endpoint, options);
        turning.join(one);
        turning.until_over(None)
    }
}

/// Dials `to`. The listener's key, if any, is passed to `judge`, whose objection ends the attempt.
pub fn dial(
    endpoint: Endpoint,
    to: SocketAddr,
    credentials: &Credentials,
    judge: &mut dyn FnMut(&PublicKey) -> Result<(), String>,
    options: &HostOptions<'_>,
) -> Result<Dialled, DialError> {
    if matches!(credentials, Credentials::Plain) {
        let packet_max = endpoint.plain(to, options.datagram);
        let wire = Wire::Plain { unproved: None, echo: None };
        let room = endpoint.room();
        let peer = Peer { address: to, key: None, suite: None, packet_max, room };
        return Ok(Dialled { endpoint, wire, peer });
    }
    let began = options.clock.now();
    let sizes = endpoint.sizes(to, options.datagram_len());
    let asking = Initiator::new(credentials, sizes, began);
    let inbox = Inbox::new();
    let (refused, agreed) = (None, None);
    let mut dialling = Dialling { endpoint: &endpoint, inbox, to, asking, began, refused, agreed };
    let (wire, peer) = dialling.until_ready(judge, options)?;
    Ok(Dialled { endpoint, wire, peer })
}

struct Dialling<'c> {
    endpoint: &'c Endpoint,
    inbox: Inbox,
    to: SocketAddr,
    asking: Initiator<'c>,
    began: Instant,
    /// Since when only refusals were received, and which.
    refused: Option<(Instant, Option<&'static str>)>,
    /// A session, and how long the answer to a longer datagram is awaited.
    agreed: Option<(Box<Agreed>, Instant)>,
}

impl Dialling<'_> {
    fn until_ready(
        &mut self,
        judge: &mut dyn FnMut(&PublicKey) -> Result<(), String>,
        options: &HostOptions<'_>,
    ) -> Result<(Wire, Peer), DialError> {
        loop {
            let now = options.clock.now();
            if let Some(signal) = options.signals.and_then(Signals::last) {
                return Err(DialError::Interrupted(signal));
            }
            if let Some((since, why)) = self.refused
                && now.since(since) >= REFUSED_FOR
            {
                let gone = self.nothing(DialError::NotListening);
                return Err(why.map_or(gone, |why| DialError::Refused(why.to_owned())));
            }
            if now.since(self.began) >= PATIENCE {
                return Err(self.nothing(DialError::Silence));
            }
            if self.agreed.is_none() {
                self.ask(now)?;
            }
            self.hear(now, options)?;
            if let Some((agreed, _)) = self.agreed.take_if(|(_, until)| now >= *until) {
                return self.begin(*agreed, judge, options);
            }
            self.wait(now, options)?;
        }
    }

    /// No answer.
    fn nothing(&self, error: DialError) -> DialError {
        if self.asking.has_shown_code() { DialError::Code } else { error }
    }

    fn ask(&mut self, now: Instant) -> Result<(), DialError> {
        while let Some(init) = self.asking.ask(now).map_err(DialError::Refused)? {
            match self.endpoint.send(self.to, &init, init.len()) {
                Ok(Sent::TooLong) => self.too_long(now)?,
                Ok(Sent::Refused) => self.not_listening(now),
                Ok(Sent::Gone | Sent::Full) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// The interface, or a router, does not take datagrams of the lengths being tried.
    fn too_long(&mut self, now: Instant) -> Result<(), DialError> {
        if self.asking.shorter(now) {
            return Ok(());
        }
        let say = "the path takes no datagram of 548 bytes";
        Err(DialError::Io(io::Error::other(say)))
    }

    fn not_listening(&mut self, now: Instant) {
        self.refused.get_or_insert((now, None));
    }

    fn hear(&mut self, now: Instant, options: &HostOptions<'_>) -> Result<(), DialError> {
        let (asking, refused, to) = (&mut self.asking, &mut self.refused, self.to);
        let (agreed, began) = (&mut self.agreed, self.began);
        let more = self.inbox.receive(self.endpoint, &options.clock, &mut |from, at, bytes| {
            let Some(frame) = Frame::parse(bytes).filter(|_| from.ip() == to.ip()) else { return };
            match asking.hear(frame, now) {
                Answer::More => {}
                Answer::Refused(why) => {
                    refused.get_or_insert((now, Some(why))).1 = Some(why);
                }
                Answer::Ready(ready) => {
                    let len = ready.session.size();
                    if agreed.as_ref().is_some_and(|(known, _)| known.session.size() >= len) {
                        return;
                    }
                    // The longer one was sent right after it.
                    let wait = if asking.may_be_longer(len) {
                        (at.since(began) / 2).clamp(LONGER_LEAST, LONGER_MOST)
                    } else {
                        Duration::ZERO
                    };
                    *agreed = Some((ready, now + wait));
                }
            }
        });
        match more.as_ref().map_err(IcmpError::of) {
            Ok(_) | Err(Some(IcmpError::Away)) => {}
            Err(Some(IcmpError::Refused)) => self.not_listening(now),
            Err(Some(IcmpError::TooLong)) => self.too_long(now)?,
            Err(None) => return more.map(|_| ()).map_err(Into::into),
        }
        Ok(())
    }

    /// A session is established: whether it is the right listener.
    fn begin(
        &self,
        ready: Agreed,
        judge: &mut dyn FnMut(&PublicKey) -> Result<(), String>,
        options: &HostOptions<'_>,
    ) -> Result<(Wire, Peer), DialError> {
        if let Some(key) = &ready.key {
            judge(key).map_err(DialError::Key)?;
        }
        let (session, now) = (ready.session, options.clock.now());
        let peer = Peer {
            address: self.to,
            key: ready.key,
            suite: Some(session.suite()),
            packet_max: session.packet_max(),
            room: self.endpoint.room(),
        };
        let finish = ready.finish.map(|finish| (finish, now));
        let most = self.endpoint.most(self.to, options.datagram_len());
        Ok((Wire::Sealed(Box::new(Sealed::new(session, finish, most, now))), peer))
    }

    fn wait(&self, now: Instant, options: &HostOptions<'_>) -> io::Result<()> {
        let refused = self.refused.map(|(since, _)| since + REFUSED_FOR);
        let agreed = self.agreed.as_ref().map(|(_, until)| *until);
        let next = [Some(self.asking.deadline()), refused, agreed].into_iter().flatten();
        let next = next.fold(self.began + PATIENCE, Instant::min);
        let mut interests = vec![Interest::read(self.endpoint.source())];
        if let Some(signals) = options.signals {
            interests.push(Interest::read(signals.source()));
        }
        event::wait(&mut interests, Some(next.since(now))).map(drop)
    }
}
