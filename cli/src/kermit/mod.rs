//! `wst kermit`: the Kermit command language, from a file, from the command line, or at a prompt.

mod args;
mod asking;
mod prompt;
mod seen;
mod world;

use std::io::{BufRead, IsTerminal};
use std::os::unix::ffi::OsStrExt;

use wetstring_drive::Signals;
use wetstring_script::{End, Interp, Limits, Lines, World};

use crate::args::Common;
use crate::config::{Everything, File};
use crate::exit::Exit;
use crate::transfer::{Ending, usage};
use crate::voice::Voice;
use prompt::{Prompt, Typed};
use world::Live;

pub(crate) use args::Kermit;

/// Runs what was asked for; the code of EXIT is the code of the program.
pub(crate) fn run(voice: &Voice, common: &Common, verb: &Kermit) -> Result<u8, Ending> {
    if common.json {
        return Err(usage("stdout cannot be both the script's and the JSON".to_owned()));
    }
    let file = File::load().map_err(usage)?;
    let mut settings = Everything::default();
    file.apply(&mut settings, common.profile.as_deref()).map_err(usage)?;
    for pair in &verb.sets {
        let wrong = || usage(format!("expected NAME=VALUE, got {pair}"));
        let (name, value) = pair.split_once('=').ok_or_else(wrong)?;
        settings.set_all(&[(name.to_owned(), value.to_owned())], "command line").map_err(usage)?;
    }
    let signals = Signals::install()
        .map_err(|e| Ending::early(Exit::Line, format!("could not take over Ctrl-C: {e}")))?;
    let mut world = Live::new(voice, settings, &signals, common.trace.clone())
        .map_err(|say| Ending::early(Exit::Store, say))?;
    if let Some(line) = &verb.line {
        let text = match line.strip_prefix('@') {
            Some(name) => file.line(name).map_err(usage)?,
            None => line.clone(),
        };
        let spec =
            text.parse().map_err(|bad: wetstring_drive::line::BadLine| usage(bad.to_string()))?;
        world.open_line(&spec).map_err(|fault| Ending::early(Exit::Line, fault.text))?;
    }
    let code = session(&mut world, verb, &signals);
    if let Err(fault) = world.hang_up() {
        voice.say(crate::voice::Level::Detail, &format!("the line did not close well: {fault}"));
    }
    code.map_err(|say| Ending::early(Exit::Usage, say))
}

/// What the program's code is after a run.
fn code_of(end: End) -> u8 {
    let status = match end {
        End::Over { status } | End::Stopped { status } => status,
        End::Exited { code } => i64::from(code),
    };
    u8::try_from(status).unwrap_or(1)
}

fn session(world: &mut Live<'_>, verb: &Kermit, signals: &Signals) -> Result<u8, String> {
    let argv = std::env::args_os().map(|arg| arg.as_bytes().to_vec()).collect();
    let mut interp = Interp::new(world, Limits::default(), argv);
    if let Some(commands) = &verb.commands {
        let end = interp.list(commands.as_bytes());
        if verb.file.is_none() || !matches!(end, End::Over { .. }) {
            return Ok(code_of(end));
        }
    }
    if let Some(file) = &verb.file {
        let name = file.to_str().ok_or("expected the name of a file in UTF-8, got other bytes")?;
        let arguments: Vec<_> = verb.arguments.iter().map(|a| a.as_bytes().to_vec()).collect();
        return Ok(code_of(interp.file(name, &arguments)));
    }
    if std::io::stdin().is_terminal() {
        return at_prompt(&mut interp, signals);
    }
    let mut lines = Lines::new();
    for line in std::io::stdin().lock().split(b'\n') {
        let line = line.map_err(|e| format!("could not read stdin: {e}"))?;
        if let Some(logical) = lines.feed(&line)
            && let end @ (End::Exited { .. } | End::Stopped { .. }) = interp.line(&logical)
        {
            return Ok(code_of(end));
        }
    }
    if let Some((logical, complete)) = lines.finish() {
        if !complete {
            return Err("expected } before the end of stdin".to_owned());
        }
        return Ok(code_of(interp.line(&logical)));
    }
    Ok(u8::from(interp.status() != 0))
}

fn at_prompt(interp: &mut Interp<'_>, signals: &Signals) -> Result<u8, String> {
    let mut prompt = Prompt::new()?;
    let mut lines = Lines::new();
    let code = loop {
        // A Ctrl-C ended what ran before; the next is a new one.
        signals.reset();
        match prompt.line(lines.is_waiting())? {
            Typed::End => break u8::from(interp.status() != 0),
            Typed::Forgotten => lines.drop_held(),
            Typed::Line(line) => {
                if let Some(logical) = lines.feed(line.as_bytes())
                    && let end @ End::Exited { .. } = interp.line(&logical)
                {
                    break code_of(end);
                }
            }
        }
    };
    prompt.close();
    Ok(code)
}
