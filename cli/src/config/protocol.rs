//! The protocols that `-P` names, and the engines they stand for.

use wetstring_proto::settings::Setting;
use wetstring_proto::xymodem::Variant;
use wetstring_proto::{Engine, LineFacts, kermit, netblt, uucp, xymodem, zmodem};

use super::settings::{
    KERMIT_TABLE, NETBLT_TABLE, Settings, UUCP_TABLE, XYMODEM_TABLE, ZMODEM_TABLE,
};

/// A protocol, as a person chooses it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Protocol {
    /// Kermit.
    #[default]
    Kermit,
    /// XMODEM or YMODEM, and which.
    Xymodem(Variant),
    /// ZMODEM.
    Zmodem,
    /// NETBLT, on lines of datagrams.
    Netblt,
    /// UUCP with the protocol `g`.
    Uucp,
}

/// What `-P` takes.
pub(crate) const NAMES: [&str; 9] = [
    "kermit",
    "xmodem",
    "xmodem-crc",
    "xmodem-1k",
    "ymodem",
    "ymodem-g",
    "zmodem",
    "netblt",
    "uucp-g",
];

impl Protocol {
    /// The protocol of a name in [`NAMES`].
    pub(crate) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "kermit" => Self::Kermit,
            "xmodem" => Self::Xymodem(Variant::Xmodem),
            "xmodem-crc" => Self::Xymodem(Variant::XmodemCrc),
            "xmodem-1k" => Self::Xymodem(Variant::Xmodem1k),
            "ymodem" => Self::Xymodem(Variant::Ymodem),
            "ymodem-g" => Self::Xymodem(Variant::YmodemG),
            "zmodem" => Self::Zmodem,
            "netblt" => Self::Netblt,
            "uucp-g" => Self::Uucp,
            _ => return None,
        })
    }

    /// Its name in [`NAMES`].
    pub(crate) fn name(self) -> &'static str {
        NAMES.into_iter().find(|name| Self::of(name) == Some(self)).unwrap_or_default()
    }

    /// Its name for a person.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Kermit => "Kermit",
            Self::Xymodem(Variant::Xmodem | Variant::XmodemCrc | Variant::Xmodem1k) => "XMODEM",
            Self::Xymodem(_) => "YMODEM",
            Self::Zmodem => "ZMODEM",
            Self::Netblt => "NETBLT",
            Self::Uucp => "UUCP",
        }
    }

    /// Its rows in the table of settings.
    pub(crate) const fn table(self) -> &'static [Setting] {
        match self {
            Self::Kermit => KERMIT_TABLE,
            Self::Xymodem(_) => XYMODEM_TABLE,
            Self::Zmodem => ZMODEM_TABLE,
            Self::Netblt => NETBLT_TABLE,
            Self::Uucp => UUCP_TABLE,
        }
    }

    /// Whether it is one that tells nothing of the file: XMODEM.
    pub(crate) const fn is_nameless(self) -> bool {
        match self {
            Self::Xymodem(variant) => !variant.is_batch(),
            _ => false,
        }
    }

    /// An engine that sends.
    pub(crate) fn sender(self, all: &Settings) -> Result<Box<dyn Engine>, String> {
        Ok(match self {
            Self::Kermit => {
                let config = all.kermit.clone();
                let memory = vec![0; config.sender_memory()];
                Box::new(kermit::Sender::new(config, memory).map_err(|bad| bad.to_string())?)
            }
            Self::Xymodem(variant) => {
                let config = xymodem::Config { variant, ..all.xymodem.clone() };
                let memory = vec![0; config.sender_memory()];
                Box::new(xymodem::Sender::new(config, memory).map_err(|bad| bad.to_string())?)
            }
            Self::Zmodem => {
                let config = all.zmodem.clone();
                let memory = vec![0; config.sender_memory()];
                let sender = zmodem::Sender::new(config, memory).map_err(|bad| bad.to_string())?;
                match &all.command {
                    None => Box::new(sender),
                    Some((command, immediate)) => Box::new(
                        sender.with_command(command, *immediate).map_err(|bad| bad.to_string())?,
                    ),
                }
            }
            Self::Netblt => {
                let config = all.netblt.clone();
                let memory = vec![0; config.sender_memory()];
                Box::new(netblt::Sender::new(config, memory).map_err(|bad| bad.to_string())?)
            }
            Self::Uucp => {
                let config = all.uucp.clone();
                let memory = vec![0; config.sender_memory()];
                Box::new(uucp::Sender::new(config, memory).map_err(|bad| bad.to_string())?)
            }
        })
    }

    /// An engine that receives.
    pub(crate) fn receiver(self, all: &Settings) -> Result<Box<dyn Engine>, String> {
        Ok(match self {
            Self::Kermit => {
                let config = all.kermit.clone();
                let memory = vec![0; config.receiver_memory()];
                Box::new(kermit::Receiver::new(config, memory).map_err(|bad| bad.to_string())?)
            }
            Self::Xymodem(variant) => {
                let config = xymodem::Config { variant, ..all.xymodem.clone() };
                let memory = vec![0; config.receiver_memory()];
                Box::new(xymodem::Receiver::new(config, memory).map_err(|bad| bad.to_string())?)
            }
            Self::Zmodem => {
                let config = all.zmodem.clone();
                let memory = vec![0; config.receiver_memory()];
                Box::new(zmodem::Receiver::new(config, memory).map_err(|bad| bad.to_string())?)
            }
            Self::Netblt => {
                let config = all.netblt.clone();
                let memory = vec![0; config.receiver_memory()];
                Box::new(netblt::Receiver::new(config, memory).map_err(|bad| bad.to_string())?)
            }
            Self::Uucp => {
                let config = all.uucp.clone();
                let memory = vec![0; config.receiver_memory()];
                Box::new(uucp::Receiver::new(config, memory).map_err(|bad| bad.to_string())?)
            }
        })
    }
}

/// Puts the facts of a line into every protocol's configuration.
pub(crate) fn know(all: &mut Settings, line: LineFacts) {
    all.kermit.line = line;
    all.xymodem.line = line;
    all.zmodem.line = line;
    all.uucp.line = line;
}
