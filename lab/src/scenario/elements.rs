//! The one place that builds elements from their descriptions.
//!
//! | description | element |
//! |---|---|
//! | `9600,delay=250ms,burst=8@2s` | a serial line, see [`crate::serial`] |
//! | `57600,rtscts,rxbuf=256` | one with flow control, see [`crate::serial::flow`] |
//! | `115200,usb=16ms` | one between two USB adapters, `usb:ftdi` before and behind it |
//! | `usb:ftdi,latency=16ms`, `ble:mtu=23`, `lora:sf=7` | of today, see [`crate::today`] |
//! | `interference:8@2s,rate=9600` | noise in real time, see [`crate::serial::interference`] |
//! | `modem:dte=57600,line=14400,v42bis` | a pair of modems, see [`crate::modem`] |
//! | `pep:dte=19200,s120=12` | two Telebit modems with PEP, see [`crate::modem::pep`] |
//! | `7171:turn=85ms` | a protocol converter; the mainframe is at end B, see [`crate::terminal::ibm7171`] |
//! | `telnet:escape=1e` | a terminal server; the modem is at end A, see [`crate::terminal::telnet`] |
//! | `flip 7171:` | the same the other way round |
//! | `tcp:mss=1460 over ethernet:10M,load=30%` | TCP over a network, see [`crate::net::Network`] |
//! | `tcp:mss=256 over slip:vj,mtu=296 over pep:dte=19200` | TCP over a SLIP line over any of the serial ones above, see [`crate::slip`] |
//! | `sack:window=4M over trace:lte` | TCP as hosts have it today, see [`crate::sack`] |
//! | `udp over path:10M,rtt=69ms` | a network of packets, for engines of datagrams |
//! | `imp:hops=1` | the ARPANET's subnet, for the protocol `ncp`, see [`crate::imp`] |
//!
//! A new kind of element is one more arm of [`part`]. The hosts at both ends are put around all elements
//! together; TCP has them inside, because its packets cost them time.

mod today;

use super::Load;
use super::flip::Flipped;
use crate::capture::{Capture, Medium, Tap};
use crate::chain::Chain;
use crate::element::{Element, End, Unit};
use crate::host::{HostModel, Hosted};
use crate::imp::{Subnet, SubnetModel};
use crate::modem::pep::{PepModel, PepPair};
use crate::modem::{BadWord, ModemModel, ModemPair};
use crate::net::ethernet::GAP_BITS;
use crate::net::{BadNet, BadNetwork, EthernetModel, Link, Network};
use crate::sack;
use crate::serial::flow::{FlowLine, FlowModel};
use crate::serial::interference::{Interference, InterferenceModel};
use crate::serial::{BadLine, LineModel, Probability, Serial};
use crate::terminal::{Ibm7171, Ibm7171Model, TelnetModel, TelnetPath};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use wetstring_proto::LineFacts;

/// One element and its external properties.
pub struct Part {
    /// The element.
    pub element: Box<dyn Element>,
    /// What a port at each end knows of the line.
    pub ports: [LineFacts; 2],
    /// The rate from A to B, in characters per 1000 s; `None` if it takes no time.
    pub limit_millicps: Option<u64>,
    /// What carries the bytes of the port.
    pub carrier: Carrier,
    /// It has randomness, so that another seed gives another run.
    pub has_chance: bool,
}

/// What carries the bytes of the port, and whether bytes take constant time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Carrier {
    /// A line: constant time per byte.
    #[default]
    Even,
    /// Modems with frames of their own, retransmissions, possibly compression.
    Frames,
    /// A network: packets wait for each other, for cross traffic, for acknowledgements.
    Network,
}

impl Carrier {
    /// Its name in a trace.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Even => "even",
            Self::Frames => "frames",
            Self::Network => "network",
        }
    }
}

/// Everything between two ports, as one element.
pub struct Stretch {
    /// The element.
    pub element: Box<dyn Element>,
    /// What the port at each end knows.
    pub ports: [LineFacts; 2],
    /// What the direction from A to B can carry, as in [`Part`].
    pub limit_millicps: Option<u64>,
    /// What takes the bytes over from the port: the least even of all parts.
    pub carrier: Carrier,
    /// Whether another seed gives another run, as in [`Part`].
    pub has_chance: bool,
}

impl Part {
    /// A part of serial nature in which nothing is left to chance: rates of the ports, and of the
    /// direction from A to B (0 if it takes no time), in bit/s with ten bits to a character.
    pub(super) fn quiet(element: Box<dyn Element>, ports_bps: [u64; 2], rate_bps: u64) -> Self {
        Self {
            element,
            ports: ports_bps.map(port),
            limit_millicps: millicps(rate_bps, 10),
            carrier: Carrier::Even,
            has_chance: false,
        }
    }
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Part").field("ports", &self.ports).finish_non_exhaustive()
    }
}

impl fmt::Debug for Stretch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stretch").field("ports", &self.ports).finish_non_exhaustive()
    }
}

/// An invalid description, or elements that do not fit together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadElement {
    /// The description.
    pub spec: String,
    /// What is wrong with it.
    pub message: String,
}

impl fmt::Display for BadElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.spec, self.message)
    }
}

impl std::error::Error for BadElement {}

/// The hosts at both ends, if they take time.
pub type Hosts = [Option<HostModel>; 2];

/// What elements have from outside of their descriptions, and give there.
#[derive(Clone, Debug, Default)]
pub struct Outside {
    /// The contents of files that descriptions name, by their names.
    files: BTreeMap<String, Arc<[u8]>>,
    /// Where what passes the ends is recorded; of a network the packets inside of it.
    pub capture: Option<Capture>,
    /// Where what the programs at both ends give and get is recorded.
    pub programs: Option<Capture>,
}

impl Outside {
    /// The files that these descriptions name.
    pub fn read(specs: &[String], load: Load<'_>) -> Result<Self, BadElement> {
        let mut outside = Self::default();
        for spec in specs.iter().filter(|spec| spec.contains("trace:")) {
            let text = spec.trim().trim_start_matches("flip ");
            let Ok(mut network) = text.parse::<Network>() else { continue };
            let found = RefCell::new(Vec::new());
            let content = |name: &str| {
                let bytes = load(name)?;
                found.borrow_mut().push((name.to_owned(), Arc::from(bytes.as_slice())));
                Ok(bytes)
            };
            let bad = |message: String| BadElement { spec: spec.clone(), message };
            network.supply(&content).map_err(bad)?;
            outside.files.extend(found.into_inner());
        }
        Ok(outside)
    }

    /// One of the files.
    pub(super) fn file(&self, name: &str) -> Result<Vec<u8>, String> {
        let file = self.files.get(name).map(|file| file.to_vec());
        file.ok_or_else(|| format!("expected the content of {name}"))
    }
}

/// Builds one element. `name` keeps the random streams of two elements of one kind apart; `seed` is for
/// elements whose description has none. `hosts` are for an element that has the hosts inside; it takes them
/// out. `outside` has the files that it names.
pub fn part(
    spec: &str,
    name: &str,
    seed: u64,
    hosts: &mut Hosts,
    outside: &Outside,
) -> Result<Part, BadElement> {
    let text = spec.trim();
    if let Some(other) = text.strip_prefix("flip ") {
        // The hosts stay where they are; the path between them is reversed.
        hosts.swap(0, 1);
        let part = part(other, name, seed, hosts, outside);
        hosts.swap(0, 1);
        return part.map(flipped);
    }
    if let Some(part) = today::with_adapters(text, name, seed, hosts, outside) {
        return part;
    }
    let bad = |message: String| BadElement { spec: spec.to_owned(), message };
    let kind = text.split_once(':').map(|(kind, _)| kind);
    if text.starts_with("slip ") || kind.is_some_and(is_network) {
        let model: Network = text.parse().map_err(|e: BadNetwork| bad(e.to_string()))?;
        return network(text, &model, seed, hosts, outside).map_err(bad);
    }
    match kind {
        Some(kind) if today::KINDS.contains(&kind) => {
            today::of(kind, &text[kind.len() + 1..], name, seed).map_err(|e| bad(e.to_string()))
        }
        Some("interference") => {
            let model: InterferenceModel = text.parse().map_err(|e: BadLine| bad(e.to_string()))?;
            Ok(interference(text, model, name, seed))
        }
        Some("modem") => {
            let model: ModemModel = text.parse().map_err(|e: BadWord| bad(e.to_string()))?;
            Ok(modem(text, &model, name, seed))
        }
        Some("pep") => {
            let model: PepModel = text.parse().map_err(|e: BadWord| bad(e.to_string()))?;
            Ok(pep(text, &model, name, seed))
        }
        Some("7171") => {
            let model: Ibm7171Model = text.parse().map_err(|e: BadWord| bad(e.to_string()))?;
            Ok(Part::quiet(Box::new(Ibm7171::new(&model)), [model.rate_bps; 2], model.rate_bps))
        }
        Some("imp") => {
            let model: SubnetModel = text.parse().map_err(|e: BadNet| bad(e.to_string()))?;
            Ok(subnet(text, &model, seed))
        }
        Some("telnet") => {
            let model: TelnetModel = text.parse().map_err(|e: BadWord| bad(e.to_string()))?;
            Ok(Part::quiet(Box::new(TelnetPath::new(&model)), [0; 2], 0))
        }
        None if FLOW_WORDS
            .iter()
            .any(|flow| text.split(',').any(|w| w.trim().starts_with(flow))) =>
        {
            let model: FlowModel = text.parse().map_err(|e: BadLine| bad(e.to_string()))?;
            Ok(flow(&model))
        }
        None => {
            let model: LineModel = text.parse().map_err(|e: BadLine| bad(e.to_string()))?;
            Ok(serial(text, &model, name, seed))
        }
        Some(_) => Err(bad(format!(
            "expected a line such as 9600, an element ({}) or a network ({}), got `{text}`",
            "modem:, pep:, 7171:, telnet:, interference:, imp:, usb:, ble:, lora:",
            NETWORK.map(|kind| format!("{kind}:")).join(", "),
        ))),
    }
}

/// Whether such an element is a network: not `foo:1`, but `foo:1 over path:10M` is, of which the network's
/// parser says more.
fn is_network(kind: &str) -> bool {
    NETWORK.contains(&kind) || kind.contains(' ')
}

/// What a network begins with, if not with a carrier and `over`.
const NETWORK: [&str; 12] = [
    "ethernet", "path", "slotted", "nic", "ring", "trace", "wifi", "slip", "line", "tcp", "sack",
    "quic",
];

/// Words that only a line with flow control has.
const FLOW_WORDS: [&str; 9] =
    ["rtscts", "xonxoff", "none", "reaction", "rxbuf", "high", "low", "fifo", "latency"];

/// What a serial port knows.
fn port(rate_bps: u64) -> LineFacts {
    let rate_bps = u32::try_from(rate_bps).unwrap_or(u32::MAX);
    LineFacts { reliable: Some(false), clear: false, rate_bps, telnet: false }
}

fn millicps(rate_bps: u64, bits: u64) -> Option<u64> {
    (rate_bps * 1000).checked_div(bits).filter(|rate| *rate > 0)
}

fn network(
    spec: &str,
    network: &Network,
    seed: u64,
    hosts: &mut Hosts,
    outside: &Outside,
) -> Result<Part, String> {
    let mut network = if spec.contains("seed=") { network.clone() } else { network.seeded(seed) };
    network.supply(&|name| outside.file(name))?;
    network.capture.clone_from(&outside.capture);
    let reliable = network.tcp.is_some() || network.sack.is_some() || network.quic.is_some();
    if network.tcp.is_some() {
        for (of, host) in network.hosts.iter_mut().zip(hosts.iter_mut()) {
            let Some(host) = host.take() else { continue };
            if *of != HostModel::default() {
                return Err(
                    "expected one machine for each end, got `with host` and a host key".into()
                );
            }
            *of = host;
        }
    }
    let facts = LineFacts { reliable: Some(reliable), clear: reliable, rate_bps: 0, telnet: false };
    let segment = match (&network.tcp, &network.sack) {
        (Some(tcp), _) => Some((tcp.mss_bytes as u64, TCP_HEADERS)),
        (None, Some(sack)) => Some((sack.mss_bytes, sack::AROUND as u64)),
        (None, None) => None,
    };
    let limit_millicps = segment.and_then(|segment| tcp_millicps(&network.links, segment));
    let (element, ports) = (network.build(), [facts; 2]);
    Ok(Part { element, ports, limit_millicps, carrier: Carrier::Network, has_chance: true })
}

/// Headers of TCP and IP [RFC 793, RFC 791].
const TCP_HEADERS: u64 = 40;

/// Maximum rate of TCP over these links, in characters per 1000 s: full segments back to back over the slowest
/// of them, with the headers of TCP and IP and the link's overhead. Cross traffic, and acknowledgements on a
/// shared cable, are not subtracted. `None` if none of them takes any time.
fn tcp_millicps(links: &[Link], (data, headers): (u64, u64)) -> Option<u64> {
    let packet = data + headers;
    let millicps = |rate_bps: u64, bits: u64| {
        let rate = u128::from(rate_bps) * u128::from(data) * 1000 / u128::from(bits.max(1));
        u64::try_from(rate).ok().filter(|rate| *rate > 0)
    };
    let of = |link: &Link| match link {
        Link::Ethernet(model) => {
            millicps(model.rate_bps, EthernetModel::frame_bits(packet) + GAP_BITS)
        }
        Link::Path(model) => millicps(model.rate_from(End::A), (packet + model.overhead_bytes) * 8),
        Link::Ring(model) => millicps(model.rate_bps, (packet + model.overhead_bytes) * 8),
        Link::Slip(model) => {
            let line = data + model.headers.least_bytes();
            let millicps = u128::from(model.line_millicps()?) * u128::from(data);
            u64::try_from(millicps / u128::from(line)).ok()
        }
        Link::Trace(model) => millicps(model.rate_from(End::A), packet * 8),
        Link::Wifi(model) => millicps(model.rate_bps(), packet * 8),
        Link::Slotted(_) | Link::Nic(_) | Link::Line(_) => None,
    };
    links.iter().filter_map(of).min()
}

fn flipped(part: Part) -> Part {
    let [a, b] = part.ports;
    Part { element: Box::new(Flipped(part.element)), ports: [b, a], ..part }
}

fn modem(spec: &str, model: &ModemModel, name: &str, seed: u64) -> Part {
    let own = spec.contains("seed=");
    let model = ModemModel { seed: if own { model.seed } else { seed }, ..model.clone() };
    let noisy = model.burst.is_some() || model.bit_errors != Probability::NEVER;
    let element = Box::new(ModemPair::named(&model, name));
    let carrier = if model.has_frames() { Carrier::Frames } else { Carrier::Even };
    let limit_millicps = Some(model.limit_millicps(End::A));
    let part = Part::quiet(element, model.dte_bps, 0);
    Part { limit_millicps, carrier, has_chance: noisy && !own, ..part }
}

fn pep(spec: &str, model: &PepModel, name: &str, seed: u64) -> Part {
    let own = spec.contains("seed=");
    let model = PepModel { seed: if own { model.seed } else { seed }, ..model.clone() };
    let noisy = model.bit_errors != Probability::NEVER;
    let part = Part::quiet(Box::new(PepPair::named(&model, name)), model.dte_bps, 0);
    Part { limit_millicps: Some(model.limit_millicps()), has_chance: noisy && !own, ..part }
}

fn subnet(spec: &str, model: &SubnetModel, seed: u64) -> Part {
    let own = spec.contains("seed=");
    let model = SubnetModel { seed: if own { model.seed } else { seed }, ..model.clone() };
    let part = Part::quiet(Box::new(Subnet::new(&model)), [0; 2], 0);
    Part {
        limit_millicps: model.limit_millicps(),
        carrier: Carrier::Network,
        has_chance: model.damage != Probability::NEVER && !own,
        ..part
    }
}

fn interference(spec: &str, model: InterferenceModel, name: &str, seed: u64) -> Part {
    let own = spec.contains("seed=");
    let model = InterferenceModel { seed: if own { model.seed } else { seed }, ..model };
    let element = Box::new(Interference::named(&model, name));
    Part { has_chance: !own, ..Part::quiet(element, [model.rate_bps; 2], 0) }
}

fn flow(model: &FlowModel) -> Part {
    let part = Part::quiet(Box::new(FlowLine::new(model)), [model.rate_bps; 2], 0);
    Part { limit_millicps: millicps(model.rate_bps, u64::from(model.bits)), ..part }
}

fn serial(spec: &str, model: &LineModel, name: &str, seed: u64) -> Part {
    let own = spec.split(',').any(|word| word.trim().starts_with("seed"));
    let model = LineModel { seed: if own { model.seed } else { seed }, ..model.clone() };
    let chances = [model.bit_errors, model.drop, model.duplicate];
    let noisy = model.burst.is_some() || chances.iter().any(|c| *c != Probability::NEVER);
    Part {
        element: Box::new(Serial::named(&model, name)),
        ports: End::BOTH.map(|end| port(model.port_rate(end).into())),
        limit_millicps: millicps(model.rate_from(End::A), u64::from(model.bits)),
        carrier: Carrier::Even,
        has_chance: noisy && !own,
    }
}

/// Builds all these descriptions in series from A to B, between these hosts.
///
/// `unit` is the required kind. An element that carries datagrams stands alone: several of them in series are
/// one network.
pub fn stretch(
    specs: &[String],
    seed: u64,
    hosts: &Hosts,
    unit: Unit,
    outside: &Outside,
) -> Result<Stretch, BadElement> {
    let mut hosts = *hosts;
    let bad = |spec: &str, message: &str| BadElement {
        spec: spec.to_owned(),
        message: message.to_owned(),
    };
    if specs.is_empty() {
        return Err(bad("", "expected at least one element"));
    }
    let mut row = Vec::new();
    for (index, spec) in specs.iter().enumerate() {
        let name = if index == 0 { "line".to_owned() } else { format!("line {}", index + 1) };
        let part = part(spec, &name, seed, &mut hosts, outside)?;
        match (unit, part.element.unit()) {
            (Unit::Bytes, Unit::Datagrams) => {
                return Err(bad(spec, "expected an element that carries bytes, got datagrams"));
            }
            (Unit::Datagrams, Unit::Bytes) => {
                let say = "expected a network of packets such as udp over path:10M, got bytes";
                return Err(bad(spec, say));
            }
            (Unit::Datagrams, Unit::Datagrams) if specs.len() > 1 => {
                return Err(bad(spec, "expected one network, its links joined with ` + `"));
            }
            _ => {}
        }
        row.push(part);
    }
    let ports = [row[0].ports[0], row[row.len() - 1].ports[1]];
    let has_chance = row.iter().any(|part| part.has_chance);
    let limit_millicps = row.iter().filter_map(|part| part.limit_millicps).min();
    let carrier = row.iter().map(|part| part.carrier).max().unwrap_or_default();
    let mut elements: Vec<Box<dyn Element>> = row.into_iter().map(|part| part.element).collect();
    let mut element =
        if elements.len() == 1 { elements.remove(0) } else { Box::new(Chain::new(elements)) };
    // A network is tapped inside, where its packets are.
    if let Some(capture) = &outside.capture
        && unit == Unit::Bytes
        && carrier != Carrier::Network
    {
        capture.set_medium(Medium::Serial);
        element = Box::new(Tap::new(element, capture.clone()));
    }
    if let Some(capture) = &outside.programs {
        capture.set_medium(if unit == Unit::Bytes { Medium::Serial } else { Medium::Bare });
        element = Box::new(Tap::new(element, capture.clone()));
    }
    let hosts = hosts.map(Option::unwrap_or_default);
    if hosts != [HostModel::default(); 2] {
        element = Box::new(Hosted::new(element, &hosts));
    }
    Ok(Stretch { element, ports, limit_millicps, carrier, has_chance })
}
