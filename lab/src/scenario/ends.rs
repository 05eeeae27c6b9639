//! The two engines of a scenario, and their configurations by the names of the settings.

use crate::element::End;
use crate::imp::{Messages, Processes};
use wetstring_proto::settings::{BadSetting, Settings};
use wetstring_proto::xymodem::Variant;
use wetstring_proto::{Engine, LineFacts, kermit, netblt, uucp, xymodem, zmodem};

/// A protocol that moves files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// Kermit.
    Kermit,
    /// XMODEM or YMODEM, and which.
    Xymodem(Variant),
    /// ZMODEM.
    Zmodem,
    /// UUCP with the protocol `g`.
    Uucp,
}

impl Protocol {
    /// The names that [`Protocol::of`] knows; `wst -P` takes the same.
    pub const NAMES: [&str; 8] =
        ["kermit", "xmodem", "xmodem-crc", "xmodem-1k", "ymodem", "ymodem-g", "zmodem", "uucp-g"];

    /// The protocol of this name.
    pub fn of(name: &str) -> Option<Self> {
        Some(match name {
            "kermit" => Self::Kermit,
            "xmodem" => Self::Xymodem(Variant::Xmodem),
            "xmodem-crc" => Self::Xymodem(Variant::XmodemCrc),
            "xmodem-1k" => Self::Xymodem(Variant::Xmodem1k),
            "ymodem" => Self::Xymodem(Variant::Ymodem),
            "ymodem-g" => Self::Xymodem(Variant::YmodemG),
            "zmodem" => Self::Zmodem,
            "uucp-g" => Self::Uucp,
            _ => return None,
        })
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        let same = |name: &&&str| Self::of(name) == Some(self);
        Self::NAMES.iter().find(same).copied().unwrap_or_default()
    }

    /// Whether it tells nothing of a file's length, so that padding stays at its end.
    pub fn pads(self) -> bool {
        matches!(self, Self::Xymodem(variant) if !variant.is_batch())
    }

    /// What stands in front of its settings' names.
    pub(crate) const fn prefix(self) -> &'static str {
        match self {
            Self::Kermit => "kermit",
            Self::Xymodem(_) => "xymodem",
            Self::Zmodem => "zmodem",
            Self::Uucp => "uucp",
        }
    }
}

/// The configurations of the two ends.
#[derive(Clone, Debug)]
pub(crate) struct Ends {
    /// What stands in front of the names of the settings.
    prefix: &'static str,
    configs: [Config; 2],
    /// No engine runs, but this: there is nothing to set.
    idle: Option<&'static str>,
}

#[derive(Clone, Debug)]
enum Config {
    Kermit(Box<kermit::Config>),
    Xymodem(xymodem::Config),
    Zmodem(Box<zmodem::Config>),
    Uucp(Box<uucp::Config>),
    Netblt(Box<netblt::Config>),
    Ncp(Box<Processes>),
    Messages(Messages),
}

/// The name of the protocol of datagrams.
pub(super) const NETBLT: &str = "netblt";
/// The name of that between hosts of the ARPANET.
pub(super) const NCP: &str = "ncp";
/// The name of bare messages between them.
pub(super) const MESSAGES: &str = "messages";

/// The sender opens for WRITE, and the receiver waits at the port that it calls. Ports and identity
/// are the usual ones: in the laboratory nobody has to guess them.
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
    /// The defaults at ports of which this is known.
    pub(crate) fn new(protocol: Protocol, ports: [LineFacts; 2]) -> Self {
        let configs = ports.map(|line| match protocol {
            Protocol::Kermit => {
                Config::Kermit(Box::new(kermit::Config { line, ..kermit::Config::default() }))
            }
            Protocol::Xymodem(variant) => {
                Config::Xymodem(xymodem::Config { line, variant, ..xymodem::Config::default() })
            }
            Protocol::Zmodem => {
                Config::Zmodem(Box::new(zmodem::Config { line, ..zmodem::Config::default() }))
            }
            Protocol::Uucp => {
                Config::Uucp(Box::new(uucp::Config { line, ..uucp::Config::default() }))
            }
        });
        Self { prefix: protocol.prefix(), configs, idle: None }
    }

    /// The defaults of NETBLT, which knows nothing of a line.
    pub(crate) fn netblt() -> Self {
        let config = |end| Config::Netblt(Box::new(netblt_config(end)));
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
        match &self.configs {
            [Config::Kermit(a), Config::Kermit(b)] => Some([(**a).clone(), (**b).clone()]),
            _ => None,
        }
    }

    /// Ends that nothing can be set of, for a comparator of this name.
    pub(crate) fn idle(name: &'static str, ports: [LineFacts; 2]) -> Self {
        Self { idle: Some(name), ..Self::new(Protocol::Kermit, ports) }
    }

    /// Sets one of the settings of an end, by its name without the protocol in front.
    pub(crate) fn set(&mut self, end: End, key: &str, value: &str) -> Result<(), String> {
        if let Some(name) = self.idle {
            return Err(format!("unknown setting, expected host: {name} has no others"));
        }
        let name = format!("{}.{key}", self.prefix);
        let config: &mut dyn SetByName = match &mut self.configs[end.index()] {
            Config::Kermit(config) => &mut **config,
            Config::Xymodem(config) => config,
            Config::Zmodem(config) => &mut **config,
            Config::Uucp(config) => &mut **config,
            Config::Netblt(config) => &mut **config,
            Config::Ncp(config) => &mut **config,
            Config::Messages(config) => config,
        };
        config.set_by_name(&name, value).map_err(|bad| match bad {
            BadSetting::Unknown => {
                let rows = config.rows();
                let key = |row: &&'static str| row.split_once('.').map_or(*row, |(_, key)| key);
                let names: Vec<&str> = rows.iter().map(key).collect();
                format!("unknown setting, expected host or one of {}", names.join(", "))
            }
            BadSetting::Value(_) => format!("{bad}, got {value}"),
        })
    }

    /// The engine that sends, at end A.
    pub(crate) fn sender(&self) -> Box<dyn Engine> {
        // The memory is what the configuration asks for, so it is never too small.
        match self.configs[End::A.index()].clone() {
            Config::Kermit(config) => {
                let memory = vec![0; config.sender_memory()];
                Box::new(kermit::Sender::new(*config, memory).expect("memory as asked for"))
            }
            Config::Xymodem(config) => {
                let memory = vec![0; config.sender_memory()];
                Box::new(xymodem::Sender::new(config, memory).expect("memory as asked for"))
            }
            Config::Zmodem(config) => {
                let memory = vec![0; config.sender_memory()];
                Box::new(zmodem::Sender::new(*config, memory).expect("memory as asked for"))
            }
            Config::Uucp(config) => {
                let memory = vec![0; config.sender_memory()];
                Box::new(uucp::Sender::new(*config, memory).expect("memory as asked for"))
            }
            Config::Netblt(config) => {
                let memory = vec![0; config.sender_memory()];
                Box::new(netblt::Sender::new(*config, memory).expect("memory as asked for"))
            }
            Config::Ncp(_) | Config::Messages(_) => {
                unreachable!("hosts of the ARPANET are run by their NCPs")
            }
        }
    }

    /// The engine that receives, at end B.
    pub(crate) fn receiver(&self) -> Box<dyn Engine> {
        match self.configs[End::B.index()].clone() {
            Config::Kermit(config) => {
                let memory = vec![0; config.receiver_memory()];
                Box::new(kermit::Receiver::new(*config, memory).expect("memory as asked for"))
            }
            Config::Xymodem(config) => {
                let memory = vec![0; config.receiver_memory()];
                Box::new(xymodem::Receiver::new(config, memory).expect("memory as asked for"))
            }
            Config::Zmodem(config) => {
                let memory = vec![0; config.receiver_memory()];
                Box::new(zmodem::Receiver::new(*config, memory).expect("memory as asked for"))
            }
            Config::Uucp(config) => {
                let memory = vec![0; config.receiver_memory()];
                Box::new(uucp::Receiver::new(*config, memory).expect("memory as asked for"))
            }
            Config::Netblt(config) => {
                let memory = vec![0; config.receiver_memory()];
                Box::new(netblt::Receiver::new(*config, memory).expect("memory as asked for"))
            }
            Config::Ncp(_) | Config::Messages(_) => {
                unreachable!("hosts of the ARPANET are run by their NCPs")
            }
        }
    }
}

/// [`Settings`] as an object.
trait SetByName {
    fn set_by_name(&mut self, name: &str, value: &str) -> Result<(), BadSetting>;
    fn rows(&self) -> Vec<&'static str>;
}

impl<T: Settings> SetByName for T {
    fn set_by_name(&mut self, name: &str, value: &str) -> Result<(), BadSetting> {
        self.set(name, value)
    }

    fn rows(&self) -> Vec<&'static str> {
        T::table().iter().map(|row| row.name).collect()
    }
}
