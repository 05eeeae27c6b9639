//! Kermit in the registry of protocols.

use super::check::crc16;
use super::states::{Receiving, Requesting, Sending};
use super::{Config, Receiver, Sender};
use crate::line::LineFacts;
use crate::registry::{Carrier, Entry, Registered, WeakCheck, engines};
use crate::states::Diagram;

impl Registered for Config {
    const HEADING: &'static str = "Kermit settings";
    const FAMILY: &'static str = "kermit";
    const ENTRIES: &'static [Entry] = &[Entry {
        name: "kermit",
        title: "Kermit",
        a_title: "a Kermit",
        peer_commands: ["kermit -r", "kermit -s FILE"],
        preset: &[],
        carrier: Carrier::Bytes,
        passes_7_bits: true,
        passes_xon_xoff: true,
        resumes: true,
        tells_names: true,
        weak_check: Some(WeakCheck {
            of: crc16,
            len: 2,
            blocks: &[40, 94, 300, 1000],
            bare_answers: false,
        }),
    }];
    const STATES: &'static [(&'static str, Diagram)] = &[
        ("sender", Sending::DIAGRAM),
        ("receiver", Receiving::DIAGRAM),
        ("client", Requesting::DIAGRAM),
    ];

    engines!();

    fn on_line(&mut self, line: LineFacts) {
        self.line = line;
    }
}
