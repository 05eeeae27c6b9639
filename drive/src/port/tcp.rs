//! Raw TCP: reliable, transparent, and as fast as segment size and buffers allow.

use super::telnet::TelnetLine;
use super::tls::{Identity, TlsLine};
use super::{OpenError, PATIENCE, Port, PortFacts, Purpose};
use crate::event::{Interest, Source};
use crate::line::{HostPort, LineSpec};
use crate::os::net;
use crate::signals::Signals;
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

/// Connect timeout per address.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// Maximum bytes buffered in the system before the connection sends them (`TCP_NOTSENT_LOWAT`). Without a limit
/// it takes megabytes at once, which on a slow path are minutes: the user is told that a file is done, a cancel
/// waits behind it, and the protocol's timers expire.
const UNSENT: u32 = 128 * 1024;

/// A TCP connection.
#[derive(Debug)]
pub(super) struct TcpLine {
    stream: TcpStream,
    facts: PortFacts,
    finished: bool,
}

impl TcpLine {
    /// Connects to the first address of the host that answers.
    pub(super) fn connect(to: &HostPort, signals: Option<&Signals>) -> Result<Self, OpenError> {
        let mut last = io::Error::new(ErrorKind::NotFound, "the name has no address");
        for address in resolve(to)? {
            match connect(address, signals)? {
                Ok(stream) => return Self::new(stream),
                Err(error) => last = error,
            }
        }
        Err(OpenError::io(format!("connect to {to}"), last))
    }

    /// Listens, reports the address, and accepts the first connection.
    pub(super) fn listen(
        at: &HostPort,
        signals: Option<&Signals>,
        notes: &mut dyn FnMut(&str),
    ) -> Result<Self, OpenError> {
        let failed = |error: io::Error| OpenError::io(format!("listen on {at}"), error);
        let listener = Listener::bind(at)?;
        notes(&format!("listening on {}", listener.local_addr().map_err(failed)?));
        let (stream, peer) =
            next(&listener, signals).map_err(OpenError::Interrupted)?.map_err(failed)?;
        notes(&format!("connected from {peer}"));
        Self::new(stream)
    }

    fn new(stream: TcpStream) -> Result<Self, OpenError> {
        let set = |result: io::Result<()>| {
            result.map_err(|error| OpenError::io("set up the connection", error))
        };
        set(stream.set_nonblocking(true))?;
        // Acknowledgements are short and must not be delayed by Nagle's algorithm.
        set(stream.set_nodelay(true))?;
        net::limit_unsent(&stream, UNSENT);
        let name = stream.peer_addr().map_or_else(|_| "tcp".into(), |peer| peer.to_string());
        let segment_len = net::segment_len(&stream);
        let facts =
            PortFacts { reliable: Some(true), clear: true, segment_len, ..PortFacts::named(name) };
        Ok(Self { stream, facts, finished: false })
    }
}

/// A listening TCP port, for one connection after the other or many at once.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    kind: Kind,
}

/// The protocol of the connections.
#[derive(Debug)]
enum Kind {
    /// Raw.
    Raw,
    Telnet,
    Tls(Identity),
}

impl Listener {
    /// Listens, if a line says so; `None` if it is of another kind.
    pub fn of(spec: &LineSpec) -> Option<Result<Self, OpenError>> {
        let (at, kind) = match spec {
            LineSpec::TcpListen(at) => (at, Kind::Raw),
            LineSpec::TelnetListen(at) => (at, Kind::Telnet),
            LineSpec::TlsListen(spec) => match Identity::of(spec) {
                Ok(identity) => (&spec.to, Kind::Tls(identity)),
                Err(error) => return Some(Err(error)),
            },
            _ => return None,
        };
        Some(Self::bind(at).map(|socket| Self { socket, kind }))
    }

    fn bind(at: &HostPort) -> Result<TcpListener, OpenError> {
        let failed = |error: io::Error| OpenError::io(format!("listen on {at}"), error);
        let addresses = resolve(at)?;
        let listener = TcpListener::bind(&addresses[..]).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(listener)
    }

    /// The local address.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// The next connection, as a port that has not [settled](Port::settle), and its address; `None` when a
    /// signal arrived. Without free descriptors it waits until there are some.
    pub fn accept(&self, signals: &Signals) -> io::Result<Option<(Box<dyn Port>, SocketAddr)>> {
        loop {
            let Ok(next) = next(&self.socket, Some(signals)) else { return Ok(None) };
            match next {
                Ok((stream, peer)) => {
                    let line = TcpLine::new(stream).ok();
                    if let Some(port) = line.and_then(|line| self.dressed(line)) {
                        return Ok(Some((port, peer)));
                    }
                }
                // Too many open files in the process or the system.
                Err(error)
                    if error.raw_os_error().is_some_and(|n| net::TOO_MANY_FILES.contains(&n)) =>
                {
                    std::thread::sleep(Duration::from_millis(100));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// A connection with its protocol. The peer is a client: the listening end is a server.
    fn dressed(&self, line: TcpLine) -> Option<Box<dyn Port>> {
        let line = Box::new(line);
        Some(match &self.kind {
            Kind::Raw => line,
            Kind::Telnet => {
                let plan = TelnetLine::plan(Purpose::Server, false);
                Box::new(TelnetLine::new(line, plan, Purpose::Server))
            }
            Kind::Tls(identity) => Box::new(TlsLine::answer(line, identity).ok()?),
        })
    }

    /// The fingerprint of our certificate, if there is one.
    pub fn fingerprint(&self) -> Option<&str> {
        match &self.kind {
            Kind::Tls(identity) => Some(&identity.fingerprint),
            _ => None,
        }
    }
}

/// The next connection; a signal (its number) ends the wait.
fn next(
    listener: &TcpListener,
    signals: Option<&Signals>,
) -> Result<io::Result<(TcpStream, SocketAddr)>, i32> {
    loop {
        match listener.accept() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                let ready = Signals::wait(signals, Interest::read(Source::of(listener)), None)?;
                if let Err(error) = ready {
                    return Ok(Err(error));
                }
            }
            // The client has disconnected again; wait for the next.
            Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
            result => return Ok(result),
        }
    }
}

fn resolve(to: &HostPort) -> Result<Vec<SocketAddr>, OpenError> {
    (to.host.as_str(), to.port)
        .to_socket_addrs()
        .map(Iterator::collect)
        .map_err(|error| OpenError::io(format!("find the address of {}", to.host), error))
}

/// Connects without blocking, so that a signal can end the wait.
fn connect(
    address: SocketAddr,
    signals: Option<&Signals>,
) -> Result<io::Result<TcpStream>, OpenError> {
    let begin = || {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        socket.set_nonblocking(true)?;
        match socket.connect(&address.into()) {
            Err(error) if error.raw_os_error() != Some(net::IN_PROGRESS) => Err(error),
            _ => Ok(socket),
        }
    };
    let socket = match begin() {
        Ok(socket) => socket,
        Err(error) => return Ok(Err(error)),
    };
    let connected = Interest::write(Source::of(&socket));
    let ready =
        Signals::wait(signals, connected, Some(CONNECT_TIMEOUT)).map_err(OpenError::Interrupted)?;
    Ok(match ready {
        Ok(false) => Err(ErrorKind::TimedOut.into()),
        Ok(true) => match socket.take_error() {
            Ok(None) => Ok(socket.into()),
            Ok(Some(error)) | Err(error) => Err(error),
        },
        Err(error) => Err(error),
    })
}

/// One non-blocking read, as [`Port::read`] has it.
fn read(mut stream: &TcpStream, into: &mut [u8]) -> io::Result<Option<usize>> {
    now(|| stream.read(into))
}

/// One non-blocking write, as [`Port::write`] has it.
fn write(mut stream: &TcpStream, bytes: &[u8]) -> io::Result<Option<usize>> {
    now(|| stream.write(bytes))
}

fn now(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<Option<usize>> {
    loop {
        match call() {
            Ok(len) => return Ok(Some(len)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

impl Port for TcpLine {
    fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        read(&self.stream, into)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<Option<usize>> {
        write(&self.stream, bytes)
    }

    fn read_source(&self) -> Source<'_> {
        Source::of(&self.stream)
    }

    fn write_source(&self) -> Source<'_> {
        Source::of(&self.stream)
    }

    fn facts(&self) -> &PortFacts {
        &self.facts
    }

    /// Shuts down output, and reads until the peer has done the same: closing with unread input would reset the
    /// connection and lose our last bytes.
    fn finish(&mut self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        if self.finished {
            return Ok(None);
        }
        self.finished = true;
        if self.stream.shutdown(Shutdown::Write).is_err() {
            return Ok(None);
        }
        let until = Instant::now() + patience;
        let mut rest = [0; 4096];
        loop {
            match read(&self.stream, &mut rest) {
                Ok(None) => {}
                Ok(Some(1..)) if Instant::now() < until => continue,
                Ok(Some(_)) | Err(_) => return Ok(None),
            }
            let left = until.saturating_duration_since(Instant::now());
            let ready = Signals::wait(None, Interest::read(Source::of(&self.stream)), Some(left));
            if left.is_zero() || !matches!(ready, Ok(Ok(true))) {
                return Ok(None);
            }
        }
    }
}

impl Drop for TcpLine {
    fn drop(&mut self) {
        let _ = self.finish(PATIENCE);
    }
}
