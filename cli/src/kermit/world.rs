//! The world of scripts in the program: this machine, the ports of `drive`, and the Kermit engines.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::stdio::stdin;
use rustix::termios::isatty;
use wetstring_drive::charset::SharedSets;
use wetstring_drive::port::PATIENCE;
use wetstring_drive::serve::Action;
use wetstring_drive::terminal::Restore;
use wetstring_drive::{LineSpec, Port, Signals, in_words, open};
use wetstring_proto::settings::BadSetting;
use wetstring_script::world::{
    Channel, Connection, Done, Fault, Files, Heard, Kept, Moment, Question, Ran, Scope, Screen,
    Signal, Task,
};
use wetstring_script::{Local, World};

use super::line::Serial;
use super::moving::Mover;
use super::serving::allowed_at_first;
use crate::config::Everything;
use crate::opening::why_not;
use crate::voice::{Level, Voice};

/// What a shut port and a wait for its child may take.
pub(super) const LONGEST_POLL: Duration = Duration::from_millis(500);

/// The real world.
pub(super) struct Live<'a> {
    pub(super) local: Local,
    pub(super) voice: &'a Voice,
    pub(super) settings: Everything,
    pub(super) signals: &'a Signals,
    pub(super) port: Option<Box<dyn Port>>,
    /// How it was opened.
    pub(super) spec: Option<LineSpec>,
    /// What came and was not taken yet.
    pub(super) ahead: VecDeque<u8>,
    pub(super) trace: Option<PathBuf>,
    /// Without a connection, stdin and stdout are the line: nobody reads commands there.
    pub(super) may_use_stdio: bool,
    /// What clients of ours see; the current directory if nothing.
    pub(super) root: Option<PathBuf>,
    /// What clients of ours may do, and which of them.
    pub(super) allowed: BTreeMap<Action, Scope>,
    /// SET SPEED and its like, for serial lines.
    pub(super) serial: Serial,
    /// SET FILE DISPLAY NONE.
    pub(super) display_none: bool,
    /// No text is translated (SET TRANSFER TRANSLATION OFF).
    pub(super) as_is: bool,
    /// A server in which nothing moves for so long is over.
    pub(super) silence: Option<Duration>,
    /// The character sets of a client that is served, which it may change.
    pub(super) sets: Option<SharedSets>,
    /// LOG DEBUG.
    pub(super) debug: Option<PathBuf>,
    /// LOG SESSION.
    session: Option<File>,
}

impl<'a> Live<'a> {
    pub(super) fn new(
        voice: &'a Voice,
        mut settings: Everything,
        signals: &'a Signals,
        trace: Option<PathBuf>,
    ) -> Result<Self, String> {
        let directory = std::env::current_dir()
            .map_err(|e| format!("could not find this directory: {}", in_words(&e)))?;
        // Nothing is translated unasked: TRANSFER MODE MANUAL, FILE TYPE BINARY.
        settings.kermit.manual_mode = true;
        Ok(Self {
            local: Local::new(directory, wetstring_drive::zone::offset_at),
            voice,
            settings,
            signals,
            port: None,
            spec: None,
            ahead: VecDeque::new(),
            trace,
            may_use_stdio: true,
            root: None,
            allowed: allowed_at_first(11),
            serial: Serial::default(),
            display_none: false,
            as_is: false,
            silence: None,
            sets: None,
            debug: None,
            session: None,
        })
    }

    /// SET DELAY: a sender on the terminal's own line gives the person there time to start the receiver.
    fn delay(&mut self, kept: &Kept) -> Result<(), Fault> {
        let seconds = kept.get("delay").and_then(|text| str::from_utf8(text).ok()?.parse().ok());
        let own = self.port.is_none() || self.spec == Some(LineSpec::Stdio);
        match seconds.filter(|seconds| own && *seconds > 0) {
            Some(seconds) if self.pause(Duration::from_secs(seconds), false) => {
                Err(Fault::new("interrupted"))
            }
            _ => Ok(()),
        }
    }

    /// Opens a line as `wst send` has it.
    pub(super) fn open_line(&mut self, spec: &LineSpec) -> Result<(), Fault> {
        self.hang_up()?;
        let voice = self.voice;
        let mut notes = |text: &str| voice.say(Level::Note, text);
        let port = open(spec, Some(self.signals), &mut notes);
        self.port = Some(port.map_err(|bad| Fault::new(why_not(spec, &bad)))?);
        self.spec = Some(spec.clone());
        Ok(())
    }

    /// LOG SESSION: what the other end says.
    pub(super) fn log_session(&mut self, bytes: &[u8]) {
        if let Some(log) = &mut self.session {
            // A full disk shall not end the conversation.
            let _ = log.write_all(bytes);
        }
    }

    fn log(&mut self, what: &str, to: Option<&Vec<u8>>, append: bool) -> Result<Done, Fault> {
        if let Some(name) = to
            && matches!(what, "debug" | "packets" | "session")
        {
            if name.starts_with(b"|") {
                return Err(Fault::absent("a LOG that a command reads"));
            }
            // Now, not when the first packet comes.
            File::options().create(true).append(true).open(self.local.path(name))?;
        }
        match (what, to) {
            ("packets", Some(_)) if self.debug.is_some() => {
                return Err(Fault::new("LOG PACKETS and LOG DEBUG at once are not supported"));
            }
            ("packets", to) => self.trace = to.map(|name| self.local.path(name)),
            ("session", Some(name)) => {
                let mut options = File::options();
                options.create(true).append(append).write(true).truncate(!append);
                self.session = Some(options.open(self.local.path(name))?);
            }
            ("session", None) => self.session = None,
            ("debug", Some(_)) if self.trace.is_some() => {
                return Err(Fault::new("LOG DEBUG and LOG PACKETS at once are not supported"));
            }
            // The trace of the engines says more than C-Kermit's packets.
            ("debug", to) => self.debug = to.map(|name| self.local.path(name)),
            (_, None) => {}
            (what, Some(_)) => return Err(Fault::absent(&format!("LOG {}", what.to_uppercase()))),
        }
        Ok(Done::default())
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

/// Sets a row of the table.
pub(super) fn set_row(settings: &mut Everything, name: &str, value: &str) -> Result<(), Fault> {
    settings.set(name, value).map_err(|bad| match bad {
        BadSetting::Unknown => Fault::new(format!("there is no setting called {name}")),
        BadSetting::Value(row) => {
            Fault::new(format!("expected {} for {name}, got {value}", row.range))
        }
    })
}

pub(super) fn no_connection() -> Fault {
    Fault::new("there is no connection; SET LINE or SET HOST makes one")
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
            ("reliable", Some(port)) => {
                let known = match port.facts().reliable {
                    Some(true) => "yes",
                    Some(false) => "no",
                    None => "unknown",
                };
                Some(known.as_bytes().to_vec())
            }
            ("reliable", None) => None,
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
        let spec = self.serial.spec_of(to)?;
        self.open_line(&spec)
    }

    fn hang_up(&mut self) -> Result<(), Fault> {
        self.ahead.clear();
        self.spec = None;
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
        let ready = if self.ahead.is_empty() { self.fill(wait) } else { Ok(Heard::Byte(0)) };
        match ready {
            Ok(Heard::Byte(_)) => match self.ahead.pop_front() {
                Some(byte) => {
                    self.log_session(&[byte]);
                    Heard::Byte(byte)
                }
                None => Heard::Silence,
            },
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
            Task::Send(sending) => {
                self.delay(kept)?;
                self.send(sending, kept)
            }
            Task::Receive(receiving) => self.receive(receiving, kept),
            Task::Get(getting) => self.get(getting, kept),
            Task::ToStdout { names } => self.to_stdout(names.as_deref()),
            Task::Remote(remote) => self.remote(remote),
            Task::Transmit { file, binary } => self.transmit_file(file, *binary, kept),
            Task::Log { what, to, append } => self.log(what, to.as_ref(), *append),
            Task::Serve => self.serve(kept),
            Task::Terminal => self.talk(kept),
            Task::Allow { what, scope } => self.allow(what, *scope),
            Task::AllowAsIn { version } => {
                self.allowed = allowed_at_first(*version);
                Ok(Done::default())
            }
        }
    }

    fn keep(&mut self, name: &str, value: &[u8]) -> Result<(), Fault> {
        let text = String::from_utf8_lossy(value).into_owned();
        match name {
            "speed" | "flow-control" | "stop-bits" => {
                self.serial.set(name, &text)?;
                self.set_up_again()?;
            }
            "file display" => self.display_none = text == "none",
            "file system-id" => {
                let say = format!("expected two characters of a system id, got {text}");
                let id = value.try_into().map_err(|_| Fault::new(say))?;
                self.settings.kermit.system = id;
            }
            "file end-of-line" => self.settings.kermit.crlf_files = text == "crlf",
            "transfer mode" => {
                self.settings.kermit.manual_mode = text == "manual";
                self.settings.kermit.alike_as_is = text == "automatic";
            }
            "transfer translation" => self.as_is = text == "off",
            "escape-character" => {
                let say = format!("expected a code below 128 or ^X, got {text}");
                super::terminal::escape_character(value).ok_or_else(|| Fault::new(say))?;
            }
            "file download-directory" => {
                let path = self.local.path(value);
                if !value.is_empty() && !path.is_dir() {
                    return Err(Fault::new(format!("expected a directory, got {text}")));
                }
            }
            "duplex"
            | "receive confirm"
            | "send pathnames"
            | "receive pathnames"
            | "server display"
            | "server idle-timeout"
            | "server login"
            | "delay"
            | "file scan"
            | "transmit eof"
            | "transmit linefeed"
            | "transmit pause" => {}
            _ => return Err(Fault::new(format!("SET {name} has no effect here"))),
        }
        Ok(())
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), Fault> {
        // A type that is said counts, whatever the systems are.
        if name == "kermit.receive-kind" && !self.settings.kermit.alike_as_is {
            self.settings.kermit.manual_mode = true;
        }
        set_row(&mut self.settings, name, value)
    }

    fn shown(&mut self, name: &str) -> Option<String> {
        if name == "server functions" {
            return Some(self.served());
        }
        let mut out = String::new();
        self.settings.show(name, &mut out).ok()?;
        Some(out)
    }
}
