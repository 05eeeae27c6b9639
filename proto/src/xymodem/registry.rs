//! XMODEM and YMODEM in the registry of protocols, by five names.

use super::frame::sum;
use super::states::{Receiving, Sending};
use super::{Config, Receiver, Sender};
use crate::crc::crc16;
use crate::line::LineFacts;
use crate::registry::{Carrier, Entry, Registered, WeakCheck, engines};
use crate::states::Diagram;

fn sum8(block: &[u8]) -> u16 {
    u16::from(sum(block))
}

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
    }
}

/// One with a block 0.
const fn ymodem(name: &'static str, preset: &'static [(&'static str, &'static str)]) -> Entry {
    Entry {
        title: "YMODEM",
        a_title: "a YMODEM",
        peer_commands: ["rb", "sb FILE"],
        tells_names: true,
        ..xmodem(name, preset)
    }
}

impl Registered for Config {
    const HEADING: &'static str = "XMODEM and YMODEM settings";
    const FAMILY: &'static str = "xymodem";
    const ENTRIES: &'static [Entry] = &[
        Entry {
            weak_check: Some(WeakCheck { of: sum8, len: 1, blocks: &[128], bare_answers: true }),
            ..xmodem("xmodem", &[("xymodem.variant", "xmodem")])
        },
        xmodem("xmodem-crc", &[("xymodem.variant", "xmodem-crc")]),
        xmodem("xmodem-1k", &[("xymodem.variant", "xmodem-1k")]),
        ymodem("ymodem", &[("xymodem.variant", "ymodem")]),
        Entry { a_title: "a YMODEM-g", ..ymodem("ymodem-g", &[("xymodem.variant", "ymodem-g")]) },
    ];
    const STATES: &'static [(&'static str, Diagram)] =
        &[("sender", Sending::DIAGRAM), ("receiver", Receiving::DIAGRAM)];

    engines!();

    fn on_line(&mut self, line: LineFacts) {
        self.line = line;
    }
}
