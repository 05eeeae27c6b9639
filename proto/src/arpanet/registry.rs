//! FTP between hosts of the ARPANET in the registry of protocols.

use super::{Config, Receiver, Sender};
use crate::registry::{Carrier, Entry, Registered, engines};

impl Registered for Config {
    const FAMILY: &'static str = "ncp";
    const ENTRIES: &'static [Entry] = &[Entry {
        name: "ncp",
        title: "FTP over NCP",
        preset: &[],
        carrier: Carrier::Hosts,
        passes_7_bits: false,
        passes_xon_xoff: false,
        tells_names: true,
        // The lines between the IMPs have checks of their own.
        weak_check: None,
    }];

    engines!();
}
