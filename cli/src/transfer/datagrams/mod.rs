//! `wst send` and `wst receive` on lines of datagrams: NETBLT.
//!
//! The end that dials opens the connection, whichever way the files go (WRITE or READ); the end that
//! listens waits, and may serve several peers. They are authenticated before an engine is made.

mod code_phrase;
mod consent;
mod trust;

use std::cell::RefCell;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Instant;

use wetstring_drive::datagram::endpoint::{self, Below};
use wetstring_drive::datagram::host::{
    Acceptor, DialError, Dialled, HostOptions, Peer, SessionHandler, SessionParts, dial, listen,
};
use wetstring_drive::datagram::keys::{KeyFolder, PublicKey, Secret};
use wetstring_drive::datagram::plain::ENCRYPTED;
use wetstring_drive::datagram::secure::GOOD_FOR;
use wetstring_drive::datagram::{Credentials, Endpoint};
use wetstring_drive::line::HostPort;
use wetstring_drive::{Ended, LineSpec, Signals, in_words};
use wetstring_events::{self as events, Event, Opened, Summary};
use wetstring_proto::netblt::{Config, Role};
use wetstring_proto::{Engine, Failure, FailureKind, Outcome};

use crate::args::Common;
use crate::args::transfer::Transfer;
use crate::config::Settings;
use crate::config::keys;
use crate::config::protocol::{Engines as _, Protocol};
use crate::transfer::direction::Direction;
use crate::transfer::observer::Observer;
use crate::transfer::opening::signals;
use crate::transfer::store::FileStore;
use crate::transfer::trace::Recorder;
use crate::transfer::verdict::Verdict;
use crate::ui::ending::{Ending, usage};
use crate::ui::exit::{Exit, LineKind};
use crate::ui::output::{Level, Output};
use crate::ui::prompt::can_ask;
use consent::{Consent, Consenting};
use trust::Trust;
use wetstring_proto::registry::Carrier;

/// The environment variable of the secret.
const SECRET: &str = "WETSTRING_SECRET";

/// The inputs of a transfer over datagrams.
pub(crate) struct Setup<'a> {
    pub(crate) ui: &'a Output,
    pub(crate) common: &'a Common,
    pub(crate) transfer: &'a Transfer,
    pub(crate) all: Settings,
    pub(crate) spec: LineSpec,
}

/// Makes the store of a session.
type MakeStore<'a> = dyn Fn() -> Result<FileStore, Ending> + 'a;

/// Sends the files of `store`.
pub(crate) fn send(
    ours: Setup<'_>,
    file_store: FileStore,
    text: Option<&str>,
) -> Result<Ending, Ending> {
    let once = RefCell::new(Some(file_store));
    let make = || {
        let gone = || Ending::early(Exit::Skipped, "the files have been sent");
        once.borrow_mut().take().ok_or_else(gone)
    };
    Session::new(ours, Direction::Send, (1, true), &make, text)?.run()
}

/// Receives the given number of sessions, each into a store of its own; with a code phrase the user is asked first, unless
/// `--yes` is set.
pub(crate) fn receive(
    ours: Setup<'_>,
    sessions: (u64, bool),
    make: &MakeStore<'_>,
    text: Option<&str>,
) -> Result<Ending, Ending> {
    Session::new(ours, Direction::Receive, sessions, make, text)?.run()
}

/// What the sessions of a run share.
struct Session<'a> {
    ours: Setup<'a>,
    direction: Direction,
    /// Number of sessions after which a listener ends; 0 is never.
    sessions: u64,
    make: &'a MakeStore<'a>,
    credentials: Credentials,
    keys: Option<KeyFolder>,
    /// The user is shown the offer, and asked.
    asks: bool,
    endings: Rc<RefCell<Vec<Ending>>>,
}

impl<'a> Session<'a> {
    fn new(
        mut ours: Setup<'a>,
        direction: Direction,
        (sessions, yes): (u64, bool),
        make: &'a MakeStore<'a>,
        text: Option<&str>,
    ) -> Result<Self, Ending> {
        if ours.transfer.pcap.is_some() {
            let say = "expected a line of bytes with --pcap; datagrams are captured by tcpdump";
            return Err(usage(say.to_owned()));
        }
        if let Some(flag) = text {
            return Err(usage(format!(
                "expected no {flag} with NETBLT, which carries bytes as they are"
            )));
        }
        if let Some(other) =
            ours.transfer.protocol().filter(|other| other.carrier != Carrier::Datagrams)
        {
            let (title, spec) = (other.title, &ours.spec);
            return Err(usage(format!(
                "expected NETBLT on {spec}, got {title}, which needs a line of bytes"
            )));
        }
        let listens = matches!(ours.spec, LineSpec::UdpListen(_) | LineSpec::IpListen(_));
        if listens && (ours.transfer.accept_new || ours.transfer.fingerprint.is_some()) {
            return Err(usage(format!(
                "expected a host to dial with --fingerprint and --accept-new, got {}, which accepts \
                 the keys of wst key trust",
                ours.spec
            )));
        }
        let asks = ours.transfer.code.is_some() && !yes;
        if asks && !can_ask() {
            let say = "expected --yes with --code where there is no terminal to ask at whether the files are taken";
            return Err(usage(say.to_owned()));
        }
        let (credentials, keys) = match &ours.transfer.code {
            Some(said) => (Credentials::Code(code_phrase::phrase(ours.ui, direction, said)?), None),
            None => credentials(ours.transfer).map_err(usage)?,
        };
        if ours.transfer.code.is_some() && direction == Direction::Send {
            code_phrase::is_patient(&mut ours.all);
        }
        let endings = Rc::new(RefCell::new(Vec::new()));
        Ok(Self { ours, direction, sessions, make, credentials, keys, asks, endings })
    }

    fn run(&self) -> Result<Ending, Ending> {
        if self.direction == Direction::Receive {
            // The store is opened before waiting for a peer.
            (self.make)()?;
        }
        let (ui, common) = (self.ours.ui, self.ours.common);
        let who = if self.direction == Direction::Send { "sender" } else { "receiver" };
        let mut recorder = Recorder::new(ui, who, common.trace.as_deref())
            .map_err(|say| Ending::early(Exit::Store, say))?
            .keep(self.ours.transfer.explain);
        let signals = signals()?;
        let mut options = HostOptions::new(&mut recorder);
        options.signals = Some(&signals);
        if self.ours.all.is_chosen("netblt.datagram") {
            options.datagram = Some(usize::from(self.ours.all.netblt().max_datagram));
        }
        let (burst, rate) = (self.ours.all.netblt().burst, self.ours.all.netblt().max_rate.bps());
        if burst == 0 && rate > 0 {
            // Within the rate nothing is dropped; headers and retransmissions count too.
            options.limits.bytes_per_s = Some(rate / 8 + rate / 32);
        }
        let ended = match (&self.ours.spec, self.ours.spec.to_string()) {
            (LineSpec::Udp(to), _) => self.dial(Below::Udp, to, options),
            (LineSpec::Ip(host), _) => self.dial(Below::Ip, &at_ip(host), options),
            (LineSpec::UdpListen(at), _) => self.listen(Below::Udp, at, options),
            (LineSpec::IpListen(host), _) => self.listen(Below::Ip, &at_ip(host), options),
            (_, other) => Err(usage(format!("expected a line of datagrams, got {other}"))),
        };
        let (lines, error) = recorder.finish();
        if let Some(why) = error {
            ui.say(Level::Error, &format!("wst: could not write the trace: {why}"));
        }
        if let Some(lines) = lines {
            crate::transfer::account::tell(ui, lines.iter().map(String::as_str));
        }
        ended?;
        let interrupted = signals.last();
        Ok(self.conclude(interrupted))
    }

    fn dial(&self, below: Below, to: &HostPort, options: HostOptions<'_>) -> Result<(), Ending> {
        let spec = self.ours.spec.to_string();
        let failed = |error: DialError| {
            let exit = match &error {
                DialError::Silence => Exit::Timeout,
                DialError::Refused(_) | DialError::Key(_) | DialError::Code => Exit::Peer,
                DialError::Interrupted(_) => Exit::Interrupted,
                _ => Exit::Line,
            };
            Ending::early(exit, format!("{spec}: {}", described(below, &error)))
        };
        let addresses = endpoint::resolve(to).map_err(|e| failed(DialError::Io(e)))?;
        let host = spec.clone();
        let trust = Trust::new(self.ours.ui, self.keys.as_ref(), host, self.ours.transfer);
        if self.waits() {
            self.tell_command(&code_phrase::listening(below, to.port));
            self.note(&format!("waiting for the peer ({spec})"));
        }
        let (mut last, began) = (None, Instant::now());
        let mut tell_after = code_phrase::TELL_AFTER;
        loop {
            for address in &addresses {
                match self.dial_at(below, *address, &trust, &options) {
                    Ok(dialled) => {
                        let handler = self.handler(dialled.peer(), Role::Active)?;
                        return dialled.run(handler, options).map_err(|e| failed(DialError::Io(e)));
                    }
                    // Another address of the same host may work.
                    Err(error @ (DialError::Io(_) | DialError::NotListening)) => {
                        last = Some(error);
                    }
                    Err(DialError::Silence) if self.waits() => last = Some(DialError::Silence),
                    Err(DialError::Key(_)) if trust.asks()? => {
                        return self.dial(below, to, options);
                    }
                    Err(error) => return Err(failed(error)),
                }
            }
            let absent = matches!(last, Some(DialError::NotListening | DialError::Silence));
            if !(absent && self.waits() && began.elapsed() < GOOD_FOR) {
                return Err(failed(last.unwrap_or(DialError::Silence)));
            }
            let so_far = began.elapsed();
            if so_far >= tell_after {
                tell_after = so_far * 2;
                let advice = match last {
                    Some(DialError::Silence) => "; does a firewall drop its datagrams?",
                    _ => "",
                };
                let seconds = so_far.as_secs();
                self.note(&format!("still waiting for the peer ({spec}): {seconds} s{advice}"));
            }
            if let Some(signal) = pause(options.signals) {
                return Err(failed(DialError::Interrupted(signal)));
            }
        }
    }

    /// A sender with a code phrase starts first: the peer can start only once its user has the phrase.
    fn waits(&self) -> bool {
        self.direction == Direction::Send && self.ours.transfer.code.is_some()
    }

    fn dial_at(
        &self,
        below: Below,
        address: SocketAddr,
        trust: &Trust<'_>,
        options: &HostOptions<'_>,
    ) -> Result<Dialled, DialError> {
        let socket = Endpoint::dial(below, address)?;
        let lost = socket.lost();
        let mut judge = |key: &PublicKey| trust.judge(key);
        let dialled = dial(socket, address, &self.credentials, &mut judge, options)?;
        self.tell_lost(lost);
        self.opened(dialled.peer());
        Ok(dialled)
    }

    fn listen(&self, below: Below, at: &HostPort, options: HostOptions<'_>) -> Result<(), Ending> {
        let failed = |error: std::io::Error| {
            let error = described(below, &DialError::Io(error));
            Ending::early(Exit::Line, format!("listen on {at}: {}", in_words(&error)))
        };
        let address = endpoint::resolve(at).map_err(failed)?[0];
        let socket = Endpoint::listen(below, address).map_err(failed)?;
        let local = socket.local().map_err(failed)?;
        let place = match below {
            Below::Udp => local.to_string(),
            Below::Ip => local.ip().to_string(),
        };
        self.tell_lost(socket.lost());
        self.note(&format!("listening on {place}"));
        self.tell_command(&code_phrase::dialling(below, local));
        if let Credentials::Keys(identity) = &self.credentials {
            let say = format!("this host's key is {}", identity.public.fingerprint());
            self.ours.ui.say(Level::Note, &say);
        }
        let mut desk = Admission { session: self, left: self.sessions };
        let stats = listen(socket, self.credentials.clone(), &mut desk, options).map_err(failed)?;
        match code_phrase::ended(&stats) {
            Some(ending) if self.endings.borrow().is_empty() => Err(ending),
            _ => Ok(()),
        }
    }

    /// Says what the system's sockets cannot do.
    fn tell_lost(&self, lost: Option<String>) {
        if let Some(say) = lost {
            self.ours.ui.say(Level::Note, &say);
        }
    }

    /// Says what to type at the peer, which needs this line and the code phrase, if there is one.
    fn tell_command(&self, line: &str) {
        let Credentials::Code(phrase) = &self.credentials else { return };
        let verb = if self.direction == Direction::Send { "receive" } else { "send FILE" };
        let say = format!("at the peer: wst {verb} {line} --code {phrase}");
        self.ours.ui.say(Level::Note, &say);
    }

    fn note(&self, text: &str) {
        self.ours.ui.say(Level::Note, text);
        self.ours.ui.event(Event::Line { text: text.to_owned(), end: None });
    }

    fn opened(&self, peer: &Peer) {
        let suite = peer.suite.map(|suite| suite.name().to_owned());
        self.ours.ui.event(Event::Opened(Opened {
            line: peer.address.to_string(),
            reliable: Some(Some(false)),
            clear: Some(true),
            rate_bps: Some(None),
            port: None,
            suite: Some(suite.clone()),
            packet_max: Some(peer.packet_max as u64),
            fingerprint: Some(peer.key.map(|key| key.fingerprint())),
        }));
        let how = suite.unwrap_or_else(|| "not encrypted".to_owned());
        let say = format!("line: {}, {how}, packets of {}", peer.address, peer.packet_max);
        self.ours.ui.say(Level::Detail, &say);
        if self.waits() {
            let say = "the code phrase is correct; the peer may have to accept the files first";
            self.ours.ui.say(Level::Note, say);
        }
    }

    /// An engine for a connected peer.
    fn handler<'t>(
        &'t self,
        peer: &Peer,
        role: Role,
    ) -> Result<Box<dyn SessionHandler + 't>, Ending> {
        let file_store = (self.make)()?;
        let mut all = self.ours.all.clone();
        fit(&mut all, peer, role);
        let engine = match self.direction {
            Direction::Send => Protocol::named("netblt").sender(&all),
            Direction::Receive => Ok(Protocol::named("netblt").receiver(&all)),
        };
        let free = !file_store.takes_stdin() && !self.asks;
        let observer =
            Observer::new(self.ours.ui, self.direction, None).listen(free && role == Role::Active);
        Ok(Box::new(PeerSession {
            session: self,
            peer: peer.clone(),
            engine: engine.map_err(usage)?,
            store: Consenting {
                file_store,
                consent: self.asks.then(|| Consent::from_terminal(self.ours.ui)),
            },
            observer,
            endings: Rc::clone(&self.endings),
        }))
    }

    /// The end of all sessions: the worst one.
    fn conclude(&self, interrupted: Option<i32>) -> Ending {
        let mut endings = std::mem::take(&mut *self.endings.borrow_mut());
        if endings.len() > 1 {
            let bad = endings.iter().filter(|ending| ending.exit != Exit::Done).count();
            let session =
                |of: &Ending| events::Session { exit: of.exit as u8, message: of.message.clone() };
            let sessions = endings.iter().map(session).collect();
            let worst = endings.iter().map(|ending| ending.exit).max_by_key(|exit| *exit as u8);
            let message = match bad {
                0 => String::new(),
                bad => format!("{bad} of {} sessions failed", endings.len()),
            };
            let summary = Some(Summary::Sessions(events::Sessions { sessions }));
            return Ending { summary, ..Ending::early(worst.unwrap_or(Exit::Done), message) };
        }
        endings.pop().unwrap_or_else(|| match interrupted {
            Some(signal) => {
                Ending::early(Exit::Interrupted, format!("interrupted by signal {signal}"))
            }
            None => Ending::early(Exit::Done, "no session came"),
        })
    }
}

/// The credentials by `--plain`, `--secret-file` and the environment, and the directory of the keys if used.
fn credentials(transfer: &Transfer) -> Result<(Credentials, Option<KeyFolder>), String> {
    if transfer.plain {
        return Ok((Credentials::Plain, None));
    }
    if let Some(path) = &transfer.secret_file {
        return Ok((Credentials::Secret(Secret::read(path)?), None));
    }
    if let Some(secret) = std::env::var_os(SECRET).filter(|secret| !secret.is_empty()) {
        let secret = Secret::new(secret.as_encoded_bytes());
        return Ok((
            Credentials::Secret(secret.map_err(|e| format!("{SECRET}: {}", in_words(&e)))?),
            None,
        ));
    }
    let keys = keys::folder()?;
    Ok((Credentials::Keys(keys.identity()?), Some(keys)))
}

/// Applies what is known of the path to the configuration.
fn fit(all: &mut Settings, peer: &Peer, role: Role) {
    let (datagram, checksum) = (all.is_chosen("netblt.datagram"), all.is_chosen("netblt.checksum"));
    let config = all.netblt_mut();
    let most = u16::try_from(peer.packet_max / 4 * 4).unwrap_or(65_532);
    config.max_datagram = if datagram { config.max_datagram.min(most) } else { most };
    // Encrypted packets are authenticated, which is stronger than a checksum.
    config.checksum &= checksum || peer.suite.is_none();
    config.role = role;
    config.room = peer.room;
    config.metered = peer.suite.is_none() && role == Role::Active;
    // Unpredictable.
    config.id = endpoint::chance();
    config.first_buffer = endpoint::chance();
    if role == Role::Active {
        // Above the ports that listeners may use.
        config.local_port = 0xC000 | (endpoint::chance() & 0x3FFF) as u16;
    } else {
        config.local_port = Config::default().foreign_port;
    }
}

/// Waits a little; the signal, if one comes.
fn pause(signals: Option<&Signals>) -> Option<i32> {
    let until = Instant::now() + code_phrase::LOOK_EVERY;
    while Instant::now() < until {
        if let Some(signal) = signals.and_then(Signals::last) {
            return Some(signal);
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    None
}

fn at_ip(host: &str) -> HostPort {
    HostPort { host: host.to_owned(), port: 0 }
}

/// An error with advice.
fn described(below: Below, error: &DialError) -> String {
    match error {
        DialError::Io(e) if below == Below::Ip && e.kind() == ErrorKind::PermissionDenied => {
            format!("{}: expected permission for raw sockets (root or CAP_NET_RAW)", in_words(&e))
        }
        other => other.to_string(),
    }
}

/// Admits the peers of a listener.
struct Admission<'s, 'a> {
    session: &'s Session<'a>,
    left: u64,
}

impl<'s> Acceptor<'s> for Admission<'s, '_> {
    fn admit(&mut self, peer: &Peer) -> Result<Box<dyn SessionHandler + 's>, String> {
        let (session, at) = (self.session, peer.address);
        let ui = session.ours.ui;
        if let (Some(keys), Some(key)) = (&session.keys, &peer.key)
            && !keys.may_enter(key)?
        {
            let fingerprint = key.fingerprint();
            ui.say(
                Level::Error,
                &format!(
                    "{at} is refused, its key is {fingerprint}; to allow it: wst key trust {key}"
                ),
            );
            let (line, shown) = (at.to_string(), key.to_string());
            let fingerprint_there = fingerprint.clone();
            ui.event(Event::KeyRefused { line, key: shown, fingerprint: fingerprint_there });
            return Err(format!(
                "the listener does not know the key {fingerprint}; there: wst key trust {key}"
            ));
        }
        let handler = session.handler(peer, Role::Passive).map_err(|ending| {
            ui.say(Level::Error, &format!("{at} is refused: {}", ending.message));
            ending.message
        })?;
        if peer.suite.is_some() {
            session.note(&format!("connected from {at}"));
            session.opened(peer);
        }
        Ok(handler)
    }

    fn refused(&mut self, from: SocketAddr, why: &str) {
        let ui = self.session.ours.ui;
        ui.say(Level::Note, &format!("{from} is refused: {why}"));
        ui.event(Event::Refused { line: from.to_string(), why: why.to_owned() });
    }

    fn sends(&self) -> Option<bool> {
        Some(self.session.direction == Direction::Send)
    }

    fn keep_listening(&mut self, under_way: usize) -> bool {
        // 0: indefinitely.
        if self.session.sessions == 0 {
            return true;
        }
        self.left = self.left.saturating_sub(1);
        self.left > 0 || under_way > 0
    }
}

/// The engine, store and watch of one peer.
struct PeerSession<'a> {
    session: &'a Session<'a>,
    peer: Peer,
    engine: Box<dyn Engine>,
    store: Consenting<'a>,
    observer: Observer<'a>,
    endings: Rc<RefCell<Vec<Ending>>>,
}

impl SessionHandler for PeerSession<'_> {
    fn proved(&mut self) {
        self.session.note(&format!("connected from {}", self.peer.address));
        self.session.opened(&self.peer);
    }

    fn gave_up(&mut self) {
        self.observer.finish();
    }

    fn came_back(&mut self) {
        self.observer.finish();
        let at = self.peer.address;
        let say = format!("{at} is silent, and its sender continues in another session");
        self.session.ours.ui.say(Level::Note, &say);
        self.session.ours.ui.event(Event::CameBack { line: at.to_string() });
    }

    fn parts(&mut self) -> SessionParts<'_> {
        SessionParts {
            engine: &mut *self.engine,
            store: &mut self.store,
            watch: &mut self.observer,
        }
    }

    fn wake(&self) -> Option<wetstring_drive::event::Source<'_>> {
        wetstring_drive::Watch::wake(&self.observer)
    }

    fn over(&mut self, ended: &Ended) {
        self.observer.finish();
        let differs = matches!(
            ended.outcome,
            Outcome::Failed(Failure { kind: FailureKind::DigestDiffers, .. })
        );
        if differs {
            self.store.file_store.discard_partial();
        }
        let verdict = Verdict {
            ui: self.session.ours.ui,
            direction: self.session.direction,
            file_store: &self.store.file_store,
            unnamed: &[],
            medium: LineKind::Datagrams,
        };
        verdict.report_records(!differs, ended);
        let mut ending = verdict.conclude(ended, &self.observer);
        if self.observer.peer_said.as_deref() == Some(ENCRYPTED) {
            // The answer on the wire is short: a stranger gets no long reply.
            ending.message += "; leave out --plain here, or start the listener with it";
        }
        self.endings.borrow_mut().push(ending);
    }
}
