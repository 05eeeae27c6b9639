//! What sender and receiver have in common: the connection's ports and timers, short packets, how it
//! ends and events for the user.

use super::config::Config;
use super::packet::{BadPacket, Body, Packet, Ports};
use crate::engine::{Blame, Cx, Failure, FailureKind, Outcome, Status};
use crate::file::StoreError;
use crate::session::{Ending, EventQueue, EventTexts, QueuedEvent, Text, Timer, Timers, WaitTrace};
use crate::stats::Stats;
use crate::time::{Duration, Instant};
use crate::trace::{Load, TraceEvent, Wait};

/// The receiver's store error, for the user at the peer.
pub(crate) const fn store_words(error: StoreError) -> &'static [u8] {
    match error {
        StoreError::NoSpace => b"the receiver has no space left",
        StoreError::Permission => b"the receiver may not write the file",
        _ => b"the receiver's store failed",
    }
}

/// A short packet that waits to leave. Those that come first leave first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ShortPacket {
    Abort,
    Refused,
    QuitAck,
    Done,
    Response,
    Open,
    Quit,
    NullAck,
    KeepAlive,
}

/// The order in which they leave.
pub(crate) const SHORTS: [ShortPacket; 9] = [
    ShortPacket::Abort,
    ShortPacket::Refused,
    ShortPacket::QuitAck,
    ShortPacket::Done,
    ShortPacket::Response,
    ShortPacket::Open,
    ShortPacket::Quit,
    ShortPacket::NullAck,
    ShortPacket::KeepAlive,
];

/// Answers, which are sent regardless of the state of the connection.
const REPLIES: u16 = 1 << ShortPacket::Refused as u16
    | 1 << ShortPacket::QuitAck as u16
    | 1 << ShortPacket::Done as u16;

/// The values of the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Agreed {
    pub(crate) buffer: u32,
    pub(crate) packet: u16,
    pub(crate) outstanding: u16,
    pub(crate) checksum: bool,
    /// Packets and milliseconds.
    pub(crate) burst: (u16, u16),
}

impl Agreed {
    /// Packets of a full buffer.
    pub(crate) fn packets(&self) -> u32 {
        self.buffer.div_ceil(u32::from(self.packet.max(1)))
    }
}

/// The common part of both engines.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) config: Config,
    pub(crate) stats: Stats,
    pub(crate) notes: EventQueue,
    message: Text<96>,
    pub(crate) agreement: Text<96>,
    pub(crate) timers: Timers,
    pub(crate) ending: Ending,
    /// Ports of the connection.
    pub(crate) ports: Ports,
    /// Its unique ID.
    pub(crate) id: u32,
    /// Connections that have been opened, so that each gets its own port and ID.
    pub(crate) opened: u16,
    pub(crate) agreed: Agreed,
    /// Short packets that wait, one bit for each.
    shorts: u16,
    /// Where REFUSED and QUITACK go.
    pub(crate) reply_ports: Ports,
    /// Why it is REFUSED.
    pub(crate) refusal: Text<96>,
    /// Reason of the next QUIT or ABORT.
    pub(crate) reason: Text<96>,
    /// Bytes of the packet that is lent, and its type in the trace.
    pub(crate) lent: usize,
    pub(crate) lent_letter: char,
    /// When the last packet came, and when progress was last made.
    pub(crate) heard: Option<Instant>,
    pub(crate) progress: Instant,
    /// When the last packet other than a keepalive came.
    worked: Instant,
    /// When something was sent last.
    pub(crate) spoke: Instant,
    /// Seconds of silence after which the peer considers us dead.
    pub(crate) peer_death_s: u16,
    /// The interval of OPEN and QUIT, which [`Timer::Repeat`] has, and how often it may still run out.
    again_every: Duration,
    pub(crate) tries: u8,
    pub(crate) waits: WaitTrace,
    /// The peer's QUIT has ended it: our QUITACK may be lost, and the QUIT come again.
    pub(crate) quit: bool,
    /// Foreign ports and IDs of the last connections: a copy of their OPEN that was long in flight
    /// opens nothing.
    recent: [(u16, u32); RECENT],
}

/// How many connections are remembered.
const RECENT: usize = 16;
/// Least wait for a peer whose client is not ready and that sends only keepalives.
const IDLE: Duration = Duration::from_secs(240);
/// A QUIT whose QUITACK was lost comes again within this. RFC 998 has no value ("dally").
const DALLY: Duration = Duration::from_secs(3);

impl Link {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            stats: Stats::default(),
            notes: EventQueue::new(),
            timers: Timers::default(),
            message: Text::new(),
            agreement: Text::new(),
            ending: Ending::No,
            ports: Ports::default(),
            id: 0,
            opened: 0,
            agreed: Agreed::default(),
            shorts: 0,
            reply_ports: Ports::default(),
            refusal: Text::new(),
            reason: Text::new(),
            lent: 0,
            lent_letter: ' ',
            heard: None,
            progress: Instant::ZERO,
            worked: Instant::ZERO,
            spoke: Instant::ZERO,
            peer_death_s: 0,
            again_every: Duration::ZERO,
            tries: 0,
            waits: WaitTrace::default(),
            quit: false,
            recent: [(0, 0); RECENT],
            config,
        }
    }

    // ---- the user ----

    /// Tells a text.
    pub(crate) fn tell(&mut self, text: &[u8]) {
        self.message.set(text);
        self.notes.push(QueuedEvent::Message);
    }

    /// The texts that queued events refer to.
    pub(crate) fn event_texts(&self) -> EventTexts<'_> {
        let (agreement, message) = (self.agreement.as_str(), self.message.as_bytes());
        EventTexts { agreement, message, ..EventTexts::default() }
    }

    // ---- short packets ----

    pub(crate) fn say(&mut self, short: ShortPacket) {
        // A RESPONSE that has not left yet answers this OPEN too.
        let waits = short == ShortPacket::Response && self.lent > 0 && self.lent_letter == 'R';
        self.shorts |= u16::from(!waits) << short as u16;
    }

    pub(crate) fn unsay(&mut self, short: ShortPacket) {
        self.shorts &= !(1 << short as u16);
    }

    pub(crate) fn says(&self, short: ShortPacket) -> bool {
        self.shorts & 1 << short as u16 != 0
    }

    /// The short packet that leaves next, if one waits.
    pub(crate) fn next_short(&self) -> Option<ShortPacket> {
        SHORTS.into_iter().find(|short| self.says(*short))
    }

    /// Refuses or ends something that is not this connection.
    pub(crate) fn reply(&mut self, short: ShortPacket, to: Ports, reason: &[u8]) {
        self.reply_ports = Ports { local: to.foreign, foreign: to.local };
        self.refusal.set(reason);
        self.say(short);
    }

    /// Writes a packet to be lent.
    pub(crate) fn put(&mut self, out: &mut [u8], packet: &Packet<'_>) {
        self.lent = packet.put(out).unwrap_or(0);
        self.lent_letter = packet.letter();
    }

    /// The port took the packet that was lent.
    pub(crate) fn left(&mut self, cx: &mut Cx<'_>, number: u64, load: Load, again: bool) {
        self.stats.wire_out_bytes += self.lent as u64;
        self.stats.packets_out += 1;
        self.stats.longest_packet_bytes = self.stats.longest_packet_bytes.max(self.lent as u64);
        if cx.trace.enabled() {
            let (kind, len) = (self.lent_letter, self.lent);
            let load = Load { at: self.stats.wire_out_bytes - len as u64, ..load };
            let again = u32::from(again);
            cx.trace.record(cx.now, &TraceEvent::Sent { kind, number, len, again, load });
        }
        self.spoke = cx.now;
        self.lent = 0;
    }

    // ---- input ----

    /// Reads a datagram, counts and traces it.
    pub(crate) fn read<'p>(&mut self, cx: &mut Cx<'_>, bytes: &'p [u8]) -> Option<Packet<'p>> {
        self.stats.wire_in_bytes += bytes.len() as u64;
        match Packet::parse(bytes) {
            Ok(packet) => {
                self.stats.packets_in += 1;
                if cx.trace.enabled() {
                    let number = match packet.body {
                        Body::Data(data) => u64::from(data.buffer) << 16 | u64::from(data.packet),
                        _ => 0,
                    };
                    let data = match packet.body {
                        Body::Data(data) => data.bytes.len(),
                        _ => 0,
                    };
                    let (kind, len) = (packet.letter(), bytes.len());
                    let at = self.stats.wire_in_bytes;
                    cx.trace.record(cx.now, &TraceEvent::Got { kind, number, len, data, at });
                }
                Some(packet)
            }
            Err(bad) => {
                self.damaged(cx, bad, bytes.len());
                None
            }
        }
    }

    /// A packet that cannot be used.
    pub(crate) fn damaged(&mut self, cx: &mut Cx<'_>, why: BadPacket, len: usize) {
        self.stats.damaged += 1;
        if cx.trace.enabled() {
            cx.trace.record(cx.now, &TraceEvent::Damaged { why: why.as_str(), len });
        }
    }

    /// The peer is alive: a packet of the connection has come.
    pub(crate) fn lives(&mut self, now: Instant, said: &Body<'_>) {
        self.heard = Some(now);
        if !matches!(said, Body::KeepAlive | Body::NullAck { .. }) {
            self.worked = now;
        }
    }

    /// Whether a packet belongs to the connection.
    pub(crate) fn is_ours(&self, ports: Ports) -> bool {
        self.is_open() && ports.local == self.ports.foreign && ports.foreign == self.ports.local
    }

    pub(crate) fn is_open(&self) -> bool {
        self.ports != Ports::default()
    }

    // ---- timers ----

    pub(crate) fn open_timeout(&self) -> Duration {
        self.config.open_timeout.get().max(Duration::from_millis(10))
    }

    fn death(&self) -> Duration {
        self.config.death.get().max(Duration::from_secs(1))
    }

    /// When the silence has been long enough, or nothing has continued for much longer.
    pub(crate) fn death_at(&self) -> Option<Instant> {
        let heard = self.heard?;
        let (death, worked) = (self.death(), self.worked > self.progress + self.death());
        let most = if worked { death * 4 } else { (death * 4).max(IDLE) };
        Some((heard + death).min(self.progress + most))
    }

    /// When the peer must hear from us.
    pub(crate) fn keepalive_at(&self) -> Option<Instant> {
        let quarter = Duration::from_millis(u64::from(self.peer_death_s) * 250);
        (self.heard.is_some() && self.is_open() && self.peer_death_s > 0)
            .then(|| self.spoke + quarter)
    }

    /// Begins to repeat an OPEN or a QUIT.
    pub(crate) fn repeat(&mut self, now: Instant, short: ShortPacket, every: Duration) {
        self.say(short);
        self.timers.set(Timer::Repeat, now + every);
        self.again_every = every;
        self.tries = self.config.open_tries.max(1);
        // The first ones follow quickly where the path is known, and sooner than the others where the rate is found:
        // they do not count.
        let quick = match every {
            every if every * 4 == self.open_timeout() => 1,
            every if every < self.open_timeout() / 2 => 4,
            _ => 0,
        };
        self.tries = self.tries.saturating_add(quick);
    }

    /// The next retransmission: with growing intervals, up to the configured one.
    pub(crate) fn repeat_again(&mut self, now: Instant) {
        self.again_every = (self.again_every * 2).min(self.open_timeout());
        self.timers.set(Timer::Repeat, now + self.again_every);
    }

    /// The next port and unique ID of an active end.
    pub(crate) fn next_connection(&mut self) {
        // Zero is no port.
        let local = self.config.local_port.wrapping_add(self.opened).max(1);
        self.id = self.config.id.wrapping_add(u32::from(self.opened));
        self.ports = Ports { local, foreign: self.config.foreign_port };
        self.opened = self.opened.wrapping_add(1);
        self.heard = None;
    }

    /// Whether an OPEN from this port with this ID opened a connection before; if not, it does now.
    pub(crate) fn is_repeated(&mut self, port: u16, id: u32) -> bool {
        if self.recent.contains(&(port, id)) {
            return true;
        }
        self.recent.rotate_right(1);
        self.recent[0] = (port, id);
        false
    }

    // ---- the end ----

    /// Fixes the outcome, if it is not yet.
    pub(crate) fn end(&mut self, cx: &mut Cx<'_>, outcome: Outcome) -> bool {
        if !self.ending.fix(outcome) {
            return false;
        }
        if let (Outcome::Failed(failure), true) = (outcome, cx.trace.enabled()) {
            let to = match failure.blame {
                Blame::Peer => "failed-peer",
                Blame::Line => "failed-line",
                Blame::Store => "failed-store",
                Blame::Local => "failed-local",
            };
            cx.trace.record(cx.now, &TraceEvent::State { from: "running", to, input: "Failed" });
        }
        self.timers.stop(Timer::Repeat);
        true
    }

    /// Fails, and sends the reason to the peer if that makes sense.
    pub(crate) fn fail(&mut self, cx: &mut Cx<'_>, blame: Blame, kind: FailureKind, say: &[u8]) {
        if !self.end(cx, Outcome::Failed(Failure { blame, kind })) {
            return;
        }
        // Pending answers are still sent: an unanswered QUIT is retransmitted.
        self.shorts &= REPLIES;
        // A peer whose packets no longer get through may still receive ours; one that never answered is absent.
        let there = kind != FailureKind::Silence || self.heard.is_some();
        if self.is_open() && blame != Blame::Peer && there {
            self.reason.set(say);
            self.say(ShortPacket::Abort);
        }
    }

    /// The peer's QUIT is answered, as often as it comes. Each may be followed by another.
    pub(crate) fn quit_came(&mut self, now: Instant, ports: Ports) {
        self.quit = true;
        if let Ending::Linger { .. } = self.ending {
            let until = self.timers.get(Timer::Linger).map_or(now, |until| until.max(now + DALLY));
            self.timers.set(Timer::Linger, until);
        }
        self.reply(ShortPacket::QuitAck, ports, b"");
    }

    /// Whether it has failed: only a QUIT is still answered.
    pub(crate) fn has_failed(&self) -> bool {
        matches!(
            self.ending,
            Ending::LastPackets(Outcome::Failed(_))
                | Ending::Linger { outcome: Outcome::Failed(_), .. }
                | Ending::Over(Outcome::Failed(_))
        )
    }

    /// How it ends once everything is sent: one whose QUIT was answered may not have received that
    /// (RFC 998 "dallying").
    pub(crate) fn after_words(&mut self, now: Instant, outcome: Outcome) {
        match outcome {
            Outcome::Failed(Failure { blame: Blame::Peer, .. }) if self.quit => {
                self.linger(now, outcome, DALLY);
            }
            _ => self.ending = Ending::Over(outcome),
        }
    }

    /// All is sent; the peer may have missed it, and is answered for this long.
    pub(crate) fn linger(&mut self, now: Instant, outcome: Outcome, stay: Duration) {
        self.ending.linger(&mut self.timers, now, outcome, stay);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.ending.is_over()
    }

    pub(crate) fn is_running(&self) -> bool {
        self.ending.is_running()
    }

    pub(crate) fn status(&self) -> Status {
        match self.ending {
            // All files are complete at both ends: the rest is optional.
            Ending::LastPackets(Outcome::Done) => Status::Lingering(Outcome::Done),
            ending => ending.status(),
        }
    }

    /// Records what is awaited.
    pub(crate) fn waiting(&mut self, cx: &mut Cx<'_>, wait: Wait) {
        self.waits = self.waits.note(cx, || wait);
    }

    /// Traces a value that changed.
    pub(crate) fn value(cx: &mut Cx<'_>, name: &'static str, value: u64) {
        if cx.trace.enabled() {
            cx.trace.record(cx.now, &TraceEvent::Value { name, value });
        }
    }
}
