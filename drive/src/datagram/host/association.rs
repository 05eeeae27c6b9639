//! One peer: its engine, its session, and its pending output.

use super::super::endpoint::{Endpoint, Sent};
use super::super::limits::Bucket;
use super::super::outbox::Outbox;
use super::super::plain::{self, Fit, Unproved};
use super::returning::{self, Stand, Subject};
use super::sealed::{Put, Received, Sealed};
use super::{HostOptions, Peer, SessionHandler, SessionParts};
use crate::event::Source;
use crate::run::Ended;
use std::io;
use std::ops::Range;
use std::time::Duration;
use wetstring_proto::engine::{
    Blame, Command, Cx, Event, Failure, FailureKind, Outcome, Status, Wants,
};
use wetstring_proto::file::Request;
use wetstring_proto::time::Instant;
use wetstring_proto::trace::Trace;

/// Requests answered before the rest of the loop runs.
const REQUEST_TURN: usize = 256;
/// Bytes sent before other peers are served.
const SEND_TURN: usize = 512 * 1024;
/// How often an engine whose packet is withheld is checked for a timeout.
const WITHHELD: Duration = Duration::from_millis(100);
/// Maximum ICMP refusals before we believe them.
const REFUSALS: u32 = 3;
/// Maximum datagrams that are too long within [`TOO_LONG_FOR`].
const TOO_LONG: u32 = 8;
const TOO_LONG_FOR: Duration = Duration::from_secs(2);

const fn failed(blame: Blame, kind: FailureKind) -> Outcome {
    Outcome::Failed(Failure { blame, kind })
}

/// The outcome for a peer that has proved nothing.
pub(super) const SILENCE: Outcome = failed(Blame::Line, FailureKind::Silence);

/// How the packets travel.
pub(super) enum Wire {
    /// Plain.
    Plain {
        /// Proof state of the address; `None` once proved.
        unproved: Option<Unproved>,
        /// The NETBLT port that we last sent from. A raw socket receives its own packets; those from this port
        /// are ours.
        echo: Option<u16>,
    },
    /// Nothing more is sent.
    Mute,
    /// Sealed.
    Sealed(Box<Sealed>),
}

/// One peer.
pub(super) struct Association<'a> {
    pub(super) peer: Peer,
    pub(super) wire: Wire,
    handler: Box<dyn SessionHandler + 'a>,
    outbox: Outbox,
    pub(super) subject: Subject,
    /// The socket is full.
    pub(super) blocked: bool,
    /// The engine's packet may not leave before more has been received.
    withheld: bool,
    began: Instant,
    heard: Instant,
    bucket: Option<Bucket>,
    next_progress: Instant,
    abort_by: Option<Instant>,
    refusals: u32,
    /// Number of datagrams that were too long, and since when.
    too_long: (u32, Instant),
    broken: Option<Outcome>,
    error: Option<io::Error>,
    interrupted: Option<i32>,
}

/// What an association borrows for a turn.
pub(super) struct Turn<'t> {
    pub(super) now: Instant,
    pub(super) endpoint: &'t Endpoint,
    pub(super) trace: &'t mut dyn Trace,
}

impl<'a> Association<'a> {
    pub(super) fn new(
        peer: Peer,
        wire: Wire,
        handler: Box<dyn SessionHandler + 'a>,
        now: Instant,
        options: &HostOptions<'_>,
    ) -> Self {
        // At most a quarter of a second at once, and a minimum in any case.
        let bucket = options
            .limits
            .bytes_per_s
            .map(|rate| Bucket::new(rate, (rate / 4).max(256 * 1024), now));
        Self {
            peer,
            wire,
            handler,
            outbox: Outbox::new(),
            subject: Subject::default(),
            blocked: false,
            withheld: false,
            began: now,
            heard: now,
            bucket,
            next_progress: now + options.progress_every,
            abort_by: None,
            refusals: 0,
            too_long: (0, now),
            broken: None,
            error: None,
            interrupted: None,
        }
    }

    /// Whether its address is not proved.
    pub(super) fn is_unproved(&self) -> bool {
        matches!(self.wire, Wire::Plain { unproved: Some(_), .. })
    }

    /// Whether the user is told about it: not for an unauthenticated peer.
    fn is_shown(&self) -> bool {
        !self.is_unproved() && !matches!(self.wire, Wire::Mute)
    }

    /// When it is dropped unless it proves its address.
    fn forgotten_at(&self, idle: Duration) -> Option<Instant> {
        let Wire::Plain { unproved: Some(unproved), .. } = &self.wire else { return None };
        Some(self.heard + unproved.patience(idle))
    }

    /// A sealed datagram was received. Returns where in `open` its packets for the engine are, if any, and
    /// whether they are a bundle.
    pub(super) fn hear_sealed(
        &mut self,
        now: Instant,
        nonce: u64,
        sealed: &[u8],
        open: &mut [u8],
    ) -> Option<(Range<usize>, bool)> {
        if !self.may_take(now, sealed.len()) {
            return None;
        }
        let Wire::Sealed(ours) = &mut self.wire else { return None };
        match ours.open(now, nonce, sealed, open) {
            Received::Nothing => return None,
            Received::Closed(why) => self.closed_by_peer(&why),
            Received::Control => {
                self.heard = now;
                self.refusals = 0;
            }
            Received::Packets(packets, several) => {
                self.heard = now;
                self.refusals = 0;
                return Some((packets, several));
            }
        }
        None
    }

    /// How to treat an OPEN for `file` from the same peer in another session.
    pub(super) fn judge(&mut self, now: Instant, file: &[u8], waits: Option<Instant>) -> Stand {
        let running = self.handler.parts().engine.status() == Status::Running;
        if running && self.subject.is(file) {
            returning::judge(now, self.heard, waits)
        } else {
            Stand::Beside
        }
    }

    /// A plain packet was received.
    pub(super) fn hear_plain(&mut self, turn: &mut Turn<'_>, packet: &[u8]) {
        if !self.may_take(turn.now, packet.len()) {
            return;
        }
        let Wire::Plain { unproved, echo } = &mut self.wire else { return };
        if turn.endpoint.hears_itself(self.peer.address) && *echo == Some(plain::local_port(packet))
        {
            return;
        }
        if unproved.as_mut().is_some_and(|unproved| unproved.heard(packet)) {
            *unproved = None;
            self.handler.proved();
        }
        self.packet(turn, packet);
    }

    fn may_take(&mut self, now: Instant, len: usize) -> bool {
        self.bucket.as_mut().is_none_or(|bucket| bucket.take(len as u64, now))
    }

    /// Gives a packet to the engine. What it does not accept is lost, as on any network.
    pub(super) fn packet(&mut self, turn: &mut Turn<'_>, packet: &[u8]) {
        self.heard = turn.now;
        self.refusals = 0;
        self.subject.opens(packet);
        for _ in 0..2 {
            let mut cx = Cx { now: turn.now, trace: &mut *turn.trace };
            let taken = self.handler.parts().engine.receive(&mut cx, packet);
            let answered = self.answer(turn);
            if taken > 0 || !answered {
                return;
            }
        }
    }

    fn closed_by_peer(&mut self, why: &str) {
        let SessionParts { engine, watch, .. } = self.handler.parts();
        let outcome = match engine.status().outcome() {
            Some(outcome) => outcome,
            None if why.is_empty() => failed(Blame::Peer, FailureKind::Closed),
            None => {
                watch.event(&Event::Message(why.as_bytes()), engine.stats());
                failed(Blame::Peer, FailureKind::PeerError)
            }
        };
        self.broken.get_or_insert(outcome);
    }

    /// The other host reports that nothing listens there.
    pub(super) fn refused(&mut self) {
        self.refusals += 1;
    }

    /// Everything received has been read. If the peer told us why it ends and then closed its socket, its
    /// message comes before the refusals, which the system reports first.
    pub(super) fn heard_all(&mut self) {
        if self.refusals >= REFUSALS {
            let error = io::Error::from(io::ErrorKind::ConnectionRefused);
            self.broke(failed(Blame::Line, FailureKind::Closed), error);
        }
    }

    /// The interface, or a router, does not take datagrams of this length. The first reports may be about a
    /// datagram that was sent before the length was agreed.
    pub(super) fn too_long(&mut self, now: Instant) {
        if let Wire::Sealed(sealed) = &mut self.wire
            && sealed.too_long(now)
        {
            return;
        }
        if now.since(self.too_long.1) > TOO_LONG_FOR {
            self.too_long = (0, now);
        }
        self.too_long.0 += 1;
        if self.too_long.0 >= TOO_LONG {
            let len = self.peer.packet_max;
            let say = format!("the path no longer takes packets of {len} bytes");
            self.broke(failed(Blame::Line, FailureKind::Closed), io::Error::other(say));
        }
    }

    fn broke(&mut self, outcome: Outcome, error: io::Error) {
        // Once the outcome is fixed the peer may have gone.
        let fixed = self.handler.parts().engine.status().outcome();
        self.broken.get_or_insert(fixed.unwrap_or(outcome));
        self.error.get_or_insert(error);
    }

    /// One round of all work; returns whether anything moved.
    pub(super) fn turn(&mut self, turn: &mut Turn<'_>, options: (Duration, Duration)) -> bool {
        let mut moved = self.exchange(turn);
        if let Wire::Sealed(sealed) = &mut self.wire {
            moved |= sealed.speak(turn.now, turn.endpoint, self.peer.address);
        }
        let SessionParts { engine, .. } = self.handler.parts();
        let before = engine.deadline();
        if before.is_some_and(|deadline| deadline <= turn.now) {
            engine.tick(&mut Cx { now: turn.now, trace: &mut *turn.trace });
            moved |= engine.deadline() != before;
        }
        moved | self.events() | self.user_commands(turn, options)
    }

    /// Requests and output, until there are none.
    fn exchange(&mut self, turn: &mut Turn<'_>) -> bool {
        let (mut moved, mut sent) = (false, 0);
        loop {
            moved |= self.answer(turn);
            if self.blocked && !self.flush(turn) {
                return moved;
            }
            let mut cx = Cx { now: turn.now, trace: &mut *turn.trace };
            let packet = self.handler.parts().engine.transmit(&mut cx);
            let len = packet.len();
            self.withheld = len > 0 && self.wire.fit(packet) == Fit::Not;
            if len == 0 || self.withheld {
                match self.put(turn, None) {
                    Some(false) if self.flush(turn) => continue,
                    Some(false) => return moved,
                    _ => {}
                }
                self.flush(turn);
                return self.answer(turn) || moved;
            }
            match self.put(turn, Some(len)) {
                Some(true) => {}
                Some(false) if self.flush(turn) => continue,
                _ => return moved,
            }
            let mut cx = Cx { now: turn.now, trace: &mut *turn.trace };
            self.handler.parts().engine.transmitted(&mut cx, len);
            moved = true;
            sent += len;
            if sent >= SEND_TURN {
                self.put(turn, None);
                self.flush(turn);
                return true;
            }
        }
    }

    /// Puts the engine's packet into the outbox or, without one, the packets waiting to be bundled. False if
    /// the outbox must be flushed first; `None` at the end of the session.
    fn put(&mut self, turn: &mut Turn<'_>, len: Option<usize>) -> Option<bool> {
        let way = (turn.endpoint, self.peer.address);
        let put = match (&mut self.wire, len) {
            (Wire::Plain { .. } | Wire::Mute, None) => Put::Done,
            (Wire::Sealed(sealed), None) => {
                sealed.close_bundle(turn.now, &mut self.outbox, turn.endpoint)
            }
            (wire, Some(_)) => {
                // The engine lends the same packet until it is acknowledged.
                let packet = self.handler.parts().engine.transmit(&mut cx_of(turn));
                match wire {
                    Wire::Sealed(sealed) => {
                        sealed.put_finish(turn.now, way.0, way.1);
                        sealed.put(turn.now, packet, &mut self.outbox, way)
                    }
                    plain => {
                        let part = match plain.fit(packet) {
                            Fit::Part(part) => Some(part),
                            Fit::Drop => return Some(true),
                            Fit::Whole | Fit::Not => None,
                        };
                        let packet = part.as_deref().unwrap_or(packet);
                        match self.outbox.room(packet.len(), turn.endpoint.segments()) {
                            Some(room) => {
                                plain.put_plain(packet, room);
                                self.outbox.put(packet.len());
                                Put::Done
                            }
                            None => Put::Full,
                        }
                    }
                }
            }
        };
        match put {
            Put::Done => Some(true),
            Put::Full => Some(false),
            Put::Spent => {
                let say = "the keys of this session have reached their limit";
                self.broke(failed(Blame::Local, FailureKind::Closed), io::Error::other(say));
                None
            }
        }
    }

    /// Flushes the outbox; false if the socket is full.
    fn flush(&mut self, turn: &Turn<'_>) -> bool {
        if self.outbox.is_empty() {
            self.blocked = false;
            return true;
        }
        match self.outbox.flush(turn.endpoint, self.peer.address) {
            Ok(Sent::Gone) => {}
            Ok(Sent::Full) => {
                self.blocked = true;
                return false;
            }
            Ok(Sent::Refused) => self.refused(),
            Ok(Sent::TooLong) => self.too_long(turn.now),
            // A network that is down briefly loses datagrams; timers recover.
            Err(error) => self.error = Some(error),
        }
        self.blocked = false;
        true
    }

    fn answer(&mut self, turn: &mut Turn<'_>) -> bool {
        for answered in 0..REQUEST_TURN {
            if self.handler.parts().engine.wants().contains(Wants::USER) {
                // The next file's name would replace the one that these events are about.
                self.events();
            }
            let SessionParts { engine, store, .. } = self.handler.parts();
            let Some(request) = engine.request() else { return answered > 0 };
            let reply = store.answer(request);
            engine.reply(&mut Cx { now: turn.now, trace: &mut *turn.trace }, reply);
        }
        true
    }

    fn events(&mut self) -> bool {
        if !self.is_shown() {
            return false;
        }
        let SessionParts { engine, watch, .. } = self.handler.parts();
        let mut moved = false;
        loop {
            let stats = *engine.stats();
            let Some(event) = engine.event() else { return moved };
            watch.event(&event, &stats);
            moved = true;
        }
    }

    fn user_commands(&mut self, turn: &mut Turn<'_>, (every, grace): (Duration, Duration)) -> bool {
        if turn.now < self.next_progress {
            return false;
        }
        self.next_progress = turn.now + every;
        if self.is_shown() {
            let SessionParts { engine, watch, .. } = self.handler.parts();
            watch.progress(engine.stats());
        }
        self.ask_person(turn, grace)
    }

    /// Executes the user's command, if any.
    pub(super) fn ask_person(&mut self, turn: &mut Turn<'_>, grace: Duration) -> bool {
        let Some(command) = self.handler.parts().watch.command() else { return false };
        self.command(turn, command, grace);
        true
    }

    /// A signal aborts it cleanly.
    pub(super) fn interrupt(&mut self, turn: &mut Turn<'_>, signal: i32, grace: Duration) {
        self.interrupted = Some(signal);
        self.command(turn, Command::Abort, grace);
    }

    fn command(&mut self, turn: &mut Turn<'_>, command: Command, grace: Duration) {
        if command == Command::Abort {
            self.abort_by.get_or_insert(turn.now + grace);
        }
        let mut cx = Cx { now: turn.now, trace: &mut *turn.trace };
        self.handler.parts().engine.command(&mut cx, command);
    }

    /// The outcome, if it has ended.
    pub(super) fn outcome(&mut self, now: Instant, idle: Duration) -> Option<Outcome> {
        let status = self.handler.parts().engine.status();
        if let Status::Over(outcome) = status {
            let waits = matches!(&self.wire, Wire::Sealed(sealed) if !sealed.is_empty());
            let left = self.outbox.is_empty() && !waits;
            return (left || self.broken.is_some()).then_some(outcome);
        }
        if self.broken.is_some() {
            return self.broken;
        }
        let late =
            |since: Option<Instant>, wait: Duration| since.is_some_and(|at| now >= at + wait);
        if late(self.abort_by, Duration::ZERO) {
            return Some(status.outcome().unwrap_or(failed(Blame::Local, FailureKind::Aborted)));
        }
        if late(self.forgotten_at(idle), Duration::ZERO) || late(Some(self.heard), idle) {
            return Some(status.outcome().unwrap_or(failed(Blame::Line, FailureKind::Silence)));
        }
        None
    }

    /// When it needs a turn again.
    pub(super) fn deadline(&mut self, now: Instant, idle: Duration) -> Instant {
        let engine = self.handler.parts().engine.deadline();
        // The deadline of a withheld packet may be long past; it waits for the peer.
        let soonest = if self.withheld { now + WITHHELD } else { Instant::ZERO };
        let engine = engine.map(|at| at.max(soonest));
        let unproved = self.forgotten_at(idle);
        let session = match &self.wire {
            Wire::Sealed(sealed) => sealed.deadline(),
            Wire::Plain { .. } | Wire::Mute => None,
        };
        [engine, self.abort_by, Some(self.heard + idle), unproved, session]
            .into_iter()
            .flatten()
            .fold(self.next_progress, Instant::min)
    }

    /// Readable when the user has a command.
    pub(super) fn wake(&self) -> Option<Source<'_>> {
        self.handler.wake()
    }

    /// Shuts down engine and store cleanly, and tells the peer.
    pub(super) fn settle(mut self, turn: &mut Turn<'_>, outcome: Outcome) {
        if let Wire::Plain { unproved: Some(unproved), .. } = &self.wire {
            // The peer may be waiting for us.
            if let Some(word) = unproved.aborted().filter(|_| outcome == SILENCE) {
                let _ = turn.endpoint.send(self.peer.address, &word, word.len());
            }
            self.wire = Wire::Mute;
            self.leave(turn, outcome);
            return self.handler.gave_up();
        }
        self.leave(turn, outcome);
        let stats = *self.handler.parts().engine.stats();
        self.handler.over(&Ended {
            outcome,
            stats,
            leftover: Vec::new(),
            elapsed: turn.now.since(self.began),
            interrupted: self.interrupted,
            error: self.error,
        });
    }

    /// The same peer continues in another session. The received data is kept for it.
    pub(super) fn make_room(mut self, turn: &mut Turn<'_>) {
        self.leave(turn, SILENCE);
        self.handler.came_back();
    }

    fn leave(&mut self, turn: &mut Turn<'_>, outcome: Outcome) {
        if self.handler.parts().engine.status() == Status::Running {
            let mut cx = Cx { now: turn.now, trace: &mut *turn.trace };
            self.handler.parts().engine.command(&mut cx, Command::Abort);
            self.exchange(turn);
        }
        self.answer(turn);
        if outcome != Outcome::Done {
            // The engine did not close it, or believes it did. Closing twice is harmless.
            let close = Request::Close { complete: false, verified: false };
            let _ = self.handler.parts().store.answer(close);
        }
        self.events();
        if let Wire::Sealed(sealed) = &mut self.wire
            && let Some(word) = sealed.session.close("")
        {
            let _ = turn.endpoint.send(self.peer.address, &word, word.len());
        }
    }
}

/// The context of a turn.
fn cx_of<'c>(turn: &'c mut Turn<'_>) -> Cx<'c> {
    Cx { now: turn.now, trace: &mut *turn.trace }
}

impl Wire {
    /// The part of a packet that may be sent to an unproved address.
    fn fit(&self, packet: &[u8]) -> Fit {
        match self {
            Self::Plain { unproved: Some(unproved), .. } => unproved.fit(packet),
            Self::Mute => Fit::Not,
            _ => Fit::Whole,
        }
    }

    /// Appends a packet unsealed.
    fn put_plain(&mut self, packet: &[u8], room: &mut [u8]) {
        let Self::Plain { unproved, echo } = self else { return };
        *echo = Some(plain::local_port(packet));
        if let Some(unproved) = unproved {
            unproved.said(packet);
        }
        room.copy_from_slice(packet);
    }
}
