//! The receiver's files: names, decisions, data and the safe end, between packets and store.

use super::{Cancel, Core, Current, Mem, Waiting};
use crate::engine::{Blame, Cx, FailureKind};
use crate::file::{DigestKind, FileKind, Refusal, Reply, StoreError};
use crate::kermit::attributes;
use crate::kermit::bundle::IS_BUILT;
use crate::kermit::check::tochar;
use crate::kermit::config::Names;
use crate::kermit::decode::Decoder;
use crate::kermit::encode::Shift;
use crate::kermit::names::from_common;
use crate::kermit::packet::kind;
use crate::kermit::params::{self, OWN_DIGEST};
use crate::kermit::states::{ReceiverInput, Receiving};
use crate::reason::reasons;
use crate::session::{PendingRequest, QueuedEvent, Text};
use crate::trace::TraceEvent;
use core::cmp::Ordering;

reasons! {
    /// How the length of a file differs from the one announced.
    enum Misfit {
        /// Bytes are missing.
        Shorter = "The file is shorter than was announced",
        /// There are more bytes.
        Longer = "The file is longer than was announced",
    }
}

impl Core {
    pub(super) fn name(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, kind: u8, data: &[u8]) {
        let agreed = self.link.agreed;
        let qctl = self.link.theirs.qctl;
        let mut decoder = Decoder::new(qctl, agreed.qbin, agreed.rept, Shift::Off, false);
        let (used, len) = decoder.decode(data, mem.name);
        if self.link.config.names == Names::Converted {
            from_common(&mut mem.name[..len]);
        }
        self.file = Current { name_len: len, screen: kind == kind::TEXT, ..Current::default() };
        if len == 0 {
            let none = b"NONAME";
            mem.name[..none.len()].copy_from_slice(none);
            self.file.name_len = none.len();
        }
        if cx.trace.enabled() {
            let text = &mem.name[..self.file.name_len];
            cx.trace.record(cx.now, &TraceEvent::Text { name: "file", text });
        }
        if used < data.len() {
            // A longer name would be stored under another one.
            let say = Some("File name too long");
            return self.fail(cx, mem, Blame::Peer, FailureKind::Violation, say);
        }
        if matches!(self.cancel, Cancel::Ask(b'Z') | Cancel::Said(b'Z')) {
            // The sender missed, or does not know, the cancel of the whole batch.
            return self.abort(cx, mem);
        }
        self.cancel = Cancel::No;
        // From here on damage is fatal if we stream, and MARK is data if the channel is clear.
        self.link.reader.settings.transparent = agreed.streaming && agreed.clear;
        let number = self.arrivals.next;
        self.answer(cx, mem, number, &[]);
        self.arrivals.advance();
        self.enter(cx, ReceiverInput::Named);
    }

    pub(super) fn describe(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, data: &[u8]) {
        if self.state == Receiving::Data {
            let number = self.arrivals.next;
            self.answer(cx, mem, number, &[]);
            return self.arrivals.advance();
        }
        self.file.attributes.add_of(data, self.link.config.taken_tags);
        if self.file.attributes.disposition.is_some_and(|disposition| disposition != b'R') {
            // Stores do not mail or print.
            self.file.attributes.unsupported = Some(b'+');
        }
        let attributes = &self.file.attributes;
        // The list may continue in another packet unless it is marked as complete. A request to
        // resume must be answered at once.
        if attributes.complete
            || attributes.disposition.is_some()
            || attributes.unsupported.is_some()
        {
            self.waiting = Waiting::AttributeReply;
            return self.offer(cx);
        }
        let number = self.arrivals.next;
        self.answer(cx, mem, number, &[]);
        self.arrivals.advance();
    }

    /// Offers the file to the store; some things are decided without it.
    pub(super) fn offer(&mut self, cx: &mut Cx<'_>) {
        self.enter(cx, ReceiverInput::Described);
        self.pending = PendingRequest::Offer;
    }

    /// The store, or the protocol, has decided.
    fn decided(
        &mut self,
        cx: &mut Cx<'_>,
        mem: &mut Mem<'_>,
        offset: u64,
        refusal: Option<Refusal>,
    ) {
        self.enter(cx, ReceiverInput::Decided);
        let info = self.info(mem.name);
        let (kind, resume) = (info.kind, info.resume);
        let agreed = self.link.agreed;
        // Line ends of a set in which they are not two bytes are the store's affair.
        let text = kind == FileKind::Text
            && !info.extras.kermit().encoding.is_wide()
            && !self.link.config.crlf_files;
        let qctl = self.link.theirs.qctl;
        let decoder = Decoder::new(qctl, agreed.qbin, agreed.rept, agreed.shift, text);
        self.sink.begin(decoder, offset);
        self.streamed.end();
        self.link.stats.current_file_bytes = offset;
        self.file.open = refusal.is_none();
        self.file.resumed = offset > 0;
        self.file.unwanted = refusal.is_some();
        self.file.refusal = refusal;
        if refusal.is_some() {
            // For senders that ignore the reply, or get none.
            self.cancel = Cancel::Ask(b'X');
        }
        self.link.notes.push(match refusal {
            None => QueuedEvent::Started { offset },
            why => QueuedEvent::Refused { why, by_peer: false },
        });
        match core::mem::replace(&mut self.waiting, Waiting::Nothing) {
            Waiting::AttributeReply => self.reply_to_attributes(cx, mem, offset, resume),
            Waiting::Packet { kind, len } => {
                let hold = core::mem::take(&mut mem.hold);
                // Decoding may leave a rest in `hold`; it stays at the same position.
                let (data, _) = hold.split_at(len);
                let rest = self.step_held(cx, mem, kind, data);
                if let Some(used) = rest {
                    self.waiting = Waiting::Decode { at: used, len };
                }
                mem.hold = hold;
            }
            Waiting::Unpack if self.bundles() => self.bundle_decided(offset, text),
            waiting => self.waiting = waiting,
        }
    }

    fn reply_to_attributes(
        &mut self,
        cx: &mut Cx<'_>,
        mem: &mut Mem<'_>,
        offset: u64,
        resume: bool,
    ) {
        let number = self.arrivals.next;
        let mut reply = [0; 24];
        let mut digits = [0; 20];
        let data: &[u8] = match self.file.refusal {
            Some(why) => {
                reply[0] = b'N';
                reply[1] = self.file.attributes.unsupported.unwrap_or(attributes::refusal_tag(why));
                &reply[..2]
            }
            None if resume && offset > 0 => {
                let digits = attributes::format_decimal(offset, &mut digits);
                reply[0] = b'1';
                reply[1] = tochar(digits.len() as u8);
                reply[2..2 + digits.len()].copy_from_slice(digits);
                &reply[..2 + digits.len()]
            }
            None => &[],
        };
        self.answer(cx, mem, number, data);
        self.arrivals.advance();
    }

    /// A packet that waited in `hold` for the store's decision. Returns how much of a data field
    /// was used, if not all.
    fn step_held(
        &mut self,
        cx: &mut Cx<'_>,
        mem: &mut Mem<'_>,
        kind: u8,
        data: &[u8],
    ) -> Option<usize> {
        if kind == kind::EOF {
            self.close(cx, mem, data);
            return None;
        }
        if kind == kind::PACKED {
            self.store_packed(cx, mem, data);
            return None;
        }
        let used = self.decode(cx, mem, data);
        (used < data.len()).then_some(used)
    }

    /// Data in sequence. `fresh` if it has not been acknowledged yet.
    pub(super) fn store_data(
        &mut self,
        cx: &mut Cx<'_>,
        mem: &mut Mem<'_>,
        data: &[u8],
        fresh: bool,
    ) {
        if fresh {
            self.ack_data(cx, mem);
        }
        self.streamed.end();
        let used = self.decode_or_skip(mem, data);
        if used < data.len() {
            let rest = &data[used..];
            mem.hold[..rest.len()].copy_from_slice(rest);
            self.waiting = Waiting::Decode { at: 0, len: rest.len() };
        } else {
            self.arrivals.advance();
        }
    }

    /// Acknowledges the data packet that was awaited, with a request to stop if there is one.
    pub(super) fn ack_data(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        let number = self.arrivals.next;
        match self.cancel {
            Cancel::Ask(letter) => {
                self.ack(cx, mem, number, &[letter]);
                self.cancel = Cancel::Said(letter);
            }
            _ if self.link.agreed.streaming => {}
            // Some peers only look at the acknowledgement of the oldest packet: retransmit it.
            Cancel::Said(letter) => self.ack(cx, mem, number, &[letter]),
            Cancel::No => self.ack(cx, mem, number, &[]),
        }
    }

    /// Treats the first packet of a file, which has waited for the decision.
    fn decode(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, data: &[u8]) -> usize {
        self.ack_data(cx, mem);
        let used = self.decode_or_skip(mem, data);
        if used == data.len() {
            self.arrivals.advance();
        }
        used
    }

    fn decode_or_skip(&mut self, mem: &mut Mem<'_>, data: &[u8]) -> usize {
        if self.file.unwanted || self.cancel != Cancel::No {
            return data.len();
        }
        self.link.stats.encoded_bytes += data.len() as u64;
        let used = self.decode_on(mem, data);
        if used < data.len() {
            self.link.stats.encoded_bytes -= (data.len() - used) as u64;
        }
        used
    }

    fn decode_on(&mut self, mem: &mut Mem<'_>, data: &[u8]) -> usize {
        let (used, made) = self.sink.decode(mem.file, data);
        self.link.stats.file_bytes += made as u64;
        self.link.stats.current_file_bytes += made as u64;
        if self.pending.is_idle() && (used < data.len() || self.sink.pending() >= self.write_at) {
            self.pending = PendingRequest::Write;
        }
        used
    }

    /// Z: the file ends, complete or cut short.
    pub(super) fn close(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, data: &[u8]) {
        self.enter(cx, ReceiverInput::EndOfFile);
        self.waiting = Waiting::Close;
        self.file.discard = data.first() == Some(&b'D');
        if let (Some(b'W'), 33) = (data.first(), data.len()) {
            let mut digest = [0; 33];
            digest.copy_from_slice(data);
            self.file.digest = Some(digest);
        }
        if self.file.open && !self.file.discard && self.cancel == Cancel::No {
            let made = self.sink.finish(mem.file) as u64;
            self.link.stats.file_bytes += made;
            self.link.stats.current_file_bytes += made;
        }
        if self.pending.is_idle() {
            self.close_on(cx, mem);
        }
    }

    /// How what came differs from the length that the sender announced. The length of text differs
    /// by its line ends.
    fn misfit(&self, mem: &Mem<'_>) -> Option<Misfit> {
        let info = self.info(mem.name);
        let size = info.size.filter(|_| info.kind == FileKind::Binary)?;
        match self.sink.end().cmp(&size) {
            Ordering::Less => Some(Misfit::Shorter),
            Ordering::Equal => None,
            Ordering::Greater => Some(Misfit::Longer),
        }
    }

    /// Gives the file up if more of it came than was announced.
    pub(super) fn ran_over(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) -> bool {
        let over = self.misfit(mem) == Some(Misfit::Longer);
        if over {
            let say = Some(Misfit::Longer.as_str());
            self.fail(cx, mem, Blame::Line, FailureKind::LengthDiffers, say);
        }
        over
    }

    /// The next step of closing: write what is left, compare, close, acknowledge.
    fn close_on(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        let whole = !self.file.discard && self.cancel == Cancel::No;
        if self.file.open
            && whole
            && let Some(misfit) = self.misfit(mem)
        {
            let say = Some(misfit.as_str());
            return self.fail(cx, mem, Blame::Line, FailureKind::LengthDiffers, say);
        }
        let own = self.link.agreed.own.is_some_and(|own| own & OWN_DIGEST != 0);
        self.pending = if !self.file.open {
            self.closed(cx, mem, false, false);
            PendingRequest::Nothing
        } else if self.sink.pending() > 0 {
            PendingRequest::Write
        } else if whole && own && (self.file.digest.is_some() || self.bundled_digest().is_some()) {
            PendingRequest::Digest { kind: DigestKind::Xxh3, len: self.sink.end() }
        } else if whole && own && self.file.resumed {
            return self.unproved(cx, mem);
        } else {
            PendingRequest::close(whole)
        };
    }

    /// The file is safe, or gone: now the sender may know.
    fn closed(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, complete: bool, verified: bool) {
        self.file.open = false;
        self.waiting = Waiting::Nothing;
        let given_up = match self.cancel {
            Cancel::Ask(letter) | Cancel::Said(letter) if !self.file.discard => Some(letter),
            _ => None,
        };
        if given_up.is_some() && self.file.refusal.is_none() && self.link.agreed.own.is_none() {
            // The sender believes that the file is complete, and its kind ignores what the
            // acknowledgement says.
            return self.abort(cx, mem);
        }
        if self.bundles() {
            self.bundle_closed(cx, given_up, verified);
        } else {
            let number = self.arrivals.next;
            let letter = [given_up.unwrap_or(b'W')];
            let said: &[u8] = if given_up.is_some() || verified { &letter } else { &[] };
            self.answer(cx, mem, number, said);
            self.arrivals.advance();
            self.enter(cx, ReceiverInput::Closed);
        }
        if complete {
            self.link.stats.files_done += 1;
            self.link.notes.push(QueuedEvent::Done { size: self.sink.end(), verified });
        } else {
            self.link.stats.files_skipped += 1;
            if self.file.refusal.is_none() {
                let by_peer = self.cancel == Cancel::No;
                self.link.notes.push(QueuedEvent::Cancelled { by_peer });
            }
        }
    }

    /// The store has replied.
    pub(super) fn replied(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, reply: Reply<'_>) {
        match (self.pending.take(), reply) {
            (PendingRequest::Nothing, _) => {}
            (PendingRequest::Offer, Reply::Accept { .. })
                if self.file.attributes.unsupported.is_some() =>
            {
                // The store would accept it, but the protocol has no way.
                self.file.open = true;
                self.decided(cx, mem, 0, Some(Refusal::Kind));
                self.pending = PendingRequest::close(false);
            }
            (PendingRequest::Offer, Reply::Accept { offset: 0 })
                if IS_BUILT && self.may_differ(mem) =>
            {
                self.file.open = true;
                self.pending = PendingRequest::Older;
            }
            (PendingRequest::Offer, Reply::Accept { offset }) => {
                self.decided(cx, mem, offset, None);
            }
            (PendingRequest::Older, Reply::Done | Reply::Failed(_)) if IS_BUILT => {
                self.older(reply == Reply::Done);
                self.decided(cx, mem, 0, None);
            }
            (PendingRequest::Learn, Reply::Done | Reply::Failed(_)) if IS_BUILT => {
                self.has_learnt();
            }
            (PendingRequest::Find, Reply::Done | Reply::Failed(_)) if IS_BUILT => {
                self.has_looked(reply == Reply::Done);
            }
            (PendingRequest::Copy { to }, Reply::Done) if IS_BUILT => self.has_copied(to),
            (PendingRequest::Copy { .. }, Reply::Failed(error))
                if IS_BUILT && self.link.ending.is_running() =>
            {
                self.not_copied(cx, mem, error);
            }
            (PendingRequest::Offer, Reply::Refuse(why)) => self.decided(cx, mem, 0, Some(why)),
            (PendingRequest::Write, Reply::Done) => self.written(cx, mem),
            (request @ PendingRequest::Unpack { .. }, reply) if IS_BUILT => {
                self.host_replied(cx, mem, request, reply);
            }
            (PendingRequest::Digest { .. }, Reply::Digest(sum)) => self.compare(cx, mem, &sum),
            (PendingRequest::Digest { .. }, Reply::Failed(_)) if self.file.resumed => {
                self.unproved(cx, mem);
            }
            (PendingRequest::Digest { .. }, Reply::Failed(_)) => {
                self.pending = PendingRequest::close(true);
            }
            (PendingRequest::Close { complete, verified }, Reply::Done) => {
                if self.waiting == Waiting::Close {
                    self.closed(cx, mem, complete, verified);
                }
                self.file.open = false;
            }
            (PendingRequest::Close { .. }, _) if !self.link.ending.is_running() => {
                self.file.open = false;
            }
            (request, Reply::Failed(error)) => self.request_failed(cx, mem, request, error),
            // A reply to another request: the request stays open.
            (request, _) => self.pending = request,
        }
        if self.link.ending.is_running() {
            if IS_BUILT {
                self.undo_on(cx, mem);
            }
            self.unpack_on(cx, mem);
            self.follow_up(cx, mem);
        }
    }

    /// The store has failed to do what was requested.
    fn request_failed(
        &mut self,
        cx: &mut Cx<'_>,
        mem: &mut Mem<'_>,
        request: PendingRequest,
        error: StoreError,
    ) {
        self.file.open &= !matches!(request, PendingRequest::Close { .. } | PendingRequest::Offer);
        if self.link.ending.is_running() {
            self.store_failed(cx, mem, error);
        } else if self.file.open {
            self.pending = PendingRequest::close(false);
        }
    }

    /// The store cannot go on with the file.
    pub(super) fn store_failed(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, error: StoreError) {
        let mut text = Text::<96>::new();
        let say = Some(match error {
            StoreError::Quota { .. } | StoreError::NoSpace => text.of(&error),
            _ => "The receiver cannot store the file",
        });
        self.fail(cx, mem, Blame::Store, FailureKind::Store(error), say);
    }

    /// The store has accepted bytes: continue where it was too slow.
    fn written(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        self.sink.taken();
        self.heard = cx.now;
        if !self.link.ending.is_running() {
            self.pending = if self.sink.pending() > 0 {
                PendingRequest::Write
            } else {
                PendingRequest::close(false)
            };
            return;
        }
        if self.cancel == Cancel::No && self.ran_over(cx, mem) {
            return;
        }
        match self.waiting {
            Waiting::Decode { at, len } => {
                let hold = core::mem::take(&mut mem.hold);
                let data = &hold[at..len];
                let used = self.decode_on(mem, data);
                self.link.stats.encoded_bytes += used as u64;
                if used < data.len() {
                    self.waiting = Waiting::Decode { at: at + used, len };
                } else {
                    self.waiting = Waiting::Nothing;
                    self.arrivals.advance();
                }
                mem.hold = hold;
            }
            Waiting::Close => self.close_on(cx, mem),
            _ => {}
        }
    }

    /// Compares the sender's digest of the whole file with our store's.
    fn compare(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, digest: &[u8; 32]) {
        let mut ours = [0; 33];
        let mut first = [0; 16];
        first.copy_from_slice(&digest[..16]);
        params::emit_digest(&first, &mut ours);
        let same = match self.bundled_digest() {
            Some(theirs) => digest[..theirs.len()] == theirs,
            None => self.file.digest == Some(ours),
        };
        if same {
            self.pending = PendingRequest::Close { complete: true, verified: true };
        } else {
            let say = Some(params::DIGESTS_DIFFER);
            self.fail(cx, mem, Blame::Line, FailureKind::DigestDiffers, say);
            if let PendingRequest::Close { verified, .. } = &mut self.pending {
                *verified = true;
            }
        }
    }

    /// The file was resumed, and it cannot be verified to be the same: between our own ends that is no
    /// success.
    fn unproved(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        let say = Some("A file that is continued must be compared, and cannot be");
        self.fail(cx, mem, Blame::Store, FailureKind::CannotResume, say);
    }
}
