//! One client's store: executes its commands, within the rules.

use super::quota::{self, Accounts, Direction, Meter, Quotas};
use super::rights::{self, Action, Effect};
use super::tree::{Place, Tree};
use super::users::Users;
use crate::charset::{Sets, SharedSets};
use crate::disk::{Collision, Holes, Incomplete, PathRule, ReceiveOptions, Resume, Verify};
use crate::in_words;
use crate::signals::Signals;
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use wetstring_proto::file::{
    FileKind, Left, Refusal, Remote, RemoteReply, Reply, Request, Store, StoreError,
};
use wetstring_proto::kermit::Config;
use wetstring_proto::kermit::command::{Get, ServerCommand};

mod commands;
mod counting;
mod errors;
mod host;
mod search;
mod sending;
mod sheet;

use search::Heed;
use sending::{Current, Outgoing};
use sheet::Sheet;

/// What clients may do. By default they may only read.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// They may change files.
    pub write: bool,
    /// They may run host commands in this directory.
    pub host: Option<PathBuf>,
    /// They may run commands in Kermit's language, executed by this program (`PROGRAM kermit -C COMMANDS`) in
    /// this directory. Such a command may run host commands.
    pub kermit: Option<(PathBuf, PathBuf)>,
    /// Disabled commands.
    pub disabled: Vec<Action>,
    /// They must log in as one of these users; without, no login is needed.
    pub users: Option<Arc<Users>>,
    /// The collision setting, unless a client with write access changes it.
    pub collision: Collision,
    /// What to do with incomplete files.
    pub incomplete: Incomplete,
    /// Received file names lose their directories.
    pub bare_names: bool,
    /// Files with directories in their names are refused.
    pub no_directories: bool,
    /// Each file is sent as text or binary according to its contents, unless the client says which.
    pub detects: bool,
    /// What is resumed on a client's request. [`Resume::Part`] is [`Resume::Compared`] here.
    pub resume: Resume,
    /// The digest algorithm for received files.
    pub verify: Verify,
    /// Whether blocks of zeros become holes.
    pub holes: Holes,
    /// Quotas.
    pub quotas: Quotas,
    /// Usage of the quotas; shared by all sessions of a server.
    pub accounts: Arc<Accounts>,
}

impl Rules {
    /// Whether this effect is allowed; else why not.
    pub(super) fn may(&self, effect: Effect) -> Result<(), String> {
        rights::may(effect, self.write, &self.disabled)
    }
}

impl Rules {
    fn resume(&self) -> Resume {
        match self.resume {
            Resume::Part => Resume::Compared,
            other => other,
        }
    }
}

/// Logs one line per action that was done or refused.
pub trait Audit: Send + Sync {
    /// `127.0.0.1:4711 user=anna get /a.bin: done, 1234 bytes`, without a date.
    fn note(&self, line: &str);
}

/// The connected clients, as REMOTE WHO shows them; with addresses for logged-in users.
pub(super) type Roster = dyn Fn(bool) -> String + Send + Sync;

/// The store of one client of a server.
pub struct Session {
    tree: Arc<dyn Tree>,
    rules: Rules,
    audit: Option<Arc<dyn Audit>>,
    roster: Option<Arc<Roster>>,
    /// Aborts long commands.
    stop: Option<Signals>,
    /// The client, as shown to people: `127.0.0.1:4711`.
    client: String,
    address: Option<IpAddr>,
    user: Option<String>,
    here: Place,
    outgoing: Option<Outgoing>,
    current: Option<Current>,
    /// Files that are sent, and of which the client has not said that it has them.
    aside: VecDeque<Current>,
    receiving: Option<Box<dyn Store + Send>>,
    /// The last offered name, for the log.
    offered: Vec<u8>,
    took: u64,
    /// The incoming file has exceeded a limit: it is incomplete, whatever follows.
    broken: Option<StoreError>,
    meter: Arc<Meter>,
    /// Bytes stored since free space was last checked.
    unlooked: u64,
    options: ReceiveOptions,
    kind: FileKind,
    dot_files: bool,
    sets: SharedSets,
    variables: BTreeMap<Vec<u8>, Vec<u8>>,
    counts: Counts,
}

/// Statistics of a session.
#[derive(Clone, Copy, Default, Debug)]
struct Counts {
    files_out: u64,
    bytes_out: u64,
    files_in: u64,
    bytes_in: u64,
    refused: u64,
}

/// Result of a command: text, a transfer, or a refusal.
type Done = Result<Answer, String>;

enum Answer {
    Text(Vec<u8>),
    Screen { title: Vec<u8>, text: Vec<u8> },
    Sheet { title: Vec<u8>, sheet: Sheet },
    Files(Left),
}

impl Session {
    /// A session of a client that is shown as `client`.
    pub fn new(tree: Arc<dyn Tree>, rules: Rules, client: &str, address: Option<IpAddr>) -> Self {
        let options = ReceiveOptions {
            collision: rules.collision,
            incomplete: rules.incomplete,
            resume: rules.resume(),
            paths: if rules.bare_names { PathRule::LastOnly } else { PathRule::Relative },
            verify: rules.verify,
            holes: rules.holes,
            ..ReceiveOptions::default()
        };
        let meter = Arc::new(Meter::new(rules.quotas, rules.accounts.clone()));
        Self {
            tree,
            rules,
            audit: None,
            roster: None,
            stop: None,
            client: client.to_owned(),
            address,
            user: None,
            here: Place::new(),
            outgoing: None,
            current: None,
            aside: VecDeque::new(),
            receiving: None,
            offered: Vec::new(),
            took: 0,
            broken: None,
            meter,
            unlooked: 0,
            options,
            kind: FileKind::Binary,
            dot_files: false,
            sets: Arc::new(Mutex::new(Sets::from(&Config::default()))),
            variables: BTreeMap::new(),
            counts: Counts::default(),
        }
    }

    /// With these initial character sets; the client's settings are stored there too.
    #[must_use]
    pub fn speaking(self, sets: Sets) -> Self {
        Self { sets: Arc::new(Mutex::new(sets)), ..self }
    }

    /// The character sets of the session, for the translator.
    pub fn sets(&self) -> SharedSets {
        self.sets.clone()
    }

    /// Logs actions.
    #[must_use]
    pub fn audited(self, audit: Arc<dyn Audit>) -> Self {
        Self { audit: Some(audit), ..self }
    }

    /// Aborts a long command when one of these signals arrives.
    #[must_use]
    pub fn heeding(self, stop: Signals) -> Self {
        Self { stop: Some(stop), ..self }
    }

    /// Whether the client has logged in.
    pub(super) fn is_logged_in(&self) -> bool {
        self.user.is_some()
    }

    fn heed(&self) -> Heed {
        Heed::new(self.stop.clone())
    }

    /// Knows the connected clients.
    #[must_use]
    pub(super) fn knowing(self, roster: Arc<Roster>) -> Self {
        Self { roster: Some(roster), ..self }
    }

    fn note(&self, action: &str, subject: &[u8], result: &str) {
        let Some(audit) = &self.audit else { return };
        let mut line = format!("{} user={} {action}", self.client, self.user_name());
        if !subject.is_empty() {
            // Names come from the client: they must not look like another line.
            let _ = write!(line, " {}", subject.escape_ascii());
        }
        let _ = write!(line, ": {result}");
        audit.note(&line);
    }

    fn user_name(&self) -> &str {
        self.user.as_deref().unwrap_or("-")
    }

    /// Whether this is allowed now; else why not.
    fn allowed(&self, action: Action) -> Result<(), String> {
        use Action as A;
        let free = matches!(action, A::Login | A::Help | A::Bye | A::Finish);
        if self.rules.users.is_some() && self.user.is_none() && !free {
            return Err("Login required".into());
        }
        if self.rules.disabled.contains(&action) {
            return Err(rights::is_disabled(action));
        }
        action.effects().try_for_each(|effect| self.rules.may(effect))?;
        if action == A::Host && self.rules.host.is_none() {
            return Err("Host commands are disabled".into());
        }
        if action == A::Kermit && self.rules.kermit.is_none() {
            return Err("Kermit commands are disabled".into());
        }
        self.has_room(action)
    }

    fn serve(
        &mut self,
        kind: u8,
        words: &[u8],
        files: Option<FileKind>,
        answer: &mut [u8],
    ) -> Reply<'static> {
        let command = match ServerCommand::parse(kind, words) {
            Ok(ServerCommand::Get(get)) => {
                ServerCommand::Get(Get { kind: get.kind.or(files), ..get })
            }
            Ok(command) => command,
            Err(bad) => {
                return Reply::Remote(RemoteReply::Denied(put(bad.to_string().as_bytes(), answer)));
            }
        };
        let action = Action::of(&command);
        let done = self.allowed(action).and_then(|()| self.perform(&command));
        // Passwords are not logged.
        let subject = if action == Action::Login { &[][..] } else { commands::subject(&command) };
        match done {
            Err(why) => {
                self.counts.refused += 1;
                self.note(action.name(), subject, &format!("refused, {why}"));
                Reply::Remote(RemoteReply::Denied(put(why.as_bytes(), answer)))
            }
            Ok(said) => {
                // Transfers are logged per file.
                if !matches!(action, Action::Get | Action::Send) {
                    self.note(action.name(), subject, "done");
                }
                match said {
                    Answer::Text(text) if text.len() <= answer.len() => {
                        self.meter.add(Direction::Sent, text.len() as u64);
                        Reply::Remote(RemoteReply::Said(put(&text, answer)))
                    }
                    Answer::Text(text) => self.show(Vec::new(), text),
                    Answer::Screen { title, text } => self.show(title, text),
                    // Its length is not known before it is produced.
                    Answer::Sheet { title, sheet } => {
                        let (size, text) = (u64::MAX, Box::new(sheet));
                        self.outgoing = Some(Outgoing::Screen { title, size, text });
                        Reply::Remote(RemoteReply::Follow { screen: true, batch: Left::default() })
                    }
                    Answer::Files(batch) => {
                        Reply::Remote(RemoteReply::Follow { screen: false, batch })
                    }
                }
            }
        }
    }

    /// Why a file may not have the directories of its name: they would be created without the right to.
    fn barred(&self, name: &[u8]) -> Option<Refusal> {
        let mut parts: Place = name.split(|byte| *byte == b'/').map(<[u8]>::to_vec).collect();
        parts.pop();
        parts.retain(|part| !matches!(&part[..], b"" | b"."));
        // Parts that lead upwards are refused by the store.
        if parts.is_empty() || self.rules.bare_names || parts.iter().any(|part| part == b"..") {
            return None;
        }
        let place = [&self.here[..], &parts[..]].concat();
        let makes = || !self.tree.entry(&place).is_ok_and(|entry| entry.is_directory);
        let may_make = self.rules.may(Effect::MakeDirectory).is_ok();
        let barred = self.rules.no_directories || (!may_make && makes());
        barred.then_some(Refusal::NotPermitted)
    }

    /// A file arrives: the store of its directory handles it.
    fn take(&mut self, request: Request<'_>) -> Reply<'_> {
        if let Request::Offer { info } = &request
            && let Some(why) = self.barred(info.name)
        {
            let name = info.name.to_vec();
            self.note("send", &name, &format!("refused, {}", why.as_str()));
            return Reply::Refuse(why);
        }
        if self.receiving.is_none() {
            return match request {
                Request::Close { .. } => Reply::Done,
                _ => Reply::Failed(StoreError::Unsupported),
            };
        }
        if let Err(no) = self.counted(&request) {
            return no;
        }
        let broken = self.broken;
        let Some(receiving) = &mut self.receiving else {
            return Reply::Failed(StoreError::Unsupported);
        };
        let (offer, close, request) = match request {
            // A file that exceeded a limit is incomplete.
            Request::Close { verified, .. } if broken.is_some() => {
                (None, Some(false), Request::Close { complete: false, verified })
            }
            Request::Close { complete, .. } => (None, Some(complete), request),
            Request::Offer { ref info } => (Some((info.size, info.resume)), None, request),
            other => (None, None, other),
        };
        // Nothing that it borrows outlives it.
        let reply = match receiving.answer(request) {
            Reply::Accept { offset } => Reply::Accept { offset },
            Reply::Refuse(why) => Reply::Refuse(why),
            Reply::Held { from, to } => Reply::Held { from, to },
            Reply::Digest(digest) => Reply::Digest(digest),
            Reply::Failed(error) => Reply::Failed(error),
            Reply::TellCheck => Reply::TellCheck,
            _ => Reply::Done,
        };
        let reply = match (reply, offer) {
            (Reply::Accept { offset }, Some((Some(size), true))) => self.resumed(offset, size),
            (reply, _) => reply,
        };
        let (offer, reply) = (offer.is_some(), reply);
        let result = match (&reply, close) {
            (Reply::Refuse(why), _) => format!("refused, {}", why.as_str()),
            (Reply::Failed(error), Some(_)) => format!("failed, {}", in_words(&error)),
            (Reply::Failed(error), None) if offer => format!("failed, {}", in_words(&error)),
            (Reply::Done, Some(true)) => {
                self.counts.files_in += 1;
                self.counts.bytes_in += self.took;
                format!("done, {} bytes", self.took)
            }
            (Reply::Done, Some(false)) => "not received completely".to_owned(),
            _ => return reply,
        };
        let name = std::mem::take(&mut self.offered);
        if !name.is_empty() {
            self.note("send", &name, &result);
        }
        reply
    }
}

impl Store for Session {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        match request {
            Request::Remote(Remote::Serve { kind, words, files, answer }) => {
                self.serve(kind, words, files, answer)
            }
            Request::Next => self.next(),
            Request::Read { offset, into } => self.read(offset, into),
            Request::Digest { kind, len } if self.current.is_some() => self.digest(kind, len),
            Request::Close { complete, .. } if self.current.is_some() || !self.aside.is_empty() => {
                while let Some(earlier) = self.aside.pop_front() {
                    self.sent(earlier, false);
                }
                if let Some(current) = self.current.take() {
                    self.sent(current, complete);
                }
                Reply::Done
            }
            Request::Aside => self.put_aside(),
            Request::Settle { complete, .. } => self.settle(complete),
            other => self.take(other),
        }
    }
}

/// As much of a text as fits.
fn put(text: &[u8], into: &mut [u8]) -> usize {
    let len = text.len().min(into.len());
    into[..len].copy_from_slice(&text[..len]);
    len
}

fn store_error(error: &io::Error) -> StoreError {
    match error.kind() {
        io::ErrorKind::NotFound => StoreError::NotFound,
        io::ErrorKind::PermissionDenied => StoreError::Permission,
        io::ErrorKind::StorageFull => StoreError::NoSpace,
        io::ErrorKind::QuotaExceeded => quota::over(error).map_or(StoreError::NoSpace, Into::into),
        _ => StoreError::Io,
    }
}
