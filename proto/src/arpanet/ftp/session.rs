//! The server's process: it answers one user.

mod commands;
mod program;
mod transfer;

pub use program::{Asked, Denial, Granted};

use super::data::{Incoming, Outgoing};
use super::states::{ServerInput as Input, ServerStage as Stage};
use super::text::{Lines, Say};
use super::{Dialect, Form, Mem, Options};
use crate::arpanet::icp::{self, Icp, Pair};
use crate::arpanet::leader::Address;
use crate::arpanet::ncp::{Host, Id, State};
use crate::engine::{Cx, Event};
use crate::session::{self, EventQueue, EventTexts, PendingRequest, Text};
use crate::stats::Stats;
use crate::time::Instant;
use core::fmt;
use program::Question;

/// The result of the current file for its user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Whole,
    Incomplete,
    Aborted,
    Full,
    Failed,
}

/// A server's process with one user, on a host's NCP. Its memory is lent at every call.
#[derive(Debug)]
pub(crate) struct Session {
    options: Options,
    stage: Stage,
    /// The table of states has no edge for what happened.
    fault: bool,
    icp: Option<Icp>,
    pair: Option<Pair>,
    /// The first of its sockets.
    socket: u32,
    lines: Lines,
    say: Say,
    form: Form,
    user: super::Argument<64>,
    logged_in: bool,
    /// SOCK: what the user's data sockets are, if they are others.
    data_socket: Option<u32>,
    announced: Option<u64>,
    rest: u64,
    append: bool,
    /// The line that is asked about: where its argument stands.
    argument: (usize, usize),
    sends: bool,
    data: Option<Id>,
    outgoing: Outgoing,
    incoming: Incoming,
    verdict: Verdict,
    name_len: usize,
    size: Option<u64>,
    open: bool,
    /// What the program is asked.
    question: Option<Question>,
    /// What the store is asked.
    pending: PendingRequest,
    events: EventQueue,
    until: Option<Instant>,
    /// Octets that the store gave or took, and waiting bits of the connection, at the last trace.
    progress: (u64, usize),
    stats: Stats,
}

impl Session {
    /// A process that answers the oldest call at its server's socket, if there is one, with sockets from `socket` on, a
    /// multiple of 8.
    pub(crate) fn answer(
        options: Options,
        cx: &mut Cx<'_>,
        host: &mut Host<'_>,
        socket: u32,
    ) -> Option<Self> {
        let icp = Icp::answer(host, cx, options.server, socket)?.ok()?;
        let form = Form::default();
        let until = Some(cx.now + options.timeout.get());
        Some(Self {
            options,
            stage: Stage::Call,
            fault: false,
            icp: Some(icp),
            pair: None,
            socket,
            lines: Lines::default(),
            say: Say::default(),
            form,
            user: super::Argument::EMPTY,
            logged_in: false,
            data_socket: None,
            announced: None,
            rest: 0,
            append: false,
            argument: (0, 0),
            sends: false,
            data: None,
            outgoing: Outgoing::new(form, 0),
            incoming: Incoming::new(form, None),
            verdict: Verdict::Whole,
            name_len: 0,
            size: None,
            open: false,
            question: None,
            pending: PendingRequest::Nothing,
            events: EventQueue::new(),
            until,
            progress: (0, 0),
            stats: Stats::default(),
        })
    }

    /// Whether the user has disconnected, and nothing is left to do.
    pub(crate) fn is_over(&self) -> bool {
        self.stage == Stage::Over && self.pending.is_idle()
    }

    /// The user's host.
    pub(crate) fn with(&self) -> Option<Address> {
        self.pair.map(|pair| pair.with)
    }

    fn enter(&mut self, cx: &mut Cx<'_>, input: Input) {
        self.fault |= !session::enter(cx, &mut self.stage, input);
    }

    /// Says a reply of one line.
    fn reply_line(&mut self, mem: &mut Mem<'_>, number: u16, text: &dyn fmt::Display) {
        let mut line = Text::<250>::new();
        line.of(&format_args!("{number:03} {text}"));
        self.say_line(mem, line.as_bytes());
    }

    /// Says a reply of several lines.
    fn reply_lines(&mut self, mem: &mut Mem<'_>, number: u16, lines: &[&dyn fmt::Display]) {
        let last = lines.len() - 1;
        for (index, text) in lines.iter().enumerate() {
            let mut line = Text::<200>::new();
            match (self.options.dialect, index) {
                (Dialect::Rfc542, 0) if last > 0 => line.of(&format_args!("{number:03}-{text}")),
                (Dialect::Rfc542, _) if index == last => {
                    line.of(&format_args!("{number:03} {text}"))
                }
                (Dialect::Rfc542, _) => line.of(&format_args!(" {text}")),
                (Dialect::Rfc354, 0) => line.of(&format_args!("{number:03} {text}")),
                (Dialect::Rfc354, _) => line.of(&format_args!("   {text}")),
            };
            self.say_line(mem, line.as_bytes());
        }
    }

    fn say_line(&mut self, mem: &mut Mem<'_>, line: &[u8]) {
        self.say.put(mem.say, line);
        self.say.put(mem.say, b"\r\n");
    }

    /// Makes all possible progress.
    pub(crate) fn pump(&mut self, cx: &mut Cx<'_>, host: &mut Host<'_>, mem: &mut Mem<'_>) {
        if let Some(mut icp) = self.icp {
            match icp.turn(host, cx) {
                Ok(None) => self.icp = Some(icp),
                Ok(Some(pair)) => {
                    self.icp = None;
                    self.pair = Some(pair);
                    self.enter(cx, Input::Connected);
                    self.reply_line(mem, 300, &"Wetstring file transfer, at your service");
                    self.stir(cx);
                }
                Err(_) => {
                    self.icp = None;
                    self.hang_up(cx, host);
                }
            }
        }
        let Some(pair) = self.pair else { return };
        self.converse(cx, host, mem, pair);
        self.carry(cx, host, mem);
        self.say.flush(host, pair.to, mem.say);
        let gone = [pair.from, pair.to].iter().any(|id| !matches!(host.state(*id), State::Open));
        let said = self.stage == Stage::Bye && self.say.is_empty();
        let lost = core::mem::take(&mut self.fault);
        if self.stage != Stage::Over && (gone || said || lost) {
            if self.stage != Stage::Bye {
                self.stop(cx, host, Verdict::Aborted);
            }
            self.hang_up(cx, host);
        }
    }

    /// Something has happened.
    fn stir(&mut self, cx: &Cx<'_>) {
        self.until = Some(cx.now + self.options.timeout.get());
    }

    fn hang_up(&mut self, cx: &mut Cx<'_>, host: &mut Host<'_>) {
        if let Some(pair) = self.pair {
            host.release(pair.to);
            host.release(pair.from);
        }
        if let Some(id) = self.data.take() {
            host.release(id);
        }
        host.deafen(self.socket, self.socket + icp::SOCKETS - 1);
        self.enter(cx, Input::HungUp);
        self.until = None;
        self.question = None;
        self.pending =
            if self.open { PendingRequest::close(false) } else { PendingRequest::Nothing };
    }

    fn converse(&mut self, cx: &mut Cx<'_>, host: &mut Host<'_>, mem: &mut Mem<'_>, pair: Pair) {
        // A reply must fit before the next command is looked at.
        while !matches!(self.stage, Stage::Asked | Stage::Bye | Stage::Over | Stage::Close)
            && self.say.room(mem.say) >= 1024
        {
            let Some(len) = self.lines.next(host, pair.from, mem.line) else { return };
            self.stir(cx);
            self.obey(cx, host, mem, len);
        }
    }

    /// The next event for the program's user.
    pub(crate) fn event<'a>(&'a mut self, name: &'a [u8]) -> Option<Event<'a>> {
        let event = self.events.pop()?;
        Some(event.event(self.info(name), EventTexts::default()))
    }

    /// Lets time pass.
    pub(crate) fn tick(&mut self, cx: &mut Cx<'_>, host: &mut Host<'_>) {
        if self.until.is_some_and(|until| until <= cx.now) {
            self.stats.timeouts += 1;
            self.stop(cx, host, Verdict::Aborted);
            if let Some(icp) = self.icp.take() {
                icp.abort(host);
            }
            self.hang_up(cx, host);
        }
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.until
    }

    /// The counters so far.
    pub(crate) fn stats(&self) -> &Stats {
        &self.stats
    }
}
