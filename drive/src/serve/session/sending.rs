//! What goes to the client: files, which are searched while they are sent, and text for its screen.

use super::search::{Names, Search, sent_as};
use super::{Session, store_error};
use crate::disk::{Running, digest_of};
use crate::in_words;
use crate::serve::quota::Direction;
use crate::serve::tree::{Content, Entry, Place, shown};
use std::io;
use wetstring_proto::file::{DigestKind, FileInfo, FileKind, Left, RemoteReply, Reply, StoreError};

/// What is being sent.
pub(super) enum Outgoing {
    /// Text for the screen: its title, and the offer.
    Screen { title: Vec<u8>, size: u64, text: Box<dyn Content> },
    /// Files, which are searched while they are sent.
    Files {
        search: Box<Search>,
        names: Names,
        delete: bool,
        /// Why the transfer cannot end well, although every file so far was sent.
        blemish: Option<StoreError>,
        /// Every file was asked for.
        over: bool,
        resume: bool,
        /// As the client requested.
        kind: Option<FileKind>,
    },
}

/// The file being sent.
pub(super) struct Current {
    pub(super) place: Place,
    pub(super) name: Vec<u8>,
    size: u64,
    content: Box<dyn Content>,
    running: Running,
    reached: u64,
}

impl Session {
    /// The next file to send, or text.
    pub(super) fn next(&mut self) -> Reply<'_> {
        self.current = None;
        match self.outgoing.take() {
            None => Reply::NoMoreFiles,
            Some(Outgoing::Screen { title, size, text }) => {
                self.current = Some(Current {
                    place: Place::new(),
                    name: title,
                    size,
                    content: text,
                    running: Running::new(Some(DigestKind::Xxh3)),
                    reached: 0,
                });
                let name = self.current.as_ref().map_or(&[][..], |current| &current.name);
                Reply::File(FileInfo { name, kind: FileKind::Text, ..FileInfo::default() })
            }
            files => {
                self.outgoing = files;
                self.next_file()
            }
        }
    }

    pub(super) fn next_file(&mut self) -> Reply<'_> {
        loop {
            let Some(Outgoing::Files { search, names, blemish, over, resume, kind, .. }) =
                &mut self.outgoing
            else {
                return Reply::NoMoreFiles;
            };
            let (resume, kind) = (*resume, *kind);
            let (place, name) = match search.next() {
                Ok(Some(hit)) => {
                    let name = sent_as(&hit, search.is_recursive());
                    (hit.0, name)
                }
                Ok(None) if !self.aside.is_empty() => {
                    *over = true;
                    return blemish.take().map_or(Reply::NoMoreFiles, Reply::Failed);
                }
                Ok(None) => {
                    let end = blemish.take().map_or(Reply::NoMoreFiles, Reply::Failed);
                    self.outgoing = None;
                    return end;
                }
                // Files are missing: the transfer has not ended well.
                Err(why) => {
                    self.outgoing = None;
                    self.note("get", b"", &format!("failed, {why}"));
                    return Reply::Failed(StoreError::Io);
                }
            };
            let other = names.another(&name);
            if let Some(other) = &other {
                let say = format!("sent as {}", other.escape_ascii());
                self.note("get", &shown(&place), &say);
            }
            let name = other.unwrap_or(name);
            match self.tree.open(&place) {
                Ok((entry, mut content)) => {
                    let found = self.rules.detects && !resume;
                    let kind = kind.unwrap_or_else(|| {
                        if found { kind_of(content.as_mut()) } else { self.kind }
                    });
                    return self.begin(place, name, &entry, content, (resume, kind));
                }
                // It was deleted since it was listed, or is not readable.
                Err(error) => {
                    if error.kind() != io::ErrorKind::NotFound
                        && let Some(Outgoing::Files { blemish, .. }) = &mut self.outgoing
                    {
                        *blemish = Some(StoreError::Missing);
                    }
                    self.note("get", &shown(&place), &format!("failed, {}", in_words(&error)));
                }
            }
        }
    }

    pub(super) fn begin(
        &mut self,
        place: Place,
        name: Vec<u8>,
        entry: &Entry,
        content: Box<dyn Content>,
        (resume, kind): (bool, FileKind),
    ) -> Reply<'_> {
        let current = Current {
            place,
            name,
            size: entry.size,
            content,
            running: Running::new(Some(DigestKind::Xxh3)),
            reached: 0,
        };
        let current = self.current.insert(current);
        Reply::File(FileInfo {
            name: &current.name,
            size: Some(entry.size),
            modified: entry.modified,
            mode: entry.mode,
            kind,
            resume,
            ..FileInfo::default()
        })
    }

    pub(super) fn read(&mut self, offset: u64, into: &mut [u8]) -> Reply<'static> {
        let Some(current) = &mut self.current else {
            return Reply::Failed(StoreError::Unsupported);
        };
        // The announced length is sent, even if the file grows.
        let room = usize::try_from(current.size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let want = room.min(into.len());
        let read = match current.content.read(offset, &mut into[..want]) {
            // What the quota does not allow is not sent; it is read again if it is allowed later.
            Ok(len) => self.meter.take_some(Direction::Sent, len as u64),
            Err(error) => return Reply::Failed(store_error(&error)),
        };
        match read {
            Ok(len) => {
                current.running.pass(offset, &into[..len as usize]);
                current.reached = current.reached.max(offset + len);
                Reply::Read(len as usize)
            }
            Err(over) => self.over_in_sending(over),
        }
    }

    /// The digest of the file being sent; parts that were not sent, because the client had them, are read for
    /// it.
    pub(super) fn digest(&mut self, kind: DigestKind, len: u64) -> Reply<'static> {
        let mut heed = self.heed();
        let Some(current) = &mut self.current else {
            return Reply::Failed(StoreError::Unsupported);
        };
        if let Some(value) = current.running.value(kind, len) {
            return Reply::Digest(value);
        }
        let content = &mut current.content;
        let read = |offset, into: &mut [u8]| {
            heed.step()?;
            content.read(offset, into)
        };
        digest_of(kind, len, read).map_or_else(|e| Reply::Failed(store_error(&e)), Reply::Digest)
    }

    /// A file has been sent.
    pub(super) fn sent(&mut self, mut current: Current, complete: bool) {
        let Some(Outgoing::Files { delete, blemish, .. }) = &mut self.outgoing else { return };
        let place = shown(&current.place);
        let changed = complete && current.content.changed();
        if changed {
            *blemish = Some(StoreError::Changed);
        }
        let gone = (*delete && complete).then(|| current.content.delete());
        if let Some(Err(_)) = gone {
            *blemish = Some(StoreError::Kept);
        }
        if !complete {
            return self.note("get", &place, "not sent completely");
        }
        self.counts.files_out += 1;
        self.counts.bytes_out += current.size;
        let end = if changed { "changed while it was sent" } else { "done" };
        self.note("get", &place, &format!("{end}, {} bytes", current.size));
        if let Some(gone) = gone {
            let result = gone.map_or_else(|why| format!("kept, {why}"), |()| "done".into());
            self.note("delete", &place, &result);
        }
    }

    /// The current file is sent. One that is to be deleted is not put aside: the client hears before the end of the
    /// transfer if that fails.
    pub(super) fn put_aside(&mut self) -> Reply<'static> {
        let Some(Outgoing::Files { delete: false, blemish, .. }) = &mut self.outgoing else {
            return Reply::Failed(StoreError::Unsupported);
        };
        if let Some(mut current) = self.current.take() {
            if current.content.changed() {
                *blemish = Some(StoreError::Changed);
            }
            self.aside.push_back(current);
        }
        Reply::Done
    }

    /// The oldest file that was put aside is over.
    pub(super) fn settle(&mut self, complete: bool) -> Reply<'static> {
        let Some(current) = self.aside.pop_front() else {
            return Reply::Failed(StoreError::Unsupported);
        };
        self.sent(current, complete);
        match &mut self.outgoing {
            Some(Outgoing::Files { over: true, blemish, .. }) if self.aside.is_empty() => {
                let end = blemish.take().map_or(Reply::Done, Reply::Failed);
                self.outgoing = None;
                end
            }
            _ => Reply::Done,
        }
    }

    pub(super) fn show(&mut self, title: Vec<u8>, text: Vec<u8>) -> Reply<'static> {
        let (size, text) = (text.len() as u64, Box::new(Text(text)));
        self.outgoing = Some(Outgoing::Screen { title, size, text });
        Reply::Remote(RemoteReply::Follow { screen: true, batch: Left::default() })
    }
}

/// Text that is read like a file.
struct Text(Vec<u8>);

impl Content for Text {
    fn read(&mut self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(self.0.len());
        let len = into.len().min(self.0.len() - from);
        into[..len].copy_from_slice(&self.0[from..from + len]);
        Ok(len)
    }
}

/// The beginning of a file, as text.
fn kind_of(content: &mut dyn Content) -> FileKind {
    let mut start = [0; 8192];
    content.read(0, &mut start).map_or(FileKind::Binary, |len| crate::disk::kind_of(&start[..len]))
}
