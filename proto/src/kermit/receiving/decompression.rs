//! Compressed frames in the stream of records: the host undoes them, some bytes at a time.

use super::{Core, Mem, Piece};
use crate::engine::Cx;
use crate::file::{FileKind, Request};
use crate::kermit::bundle::IS_BUILT;
use crate::session::PendingRequest;

/// Bytes that may come out of the frames of a session besides those of files that are kept: some, and this many for each
/// that goes in. Nothing that a sender collects in chunks shrinks so far.
const UNEXPLAINED: u64 = 1 << 20;
const SHRINKS: u64 = 4096;

/// Where the stream of records comes from.
#[derive(Debug, Default)]
pub(super) struct Decompression {
    /// A frame is open, and whether its first byte is still to come.
    is_open: bool,
    begins: bool,
    /// The room was full: there may be more without another byte.
    has_more: bool,
    /// What came out of it and is not yet read: `at..len` of the memory.
    pub(super) at: usize,
    pub(super) len: usize,
}

impl Decompression {
    /// The next bytes of the stream are those that came out of a frame.
    pub(super) fn has_some(&self) -> bool {
        IS_BUILT && self.at < self.len
    }

    /// The next bytes of packets belong to a frame.
    pub(super) fn is_open(&self) -> bool {
        IS_BUILT && self.is_open
    }
}

impl Core {
    /// A record announces a frame. Frames cannot be nested.
    pub(super) fn frame_begins(&mut self) -> Piece {
        let frame = &mut self.unpacking.frame;
        if frame.is_open() || !self.link.agreed.compress {
            return Piece::Failed;
        }
        frame.is_open = true;
        frame.begins = true;
        frame.has_more = false;
        Piece::Taken
    }

    /// All that came out of the frame so far is read.
    pub(super) fn read_frame(&mut self, hold: &[u8]) -> Piece {
        if !self.pending.is_idle() {
            return Piece::Wait;
        }
        if !self.unpacking.frame.has_more && !self.unpacking.has_block(hold) {
            return Piece::Over;
        }
        self.pending = PendingRequest::Unpack { begin: self.unpacking.frame.begins };
        Piece::Wait
    }

    /// The host is to undo the next bytes of a frame.
    pub(super) fn unpack_request<'a>(&'a self, into: &'a mut [u8], begin: bool) -> Request<'a> {
        Request::Unpack { bytes: self.unpacking.rest_of_block(), into, begin }
    }

    /// The host has undone some.
    pub(super) fn unpacked_some(
        &mut self,
        cx: &mut Cx<'_>,
        mem: &mut Mem<'_>,
        used: usize,
        made: usize,
        over: bool,
    ) {
        let given = self.unpacking.rest_of_block().len();
        let (used, made) = (used.min(given), made.min(mem.unpacked.len()));
        if used == 0 && made == 0 && given > 0 && !over {
            // It would be asked again and again.
            return self.makes_no_sense(cx, mem);
        }
        self.unpacking.pass(used);
        let frame = &mut self.unpacking.frame;
        frame.at = 0;
        frame.len = made;
        frame.is_open = !over;
        frame.begins = false;
        frame.has_more = !over && made == mem.unpacked.len();
        self.link.stats.packed_bytes += used as u64;
        self.link.stats.unpacked_bytes += made as u64;
        if self.expands_too_far() {
            self.makes_no_sense(cx, mem);
        }
    }

    /// Whether more came out of frames than is explained by files that are kept: what is passed over costs its sender
    /// next to nothing.
    fn expands_too_far(&self) -> bool {
        let stats = &self.link.stats;
        let unexplained = stats.unpacked_bytes.saturating_sub(stats.file_bytes);
        unexplained > UNEXPLAINED.saturating_add(stats.packed_bytes.saturating_mul(SHRINKS))
    }

    /// Whether data that is passed over is more than was announced: out of a few bytes of a frame may come any
    /// number. Text in another character set, with its line ends, has up to four bytes for each.
    pub(super) fn passes_too_much(&self, mem: &Mem<'_>, len: usize) -> bool {
        if !self.unpacking.frame.has_some() {
            return false;
        }
        let info = self.info(mem.name);
        let Some(size) = info.size else { return false };
        let most = if info.kind == FileKind::Text { size.saturating_mul(4) } else { size };
        self.unpacking.position.saturating_add(len as u64) > most
    }
}
