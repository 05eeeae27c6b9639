//! One connection of this machine joined to one over the line.

use super::socks::{self, Step, Target};
use rustix::event::PollFlags;
use smoltcp::iface::{Interface, SocketHandle, SocketSet};
use smoltcp::socket::{dns, tcp};
use smoltcp::wire::{DnsQueryType, IpAddress};
use socket2::SockRef;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// How long a connection that is done answers the partner that asks once more: two of the stack's
/// first timers. All of TCP's two minutes would keep memory for nobody.
const STRAYS: Duration = Duration::from_secs(2);

/// How far a connection is.
enum Phase {
    /// SOCKS: the client says which methods it has.
    Greeting,
    /// SOCKS: the client says where to.
    Request,
    /// SOCKS: a name is looked up.
    Looking(dns::QueryHandle, u16),
    /// Over the line, to this address.
    Call(Ipv4Addr, u16),
    /// It has been called.
    Calling,
    /// The socket of this machine is connecting.
    Reaching,
    /// Bytes go both ways.
    Joined,
    /// Both halves are done; the partner may not have heard our last acknowledgement by then.
    Strays(Duration),
    /// Its last word leaves with the next poll.
    Ending,
    Over,
}

/// What one turn has done.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Turned {
    /// Something may go on because of it.
    pub(super) moved: bool,
    /// The port that was offered is in use.
    pub(super) took_port: bool,
    /// Both halves stand now.
    pub(super) joined: bool,
    /// One half could not be made.
    pub(super) refused: bool,
    /// Nothing is left to do.
    pub(super) over: bool,
}

/// Two halves of a connection.
pub(super) struct Joint {
    handle: SocketHandle,
    local: Option<TcpStream>,
    phase: Phase,
    /// The client speaks SOCKS and has no answer yet.
    socks: bool,
    /// What the client said that has not been used.
    said: Vec<u8>,
    /// The program here will send no more.
    local_ended: bool,
    /// The program here has been told that the line will send no more.
    told: bool,
}

impl Joint {
    /// A program here has connected; `to` is known unless it speaks SOCKS.
    pub(super) fn from_here(
        handle: SocketHandle,
        local: TcpStream,
        to: Option<(Ipv4Addr, u16)>,
    ) -> Self {
        let phase = match to {
            Some((address, port)) => Phase::Call(address, port),
            None => Phase::Greeting,
        };
        Self::new(handle, Some(local), phase, to.is_none())
    }

    /// Somebody behind the line has connected; `local` is on its way.
    pub(super) fn from_line(handle: SocketHandle, local: TcpStream) -> Self {
        Self::new(handle, Some(local), Phase::Reaching, false)
    }

    /// A connection that was refused, until its last word has left.
    pub(super) fn over(handle: SocketHandle) -> Self {
        Self::new(handle, None, Phase::Ending, false)
    }

    fn new(handle: SocketHandle, local: Option<TcpStream>, phase: Phase, socks: bool) -> Self {
        Self { handle, local, phase, socks, said: Vec::new(), local_ended: false, told: false }
    }

    /// The half over the line.
    pub(super) fn handle(&self) -> SocketHandle {
        self.handle
    }

    /// What to wait for here, and on what.
    pub(super) fn wants(&self, sockets: &SocketSet<'_>) -> Option<(BorrowedFd<'_>, PollFlags)> {
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
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::IN, reads);
        flags.set(PollFlags::OUT, writes);
        (!flags.is_empty()).then_some((local.as_fd(), flags))
    }

    /// How long until it has something to do by itself, besides what its half over the line has.
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
    ) -> Turned {
        match self.phase {
            Phase::Greeting | Phase::Request => self.listen(sockets, interface, names),
            Phase::Looking(query, to) => self.look(sockets, names, query, to),
            Phase::Call(address, to) => self.call(sockets, interface, (address, to), port),
            Phase::Calling => self.wait_for_line(sockets),
            Phase::Reaching => self.wait_for_local(sockets),
            Phase::Joined => self.pump(now, sockets),
            Phase::Strays(until) if now < until => Turned::default(),
            Phase::Strays(_) | Phase::Ending => {
                self.phase = Phase::Over;
                Turned { moved: true, ..Turned::default() }
            }
            Phase::Over => Turned { over: true, ..Turned::default() },
        }
    }

    /// What a client of SOCKS says.
    fn listen(
        &mut self,
        sockets: &mut SocketSet<'_>,
        interface: &mut Interface,
        names: Option<SocketHandle>,
    ) -> Turned {
        let mut room = [0; socks::MOST];
        let free = socks::MOST - self.said.len().min(socks::MOST);
        match self.read(&mut room[..free]) {
            Ok(Some(0)) if free > 0 => return self.end(sockets, false),
            Ok(Some(len)) => self.said.extend_from_slice(&room[..len]),
            Ok(None) => {}
            Err(_) => return self.end(sockets, false),
        }
        let step = match self.phase {
            Phase::Greeting => socks::greeting(&self.said),
            _ => socks::request(&self.said),
        };
        match step {
            Step::More => return Turned::default(),
            Step::Say(used, words) => {
                self.said.drain(..used);
                self.say(words);
                self.phase = Phase::Request;
            }
            Step::Refuse(words) => {
                self.say(words);
                return self.end(sockets, true);
            }
            Step::Connect(used, target) => {
                self.said.drain(..used);
                let Some(phase) = aim(sockets, interface, names, target) else {
                    self.say(&socks::UNREACHABLE);
                    return self.end(sockets, true);
                };
                self.phase = phase;
            }
        }
        Turned { moved: true, ..Turned::default() }
    }

    fn look(
        &mut self,
        sockets: &mut SocketSet<'_>,
        names: Option<SocketHandle>,
        query: dns::QueryHandle,
        port: u16,
    ) -> Turned {
        let found =
            names.map(|names| sockets.get_mut::<dns::Socket<'_>>(names).get_query_result(query));
        match found {
            Some(Err(dns::GetQueryResultError::Pending)) => return Turned::default(),
            Some(Ok(addresses)) => {
                let first = addresses.iter().find_map(|address| super::v4(*address));
                if let Some(address) = first {
                    self.phase = Phase::Call(address, port);
                    return Turned { moved: true, ..Turned::default() };
                }
            }
            _ => {}
        }
        self.say(&socks::UNREACHABLE);
        self.end(sockets, true)
    }

    fn call(
        &mut self,
        sockets: &mut SocketSet<'_>,
        interface: &mut Interface,
        (address, to): (Ipv4Addr, u16),
        port: u16,
    ) -> Turned {
        let socket = sockets.get_mut::<tcp::Socket<'_>>(self.handle);
        if socket.connect(interface.context(), (IpAddress::Ipv4(address), to), port).is_err() {
            if self.socks {
                self.say(&socks::UNREACHABLE);
            }
            return self.end(sockets, true);
        }
        self.phase = Phase::Calling;
        Turned { moved: true, took_port: true, ..Turned::default() }
    }

    fn wait_for_line(&mut self, sockets: &mut SocketSet<'_>) -> Turned {
        match sockets.get::<tcp::Socket<'_>>(self.handle).state() {
            tcp::State::SynSent | tcp::State::SynReceived => Turned::default(),
            tcp::State::Closed => {
                if self.socks {
                    self.say(&socks::REFUSED);
                }
                self.end(sockets, true)
            }
            _ => {
                if std::mem::take(&mut self.socks) {
                    self.say(&socks::GRANTED);
                }
                self.phase = Phase::Joined;
                Turned { moved: true, joined: true, ..Turned::default() }
            }
        }
    }

    fn wait_for_local(&mut self, sockets: &mut SocketSet<'_>) -> Turned {
        let Some(local) = &self.local else { return self.end(sockets, true) };
        if matches!(SockRef::from(local).take_error(), Ok(None)) {
            if local.peer_addr().is_err() {
                // Not there yet; its end, if it comes, is an error above.
                return Turned::default();
            }
            self.phase = Phase::Joined;
            return Turned { moved: true, joined: true, ..Turned::default() };
        }
        self.end(sockets, true)
    }

    fn pump(&mut self, now: Duration, sockets: &mut SocketSet<'_>) -> Turned {
        let socket = sockets.get_mut::<tcp::Socket<'_>>(self.handle);
        let (Ok(out), Ok(back)) = (self.send(socket), self.take(socket)) else {
            return self.end(sockets, false);
        };
        // smoltcp counts from the last packet of the partner, whether it owes us one or not.
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
        Turned { moved: out | back | done, ..Turned::default() }
    }

    /// From the program here to the line. True if anything moved.
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

    /// From the line to the program here. True if anything moved.
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
            // A program that has gone already needs no word.
            let _ = local.shutdown(Shutdown::Write);
            moved = true;
        }
        Ok(moved)
    }

    /// Reads from the program here: `None` if there is nothing now, 0 if it has ended.
    fn read(&self, into: &mut [u8]) -> io::Result<Option<usize>> {
        let Some(local) = &self.local else { return Ok(Some(0)) };
        match (&mut &*local).read(into) {
            Ok(len) => Ok(Some(len)),
            Err(error) if waits(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A few bytes into the empty buffer of a connection that has just been made.
    fn say(&self, words: &[u8]) {
        if let Some(local) = &self.local {
            let _ = (&mut &*local).write(words);
        }
    }

    /// Ends both halves.
    fn end(&mut self, sockets: &mut SocketSet<'_>, refused: bool) -> Turned {
        sockets.get_mut::<tcp::Socket<'_>>(self.handle).abort();
        self.local = None;
        self.phase = Phase::Ending;
        Turned { moved: true, refused, ..Turned::default() }
    }
}

/// The way to a target, if there is one.
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
