//! `wst probe`: what a line does to the bytes that pass it.

mod answer;
mod ask;
mod findings;
mod talk;
mod wire;

use wetstring_drive::port::{PATIENCE, open};
use wetstring_drive::{LineSpec, in_words};

use crate::args::Common;
use crate::args::line_arg::There;
use crate::args::probe::Probe;
use crate::config::{File, remembered};
use crate::transfer::opening::{not_opened, signals};
use crate::transfer::setup::prepare;
use crate::ui::ending::{Ending, usage};
use crate::ui::exit::Exit;
use crate::ui::output::{Level, Output};
use talk::Talk;
use wire::Parser;

/// `wst probe`.
pub(crate) fn run(ui: &Output, common: &Common, verb: &Probe) -> Result<Ending, Ending> {
    if common.json {
        return Err(usage("expected no --json: a probe is one screen".to_owned()));
    }
    let (all, spec) = prepare(common, &[], &verb.line, There::Talks).map_err(usage)?;
    if spec.has_datagrams() || matches!(spec, LineSpec::Ncp(_) | LineSpec::Tun(_)) {
        return Err(usage(format!("expected a line of bytes for a probe, got {spec}")));
    }
    if spec == LineSpec::Stdio {
        ui.line_is_stdio();
    }
    if let Some(name) = &verb.save {
        File::load().and_then(|file| file.may_add(name)).map_err(usage)?;
    }
    let signals = signals()?;
    let opened = open(&spec, Some(&signals), &mut |text| ui.say(Level::Note, text));
    let mut port = opened.map_err(|error| not_opened(&spec, &error))?;
    let mut talk =
        Talk { port: &mut *port, signals: &signals, parser: Parser::default(), echo: false };
    if verb.answer {
        let done = answer::answer(&mut talk);
        let _ = port.finish(signals.patience(PATIENCE));
        return done.map(|()| Ending::early(Exit::Done, ""));
    }
    ui.say(Level::Note, "waiting for wst probe --answer at the peer");
    let found = ask::probe(&mut talk);
    let _ = port.finish(signals.patience(PATIENCE));
    let found = found?;
    ui.print(&found.page());
    if let Err(error) = remembered::found(&all, &spec, found.rtt, found.controls_pass()) {
        ui.say(Level::Detail, &format!("could not remember it: {}", in_words(&error)));
    }
    if let Some(name) = &verb.save {
        let file = File::load().map_err(usage)?;
        let line = verb.line.to_string_lossy();
        let failed = |say| Ending::early(Exit::Store, say);
        file.add_profile(name, &line, &found.settings()).map_err(failed)?;
        ui.say(Level::Note, &format!("saved: @{name} in {}", file.path.display()));
    }
    Ok(Ending::early(Exit::Done, ""))
}
