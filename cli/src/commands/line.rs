//! `wst line`: emulates a bad line in real time, between any two programs.

use std::ffi::OsString;

use wetstring_drive::imp::subnet::{self, SubnetEnds};
use wetstring_drive::line::NcpSpec;
use wetstring_drive::live::datagrams::{self, DatagramEnd};
use wetstring_drive::live::{self, Stop, Until};
use wetstring_drive::{LineSpec, Port, Signals, in_words};
use wetstring_events::{Event, LineUsage, Summary};
use wetstring_lab::capture::Medium;
use wetstring_lab::element::Unit;
use wetstring_lab::imp::SubnetModel;
use wetstring_lab::net::Network;
use wetstring_lab::scenario::{Outside, Stretch, elements};
use wetstring_lab::{End, LineModel, Usage};

use crate::args::Common;
use crate::args::line::Line;
use crate::transfer::captured::Captured;
use crate::transfer::opening::{not_opened, signals};
use crate::transfer::trace::Recorder;
use crate::ui::ending::Ending;
use crate::ui::exit::Exit;
use crate::ui::format;
use crate::ui::output::{Level, Output};

/// Emulates the line until interrupted, or until one end closes for good.
pub(crate) fn run(ui: &Output, common: &Common, verb: &Line) -> Result<Ending, Ending> {
    let usage = |say: String| Ending::early(Exit::Usage, say);
    let spec = |text: &OsString| LineSpec::from_os(text).map_err(|bad| usage(bad.to_string()));
    let (spec_a, spec_b) = (spec(&verb.a)?, spec(&verb.b)?);
    if spec_a == LineSpec::Stdio || spec_b == LineSpec::Stdio {
        ui.line_is_stdio();
    }
    let model = model_of(&verb.spec).map_err(usage)?;
    let signals = signals()?;
    let mut recorder = Recorder::new(ui, "line", common.trace.as_deref())
        .map_err(|say| Ending::early(Exit::Store, say))?;
    let captured = Captured::new(verb.pcap.as_deref())?;
    let until = Until { signals: Some(&signals), scale: verb.faster, ..Until::default() };
    let broke = |e| Ending::early(Exit::Line, format!("the line failed: {}", in_words(&e)));
    let report = match model {
        Model::Line(model) => {
            let a = open(ui, &signals, End::A, &spec_a, model.port_rate(End::A))?;
            let b = open(ui, &signals, End::B, &spec_b, model.port_rate(End::B))?;
            up(ui, &model);
            let (serial, limits) = live::serial(&model, verb.faster);
            let mut element = captured.element(Medium::Serial, Box::new(serial));
            live::run_element(&mut *element, [a, b], limits, until, &mut recorder).map_err(broke)?
        }
        Model::Elements(stretch) => {
            let [rate_a, rate_b] = stretch.ports.map(|port| port.rate_bps);
            let a = open(ui, &signals, End::A, &spec_a, rate_a)?;
            let b = open(ui, &signals, End::B, &spec_b, rate_b)?;
            up(ui, &verb.spec);
            let limits = [stretch.limit_millicps; 2];
            let mut element = captured.element(Medium::Serial, stretch.element);
            live::run_element(&mut *element, [a, b], limits, until, &mut recorder).map_err(broke)?
        }
        Model::Subnet(model) => {
            if verb.pcap.is_some() {
                let say =
                    "expected a line of bytes or a network of datagrams with --pcap, got imp:";
                return Err(usage(say.to_owned()));
            }
            let (specs, ends) = open_subnet(ui, &spec_a, &spec_b)?;
            up(ui, &model);
            subnet::run(&model, specs, ends, until, &mut recorder).map_err(broke)?
        }
        Model::Network(network) => {
            let tun = [&spec_a, &spec_b].iter().all(|spec| spec.to_string().starts_with("tun:"));
            let medium = if tun { Medium::Ip } else { Medium::Bare };
            let mut element = captured.element(medium, network.build());
            let ends = [open_datagrams(ui, End::A, &spec_a)?, open_datagrams(ui, End::B, &spec_b)?];
            up(ui, &*network);
            datagrams::run(&mut *element, ends, until, &mut recorder).map_err(broke)?
        }
    };
    if let Some(why) = captured.finish() {
        ui.say(Level::Error, &format!("wst: could not write the capture: {why}"));
    }
    if let (_, Some(why)) = recorder.finish() {
        ui.say(Level::Error, &format!("wst: could not write the trace: {why}"));
    }
    for end in End::BOTH {
        ui.say(Level::Note, &carried(end, &report.usage[end.index()]));
    }
    Ok(ending(&report))
}

/// The end of a line, whose interruption is normal.
fn ending(report: &live::Report) -> Ending {
    let message = match report.stop {
        Stop::Closed(end) => format!("the program at end {} has gone", end.name()),
        _ => String::new(),
    };
    let summary = Some(Summary::Line(Box::new(LineUsage {
        elapsed_s: report.elapsed.as_secs_f64(),
        a_to_b: used(&report.usage[0]),
        b_to_a: used(&report.usage[1]),
    })));
    Ending { summary, ..Ending::early(Exit::Done, message) }
}

/// What this describes.
fn model_of(spec: &str) -> Result<Model, String> {
    match spec.parse::<LineModel>() {
        Ok(model) => Ok(Model::Line(model)),
        Err(_) if spec.starts_with("imp:") => {
            spec.parse::<SubnetModel>().map(Model::Subnet).map_err(|bad| bad.to_string())
        }
        Err(bad) => other(spec, &bad.to_string()),
    }
}

/// What is emulated.
enum Model {
    /// A line of bytes.
    Line(LineModel),
    /// IMPs between hosts of the ARPANET.
    Subnet(SubnetModel),
    /// A network of datagrams.
    Network(Box<Network>),
    /// Elements that carry bytes, in a row.
    Elements(Box<Stretch>),
}

/// What is emulated, if it is not a line: a network of datagrams, or elements in a row with ` + ` between them.
/// `bad` is what is wrong with it as a line.
fn other(spec: &str, bad: &str) -> Result<Model, String> {
    let read = |name: &str| std::fs::read(name).map_err(|e| format!("{name}: {}", in_words(&e)));
    let network = spec.parse::<Network>();
    if let Ok(mut network) = network.clone() {
        network.supply(&read)?;
        if network.build().unit() == Unit::Datagrams {
            return Ok(Model::Network(Box::new(network)));
        }
    }
    // The links of a network are joined with ` + `, too: it is one element.
    let specs: Vec<String> = match network {
        Ok(_) => vec![spec.to_owned()],
        Err(_) => spec.split(" + ").map(str::to_owned).collect(),
    };
    let outside = Outside::read(&specs, &read).map_err(|bad| bad.to_string())?;
    match elements::stretch(&specs, 1, &[None; 2], Unit::Bytes, &outside) {
        Ok(stretch) => Ok(Model::Elements(Box::new(stretch))),
        // One word without a colon was meant as a line.
        Err(_) if !spec.contains(':') && specs.len() == 1 => Err(bad.to_owned()),
        Err(bad) => Err(bad.to_string()),
    }
}

fn up(ui: &Output, model: &dyn std::fmt::Display) {
    ui.say(Level::Note, &format!("line {model} is up; Ctrl-C takes it down"));
    ui.event(Event::LineUp { line: model.to_string() });
}

/// The hosts at both ends of a subnet.
fn open_subnet<'s>(
    ui: &Output,
    a: &'s LineSpec,
    b: &'s LineSpec,
) -> Result<([&'s NcpSpec; 2], SubnetEnds), Ending> {
    let (LineSpec::Ncp(a), LineSpec::Ncp(b)) = (a, b) else {
        let say = "expected hosts at both ends, ncp://HOST?host=HOST:PORT&port=N";
        return Err(Ending::early(Exit::Usage, format!("{say}, got {a} and {b}")));
    };
    let ends = subnet::open([a, b]).map_err(|error| Ending::early(Exit::Line, in_words(&error)))?;
    let [at_a, at_b] = ends.local_ports();
    let say = format!("IMPs: of host {} at UDP port {at_a}, of {} at UDP port {at_b}", a.to, b.to);
    ui.say(Level::Note, &say);
    ui.event(Event::Imps { ports: [at_a, at_b] });
    Ok(([a, b], ends))
}

fn open_datagrams(ui: &Output, end: End, spec: &LineSpec) -> Result<DatagramEnd, Ending> {
    let end = end.name();
    let mut notes = |text: &str| {
        ui.say(Level::Note, &format!("end {end}: {text}"));
        ui.event(Event::Line { text: text.to_owned(), end: Some(end.to_owned()) });
    };
    datagrams::open(spec, &mut notes)
        .map_err(|error| Ending::early(Exit::Line, format!("end {end}: {}", in_words(&error))))
}

fn open(
    ui: &Output,
    signals: &Signals,
    end: End,
    spec: &LineSpec,
    claims_bps: u32,
) -> Result<Box<dyn Port>, Ending> {
    let end = end.name();
    let mut notes = |text: &str| {
        ui.say(Level::Note, &format!("end {end}: {text}"));
        ui.event(Event::Line { text: text.to_owned(), end: Some(end.to_owned()) });
    };
    live::open(spec, claims_bps, Some(signals), &mut notes).map_err(|bad| {
        let ending = not_opened(spec, &bad);
        Ending { message: format!("end {end}: {}", ending.message), ..ending }
    })
}

fn carried(end: End, usage: &Usage) -> String {
    let bytes = |n: u64| format::count(n, "byte");
    format!(
        "{} to {}: {} carried, {} damaged, {} lost, {} doubled",
        end.name(),
        end.other().name(),
        bytes(usage.bytes_out),
        usage.damaged_bytes,
        usage.dropped_bytes,
        usage.duplicated_bytes,
    )
}

fn used(usage: &Usage) -> wetstring_events::Usage {
    wetstring_events::Usage {
        bytes_in: usage.bytes_in,
        bytes_out: usage.bytes_out,
        damaged_bytes: usage.damaged_bytes,
        dropped_bytes: usage.dropped_bytes,
        duplicated_bytes: usage.duplicated_bytes,
        busy_s: usage.busy_ns as f64 / 1e9,
    }
}
