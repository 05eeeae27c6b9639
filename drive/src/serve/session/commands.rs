//! The commands.

// Short replies are results, so that each command is one expression.
#![allow(clippy::unnecessary_wraps)]

use super::super::listing;
use super::super::rights::Effect;
use super::super::tree::{Place, is_pattern, shown, unescaped, ungrouped};
use super::super::users::NotLoggedIn;
use super::errors::said;
use super::host::Output;
use super::search::{self, Asked, Form, Heed, Search};
use super::sheet::Sheet;
use super::{Action, Answer, Direction, Done, Outgoing, Session};
use crate::disk::names::clean;
use crate::disk::{Collision, Incomplete};
use crate::in_words;
use crate::os::{files, process};
use std::fmt::Write as _;
use std::process::Command;
use std::sync::PoisonError;
use wetstring_proto::file::{FileKind, Left};
use wetstring_proto::kermit::Charset;
use wetstring_proto::kermit::command::{Get, ServerCommand as C, code};

/// Maximum variables of a session, bytes of each, and bytes of all names and values.
const MOST_VARIABLES: usize = 64;
const LONGEST_VALUE: usize = 1024;
const MOST_ASSIGNED: usize = 8 * 1024;
/// Maximum bytes of files that are shown.
const MOST_OUTPUT: u64 = 1 << 20;

/// The subject of a command, for the log.
pub(super) fn subject<'c>(command: &C<'c>) -> &'c [u8] {
    match command {
        C::Get(Get { names: text, .. })
        | C::Host(text)
        | C::Kermit(text)
        | C::ChangeDirectory(text)
        | C::Directory(text)
        | C::Space(text)
        | C::Delete(text)
        | C::Rename([text, _])
        | C::Copy([text, _])
        | C::Type(text)
        | C::MakeDirectory(text)
        | C::RemoveDirectory(text)
        | C::Message(text)
        | C::Set { value: text, .. }
        | C::Query { name: text, .. }
        | C::Assign { name: text, .. } => text,
        _ => b"",
    }
}

fn text(text: impl Into<Vec<u8>>) -> Done {
    Ok(Answer::Text(text.into()))
}

fn nothing() -> Done {
    Ok(Answer::Text(Vec::new()))
}

/// The name of something new: C-Kermit 11 may quote braces in it.
fn without_quotes(name: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len());
    for (at, byte) in name.iter().enumerate() {
        if *byte != b'\\' || !matches!(name.get(at + 1), Some(b'{' | b'}')) {
            out.push(*byte);
        }
    }
    out
}

impl Session {
    pub(super) fn perform(&mut self, command: &C<'_>) -> Done {
        match *command {
            C::Receive => self.receive(),
            C::Get(get) if get.is_command => self.host(get.names),
            C::Get(get) => self.get(&get),
            C::Host(line) => self.host(line),
            C::Login([name, password, _]) => self.login(name, password),
            C::Logout => {
                self.user = None;
                self.meter.is_of(None);
                nothing()
            }
            C::ChangeDirectory(name) => self.change_directory(name),
            C::WorkingDirectory => text(shown(&self.here)),
            C::Directory(spec) => self.directory(spec),
            C::Space(_) => self.space(),
            C::Delete(spec) => self.delete(spec),
            C::Rename([from, to]) => self.move_or_copy(from, to, true),
            C::Copy([from, to]) => self.move_or_copy(from, to, false),
            C::Type(spec) => self.show_files(spec),
            C::MakeDirectory(name) => {
                let place = self.fresh(self.place(&without_quotes(name))?);
                self.tree.make_directory(&place).map_err(|e| said(&e))?;
                text(shown(&place))
            }
            C::RemoveDirectory(name) => {
                let place = self.place_of(name)?;
                self.tree.remove_directory(&place).map_err(|e| said(&e))?;
                text([shown(&place), b": removed".to_vec()].concat())
            }
            C::Who(_) => {
                let known = self.user.is_some();
                let list = self.roster.as_ref().map_or_else(String::new, |roster| roster(known));
                screen("WHO", list)
            }
            C::Message(_) => nothing(),
            C::Help(_) => screen("HELP", self.help()),
            C::Status => screen("STATUS", self.status()),
            C::Set { code, value } => self.set(code, value),
            C::Query { kind, name } => self.query(kind, name),
            C::Assign { name, value } => self.assign(name, value),
            C::Finish | C::Bye | C::Exit => nothing(),
            C::Kermit(line) => self.kermit(line),
            _ => Err("Not supported by this server".into()),
        }
    }

    fn place(&self, name: &[u8]) -> Result<Place, String> {
        search::place(&self.here, name)
    }

    /// A place for a new file: its name is cleaned like those of uploads. Its directory has been resolved
    /// already, so a backslash stays.
    fn fresh(&self, mut place: Place) -> Place {
        if self.tree.entry(&place).is_err()
            && let Some(last) = place.last_mut()
        {
            *last = clean(last);
        }
        place
    }

    fn existing<'n>(&self, names: &'n [Vec<u8>]) -> Result<Option<&'n [u8]>, String> {
        search::existing(&*self.tree, &self.here, names)
    }

    /// The place of an existing name, literal or unquoted; of the literal name if none exists.
    fn place_of(&self, name: &[u8]) -> Result<Place, String> {
        let names = [name.to_vec(), unescaped(name)];
        self.place(self.existing(&names)?.unwrap_or(name))
    }

    fn search(&self, asked: Asked) -> Search {
        Search::new(self.tree.clone(), &self.here, asked, self.heed())
    }

    /// The one or several files that the argument of a command means, including blanks.
    fn argument(&self, spec: &[u8], directories: bool) -> Search {
        let (text, form, recursive) = (spec.to_vec(), Form::Argument, false);
        self.search(Asked { text, form, recursive, directories, dots: self.dot_files })
    }

    fn receive(&mut self) -> Done {
        let mut options = self.options.clone();
        // A client without that right gives its own file another name.
        let may = |effect| self.rules.may(effect).is_ok();
        options.keeps = !may(Effect::Replace) || !may(Effect::Append);
        options.stays = !may(Effect::Aside);
        options.toll = Some(self.toll());
        self.current = None;
        self.aside.clear();
        self.outgoing = None;
        self.broken = None;
        self.receiving = Some(self.tree.receive(&self.here, options).map_err(|e| said(&e))?);
        nothing()
    }

    fn get(&mut self, get: &Get<'_>) -> Done {
        if get.delete {
            self.allowed(Action::Delete)?;
        }
        // A name may contain blanks: an existing name is not a list.
        let inner = ungrouped(get.names);
        let whole = [get.names.to_vec(), inner.to_vec(), unescaped(inner)];
        let form = if self.existing(&whole)?.is_some() { Form::Name } else { Form::List };
        let (text, recursive, dots) = (get.names.to_vec(), get.recursive, self.dot_files);
        let search = self.search(Asked { text, form, recursive, directories: false, dots });
        let (files, names) = search.names()?;
        if files == 0 {
            return Err("No files match".into());
        }
        self.receiving = None;
        self.current = None;
        self.aside.clear();
        self.outgoing = Some(Outgoing::Files {
            search: Box::new(search),
            names,
            delete: get.delete,
            blemish: None,
            over: false,
            resume: get.recover,
            kind: get.kind,
        });
        // Their lengths are not known before they are opened.
        Ok(Answer::Files(Left { files: u32::try_from(files).unwrap_or(u32::MAX), bytes: 0 }))
    }

    fn login(&mut self, name: &[u8], password: &[u8]) -> Done {
        let Some(users) = &self.rules.users else { return Err("No login is required".into()) };
        match users.admit(self.address, name, password, self.stop.as_ref()) {
            Ok(()) => {
                self.user = Some(name.escape_ascii().to_string());
                self.meter.is_of(self.user.as_deref());
                text("You are logged in")
            }
            Err(why) => {
                self.user = None;
                self.meter.is_of(None);
                Err(match why {
                    NotLoggedIn::Wrong => "Access denied".into(),
                    NotLoggedIn::Wait(wait) => {
                        let seconds = wait.as_secs() + 1;
                        format!("Too many wrong passwords, try again in {seconds} s")
                    }
                })
            }
        }
    }

    fn change_directory(&mut self, name: &[u8]) -> Done {
        let place = if name.is_empty() { Place::new() } else { self.place_of(name)? };
        // Listing it checks that it is a directory and readable.
        let entry = self.tree.entry(&place).map_err(|e| said(&e))?;
        if !entry.is_directory {
            return Err("Not a directory".into());
        }
        self.here = place;
        text(shown(&self.here))
    }

    fn directory(&mut self, spec: &[u8]) -> Done {
        let search = self.argument(if spec.is_empty() { b"*" } else { spec }, true);
        if search.len()? == 0 && is_pattern(spec) {
            return Err("No files match".into());
        }
        let title = [&b"DIRECTORY "[..], &shown(&self.here)].concat();
        Ok(Answer::Sheet { title, sheet: Sheet::listing(self.tree.clone(), search) })
    }

    fn space(&self) -> Done {
        match self.tree.room().map_err(|e| said(&e))? {
            Some(room) => {
                let (free, total) = (room.free / 1024, room.total / 1024);
                screen("SPACE", format!("{free} of {total} KiB free\n"))
            }
            None => screen("SPACE", "No limit is known\n".into()),
        }
    }

    fn delete(&mut self, spec: &[u8]) -> Done {
        let mut gone = 0;
        let mut search = self.argument(spec, false);
        search.len()?;
        let before = |why: String, gone| match gone {
            0 => why,
            gone => format!("{why}, {gone} deleted before"),
        };
        while let Some((place, name)) = search.next().map_err(|why| before(why, gone))? {
            self.tree.remove(&place).map_err(|e| {
                format!("{}: {}, {gone} deleted before", name.escape_ascii(), said(&e))
            })?;
            gone += 1;
        }
        if gone == 0 {
            return Err("No files match".into());
        }
        text(format!("{gone} {} deleted", if gone == 1 { "file" } else { "files" }))
    }

    fn move_or_copy(&mut self, from: &[u8], to: &[u8], moves: bool) -> Done {
        if from.is_empty() || to.is_empty() {
            return Err("Expected two names".into());
        }
        // C-Kermit 10 sends both with the braces or quotes that were typed around them.
        let sources = [from.to_vec(), ungrouped(from).to_vec(), unescaped(ungrouped(from))];
        let from = self.existing(&sources)?.ok_or("No such file or directory")?;
        let to = ungrouped(to);
        let targets = [to.to_vec(), without_quotes(to)];
        let to = self.existing(&targets)?.unwrap_or(&targets[1]);
        let (from, mut to) = (self.place(from)?, self.place(to)?);
        if from.is_empty() || to.starts_with(&from) {
            return Err("Bad name".into());
        }
        // In a directory it keeps its name.
        if self.tree.entry(&to).is_ok_and(|entry| entry.is_directory) {
            to.extend(from.last().cloned());
        }
        let to = self.fresh(to);
        let mut heed = self.heed();
        let done = if moves {
            self.tree.rename(&from, &to, &mut |_| heed.step())
        } else {
            self.fits_whole(&from).map_err(|e| said(&e))?;
            let (meter, mut room) = (self.meter.clone(), self.looks_at_room());
            self.tree.copy(&from, &to, &mut |bytes| {
                heed.step()?;
                meter.take(Direction::Stored, bytes)?;
                room(bytes)
            })
        };
        done.map_err(|e| said(&e))?;
        let word = if moves { " renamed to " } else { " copied to " };
        text([shown(&from), word.into(), shown(&to)].concat())
    }

    fn show_files(&mut self, spec: &[u8]) -> Done {
        let search = |session: &Self| session.argument(spec, false);
        search(self).len()?;
        if Sheet::len(&*self.tree, &mut search(self), MOST_OUTPUT)? == 0 {
            return Err("No files match, or they are empty".into());
        }
        let sheet = Sheet::files(self.tree.clone(), search(self));
        Ok(Answer::Sheet { title: [b"TYPE ", spec].concat(), sheet })
    }

    fn help(&self) -> String {
        let mut text = String::from("This server supports:");
        for (name, action) in Action::NAMES {
            let may = match action {
                Action::Host => self.rules.host.is_some(),
                Action::Kermit => self.rules.kermit.is_some(),
                _ => true,
            };
            let may = may && action.effects().all(|effect| self.rules.may(effect).is_ok());
            if may && !self.rules.disabled.contains(&action) {
                let _ = write!(text, " {name}");
            }
        }
        text.push('\n');
        text
    }

    fn status(&self) -> String {
        let counts = self.counts;
        format!(
            "Client {}, user {}\nDirectory {}\nSent {} files, {} bytes\n\
             Received {} files, {} bytes\nRefused {} commands\n{}",
            self.client,
            self.user_name(),
            String::from_utf8_lossy(&shown(&self.here)),
            counts.files_out,
            counts.bytes_out,
            counts.files_in,
            counts.bytes_in,
            counts.refused,
            self.meter.shown(),
        )
    }

    /// A setting; the engine checks those of the protocol first.
    fn set(&mut self, code: u16, value: &[u8]) -> Done {
        let number = std::str::from_utf8(value).ok().and_then(|v| v.trim().parse::<u16>().ok());
        let bad = || "Bad value of a setting".to_owned();
        match code {
            code::COLLISION => {
                let collision = match number {
                    Some(0) => Collision::Rename,
                    Some(1) => Collision::Replace,
                    Some(2) => Collision::Backup,
                    Some(3) => Collision::Append,
                    Some(4 | 5) => Collision::Reject,
                    Some(6) => Collision::Update,
                    Some(7) => Collision::Differing,
                    _ => return Err(bad()),
                };
                // A read-only server accepts nothing, whatever is set.
                if let Some(effect) = Effect::of(collision).filter(|_| self.rules.write) {
                    self.rules.may(effect)?;
                }
                self.options.collision = collision;
            }
            code::INCOMPLETE => {
                self.options.incomplete = match number {
                    Some(0) => Incomplete::Discard,
                    Some(1 | 2) => Incomplete::Keep,
                    _ => return Err(bad()),
                };
            }
            code::FILE_TYPE => {
                self.kind = if number == Some(0) { FileKind::Text } else { FileKind::Binary };
            }
            code::DOT_FILES => self.dot_files = number == Some(1),
            code::PIPES | code::CD_MESSAGE if number == Some(0) => {}
            code::TRANSFER_MODE if matches!(number, Some(0 | 1)) => {}
            // Files here have no records.
            311..=315 => {}
            code::FILE_NAMES
            | code::ATTRIBUTES
            | 232
            | code::CHECK
            | code::LENGTH
            | code::TIMEOUT
            | code::RETRIES
            | code::SERVER_TIMEOUT
            | code::WINDOW => {}
            code if code::attribute(code).is_some() => {}
            code::FILE_SET | code::TRANSFER_SET => {
                let set = std::str::from_utf8(value).ok().and_then(|name| charset(name.trim()));
                let set = set.ok_or("Unknown character set")?;
                let mut sets = self.sets.lock().unwrap_or_else(PoisonError::into_inner);
                if code == code::FILE_SET {
                    sets.file = set;
                } else if set.designator().is_some() {
                    sets.transfer = set;
                } else {
                    return Err("Not a transfer character set".into());
                }
            }
            _ => return Err("Unknown REMOTE SET parameter".into()),
        }
        nothing()
    }

    fn query(&self, kind: u8, name: &[u8]) -> Done {
        let name = name.strip_prefix(b"\\v(").and_then(|n| n.strip_suffix(b")")).unwrap_or(name);
        let lower = name.to_ascii_lowercase();
        match (kind.to_ascii_uppercase(), &lower[..]) {
            (b'K', b"version" | b"cversion") => text(env!("CARGO_PKG_VERSION")),
            (b'K', b"directory" | b"cwd") => text(shown(&self.here)),
            (b'K', b"system") => text("UNIX"),
            (b'K', b"userid") => text(self.user_name()),
            (b'K', b"date" | b"ndate" | b"time") => {
                let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
                let now = listing::date(now.map_or(0, |d| i64::try_from(d.as_secs()).unwrap_or(0)));
                let (date, time) = now.split_once(' ').unwrap_or((&now, ""));
                text(match &lower[..] {
                    b"time" => time.to_owned(),
                    b"ndate" => date.replace('-', ""),
                    _ => date.to_owned(),
                })
            }
            (b'K', _) => Err("No such variable".into()),
            // The system's variables are not for clients.
            (b'S', _) => Err("System variables are not available".into()),
            _ => match self.variables.get(name) {
                Some(value) => text(value.clone()),
                None => Err("No such variable".into()),
            },
        }
    }

    fn assign(&mut self, name: &[u8], value: &[u8]) -> Done {
        let others = self.variables.iter().filter(|(known, _)| &known[..] != name);
        let (count, bytes) = others
            .fold((0, name.len() + value.len()), |(count, bytes), (n, v)| {
                (count + 1, bytes + n.len() + v.len())
            });
        let full = count >= MOST_VARIABLES || bytes > MOST_ASSIGNED;
        if name.is_empty() || name.len() > 64 || value.len() > LONGEST_VALUE || full {
            return Err("Too many variables, or too long a value".into());
        }
        self.variables.insert(name.to_vec(), value.to_vec());
        nothing()
    }

    /// Runs a host command and shows its output. Only where the rules allow it.
    fn host(&mut self, line: &[u8]) -> Done {
        let directory = self.rules.host.as_deref().ok_or("Host commands are disabled")?;
        let mut shell = process::shell(line);
        shell.current_dir(directory);
        ran(line, shell, self.heed())
    }

    /// In a process of its own: its settings do not last. REMOTE SET is for that.
    fn kermit(&mut self, line: &[u8]) -> Done {
        let (program, directory) =
            self.rules.kermit.as_ref().ok_or("Kermit commands are disabled")?;
        let mut kermit = Command::new(program);
        kermit.args(["kermit", "-C"]).arg(files::name(line)).current_dir(directory);
        ran(line, kermit, self.heed())
    }
}

fn screen(title: &str, text: String) -> Done {
    Ok(Answer::Screen { title: title.into(), text: text.into_bytes() })
}

/// The answer to a command that is run: its output is sent while it is produced.
fn ran(line: &[u8], command: Command, heed: Heed) -> Done {
    let output = Output::of(command, heed)
        .map_err(|error| format!("Cannot run the command: {}", in_words(&error)))?;
    Ok(Answer::Sheet { title: line.to_vec(), sheet: Sheet::output(output) })
}

/// A character set by its name or, as C-Kermit sends that of transfers, its designator.
fn charset(name: &str) -> Option<Charset> {
    if name.is_empty() {
        return Some(Charset::TRANSPARENT);
    }
    Charset::named(name).or_else(|| Charset::designated(name.as_bytes()))
}
