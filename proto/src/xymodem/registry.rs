//! XMODEM and YMODEM in the registry of protocols, by five names.

use super::frame::sum;
use super::states::{Receiving, Sending};
use super::{Config, Receiver, Sender};
use crate::crc::crc16;
use crate::line::LineFacts;
use crate::registry::{
    Advised, Carrier, Entry, Numbers,
    Pick::{Line, Of, Set},
    Picks, Registered, Remedies, Remedy, Step, StopKeys, Trial, WeakCheck, engines, trial,
};
use crate::states::Diagram;

fn sum8(block: &[u8]) -> u16 {
    u16::from(sum(block))
}

/// What a seed of the swarm picks, with these lengths of block.
macro_rules! picks {
    ($($block:literal),+) => {
        Picks::same(&[
            Step::Each(&[Line, Of("xymodem.buffer", &["128", "1024", "4096", "65536"])]),
            // A fall back to checksums is the checksum's swarm.
            Step::Both(&[Set("xymodem.starts", "0")]),
            Step::Each(&[
                Of("xymodem.block", &[$($block),+]),
                Of("xymodem.first-eot", &["auto", "auto", "nak", "wait"]),
                Of("xymodem.purge", &["1000", "300"]),
                Of("xymodem.pause", &["0", "0", "5"]),
                Of("xymodem.adapt-block", &["on", "on", "off"]),
                Of("xymodem.retries", &["10", "30"]),
            ]),
        ])
    };
}
/// Only the 1K variants support 1024; the others cannot insist on it.
const SHORT: Picks = picks!("auto", "128", "128");
const LONG: Picks = picks!("auto", "128", "128", "1024");

/// What to do about failures.
const REMEDIES: Remedies = Remedies {
    shorter: &[
        Remedy::set("send short blocks", &[("xymodem.block", "128")]),
        Remedy::set("pause before each block", &[("xymodem.pause", "50")]),
    ],
    retries: &[("xymodem.retries", "94")],
    patience: &[("xymodem.timeout", "60"), ("xymodem.patience", "600")],
    refused: &[Remedy::instead("use a protocol that can skip a file", "zmodem")],
    noisy: Some(": try -P kermit or -P zmodem, which recover better"),
    ..Remedies::NONE
};
/// The same, where a receiver knows the name of the file.
const WITH_NAMES: Remedies = Remedies {
    likely_refusal: Some(
        "YMODEM gives no reason: rb of lrzsz gives up at a file that exists there; rb -y \
         overwrites it, rb -E renames the new one",
    ),
    ..REMEDIES
};

/// One without file information.
const fn xmodem(name: &'static str, preset: &'static [(&'static str, &'static str)]) -> Entry {
    Entry {
        name,
        title: "XMODEM",
        a_title: "an XMODEM",
        peer_commands: ["rx FILE", "sx FILE"],
        preset,
        carrier: Carrier::Bytes,
        passes_7_bits: false,
        passes_xon_xoff: false,
        resumes: false,
        tells_names: false,
        weak_check: Some(WeakCheck {
            of: crc16,
            len: 2,
            blocks: &[128, 128, 1024],
            bare_answers: true,
        }),
        picks: LONG,
        advised: Advised::Never,
        remedies: REMEDIES,
        stops_by: StopKeys::Fixed("ctrl-x twice"),
        offered: None,
        numbers: Numbers::Modulo(256),
        stop_and_wait: true,
        length_setting: None,
        compression: &[],
    }
}

/// One with a block 0.
const fn ymodem(name: &'static str, preset: &'static [(&'static str, &'static str)]) -> Entry {
    Entry {
        title: "YMODEM",
        a_title: "a YMODEM",
        peer_commands: ["rb", "sb FILE"],
        tells_names: true,
        advised: Advised::Always,
        remedies: WITH_NAMES,
        ..xmodem(name, preset)
    }
}

impl Registered for Config {
    const HEADING: &'static str = "XMODEM and YMODEM settings";
    const FAMILY: &'static str = "xymodem";
    const ENTRIES: &'static [Entry] = &[
        Entry {
            weak_check: Some(WeakCheck { of: sum8, len: 1, blocks: &[128], bare_answers: true }),
            picks: SHORT,
            offered: Some(4),
            ..xmodem("xmodem", &[("xymodem.variant", "xmodem")])
        },
        Entry {
            picks: SHORT,
            offered: Some(5),
            ..xmodem("xmodem-crc", &[("xymodem.variant", "xmodem-crc")])
        },
        Entry {
            advised: Advised::Always,
            offered: Some(6),
            ..xmodem("xmodem-1k", &[("xymodem.variant", "xmodem-1k")])
        },
        Entry { offered: Some(2), ..ymodem("ymodem", &[("xymodem.variant", "ymodem")]) },
        Entry {
            a_title: "a YMODEM-g",
            advised: Advised::OnReliable,
            remedies: Remedies {
                unreliable: &[Remedy::instead("use a protocol that retransmits", "ymodem")],
                ..WITH_NAMES
            },
            offered: Some(3),
            stop_and_wait: false,
            ..ymodem("ymodem-g", &[("xymodem.variant", "ymodem-g")])
        },
    ];
    const STATES: &'static [(&'static str, Diagram)] =
        &[("sender", Sending::DIAGRAM), ("receiver", Receiving::DIAGRAM)];
    const TRIALS: Option<&'static [Trial]> = Some(&[
        trial!("xymodem.block": "auto", "128", "1024"),
        trial!("xymodem.adapt-block": "on", "off"),
        trial!("xymodem.pause": "0"),
    ]);

    engines!();

    fn on_line(&mut self, line: LineFacts) {
        self.line = line;
    }
}
