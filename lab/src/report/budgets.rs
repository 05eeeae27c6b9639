//! Where the time of some transfers goes, on the page.

use super::budget::{TimeBudget, bars, numbers};
use super::run_command;
use crate::explain::{Account, Part};
use crate::scenario::{Scenario, named, no_files};
use crate::trace::Recorder;
use maud::{Markup, html};

/// A transfer whose time is to be divided.
#[derive(Clone, Debug)]
pub struct BudgetJob {
    group: &'static str,
    name: &'static str,
    command: String,
    scenario: Scenario,
}

const WET: &str = "The wet string: 9600 bit/s, 250 ms each way, 8 bytes hit every 2 s";

/// Group, name, the scenario's name, and what is set on top of it.
type Transfer = (&'static str, &'static str, &'static str, &'static [&'static str]);

const TELEBIT: &str = "TCP over SLIP over two Telebit modems, interactive traffic";

const ARPANET: &str = "Files from one Multics to another over the ARPANET (RFC 662)";

const TRANSFERS: [Transfer; 16] = [
    (WET, "Kermit", "wet-string", &[]),
    (
        WET,
        "Kermit, one short packet at a time",
        "wet-string",
        &[
            "both.window=1",
            "both.send-length=94",
            "both.receive-length=94",
            "both.streaming=off",
            "both.adapt-length=off",
        ],
    ),
    (WET, "XMODEM", "wet-string", &["protocol=xmodem-crc"]),
    (WET, "XMODEM-1K", "wet-string", &["protocol=xmodem-1k"]),
    (WET, "YMODEM", "wet-string", &["protocol=ymodem"]),
    (WET, "ZMODEM", "wet-string", &["protocol=zmodem"]),
    ("A clean line of 115200 bit/s", "Kermit", "clean", &[]),
    ("A clean line of 115200 bit/s", "ZMODEM", "clean", &["protocol=zmodem"]),
    ("A half duplex mainframe with parity", "Kermit", "mainframe", &[]),
    ("A personal computer of 1993", "ZMODEM", "sz-1993", &[]),
    (TELEBIT, "five bytes, S120=0", "telebit", &[]),
    (
        TELEBIT,
        "eleven bytes, S120=12",
        "telebit",
        &[
            "line=tcp:mss=256,window=4096 over slip:eleven,mtu=296 over pep:dte=19200,s120=12,most=1,gap=47ms",
        ],
    ),
    (
        TELEBIT,
        "headers as they are, S120=0",
        "telebit",
        &[
            "line=tcp:mss=256,window=4096 over slip:plain,mtu=296 over pep:dte=19200,most=1,gap=47ms",
        ],
    ),
    (ARPANET, "single packets", "multics", &["both.buffers=small"]),
    (ARPANET, "both kinds of buffers", "multics", &[]),
    (ARPANET, "four messages under way", "multics", &["both.window=4"]),
];

impl BudgetJob {
    /// The transfers that the report shows.
    ///
    /// # Panics
    ///
    /// If a built-in scenario is invalid; a test builds them all.
    pub fn all() -> Vec<Self> {
        let job = |(group, name, file, sets): &Transfer| {
            let text = named(file).expect("a scenario of the laboratory");
            let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
            let scenario = Scenario::parse_with(file, text, &sets, &no_files)
                .unwrap_or_else(|bad| panic!("{bad}"));
            Self { group, name, command: run_command(file, &sets), scenario }
        };
        TRANSFERS.iter().map(job).collect()
    }

    /// Runs the transfer and divides its time. An error says why that cannot be done.
    pub fn run(&self) -> Result<TimeBudget, String> {
        let mut recorder = Recorder::keep();
        let outcome = self.scenario.run(&mut recorder);
        if !outcome.is_done() {
            return Err(format!("{}: {}", self.command, outcome.ending));
        }
        let lines = recorder.lines().iter().map(String::as_str);
        let account = Account::read(lines, self.scenario.limit_millicps())
            .map_err(|bad| format!("{}: {bad}", self.command))?;
        let part = |part: Part| (part.title().to_owned(), account.budget.of(part));
        Ok(TimeBudget {
            group: self.group.to_owned(),
            name: self.name.to_owned(),
            command: self.command.clone(),
            parts: Part::ALL.into_iter().map(part).filter(|(_, ns)| *ns > 0).collect(),
        })
    }
}

/// Bars, and the same as numbers.
pub(super) fn section(budgets: &[TimeBudget]) -> Markup {
    let mut groups: Vec<(&str, Vec<&TimeBudget>)> = Vec::new();
    for budget in budgets {
        match groups.iter_mut().find(|(group, _)| *group == budget.group) {
            Some((_, list)) => list.push(budget),
            None => groups.push((&budget.group, vec![budget])),
        }
    }
    let names = names(budgets);
    html! {
        section #budgets {
            h2 { "Where the time goes" }
            p { "Every nanosecond of a transfer belongs to exactly one of these parts." }
            @for (group, budgets) in &groups {
                h3 { (group) }
                figure.broad {
                    (bars(group, budgets, &names))
                }
                div.pair { @for budget in budgets { (numbers(budget)) } }
            }
        }
    }
}

/// The names of all parts: those of our own accounts in their order, then any others.
fn names(budgets: &[TimeBudget]) -> Vec<String> {
    let has =
        |name: &str| budgets.iter().any(|budget| budget.parts.iter().any(|(part, _)| part == name));
    let known = Part::ALL.into_iter().map(Part::title);
    let mut names: Vec<String> = known.filter(|name| has(name)).map(str::to_owned).collect();
    for (name, _) in budgets.iter().flat_map(|budget| &budget.parts) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}
