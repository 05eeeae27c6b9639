//! Filling packets with records, as many files as there are (the module `bundle`).

use super::aside::{IN_CHUNK, NOWHERE, UnderWay};
use super::compression::Compression;
use super::differing::Differing;
use super::{Cancel, Core, Mem, Piece, slot_of};
use crate::charset::Encoding;
use crate::engine::{Blame, Cx, FailureKind};
use crate::file::{DigestKind, FileInfo, FileKind, StoreError};
use crate::kermit::attributes;
use crate::kermit::attributes::Tags;
use crate::kermit::bundle::head::{self, Before};
use crate::kermit::bundle::lines::len_on_line;
use crate::kermit::bundle::radix::{Alphabet, alphabet};
use crate::kermit::bundle::runs::Runs;
use crate::kermit::bundle::{
    BLOCK_ROOM, CAREFUL, CHUNK, IS_BUILT, LONGEST_NUMBER, MOST_HEADS, MOST_RESUMED, PROBE,
    put_number,
};
use crate::kermit::packet::{LONG_HEADER, kind};
use crate::kermit::params::OWN_DIGEST;
use crate::kermit::probe::{self, ProbeState};
use crate::kermit::states::{SenderInput, Sending};
use crate::session::PendingRequest;

mod fill;

/// Room for a record without its name or data.
const STAGE: usize = if IS_BUILT { 224 } else { 64 };
/// Room in a data field for the codes to be tried and something beside them.
const ROOM_TO_TRY: usize = 160;

/// The packet that is being filled. Its data field is in its slot of the window.
#[derive(Clone, Copy, Debug)]
struct Packet {
    alphabet: &'static Alphabet,
    /// Length of the data field so far.
    len: usize,
    /// Decoded bytes that still fit.
    space: usize,
    /// Bytes of files in it.
    used: usize,
    heads: usize,
    resumed: usize,
    probes: bool,
    /// A question about blocks ends in it.
    asks: bool,
}

/// What is on its way into packets.
#[derive(Debug)]
pub(super) struct Packing {
    packet: Option<Packet>,
    /// The beginning of a block.
    block: [u8; BLOCK_ROOM],
    held: usize,
    /// A record without its name or data: `staged..stage_end`.
    stage: [u8; STAGE],
    staged: usize,
    stage_end: usize,
    /// Bytes of the name that are out, and all.
    named: usize,
    name_end: usize,
    /// A list of attributes is to follow the name.
    list: bool,
    /// What is staged belongs to a header, to an end.
    in_head: bool,
    in_end: bool,
    /// The end record marks the file as truncated.
    pub(super) cut: bool,
    /// Bytes of the source that are still to come in the data record.
    chunk: usize,
    /// A line feed is to follow its CR.
    feed: bool,
    text: bool,
    /// Runs of equal bytes are counted in the data record.
    runs: Option<Runs>,
    before: Before,
    /// The receiver has this many bytes of the current file.
    pub(super) continues: Option<u64>,
    pub(super) probe_in: u64,
    /// The store has no more files.
    pub(super) no_more: bool,
    /// The store cannot put files aside.
    pub(super) alone: bool,
    /// Bytes in flight of files before the current one.
    pub(super) owed: u64,
    /// Records may go through it first.
    pub(super) compression: Compression,
}

impl Packing {
    pub(super) fn new() -> Self {
        Self {
            packet: None,
            block: [0; BLOCK_ROOM],
            held: 0,
            stage: [0; STAGE],
            staged: 0,
            stage_end: 0,
            named: 0,
            name_end: 0,
            list: false,
            in_head: false,
            in_end: false,
            cut: false,
            chunk: 0,
            feed: false,
            text: false,
            runs: None,
            before: Before::default(),
            continues: None,
            probe_in: NOWHERE,
            no_more: false,
            alone: false,
            owed: 0,
            compression: Compression::default(),
        }
    }

    pub(super) fn stage(&mut self, fill: impl FnOnce(&mut [u8; STAGE]) -> usize) {
        self.stage_end = fill(&mut self.stage);
        self.staged = 0;
    }

    fn is_drained(&self) -> bool {
        self.staged == self.stage_end && self.named == self.name_end && !self.list
    }
}

impl Core {
    /// Whether everything goes in bundles.
    pub(super) fn bundles(&self) -> bool {
        // Without the feature the compiler leaves out what depends on it.
        IS_BUILT && self.link.agreed.bundle
    }

    /// The store has a file: its header is staged.
    pub(super) fn begin_bundled(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        let info = self.file.info;
        let name_len = self.file.name_len;
        self.under_way.push(&info, &mem.name[..name_len], mem.names);
        let config = &self.link.config;
        let plain =
            config.sent_tags == Tags::ALL && info.extras.kermit().encoding == Encoding::Unsaid;
        let mut flags = if self.screen { head::SCREEN } else { 0 };
        let tells = self.link.agreed.attributes;
        flags |= if tells && !plain { head::MORE } else { 0 };
        let resume = info.resume && self.link.agreed.resend;
        let said = if tells {
            FileInfo { resume, ..info }
        } else {
            FileInfo { kind: info.kind, ..FileInfo::default() }
        };
        let packing = &mut self.packing;
        let mut text = [0; head::LONGEST];
        let len = head::put(&said, flags, &mut packing.before, &mut text);
        packing.stage(|stage| {
            stage[0] = b'F';
            let at = 1 + put_number((len + name_len) as u64, &mut stage[1..]);
            stage[at..at + len].copy_from_slice(&text[..len]);
            at + len
        });
        packing.named = 0;
        packing.name_end = name_len;
        packing.list = flags & head::MORE != 0;
        packing.in_head = true;
        packing.in_end = false;
        packing.cut = false;
        packing.continues = None;
        self.differing = Differing::new();
        packing.text = info.kind == FileKind::Text
            && !info.extras.kermit().encoding.is_wide()
            && !self.link.config.crlf_files;
        self.try_compression();
        self.enter(cx, SenderInput::Decided);
        let coding = self.link.data_coding(false);
        self.source.begin(&coding, 0, info.size);
        self.packing.owed += self.link.stats.current_file_bytes
            - self
                .link
                .stats
                .current_acked_bytes
                .unwrap_or(0)
                .min(self.link.stats.current_file_bytes);
        self.link.stats.current_file_bytes = 0;
        self.link.stats.current_acked_bytes = Some(0);
    }

    /// Fills the next packet. True if one is complete.
    pub(super) fn pack(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) -> bool {
        let window = self.congestion.window(self.link.agreed.window);
        if self.flight.len() >= window || self.is_far_ahead() {
            return false;
        }
        loop {
            if !self.link.ending.is_running() {
                return false;
            }
            if self.packing.packet.is_some_and(|packet| packet.space == 0) {
                return self.seal(mem);
            }
            if self.packing.compression.has_out() {
                self.put_pressed(mem);
                continue;
            }
            if self.packing.compression.is_full(mem.chunk) {
                return self.press();
            }
            match self.piece(cx, mem) {
                Piece::Put => {}
                Piece::Wait => return false,
                Piece::Nothing if self.packing.compression.holds_some() => {
                    if !self.press() {
                        return false;
                    }
                }
                Piece::Nothing if self.packing.packet.is_some() => return self.seal(mem),
                // The receiver takes it in its turn, and answers what was repeated as long as it lingers.
                Piece::Nothing if self.has_sent_all() => {
                    self.send_break(cx, mem);
                    return true;
                }
                Piece::Nothing => return false,
            }
        }
    }

    /// The packet is complete.
    fn seal(&mut self, mem: &mut Mem<'_>) -> bool {
        let Some(mut packet) = self.packing.packet.take() else { return false };
        let slot = slot_of(mem.slots, &self.link, &self.flight, self.flight.next);
        let held = core::mem::take(&mut self.packing.held);
        if held > 0 {
            packet.write(&self.packing.block[..held], &mut slot[LONG_HEADER..]);
        }
        if packet.probes {
            self.link.bare = ProbeState::Asked;
            self.packing.probe_in = self.flight.next;
        }
        self.link.stats.encoded_bytes += packet.len as u64;
        self.push(mem, kind::DATA, packet.len);
        self.flight.load(packet.len, packet.used);
        true
    }

    /// Opens a packet, if none is.
    pub(super) fn open_packet(&mut self, mem: &mut Mem<'_>) {
        if self.packing.packet.is_some() {
            return;
        }
        let room = self.room(kind::DATA);
        let probes = self.link.may_try_bare() && room >= ROOM_TO_TRY;
        let letter = if probes { CAREFUL } else { self.link.alphabet() };
        let Some(alphabet) = alphabet(letter) else { return };
        let slot = slot_of(mem.slots, &self.link, &self.flight, self.flight.next);
        let data = &mut slot[LONG_HEADER..];
        data[0] = if probes { PROBE } else { letter };
        let mut len = 1;
        if probes {
            let (codes, count) = probe::codes();
            data[len..len + count].copy_from_slice(&codes[..count]);
            len += count;
        }
        let space = alphabet.room(room.saturating_sub(len)).max(1);
        let (heads, resumed) = self.packing.compression.heads();
        self.packing.packet =
            Some(Packet { alphabet, len, space, used: 0, heads, resumed, probes, asks: false });
    }

    /// Puts the next piece into the packet.
    fn piece(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) -> Piece {
        let idle = self.packing.chunk == 0 && !self.packing.feed && self.differing.is_put();
        if self.packing.is_drained() && idle {
            return self.next_record(cx, mem);
        }
        let collects = self.packing.compression.collects();
        if !collects {
            self.open_packet(mem);
        }
        let slot = slot_of(mem.slots, &self.link, &self.flight, self.flight.next);
        let data = if collects { &mut *mem.chunk } else { &mut slot[LONG_HEADER..] };
        let packing = &mut self.packing;
        if packing.staged < packing.stage_end {
            let (stage, range) = (packing.stage, packing.staged..packing.stage_end);
            packing.staged += packing.put(&stage[range], data);
        } else if packing.named < packing.name_end {
            let range = packing.named..packing.name_end;
            packing.named += packing.put(&mem.name[range], data);
        } else if packing.list {
            packing.list = false;
            let config = &self.link.config;
            let info = FileInfo {
                resume: self.file.info.resume && self.link.agreed.resend,
                ..self.file.info
            };
            packing.stage(|stage| {
                let mut list = [0; STAGE - 1 - LONGEST_NUMBER];
                let len = attributes::emit(&info, config.system, config.zone, &[], &mut list);
                let len = config.sent_tags.retain(&mut list[..len]);
                stage[0] = b'A';
                let at = 1 + put_number(len as u64, &mut stage[1..]);
                stage[at..at + len].copy_from_slice(&list[..len]);
                at + len
            });
        } else if !self.differing.is_put() {
            self.put_signatures(mem);
            return Piece::Put;
        } else {
            self.put_file(mem);
            return Piece::Put;
        }
        if self.packing.is_drained() {
            self.is_out();
        }
        Piece::Put
    }

    /// What was staged is in the packet.
    fn is_out(&mut self) {
        let resumed = usize::from(self.file.info.resume);
        let collects = self.packing.compression.collects();
        let number = if collects { IN_CHUNK } else { self.flight.next };
        if core::mem::take(&mut self.packing.in_head) {
            if collects {
                self.packing.compression.headed(1, resumed);
            } else {
                self.packing.headed(1, resumed);
            }
            if let Some(file) = self.under_way.last_mut() {
                file.head_in = number;
            }
        }
        if self.differing.is_out(number)
            && let Some(packet) = &mut self.packing.packet
        {
            packet.asks = true;
        }
        if core::mem::take(&mut self.packing.in_end) {
            self.end_is_out(number);
        }
    }

    /// Puts bytes of the file into the packet.
    fn put_file(&mut self, mem: &mut Mem<'_>) {
        let slot = slot_of(mem.slots, &self.link, &self.flight, self.flight.next);
        let collects = self.packing.compression.collects();
        let data = if collects { &mut *mem.chunk } else { &mut slot[LONG_HEADER..] };
        if self.packing.feed {
            self.packing.feed = self.packing.put_data(b"\n", data) == 0;
            return;
        }
        let source = self.source.raw(mem.source);
        let mut bytes = &source[..self.packing.chunk.min(source.len())];
        if self.packing.text {
            let line = bytes.iter().position(|byte| *byte == b'\n');
            bytes = &bytes[..line.unwrap_or(bytes.len())];
        }
        let used = if bytes.is_empty() {
            self.packing.feed = self.packing.put_data(b"\r", data) > 0;
            usize::from(self.packing.feed)
        } else {
            self.packing.put_data(bytes, data)
        };
        self.source.consume(used);
        self.packing.chunk -= used;
        self.link.stats.file_bytes += used as u64;
        self.link.stats.current_file_bytes += used as u64;
        if collects {
            self.packing.compression.used(used);
        } else {
            self.packing.used(used);
            self.packing.compression.passed_plain(used);
        }
    }

    /// Stages the next record.
    fn next_record(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) -> Piece {
        match self.state {
            Sending::Next => self.next_file(mem),
            Sending::Data => self.next_data(cx, mem),
            Sending::Eof => {
                self.enter(cx, SenderInput::Closed);
                Piece::Put
            }
            Sending::Close if self.packing.alone => Piece::Nothing,
            Sending::Close => {
                if self.pending.is_idle() {
                    self.pending = PendingRequest::Aside;
                }
                Piece::Wait
            }
            Sending::Digest => Piece::Wait,
            _ => Piece::Nothing,
        }
    }

    fn next_file(&mut self, mem: &mut Mem<'_>) -> Piece {
        if self.pending == PendingRequest::Next {
            return Piece::Wait;
        }
        self.packing.no_more |= matches!(self.cancel, Cancel::Batch { .. });
        let (mut heads, mut resumed) = self.packing.compression.heads();
        let mut asks = false;
        if let Some(packet) = &self.packing.packet {
            heads += packet.heads;
            resumed += packet.resumed;
            asks = packet.asks;
        }
        let full = heads >= MOST_HEADS || resumed >= MOST_RESUMED || asks;
        if self.packing.no_more || full || !self.under_way.has_room(mem.names) {
            return Piece::Nothing;
        }
        if self.pending.is_idle() {
            self.pending = PendingRequest::Next;
        }
        Piece::Wait
    }

    fn next_data(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) -> Piece {
        if self.cancel != Cancel::No || self.file.refused {
            self.packing.cut = true;
            self.stage_end(cx, b"C");
            return Piece::Put;
        }
        let (low, position) = (self.flight.low, self.source.position());
        let decided = self.under_way.last_mut().is_some_and(|file| file.head_in < low);
        if self.packing.text && self.file.info.resume && self.link.agreed.resend && !decided {
            // Positions in text are not those on the line: nothing of it goes out before the answer.
            return Piece::Nothing;
        }
        if self.pending == PendingRequest::Read {
            // Its bytes must not be taken for those of another position.
            return Piece::Wait;
        }
        let is_to_leave = !self.differing.is_plain() || !self.is_slow_line();
        if is_to_leave && !self.packing.compression.leave() {
            // What follows does not shrink, and an answer belongs to a packet; or the line is fast after all.
            return if self.packing.compression.holds_some() { Piece::Nothing } else { Piece::Put };
        }
        let may_ask = self.packing.packet.is_none_or(|packet| !packet.asks);
        if let Some(piece) = self.next_difference(cx, may_ask) {
            return piece;
        }
        if let Some(offset) = self.packing.continues.take().filter(|offset| *offset > position) {
            let coding = self.link.data_coding(false);
            self.source.begin(&coding, offset, self.file.info.size);
            self.link.stats.current_file_bytes = offset;
            if let Some(bytes) = &mut self.link.stats.current_acked_bytes {
                *bytes += offset - position;
            }
            self.packing.stage(|stage| {
                stage[0] = b'S';
                1 + put_number(offset, &mut stage[1..])
            });
            return Piece::Put;
        }
        if self.source.starved() {
            self.ask_read();
            return Piece::Wait;
        }
        if self.source.exhausted() {
            return self.end_of_file(cx, mem);
        }
        if self.packing.compression.is_due() && self.differing.is_plain() {
            self.try_compression();
        }
        let source = self.source.raw(mem.source);
        let most = if self.packing.text { CHUNK / 2 } else { CHUNK };
        let room = usize::try_from(self.differing.room).unwrap_or(most);
        let bytes = &source[..source.len().min(most).min(room)];
        let len = if self.packing.text { len_on_line(bytes) } else { bytes.len() };
        self.packing.chunk = bytes.len();
        // A frame finds them itself.
        let counted = self.link.agreed.rept.filter(|_| !self.packing.compression.collects());
        self.packing.runs = counted.map(|_| Runs::default());
        let kind = if self.packing.runs.is_some() { b'R' } else { b'D' };
        self.packing.stage(|stage| {
            stage[0] = kind;
            1 + put_number(len as u64, &mut stage[1..])
        });
        Piece::Put
    }

    /// Everything of the file is in packets.
    fn end_of_file(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) -> Piece {
        if self.has_shrunk() {
            let kind = FailureKind::Store(StoreError::Changed);
            let say = Some("The file became shorter while it was sent");
            self.fail(cx, mem, Blame::Store, kind, say);
            return Piece::Wait;
        }
        let own = self.link.agreed.own.is_some_and(|own| own & OWN_DIGEST != 0);
        if !own || self.file.info.kind != FileKind::Binary {
            self.stage_end(cx, b"z");
            return Piece::Put;
        }
        if !self.pending.is_idle() {
            return Piece::Wait;
        }
        self.enter(cx, SenderInput::Digest);
        self.pending = PendingRequest::Digest { kind: DigestKind::Xxh3, len: self.source.offset };
        Piece::Wait
    }

    /// The digest of the current file is here, or there is none.
    pub(super) fn digested(&mut self, cx: &mut Cx<'_>) {
        let Some(digest) = self.file.digest else { return self.stage_end(cx, b"z") };
        let mut record = [b'Z'; 9];
        record[1..].copy_from_slice(&digest[..8]);
        if let Some(file) = self.under_way.last_mut() {
            file.compared = true;
        }
        self.stage_end(cx, &record);
    }

    fn stage_end(&mut self, cx: &mut Cx<'_>, record: &[u8]) {
        self.packing.stage(|stage| {
            stage[..record.len()].copy_from_slice(record);
            record.len()
        });
        self.packing.in_end = true;
        self.enter(cx, SenderInput::EndOfData);
    }

    /// Whether everything is in packets.
    pub(super) fn has_sent_all(&self) -> bool {
        self.packing.no_more && self.state == Sending::Next
    }
}

/// What only a sender of bundles has.
pub(super) fn parts() -> (Packing, UnderWay) {
    (Packing::new(), UnderWay::new())
}
