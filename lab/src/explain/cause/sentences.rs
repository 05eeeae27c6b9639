//! Causes in words.

use super::super::bottleneck::percent;
use super::super::budget::{Part, share};
use super::super::{Account, Ends};
use super::{Cause, Cost, SECOND};
use std::fmt::Write as _;

impl Account {
    /// What limited the transfer most, and what next, as sentences.
    pub fn bottleneck(&self) -> String {
        let causes = self.causes();
        let Some(first) = causes.first() else { return String::new() };
        let mut text = self.sentence(first);
        let hedge = self.ends != Ends::Both && Self::needs_both_ends(first.cause);
        if hedge {
            text.push_str(
                " Whether the line or the peer takes that time cannot be seen from one end.",
            );
        }
        let total = self.budget.total();
        let next = causes.iter().skip(1).find(|cost| share(cost.ns, total) >= SECOND);
        if let Some(next) = next {
            let sentence = self.sentence(next);
            let (head, tail) = sentence.split_at(sentence.chars().next().map_or(0, char::len_utf8));
            // Names keep their capitals.
            let keeps = tail.starts_with(|c: char| c.is_ascii_uppercase() || c == '.');
            let head = if keeps { head.to_owned() } else { head.to_lowercase() };
            let _ = write!(text, " Next: {head}{tail}");
        }
        text
    }

    /// What to do about the first cause, if that is no setting of a protocol.
    pub fn remedy(&self) -> Option<&'static str> {
        Some(match self.causes().first()?.cause {
            Cause::SlowerThanPort => {
                "a faster line is the only cure; hardware flow control (RTS/CTS) keeps the port from \
                 overrunning it"
            }
            Cause::Incompressible => "a packed file gains nothing from modems that compress",
            Cause::LatencyTimer(_) => {
                "lower the adapter's latency timer (Linux: \
                 /sys/bus/usb-serial/devices/ttyUSB0/latency_timer), or use a protocol that does not \
                 wait for each answer"
            }
            Cause::Noise | Cause::LongPackets(_) => {
                "a lower rate, a better cable, or modems that correct errors (V.42)"
            }
            Cause::NoErrorControl => "switch on error control (V.42) in both modems",
            Cause::Overrun => {
                "switch on flow control (RTS/CTS) at both ends, or lower the rate of the line"
            }
            Cause::TooLong(_) => "enlarge the peer's buffer, or switch on its flow control",
            Cause::Queue(_) => {
                "shorten the buffers of ports, terminal servers or modems on the way"
            }
            Cause::TcpWindow(..) => "enlarge TCP's buffers at both ends to what the path holds",
            Cause::Disk => "a faster disk, or a file system in memory",
            Cause::Part(Part::ThinkTime) => "a faster computer, or one with less to do",
            _ => return None,
        })
    }

    const fn needs_both_ends(cause: Cause) -> bool {
        matches!(cause, Cause::Window | Cause::Part(Part::ThinkTime))
    }

    fn sentence(&self, cost: &Cost) -> String {
        let of = percent(share(cost.ns, self.budget.total()));
        match cost.cause {
            Cause::Line => {
                format!("The line is the limit: for {of} of the time it carried file data.")
            }
            Cause::SlowerThanPort => format!(
                "The line behind the port is slower than the port, and is the limit: for {of} of the \
                 time it carried file data{}.",
                self.rates()
            ),
            Cause::Incompressible => format!(
                "The line is the limit: for {of} of the time it carried file data, of which the \
                 modems' compression saved little."
            ),
            Cause::Window => format!(
                "Waiting for acknowledgements: for {of} of the time the line was idle, because \
                 no more could be sent before an answer{}.",
                self.where_waited()
            ),
            Cause::Unanswered => {
                format!("The peer: for {of} of the time nothing usable came from it.")
            }
            Cause::Part(Part::ThinkTime) => {
                format!("A computer: for {of} of the time the line was idle while an end was busy.")
            }
            Cause::Part(Part::StartUp) => {
                format!("Start-up: {of} of the time passed before the first data.")
            }
            Cause::Part(Part::Closing) => {
                format!("Closing: {of} of the time passed after the last data.")
            }
            cause => format!("{} ({of} of the time).", named(cause)),
        }
    }

    /// The rates of port and line.
    fn rates(&self) -> String {
        let port = self.log.value("rate_bps").unwrap_or(0);
        let line = self.millicps.map_or(0, |rate| (rate + 50) / 100);
        format!(" ({port} bit/s at the port, about {line} behind it)")
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

/// A cause without its share of the time.
fn named(cause: Cause) -> String {
    match cause {
        Cause::LatencyTimer(ms) => format!(
            "Waiting for acknowledgements {ms} ms each time, which looks like the latency timer of a \
             USB adapter"
        ),
        Cause::ShortTimer => {
            "A timer is shorter than the round trip: packets were retransmitted whose answers were \
             under way"
                .to_owned()
        }
        Cause::Noise => "Noise: damaged packets had to be retransmitted".to_owned(),
        Cause::LongPackets(length) => format!(
            "Noise, or whatever else damages packets, and they are long for it: about {length} bytes \
             would suit these errors"
        ),
        Cause::NoErrorControl => {
            "The modems do no error control (V.42), and damaged packets had to be retransmitted"
                .to_owned()
        }
        Cause::Overrun => {
            "Overruns: characters were lost in front of a computer, which flow control would prevent"
                .to_owned()
        }
        Cause::TooLong(length) => format!(
            "Long packets do not arrive: none of {length} bytes or more did, and shorter ones do, as \
             if a buffer at the peer were that short"
        ),
        Cause::Queue(ms) => format!(
            "Buffers on the way hold too much: when something had to be retransmitted, {}.{} s of \
             bytes were queued before it",
            ms / 1000,
            ms % 1000 / 100
        ),
        Cause::Asked => {
            "What the receiver asked for again, whether it came damaged or not at all".to_owned()
        }
        Cause::TcpWindow(window, holds) => format!(
            "TCP's window is too small: {window} bytes may be under way, and the path holds {holds}"
        ),
        Cause::SegmentLoss => {
            "The network lost segments of TCP, which slowed down and retransmitted them".to_owned()
        }
        Cause::EighthBit => {
            "Encoding for 7 bits: bytes with the eighth bit set take prefixes (8th-bit prefixing)"
                .to_owned()
        }
        Cause::ControlPrefixes => {
            "Encoding: control characters are sent with prefixes, which take much of the line"
                .to_owned()
        }
        Cause::ShortOfPeer(length) => format!(
            "Packets are short, as the peer takes no longer ones than {length} bytes: their marks, \
             lengths and checks take much of the line"
        ),
        Cause::Disk => "A slow disk: the receiver or the sender waited for it".to_owned(),
        Cause::Part(part) => of_part(part).to_owned(),
        Cause::Line
        | Cause::SlowerThanPort
        | Cause::Incompressible
        | Cause::Window
        | Cause::Unanswered => String::new(),
    }
}

/// The meaning of a part when it is a cause itself.
const fn of_part(part: Part) -> &'static str {
    match part {
        Part::Rfnm => {
            "Waiting for RFNMs: the line was idle while messages were under way, and no more may be"
        }
        Part::Allocation => "Waiting for allocation: the other host had no room for more",
        Part::Encoding => "Encoding: prefixes and escapes take much of the line",
        Part::Framing => "Packets are short: their marks, lengths and checks take much of the line",
        Part::Loss => "Loss: lost packets had to be retransmitted",
        Part::Timeout => "Timeouts: lost packets or answers were only detected by timeouts",
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
