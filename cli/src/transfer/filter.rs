//! Between an engine and a store: text of protocols that leave line ends to the store, and names
//! that a careful receiver refuses.

use wetstring_proto::{Entry, FileInfo, FileKind, Refusal, Reply, Request, Store, StoreError};

/// End of file of CP/M and of old text files.
const SUB: u8 = 0x1A;

/// The treatment of names and text. The default changes nothing: the engines of protocols that tell
/// text from binary convert it themselves, and other files must not change.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    /// Whether received files are text, by the user's choice; `None` leaves it to the protocol. A sender
    /// that declares a file binary ([`ZmodemExtras::verbatim`](wetstring_proto::ZmodemExtras::verbatim)) overrides it.
    pub(crate) text: Option<bool>,
    /// Sending: line ends become CR LF on the wire.
    pub(crate) expand: bool,
    /// Names all in capitals without a length become lower case, as from CP/M.
    pub(crate) lower_case: bool,
    /// Refuse names that begin with a dot.
    pub(crate) no_hidden: bool,
    /// Refuse names with directories.
    pub(crate) no_directories: bool,
}

impl Filter {
    /// A store that filters for another.
    pub(crate) fn before<'a>(&'a self, store: &'a mut dyn Store) -> Filtered<'a> {
        Filtered { filter: self, store, text: None, reading: None, buffer: Vec::new() }
    }

    fn refuses(&self, name: &[u8]) -> bool {
        let mut parts = name.split(|byte| matches!(byte, b'/' | b'\\'));
        (self.no_directories && name.contains(&b'/'))
            || (self.no_hidden && parts.any(|part| part.first() == Some(&b'.')))
    }
}

/// A store with a filter before it.
pub(crate) struct Filtered<'a> {
    filter: &'a Filter,
    store: &'a mut dyn Store,
    /// The incoming file is text.
    text: Option<Incoming>,
    /// The outgoing file is text.
    reading: Option<Outgoing>,
    buffer: Vec<u8>,
}

/// Text on its way in.
#[derive(Default)]
struct Incoming {
    /// Bytes stored, and bytes of the wire processed.
    stored: u64,
    wire: u64,
    /// Its end-of-file character was received.
    ended: bool,
}

/// Text on its way out.
#[derive(Default)]
struct Outgoing {
    /// Bytes of the file, and of the wire, processed.
    from: u64,
    to: u64,
    /// A carriage return was sent, and its line feed is pending.
    owes_feed: bool,
}

impl Filtered<'_> {
    fn offer(&mut self, info: FileInfo<'_>) -> Reply<'_> {
        if self.filter.refuses(info.name) {
            return Reply::Refuse(Refusal::Name);
        }
        let lower = info.name.to_ascii_lowercase();
        let small = self.filter.lower_case
            && info.size.is_none()
            && !info.name.iter().any(u8::is_ascii_lowercase);
        let name = if small { &lower[..] } else { info.name };
        let text = self.filter.text == Some(true)
            && !info.extras.zmodem().verbatim
            && info.entry == Entry::File;
        self.text = text.then(Incoming::default);
        // The store must know: text cannot be resumed at an offset, nor its length predicted.
        let kind = match self.filter.text {
            _ if text => FileKind::Text,
            Some(false) => FileKind::Binary,
            _ => info.kind,
        };
        let size = info.size.filter(|_| !text);
        self.store.answer(Request::Offer { info: FileInfo { name, kind, size, ..info } })
    }

    /// Removes carriage returns, up to the end-of-file character.
    fn write(&mut self, offset: u64, bytes: &[u8]) -> Reply<'_> {
        let Some(text) = &mut self.text else {
            return self.store.answer(Request::Write { offset, bytes });
        };
        if offset != text.wire {
            return Reply::Failed(StoreError::Unsupported);
        }
        text.wire += bytes.len() as u64;
        self.buffer.clear();
        let end = bytes.iter().position(|byte| *byte == SUB);
        if !text.ended {
            let bytes = &bytes[..end.unwrap_or(bytes.len())];
            self.buffer.extend(bytes.iter().filter(|byte| **byte != b'\r'));
        }
        text.ended |= end.is_some();
        let offset = text.stored;
        text.stored += self.buffer.len() as u64;
        self.store.answer(Request::Write { offset, bytes: &self.buffer })
    }

    fn next(&mut self) -> Reply<'_> {
        let expand = self.filter.expand;
        self.reading = expand.then(Outgoing::default);
        match self.store.answer(Request::Next) {
            Reply::File(info) if info.entry != Entry::File => {
                self.reading = None;
                Reply::File(info)
            }
            // Its length is unknown.
            Reply::File(info) if expand => Reply::File(FileInfo { size: None, ..info }),
            reply => reply,
        }
    }

    /// Adds a carriage return before every line feed.
    fn read(&mut self, offset: u64, into: &mut [u8]) -> Reply<'_> {
        let Some(text) = &mut self.reading else {
            return self.store.answer(Request::Read { offset, into });
        };
        if offset != text.to {
            return Reply::Failed(StoreError::Unsupported);
        }
        let mut put = 0;
        if let Some(first) = into.first_mut().filter(|_| text.owes_feed) {
            *first = b'\n';
            put = 1;
            text.owes_feed = false;
        }
        // At worst each byte takes two. 0 would mean end of file.
        self.buffer.resize((into.len() - put).div_ceil(2), 0);
        let raw = Request::Read { offset: text.from, into: &mut self.buffer };
        let len = match self.store.answer(raw) {
            Reply::Read(len) => len,
            Reply::Failed(error) => return Reply::Failed(error),
            _ => return Reply::Failed(StoreError::Io),
        };
        let mut took = 0;
        for byte in &self.buffer[..len] {
            if put == into.len() {
                break;
            }
            into[put] = if *byte == b'\n' { b'\r' } else { *byte };
            put += 1;
            took += 1;
            if *byte == b'\n' {
                match into.get_mut(put) {
                    Some(next) => {
                        *next = b'\n';
                        put += 1;
                    }
                    None => text.owes_feed = true,
                }
            }
        }
        text.from += took;
        text.to += put as u64;
        Reply::Read(put)
    }
}

impl Store for Filtered<'_> {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        match request {
            Request::Offer { info } => self.offer(info),
            Request::Write { offset, bytes } => self.write(offset, bytes),
            Request::Next => self.next(),
            Request::Read { offset, into } => self.read(offset, into),
            // The offset of a byte is known only once all those before it were processed.
            Request::Held { .. } | Request::Older if self.text.is_some() => {
                Reply::Failed(StoreError::Unsupported)
            }
            Request::Signatures { .. } if self.reading.is_some() => {
                Reply::Failed(StoreError::Unsupported)
            }
            other => self.store.answer(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wetstring_proto::{Extras, ZmodemExtras};
    use wetstring_testkit::{File, Sink, Source};

    #[test]
    fn text_loses_carriage_returns_and_what_follows_its_end() {
        let mut sink = Sink::new();
        let filter = Filter { text: Some(true), ..Filter::default() };
        let mut store = filter.before(&mut sink);
        let info = FileInfo { name: b"a", kind: FileKind::Text, ..FileInfo::default() };
        assert_eq!(store.answer(Request::Offer { info }), Reply::Accept { offset: 0 });
        for (offset, bytes) in [(0, &b"one\r"[..]), (4, b"\ntwo\r\n\x1a\x1arest"), (16, b"more")] {
            assert_eq!(store.answer(Request::Write { offset, bytes }), Reply::Done);
        }
        assert_eq!(sink.files[0].bytes, b"one\ntwo\n");
    }

    /// The offset of converted text out of order is unknown.
    #[test]
    fn text_out_of_order_is_an_error_and_never_written() {
        let mut sink = Sink::new();
        let filter = Filter { text: Some(true), ..Filter::default() };
        let mut store = filter.before(&mut sink);
        let info = FileInfo { name: b"a", kind: FileKind::Text, ..FileInfo::default() };
        assert_eq!(store.answer(Request::Offer { info }), Reply::Accept { offset: 0 });
        assert_eq!(store.answer(Request::Write { offset: 0, bytes: b"one\r\n" }), Reply::Done);
        for offset in [0, 4, 6, 7000] {
            let reply = store.answer(Request::Write { offset, bytes: b"two\r\n" });
            assert_eq!(reply, Reply::Failed(StoreError::Unsupported), "{offset}");
        }
        assert_eq!(store.answer(Request::Write { offset: 5, bytes: b"two\r\n" }), Reply::Done);
        assert_eq!(sink.files[0].bytes, b"one\ntwo\n");
    }

    /// Text converted by an engine must not lose anything.
    #[test]
    fn the_default_changes_nothing() {
        let mut sink = Sink::new();
        let filter = Filter::default();
        let mut store = filter.before(&mut sink);
        let info = FileInfo { name: b"README", kind: FileKind::Text, ..FileInfo::default() };
        assert_eq!(store.answer(Request::Offer { info }), Reply::Accept { offset: 0 });
        let bytes = b"one\r\ntwo\n\x1arest\r";
        assert_eq!(store.answer(Request::Write { offset: 0, bytes }), Reply::Done);
        let file = &sink.files[0];
        assert_eq!((&file.name[..], &file.bytes[..]), (&b"README"[..], &bytes[..]));
    }

    #[test]
    fn text_gets_carriage_returns_with_any_buffer_size() {
        for room in 1..9 {
            let mut source = Source::new(vec![File::new("a", b"a\n\n\nbc\n")]);
            let filter = Filter { expand: true, ..Filter::default() };
            let mut store = filter.before(&mut source);
            assert!(
                matches!(store.answer(Request::Next), Reply::File(info) if info.size.is_none())
            );
            let mut out = Vec::new();
            loop {
                let mut into = vec![0; room];
                let offset = out.len() as u64;
                let reply = store.answer(Request::Read { offset, into: &mut into });
                let Reply::Read(len) = reply else { panic!("{reply:?}") };
                if len == 0 {
                    break;
                }
                out.extend_from_slice(&into[..len]);
            }
            assert_eq!(out, b"a\r\n\r\n\r\nbc\r\n", "{room}");
        }
    }

    /// ZCBIN overrides the choice of the receiver's user; ZCNL and no statement do not.
    #[test]
    fn files_declared_binary_stay_unchanged() {
        let bytes = b"a\r\nb\x1ac\r\n";
        for (verbatim, kept) in [(true, &bytes[..]), (false, b"a\nb")] {
            let mut sink = Sink::new();
            let filter = Filter { text: Some(true), ..Filter::default() };
            let mut store = filter.before(&mut sink);
            let size = Some(bytes.len() as u64);
            let extras = Extras::Zmodem(ZmodemExtras { verbatim, ..ZmodemExtras::default() });
            let info = FileInfo { name: b"f", extras, size, ..FileInfo::default() };
            assert_eq!(store.answer(Request::Offer { info }), Reply::Accept { offset: 0 });
            assert_eq!(store.answer(Request::Write { offset: 0, bytes }), Reply::Done);
            let told = if verbatim { (false, size) } else { (true, None) };
            assert_eq!((sink.files[0].text, sink.sizes[0]), told);
            assert_eq!(sink.files[0].bytes, kept);
        }
    }

    #[test]
    fn names_are_refused_or_lowercased() {
        let mut sink = Sink::new();
        let filter =
            Filter { lower_case: true, no_hidden: true, no_directories: true, ..Filter::default() };
        let mut store = filter.before(&mut sink);
        for name in [&b".profile"[..], b"a/b", b"a\\.b"] {
            let info = FileInfo { name, ..FileInfo::default() };
            assert_eq!(store.answer(Request::Offer { info }), Reply::Refuse(Refusal::Name));
        }
        let info = FileInfo { name: b"README.TXT", ..FileInfo::default() };
        let _ = store.answer(Request::Offer { info });
        assert_eq!(sink.files[0].name, b"readme.txt");
        let mut store = filter.before(&mut sink);
        let info = FileInfo { name: b"README.TXT", size: Some(1), ..FileInfo::default() };
        let _ = store.answer(Request::Offer { info });
        assert_eq!(sink.files[1].name, b"README.TXT");
    }
}
