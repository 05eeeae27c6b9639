//! FTP between hosts of the ARPANET in the registry of protocols.

use super::ftp::states::{ServerStage, Stage};
use super::ncp::states::{Handshake, Life};
use super::{Config, Receiver, Sender, icp};
use crate::registry::{
    Advised, Carrier, Entry, Numbers, Picks, Registered, Remedies, StopKeys, Trial, engines, trial,
};
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
        picks: Picks::ROWS,
        advised: Advised::Never,
        remedies: Remedies::NONE,
        stops_by: StopKeys::None,
        offered: None,
        numbers: Numbers::Modulo(256),
        stop_and_wait: false,
        length_setting: None,
        compression: &[],
    }];
    const STATES: &'static [(&'static str, Diagram)] = &[
        ("user", Stage::DIAGRAM),
        ("server", ServerStage::DIAGRAM),
        ("initial connection", icp::states::Stage::DIAGRAM),
        ("connection", Handshake::DIAGRAM),
        ("host", Life::DIAGRAM),
    ];
    const TRIALS: Option<&'static [Trial]> = Some(&[
        trial!("ncp.buffers": "both", "large"),
        trial!("ncp.window": "1", "2", "4", "8"),
        trial!("ncp.host-window": "2", "4", "8"),
        trial!("ncp.buffer": "8192", "16384", "65536"),
    ]);

    engines!();
}
