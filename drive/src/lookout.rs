//! Detects the wrong peer: one of another protocol, or one in the same role.
//!
//! A [`Lookout`] is an engine around an engine. Until the inner one has agreed on something with its peer, all
//! received data is also examined by [`wetstring_proto::peer`]; if something is recognised that cannot be a
//! peer of the inner engine, the transfer ends with [`FailureKind::WrongPeer`], and [`Finding`] says what it
//! is. Bytes pass through unchanged.
//!
//! It also handles:
//!
//! * **Echo.** A host whose program has not started echoes our own packets, which then look like those of a
//!   second sender or receiver. Data that we have sent ourselves counts only once a probe of ours has not come
//!   back.
//! * **Silent peers.** Kermit receivers wait some 10 s before their first NAK; senders of XMODEM and YMODEM
//!   wait until they are asked. Where the inner engine sends unasked anyway, a damaged Send-Init (a comment to
//!   a shell) makes the former answer, a `C` the latter.
//! * **Receivers of two protocols** offer ZMODEM into silence and accept Kermit as well. A Kermit sender repeats its
//!   last packet to a ZMODEM receiver before it takes it for the wrong peer: our own receiver, started after the
//!   sender, has missed that packet.
//! * **Start characters** (`C`, `G`, NAK) are single bytes, which noise produces too. The first is reported,
//!   and only the second ends the transfer.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use wetstring_proto::kermit::check::Check;
use wetstring_proto::peer::{self, Detected, Part, PeerProtocol};
use wetstring_proto::{
    Blame, Command, Cx, Engine, Event, Failure, FailureKind, Instant, Learned, Outcome, Reply,
    Request, Stats, Status, Wants,
};

/// Which peers are expected, and which probes are allowed.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// The role of this end.
    pub ours: Part,
    /// Whether a peer with this protocol is right.
    pub fits: fn(PeerProtocol) -> bool,
    /// Which probes may be sent.
    pub probes: Probes,
}

/// Probes that may be sent during silence. A device at its prompt takes them as typed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Probes {
    /// None: this end sends nothing unasked, as the senders of XMODEM and YMODEM.
    None,
    /// A few NULs, which only tell whether the line echoes.
    Nul,
    /// Also a `C`, and a damaged Send-Init.
    All,
}

/// The findings so far, for the report.
#[derive(Clone, Debug, Default)]
pub struct Finding(Rc<Found>);

#[derive(Debug, Default)]
struct Found {
    who: Cell<Option<(PeerProtocol, Part)>>,
    text: RefCell<Vec<u8>>,
    settled: Cell<bool>,
    echoes: Cell<bool>,
}

impl Finding {
    /// The wrong peer, once it is recognised.
    pub fn wrong_peer(&self) -> Option<(PeerProtocol, Part)> {
        self.0.who.get()
    }

    /// The last received bytes of no protocol, at most 200.
    pub fn text(&self) -> Vec<u8> {
        self.0.text.borrow().clone()
    }

    /// Whether what is sent comes back, as at a prompt that echoes.
    pub fn echoes(&self) -> bool {
        self.0.echoes.get()
    }

    /// Whether the right peer has been heard.
    pub fn is_settled(&self) -> bool {
        self.0.settled.get()
    }
}

/// Bytes kept per direction.
const KEPT: usize = 4096;
/// Bytes of the reported text.
const TEXT: usize = 200;
/// Silence before and after start characters, which are sent alone.
const LULL: Duration = Duration::from_millis(400);
/// How long the right peer may take to be heard after a wrong one, whose data may have been waiting in a queue
/// since it ended.
const DOUBT: Duration = Duration::from_millis(1500);
/// A sender that has sent this much file data has the right peer.
const ENOUGH: u64 = 64 * 1024;
/// Maximum delay of an echo.
const ECHO: Duration = Duration::from_millis(1500);
/// When the first damaged Send-Init and the first `C` are sent, and again after [`AGAIN`].
const FIRST: [Duration; 2] = [Duration::from_secs(3), Duration::from_secs(5)];
const AGAIN: Duration = Duration::from_secs(10);
/// At most this many of each.
const ROUNDS: u32 = 3;

/// The probes of one lookout. The peer may run one too, so two do not send the same.
#[derive(Debug)]
struct Words {
    /// A packet with a wrong check: a Kermit receiver sends its NAK at once, and no transfer begins.
    damaged: [u8; 6],
    /// NULs.
    nuls: usize,
    /// The last packet of the engine.
    repeat: Vec<u8>,
}

const NULS: [u8; 8] = [0; 8];
/// The first byte of a Kermit packet.
const SOH: u8 = 1;

impl Words {
    fn of(salt: u64) -> Self {
        let letter = |salt: u64, first: u8| first + (salt % 26) as u8;
        let (kind, mut check) = (letter(salt, b'A'), letter(salt / 26, b'a'));
        if Check::Sum6.verify(&[b'#', b' ', kind], &[check]) {
            check = b'?';
        }
        let nuls = 1 + (salt / 676 % 7) as usize;
        Self { damaged: [1, b'#', b' ', kind, check, b'\r'], nuls, repeat: Vec::new() }
    }

    fn bytes(&self, probe: Probe) -> &[u8] {
        match probe {
            Probe::Damaged => &self.damaged,
            Probe::Nuls => &NULS[..self.nuls],
            Probe::StartCharacter => b"C",
            Probe::Repeat => &self.repeat,
        }
    }

    /// Whether an echo of the probe is in these bytes, however the echo treats controls.
    fn returned(&self, probes: Probes, heard: &[u8]) -> bool {
        if probes == Probes::All {
            return heard.windows(4).any(|four| four == &self.damaged[1..5]);
        }
        let run = heard.split(|byte| *byte != 0).any(|run| run.len() == self.nuls);
        run || heard.windows(2).any(|two| two == b"^@")
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Probe {
    Damaged,
    Nuls,
    StartCharacter,
    /// The last packet of a Kermit sender.
    Repeat,
}

const WRONG_PEER: Outcome =
    Outcome::Failed(Failure { blame: Blame::Peer, kind: FailureKind::WrongPeer });
const CLOSED: Failure = Failure { blame: Blame::Line, kind: FailureKind::Closed };

/// An engine that ends when the wrong peer answers. See the [module](self).
pub struct Lookout {
    engine: Box<dyn Engine>,
    expected: Expected,
    finding: Finding,
    /// Received data, from the start of what is not yet recognised.
    heard: Vec<u8>,
    /// Start in it of the data received after the last silence.
    lull: usize,
    last_heard: Option<Instant>,
    sent: Vec<u8>,
    began: Option<Instant>,
    /// Data that may be our own.
    own: Option<(PeerProtocol, Part)>,
    echo: Echo,
    suspect: Option<Suspect>,
    words: Words,
    /// The probe being sent, and how much of it has been sent.
    saying: Option<(Probe, usize)>,
    /// The lent bytes are the probe.
    lent: bool,
    rounds: [u32; 2],
    over: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Echo {
    Unknown,
    /// A probe has been sent.
    Asked(Instant),
    Detected,
    None,
}

#[derive(Clone, Copy, Debug)]
struct Suspect {
    who: (PeerProtocol, Part),
    since: Instant,
    /// A packet with a check, or repeated start characters.
    certain: bool,
    /// Our last packet was repeated to it, in case it accepts the right protocol too.
    asked: bool,
}

impl Lookout {
    /// Around this engine. `salt` differs for every lookout.
    pub fn new(engine: Box<dyn Engine>, expected: Expected, salt: u64) -> (Self, Finding) {
        let finding = Finding::default();
        let lookout = Self {
            engine,
            expected,
            finding: finding.clone(),
            heard: Vec::new(),
            lull: 0,
            last_heard: None,
            sent: Vec::new(),
            began: None,
            own: None,
            echo: Echo::Unknown,
            suspect: None,
            words: Words::of(salt),
            saying: None,
            lent: false,
            rounds: [0; 2],
            over: false,
        };
        (lookout, finding)
    }

    fn looks(&self) -> bool {
        !self.over && !self.finding.is_settled()
    }

    /// The right peer is found: from here on this is only the engine.
    fn settle(&mut self) {
        self.finding.0.settled.set(true);
        self.heard = Vec::new();
        self.sent = Vec::new();
        self.saying = None;
        self.suspect = None;
        self.finding.0.who.set(None);
    }

    /// Whether the failure is reported as the wrong peer; if so, which one is then fixed.
    fn explains(&self, failure: Failure) -> bool {
        let ours = matches!(
            failure.kind,
            FailureKind::Aborted | FailureKind::Refused | FailureKind::Store(_)
        );
        let own = self.own.filter(|_| failure.kind != FailureKind::Closed || !self.sent.is_empty());
        let who =
            self.suspect.map(|suspect| suspect.who).or(own.filter(|_| self.echo != Echo::Detected));
        // lrzsz's sx cancels when it receives ZMODEM, right after it has sent what it expects.
        let announced = || peer::announced(&self.heard).filter(|who| !self.is_right(who.0, who.1));
        let who = who.or_else(|| announced().filter(|_| failure.kind == FailureKind::PeerError));
        if ours || !self.looks() || who.is_none() {
            return false;
        }
        self.finding.0.who.set(who);
        true
    }

    fn is_right(&self, protocol: PeerProtocol, part: Part) -> bool {
        // A client of a Kermit server is answered by the engine itself.
        (self.expected.fits)(protocol) && (part != self.expected.ours || part == Part::Client)
    }

    fn hear(&mut self, now: Instant, bytes: &[u8]) {
        if self.last_heard.is_none_or(|last| now.since(last) >= LULL) {
            self.heard_alone(now);
            self.lull = self.heard.len();
        }
        self.last_heard = Some(now);
        self.heard.extend_from_slice(bytes);
        let surplus = self.heard.len().saturating_sub(KEPT);
        self.heard.drain(..surplus);
        self.lull = self.lull.saturating_sub(surplus);
        self.look_for_echo();
        let mut from = 0;
        while let Some(Detected { at, len, protocol, part }) = peer::recognise(&self.heard, from) {
            if self.is_right(protocol, part) {
                return self.settle();
            }
            let words = &self.heard[at..at + len];
            let ours = self.sent.windows(len).any(|said| said == words);
            if ours && self.echo != Echo::None {
                self.own = Some((protocol, part)).filter(|_| self.echo != Echo::Detected);
            } else {
                self.suspect_of(now, (protocol, part), true);
            }
            from = at + len;
        }
        self.tell_text(from);
        // A start character that follows it is still alone.
        self.heard.drain(..from);
        self.lull = self.lull.saturating_sub(from);
    }

    fn look_for_echo(&mut self) {
        let Echo::Asked(_) = self.echo else { return };
        if self.words.returned(self.expected.probes, &self.heard) {
            self.echo = Echo::Detected;
            self.finding.0.echoes.set(true);
            self.own = None;
        }
    }

    fn tell_text(&self, from: usize) {
        let mut text = self.finding.0.text.borrow_mut();
        text.clear();
        let start = from.max(self.heard.len().saturating_sub(TEXT));
        text.extend_from_slice(&self.heard[start..]);
    }

    /// Examines what was received between two silences.
    fn heard_alone(&mut self, now: Instant) {
        let alone = &self.heard[self.lull..];
        // The command that started the receiver may precede it, on its own line.
        let alone = alone.rsplit(|byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or_default();
        let Some(protocol) = peer::start_characters(alone) else { return };
        self.lull = self.heard.len();
        let part = Part::Receiver;
        if self.is_right(protocol, part) {
            return self.settle();
        }
        let who = (protocol, part);
        let ours = alone.iter().all(|byte| self.sent.contains(byte));
        let asked = self.expected.ours == Part::Receiver || self.rounds[1] > 0;
        if ours && asked && self.echo != Echo::None {
            self.own = Some(who).filter(|_| self.echo != Echo::Detected);
            return;
        }
        let again = self.suspect.is_some_and(|suspect| now.since(suspect.since) >= DOUBT);
        self.suspect_of(now, who, again);
    }

    fn suspect_of(&mut self, now: Instant, who: (PeerProtocol, Part), certain: bool) {
        match &mut self.suspect {
            Some(suspect) if suspect.who == who => suspect.certain |= certain,
            _ => self.suspect = Some(Suspect { who, since: now, certain, asked: false }),
        }
    }

    /// Does what is due.
    fn look_at_clock(&mut self, now: Instant) {
        if !self.looks() {
            return;
        }
        // A wrong peer may only seem to have accepted what a sender has sent.
        let enough = if self.expected.ours == Part::Sender { ENOUGH } else { 1 };
        if self.engine.stats().file_bytes >= enough
            || self.engine.status().outcome() == Some(Outcome::Done)
        {
            return self.settle();
        }
        let began = *self.began.get_or_insert(now);
        if self.last_heard.is_some_and(|last| now.since(last) >= LULL)
            && self.lull < self.heard.len()
        {
            self.heard_alone(now);
            self.lull = self.heard.len();
        }
        if let Echo::Asked(at) = self.echo
            && now.since(at) >= ECHO
        {
            self.echo = Echo::None;
            if let Some(who) = self.own.take() {
                self.suspect_of(now, who, true);
            }
        }
        self.ask_suspect();
        if let Some(Suspect { who, since, certain, .. }) = self.suspect
            && !matches!(self.saying, Some((Probe::Repeat, _)))
            && now.since(since) >= DOUBT
        {
            self.finding.0.who.set(Some(who));
            // An engine that has ended by itself explains it.
            self.over = certain && self.engine.status().outcome().is_none();
        }
        self.probe(now, began);
    }

    /// Repeats the last packet to a ZMODEM receiver that may accept Kermit too.
    fn ask_suspect(&mut self) {
        let Some(suspect) = &mut self.suspect else { return };
        let may_know_both = suspect.who == (PeerProtocol::Zmodem, Part::Receiver)
            && self.expected.ours == Part::Sender
            && (self.expected.fits)(PeerProtocol::Kermit);
        if suspect.asked || !may_know_both || self.saying.is_some() {
            return;
        }
        suspect.asked = true;
        if let Some(start) = self.sent.iter().rposition(|byte| *byte == SOH) {
            self.words.repeat = self.sent[start..].to_vec();
            self.saying = Some((Probe::Repeat, 0));
        }
    }

    fn probe(&mut self, now: Instant, began: Instant) {
        if self.over || self.saying.is_some() || self.suspect.is_some() {
            return;
        }
        let probes = self.expected.probes;
        if self.own.is_some() && self.echo == Echo::Unknown {
            self.saying = match probes {
                Probes::None => None,
                Probes::Nul => Some((Probe::Nuls, 0)),
                Probes::All => Some((Probe::Damaged, 0)),
            };
        } else if probes == Probes::All && self.engine.stats().file_bytes == 0 {
            let due = |k: usize| began + FIRST[k] + AGAIN * self.rounds[k];
            let Some(k) = [0, 1].into_iter().find(|k| self.rounds[*k] < ROUNDS && due(*k) <= now)
            else {
                return;
            };
            self.rounds[k] += 1;
            self.saying = Some(([Probe::Damaged, Probe::StartCharacter][k], 0));
        }
    }

    fn next_look(&self) -> Option<Instant> {
        if !self.looks() {
            return None;
        }
        let began = self.began?;
        let lull = self.last_heard.filter(|_| self.lull < self.heard.len()).map(|at| at + LULL);
        let echo = if let Echo::Asked(at) = self.echo { Some(at + ECHO) } else { None };
        let told = self.finding.wrong_peer().is_some();
        let suspect = self.suspect.filter(|of| !told || of.certain).map(|of| of.since + DOUBT);
        let all = self.expected.probes == Probes::All
            && self.suspect.is_none()
            && self.engine.stats().file_bytes == 0;
        let probe = [0, 1].into_iter().filter(|k| all && self.rounds[*k] < ROUNDS);
        let probe = probe.map(|k| began + FIRST[k] + AGAIN * self.rounds[k]).min();
        [lull, echo, suspect, probe].into_iter().flatten().min()
    }
}

impl Engine for Lookout {
    fn receive(&mut self, cx: &mut Cx<'_>, bytes: &[u8]) -> usize {
        if self.over {
            return 0;
        }
        let taken = self.engine.receive(cx, bytes);
        if self.looks() {
            self.hear(cx.now, &bytes[..taken.min(bytes.len())]);
            self.look_at_clock(cx.now);
        }
        taken
    }

    fn transmit(&mut self, cx: &mut Cx<'_>) -> &[u8] {
        self.look_at_clock(cx.now);
        self.lent = false;
        if self.over {
            return &[];
        }
        if let Some((probe, said)) = self.saying
            && (said > 0 || self.engine.transmit(cx).is_empty())
        {
            self.lent = true;
            return &self.words.bytes(probe)[said..];
        }
        self.engine.transmit(cx)
    }

    fn transmitted(&mut self, cx: &mut Cx<'_>, len: usize) {
        if !self.lent {
            if self.looks() {
                let bytes = self.engine.transmit(cx);
                self.sent.extend_from_slice(&bytes[..len.min(bytes.len())]);
                let surplus = self.sent.len().saturating_sub(KEPT);
                self.sent.drain(..surplus);
            }
            return self.engine.transmitted(cx, len);
        }
        self.lent = false;
        let Some((probe, said)) = self.saying else { return };
        let words = self.words.bytes(probe);
        self.sent.extend_from_slice(&words[said..words.len().min(said + len)]);
        let said = said + len;
        self.saying = (said < self.words.bytes(probe).len()).then_some((probe, said));
        if let (Probe::Repeat, None, Some(suspect)) = (probe, self.saying, &mut self.suspect) {
            suspect.since = cx.now;
        }
        let asks = matches!(probe, Probe::Damaged | Probe::Nuls) && self.saying.is_none();
        if asks && self.echo == Echo::Unknown {
            self.echo = Echo::Asked(cx.now);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        if self.over {
            return None;
        }
        [self.engine.deadline(), self.next_look()].into_iter().flatten().min()
    }

    fn tick(&mut self, cx: &mut Cx<'_>) {
        if !self.over {
            self.engine.tick(cx);
            self.look_at_clock(cx.now);
        }
    }

    fn request(&mut self) -> Option<Request<'_>> {
        self.engine.request()
    }

    fn reply(&mut self, cx: &mut Cx<'_>, reply: Reply<'_>) {
        self.engine.reply(cx, reply);
    }

    fn event(&mut self) -> Option<Event<'_>> {
        let looks = self.looks();
        if looks && self.engine.wants().contains(Wants::USER) {
            // Where a file has begun or something was agreed on, the peer is the right one.
            let heard = self.engine.stats().packets_in > 0;
            let event = self.engine.event();
            let agreed =
                heard && matches!(event, Some(Event::Negotiated(_) | Event::FileStarted { .. }));
            if agreed {
                self.finding.0.settled.set(true);
            }
            return event;
        }
        self.engine.event()
    }

    fn command(&mut self, cx: &mut Cx<'_>, command: Command) {
        self.saying = None;
        self.engine.command(cx, command);
    }

    fn wants(&self) -> Wants {
        let wants = self.engine.wants();
        wants.with(Wants::OUTPUT, self.saying.is_some() && !self.over)
    }

    fn status(&self) -> Status {
        let status = self.engine.status();
        match status.outcome() {
            None if self.over => Status::Over(WRONG_PEER),
            Some(Outcome::Failed(failure)) if self.explains(failure) => Status::Over(WRONG_PEER),
            _ => status,
        }
    }

    fn stats(&self) -> &Stats {
        self.engine.stats()
    }

    fn learned(&self) -> Learned {
        self.engine.learned()
    }

    fn if_closed(&self) -> Option<Outcome> {
        if self.over || self.explains(CLOSED) {
            return Some(WRONG_PEER);
        }
        self.engine.if_closed()
    }
}
