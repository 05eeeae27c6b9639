//! The measures of a table.

use super::kind::Kind;
use crate::scenario::Outcome;
use serde::Deserialize;

/// A measure of a transfer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Measure {
    /// Elapsed time.
    Secs,
    /// File characters per second.
    Cps,
    /// The same as a percentage of the limit.
    Eff,
    /// Bits per second on the line, framing included.
    LineBps,
    /// The same as a percentage of the limit.
    LineEff,
    /// File bits per second, in millions.
    Mbps,
    /// File bits per second.
    Bps,
    /// Packets of data that were lost.
    Lost,
    /// Packets retransmitted by the sender.
    Rexmit,
    /// Data timers that expired at the receiver: each requests a retransmission.
    Timeouts,
    /// From a key to its echo, the median, in milliseconds.
    Echo,
    /// Bytes of the line for an acknowledgement, its frame with it.
    Ack,
    /// From a message's first bit to when the other host has all of it, in milliseconds.
    Transit,
    /// From then to its RFNM.
    RoundTrip,
    /// From when a RFNM is sent to when it is there.
    Rfnm,
    /// Messages per second, if each waits for the RFNM of the one before.
    PerS,
    /// Messages without a RFNM.
    UnderWay,
    /// Bits for each second of the processors of both hosts.
    CpuBps,
    /// Microseconds of the processors for each bit.
    UsBit,
}

impl Measure {
    /// Whether it is a random count.
    pub(super) const fn is_count(self) -> bool {
        matches!(self, Self::Lost | Self::Rexmit | Self::Timeouts)
    }

    /// The kind of its values.
    pub(super) const fn kind(self) -> Kind {
        match self {
            Self::Secs
            | Self::Cps
            | Self::Eff
            | Self::LineBps
            | Self::LineEff
            | Self::Mbps
            | Self::Bps => Kind::Rate,
            Self::CpuBps | Self::UsBit => Kind::Processor,
            Self::Echo | Self::Transit | Self::RoundTrip | Self::Rfnm | Self::PerS => Kind::Delay,
            Self::UnderWay | Self::Ack => Kind::Amount,
            Self::Lost | Self::Rexmit | Self::Timeouts => Kind::Count,
        }
    }

    /// What it measures: some are the same in other units, and have one verdict.
    pub(super) const fn quantity(self) -> &'static str {
        match (self.kind(), self) {
            (Kind::Rate, _) => "rate",
            (Kind::Processor, _) => "processor",
            (Kind::Count, _) => "counts",
            (_, Self::RoundTrip | Self::PerS) => "round trip",
            (_, other) => other.name(),
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Secs => "secs",
            Self::Cps => "cps",
            Self::Eff => "eff",
            Self::LineBps => "line-bps",
            Self::LineEff => "line-eff",
            Self::Mbps => "Mb/s",
            Self::Bps => "bps",
            Self::Lost => "lost",
            Self::Rexmit => "rexmit",
            Self::Timeouts => "timeouts",
            Self::Echo => "echo",
            Self::Ack => "ack",
            Self::Transit => "transit",
            Self::RoundTrip => "round-trip",
            Self::Rfnm => "rfnm",
            Self::PerS => "per-s",
            Self::UnderWay => "under-way",
            Self::CpuBps => "cpu-bps",
            Self::UsBit => "us-bit",
        }
    }

    pub(super) const fn unit(self) -> &'static str {
        match self {
            Self::Secs => "s",
            Self::Cps => "cps",
            Self::Eff | Self::LineEff => "%",
            Self::LineBps | Self::Bps | Self::CpuBps => "bit/s",
            Self::Mbps => "Mb/s",
            Self::Lost | Self::Rexmit => "packets",
            Self::Timeouts => "",
            Self::Echo | Self::Transit | Self::RoundTrip | Self::Rfnm => "ms",
            Self::PerS | Self::UnderWay => "messages",
            Self::UsBit => "us",
            Self::Ack => "bytes",
        }
    }

    /// Whether less is better.
    pub(super) const fn less_is_better(self) -> bool {
        !matches!(
            self,
            Self::Cps | Self::Eff | Self::LineBps | Self::LineEff | Self::Mbps | Self::CpuBps
        )
    }
}

/// A value of ours in thousandths, of those that need nothing but the run.
pub(super) fn exact(measure: Measure, run: &Outcome) -> Option<u64> {
    Some(match measure {
        Measure::Bps => run.millicps() * 8,
        Measure::Echo => run.echoes.filter(|of| of.echoed > 0)?.median_ns / 1000,
        Measure::Transit => run.messages?.transit_ns / 1000,
        Measure::RoundTrip => run.messages?.round_trip_ns / 1000,
        Measure::Rfnm => run.messages?.rfnm_ns / 1000,
        Measure::PerS => 1_000_000_000_000_u64.checked_div(run.messages?.round_trip_ns)?,
        Measure::UnderWay => run.messages?.under_way_milli,
        Measure::CpuBps => {
            let bits = u128::from(run.report.sides[1].written) * 8_000_000_000_000;
            u64::try_from(bits.checked_div(u128::from(run.messages?.processor_ns))?).ok()?
        }
        Measure::UsBit => {
            run.messages?.processor_ns.checked_div(run.report.sides[1].written * 8)?
        }
        _ => return None,
    })
}

/// A value in thousandths with one decimal.
pub(super) fn tenths(value: u64) -> String {
    let tenths = (value + 50) / 100;
    format!("{}.{}", tenths / 10, tenths % 10)
}
