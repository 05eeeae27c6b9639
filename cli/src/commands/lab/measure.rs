//! `wst lab repeat`: intervals of confidence from many seeds. `wst lab bench`: throughput and latency of a network
//! as RFC 2544 has them.

use std::fmt::Write as _;
use std::time::Duration;

use wetstring_drive::in_words;
use wetstring_events::{self as events, Event};
use wetstring_lab::bench::{Bench, LENGTHS, Row};
use wetstring_lab::element::Unit;
use wetstring_lab::net::Network;
use wetstring_lab::repeat::{Interval, Repeats};
use wetstring_lab::scenario::Scenario;

use super::pool;
use super::run::{beside, text_of};
use crate::args::lab_measure as args;
use crate::ui::ending::Ending;
use crate::ui::exit::Exit;
use crate::ui::output::{Output, print};

/// Shares of the runs that are printed, in percent.
const SHARES: [u64; 7] = [5, 25, 50, 75, 90, 95, 99];

pub(super) fn repeat(ui: &Output, verb: &args::Repeat) -> Result<Ending, Ending> {
    let path = &verb.scenario;
    let (text, load) = (text_of(path)?, beside(path));
    let scenario = Scenario::parse_with(&path.to_string_lossy(), &text, &verb.sets, &load)
        .map_err(|bad| Ending::early(Exit::Usage, bad.to_string()))?;
    let first = scenario.seed();
    let seeds = (0..verb.runs).map(|run| scenario.clone().with_seed(first.wrapping_add(run)));
    let seeds: Vec<Scenario> = seeds.collect();
    let outcomes = pool::outcomes(&seeds.iter().collect::<Vec<_>>());
    let repeats = Repeats::of(outcomes.iter());
    if ui.has_json() {
        ui.event(Event::Repeats(Box::new(result(&scenario, verb.runs, &repeats))));
    } else {
        print(&page(&scenario, verb.runs, &repeats));
    }
    let exit = if repeats.failed == 0 { Exit::Done } else { Exit::Skipped };
    Ok(Ending::early(exit, ""))
}

fn interval(of: Interval) -> events::Interval {
    let Interval { mean, deviation, low, high } = of;
    events::Interval { mean, deviation, low, high }
}

fn result(scenario: &Scenario, runs: u64, repeats: &Repeats) -> events::Repeats {
    let within = |percent: &u64| {
        repeats.within(*percent).map(|seconds| events::Within { percent: *percent, seconds })
    };
    let step = |(seconds, share)| events::Arrived { seconds, share };
    events::Repeats {
        protocol: scenario.protocol_name().to_owned(),
        line: scenario.line().to_vec(),
        seed: scenario.seed(),
        runs,
        failed: repeats.failed,
        seconds: repeats.time().map(interval),
        cps: repeats.rate().map(interval),
        within: SHARES.iter().filter_map(within).collect(),
        distribution: repeats.distribution().into_iter().map(step).collect(),
    }
}

fn page(scenario: &Scenario, runs: u64, repeats: &Repeats) -> String {
    let mut page = String::new();
    // Writing to a string does not fail.
    let _ = writeln!(
        page,
        "{} over {}, {runs} seeds from {}: {} did not arrive",
        scenario.protocol_name(),
        scenario.line().join(" + "),
        scenario.seed(),
        repeats.failed
    );
    for (what, of) in [("seconds", repeats.time()), ("characters per second", repeats.rate())] {
        let Some(of) = of else { continue };
        let _ = writeln!(
            page,
            "{what}: mean {:.3}, with 95 % confidence {:.3} to {:.3}, deviation {:.3}",
            of.mean, of.low, of.high, of.deviation
        );
    }
    let _ = writeln!(page, "of all runs, had arrived within");
    for percent in SHARES {
        let seconds = repeats.within(percent);
        let seconds = seconds.map_or("never".to_owned(), |seconds| format!("{seconds:.3} s"));
        let _ = writeln!(page, "{percent:>5} %  {seconds}");
    }
    page
}

pub(super) fn bench(ui: &Output, verb: &args::Bench) -> Result<Ending, Ending> {
    let usage = |say: String| Ending::early(Exit::Usage, say);
    let mut network: Network = verb
        .network
        .parse()
        .map_err(|bad: wetstring_lab::net::BadNetwork| usage(bad.to_string()))?;
    let read = |name: &str| std::fs::read(name).map_err(|e| format!("{name}: {}", in_words(&e)));
    network.supply(&read).map_err(usage)?;
    if network.build().unit() != Unit::Datagrams {
        return Err(usage(format!("expected a network of packets, got {network}")));
    }
    let bench = Bench { trial: Duration::from_secs(verb.trial), ..Bench::default() };
    if !ui.has_json() {
        print("bytes    packets/s      Mbit/s   latency: least      mean   99 of 100      most\n");
    }
    for bytes in LENGTHS {
        let row = bench.measure(bytes, &|| network.build());
        if ui.has_json() {
            ui.event(Event::Bench(Box::new(event(&network, &row))));
        } else {
            print(&line(&row));
        }
    }
    Ok(Ending::early(Exit::Done, ""))
}

fn event(network: &Network, row: &Row) -> events::BenchRow {
    let latency = row.latency.map(|of| events::Latency {
        least_s: of.least.as_secs_f64(),
        mean_s: of.mean.as_secs_f64(),
        p99_s: of.p99.as_secs_f64(),
        most_s: of.most.as_secs_f64(),
    });
    events::BenchRow {
        network: network.to_string(),
        bytes: row.bytes as u64,
        packets_per_s: row.millipackets as f64 / 1000.0,
        latency,
    }
}

fn line(row: &Row) -> String {
    let rate = row.millipackets as f64 / 1000.0;
    let head = format!("{:>5} {rate:>12.1} {:>11.3}", row.bytes, rate * row.bytes as f64 * 8e-6);
    let Some(of) = row.latency else { return format!("{head}\n") };
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;
    let [least, mean, p99, most] = [of.least, of.mean, of.p99, of.most].map(ms);
    format!("{head} {least:>14.3} ms {mean:>7.3} ms {p99:>8.3} ms {most:>7.3} ms\n")
}
