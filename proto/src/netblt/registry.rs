//! NETBLT in the registry of protocols.

use super::states::{Receiving, Sending};
use super::{Config, Receiver, Sender};
use crate::registry::{Advised, Carrier, Entry, Picks, Registered, engines};
use crate::states::Diagram;

impl Registered for Config {
    const HEADING: &'static str = "NETBLT settings";
    const FAMILY: &'static str = "netblt";
    const ENTRIES: &'static [Entry] = &[Entry {
        name: "netblt",
        title: "NETBLT",
        a_title: "a NETBLT",
        peer_commands: ["wst receive", "wst send FILE"],
        preset: &[],
        carrier: Carrier::Datagrams,
        passes_7_bits: false,
        passes_xon_xoff: false,
        resumes: true,
        tells_names: true,
        // A digest of the whole file.
        weak_check: None,
        picks: Picks::ROWS,
        advised: Advised::Never,
    }];
    const STATES: &'static [(&'static str, Diagram)] =
        &[("sender", Sending::DIAGRAM), ("receiver", Receiving::DIAGRAM)];

    engines!();
}
