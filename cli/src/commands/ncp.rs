//! `wst ncp`: a host of the ARPANET, and what `wst send` and `wst receive` need for one.

use std::ffi::OsString;
use std::time::Duration;

use wetstring_drive::imp::{Guard, ImpPort, Live, News, Plan, Stop, serve};
use wetstring_drive::line::NcpSpec;
use wetstring_drive::serve::Pace;
use wetstring_drive::{LineSpec, in_words};
use wetstring_events::{Event, Opened};
use wetstring_proto::NoTrace;
use wetstring_proto::arpanet::ftp::Options;
use wetstring_proto::arpanet::leader::{Dead, Form};
use wetstring_proto::arpanet::ncp::{Config, Echo};

use crate::args::ncp::{Ncp, NcpVerb};
use crate::transfer::ncp::PASSWORD;
use crate::transfer::opening::signals;
use crate::ui::ending::{Ending, usage};
use crate::ui::exit::Exit;
use crate::ui::format::shown;
use crate::ui::output::{Level, Output};

/// Interval between echoes.
const ECHO_EVERY: Duration = Duration::from_secs(1);

/// The interface that a line names.
fn place(line: &OsString) -> Result<NcpSpec, Ending> {
    match LineSpec::from_os(line).map_err(|bad| usage(bad.to_string()))? {
        LineSpec::Ncp(spec) => Ok(spec),
        other => Err(usage(format!("expected ncp://HOST?imp=HOST:PORT, got {other}"))),
    }
}

fn broke(error: &std::io::Error) -> Ending {
    Ending::early(Exit::Line, format!("the interface failed: {}", in_words(&error)))
}

/// Runs `wst ncp`.
pub(crate) fn run(ui: &Output, verb: &Ncp) -> Result<Ending, Ending> {
    let (NcpVerb::Up { line, .. } | NcpVerb::Echo { line, .. } | NcpVerb::Serve { line, .. }) =
        &verb.what;
    let spec = place(line)?;
    let signals = signals()?;
    let port = ImpPort::open(&spec).map_err(|e| Ending::early(Exit::Line, in_words(&e)))?;
    let at = format!("host up at UDP port {}, {spec}", port.local_port());
    ui.say(Level::Note, &at);
    let opened =
        Opened { line: spec.to_string(), port: Some(port.local_port()), ..Opened::default() };
    ui.event(Event::Opened(opened));
    let config = Config { form: spec.form, connections: 32, ..Config::default() };
    let mut trace = NoTrace;
    let mut live = Live::new(port, config, &mut trace, Some(&signals));
    let ending = match &verb.what {
        NcpVerb::Up { seconds, .. } => up(ui, &mut live, *seconds),
        NcpVerb::Echo { count, .. } => echo(ui, &mut live, &spec, *count),
        NcpVerb::Serve { root, write, user, most, users, guess_delay, .. } => {
            let guard = match user {
                None => Guard::Anybody,
                Some(user) => Guard::User(user.clone(), password()?),
            };
            let plan = Plan {
                root,
                write: *write,
                guard,
                pace: Pace::of(Duration::from_millis(*guess_delay)),
                most: usize::from(*most),
                options: Options::default(),
                end: None,
                users: *users,
            };
            serving(ui, &mut live, &plan)
        }
    };
    other_form(ui, &live);
    live.finish();
    ending
}

fn password() -> Result<String, Ending> {
    std::env::var(PASSWORD)
        .map_err(|_| usage(format!("expected the password in {PASSWORD}, which is not set")))
}

fn stopped(stop: Stop) -> Ending {
    match stop {
        Stop::Signal(_) => Ending::early(Exit::Interrupted, "interrupted"),
        Stop::Done | Stop::Time => Ending::early(Exit::Done, ""),
    }
}

fn up(ui: &Output, live: &mut Live<'_>, seconds: Option<u64>) -> Result<Ending, Ending> {
    let end = seconds.map(|seconds| live.now() + Duration::from_secs(seconds));
    let stop = live.until(end, |_| Ok((false, None))).map_err(|e| broke(&e))?;
    let counts = *live.ncp.counts();
    let say = format!(
        "{} messages out, {} in, {} RFNMs, {} invalid",
        counts.messages_out, counts.messages_in, counts.rfnms, counts.damaged
    );
    ui.say(Level::Note, &say);
    Ok(stopped(stop))
}

/// Reports that the two ends use different leaders, if they do: neither can tell the peer.
fn other_form(ui: &Output, live: &Live<'_>) {
    let say = match live.ncp.config().form {
        Form::Old => "expected leaders of 32 bits, got some of 96: the line needs leader=new",
        Form::New => "expected leaders of 96 bits, got some of 32: the line has leader=new",
    };
    if live.ncp.counts().other_form > 0 {
        ui.say(Level::Error, say);
    }
}

fn echo(ui: &Output, live: &mut Live<'_>, spec: &NcpSpec, count: u32) -> Result<Ending, Ending> {
    let (mut times, mut lost, mut interrupted, mut why) = (Vec::new(), 0_u32, false, None);
    for turn in 0..count {
        let (to, data, began) = (spec.to, turn as u8, live.now());
        let next = began + ECHO_EVERY;
        live.call(|host, cx| host.echo(cx, to, data))
            .map_err(|full| Ending::early(Exit::Line, full.to_string()))?;
        let mut came = None;
        let stop = live
            .until(None, |live| {
                came = live.ncp.host().echoed(to).filter(|echo| *echo != Echo::Waiting);
                Ok((came.is_some(), None))
            })
            .map_err(|e| broke(&e))?;
        interrupted = matches!(stop, Stop::Signal(_));
        let say = match came {
            Some(Echo::Back { data: back, ns }) if back == data => {
                times.push(ns);
                format!("echo {turn} from {to}: {:.3} ms", ns as f64 / 1e6)
            }
            Some(Echo::Back { data: back, .. }) => {
                lost += 1;
                format!("echo {turn} from {to}: expected {data}, got {back}")
            }
            Some(Echo::Dead(dead)) => {
                lost += 1;
                why = Some(dead);
                let subtype = dead.subtype();
                format!(
                    "echo {turn} to {to}: the IMP says that {} (destination dead, subtype {subtype})",
                    dead.as_str()
                )
            }
            Some(Echo::Silence | Echo::Waiting) | None => {
                lost += 1;
                let waited = live.now().since(began).as_secs_f64();
                format!(
                    "echo {turn} to {to}: expected a reply or a message of the IMP, timeout after {waited:.0} s"
                )
            }
        };
        ui.say(Level::Note, &say);
        ui.event(Event::Echo { turn, ns: times.last().copied(), lost, text: say });
        if interrupted {
            break;
        }
        if turn + 1 < count {
            let stop = live.until(Some(next), |_| Ok((false, None))).map_err(|e| broke(&e))?;
            interrupted = matches!(stop, Stop::Signal(_));
            if interrupted {
                break;
            }
        }
    }
    let exit = match (times.len(), lost) {
        _ if interrupted => Exit::Interrupted,
        (0, _) => Exit::Timeout,
        (_, 0) => Exit::Done,
        _ => Exit::Skipped,
    };
    Ok(Ending::early(exit, summary(&times, lost, why)))
}

/// Summary of all echoes: how many were answered and their RTT, or the reply of the IMP.
fn summary(times: &[u64], lost: u32, why: Option<Dead>) -> String {
    let ms = |ns: Option<&u64>| ns.map_or(0.0, |ns| *ns as f64 / 1e6);
    let mean = times.iter().sum::<u64>() as f64 / 1e6 / times.len().max(1) as f64;
    let (count, (shortest, longest)) =
        (times.len(), (ms(times.iter().min()), ms(times.iter().max())));
    let mut say = format!("{count} of {} echoes answered", count as u32 + lost);
    if count > 0 {
        let more = format!("shortest {shortest:.3} ms, mean {mean:.3} ms, longest {longest:.3} ms");
        say = format!("{say}, {more}");
    } else if let Some(dead) = why {
        say = format!("{say}: {}", dead.as_str());
    }
    say
}

fn serving(ui: &Output, live: &mut Live<'_>, plan: &Plan<'_>) -> Result<Ending, Ending> {
    let stop = serve(live, plan, &mut |news| {
        let text = match &news {
            News::Came(with) => format!("user connected from {with}"),
            News::Gone(with) => format!("user from {with} disconnected"),
            News::File(name, true) => format!("stored {}", name.escape_debug()),
            News::File(name, false) => format!("retrieved {}", name.escape_debug()),
            News::Done(size) => format!("done, {size} octets"),
            News::Not => "not done".to_owned(),
        };
        ui.say(Level::Note, &text);
        ui.event(match news {
            News::Came(_) => Event::User { text },
            News::Gone(_) => Event::Gone { text },
            News::File(..) => Event::File { text },
            News::Done(_) => Event::Done { text },
            News::Not => Event::NotDone { text },
        });
    });
    let root = shown(plan.root.as_os_str());
    stop.map(stopped).map_err(|e| {
        Ending::early(Exit::Store, format!("could not serve {root}: {}", in_words(&e)))
    })
}
