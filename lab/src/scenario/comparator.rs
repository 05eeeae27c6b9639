//! TCP and QUIC as comparators: a scenario whose bytes go as those carry them, over the same
//! network of packets, between hosts that take no time.
//!
//! A comparator's line is the network itself, as for an engine of datagrams: `udp over path:...` or `path:...`.
//! The transport is put before it, with windows that are not the limit: two and a half times what the path and
//! its queue hold, for a hole is repaired a round trip later.

use super::elements::Outside;
use crate::element::End;
use crate::net::{Link, Network, Queue, SlottedModel};
use crate::quic::{self, QuicCongestion};
use crate::sack::Algorithm;
use crate::serial::Probability;
use crate::tcp::Congestion;
use std::fmt::Write as _;
use wetstring_proto::Duration;

/// A transport without an engine of ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparator {
    /// TCP with Reno.
    TcpReno,
    /// TCP with CUBIC.
    TcpCubic,
    /// TCP as hosts have it today, with Reno.
    SackReno,
    /// The same with CUBIC.
    SackCubic,
    /// QUIC with `NewReno`.
    QuicReno,
    /// QUIC with CUBIC.
    QuicCubic,
    /// QUIC with BBR.
    QuicBbr,
}

impl Comparator {
    /// The names that [`Comparator::of`] knows.
    pub const NAMES: [&str; 7] = [
        "tcp-reno",
        "tcp-cubic",
        "tcp-reno-v2",
        "tcp-cubic-v2",
        "quic-reno",
        "quic-cubic",
        "quic-bbr",
    ];

    const ALL: [Self; 7] = [
        Self::TcpReno,
        Self::TcpCubic,
        Self::SackReno,
        Self::SackCubic,
        Self::QuicReno,
        Self::QuicCubic,
        Self::QuicBbr,
    ];

    /// The comparator of this name, or of this name and version: `tcp-cubic-v1` is `tcp-cubic` as it was when
    /// the tables in `lab/sweeps/results` were made. `-v2` of TCP is [`crate::sack`]; the plain names stay what
    /// the pages and the bars of NETBLT mean by them, `-v1`.
    pub fn of(name: &str) -> Option<Self> {
        let plain = name.strip_suffix("-v1").unwrap_or(name);
        let index = Self::NAMES.iter().position(|of| *of == plain)?;
        Self::ALL.get(index).copied().filter(|of| quic::IS_BUILT || of.quic().is_none())
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        let index = Self::ALL.iter().position(|of| *of == self);
        index.map_or("", |index| Self::NAMES[index])
    }

    /// Its congestion control, if it is TCP.
    pub fn tcp(self) -> Option<Congestion> {
        match self {
            Self::TcpReno => Some(Congestion::Reno),
            Self::TcpCubic => Some(Congestion::Cubic),
            _ => None,
        }
    }

    /// Its congestion control, if it is TCP as hosts have it today.
    pub fn sack(self) -> Option<Algorithm> {
        match self {
            Self::SackReno => Some(Algorithm::Reno),
            Self::SackCubic => Some(Algorithm::Cubic),
            _ => None,
        }
    }

    /// Its congestion control, if it is QUIC.
    pub fn quic(self) -> Option<QuicCongestion> {
        match self {
            Self::QuicReno => Some(QuicCongestion::NewReno),
            Self::QuicCubic => Some(QuicCongestion::Cubic),
            Self::QuicBbr => Some(QuicCongestion::Bbr),
            _ => None,
        }
    }

    /// What carries the bytes, over these links.
    pub(super) fn over(self, line: &str, outside: &Outside) -> Result<String, String> {
        let links = line.split_once(" over ").map_or(line, |(_, links)| links);
        let mut network: Network =
            links.parse().map_err(|bad: crate::net::BadNetwork| bad.to_string())?;
        network.supply(&|name| outside.file(name))?;
        let (product, queue) = holds(&network);
        let window = match self {
            Self::TcpReno | Self::TcpCubic => product + queue / 4 * 3,
            _ => (product + queue).saturating_mul(5) / 2,
        };
        let window = window.clamp(1 << 16, 1 << 30);
        let mut text = match self {
            // The handshake passes through the network, as with all others.
            Self::TcpReno | Self::TcpCubic => {
                format!("tcp:window={window},sendbuf={window},queue=1000,handshake")
            }
            Self::SackReno | Self::SackCubic => format!("sack:window={window}"),
            _ => format!("quic:window={window}"),
        };
        text.push_str(match self {
            Self::TcpReno | Self::SackReno | Self::QuicReno => ",cc=reno",
            Self::TcpCubic | Self::SackCubic | Self::QuicCubic => ",cc=cubic",
            Self::QuicBbr => ",cc=bbr",
        });
        let _ = write!(text, " over {links}");
        Ok(text)
    }
}

/// Bytes per round trip of the bottleneck, and the size of its queue.
fn holds(network: &Network) -> (u64, u64) {
    const MOST: u64 = 1 << 30;
    let rates = |link: &Link| match link {
        Link::Path(path) => [path.rate_bps, path.police_bps],
        Link::Trace(trace) => [trace.rate_from(End::A), 0],
        Link::Wifi(wifi) => [wifi.rate_bps(), 0],
        _ => [0; 2],
    };
    let rate = network.links.iter().flat_map(rates).filter(|rate| *rate > 0).min();
    let product = u128::from(rate.unwrap_or(10_000_000)) * round_trip(network).as_nanos();
    let product = u64::try_from(product / 8_000_000_000).unwrap_or(MOST).min(MOST);
    let bytes = |queue| match queue {
        Queue::Bytes(bytes) => bytes,
        Queue::Packets(count) => count * 1500,
        // The bandwidth-delay product once more.
        Queue::Unlimited => product,
    };
    let queue = |link: &Link| match link {
        Link::Path(path) => bytes(path.queue),
        Link::Trace(trace) => bytes(trace.queue),
        Link::Wifi(wifi) => bytes(Queue::Packets(wifi.queue as u64)),
        _ => 0,
    };
    let queues = network.links.iter().map(queue);
    (product, queues.fold(0, |sum: u64, queue| sum.saturating_add(queue).min(MOST)))
}

/// Both ways together over these links, without the time at bottlenecks and in queues.
pub(super) fn round_trip(network: &Network) -> Duration {
    let slotted = |model: &SlottedModel| (model.frame * 3 / 2 + model.reserve + model.delay) * 2;
    let of = |link: &Link| match link {
        Link::Path(path) => path.round_trip(),
        Link::Slotted(model) => slotted(model),
        Link::Trace(trace) => trace.delay * 2,
        _ => Duration::ZERO,
    };
    network.links.iter().map(of).sum()
}

/// What a network of paths can carry in characters per 1000 s: the rate of its bottleneck less the
/// headers of UDP, IP and NETBLT in packets of 1500 bytes, less what is lost on the way. `None`
/// if something else than paths is in it, or if none of them takes any time.
pub(super) fn limit_millicps(network: &Network) -> Option<u64> {
    /// Of a packet, and of that the data: 20 + 8 + 24 bytes are headers.
    const PACKET: (u64, u64) = (1500, 1448);
    let mut limit: Option<u64> = None;
    // Parts in 2^32 that arrive.
    let mut arrives: u64 = 1 << 32;
    for link in &network.links {
        let (rates, overhead, loss) = match link {
            Link::Path(path) => {
                let harmed = path.direction.includes(End::A);
                let loss = if harmed { path.loss } else { Probability::NEVER };
                ([path.rate_bps, path.police_bps], path.overhead_bytes, loss)
            }
            Link::Trace(trace) => ([trace.rate_from(End::A), 0], 0, trace.loss),
            Link::Wifi(wifi) => ([wifi.rate_bps(), 0], 0, Probability::NEVER),
            _ => return None,
        };
        for rate in rates.into_iter().filter(|rate| *rate > 0) {
            let line = u128::from(PACKET.0 + overhead) * 8;
            let millicps = u128::from(rate) * u128::from(PACKET.1) * 1000 / line;
            let millicps = u64::try_from(millicps).unwrap_or(u64::MAX);
            limit = Some(limit.map_or(millicps, |limit| limit.min(millicps)));
        }
        let (digits, scale) = loss.decimal();
        let lost = (u128::from(digits) << 32) / 10u128.pow(scale);
        let lost = u64::try_from(lost).unwrap_or(u64::MAX).min(1 << 32);
        arrives = ((u128::from(arrives) * u128::from((1 << 32) - lost)) >> 32) as u64;
    }
    limit.map(|limit| ((u128::from(limit) * u128::from(arrives)) >> 32) as u64)
}
