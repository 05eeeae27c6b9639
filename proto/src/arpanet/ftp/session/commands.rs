//! What the server's process makes of each command.

use super::super::command::{Command, WORDS};
use super::{Cx, Form, Host, Input, Mem, PendingRequest, Question, Session, Stage, Verdict};
use core::fmt;

impl Session {
    /// A line of the user.
    pub(super) fn obey(
        &mut self,
        cx: &mut Cx<'_>,
        host: &mut Host<'_>,
        mem: &mut Mem<'_>,
        len: usize,
    ) {
        let mut copy = [0; super::super::LINE];
        let line = &mut copy[..len];
        line.copy_from_slice(&mem.line[..len]);
        let line = &*line;
        let command = match Command::parse(line) {
            Ok(command) => command,
            Err(bad) => return self.reply_line(mem, bad.number(), &bad.as_str()),
        };
        let busy = matches!(self.stage, Stage::Opening | Stage::Data);
        match command {
            // The reply follows when the store has closed the file.
            Command::Abor if busy => self.stop(cx, host, Verdict::Aborted),
            Command::Abor => self.reply_line(mem, 202, &"nothing to abort"),
            Command::Stat => self.status(mem),
            Command::Noop => self.reply_line(mem, 200, &"nothing done"),
            Command::Help => self.reply_lines(
                mem,
                50,
                &[
                    &"the commands that are done:",
                    &WORDS,
                    &"BYTE 1 to 255, MODE S B, STRU F R, TYPE A I L",
                ],
            ),
            _ if busy => self.reply_line(mem, 504, &"a file is on its way"),
            Command::User(name) => self.login(cx, mem, line, name, Question::User),
            Command::Pass(_) if self.user.as_bytes().is_empty() => {
                self.reply_line(mem, 504, &"expected USER before PASS");
            }
            Command::Pass(password) => self.login(cx, mem, line, password, Question::Password),
            Command::Acct(_) => self.reply_line(mem, 200, &"no account is needed"),
            Command::Bye => {
                self.reply_line(mem, 231, &"logged out");
                self.enter(cx, Input::LoggedOut);
            }
            Command::Rein => {
                self.logged_in = false;
                self.form = Form::default();
                self.data_socket = None;
                self.user = super::super::Argument::EMPTY;
                self.reply_line(mem, 233, &"logged out, parameters as at first");
                self.reply_line(mem, 300, &"at your service");
            }
            Command::Type(kind) => self.parameter(mem, Form { kind, ..self.form }),
            Command::Byte(byte) => self.parameter(mem, Form { byte, ..self.form }),
            Command::Mode(mode) => self.parameter(mem, Form { mode, ..self.form }),
            Command::Structure(structure) => self.parameter(mem, Form { structure, ..self.form }),
            _ if !self.logged_in => self.reply_line(mem, 332, &"login first, please"),
            command => self.serve(cx, mem, line, command),
        }
    }

    /// A command of a user who is logged in.
    fn serve(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, line: &[u8], command: Command<'_>) {
        match command {
            Command::Sock(host_number, socket) => self.socket(mem, host_number, socket),
            Command::Allo(octets) => {
                self.announced = Some(octets);
                self.reply_line(mem, 200, &"noted");
            }
            Command::Rest(offset) => {
                self.rest = offset;
                self.reply_line(mem, 200, &format_args!("the next RETR begins at octet {offset}"));
            }
            Command::Retr(name) => self.file(cx, mem, line, name, Question::Retrieve),
            Command::List(name) => self.file(cx, mem, line, name, Question::List { short: false }),
            Command::Nlst(name) => self.file(cx, mem, line, name, Question::List { short: true }),
            Command::Stor(_) | Command::Appe(_) if self.rest > 0 => {
                self.rest = 0;
                self.reply_line(mem, 504, &"REST is done for RETR only");
            }
            Command::Stor(name) => self.store(cx, mem, name, false),
            Command::Appe(name) => self.store(cx, mem, name, true),
            _ => self.reply_line(mem, 500, &"expected another command"),
        }
    }

    /// Asks the program, and remembers where in the line the argument stands.
    fn inquire(&mut self, cx: &mut Cx<'_>, line: &[u8], argument: &[u8], question: Question) {
        let from = line.trim_ascii_end().len() - argument.len();
        let from = if argument.is_empty() { 0 } else { from };
        self.argument = (from, from + argument.len());
        self.question = Some(question);
        self.enter(cx, Input::Ask);
    }

    fn login(
        &mut self,
        cx: &mut Cx<'_>,
        mem: &mut Mem<'_>,
        line: &[u8],
        argument: &[u8],
        question: Question,
    ) {
        if question == Question::User {
            self.logged_in = false;
            match super::super::Argument::new(argument) {
                Some(user) => self.user = user,
                None => return self.reply_line(mem, 501, &"expected a shorter name"),
            }
        }
        self.inquire(cx, line, argument, question);
    }

    fn parameter(&mut self, mem: &mut Mem<'_>, form: Form) {
        // TYPE A and BYTE 36 may come in any order: what is asked for together is judged with the file.
        self.form = form;
        self.reply_line(mem, 200, &"noted");
    }

    fn socket(&mut self, mem: &mut Mem<'_>, number: Option<u8>, socket: u32) {
        let own = self.pair.and_then(|pair| pair.with.octet());
        if number.is_some() && number != own {
            return self.reply_line(mem, 504, &"a third host is not served");
        }
        self.data_socket = Some(socket);
        self.reply_line(mem, 200, &"noted");
    }

    fn is_possible(&mut self, mem: &mut Mem<'_>, sends: bool) -> bool {
        let odd = !sends;
        if !self.form.is_possible() {
            self.reply_line(mem, 457, &"lines and records go in bytes of 8 bits");
            return false;
        }
        if self.data_socket.is_some_and(|socket| (socket % 2 == 1) != odd) {
            self.reply_line(mem, 457, &"the data socket is one for the other direction");
            return false;
        }
        true
    }

    fn file(
        &mut self,
        cx: &mut Cx<'_>,
        mem: &mut Mem<'_>,
        line: &[u8],
        name: &[u8],
        question: Question,
    ) {
        if self.is_possible(mem, true) && self.keep(mem, name) {
            self.sends = true;
            self.inquire(cx, line, name, question);
        }
    }

    fn store(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, name: &[u8], append: bool) {
        if self.is_possible(mem, false) && self.keep(mem, name) {
            self.append = append;
            self.sends = false;
            self.pending = PendingRequest::Offer;
            self.enter(cx, Input::Ask);
        }
    }

    fn keep(&mut self, mem: &mut Mem<'_>, name: &[u8]) -> bool {
        let Some(room) = mem.name.get_mut(..name.len()) else {
            self.reply_line(mem, 550, &"the name is too long");
            return false;
        };
        room.copy_from_slice(name);
        self.name_len = name.len();
        true
    }

    fn status(&mut self, mem: &mut Mem<'_>) {
        let Form { kind, byte, mode, structure } = self.form;
        let busy = matches!(self.stage, Stage::Opening | Stage::Data);
        let number = if busy { 110 } else { 100 };
        let octets = if self.sends { self.outgoing.offset } else { self.incoming.offset };
        let lines: [&dyn fmt::Display; 3] = [
            &"Wetstring file transfer",
            &format_args!("type {kind:?}, byte {byte}, mode {mode:?}, structure {structure:?}"),
            if busy { &format_args!("{octets} octets so far") } else { &"no file is on its way" },
        ];
        self.reply_lines(mem, number, &lines);
    }
}
