//! Whether an account names the right cause first, over transfers whose cause is known
//! (`explain_cases/cases.toml`). That a cause is one is itself tested: without it the transfer is faster.

use serde::Deserialize;
use toml::{Table, Value};
use wetstring_lab::Recorder;
use wetstring_lab::explain::{Account, header};
use wetstring_lab::scenario::{Outcome, Scenario, no_files};

/// A transfer whose cause of slowness is known.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    scenario: String,
    says: Vec<String>,
    #[serde(default)]
    second: Vec<String>,
    cure: Vec<String>,
    #[serde(default)]
    second_cure: Vec<String>,
    #[serde(default)]
    ends: Ends,
    #[serde(default)]
    port_bps: u64,
    #[serde(default)]
    held_out: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    case: Vec<Case>,
}

/// The ends of which the trace is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Ends {
    #[default]
    Both,
    Sender,
    Receiver,
}

fn cases() -> Vec<Case> {
    let cases: Cases = toml::from_str(include_str!("explain_cases/cases.toml")).unwrap();
    cases.case
}

impl Case {
    /// The run with these assignments on top, and its trace.
    fn run(&self, sets: &[String]) -> (Scenario, Outcome, Vec<String>) {
        let scenario = Scenario::parse_with(&self.name, &self.scenario, sets, &no_files);
        let scenario = scenario.unwrap_or_else(|bad| panic!("{}: {bad}", self.name));
        let mut recorder = Recorder::keep();
        let outcome = scenario.run(&mut recorder);
        (scenario, outcome, recorder.lines().to_vec())
    }

    /// The trace as the side that asks has it.
    fn trace(&self) -> Vec<String> {
        let (scenario, _, lines) = self.run(&[]);
        if self.ends == Ends::Both {
            let mut all = header(&self.name, &self.scenario, &[], &scenario).unwrap();
            all.extend(lines);
            return all;
        }
        let (who, way) = match self.ends {
            Ends::Sender => ("A", "send"),
            _ => ("B", "receive"),
        };
        let mut all = self.head(&scenario, way);
        all.extend(lines.into_iter().filter(|line| line.split(' ').nth(1) == Some(who)));
        all
    }

    /// What `wst send` and `wst receive` write before a transfer.
    fn head(&self, scenario: &Scenario, way: &str) -> Vec<String> {
        let prefix = scenario.protocol().family().prefix();
        let mut said = vec![
            format!("text way={way}"),
            format!("value rate_bps={}", self.port_bps),
            "value reliable=0".to_owned(),
            format!("text protocol={}", scenario.protocol_name()),
        ];
        let table: Table = self.scenario.parse().unwrap();
        for end in ["both", if way == "send" { "sender" } else { "receiver" }] {
            let Some(Value::Table(settings)) = table.get(end) else { continue };
            for (key, value) in settings.iter().filter(|(key, _)| *key != "host") {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                said.push(format!("text set={prefix}.{key}={value}"));
            }
        }
        said.into_iter().map(|said| format!("0.000000000 run {said}")).collect()
    }

    /// What the account of it says of causes.
    fn told(&self) -> String {
        let trace = self.trace();
        let account = Account::read(trace.iter().map(String::as_str), None)
            .unwrap_or_else(|bad| panic!("{}: {bad}", self.name));
        account.bottleneck().to_lowercase()
    }
}

/// Whether a text has one of the words of each alternative.
fn has(text: &str, all: &[String]) -> bool {
    all.iter().all(|words| words.split('|').any(|word| text.contains(word)))
}

/// The first cause: all up to the end of the first sentence.
fn first(text: &str) -> &str {
    text.split_once(". ").map_or(text, |(first, _)| first)
}

/// How many of a kind of cases there are, and how many name the right cause first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Score {
    right: usize,
    of: usize,
}

impl Score {
    fn count(&mut self, right: bool) {
        self.of += 1;
        self.right += usize::from(right);
    }
}

#[test]
fn each_cause_is_one() {
    let mut wrong = Vec::new();
    for case in cases() {
        let slow = case.run(&[]).1;
        let cured = case.run(&case.cure).1;
        let saved = 1.0 - cured.elapsed.as_secs_f64() / slow.elapsed.as_secs_f64();
        println!("{:>5.1} % {} ({:?})", saved * 100.0, case.name, slow.elapsed);
        if !cured.is_done() || slow.is_done() && saved < 0.1 {
            wrong.push(format!("{}: {:?}, saves {saved}", case.name, cured.ending));
        }
        if !case.second.is_empty() {
            let other = case.run(&case.second_cure).1;
            let other = 1.0 - other.elapsed.as_secs_f64() / slow.elapsed.as_secs_f64();
            if !(0.1..saved).contains(&other) {
                wrong.push(format!("{}: the second saves {other} of {saved}", case.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_right_cause_is_named_first() {
    let [mut shown, mut held_out, mut second] = [Score::default(); 3];
    for case in cases() {
        let told = case.told();
        let right = has(first(&told), &case.says);
        if case.held_out { &mut held_out } else { &mut shown }.count(right);
        println!("{} {}: {told}", if right { "right" } else { "WRONG" }, case.name);
        if !case.second.is_empty() {
            second.count(has(&told, &case.second));
        }
    }
    println!("shown {shown:?}, held out {held_out:?}, second causes {second:?}");
    for (score, least) in [shown, held_out, second].into_iter().zip(LEAST) {
        assert!(score.right >= least, "expected {least}, got {score:?}");
    }
}

/// How many are right, at least: of the cases shown, of those held out, and of second causes.
const LEAST: [usize; 3] = [27, 18, 4];
