//! The disk store: files to send, and a directory to receive into.
//!
//! Receiving is safe by default: names from a peer are confined to the directory ([`names`]), data goes to
//! `NAME.part` and is renamed into place only when the file is complete, and nothing existing is overwritten
//! unless the [`Collision`] policy allows it.

mod batch;
mod closing;
mod difference;
mod digest;
mod error;
mod mark;
pub mod names;
pub(crate) mod part;
mod pieces;
pub(crate) mod place;
mod receive;
mod reserve;
mod scribe;
mod send;
mod settings;
pub(crate) mod source;

pub use batch::{Origin, Renamed, Source, distinct};
pub(crate) use send::kind_of;

pub use names::{NameRule, PathRule};
pub use settings::{Holes, Links, StoreSettings};
pub use source::NotDeleted;

pub(crate) use digest::{Running, of as digest_of};
pub(crate) use error::store_error;

use crate::os::fd::OwnedFd;
use error::Failed;
use receive::{No, Receiving};
use send::Sending;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wetstring_proto::file::{
    DigestKind, Entry, FileInfo, FileKind, Left, Refusal, Reply, Request, Store, StoreError,
};

/// What to do when a file of that name exists (C-Kermit's SET FILE COLLISION).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Collision {
    /// The new file becomes `NAME.~N~`, N one above the highest existing one.
    Rename,
    /// The new file replaces the old one, once it is complete.
    Replace,
    /// The old file becomes `NAME.~N~`, once the new one is complete, as with C-Kermit and GNU programs. An
    /// entry that is neither a file nor a link stays, and the new file gets the other name.
    #[default]
    Backup,
    /// The new data is appended to the old file, once it is complete.
    Append,
    /// The new file is refused.
    Reject,
    /// As `Replace` if the new file is dated later than the old one, else it is refused. A file without a date
    /// is received as by `Rename`.
    Update,
    /// As `Update`, and a longer file replaces a shorter one whatever its date (`sz -N`).
    UpdateOrLonger,
    /// As `Replace` if length or date differ, else it is refused (ZMODEM's ZMDIFF).
    Differing,
}

/// How a file is renamed when its name is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Numbering {
    /// `NAME.~N~`, N one above the highest existing one, as with C-Kermit and GNU programs.
    #[default]
    Tildes,
    /// `NAME.N`, the lowest free N from 0, as with lrzsz.
    Dot,
}

/// What to do with an incomplete file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Incomplete {
    /// Keep `NAME.part`, so that it can be resumed. It bears a mark (the extended attribute
    /// `user.wetstring.part`), since a user's own file may have that name: one without the mark is never
    /// removed, and `NAME.part.~N~` is used.
    #[default]
    Keep,
    /// Remove it.
    Discard,
}

/// When disk space is used for an offered file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reserve {
    /// At the offer: blocks of a large file are reserved before its data, or it is refused.
    #[default]
    Offered,
    /// With its first bytes: for senders who may have forged their address. Until then there is an empty
    /// `.part`, and an earlier part stays.
    WithData,
}

/// What to resume when a sender offers it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Resume {
    /// Nothing: every file starts at its beginning.
    Never,
    /// A `NAME.part` of this program, known by its mark; where both ends compare the existing data first
    /// ([`FileInfo::compared`]), also one without the mark, as a copy. Where they do not, only if the sender
    /// states the same length and date of the file as when it was begun, or states nothing else and the whole file is
    /// compared at its end ([`FileInfo::proved`]).
    #[default]
    Part,
    /// As [`Resume::Part`], and as [`Resume::Existing`] where both ends compare the file or its beginning: for
    /// a server, whose clients may all write.
    Compared,
    /// Also a `NAME.part` without the mark and a file under its own name: whatever exists is taken for the
    /// beginning of the new file, and a copy of it is continued. The copy gets the name when it is complete, as
    /// [`Collision`] says. With [`Collision::Backup`] the continued file is then removed, if both ends have
    /// compared the file or its beginning. If they have not, it is put aside even with [`Collision::Replace`]:
    /// with C-Kermit nothing tells whether it was the beginning of the same file.
    Existing,
}

/// The data of a received file's digest, before the peer is told that both match. In any case, a file that was
/// moved, replaced or has grown meanwhile does not match.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Verify {
    /// The received bytes.
    Stream,
    /// The stored bytes: read again, from the device where the system supports it.
    Stored,
    /// As `Stored`, possibly from memory, where that takes less than a tenth of the transfer time, or others
    /// can change the directory; files of more than 1 GiB as `Stream`.
    #[default]
    Auto,
}

/// Options for sending.
#[derive(Clone, Debug)]
pub struct SendOptions {
    /// Send the path as given, not only its last component.
    pub paths: bool,
    /// Binary or text.
    pub kind: FileKind,
    /// Offer to resume what the receiver has in part.
    pub resume: bool,
    /// A digest to compute while reading; other digests are computed by reading again.
    pub digest: Option<DigestKind>,
    /// Each file is text or binary as its contents show; [`SendOptions::kind`] is ignored.
    pub detect: bool,
    /// The protocol converts names to Kermit's common form, in which more of them are equal.
    pub common_names: bool,
}

impl Default for SendOptions {
    fn default() -> Self {
        Self {
            paths: false,
            kind: FileKind::Binary,
            resume: false,
            digest: Some(DigestKind::Xxh3),
            detect: false,
            common_names: false,
        }
    }
}

/// Whether this many bytes that were not sent may be stored.
#[derive(Clone)]
#[allow(clippy::type_complexity)]
pub struct Toll(pub Arc<dyn Fn(u64) -> io::Result<()> + Send + Sync>);

impl fmt::Debug for Toll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Toll")
    }
}

/// Options for receiving.
///
/// A sender may request how an existing file is treated ([`FileInfo::wish`]). The request is granted as far as
/// it only narrows what [`ReceiveOptions::collision`] allows: skipping or renaming always, replacing under some
/// condition or appending only with [`Collision::Replace`]. Whether contents differ is determined by a CRC-32
/// of the whole file, where lengths are equal.
#[derive(Clone, Debug)]
pub struct ReceiveOptions {
    /// What to do when the name exists.
    pub collision: Collision,
    /// No file is replaced or appended to: the new file gets another name instead.
    pub keeps: bool,
    /// No file is put aside: the same.
    pub stays: bool,
    /// Called before existing data is copied in order to continue a copy.
    pub toll: Option<Toll>,
    /// What to do with an incomplete file.
    pub incomplete: Incomplete,
    /// What to resume when the sender offers it.
    pub resume: Resume,
    /// Which part of a name is used.
    pub paths: PathRule,
    /// Store the first file under this name, whatever the sender says. The user has typed it, so it is used as
    /// is, unless it has directories: then it is confined like any other.
    pub name: Option<Vec<u8>>,
    /// Form of another name.
    pub numbering: Numbering,
    /// Set the sender's date.
    pub dates: bool,
    /// Set the sender's permissions, masked by the umask.
    pub modes: bool,
    /// Wait until the disk has the file before the sender is told that it is complete.
    pub sync: bool,
    /// When blocks are reserved.
    pub reserve: Reserve,
    /// A digest to compute while writing; other digests are computed by reading again.
    pub digest: Option<DigestKind>,
    /// The data that it covers.
    pub verify: Verify,
    /// Whether blocks of zeros become holes.
    pub holes: Holes,
    /// What to do with symbolic links.
    pub links: Links,
}

impl Default for ReceiveOptions {
    fn default() -> Self {
        Self {
            collision: Collision::default(),
            keeps: false,
            stays: false,
            toll: None,
            incomplete: Incomplete::default(),
            resume: Resume::default(),
            paths: PathRule::default(),
            name: None,
            numbering: Numbering::default(),
            dates: true,
            modes: true,
            sync: false,
            reserve: Reserve::default(),
            digest: Some(DigestKind::Xxh3),
            verify: Verify::default(),
            holes: Holes::default(),
            links: Links::default(),
        }
    }
}

/// The result of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileRecord {
    /// Name on the wire, raw.
    pub wire_name: Vec<u8>,
    /// Local path: the file sent, the file stored, or the `.part` that was kept. `None` if there is none
    /// (refused, discarded, stdin).
    pub path: Option<PathBuf>,
    /// Where the file is that had its name before, and was put aside.
    pub put_aside: Option<PathBuf>,
    /// Bytes in the local file at the end.
    pub size: u64,
    /// Those of them that were resumed.
    pub resumed_from: u64,
    /// How it ended.
    pub outcome: FileOutcome,
    /// The rule that changed or refused the name, if one did.
    pub name_rule: Option<NameRule>,
    /// The peer has compared a digest of the whole file.
    pub verified: bool,
    /// The file changed while it was sent.
    pub changed: bool,
    /// The digest of the whole file, if one was computed ([`SendOptions::digest`], [`ReceiveOptions::digest`]).
    pub digest: Option<(DigestKind, [u8; 32])>,
    /// What it is.
    pub entry: Entry,
    /// The file being sent, as it was when it was opened.
    opened: Option<source::Opened>,
}

/// How a file ended.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FileOutcome {
    /// In progress.
    Open,
    /// Received completely, and in place.
    Stored,
    /// Sent completely.
    Sent,
    /// Refused by this store.
    Refused(Refusal),
    /// Could not be read or written: the error text.
    Skipped(String),
    /// A directory or link that the peer has no place for, or a directory that is not needed here.
    PassedOver,
    /// Incomplete. At a receiver [`FileRecord::path`] is the `.part`, if it was kept.
    Partial,
}

impl FileRecord {
    /// The record of a file that has just begun.
    pub(crate) fn new(wire_name: &[u8]) -> Self {
        Self {
            wire_name: wire_name.to_vec(),
            path: None,
            put_aside: None,
            size: 0,
            resumed_from: 0,
            outcome: FileOutcome::Open,
            name_rule: None,
            verified: false,
            changed: false,
            digest: None,
            entry: Entry::File,
            opened: None,
        }
    }

    /// Deletes the file that was sent, if it still is as it was when it was opened, and nothing else has its
    /// name. Only for one that was sent whole ([`FileOutcome::Sent`]).
    pub fn delete_sent(&self) -> Result<(), NotDeleted> {
        match (&self.outcome, &self.path, &self.opened) {
            (FileOutcome::Sent, Some(path), Some(opened)) => source::delete(path, opened),
            _ => Err(NotDeleted::Stream),
        }
    }
}

/// A store on the disk of this machine: it sends a list of files, or receives into a directory.
///
/// Dropping it closes a file that is still open as incomplete.
pub struct DiskStore {
    sending: Option<Sending>,
    receiving: Option<Receiving>,
    files: Vec<FileRecord>,
    /// Records that are kept.
    most: usize,
    unlisted: u64,
    last_error: Option<String>,
}

/// Records that are kept of received files. A peer may offer names indefinitely.
const MOST_RECORDS: usize = 10_000;
/// The same where the names are not read, at a server.
const FEW_RECORDS: usize = 2;

impl DiskStore {
    /// A store that sends these files, in this order, no two under one name ([`DiskStore::renamed`]).
    /// A file that cannot be read is skipped and recorded.
    pub fn sending(sources: Vec<Source>, options: SendOptions) -> Self {
        Self {
            sending: Some(Sending::new(sources, options)),
            receiving: None,
            files: Vec::new(),
            most: MOST_RECORDS,
            unlisted: 0,
            last_error: None,
        }
    }

    /// A store that receives into `directory`, which must exist.
    pub fn receiving(directory: &Path, options: ReceiveOptions) -> io::Result<Self> {
        Ok(Self {
            sending: None,
            receiving: Some(Receiving::new(directory, options)?),
            files: Vec::new(),
            most: MOST_RECORDS,
            unlisted: 0,
            last_error: None,
        })
    }

    /// The same store takes files into `directory`, too, which must exist: for a call that goes both ways.
    pub fn and_receiving(mut self, directory: &Path, options: ReceiveOptions) -> io::Result<Self> {
        self.receiving = Some(Receiving::new(directory, options)?);
        Ok(self)
    }

    /// Like [`DiskStore::receiving`] for a directory that is already open; `path` is its name.
    pub(crate) fn receiving_in(directory: OwnedFd, path: &Path, options: ReceiveOptions) -> Self {
        Self {
            sending: None,
            receiving: Some(Receiving::inside(directory, path, options)),
            files: Vec::new(),
            most: FEW_RECORDS,
            unlisted: 0,
            last_error: None,
        }
    }

    /// The result of each file, in order. At a receiver the first 9,999 and the last, and
    /// [`DiskStore::unlisted`] counts the others.
    pub fn files(&self) -> &[FileRecord] {
        &self.files
    }

    /// Files to send that have the name of an earlier one, and are sent under another.
    pub fn renamed(&self) -> &[Renamed] {
        self.sending.as_ref().map_or(&[], Sending::renamed)
    }

    /// The wire names of files to send that the engine has not requested.
    pub fn unasked(&self) -> Vec<Vec<u8>> {
        self.sending.as_ref().map(Sending::unasked).unwrap_or_default()
    }

    /// Whether there are directories or links among what is to be sent.
    pub fn has_entries(&self) -> bool {
        self.sending.as_ref().is_some_and(Sending::has_entries)
    }

    /// What is to be sent, before the transfer.
    pub fn batch(&mut self) -> Left {
        self.sending.as_mut().map(Sending::batch).unwrap_or_default()
    }

    /// Whether stdin is still to be sent, or is being sent.
    pub fn takes_stdin(&self) -> bool {
        self.sending.as_ref().is_some_and(Sending::takes_stdin)
    }

    /// Number of files without a record, because there were too many.
    pub fn unlisted(&self) -> u64 {
        self.unlisted
    }

    /// Removes the `.part` of the last file, if its bytes turned out to be wrong: wrong data must not be
    /// resumed. Its record then has no path. Returns whether anything was removed.
    pub fn discard_partial(&mut self) -> bool {
        self.close(false, false);
        let gone = self.receiving.as_mut().is_some_and(Receiving::discard);
        if let Some(record) = self.files.last_mut().filter(|_| gone) {
            record.path = None;
        }
        gone
    }

    /// The last error with path and the system's message, for the user.
    pub fn last_error(&self) -> Option<&str> {
        self.last_error.as_deref()
    }

    fn offer(&mut self, info: &FileInfo<'_>) -> Reply<'static> {
        let Some(receiving) = &mut self.receiving else {
            return Reply::Failed(StoreError::Unsupported);
        };
        let again = receiving.is_open()
            && !info.resume
            && self.files.last().is_some_and(|last| last.wire_name == info.name);
        if again {
            // The existing data is the beginning of another file: this is no second one.
            receiving.withdraw();
            self.files.pop();
        } else {
            self.close(false, false);
        }
        let Some(receiving) = &mut self.receiving else {
            return Reply::Failed(StoreError::Unsupported);
        };
        let mut record = FileRecord::new(info.name);
        let reply = match receiving.offer(info, &mut record) {
            Ok(offset) => Reply::Accept { offset },
            Err(No::Unclear) => return Reply::TellCheck,
            Err(No::Refused(why, rule)) => {
                record.outcome = FileOutcome::Refused(why);
                record.name_rule = rule.or(record.name_rule);
                Reply::Refuse(why)
            }
            Err(No::Failed(failed)) => {
                record.outcome = FileOutcome::Skipped(failed.text.clone());
                self.fail(failed)
            }
        };
        if self.files.len() >= self.most {
            self.files.pop();
            self.unlisted += 1;
        }
        self.files.push(record);
        reply
    }

    fn read(&mut self, offset: u64, into: &mut [u8]) -> Reply<'static> {
        let Some(sending) = &mut self.sending else {
            return Reply::Failed(StoreError::Unsupported);
        };
        match sending.read(offset, into) {
            Ok(len) => Reply::Read(len),
            Err(error) => self.fail_current(error),
        }
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> Reply<'static> {
        let Some(receiving) = &mut self.receiving else {
            return Reply::Failed(StoreError::Unsupported);
        };
        match receiving.write(offset, bytes) {
            Ok(()) => Reply::Done,
            Err(failed) => self.fail(failed),
        }
    }

    fn held(&mut self, from: u64) -> Reply<'static> {
        let held = self.receiving.as_mut().map(|receiving| receiving.held(from));
        match held {
            Some(Ok(Some((from, to)))) => Reply::Held { from, to },
            Some(Err(failed)) => self.fail(failed),
            // Harmless: then they are written in order.
            Some(Ok(None)) | None => Reply::Failed(StoreError::Unsupported),
        }
    }

    fn digest(&mut self, kind: DigestKind, len: u64) -> Reply<'static> {
        if let Some(sending) = self.sending.as_ref().filter(|sending| sending.is_open()) {
            return match sending.digest(kind, len) {
                Ok(value) => Reply::Digest(value),
                Err(error) => self.fail_current(error),
            };
        }
        match self.receiving.as_mut().map(|receiving| receiving.digest(kind, len)) {
            Some(Ok(value)) => Reply::Digest(value),
            Some(Err(failed)) => self.fail(failed),
            None => Reply::Failed(StoreError::Unsupported),
        }
    }

    fn fail(&mut self, failed: Failed) -> Reply<'static> {
        self.last_error = Some(failed.text);
        Reply::Failed(failed.kind)
    }

    /// A failure of the file being sent.
    fn fail_current(&mut self, error: io::Error) -> Reply<'static> {
        let path = self.files.last().and_then(|record| record.path.clone());
        self.fail(Failed::new(&path.unwrap_or_else(|| "stdin".into()), error))
    }
}

impl Store for DiskStore {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        match request {
            Request::Next => {
                self.close_current(false, false);
                let Some(sending) = &mut self.sending else { return Reply::NoMoreFiles };
                match sending.next(&mut self.files, &mut self.last_error) {
                    Some(info) => Reply::File(info),
                    None => Reply::NoMoreFiles,
                }
            }
            Request::Offer { info } => self.offer(&info),
            Request::Read { offset, into } => self.read(offset, into),
            Request::Write { offset, bytes } => self.write(offset, bytes),
            Request::Held { from } => self.held(from),
            Request::Digest { kind, len } => self.digest(kind, len),
            Request::Signatures { .. }
            | Request::Older
            | Request::Learn { .. }
            | Request::Find { .. }
            | Request::Copy { .. } => self.differing(request),
            Request::Close { complete, verified } => self.close(complete, verified),
            Request::PassOver => self.pass_over(),
            Request::Aside => self.aside(),
            Request::Settle { complete, verified } => self.settle(complete, verified),
            _ => Reply::Failed(StoreError::Unsupported),
        }
    }
}

impl Drop for DiskStore {
    fn drop(&mut self) {
        self.close(false, false);
    }
}
