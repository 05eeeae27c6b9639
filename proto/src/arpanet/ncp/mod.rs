//! The network control program of a host: connections to other hosts' sockets over the messages of the IMP.
//!
//! ```text
//!            host-IMP messages                      sockets
//! IMP  ----- receive ----->  links, allocation, ---- read, state, waiting --->  process
//!      <---- transmit ----   RFNMs, control     <--- open, write, close -----
//! ```
//!
//! It is turned like an [`Engine`](crate::Engine): [`Ncp::transmit`] lends one message, [`Ncp::transmitted`] is
//! told its whole length or 0, [`Ncp::receive`] takes one whole message, [`Ncp::deadline`] says when
//! [`Ncp::tick`] wants to be called. Processes use [`Ncp::host`].
//!
//! * Nothing is queued but data: what is to be said is a mark on the host or the connection that it is about, and becomes
//!   a control message when the link to that host is free. So no stream of requests can make it grow.
//! * A message stays here until its RFNM. With one message of a link in flight, one that was not delivered goes again; with
//!   more, what came after it may have been taken, and the connection fails. The same if no RFNM comes at all.
//! * A host that nothing is known of is sent a RST, and told nothing else before its RRP.

pub mod config;
pub mod connection;
mod host;
mod input;
mod output;
mod peer;
pub(crate) mod states;
mod timing;

pub use config::{Buffers, Config};
pub use connection::{Allowance, Class, Id, State, Trouble, Wanted};
pub use host::{Full, Host, Rfc};
pub use peer::Echo;

use super::leader::Address;
use crate::engine::Cx;
use crate::machine::split;
use crate::memory::{Memory, MemoryTooSmall};
use crate::stats::Stats;
use crate::time::Instant;
use config::{CONNECTIONS, HOSTS, LONGEST_TEXT};
use connection::Connection;
use peer::Peer;
use states::Handshake;

/// Requests for connection that wait for a process.
const PENDING: usize = 16;
/// Of these, those of one host: it must not keep others out.
const PENDING_OF_ONE: usize = 8;
/// Refusals that wait to be said.
const REFUSALS: usize = 8;
/// Ranges of listening sockets.
const LISTENING: usize = 16;

/// The counters so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Messages given to the interface.
    pub messages_out: u64,
    /// Octets of these, leaders included.
    pub octets_out: u64,
    /// Messages that came from it.
    pub messages_in: u64,
    /// Octets of these.
    pub octets_in: u64,
    /// Control messages sent.
    pub control_out: u64,
    /// Control commands received.
    pub commands_in: u64,
    /// Messages with data sent.
    pub data_out: u64,
    /// Bits of text in these.
    pub bits_out: u64,
    /// Messages with data received and kept.
    pub data_in: u64,
    /// Bits of text in these.
    pub bits_in: u64,
    /// RFNMs that belonged to a message of ours.
    pub rfnms: u64,
    /// Messages that were not delivered.
    pub incomplete: u64,
    /// Messages sent again.
    pub again: u64,
    /// Messages of which the RFNM did not come in time.
    pub no_rfnm: u64,
    /// Messages, and what is in them, that could not be used.
    pub damaged: u64,
    /// Of these, messages with leaders of the other form.
    pub other_form: u64,
    /// What was not done as there was no place to remember it.
    pub dropped: u64,
    /// ERRs sent.
    pub errors_out: u64,
    /// ERRs received.
    pub errors_in: u64,
    /// Requests for connection refused.
    pub refused: u64,
    /// The longest message sent, in octets.
    pub longest: u64,
}

impl Counts {
    /// Says the same in the words of an engine.
    pub fn tell(&self, stats: &mut Stats) {
        stats.wire_out_bytes = self.octets_out;
        stats.wire_in_bytes = self.octets_in;
        stats.encoded_bytes = self.bits_out / 8;
        stats.packets_out = self.messages_out;
        stats.packets_in = self.messages_in - self.damaged.min(self.messages_in);
        stats.retransmissions = self.again;
        stats.naks_in = self.incomplete;
        stats.damaged = self.damaged;
        stats.longest_packet_bytes = self.longest;
    }
}

/// A request that waits for its match.
#[derive(Clone, Copy, Debug)]
struct Pending {
    peer: u8,
    foreign: u32,
    local: u32,
    /// The link, or the byte size.
    number: u8,
    until: Instant,
    /// What was allocated before it was matched: messages, bits.
    all: (u16, u32),
}

/// A CLS that is to be said about sockets that are no connection.
#[derive(Clone, Copy, Debug)]
struct Refusal {
    peer: u8,
    local: u32,
    foreign: u32,
}

/// What is in the message that is lent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Out {
    Nothing,
    Nop,
    Error,
    Control(usize),
    Data(usize, usize),
}

/// The memory, divided.
#[derive(Debug)]
pub(crate) struct Mem<'a> {
    /// The message that is lent.
    out: &'a mut [u8],
    /// The connections' octets.
    rings: &'a mut [u8],
}

impl<'a> Mem<'a> {
    pub(crate) fn divide(config: &Config, memory: &'a mut [u8]) -> Self {
        split!(memory, config.lengths() => out, rings);
        Self { out, rings }
    }
}

/// The NCP without its memory.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) config: Config,
    peers: [Peer; HOSTS],
    connections: [Connection; CONNECTIONS],
    pending: [Option<Pending>; PENDING],
    refusals: [Option<Refusal>; REFUSALS],
    listening: [Option<(u32, u32)>; LISTENING],
    /// NOPs that are to be said to the IMP.
    nops: u8,
    leader_error: Option<u8>,
    imp_goes_down: bool,
    /// Bits of the longest text that the net is known to accept.
    longest_text: usize,
    out: Out,
    out_len: usize,
    /// Where the search for something to say begins.
    next_peer: usize,
    next_data: usize,
    pub(crate) counts: Counts,
}

/// NOPs that a host says when it comes up.
const NOPS: u8 = 3;

impl Core {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            config,
            peers: [Peer::NONE; HOSTS],
            connections: [Connection::NONE; CONNECTIONS],
            pending: [None; PENDING],
            refusals: [None; REFUSALS],
            listening: [None; LISTENING],
            nops: NOPS,
            leader_error: None,
            imp_goes_down: false,
            longest_text: LONGEST_TEXT,
            out: Out::Nothing,
            out_len: 0,
            next_peer: 0,
            next_data: 0,
            counts: Counts::default(),
        }
    }

    fn find_peer(&self, address: Address) -> Option<usize> {
        self.peers.iter().position(|peer| peer.used && peer.address == address)
    }

    /// The place of a host: its own, a free one, or that of the one that was quiet longest and is of no use.
    fn peer(&mut self, now: Instant, address: Address) -> Option<usize> {
        let index = self.find_peer(address).or_else(|| {
            let free = self.peers.iter().position(|peer| !peer.used);
            let index = free.or_else(|| {
                let idle = (0..HOSTS).filter(|index| !self.is_needed(*index));
                idle.min_by_key(|index| self.peers[*index].last)
            })?;
            self.peers[index] = Peer { used: true, address, ..Peer::NONE };
            Some(index)
        })?;
        self.peers[index].last = now;
        Some(index)
    }

    fn is_needed(&self, index: usize) -> bool {
        let is = |peer: u8| usize::from(peer) == index;
        self.peers[index].is_busy()
            || self.connections.iter().any(|c| c.used && is(c.peer))
            || self.pending.iter().flatten().any(|p| is(p.peer))
            || self.refusals.iter().flatten().any(|r| is(r.peer))
    }

    /// Everything about a host is over.
    fn purge(&mut self, cx: &mut Cx<'_>, peer: usize, trouble: Trouble) {
        for index in 0..CONNECTIONS {
            let c = &mut self.connections[index];
            // What the peer has heard nothing of stays.
            let known = c.stands != Handshake::New || trouble != Trouble::Reset;
            if c.used && usize::from(c.peer) == peer && known {
                c.forget(cx, trouble);
                if matches!(self.out, Out::Data(at, _) if at == index) {
                    self.drop_out();
                }
                self.reap(index);
            }
        }
        self.pending.iter_mut().for_each(|p| drop_if(p, |p| usize::from(p.peer) == peer));
        self.refusals.iter_mut().for_each(|r| drop_if(r, |r| usize::from(r.peer) == peer));
        if self.out == Out::Control(peer) {
            self.drop_out();
        }
        let peer = &mut self.peers[peer];
        peer.flying = 0;
        peer.control = peer::ControlState::Free;
        peer.tries = 0;
        peer.owes_err = None;
        peer.owes_erp = None;
    }

    fn drop_out(&mut self) {
        self.out = Out::Nothing;
        self.out_len = 0;
    }

    /// Frees the slot of a connection that is over and released.
    fn reap(&mut self, index: usize) {
        let c = &mut self.connections[index];
        if c.used && c.orphan && c.is_over() {
            c.used = false;
        }
    }

    /// Refuses a request, if there is a place to remember it.
    fn refuse(&mut self, peer: usize, local: u32, foreign: u32) {
        let peer = peer as u8;
        let same = |r: &Refusal| (r.peer, r.local, r.foreign) == (peer, local, foreign);
        if self.refusals.iter().flatten().any(same) {
            return;
        }
        match self.refusals.iter_mut().find(|r| r.is_none()) {
            Some(place) => {
                *place = Some(Refusal { peer, local, foreign });
                self.counts.refused += 1;
            }
            None => self.counts.dropped += 1,
        }
    }
}

fn drop_if<T>(place: &mut Option<T>, condition: impl Fn(&T) -> bool) {
    if place.as_ref().is_some_and(condition) {
        *place = None;
    }
}

/// The doors, with the memory in one piece.
impl Core {
    pub(crate) fn hear(&mut self, cx: &mut Cx<'_>, memory: &mut [u8], message: &[u8]) {
        let mut mem = Mem::divide(&self.config, memory);
        self.receive(cx, &mut mem, message);
    }

    pub(crate) fn lend<'a>(&mut self, cx: &mut Cx<'_>, memory: &'a mut [u8]) -> &'a [u8] {
        let mut mem = Mem::divide(&self.config, memory);
        self.make(cx, &mut mem);
        &mem.out[..self.out_len]
    }

    pub(crate) fn took(&mut self, cx: &mut Cx<'_>, memory: &mut [u8], len: usize) {
        let mem = Mem::divide(&self.config, memory);
        self.left(cx, &mem, len);
    }

    /// Whether there may be something to send: a quick check without false negatives.
    pub(crate) fn may_say(&self) -> bool {
        self.out_len > 0
            || self.nops > 0
            || self.leader_error.is_some()
            || self.connections.iter().any(|c| c.used)
            || self.refusals.iter().any(Option::is_some)
            || self.peers.iter().any(|peer| peer.used && peer.is_busy())
    }
}

/// A host's network control program, in `M`.
#[derive(Debug)]
pub struct Ncp<M> {
    core: Core,
    memory: M,
}

impl<M: Memory> Ncp<M> {
    /// An NCP in `memory`, which has at least [`Config::memory`] octets.
    pub fn new(config: Config, memory: M) -> Result<Self, MemoryTooSmall> {
        let (needed, given) = (config.memory(), memory.as_ref().len());
        if given < needed {
            return Err(MemoryTooSmall { needed, given });
        }
        Ok(Self { core: Core::new(config), memory })
    }

    /// What processes see.
    pub fn host(&mut self) -> Host<'_> {
        Host::of(&mut self.core, self.memory.as_mut())
    }

    /// Takes a message of the IMP, leader and all.
    pub fn receive(&mut self, cx: &mut Cx<'_>, message: &[u8]) {
        self.core.hear(cx, self.memory.as_mut(), message);
    }

    /// Lends the next message for the IMP, leader and all; empty if there is none. The same until
    /// [`Ncp::transmitted`], unless what it was about is over.
    pub fn transmit(&mut self, cx: &mut Cx<'_>) -> &[u8] {
        self.core.lend(cx, self.memory.as_mut())
    }

    /// The interface took the message that was lent, or nothing (0).
    pub fn transmitted(&mut self, cx: &mut Cx<'_>, len: usize) {
        self.core.took(cx, self.memory.as_mut(), len);
    }

    /// When [`Ncp::tick`] wants to be called.
    pub fn deadline(&self) -> Option<Instant> {
        self.core.deadline()
    }

    /// Handles expired timers.
    pub fn tick(&mut self, cx: &mut Cx<'_>) {
        self.core.tick(cx);
    }

    /// What it was told to be.
    pub fn config(&self) -> &Config {
        &self.core.config
    }

    /// The counters so far.
    pub fn counts(&self) -> &Counts {
        &self.core.counts
    }

    /// Whether the IMP has said that it goes down.
    pub fn imp_goes_down(&self) -> bool {
        self.core.imp_goes_down
    }
}
