//! Files to and from `trz` and `tsz`, on any line.

use wetstring_drive::shell::{Broken, PortWire};
use wetstring_drive::trzsz::{self, Talk, Terms};
use wetstring_drive::{Port, PortFacts, Signals};
use wetstring_proto::peer::Host;

use crate::transfer::direction::Direction;
use crate::transfer::store::FileStore;
use crate::transfer::talked::Talked;
use crate::ui::ending::Ending;
use crate::ui::output::{Level, Output};

/// Files, and a peer that has started.
pub(crate) struct ByTrzsz<'a> {
    pub(crate) ui: &'a Output,
    pub(crate) signals: &'a Signals,
    pub(crate) direction: Direction,
    /// Where the peer runs.
    pub(crate) host: Host,
    pub(crate) file_store: FileStore,
}

impl ByTrzsz<'_> {
    /// Runs it on a port; returns what came after it, too.
    pub(crate) fn run_on(&mut self, port: &mut dyn Port, before: &[u8]) -> (Ending, Vec<u8>) {
        let talked = Talked::begin(self.ui, self.signals, self.direction, port.carries_bps());
        let mut talked = talked.listen();
        let files = self.file_store.batch().files;
        let store = self.file_store.store();
        let terms = terms(self.host, port.facts());
        let tell = |text: &str| self.ui.say(Level::Note, text);
        let mut wire = PortWire::new(port, Some(self.signals), before).telling(&tell);
        let (watch, stats) = talked.watched();
        let mut talk = Talk::new(&mut wire, terms, (watch, stats));
        let result = match self.direction {
            Direction::Send => trzsz::send(&mut talk, store, files.into()),
            Direction::Receive => trzsz::receive(&mut talk, store),
        };
        if let Err(broken) = &result {
            talk.stop(broken);
        }
        let leftover = talk.over();
        let has_ended = talk.peer_has_ended();
        let lost = result == Err(Broken::Lost);
        let mut ending = talked.end(&self.file_store, result);
        if lost {
            ending.message.push_str(self.how_to_go_on(has_ended));
        }
        (ending, leftover)
    }

    /// What a user does whose port was gone: the peer's program sends nothing twice, and takes no part of a file.
    const fn how_to_go_on(&self, has_ended: bool) -> &'static str {
        match (self.direction, has_ended) {
            (Direction::Send, true) => {
                "; trz was ended, and has a part of the file: start it again for the whole file"
            }
            (Direction::Send, false) => {
                "; trz has a part of the file: if it still runs, Ctrl-C ends it; start it again for the whole file"
            }
            (Direction::Receive, true) => "; tsz was ended: start it again for the whole file",
            (Direction::Receive, false) => {
                "; if tsz still runs, Ctrl-C ends it; start it again for the whole file"
            }
        }
    }
}

/// What is known of a peer and a line.
fn terms(host: Host, facts: &PortFacts) -> Terms {
    Terms { host, clear: !facts.seven_bit && !facts.xon_xoff }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binary_form_needs_every_byte() {
        let clear = |facts: PortFacts| terms(Host::Plain, &facts).clear;
        let facts = || PortFacts::named("a line");
        assert!(clear(facts()));
        assert!(!clear(PortFacts { seven_bit: true, ..facts() }));
        assert!(!clear(PortFacts { xon_xoff: true, ..facts() }));
    }
}
