//! ZMODEM in the registry of protocols.

use super::states::{Receiving, Sending};
use super::{Config, Receiver, Sender};
use crate::line::LineFacts;
use crate::registry::{
    Advised, Carrier, Entry, Numbers,
    Pick::{Line, Of},
    Picks, Registered, Remedies, Remedy, Step, StopKeys, Trial, engines, trial,
};
use crate::states::Diagram;

/// What a seed of the swarm picks.
const PICKS: Picks = Picks::same(&[
    Step::Each(&[Line, Of("zmodem.buffer", &["1024", "4096", "65536"])]),
    Step::Each(&[
        Of("zmodem.escape", &["normal", "normal", "controls"]),
        Of("zmodem.send-length", &["0", "0", "32", "300", "1024", "8192"]),
        Of("zmodem.window", &["0", "0", "500", "4000"]),
        Of("zmodem.receive-buffer", &["0", "0", "0", "600"]),
        Of("zmodem.rle", &["on", "off"]),
        Of("zmodem.variable-headers", &["on", "off"]),
        Of("zmodem.adapt-length", &["on", "on", "off"]),
    ]),
]);

/// What to do about failures.
const REMEDIES: Remedies = Remedies {
    escapes: &[Remedy::set("escape all control characters", &[("zmodem.escape", "controls")])],
    shorter: &[Remedy::set(
        "send short subpackets, with a window",
        &[("zmodem.send-length", "128"), ("zmodem.window", "1024")],
    )],
    retries: &[("zmodem.retries", "255")],
    patience: &[("zmodem.timeout", "60"), ("zmodem.patience", "600")],
    likely_refusal: Some(
        "ZMODEM gives no reason: rz of lrzsz skips a file that exists there; rz -y overwrites \
         it, rz -E renames the new one",
    ),
    noisy: Some(": try --set zmodem.send-length=128 --set zmodem.escape=controls, or -P kermit"),
    ..Remedies::NONE
};

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
        picks: PICKS,
        advised: Advised::Always,
        remedies: REMEDIES,
        stops_by: StopKeys::Fixed("ctrl-x five times"),
        offered: Some(1),
        numbers: Numbers::Position,
        stop_and_wait: false,
        length_setting: None,
        compression: &["compress"],
    }];
    const STATES: &'static [(&'static str, Diagram)] =
        &[("sender", Sending::DIAGRAM), ("receiver", Receiving::DIAGRAM)];
    const TRIALS: Option<&'static [Trial]> = Some(&[
        trial!("zmodem.window": "0", "4096", "16384", "65536"),
        trial!("zmodem.send-length": "0", "256", "1024", "4096", "8192"),
        trial!("zmodem.adapt-length": "on", "off"),
        trial!("zmodem.escape": "normal", "turbo"),
        trial!("zmodem.crc32": "on", "off"),
        trial!("zmodem.rle": "on", "off"),
        trial!("zmodem.compress": "on"),
    ]);

    engines!();

    fn on_line(&mut self, line: LineFacts) {
        self.line = line;
    }
}
