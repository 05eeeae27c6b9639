//! The LINE argument: what a person types to say where the partner is.
//!
//! | form | meaning |
//! |---|---|
//! | `/dev/ttyUSB0`, `COM3`, `serial:/dev/ttyUSB0?baud=9600&parity=even` | serial port |
//! | `tcp://HOST:PORT`, `tcp-listen://HOST:PORT` | raw TCP, to and from |
//! | `telnet://HOST[:PORT]`, `telnet-listen://HOST:PORT` | Telnet, to and from; port 23 unless given |
//! | `rfc2217://HOST:PORT?baud=9600&parity=even` | a serial port behind a Telnet server, set from here |
//! | `tls://HOST:PORT?ca=FILE`, `tls://HOST:PORT?fingerprint=SHA256` | TLS; without either, the system's authorities |
//! | `tls-listen://HOST:PORT?cert=FILE&key=FILE` | TLS, from who connects |
//! | `udp://HOST:PORT`, `udp-listen://HOST:PORT` | datagrams, to and from: NETBLT |
//! | `ip://HOST`, `ip-listen://ADDRESS` | the same on IP protocol 30, without UDP |
//! | `ncp://HOST/PATH?imp=HOST:PORT` | a host of the ARPANET, by an IMP that takes UDP datagrams |
//! | `tun:`, `tun:NAME` | a TUN device, as an end of an emulated network |
//! | `exec:COMMAND`, `exec-pty:COMMAND` | a program's stdin/stdout, by pipes or in a PTY |
//! | `pty:`, `pty:NAME` | make a PTY; its name is reported, or NAME becomes a symlink to it |
//! | `-`, `stdio:` | this process's stdin/stdout |
//!
//! [`LineSpec`] parses (`FromStr`) and prints (`Display`); what it prints parses to the same.

mod ncp;
mod tls;

pub use ncp::NcpSpec;
pub use tls::TlsSpec;

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Where the partner is.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LineSpec {
    /// A serial port.
    Serial(SerialSpec),
    /// Connect to a TCP port.
    Tcp(HostPort),
    /// Listen on a TCP port, take the first that connects. Port 0 lets the system choose.
    TcpListen(HostPort),
    /// Connect to a TCP port, and speak Telnet there.
    Telnet(HostPort),
    /// Listen on a TCP port, and speak Telnet with the first that connects.
    TelnetListen(HostPort),
    /// Connect to a Telnet server with a serial port behind it; the path is its `HOST:PORT`.
    Rfc2217(HostPort, SerialSpec),
    /// Connect to a TCP port, and speak TLS there.
    Tls(TlsSpec),
    /// Listen on a TCP port, and speak TLS with the first that connects.
    TlsListen(TlsSpec),
    /// Send datagrams to a UDP port, and take those that come from it.
    Udp(HostPort),
    /// Take datagrams at a UDP port. Port 0 lets the system choose.
    UdpListen(HostPort),
    /// Exchange datagrams with this host on IP protocol 30.
    Ip(String),
    /// Take datagrams of IP protocol 30 at this address.
    IpListen(String),
    /// A host of the ARPANET.
    Ncp(NcpSpec),
    /// A TUN device of this name, or of one that the system chooses.
    Tun(Option<String>),
    /// Run a command by `sh -c`, joined by pipes to its stdin and stdout.
    Exec(String),
    /// Run a command by `sh -c` in a PTY and a session of its own.
    ExecPty(String),
    /// Make a PTY. With a path, that path becomes a symlink to its name.
    Pty(Option<PathBuf>),
    /// This process's stdin and stdout.
    Stdio,
}

/// A host and a port. IPv6 addresses are written in brackets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostPort {
    /// A name or an address, without brackets.
    pub host: String,
    /// The TCP or UDP port.
    pub port: u16,
}

/// A serial port and its settings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SerialSpec {
    /// The device.
    pub path: PathBuf,
    /// Line rate in bit/s; any that the device can make.
    pub baud: u32,
    /// Parity that the hardware adds and checks.
    pub parity: Parity,
    /// How the two ends of the cable stop each other.
    pub flow: Flow,
    /// Data bits, 5 to 8.
    pub data_bits: u8,
    /// Stop bits, 1 or 2.
    pub stop_bits: u8,
    /// Data Terminal Ready.
    pub dtr: Pin,
    /// Request To Send. Not with `flow=rtscts`, which owns the pin.
    pub rts: Pin,
}

/// Hardware parity.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Parity {
    /// No parity bit.
    #[default]
    None,
    /// Even parity.
    Even,
    /// Odd parity.
    Odd,
}

/// Flow control of a serial port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Flow {
    /// None.
    #[default]
    None,
    /// Hardware: RTS and CTS.
    RtsCts,
    /// Software: XON (17) and XOFF (19).
    XonXoff,
}

/// What to do with an output pin when a serial port is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Pin {
    /// Leave it as it is.
    #[default]
    Keep,
    /// Raise it.
    On,
    /// Drop it.
    Off,
}

/// The forms that [`LineSpec`] takes, in one line, for messages and help.
pub const FORMS: &str = "/dev/tty..., COM3, serial:DEVICE[?baud=...], tcp://HOST:PORT, \
     tcp-listen://HOST:PORT, telnet://HOST[:PORT], telnet-listen://HOST:PORT, rfc2217://HOST:PORT[?baud=...], tls://HOST:PORT, \
     tls-listen://HOST:PORT?cert=FILE&key=FILE, udp://HOST:PORT, udp-listen://HOST:PORT, ip://HOST, \
     ip-listen://ADDRESS, ncp://HOST/PATH?imp=HOST:PORT, tun:[NAME], exec:COMMAND, exec-pty:COMMAND, pty:[NAME], - or stdio:";

/// Prefixes that CLI and documentation know, but that no port exists for yet.
const NOT_BUILT: [&str; 1] = ["lab:"];

/// Telnet's own port.
const TELNET: u16 = 23;

/// A text that names no line.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BadLine {
    /// A form that is planned, but not built yet.
    NotBuilt(String),
    /// No known form.
    Unknown(String),
    /// A known form with a part that is wrong.
    Part {
        /// Which part.
        part: &'static str,
        /// What it takes.
        expected: &'static str,
        /// What came.
        got: String,
    },
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotBuilt(text) => write!(f, "not built yet: {text}"),
            Self::Unknown(text) => write!(f, "expected a line ({FORMS}), got {text:?}"),
            Self::Part { part, expected, got } => {
                write!(f, "{part}: expected {expected}, got {got:?}")
            }
        }
    }
}

impl std::error::Error for BadLine {}

impl SerialSpec {
    /// The device at 115200 8N1, no flow control, pins kept.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            baud: 115_200,
            parity: Parity::None,
            flow: Flow::None,
            data_bits: 8,
            stop_bits: 1,
            dtr: Pin::Keep,
            rts: Pin::Keep,
        }
    }

    /// Reads `DEVICE[?key=value&key=value...]`.
    fn parse(text: &str) -> Result<Self, BadLine> {
        let (path, query) = text.split_once('?').unwrap_or((text, ""));
        if path.is_empty() {
            return Err(part("serial", "a device such as /dev/ttyUSB0", text));
        }
        let mut spec = Self::new(path);
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            spec.set(key, value)?;
        }
        if spec.flow == Flow::RtsCts && spec.rts != Pin::Keep {
            return Err(part("rts", "keep with flow=rtscts, which owns the pin", text));
        }
        Ok(spec)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), BadLine> {
        match key {
            "baud" => {
                self.baud = value
                    .parse()
                    .ok()
                    .filter(|&baud| baud > 0)
                    .ok_or_else(|| part("baud", "a whole number of bit/s above 0", value))?;
            }
            "parity" => {
                self.parity = match value {
                    "none" => Parity::None,
                    "even" => Parity::Even,
                    "odd" => Parity::Odd,
                    _ => return Err(part("parity", "none|even|odd", value)),
                }
            }
            "flow" => {
                self.flow = match value {
                    "none" => Flow::None,
                    "rtscts" => Flow::RtsCts,
                    "xonxoff" => Flow::XonXoff,
                    _ => return Err(part("flow", "none|rtscts|xonxoff", value)),
                }
            }
            "databits" => {
                self.data_bits = match value {
                    "5" => 5,
                    "6" => 6,
                    "7" => 7,
                    "8" => 8,
                    _ => return Err(part("databits", "5|6|7|8", value)),
                }
            }
            "stopbits" => {
                self.stop_bits = match value {
                    "1" => 1,
                    "2" => 2,
                    _ => return Err(part("stopbits", "1|2", value)),
                }
            }
            "dtr" => self.dtr = Pin::parse("dtr", value)?,
            "rts" => self.rts = Pin::parse("rts", value)?,
            _ => {
                return Err(part(
                    "serial setting",
                    "baud|parity|flow|databits|stopbits|dtr|rts",
                    key,
                ));
            }
        }
        Ok(())
    }
}

impl Pin {
    fn parse(name: &'static str, value: &str) -> Result<Self, BadLine> {
        match value {
            "keep" => Ok(Self::Keep),
            "on" => Ok(Self::On),
            "off" => Ok(Self::Off),
            _ => Err(part(name, "on|off|keep", value)),
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::On => "on",
            Self::Off => "off",
        }
    }
}

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
        // An IPv6 address without brackets could end anywhere.
        let bare_v6 = !text.starts_with('[') && host.contains(':');
        if host.is_empty() || bare_v6 || host.contains(['/', '?', '[', ']']) {
            return Err(wrong());
        }
        let port = port.parse().map_err(|_| part("port", "0..65535", port))?;
        Ok(Self { host: host.to_owned(), port })
    }

    /// The same where somebody is called: the port is not 0, and may be left out where it has a default.
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

/// `COM1` to `COM256`, as Windows has them.
fn is_com(text: &str) -> bool {
    text.get(..3).is_some_and(|head| head.eq_ignore_ascii_case("com"))
        && text[3..].parse::<u16>().is_ok_and(|number| (1..=256).contains(&number))
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
        if let Some(line) = datagrams(text) {
            return line;
        }
        if let Some(rest) = text.strip_prefix("exec:") {
            return command(rest).map(Self::Exec);
        }
        if let Some(rest) = text.strip_prefix("exec-pty:") {
            return command(rest).map(Self::ExecPty);
        }
        if let Some(rest) = text.strip_prefix("pty:") {
            return Ok(Self::Pty((!rest.is_empty()).then(|| PathBuf::from(rest))));
        }
        if text.starts_with("/dev/") || is_com(text) {
            return Ok(Self::Serial(SerialSpec::new(text)));
        }
        Err(BadLine::Unknown(text.to_owned()))
    }
}

/// The forms that carry datagrams; `None` if it is none of them.
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
    // What Linux takes as the name of a device.
    let fits = name.len() < 16 && !name.contains(|c: char| c == '/' || c.is_whitespace());
    Some(match (name, fits) {
        ("", _) => Ok(LineSpec::Tun(None)),
        (name, true) => Ok(LineSpec::Tun(Some(name.to_owned()))),
        (name, false) => Err(part("tun", "a name of at most 15 characters", name)),
    })
}

/// A host without a port; IPv6 addresses may stand in brackets.
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
    /// Whether a text has the form of a line, built or not. A command line uses it to tell lines
    /// from file names.
    pub fn looks_like(text: &str) -> bool {
        !matches!(text.parse::<Self>(), Err(BadLine::Unknown(_)))
    }

    /// Whether the line carries datagrams to and from partners, for NETBLT.
    pub fn has_datagrams(&self) -> bool {
        matches!(self, Self::Udp(_) | Self::UdpListen(_) | Self::Ip(_) | Self::IpListen(_))
    }

    /// Reads an argument of the command line.
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
            Self::Pty(None) => f.write_str("pty:"),
            Self::Pty(Some(path)) => write!(f, "pty:{}", path.display()),
            Self::Stdio => f.write_str("stdio:"),
        }
    }
}

impl fmt::Display for SerialSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.show("serial:", f)
    }
}

impl SerialSpec {
    /// Only what differs from the default is written.
    fn show(&self, prefix: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = Self::new(&self.path);
        write!(f, "{prefix}{}", show_path(&self.path))?;
        let mut separator = '?';
        let mut put = |key: &str, value: &dyn fmt::Display, differs: bool| {
            if differs {
                write!(f, "{separator}{key}={value}")?;
                separator = '&';
            }
            Ok(())
        };
        let parity = match self.parity {
            Parity::None => "none",
            Parity::Even => "even",
            Parity::Odd => "odd",
        };
        let flow = match self.flow {
            Flow::None => "none",
            Flow::RtsCts => "rtscts",
            Flow::XonXoff => "xonxoff",
        };
        put("baud", &self.baud, self.baud != plain.baud)?;
        put("parity", &parity, self.parity != plain.parity)?;
        put("flow", &flow, self.flow != plain.flow)?;
        put("databits", &self.data_bits, self.data_bits != plain.data_bits)?;
        put("stopbits", &self.stop_bits, self.stop_bits != plain.stop_bits)?;
        put("dtr", &self.dtr.as_str(), self.dtr != plain.dtr)?;
        put("rts", &self.rts.as_str(), self.rts != plain.rts)
    }
}

fn show_path(path: &Path) -> impl fmt::Display + '_ {
    path.display()
}
