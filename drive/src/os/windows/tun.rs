//! Network interfaces, which are for Unix only.

use super::event::Source;
use std::convert::Infallible;
use std::io;
use std::net::Ipv4Addr;

/// There is none.
#[derive(Debug)]
pub(crate) struct Device(Infallible);

/// What an interface would have from the beginning.
pub(crate) struct Addresses {
    pub(crate) local: Ipv4Addr,
    pub(crate) remote: Ipv4Addr,
    pub(crate) mtu: u16,
}

impl Device {
    pub(crate) fn make(_: Option<&str>, _: u32, addresses: Option<&Addresses>) -> io::Result<Self> {
        let say = if addresses.is_some_and(|its| its.local != its.remote && its.mtu > 0) {
            "interfaces are for Unix only; use the stack of wst slip instead (--forward, --socks)"
        } else {
            "tun: is for Unix only; use udp: or udp-listen: instead"
        };
        Err(io::Error::new(io::ErrorKind::Unsupported, say))
    }

    pub(crate) fn name(&self) -> io::Result<String> {
        match self.0 {}
    }

    pub(crate) fn route(&self, _: Ipv4Addr, _: u8) -> io::Result<()> {
        match self.0 {}
    }

    pub(crate) fn source(&self) -> Source<'_> {
        match self.0 {}
    }

    pub(crate) fn read(&self, _: &mut [u8]) -> io::Result<Option<usize>> {
        match self.0 {}
    }

    pub(crate) fn write(&self, _: &[u8]) {
        match self.0 {}
    }
}
