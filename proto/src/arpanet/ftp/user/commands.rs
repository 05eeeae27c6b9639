//! The commands of the user's process, and its handling of replies.

use super::super::reply::{Line, octets};
use super::{
    Current, Cx, FailureKind, FileInfo, Host, Incoming, Input, Mem, Mode, Outcome, Outgoing,
    PendingRequest, QueuedEvent, Refusal, Stage, Structure, Type, User, Wanted,
};
use crate::arpanet::ncp::Id;
use crate::engine::Blame;
use crate::session::Text;
use crate::trace::TraceEvent;

impl User {
    /// Sends a command.
    fn command_line(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, words: &[&[u8]]) {
        for (index, word) in words.iter().enumerate() {
            if index > 0 {
                self.say.put(mem.say, b" ");
            }
            self.say.put(mem.say, word);
        }
        self.say.put(mem.say, b"\r\n");
        // Passwords are never traced.
        if cx.trace.enabled() && words.first() != Some(&&b"PASS"[..]) {
            for text in words {
                cx.trace.record(cx.now, &TraceEvent::Text { name: "say", text });
            }
        }
    }

    fn number(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, word: &[u8], number: u64) {
        let mut digits = Text::<20>::new();
        digits.of(&number);
        self.command_line(cx, mem, &[word, digits.as_bytes()]);
    }

    /// A line of the server.
    pub(super) fn heard(
        &mut self,
        cx: &mut Cx<'_>,
        host: &mut Host<'_>,
        mem: &mut Mem<'_>,
        len: usize,
    ) {
        let (line, rest) = self.replies.line(&mem.line[..len]);
        if cx.trace.enabled() {
            cx.trace.record(cx.now, &TraceEvent::Text { name: "reply", text: &mem.line[..len] });
        }
        let Line::Reply(number) = line else { return };
        let size = octets(rest);
        let socket = rest
            .split(|octet| !octet.is_ascii_digit())
            .find_map(|digits| core::str::from_utf8(digits).ok()?.parse::<u32>().ok());
        let said = &mem.line[..len];
        let bad = matches!(number / 100, 4 | 5);
        if bad {
            self.message_len = said.len().min(mem.message.len());
            mem.message[..self.message_len].copy_from_slice(&said[..self.message_len]);
            self.events.push(QueuedEvent::Message);
        }
        match number {
            0..100 | 100..200 | 251 | 301 => {}
            255 => socket.into_iter().for_each(|socket| self.data_socket(cx, host, socket)),
            _ => self.replied(cx, host, mem, number, size),
        }
    }

    fn replied(
        &mut self,
        cx: &mut Cx<'_>,
        host: &mut Host<'_>,
        mem: &mut Mem<'_>,
        number: u16,
        size: Option<u64>,
    ) {
        let good = number / 100 == 2;
        match (self.stage, number) {
            (Stage::Greeting, 200..=300) => {
                let user = self.options.user;
                self.command_line(cx, mem, &[b"USER", user.as_bytes()]);
                self.enter(cx, Input::Greeted);
            }
            (Stage::User, 330) => {
                let password = self.options.password;
                self.command_line(cx, mem, &[b"PASS", password.as_bytes()]);
                self.enter(cx, Input::Password);
            }
            (Stage::User | Stage::Pass, 331 | 433) => {
                let account = self.options.account;
                self.command_line(cx, mem, &[b"ACCT", account.as_bytes()]);
                self.enter(cx, Input::Account);
            }
            (Stage::User | Stage::Pass | Stage::Acct, 200..300) => self.say_type(cx, mem),
            (Stage::Type, _) if good => {
                self.number(cx, mem, b"BYTE", u64::from(self.form().byte));
                self.enter(cx, Input::Good);
            }
            (Stage::Byte, _) if good => {
                let mode = if self.form().mode == Mode::Block { b"B" } else { b"S" };
                self.command_line(cx, mem, &[b"MODE", mode]);
                self.enter(cx, Input::Good);
            }
            (Stage::Mode, _) if good => {
                let structure =
                    if self.form().structure == Structure::Record { b"R" } else { b"F" };
                self.command_line(cx, mem, &[b"STRU", structure]);
                self.enter(cx, Input::Good);
            }
            (Stage::Structure, _) if good => self.next(cx, host, mem),
            (Stage::Type | Stage::Byte | Stage::Mode | Stage::Structure, _) => {
                self.fail(cx, host, Blame::Peer, FailureKind::Unsupported);
            }
            // A server that does not need to know does not know the word.
            (Stage::Allo, _) => self.start(cx, host, mem),
            (Stage::Start, 250) => self.started(cx, size),
            (Stage::Start, 400..600) => self.turned_down(cx, host, mem, number),
            (Stage::Offer | Stage::Data | Stage::Result, 200..600) => {
                self.result = Some(number);
                self.file_over(cx, host, mem);
            }
            (Stage::Bye, 200..600) => self.end(cx, host, Outcome::Done),
            (_, 400..600) => self.fail(cx, host, Blame::Peer, FailureKind::PeerError),
            _ => {}
        }
    }

    /// The server does not take the file, or does not have it.
    fn turned_down(
        &mut self,
        cx: &mut Cx<'_>,
        host: &mut Host<'_>,
        mem: &mut Mem<'_>,
        number: u16,
    ) {
        if let Some(id) = self.data.take() {
            host.abort(id);
            host.release(id);
        }
        let why = (number == 453).then_some(Refusal::NoSpace);
        self.events.push(QueuedEvent::Refused { why, by_peer: true });
        self.stats.files_skipped += 1;
        if self.puts {
            self.pending = PendingRequest::close(false);
            self.enter(cx, Input::Refused);
        } else {
            self.next(cx, host, mem);
        }
    }

    fn say_type(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        match self.form().kind {
            Type::Ascii => self.command_line(cx, mem, &[b"TYPE", b"A"]),
            Type::Image => self.command_line(cx, mem, &[b"TYPE", b"I"]),
            Type::Local(size) => self.number(cx, mem, b"TYPE L", u64::from(size)),
        }
        self.enter(cx, Input::LoggedIn);
    }

    /// The next file, or the end.
    pub(super) fn next(&mut self, cx: &mut Cx<'_>, host: &mut Host<'_>, mem: &mut Mem<'_>) {
        if self.puts && !self.exhausted {
            self.pending = PendingRequest::Next;
            self.enter(cx, Input::Ready);
            return;
        }
        if !self.puts && self.wanted > 0 {
            // The names are after each other, each with a zero.
            let names = &mut mem.names[..self.wanted];
            let len = names.iter().position(|octet| *octet == 0).unwrap_or(0);
            let kept = len.min(mem.name.len());
            mem.name[..kept].copy_from_slice(&names[..kept]);
            names.copy_within(len + 1.., 0);
            self.wanted -= len + 1;
            self.file = Current { name_len: kept, ..Current::NONE };
            return self.start(cx, host, mem);
        }
        self.command_line(cx, mem, &[b"BYE"]);
        self.enter(cx, Input::NoMoreFiles);
    }

    /// A file of the store.
    pub(super) fn file_given(
        &mut self,
        cx: &mut Cx<'_>,
        host: &mut Host<'_>,
        mem: &mut Mem<'_>,
        info: &FileInfo<'_>,
    ) {
        let FileInfo { size, modified, mode, .. } = *info;
        self.file = Current { name_len: 0, size, modified, mode, open: true };
        let name = info.name;
        let good = !name.is_empty() && name.iter().all(|o| !matches!(o, b'\r' | b'\n' | 0 | 128..));
        let Some(room) = mem.name.get_mut(..name.len()).filter(|_| good) else {
            self.events.push(QueuedEvent::Refused { why: Some(Refusal::Name), by_peer: false });
            self.stats.files_skipped += 1;
            self.pending = PendingRequest::close(false);
            self.enter(cx, Input::Refused);
            return;
        };
        room.copy_from_slice(name);
        self.file.name_len = name.len();
        match size.filter(|_| self.form().kind != Type::Ascii) {
            Some(size) => {
                self.number(cx, mem, b"ALLO", size);
                self.enter(cx, Input::Allocate);
            }
            None => self.start(cx, host, mem),
        }
    }

    /// Sends the transfer command. The data connection is awaited before.
    fn start(&mut self, cx: &mut Cx<'_>, host: &mut Host<'_>, mem: &mut Mem<'_>) {
        self.result = None;
        self.broken = None;
        self.data_socket = None;
        self.data = self.await_data(cx, host);
        if self.data.is_none() {
            return self.fail(cx, host, Blame::Local, FailureKind::Unsupported);
        }
        let path = self.options.path;
        let (word, path): (&[u8], &[u8]) =
            if self.puts { (b"STOR ", path.as_bytes()) } else { (b"RETR ", b"") };
        let name = &mem.name[..self.file.name_len];
        let words = match path.last() {
            None => [word, name, b"\r\n"],
            Some(b'/' | b'>') => {
                self.say.put(mem.say, word);
                [path, name, b"\r\n"]
            }
            Some(_) => [word, path, b"\r\n"],
        };
        for word in words {
            self.say.put(mem.say, word);
        }
        self.enter(cx, Input::Start);
    }

    /// Listens for the server's request for the data connection.
    pub(super) fn await_data(&mut self, cx: &mut Cx<'_>, host: &mut Host<'_>) -> Option<Id> {
        let pair = self.pair?;
        let wanted = if self.puts {
            let theirs = self.data_socket.unwrap_or(pair.theirs.wrapping_add(2));
            Wanted::new(pair.ours + 5, theirs).size(self.form().byte).bulk().passive()
        } else {
            let theirs = self.data_socket.unwrap_or(pair.theirs.wrapping_add(3));
            Wanted::new(pair.ours + 4, theirs).passive()
        };
        host.open(cx, pair.with, wanted).ok()
    }

    /// The server has begun.
    fn started(&mut self, cx: &mut Cx<'_>, size: Option<u64>) {
        self.stats.current_file_bytes = 0;
        self.stats.current_acked_bytes = self.puts.then_some(0);
        if self.puts {
            self.outgoing = Outgoing::new(self.form(), 0);
            self.events.push(QueuedEvent::Started { offset: 0 });
            self.enter(cx, Input::Begun);
        } else {
            self.file.size = size;
            self.incoming = Incoming::new(self.form(), size);
            self.pending = PendingRequest::Offer;
            self.enter(cx, Input::Offered);
        }
    }

    /// The server's data socket is another one (RFC 354).
    fn data_socket(&mut self, cx: &mut Cx<'_>, host: &mut Host<'_>, socket: u32) {
        self.data_socket = Some(socket);
        if let Some(id) =
            self.data.filter(|id| self.stage == Stage::Start && host.foreign(*id) != Some(socket))
        {
            host.abort(id);
            host.release(id);
            self.data = self.await_data(cx, host);
        }
    }

    /// Once the data connection is closed and the second reply is here, the file is done or not.
    pub(super) fn file_over(&mut self, cx: &mut Cx<'_>, host: &mut Host<'_>, mem: &mut Mem<'_>) {
        if self.stage != Stage::Result {
            // The server has given up before the connection has ended.
            if self.stage == Stage::Data && self.result.is_some_and(|number| number >= 400) {
                if let Some(id) = self.data.take() {
                    host.abort(id);
                    host.release(id);
                }
                if matches!(self.pending, PendingRequest::Read | PendingRequest::Write) {
                    self.pending = PendingRequest::Nothing;
                }
                self.enter(cx, Input::DataOver);
            } else {
                return;
            }
        }
        let Some(number) = self.result else { return };
        let whole = matches!(number, 252 | 257) && (self.puts || self.incoming.is_whole());
        let differs = !self.puts && self.incoming.differs();
        if !self.file.open {
            return self.next(cx, host, mem);
        }
        // A server may take the end of a connection for that of the file.
        if let (true, Some(what)) = (whole, self.broken) {
            self.trouble(cx, host, mem, what);
        } else if whole && !differs {
            self.pending = PendingRequest::close(true);
            self.enter(cx, Input::Whole);
        } else {
            let kind = if differs { FailureKind::LengthDiffers } else { FailureKind::PeerError };
            self.fail(cx, host, Blame::Peer, kind);
        }
    }
}
