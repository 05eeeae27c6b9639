//! A scenario: one transfer in the laboratory, described completely by a TOML file.
//!
//! ```toml
//! protocol = "kermit"                        # kermit, xymodem's variants, zmodem
//! line = ["9600,delay=250ms,burst=8@2s"]     # what lies between, from the sender to the receiver
//! seed = 1                                   # where all chance comes from
//!
//! [file]
//! corpus = "dos-exe"                         # see `corpus`; or made = "random", or path = "FILE"
//!
//! [both]                                     # settings of both ends, by the names of `wst show`
//! window = 5
//!
//! [receiver]                                 # of this end only; host = what the machine costs
//! host = "write=13ms"
//! ```
//!
//! | key | meaning | default |
//! |---|---|---|
//! | `protocol` | `kermit`, `xmodem`, `xmodem-crc`, `xmodem-1k`, `ymodem`, `ymodem-g`, `zmodem`, `uucp-g`, `netblt`, `ncp` and bare `messages` (over `imp:`); `ftp` and the other comparators: `tcp-reno`, `tcp-cubic`, these two with `-v2`, `quic-reno`, `quic-cubic`, `quic-bbr` | `kermit` |
//! | `line` | one element's description or a list of them, see [`elements`] | must be given |
//! | `seed` | seed of the elements that name none of their own | 1 |
//! | `port` | bytes that a port takes or gives at a time | 64 |
//! | `file.corpus`, `file.made`, `file.path` | content: see [`crate::corpus`]; `random`, `zeros`, `text`, `ramp`, `runs`, or `pattern`, which is kept nowhere and may have any length; a file | `made = "random"` |
//! | `file.bytes` | length: the content is cut or repeated | the corpus's or file's own; 131072 |
//! | `file.seed` | seed of made content | 1 |
//! | `file.name` | name on the wire | by the content |
//! | `file.text` | sent as lines of text | `false` |
//! | `file.old` | the receiver has an older version, in which `changed` places are other bytes, together `share` of its length: `old = { changed = 40, share = 0.02 }`; Kermit sends the difference, with `both.bundle = "on"` and unless `difference` is off, other protocols the whole file | none |
//! | `both`, `sender`, `receiver` | settings of the ends without the protocol's name in front, and `host`: see [`crate::host`] | the defaults; machines that cost nothing |
//! | `measure` | throughput is that between two moments, and the run ends with the second: the first is `from-ms` and `from-rtts` (round trips of the line) after the beginning, the second `ms` or `rtts` later, or as much later as the path takes for this many `bytes`, whichever is most; `sending = true`: while the sender sends what it has not sent before (of `ncp`, from when a file's connection is there to when the file is), and the run continues to its end | the whole transfer |
//! | `typing.every`, `typing.from` | interactive traffic from this end (`sender`, `receiver`) while the file is transferred, one character per interval, each echoed: of `ftp` over `slip:` and of `ncp`, see [`crate::slip::typing`] | none; `1s`, `sender` |
//! | `limits.time`, `limits.events` | where a run is stopped, seconds and events | a day, 100 million |
//!
//! Values in a file can be overridden piece by piece: a [`Layer`] is any part of the above, and a scenario is
//! resolved from layers of which later ones take precedence. `--set` and the published tables use this.
//! Everything is checked before anything runs, and an error names the file, the line and the key.

mod built_in;
mod comparator;
pub mod elements;
mod ends;
mod error;
mod file;
mod flip;
mod ftp;
mod layer;
mod messages;
mod ncp;
mod row;
mod run;
mod same;
mod session;
mod slip;
mod summary;

pub use built_in::{named, names};
pub use comparator::Comparator;
pub use elements::{BadElement, Carrier, Outside, Stretch};
pub use error::BadScenario;
use layer::Measure;
pub use layer::{Layer, Partial};
pub use run::{Ending, Outcome};
pub use wetstring_protocols::Protocol;

use crate::capture::Capture;
use crate::element::{Element, End, Unit};
use crate::host::HostModel;
use crate::net::Network;
use crate::slip::TypingModel;
use crate::store::MemoryFile;
use crate::window::Window;
use ends::{Ends, MESSAGES, NCP, NETBLT};
use std::sync::Arc;
use wetstring_proto::file::FileKind;
use wetstring_proto::kermit;
use wetstring_proto::{Duration, LineFacts};

/// Returns the content of a file by the path in a scenario, or an error.
pub type Load<'a> = &'a dyn Fn(&str) -> Result<Vec<u8>, String>;

/// A [`Load`] without files.
pub fn no_files(path: &str) -> Result<Vec<u8>, String> {
    Err(format!("expected a corpus or made content here, got the path {path}"))
}

/// One transfer, checked and ready to run.
#[derive(Clone, Debug)]
pub struct Scenario {
    protocol: Protocol,
    /// The file is transferred by something other than a byte protocol.
    other: Option<Other>,
    /// When throughput is measured.
    window: Option<Window>,
    /// A SLIP line with TCP over it, which `ftp` runs as a whole.
    slip: Option<Box<Network>>,
    /// Interactive traffic.
    typing: Option<TypingModel>,
    /// Throughput is that of the sender, while it sends new data.
    sending: bool,
    file: MemoryFile,
    /// The file has this length, and its content is a function of the offset.
    pattern: Option<u64>,
    /// What the receiver has in place of the file.
    older: Option<Arc<[u8]>>,
    line: Vec<String>,
    /// The files that the line names, and a record of what passes its ends.
    outside: Outside,
    ends: Ends,
    hosts: [Option<HostModel>; 2],
    seed: u64,
    port_bytes: usize,
    time_limit: Duration,
    event_limit: u64,
    /// What the direction of the data can carry, in characters per 1000 s.
    limit_millicps: Option<u64>,
    /// What carries the bytes of the ports.
    carrier: Carrier,
    /// Another seed gives another run.
    has_chance: bool,
}

/// A line of a scenario without its file.
pub struct Stage {
    /// The elements.
    pub element: Box<dyn Element>,
    /// Kermit at end A and at end B.
    pub configs: [kermit::Config; 2],
    /// Bytes that a port accepts or delivers at a time.
    pub port_bytes: usize,
}

impl std::fmt::Debug for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stage").field("port_bytes", &self.port_bytes).finish_non_exhaustive()
    }
}

/// Transports besides the byte protocols.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Other {
    /// NETBLT, over a network of packets.
    Netblt,
    /// Hosts of the ARPANET, over its subnet.
    Ncp,
    /// Bare messages, over the same.
    Messages,
    /// The data connection of FTP, over a line that carries bytes, without an engine.
    Ftp,
    /// A transport over a network of packets, without an engine.
    Transport(Comparator),
}

impl Other {
    fn of(name: &str) -> Option<Self> {
        match name {
            FTP => Some(Self::Ftp),
            NETBLT => Some(Self::Netblt),
            NCP => Some(Self::Ncp),
            MESSAGES => Some(Self::Messages),
            _ => Comparator::of(name).map(Self::Transport),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Ftp => FTP,
            Self::Netblt => NETBLT,
            Self::Ncp => NCP,
            Self::Messages => MESSAGES,
            Self::Transport(comparator) => comparator.name(),
        }
    }

    /// Whether bytes are transferred without an engine, see [`crate::tcp::Bulk`].
    fn is_bare(self) -> bool {
        !matches!(self, Self::Netblt | Self::Ncp | Self::Messages)
    }

    /// The required kind of element.
    fn unit(self) -> Unit {
        if self.is_bare() { Unit::Bytes } else { Unit::Datagrams }
    }
}

/// What `protocol` says for the data connection of FTP as comparator.
const FTP: &str = "ftp";

impl Scenario {
    /// Parses a scenario from the text of a file of this name.
    pub fn parse(name: &str, text: &str, load: Load<'_>) -> Result<Self, BadScenario> {
        Self::parse_with(name, text, &[], load)
    }

    /// Reads a scenario and overrides keys of it: `settings` are `KEY=VALUE`, as in
    /// `both.window=5` or `seed=7`; a value that is no TOML value is taken as text.
    pub fn parse_with(
        name: &str,
        text: &str,
        settings: &[String],
        load: Load<'_>,
    ) -> Result<Self, BadScenario> {
        let mut layers = vec![Layer::parse(name, text)?];
        for setting in settings {
            layers.push(Layer::assignment(setting)?);
        }
        Self::resolve(&layers.iter().collect::<Vec<_>>(), load)
    }

    /// Resolves layers, of which later ones take precedence.
    pub fn resolve(layers: &[&Layer], load: Load<'_>) -> Result<Self, BadScenario> {
        let find = Finder(layers);
        let (protocol, other) = find.protocol()?;
        let seed = find.last(|part| part.seed.as_ref()).map_or(1, |(_, seed)| *seed.get_ref());
        let Some((line_layer, line)) = find.last(|part| part.line.as_ref()) else {
            let layer = layers.first().map_or("scenario", |layer| layer.name());
            return Err(BadScenario::missing(layer, "line", "expected a line, such as \"9600\""));
        };
        let bad_line = |say: String| line_layer.bad(line, "line", say);
        let bad_element = |bad: BadElement| bad_line(bad.to_string());
        let mut specs = line.get_ref().specs();
        if let Some((spec, say)) = row::misfit(&specs) {
            return Err(bad_line(format!("`{spec}`: {say}")));
        }
        if has_imps(&specs) != matches!(other, Some(Other::Ncp | Other::Messages)) {
            let say = "expected a subnet such as imp:1 for the protocols ncp and messages, and for no other";
            return Err(bad_line(say.to_owned()));
        }
        let outside = Outside::read(&specs, load).map_err(bad_element)?;
        let network = network_of(&specs, &outside);
        if let (Some(Other::Transport(comparator)), [spec]) = (other, &mut specs[..]) {
            *spec = comparator.over(spec, &outside).map_err(bad_line)?;
        }
        let mut hosts = [None; 2];
        layers.iter().try_for_each(|layer| layer.find_hosts(&mut hosts))?;
        let unit = other.map_or(Unit::Bytes, Other::unit);
        let stretch = elements::stretch(&specs, seed, &hosts, unit, &outside);
        let stretch = stretch.map_err(bad_element)?;
        let mut ends = usual_ends(protocol, other, &stretch);
        for layer in layers {
            layer.apply_ends(&mut ends)?;
        }
        let port = find.last(|part| part.port.as_ref()).map_or(64, |(_, port)| *port.get_ref());
        let limits = |pick: fn(&layer::Limits) -> Option<u64>| {
            find.last(|part| part.limits.as_ref().and_then(pick)).map(|(_, limit)| limit)
        };
        let (file, pattern) = find.file(load)?;
        let older = find.older(&file, pattern.is_some() || other.is_some())?;
        let older = older.filter(|_| ends.find_blocks());
        let slip =
            network.clone().filter(|of| other == Some(Other::Ftp) && is_slip(of)).map(Box::new);
        let typing = find.typing(slip.is_some() || other == Some(Other::Ncp))?;
        let network =
            network.filter(|_| matches!(other, Some(Other::Transport(_) | Other::Netblt)));
        Ok(Self {
            protocol,
            other,
            window: find.window(network.as_ref())?,
            slip,
            typing,
            sending: find.last(|part| part.measure.as_ref()).is_some_and(|m| m.1.get_ref().sending),
            file,
            pattern,
            older,
            line: specs,
            outside,
            ends,
            hosts,
            seed,
            port_bytes: usize::from(port).max(1),
            time_limit: Duration::from_secs(limits(|l| l.time).unwrap_or(86_400)),
            event_limit: limits(|l| l.events).unwrap_or(100_000_000),
            limit_millicps: match &network {
                Some(network) => comparator::limit_millicps(network),
                None => stretch.limit_millicps,
            },
            carrier: stretch.carrier,
            has_chance: stretch.has_chance,
        })
    }

    /// The same with another seed.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The same with a record of what passes the ends of its line.
    #[must_use]
    pub fn with_capture(mut self, capture: &Capture) -> Self {
        self.outside.capture = Some(capture.clone());
        self
    }

    /// The same with a record of what the programs at both ends give and get, whatever is between them.
    #[must_use]
    pub fn with_programs(mut self, capture: &Capture) -> Self {
        self.outside.programs = Some(capture.clone());
        self
    }

    /// Sets a setting of an end, by its name without the protocol, or returns an error.
    pub fn set(&mut self, end: End, key: &str, value: &str) -> Result<(), String> {
        self.ends.set(end, key, value)
    }

    /// What lies between the ends, and how each of them is configured, for Kermit engines that the caller runs, such
    /// as a script with its own files. `None` for another protocol.
    pub fn stage(&self) -> Option<Stage> {
        let configs = self.ends.kermit().filter(|_| self.other.is_none())?;
        let stretch = self.stretch(Unit::Bytes);
        let element = stretch.expect("elements that were checked when it was read").element;
        Some(Stage { element, configs, port_bytes: self.port_bytes })
    }

    /// The elements of the line with the scenario's seed.
    fn stretch(&self, unit: Unit) -> Result<Stretch, BadElement> {
        elements::stretch(&self.line, self.seed, &self.hosts, unit, &self.outside)
    }

    /// The name of what moves the file: a protocol's, or a comparator's.
    pub fn protocol_name(&self) -> &'static str {
        self.other.map_or(self.protocol.name, Other::name)
    }

    /// The protocol of bytes; of no meaning for NETBLT and comparators.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// The descriptions of the elements, from the sender to the receiver.
    pub fn line(&self) -> &[String] {
        &self.line
    }

    /// The file that is moved; without its content where that is a pattern.
    pub fn file(&self) -> &MemoryFile {
        &self.file
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// What the direction of the data can carry in characters per second, in thousandths; `None`
    /// if the line takes no time.
    pub fn limit_millicps(&self) -> Option<u64> {
        self.limit_millicps
    }

    /// What the ports at both ends of its line know.
    pub fn ports(&self) -> Option<[LineFacts; 2]> {
        Some(self.stretch(self.unit()).ok()?.ports)
    }

    /// The protocols with engines at both ends, by name.
    pub fn protocols() -> impl Iterator<Item = &'static str> {
        Protocol::of_bytes().map(|protocol| protocol.name).chain([NETBLT, NCP])
    }

    /// What carries the bytes of the ports.
    pub fn carrier(&self) -> Carrier {
        self.carrier
    }

    /// Whether this is the name of a comparator: FTP or another that moves bytes without an engine
    /// of ours.
    pub fn is_comparator(protocol: &str) -> bool {
        protocol == FTP || Comparator::of(protocol).is_some()
    }

    /// Whether another seed gives another run.
    pub fn has_chance(&self) -> bool {
        self.has_chance
    }

    /// File bytes as a receiver on a system with CR LF line ends counts them: a line feed of a
    /// text is two.
    pub fn counted_bytes(&self) -> u64 {
        if let Some(len) = self.pattern {
            return len;
        }
        let bytes = &self.file.bytes;
        let lines = match self.file.kind {
            FileKind::Text => bytes.split(|byte| *byte == b'\n').count() - 1,
            FileKind::Binary => 0,
        };
        (bytes.len() + lines) as u64
    }
}

/// Looks up values in layers, the last one first.
struct Finder<'a>(&'a [&'a Layer]);

impl<'a> Finder<'a> {
    fn last<T>(&self, pick: impl Fn(&'a Partial) -> Option<T>) -> Option<(&'a Layer, T)> {
        self.0.iter().rev().find_map(|layer| Some((*layer, pick(layer.partial())?)))
    }

    /// The protocol and, if it is none of bytes, what moves the file instead.
    fn protocol(&self) -> Result<(Protocol, Option<Other>), BadScenario> {
        let Some((layer, value)) = self.last(|part| part.protocol.as_ref()) else {
            return Ok((Protocol::default(), None));
        };
        // No protocol of bytes moves it, but the scenario has to name one.
        if let Some(other) = Other::of(value.get_ref()) {
            return Ok((Protocol::default(), Some(other)));
        }
        let protocol = Protocol::of_bytes_by(value.get_ref()).map_err(|names| {
            let others = Comparator::NAMES.join(", ");
            layer.bad(
                value,
                "protocol",
                format!("expected one of {names}, {NETBLT}, {NCP}, {MESSAGES}, {FTP}, {others}"),
            )
        })?;
        Ok((protocol, None))
    }

    /// When throughput is measured, on a line that is this network.
    fn window(&self, network: Option<&Network>) -> Result<Option<Window>, BadScenario> {
        let Some((layer, value)) = self.last(|part| part.measure.as_ref()) else {
            return Ok(None);
        };
        let measure = value.get_ref();
        if measure.sending {
            let alone = Measure { sending: true, ..Measure::default() };
            let say = "expected nothing beside sending".to_owned();
            return if *measure == alone {
                Ok(None)
            } else {
                Err(layer.bad(value, "measure", say))
            };
        }
        let round_trip = network.map(comparator::round_trip);
        if measure.from_rtts + measure.rtts > 0 && round_trip.is_none() {
            let say = "expected from-ms and ms: this line has no round trip that is known";
            return Err(layer.bad(value, "measure", say.to_owned()));
        }
        let round_trip = round_trip.unwrap_or_default();
        let from = Duration::from_millis(measure.from_ms) + round_trip * measure.from_rtts;
        let limit = network.and_then(comparator::limit_millicps);
        if measure.bytes > 0 && limit.is_none() {
            let say = "expected ms or rtts: what this line carries is not known";
            return Err(layer.bad(value, "measure", say.to_owned()));
        }
        let carried = limit.map_or(0, |limit| {
            u128::from(measure.bytes) * 1_000_000_000_000 / u128::from(limit.max(1))
        });
        let carried = Duration::from_nanos(u64::try_from(carried).unwrap_or(u64::MAX));
        let len = Duration::from_millis(measure.ms).max(round_trip * measure.rtts).max(carried);
        if len.is_zero() {
            let say = "expected how long to measure, ms, rtts or bytes";
            return Err(layer.bad(value, "measure", say.to_owned()));
        }
        Ok(Some(Window { from, to: from + len }))
    }

    /// Interactive traffic, on a line that supports it.
    fn typing(&self, possible: bool) -> Result<Option<TypingModel>, BadScenario> {
        let Some((layer, value)) = self.last(|part| part.typing.as_ref()) else { return Ok(None) };
        let bad = |say: String| layer.bad(value, "typing", say);
        if !possible {
            let say = "expected protocol = \"ftp\" over a line such as \
                       \"tcp:mss=256 over slip:vj over 9600\", or \"ncp\" over imp:, for interactive traffic";
            return Err(bad(say.to_owned()));
        }
        let word = |pick: fn(&layer::Typing) -> Option<&String>, usual: &'static str| {
            let found = self.last(|part| part.typing.as_ref().and_then(|v| pick(v.get_ref())));
            found.map_or(usual, |(_, word)| word.as_str()).to_owned()
        };
        let every = word(|typing| typing.every.as_ref(), "1s");
        let from = word(|typing| typing.from.as_ref(), "sender");
        TypingModel::of(&every, &from).map(Some).map_err(bad)
    }
}

/// The ends with their default settings for this line.
fn usual_ends(protocol: Protocol, other: Option<Other>, stretch: &Stretch) -> Ends {
    match other {
        Some(Other::Netblt) => Ends::netblt(),
        Some(Other::Ncp) => Ends::ncp(),
        Some(Other::Messages) => Ends::messages(),
        Some(bare) => Ends::idle(bare.name(), stretch.ports),
        None => Ends::new(protocol, stretch.ports),
    }
}

/// Whether the line is the ARPANET's subnet.
fn has_imps(specs: &[String]) -> bool {
    specs.iter().any(|spec| spec.trim().starts_with("imp:"))
}

/// The line as a network of packets, if it is one.
fn network_of(specs: &[String], outside: &Outside) -> Option<Network> {
    let [spec] = specs else { return None };
    let mut network: Network = spec.parse().ok()?;
    network.supply(&|name| outside.file(name)).ok()?;
    let line = network.links.iter().any(|link| matches!(link, crate::net::Link::Line(_)));
    (!line).then_some(network)
}

/// Whether this is TCP over one SLIP line and nothing else.
fn is_slip(network: &Network) -> bool {
    network.tcp.is_some() && matches!(network.links[..], [crate::net::Link::Slip(_)])
}
