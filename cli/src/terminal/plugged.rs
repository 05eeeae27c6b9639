//! Ports that are plugged in and out: waiting for one, and opening it again.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use wetstring_drive::port::{Finder, LATEST, LOOK, NEW, Returning, newest, open, ports};
use wetstring_drive::{LineSpec, Port, Signals};

use super::Session;
use crate::transfer::opening::why_not;
use crate::ui::output::Level;

/// Where the port of a line is.
struct PortFinder {
    spec: LineSpec,
    /// Ports that are not new.
    known: Vec<PathBuf>,
    /// It was present, and has disappeared.
    lost: bool,
}

/// The state of a port that may be unplugged.
pub(crate) struct Plugged {
    finder: Option<PortFinder>,
    next_look: Instant,
    /// Waiting was said.
    told: bool,
    /// Why it could not be opened, as said last.
    said: String,
}

/// What a transfer is done by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum By {
    /// An engine, which repeats what is lost.
    Engine,
    /// A conversation, which ends then.
    Conversation,
}

/// Whether the line is the port of this name.
fn is_called(spec: &LineSpec, name: &str) -> bool {
    matches!(spec, LineSpec::Serial(serial) if serial.path == Path::new(name))
}

fn paths() -> Vec<PathBuf> {
    ports().unwrap_or_default().into_iter().map(|port| port.path).collect()
}

impl PortFinder {
    fn new(spec: &LineSpec) -> Self {
        let known = if is_called(spec, NEW) { paths() } else { Vec::new() };
        Self { spec: spec.clone(), known, lost: false }
    }

    /// The line with the path of a port that is plugged in; `None` if none is new.
    fn resolved(&mut self) -> Option<LineSpec> {
        // Once the latest has gone, another is the latest: the next one is waited for.
        let waits = is_called(&self.spec, NEW) || self.lost && is_called(&self.spec, LATEST);
        let mut spec = self.spec.clone();
        let LineSpec::Serial(serial) = &mut spec else { return Some(spec) };
        if !waits {
            return Some(spec);
        }
        let now = ports().unwrap_or_default();
        // A port that was unplugged is new when it returns.
        self.known.retain(|path| now.iter().any(|port| port.path == *path));
        serial.path = newest(&self.known, &now)?;
        Some(spec)
    }
}

impl Finder for PortFinder {
    fn gone(&mut self) {
        self.lost = true;
        self.known = paths();
    }

    fn find(&mut self) -> Result<Option<Box<dyn Port>>, String> {
        let Some(spec) = self.resolved() else { return Ok(None) };
        match open(&spec, None, &mut |_| {}) {
            Ok(port) => Ok(Some(port)),
            Err(error) if error.is_missing() => Ok(None),
            Err(error) => Err(why_not(&spec, &error)),
        }
    }
}

impl Plugged {
    pub(crate) fn new(spec: &LineSpec) -> Self {
        let finder = Some(PortFinder::new(spec));
        Self { finder, next_look: Instant::now(), told: false, said: String::new() }
    }

    pub(super) fn next_look(&self) -> Instant {
        self.next_look
    }

    /// What looks for the port of this line.
    fn finder(&mut self, spec: &LineSpec) -> &mut PortFinder {
        let finder = self.lend(spec);
        self.finder.insert(finder)
    }

    /// The same, for a transfer, which gives it back.
    fn lend(&mut self, spec: &LineSpec) -> PortFinder {
        let mut finder = self.finder.take().unwrap_or_else(|| PortFinder::new(spec));
        finder.spec.clone_from(spec);
        finder
    }
}

impl Session<'_> {
    /// Whether a port that has gone is waited for.
    pub(super) fn may_return(&self) -> bool {
        self.options.waits && matches!(self.spec, LineSpec::Serial(_))
    }

    /// Runs a transfer on a port. A port that disappears during it and returns is used again; `None` if it has not
    /// returned. The user is told what happens meanwhile.
    pub(super) fn on_returning<T>(
        &mut self,
        mut port: Box<dyn Port>,
        by: By,
        transfer: impl FnOnce(&mut dyn Port) -> T,
    ) -> (T, Option<Box<dyn Port>>) {
        let back = self.may_return().then(Signals::detached);
        let Some(Ok(back)) = back else { return (transfer(&mut *port), Some(port)) };
        let mut returning = Returning::new(port, self.plugged.lend(&self.spec), back);
        if by == By::Conversation {
            returning = returning.under_a_conversation();
        }
        let done = transfer(&mut returning);
        while let Some(text) = returning.news() {
            self.ui.say(Level::Note, &format!("({text})"));
        }
        let (port, finder, times) = returning.into_parts();
        self.plugged.finder = finder;
        self.counters.reconnected += times;
        (done, port)
    }

    /// Opens the port if there is one now.
    pub(super) fn look_for_port(&mut self) {
        if self.port.is_some() || Instant::now() < self.plugged.next_look {
            return;
        }
        self.plugged.next_look = Instant::now() + LOOK;
        match self.plugged.finder(&self.spec).find() {
            Ok(Some(port)) => self.plugged_in(port),
            Err(say) if say != self.plugged.said => {
                self.screen.say(&format!("({say}; trying again)"));
                self.plugged.said = say;
            }
            _ if !self.plugged.told => {
                self.plugged.told = true;
                let name = named(&self.spec);
                self.screen.say(&format!("(waiting for {name})"));
            }
            _ => {}
        }
    }

    fn plugged_in(&mut self, port: Box<dyn Port>) {
        let name = port.facts().name.clone();
        self.port = Some(port);
        self.readable = true;
        self.counters.reconnected +=
            u32::from(std::mem::take(&mut self.plugged.finder(&self.spec).lost));
        self.plugged.told = false;
        self.plugged.said.clear();
        self.screen.say(&format!("(connected to {name})"));
    }

    /// The port has gone: waits for it.
    pub(super) fn unplugged(&mut self) {
        // After a transfer without it, it is looked for already.
        let name = self.port.take().map(|mut port| {
            let name = port.facts().name.clone();
            // Nothing can be sent now.
            let _ = port.finish(Duration::ZERO);
            self.plugged.finder(&self.spec).gone();
            name
        });
        self.plugged.told = true;
        self.plugged.next_look = Instant::now() + LOOK;
        let name = name.unwrap_or_else(|| named(&self.spec));
        self.screen.say(&format!("({name} is gone; waiting for {})", named(&self.spec)));
    }
}

/// The line as users write it.
fn named(spec: &LineSpec) -> String {
    match spec {
        LineSpec::Serial(serial) if is_called(spec, NEW) => {
            format!("{}, the next port to be plugged in", serial.path.display())
        }
        LineSpec::Serial(serial) => serial.path.display().to_string(),
        spec => spec.to_string(),
    }
}
