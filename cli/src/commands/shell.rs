//! `wst put --shell` and `wst get --shell`: files through a shell that has no receiver.

use std::path::Path;

use wetstring_drive::LineSpec;
use wetstring_drive::disk::SendOptions;
use wetstring_drive::port::{PATIENCE, Purpose, open_attended};
use wetstring_events::Event;

use crate::args::Common;
use crate::args::client::{Get, Put, StagesOptions};
use crate::args::line_arg::There;
use crate::args::selection::Selection;
use crate::config::Settings;
use crate::transfer::cleartext::{self, What as Exposed};
use crate::transfer::inbox::{self, receive_options};
use crate::transfer::opening::{not_opened, signals};
use crate::transfer::outgoing::{self, outbox};
use crate::transfer::setup::prepare;
use crate::transfer::shell::{ByShell, Minis, What};
use crate::transfer::store::FileStore;
use crate::ui::ending::{Ending, usage};
use crate::ui::exit::LineKind;
use crate::ui::output::{Level, Output};

/// Runs `wst put --shell`.
pub(crate) fn put(
    ui: &Output,
    common: &Common,
    verb: &Put,
    settings: &[(String, String)],
) -> Result<Ending, Ending> {
    let (things, line) = verb.files_and_line();
    let (all, spec) = prepare(common, settings, line, There::Talks).map_err(usage)?;
    if verb.name.is_some() && things.len() != 1 {
        return Err(usage(format!("expected one file with --as, got {}", things.len())));
    }
    let mut sources = Vec::new();
    for path in things {
        let path = Path::new(path);
        if path.is_dir() {
            return Err(usage("expected files with --shell, got a directory".to_owned()));
        }
        sources.extend(outgoing::sources(ui, path, (false, false), &Selection::default())?);
    }
    let disk = outbox(ui, sources, SendOptions::default());
    let name = verb.name.as_ref().map(|name| name.as_encoded_bytes().to_vec());
    let what = What::Put { overwrites: verb.overwrite, overwrites_by: None, name };
    let store = FileStore::Disk(Box::new(disk));
    let (file_store, ending) = run(ui, &spec, (store, what), minis(&verb.stages), all)?;
    let mut ending = ending;
    if verb.options.delete {
        ending.kept(outgoing::delete_sent(ui, file_store.files(), "wst"));
    }
    Ok(ending)
}

/// Runs `wst get --shell`.
pub(crate) fn get(
    ui: &Output,
    common: &Common,
    verb: &Get,
    settings: &[(String, String)],
) -> Result<Ending, Ending> {
    let (names, line) = verb.names_and_line();
    let (all, spec) = prepare(common, settings, line, There::Talks).map_err(usage)?;
    let disk = inbox::receiving(&verb.output, receive_options(&all))?;
    let names = names.iter().map(|name| name.as_encoded_bytes().to_vec()).collect();
    let file_store = FileStore::Disk(Box::new(disk));
    let what = (file_store, What::Get(names));
    run(ui, &spec, what, minis(&verb.stages), all).map(|(_, ending)| ending)
}

fn minis(options: &StagesOptions) -> Minis {
    Minis { stages: options.when(), folder: options.mini.clone() }
}

/// Opens the line, and does it.
fn run(
    ui: &Output,
    spec: &LineSpec,
    (file_store, what): (FileStore, What),
    minis: Minis,
    all: Settings,
) -> Result<(FileStore, Ending), Ending> {
    if spec.has_datagrams() || *spec == LineSpec::Stdio {
        return Err(usage(format!("expected a line to a shell, got {spec}")));
    }
    cleartext::warn(ui, spec, Exposed::Files);
    let signals = signals()?;
    let mut notes = |text: &str| {
        ui.say(Level::Note, text);
        ui.event(Event::Line { text: text.to_owned(), end: None });
    };
    let opened = open_attended(spec, Purpose::Transfer, Some(&signals), &mut notes);
    let mut port = opened.map_err(|bad| not_opened(spec, &bad))?;
    ui.say(Level::Detail, &format!("line: {}", port.facts().name));
    let medium = LineKind::of(spec);
    let mut by_shell = ByShell { ui, signals: &signals, medium, file_store, what, minis, all };
    let (ending, _) = by_shell.run_on(&mut *port, &[]);
    let _ = port.finish(signals.patience(PATIENCE));
    Ok((by_shell.file_store, ending))
}
