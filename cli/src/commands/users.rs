//! `wst users`: the file of a server's users.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use std::io::{IsTerminal as _, stdin};
use wetstring_drive::in_words;
use wetstring_drive::os::files;
use wetstring_drive::serve::Users as File;
use wetstring_drive::serve::users::hash;
use wetstring_events::Event;

use crate::args::users::{Users, UsersVerb};
use crate::ui::ending::{Ending, usage};
use crate::ui::exit::Exit;
use crate::ui::format::{escaped, shown};
use crate::ui::output::Output;
use crate::ui::password;

/// Shows and changes the file.
pub(crate) fn run(ui: &Output, verb: &Users) -> Result<Ending, Ending> {
    let done = |say: String| Ok(Ending::early(Exit::Done, say));
    match &verb.what {
        UsersVerb::Add { file, name } => {
            // A colon ends the name, and a line that begins with # is a comment.
            if name.trim() != name || name.is_empty() || name.contains([':', '#', '\n']) {
                let name = escaped(name.as_bytes());
                let say =
                    format!("expected a name without blanks around it, colon or #, got {name}");
                return Err(usage(say));
            }
            let text = read(file, true)?;
            let password = password(name).map_err(|error| match error.kind() {
                io::ErrorKind::Interrupted => Ending::early(Exit::Interrupted, "interrupted"),
                _ => said("read the password", &error),
            })?;
            if password.is_empty() {
                return Err(usage("expected a password, got none".to_owned()));
            }
            let hash = hash(&password).map_err(|e| said("hash the password", &e))?;
            let (mut text, was) = without(&text, name);
            text.extend([name, ":", &hash, "\n"]);
            write(file, &text)?;
            let name = escaped(name.as_bytes());
            done(format!("{name} {}", if was { "has a new password" } else { "is added" }))
        }
        UsersVerb::Remove { file, name } => {
            let (text, was) = without(&read(file, false)?, name);
            if !was {
                return Err(usage(format!("no such user: {}", escaped(name.as_bytes()))));
            }
            write(file, &text)?;
            done(format!("{} is removed", escaped(name.as_bytes())))
        }
        UsersVerb::List { file } => {
            let text = read(file, false)?;
            let names: Vec<&str> = text.lines().filter_map(name_of).collect();
            ui.event(Event::Users { names: names.iter().map(ToString::to_string).collect() });
            if !ui.has_json() {
                let lines = if names.is_empty() { "" } else { "\n" };
                let shown: Vec<_> = names.iter().map(|name| escaped(name.as_bytes())).collect();
                crate::ui::output::print(&(shown.join("\n") + lines));
            }
            done(String::new())
        }
    }
}

fn said(what: &str, error: &io::Error) -> Ending {
    Ending::early(Exit::Store, format!("could not {what}: {}", in_words(&error)))
}

/// The name in a line of the file.
fn name_of(line: &str) -> Option<&str> {
    let line = line.trim();
    let name = line.split_once(':').map(|(name, _)| name.trim());
    name.filter(|_| !line.starts_with('#'))
}

/// The text without the line of a user, and whether there was one.
fn without(text: &str, name: &str) -> (String, bool) {
    let mut kept = String::new();
    let mut was = false;
    for line in text.lines() {
        if name_of(line) == Some(name) {
            was = true;
        } else {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    (kept, was)
}

/// The text of the file, which must be a valid users file.
fn read(path: &Path, may_be_new: bool) -> Result<String, Ending> {
    let name = || shown(path.as_os_str());
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if may_be_new && error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(said(&format!("read {}", name()), &error)),
    };
    // Another kind of file must not be overwritten.
    File::parse(&text).map_err(|e| said(&format!("read the users in {}", name()), &e))?;
    Ok(text)
}

/// Writes a new file, readable only by its owner, and replaces the old one with it.
fn write(path: &Path, text: &str) -> Result<(), Ending> {
    let name = shown(path.as_os_str());
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    let put = || {
        let mut file = files::create_private(Path::new(&new))?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, path)
    };
    put().map_err(|error| {
        if error.kind() != io::ErrorKind::AlreadyExists {
            let _ = fs::remove_file(&new);
        }
        said(&format!("write {name}"), &error)
    })
}

/// Prompts for a password; reads the first line of stdin if that is not a terminal.
fn password(name: &str) -> io::Result<Vec<u8>> {
    if !stdin().is_terminal() {
        return password::line();
    }
    let first = password::ask(&format!("password for {}: ", escaped(name.as_bytes())))?;
    let again = password::ask("the same again: ")?;
    if first != again {
        let say = "expected the same password twice, got two";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, say));
    }
    Ok(first)
}
