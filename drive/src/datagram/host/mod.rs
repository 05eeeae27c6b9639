//! Runs the engines of all peers of one socket.
//!
//! Like [`run`](crate::run()), a turn answers the engines' requests, moves their output to the socket, passes
//! them what was received, runs their timers and reports their events; when nothing moved it waits. Here there
//! are several engines, and their output is collected: while an engine has another packet to send now, the
//! packets share a system call.
//!
//! Engines pace packets with timers, so waits are exact to some ten microseconds, not to a millisecond.

mod association;
mod dialling;
mod returning;
mod sealed;
mod turning;

pub use dialling::{DialError, Dialled, dial};

use super::Endpoint;
use super::keys::PublicKey;
use super::limits::Limits;
use super::secure::{Credentials, OVERHEAD, Suite};
use crate::clock::Clock;
use crate::event::Source;
use crate::run::{Ended, Watch};
use crate::signals::Signals;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use turning::Turning;
use wetstring_proto::{Engine, Store, Trace};

/// The peer of a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Peer {
    /// Where the datagrams go. On IP protocol 30 the port is 0.
    pub address: SocketAddr,
    /// The key that the peer has proved; `None` with a shared secret or without security.
    pub key: Option<PublicKey>,
    /// The cipher; `None` if there is none.
    pub suite: Option<Suite>,
    /// The longest NETBLT packet that passes at first, in bytes, NETBLT headers included.
    pub packet_max: usize,
    /// Bytes of unread data that this host buffers.
    pub room: usize,
}

/// An engine and what it needs.
#[allow(missing_debug_implementations)]
pub struct SessionParts<'a> {
    /// Sends and receives one packet at a time.
    pub engine: &'a mut dyn Engine,
    /// Answers its requests.
    pub store: &'a mut dyn Store,
    /// Observes events.
    pub watch: &'a mut dyn Watch,
}

/// One peer's engine, store and watch.
pub trait SessionHandler {
    /// Engine, store and watch.
    fn parts(&mut self) -> SessionParts<'_>;
    /// What becomes readable when the watch has a command ([`Watch::wake`]).
    fn wake(&self) -> Option<Source<'_>> {
        None
    }
    /// The address of a plain peer is proved: it has answered us. Sealed peers are proved before they get here.
    fn proved(&mut self) {}
    /// It was never proved, and has given up its slot. The handler is not called again.
    fn gave_up(&mut self) {}
    /// It was silent, and continues in another session, which has its slot now. The handler is not called
    /// again.
    fn came_back(&mut self) {}
    /// The session has ended. The handler is not called again.
    fn over(&mut self, ended: &Ended);
}

/// Decides which peers are admitted.
pub trait Acceptor<'a> {
    /// Admits a peer, or refuses it with a reason, which the peer is told.
    fn admit(&mut self, peer: &Peer) -> Result<Box<dyn SessionHandler + 'a>, String>;
    /// An unauthenticated peer was refused: the reason, for the user. Called at most once a
    /// second, because the address may be forged.
    fn refused(&mut self, from: SocketAddr, why: &str) {
        let _ = (from, why);
    }
    /// Whether this end sends: then a plain OPEN must be for READ, else for WRITE. `None` leaves that to the
    /// engine.
    fn sends(&self) -> Option<bool> {
        None
    }
    /// A session has ended, `left` are still running: whether to keep listening. Unproved peers do not count.
    fn keep_listening(&mut self, left: usize) -> bool;
}

/// Options of the loop.
#[allow(missing_debug_implementations)]
pub struct HostOptions<'o> {
    /// Receives the engines' traces.
    pub trace: &'o mut dyn Trace,
    /// Ctrl-C and the like: engines abort cleanly.
    pub signals: Option<&'o Signals>,
    /// Minimum time between two calls of [`Watch::progress`].
    pub progress_every: Duration,
    /// Maximum time for the end after an abort.
    pub grace: Duration,
    /// The clock; its zero is the trace's zero.
    pub clock: Clock,
    /// Limits for peers.
    pub limits: Limits,
    /// The longest packet, if the user sets it; else a session finds out by probing.
    pub datagram: Option<usize>,
}

impl<'o> HostOptions<'o> {
    /// The defaults, with this trace.
    pub fn new(trace: &'o mut dyn Trace) -> Self {
        Self {
            trace,
            signals: None,
            progress_every: Duration::from_millis(100),
            grace: Duration::from_secs(1),
            clock: Clock::start(),
            limits: Limits::default(),
            datagram: None,
        }
    }

    /// The longest datagram of a session, if the user sets the packet length.
    fn datagram_len(&self) -> Option<usize> {
        self.datagram.map(|packet| packet + OVERHEAD)
    }
}

/// Statistics of a listener about peers that were not admitted. For tests, and for diagnosis.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ListenStats {
    /// Datagrams that belonged to no session.
    pub strays: u64,
    /// Plain OPENs that were refused because the listener encrypts.
    pub refused_plain: u64,
    /// Bytes of answers to unproved addresses.
    pub bytes_to_unproved: u64,
    /// Bytes received from unproved addresses.
    pub bytes_of_unproved: u64,
    /// Maximum handshakes under way at one time.
    pub most_waiting: usize,
    /// Wrong code phrases.
    pub guesses: u32,
    /// The code phrase has expired.
    pub too_old: bool,
}

/// Listens until the acceptor stops it, a signal arrives, or the code phrase can admit no one any more.
///
/// # Errors
///
/// If the socket fails, or there are no random bytes.
pub fn listen(
    endpoint: Endpoint,
    credentials: Credentials,
    acceptor: &mut dyn Acceptor<'_>,
    options: HostOptions<'_>,
) -> io::Result<ListenStats> {
    let mut turning = Turning::new(endpoint, options);
    turning.open_gate(credentials)?;
    turning.until_over(Some(acceptor))?;
    Ok(turning.stats())
}
