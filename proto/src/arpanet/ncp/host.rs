//! What processes see of their host's NCP.

use super::connection::{Allowance, Connection, Id, State, Trouble, Wanted};
use super::peer::Echo;
use super::states::{Handshake, Life, LifeInput};
use super::{Core, Mem};
use crate::arpanet::leader::Address;
use crate::engine::Cx;
use crate::time::Instant;
use crate::trace::NoTrace;
use core::fmt;

/// A request for connection that waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rfc {
    /// Who asks.
    pub from: Address,
    /// Its socket.
    pub foreign: u32,
    /// Ours.
    pub local: u32,
}

/// There is no place for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full;

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected a free place for a connection or a host, all are taken")
    }
}

impl core::error::Error for Full {}

/// A host's NCP, as its processes see it.
#[derive(Debug)]
pub struct Host<'a> {
    pub(super) core: &'a mut Core,
    pub(super) mem: Mem<'a>,
}

impl<'a> Host<'a> {
    pub(crate) fn of(core: &'a mut Core, memory: &'a mut [u8]) -> Self {
        let mem = Mem::divide(&core.config, memory);
        Self { core, mem }
    }

    /// Lets requests to the sockets from `first` to `last` wait for a process; others are refused.
    pub fn listen(&mut self, first: u32, last: u32) -> Result<(), Full> {
        let listening = &mut self.core.listening;
        if listening.iter().flatten().any(|range| *range == (first, last)) {
            return Ok(());
        }
        let place = listening.iter_mut().find(|place| place.is_none()).ok_or(Full)?;
        *place = Some((first, last));
        Ok(())
    }

    /// Does so no more. What waits there is refused.
    pub fn deafen(&mut self, first: u32, last: u32) {
        let core = &mut *self.core;
        core.listening.iter_mut().filter(|r| **r == Some((first, last))).for_each(|r| *r = None);
        for index in 0..core.pending.len() {
            if let Some(p) = core.pending[index]
                && (first..=last).contains(&p.local)
            {
                core.pending[index] = None;
                core.refuse(usize::from(p.peer), p.local, p.foreign);
            }
        }
    }

    /// The oldest request that waits at a socket.
    pub fn waiting(&self, local: u32) -> Option<Rfc> {
        let here = self.core.pending.iter().flatten().filter(|p| p.local == local);
        here.min_by_key(|p| p.until).map(|p| Rfc {
            from: self.core.peers[usize::from(p.peer)].address,
            foreign: p.foreign,
            local,
        })
    }

    /// Refuses a request that waits.
    pub fn refuse(&mut self, rfc: Rfc) {
        let core = &mut *self.core;
        let Some(peer) = core.find_peer(rfc.from) else { return };
        let is = |p: &super::Pending| {
            usize::from(p.peer) == peer && (p.local, p.foreign) == (rfc.local, rfc.foreign)
        };
        let place = core.pending.iter_mut().find(|p| p.as_ref().is_some_and(is));
        if place.map(Option::take).is_some() {
            core.refuse(peer, rfc.local, rfc.foreign);
        }
    }

    /// Opens a connection with a host. Odd local sockets send, even ones receive. It is looked after until
    /// [`Host::release`].
    pub fn open(&mut self, cx: &mut Cx<'_>, to: Address, wanted: Wanted) -> Result<Id, Full> {
        let core = &mut *self.core;
        let slots = core.config.slots();
        let slot = core.connections[..slots].iter().position(|c| !c.used).ok_or(Full)?;
        let peer = core.peer(cx.now, to).ok_or(Full)?;
        let turn = core.connections[slot].turn.wrapping_add(1);
        let link =
            if wanted.local.is_multiple_of(2) { core.free_link(peer).ok_or(Full)? } else { 0 };
        let Wanted { local, foreign, size, passive, class, allowance } = wanted;
        let size = size.max(1);
        let mut c =
            Connection { used: true, turn, peer: peer as u8, local, foreign, ..Connection::NONE };
        c.link = link;
        c.size = size;
        c.passive = passive;
        c.class = class;
        c.allowance = allowance;
        c.owes_rfc = !passive;
        c.rfc_until = Some(cx.now + core.config.rfc.get());
        core.connections[slot] = c;
        let is = |p: &super::Pending| {
            usize::from(p.peer) == peer
                && p.local == local
                && foreign.is_none_or(|f| f == p.foreign)
        };
        let place = core.pending.iter_mut().find(|p| p.as_ref().is_some_and(is));
        if let Some(p) = place.and_then(Option::take) {
            core.matched(cx, slot, p.foreign, p.number);
            (core.connections[slot].messages, core.connections[slot].bits) = p.all;
        }
        let is_new = core.connections[slot].stands == Handshake::New;
        if core.config.reset && core.peers[peer].life == Life::Unknown && !passive && is_new {
            core.peers[peer].owes_rst = true;
            core.peers[peer].enter(cx, LifeInput::Reset);
        }
        Ok(Id { slot: slot as u8, turn })
    }

    fn find(&self, id: Id) -> Option<usize> {
        let c = &self.core.connections[usize::from(id.slot)];
        (c.used && !c.orphan && c.turn == id.turn).then_some(usize::from(id.slot))
    }

    fn connection(&mut self, id: Id) -> Option<&mut Connection> {
        self.find(id).map(|slot| &mut self.core.connections[slot])
    }

    /// Where it stands.
    pub fn state(&self, id: Id) -> State {
        self.find(id)
            .map_or(State::Failed(Trouble::Aborted), |slot| self.core.connections[slot].state())
    }

    /// Bits of its bytes: the sender has chosen them.
    pub fn size(&self, id: Id) -> u8 {
        self.find(id).map_or(0, |slot| self.core.connections[slot].size)
    }

    /// The peer's socket, once it is known.
    pub fn foreign(&self, id: Id) -> Option<u32> {
        self.find(id).and_then(|slot| self.core.connections[slot].foreign)
    }

    /// The host at the peer.
    pub fn with(&self, id: Id) -> Option<Address> {
        let slot = self.find(id)?;
        Some(self.core.peers[usize::from(self.core.connections[slot].peer)].address)
    }

    /// Bits that [`Host::write`] would take.
    pub fn room(&self, id: Id) -> usize {
        let Some(slot) = self.find(id) else { return 0 };
        let c = &self.core.connections[slot];
        let ring = self.core.config.ring();
        if c.closing || c.trouble.is_some() {
            return 0;
        }
        // The zeros that fill the last byte find their place when all of this is taken.
        let filling = if c.size.is_multiple_of(8) { 0 } else { usize::from(c.size) };
        c.queue.room(&self.mem.rings[slot * ring..][..ring]).saturating_sub(filling)
    }

    /// Takes the first bits of these octets, to be sent, and says how many: all of them, or whole octets.
    pub fn write(&mut self, id: Id, octets: &[u8], bits: usize) -> usize {
        let (bits, room) = (bits.min(octets.len() * 8), self.room(id));
        let bits = if bits > room { room / 8 * 8 } else { bits };
        let Some(slot) = self.find(id) else { return 0 };
        let ring = self.core.config.ring();
        let memory = &mut self.mem.rings[slot * ring..][..ring];
        self.core.connections[slot].queue.push(memory, octets, 0, bits)
    }

    /// Bits that wait to be sent or to get their RFNM, or to be read.
    pub fn queued(&self, id: Id) -> usize {
        self.find(id).map_or(0, |slot| self.core.connections[slot].queue.len())
    }

    /// Whether all that will ever come is here: the sender has closed the connection.
    pub fn has_all(&self, id: Id) -> bool {
        self.find(id).is_some_and(|slot| {
            let c = &self.core.connections[slot];
            c.stands.has_heard_cls() && !c.sends()
        })
    }

    /// Copies the first bits that came, as many as fit, and says how many. They stay until [`Host::consume`].
    pub fn peek(&self, id: Id, into: &mut [u8]) -> usize {
        let Some(slot) = self.find(id) else { return 0 };
        let c = &self.core.connections[slot];
        if c.sends() {
            return 0;
        }
        let (ring, bits) = (self.core.config.ring(), c.queue.len().min(into.len() * 8));
        c.queue.peek(&self.mem.rings[slot * ring..][..ring], 0, into, bits);
        bits
    }

    /// The first bits that came have been used.
    pub fn consume(&mut self, id: Id, bits: usize) {
        if let Some(c) = self.connection(id)
            && !c.sends()
        {
            c.queue.drop(bits);
        }
    }

    /// Sends what waits, however little.
    pub fn push(&mut self, id: Id) {
        if let Some(c) = self.connection(id) {
            c.push = true;
        }
    }

    /// Interrupts: INS from a sender, INR from a receiver.
    pub fn interrupt(&mut self, id: Id) {
        if let Some(c) = self.connection(id) {
            c.owes_interrupt = matches!(c.stands, Handshake::Open | Handshake::Ending);
        }
    }

    /// Whether the peer has interrupted since this was asked last.
    pub fn interrupted(&mut self, id: Id) -> bool {
        self.connection(id).is_some_and(|c| core::mem::take(&mut c.interrupted))
    }

    /// Asks a sender for parts of what it was allowed, in 128ths; 128 is all.
    pub fn take_back(&mut self, id: Id, messages: u8, bits: u8) {
        if let Some(c) = self.connection(id)
            && !c.sends()
            && c.stands.was_opened()
        {
            c.owes_gvb = Some((messages, bits));
        }
    }

    /// Messages and bits that a sender may send yet, or that a receiver has allowed and not got.
    pub fn allocation(&self, id: Id) -> (u16, u32) {
        self.find(id).map_or((0, 0), |slot| {
            let c = &self.core.connections[slot];
            (c.messages, c.bits)
        })
    }

    /// Allows a sender this much more, regardless of the room left; data beyond the room ends the connection.
    pub fn allow(&mut self, id: Id, messages: u16, bits: u32) {
        if let Some(c) = self.connection(id) {
            c.allowance = Allowance::Once(messages, bits);
            c.allowed = false;
        }
    }

    /// A sender has no more: what waits is sent, its last byte filled with zeros, and then the connection is closed. A
    /// receiver wants no more.
    pub fn close(&mut self, id: Id) {
        let Some(slot) = self.find(id) else { return };
        let ring = self.core.config.ring();
        let memory = &mut self.mem.rings[slot * ring..][..ring];
        let c = &mut self.core.connections[slot];
        if c.closing {
            return;
        }
        if c.sends() && !c.queue.len().is_multiple_of(usize::from(c.size)) {
            let zeros = usize::from(c.size) - c.queue.len() % usize::from(c.size);
            c.queue.push(memory, &[0; 32], 0, zeros);
        }
        c.closing = true;
        c.push = true;
        let has_data = c.sends() && c.queue.len() > 0;
        if !c.stands.was_opened() && !has_data {
            self.give_up(slot);
        }
    }

    /// Gives it up: what waits is lost.
    pub fn abort(&mut self, id: Id) {
        if let Some(slot) = self.find(id) {
            self.give_up(slot);
        }
    }

    /// A process gives up without a trace at hand; what the table says holds all the same.
    fn give_up(&mut self, slot: usize) {
        let cx = &mut Cx { now: Instant::ZERO, trace: &mut NoTrace };
        self.core.fail(cx, slot, Trouble::Aborted);
    }

    /// Releases it: it is closed, and its slot is free when the peer has agreed.
    pub fn release(&mut self, id: Id) {
        self.close(id);
        let Some(slot) = self.find(id) else { return };
        self.core.connections[slot].orphan = true;
        self.core.reap(slot);
    }

    /// Sends an echo. One at a time to a host.
    pub fn echo(&mut self, cx: &mut Cx<'_>, to: Address, data: u8) -> Result<(), Full> {
        let peer = self.core.peer(cx.now, to).ok_or(Full)?;
        let until = cx.now + self.core.config.erp.get();
        let peer = &mut self.core.peers[peer];
        if peer.echo == Some(Echo::Waiting) {
            return Err(Full);
        }
        peer.owes_eco = Some(data);
        peer.echo = Some(Echo::Waiting);
        peer.echo_left = None;
        peer.echo_until = Some(until);
        Ok(())
    }

    /// What became of the last echo to a host. Once it is over it is forgotten when it has been told.
    pub fn echoed(&mut self, to: Address) -> Option<Echo> {
        let peer = self.core.find_peer(to)?;
        let peer = &mut self.core.peers[peer];
        let echo = peer.echo?;
        if echo != Echo::Waiting {
            peer.echo = None;
        }
        Some(echo)
    }

    /// Sends a RST: everything that is known of a host is forgotten.
    pub fn reset(&mut self, cx: &mut Cx<'_>, to: Address) -> Result<(), Full> {
        let peer = self.core.peer(cx.now, to).ok_or(Full)?;
        self.core.purge(cx, peer, Trouble::Aborted);
        self.core.peers[peer].owes_rst = true;
        self.core.peers[peer].enter(cx, LifeInput::Reset);
        Ok(())
    }

    /// Whether nothing is open, waits to be said, or for its RFNM.
    pub fn is_quiet(&self) -> bool {
        let core = &*self.core;
        !core.connections.iter().any(|c| c.used)
            && core.refusals.iter().all(Option::is_none)
            && core.out_len == 0
            && core.peers.iter().all(|peer| !peer.used || !peer.is_busy())
    }

    /// Whether a host has said anything, and its last packet was not that it is dead.
    pub fn is_up(&self, host: Address) -> bool {
        self.core.find_peer(host).is_some_and(|peer| self.core.peers[peer].life == Life::Up)
    }

    /// What a host complained of last: the code and the data of its ERR.
    pub fn complaint(&self, host: Address) -> Option<(u8, [u8; 10])> {
        self.core.find_peer(host).and_then(|peer| self.core.peers[peer].complaint)
    }
}
