//! Answers of a server: text for the screen, kept apart from files; and names in its syntax.

use wetstring_proto::{Reply, Request, Store, StoreError};

/// Keeps text for the screen apart from files.
pub(crate) struct Screen<'a> {
    files: Option<&'a mut dyn Store>,
    /// The text.
    pub(crate) text: Vec<u8>,
    /// The current file is text for the screen.
    on: bool,
    /// Bytes of it so far.
    came: u64,
}

/// Longest answer.
const MOST_TEXT: usize = 16 << 20;

impl<'a> Screen<'a> {
    pub(crate) fn new(files: Option<&'a mut dyn Store>) -> Self {
        Self { files, text: Vec::new(), on: false, came: 0 }
    }
}

impl Store for Screen<'_> {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        if let Request::Offer { info } = &request {
            self.on = info.extras.kermit().screen;
            self.came = 0;
            if self.on {
                return Reply::Accept { offset: 0 };
            }
        }
        match request {
            Request::Write { offset, .. } if self.on && offset != self.came => {
                Reply::Failed(StoreError::Unsupported)
            }
            Request::Write { bytes, .. } if self.on => {
                self.came += bytes.len() as u64;
                if self.text.len() + bytes.len() > MOST_TEXT {
                    return Reply::Failed(StoreError::NoSpace);
                }
                self.text.extend_from_slice(bytes);
                Reply::Done
            }
            Request::Close { .. } if self.on => {
                self.on = false;
                Reply::Done
            }
            Request::Held { .. } | Request::Digest { .. } | Request::Older if self.on => {
                Reply::Failed(StoreError::Unsupported)
            }
            other => match &mut self.files {
                Some(files) => files.answer(other),
                None if matches!(other, Request::Close { .. }) => Reply::Done,
                None => Reply::Failed(StoreError::Unsupported),
            },
        }
    }
}

/// The names in a server's syntax: one with blanks or braces in braces, its own braces quoted.
pub(crate) fn name_list<'n>(names: impl Iterator<Item = &'n [u8]>) -> Vec<u8> {
    let mut list = Vec::new();
    for name in names {
        if !list.is_empty() {
            list.push(b' ');
        }
        if name.iter().any(|byte| b" {}\\\"".contains(byte)) {
            list.extend([b"{", &quoted(name)[..], b"}"].concat());
        } else {
            list.extend_from_slice(name);
        }
    }
    list
}

/// A name or a pattern for C-Kermit's servers, to which braces are wildcards and a backslash
/// quotes. Wildcards quoted by the user stay quoted.
pub(crate) fn quoted(name: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len());
    let mut rest = name.iter().copied().peekable();
    while let Some(byte) = rest.next() {
        match (byte, rest.peek()) {
            (b'\\', Some(next)) if b"*?[]{}\\".contains(next) => {
                out.push(byte);
                out.extend(rest.next());
            }
            (b'\\' | b'{' | b'}', _) => out.extend([b'\\', byte]),
            _ => out.push(byte),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use wetstring_proto::{Extras, FileInfo, KermitExtras};

    #[test]
    fn an_answer_out_of_order_is_an_error_and_never_shown() {
        let mut screen = Screen::new(None);
        let extras = Extras::Kermit(KermitExtras { screen: true, ..KermitExtras::default() });
        let info = FileInfo { extras, ..FileInfo::default() };
        assert_eq!(screen.answer(Request::Offer { info }), Reply::Accept { offset: 0 });
        assert_eq!(screen.answer(Request::Write { offset: 0, bytes: b"one" }), Reply::Done);
        for offset in [0, 2, 4, 9000] {
            let reply = screen.answer(Request::Write { offset, bytes: b"two" });
            assert_eq!(reply, Reply::Failed(StoreError::Unsupported), "{offset}");
        }
        assert_eq!(screen.answer(Request::Write { offset: 3, bytes: b"two" }), Reply::Done);
        assert_eq!(screen.text, b"onetwo");
    }
}
