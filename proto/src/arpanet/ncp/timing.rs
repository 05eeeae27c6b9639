//! Timers.

use super::connection::{Connection, Flight, Stage, Trouble};
use super::peer::{ControlState, Echo};
use super::states::{HandshakeInput, LifeInput};
use super::{Core, Out};
use crate::engine::Cx;
use crate::time::Instant;
use crate::trace::TraceEvent;

fn timeout(cx: &mut Cx<'_>, waiting_for: &'static str, number: u64) {
    if cx.trace.enabled() {
        cx.trace.record(cx.now, &TraceEvent::Timeout { waiting_for, number });
    }
}

/// The timers of a connection.
fn timers(c: &Connection) -> impl Iterator<Item = Instant> {
    let flights = c.flights.into_iter().take(c.flying).filter_map(|flight| match flight.stage {
        Stage::Flying(until) | Stage::Again(until) => Some(until),
        Stage::Made | Stage::Done => None,
    });
    [c.rfc_until, c.cls_until, c.all_until].into_iter().flatten().chain(flights)
}

impl Core {
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let peers = self.peers.iter().filter(|peer| peer.used).flat_map(|peer| {
            let talk = match peer.control {
                ControlState::Flying(until) | ControlState::Again(until) => Some(until),
                ControlState::Free | ControlState::Made => None,
            };
            [talk, peer.reset_until, peer.echo_until].into_iter().flatten()
        });
        let connections = self.connections.iter().filter(|c| c.used).flat_map(timers);
        let pending = self.pending.iter().flatten().map(|p| p.until);
        peers.chain(connections).chain(pending).min()
    }

    pub(crate) fn tick(&mut self, cx: &mut Cx<'_>) {
        for index in 0..self.peers.len() {
            if self.peers[index].used {
                self.tick_peer(cx, index);
            }
        }
        for index in 0..self.connections.len() {
            if self.connections[index].used {
                self.tick_connection(cx, index);
                self.reap(index);
            }
        }
        for index in 0..self.pending.len() {
            if let Some(p) = self.pending[index]
                && p.until <= cx.now
            {
                self.pending[index] = None;
                self.refuse(usize::from(p.peer), p.local, p.foreign);
            }
        }
    }

    fn tick_peer(&mut self, cx: &mut Cx<'_>, index: usize) {
        let (now, peer) = (cx.now, &mut self.peers[index]);
        let is_over = |until: Option<Instant>| until.is_some_and(|until| until <= now);
        if is_over(peer.echo_until) {
            peer.echo_until = None;
            peer.owes_eco = None;
            peer.echo = Some(Echo::Silence);
            timeout(cx, "ERP", index as u64);
        }
        if is_over(peer.reset_until) {
            peer.reset_until = None;
            timeout(cx, "RRP", index as u64);
            peer.enter(cx, LifeInput::Lost);
            self.purge(cx, index, Trouble::NoReset);
            return;
        }
        match peer.control {
            // Whether it was delivered is not known, so it must not go again.
            ControlState::Flying(until) if until <= cx.now => {
                self.counts.no_rfnm += 1;
                timeout(cx, "RFNM", index as u64);
                peer.enter(cx, LifeInput::Lost);
                peer.owes_rst = false;
                peer.owes_rrp = false;
                peer.reset_until = None;
                self.purge(cx, index, Trouble::NoRfnm);
            }
            ControlState::Again(until) if until <= cx.now => peer.control = ControlState::Made,
            _ => {}
        }
    }

    fn tick_connection(&mut self, cx: &mut Cx<'_>, index: usize) {
        let c = &mut self.connections[index];
        let (now, link) = (cx.now, u64::from(c.link));
        let is_over = |until: Option<Instant>| until.is_some_and(|until| until <= now);
        if is_over(c.rfc_until) {
            timeout(cx, "RFC", link);
            self.fail(cx, index, Trouble::NoAnswer);
        }
        let c = &mut self.connections[index];
        if is_over(c.all_until) {
            timeout(cx, "ALL", link);
            c.fail(cx, Trouble::NoAllocation);
        }
        if is_over(c.cls_until) {
            timeout(cx, "CLS", link);
            c.cls_until = None;
            c.enter(cx, HandshakeInput::ClsMissed);
        }
        let mut lost = false;
        for flight in &mut c.flights[..c.flying] {
            match flight.stage {
                Stage::Flying(until) if until <= cx.now => lost = true,
                Stage::Again(until) if until <= cx.now => flight.stage = Stage::Made,
                _ => {}
            }
        }
        if lost {
            timeout(cx, "RFNM", link);
            self.counts.no_rfnm += 1;
            let flying = |flight: &&Flight| matches!(flight.stage, Stage::Flying(_));
            let under_way = c.flights[..c.flying].iter().filter(flying).count() as u8;
            let peer = usize::from(c.peer);
            c.fail(cx, Trouble::NoRfnm);
            c.flying = 0;
            let peer = &mut self.peers[peer];
            peer.flying = peer.flying.saturating_sub(under_way);
            if matches!(self.out, Out::Data(at, _) if at == index) {
                self.drop_out();
            }
        }
    }
}
