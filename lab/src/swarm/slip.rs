//! SLIP in the swarm: several TCP connections, both ways, over one line with its noise.
//!
//! Each connection carries its own bytes from A, and B's answer to them; other packets come between: datagrams,
//! fragments, packets that must not be compressed. Whatever the line does, a connection's output must equal its
//! input, byte by byte, except for what TCP's checksum misses; on a line without damage, so must the other
//! packets. When the faults have stopped, everything must arrive.

use super::{Failed, Fault, Run, any_line, words};
use crate::digest::Tap;
use crate::element::{Element, End, Unit, Usage};
use crate::net::DATAGRAM_MAX;
use crate::net::headers::ip_checksum;
use crate::pair::Stop;
use crate::pattern::Pattern;
use crate::random::Random;
use crate::serial::LineModel;
use crate::slip::{SlipLine, SlipModel};
use crate::tcp::{Congestion, Tcp, TcpModel};
use crate::trace::Recorder;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use wetstring_proto::TraceEvent;
use wetstring_proto::{Cx, Duration, Instant};

const REPLAY: &str = "wst lab swarm --protocol slip --seed {seed} --trace FILE";
/// The faults stop then, and the run must end within the other.
const FAULTS_LAST: Duration = Duration::from_secs(300);
const TIME_LIMIT: Duration = Duration::from_secs(50_000);
/// Different moments of a run, and turns at one of them.
const EVENTS: u64 = 3_000_000;
const TURNS: u32 = 100_000;
/// The port at B of the first connection.
const PORT: u16 = 2000;

/// Picked by a seed.
#[derive(Clone, Debug)]
struct Plan {
    slip: SlipModel,
    line: LineModel,
    connections: Vec<(TcpModel, [u64; 2])>,
    /// Packets that are no TCP, or no whole one: when, from where, and what.
    others: Vec<(Instant, End, Vec<u8>)>,
}

/// A packet of IPv4 of this protocol: a whole one, or a fragment.
fn other(random: &mut Random, mtu: usize) -> Vec<u8> {
    let len = random.between(1, mtu as u64 - 28) as usize;
    let mut packet = vec![0; 20];
    packet[0] = 0x45;
    packet[8] = 64;
    packet[9] = random.pick(&[1, 17, 6]);
    packet[2..4].copy_from_slice(&((20 + len) as u16).to_be_bytes());
    let offset = random.between(1, 100) as u16;
    // A TCP of which this is not the beginning, or with more behind it.
    let field = random.pick(&[offset, 0x2000 | offset, 0x2000]);
    let whole = packet[9] != 6 && random.one_in(2);
    packet[6..8].copy_from_slice(&(if whole { 0 } else { field }).to_be_bytes());
    packet[12..20].copy_from_slice(&[172, 16, 1, random.below(250) as u8, 172, 16, 2, 1]);
    packet.extend((0..len).map(|_| random.bits() as u8));
    let sum = ip_checksum(&packet[..20]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet
}

fn plan(seed: u64) -> Plan {
    let mut random = Random::stream(seed, "swarm", "slip");
    let mut line = any_line(&mut Random::stream(seed, "swarm", "line"));
    line.rate_bps = random.pick(&[2400, 9600, 19_200, 115_200]);
    // One line in four damages nothing.
    if random.one_in(4) {
        line = LineModel {
            rate_bps: line.rate_bps,
            delay: line.delay,
            buffer_bytes: line.buffer_bytes,
            seed: line.seed,
            ..LineModel::default()
        };
    }
    let mtu: usize = random.pick(&[128, 296, 296, 576, 1006, 1500]);
    let headers = random.pick(&["plain", "vj", "vj", "vj", "eleven"]);
    let slots = random.pick(&[3, 4, 16]);
    let queue = random.pick(&["fifo", "priority"]);
    let text = format!("slip:{headers},mtu={mtu},slots={slots},{queue} over {line}");
    let slip = text.parse::<SlipModel>().expect("a description of the laboratory");
    let connections = random.between(1, 5);
    let connections = (0..connections).map(|index| {
        let tcp = TcpModel {
            mss_bytes: mtu - 40,
            // With less than two segments the stack may wait for a window that does not open.
            window_bytes: [random.pick(&[512, 2048, 8192]).max(2 * (mtu - 40)); 2],
            send_bytes: [4096; 2],
            nagle: random.one_in(2),
            congestion: random.pick(&[Congestion::None, Congestion::Reno, Congestion::Cubic]),
            handshake: random.one_in(2),
            port: PORT + index as u16,
            checks: true,
            seed: random.bits(),
            ..TcpModel::default()
        };
        let longest = random.pick(&[1, 100, 4000]);
        (tcp, [random.between(1, longest), random.between(0, longest)])
    });
    let connections = connections.collect();
    let others = (0..random.pick(&[0, 5, 30])).map(|_| {
        let at = Instant::ZERO + Duration::from_millis(random.below(20_000));
        (at, random.pick(&End::BOTH), other(&mut random, mtu))
    });
    let mut others: Vec<_> = others.collect();
    others.sort_by_key(|(at, ..)| *at);
    Plan { slip, line, connections, others }
}

/// The line, and its output per connection; after those, the output of no connection.
struct Shared {
    line: SlipLine,
    came: Vec<[VecDeque<Vec<u8>>; 2]>,
    into: Vec<u8>,
}

/// The line as one connection has it.
struct Share {
    shared: Rc<RefCell<Shared>>,
    flow: usize,
}

impl Shared {
    fn sort(&mut self, cx: &mut Cx<'_>, end: End) {
        loop {
            let len = self.line.emit(cx, end, &mut self.into);
            if len == 0 {
                return;
            }
            let packet = self.into[..len].to_vec();
            let stray = self.came.len() - 1;
            let flow = flow(&packet, stray);
            self.came[flow.unwrap_or(stray)][end.index()].push_back(packet);
        }
    }
}

/// Which of the connections a packet is of, by the port at B. Those at A are far from it.
fn flow(packet: &[u8], connections: usize) -> Option<usize> {
    let header = packet.get(..20).filter(|header| header[0] == 0x45 && header[9] == 6)?;
    if header[6] & 0x3F != 0 || header[7] != 0 {
        return None;
    }
    let port = |at: usize| Some(u16::from_be_bytes([*packet.get(at)?, *packet.get(at + 1)?]));
    let of = |port: u16| port.checked_sub(PORT).map(usize::from).filter(|of| *of < connections);
    [port(20)?, port(22)?].into_iter().find_map(of)
}

impl Element for Share {
    fn offer(&mut self, cx: &mut Cx<'_>, end: End, bytes: &[u8]) -> usize {
        self.shared.borrow_mut().line.offer(cx, end, bytes)
    }

    fn next(&self, end: End) -> Option<Instant> {
        let shared = self.shared.borrow();
        let here = !shared.came[self.flow][end.index()].is_empty();
        if here { Some(Instant::ZERO) } else { shared.line.next(end) }
    }

    fn emit(&mut self, cx: &mut Cx<'_>, end: End, into: &mut [u8]) -> usize {
        let mut shared = self.shared.borrow_mut();
        shared.sort(cx, end);
        let Some(packet) = shared.came[self.flow][end.index()].pop_front() else { return 0 };
        let Some(place) = into.get_mut(..packet.len()) else { return 0 };
        place.copy_from_slice(&packet);
        packet.len()
    }

    fn room(&self, _: End) -> Option<Instant> {
        None
    }

    fn unit(&self) -> Unit {
        Unit::Datagrams
    }

    fn usage(&self, end: End) -> Usage {
        self.shared.borrow().line.usage(end)
    }
}

/// One connection and its bytes, from A and from B.
struct Flow {
    tcp: Tcp,
    wanted: [u64; 2],
    put: [u64; 2],
    got: [u64; 2],
}

struct Session<'a> {
    plan: &'a Plan,
    shared: Rc<RefCell<Shared>>,
    flows: Vec<Flow>,
    pattern: Pattern,
    into: Vec<u8>,
    /// The others that have been sent.
    sent: usize,
    /// The other packets that arrived unchanged, by their index.
    came: u64,
}

impl Session<'_> {
    /// What a connection says in this direction is not what another does.
    fn place(flow: usize, end: End) -> u64 {
        (flow as u64 * 2 + end.index() as u64) * 7919
    }

    /// Everything that happens at one time.
    fn turn(&mut self, now: Instant, recorder: &mut Recorder) -> Result<(), Fault> {
        for _ in 0..TURNS {
            let mut moved = self.send_others(now, recorder);
            for index in 0..self.flows.len() {
                self.flows[index].tcp.look_again();
                for end in End::BOTH {
                    moved |= self.exchange(now, recorder, index, end)?;
                }
            }
            moved |= self.take_others(now, recorder)?;
            if !moved {
                return Ok(());
            }
        }
        Err(Fault::NoEnd(Stop::Storm))
    }

    /// A connection takes bytes at this end, and returns those delivered at the other.
    fn exchange(
        &mut self,
        now: Instant,
        recorder: &mut Recorder,
        index: usize,
        end: End,
    ) -> Result<bool, Fault> {
        let mut trace = recorder.of("line");
        let cx = &mut Cx { now, trace: &mut trace };
        let flow = &mut self.flows[index];
        let (from, to) = (end.index(), end.other());
        // B answers. Where both have lost data at the same time, the stack (smoltcp 0.14) never comes out
        // of it: each acknowledges under a number that the other takes for old.
        let may = end == End::A || flow.got[0] == flow.wanted[0];
        let left = if may { flow.wanted[from] - flow.put[from] } else { 0 };
        let want = left.min(2000) as usize;
        let base = Self::place(index, end);
        let bytes = self.pattern.at(base + flow.put[from], want);
        let put = if want == 0 { 0 } else { flow.tcp.offer(cx, end, bytes) };
        flow.put[from] += put as u64;
        let len = flow.tcp.emit(cx, to, &mut self.into);
        if !self.pattern.is(base + flow.got[from], &self.into[..len]) {
            let at = flow.got[from];
            return Err(Fault::Fooled(format!(
                "connection {index} from {end:?} gave other bytes than it was given, at or behind {at}"
            )));
        }
        flow.got[from] += len as u64;
        if put + len > 0 {
            let (put, got) = (flow.put[from], flow.got[from]);
            let who = ["A", "B"][from];
            for (name, value) in [("connection", index as u64), ("put", put), ("came", got)] {
                recorder.note(now, who, &TraceEvent::Value { name, value });
            }
        }
        if flow.got[from] > flow.put[from] {
            let (got, put) = (flow.got[from], flow.put[from]);
            let what = format!("connection {index} from {end:?} gave {got} bytes of {put}");
            return Err(Fault::FalseSuccess(what));
        }
        Ok(put + len > 0)
    }

    fn send_others(&mut self, now: Instant, recorder: &mut Recorder) -> bool {
        let mut trace = recorder.of("line");
        let cx = &mut Cx { now, trace: &mut trace };
        let before = self.sent;
        while let Some((at, end, packet)) = self.plan.others.get(self.sent)
            && *at <= cx.now
        {
            self.shared.borrow_mut().line.offer(cx, *end, packet);
            self.sent += 1;
        }
        self.sent > before
    }

    /// On a clean line, a packet of no known connection is one of those that were sent.
    fn take_others(&mut self, now: Instant, recorder: &mut Recorder) -> Result<bool, Fault> {
        let mut trace = recorder.of("line");
        let cx = &mut Cx { now, trace: &mut trace };
        let mut shared = self.shared.borrow_mut();
        let stray = shared.came.len() - 1;
        let mut moved = false;
        for end in End::BOTH {
            shared.sort(cx, end);
            while let Some(packet) = shared.came[stray][end.index()].pop_front() {
                moved = true;
                let known = self.plan.others[..self.sent].iter().any(|(_, from, sent)| {
                    // The line numbers its packets: two bytes, and the check.
                    let same = |range: std::ops::Range<usize>| {
                        sent.get(range.clone()) == packet.get(range)
                    };
                    *from == end.other()
                        && sent.len() == packet.len()
                        && same(0..4)
                        && same(6..10)
                        && sent[12..] == packet[12..]
                });
                self.came += u64::from(known);
                if !known && !self.plan.is_noisy() {
                    let what =
                        format!("a packet came out at {end:?} that was not sent: {packet:02x?}");
                    return Err(Fault::FalseSuccess(what));
                }
            }
        }
        Ok(moved)
    }

    fn is_done(&self) -> bool {
        self.sent == self.plan.others.len() && self.flows.iter().all(|flow| flow.got == flow.wanted)
    }

    fn next(&self) -> Option<Instant> {
        let flows = self.flows.iter().flat_map(|flow| End::BOTH.map(|end| flow.tcp.next(end)));
        let other = self.plan.others.get(self.sent).map(|(at, ..)| *at);
        let shared = self.shared.borrow();
        let line = End::BOTH.map(|end| shared.line.next(end));
        flows.chain(line).chain([other]).flatten().min()
    }
}

impl Plan {
    fn is_noisy(&self) -> bool {
        let LineModel { bit_errors, burst, drop, duplicate, .. } = &self.line;
        let never = crate::serial::Probability::NEVER;
        *bit_errors != never || burst.is_some() || *drop != never || *duplicate != never
    }
}

fn run(plan: &Plan, recorder: &mut Recorder) -> Result<Run, Fault> {
    let mut came = Vec::new();
    came.resize_with(plan.connections.len() + 1, Default::default);
    let wire = recorder.wire().clone();
    let line = plan.slip.build_over(|line| Box::new(Tap::new(line, wire)));
    let shared = Shared { line, came, into: vec![0; DATAGRAM_MAX] };
    let shared = Rc::new(RefCell::new(shared));
    let flows = plan.connections.iter().enumerate().map(|(flow, (model, wanted))| {
        let share = Share { shared: Rc::clone(&shared), flow };
        let tcp = Tcp::new(model, Box::new(share), &Default::default());
        Flow { tcp, wanted: *wanted, put: [0; 2], got: [0; 2] }
    });
    let mut session = Session {
        plan,
        flows: flows.collect(),
        shared,
        pattern: Pattern::new(),
        into: vec![0; 1 << 14],
        sent: 0,
        came: 0,
    };
    let (mut now, mut events, mut calm) = (Instant::ZERO, 0, false);
    loop {
        events += 1;
        session.turn(now, recorder)?;
        if session.is_done() {
            break;
        }
        if events > EVENTS {
            return Err(Fault::NoEnd(Stop::EventLimit));
        }
        let next = session.next().ok_or(Fault::NoEnd(Stop::Stalled))?;
        now = next.max(Instant(now.as_nanos() + 1));
        if !calm && now >= Instant::ZERO + FAULTS_LAST {
            calm = true;
            session.shared.borrow_mut().line.calm();
        }
        if now > Instant::ZERO + TIME_LIMIT {
            return Err(Fault::NoEnd(Stop::TimeLimit));
        }
    }
    let hits = End::BOTH.map(|end| {
        let usage = session.shared.borrow().line.usage(end);
        usage.damaged_bytes + usage.dropped_bytes + usage.duplicated_bytes
    });
    Ok(Run { done: true, hits: hits[0] + hits[1], retransmissions: 0, events, verified: false })
}

/// Runs one seed.
pub fn one(seed: u64, recorder: &mut Recorder) -> Result<Run, Box<Failed>> {
    let plan = plan(seed);
    let fail = |fault| {
        let Plan { slip, connections, others, .. } = &plan;
        let others = others.len();
        let of = |(tcp, bytes): &(TcpModel, [u64; 2])| format!("{tcp} {bytes:?}");
        let all: Vec<String> = connections.iter().map(of).collect();
        let description = format!("{slip}; {}; {others} other packets", all.join("; "));
        let replay = REPLAY.replace("{seed}", &seed.to_string());
        Box::new(Failed { seed, fault, description, replay })
    };
    match catch_unwind(AssertUnwindSafe(|| run(&plan, recorder))) {
        Ok(ran) => ran.map_err(fail),
        Err(panic) => Err(fail(Fault::Panic(words(panic.as_ref())))),
    }
}
