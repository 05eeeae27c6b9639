//! `wst install-links`: links by which this program is called `sz`, `rz` and the others, and `kermit`.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use crate::args::install_links::InstallLinks;
use crate::commands::kermit::ckermit;
use crate::commands::personality::NAMES;
use crate::ui::ending::Ending;
use crate::ui::exit::Exit;
use crate::ui::output::{Level, Output};
use wetstring_drive::in_words;
use wetstring_drive::os::files;
use wetstring_events::Event;

/// Makes the links. An existing file that is no link to this program stays, unless forced.
pub(crate) fn run(ui: &Output, verb: &InstallLinks) -> Ending {
    let store = |say: String| Ending::early(Exit::Store, say);
    let target = match std::env::current_exe().and_then(fs::canonicalize) {
        Ok(target) => target,
        Err(e) => return store(format!("could not find this program: {}", in_words(&e))),
    };
    if !verb.directory.is_dir() {
        let name = verb.directory.display();
        return store(format!(
            "expected a directory for the links, {name} is none; mkdir -p makes it"
        ));
    }
    let names: Vec<&str> = NAMES.into_iter().chain([ckermit::NAME]).collect();
    let (mut made, mut kept, mut failed) = (0, 0, Vec::new());
    for name in &names {
        let path = verb.directory.join(files::program_name(name));
        match link(&target, &path, verb.force) {
            Ok(LinkResult::New) => {
                made += 1;
                ui.say(Level::Note, &format!("{} -> {}", path.display(), target.display()));
            }
            Ok(LinkResult::Already) => {
                ui.say(
                    Level::Detail,
                    &format!("{} is already a link to this program", path.display()),
                );
            }
            Ok(LinkResult::Foreign) => {
                kept += 1;
                let say = format!(
                    "{} is not a link to this program; --force replaces it",
                    path.display()
                );
                ui.say(Level::Error, &say);
            }
            // One failure does not prevent the others.
            Err(e) => {
                failed.push(format!("could not make {}: {}", path.display(), in_words(&e)));
                continue;
            }
        }
        let (name, path) = ((*name).to_owned(), path.display().to_string());
        ui.event(Event::Installed { name, path });
    }
    let all = names.len();
    if let Some(first) = failed.first() {
        let more = match failed.len() {
            1 => String::new(),
            many => format!(", and {} more", many - 1),
        };
        return store(format!("{first}{more}; {made} of {all} links made"));
    }
    if kept > 0 {
        let say = format!("{kept} of {all} names are taken, {made} links made");
        return Ending::early(Exit::Skipped, say);
    }
    let say = match made {
        0 => format!("all {all} links exist already"),
        made => format!("{made} of {all} links made"),
    };
    Ending::early(Exit::Done, say)
}

/// The result for one link.
enum LinkResult {
    New,
    Already,
    Foreign,
}

fn link(target: &Path, path: &Path, force: bool) -> std::io::Result<LinkResult> {
    match files::link_program(target, path) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
        done => return done.map(|()| LinkResult::New),
    }
    if files::is_program(target, path) {
        return Ok(LinkResult::Already);
    }
    if !force {
        return Ok(LinkResult::Foreign);
    }
    // Created beside it and renamed over it, so that the name always has a program. A directory of
    // that name is an error, not removed.
    let aside = path.with_extension(format!("wst-{}", std::process::id()));
    files::link_program(target, &aside)?;
    fs::rename(&aside, path).inspect_err(|_| {
        let _ = fs::remove_file(&aside);
    })?;
    Ok(LinkResult::New)
}
