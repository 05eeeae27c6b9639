//! NETBLT in the registry of protocols.

use super::states::{Receiving, Sending};
use super::{Config, Receiver, Sender};
use crate::registry::{
    Advised, Carrier, Entry, Numbers, Picks, Registered, Remedies, Remedy, StopKeys, engines,
};
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
        remedies: Remedies {
            shorter: &[Remedy::set("send shorter datagrams", &[("netblt.datagram", "600")])],
            patience: &[("netblt.death", "600")],
            ..Remedies::NONE
        },
        stops_by: StopKeys::None,
        offered: None,
        numbers: Numbers::Modulo(256),
        stop_and_wait: false,
        length_setting: None,
        compression: &[],
    }];
    const STATES: &'static [(&'static str, Diagram)] =
        &[("sender", Sending::DIAGRAM), ("receiver", Receiving::DIAGRAM)];

    engines!();
}
