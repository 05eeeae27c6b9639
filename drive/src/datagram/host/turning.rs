//! The loop over all peers of a socket.

use super::super::bundle;
use super::super::endpoint::{Endpoint, IcmpError, Inbox};
use super::super::limits::Bucket;
use super::super::plain::{self, Openers, Unproved};
use super::super::secure::{Credentials, Frame, Gate, GateOutput, Proved, RefusalReason};
use super::association::{Association, Turn, Wire};
use super::returning::{self, Stand};
use super::sealed::Sealed;
use super::{Acceptor, HostOptions, ListenStats, Peer};
use crate::event::{self, Interest};
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;
use wetstring_proto::time::Instant;

/// Batches read before the engines run.
const BATCHES: usize = 4;
/// Bytes of the longest packet.
const PACKET: usize = 65_536;
/// A deadline in the past must not make the loop spin.
const SHORTEST_WAIT: Duration = Duration::from_micros(50);
/// Allowed lateness of the system's timers, in nanoseconds: the precision of pacing.
const SLACK_NS: u64 = 1000;

/// Plain OPENs per second that get an engine and a file before anything is proved.
const PLAIN_PER_S: u64 = 32;

/// How often the user is told about a refused peer.
const TELL_EVERY: Duration = Duration::from_secs(1);

const TOO_MANY: &str = "the listener has as many sessions as it allows";

/// State of a listener.
struct Listening {
    /// `None` where everything is plain.
    gate: Option<Gate>,
}

/// All peers of a socket.
pub(super) struct Turning<'a, 'o> {
    endpoint: Rc<Endpoint>,
    /// Taken only while it is read into.
    inbox: Option<Inbox>,
    options: HostOptions<'o>,
    /// `None` for a dialer: no one else is admitted.
    door: Option<Listening>,
    peers: Vec<Association<'a>>,
    stats: ListenStats,
    /// Buffer for an opened packet.
    open: Vec<u8>,
    /// Answers to peers that are not admitted yet.
    answers: VecDeque<(SocketAddr, Vec<u8>)>,
    now: Instant,
    signals_seen: usize,
    slack: Option<NonZeroU64>,
    /// When the user was last told about a refused peer.
    told: Option<Instant>,
    /// Rate limit for engines of unproved peers.
    plain: Bucket,
    openers: Openers,
}

impl<'a, 'o> Turning<'a, 'o> {
    pub(super) fn new(endpoint: Endpoint, options: HostOptions<'o>) -> Self {
        let now = options.clock.now();
        let slack = crate::os::process::timer_slack(NonZeroU64::new(SLACK_NS));
        Self {
            endpoint: Rc::new(endpoint),
            inbox: Some(Inbox::new()),
            options,
            door: None,
            peers: Vec::new(),
            stats: ListenStats::default(),
            open: vec![0; PACKET],
            answers: VecDeque::new(),
            now,
            signals_seen: 0,
            slack,
            told: None,
            plain: Bucket::new(PLAIN_PER_S, PLAIN_PER_S, now),
            openers: Openers::default(),
        }
    }

    /// Admits other peers.
    pub(super) fn open_gate(&mut self, credentials: Credentials) -> io::Result<()> {
        let gate = match credentials {
            Credentials::Plain => None,
            other => {
                let gate = Gate::new(other, self.now).map_err(io::Error::other)?;
                Some(match self.options.datagram_len() {
                    Some(most) => gate.at_most(most),
                    None => gate,
                })
            }
        };
        self.door = Some(Listening { gate });
        Ok(())
    }

    pub(super) fn join(&mut self, peer: Association<'a>) {
        self.peers.push(peer);
    }

    pub(super) fn stats(&self) -> ListenStats {
        self.stats
    }

    pub(super) fn until_over(
        &mut self,
        mut acceptor: Option<&mut dyn Acceptor<'a>>,
    ) -> io::Result<()> {
        loop {
            let (mut moved, drained) = self.read(&mut acceptor)?;
            // While there is a backlog the engines run in the time of what has been read; the rest would
            // otherwise seem to have arrived at once.
            if drained {
                self.now = self.options.clock.now();
                self.peers.iter_mut().for_each(Association::heard_all);
            }
            moved |= self.signals();
            let every = (self.options.progress_every, self.options.grace);
            for peer in &mut self.peers {
                let mut turn = Turn {
                    now: self.now,
                    endpoint: &self.endpoint,
                    trace: &mut *self.options.trace,
                };
                moved |= peer.turn(&mut turn, every);
            }
            let gone = self.dismiss();
            let mut listening = !self.peers.is_empty();
            if let Some(acceptor) = &mut acceptor
                && self.signals_seen == 0
            {
                // Called for each: several may have ended at one time.
                let left = self.peers.iter().filter(|peer| !peer.is_unproved()).count();
                listening = (0..gone).fold(true, |_, _| acceptor.keep_listening(left));
            }
            if !listening || self.is_locked() {
                // Unproved peers do not keep the loop running.
                while let Some(gone) = self.peers.pop() {
                    self.settle(gone, super::association::SILENCE);
                }
                return Ok(());
            }
            if !moved {
                self.wait()?;
            }
        }
    }

    /// Whether no peer is in a session and the code phrase can admit no one any more.
    fn is_locked(&mut self) -> bool {
        let Some(gate) = self.door.as_ref().and_then(|door| door.gate.as_ref()) else {
            return false;
        };
        let locked = self.peers.is_empty() && gate.is_over(self.now);
        self.stats.guesses = gate.guesses();
        self.stats.too_old = locked && gate.ends_at().is_some_and(|end| self.now >= end);
        locked
    }

    /// Reads what was received, and delivers it. Returns whether anything was read, and whether that is all.
    ///
    /// The engines' time advances from arrival to arrival, and never back.
    fn read(&mut self, acceptor: &mut Option<&mut dyn Acceptor<'a>>) -> io::Result<(bool, bool)> {
        let (mut moved, mut drained) = (false, false);
        let clock = self.options.clock;
        for _ in 0..BATCHES {
            let Some(mut inbox) = self.inbox.take() else { break };
            let endpoint = Rc::clone(&self.endpoint);
            let result = inbox.receive(&endpoint, &clock, &mut |from, at, bytes| {
                moved = true;
                self.now = self.now.max(at);
                self.hear(from, bytes, acceptor);
            });
            self.inbox = Some(inbox);
            self.send_answers();
            // Only a dialer gets such errors, and has one peer.
            match result.as_ref().map_err(IcmpError::of) {
                Ok(true) => {}
                Ok(false) => {
                    drained = true;
                    break;
                }
                Err(Some(IcmpError::Refused)) => {
                    self.peers.iter_mut().for_each(Association::refused);
                }
                Err(Some(IcmpError::TooLong)) => {
                    let now = self.now;
                    self.peers.iter_mut().for_each(|peer| peer.too_long(now));
                }
                Err(Some(IcmpError::Away)) => {
                    drained = true;
                    break;
                }
                Err(None) => return result.map(|_| (moved, true)),
            }
        }
        Ok((moved, drained))
    }

    fn hear(
        &mut self,
        from: SocketAddr,
        bytes: &[u8],
        acceptor: &mut Option<&mut dyn Acceptor<'a>>,
    ) {
        let Some(frame) = Frame::parse(bytes) else {
            return self.hear_plain(from, bytes, acceptor);
        };
        if let Frame::Data { receiver, nonce, sealed } = frame {
            let ours = self.peers.iter().position(|peer| {
                peer.peer.address == from
                    && matches!(&peer.wire, Wire::Sealed(sealed) if sealed.session.local == receiver)
            });
            if let Some(at) = ours {
                let peer = &mut self.peers[at];
                let came = peer.hear_sealed(self.now, nonce, sealed, &mut self.open);
                let Some((packets, several)) = came else { return };
                if !several {
                    self.hand_on(at, packets);
                    return;
                }
                let (mut at, mut from, end) = (at, packets.start, packets.end);
                while let Some(packet) = bundle::next(&self.open[..end], from) {
                    from = packet.end;
                    at = self.hand_on(at, packet);
                }
                return;
            }
        }
        let Some(door) = &mut self.door else {
            self.stats.strays += 1;
            return;
        };
        self.stats.bytes_of_unproved += bytes.len() as u64;
        let Some(gate) = &mut door.gate else {
            if let Some(answer) = super::super::secure::refuse_as_plain(frame) {
                self.answers.push_back((from, answer));
                self.tell(from, RefusalReason::Plain.at_listener(), acceptor);
            }
            return;
        };
        let heard = gate.hear(self.now, from, frame, bytes.len(), &mut self.open);
        self.stats.most_waiting = self.stats.most_waiting.max(gate.waiting());
        match heard {
            GateOutput::Nothing => self.stats.strays += 1,
            GateOutput::Answer(answer) => {
                debug_assert!(answer.len() <= bytes.len());
                self.answers.push_back((from, answer));
            }
            GateOutput::Refused(answer, why) => {
                debug_assert!(answer.len() <= bytes.len());
                self.answers.push_back((from, answer));
                if why == RefusalReason::Code {
                    // These are few, and each is reported.
                    self.told = None;
                }
                self.tell(from, why.at_listener(), acceptor);
            }
            GateOutput::Proved(proved) => self.admit(from, *proved, acceptor),
        }
    }

    /// Tells the user about a refused peer, rate-limited.
    fn tell(&mut self, from: SocketAddr, why: &str, acceptor: &mut Option<&mut dyn Acceptor<'a>>) {
        if self.told.is_none_or(|at| self.now.since(at) >= TELL_EVERY)
            && let Some(acceptor) = acceptor
        {
            self.told = Some(self.now);
            acceptor.refused(from, why);
        }
    }

    fn send_answers(&mut self) {
        while let Some((to, answer)) = self.answers.pop_front() {
            self.stats.bytes_to_unproved += answer.len() as u64;
            // The peer retransmits if an answer is lost.
            let _ = self.endpoint.send(to, &answer, answer.len());
        }
    }

    /// Whether one more session of this address is allowed.
    fn has_room(&self, from: SocketAddr) -> bool {
        let theirs = |peer: &&Association<'_>| peer.peer.address.ip() == from.ip();
        self.peers.len() < self.options.limits.sessions
            && self.peers.iter().filter(theirs).count() < self.options.limits.per_address
            && self.signals_seen == 0
    }

    fn admit(
        &mut self,
        from: SocketAddr,
        proved: Proved,
        acceptor: &mut Option<&mut dyn Acceptor<'a>>,
    ) {
        let Proved { mut session, key, packet } = proved;
        let peer = Peer {
            address: from,
            key,
            suite: Some(session.suite()),
            packet_max: session.packet_max(),
            room: self.endpoint.room(),
        };
        let room = self.has_room(from);
        let handler = match acceptor {
            Some(acceptor) if room => acceptor.admit(&peer),
            _ => Err(TOO_MANY.to_owned()),
        };
        let handler = match handler {
            Ok(handler) => handler,
            Err(why) => {
                if let Some(word) = session.close(&why) {
                    let _ = self.endpoint.send(from, &word, word.len());
                }
                return;
            }
        };
        let most = self.endpoint.most(from, self.options.datagram_len());
        let wire = Wire::Sealed(Box::new(Sealed::new(session, None, most, self.now)));
        let made = Association::new(peer, wire, handler, self.now, &self.options);
        self.peers.push(made);
        if !packet.is_empty() {
            self.open[..packet.len()].copy_from_slice(&packet);
            self.hand_on(self.peers.len() - 1, 0..packet.len());
        }
    }

    /// Passes the packet in `open` to a peer's engine, unless it is an OPEN that has to wait for a previous
    /// session. Returns the peer's index afterwards: another may have been removed.
    fn hand_on(&mut self, mut at: usize, packet: Range<usize>) -> usize {
        let place = packet.clone();
        let packet = &self.open[packet];
        let offered = plain::offered(packet).filter(|_| plain::is_open(packet)).map(<[u8]>::to_vec);
        let mut index = 0;
        while let (Some(file), true) = (&offered, index < self.peers.len()) {
            let (asks, other) = (&self.peers[at], &self.peers[index]);
            let waits = asks.subject.waits;
            let rivals = index != at && returning::is_same(&asks.peer, &other.peer);
            let other = &mut self.peers[index];
            match if rivals { other.judge(self.now, file, waits) } else { Stand::Beside } {
                Stand::Beside => index += 1,
                Stand::Wait => {
                    self.peers[at].subject.waits.get_or_insert(self.now);
                    return at;
                }
                Stand::Instead => {
                    let gone = self.peers.remove(index);
                    at -= usize::from(index < at);
                    let mut turn = Turn {
                        now: self.now,
                        endpoint: &self.endpoint,
                        trace: &mut *self.options.trace,
                    };
                    gone.make_room(&mut turn);
                }
            }
        }
        let mut turn =
            Turn { now: self.now, endpoint: &self.endpoint, trace: &mut *self.options.trace };
        self.peers[at].packet(&mut turn, &self.open[place]);
        at
    }

    fn hear_plain(
        &mut self,
        from: SocketAddr,
        packet: &[u8],
        acceptor: &mut Option<&mut dyn Acceptor<'a>>,
    ) {
        // A batch is connection after connection, each from a NETBLT port of its own.
        let ours = self
            .peers
            .iter_mut()
            .find(|peer| peer.peer.address == from && matches!(peer.wire, Wire::Plain { .. }));
        if let Some(peer) = ours {
            let mut turn =
                Turn { now: self.now, endpoint: &self.endpoint, trace: &mut *self.options.trace };
            return peer.hear_plain(&mut turn, packet);
        }
        match &self.door {
            Some(Listening { gate: None }) if plain::is_open(packet) => {
                self.admit_plain(from, packet, acceptor);
            }
            Some(Listening { gate: Some(_) }) if plain::is_open(packet) => {
                self.stats.refused_plain += 1;
                self.stats.bytes_of_unproved += packet.len() as u64;
                self.answers.push_back((from, plain::refused(packet, plain::ENCRYPTED)));
                self.tell(from, "expected an encrypted session, got --plain", acceptor);
            }
            _ => self.stats.strays += 1,
        }
    }

    fn admit_plain(
        &mut self,
        from: SocketAddr,
        packet: &[u8],
        acceptor: &mut Option<&mut dyn Acceptor<'a>>,
    ) {
        let write = plain::is_write(packet);
        let sends = acceptor.as_ref().and_then(|acceptor| acceptor.sends());
        if sends == Some(write) {
            let why = if write { "expected READ, got WRITE" } else { "expected WRITE, got READ" };
            return self.answers.push_back((from, plain::refused(packet, why)));
        }
        if !write && !self.openers.is_repeated(from, packet, self.now) {
            return;
        }
        // Above the limit a peer waits for its next OPEN: an engine, and a file on disk, cost more than one
        // datagram.
        if !self.plain.take(1, self.now) {
            self.stats.strays += 1;
            return;
        }
        if !self.has_room(from) {
            // Unproved peers make room for the next.
            let oldest = self.peers.iter().position(Association::is_unproved);
            match oldest {
                Some(at) => {
                    let gone = self.peers.swap_remove(at);
                    self.settle(gone, super::association::SILENCE);
                }
                None => return self.answers.push_back((from, plain::refused(packet, "full"))),
            }
        }
        let packet_max = self.endpoint.plain(from, self.options.datagram);
        let room = self.endpoint.room();
        let peer = Peer { address: from, key: None, suite: None, packet_max, room };
        let handler = acceptor.as_mut().map(|acceptor| acceptor.admit(&peer));
        let mut handler = match handler {
            Some(Ok(handler)) => handler,
            Some(Err(why)) => {
                return self.answers.push_back((from, plain::refused(packet, &why)));
            }
            None => return,
        };
        let unproved = write.then(|| Unproved::new(packet));
        if !write {
            handler.proved();
        }
        let wire = Wire::Plain { unproved, echo: None };
        let mut made = Association::new(peer, wire, handler, self.now, &self.options);
        let mut turn =
            Turn { now: self.now, endpoint: &self.endpoint, trace: &mut *self.options.trace };
        made.hear_plain(&mut turn, packet);
        self.peers.push(made);
    }

    fn signals(&mut self) -> bool {
        let Some(signals) = self.options.signals else { return false };
        let came = signals.count();
        if came <= self.signals_seen {
            return false;
        }
        if self.signals_seen == 0 {
            let signal = signals.last().unwrap_or(0);
            for peer in &mut self.peers {
                let mut turn = Turn {
                    now: self.now,
                    endpoint: &self.endpoint,
                    trace: &mut *self.options.trace,
                };
                peer.interrupt(&mut turn, signal, self.options.grace);
            }
        }
        self.signals_seen = came;
        signals.noticed();
        true
    }

    /// Removes peers that have ended; returns how many.
    fn dismiss(&mut self) -> usize {
        let (mut at, mut count) = (0, 0);
        while at < self.peers.len() {
            let outcome = self.peers[at].outcome(self.now, self.options.limits.idle);
            if let Some(outcome) = outcome {
                let gone = self.peers.swap_remove(at);
                // An unproved peer was no session.
                count += usize::from(!gone.is_unproved());
                self.settle(gone, outcome);
            } else {
                at += 1;
            }
        }
        count
    }

    fn settle(&mut self, gone: Association<'a>, outcome: wetstring_proto::Outcome) {
        let mut turn =
            Turn { now: self.now, endpoint: &self.endpoint, trace: &mut *self.options.trace };
        gone.settle(&mut turn, outcome);
    }

    /// Waits for the socket, a deadline, a signal or the user.
    fn wait(&mut self) -> io::Result<()> {
        let idle = self.options.limits.idle;
        let now = self.now;
        let next = self.peers.iter_mut().map(|peer| peer.deadline(now, idle)).min();
        let gate = self.door.as_ref().and_then(|door| door.gate.as_ref());
        let next = [next, gate.and_then(Gate::ends_at)].into_iter().flatten().min();
        let blocked = self.peers.iter().any(|peer| peer.blocked);
        let mut interests = vec![Interest::read_and_write(self.endpoint.source(), blocked)];
        if let Some(signals) = self.options.signals {
            interests.push(Interest::read(signals.source()));
        }
        let persons = interests.len();
        let mut whose = Vec::new();
        for (index, peer) in self.peers.iter().enumerate() {
            if let Some(source) = peer.wake() {
                interests.push(Interest::read(source));
                whose.push(index);
            }
        }
        let wait = next.map_or(Duration::from_secs(3600), |next| {
            next.since(self.options.clock.now()).max(SHORTEST_WAIT)
        });
        event::wait(&mut interests, Some(wait))?;
        let woken: Vec<usize> = whose
            .into_iter()
            .zip(&interests[persons..])
            .filter(|(_, interest)| interest.is_ready())
            .map(|(index, _)| index)
            .collect();
        drop(interests);
        if !woken.is_empty() {
            self.now = self.options.clock.now();
        }
        for index in woken {
            let mut turn =
                Turn { now: self.now, endpoint: &self.endpoint, trace: &mut *self.options.trace };
            self.peers[index].ask_person(&mut turn, self.options.grace);
        }
        Ok(())
    }
}

impl Drop for Turning<'_, '_> {
    fn drop(&mut self) {
        crate::os::process::timer_slack(self.slack);
    }
}
