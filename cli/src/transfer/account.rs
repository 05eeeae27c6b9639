//! `wst explain`, and `--explain` at the end of a transfer: where the time went.

use std::path::PathBuf;

use wetstring_drive::in_words;
use wetstring_events::{self as events, Event, Explained};
use wetstring_lab::explain::{
    Account, Advice, BadTrace, Change, Ends, NoAdvice, Part, RateSource, Trial,
};

use crate::ui::format::safe;
use crate::ui::output::{Level, Output};

/// Prints an account on stdout.
pub(crate) fn present(ui: &Output, account: &Account, advice: Option<&Result<Advice, NoAdvice>>) {
    if ui.has_json() {
        ui.event(explained(account, advice));
    } else {
        crate::ui::output::print(&page(account, advice));
    }
}

/// Reports why there is no account of a finished transfer.
pub(crate) fn without_account(ui: &Output, bad: &BadTrace) {
    if ui.has_json() {
        let no_account = Some(bad.to_string());
        ui.event(Event::Explained(Box::new(Explained { no_account, account: None })));
    }
    let bad = safe(bad.to_string().as_bytes());
    ui.say(Level::Error, &format!("wst: nothing to explain: {bad}"));
}

/// Explains where the time of a finished transfer went. `lines` is its trace.
pub(crate) fn tell<'a>(ui: &Output, lines: impl Iterator<Item = &'a str>) {
    match Account::read(lines, None) {
        Err(bad) => without_account(ui, &bad),
        Ok(account) => {
            let advice = advise(&account);
            if ui.has_json() {
                ui.event(explained(&account, Some(&advice)));
            }
            for line in page(&account, Some(&advice)).lines() {
                ui.say(Level::Note, line);
            }
        }
    }
}

/// What would help. Files named in the trace are read in place.
pub(crate) fn advise(account: &Account) -> Result<Advice, NoAdvice> {
    let directory = account.directory().map(PathBuf::from).unwrap_or_default();
    account.advise(&|name| {
        let path = directory.join(name);
        std::fs::read(&path).map_err(|error| format!("{}: {}", path.display(), in_words(&error)))
    })
}

fn page(account: &Account, advice: Option<&Result<Advice, NoAdvice>>) -> String {
    let mut page = account.page();
    match advice {
        None => {}
        Some(Ok(advice)) => page.push_str(&advice.page()),
        Some(Err(none)) => page.push_str(&none.page()),
    }
    // A trace may come from someone else, with untrusted names in it.
    safe(page.as_bytes())
}

/// Nanoseconds as seconds, for JSON.
fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn explained(account: &Account, advice: Option<&Result<Advice, NoAdvice>>) -> Event {
    let part = |part: Part| {
        let ns = account.budget.of(part);
        events::Part { part: part.key(), title: part.title(), ns, seconds: seconds(ns) }
    };
    let ends = match account.ends {
        Ends::Both => "both",
        Ends::Sender => "sender",
        Ends::Receiver => "receiver",
    };
    let source = match account.rate_source {
        RateSource::Told => "told",
        RateSource::Given => "given",
        RateSource::Measured => "measured",
        RateSource::Unseen => "unseen",
        RateSource::Port => "port",
        RateSource::Unknown => "unknown",
    };
    let (advice, none) = match advice {
        None => (None, None),
        Some(Ok(advice)) => (Some(advised(advice)), None),
        Some(Err(none)) => (None, Some(none.to_string())),
    };
    let account = events::Account {
        protocol: account.protocol.clone(),
        ends,
        file_bytes: account.file_bytes,
        elapsed_ns: account.elapsed_ns,
        elapsed_s: seconds(account.elapsed_ns),
        line_bytes_per_s: account.millicps.map(|rate| rate as f64 / 1000.0),
        line_rate: source,
        round_trip_s: account.round_trip_ns().map(seconds),
        errors: account.errors(),
        parts: Part::ALL.map(part).into(),
        acted: account.acted(),
        bottleneck: account.bottleneck(),
        remedy: account.remedy(),
        failure: account.failed().map(|failed| events::Failure {
            what: failed.what,
            why: failed.why,
            steps: failed
                .steps
                .iter()
                .map(|step| events::Step { text: step.text.clone(), flags: step.flags() })
                .collect(),
        }),
        advice,
        no_advice: none,
    };
    Event::Explained(Box::new(Explained { no_account: None, account: Some(account) }))
}

fn advised(advice: &Advice) -> events::Advice {
    let trial = |change: &Change, elapsed_ns: Option<u64>| {
        let Change { setting, also, from, to, at } = change.clone();
        events::Trial {
            setting,
            also,
            from,
            to,
            at: at.as_str(),
            flags: Vec::new(),
            predicted_s: elapsed_ns.map(seconds),
            range_s: None,
        }
    };
    let tried = |of: &Trial| trial(&of.change, of.elapsed_ns);
    events::Advice {
        sentence: advice.sentence(),
        before_s: seconds(advice.before_ns),
        replayed_s: seconds(advice.replayed_ns),
        best: advice.best.as_ref().map(|(best, ns)| events::Trial {
            flags: advice.flags(),
            range_s: advice.range.map(|(low, high)| [low, high].map(seconds)),
            ..trial(best, Some(*ns))
        }),
        inferred: advice.inferred,
        trials: advice.trials.iter().map(tried).collect(),
        scenario: advice.scenario.clone(),
    }
}

#[cfg(test)]
mod tests {
    use wetstring_lab::explain::{Failed, Trouble};

    use crate::args::command;
    use crate::config::protocol::Protocol;

    /// What is advised about a failure can be typed: each flag exists for the verb and the protocol.
    #[test]
    fn steps_are_flags_of_the_verb_and_the_protocol() {
        let mut seen = 0;
        for protocol in Protocol::of_bytes() {
            for trouble in Trouble::ALL {
                for step in Failed::steps(trouble, protocol) {
                    let used = step.protocol.map_or(protocol, Protocol::named);
                    for verb in ["send", "receive"] {
                        let head = ["wst", verb].map(str::to_owned).into_iter();
                        let own = ["-P".to_owned(), used.name.to_owned()];
                        let own = own.into_iter().filter(|_| step.protocol.is_none());
                        let things =
                            if verb == "send" { &["f", "tcp://h:1"][..] } else { &["tcp://h:1"] };
                        let things = things.iter().map(|word| (*word).to_owned());
                        let words: Vec<String> =
                            head.chain(own).chain(step.flags()).chain(things).collect();
                        let parsed = command(used).try_get_matches_from(&words);
                        assert!(parsed.is_ok(), "{trouble:?}: {words:?}: {:?}", parsed.err());
                        seen += usize::from(!step.flags().is_empty());
                    }
                    exist(used, &step.text);
                }
            }
        }
        assert!(seen > 100, "{seen}");
    }

    /// Flags that a text names exist for a verb.
    fn exist(protocol: Protocol, text: &str) {
        let word = |c: char| !(c.is_ascii_lowercase() || c == '-');
        for flag in text.split(word).filter_map(|word| word.strip_prefix("--")) {
            let all = command(protocol);
            let has = |verb: &str| {
                let verb = all.find_subcommand(verb).expect("a verb");
                verb.get_arguments().any(|arg| arg.get_long() == Some(flag))
            };
            let has_all = all.get_arguments().any(|arg| arg.get_long() == Some(flag));
            assert!(has_all || has("send") || has("receive"), "--{flag} in {text}");
        }
    }
}
