//! A connection of this machine joined to one over the line.

use super::socks::{self, Step, Target};
use crate::event::{Interest, Source};
use crate::os_error::in_words;
use smoltcp::iface::{Interface, SocketHandle, SocketSet};
use smoltcp::socket::{dns, tcp};
use smoltcp::wire::{DnsQueryType, IpAddress};
use socket2::SockRef;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// How long a finished connection answers a retransmitting peer: two of the stack's first timers. TCP's full
/// two minutes would hold memory for nothing.
const STRAYS: Duration = Duration::from_secs(2);

/// State of a connection.
enum Phase {
    /// SOCKS: waiting for the client's methods.
    Greeting,
    /// SOCKS: waiting for the client's request.
    Request,
    /// SOCKS: looking up a name.
    Looking(dns::QueryHandle, u16),
    /// To be opened over the line, to this address.
    Call(Ipv4Addr, u16),
    /// Opening over the line.
    Calling,
    /// The local socket is connecting.
    Reaching,
    /// Relaying in both directions.
    Joined,
    /// Both halves are closed; the peer may not have our last acknowledgement yet.
    Strays(Duration),
    /// Its last packet is sent by the next poll.
    Ending,
    Over,
}

/// Result of one turn.
#[derive(Clone, Default, Debug)]
pub(super) struct StepOutcome {
    /// Something may proceed because of it.
    pub(super) moved: bool,
    /// The offered port is in use.
    pub(super) took_port: bool,
    /// Both halves are established now.
    pub(super) joined: bool,
    /// One half could not be established: which, and why.
    pub(super) refused: Option<String>,
    /// Finished.
    pub(super) over: bool,
}

/// The two halves of a connection.
pub(super) struct Joint {
    handle: SocketHandle,
    local: Option<TcpStream>,
    phase: Phase,
    /// What it is to reach, as far as it is known.
    to: String,
    /// The SOCKS client has no answer yet.
    socks: bool,
    /// Unprocessed bytes of the client.
    said: Vec<u8>,
    /// The local program will send no more.
    local_ended: bool,
    /// The local program has been told that the line will send no more.
    told: bool,
}

impl Joint {
    /// A local program has connected; `to` is known unless it speaks SOCKS.
    pub(super) fn from_here(
        handle: SocketHandle,
        local: TcpStream,
        to: Option<(Ipv4Addr, u16)>,
    ) -> Self {
        let phase = match to {
            Some((address, port)) => Phase::Call(address, port),
            None => Phase::Greeting,
        };
        let name = to.map_or(String::new(), |(address, port)| format!("{address}:{port}"));
        Self::new(handle, Some(local), phase, name, to.is_none())
    }

    /// A host on the line has connected; `local` is connecting.
    pub(super) fn from_line(handle: SocketHandle, local: TcpStream, to: SocketAddr) -> Self {
        Self::new(handle, Some(local), Phase::Reaching, to.to_string(), false)
    }

    /// A refused connection, until its last packet is sent.
    pub(super) fn over(handle: SocketHandle) -> Self {
        Self::new(handle, None, Phase::Ending, String::new(), false)
    }

    fn new(
        handle: SocketHandle,
        local: Option<TcpStream>,
        phase: Phase,
        to: String,
        socks: bool,
    ) -> Self {
        Self { handle, local, phase, to, socks, said: Vec::new(), local_ended: false, told: false }
    }

    /// The half over the line.
    pub(super) fn handle(&self) -> SocketHandle {
        self.handle
    }

    /// What to wait for locally.
    pub(super) fn wants(&self, sockets: &SocketSet<'_>) -> Option<Interest<'_>> {
        let local = self.local.as_ref()?;
        let socket = sockets.get::<tcp::Socket<'_>>(self.handle);
        let (reads, writes) = match self.phase {
            Phase::Greeting | Phase::Request => (true, false),
            Phase::Reaching => (false, true),
            Phase::Joined => {
                (!self.local_ended && socket.can_send(), socket.recv_queue() > 0 && !self.told)
            }
            _ => (false, false),
        };
        let local = Source::of(local);
        match (reads, writes) {
            (true, writes) => Some(Interest::read_and_write(local, writes)),
            (false, true) => Some(Interest::write(local)),
            (false, false) => None,
        }
    }

    /// Time until the next event that is not one of the peer's half of the connection.
    pub(super) fn due(&self, now: Duration) -> Option<Duration> {
        match self.phase {
            Phase::Strays(until) => Some(until.saturating_sub(now)),
            Phase::Ending | Phase::Over => Some(Duration::ZERO),
            _ => None,
        }
    }

    /// Does what can be done now. `port` is free for a connection over the line.
    pub(super) fn turn(
        &mut self,
        now: Duration,
        sockets: &mut SocketSet<'_>,
        interface: &mut Interface,
        names: Option<SocketHandle>,
        port: u16,
    ) -> StepOutcome {
        match self.phase {
            Phase::Greeting | Phase::Request => self.listen(sockets, interface, names),
            Phase::Looking(query, to) => self.look(sockets, names, query, to),
            Phase::Call(address, to) => self.call(sockets, interface, (address, to), port),
            Phase::Calling => self.wait_for_line(sockets),
            Phase::Reaching => self.wait_for_local(sockets),
            Phase::Joined => self.pump(now, sockets),
            Phase::Strays(until) if now < until => StepOutcome::default(),
            Phase::Strays(_) | Phase::Ending => {
                self.phase = Phase::Over;
                StepOutcome { moved: true, ..StepOutcome::default() }
            }
            Phase::Over => StepOutcome { over: true, ..StepOutcome::default() },
        }
    }

    /// Handles the client's SOCKS messages.
    fn listen(
        &mut self,
        sockets: &mut SocketSet<'_>,
        interface: &mut Interface,
        names: Option<SocketHandle>,
    ) -> StepOutcome {
        let mut room = [0; socks::MOST];
        let free = socks::MOST - self.said.len().min(socks::MOST);
        match self.read(&mut room[..free]) {
            Ok(Some(0)) if free > 0 => return self.end(sockets, None),
            Ok(Some(len)) => self.said.extend_from_slice(&room[..len]),
            Ok(None) => {}
            Err(_) => return self.end(sockets, None),
        }
        let step = match self.phase {
            Phase::Greeting => socks::greeting(&self.said),
            _ => socks::request(&self.said),
        };
        match step {
            Step::More => return StepOutcome::default(),
            Step::Say(used, words) => {
                self.said.drain(..used);
                self.say(words);
                self.phase = Phase::Request;
            }
            Step::Refuse(words) => {
                self.say(words);
                return self.end(sockets, Some("SOCKS: a request that is not understood"));
            }
            Step::Connect(used, target) => {
                self.said.drain(..used);
                self.to = target.to_string();
                let Some(phase) = aim(sockets, interface, names, target) else {
                    self.say(&socks::UNREACHABLE);
                    return self.end(sockets, Some("a name, and --dns names no server for names"));
                };
                self.phase = phase;
            }
        }
        StepOutcome { moved: true, ..StepOutcome::default() }
    }

    fn look(
        &mut self,
        sockets: &mut SocketSet<'_>,
        names: Option<SocketHandle>,
        query: dns::QueryHandle,
        port: u16,
    ) -> StepOutcome {
        let found =
            names.map(|names| sockets.get_mut::<dns::Socket<'_>>(names).get_query_result(query));
        match found {
            Some(Err(dns::GetQueryResultError::Pending)) => return StepOutcome::default(),
            Some(Ok(addresses)) => {
                let first = addresses.iter().find_map(|address| super::v4(*address));
                if let Some(address) = first {
                    self.phase = Phase::Call(address, port);
                    return StepOutcome { moved: true, ..StepOutcome::default() };
                }
            }
            _ => {}
        }
        self.say(&socks::UNREACHABLE);
        self.end(sockets, Some("the server for names has no address for it, or no answer"))
    }

    fn call(
        &mut self,
        sockets: &mut SocketSet<'_>,
        interface: &mut Interface,
        (address, to): (Ipv4Addr, u16),
        port: u16,
    ) -> StepOutcome {
        let socket = sockets.get_mut::<tcp::Socket<'_>>(self.handle);
        if socket.connect(interface.context(), (IpAddress::Ipv4(address), to), port).is_err() {
            if self.socks {
                self.say(&socks::UNREACHABLE);
            }
            return self.end(sockets, Some("no address on the line"));
        }
        self.phase = Phase::Calling;
        StepOutcome { moved: true, took_port: true, ..StepOutcome::default() }
    }

    fn wait_for_line(&mut self, sockets: &mut SocketSet<'_>) -> StepOutcome {
        match sockets.get::<tcp::Socket<'_>>(self.handle).state() {
            tcp::State::SynSent | tcp::State::SynReceived => StepOutcome::default(),
            tcp::State::Closed => {
                if self.socks {
                    self.say(&socks::REFUSED);
                }
                self.end(sockets, Some("refused there, or no answer"))
            }
            _ => {
                if std::mem::take(&mut self.socks) {
                    self.say(&socks::GRANTED);
                }
                self.phase = Phase::Joined;
                StepOutcome { moved: true, joined: true, ..StepOutcome::default() }
            }
        }
    }

    fn wait_for_local(&mut self, sockets: &mut SocketSet<'_>) -> StepOutcome {
        let Some(local) = &self.local else { return self.end(sockets, None) };
        let error = match SockRef::from(local).take_error() {
            Ok(error) => error,
            Err(error) => Some(error),
        };
        let Some(error) = error else {
            if local.peer_addr().is_err() {
                // Still connecting; a failure shows as an error above.
                return StepOutcome::default();
            }
            self.phase = Phase::Joined;
            return StepOutcome { moved: true, joined: true, ..StepOutcome::default() };
        };
        self.end(sockets, Some(&in_words(&error)))
    }

    fn pump(&mut self, now: Duration, sockets: &mut SocketSet<'_>) -> StepOutcome {
        let socket = sockets.get_mut::<tcp::Socket<'_>>(self.handle);
        let (Ok(out), Ok(back)) = (self.send(socket), self.take(socket)) else {
            return self.end(sockets, None);
        };
        // smoltcp counts from the peer's last packet, whether or not it owes us one.
        let owed = socket.send_queue() > 0;
        socket.set_timeout(Some(if owed { super::TIMEOUT } else { super::IDLE_TIMEOUT }));
        let done = match socket.state() {
            tcp::State::Closed => true,
            tcp::State::TimeWait => self.local_ended && self.told,
            _ => false,
        };
        if done && socket.recv_queue() == 0 {
            self.local = None;
            self.phase = Phase::Strays(now + STRAYS);
        }
        StepOutcome { moved: out | back | done, ..StepOutcome::default() }
    }

    /// From the local program to the line. True if anything moved.
    fn send(&mut self, socket: &mut tcp::Socket<'_>) -> io::Result<bool> {
        let mut moved = false;
        if !self.said.is_empty() {
            let sent = socket.send_slice(&self.said).unwrap_or(0);
            self.said.drain(..sent);
            moved = sent > 0;
        }
        while self.said.is_empty() && !self.local_ended && socket.can_send() {
            let read = socket.send(|room| match self.read(room) {
                Ok(Some(len)) => (len, Ok(Some(len))),
                other => (0, other),
            });
            match read {
                Ok(Ok(None)) | Err(_) => break,
                Ok(Ok(Some(0))) => {
                    self.local_ended = true;
                    socket.close();
                }
                Ok(Ok(Some(_))) => {}
                Ok(Err(error)) => return Err(error),
            }
            moved = true;
        }
        Ok(moved)
    }

    /// From the line to the local program. True if anything moved.
    fn take(&mut self, socket: &mut tcp::Socket<'_>) -> io::Result<bool> {
        let Some(local) = &self.local else { return Ok(false) };
        let mut moved = false;
        while socket.can_recv() {
            let wrote = socket.recv(|bytes| match (&mut &*local).write(bytes) {
                Ok(len) => (len, Ok(len)),
                Err(error) => (0, Err(error)),
            });
            match wrote {
                Ok(Ok(0)) | Err(_) => break,
                Ok(Ok(_)) => moved = true,
                Ok(Err(error)) if waits(&error) => break,
                Ok(Err(error)) => return Err(error),
            }
        }
        let ended = !socket.may_recv() && socket.recv_queue() == 0;
        if ended && !self.told {
            self.told = true;
            // A program that has exited needs no shutdown.
            let _ = local.shutdown(Shutdown::Write);
            moved = true;
        }
        Ok(moved)
    }

    /// Reads from the local program: `None` if there is nothing now, 0 at the end.
    fn read(&self, into: &mut [u8]) -> io::Result<Option<usize>> {
        let Some(local) = &self.local else { return Ok(Some(0)) };
        match (&mut &*local).read(into) {
            Ok(len) => Ok(Some(len)),
            Err(error) if waits(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes a few bytes into the empty buffer of a new connection.
    fn say(&self, words: &[u8]) {
        if let Some(local) = &self.local {
            let _ = (&mut &*local).write(words);
        }
    }

    /// Aborts both halves; `why` one of them could not be established.
    fn end(&mut self, sockets: &mut SocketSet<'_>, why: Option<&str>) -> StepOutcome {
        let between = if self.to.is_empty() { "" } else { ": " };
        let refused = why.map(|why| format!("{}{between}{why}", self.to));
        sockets.get_mut::<tcp::Socket<'_>>(self.handle).abort();
        self.local = None;
        self.phase = Phase::Ending;
        StepOutcome { moved: true, refused, ..StepOutcome::default() }
    }
}

/// The next phase for a target, if it is reachable.
fn aim(
    sockets: &mut SocketSet<'_>,
    interface: &mut Interface,
    names: Option<SocketHandle>,
    target: Target,
) -> Option<Phase> {
    match target {
        Target::Address(address, port) => Some(Phase::Call(address, port)),
        Target::Name(name, port) => {
            let names = sockets.get_mut::<dns::Socket<'_>>(names?);
            let query = names.start_query(interface.context(), &name, DnsQueryType::A).ok()?;
            Some(Phase::Looking(query, port))
        }
    }
}

fn waits(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
