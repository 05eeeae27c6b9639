//! UUCP with the protocol `g` in the registry of protocols.

use super::frame::sum;
use super::states::{Greeting, Stage, State};
use super::{Config, Receiver, Sender};
use crate::line::LineFacts;
use crate::registry::{
    Advised, Carrier, Entry, Numbers,
    Pick::{Line, Of, Opposite},
    Picks, Registered, Remedies, Remedy, Step, StopKeys, Trial, WeakCheck, engines, trial,
};
use crate::states::Diagram;

/// What a seed of the swarm picks.
const PICKS: Picks = Picks::same(&[
    Step::Both(&[Opposite("uucp.role", ["call", "answer"])]),
    Step::Each(&[
        Line,
        Of("uucp.buffer", &["4096", "65536"]),
        Of("uucp.window", &["1", "3", "7", "7"]),
        Of("uucp.packet", &["32", "64", "64", "256", "1024", "4096"]),
        Of("uucp.retries", &["10", "30"]),
        Of("uucp.timeout", &["10", "20"]),
    ]),
]);

/// What to do about failures.
const REMEDIES: Remedies = Remedies {
    shorter: &[Remedy::set(
        "send short packets, one at a time",
        &[("uucp.packet", "64"), ("uucp.window", "1")],
    )],
    retries: &[("uucp.retries", "94")],
    patience: &[("uucp.timeout", "60"), ("uucp.patience", "600")],
    noisy: Some("; try -P kermit, which can send shorter packets and fewer control characters"),
    ..Remedies::NONE
};

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
        picks: PICKS,
        // Its check is too weak to be advised.
        advised: Advised::Never,
        remedies: REMEDIES,
        stops_by: StopKeys::None,
        offered: None,
        numbers: Numbers::Modulo(8),
        stop_and_wait: false,
        length_setting: Some("uucp.packet"),
        compression: &[],
    }];
    const STATES: &'static [(&'static str, Diagram)] = &[
        ("either end", State::DIAGRAM),
        ("greeting", Greeting::DIAGRAM),
        ("packet driver", Stage::DIAGRAM),
    ];
    const TRIALS: Option<&'static [Trial]> = Some(&[
        trial!("uucp.window": "1", "3", "7"),
        trial!("uucp.packet": "64", "256", "1024", "4096"),
    ]);

    engines!();

    fn on_line(&mut self, line: LineFacts) {
        self.line = line;
    }
}
