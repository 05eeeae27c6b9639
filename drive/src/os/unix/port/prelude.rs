//! Output and questions of a command in a terminal before the protocol begins, such as `ssh` asking for a
//! password.
//!
//! ```text
//! command --> its terminal --> shown on stderr, until the protocol begins
//! keys ----> its terminal ---> command, whose own terminal echoes them or does not
//! ```
//!
//! The command's terminal starts in the usual mode, with line editing and echo. While the command asks for
//! something nothing of the protocol is written, which would be taken as the answer; at the first packet of the
//! protocol the terminal becomes raw.

use crate::event;
use std::io::Write as _;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::process::getpgrp;
use rustix::stdio::{stderr, stdin};
use rustix::termios::{LocalModes, isatty, tcgetattr, tcgetpgrp};
use std::time::{Duration, Instant};
use wetstring_proto::peer;

use crate::terminal::Restore;

/// How long a command may take to its first question before the protocol begins anyway.
const FIRST_QUESTION: Duration = Duration::from_secs(1);
/// The same for a program that calls another host, after each line typed: names are looked up and keys exchanged.
const FIRST_QUESTION_OF_A_CALL: Duration = Duration::from_secs(20);
/// Programs that call another host.
const CALLERS: [&str; 7] = ["ssh", "slogin", "sshpass", "plink", "telnet", "mosh", "dbclient"];
/// Length of the last line that is kept to detect a question.
const LINE: usize = 256;

/// A user at this process's terminal, whom a command may ask.
#[derive(Debug)]
pub(super) struct Prelude {
    /// Restores the user's terminal when dropped.
    keys: Option<Restore>,
    began: Instant,
    /// How long the next question may take to come.
    patience: Duration,
    /// The last line, as received so far.
    line: Vec<u8>,
    /// The text shown last does not end with a line end.
    in_line: bool,
    /// Bytes that may be the beginning of the protocol.
    tail: Vec<u8>,
    /// The command's terminal is raw.
    raw: bool,
    over: bool,
}

/// How long a command may take to its first question.
fn patience(command: &str) -> Duration {
    let word = |c: char| c.is_whitespace() || "'\"/;&|()".contains(c);
    let calls = command.split(word).any(|word| CALLERS.contains(&word));
    if calls { FIRST_QUESTION_OF_A_CALL } else { FIRST_QUESTION }
}

/// Whether a shell waits for a command: a call has come through.
fn is_prompt(line: &[u8]) -> bool {
    line.last().is_some_and(|last| b"$#%".contains(last))
}

/// Whether a user can be asked.
pub(super) fn has_user() -> bool {
    let in_front = || tcgetpgrp(stdin()).is_ok_and(|front| front == getpgrp());
    isatty(stdin()) && isatty(stderr()) && in_front()
}

impl Prelude {
    /// Takes over the keyboard for this command.
    pub(super) fn new(command: &str) -> Self {
        let keys = Restore::keys(stdin()).ok();
        let (began, patience) = (Instant::now(), patience(command));
        Self {
            keys,
            began,
            patience,
            line: Vec::new(),
            in_line: false,
            tail: Vec::new(),
            raw: false,
            over: false,
        }
    }

    /// The keyboard, while it is the command's.
    pub(super) fn keyboard(&self) -> Option<BorrowedFd<'static>> {
        (!self.over && self.keys.is_some()).then(stdin)
    }

    /// Passes on typed bytes.
    pub(super) fn type_to(&mut self, terminal: impl AsFd) {
        let Some(keyboard) = self.keyboard() else { return };
        if !event::is_readable(keyboard.into()) {
            return;
        }
        let mut typed = [0; 256];
        let len = rustix::io::read(keyboard, &mut typed).unwrap_or(0);
        if len == 0 {
            self.keys = None;
            return;
        }
        if typed[..len].contains(&b'\n') {
            // The question is answered.
            self.line.clear();
            self.began = Instant::now();
        }
        let _ = rustix::io::write(terminal, &typed[..len]);
    }

    /// Shows the command's output before the protocol.
    pub(super) fn says(&mut self, bytes: &[u8]) {
        if self.over {
            return;
        }
        let is_text = |byte: &u8| !matches!(*byte, 0..=6 | 14..=26 | 28..=31 | 0x7F);
        let text = bytes.iter().position(|byte| !is_text(byte)).unwrap_or(bytes.len());
        self.tail.extend_from_slice(bytes);
        let surplus = self.tail.len().saturating_sub(LINE);
        self.tail.drain(..surplus);
        if peer::recognise(&self.tail, 0).is_some() || peer::start_characters(bytes).is_some() {
            // The asterisks before a ZMODEM header are not text either, nor is what stands before them on the
            // line.
            let lines =
                bytes[..text].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            self.show(&bytes[..lines]);
            if self.in_line {
                // What follows is ours.
                self.show(b"\n");
            }
            return self.end();
        }
        let text = &bytes[..text];
        self.show(text);
        for byte in text {
            match byte {
                b'\n' | b'\r' => self.line.clear(),
                byte if self.line.len() < LINE => self.line.push(*byte),
                _ => {}
            }
        }
    }

    fn show(&mut self, text: &[u8]) {
        let _ = std::io::stderr().write_all(text);
        self.in_line = text.last().map_or(self.in_line, |last| *last != b'\n');
    }

    /// Whether the command waits for the user: nothing of the protocol may be written.
    pub(super) fn asks(&self, terminal: impl AsFd) -> bool {
        if self.over || self.keys.is_none() {
            return false;
        }
        let line = self.line.trim_ascii_end();
        let question = line.last().is_some_and(|last| matches!(last, b':' | b'?' | b'>' | b']'));
        // A password is requested where a line is awaited without echo.
        let hidden = !self.raw
            && tcgetattr(terminal).is_ok_and(|settings| {
                let modes = settings.local_modes;
                modes.contains(LocalModes::ICANON) && !modes.contains(LocalModes::ECHO)
            });
        let early = self.began.elapsed();
        let waits = early < FIRST_QUESTION || early < self.patience && !is_prompt(line);
        question || hidden || waits
    }

    /// The protocol begins. True if the command's terminal has to become raw.
    pub(super) fn release(&mut self) -> bool {
        !std::mem::replace(&mut self.raw, true)
    }

    /// Gives the keyboard back to the user.
    pub(super) fn end(&mut self) {
        self.over = true;
        self.keys = None;
    }

    /// Whether the protocol has begun.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_to_other_hosts_take_their_time() {
        for command in
            ["ssh box rz", "cd x; /usr/bin/ssh -p 22 box", "env 'A=b' ssh 'box'", "telnet router"]
        {
            assert_eq!(patience(command), FIRST_QUESTION_OF_A_CALL, "{command}");
        }
        for command in ["rz", "cat ssh.log", "sh ask.sh", "./sshd-test"] {
            assert_eq!(patience(command), FIRST_QUESTION, "{command}");
        }
        assert!(is_prompt(b"anna@box:~$") && is_prompt(b"#"));
        assert!(!is_prompt(b"") && !is_prompt(b"Last login: Thu"));
    }
}
