//! Packets with error correction (the module `correction`).

use super::{Core, Mem};
use crate::engine::Cx;
use crate::kermit::bundle::mark::ERRORS;
use crate::kermit::check::tochar;
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
        self.unpacking.errors = Some(worst);
        self.placed(cx, mem, &packet);
    }

    /// A packet came with more errors than can be corrected. Its number is known.
    pub(super) fn on_uncorrected(
        &mut self,
        cx: &mut Cx<'_>,
        mem: &mut Mem<'_>,
        seq: u8,
        why: BadPacket,
        len: usize,
    ) {
        self.link.stats.damaged += 1;
        cx.trace.record(cx.now, &TraceEvent::Damaged { why: why.as_str(), len });
        self.heard = cx.now;
        self.silence = None;
        if let Some(number) = self.arrivals.missing(seq) {
            while let Some(before) = self.arrivals.ask(number) {
                self.nak(cx, mem, before);
            }
            self.nak(cx, mem, number);
        }
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
