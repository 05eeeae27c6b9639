//! A strange receiver at our sender: what it grants beyond a hole, and what it asks for again while the store reads.

use crate::common;
use crate::netblt_exchange;

use common::{File, Source, random};
use netblt_exchange::{ACTIVE, PASSIVE, against, config, datagram, sender};
use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;
use wetstring_proto::file::{Reply, Request};
use wetstring_proto::netblt::Config;
use wetstring_proto::netblt::control::{Offer, put_go, put_ok, put_resend};
use wetstring_proto::netblt::packet::{Body, Packet, Ports, Terms};
use wetstring_proto::{Cx, Engine, Instant, Outcome, Store};
use wetstring_testkit::Edges;

const BACK: Ports = Ports { local: PASSIVE, foreign: ACTIVE };
const OFFER: Offer = Offer { burst_size: 5, burst_interval_ms: 10, control_timer_ms: 100 };
const EVERY: Duration = Duration::from_millis(100);

/// Buffers of one packet of 1000 bytes, two outstanding.
fn small() -> Config {
    Config { buffer_size: 1000, max_datagram: 1024, outstanding: 2, ..config() }
}

/// A receiver by RFC 998 5.2: messages are acknowledged in order, and only an acknowledged RESEND is repeated.
#[derive(Default)]
struct Granting {
    last: u16,
    next: u32,
    waiting: VecDeque<(u16, Vec<u8>)>,
    /// The RESEND of the first buffer.
    asked: Option<u16>,
    /// When the first buffer is asked for again.
    due: Option<Duration>,
    whole: BTreeSet<u32>,
    lost: u32,
    said: Option<Duration>,
}

impl Granting {
    fn say(&mut self, make: impl FnOnce(&mut [u8], u16) -> usize) -> u16 {
        self.last += 1;
        let mut bytes = vec![0; 16];
        let len = make(&mut bytes, self.last);
        bytes.truncate(len);
        self.waiting.push_back((self.last, bytes));
        self.last
    }

    fn grant(&mut self) {
        self.next += 1;
        let buffer = self.next;
        self.say(|into, number| put_go(into, number, buffer).expect("it fits"));
    }

    fn acknowledged(&mut self, now: Duration, high: u16) {
        while self.waiting.front().is_some_and(|(number, _)| *number <= high) {
            self.waiting.pop_front();
        }
        if self.asked.is_none_or(|number| number <= high) && self.due.is_none() {
            self.due = Some(now + EVERY);
        }
    }

    fn data(&mut self, buffer: u32, losses: u32) -> bool {
        if buffer == 1 && self.lost < losses {
            self.lost += 1;
            return false;
        }
        let news = self.whole.insert(buffer);
        if news {
            self.say(|into, number| put_ok(into, number, buffer, OFFER).expect("it fits"));
            self.grant();
        }
        news
    }

    fn messages(&mut self, now: Duration) -> Vec<u8> {
        if self.due.is_some_and(|due| now >= due) && !self.whole.contains(&1) {
            self.due = None;
            let made = |into: &mut [u8], number| {
                put_resend(into, number, 1, [0].into_iter()).map_or(0, |(len, _)| len)
            };
            self.asked = Some(self.say(made));
        }
        self.said = Some(now);
        self.waiting.iter().flat_map(|(_, bytes)| bytes.clone()).take(900).collect()
    }
}

/// The first buffer is lost several times, and all others arrive meanwhile, many more than are outstanding. The grants
/// beyond the sender's ring are acknowledged, or the RESEND behind them never would be.
#[test]
fn grants_far_beyond_a_hole_are_acknowledged() {
    for losses in [0, 1, 2, 5] {
        let bytes = random(60_000, 7);
        let mut source = Source::new(vec![File::new("file.bin", &bytes)]);
        let mut engine = sender(&small());
        let mut peer = Granting::default();
        let mut talk = |now: Duration, heard: Option<&Packet<'_>>, out: &mut Vec<Vec<u8>>| {
            let high = match heard.map(|packet| packet.body) {
                Some(Body::Open(asked)) => {
                    out.push(datagram(BACK, Body::Response(Terms { client: b"", ..asked })));
                    peer.grant();
                    peer.grant();
                    None
                }
                Some(Body::NullAck { high, .. }) => Some(high),
                Some(Body::Data(data)) => {
                    peer.data(data.buffer, losses);
                    Some(data.high)
                }
                _ => None,
            };
            if let Some(high) = high {
                peer.acknowledged(now, high);
            }
            let late = peer.said.is_none_or(|said| now >= said + EVERY / 4);
            let due = late && (!peer.waiting.is_empty() || peer.due.is_some());
            let messages = if due { peer.messages(now) } else { Vec::new() };
            if !messages.is_empty() {
                out.push(datagram(BACK, Body::Control(&messages)));
            }
        };
        let end = against(&mut engine, &mut source, &mut talk, Duration::from_secs(60));
        assert_eq!(end.outcome, Outcome::Done, "{losses} losses");
        assert_eq!((peer.whole.len() >= 60, peer.lost), (true, losses));
    }
}

/// What is asked for again is read again, and meanwhile something else may be asked for: each packet has its own bytes.
#[test]
fn what_is_read_again_is_what_is_sent() {
    let config = Config { buffer_len: 4096, outstanding: 60, ..small() };
    let bytes = random(60_000, 8);
    let mut source = Source::new(vec![File::new("file.bin", &bytes)]);
    let mut engine = sender(&config);
    let (mut now, mut sent) = (Instant::ZERO, 0);
    let mut pending: Option<(Instant, usize)> = None;
    let mut sequence = 0;
    for turn in 0..4000_u32 {
        let cx = &mut Cx { now, trace: &mut Edges::new() };
        engine.tick(cx);
        if let Some((_, len)) = pending.filter(|(at, _)| now >= *at) {
            pending = None;
            engine.reply(cx, Reply::Read(len));
        }
        // Each read takes 7 ms.
        while pending.is_none() {
            match engine.request() {
                Some(Request::Read { offset, into }) => {
                    let reply = source.answer(Request::Read { offset, into });
                    let Reply::Read(len) = reply else { panic!("{reply:?}") };
                    pending = Some((now + Duration::from_millis(7), len));
                }
                Some(request) => {
                    let reply = source.answer(request);
                    engine.reply(cx, reply);
                }
                None => break,
            }
        }
        let lent = engine.transmit(cx).to_vec();
        engine.transmitted(cx, lent.len());
        let packet = if lent.is_empty() { None } else { Packet::parse(&lent).ok() };
        let mut messages = vec![0; 16];
        match packet.map(|packet| packet.body) {
            Some(Body::Open(asked)) => {
                let answer = datagram(BACK, Body::Response(Terms { client: b"", ..asked }));
                engine.receive(cx, &answer);
                messages = vec![0; 60 * 8];
                for (at, room) in messages.chunks_mut(8).enumerate() {
                    put_go(room, at as u16 + 1, at as u32 + 1).expect("it fits");
                }
                sequence = 60;
                engine.receive(cx, &datagram(BACK, Body::Control(&messages)));
            }
            Some(Body::Data(data)) => {
                let at = (data.buffer as usize - 1) * 1000;
                assert!(data.bytes == &bytes[at..at + 1000], "buffer {}", data.buffer);
                sent += 1;
            }
            _ => {}
        }
        // From the last to the first, as each is read before the one that was asked for earlier.
        if sent >= 60 && turn % 3 == 0 {
            sequence += 1;
            let buffer = 60 - u32::from(sequence) % 60;
            let made = put_resend(&mut messages[..16], sequence, buffer, [0].into_iter());
            let len = made.map_or(0, |(len, _)| len);
            engine.receive(cx, &datagram(BACK, Body::Control(&messages[..len])));
        }
        now = now + Duration::from_millis(1);
    }
    assert!(sent > 200, "{sent}");
}
