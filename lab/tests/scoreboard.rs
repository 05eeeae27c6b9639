//! The scoreboard: what is predicted stays listed, and how scores come about.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use wetstring_lab::Recorder;
use wetstring_lab::scenario::{Scenario, no_files};
use wetstring_lab::table::{Kind, Report, Scoreboard, Table, Tally};

fn judged(name: &str, text: &str) -> Report {
    let table = Table::parse(name, "t.toml", text, &no_files).unwrap_or_else(|bad| panic!("{bad}"));
    let outcomes: Vec<_> = table.jobs().iter().map(|job| job.run(&mut Recorder::off())).collect();
    table.judge(&outcomes)
}

/// The scores of all tables, by name: whether each is predicted does not depend on how the runs end.
fn predicted() -> BTreeMap<String, bool> {
    let tiny = "line = '0'\nfile.bytes = 100\n";
    let outcome = Scenario::parse("tiny.toml", tiny, &no_files).unwrap().run(&mut Recorder::off());
    let mut found = BTreeMap::new();
    for name in Table::names() {
        let table = Table::named(name).expect("a table").unwrap_or_else(|bad| panic!("{bad}"));
        let report = table.judge(&vec![outcome; table.jobs().len()]);
        for score in Scoreboard::of([&report]).scores {
            let key = format!("{name}\t{}\t{}", score.name, score.kind.name());
            assert!(found.insert(key.clone(), !score.fitted).is_none(), "{key} is there twice");
        }
    }
    found
}

/// The lines of a list in `lab/tables`, without its head.
fn list(name: &str) -> Vec<String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tables").join(name);
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
}

/// What was predicted once and is fitted or gone now stands in `left.tsv`, with the reason.
#[test]
fn what_was_predicted_is_predicted_or_is_listed_as_left() {
    let now = predicted();
    let mut listed: BTreeSet<String> = list("predicted.tsv").into_iter().collect();
    if std::env::var_os("WETSTRING_UPDATE_SNAPSHOTS").is_some() {
        // The list only grows: what leaves it is written into the other by hand.
        listed.extend(now.iter().filter(|(_, predicted)| **predicted).map(|(key, _)| key.clone()));
        let lines: Vec<String> = listed.iter().map(|key| format!("{key}\n")).collect();
        let text =
            format!("# Predicted values: table, setting and quantity, kind.\n{}", lines.concat());
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tables/predicted.tsv");
        std::fs::write(path, text).expect("the list can be written");
    }
    let mut left = BTreeSet::new();
    for line in list("left.tsv") {
        let (key, reason) = line.rsplit_once('\t').expect("a reason behind the name");
        assert!(reason.len() > 20, "{line}: expected a reason");
        left.insert(key.to_owned());
    }
    let is_listed = |key: &String| listed.contains(key) && !left.contains(key);
    let new = now.iter().filter(|(key, predicted)| **predicted && !is_listed(key));
    let new: Vec<&String> = new.map(|(key, _)| key).collect();
    assert!(new.is_empty(), "predicted, and predicted.tsv and left.tsv say otherwise: {new:#?}");
    let gone = |key: &&String| is_listed(key) && !now.get(*key).copied().unwrap_or_default();
    let gone: Vec<&String> = listed.iter().filter(gone).collect();
    assert!(gone.is_empty(), "no predictions any more, and left.tsv does not say why: {gone:#?}");
    assert!(left.is_subset(&listed), "left.tsv has what was never predicted");
    assert!(listed.len() > 300, "{}", listed.len());
}

const SMALL: &str = "title = 'small'\nclass = 'physics'\n[[parameter]]\nof = ['*']\n\
    fitted = [{ row = 'fit', column = 'X' }]\nwhy = 'x'\n\
    [common]\nline = '9600'\nfile.bytes = 9600\nprotocol = 'xmodem-crc'\n\
    [[column]]\nname = 'X'\n[[column]]\nname = 'Y'\n";

/// 75 blocks of 133 characters and their answers take 10.6 s.
#[test]
fn a_transfer_has_one_verdict_and_fits_stand_apart() {
    let text = format!(
        "{SMALL}[[row]]\nname = 'fit'\ncells = [{{ column = 'X', secs = 10, cps = 960 }}]\n\
         [[row]]\nname = 'free'\nscenario.seed = 2\ncells = [{{ column = 'X', secs = 12, cps = 914, eff = 95, reason = 'x' }}, \
         {{ column = 'Y', secs = 11, cps = 914, eff = 95 }}]\n"
    );
    let report = judged("small", &text);
    assert_eq!(report.cells.len(), 8);
    let scores = report.scores();
    let names: Vec<(&str, bool)> = scores.iter().map(|of| (of.name.as_str(), of.fitted)).collect();
    assert_eq!(names, [("fit, rate", true), ("free, rate", false)]);
    // 12 and 11 s are two runs of one setting: 11.5 s.
    let (ratio, ours) = (scores[1].ratio.expect("a ratio"), report.cells[2].values[0]);
    assert!((10.0..11.0).contains(&ours) && (ratio - ours / 11.5).abs() < 1e-9, "{ratio} {ours}");
    assert!(scores[0].held && !scores[1].held);
    let board = Scoreboard::of([&report]);
    let tally = board.tally(&[Kind::Rate], false);
    assert_eq!((tally.count, tally.within, tally.sides), (1, [0, 1, 1], [0, 1]));
}

/// The same run under two names is one setting, and a fit of the one decides the other.
#[test]
fn rows_that_are_one_run_are_pooled() {
    let of = |other: &str| {
        let text = format!(
            "{SMALL}[[row]]\nname = 'fit'\ncells = [{{ column = 'X', secs = 10 }}]\n\
             [[row]]\nname = 'again'\n{other}\ncells = [{{ column = 'X', secs = 11 }}]\n"
        );
        let scores = judged("small", &text).scores();
        scores.iter().map(|of| (of.name.clone(), of.fitted)).collect::<Vec<_>>()
    };
    assert_eq!(of(""), [("fit, rate".to_owned(), true)]);
    let apart = [("fit, rate".to_owned(), true), ("again, rate".to_owned(), false)];
    assert_eq!(of("scenario.file.bytes = 9601"), apart);
    assert_eq!(of("scenario.both.retries = 7"), apart);
}

/// A transfer of ours that fails is not left out.
#[test]
fn what_fails_is_farther_off_than_any_share() {
    let text = format!(
        "{SMALL}[[row]]\nname = 'r'\nscenario.limits.time = 5\n\
         cells = [{{ column = 'X', secs = 10, reason = 'x' }}]\n"
    );
    let tally = Scoreboard::of([&judged("small", &text)]).tally(&[Kind::Rate], false);
    assert_eq!((tally.count, tally.ratios, tally.within, tally.sides), (1, 1, [0; 3], [0; 2]));
    assert!(tally.median.is_infinite());
}

#[test]
fn a_bias_is_one_that_a_coin_does_not_have() {
    let of = |high, low| {
        Tally { sides: [high, low], ratios: high + low, ..Tally::default() }.is_biased()
    };
    assert!(of(41, 3) && of(0, 6) && !of(5, 0) && !of(10, 4));
}

/// A picked seed is one of 24, and a world in which no seed is as published shows nothing.
#[test]
fn what_shows_a_reason_says_with_how_many_seeds() {
    let of = |loss: &str| {
        let text = format!(
            "title = 'small'\nclass = 'physics'\nseeds = 3\n[common]\nprotocol = 'netblt'\n\
             line = 'udp over path:10M,rtt=10ms'\nfile = {{ made = 'pattern', bytes = 3000000 }}\n\
             [[column]]\nname = 'X'\n[[row]]\nname = 'r'\ncells = [{{ column = 'X', lost = 20, reason = 'noise', \
             shown-by = {{ line = 'udp over path:10M,rtt=10ms,loss={loss}', seed = 9 }} }}]\n"
        );
        judged("small", &text).cells[0].clone()
    };
    let good = of("1%");
    let (passes, all) = good.passes.expect("runs");
    assert!(all == 24 && passes > 0 && passes < 24, "{passes} of {all}");
    assert!(
        good.reason.ends_with(&format!("so it is with {passes} of 24 seeds)")),
        "{}",
        good.reason
    );
    assert!(good.verdict.is_good());
    let none = of("0.01%");
    assert_eq!(none.passes, Some((0, 24)));
    assert!(!none.verdict.is_good(), "{none:?}");
}
