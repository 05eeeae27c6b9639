//! The ends of a live line.

use crate::event::Source;
use crate::line::{HostPort, LineSpec};
use crate::os::stream::{self, Stream};
use crate::port::{OpenError, Port, PortFacts};
use crate::signals::Signals;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::ExitStatus;
use std::time::Duration;

/// Opens one end of a live line.
///
/// A PTY stays while programs open and close it, and a TCP port accepts the next connection when one is lost;
/// everything else is as with [`crate::port::open`]. A PTY says that the line has the rate `claims_bps`, if that
/// is not 0. `notes` gets what a user needs to know to connect.
pub fn open(
    spec: &LineSpec,
    claims_bps: u32,
    signals: Option<&Signals>,
    notes: &mut dyn FnMut(&str),
) -> Result<Box<dyn Port>, OpenError> {
    if let LineSpec::TcpListen(at) = spec {
        let failed = |error| OpenError::Io { what: format!("listen on {at}"), error };
        let listening = Listening::open(at).map_err(failed)?;
        notes(&format!("listening on {}", listening.facts.name));
        return Ok(Box::new(listening));
    }
    let mut port = crate::port::open(spec, signals, notes)?;
    if claims_bps > 0 {
        let what = format!("set the speed of {spec}");
        port.claim(claims_bps).map_err(|error| OpenError::Io { what, error })?;
    }
    Ok(port)
}

/// An end inside this process: what is written to one is read from the other.
pub fn joint() -> io::Result<(Box<dyn Port>, Box<dyn Port>)> {
    let (ours, theirs) = stream::pair()?;
    Ok((Box::new(Joint::new(ours)?), Box::new(Joint::new(theirs)?)))
}

/// An end whose other half is this stream's peer.
pub fn stream(stream: Stream) -> io::Result<impl Port> {
    Joint::new(stream)
}

/// A result of a read or write that may have found nothing to do.
fn now_or_never(result: io::Result<usize>) -> io::Result<Option<usize>> {
    match result {
        Ok(len) => Ok(Some(len)),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// One half of [`joint`].
#[derive(Debug)]
struct Joint {
    stream: Stream,
    facts: PortFacts,
}

impl Joint {
    fn new(stream: Stream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self { stream, facts: PortFacts::named("joint") })
    }
}

impl Port for Joint {
    fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        now_or_never(self.stream.read(into))
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<Option<usize>> {
        now_or_never(self.stream.write(bytes))
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

    fn finish(&mut self, _: Duration) -> io::Result<Option<ExitStatus>> {
        // Written data stays readable for the other half.
        match self.stream.shutdown(std::net::Shutdown::Write) {
            Err(error) if error.kind() != ErrorKind::NotConnected => Err(error),
            _ => Ok(None),
        }
    }
}

/// A TCP port that serves one connection after the other.
///
/// Until the first one arrives, written data is kept. Data written between two connections is lost, as at a
/// modem without a terminal.
#[derive(Debug)]
struct Listening {
    listener: TcpListener,
    stream: Option<TcpStream>,
    /// The peer will send no more, but may still receive.
    half: bool,
    /// There has been a connection.
    ever: bool,
    facts: PortFacts,
}

impl Listening {
    fn open(at: &HostPort) -> io::Result<Self> {
        let listener = TcpListener::bind((at.host.as_str(), at.port))?;
        listener.set_nonblocking(true)?;
        // A slow line fills its buffers: the smaller they are, the more it feels like a line.
        socket2::SockRef::from(&listener).set_recv_buffer_size(1 << 16)?;
        let name = listener.local_addr()?.to_string();
        Ok(Self { listener, stream: None, half: false, ever: false, facts: PortFacts::named(name) })
    }

    /// Accepts the next connection, if one is pending and there is none that still sends.
    fn accept(&mut self) -> io::Result<()> {
        if self.stream.is_some() && !self.half {
            return Ok(());
        }
        match self.listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(true)?;
                stream.set_nodelay(true)?;
                self.stream = Some(stream);
                self.half = false;
                self.ever = true;
                Ok(())
            }
            // The client has disconnected again, or there was none.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::ConnectionAborted
                ) =>
            {
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

impl Port for Listening {
    fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        self.accept()?;
        let Some(stream) = self.stream.as_mut().filter(|_| !self.half) else { return Ok(None) };
        match now_or_never(stream.read(into)) {
            Ok(Some(0)) => self.half = true,
            Ok(result) => return Ok(result),
            Err(_) => self.stream = None,
        }
        Ok(None)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<Option<usize>> {
        self.accept()?;
        let Some(stream) = &mut self.stream else {
            return Ok(self.ever.then_some(bytes.len()));
        };
        let result = now_or_never(stream.write(bytes));
        if result.is_err() {
            self.stream = None;
        }
        Ok(result.unwrap_or(Some(bytes.len())))
    }

    fn read_source(&self) -> Source<'_> {
        match &self.stream {
            Some(stream) if !self.half => Source::of(stream),
            _ => Source::of(&self.listener),
        }
    }

    fn write_source(&self) -> Source<'_> {
        // A listener is never writable; a new client is noticed by reading.
        self.stream.as_ref().map_or(Source::of(&self.listener), Source::of)
    }

    fn facts(&self) -> &PortFacts {
        &self.facts
    }

    fn finish(&mut self, _: Duration) -> io::Result<Option<ExitStatus>> {
        // Closing sends what the system still buffers, then the end of stream.
        self.stream = None;
        Ok(None)
    }
}
