//! Compressed data (header form E): the host undoes it into the sink, as far as the store keeps up.

use super::{Core, Expecting, Held, Mem};
use crate::engine::{Blame, Cx, FailureKind};
use crate::file::Request;
use crate::session::PendingRequest;

/// Room that is worth a request.
const LEAST: usize = 256;

/// The compressed frame that is open.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undoing {
    /// The next byte is its first.
    begins: bool,
    /// The room was full: there may be more without another byte.
    has_more: bool,
}

impl Core {
    /// A header announces compressed data. False if that cannot be.
    pub(super) fn begin_packed(&mut self) -> bool {
        self.undoing = Undoing { begins: true, has_more: false };
        // Without a length nothing would bound what comes out.
        self.link.config.has_compression() && self.is_exact() && self.file.info.size.is_some()
    }

    /// The next step with the subpacket in hand.
    pub(super) fn undo_on(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        let Some(Held { at, len, end }) = self.held else { return };
        if self.expecting != Expecting::Packed || !self.pending.is_idle() {
            return;
        }
        if at == len && !self.undoing.has_more {
            self.held = None;
            return self.data_done(cx, mem, end);
        }
        let is_full = self.sink.pending() >= self.write_at || !self.sink.room(mem.file, LEAST);
        self.pending = if is_full {
            PendingRequest::Write
        } else {
            PendingRequest::Unpack { begin: self.undoing.begins }
        };
    }

    /// What the host is asked.
    pub(super) fn undo_request<'a>(
        &self,
        file: &'a mut [u8],
        hold: &'a [u8],
        begin: bool,
    ) -> Request<'a> {
        let bytes = self.held.map_or(&[][..], |Held { at, len, .. }| &hold[at..len]);
        Request::Unpack { bytes, into: self.sink.space(file), begin }
    }

    /// The host has undone some.
    pub(super) fn undone(
        &mut self,
        cx: &mut Cx<'_>,
        mem: &mut Mem<'_>,
        used: usize,
        made: usize,
        over: bool,
    ) {
        let Some(Held { at, len, end }) = self.held else { return };
        let room = self.sink.space(mem.file).len();
        let (used, made) = (used.min(len - at), made.min(room));
        if used == 0 && made == 0 && at < len {
            // It would be asked again and again.
            return self.fail(cx, mem, Blame::Peer, FailureKind::Violation);
        }
        self.held = Some(Held { at: at + used, len, end });
        self.undoing = Undoing { begins: over, has_more: !over && made == room };
        let stored = self.sink.commit(mem.file, made);
        self.stored(cx, made, used, stored);
        self.link.stats.packed_bytes += used as u64;
        self.link.stats.unpacked_bytes += made as u64;
        if self.file.info.size.is_some_and(|size| self.position > size) {
            self.fail(cx, mem, Blame::Peer, FailureKind::LengthDiffers);
        }
    }
}
