//! A whole network as text.

use super::headers::{Headers, IP_BYTES, UDP_BYTES};
use super::parse::BadNet;
use super::{Ethernet, EthernetModel, NetChain, Nic, NicModel, Path, PathModel};
use super::{Ring, RingModel, Slotted, SlottedModel, TraceLink, TraceModel, Wifi, WifiModel};
use crate::capture::{Capture, Medium, Tap};
use crate::element::{Element, End};
use crate::host::{HostModel, Hosted};
use crate::quic::{self, QuicModel};
use crate::sack::{Sack, SackModel};
use crate::serial::{BadLine, LineModel, Serial};
use crate::slip::SlipModel;
use crate::tcp::{Tcp, TcpModel};
use std::fmt;
use std::str::FromStr;

/// One element of a network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Link {
    /// `ethernet:10M,load=30%`
    Ethernet(EthernetModel),
    /// `path:rate=1.5M,delay=34ms`
    Path(PathModel),
    /// `slotted:wideband`
    Slotted(SlottedModel),
    /// `nic:3c500`
    Nic(NicModel),
    /// `ring:10M`
    Ring(RingModel),
    /// `trace:lte,delay=25ms`
    Trace(TraceModel),
    /// `wifi:65M`
    Wifi(WifiModel),
    /// `slip:vj,mtu=296 over pep:dte=19200`: packets of IP over what carries bytes.
    Slip(SlipModel),
    /// `line:9600,delay=250ms`: a serial line. It stands alone and carries bytes.
    Line(LineModel),
}

/// The path between two programs: a network, TCP over it if they exchange bytes, and both hosts.
///
/// ```text
/// [CARRIER over ] LINK [ + LINK]... [ with host:WORDS]
///                                   [ with host-a:WORDS] [ with host-b:WORDS]
/// ```
///
/// A carrier is `tcp:`, `sack:` or `quic:` with its words, which carry bytes, or `udp` or `ip`, which put their
/// headers before an engine's datagrams. A link is `ethernet:`, `path:`, `slotted:`, `nic:`,
/// `ring:`, `trace:` or `wifi:` with its words, `slip:` with its words and what carries its bytes ([`crate::slip`]), or `line:`
/// alone. `host:` is for both ends. Links of the same kind get names of their own (`path`, `path 2`, ...), so that
/// their chances differ although their seed is the same.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Network {
    /// TCP, if there is any.
    pub tcp: Option<TcpModel>,
    /// TCP as hosts have it today, if there is any.
    pub sack: Option<SackModel>,
    /// QUIC, if there is any.
    pub quic: Option<QuicModel>,
    /// Bytes of headers before each datagram of an engine; 0 unless `udp` or `ip` stands there.
    pub header_bytes: usize,
    /// The links, from A to B; at least one.
    pub links: Vec<Link>,
    /// The hosts at A and at B.
    pub hosts: [HostModel; 2],
    /// A record of the packets at both ends; none unless it is put there.
    pub capture: Option<Capture>,
}

/// A description of a network that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BadNetwork {
    /// A word of one of its elements.
    Word(BadNet),
    /// A word of its serial line.
    Line(BadLine),
    /// How it is put together.
    Shape {
        /// What belongs there.
        expected: &'static str,
        /// The text found.
        got: String,
    },
}

impl From<BadNet> for BadNetwork {
    fn from(bad: BadNet) -> Self {
        Self::Word(bad)
    }
}

impl From<BadLine> for BadNetwork {
    fn from(bad: BadLine) -> Self {
        Self::Line(bad)
    }
}

impl fmt::Display for BadNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(bad) => bad.fmt(f),
            Self::Line(bad) => bad.fmt(f),
            Self::Shape { expected, got } => write!(f, "network: expected {expected}, got `{got}`"),
        }
    }
}

impl std::error::Error for BadNetwork {}

fn shape<T>(expected: &'static str, got: &str) -> Result<T, BadNetwork> {
    Err(BadNetwork::Shape { expected, got: got.to_owned() })
}

/// `kind:words`, or `kind` alone.
fn kind(text: &str) -> (&str, &str) {
    text.split_once(':').map_or((text.trim(), ""), |(kind, words)| (kind.trim(), words))
}

/// Whether a text begins with a SLIP line.
fn is_slip(text: &str) -> bool {
    text.trim().strip_prefix("slip").is_some_and(|rest| rest.starts_with([':', ' ']))
}

impl FromStr for Link {
    type Err = BadNetwork;

    fn from_str(text: &str) -> Result<Self, BadNetwork> {
        match kind(text) {
            ("ethernet", words) => Ok(Self::Ethernet(words.parse()?)),
            ("path", words) => Ok(Self::Path(words.parse()?)),
            ("slotted", words) => Ok(Self::Slotted(words.parse()?)),
            ("nic", words) => Ok(Self::Nic(words.parse()?)),
            ("ring", words) => Ok(Self::Ring(words.parse()?)),
            ("trace", words) => Ok(Self::Trace(words.parse()?)),
            ("wifi", words) => Ok(Self::Wifi(words.parse()?)),
            ("line", words) => Ok(Self::Line(words.parse()?)),
            _ if is_slip(text) => Ok(Self::Slip(text.parse()?)),
            _ => shape(
                "ethernet:, path:, slotted:, nic:, ring:, trace:, wifi:, slip: or line: with its words",
                text.trim(),
            ),
        }
    }
}

impl FromStr for Network {
    type Err = BadNetwork;

    fn from_str(text: &str) -> Result<Self, BadNetwork> {
        let mut parts = text.split(" with ");
        let network = parts.next().unwrap_or("");
        let (mut tcp, mut sack, mut quic, mut header_bytes) = (None, None, None, 0);
        // A SLIP line has what carries its bytes behind an ` over ` of its own.
        let above = network.split_once(" over ").filter(|(above, _)| !is_slip(above));
        let links = match above {
            None => network,
            Some((carrier, links)) => {
                match kind(carrier) {
                    ("tcp", words) => tcp = Some(words.parse()?),
                    ("sack", words) => sack = Some(words.parse()?),
                    ("quic", words) => quic = Some(words.parse()?),
                    ("udp", "") => header_bytes = UDP_BYTES,
                    ("ip", "") => header_bytes = IP_BYTES,
                    _ => return shape("tcp:, sack:, quic:, udp or ip before ` over `", carrier),
                }
                links
            }
        };
        let carried = tcp.is_some() || sack.is_some() || quic.is_some() || header_bytes > 0;
        let links = links.split(" + ").map(str::parse).collect::<Result<Vec<Link>, _>>()?;
        let serial = links.iter().filter(|link| matches!(link, Link::Line(_))).count();
        let mut slips = links.iter().filter_map(|link| match link {
            Link::Slip(slip) => Some(slip),
            _ => None,
        });
        if let Some(slip) = slips.next() {
            let mss = tcp.as_ref().map_or(0, |tcp: &TcpModel| tcp.mss_bytes);
            if tcp.is_none() && header_bytes == 0 {
                return shape("tcp:, udp or ip over slip:, which sends packets of IP", network);
            }
            if mss + 40 > usize::from(slip.mtu) {
                return shape("an mss of at most 40 less than the mtu of slip:", network);
            }
        }
        if serial > 0 && (links.len() > 1 || carried) {
            return shape("a line: alone, without tcp: and without ` + `", network);
        }
        let mut hosts = [None; 2];
        for part in parts {
            let (ends, words): (&[End], _) = match kind(part) {
                ("host", words) => (&End::BOTH, words),
                ("host-a", words) => (&[End::A], words),
                ("host-b", words) => (&[End::B], words),
                _ => return shape("host:, host-a: or host-b: after ` with `", part),
            };
            let model: HostModel = words.parse()?;
            for end in ends {
                if hosts[end.index()].replace(model).is_some() {
                    return shape("one host for each end", text);
                }
            }
        }
        let is_timed = hosts.iter().any(Option::is_some);
        if quic.is_some() && is_timed {
            return shape("quic: without ` with host:`, for its hosts take no time", text);
        }
        if sack.is_some() && is_timed {
            return shape("sack: without ` with host:`, for its hosts take no time", text);
        }
        let hosts = hosts.map(Option::unwrap_or_default);
        Ok(Self { tcp, sack, quic, header_bytes, links, hosts, capture: None })
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ethernet(model) => model.fmt(f),
            Self::Path(model) => model.fmt(f),
            Self::Slotted(model) => model.fmt(f),
            Self::Nic(model) => model.fmt(f),
            Self::Ring(model) => model.fmt(f),
            Self::Trace(model) => model.fmt(f),
            Self::Wifi(model) => model.fmt(f),
            Self::Slip(model) => model.fmt(f),
            Self::Line(model) => write!(f, "line:{model}"),
        }
    }
}

impl fmt::Display for Network {
    /// The notation that is parsed; default values are left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(tcp) = &self.tcp {
            write!(f, "{tcp} over ")?;
        }
        if let Some(sack) = &self.sack {
            write!(f, "{sack} over ")?;
        }
        if let Some(quic) = &self.quic {
            write!(f, "{quic} over ")?;
        }
        f.write_str(match self.header_bytes {
            UDP_BYTES => "udp over ",
            IP_BYTES => "ip over ",
            _ => "",
        })?;
        for (index, link) in self.links.iter().enumerate() {
            let joint = if index == 0 { "" } else { " + " };
            write!(f, "{joint}{link}")?;
        }
        let [a, b] = &self.hosts;
        let free = HostModel::default();
        if a == b && *a != free {
            return write!(f, " with {a}");
        }
        for (name, host) in [("host-a", a), ("host-b", b)] {
            if *host != free {
                write!(f, " with {name}:{}", host.to_string().trim_start_matches("host:"))?;
            }
        }
        Ok(())
    }
}

impl Network {
    /// The element that this describes: of bytes with TCP or a line, else of datagrams.
    pub fn build(&self) -> Box<dyn Element> {
        if let Some(tcp) = &self.tcp {
            return Box::new(self.build_tcp(tcp));
        }
        let mut below = self.build_links();
        if let Some(sack) = &self.sack {
            return Box::new(Sack::new(sack, below));
        }
        if let Some(quic) = &self.quic {
            return quic::element(quic, below);
        }
        if self.header_bytes > 0 {
            below = Box::new(Headers::new(below, self.header_bytes));
        }
        if self.hosts == [HostModel::default(); 2] {
            return below;
        }
        Box::new(Hosted::new(below, &self.hosts))
    }

    /// The connection of this model over this network, for those who want to ask it more than an
    /// element tells.
    pub fn build_tcp(&self, tcp: &TcpModel) -> Tcp {
        // SLIP has no check of its own.
        let checks = tcp.checks || self.slip().is_some();
        Tcp::new(&TcpModel { checks, ..tcp.clone() }, self.build_links(), &self.hosts)
    }

    /// The first SLIP line among the links.
    pub fn slip(&self) -> Option<&SlipModel> {
        self.links.iter().find_map(|link| match link {
            Link::Slip(slip) => Some(slip),
            _ => None,
        })
    }

    /// Reads the files that its links name.
    pub fn supply(&mut self, load: super::trace::Load<'_>) -> Result<(), String> {
        let mut traces = self.links.iter_mut().filter_map(|link| match link {
            Link::Trace(trace) => Some(trace),
            _ => None,
        });
        traces.try_for_each(|trace| trace.supply(load))
    }

    /// The same with every seed replaced.
    #[must_use]
    pub fn seeded(&self, seed: u64) -> Self {
        let mut network = self.clone();
        if let Some(tcp) = &mut network.tcp {
            tcp.seed = seed;
        }
        if let Some(quic) = &mut network.quic {
            quic.seed = seed;
        }
        for link in &mut network.links {
            match link {
                Link::Ethernet(model) => model.seed = seed,
                Link::Path(model) => model.seed = seed,
                Link::Slotted(model) => model.seed = seed,
                Link::Line(model) => model.seed = seed,
                Link::Slip(model) => model.seed = seed,
                Link::Trace(model) => model.seed = seed,
                Link::Wifi(model) => model.seed = seed,
                Link::Nic(_) | Link::Ring(_) => {}
            }
        }
        network
    }

    /// The links, and what records their packets.
    fn build_links(&self) -> Box<dyn Element> {
        let links = self.build_untapped();
        let Some(capture) = &self.capture else { return links };
        let connected = self.tcp.is_some() || self.sack.is_some() || self.quic.is_some();
        let carried = connected || self.header_bytes > 0;
        capture.set_medium(if carried { Medium::Ip } else { Medium::Bare });
        Box::new(Tap::new(links, capture.clone()))
    }

    fn build_untapped(&self) -> Box<dyn Element> {
        let mut counts = [0; 6];
        let mut elements: Vec<Box<dyn Element>> = Vec::new();
        for link in &self.links {
            let mut named = |kind: usize, name: &str| {
                counts[kind] += 1;
                match counts[kind] {
                    1 => name.to_owned(),
                    count => format!("{name} {count}"),
                }
            };
            elements.push(match link {
                Link::Ethernet(model) => Box::new(Ethernet::named(model, &named(0, "ethernet"))),
                Link::Path(model) => Box::new(Path::named(model, &named(1, "path"))),
                Link::Slotted(model) => Box::new(Slotted::named(model, &named(2, "slotted"))),
                Link::Line(model) => Box::new(Serial::named(model, &named(3, "line"))),
                Link::Nic(model) => Box::new(Nic::new(model)),
                Link::Ring(model) => Box::new(Ring::new(model)),
                Link::Trace(model) => Box::new(TraceLink::named(model, &named(4, "trace"))),
                Link::Wifi(model) => Box::new(Wifi::named(model, &named(5, "wifi"))),
                Link::Slip(model) => Box::new(model.build()),
            });
        }
        if elements.len() == 1
            && let Some(element) = elements.pop()
        {
            return element;
        }
        Box::new(NetChain::new(elements))
    }
}
