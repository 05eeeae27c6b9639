//! The result of a run in a few lines of text.

use super::{Outcome, Scenario};
use std::fmt::Write as _;

impl Outcome {
    /// The efficiency against the line's limit in percent, if the line has one and the file arrived.
    pub fn efficiency_percent(&self) -> Option<f64> {
        let limit = self.limit_millicps.filter(|_| self.is_done())?;
        Some(self.efficiency(limit) as f64 / 1000.0)
    }

    /// The report of a SLIP line and its interactive traffic; empty elsewhere.
    fn on_slip(&self) -> String {
        let mut text = String::new();
        if let Some([out, back]) = self.ledgers {
            let ack = back.ack_millibytes().unwrap_or(0) as f64 / 1000.0;
            let _ = writeln!(
                text,
                "on the line {} bytes: {} of data, {} of headers around it, {} of typing; back {} \
                 acknowledgements of {ack:.1} bytes",
                out.line_bytes, out.data_bytes, out.head_bytes, out.typed_bytes, back.acks,
            );
        }
        if let Some(echoes) = self.echoes {
            let ms = |ns: u64| ns / 1_000_000;
            let _ = writeln!(
                text,
                "{} keys, {} echoes: half of them within {} ms, nine of ten within {} ms, all within {} ms",
                echoes.keys,
                echoes.echoed,
                ms(echoes.median_ns),
                ms(echoes.p90_ns),
                ms(echoes.longest_ns),
            );
        }
        text
    }
}

impl Scenario {
    /// File bytes that did not arrive; 0 for a successful run.
    pub fn lost_bytes(&self, outcome: &Outcome) -> u64 {
        if outcome.is_done() { 0 } else { self.counted_bytes().saturating_sub(outcome.bytes) }
    }

    /// What a run of it did: the protocol and the line, bytes and time, how it ended.
    pub fn summary(&self, outcome: &Outcome) -> String {
        let share = outcome
            .efficiency_percent()
            .map_or_else(String::new, |share| format!(", {share:.1} % of what the line can carry"));
        let (seconds, bytes) = (outcome.elapsed.as_secs_f64(), outcome.bytes);
        let speed = outcome.millicps() as f64 / 1000.0;
        let moved = if outcome.is_done() {
            format!("{bytes} bytes in {seconds:.3} s: {speed:.1} characters per second{share}")
        } else {
            let all = self.counted_bytes();
            let lost = self.lost_bytes(outcome);
            format!(
                "{bytes} of {all} bytes arrived and were stored in {seconds:.3} s: {speed:.1} characters \
                 per second; {lost} bytes did not"
            )
        };
        // Over SLIP it is TCP that retransmits, which the account has (--explain).
        let again = match outcome.ledgers {
            Some(_) => String::new(),
            None => format!("; {} packets retransmitted", outcome.retransmissions()),
        };
        format!(
            "{} over {}\n{moved}\n{}{}{again}; trace {:016x} of seed {}\n",
            self.protocol_name(),
            self.line().join(" + "),
            outcome.on_slip(),
            outcome.ending,
            outcome.trace_digest,
            self.seed(),
        )
    }
}
