//! `--code`: a phrase that two users share instead of comparing keys.

use std::net::SocketAddr;
use std::time::Duration;

use wetstring_drive::datagram::Phrase;
use wetstring_drive::datagram::endpoint::Below;
use wetstring_drive::datagram::host::ListenStats;
use wetstring_drive::datagram::secure::GUESSES;
use wetstring_drive::in_words;
use wetstring_events::Event;
use wetstring_proto::Span;

use crate::config::Settings;
use crate::transfer::direction::Direction;
use crate::ui::ending::{Ending, usage};
use crate::ui::exit::Exit;
use crate::ui::output::{Level, Output};
use crate::ui::prompt::{Answer, ask, can_ask};

/// Maximum wrong phrases.
const TYPED: u32 = 5;
/// Retry interval while the listener is not up yet.
pub(crate) const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Time until the user is told that the wait continues; doubled each time.
pub(crate) const TELL_AFTER: Duration = Duration::from_secs(5);

/// The phrase of this run: given, generated, or prompted for.
pub(crate) fn phrase(ui: &Output, direction: Direction, said: &str) -> Result<Phrase, Ending> {
    if !said.is_empty() {
        return said.parse().map_err(usage);
    }
    if direction == Direction::Send {
        let phrase = Phrase::make().map_err(|say| Ending::early(Exit::Store, say))?;
        // Without it the run is useless, so `--quiet` is ignored.
        ui.say(Level::Error, &format!("code phrase: {phrase}"));
        ui.event(Event::Code { phrase: phrase.to_string() });
        return Ok(phrase);
    }
    if !can_ask() {
        let say = "expected --code PHRASE, or a terminal to type the sender's phrase at";
        return Err(usage(say.to_owned()));
    }
    for _ in 0..TYPED {
        let typed = ask("code phrase: ", None).map_err(|e| usage(in_words(&e)))?;
        let Answer::Words(typed) = typed else { break };
        match typed.parse() {
            Ok(phrase) => return Ok(phrase),
            Err(say) => ui.say(Level::Error, &say),
        }
    }
    Err(Ending::early(Exit::Interrupted, "no code phrase was typed"))
}

/// The line for a peer that listens, while this end dials.
pub(crate) fn listening(below: Below, port: u16) -> String {
    match below {
        Below::Udp => format!("udp-listen://0.0.0.0:{port}"),
        Below::Ip => "ip-listen://0.0.0.0".to_owned(),
    }
}

/// The line for a peer that dials, while this end listens at an address.
pub(crate) fn dialling(below: Below, at: SocketAddr) -> String {
    let host = match at.ip() {
        ip if ip.is_unspecified() => "THIS-HOST".to_owned(),
        ip if ip.is_ipv6() => format!("[{ip}]"),
        ip => ip.to_string(),
    };
    match below {
        Below::Udp => format!("udp://{host}:{}", at.port()),
        Below::Ip => format!("ip://{host}"),
    }
}

/// A sender waits while the user reads its offer.
pub(crate) fn is_patient(all: &mut Settings) {
    let chosen = |name| all.is_chosen(name);
    let tries = chosen("netblt.open-tries");
    let timeout = chosen("netblt.open-timeout");
    let death = chosen("netblt.death");
    if !tries {
        all.netblt_mut().open_tries = u8::MAX;
    }
    if !timeout {
        all.netblt_mut().open_timeout = Span::from_secs(4);
    }
    if !death {
        all.netblt_mut().death = Span::from_secs(240);
    }
}

/// Why a listener ended by itself, if it did.
pub(crate) fn ended(stats: &ListenStats) -> Option<Ending> {
    if stats.guesses >= GUESSES {
        let say = format!(
            "{GUESSES} wrong code phrases were received; someone may be guessing: start again with a new one"
        );
        return Some(Ending::early(Exit::Peer, say));
    }
    let old = "no peer used the code phrase within an hour";
    stats.too_old.then(|| Ending::early(Exit::Timeout, old))
}
