//! Two engines and their stores in virtual time, over a line without errors.

use std::collections::VecDeque;

use wetstring_proto::NoTrace;
use wetstring_proto::engine::{Cx, Engine, Outcome, Status};
use wetstring_proto::file::{Reply, Request, Store};
use wetstring_proto::stats::Stats;
use wetstring_proto::time::{Duration, Instant};
use wetstring_testkit::{Sink, Source};

/// One way.
const DELAY: Duration = Duration::from_millis(5);

/// What the store takes its time for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Slow {
    Next,
    Read,
    Offer,
    Write,
    Digest,
    Close,
}

impl Slow {
    fn is(self, request: &Request<'_>) -> bool {
        match request {
            Request::Next => self == Self::Next,
            Request::Read { .. } => self == Self::Read,
            Request::Offer { .. } => self == Self::Offer,
            Request::Write { .. } => self == Self::Write,
            Request::Digest { .. } => self == Self::Digest,
            Request::Close { .. } => self == Self::Close,
            _ => false,
        }
    }
}

pub(crate) struct End<S> {
    pub(crate) engine: Box<dyn Engine>,
    pub(crate) store: S,
    pub(crate) slow: Option<(Slow, Duration)>,
    /// Where its loop is: later than all else while the store works.
    now: Instant,
    /// How often the store was slow.
    pub(crate) pauses: usize,
    pub(crate) inbox: VecDeque<(Instant, u8)>,
    /// How many bytes have come.
    pub(crate) came: usize,
    /// What comes behind this many bytes, with the last of them.
    pub(crate) behind: Option<(usize, &'static [u8])>,
}

impl<S: Store> End<S> {
    pub(crate) fn new(engine: Box<dyn Engine>, store: S) -> Self {
        let (slow, inbox) = (None, VecDeque::new());
        let (now, behind) = (Instant::ZERO, None);
        Self { engine, store, slow, now, pauses: 0, inbox, came: 0, behind }
    }

    /// Bytes are on their way.
    fn comes(&mut self, bytes: Vec<u8>, at: Instant) {
        self.came += bytes.len();
        self.inbox.extend(bytes.into_iter().map(|byte| (at, byte)));
        if let Some((_, more)) = self.behind.take_if(|(len, _)| *len == self.came) {
            self.inbox.extend(more.iter().map(|byte| (at, *byte)));
        }
    }

    /// One turn: what it sends, and whether anything happened.
    fn turn(&mut self) -> (Vec<u8>, bool) {
        let mut trace = NoTrace;
        let (mut sent, mut moved) = (Vec::new(), false);
        while let Some(request) = self.engine.request() {
            let slow = self.slow.take_if(|(slow, _)| slow.is(&request));
            if let Some((_, takes)) = slow {
                self.now = self.now + takes;
                self.pauses += 1;
            }
            let reply: Reply<'_> = self.store.answer(request);
            self.engine.reply(&mut Cx { now: self.now, trace: &mut trace }, reply);
            moved = true;
            // Its loop turns before the next one.
            if slow.is_some() {
                break;
            }
        }
        let mut cx = Cx { now: self.now, trace: &mut trace };
        sent.extend_from_slice(self.engine.transmit(&mut cx));
        self.engine.transmitted(&mut cx, sent.len());
        let came: Vec<u8> = self
            .inbox
            .iter()
            .take_while(|(at, _)| *at <= self.now)
            .map(|(_, byte)| *byte)
            .collect();
        let taken = if came.is_empty() { 0 } else { self.engine.receive(&mut cx, &came) };
        self.inbox.drain(..taken);
        if taken == 0 && self.engine.deadline().is_some_and(|at| at <= self.now) {
            self.engine.tick(&mut cx);
            moved = true;
        }
        while self.engine.event().is_some() {
            moved = true;
        }
        moved |= taken > 0 || !sent.is_empty();
        (sent, moved)
    }

    fn next(&self) -> Option<Instant> {
        let came = self.inbox.front().map(|(at, _)| (*at).max(self.now));
        [self.engine.deadline(), came].into_iter().flatten().min()
    }
}

/// The outcome and the figures of both ends.
pub(crate) type Ran = [(Option<Outcome>, Stats); 2];

pub(crate) fn run(sender: &mut End<Source>, receiver: &mut End<Sink>) -> Ran {
    let mut now = Instant::ZERO;
    for _ in 0..1_000_000 {
        let mut moved = false;
        // An end whose store works does nothing else.
        if sender.now <= now {
            sender.now = now;
            let (sent, did) = sender.turn();
            let at = sender.now + DELAY;
            receiver.comes(sent, at);
            moved |= did;
        }
        if receiver.now <= now {
            receiver.now = now;
            let (sent, did) = receiver.turn();
            let at = receiver.now + DELAY;
            sender.comes(sent, at);
            moved |= did;
        }
        let is_over = |engine: &dyn Engine| matches!(engine.status(), Status::Over(_));
        if is_over(&*sender.engine) && is_over(&*receiver.engine) {
            break;
        }
        if !moved {
            let busy = [sender.now, receiver.now].into_iter().filter(|at| *at > now);
            let next = [sender.next(), receiver.next()].into_iter().flatten();
            now = busy.chain(next).filter(|at| *at > now).min().unwrap_or(now + DELAY);
        }
    }
    [
        (sender.engine.status().outcome(), *sender.engine.stats()),
        (receiver.engine.status().outcome(), *receiver.engine.stats()),
    ]
}
