//! `kermit`: the program by that name, with C-Kermit's command line.
//!
//! ```text
//! kermit [FILE] [OPTION]... [= ARG...]
//! init file -> FILE -> settings and the line (-l -j) -> -C -> -c, one of -s -r -k -g -G -x -f, -n
//! ```
//!
//! Without an action, or with `-S`, it reads commands from stdin. Without a line, its own
//! stdin and stdout are the line. [`options`] reads the command line.

mod options;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use wetstring_drive::os::files;

use std::io::{IsTerminal as _, stdin};
use wetstring_drive::Signals;
use wetstring_script::world::{Confirm, Done, Fault, Getting, Receiving, Remote, Sending, Task};
use wetstring_script::{End, Interp, Limits, World};

use super::live::Live;
use super::{at_prompt, code_of, from_stdin};
use crate::args::Common;
use crate::args::selection::Selection;
use crate::config::{File, Settings};
use crate::transfer::gather::{Gathered, readable};
use crate::transfer::opening::signals;
use crate::ui::output;
use crate::ui::output::{Level, Output};
use options::{Action, Options, Stop};

/// The name of the program.
pub(crate) const NAME: &str = "kermit";

/// C-Kermit's exit codes: the sum of what failed.
mod code {
    /// The command line, the line, a file of commands; or sending.
    pub(super) const SEND: u8 = 1;
    /// Receiving.
    pub(super) const RECEIVE: u8 = 2;
    /// A command to a server.
    pub(super) const REMOTE: u8 = 4;
}

/// Whether the program was called by that name. Login shells put `-` before it.
pub(crate) fn is_called(argv0: &OsStr) -> bool {
    matches!(own_name(argv0), b"kermit" | b"kermit9" | b"kermit10")
}

fn own_name(argv0: &OsStr) -> &[u8] {
    let name = Path::new(argv0).file_name().map(OsStr::as_encoded_bytes).unwrap_or_default();
    name.strip_prefix(b"-").unwrap_or(name)
}

/// The version of C-Kermit whose settings the name asks for.
fn version_asked(argv0: Option<&OsString>) -> Option<&'static str> {
    match own_name(argv0?) {
        b"kermit9" => Some("set compatibility 9"),
        b"kermit10" => Some("set compatibility 10"),
        _ => None,
    }
}

/// Runs the command line.
pub(crate) fn run(args: &[OsString]) -> ExitCode {
    let options = match Options::read(args.get(1..).unwrap_or_default()) {
        Ok(options) => options,
        Err(Stop::Help) => {
            output::print(options::HELP);
            return ExitCode::SUCCESS;
        }
        Err(Stop::Version) => {
            output::print(&format!("kermit (wetstring) {}\n", env!("CARGO_PKG_VERSION")));
            return ExitCode::SUCCESS;
        }
        Err(Stop::Usage(say)) => {
            eprintln!("{NAME}: {say}\n{NAME} -h lists the options");
            return code::SEND.into();
        }
    };
    let common = Common { quiet: options.quiet, ..Common::default() };
    let ui = Output::new(common.json, common.quiet, common.verbose, common.log.as_deref())
        .unwrap_or_else(|_| Output::bare(false));
    for note in &options.notes {
        ui.say(Level::Note, &format!("{NAME}: {note}"));
    }
    let version = version_asked(args.first());
    let code = called(&ui, &options, version).unwrap_or_else(|(code, say)| {
        ui.say(Level::Error, &format!("{NAME}: {say}"));
        code
    });
    ExitCode::from(code)
}

/// A failure with its code.
type Failed = (u8, String);

fn called(ui: &Output, options: &Options, version: Option<&'static str>) -> Result<u8, Failed> {
    let early = |say: String| (code::SEND, say);
    let mut settings = Settings::default();
    File::load().and_then(|file| file.apply(&mut settings, None)).map_err(early)?;
    let signals = signals().map_err(|ending| early(ending.message))?;
    let mut world = Live::new(ui, settings, &signals, None).map_err(early)?;
    // A protocol whose line is stdin would consume commands from a pipe.
    let has_commands = options.file.is_some() || options.commands.is_some();
    world.may_use_stdio = options.action.is_some() || has_commands || stdin().is_terminal();
    let code = commanded(&mut world, options, &signals, version);
    let closed = world.hang_up();
    if let Err(fault) = closed {
        ui.say(Level::Detail, &format!("the line did not close well: {fault}"));
    }
    code
}

/// Commands and actions, in C-Kermit's order.
fn commanded(
    world: &mut Live<'_>,
    options: &Options,
    signals: &Signals,
    version: Option<&'static str>,
) -> Result<u8, Failed> {
    let mut argv: Vec<Vec<u8>> = vec![NAME.as_bytes().to_vec()];
    argv.extend(options.arguments.iter().cloned());
    let mut interp = Interp::new(world, Limits::default(), argv);
    if let Some(version) = version {
        interp.list(version.as_bytes());
    }
    if let Some(file) = options.init_file()
        && let End::Exited { code } = interp.file(&file, &[])
    {
        return Ok(u8::try_from(code).unwrap_or(1));
    }
    if let Some(file) = &options.file {
        let end = interp.file(file, &options.arguments);
        if !matches!(end, End::Over { .. }) {
            return Ok(code_of(&interp, end));
        }
    }
    for line in &options.settings {
        let end = interp.list(line.as_bytes());
        if end != (End::Over { status: 0 }) {
            return Err((code::SEND, format!("command failed: {line}")));
        }
    }
    if let Some(commands) = &options.commands {
        let end = interp.list(commands.as_bytes());
        if !matches!(end, End::Over { .. }) {
            return Ok(code_of(&interp, end));
        }
    }
    let mut codes = 0;
    if options.connect_before {
        codes |= done(interp.task(&Task::Terminal), code::SEND);
    }
    if let Some(action) = &options.action {
        if options.delay > 0 {
            std::thread::sleep(Duration::from_secs(options.delay));
        }
        codes |= act(&mut interp, options, action);
    }
    if options.connect_after {
        codes |= done(interp.task(&Task::Terminal), code::SEND);
    }
    let acted = options.action.is_some() || options.connect_before || options.connect_after;
    if acted && !options.stay {
        return Ok(codes);
    }
    let result = if stdin().is_terminal() {
        at_prompt(&mut interp, signals)
    } else {
        from_stdin(&mut interp)
    };
    result.map_err(|say| (code::SEND, say))
}

/// The exit code of a result, with its message printed.
fn done(result: Result<Done, Fault>, code: u8) -> u8 {
    let say = match result {
        Ok(Done { report: Some(report), .. }) if !report.done => report.message,
        Ok(_) => return 0,
        Err(fault) => fault.text,
    };
    eprintln!("{NAME}: {say}");
    code
}

fn act(interp: &mut Interp<'_>, options: &Options, action: &Action) -> u8 {
    let text = options.text;
    match action {
        Action::Send(files) => {
            let as_name = options.as_name.clone();
            let files = match below(files, options.recursive) {
                Ok(files) => files,
                Err(say) => {
                    eprintln!("{NAME}: {say}");
                    return code::SEND;
                }
            };
            let recursive = options.recursive;
            let sending = Sending { files, as_name, text, recursive, ..Sending::default() };
            done(interp.task(&Task::Send(sending)), code::SEND)
        }
        Action::Receive => {
            let as_name = options.as_name.clone();
            let confirm = Some(Confirm::Off);
            let task = Task::Receive(Receiving { as_name, confirm, ..Receiving::default() });
            done(interp.task(&task), code::RECEIVE)
        }
        Action::Get(names) => {
            let getting = Getting {
                files: names.clone(),
                as_name: options.as_name.clone(),
                text,
                recursive: options.recursive,
                ..Getting::default()
            };
            done(interp.task(&Task::Get(getting)), code::RECEIVE)
        }
        Action::ToStdout(names) => {
            done(interp.task(&Task::ToStdout { names: names.clone() }), code::RECEIVE)
        }
        Action::Serve => done(interp.task(&Task::Serve), code::RECEIVE),
        Action::Finish => {
            let remote = Remote { verb: "finish".to_owned(), arguments: Vec::new() };
            done(interp.task(&Task::Remote(remote)), code::REMOTE)
        }
    }
}

/// Files, or with `recursive` also all files below directories.
fn below(names: &[Vec<u8>], recursive: bool) -> Result<Vec<Vec<u8>>, String> {
    let mut files = Vec::new();
    for name in names {
        if name == b"-" {
            files.push(name.clone());
            continue;
        }
        let path = PathBuf::from(files::owned_name(name.clone()));
        let mut found = Gathered::default();
        if recursive {
            found.add(&path, &path, &Selection::default()).map_err(|ending| ending.message)?;
        } else {
            readable(&path)?;
            found.files.push(path);
        }
        files
            .extend(found.files.into_iter().map(|path| path.into_os_string().into_encoded_bytes()));
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn personality_follows_argv0() {
        for name in ["kermit", "/usr/local/bin/kermit", "-kermit"] {
            assert!(is_called(OsStr::new(name)), "{name}");
        }
        for name in ["wst", "gkermit", "kermit2", ""] {
            assert!(!is_called(OsStr::new(name)), "{name}");
        }
    }
}
