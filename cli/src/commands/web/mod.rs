//! `wst web`: the page with a terminal and transfers, and a line behind it.
//!
//! ```text
//! browser --HTTP--> pages.rs            the page, a script, a module
//!         --WebSocket--> bridge.rs --> port of the line
//! ```
//!
//! Every page in the browser can reach this port, so it is guarded in three ways: the `Host` must be an address or a
//! name of this machine (a name of somebody else's that leads here is none), a WebSocket must come from a page of
//! this program (`Origin`), and it must have the token, which only the printed address has.

mod bridge;
mod frames;
mod http;
mod pages;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use wetstring_drive::port::{Listener, PATIENCE};
use wetstring_drive::{LineSpec, Port, Signals, hex, in_words};
use wetstring_events::Event;

use crate::args::Common;
use crate::args::line_arg::There;
use crate::args::web::Web;
use crate::transfer::cleartext::is_exposed;
use crate::transfer::opening::{not_opened, signals};
use crate::transfer::setup::prepare;
use crate::ui::ending::{Ending, usage};
use crate::ui::exit::Exit;
use crate::ui::output::{Level, Output};
use pages::Pages;

/// Connections at a time; a page has five for a moment.
const MOST_CONNECTIONS: usize = 64;
/// Random bytes of a token.
const TOKEN: usize = 16;

/// What all connections share.
struct Site {
    pages: Pages,
    /// Names in `Host` besides addresses.
    names: Vec<String>,
    token: Option<String>,
    spec: Option<LineSpec>,
    /// The line, once a page has come; one page has it at a time.
    line: Mutex<Option<Box<dyn Port>>>,
    /// The number of the page that has it, or is about to.
    turn: AtomicU64,
    connections: AtomicUsize,
    signals: Signals,
}

/// Serves the page until interrupted.
pub(crate) fn run(ui: &Output, common: &Common, verb: &Web) -> Result<Ending, Ending> {
    let spec = verb.line.as_deref().map(|line| prepare(common, &[], line, There::Talks));
    let spec = spec.transpose().map_err(usage)?.map(|(_, spec)| spec);
    if let Some(spec) = spec.as_ref().filter(|spec| {
        spec.has_datagrams()
            || matches!(spec, LineSpec::Stdio | LineSpec::Ncp(_) | LineSpec::Tun(_))
    }) {
        return Err(usage(format!("expected a line of bytes for the page, got {spec}")));
    }
    let pages = Pages::of(verb.pages.as_deref()).map_err(usage)?;
    let at = format!("tcp-listen://{}", verb.listen);
    let listen: LineSpec = at
        .parse()
        .map_err(|_| usage(format!("expected HOST:PORT for --listen, got {}", verb.listen)))?;
    let listener = Listener::of(&listen)
        .ok_or_else(|| usage(format!("expected HOST:PORT for --listen, got {}", verb.listen)))?
        .map_err(|error| not_opened(&listen, &error))?;
    let broke = |e| Ending::early(Exit::Line, format!("could not listen: {}", in_words(&e)));
    let address = listener.address().map_err(broke)?;
    let signals = signals()?;
    let token = if verb.no_token { None } else { Some(token()?) };
    let names = verb.names.iter().map(|name| name.to_lowercase()).collect();
    let hash = token.as_ref().map_or(String::new(), |token| format!("#{token}"));
    let text = format!("open http://{address}/{hash}");
    ui.say(Level::Note, &format!("{text} ; Ctrl-C ends it"));
    ui.event(Event::Line { text, end: None });
    if is_exposed(&listen) {
        let say = "others on the network can read what passes, and the token";
        ui.say(Level::Note, &format!("wst: {say}"));
        ui.event(Event::InClear { what: "files".to_owned(), line: listen.to_string() });
    }
    let site = Arc::new(Site {
        pages,
        names,
        token,
        spec,
        line: Mutex::new(None),
        turn: AtomicU64::new(0),
        connections: AtomicUsize::new(0),
        signals: signals.clone(),
    });
    while let Some((port, _)) = listener.accept(&signals).map_err(broke)? {
        site.clone().serve(port);
    }
    // The page that has the line gives it back when it sees the signal.
    let line = site.line.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(mut port) = line {
        let _ = port.finish(signals.patience(PATIENCE));
    }
    Ok(Ending::early(Exit::Done, ""))
}

/// A token that cannot be guessed.
fn token() -> Result<String, Ending> {
    let mut bytes = [0; TOKEN];
    getrandom::fill(&mut bytes).map_err(|error| {
        Ending::early(Exit::Store, format!("no random bytes: {}", in_words(&error)))
    })?;
    Ok(hex(&bytes))
}

impl Site {
    /// Serves one connection, in a thread of its own.
    fn serve(self: Arc<Self>, mut port: Box<dyn Port>) {
        if self.connections.fetch_add(1, Ordering::Relaxed) >= MOST_CONNECTIONS {
            self.connections.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        let site = self.clone();
        let started = std::thread::Builder::new().name("web".to_owned()).spawn(move || {
            http::serve(&site, &mut *port);
            let _ = port.finish(Duration::from_millis(500));
            site.connections.fetch_sub(1, Ordering::Relaxed);
        });
        if started.is_err() {
            self.connections.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Whether this `Host` is one of this machine's: an address, localhost, or a name that was given.
    fn is_ours(&self, host: &str) -> bool {
        let name = match host.strip_prefix('[') {
            Some(rest) => match rest.split_once(']') {
                Some((address, _)) => return address.parse::<std::net::Ipv6Addr>().is_ok(),
                None => return false,
            },
            None => host.split(':').next().unwrap_or_default().to_lowercase(),
        };
        name == "localhost"
            || name.parse::<std::net::Ipv4Addr>().is_ok()
            || self.names.contains(&name)
    }

    /// Whether this is the token. The time of the comparison does not depend on where they differ.
    fn admits(&self, offered: Option<&str>) -> bool {
        let Some(token) = &self.token else { return true };
        let offered = offered.unwrap_or_default().as_bytes();
        let differ = token.bytes().zip(offered).fold(0, |differ, (a, b)| differ | (a ^ b));
        differ == 0 && offered.len() == token.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn site(token: Option<&str>) -> Site {
        Site {
            pages: Pages::Directory("/nowhere".into()),
            names: vec!["box.lan".to_owned()],
            token: token.map(str::to_owned),
            spec: None,
            line: Mutex::new(None),
            turn: AtomicU64::new(0),
            connections: AtomicUsize::new(0),
            signals: Signals::detached().expect("signals"),
        }
    }

    #[test]
    fn a_host_is_an_address_or_a_known_name() {
        let site = site(None);
        for host in [
            "127.0.0.1:8417",
            "localhost:8417",
            "LOCALHOST",
            "[::1]:8417",
            "box.lan:80",
            "192.0.2.7",
        ] {
            assert!(site.is_ours(host), "{host}");
        }
        for host in [
            "evil.example:8417",
            "127.0.0.1.evil.example",
            "",
            "[evil.example]",
            "[::1",
            "localhost.evil.example",
        ] {
            assert!(!site.is_ours(host), "{host}");
        }
    }

    #[test]
    fn only_the_whole_token_is_one() {
        let site = site(Some("0123"));
        assert!(site.admits(Some("0123")));
        for offered in [None, Some(""), Some("012"), Some("01234"), Some("0124")] {
            assert!(!site.admits(offered), "{offered:?}");
        }
    }
}
