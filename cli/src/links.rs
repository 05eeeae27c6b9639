//! `wst install-links`: the names by which this program is `sz`, `rz` and the others, and `kermit`.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;

use crate::args::InstallLinks;
use crate::exit::Exit;
use crate::kermit;
use crate::personality::NAMES;
use crate::transfer::Ending;
use crate::voice::{Level, Voice};
use wetstring_drive::in_words;

/// Makes the links. What is there and does not lead to this program stays, unless forced.
pub(crate) fn install(voice: &Voice, verb: &InstallLinks) -> Ending {
    let store = |say: String| Ending::early(Exit::Store, say);
    let target = match std::env::current_exe().and_then(fs::canonicalize) {
        Ok(target) => target,
        Err(e) => return store(format!("could not find this program: {}", in_words(&e))),
    };
    let mut kept = 0;
    for name in NAMES.into_iter().chain([kermit::called::NAME]) {
        let path = verb.directory.join(name);
        match link(&target, &path, verb.force) {
            Ok(Made::New) => {
                voice.say(Level::Note, &format!("{} -> {}", path.display(), target.display()));
            }
            Ok(Made::Already) => {
                voice.say(Level::Detail, &format!("{} is ours already", path.display()));
            }
            Ok(Made::Foreign) => {
                kept += 1;
                let say = format!("{} is not ours; --force replaces it", path.display());
                voice.say(Level::Error, &say);
            }
            Err(e) => return store(format!("could not make {}: {}", path.display(), in_words(&e))),
        }
        voice.event("link", json!({"name": name, "path": path.display().to_string()}));
    }
    if kept > 0 {
        return Ending::early(Exit::Skipped, format!("{kept} of {} names are taken", NAMES.len()));
    }
    Ending::early(Exit::Done, "")
}

/// What became of a link.
enum Made {
    New,
    Already,
    Foreign,
}

fn link(target: &Path, path: &Path, force: bool) -> std::io::Result<Made> {
    match symlink(target, path) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
        done => return done.map(|()| Made::New),
    }
    if fs::canonicalize(path).is_ok_and(|there| there == target) {
        return Ok(Made::Already);
    }
    if !force {
        return Ok(Made::Foreign);
    }
    // Beside it and then over it, so that the name is never without a program. A directory of
    // that name is an error, not removed.
    let aside = path.with_extension(format!("wst-{}", std::process::id()));
    symlink(target, &aside)?;
    fs::rename(&aside, path).inspect_err(|_| {
        let _ = fs::remove_file(&aside);
    })?;
    Ok(Made::New)
}
