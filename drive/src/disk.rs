//! The disk store: files to send, and a directory to receive into.
//!
//! Receiving is safe by default: names from a peer are confined to the directory ([`names`]),
//! data goes to `NAME.part` and is renamed into place only when the file is whole, and nothing
//! that exists is overwritten unless the [`Collision`] policy says so.

pub mod names;

pub use names::{NameRule, PathRule};

use std::io;
use std::path::{Path, PathBuf};
use wetstring_proto::file::{DigestKind, FileKind, Refusal, Reply, Request, Store};

/// What to do when a file of that name exists (C-Kermit's SET FILE COLLISION).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Collision {
    /// The new file becomes `NAME.~N~`, N one above the highest there is.
    #[default]
    Rename,
    /// The new file takes the place of the old one, once it is whole.
    Replace,
    /// The old file becomes `NAME.~N~`, once the new one is whole.
    Backup,
    /// The new data is added to the old file, once it is whole.
    Append,
    /// The new file is refused.
    Reject,
    /// As `Replace` if the new file is dated later than the old one, else it is refused. A file
    /// that comes without a date is received as by `Rename`.
    Update,
}

/// What to do with a file that did not arrive whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Incomplete {
    /// Keep `NAME.part`, so that it can be resumed.
    #[default]
    Keep,
    /// Remove it.
    Discard,
}

/// What to resume when a sender offers it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Resume {
    /// Nothing: every file starts at its beginning.
    Never,
    /// A `NAME.part` left by an earlier run.
    #[default]
    Part,
    /// Also a file under its own name, as C-Kermit does: whatever is there is taken for the
    /// beginning of the new file and continued. Only for a person who asks for it.
    Existing,
}

/// A file to send.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Source {
    /// Where its bytes are.
    pub from: From,
    /// Name on the wire; `None` for the name it has (see [`SendOptions::paths`]).
    pub name: Option<Vec<u8>>,
}

/// Where the bytes of a [`Source`] are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum From {
    /// A file of this path.
    Path(PathBuf),
    /// This process's stdin, to its end. Length unknown.
    Stdin,
}

impl Source {
    /// A file, sent under its own name.
    pub fn path(path: impl Into<PathBuf>) -> Self {
        Self { from: From::Path(path.into()), name: None }
    }

    /// Stdin, sent under `name`.
    pub fn stdin(name: impl Into<Vec<u8>>) -> Self {
        Self { from: From::Stdin, name: Some(name.into()) }
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
}

impl Default for SendOptions {
    fn default() -> Self {
        Self { paths: false, kind: FileKind::Binary, resume: false, digest: Some(DigestKind::Xxh3) }
    }
}

/// How to receive.
#[derive(Clone, Debug)]
pub struct ReceiveOptions {
    /// What to do when the name exists.
    pub collision: Collision,
    /// What to do with a file that did not arrive whole.
    pub incomplete: Incomplete,
    /// What to resume when the sender offers it.
    pub resume: Resume,
    /// Which part of a name counts.
    pub paths: PathRule,
    /// Store under this name whatever the sender says (the first file; later ones are numbered
    /// by the collision policy).
    pub name: Option<Vec<u8>>,
    /// Give the file the sender's date.
    pub dates: bool,
    /// Give the file the sender's permissions, masked by the umask.
    pub modes: bool,
    /// Wait until the disk has the file before the sender is told that it is whole.
    pub sync: bool,
    /// A digest to keep while writing; other digests are made by reading again.
    pub digest: Option<DigestKind>,
}

impl Default for ReceiveOptions {
    fn default() -> Self {
        Self {
            collision: Collision::default(),
            incomplete: Incomplete::default(),
            resume: Resume::default(),
            paths: PathRule::default(),
            name: None,
            dates: true,
            modes: true,
            sync: false,
            digest: Some(DigestKind::Xxh3),
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

/// A store on the disk of this machine.
pub struct DiskStore {
    files: Vec<FileRecord>,
}

impl DiskStore {
    /// A store that sends these files, in this order. A file that cannot be read is skipped and
    /// recorded.
    pub fn sending(sources: Vec<Source>, options: SendOptions) -> Self {
        let _ = (sources, options);
        todo!()
    }

    /// A store that receives into `directory`, which must exist.
    pub fn receiving(directory: &Path, options: ReceiveOptions) -> io::Result<Self> {
        let _ = (directory, options);
        todo!()
    }

    /// What became of each file, in order.
    pub fn files(&self) -> &[FileRecord] {
        &self.files
    }

    /// The last error with path and the system's words, for a person.
    pub fn last_error(&self) -> Option<&str> {
        todo!()
    }
}

impl Store for DiskStore {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        let _ = request;
        todo!()
    }
}
