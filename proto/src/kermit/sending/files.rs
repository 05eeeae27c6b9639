//! The sender's files: agreement, names, decisions and the end, between packets and store.

use super::{Cancel, Core, Current, Mem};
use crate::charset::Encoding;
use crate::engine::{Blame, Cx, FailureKind};
use crate::file::{Entry, FileInfo, FileKind, Refusal, Reply, StoreError};
use crate::kermit::attributes::{self, AttributeReply};
use crate::kermit::bundle::IS_BUILT;
use crate::kermit::config::Names;
use crate::kermit::encode::{Shift, encode_text};
use crate::kermit::names::to_common;
use crate::kermit::packet::kind;
use crate::kermit::params::{Params, agree};
use crate::kermit::probe::{self, ProbeState};
use crate::kermit::states::SenderInput;
use crate::session::{LineRate, PendingRequest, QueuedEvent, Text};
use crate::trace::TraceEvent;

/// The error text at the end, if all files are sent and one has changed since it was opened.
pub const FILE_CHANGED: &str = "A file changed while it was sent";
/// The same if one could not be deleted as requested.
pub const FILE_KEPT: &str = "A file was sent, but not deleted where it came from";
/// The error text at the end if one of the requested files could not be read, and the sender has sent the
/// others.
pub const FILE_MISSING: &str = "A file could not be read, and was not sent";
/// Room in an A packet for all attributes and the codes to be tried.
const ROOM_TO_TRY: usize = 256;

impl Core {
    pub(super) fn negotiate(&mut self, cx: &mut Cx<'_>, data: &[u8]) {
        self.link.theirs = Params::parse(data);
        let forced = self.link.config.locking_shift == Shift::Forced;
        self.link.agreed = agree(&self.ours, &self.link.theirs, true, forced);
        self.link.settle();
        self.lengths.is_bold = self.link.agreed.correction;
        self.protect_known();
        self.link.describe_agreement(cx);
        if self.bundles() {
            self.streamed.rate = LineRate::ANSWERS;
            self.streamed.rate.begin(cx.now, 0);
            self.enter(cx, SenderInput::Ready);
            return;
        }
        self.ask_next(cx);
    }

    fn ask_next(&mut self, cx: &mut Cx<'_>) {
        self.enter(cx, SenderInput::Ready);
        self.file = Current::default();
        self.pending = PendingRequest::Next;
    }

    /// F is acknowledged.
    pub(super) fn describe(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        if self.file.info.resume && !self.link.agreed.resend {
            let say = Some("RESEND capabilities not negotiated");
            return self.fail(cx, mem, Blame::Peer, FailureKind::CannotResume, say);
        }
        if !self.link.agreed.attributes || self.cancel != Cancel::No {
            return self.start_data(cx, 0);
        }
        self.enter(cx, SenderInput::Named);
        if self.link.may_try_bare() && self.room(kind::ATTRIBUTES) >= ROOM_TO_TRY {
            self.link.bare = ProbeState::Asked;
        }
        self.control(mem, kind::ATTRIBUTES, |core, data, _| core.attributes(data));
    }

    /// Writes the data of an A packet. Without something to try the list fits in a short packet.
    pub(super) fn attributes(&self, data: &mut [u8]) -> usize {
        let config = &self.link.config;
        let (codes, count) = probe::codes();
        let tried = if self.link.bare == ProbeState::Asked { &codes[..count] } else { &[] };
        let len = attributes::emit(&self.file.info, config.system, config.zone, tried, data);
        config.sent_tags.retain(&mut data[..len])
    }

    /// A is acknowledged, with a reply.
    pub(super) fn decide(&mut self, cx: &mut Cx<'_>, data: &[u8]) {
        let offset = match AttributeReply::parse(data) {
            AttributeReply::Refuse(tag) => {
                self.refused(attributes::refusal_of(tag), true);
                0
            }
            AttributeReply::Resume(offset) if self.file.info.resume => offset,
            _ => 0,
        };
        if self.link.bare == ProbeState::Asked {
            self.link.bare = ProbeState::Passed;
        }
        self.look_for_cancel(data);
        if self.file.info.size.is_some_and(|size| offset > size) {
            // The peer has more than there is: not the same file.
            self.refused(Some(Refusal::Resume), false);
        }
        self.start_data(cx, offset);
    }

    fn refused(&mut self, why: Option<Refusal>, by_peer: bool) {
        self.file.refused = true;
        self.link.notes.push(QueuedEvent::Refused { why, by_peer });
    }

    fn start_data(&mut self, cx: &mut Cx<'_>, offset: u64) {
        self.enter(cx, SenderInput::Decided);
        let info = &self.file.info;
        // The store has seen to the line ends of a set in which they are not two bytes.
        let text = info.kind == FileKind::Text
            && !info.extras.kermit().encoding.is_wide()
            && !self.link.config.crlf_files;
        let coding = self.link.data_coding(text);
        self.source.begin(&coding, offset, self.file.info.size);
        if IS_BUILT {
            self.streamed.begin();
            self.streamed.rate.begin(cx.now, self.link.output.taken());
        }
        self.link.stats.current_file_bytes = offset;
        self.link.stats.current_acked_bytes = (!self.link.agreed.streaming).then_some(offset);
        if !self.file.refused {
            self.link.notes.push(QueuedEvent::Started { offset });
        }
    }

    /// The store has replied.
    pub(super) fn replied(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, reply: Reply<'_>) {
        let pending = self.pending.take();
        match (pending, reply) {
            (PendingRequest::Nothing, _) => {}
            (PendingRequest::Next, Reply::File(info))
                if IS_BUILT && info.entry != Entry::File && !self.link.agreed.entries =>
            {
                self.pending = PendingRequest::PassOver;
            }
            (PendingRequest::PassOver, Reply::Done) => self.pending = PendingRequest::Next,
            (PendingRequest::Next, Reply::File(info)) => self.start_file(cx, mem, &info),
            (PendingRequest::Next, Reply::NoMoreFiles) if self.bundles() => {
                self.packing.no_more = true;
            }
            (PendingRequest::Next, Reply::NoMoreFiles) => self.send_break(cx, mem),
            (PendingRequest::Read, Reply::Read(len)) => self.source.filled(len, mem.source.len()),
            (PendingRequest::Pack { end, .. }, Reply::Packed(made)) if IS_BUILT => {
                self.pressed(cx, mem, end, made);
            }
            (PendingRequest::Pack { begin, .. }, Reply::Failed(_))
                if IS_BUILT && (begin || !self.bundles()) =>
            {
                self.cannot_press();
            }
            (PendingRequest::Signatures { .. }, Reply::Read(len)) if IS_BUILT => self.signed(len),
            // Then the whole file is sent.
            (PendingRequest::Signatures { .. }, Reply::Failed(_)) if IS_BUILT => self.signed(0),
            (PendingRequest::Digest { .. }, Reply::Digest(digest)) => {
                let mut first = [0; 16];
                first.copy_from_slice(&digest[..16]);
                self.file.digest = Some(first);
                self.compared(cx, mem);
            }
            // A store without digests can still send files.
            (PendingRequest::Digest { .. }, Reply::Failed(_)) => self.compared(cx, mem),
            (PendingRequest::Aside, Reply::Done) if self.bundles() => self.put_aside(cx, true),
            (PendingRequest::Aside, Reply::Failed(StoreError::Unsupported)) if self.bundles() => {
                self.put_aside(cx, false);
            }
            (PendingRequest::Settle { .. }, Reply::Done) if self.bundles() => self.settled(cx),
            (PendingRequest::Close { .. }, Reply::Done)
                if self.bundles() && self.link.ending.is_running() =>
            {
                self.settled(cx);
            }
            (PendingRequest::Close { complete, verified }, Reply::Done) => {
                self.file.open = false;
                if self.link.ending.is_running() {
                    self.file_over(cx, mem, complete, verified);
                }
            }
            (PendingRequest::Close { .. }, _) if !self.link.ending.is_running() => {
                self.file.open = false;
            }
            (_, Reply::Failed(error)) => {
                let mut text = Text::<96>::new();
                let say = Some(match error {
                    StoreError::Quota { .. } => text.of(&error),
                    StoreError::Changed => FILE_CHANGED,
                    StoreError::Kept => FILE_KEPT,
                    StoreError::Missing => FILE_MISSING,
                    _ => "The sender cannot read the file",
                });
                self.file.open &= !matches!(pending, PendingRequest::Close { .. });
                self.fail(cx, mem, Blame::Store, FailureKind::Store(error), say);
            }
            // A reply to another request: the request stays open.
            (pending, _) => self.pending = pending,
        }
    }

    /// The digest is here, or there is none.
    fn compared(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        if self.bundles() { self.digested(cx) } else { self.send_eof(cx, mem) }
    }

    fn start_file(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, info: &FileInfo<'_>) {
        self.file.open = true;
        let len = if self.link.config.names == Names::Converted && !self.screen {
            to_common(info.name, mem.name)
        } else {
            let len = info.name.len().min(mem.name.len());
            mem.name[..len].copy_from_slice(&info.name[..len]);
            len
        };
        self.file.name_len = len;
        self.file.info = FileInfo { name: &[], ..*info };
        // Two ends of a kind have the same line ends, and no conversion is needed.
        let alike = self.link.theirs.system == self.link.config.system;
        if self.link.config.alike_as_is
            && alike
            && !self.screen
            && info.extras.kermit().encoding == Encoding::Unsaid
        {
            self.file.info.kind = FileKind::Binary;
        }
        self.enter(cx, SenderInput::File);
        if self.bundles() {
            return self.begin_bundled(cx, mem);
        }
        self.fit_name(mem.name);
        if cx.trace.enabled() {
            let text = &mem.name[..self.file.name_len];
            cx.trace.record(cx.now, &TraceEvent::Text { name: "file", text });
        }
        let kind = if self.screen { kind::TEXT } else { kind::FILE };
        self.control(mem, kind, |core, data, name| {
            encode_text(&core.link.text_coding(), &name[..core.file.name_len], data).1
        });
    }

    /// Shortens a name that does not fit in one packet to this peer, before its extension; the
    /// event that the file has started shows the name that was sent.
    fn fit_name(&mut self, name: &mut [u8]) {
        let coding = self.link.text_coding();
        let mut packet = [0; 512];
        let room = self.room(kind::FILE).min(packet.len());
        let len = self.file.name_len;
        let dot = name[..len].iter().rposition(|byte| *byte == b'.');
        let mut stem = dot.filter(|dot| *dot > 0 && len - dot <= 12).unwrap_or(len);
        let extension = stem;
        loop {
            let kept = stem + (len - extension);
            if encode_text(&coding, &name[..kept], &mut packet[..room]).0 == kept || stem <= 1 {
                self.file.name_len = kept;
                return;
            }
            // One byte of the stem is removed; the extension moves up.
            name.copy_within(stem..kept, stem - 1);
            stem -= 1;
        }
    }

    pub(super) fn send_break(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        self.enter(cx, SenderInput::NoMoreFiles);
        self.control(mem, kind::BREAK, |_, _, _| 0);
    }

    fn file_over(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, complete: bool, verified: bool) {
        if complete {
            self.link.stats.files_done += 1;
            self.link.notes.push(QueuedEvent::Done { size: self.source.offset, verified });
        } else {
            self.link.stats.files_skipped += 1;
        }
        match self.cancel {
            _ if self.file.refused => {}
            Cancel::File { by_peer } | Cancel::Batch { by_peer } if !complete => {
                self.link.notes.push(QueuedEvent::Cancelled { by_peer });
            }
            _ => {}
        }
        if matches!(self.cancel, Cancel::Batch { .. }) {
            self.send_break(cx, mem);
        } else {
            self.cancel = Cancel::No;
            self.ask_next(cx);
        }
    }
}
