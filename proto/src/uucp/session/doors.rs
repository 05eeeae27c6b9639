//! The doors of both engines, and their memory.

use super::Core;
use crate::engine::{Blame, Command, Cx, Event, FailureKind, Outcome, Status, Wants};
use crate::file::{Reply, Request};
use crate::machine::Machine;
use crate::session::{Ending, PendingRequest, Timer};
use crate::stats::Stats;
use crate::time::Instant;
use crate::uucp::link::Mem;

impl Machine for Core {
    type Lengths = [usize; 6];
    type Mem<'a> = Mem<'a>;

    fn divide(lengths: [usize; 6], memory: &mut [u8]) -> Mem<'_> {
        Mem::divide(lengths, memory)
    }

    fn pump(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        self.pump_session(cx, mem);
        self.link.waits = self.link.waits.note(cx, || self.waits_for(mem.file.len()));
    }

    fn receive(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, bytes: &[u8]) -> usize {
        self.pump(cx, mem);
        let mut used = 0;
        while self.takes_input(mem.file.len()) {
            let (count, heard) = self.link.receive(cx, mem, &bytes[used..]);
            used += count;
            let Some(heard) = heard else { break };
            self.heard(cx, mem, &heard);
            // What follows depends on what is in flight now.
            self.pump(cx, mem);
        }
        self.link.comings = self.link.comings.note(cx, used, &self.link.stats);
        used
    }

    fn transmit<'a>(&'a mut self, _: &mut Cx<'_>, mem: Mem<'a>) -> &'a [u8] {
        self.link.lend(mem.out)
    }

    fn transmitted(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, len: usize) {
        self.link.took(cx, mem, len);
    }

    fn deadline(&self) -> Option<Instant> {
        let farewell = self.link.timers.get(Timer::Farewell);
        [self.link.deadline(), farewell].into_iter().flatten().min()
    }

    fn tick(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        self.pump(cx, mem);
        if let Err(failure) = self.link.tick(cx) {
            self.line_failed(cx, failure);
        }
        if self.link.timers.expire(Timer::Farewell, cx.now) {
            self.ended(cx, Outcome::Done);
        }
    }

    fn request<'a>(&'a mut self, mem: Mem<'a>) -> Option<Request<'a>> {
        match self.pending {
            PendingRequest::Read => {
                let offset = self.source.offset;
                Some(Request::Read { offset, into: self.source.lend(mem.file) })
            }
            PendingRequest::Offer => Some(Request::Offer { info: self.info(mem.name) }),
            PendingRequest::Write => {
                let (offset, range) = self.sink.lend();
                Some(Request::Write { offset, bytes: &mem.file[range] })
            }
            pending => pending.plain(),
        }
    }

    fn reply(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, reply: Reply<'_>) {
        self.replied(cx, mem, reply);
    }

    fn event<'a>(&'a mut self, mem: Mem<'a>) -> Option<Event<'a>> {
        let note = self.link.notes.pop()?;
        Some(note.event(self.info(mem.name), self.link.event_texts(mem.text)))
    }

    fn command(&mut self, cx: &mut Cx<'_>, _: &mut Mem<'_>, _: Command) {
        self.fail(cx, Blame::Local, FailureKind::Aborted);
    }

    fn wants(&self) -> Wants {
        let config = &self.link.config;
        let memory_len =
            if self.duty.sends { config.sender_lengths()[0] } else { config.receiver_lengths()[0] };
        let output = !self.link.has_begun() || self.link.driver.has_output();
        Wants::NONE
            .with(Wants::INPUT, self.takes_input(memory_len))
            .with(Wants::OUTPUT, output && !self.link.ending.is_over())
            .with(Wants::STORE, !self.pending.is_idle())
            .with(Wants::USER, !self.link.notes.is_empty())
    }

    fn status(&self) -> Status {
        self.link.ending.status()
    }

    fn stats(&self) -> &Stats {
        &self.link.stats
    }

    fn if_closed(&self) -> Option<Outcome> {
        match self.link.ending {
            // The outcome does not depend on whether the last packets still leave.
            Ending::LastPackets(outcome) if self.pending.is_idle() => Some(outcome),
            _ => self.status().outcome().or_else(|| self.is_content().then_some(Outcome::Done)),
        }
    }
}
