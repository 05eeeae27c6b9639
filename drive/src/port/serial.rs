//! Serial ports: what does not depend on the system.

use crate::line::{Flow, Parity, SerialSpec};
use crate::port::PortFacts;
use serial2::{CharSize, FlowControl, Settings, StopBits};

/// What is known about the line.
pub(crate) fn facts(device: String, spec: &SerialSpec) -> PortFacts {
    PortFacts {
        name: device,
        reliable: Some(false),
        clear: false,
        local: true,
        rate_bps: Some(spec.rate_bps()),
        segment_len: None,
        seven_bit: spec.data_bits < 8,
        xon_xoff: spec.flow == Flow::XonXoff,
        telnet: false,
    }
}

/// Bits of a character on the line.
pub(crate) fn bits(spec: &SerialSpec) -> u32 {
    let parity = u32::from(spec.parity != Parity::None);
    1 + u32::from(spec.data_bits) + parity + u32::from(spec.stop_bits)
}

/// The character format and flow control.
pub(crate) fn set_format(settings: &mut Settings, spec: &SerialSpec) {
    settings.set_char_size(match spec.data_bits {
        5 => CharSize::Bits5,
        6 => CharSize::Bits6,
        7 => CharSize::Bits7,
        _ => CharSize::Bits8,
    });
    settings.set_stop_bits(if spec.stop_bits == 2 { StopBits::Two } else { StopBits::One });
    settings.set_parity(match spec.parity {
        Parity::None => serial2::Parity::None,
        Parity::Even => serial2::Parity::Even,
        Parity::Odd => serial2::Parity::Odd,
        // CMSPAR makes the parity bit constant.
        Parity::Mark => serial2::Parity::Odd,
        Parity::Space => serial2::Parity::Even,
    });
    settings.set_flow_control(match spec.flow {
        Flow::None => FlowControl::None,
        Flow::RtsCts => FlowControl::RtsCts,
        Flow::XonXoff => FlowControl::XonXoff,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LineSpec;

    #[test]
    fn port_facts_include_the_character_format() {
        for (query, seven_bit, xon_xoff) in [
            ("", false, false),
            ("?parity=even&flow=rtscts", false, false),
            ("?databits=7&parity=even", true, false),
            ("?databits=7&flow=xonxoff", true, true),
        ] {
            let spec = format!("serial:/dev/ttyS0{query}");
            let Ok(LineSpec::Serial(spec)) = spec.parse() else { panic!("{spec}") };
            let facts = facts("ttyS0".to_owned(), &spec);
            assert_eq!((facts.seven_bit, facts.xon_xoff), (seven_bit, xon_xoff), "{query}");
        }
    }
}
