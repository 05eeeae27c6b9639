//! Where the time went, in parts that add up.

use std::fmt;

/// What a nanosecond of a transfer was spent on. Each belongs to exactly one of these.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Part {
    /// File bytes on the line, each for the first time.
    Payload,
    /// Encoding overhead: prefixes, escapes, shifts, padding.
    Encoding,
    /// Characters by which errors are corrected.
    Parity,
    /// Packet overhead: marks, lengths, numbers, checks, line ends, non-data packets.
    Framing,
    /// Line idle: window full, waiting for an acknowledgement.
    Acknowledgement,
    /// Line idle: messages under way, waiting for a RFNM.
    Rfnm,
    /// Line idle: waiting for the other host's allocation.
    Allocation,
    /// Retransmitted because of damage, and the waits that this caused.
    Damage,
    /// Retransmitted on the receiver's request, and the wait for it. Whether it was damaged or lost is not
    /// known.
    Asked,
    /// Retransmitted because later packets were acknowledged and this one was not.
    Loss,
    /// Retransmitted after a timeout, and the wait for it.
    Timeout,
    /// Retransmitted only because it followed a damaged packet.
    GoBack,
    /// Turnaround of a half duplex line.
    TurnAround,
    /// The other side had the half duplex channel: acknowledgements, and turns without data.
    OtherSide,
    /// The modem's packets were not full.
    Unfilled,
    /// Interactive traffic meanwhile, and its echo.
    Typing,
    /// There were bytes to send, and the line or the port did not accept them.
    FlowControl,
    /// Bytes were ready or under way, and the network did not move them at the rate of its slowest link: TCP
    /// waited for its own acknowledgements or retransmitted, or others had the link.
    Network,
    /// Pauses of the protocol for the peer.
    Pause,
    /// A computer at one of the ends was busy.
    ThinkTime,
    /// The sender's or the receiver's own file, or its disk.
    Store,
    /// Until the first data of a file is on the line.
    StartUp,
    /// From the last data of a file to its end.
    Closing,
    /// The line was idle for no visible reason.
    Idle,
}

impl Part {
    /// All of them, in display order.
    pub const ALL: [Self; 24] = [
        Self::Payload,
        Self::Encoding,
        Self::Parity,
        Self::Framing,
        Self::Acknowledgement,
        Self::Rfnm,
        Self::Allocation,
        Self::Damage,
        Self::Asked,
        Self::Loss,
        Self::Timeout,
        Self::GoBack,
        Self::TurnAround,
        Self::OtherSide,
        Self::Unfilled,
        Self::Typing,
        Self::FlowControl,
        Self::Network,
        Self::Pause,
        Self::ThinkTime,
        Self::Store,
        Self::StartUp,
        Self::Closing,
        Self::Idle,
    ];

    /// Its name in JSON.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Payload => "payload",
            Self::Encoding => "encoding",
            Self::Parity => "parity",
            Self::Framing => "framing",
            Self::Acknowledgement => "acknowledgement",
            Self::Rfnm => "rfnm",
            Self::Allocation => "allocation",
            Self::Damage => "retransmission_damage",
            Self::Asked => "retransmission_asked",
            Self::Loss => "retransmission_loss",
            Self::Timeout => "retransmission_timeout",
            Self::GoBack => "retransmission_go_back",
            Self::TurnAround => "turn_around",
            Self::OtherSide => "other_side",
            Self::Unfilled => "unfilled",
            Self::Typing => "typing",
            Self::FlowControl => "flow_control",
            Self::Network => "network",
            Self::Pause => "pause",
            Self::ThinkTime => "think_time",
            Self::Store => "store",
            Self::StartUp => "start_up",
            Self::Closing => "closing",
            Self::Idle => "idle",
        }
    }

    /// Its title; at most 26 characters.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Payload => "file data on the line",
            Self::Encoding => "prefixes and escapes",
            Self::Parity => "error correction",
            Self::Framing => "packet framing",
            Self::Acknowledgement => "waiting for acknowledgement",
            Self::Rfnm => "waiting for RFNM",
            Self::Allocation => "waiting for allocation",
            Self::Damage => "again: damaged",
            Self::Asked => "retransmitted: requested",
            Self::Loss => "again: lost",
            Self::Timeout => "again: timeout",
            Self::GoBack => "retransmitted: go-back-N",
            Self::TurnAround => "line turn-around",
            Self::OtherSide => "turns of the other side",
            Self::Unfilled => "modem packets not full",
            Self::Typing => "interactive traffic, echo",
            Self::FlowControl => "flow control",
            Self::Network => "held up in the network",
            Self::Pause => "pauses of the protocol",
            Self::ThinkTime => "think-time of a computer",
            Self::Store => "a file, or its disk",
            Self::StartUp => "start-up",
            Self::Closing => "closing",
            Self::Idle => "idle",
        }
    }
}

/// How the time of a transfer divides into parts, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Budget {
    ns: [u64; Part::ALL.len()],
    /// The part of start-up for which the line was idle until an answer came.
    start_wait: u64,
    /// The same for closing.
    closing_wait: u64,
}

impl Budget {
    /// The time of one part, in nanoseconds.
    pub const fn of(&self, part: Part) -> u64 {
        self.ns[part as usize]
    }

    /// All parts together.
    pub fn total(&self) -> u64 {
        self.ns.iter().sum()
    }

    /// Of start-up or closing, the time for which the line was idle until an answer came: the same cause as
    /// [`Part::Acknowledgement`]. 0 for any other part.
    pub const fn answer_wait(&self, part: Part) -> u64 {
        match part {
            Part::StartUp => self.start_wait,
            Part::Closing => self.closing_wait,
            _ => 0,
        }
    }

    /// What took longest other than the file itself, with its time; `None` if there is nothing but the file.
    /// Parts with one cause count together: waits for answers before, between and after data as
    /// [`Part::Acknowledgement`]; damage, and retransmissions only because of following it, as
    /// [`Part::Damage`].
    pub fn largest_cost(&self) -> Option<(Part, u64)> {
        let costs = self.costs().map(|(part, ns)| match part {
            Part::Damage if ns > 0 => (part, ns + self.of(Part::GoBack)),
            Part::GoBack if self.of(Part::Damage) > 0 => (part, 0),
            _ => (part, ns),
        });
        costs.filter(|(_, ns)| *ns > 0).max_by_key(|(_, ns)| *ns)
    }

    /// What each part took other than the file itself, with all waits for answers as one.
    pub(super) fn costs(&self) -> impl Iterator<Item = (Part, u64)> {
        Part::ALL.into_iter().map(|part| match part {
            Part::Payload => (part, 0),
            Part::Acknowledgement => (part, self.of(part) + self.start_wait + self.closing_wait),
            _ => (part, self.of(part) - self.answer_wait(part)),
        })
    }

    /// The share of a part, in thousandths, rounded.
    pub fn permille(&self, part: Part) -> u64 {
        share(self.of(part), self.total())
    }

    pub(super) fn add(&mut self, part: Part, ns: u64) {
        self.ns[part as usize] += ns;
    }

    /// Reduces these parts, in this order, by what exceeds `whole`.
    pub(super) fn trim(&mut self, whole: u64, parts: &[Part]) {
        let mut excess = self.total().saturating_sub(whole);
        for part in parts {
            let off = self.of(*part).min(excess);
            self.ns[*part as usize] -= off;
            excess -= off;
        }
    }

    /// Counts idle time with reason `part` in start-up or closing, if it belongs there.
    pub(super) fn add_idle(&mut self, outside: Option<Part>, part: Part, ns: u64) {
        self.add(outside.unwrap_or(part), ns);
        match outside {
            Some(Part::StartUp) if part == Part::Acknowledgement => self.start_wait += ns,
            Some(Part::Closing) if part == Part::Acknowledgement => self.closing_wait += ns,
            _ => {}
        }
    }

    /// Divides `ns` in proportion to some weights; the remainder goes to `rest`.
    pub(super) fn divide(&mut self, ns: u64, weights: &[(Part, u64)], whole: u64, rest: Part) {
        let mut left = ns;
        for (part, weight) in weights {
            let most = u128::from(ns) * u128::from(*weight);
            let take = most.checked_div(u128::from(whole)).unwrap_or(0);
            let take = u64::try_from(take).unwrap_or(u64::MAX).min(left);
            self.add(*part, take);
            left -= take;
        }
        self.add(rest, left);
    }
}

/// `part` of `whole` in thousandths, rounded.
pub(super) fn share(part: u64, whole: u64) -> u64 {
    let twice = u128::from(part) * 2000 + u128::from(whole);
    u64::try_from(twice.checked_div(u128::from(whole) * 2).unwrap_or(0)).unwrap_or(u64::MAX)
}

/// Nanoseconds as seconds with three decimals.
pub(super) fn seconds(ns: u64) -> String {
    let ms = (ns + 500_000) / 1_000_000;
    format!("{}.{:03}", ms / 1000, ms % 1000)
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = Part::ALL.into_iter().map(|part| (part.key(), self.of(part)));
        f.debug_map().entries(parts.filter(|(_, ns)| *ns > 0)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_division_loses_nothing() {
        let mut budget = Budget::default();
        let weights = [(Part::Payload, 80), (Part::Encoding, 13)];
        budget.divide(1_000_003, &weights, 94, Part::Framing);
        assert_eq!(budget.total(), 1_000_003);
        assert_eq!(budget.of(Part::Payload), 1_000_003 * 80 / 94);
        // Weights that claim too much get no more than there is.
        budget.divide(10, &[(Part::Payload, 9), (Part::Encoding, 9)], 9, Part::Framing);
        assert_eq!(budget.total(), 1_000_013);
        budget.divide(7, &[(Part::Payload, 9)], 0, Part::Idle);
        assert_eq!(budget.of(Part::Idle), 7);
    }

    #[test]
    fn each_part_has_a_place_and_names_of_its_own() {
        for (index, part) in Part::ALL.into_iter().enumerate() {
            assert_eq!(part as usize, index);
            assert!(part.title().len() <= 27, "{}", part.title());
        }
        let mut keys = Part::ALL.map(Part::key);
        keys.sort_unstable();
        assert!(keys.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
