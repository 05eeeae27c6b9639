//! The configuration of the engines: their settings are those of the host's NCP and of its process.

use super::ftp::Options;
use super::leader::Address;
use super::ncp;

crate::settings! {
    /// All settings.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct Config {}
    parts {
        /// The host's NCP.
        ncp: ncp::Config,
        /// The process.
        ftp: Options,
    }
    also {
        /// The server's host.
        to: Address = Address::default(),
    }
}

impl Config {
    /// Lengths of the parts of the memory: the NCP's, the process's.
    pub(crate) fn lengths(&self) -> [usize; 2] {
        [self.ncp.memory(), self.ftp.memory()]
    }

    /// Octets of memory that a sender of this configuration needs.
    pub fn sender_memory(&self) -> usize {
        self.lengths().iter().sum()
    }

    /// Octets of memory that a receiver of this configuration needs.
    pub fn receiver_memory(&self) -> usize {
        self.sender_memory()
    }
}
