//! The configuration of the two NETBLT engines.

use super::packet::{DATA_HEADER, OPEN_HEADER};
use super::window::Shape;
use crate::time::{BitRate, Span};

/// Which end opens the connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Role {
    /// This one. A sender opens for WRITE, a receiver for READ.
    #[default]
    Active,
    /// The other; this one waits for an OPEN.
    Passive,
}

crate::settings! {
    /// All settings.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct Config {
        /// What passes the path in one piece.
        "netblt.datagram" max_datagram: u16[LEAST..=65_000 "bytes"] = 1432,
            "Longest NETBLT packet, its header included",
            "RFC 998 data packet size, and 24 bytes of header";
        "netblt.buffer-size" buffer_size: u32[0..=0xFFFF_FFFF "bytes"] = 0,
            "Bytes of a buffer; 0 is 20 packets",
            "RFC 998 buffer size";
        "netblt.outstanding" outstanding: u16[1..=65_535 "buffers"] = 32_768,
            "Most buffers outstanding",
            "RFC 998 maximum number of outstanding buffers";
        "netblt.burst" burst: u16[0..=65_535 "packets"] = 0,
            "Packets of a burst; 0 determines the rate automatically",
            "RFC 998 burst size";
        "netblt.interval" interval: Span[1..=65_535 milliseconds] = 30,
            "From the start of one burst to that of the next, where the burst is given",
            "RFC 998 burst rate; RFC 1030 burst interval";
        /// Bits of NETBLT packets, where the burst is 0: then the receiver measures and offers, the sender follows.
        "netblt.max-rate" max_rate: BitRate[0..=1_000_000_000_000 bits_per_second] = 0,
            "Rate limit; 0 is unlimited",
            "Wetstring: the rate is found by measurement, up to this";
        "netblt.death" death: Span[1..=65_535 seconds] = 60,
            "Silence after which the peer is considered dead",
            "RFC 998 death timer";
        "netblt.open-timeout" open_timeout: Span[10..=65_535 milliseconds] = 2000,
            "Wait for the answer to an OPEN",
            "RFC 998 open timer, which has no value there";
        "netblt.open-tries" open_tries: u8[1..=255] = 5,
            "Most OPENs sent",
            "RFC 998, which has no value";
        "netblt.checksum" checksum: bool[word] = "on",
            "Checksums over the data too",
            "RFC 998 C flag";
        /// A receiver's store must then support digests: the sender takes the last OK as verification.
        "netblt.digest" digest: bool[word] = "on",
            "Compare a digest of each whole file with peers of our own kind",
            "Wetstring: RFC 998 checks packets, not files; announced in the client string, whose contents are the client's", no_flag;
        "netblt.files" files: bool[word] = "on",
            "Describe files in the client string; off sends the bare name",
            "RFC 998 client string", no_flag;
        "netblt.resume" resume: bool[word] = "on",
            "Receiver: resume files that are stored in part, if the sender allows it",
            "Wetstring: holes are named in the client string", no_flag;
        "netblt.buffer" buffer_len: usize[16_384..=268_435_456 "bytes"] = 1_048_576,
            "File data kept between the engine and its store",
            "Wetstring: memory of an engine is fixed when it starts", no_flag;
    }
    also {
        /// Which end opens.
        role: Role = Role::Active,
        /// NETBLT port of this end. An active end uses the next one for each connection.
        local_port: u16 = 4096,
        /// Active: NETBLT port at which the peer waits.
        foreign_port: u16 = 7000,
        /// Active: the unique ID of the first connection. The driver draws it, and `local_port`, by
        /// random: they must not be guessable.
        id: u32 = 1,
        /// Receiver: number of the first buffer (RFC 998 leaves it open). An unpredictable one makes data a
        /// proof that the sender has seen the GO.
        first_buffer: u32 = 1,
        /// The peer may send at most what it has received: a listener that does not know us yet. OPEN is
        /// repeated sooner, with padding.
        metered: bool = false,
        /// Receiver: bytes that its host keeps of packets that have come and were not handed over yet; 0 if that is
        /// not known.
        room: usize = 0,
    }
}

/// Default packets of a buffer.
const BUFFER_PACKETS: u32 = 20;
/// Shortest packet that the engines work with.
pub(crate) const SHORTEST: usize = 256;
const LEAST: u64 = SHORTEST as u64;
/// Longest name of a file on the wire.
pub(crate) const MAX_NAME: usize = 512;
/// Burst of the first packets, while nothing is known of the path.
const FIRST_BURST: u16 = 2;
/// And its interval in milliseconds.
const FIRST_INTERVAL_MS: u16 = 20;

impl Config {
    /// The longest packet, within what the engines can do; a multiple of four.
    pub(crate) fn datagram(&self) -> usize {
        usize::from(self.max_datagram).max(SHORTEST) & !3
    }

    /// Bytes of data in a packet.
    pub(crate) fn packet_size(&self) -> u16 {
        (self.datagram() - DATA_HEADER) as u16
    }

    /// Bytes of a buffer.
    pub(crate) fn buffer(&self) -> u32 {
        let packet = u32::from(self.packet_size());
        match self.buffer_size {
            0 => BUFFER_PACKETS * packet,
            // Packet numbers have 16 bits.
            size => size.min(packet.saturating_mul(0xFFFF)),
        }
    }

    /// What the rings of outstanding buffers look like.
    pub(crate) fn shape(&self) -> Shape {
        let packets = self.buffer().div_ceil(u32::from(self.packet_size())).max(1);
        Shape { packets, slots: Shape::span(self.outstanding) }
    }

    /// The burst interval as encoded on the wire.
    fn interval_ms(&self) -> u16 {
        u16::try_from(self.interval.get().as_millis()).unwrap_or(u16::MAX).max(1)
    }

    /// The death timer as encoded on the wire.
    pub(crate) fn death_s(&self) -> u16 {
        u16::try_from(self.death.get().as_secs()).unwrap_or(u16::MAX).max(1)
    }

    /// The first burst values: (packets, milliseconds).
    pub(crate) fn first_burst(&self) -> (u16, u16) {
        if self.is_automatic() {
            self.capped((FIRST_BURST.min(self.shape().packets as u16), FIRST_INTERVAL_MS))
        } else {
            (self.burst, self.interval_ms())
        }
    }

    /// Burst values below the rate limit and the fixed rate.
    pub(crate) fn capped(&self, (burst, interval_ms): (u16, u16)) -> (u16, u16) {
        let (burst, interval_ms) = (burst.max(1), interval_ms.max(1));
        if !self.is_automatic() {
            return (burst.min(self.burst), interval_ms.max(self.interval_ms()));
        }
        if self.max_rate == BitRate::ZERO {
            return (burst, interval_ms);
        }
        // bits per burst, times 1000 ms per second.
        let bits = self.datagram() as u64 * 8 * 1000;
        let least = |burst: u16| (u64::from(burst) * bits).div_ceil(self.max_rate.bps());
        // A burst that would need a long interval is cut: a queue has to hold it.
        let mut burst = burst;
        while burst > 1 && least(burst) > u64::from(interval_ms.max(50)) {
            burst -= burst.div_ceil(4);
        }
        (burst, least(burst).clamp(u64::from(interval_ms), 0xFFFF) as u16)
    }

    /// The ceiling in thousandths of packets per second, if there is one.
    pub(crate) fn ceiling_millipps(&self) -> Option<u64> {
        if !self.is_automatic() || self.max_rate == BitRate::ZERO {
            return None;
        }
        let bits = self.datagram() as u64 * 8;
        Some((u128::from(self.max_rate.bps()) * 1000 / u128::from(bits)) as u64)
    }

    /// Whether the receiver looks for the rate.
    pub(crate) fn is_automatic(&self) -> bool {
        self.burst == 0
    }

    /// Bytes of file data in an engine: at least two buffers and a few packets.
    pub(crate) fn data_len(&self) -> usize {
        let least = self.buffer() as usize * 2 + 4 * self.datagram();
        self.buffer_len.max(least)
    }

    /// Bytes of the longest packet that is ever built: one with a name must fit.
    pub(crate) fn out_len(&self) -> usize {
        self.datagram().max(OPEN_HEADER + MAX_NAME + 128)
    }

    /// Bytes of memory that a sender of this configuration needs.
    pub fn sender_memory(&self) -> usize {
        self.sender_lengths().iter().sum()
    }

    /// Lengths of the parts of it.
    pub(crate) fn sender_lengths(&self) -> [usize; 6] {
        let (out, data, slots) = (self.out_len(), self.data_len(), self.shape().sender_len());
        [out, data, self.datagram(), slots, super::sequence::SEEN_LEN, MAX_NAME]
    }

    /// Bytes of memory that a receiver of this configuration needs.
    pub fn receiver_memory(&self) -> usize {
        self.receiver_lengths().iter().sum()
    }

    /// Lengths of the parts of it.
    pub(crate) fn receiver_lengths(&self) -> [usize; 5] {
        let messages = super::messages::ring_len(self.shape().slots);
        [self.out_len(), self.data_len(), self.shape().receiver_len(), messages, MAX_NAME]
    }
}
