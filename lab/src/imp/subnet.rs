//! The IMPs, event by event.

use super::LEADER_BITS;
use super::flow::{Destination, Intake, Message, PACKETS, Source};
use super::line::{Line, Packet, What};
use super::model::{RfnmAt, SubnetModel};
use crate::agenda::Agenda;
use crate::element::{Element, End, Unit, Usage};
use crate::net::chance::Coin;
use crate::random::Random;
use std::collections::{BTreeMap, VecDeque};
use wetstring_proto::arpanet::control::LONGEST_BITS;
use wetstring_proto::arpanet::imp;
use wetstring_proto::arpanet::leader::{Address, Form, Kind, Leader};
use wetstring_proto::{Cx, Duration, Instant, TraceEvent};

/// Events.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// The first packet of a message is in the IMP of this end.
    Taken(End),
    /// A further packet is.
    Piece(End),
    /// A line has sent a packet.
    Sent(End, usize),
    /// A damaged packet is retransmitted.
    Again(Packet, usize),
    /// The IMP has processed a packet, at this hop from its source.
    Handled(Packet, usize),
    /// The host has taken the first packet of a message, or all of it.
    FirstOut(End),
    Out(End),
    /// Buffers that came with a RFNM were not used.
    Held(End, u64),
}

/// Output for a host, with the number of the message and its packets if it is one.
#[derive(Debug)]
struct Outgoing {
    octets: Vec<u8>,
    message: Option<(u32, u64)>,
}

/// The interface from an IMP to its host.
#[derive(Debug, Default)]
struct Outlet {
    /// The IMP's own messages; they go first.
    own: VecDeque<Outgoing>,
    messages: VecDeque<Outgoing>,
    under_way: Option<Outgoing>,
    /// What the host has not taken yet, and since when.
    ready: Option<(Instant, Vec<u8>)>,
}

/// IMPs in a row with a host at each end. See the [module](super).
#[derive(Debug)]
pub struct Subnet {
    model: SubnetModel,
    hosts: [Address; 2],
    agenda: Agenda<Event>,
    /// By direction, then by hop.
    lines: [Vec<Line>; 2],
    /// When an IMP's processor is free, from A to B.
    processors: Vec<Instant>,
    sources: [Source; 2],
    destinations: [Destination; 2],
    /// By the end of the host.
    outlets: [Outlet; 2],
    usage: [Usage; 2],
    /// Not yet traced values, if the trace is enabled.
    notes: Vec<(Instant, &'static str, u64)>,
    listened: bool,
    /// The IMP at this end takes no more from its host.
    held: [bool; 2],
    /// RFNMs received by hosts, and the nanoseconds since their sending.
    rfnms: (u64, u64),
    /// When RFNMs were sent, by source and message number.
    rfnm_sent: [BTreeMap<u32, Instant>; 2],
}

impl Subnet {
    /// Such a subnet, with nothing under way.
    pub fn new(model: &SubnetModel) -> Self {
        Self::between(model, SubnetModel::HOSTS)
    }

    /// The same between hosts of these numbers.
    pub fn between(model: &SubnetModel, hosts: [Address; 2]) -> Self {
        let line = |end: End, hop: u64| {
            let name = format!("{} {hop}", if end == End::A { "forward" } else { "reverse" });
            Line::new(Coin::new(model.damage, Random::stream(model.seed, "imp", &name)))
        };
        let lines = End::BOTH.map(|end| (0..model.hops).map(|hop| line(end, hop)).collect());
        Self {
            hosts,
            agenda: Agenda::new(),
            lines,
            processors: vec![Instant::ZERO; model.hops as usize + 1],
            sources: [Source::new(), Source::new()],
            destinations: End::BOTH.map(|_| Destination::new(model)),
            outlets: Default::default(),
            usage: Default::default(),
            notes: Vec::new(),
            listened: false,
            held: [false; 2],
            rfnms: (0, 0),
            rfnm_sent: Default::default(),
            model: model.clone(),
        }
    }

    fn advance(&mut self, cx: &mut Cx<'_>) {
        self.listened = cx.trace.enabled();
        while let Some((at, event)) = self.agenda.take(cx.now) {
            self.happen(&mut Cx { now: at, trace: &mut *cx.trace }, event);
        }
        for (at, name, value) in self.notes.drain(..) {
            cx.trace.record(at, &TraceEvent::Value { name, value });
        }
    }

    fn note(&mut self, at: Instant, name: &'static str, value: u64) {
        if self.listened {
            self.notes.push((at, name, value));
        }
    }

    /// A packet with this many message bits starts on the line from the IMP at this end.
    fn note_wire(&mut self, at: Instant, from: End, data_bits: u64, bits: u64, rate_bps: u64) {
        let of = |bits| u64::try_from(time(bits, rate_bps).as_nanos()).unwrap_or(0);
        let names = [["wire_fwd", "bits_fwd"], ["wire_rev", "bits_rev"]][from.index()];
        self.note(at, names[0], of(bits));
        self.note(at, names[1], of(data_bits));
    }

    /// The IMP at this end stops taking from its host, or continues.
    fn hold(&mut self, at: Instant, end: End, held: bool) {
        if std::mem::replace(&mut self.held[end.index()], held) != held {
            self.note(at, ["held_fwd", "held_rev"][end.index()], u64::from(held));
        }
    }

    fn happen(&mut self, cx: &mut Cx<'_>, event: Event) {
        let now = cx.now;
        match event {
            Event::Taken(end) => self.taken(now, end),
            Event::Piece(end) => self.piece(now, end),
            Event::Sent(from, hop) => self.sent(now, from, hop),
            Event::Again(packet, hop) => {
                let value = hop as u64;
                cx.trace.record(now, &TraceEvent::Value { name: "packet-again", value });
                self.lines[packet.from.index()][hop].put_again(packet);
                self.begin(now, packet.from, hop);
            }
            Event::Handled(packet, position) => {
                if position < self.model.hops as usize {
                    self.lines[packet.from.index()][position].put(packet);
                    self.begin(now, packet.from, position);
                } else {
                    self.arrived(now, packet);
                }
            }
            Event::FirstOut(end) => self.out(now, end, RfnmAt::First),
            Event::Out(end) => self.out(now, end, RfnmAt::Last),
            Event::Held(end, turn) => {
                let grants = &mut self.sources[end.index()].grants;
                if let Some(place) = grants.iter().position(|of| *of == turn) {
                    grants.remove(place);
                    self.say(now, end, What::GiveBack);
                }
            }
        }
    }

    /// Time of this many bits between host and IMP.
    fn host_time(&self, bits: u64) -> Duration {
        time(bits, self.model.host_bps)
    }

    /// The first packet of a host's message is there.
    fn taken(&mut self, now: Instant, end: End) {
        let intake = std::mem::replace(&mut self.sources[end.index()].intake, Intake::Free);
        let Intake::Taking(octets) = intake else { return };
        let bits = (octets.len() as u64 * 8).saturating_sub(LEADER_BITS);
        let leader = match Leader::parse(Form::Old, &octets) {
            Ok(leader) => leader,
            Err(bad) => {
                let leader = Leader { subtype: bad.subtype(), ..Leader::new(Kind::LeaderError) };
                return self.tell(now, end, leader);
            }
        };
        if leader.kind != Kind::Regular {
            return;
        }
        if leader.address != self.hosts[end.other().index()] {
            return self.tell(now, end, leader.answer(Kind::Dead, 0));
        }
        if bits > LONGEST_BITS.next_multiple_of(8) as u64 {
            return self.tell(now, end, leader.answer(Kind::Incomplete, 1));
        }
        let message = Message { leader, octets, bits };
        self.sources[end.index()].intake = Intake::Blocked(message);
        self.admit(now, end);
    }

    /// Lets the message held at the interface continue, if not too many are under way.
    fn admit(&mut self, now: Instant, end: End) {
        let source = &mut self.sources[end.index()];
        if source.sent.len() as u64 >= self.model.window {
            let blocked = matches!(source.intake, Intake::Blocked(_));
            return self.hold(now, end, blocked);
        }
        let message = match std::mem::replace(&mut source.intake, Intake::Free) {
            Intake::Blocked(message) => message,
            other => return source.intake = other,
        };
        let single = message.packets() == 1;
        let (data_bits, urgent) = (message.bits, message.is_urgent());
        let number = source.number(message);
        if single {
            self.hold(now, end, false);
            let what = What::Data { number, granted: false };
            let packet = Packet { from: end, what, data_bits, urgent };
            self.process(now, packet, 0);
        } else if !self.model.asks || source.grants.pop_front().is_some() {
            source.intake = Intake::Coming(number, 0);
            self.piece(now, end);
        } else {
            source.intake = Intake::Asked(number);
            self.hold(now, end, true);
            self.say(now, end, What::Request { number });
        }
    }

    /// A packet of a message of several is in the source IMP.
    fn piece(&mut self, now: Instant, end: End) {
        let index = end.index();
        let full = self.lines[index].first().is_some_and(Line::is_full);
        let source = &mut self.sources[index];
        let (Intake::Coming(number, piece) | Intake::Stalled(number, piece)) = source.intake else {
            return;
        };
        if full {
            source.intake = Intake::Stalled(number, piece);
            return self.hold(now, end, true);
        }
        let Some(message) = source.sent.get(&number) else { return };
        let (count, data_bits) = (message.packets(), message.bits_of(piece));
        let (next_bits, urgent) = (message.bits_of(piece + 1), message.is_urgent());
        if piece + 1 < count {
            source.intake = Intake::Coming(number, piece + 1);
            self.agenda.put(now + self.host_time(next_bits), Event::Piece(end));
        } else {
            source.intake = Intake::Free;
        }
        self.hold(now, end, false);
        // With buffers at the destination it is sent without a request.
        let what = What::Data { number, granted: true };
        self.process(now, Packet { from: end, what, data_bits, urgent }, 0);
    }

    /// An IMP sends a message of its own to the peer's IMP.
    fn say(&mut self, now: Instant, from: End, what: What) {
        self.process(now, Packet { from, what, data_bits: 0, urgent: true }, 0);
    }

    /// A packet is in an IMP, at this hop from its source.
    fn process(&mut self, now: Instant, packet: Packet, position: usize) {
        let imp = match packet.from {
            End::A => position,
            End::B => self.model.hops as usize - position,
        };
        let done = now.max(self.processors[imp]) + self.model.processing;
        self.processors[imp] = done;
        self.agenda.put(done, Event::Handled(packet, position));
    }

    fn begin(&mut self, now: Instant, from: End, hop: usize) {
        if let Some(data_bits) = self.lines[from.index()][hop].begin() {
            let bits = data_bits + self.model.overhead_bits;
            if hop == 0 {
                self.note_wire(now, from, data_bits, bits, self.model.line_bps);
            }
            self.agenda.put(now + time(bits, self.model.line_bps), Event::Sent(from, hop));
        }
    }

    fn sent(&mut self, now: Instant, from: End, hop: usize) {
        let Some((packet, damaged)) = self.lines[from.index()][hop].end() else { return };
        if damaged {
            // It began that much earlier.
            let took = time(packet.data_bits + self.model.overhead_bits, self.model.line_bps);
            if hop == 0 {
                let ns = u64::try_from(took.as_nanos()).unwrap_or(0);
                self.note(now, ["vain_fwd", "vain_rev"][from.index()], ns);
            }
            let wait = self.model.repeat.saturating_sub(took);
            self.agenda.put(now + wait, Event::Again(packet, hop));
        } else {
            self.process(now + self.model.delay, packet, hop + 1);
        }
        self.begin(now, from, hop);
        if hop == 0 && matches!(self.sources[from.index()].intake, Intake::Stalled(..)) {
            self.piece(now, from);
        }
    }

    /// A packet has reached its destination.
    fn arrived(&mut self, now: Instant, packet: Packet) {
        let from = packet.from;
        // Answers to a message come from its destination.
        let asked = from.other();
        match packet.what {
            What::Data { number, granted } => self.data(now, from, number, granted),
            What::Request { number } => {
                self.destinations[from.index()].asked.insert(number, PACKETS);
                self.serve(now, from);
            }
            What::GiveBack => {
                self.destinations[from.index()].free += PACKETS;
                self.serve(now, from);
            }
            What::Allocate { number } => self.allocated(now, asked, number),
            What::Rfnm { number, grants } => {
                let source = &mut self.sources[asked.index()];
                let Some(message) = source.sent.remove(&number) else { return };
                if grants {
                    source.turn += 1;
                    source.grants.push_back(source.turn);
                    self.agenda.put(now + self.model.hold, Event::Held(asked, source.turn));
                }
                if let Some(sent) = self.rfnm_sent[asked.index()].remove(&number) {
                    let took = now.since(sent) + self.host_time(LEADER_BITS);
                    self.rfnms.0 += 1;
                    self.rfnms.1 += u64::try_from(took.as_nanos()).unwrap_or(0);
                }
                self.tell(now, asked, message.leader.answer(Kind::Rfnm, 0));
                self.admit(now, asked);
            }
        }
    }

    fn allocated(&mut self, now: Instant, end: End, number: u32) {
        let source = &mut self.sources[end.index()];
        if matches!(source.intake, Intake::Asked(of) if of == number) {
            source.intake = Intake::Coming(number, 0);
            return self.piece(now, end);
        }
        let Some(message) = source.sent.get(&number) else { return };
        let what = What::Data { number, granted: true };
        let (data_bits, urgent) = (message.bits, message.is_urgent());
        self.process(now, Packet { from: end, what, data_bits, urgent }, 0);
    }

    /// A packet of a message is at its destination.
    fn data(&mut self, now: Instant, from: End, number: u32, granted: bool) {
        let Some(message) = self.sources[from.index()].sent.get(&number) else { return };
        let packets = message.packets();
        let destination = &mut self.destinations[from.index()];
        if destination.take(number, packets, granted)
            && destination.arrived.get(&number).is_some_and(|arrival| arrival.came == packets)
        {
            let mut octets = message.octets.clone();
            // The leader was parsed when the message was taken.
            let forwarded = imp::forward(Form::Old, self.hosts[from.index()], &mut octets).is_ok();
            debug_assert!(forwarded, "a leader that had been read");
            destination.complete(number, packets, octets);
            while let Some((number, octets)) = self.destinations[from.index()].deliver() {
                let packets =
                    self.sources[from.index()].sent.get(&number).map_or(1, Message::packets);
                let message = Some((number, packets));
                let outlet = &mut self.outlets[from.other().index()];
                outlet.messages.push_back(Outgoing { octets, message });
            }
            self.give(now, from.other());
        }
        self.serve(now, from);
    }

    fn serve(&mut self, now: Instant, from: End) {
        while let Some(number) = self.destinations[from.index()].serve() {
            self.say(now, from.other(), What::Allocate { number });
        }
    }

    /// An IMP sends a message of its own to its host.
    fn tell(&mut self, now: Instant, end: End, leader: Leader) {
        let mut octets = vec![0; Form::Old.octets()];
        if leader.put(Form::Old, &mut octets).is_some() {
            self.outlets[end.index()].own.push_back(Outgoing { octets, message: None });
            self.give(now, end);
        }
    }

    /// Starts delivering to the host of this end, if the interface is free.
    fn give(&mut self, now: Instant, end: End) {
        let outlet = &mut self.outlets[end.index()];
        if outlet.under_way.is_some() || outlet.ready.is_some() {
            return;
        }
        let next = outlet.own.pop_front().or_else(|| outlet.messages.pop_front());
        let Some(next) = next else { return };
        let bits = next.octets.len() as u64 * 8;
        let is_message = next.message.is_some();
        outlet.under_way = Some(next);
        let first = bits.min(super::flow::PACKET_BITS + LEADER_BITS);
        if is_message {
            self.agenda.put(now + self.host_time(first), Event::FirstOut(end));
        }
        self.agenda.put(now + self.host_time(bits), Event::Out(end));
    }

    /// The host has accepted the first packet of the message, or all of it.
    fn out(&mut self, now: Instant, end: End, part: RfnmAt) {
        let outlet = &mut self.outlets[end.index()];
        let message = outlet.under_way.as_ref().and_then(|outgoing| outgoing.message);
        let from = end.other();
        if part == RfnmAt::Last {
            if let Some(Outgoing { octets, .. }) = outlet.under_way.take() {
                outlet.ready = Some((now, octets));
            }
            if let Some((_, packets)) = message {
                self.destinations[from.index()].free += packets;
            }
        }
        if let Some((number, packets)) = message
            && part == self.model.rfnm
        {
            let destination = &mut self.destinations[from.index()];
            destination.arrived.remove(&number);
            destination.rfnm = number + 1;
            let grants = self.model.asks && packets > 1 && destination.has(PACKETS);
            destination.free -= if grants { PACKETS } else { 0 };
            self.rfnm_sent[from.index()].insert(number, now);
            self.say(now, end, What::Rfnm { number, grants });
        }
        self.serve(now, from);
    }
}

/// Time of this many bits at this rate.
fn time(bits: u64, rate_bps: u64) -> Duration {
    Duration::from_nanos((bits * 1_000_000_000).checked_div(rate_bps).unwrap_or(0))
}

impl Element for Subnet {
    fn offer(&mut self, cx: &mut Cx<'_>, end: End, bytes: &[u8]) -> usize {
        self.advance(cx);
        let source = &mut self.sources[end.index()];
        if bytes.is_empty() || !matches!(source.intake, Intake::Free) {
            return 0;
        }
        source.intake = Intake::Taking(bytes.to_vec());
        self.note(cx.now, ["take_fwd", "take_rev"][end.index()], bytes.len() as u64);
        let bits = bytes.len() as u64 * 8;
        let usage = &mut self.usage[end.index()];
        usage.bytes_in += bytes.len() as u64;
        usage.bits += bits;
        let first = bits.min(super::flow::PACKET_BITS + LEADER_BITS);
        if self.model.hops == 0 {
            // There is no line other than that of the host.
            let data_bits = bits.saturating_sub(LEADER_BITS);
            self.note_wire(cx.now, end, data_bits, bits, self.model.host_bps);
        }
        self.agenda.put(cx.now + self.host_time(first), Event::Taken(end));
        self.advance(cx);
        bytes.len()
    }

    fn next(&self, end: End) -> Option<Instant> {
        let ready = self.outlets[end.index()].ready.as_ref().map(|(at, _)| *at);
        ready.or_else(|| self.agenda.next())
    }

    fn emit(&mut self, cx: &mut Cx<'_>, end: End, into: &mut [u8]) -> usize {
        self.advance(cx);
        let Some((_, octets)) = self.outlets[end.index()].ready.take() else { return 0 };
        self.give(cx.now, end);
        let Some(place) = into.get_mut(..octets.len()) else {
            self.usage[end.other().index()].dropped_bytes += octets.len() as u64;
            return 0;
        };
        place.copy_from_slice(&octets);
        self.usage[end.other().index()].bytes_out += octets.len() as u64;
        octets.len()
    }

    fn room(&self, _end: End) -> Option<Instant> {
        self.agenda.next()
    }

    fn unit(&self) -> Unit {
        Unit::Datagrams
    }

    fn usage(&self, end: End) -> Usage {
        self.usage[end.index()]
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![(super::RFNMS, self.rfnms.0), (super::RFNM_NS, self.rfnms.1)]
    }

    fn calm(&mut self) {
        self.lines.iter_mut().flatten().for_each(Line::calm);
    }
}
