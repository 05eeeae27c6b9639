//! A network interface of this machine for one end of a SLIP line (TUN).

use crate::event::Source;
use crate::os::tun::{Addresses, Device};
use crate::port::OpenError;
use std::fmt;
use std::io;
use std::net::Ipv4Addr;
use std::str::FromStr;

/// Packets queued by the system between two turns. Packets should wait in the line's own queue, which has
/// classes.
const QUEUE: u32 = 50;

/// Addresses reached over the line: `192.168.7.0/24`, `default`.
///
/// ```
/// use wetstring_drive::slip::Net;
/// assert_eq!("default".parse::<Net>().unwrap().to_string(), "0.0.0.0/0");
/// assert!("10.0.0.1/33".parse::<Net>().is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Net {
    /// One of its addresses.
    pub address: Ipv4Addr,
    /// Prefix length, 0 to 32.
    pub prefix: u8,
}

impl FromStr for Net {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "default" {
            return Ok(Self { address: Ipv4Addr::UNSPECIFIED, prefix: 0 });
        }
        let wrong =
            || format!("expected ADDRESS/PREFIX such as 192.168.7.0/24, or default, got {text}");
        let (address, prefix) = text.split_once('/').unwrap_or((text, "32"));
        let (address, prefix) = (address.parse(), prefix.parse::<u8>());
        match (address, prefix) {
            (Ok(address), Ok(prefix)) if prefix <= 32 => Ok(Self { address, prefix }),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Net {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

/// Settings of an interface.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TunConfig {
    /// Its name, such as `sl0`; without, the system chooses.
    pub name: Option<String>,
    /// Our address.
    pub local: Ipv4Addr,
    /// The address of the peer, which is reached through it.
    pub remote: Ipv4Addr,
    /// MTU, in bytes.
    pub mtu: u16,
    /// Further routes.
    pub routes: Vec<Net>,
}

/// A network interface. It is removed when dropped.
pub struct Tun {
    device: Device,
    name: String,
}

impl fmt::Debug for Tun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tun").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Tun {
    /// Creates it, with its addresses and routes, and brings it up.
    ///
    /// # Errors
    ///
    /// Without the privilege (CAP_NET_ADMIN), or with a name or address that is in use.
    pub fn make(config: &TunConfig) -> Result<Self, OpenError> {
        let shown = config.name.as_deref().unwrap_or("an interface");
        let failed = |error: io::Error| OpenError::io(format!("make {shown}"), error);
        let addresses = Addresses { local: config.local, remote: config.remote, mtu: config.mtu };
        let device =
            Device::make(config.name.as_deref(), QUEUE, Some(&addresses)).map_err(failed)?;
        let name = device.name().map_err(failed)?;
        for net in &config.routes {
            let what = |error| OpenError::io(format!("send {net} through {name}"), error);
            device.route(net.address, net.prefix).map_err(what)?;
        }
        Ok(Self { device, name })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Readable when there is a packet.
    pub(super) fn source(&self) -> Source<'_> {
        self.device.source()
    }

    /// The next local packet, if any.
    pub(super) fn read(&self, into: &mut [u8]) -> io::Result<Option<usize>> {
        self.device.read(into)
    }

    /// A packet for this machine. What it does not accept is lost, as on any network.
    pub(super) fn write(&self, packet: &[u8]) {
        self.device.write(packet);
    }
}
