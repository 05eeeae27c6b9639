//! The disk store: files to send, and a directory to receive into.
//!
//! Receiving is safe by default: names from a peer are confined to the directory ([`names`]),
//! data goes to `NAME.part` and is renamed into place only when the file is whole, and nothing
//! that exists is overwritten unless the [`Collision`] policy says so.

mod batch;
mod digest;
mod error;
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

pub use batch::{Renamed, distinct};
pub(crate) use send::kind_of;

pub use names::{NameRule, PathRule};
pub use settings::StoreSettings;
pub use source::NotDeleted;

pub(crate) use digest::{Running, of as digest_of};
pub(crate) use error::store_error;

use error::Failed;
use receive::{No, Receiving};
use send::Sending;
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wetstring_proto::file::{
    DigestKind, FileInfo, FileKind, Refusal, Reply, Request, Store, StoreError,
};

/// What to do when a file of that name exists (C-Kermit's SET FILE COLLISION).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Collision {
    /// The new file becomes `NAME.~N~`, N one above the highest there is.
    Rename,
    /// The new file takes the place of the old one, once it is whole.
    Replace,
    /// The old file becomes `NAME.~N~`, once the new one is whole, as with C-Kermit and GNU programs.
    /// What is neither a file nor a link stays, and the new file gets the other name.
    #[default]
    Backup,
    /// The new data is added to the old file, once it is whole.
    Append,
    /// The new file is refused.
    Reject,
    /// As `Replace` if the new file is dated later than the old one, else it is refused. A file
    /// that comes without a date is received as by `Rename`.
    Update,
    /// As `Update`, and a longer file replaces a shorter one whatever its date (`sz -N`).
    UpdateOrLonger,
    /// As `Replace` if length or date differ, else it is refused (ZMODEM's ZMDIFF).
    Differing,
}

/// How a file gets another name when its own is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Numbering {
    /// `NAME.~N~`, N one above the highest there is, as C-Kermit and GNU programs do.
    #[default]
    Tildes,
    /// `NAME.N`, the lowest N from 0 on that is free, as lrzsz does.
    Dot,
}

/// What to do with a file that did not arrive whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Incomplete {
    /// Keep `NAME.part`, so that it can be resumed. It bears a mark (the extended attribute
    /// `user.wetstring.part`), since other people's files may be called the same: one without it is
    /// never removed, and `NAME.part.~N~` is used.
    #[default]
    Keep,
    /// Remove it.
    Discard,
}

/// When the disk is touched for a file that is offered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reserve {
    /// At the offer: the blocks of a large file are there before its data, or it is refused.
    #[default]
    Offered,
    /// With its first bytes: for senders who may have forged their address. Until then there is an empty
    /// `.part`, and what an earlier file left stays.
    WithData,
}

/// What to resume when a sender offers it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Resume {
    /// Nothing: every file starts at its beginning.
    Never,
    /// A `NAME.part` that this program left, which is known by its mark; where both ends compare what
    /// is here before it is continued ([`FileInfo::compared`]), also one without the mark, as a copy. Where nobody
    /// compares, only if the sender says the same length and date of the file as when it was begun.
    #[default]
    Part,
    /// As [`Resume::Part`], and as [`Resume::Existing`] where both ends compare the file or its beginning: for a
    /// server, whose clients may all write.
    Compared,
    /// Also a `NAME.part` without the mark and a file under its own name: whatever is there is taken for the
    /// beginning of the new file, and a copy of it is continued. The copy takes the name when it is whole, as
    /// [`Collision`] says. With [`Collision::Backup`] what was continued goes then, if both ends have compared the
    /// file or its beginning. If they have not, it is put aside even with [`Collision::Replace`]: with C-Kermit
    /// nothing tells whether it was the beginning of the same file.
    Existing,
}

/// What a digest of a received file is made of, before the other end is told that they are the same. Whatever it
/// is, a file that was moved, replaced or has grown meanwhile is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Verify {
    /// What came.
    Stream,
    /// What is stored: it is read again, from the device where the system can be told so.
    Stored,
    /// As `Stored`, from memory perhaps, where that takes less than a tenth of the time that the transfer took, or
    /// others may change the directory; files of more than 1 GiB as `Stream`.
    #[default]
    Auto,
}

/// A file to send.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Source {
    /// Where its bytes are.
    pub from: Origin,
    /// Name on the wire; `None` for the name it has (see [`SendOptions::paths`]).
    pub name: Option<Vec<u8>>,
}

/// Where the bytes of a [`Source`] are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    /// A file of this path.
    Path(PathBuf),
    /// This process's stdin, to its end. Length unknown.
    Stdin,
}

impl Source {
    /// A file, sent under its own name.
    pub fn path(path: impl Into<PathBuf>) -> Self {
        Self { from: Origin::Path(path.into()), name: None }
    }

    /// Stdin, sent under `name`.
    pub fn stdin(name: impl Into<Vec<u8>>) -> Self {
        Self { from: Origin::Stdin, name: Some(name.into()) }
    }

    /// The same, sent under `name`.
    pub fn named(mut self, name: impl Into<Vec<u8>>) -> Self {
        self.name = Some(name.into());
        self
    }
}

/// How to send.
#[derive(Clone, Debug)]
pub struct SendOptions {
    /// Send the path as it was given, not only its last part.
    pub paths: bool,
    /// Bytes or lines.
    pub kind: FileKind,
    /// Offer to continue what the receiver has in part.
    pub resume: bool,
    /// A digest to keep while reading; other digests are made by reading again.
    pub digest: Option<DigestKind>,
    /// Each file is text or bytes as its contents show; [`SendOptions::kind`] does not count.
    pub detect: bool,
    /// The protocol brings names into Kermit's common form, in which more of them are the same.
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

/// Says whether so many bytes may be stored that nobody sent.
#[derive(Clone)]
#[allow(clippy::type_complexity)]
pub struct Toll(pub Arc<dyn Fn(u64) -> io::Result<()> + Send + Sync>);

impl fmt::Debug for Toll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Toll")
    }
}

/// How to receive.
///
/// A sender may wish something about a file that exists ([`FileInfo::wish`]). It is granted as far
/// as it only narrows what [`ReceiveOptions::collision`] allows: to be left alone or to be renamed
/// always, to be replaced under some condition or appended to only with [`Collision::Replace`].
/// Whether contents differ is told by a CRC-32 of the whole file, where lengths do not tell it.
#[derive(Clone, Debug)]
pub struct ReceiveOptions {
    /// What to do when the name exists.
    pub collision: Collision,
    /// No file is replaced or appended to: one that would be stays, and what comes gets another name.
    pub keeps: bool,
    /// No file is put aside: the same.
    pub stays: bool,
    /// Asked before what is here already is copied, so that a copy is continued.
    pub toll: Option<Toll>,
    /// What to do with a file that did not arrive whole.
    pub incomplete: Incomplete,
    /// What to resume when the sender offers it.
    pub resume: Resume,
    /// Which part of a name counts.
    pub paths: PathRule,
    /// Store the first file under this name, whatever the sender says. The person has typed it, so
    /// it is taken as it is, unless it has directories: then it is confined like any other.
    pub name: Option<Vec<u8>>,
    /// What another name looks like.
    pub numbering: Numbering,
    /// Give the file the sender's date.
    pub dates: bool,
    /// Give the file the sender's permissions, masked by the umask.
    pub modes: bool,
    /// Wait until the disk has the file before the sender is told that it is whole.
    pub sync: bool,
    /// When blocks are reserved.
    pub reserve: Reserve,
    /// A digest to keep while writing; other digests are made by reading again.
    pub digest: Option<DigestKind>,
    /// What it is made of.
    pub verify: Verify,
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
        }
    }
}

/// What became of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileRecord {
    /// Name on the wire, raw.
    pub wire_name: Vec<u8>,
    /// Where it is here: the file sent, the file stored, or the `.part` that was kept. `None` if
    /// nothing is here (refused, discarded, stdin).
    pub path: Option<PathBuf>,
    /// Where the file is that stood at its name before, and was put aside.
    pub put_aside: Option<PathBuf>,
    /// Bytes in the local file at the end.
    pub size: u64,
    /// Bytes of them that were there before (resumed).
    pub resumed_from: u64,
    /// How it ended.
    pub outcome: FileOutcome,
    /// The rule that changed or refused the name, if one did.
    pub name_rule: Option<NameRule>,
    /// The partner has compared a digest of the whole file.
    pub verified: bool,
    /// The file changed while it was sent.
    pub changed: bool,
    /// The digest of the whole file, if one was kept ([`SendOptions::digest`],
    /// [`ReceiveOptions::digest`]).
    pub digest: Option<(DigestKind, [u8; 32])>,
    /// The file that is sent, as it was when it was opened.
    opened: Option<source::Opened>,
}

/// How a file ended.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FileOutcome {
    /// Still moving.
    Open,
    /// Received whole, and in its place.
    Stored,
    /// Sent whole.
    Sent,
    /// Refused by this store.
    Refused(Refusal),
    /// Could not be read or written: in words.
    Skipped(String),
    /// Cut short. At a receiver [`FileRecord::path`] has the `.part`, if it was kept.
    Partial,
}

impl FileRecord {
    /// The record of a file that has just been begun.
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

/// Records that are kept of received files. A peer may offer names for ever.
const MOST_RECORDS: usize = 10_000;
/// The same where nobody reads them, at a server.
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

    /// The same as [`DiskStore::receiving`] for a directory that is open already; `path` is what it is called.
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

    /// What became of each file, in order. At a receiver the first 9,999 and the last, and
    /// [`DiskStore::unlisted`] counts the others.
    pub fn files(&self) -> &[FileRecord] {
        &self.files
    }

    /// Files to send that have the name of one before them, and travel under another.
    pub fn renamed(&self) -> &[Renamed] {
        self.sending.as_ref().map_or(&[], Sending::renamed)
    }

    /// The names on the wire of files that were to be sent and that the engine has not asked for.
    pub fn unasked(&self) -> Vec<Vec<u8>> {
        self.sending.as_ref().map(Sending::unasked).unwrap_or_default()
    }

    /// Whether stdin is still to be sent, or is being sent.
    pub fn takes_stdin(&self) -> bool {
        self.sending.as_ref().is_some_and(Sending::takes_stdin)
    }

    /// How many files have no record, because there were too many.
    pub fn unlisted(&self) -> u64 {
        self.unlisted
    }

    /// Removes the `.part` of the last file, for one whose bytes turned out to be wrong: what is
    /// wrong must not be continued. Its record then has no path. Returns whether anything was removed.
    pub fn discard_partial(&mut self) -> bool {
        self.close(false, false);
        let gone = self.receiving.as_mut().is_some_and(Receiving::discard);
        if let Some(record) = self.files.last_mut().filter(|_| gone) {
            record.path = None;
        }
        gone
    }

    /// The last error with path and the system's words, for a person.
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
            // What was here is the beginning of another file: this is no second one.
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
            // No harm: then they come in order.
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

    /// Ends what is open. Closing nothing is harmless.
    fn close(&mut self, complete: bool, verified: bool) -> Reply<'static> {
        let record = self.files.last_mut();
        if let Some(sending) = self.sending.as_mut().filter(|sending| sending.is_open()) {
            sending.close(complete, verified, record);
        } else if let Some(receiving) = self.receiving.as_mut().filter(|open| open.is_open())
            && let Err(failed) = receiving.close(complete, verified, record)
        {
            return self.fail(failed);
        }
        self.follow();
        Reply::Done
    }

    /// A file that was received before, and that the last one has put aside, is there now.
    fn follow(&mut self) {
        let Some((last, earlier)) = self.files.split_last_mut() else { return };
        let Some(aside) = &last.put_aside else { return };
        for record in earlier.iter_mut().filter(|record| record.path == last.path) {
            record.path = Some(aside.clone());
        }
    }

    fn fail(&mut self, failed: Failed) -> Reply<'static> {
        self.last_error = Some(failed.text);
        Reply::Failed(failed.kind)
    }

    /// A failure of the file that is being sent.
    fn fail_current(&mut self, error: io::Error) -> Reply<'static> {
        let path = self.files.last().and_then(|record| record.path.clone());
        self.fail(Failed::new(&path.unwrap_or_else(|| "stdin".into()), error))
    }
}

impl Store for DiskStore {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        match request {
            Request::Next => {
                self.close(false, false);
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
            Request::Close { complete, verified } => self.close(complete, verified),
            _ => Reply::Failed(StoreError::Unsupported),
        }
    }
}

impl Drop for DiskStore {
    fn drop(&mut self) {
        self.close(false, false);
    }
}
