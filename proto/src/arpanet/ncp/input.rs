//! What the IMP and other hosts say.

use super::connection::{Connection, Flight, Stage, Trouble};
use super::peer::{ControlState, Echo};
use super::states::{Handshake, HandshakeInput, Life, LifeInput};
use super::{Core, Mem, PENDING_OF_ONE, Pending, drop_if};
use crate::arpanet::control::{self, BadControl, Control, HEADER, Header, LINKS, PACKET_BITS};
use crate::arpanet::leader::{BadLeader, Dead, Form, Incomplete, Kind, Leader};
use crate::engine::Cx;
use crate::reason::reasons;
use crate::time::Duration;
use crate::trace::TraceEvent;

/// How long to wait before what was not delivered goes again, the first time.
const AGAIN: Duration = Duration::from_millis(500);

reasons! {
    /// Why input is not used.
    pub(super) enum BadInput {
        /// The leader is malformed.
        Leader = "leader",
        /// The IMP reports an error in a leader of ours.
        OurLeader = "our leader",
        /// The text does not match its header.
        Text = "text",
        /// The link number is not in use for this.
        Link = "link",
        /// A control command is unknown or truncated.
        Command = "command",
        /// There is no connection on the link.
        NotConnected = "link not connected",
        /// More came than was allocated.
        NotAllocated = "not allocated",
    }
}

/// A part of an allocation, in 128ths, rounded up; 128 and more is all.
fn part(of: u64, fraction: u8) -> u64 {
    (of * u64::from(fraction.min(128))).div_ceil(128)
}

impl Core {
    pub(crate) fn receive(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, message: &[u8]) {
        self.counts.messages_in += 1;
        self.counts.octets_in += message.len() as u64;
        let leader = match Leader::parse(self.config.form, message) {
            Ok(leader) => leader,
            Err(bad) => {
                self.damaged(cx, BadInput::Leader, message.len());
                if matches!(bad, BadLeader::Form(_)) {
                    // Who speaks the other form would not understand what is wrong, and say so, and so on.
                    self.counts.other_form += 1;
                } else {
                    self.leader_error = Some(bad.subtype());
                }
                return;
            }
        };
        if cx.trace.enabled() {
            let (kind, number) = (letter(&leader), u64::from(leader.link));
            let (len, at) = (message.len(), self.counts.octets_in);
            cx.trace.record(cx.now, &TraceEvent::Got { kind, number, len, data: 0, at });
        }
        match leader.kind {
            Kind::Regular if !leader.is_uncontrolled() => self.regular(cx, mem, &leader, message),
            Kind::Rfnm => self.rfnm(&leader),
            Kind::Incomplete | Kind::DataError => self.undelivered(cx, &leader),
            // The IMP had no place for the link, and did not take the message.
            Kind::Status if self.config.form == Form::Old => self.undelivered(cx, &leader),
            Kind::Dead => self.dead(cx, &leader),
            Kind::Down => self.imp_goes_down = true,
            Kind::Nop => self.imp_goes_down = false,
            Kind::Reset => self.interface_reset(cx),
            Kind::LeaderError => self.damaged(cx, BadInput::OurLeader, message.len()),
            Kind::Regular | Kind::Uncontrolled | Kind::Status => {}
        }
    }

    fn damaged(&mut self, cx: &mut Cx<'_>, why: BadInput, len: usize) {
        self.counts.damaged += 1;
        if cx.trace.enabled() {
            cx.trace.record(cx.now, &TraceEvent::Damaged { why: why.as_str(), len });
        }
    }

    fn regular(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, leader: &Leader, message: &[u8]) {
        let behind = &message[self.config.form.octets()..];
        let Ok((header, text)) = control::text(behind) else {
            return self.damaged(cx, BadInput::Text, message.len());
        };
        let is_control = leader.link == control::LINK;
        if !(is_control && header.size == 8 || LINKS.contains(&leader.link)) {
            return self.damaged(cx, BadInput::Link, message.len());
        }
        let Some(peer) = self.peer(cx.now, leader.address) else {
            self.counts.dropped += 1;
            return;
        };
        if is_control {
            self.commands(cx, peer, text);
        } else {
            self.data(cx, mem, peer, leader, header, text);
        }
    }

    fn commands(&mut self, cx: &mut Cx<'_>, peer: usize, mut text: &[u8]) {
        if self.peers[peer].life == Life::Unknown {
            self.peers[peer].enter(cx, LifeInput::Heard);
        }
        while !text.is_empty() {
            let (used, bad) = match Control::parse(text) {
                Ok((command, used)) => {
                    self.counts.commands_in += 1;
                    if cx.trace.enabled() {
                        let name = control::NAMES[usize::from(command.opcode())];
                        cx.trace.record(cx.now, &TraceEvent::Text { name, text: &text[1..used] });
                    }
                    (used, self.obey(cx, peer, &command).err())
                }
                Err(bad) => {
                    self.damaged(cx, BadInput::Command, text.len());
                    let opcode = control_len(bad).unwrap_or(text.len());
                    (opcode, Some(bad.code()))
                }
            };
            // An error in an error is not reported: two hosts could loop indefinitely.
            if let Some(code) = bad
                && text[0] != (Control::Err { code: 0, data: [0; 10] }).opcode()
            {
                self.complain(peer, code, text);
            }
            text = &text[used..];
        }
    }

    /// Marks an ERR. While one waits to be said, others are dropped.
    fn complain(&mut self, peer: usize, code: u8, about: &[u8]) {
        let peer = &mut self.peers[peer];
        if peer.owes_err.is_some() {
            self.counts.dropped += 1;
            return;
        }
        let mut data = [0; 10];
        let len = about.len().min(10);
        data[..len].copy_from_slice(&about[..len]);
        peer.owes_err = Some((code, data));
    }

    /// Does what a command says; or the code of what is wrong with it.
    fn obey(&mut self, cx: &mut Cx<'_>, peer: usize, command: &Control) -> Result<(), u8> {
        match *command {
            Control::Nop => {}
            Control::Rts { mine, yours, link: number }
            | Control::Str { mine, yours, size: number } => {
                self.request(cx, peer, mine, yours, number);
            }
            Control::Cls { mine, yours } => self.close(cx, peer, yours, mine),
            Control::All { link, messages, bits } => {
                return self.allocated(peer, link, messages, bits);
            }
            Control::Gvb { link, messages, bits } => {
                let c = self.by_link(peer, link, true).ok_or(control::code::CONNECTION)?;
                let messages = part(u64::from(c.messages), messages) as u16;
                let bits = part(u64::from(c.bits), bits) as u32;
                c.messages -= messages;
                c.bits -= bits;
                let (more, most) = c.owes_ret.unwrap_or_default();
                c.owes_ret = Some((messages.saturating_add(more), bits.saturating_add(most)));
            }
            Control::Ret { link, messages, bits } => {
                let c = self.by_link(peer, link, false).ok_or(control::code::CONNECTION)?;
                c.messages = c.messages.saturating_sub(messages);
                c.bits = c.bits.saturating_sub(bits);
            }
            Control::Inr { link } | Control::Ins { link } => {
                let sends = matches!(command, Control::Inr { .. });
                let c = self.by_link(peer, link, sends).ok_or(control::code::CONNECTION)?;
                c.interrupted = true;
            }
            Control::Eco(data) => {
                let peer = &mut self.peers[peer];
                self.counts.dropped += u64::from(peer.owes_erp.is_some());
                peer.owes_erp = Some(data);
            }
            Control::Erp(data) => {
                let peer = &mut self.peers[peer];
                if let (Some(Echo::Waiting), Some(left)) = (peer.echo, peer.echo_left) {
                    let ns = cx.now.since(left).as_nanos() as u64;
                    peer.echo = Some(Echo::Back { data, ns });
                    peer.echo_until = None;
                }
            }
            Control::Err { code, data } => self.complained(cx, peer, code, data),
            Control::Rst => {
                let unsaid = self.peers[peer].control == ControlState::Made;
                self.purge(cx, peer, Trouble::Reset);
                let peer = &mut self.peers[peer];
                peer.owes_rrp = true;
                peer.owes_rst |= unsaid && peer.life == Life::Resetting;
            }
            Control::Rrp => {
                let peer = &mut self.peers[peer];
                if peer.life == Life::Resetting && !peer.owes_rst {
                    peer.enter(cx, LifeInput::Answered);
                    peer.reset_until = None;
                }
            }
        }
        Ok(())
    }

    /// The connection that a link belongs to.
    fn by_link(&mut self, peer: usize, link: u8, sends: bool) -> Option<&mut Connection> {
        self.connections.iter_mut().find(|c| {
            c.used
                && usize::from(c.peer) == peer
                && c.link == link
                && c.sends() == sends
                && c.stands.is_with_peer()
        })
    }

    /// A link that the peer may send to us by, the lowest that is free.
    pub(super) fn free_link(&self, peer: usize) -> Option<u8> {
        LINKS.into_iter().find(|link| {
            !self
                .connections
                .iter()
                .any(|c| c.used && !c.sends() && usize::from(c.peer) == peer && c.link == *link)
        })
    }

    fn request(&mut self, cx: &mut Cx<'_>, peer: usize, foreign: u32, local: u32, number: u8) {
        let sends = local % 2 == 1;
        let mut here = self.connections.iter().enumerate().filter(|(_, c)| {
            c.used && usize::from(c.peer) == peer && c.local == local && c.trouble.is_none()
        });
        let fits = |c: &Connection| c.foreign.is_none_or(|wanted| wanted == foreign);
        let found =
            here.clone().find(|(_, c)| fits(c) && c.stands.awaits_rfc()).map(|(slot, _)| slot);
        // The same again: the first was heard.
        let repeated = here.any(|(_, c)| c.stands.is_with_peer() && c.foreign == Some(foreign));
        // Two connections that a sender could not tell apart.
        let taken = sends && self.by_link(peer, number, true).is_some();
        if let Some(slot) = found.filter(|_| !taken) {
            return self.matched(cx, slot, foreign, number);
        }
        if repeated {
            return;
        }
        let is =
            |p: &Pending| usize::from(p.peer) == peer && (p.local, p.foreign) == (local, foreign);
        let until = cx.now + self.config.rfc.get();
        let listens = self.listening.iter().flatten().any(|(a, b)| (*a..=*b).contains(&local));
        let same = self.pending.iter().position(|p| p.as_ref().is_some_and(is));
        let others = self.pending.iter().flatten().filter(|p| usize::from(p.peer) == peer);
        let may_wait = others.count() < PENDING_OF_ONE;
        let free = || self.pending.iter().position(Option::is_none).filter(|_| may_wait);
        match same.or_else(free) {
            Some(place) if listens && !taken => {
                let none = (0, 0);
                let peer = peer as u8;
                self.pending[place] =
                    Some(Pending { peer, foreign, local, number, until, all: none });
            }
            _ => self.refuse(peer, local, foreign),
        }
    }

    /// The peer's request and ours belong together.
    pub(super) fn matched(&mut self, cx: &mut Cx<'_>, slot: usize, foreign: u32, number: u8) {
        let c = &mut self.connections[slot];
        c.enter(cx, HandshakeInput::RfcHeard);
        c.foreign = Some(foreign);
        c.owes_rfc = c.stands == Handshake::Called;
        if c.sends() {
            c.link = number;
        } else {
            c.size = number;
        }
        if c.stands == Handshake::Open {
            c.rfc_until = None;
        }
    }

    fn close(&mut self, cx: &mut Cx<'_>, peer: usize, local: u32, foreign: u32) {
        let is =
            |p: &Pending| usize::from(p.peer) == peer && (p.local, p.foreign) == (local, foreign);
        if let Some(place) = self.pending.iter_mut().find(|p| p.as_ref().is_some_and(is)) {
            drop_if(place, is);
            return self.refuse(peer, local, foreign);
        }
        let here = |c: &Connection| {
            let same =
                usize::from(c.peer) == peer && c.local == local && c.foreign == Some(foreign);
            c.used && same && !c.stands.has_heard_cls()
        };
        // One that is not there was refused by us, or its CLS was awaited too long.
        let Some(slot) = self.connections.iter().position(here) else { return };
        let c = &mut self.connections[slot];
        // What is in flight may be there already: a RFNM can be later than the CLS that follows from it.
        let gone = |f: &&Flight| matches!(f.stage, Stage::Flying(_) | Stage::Done);
        let gone: usize =
            c.flights[..c.flying].iter().filter(gone).map(|f| usize::from(f.bits)).sum();
        let unsent = c.sends() && c.queue.len() > gone;
        match c.stands {
            Handshake::New | Handshake::Called => self.fail(cx, slot, Trouble::Refused),
            Handshake::Asked | Handshake::Withdrawn => c.fail(cx, Trouble::Refused),
            Handshake::Open if unsent => c.fail(cx, Trouble::Closed),
            _ => {}
        }
        let c = &mut self.connections[slot];
        if c.stands != Handshake::Over {
            c.enter(cx, HandshakeInput::ClsHeard);
        }
        c.closing = true;
        c.cls_until = None;
        self.reap(slot);
    }

    fn allocated(&mut self, peer: usize, link: u8, messages: u16, bits: u32) -> Result<(), u8> {
        let Some(c) = self.by_link(peer, link, true) else {
            let is = |p: &&mut Pending| {
                usize::from(p.peer) == peer && p.local % 2 == 1 && p.number == link
            };
            let p = self.pending.iter_mut().flatten().find(is).ok_or(control::code::CONNECTION)?;
            p.all = (p.all.0.saturating_add(messages), p.all.1.saturating_add(bits));
            return Ok(());
        };
        c.all_until = None;
        let sums = (c.messages.checked_add(messages), c.bits.checked_add(bits));
        c.messages = sums.0.unwrap_or(u16::MAX);
        c.bits = sums.1.unwrap_or(u32::MAX);
        if sums.0.is_none() || sums.1.is_none() { Err(control::code::PARAMETERS) } else { Ok(()) }
    }

    fn complained(&mut self, cx: &mut Cx<'_>, peer: usize, code: u8, data: [u8; 10]) {
        self.counts.errors_in += 1;
        self.peers[peer].complaint = Some((code, data));
        if code != control::code::SOCKET && code != control::code::CONNECTION {
            return;
        }
        let Ok((command, _)) = Control::parse(&data) else { return };
        let (Control::Rts { mine, yours, .. } | Control::Str { mine, yours, .. }) = command else {
            return;
        };
        for index in 0..self.connections.len() {
            let c = &mut self.connections[index];
            let ours = c.used && usize::from(c.peer) == peer && c.stands.is_unanswered();
            if ours && c.local == mine && c.foreign == Some(yours) {
                c.forget(cx, Trouble::Refused);
                self.reap(index);
            }
        }
    }

    fn data(
        &mut self,
        cx: &mut Cx<'_>,
        mem: &mut Mem<'_>,
        peer: usize,
        leader: &Leader,
        header: Header,
        text: &[u8],
    ) {
        let ring = self.config.ring();
        let is = |c: &Connection| {
            let here = c.used && usize::from(c.peer) == peer && c.link == leader.link;
            let is_open = matches!(c.stands, Handshake::Open | Handshake::Closing);
            here && !c.sends() && is_open
        };
        let Some(slot) = self.connections.iter().position(is) else {
            self.damaged(cx, BadInput::NotConnected, text.len());
            let [high, low] = header.count.to_be_bytes();
            let about = [leader.link, header.size, high, low];
            return self.complain(peer, control::code::CONNECTION, &about);
        };
        let c = &mut self.connections[slot];
        if c.closing {
            return;
        }
        let (bits, memory) = (header.bits(), &mut mem.rings[slot * ring..][..ring]);
        let trouble = if header.size != c.size {
            Some(Trouble::ByteSize)
        } else if c.messages == 0 || bits as u64 > u64::from(c.bits) || bits > c.queue.room(memory)
        {
            Some(Trouble::Overflow)
        } else {
            None
        };
        if let Some(trouble) = trouble {
            c.fail(cx, trouble);
            return self.damaged(cx, BadInput::NotAllocated, text.len());
        }
        c.messages -= 1;
        c.bits -= bits as u32;
        c.queue.push(memory, text, 0, bits);
        self.counts.data_in += 1;
        self.counts.bits_in += bits as u64;
    }

    /// The message of ours that the IMP speaks of: its connection, and which of its flights.
    fn flight(&self, leader: &Leader) -> Option<(usize, usize)> {
        let peer = self.find_peer(leader.address)?;
        self.connections.iter().enumerate().find_map(|(slot, c)| {
            if !(c.used && c.sends() && usize::from(c.peer) == peer && c.link == leader.link) {
                return None;
            }
            let is = |flight: &Flight| {
                matches!(flight.stage, Stage::Flying(_)) && flight.id == leader.id
            };
            c.flights[..c.flying].iter().position(is).map(|index| (slot, index))
        })
    }

    fn rfnm(&mut self, leader: &Leader) {
        if leader.link == control::LINK {
            let Some(peer) = self.find_peer(leader.address) else { return };
            let peer = &mut self.peers[peer];
            if matches!(peer.control, ControlState::Flying(_)) {
                peer.control = ControlState::Free;
                peer.tries = 0;
                peer.flying = peer.flying.saturating_sub(1);
                self.counts.rfnms += 1;
            }
            return;
        }
        let Some((slot, index)) = self.flight(leader) else { return };
        self.counts.rfnms += 1;
        let c = &mut self.connections[slot];
        c.flights[index].stage = Stage::Done;
        let peer = &mut self.peers[usize::from(c.peer)];
        peer.flying = peer.flying.saturating_sub(1);
        c.settle();
        self.reap(slot);
    }

    fn undelivered(&mut self, cx: &mut Cx<'_>, leader: &Leader) {
        let again = |tries: u8| cx.now + AGAIN * (1 << tries.min(6));
        let most = self.config.retries;
        if leader.link == control::LINK {
            let Some(index) = self.find_peer(leader.address) else { return };
            let peer = &mut self.peers[index];
            if !matches!(peer.control, ControlState::Flying(_)) {
                return;
            }
            self.counts.incomplete += 1;
            peer.flying = peer.flying.saturating_sub(1);
            peer.control = ControlState::Again(again(peer.tries));
            peer.tries = peer.tries.saturating_add(1);
            if peer.tries > most {
                self.purge(cx, index, Trouble::Lost);
            }
            return;
        }
        let Some((slot, index)) = self.flight(leader) else { return };
        self.counts.incomplete += 1;
        let shorter = is_too_long(leader).then(|| self.learn_longest(slot, index)).flatten();
        let c = &mut self.connections[slot];
        let peer = &mut self.peers[usize::from(c.peer)];
        peer.flying = peer.flying.saturating_sub(1);
        let alone = c.flying == 1;
        let flight = &mut c.flights[index];
        if let Some(bits) = shorter.filter(|_| alone && c.trouble.is_none()) {
            // The rest was not accepted and counts as not sent: it is still allocated.
            c.bits = c.bits.saturating_add(u32::from(flight.bits - bits));
            flight.bits = bits;
            flight.stage = Stage::Made;
            return;
        }
        flight.stage = Stage::Again(again(flight.tries));
        flight.tries = flight.tries.saturating_add(1);
        // What came after it may have been taken: the order is lost.
        // A closed connection does not accept it either.
        if !alone || flight.tries > most || c.trouble.is_some() || c.stands.has_heard_cls() {
            c.fail(cx, Trouble::Lost);
        }
        c.settle();
        self.reap(slot);
    }

    /// Messages have a packet less from now on than the one that was too long: the bits of its text then, unless it was a
    /// single packet.
    fn learn_longest(&mut self, slot: usize, index: usize) -> Option<u16> {
        let c = &self.connections[slot];
        let header = HEADER * 8;
        let packets = (header + usize::from(c.flights[index].bits)).div_ceil(PACKET_BITS);
        let longest = (packets.saturating_sub(1) * PACKET_BITS).checked_sub(header)?;
        self.longest_text = self.longest_text.min(longest);
        u16::try_from(longest / usize::from(c.size) * usize::from(c.size)).ok()
    }

    fn dead(&mut self, cx: &mut Cx<'_>, leader: &Leader) {
        let Some(index) = self.find_peer(leader.address) else { return };
        let why = Dead::of(leader.subtype);
        let peer = &mut self.peers[index];
        peer.enter(cx, LifeInput::Lost);
        peer.owes_rst = false;
        peer.owes_rrp = false;
        peer.reset_until = None;
        if peer.echo == Some(Echo::Waiting) {
            peer.echo = Some(Echo::Dead(why));
            peer.echo_until = None;
            peer.owes_eco = None;
        }
        self.purge(cx, index, Trouble::Dead(why));
    }

    /// What was in the interface is lost, and what of it was delivered is not known.
    fn interface_reset(&mut self, cx: &mut Cx<'_>) {
        for slot in 0..self.connections.len() {
            let c = &mut self.connections[slot];
            if c.used && c.flights[..c.flying].iter().any(|f| matches!(f.stage, Stage::Flying(_))) {
                c.fail(cx, Trouble::NoRfnm);
                c.flying = 0;
            }
        }
        for peer in &mut self.peers {
            peer.flying = 0;
            if matches!(peer.control, ControlState::Flying(_)) {
                peer.control = ControlState::Free;
            }
        }
    }

    /// A connection is abandoned; if the peer has requested it, it is refused.
    pub(super) fn fail(&mut self, cx: &mut Cx<'_>, slot: usize, trouble: Trouble) {
        let c = &mut self.connections[slot];
        let unanswered = c.stands == Handshake::Called && c.trouble.is_none();
        c.fail(cx, trouble);
        if let (true, Some(foreign)) = (unanswered, c.foreign) {
            let (peer, local) = (usize::from(c.peer), c.local);
            self.refuse(peer, local, foreign);
        }
    }
}

/// Whether the IMP reports that our message exceeded its limit.
fn is_too_long(leader: &Leader) -> bool {
    leader.kind == Kind::Incomplete && Incomplete::of(leader.subtype) == Incomplete::TooLong
}

/// The length of a command that is whole and has wrong parameters.
fn control_len(bad: BadControl) -> Option<usize> {
    match bad {
        BadControl::Parameters { opcode } => control::len(opcode),
        BadControl::Opcode(_) | BadControl::Short { .. } => None,
    }
}

/// What a message is in a trace.
pub(super) fn letter(leader: &Leader) -> char {
    match leader.kind {
        Kind::Regular if leader.link == control::LINK => 'C',
        Kind::Regular => 'D',
        Kind::Rfnm => 'R',
        Kind::Nop => 'N',
        Kind::Incomplete => 'I',
        Kind::Dead => 'X',
        _ => 'M',
    }
}
