//! The two engines of a scenario, and their configurations by setting name.

use crate::compressor;
use crate::element::End;
use crate::imp::{Messages, Processes};
use wetstring_proto::settings::{BadSetting, Setting, Settings as _};
use wetstring_proto::{Engine, LineFacts, kermit, netblt, zmodem};
use wetstring_protocols::{self as protocols, Protocol};

/// The configurations of the two ends.
#[derive(Clone, Debug)]
pub(crate) struct Ends {
    /// Prefix of the settings' names.
    prefix: &'static str,
    configs: [Config; 2],
    /// No engine runs, but this comparator: there are no settings.
    idle: Option<&'static str>,
}

#[derive(Clone, Debug)]
enum Config {
    /// Of a protocol of the list.
    Engine(Box<dyn protocols::Config>),
    Ncp(Box<Processes>),
    Messages(Messages),
}

/// The name of the protocol of datagrams.
pub(super) const NETBLT: &str = "netblt";
/// The name of that between hosts of the ARPANET.
pub(super) const NCP: &str = "ncp";
/// The settings by which an end compresses.
const COMPRESS: [&str; 2] = ["kermit.compress", "zmodem.compress"];
/// The name of bare messages between them.
pub(super) const MESSAGES: &str = "messages";

/// The sender opens for WRITE, and the receiver listens at the port that it calls. Ports and identity are
/// fixed: in the laboratory they need not be unpredictable.
fn netblt_config(end: End) -> netblt::Config {
    let usual = netblt::Config::default();
    match end {
        End::A => usual,
        End::B => {
            netblt::Config { role: netblt::Role::Passive, local_port: usual.foreign_port, ..usual }
        }
    }
}

impl Ends {
    /// The defaults at ports with these properties.
    pub(crate) fn new(protocol: Protocol, ports: [LineFacts; 2]) -> Self {
        let configs = ports.map(|line| {
            let mut config = protocol.config();
            config.on_line(line);
            Config::Engine(config)
        });
        Self { prefix: protocol.family().prefix(), configs, idle: None }
    }

    /// The defaults of NETBLT, which knows nothing of a line.
    pub(crate) fn netblt() -> Self {
        let config = |end| Config::Engine(Box::new(netblt_config(end)));
        Self { prefix: NETBLT, configs: End::BOTH.map(config), idle: None }
    }

    /// The defaults of hosts of the ARPANET.
    pub(crate) fn ncp() -> Self {
        let config = |_| Config::Ncp(Box::default());
        Self { prefix: NCP, configs: End::BOTH.map(config), idle: None }
    }

    /// The defaults of bare messages.
    pub(crate) fn messages() -> Self {
        let config = |_| Config::Messages(Messages::default());
        Self { prefix: MESSAGES, configs: End::BOTH.map(config), idle: None }
    }

    /// Bare messages, if that is what is sent.
    pub(super) fn bare(&self) -> Option<Messages> {
        match &self.configs[End::A.index()] {
            Config::Messages(messages) => Some(*messages),
            _ => None,
        }
    }

    /// The hosts of the ARPANET, if that is what the ends are.
    pub(super) fn processes(&self) -> Option<[Processes; 2]> {
        match &self.configs {
            [Config::Ncp(a), Config::Ncp(b)] => Some([(**a).clone(), (**b).clone()]),
            _ => None,
        }
    }

    /// Kermit's configurations, if that is what both ends speak.
    pub(super) fn kermit(&self) -> Option<[kermit::Config; 2]> {
        let of = |config: &Config| match config {
            Config::Engine(config) => config.as_any().downcast_ref::<kermit::Config>().cloned(),
            Config::Ncp(_) | Config::Messages(_) => None,
        };
        Some([of(&self.configs[0])?, of(&self.configs[1])?])
    }

    /// Ends without settings, for a comparator of this name.
    pub(crate) fn idle(name: &'static str, ports: [LineFacts; 2]) -> Self {
        Self { idle: Some(name), ..Self::new(Protocol::default(), ports) }
    }

    /// Sets a setting of an end, by its name without the protocol.
    pub(crate) fn set(&mut self, end: End, key: &str, value: &str) -> Result<(), String> {
        if let Some(name) = self.idle {
            return Err(format!("unknown setting, expected host: {name} has no others"));
        }
        let name = format!("{}.{key}", self.prefix);
        if COMPRESS.contains(&&*name) {
            self.compresses(end);
        }
        let (done, rows) = match &mut self.configs[end.index()] {
            Config::Engine(config) => (config.set(&name, value), config.table()),
            Config::Ncp(config) => (config.set(&name, value), Processes::table()),
            Config::Messages(config) => (config.set(&name, value), Messages::table()),
        };
        done.map_err(|bad| match bad {
            BadSetting::Unknown => {
                let key = |row: &Setting| row.name.split_once('.').map_or(row.name, |(_, key)| key);
                let names: Vec<&str> = rows.iter().map(key).collect();
                format!("unknown setting, expected host or one of {}", names.join(", "))
            }
            BadSetting::Value(_) => format!("{bad}, got {value}"),
        })
    }

    /// An end can compress where a scenario says so. Else nothing is compressed here: published times are of the
    /// bytes that were sent, and a pattern in place of a file shrinks as no file does.
    fn compresses(&mut self, end: End) {
        let Config::Engine(config) = &mut self.configs[end.index()] else { return };
        let config = config.as_any_mut();
        if let Some(config) = config.downcast_mut::<kermit::Config>() {
            config.compressor = compressor::IS_BUILT;
        } else if let Some(config) = config.downcast_mut::<zmodem::Config>() {
            config.compressor = compressor::IS_BUILT;
        }
    }

    /// The stores can look for blocks of a file in an older version; false if the protocol never asks them.
    pub(crate) fn find_blocks(&mut self) -> bool {
        End::BOTH
            .into_iter()
            .all(|end| self.kermit_at(end).map(|config| config.finds_blocks = true).is_some())
    }

    fn kermit_at(&mut self, end: End) -> Option<&mut kermit::Config> {
        match &mut self.configs[end.index()] {
            Config::Engine(config) => config.as_any_mut().downcast_mut(),
            Config::Ncp(_) | Config::Messages(_) => None,
        }
    }

    /// The engine that sends, at end A.
    pub(crate) fn sender(&self) -> Box<dyn Engine> {
        self.engine(End::A).sender()
    }

    /// The engine that receives, at end B.
    pub(crate) fn receiver(&self) -> Box<dyn Engine> {
        self.engine(End::B).receiver()
    }

    fn engine(&self, end: End) -> &dyn protocols::Config {
        match &self.configs[end.index()] {
            Config::Engine(config) => &**config,
            Config::Ncp(_) | Config::Messages(_) => {
                unreachable!("hosts of the ARPANET are run by their NCPs")
            }
        }
    }
}
