//! The automatic rate of NETBLT: how it fills paths, and how long queues are.

use crate::netblt_run;

use netblt_run::{OVERHEAD, Path, Plan, Report, Side, ends, receiver, run, sender};
use wetstring_lab::pattern::{PatternSink, PatternSource};
use wetstring_proto::netblt::Config;
use wetstring_proto::{Duration, Outcome};

/// Without digests: of a gigabyte each would take its time.
fn config() -> Config {
    Config { digest: false, ..Config::default() }
}

/// What of the line's rate file data can have, with this loss.
fn best(path: &Path, config: &Config) -> f64 {
    let datagram = f64::from(config.max_datagram);
    let data = (datagram - 24.0) / (datagram + OVERHEAD as f64);
    path.rate_bps as f64 * data * (1.0 - path.loss as f64 / 10_000.0)
}

/// Sends for this many round trips, and at least for this time.
fn measure(path: &Path, config: &Config, seconds: f64) -> (Report, f64) {
    let rtt = path.rtt.as_secs_f64();
    let len = (path.rate_bps as f64 * seconds / 8.0) as u64;
    let (ours, theirs) = ends(config, true);
    let (mut sending, mut receiving) = (sender(&ours), receiver(&theirs));
    let (mut source, mut sink) = (PatternSource::new(b"made", len), PatternSink::new());
    let a = Side { engine: &mut sending, store: &mut source };
    let b = Side { engine: &mut receiving, store: &mut sink };
    let every = Some(Duration::from_secs_f64(rtt / 4.0).max(Duration::from_millis(5)));
    let report = run(path, &Plan { every, ..Plan::default() }, a, b);
    assert_eq!(report.b.outcome, Some(Outcome::Done), "{path:?} {report:?}");
    assert!(sink.has_all(len), "{path:?}");
    // After ten round trips, until a little before the sender has nothing new.
    let from = Duration::from_secs_f64(10.0 * rtt);
    let until = Duration::from_secs_f64((seconds * 0.9).max(10.0 * rtt + 0.5));
    let rate = report.rate(from, until);
    let share = rate / best(path, config);
    (report, share)
}

#[test]
fn one_path() {
    let Ok(text) = std::env::var("WETSTRING_PATH") else { return };
    let words: Vec<u64> = text.split(' ').map(|word| word.parse().unwrap()).collect();
    let path = Path::new(words[0] * 1_000_000, words[1]).loss(words[2]);
    let seconds = words[1] as f64 / 1000.0 * 25.0;
    let (report, share) = measure(&path, &config(), seconds.max(6.0));
    let mut last = (0.0, 0);
    for point in report.curve.iter().step_by(2) {
        let time = point.0.as_secs_f64();
        let bits = (point.1 - last.1) as f64 * 8.0;
        println!("{time:.3} {:.3}", bits / (time - last.0) / path.rate_bps as f64);
        last = (time, point.1);
    }
    println!("{share}");
}

/// `WETSTRING_GRID=1 cargo test -p wetstring-lab netblt_rate:: -- --nocapture` runs all of it.
#[test]
fn the_grid() {
    let all = std::env::var_os("WETSTRING_GRID").is_some();
    let (rates, rtts, losses): (&[u64], &[u64], &[u64]) = if all {
        (&[1, 10, 100, 1000], &[2, 69, 240, 600, 1800], &[0, 10, 100, 500])
    } else {
        (&[1, 10, 100], &[2, 69, 600], &[0, 100, 500])
    };
    let config = config();
    for &mbps in rates {
        for &rtt in rtts {
            for &loss in losses {
                let path = Path::new(mbps * 1_000_000, rtt).loss(loss);
                let seconds = (rtt as f64 / 1000.0 * 25.0).max(if mbps > 100 { 1.0 } else { 6.0 });
                let (report, share) = measure(&path, &config, seconds);
                let Report { waited_max, waited_mean, dropped, .. } = &report;
                let stats = report.a.stats;
                let again = stats.retransmissions as f64 * 100.0 / stats.packets_out as f64;
                let share = share * 100.0;
                println!(
                    "{mbps} Mb/s {rtt} ms loss {loss}: {share:.1} %, queue {waited_max:?} at most, \
                     {waited_mean:?} on average, {dropped} dropped, {again:.2} % sent again"
                );
                let aim = if loss > 100 { 90.0 } else { 97.0 };
                assert!(share >= aim, "{mbps} Mb/s {rtt} ms loss {loss}: {share:.1} %");
            }
        }
    }
}

/// How much of the path is used over a window that begins this many round trips after the first packet of data
/// has left, for each of these. It is measured at the bottleneck, half a round trip before its packets arrive.
fn filled(path: &Path, round_trips: &[f64]) -> Vec<f64> {
    let (config, rtt) = (config(), path.rtt.as_secs_f64());
    let packet = (u64::from(config.max_datagram) + OVERHEAD) as f64 * 8.0 / path.rate_bps as f64;
    // A window of fewer packets does not tell 97 % from 100.
    let window = rtt.max(64.0 * packet);
    let last = round_trips.iter().fold(0.0_f64, |most, n| most.max(*n));
    // From OPEN on: the answer to it, and the last window's arrival.
    let until = (last + 2.5) * rtt + window + 4.0 * packet;
    let len = (path.rate_bps as f64 * until / 4.0) as u64;
    let (ours, theirs) = ends(&config, true);
    let (mut sending, mut receiving) = (sender(&ours), receiver(&theirs));
    let (mut source, mut sink) = (PatternSource::new(b"made", len), PatternSink::new());
    let a = Side { engine: &mut sending, store: &mut source };
    let b = Side { engine: &mut receiving, store: &mut sink };
    let every = Some(Duration::from_secs_f64((rtt / 50.0).min(packet * 4.0)));
    let limit = Some(Duration::from_secs_f64(until));
    let report = run(path, &Plan { limit, every, ..Plan::default() }, a, b);
    let first = report.curve.iter().find(|point| point.1 > 0).expect("something came").0;
    let arrival = first.as_secs_f64() - packet;
    let share = |n: &f64| {
        let from = arrival + n * rtt;
        let (from, to) = (Duration::from_secs_f64(from), Duration::from_secs_f64(from + window));
        report.rate(from, to) / best(path, &config)
    };
    round_trips.iter().map(share).collect()
}

/// Slow start begins with two packets, then has 64 in a round trip, and eight times as many from each to the next: that
/// many round trips after its first packet of data a transfer uses 97 % of an empty path, over a round trip, or the time
/// of 64 packets where that is longer. One more where the capacity is above what clocks tell of two packets.
fn round_trips_to_fill(rate_bps: u64, rtt_ms: u64) -> u32 {
    let product = rate_bps * rtt_ms / 8000 / 1500;
    let steps = (0..10).find(|steps| 64 << (3 * steps) >= product).expect("a path");
    // The first two packets, and the time until each step is judged: 10 ms at least.
    let trips = 3 + steps * 3 / 2 + u32::from(rate_bps > 100_000_000);
    trips.max((60 / rtt_ms) as u32)
}

#[test]
fn slow_start_fills_an_empty_path_within_a_few_round_trips() {
    for mbps in [1, 10, 100, 1000] {
        for rtt in [2, 69, 240, 600, 1800] {
            let mut path = Path::new(mbps * 1_000_000, rtt);
            // As in the laboratory's sweeps: a round trip's worth, and 20 packets of 1500 bytes at least.
            path.queue = (path.rate_bps * rtt / 8000).max(20 * 1500);
            let last = round_trips_to_fill(path.rate_bps, rtt);
            let shares = filled(&path, &[1.0, 2.0, 3.0, f64::from(last)]);
            let percent: Vec<String> =
                shares.iter().map(|share| format!("{:.1}", share * 100.0)).collect();
            println!(
                "{mbps} Mb/s {rtt} ms: {} % after 1, 2, 3, {last} round trips",
                percent.join(", ")
            );
            assert!(shares[3] >= 0.97, "{mbps} Mb/s {rtt} ms: {percent:?}");
        }
    }
}
