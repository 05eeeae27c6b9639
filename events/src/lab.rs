//! Events of the laboratory.

use serde::Serialize;

/// Where the time of a transfer went. If the trace does not show it, only `no_account` is set.
#[derive(Serialize, Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Explained {
    /// Why there is no breakdown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_account: Option<String>,
    /// The breakdown.
    #[serde(flatten)]
    pub account: Option<Account>,
}

/// Where the time of a transfer went.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Account {
    /// The protocol, if the trace names it.
    pub protocol: Option<String>,
    /// The ends that the trace covers: `both`, `sender` or `receiver`.
    pub ends: &'static str,
    /// Bytes of files, each counted once.
    pub file_bytes: u64,
    /// Total time in nanoseconds: the sum of the parts.
    pub elapsed_ns: u64,
    /// Total time in seconds.
    pub elapsed_s: f64,
    /// The rate of the line, if known.
    pub line_bytes_per_s: Option<f64>,
    /// How the rate is known: `told`, `given`, `measured`, `unseen`, `port` or `unknown`.
    pub line_rate: &'static str,
    /// The round trip, if it could be measured.
    pub round_trip_s: Option<f64>,
    /// Errors on the line.
    pub errors: u64,
    /// Where the time went.
    pub parts: Vec<Part>,
    /// A sentence for each mechanism of Kermit's extension that acted.
    pub acted: Vec<String>,
    /// The bottleneck, in a sentence.
    pub bottleneck: String,
    /// What to do about it, if that is no setting of a protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<&'static str>,
    /// What is known of the failure, if the transfer failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// Advice, if requested and found.
    pub advice: Option<Advice>,
    /// Why there is no advice.
    pub no_advice: Option<String>,
}

/// A part of the time.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Part {
    /// Its key.
    pub part: &'static str,
    /// Its title.
    pub title: &'static str,
    /// Nanoseconds.
    pub ns: u64,
    /// Seconds.
    pub seconds: f64,
}

/// Advice.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Advice {
    /// The advice.
    pub sentence: String,
    /// The time of the transfer.
    pub before_s: f64,
    /// The time of its replay with unchanged settings.
    pub replayed_s: f64,
    /// The most effective change, if any.
    pub best: Option<Trial>,
    /// The replayed scenario was inferred from what one end saw.
    pub inferred: bool,
    /// All changes that were tried.
    pub trials: Vec<Trial>,
    /// The replayed scenario, in TOML.
    pub scenario: String,
}

/// A failed transfer.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Failure {
    /// How far it came.
    pub what: String,
    /// Why it failed, as far as it is known.
    pub why: String,
    /// What to do, the most promising first.
    pub steps: Vec<Step>,
}

/// Something to do about a failure.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Step {
    /// What, in words.
    pub text: String,
    /// The flags of `wst send` and `wst receive` that do it.
    pub flags: Vec<String>,
}

/// A change of a setting.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trial {
    /// The setting, or `protocol`.
    pub setting: &'static str,
    /// A setting that has to change with it.
    pub also: Option<&'static str>,
    /// The old value.
    pub from: String,
    /// The new value.
    pub to: String,
    /// Where it is changed: `both` ends, `sender`, `receiver`, or `line`.
    pub at: &'static str,
    /// The flags that make the best change at this end, of the program that made the trace; none of another's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// The time with it; null if the transfer failed.
    pub predicted_s: Option<f64>,
    /// The range of that time on a line with noise, of the best change: the least and the most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range_s: Option<[f64; 2]>,
}

/// The result of a scenario.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScenarioResult {
    /// The protocol.
    pub protocol: String,
    /// The elements of the line.
    pub line: Vec<String>,
    /// The seed.
    pub seed: u64,
    /// How it ended, in words.
    pub ending: String,
    /// The transfer succeeded.
    pub done: bool,
    /// Bytes that arrived.
    pub bytes: u64,
    /// Bytes that are missing.
    pub lost_bytes: u64,
    /// Virtual time.
    pub elapsed_s: f64,
    /// Characters per second.
    pub cps: f64,
    /// The capacity of the line.
    pub limit_cps: Option<f64>,
    /// The share of it, in percent.
    pub efficiency: Option<f64>,
    /// Packets that were retransmitted.
    pub retransmissions: u64,
    /// Timeouts, at both ends.
    pub timeouts: u64,
    /// Packets received damaged, at both ends.
    pub damaged: u64,
    /// Steps of the simulation.
    pub events: u64,
    /// Echo times of interactive keys, if any were typed.
    pub echoes: Option<Echoes>,
    /// The bytes on a SLIP line by their purpose.
    pub slip: Option<Ledgers>,
    /// The digest of the trace.
    pub trace: String,
}

/// Echo times of interactive keys.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Echoes {
    /// Keys typed.
    pub keys: u64,
    /// Keys echoed.
    pub echoed: u64,
    /// The median of the time until the echo, in milliseconds.
    pub median_ms: f64,
    /// The 90th percentile, in milliseconds.
    pub p90_ms: f64,
    /// The longest, in milliseconds.
    pub longest_ms: f64,
}

/// Both directions of a SLIP line.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ledgers {
    /// From the sender.
    pub from_sender: Ledger,
    /// From the receiver.
    pub from_receiver: Ledger,
}

/// The bytes in one direction of a SLIP line by their purpose.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ledger {
    /// All.
    pub line_bytes: u64,
    /// Of files.
    pub data_bytes: u64,
    /// Of headers around these.
    pub head_bytes: u64,
    /// Acknowledgements.
    pub acks: u64,
    /// Their bytes.
    pub ack_bytes: u64,
    /// Of interactive traffic.
    pub typed_bytes: u64,
}

/// A cell of a published table, and our result.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cell {
    /// The table.
    pub table: String,
    /// The row.
    pub row: String,
    /// The column.
    pub col: String,
    /// The published value.
    pub published: Option<Printed>,
    /// Our result.
    pub ours: Option<Printed>,
    /// From where to where our runs go, where they are random.
    pub range: Option<Printed>,
    /// The unit.
    pub unit: &'static str,
    /// Ours divided by published.
    pub ratio: Option<f64>,
    /// Whether they agree.
    pub verdict: String,
    /// Why they differ.
    pub reason: String,
    /// Our result with our own defaults.
    pub defaults: Option<Printed>,
    /// Why the defaults are slower.
    pub defaults_reason: String,
    /// Efficiency: the share of the line's capacity.
    pub efficiency: Option<f64>,
    /// What kind of value it is: `rate`, `count`, `correlation`, ...
    pub kind: &'static str,
    /// A fit decided it, so it is no prediction.
    pub fitted: bool,
    /// What was transferred by which settings: runs of one setting have one name.
    pub setting: String,
    /// What of it: times, rates and efficiencies are one quantity.
    pub quantity: String,
    /// The published numbers: one, or several counts that belong together.
    pub numbers: Vec<f64>,
    /// Ours, not rounded: one for each seed, or several counts that belong together.
    pub values: Vec<f64>,
    /// Of how many transfers, if it is a statistic of many.
    pub of: Option<u64>,
    /// Of how many seeds a value of the run that shows the reason is as published, and how many seeds there are.
    pub passes: Option<[u64; 2]>,
}

/// A line of the scoreboard: a kind of value, of all tables together.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Score {
    /// The kind.
    pub what: String,
    /// Values that a fit decided; otherwise predictions.
    pub fitted: bool,
    /// How many there are: one for each quantity of each setting.
    pub count: u64,
    /// How many hold.
    pub held: u64,
    /// How many have a ratio, ours by published.
    pub ratios: u64,
    /// The median of `|ln(ours / published)|`.
    pub median: f64,
    /// How many are within 5, 10 and 25 %.
    pub within: [u64; 3],
    /// How many are higher than published, and lower.
    pub sides: [u64; 2],
}

/// A value as it was printed.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Printed {
    /// A whole number.
    Whole(u64),
    /// A number.
    Decimal(f64),
    /// Anything else.
    Text(String),
}

/// The runs of a protocol.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SwarmSum {
    /// The protocol.
    pub protocol: &'static str,
    /// Number of runs.
    pub runs: u64,
    /// Runs that succeeded.
    pub done: u64,
    /// Runs that failed with an error.
    pub failed: u64,
    /// Seeds in which damage passed a protocol's weak check.
    pub fooled: Vec<u64>,
    /// Seeds in which it would have passed if there were only that check.
    pub check_alone: u64,
    /// Number of such seeds expected by chance.
    pub fooled_at_most: u64,
    /// Seeds that revealed a fault.
    pub broken: u64,
    /// Bytes damaged.
    pub hits: u64,
    /// Packets that were retransmitted.
    pub retransmissions: u64,
    /// Steps of the simulation.
    pub events: u64,
}

/// A seed that revealed a fault of a protocol.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailedSeed {
    /// The protocol.
    pub protocol: &'static str,
    /// The seed.
    pub seed: u64,
    /// The rule that was violated.
    pub fault: String,
    /// The scenario of the seed.
    pub picked: String,
    /// The command that reproduces it.
    pub replay: String,
}

/// A value in two files.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sides {
    /// In A.
    pub a: String,
    /// In B.
    pub b: String,
}

/// Many runs of a scenario that differ in their seeds.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Repeats {
    /// The protocol.
    pub protocol: String,
    /// The elements of the line.
    pub line: Vec<String>,
    /// The first seed.
    pub seed: u64,
    /// Number of runs.
    pub runs: u64,
    /// Runs that did not arrive.
    pub failed: u64,
    /// Time of those that arrived, in seconds.
    pub seconds: Option<Interval>,
    /// Their throughput in characters per second.
    pub cps: Option<Interval>,
    /// Times within which a share of all runs had arrived.
    pub within: Vec<Within>,
    /// The distribution of the times.
    pub distribution: Vec<Arrived>,
}

/// A transfer between real programs by the clock, and in the laboratory.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Checked {
    /// Its name.
    pub name: String,
    /// The protocol.
    pub protocol: String,
    /// The line.
    pub line: String,
    /// The program that sends.
    pub sender: String,
    /// The program that receives.
    pub receiver: String,
    /// Seconds of the real programs, if they ended well.
    pub real_s: Option<f64>,
    /// Seconds of the laboratory: of seeds the median.
    pub virtual_s: Option<f64>,
    /// Of these.
    pub ratio: Option<f64>,
    /// The least and the most that the real time may be.
    pub range_s: Option<[f64; 2]>,
    /// What of the most is for the time that the programs waited for a processor.
    pub machine_s: Option<f64>,
    /// `met`, `missed`, or `not run` where a program is not installed.
    pub result: &'static str,
    /// What went wrong, or which fact is missing.
    pub note: Option<String>,
}

/// A mean with its interval of confidence.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interval {
    /// The mean.
    pub mean: f64,
    /// The standard deviation of the runs.
    pub deviation: f64,
    /// Low end of the interval that holds the true mean with 95 % confidence (Student's t).
    pub low: f64,
    /// High end of it.
    pub high: f64,
}

/// A share of the runs.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Within {
    /// Percent of all runs.
    pub percent: u64,
    /// Had arrived within these seconds.
    pub seconds: f64,
}

/// A step of a distribution.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Arrived {
    /// Seconds.
    pub seconds: f64,
    /// The share of all runs that had arrived by then.
    pub share: f64,
}

/// A network measured with packets of one length, as RFC 2544 has it.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BenchRow {
    /// The network.
    pub network: String,
    /// Bytes of a packet.
    pub bytes: u64,
    /// The highest rate without loss.
    pub packets_per_s: f64,
    /// Latency at that rate.
    pub latency: Option<Latency>,
}

/// The latency of packets.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Latency {
    /// The shortest, in seconds.
    pub least_s: f64,
    /// The mean.
    pub mean_s: f64,
    /// What 99 of 100 packets have at most.
    pub p99_s: f64,
    /// The longest.
    pub most_s: f64,
}
