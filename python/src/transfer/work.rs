//! What the thread of a transfer does.

use crate::events::{Teller, counters, escaped, file_result};
use crate::port::PortSource;
use crate::stores::Answer;
use crate::waiting::locked;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex};
use wetstring_drive::charset::{Sets, Translated};
use wetstring_drive::disk::{DiskStore, FileOutcome, ReceiveOptions, SendOptions, Source};
use wetstring_drive::os::stream::Stream;
use wetstring_drive::port::{PATIENCE, Purpose};
use wetstring_drive::zone::offset_at;
use wetstring_drive::{Ended, PortFacts, RunOptions, Signals, in_words, run};
use wetstring_events::{End, Event, Opened, Summary, Transfer as Report};
use wetstring_proto::kermit::command::{Get, ServerCommand as Asked};
use wetstring_proto::kermit::frame::Parity;
use wetstring_proto::kermit::prefix::PrefixTable;
use wetstring_proto::kermit::{self, Client, Names, Zone};
use wetstring_proto::zmodem::{self, escape::Escaping};
use wetstring_proto::{
    Blame, Command, Engine, Failure, FailureKind, LineFacts, NoTrace, Outcome, Stats, Store,
};
use wetstring_protocols::{Configs, Protocol};

/// XON and XOFF, also with the parity bit.
const FLOW: [u8; 4] = [0x11, 0x13, 0x91, 0x93];

/// What is done.
pub(super) enum Role {
    Send(Vec<Source>, SendOptions),
    Receive(PathBuf, ReceiveOptions),
    /// One file of a server, named in the words.
    Get(PathBuf, ReceiveOptions),
    /// A command of a server.
    Ask,
}

/// What the caller knows of the port and we cannot.
pub(super) struct Facts {
    pub(super) reliable: Option<bool>,
    pub(super) rate_bps: Option<u32>,
}

/// What is known at the end besides the last event.
pub(crate) struct Finish {
    pub(super) failure: Option<(String, String)>,
    pub(super) leftover: Vec<u8>,
    pub(super) answer: Vec<u8>,
}

/// All that the thread needs.
pub(super) struct Work {
    pub(super) role: Role,
    pub(super) protocol: Protocol,
    pub(super) source: PortSource,
    pub(super) settings: HashMap<String, String>,
    pub(super) before: Vec<u8>,
    pub(super) facts: Facts,
    pub(super) words: Vec<Vec<u8>>,
    pub(super) signals: Signals,
    pub(super) finish: Arc<Mutex<Option<Finish>>>,
}

/// An end before there was a transfer.
struct Early {
    exit: u8,
    word: &'static str,
    message: String,
    blame: &'static str,
    kind: &'static str,
}

/// Exit code and word, as those of `wst`.
const fn exit_of(failure: Failure) -> (u8, &'static str) {
    match (failure.kind, failure.blame) {
        (FailureKind::Aborted, Blame::Local) => (130, "interrupted"),
        (FailureKind::Refused, _) => (1, "skipped"),
        (FailureKind::DigestDiffers, _) => (6, "integrity"),
        (FailureKind::Silence, _) => (7, "timeout"),
        (FailureKind::Store(_), _) => (5, "store"),
        (_, Blame::Peer) => (4, "peer"),
        (_, Blame::Line) => (3, "line"),
        (_, Blame::Store) => (5, "store"),
        (_, Blame::Local) => (2, "usage"),
    }
}

/// The command of a server that these words stand for.
fn asked(words: &[Vec<u8>], gets: bool) -> Result<Asked<'_>, String> {
    let word = |index: usize| words.get(index).map(Vec::as_slice).unwrap_or_default();
    if gets {
        return Ok(Asked::Get(Get { names: word(0), ..Get::default() }));
    }
    Ok(match word(0) {
        b"cd" => Asked::ChangeDirectory(word(1)),
        b"pwd" => Asked::WorkingDirectory,
        b"directory" => Asked::Directory(word(1)),
        b"type" => Asked::Type(word(1)),
        b"delete" => Asked::Delete(word(1)),
        b"rename" => Asked::Rename([word(1), word(2)]),
        b"copy" => Asked::Copy([word(1), word(2)]),
        b"mkdir" => Asked::MakeDirectory(word(1)),
        b"rmdir" => Asked::RemoveDirectory(word(1)),
        b"space" => Asked::Space(word(1)),
        b"help" => Asked::Help(word(1)),
        b"login" => Asked::Login([word(1), word(2), b""]),
        b"logout" => Asked::Logout,
        b"finish" => Asked::Finish,
        b"bye" => Asked::Bye,
        other => return Err(format!("expected a command of a server, got {}", escaped(other))),
    })
}

impl Work {
    /// What can be wrong with the arguments.
    pub(super) fn check(&self) -> Result<(), String> {
        self.configs(&PortFacts::named(""))?;
        match self.role {
            Role::Get(..) => asked(&self.words, true).map(drop),
            Role::Ask => asked(&self.words, false).map(drop),
            _ => Ok(()),
        }
    }

    /// The settings: those of the line, then those of the caller.
    fn configs(&self, facts: &PortFacts) -> Result<Configs, String> {
        let mut all = Configs::default();
        all.on_line(LineFacts {
            reliable: self.facts.reliable.or(facts.reliable),
            clear: facts.clear,
            rate_bps: self.facts.rate_bps.or(facts.rate_bps).unwrap_or(0),
            telnet: facts.telnet,
        });
        let kermit = all.get_mut::<kermit::Config>();
        kermit.zone = Zone(offset_at);
        kermit.finds_blocks = true;
        if facts.local {
            // No user types at the peer of a line that we opened.
            kermit.interrupts = 0;
        }
        if facts.seven_bit {
            kermit.parity = Some(Parity::Space);
        }
        if facts.xon_xoff {
            kermit.prefixed = FLOW.into_iter().fold(kermit.prefixed, PrefixTable::with);
            all.get_mut::<zmodem::Config>().escape = Escaping::Turbo;
        }
        for (name, value) in &self.settings {
            all.set(name, value).map_err(|bad| format!("{name}={value}: {bad}"))?;
        }
        Ok(all)
    }

    /// Does it, and says how it ended.
    pub(super) fn run(self, tell: Sender<String>, orders: Receiver<Command>, wake: Stream) {
        let finish = self.finish.clone();
        let mut teller = Teller::new(tell, orders, wake);
        let (end, end_event) = match self.transfer(&mut teller) {
            Ok(done) => done,
            Err(early) => {
                let failure = Some((early.blame.to_owned(), early.kind.to_owned()));
                let end = Finish { failure, leftover: Vec::new(), answer: Vec::new() };
                let (exit, outcome) = (early.exit, early.word);
                (end, End { exit, outcome, message: early.message, summary: None })
            }
        };
        *locked(&finish) = Some(end);
        teller.say(Event::End(Box::new(end_event)));
    }

    fn transfer(self, teller: &mut Teller) -> Result<(Finish, End), Early> {
        let usage =
            |message| Early { exit: 2, word: "usage", message, blame: "local", kind: "usage" };
        let signals = self.signals.clone();
        let purpose = match self.role {
            Role::Send(..) | Role::Receive(..) => Purpose::Transfer,
            Role::Get(..) | Role::Ask => Purpose::Client,
        };
        let mut work = self;
        // Not needed any more once it is open.
        let nowhere = PortSource::of(None, None).map_err(|bad| usage(bad.to_string()))?.0;
        let source = std::mem::replace(&mut work.source, nowhere);
        let mut notes = |text: &str| teller.say(Event::Line { text: text.to_owned(), end: None });
        let mut port = source.open(purpose, &signals, &mut notes).map_err(|bad| Early {
            exit: 3,
            word: "line",
            message: bad.to_string(),
            blame: "line",
            kind: "not-opened",
        })?;
        let facts = port.facts().clone();
        let rate_bps = work.facts.rate_bps.or_else(|| port.carries_bps());
        teller.say(Event::Opened(Opened {
            line: facts.name.clone(),
            reliable: Some(work.facts.reliable.or(facts.reliable)),
            clear: Some(facts.clear),
            rate_bps: Some(rate_bps),
            ..Opened::default()
        }));
        teller.on_line(rate_bps);
        let configs = work.configs(&facts).map_err(usage)?;
        let mut engine = work.engine(&configs).map_err(usage)?;
        let mut disk = work.disk(&configs)?;
        let kermit = work.protocol.is::<kermit::Config>();
        let sets = if kermit { Sets::from(configs.get::<kermit::Config>()) } else { Sets::AS_IS };
        let mut trace = NoTrace;
        let mut options = RunOptions::new(&mut trace);
        options.signals = Some(&signals);
        options.before = &work.before;
        // The port stays open, and a prompt may follow: the last bytes of ZMODEM's peer are not the prompt's.
        // And where the caller knows better than a socket that bytes are lost, the last ACK may have to be repeated.
        let waits = work.protocol.is::<zmodem::Config>() || work.facts.reliable == Some(false);
        options.linger = waits.then_some(true);
        let (ended, mut answer) = if matches!(work.role, Role::Get(..) | Role::Ask) {
            let mut store = Answer::new(disk.as_mut().map(|disk| disk as &mut dyn Store));
            let mut translated = Translated::new(&mut store, sets);
            let ended = run(&mut *engine, &mut *port, &mut translated, teller, options);
            (ended, store.text)
        } else {
            let disk = disk.as_mut().ok_or_else(|| usage("expected files".to_owned()))?;
            let mut translated = Translated::new(disk, sets);
            let ended = run(&mut *engine, &mut *port, &mut translated, teller, options);
            (ended, Vec::new())
        };
        answer.extend_from_slice(&teller.replies);
        let _ = port.finish(signals.patience(PATIENCE));
        Ok(conclude(ended, disk.as_ref(), teller, answer))
    }

    fn engine(&self, configs: &Configs) -> Result<Box<dyn Engine>, String> {
        let config = configs.for_protocol(self.protocol);
        let gets = match self.role {
            Role::Send(..) => return Ok(config.sender()),
            Role::Receive(..) => return Ok(config.receiver()),
            Role::Get(..) => true,
            Role::Ask => false,
        };
        let command = asked(&self.words, gets)?;
        let config = configs.get::<kermit::Config>().clone();
        let memory = vec![0; config.client_memory()];
        let client = Client::new(config, &command, memory).map_err(|bad| bad.to_string())?;
        Ok(Box::new(client))
    }

    fn disk(&mut self, configs: &Configs) -> Result<Option<DiskStore>, Early> {
        let converts = self.protocol.is::<kermit::Config>()
            && configs.get::<kermit::Config>().names == Names::Converted;
        match &mut self.role {
            Role::Send(files, options) => {
                options.common_names = converts;
                Ok(Some(DiskStore::sending(std::mem::take(files), options.clone())))
            }
            Role::Receive(directory, options) | Role::Get(directory, options) => {
                let store = DiskStore::receiving(directory, options.clone());
                let name = directory.display().to_string();
                store.map(Some).map_err(|error| Early {
                    exit: 5,
                    word: "store",
                    message: format!("could not receive into {name}: {}", in_words(&error)),
                    blame: "store",
                    kind: "not-opened",
                })
            }
            Role::Ask => Ok(None),
        }
    }
}

/// The end of a transfer that took place.
fn conclude(
    ended: Ended,
    disk: Option<&DiskStore>,
    teller: &Teller,
    answer: Vec<u8>,
) -> (Finish, End) {
    let records = disk.map(DiskStore::files).unwrap_or_default();
    let whole = |outcome: &FileOutcome| matches!(outcome, FileOutcome::Stored | FileOutcome::Sent);
    let missed = records.iter().filter(|record| !whole(&record.outcome)).count() as u64;
    let missed = missed.max(teller.missed);
    let changed = records.iter().filter(|record| record.changed).count();
    let (exit, outcome, message) = match ended.outcome {
        Outcome::Done if missed > 0 => {
            (1, "skipped", format!("{missed} skipped, refused or cancelled"))
        }
        Outcome::Done if changed > 0 => (1, "skipped", format!("{changed} changed while sent")),
        Outcome::Done => (0, "done", String::new()),
        Outcome::Failed(_) if ended.interrupted.is_some() => {
            (130, "interrupted", "interrupted".to_owned())
        }
        Outcome::Failed(failure) => {
            let (exit, word) = exit_of(failure);
            let detail = match word {
                "store" => disk.and_then(DiskStore::last_error).map(str::to_owned),
                "peer" => teller.peer_said.clone(),
                _ => ended.error.as_ref().map(in_words),
            };
            let detail = detail.map(|detail| format!("; {detail}")).unwrap_or_default();
            (exit, word, format!("{failure}{detail}"))
        }
    };
    let failure = match ended.outcome {
        Outcome::Failed(failure) => {
            Some((failure.blame.name().to_owned(), failure.kind.name().to_owned()))
        }
        Outcome::Done => None,
    };
    let report = Report {
        files: records.iter().map(file_result).collect(),
        unlisted: disk.map_or(0, DiskStore::unlisted),
        verified: teller.verified,
        unverified: teller.unverified,
        elapsed_s: ended.elapsed.as_secs_f64(),
        stats: counters(&ended.stats as &Stats),
    };
    let summary = Some(Summary::Transfer(Box::new(report)));
    let finish = Finish { failure, leftover: ended.leftover, answer };
    (finish, End { exit, outcome, message, summary })
}
