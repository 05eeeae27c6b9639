//! `wst lab run`: one scenario.

use std::io::Write as _;
use std::path::Path;

use wetstring_drive::in_words;
use wetstring_events::{self as events, Event, ScenarioResult};
use wetstring_lab::Recorder;
use wetstring_lab::capture::Capture;
use wetstring_lab::explain::{Account, header};
use wetstring_lab::scenario::{BadScenario, Ending as RunEnding, Outcome, Scenario};
use wetstring_lab::slip::Ledger;
use wetstring_proto::{Instant, TraceEvent};

use crate::args::Common;
use crate::args::lab::Run;
use crate::ui::ending::Ending;
use crate::ui::exit::Exit;
use crate::ui::output::Output;

pub(super) fn run(ui: &Output, common: &Common, verb: &Run) -> Result<Ending, Ending> {
    let Input { scenario, head } = read(verb)?;
    let keeps = common.trace.is_some() || verb.explain;
    let mut recorder = if keeps { Recorder::keep() } else { Recorder::digest_only() };
    let capture = Capture::new();
    let scenario = if verb.pcap.is_some() { scenario.with_capture(&capture) } else { scenario };
    let outcome = scenario.run(&mut recorder);
    if let Some(path) = &verb.pcap {
        std::fs::write(path, capture.pcapng())
            .map_err(|error| store(path, "could not write the capture", &error))?;
    }
    let lines = || head.iter().chain(recorder.lines()).map(String::as_str);
    if let Some(path) = &common.trace {
        write_trace(path, lines())
            .map_err(|error| store(path, "could not write the trace", &error))?;
    }
    if ui.has_json() {
        ui.event(Event::Result(Box::new(result(&scenario, &outcome))));
    } else {
        crate::ui::output::print(&scenario.summary(&outcome));
    }
    if verb.explain {
        match Account::read(lines(), None) {
            Ok(account) => {
                if !ui.has_json() {
                    crate::ui::output::print("\n");
                }
                let advice = crate::transfer::account::advise(&account);
                crate::transfer::account::present(ui, &account, Some(&advice));
            }
            // The run succeeded as such; the transfer has its own outcome.
            Err(bad) => crate::transfer::account::without_account(ui, &bad),
        }
    }
    let exit = match outcome.ending {
        RunEnding::Done | RunEnding::Measured => Exit::Done,
        RunEnding::Failed(_, failure) => Exit::of(failure),
        RunEnding::Stopped(_) => Exit::Timeout,
        RunEnding::Wrong => Exit::Integrity,
    };
    let message = if outcome.is_done() { String::new() } else { outcome.ending.to_string() };
    Ok(Ending::early(exit, message))
}

/// A scenario, and the head of its trace.
struct Input {
    scenario: Scenario,
    head: Vec<String>,
}

/// Loads a scenario by name or path.
pub(crate) fn load(path: &Path) -> Result<Scenario, Ending> {
    let text = text_of(path)?;
    let scenario = Scenario::parse(&path.to_string_lossy(), &text, &beside(path));
    scenario.map_err(|bad| Ending::early(Exit::Usage, bad.to_string()))
}

/// The text of a built-in scenario, or of a file.
pub(super) fn text_of(path: &Path) -> Result<String, Ending> {
    if let Some(text) = path.to_str().and_then(wetstring_lab::scenario::named) {
        return Ok(text.to_owned());
    }
    if !path.exists() && path.extension().is_none_or(|end| end != "toml") {
        let names: Vec<&str> = wetstring_lab::scenario::names().collect();
        let (names, got) = (names.join(", "), path.display());
        let say = format!("expected a scenario ({names}) or a TOML file, got {got}");
        return Err(Ending::early(Exit::Usage, say));
    }
    read_text(path, "could not read the scenario")
}

/// The text of a file.
///
/// # Errors
///
/// A file that cannot be read (`what` could not be done), and one that is not UTF-8, with the line.
pub(super) fn read_text(path: &Path, what: &str) -> Result<String, Ending> {
    let bytes = std::fs::read(path).map_err(|error| store(path, what, &error))?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let bytes = error.as_bytes();
        let line = bytes[..at].split(|byte| *byte == b'\n').count();
        let (path, byte) = (path.display(), bytes[at]);
        Ending::early(Exit::Usage, format!("{path}:{line}: expected UTF-8, got byte 0x{byte:02x}"))
    })
}

/// Reads the scenario of the command line, with its overrides.
fn read(verb: &Run) -> Result<Input, Ending> {
    let path = &verb.scenario;
    let text = text_of(path)?;
    let mut sets = verb.sets.clone();
    sets.extend(verb.seed.map(|seed| format!("seed={seed}")));
    let load = beside(path);
    let name = path.to_string_lossy();
    let wrong = |bad: BadScenario| Ending::early(Exit::Usage, bad.to_string());
    let scenario = Scenario::parse_with(&name, &text, &sets, &load).map_err(wrong)?;
    let mut head = header(&name, &text, &sets, &scenario).map_err(wrong)?;
    // Its files are beside it, regardless of where the trace is read.
    if let Some(directory) = path.canonicalize().ok().as_deref().and_then(Path::parent) {
        let text = directory.as_os_str().as_encoded_bytes();
        head.push(format!(
            "{} run {}",
            Instant::ZERO,
            TraceEvent::Text { name: "directory", text }
        ));
    }
    Ok(Input { scenario, head })
}

/// Reads files named in a scenario or a table; paths are relative to it.
pub(super) fn beside(path: &Path) -> impl Fn(&str) -> Result<Vec<u8>, String> + use<> {
    let directory = path.parent().map(Path::to_path_buf).unwrap_or_default();
    move |name| {
        let whole = directory.join(name);
        std::fs::read(&whole).map_err(|error| format!("{}: {}", whole.display(), in_words(&error)))
    }
}

/// An end caused by a file error.
pub(super) fn store(path: &Path, what: &str, error: &std::io::Error) -> Ending {
    Ending::early(Exit::Store, format!("{what} {}: {}", path.display(), in_words(&error)))
}

/// Writes all lines of a trace.
pub(crate) fn write_trace<'a>(
    path: &Path,
    lines: impl Iterator<Item = &'a str>,
) -> std::io::Result<()> {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
    for line in lines {
        writeln!(file, "{line}")?;
    }
    file.flush()
}

fn result(scenario: &Scenario, outcome: &Outcome) -> ScenarioResult {
    let stats = outcome.report.sides.map(|side| side.stats);
    ScenarioResult {
        protocol: scenario.protocol_name().to_owned(),
        line: scenario.line().to_vec(),
        seed: scenario.seed(),
        ending: outcome.ending.to_string(),
        done: outcome.is_done(),
        bytes: outcome.bytes,
        lost_bytes: scenario.lost_bytes(outcome),
        elapsed_s: outcome.elapsed.as_secs_f64(),
        cps: outcome.millicps() as f64 / 1000.0,
        limit_cps: outcome.limit_millicps.map(|limit| limit as f64 / 1000.0),
        efficiency: outcome.efficiency_percent(),
        retransmissions: outcome.retransmissions(),
        timeouts: stats[0].timeouts + stats[1].timeouts,
        damaged: stats[0].damaged + stats[1].damaged,
        events: outcome.report.events,
        echoes: outcome.echoes.map(|echoes| events::Echoes {
            keys: echoes.keys,
            echoed: echoes.echoed,
            median_ms: echoes.median_ns as f64 / 1e6,
            p90_ms: echoes.p90_ns as f64 / 1e6,
            longest_ms: echoes.longest_ns as f64 / 1e6,
        }),
        slip: outcome.ledgers.map(|[from_sender, from_receiver]| events::Ledgers {
            from_sender: ledger(&from_sender),
            from_receiver: ledger(&from_receiver),
        }),
        trace: format!("{:016x}", outcome.trace_digest),
    }
}

/// The bytes of one direction of a SLIP line by purpose.
fn ledger(ledger: &Ledger) -> events::Ledger {
    events::Ledger {
        line_bytes: ledger.line_bytes,
        data_bytes: ledger.data_bytes,
        head_bytes: ledger.head_bytes,
        acks: ledger.acks,
        ack_bytes: ledger.ack_bytes,
        typed_bytes: ledger.typed_bytes,
    }
}
