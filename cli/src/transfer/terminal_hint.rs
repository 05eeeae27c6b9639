//! A hint for a user whose terminal session is the line, before it
//! carries packets and can show no more messages. Also warns about cleartext.

use std::io::IsTerminal;

use wetstring_drive::LineSpec;

use crate::config::Settings;
use crate::config::protocol::Protocol;
use crate::transfer::cleartext::{self, What};
use crate::transfer::direction::Direction;
use crate::ui::output::{Level, Output};

/// Prints it if this process's own terminal is the line, or the line is cleartext. `protocol` is `None` where it is
/// detected.
pub(crate) fn say(
    ui: &Output,
    direction: Direction,
    protocol: Option<Protocol>,
    all: &Settings,
    spec: &LineSpec,
) {
    cleartext::warn(ui, spec, What::Files);
    let interactive = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if *spec == LineSpec::Stdio && interactive {
        ui.say(Level::Note, &text(direction, protocol, all.kermit().interrupts));
    }
}

/// Contains no C, G or NAK, which would start an XMODEM sender.
fn text(direction: Direction, protocol: Option<Protocol>, interrupts: u8) -> String {
    let (what, go_on) = match direction {
        Direction::Send => ("ready to send", "receiving"),
        Direction::Receive => ("ready to receive", "sending"),
    };
    let family = protocol.unwrap_or_default().family().prefix();
    let stop = match (family, interrupts) {
        ("xymodem", _) => "; ctrl-x twice stops".to_owned(),
        ("zmodem", _) => "; ctrl-x five times stops".to_owned(),
        ("kermit", 1..) => format!("; {interrupts} times ctrl-c stops"),
        _ => String::new(),
    };
    format!("{what}: start {go_on} in your terminal program{stop}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hint_says_how_to_continue_and_how_to_stop() {
        assert_eq!(
            text(Direction::Receive, None, 3),
            "ready to receive: start sending in your terminal program; 3 times ctrl-c stops"
        );
        assert_eq!(
            text(Direction::Send, Some(Protocol::default()), 0),
            "ready to send: start receiving in your terminal program"
        );
        for protocol in [None, Protocol::of("zmodem"), Protocol::of("ymodem")] {
            for direction in [Direction::Send, Direction::Receive] {
                // An XMODEM sender begins at C or G.
                assert!(!text(direction, protocol, 3).contains(['C', 'G']));
            }
        }
    }
}
