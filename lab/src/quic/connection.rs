//! A connection: the two peers, and the network between them.

use super::QuicModel;
use super::clock::Clock;
use super::peer::Peer;
use crate::element::{Element, End, Unit, Usage};
use crate::net::DATAGRAM_MAX;
use wetstring_proto::{Cx, Instant, TraceEvent};

/// A QUIC connection over a network, from a program at A to a program at B.
pub struct Quic {
    network: Box<dyn Element>,
    peers: [Peer; 2],
    buffer: Vec<u8>,
    /// When the next internal event is due.
    next_inside: u64,
    /// An end was offered bytes, or has read some.
    touched: [bool; 2],
    usage: [Usage; 2],
}

impl std::fmt::Debug for Quic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Quic").field("next_inside", &self.next_inside).finish_non_exhaustive()
    }
}

impl Quic {
    /// A connection of this model over a network that carries datagrams.
    ///
    /// # Panics
    ///
    /// If the network carries bytes.
    pub fn new(model: &QuicModel, network: Box<dyn Element>) -> Self {
        assert!(network.unit() == Unit::Datagrams, "expected a network that carries datagrams");
        let clock = Clock::new();
        Self {
            network,
            peers: End::BOTH.map(|end| Peer::new(model, clock, end)),
            buffer: vec![0; DATAGRAM_MAX],
            next_inside: 0,
            touched: [true, false],
            usage: [Usage::default(); 2],
        }
    }

    /// Whether an end has given up the connection.
    pub fn is_lost(&self) -> bool {
        self.peers.iter().any(|peer| peer.lost)
    }

    /// What the network carried of the packets from this end.
    pub fn network_usage(&self, end: End) -> Usage {
        self.network.usage(end)
    }

    /// Computes when the next internal event is due.
    fn look_ahead(&mut self) {
        let mut next = u64::MAX;
        for end in End::BOTH {
            let peer = &self.peers[end.index()];
            let comes = self.network.next(end);
            let room = self.network.room(end).filter(|_| peer.refused);
            let at = comes.into_iter().chain(room).min().map_or(u64::MAX, Instant::as_nanos);
            next = next.min(peer.timer).min(at);
        }
        self.next_inside = next;
    }

    /// Processes all internal events due by now.
    fn advance(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now.as_nanos();
        let mut last = 0;
        let mut idle = 0;
        while self.next_inside <= now {
            let at = self.next_inside.max(last);
            let moved = self.settle(&mut Cx { now: Instant(at), trace: &mut *cx.trace });
            self.look_ahead();
            // Nothing moves at this time: a lasting refusal.
            idle = if moved || at > last { 0 } else { idle + 1 };
            last = at;
            if idle > 2 {
                break;
            }
        }
        if self.touched.contains(&true) {
            self.settle(cx);
            self.look_ahead();
        }
    }

    /// Processes all events of one instant.
    fn settle(&mut self, cx: &mut Cx<'_>) -> bool {
        let now = cx.now.as_nanos();
        let mut moved = false;
        loop {
            let mut again = false;
            for end in End::BOTH {
                let came = self.arrive(cx, end);
                let peer = &mut self.peers[end.index()];
                let touched = std::mem::take(&mut self.touched[end.index()]);
                if came || touched || peer.timer <= now {
                    peer.turn(now);
                    if let Some(why) = peer.why_lost.take() {
                        let name = ["lost_a", "lost_b"][end.index()];
                        let event = TraceEvent::Text { name, text: why.as_bytes() };
                        cx.trace.record(cx.now, &event);
                    }
                    again |= came;
                }
                again |= self.leave(cx, end);
            }
            moved |= again;
            if !again {
                return moved;
            }
        }
    }

    /// Takes packets from the network.
    fn arrive(&mut self, cx: &mut Cx<'_>, end: End) -> bool {
        let mut moved = false;
        while self.network.next(end).is_some_and(|at| at <= cx.now) {
            let len = self.network.emit(cx, end, &mut self.buffer);
            if len == 0 {
                break;
            }
            self.peers[end.index()].come(cx.now.as_nanos(), &self.buffer[..len]);
            moved = true;
        }
        moved
    }

    /// Packets go into the network.
    fn leave(&mut self, cx: &mut Cx<'_>, end: End) -> bool {
        let peer = &mut self.peers[end.index()];
        let mut moved = false;
        peer.refused = false;
        while let Some(packet) = peer.going.front() {
            if self.network.offer(cx, end, packet) == 0 {
                peer.refused = true;
                break;
            }
            peer.gone();
            moved = true;
        }
        moved
    }
}

impl Element for Quic {
    fn offer(&mut self, cx: &mut Cx<'_>, end: End, bytes: &[u8]) -> usize {
        self.advance(cx);
        let peer = &mut self.peers[end.index()];
        if !peer.is_open() {
            return 0;
        }
        let len = peer.write(bytes);
        if len > 0 {
            self.usage[end.index()].bytes_in += len as u64;
            self.touched[end.index()] = true;
            self.next_inside = self.next_inside.min(cx.now.as_nanos());
        }
        len
    }

    fn next(&self, end: End) -> Option<Instant> {
        let at = self.peers[end.index()].ready.unwrap_or(u64::MAX).min(self.next_inside);
        (at != u64::MAX).then_some(Instant(at))
    }

    fn emit(&mut self, cx: &mut Cx<'_>, end: End, into: &mut [u8]) -> usize {
        self.advance(cx);
        let peer = &mut self.peers[end.index()];
        if peer.ready.is_none() {
            return 0;
        }
        let len = peer.read(into);
        if len > 0 {
            self.usage[end.other().index()].bytes_out += len as u64;
            self.touched[end.index()] = true;
            self.next_inside = self.next_inside.min(cx.now.as_nanos());
        }
        len
    }

    fn room(&self, _: End) -> Option<Instant> {
        // More room comes with an acknowledgement, which is an event inside.
        None
    }

    fn usage(&self, end: End) -> Usage {
        let own = self.usage[end.index()];
        let below = self.network.usage(end);
        Usage { bytes_in: own.bytes_in, bytes_out: own.bytes_out, ..below }
    }

    fn calm(&mut self) {
        self.network.calm();
    }
}
