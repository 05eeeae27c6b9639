//! Lines that can be eavesdropped on, and the warning about them.

use std::net::{IpAddr, ToSocketAddrs as _};

use wetstring_drive::LineSpec;
use wetstring_drive::line::HostPort;
use wetstring_events::Event;

use crate::ui::output::{Level, Output};

/// What passes in clear.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    /// Passwords, and with them files.
    Passwords,
    /// Files.
    Files,
}

/// The address of a plain connection, if it leaves this host.
fn exposed(spec: &LineSpec) -> Option<&HostPort> {
    let (LineSpec::Tcp(at)
    | LineSpec::TcpListen(at)
    | LineSpec::Telnet(at)
    | LineSpec::TelnetListen(at)
    | LineSpec::Rfc2217(at, _)) = spec
    else {
        return None;
    };
    (!is_here(at)).then_some(at)
}

/// Whether the address is on this host.
fn is_here(at: &HostPort) -> bool {
    if let Ok(address) = at.host.parse::<IpAddr>() {
        return address.to_canonical().is_loopback();
    }
    let found = (at.host.as_str(), at.port).to_socket_addrs();
    found.is_ok_and(|found| {
        let mut found = found.peekable();
        found.peek().is_some() && found.all(|address| address.ip().to_canonical().is_loopback())
    })
}

/// Whether others can eavesdrop on this line.
pub(crate) fn is_exposed(spec: &LineSpec) -> bool {
    exposed(spec).is_some()
}

/// Warns once if others can read what passes here.
pub(crate) fn warn(ui: &Output, spec: &LineSpec, what: What) {
    if !is_exposed(spec) {
        return;
    }
    let listens = matches!(spec, LineSpec::TcpListen(_) | LineSpec::TelnetListen(_));
    let (word, means) = match what {
        What::Passwords => ("password", "the password and the files pass"),
        What::Files => ("files", "files pass"),
    };
    let instead = if listens { "tls-listen://" } else { "tls:// or ssh://" };
    let say =
        format!("{means} in clear on {spec}, readable by anyone on the path; {instead} encrypts");
    ui.say(Level::Note, &say);
    ui.event(Event::InClear { what: word.to_owned(), line: spec.to_string() });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_local_connections_are_not_exposed() {
        for (line, is) in [
            ("tcp://127.0.0.1:1", false),
            ("tcp://127.9.9.9:1", false),
            ("tcp://[::1]:1", false),
            ("tcp://[::ffff:127.0.0.1]:1", false),
            ("tcp://localhost:1", false),
            ("tcp://0.0.0.0:1", true),
            ("tcp://192.0.2.1:1", true),
            ("telnet://192.0.2.1", true),
            ("tcp-listen://0.0.0.0:1", true),
            ("tcp-listen://127.0.0.1:1", false),
            ("tcp-listen://[::]:1", true),
            ("telnet-listen://[2001:db8::1]:1", true),
            ("rfc2217://192.0.2.1:1?baud=9600", true),
            ("tls://192.0.2.1:1", false),
            ("udp://192.0.2.1:1", false),
            ("exec:cat", false),
            ("-", false),
        ] {
            assert_eq!(is_exposed(&line.parse().expect("a line")), is, "{line}");
        }
    }
}
