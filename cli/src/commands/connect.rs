//! `wst connect`: a terminal on a line.

use regex::bytes::RegexBuilder;
use std::io::{IsTerminal as _, stdin};
use wetstring_drive::port::{PATIENCE, is_symbolic, open, wrap_line};
use wetstring_drive::terminal::Guard;
use wetstring_drive::{LineSpec, Port, Signals, in_words};

use super::kermit::run_script;
use crate::args::Common;
use crate::args::connect::Connect;
use crate::args::line_arg::There;
use crate::args::session::Writers;
use crate::terminal::keys::{Keys, parse_escape};
use crate::terminal::screen::Maps;
use crate::terminal::share::Share;
use crate::terminal::{End, Options, RunScript, Session};
use crate::transfer::opening::{not_opened, signals};
use crate::transfer::setup::prepare;
use crate::ui::ending::{Ending, usage};
use crate::ui::exit::Exit;
use crate::ui::output::{Level, Output};

/// `wst connect`.
pub(crate) fn run(
    ui: &Output,
    common: &Common,
    verb: &Connect,
    sets: &[(String, String)],
) -> Result<Ending, Ending> {
    if common.json {
        return Err(usage("stdout cannot be both the line's and the JSON".to_owned()));
    }
    let (all, spec) = prepare(common, sets, &verb.line, There::Talks).map_err(usage)?;
    if spec.has_datagrams() || matches!(spec, LineSpec::Stdio | LineSpec::Ncp(_) | LineSpec::Tun(_))
    {
        return Err(usage(format!("expected a line of bytes for a terminal, got {spec}")));
    }
    let signals = signals()?;
    let script: RunScript<'_> =
        &|port, ahead, spec, path| run_script((ui, &all, &signals), port, ahead, spec, path);
    let mut options = options(verb).map_err(usage)?;
    options.script = Some(script);
    options.wraps = matches!(spec, LineSpec::ExecPty(_));
    let port = opened(ui, &spec, &signals, options.waits)?;
    let hint = options.keys.hint();
    let mut session =
        Session::new((ui, common), all.clone(), &signals, (spec.clone(), port), options);
    session.screen.hex = verb.hex;
    session.screen.maps = Maps::parse(&verb.map).map_err(|say| usage(format!("--map: {say}")))?;
    session.screen.stamps = verb.timestamps;
    if let Some(path) = &verb.log {
        session.open_log_or(path)?;
    }
    let mut greeting = Vec::new();
    if let Some(at) = &verb.share {
        let share = shared(at, verb.share_write)?;
        greeting.push(format!("shared at {}", share.address()));
        session.share = Some(share);
    }
    if stdin().is_terminal() {
        let name = session.port.as_ref().map(|port| format!("connected to {}", port.facts().name));
        let words: Vec<_> = name.into_iter().chain(hint).collect();
        greeting.extend((!words.is_empty()).then(|| words.join(": ")));
    }
    if ui.hears(Level::Note) {
        session.options.greeting = greeting;
    }
    // Before the terminal is raw, and not sooner: a line that cannot be opened needs none.
    let guard = Guard::start();
    let end = session.run();
    drop(guard);
    if let Some(mut port) = session.port.take() {
        // A peer that has gone reads no more.
        let _ = port.finish(signals.patience(PATIENCE));
    }
    Ok(ending(&end?, verb))
}

fn shared(at: &str, writers: Writers) -> Result<Share, Ending> {
    Share::listen(at, writers).map_err(|error| {
        Ending::early(Exit::Line, format!("could not share at {at}: {}", in_words(&error)))
    })
}

fn options<'a>(verb: &Connect) -> Result<Options<'a>, String> {
    let mut keys = Keys::of(&verb.keys).ok_or("expected a layout")?;
    if let Some(escape) = &verb.escape {
        keys = keys.with(parse_escape(escape)?);
    }
    let mut options = Options::new(keys);
    options.echo = verb.echo;
    options.idle = verb.idle;
    options.waits = !verb.no_wait;
    options.autodownload = verb.autodownload;
    options.into.clone_from(&verb.output);
    options.log_format = verb.log_format;
    if let Some(pattern) = &verb.until {
        let built = RegexBuilder::new(pattern).unicode(false).multi_line(true).build();
        options.until = Some(built.map_err(|bad| format!("--until: {bad}"))?);
    }
    Ok(options)
}

/// The port; `None` if it is not plugged in and the session waits for it.
fn opened(
    ui: &Output,
    spec: &LineSpec,
    signals: &Signals,
    waits: bool,
) -> Result<Option<Box<dyn Port>>, Ending> {
    // It is not plugged in yet, whatever is there.
    let is_new =
        matches!(spec, LineSpec::Serial(s) if is_symbolic(&s.path) && s.path.ends_with("@new"));
    if is_new && waits {
        return Ok(None);
    }
    let opened = match spec {
        // A command here has the user's terminal, as in the wrapper.
        LineSpec::ExecPty(command) => wrap_line(command),
        spec => open(spec, Some(signals), &mut |text| ui.say(Level::Note, text)),
    };
    match opened {
        Ok(port) => {
            ui.say(Level::Detail, &format!("line: {}", port.facts().name));
            Ok(Some(port))
        }
        Err(error) if waits && matches!(spec, LineSpec::Serial(_)) && error.is_missing() => {
            Ok(None)
        }
        Err(error) => Err(not_opened(spec, &error)),
    }
}

fn ending(end: &End, verb: &Connect) -> Ending {
    let missed = || match &verb.until {
        Some(pattern) => format!("; {pattern} was not received"),
        None => String::new(),
    };
    match end {
        End::Quit | End::HangUp | End::Leave | End::Matched | End::InputOver => {
            Ending::early(Exit::Done, "")
        }
        End::Idle if verb.until.is_some() => {
            Ending::early(Exit::Timeout, format!("the line was silent{}", missed()))
        }
        End::Idle => Ending::early(Exit::Done, ""),
        End::Lost(None) if verb.until.is_some() => {
            Ending::early(Exit::Line, format!("the connection is closed{}", missed()))
        }
        End::Lost(None) => Ending::early(Exit::Done, "the connection is closed"),
        End::Lost(Some(why)) => {
            Ending::early(Exit::Line, format!("the line failed: {why}{}", missed()))
        }
        End::Signal(signal) => {
            Ending::early(Exit::Interrupted, format!("interrupted by signal {signal}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Verb, parse};

    fn connect(words: &[&str]) -> Connect {
        let words = ["wst", "connect", "/dev/ttyS0"].iter().chain(words).map(Into::into);
        match parse(&words.collect::<Vec<_>>()).map(|parsed| parsed.cli.verb) {
            Ok(Verb::Connect(connect)) => connect,
            _ => panic!("no terminal"),
        }
    }

    #[test]
    fn an_end_has_its_exit_code() {
        let plain = connect(&[]);
        let awaited = connect(&["--until", "login:", "--idle", "5s"]);
        for (end, code, with_pattern) in [
            (End::Quit, Exit::Done, Exit::Done),
            (End::Idle, Exit::Done, Exit::Timeout),
            (End::Lost(None), Exit::Done, Exit::Line),
            (End::Matched, Exit::Done, Exit::Done),
            (End::Signal(15), Exit::Interrupted, Exit::Interrupted),
        ] {
            assert!(ending(&end, &plain).exit == code, "{end:?}");
            assert!(ending(&end, &awaited).exit == with_pattern, "{end:?}");
        }
        assert!(ending(&End::Idle, &awaited).message.contains("login: was not received"));
    }

    #[test]
    fn options_are_checked() {
        let with = |words: &[&str]| options(&connect(words));
        assert_eq!(with(&["--keys", "picocom"]).unwrap().keys.escape, Some(1));
        assert_eq!(with(&["--escape", "^]"]).unwrap().keys.escape, Some(29));
        assert!(with(&["--escape", "later"]).err().unwrap().contains("ctrl-t"));
        assert!(with(&["--until", "("]).err().unwrap().contains("--until"));
        assert!(with(&["--until", "^=> "]).unwrap().until.unwrap().is_match(b"x\n=> "));
    }
}
