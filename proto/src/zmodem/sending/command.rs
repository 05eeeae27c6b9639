//! A command for the receiver's system (xyzmodem.md §5.9), and cancelling one file of a batch.

use super::{AFTER_CUT, Core, Mem};
use crate::engine::{Blame, Cx, FailureKind};
use crate::session::{PendingRequest, QueuedEvent};
use crate::zmodem::info::MAX_NAME;
use crate::zmodem::packet::{Form, Header, end, kind, put_subpacket, subpacket_room};
use crate::zmodem::states::{SenderInput, Sending};

/// ZCOMMAND, ZF0: answer at once, not when the command has ended.
const ZCACK1: u8 = 1;
/// Unanswered ZSKIPs after which the receiver is taken not to know them.
const MOST_SKIPS: u32 = 12;

/// A command that is sent instead of files. It is in the memory of the file name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order {
    len: usize,
    immediate: bool,
}

impl Core {
    pub(super) fn send_command(&mut self, len: usize, immediate: bool) {
        self.order = Some(Order { len, immediate });
    }

    /// The data bytes of ZRQINIT: whether a command will follow.
    pub(super) fn init_data(&self) -> u32 {
        let follows = self.order.map_or(0, |_| kind::ZCOMMAND);
        u32::from_le_bytes([0, 0, 0, follows])
    }

    /// Sends the command instead of the next file. False if there is none.
    pub(super) fn command_instead(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) -> bool {
        let instead = self.order.is_some();
        if instead {
            self.say_command(cx, mem, false);
        }
        instead
    }

    pub(super) fn say_command(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, again: bool) {
        let Some(Order { len, immediate, .. }) = self.order else { return };
        if !again {
            self.enter(cx, SenderInput::ReadyForCommand);
        }
        let mut text = [0; MAX_NAME];
        text[..len].copy_from_slice(&mem.name[..len]);
        let data = [0, 0, 0, if immediate { ZCACK1 } else { 0 }];
        let header = Header { kind: kind::ZCOMMAND, data, form: self.peer.form, variable: false };
        self.say_with_data(cx, mem, &header, &text[..len]);
        self.link.expect_answer(cx.now, again);
    }

    /// ZCOMPL: how the command ended.
    pub(super) fn completed(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, status: u32) {
        self.link.question = None;
        self.link.notes.push(QueuedEvent::Completed { status });
        self.enter(cx, SenderInput::Completed);
        self.say_finish(cx, mem, false);
    }

    /// The user cancels the current file.
    pub(super) fn give_up_file(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        match self.state {
            // Its answer is in flight: only then can it be cancelled at the receiver.
            Sending::File => self.unwanted = true,
            Sending::Data => self.leave(cx, mem),
            // It is complete at the receiver, or cancelled already.
            _ => {}
        }
    }

    pub(super) fn leave(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        self.link.notes.push(QueuedEvent::Cancelled { by_peer: false });
        self.flow_seek_is_void();
        self.say_skip(cx, mem, false);
    }

    /// ZSKIP from a sender: receivers derived from Omen's (and lrzsz 0.12.21) close the file as
    /// incomplete and are ready for the next.
    pub(super) fn say_skip(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, again: bool) {
        if again && self.link.question.is_some_and(|question| question.copies >= MOST_SKIPS) {
            self.link.take_message(b"(nothing: it does not let go of a single file)");
            return self.fail(cx, mem, Blame::Local, FailureKind::Aborted);
        }
        if !again {
            self.enter(cx, SenderInput::GivenUp);
        }
        if self.close_frame(cx, mem.out) {
            if self.take_cut() {
                self.link.say_bytes(cx, mem.out, AFTER_CUT);
            }
            self.link.say(cx, mem.out, &Header::hex(kind::ZSKIP, 0));
        }
        self.link.expect_answer(cx.now, again);
    }

    /// Ends the open frame of data with an empty subpacket: the receiver looks for a header then.
    /// False if there is no room yet.
    pub(super) fn close_frame(&mut self, cx: &Cx<'_>, out: &mut [u8]) -> bool {
        if !self.frame_is_open() {
            return true;
        }
        let Some(room) = self.link.output.room(out, subpacket_room(0)) else { return false };
        let form = if self.peer.rle { Form::Rle } else { self.peer.form };
        let (_, len) = put_subpacket(&mut self.link.escaper, form, &[], end::ZCRCE, room);
        self.link.queued(cx, len);
        self.frame_is_closed();
        true
    }

    /// The receiver has closed the cancelled file.
    pub(super) fn left(&mut self, cx: &mut Cx<'_>) {
        self.link.answered(cx.now);
        self.link.output.drop_unsent();
        self.enter(cx, SenderInput::Left);
        self.pending = PendingRequest::close(false);
    }
}
