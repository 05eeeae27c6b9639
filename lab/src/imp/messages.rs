//! Messages one after the other, as sent by the message generator of an IMP, or a host's test program: without
//! connections and allocation.
//!
//! The steady state is measured: over the second half of the messages, if there are four or more.

use super::SubnetModel;
use crate::element::{Element, End};
use crate::host::PROCESSORS;
use crate::net::DATAGRAM_MAX;
use crate::pair::Stop;
use crate::trace::Recorder;
use std::collections::BTreeMap;
use wetstring_proto::arpanet::leader::{Form, Kind, Leader};
use wetstring_proto::{Cx, Duration, Instant, settings};

/// This many turns at one time are a livelock.
const TURNS_AT_ONE_TIME: u32 = 10_000;
/// Messages are identified by the first twelve bits of their number.
const NUMBERS: u64 = 1 << 12;

settings! {
    /// The messages to send.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct Messages {
        "messages.bits" bits: u64[8..=8064 "bits"] = 1000,
            "Bits of each message that are counted",
            "RFC 632";
        /// A header.
        "messages.header" header: u64[0..=80 "bits"] = 0,
            "More bits of each, which are not",
            "RFC 632";
        "messages.ahead" ahead: u64[1..=64 "messages"] = 1,
            "Messages under way without their RFNM",
            "RFC 632";
    }
}

/// Delays of messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MessageTimes {
    /// From when the first bit was taken to when the other host had all, in nanoseconds: the median.
    pub transit_ns: u64,
    /// From then to the RFNM: the median.
    pub round_trip_ns: u64,
    /// From when the other host's IMP sent a RFNM to when this host had it: the mean.
    pub rfnm_ns: u64,
    /// Messages under way without a RFNM, in thousandths: the mean.
    pub under_way_milli: u64,
    /// Processor time of both hosts, in nanoseconds, for all messages.
    pub processor_ns: u64,
}

/// The result of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MessageReport {
    /// Why it ended.
    pub stop: Stop,
    /// Counted octets received in the measured time.
    pub octets: u64,
    /// The measured time.
    pub elapsed: Duration,
    /// All counted octets received.
    pub all_octets: u64,
    /// When the last RFNM was received.
    pub ended_at: Instant,
    /// Their delays.
    pub times: MessageTimes,
    /// Number of different times.
    pub events: u64,
}

/// A running experiment.
struct Run {
    messages: Messages,
    octets: u64,
    count: u64,
    sent: Vec<Instant>,
    came: Vec<Instant>,
    rfnms: Vec<(u64, Instant)>,
    /// By the link and id of the message.
    open: BTreeMap<u64, u64>,
    inbox: Vec<u8>,
}

impl Messages {
    /// Sends this many counted octets from A to B.
    pub fn run(
        &self,
        octets: u64,
        time_limit: Duration,
        element: &mut dyn Element,
        recorder: &mut Recorder,
    ) -> MessageReport {
        let each = self.bits.div_ceil(8).max(1);
        let mut run = Run {
            messages: *self,
            octets,
            count: octets.div_ceil(each).max(1),
            sent: Vec::new(),
            came: Vec::new(),
            rfnms: Vec::new(),
            open: BTreeMap::new(),
            inbox: vec![0; DATAGRAM_MAX],
        };
        let (mut now, mut events) = (Instant::ZERO, 0);
        let stop = loop {
            events += 1;
            if !run.settle(now, element, recorder) {
                break Stop::Storm;
            }
            let all = run.count as usize;
            if run.came.len() == all && run.rfnms.len() == all {
                break Stop::Over;
            }
            let lies = End::BOTH.into_iter().flat_map(|end| {
                element.next(end).into_iter().chain(element.room(end)).filter(|at| *at > now)
            });
            let Some(next) = lies.min() else { break Stop::Stalled };
            now = next;
            if now > Instant::ZERO + time_limit {
                break Stop::TimeLimit;
            }
        };
        run.report(stop, now, events, &element.counters())
    }
}

impl Run {
    /// Counted octets of a message.
    fn len(&self, index: u64) -> u64 {
        let each = self.messages.bits.div_ceil(8).max(1);
        each.min(self.octets.saturating_sub(index * each)).max(1)
    }

    fn message(&self, index: u64) -> Vec<u8> {
        let number = index % NUMBERS;
        let mut leader = Leader::regular(SubnetModel::HOSTS[End::B.index()], (number >> 4) as u8);
        leader.id = (number & 15) as u8;
        let behind = self.len(index) + self.messages.header.div_ceil(8);
        let mut octets = vec![0; Form::Old.octets() + behind as usize];
        leader.put(Form::Old, &mut octets);
        octets
    }

    fn settle(&mut self, now: Instant, element: &mut dyn Element, recorder: &mut Recorder) -> bool {
        for _ in 0..TURNS_AT_ONE_TIME {
            let mut trace = recorder.of("line");
            let cx = &mut Cx { now, trace: &mut trace };
            let mut moved = false;
            let next = self.sent.len() as u64;
            if next < self.count && next - (self.rfnms.len() as u64) < self.messages.ahead {
                let message = self.message(next);
                if element.offer(cx, End::A, &message) > 0 {
                    self.open.insert(next % NUMBERS, next);
                    self.sent.push(now);
                    moved = true;
                }
            }
            for end in End::BOTH {
                let len = element.emit(cx, end, &mut self.inbox);
                let Ok(leader) = Leader::parse(Form::Old, &self.inbox[..len]) else { continue };
                moved = true;
                match (end, leader.kind) {
                    (End::A, Kind::Rfnm) => {
                        let number = u64::from(leader.link) << 4 | u64::from(leader.id);
                        let index = self.open.remove(&number);
                        self.rfnms.extend(index.map(|index| (index, now)));
                    }
                    (End::B, Kind::Regular) => self.came.push(now),
                    _ => {}
                }
            }
            if !moved {
                return true;
            }
        }
        false
    }

    fn report(
        &self,
        stop: Stop,
        now: Instant,
        events: u64,
        counters: &[(&'static str, u64)],
    ) -> MessageReport {
        // With few messages all are measured, from the start on.
        let from = if self.count >= 4 { self.came.len() / 2 } else { 0 };
        let begin = if from > 0 { self.came[from - 1] } else { Instant::ZERO };
        let ns = |from: Instant, to: Instant| u64::try_from(to.since(from).as_nanos()).unwrap_or(0);
        let transits = self.came.iter().zip(&self.sent).skip(from);
        let transits = transits.map(|(came, sent)| ns(*sent, *came)).collect();
        let trips = self.rfnms.iter().skip(from);
        let trips: Vec<u64> = trips
            .filter_map(|(index, at)| Some(ns(*self.sent.get(*index as usize)?, *at)))
            .collect();
        let last = self.came.last().copied().unwrap_or(now);
        let counter = |name: &str| {
            counters.iter().filter(|(known, _)| *known == name).map(|(_, value)| value).sum::<u64>()
        };
        let elapsed = ns(begin, last);
        let over = ns(begin, self.rfnms.last().map_or(now, |(_, at)| *at));
        let times = MessageTimes {
            transit_ns: median(transits),
            rfnm_ns: counter(super::RFNM_NS).checked_div(counter(super::RFNMS)).unwrap_or(0),
            under_way_milli: (trips.iter().sum::<u64>() * 1000).checked_div(over).unwrap_or(0),
            round_trip_ns: median(trips),
            processor_ns: PROCESSORS.iter().map(|name| counter(name)).sum(),
        };
        let octets =
            |from: usize| (from..self.came.len()).map(|index| self.len(index as u64)).sum();
        MessageReport {
            stop,
            octets: octets(from),
            elapsed: Duration::from_nanos(elapsed),
            all_octets: octets(0),
            ended_at: now,
            times,
            events,
        }
    }
}

fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::Messages;
    use wetstring_proto::settings::Settings;

    #[test]
    fn the_table_states_the_defaults() {
        for row in Messages::TABLE {
            let mut shown = String::new();
            Messages::default().show(row.name, &mut shown).unwrap();
            assert_eq!(shown, row.default, "{}", row.name);
            Messages::default().set(row.name, "?").unwrap_err();
        }
    }
}
