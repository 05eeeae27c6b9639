//! From what is known of a port to the facts in the configurations of the protocols.

use wetstring_drive::PortFacts;
use wetstring_drive::zone::offset_at;
use wetstring_proto::LineFacts;
use wetstring_proto::kermit::frame::Parity;
use wetstring_proto::kermit::prefix::PrefixTable;
use wetstring_proto::kermit::{Config, Zone};

use crate::config::Everything;

/// Bytes of a long packet beside those its length counts: header, header check and terminator.
const BESIDE_LEN: usize = 8;

const XON: u8 = 17;
const XOFF: u8 = 19;

/// Puts the facts of a port into the configurations. What a person has chosen stays.
pub(crate) fn apply(facts: &PortFacts, all: &mut Everything) {
    let line = LineFacts {
        reliable: facts.reliable,
        clear: facts.clear,
        rate_bps: facts.rate_bps.unwrap_or(0),
        telnet: false,
    };
    crate::protocol::know(all, line);
    all.kermit.zone = Zone(offset_at);
    if facts.local && !all.is_chosen("kermit.interrupts") {
        // Nobody types at the far end of a line that we opened: such bytes are noise.
        all.kermit.interrupts = 0;
    }
    if facts.seven_bit && !all.is_chosen("kermit.parity") {
        // The device looks after the parity bit; what counts is that there is no eighth.
        all.kermit.parity = Some(Parity::Space);
    }
    if facts.xon_xoff {
        let codes = [XON, XOFF, XON | 0x80, XOFF | 0x80];
        all.kermit.prefixed = codes.into_iter().fold(all.kermit.prefixed, PrefixTable::with);
    }
    let untouched = Config::default().receive_length;
    if let (Some(segment), true) = (facts.segment_len, all.kermit.receive_length == untouched) {
        all.kermit.receive_length = fitted(segment, untouched);
    }
}

/// The longest packet to ask for so that packets fill segments and leave no runt (seed 000: "1450
/// (or slightly less), or any multiple thereof").
fn fitted(segment: usize, most: u16) -> u16 {
    let most_bytes = usize::from(most);
    if segment <= 2 * BESIDE_LEN || segment > most_bytes {
        // A segment of the loopback interface takes any packet whole.
        return most;
    }
    (most_bytes / segment * segment - BESIDE_LEN) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(segment_len: Option<usize>) -> PortFacts {
        PortFacts {
            name: "tcp".to_owned(),
            reliable: Some(true),
            clear: true,
            local: true,
            rate_bps: None,
            segment_len,
            seven_bit: false,
            xon_xoff: false,
        }
    }

    #[test]
    fn packets_fill_segments() {
        assert_eq!(fitted(1448, 9024), 6 * 1448 - 8);
        assert_eq!(fitted(536, 9024), 16 * 536 - 8);
        assert_eq!(fitted(65_483, 9024), 9024);
        assert_eq!(fitted(0, 9024), 9024);
    }

    #[test]
    fn a_persons_choice_stays() {
        let mut all = Everything::default();
        all.kermit.receive_length = 1000;
        apply(&tcp(Some(1448)), &mut all);
        assert_eq!(all.kermit.receive_length, 1000);
        assert!(all.kermit.line.clear && all.kermit.is_reliable());
        assert!(all.zmodem.line.clear && all.xymodem.line.reliable == Some(true));
        let mut all = Everything::default();
        apply(&PortFacts { rate_bps: Some(9600), ..tcp(None) }, &mut all);
        assert_eq!((all.kermit.line.rate_bps, all.kermit.receive_length), (9600, 9024));
        assert_eq!((all.zmodem.line.rate_bps, all.xymodem.line.rate_bps), (9600, 9600));
    }

    #[test]
    fn raw_ctrl_c_counts_only_where_a_person_may_type_it() {
        let interrupts = |local, chosen: Option<&str>| {
            let mut all = Everything::default();
            if let Some(value) = chosen {
                all.set("kermit.interrupts", value).unwrap();
            }
            apply(&PortFacts { local, ..tcp(None) }, &mut all);
            all.kermit.interrupts
        };
        assert_eq!((interrupts(true, None), interrupts(false, None)), (0, 3));
        assert_eq!((interrupts(true, Some("3")), interrupts(true, Some("5"))), (3, 5));
        assert_eq!(interrupts(false, Some("0")), 0);
    }

    #[test]
    fn a_line_of_seven_bits_has_no_eighth() {
        let parity = |seven_bit, chosen: Option<&str>| {
            let mut all = Everything::default();
            if let Some(value) = chosen {
                all.set("kermit.parity", value).unwrap();
            }
            apply(&PortFacts { seven_bit, ..tcp(None) }, &mut all);
            all.kermit.parity
        };
        assert_eq!((parity(false, None), parity(true, None)), (None, Some(Parity::Space)));
        assert_eq!(parity(true, Some("even")), Some(Parity::Even));
    }

    #[test]
    fn what_stops_the_driver_is_prefixed() {
        let mut all = Everything::default();
        all.set("kermit.prefixed", "3").unwrap();
        apply(&tcp(None), &mut all);
        assert!(!all.kermit.prefixed.contains(17));
        apply(&PortFacts { xon_xoff: true, ..tcp(None) }, &mut all);
        for code in [3, 17, 19, 145, 147] {
            assert!(all.kermit.prefixed.contains(code), "{code}");
        }
        assert!(!all.kermit.prefixed.contains(1));
    }
}
