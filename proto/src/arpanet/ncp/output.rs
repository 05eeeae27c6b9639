//! Output to the IMP and to other hosts.

use super::config::Config;
use super::connection::{Allowance, Class, Connection, Flight, Stage};
use super::input::letter;
use super::peer::{ControlState, Echo};
use super::states::{Handshake, HandshakeInput, Life};
use super::{Core, Mem, Out};
use crate::arpanet::control::{self, CONTROL, Control, Header};
use crate::arpanet::leader::{Form, Kind, Leader};
use crate::engine::Cx;
use crate::trace::{Load, TraceEvent};

/// A control message that grows.
struct ControlMessage<'a> {
    octets: &'a mut [u8; CONTROL],
    len: usize,
}

impl ControlMessage<'_> {
    /// Appends a command if there is room for it.
    fn say(&mut self, command: &Control) -> bool {
        let put = command.put(&mut self.octets[self.len..]);
        self.len += put.unwrap_or(0);
        put.is_some()
    }
}

impl Core {
    /// Makes the next message, if none is lent.
    pub(crate) fn make(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        if let Out::Data(slot, index) = self.out {
            let c = &self.connections[slot];
            if !(c.used && index < c.flying && c.flights[index].stage == Stage::Made) {
                self.drop_out();
            }
        }
        if self.out_len > 0 {
            return;
        }
        if self.nops > 0 {
            return self.put(mem, Out::Nop, Leader::new(Kind::Nop));
        }
        if let Some(subtype) = self.leader_error {
            let leader = Leader { subtype, ..Leader::new(Kind::LeaderError) };
            return self.put(mem, Out::Error, leader);
        }
        let count = self.peers.len();
        for step in 0..count {
            let index = (self.next_peer + step) % count;
            if self.peers[index].used && self.send_control(cx, mem, index) {
                self.next_peer = index + 1;
                return;
            }
        }
        for class in [Class::Interactive, Class::Bulk] {
            let count = self.config.slots();
            for step in 0..count {
                let slot = (self.next_data + step) % count;
                let c = &self.connections[slot];
                if c.used && c.class == class && self.send(cx, mem, slot) {
                    self.next_data = slot + 1;
                    return;
                }
            }
        }
    }

    /// Puts a leader at the front of the message that is lent.
    fn put(&mut self, mem: &mut Mem<'_>, out: Out, mut leader: Leader) {
        if self.config.form == Form::New {
            leader.long.network = self.config.network;
        }
        if let Some(len) = leader.put(self.config.form, mem.out) {
            self.out = out;
            self.out_len = len;
        }
    }

    /// Makes a control message for a host, if there is anything to say and the link is free.
    fn send_control(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, index: usize) -> bool {
        if self.peers[index].control == ControlState::Free {
            let mut octets = [0; CONTROL];
            let mut text = ControlMessage { octets: &mut octets, len: 0 };
            self.compose(cx, mem, index, &mut text);
            let len = text.len;
            if len == 0 {
                return false;
            }
            let peer = &mut self.peers[index];
            peer.text = octets;
            peer.text_len = len;
            peer.control = ControlState::Made;
            peer.tries = 0;
        }
        let peer = &self.peers[index];
        if peer.control != ControlState::Made {
            return false;
        }
        let (text, len, address) = (peer.text, peer.text_len, peer.address);
        self.put(mem, Out::Control(index), Leader::regular(address, control::LINK));
        if self.out_len == 0 {
            // An address that this form of leader has no room for: it cannot be said.
            self.purge(cx, index, super::Trouble::Dead(crate::arpanet::leader::Dead::Imp));
            self.peers[index] = super::Peer::NONE;
            return false;
        }
        let header = Header { size: 8, count: len as u16 };
        let at = self.out_len + header.put(&mut mem.out[self.out_len..]).unwrap_or(0);
        mem.out[at..at + len].copy_from_slice(&text[..len]);
        self.out_len = at + len;
        true
    }

    /// Gathers what is to be said to a host.
    fn compose(
        &mut self,
        cx: &mut Cx<'_>,
        mem: &Mem<'_>,
        index: usize,
        text: &mut ControlMessage<'_>,
    ) {
        let peer = &mut self.peers[index];
        if core::mem::take(&mut peer.owes_rrp) {
            text.say(&Control::Rrp);
            return;
        }
        if core::mem::take(&mut peer.owes_rst) {
            text.say(&Control::Rst);
            peer.reset_until = Some(cx.now + self.config.rrp.get());
            return;
        }
        if let Some(data) = peer.owes_erp.take() {
            text.say(&Control::Erp(data));
        }
        if let Some(data) = peer.owes_eco.take() {
            text.say(&Control::Eco(data));
        }
        if peer.life == Life::Resetting {
            return;
        }
        if let Some((code, data)) = peer.owes_err.take() {
            text.say(&Control::Err { code, data });
            self.counts.errors_out += 1;
        }
        for place in &mut self.refusals {
            if let Some(refusal) = *place
                && usize::from(refusal.peer) == index
                && text.say(&Control::Cls { mine: refusal.local, yours: refusal.foreign })
            {
                *place = None;
            }
        }
        let ring = self.config.ring();
        for slot in 0..self.config.slots() {
            let c = &mut self.connections[slot];
            if c.used && usize::from(c.peer) == index {
                let memory = &mem.rings[slot * ring..][..ring];
                c.compose(cx, &self.config, memory, text);
                self.reap(slot);
            }
        }
    }

    /// Makes a message with data, if the connection has any that may go.
    fn send(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, slot: usize) -> bool {
        let host_window = self.config.host_window.max(1);
        let c = &self.connections[slot];
        let peer = self.peers[usize::from(c.peer)];
        if !c.sends() || !c.stands.was_opened() || c.trouble.is_some() || peer.flying >= host_window
        {
            return false;
        }
        let due = c.flights[..c.flying].iter().position(|f| f.stage == Stage::Made);
        let Some(index) = due.or_else(|| self.take_off(cx, slot)) else { return false };
        let c = &self.connections[slot];
        let (flight, link) = (c.flights[index], c.link);
        let offset = c.flights[..index].iter().map(|f| usize::from(f.bits)).sum();
        let (bits, size, queue) = (usize::from(flight.bits), c.size, c.queue);
        let urgent = self.config.priority && c.class == Class::Interactive;
        let leader = Leader { id: flight.id, ..Leader::regular(peer.address, link) };
        let leader = if urgent { leader.urgent(self.config.form) } else { leader };
        self.put(mem, Out::Data(slot, index), leader);
        let header = Header { size, count: (bits / usize::from(size)) as u16 };
        let at = self.out_len + header.put(&mut mem.out[self.out_len..]).unwrap_or(0);
        let len = bits.div_ceil(8);
        if len > 0 {
            // What the text does not fill of its last octet.
            mem.out[at + len - 1] = 0;
        }
        let ring = self.config.ring();
        queue.peek(&mem.rings[slot * ring..][..ring], offset, &mut mem.out[at..at + len], bits);
        self.out_len = at + len;
        true
    }

    /// Makes a new flight, if one may go.
    fn take_off(&mut self, cx: &mut Cx<'_>, slot: usize) -> Option<usize> {
        let flight = self.next_flight(cx, slot)?;
        let c = &mut self.connections[slot];
        c.flights[c.flying] = flight;
        c.flying += 1;
        c.next_id = (c.next_id + 1) % 16;
        Some(c.flying - 1)
    }

    /// The next message of a connection, as far as window, buffers and allocation let it go.
    fn next_flight(&mut self, cx: &mut Cx<'_>, slot: usize) -> Option<Flight> {
        let window = self.config.window();
        let c = &self.connections[slot];
        let stuck = c.flights[..c.flying].iter().any(|f| matches!(f.stage, Stage::Again(_)));
        if c.flying >= window || stuck || c.stands != Handshake::Open {
            return None;
        }
        let size = usize::from(c.size);
        let waiting = c.queue.len() - c.flying_bits();
        let (limit, large) = self.config.text(waiting);
        let limit = limit.min(self.longest_text);
        let full = self.config.text(usize::MAX).0.min(self.longest_text) / size * size;
        if waiting < size || limit < size {
            return None;
        }
        if c.class == Class::Bulk && !c.push && waiting < full.min(c.bits as usize / size * size) {
            return None;
        }
        let bits = waiting.min(limit).min(c.bits as usize) / size * size;
        if c.messages == 0 || bits == 0 {
            let until = cx.now + self.config.all.get();
            if c.all_until.is_none() && cx.trace.enabled() {
                let value = u64::from(c.link);
                cx.trace.record(cx.now, &TraceEvent::Value { name: "unallocated", value });
            }
            self.connections[slot].all_until.get_or_insert(until);
            return None;
        }
        let Config { small_count, large_count, .. } = self.config;
        let most = if large { large_count } else { small_count };
        if self.buffers(large) >= usize::from(most.max(1)) {
            return None;
        }
        let c = &mut self.connections[slot];
        c.messages -= 1;
        c.bits -= bits as u32;
        c.push &= waiting > bits;
        c.push |= c.closing;
        let id = if window > 1 { c.next_id } else { 0 };
        Some(Flight { bits: bits as u16, id, large, tries: 0, stage: Stage::Made })
    }

    /// Output buffers in use.
    fn buffers(&self, large: bool) -> usize {
        let used = self.connections.iter().filter(|c| c.used);
        let flights = used.flat_map(|c| c.flights[..c.flying].iter());
        flights.filter(|f| f.large == large && f.stage != Stage::Done).count()
    }

    /// The interface took the message.
    pub(crate) fn left(&mut self, cx: &mut Cx<'_>, mem: &Mem<'_>, len: usize) {
        if self.out_len == 0 || len != self.out_len {
            return;
        }
        self.counts.messages_out += 1;
        self.counts.octets_out += len as u64;
        self.counts.longest = self.counts.longest.max(len as u64);
        let until = cx.now + self.config.rfnm.get();
        let mut again = 0;
        let mut data = 0;
        match self.out {
            Out::Nothing => {}
            Out::Nop => self.nops = self.nops.saturating_sub(1),
            Out::Error => self.leader_error = None,
            Out::Control(index) => {
                let erp = self.config.erp.get();
                let peer = &mut self.peers[index];
                peer.control = ControlState::Flying(until);
                peer.last = cx.now;
                peer.flying += 1;
                if peer.echo == Some(Echo::Waiting)
                    && peer.owes_eco.is_none()
                    && peer.echo_left.is_none()
                {
                    peer.echo_left = Some(cx.now);
                    peer.echo_until = Some(cx.now + erp);
                }
                again = peer.tries;
                self.counts.control_out += 1;
            }
            Out::Data(slot, index) => {
                let c = &mut self.connections[slot];
                let flight = &mut c.flights[index];
                flight.stage = Stage::Flying(until);
                again = flight.tries;
                data = usize::from(flight.bits);
                self.peers[usize::from(c.peer)].flying += 1;
                self.counts.data_out += 1;
                self.counts.bits_out += data as u64;
            }
        }
        self.counts.again += u64::from(again > 0);
        if cx.trace.enabled()
            && let Ok(leader) = Leader::parse(self.config.form, mem.out)
        {
            let at = self.counts.octets_out - len as u64;
            let load = Load { at, data: data.div_ceil(8), ..Load::default() };
            let (kind, number) = (letter(&leader), u64::from(leader.link));
            let again = u32::from(again);
            cx.trace.record(cx.now, &TraceEvent::Sent { kind, number, len, again, load });
        }
        self.drop_out();
    }
}

impl Connection {
    /// What is to be said about it.
    fn compose(
        &mut self,
        cx: &mut Cx<'_>,
        config: &Config,
        memory: &[u8],
        text: &mut ControlMessage<'_>,
    ) {
        let link = self.link;
        if self.owes_rfc
            && let Some(yours) = self.foreign
        {
            let mine = self.local;
            let request = if self.sends() {
                Control::Str { mine, yours, size: self.size }
            } else {
                Control::Rts { mine, yours, link }
            };
            if text.say(&request) {
                self.owes_rfc = false;
                self.enter(cx, HandshakeInput::RfcSaid);
                let is_asked = self.stands == Handshake::Asked;
                self.rfc_until = is_asked.then(|| cx.now + config.rfc.get());
            }
        }
        if self.stands == Handshake::Open {
            self.compose_open(config, memory, text);
        }
        // A sender has nothing in flight, and nothing left unless it has given up.
        let is_wanted = self.trouble.is_none() && !self.stands.has_heard_cls();
        let done = !self.sends() || !is_wanted || self.queue.len() == 0;
        if self.closing
            && done
            && self.flying == 0
            && self.stands.may_say_cls()
            && let Some(yours) = self.foreign
            && text.say(&Control::Cls { mine: self.local, yours })
        {
            self.enter(cx, HandshakeInput::ClsSaid);
            let is_over = self.stands == Handshake::Over;
            self.cls_until = (!is_over).then(|| cx.now + config.cls.get());
        }
    }

    fn compose_open(&mut self, config: &Config, memory: &[u8], text: &mut ControlMessage<'_>) {
        let link = self.link;
        if let Some((messages, bits)) = self.owes_ret
            && text.say(&Control::Ret { link, messages, bits })
        {
            self.owes_ret = None;
        }
        if let Some((messages, bits)) = self.owes_gvb
            && text.say(&Control::Gvb { link, messages, bits })
        {
            self.owes_gvb = None;
        }
        if self.owes_interrupt {
            let command = if self.sends() { Control::Ins { link } } else { Control::Inr { link } };
            self.owes_interrupt = !text.say(&command);
        }
        if self.sends() || self.closing {
            return;
        }
        let (messages, bits) = match self.allowance {
            Allowance::Once(messages, bits) if !self.allowed => (messages, bits),
            Allowance::Once(..) => return,
            Allowance::Room => self.renewal(config, memory),
        };
        if (messages, bits) != (0, 0) && text.say(&Control::All { link, messages, bits }) {
            self.messages = self.messages.saturating_add(messages);
            self.bits = self.bits.saturating_add(bits);
            self.allowed = true;
        }
    }

    /// What more a sender may be allowed, once it is worth a message.
    fn renewal(&self, config: &Config, memory: &[u8]) -> (u16, u32) {
        let total = memory.len() * 8;
        let room = self.queue.room(memory).saturating_sub(self.bits as usize);
        let bits = if (self.bits as usize) < total / 2 && room >= total / 4 { room } else { 0 };
        let ahead = config.messages.max(1);
        let messages = if self.messages <= ahead / 2 { ahead - self.messages } else { 0 };
        if bits == 0 && (messages == 0 || self.bits == 0) {
            return (0, 0);
        }
        (ahead.saturating_sub(self.messages), bits as u32)
    }

    /// Takes what was delivered off the queue, and what will not go off the list.
    pub(super) fn settle(&mut self) {
        if self.trouble.is_some() {
            let gone = |stage: Stage| matches!(stage, Stage::Made | Stage::Again(_));
            self.flights[..self.flying]
                .iter_mut()
                .filter(|f| gone(f.stage))
                .for_each(|f| f.stage = Stage::Done);
        }
        let done =
            self.flights[..self.flying].iter().take_while(|f| f.stage == Stage::Done).count();
        for _ in 0..done {
            self.queue.drop(usize::from(self.flights[0].bits));
            self.flights.copy_within(1..self.flying, 0);
            self.flying -= 1;
        }
    }
}
