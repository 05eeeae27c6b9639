//! A client stores only what it requested: other names from a server are refused.
//!
//! ```text
//! engine --Offer--> RequestedOnly --a requested name--> store
//!                   else refused, and reported
//! ```

use crate::ui::format::escaped;
use wetstring_drive::serve::tree::{matches, patterns, readings};
use wetstring_proto::kermit::names::to_common;
use wetstring_proto::{FileInfo, Refusal, Reply, Request, Store};

/// Most names that are reported; the others are counted.
const MOST_TOLD: usize = 20;

/// A name or pattern of GET.
struct RequestedName {
    /// As typed by the user.
    text: Vec<u8>,
    /// Its last part, in possible spellings.
    forms: Vec<Vec<u8>>,
    /// A file was received for it.
    came: bool,
}

impl RequestedName {
    fn new(text: &[u8]) -> Self {
        let all = readings(text).into_iter().chain(patterns(text));
        let mut forms: Vec<Vec<u8>> = Vec::new();
        for form in all {
            let part = last(form.strip_suffix(b"/").unwrap_or(&form)).to_ascii_lowercase();
            // Senders that convert names send a different name than requested.
            forms.extend([common(&part).to_ascii_lowercase(), part]);
        }
        Self { text: text.to_vec(), forms, came: false }
    }

    /// Whether a part of a path matches the request. A pattern matches no name that begins with a dot, unless it
    /// begins with one itself.
    fn is(&self, part: &[u8]) -> bool {
        let part = part.to_ascii_lowercase();
        self.forms.iter().any(|form| *form == part || matches(form, &part, false))
    }

    /// The same for a name to which the sender may have added a number.
    fn may_be(&self, part: &[u8]) -> bool {
        self.is(part) || self.is(without_number(part))
    }
}

/// The part of a name after the last separator.
fn last(name: &[u8]) -> &[u8] {
    name.rsplit(|byte| matches!(byte, b'/' | b'\\')).next().unwrap_or_default()
}

/// Without the `.~N~` that a sender appends to a duplicate name in a batch.
fn without_number(name: &[u8]) -> &[u8] {
    let number = name.strip_suffix(b"~").and_then(|rest| {
        let at = rest.windows(2).rposition(|two| two == b".~")?;
        let digits = &rest[at + 2..];
        (!digits.is_empty() && digits.iter().all(u8::is_ascii_digit)).then_some(at)
    });
    number.map_or(name, |at| &name[..at])
}

/// The converted form of a name.
fn common(name: &[u8]) -> Vec<u8> {
    let mut out = vec![0; name.len() + 1];
    let len = to_common(name, &mut out);
    out.truncate(len);
    out
}

/// Names and patterns of GET, and the files that match them.
pub(crate) struct Requested {
    asked: Vec<RequestedName>,
    /// Including directories and everything below them.
    recursive: bool,
}

impl Requested {
    pub(crate) fn new<'n>(names: impl Iterator<Item = &'n [u8]>, recursive: bool) -> Self {
        Self { asked: names.map(RequestedName::new).collect(), recursive }
    }

    /// Whether a name matches a request, which then counts as received.
    pub(crate) fn takes(&mut self, name: &[u8]) -> bool {
        let Some(at) = self.answers(name) else { return false };
        self.asked[at].came = true;
        true
    }

    /// Requests for which nothing was received.
    pub(crate) fn missing(&self) -> impl Iterator<Item = &[u8]> {
        self.asked.iter().filter(|asked| !asked.came).map(|asked| &asked.text[..])
    }

    /// The request that a name matches.
    fn answers(&self, name: &[u8]) -> Option<usize> {
        let parts: Vec<&[u8]> = name.split(|byte| matches!(byte, b'/' | b'\\')).collect();
        let parts = if self.recursive { &parts[..] } else { &parts[parts.len() - 1..] };
        // Hidden files must be requested explicitly, even within a requested directory.
        let hidden = |part: &&&[u8]| part.starts_with(b".");
        let asked_for = |part: &[u8]| self.asked.iter().any(|asked| asked.may_be(part));
        if !parts.iter().filter(hidden).all(|part| asked_for(part)) {
            return None;
        }
        let fits = |asked: &RequestedName, is: fn(&RequestedName, &[u8]) -> bool| {
            // Parts above the requested directory may be sent, too; everything below it belongs to it.
            let here = self.recursive && matches!(&asked.text[..], b"." | b"./" | b"/");
            here || parts.iter().any(|part| is(asked, part))
        };
        // Of several, prefer one without a file yet, then one with the exact name.
        let first = |came: bool, is| {
            let mut all = self.asked.iter();
            all.position(|asked| asked.came == came && fits(asked, is))
        };
        first(false, RequestedName::is)
            .or_else(|| first(false, RequestedName::may_be))
            .or_else(|| first(true, RequestedName::may_be))
    }
}

/// A store in front of another, which accepts only requested files.
pub(crate) struct RequestedOnly<'a> {
    store: &'a mut dyn Store,
    list: Requested,
    /// Other names that were offered.
    refused: Vec<Vec<u8>>,
    more: usize,
}

impl<'a> RequestedOnly<'a> {
    pub(crate) fn new<'n>(
        store: &'a mut dyn Store,
        names: impl Iterator<Item = &'n [u8]>,
        recursive: bool,
    ) -> Self {
        let list = Requested::new(names, recursive);
        Self { store, list, refused: Vec::new(), more: 0 }
    }

    /// Unrequested names that were offered, and how many more.
    pub(crate) fn refused(&self) -> (&[Vec<u8>], usize) {
        (&self.refused, self.more)
    }

    /// Reports unrequested names, and requests that were not answered.
    pub(crate) fn other_than_asked(&self) -> Option<String> {
        let shown = |names: &mut dyn Iterator<Item = &[u8]>| {
            names.map(escaped).collect::<Vec<_>>().join(", ")
        };
        let (refused, more) = self.refused();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let refused = shown(&mut refused.iter().map(Vec::as_slice));
        let missing = shown(&mut self.list.missing());
        let refused =
            (!refused.is_empty()).then(|| format!("not requested, so not stored: {refused}{more}"));
        let missing = (!missing.is_empty()).then(|| format!("not received: {missing}"));
        let said: Vec<String> = [refused, missing].into_iter().flatten().collect();
        (!said.is_empty()).then(|| said.join("; "))
    }

    fn may(&mut self, info: &FileInfo<'_>) -> bool {
        if info.extras.kermit().screen {
            return true;
        }
        if self.list.takes(info.name) {
            return true;
        }
        if self.refused.len() < MOST_TOLD {
            self.refused.push(info.name.to_vec());
        } else {
            self.more += 1;
        }
        false
    }
}

impl Store for RequestedOnly<'_> {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        match &request {
            Request::Offer { info } if !self.may(info) => Reply::Refuse(Refusal::Declined),
            _ => self.store.answer(request),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(asked: &[&str], recursive: bool, name: &str) -> bool {
        Requested::new(asked.iter().map(|name| name.as_bytes()), recursive).takes(name.as_bytes())
    }

    #[test]
    fn only_requested_files_are_accepted() {
        for (asked, name) in [
            ("a.txt", "a.txt"),
            ("a.txt", "A.TXT"),
            ("dir/a.txt", "a.txt"),
            ("dir/a.txt", "dir/a.txt"),
            ("*.txt", "b.txt"),
            ("*", "b"),
            (".*", ".bashrc"),
            (".bashrc", ".bashrc"),
            ("a b", "a b"),
            ("my.long.name", "MY_LONG.NAME"),
            ("a.txt", "a.txt.~1~"),
            ("x/[ab]?", "b1"),
        ] {
            assert!(taken(&[asked], false, name), "{asked} {name}");
        }
        for (asked, name) in [
            ("a.txt", ".bashrc"),
            ("a.txt", "b.txt"),
            ("*", ".bashrc"),
            ("*.txt", ".x.txt"),
            ("a.txt", "a.txt/.bashrc"),
            ("a.txt", "a.txt\\.bashrc"),
            ("dir/a.txt", "dir"),
            ("a.txt", "a.txt.~x~"),
        ] {
            assert!(!taken(&[asked], false, name), "{asked} {name}");
        }
        assert!(taken(&["a", "b"], false, "b"));
    }

    #[test]
    fn files_below_a_requested_directory_are_accepted() {
        for (asked, name) in [
            ("photos", "photos/a.jpg"),
            ("photos/", "photos/new/b.jpg"),
            ("home/photos", "photos/a.jpg"),
            ("home/photos", "home/photos/a.jpg"),
            ("*", "photos/b.jpg"),
            ("photos/.*", "photos/.hidden"),
            ("*.txt", "sub/deep/x.txt"),
            (".", "photos/a.jpg"),
            (".ssh", ".ssh/authorized_keys"),
        ] {
            assert!(taken(&[asked], true, name), "{asked} {name}");
        }
        for (asked, name) in [
            ("photos", ".ssh/authorized_keys"),
            ("*", ".ssh/authorized_keys"),
            ("*.txt", ".ssh/x.txt"),
            (".", ".ssh/authorized_keys"),
            (".", "photos/.hidden"),
            ("*", "photos/.hidden"),
            ("a.txt", "a.txt/.bashrc"),
            ("photos", "photos/new/.hidden"),
            (".ssh", ".ssh/.hidden"),
            ("photos", "other/a.jpg"),
        ] {
            assert!(!taken(&[asked], true, name), "{asked} {name}");
        }
    }
}
