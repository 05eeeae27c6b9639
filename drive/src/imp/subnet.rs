//! The laboratory's subnet in real time: the IMPs of two hosts, which send them datagrams as to any IMP.
//!
//! ```text
//! host <- UDP -> ImpPort <-> element of the laboratory <-> ImpPort <- UDP -> host
//! ```

use super::ImpPort;
use crate::clock::Clock;
use crate::event::{self, Interest};
use crate::line::NcpSpec;
use crate::live::{Report, Stop, Until};
use crate::port::{OpenError, Port};
use crate::signals::Signals;
use std::io::{self, ErrorKind};
use std::time::Duration;
use wetstring_lab::element::{Element, End};
use wetstring_lab::imp::{Subnet, SubnetModel};
use wetstring_proto::arpanet::imp;
use wetstring_proto::arpanet::leader::{Address, Dead, Form, Kind, Leader};
use wetstring_proto::{Cx, Instant, Trace};

/// Octets of the longest message that a host takes.
const LONGEST: usize = 2048;
/// Messages moved before the clock is read again.
const BATCH: usize = 64;

/// The ends of a subnet: the address of the host at each, and its number.
#[derive(Debug)]
pub struct SubnetEnds([Side; 2]);

#[derive(Debug)]
struct Side {
    end: End,
    port: ImpPort,
    /// A message that the subnet has not accepted yet.
    waiting: Option<Vec<u8>>,
    /// The host has sent a NOP, and nothing else since.
    coming_up: bool,
}

/// Opens both ends, `ncp://HOST?host=HOST:PORT&port=N` each: the number of the host, its address, and the UDP
/// port that it uses as its IMP's.
///
/// # Errors
///
/// A line without `host=`, new leaders, two hosts with one number, and system errors.
pub fn open(specs: [&NcpSpec; 2]) -> Result<SubnetEnds, OpenError> {
    let bad = |what: &str| OpenError::io(what, ErrorKind::InvalidInput);
    if specs[0].to == specs[1].to {
        return Err(bad("join two hosts: expected two numbers, both are the same"));
    }
    let side = |end: End| {
        let spec = specs[end.index()];
        if spec.form != Form::Old {
            return Err(bad("be an IMP here: expected old leaders, got leader=new"));
        }
        if spec.host.is_none() {
            return Err(bad("find the host: expected host=HOST:PORT in the line"));
        }
        // For the port, the host is in the place of an IMP.
        let spec = NcpSpec { imp: spec.host.clone(), host: None, ..spec.clone() };
        let mut port = ImpPort::open(&spec)?;
        port.greet();
        Ok(Side { end, port, waiting: None, coming_up: false })
    };
    Ok(SubnetEnds([side(End::A)?, side(End::B)?]))
}

impl SubnetEnds {
    /// The UDP ports that the hosts at A and B use as their IMPs'.
    pub fn local_ports(&self) -> [u16; 2] {
        [&self.0[0], &self.0[1]].map(|side| side.port.local_port())
    }
}

/// Runs a subnet between two hosts.
///
/// # Errors
///
/// If an end or waiting fails.
pub fn run(
    model: &SubnetModel,
    specs: [&NcpSpec; 2],
    ends: SubnetEnds,
    until: Until<'_>,
    trace: &mut dyn Trace,
) -> io::Result<Report> {
    let hosts = specs.map(|spec| spec.to);
    let mut live = Live {
        subnet: Subnet::between(model, hosts),
        hosts,
        sides: ends.0,
        clock: Clock::start(),
        scale: until.scale.max(1),
    };
    let stop = loop {
        let real = live.clock.now().since(Instant::ZERO);
        if let Some(signal) = until.signals.and_then(Signals::last) {
            break Stop::Signal(signal);
        }
        let left = until.after.map(|after| after.saturating_sub(real));
        if left == Some(Duration::ZERO) {
            break Stop::Time;
        }
        if !live.turn(trace)? {
            live.wait(until.signals, left)?;
        }
    };
    for side in &mut live.sides {
        let _ = side.port.finish(Duration::ZERO);
    }
    Ok(Report {
        stop,
        usage: End::BOTH.map(|end| live.subnet.usage(end)),
        elapsed: live.now().since(Instant::ZERO),
    })
}

struct Live {
    subnet: Subnet,
    hosts: [Address; 2],
    sides: [Side; 2],
    clock: Clock,
    scale: u32,
}

impl Live {
    /// The model's time.
    fn now(&self) -> Instant {
        Instant(self.clock.now().as_nanos().saturating_mul(u64::from(self.scale)))
    }

    /// Moves what can be moved now; returns whether anything moved.
    fn turn(&mut self, trace: &mut dyn Trace) -> io::Result<bool> {
        let mut moved = false;
        let mut message = [0; LONGEST];
        for _ in 0..BATCH {
            let before = moved;
            moved = false;
            for end in End::BOTH {
                let now = self.now();
                let other = &self.sides[end.other().index()];
                let down = (!other.port.ready).then_some(self.hosts[end.other().index()]);
                let side = &mut self.sides[end.index()];
                if side.waiting.is_none()
                    && let Some(len) = side.port.read(&mut message)?
                {
                    match down.and_then(|host| dead(&message[..len], host)) {
                        Some(answer) => side.port.write(&answer).map(drop)?,
                        None => side.heard(&message[..len]),
                    }
                    moved = true;
                }
                let cx = &mut Cx { now, trace: &mut *trace };
                if let Some(waiting) = &side.waiting
                    && self.subnet.offer(cx, end, waiting) > 0
                {
                    side.waiting = None;
                    moved = true;
                }
                let len = self.subnet.emit(cx, end, &mut message);
                if len > 0 {
                    // What the system does not accept is lost, as any datagram may be.
                    side.port.write(&message[..len])?;
                    moved = true;
                }
            }
            if !moved {
                return Ok(before);
            }
        }
        Ok(true)
    }

    /// Waits for the hosts, and for messages under way.
    fn wait(&self, signals: Option<&Signals>, left: Option<Duration>) -> io::Result<()> {
        let lies = |side: &Side| {
            let room = self.subnet.room(side.end).filter(|_| side.waiting.is_some());
            self.subnet.next(side.end).into_iter().chain(room).min()
        };
        let due = self.sides.iter().filter_map(lies).min().map(|due| {
            let real = Instant(due.as_nanos().div_ceil(u64::from(self.scale)));
            real.since(self.clock.now())
        });
        let timeout = due.into_iter().chain(left).min();
        let readable = self.sides.iter().filter(|side| side.waiting.is_none());
        let mut interests: Vec<_> =
            readable.map(|side| Interest::read(side.port.read_source())).collect();
        interests.extend(signals.map(|signals| Interest::read(signals.source())));
        event::wait(&mut interests, timeout).map(drop)
    }
}

/// The IMP's answer about a message to `host`, which is not up; `None` if it is for another host.
fn dead(message: &[u8], host: Address) -> Option<Vec<u8>> {
    let sent = Leader::parse(Form::Old, message).ok()?;
    if sent.kind != Kind::Regular || sent.address != host {
        return None;
    }
    let mut answer = vec![0; Form::Old.octets()];
    let len = imp::answer(Form::Old, &sent, Kind::Dead, Dead::Host.subtype(), &mut answer);
    answer.truncate(len);
    Some(answer)
}

impl Side {
    /// A message from the host.
    fn heard(&mut self, message: &[u8]) {
        let is_nop = Leader::parse(Form::Old, message).is_ok_and(|leader| leader.kind == Kind::Nop);
        if is_nop && !std::mem::replace(&mut self.coming_up, true) {
            // It comes up, and may have missed earlier messages.
            self.port.greet();
        }
        self.coming_up &= is_nop;
        self.waiting = Some(message.to_vec());
    }
}
