//! SEND, RECEIVE, GET, REMOTE, LOG, TRANSMIT and the connection: from C-Kermit's syntax to tasks.

use crate::fields::Fields;
use crate::interp::Interp;
use crate::keywords::{Found, Verb, word_of};
use crate::text::{lossy, trim, ungroup};
use crate::trouble::{Flow, Trouble};
use crate::world::{
    Confirm, Connection, Done, Fault, Getting, Mode, Pathnames, Question, Receiving, Remote, Scope,
    Sending, Task,
};

/// The default code of EXIT: the sum of all failures, as in C-Kermit.
mod exit {
    /// A transfer could not start.
    pub(super) const BEGIN: i32 = 1;
    /// A file was not sent.
    pub(super) const SEND: i32 = 2;
    /// A file was not received.
    pub(super) const RECEIVE: i32 = 4;
    /// A server command, sent or received.
    pub(super) const REMOTE: i32 = 8;
}

/// Keywords of REMOTE.
pub(super) const REMOTE: &[&str] = &[
    "assign",
    "cd",
    "cdup",
    "copy",
    "cwd",
    "delete",
    "directory",
    "exit",
    "help",
    "host",
    "kermit",
    "login",
    "logout",
    "message",
    "mkdir",
    "print",
    "pwd",
    "query",
    "rename",
    "rmdir",
    "set",
    "space",
    "status",
    "type",
    "who",
];

/// Keywords of REMOTE SET with the number of their words, as in C-Kermit.
const REMOTE_SET: &[(&str, &[&str])] = &[
    ("attributes", &["all", "date", "disposition", "encoding", "length", "system-id", "type"]),
    ("block-check", &[]),
    ("file", &["character-set", "collision", "incomplete", "names", "type"]),
    ("match", &["dotfile", "fifo"]),
    ("receive", &["packet-length", "timeout"]),
    ("retry", &[]),
    ("server", &["cd-message", "timeout"]),
    ("transfer", &["character-set", "mode"]),
    ("window", &[]),
];

const COLLISIONS: &[&str] =
    &["append", "ask", "backup", "discard", "overwrite", "reject", "rename", "replace", "update"];

const SERVED: &[&str] = &[
    "all",
    "assign",
    "bye",
    "cd",
    "copy",
    "delete",
    "directory",
    "exit",
    "finish",
    "get",
    "host",
    "mail",
    "mkdir",
    "print",
    "query",
    "rename",
    "rmdir",
    "send",
    "set",
    "space",
    "type",
    "who",
];

/// Switches of SEND and GET.
const SWITCHES: &[&str] = &[
    "/after",
    "/array",
    "/as-name",
    "/before",
    "/binary",
    "/calibrate",
    "/command",
    "/confirm",
    "/delete",
    "/dotfiles",
    "/except",
    "/filenames",
    "/filter",
    "/image",
    "/larger-than",
    "/listfile",
    "/mail",
    "/move-to",
    "/nobackupfiles",
    "/nodotfiles",
    "/nofollowlinks",
    "/not-after",
    "/not-before",
    "/pathnames",
    "/pipes",
    "/print",
    "/protocol",
    "/quiet",
    "/recover",
    "/recursive",
    "/rename-to",
    "/smaller-than",
    "/starting-at",
    "/subject",
    "/text",
    "/transparent",
    "/type",
];

/// The values of a transfer's switches.
#[derive(Default)]
struct TransferSwitches {
    as_name: Option<Vec<u8>>,
    text: Option<bool>,
    recover: bool,
    delete: bool,
    recursive: bool,
    paths: Option<Pathnames>,
    disposition: Option<(char, Vec<u8>)>,
    start: u64,
    calibrate: Option<u64>,
    confirm: Option<Confirm>,
    listfile: Option<Vec<u8>>,
    except: Vec<Vec<u8>>,
    smaller: Option<u64>,
    larger: Option<u64>,
}

impl Interp<'_> {
    /// Passes a task to the world with the settings of the language, and stores its report.
    pub fn task(&mut self, task: &Task) -> Result<Done, Fault> {
        let done = self.world.perform(task, &self.kept)?;
        if let Some(report) = &done.report {
            self.report = Some(report.clone());
        }
        Ok(done)
    }

    /// Passes a task to the world; the report is kept for \v(cps) and others, and EXIT counts failures.
    pub(crate) fn perform(&mut self, task: &Task) -> Result<Flow, Trouble> {
        let phase = match task {
            Task::Send(_) => exit::SEND,
            Task::Receive(_) | Task::Get(_) | Task::ToStdout { .. } => exit::RECEIVE,
            Task::Remote(_) | Task::Serve => exit::REMOTE,
            _ => 0,
        };
        let done = match self.task(task) {
            Ok(done) => done,
            // The protocol failed, not the command.
            Err(fault) if phase != 0 => {
                self.exit_code |= if matches!(task, Task::Serve) { phase } else { exit::BEGIN };
                self.complain(&fault.text);
                return Ok(Flow::Next);
            }
            Err(fault) => return Err(fault.into()),
        };
        self.status = 0;
        if done.refused {
            self.exit_code |= exit::REMOTE;
        }
        if let Some(report) = done.report {
            self.status = i64::from(!report.done);
            if !report.done {
                self.exit_code |= if report.begun { phase } else { exit::BEGIN };
                if !self.settings.quiet {
                    self.complain(&report.message);
                }
            }
        }
        if !done.text.is_empty() {
            self.answer.clone_from(&done.text);
        }
        Ok(if done.over { Flow::Exit(self.exit_code) } else { Flow::Next })
    }

    pub(crate) fn connect(&mut self, to: &Connection) -> Result<Flow, Trouble> {
        self.received = crate::received::Received::default();
        // An unreachable host is no error in the command: the script may test the status.
        match self.world.connect(to) {
            Ok(()) => self.status = 0,
            Err(fault) => self.complain(&fault.text),
        }
        Ok(Flow::Next)
    }

    pub(crate) fn hang_up(&mut self) -> Result<Flow, Trouble> {
        self.world.hang_up()?;
        self.status = 0;
        Ok(Flow::Next)
    }

    pub(crate) fn pipe_connection(
        &mut self,
        fields: &mut Fields<'_>,
        _verb: Verb,
    ) -> Result<Flow, Trouble> {
        let command = self.expand(ungroup(fields.rest()))?;
        self.connect(&Connection::Program { command, terminal: false })
    }

    fn said(&mut self, fields: &mut Fields<'_>) -> Result<TransferSwitches, Trouble> {
        let mut said = TransferSwitches::default();
        while let Some(word) = fields.peek().filter(|w| !w.grouped && w.text.starts_with(b"/")) {
            let at = word.text.iter().position(|b| *b == b':');
            let name = &word.text[..at.unwrap_or(word.text.len())];
            let name = match word_of(SWITCHES, name) {
                Found::One(name) => name,
                _ if name[1..].contains(&b'/') || at.is_none() && self.is_file(word.text) => break,
                _ => {
                    let say = format!("expected a switch of SEND or GET, got {}", lossy(name));
                    return Err(Trouble::new(say));
                }
            };
            let value = match at {
                Some(at) if word.text.get(at + 1) == Some(&b'{') => {
                    fields.skip(at + 1);
                    fields.field().map(|word| word.text).unwrap_or_default()
                }
                Some(at) => {
                    fields.field();
                    &word.text[at + 1..]
                }
                None => {
                    fields.field();
                    b""
                }
            };
            let value = self.expand(ungroup(value))?;
            self.switch(&mut said, name, value)?;
        }
        Ok(said)
    }

    fn is_file(&mut self, name: &[u8]) -> bool {
        self.world.files().facts(name, true).is_some()
    }

    fn switch(
        &mut self,
        said: &mut TransferSwitches,
        name: &str,
        value: Vec<u8>,
    ) -> Result<(), Trouble> {
        let size = |this: &mut Self, value: &[u8]| {
            this.number(value).map(|size| u64::try_from(size).unwrap_or(0))
        };
        match name {
            "/as-name" => said.as_name = Some(value),
            "/text" => said.text = Some(true),
            "/binary" | "/image" | "/transparent" => said.text = Some(false),
            "/recover" => {
                said.recover = true;
                said.text = Some(false);
            }
            "/delete" => said.delete = true,
            "/recursive" => said.recursive = true,
            "/mail" => said.disposition = Some(('M', value)),
            "/print" => said.disposition = Some(('P', value)),
            "/starting-at" => said.start = size(self, &value)?,
            "/calibrate" => {
                let size = if value.is_empty() { 0 } else { size(self, &value)? };
                let kilobytes = if size == 0 { 1024 } else { size };
                said.calibrate = Some(kilobytes.saturating_mul(1024));
            }
            "/confirm" => {
                said.confirm =
                    Some(match self.choice(&mut Fields::new(&value), &["all", "off", "on"])? {
                        "off" => Confirm::Off,
                        "on" => Confirm::On,
                        _ => Confirm::All,
                    });
            }
            "/listfile" => said.listfile = Some(value),
            "/except" => said.except.push(value),
            "/smaller-than" => said.smaller = Some(size(self, &value)?),
            "/larger-than" => said.larger = Some(size(self, &value)?),
            "/pathnames" => {
                let all = ["absolute", "off", "relative"];
                said.paths = Some(match word_of(&all, &value) {
                    Found::One("absolute") => Pathnames::Absolute,
                    Found::One("relative") => Pathnames::Relative,
                    Found::One(_) => Pathnames::Off,
                    _ => {
                        let (all, got) = (all.join(", "), lossy(&value));
                        return Err(Trouble::new(format!("expected one of {all}, got {got}")));
                    }
                });
            }
            "/quiet" | "/nobackupfiles" | "/nodotfiles" | "/nofollowlinks" | "/filenames"
            | "/pipes" | "/protocol" | "/type" | "/subject" => {}
            _ => {
                return Err(Trouble::new(format!("the switch {name} is not supported")));
            }
        }
        Ok(())
    }

    pub(crate) fn send(&mut self, fields: &mut Fields<'_>, verb: Verb) -> Result<Flow, Trouble> {
        let mut said = self.said(fields)?;
        said.recover |= verb == Verb::Resend;
        said.delete |= matches!(verb, Verb::Move | Verb::Mmove);
        if said.recover {
            said.text = Some(false);
        }
        let mut patterns = Vec::new();
        if matches!(verb, Verb::Msend | Verb::Mmove) {
            while let Some(word) = fields.field() {
                patterns.push(self.expand(word.text)?);
            }
        } else if let Some(word) = fields.field() {
            patterns.push(self.expand(word.text)?);
            let as_name = self.expand(ungroup(fields.rest()))?;
            if !as_name.is_empty() {
                said.as_name = Some(as_name);
            }
        }
        if let Some(name) = said.listfile.take() {
            let mut stream = self.stream(&name, Mode { read: true, ..Mode::default() })?;
            while let Some(line) = stream.line(self.limits.value)? {
                patterns.push(trim(&line).to_vec());
            }
            stream.close()?;
        }
        let mut files = Vec::new();
        for pattern in patterns.iter().filter(|pattern| !pattern.is_empty()) {
            let found = self.matching(pattern, said.recursive)?;
            if found.is_empty() {
                return Err(Trouble::new(format!("no such file: {}", lossy(pattern))));
            }
            files.extend(found);
        }
        files.retain(|name| {
            let last = super::disk::last_part(name);
            let except = said.except.iter().any(|p| crate::pattern::matches(p, last, true));
            let len = self.world.files().facts(name, true).map_or(0, |facts| facts.len);
            !except
                && said.smaller.is_none_or(|size| len < size)
                && said.larger.is_none_or(|size| len > size)
        });
        if files.is_empty() && said.calibrate.is_none() {
            return Err(Trouble::new("expected a file to send, got nothing"));
        }
        self.kept.insert("filespec".to_owned(), patterns.join(&b' '));
        let TransferSwitches { as_name, text, recover, delete, recursive, paths, .. } = said;
        let TransferSwitches { disposition, start, calibrate, .. } = said;
        self.perform(&Task::Send(Sending {
            files,
            as_name,
            text,
            recover,
            delete,
            recursive,
            paths,
            disposition,
            start,
            calibrate,
        }))
    }

    pub(crate) fn receive(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let said = self.said(fields)?;
        let name = self.expand(ungroup(fields.rest()))?;
        let as_name = if name.is_empty() { said.as_name } else { Some(name) };
        let TransferSwitches { confirm, calibrate, .. } = said;
        self.perform(&Task::Receive(Receiving { as_name, confirm, calibrate: calibrate.is_some() }))
    }

    pub(crate) fn get(&mut self, fields: &mut Fields<'_>, verb: Verb) -> Result<Flow, Trouble> {
        let mut said = self.said(fields)?;
        let mut files = Vec::new();
        while let Some(word) = fields.field() {
            files.push(self.expand(word.text)?);
        }
        if verb == Verb::Get && files.len() == 2 && said.as_name.is_none() {
            said.as_name = files.pop();
        }
        if files.is_empty() {
            return Err(Trouble::new("expected a remote file name, got nothing"));
        }
        self.kept.insert("filespec".to_owned(), files.join(&b' '));
        self.perform(&Task::Get(Getting {
            files,
            as_name: said.as_name,
            text: said.text,
            recover: said.recover || verb == Verb::Reget,
            delete: said.delete,
            recursive: said.recursive,
            confirm: said.confirm,
            calibrate: said.calibrate.is_some(),
        }))
    }

    pub(crate) fn at_server(&mut self, verb: &str) -> Result<Flow, Trouble> {
        let remote = Remote { verb: verb.to_owned(), arguments: Vec::new() };
        self.perform(&Task::Remote(remote))
    }

    pub(crate) fn remote(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let verb = self.choice(fields, REMOTE)?;
        let mut arguments = Vec::new();
        match verb {
            "set" => return self.remote_set(fields),
            // These take a text, including blanks.
            "host" | "kermit" | "message" | "type" | "delete" | "directory" | "cd" | "cwd"
            | "help" | "print" | "who" | "mkdir" | "rmdir" => {
                let text = self.expand(ungroup(fields.rest()))?;
                if !text.is_empty() {
                    arguments.push(text);
                }
            }
            "assign" => {
                let name = fields.field().map(|word| word.text).unwrap_or_default();
                arguments.push(self.expand(name)?);
                arguments.push(self.expand(ungroup(fields.rest()))?);
            }
            "query" => {
                let kind = self.choice(fields, &["global", "kermit", "system", "user"])?;
                arguments.push(kind.as_bytes().to_vec());
                arguments.push(self.expand(ungroup(fields.rest()))?);
            }
            "login" => {
                arguments = self.macro_arguments(fields.rest())?;
                for (index, prompt) in [(0, "Username: "), (1, "Password: ")] {
                    if arguments.len() == index {
                        let prompt = prompt.as_bytes().to_vec();
                        let question = Question { prompt, echo: index == 0, wait: None };
                        let missing =
                            || Trouble::new("expected a user and a password, got nothing");
                        arguments.push(self.world.ask(&question).ok_or_else(missing)?);
                    }
                }
            }
            _ => arguments = self.macro_arguments(fields.rest())?,
        }
        let least = match verb {
            "copy" | "rename" => 2,
            "delete" | "host" | "kermit" | "message" | "mkdir" | "rmdir" | "type" => 1,
            _ => 0,
        };
        if arguments.len() < least {
            let (name, got) = (verb.to_uppercase(), arguments.len());
            let say = format!("expected {least} arguments for REMOTE {name}, got {got}");
            return Err(Trouble::new(say));
        }
        self.answer.clear();
        let verb = if verb == "cwd" { "cd" } else { verb };
        self.perform(&Task::Remote(Remote { verb: verb.to_owned(), arguments }))
    }

    /// REMOTE SET: the full keywords, then the value.
    fn remote_set(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let first: Vec<&str> = REMOTE_SET.iter().map(|(name, _)| *name).collect();
        let name = self.choice(fields, &first)?;
        let below = REMOTE_SET.iter().find(|(n, _)| *n == name).map_or(&[][..], |(_, list)| *list);
        let mut path = name.to_owned();
        if !below.is_empty() {
            path = format!("{name} {}", self.choice(fields, below)?);
        }
        let value = match path.as_str() {
            "file collision" => self.choice(fields, COLLISIONS)?.as_bytes().to_vec(),
            "file type" => self.choice(fields, &["binary", "labeled", "text"])?.as_bytes().to_vec(),
            "file names" => self.choice(fields, &["converted", "literal"])?.as_bytes().to_vec(),
            "file incomplete" => {
                self.choice(fields, &["automatic", "discard", "keep"])?.as_bytes().to_vec()
            }
            "receive packet-length" | "receive timeout" | "retry" | "window" | "server timeout" => {
                let missing = || Trouble::new("expected a number, got nothing");
                let word = fields.field().ok_or_else(missing)?;
                self.evaluated_number(word.text)?.to_string().into_bytes()
            }
            _ => self.expand(ungroup(fields.rest()))?,
        };
        let arguments = vec![path.into_bytes(), value];
        self.perform(&Task::Remote(Remote { verb: "set".to_owned(), arguments }))
    }

    pub(crate) fn log(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let all = ["connections", "cx", "debugging", "packets", "session", "transactions"];
        let what = match self.choice(fields, &all)? {
            "connections" | "cx" => "connections",
            "debugging" => "debug",
            other => other,
        };
        let default = format!("{what}.log").into_bytes();
        let name = match fields.field() {
            Some(word) => self.expand(word.text)?,
            None => default,
        };
        let append = !fields.is_over() && self.choice(fields, &["append", "new"])? == "append";
        let key = match what {
            "connections" => "log.cx-log".to_owned(),
            "packets" => "log.packet-log".to_owned(),
            "transactions" => "log.transaction-log".to_owned(),
            other => format!("log.{other}-log"),
        };
        let to = Some(name.clone());
        let flow = self.perform(&Task::Log { what: what.to_owned(), to, append })?;
        self.kept.insert(key, name);
        Ok(flow)
    }

    /// CLOSE of a log; closing one that is not open succeeds.
    pub(crate) fn close_log(&mut self, log: &str) -> Result<Flow, Trouble> {
        if self.kept.remove(&format!("log.{log}")).is_none() {
            return Ok(Flow::Next);
        }
        let what = match log {
            "cx-log" => "connections",
            "packet-log" => "packets",
            "transaction-log" => "transactions",
            "session-log" => "session",
            _ => "debug",
        };
        self.perform(&Task::Log { what: what.to_owned(), to: None, append: false })
    }

    pub(crate) fn transmit_file(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let said = self.said(fields)?;
        let name = self.expand(ungroup(fields.rest()))?;
        if name.is_empty() {
            return Err(Trouble::new("expected the name of a file, got nothing"));
        }
        self.perform(&Task::Transmit { file: name, binary: said.text == Some(false) })
    }

    pub(crate) fn allow(
        &mut self,
        fields: &mut Fields<'_>,
        allowed: bool,
    ) -> Result<Flow, Trouble> {
        let what = self.choice(fields, SERVED)?.to_owned();
        let scope = if !allowed {
            Scope::Disabled
        } else if fields.is_over() {
            Scope::Both
        } else {
            match self.choice(fields, &["both", "local", "remote"])? {
                "local" => Scope::Local,
                "remote" => Scope::Remote,
                _ => Scope::Both,
            }
        };
        self.perform(&Task::Allow { what, scope })
    }
}
