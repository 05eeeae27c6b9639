//! `wst demo`: a real file over the wet string, with no hardware.
//!
//! Two Kermit engines and the laboratory's model of a bad line run in virtual time, and the clock
//! on the wall drives that time, scaled. Nothing is prerecorded: another `--line` or
//! another file gives another run.

mod scene;
mod world;

use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::{BufWriter, Write as _};
use std::time::{Duration, Instant as Wall};

use console::Term;
use sha2::{Digest, Sha256};
use wetstring_drive::{Signals, hex, in_words};
use wetstring_events::{self as events, Summary};
use wetstring_lab::serial::Parity;
use wetstring_lab::{End, LineModel, MemoryFile, MemorySink, MemorySource, Serial};
use wetstring_proto::kermit::{self, LineFacts};
use wetstring_proto::settings::Settings;
use wetstring_proto::{Engine, Instant, Outcome};

use crate::args::Common;
use crate::args::demo::Demo;
use crate::transfer::opening::signals;
use crate::ui::ending::Ending;
use crate::ui::exit::Exit;
use crate::ui::format;
use crate::ui::output::{Level, Output, can_redraw};
use crate::ui::progress::{columns, has_colour};
use scene::{Scene, TransferProgress};
use world::{Observers, World};

/// The default file: the source of ZMODEM. All protocols would be a seventh of the whole program.
const TEXT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/wetstring-source.txt"));
const TEXT_NAME: &str = "wetstring-source.txt";

/// Longest run in wall-clock time.
const WALL: Duration = Duration::from_secs(12);
/// Frames per second.
const FRAME: Duration = Duration::from_millis(50);
/// Interval of progress lines where there is no terminal.
const PLAIN_EVERY: Duration = Duration::from_secs(1);

/// The file, the line and the speed of a run.
struct Plan {
    name: String,
    bytes: Vec<u8>,
    model: LineModel,
    faster: u64,
}

/// Its result.
struct Run {
    outcome: Outcome,
    interrupted: bool,
    arrived: Vec<u8>,
    elapsed: Duration,
    report: String,
    fields: events::Demo,
}

/// Runs the demonstration.
pub(crate) fn run(ui: &Output, common: &Common, verb: &Demo) -> Ending {
    match plan(verb).and_then(|plan| perform(ui, common, &plan).map(|run| (plan, run))) {
        Ok((plan, run)) => conclude(ui, &plan, run),
        Err((exit, message)) => Ending::early(exit, message),
    }
}

fn plan(verb: &Demo) -> Result<Plan, (Exit, String)> {
    let (name, bytes) = match &verb.file {
        None => (TEXT_NAME.to_owned(), TEXT.to_vec()),
        Some(path) => {
            let shown = path.display();
            let bytes = std::fs::read(path)
                .map_err(|e| (Exit::Store, format!("could not read {shown}: {}", in_words(&e))))?;
            let name = path.file_name().unwrap_or(path.as_os_str());
            (name.to_string_lossy().into_owned(), bytes)
        }
    };
    let model: LineModel = verb.line.parse().map_err(|e| (Exit::Usage, in_words(&e)))?;
    if model.rate_bps == 0 {
        let say = "expected a line with a rate, such as 9600,delay=250ms, got one without time";
        return Err((Exit::Usage, say.to_owned()));
    }
    let chars_per_s = (model.rate_bps / u64::from(model.bits)).max(1);
    // Encoding and repeats take about a third on top of the file.
    let seconds = bytes.len() as u64 * 4 / 3 / chars_per_s;
    let faster = verb.faster.unwrap_or(seconds / WALL.as_secs()).max(1);
    Ok(Plan { name, bytes, model, faster })
}

/// The configuration of both ends: what a user would set for such a line.
fn config(model: &LineModel) -> kermit::Config {
    let rate_bps = model.port_rate(End::A);
    let line = LineFacts { reliable: Some(false), rate_bps, ..LineFacts::default() };
    let mut config = kermit::Config { line, ..kermit::Config::default() };
    let parity = match model.parity {
        Parity::None if model.seven_bit => "space",
        Parity::None => "none",
        Parity::Even => "even",
        Parity::Odd => "odd",
        Parity::Mark => "mark",
        Parity::Space => "space",
    };
    // The value is one of the row's.
    let _ = config.set("kermit.parity", parity);
    config
}

fn perform(ui: &Output, common: &Common, plan: &Plan) -> Result<Run, (Exit, String)> {
    let file = match &common.trace {
        None => None,
        Some(path) => {
            let file = std::fs::File::create(path);
            let say =
                |e| format!("could not create the trace {}: {}", path.display(), in_words(&e));
            Some(BufWriter::new(file.map_err(|e| (Exit::Store, say(e)))?))
        }
    };
    let signals = signals().map_err(|ending| (ending.exit, ending.message))?;
    let rate = plan.model.rate_bps;
    let scene = Scene::new(rate, u64::from(plan.model.bits), plan.model.delay);
    let eyes = RefCell::new(Observers { scene, file });
    let config = config(&plan.model);
    let say = |e| (Exit::Usage, in_words(&e));
    let sender = kermit::Sender::new(config.clone(), vec![0; config.sender_memory()]);
    let receiver = kermit::Receiver::new(config.clone(), vec![0; config.receiver_memory()]);
    let sender: Box<dyn Engine> = Box::new(sender.map_err(say)?);
    let receiver: Box<dyn Engine> = Box::new(receiver.map_err(say)?);
    let mut source = MemorySource::one(MemoryFile::new(&plan.name, plan.bytes.clone()));
    let mut sink = MemorySink::new();
    let mut line = Serial::new(&plan.model);
    let mut world = World::new(&mut line, (sender, &mut source), (receiver, &mut sink), &eyes);
    ui.say(Level::Note, &introduction(plan));
    let elapsed = watch(ui, plan, &mut world, &eyes, &signals);
    let outcome = world.status(End::A).outcome().unwrap_or(Outcome::Done);
    let finished = world.status(End::A).outcome().and(world.status(End::B).outcome()).is_some();
    let interrupted = signals.count() > 0 || !finished;
    let (report, fields) = account(plan, &world, elapsed);
    drop(world);
    let mut eyes = eyes.into_inner();
    if let Some(Err(error)) = eyes.file.as_mut().map(BufWriter::flush) {
        ui.say(Level::Error, &format!("wst: could not write the trace: {}", in_words(&error)));
    }
    let arrived = sink.complete().next().map_or_else(Vec::new, |file| file.bytes.clone());
    Ok(Run { outcome, interrupted, arrived, elapsed, report, fields })
}

fn introduction(plan: &Plan) -> String {
    let model = &plan.model;
    let width = if model.seven_bit { "7 bits wide" } else { "8 bits wide" };
    let noise = match model.burst {
        Some(burst) => format!(", bursts of {} damaged bytes", burst.len),
        None => String::new(),
    };
    format!(
        "The wet string: {} bit/s, {} ms each way, {width}{noise}; {} times as fast as real.\n\
         Moving {} ({}) from a Kermit sender to a Kermit receiver.\n\
         Line: {model}",
        model.rate_bps,
        model.delay.as_millis(),
        plan.faster,
        plan.name,
        format::size(plan.bytes.len() as u64),
    )
}

/// Drives the world by the wall clock, and draws it. Returns the time on the line.
fn watch(
    ui: &Output,
    plan: &Plan,
    world: &mut World<'_>,
    eyes: &RefCell<Observers>,
    signals: &Signals,
) -> Duration {
    let term = Term::stderr();
    let redraw = can_redraw() && ui.shows_progress();
    let began = Wall::now();
    let (mut said, mut drawn) = (began, 0);
    let mut stop_at = None;
    let score = |world: &World<'_>| TransferProgress {
        now: world.now(),
        bytes: world.stats(End::B).current_file_bytes,
        size: plan.bytes.len() as u64,
    };
    loop {
        let wall = began.elapsed();
        let until = wall.as_nanos().saturating_mul(u128::from(plan.faster));
        let alive = world.advance(Instant(u64::try_from(until).unwrap_or(u64::MAX)));
        for text in world.said() {
            if redraw && drawn > 0 {
                let _ = term.clear_last_lines(drawn);
                drawn = 0;
            }
            ui.say(Level::Note, &format!("  {text}"));
        }
        let over = End::BOTH.iter().all(|end| world.status(*end).outcome().is_some());
        if redraw {
            let lines = eyes.borrow_mut().scene.draw(&score(world), columns(), has_colour());
            if drawn > 0 {
                let _ = term.move_cursor_up(drawn);
            }
            drawn = lines.len();
            let page: String = lines.join("\u{1b}[K\n") + "\u{1b}[K\n";
            let _ = term.write_str(&page);
        } else if said.elapsed() >= PLAIN_EVERY {
            said = Wall::now();
            ui.say(Level::Note, &format!("  {}", eyes.borrow().scene.plain(&score(world))));
        }
        if signals.count() > 0 && stop_at.is_none() {
            world.abort();
            stop_at = Some(Wall::now() + Duration::from_millis(500));
        }
        if over || !alive || stop_at.is_some_and(|at| Wall::now() >= at) {
            return Duration::from_nanos(world.now().0);
        }
        std::thread::sleep(FRAME);
    }
}

/// Where the time went, as shares of the line's time.
fn account(plan: &Plan, world: &World<'_>, elapsed: Duration) -> (String, events::Demo) {
    let stats = world.stats(End::A);
    let usage = world.usage(End::A);
    let chars_per_s = plan.model.rate_bps as f64 / f64::from(plan.model.bits);
    let limit = (elapsed.as_secs_f64() * chars_per_s).max(1.0);
    let share = |bytes: u64| bytes as f64 * 100.0 / limit;
    let data = stats.encoded_bytes.min(stats.wire_out_bytes);
    let again = stats.repeated_bytes.min(stats.wire_out_bytes - data);
    let frames = stats.wire_out_bytes - data - again;
    let idle = (limit as u64).saturating_sub(stats.wire_out_bytes);
    let file = world.stats(End::B).current_file_bytes;
    let rows = [
        ("file data, as encoded for the line", data),
        ("retransmissions", again),
        ("headers, checks, other packets", frames),
        ("nothing to send: waiting", idle),
    ];
    let mut text = String::from("Where the line's time went:\n");
    for (what, bytes) in rows {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {:5.1} %  {what} ({})", share(bytes), format::size(bytes));
    }
    let _ = write!(
        text,
        "Efficiency: {:.1} % of the line's limit of {:.0} bytes per second, counted in bytes of the file;\n\
         \x20           the noise damaged {} on the way there and {} on the way back",
        share(file),
        chars_per_s,
        format::count(usage.damaged_bytes, "byte"),
        format::count(world.usage(End::B).damaged_bytes, "byte"),
    );
    let fields = events::Demo {
        bytes: file,
        elapsed_s: elapsed.as_secs_f64(),
        efficiency: share(file) / 100.0,
        shares: events::Shares {
            data: share(data) / 100.0,
            again: share(again) / 100.0,
            frames: share(frames) / 100.0,
            idle: share(idle) / 100.0,
        },
        damaged_bytes: usage.damaged_bytes,
        stats: crate::transfer::observer::counters(stats),
        sha256_sent: String::new(),
        sha256_received: String::new(),
        equal: false,
    };
    (text, fields)
}

/// Reports the outcome; only equal files are a success.
fn conclude(ui: &Output, plan: &Plan, mut run: Run) -> Ending {
    let sums = [&plan.bytes, &run.arrived].map(|bytes| hex(&Sha256::digest(bytes)));
    let equal = sums[0] == sums[1] && plan.bytes == run.arrived;
    [run.fields.sha256_sent, run.fields.sha256_received] = sums.clone();
    run.fields.equal = equal;
    let fields = Some(Summary::Demo(Box::new(run.fields)));
    let end = |exit, message: String, summary| Ending { summary, ..Ending::early(exit, message) };
    if run.interrupted {
        return end(Exit::Interrupted, "interrupted".to_owned(), fields);
    }
    if let Outcome::Failed(failure) = run.outcome {
        return end(Exit::of(failure), failure.to_string(), fields);
    }
    ui.say(Level::Note, &run.report);
    ui.say(Level::Note, &format!("SHA-256 sent      {}", sums[0]));
    ui.say(Level::Note, &format!("SHA-256 received  {}", sums[1]));
    if !equal {
        return end(Exit::Integrity, "the two files differ".to_owned(), fields);
    }
    let say = format!(
        "Equal: {} in {} on the line.",
        format::size(plan.bytes.len() as u64),
        format::time(run.elapsed)
    );
    ui.say(Level::Note, &say);
    end(Exit::Done, String::new(), fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::demo::LINE;

    #[test]
    fn the_wet_string_parses() {
        let model: LineModel = LINE.parse().unwrap();
        assert_eq!(model.rate_bps, 9600);
        assert!(model.seven_bit && model.burst.is_some());
    }

    #[test]
    fn the_text_is_of_a_few_hundred_kilobytes() {
        assert!((150_000..600_000).contains(&TEXT.len()), "{}", TEXT.len());
        assert!(TEXT.starts_with(b"==> proto/src/zmodem/"));
    }
}
