//! A hint for a user whose terminal session is the line, before it
//! carries packets and can show no more messages. Also warns about cleartext.

use std::io::IsTerminal;

use wetstring_drive::LineSpec;
use wetstring_proto::registry::StopKeys;

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
        if in_screen(|name| std::env::var(name).ok()) {
            ui.say(Level::Note, SCREEN);
        }
        let protocol = protocol.unwrap_or_default();
        ui.say(Level::Note, &text(direction, protocol, |name| all.protocols.number(name)));
    }
}

/// Around tmux there is a way, around GNU screen none. Contains no C, G or NAK either.
const SCREEN: &str = "this is a window of screen, which lets no transfer pass: detach (ctrl-a d), \
     start it outside, and attach again";

/// Whether this is a window of GNU screen. Its variable outlives it in a terminal that was opened from there.
fn in_screen(variable: impl Fn(&str) -> Option<String>) -> bool {
    let has = |name| variable(name).is_some_and(|value| !value.is_empty());
    let term = variable("TERM").unwrap_or_default();
    has("STY") && !has("TMUX") && term.starts_with("screen")
}

/// Contains no C, G or NAK, which would start an XMODEM sender.
fn text(direction: Direction, protocol: Protocol, setting: impl Fn(&str) -> Option<u64>) -> String {
    let (what, go_on) = match direction {
        Direction::Send => ("ready to send", "receiving"),
        Direction::Receive => ("ready to receive", "sending"),
    };
    let keys = match protocol.stops_by {
        StopKeys::None => None,
        StopKeys::Fixed(keys) => Some(keys.to_owned()),
        StopKeys::Times { key, setting: name } => {
            setting(name).filter(|times| *times > 0).map(|times| format!("{times} times {key}"))
        }
    };
    let stop = keys.map_or(String::new(), |keys| format!("; {keys} stops"));
    format!("{what}: start {go_on} in your terminal program{stop}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_of_screen_is_recognised() {
        let within = |set: &[(&str, &str)]| {
            in_screen(|name| set.iter().find(|(is, _)| *is == name).map(|(_, to)| (*to).to_owned()))
        };
        let (sty, term) = (("STY", "4242.pts-0.box"), ("TERM", "screen.xterm-256color"));
        assert!(within(&[sty, term]));
        assert!(!within(&[term]) && !within(&[("STY", ""), term]));
        assert!(!within(&[sty, ("TERM", "xterm")]), "a terminal that was opened from there");
        assert!(!within(&[sty, term, ("TMUX", "/tmp/tmux-0/default,1,0")]), "tmux inside it");
        assert!(!SCREEN.contains(['C', 'G']));
    }

    #[test]
    fn the_hint_says_how_to_continue_and_how_to_stop() {
        assert_eq!(
            text(Direction::Receive, Protocol::default(), |_| Some(3)),
            "ready to receive: start sending in your terminal program; 3 times ctrl-c stops"
        );
        assert_eq!(
            text(Direction::Send, Protocol::default(), |_| Some(0)),
            "ready to send: start receiving in your terminal program"
        );
        for protocol in Protocol::of_bytes() {
            for direction in [Direction::Send, Direction::Receive] {
                // An XMODEM sender begins at C or G.
                assert!(!text(direction, protocol, |_| Some(3)).contains(['C', 'G']));
            }
        }
    }
}
