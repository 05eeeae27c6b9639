//! `wst -- COMMAND` and `wst ssh HOST`: any command in a terminal in which transfers work.

use std::io::ErrorKind;
use std::process::ExitStatus;

use wetstring_drive::os::process::signal_of;
use wetstring_drive::port::{OpenError, PATIENCE, wrap};
use wetstring_drive::terminal::Guard;
use wetstring_drive::{LineSpec, in_words};

use crate::args::Common;
use crate::args::wrap::Wrap;
use crate::config::{File, Settings};
use crate::terminal::keys::{Keys, parse_escape};
use crate::terminal::{End, Options, Session};
use crate::transfer::opening::signals;
use crate::ui::ending::{Ending, usage};
use crate::ui::exit::Exit;
use crate::ui::output::{Level, Output};

/// As shells say it: the command was not found, or could not be run.
const NOT_FOUND: u8 = 127;
const NOT_RUN: u8 = 126;

/// Runs the command; its exit code is the program's.
pub(crate) fn run(
    ui: &Output,
    common: &Common,
    verb: &Wrap,
    sets: &[(String, String)],
) -> Result<u8, Ending> {
    if common.json {
        return Err(usage("stdout cannot be both the command's and the JSON".to_owned()));
    }
    let file = File::load().map_err(usage)?;
    let mut settings = Settings::default();
    file.apply(&mut settings, common.profile.as_deref()).map_err(usage)?;
    settings.set_all(sets, "command line").map_err(usage)?;
    let keys = Keys::of("wst").ok_or_else(|| usage("expected keys".to_owned()))?;
    let mut options = Options::new(keys.with(parse_escape(&verb.escape).map_err(usage)?));
    options.autodownload = verb.autodownload;
    options.into.clone_from(&verb.output);
    options.log_format = verb.log_format;
    options.wraps = true;
    let signals = signals()?;
    let guard = Guard::start();
    let port = match wrap(&verb.command) {
        Ok(port) => port,
        Err(error) => return Ok(not_run(ui, &error)),
    };
    let words: Vec<_> = verb.command.iter().map(|word| word.to_string_lossy()).collect();
    let spec = LineSpec::ExecPty(words.join(" "));
    let mut session = Session::new((ui, common), settings, &signals, (spec, Some(port)), options);
    if let Some(path) = &verb.log {
        session.open_log_or(path)?;
    }
    let end = session.run();
    let status = session.port.take().and_then(|mut port| {
        let status = port.finish(signals.patience(PATIENCE));
        status.ok().flatten()
    });
    drop(guard);
    match (end?, status) {
        (End::Signal(signal), _) => Ok((128 + signal) as u8),
        (_, Some(status)) => Ok(code_of(status)),
        _ => Err(Ending::early(Exit::Peer, "the command did not end")),
    }
}

fn code_of(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| signal_of(status).map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

fn not_run(ui: &Output, error: &OpenError) -> u8 {
    let missing =
        matches!(error, OpenError::Io { error, .. } if error.kind() == ErrorKind::NotFound);
    ui.say(Level::Error, &format!("wst: {}", in_words(error)));
    if missing { NOT_FOUND } else { NOT_RUN }
}
