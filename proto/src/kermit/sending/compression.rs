//! Records are collected in a chunk, the host compresses it, and packets are filled with what comes of it.
//!
//! A frame begins where a chunk was tried and has shrunk: at the beginning of a file, and after every [`AGAIN`] bytes
//! that went as they are. It continues over data and files, and ends with a chunk that does not shrink.

use super::{Core, Mem, slot_of};
use crate::engine::Cx;
use crate::file::Request;
use crate::kermit::bundle::IS_BUILT;
use crate::kermit::packet::LONG_HEADER;
use crate::session::PendingRequest;
use crate::trace::TraceEvent;

/// A chunk has to shrink to less than this many hundredths.
pub(super) const WORTH_IT: usize = 95;
/// A shorter chunk is not tried, and ends no frame.
pub(super) const SHORTEST: usize = 256;
/// The longest chunk that is tried.
const TRIED: usize = 4096;
/// Bytes of files that go as they are before the next chunk is tried.
pub(super) const AGAIN: u64 = 256 * 1024;

/// Where records go.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Framing {
    /// Into packets, as they are.
    #[default]
    Plain,
    /// Into a chunk, with which a frame may begin.
    Tried,
    /// Into a chunk of the frame.
    Framed,
    /// The frame is to end: its last chunk did not shrink.
    Ends,
}

/// What is on its way through the host.
#[derive(Debug, Default)]
pub(super) struct Compression {
    framing: Framing,
    /// The host cannot.
    is_off: bool,
    /// Bytes in the chunk, the headers in it, and how many of those are of files that could be continued.
    len: usize,
    heads: usize,
    resumed: usize,
    /// Bytes of files in it, and how many of them were counted into packets.
    used: usize,
    counted: usize,
    /// What goes into packets, `out..out_end`, and whether it is the chunk as it is.
    out: usize,
    out_end: usize,
    is_plain: bool,
    /// Bytes of files that went as they are since the last try.
    plain: u64,
}

impl Compression {
    /// Whether records go into a chunk.
    pub(super) fn collects(&self) -> bool {
        IS_BUILT && self.framing != Framing::Plain
    }

    /// Whether there is something of the last chunk to put into packets.
    pub(super) fn has_out(&self) -> bool {
        IS_BUILT && self.out < self.out_end && self.framing != Framing::Ends
    }

    /// Whether something waits for the chunk to be complete.
    pub(super) fn holds_some(&self) -> bool {
        IS_BUILT && self.len > 0
    }

    /// Whether nothing more fits into the chunk, or the frame is to end.
    pub(super) fn is_full(&self, chunk: &[u8]) -> bool {
        IS_BUILT
            && (self.collects() && self.len >= self.most(chunk) || self.framing == Framing::Ends)
    }

    /// Everything is to go as it is from now on: whether it does. What is in the chunk goes first.
    pub(super) fn leave(&mut self) -> bool {
        self.framing = match self.framing {
            Framing::Tried if self.len == 0 => Framing::Plain,
            Framing::Framed if self.len == 0 => Framing::Ends,
            framing => framing,
        };
        !self.collects()
    }

    /// Length of a full chunk. One that is tried may go as it is, and a cancel waits for all of it.
    fn most(&self, chunk: &[u8]) -> usize {
        if self.framing == Framing::Tried { chunk.len().min(TRIED) } else { chunk.len() }
    }

    /// Whether a chunk is to be tried again.
    pub(super) fn is_due(&self) -> bool {
        self.plain >= AGAIN
    }

    /// Puts bytes into the chunk as far as there is room; returns how many.
    pub(super) fn collect(&mut self, bytes: &[u8], chunk: &mut [u8]) -> usize {
        let len = bytes.len().min(self.most(chunk).saturating_sub(self.len));
        chunk[self.len..self.len + len].copy_from_slice(&bytes[..len]);
        self.len += len;
        len
    }

    /// Headers are in the chunk, and of those `resumed` of files that could be continued.
    pub(super) fn headed(&mut self, heads: usize, resumed: usize) {
        self.heads += heads;
        self.resumed += resumed;
    }

    /// How many there are.
    pub(super) fn heads(&self) -> (usize, usize) {
        (self.heads, self.resumed)
    }

    /// Bytes of a file are in the chunk.
    pub(super) fn used(&mut self, len: usize) {
        self.used += len;
    }

    /// Bytes of a file went as they are.
    pub(super) fn passed_plain(&mut self, len: usize) {
        self.plain += len as u64;
    }

    /// The chunk goes into packets as it is.
    fn goes_plain(&mut self) {
        self.framing = Framing::Plain;
        self.plain = 0;
        self.out = 0;
        self.out_end = self.len;
        self.is_plain = true;
    }
}

impl Core {
    /// The next records are tried, if compression was agreed on.
    pub(super) fn try_compression(&mut self) {
        let is_slow = self.is_slow_line();
        let compression = &mut self.packing.compression;
        compression.plain = 0;
        let may = self.link.agreed.compress && is_slow && !compression.is_off;
        if may && compression.framing == Framing::Plain {
            compression.framing = Framing::Tried;
        }
    }

    /// The chunk is complete: the host is asked. False if a reply is to be awaited.
    pub(super) fn press(&mut self) -> bool {
        let compression = &mut self.packing.compression;
        let is_first = compression.framing == Framing::Tried;
        if is_first && compression.len < SHORTEST {
            compression.goes_plain();
            self.chunk_goes_out();
            return true;
        }
        if self.pending.is_idle() {
            self.pending =
                PendingRequest::Pack { begin: is_first, end: compression.framing == Framing::Ends };
        }
        false
    }

    /// What the host is asked. The end of a frame is put after its last chunk.
    pub(super) fn pack_request<'a>(
        &self,
        chunk: &'a [u8],
        packed: &'a mut [u8],
        begin: bool,
        end: bool,
    ) -> Request<'a> {
        let compression = &self.packing.compression;
        let rate_bps = self.link.config.line.rate_bps;
        let (bytes, into) = if end {
            (&[][..], &mut packed[compression.out_end..])
        } else {
            (&chunk[..compression.len], &mut packed[1..])
        };
        Request::Pack { bytes, into, begin, end, rate_bps }
    }

    /// The host has compressed the chunk to this many bytes.
    pub(super) fn pressed(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, end: bool, made: usize) {
        if !self.bundles() {
            return self.stream_was_pressed(cx, mem, made);
        }
        let compression = &mut self.packing.compression;
        let room = mem.packed.len() - if end { compression.out_end } else { 1 };
        let made = made.min(room);
        if end {
            compression.out_end += made;
            compression.framing = Framing::Plain;
            compression.plain = 0;
            self.link.stats.packed_bytes += made as u64;
            return self.chunk_goes_out();
        }
        let value = (made * 100 / compression.len.max(1)) as u64;
        cx.trace.record(cx.now, &TraceEvent::Value { name: "compressed-percent", value });
        let is_first = compression.framing == Framing::Tried;
        let shrinks = (made + 1) * 100 < compression.len * WORTH_IT;
        if is_first && !shrinks {
            compression.goes_plain();
            return self.chunk_goes_out();
        }
        mem.packed[0] = b'K';
        compression.out = usize::from(!is_first);
        compression.out_end = 1 + made;
        compression.is_plain = false;
        let leaves = !shrinks && compression.len >= SHORTEST;
        compression.framing = if leaves { Framing::Ends } else { Framing::Framed };
        self.link.stats.packed_bytes += made as u64;
        self.link.stats.unpacked_bytes += compression.len as u64;
        if !leaves {
            self.chunk_goes_out();
        }
    }

    /// The host cannot: everything goes as it is.
    pub(super) fn cannot_press(&mut self) {
        if !self.bundles() {
            return self.stream_cannot_be_pressed();
        }
        self.packing.compression.is_off = true;
        self.packing.compression.goes_plain();
        self.chunk_goes_out();
    }

    /// Packets are filled with it from now on; its headers count in each of them.
    fn chunk_goes_out(&mut self) {
        let (heads, resumed) = self.packing.compression.heads();
        self.packing.headed(heads, resumed);
    }

    /// Puts what came of the chunk into the packet, as far as there is space.
    pub(super) fn put_pressed(&mut self, mem: &mut Mem<'_>) {
        self.open_packet(mem);
        let slot = slot_of(mem.slots, &self.link, &self.flight, self.flight.next);
        let compression = &self.packing.compression;
        let (out, end) = (compression.out, compression.out_end);
        let from = if compression.is_plain { &*mem.chunk } else { &*mem.packed };
        let done = self.packing.put_coded(&from[out..end], &mut slot[LONG_HEADER..]);
        let compression = &mut self.packing.compression;
        compression.out += done;
        // Bytes of files are counted as evenly as they go.
        let counted = compression.used * compression.out / end;
        let fresh = counted - core::mem::replace(&mut compression.counted, counted);
        if compression.out == end {
            compression.len = 0;
            compression.used = 0;
            compression.counted = 0;
            compression.heads = 0;
            compression.resumed = 0;
            self.under_way.chunk_is_out(self.flight.next);
        }
        self.packing.used(fresh);
    }
}
