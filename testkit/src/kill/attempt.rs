//! One run of two programs over a line, with or without a kill.

use std::fs::File;
use std::io;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

use super::desk::{Desk, Found, is_marked};
use super::plan::{Case, End, Mode};
use super::programs::{LIMIT, Program, wst};
use super::wire::{Manner, Wire, wait};
use crate::{Dice, Terminal, terminal};

const MS: Duration = Duration::from_millis(1);
const LOCAL: &str = "127.0.0.1:0";

/// What joins the ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Medium {
    Tcp,
    Pty,
    Pipe,
    /// With a secret, or plain.
    Udp(bool),
}

/// When to kill.
#[derive(Clone, Copy, Debug)]
pub(super) enum Aim {
    /// This many bytes of the sender have passed; the rest is held back.
    Passed(u64),
    /// The part loses its mark, which is checked after this many bytes.
    Rename(u64),
    /// The first file has its name.
    Between,
    /// This time after the line appeared.
    Time(Duration),
}

/// What a run is to be.
#[derive(Clone, Copy)]
pub(super) struct Attempt {
    pub(super) number: usize,
    /// Directory of the receiver.
    pub(super) into: &'static str,
    pub(super) resume: bool,
    pub(super) pace: Option<u64>,
    pub(super) aim: Option<Aim>,
}

/// The result.
pub(super) struct AttemptResult {
    /// The aimed ones ran, and died of the signal.
    pub(super) hit: bool,
    /// What stood at the receiver's end at that moment.
    pub(super) found: Vec<Found>,
    /// Exit codes, or why there is none, of those that were not killed and were to end.
    pub(super) codes: Vec<(&'static str, Result<i32, String>)>,
    /// Files that an end called verified.
    pub(super) verified: Vec<String>,
    /// The largest offset from which a file went on.
    pub(super) resumed_from: u64,
    /// Bytes of the sender.
    pub(super) passed: u64,
    pub(super) elapsed: Duration,
    /// Output of the programs.
    pub(super) words: String,
}

/// The two programs of a case, again and again.
pub(super) struct Bench<'a> {
    pub(super) program: &'a Path,
    pub(super) case: Case,
    pub(super) desk: Desk,
    pub(super) dice: Dice,
    pub(super) medium: Medium,
    /// A server that was not killed, and where it listens.
    pub(super) server: Option<(Program, String)>,
}

/// Both ends and what joins them: the sender is the first.
struct Joined {
    ends: [Program; 2],
    wire: Wire,
    at: String,
}

impl Bench<'_> {
    /// Runs it.
    pub(super) fn run(&mut self, attempt: Attempt) -> Result<AttemptResult, String> {
        let stops_at = match attempt.aim {
            Some(Aim::Passed(bytes)) => bytes,
            _ => u64::MAX,
        };
        let manner = Manner { stops_at, pace: attempt.pace };
        let began = Instant::now();
        let Joined { mut ends, wire, at } = self.join(attempt, manner)?;
        let (mut hit, mut found) = (false, Vec::new());
        let mut killed = [false; 2];
        if let Some(aim) = attempt.aim {
            self.await_aim(aim, &mut ends, &wire)?;
            let aimed = match self.case.end {
                End::Sender => [true, false],
                End::Receiver => [false, true],
                End::Both => [true, true],
            };
            killed = self.kill(aimed, &mut ends);
            hit = killed == aimed;
            found = self.desk.found();
            wire.lose(aimed == [true, false] && self.dice.one_in(2));
        }
        let mut result = AttemptResult {
            hit,
            found,
            codes: Vec::new(),
            verified: Vec::new(),
            resumed_from: 0,
            passed: 0,
            elapsed: Duration::ZERO,
            words: String::new(),
        };
        let server = self.server_at();
        for (index, program) in ends.iter_mut().enumerate() {
            if killed[0] && index == 1 && self.awaits_anybody(program) {
                program.kill();
            } else if Some(index) != server && !killed[index] {
                let end = if index == 0 { End::Sender } else { End::Receiver };
                result.codes.push((self.case.mode.end(end), program.end()));
            }
        }
        result.elapsed = began.elapsed();
        result.passed = wire.passed();
        drop(wire);
        for program in &ends {
            result.learn(program);
        }
        if let Some(index) = server {
            let [sender, receiver] = ends;
            let server = if index == 0 { sender } else { receiver };
            if !killed[index] {
                self.let_go();
                self.server = Some((server, at));
            }
        }
        Ok(result)
    }

    /// Whether this listener has had no peer yet, and so keeps listening.
    fn awaits_anybody(&self, listener: &Program) -> bool {
        matches!(self.medium, Medium::Udp(_)) && listener.events("negotiated").is_empty()
    }

    /// Which end the server is.
    fn server_at(&self) -> Option<usize> {
        match self.case.mode {
            Mode::Put => Some(1),
            Mode::Get => Some(0),
            _ => None,
        }
    }

    /// Waits until the server has let go of the parts of a session that is over.
    fn let_go(&self) {
        wait(LIMIT, MS, || !self.desk.is_busy());
    }

    /// Sends the signals, at once if there are two; returns who died of one.
    fn kill(&mut self, aimed: [bool; 2], ends: &mut [Program; 2]) -> [bool; 2] {
        let first = self.dice.between(0, 2) as usize;
        for index in [first, 1 - first] {
            if aimed[index] {
                ends[index].strike();
            }
        }
        let killed = [0, 1].map(|index| aimed[index] && ends[index].kill());
        // One may have been stopped to be looked at.
        ends.iter_mut().for_each(Program::go_on);
        killed
    }

    fn await_aim(&mut self, aim: Aim, ends: &mut [Program; 2], wire: &Wire) -> Result<(), String> {
        let one_ended = |ends: &mut [Program; 2]| ends.iter_mut().any(|end| !end.runs());
        match aim {
            Aim::Passed(0) => {
                // A client of a server sends nothing before the server has; it has connected.
                // Datagrams have no line that is opened.
                if self.server_at().is_none() && !matches!(self.medium, Medium::Udp(_)) {
                    ends.iter_mut().try_for_each(Program::is_open)?;
                }
                thread::sleep(Duration::from_micros(self.dice.between(0, 30_000)));
            }
            Aim::Passed(bytes) => {
                wait(LIMIT, MS / 10, || wire.passed() >= bytes || one_ended(ends));
                // What has passed is worked on, more or less.
                thread::sleep(Duration::from_micros(self.dice.between(0, 5000)));
            }
            Aim::Between => {
                wait(LIMIT, MS / 20, || self.desk.first_is_named() || one_ended(ends));
            }
            Aim::Time(time) => thread::sleep(time),
            Aim::Rename(bytes) => {
                wait(LIMIT, MS / 10, || wire.passed() >= bytes || one_ended(ends));
                let mut part = None;
                wait(LIMIT, MS / 50, || {
                    part = self.desk.part();
                    part.is_some() || one_ended(ends)
                });
                if let Some(part) = part {
                    self.catch(&part, &mut ends[1]);
                }
            }
        }
        Ok(())
    }

    /// Stops the receiver again and again until its part has lost the mark, and leaves it there: what follows is
    /// over in less time than it takes to notice.
    fn catch(&mut self, part: &File, receiver: &mut Program) {
        wait(LIMIT, Duration::ZERO, || {
            if !receiver.stop() || !is_marked(part) {
                return true;
            }
            receiver.go_on();
            let slice = Duration::from_micros(self.dice.between(0, 10));
            wait(slice, Duration::ZERO, || false);
            false
        });
    }

    fn join(&mut self, attempt: Attempt, manner: Manner) -> Result<Joined, String> {
        if self.case.mode.has_server() {
            return self.join_server(attempt, manner);
        }
        match self.medium {
            Medium::Tcp => {
                let mut receiver =
                    self.receiver(attempt, &format!("tcp-listen://{LOCAL}"), None)?;
                let at = receiver.address()?;
                let listener = TcpListener::bind(LOCAL).map_err(|e| e.to_string())?;
                let here = listener.local_addr().map_err(|e| e.to_string())?;
                let sender = self.sender(attempt, &format!("tcp://{here}"), None)?;
                let near = accept(&listener)?;
                let far = TcpStream::connect(at.as_str()).map_err(|e| e.to_string())?;
                let wire =
                    Wire::of_bytes(near.into(), far.into(), manner).map_err(|e| e.to_string())?;
                Ok(Joined { ends: [sender, receiver], wire, at })
            }
            Medium::Udp(_) => {
                let line = format!("udp-listen://{LOCAL}");
                let mut receiver = self.receiver(attempt, &line, None)?;
                let at = receiver.address()?;
                let bound = || UdpSocket::bind(LOCAL).map_err(|e| e.to_string());
                let (near, far) = (bound()?, bound()?);
                far.connect(at.as_str()).map_err(|e| e.to_string())?;
                let here = near.local_addr().map_err(|e| e.to_string())?;
                let wire = Wire::of_datagrams(near, far, manner).map_err(|e| e.to_string())?;
                let sender = self.sender(attempt, &format!("udp://{here}"), None)?;
                Ok(Joined { ends: [sender, receiver], wire, at })
            }
            Medium::Pipe => {
                let pair = || UnixStream::pair().map_err(|e| e.to_string());
                let ((near, sends), (far, receives)) = (pair()?, pair()?);
                let receiver = self.receiver(attempt, "-", Some(receives.into()))?;
                let sender = self.sender(attempt, "-", Some(sends.into()))?;
                let wire =
                    Wire::of_bytes(near.into(), far.into(), manner).map_err(|e| e.to_string())?;
                Ok(Joined { ends: [sender, receiver], wire, at: String::new() })
            }
            Medium::Pty => {
                let ((near, one), (far, other)) = (raw_terminal()?, raw_terminal()?);
                let mut receiver = self.receiver(attempt, &far.path, None)?;
                let mut sender = self.sender(attempt, &near.path, None)?;
                // Until a program has it open, a terminal looks closed.
                receiver.is_open()?;
                sender.is_open()?;
                drop((one, other));
                let wire =
                    Wire::of_bytes(near.master, far.master, manner).map_err(|e| e.to_string())?;
                Ok(Joined { ends: [sender, receiver], wire, at: far.path })
            }
        }
    }

    fn join_server(&mut self, attempt: Attempt, manner: Manner) -> Result<Joined, String> {
        let (server, at) = if let Some(running) = self.server.take() {
            running
        } else {
            let mut server = self.serve(attempt)?;
            let at = server.address()?;
            (server, at)
        };
        let listener = TcpListener::bind(LOCAL).map_err(|e| e.to_string())?;
        let here = listener.local_addr().map_err(|e| e.to_string())?;
        let client = self.client(attempt, &format!("tcp://{here}"))?;
        let near = OwnedFd::from(accept(&listener)?);
        let far = OwnedFd::from(TcpStream::connect(at.as_str()).map_err(|e| e.to_string())?);
        let puts = self.case.mode == Mode::Put;
        let (from, to) = if puts { (near, far) } else { (far, near) };
        let wire = Wire::of_bytes(from, to, manner).map_err(|e| e.to_string())?;
        let ends = if puts { [client, server] } else { [server, client] };
        Ok(Joined { ends, wire, at })
    }

    fn start(
        &self,
        attempt: Attempt,
        words: &[&str],
        end: &str,
        pipes: Option<OwnedFd>,
    ) -> Result<Program, String> {
        let mut command: Command = wst(self.program, words);
        if self.medium == Medium::Udp(true) {
            command.env("WETSTRING_SECRET", "the shared secret of two");
        }
        let said = self.desk.path(&format!("said-{}-{end}", attempt.number));
        Program::start(command, said, pipes)
    }

    /// Settings of both ends: times so short that a case does not wait for what has died.
    fn settings(&self) -> Vec<&'static str> {
        let (protocol, sets): (_, &[&str]) = match self.case.mode {
            Mode::KermitStreaming => ("kermit", &["kermit.reliable=on", "kermit.linger=100"]),
            Mode::KermitWindow => (
                "kermit",
                &[
                    "kermit.streaming=off",
                    "kermit.window=8",
                    "kermit.send-length=1000",
                    "kermit.linger=100",
                ],
            ),
            Mode::KermitStopAndWait => (
                "kermit",
                &[
                    "kermit.streaming=off",
                    "kermit.window=1",
                    "kermit.send-length=2000",
                    "kermit.linger=100",
                ],
            ),
            Mode::Xmodem => ("xmodem-1k", &["xymodem.linger=100", "xymodem.start-wait=500"]),
            Mode::Ymodem => ("ymodem", &["xymodem.linger=100", "xymodem.start-wait=500"]),
            Mode::YmodemG => ("ymodem-g", &["xymodem.linger=100", "xymodem.start-wait=500"]),
            Mode::Zmodem => ("zmodem", &["zmodem.linger=100"]),
            Mode::Uucp => ("uucp-g", &["uucp.linger=100", "uucp.timeout=2"]),
            Mode::Netblt => ("netblt", &["netblt.death=2", "netblt.open-timeout=300"]),
            Mode::Put | Mode::Get => return vec!["--set", "kermit.linger=100"],
        };
        let mut words = vec!["-P", protocol];
        if self.medium == Medium::Udp(false) {
            words.push("--plain");
        }
        for set in sets {
            words.extend(["--set", set]);
        }
        words
    }

    fn sources(&self) -> Vec<String> {
        let names = self.desk.to_send().into_iter();
        names.map(|name| self.desk.path("src").join(name).display().to_string()).collect()
    }

    fn sender(
        &self,
        attempt: Attempt,
        line: &str,
        pipes: Option<OwnedFd>,
    ) -> Result<Program, String> {
        let sources = self.sources();
        let mut words = vec!["send", "--json"];
        words.extend(self.settings());
        if attempt.resume && self.case.mode.resumes() {
            words.push("--resume");
        }
        words.extend(sources.iter().map(String::as_str));
        words.push(line);
        self.start(attempt, &words, "sender", pipes)
    }

    fn receiver(
        &self,
        attempt: Attempt,
        line: &str,
        pipes: Option<OwnedFd>,
    ) -> Result<Program, String> {
        let into = self.desk.path(attempt.into).display().to_string();
        let collision = format!("store.collision={}", self.desk.policy);
        let mut words = vec!["receive", "--json", "-o", &into, "--set", &collision];
        words.extend(self.settings());
        if self.case.mode == Mode::Xmodem {
            words.extend(["--as", &self.desk.files[0].name]);
        }
        words.push(line);
        self.start(attempt, &words, "receiver", pipes)
    }

    fn serve(&self, attempt: Attempt) -> Result<Program, String> {
        let root = if self.case.mode == Mode::Put { attempt.into } else { "src" };
        let root = self.desk.path(root).display().to_string();
        let (line, collision) =
            (format!("tcp-listen://{LOCAL}"), format!("store.collision={}", self.desk.policy));
        let mut words = vec!["serve", "--json", &line, "--root", &root, "--allow", "write"];
        words.extend(["--set", &collision]);
        words.extend(self.settings());
        self.start(attempt, &words, "server", None)
    }

    fn client(&self, attempt: Attempt, line: &str) -> Result<Program, String> {
        let (into, sources) = (self.desk.path(attempt.into).display().to_string(), self.sources());
        let collision = format!("store.collision={}", self.desk.policy);
        let mut words = vec![self.case.mode.name(), "--json"];
        words.extend(self.settings());
        if attempt.resume {
            words.push("--resume");
        }
        if self.desk.deletes && attempt.into == "in" {
            words.push("--delete");
        }
        if self.case.mode == Mode::Put {
            words.extend(sources.iter().map(String::as_str));
        } else {
            words.extend(["-o", &into, "--set", &collision]);
            words.extend(self.desk.to_send());
        }
        words.push(line);
        self.start(attempt, &words, "client", None)
    }
}

impl AttemptResult {
    /// Takes from a program's output which files it calls verified, and where they went on.
    fn learn(&mut self, program: &Program) {
        for event in program.events("file-done") {
            if event["verified"] == true {
                self.verified.extend(event["name"].as_str().map(str::to_owned));
            }
        }
        for event in program.events("file-started") {
            self.resumed_from = self.resumed_from.max(event["offset"].as_u64().unwrap_or(0));
        }
        self.words.push_str(&program.words());
    }
}

fn accept(listener: &TcpListener) -> Result<TcpStream, String> {
    listener.set_nonblocking(true).map_err(|e| e.to_string())?;
    let mut stream = None;
    wait(LIMIT, MS / 5, || {
        stream = listener.accept().ok();
        stream.is_some()
    });
    stream.map(|(stream, _)| stream).ok_or_else(|| "no connection".to_owned())
}

/// A terminal, and an open descriptor of the program's side, so that it stays while no program has it.
fn raw_terminal() -> Result<(Terminal, OwnedFd), String> {
    let made = || -> io::Result<_> {
        let terminal = terminal()?;
        let other = OwnedFd::from(terminal.open()?);
        // What comes before a program has made it raw would be echoed.
        let mut raw = tcgetattr(&other)?;
        raw.make_raw();
        tcsetattr(&other, OptionalActions::Now, &raw)?;
        Ok((terminal, other))
    };
    made().map_err(|e| format!("a terminal: {e}"))
}
