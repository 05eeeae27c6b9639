//! SEND, RECEIVE, GET and REMOTE: the engines of Kermit on the connection of a script.

use std::io::{IsTerminal as _, sink, stderr, stdin, stdout};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use wetstring_drive::charset::{Sets, Translated};
use wetstring_drive::disk::{
    DiskStore, FileOutcome, FileRecord, PathRule, ReceiveOptions, Resume, SendOptions, Source,
};
use wetstring_drive::serve::tree::words;
use wetstring_drive::{LineSpec, RunOptions, SinkStore, in_words, run};
use wetstring_proto::kermit::command::{Get as GetFiles, ServerCommand};
use wetstring_proto::kermit::{Client, Names};
use wetstring_proto::{Engine, FileKind, Outcome, Store};
use wetstring_script::world::{
    Confirm, Done, Fault, Getting, Kept, Pathnames, Receiving, Remote, Report, Scope, Screen,
    Sending,
};
use wetstring_script::{Local, World};

use super::confirm::{Asker, Confirming, Generated, ask_whether, asked_for};
use super::live::{Live, no_connection};
use super::transfer_info::Seen;
use crate::config::Settings;
use crate::config::protocol::{Engines as _, Protocol};
use crate::transfer::cleartext::{self, What};
use crate::transfer::client::answer::{Screen as Answer, name_list};
use crate::transfer::client::remote;
use crate::transfer::client::requested::{Requested, RequestedOnly};
use crate::transfer::direction::Direction;
use crate::transfer::observer::Observer;
use crate::transfer::trace::Recorder;
use crate::transfer::verdict::say_lost;
use crate::transfer::{port_facts, terminal_hint};
use crate::ui::format::safe;
use crate::ui::output::{Level, Output};

/// The result of an engine.
pub(super) struct EngineResult {
    pub(super) outcome: Outcome,
    pub(super) report: Report,
    /// Short answers of a server.
    pub(super) replies: Vec<Vec<u8>>,
}

/// Makes an engine from settings that include the facts of the line.
pub(super) type Make<'m> = &'m dyn Fn(&Settings) -> Result<Box<dyn Engine>, String>;

/// How much of the paths is sent, by SET SEND PATHNAMES.
fn kept_paths(kept: &Kept) -> Pathnames {
    let kept = kept.get("send pathnames").map_or(&b"off"[..], |value| value);
    if kept.starts_with(b"rel") {
        Pathnames::Relative
    } else if kept.starts_with(b"abs") {
        Pathnames::Absolute
    } else {
        Pathnames::Off
    }
}

/// A name without parts that lead to the root or upwards.
fn below(mut name: &[u8]) -> &[u8] {
    while let Some(rest) = [&b"/"[..], b"./", b"../"].iter().find_map(|at| name.strip_prefix(*at)) {
        name = rest;
    }
    name
}

/// Whether files are text by default.
pub(super) fn is_text(kept: &Kept) -> bool {
    kept.get("file type").is_some_and(|value| value == b"text")
}

/// Whether text and binary files are distinguished by content: TRANSFER MODE AUTOMATIC.
pub(super) fn detects(kept: &Kept) -> bool {
    let scans = kept.get("file scan").is_none_or(|value| value != b"off");
    scans && kept.get("transfer mode").is_some_and(|value| value == b"automatic")
}

/// The server command for a command of the language.
pub(super) fn command_of<'r>(words: &[&'r [u8]]) -> Result<ServerCommand<'r>, Fault> {
    remote::command(words).map_err(Fault::new)
}

/// The words of a command of the language.
pub(super) fn words_of(remote: &Remote) -> Vec<&[u8]> {
    let arguments = remote.arguments.iter().map(Vec::as_slice);
    std::iter::once(remote.verb.as_bytes()).chain(arguments).collect()
}

/// The GET request; `names` is a list in the server's syntax.
pub(super) fn command_to_get<'n>(getting: &Getting, names: &'n [u8]) -> ServerCommand<'n> {
    let kind = |text| if text { FileKind::Text } else { FileKind::Binary };
    ServerCommand::Get(GetFiles {
        names,
        delete: getting.delete,
        recursive: getting.recursive,
        recover: getting.recover,
        is_command: false,
        kind: getting.text.map(kind),
    })
}

/// A client of a server.
pub(super) fn client(
    settings: &Settings,
    command: &ServerCommand<'_>,
) -> Result<Box<dyn Engine>, String> {
    let config = settings.kermit().clone();
    let memory = vec![0; config.client_memory()];
    Ok(Box::new(Client::new(config, command, memory).map_err(|bad| bad.to_string())?))
}

/// The server's answer, short and long.
pub(super) fn whole_answer(replies: &[Vec<u8>], long: &[u8]) -> Vec<u8> {
    let mut text = replies.concat();
    if !text.is_empty() {
        text.push(b'\n');
    }
    text.extend_from_slice(long);
    text
}

/// Transfers files for a script, in real time or in the laboratory: how engines are run, and
/// what follows from it.
pub(super) trait TransferWorld: World {
    /// The files of this machine.
    fn local(&self) -> &Local;
    /// The settings.
    fn settings(&self) -> &Settings;
    /// The protocol of SEND and RECEIVE.
    fn protocol(&self) -> Protocol {
        Protocol::default()
    }
    /// Whether stdin may be sent as a file.
    fn takes_stdin(&self) -> bool {
        false
    }
    /// Runs an engine on the connection until it ends.
    fn turn(
        &mut self,
        make: Make<'_>,
        store: &mut dyn Store,
        direction: Direction,
        quiet: bool,
    ) -> Result<EngineResult, Fault>;

    /// SEND.
    fn send(&mut self, sending: &Sending, kept: &Kept) -> Result<Done, Fault> {
        if sending.start > 0 || sending.disposition.is_some() {
            return Err(Fault::absent("SEND with /STARTING-AT, /MAIL or /PRINT"));
        }
        let protocol = self.protocol();
        let make: Make<'_> = &|all| protocol.sender(all);
        if let Some(size) = sending.calibrate {
            let mut generated = Generated::new(size);
            let turned = self.turn(make, &mut generated, Direction::Send, false)?;
            return Ok(Done { report: Some(turned.report), ..Done::default() });
        }
        if sending.as_name.is_some() && sending.files.len() > 1 {
            let got = sending.files.len();
            return Err(Fault::new(format!("expected one file with an as-name, got {got}")));
        }
        if !protocol.tells_names && sending.files.len() > 1 {
            let (title, got) = (protocol.title, sending.files.len());
            return Err(Fault::new(format!("expected one file for {title}, got {got}")));
        }
        let paths = match sending.paths {
            Some(paths) => paths,
            None if sending.recursive => Pathnames::Relative,
            None => kept_paths(kept),
        };
        let source = |name: &Vec<u8>| {
            let source = match (&name[..], &sending.as_name) {
                (b"-", Some(as_name)) if self.takes_stdin() => Source::stdin(as_name.clone()),
                _ => Source::path(self.local().path(name)),
            };
            match (&sending.as_name, paths) {
                (Some(name), _) => source.named(name.clone()),
                (None, Pathnames::Off) => source,
                // The path as given, not as resolved.
                (None, Pathnames::Relative) => source.named(below(name).to_vec()),
                (None, Pathnames::Absolute) => {
                    source.named(self.local().path(name).into_os_string().into_encoded_bytes())
                }
            }
        };
        let sources: Vec<Source> = sending.files.iter().map(source).collect();
        let text = sending.text.unwrap_or_else(|| is_text(kept));
        let options = SendOptions {
            kind: if text { FileKind::Text } else { FileKind::Binary },
            resume: sending.recover,
            detect: sending.text.is_none() && detects(kept),
            common_names: self.settings().kermit().names == Names::Converted,
            ..SendOptions::default()
        };
        let mut disk = DiskStore::sending(sources, options);
        for renamed in disk.renamed() {
            let (own, wire) = (safe(&renamed.own), safe(&renamed.wire));
            let path = safe(&sending.files[renamed.index]);
            let say =
                format!("{path} is sent as {wire}: another file of this batch is called {own}\n");
            self.say(Screen::Error, say.as_bytes());
        }
        let batch = disk.batch();
        let make: Make<'_> = &|all| {
            let mut all = all.clone();
            all.kermit_mut().batch = batch;
            protocol.sender(&all)
        };
        let turned = self.turn(make, &mut disk, Direction::Send, false)?;
        let report = with_files(turned.report, disk.files(), disk.last_error());
        if sending.delete {
            delete_sent(disk.files())?;
        }
        Ok(Done { report: Some(report), ..Done::default() })
    }

    /// Where received files are stored.
    fn inbox(
        &self,
        kept: &Kept,
        as_name: Option<&Vec<u8>>,
        resume: Resume,
        paths: bool,
    ) -> Result<DiskStore, Fault> {
        let options = ReceiveOptions {
            collision: self.settings().store.collision,
            incomplete: self.settings().store.incomplete,
            resume,
            verify: self.settings().store.verify,
            holes: self.settings().store.holes,
            paths: if paths { PathRule::Relative } else { PathRule::LastOnly },
            name: as_name.cloned(),
            ..ReceiveOptions::default()
        };
        let directory = kept.get("file download-directory").filter(|name| !name.is_empty());
        let directory = self.local().path(directory.map_or(&b"."[..], |name| name));
        Ok(DiskStore::receiving(&directory, options)?)
    }

    /// Asks the user before files are stored, if possible and if this end of the connection
    /// is one of these.
    fn asker(&self, _scope: Scope) -> Option<Asker> {
        None
    }

    /// The same, by the settings and the command.
    fn asker_of(&self, kept: &Kept, switch: Option<Confirm>) -> (Confirm, Option<Asker>) {
        let (level, scope) = asked_for(kept, switch);
        (level, if level == Confirm::Off { None } else { self.asker(scope) })
    }

    fn receive(&mut self, receiving: &Receiving, kept: &Kept) -> Result<Done, Fault> {
        let protocol = self.protocol();
        let make: Make<'_> = &|all| Ok(protocol.receiver(all));
        if !protocol.tells_names && receiving.as_name.is_none() && !receiving.calibrate {
            let title = protocol.title;
            return Err(Fault::new(format!("expected RECEIVE with a name: {title} sends none")));
        }
        let (_, asker) = self.asker_of(kept, receiving.confirm);
        let mut sink = SinkStore::new(sink());
        let paths = kept.get("receive pathnames").is_some_and(|value| value.starts_with(b"rel"));
        let as_name = receiving.as_name.as_ref();
        let mut disk = self.inbox(kept, as_name, self.settings().store.resume, paths)?;
        let store: &mut dyn Store = if receiving.calibrate { &mut sink } else { &mut disk };
        let mut store = Confirming::new(store, asker);
        let turned = self.turn(make, &mut store, Direction::Receive, false)?;
        let report = store.ended(turned.report);
        let report = if receiving.calibrate {
            with_files(report, sink.files(), sink.last_error())
        } else {
            with_files(report, disk.files(), disk.last_error())
        };
        Ok(Done { report: Some(report), ..Done::default() })
    }

    /// Requests files from the server, and receives them.
    fn get(&mut self, getting: &Getting, kept: &Kept) -> Result<Done, Fault> {
        let names = name_list(getting.files.iter().map(Vec::as_slice));
        let command = command_to_get(getting, &names);
        let resume = if getting.recover { Resume::Existing } else { Resume::Never };
        let (level, asker) = self.asker_of(kept, getting.confirm);
        let below = getting.recursive && level != Confirm::All;
        let make: Make<'_> = &|all| client(all, &command);
        let mut sink = SinkStore::new(sink());
        let mut disk = self.inbox(kept, getting.as_name.as_ref(), resume, getting.recursive)?;
        let store: &mut dyn Store = if getting.calibrate { &mut sink } else { &mut disk };
        let asked = Requested::new(getting.files.iter().map(Vec::as_slice), below);
        let mut store = Confirming::new(store, asker).of(asked, level != Confirm::Off);
        let mut answer = Answer::new(Some(&mut store));
        let turned = self.turn(make, &mut answer, Direction::Receive, false)?;
        self.show(&whole_answer(&turned.replies, &answer.text));
        let report = store.ended(turned.report);
        let mut report = if getting.calibrate {
            with_files(report, sink.files(), sink.last_error())
        } else {
            with_files(report, disk.files(), disk.last_error())
        };
        if report.done && report.files == 0 && !report.begun {
            report.done = false;
            "the server sent no files".clone_into(&mut report.message);
        }
        Ok(Done { report: Some(report), ..Done::default() })
    }

    /// Receives to stdout, or gets from a server to it (`kermit -k`, `-G`).
    fn to_stdout(&mut self, names: Option<&[u8]>) -> Result<Done, Fault> {
        let mut sink = SinkStore::new(stdout());
        let protocol = self.protocol();
        let make: Make<'_> = &|all| Ok(protocol.receiver(all));
        let turned = match names {
            None => self.turn(make, &mut sink, Direction::Receive, true),
            Some(names) => {
                let command = ServerCommand::Get(GetFiles { names, ..GetFiles::default() });
                let asked = words(names).into_iter();
                let mut wanted = RequestedOnly::new(&mut sink, asked, false);
                let make: Make<'_> = &|all| client(all, &command);
                let mut turned = self.turn(make, &mut wanted, Direction::Receive, true)?;
                if let Some(other) = wanted.other_than_asked().filter(|_| turned.report.done) {
                    turned.report.done = false;
                    turned.report.message = other;
                }
                Ok(turned)
            }
        }?;
        let report = with_files(turned.report, sink.files(), sink.last_error());
        Ok(Done { report: Some(report), ..Done::default() })
    }

    /// Warns before a password is sent in clear.
    fn warn_of_password(&self) {}

    fn remote(&mut self, remote: &Remote) -> Result<Done, Fault> {
        if remote.verb == "login" {
            self.warn_of_password();
        }
        let words = remote::on_the_wire(&words_of(remote));
        let words: Vec<&[u8]> = words.iter().map(|word| &word[..]).collect();
        let command = command_of(&words)?;
        let mut answer = Answer::new(None);
        let make: Make<'_> = &|all| client(all, &command);
        let turned = self.turn(make, &mut answer, Direction::Receive, true)?;
        if turned.outcome != Outcome::Done {
            return Err(Fault::new(turned.report.message));
        }
        let text = whole_answer(&turned.replies, &answer.text);
        if remote.verb != "query" {
            self.show(&text);
        }
        if remote.verb == "bye" {
            // The server closes it.
            self.hang_up()?;
        }
        Ok(Done { text: turned.replies.concat(), ..Done::default() })
    }

    fn show(&mut self, text: &[u8]) {
        let mut text = safe(text);
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        self.say(Screen::Output, text.as_bytes());
    }
}

/// Printed at a terminal where no line is set, before packets appear there.
const NO_LINE: &str = "no line is set (SET LINE and SET HOST set one), so the peer is expected at this \
     terminal: go back to your local Kermit";
/// Time between that message and the first packet.
const DELAY: Duration = Duration::from_secs(1);

impl TransferWorld for Live<'_> {
    fn local(&self) -> &Local {
        &self.local
    }

    fn settings(&self) -> &Settings {
        &self.settings
    }

    fn protocol(&self) -> Protocol {
        self.protocol
    }

    fn takes_stdin(&self) -> bool {
        self.may_use_stdio
    }

    fn warn_of_password(&self) {
        if let Some(spec) = &self.spec {
            cleartext::warn(self.ui, spec, What::Passwords);
        }
    }

    /// No questions where stdin is the line.
    fn asker(&self, scope: Scope) -> Option<Asker> {
        let end = if self.opened_connection() { Scope::Local } else { Scope::Remote };
        let asks = self.port.is_some() && (scope == Scope::Both || scope == end);
        let signals = self.signals.clone();
        asks.then(|| Box::new(move |name: &str| ask_whether(name, &signals)) as Asker)
    }

    /// Bytes that the engine did not consume are kept. Without a connection the line is this program's own stdin
    /// and stdout: this is then the remote Kermit.
    fn turn(
        &mut self,
        make: Make<'_>,
        store: &mut dyn Store,
        direction: Direction,
        quiet: bool,
    ) -> Result<EngineResult, Fault> {
        let own = self.port.is_none();
        if own {
            if !self.may_use_stdio {
                return Err(no_connection());
            }
            // From here on the terminal is the line, and takes no messages.
            if !quiet {
                let interactive = stdin().is_terminal() && stderr().is_terminal();
                if interactive {
                    self.ui.say(Level::Note, NO_LINE);
                }
                let protocol = Some(self.protocol);
                terminal_hint::say(self.ui, direction, protocol, &self.settings, &LineSpec::Stdio);
                if interactive && direction == Direction::Send {
                    // Time to read that before packets appear.
                    std::thread::sleep(DELAY);
                }
            }
            self.ui.line_is_stdio();
            self.open_line(&LineSpec::Stdio)?;
        }
        let turned = self.turn_engine(make, store, direction, quiet);
        if own {
            let closed = self.hang_up();
            self.ui.line_is_over();
            closed?;
        }
        turned
    }
}

impl Live<'_> {
    fn turn_engine(
        &mut self,
        make: Make<'_>,
        store: &mut dyn Store,
        direction: Direction,
        quiet: bool,
    ) -> Result<EngineResult, Fault> {
        let who = if direction == Direction::Send { "sender" } else { "receiver" };
        let port = self.port.as_mut().ok_or_else(no_connection)?;
        let mut settings = self.settings.clone();
        port_facts::apply(port.facts(), &mut settings);
        let mut engine = make(&settings).map_err(Fault::new)?;
        let mut recorder =
            Recorder::new(self.ui, who, self.trace.as_deref().or(self.debug.as_deref()))
                .map_err(Fault::new)?;
        let before: Vec<u8> = self.ahead.drain(..).collect();
        let silent = Output::silent();
        let ui = if quiet || self.display_none { &silent } else { self.ui };
        let mut seen = Seen::new(Observer::new(ui, direction, port.carries_bps()));
        let mut options = RunOptions::new(&mut recorder);
        options.signals = Some(self.signals);
        options.before = &before;
        options.silence = self.silence;
        let sets = self.sets.clone();
        // Only Kermit says which character set a file is in.
        let as_is = self.as_is || self.protocol != Protocol::default();
        let own = if as_is { Sets::AS_IS } else { Sets::from(settings.kermit()) };
        let sets = sets.unwrap_or_else(|| Arc::new(Mutex::new(own)));
        let mut store = Translated::following(store, sets);
        let ended = run(&mut *engine, &mut **port, &mut store, &mut seen, options);
        seen.finish();
        say_lost(self.ui, store.lost());
        let (_, error) = recorder.finish();
        if let Some(why) = error {
            self.ui.say(Level::Error, &format!("could not write the trace: {why}"));
        }
        self.ahead.extend(&ended.leftover);
        let mut report = seen.told.report(ended.outcome, &ended.stats, ended.elapsed);
        // A peer that answers the first file with an error refused it.
        report.begun |= direction == Direction::Send && seen.told.agreed();
        if ended.outcome != Outcome::Done && ended.error.is_some() {
            self.hang_up()?;
        }
        let replies = std::mem::take(&mut seen.told.replies);
        Ok(EngineResult { outcome: ended.outcome, report, replies })
    }

    /// TRANSMIT: a file unchanged if binary; otherwise with line ends as CR, by the settings of TRANSMIT.
    pub(super) fn transmit_file(
        &mut self,
        name: &[u8],
        binary: bool,
        kept: &Kept,
    ) -> Result<Done, Fault> {
        let bytes = read(&self.local.path(name))?;
        if binary {
            self.transmit(&bytes)?;
            return Ok(Done::default());
        }
        let text = |name: &str| kept.get(name).map_or(&b""[..], |value| value);
        let line_end: &[u8] = if text("transmit linefeed") == b"on" { b"\r\n" } else { b"\r" };
        let pause = str::from_utf8(text("transmit pause")).ok().and_then(|ms| ms.parse().ok());
        let pause = Duration::from_millis(pause.unwrap_or(0));
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (line, end) = match line.strip_suffix(b"\n") {
                Some(line) => (line, line_end),
                None => (line, &b""[..]),
            };
            self.transmit(&[line, end].concat())?;
            if !pause.is_zero() && self.pause(pause, false) {
                return Err(Fault::new("TRANSMIT was interrupted"));
            }
        }
        self.transmit(text("transmit eof"))?;
        Ok(Done::default())
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Fault> {
    Ok(std::fs::read(path)?)
}

/// Deletes sent files that have not changed since.
fn delete_sent(files: &[FileRecord]) -> Result<(), Fault> {
    let sent = files.iter().filter(|file| file.outcome == FileOutcome::Sent);
    let mut kept = Vec::new();
    for file in sent.filter(|file| file.path.is_some()) {
        if let Err(why) = file.delete_sent() {
            kept.push(format!("{}: sent and not deleted: {why}", safe(&file.wire_name)));
        }
    }
    if kept.is_empty() { Ok(()) } else { Err(Fault::new(kept.join("; "))) }
}

/// Adds what the store knows.
fn with_files(mut report: Report, files: &[FileRecord], error: Option<&str>) -> Report {
    if let Some(last) = files.last() {
        report.last_bytes = last.size;
        report.name.clone_from(&last.wire_name);
    }
    if report.done && files.iter().any(|file| file.changed) {
        report.done = false;
        "a file changed while it was sent".clone_into(&mut report.message);
    }
    if let (false, Some(error)) = (report.done, error) {
        report.message = format!("{}: {}", report.message, in_words(&error));
    }
    report
}
