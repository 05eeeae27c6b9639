//! SERVER: this Kermit as a server on the connection of a script, within its directory.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use wetstring_drive::charset::Sets;
use wetstring_drive::serve::{Action, Audit, LocalTree, Rules, Session, Users, users};
use wetstring_proto::kermit::Server;
use wetstring_proto::kermit::command::ServerCommand;
use wetstring_proto::{Engine, Outcome, Reply, Request, Store};
use wetstring_script::World;
use wetstring_script::world::{Done, Fault, Kept};

use super::moving::{Mover, is_text};
use super::world::Live;
use crate::watch::Way;

/// What is disabled until ENABLE says otherwise: C-Kermit's choice for a client that came over a
/// connection of ours, but for BYE, which costs nothing but the connection.
pub(super) fn disabled_at_first() -> BTreeSet<Action> {
    [Action::Delete, Action::Exit, Action::Host, Action::Rmdir].into()
}

/// What ENABLE and DISABLE name; `None` for what no server of ours does.
fn actions(what: &str) -> Option<Vec<Action>> {
    if what == "all" {
        return Some(Action::NAMES.iter().map(|(_, action)| *action).collect());
    }
    // C-Kermit's CD is the current directory as such.
    if what == "cd" {
        return Some(vec![Action::Cd, Action::Pwd]);
    }
    Action::named(what).map(|action| vec![action])
}

/// A store that notes how the server ended.
struct Noting {
    session: Session,
    text: bool,
    ended_by: Option<Action>,
    /// Something was refused.
    refused: bool,
}

impl Store for Noting {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        if let Request::Serve { kind, words, .. } = &request {
            self.ended_by = match ServerCommand::parse(*kind, words) {
                Ok(ServerCommand::Bye) => Some(Action::Bye),
                Ok(ServerCommand::Exit) => Some(Action::Exit),
                _ => None,
            };
        }
        let text = self.text;
        match self.session.answer(request) {
            Reply::File(mut info) if text && !info.screen => {
                info.kind = wetstring_proto::FileKind::Text;
                Reply::File(info)
            }
            Reply::Denied(len) => {
                self.refused = true;
                Reply::Denied(len)
            }
            reply => reply,
        }
    }
}

/// What is done is shown on stderr (SET SERVER DISPLAY).
struct Shown;

impl Audit for Shown {
    fn note(&self, line: &str) {
        eprintln!("{line}");
    }
}

impl Live<'_> {
    /// ENABLE and DISABLE.
    pub(super) fn allow(&mut self, what: &str, allowed: bool) -> Result<Done, Fault> {
        let known = match (actions(what), allowed) {
            (Some(known), _) => known,
            // What is never done is disabled already.
            (None, false) => Vec::new(),
            (None, true) => {
                return Err(Fault::absent(&format!("{} by a server", what.to_uppercase())));
            }
        };
        for action in known {
            if allowed {
                self.disabled.remove(&action);
            } else {
                self.disabled.insert(action);
            }
        }
        Ok(Done::default())
    }

    /// Serves the other end until it says FINISH, BYE or EXIT.
    pub(super) fn serve(&mut self, kept: &Kept) -> Result<Done, Fault> {
        let root = self.root.clone().unwrap_or_else(|| self.local.path(b"."));
        let tree = LocalTree::open(&root)?;
        let kept_text =
            |name: &str| kept.get(name).map(|v| String::from_utf8_lossy(v).into_owned());
        // A script can run commands of the host, so ENABLE HOST is the word for both.
        let host = !self.disabled.contains(&Action::Host);
        let rules = Rules {
            write: true,
            host: host.then(|| tree.path().to_owned()),
            kermit: if host {
                Some((std::env::current_exe()?, tree.path().to_owned()))
            } else {
                None
            },
            disabled: self.disabled.iter().copied().collect(),
            users: kept_text("server login").map(|words| login(&words)).transpose()?.flatten(),
            collision: self.settings.collision,
            incomplete: self.settings.incomplete,
            bare_names: kept_text("receive pathnames").is_some_and(|value| value == "off"),
            ..Rules::default()
        };
        let mut session = Session::new(Arc::new(tree), rules, "client", None)
            .speaking(Sets::from(&self.settings.kermit));
        if kept_text("server display").is_some_and(|value| value == "on") && self.is_connected() {
            session = session.audited(Arc::new(Shown));
        }
        self.sets = Some(session.sets());
        let mut store = Noting { session, text: is_text(kept), ended_by: None, refused: false };
        let idle = kept_text("server idle-timeout").and_then(|value| value.parse().ok());
        self.silence = idle.filter(|seconds| *seconds > 0).map(Duration::from_secs);
        let turned = self.turn(
            &|all| {
                let config = all.kermit.clone();
                let memory = vec![0; config.server_memory()];
                let server = Server::new(config, memory).map_err(|bad| bad.to_string())?;
                Ok(Box::new(server) as Box<dyn Engine>)
            },
            &mut store,
            Way::Receive,
            true,
        );
        (self.silence, self.sets) = (None, None);
        let turned = turned?;
        if turned.outcome != Outcome::Done {
            return Err(Fault::new(turned.report.message));
        }
        let refused = store.refused;
        match store.ended_by {
            Some(Action::Exit) => Ok(Done { over: true, refused, ..Done::default() }),
            Some(Action::Bye) => {
                // Without a connection of our own the session is what BYE ends.
                let over = !self.is_connected();
                self.hang_up()?;
                Ok(Done { over, refused, ..Done::default() })
            }
            _ => Ok(Done { refused, ..Done::default() }),
        }
    }
}

/// `SET SERVER LOGIN user password`; nothing is no login.
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
