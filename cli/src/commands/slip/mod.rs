//! `wst slip`: IP over a serial line, through a network interface or the built-in stack.

mod count;

use std::io::ErrorKind;
use std::net::Ipv4Addr;
use std::time::Duration;

use wetstring_drive::port::{OpenError, open};
use wetstring_drive::slip::{
    self, Failure, Inside, News, Outcome, Ping, Plan, Stop, Tun, TunConfig,
};
use wetstring_drive::stack::{Stack, StackConfig, StackCounts};
use wetstring_drive::{LineSpec, Port, Signals, in_words};
use wetstring_events::{Event, Pings, SlipSummary, Summary};
use wetstring_proto::settings::Choice;
use wetstring_proto::slip::{Config, Rate};

use crate::args::Common;
use crate::args::line_arg::There;
use crate::config::Settings;
use crate::transfer::opening::{not_opened, signals};
use crate::transfer::setup::prepare;
use crate::ui::ending::{Ending, usage};
use crate::ui::exit::Exit;
use crate::ui::format::escaped;
use crate::ui::output::{Level, Output};

use crate::args::slip::Slip;

/// The addresses of slirp's guests and of slirp itself, so that both work without configuration.
const LOCAL: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 15);
const REMOTE: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 2);
/// Interval between pings.
const PING_EVERY: Duration = Duration::from_secs(1);
/// Smallest window of a connection through the built-in stack, in packets.
const WINDOW_PACKETS: usize = 4;
/// Window of a connection, in time of the line: enough to keep it busy over a
/// long path, and no more, since the excess waits in queues.
const WINDOW: Duration = Duration::from_secs(1);
/// The window if the rate is unknown, and its maximum.
const WINDOW_BYTES: usize = 64 * 1024;

/// Carries IP until interrupted.
pub(crate) fn run(
    ui: &Output,
    common: &Common,
    verb: &Slip,
    settings: &[(String, String)],
) -> Result<Ending, Ending> {
    if common.trace.is_some() {
        let say = "wst slip writes no trace; --stats prints statistics, and tcpdump sees packets of --tun";
        return Err(usage(say.to_owned()));
    }
    let (settings, spec) = prepare(common, settings, &verb.line, There::Carries).map_err(usage)?;
    if spec == LineSpec::Stdio {
        ui.line_is_stdio();
    }
    let signals = signals()?;
    // The port is opened first, since its rate decides the MTU.
    let first = open_line(ui, &spec, &signals).map_err(|bad| not_opened(&spec, &bad))?;
    let rate = settings.slip.rate(first.facts().rate_bps.map(u64::from));
    let link = config(ui, &settings, rate, first.facts().reliable == Some(true));
    let mut inside = inside(ui, verb, rate, &link)?;
    let plan = Plan {
        link,
        signals: Some(&signals),
        ping: verb.ping.map(|to| Ping { to, count: verb.count, every: PING_EVERY }),
        statistics: verb.stats,
    };
    // A program that has exited, or stdin, cannot be reopened.
    let again = !matches!(spec, LineSpec::Exec(_) | LineSpec::ExecPty(_) | LineSpec::Stdio);
    let mut first = Some(first);
    let mut open = || match first.take() {
        Some(port) => Some(Ok(port)),
        None => again.then(|| open_line(ui, &spec, &signals)),
    };
    let outcome = slip::run(&plan, &mut inside, &mut open, &mut |news| tell(ui, &news))
        .map_err(|failure| failed(&failure))?;
    let stack = match &inside {
        Inside::Stack(stack) => Some(stack.counts()),
        Inside::Tun(_) => None,
    };
    Ok(ending(ui, &outcome, stack, verb.ping.is_some()))
}

fn line(error: &OpenError) -> Ending {
    let exit = match error {
        OpenError::Interrupted(_) => Exit::Interrupted,
        _ => Exit::Line,
    };
    Ending::early(exit, in_words(&error))
}

fn failed(failure: &Failure) -> Ending {
    match failure {
        Failure::Config(bad) => usage(bad.to_string()),
        Failure::Line(error) => line(error),
        Failure::Io(error) => {
            Ending::early(Exit::Line, format!("the interface failed: {}", in_words(&error)))
        }
    }
}

fn open_line(ui: &Output, spec: &LineSpec, signals: &Signals) -> Result<Box<dyn Port>, OpenError> {
    let mut notes = |text: &str| {
        ui.say(Level::Note, text);
        ui.event(Event::Line { text: text.to_owned(), end: None });
    };
    open(spec, Some(signals), &mut notes)
}

/// The configuration of the link, and a note about its MTU.
fn config(ui: &Output, settings: &Settings, rate: Option<Rate>, reliable: bool) -> Config {
    let slip = &settings.slip;
    let is_set = settings.is_chosen("slip.mtu");
    let chosen = slip.choice(rate, is_set);
    let mtu = chosen.map_or(slip.mtu, |choice| choice.mtu);
    let say = match (chosen, rate) {
        (Some(choice), Some(rate)) => format!(
            "MTU {mtu}: a packet occupies the line for {} at {} bit/s{}",
            milliseconds(choice.packet_time),
            rate.bps,
            if choice.keeps_goal || is_set { "" } else { ", the minimum" },
        ),
        _ => format!(
            "MTU {mtu}: the rate of the line is unknown; with --rate urgent packets wait less"
        ),
    };
    ui.say(Level::Note, &say);
    let held = chosen.map(|choice| choice.packet_time.as_secs_f64());
    let compress = slip.compress.word().to_owned();
    ui.event(Event::Link { mtu: mtu as u32, packet_s: held, compress });
    slip.config(mtu, rate, reliable)
}

/// `200 ms`; with a decimal below 10 ms.
fn milliseconds(time: Duration) -> String {
    let ms = time.as_secs_f64() * 1e3;
    if ms < 10.0 { format!("{ms:.1} ms") } else { format!("{} ms", time.as_millis()) }
}

fn inside(ui: &Output, verb: &Slip, rate: Option<Rate>, link: &Config) -> Result<Inside, Ending> {
    let (local, remote) = (verb.local.unwrap_or(LOCAL), verb.remote.unwrap_or(REMOTE));
    if local == remote {
        let say = format!("expected another address for --remote than {local}, which is ours");
        return Err(usage(say));
    }
    if let Some(name) = &verb.tun {
        let mtu = link.mtu;
        let (name, routes) = (Some(name.clone()), verb.routes.clone());
        let tun = Tun::make(&TunConfig { name, local, remote, mtu, routes }).map_err(|error| {
            let hint = match &error {
                OpenError::Io { error, .. } if error.kind() == ErrorKind::PermissionDenied => {
                    " (it needs CAP_NET_ADMIN; without --tun no privilege is needed)"
                }
                _ => "",
            };
            Ending::early(Exit::Line, format!("{}{hint}", in_words(&error)))
        })?;
        ui.say(Level::Note, &format!("{}: {local} to {remote}", tun.name()));
        let (name, local, remote) = (tun.name().to_owned(), local.to_string(), remote.to_string());
        ui.event(Event::Tun { name, local, remote });
        return Ok(Inside::Tun(tun));
    }
    let window = rate
        .map_or(WINDOW_BYTES, |rate| usize::try_from(rate.bytes(WINDOW)).unwrap_or(WINDOW_BYTES));
    let config = StackConfig {
        local,
        remote,
        mtu: usize::from(link.mtu),
        window_bytes: window.clamp(WINDOW_PACKETS * usize::from(link.mtu), WINDOW_BYTES),
        connections: usize::from(verb.connections),
        dns: verb.dns,
        to_line: verb.to_line.clone(),
        from_line: verb.from_line.clone(),
        socks: verb.socks,
    };
    let mut notes = |text: &str| {
        ui.say(Level::Note, text);
        ui.event(Event::Stack { text: text.to_owned() });
    };
    let mut stack = Stack::open(&config, &mut notes).map_err(|bad| line(&bad))?;
    if let Some(to) = verb.ping {
        stack.ping(to);
    }
    ui.say(Level::Note, &format!("{local} to {remote}, through the built-in stack"));
    Ok(Inside::Stack(Box::new(stack)))
}

fn tell(ui: &Output, news: &News<'_>) {
    match *news {
        News::Up { again } => {
            let say = if again { "the line is back" } else { "up; Ctrl-C takes it down" };
            ui.say(Level::Note, say);
            ui.event(Event::Up { again });
        }
        News::Lost(why) => {
            ui.say(Level::Error, &format!("wst: the line is lost: {why}; reopening it"));
            ui.event(Event::Lost { message: why.to_string() });
        }
        News::NotYet(error) => ui.say(Level::Detail, &format!("not yet: {}", in_words(&error))),
        News::Compressing => {
            ui.say(Level::Note, "the peer compresses headers; compression is on");
            ui.event(Event::Compressing {});
        }
        News::Pong(answer) => {
            let ms = answer.took.as_secs_f64() * 1e3;
            let text = format!("{}: ping {}: RTT {ms:.1} ms\n", answer.from, answer.number);
            if ui.has_json() {
                ui.event(Event::Pong {
                    from: answer.from.to_string(),
                    number: answer.number.into(),
                    s: answer.took.as_secs_f64(),
                });
            } else {
                ui.print(&text);
            }
        }
        News::Refused(why) => {
            // A name in it is a client's.
            let text = escaped(why.as_bytes());
            ui.say(Level::Note, &text);
            ui.event(Event::Stack { text });
        }
        News::Statistics(link) => count::say(ui, Event::Statistics, link),
    }
}

fn ending(ui: &Output, outcome: &Outcome, stack: Option<StackCounts>, pinged: bool) -> Ending {
    count::say(ui, Event::Carried, &outcome.link);
    let [sent, answered] = outcome.pings;
    if let Some(counts) = stack {
        for line in count::stack_lines(&counts) {
            ui.say(Level::Note, &line);
        }
    }
    let summary = SlipSummary {
        link: count::counts(&outcome.link),
        stack: stack.as_ref().map(count::of_stack),
        elapsed_s: outcome.elapsed.as_secs_f64(),
        pings: pinged.then_some(Pings { sent, answered }),
    };
    if pinged {
        ui.say(Level::Note, &format!("{sent} pings, {answered} answered"));
    }
    let (exit, message) = match outcome.stop {
        Stop::Closed => (Exit::Line, "the line has closed".to_owned()),
        _ if pinged && sent > 0 && answered == 0 => {
            (Exit::Timeout, format!("no answer to {sent} pings"))
        }
        // Interruption is the normal end of this verb.
        Stop::Signal(_) | Stop::Done => (Exit::Done, String::new()),
    };
    let summary = Some(Summary::Slip(Box::new(summary)));
    Ending { summary, ..Ending::early(exit, message) }
}
