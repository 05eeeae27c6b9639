//! `wst get`, `wst put` and `wst remote`: the client of a server.

use std::path::Path;

use std::io::{IsTerminal as _, stderr, stdin};
use wetstring_drive::charset::{Sets, Translated};
use wetstring_drive::disk::{PathRule, ReceiveOptions, Resume, SendOptions};
use wetstring_drive::port::{PATIENCE, Purpose, open_attended};
use wetstring_drive::{Ended, LineSpec, Port, RunOptions, Signals, in_words, run};
use wetstring_events::Event;
use wetstring_proto::kermit::command::{Get as GetFiles, ServerCommand};
use wetstring_proto::kermit::{
    Client, Config, FILE_CHANGED, FILE_KEPT, FILE_MISSING, Names, Sender,
};
use wetstring_proto::{Engine, FileKind, Outcome, Store};

use crate::args::Common;
use crate::args::client::{Access, Get, Put, Remote};
use crate::args::line_arg::There;
use crate::config::{Settings, remembered};
use crate::transfer::cleartext::{self, What};
use crate::transfer::client::answer::{Screen, name_list};
use crate::transfer::client::remote;
use crate::transfer::client::requested::RequestedOnly;
use crate::transfer::direction::Direction;
use crate::transfer::observer::Observer;
use crate::transfer::opening::{not_opened, signals};
use crate::transfer::outgoing::{self, outbox};
use crate::transfer::port_facts;
use crate::transfer::setup::prepare;
use crate::transfer::store::FileStore;
use crate::transfer::trace::Recorder;
use crate::transfer::verdict::{Verdict, say_lost};
use crate::transfer::waiting::Waiting;
use crate::ui::ending::{Ending, usage};
use crate::ui::exit::{Exit, LineKind};
use crate::ui::format::escaped;
use crate::ui::output::{Level, Output};
use crate::ui::password;

/// The environment variable of the password.
const PASSWORD: &str = "WETSTRING_PASSWORD";

/// A session with a server: one line, one request after the other.
struct ServerSession<'a> {
    ui: &'a Output,
    all: Settings,
    port: Box<dyn Port>,
    signals: Signals,
    recorder: Recorder<'a>,
    medium: LineKind,
    /// Bytes received after the end of the last answer.
    leftover: Vec<u8>,
    spec: LineSpec,
    /// What is asked for can be had from a shell, too.
    has_shell: bool,
}

impl<'a> ServerSession<'a> {
    fn open(
        ui: &'a Output,
        common: &Common,
        mut all: Settings,
        spec: &LineSpec,
        is_user: bool,
    ) -> Result<Self, Ending> {
        if spec.has_datagrams() {
            return Err(usage(format!("expected a line of bytes, got {spec}")));
        }
        if *spec == LineSpec::Stdio {
            ui.line_is_stdio();
        }
        cleartext::warn(ui, spec, if is_user { What::Passwords } else { What::Files });
        let recorder = Recorder::new(ui, "client", common.trace.as_deref())
            .map_err(|say| Ending::early(Exit::Store, say))?;
        let signals = signals()?;
        let mut notes = |text: &str| {
            ui.say(Level::Note, text);
            ui.event(Event::Line { text: text.to_owned(), end: None });
        };
        let opened = open_attended(spec, Purpose::Client, Some(&signals), &mut notes);
        let port = opened.map_err(|bad| not_opened(spec, &bad))?;
        port_facts::apply(port.facts(), &mut all);
        ui.say(Level::Detail, &format!("line: {}", port.facts().name));
        let medium = LineKind::of(spec);
        let (spec, leftover) = (spec.clone(), Vec::new());
        Ok(Self { ui, all, port, signals, recorder, medium, leftover, spec, has_shell: false })
    }

    /// Shows what comes, and that nothing comes.
    fn observer(&self, direction: Direction, rate_bps: Option<u32>) -> Observer<'a> {
        let waiting = Waiting::for_server(&self.spec, self.port.facts(), self.has_shell);
        Observer::new(self.ui, direction, rate_bps).awaits(waiting)
    }

    fn turn(
        &mut self,
        engine: &mut dyn Engine,
        store: &mut dyn Store,
        observer: &mut Observer<'_>,
    ) -> Ended {
        let before = std::mem::take(&mut self.leftover);
        let mut options = RunOptions::new(&mut self.recorder);
        options.signals = Some(&self.signals);
        options.before = &before;
        let mut store = Translated::new(store, Sets::from(self.all.kermit()));
        let ended = run(engine, &mut *self.port, &mut store, observer, options);
        observer.finish();
        say_lost(self.ui, store.lost());
        self.leftover.clone_from(&ended.leftover);
        ended
    }

    /// Sends one request; the files and text of the answer go to `store`.
    fn ask(
        &mut self,
        command: &ServerCommand<'_>,
        store: &mut dyn Store,
        observer: &mut Observer<'_>,
    ) -> Result<Ended, Ending> {
        let config = self.all.kermit().clone();
        let memory = vec![0; config.client_memory()];
        let mut client =
            Client::new(config, command, memory).map_err(|bad| usage(bad.to_string()))?;
        Ok(self.turn(&mut client, store, observer))
    }

    /// Sends a preliminary request, which must succeed.
    fn first(&mut self, command: &ServerCommand<'_>) -> Result<(), Ending> {
        let file_store = FileStore::Nowhere(wetstring_drive::SinkStore::new(std::io::sink()));
        let mut screen = Screen::new(None);
        let mut observer = self.observer(Direction::Receive, None);
        let ended = self.ask(command, &mut screen, &mut observer)?;
        if ended.outcome == Outcome::Done {
            return Ok(());
        }
        let verdict = Verdict {
            ui: self.ui,
            direction: Direction::Receive,
            file_store: &file_store,
            unnamed: &[],
            medium: self.medium,
        };
        Err(verdict.conclude(&ended, &observer))
    }

    /// Logs in, and changes to the requested directory.
    fn enter(&mut self, access: &Access, password: &[u8]) -> Result<(), Ending> {
        if let Some(user) = &access.user {
            let words = [user.as_encoded_bytes(), password, b""];
            self.first(&ServerCommand::Login(words))?;
        }
        if let Some(directory) = &access.directory {
            self.first(&ServerCommand::ChangeDirectory(directory.as_encoded_bytes()))?;
        }
        Ok(())
    }

    fn close(mut self) {
        let _ = self.port.finish(self.signals.patience(PATIENCE));
        self.ui.line_is_over();
        if let (_, Some(why)) = self.recorder.finish() {
            self.ui.say(Level::Error, &format!("wst: could not write the trace: {why}"));
        }
    }
}

/// The password of the user, if one is named: from the environment, or prompted for at a terminal. It is prompted
/// for before the line is opened, since a server does not wait long.
fn password_of(access: &Access) -> Result<Vec<u8>, Ending> {
    let (Some(user), None) = (&access.user, std::env::var_os(PASSWORD)) else {
        return Ok(std::env::var_os(PASSWORD).unwrap_or_default().into_encoded_bytes());
    };
    if !(stdin().is_terminal() && stderr().is_terminal()) {
        return Ok(Vec::new());
    }
    let question = format!("password for {}: ", escaped(user.as_encoded_bytes()));
    password::ask(&question).map_err(|error| match error.kind() {
        std::io::ErrorKind::Interrupted => Ending::early(Exit::Interrupted, "interrupted"),
        _ => usage(format!("could not read the password: {}", in_words(&error))),
    })
}

/// Runs `wst get`.
pub(crate) fn get(
    ui: &Output,
    common: &Common,
    verb: &Get,
    settings: &[(String, String)],
) -> Result<Ending, Ending> {
    let (names, line) = verb.names_and_line();
    let (all, spec) = prepare(common, settings, line, There::Serves).map_err(usage)?;
    let options = ReceiveOptions {
        collision: all.store.collision,
        incomplete: all.store.incomplete,
        resume: if verb.options.resume { Resume::Existing } else { Resume::Never },
        verify: all.store.verify,
        holes: all.store.holes,
        paths: if verb.options.recursive { PathRule::Relative } else { PathRule::LastOnly },
        ..ReceiveOptions::default()
    };
    let disk = crate::transfer::inbox::receiving(&verb.output, options)?;
    let mut file_store = FileStore::Disk(Box::new(disk));
    let password = password_of(&verb.access)?;
    let mut talk = ServerSession::open(ui, common, all, &spec, verb.access.user.is_some())?;
    talk.has_shell = true;
    let medium = talk.medium;
    talk.enter(&verb.access, &password)?;
    let asked = names;
    let names = name_list(asked.iter().map(|name| name.as_encoded_bytes()));
    let command = ServerCommand::Get(GetFiles {
        names: &names,
        delete: verb.options.delete,
        recursive: verb.options.recursive,
        recover: verb.options.resume,
        is_command: false,
        kind: verb.options.kind(),
    });
    let mut observer = talk.observer(Direction::Receive, talk.port.carries_bps());
    let asked = asked.iter().map(|name| name.as_encoded_bytes());
    let mut wanted = RequestedOnly::new(file_store.store(), asked, verb.options.recursive);
    let mut screen = Screen::new(Some(&mut wanted));
    let ended = talk.ask(&command, &mut screen, &mut observer)?;
    talk.close();
    let other = wanted.other_than_asked();
    let verdict = Verdict {
        ui,
        direction: Direction::Receive,
        file_store: &file_store,
        unnamed: &[],
        medium,
    };
    verdict.report_records(true, &ended);
    let mut ending = verdict.conclude(&ended, &observer);
    let blemish = [FILE_CHANGED, FILE_KEPT, FILE_MISSING];
    let said = observer.peer_said.as_deref().is_some_and(|said| blemish.contains(&said));
    if ending.exit == Exit::Peer && said {
        // The other files are local.
        ending.exit = Exit::Skipped;
    }
    if let (Exit::Done | Exit::Skipped, Some(other)) = (ending.exit, other) {
        ending.exit = Exit::Skipped;
        ending.message = other;
    }
    Ok(ending)
}

/// Runs `wst put`.
pub(crate) fn put(
    ui: &Output,
    common: &Common,
    verb: &Put,
    settings: &[(String, String)],
) -> Result<Ending, Ending> {
    if verb.selection.links {
        let say = "expected wst send for --links, got wst put: servers take no links";
        return Err(usage(say.to_owned()));
    }
    let (things, line) = verb.files_and_line();
    let (all, spec) = prepare(common, settings, line, There::Serves).map_err(usage)?;
    let mut sources = Vec::new();
    for path in things {
        sources.extend(outgoing::sources(ui, Path::new(path), (true, false), &verb.selection)?);
    }
    let options = SendOptions {
        paths: verb.options.recursive,
        kind: verb.options.kind().unwrap_or(FileKind::Binary),
        resume: verb.options.resume,
        common_names: all.kermit().names == Names::Converted,
        ..SendOptions::default()
    };
    if verb.selection.dry_run {
        return Ok(outgoing::planned(ui, sources, options));
    }
    let mut file_store = FileStore::Disk(Box::new(outbox(ui, sources, options)));
    let password = password_of(&verb.access)?;
    let mut talk = ServerSession::open(ui, common, all, &spec, verb.access.user.is_some())?;
    talk.has_shell = true;
    let medium = talk.medium;
    talk.enter(&verb.access, &password)?;
    if let Some(words) = remembered::apply(&mut talk.all, &talk.spec) {
        ui.say(Level::Detail, &words);
    }
    let config = Config { batch: file_store.batch(), ..talk.all.kermit().clone() };
    let memory = vec![0; config.sender_memory()];
    let mut sender = Sender::new(config, memory).map_err(|bad| usage(bad.to_string()))?;
    let mut observer = talk.observer(Direction::Send, talk.port.carries_bps());
    let ended = talk.turn(&mut sender, file_store.store(), &mut observer);
    if let Err(error) = remembered::learn(&talk.all, &talk.spec, &sender.learned()) {
        let say = format!("could not remember what was learned: {}", in_words(&error));
        ui.say(Level::Detail, &say);
    }
    talk.close();
    let verdict =
        Verdict { ui, direction: Direction::Send, file_store: &file_store, unnamed: &[], medium };
    verdict.report_records(true, &ended);
    let mut ending = verdict.conclude(&ended, &observer);
    if verb.options.delete {
        ending.kept(outgoing::delete_sent(ui, file_store.files(), "wst"));
    }
    Ok(ending)
}

/// Runs `wst remote`.
pub(crate) fn remote(
    ui: &Output,
    common: &Common,
    verb: &Remote,
    settings: &[(String, String)],
) -> Result<Ending, Ending> {
    let words: Vec<&[u8]> = verb.words.iter().map(|word| word.as_encoded_bytes()).collect();
    let words = remote::on_the_wire(&words);
    let words: Vec<&[u8]> = words.iter().map(|word| &word[..]).collect();
    let command = remote::command(&words).map_err(usage)?;
    let (all, spec) = prepare(common, settings, &verb.line, There::Serves).map_err(usage)?;
    let file_store = FileStore::Nowhere(wetstring_drive::SinkStore::new(std::io::sink()));
    let password = password_of(&verb.access)?;
    let mut talk = ServerSession::open(ui, common, all, &spec, verb.access.user.is_some())?;
    let medium = talk.medium;
    talk.enter(&verb.access, &password)?;
    let mut observer = talk.observer(Direction::Receive, talk.port.carries_bps());
    let mut screen = Screen::new(None);
    let ended = talk.ask(&command, &mut screen, &mut observer)?;
    let stdio = spec == LineSpec::Stdio;
    talk.close();
    let mut text = observer.replies.concat();
    if !text.is_empty() {
        text.push(b'\n');
    }
    text.extend_from_slice(&screen.text);
    let table = matches!(command, ServerCommand::Directory(_));
    remote::show(ui, &text, table, common.json || stdio);
    let verdict = Verdict {
        ui,
        direction: Direction::Receive,
        file_store: &file_store,
        unnamed: &[],
        medium,
    };
    let mut ending = verdict.conclude(&ended, &observer);
    if ended.outcome == Outcome::Done {
        ending.message = String::new();
    }
    Ok(ending)
}
