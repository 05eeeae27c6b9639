//! Trace lines that are thinned out.

use crate::engine::Cx;
use crate::stats::Stats;
use crate::time::Instant;
use crate::trace::{TraceEvent, Wait};

/// The last cause of waiting that was traced, so that each is traced once.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WaitTrace(Wait);

impl WaitTrace {
    /// Traces what is awaited, if it has changed. `wait` is not called
    /// when the trace is off.
    pub(crate) fn note(self, cx: &mut Cx<'_>, wait: impl FnOnce() -> Wait) -> Self {
        if !cx.trace.enabled() {
            return self;
        }
        let wait = wait();
        if wait != self.0 {
            cx.trace.record(cx.now, &TraceEvent::Waiting(wait));
        }
        Self(wait)
    }
}

/// Traces when bytes left, without a line for each: a full port takes them one by one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OutputTrace {
    /// Bytes already traced.
    told: u64,
    /// When the first untraced one left.
    since: Option<Instant>,
}

impl OutputTrace {
    /// A line for at least this many bytes, and for the last ones.
    const MANY: u64 = 64;

    /// Traces that the port has taken `total` bytes since the start; `pending` more are queued.
    pub(crate) fn note(self, cx: &mut Cx<'_>, total: u64, pending: usize) -> Self {
        if !cx.trace.enabled() {
            return self;
        }
        let since = self.since.unwrap_or(cx.now);
        if pending > 0 && total - self.told < Self::MANY {
            return Self { since: Some(since), ..self };
        }
        let ago_ns = cx.now.as_nanos() - since.as_nanos();
        cx.trace.record(cx.now, &TraceEvent::Left { total, ago_ns });
        Self { told: total, since: None }
    }
}

/// Traces when bytes came, without a line for each: at packet boundaries, and many at
/// a time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InputTrace {
    /// Packets so far, good or damaged.
    packets: u64,
    /// The last bytes ended a packet.
    between: bool,
}

impl InputTrace {
    /// At least this many bytes at a time always have a line.
    const MANY: usize = 64;

    /// Traces that `used` bytes came; `stats` already counts them and the packets they ended.
    pub(crate) fn note(self, cx: &mut Cx<'_>, used: usize, stats: &Stats) -> Self {
        if used == 0 || !cx.trace.enabled() {
            return self;
        }
        let packets = stats.packets_in + stats.damaged;
        let ended = packets != self.packets;
        if self.between || ended || used >= Self::MANY {
            cx.trace.record(cx.now, &TraceEvent::Came { total: stats.wire_in_bytes });
        }
        Self { packets, between: ended }
    }
}

/// Traces a duplicate packet.
pub(crate) fn trace_duplicate(cx: &mut Cx<'_>, number: u64) {
    if cx.trace.enabled() {
        cx.trace.record(cx.now, &TraceEvent::Duplicate { number });
    }
}
