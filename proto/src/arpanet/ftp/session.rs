//! The server's process: it answers one user.

mod commands;

use super::data::{Incoming, Outgoing};
use super::text::{Lines, Say, Writer};
use super::{Dialect, Form, Mem, Options, Type};
use crate::arpanet::icp::{self, Icp, Pair};
use crate::arpanet::leader::Address;
use crate::arpanet::ncp::{Host, Id, State, Wanted};
use crate::engine::{Cx, Event};
use crate::file::{FileInfo, FileKind, Refusal, Reply, Request, StoreError, Wish};
use crate::stats::Stats;
use crate::time::Instant;
use core::fmt::{self, Write as _};

/// A server process's requests to its program, besides those to the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asked<'a> {
    /// A user has sent its name: [`Granted::Yes`], [`Granted::Password`] or no.
    User(&'a [u8]),
    /// And its password: yes or no.
    Password {
        /// The user.
        user: &'a [u8],
        /// The password.
        password: &'a [u8],
    },
    /// A file is to be retrieved: [`Granted::File`], read with [`Request::Read`] from then on, or no.
    Retrieve(&'a [u8]),
    /// The files of a directory, or what one is: the same, with the text as the file.
    List {
        /// The name, empty for all.
        name: &'a [u8],
        /// Names only.
        short: bool,
    },
}

/// Why something is not granted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Denial {
    /// There is none of this name: 450.
    NotFound,
    /// It is not allowed: 451.
    Access,
    /// The name cannot be one: 550.
    Name,
    /// No such user, or another password: 431.
    Login,
    /// The system failed: 455.
    System,
}

/// An answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Granted {
    /// Yes.
    Yes,
    /// The password is asked for.
    Password,
    /// The file, and its length in octets if that is known.
    File(Option<u64>),
    /// No.
    No(Denial),
}

/// What the process does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// The initial connection.
    Call,
    /// The next command.
    Ready,
    /// An answer of the program or the store to a command.
    Asked,
    /// The data connection.
    Opening,
    /// The file on its way.
    Data,
    /// The store's word at the end of a file.
    Close,
    /// All has been said; the connections are being closed.
    Bye,
    Over,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ask {
    Nothing,
    User,
    Password,
    Retrieve,
    List { short: bool },
    Offer,
    Read,
    Write(usize),
    Close { complete: bool },
}

/// The result of the current file for its user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Whole,
    Incomplete,
    Aborted,
    Full,
    Failed,
}

/// Events for the program's user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum QueuedEvent {
    Started,
    Done(u64),
    Refused(Refusal),
    Cancelled,
}

const NOTES: usize = 8;

/// A server's process with one user. Its memory is lent at every call; it lives on a host's NCP.
#[derive(Debug)]
pub(crate) struct Session {
    options: Options,
    stage: Stage,
    icp: Option<Icp>,
    pair: Option<Pair>,
    /// The first of its sockets.
    socket: u32,
    lines: Lines,
    say: Say,
    form: Form,
    user: super::Text<64>,
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
    ask: Ask,
    notes: [Option<QueuedEvent>; NOTES],
    until: Option<Instant>,
    /// Octets that the store gave or took, and bits of the connection that waited, when that was said.
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
            icp: Some(icp),
            pair: None,
            socket,
            lines: Lines::default(),
            say: Say::default(),
            form,
            user: super::Text::EMPTY,
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
            ask: Ask::Nothing,
            notes: [None; NOTES],
            until,
            progress: (0, 0),
            stats: Stats::default(),
        })
    }

    /// Whether the user has disconnected, and nothing is left to do.
    pub(crate) fn is_over(&self) -> bool {
        self.stage == Stage::Over && self.ask == Ask::Nothing
    }

    /// The user's host.
    pub(crate) fn with(&self) -> Option<Address> {
        self.pair.map(|pair| pair.with)
    }

    fn note(&mut self, note: QueuedEvent) {
        if let Some(place) = self.notes.iter_mut().find(|place| place.is_none()) {
            *place = Some(note);
        }
    }

    /// Says a reply of one line.
    fn reply_line(&mut self, mem: &mut Mem<'_>, number: u16, text: &dyn fmt::Display) {
        let mut line = [0; 256];
        let mut writer = Writer { octets: &mut line, len: 0 };
        let _ = write!(writer, "{number:03} {text}");
        let len = writer.len.min(250);
        self.say.put(mem.say, &line[..len]);
        self.say.put(mem.say, b"\r\n");
    }

    /// Says a reply of several lines.
    fn reply_lines(&mut self, mem: &mut Mem<'_>, number: u16, lines: &[&dyn fmt::Display]) {
        let last = lines.len() - 1;
        for (index, text) in lines.iter().enumerate() {
            let mut line = [0; 200];
            let mut writer = Writer { octets: &mut line, len: 0 };
            let _ = match (self.options.dialect, index) {
                (Dialect::Rfc542, 0) if last > 0 => write!(writer, "{number:03}-{text}"),
                (Dialect::Rfc542, _) if index == last => write!(writer, "{number:03} {text}"),
                (Dialect::Rfc542, _) => write!(writer, " {text}"),
                (Dialect::Rfc354, 0) => write!(writer, "{number:03} {text}"),
                (Dialect::Rfc354, _) => write!(writer, "   {text}"),
            };
            let len = writer.len;
            self.say.put(mem.say, &line[..len]);
            self.say.put(mem.say, b"\r\n");
        }
    }

    /// Makes all possible progress.
    pub(crate) fn pump(&mut self, cx: &mut Cx<'_>, host: &mut Host<'_>, mem: &mut Mem<'_>) {
        if let Some(mut icp) = self.icp {
            match icp.turn(host, cx) {
                Ok(None) => self.icp = Some(icp),
                Ok(Some(pair)) => {
                    (self.icp, self.pair, self.stage) = (None, Some(pair), Stage::Ready);
                    self.reply_line(mem, 300, &"Wetstring file transfer, at your service");
                    self.stir(cx);
                }
                Err(_) => {
                    self.icp = None;
                    self.hang_up(host);
                }
            }
        }
        let Some(pair) = self.pair else { return };
        self.converse(cx, host, mem, pair);
        self.carry(cx, host, mem, pair);
        self.say.flush(host, pair.to, mem.say);
        let gone = [pair.from, pair.to].iter().any(|id| !matches!(host.state(*id), State::Open));
        let said = self.stage == Stage::Bye && self.say.is_empty();
        if self.stage != Stage::Over && (gone || said) {
            if self.stage != Stage::Bye {
                self.stop(host, Verdict::Aborted);
            }
            self.hang_up(host);
        }
    }

    /// Something has happened.
    fn stir(&mut self, cx: &Cx<'_>) {
        self.until = Some(cx.now + self.options.timeout.get());
    }

    fn hang_up(&mut self, host: &mut Host<'_>) {
        if let Some(pair) = self.pair {
            host.release(pair.to);
            host.release(pair.from);
        }
        if let Some(id) = self.data.take() {
            host.release(id);
        }
        host.deafen(self.socket, self.socket + icp::SOCKETS - 1);
        self.stage = Stage::Over;
        self.until = None;
        self.ask = if self.open { Ask::Close { complete: false } } else { Ask::Nothing };
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

    /// Opens the data connection.
    fn connect(&mut self, cx: &mut Cx<'_>, host: &mut Host<'_>, mem: &mut Mem<'_>) {
        let Some(pair) = self.pair else { return };
        let wanted = if self.sends {
            let theirs = self.data_socket.unwrap_or(pair.theirs.wrapping_add(4));
            Wanted::new(pair.ours + 3, theirs).size(self.form.byte).bulk()
        } else {
            Wanted::new(pair.ours + 2, self.data_socket.unwrap_or(pair.theirs.wrapping_add(5)))
        };
        if self.options.dialect == Dialect::Rfc354 {
            self.reply_line(mem, 255, &format_args!("SOCK {}", wanted.local));
        }
        self.verdict = Verdict::Whole;
        self.data = host.open(cx, pair.with, wanted).ok();
        self.stage = Stage::Opening;
        self.stir(cx);
    }

    fn carry(&mut self, cx: &mut Cx<'_>, host: &mut Host<'_>, mem: &mut Mem<'_>, pair: Pair) {
        let _ = pair;
        if self.stage == Stage::Opening {
            let state = self.data.map(|id| host.state(id));
            match state {
                Some(State::Opening) => return,
                Some(State::Open | State::Ended) => {
                    let size = self.data.map_or(0, |id| host.size(id));
                    let agreed = self.form.byte;
                    if size != agreed {
                        let say = format_args!("expected bytes of {agreed} bits, got {size}");
                        return self.no_data(host, mem, 457, &say);
                    }
                    self.begin(mem);
                }
                Some(State::Failed(_)) | None => {
                    return self.no_data(host, mem, 454, &"cannot connect to your data socket");
                }
            }
        }
        let Some(id) = self.data.filter(|_| self.stage == Stage::Data) else { return };
        let failed = matches!(host.state(id), State::Failed(_));
        // What the store gave or took, and what got its RFNM or came, since the last time.
        let moved = self.progress != (self.stats.file_bytes, host.queued(id));
        let over = if self.sends {
            self.outgoing.pump(host, id, mem.file);
            let waiting = self.outgoing.waiting(host, id);
            self.stats.current_acked_bytes =
                Some(self.stats.current_file_bytes.saturating_sub(waiting));
            if self.outgoing.done {
                host.close(id);
            } else if self.outgoing.wants() && self.ask == Ask::Nothing && !failed {
                self.ask = Ask::Read;
            }
            self.outgoing.done && host.state(id) == State::Ended
        } else {
            self.incoming.pump(host, id, mem.file);
            let ready = self.incoming.ready(mem.file);
            if ready > 0 && self.ask == Ask::Nothing {
                self.ask = Ask::Write(ready);
            }
            self.incoming.is_over() && self.ask == Ask::Nothing
        };
        self.progress = (self.stats.file_bytes, host.queued(id));
        if moved {
            self.stir(cx);
        }
        if over || failed && !matches!(self.ask, Ask::Write(_)) {
            let whole =
                over && (self.sends || self.incoming.is_whole() && !self.incoming.differs());
            let verdict = if whole { Verdict::Whole } else { Verdict::Incomplete };
            self.stop(host, verdict);
        }
    }

    /// The data connection is there.
    fn begin(&mut self, mem: &mut Mem<'_>) {
        match self.size.filter(|_| self.sends && self.form.kind != Type::Ascii) {
            Some(size) => {
                let left = size.saturating_sub(self.rest);
                self.reply_line(mem, 250, &format_args!("file transfer started ({left} octets)"));
            }
            None => self.reply_line(mem, 250, &"file transfer started"),
        }
        self.outgoing = Outgoing::new(self.form, self.rest);
        self.incoming = Incoming::new(self.form, self.announced.filter(|_| !self.sends));
        (self.rest, self.announced) = (0, None);
        self.stage = Stage::Data;
        self.stats.current_file_bytes = 0;
        self.stats.current_acked_bytes = None;
        self.note(QueuedEvent::Started);
    }

    /// The data connection is none that a file can go over.
    fn no_data(
        &mut self,
        host: &mut Host<'_>,
        mem: &mut Mem<'_>,
        number: u16,
        why: &dyn fmt::Display,
    ) {
        self.drop_data(host);
        self.reply_line(mem, number, why);
        self.over(false);
    }

    fn drop_data(&mut self, host: &mut Host<'_>) {
        if let Some(id) = self.data.take() {
            host.release(id);
        }
    }

    /// The file is at its end, or at ours.
    fn stop(&mut self, host: &mut Host<'_>, verdict: Verdict) {
        if !matches!(self.stage, Stage::Opening | Stage::Data) {
            return;
        }
        if verdict != Verdict::Whole
            && let Some(id) = self.data
        {
            host.abort(id);
        }
        self.drop_data(host);
        self.verdict = verdict;
        self.over(verdict == Verdict::Whole);
    }

    fn over(&mut self, complete: bool) {
        if self.open {
            self.ask = Ask::Close { complete };
            self.stage = Stage::Close;
        } else {
            self.ask = Ask::Nothing;
            self.stage = Stage::Ready;
        }
    }

    /// What is wanted of the program, if anything is.
    pub(crate) fn asked<'a>(&'a self, line: &'a [u8]) -> Option<Asked<'a>> {
        let argument = &line[self.argument.0..self.argument.1];
        Some(match self.ask {
            Ask::User => Asked::User(argument),
            Ask::Password => Asked::Password { user: self.user.as_bytes(), password: argument },
            Ask::Retrieve => Asked::Retrieve(argument),
            Ask::List { short } => Asked::List { name: argument, short },
            _ => return None,
        })
    }

    /// The program's answer.
    pub(crate) fn grant(
        &mut self,
        cx: &mut Cx<'_>,
        host: &mut Host<'_>,
        mem: &mut Mem<'_>,
        granted: Granted,
    ) {
        let ask = self.ask;
        if !matches!(ask, Ask::User | Ask::Password | Ask::Retrieve | Ask::List { .. }) {
            return;
        }
        self.ask = Ask::Nothing;
        self.stage = Stage::Ready;
        match (ask, granted) {
            (Ask::User | Ask::Password, Granted::Yes) => {
                self.logged_in = true;
                self.reply_line(mem, 230, &"user is logged in");
            }
            (Ask::User, Granted::Password) => self.reply_line(mem, 330, &"enter password"),
            (Ask::Retrieve | Ask::List { .. }, Granted::File(size)) => {
                (self.size, self.open, self.sends) = (size, true, true);
                self.connect(cx, host, mem);
            }
            (_, Granted::No(denial)) => {
                let (number, text) = match denial {
                    Denial::NotFound => (450, "file not found"),
                    Denial::Access => (451, "file access denied to you"),
                    Denial::Name => (550, "bad pathname"),
                    Denial::Login => (431, "user or password invalid"),
                    Denial::System => (455, "file system error"),
                };
                self.reply_line(mem, number, &text);
            }
            _ => self.reply_line(mem, 455, &"file system error"),
        }
    }

    /// What is wanted of the store, if anything is.
    pub(crate) fn request<'a>(
        &'a mut self,
        file: &'a mut [u8],
        name: &'a [u8],
    ) -> Option<Request<'a>> {
        match self.ask {
            Ask::Offer => Some(Request::Offer { info: self.info(name) }),
            Ask::Read => {
                let offset = self.outgoing.offset;
                Some(Request::Read { offset, into: self.outgoing.lend(file) })
            }
            Ask::Write(len) => {
                let offset = self.incoming.offset;
                Some(Request::Write { offset, bytes: self.incoming.lend(file, len) })
            }
            Ask::Close { complete } => Some(Request::Close { complete, verified: false }),
            Ask::Nothing | Ask::User | Ask::Password | Ask::Retrieve | Ask::List { .. } => None,
        }
    }

    fn info<'a>(&self, name: &'a [u8]) -> FileInfo<'a> {
        let kind = if self.form.kind == Type::Ascii { FileKind::Text } else { FileKind::Binary };
        let wish = if self.append { Wish::Append } else { Wish::Unsaid };
        let size = if self.sends { self.size } else { self.announced };
        FileInfo { name: &name[..self.name_len], size, kind, wish, ..FileInfo::default() }
    }

    /// The store's reply.
    pub(crate) fn reply(
        &mut self,
        cx: &mut Cx<'_>,
        host: &mut Host<'_>,
        mem: &mut Mem<'_>,
        reply: Reply<'_>,
    ) {
        let ask = self.ask;
        if !matches!(ask, Ask::Offer | Ask::Read | Ask::Write(_) | Ask::Close { .. }) {
            return;
        }
        self.ask = Ask::Nothing;
        match (ask, reply) {
            (Ask::Offer, Reply::Accept { offset: 0 }) => {
                (self.open, self.sends) = (true, false);
                self.connect(cx, host, mem);
            }
            (Ask::Offer, Reply::Refuse(why)) => {
                self.stage = Stage::Ready;
                self.note(QueuedEvent::Refused(why));
                self.stats.files_skipped += 1;
                let number = match why {
                    Refusal::NoSpace | Refusal::TooLong => 453,
                    Refusal::Name => 550,
                    _ => 451,
                };
                let text = if why == Refusal::Declined {
                    "no files are stored here"
                } else {
                    why.as_str()
                };
                self.reply_line(mem, number, &text);
            }
            (Ask::Offer, _) => {
                self.stage = Stage::Ready;
                self.reply_line(mem, 455, &"file system error");
            }
            (Ask::Read, Reply::Read(len)) => {
                self.outgoing.filled(mem.file, len);
                self.stats.file_bytes += len as u64;
                self.stats.current_file_bytes += len as u64;
            }
            (Ask::Write(len), Reply::Done) => {
                self.incoming.stored(len);
                self.stats.file_bytes += len as u64;
                self.stats.current_file_bytes += len as u64;
            }
            (Ask::Close { complete }, answer) => {
                self.open = false;
                self.closed(mem, complete && answer == Reply::Done, answer);
            }
            (_, Reply::Failed(StoreError::NoSpace)) => self.stop(host, Verdict::Full),
            _ => self.stop(host, Verdict::Failed),
        }
    }

    /// The file is in its place, or it is not.
    fn closed(&mut self, mem: &mut Mem<'_>, complete: bool, answer: Reply<'_>) {
        let size = if self.sends { self.outgoing.offset } else { self.incoming.offset };
        if complete {
            self.stats.files_done += 1;
            self.note(QueuedEvent::Done(size));
        } else {
            self.stats.files_skipped += 1;
            self.note(QueuedEvent::Cancelled);
        }
        if self.stage == Stage::Over {
            return;
        }
        self.stage = Stage::Ready;
        let done = if self.options.dialect == Dialect::Rfc542 { 257 } else { 252 };
        match self.verdict {
            Verdict::Whole if complete => {
                self.reply_line(mem, done, &format_args!("transfer completed, {size} octets"));
            }
            Verdict::Aborted => self.reply_line(mem, 201, &"the transfer has been aborted"),
            Verdict::Full => self.reply_line(mem, 453, &"insufficient storage space"),
            _ if answer == Reply::Failed(StoreError::NoSpace) => {
                self.reply_line(mem, 453, &"insufficient storage space");
            }
            Verdict::Incomplete => self.reply_line(mem, 452, &"file transfer incomplete"),
            Verdict::Whole | Verdict::Failed => self.reply_line(mem, 455, &"file system error"),
        }
    }

    /// The next event for the program's user.
    pub(crate) fn event<'a>(&'a mut self, name: &'a [u8]) -> Option<Event<'a>> {
        let note = self.notes[0].take()?;
        self.notes.rotate_left(1);
        Some(match note {
            QueuedEvent::Started => Event::FileStarted { info: self.info(name), offset: 0 },
            QueuedEvent::Done(size) => Event::FileDone { size, verified: false },
            QueuedEvent::Refused(why) => {
                let name = self.info(name).name;
                Event::FileRefused { name, why: Some(why), by_peer: false }
            }
            QueuedEvent::Cancelled => Event::FileCancelled { by_peer: true },
        })
    }

    /// Lets time pass.
    pub(crate) fn tick(&mut self, cx: &mut Cx<'_>, host: &mut Host<'_>) {
        if self.until.is_some_and(|until| until <= cx.now) {
            self.stats.timeouts += 1;
            self.stop(host, Verdict::Aborted);
            if let Some(icp) = self.icp.take() {
                icp.abort(host);
            }
            self.hang_up(host);
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
