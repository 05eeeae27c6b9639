//! Files as the engines see them: requests to a store and its replies.
//!
//! An engine never opens a file. It issues a `Request`; the host executes it on its store
//! (a disk, a browser, an object store, memory) and returns a `Reply`. Decisions such as accept,
//! resume, skip or refuse are answers to [`Request::Offer`].

mod extras;
mod remote;

pub use extras::{Extras, KermitExtras, ZmodemExtras};
pub use remote::{Remote, RemoteReply};

use core::fmt;

/// Whether a file is a sequence of bytes or of lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FileKind {
    /// Bytes, transferred unchanged.
    #[default]
    Binary,
    /// Lines; each side has its local line end.
    Text,
}

/// What a name of a batch is. Its contents are those of a file, nothing for a directory, and the target for a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Entry {
    /// A regular file.
    #[default]
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
}

impl Entry {
    /// A Unix mode with these permissions that says so. What is not a file always has one.
    pub(crate) fn mode(self, permissions: Option<u32>) -> Option<u32> {
        let bits = match self {
            Self::File => return permissions.map(|mode| mode & 0o777),
            Self::Directory => 0o040_000,
            Self::Link => 0o120_000,
        };
        Some(permissions.unwrap_or(0o755) & 0o777 | bits)
    }

    /// What a Unix mode says.
    pub(crate) const fn of_mode(mode: u32) -> Self {
        match mode & 0o170_000 {
            0o040_000 => Self::Directory,
            0o120_000 => Self::Link,
            _ => Self::File,
        }
    }
}

/// What is known of a file before its data is transferred.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FileInfo<'a> {
    /// Name on the wire, decoded. Raw bytes: not yet safe as a path.
    pub name: &'a [u8],
    /// Exact length in bytes, if known.
    pub size: Option<u64>,
    /// Modification time, in seconds since 1970-01-01 00:00 UTC.
    pub modified: Option<i64>,
    /// Unix permission bits (`0o644`), without file type and without setuid, setgid, sticky.
    pub mode: Option<u32>,
    /// Bytes or lines.
    pub kind: FileKind,
    /// Anything but a file only where both hosts have such things (`entries` of Kermit's `Config`).
    pub entry: Entry,
    /// The sender offers to continue a file that the receiver has in part.
    pub resume: bool,
    /// Before it is resumed, the stored part is compared with the sender's; if it differs the file is
    /// offered again without `resume`.
    pub compared: bool,
    /// The whole file will be compared before it is stored: a wrongly resumed one is detected.
    pub proved: bool,
    /// The rest of the batch, this file included, if known: YMODEM and ZMODEM announce it.
    pub left: Option<Left>,
    /// How the sender asks to handle a collision at the receiver. The store decides
    /// whether to comply.
    pub wish: Wish,
    /// What only one protocol says of it.
    pub extras: Extras,
}

/// How a sender asks to handle a collision at the receiver (ZMODEM's management option, FTP's APPE).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Wish {
    /// Nothing: the receiver decides.
    #[default]
    Unsaid,
    /// Replace it if the sender's is newer or longer.
    NewerOrLonger,
    /// Replace it if a check over the contents differs.
    DifferentCheck,
    /// Append to it.
    Append,
    /// Replace it.
    Overwrite,
    /// Replace it if the sender's is newer.
    Newer,
    /// Replace it if length or date differ.
    Different,
    /// Leave it alone.
    Protect,
    /// Store under a new name.
    Rename,
}

/// Files and bytes left in a batch, the current file included. An estimate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Left {
    /// Files.
    pub files: u32,
    /// Bytes.
    pub bytes: u64,
}

/// A digest over the leading bytes of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DigestKind {
    /// CRC-32 as ZMODEM's ZCRC has it (4 bytes, big endian).
    Crc32,
    /// XXH3, 128 bits (16 bytes, big endian): whole files between our own ends.
    Xxh3,
}

/// Why a receiver refuses a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// A file of that name exists and the policy is to keep it.
    Exists,
    /// The existing file is as new or newer.
    NotNewer,
    /// It does not fit.
    NoSpace,
    /// The name is not acceptable (escapes the directory, a device, too long...).
    Name,
    /// The kind of file (record format, type) is not supported.
    Kind,
    /// Resuming is not possible for this file.
    Resume,
    /// Longer than the protocol's limit (4 GiB with ZMODEM).
    TooLong,
    /// The user declined.
    Declined,
    /// Unknown character set of the text.
    CharacterSet,
    /// The receiver does not permit it.
    NotPermitted,
    /// The receiver could not create the file, or could not rename it into place.
    NotStored,
    /// The receiver may accept it later.
    Later,
}

/// An engine's request to its store. It is repeated, unchanged, until answered.
///
/// Each variant names the replies that answer it; [`Reply::Failed`] answers any of them and ends
/// the session with the blame on the store.
#[derive(PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Request<'a> {
    /// A sender wants the next file: [`Reply::File`] or [`Reply::NoMoreFiles`].
    Next,
    /// A sender wants bytes of the current file from `offset`, as many as fit in `into`:
    /// [`Reply::Read`] with how many were put there; 0 is the end of the file. Fewer than fit is
    /// allowed at any time.
    Read {
        /// Position in the file.
        offset: u64,
        /// Destination buffer.
        into: &'a mut [u8],
    },
    /// A receiver is offered a file: [`Reply::Accept`] or [`Reply::Refuse`]. Accepting creates
    /// nothing that a later refusal could not remove.
    ///
    /// Offered again while it is open, without [`FileInfo::resume`]: the stored part belongs to
    /// another file. The previous reply is void, and this is the same file, not a
    /// second one.
    Offer {
        /// The sender's description of it.
        info: FileInfo<'a>,
    },
    /// A receiver wants bytes stored at `offset`: [`Reply::Done`]. Offsets never go back, unless
    /// the store has said with [`Reply::Held`] that they may.
    Write {
        /// Position in the file.
        offset: u64,
        /// The bytes.
        bytes: &'a [u8],
    },
    /// A receiver asks for the next range at or after `from` that the store already has of the offered
    /// file: [`Reply::Held`]. A store that answers so accepts writes in any order, each byte once,
    /// and remembers which bytes it has if the file is closed before it is complete. One that accepts
    /// only sequential writes fails with [`StoreError::Unsupported`], which is harmless.
    Held {
        /// Position in the file.
        from: u64,
    },
    /// A digest over the first `len` bytes of the current file: [`Reply::Digest`].
    Digest {
        /// The kind of digest.
        kind: DigestKind,
        /// Number of leading bytes it covers.
        len: u64,
    },
    /// A sender wants signatures of the current file's blocks of `block` bytes from `from` on, as many as fit in `into`, 12
    /// bytes each ([`signature`](crate::difference::signature)): [`Reply::Read`] with how many bytes were put there. A store
    /// that cannot tell them fails with [`StoreError::Unsupported`], which is harmless.
    Signatures {
        /// Position of the first block.
        from: u64,
        /// The length of each.
        block: u32,
        /// Destination buffer: whole signatures.
        into: &'a mut [u8],
    },
    /// A receiver asks whether the file that was just accepted will replace an older version, in which parts of it can be
    /// looked for: [`Reply::Done`] if so. Any failure says no, and is harmless.
    Older,
    /// A receiver has more signatures of the sender's blocks of `block` bytes, the first of which is at `from`. They are
    /// cut anywhere: [`Reply::Done`]. Any failure is harmless: then nothing is found.
    Learn {
        /// Position of the first block of the file's list; the same each time.
        from: u64,
        /// The length of each block; the same each time.
        block: u32,
        /// The next bytes of the list.
        bytes: &'a [u8],
    },
    /// A receiver asks which blocks of the list are in the older version, from number `first` on. The list is complete.
    /// [`Reply::Done`] with a bit set for each that is there, the lowest of each byte first. Any failure is harmless: then
    /// none is.
    Find {
        /// The number of the first block in question.
        first: u64,
        /// Bits, which are cleared.
        into: &'a mut [u8],
    },
    /// A receiver wants the bytes from `from` to `to` taken from the older version: whole blocks that were found, where the
    /// next write would be: [`Reply::Done`]. If they were not found it fails with [`StoreError::NotFound`].
    Copy {
        /// Position in the new file.
        from: u64,
        /// Position after the last byte.
        to: u64,
    },
    /// The peer asks for something other than a file: [`Reply::Remote`].
    Remote(Remote<'a>),
    /// The current file ends: [`Reply::Done`] once it is durable. At a receiver `complete` means
    /// that the whole file has arrived: rename it into place, and only then reply.
    Close {
        /// Complete, or cut short by a cancel or a failure.
        complete: bool,
        /// The peer's result, for the records of the sender's store: true if
        /// the peer has compared a digest of the whole file. At a receiver, of a file that is not
        /// `complete`: it was compared and differs, so that it must not be resumed.
        verified: bool,
    },
    /// A sender does not send the current file, because the peer has no such entries: [`Reply::Done`].
    PassOver,
    /// A sender has sent all of the current file, and continues with the next before the peer has stored this one:
    /// [`Reply::Done`]. A store that cannot have several open fails with [`StoreError::Unsupported`], which is
    /// harmless: then the file is closed before the next one.
    Aside,
    /// The oldest file that was put aside is finished, as with `Close`: [`Reply::Done`]. Before the end of a batch each
    /// of them is settled; `Close` with some of them aside is a failure, and they are incomplete.
    Settle {
        /// The peer has stored the whole file.
        complete: bool,
        /// The peer has compared a digest of the whole file.
        verified: bool,
    },
    /// A sender wants these bytes compressed, as the next of a frame: [`Reply::Packed`], with all that was made of them.
    /// Asked only of a host
    /// that has said it can (`compressor` of Kermit's `Config`), and answered by its loop rather than by a store.
    Pack {
        /// The bytes.
        bytes: &'a [u8],
        /// Room for a few bytes more than those.
        into: &'a mut [u8],
        /// A frame begins with them.
        begin: bool,
        /// The frame ends after them.
        end: bool,
        /// Bits per second of the line, 0 if unknown: a slow one is worth more effort.
        rate_bps: u32,
    },
    /// A receiver wants these bytes of a frame decompressed: [`Reply::Unpacked`]. As [`Request::Pack`], for a host that
    /// has said it can; it fails for what is no frame, or one that needs a window of more than
    /// 2^20 bytes.
    Unpack {
        /// The bytes.
        bytes: &'a [u8],
        /// Room for what comes of them.
        into: &'a mut [u8],
        /// A frame begins with them.
        begin: bool,
    },
}

/// A store's answer to a [`Request`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Reply<'a> {
    /// To `Next`: send this one.
    File(FileInfo<'a>),
    /// To `Next`: no more files.
    NoMoreFiles,
    /// To `Read` and `Signatures`: bytes put into the buffer; 0 is the end of the file.
    Read(usize),
    /// To `Offer`: accepted; the first `offset` bytes are stored already (0 unless resuming).
    Accept {
        /// Position to start from.
        offset: u64,
    },
    /// To `Offer`: refused, with the reason.
    Refuse(Refusal),
    /// To `Offer`: that depends on the sender's CRC-32 of the whole file. Offer it again with
    /// [`ZmodemExtras::check`], or without [`FileInfo::wish`] if the sender does not tell.
    TellCheck,
    /// To `Held`: these bytes are stored; none further if both are equal.
    Held {
        /// Position of the first.
        from: u64,
        /// Position after the last.
        to: u64,
    },
    /// To `Remote`: what came of it.
    Remote(RemoteReply),
    /// To `Digest`: its bytes, big endian, in the first bytes of the array.
    Digest([u8; 32]),
    /// To all others: done, and durable where bytes are stored.
    Done,
    /// To `Pack`: this many bytes, at least one, were made of all that were given.
    Packed(usize),
    /// To `Unpack`.
    Unpacked {
        /// Bytes that were taken.
        used: usize,
        /// Bytes that came of them. If they fill the room there may be more.
        made: usize,
        /// The frame is over.
        over: bool,
    },
    /// To any request: the store failed, with the reason. Also to `Digest` if it has none.
    Failed(StoreError),
}

/// Why a store request failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// No room left on the device.
    NoSpace,
    /// Permission denied.
    Permission,
    /// The file no longer exists.
    NotFound,
    /// The device reported an error.
    Io,
    /// A file changed while it was sent.
    Changed,
    /// A requested file could not be read and was skipped.
    Missing,
    /// A file was sent but could not be deleted as requested.
    Kept,
    /// The quota is exceeded.
    Quota {
        /// The quota in bytes.
        most: u64,
    },
    /// Not supported by this store.
    Unsupported,
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Quota { most } => {
                return write!(f, "the quota of {most} bytes is exceeded");
            }
            Self::NoSpace => "no space left in the store",
            Self::Permission => "permission denied by the store",
            Self::NotFound => "file not found in the store",
            Self::Io => "the store reported an input/output error",
            Self::Changed => "the file changed while it was sent",
            Self::Missing => "a file could not be read and was skipped",
            Self::Kept => "a file was sent but could not be deleted",
            Self::Unsupported => "not supported by the store",
        })
    }
}

impl core::error::Error for StoreError {}

impl Refusal {
    /// The reason in words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exists => "a file of that name exists",
            Self::NotNewer => "the existing file is not older",
            Self::NoSpace => "not enough space",
            Self::Name => "the name is not acceptable",
            Self::Kind => "the type of file is not supported",
            Self::Resume => "resuming is not possible",
            Self::TooLong => "the file is longer than the protocol allows",
            Self::Declined => "declined",
            Self::CharacterSet => "unknown character set",
            Self::NotPermitted => "not permitted",
            Self::NotStored => "it could not be stored",
            Self::Later => "not now; try again later",
        }
    }
}

/// Executes an engine's requests: a disk, an object store, a test's memory.
pub trait Store {
    /// Executes a request.
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s>;
}
