//! The world of scripts in the program: this machine, the ports of `drive`, and the Kermit engines.

use std::collections::VecDeque;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::stdio::stdin;
use rustix::termios::isatty;
use wetstring_drive::disk::{DiskStore, PathRule, ReceiveOptions, SendOptions, Source};
use wetstring_drive::port::PATIENCE;
use wetstring_drive::terminal::Restore;
use wetstring_drive::{Ended, LineSpec, Port, RunOptions, Signals, open, run};
use wetstring_proto::settings::BadSetting;
use wetstring_proto::{Engine, FileKind, Outcome};
use wetstring_script::world::{
    Channel, Connection, Done, Fault, Files, Getting, Heard, Kept, Moment, Question, Ran, Remote,
    Report, Screen, Sending, Signal, Speaks, Task,
};
use wetstring_script::{Local, World};

use super::asking::{self, Answer, Wire};
use super::seen::Seen;
use crate::config::Everything;
use crate::facts;
use crate::protocol::Protocol;
use crate::record::Recorder;
use crate::voice::{Level, Voice};
use crate::watch::Way;

/// What a shut port and a wait for its child may take.
const LONGEST_POLL: Duration = Duration::from_millis(500);

/// The real world.
pub(super) struct Live<'a> {
    local: Local,
    voice: &'a Voice,
    settings: Everything,
    signals: &'a Signals,
    port: Option<Box<dyn Port>>,
    /// What came and was not taken yet.
    ahead: VecDeque<u8>,
    trace: Option<PathBuf>,
}

impl<'a> Live<'a> {
    pub(super) fn new(
        voice: &'a Voice,
        settings: Everything,
        signals: &'a Signals,
        trace: Option<PathBuf>,
    ) -> Result<Self, String> {
        let directory =
            std::env::current_dir().map_err(|e| format!("could not find this directory: {e}"))?;
        let local = Local::new(directory, wetstring_drive::zone::offset_at);
        Ok(Self { local, voice, settings, signals, port: None, ahead: VecDeque::new(), trace })
    }

    /// Opens a line as `wst send` has it.
    pub(super) fn open_line(&mut self, spec: &LineSpec) -> Result<(), Fault> {
        self.hang_up()?;
        let voice = self.voice;
        let mut notes = |text: &str| voice.say(Level::Note, text);
        let port = open(spec, Some(self.signals), &mut notes);
        self.port = Some(port.map_err(|error| Fault::new(error.to_string()))?);
        Ok(())
    }

    /// Turns an engine on the connection; what it did not take stays.
    fn turn(
        &mut self,
        engine: &mut dyn Engine,
        disk: &mut DiskStore,
        way: Way,
    ) -> Result<Report, Fault> {
        let who = if way == Way::Send { "sender" } else { "receiver" };
        let mut recorder =
            Recorder::new(self.voice, who, self.trace.as_deref()).map_err(Fault::new)?;
        let port = self.port.as_mut().ok_or_else(no_connection)?;
        let before: Vec<u8> = self.ahead.drain(..).collect();
        let mut seen = Seen::new(self.voice, way, port.facts().rate_bps);
        let mut options = RunOptions::new(&mut recorder);
        options.signals = Some(self.signals);
        options.before = &before;
        let ended = run(engine, &mut **port, disk, &mut seen, options);
        seen.finish();
        let (_, error) = recorder.finish();
        if let Some(error) = error {
            self.voice.say(Level::Error, &format!("could not write the trace: {error}"));
        }
        self.ahead.extend(&ended.leftover);
        let over = !ended.outcome.eq(&Outcome::Done) && ended.error.is_some();
        if over {
            self.hang_up()?;
        }
        Ok(report(&ended, &seen, disk))
    }

    fn send(&mut self, sending: &Sending, kept: &Kept) -> Result<Done, Fault> {
        if sending.start > 0 || sending.disposition.is_some() || sending.calibrate.is_some() {
            return Err(Fault::absent("SEND with /STARTING-AT, /MAIL, /PRINT or /CALIBRATE"));
        }
        self.port.as_ref().ok_or_else(no_connection)?;
        let source = |name: &Vec<u8>| {
            let source = Source::path(self.local.path(name));
            match &sending.as_name {
                Some(name) => source.named(name.clone()),
                None => source,
            }
        };
        let sources: Vec<Source> = sending.files.iter().map(source).collect();
        let text = sending.text.unwrap_or_else(|| is_text(kept));
        let options = SendOptions {
            kind: if text { FileKind::Text } else { FileKind::Binary },
            resume: sending.recover,
            paths: kept.get("send pathnames").is_some_and(|value| value.starts_with(b"rel")),
            ..SendOptions::default()
        };
        let mut engine = Protocol::Kermit.sender(&self.ready()?).map_err(Fault::new)?;
        let mut disk = DiskStore::sending(sources, options);
        let report = self.turn(&mut *engine, &mut disk, Way::Send)?;
        if sending.delete && report.done {
            for name in &sending.files {
                self.local.files().delete(name)?;
            }
        }
        Ok(Done { report: Some(report), ..Done::default() })
    }

    fn receive(&mut self, as_name: Option<&Vec<u8>>) -> Result<Done, Fault> {
        self.port.as_ref().ok_or_else(no_connection)?;
        let options = ReceiveOptions {
            collision: self.settings.collision,
            incomplete: self.settings.incomplete,
            resume: self.settings.resume,
            paths: PathRule::LastOnly,
            name: as_name.cloned(),
            ..ReceiveOptions::default()
        };
        let directory = self.local.path(b".");
        let mut disk = DiskStore::receiving(&directory, options)?;
        let mut engine = Protocol::Kermit.receiver(&self.ready()?).map_err(Fault::new)?;
        let report = self.turn(&mut *engine, &mut disk, Way::Receive)?;
        Ok(Done { report: Some(report), ..Done::default() })
    }

    /// Asks the server for files, and receives them.
    fn get(&mut self, getting: &Getting) -> Result<Done, Fault> {
        if getting.delete || getting.recursive {
            return Err(Fault::absent("GET with /DELETE or /RECURSIVE"));
        }
        let quoted = |name: &Vec<u8>| {
            if name.contains(&b' ') { [b"{", &name[..], b"}"].concat() } else { name.clone() }
        };
        let names: Vec<Vec<u8>> = getting.files.iter().map(quoted).collect();
        let packet_type = if getting.recover { b'J' } else { b'R' };
        match asking::ask(self, packet_type, &names.join(&b' ')).map_err(Fault::new)? {
            Answer::Transfer(came) => {
                self.ahead.extend(came);
                self.receive(getting.as_name.as_ref())
            }
            Answer::Refused(text) => Err(refused(&text)),
            Answer::Done(_) => Err(Fault::new("the server answered a GET without files")),
        }
    }

    fn remote(&mut self, remote: &Remote) -> Result<Done, Fault> {
        let (packet_type, data) = asking::packet_of(remote).map_err(Fault::new)?;
        match asking::ask(self, packet_type, &data).map_err(Fault::new)? {
            Answer::Done(text) => {
                if !text.is_empty() && remote.verb != "query" {
                    self.say(Screen::Output, &[&text[..], b"\n"].concat());
                }
                Ok(Done { text, ..Done::default() })
            }
            Answer::Refused(text) => Err(refused(&text)),
            Answer::Transfer(_) => {
                // The server would send its text as a file; it is told to stop.
                self.send_error()?;
                let verb = remote.verb.to_uppercase();
                Err(Fault::new(format!(
                    "the server answers REMOTE {verb} with more than a packet, which is not there yet in scripts"
                )))
            }
        }
    }

    /// Tells the server that its long answer is not wanted.
    fn send_error(&mut self) -> Result<(), Fault> {
        let whole = asking::frame(b'E', b"not wanted here").map_err(Fault::new)?;
        Wire::send(self, &whole).map_err(Fault::new)
    }

    /// The settings with what the connection is known to be.
    fn ready(&self) -> Result<Everything, Fault> {
        let mut settings = self.settings.clone();
        let port = self.port.as_ref().ok_or_else(no_connection)?;
        facts::apply(port.facts(), &mut settings);
        Ok(settings)
    }

    /// Waits for bytes of the connection; `false` if it is gone or there is none.
    fn fill(&mut self, wait: Duration) -> Result<Heard, ()> {
        let port = self.port.as_mut().ok_or(())?;
        let mut buffer = [0; 4096];
        let until = Instant::now() + wait;
        loop {
            match port.read(&mut buffer) {
                Ok(Some(0)) | Err(_) => return Err(()),
                Ok(Some(len)) => {
                    self.ahead.extend(&buffer[..len]);
                    return Ok(Heard::Byte(0));
                }
                Ok(None) => {}
            }
            if self.signals.count() > 0 {
                return Ok(Heard::Interrupted);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Heard::Silence);
            }
            let left: Option<Timespec> = left.min(LONGEST_POLL).try_into().ok();
            let fd = port.read_fd();
            let mut fds = [
                PollFd::from_borrowed_fd(fd, PollFlags::IN),
                PollFd::from_borrowed_fd(self.signals.fd(), PollFlags::IN),
            ];
            // An interrupted wait is looked at above.
            let _ = poll(&mut fds, left.as_ref());
        }
    }
}

fn no_connection() -> Fault {
    Fault::new("there is no connection; SET LINE or SET HOST makes one")
}

fn refused(text: &[u8]) -> Fault {
    Fault::new(format!("the server says: {}", crate::words::escaped(text)))
}

fn is_text(kept: &Kept) -> bool {
    kept.get("file type").is_some_and(|value| value == b"text")
}

fn report(ended: &Ended, seen: &Seen<'_>, disk: &DiskStore) -> Report {
    let last = disk.files().last();
    let done = ended.outcome == Outcome::Done && seen.missed() == 0;
    Report {
        done,
        message: if done { String::new() } else { seen.words(&format!("{:?}", ended.outcome)) },
        files: ended.stats.files_done,
        bytes: ended.stats.file_bytes,
        last_bytes: last.map_or(0, |record| record.size),
        name: last.map(|record| record.wire_name.clone()).unwrap_or_default(),
        elapsed: seen.elapsed(ended.elapsed),
        damaged: ended.stats.damaged,
        timeouts: ended.stats.timeouts,
        repeated: ended.stats.retransmissions,
        streamed: seen.streamed(),
        window: seen.number("window "),
        packet_len: seen.number("packets to "),
    }
}

impl Wire for Live<'_> {
    fn send(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.transmit(bytes).map_err(|fault| fault.text)
    }

    fn wait(&mut self, time: Duration) -> Result<Vec<u8>, String> {
        if self.ahead.is_empty() {
            match self.fill(time) {
                Ok(Heard::Interrupted) => return Err("interrupted".to_owned()),
                Ok(_) => {}
                Err(()) => return Err("the connection is gone".to_owned()),
            }
        }
        Ok(self.ahead.drain(..).collect())
    }
}

impl World for Live<'_> {
    fn say(&mut self, to: Screen, text: &[u8]) {
        self.local.say(to, text);
    }

    fn ask(&mut self, question: &Question) -> Option<Vec<u8>> {
        self.say(Screen::Output, &question.prompt);
        // Nothing is seen of a password, and the end of its line is shown afterwards.
        let hidden = (!question.echo && isatty(stdin())).then(|| Restore::keys(stdin()).ok());
        if let Some(wait) = question.wait {
            let wait: Option<Timespec> = wait.try_into().ok();
            let keyboard = stdin();
            let mut fds = [PollFd::from_borrowed_fd(keyboard, PollFlags::IN)];
            if !matches!(poll(&mut fds, wait.as_ref()), Ok(1..)) {
                return None;
            }
        }
        let silent = Question { prompt: Vec::new(), ..question.clone() };
        let answer = self.local.ask(&silent);
        if hidden.is_some() {
            self.say(Screen::Output, b"\n");
        }
        answer
    }

    fn key(&mut self, wait: Option<Duration>) -> Option<u8> {
        let _restore = isatty(stdin()).then(|| Restore::keys(stdin()).ok());
        let keyboard = stdin();
        let mut fds = [PollFd::from_borrowed_fd(keyboard, PollFlags::IN)];
        let wait: Option<Timespec> = wait.and_then(|wait| wait.try_into().ok());
        if !matches!(poll(&mut fds, wait.as_ref()), Ok(1..)) {
            return None;
        }
        let mut key = [0];
        matches!(rustix::io::read(keyboard, &mut key), Ok(1)).then_some(key[0])
    }

    fn now(&mut self) -> Moment {
        self.local.now()
    }

    fn offset_at(&mut self, unix_s: i64) -> i32 {
        self.local.offset_at(unix_s)
    }

    fn pause(&mut self, time: Duration, keys: bool) -> bool {
        let until = Instant::now() + time;
        let terminal = keys && isatty(stdin());
        let _restore = terminal.then(|| Restore::keys(stdin()).ok());
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            let left: Option<Timespec> = left.try_into().ok();
            let keyboard = stdin();
            let mut fds = [
                PollFd::from_borrowed_fd(self.signals.fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(keyboard, PollFlags::IN),
            ];
            let used = if terminal { 2 } else { 1 };
            if matches!(poll(&mut fds[..used], left.as_ref()), Ok(1..)) {
                let pressed = terminal && !fds[1].revents().is_empty();
                if pressed {
                    let mut keys = [0; 64];
                    let _ = rustix::io::read(keyboard, &mut keys);
                }
                return pressed || self.signals.count() > 0;
            }
        }
        false
    }

    fn random(&mut self) -> u64 {
        self.local.random()
    }

    fn environment(&mut self, name: &[u8]) -> Option<Vec<u8>> {
        self.local.environment(name)
    }

    fn fact(&mut self, name: &str) -> Option<Vec<u8>> {
        match (name, &self.port) {
            ("line", Some(port)) => Some(port.facts().name.clone().into_bytes()),
            ("speed", Some(port)) => {
                Some(port.facts().rate_bps.unwrap_or(0).to_string().into_bytes())
            }
            _ => self.local.fact(name),
        }
    }

    fn interrupted(&mut self) -> bool {
        self.signals.count() > 0
    }

    fn files(&mut self) -> &mut dyn Files {
        self.local.files()
    }

    fn run(&mut self, command: &[u8], capture: bool) -> Result<Ran, Fault> {
        self.local.run(command, capture)
    }

    fn pipe(&mut self, command: &[u8], to: bool) -> Result<Box<dyn Channel>, Fault> {
        self.local.pipe(command, to)
    }

    fn connect(&mut self, to: &Connection) -> Result<(), Fault> {
        let spec = spec_of(to)?;
        self.open_line(&spec)
    }

    fn hang_up(&mut self) -> Result<(), Fault> {
        self.ahead.clear();
        if let Some(mut port) = self.port.take() {
            port.finish(self.signals.patience(PATIENCE))?;
        }
        Ok(())
    }

    fn is_connected(&mut self) -> bool {
        self.port.is_some()
    }

    fn transmit(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let port = self.port.as_mut().ok_or_else(no_connection)?;
        let mut rest = bytes;
        let until = Instant::now() + Duration::from_secs(60);
        while !rest.is_empty() {
            if let Some(len) = port.write(rest)? {
                rest = &rest[len..];
                continue;
            }
            if self.signals.count() > 0 || Instant::now() > until {
                return Err(Fault::new("the connection takes nothing"));
            }
            let wait: Option<Timespec> = LONGEST_POLL.try_into().ok();
            let mut fds = [PollFd::from_borrowed_fd(port.write_fd(), PollFlags::OUT)];
            let _ = poll(&mut fds, wait.as_ref());
            std::thread::sleep(port.rest().min(LONGEST_POLL));
        }
        Ok(())
    }

    fn signal(&mut self, _signal: Signal) -> Result<(), Fault> {
        Err(Fault::absent("BREAK on a connection"))
    }

    fn hear(&mut self, wait: Duration) -> Heard {
        if let Some(byte) = self.ahead.pop_front() {
            return Heard::Byte(byte);
        }
        match self.fill(wait) {
            Ok(Heard::Byte(_)) => self.ahead.pop_front().map_or(Heard::Silence, Heard::Byte),
            Ok(other) => other,
            Err(()) => {
                // Who hangs up at the other end ends the connection here too.
                drop(self.hang_up());
                Heard::Lost
            }
        }
    }

    fn perform(&mut self, task: &Task, kept: &Kept) -> Result<Done, Fault> {
        match task {
            Task::Send(sending) => self.send(sending, kept),
            Task::Receive { as_name } => self.receive(as_name.as_ref()),
            Task::Get(getting) => self.get(getting),
            Task::Remote(remote) => self.remote(remote),
            Task::Transmit { file, binary } => self.transmit_file(file, *binary),
            Task::Log { what, to, .. } => match (what.as_str(), to) {
                ("packets", to) => {
                    self.trace = to.as_ref().map(|name| self.local.path(name));
                    Ok(Done::default())
                }
                (_, None) => Ok(Done::default()),
                (what, Some(_)) => Err(Fault::absent(&format!("LOG {}", what.to_uppercase()))),
            },
            Task::Serve => Err(Fault::absent("SERVER")),
            Task::Terminal => Err(Fault::absent("CONNECT")),
            Task::Allow { .. } => Err(Fault::absent("ENABLE, as SERVER is")),
        }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), Fault> {
        self.settings.set(name, value).map_err(|bad| match bad {
            BadSetting::Unknown => Fault::new(format!("there is no setting called {name}")),
            BadSetting::Value(row) => {
                Fault::new(format!("expected {} for {name}, got {value}", row.range))
            }
        })
    }

    fn shown(&mut self, name: &str) -> Option<String> {
        let mut out = String::new();
        self.settings.show(name, &mut out).ok()?;
        Some(out)
    }
}

impl Live<'_> {
    /// A file as it is, its line ends as CR unless it is binary.
    fn transmit_file(&mut self, name: &[u8], binary: bool) -> Result<Done, Fault> {
        let bytes = std::fs::read(self.local.path(name))?;
        let bytes = if binary {
            bytes
        } else {
            bytes.into_iter().map(|b| if b == b'\n' { b'\r' } else { b }).collect()
        };
        self.transmit(&bytes)?;
        Ok(Done::default())
    }
}

/// The line that a connection of a script is.
fn spec_of(to: &Connection) -> Result<LineSpec, Fault> {
    let text = |bytes: &[u8]| {
        let text = std::str::from_utf8(bytes);
        text.map(str::to_owned).map_err(|_| Fault::new("expected a name in UTF-8, got other bytes"))
    };
    let line = match to {
        Connection::Line { device } => text(device)?,
        Connection::Program { command, terminal } => {
            let kind = if *terminal { "exec-pty" } else { "exec" };
            format!("{kind}:{}", text(command)?)
        }
        Connection::Host { speaks: Speaks::Telnet, .. } => {
            return Err(Fault::absent(
                "Telnet; SET HOST name port /RAW makes a connection without it:",
            ));
        }
        Connection::Host { speaks: Speaks::Tls, .. } => return Err(Fault::absent("TLS")),
        Connection::Host { host, port, .. } => {
            let host = text(host)?;
            let say = "expected a port after the host, since Telnet's own needs Telnet";
            let port = port.as_ref().ok_or_else(|| Fault::new(say))?;
            let port = text(port)?;
            if host == "*" {
                format!("tcp-listen://0.0.0.0:{port}")
            } else if host.contains(':') && !host.starts_with('[') {
                format!("tcp://[{host}]:{port}")
            } else {
                format!("tcp://{host}:{port}")
            }
        }
    };
    std::ffi::OsStr::from_bytes(line.as_bytes())
        .to_str()
        .unwrap_or_default()
        .parse()
        .map_err(|bad: wetstring_drive::line::BadLine| Fault::new(bad.to_string()))
}
