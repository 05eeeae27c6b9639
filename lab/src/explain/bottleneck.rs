//! The bottleneck as a sentence.

use super::budget::{Part, share};
use super::{Account, Ends};
use std::fmt::Write as _;

/// From this share of file data in thousandths, the line itself is the limit.
const FULL: u64 = 800;

impl Account {
    /// What limited the transfer most, as a sentence.
    pub fn bottleneck(&self) -> String {
        let payload = self.budget.permille(Part::Payload);
        let cost = self.budget.largest_cost();
        let Some((part, ns)) = cost.filter(|_| payload < FULL) else {
            let share = percent(payload);
            return format!("The line is the limit: for {share} of the time it carried file data.");
        };
        let share = percent(share(ns, self.budget.total()));
        let unknown = if self.ends == Ends::Both {
            ""
        } else {
            " Whether the line or the peer takes that time cannot be seen from one end."
        };
        match part {
            Part::Acknowledgement => format!(
                "Waiting for acknowledgements: for {share} of the time the line was idle, because \
                 no more could be sent before an answer{}.{unknown}",
                self.where_waited()
            ),
            Part::ThinkTime => format!(
                "A computer: for {share} of the time the line was idle while an end was busy.\
                 {unknown}"
            ),
            Part::Asked => format!(
                "What the receiver asked for again ({share} of the time). Whether it came damaged \
                 or not at all cannot be seen from one end."
            ),
            Part::StartUp => format!("Start-up: {share} of the time passed before the first data."),
            Part::Closing => format!("Closing: {share} of the time passed after the last data."),
            _ => format!("{} ({share} of the time).", cause(part)),
        }
    }

    /// Where the waits for answers were, if some were outside the data.
    fn where_waited(&self) -> String {
        let percent = |ns: u64| percent(share(ns, self.budget.total()));
        let outside = [(Part::StartUp, "before"), (Part::Closing, "after")]
            .map(|(part, word)| (self.budget.answer_wait(part), word));
        let mut text = format!(": {} between data", percent(self.budget.of(Part::Acknowledgement)));
        let said = outside.iter().filter(|(ns, _)| *ns > 0);
        for (ns, word) in said.clone() {
            let _ = write!(text, ", {} {word} it", percent(*ns));
        }
        if said.count() > 0 { text } else { String::new() }
    }
}

/// The meaning of a part when it is the largest.
const fn cause(part: Part) -> &'static str {
    match part {
        Part::Rfnm => {
            "Waiting for RFNMs: the line was idle while messages were under way, and no more may be"
        }
        Part::Allocation => "Waiting for allocation: the other host had no room for more",
        Part::Encoding => "Encoding: prefixes and escapes take much of the line",
        Part::Framing => "Packets are short: their marks, lengths and checks take much of the line",
        Part::Damage => "Noise: damaged packets had to be retransmitted",
        Part::Loss => "Loss: lost packets had to be retransmitted",
        Part::Timeout => "Timeouts: lost packets or answers were only detected by timeouts",
        Part::GoBack => "Go-back-N: after damage all later packets were retransmitted",
        Part::TurnAround => "The line is half duplex, and turning it around takes much of the time",
        Part::OtherSide => {
            "The channel is half duplex: acknowledgements, and the turns that carry them, take much of \
             the time"
        }
        Part::Unfilled => {
            "The modem's packets are not full: what is sent at a time does not fit their lengths"
        }
        Part::Typing => "Interactive traffic and its echo",
        Part::FlowControl => "Flow control: the line or the port did not accept data",
        Part::Pause => "Pauses of the protocol for the peer",
        Part::Store => "The local file: reading or writing it held up the line",
        Part::Network => {
            "The network: TCP waited for its own acknowledgements or repeated, or others had the \
             link"
        }
        _ => "Nothing was sent, for no visible reason",
    }
}

/// Thousandths as percent: whole ones, or with one decimal below ten.
pub(super) fn percent(permille: u64) -> String {
    if permille >= 100 {
        format!("{} %", (permille + 5) / 10)
    } else {
        format!("{}.{} %", permille / 10, permille % 10)
    }
}
