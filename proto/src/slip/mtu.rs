//! The right MTU for a line: from its rate and from how long a packet may occupy it.
//!
//! Interactive traffic is prioritised, but waits for the one packet that is on the line. The
//! longest packet determines how long that is: its bytes and the two ENDs around it, without escapes and
//! without compression, times the bits of a byte, over the rate.
//!
//! ```text
//! latency  the longest time that one packet may occupy the line
//! MTU      latency * rate / bits of a byte - 2, within 68 (RFC 791) and 1006 (RFC 1055)
//! ```
//!
//! At 9600 bit/s with ten bits a byte, 200 ms are 192 bytes, an MTU of 190. The customary 296 (256 bytes of
//! data and a header) occupies that line for 310 ms; a packet that comes at any moment waits half of that on
//! average.

use crate::Duration;

/// Shortest MTU of IPv4 (RFC 791).
pub const SHORTEST_MTU: u16 = 68;
/// Longest packet that may be sent to an unknown peer (RFC 1055).
pub const LONGEST_MTU: u16 = 1006;
/// The customary MTU of lines of 9600 bit/s and less: 256 bytes of data and a header.
pub const CUSTOMARY_MTU: u16 = 296;

/// Bytes around a packet: an END on each side.
const AROUND: u64 = 2;

/// The rate of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rate {
    /// Bits per second, start and stop bits included.
    pub bps: u64,
    /// Bits of a byte on the line: 10 with a start and a stop bit and no parity.
    pub bits_per_byte: u8,
}

impl Rate {
    /// This many bits per second, ten to a byte.
    pub const fn serial(bps: u64) -> Self {
        Self { bps, bits_per_byte: 10 }
    }

    /// How long this many bytes take, rounded up; infinite if the rate is 0.
    pub fn time(self, bytes: usize) -> Duration {
        let bits = bytes as u128 * u128::from(self.bits_per_byte);
        if self.bps == 0 {
            return Duration::MAX;
        }
        let nanos = (bits * 1_000_000_000).div_ceil(u128::from(self.bps));
        u64::try_from(nanos).map_or(Duration::MAX, Duration::from_nanos)
    }

    /// How many whole bytes pass in this time.
    pub fn bytes(self, time: Duration) -> u64 {
        let bits = time.as_nanos().saturating_mul(u128::from(self.bps)) / 1_000_000_000;
        u64::try_from(bits / u128::from(self.bits_per_byte.max(1))).unwrap_or(u64::MAX)
    }
}

/// An MTU and its latency.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Choice {
    /// Bytes of the longest packet.
    pub mtu: u16,
    /// How long it occupies the line.
    pub packet_time: Duration,
    /// The goal is met. It is not if even the shortest MTU takes longer.
    pub keeps_goal: bool,
}

impl Choice {
    /// The latency of this MTU on a line, compared with a goal.
    pub fn of(mtu: u16, rate: Rate, latency: Duration) -> Self {
        let packet_time = packet_time(mtu, rate);
        Self { mtu, packet_time, keeps_goal: packet_time <= latency }
    }
}

/// How long the longest packet occupies the line, uncompressed and without escapes.
pub fn packet_time(mtu: u16, rate: Rate) -> Duration {
    rate.time(usize::from(mtu) + AROUND as usize)
}

/// The longest MTU with which no packet occupies the line for longer than `latency`, within what the standards
/// allow.
pub fn choose(rate: Rate, latency: Duration) -> Choice {
    let bytes = rate.bytes(latency).saturating_sub(AROUND);
    let mtu = bytes.clamp(u64::from(SHORTEST_MTU), u64::from(LONGEST_MTU)) as u16;
    Choice::of(mtu, rate, latency)
}
