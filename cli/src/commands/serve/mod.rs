//! `wst serve`: the server.

mod audit;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use wetstring_drive::port::{Listener, OpenError, Purpose, open_for};
use wetstring_drive::serve::{
    Action, Audit, Limits, LocalTree, Quotas, Rules, Service, Tree, Users,
};
use wetstring_drive::{LineSpec, Port, Signals, in_words};
use wetstring_events::Event;
use wetstring_proto::{Failure, FailureKind, Outcome};

use crate::args::Common;
use crate::args::line_arg::There;
use crate::args::serve::Serve;
use crate::transfer::cleartext::{self, What};
use crate::transfer::opening::{not_opened, signals};
use crate::transfer::port_facts;
use crate::transfer::setup::prepare;
use crate::ui::ending::{Ending, usage};
use crate::ui::exit::Exit;
use crate::ui::format::shown;
use crate::ui::output::{Level, Output};
use audit::{AuditLog, Verbosity};

/// Runs `wst serve`.
pub(crate) fn run(
    ui: &Output,
    common: &Common,
    verb: &Serve,
    settings: &[(String, String)],
) -> Result<Ending, Ending> {
    let (mut all, spec) = prepare(common, settings, &verb.line, There::Asks).map_err(usage)?;
    if spec.has_datagrams() {
        return Err(usage(format!("expected a line of bytes, got {spec}")));
    }
    in_clear(ui, verb, &spec)?;
    let root = Root::open(&verb.root)?;
    let rules = rules(verb, &root, &all)?;
    let limits = Limits {
        sessions: verb.sessions,
        per_address: verb.per_address.unwrap_or(verb.sessions.div_ceil(4)),
        unproved: verb.unproved,
        unproved_per_address: verb.unproved_per_address.unwrap_or(verb.unproved.div_ceil(4)),
        grace: Duration::from_secs(verb.grace),
        silence: Duration::from_secs(verb.silence),
        session: verb.longest.map(Duration::from_secs),
    };
    let signals = signals()?;
    let read_only = if rules.write { "" } else { ", read-only" };
    let say = format!("serving {}{read_only}; Ctrl-C ends it", root.shown);
    let served = say.trim_start_matches("serving ").to_owned();
    ui.event(Event::Serving { root: served });
    if spec == LineSpec::Stdio {
        ui.line_is_stdio();
    }
    let aloud = match (ui.shows_progress(), common.verbose) {
        (false, _) => Verbosity::Nothing,
        (true, 0) => Verbosity::Clients,
        (true, _) => Verbosity::Actions,
    };
    let audit: Arc<dyn Audit> = Arc::new(AuditLog::new(verb.audit.as_deref(), aloud)?);
    let shared = |all: &crate::config::Settings| {
        let mut service = Service::new(root.tree, rules.clone(), all.kermit().clone(), limits);
        service.audit = Some(audit.clone());
        service.sandboxed = true;
        Arc::new(service)
    };
    if let Some(listener) = Listener::of(&spec) {
        let listener = listener.map_err(|e| line_error(&e))?;
        let address = listener.address().map_err(|e| Ending::early(Exit::Line, in_words(&e)))?;
        if let Some(fingerprint) = listener.fingerprint() {
            note(ui, &format!("certificate {fingerprint}"));
        }
        note(ui, &format!("listening on {address}"));
        ui.say(Level::Note, &say);
        let service = shared(&all);
        service
            .serve_all(&listener, &signals)
            .map_err(|e| Ending::early(Exit::Line, format!("the line failed: {}", in_words(&e))))?;
        // Interruption is the normal end of a listening server.
        return Ok(Ending::early(Exit::Done, ""));
    }
    ui.say(Level::Note, &say);
    one(ui, &spec, &signals, |port| {
        port_facts::apply(port.facts(), &mut all);
        shared(&all)
    })
}

/// Refuses cleartext passwords of other hosts unless allowed; warns about cleartext files.
fn in_clear(ui: &Output, verb: &Serve, spec: &LineSpec) -> Result<(), Ending> {
    if verb.users.is_some() && cleartext::is_exposed(spec) && !verb.plain {
        return Err(usage(format!(
            "expected tls-listen:// with --users, got {spec}, where passwords pass in clear; --plain accepts that"
        )));
    }
    let what = if verb.users.is_some() { What::Passwords } else { What::Files };
    cleartext::warn(ui, spec, what);
    Ok(())
}

/// Serves the one client of a line.
fn one(
    ui: &Output,
    spec: &LineSpec,
    signals: &Signals,
    service: impl FnOnce(&dyn Port) -> Arc<Service>,
) -> Result<Ending, Ending> {
    let mut notes = |text: &str| note(ui, text);
    let mut port = open_for(spec, Purpose::Server, Some(signals), &mut notes)
        .map_err(|bad| not_opened(spec, &bad))?;
    let ended = service(&*port)
        .serve(&mut *port, None, signals)
        .map_err(|e| Ending::early(Exit::Line, in_words(&e)))?;
    ui.line_is_over();
    Ok(match ended.outcome {
        Outcome::Done => Ending::early(Exit::Done, ""),
        // The client hung up: most sessions end so.
        Outcome::Failed(Failure { kind: FailureKind::Closed, .. }) => Ending::early(Exit::Done, ""),
        Outcome::Failed(failure) => Ending::early(Exit::of(failure), failure.to_string()),
    })
}

fn note(ui: &Output, text: &str) {
    ui.say(Level::Note, text);
    ui.event(Event::Line { text: text.to_owned(), end: None });
}

fn line_error(error: &OpenError) -> Ending {
    let exit =
        if matches!(error, OpenError::Interrupted(_)) { Exit::Interrupted } else { Exit::Line };
    Ending::early(exit, in_words(&error))
}

/// What clients see.
struct Root {
    tree: Arc<dyn Tree>,
    /// Its name, for messages.
    shown: String,
    /// The working directory of host commands.
    directory: Option<PathBuf>,
}

impl Root {
    fn open(root: &Path) -> Result<Self, Ending> {
        let name = shown(root.as_os_str());
        let failed = |error| {
            Ending::early(Exit::Store, format!("could not serve {name}: {}", in_words(&error)))
        };
        if let Some(address) = root.to_str().filter(|root| is_address(root)) {
            let tree = objects(address)?.map_err(failed)?;
            return Ok(Self { tree, shown: name, directory: None });
        }
        let tree = LocalTree::open(root).map_err(failed)?;
        let directory = tree.path().to_owned();
        let shown = shown(directory.as_os_str());
        Ok(Self { tree: Arc::new(tree), shown, directory: Some(directory) })
    }
}

/// Whether this is the address of an object store, `s3://BUCKET/PREFIX`.
fn is_address(root: &str) -> bool {
    root.starts_with("memory:") || (root.contains("://") && !Path::new(root).exists())
}

/// The files of an object store.
#[cfg(feature = "objects")]
fn objects(address: &str) -> Result<std::io::Result<Arc<dyn Tree>>, Ending> {
    use wetstring_objects::ObjectTree;
    if !ObjectTree::is_address(address) {
        let say = format!("expected a directory, s3://, gs://, az:// or memory:, got {address}");
        return Err(usage(say));
    }
    Ok(ObjectTree::open(address).map(|tree| Arc::new(tree) as Arc<dyn Tree>))
}

#[cfg(not(feature = "objects"))]
fn objects(address: &str) -> Result<std::io::Result<Arc<dyn Tree>>, Ending> {
    Err(usage(format!(
        "expected a directory, got {address}: this wst is built without object storage; \
         cargo install --path cli --features objects builds it in"
    )))
}

/// The path of this program, to be run again.
fn this_program() -> Result<PathBuf, Ending> {
    std::env::current_exe().map_err(|e| {
        Ending::early(Exit::Store, format!("could not find this program: {}", in_words(&e)))
    })
}

fn rules(verb: &Serve, root: &Root, all: &crate::config::Settings) -> Result<Rules, Ending> {
    let mut rules = Rules {
        collision: all.store.collision,
        incomplete: all.store.incomplete,
        resume: all.store.resume,
        verify: all.store.verify,
        holes: all.store.holes,
        quotas: Quotas {
            session: verb.quotas.most_bytes.unwrap_or_default(),
            user: verb.quotas.user_quota.unwrap_or_default(),
            keep_free: verb.quotas.keep_free,
        },
        ..Rules::default()
    };
    for word in &verb.allow {
        match word.as_str() {
            "write" => rules.write = true,
            what => {
                let directory = root.directory.clone().ok_or_else(|| {
                    usage(format!("expected a directory with --allow {what}, got {}", root.shown))
                })?;
                if what == "host" {
                    rules.host = Some(directory);
                } else {
                    rules.kermit = Some((this_program()?, directory));
                }
            }
        }
    }
    for name in &verb.disable {
        let known = Action::named(name).ok_or_else(|| {
            let names: Vec<&str> = Action::NAMES.iter().map(|(name, _)| *name).collect();
            usage(format!("expected one of {} to disable, got {name}", names.join(", ")))
        })?;
        rules.disabled.push(known);
    }
    if let Some(path) = &verb.users {
        let users = Users::read(path).map_err(|e| {
            let name = shown(path.as_os_str());
            Ending::early(
                Exit::Store,
                format!("could not read the users in {name}: {}", in_words(&e)),
            )
        })?;
        let first = Duration::from_millis(verb.guess_delay);
        rules.users = Some(Arc::new(users.with_delay(first)));
    }
    Ok(rules)
}
