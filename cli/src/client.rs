//! `wst get`, `wst put` and `wst remote`: the client of a server.

use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::stdio::{stderr, stdin};
use rustix::termios::isatty;
use wetstring_drive::charset::{Sets, Translated};
use wetstring_drive::disk::{PathRule, ReceiveOptions, Resume, SendOptions};
use wetstring_drive::port::{PATIENCE, Purpose, open_attended};
use wetstring_drive::{Ended, LineSpec, Port, RunOptions, Signals, in_words, run};
use wetstring_events::Event;
use wetstring_proto::kermit::command::{Get as GetFiles, ServerCommand};
use wetstring_proto::kermit::{Client, FILE_CHANGED, FILE_KEPT, FILE_MISSING, Sender};
use wetstring_proto::{Engine, FileKind, Outcome, Store};

use crate::args::{Access, Common, Get, Put, Remote};
use crate::clear::{self, What};
use crate::config::Everything;
use crate::exit::{Exit, Medium};
use crate::facts;
use crate::opening::{There, not_opened, signals};
use crate::outgoing;
use crate::record::Recorder;
use crate::remote;
use crate::screen::{Screen, name_list};
use crate::transfer::{Ending, Keeper, outbox, prepare, readable, say_lost, usage};
use crate::users;
use crate::verdict::Verdict;
use crate::voice::{Level, Voice};
use crate::wanted::Wanted;
use crate::watch::{Observer, Way};
use crate::words::escaped;

/// Where the password is, if it is not typed into the command line.
const PASSWORD: &str = "WETSTRING_PASSWORD";

/// A conversation with a server: one line, one question after the other.
struct Conversation<'a> {
    voice: &'a Voice,
    all: Everything,
    port: Box<dyn Port>,
    signals: Signals,
    recorder: Recorder<'a>,
    medium: Medium,
    /// What came behind the end of the last answer.
    leftover: Vec<u8>,
}

impl<'a> Conversation<'a> {
    fn open(
        voice: &'a Voice,
        common: &Common,
        mut all: Everything,
        spec: &LineSpec,
        is_user: bool,
    ) -> Result<Self, Ending> {
        if spec.has_datagrams() {
            return Err(usage(format!("expected a line of bytes, got {spec}")));
        }
        if *spec == LineSpec::Stdio {
            voice.line_is_stdio();
        }
        clear::warn(voice, spec, if is_user { What::Passwords } else { What::Files });
        let recorder = Recorder::new(voice, "client", common.trace.as_deref())
            .map_err(|say| Ending::early(Exit::Store, say))?;
        let signals = signals()?;
        let mut notes = |text: &str| {
            voice.say(Level::Note, text);
            voice.event(Event::Line { text: text.to_owned(), end: None });
        };
        let opened = open_attended(spec, Purpose::Client, Some(&signals), &mut notes);
        let port = opened.map_err(|bad| not_opened(spec, &bad))?;
        facts::apply(port.facts(), &mut all);
        voice.say(Level::Detail, &format!("line: {}", port.facts().name));
        let medium = Medium::of(spec);
        Ok(Self { voice, all, port, signals, recorder, medium, leftover: Vec::new() })
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
        let mut store = Translated::new(store, Sets::from(&self.all.kermit));
        let ended = run(engine, &mut *self.port, &mut store, observer, options);
        observer.finish();
        say_lost(self.voice, store.lost());
        self.leftover.clone_from(&ended.leftover);
        ended
    }

    /// Asks for one thing; files and text that come of it go to `store`.
    fn ask(
        &mut self,
        command: &ServerCommand<'_>,
        store: &mut dyn Store,
        observer: &mut Observer<'_>,
    ) -> Result<Ended, Ending> {
        let config = self.all.kermit.clone();
        let memory = vec![0; config.client_memory()];
        let mut client =
            Client::new(config, command, memory).map_err(|bad| usage(bad.to_string()))?;
        Ok(self.turn(&mut client, store, observer))
    }

    /// Asks for something that comes before what is really wanted: it must be granted.
    fn first(&mut self, command: &ServerCommand<'_>) -> Result<(), Ending> {
        let keeper = Keeper::Nowhere(wetstring_drive::SinkStore::new(std::io::sink()));
        let mut screen = Screen::new(None);
        let mut observer = Observer::new(self.voice, Way::Receive, None);
        let ended = self.ask(command, &mut screen, &mut observer)?;
        if ended.outcome == Outcome::Done {
            return Ok(());
        }
        let verdict = Verdict {
            voice: self.voice,
            way: Way::Receive,
            keeper: &keeper,
            unnamed: &[],
            medium: self.medium,
        };
        Err(verdict.conclude(&ended, &observer))
    }

    /// Lets the person in, and goes to the directory that was asked for.
    fn enter(&mut self, access: &Access, password: &[u8]) -> Result<(), Ending> {
        if let Some(user) = &access.user {
            let words = [user.as_bytes(), password, b""];
            self.first(&ServerCommand::Login(words))?;
        }
        if let Some(directory) = &access.directory {
            self.first(&ServerCommand::ChangeDirectory(directory.as_bytes()))?;
        }
        Ok(())
    }

    fn close(mut self) {
        let _ = self.port.finish(self.signals.patience(PATIENCE));
        self.voice.line_is_over();
        if let (_, Some(why)) = self.recorder.finish() {
            self.voice.say(Level::Error, &format!("wst: could not write the trace: {why}"));
        }
    }
}

/// The password of the user, if one is named: from the environment, or asked for at a terminal. It is asked
/// for before the line is opened, on which a server does not wait long.
fn password(access: &Access) -> Result<Vec<u8>, Ending> {
    let (Some(user), None) = (&access.user, std::env::var_os(PASSWORD)) else {
        return Ok(std::env::var_os(PASSWORD).unwrap_or_default().into_vec());
    };
    if !(isatty(stdin()) && isatty(stderr())) {
        return Ok(Vec::new());
    }
    let question = format!("password for {}: ", escaped(user.as_bytes()));
    users::asked(&question).map_err(|error| match error.kind() {
        std::io::ErrorKind::Interrupted => Ending::early(Exit::Interrupted, "interrupted"),
        _ => usage(format!("could not read the password: {}", in_words(&error))),
    })
}

/// Runs `wst get`.
pub(crate) fn get(
    voice: &Voice,
    common: &Common,
    verb: &Get,
    settings: &[(String, String)],
) -> Result<Ending, Ending> {
    let (names, line) = verb.names_and_line();
    let (all, spec) = prepare(common, settings, line, There::Serves).map_err(usage)?;
    let options = ReceiveOptions {
        collision: all.collision,
        incomplete: all.incomplete,
        resume: if verb.how.resume { Resume::Existing } else { Resume::Never },
        verify: all.verify,
        paths: if verb.how.recursive { PathRule::Relative } else { PathRule::LastOnly },
        ..ReceiveOptions::default()
    };
    let disk = crate::inbox::receiving(&verb.output, options)?;
    let mut keeper = Keeper::Disk(Box::new(disk));
    let password = password(&verb.access)?;
    let mut talk = Conversation::open(voice, common, all, &spec, verb.access.user.is_some())?;
    let medium = talk.medium;
    talk.enter(&verb.access, &password)?;
    let asked = names;
    let names = name_list(asked.iter().map(|name| name.as_bytes()));
    let command = ServerCommand::Get(GetFiles {
        names: &names,
        delete: verb.how.delete,
        recursive: verb.how.recursive,
        recover: verb.how.resume,
        is_command: false,
        kind: verb.how.kind(),
    });
    let mut observer = Observer::new(voice, Way::Receive, talk.port.carries_bps());
    let asked = asked.iter().map(|name| name.as_bytes());
    let mut wanted = Wanted::new(keeper.store(), asked, verb.how.recursive);
    let mut screen = Screen::new(Some(&mut wanted));
    let ended = talk.ask(&command, &mut screen, &mut observer)?;
    talk.close();
    let other = wanted.other_than_asked();
    let verdict = Verdict { voice, way: Way::Receive, keeper: &keeper, unnamed: &[], medium };
    verdict.tell_records(true);
    let mut ending = verdict.conclude(&ended, &observer);
    let blemish = [FILE_CHANGED, FILE_KEPT, FILE_MISSING];
    let said = observer.partner_said.as_deref().is_some_and(|said| blemish.contains(&said));
    if ending.exit == Exit::Peer && said {
        // Everything else is here.
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
    voice: &Voice,
    common: &Common,
    verb: &Put,
    settings: &[(String, String)],
) -> Result<Ending, Ending> {
    let (things, line) = verb.files_and_line();
    let (all, spec) = prepare(common, settings, line, There::Serves).map_err(usage)?;
    let mut sources = Vec::new();
    for path in things {
        sources.extend(outgoing::sources(voice, Path::new(path), true)?);
    }
    let options = SendOptions {
        paths: verb.how.recursive,
        kind: verb.how.kind().unwrap_or(FileKind::Binary),
        resume: verb.how.resume,
        common_names: all.kermit.convert_names,
        ..SendOptions::default()
    };
    let mut keeper = Keeper::Disk(Box::new(outbox(voice, sources, options)));
    let password = password(&verb.access)?;
    let mut talk = Conversation::open(voice, common, all, &spec, verb.access.user.is_some())?;
    let medium = talk.medium;
    talk.enter(&verb.access, &password)?;
    let config = talk.all.kermit.clone();
    let memory = vec![0; config.sender_memory()];
    let mut sender = Sender::new(config, memory).map_err(|bad| usage(bad.to_string()))?;
    let mut observer = Observer::new(voice, Way::Send, talk.port.carries_bps());
    let ended = talk.turn(&mut sender, keeper.store(), &mut observer);
    talk.close();
    let verdict = Verdict { voice, way: Way::Send, keeper: &keeper, unnamed: &[], medium };
    verdict.tell_records(true);
    let mut ending = verdict.conclude(&ended, &observer);
    if verb.how.delete {
        ending.kept(outgoing::delete_sent(voice, keeper.files(), "wst"));
    }
    Ok(ending)
}

/// A file, or with `recursive` all files below a directory.
pub(crate) fn gather(path: &Path, recursive: bool, files: &mut Vec<PathBuf>) -> Result<(), Ending> {
    if recursive && path.is_dir() && !path.is_symlink() {
        let failed = |e| {
            let name = escaped(path.as_os_str().as_bytes());
            Ending::early(Exit::Store, format!("could not read {name}: {}", in_words(&e)))
        };
        let entries = std::fs::read_dir(path).map_err(failed)?;
        let mut inside = entries
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<Vec<_>, _>>()
            .map_err(failed)?;
        inside.sort();
        for path in inside {
            if !path.is_symlink() {
                gather(&path, true, files)?;
            }
        }
        return Ok(());
    }
    readable(path).map_err(|say| Ending::early(Exit::Store, say))?;
    files.push(path.to_owned());
    Ok(())
}

/// Runs `wst remote`.
pub(crate) fn remote(
    voice: &Voice,
    common: &Common,
    verb: &Remote,
    settings: &[(String, String)],
) -> Result<Ending, Ending> {
    let words: Vec<&[u8]> = verb.words.iter().map(|word| word.as_bytes()).collect();
    let words = remote::on_the_wire(&words);
    let words: Vec<&[u8]> = words.iter().map(|word| &word[..]).collect();
    let command = remote::command(&words).map_err(usage)?;
    let (all, spec) = prepare(common, settings, &verb.line, There::Serves).map_err(usage)?;
    let keeper = Keeper::Nowhere(wetstring_drive::SinkStore::new(std::io::sink()));
    let password = password(&verb.access)?;
    let mut talk = Conversation::open(voice, common, all, &spec, verb.access.user.is_some())?;
    let medium = talk.medium;
    talk.enter(&verb.access, &password)?;
    let mut observer = Observer::new(voice, Way::Receive, talk.port.carries_bps());
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
    remote::show(voice, &text, table, common.json || stdio);
    let verdict = Verdict { voice, way: Way::Receive, keeper: &keeper, unnamed: &[], medium };
    let mut ending = verdict.conclude(&ended, &observer);
    if ended.outcome == Outcome::Done {
        ending.message = String::new();
    }
    Ok(ending)
}
