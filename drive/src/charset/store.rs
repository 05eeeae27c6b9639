//! Translates text files between an engine and a store.

use super::{Form, Translator, Ucs2};
use std::sync::{Arc, Mutex, PoisonError};
use wetstring_proto::file::{
    Extras, FileInfo, FileKind, KermitExtras, Refusal, Reply, Request, Store, StoreError,
};
use wetstring_proto::kermit::{ByteOrder, Charset, Config, Encoding, UnknownSet};

/// The character sets chosen by the user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sets {
    /// On the wire.
    pub transfer: Charset,
    /// Of local files.
    pub file: Charset,
    /// Text in an unknown set is stored unchanged.
    pub keep_unknown: bool,
    /// The form of local UCS-2 files.
    pub ucs2: Ucs2,
}

/// The sets of a store, which can be changed between two files.
pub type SharedSets = Arc<Mutex<Sets>>;

impl Sets {
    /// No translation, whatever the sender declares.
    pub const AS_IS: Self = Self {
        transfer: Charset::TRANSPARENT,
        file: Charset::TRANSPARENT,
        keep_unknown: true,
        ucs2: Ucs2 { little: true, mark: true },
    };

    /// Text in local files.
    fn here(self) -> Form {
        Form { set: self.file, wire: false, ucs2: self.ucs2 }
    }

    /// Text of this set on the wire.
    fn there(self, set: Charset) -> Form {
        Form { set, wire: true, ucs2: self.ucs2 }
    }
}

impl From<&Config> for Sets {
    fn from(config: &Config) -> Self {
        Self {
            transfer: config.transfer_set,
            file: config.file_set,
            keep_unknown: config.unknown_set == UnknownSet::Keep,
            ucs2: Ucs2 { little: config.ucs2_order == ByteOrder::Little, mark: config.ucs2_mark },
        }
    }
}

/// A store whose text files are translated on their way to and from an engine.
///
/// Offsets are those of the translated text. Access is sequential only, so text is not resumed and has no
/// digests.
pub struct Translated<'a> {
    store: &'a mut dyn Store,
    sets: SharedSets,
    current: Option<Current>,
    lost: u64,
    buffer: Vec<u8>,
}

/// The file being translated.
struct Current {
    by: Translator,
    sending: bool,
    /// Bytes passed: of the local file, and of the wire.
    here: u64,
    wire: u64,
    /// Start in the buffer of translated data that was not requested yet.
    from: usize,
    /// End of the local file.
    ended: bool,
}

impl Current {
    fn new(by: Translator, sending: bool) -> Self {
        Self { by, sending, here: 0, wire: 0, from: 0, ended: false }
    }
}

impl std::fmt::Debug for Translated<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Translated").field("sets", &self.sets).finish_non_exhaustive()
    }
}

/// Bytes read at a time.
const READ: usize = 16 * 1024;

impl<'a> Translated<'a> {
    /// Translates text of `store` between these sets.
    pub fn new(store: &'a mut dyn Store, sets: Sets) -> Self {
        Self::following(store, Arc::new(Mutex::new(sets)))
    }

    /// The same, with sets that can be changed elsewhere.
    pub fn following(store: &'a mut dyn Store, sets: SharedSets) -> Self {
        Self { store, sets, current: None, lost: 0, buffer: Vec::new() }
    }

    /// Number of characters so far that one of the sets lacks.
    pub fn lost(&self) -> u64 {
        self.lost + self.current.as_ref().map_or(0, |current| current.by.lost())
    }

    fn sets(&self) -> Sets {
        *self.sets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&mut self) {
        if let Some(current) = self.current.take() {
            self.lost += current.by.lost();
        }
        self.buffer.clear();
    }

    fn next(&mut self) -> Reply<'_> {
        self.end();
        let sets = self.sets();
        let transfer = sets.transfer;
        let by = Translator::new(sets.here(), sets.there(transfer));
        let reply = self.store.answer(Request::Next);
        let Reply::File(info) = reply else { return reply };
        let text = info.kind == FileKind::Text && !info.extras.kermit().screen;
        if !text || transfer == Charset::TRANSPARENT {
            return Reply::File(info);
        }
        let encoding = Encoding::Known(transfer);
        let extras = Extras::Kermit(KermitExtras { encoding, ..info.extras.kermit() });
        let Some(by) = by else { return Reply::File(FileInfo { extras, ..info }) };
        let size = info.size.filter(|_| by.keeps_length());
        self.current = Some(Current::new(by, true));
        Reply::File(FileInfo { extras, size, resume: false, ..info })
    }

    fn read(&mut self, offset: u64, into: &mut [u8]) -> Reply<'_> {
        let Some(current) = self.current.as_mut().filter(|current| current.sending) else {
            return self.store.answer(Request::Read { offset, into });
        };
        if offset != current.wire {
            return Reply::Failed(StoreError::Unsupported);
        }
        while current.from == self.buffer.len() && !current.ended {
            let mut raw = [0; READ];
            let request = Request::Read { offset: current.here, into: &mut raw };
            let len = match self.store.answer(request) {
                Reply::Read(len) => len,
                Reply::Failed(error) => return Reply::Failed(error),
                _ => return Reply::Failed(StoreError::Io),
            };
            current.here += len as u64;
            current.ended = len == 0;
            self.buffer.clear();
            current.from = 0;
            current.by.translate(&raw[..len], current.ended, &mut self.buffer);
        }
        let ready = &self.buffer[current.from..];
        let len = ready.len().min(into.len());
        into[..len].copy_from_slice(&ready[..len]);
        current.from += len;
        current.wire += len as u64;
        Reply::Read(len)
    }

    fn offer(&mut self, info: FileInfo<'_>) -> Reply<'_> {
        self.end();
        let sets = self.sets();
        let from = match info.extras.kermit().encoding {
            Encoding::Known(set) => set,
            Encoding::Unsaid => sets.transfer,
            Encoding::Unknown if sets.keep_unknown => Charset::TRANSPARENT,
            Encoding::Unknown => Charset::ASCII,
        };
        let text = info.kind == FileKind::Text && !info.extras.kermit().screen;
        if text && info.extras.kermit().encoding == Encoding::Unknown && !sets.keep_unknown {
            return Reply::Refuse(Refusal::CharacterSet);
        }
        let by = Translator::new(sets.there(from), sets.here()).filter(|_| text);
        let Some(by) = by else { return self.store.answer(Request::Offer { info }) };
        let size = info.size.filter(|_| by.keeps_length());
        self.current = Some(Current::new(by, false));
        self.store.answer(Request::Offer { info: FileInfo { size, resume: false, ..info } })
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> Reply<'_> {
        let Some(current) = self.current.as_mut().filter(|current| !current.sending) else {
            return self.store.answer(Request::Write { offset, bytes });
        };
        if offset != current.wire {
            return Reply::Failed(StoreError::Unsupported);
        }
        current.wire += bytes.len() as u64;
        self.buffer.clear();
        current.by.translate(bytes, false, &mut self.buffer);
        self.put()
    }

    /// Stores the buffer.
    fn put(&mut self) -> Reply<'_> {
        let Some(current) = &mut self.current else { return Reply::Done };
        if self.buffer.is_empty() {
            return Reply::Done;
        }
        let offset = current.here;
        current.here += self.buffer.len() as u64;
        self.store.answer(Request::Write { offset, bytes: &self.buffer })
    }

    fn close(&mut self, complete: bool, verified: bool) -> Reply<'_> {
        if let Some(current) = self.current.as_mut().filter(|current| !current.sending && complete)
        {
            self.buffer.clear();
            if !std::mem::replace(&mut current.ended, true) {
                current.by.translate(&[], true, &mut self.buffer);
            }
            if let Reply::Failed(error) = self.put() {
                return Reply::Failed(error);
            }
        }
        self.end();
        self.store.answer(Request::Close { complete, verified })
    }
}

impl Store for Translated<'_> {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        match request {
            Request::Next => self.next(),
            Request::Read { offset, into } => self.read(offset, into),
            Request::Offer { info } => self.offer(info),
            Request::Write { offset, bytes } => self.write(offset, bytes),
            // Text is translated sequentially, and its local bytes differ from those of the wire.
            Request::Held { .. }
            | Request::Digest { .. }
            | Request::Signatures { .. }
            | Request::Older
                if self.current.is_some() =>
            {
                Reply::Failed(StoreError::Unsupported)
            }
            Request::Close { complete, verified } => self.close(complete, verified),
            Request::Aside => {
                self.end();
                self.store.answer(Request::Aside)
            }
            other => self.store.answer(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wetstring_testkit::{File, Sink, Source};

    fn sets(transfer: &str, file: &str) -> Sets {
        let named = |name| Charset::named(name).unwrap();
        Sets { transfer: named(transfer), file: named(file), keep_unknown: false, ..Sets::AS_IS }
    }

    /// The sent data, its declared set, and the number of lost characters.
    fn sent(bytes: &[u8], sets: Sets) -> (Vec<u8>, Encoding, Option<u64>, u64) {
        let text = File { text: true, ..File::new("x", bytes) };
        let mut source = Source { chunk: 5, ..Source::new(vec![text]) };
        let mut store = Translated::new(&mut source, sets);
        let Reply::File(info) = store.answer(Request::Next) else { panic!() };
        let (encoding, size) = (info.extras.kermit().encoding, info.size);
        let (mut wire, mut piece) = (Vec::new(), [0; 3]);
        loop {
            let offset = wire.len() as u64;
            let Reply::Read(len) = store.answer(Request::Read { offset, into: &mut piece }) else {
                panic!()
            };
            if len == 0 {
                break;
            }
            wire.extend(&piece[..len]);
        }
        let request = Request::Close { complete: true, verified: true };
        assert_eq!(store.answer(request), Reply::Done);
        let lost = store.lost();
        (wire, encoding, size, lost)
    }

    /// Facts of a file whose text has this encoding on the wire.
    fn said(encoding: Encoding) -> Extras {
        Extras::Kermit(KermitExtras { encoding, ..KermitExtras::default() })
    }

    #[test]
    fn each_end_translates_to_or_from_the_wire() {
        let (wire, encoding, size, lost) = sent("é\nñ€\n".as_bytes(), sets("latin1-iso", "utf8"));
        assert_eq!((&wire[..], size, lost), (&b"\xE9\n\xF1?\n"[..], None, 1));
        assert_eq!(encoding, Encoding::Known(Charset::named("latin1-iso").unwrap()));
        let mut sink = Sink::new();
        let mut store = Translated::new(&mut sink, sets("transparent", "cp437"));
        let (kind, size) = (FileKind::Text, Some(9));
        let info =
            FileInfo { kind, size, extras: said(encoding), resume: true, ..FileInfo::default() };
        assert_eq!(store.answer(Request::Offer { info }), Reply::Accept { offset: 0 });
        for (offset, byte) in wire.iter().enumerate() {
            let bytes = std::slice::from_ref(byte);
            let request = Request::Write { offset: offset as u64, bytes };
            assert_eq!(store.answer(request), Reply::Done);
        }
        let again = Request::Write { offset: 0, bytes: b"x" };
        assert_eq!(store.answer(again), Reply::Failed(StoreError::Unsupported));
        store.answer(Request::Close { complete: true, verified: true });
        // Length is preserved there.
        assert_eq!((&sink.files[0].bytes[..], sink.sizes[0]), (&b"\x82\n\xA4?\n"[..], Some(9)));
    }

    #[test]
    fn the_end_of_a_text_is_flushed() {
        let encoding = Encoding::Known(Charset::UTF8);
        let mut sink = Sink::new();
        let mut store = Translated::new(&mut sink, sets("transparent", "latin1-iso"));
        let info = FileInfo { kind: FileKind::Text, extras: said(encoding), ..FileInfo::default() };
        store.answer(Request::Offer { info });
        store.answer(Request::Write { offset: 0, bytes: b"x\xC3" });
        store.answer(Request::Close { complete: true, verified: false });
        assert_eq!(store.lost(), 1);
        assert_eq!(sink.files[0].bytes, b"x?");
    }

    #[test]
    fn unknown_sets_are_refused_or_kept() {
        let info = FileInfo {
            kind: FileKind::Text,
            extras: said(Encoding::Unknown),
            ..FileInfo::default()
        };
        let mut sink = Sink::new();
        let mut store = Translated::new(&mut sink, sets("transparent", "utf8"));
        let refused = Reply::Refuse(Refusal::CharacterSet);
        assert_eq!(store.answer(Request::Offer { info }), refused);
        // Binary files have no set, whatever is declared.
        let bytes = FileInfo { kind: FileKind::Binary, ..info };
        assert_eq!(store.answer(Request::Offer { info: bytes }), Reply::Accept { offset: 0 });
        let keeping = Sets { keep_unknown: true, ..sets("transparent", "utf8") };
        let mut store = Translated::new(&mut sink, keeping);
        assert_eq!(store.answer(Request::Offer { info }), Reply::Accept { offset: 0 });
        store.answer(Request::Write { offset: 0, bytes: b"\xE9" });
        assert_eq!(sink.files[1].bytes, b"\xE9");
    }

    #[test]
    fn the_same_set_at_both_ends_is_declared_and_unchanged() {
        let (wire, encoding, size, lost) = sent(b"\xC3", sets("utf8", "utf8"));
        assert_eq!((&wire[..], size, lost), (&b"\xC3"[..], Some(1), 0));
        assert_eq!(encoding, Encoding::Known(Charset::UTF8));
        let (wire, encoding, ..) = sent(b"\xC3", Sets::AS_IS);
        assert_eq!((&wire[..], encoding), (&b"\xC3"[..], Encoding::Unsaid));
    }
}
