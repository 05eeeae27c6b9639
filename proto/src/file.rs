//! Files as the engines see them: what they ask of a store, and what a store answers.
//!
//! An engine never opens a file. It asks (`Request`), the host does the work with whatever it has
//! (a disk, a browser, an object store, memory) and answers (`Reply`). Decisions such as accept,
//! resume, skip or refuse are answers to [`Request::Offer`].

use crate::charset::Encoding;
use core::fmt;

/// Whether a file is a sequence of bytes or of lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FileKind {
    /// Bytes; they arrive as they left.
    #[default]
    Binary,
    /// Lines; the line end is the local one on either side.
    Text,
}

/// What is known of a file before its data moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FileInfo<'a> {
    /// Name as it stands on the wire, decoded. Raw bytes: not yet safe as a path.
    pub name: &'a [u8],
    /// Exact length in bytes, if known.
    pub size: Option<u64>,
    /// Time of the last change, in seconds since 1970-01-01 00:00 UTC.
    pub modified: Option<i64>,
    /// Unix permission bits (`0o644`), without file type and without setuid, setgid, sticky.
    pub mode: Option<u32>,
    /// Bytes or lines.
    pub kind: FileKind,
    /// The character set of the text on the wire, where the protocol names one.
    pub encoding: Encoding,
    /// The sender says that these bytes are no text, and are to stay as they are whatever the
    /// receiver's user thinks of them (ZMODEM's ZCBIN).
    pub verbatim: bool,
    /// The sender offers to continue a file that the receiver has in part.
    pub resume: bool,
    /// Before it is continued, what is here is compared with the sender's, and offered again without
    /// `resume` if it differs.
    pub compared: bool,
    /// The whole file will be compared before it is stored: one that was continued wrongly is found then.
    pub proved: bool,
    /// What the batch still holds, this file included, if known: YMODEM and ZMODEM announce it.
    pub left: Option<Left>,
    /// What the sender wishes about a file of that name that the receiver has. Whether it is
    /// granted is the store's own affair.
    pub wish: Wish,
    /// The sender wants the file skipped where there is none of that name.
    pub only_if_present: bool,
    /// The sender's CRC-32 of the whole file, where the store has asked for it
    /// ([`Reply::TellCheck`]).
    pub check: Option<u32>,
    /// This is text for a user's screen, no file: a server's answer (Kermit's X packet).
    pub screen: bool,
}

/// What a sender wishes about a file of the same name at the receiver (ZMODEM's management option).
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

/// Files and bytes that a batch still holds, the current file included. An estimate.
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

/// Why a receiver does not take a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// A file of that name exists and the policy is not to touch it.
    Exists,
    /// The file here is as new or newer.
    NotNewer,
    /// It does not fit.
    NoSpace,
    /// The name is not acceptable (escapes the directory, a device, too long...).
    Name,
    /// The kind of file (record format, type) is not supported.
    Kind,
    /// Resuming is not possible for this file.
    Resume,
    /// Longer than the protocol can count (4 GiB with ZMODEM).
    TooLong,
    /// The user said no.
    Declined,
    /// The character set of the text is not known.
    CharacterSet,
    /// The receiver does not permit it.
    NotPermitted,
    /// The receiver could not create the file, or could not put it into its place.
    NotStored,
    /// The receiver may take it at another time.
    Later,
}

/// What an engine asks of its store. It is repeated, unchanged, until answered.
///
/// Each variant names the replies that answer it; [`Reply::Failed`] answers any of them and ends
/// the transaction with the blame on the store.
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
        /// Where to put them.
        into: &'a mut [u8],
    },
    /// A receiver is offered a file: [`Reply::Accept`] or [`Reply::Refuse`]. Accepting creates
    /// nothing that a later refusal could not remove.
    ///
    /// Offered again while it is open, without [`FileInfo::resume`]: what is here of it is the
    /// beginning of another file. The answer before is void, and this is the same file, not a
    /// second one.
    Offer {
        /// What the sender said of it.
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
    /// A receiver asks for the next bytes at or behind `from` that are here already of the file it
    /// was offered: [`Reply::Held`]. A store that answers so takes writes in any order, each byte once,
    /// and remembers which bytes it has if the file is closed before it is whole. One that takes
    /// them in order only fails with [`StoreError::Unsupported`], which does no harm.
    Held {
        /// Position in the file.
        from: u64,
    },
    /// A digest over the first `len` bytes of the current file: [`Reply::Digest`].
    Digest {
        /// Which.
        kind: DigestKind,
        /// How many leading bytes it covers.
        len: u64,
    },
    /// The peer wants a command run on this machine: [`Reply::Ran`], or [`Reply::Failed`] where
    /// that is not allowed. Asked only where the configuration allows it.
    Run {
        /// The command, raw. It comes from the peer.
        command: &'a [u8],
    },
    /// A client asks the server for something: [`Reply::Said`], [`Reply::Follow`] or
    /// [`Reply::Denied`], and [`Reply::Failed`] where it cannot be done at all. Text, if it fits there,
    /// goes into `answer`.
    Serve {
        /// The type of packet that it came in.
        kind: u8,
        /// What is asked for, in the words of the protocol
        /// ([`ServerCommand::parse`](crate::kermit::command::ServerCommand::parse)).
        words: &'a [u8],
        /// The kind of files that the client has set by hand, for a command that does not say one.
        files: Option<FileKind>,
        /// Where to put an answer.
        answer: &'a mut [u8],
    },
    /// The current file is over: [`Reply::Done`] once it is safe. At a receiver `complete` means
    /// that the file is whole: put it in its place, and only then answer.
    Close {
        /// Whole, or cut short by a cancel or a failure.
        complete: bool,
        /// What the peer said of the end result, for the record of the sender's store: true if
        /// the peer has compared a digest of the whole file. At a receiver, of a file that is not
        /// `complete`: it was compared and is wrong, so that it must not be continued.
        verified: bool,
    },
}

/// A store's answer to a [`Request`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Reply<'a> {
    /// To `Next`: send this one.
    File(FileInfo<'a>),
    /// To `Next`: that was all.
    NoMoreFiles,
    /// To `Read`: bytes put into the buffer; 0 is the end of the file.
    Read(usize),
    /// To `Offer`: yes, and the first `offset` bytes are here already (0 unless resuming).
    Accept {
        /// Position to start from.
        offset: u64,
    },
    /// To `Offer`: no, and why.
    Refuse(Refusal),
    /// To `Offer`: that depends on the sender's CRC-32 of the whole file. Offer it again with
    /// [`FileInfo::check`], or without [`FileInfo::wish`] if the sender does not tell.
    TellCheck,
    /// To `Held`: these bytes are here; none further if both are equal.
    Held {
        /// Position of the first.
        from: u64,
        /// Position behind the last.
        to: u64,
    },
    /// To `Run`: its exit status; 0 is success.
    Ran(u32),
    /// To `Serve`: done; bytes of text in the buffer.
    Said(usize),
    /// To `Serve`: done, or to be done with [`Request::Next`]: what is to be sent follows by that.
    Follow {
        /// It is text for the client's screen, no file.
        screen: bool,
    },
    /// To `Serve`: refused; bytes of the reason in the buffer.
    Denied(usize),
    /// To `Digest`: its bytes, big endian, in the first bytes of the array.
    Digest([u8; 32]),
    /// To `Write` and `Close`: done and safe.
    Done,
    /// To anything: the store cannot, and why. Also to `Digest` where it has none.
    Failed(StoreError),
}

/// Why a store could not do what was asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// No room left on the device.
    NoSpace,
    /// Not allowed to.
    Permission,
    /// The file is not there any more.
    NotFound,
    /// The device reported an error.
    Io,
    /// A file changed while it was sent.
    Changed,
    /// A file that was asked for could not be read, and was left out.
    Missing,
    /// A file was sent and could not be deleted, which was asked for, too.
    Kept,
    /// More than may be moved.
    Quota {
        /// Bytes that may be.
        most: u64,
    },
    /// This store does not do that.
    Unsupported,
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Quota { most } => {
                return write!(f, "the quota of {most} bytes does not allow for it");
            }
            Self::NoSpace => "no space left in the store",
            Self::Permission => "permission denied by the store",
            Self::NotFound => "file not found in the store",
            Self::Io => "the store reported an input/output error",
            Self::Changed => "the file changed while it was sent",
            Self::Missing => "a file could not be read, and was left out",
            Self::Kept => "a file was sent, but not deleted",
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
            Self::NotNewer => "the file here is not older",
            Self::NoSpace => "not enough space",
            Self::Name => "the name is not acceptable",
            Self::Kind => "the type of file is not supported",
            Self::Resume => "resuming is not possible",
            Self::TooLong => "the file is longer than the protocol can count",
            Self::Declined => "declined",
            Self::CharacterSet => "its character set is not known",
            Self::NotPermitted => "not permitted",
            Self::NotStored => "it could not be stored there",
            Self::Later => "not now; try again later",
        }
    }
}

/// Answers an engine's requests: a disk, an object store, a test's memory.
pub trait Store {
    /// Does what is asked, and says how it went.
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s>;
}
