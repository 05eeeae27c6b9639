//! `--code`: the phrase that two people tell each other instead of comparing keys.

use std::ffi::OsString;
use std::time::Duration;

use wetstring_drive::datagram::Phrase;
use wetstring_drive::datagram::host::Knocks;
use wetstring_drive::datagram::secure::GUESSES;
use wetstring_drive::{LineSpec, in_words};
use wetstring_events::Event;

use crate::config::Everything;
use crate::exit::Exit;
use crate::question::{Answer, ask, can_ask};
use crate::transfer::{Ending, usage};
use crate::voice::{Level, Voice};
use crate::watch::Way;

/// How often a person may mistype a phrase.
const TYPED: u32 = 5;
/// How often one who dials looks whether the other is there yet.
pub(crate) const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The phrase of this run: as it was said, made, or asked for.
pub(crate) fn phrase(
    voice: &Voice,
    way: Way,
    said: &str,
    spec: &LineSpec,
) -> Result<Phrase, Ending> {
    if !said.is_empty() {
        return said.parse().map_err(usage);
    }
    if way == Way::Send {
        let phrase = Phrase::make().map_err(|say| Ending::early(Exit::Store, say))?;
        show(voice, &phrase, spec);
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
            Err(say) => voice.say(Level::Error, &say),
        }
    }
    Err(Ending::early(Exit::Interrupted, "no code phrase was typed"))
}

/// Shows a phrase, and what is to be typed at the other end; without it the run is for nothing, so `--quiet`
/// does not count.
fn show(voice: &Voice, phrase: &Phrase, spec: &LineSpec) {
    let there = match spec {
        LineSpec::Udp(at) => format!("udp-listen://0.0.0.0:{}", at.port),
        LineSpec::Ip(_) => "ip-listen://0.0.0.0".to_owned(),
        LineSpec::UdpListen(at) if at.port > 0 => format!("udp://THIS-HOST:{}", at.port),
        LineSpec::IpListen(_) => "ip://THIS-HOST".to_owned(),
        _ => "LINE".to_owned(),
    };
    voice.say(Level::Error, &format!("code phrase: {phrase}"));
    voice.say(Level::Note, &format!("at the other end: wst receive {there} --code {phrase}"));
    voice.event(Event::Code { phrase: phrase.to_string() });
}

/// A sender waits while a person reads what it offers.
pub(crate) fn is_patient(all: &mut Everything) {
    let chosen = |name| all.is_chosen(name);
    let (tries, timeout, death) =
        (chosen("netblt.open-tries"), chosen("netblt.open-timeout"), chosen("netblt.death"));
    if !tries {
        all.netblt.open_tries = u8::MAX;
    }
    if !timeout {
        all.netblt.open_timeout_ms = 4000;
    }
    if !death {
        all.netblt.death_s = 240;
    }
}

/// Why a listener has ended by itself, if it has.
pub(crate) fn ended(knocks: &Knocks) -> Option<Ending> {
    if knocks.guesses >= GUESSES {
        let say = format!(
            "{GUESSES} wrong code phrases came, and somebody may be guessing: begin again with a new one"
        );
        return Some(Ending::early(Exit::Peer, say));
    }
    let old = "nobody came with the code phrase within an hour";
    knocks.too_old.then(|| Ending::early(Exit::Timeout, old))
}

/// Puts `--code` and the phrase behind it together. What follows may as well be a file or the line: a phrase is a
/// number and two words, and a receiver has nothing else to name but its line.
pub(crate) fn joined(args: &[OsString]) -> Vec<OsString> {
    let receives = args.iter().skip(1).any(|arg| arg == "receive");
    let mut joined = Vec::with_capacity(args.len());
    let mut args = args.iter().peekable();
    while let Some(arg) = args.next() {
        if arg == "--" {
            joined.push(arg.clone());
            joined.extend(args.by_ref().cloned());
            break;
        }
        let phrase = args.peek().filter(|_| arg == "--code").and_then(|next| next.to_str());
        let phrase = phrase.filter(|next| is_phrase(next) || receives && is_word(next));
        if let Some(phrase) = phrase {
            joined.push(format!("--code={phrase}").into());
            args.next();
        } else {
            joined.push(arg.clone());
        }
    }
    joined
}

/// Whether this is meant for a phrase, mistyped or not.
fn is_phrase(text: &str) -> bool {
    let parts: Vec<&str> = text.split(['-', '_', ' ']).filter(|part| !part.is_empty()).collect();
    let digits = |part: &str| part.len() <= 2 && part.bytes().all(|byte| byte.is_ascii_digit());
    let letters = |part: &str| part.bytes().all(|byte| byte.is_ascii_alphabetic());
    matches!(parts[..], [number, one, two] if digits(number) && letters(one) && letters(two))
}

/// Whether this is no flag and no line.
fn is_word(text: &str) -> bool {
    !text.starts_with('-') && !crate::opening::is_line(text.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_behind_the_flag_is_the_phrase_if_it_can_be_one() {
        let put = |line: &str| {
            let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let words: Vec<String> =
                joined(&args).iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
            words.join(" ")
        };
        for (line, is) in [
            ("wst send --code a.bin udp://b:1", "wst send --code a.bin udp://b:1"),
            ("wst send a.bin udp://b:1 --code", "wst send a.bin udp://b:1 --code"),
            ("wst send --code 7-a-b f udp://b:1", "wst send --code=7-a-b f udp://b:1"),
            ("wst send --code 2024-a-b f udp://b:1", "wst send --code 2024-a-b f udp://b:1"),
            ("wst receive --code udp://b:1", "wst receive --code udp://b:1"),
            ("wst receive udp://b:1 --code --yes", "wst receive udp://b:1 --code --yes"),
            ("wst receive udp://b:1 --code oops", "wst receive udp://b:1 --code=oops"),
            ("wst send -- --code 7-a-b", "wst send -- --code 7-a-b"),
        ] {
            assert_eq!(put(line), is);
        }
    }
}
