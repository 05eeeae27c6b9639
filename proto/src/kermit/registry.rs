//! Kermit in the registry of protocols.

use super::check::crc16;
use super::states::{Receiving, Requesting, Sending};
use super::{Config, Receiver, Sender};
use crate::line::LineFacts;
use crate::registry::{
    Advised, Carrier, Entry, InForce, Numbers,
    Pick::{HalfDuplex, Line, Of, OneIn},
    Picks, Registered, Remedies, Remedy, Step, StopKeys, Trial, WeakCheck, engines, trial,
};
use crate::states::Diagram;

/// What a seed of the swarm picks.
const PICKS: Picks = Picks {
    usual: &[
        Step::Each(&[Line, Of("kermit.buffer", &["1024", "4096", "65536"])]),
        Step::Both(&[Of("kermit.check", &["3", "3", "5"])]),
        Step::Each(&[
            Of("kermit.window", &["1", "2", "7", "31", "4"]),
            Of("kermit.receive-length", &["40", "94", "300", "1000", "9024"]),
            Of("kermit.prefixing", &["auto", "all", "minimal", "none"]),
            Of("kermit.attributes", &["on", "on", "off"]),
            Of("kermit.repeat", &["on", "off"]),
            Of("kermit.digest", &["on", "off"]),
            Of("kermit.bundle", &["on", "auto", "off"]),
            Of("kermit.correction", &["on", "off"]),
        ]),
        Step::Both(&[
            OneIn(3, "kermit.parity", &["even", "odd", "mark", "space"]),
            HalfDuplex("kermit.window", "1"),
        ]),
    ],
    // Every window and long packets, each end with its own; with digests of whole files, without which one damaged
    // packet in 65,536 is taken for a good one.
    noisy: &[
        Step::Each(&[Line]),
        Step::Both(&[Of("kermit.window", &["1", "2", "4", "31"])]),
        Step::Each(&[
            Of("kermit.receive-length", &["94", "1000", "9024", "9024"]),
            Of("kermit.prefixing", &["auto", "all", "minimal"]),
        ]),
    ],
};

/// What to do about failures.
const REMEDIES: Remedies = Remedies {
    escapes: &[
        Remedy::set("if the line has 7 bits, say so at both ends", &[("kermit.parity", "even")]),
        Remedy::set("prefix all control characters", &[("kermit.prefixing", "all")]),
    ],
    shorter: &[Remedy::set(
        "send short packets, one at a time",
        &[("kermit.send-length", "90"), ("kermit.window", "1")],
    )],
    retries: &[("kermit.retries", "94")],
    patience: &[("kermit.timeout", "60"), ("kermit.retries", "94")],
    unreliable: &[Remedy::set(
        "let damaged packets be retransmitted",
        &[("kermit.reliable", "off"), ("kermit.streaming", "off")],
    )],
    ..Remedies::NONE
};

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
        picks: PICKS,
        advised: Advised::Always,
        remedies: REMEDIES,
        stops_by: StopKeys::Times { key: "ctrl-c", setting: "kermit.interrupts" },
        offered: Some(0),
        numbers: Numbers::Modulo(64),
        stop_and_wait: false,
        length_setting: Some("kermit.send-length"),
        compression: &["compress", "bundle"],
    }];
    const STATES: &'static [(&'static str, Diagram)] = &[
        ("sender", Sending::DIAGRAM),
        ("receiver", Receiving::DIAGRAM),
        ("client", Requesting::DIAGRAM),
    ];
    const TRIALS: Option<&'static [Trial]> = Some(&[
        Trial {
            settings: &[("kermit.window", InForce::Lesser)],
            values: &["1", "2", "4", "8", "16", "31"],
            needs_reliable: false,
        },
        Trial {
            settings: &[
                ("kermit.send-length", InForce::Sender),
                ("kermit.receive-length", InForce::Receiver),
            ],
            values: &["94", "250", "500", "1000", "2000", "4000", "9024"],
            needs_reliable: false,
        },
        trial!("kermit.adapt-length": "on", "off"),
        trial!("kermit.prefixing": "auto", "all", "cautious", "minimal"),
        trial!("kermit.repeat": "on", "off"),
        trial!("kermit.locking-shift": "on", "off"),
        trial!("kermit.check": "1", "2", "3"),
        trial!("kermit.streaming": "on").on_reliable(),
        trial!("kermit.bundle": "on"),
        // These are there in bundles only.
        trial!("kermit.correction" and "kermit.bundle": "on"),
        trial!("kermit.compress" and "kermit.bundle": "on"),
        trial!("kermit.difference" and "kermit.bundle": "on"),
    ]);

    engines!();

    fn on_line(&mut self, line: LineFacts) {
        self.line = line;
    }
}
