//! Sending the difference to an older version that the receiver has ([`crate::difference`]): signatures of what is still to
//! be sent, questions which of these blocks are there, and then the others.
//!
//! A question stands in a packet, and the answer in its acknowledgement. A few are asked ahead of what is sent. So only the
//! first answer is waited for, and where most is there, as much as the questions under way cover is passed over at a time.

use super::aside::NOWHERE;
use super::{Cancel, Core, Mem, Piece, slot_of};
use crate::difference::{LEAST, MOST, SIGNATURE, block_len};
use crate::engine::Cx;
use crate::file::{FileKind, Request};
use crate::kermit::bundle::mark::bit_of;
use crate::kermit::bundle::{ASKED_ROOM, IS_BUILT, MOST_ASKED, MOST_SIGNATURES, put_number};
use crate::kermit::packet::LONG_HEADER;
use crate::kermit::states::Sending;
use crate::session::PendingRequest;
use crate::trace::TraceEvent;

/// Questions ahead of what is sent.
const AHEAD: usize = if IS_BUILT { 8 } else { 1 };
/// Of fewer blocks nothing is asked.
const WORTH: u64 = 16;

/// How far it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// The file is sent as it is.
    Plain,
    /// The receiver has an older version.
    Told,
    Signing,
    Asking,
}

/// A question.
#[derive(Clone, Copy, Debug)]
struct Question {
    /// The packet in which it ends.
    packet: u64,
    answered: bool,
    bits: [u8; ASKED_ROOM],
}

const UNASKED: Question = Question { packet: NOWHERE, answered: false, bits: [0; ASKED_ROOM] };

/// The difference of the current file.
#[derive(Debug)]
pub(super) struct Differing {
    phase: Phase,
    /// Where its first block begins, their length and number.
    from: u64,
    block: u32,
    count: u64,
    /// Blocks whose signatures are in records.
    signed: u64,
    /// Signatures that are still to go into packets: `at..len` of the memory for bytes of the source.
    at: usize,
    len: usize,
    /// Questions that were asked, and the last of them by number modulo `AHEAD`.
    asked: u64,
    questions: [Question; AHEAD],
    /// One is staged.
    asking: bool,
    /// Bytes that may be sent before the next block that is there.
    pub(super) room: u64,
}

impl Differing {
    pub(super) const fn new() -> Self {
        Self {
            phase: Phase::Plain,
            from: 0,
            block: 1,
            count: 0,
            signed: 0,
            at: 0,
            len: 0,
            asked: 0,
            questions: [UNASKED; AHEAD],
            asking: false,
            room: u64::MAX,
        }
    }

    /// The receiver has an older version of the current file.
    pub(super) fn told(&mut self) {
        if self.phase == Phase::Plain && self.signed == 0 {
            self.phase = Phase::Told;
        }
    }

    /// Whether the file is sent as it is.
    pub(super) fn is_plain(&self) -> bool {
        self.phase == Phase::Plain
    }

    /// Whether no signatures are on their way into packets.
    pub(super) fn is_put(&self) -> bool {
        self.at == self.len
    }

    /// What was staged is in this packet; whether it was a question.
    pub(super) fn is_out(&mut self, packet: u64) -> bool {
        let asking = core::mem::take(&mut self.asking);
        if asking {
            self.questions[((self.asked - 1) % AHEAD as u64) as usize].packet = packet;
        }
        asking
    }

    fn in_packet(&mut self, packet: u64) -> Option<&mut Question> {
        self.questions.iter_mut().find(|question| question.packet == packet)
    }

    /// This packet is acknowledged: what is not said to be there is not.
    pub(super) fn acked(&mut self, packet: u64) {
        if let Some(question) = self.in_packet(packet) {
            question.answered = true;
        }
    }

    /// Its acknowledgement says what is there.
    pub(super) fn found(&mut self, packet: u64, bits: [u8; ASKED_ROOM]) {
        if let Some(question) = self.in_packet(packet) {
            question.bits = bits;
        }
    }

    /// Whether a block is there; `None` if that is not known.
    fn is_there(&self, index: u64) -> Option<bool> {
        let number = index / MOST_ASKED;
        let question = &self.questions[(number % AHEAD as u64) as usize];
        let known = index < self.count && number < self.asked && question.answered;
        known.then(|| bit_of(&question.bits, (index % MOST_ASKED) as usize) != 0)
    }

    /// From this block on, how many are there, or how many are not.
    fn run(&self, index: u64, there: bool) -> u64 {
        // Of those behind the last question nothing is known.
        let some = index..index + AHEAD as u64 * MOST_ASKED;
        some.take_while(|index| self.is_there(*index) == Some(there)).count() as u64
    }
}

impl Core {
    /// The next step of the difference. `None` if bytes of the file may be sent now.
    pub(super) fn next_difference(&mut self, cx: &mut Cx<'_>, may_ask: bool) -> Option<Piece> {
        match self.differing.phase {
            Phase::Plain => None,
            Phase::Told => self.begin_difference(cx),
            Phase::Signing => Some(self.sign()),
            Phase::Asking => self.ask_or_skip(cx, may_ask),
        }
    }

    fn begin_difference(&mut self, cx: &mut Cx<'_>) -> Option<Piece> {
        let (from, differing) = (self.source.position(), &mut self.differing);
        differing.phase = Phase::Plain;
        let info = &self.file.info;
        let size = info.size.filter(|size| (LEAST..=MOST).contains(size))?;
        let block = block_len(size);
        let count = size.saturating_sub(from) / u64::from(block);
        if info.kind != FileKind::Binary || !self.link.agreed.difference || count < WORTH {
            return None;
        }
        cx.trace.record(cx.now, &TraceEvent::Value { name: "blocks", value: count });
        *differing = Differing { phase: Phase::Signing, from, block, count, ..Differing::new() };
        // What was read ahead makes room for signatures.
        let coding = self.link.data_coding(false);
        self.source.begin(&coding, from, Some(size));
        Some(Piece::Put)
    }

    fn sign(&mut self) -> Piece {
        let differing = &mut self.differing;
        if differing.len > 0 {
            let (block, count) = (u64::from(differing.block), (differing.len / SIGNATURE) as u64);
            self.packing.stage(|stage| {
                stage[0] = b'H';
                let at = 1 + put_number(block, &mut stage[1..]);
                at + put_number(count, &mut stage[at..])
            });
            differing.signed += count;
            differing.at = 0;
            return Piece::Put;
        }
        if differing.signed == differing.count {
            differing.phase = Phase::Asking;
            return Piece::Put;
        }
        if self.pending.is_idle() {
            let from = differing.from + differing.signed * u64::from(differing.block);
            self.pending = PendingRequest::Signatures { from, block: differing.block };
        }
        Piece::Wait
    }

    /// The request for signatures.
    pub(super) fn signatures_request<'a>(
        &self,
        from: u64,
        block: u32,
        memory: &'a mut [u8],
    ) -> Request<'a> {
        let left = self.differing.count - self.differing.signed;
        let most = left.min(MOST_SIGNATURES) as usize;
        let len = most.min(memory.len() / SIGNATURE) * SIGNATURE;
        Request::Signatures { from, block, into: &mut memory[..len] }
    }

    /// The store has told signatures, of as many bytes; none if it cannot, or the file has become shorter.
    pub(super) fn signed(&mut self, len: usize) {
        let differing = &mut self.differing;
        if self.state != Sending::Data || self.cancel != Cancel::No {
            return;
        }
        let len = len.min(MOST_SIGNATURES as usize * SIGNATURE) / SIGNATURE * SIGNATURE;
        if len == 0 {
            differing.phase = Phase::Plain;
        }
        // They are put when the beginning of their record is.
        differing.at = len;
        differing.len = len;
    }

    /// Puts signatures into the packet.
    pub(super) fn put_signatures(&mut self, mem: &mut Mem<'_>) {
        let slot = slot_of(mem.slots, &self.link, &self.flight, self.flight.next);
        let differing = &mut self.differing;
        let bytes = &mem.source[differing.at..differing.len];
        differing.at += self.packing.put_coded(bytes, &mut slot[LONG_HEADER..]);
        if differing.at == differing.len {
            differing.at = 0;
            differing.len = 0;
        }
    }

    fn ask_or_skip(&mut self, cx: &mut Cx<'_>, may_ask: bool) -> Option<Piece> {
        let position = self.source.position();
        let differing = &mut self.differing;
        let block = u64::from(differing.block);
        let index = position.saturating_sub(differing.from) / block;
        differing.room = u64::MAX;
        if index >= differing.count {
            differing.phase = Phase::Plain;
            return None;
        }
        let first = differing.asked * MOST_ASKED;
        let is_ahead = differing.asked < index / MOST_ASKED + AHEAD as u64;
        if may_ask && first < differing.count && is_ahead {
            let count = MOST_ASKED.min(differing.count - first);
            self.packing.stage(|stage| {
                stage[0] = b'Q';
                let at = 1 + put_number(first, &mut stage[1..]);
                at + put_number(count, &mut stage[at..])
            });
            differing.questions[(differing.asked % AHEAD as u64) as usize] = UNASKED;
            differing.asked += 1;
            differing.asking = true;
            return Some(Piece::Put);
        }
        let Some(there) = differing.is_there(index) else { return Some(Piece::Nothing) };
        let there = there && differing.from + index * block == position;
        let end = differing.from + (index + differing.run(index, there).max(1)) * block;
        if there {
            self.packing.continues = Some(end);
            let value = end - position;
            cx.trace.record(cx.now, &TraceEvent::Value { name: "known", value });
            if let Some(file) = self.under_way.last_mut() {
                file.known += end - position;
            }
        } else {
            differing.room = end - position;
        }
        None
    }
}
