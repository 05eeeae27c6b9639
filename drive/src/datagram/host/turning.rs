//! The loop.

use super::super::bundle;
use super::super::endpoint::{Endpoint, Inbox, Word};
use super::super::limits::Bucket;
use super::super::plain::{self, Openers, Unproved};
use super::super::secure::{Credentials, Frame, Gate, Heard, Proved, Why};
use super::association::{Association, Turn, Wire};
use super::returning::{self, Stand};
use super::sealed::Sealed;
use super::{HostOptions, Knocks, Partner, Reception};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;
use wetstring_proto::time::Instant;

/// Batches that are read before the engines are looked at.
const BATCHES: usize = 4;
/// Bytes of the longest packet.
const PACKET: usize = 65_536;
/// A deadline that stays in the past must not make the loop spin.
const SHORTEST_WAIT: Duration = Duration::from_micros(50);
/// The system may be late by as much, in nanoseconds: the exactness of pacing.
const SLACK_NS: u64 = 1000;

/// Plain OPENs per second that get an engine and a file, before anything is proved.
const PLAIN_PER_S: u64 = 32;

/// How often a person is told of somebody who was refused.
const TELL_EVERY: Duration = Duration::from_secs(1);

const TOO_MANY: &str = "the listener has as many sessions as it allows";

/// Waits for any of these, at most so long.
pub(super) fn pause(fds: &mut [PollFd<'_>], wait: Duration) -> io::Result<()> {
    let timeout = Timespec {
        tv_sec: wait.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: i64::from(wait.subsec_nanos()),
    };
    match poll(fds, Some(&timeout)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Where a listener stands.
struct Door {
    /// `None` where everything is plain.
    gate: Option<Gate>,
}

/// All partners of a socket.
pub(super) struct Turning<'a, 'o> {
    endpoint: Rc<Endpoint>,
    /// Away only while it is read into.
    inbox: Option<Inbox>,
    options: HostOptions<'o>,
    /// `None` for one who dials: nobody else gets in.
    door: Option<Door>,
    partners: Vec<Association<'a>>,
    knocks: Knocks,
    /// A place for a packet that is opened.
    open: Vec<u8>,
    /// Answers to those who are not in yet.
    answers: VecDeque<(SocketAddr, Vec<u8>)>,
    now: Instant,
    signals_seen: usize,
    slack: Option<NonZeroU64>,
    /// When a person was told of somebody who was refused.
    told: Option<Instant>,
    /// Engines for those who have proved nothing.
    plain: Bucket,
    openers: Openers,
}

impl<'a, 'o> Turning<'a, 'o> {
    pub(super) fn new(endpoint: Endpoint, options: HostOptions<'o>) -> Self {
        let now = options.clock.now();
        let slack = timer_slack(NonZeroU64::new(SLACK_NS));
        Self {
            endpoint: Rc::new(endpoint),
            inbox: Some(Inbox::new()),
            options,
            door: None,
            partners: Vec::new(),
            knocks: Knocks::default(),
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

    /// Others may come in.
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
        self.door = Some(Door { gate });
        Ok(())
    }

    pub(super) fn join(&mut self, partner: Association<'a>) {
        self.partners.push(partner);
    }

    pub(super) fn knocks(&self) -> Knocks {
        self.knocks
    }

    pub(super) fn until_over(
        &mut self,
        mut reception: Option<&mut dyn Reception<'a>>,
    ) -> io::Result<()> {
        loop {
            let (mut moved, drained) = self.read(&mut reception)?;
            // While there is a backlog the engines live in the time of what they have read: the rest would
            // seem to have come at once.
            if drained {
                self.now = self.options.clock.now();
                self.partners.iter_mut().for_each(Association::heard_all);
            }
            moved |= self.signals();
            let every = (self.options.progress_every, self.options.grace);
            for partner in &mut self.partners {
                let mut turn = Turn {
                    now: self.now,
                    endpoint: &self.endpoint,
                    trace: &mut *self.options.trace,
                };
                moved |= partner.turn(&mut turn, every);
            }
            let gone = self.dismiss();
            let mut goes_on = !self.partners.is_empty();
            if let Some(reception) = &mut reception
                && self.signals_seen == 0
            {
                // Each is asked about: several may have ended at one time.
                let left = self.partners.iter().filter(|partner| !partner.is_unproved()).count();
                goes_on = (0..gone).fold(true, |_, _| reception.goes_on(left));
            }
            if !goes_on || self.is_locked() {
                // Those who have proved nothing keep nobody waiting.
                while let Some(gone) = self.partners.pop() {
                    self.settle(gone, super::association::SILENCE);
                }
                return Ok(());
            }
            if !moved {
                self.wait()?;
            }
        }
    }

    /// Whether nobody is in, and nobody can come in by the code phrase any more.
    fn is_locked(&mut self) -> bool {
        let Some(gate) = self.door.as_ref().and_then(|door| door.gate.as_ref()) else {
            return false;
        };
        let locked = self.partners.is_empty() && gate.is_over(self.now);
        self.knocks.guesses = gate.guesses();
        self.knocks.too_old = locked && gate.ends_at().is_some_and(|end| self.now >= end);
        locked
    }

    /// Reads what came, and gives it to whom it belongs. Whether anything came, and whether that is all.
    ///
    /// The time of the engines goes on from arrival to arrival, and never back.
    fn read(&mut self, reception: &mut Option<&mut dyn Reception<'a>>) -> io::Result<(bool, bool)> {
        let (mut moved, mut drained) = (false, false);
        let clock = self.options.clock;
        for _ in 0..BATCHES {
            let Some(mut inbox) = self.inbox.take() else { break };
            let endpoint = Rc::clone(&self.endpoint);
            let result = inbox.receive(&endpoint, &clock, &mut |from, at, bytes| {
                moved = true;
                self.now = self.now.max(at);
                self.hear(from, bytes, reception);
            });
            self.inbox = Some(inbox);
            self.send_answers();
            // Only one who dials is told such words, and has one partner.
            match result.as_ref().map_err(Word::of) {
                Ok(true) => {}
                Ok(false) => {
                    drained = true;
                    break;
                }
                Err(Some(Word::Refused)) => {
                    self.partners.iter_mut().for_each(Association::refused);
                }
                Err(Some(Word::TooLong)) => {
                    let now = self.now;
                    self.partners.iter_mut().for_each(|partner| partner.too_long(now));
                }
                Err(Some(Word::Away)) => {
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
        reception: &mut Option<&mut dyn Reception<'a>>,
    ) {
        let Some(frame) = Frame::parse(bytes) else {
            return self.hear_plain(from, bytes, reception);
        };
        if let Frame::Data { receiver, nonce, sealed } = frame {
            let ours = self.partners.iter().position(|partner| {
                partner.partner.address == from
                    && matches!(&partner.wire, Wire::Sealed(sealed) if sealed.session.local == receiver)
            });
            if let Some(at) = ours {
                let partner = &mut self.partners[at];
                let came = partner.hear_sealed(self.now, nonce, sealed, &mut self.open);
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
            self.knocks.strays += 1;
            return;
        };
        self.knocks.bytes_of_unproved += bytes.len() as u64;
        let Some(gate) = &mut door.gate else {
            if let Some(answer) = super::super::secure::refuse_as_plain(frame) {
                self.answers.push_back((from, answer));
                self.tell(from, Why::Plain.at_listener(), reception);
            }
            return;
        };
        let heard = gate.hear(self.now, from, frame, bytes.len(), &mut self.open);
        self.knocks.most_waiting = self.knocks.most_waiting.max(gate.waiting());
        match heard {
            Heard::Nothing => self.knocks.strays += 1,
            Heard::Answer(answer) => {
                debug_assert!(answer.len() <= bytes.len());
                self.answers.push_back((from, answer));
            }
            Heard::Refused(answer, why) => {
                debug_assert!(answer.len() <= bytes.len());
                self.answers.push_back((from, answer));
                if why == Why::Code {
                    // Of these there are few, and each counts.
                    self.told = None;
                }
                self.tell(from, why.at_listener(), reception);
            }
            Heard::Proved(proved) => self.admit(from, *proved, reception),
        }
    }

    /// Tells a person who was refused, now and then.
    fn tell(
        &mut self,
        from: SocketAddr,
        why: &str,
        reception: &mut Option<&mut dyn Reception<'a>>,
    ) {
        if self.told.is_none_or(|at| self.now.since(at) >= TELL_EVERY)
            && let Some(reception) = reception
        {
            self.told = Some(self.now);
            reception.knocked(from, why);
        }
    }

    fn send_answers(&mut self) {
        while let Some((to, answer)) = self.answers.pop_front() {
            self.knocks.bytes_to_unproved += answer.len() as u64;
            // Lost answers are asked for again.
            let _ = self.endpoint.send(to, &answer, answer.len());
        }
    }

    /// Whether one more of this address is allowed.
    fn has_room(&self, from: SocketAddr) -> bool {
        let theirs = |partner: &&Association<'_>| partner.partner.address.ip() == from.ip();
        self.partners.len() < self.options.limits.sessions
            && self.partners.iter().filter(theirs).count() < self.options.limits.per_address
            && self.signals_seen == 0
    }

    fn admit(
        &mut self,
        from: SocketAddr,
        proved: Proved,
        reception: &mut Option<&mut dyn Reception<'a>>,
    ) {
        let Proved { mut session, key, packet } = proved;
        let partner = Partner {
            address: from,
            key,
            suite: Some(session.suite()),
            packet_max: session.packet_max(),
            room: self.endpoint.room(),
        };
        let room = self.has_room(from);
        let tenant = match reception {
            Some(reception) if room => reception.admit(&partner),
            _ => Err(TOO_MANY.to_owned()),
        };
        let tenant = match tenant {
            Ok(tenant) => tenant,
            Err(why) => {
                if let Some(word) = session.close(&why) {
                    let _ = self.endpoint.send(from, &word, word.len());
                }
                return;
            }
        };
        let most = self.endpoint.most(from, self.options.datagram_len());
        let wire = Wire::Sealed(Box::new(Sealed::new(session, None, most, self.now)));
        let made = Association::new(partner, wire, tenant, self.now, &self.options);
        self.partners.push(made);
        if !packet.is_empty() {
            self.open[..packet.len()].copy_from_slice(&packet);
            self.hand_on(self.partners.len() - 1, 0..packet.len());
        }
    }

    /// Hands the packet that stands there in `open` to a partner's engine, unless it is an OPEN that has to
    /// wait for a session before it. Where that partner is then: another may have made room for it.
    fn hand_on(&mut self, mut at: usize, packet: Range<usize>) -> usize {
        let place = packet.clone();
        let packet = &self.open[packet];
        let offered = plain::offered(packet).filter(|_| plain::is_open(packet)).map(<[u8]>::to_vec);
        let mut index = 0;
        while let (Some(file), true) = (&offered, index < self.partners.len()) {
            let (asks, other) = (&self.partners[at], &self.partners[index]);
            let waits = asks.subject.waits;
            let rivals = index != at && returning::is_same(&asks.partner, &other.partner);
            let other = &mut self.partners[index];
            match if rivals { other.judge(self.now, file, waits) } else { Stand::Beside } {
                Stand::Beside => index += 1,
                Stand::Wait => {
                    self.partners[at].subject.waits.get_or_insert(self.now);
                    return at;
                }
                Stand::Instead => {
                    let gone = self.partners.remove(index);
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
        self.partners[at].packet(&mut turn, &self.open[place]);
        at
    }

    fn hear_plain(
        &mut self,
        from: SocketAddr,
        packet: &[u8],
        reception: &mut Option<&mut dyn Reception<'a>>,
    ) {
        // A batch is connection after connection, each from a NETBLT port of its own.
        let ours = self.partners.iter_mut().find(|partner| {
            partner.partner.address == from && matches!(partner.wire, Wire::Plain { .. })
        });
        if let Some(partner) = ours {
            let mut turn =
                Turn { now: self.now, endpoint: &self.endpoint, trace: &mut *self.options.trace };
            return partner.hear_plain(&mut turn, packet);
        }
        match &self.door {
            Some(Door { gate: None }) if plain::is_open(packet) => {
                self.admit_plain(from, packet, reception);
            }
            Some(Door { gate: Some(_) }) if plain::is_open(packet) => {
                self.knocks.refused_plain += 1;
                self.knocks.bytes_of_unproved += packet.len() as u64;
                self.answers.push_back((from, plain::refused(packet, plain::ENCRYPTED)));
                self.tell(from, "expected an encrypted session, it came with --plain", reception);
            }
            _ => self.knocks.strays += 1,
        }
    }

    fn admit_plain(
        &mut self,
        from: SocketAddr,
        packet: &[u8],
        reception: &mut Option<&mut dyn Reception<'a>>,
    ) {
        let write = plain::is_write(packet);
        let sends = reception.as_ref().and_then(|reception| reception.sends());
        if sends == Some(write) {
            let why = if write { "expected READ, got WRITE" } else { "expected WRITE, got READ" };
            return self.answers.push_back((from, plain::refused(packet, why)));
        }
        if !write && !self.openers.is_repeated(from, packet, self.now) {
            return;
        }
        // What is above waits for its next OPEN: an engine, and a place on the disk, cost more than one
        // datagram of anybody's.
        if !self.plain.take(1, self.now) {
            self.knocks.strays += 1;
            return;
        }
        if !self.has_room(from) {
            // Those who have proved nothing make room for the next.
            let oldest = self.partners.iter().position(Association::is_unproved);
            match oldest {
                Some(at) => {
                    let gone = self.partners.swap_remove(at);
                    self.settle(gone, super::association::SILENCE);
                }
                None => return self.answers.push_back((from, plain::refused(packet, "full"))),
            }
        }
        let packet_max = self.endpoint.plain(from, self.options.datagram);
        let room = self.endpoint.room();
        let partner = Partner { address: from, key: None, suite: None, packet_max, room };
        let tenant = reception.as_mut().map(|reception| reception.admit(&partner));
        let mut tenant = match tenant {
            Some(Ok(tenant)) => tenant,
            Some(Err(why)) => {
                return self.answers.push_back((from, plain::refused(packet, &why)));
            }
            None => return,
        };
        let unproved = write.then(|| Unproved::new(packet));
        if !write {
            tenant.proved();
        }
        let wire = Wire::Plain { unproved, echo: None };
        let mut made = Association::new(partner, wire, tenant, self.now, &self.options);
        let mut turn =
            Turn { now: self.now, endpoint: &self.endpoint, trace: &mut *self.options.trace };
        made.hear_plain(&mut turn, packet);
        self.partners.push(made);
    }

    fn signals(&mut self) -> bool {
        let Some(signals) = self.options.signals else { return false };
        let came = signals.count();
        if came <= self.signals_seen {
            return false;
        }
        if self.signals_seen == 0 {
            let signal = signals.last().unwrap_or(0);
            for partner in &mut self.partners {
                let mut turn = Turn {
                    now: self.now,
                    endpoint: &self.endpoint,
                    trace: &mut *self.options.trace,
                };
                partner.interrupt(&mut turn, signal, self.options.grace);
            }
        }
        self.signals_seen = came;
        signals.noticed();
        true
    }

    /// Lets those go who are over; how many those were.
    fn dismiss(&mut self) -> usize {
        let (mut at, mut count) = (0, 0);
        while at < self.partners.len() {
            let outcome = self.partners[at].outcome(self.now, self.options.limits.idle);
            if let Some(outcome) = outcome {
                let gone = self.partners.swap_remove(at);
                // One who has proved nothing was no session.
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

    /// Waits for the socket, a deadline, a signal or a person.
    fn wait(&mut self) -> io::Result<()> {
        let idle = self.options.limits.idle;
        let now = self.now;
        let next = self.partners.iter_mut().map(|partner| partner.deadline(now, idle)).min();
        let gate = self.door.as_ref().and_then(|door| door.gate.as_ref());
        let next = [next, gate.and_then(Gate::ends_at)].into_iter().flatten().min();
        let blocked = self.partners.iter().any(|partner| partner.blocked);
        let events = if blocked { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
        let mut fds = vec![PollFd::from_borrowed_fd(self.endpoint.fd(), events)];
        if let Some(signals) = self.options.signals {
            fds.push(PollFd::from_borrowed_fd(signals.fd(), PollFlags::IN));
        }
        let persons = fds.len();
        let mut whose = Vec::new();
        for (index, partner) in self.partners.iter().enumerate() {
            if let Some(fd) = partner.wake() {
                fds.push(PollFd::from_borrowed_fd(fd, PollFlags::IN));
                whose.push(index);
            }
        }
        let wait = next.map_or(Duration::from_secs(3600), |next| {
            next.since(self.options.clock.now()).max(SHORTEST_WAIT)
        });
        pause(&mut fds, wait)?;
        let woken: Vec<usize> = whose
            .into_iter()
            .zip(&fds[persons..])
            .filter(|(_, fd)| !fd.revents().is_empty())
            .map(|(index, _)| index)
            .collect();
        drop(fds);
        if !woken.is_empty() {
            self.now = self.options.clock.now();
        }
        for index in woken {
            let mut turn =
                Turn { now: self.now, endpoint: &self.endpoint, trace: &mut *self.options.trace };
            self.partners[index].ask_person(&mut turn, self.options.grace);
        }
        Ok(())
    }
}

impl Drop for Turning<'_, '_> {
    fn drop(&mut self) {
        timer_slack(self.slack);
    }
}

/// Sets how late the timers of this thread may be; what it was.
#[cfg(target_os = "linux")]
fn timer_slack(slack: Option<NonZeroU64>) -> Option<NonZeroU64> {
    let before = rustix::thread::current_timer_slack().ok().and_then(NonZeroU64::new);
    // Without it timers are some fifty microseconds late.
    let _ = rustix::thread::set_current_timer_slack(slack);
    before
}

#[cfg(not(target_os = "linux"))]
fn timer_slack(_: Option<NonZeroU64>) -> Option<NonZeroU64> {
    None
}
