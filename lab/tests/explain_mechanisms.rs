//! What the mechanisms of Kermit's extension did in a transfer, what they would have gained where they were off, and
//! both as one end sees it.

use wetstring_lab::Recorder;
use wetstring_lab::explain::{Account, Advice, Part, header};
use wetstring_lab::scenario::{Outcome, Scenario, no_files};

/// Runs a scenario, with the trace that `wst lab run` writes of it.
fn run(text: &str) -> (Outcome, Vec<String>) {
    let scenario = Scenario::parse("test", text, &no_files).unwrap_or_else(|bad| panic!("{bad}"));
    let mut lines = header("test", text, &[], &scenario).unwrap();
    let mut recorder = Recorder::keep();
    let outcome = scenario.run(&mut recorder);
    assert!(outcome.is_done(), "{text}: {outcome:?}");
    lines.extend(recorder.lines().iter().cloned());
    (outcome, lines)
}

fn account(lines: &[String]) -> Account {
    let lines = lines.iter().map(String::as_str);
    Account::read(lines, None).unwrap_or_else(|bad| panic!("{bad}"))
}

/// The trace of one end, as `wst send` or `wst receive` writes it.
fn of_end(lines: &[String], who: &str, said: &[&str]) -> Account {
    let head = said.iter().map(|said| format!("0.000000000 run {said}"));
    let own = lines.iter().filter(|line| line.split(' ').nth(1) == Some(who)).cloned();
    account(&head.chain(own).collect::<Vec<_>>())
}

fn seconds(outcome: &Outcome) -> f64 {
    outcome.elapsed.as_secs_f64()
}

/// The sentence about this mechanism.
fn said(account: &Account, of: &str) -> String {
    let all = account.acted();
    let found = all.iter().find(|sentence| sentence.starts_with(of));
    assert_eq!(account.page().contains(of), found.is_some());
    found.cloned().unwrap_or_default()
}

/// The predicted seconds with this setting.
fn predicted(advice: &Advice, setting: &str) -> Option<f64> {
    let trial = advice.trials.iter().find(|trial| trial.change.setting == setting)?;
    assert_eq!(trial.change.to, "on");
    trial.elapsed_ns.map(|ns| ns as f64 / 1e9)
}

fn noisy((line, bytes): (&str, u32), settings: &str) -> String {
    format!(
        "line = '9600,{line}'\n[file]\nmade = 'random'\nbytes = {bytes}\n[both]\n\
         bundle = 'on'\n{settings}"
    )
}

const BURSTS: (&str, u32) = ("burst=8@2s", 60_000);
/// With as much in front of the line as a port holds.
const ERRORS: (&str, u32) = ("buffer=4096,ber=4e-4", 30_000);
const PORT: [&str; 2] = ["text protocol=kermit", "value rate_bps=9600"];

#[test]
fn parity_is_a_part_of_its_own() {
    let (outcome, lines) = run(&noisy(BURSTS, ""));
    let whole = account(&lines);
    let (parity, total) = (whole.budget.of(Part::Parity), whole.budget.total());
    assert_eq!(total, u64::try_from(outcome.elapsed.as_nanos()).unwrap());
    assert!((10..80).contains(&whole.budget.permille(Part::Parity)), "{:?}", whole.budget);
    // What was sent of it is what the line's time for it was, but for copies that came again.
    let characters: u64 = lines
        .iter()
        .filter_map(|line| line.split_once(" parity=")?.1.split(' ').next()?.parse::<u64>().ok())
        .sum();
    let time = characters * 1_000_000_000 / 960;
    assert!(parity <= time && parity > time / 2, "{parity} of {time}");
    let text = said(&whole, "Error correction");
    let mended = lines.iter().filter(|line| line.contains(" A value mended=")).count();
    assert!(mended > 10, "{mended}");
    assert!(text.contains(&format!("mended {mended} of them without asking again")), "{text}");
    // From the sender's end nothing is missing, from the receiver's what was sent.
    assert_eq!(said(&of_end(&lines, "A", &PORT), "Error correction"), text);
    let text = said(&of_end(&lines, "B", &PORT), "Error correction");
    assert!(text.ends_with("packets came whole only by it."), "{text}");
    let (_, clean) = run("line = '9600'\n[both]\nbundle = 'on'");
    assert_eq!(account(&clean).budget.of(Part::Parity), 0);
    assert_eq!(said(&account(&clean), "Error correction"), "");
}

#[test]
fn error_correction_that_was_off_is_advised() {
    let (off, lines) = run(&noisy(BURSTS, "correction = 'off'"));
    let (on, _) = run(&noisy(BURSTS, ""));
    let advice = account(&lines).advise(&no_files).unwrap();
    let (best, ns) = advice.best.clone().unwrap();
    assert_eq!((best.setting, best.also, &*best.to), ("kermit.correction", None, "on"));
    assert_eq!(u128::from(ns), on.elapsed.as_nanos());
    assert!(seconds(&on) * 1.05 < seconds(&off));
}

/// The sender alone sees no bursts, but errors by chance are replayed as what they are.
#[test]
fn one_end_is_enough_to_advise_it() {
    let (off, lines) = run(&noisy(ERRORS, "correction = 'off'"));
    let (on, _) = run(&noisy(ERRORS, ""));
    let advice = of_end(&lines, "A", &PORT).advise(&no_files).unwrap();
    let (best, ns) = advice.best.clone().unwrap();
    assert_eq!(best.setting, "kermit.correction");
    let (low, high) = advice.range.unwrap();
    println!(
        "{low}..{ns}..{high} ns predicted, {} s with it, {} s without",
        seconds(&on),
        seconds(&off)
    );
    let on = u64::try_from(on.elapsed.as_nanos()).unwrap();
    assert!((low..=high).contains(&on), "{low}..{high}: {on}");
}

/// Errors that were mended are on the line of a replay, too.
#[test]
fn a_replay_has_the_errors_that_were_mended() {
    let (outcome, lines) = run(&noisy(ERRORS, ""));
    let sender = of_end(&lines, "A", &PORT);
    let advice = sender.advise(&no_files).unwrap();
    let replayed = advice.replayed_ns as f64 / 1e9;
    assert!((replayed - seconds(&outcome)).abs() < seconds(&outcome) * 0.1, "{replayed}");
}

#[cfg(feature = "compress")]
mod compression {
    use super::*;

    fn text(settings: &str) -> String {
        format!("line = '9600'\n[file]\ncorpus = 'manual'\n[both]\n{settings}")
    }

    const OFF: &str = "bundle = 'off'\ncompress = 'off'";
    const ON: &str = "bundle = 'on'\ncompress = 'on'";

    #[test]
    fn its_ratio_is_told() {
        let (outcome, lines) = run(&text(ON));
        let stats = outcome.report.sides[0].stats;
        let whole = account(&lines);
        let told = said(&whole, "Compression");
        let (unpacked, packed) = (stats.unpacked_bytes, stats.packed_bytes);
        let starts = format!("Compression: {unpacked} bytes went as {packed}, ");
        assert!(told.starts_with(&starts) && unpacked > 130_000, "{told}");
        assert!(told.contains(" s of the line"), "{told}");
        let (_, lines) = run("line = '9600'\n[file]\nmade = 'random'\n[both]\ncompress = 'on'");
        let told = said(&account(&lines), "Compression");
        assert_eq!(told, "Compression: it was tried, and the file does not shrink.");
        // What streams is compressed without bundles.
        let (outcome, lines) = run(&text("streaming = 'on'\nbundle = 'off'\ncompress = 'on'"));
        let whole = account(&lines);
        let stats = outcome.report.sides[0].stats;
        assert_eq!(stats.retransmissions, 0);
        let starts = format!("Compression: {} bytes went as ", stats.unpacked_bytes);
        assert!(said(&whole, "Compression").starts_with(&starts) && stats.unpacked_bytes > 130_000);
    }

    #[test]
    fn it_is_advised_where_it_was_off() {
        let ((_, off), (on, _)) = (run(&text(OFF)), run(&text(ON)));
        let advice = account(&off).advise(&no_files).unwrap();
        let (best, ns) = advice.best.clone().unwrap();
        assert_eq!((best.setting, best.also), ("kermit.compress", Some("kermit.bundle")));
        assert_eq!(u128::from(ns), on.elapsed.as_nanos());
        // A sender's own trace, with the file, and without it.
        let set = "text set=kermit.bundle=off";
        let sender = of_end(&off, "A", &[PORT[0], PORT[1], set, "text path=manual"]);
        let manual = wetstring_lab::corpus::Corpus::named("manual").unwrap().bytes(1);
        let load = |_: &str| Ok(manual.clone());
        let advice = sender.advise(&load).unwrap();
        assert_eq!(advice.best.as_ref().map(|(best, _)| best.setting), Some("kermit.compress"));
        let told = predicted(&advice, "kermit.compress").unwrap();
        assert!((told - seconds(&on)).abs() < seconds(&on) * 0.05, "{told} {}", seconds(&on));
        assert_eq!(advice.shrunk_ns, None);
        let advice = sender.advise(&no_files).unwrap();
        let shrunk = advice.shrunk_ns.unwrap() as f64 / 1e9;
        assert!((shrunk - seconds(&on)).abs() < seconds(&on) * 0.1, "{shrunk} {}", seconds(&on));
        assert!(advice.sentence().contains("if the file shrinks as text does"));
    }
}

fn image(settings: &str) -> String {
    format!(
        "line = '115200'\n[file]\nmade = 'random'\nbytes = 100000\n\
         old = {{ changed = 2, share = 0.02 }}\n[both]\n{settings}"
    )
}

#[test]
fn what_the_receiver_had_is_told_or_advised() {
    let (on, lines) = run(&image("bundle = 'on'"));
    let known = on.report.sides[1].stats.known_bytes;
    for account in [account(&lines), of_end(&lines, "A", &PORT), of_end(&lines, "B", &PORT)] {
        let text = said(&account, "Differences");
        assert!(text.contains(&format!("had {known} of 100000 bytes already")), "{text}");
    }
    for settings in ["bundle = 'off'", "bundle = 'on'\ndifference = 'off'"] {
        let (_, lines) = run(&image(settings));
        assert_eq!(said(&account(&lines), "Differences"), "");
        let advice = account(&lines).advise(&no_files).unwrap();
        let (best, ns) = advice.best.clone().unwrap();
        let is_named = best.setting == "kermit.difference" || best.setting == "kermit.bundle";
        assert!(is_named, "{settings}: {best:?}");
        assert_eq!(u128::from(ns), on.elapsed.as_nanos(), "{settings}");
    }
}
