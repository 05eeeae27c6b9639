//! Dialling: the handshake, and then one engine.

use super::super::endpoint::{Endpoint, Inbox, LONGEST, Sent, Word};
use super::super::keys::PublicKey;
use super::super::secure::{Answer, Credentials, Frame, Initiator};
use super::association::{Association, Wire};
use super::turning::{Turning, pause};
use super::{HostOptions, Partner, Tenant};
use crate::signals::Signals;
use rustix::event::{PollFd, PollFlags};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use wetstring_proto::time::Instant;

/// How long a listener may take to answer at all.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long refusals may be all that comes: one of them may be forged, or meant for somebody before.
const REFUSED_FOR: Duration = Duration::from_millis(1500);

/// Why there is no session.
#[derive(Debug)]
#[non_exhaustive]
pub enum DialError {
    /// The socket failed.
    Io(io::Error),
    /// Nobody answered.
    Silence,
    /// The other host says that nobody listens on that port.
    NobodyListens,
    /// The listener does not want this, in words.
    Refused(String),
    /// The listener's key is not to be trusted, in words.
    Key(String),
    /// A signal came (its number).
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
            Self::NobodyListens => f.write_str("expected a listener, the host has none there"),
            Self::Refused(why) | Self::Key(why) => f.write_str(why),
            Self::Interrupted(signal) => write!(f, "interrupted by signal {signal}"),
        }
    }
}

impl std::error::Error for DialError {}

impl From<io::Error> for DialError {
    fn from(error: io::Error) -> Self {
        if Word::of(&error) == Some(Word::Refused) { Self::NobodyListens } else { Self::Io(error) }
    }
}

/// A session that stands, and waits for an engine.
#[allow(missing_debug_implementations)]
pub struct Dialled {
    endpoint: Endpoint,
    wire: Wire,
    partner: Partner,
}

impl Dialled {
    /// Who answered.
    pub fn partner(&self) -> &Partner {
        &self.partner
    }

    /// Turns the tenant's engine until it ends.
    ///
    /// # Errors
    ///
    /// If waiting fails. What happens on the line is told to the tenant.
    pub fn run(self, tenant: Box<dyn Tenant + '_>, options: HostOptions<'_>) -> io::Result<()> {
        let now = options.clock.now();
        let one = Association::new(self.partner, self.wire, tenant, now, &options);
        let mut turning = Turning::new(self.endpoint, options);
        turning.join(one);
        turning.until_over(None)
    }
}

/// Dials `to`. The listener's key, where it has one, is shown to `judge`, whose objection ends it.
pub fn dial(
    endpoint: Endpoint,
    to: SocketAddr,
    credentials: &Credentials,
    judge: &mut dyn FnMut(&PublicKey) -> Result<(), String>,
    options: &HostOptions<'_>,
) -> Result<Dialled, DialError> {
    let sizes = endpoint.sizes(to);
    if matches!(credentials, Credentials::Plain) {
        let packet_max = sizes.first().copied().unwrap_or(LONGEST);
        let wire = Wire::Plain { unproved: None, echo: None };
        let room = endpoint.room();
        let partner = Partner { address: to, key: None, suite: None, packet_max, room };
        return Ok(Dialled { endpoint, wire, partner });
    }
    let began = options.clock.now();
    let asking = Initiator::new(credentials, sizes, began);
    let inbox = Inbox::new();
    let mut dialling = Dialling { endpoint: &endpoint, inbox, to, asking, began, refused: None };
    let (wire, partner) = dialling.until_ready(judge, options)?;
    Ok(Dialled { endpoint, wire, partner })
}

struct Dialling<'c> {
    endpoint: &'c Endpoint,
    inbox: Inbox,
    to: SocketAddr,
    asking: Initiator<'c>,
    began: Instant,
    /// Since when, and what, if nothing but refusals came.
    refused: Option<(Instant, Option<&'static str>)>,
}

impl Dialling<'_> {
    fn until_ready(
        &mut self,
        judge: &mut dyn FnMut(&PublicKey) -> Result<(), String>,
        options: &HostOptions<'_>,
    ) -> Result<(Wire, Partner), DialError> {
        loop {
            let now = options.clock.now();
            if let Some(signal) = options.signals.and_then(Signals::last) {
                return Err(DialError::Interrupted(signal));
            }
            if let Some((since, why)) = self.refused
                && now.since(since) >= REFUSED_FOR
            {
                return Err(
                    why.map_or(DialError::NobodyListens, |why| DialError::Refused(why.to_owned()))
                );
            }
            if now.since(self.began) >= PATIENCE {
                return Err(DialError::Silence);
            }
            self.ask(now)?;
            if let Some(agreed) = self.hear(now, judge)? {
                return Ok(agreed);
            }
            self.wait(now, options)?;
        }
    }

    fn ask(&mut self, now: Instant) -> Result<(), DialError> {
        while let Some(init) = self.asking.ask(now).map_err(DialError::Refused)? {
            match self.endpoint.send(self.to, &init, init.len()) {
                Ok(Sent::TooLong) => self.too_long(now)?,
                Ok(Sent::Refused) => self.nobody(now),
                Ok(Sent::Gone | Sent::Full) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// The interface, or a router, takes no datagrams as long as those that are tried.
    fn too_long(&mut self, now: Instant) -> Result<(), DialError> {
        if self.asking.shorter(now) {
            return Ok(());
        }
        let say = "the path takes no datagram of 548 bytes";
        Err(DialError::Io(io::Error::other(say)))
    }

    fn nobody(&mut self, now: Instant) {
        self.refused.get_or_insert((now, None));
    }

    fn hear(
        &mut self,
        now: Instant,
        judge: &mut dyn FnMut(&PublicKey) -> Result<(), String>,
    ) -> Result<Option<(Wire, Partner)>, DialError> {
        let (asking, refused, to) = (&mut self.asking, &mut self.refused, self.to);
        let mut agreed = None;
        let more = self.inbox.receive(self.endpoint, &mut |from, bytes| {
            let ours = from.ip() == to.ip() && agreed.is_none();
            let Some(frame) = Frame::parse(bytes).filter(|_| ours) else { return };
            match asking.hear(frame, now) {
                Answer::More => {}
                Answer::Refused(why) => {
                    refused.get_or_insert((now, Some(why))).1 = Some(why);
                }
                Answer::Ready(ready) => agreed = Some(ready),
            }
        });
        match more.as_ref().map_err(Word::of) {
            Ok(_) | Err(Some(Word::Away)) => {}
            Err(Some(Word::Refused)) => self.nobody(now),
            Err(Some(Word::TooLong)) => self.too_long(now)?,
            Err(None) => return more.map(|_| None).map_err(Into::into),
        }
        let Some(ready) = agreed else { return Ok(None) };
        if let Some(key) = &ready.key {
            judge(key).map_err(DialError::Key)?;
        }
        let session = ready.session;
        let partner = Partner {
            address: to,
            key: ready.key,
            suite: Some(session.suite()),
            packet_max: session.packet_max(),
            room: self.endpoint.room(),
        };
        let finish = ready.finish.map(|finish| (finish, now));
        let wire = Wire::Sealed { session: Box::new(session), finish };
        Ok(Some((wire, partner)))
    }

    fn wait(&self, now: Instant, options: &HostOptions<'_>) -> io::Result<()> {
        let refused = self.refused.map(|(since, _)| since + REFUSED_FOR);
        let next = [Some(self.asking.deadline()), refused].into_iter().flatten();
        let next = next.fold(self.began + PATIENCE, Instant::min);
        let mut fds = vec![PollFd::from_borrowed_fd(self.endpoint.fd(), PollFlags::IN)];
        if let Some(signals) = options.signals {
            fds.push(PollFd::from_borrowed_fd(signals.fd(), PollFlags::IN));
        }
        pause(&mut fds, next.since(now))
    }
}
