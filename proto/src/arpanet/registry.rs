//! FTP between hosts of the ARPANET in the registry of protocols.

use super::ftp::states::{ServerStage, Stage};
use super::{Config, Receiver, Sender};
use crate::registry::{Carrier, Entry, Registered, engines};
use crate::states::Diagram;

impl Registered for Config {
    const HEADING: &'static str = "FTP over NCP settings";
    const FAMILY: &'static str = "ncp";
    const ENTRIES: &'static [Entry] = &[Entry {
        name: "ncp",
        title: "FTP over NCP",
        a_title: "an FTP",
        peer_commands: ["wst receive", "wst send FILE"],
        preset: &[],
        carrier: Carrier::Hosts,
        passes_7_bits: false,
        passes_xon_xoff: false,
        resumes: false,
        tells_names: true,
        // The lines between the IMPs have checks of their own.
        weak_check: None,
    }];
    const STATES: &'static [(&'static str, Diagram)] =
        &[("user", Stage::DIAGRAM), ("server", ServerStage::DIAGRAM)];

    engines!();
}
