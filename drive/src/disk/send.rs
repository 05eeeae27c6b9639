//! Sending files.

use super::batch::{Renamed, distinct};
use super::difference::strong;
use super::digest::{self, Running};
use super::error::{Failed, show};
use super::source::Opened;
use super::{FileOutcome, FileRecord, Origin, SendOptions, Source};
use crate::event::Interest;
use crate::os::fd::OwnedFd;
use crate::os::files;
use crate::os::fs::{FileType, Mode, OFlags, Stat, fstat, lstat, mode_of};
use crate::os::io::Errno;
use crate::signals::Signals;
use std::collections::VecDeque;
use std::io;
use std::path::{Component, Path};
use wetstring_proto::difference::{SIGNATURE, signature};
use wetstring_proto::file::{DigestKind, Entry, FileInfo, FileKind, Left};
use wetstring_proto::kermit::names::to_common;

/// What is read with the first request has no rest to read ahead.
const READ_AT_ONCE: i64 = 64 * 1024;

/// The list of files to send, and the current one.
pub(super) struct Sending {
    /// Each with its name on the wire.
    sources: std::vec::IntoIter<Source>,
    /// Those with another name than their own.
    renamed: Vec<Renamed>,
    /// The rest of the batch, with the length that each source had at the start; built when the first file is
    /// requested.
    left: Option<(Left, std::vec::IntoIter<u64>)>,
    options: SendOptions,
    current: Option<Outgoing>,
    /// Files that are sent, and of which the peer has not said that it has them, with the indexes of their records.
    aside: VecDeque<(Outgoing, usize)>,
}

/// The file being sent.
struct Outgoing {
    file: OwnedFd,
    /// The file as it was when it was opened.
    before: Stat,
    /// The announced length; no byte beyond it is sent.
    announced: Option<u64>,
    /// A pipe or stdin: sequential, once.
    stream: bool,
    stdin: bool,
    /// Of a directory or a link: what is sent as its contents.
    entry: Entry,
    target: Vec<u8>,
    /// End of the bytes read so far.
    reached: u64,
    running: Running,
}

impl Sending {
    pub(super) fn new(mut sources: Vec<Source>, options: SendOptions) -> Self {
        let mut names: Vec<Vec<u8>> =
            sources.iter().map(|source| wire_name(source, options.paths)).collect();
        let renamed =
            distinct(
                &mut names,
                |name| {
                    if options.common_names { common(name) } else { name.to_vec() }
                },
            );
        for (source, name) in sources.iter_mut().zip(names) {
            source.name = Some(name);
        }
        let (left, current, aside) = (None, None, VecDeque::new());
        Self { sources: sources.into_iter(), renamed, left, options, current, aside }
    }

    pub(super) fn renamed(&self) -> &[Renamed] {
        &self.renamed
    }

    pub(super) fn is_open(&self) -> bool {
        self.current.is_some()
    }

    pub(super) fn takes_stdin(&self) -> bool {
        let waits = self.sources.as_slice().iter().any(|source| source.from == Origin::Stdin);
        waits || self.current.as_ref().is_some_and(|open| open.stdin)
    }

    pub(super) fn has_entries(&self) -> bool {
        self.sources.as_slice().iter().any(|source| source.entry != Entry::File)
    }

    /// What is to be sent, before the first of it was requested.
    pub(super) fn batch(&mut self) -> Left {
        self.left().0
    }

    /// The names of those not requested yet.
    pub(super) fn unasked(&self) -> Vec<Vec<u8>> {
        let left = self.sources.as_slice().iter();
        left.map(|source| wire_name(source, self.options.paths)).collect()
    }

    /// Opens the next file that can be sent, and adds its record; unreadable ones are recorded as skipped.
    /// `None` after the last.
    pub(super) fn next<'f>(
        &mut self,
        files: &'f mut Vec<FileRecord>,
        last_error: &mut Option<String>,
    ) -> Option<FileInfo<'f>> {
        loop {
            let left = self.left_now();
            let source = self.sources.next()?;
            let wire_name = source.name.clone().unwrap_or_default();
            let mut record = FileRecord::new(&wire_name);
            if let Origin::Path(path) = &source.from {
                record.path = Some(path.clone());
            }
            match open(&source, self.options.digest) {
                Ok(outgoing) => {
                    record.size = outgoing.announced.unwrap_or(0);
                    record.opened = outgoing.opened(record.path.as_deref());
                    record.entry = outgoing.entry;
                    files.push(record);
                    let info = FileInfo { left: Some(left), ..info(&outgoing, &self.options) };
                    let kind = match outgoing.entry {
                        Entry::File if self.options.detect => found_kind(&outgoing),
                        Entry::File => info.kind,
                        _ => FileKind::Binary,
                    };
                    let info = FileInfo { kind, ..info };
                    self.current = Some(outgoing);
                    let name = files.last().map_or(&[][..], |record| &record.wire_name);
                    return Some(FileInfo { name, ..info });
                }
                Err(Failed { text, .. }) => {
                    record.outcome = FileOutcome::Skipped(text.clone());
                    files.push(record);
                    *last_error = Some(text);
                }
            }
        }
    }

    /// The rest of the batch, including the next source. A stream counts as a file without bytes.
    fn left_now(&mut self) -> Left {
        let (left, lens) = self.left();
        let now = *left;
        left.files = left.files.saturating_sub(1);
        left.bytes = left.bytes.saturating_sub(lens.next().unwrap_or(0));
        now
    }

    fn left(&mut self) -> &mut (Left, std::vec::IntoIter<u64>) {
        self.left.get_or_insert_with(|| {
            let lens: Vec<u64> = self.sources.as_slice().iter().map(len_of).collect();
            let files = u32::try_from(lens.len()).unwrap_or(u32::MAX);
            let bytes = lens.iter().fold(0, |sum: u64, len| sum.saturating_add(*len));
            (Left { files, bytes }, lens.into_iter())
        })
    }

    /// Fills `into` from `offset` on; 0 is the end of the file.
    pub(super) fn read(&mut self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let open = self.current.as_mut().ok_or(io::ErrorKind::NotFound)?;
        let room = open.announced.map_or(u64::MAX, |announced| announced.saturating_sub(offset));
        let want = usize::try_from(room).unwrap_or(usize::MAX).min(into.len());
        let into = &mut into[..want];
        if into.is_empty() {
            return Ok(0);
        }
        if open.stream && offset != open.reached {
            let text = "the source is a stream and cannot be read again";
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
        }
        let len = loop {
            let result = if open.entry != Entry::File {
                let rest = usize::try_from(offset).ok().and_then(|at| open.target.get(at..));
                let rest = rest.unwrap_or_default();
                let len = rest.len().min(into.len());
                into[..len].copy_from_slice(&rest[..len]);
                Ok(len)
            } else if open.stream {
                wait(&open.file)?;
                crate::os::io::read(&open.file, &mut *into)
            } else {
                crate::os::io::pread(&open.file, &mut *into, offset)
            };
            match result {
                Err(Errno::INTR | Errno::AGAIN) => {}
                result => break result?,
            }
        };
        open.running.pass(offset, &into[..len]);
        open.reached = open.reached.max(offset + len as u64);
        Ok(len)
    }

    /// Signatures of the blocks of the current file from `from` on; how many bytes. `None` if it cannot be read twice.
    pub(super) fn signatures(
        &mut self,
        from: u64,
        block: u32,
        into: &mut [u8],
    ) -> io::Result<Option<usize>> {
        if self.current.as_ref().is_none_or(|open| open.stream || open.entry != Entry::File) {
            return Ok(None);
        }
        let (mut at, mut bytes) = (from, vec![0; block as usize]);
        for signed in 0..into.len() / SIGNATURE {
            let mut held = 0;
            while held < bytes.len() {
                match self.read(at + held as u64, &mut bytes[held..])? {
                    0 => return Ok(Some(signed * SIGNATURE)),
                    got => held += got,
                }
            }
            let to = &mut into[signed * SIGNATURE..(signed + 1) * SIGNATURE];
            to.copy_from_slice(&signature(&bytes, strong(&bytes)));
            at += u64::from(block);
        }
        Ok(Some(into.len() / SIGNATURE * SIGNATURE))
    }

    pub(super) fn digest(&self, kind: DigestKind, len: u64) -> io::Result<[u8; 32]> {
        let open = self.current.as_ref().ok_or(io::ErrorKind::NotFound)?;
        match open.running.value(kind, len) {
            Some(value) => Ok(value),
            None if open.stream || open.entry != Entry::File => {
                Err(io::ErrorKind::Unsupported.into())
            }
            None => digest::over(&open.file, kind, len),
        }
    }

    /// Closes the current file, if any, and completes its record.
    pub(super) fn close(
        &mut self,
        complete: bool,
        verified: bool,
        record: Option<&mut FileRecord>,
    ) {
        let (Some(open), Some(record)) = (self.current.take(), record) else { return };
        open.close(complete, verified, record);
    }

    /// The current one is not sent.
    pub(super) fn drop_current(&mut self) {
        self.current = None;
    }

    /// Puts the current file aside, which has this record.
    pub(super) fn aside(&mut self, record: usize) {
        self.aside.extend(self.current.take().map(|open| (open, record)));
    }

    /// Closes the oldest file that was put aside. False if there is none.
    pub(super) fn settle(
        &mut self,
        complete: bool,
        verified: bool,
        files: &mut [FileRecord],
    ) -> bool {
        let Some((open, record)) = self.aside.pop_front() else { return false };
        if let Some(record) = files.get_mut(record) {
            open.close(complete, verified, record);
        }
        true
    }
}

impl Outgoing {
    fn close(self, complete: bool, verified: bool, record: &mut FileRecord) {
        record.outcome = if complete { FileOutcome::Sent } else { FileOutcome::Partial };
        record.verified = verified;
        if complete {
            record.size = self.announced.unwrap_or(self.reached);
            record.digest = self.running.whole(record.size);
        }
        let opened = Opened::plain(&self.before);
        let compared = !self.stream && self.entry == Entry::File;
        record.changed = compared && fstat(&self.file).is_ok_and(|now| !opened.is(&now));
    }

    /// What to delete afterwards, if requested.
    fn opened(&self, path: Option<&Path>) -> Option<Opened> {
        path.filter(|_| !self.stream && self.entry == Entry::File)
            .map(|path| Opened::by(path, &self.before))
    }
}

/// Whether the beginning of a file is text: no NUL, no control characters except line ends and the like, and
/// UTF-8 where it is not ASCII. A stream is binary.
fn found_kind(open: &Outgoing) -> FileKind {
    let mut start = [0; 8192];
    let Ok(len) =
        (if open.stream { Ok(0) } else { crate::os::io::pread(&open.file, &mut start[..], 0) })
    else {
        return FileKind::Binary;
    };
    kind_of(&start[..len])
}

/// Whether a file that begins like this is text: UTF-8 characters without control characters that text does not
/// contain.
pub(crate) fn kind_of(start: &[u8]) -> FileKind {
    let control = |byte: &u8| *byte < b' ' && !matches!(byte, 7..=13 | 27);
    // The last character may be truncated.
    let whole = match std::str::from_utf8(start) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    };
    if start.is_empty() || start.iter().any(control) || !whole {
        FileKind::Binary
    } else {
        FileKind::Text
    }
}

/// Kermit's conversion of a name.
fn common(name: &[u8]) -> Vec<u8> {
    let mut out = vec![0; name.len() + 1];
    let len = to_common(name, &mut out);
    out.truncate(len);
    out
}

/// The length of a source, if it is known without opening it.
fn len_of(source: &Source) -> u64 {
    let (Origin::Path(path), Entry::File) = (&source.from, source.entry) else { return 0 };
    std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file).map_or(0, |found| found.len())
}

/// The announced attributes of a file; the caller fills in the name.
fn info(open: &Outgoing, options: &SendOptions) -> FileInfo<'static> {
    FileInfo {
        name: &[],
        size: open.announced,
        modified: (!open.stream).then_some(open.before.st_mtime),
        mode: (!open.stream).then_some(mode_of(&open.before) & 0o777),
        kind: options.kind,
        resume: options.resume && !open.stream && open.entry == Entry::File,
        entry: open.entry,
        ..FileInfo::default()
    }
}

fn open(source: &Source, digest: Option<DigestKind>) -> Result<Outgoing, Failed> {
    if let (Origin::Path(path), Entry::Directory | Entry::Link) = (&source.from, source.entry) {
        return open_entry(path, source.entry, digest);
    }
    let (file, path) = match &source.from {
        Origin::Path(path) => {
            // Opening a FIFO must not block for a writer, nor must a terminal become our controlling terminal.
            let flags = OFlags::RDONLY | OFlags::NOCTTY | OFlags::CLOEXEC | OFlags::NONBLOCK;
            let file = crate::os::fs::open(path, flags, Mode::empty())
                .map_err(|error| Failed::new(path, error))?;
            (file, path.as_path())
        }
        Origin::Stdin => {
            let path = Path::new("stdin");
            let file = files::stdin().map_err(|error| Failed::new(path, error))?;
            (file, path)
        }
    };
    let before = fstat(&file).map_err(|error| Failed::new(path, error))?;
    let kind = FileType::from_raw_mode(before.st_mode);
    let stdin = source.from == Origin::Stdin;
    let stream = match kind {
        FileType::RegularFile => stdin,
        FileType::Fifo => true,
        _ if stdin => true,
        FileType::Directory => return Err(wrong_kind(path, "a directory")),
        _ => return Err(wrong_kind(path, "a device or socket")),
    };
    let mut announced = None;
    if !stream {
        if before.st_size > READ_AT_ONCE {
            files::read_in_order(&file);
        }
        // Files in /proc report length 0 although they have data.
        let really_empty =
            || !matches!(crate::os::io::pread(&file, &mut [0_u8; 1][..], 0), Ok(1..));
        if before.st_size > 0 || really_empty() {
            announced = Some(before.st_size as u64);
        }
    }
    let running = Running::new(digest);
    let (entry, target) = (Entry::File, Vec::new());
    Ok(Outgoing { file, before, announced, stream, stdin, entry, target, reached: 0, running })
}

/// A directory, or a link with its target.
fn open_entry(path: &Path, entry: Entry, digest: Option<DigestKind>) -> Result<Outgoing, Failed> {
    let failed = |error: io::Error| Failed::new(path, error);
    let (directory, target) = if entry == Entry::Link {
        let target = std::fs::read_link(path).map_err(failed)?;
        let above = path.parent().filter(|above| !above.as_os_str().is_empty());
        (above.unwrap_or(Path::new(".")), target.into_os_string().into_encoded_bytes())
    } else {
        (path, Vec::new())
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let file = crate::os::fs::open(directory, flags, Mode::empty())
        .map_err(|error| Failed::new(path, error))?;
    let before = lstat(path).map_err(|error| Failed::new(path, error))?;
    let (announced, running) = (Some(target.len() as u64), Running::new(digest));
    let (stream, stdin) = (false, false);
    Ok(Outgoing { file, before, announced, stream, stdin, entry, target, reached: 0, running })
}

/// Waits until a stream has bytes or has ended. A FIFO that no writer has opened yet has not ended; only waiting
/// can tell. A signal ends the wait, so that Ctrl-C works on a silent source.
fn wait(stream: &OwnedFd) -> io::Result<()> {
    let signals = Signals::installed();
    Signals::wait(signals.as_ref(), Interest::read(files::source(stream)), None)
        .map_err(|_| io::Error::from(io::ErrorKind::Interrupted))?
        .map(drop)
}

fn wrong_kind(path: &Path, kind: &str) -> Failed {
    Failed {
        kind: wetstring_proto::file::StoreError::Unsupported,
        text: format!("{}: expected a file, got {kind}", show(path)),
    }
}

/// The name on the wire: as configured, or the path's last component, or the path without local parts (root,
/// `.` and `..`).
fn wire_name(source: &Source, paths: bool) -> Vec<u8> {
    let Origin::Path(path) = &source.from else {
        return source.name.clone().unwrap_or_else(|| b"stdin".to_vec());
    };
    if let Some(name) = &source.name {
        return name.clone();
    }
    if !paths {
        return path.file_name().unwrap_or(path.as_os_str()).as_encoded_bytes().to_vec();
    }
    let parts: Vec<&[u8]> = path
        .components()
        .filter_map(|part| match part {
            Component::Normal(part) => Some(part.as_encoded_bytes()),
            _ => None,
        })
        .collect();
    parts.join(&b'/')
}
