//! The world of scripts in the program: this machine, the ports of `drive`, and the Kermit engines.

use std::time::{Duration, Instant};

use std::io::{IsTerminal as _, stdin};
use wetstring_drive::event::{Interest, wait};
use wetstring_drive::port::PATIENCE;
use wetstring_drive::terminal;
use wetstring_proto::registry::Carrier;
use wetstring_proto::settings::Setting;
use wetstring_protocols::Protocol;
use wetstring_script::World;
use wetstring_script::world::{
    Channel, Connection, Done, Fault, Files, Heard, Kept, Moment, Question, Ran, Screen, Signal,
    Task,
};

use super::live::{LONGEST_POLL, Live, families, no_connection, set_row};
use super::server_rights::allowed_at_first;
use super::transfers::TransferWorld;
use crate::config::Settings;

/// Waits for a key, at most this long.
fn key_within(time: Option<Duration>) -> bool {
    matches!(wait(&mut [Interest::read(terminal::stdin::source())], time), Ok(true))
}

impl World for Live<'_> {
    fn say(&mut self, to: Screen, text: &[u8]) {
        self.local.say(to, text);
    }

    fn ask(&mut self, question: &Question) -> Option<Vec<u8>> {
        // A password is not echoed; its line end is printed afterwards.
        let hidden =
            (!question.echo && stdin().is_terminal()).then(|| terminal::stdin::silent().ok());
        self.say(Screen::Output, &question.prompt);
        if question.wait.is_some() && !key_within(question.wait) {
            return None;
        }
        let silent = Question { prompt: Vec::new(), ..question.clone() };
        let answer = self.local.ask(&silent);
        if hidden.is_some() {
            self.say(Screen::Output, b"\n");
        }
        answer
    }

    fn key(&mut self, wait: Option<Duration>) -> Option<u8> {
        let _restore = stdin().is_terminal().then(|| terminal::stdin::keys().ok());
        if !key_within(wait) {
            return None;
        }
        let mut key = [0];
        matches!(terminal::stdin::read(&mut key), Ok(1)).then_some(key[0])
    }

    fn now(&mut self) -> Moment {
        self.local.now()
    }

    fn offset_at(&mut self, unix_s: i64) -> i32 {
        self.local.offset_at(unix_s)
    }

    fn pause(&mut self, time: Duration, keys: bool) -> bool {
        let until = Instant::now() + time;
        let terminal = keys && stdin().is_terminal();
        let _restore = terminal.then(|| terminal::stdin::keys().ok());
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            let mut interests =
                [Interest::read(self.signals.source()), Interest::read(terminal::stdin::source())];
            let used = if terminal { 2 } else { 1 };
            if matches!(wait(&mut interests[..used], Some(left)), Ok(true)) {
                let pressed = interests[1].is_ready();
                if pressed {
                    let mut keys = [0; 64];
                    let _ = terminal::stdin::read(&mut keys);
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
        // The command may read the terminal by itself.
        terminal::stdin::let_go();
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
                return Err(Fault::new("the connection is stalled"));
            }
            let _ = wait(&mut [Interest::write(port.write_source())], Some(LONGEST_POLL));
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
                // A hang-up by the peer ends the connection here too.
                drop(self.hang_up());
                Heard::Lost
            }
        }
    }

    fn perform(&mut self, task: &Task, kept: &Kept) -> Result<Done, Fault> {
        let of_servers = matches!(task, Task::Get(_) | Task::Remote(_) | Task::Serve);
        if of_servers && self.protocol != Protocol::default() {
            let got = self.protocol.name.to_uppercase();
            let say = format!("expected SET TRANSFER PROTOCOL KERMIT for a server, got {got}");
            return Err(Fault::new(say));
        }
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
            "transfer protocol" => {
                let expected = |names| Fault::new(format!("expected one of {names}, got {text}"));
                self.protocol = Protocol::of_bytes_by(&text).map_err(expected)?;
            }
            "file display" => {
                self.display_none = matches!(text.as_str(), "none" | "off" | "quiet");
            }
            "file system-id" => {
                let say = format!("expected two characters of a system id, got {text}");
                let id = value.try_into().map_err(|_| Fault::new(say))?;
                self.settings.kermit_mut().system = id;
            }
            "file end-of-line" => self.settings.kermit_mut().crlf_files = text == "crlf",
            "transfer mode" => {
                self.settings.kermit_mut().manual_mode = text == "manual";
                self.settings.kermit_mut().alike_as_is = text == "automatic";
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

    fn rows(&self) -> Vec<&'static Setting> {
        Settings::rows().collect()
    }

    fn families(&self) -> Vec<(&'static str, &'static str)> {
        families()
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), Fault> {
        // An explicit type counts, regardless of the systems.
        if name == "kermit.receive-kind" && !self.settings.kermit().alike_as_is {
            self.settings.kermit_mut().manual_mode = true;
        }
        set_row(&mut self.settings, name, value, |other| other.carrier == Carrier::Bytes)
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
