//! Packets with error correction (the module `correction`).

use super::{Core, Mem};
use crate::engine::Cx;
use crate::kermit::arrivals::Place;
use crate::kermit::bundle::mark::{ERRORS, KEPT, MISPLACED};
use crate::kermit::check::tochar;
use crate::kermit::correction::IS_BUILT;
use crate::kermit::correction::packet::HEADER;
use crate::kermit::link::trace_got;
use crate::kermit::packet::{BadPacket, Packet, kind};
use crate::session::Text;
use crate::trace::TraceEvent;

impl Core {
    /// A packet came whose errors are corrected: `worst` of them in one code word.
    pub(super) fn on_corrected(
        &mut self,
        cx: &mut Cx<'_>,
        mem: &mut Mem<'_>,
        seq: u8,
        data: &[u8],
        worst: usize,
    ) {
        let packet = Packet { kind: kind::DATA, seq, data, weak: false };
        self.link.has_weak_error = false;
        self.link.stats.packets_in += 1;
        trace_got(cx, &packet, HEADER + data.len(), self.link.stats.wire_in_bytes);
        // Of a copy of what is here already nothing is told: its acknowledgement is one that was sent before.
        let is_new = matches!(self.arrivals.place(seq), Place::Next | Place::Ahead(_));
        self.unpacking.errors = is_new.then_some(worst);
        if is_new && worst > 0 {
            let value = worst as u64;
            cx.trace.record(cx.now, &TraceEvent::Value { name: "mended", value });
        }
        self.placed(cx, mem, &packet);
    }

    /// A packet came with more errors than can be corrected. Its number is known.
    pub(super) fn on_uncorrected(
        &mut self,
        cx: &mut Cx<'_>,
        mem: &mut Mem<'_>,
        seq: u8,
        is_short: bool,
        (why, len): (BadPacket, usize),
    ) {
        self.link.stats.damaged += 1;
        cx.trace.record(cx.now, &TraceEvent::Damaged { why: why.as_str(), len });
        self.heard = cx.now;
        self.silence = None;
        let Some(number) = self.arrivals.missing(seq) else { return };
        while let Some(before) = self.arrivals.ask(number) {
            self.nak(cx, mem, before);
        }
        if self.link.reader.take_misplaced() || is_short {
            self.ack(cx, mem, number, MISPLACED);
        } else {
            self.nak(cx, mem, number);
        }
    }

    /// Asks for a packet instead of one that was damaged. If characters were lost or added the sender is told: no
    /// parity finds them.
    pub(super) fn ask_again(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, number: u64) {
        if IS_BUILT && self.link.agreed.correction && self.link.reader.take_misplaced() {
            self.ack(cx, mem, number, MISPLACED);
        } else {
            self.nak(cx, mem, number);
        }
    }

    /// The mark for a packet that is kept until its turn comes.
    pub(super) fn kept(&mut self) -> Text<4> {
        let mut said = Text::new();
        said.put(KEPT);
        said.put(self.take_errors().as_bytes());
        said
    }

    /// What the next acknowledgement says of errors.
    pub(super) fn take_errors(&mut self) -> Text<2> {
        let mut said = Text::new();
        if let Some(errors) = self.unpacking.errors.take() {
            said.put(&[ERRORS, tochar(errors as u8)]);
        }
        said
    }
}
