//! What a host's NCP may be told.

use crate::arpanet::control::LONGEST_BITS;
use crate::arpanet::leader::Form;
use crate::time::Duration;

/// Hosts that are remembered at a time.
pub const HOSTS: usize = 16;
/// Most connections at a time.
pub const CONNECTIONS: usize = 32;
/// Most messages of one link under way.
pub const WINDOW: usize = 8;
/// Octets of the longest message: a new leader, and what may follow.
pub(crate) const MESSAGE: usize = 12 + LONGEST_BITS.div_ceil(8);
/// Bits of the longest text: what is behind the leader, less the header.
pub(crate) const LONGEST_TEXT: usize = LONGEST_BITS - 40;

/// Which output buffers there are: a message is in one from when it is made until its RFNM.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Buffers {
    /// Small and large ones: where few bits wait a small one is taken, else a large one (RFC 662, the new system).
    #[default]
    Both,
    /// Small ones, so that a message is a single packet (RFC 662, the old system).
    Small,
    /// Large ones for everything.
    Large,
}

/// Everything that may be chosen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// Which leaders the interface speaks.
    pub form: Form,
    /// The network that new leaders name.
    pub network: u8,
    /// Output buffers.
    pub buffers: Buffers,
    /// How many small ones there are.
    pub small_count: u8,
    /// How many large ones there are.
    pub large_count: u8,
    /// Bits of text that a small one takes: 940 at Multics.
    pub small_bits: u16,
    /// Messages that may be under way on one link, 1 to 8. 1 is the old rule, with which a message that was not
    /// delivered can be sent again.
    pub window: u8,
    /// Messages that may be under way to one host: the IMP blocks the interface beyond 8 (4 until 1974).
    pub host_window: u8,
    /// Connections at a time, in either direction: 1 to 32.
    pub connections: u8,
    /// Octets kept for each, at least 1024.
    pub buffer_len: usize,
    /// Messages that a sender is allowed ahead.
    pub messages: u16,
    /// How long a RFNM may take, in seconds.
    pub rfnm_s: u16,
    /// How long a reset reply may take, in seconds.
    pub rrp_s: u16,
    /// How long an echo reply may take, in seconds.
    pub erp_s: u16,
    /// How long a request for connection may wait for its match, in seconds.
    pub rfc_s: u16,
    /// How long a CLS may take to be answered, in seconds.
    pub cls_s: u16,
    /// How long data may wait to be allowed, in seconds.
    pub all_s: u16,
    /// How often a message is sent again that was not delivered.
    pub retries: u8,
    /// Whether a host that nothing is known of is sent a RST before the first request for connection.
    pub reset: bool,
    /// Messages of people typing carry the priority flag: IMPs send their packets before others.
    pub priority: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            form: Form::Old,
            network: 0,
            buffers: Buffers::Both,
            small_count: 16,
            large_count: 8,
            small_bits: 940,
            window: 1,
            host_window: 4,
            connections: 8,
            buffer_len: 8192,
            messages: 64,
            rfnm_s: 30,
            rrp_s: 20,
            erp_s: 20,
            rfc_s: 30,
            cls_s: 10,
            all_s: 300,
            retries: 5,
            reset: true,
            priority: false,
        }
    }
}

impl Config {
    /// Octets of the memory that an NCP of this configuration lives in.
    pub fn memory(&self) -> usize {
        self.lengths().iter().sum()
    }

    /// Lengths of the parts of the memory: the message that is lent, the connections' octets.
    pub(crate) fn lengths(&self) -> [usize; 2] {
        [MESSAGE, self.slots() * self.ring()]
    }

    pub(crate) fn slots(&self) -> usize {
        usize::from(self.connections).clamp(1, CONNECTIONS)
    }

    pub(crate) fn ring(&self) -> usize {
        self.buffer_len.max(1024)
    }

    pub(crate) fn window(&self) -> usize {
        usize::from(self.window).clamp(1, WINDOW)
    }

    /// Bits of text that a message takes where so many wait, and whether it is a large one.
    pub(crate) fn text(&self, waiting: usize) -> (usize, bool) {
        let small = usize::from(self.small_bits).min(LONGEST_TEXT);
        match self.buffers {
            Buffers::Small => (small, false),
            Buffers::Both if waiting <= small => (small, false),
            Buffers::Both | Buffers::Large => (LONGEST_TEXT, true),
        }
    }
}

pub(crate) fn seconds(count: u16) -> Duration {
    Duration::from_secs(u64::from(count))
}
