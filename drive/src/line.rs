//! The LINE argument: where the peer is.
//!
//! Every form and its options are in [`FORMS`].
//!
//! [`LineSpec`] parses (`FromStr`) and prints (`Display`); what it prints parses to the same.

mod forms;
mod ncp;
mod serial;
mod ssh;
mod tls;

pub use forms::{FORMS, Form, LineOption};
pub use ncp::NcpSpec;
pub use serial::{Flow, Parity, Pin, Rs485, SerialSpec};
pub use ssh::SshSpec;
pub use tls::TlsSpec;

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Where the peer is.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LineSpec {
    /// A serial port.
    Serial(SerialSpec),
    /// Connect to a TCP port.
    Tcp(HostPort),
    /// Listen on a TCP port, accept the first connection. Port 0 lets the system choose.
    TcpListen(HostPort),
    /// Connect to a TCP port, and speak Telnet.
    Telnet(HostPort),
    /// Listen on a TCP port, and speak Telnet with the first client.
    TelnetListen(HostPort),
    /// Connect to a Telnet server with a serial port behind it; the path is its `HOST:PORT`.
    Rfc2217(HostPort, SerialSpec),
    /// Connect to a TCP port, and speak TLS.
    Tls(TlsSpec),
    /// Listen on a TCP port, and speak TLS with the first client.
    TlsListen(TlsSpec),
    /// Exchange datagrams with a UDP port.
    Udp(HostPort),
    /// Accept datagrams at a UDP port. Port 0 lets the system choose.
    UdpListen(HostPort),
    /// Exchange datagrams with this host on IP protocol 30.
    Ip(String),
    /// Accept datagrams of IP protocol 30 at this address.
    IpListen(String),
    /// A host of the ARPANET.
    Ncp(NcpSpec),
    /// A TUN device of this name, or of a name chosen by the system.
    Tun(Option<String>),
    /// Run a command by `sh -c`, connected by pipes to its stdin and stdout.
    Exec(String),
    /// Run a command by `sh -c` in a PTY and its own session.
    ExecPty(String),
    /// Connect to a Unix-domain socket.
    Unix(PathBuf),
    /// Create a PTY. With a path, that path becomes a symlink to its name.
    Pty(Option<PathBuf>),
    /// This process's stdin and stdout.
    Stdio,
    /// A socket or terminal inherited open by this process, by its number.
    Descriptor(u32),
}

/// A host and a port. IPv6 addresses are written in brackets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostPort {
    /// A name or an address, without brackets.
    pub host: String,
    /// The TCP or UDP port.
    pub port: u16,
}

/// Prefixes that CLI and documentation know, but that are not supported yet.
const NOT_BUILT: [&str; 1] = ["lab:"];

/// Telnet's own port.
const TELNET: u16 = 23;

/// A text that is no line.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BadLine {
    /// A form that is planned, but not supported yet.
    NotBuilt(String),
    /// An unknown form.
    Unknown(String),
    /// An unknown form, and a similar one.
    Meant {
        /// The given text.
        got: String,
        /// The suggestion.
        meant: String,
    },
    /// A path that does not exist.
    Missing(String),
    /// A known form with a wrong part.
    Part {
        /// Which part.
        part: &'static str,
        /// What it accepts.
        expected: &'static str,
        /// The given text.
        got: String,
    },
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotBuilt(text) => write!(f, "not supported yet: {text}"),
            Self::Meant { got, meant } => {
                write!(f, "expected a line, got {got:?}: did you mean {meant}?")
            }
            Self::Missing(text) => {
                write!(
                    f,
                    "no such device: {text}; wst ports lists the serial ports of this machine"
                )
            }
            Self::Unknown(text) => write!(
                f,
                "expected a line such as /dev/ttyUSB0, tcp://HOST:PORT or exec:COMMAND, got {text:?}; \
                 wst --help lists every form"
            ),
            Self::Part { part, expected, got } => {
                write!(f, "{part}: expected {expected}, got {got:?}")
            }
        }
    }
}

impl std::error::Error for BadLine {}

fn part(part: &'static str, expected: &'static str, got: &str) -> BadLine {
    BadLine::Part { part, expected, got: got.to_owned() }
}

impl HostPort {
    fn parse(text: &str) -> Result<Self, BadLine> {
        let wrong = || part("address", "HOST:PORT, [IPV6]:PORT", text);
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => rest.split_once("]:").ok_or_else(wrong)?,
            None => text.rsplit_once(':').ok_or_else(wrong)?,
        };
        // An IPv6 address without brackets would be ambiguous.
        let bare_v6 = !text.starts_with('[') && host.contains(':');
        if host.is_empty() || bare_v6 || host.contains(['/', '?', '[', ']']) {
            return Err(wrong());
        }
        let port = port.parse().map_err(|_| part("port", "0..65535", port))?;
        Ok(Self { host: host.to_owned(), port })
    }

    /// The same for connecting: the port is not 0, and may be omitted where it has a default.
    fn called(text: &str, default: Option<u16>) -> Result<Self, BadLine> {
        let alone = host(text).ok().filter(|host| !host.contains(':') || text.starts_with('['));
        if let (Some(host), Some(port)) = (alone, default) {
            return Ok(Self { host, port });
        }
        match Self::parse(text)? {
            Self { port: 0, .. } => Err(part("port", "1..65535", "0")),
            to => Ok(to),
        }
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// `COM1` to `COM256`, as on Windows.
fn is_com(text: &str) -> bool {
    text.get(..3).is_some_and(|head| head.eq_ignore_ascii_case("com"))
        && text[3..].parse::<u16>().is_ok_and(|number| (1..=256).contains(&number))
}

/// Whether a path leads to a terminal, such as a link that `socat` or `wst line` makes to a PTY. It is not
/// opened for that: opening a port raises DTR.
fn is_terminal(path: &Path) -> bool {
    let named = |path: PathBuf| {
        let text = path.to_string_lossy();
        ["/dev/pts/", "/dev/tty", "/dev/tnt"].iter().any(|head| text.starts_with(head))
    };
    std::fs::metadata(path).is_ok_and(|found| crate::os::files::is_device(&found))
        && path.canonicalize().is_ok_and(named)
}

/// The schemes that have a `//`.
const SCHEMES: [&str; 12] = [
    "tcp",
    "tcp-listen",
    "telnet",
    "telnet-listen",
    "rfc2217",
    "tls",
    "tls-listen",
    "udp",
    "udp-listen",
    "ip",
    "ncp",
    "ssh",
];

/// The line for what `scp` and `rsync` call `HOST:PATH`.
fn by_ssh(text: &str) -> Option<String> {
    let (host, path) = text.split_once(':')?;
    // One letter is a drive of Windows.
    let is_path = path.is_empty() || !path.contains(':') && host.len() > 1;
    let line = format!("ssh://{host}/{path}");
    let line = line.strip_suffix('/').filter(|_| path.is_empty()).unwrap_or(&line);
    SshSpec::parse(line.strip_prefix("ssh://")?).ok().filter(|_| is_path)?;
    Some(line.to_owned())
}

/// A text without a scheme: `HOST:PORT`, or no known form.
fn bare(text: &str) -> Result<LineSpec, BadLine> {
    let unknown = || Err(BadLine::Unknown(text.to_owned()));
    let meant = |meant: String| Err(BadLine::Meant { got: text.to_owned(), meant });
    if let Some((scheme, rest)) = text.split_once(':')
        && SCHEMES.contains(&scheme)
    {
        let rest = rest.trim_start_matches('/');
        return meant(format!("{scheme}://{}", if rest.is_empty() { "HOST" } else { rest }));
    }
    if text.contains("://") {
        return unknown();
    }
    if text == "usb:" {
        return meant("usb:SERIAL-NUMBER".to_owned());
    }
    if let Ok(to) = HostPort::called(text, None) {
        return Ok(LineSpec::Tcp(to));
    }
    if text.starts_with("tty") && text.len() > 3 && !text.contains('/') {
        return meant(format!("/dev/{text}"));
    }
    if Path::new(text).exists() {
        return unknown();
    }
    if let Some(line) = by_ssh(text) {
        return meant(line);
    }
    let name = text.split('?').next().unwrap_or(text);
    if name.contains('/') && !Path::new(name).exists() {
        return Err(BadLine::Missing(name.to_owned()));
    }
    unknown()
}

impl FromStr for LineSpec {
    type Err = BadLine;

    fn from_str(text: &str) -> Result<Self, BadLine> {
        if text == "-" || text == "stdio:" {
            return Ok(Self::Stdio);
        }
        if let Some(prefix) = NOT_BUILT.iter().find(|prefix| text.starts_with(**prefix)) {
            return Err(BadLine::NotBuilt((*prefix).to_owned()));
        }
        if let Some(rest) = text.strip_prefix("serial:") {
            return SerialSpec::parse(rest).map(Self::Serial);
        }
        let name = text.split('?').next().unwrap_or(text);
        if crate::port::is_symbolic(Path::new(name)) && name != "usb:" {
            return SerialSpec::parse(text).map(Self::Serial);
        }
        if let Some(rest) = text.strip_prefix("tcp://") {
            return HostPort::called(rest, None).map(Self::Tcp);
        }
        if let Some(rest) = text.strip_prefix("telnet://") {
            return HostPort::called(rest, Some(TELNET)).map(Self::Telnet);
        }
        if let Some(rest) = text.strip_prefix("telnet-listen://") {
            return HostPort::parse(rest).map(Self::TelnetListen);
        }
        if let Some(rest) = text.strip_prefix("tcp-listen://") {
            return HostPort::parse(rest).map(Self::TcpListen);
        }
        if let Some(rest) = text.strip_prefix("rfc2217://") {
            let spec = SerialSpec::parse(rest)?;
            if spec.break_ms != 0 || spec.rs485.is_some() {
                return Err(part("rfc2217", "no break and no rs485", text));
            }
            let to = HostPort::called(&spec.path.to_string_lossy(), None)?;
            return Ok(Self::Rfc2217(to, spec));
        }
        if let Some(rest) = text.strip_prefix("tls://") {
            return TlsSpec::parse(rest, true).map(Self::Tls);
        }
        if let Some(rest) = text.strip_prefix("tls-listen://") {
            return TlsSpec::parse(rest, false).map(Self::TlsListen);
        }
        if let Some(rest) = text.strip_prefix("ncp://") {
            return NcpSpec::parse(rest).map(Self::Ncp);
        }
        if let Some(line) = datagrams(text).or_else(|| of_this_system(text)) {
            return line;
        }
        if let Some(rest) = text.strip_prefix("ssh://") {
            return SshSpec::parse(rest).map(|ssh| Self::Exec(ssh.to_string()));
        }
        if name.starts_with("/dev/") || is_com(name) || is_terminal(Path::new(name)) {
            return SerialSpec::parse(text).map(Self::Serial);
        }
        bare(text)
    }
}

/// The forms that carry datagrams; `None` for others.
fn datagrams(text: &str) -> Option<Result<LineSpec, BadLine>> {
    if let Some(rest) = text.strip_prefix("udp://") {
        return Some(HostPort::called(rest, None).map(LineSpec::Udp));
    }
    if let Some(rest) = text.strip_prefix("udp-listen://") {
        return Some(HostPort::parse(rest).map(LineSpec::UdpListen));
    }
    if let Some(rest) = text.strip_prefix("ip://") {
        return Some(host(rest).map(LineSpec::Ip));
    }
    if let Some(rest) = text.strip_prefix("ip-listen://") {
        return Some(host(rest).map(LineSpec::IpListen));
    }
    let name = text.strip_prefix("tun:")?;
    // Linux's rules for device names.
    let fits = name.len() < 16 && !name.contains(|c: char| c == '/' || c.is_whitespace());
    Some(match (name, fits) {
        ("", _) => Ok(LineSpec::Tun(None)),
        (name, true) => Ok(LineSpec::Tun(Some(name.to_owned()))),
        (name, false) => Err(part("tun", "a name of at most 15 characters", name)),
    })
}

/// Programs, terminals and sockets of this system; `None` for others.
fn of_this_system(text: &str) -> Option<Result<LineSpec, BadLine>> {
    let (scheme, rest) = text.split_once(':')?;
    Some(match scheme {
        "exec" => command(rest).map(LineSpec::Exec),
        "exec-pty" => command(rest).map(LineSpec::ExecPty),
        "fd" => {
            let number = rest.parse().map_err(|_| part("fd", "the number of a descriptor", rest));
            number.map(LineSpec::Descriptor)
        }
        "unix" if rest.is_empty() => Err(part("unix", "the path of a socket", rest)),
        "unix" => Ok(LineSpec::Unix(PathBuf::from(rest))),
        "pty" => Ok(LineSpec::Pty((!rest.is_empty()).then(|| PathBuf::from(rest)))),
        _ => return None,
    })
}

/// A host without a port; IPv6 addresses may be in brackets.
fn host(text: &str) -> Result<String, BadLine> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let numeric = bare.parse::<std::net::IpAddr>().is_ok();
    if bare.is_empty() || (!numeric && bare.contains([':', '/', '?', '[', ']', ' '])) {
        return Err(part("host", "HOST without a port", text));
    }
    Ok(bare.to_owned())
}

fn command(text: &str) -> Result<String, BadLine> {
    if text.trim().is_empty() {
        return Err(part("exec", "a command", text));
    }
    Ok(text.to_owned())
}

impl LineSpec {
    /// Whether a text has the form of a line, supported or not. A command line uses it to tell lines from file
    /// names.
    pub fn looks_like(text: &str) -> bool {
        !matches!(
            text.parse::<Self>(),
            Err(BadLine::Unknown(_) | BadLine::Meant { .. } | BadLine::Missing(_))
        )
    }

    /// Whether the line carries datagrams, for NETBLT.
    pub fn has_datagrams(&self) -> bool {
        matches!(self, Self::Udp(_) | Self::UdpListen(_) | Self::Ip(_) | Self::IpListen(_))
    }

    /// Whether the peer connects to us.
    pub fn listens(&self) -> bool {
        matches!(
            self,
            Self::TcpListen(_)
                | Self::TelnetListen(_)
                | Self::TlsListen(_)
                | Self::UdpListen(_)
                | Self::IpListen(_)
                | Self::Pty(_)
                | Self::Stdio
        )
    }

    /// Parses an argument of the command line.
    pub fn from_os(text: &OsString) -> Result<Self, BadLine> {
        match text.to_str() {
            Some(text) => text.parse(),
            None => Err(BadLine::Unknown(text.to_string_lossy().into_owned())),
        }
    }
}

impl fmt::Display for LineSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Serial(spec) => spec.show("serial:", f),
            Self::Ncp(spec) => spec.fmt(f),
            Self::Tcp(to) => write!(f, "tcp://{to}"),
            Self::TcpListen(at) => write!(f, "tcp-listen://{at}"),
            Self::Telnet(to) => write!(f, "telnet://{to}"),
            Self::TelnetListen(at) => write!(f, "telnet-listen://{at}"),
            Self::Rfc2217(_, spec) => spec.show("rfc2217://", f),
            Self::Tls(spec) => write!(f, "tls://{spec}"),
            Self::TlsListen(spec) => write!(f, "tls-listen://{spec}"),
            Self::Udp(to) => write!(f, "udp://{to}"),
            Self::UdpListen(at) => write!(f, "udp-listen://{at}"),
            Self::Ip(host) => write!(f, "ip://{host}"),
            Self::IpListen(host) => write!(f, "ip-listen://{host}"),
            Self::Tun(name) => write!(f, "tun:{}", name.as_deref().unwrap_or_default()),
            Self::Exec(command) => write!(f, "exec:{command}"),
            Self::ExecPty(command) => write!(f, "exec-pty:{command}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Pty(None) => f.write_str("pty:"),
            Self::Pty(Some(path)) => write!(f, "pty:{}", path.display()),
            Self::Stdio => f.write_str("stdio:"),
            Self::Descriptor(number) => write!(f, "fd:{number}"),
        }
    }
}
