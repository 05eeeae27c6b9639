//! A conversation with a shell: commands without echo or prompt, and answers behind a marker.
//!
//! A terminal that cannot be told to leave its echo is borne with where nothing but answers comes back: the echo of a
//! line has no marker of an answer, and is dropped.

use super::coding::LONGEST_LINE;
use super::report::Counted;
use super::wire::{Broken, Wire};
use crate::hex;
use crate::run::{Ended, Watch};
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use wetstring_proto::engine::{Engine, Outcome};
use wetstring_proto::file::Store;

/// The most text before an answer.
const MOST_TEXT: usize = 64 * 1024;
/// The longest line of an answer.
const MOST_LINE: usize = 8 * 1024;
/// Text that is kept for messages.
const KEPT: usize = 200;
/// What is awaited at first.
const A_SHELL: &str =
    "a shell that runs a command (logged in, at its prompt, with no line half typed)";
/// The end of the first line, which may be echoed.
const FIRST_ENDS: &[u8] = b";;esac;done)";
/// Lines whose echo is awaited: more than any terminal holds.
const MOST_ECHO: usize = 4096;
/// The byte of Ctrl-C.
const CTRL_C: u8 = 3;
/// After this the shell gets another line to answer.
const LINE_AGAIN: Duration = Duration::from_millis(500);
/// How long a program at the shell may take to end when it was told to.
const TOLD: Duration = Duration::from_secs(2);
/// How long the shell may take to leave.
const LEAVE: Duration = Duration::from_secs(3);

/// A marker that occurs nowhere else.
pub fn nonce() -> String {
    let mut bytes = [0; 4];
    // Without random numbers the time is unlikely enough.
    if getrandom::fill(&mut bytes).is_err() {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        bytes = now.map_or([0; 4], |now| now.subsec_nanos().to_be_bytes());
    }
    hex(&bytes)
}

/// What came instead of a shell's answer, without the echo of what was typed.
fn without_echo(mut broken: Broken) -> Broken {
    if let Broken::Silence { got, .. } | Broken::Peer { got, .. } = &mut broken
        && let Some(at) = got.windows(FIRST_ENDS.len()).rposition(|part| part == FIRST_ENDS)
    {
        got.drain(..at + FIRST_ENDS.len());
        if got.trim_ascii().is_empty() {
            *got = b"only the echo of what was typed".to_vec();
        }
    }
    broken
}

/// How fast a shell is written to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pace {
    /// The most bytes that are sent and not acknowledged: what the terminal before the shell holds if the shell
    /// does not read. Linux holds 4,096.
    pub unacknowledged: usize,
    /// The rate of the line in bit/s, if known.
    pub rate_bps: Option<u32>,
    /// How long an answer may take when all has arrived.
    pub answer: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self { unacknowledged: 4000, rate_bps: None, answer: Duration::from_secs(15) }
    }
}

impl Pace {
    /// How long the answer to this number of bytes may take.
    fn patience(&self, bytes: usize) -> Duration {
        let rate = u64::from(self.rate_bps.unwrap_or(1200).max(50));
        self.answer + Duration::from_millis(bytes as u64 * 10 * 1000 / rate)
    }
}

/// A message from the shell.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Heard {
    /// A line of text.
    Line(Vec<u8>),
    /// An answer.
    Answer(Vec<u8>),
}

/// A conversation with a shell.
pub struct Talk<'a> {
    wire: &'a mut dyn Wire,
    pace: Pace,
    marker: String,
    /// Received and not looked at.
    received: Vec<u8>,
    /// Up to here there is no end of a line.
    searched: usize,
    /// An answer behind text in one line.
    behind: Option<Vec<u8>>,
    /// Text before the last answer.
    said: Vec<u8>,
    /// The shell is at a terminal.
    pub(super) at_terminal: bool,
    /// The terminal echoes what is sent, since there is no stty.
    pub(super) echoes: bool,
    /// Lines that have not come back as echo.
    echo: VecDeque<Vec<u8>>,
    /// Bytes sent since the last answer.
    unanswered: usize,
    /// Lines of data that the shell may wait for.
    lines: usize,
    /// A program at the shell may read what is sent.
    runs_program: bool,
    /// Bytes sent and received.
    pub(super) sent: u64,
    pub(super) heard: u64,
}

impl Counted for Talk<'_> {
    fn counted(&self) -> (u64, u64) {
        (self.sent, self.heard)
    }
}

impl<'a> Talk<'a> {
    /// Begins at a shell that waits for a command. `nonce` is letters and digits that stand in nothing else.
    ///
    /// # Errors
    ///
    /// If nothing there runs a command.
    pub fn begin(wire: &'a mut dyn Wire, pace: Pace, nonce: &str) -> Result<Self, Broken> {
        let mut talk = Self {
            wire,
            pace,
            marker: nonce.to_owned(),
            received: Vec::new(),
            searched: 0,
            behind: None,
            said: Vec::new(),
            at_terminal: false,
            echoes: false,
            echo: VecDeque::new(),
            unanswered: 0,
            lines: 0,
            runs_program: false,
            sent: 0,
            heard: 0,
        };
        // The blank keeps it out of some histories. The marker does not stand in its own echo.
        let first = format!(
            " (w={nonce};s=;a(){{ echo \"@$w $*\";}};trap '[ \"$s\" ]&&stty \"$s\";a bye' 0;\
             trap 'exit 1' 1 2 15;s=$(stty -g 2>/dev/null)&&stty -echo icanon isig;a up ${{s:+tty}};\
             while IFS= read -r l;do case $l in $w\\ *)eval \"${{l#* }}\";;esac;done)"
        );
        let done = talk.begun(&first);
        if let Err(broken) = done {
            talk.leave();
            return Err(broken);
        }
        Ok(talk)
    }

    fn begun(&mut self, first: &str) -> Result<(), Broken> {
        self.send(&[first.as_bytes(), b"\n"].concat())?;
        let up = self.answer(A_SHELL).map_err(without_echo)?;
        self.echoes = up == b"up"
            && self.ask("[ -t 0 ]&&a echoes||a pipe", "what the shell reads")? == b"echoes";
        self.at_terminal = up == b"up tty" || self.echoes;
        if !up.starts_with(b"up") {
            return Err(Broken::Peer { expected: "up from the shell".to_owned(), got: up });
        }
        // The user's shell settings do not interfere; the temporary file is removed in every case.
        self.tell("LC_ALL=C;export LC_ALL;set +C;t=;unset IFS")?;
        self.tell("m=;trap '[ \"$t$m\" ]&&rm -f \"$t\" \"$m\";[ \"$s\" ]&&stty \"$s\";a bye' 0")
    }

    /// For what an echo would be taken for data.
    pub(super) fn without_echo(&self) -> Result<(), Broken> {
        if !self.echoes {
            return Ok(());
        }
        let say = "expected stty at the shell, which turns off the echo of its terminal, got none";
        Err(Broken::Missing(say.to_owned()))
    }

    /// How fast the shell is written to.
    pub(super) fn pace(&self) -> Pace {
        self.pace
    }

    /// A line that the shell takes for a command: data that follows lost lines is none.
    pub(super) fn command(&self, command: &str) -> Vec<u8> {
        let line = format!("{} {command}\n", self.marker);
        debug_assert!(line.len() <= LONGEST_LINE, "{line}");
        line.into_bytes()
    }

    /// Sends a command.
    pub(super) fn tell(&mut self, command: &str) -> Result<(), Broken> {
        let line = self.command(command);
        self.send(&line)
    }

    /// The shell waits for at most this number of lines of data.
    pub(super) fn owes_lines(&mut self, lines: usize) {
        self.lines = lines;
    }

    /// Sends lines.
    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        self.unanswered += bytes.len();
        self.sent += bytes.len() as u64;
        if self.echoes {
            let lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
            self.echo.extend(lines.filter(|line| !line.is_empty()).map(<[u8]>::to_vec));
            let surplus = self.echo.len().saturating_sub(MOST_ECHO);
            self.echo.drain(..surplus);
        }
        self.wire.send(bytes)
    }

    /// Sends a command and returns its answer.
    pub(super) fn ask(&mut self, command: &str, expected: &str) -> Result<Vec<u8>, Broken> {
        self.tell(command)?;
        self.answer(expected)
    }

    /// The next answer.
    pub(super) fn answer(&mut self, expected: &str) -> Result<Vec<u8>, Broken> {
        self.answer_within(expected, self.pace.answer)
    }

    /// The next answer, this long after all has arrived.
    pub(super) fn answer_within(
        &mut self,
        expected: &str,
        patience: Duration,
    ) -> Result<Vec<u8>, Broken> {
        let way = self.pace.patience(self.unanswered).saturating_sub(self.pace.answer);
        let until = Instant::now() + way + patience;
        self.said.clear();
        let mut len = 0;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.hear(expected, left)? {
                Heard::Answer(answer) => return Ok(answer),
                Heard::Line(line) => {
                    len += line.len() + 1;
                    self.say(&line);
                }
            }
            if len > MOST_TEXT {
                return Err(self.unexpected(expected));
            }
        }
    }

    /// The bytes before the next answer; at most this many are kept.
    pub(super) fn bytes_until_answer(
        &mut self,
        expected: &str,
        most: usize,
    ) -> Result<Vec<u8>, Broken> {
        let mark = format!("@{}", self.marker);
        let until = Instant::now() + self.pace.patience(self.unanswered + most);
        loop {
            let at = self.received.windows(mark.len()).position(|part| part == mark.as_bytes());
            if let Some(at) = at {
                let mut bytes: Vec<u8> = self.received.drain(..at).collect();
                bytes.truncate(most);
                self.searched = 0;
                self.answer(expected)?;
                return Ok(bytes);
            }
            let left = until.saturating_duration_since(Instant::now());
            let before = self.received.len();
            self.wire.receive(left, &mut self.received)?;
            self.heard += (self.received.len() - before) as u64;
            if self.received.len() == before || before > MOST_TEXT {
                return Err(self.unexpected(expected));
            }
        }
    }

    /// Runs an engine on the line, with what has arrived already. Until a program at the shell has ended, its
    /// terminal is raw.
    pub(super) fn run_engine(
        &mut self,
        engine: &mut dyn Engine,
        store: &mut dyn Store,
        watch: &mut dyn Watch,
    ) -> Result<Ended, Broken> {
        self.runs_program = true;
        let before = std::mem::take(&mut self.received);
        self.searched = 0;
        let ended = self.wire.run(engine, store, watch, &before)?;
        self.sent += ended.stats.wire_out_bytes;
        self.heard += ended.stats.wire_in_bytes;
        self.received.extend_from_slice(&ended.leftover);
        // What an engine that has failed did not take may be half of the shell's answer.
        self.runs_program = ended.outcome != Outcome::Done;
        self.unanswered = 0;
        Ok(ended)
    }

    /// How a program at the shell has ended. The shell says it after a line, and the program may take lines, too.
    pub(super) fn program_ended(&mut self, patience: Duration) -> Result<Vec<u8>, Broken> {
        let until = Instant::now() + patience;
        loop {
            self.send(b"\n")?;
            match self.answer_within("the end of wst-mini", LINE_AGAIN) {
                Err(Broken::Silence { .. }) if Instant::now() < until => {}
                result => return result,
            }
        }
    }

    /// All answers so far have arrived: only these bytes are in transit.
    pub(super) fn on_the_way(&mut self, bytes: usize) {
        self.unanswered = bytes;
    }

    /// The next line of what a command prints, or its answer.
    pub(super) fn next(&mut self, expected: &str) -> Result<Heard, Broken> {
        let patience = self.pace.patience(self.unanswered);
        self.hear(expected, patience)
    }

    /// The error for an unexpected answer.
    pub(super) fn unexpected(&self, expected: &str) -> Broken {
        Broken::Peer { expected: expected.to_owned(), got: self.said.clone() }
    }

    /// Text of the shell, such as what a tool says on stderr.
    pub(super) fn say(&mut self, line: &[u8]) {
        if !self.said.is_empty() {
            self.said.push(b' ');
        }
        self.said.extend_from_slice(line);
        let surplus = self.said.len().saturating_sub(KEPT);
        self.said.drain(..surplus);
    }

    fn hear(&mut self, expected: &str, patience: Duration) -> Result<Heard, Broken> {
        if let Some(answer) = self.behind.take() {
            return Ok(Heard::Answer(answer));
        }
        let until = Instant::now() + patience;
        loop {
            let end = self.received[self.searched..].iter().position(|byte| *byte == b'\n');
            if let Some(end) = end {
                let line: Vec<u8> = self.received.drain(..=self.searched + end).collect();
                self.searched = 0;
                let heard = self.divided(line.trim_ascii_end());
                if matches!(&heard, Heard::Line(line) if self.is_echo(line)) {
                    continue;
                }
                return Ok(heard);
            }
            self.searched = self.received.len();
            if self.searched > MOST_LINE {
                let text = std::mem::take(&mut self.received);
                self.searched = 0;
                self.say(&text);
                return Err(self.unexpected(expected));
            }
            let before = self.received.len();
            let left = until.saturating_duration_since(Instant::now());
            self.wire.receive(left, &mut self.received)?;
            self.heard += (self.received.len() - before) as u64;
            if self.received.len() == before {
                self.say(&self.received.clone());
                let got = self.said.clone();
                return Err(Broken::Silence { expected: expected.to_owned(), got });
            }
        }
    }

    /// Whether a line is only what was sent. One before it that has not come back was mixed with an answer.
    fn is_echo(&mut self, line: &[u8]) -> bool {
        let at = self.echo.iter().position(|sent| sent == line);
        at.is_some_and(|at| self.echo.drain(..=at).next().is_some())
    }

    /// A line, or an answer in it.
    fn divided(&mut self, line: &[u8]) -> Heard {
        let mark = format!("@{}", self.marker);
        let Some(at) = line.windows(mark.len()).position(|part| part == mark.as_bytes()) else {
            return Heard::Line(line.to_vec());
        };
        let answer = line[at + mark.len()..].trim_ascii().to_vec();
        if at == 0 {
            return Heard::Answer(answer);
        }
        self.behind = Some(answer);
        Heard::Line(line[..at].to_vec())
    }

    /// Ends it; the shell is as before. Returns what came after it: the prompt.
    ///
    /// # Errors
    ///
    /// If the shell does not answer.
    pub fn end(mut self) -> Result<Vec<u8>, Broken> {
        self.on_the_way(0);
        let bye = self.ask("exit", "bye from the shell")?;
        if bye != b"bye" {
            return Err(Broken::Peer { expected: "bye from the shell".to_owned(), got: bye });
        }
        Ok(self.received)
    }

    /// Ends it after a failure, as far as the shell can be reached. Returns what came after it, if it has left: the
    /// prompt.
    pub fn leave(&mut self) -> Option<Vec<u8>> {
        self.leaves().then(|| std::mem::take(&mut self.received))
    }

    fn leaves(&mut self) -> bool {
        self.wire.clean_up();
        if std::mem::take(&mut self.runs_program) {
            // It was told. At a raw terminal Ctrl-C ends Kermit, and is no signal; what it reads besides is lost.
            if self.program_ended(TOLD).is_err() && self.wire.send(&[CTRL_C; 6]).is_ok() {
                let _ = self.program_ended(LEAVE);
            }
        }
        // No signal: one that comes while a shell starts a program may be lost. What waits for data gets empty
        // lines; surplus ones have no effect, and neither has the command to the shell before it.
        let mut last = b"\n".repeat(self.lines + 1);
        last.extend(self.command("exit"));
        if self.wire.send(&last).is_ok() && self.has_left() {
            return true;
        }
        // A tool that hangs.
        self.at_terminal
            && self.wire.send(b"\x03").is_ok()
            && (self.has_left() || self.wire.send(&last).is_ok() && self.has_left())
    }

    fn has_left(&mut self) -> bool {
        let way = self.pace.patience(self.unanswered).saturating_sub(self.pace.answer);
        let until = Instant::now() + LEAVE + way.min(LEAVE);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.hear("bye", left) {
                Ok(Heard::Answer(answer)) if answer == b"bye" => return true,
                Ok(_) if !left.is_zero() => {}
                _ => return false,
            }
        }
    }
}
