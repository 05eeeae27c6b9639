//! The state of a script in the program: its connection, its settings, and its modes.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use wetstring_drive::charset::SharedSets;
use wetstring_drive::event::{self, Interest};
use wetstring_drive::serve::Action;
use wetstring_drive::{LineSpec, Port, Signals, in_words, open};
use wetstring_proto::settings::BadSetting;
use wetstring_protocols::{FAMILIES, Protocol};
use wetstring_script::world::{Done, Fault, Heard, Kept, Scope};
use wetstring_script::{Local, World};

use super::line::Serial;
use super::server_rights::allowed_at_first;
use crate::config::Settings;
use crate::transfer::opening::why_not;
use crate::ui::output::{Level, Output};

/// Longest wait for a port to close and its child to exit.
pub(super) const LONGEST_POLL: Duration = Duration::from_millis(500);

/// The real world.
pub(super) struct Live<'a> {
    pub(super) local: Local,
    pub(super) ui: &'a Output,
    pub(super) settings: Settings,
    pub(super) signals: &'a Signals,
    pub(super) port: Option<Box<dyn Port>>,
    /// How it was opened.
    pub(super) spec: Option<LineSpec>,
    /// Received bytes not consumed yet.
    pub(super) ahead: VecDeque<u8>,
    pub(super) trace: Option<PathBuf>,
    /// Without a connection, stdin and stdout are the line, and no commands are read there.
    pub(super) may_use_stdio: bool,
    /// The root of our server's clients; the current directory if none.
    pub(super) root: Option<PathBuf>,
    /// What our server's clients may do, and which of them.
    pub(super) allowed: BTreeMap<Action, Scope>,
    /// SET SPEED and the like, for serial lines.
    pub(super) serial: Serial,
    /// SET TRANSFER PROTOCOL.
    pub(super) protocol: Protocol,
    /// SET FILE DISPLAY NONE.
    pub(super) display_none: bool,
    /// No text is translated (SET TRANSFER TRANSLATION OFF).
    pub(super) as_is: bool,
    /// Idle timeout of the server.
    pub(super) silence: Option<Duration>,
    /// Character sets, which the client of our server may change.
    pub(super) sets: Option<SharedSets>,
    /// LOG DEBUG.
    pub(super) debug: Option<PathBuf>,
    /// LOG SESSION.
    pub(super) session: Option<File>,
}

impl<'a> Live<'a> {
    pub(super) fn new(
        ui: &'a Output,
        mut settings: Settings,
        signals: &'a Signals,
        trace: Option<PathBuf>,
    ) -> Result<Self, String> {
        let directory = std::env::current_dir()
            .map_err(|e| format!("could not find this directory: {}", in_words(&e)))?;
        // No translation by default: TRANSFER MODE MANUAL, FILE TYPE BINARY.
        settings.kermit_mut().manual_mode = true;
        Ok(Self {
            local: Local::new(directory, wetstring_drive::zone::offset_at)
                .reading(wetstring_drive::terminal::stdin::line),
            ui,
            settings,
            signals,
            port: None,
            spec: None,
            ahead: VecDeque::new(),
            trace,
            may_use_stdio: true,
            root: None,
            allowed: allowed_at_first(11),
            serial: Serial::default(),
            protocol: Protocol::default(),
            display_none: false,
            as_is: false,
            silence: None,
            sets: None,
            debug: None,
            session: None,
        })
    }

    /// SET DELAY: a sender on the terminal's own line gives the user there time to start the receiver.
    pub(super) fn delay(&mut self, kept: &Kept) -> Result<(), Fault> {
        let seconds = kept.get("delay").and_then(|text| str::from_utf8(text).ok()?.parse().ok());
        let own = self.port.is_none() || self.spec == Some(LineSpec::Stdio);
        match seconds.filter(|seconds| own && *seconds > 0) {
            Some(seconds) if self.pause(Duration::from_secs(seconds), false) => {
                Err(Fault::new("interrupted"))
            }
            _ => Ok(()),
        }
    }

    /// Opens a line as `wst send` does.
    pub(super) fn open_line(&mut self, spec: &LineSpec) -> Result<(), Fault> {
        self.hang_up()?;
        let ui = self.ui;
        let mut notes = |text: &str| ui.say(Level::Note, text);
        let port = open(spec, Some(self.signals), &mut notes);
        self.port = Some(port.map_err(|bad| Fault::new(why_not(spec, &bad)))?);
        self.spec = Some(spec.clone());
        Ok(())
    }

    /// LOG SESSION: output of the peer.
    pub(super) fn log_session(&mut self, bytes: &[u8]) {
        if let Some(log) = &mut self.session {
            // A full disk must not end the session.
            let _ = log.write_all(bytes);
        }
    }

    pub(super) fn log(
        &mut self,
        what: &str,
        to: Option<&Vec<u8>>,
        append: bool,
    ) -> Result<Done, Fault> {
        if let Some(name) = to
            && matches!(what, "debug" | "packets" | "session")
        {
            if name.starts_with(b"|") {
                return Err(Fault::absent("a LOG that a command reads"));
            }
            // Fails now rather than at the first packet.
            File::options().create(true).append(true).open(self.local.path(name))?;
        }
        match (what, to) {
            ("packets", Some(_)) if self.debug.is_some() => {
                return Err(Fault::new("LOG PACKETS and LOG DEBUG at once are not supported"));
            }
            ("packets", to) => self.trace = to.map(|name| self.local.path(name)),
            ("session", Some(name)) => {
                let mut options = File::options();
                options.create(true).append(append).write(true).truncate(!append);
                self.session = Some(options.open(self.local.path(name))?);
            }
            ("session", None) => self.session = None,
            ("debug", Some(_)) if self.trace.is_some() => {
                return Err(Fault::new("LOG DEBUG and LOG PACKETS at once are not supported"));
            }
            // The engines' trace has more than C-Kermit's packet log.
            ("debug", to) => self.debug = to.map(|name| self.local.path(name)),
            (_, None) => {}
            (what, Some(_)) => return Err(Fault::absent(&format!("LOG {}", what.to_uppercase()))),
        }
        Ok(Done::default())
    }

    /// Waits for bytes of the connection; `false` if it is gone or there is none.
    pub(super) fn fill(&mut self, wait: Duration) -> Result<Heard, ()> {
        let port = self.port.as_mut().ok_or(())?;
        let mut buffer = [0; 4096];
        let until = Instant::now() + wait;
        loop {
            match port.read(&mut buffer) {
                Ok(Some(0)) | Err(_) => return Err(()),
                Ok(Some(len)) => {
                    self.ahead.extend(&buffer[..len]);
                    return Ok(Heard::Byte(0));
                }
                Ok(None) => {}
            }
            if self.signals.count() > 0 {
                return Ok(Heard::Interrupted);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Heard::Silence);
            }
            let line = Interest::read(port.read_source());
            let mut interests = [line, Interest::read(self.signals.source())];
            // An interrupted wait is handled above.
            let _ = event::wait(&mut interests, Some(left.min(LONGEST_POLL)));
        }
    }
}

/// Sets a row of the settings table, unless no transfer over a connection of this kind could act on it.
pub(super) fn set_row(
    settings: &mut Settings,
    name: &str,
    value: &str,
    acts: impl Fn(&Protocol) -> bool,
) -> Result<(), Fault> {
    let family = FAMILIES.iter().find(|family| name.split('.').next() == Some(family.prefix()));
    if let Some(family) = family.filter(|family| !family.protocols().any(|other| acts(&other))) {
        let title = family.title();
        let why = format!("not supported: no transfer of this script is by {title}");
        return Err(Fault::new(format!("{why}; use `wst send -P` with --set {name}=")));
    }
    settings.set(name, value).map_err(|bad| match bad {
        BadSetting::Unknown => Fault::new(format!("no such setting: {name}")),
        BadSetting::Value(row) => {
            Fault::new(format!("expected {} for {name}, got {value}", row.range))
        }
    })
}

/// Words after SET for the rows of a family: its prefix, and the names of its protocols.
pub(super) fn families() -> Vec<(&'static str, &'static str)> {
    let names = Protocol::all().map(|protocol| (protocol.name, protocol.family().prefix()));
    let prefixes = FAMILIES.iter().map(|family| (family.prefix(), family.prefix()));
    let mut all: Vec<_> = prefixes.chain([("store", "store")]).chain(names).collect();
    all.sort_unstable();
    all.dedup();
    all
}

pub(super) fn no_connection() -> Fault {
    Fault::new("no connection; SET LINE or SET HOST opens one")
}

impl Live<'_> {
    /// Reconfigures an open serial line; modem signals stay as they are.
    pub(super) fn set_up_again(&mut self) -> Result<(), Fault> {
        let Some(before @ LineSpec::Serial(_)) = self.spec.clone() else { return Ok(()) };
        let mut after = before.clone();
        self.serial.apply(&mut after);
        if after != before {
            self.open_line(&after)?;
        }
        Ok(())
    }
}
