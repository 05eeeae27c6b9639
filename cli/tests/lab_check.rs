//! `wst lab check --quick`: a dozen transfers in real time take what the laboratory says.

use crate::common;
use crate::peers;

use common::{Running, wst};
use std::time::Duration;

/// Runs those of the dozen whose names contain one of these: the names of what was run, and of what missed.
fn check(names: &[String]) -> (Vec<String>, Vec<String>) {
    let flags = ["--quick", "--at-once", "12", "--json"].map(str::to_owned);
    let words = ["lab", "check"].map(str::to_owned);
    let check = Running::start(wst(words.iter().chain(names).chain(&flags)));
    let ran = check.end_within(Duration::from_secs(300));
    let (mut all, mut missed) = (Vec::new(), Vec::new());
    for row in ran.events().iter().filter(|event| event["event"] == "checked") {
        let name = row["name"].as_str().expect("a name").to_owned();
        match row["result"].as_str() {
            Some("met") => {
                let real = row["real_s"].as_f64().expect("a time");
                let range = [0, 1].map(|end| row["range_s"][end].as_f64().expect("a range"));
                assert!(range[0] <= real && real <= range[1], "{row}");
            }
            Some("missed") => {
                println!("{row}");
                missed.push(name.clone());
            }
            Some("not run") => peers::missing(row["note"].as_str().unwrap_or_default()),
            _ => panic!("{row}"),
        }
        all.push(name);
    }
    ran.expect(if missed.is_empty() { 0 } else { 6 });
    (all, missed)
}

/// Where noise is left to chance one run of 40 is outside the range at either end, and on a busy machine programs are
/// late at times: what misses is run again, and has to miss each time.
#[test]
fn a_dozen_transfers_take_the_time_of_the_laboratory() {
    let (all, mut missed) = check(&[]);
    assert_eq!(all.len(), 12, "{all:?}");
    for _ in 0..3 {
        if missed.is_empty() {
            return;
        }
        let (_, again) = check(&missed);
        missed.retain(|name| again.contains(name));
    }
    assert!(missed.is_empty(), "{missed:?}");
}
