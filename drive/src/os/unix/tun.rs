//! Network interfaces (TUN).

use super::event::Source;
use rustix::io::Errno;
use std::fmt;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use tun_rs::{DeviceBuilder, SyncDevice};

/// An interface. It is removed when dropped.
pub(crate) struct Device(SyncDevice);

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device").finish_non_exhaustive()
    }
}

/// What an interface has from the beginning.
pub(crate) struct Addresses {
    pub(crate) local: Ipv4Addr,
    pub(crate) remote: Ipv4Addr,
    pub(crate) mtu: u16,
}

impl Device {
    /// Creates it with a queue of this many packets. One with addresses is up.
    #[allow(unused_variables)]
    pub(crate) fn make(
        name: Option<&str>,
        queue: u32,
        addresses: Option<&Addresses>,
    ) -> io::Result<Self> {
        let mut builder = DeviceBuilder::new();
        if let Some(name) = name {
            builder = builder.name(name);
        }
        builder = match addresses {
            Some(Addresses { local, remote, mtu }) => {
                builder.mtu(*mtu).ipv4(*local, 32, Some(*remote))
            }
            None => builder.enable(false),
        };
        #[cfg(target_os = "linux")]
        let builder = builder.with(|linux| {
            linux.tx_queue_len(queue);
        });
        let device = builder.build_sync()?;
        device.set_nonblocking(true)?;
        Ok(Self(device))
    }

    pub(crate) fn name(&self) -> io::Result<String> {
        self.0.name()
    }

    /// Sends what is addressed to this network through it.
    #[cfg(target_os = "linux")]
    pub(crate) fn route(&self, address: Ipv4Addr, prefix: u8) -> io::Result<()> {
        super::route::add(address, prefix, self.0.if_index()?)
    }

    /// Only Linux's messages are spoken here.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn route(&self, _: Ipv4Addr, _: u8) -> io::Result<()> {
        let say = "routes are set on Linux only; use the system's route command";
        Err(io::Error::new(io::ErrorKind::Unsupported, say))
    }

    pub(crate) fn source(&self) -> Source<'_> {
        Source::of(&self.0)
    }

    /// The next packet, if any. An interface that is down has none.
    pub(crate) fn read(&self, into: &mut [u8]) -> io::Result<Option<usize>> {
        match rustix::io::read(self.0.as_fd(), into) {
            Ok(len) => Ok(Some(len)),
            Err(Errno::AGAIN | Errno::INTR | Errno::IO) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// What it does not accept is lost, as on any network.
    pub(crate) fn write(&self, packet: &[u8]) {
        let _ = rustix::io::write(self.0.as_fd(), packet);
    }
}
