//! Files sent and received inside a session, on its port.

use std::path::{Path, PathBuf};

use wetstring_drive::Port;
use wetstring_drive::disk::{DiskStore, PathRule, ReceiveOptions, SendOptions, Source};
use wetstring_proto::kermit;
use wetstring_proto::kermit::Prefixing;
use wetstring_proto::peer::Host;
use wetstring_proto::zmodem::escape::Escaping;

use super::Session;
use super::autostart::Start;
use super::plugged::By;
use super::trailer::Trailer;
use crate::args::selection::Selection;
use crate::config::Settings;
use crate::config::protocol::Protocol;
use crate::transfer::direction::Direction;
use crate::transfer::filter::Filter;
use crate::transfer::inbox::{self, receive_options};
use crate::transfer::job::Job;
use crate::transfer::limits::Limits;
use crate::transfer::outgoing::{outbox, sources};
use crate::transfer::shell::{ByShell, Minis, What};
use crate::transfer::speaks::Speaks;
use crate::transfer::store::FileStore;
use crate::transfer::trzsz::ByTrzsz;
use crate::ui::ending::Ending;
use crate::ui::exit::{Exit, LineKind};
use crate::ui::output::Level;

/// Why no file passes a port that is for people only.
pub(super) const REDRAWN: &str = "(no transfer here: the system redraws what passes its pseudo-terminal; \
     use exec:COMMAND as the line, such as wst send FILE exec:'ssh -T HOST wst receive -')";

/// What the peer has sent already.
pub(super) enum Begun {
    /// What came while the user was asked.
    Held,
    /// Its first packet, and what came after it.
    By(Vec<u8>),
}

impl Session<'_> {
    /// Whether the port is for people only.
    pub(super) fn is_redrawn(&self) -> bool {
        self.port.as_ref().is_some_and(|port| port.facts().redrawn)
    }

    /// Sends files by a protocol; false if they cannot be read.
    pub(super) fn send_files(
        &mut self,
        begun: Begun,
        files: &[PathBuf],
        by: &'static str,
    ) -> Result<bool, Ending> {
        self.protocol = Some(by);
        let protocol = Protocol::named(by);
        let Some(all) = self.sources_of(files) else { return Ok(false) };
        if !protocol.tells_names && all.len() != 1 {
            let say = format!("(expected one file for {}, got {})", protocol.title, all.len());
            self.screen.say(&say);
            return Ok(false);
        }
        let options = SendOptions {
            common_names: protocol.is::<kermit::Config>()
                && self.settings.kermit().names == kermit::Names::Converted,
            ..SendOptions::default()
        };
        let disk = outbox(self.ui, all, options);
        let store = FileStore::Disk(Box::new(disk));
        self.transfer(begun, (Direction::Send, protocol), store, Vec::new())?;
        Ok(true)
    }

    /// The files to send; `None`, said, if one cannot be read.
    fn sources_of(&mut self, files: &[PathBuf]) -> Option<Vec<Source>> {
        let mut all = Vec::new();
        for file in files {
            match sources(self.ui, file, (false, false), &Selection::default()) {
                Ok(more) => all.extend(more),
                Err(ending) => {
                    self.screen.say(&format!("({})", ending.message));
                    return None;
                }
            }
        }
        Some(all)
    }

    /// Sends files to the peer's shell, which has no receiver: its own tools decode them.
    pub(super) fn send_by_shell(&mut self, files: &[PathBuf]) -> Result<(), Ending> {
        let Some(all) = self.sources_of(files) else { return Ok(()) };
        let Some((port, before)) = self.lend_port() else { return Ok(()) };
        // Behind a program there may be a line that it does not tell of.
        let medium =
            if self.options.wraps { LineKind::Connection } else { LineKind::of(&self.spec) };
        let mut by_shell = ByShell {
            ui: self.ui,
            signals: self.signals,
            medium,
            file_store: FileStore::Disk(Box::new(outbox(self.ui, all, SendOptions::default()))),
            what: What::Put { overwrites: false, overwrites_by: None, name: None },
            minis: Minis::default(),
            all: self.settings.clone(),
        };
        let ((ending, leftover), port) =
            self.on_returning(port, By::Conversation, |port| by_shell.run_on(port, &before));
        self.take_back(port, &ending, &leftover)
    }

    /// Receives the files of a peer that has started to send; false if there is no directory for them.
    pub(super) fn receive_from(&mut self, start: &Start) -> Result<bool, Ending> {
        match start.engine() {
            None => self.receive_trzsz(start.host),
            Some(by) => self.receive_files(Begun::By(start.bytes.clone()), by, None),
        }
    }

    /// Sends files to a peer that has started to receive; false if they cannot be read.
    pub(super) fn send_to(&mut self, start: &Start, files: &[PathBuf]) -> Result<bool, Ending> {
        match start.engine() {
            None => self.send_trzsz(start.host, files),
            Some(by) => self.send_files(Begun::By(start.bytes.clone()), files, by),
        }
    }

    /// Receives the files of a `tsz`; false if there is no directory for them.
    fn receive_trzsz(&mut self, host: Host) -> Result<bool, Ending> {
        // Names have directories only if the user there asks for it, by `tsz -d`.
        let options =
            ReceiveOptions { paths: PathRule::Relative, ..receive_options(&self.settings) };
        match inbox::receiving(&self.options.into, options) {
            Ok(disk) => self.by_trzsz(Direction::Receive, host, disk).map(|()| true),
            Err(ending) => {
                self.screen.say(&format!("({})", ending.message));
                Ok(false)
            }
        }
    }

    /// Sends files to a `trz`; false if they cannot be read.
    fn send_trzsz(&mut self, host: Host, files: &[PathBuf]) -> Result<bool, Ending> {
        let Some(all) = self.sources_of(files) else { return Ok(false) };
        let disk = outbox(self.ui, all, SendOptions::default());
        self.by_trzsz(Direction::Send, host, disk).map(|()| true)
    }

    fn by_trzsz(
        &mut self,
        direction: Direction,
        host: Host,
        disk: DiskStore,
    ) -> Result<(), Ending> {
        let Some((port, before)) = self.lend_port() else { return Ok(()) };
        let mut by_trzsz = ByTrzsz {
            ui: self.ui,
            signals: self.signals,
            direction,
            host,
            file_store: FileStore::Disk(Box::new(disk)),
        };
        let ((ending, leftover), port) =
            self.on_returning(port, By::Conversation, |port| by_trzsz.run_on(port, &before));
        self.take_back(port, &ending, &leftover)
    }

    /// The port for a transfer, and what was received. The user's terminal is as before the session meanwhile:
    /// Ctrl-C ends the transfer. `None`, said, if there is none.
    fn lend_port(&mut self) -> Option<(Box<dyn Port>, Vec<u8>)> {
        if self.is_redrawn() {
            self.screen.say(REDRAWN);
            return None;
        }
        let Some(port) = self.port.take() else {
            self.screen.say("(the port is not plugged in)");
            return None;
        };
        let held = self.take_held();
        self.screen.fresh_line();
        self.give_terminal_back();
        Some((port, held))
    }

    /// The end of a transfer: the session continues; without its port, it waits for that.
    fn take_back(
        &mut self,
        port: Option<Box<dyn Port>>,
        ending: &Ending,
        leftover: &[u8],
    ) -> Result<(), Ending> {
        self.port = port;
        self.readable = true;
        self.signals.reset();
        if !ending.message.is_empty() {
            let level = if ending.exit == Exit::Done { Level::Note } else { Level::Error };
            self.ui.say(level, &ending.message);
        }
        self.take_terminal()?;
        self.heard(leftover)?;
        if self.port.is_none() {
            self.unplugged();
        }
        Ok(())
    }

    /// Receives files by a protocol into the directory of the session. `name` is for protocols that do not transmit
    /// one. False if there is no such directory.
    pub(super) fn receive_files(
        &mut self,
        begun: Begun,
        by: &'static str,
        name: Option<&Path>,
    ) -> Result<bool, Ending> {
        self.protocol = Some(by);
        let name = name.map(|name| name.as_os_str().as_encoded_bytes().to_vec());
        let unnamed = name.clone().unwrap_or_default();
        let options = ReceiveOptions { name, ..receive_options(&self.settings) };
        match inbox::receiving(&self.options.into, options) {
            Ok(disk) => {
                let store = FileStore::Disk(Box::new(disk));
                let how = (Direction::Receive, Protocol::named(by));
                self.transfer(begun, how, store, unnamed)?;
                Ok(true)
            }
            Err(ending) => {
                self.screen.say(&format!("({})", ending.message));
                Ok(false)
            }
        }
    }

    /// Runs a transfer on the port.
    fn transfer(
        &mut self,
        begun: Begun,
        (direction, protocol): (Direction, Protocol),
        file_store: FileStore,
        unnamed: Vec<u8>,
    ) -> Result<(), Ending> {
        let looks_out = matches!(begun, Begun::Held);
        let Some((port, held)) = self.lend_port() else { return Ok(()) };
        let before = match begun {
            Begun::Held => held,
            Begun::By(first) => [first, held].concat(),
        };
        let all = self.settings_for(direction);
        let job = Job {
            ui: self.ui,
            common: self.common,
            direction,
            speaks: Speaks::One(protocol),
            all,
            spec: self.spec.clone(),
            file_store,
            filter: Filter::default(),
            limits: Limits::default(),
            unnamed,
            explain: false,
            pcap: None,
            looks_out,
        };
        let signals = self.signals;
        let (done, port) =
            self.on_returning(port, By::Engine, |port| job.run_on(port, signals, &before));
        let (ending, leftover) = match done {
            Ok((ending, leftover)) => (ending, leftover),
            Err(ending) => (ending, Vec::new()),
        };
        self.trailer = Some(Trailer::after(protocol, direction));
        self.take_back(port, &ending, &leftover)
    }

    /// The settings for a transfer here: any program on the way may act on what it carries to the peer.
    fn settings_for(&self, direction: Direction) -> Settings {
        let mut all = self.settings.clone();
        if direction == Direction::Receive {
            return all;
        }
        // A shell's terminal or tmux may act on any control character.
        if !all.is_chosen("kermit.prefixing") {
            all.kermit_mut().prefixing = Prefixing::All;
        }
        // So does ssh on ~ after CR or LF, and ZMODEM has an escape for those two only.
        if self.options.wraps && !all.is_chosen("zmodem.escape") {
            all.zmodem_mut().escape = Escaping::Controls;
        }
        all
    }
}
