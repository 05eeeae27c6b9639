//! `wst kermit --lab`: a script in the laboratory. Files and output are those of this machine; the clock
//! and the line are those of a scenario, and the peer is a Kermit server.
//!
//! ```text
//! script -> this world -> Sender or Client, end A -> the scenario's line -> Server, end B -> files in memory
//! ```
//!
//! Only the line and PAUSE take time; the script itself takes none.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use wetstring_drive::charset::{Sets, Translated};
use wetstring_drive::serve::{LocalTree, Rules, Session, Tree};
use wetstring_drive::{Signals, in_words};
use wetstring_lab::pair::Stop;
use wetstring_lab::scenario::Scenario;
use wetstring_lab::{Random, Recorder, Standing};
use wetstring_proto::kermit::Server;
use wetstring_proto::settings::Setting;
use wetstring_proto::{Failure, FailureKind, Outcome, Store};
use wetstring_protocols::Protocol;
use wetstring_script::world::{
    Channel, Connection, Done, Fault, Files, Heard, Kept, Moment, Question, Ran, Screen, Task,
};
use wetstring_script::{Local, World};

use super::live::{families, set_row};
use super::memory_store::MemoryFiles;
use super::transfer_info::TransferInfo;
use super::transfers::{EngineResult, Make, TransferWorld};
use super::trial_table::Trials;
use crate::config::Settings;
use crate::transfer::direction::Direction;

/// Start of the laboratory's clock: 2001-09-09 01:46:40 UTC.
const BEGIN_S: i64 = 1_000_000_000;

/// A world with the line and clock of a scenario.
pub(super) struct LabWorld<'a> {
    local: Local,
    settings: Settings,
    signals: &'a Signals,
    scenario: Scenario,
    tree: Arc<dyn Tree>,
    standing: Standing,
    recorder: Recorder,
    random: Random,
    /// The outcome of a transfer.
    pub(super) trials: Trials,
}

fn outcome_of(stop: Stop) -> Outcome {
    use wetstring_proto::Blame;
    let kind = if stop == Stop::Storm { FailureKind::Aborted } else { FailureKind::Silence };
    Outcome::Failed(Failure { blame: Blame::Peer, kind })
}

impl<'a> LabWorld<'a> {
    /// A script's settings override those of the scenario's end A; `root` is the server's directory, or
    /// it has no files.
    pub(super) fn new(
        settings: Settings,
        scenario: Scenario,
        root: Option<&Path>,
        traced: bool,
        signals: &'a Signals,
    ) -> Result<Self, String> {
        let directory = std::env::current_dir()
            .map_err(|e| format!("could not find this directory: {}", in_words(&e)))?;
        let tree: Arc<dyn Tree> = match root {
            Some(root) => Arc::new(
                LocalTree::open(root)
                    .map_err(|e| format!("could not serve {}: {}", root.display(), in_words(&e)))?,
            ),
            None => Arc::new(MemoryFiles::default()),
        };
        let standing = standing(&scenario, &tree)?;
        let mut bench = Self {
            local: Local::new(directory, |_| 0).reading(wetstring_drive::terminal::stdin::line),
            settings,
            signals,
            random: Random::stream(scenario.seed(), "script", "random"),
            standing,
            scenario,
            tree,
            recorder: if traced { Recorder::keep() } else { Recorder::off() },
            trials: Trials::default(),
        };
        bench.take_settings()?;
        Ok(bench)
    }

    /// The scenario's settings of end A, and those of the user.
    fn take_settings(&mut self) -> Result<(), String> {
        let stage = self.scenario.stage().ok_or_else(not_kermit)?;
        let chosen: Vec<_> = Settings::rows()
            .filter(|row| row.name.starts_with("kermit.") && self.settings.is_chosen(row.name))
            .map(|row| {
                let mut value = String::new();
                // Writing to a string cannot fail.
                let _ = self.settings.show(row.name, &mut value);
                (row.name.to_owned(), value)
            })
            .collect();
        let [ours, _] = stage.configs;
        *self.settings.kermit_mut() = ours;
        self.settings.set_all(&chosen, "command line")
    }

    /// Every event of the run, for `--trace`.
    pub(super) fn trace(&self) -> &[String] {
        self.recorder.lines()
    }
}

fn not_kermit() -> String {
    "expected a scenario with protocol = \"kermit\" for a script, got another protocol".to_owned()
}

/// A new line with a new server.
fn standing(scenario: &Scenario, tree: &Arc<dyn Tree>) -> Result<Standing, String> {
    let stage = scenario.stage().ok_or_else(not_kermit)?;
    let [_, config] = stage.configs;
    let memory = vec![0; config.server_memory()];
    let server = Server::new(config, memory).map_err(|bad| bad.to_string())?;
    let rules = Rules { write: true, ..Rules::default() };
    let session = Session::new(Arc::clone(tree), rules, "laboratory", None);
    Ok(Standing::new(stage.element, Box::new(server), Box::new(session), stage.port_bytes))
}

impl TransferWorld for LabWorld<'_> {
    fn local(&self) -> &Local {
        &self.local
    }

    fn settings(&self) -> &Settings {
        &self.settings
    }

    fn turn(
        &mut self,
        make: Make<'_>,
        store: &mut dyn Store,
        direction: Direction,
        _quiet: bool,
    ) -> Result<EngineResult, Fault> {
        let mut engine = make(&self.settings).map_err(Fault::new)?;
        let (mut told, began) = (TransferInfo::default(), self.standing.now());
        let mut tell = |at: wetstring_proto::Instant, event: &wetstring_proto::Event<'_>| {
            told.note(event, at.since(began));
        };
        let mut store = Translated::new(store, Sets::from(self.settings.kermit()));
        let visit = self.standing.visit(&mut *engine, &mut store, &mut tell, &mut self.recorder);
        let outcome = visit.outcome.unwrap_or_else(|| outcome_of(visit.stop));
        let report = told.report(outcome, &visit.stats, visit.elapsed);
        if direction == Direction::Send && report.done {
            self.trials.add(&report);
        }
        Ok(EngineResult { outcome, report, replies: told.replies })
    }
}

impl World for LabWorld<'_> {
    fn say(&mut self, to: Screen, text: &[u8]) {
        self.local.say(to, text);
    }

    fn ask(&mut self, question: &Question) -> Option<Vec<u8>> {
        self.local.ask(question)
    }

    fn key(&mut self, wait: Option<Duration>) -> Option<u8> {
        self.standing.pass(wait.unwrap_or_default());
        None
    }

    fn now(&mut self) -> Moment {
        let since = self.standing.now().since(wetstring_proto::Instant::ZERO).as_nanos();
        let since = i64::try_from(since).unwrap_or(i64::MAX);
        Moment { unix_ns: (BEGIN_S * 1_000_000_000).saturating_add(since), offset_s: 0 }
    }

    fn pause(&mut self, time: Duration, _keys: bool) -> bool {
        self.standing.pass(time);
        false
    }

    fn random(&mut self) -> u64 {
        self.random.bits()
    }

    fn environment(&mut self, name: &[u8]) -> Option<Vec<u8>> {
        self.local.environment(name)
    }

    fn fact(&mut self, name: &str) -> Option<Vec<u8>> {
        match name {
            "line" => Some(self.scenario.line().join(" + ").into_bytes()),
            "speed" => Some(self.settings.kermit().line.rate_bps.to_string().into_bytes()),
            "reliable" => {
                let reliable = self.settings.kermit().line.reliable;
                let word = reliable.map_or("unknown", |yes| if yes { "yes" } else { "no" });
                Some(word.as_bytes().to_vec())
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

    /// Any name means the scenario's line, with a new server.
    fn connect(&mut self, _to: &Connection) -> Result<(), Fault> {
        let now = self.standing.now();
        self.standing = standing(&self.scenario, &self.tree).map_err(Fault::new)?.from(now);
        Ok(())
    }

    fn is_connected(&mut self) -> bool {
        true
    }

    fn transmit(&mut self, _bytes: &[u8]) -> Result<(), Fault> {
        Err(Fault::absent("OUTPUT in the laboratory, where the peer is a server,"))
    }

    fn hear(&mut self, wait: Duration) -> Heard {
        self.standing.pass(wait);
        Heard::Silence
    }

    fn perform(&mut self, task: &Task, kept: &Kept) -> Result<Done, Fault> {
        match task {
            Task::Send(sending) => self.send(sending, kept),
            Task::Get(getting) => self.get(getting, kept),
            Task::Remote(remote) => self.remote(remote),
            Task::Log { to: None, .. } => Ok(Done::default()),
            _ => Err(Fault::absent("all but SEND, GET and REMOTE in the laboratory")),
        }
    }

    fn rows(&self) -> Vec<&'static Setting> {
        Settings::rows().collect()
    }

    fn families(&self) -> Vec<(&'static str, &'static str)> {
        families()
    }

    fn keep(&mut self, name: &str, value: &[u8]) -> Result<(), Fault> {
        match (name, value) {
            ("transfer protocol", b"kermit") => Ok(()),
            ("transfer protocol", _) => Err(Fault::absent("all but Kermit in the laboratory")),
            _ => Ok(()),
        }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), Fault> {
        set_row(&mut self.settings, name, value, |other| *other == Protocol::default())
    }

    fn shown(&mut self, name: &str) -> Option<String> {
        let mut out = String::new();
        self.settings.show(name, &mut out).ok()?;
        Some(out)
    }
}
