//! `wst`: transfers files over any line, and says why it is slow.
//!
//! Verbs first, then files, then the line. The code is layered: each layer imports only those
//! below it (the tidy test enforces it): [`ui`] shows and asks, [`config`] has the settings, the file and
//! its profiles, [`args`] reads the command line, [`transfer`] runs any engine on any line with any store,
//! [`terminal`] is the user's terminal on a line, and [`commands`] has a file or folder for each verb. Called `sz`, `rz`, `kermit` and so on, the program
//! is a [`commands::personality`] or [`commands::kermit::ckermit`] instead.

#![forbid(unsafe_code)]

mod args;
mod commands;
mod config;
mod terminal;
mod transfer;
mod ui;

use std::ffi::OsString;
use std::process::ExitCode;

use args::{Parsed, Verb};
use clap::error::ErrorKind;
use commands::kermit::ckermit;
use commands::personality::Personality;
use commands::{
    client, completions, connect, demo, explain, install_links, kermit, key, lab, line, man, ncp,
    ports, probe, receive, send, serve, shell, show, slip, users, version, web, wrap,
};
use ui::ending::Ending;
use ui::exit::Exit;
use ui::output::{self, Level, Output};
use wetstring_drive::terminal::{GUARD, guard};

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    if args.get(1).is_some_and(|word| word == GUARD) {
        return match guard() {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    if let Some(personality) = args.first().and_then(|name| Personality::of(name)) {
        return personality.run(&args);
    }
    if args.first().is_some_and(|name| ckermit::is_called(name)) {
        return ckermit::run(&args);
    }
    match args::parse(&args) {
        Ok(parsed) => go(&parsed),
        Err(error) if error.use_stderr() => {
            let (sentence, text) = args::explain(&error);
            match text {
                Some(text) => eprint!("{text}"),
                // In colour, if stderr supports it.
                None => drop(error.print()),
            }
            Output::bare(args::wants_json(&args)).end(Exit::Usage, &sentence, None);
            Exit::Usage.into()
        }
        Err(asked)
            if asked.kind() == ErrorKind::DisplayVersion && version::wants_details(&args) =>
        {
            output::print(&version::details());
            Exit::Done.into()
        }
        Err(help) => {
            // A reader that closes the pipe (`head`) is not an error.
            let _ = help.print();
            Exit::Done.into()
        }
    }
}

/// Runs the command, and reports its end.
fn go(parsed: &Parsed) -> ExitCode {
    let common = &parsed.cli.common;
    // A terminal's log has what the line sent.
    let log = match &parsed.cli.verb {
        Verb::Connect(_) | Verb::Wrap(_) => None,
        _ => common.log.as_deref(),
    };
    let ui = match Output::new(common.json, common.quiet, common.verbose, log) {
        Ok(ui) => ui,
        Err(message) => {
            eprintln!("wst: {message}");
            Output::bare(common.json).end(Exit::Store, &message, None);
            return Exit::Store.into();
        }
    };
    let plain = |result: Result<Exit, String>| match result {
        Ok(exit) => Ending::early(exit, ""),
        Err(message) => Ending::early(Exit::Usage, message),
    };
    let settings = &parsed.settings;
    let ending = match &parsed.cli.verb {
        Verb::Demo(verb) => demo::run(&ui, common, verb),
        Verb::Connect(verb) => either(connect::run(&ui, common, verb, settings)),
        Verb::Send(verb) => either(send::run(&ui, common, verb, settings)),
        Verb::Receive(verb) => either(receive::run(&ui, common, verb, settings)),
        Verb::Get(verb) if verb.shell => either(shell::get(&ui, common, verb, settings)),
        Verb::Put(verb) if verb.shell => either(shell::put(&ui, common, verb, settings)),
        Verb::Get(verb) => either(client::get(&ui, common, verb, settings)),
        Verb::Put(verb) => either(client::put(&ui, common, verb, settings)),
        Verb::Remote(verb) => either(client::remote(&ui, common, verb, settings)),
        Verb::Serve(verb) => either(serve::run(&ui, common, verb, settings)),
        Verb::Line(verb) => either(line::run(&ui, common, verb)),
        Verb::Web(verb) => either(web::run(&ui, common, verb)),
        Verb::Slip(verb) => either(slip::run(&ui, common, verb, settings)),
        Verb::Ncp(verb) => either(ncp::run(&ui, verb)),
        Verb::Wrap(verb) => match wrap::run(&ui, common, verb, settings) {
            Ok(code) => return ExitCode::from(code),
            Err(ending) => ending,
        },
        Verb::Kermit(verb) => match kermit::run(&ui, common, verb, settings) {
            Ok(code) => return ExitCode::from(code),
            Err(ending) => ending,
        },
        Verb::Lab(verb) => lab::run(&ui, common, verb),
        Verb::Key(verb) => either(key::run(&ui, verb)),
        Verb::Users(verb) => either(users::run(&ui, verb)),
        Verb::Explain(verb) => either(explain::run(&ui, verb)),
        Verb::InstallLinks(verb) => install_links::run(&ui, verb),
        Verb::Ports { watch } => match ports::run(&ui, *watch) {
            Ok(exit) => Ending::early(exit, ""),
            Err((exit, message)) => Ending::early(exit, message),
        },
        Verb::Probe(verb) => either(probe::run(&ui, common, verb)),
        Verb::Show { line: Some(line), .. } => plain(show::line(&ui, common, line)),
        Verb::Show { names, .. } => plain(show::run(&ui, names, common.profile.as_deref())),
        Verb::Completions { shell } => plain(Ok(completions::run(*shell))),
        Verb::Man { all: Some(directory), .. } => plain(man::write_all(directory)),
        Verb::Man { verb, .. } => plain(man::run(verb.as_deref())),
    };
    if !ending.message.is_empty() {
        // Only errors carry the name of the program.
        match ending.exit {
            Exit::Done => ui.say(Level::Note, &ending.message),
            _ => ui.say(Level::Error, &format!("wst: {}", ending.message)),
        }
    }
    ui.end(ending.exit, &ending.message, ending.summary);
    ending.exit.into()
}

/// The ending of either result.
fn either(result: Result<Ending, Ending>) -> Ending {
    match result {
        Ok(ending) | Err(ending) => ending,
    }
}
