//! `wst lab check`: real time against virtual time.
//!
//! Each case of `cases.toml` is one transfer, made twice: between real programs through `wst line`, by the clock, and
//! in the laboratory. Both are measured by the same captures, from the sender's first byte to the last that either end
//! received, so that when a program was started does not count. Without chance real time may be 3 % off if both ends
//! are ours, 10 % with other people's programs; with chance it has to lie in the range of 39 seeds.
//! On a machine where others are at work a program waits for the processor. For how long line, sender and receiver did
//! (`machine s`, from Linux's `schedstat`; fractions of a percent on a machine of its own) is added to the most that is
//! allowed.

mod case;
mod live;
mod uucico;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use wetstring_drive::in_words;
use wetstring_events::{Checked, Event};

use super::pool::in_order;
use crate::args::lab_check::Check;
use crate::ui::ending::Ending;
use crate::ui::exit::Exit;
use crate::ui::output::{Output, print};
use case::{Case, Virtual};

/// A transfer fails if it takes this much more than twice the laboratory's time.
const START: Duration = Duration::from_secs(60);

pub(super) fn run(ui: &Output, verb: &Check) -> Result<Ending, Ending> {
    let usage = |say: String| Ending::early(Exit::Usage, say);
    let mut cases = case::all().map_err(|bad| usage(format!("cases.toml: {bad}")))?;
    let wanted = |case: &Case| {
        verb.names.is_empty() || verb.names.iter().any(|name| case.name.contains(name))
    };
    cases.retain(|case| wanted(case) && (case.quick || !verb.quick));
    if cases.is_empty() {
        return Err(usage(format!("expected names of transfers, got {}", verb.names.join(" "))));
    }
    if verb.list {
        let rows = cases
            .iter()
            .map(|case| format!("{:<22} {:<10} {}\n", case.name, case.protocol, case.line()));
        print(&rows.collect::<String>());
        return Ok(Ending::early(Exit::Done, ""));
    }
    let program = std::env::current_exe()
        .map_err(|e| Ending::early(Exit::Store, format!("this program: {}", in_words(&e))))?;
    let name = format!("wst-check-{}", std::process::id());
    let scratch = verb.keep.clone().unwrap_or_else(|| scratch_folder().join(name));
    // The laboratory's times first: nothing else is to run beside the clock.
    let virtuals = in_order(2, &cases, Case::run);
    let jobs: Vec<(Case, Result<Virtual, String>)> = cases.into_iter().zip(virtuals).collect();
    let rows = in_order(usize::from(verb.at_once), &jobs, |(case, of)| {
        row(&program, case, of.clone(), &scratch.join(&case.name))
    });
    if verb.keep.is_none() {
        let _ = std::fs::remove_dir_all(&scratch);
    }
    let missed = rows.iter().filter(|row| row.result == "missed").count();
    let all = rows.len();
    present(ui, rows);
    let exit = if missed == 0 { Exit::Done } else { Exit::Integrity };
    let message = if missed == 0 { String::new() } else { format!("{missed} of {all} missed") };
    Ok(Ending::early(exit, message))
}

/// Where the programs work. A receiver answers the last packet when its file is on the disk, and a disk that others
/// keep busy is not what is measured: in memory, if the system has such a folder.
fn scratch_folder() -> PathBuf {
    Some(PathBuf::from("/dev/shm")).filter(|at| at.is_dir()).unwrap_or_else(std::env::temp_dir)
}

/// The name of the program at an end.
fn name_of(command: Option<&String>) -> &str {
    command.and_then(|command| command.split(' ').next()).unwrap_or("wst")
}

/// A program that is needed and not installed.
fn absent(case: &Case) -> Option<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |name: &str| match name {
        "wst" => true,
        "uucico" => uucico::is_there(),
        name => std::env::split_paths(&path).any(|dir| dir.join(name).is_file()),
    };
    let names = [name_of(case.sender.as_ref()), name_of(case.receiver.as_ref())];
    let absent = names.into_iter().find(|name| !is_there(name));
    absent.map(|name| format!("{name} is not installed"))
}

/// Runs a case by the clock, and compares.
fn row(program: &Path, case: &Case, of: Result<Virtual, String>, dir: &Path) -> Checked {
    let mut row = Checked {
        name: case.name.clone(),
        protocol: case.protocol.clone(),
        line: case.line(),
        sender: name_of(case.sender.as_ref()).to_owned(),
        receiver: name_of(case.receiver.as_ref()).to_owned(),
        real_s: None,
        virtual_s: None,
        ratio: None,
        range_s: None,
        machine_s: None,
        result: "missed",
        note: None,
    };
    let range = match of {
        Ok(of) => of.range,
        Err(why) => return Checked { note: Some(why), ..row },
    };
    row.virtual_s = Some(range[1]);
    if let Some(absent) = absent(case) {
        return Checked { result: "not run", note: Some(absent), ..row };
    }
    let limit = START + Duration::from_secs_f64(range[2] * 2.0);
    let real = match live::run(program, case, dir, limit) {
        Ok(real) => real,
        Err(why) => return Checked { note: Some(why), ..row },
    };
    let [low, high] = bounds(range, case.tolerance());
    let high = high + real.kept_waiting;
    let met = (low..=high).contains(&real.seconds);
    Checked {
        real_s: Some(real.seconds),
        machine_s: Some(real.kept_waiting),
        ratio: Some(real.seconds / range[1]),
        range_s: Some([low, high]),
        result: if met { "met" } else { "missed" },
        note: case.lacks.clone().filter(|_| !met),
        ..row
    }
}

/// The least and the most that real time may be: the range of the seeds, or where they make no difference this many
/// percent to either side.
fn bounds([low, middle, high]: [f64; 3], percent: f64) -> [f64; 2] {
    if high > low * 1.001 {
        return [low, high];
    }
    [-1.0, 1.0].map(|side| middle * (1.0 + side * percent / 100.0))
}

fn present(ui: &Output, rows: Vec<Checked>) {
    if ui.has_json() {
        for row in rows {
            ui.event(Event::Checked(Box::new(row)));
        }
        return;
    }
    let mut page = String::new();
    // Writing to a string does not fail.
    let _ = writeln!(
        page,
        "| transfer | protocol | line | sender, receiver | real s | virtual s | ratio | range s | machine s | |"
    );
    let _ = writeln!(page, "|---|---|---|---|--:|--:|--:|---|--:|---|");
    for row in &rows {
        let number = |of: Option<f64>, digits: usize| {
            of.map_or_else(String::new, |of| format!("{of:.digits$}"))
        };
        let range =
            row.range_s.map_or_else(String::new, |[low, high]| format!("{low:.2} to {high:.2}"));
        let note = row.note.as_ref().map_or_else(String::new, |note| format!(": {note}"));
        let _ = writeln!(
            page,
            "| {} | {} | `{}` | {}, {} | {} | {} | {} | {range} | {} | {}{note} |",
            row.name,
            row.protocol,
            row.line,
            row.sender,
            row.receiver,
            number(row.real_s, 2),
            number(row.virtual_s, 2),
            number(row.ratio, 4),
            number(row.machine_s, 2),
            row.result,
        );
    }
    let count = |result: &str| rows.iter().filter(|row| row.result == result).count();
    let _ = writeln!(
        page,
        "\n{} of {} within the bar, {} not run",
        count("met"),
        rows.len() - count("not run"),
        count("not run")
    );
    print(&page);
}

#[cfg(test)]
mod tests {
    use super::*;
    use wetstring_lab::capture::Capture;
    use wetstring_lab::element::End;

    #[test]
    fn a_tolerance_is_for_what_no_seed_changes() {
        let millis = |range| bounds(range, 3.0).map(|end| (end * 1000.0).round() as u64);
        assert_eq!(millis([10.0, 10.0, 10.005]), [9_700, 10_300]);
        assert_eq!(millis([9.0, 10.0, 20.0]), [9_000, 20_000]);
    }

    #[test]
    fn the_time_is_from_the_senders_first_byte_to_the_last_received() {
        let capture = Capture::new();
        // The receiver may have been there for long.
        for (at_s, at, sent) in
            [(1, End::B, true), (2, End::A, false), (5, End::A, true), (7, End::B, false)]
        {
            capture.note(at_s * 1_000_000_000, at, sent, b"x");
        }
        capture.note(9_500_000_000, End::A, false, b"x");
        capture.note(20_000_000_000, End::B, true, b"x");
        assert_eq!(case::span(&capture.pcapng()), Ok(4.5));
        assert!(case::span(&Capture::new().pcapng()).is_err());
    }

    #[test]
    fn every_case_is_a_scenario_and_has_a_name_of_its_own() {
        let cases = case::all().expect("cases");
        let mut names: Vec<&str> = cases.iter().map(|case| &*case.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), cases.len());
        assert!(cases.len() >= 40 && cases.iter().filter(|case| case.quick).count() == 12);
        for case in &cases {
            case.scenario().unwrap_or_else(|why| panic!("{}: {why}", case.name));
        }
    }
}
