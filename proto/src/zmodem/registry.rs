//! ZMODEM in the registry of protocols.

use super::states::{Receiving, Sending};
use super::{Config, Receiver, Sender};
use crate::line::LineFacts;
use crate::registry::{Carrier, Entry, Registered, engines};
use crate::states::Diagram;

impl Registered for Config {
    const HEADING: &'static str = "ZMODEM settings";
    const FAMILY: &'static str = "zmodem";
    const ENTRIES: &'static [Entry] = &[Entry {
        name: "zmodem",
        title: "ZMODEM",
        a_title: "a ZMODEM",
        peer_commands: ["rz", "sz FILE"],
        preset: &[],
        carrier: Carrier::Bytes,
        passes_7_bits: false,
        passes_xon_xoff: true,
        resumes: true,
        tells_names: true,
        // Our ends have 32 bits.
        weak_check: None,
    }];
    const STATES: &'static [(&'static str, Diagram)] =
        &[("sender", Sending::DIAGRAM), ("receiver", Receiving::DIAGRAM)];

    engines!();

    fn on_line(&mut self, line: LineFacts) {
        self.line = line;
    }
}
