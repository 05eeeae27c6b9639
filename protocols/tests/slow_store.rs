//! A store may take its time, as a slow disk does: that is no silence of the peer.
//!
//! The loop of each end stands still while its store works, as that of the drivers does. Then the end neither counts
//! a timeout nor refuses anything: senders of other people take a refusal on a line without errors for its failure.

use std::collections::VecDeque;

use wetstring_proto::engine::{Cx, Engine, Outcome};
use wetstring_proto::file::{Reply, Request, Store};
use wetstring_proto::stats::Stats;
use wetstring_proto::time::{Duration, Instant};
use wetstring_proto::{LineFacts, NoTrace};
use wetstring_protocols::Protocol;
use wetstring_testkit::{File, Sink, Source, noise};

/// One way.
const DELAY: Duration = Duration::from_millis(5);

/// What the store takes its time for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Slow {
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

struct End<S> {
    engine: Box<dyn Engine>,
    store: S,
    slow: Option<(Slow, Duration)>,
    /// Where its loop is: later than all else while the store works.
    now: Instant,
    /// How often the store was slow.
    pauses: usize,
    inbox: VecDeque<(Instant, u8)>,
}

impl<S: Store> End<S> {
    fn new(engine: Box<dyn Engine>, store: S) -> Self {
        let (slow, inbox) = (None, VecDeque::new());
        Self { engine, store, slow, now: Instant::ZERO, pauses: 0, inbox }
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
type Ran = [(Option<Outcome>, Stats); 2];

fn run(sender: &mut End<Source>, receiver: &mut End<Sink>) -> Ran {
    let mut now = Instant::ZERO;
    for _ in 0..1_000_000 {
        let mut moved = false;
        // An end whose store works does nothing else.
        if sender.now <= now {
            sender.now = now;
            let (sent, did) = sender.turn();
            let at = sender.now + DELAY;
            receiver.inbox.extend(sent.into_iter().map(|byte| (at, byte)));
            moved |= did;
        }
        if receiver.now <= now {
            receiver.now = now;
            let (sent, did) = receiver.turn();
            let at = receiver.now + DELAY;
            sender.inbox.extend(sent.into_iter().map(|byte| (at, byte)));
            moved |= did;
        }
        let outcomes = [sender.engine.status().outcome(), receiver.engine.status().outcome()];
        if outcomes.iter().all(Option::is_some) {
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

#[test]
fn a_slow_store_is_no_silence_of_the_peer() {
    let files = [File::new("one", &noise(1, 30_000)), File::new("two", &noise(2, 100))];
    let mut faults = Vec::new();
    let mut pauses = 0;
    // What it asks for again because the peer did is no fault of it.
    let refused = |at_sender: bool, [(_, sender), (_, receiver)]: &Ran| {
        let (own, peer) = if at_sender { (sender, receiver) } else { (receiver, sender) };
        (own.timeouts, if peer.retransmissions == 0 { own.naks_out } else { 0 })
    };
    for protocol in Protocol::of_bytes() {
        let of_sender = [Slow::Next, Slow::Read, Slow::Digest].map(|slow| (true, slow));
        let of_receiver = [Slow::Offer, Slow::Write, Slow::Digest, Slow::Close];
        let sides = of_sender.into_iter().chain(of_receiver.map(|slow| (false, slow)));
        for (at_sender, slow) in sides {
            for (seconds, reliable) in [(3, true), (3, false), (40, true), (40, false)] {
                let mut config = protocol.config();
                config.on_line(LineFacts {
                    reliable: Some(reliable),
                    clear: true,
                    rate_bps: 0,
                    telnet: false,
                });
                let files = if protocol.tells_names { &files[..] } else { &files[..1] };
                let ends = || {
                    let sender = End::new(config.sender(), Source::new(files.to_vec()));
                    (sender, End::new(config.receiver(), Sink::new()))
                };
                let (mut sender, mut receiver) = ends();
                let usual = refused(at_sender, &run(&mut sender, &mut receiver));
                let (mut sender, mut receiver) = ends();
                let takes = Some((slow, Duration::from_secs(seconds)));
                if at_sender {
                    sender.slow = takes;
                } else {
                    receiver.slow = takes;
                }
                let ran = run(&mut sender, &mut receiver);
                pauses += sender.pauses + receiver.pauses;
                let now = refused(at_sender, &ran);
                let what = format!(
                    "{protocol:?} reliable {reliable}, {slow:?} of the {} takes {seconds} s",
                    if at_sender { "sender" } else { "receiver" }
                );
                let outcomes = ran.map(|(outcome, _)| outcome);
                if outcomes != [Some(Outcome::Done); 2] {
                    faults.push(format!("{what}: {outcomes:?}"));
                } else if now.0 > usual.0 || now.1 > usual.1 {
                    faults.push(format!("{what}: timeouts and NAKs {now:?}, usually {usual:?}"));
                }
            }
        }
    }
    assert!(pauses > 100, "{pauses}");
    assert!(faults.is_empty(), "{} of them:\n{}", faults.len(), faults.join("\n"));
}
