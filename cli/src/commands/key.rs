//! `wst key`: the keys that authenticate hosts.

use wetstring_drive::datagram::PublicKey;
use wetstring_drive::datagram::keys::{KeyFolder, Secret};
use wetstring_events::Event;

use crate::args::key::{Key, KeyVerb};
use crate::config::keys::folder;
use crate::ui::ending::{Ending, usage};
use crate::ui::exit::Exit;
use crate::ui::output::{Level, Output};

/// Shows and changes the keys.
pub(crate) fn run(ui: &Output, verb: &Key) -> Result<Ending, Ending> {
    let store = |say: String| Ending::early(Exit::Store, say);
    let keys = folder().map_err(usage)?;
    let key = |text: &str| text.parse::<PublicKey>().map_err(usage);
    let print = |text: &str| {
        if !ui.has_json() {
            crate::ui::output::print(text);
        }
    };
    let done = |say: String| Ok(Ending::early(Exit::Done, say));
    match &verb.what {
        KeyVerb::Show => {
            let public = keys.identity().map_err(store)?.public;
            let fingerprint = public.fingerprint();
            let key = public.to_string();
            ui.event(Event::Key { key, fingerprint: fingerprint.clone() });
            print(&format!("{public}\n"));
            ui.say(Level::Note, &format!("fingerprint {fingerprint}"));
            done(String::new())
        }
        KeyVerb::List => {
            print(&list(ui, &keys).map_err(store)?);
            done(String::new())
        }
        KeyVerb::Trust { key: text, name } => {
            let key = key(text)?;
            let new = keys.authorize(&key, name).map_err(store)?;
            let what = if new { "may now send to listeners here" } else { "was allowed already" };
            done(format!("{} {what}", key.fingerprint()))
        }
        KeyVerb::Revoke { key: text } => {
            let key = key(text)?;
            if !keys.revoke(&key).map_err(store)? {
                return Err(usage(format!("no such key: {text}; wst key list lists them")));
            }
            done(format!("{} is revoked", key.fingerprint()))
        }
        KeyVerb::Forget { host } => {
            if keys.forget(host).map_err(store)? == 0 {
                return Err(usage(format!("no such host: {host}; wst key list lists them")));
            }
            done(format!("the key of {host} is forgotten"))
        }
        KeyVerb::Secret => {
            let secret = Secret::make().map_err(store)?;
            ui.event(Event::Secret { secret: secret.clone() });
            print(&format!("{secret}\n"));
            done(String::new())
        }
    }
}

/// Both lists, as a page and as events.
fn list(ui: &Output, keys: &KeyFolder) -> Result<String, String> {
    let mut page = String::new();
    let mut line = |words: [&str; 2], key: &PublicKey| {
        let (fingerprint, key) = (key.fingerprint(), key.to_string());
        page.extend([words[0], words[1], "  ", &fingerprint, "  ", &key, "\n"]);
        (fingerprint, key)
    };
    for (host, key) in keys.known()? {
        let (fingerprint, key) = line(["known host  ", &host], &key);
        ui.event(Event::KnownHost { host, key, fingerprint });
    }
    for (key, name) in keys.authorized()? {
        let (fingerprint, key) = line(["may send    ", &name], &key);
        ui.event(Event::AuthorizedKey { name, key, fingerprint });
    }
    Ok(page)
}
