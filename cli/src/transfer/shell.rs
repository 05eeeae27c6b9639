//! Files through a shell that has no receiver, on any line.

use std::path::PathBuf;

use wetstring_drive::shell::{self, Broken, Fast, Pace, PortWire, PutOptions, Role, Stages, Talk};
use wetstring_drive::{Port, PortFacts, Signals};
use wetstring_proto::Engine;
use wetstring_proto::Stats;
use wetstring_proto::kermit::Prefixing;
use wetstring_proto::kermit::prefix::PrefixTable;

use crate::config::Settings;
use crate::config::protocol::{Engines as _, Protocol};
use crate::transfer::direction::Direction;
use crate::transfer::mini;
use crate::transfer::observer::Observer;
use crate::transfer::port_facts;
use crate::transfer::store::FileStore;
use crate::transfer::talked::Talked;
use crate::ui::ending::Ending;
use crate::ui::exit::LineKind;
use crate::ui::output::{Level, Output};

/// Unacknowledged bytes to a program that was started here: its terminal makes this program wait, and drops nothing.
const TO_A_PROGRAM: usize = 48 * 1024;

/// What is to be done.
pub(crate) enum What {
    /// Sends the files of the store: whether they replace existing ones, how the user asks for that if not by
    /// `--overwrite`, and the path for a single one.
    Put { overwrites: bool, overwrites_by: Option<String>, name: Option<Vec<u8>> },
    /// These files go into the store.
    Get(Vec<Vec<u8>>),
}

impl What {
    const fn direction(&self) -> Direction {
        match self {
            Self::Put { .. } => Direction::Send,
            Self::Get(_) => Direction::Receive,
        }
    }
}

/// Whether a program goes there first, and where it is.
#[derive(Clone, Default)]
pub(crate) struct Minis {
    pub(crate) stages: Stages,
    /// The folder of the programs, if it is not that of the package.
    pub(crate) folder: Option<PathBuf>,
}

/// Files and a shell.
pub(crate) struct ByShell<'a> {
    pub(crate) ui: &'a Output,
    pub(crate) signals: &'a Signals,
    pub(crate) medium: LineKind,
    pub(crate) file_store: FileStore,
    pub(crate) what: What,
    pub(crate) minis: Minis,
    /// Those of Kermit are for the second stage.
    pub(crate) all: Settings,
}

impl ByShell<'_> {
    /// Runs it on a port; returns what came after it, too.
    pub(crate) fn run_on(&mut self, port: &mut dyn Port, before: &[u8]) -> (Ending, Vec<u8>) {
        let talked =
            Talked::begin(self.ui, self.signals, self.what.direction(), port.carries_bps());
        let mut talked = talked.behind(self.medium);
        let mut leftover = None;
        let result = self.talk(port, before, talked.watched(), &mut leftover);
        let lost = result == Err(Broken::Lost);
        let mut ending = talked.end(&self.file_store, result);
        if lost && leftover.is_some() {
            ending.message.push_str("; what ran at the shell was ended: send the file again");
        } else if lost {
            ending.message.push_str("; if the shell does not answer, Ctrl-C ends what runs there");
        }
        (ending, leftover.unwrap_or_default())
    }

    fn talk(
        &mut self,
        port: &mut dyn Port,
        before: &[u8],
        (observer, stats): (&mut Observer<'_>, &mut Stats),
        leftover: &mut Option<Vec<u8>>,
    ) -> Result<(), Broken> {
        let mut pace = Pace { rate_bps: port.carries_bps(), ..Pace::default() };
        if self.medium == LineKind::Program {
            pace.unacknowledged = TO_A_PROGRAM;
        }
        let facts = port.facts().clone();
        let ui = self.ui;
        let note = |text: &str| ui.say(Level::Note, text);
        let mut wire = PortWire::new(port, Some(self.signals), before).telling(&note);
        wire.until_not_asked(observer)?;
        let mut talk = Talk::begin(&mut wire, pace, &shell::nonce())?;
        let store = self.file_store.store();
        let folder = self.minis.folder.as_deref();
        let program = |role: Role, processor: &str| mini::program(folder, role, processor);
        let engine = |role: Role, passes: bool| engine(&facts, self.all.clone(), role, passes);
        let mut fast = Fast::new(&program, &engine, &note);
        fast.stages = self.minis.stages;
        // Any program on the way may act on a byte, and a device of seven bits has not each.
        fast.tries_bytes = self.medium == LineKind::Serial && !facts.xon_xoff && !facts.seven_bit;
        let done = match &self.what {
            What::Put { overwrites, overwrites_by, name } => {
                let options = PutOptions {
                    overwrites: *overwrites,
                    overwrites_by: overwrites_by.as_deref(),
                    name: name.clone(),
                    fast: Some(&fast),
                };
                shell::put(&mut talk, store, (observer, stats), &options)
            }
            What::Get(names) => shell::get(&mut talk, store, (observer, stats), names, Some(&fast)),
        };
        match done {
            Ok(()) => *leftover = Some(talk.end()?),
            Err(broken) => {
                *leftover = talk.leave();
                return Err(broken);
            }
        }
        Ok(())
    }
}

/// Our end of the second stage.
fn engine(
    facts: &PortFacts,
    mut all: Settings,
    role: Role,
    passes: bool,
) -> Result<Box<dyn Engine>, String> {
    port_facts::apply(facts, &mut all);
    if passes && !all.is_chosen("kermit.prefixing") {
        all.kermit_mut().prefixing = Prefixing::None;
        all.kermit_mut().unprefixed = PrefixTable::NOTHING.with(0).with(255);
    }
    let kermit = Protocol::named("kermit");
    match role {
        Role::Receiver => kermit.sender(&all),
        Role::Sender => Ok(kermit.receiver(&all)),
    }
}
