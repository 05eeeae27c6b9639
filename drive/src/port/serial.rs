//! Serial ports: what does not depend on the system.

use crate::line::{Flow, Parity, Pin, SerialSpec};
use crate::port::{PortFacts, Wires};
use serial2::{CharSize, FlowControl, SerialPort, Settings, StopBits};
use std::io;
use std::time::Duration;

/// What is known about the line.
pub(crate) fn facts(device: String, spec: &SerialSpec) -> PortFacts {
    PortFacts {
        reliable: Some(false),
        rate_bps: Some(spec.rate_bps()),
        seven_bit: spec.data_bits < 8,
        xon_xoff: spec.flow == Flow::XonXoff,
        ..PortFacts::named(device)
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

/// Sends a break.
pub(crate) fn send_break(port: &SerialPort, time: Duration) -> io::Result<()> {
    port.set_break(true)?;
    std::thread::sleep(time);
    port.set_break(false)
}

/// DTR and RTS as an open port has them: opening raises both.
pub(crate) fn raised(spec: &SerialSpec) -> [bool; 2] {
    [spec.dtr, spec.rts].map(|pin| pin != Pin::Off)
}

/// The wires of a port, of which DTR and RTS cannot be read.
pub(crate) fn wires(port: &SerialPort, [dtr, rts]: [bool; 2]) -> io::Result<Wires> {
    let (cts, dsr) = (port.read_cts()?, port.read_dsr()?);
    Ok(Wires { dtr, rts, cts, dsr, cd: port.read_cd()?, ri: port.read_ri()? })
}

/// After a change of the settings of an open port: what it is now, and what is known about it.
pub(crate) fn changed(spec: &mut SerialSpec, to: &SerialSpec, facts_now: &mut PortFacts) {
    *spec = SerialSpec { path: spec.path.clone(), ..to.clone() };
    *facts_now = facts(std::mem::take(&mut facts_now.name), to);
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
