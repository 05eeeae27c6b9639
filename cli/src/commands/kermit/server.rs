//! SERVER: this Kermit as a server on the connection of a script, within its directory.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use wetstring_drive::charset::Sets;
use wetstring_drive::serve::{Action, Audit, LocalTree, Rules, Session, Users, users};
use wetstring_proto::kermit::Server;
use wetstring_proto::kermit::command::ServerCommand;
use wetstring_proto::{Engine, Outcome, Remote, RemoteReply, Reply, Request, Store};
use wetstring_script::World;
use wetstring_script::world::{Done, Fault, Kept, Scope};

use super::live::Live;
use super::server_rights::{FUNCTIONS, actions};
use super::transfers::{TransferWorld, detects, is_text};
use crate::transfer::direction::Direction;

/// A store that records how the server ended.
struct OutcomeStore {
    session: Session,
    text: bool,
    ended_by: Option<Action>,
    /// Something was refused.
    refused: bool,
}

impl Store for OutcomeStore {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        if let Request::Remote(Remote::Serve { kind, words, .. }) = &request {
            self.ended_by = match ServerCommand::parse(*kind, words) {
                Ok(ServerCommand::Bye) => Some(Action::Bye),
                Ok(ServerCommand::Exit) => Some(Action::Exit),
                _ => None,
            };
        }
        let text = self.text;
        match self.session.answer(request) {
            Reply::File(mut info) if text && !info.extras.kermit().screen => {
                info.kind = wetstring_proto::FileKind::Text;
                Reply::File(info)
            }
            Reply::Remote(RemoteReply::Denied(len)) => {
                self.refused = true;
                Reply::Remote(RemoteReply::Denied(len))
            }
            reply => reply,
        }
    }
}

/// Shows actions on stderr (SET SERVER DISPLAY).
struct StderrLog;

impl Audit for StderrLog {
    fn note(&self, line: &str) {
        eprintln!("{line}");
    }
}

impl Live<'_> {
    /// ENABLE and DISABLE.
    pub(super) fn allow(&mut self, what: &str, scope: Scope) -> Result<Done, Fault> {
        let known = match (actions(what), scope) {
            (Some(known), _) => known,
            // Actions that are not supported are always disabled.
            (None, Scope::Disabled) => Vec::new(),
            (None, _) => {
                return Err(Fault::absent(&format!("{} by a server", what.to_uppercase())));
            }
        };
        self.allowed.extend(known.into_iter().map(|action| (action, scope)));
        Ok(Done::default())
    }

    /// Whether we opened the connection to the client.
    pub(super) fn opened_connection(&self) -> bool {
        self.spec.as_ref().is_some_and(|spec| self.port.is_some() && !spec.listens())
    }

    /// What the client may not do.
    fn disabled(&self) -> Vec<Action> {
        let bit = if self.opened_connection() { Scope::Local } else { Scope::Remote };
        let may = |scope: &Scope| *scope == Scope::Both || *scope == bit;
        self.allowed.iter().filter(|(_, scope)| !may(scope)).map(|(action, _)| *action).collect()
    }

    /// SHOW SERVER in C-Kermit's form, which scripts parse.
    pub(super) fn served(&self) -> String {
        let yes = |is: bool| if is { "Yes" } else { "No" };
        let local = self.spec.is_some() && self.port.is_some();
        let listens = local && !self.opened_connection();
        let mut text = format!(
            "Connection mode:      {}\nIncoming TCP accept:  {}\nGoverning ENABLE bit: {}\n\
             Internet server:      No\nFunction:          Status:\n",
            if local { "Local" } else { "Remote" },
            yes(listens),
            if self.opened_connection() { "LOCAL" } else { "REMOTE" },
        );
        for (name, action) in FUNCTIONS {
            let scope = action.and_then(|action| self.allowed.get(&action)).copied();
            let status = match scope.unwrap_or(Scope::Disabled) {
                Scope::Disabled => "Disabled",
                Scope::Local => "Local only",
                Scope::Remote => "Remote only",
                Scope::Both => "Enabled",
            };
            let _ = writeln!(text, " {name:<18} {status}");
        }
        text
    }

    /// Serves the peer until it sends FINISH, BYE or EXIT.
    pub(super) fn serve(&mut self, kept: &Kept) -> Result<Done, Fault> {
        let root = self.root.clone().unwrap_or_else(|| self.local.path(b"."));
        let tree = LocalTree::open(&root)?;
        let kept_text =
            |name: &str| kept.get(name).map(|v| String::from_utf8_lossy(v).into_owned());
        // A script can run host commands, so ENABLE HOST covers both.
        let disabled = self.disabled();
        let host = !disabled.contains(&Action::Host);
        let rules = Rules {
            write: true,
            host: host.then(|| tree.path().to_owned()),
            kermit: if host {
                Some((std::env::current_exe()?, tree.path().to_owned()))
            } else {
                None
            },
            users: kept_text("server login").map(|words| login(&words)).transpose()?.flatten(),
            collision: self.settings.store.collision,
            incomplete: self.settings.store.incomplete,
            bare_names: kept_text("receive pathnames").is_some_and(|value| value == "off"),
            // As in C-Kermit, a name with directories leaves the current one, as CD does.
            no_directories: disabled.contains(&Action::Cd),
            detects: detects(kept),
            disabled,
            ..Rules::default()
        };
        let mut session = Session::new(Arc::new(tree), rules, "client", None)
            .speaking(Sets::from(self.settings.kermit()))
            .heeding(self.signals.clone());
        if kept_text("server display").is_some_and(|value| value == "on") && self.is_connected() {
            session = session.audited(Arc::new(StderrLog));
        }
        self.sets = Some(session.sets());
        let text = is_text(kept) && !detects(kept);
        let mut store = OutcomeStore { session, text, ended_by: None, refused: false };
        let idle = kept_text("server idle-timeout").and_then(|value| value.parse().ok());
        self.silence = idle.filter(|seconds| *seconds > 0).map(Duration::from_secs);
        let turned = self.turn(
            &|all| {
                let config = all.kermit().clone();
                let memory = vec![0; config.server_memory()];
                let server = Server::new(config, memory).map_err(|bad| bad.to_string())?;
                Ok(Box::new(server) as Box<dyn Engine>)
            },
            &mut store,
            Direction::Receive,
            true,
        );
        self.silence = None;
        self.sets = None;
        let turned = turned?;
        if turned.outcome != Outcome::Done {
            return Err(Fault::new(turned.report.message));
        }
        let refused = store.refused;
        match store.ended_by {
            Some(Action::Exit) => Ok(Done { over: true, refused, ..Done::default() }),
            Some(Action::Bye) => {
                // Without a connection of our own BYE ends the session.
                let over = !self.is_connected();
                self.hang_up()?;
                Ok(Done { over, refused, ..Done::default() })
            }
            _ => Ok(Done { refused, ..Done::default() }),
        }
    }
}

/// `SET SERVER LOGIN user password`; empty means no login.
fn login(words: &str) -> Result<Option<Arc<Users>>, Fault> {
    let mut words = words.split_whitespace();
    match (words.next(), words.next()) {
        (None, _) => Ok(None),
        (Some(user), Some(password)) => {
            let line = format!("{user}:{}\n", users::hash(password.as_bytes())?);
            Ok(Some(Arc::new(Users::parse(&line)?)))
        }
        (Some(_), None) => {
            Err(Fault::new("expected a user and a password for SET SERVER LOGIN, got one word"))
        }
    }
}
