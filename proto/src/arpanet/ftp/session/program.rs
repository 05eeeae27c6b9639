//! What the server's process asks of its program: who may come in, and which files there are.

use super::super::Mem;
use super::{Input, Session};
use crate::arpanet::ncp::Host;
use crate::engine::Cx;

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
    /// A file is to be retrieved: [`Granted::File`], read with [`Request::Read`](crate::file::Request::Read) from then on, or no.
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

/// The open question. Where its argument stands in the line, the process knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Question {
    User,
    Password,
    Retrieve,
    List { short: bool },
}

impl Session {
    /// The pending question to the program, if any.
    pub(crate) fn asked<'a>(&'a self, line: &'a [u8]) -> Option<Asked<'a>> {
        let argument = &line[self.argument.0..self.argument.1];
        Some(match self.question? {
            Question::User => Asked::User(argument),
            Question::Password => {
                Asked::Password { user: self.user.as_bytes(), password: argument }
            }
            Question::Retrieve => Asked::Retrieve(argument),
            Question::List { short } => Asked::List { name: argument, short },
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
        let Some(question) = self.question.take() else { return };
        if let (Question::Retrieve | Question::List { .. }, Granted::File(size)) =
            (question, granted)
        {
            self.size = size;
            self.open = true;
            self.sends = true;
            return self.connect(cx, host, mem);
        }
        self.enter(cx, Input::Answered);
        match (question, granted) {
            (Question::User | Question::Password, Granted::Yes) => {
                self.logged_in = true;
                self.reply_line(mem, 230, &"user is logged in");
            }
            (Question::User, Granted::Password) => self.reply_line(mem, 330, &"enter password"),
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
}
