//! A network measured as RFC 2544 has it: throughput and latency by length of the packets.
//!
//! Packets of one length go from A to B one after the other at an even rate. Throughput is the highest rate at which none
//! is lost in a trial [RFC 2544 §26.1, RFC 1242 §3.17], found by halving an interval; latency is from when
//! a packet's first bit is offered to when all of it has come, at that rate [§26.2]: of every packet, where the RFC
//! has one of each trial. Its lengths are those of Ethernet's frames; here they are lengths of packets.
//!
//! On a network with random loss there is no such rate: the result is close to zero.

use crate::element::{Element, End};
use crate::net::DATAGRAM_MAX;
use wetstring_proto::{Cx, Duration, Instant, NoTrace};

/// Lengths of packets in bytes [RFC 2544 §9.1, up to an MTU of 1500].
pub const LENGTHS: [usize; 7] = [64, 128, 256, 512, 1024, 1280, 1500];

/// The latency of packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Latency {
    /// The shortest, the mean, what 99 of 100 have at most, and the longest.
    pub least: Duration,
    /// See [`Latency::least`].
    pub mean: Duration,
    /// See [`Latency::least`].
    pub p99: Duration,
    /// See [`Latency::least`].
    pub most: Duration,
}

/// The measurement with one length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// Bytes of a packet.
    pub bytes: usize,
    /// The highest rate without loss, in packets per 1000 s; next to nothing where packets are lost by chance.
    pub millipackets: u64,
    /// Latency at that rate, or at the lowest that was tried.
    pub latency: Option<Latency>,
}

/// How it is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bench {
    /// How long packets are offered in a trial.
    pub trial: Duration,
    /// The highest rate that is tried, in bit/s.
    pub most_bps: u64,
}

impl Default for Bench {
    /// Ten seconds, up to a gigabit: the RFC has 60 s, and here two trials of one rate never differ.
    fn default() -> Self {
        Self { trial: Duration::from_secs(10), most_bps: 1_000_000_000 }
    }
}

/// The rate is found within this part of itself.
const EXACT: u64 = 500;

impl Bench {
    /// Measures with packets of this length; `build` makes a new network for each trial.
    pub fn measure(&self, bytes: usize, build: &dyn Fn() -> Box<dyn Element>) -> Row {
        let most = u128::from(self.most_bps) * 1000 / (bytes as u128 * 8);
        let (mut low, mut high) = (0u64, u64::try_from(most).unwrap_or(u64::MAX));
        let mut best = self.trial(high, bytes, build).filter(|_| high > 0);
        if best.is_some() {
            return Row { bytes, millipackets: high, latency: best };
        }
        while high - low > (high / EXACT).max(100) {
            let middle = low + (high - low) / 2;
            match self.trial(middle, bytes, build) {
                Some(latency) => {
                    low = middle;
                    best = Some(latency);
                }
                None => high = middle,
            }
        }
        Row { bytes, millipackets: low, latency: best }
    }

    /// Latencies at this rate; `None` if a packet is lost.
    fn trial(
        &self,
        millipackets: u64,
        bytes: usize,
        build: &dyn Fn() -> Box<dyn Element>,
    ) -> Option<Latency> {
        let mut element = build();
        let rate = u128::from(millipackets.max(1));
        let count = (self.trial.as_nanos() * rate / 1_000_000_000_000).max(1) as u64;
        let at = |number: u64| u128::from(number) * 1_000_000_000_000 / rate;
        let (mut packet, mut into) = (vec![0; bytes], vec![0; DATAGRAM_MAX]);
        let mut taken: Vec<u64> = Vec::new();
        let mut offered = 0u64;
        loop {
            let due = (offered < count).then(|| u64::try_from(at(offered)).unwrap_or(u64::MAX));
            let inside = element.next(End::B).map(Instant::as_nanos);
            let Some(now) = due.into_iter().chain(inside).min() else { break };
            let mut cx = Cx { now: Instant(now), trace: &mut NoTrace };
            if due == Some(now) {
                packet[..8].copy_from_slice(&offered.to_be_bytes());
                if element.offer(&mut cx, End::A, &packet) == 0 {
                    return None;
                }
                offered += 1;
            }
            loop {
                let len = element.emit(&mut cx, End::B, &mut into);
                let Some(number) = into[..len].first_chunk().copied().map(u64::from_be_bytes)
                else {
                    break;
                };
                taken.push(now.saturating_sub(at(number) as u64));
            }
        }
        (taken.len() as u64 == count).then(|| latency(taken))
    }
}

fn latency(mut taken: Vec<u64>) -> Latency {
    taken.sort_unstable();
    let sum: u128 = taken.iter().map(|ns| u128::from(*ns)).sum();
    let place = (taken.len() * 99).div_ceil(100).max(1) - 1;
    Latency {
        least: Duration::from_nanos(taken[0]),
        mean: Duration::from_nanos((sum / taken.len() as u128) as u64),
        p99: Duration::from_nanos(taken[place]),
        most: Duration::from_nanos(taken[taken.len() - 1]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::Network;

    fn measure(text: &str, bytes: usize) -> Row {
        let network: Network = text.parse().expect("a network");
        Bench { trial: Duration::from_secs(2), ..Bench::default() }
            .measure(bytes, &|| network.build())
    }

    #[test]
    fn a_path_has_its_rate_and_its_delay() {
        let row = measure("path:10M,delay=5ms,queue=1p", 1500);
        // 833.3 packets a second, found within two thousandths; each takes 1.2 ms and 5 ms.
        assert!((831_000..=834_000).contains(&row.millipackets), "{row:?}");
        let latency = row.latency.expect("a rate");
        assert_eq!(latency.least, Duration::from_micros(6_200));
        assert!(latency.mean < Duration::from_micros(7_500), "{latency:?}");
        let small = measure("path:10M,delay=5ms,queue=1p,overhead=18", 64);
        // 82 bytes each: 15243.9 a second.
        assert!((15_200_000..=15_260_000).contains(&small.millipackets), "{small:?}");
    }

    #[test]
    fn a_lossy_path_has_no_throughput_and_a_fast_one_has_the_most_that_is_tried() {
        assert!(measure("path:10M,loss=20%", 1500).millipackets < 20_000);
        assert_eq!(measure("path:0", 1500).millipackets, 83_333_333);
    }
}
