//! Ports that are plugged in and out: waiting for one, and opening it again.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use wetstring_drive::port::{Reopen, Returning, newest, open, ports};
use wetstring_drive::{LineSpec, Port, Signals};

use super::Session;
use crate::transfer::opening::why_not;
use crate::ui::output::Level;

/// How often a missing port is looked for.
const LOOK: Duration = Duration::from_millis(100);

/// The name of the port that is plugged in next.
const NEW: &str = "@new";

/// The state of a port that may be unplugged.
pub(crate) struct Plugged {
    next_look: Instant,
    /// Ports that are not new.
    known: Vec<PathBuf>,
    /// It was present, and has disappeared.
    lost: bool,
    /// Waiting was said.
    told: bool,
    /// Why it could not be opened, as said last.
    said: String,
}

/// Whether the line is the port that is plugged in next.
fn is_new(spec: &LineSpec) -> bool {
    matches!(spec, LineSpec::Serial(serial) if serial.path == Path::new(NEW))
}

fn paths() -> Vec<PathBuf> {
    ports().unwrap_or_default().into_iter().map(|port| port.path).collect()
}

impl Plugged {
    pub(crate) fn new(spec: &LineSpec) -> Self {
        let known = if is_new(spec) { paths() } else { Vec::new() };
        Self { next_look: Instant::now(), known, lost: false, told: false, said: String::new() }
    }

    pub(super) fn next_look(&self) -> Instant {
        self.next_look
    }

    /// The line with the port's path instead of `@new`; `None` if none is new.
    fn resolved(&mut self, spec: &LineSpec) -> Option<LineSpec> {
        let LineSpec::Serial(serial) = spec else { return Some(spec.clone()) };
        if !is_new(spec) {
            return Some(spec.clone());
        }
        let now = ports().unwrap_or_default();
        // A port that was unplugged is new when it returns.
        self.known.retain(|path| now.iter().any(|port| port.path == *path));
        let path = newest(&self.known, &now)?;
        let mut serial = serial.clone();
        serial.path = path;
        Some(LineSpec::Serial(serial))
    }
}

/// Opens the port of this line again once it has come back.
fn reopening(spec: LineSpec) -> Box<Reopen> {
    let mut plugged = None;
    Box::new(move || {
        let plugged = plugged.get_or_insert_with(|| Plugged::new(&spec));
        open(&plugged.resolved(&spec)?, None, &mut |_| {}).ok()
    })
}

impl Session<'_> {
    /// Whether a port that has gone is waited for.
    pub(super) fn may_return(&self) -> bool {
        self.options.waits && matches!(self.spec, LineSpec::Serial(_))
    }

    /// Runs a transfer on a port. One that goes meanwhile and comes back is used again; `None` if it has not.
    pub(super) fn on_returning<T>(
        &mut self,
        mut port: Box<dyn Port>,
        transfer: impl FnOnce(&mut dyn Port) -> T,
    ) -> (T, Option<Box<dyn Port>>) {
        let back = self.may_return().then(Signals::detached);
        let Some(Ok(back)) = back else { return (transfer(&mut *port), Some(port)) };
        let mut returning = Returning::new(port, reopening(self.spec.clone()), back);
        let done = transfer(&mut returning);
        while let Some(text) = returning.news() {
            self.ui.say(Level::Note, &format!("({text})"));
        }
        let (port, times) = returning.into_port();
        self.counters.reconnected += times;
        (done, port)
    }

    /// Opens the port if there is one now.
    pub(super) fn look_for_port(&mut self) {
        if self.port.is_some() || Instant::now() < self.plugged.next_look {
            return;
        }
        self.plugged.next_look = Instant::now() + LOOK;
        let opened = self.plugged.resolved(&self.spec).map(|spec| {
            let port = open(&spec, Some(self.signals), &mut |_| {});
            port.map_err(|error| (error.is_missing(), why_not(&spec, &error)))
        });
        match opened {
            Some(Ok(port)) => self.plugged_in(port),
            Some(Err((false, say))) if say != self.plugged.said => {
                // Such as the rights, which the system sets a moment after the device is there.
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
        self.counters.reconnected += u32::from(std::mem::take(&mut self.plugged.lost));
        self.plugged.told = false;
        self.plugged.said.clear();
        self.screen.say(&format!("(connected to {name})"));
    }

    /// The port has gone: waits for it.
    pub(super) fn unplugged(&mut self) {
        let name = self.port.take().map(|mut port| {
            let name = port.facts().name.clone();
            // Nothing can be sent now.
            let _ = port.finish(Duration::ZERO);
            name
        });
        self.plugged.lost = true;
        self.plugged.known = if is_new(&self.spec) { paths() } else { Vec::new() };
        self.plugged.told = true;
        self.plugged.next_look = Instant::now() + LOOK;
        let name = name.unwrap_or_else(|| named(&self.spec));
        self.screen.say(&format!("({name} is gone; waiting for {})", named(&self.spec)));
    }
}

/// The line as users write it.
fn named(spec: &LineSpec) -> String {
    match spec {
        LineSpec::Serial(serial) if is_new(spec) => {
            format!("{}, the next port to be plugged in", serial.path.display())
        }
        LineSpec::Serial(serial) => serial.path.display().to_string(),
        spec => spec.to_string(),
    }
}
