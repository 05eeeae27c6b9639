//! Events of an engine as those of `wst --json`, sent to the thread of Python that waits for them.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Instant;
use wetstring_drive::Watch;
use wetstring_drive::disk::{FileOutcome, FileRecord};
use wetstring_drive::event::Source;
use wetstring_drive::os::stream::Stream;
use wetstring_events::{self as events, Counters, Event as Happened, FileResult};
use wetstring_proto::{Command, Entry, Event, FileInfo, FileKind, Stats};

/// Text from elsewhere, safe to show: control characters, backslashes and what is not UTF-8 are escaped.
pub(crate) fn escaped(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' => out.push_str("\\\\"),
                c if c.is_control() => out.extend(c.escape_default()),
                c => out.push(c),
            }
        }
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// A file in transfer.
struct Current {
    name: String,
    size: Option<u64>,
    offset: u64,
    began: Instant,
    before: Stats,
}

/// Sends events to Python, and takes the user's commands from it.
pub(crate) struct Teller {
    tell: Sender<String>,
    commands: Receiver<Command>,
    wake: Stream,
    rate_bps: Option<u32>,
    current: Option<Current>,
    /// Files refused or cancelled by either end.
    pub(crate) missed: u64,
    /// Complete files whose digest both ends have compared.
    pub(crate) verified: u64,
    /// Complete files without.
    pub(crate) unverified: u64,
    /// The last message of the peer.
    pub(crate) peer_said: Option<String>,
    /// Short answers of a server.
    pub(crate) replies: Vec<u8>,
    /// The current file is text for the screen.
    screen: bool,
}

impl Teller {
    pub(crate) fn new(tell: Sender<String>, commands: Receiver<Command>, wake: Stream) -> Self {
        Self {
            tell,
            commands,
            wake,
            rate_bps: None,
            current: None,
            missed: 0,
            verified: 0,
            unverified: 0,
            peer_said: None,
            replies: Vec::new(),
            screen: false,
        }
    }

    pub(crate) fn on_line(&mut self, rate_bps: Option<u32>) {
        self.rate_bps = rate_bps.filter(|rate| *rate > 0);
    }

    pub(crate) fn say(&self, event: Happened) {
        // Nothing listens any more if the transfer was dropped.
        let _ = self.tell.send(event.line());
    }

    fn started(&mut self, info: &FileInfo<'_>, offset: u64, stats: &Stats) {
        let name = escaped(info.name);
        self.say(Happened::FileStarted {
            name: name.clone(),
            size: info.size,
            modified: info.modified,
            mode: info.mode,
            kind: match info.kind {
                FileKind::Text => events::FileKind::Text,
                FileKind::Binary => events::FileKind::Binary,
            },
            entry: entry_kind(info.entry),
            offset,
        });
        let (size, began) = (info.size, Instant::now());
        self.current = Some(Current { name, size, offset, began, before: *stats });
    }

    fn done(&mut self, size: u64, verified: bool, stats: &Stats) {
        let Some(current) = self.current.take() else { return };
        *(if verified { &mut self.verified } else { &mut self.unverified }) += 1;
        let reading = self.reading(&current, size, stats);
        let known_bytes = stats.known_bytes - current.before.known_bytes;
        self.say(Happened::FileDone { reading, verified, known_bytes });
    }

    fn reading(&self, current: &Current, bytes: u64, stats: &Stats) -> events::Reading {
        let elapsed_s = current.began.elapsed().as_secs_f64();
        let fresh = bytes.saturating_sub(current.offset) as f64;
        let bytes_per_s = if elapsed_s > 0.0 { fresh / elapsed_s } else { 0.0 };
        let left = current.size.map(|size| size.saturating_sub(bytes) as f64);
        let again = (stats.retransmissions - current.before.retransmissions)
            + (stats.naks_out - current.before.naks_out);
        events::Reading {
            name: current.name.clone(),
            bytes,
            size: current.size,
            elapsed_s,
            bytes_per_s,
            // A character is ten bits on a line.
            efficiency: self.rate_bps.map(|rate| bytes_per_s * 10.0 / f64::from(rate)),
            left_s: left.filter(|_| bytes_per_s > 0.0).map(|left| left / bytes_per_s),
            retransmissions: again,
        }
    }
}

impl Watch for Teller {
    fn event(&mut self, event: &Event<'_>, stats: &Stats) {
        match event {
            Event::Negotiated(text) => self.say(Happened::Negotiated { text: text.to_string() }),
            Event::FileStarted { info, offset } => {
                self.screen = info.extras.kermit().screen;
                if !self.screen {
                    self.started(info, *offset, stats);
                }
            }
            Event::FileDone { size, verified } if !self.screen => {
                self.done(*size, *verified, stats);
            }
            Event::FileRefused { name, why, by_peer } => {
                self.current = None;
                self.missed += 1;
                let why = why.map(|why| why.as_str().to_owned());
                self.say(Happened::FileRefused { name: escaped(name), why, by_peer: *by_peer });
            }
            Event::FileCancelled { by_peer } => {
                self.missed += 1;
                let name = self.current.take().map_or_else(String::new, |current| current.name);
                self.say(Happened::FileCancelled { name, by_peer: *by_peer });
            }
            Event::Completed { status } => self.say(Happened::Completed { status: *status }),
            Event::Message(text) => {
                let text = escaped(text);
                self.say(Happened::Message { text: text.clone() });
                self.peer_said = Some(text);
            }
            Event::Replied(text) => self.replies.extend_from_slice(text),
            _ => {}
        }
    }

    fn progress(&mut self, stats: &Stats) {
        let Some(current) = &self.current else { return };
        let bytes = stats.current_acked_bytes.unwrap_or(stats.current_file_bytes);
        let reading = self.reading(current, bytes, stats);
        self.say(Happened::Progress(reading));
    }

    fn command(&mut self) -> Option<Command> {
        use std::io::Read as _;
        let command = self.commands.try_recv().ok()?;
        // One byte was sent with each command.
        let _ = (&self.wake).read(&mut [0]);
        Some(command)
    }

    fn wake(&self) -> Option<Source<'_>> {
        Some(Source::of(&self.wake))
    }
}

/// The counters of a transfer.
pub(crate) fn counters(stats: &Stats) -> Counters {
    Counters {
        files_done: stats.files_done,
        files_skipped: stats.files_skipped,
        file_bytes: stats.file_bytes,
        wire_out_bytes: stats.wire_out_bytes,
        wire_in_bytes: stats.wire_in_bytes,
        encoded_bytes: stats.encoded_bytes,
        unpacked_bytes: stats.unpacked_bytes,
        packed_bytes: stats.packed_bytes,
        repeated_bytes: stats.repeated_bytes,
        packets_out: stats.packets_out,
        packets_in: stats.packets_in,
        retransmissions: stats.retransmissions,
        naks_out: stats.naks_out,
        naks_in: stats.naks_in,
        timeouts: stats.timeouts,
        damaged: stats.damaged,
        duplicates: stats.duplicates,
        noise_bytes: stats.noise_bytes,
        longest_packet_bytes: stats.longest_packet_bytes,
    }
}

fn entry_kind(entry: Entry) -> events::EntryKind {
    match entry {
        Entry::Directory => events::EntryKind::Directory,
        Entry::Link => events::EntryKind::Link,
        _ => events::EntryKind::File,
    }
}

/// A file of the store.
pub(crate) fn file_result(record: &FileRecord) -> FileResult {
    let (outcome, why) = match &record.outcome {
        FileOutcome::Stored => ("stored", None),
        FileOutcome::Sent => ("sent", None),
        FileOutcome::Refused(why) => ("refused", Some(why.as_str().to_owned())),
        FileOutcome::Skipped(why) => ("skipped", Some(why.clone())),
        FileOutcome::PassedOver => ("passed-over", None),
        _ => ("partial", None),
    };
    FileResult {
        name: escaped(&record.wire_name),
        entry: entry_kind(record.entry),
        path: record.path.as_deref().map(shown),
        put_aside: record.put_aside.as_deref().map(shown),
        size: record.size,
        resumed_from: record.resumed_from,
        outcome,
        why,
        name_rule: record.name_rule.map(|rule| rule.to_string()),
        verified: record.verified,
        changed: record.changed,
    }
}
