//! Opens the port of a line.

use super::telnet::TelnetLine;
use super::{OpenError, Port, Purpose, tcp, tls};
use crate::imp::ImpPort;
use crate::line::LineSpec;
use crate::os;
use crate::signals::Signals;
use std::io;

/// Opens a line.
///
/// `notes` gets what a user needs to know to connect the peer: `listening on 127.0.0.1:40123`, `pty
/// /dev/pts/5`. A signal in `signals` ends the wait for a connection.
pub fn open(
    spec: &LineSpec,
    signals: Option<&Signals>,
    notes: &mut dyn FnMut(&str),
) -> Result<Box<dyn Port>, OpenError> {
    open_for(spec, Purpose::Transfer, signals, notes)
}

/// The same, for a client or server of Kermit.
pub fn open_for(
    spec: &LineSpec,
    purpose: Purpose,
    signals: Option<&Signals>,
    notes: &mut dyn FnMut(&str),
) -> Result<Box<dyn Port>, OpenError> {
    opened(spec, purpose, false, signals, notes)
}

/// The same with a user at this process's terminal: a command in a PTY may ask them something before the
/// protocol begins, such as `ssh` for a password.
pub fn open_attended(
    spec: &LineSpec,
    purpose: Purpose,
    signals: Option<&Signals>,
    notes: &mut dyn FnMut(&str),
) -> Result<Box<dyn Port>, OpenError> {
    opened(spec, purpose, true, signals, notes)
}

fn opened(
    spec: &LineSpec,
    purpose: Purpose,
    attended: bool,
    signals: Option<&Signals>,
    notes: &mut dyn FnMut(&str),
) -> Result<Box<dyn Port>, OpenError> {
    let mut port = unsettled(spec, purpose, attended, signals, notes)?;
    port.settle(signals, notes)?;
    Ok(port)
}

fn unsettled(
    spec: &LineSpec,
    purpose: Purpose,
    attended: bool,
    signals: Option<&Signals>,
    notes: &mut dyn FnMut(&str),
) -> Result<Box<dyn Port>, OpenError> {
    let telnet = |line: tcp::TcpLine, calls: bool| {
        let plan = TelnetLine::plan(purpose, calls);
        Box::new(TelnetLine::new(Box::new(line), plan, purpose))
    };
    Ok(match spec {
        LineSpec::Serial(spec) => os::port::serial(spec)?,
        LineSpec::Tcp(to) => Box::new(tcp::TcpLine::connect(to, signals)?),
        LineSpec::TcpListen(at) => Box::new(tcp::TcpLine::listen(at, signals, notes)?),
        LineSpec::Telnet(to) => telnet(tcp::TcpLine::connect(to, signals)?, true),
        LineSpec::TelnetListen(at) => telnet(tcp::TcpLine::listen(at, signals, notes)?, false),
        LineSpec::Rfc2217(to, spec) => {
            let line = tcp::TcpLine::connect(to, signals)?;
            Box::new(TelnetLine::serial(Box::new(line), spec))
        }
        LineSpec::Tls(spec) => {
            let line = tcp::TcpLine::connect(&spec.to, signals)?;
            Box::new(tls::TlsLine::call(Box::new(line), spec)?)
        }
        LineSpec::TlsListen(spec) => {
            let identity = tls::Identity::of(spec)?;
            notes(&format!("certificate {}", identity.fingerprint));
            let line = tcp::TcpLine::listen(&spec.to, signals, notes)?;
            let failed = |error| OpenError::io("begin TLS", error);
            Box::new(tls::TlsLine::answer(Box::new(line), &identity).map_err(failed)?)
        }
        LineSpec::Exec(command) => os::port::exec(command)?,
        LineSpec::ExecPty(command) => os::port::exec_pty(command, attended)?,
        LineSpec::Unix(path) => os::port::unix(path)?,
        LineSpec::Pty(name) => os::port::pty(name.as_deref(), notes)?,
        LineSpec::Stdio => os::port::stdio()?,
        LineSpec::Descriptor(number) => os::port::descriptor(*number)?,
        LineSpec::Ncp(spec) => Box::new(ImpPort::open(spec)?),
        LineSpec::Udp(_)
        | LineSpec::UdpListen(_)
        | LineSpec::Ip(_)
        | LineSpec::IpListen(_)
        | LineSpec::Tun(_) => {
            let say = "it carries datagrams; udp: and ip: are for NETBLT, tun: for wst line";
            let error = io::Error::new(io::ErrorKind::Unsupported, say);
            return Err(OpenError::io(format!("use {spec} as a line of bytes"), error));
        }
    })
}
