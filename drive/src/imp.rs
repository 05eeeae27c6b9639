//! The interface between a host and an IMP, in UDP datagrams in the format that emulated IMPs use.
//!
//! ```text
//! "H316" | sequence 32 | count 16 | flags 16 | count - 1 words of 16 bits of a message
//! flags: 1 last of its message, 2 ready
//! ```
//!
//! An [`ImpPort`] is a [`Port`] of whole messages, leader first: each read returns one, each write takes one.
//! It is the host end of a host-IMP interface, or (`host=`) plays the IMP of the one host behind it and
//! is itself a host of that IMP: so two hosts need nothing between them. The received sequence number is only
//! checked for duplicates; a lost datagram stays lost, because nothing below UDP counts.
//!
//! [`Live`] runs an NCP on such a port, for uses other than one user's file transfer; [`serve`] serves files;
//! [`subnet`] is the laboratory's model of the IMPs between two hosts, in real time.

mod listing;
mod live;
mod serve;
pub mod subnet;

pub use live::{Live, Stop};
pub use serve::{Guard, News, Plan, serve};

use crate::event::Source;
use crate::line::{HostPort, NcpSpec};
use crate::port::{OpenError, Port, PortFacts};
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::process::ExitStatus;
use std::time::Duration;
use wetstring_proto::arpanet::imp;
use wetstring_proto::arpanet::leader::{Address, BadLeader, Dead, Form, Kind, Leader};

const MAGIC: &[u8; 4] = b"H316";
const HEADER: usize = 12;
const LAST: u16 = 1;
const READY: u16 = 2;
/// Octets of the longest message, including padding.
const LONGEST: usize = 1100;
/// Messages waiting to be read.
const WAITING: usize = 64;

/// The host end of a host-IMP interface.
#[derive(Debug)]
pub struct ImpPort {
    socket: UdpSocket,
    to: SocketAddr,
    form: Form,
    /// We play the IMP: our host number, and the peer's.
    plays: Option<(Address, Address)>,
    facts: PortFacts,
    next: u32,
    /// The next expected sequence number.
    expected: u32,
    /// A message being received in several datagrams.
    partial: Vec<u8>,
    /// Messages from the IMP that we play.
    inside: VecDeque<Vec<u8>>,
    /// The peer has signalled ready.
    pub ready: bool,
    /// Datagrams that were not of this interface.
    pub strange: u64,
}

fn resolve(at: &HostPort) -> io::Result<SocketAddr> {
    let mut found = (at.host.as_str(), at.port).to_socket_addrs()?.filter(SocketAddr::is_ipv4);
    found.next().ok_or_else(|| ErrorKind::AddrNotAvailable.into())
}

impl ImpPort {
    /// Opens the interface, and signals ready to the peer.
    pub fn open(spec: &NcpSpec) -> Result<Self, OpenError> {
        let other = spec.imp.as_ref().or(spec.host.as_ref());
        let Some(other) = other else {
            let what = "find the IMP: expected imp=HOST:PORT or host=HOST:PORT in the line";
            return Err(OpenError::io(what, ErrorKind::InvalidInput));
        };
        let to = resolve(other).map_err(|e| OpenError::io(format!("find {other}"), e))?;
        let from = if to.ip().is_loopback() { Ipv4Addr::LOCALHOST } else { Ipv4Addr::UNSPECIFIED };
        let socket = UdpSocket::bind((from, spec.port))
            .and_then(|socket| socket.set_nonblocking(true).map(|()| socket))
            .map_err(|e| OpenError::io(format!("take UDP port {}", spec.port), e))?;
        let facts =
            PortFacts { reliable: Some(false), clear: true, ..PortFacts::named(spec.to_string()) };
        let plays = spec.host.is_some().then_some((spec.me, spec.to));
        let mut port = Self {
            socket,
            to,
            form: spec.form,
            plays,
            facts,
            next: 0,
            expected: 0,
            partial: Vec::new(),
            inside: VecDeque::new(),
            ready: false,
            strange: 0,
        };
        // A datagram without a message: the peer may not be up yet.
        let _ = port.send(&[]);
        if plays.is_some() {
            port.greet();
        }
        Ok(port)
    }

    /// The UDP port of this end.
    pub fn local_port(&self) -> u16 {
        self.socket.local_addr().map_or(0, |at| at.port())
    }

    /// The messages of an IMP that comes up.
    fn greet(&mut self) {
        let mut leader = [0; 12];
        for kind in [Kind::Nop, Kind::Nop, Kind::Nop, Kind::Reset] {
            let len = Leader::new(kind).put(self.form, &mut leader).unwrap_or(0);
            let _ = self.send(&leader[..len]);
        }
    }

    /// Sends a message in one datagram, padded to a whole word.
    fn send(&mut self, message: &[u8]) -> io::Result<usize> {
        let words = message.len().div_ceil(2);
        let count =
            u16::try_from(words + 1).map_err(|_| io::Error::from(ErrorKind::InvalidInput))?;
        let mut datagram = Vec::with_capacity(HEADER + words * 2);
        datagram.extend_from_slice(MAGIC);
        datagram.extend(self.next.to_be_bytes());
        datagram.extend(count.to_be_bytes());
        datagram.extend((LAST | READY).to_be_bytes());
        datagram.extend_from_slice(message);
        datagram.resize(HEADER + words * 2, 0);
        match self.socket.send_to(&datagram, self.to) {
            Ok(_) => {}
            // The peer is not up: timers detect the loss.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
            Err(error) => return Err(error),
        }
        self.next = self.next.wrapping_add(1);
        Ok(message.len())
    }

    /// The next whole message.
    fn next_message(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            if let Some(message) = self.inside.pop_front() {
                return Ok(Some(message));
            }
            let mut datagram = [0; 2048];
            let (len, from) = match self.socket.recv_from(&mut datagram) {
                Ok(came) => came,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => continue,
                Err(error) => return Err(error),
            };
            if len == 0 && from.ip().is_loopback() && from.port() == self.local_port() {
                continue;
            }
            let Some((flags, words)) = self.open_datagram(&datagram[..len], from) else {
                self.strange += 1;
                continue;
            };
            self.ready = flags & READY != 0;
            self.partial.extend_from_slice(words);
            if self.partial.len() > LONGEST {
                self.partial.clear();
                self.strange += 1;
            }
            if flags & LAST == 0 || self.partial.is_empty() {
                continue;
            }
            let message = std::mem::take(&mut self.partial);
            if self.plays.is_none() {
                return Ok(Some(message));
            }
            if let Some(message) = self.play(message)? {
                return Ok(Some(message));
            }
        }
    }

    /// The flags and words of a datagram of this interface.
    fn open_datagram<'d>(
        &mut self,
        datagram: &'d [u8],
        from: SocketAddr,
    ) -> Option<(u16, &'d [u8])> {
        let words = datagram.get(HEADER..)?;
        let short = |at: usize| u16::from_be_bytes([datagram[at], datagram[at + 1]]);
        let sequence = u32::from(short(4)) << 16 | u32::from(short(6));
        let right = from == self.to && datagram.starts_with(MAGIC);
        let count = usize::from(short(8));
        if !right || count != words.len() / 2 + 1 || !words.len().is_multiple_of(2) {
            return None;
        }
        // A number that went back is a duplicate, except 0: the peer has restarted.
        if sequence == 0 {
            self.partial.clear();
        } else if sequence < self.expected {
            return None;
        }
        self.expected = sequence.wrapping_add(1);
        Some((short(10), words))
    }

    /// As the peer's IMP, handles what it sends; returns what is for us.
    fn play(&mut self, mut message: Vec<u8>) -> io::Result<Option<Vec<u8>>> {
        let Some((own, theirs)) = self.plays else { return Ok(None) };
        let mut told = [0; 12];
        let mut say = |port: &mut Self, leader: &Leader, kind, subtype| {
            let len = imp::answer(port.form, leader, kind, subtype, &mut told);
            port.send(&told[..len])
        };
        match imp::forward(self.form, theirs, &mut message) {
            Ok(Some((to, leader))) if to == own => {
                if !leader.is_uncontrolled() {
                    say(self, &leader, Kind::Rfnm, 0)?;
                }
                return Ok(Some(message));
            }
            Ok(Some((_, leader))) => {
                say(self, &leader, Kind::Dead, Dead::Host.subtype())?;
            }
            Ok(None) => {}
            Err(BadLeader::Form(_)) => {
                // An error message would not be understood either, and be answered. A NOP tells the host which
                // leaders we use.
                let other = if self.form == Form::Old { Form::New } else { Form::Old };
                if Leader::parse(other, &message).is_ok_and(|it| it.kind == Kind::Regular) {
                    say(self, &Leader::new(Kind::Nop), Kind::Nop, 0)?;
                }
                return Ok(Some(message));
            }
            Err(bad) => {
                say(self, &Leader::new(Kind::LeaderError), Kind::LeaderError, bad.subtype())?;
            }
        }
        Ok(None)
    }

    /// As our own IMP, handles what we send.
    fn send_as_imp(&mut self, message: &[u8], own: Address, theirs: Address) -> io::Result<()> {
        let mut carried = message.to_vec();
        let Ok(Some((to, leader))) = imp::forward(self.form, own, &mut carried) else {
            return Ok(());
        };
        if to == theirs {
            // The RFNM says that the destination host has the message; here sending the datagram is all we
            // know.
            self.send(&carried)?;
            self.tell(&leader, Kind::Rfnm, 0);
        } else {
            self.tell(&leader, Kind::Dead, Dead::Host.subtype());
        }
        Ok(())
    }

    fn tell(&mut self, leader: &Leader, kind: Kind, subtype: u8) {
        let mut told = [0; 12];
        let len = imp::answer(self.form, leader, kind, subtype, &mut told);
        if self.inside.len() < WAITING {
            self.inside.push_back(told[..len].to_vec());
            // Wakes up the thread that polls the socket.
            let _ = self.socket.send_to(&[], (Ipv4Addr::LOCALHOST, self.local_port()));
        }
    }
}

impl Port for ImpPort {
    fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        let Some(message) = self.next_message()? else { return Ok(None) };
        let len = message.len().min(into.len());
        into[..len].copy_from_slice(&message[..len]);
        Ok(Some(len))
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<Option<usize>> {
        let sent = match self.plays {
            Some((own, theirs)) => self.send_as_imp(bytes, own, theirs),
            None => self.send(bytes).map(drop),
        };
        match sent {
            Ok(()) => Ok(Some(bytes.len())),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn rest(&self) -> Duration {
        Duration::ZERO
    }

    fn read_source(&self) -> Source<'_> {
        Source::of(&self.socket)
    }

    fn write_source(&self) -> Source<'_> {
        Source::of(&self.socket)
    }

    fn facts(&self) -> &PortFacts {
        &self.facts
    }

    fn finish(&mut self, _: Duration) -> io::Result<Option<ExitStatus>> {
        // The host is no longer ready.
        let count = 1_u16.to_be_bytes();
        let mut datagram =
            [&MAGIC[..], &self.next.to_be_bytes(), &count, &LAST.to_be_bytes()].concat();
        datagram.truncate(HEADER);
        let _ = self.socket.send_to(&datagram, self.to);
        Ok(None)
    }
}
