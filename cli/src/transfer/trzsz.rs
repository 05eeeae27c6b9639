//! Files to and from `trz` and `tsz`, on any line.

use wetstring_drive::shell::PortWire;
use wetstring_drive::trzsz::{self, Talk};
use wetstring_drive::{Port, Signals};

use crate::transfer::direction::Direction;
use crate::transfer::store::FileStore;
use crate::transfer::talked::Talked;
use crate::ui::ending::Ending;
use crate::ui::output::Output;

/// Files, and a peer that has started.
pub(crate) struct ByTrzsz<'a> {
    pub(crate) ui: &'a Output,
    pub(crate) signals: &'a Signals,
    pub(crate) direction: Direction,
    pub(crate) file_store: FileStore,
}

impl ByTrzsz<'_> {
    /// Runs it on a port; returns what came after it, too.
    pub(crate) fn run_on(&mut self, port: &mut dyn Port, before: &[u8]) -> (Ending, Vec<u8>) {
        let talked = Talked::begin(self.ui, self.signals, self.direction, port.carries_bps());
        let mut talked = talked.listen();
        let files = self.file_store.batch().files;
        let store = self.file_store.store();
        let mut wire = PortWire::new(port, Some(self.signals), before);
        let (watch, stats) = talked.watched();
        let mut talk = Talk::new(&mut wire, watch, stats);
        let result = match self.direction {
            Direction::Send => trzsz::send(&mut talk, store, files.into()),
            Direction::Receive => trzsz::receive(&mut talk, store),
        };
        if let Err(broken) = &result {
            talk.stop(broken);
        }
        let leftover = talk.over();
        (talked.end(&self.file_store, result), leftover)
    }
}
