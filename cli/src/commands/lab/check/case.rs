//! The transfers of `wst lab check`, and each in virtual time.

use wetstring_lab::Recorder;
use wetstring_lab::capture::Capture;
use wetstring_lab::random::Random;
use wetstring_lab::scenario::{Outcome, Scenario};

/// Seeds of a transfer with chance: the next one lies between the least and the most of them in 95 of 100 cases.
const SEEDS: u64 = 39;
/// What a pseudoterminal of Linux takes ahead of who reads it (`tty_buffer_set_limit` in drivers/tty/pty.c), and a
/// pipe (pipe(7)).
const TERMINAL_BYTES: usize = 8192;
const PIPE_BYTES: usize = 65_536;
/// The name of the file at both ends.
pub(super) const FILE: &str = "data.bin";

/// One transfer.
#[derive(serde::Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) protocol: String,
    line: Line,
    pub(super) bytes: usize,
    /// Settings of both ends, without the protocol's name.
    #[serde(default)]
    pub(super) set: Vec<String>,
    /// Commands of other people's programs.
    #[serde(default)]
    pub(super) sender: Option<String>,
    #[serde(default)]
    pub(super) receiver: Option<String>,
    /// Other people's programs have pipes as stdin and stdout.
    #[serde(default)]
    pub(super) pipes: bool,
    /// Settings of the scenario only.
    #[serde(default, rename = "virtual")]
    scenario: Vec<String>,
    #[serde(default)]
    pub(super) quick: bool,
    /// Which fact is missing, where the bar is not met.
    #[serde(default)]
    pub(super) lacks: Option<String>,
}

#[derive(serde::Deserialize, Clone, Debug)]
#[serde(untagged)]
enum Line {
    One(String),
    Row(Vec<String>),
}

#[derive(serde::Deserialize)]
struct Cases {
    case: Vec<Case>,
}

/// All of them.
pub(super) fn all() -> Result<Vec<Case>, String> {
    let cases: Cases = toml::from_str(include_str!("cases.toml")).map_err(|bad| bad.to_string())?;
    Ok(cases.case)
}

/// What the laboratory says of a transfer, in seconds.
#[derive(Clone, Debug)]
pub(super) struct Virtual {
    /// The least, the median and the most of its seeds; without chance they are one.
    pub(super) range: [f64; 3],
}

impl Case {
    /// The line as `wst line` has it.
    pub(super) fn line(&self) -> String {
        match &self.line {
            Line::One(one) => one.clone(),
            Line::Row(row) => row.join(" + "),
        }
    }

    /// The content of the file.
    pub(super) fn content(&self) -> Vec<u8> {
        let mut random = Random::stream(1, "check", &self.name);
        (0..self.bytes).map(|_| random.below(256) as u8).collect()
    }

    /// Whether both ends are ours.
    pub(super) fn is_ours(&self) -> bool {
        self.sender.is_none() && self.receiver.is_none()
    }

    /// Percent by which real time may differ from virtual time without chance: other people's programs are models.
    pub(super) fn tolerance(&self) -> f64 {
        if self.is_ours() { 3.0 } else { 10.0 }
    }

    /// The scenario in virtual time: between the programs and the line are terminals, or pipes.
    pub(super) fn scenario(&self) -> Result<Scenario, String> {
        let line: Vec<String> = match &self.line {
            Line::One(one) => vec![one.clone()],
            Line::Row(row) => row.clone(),
        };
        let bare = self.over(line.clone())?;
        if self.is_network() {
            return Ok(bare);
        }
        let rates = bare.ports().map(|ports| ports.map(|port| port.rate_bps));
        let [a, b] = rates.ok_or("expected a line with ports")?;
        let depth = |command: &Option<String>| match command {
            Some(_) if self.pipes => PIPE_BYTES,
            _ => TERMINAL_BYTES,
        };
        let port = |rate: u32, bytes: usize| format!("0,port={rate},buffer={bytes}");
        let mut row = vec![port(a, depth(&self.sender))];
        row.extend(line);
        // A terminal server or a protocol converter has its computer behind it, and stands last.
        if !row.iter().any(|of| of.starts_with("7171:") || of.starts_with("telnet:")) {
            row.push(port(b, depth(&self.receiver)));
        }
        self.over(row)
    }

    /// The line carries datagrams, or a connection: no terminals are at its ends.
    pub(super) fn is_network(&self) -> bool {
        ["udp ", "tcp:", "sack:", "quic:"].iter().any(|kind| self.line().starts_with(kind))
    }

    fn over(&self, row: Vec<String>) -> Result<Scenario, String> {
        let line = toml::Value::from(row);
        let text =
            format!("protocol = \"{}\"\nline = {line}\n[file]\npath = \"{FILE}\"\n", self.protocol);
        let both = self.set.iter().map(|setting| format!("both.{setting}"));
        let sets: Vec<String> = both.chain(self.scenario.iter().cloned()).collect();
        let content = |_: &str| Ok(self.content());
        Scenario::parse_with(&self.name, &text, &sets, &content).map_err(|bad| bad.to_string())
    }

    /// Runs it in virtual time, with many seeds if there is chance.
    pub(super) fn run(&self) -> Result<Virtual, String> {
        let scenario = self.scenario()?;
        let mut seconds = vec![once(&scenario)?];
        if scenario.has_chance() {
            for seed in 2..=SEEDS {
                // One seed in 39 that does not arrive would be beyond the range.
                seconds.push(once(&scenario.clone().with_seed(seed))?);
            }
        }
        seconds.sort_by(f64::total_cmp);
        let last = seconds.len() - 1;
        Ok(Virtual { range: [seconds[0], seconds[last / 2], seconds[last]] })
    }
}

/// Seconds of one run, by what passed its ends.
fn once(scenario: &Scenario) -> Result<f64, String> {
    let capture = Capture::new();
    let outcome: Outcome = scenario.clone().with_programs(&capture).run(&mut Recorder::off());
    if !outcome.is_done() {
        return Err(format!("in virtual time with seed {}: {}", scenario.seed(), outcome.ending));
    }
    span(&capture.pcapng())
}

/// Seconds of a transfer by a capture of both ends of its line: from the sender's first byte to the last that
/// either end received.
pub(super) fn span(file: &[u8]) -> Result<f64, String> {
    let frames = wetstring_lab::capture::read(file).map_err(|bad| bad.to_string())?;
    let first = frames.iter().find(|frame| frame.interface == 0 && frame.sent == Some(true));
    let last = frames.iter().filter(|frame| frame.sent == Some(false)).map(|frame| frame.at_ns);
    match (first.map(|frame| frame.at_ns), last.max()) {
        (Some(first), Some(last)) if last > first => Ok((last - first) as f64 / 1e9),
        _ => Err("nothing passed the line".to_owned()),
    }
}
