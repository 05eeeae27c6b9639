//! Compression while streaming: the host compresses chunks of the file, and what comes of them goes in packets of a type of
//! their own.
//!
//! Such packets in a row are one frame, which a packet of plain data ends. A frame begins where the line is slow and a
//! chunk has shrunk: at the beginning of a file, and after every [`AGAIN`] bytes that went as they are.

use super::compression::{AGAIN, SHORTEST, WORTH_IT};
use super::{Core, Mem, Open};
use crate::engine::{Cx, FailureKind};
use crate::file::{FileKind, Request};
use crate::kermit::bundle::{IS_BUILT, PRESSED};
use crate::kermit::config::Switch;
use crate::kermit::packet::kind;
use crate::kermit::states::Sending;
use crate::session::{FAST, LineRate, PendingRequest};
use crate::trace::TraceEvent;

/// What is on its way through the host.
#[derive(Debug)]
pub(super) struct Streamed {
    pub(super) rate: LineRate,
    /// The host cannot.
    is_off: bool,
    /// A frame is open.
    is_framed: bool,
    /// Bytes of the file that went as they are since the last try.
    plain: u64,
    /// Compressed bytes for packets: `out..out_end`, and of how many bytes of the file.
    out: usize,
    out_end: usize,
    of: usize,
}

impl Streamed {
    pub(super) const fn new() -> Self {
        let rate = LineRate::PORT;
        Self { rate, is_off: false, is_framed: false, plain: 0, out: 0, out_end: 0, of: 0 }
    }

    /// A file begins.
    pub(super) fn begin(&mut self) {
        self.is_framed = false;
        self.plain = AGAIN;
        self.out = 0;
        self.out_end = 0;
    }

    /// Bytes of the file went as they are.
    pub(super) fn passed_plain(&mut self, len: usize) {
        self.plain = self.plain.saturating_add(len as u64);
    }

    fn goes_plain(&mut self) {
        self.is_framed = false;
        self.plain = 0;
    }
}

impl Core {
    /// Whether data streams that may be compressed.
    fn may_press_stream(&self) -> bool {
        let (agreed, info) = (&self.link.agreed, &self.file.info);
        // The receiver has to know both: the attributes `"` and `1`.
        let tags = &self.link.config.sent_tags;
        let is_told = agreed.attributes && tags.contains(b'"') && tags.contains(b'1');
        let is_fit = info.kind == FileKind::Binary && info.size.is_some();
        IS_BUILT
            && agreed.streaming
            && agreed.compress
            && is_told
            && is_fit
            && !self.streamed.is_off
    }

    /// Whether the line takes longer for a chunk than the host.
    pub(super) fn is_slow_line(&self) -> bool {
        let config = &self.link.config;
        match config.line.rate_bps {
            _ if config.compress == Switch::On => true,
            0 if self.bundles() && !config.is_reliable() => true,
            0 => self.streamed.rate.is_slow(),
            rate => rate <= FAST,
        }
    }

    /// The next step of what is to be compressed: whether something was done. `None` if the next data goes as it is.
    pub(super) fn stream_pressed(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) -> Option<bool> {
        if !self.may_press_stream() {
            return None;
        }
        if matches!(self.pending, PendingRequest::Pack { .. }) {
            return Some(false);
        }
        if self.streamed.out < self.streamed.out_end {
            return Some(self.put_stream_pressed(cx, mem));
        }
        let is_slow = self.is_slow_line();
        if self.streamed.is_framed && !is_slow {
            self.streamed.goes_plain();
        }
        let is_due = self.streamed.is_framed || is_slow && self.streamed.plain >= AGAIN;
        if !is_due || self.open.is_some() || self.source.exhausted() {
            return None;
        }
        if self.stream_chunk(mem.source) < PRESSED.min(mem.source.len()) && !self.source.ended {
            self.ask_read();
            return Some(false);
        }
        if !self.streamed.is_framed && self.stream_chunk(mem.source) < SHORTEST {
            return None;
        }
        if self.pending.is_idle() {
            self.pending = PendingRequest::Pack { begin: !self.streamed.is_framed, end: false };
        }
        Some(false)
    }

    /// Length of the next chunk. It stays in the source until the host has replied.
    fn stream_chunk(&self, source: &[u8]) -> usize {
        self.source.ready().min(PRESSED).min(source.len())
    }

    /// What the host is asked.
    pub(super) fn stream_pack_request<'a>(
        &self,
        source: &'a [u8],
        packed: &'a mut [u8],
        begin: bool,
    ) -> Request<'a> {
        let bytes = &self.source.raw(source)[..self.stream_chunk(source)];
        let rate_bps = self.link.config.line.rate_bps;
        Request::Pack { bytes, into: packed, begin, end: false, rate_bps }
    }

    /// The host has compressed the chunk to this many bytes.
    pub(super) fn stream_was_pressed(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, made: usize) {
        let len = self.stream_chunk(mem.source);
        if self.state != Sending::Data || self.file.encoded || len == 0 {
            // It was cancelled meanwhile.
            return;
        }
        let made = made.min(mem.packed.len());
        let value = (made * 100 / len) as u64;
        cx.trace.record(cx.now, &TraceEvent::Value { name: "compressed-percent", value });
        let shrinks = made * 100 < len * WORTH_IT;
        if !self.streamed.is_framed && !shrinks {
            return self.streamed.goes_plain();
        }
        self.source.consume(len);
        let stats = &mut self.link.stats;
        stats.file_bytes += len as u64;
        stats.current_file_bytes += len as u64;
        stats.unpacked_bytes += len as u64;
        stats.packed_bytes += made as u64;
        self.streamed.out = 0;
        self.streamed.out_end = made;
        self.streamed.of = len;
        if shrinks || len < SHORTEST {
            self.streamed.is_framed = true;
        } else {
            self.streamed.goes_plain();
        }
    }

    /// The host cannot: everything goes as it is.
    pub(super) fn stream_cannot_be_pressed(&mut self) {
        self.streamed.is_off = true;
        self.streamed.goes_plain();
    }

    fn put_stream_pressed(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) -> bool {
        let open = Open { len: 0, room: self.room(kind::DATA), used: 0 };
        let full = self.fill_streaming(cx, mem, open, kind::PACKED);
        if full && self.streamed.out == self.streamed.out_end && self.source.exhausted() {
            self.file.encoded = true;
        }
        full
    }

    /// Fills a packet with compressed bytes.
    pub(super) fn fill_pressed(
        &mut self,
        packed: &[u8],
        data: &mut [u8],
        mut open: Open,
    ) -> Result<Option<Open>, FailureKind> {
        let streamed = &mut self.streamed;
        let bytes = &packed[streamed.out..streamed.out_end];
        let (used, made) = self.source.encode_other(bytes, &mut data[..open.room]);
        if made == 0 {
            return Err(FailureKind::Violation);
        }
        streamed.out += used;
        open.len = made;
        open.used = if streamed.out == streamed.out_end { streamed.of } else { 0 };
        self.link.stats.encoded_bytes += made as u64;
        Ok(Some(open))
    }
}
