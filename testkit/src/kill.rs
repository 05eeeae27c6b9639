//! Kills transfers between two real `wst` by signal 9 and starts them again: nothing may be lost.
//!
//! A case is a transfer: a protocol, an end, a state (`plan`). A line of this program's own joins the ends
//! (`wire`): it stops at the byte that the state is about, so that the kill hits what it is aimed at, and what
//! really stood on the disk at that moment is looked up and counted. Then both run again, resuming where the
//! protocol can. What must hold (`desk`), after each kill and at the end:
//!
//! * under the final name stands the old file or the whole new one, never anything between;
//! * what stood there before is still there, under its name or as `NAME.~N~`, unless the policy is to replace it
//!   and the new one is whole;
//! * a program that ended with exit code 0, or called a file verified, was right;
//! * a source is gone only with `--delete`, and only if the file is whole at the peer;
//! * in the end all files are whole, and of the parts none is left that bears our mark.
//!
//! A kill counts if the process ran and died of it.

mod attempt;
mod case;
mod desk;
mod plan;
mod programs;
mod table;
mod wire;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use case::Report;
use plan::{Case, Mode};

/// Transfers at the same time.
const AT_ONCE: usize = 4;

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Kills that hit.
    kills: usize,
    seed: u64,
    only: Option<Mode>,
    /// Only this case.
    case: Option<usize>,
}

impl Wanted {
    /// This many kills that hit, with the dice of this seed.
    pub const fn new(kills: usize, seed: u64) -> Self {
        Self { kills, seed, only: None, case: None }
    }

    /// Only those of one mode of a protocol, such as `kermit-window`.
    ///
    /// # Errors
    ///
    /// The names of all modes, if it is none of them.
    pub fn only(self, name: &str) -> Result<Self, String> {
        let found = Mode::ALL.into_iter().find(|mode| mode.name() == name);
        let names = || Mode::ALL.map(Mode::name).join(", ");
        let only = Some(found.ok_or_else(|| format!("expected one of {}", names()))?);
        Ok(Self { only, ..self })
    }

    /// Only the case of this number.
    pub const fn case(self, number: usize) -> Self {
        Self { case: Some(number), ..self }
    }

    /// Checks that as many kills have hit as are wanted; of a single case any number will do.
    ///
    /// # Errors
    ///
    /// Both numbers, if they have not.
    pub fn check(&self, hit: usize) -> Result<(), String> {
        if hit < self.kills && self.case.is_none() {
            return Err(format!("expected {} kills, {hit} hit", self.kills));
        }
        Ok(())
    }
}

/// Kills, and prints what came of it: how many kills hit.
///
/// # Errors
///
/// If anything was lost or is wrong.
pub fn run(program: &Path, wanted: &Wanted) -> Result<usize, String> {
    let scratch = std::env::temp_dir().join(format!("wst-kill-{}", std::process::id()));
    let began = Instant::now();
    println!("{}", table::plan(wanted));
    let reports = all(program, wanted, &scratch)?;
    println!("{}", table::came(&reports, began.elapsed()));
    let wrong: usize = reports.iter().map(|report| report.lost.len() + report.wrong.len()).sum();
    if wrong == 0 {
        let _ = std::fs::remove_dir_all(&scratch);
        return Ok(reports.iter().map(|report| report.kills).sum());
    }
    Err(format!("{wrong} faults; the directories of their cases stay in {}", scratch.display()))
}

/// Runs cases until this many kills have hit, repeating missed ones with other seeds.
fn all(program: &Path, wanted: &Wanted, scratch: &Path) -> Result<Vec<Report>, String> {
    let mut cases: VecDeque<Case> = first(wanted).into();
    let planned = cases.len();
    let mut reports: Vec<Report> = Vec::new();
    // A state that cannot be hit must not loop indefinitely.
    for round in 0..20 {
        if cases.is_empty() {
            break;
        }
        let came = at_once(program, cases.make_contiguous(), scratch)?;
        cases.clear();
        for report in &came {
            if report.kills < report.case.kills() && report.is_sound() && wanted.case.is_none() {
                let seed = report.case.seed.wrapping_add(1);
                cases.push_back(Case { seed, ..report.case });
            }
        }
        if round > 0 || !cases.is_empty() {
            println!("round {}: {} of {planned} cases missed", round + 1, cases.len());
        }
        reports.extend(came);
    }
    Ok(reports)
}

/// As many cases as needed for this many kills.
fn first(wanted: &Wanted) -> Vec<Case> {
    let of = |number| Case::new(number, wanted.seed, wanted.only);
    if let Some(number) = wanted.case {
        return vec![of(number)];
    }
    let mut left = wanted.kills;
    let whole = (0..).map(of).take_while(|case| {
        let wants = left > 0;
        left = left.saturating_sub(case.kills());
        wants
    });
    whole.collect()
}

/// Some cases at the same time.
fn at_once(program: &Path, cases: &[Case], scratch: &Path) -> Result<Vec<Report>, String> {
    let (next, reports) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let dir = scratch.join(format!("{}-{:x}", case.number, case.seed));
            let report = case::run(program, *case, &dir);
            if report.is_sound() {
                let _ = std::fs::remove_dir_all(&dir);
            }
            report.say();
            if let Ok(mut all) = reports.lock() {
                all.push(report);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(work);
        }
    });
    let mut reports = reports.into_inner().map_err(|_| "a case panicked")?;
    reports.sort_by_key(|report: &Report| report.case.number);
    Ok(reports)
}
