//! What each header of the sender does.

use super::{AfterClose, Core, Expecting, Mem, command};
use crate::engine::{Blame, Cx, FailureKind};
use crate::zmodem::escape::Dropping;
use crate::zmodem::info::FileOptions;
use crate::zmodem::packet::{Form, Header, PACKS, TESC8, TESCCTL, kind, letter};
use crate::zmodem::states::{ReceiverInput, ReceiverStep, Receiving, at_receiver};

/// Most headers without file data or a new file.
const MOST_HEADERS: u32 = 2000;

/// Echoes of our own frames after which there is no peer.
const MOST_ECHOES: u32 = 3;

impl Core {
    pub(super) fn on_header(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, header: &Header) {
        self.link.heard(cx, letter(header.kind), u64::from(header.number()), 0, 0);
        self.expecting = Expecting::Nothing;
        self.offered = header.kind == kind::ZFILE;
        self.headers += 1;
        if self.headers > MOST_HEADERS {
            return self.too_often(cx, mem);
        }
        self.past_skip(cx, header.kind);
        match at_receiver(self.state, header.kind) {
            None => {}
            Some(ReceiverStep::Announce | ReceiverStep::Repeat) if self.link.asked_enough() => {
                self.too_often(cx, mem);
            }
            Some(ReceiverStep::Announce) => self.say_ready(cx, mem, true),
            Some(ReceiverStep::Attention) => self.begin_attention(cx, mem, header),
            Some(ReceiverStep::Challenged) => self.challenged(cx, mem, header.number()),
            Some(ReceiverStep::File | ReceiverStep::Command) if !self.proved => {
                self.say_ready(cx, mem, true);
            }
            Some(ReceiverStep::File) => self.expect(Expecting::File(FileOptions::parse(header))),
            Some(ReceiverStep::Data) => self.begin_data(cx, mem, header),
            Some(ReceiverStep::Eof) => self.on_eof(cx, mem, header),
            Some(ReceiverStep::Again) => self.eof_again(cx, mem, u64::from(header.number())),
            Some(ReceiverStep::Compare) => self.compare(cx, mem, header.number()),
            // Much of the file may still be in flight after a ZSKIP, and a second one would skip the
            // next file.
            Some(ReceiverStep::Repeat)
                if self.link.too_soon(cx.now)
                    || (self.state == Receiving::Skip && self.link.said_lately(cx.now)) => {}
            Some(ReceiverStep::Repeat) => self.repeat(cx, mem),
            Some(ReceiverStep::Finish) => self.finish(cx, mem),
            Some(ReceiverStep::Failed) => self.peer_failed(cx, mem, header),
            Some(ReceiverStep::Command) => self.expect(command::expected(header)),
            Some(ReceiverStep::Skipped | ReceiverStep::Restarted) => {
                self.left_by_peer(cx, mem, AfterClose::Ready { complete: false });
            }
            Some(ReceiverStep::Left) => self.left_by_peer(cx, mem, AfterClose::Left),
            Some(ReceiverStep::Free) => {
                let free = Header::hex(kind::ZACK, self.link.config.free_bytes);
                self.link.say(cx, mem.out, &free);
                if self.state == Receiving::Init && self.link.question.is_none() {
                    self.link.expect_answer(cx.now, false);
                }
            }
            Some(ReceiverStep::Message) => self.expect(Expecting::Message),
            Some(ReceiverStep::Echo) => {
                self.echoes += 1;
                if self.echoes >= MOST_ECHOES {
                    self.fail(cx, mem, Blame::Line, FailureKind::Violation);
                }
            }
        }
    }

    /// A sender that continues has received our ZSKIP: another one would skip another file.
    pub(super) fn past_skip(&mut self, cx: &mut Cx<'_>, kind: u8) {
        let is_new = matches!(
            kind,
            kind::ZRQINIT | kind::ZSINIT | kind::ZCOMMAND | kind::ZFREECNT | kind::ZSKIP
        );
        if self.state == Receiving::Skip && is_new {
            self.link.answered(cx.now);
            self.enter(cx, ReceiverInput::SkipHeard);
        }
    }

    pub(super) fn challenged(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, number: u32) {
        if !self.proved && number == self.link.config.challenge {
            self.proved = true;
            self.say_ready(cx, mem, false);
        }
    }

    /// ZEOF of a file that is closed: our ZRINIT was lost.
    pub(super) fn eof_again(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, number: u64) {
        if self.closed_at == Some(number) {
            self.link.stats.duplicates += 1;
            self.say_ready(cx, mem, true);
        }
    }

    pub(super) fn begin_attention(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, header: &Header) {
        let flags = header.flag(0);
        if flags & TESC8 != 0 {
            return self.fail(cx, mem, Blame::Peer, FailureKind::Unsupported);
        }
        if flags & TESCCTL != 0 {
            self.link.reader.set_dropping(Dropping::Controls);
        }
        self.expect(Expecting::Attention);
    }

    pub(super) fn begin_data(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, header: &Header) {
        let runs = header.form == Form::Rle;
        if runs && !self.link.config.rle {
            return self.fail(cx, mem, Blame::Peer, FailureKind::Violation);
        }
        let packed = PACKS && header.form == Form::Packed;
        if packed && !self.begin_packed() {
            return self.fail(cx, mem, Blame::Peer, FailureKind::Violation);
        }
        if u64::from(header.number()) != self.position {
            // What was in flight when we requested a position is no reason to request again.
            if !self.link.too_soon(cx.now) && self.fault(cx, mem) {
                self.ask_position(cx, mem);
            }
            return;
        }
        self.link.answered(cx.now);
        self.expect(match header.form {
            Form::Rle => Expecting::Runs,
            Form::Packed if PACKS => Expecting::Packed,
            _ => Expecting::Data,
        });
        self.doubt_data();
    }

    pub(super) fn on_eof(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, header: &Header) {
        let number = u64::from(header.number());
        let short = self.file.info.size.is_some_and(|size| number < size);
        if number == self.position && short && self.doubted != Some(number) {
            // Shorter than announced: worth a second request.
            self.doubted = Some(number);
            self.ask_position(cx, mem);
        } else if number == self.position && short && self.is_exact() {
            self.fail(cx, mem, Blame::Peer, FailureKind::LengthDiffers);
        } else if number == self.position {
            self.link.answered(cx.now);
            self.close(cx, mem);
        } else if number > self.position && !self.link.too_soon(cx.now) && self.fault(cx, mem) {
            // Data is missing, and has not been requested.
            self.ask_position(cx, mem);
        }
    }
}
