//! Files sent and received inside a session, on its port.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use wetstring_drive::disk::{ReceiveOptions, SendOptions};
use wetstring_proto::kermit;

use super::Session;
use crate::config::protocol::Protocol;
use crate::transfer::direction::Direction;
use crate::transfer::filter::Filter;
use crate::transfer::inbox::{self, receive_options};
use crate::transfer::job::Job;
use crate::transfer::limits::Limits;
use crate::transfer::outgoing::{outbox, sources};
use crate::transfer::speaks::Speaks;
use crate::transfer::store::FileStore;
use crate::ui::ending::Ending;
use crate::ui::exit::Exit;
use crate::ui::output::Level;

impl Session<'_> {
    /// Sends files by a protocol.
    pub(super) fn send_files(&mut self, files: &[PathBuf], by: &'static str) -> Result<(), Ending> {
        self.protocol = Some(by);
        let protocol = Protocol::named(by);
        let mut all = Vec::new();
        for file in files {
            match sources(self.ui, file, false) {
                Ok(more) => all.extend(more),
                Err(ending) => {
                    self.screen.say(&format!("({})", ending.message));
                    return Ok(());
                }
            }
        }
        if !protocol.tells_names && all.len() != 1 {
            self.screen.say(&format!(
                "(expected one file for {}, got {})",
                protocol.title,
                all.len()
            ));
            return Ok(());
        }
        let options = SendOptions {
            common_names: protocol.is::<kermit::Config>()
                && self.settings.kermit().names == kermit::Names::Converted,
            ..SendOptions::default()
        };
        let disk = outbox(self.ui, all, options);
        let store = FileStore::Disk(Box::new(disk));
        self.transfer(Direction::Send, Speaks::One(protocol), store, Vec::new())
    }

    /// Receives files by a protocol. `name` is for one whose protocol tells none.
    pub(super) fn receive_files(
        &mut self,
        by: &'static str,
        name: Option<&Path>,
    ) -> Result<(), Ending> {
        self.protocol = Some(by);
        self.receive_by(Speaks::One(Protocol::named(by)), name)
    }

    /// Receives into the directory of the session.
    pub(super) fn receive_by(&mut self, speaks: Speaks, name: Option<&Path>) -> Result<(), Ending> {
        let name = name.map(|name| name.as_os_str().as_bytes().to_vec());
        let unnamed = name.clone().unwrap_or_default();
        let options = ReceiveOptions { name, ..receive_options(&self.settings) };
        match inbox::receiving(&self.options.into, options) {
            Ok(disk) => {
                let store = FileStore::Disk(Box::new(disk));
                self.transfer(Direction::Receive, speaks, store, unnamed)
            }
            Err(ending) => {
                self.screen.say(&format!("({})", ending.message));
                Ok(())
            }
        }
    }

    /// Runs a transfer on the port. The user's terminal is as before the session meanwhile: Ctrl-C ends the
    /// transfer.
    fn transfer(
        &mut self,
        direction: Direction,
        speaks: Speaks,
        file_store: FileStore,
        unnamed: Vec<u8>,
    ) -> Result<(), Ending> {
        let Some(mut port) = self.port.take() else {
            self.screen.say("(the port is not plugged in)");
            return Ok(());
        };
        let before = self.take_held();
        self.give_terminal_back();
        let job = Job {
            ui: self.ui,
            common: self.common,
            direction,
            speaks,
            all: self.settings.clone(),
            spec: self.spec.clone(),
            file_store,
            filter: Filter::default(),
            limits: Limits::default(),
            unnamed,
            explain: false,
            pcap: None,
            looks_out: true,
        };
        let done = job.run_on(&mut *port, self.signals, &before);
        self.port = Some(port);
        self.signals.reset();
        let (ending, leftover) = match done {
            Ok((ending, leftover)) => (ending, leftover),
            Err(ending) => (ending, Vec::new()),
        };
        if !ending.message.is_empty() {
            let level = if ending.exit == Exit::Done { Level::Note } else { Level::Error };
            self.ui.say(level, &ending.message);
        }
        self.take_terminal()?;
        self.heard(&leftover)
    }
}
