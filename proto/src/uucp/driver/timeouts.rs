//! How long the peer is awaited, and what happens when it says nothing.

use super::{Driver, SHORTEST_WAIT};
use crate::engine::{Blame, Cx, Failure, FailureKind};
use crate::stats::Stats;
use crate::time::{Duration, Instant};
use crate::trace::{Again, TraceEvent};
use crate::uucp::states::Stage;

/// Silence after which an incomplete packet is given up.
const QUIET: Duration = Duration::from_secs(2);

impl Driver {
    /// The retransmission timeout.
    pub(in crate::uucp) fn wait(&self) -> Duration {
        let first = match self.usual {
            Some(usual) => (usual * 4).clamp(SHORTEST_WAIT.min(self.timeout), self.timeout),
            None => self.timeout,
        };
        // On a slow line the port's buffer may take longer than a timeout.
        (first * (1 << self.silent.min(5))).min(self.timeout * 2)
    }

    /// When an incomplete packet is given up, if nothing comes before.
    pub(in crate::uucp) fn quiet_at(&self) -> Instant {
        self.heard + QUIET.min(self.timeout)
    }

    /// When a timer expires. `mid` is in the middle of a packet.
    pub(in crate::uucp) fn deadline(&self, mid: bool) -> Option<Instant> {
        // The peer cannot answer a packet that is still being transmitted: where the rate of the line is not
        // known, a long packet at 300 bit/s takes longer than all retries.
        let progress = self.progress.max(self.took_data);
        // No other packet can come before the end of the one that is arriving.
        let progress = if mid { progress.max(self.heard) } else { progress };
        let quiet = (mid || self.owed).then(|| self.quiet_at());
        let main = match self.stage {
            Stage::Off => return None,
            Stage::A | Stage::B | Stage::C => Some(self.init_at.max(self.progress) + self.timeout),
            Stage::Run if self.queued > 0 => {
                let left = self.ring[self.base].left.unwrap_or(progress);
                let from = left.max(progress).max(self.busy_until);
                Some(from + self.wait())
            }
            Stage::Run => self.expecting.then(|| self.good.max(progress) + self.timeout),
        };
        [quiet.filter(|_| self.stage == Stage::Run), main].into_iter().flatten().min()
    }

    /// A timer expired. `Err` if it did too often.
    pub(in crate::uucp) fn timed_out(
        &mut self,
        cx: &mut Cx<'_>,
        stats: &mut Stats,
    ) -> Result<(), Failure> {
        stats.timeouts += 1;
        let running = self.stage == Stage::Run;
        let waiting_for = match self.stage {
            Stage::Run if self.owed => "packet",
            Stage::Run if self.queued > 0 => "acknowledgement",
            Stage::Run => "packet",
            _ => "init",
        };
        if cx.trace.enabled() {
            let number = u64::from((self.acked + 1) & 7);
            cx.trace.record(cx.now, &TraceEvent::Timeout { waiting_for, number });
        }
        if running && core::mem::take(&mut self.owed) {
            // Something was lost; it is requested without waiting for the full timeout.
            self.reject_due = true;
            self.good = cx.now;
            return Ok(());
        }
        self.silent += 1;
        if self.silent > self.retries {
            let blame = if running { Blame::Line } else { Blame::Peer };
            return Err(Failure { blame, kind: FailureKind::Silence });
        }
        self.progress = cx.now;
        match self.stage {
            Stage::Run if self.queued > 0 => {
                if self.ring[self.base].copies > self.retries {
                    let kind = FailureKind::TooManyRetries;
                    return Err(Failure { blame: Blame::Line, kind });
                }
                if self.high > 0 {
                    self.probing = true;
                    self.rewind(Again::Timeout);
                }
            }
            Stage::Run => self.reject_due = true,
            // Our last packet or its answer was lost.
            Stage::A => self.init_due |= u8::from(self.caller),
            Stage::B => self.init_due |= if self.caller { 2 } else { 1 },
            Stage::C => self.init_due |= if self.caller { 4 } else { 2 },
            Stage::Off => {}
        }
        Ok(())
    }

    /// The retry limit of a packet is reached.
    pub(in crate::uucp) fn is_hopeless(&self) -> bool {
        self.high > 0 && self.ring[self.base].copies > self.retries
    }
}
