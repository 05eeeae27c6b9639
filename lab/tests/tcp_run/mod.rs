//! Runs TCP in virtual time: dialogues, and a tap on the network that can lose chosen segments.

#![allow(dead_code)] // Each test uses a part.

use std::cell::RefCell;
use std::rc::Rc;
use wetstring_lab::net::Network;
use wetstring_lab::tcp::{Bulk, BulkReport, Tcp};
use wetstring_lab::{Element, End};
use wetstring_proto::{Cx, Instant, NoTrace};

pub(crate) fn network(text: &str) -> Network {
    text.parse().unwrap_or_else(|bad| panic!("{text}: {bad}"))
}

pub(crate) fn bulk(text: &str, bytes: u64) -> BulkReport {
    Bulk::new(bytes).run(&mut *network(text).build(), &mut NoTrace)
}

/// A segment on the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Segment {
    pub(crate) at_ns: u64,
    pub(crate) from: End,
    /// Sequence and acknowledgement numbers, relative to the first of each end.
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    /// Bytes of data.
    pub(crate) len: usize,
    pub(crate) lost: bool,
}

pub(crate) type Log = Rc<RefCell<Vec<Segment>>>;
/// Whether the n-th data segment from A (from 0) is to be lost.
pub(crate) type Lose = fn(usize) -> bool;

/// A network that keeps a record of the segments that go into it.
pub(crate) struct Tap {
    network: Box<dyn Element>,
    log: Log,
    lose: Lose,
    first: [Option<u32>; 2],
    data: usize,
}

fn word(packet: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([packet[at], packet[at + 1], packet[at + 2], packet[at + 3]])
}

impl Element for Tap {
    fn offer(&mut self, cx: &mut Cx<'_>, end: End, packet: &[u8]) -> usize {
        let header = 20 + usize::from(packet[32] >> 4) * 4;
        let (seq, ack, len) = (word(packet, 24), word(packet, 28), packet.len() - header);
        // What each end has acknowledged or sent first is the origin of the other's numbers.
        let own = *self.first[end.index()].get_or_insert(seq);
        let other = *self.first[end.other().index()].get_or_insert(ack);
        let lost = end == End::A && len > 0 && {
            self.data += 1;
            (self.lose)(self.data - 1)
        };
        let (seq, ack) = (seq.wrapping_sub(own), ack.wrapping_sub(other));
        let at_ns = cx.now.as_nanos();
        self.log.borrow_mut().push(Segment { at_ns, from: end, seq, ack, len, lost });
        if lost { packet.len() } else { self.network.offer(cx, end, packet) }
    }

    wetstring_lab::forward_element!(network);
}

/// TCP over a tapped network.
pub(crate) fn tapped(text: &str, lose: Lose) -> (Tcp, Log) {
    let network = network(text);
    let log = Log::default();
    let below = Network { tcp: None, hosts: Default::default(), ..network.clone() }.build();
    let tap = Tap { network: below, log: log.clone(), lose, first: [None; 2], data: 0 };
    let tcp = network.tcp.expect("tcp: in the text");
    (Tcp::new(&tcp, Box::new(tap), &network.hosts), log)
}

/// Something to do at a time: offer this many bytes at an end.
pub(crate) type Offer = (u64, End, usize);

/// Offers all (refused bytes again and again, at most `chunk` at a time) and takes everything at
/// once, until nothing is under way or `until`. Gives when each lot came, where, and how much.
pub(crate) fn talk(
    element: &mut dyn Element,
    offers: &[Offer],
    chunk: usize,
    until: u64,
) -> Vec<(u64, End, usize)> {
    let mut left: Vec<Offer> = offers.to_vec();
    let mut came: Vec<(u64, End, usize)> = Vec::new();
    let bytes = vec![b'x'; 1 << 16];
    let mut into = vec![0; 1 << 16];
    let mut now = Instant::ZERO;
    loop {
        loop {
            let mut moved = 0;
            for end in End::BOTH {
                let mut cx = Cx { now, trace: &mut NoTrace };
                let due = |offer: &&mut Offer| offer.1 == end && offer.2 > 0;
                if let Some((at, _, len)) = left.iter_mut().find(due)
                    && *at <= now.as_nanos()
                {
                    let want = (*len).min(chunk).min(bytes.len());
                    let taken = element.offer(&mut cx, end, &bytes[..want]);
                    *len -= taken;
                    moved += taken;
                }
                let got = element.emit(&mut cx, end, &mut into[..chunk.min(1 << 16)]);
                if got > 0 {
                    match came.last_mut() {
                        Some((at, to, len)) if *at == now.as_nanos() && *to == end => *len += got,
                        _ => came.push((now.as_nanos(), end, got)),
                    }
                }
                moved += got;
            }
            if moved == 0 {
                break;
            }
        }
        let inside = End::BOTH.into_iter().filter_map(|end| element.next(end));
        let waiting = left.iter().filter(|(at, _, len)| *len > 0 && *at > now.as_nanos());
        let Some(next) = inside.chain(waiting.map(|(at, ..)| Instant(*at))).min() else { break };
        if next.as_nanos() > until {
            break;
        }
        now = now.max(next);
    }
    came
}

/// Rounds of a dialogue: A sends this many bytes, B answers when it has all of them, A continues when it
/// has the whole answer. Gives the time of each round.
pub(crate) fn rounds(element: &mut dyn Element, ask: usize, answer: usize, n: usize) -> Vec<u64> {
    let mut times = Vec::new();
    let mut now = Instant::ZERO;
    let mut into = vec![0; 1 << 16];
    let (mut to_b, mut to_a) = (0, 0);
    let mut begun = now;
    // What each end still has to hand over.
    let mut open = [ask, 0];
    while times.len() < n {
        for end in End::BOTH {
            let mut cx = Cx { now, trace: &mut NoTrace };
            let bytes = vec![b'y'; open[end.index()]];
            open[end.index()] -= element.offer(&mut cx, end, &bytes);
            let got = element.emit(&mut cx, end, &mut into);
            match end {
                End::A => to_a += got,
                End::B => to_b += got,
            }
        }
        if to_b == ask {
            to_b = 0;
            open[1] = answer;
            continue;
        }
        if to_a == answer {
            to_a = 0;
            open[0] = ask;
            times.push(now.since(begun).as_nanos() as u64);
            begun = now;
            continue;
        }
        let next = End::BOTH.into_iter().filter_map(|end| element.next(end)).min();
        now = now.max(next.expect("something is under way"));
    }
    times
}
