//! The configuration of the two NETBLT engines, and its rows in the table of settings.

use super::packet::{DATA_HEADER, OPEN_HEADER};
use super::window::Shape;
use crate::settings::{BadSetting, Range, Setting, Settings};
use core::fmt;

/// Which end opens the connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Role {
    /// This one. A sender opens for WRITE, a receiver for READ.
    #[default]
    Active,
    /// The other; this one waits for an OPEN.
    Passive,
}

/// How fast data is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rate {
    /// As a person says, and as the other end restricts it.
    Fixed {
        /// Packets of a burst.
        burst: u16,
        /// Milliseconds from the start of one burst to that of the next.
        interval_ms: u16,
    },
    /// As the path carries it: the receiver measures and offers, the sender follows.
    Automatic {
        /// Never more bits per second of NETBLT packets than this; 0 is no bound.
        max_rate_bps: u64,
    },
}

impl Default for Rate {
    fn default() -> Self {
        Self::Automatic { max_rate_bps: 0 }
    }
}

/// Everything that a person may choose.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// Which end opens.
    pub role: Role,
    /// NETBLT port of this end. An active end takes the next one for each connection.
    pub local_port: u16,
    /// Active: NETBLT port at which the other end waits.
    pub foreign_port: u16,
    /// Active: the unique ID of the first connection. The driver draws it, and `local_port`, by
    /// chance: nobody shall guess them.
    pub id: u32,
    /// Receiver: number of the first buffer (RFC 998 leaves it open). One that nobody can guess makes data a
    /// proof that the sender has seen the GO.
    pub first_buffer: u32,
    /// Longest packet, header included, in bytes: what passes the path in one piece.
    pub max_datagram: u16,
    /// Bytes of a buffer; 0 is 20 packets.
    pub buffer_size: u32,
    /// Most buffers outstanding.
    pub outstanding: u16,
    /// How fast.
    pub rate: Rate,
    /// Silence after which the other end is taken for dead, in seconds.
    pub death_s: u16,
    /// Wait for the answer to an OPEN, in milliseconds.
    pub open_timeout_ms: u16,
    /// How often an OPEN is sent.
    pub open_tries: u8,
    /// Checksums over the data too.
    pub checksum: bool,
    /// Compare a digest of each whole file with partners of our own kind. A receiver's store must then be able
    /// to make it: the sender takes the last OK for the comparison.
    pub digest: bool,
    /// Describe files in the client string. Without, the string is the bare name of a file.
    pub files: bool,
    /// Receiver: take what is here of a file already, if the sender allows it.
    pub resume: bool,
    /// Bytes of file data kept between the engine and its store.
    pub buffer_len: usize,
    /// The other end may say no more than it has heard: a listener that does not know us yet. It is asked
    /// sooner, and hears more of us.
    pub metered: bool,
    /// Receiver: bytes that its host keeps of packets that have come and were not handed over yet; 0 if that is
    /// not known.
    pub room: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            role: Role::Active,
            local_port: 4096,
            foreign_port: 7000,
            id: 1,
            first_buffer: 1,
            max_datagram: 1432,
            buffer_size: 0,
            outstanding: 32_768,
            rate: Rate::default(),
            death_s: 60,
            open_timeout_ms: 2000,
            open_tries: 5,
            checksum: true,
            digest: true,
            files: true,
            resume: true,
            buffer_len: 1024 * 1024,
            metered: false,
            room: 0,
        }
    }
}

/// Packets of a buffer unless something else is said.
const BUFFER_PACKETS: u32 = 20;
/// Shortest packet that the engines work with.
pub(crate) const SHORTEST: usize = 256;
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

    /// The first burst values: (packets, milliseconds).
    pub(crate) fn first_burst(&self) -> (u16, u16) {
        match self.rate {
            Rate::Fixed { burst, interval_ms } => (burst.max(1), interval_ms.max(1)),
            Rate::Automatic { .. } => {
                self.capped((FIRST_BURST.min(self.shape().packets as u16), FIRST_INTERVAL_MS))
            }
        }
    }

    /// Burst values that keep under the ceiling, and under what a fixed rate says.
    pub(crate) fn capped(&self, (burst, interval_ms): (u16, u16)) -> (u16, u16) {
        let (burst, interval_ms) = (burst.max(1), interval_ms.max(1));
        match self.rate {
            Rate::Fixed { burst: most, interval_ms: least } => {
                (burst.min(most.max(1)), interval_ms.max(least))
            }
            Rate::Automatic { max_rate_bps: 0 } => (burst, interval_ms),
            Rate::Automatic { max_rate_bps } => {
                // bits per burst, times 1000 ms per second.
                let bits = self.datagram() as u64 * 8 * 1000;
                let least = |burst: u16| (u64::from(burst) * bits).div_ceil(max_rate_bps);
                // A burst that would need a long interval is cut: a queue has to hold it.
                let mut burst = burst;
                while burst > 1 && least(burst) > u64::from(interval_ms.max(50)) {
                    burst -= burst.div_ceil(4);
                }
                (burst, least(burst).clamp(u64::from(interval_ms), 0xFFFF) as u16)
            }
        }
    }

    /// The ceiling in thousandths of packets per second, if there is one.
    pub(crate) fn ceiling_mpps(&self) -> Option<u64> {
        match self.rate {
            Rate::Automatic { max_rate_bps } if max_rate_bps > 0 => {
                let bits = self.datagram() as u64 * 8;
                Some((u128::from(max_rate_bps) * 1000 / u128::from(bits)) as u64)
            }
            _ => None,
        }
    }

    /// Whether the receiver looks for the rate.
    pub(crate) fn is_automatic(&self) -> bool {
        matches!(self.rate, Rate::Automatic { .. })
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

    /// Bytes of memory a sender of this configuration lives in.
    pub fn sender_memory(&self) -> usize {
        self.sender_lengths().iter().sum()
    }

    /// Lengths of the parts of it.
    pub(crate) fn sender_lengths(&self) -> [usize; 6] {
        let (out, data, slots) = (self.out_len(), self.data_len(), self.shape().sender_len());
        [out, data, self.datagram(), slots, super::sequence::SEEN_LEN, MAX_NAME]
    }

    /// Bytes of memory a receiver of this configuration lives in.
    pub fn receiver_memory(&self) -> usize {
        self.receiver_lengths().iter().sum()
    }

    /// Lengths of the parts of it.
    pub(crate) fn receiver_lengths(&self) -> [usize; 5] {
        let messages = super::messages::ring_len(self.shape().slots);
        [self.out_len(), self.data_len(), self.shape().receiver_len(), messages, MAX_NAME]
    }
}

const ON_OFF: Range = Range::Word(&["on", "off"]);

/// The rows of the table. The order is the order in which they are shown.
pub const TABLE: &[Setting] = &[
    Setting {
        name: "netblt.datagram",
        range: Range::Number(SHORTEST as u64, 65_000),
        default: "1432",
        unit: "bytes",
        doc: "Longest NETBLT packet, its header included",
        source: "RFC 998 data packet size, and 24 bytes of header",
    },
    Setting {
        name: "netblt.buffer-size",
        range: Range::Number(0, 0xFFFF_FFFF),
        default: "0",
        unit: "bytes",
        doc: "Bytes of a buffer; 0 is 20 packets",
        source: "RFC 998 buffer size",
    },
    Setting {
        name: "netblt.outstanding",
        range: Range::Number(1, 65_535),
        default: "32768",
        unit: "buffers",
        doc: "Most buffers outstanding",
        source: "RFC 998 maximum number of outstanding buffers",
    },
    Setting {
        name: "netblt.burst",
        range: Range::Number(0, 65_535),
        default: "0",
        unit: "packets",
        doc: "Packets of a burst; 0 finds the rate by itself",
        source: "RFC 998 burst size",
    },
    Setting {
        name: "netblt.interval",
        range: Range::Number(1, 65_535),
        default: "30",
        unit: "milliseconds",
        doc: "From the start of one burst to that of the next, where the burst is given",
        source: "RFC 998 burst rate; RFC 1030 burst interval",
    },
    Setting {
        name: "netblt.max-rate",
        range: Range::Number(0, 1_000_000_000_000),
        default: "0",
        unit: "bit/s",
        doc: "Never faster than this; 0 is no bound",
        source: "docs/decisions/053",
    },
    Setting {
        name: "netblt.death",
        range: Range::Number(1, 65_535),
        default: "60",
        unit: "seconds",
        doc: "Silence after which the other end is taken for dead",
        source: "RFC 998 death timer",
    },
    Setting {
        name: "netblt.open-timeout",
        range: Range::Number(10, 65_535),
        default: "2000",
        unit: "milliseconds",
        doc: "Wait for the answer to an OPEN",
        source: "RFC 998 open timer; docs/decisions/050",
    },
    Setting {
        name: "netblt.open-tries",
        range: Range::Number(1, 255),
        default: "5",
        unit: "",
        doc: "How often an OPEN is sent",
        source: "RFC 998; docs/decisions/050",
    },
    Setting {
        name: "netblt.checksum",
        range: ON_OFF,
        default: "on",
        unit: "",
        doc: "Checksums over the data too",
        source: "RFC 998 C flag",
    },
    Setting {
        name: "netblt.digest",
        range: ON_OFF,
        default: "on",
        unit: "",
        doc: "Compare a digest of each whole file with partners of our own kind",
        source: "docs/decisions/052",
    },
    Setting {
        name: "netblt.files",
        range: ON_OFF,
        default: "on",
        unit: "",
        doc: "Describe files in the client string; off sends the bare name",
        source: "RFC 998 client string; docs/decisions/052",
    },
    Setting {
        name: "netblt.resume",
        range: ON_OFF,
        default: "on",
        unit: "",
        doc: "Receiver: take what is here of a file already, if the sender allows it",
        source: "docs/decisions/052",
    },
    Setting {
        name: "netblt.buffer",
        range: Range::Number(16_384, 268_435_456),
        default: "1048576",
        unit: "bytes",
        doc: "File data kept between the engine and its store",
        source: "docs/decisions/001",
    },
];

impl Config {
    /// Burst and interval as the table has them: 0 packets is automatic.
    fn burst_row(&self) -> (u16, u16) {
        match self.rate {
            Rate::Fixed { burst, interval_ms } => (burst, interval_ms),
            Rate::Automatic { .. } => (0, 30),
        }
    }

    fn set_rate(&mut self, name: &str, value: u64) {
        let (burst, interval_ms) = self.burst_row();
        self.rate = match (name, value, self.rate) {
            ("netblt.max-rate", max_rate_bps, Rate::Automatic { .. }) => {
                Rate::Automatic { max_rate_bps }
            }
            ("netblt.burst", 0, rate @ Rate::Automatic { .. }) => rate,
            ("netblt.burst", 0, Rate::Fixed { .. }) => Rate::default(),
            ("netblt.burst", burst, _) => Rate::Fixed { burst: burst as u16, interval_ms },
            ("netblt.interval", interval, Rate::Fixed { .. }) => {
                Rate::Fixed { burst, interval_ms: interval as u16 }
            }
            (_, _, rate) => rate,
        };
    }
}

impl Settings for Config {
    fn table() -> &'static [Setting] {
        TABLE
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), BadSetting> {
        let setting = TABLE.iter().find(|s| s.name == name).ok_or(BadSetting::Unknown)?;
        let bad = BadSetting::Value(setting);
        if let Range::Number(low, high) = setting.range {
            let number: u64 = value.parse().map_err(|_| bad)?;
            if !(low..=high).contains(&number) {
                return Err(bad);
            }
            match name {
                "netblt.datagram" => self.max_datagram = number as u16,
                "netblt.buffer-size" => self.buffer_size = number as u32,
                "netblt.outstanding" => self.outstanding = number as u16,
                "netblt.death" => self.death_s = number as u16,
                "netblt.open-timeout" => self.open_timeout_ms = number as u16,
                "netblt.open-tries" => self.open_tries = number as u8,
                "netblt.buffer" => self.buffer_len = number as usize,
                _ => self.set_rate(name, number),
            }
            return Ok(());
        }
        let on = match value {
            "on" => true,
            "off" => false,
            _ => return Err(bad),
        };
        match name {
            "netblt.checksum" => self.checksum = on,
            "netblt.digest" => self.digest = on,
            "netblt.files" => self.files = on,
            _ => self.resume = on,
        }
        Ok(())
    }

    fn show(&self, name: &str, out: &mut dyn fmt::Write) -> fmt::Result {
        let truth = |on: bool| if on { "on" } else { "off" };
        let (burst, interval_ms) = self.burst_row();
        match name {
            "netblt.datagram" => write!(out, "{}", self.max_datagram),
            "netblt.buffer-size" => write!(out, "{}", self.buffer_size),
            "netblt.outstanding" => write!(out, "{}", self.outstanding),
            "netblt.burst" => write!(out, "{burst}"),
            "netblt.interval" => write!(out, "{interval_ms}"),
            "netblt.max-rate" => match self.rate {
                Rate::Automatic { max_rate_bps } => write!(out, "{max_rate_bps}"),
                Rate::Fixed { .. } => out.write_str("0"),
            },
            "netblt.death" => write!(out, "{}", self.death_s),
            "netblt.open-timeout" => write!(out, "{}", self.open_timeout_ms),
            "netblt.open-tries" => write!(out, "{}", self.open_tries),
            "netblt.checksum" => out.write_str(truth(self.checksum)),
            "netblt.digest" => out.write_str(truth(self.digest)),
            "netblt.files" => out.write_str(truth(self.files)),
            "netblt.resume" => out.write_str(truth(self.resume)),
            "netblt.buffer" => write!(out, "{}", self.buffer_len),
            _ => Err(fmt::Error),
        }
    }
}
