//! `--share`: other programs at the same session, by a socket.
//!
//! ```text
//! line --> screen, log
//!      --> every client
//! line <-- keyboard, and one client at a time
//! ```
//!
//! A client gets what the line sends from the moment it connects. What it writes goes to the line while no other
//! writes: the last client to write has the line for two seconds, others wait; the keyboard never does.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use wetstring_drive::event::{Interest, Source};
use wetstring_drive::os::stream;

use crate::args::session::Writers;

/// How long the last writer has the line.
const TURN: Duration = Duration::from_secs(2);
/// Bytes that wait for a slow client before it is disconnected.
const MOST_BEHIND: usize = 1 << 20;
/// Clients at once.
const MOST_CLIENTS: usize = 64;
/// Bytes of a read.
const READ_LEN: usize = 1024;

enum Listener {
    Unix(stream::Listener, PathBuf),
    Tcp(TcpListener),
}

enum Stream {
    Unix(stream::Stream),
    Tcp(TcpStream),
}

impl Stream {
    fn source(&self) -> Source<'_> {
        match self {
            Self::Unix(stream) => Source::of(stream),
            Self::Tcp(stream) => Source::of(stream),
        }
    }

    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(into),
            Self::Tcp(stream) => stream.read(into),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.write(bytes),
            Self::Tcp(stream) => stream.write(bytes),
        }
    }
}

struct Client {
    id: u64,
    stream: Stream,
    /// What it has not taken yet.
    behind: VecDeque<u8>,
    gone: bool,
}

impl Client {
    /// Writes as much as it accepts now.
    fn flush(&mut self) {
        while !self.behind.is_empty() && !self.gone {
            match self.stream.write(self.behind.as_slices().0) {
                Ok(0) => self.gone = true,
                Ok(len) => drop(self.behind.drain(..len)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => self.gone = true,
            }
        }
    }
}

/// A socket, and who is connected to it.
pub(crate) struct Share {
    listener: Listener,
    clients: Vec<Client>,
    writers: Writers,
    next: u64,
    /// Who wrote last, and when; the keyboard is 0.
    writer: Option<(u64, Instant)>,
}

impl Share {
    /// Listens at a path, or at `HOST:PORT`. A socket that no program listens at any more is replaced.
    pub(crate) fn listen(at: &str, writers: Writers) -> io::Result<Self> {
        if at.bytes().all(|byte| byte.is_ascii_digit()) {
            let port = at.parse::<u16>().unwrap_or(7001);
            let say = format!("expected a path or HOST:PORT, such as 127.0.0.1:{port}, got {at:?}");
            return Err(io::Error::new(ErrorKind::InvalidInput, say));
        }
        let listener = if at.contains('/') || !at.contains(':') {
            let listener = stream::listen(at)?;
            listener.set_nonblocking(true)?;
            Listener::Unix(listener, PathBuf::from(at))
        } else {
            let listener = TcpListener::bind(at)?;
            listener.set_nonblocking(true)?;
            Listener::Tcp(listener)
        };
        Ok(Self { listener, clients: Vec::new(), writers, next: 1, writer: None })
    }

    /// The address, in words.
    pub(crate) fn address(&self) -> String {
        match &self.listener {
            Listener::Unix(_, path) => path.display().to_string(),
            Listener::Tcp(listener) => {
                listener.local_addr().map_or_else(|_| "a port".to_owned(), |at| at.to_string())
            }
        }
    }

    fn may_write(&self, id: u64, now: Instant) -> bool {
        match self.writers {
            Writers::All => true,
            Writers::None => false,
            Writers::One => self.writer.is_none_or(|(last, when)| last == id || now >= when + TURN),
        }
    }

    /// What is waited for, beside the rest of the session.
    pub(super) fn interests(&self) -> impl Iterator<Item = Interest<'_>> {
        let listener = match &self.listener {
            Listener::Unix(listener, _) => Source::of(listener),
            Listener::Tcp(listener) => Source::of(listener),
        };
        let now = Instant::now();
        let clients = self.clients.iter().filter_map(move |client| {
            let (reads, writes) = (self.reads(client, now), !client.behind.is_empty());
            let source = client.stream.source();
            match (reads, writes) {
                (true, also) => Some(Interest::read_and_write(source, also)),
                (false, true) => Some(Interest::write(source)),
                // Its input waits for its turn.
                (false, false) => None,
            }
        });
        std::iter::once(Interest::read(listener)).chain(clients)
    }

    /// Whether a client is read: without the right to write it is, and what it writes is dropped.
    fn reads(&self, client: &Client, now: Instant) -> bool {
        self.writers == Writers::None || self.may_write(client.id, now)
    }

    /// When a client that waits may write.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let (_, when) = self.writer.filter(|_| self.writers == Writers::One)?;
        Some(when + TURN).filter(|at| !self.clients.is_empty() && *at > Instant::now())
    }

    /// The keyboard has written.
    pub(super) fn typed(&mut self) {
        self.writer = Some((0, Instant::now()));
    }

    /// The line has sent these bytes.
    pub(super) fn say(&mut self, bytes: &[u8]) {
        for client in &mut self.clients {
            client.behind.extend(bytes);
            client.flush();
            client.gone |= client.behind.len() > MOST_BEHIND;
        }
        self.clients.retain(|client| !client.gone);
    }

    /// Accepts clients and reads from them; appends bytes for the line to `outgoing`. Returns messages for the user.
    pub(super) fn serve(&mut self, outgoing: &mut Vec<u8>) -> Vec<String> {
        let mut said = Vec::new();
        while let Some(stream) = self.accept() {
            if self.clients.len() < MOST_CLIENTS {
                let (id, behind) = (self.next, VecDeque::new());
                self.clients.push(Client { id, stream, behind, gone: false });
                self.next += 1;
                said.push(format!("(client {id} has come)"));
            }
        }
        let now = Instant::now();
        for index in 0..self.clients.len() {
            self.clients[index].flush();
            if !self.reads(&self.clients[index], now) {
                continue;
            }
            let mut bytes = [0; READ_LEN];
            let client = &mut self.clients[index];
            match client.stream.read(&mut bytes) {
                Ok(0) => client.gone = true,
                Ok(_) if self.writers == Writers::None => {}
                Ok(len) => {
                    outgoing.extend_from_slice(&bytes[..len]);
                    self.writer = Some((client.id, now));
                }
                Err(error) => client.gone |= error.kind() != ErrorKind::WouldBlock,
            }
        }
        let gone = self.clients.iter().filter(|client| client.gone);
        said.extend(gone.map(|client| format!("(client {} has gone)", client.id)));
        self.clients.retain(|client| !client.gone);
        said
    }

    fn accept(&self) -> Option<Stream> {
        match &self.listener {
            Listener::Unix(listener, _) => {
                let (stream, _) = listener.accept().ok()?;
                stream.set_nonblocking(true).ok()?;
                Some(Stream::Unix(stream))
            }
            Listener::Tcp(listener) => {
                let (stream, _) = listener.accept().ok()?;
                stream.set_nonblocking(true).ok()?;
                // Single keys.
                let _ = stream.set_nodelay(true);
                Some(Stream::Tcp(stream))
            }
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if let Listener::Unix(_, path) = &self.listener {
            let _ = std::fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;
    use wetstring_testkit::wait_until;

    fn served(share: &mut Share) -> Vec<u8> {
        let mut outgoing = Vec::new();
        share.serve(&mut outgoing);
        outgoing
    }

    #[test]
    fn one_client_writes_at_a_time_and_all_hear() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("share").to_str().expect("a path").to_owned();
        assert!(Share::listen("7001", Writers::One).is_err(), "a port without a host");
        // What is no socket is not replaced.
        std::fs::write(&path, "mine").expect("a file");
        assert!(Share::listen(&path, Writers::One).is_err());
        assert_eq!(std::fs::read_to_string(&path).expect("the file"), "mine");
        std::fs::remove_file(&path).expect("it is there");
        let mut share = Share::listen(&path, Writers::One).expect("a socket");
        let mode = std::fs::metadata(&path).expect("it").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(Share::listen(&path, Writers::One).is_err(), "it is in use");
        let mut clients: Vec<_> =
            (0..2).map(|_| stream::Stream::connect(&path).expect("it listens")).collect();
        assert_eq!(served(&mut share), b"");
        share.say(b"boot\r\n");
        for client in &mut clients {
            let mut heard = [0; 6];
            client.read_exact(&mut heard).expect("it says");
            assert_eq!(&heard, b"boot\r\n");
        }
        clients[0].write_all(b"first").expect("it is written");
        let mut came = Vec::new();
        wait_until("the words of one", || {
            came.extend(served(&mut share));
            came == b"first"
        });
        clients[1].write_all(b"second").expect("it is written");
        assert_eq!(served(&mut share), b"", "the first has the line");
        assert!(share.deadline().is_some());
        // As if two seconds had passed.
        share.writer = None;
        wait_until("the words of the other", || {
            came.extend(served(&mut share));
            came == b"firstsecond"
        });
        drop(clients);
        wait_until("no client", || {
            served(&mut share);
            share.clients.is_empty()
        });
        drop(share);
        assert!(!std::path::Path::new(&path).exists());
    }

    #[test]
    fn a_client_that_only_watches_writes_nothing() {
        let mut share = Share::listen("127.0.0.1:0", Writers::None).expect("a port");
        let mut client = TcpStream::connect(share.address()).expect("it listens");
        wait_until("the client", || {
            served(&mut share);
            share.clients.len() == 1
        });
        client.write_all(b"reboot\r").expect("it is written");
        for _ in 0..20 {
            assert_eq!(served(&mut share), b"");
            std::thread::sleep(Duration::from_millis(2));
        }
        // One that does not read is disconnected, and delays no one.
        for _ in 0..200 {
            share.say(&vec![b'x'; 65_536]);
        }
        assert!(share.clients.is_empty());
    }
}
