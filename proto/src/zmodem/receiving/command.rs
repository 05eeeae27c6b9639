//! Commands for our operating system (xyzmodem.md §5.9). Nothing is run here: where the configuration
//! allows commands at all, the store is asked.

use super::{Core, Current, Expecting, Mem};
use crate::engine::{Cx, Outcome};
use crate::session::PendingRequest;
use crate::zmodem::config::Commands;
use crate::zmodem::packet::{Header, kind};

/// The status of a command that was refused.
const REFUSED: u32 = 1;
/// The status of a command that the store could not run; that of shells.
pub(super) const NOT_RUN: u32 = 126;

/// The state of the session's command. A session has at most one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Order {
    /// No command.
    None,
    /// It is acknowledged, and runs when the session is over (ZCACK1).
    Later(usize),
    /// Its status, or it will not be run.
    Over(u32),
}

/// The data after a header that announces a command.
pub(super) fn expected(header: &Header) -> Expecting {
    Expecting::Command { immediate: header.flag(0) & 1 != 0 }
}

impl Core {
    /// A command was received.
    pub(super) fn command_came(
        &mut self,
        cx: &mut Cx<'_>,
        mem: &mut Mem<'_>,
        len: usize,
        immediate: bool,
    ) {
        match self.order {
            Order::None => {}
            // A duplicate: our answer was lost. Nothing is run twice.
            Order::Later(_) => return self.say_completed(cx, mem, 0),
            Order::Over(status) => return self.say_completed(cx, mem, status),
        }
        let text = &self.sink.space(mem.file)[..len];
        let text = &text[..text.iter().position(|byte| *byte == 0).unwrap_or(len)];
        self.link.take_message(text);
        let fits = !text.is_empty() && text.len() <= mem.name.len();
        match self.link.config.commands {
            Commands::Run if fits => {
                self.file = Current::default();
                let len = text.len();
                mem.name[..len].copy_from_slice(text);
                if immediate {
                    self.order = Order::Later(len);
                    return self.say_completed(cx, mem, 0);
                }
                self.pending = PendingRequest::Run { len };
            }
            Commands::Announce => self.command_ended(cx, mem, 0),
            Commands::Refuse | Commands::Run => self.command_ended(cx, mem, REFUSED),
        }
    }

    /// The command has ended with this status.
    pub(super) fn command_ended(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, status: u32) {
        let late = matches!(self.order, Order::Later(_));
        self.order = Order::Over(status);
        // It took a while, during which no input was read.
        self.link.spoke = cx.now;
        if !late {
            self.say_completed(cx, mem, status);
        }
    }

    fn say_completed(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, status: u32) {
        self.link.say(cx, mem.out, &Header::hex(kind::ZCOMPL, status));
        self.link.expect_answer(cx.now, false);
    }

    /// After the last packet: runs the command that had to wait for it. True while that is asked.
    pub(super) fn run_at_the_end(&mut self, outcome: Outcome) -> bool {
        if let (Order::Later(len), Outcome::Done) = (self.order, outcome) {
            self.pending = PendingRequest::Run { len };
        }
        !self.pending.is_idle()
    }
}
