//! A SLIP line in the laboratory: packets of IP over anything that carries bytes, by the engines of
//! [`wetstring_proto::slip`] at both ends.
//!
//! ```text
//! hosts A -> [queue] -> [header compression] -> frames -> line, modems ... -> frames -> hosts B
//! hosts A <- frames <- line, modems ... <- frames <- [header compression] <- [queue] <- hosts B
//! ```
//!
//! A link of a network ([`crate::net::Network`]), with the elements that carry its bytes behind it:
//!
//! ```text
//! tcp:mss=256,window=4096 over slip:vj,mtu=296 over pep:dte=19200,s120=12
//! udp over slip:plain over 9600,delay=30ms then modem:line=9600
//! ```
//!
//! | parameter | meaning | default |
//! |---|---|---|
//! | `plain`, `vj`, `eleven` | headers as they are [RFC 1055], compressed [RFC 1144], or by the scheme of eleven bytes ([`wetstring_proto::slip::differential`]) | `vj` |
//! | `mtu=296` | bytes of the longest packet; longer ones are dropped, 68 to 1500 | 296 |
//! | `priority`, `fifo` | interactive traffic is prioritised, or all in order of arrival | `priority` |
//! | `queue=9472` | bytes of packets that may wait at each end | 32 of the longest |
//! | `slots=16` | connections whose headers are kept, 3 to 16 (of `vj` 256) | 16 |
//! | `rate=19200` | bit/s by which the end keeps the port's buffer short; `off`: it gives the port all that it takes | that of the port |
//! | `seed=1` | chance of the line, where it names none of its own | the scenario's |
//!
//! The hosts number their packets consecutively, as BSD and KA9Q did (smoltcp, which builds them, leaves the
//! identification 0, and that would cost three bytes in each compressed header).
//!
//! [`session`] runs a file and interactive traffic over one such line; [`ledger`] has the composition of the
//! line's bytes. docs/decisions/063 lists the assumptions.

pub mod ledger;
mod model;
pub mod session;
pub mod typing;
mod wire;

pub use ledger::Ledger;
pub use model::{Headers, SlipModel};
pub(crate) use typing::gap;
pub use typing::{EchoTimes, TypingModel};
pub use wire::Wire;

use crate::element::{Element, End, Inside, Unit, Usage};
use crate::net::headers::ip_checksum;
use std::collections::VecDeque;
use wetstring_proto::slip::{Link, LinkStats};
use wetstring_proto::{Cx, Instant};

/// Bytes that come out of the line at a time.
const PIECE: usize = 256;

/// One end of the line.
struct Side {
    link: Link<Vec<u8>>,
    /// The line accepted less than was offered.
    refused: bool,
    /// The number of the next packet.
    number: u16,
    /// Packets received that were not taken yet, and when.
    came: VecDeque<(Instant, Vec<u8>)>,
    /// Bytes of the line since the last packet.
    since_packet: usize,
    /// Output of the peer.
    ledger: Ledger,
    taken_bytes: u64,
    given_bytes: u64,
}

/// A SLIP line. See the [module](self).
pub struct SlipLine {
    line: Box<dyn Element>,
    sides: [Side; 2],
}

impl std::fmt::Debug for SlipLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let links = [&self.sides[0].link.stats(), &self.sides[1].link.stats()];
        f.debug_struct("SlipLine").field("links", &links).finish_non_exhaustive()
    }
}

impl SlipLine {
    /// A line of this model over what carries its bytes; `rates_bps` are those of the ports at A and B,
    /// 0 where a port takes no time.
    ///
    /// # Panics
    ///
    /// If the element carries datagrams.
    pub fn new(model: &SlipModel, line: Box<dyn Element>, rates_bps: [u64; 2]) -> Self {
        assert!(line.unit() == Unit::Bytes, "expected a line that carries bytes");
        let side = |rate_bps| {
            let config = model.config(rate_bps);
            let parts = config.parts(|len| vec![0; len]);
            Side {
                link: Link::new(config, parts).expect("a configuration that was checked"),
                refused: false,
                number: 1,
                came: VecDeque::new(),
                since_packet: 0,
                ledger: Ledger::default(),
                taken_bytes: 0,
                given_bytes: 0,
            }
        };
        Self { line, sides: rates_bps.map(side) }
    }

    /// The composition of the bytes from this end, as far as they have arrived at the other.
    pub fn ledger(&self, from: End) -> Ledger {
        let all = self.sides[from.index()].link.stats().line_bytes;
        Ledger { line_bytes: all, ..self.sides[from.other().index()].ledger }
    }

    /// Statistics of the engine at this end.
    pub fn link_stats(&self, end: End) -> LinkStats {
        *self.sides[end.index()].link.stats()
    }

    /// Gives the line what the engine has for it.
    fn send(&mut self, cx: &mut Cx<'_>, end: End) -> bool {
        let side = &mut self.sides[end.index()];
        let mut moved = false;
        side.refused = false;
        loop {
            let bytes = side.link.transmit(cx.now);
            if bytes.is_empty() {
                return moved;
            }
            let taken = self.line.offer(cx, end, bytes);
            side.refused = taken < bytes.len();
            side.link.transmitted(cx.now, taken);
            if taken == 0 {
                return moved;
            }
            moved = true;
        }
    }

    /// Reads what has arrived from the line.
    fn receive(&mut self, cx: &mut Cx<'_>, end: End) -> bool {
        let side = &mut self.sides[end.index()];
        let mut piece = [0; PIECE];
        let mut moved = false;
        loop {
            let len = self.line.emit(cx, end, &mut piece);
            if len == 0 {
                return moved;
            }
            moved = true;
            let mut rest = &piece[..len];
            while !rest.is_empty() {
                let dropped = dropped(&side.link);
                let (used, packet) = side.link.receive(rest);
                side.since_packet += used;
                rest = &rest[used.max(1).min(rest.len())..];
                if let Some(packet) = packet {
                    side.ledger.add(packet, std::mem::take(&mut side.since_packet));
                    side.came.push_back((cx.now, packet.to_vec()));
                } else if dropped != self::dropped(&side.link) {
                    // These bytes are of no packet.
                    side.since_packet = 0;
                }
            }
        }
    }
}

impl Inside for SlipLine {
    fn next_inside(&self) -> Option<Instant> {
        let of = |end: End| {
            let side = &self.sides[end.index()];
            let room = self.line.room(end).filter(|_| side.refused);
            let chooses = side.link.deadline().filter(|_| !side.refused);
            self.line.next(end).into_iter().chain(room).chain(chooses).min()
        };
        End::BOTH.into_iter().filter_map(of).min()
    }

    fn settle(&mut self, cx: &mut Cx<'_>) -> bool {
        let mut moved = false;
        loop {
            let mut again = false;
            for end in End::BOTH {
                again |= self.send(cx, end);
                again |= self.receive(cx, end);
            }
            moved |= again;
            if !again {
                return moved;
            }
        }
    }
}

/// Frames that gave no packet.
fn dropped(link: &Link<Vec<u8>>) -> u64 {
    link.stats().refused + link.decoder_stats().dropped()
}

/// Gives a packet of IPv4 its number.
fn number(packet: &mut [u8], number: u16) {
    let Some(header) = packet.first_chunk_mut::<20>().filter(|header| header[0] == 0x45) else {
        return;
    };
    header[4..6].copy_from_slice(&number.to_be_bytes());
    header[10..12].fill(0);
    let sum = ip_checksum(header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
}

impl Element for SlipLine {
    /// Accepts every packet; one that is too long, or that finds the queue full, is dropped.
    fn offer(&mut self, cx: &mut Cx<'_>, end: End, bytes: &[u8]) -> usize {
        self.advance(cx);
        let side = &mut self.sides[end.index()];
        let mut packet = bytes.to_vec();
        number(&mut packet, side.number);
        side.number = side.number.wrapping_add(1);
        if side.link.put(cx.now, &packet).is_ok() {
            side.taken_bytes += bytes.len() as u64;
        }
        self.settle(cx);
        bytes.len()
    }

    fn next(&self, end: End) -> Option<Instant> {
        let came = self.sides[end.index()].came.front().map(|(at, _)| *at);
        came.or_else(|| self.next_inside())
    }

    fn emit(&mut self, cx: &mut Cx<'_>, end: End, into: &mut [u8]) -> usize {
        self.advance(cx);
        let side = &mut self.sides[end.index()];
        let Some((_, packet)) = side.came.pop_front() else { return 0 };
        // One that is too long for the buffer is lost.
        let Some(place) = into.get_mut(..packet.len()) else { return 0 };
        place.copy_from_slice(&packet);
        side.given_bytes += packet.len() as u64;
        packet.len()
    }

    fn room(&self, _: End) -> Option<Instant> {
        None
    }

    fn unit(&self) -> Unit {
        Unit::Datagrams
    }

    fn usage(&self, end: End) -> Usage {
        let (near, far) = (&self.sides[end.index()], &self.sides[end.other().index()]);
        Usage { bytes_in: near.taken_bytes, bytes_out: far.given_bytes, ..self.line.usage(end) }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let [fwd, rev] = End::BOTH.map(|end| self.ledger(end));
        let mut counters = fwd.counters(&ledger::FWD);
        counters.extend(rev.counters(&ledger::REV));
        let busy = End::BOTH.map(|end| self.line.usage(end).busy_ns);
        counters.extend([("busy_fwd", busy[0]), ("busy_rev", busy[1])]);
        counters.extend(self.line.counters());
        counters
    }

    fn calm(&mut self) {
        self.line.calm();
    }
}
