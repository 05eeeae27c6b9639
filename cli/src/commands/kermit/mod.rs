//! `wst kermit`: the Kermit command language, from a file, from the command line, or at a prompt.

pub(crate) mod ckermit;
mod confirm;
mod lab;
mod line;
mod live;
mod memory_store;
mod prompt;
mod server;
mod server_rights;
mod terminal;
mod transfer_info;
mod transfers;
mod trial_table;
mod world;

use std::io::IsTerminal;
use std::path::Path;

use wetstring_drive::{LineSpec, Port, Signals, in_words};
use wetstring_script::{End, Interp, Limits, Lines, World};

use crate::args::Common;
use crate::args::kermit::Kermit;
use crate::config::{File, Settings};
use crate::transfer::opening::signals;
use crate::ui::ending::{Ending, usage};
use crate::ui::exit::Exit;
use crate::ui::output::Output;
use lab::LabWorld;
use live::Live;
use prompt::{Prompt, Typed};

/// Runs the commands; the code of EXIT is the exit code of the program.
pub(crate) fn run(
    ui: &Output,
    common: &Common,
    verb: &Kermit,
    sets: &[(String, String)],
) -> Result<u8, Ending> {
    if common.json {
        return Err(usage("stdout cannot be both the script's and the JSON".to_owned()));
    }
    let file = File::load().map_err(usage)?;
    let mut settings = Settings::default();
    file.apply(&mut settings, common.profile.as_deref()).map_err(usage)?;
    settings.set_all(sets, "command line").map_err(usage)?;
    let signals = signals()?;
    if let Some(path) = &verb.lab {
        return in_the_laboratory(common, verb, settings, path, &signals);
    }
    let mut world = Live::new(ui, settings, &signals, common.trace.clone())
        .map_err(|say| Ending::early(Exit::Store, say))?;
    world.root.clone_from(&verb.root);
    // A protocol whose line is stdin would consume commands from a pipe.
    world.may_use_stdio =
        verb.file.is_some() || verb.commands.is_some() || std::io::stdin().is_terminal();
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
        ui.say(crate::ui::output::Level::Detail, &format!("the line did not close well: {fault}"));
    }
    code.map_err(|say| Ending::early(Exit::Usage, say))
}

/// Runs a script on a port that is open, for a session on it. Returns the port, unless the script closed it, the
/// bytes that were not consumed, and a sentence.
pub(crate) fn run_script(
    (ui, all, signals): (&Output, &Settings, &Signals),
    port: Box<dyn Port>,
    ahead: Vec<u8>,
    spec: &LineSpec,
    path: &Path,
) -> (Option<Box<dyn Port>>, Vec<u8>, String) {
    let name = path.display();
    let mut world = match Live::new(ui, all.clone(), signals, None) {
        Ok(world) => world,
        Err(say) => return (Some(port), ahead, say),
    };
    world.port = Some(port);
    world.spec = Some(spec.clone());
    world.ahead.extend(ahead);
    let mut interp = Interp::new(&mut world, Limits::default(), Vec::new());
    let end = interp.file(&path.to_string_lossy(), &[]);
    let code = code_of(&interp, end);
    let say = match code {
        0 => format!("{name}: done"),
        code => format!("{name}: ended with {code}"),
    };
    let leftover = world.ahead.drain(..).collect();
    (world.port.take(), leftover, say)
}

/// `--lab`: the clock and the line are a scenario's. A summary of the transfers follows the script.
fn in_the_laboratory(
    common: &Common,
    verb: &Kermit,
    settings: Settings,
    path: &Path,
    signals: &Signals,
) -> Result<u8, Ending> {
    let scenario = crate::commands::lab::load(path)?;
    let traced = common.trace.is_some();
    let bench = LabWorld::new(settings, scenario, verb.root.as_deref(), traced, signals);
    let mut bench = bench.map_err(usage)?;
    let code = session(&mut bench, verb, signals).map_err(usage)?;
    let table = bench.trials.table();
    if !table.is_empty() {
        crate::ui::output::print(&format!("\n{table}"));
    }
    if let Some(path) = &common.trace {
        let lines = bench.trace().iter().map(String::as_str);
        crate::commands::lab::write_trace(path, lines).map_err(|e| {
            Ending::early(
                Exit::Store,
                format!("could not write the trace {}: {}", path.display(), in_words(&e)),
            )
        })?;
    }
    Ok(code)
}

/// The exit code after a run: that of EXIT, of a failure, or the status of
/// the last command.
fn code_of(interp: &Interp<'_>, end: End) -> u8 {
    let code = match (end, interp.exit_code()) {
        (End::Exited { code }, _) => i64::from(code),
        (End::Over { status } | End::Stopped { status }, 0) => status,
        (_, code) => i64::from(code),
    };
    u8::try_from(code).unwrap_or(1)
}

/// The exit code where commands end without EXIT.
fn code_so_far(interp: &Interp<'_>) -> u8 {
    code_of(interp, End::Over { status: i64::from(interp.status() != 0) })
}

fn session(world: &mut dyn World, verb: &Kermit, signals: &Signals) -> Result<u8, String> {
    let argv = std::env::args_os().map(|arg| arg.as_encoded_bytes().to_vec()).collect();
    let mut interp = Interp::new(world, Limits::default(), argv);
    if let Some(commands) = &verb.commands {
        let end = interp.list(commands.as_bytes());
        if verb.file.is_none() || !matches!(end, End::Over { .. }) {
            return Ok(code_of(&interp, end));
        }
    }
    if let Some(file) = &verb.file {
        let name = file.to_str().ok_or("expected the name of a file in UTF-8, got other bytes")?;
        let arguments: Vec<_> =
            verb.arguments.iter().map(|a| a.as_encoded_bytes().to_vec()).collect();
        let end = interp.file(name, &arguments);
        return Ok(code_of(&interp, end));
    }
    if std::io::stdin().is_terminal() {
        return at_prompt(&mut interp, signals);
    }
    from_stdin(&mut interp)
}

/// The next line of stdin without its line end; `None` at end of file.
fn line_of_stdin() -> Result<Option<Vec<u8>>, String> {
    let read = wetstring_drive::terminal::stdin::line(u64::MAX);
    let mut line = read.map_err(|e| format!("could not read stdin: {}", in_words(&e)))?;
    let len = line.len();
    if line.ends_with(b"\n") {
        line.pop();
    }
    Ok((len > 0).then_some(line))
}

/// Commands from a pipe or a file.
fn from_stdin(interp: &mut Interp<'_>) -> Result<u8, String> {
    let mut lines = Lines::new();
    // Line by line: a command may read the next one itself.
    while let Some(line) = line_of_stdin()? {
        if let Some(logical) = lines.feed(&line)
            && let end @ (End::Exited { .. } | End::Stopped { .. }) = interp.line(&logical)
        {
            return Ok(code_of(interp, end));
        }
    }
    if let Some((logical, complete)) = lines.finish() {
        if !complete {
            return Err("expected } before the end of stdin".to_owned());
        }
        let end = interp.line(&logical);
        return Ok(code_of(interp, end));
    }
    Ok(code_so_far(interp))
}

fn at_prompt(interp: &mut Interp<'_>, signals: &Signals) -> Result<u8, String> {
    let mut prompt = Prompt::new()?;
    let mut lines = Lines::new();
    // Ctrl-C was for the command or the line. Any other signal is for the program.
    let is_over = || {
        signals.forget_interrupts();
        signals.count() > 0
    };
    let code = loop {
        if is_over() {
            break Exit::Interrupted as u8;
        }
        let shown = interp.prompt();
        let typed = prompt.line(lines.is_waiting(), shown.as_deref())?;
        match typed {
            _ if is_over() => break Exit::Interrupted as u8,
            Typed::End => break code_so_far(interp),
            Typed::Forgotten => lines.drop_held(),
            Typed::Line(line) => {
                if let Some(logical) = lines.feed(line.as_bytes())
                    && let end @ End::Exited { .. } = interp.line(&logical)
                {
                    break code_of(interp, end);
                }
            }
        }
    };
    prompt.close();
    Ok(code)
}
