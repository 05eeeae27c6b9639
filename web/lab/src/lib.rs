//! The laboratory for a browser: an instance of the module is one run, with its account.
//!
//! What passes the border is text: the *input*, which JavaScript fills before a call, and the *output*, valid until
//! the next call. A run is described as for `wst lab run`: the name of a built-in scenario, and `KEY=VALUE` for all
//! that differs from it, each on a line of its own; all words and pictures are those of `wst lab run` and
//! `wst explain`.

mod exports;

use serde_json::json;
use wetstring_lab::corpus::Corpus;
use wetstring_lab::explain::{Account, Advice, NoAdvice, header};
use wetstring_lab::report::{account_page, run_command};
use wetstring_lab::scenario::{Scenario, named, names, no_files};
use wetstring_lab::{Recorder, compressor};

/// Kinds of content that are made, as `file.made` of a scenario takes them.
const MADE: [&str; 5] = ["random", "text", "zeros", "ramp", "runs"];

/// All that an instance has.
#[derive(Default)]
struct Run {
    input: Vec<u8>,
    output: String,
    command: String,
    /// The trace: its head, and what was recorded.
    trace: Vec<String>,
    account: Option<Account>,
}

impl Run {
    /// What can be chosen: scenarios with their lines, protocols, contents; whether Kermit can compress.
    fn list(&self) -> String {
        let scenario = |name: &'static str| {
            let scenario = named(name).map(|text| Scenario::parse(name, text, &no_files));
            let scenario = scenario.and_then(Result::ok)?;
            Some(json!({
                "name": name,
                "line": scenario.line().join(" + "),
                "protocol": scenario.protocol_name(),
                "bytes": scenario.counted_bytes(),
                "seed": scenario.seed(),
            }))
        };
        json!({
            "scenarios": names().filter_map(scenario).collect::<Vec<_>>(),
            "protocols": Scenario::protocols().collect::<Vec<_>>(),
            "made": MADE,
            "corpora": Corpus::names().collect::<Vec<_>>(),
            "compresses": compressor::IS_BUILT,
        })
        .to_string()
    }

    /// Runs what the first `len` bytes of the input describe.
    fn run(&mut self, len: usize) -> Result<String, String> {
        let text = String::from_utf8_lossy(self.input.get(..len).unwrap_or_default()).into_owned();
        let mut lines = text.lines();
        let name = lines.next().unwrap_or_default();
        let sets: Vec<String> = lines.map(str::to_owned).collect();
        let Some(text) = named(name) else {
            let all: Vec<_> = names().collect();
            return Err(format!("expected a scenario ({}), got {name}", all.join(", ")));
        };
        let words = |bad: wetstring_lab::scenario::BadScenario| bad.to_string();
        let scenario = Scenario::parse_with(name, text, &sets, &no_files).map_err(words)?;
        self.command = run_command(name, &sets);
        self.trace = header(name, text, &sets, &scenario).map_err(words)?;
        let mut recorder = Recorder::keep();
        let outcome = scenario.run(&mut recorder);
        self.trace.extend_from_slice(recorder.lines());
        Ok(json!({
            "text": scenario.summary(&outcome),
            "command": self.command,
            "done": outcome.is_done(),
            "ending": outcome.ending.to_string(),
            "elapsed_s": outcome.elapsed.as_secs_f64(),
            "cps": outcome.millicps() as f64 / 1000.0,
            "efficiency": outcome.efficiency_percent(),
            "retransmissions": outcome.retransmissions(),
        })
        .to_string())
    }

    /// Where its time went; without advice, which takes many runs more.
    fn explain(&mut self) -> Result<String, String> {
        let lines = self.trace.iter().map(String::as_str);
        let account = Account::read(lines, None).map_err(|bad| bad.to_string())?;
        let shown = self.shown(&account, None);
        self.account = Some(account);
        Ok(shown)
    }

    /// The same with what would help.
    fn advise(&self) -> Result<String, String> {
        let account = self.account.as_ref().ok_or("expected a run that was explained")?;
        let advice = account.advise(&no_files);
        Ok(self.shown(account, Some(&advice)))
    }

    fn shown(&self, account: &Account, advice: Option<&Result<Advice, NoAdvice>>) -> String {
        let mut text = account.page();
        match advice {
            None => {}
            Some(Ok(advice)) => text.push_str(&advice.page()),
            Some(Err(none)) => text.push_str(&none.page()),
        }
        json!({ "text": text, "page": account_page(account, advice, &self.command) }).to_string()
    }
}
