//! Applies what is known of a port to the configurations of the protocols.

use wetstring_drive::PortFacts;
use wetstring_drive::zone::offset_at;
use wetstring_lab::compressor;
use wetstring_proto::LineFacts;
use wetstring_proto::kermit::frame::Parity;
use wetstring_proto::kermit::prefix::PrefixTable;
use wetstring_proto::kermit::{Config, Zone};
use wetstring_proto::zmodem::escape::Escaping;

use crate::config::Settings;
use crate::config::protocol::Protocol;
use crate::transfer::speaks::Speaks;
use wetstring_proto::registry::Carrier;

/// Bytes of a long packet not counted in its length: header, header check and terminator.
const BESIDE_LEN: usize = 8;

const XON: u8 = 17;
const XOFF: u8 = 19;

/// Applies the facts of a port to the configurations. The user's choices stay.
pub(crate) fn apply(facts: &PortFacts, all: &mut Settings) {
    let line = LineFacts {
        reliable: facts.reliable,
        clear: facts.clear,
        rate_bps: facts.rate_bps.unwrap_or(0),
        telnet: facts.telnet,
    };
    all.protocols.on_line(line);
    all.kermit_mut().zone = Zone(offset_at);
    all.kermit_mut().compressor = compressor::IS_BUILT;
    all.zmodem_mut().compressor = compressor::IS_BUILT;
    // Files on a disk; a source that cannot, such as a pipe, says so when asked.
    all.kermit_mut().finds_blocks = true;
    if facts.local && !all.is_chosen("kermit.interrupts") {
        // No user types at the peer of a line that we opened: such bytes are noise.
        all.kermit_mut().interrupts = 0;
    }
    if facts.seven_bit && !all.is_chosen("kermit.parity") {
        // The device handles the parity bit; only the missing eighth bit matters.
        all.kermit_mut().parity = Some(Parity::Space);
    }
    if facts.xon_xoff {
        let codes = [XON, XOFF, XON | 0x80, XOFF | 0x80];
        all.kermit_mut().prefixed =
            codes.into_iter().fold(all.kermit().prefixed, PrefixTable::with);
        if all.zmodem().escape == Escaping::Zdle {
            // The minimum.
            all.zmodem_mut().escape = Escaping::Turbo;
        }
    }
    let untouched = Config::default().receive_length;
    if let (Some(segment), true) = (facts.segment_len, all.kermit().receive_length == untouched) {
        all.kermit_mut().receive_length = fitted(segment, untouched);
    }
}

/// The protocol for a line with these facts, or why there is none.
///
/// Only Kermit works without the eighth bit. ZMODEM escapes XON and XOFF; XMODEM and
/// YMODEM send them unescaped, in data, block numbers and checks, and so does UUCP's `g`.
pub(crate) fn fit(facts: &PortFacts, speaks: Speaks) -> Result<Fit, String> {
    let protocol = match speaks {
        Speaks::One(protocol) => protocol,
        // A detecting receiver can still use Kermit.
        Speaks::KermitOrZmodem if facts.seven_bit => {
            let note = format!(
                "{} carries 7 bits of each character: ZMODEM cannot pass, so this waits for Kermit",
                facts.name
            );
            return Ok(Fit { speaks: Speaks::One(Protocol::default()), note: Some(note) });
        }
        Speaks::KermitOrZmodem | Speaks::Ncp => return Ok(Fit { speaks, note: None }),
        Speaks::ZmodemOrYmodem | Speaks::ZmodemThenYmodem => Protocol::named("zmodem"),
    };
    let title = protocol.title;
    if protocol.carrier == Carrier::Datagrams {
        let name = &facts.name;
        return Err(format!("expected udp: or ip: as the line for {title}, got {name}"));
    }
    if facts.seven_bit && !protocol.passes_7_bits {
        return Err(format!(
            "expected a line of 8 bits for {title}, got 7 from {}: {title} has no direction to send \
                 the eighth; -P kermit has, or set databits=8",
            facts.name
        ));
    }
    if facts.xon_xoff && !protocol.passes_xon_xoff {
        return Err(format!(
            "expected a line without XON/XOFF for {title}, got {} with it: {title} cannot escape \
                 these two bytes, and the line removes them; -P zmodem or -P kermit can, or set \
                 flow=none or flow=rtscts",
            facts.name
        ));
    }
    Ok(Fit { speaks, note: None })
}

/// The protocol, and a note for the user.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Fit {
    pub(crate) speaks: Speaks,
    pub(crate) note: Option<String>,
}

/// The longest packet to ask for so that packets fill segments and leave no runt (Kermit streaming (1998): "1450
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
        PortFacts { reliable: Some(true), clear: true, segment_len, ..PortFacts::named("tcp") }
    }

    #[test]
    fn packets_fill_segments() {
        assert_eq!(fitted(1448, 9024), 6 * 1448 - 8);
        assert_eq!(fitted(536, 9024), 16 * 536 - 8);
        assert_eq!(fitted(65_483, 9024), 9024);
        assert_eq!(fitted(0, 9024), 9024);
    }

    #[test]
    fn the_users_choice_stays() {
        let mut all = Settings::default();
        all.kermit_mut().receive_length = 1000;
        apply(&tcp(Some(1448)), &mut all);
        assert_eq!(all.kermit().receive_length, 1000);
        assert!(all.kermit().line.clear && all.kermit().is_reliable());
        assert!(all.zmodem().line.clear && all.xymodem().line.reliable == Some(true));
        let mut all = Settings::default();
        apply(&PortFacts { rate_bps: Some(9600), ..tcp(None) }, &mut all);
        assert_eq!((all.kermit().line.rate_bps, all.kermit().receive_length), (9600, 9024));
        assert_eq!((all.zmodem().line.rate_bps, all.xymodem().line.rate_bps), (9600, 9600));
    }

    #[test]
    fn raw_ctrl_c_counts_only_where_a_user_may_type_it() {
        let interrupts = |local, chosen: Option<&str>| {
            let mut all = Settings::default();
            if let Some(value) = chosen {
                all.set("kermit.interrupts", value).unwrap();
            }
            apply(&PortFacts { local, ..tcp(None) }, &mut all);
            all.kermit().interrupts
        };
        assert_eq!((interrupts(true, None), interrupts(false, None)), (0, 3));
        assert_eq!((interrupts(true, Some("3")), interrupts(true, Some("5"))), (3, 5));
        assert_eq!(interrupts(false, Some("0")), 0);
    }

    #[test]
    fn a_line_of_seven_bits_has_no_eighth() {
        let parity = |seven_bit, chosen: Option<&str>| {
            let mut all = Settings::default();
            if let Some(value) = chosen {
                all.set("kermit.parity", value).unwrap();
            }
            apply(&PortFacts { seven_bit, ..tcp(None) }, &mut all);
            all.kermit().parity
        };
        assert_eq!((parity(false, None), parity(true, None)), (None, Some(Parity::Space)));
        assert_eq!(parity(true, Some("even")), Some(Parity::Even));
    }

    #[test]
    fn flow_control_characters_are_prefixed() {
        let mut all = Settings::default();
        all.set("kermit.prefixed", "3").unwrap();
        apply(&tcp(None), &mut all);
        assert!(!all.kermit().prefixed.contains(17));
        apply(&PortFacts { xon_xoff: true, ..tcp(None) }, &mut all);
        for code in [3, 17, 19, 145, 147] {
            assert!(all.kermit().prefixed.contains(code), "{code}");
        }
        assert!(!all.kermit().prefixed.contains(1));
    }

    #[test]
    fn protocols_that_the_line_cannot_carry_are_refused() {
        let on = |seven_bit, xon_xoff, speaks| {
            fit(&PortFacts { seven_bit, xon_xoff, ..tcp(None) }, speaks)
        };
        let names = ["kermit", "xmodem", "ymodem-g", "zmodem", "uucp-g"];
        let [kermit, x, y, z, u] = names.map(|name| Speaks::One(Protocol::named(name)));
        let all = [kermit, x, y, z, u, Speaks::KermitOrZmodem, Speaks::ZmodemOrYmodem];
        for speaks in all {
            assert_eq!(on(false, false, speaks), Ok(Fit { speaks, note: None }));
        }
        for (speaks, title) in [(x, "XMODEM"), (y, "YMODEM"), (z, "ZMODEM"), (u, "UUCP")] {
            let say = on(true, false, speaks).unwrap_err();
            assert!(say.contains(title) && say.contains("8 bits") && say.contains("tcp"), "{say}");
        }
        assert!(on(true, false, Speaks::ZmodemOrYmodem).is_err());
        assert!(on(true, true, kermit).is_ok_and(|fit| fit.speaks == kermit));
        let waits = on(true, false, Speaks::KermitOrZmodem).unwrap();
        assert!(waits.speaks == kermit && waits.note.is_some_and(|note| note.contains("7 bits")));
        for (speaks, title) in [(x, "XMODEM"), (y, "YMODEM"), (u, "UUCP")] {
            let say = on(false, true, speaks).unwrap_err();
            assert!(say.contains(title) && say.contains("XON/XOFF"), "{say}");
        }
        assert!(on(false, true, z).is_ok() && on(false, true, Speaks::KermitOrZmodem).is_ok());
    }

    #[test]
    fn zmodem_escapes_flow_control_characters() {
        for (chosen, used) in [
            (Escaping::Zdle, Escaping::Turbo),
            (Escaping::Turbo, Escaping::Turbo),
            (Escaping::Normal, Escaping::Normal),
            (Escaping::Controls, Escaping::Controls),
        ] {
            let mut all = Settings::default();
            all.zmodem_mut().escape = chosen;
            apply(&tcp(None), &mut all);
            assert_eq!(all.zmodem().escape, chosen);
            apply(&PortFacts { xon_xoff: true, ..tcp(None) }, &mut all);
            assert_eq!(all.zmodem().escape, used);
        }
    }
}
