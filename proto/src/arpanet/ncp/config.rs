//! What a host's NCP may be told.

use crate::arpanet::control::LONGEST_BITS;
use crate::arpanet::leader::Form;
use crate::time::Span;

/// Hosts that are remembered at a time.
pub const HOSTS: usize = 16;
/// Most connections at a time.
pub const CONNECTIONS: usize = 32;
/// Most messages of one link in flight.
pub const WINDOW: usize = 8;
/// Octets of the longest message: a new leader, and what may follow.
pub(crate) const MESSAGE: usize = 12 + LONGEST_BITS.div_ceil(8);
/// Bits of the longest text: what is after the leader, less the header.
pub(crate) const LONGEST_TEXT: usize = LONGEST_BITS - 40;

crate::choice! {
    /// Which output buffers there are: a message is in one from when it is made until its RFNM.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum Buffers {
        /// Small and large ones: where few bits wait a small one is taken, else a large one (RFC 662, the new system).
        #[default]
        Both = "both",
        /// Small ones, so that a message is a single packet (RFC 662, the old system).
        Small = "small",
        /// Large ones for everything.
        Large = "large",
    }
}

crate::settings! {
    /// All settings.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct Config {
        "ncp.buffers" buffers: Buffers[word] = "both",
            "Output buffers: small ones are single packets, for people typing; large ones take the longest message, for files",
            "RFC 662";
        "ncp.small" small_bits: u16[255..=968 "bits"] = 940,
            "Text that a small output buffer takes",
            "RFC 662";
        /// 1 is the old rule, with which a message that was not delivered can be sent again.
        "ncp.window" window: u8[1..=8 "messages"] = 1,
            "Messages of a connection under way; with more than one, a message that is not delivered ends the connection",
            "RFC 660, 662";
        "ncp.host-window" host_window: u8[1..=8 "messages"] = 4,
            "Messages under way to one host: beyond 8 (4 until 1974) the IMP stops the interface",
            "RFC 660";
        "ncp.buffer" buffer_len: usize[1024..=1_048_576 "octets"] = 8192,
            "Buffer of each connection, and the allocation of the peer",
            "NIC 8246 allocation, which has no size there";
        "ncp.rfnm" rfnm: Span[1..=600 seconds] = 30,
            "RFNM timeout",
            "Wetstring: NIC 8246 has no timeouts";
        "ncp.retries" retries: u8[0..=100] = 5,
            "Retry limit of a message that the IMP reports as incomplete, where it is the only one of its connection",
            "Wetstring: BBN 1822 reports it, and leaves to the host what follows";
        "ncp.priority" priority: bool[word] = "off",
            "Interactive messages and a server's replies carry the priority flag: IMPs send them before files",
            "BBN 1822";
    }
    also {
        /// Which leaders the interface speaks.
        form: Form = Form::Old,
        /// The network that new leaders name.
        network: u8 = 0,
        /// How many small output buffers there are.
        small_count: u8 = 16,
        /// How many large ones there are.
        large_count: u8 = 8,
        /// Connections at a time, in either direction: 1 to 32.
        connections: u8 = 8,
        /// Messages that a sender is allowed ahead.
        messages: u16 = 64,
        /// How long a reset reply may take.
        rrp: Span = Span::from_secs(20),
        /// How long an echo reply may take.
        erp: Span = Span::from_secs(20),
        /// How long a request for connection may wait for its match.
        rfc: Span = Span::from_secs(30),
        /// How long a CLS may take to be answered.
        cls: Span = Span::from_secs(10),
        /// How long data may wait to be allowed.
        all: Span = Span::from_secs(300),
        /// Whether a host that nothing is known of is sent a RST before the first request for connection.
        reset: bool = true,
    }
}

impl Config {
    /// Octets of memory that an NCP of this configuration needs.
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

    /// Bits of text that a message takes of this many waiting, and whether it is a large one.
    pub(crate) fn text(&self, waiting: usize) -> (usize, bool) {
        let small = usize::from(self.small_bits).min(LONGEST_TEXT);
        match self.buffers {
            Buffers::Small => (small, false),
            Buffers::Both if waiting <= small => (small, false),
            Buffers::Both | Buffers::Large => (LONGEST_TEXT, true),
        }
    }
}
