//! Compressed data, between two of ours: the subpackets of a frame of form E are one zstd frame.
//!
//! Each subpacket is a chunk of the file that the host has compressed and flushed, so that positions are those of the file,
//! and a frame that begins anywhere in it needs nothing of what came before.

use super::{Core, Mem};
use crate::engine::Cx;
use crate::file::{FileKind, Request};
use crate::session::{FAST, LineRate, PendingRequest};
use crate::settings::Switch;
use crate::trace::TraceEvent;
use crate::zmodem::packet::{Form, PACKS};
use crate::zmodem::states::Sending;

/// A chunk has to shrink to less than this many hundredths.
const WORTH_IT: usize = 95;
/// A shorter chunk shrinks too little.
const SHORTEST: usize = 64;
/// Bytes of a file that go as they are before the next chunk is tried. A try sends nothing.
const AGAIN: u64 = 32 * 1024;

/// What is on its way through the host.
#[derive(Clone, Debug)]
pub(super) struct Packing {
    rate: LineRate,
    /// The host cannot.
    is_off: bool,
    /// The frame of data that is open, or was last, is compressed.
    is_open: bool,
    /// Bytes of the file that went as they are since the last try.
    plain: u64,
    /// The chunk that the host was asked for, of the next bytes of the source.
    asked: usize,
    /// One that it has compressed: of how many bytes, and to how many. 0: none.
    of: usize,
    made: usize,
    /// The hundredths that were left of the last one.
    left: usize,
    /// The next subpacket is plain: the last chunk did not shrink.
    leaves: bool,
}

impl Packing {
    pub(super) const fn new() -> Self {
        Self {
            rate: LineRate::PORT,
            is_off: false,
            is_open: false,
            plain: 0,
            asked: 0,
            of: 0,
            made: 0,
            left: 100,
            leaves: false,
        }
    }

    /// Data of a file begins.
    pub(super) fn begin(&mut self, cx: &Cx<'_>, taken: u64) {
        if !PACKS {
            return;
        }
        self.drop();
        self.is_open = false;
        self.leaves = false;
        self.plain = AGAIN;
        self.left = 100;
        self.rate.begin(cx.now, taken);
    }

    /// Another position: what waits is of no use.
    pub(super) fn drop(&mut self) {
        if PACKS {
            self.asked = 0;
            self.of = 0;
        }
    }

    /// The chunk that waits: of how many bytes of the file, and how long it is.
    pub(super) fn waiting(&self) -> Option<(usize, usize)> {
        (PACKS && self.of > 0).then_some((self.of, self.made))
    }

    /// A frame of data is opened, with compressed data or not.
    pub(super) fn opens(&mut self, is_packed: bool) {
        self.is_open = PACKS && is_packed;
    }

    /// Whether the frame that is open has the other kind of data.
    pub(super) fn differs(&self, is_packed: bool) -> bool {
        PACKS && self.is_open != is_packed
    }

    /// Bytes that the next subpacket, of this many bytes of the file, saves.
    pub(super) fn saving(&self, len: usize) -> u64 {
        self.waiting().map_or(0, |(_, made)| len.saturating_sub(made)) as u64
    }

    /// A subpacket of this many bytes of the file went out.
    pub(super) fn went(&mut self, len: usize) {
        if !PACKS {
            return;
        }
        if self.of > 0 {
            self.of = 0;
        } else {
            self.leaves = false;
            self.plain = self.plain.saturating_add(len as u64);
        }
    }

    /// The port has taken bytes.
    pub(super) fn took(&mut self, cx: &Cx<'_>, taken: u64, pending: usize) {
        self.rate.went(cx.now, taken, pending > 0);
    }
}

impl Core {
    /// Bytes of the file for the next subpacket, if they are to be compressed. `allowed` is the longest subpacket.
    pub(super) fn chunk(&self, allowed: usize, source: usize) -> Option<usize> {
        let (config, info, packing) = (&self.link.config, &self.file.info, &self.packing);
        let may = PACKS && self.peer.packs && self.peer.form == Form::Bin32 && !packing.is_off;
        let is_fit = info.kind == FileKind::Binary && info.size.is_some();
        let is_free = self.peer.buffer == 0 && !self.peer.one_at_a_time;
        if !may || !is_fit || !is_free || allowed < SHORTEST || packing.leaves {
            return None;
        }
        let is_slow = match config.line.rate_bps {
            _ if config.compress == Switch::On => true,
            0 => packing.rate.is_slow() || self.governor.is_slow(),
            rate => rate <= FAST,
        };
        let is_due = self.is_in_packed() || packing.plain >= AGAIN;
        // What is left of it is about as long as is allowed; if it does not shrink it still fits.
        let len = allowed * 80 / packing.left.clamp(20, 80);
        let most = self.peer.longest_chunk.min(source / 2);
        (is_slow && is_due).then_some(len.min(most))
    }

    /// A frame of compressed data is open.
    fn is_in_packed(&self) -> bool {
        self.packing.is_open && self.frame_is_open()
    }

    /// The host is asked to compress the next bytes of the source.
    pub(super) fn ask_to_pack(&mut self, len: usize) {
        if self.pending.is_idle() {
            self.packing.asked = len;
            self.pending = PendingRequest::Pack { begin: !self.is_in_packed(), end: false };
        }
    }

    /// What the host is asked.
    pub(super) fn pack_request<'a>(
        &self,
        source: &'a [u8],
        packed: &'a mut [u8],
        begin: bool,
    ) -> Request<'a> {
        let ready = self.source.bytes(source);
        let bytes = &ready[..self.packing.asked.min(ready.len())];
        let rate_bps = self.link.config.line.rate_bps;
        Request::Pack { bytes, into: packed, begin, end: false, rate_bps }
    }

    /// The host has compressed the chunk to this many bytes, or cannot.
    pub(super) fn was_packed(
        &mut self,
        cx: &mut Cx<'_>,
        mem: &mut Mem<'_>,
        begin: bool,
        made: Option<usize>,
    ) {
        let of = core::mem::take(&mut self.packing.asked);
        if self.has_to_seek() {
            return self.seek_now();
        }
        if self.state != Sending::Data || of == 0 {
            // The file was cancelled meanwhile.
            return;
        }
        let Some(made) = made else {
            self.packing.is_off = true;
            self.packing.plain = 0;
            return;
        };
        let made = made.min(mem.packed.len());
        let value = (made * 100 / of) as u64;
        cx.trace.record(cx.now, &TraceEvent::Value { name: "compressed-percent", value });
        let shrinks = made * 100 < of * WORTH_IT;
        if !shrinks {
            self.packing.plain = 0;
        }
        if begin && !shrinks {
            return;
        }
        self.packing.leaves = !shrinks;
        self.packing.left = made * 100 / of;
        self.packing.of = of;
        self.packing.made = made;
        self.link.stats.unpacked_bytes += of as u64;
        self.link.stats.packed_bytes += made as u64;
    }
}
