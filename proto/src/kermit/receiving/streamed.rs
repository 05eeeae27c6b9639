//! Compressed data that streams: the host undoes it into the memory of the file, as far as the store keeps up.

use super::{Cancel, Core, Mem, Waiting};
use crate::engine::Cx;
use crate::file::{FileKind, Reply, Request};
use crate::kermit::bundle::IS_BUILT;
use crate::kermit::decode::Decoder;
use crate::kermit::encode::Shift;
use crate::kermit::packet::kind;
use crate::kermit::states::{ReceiverStep, on_packet};
use crate::session::PendingRequest;

/// Packets in a row are one frame.
#[derive(Debug, Default)]
pub(super) struct Streamed {
    /// A frame is open.
    is_framed: bool,
    /// Bytes of the packet in hand that are not undone yet: `at..len` of the memory.
    at: usize,
    len: usize,
    /// The room was full: there may be more without another byte.
    has_more: bool,
}

impl Streamed {
    /// A packet of plain data, or another file.
    pub(super) fn end(&mut self) {
        self.is_framed = false;
    }
}

impl Core {
    /// What a packet of this type means, `None` if it is a violation. Compressed data has to be agreed on; before that K is
    /// a command to a server.
    pub(super) fn step_of(&self, kind: u8) -> Option<ReceiverStep> {
        let agreed = &self.link.agreed;
        let takes_packed = IS_BUILT && agreed.streaming && agreed.compress;
        on_packet(self.state, kind)
            .filter(|step| kind != kind::PACKED || takes_packed || *step == ReceiverStep::Refuse)
    }

    /// A packet of compressed data.
    pub(super) fn store_packed(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, data: &[u8]) {
        if !IS_BUILT {
            return;
        }
        self.ack_data(cx, mem);
        if self.file.unwanted || self.cancel != Cancel::No {
            return self.arrivals.advance();
        }
        let info = self.info(mem.name);
        let rept = self.link.agreed.rept;
        let mut decoder = Decoder::new(self.link.theirs.qctl, None, rept, Shift::Off, false);
        let (used, made) = decoder.decode(data, mem.unpacked);
        if used < data.len() || info.size.is_none() || info.kind != FileKind::Binary {
            // Without a length nothing would bound what comes out.
            return self.makes_no_sense(cx, mem);
        }
        self.link.stats.encoded_bytes += data.len() as u64;
        self.link.stats.packed_bytes += made as u64;
        self.streamed.at = 0;
        self.streamed.len = made;
        self.streamed.has_more = false;
        self.waiting = Waiting::Undo;
        self.undo_on(cx, mem);
    }

    /// The next step with the packet in hand.
    pub(super) fn undo_on(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        if self.waiting != Waiting::Undo || !self.pending.is_idle() {
            return;
        }
        if self.ran_over(cx, mem) {
            return;
        }
        let is_done = self.streamed.at == self.streamed.len && !self.streamed.has_more;
        if self.sink.pending() >= self.write_at {
            self.pending = PendingRequest::Write;
        } else if !is_done {
            self.pending = PendingRequest::Unpack { begin: !self.streamed.is_framed };
        }
        if is_done {
            self.waiting = Waiting::Nothing;
            self.arrivals.advance();
        }
    }

    /// What the host is asked.
    pub(super) fn undo_request<'a>(
        &mut self,
        file: &'a mut [u8],
        unpacked: &'a [u8],
        begin: bool,
    ) -> Request<'a> {
        let bytes = &unpacked[self.streamed.at..self.streamed.len];
        Request::Unpack { bytes, into: self.sink.room(file), begin }
    }

    /// The host has replied to a request to decompress, here or in a bundle.
    pub(super) fn host_replied(
        &mut self,
        cx: &mut Cx<'_>,
        mem: &mut Mem<'_>,
        request: PendingRequest,
        reply: Reply<'_>,
    ) {
        match reply {
            Reply::Unpacked { used, made, over } if self.waiting == Waiting::Undo => {
                self.undone(cx, mem, used, made, over);
            }
            Reply::Unpacked { used, made, over } => self.unpacked_some(cx, mem, used, made, over),
            Reply::Failed(_) => self.makes_no_sense(cx, mem),
            // A reply to another request: the request stays open.
            _ => self.pending = request,
        }
    }

    /// The host has undone some.
    fn undone(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, used: usize, made: usize, over: bool) {
        let room = self.sink.room(mem.file).len();
        let (used, made) = (used.min(self.streamed.len - self.streamed.at), made.min(room));
        if used == 0 && made == 0 && self.streamed.at < self.streamed.len {
            // It would be asked again and again.
            return self.makes_no_sense(cx, mem);
        }
        self.streamed.at += used;
        self.streamed.is_framed = !over;
        self.streamed.has_more = !over && made == room;
        self.sink.made(made);
        self.link.stats.unpacked_bytes += made as u64;
        self.link.stats.file_bytes += made as u64;
        self.link.stats.current_file_bytes += made as u64;
    }
}
