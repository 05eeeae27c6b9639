//! Takes over signals and opens lines before a transfer, with advice on failure.

use std::io::ErrorKind;
use std::path::Path;

use wetstring_drive::line::{HostPort, TlsSpec};
use wetstring_drive::os::files;
use wetstring_drive::port::OpenError;
use wetstring_drive::{LineSpec, Signals, in_words};

use crate::ui::ending::Ending;
use crate::ui::exit::Exit;

/// Takes over Ctrl-C and related signals.
pub(crate) fn signals() -> Result<Signals, Ending> {
    Signals::install().map_err(|e| {
        Ending::early(Exit::Line, format!("could not take over Ctrl-C: {}", in_words(&e)))
    })
}

/// The ending if the line could not be opened.
pub(crate) fn not_opened(spec: &LineSpec, error: &OpenError) -> Ending {
    let exit = match error {
        OpenError::Interrupted(_) => Exit::Interrupted,
        _ => Exit::Line,
    };
    Ending::early(exit, why_not(spec, error))
}

/// Why a line could not be opened, with advice.
pub(crate) fn why_not(spec: &LineSpec, error: &OpenError) -> String {
    let said = in_words(&error);
    let OpenError::Io { error, .. } = error else { return said };
    let advice = match spec {
        LineSpec::Serial(serial) => of_a_port(&serial.path, error.kind()),
        LineSpec::Tcp(_) | LineSpec::Telnet(_) | LineSpec::Rfc2217(..) | LineSpec::Tls(_)
            if error.kind() == ErrorKind::ConnectionRefused =>
        {
            Some("nothing is listening there: is the peer started?".to_owned())
        }
        LineSpec::TcpListen(HostPort { port: ..1024, .. })
        | LineSpec::TelnetListen(HostPort { port: ..1024, .. })
        | LineSpec::TlsListen(TlsSpec { to: HostPort { port: ..1024, .. }, .. })
        | LineSpec::UdpListen(HostPort { port: ..1024, .. })
            if error.kind() == ErrorKind::PermissionDenied =>
        {
            Some("ports below 1024 are for root: choose another, such as 2000".to_owned())
        }
        _ if error.kind() == ErrorKind::AddrInUse => {
            Some("another program listens there: end it, or choose another port".to_owned())
        }
        _ => None,
    };
    advice.map_or(said.clone(), |advice| format!("{said}; {advice}"))
}

/// Advice about a serial port.
fn of_a_port(path: &Path, kind: ErrorKind) -> Option<String> {
    Some(match kind {
        ErrorKind::NotFound => "wst ports lists the serial ports of this machine".to_owned(),
        ErrorKind::PermissionDenied => {
            let group = group_of(path).unwrap_or_else(|| "dialout".to_owned());
            format!(
                "serial ports are for the group {group}: sudo usermod -aG {group} $USER, then log in again"
            )
        }
        // ENOTTY has no kind of its own.
        _ if path.is_file() => "it is a file: the line comes last".to_owned(),
        _ => return None,
    })
}

/// The group that a device belongs to, unless it is root's own.
fn group_of(path: &Path) -> Option<String> {
    let gid = files::group(&std::fs::metadata(path).ok()?)?;
    let groups = std::fs::read_to_string("/etc/group").ok()?;
    let name = groups.lines().find_map(|line| {
        let mut parts = line.split(':');
        let (name, number) = (parts.next()?, parts.nth(1)?);
        (number.parse() == Ok(gid)).then_some(name)
    })?;
    (gid != 0).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    fn said(line: &str, kind: ErrorKind) -> String {
        let spec: LineSpec = line.parse().expect("a line");
        let what = format!("open {line}");
        why_not(&spec, &OpenError::Io { what, error: io::Error::from(kind) })
    }

    #[test]
    fn errors_come_with_advice() {
        let missing = said("/dev/ttyUSB97", ErrorKind::NotFound);
        assert!(
            missing.ends_with("; wst ports lists the serial ports of this machine"),
            "{missing}"
        );
        let denied = said("/dev/ttyUSB97", ErrorKind::PermissionDenied);
        assert_eq!(
            denied,
            "could not open /dev/ttyUSB97: permission denied; serial ports are for the group \
             dialout: sudo usermod -aG dialout $USER, then log in again"
        );
        let used = said("tcp-listen://127.0.0.1:2000", ErrorKind::AddrInUse);
        assert!(used.ends_with("; another program listens there: end it, or choose another port"));
        let refused = said("tcp://127.0.0.1:1", ErrorKind::ConnectionRefused);
        assert!(
            refused.ends_with("; nothing is listening there: is the peer started?"),
            "{refused}"
        );
        let privileged = said("tcp-listen://127.0.0.1:69", ErrorKind::PermissionDenied);
        assert!(
            privileged.ends_with("; ports below 1024 are for root: choose another, such as 2000")
        );
        // Windows keeps others for itself.
        let kept = said("tcp-listen://127.0.0.1:50000", ErrorKind::PermissionDenied);
        assert!(kept.ends_with("permission denied"), "{kept}");
        let other = said("tcp://127.0.0.1:1", ErrorKind::TimedOut);
        assert_eq!(other, "could not open tcp://127.0.0.1:1: timed out");
    }
}
