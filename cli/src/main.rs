//! `wst`: moves files over any line, and knows why it is slow.
//!
//! Verbs first, then files, then the line. [`args`] reads the command line, [`config`] the file
//! and the profiles, [`voice`] says everything that is said, [`exit`] has the codes; each verb has
//! a file of its own. Called `sz`, `rz` and so on, it is a [`personality`] instead.

#![forbid(unsafe_code)]

mod args;
mod audit;
mod choice;
mod clear;
mod client;
mod code;
mod commands;
mod config;
mod consent;
mod demo;
mod exit;
mod explain;
mod facts;
mod filter;
mod hint;
mod inbox;
mod kermit;
mod keychain;
mod keys;
mod lab;
mod limits;
mod line;
mod links;
mod ncp;
mod netblt;
mod opening;
mod outgoing;
mod paper;
mod personality;
mod ports;
mod progress;
mod protocol;
mod question;
mod record;
mod remote;
mod screen;
mod serve;
mod show;
mod slip;
mod transfer;
mod trust;
mod users;
mod verdict;
mod voice;
mod waiting;
mod wanted;
mod watch;
mod words;

use std::ffi::OsString;
use std::process::ExitCode;

use args::{Parsed, Verb};
use exit::Exit;
use personality::Personality;
use transfer::Ending;
use voice::{Level, Voice};

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    if let Some(personality) = args.first().and_then(|name| Personality::of(name)) {
        return personality.run(&args);
    }
    if args.first().is_some_and(|name| kermit::called::is_called(name)) {
        return kermit::called::run(&args);
    }
    match args::parse(&args) {
        Ok(parsed) => go(&parsed),
        Err(error) if error.use_stderr() => {
            let (sentence, text) = args::explain(&error);
            match text {
                Some(text) => eprint!("{text}"),
                // In colours, where stderr shows them.
                None => drop(error.print()),
            }
            Voice::bare(args::wants_json(&args)).end(Exit::Usage, &sentence, None);
            Exit::Usage.into()
        }
        Err(help) => {
            // A reader that has seen enough (`head`) is no error.
            let _ = help.print();
            Exit::Done.into()
        }
    }
}

/// Does what was asked, and says how it ended.
fn go(parsed: &Parsed) -> ExitCode {
    let common = &parsed.cli.common;
    let voice = match Voice::new(common) {
        Ok(voice) => voice,
        Err(message) => {
            eprintln!("wst: {message}");
            Voice::bare(common.json).end(Exit::Store, &message, None);
            return Exit::Store.into();
        }
    };
    let plain = |result: Result<Exit, String>| match result {
        Ok(exit) => Ending::early(exit, ""),
        Err(message) => Ending::early(Exit::Usage, message),
    };
    let settings = &parsed.settings;
    let ending = match &parsed.cli.verb {
        Verb::Demo(verb) => demo::run(&voice, common, verb),
        Verb::Send(verb) => either(transfer::send(&voice, common, verb, settings)),
        Verb::Receive(verb) => either(transfer::receive(&voice, common, verb, settings)),
        Verb::Get(verb) => either(client::get(&voice, common, verb, settings)),
        Verb::Put(verb) => either(client::put(&voice, common, verb, settings)),
        Verb::Remote(verb) => either(client::remote(&voice, common, verb, settings)),
        Verb::Serve(verb) => either(serve::run(&voice, common, verb, settings)),
        Verb::Line(verb) => either(line::run(&voice, common, verb)),
        Verb::Slip(verb) => either(slip::run(&voice, common, verb)),
        Verb::Ncp(verb) => either(ncp::run(&voice, verb)),
        Verb::Kermit(verb) => match kermit::run(&voice, common, verb, settings) {
            Ok(code) => return ExitCode::from(code),
            Err(ending) => ending,
        },
        Verb::Lab(verb) => lab::run(&voice, common, verb),
        Verb::Key(verb) => either(keychain::run(&voice, verb)),
        Verb::Users(verb) => either(users::run(&voice, verb)),
        Verb::Explain(verb) => either(explain::run(&voice, verb)),
        Verb::InstallLinks(verb) => links::install(&voice, verb),
        Verb::Ports => match ports::run(&voice) {
            Ok(exit) => Ending::early(exit, ""),
            Err((exit, message)) => Ending::early(exit, message),
        },
        Verb::Show { names } => plain(show::run(&voice, names, common.profile.as_deref())),
        Verb::Completions { shell } => plain(Ok(paper::completions(*shell))),
        Verb::Man { all: Some(directory), .. } => plain(paper::manual(directory)),
        Verb::Man { verb, .. } => plain(paper::man(verb.as_deref())),
    };
    if !ending.message.is_empty() {
        // Only what went wrong is said in the name of the program.
        match ending.exit {
            Exit::Done => voice.say(Level::Note, &ending.message),
            _ => voice.say(Level::Error, &format!("wst: {}", ending.message)),
        }
    }
    voice.end(ending.exit, &ending.message, ending.summary);
    ending.exit.into()
}

/// An end is an end, however it was reached.
fn either(result: Result<Ending, Ending>) -> Ending {
    match result {
        Ok(ending) | Err(ending) => ending,
    }
}
