//! The paths on which NETBLT is held against TCP with CUBIC and QUIC with BBR: a grid of short queues, policers,
//! and 1,000 paths by chance. A cell is a path and a file that lasts this many of its round trips.

use std::collections::BTreeMap;
use std::io::Write;
use wetstring_lab::scenario::{Ending, Outcome, Scenario, no_files};
use wetstring_lab::{End, Random, Recorder};
use wetstring_proto::Duration;

/// The comparators, as they were when their tables were made.
pub(crate) const COMPARATORS: [&str; 2] = ["tcp-cubic-v1", "quic-bbr-v1"];

/// A path and a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cell {
    pub(crate) line: String,
    pub(crate) bytes: u64,
    /// Round trips and packets of 1500 bytes that the file takes on the path at least.
    pub(crate) trips: u64,
    pub(crate) packets: u64,
    seconds: u64,
}

/// Of a packet of 1500 bytes these are data (docs/decisions/058).
const DATA: u64 = 1448;

impl Cell {
    /// A file that lasts this many round trips or packets, whichever is more.
    pub(crate) fn new(line: String, rate_bps: u64, rtt_us: u64, trips: u64, packets: u64) -> Self {
        let in_trips = u128::from(rate_bps) * u128::from(rtt_us * trips) / 8_000_000 / 1500;
        let packets = packets.max(u64::try_from(in_trips).expect("packets"));
        let us = u128::from(packets) * 1500 * 8 * 1_000_000 / u128::from(rate_bps);
        // Who has not a twentieth of the path by then is stopped.
        let seconds = (us as u64).max(trips * rtt_us) * 20 / 1_000_000 + 30;
        let trips = us as u64 / rtt_us.max(1);
        Self { line, bytes: packets * DATA, trips, packets, seconds }
    }

    fn run(&self, protocol: &str) -> (Scenario, Outcome) {
        let Self { line, bytes, seconds, .. } = self;
        let text = format!(
            "protocol = '{protocol}'\nline = '{line}'\nfile = {{ made = 'pattern', bytes = {bytes} }}\n\
             limits = {{ time = {seconds}, events = 50000000 }}\n"
        );
        let scenario =
            Scenario::parse("cell", &text, &no_files).unwrap_or_else(|bad| panic!("{bad}"));
        let shown = std::env::var_os("WETSTRING_TRACE").is_some();
        let mut recorder = if shown { Recorder::keep() } else { Recorder::off() };
        let outcome = scenario.run(&mut recorder);
        recorder.lines().iter().for_each(|line| println!("{line}"));
        (scenario, outcome)
    }

    /// What a protocol has of the path, in thousandths, from the opening to when both ends know the outcome.
    pub(crate) fn share(&self, protocol: &str) -> u64 {
        let (scenario, outcome) = self.run(protocol);
        let limit = scenario.limit_millicps().expect("a path has a limit");
        outcome.efficiency(limit) / 100
    }

    /// How long a packet of the file's direction waits in the queue of the path, on average: the delay that a protocol
    /// adds to it.
    pub(crate) fn queueing(&self, protocol: &str) -> Duration {
        let (_, outcome) = self.run(protocol);
        assert_eq!(outcome.ending, Ending::Done, "{protocol}: {}", self.line);
        outcome.report.sides[End::A.index()].usage.mean_queueing()
    }

    pub(crate) fn key(&self) -> String {
        format!("{} {}", self.line, self.bytes)
    }
}

const RATES: [(&str, u64); 6] = [
    ("9600", 9_600),
    ("64k", 64_000),
    ("256k", 256_000),
    ("1M", 1_000_000),
    ("10M", 10_000_000),
    ("100M", 100_000_000),
];

/// Short queues: six rates, four delays, ten queues, with and without loss, files of 30 and of 100 round trips;
/// and policers.
pub(crate) fn grid() -> Vec<Cell> {
    let mut cells = Vec::new();
    for (name, rate) in RATES {
        for delay_ms in [1, 10, 100, 300] {
            for loss in ["0%", "1%"] {
                for queue in [1, 2, 3, 4, 5, 6, 7, 8, 12, 20] {
                    for (trips, packets) in [(30, 30), (100, 500)] {
                        let line = format!(
                            "udp over path:rate={name},delay={delay_ms}ms,queue={queue}p,loss={loss}"
                        );
                        cells.push(Cell::new(line, rate, 2000 * delay_ms, trips, packets));
                    }
                }
                for bucket in [3_000, 15_000, 100_000] {
                    let line = format!(
                        "udp over path:rate={},delay={delay_ms}ms,queue=1000p,police={name},\
                         bucket={bucket},loss={loss}",
                        10 * rate
                    );
                    cells.push(Cell::new(line, rate, 2000 * delay_ms, 100, 500));
                }
            }
        }
    }
    cells
}

/// Queues of one to four times what the path holds in a round trip, where CUBIC makes the longest delays.
pub(crate) fn long_queues() -> Vec<Cell> {
    let cell = |(rate, rtt_ms, times): (u64, u64, u64)| {
        let product = rate / 1000 * rtt_ms / 8;
        let line = format!("udp over path:rate={rate},rtt={rtt_ms}ms,queue={}", product * times);
        Cell::new(line, rate, rtt_ms * 1000, 100, 500)
    };
    LONG_QUEUES.into_iter().map(cell).collect()
}

/// Bit/s, round trip in milliseconds, what the path holds that many times.
const LONG_QUEUES: [(u64, u64, u64); 12] = [
    (256_000, 300, 2),
    (1_000_000, 100, 1),
    (1_000_000, 100, 4),
    (1_000_000, 600, 2),
    (10_000_000, 20, 1),
    (10_000_000, 20, 4),
    (10_000_000, 100, 2),
    (10_000_000, 100, 4),
    (50_000_000, 69, 1),
    (50_000_000, 69, 4),
    (100_000_000, 20, 2),
    (100_000_000, 100, 1),
];

/// Between two bounds, each power as likely.
fn log_uniform(random: &mut Random, low: f64, high: f64) -> f64 {
    let part = random.below(1 << 32) as f64 / (1_u64 << 32) as f64;
    low * (high / low).powf(part)
}

/// This many paths by chance, always the same: 9.6 kbit/s to 1 Gbit/s, round trips of 0.1 to 800 ms, up to 5 % lost,
/// queues from one packet to the larger of four times what the path holds and eight packets.
pub(crate) fn random(count: usize) -> Vec<Cell> {
    let mut random = Random::stream(17, "paths", "by chance");
    let cell = |index: usize| {
        let rate = log_uniform(&mut random, 9_600.0, 1e9) as u64;
        let rtt_us = log_uniform(&mut random, 100.0, 800_000.0) as u64;
        let loss = random.below(501);
        let most = (4 * rate / 1000 * rtt_us / 8_000 / 1500).max(8);
        let queue = (log_uniform(&mut random, 1.0, most as f64 + 1.0) as u64).min(most);
        let line = format!(
            "udp over path:rate={rate},rtt={rtt_us}us,queue={queue}p,loss={}.{:02}%,seed={}",
            loss / 100,
            loss % 100,
            index + 1
        );
        Cell::new(line, rate, rtt_us, 30, 500)
    };
    (0..count).map(cell).collect()
}

/// What the comparators had, by cell; see the head of the file.
pub(crate) fn table(text: &str) -> BTreeMap<String, [u64; 2]> {
    let row = |line: &str| {
        let mut columns = line.split('\t');
        let key = columns.next()?.to_owned();
        Some((key, [columns.next()?.parse().ok()?, columns.next()?.parse().ok()?]))
    };
    text.lines().filter(|line| !line.starts_with('#')).filter_map(row).collect()
}

/// The best of the comparators in a cell.
pub(crate) fn best(table: &BTreeMap<String, [u64; 2]>, cell: &Cell) -> u64 {
    let key = cell.key();
    let found = table.get(&key).unwrap_or_else(|| panic!("expected a row of `{key}` in the table"));
    found.iter().copied().max().unwrap_or(0)
}

/// Runs the comparators over these cells, and writes the rows of the table as they come.
pub(crate) fn make_table(cells: &[Cell], into: &mut dyn Write) -> std::io::Result<()> {
    let head = "# What TCP with CUBIC and QUIC with BBR have of each path, in thousandths: tcp-cubic-v1, quic-bbr-v1.\n\
                # Made by: WETSTRING_CELLS=tables cargo test --release -p wetstring-lab netblt_grid::";
    writeln!(into, "{head}")?;
    for cell in cells {
        let [cubic, bbr] = COMPARATORS.map(|name| cell.share(name));
        writeln!(into, "{}\t{cubic}\t{bbr}", cell.key())?;
    }
    Ok(())
}
