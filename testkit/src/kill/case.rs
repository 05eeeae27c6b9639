//! One case: the transfer is killed and started again, and everything is looked at after each step.

use std::path::Path;
use std::time::Duration;

use super::attempt::{Aim, Attempt, AttemptResult, Bench, Medium};
use super::desk::{Desk, Found, Left};
use super::plan::{Case, Mode, State};
use crate::Dice;

/// Approximate duration of a transfer over a slow line.
const SLOW_MS: u64 = 120;

/// How the run after a kill began.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum After {
    /// Percentage of the files at which it resumed.
    Resumed(u8),
    Restarted,
    /// Everything had arrived already.
    Whole,
}

/// What came of a case.
pub(super) struct Report {
    pub(super) case: Case,
    /// Kills that hit.
    pub(super) kills: usize,
    /// What each hit.
    pub(super) hits: Vec<Vec<Found>>,
    pub(super) after: Vec<After>,
    /// Files that are lost, and ends that lied.
    pub(super) lost: Vec<String>,
    /// What else is not as it should be.
    pub(super) wrong: Vec<String>,
    /// What was left over at the end.
    pub(super) left: Left,
    /// Runs that needed another without `--resume`.
    pub(super) unresumed: usize,
}

impl Report {
    pub(super) fn is_sound(&self) -> bool {
        self.lost.is_empty() && self.wrong.is_empty()
    }

    /// Says at once what is wrong.
    pub(super) fn say(&self) {
        for (word, all) in [("LOST", &self.lost), ("WRONG", &self.wrong)] {
            for one in all {
                println!("{word} in {} (seed {:#x}): {one}", self.case, self.case.seed);
            }
        }
    }
}

/// Runs it in a directory of its own.
pub(super) fn run(program: &Path, case: Case, dir: &Path) -> Report {
    let mut report = Report {
        case,
        kills: 0,
        hits: Vec::new(),
        after: Vec::new(),
        lost: Vec::new(),
        wrong: Vec::new(),
        left: Left::default(),
        unresumed: 0,
    };
    if let Err(why) = killed(program, dir, &mut report) {
        report.wrong.push(why);
    }
    report
}

fn killed(program: &Path, dir: &Path, report: &mut Report) -> Result<(), String> {
    let case = report.case;
    let mut dice = Dice(case.seed);
    let medium = match case.mode {
        Mode::Netblt => Medium::Udp(dice.one_in(2)),
        Mode::Put | Mode::Get => Medium::Tcp,
        _ => dice.pick(&[Medium::Tcp, Medium::Pty, Medium::Pipe]),
    };
    let desk = Desk::new(dir.to_owned(), &case, &mut dice)
        .map_err(|e| format!("{}: {e}", dir.display()))?;
    let mut bench = Bench { program, case, desk, dice, medium, server: None };
    let pace = matches!(case.state, State::Any | State::Between)
        .then(|| (bench.desk.total() / SLOW_MS).max(1));
    let bytes = bench.measure(pace)?;
    for number in 1..=case.kills() {
        let aim = bench.aim(bytes, number);
        let resume = number > 1;
        let attempt = Attempt { number, into: "in", resume, pace, aim: Some(aim) };
        let result = bench.run(attempt)?;
        bench.look(&result, report);
        if number > 1 {
            report.after.push(bench.after(&result));
        }
        if result.hit {
            report.kills += 1;
            report.hits.push(result.found);
        }
    }
    bench.finish(report)
}

impl Bench<'_> {
    /// Bytes that the sender sends without a kill.
    fn measure(&mut self, pace: Option<u64>) -> Result<u64, String> {
        if matches!(self.case.state, State::Start | State::Offer | State::Between) {
            return Ok(0);
        }
        let dry = Attempt { number: 0, into: "dry", resume: false, pace, aim: None };
        let result = self.run(dry)?;
        self.server = None;
        let _ = std::fs::remove_dir_all(self.desk.path("dry"));
        if result.codes.iter().any(|(_, code)| *code != Ok(0)) {
            return Err(format!("without a kill: {:?}\n{}", result.codes, result.words));
        }
        Ok(result.passed)
    }

    fn aim(&mut self, bytes: u64, number: usize) -> Aim {
        let mut share = |low, high| Aim::Passed(bytes * self.dice.between(low, high) / 1000);
        match self.case.state {
            State::Start => Aim::Passed(0),
            State::Offer => Aim::Passed(self.dice.between(1, 200)),
            State::Early => share(20, 200),
            State::Middle => share(350, 650),
            State::Again if number == 1 => share(350, 650),
            // Of what is left, if it resumes.
            State::Again => share(50, 300),
            State::Late => share(800, 970),
            State::Close => Aim::Passed(bytes.saturating_sub(self.dice.between(1, 160)).max(1)),
            State::Rename => Aim::Rename(bytes / 2),
            State::Between => Aim::Between,
            State::Any => Aim::Time(Duration::from_micros(self.dice.between(0, SLOW_MS * 1100))),
        }
    }

    /// Checks the files, and the output of the programs that were not killed.
    fn look(&self, result: &AttemptResult, report: &mut Report) {
        report.lost.extend(self.desk.judge());
        for (end, code) in &result.codes {
            match code {
                Ok(0) if !self.desk.all_whole() => {
                    let listing = self.desk.listing();
                    report.lost.push(format!("the {end} ended with 0, there is {listing}"));
                }
                Ok(_) => {}
                Err(why) => report.wrong.push(format!("the {end} {why}")),
            }
        }
        for name in &result.verified {
            if !self.desk.is_whole(name) {
                report.lost.push(format!("{name} was called verified, and is not whole"));
            }
        }
    }

    fn after(&self, result: &AttemptResult) -> After {
        if result.resumed_from == 0 {
            return After::Restarted;
        }
        After::Resumed((result.resumed_from * 100 / self.desk.total().max(1)).min(100) as u8)
    }

    /// Runs it to its end.
    fn finish(&mut self, report: &mut Report) -> Result<(), String> {
        let whole = self.desk.all_whole();
        let mut number = self.case.kills() + 1;
        let mut resume = true;
        while !self.desk.to_send().is_empty() {
            let attempt = Attempt { number, into: "in", resume, pace: None, aim: None };
            let result = self.run(attempt)?;
            self.look(&result, report);
            let good = result.codes.iter().all(|(_, code)| *code == Ok(0));
            if !good && resume {
                // A client that is to resume a different file refuses.
                let refused = self.case.mode.has_server() && self.desk.has_old();
                if !refused || result.codes.iter().any(|(_, code)| !matches!(code, Ok(0 | 6))) {
                    report.wrong.push(format!("resumed: {:?}\n{}", result.codes, result.words));
                }
                report.unresumed += 1;
                resume = false;
                number += 1;
                continue;
            }
            report.after.push(if whole { After::Whole } else { self.after(&result) });
            if !good {
                report.lost.push(format!("started again: {:?}\n{}", result.codes, result.words));
            }
            break;
        }
        if self.desk.to_send().is_empty() && report.after.len() < report.kills {
            report.after.push(After::Whole);
        }
        if !self.desk.all_whole() {
            report.lost.push(format!("in the end there is {}", self.desk.listing()));
        }
        report.left = self.desk.left();
        if report.left.marked > 0 {
            report.wrong.push(format!("parts are left: {}", self.desk.listing()));
        }
        self.server = None;
        Ok(())
    }
}
