//! The key of a dialled host: known, known by another line, or new.

use std::cell::Cell;

use wetstring_drive::datagram::PublicKey;
use wetstring_drive::datagram::keys::{KeyFolder, Known};
use wetstring_events::Event;

use crate::args::transfer::Transfer;
use crate::ui::ending::Ending;
use crate::ui::exit::Exit;
use crate::ui::output::{Level, Output};
use crate::ui::prompt::{ask_for, can_ask};

/// The trust in a host.
pub(crate) struct Trust<'a> {
    ui: &'a Output,
    keys: Option<&'a KeyFolder>,
    /// The line as typed.
    host: String,
    /// Accept a new key (`--accept-new`).
    accept: bool,
    /// The required key or fingerprint.
    fingerprint: Option<&'a str>,
    /// A new key that the user must confirm. The listener does not wait for the answer: it is dialled
    /// again.
    stranger: Cell<Option<PublicKey>>,
}

/// Without separators between the digits.
fn bare(text: &str) -> String {
    text.chars().filter(|c| !matches!(c, '-' | ':' | ' ')).collect::<String>().to_ascii_lowercase()
}

/// Whether a text is this key, or its fingerprint.
fn is_of(text: &str, key: &PublicKey) -> bool {
    let text = bare(text);
    text == bare(&key.to_string()) || text == bare(&key.fingerprint())
}

impl<'a> Trust<'a> {
    pub(crate) fn new(
        ui: &'a Output,
        keys: Option<&'a KeyFolder>,
        host: String,
        transfer: &'a Transfer,
    ) -> Self {
        Self {
            ui,
            keys,
            host,
            accept: transfer.accept_new,
            fingerprint: transfer.fingerprint.as_deref(),
            stranger: Cell::new(None),
        }
    }

    /// Whether to trust this key; if not, why.
    pub(crate) fn judge(&self, key: &PublicKey) -> Result<(), String> {
        let (Some(keys), host) = (self.keys, &self.host) else { return Ok(()) };
        let fingerprint = key.fingerprint();
        if let Some(wanted) = self.fingerprint
            && !is_of(wanted, key)
        {
            return Err(format!("expected the key {wanted} of {host}, got {fingerprint}"));
        }
        let known = keys.look_up(host, key)?;
        match &known {
            Known::Same => {}
            Known::Elsewhere(names) => {
                keys.remember(host, key)?;
                let names = names.join(", ");
                let say = format!("{host} has the key {fingerprint}, known as that of {names}");
                self.ui.say(Level::Note, &say);
            }
            Known::New if self.accept || self.fingerprint.is_some() => {
                keys.remember(host, key)?;
                let say = format!("{host} is new: its key {fingerprint} is now remembered");
                self.ui.say(Level::Note, &say);
            }
            Known::New if can_ask() => {
                self.stranger.set(Some(*key));
                return Err(format!("{host} is new: its key is {fingerprint}"));
            }
            Known::New => {
                return Err(format!(
                    "expected a known host, {host} is new: its key is {fingerprint}; \
                     compare it with wst key show there and say --fingerprint {fingerprint}, or take \
                     whatever key comes first with --accept-new"
                ));
            }
        }
        self.tell(key, &known);
        Ok(())
    }

    fn tell(&self, key: &PublicKey, known: &Known) {
        self.ui.event(Event::HostKey {
            host: self.host.clone(),
            fingerprint: key.fingerprint(),
            new: *known == Known::New,
            known_as: match known {
                Known::Elsewhere(names) => Some(names.clone()),
                _ => None,
            },
        });
    }

    /// Asks about the new key. True if it is trusted now, false if there is none.
    pub(crate) fn asks(&self) -> Result<bool, Ending> {
        let (Some(keys), Some(key)) = (self.keys, self.stranger.take()) else { return Ok(false) };
        let (host, fingerprint) = (&self.host, key.fingerprint());
        let question = format!(
            "{host} is new: its key is {fingerprint} (wst key show prints it there). Trust it? [yes/no] "
        );
        if !ask_for(&question, &["yes", "no"], None).is("yes") {
            let say = format!("the key of {host} was not trusted, and nothing was sent");
            return Err(Ending::early(Exit::Peer, say));
        }
        keys.remember(host, &key).map_err(|say| Ending::early(Exit::Store, say))?;
        self.tell(&key, &Known::New);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_match_with_any_separators() {
        let key = PublicKey([7; 32]);
        let fingerprint = key.fingerprint();
        for text in [
            fingerprint.clone(),
            fingerprint.replace('-', ""),
            fingerprint.to_uppercase(),
            key.to_string(),
        ] {
            assert!(is_of(&text, &key), "{text}");
        }
        assert!(!is_of(&fingerprint[..35], &key) && !is_of("", &key));
    }
}
