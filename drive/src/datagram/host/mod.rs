//! Turns the engines of all partners of one socket.
//!
//! Like [`run`](crate::run()), a turn answers the engines' requests, moves what they lend to the
//! socket, hands them what came, lets their timers run and shows their events; when nothing moved it
//! waits. Unlike it there are several engines, and what they lend is collected: as long as an engine
//! has another packet to send now, the packets share a system call.
//!
//! Timers of engines pace packets, so the wait is exact to some ten microseconds, not to a
//! millisecond.

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
use crate::run::{Ended, Watch};
use crate::signals::Signals;
use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::time::Duration;
use turning::Turning;
use wetstring_proto::{Engine, Store, Trace};

/// Who is at the other end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Partner {
    /// Where the datagrams go. On IP protocol 30 the port is 0.
    pub address: SocketAddr,
    /// The key that the other end has proved to have; `None` with a shared secret or without security.
    pub key: Option<PublicKey>,
    /// The cipher; `None` if there is none.
    pub suite: Option<Suite>,
    /// The longest NETBLT packet that passes at the beginning, in bytes, headers of NETBLT included.
    pub packet_max: usize,
    /// Bytes that this host keeps of what has come and is not read yet.
    pub room: usize,
}

/// An engine with what it needs.
#[allow(missing_debug_implementations)]
pub struct Doors<'a> {
    /// Takes and gives one packet at a time.
    pub engine: &'a mut dyn Engine,
    /// Answers its requests.
    pub store: &'a mut dyn Store,
    /// Sees what happens.
    pub watch: &'a mut dyn Watch,
}

/// One partner's engine, store and watch.
pub trait Tenant {
    /// All three.
    fn doors(&mut self) -> Doors<'_>;
    /// A descriptor that becomes readable when the watch has a command ([`Watch::wake`]).
    fn wake(&self) -> Option<BorrowedFd<'_>> {
        None
    }
    /// The address of a partner without security is proved: it has answered us. Sealed ones are proved
    /// before they are here.
    fn proved(&mut self) {}
    /// It never was, and gave its place up. Nothing more will be asked of this tenant.
    fn gave_up(&mut self) {}
    /// It fell silent, and goes on in another session, which has its place now. Nothing more will be asked
    /// of this tenant.
    fn came_back(&mut self) {}
    /// The session is over. Nothing more will be asked of this tenant.
    fn over(&mut self, ended: &Ended);
}

/// Decides who gets in.
pub trait Reception<'a> {
    /// A partner is there: what it gets, or why not. The reason is told to it.
    fn admit(&mut self, partner: &Partner) -> Result<Box<dyn Tenant + 'a>, String>;
    /// Somebody was refused before it had proved anything: why, for a person. Told once a second at
    /// most, as the address may be forged.
    fn knocked(&mut self, from: SocketAddr, why: &str) {
        let _ = (from, why);
    }
    /// Whether files go from here: then a plain OPEN must be for READ, else for WRITE. `None` leaves that to the
    /// engine.
    fn sends(&self) -> Option<bool> {
        None
    }
    /// A session is over, and so many go on: whether to listen on. Those who have proved nothing are none.
    fn goes_on(&mut self, left: usize) -> bool;
}

/// How to run.
#[allow(missing_debug_implementations)]
pub struct HostOptions<'o> {
    /// Takes the engines' traces.
    pub trace: &'o mut dyn Trace,
    /// Ctrl-C and its relatives: engines abort in good order.
    pub signals: Option<&'o Signals>,
    /// The shortest time between two calls of [`Watch::progress`].
    pub progress_every: Duration,
    /// How long the end after an abort may take.
    pub grace: Duration,
    /// The clock; its zero is the trace's zero.
    pub clock: Clock,
    /// What partners may do.
    pub limits: Limits,
    /// The longest packet, if a person says so; else a session finds out how long datagrams may be.
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

    /// The longest datagram of a session, if a person says how long a packet may be.
    fn datagram_len(&self) -> Option<usize> {
        self.datagram.map(|packet| packet + OVERHEAD)
    }
}

/// What a listener has seen of those who did not get in. For tests, and for a person who wonders.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Knocks {
    /// Datagrams that belonged to nobody.
    pub strays: u64,
    /// Plain OPENs that were refused because the listener encrypts.
    pub refused_plain: u64,
    /// Answers to those whose address was not proved yet, in bytes.
    pub bytes_to_unproved: u64,
    /// What those had sent, in bytes.
    pub bytes_of_unproved: u64,
    /// The most handshakes that were under way at one time.
    pub most_waiting: usize,
    /// Wrong code phrases.
    pub guesses: u32,
    /// The code phrase has become too old.
    pub too_old: bool,
}

/// Listens until the reception does not go on or a signal comes, or nobody can come in by the code phrase.
///
/// # Errors
///
/// If the socket fails, or there are no random bytes.
pub fn listen(
    endpoint: Endpoint,
    credentials: Credentials,
    reception: &mut dyn Reception<'_>,
    options: HostOptions<'_>,
) -> io::Result<Knocks> {
    let mut turning = Turning::new(endpoint, options);
    turning.open_gate(credentials)?;
    turning.until_over(Some(reception))?;
    Ok(turning.knocks())
}
