//! UUCP with the protocol `g` in the registry of protocols.

use super::frame::sum;
use super::states::{Greeting, Stage, State};
use super::{Config, Receiver, Sender};
use crate::line::LineFacts;
use crate::registry::{Carrier, Entry, Registered, WeakCheck, engines};
use crate::states::Diagram;

impl Registered for Config {
    const HEADING: &'static str = "UUCP settings";
    const FAMILY: &'static str = "uucp";
    const ENTRIES: &'static [Entry] = &[Entry {
        name: "uucp-g",
        title: "UUCP",
        a_title: "a UUCP",
        peer_commands: ["uucico", "uucico"],
        preset: &[],
        carrier: Carrier::Bytes,
        passes_7_bits: false,
        passes_xon_xoff: false,
        resumes: false,
        tells_names: true,
        weak_check: Some(WeakCheck {
            of: sum,
            len: 2,
            blocks: &[32, 64, 64, 256, 1024],
            bare_answers: false,
        }),
    }];
    const STATES: &'static [(&'static str, Diagram)] = &[
        ("either end", State::DIAGRAM),
        ("greeting", Greeting::DIAGRAM),
        ("packet driver", Stage::DIAGRAM),
    ];

    engines!();

    fn on_line(&mut self, line: LineFacts) {
        self.line = line;
    }
}
