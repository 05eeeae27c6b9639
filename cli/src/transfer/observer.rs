//! Observes a transfer: progress and events for the user and for programs.

use std::cell::Cell;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use wetstring_drive::event::Source;
use wetstring_drive::{LineSpec, Watch};
use wetstring_events::{self as events, Counters, Event as Happened};
use wetstring_proto::{Command, DeclinedJob, Entry, Event, FileInfo, FileKind, Refusal, Stats};

use super::direction::Direction;
use crate::transfer::limits::{Guard, Limits};
use crate::transfer::waiting::Waiting;
use crate::ui::format::{self, escaped};
use crate::ui::keyboard::{self, Keys};
use crate::ui::output::{Level, Output};
use crate::ui::progress::{Meter, Progress, Reading};

/// A message of the peer is shown after this long without anything following it.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// More bytes between two files than these are some of the second one: a header and its answer are usually shorter.
const IN_ADVANCE: u64 = 200;

/// The watch of `wst send` and `wst receive`.
pub(crate) struct Observer<'a> {
    ui: &'a Output,
    direction: Direction,
    rate_bps: Option<u32>,
    meter: Option<Meter>,
    /// When the last file ended, or the peers had agreed, and bytes on the line by then.
    before: Option<(Instant, u64)>,
    /// Bytes that have not left the port.
    unsent: u64,
    progress: Progress<'a>,
    /// Files refused or cancelled by either end.
    pub(crate) missed: u64,
    /// The likely reason of a refusal without one, until it is shown.
    likely_refusal: Option<&'static str>,
    /// Complete files without a compared digest.
    pub(crate) unverified: u64,
    /// Complete files with a digest compared by both ends.
    pub(crate) verified: u64,
    /// The last message of the peer, safe to show.
    pub(crate) peer_said: Option<String>,
    /// When it was received, until it is shown: if it is the last one, the end of the program shows it.
    untold: Cell<Option<Instant>>,
    /// Short answers of a server.
    pub(crate) replies: Vec<Vec<u8>>,
    /// Commands of the peer that were not executed, each with whether its job stays in its queue.
    declined: Vec<(DeclinedJob, bool)>,
    /// The current file is text for the screen.
    screen: bool,
    /// The status of the command sent to the peer.
    pub(crate) completed: Option<u8>,
    /// Whether stdin is free for the user's keys.
    listens: bool,
    keys: Option<Keys>,
    guard: Guard,
    /// The name for a file if the protocol sends none.
    unnamed: String,
    /// The limit that was exceeded, if any.
    pub(crate) broken_limit: Option<&'static str>,
    /// The wait for the peer's answer.
    waiting: Option<Waiting>,
}

impl<'a> Observer<'a> {
    /// A new observer. `rate_bps` is the line's, if known.
    pub(crate) fn new(ui: &'a Output, direction: Direction, rate_bps: Option<u32>) -> Self {
        Self {
            ui,
            direction,
            rate_bps,
            meter: None,
            before: None,
            unsent: 0,
            progress: Progress::new(ui),
            missed: 0,
            likely_refusal: None,
            unverified: 0,
            verified: 0,
            peer_said: None,
            untold: Cell::new(None),
            replies: Vec::new(),
            declined: Vec::new(),
            screen: false,
            completed: None,
            listens: false,
            keys: None,
            guard: Guard::new(Limits::default()),
            unnamed: "(no name)".to_owned(),
            broken_limit: None,
            waiting: None,
        }
    }

    /// Also reads keys, if stdin is a terminal and `free`.
    pub(crate) fn listen(mut self, free: bool) -> Self {
        self.listens = free;
        self
    }

    /// What to say once if the peer refuses a file without a reason.
    pub(crate) fn guess_refusal(mut self, likely: Option<&'static str>) -> Self {
        self.likely_refusal = likely;
        self
    }

    /// Ends the transfer when one of these limits is exceeded.
    pub(crate) fn limit(mut self, limits: Limits) -> Self {
        self.guard = Guard::new(limits);
        self
    }

    /// Sets the name for a file if the protocol sends none.
    pub(crate) fn call(mut self, name: &[u8]) -> Self {
        if !name.is_empty() {
            self.unnamed = escaped(name);
        }
        self
    }

    /// The name to show.
    fn title(&self, name: &[u8]) -> String {
        if name.is_empty() { self.unnamed.clone() } else { escaped(name) }
    }

    /// Shows the peer's message, unless it is shown already.
    fn tell(&self) {
        if let (Some(_), Some(text)) = (self.untold.take(), &self.peer_said) {
            self.ui.say(Level::Note, &format!("the peer says: {text}"));
        }
    }

    /// Marks the peer's last message as shown if `text` contains it.
    pub(crate) fn told_by(&self, text: &str) {
        if self.peer_said.as_ref().is_some_and(|said| text.contains(said.as_str())) {
            self.untold.set(None);
        }
        self.tell();
    }

    /// Shows what is awaited, and counts the time until the peer answers.
    pub(crate) fn awaits(mut self, waiting: Waiting) -> Self {
        waiting.begin(self.ui);
        self.waiting = Some(waiting);
        self
    }

    /// Shows the wait until the peer answers.
    fn wait(&mut self, stats: &Stats) {
        if let Some(waiting) = &mut self.waiting {
            let heard = stats.packets_in > 0 || self.meter.is_some();
            waiting.go_on(self.ui, heard, stats.file_bytes > 0);
        }
    }

    /// Whether a file is under way of which all bytes were acknowledged.
    pub(crate) fn all_acknowledged(&self, stats: &Stats) -> bool {
        let size = self.meter.as_ref().and_then(|meter| meter.size);
        let acknowledged = stats.current_acked_bytes;
        size.zip(acknowledged).is_some_and(|(size, acknowledged)| size > 0 && acknowledged >= size)
    }

    /// The command of the line has ended.
    pub(crate) fn line_ended(&mut self, spec: &LineSpec, status: ExitStatus) {
        if let Some(waiting) = &mut self.waiting {
            waiting.ended(spec, status);
        }
    }

    /// How the transfer began, if known.
    pub(crate) fn beginning(&self) -> Option<&Waiting> {
        self.waiting.as_ref()
    }

    /// Removes the bar, and restores the keyboard.
    pub(crate) fn finish(&mut self) {
        if let Some(waiting) = &mut self.waiting {
            waiting.end(self.ui);
        }
        self.keys = None;
        self.listens = false;
        self.progress.clear();
    }

    fn started(&mut self, info: &FileInfo<'_>, offset: u64, stats: &Stats) {
        let name = self.title(info.name);
        self.ui.event(file_started(info, offset));
        if std::mem::take(&mut self.listens) {
            self.keys = Keys::take();
            if self.keys.is_some() {
                self.ui.say(Level::Note, keyboard::HELP);
            }
        }
        if offset > 0 {
            let say = format!("{name}: resuming at {}", format::size(offset));
            self.ui.say(Level::Note, &say);
        }
        self.ui.say(Level::Detail, &format!("{name}: begins"));
        let mut meter = Meter::new(name, info.size, offset, self.rate_bps, stats);
        // Of a file that goes with others in one window the first is heard when some of it has arrived.
        if let Some((since, on_line)) = self.before
            && wire_bytes(stats).saturating_sub(on_line) > IN_ADVANCE
        {
            meter.began = since;
        }
        self.meter = Some(meter);
    }

    fn between_files(&mut self, stats: &Stats) {
        self.before = Some((Instant::now(), wire_bytes(stats)));
    }

    fn done(&mut self, size: u64, verified: bool, stats: &Stats) {
        self.progress.clear();
        let Some(mut meter) = self.meter.take() else { return };
        let reading = meter.read_end(size, stats);
        *(if verified { &mut self.verified } else { &mut self.unverified }) += 1;
        let line = match reading.efficiency {
            Some(efficiency) => format!(", {:.0} % of the line", efficiency * 100.0),
            None => String::new(),
        };
        let truth = if verified { "verified" } else { "not verified by the peer" };
        let again = match reading.again {
            0 => String::new(),
            again => format!(", {}", format::count(again, "retransmission")),
        };
        let known = match reading.known {
            0 => String::new(),
            known => format!(", of which {} were there already,", format::size(known)),
        };
        let say = format!(
            "{}: {} {}{known} in {} ({}{line}){again}, {truth}",
            meter.name,
            self.direction.done(),
            format::size(size),
            format::time(reading.elapsed),
            format::rate(reading.bytes_per_s),
        );
        self.ui.say(Level::Note, &say);
        let known_bytes = reading.known;
        let reading = read(&meter, &reading);
        self.ui.event(Happened::FileDone { reading, verified, known_bytes });
    }

    fn refused(&mut self, name: &[u8], why: Option<Refusal>, by_peer: bool) {
        self.progress.clear();
        self.meter = None;
        self.missed += 1;
        let name = self.title(name);
        let reason = why.map_or("no reason given", Refusal::as_str);
        let who = if by_peer { "refused by the peer" } else { "refused here" };
        self.ui.say(Level::Error, &format!("{name}: {who}: {reason}"));
        if by_peer
            && why.is_none()
            && let Some(likely) = self.likely_refusal.take()
        {
            self.ui.say(Level::Note, likely);
        }
        let why = why.map(|why| why.as_str().to_owned());
        self.ui.event(Happened::FileRefused { name, why, by_peer });
    }

    /// The peer requests something that is not supported. Each kind is reported once.
    fn declined(&mut self, what: DeclinedJob, kept: bool) {
        // Files were to be received, and these were not.
        self.missed +=
            u64::from(self.direction == Direction::Receive && what == DeclinedJob::Execute);
        if self.declined.contains(&(what, kept)) {
            return;
        }
        self.declined.push((what, kept));
        self.progress.clear();
        let has = match what {
            DeclinedJob::Send => "has files for you",
            DeclinedJob::Execute => {
                "has mail or commands for this system, which wst does not deliver"
            }
            DeclinedJob::Fetch => "asks for files of yours, which wst does not send unasked",
            DeclinedJob::FetchByPattern => {
                "asks for files of yours by a pattern, which wst does not support"
            }
            _ => "sent a command that wst does not support",
        };
        let rest = match (what, kept) {
            (_, false) => "; it was refused, and dropped",
            (DeclinedJob::Send, true) => {
                "; they stay in its queue: wst receive -P uucp-g receives them, or -o DIR with wst send"
            }
            _ => "; it stays in its queue",
        };
        self.ui.say(Level::Note, &format!("the peer {has}{rest}"));
        let command = char::from(what.letter()).to_string();
        self.ui.event(Happened::PeerHasWork { command, kept });
    }

    fn cancelled(&mut self, by_peer: bool) {
        self.progress.clear();
        let name = self.meter.take().map_or_else(String::new, |meter| meter.name);
        self.missed += 1;
        let who = if by_peer { "by the peer" } else { "here" };
        let say = match name.is_empty() {
            true if self.screen && by_peer => {
                "the answer may be incomplete: the server reports a failed command".to_owned()
            }
            true if self.screen => "the answer: cancelled here".to_owned(),
            true => format!("a file that had not begun: cancelled {who}"),
            false => format!("{name}: cancelled {who}"),
        };
        self.ui.say(Level::Error, &say);
        self.ui.event(Happened::FileCancelled { name, by_peer });
    }
}

impl Watch for Observer<'_> {
    fn event(&mut self, event: &Event<'_>, stats: &Stats) {
        self.tell();
        self.wait(stats);
        match event {
            Event::Negotiated(text) => {
                self.between_files(stats);
                self.ui.say(Level::Detail, &format!("agreed: {text}"));
                self.ui.event(Happened::Negotiated { text: text.to_string() });
            }
            Event::FileStarted { info, offset } => {
                self.screen = info.extras.kermit().screen;
                if !self.screen {
                    self.started(info, *offset, stats);
                }
            }
            Event::FileDone { .. } if self.screen => {}
            Event::FileDone { size, verified } => {
                self.done(*size, *verified, stats);
                self.between_files(stats);
            }
            Event::Replied(text) => self.replies.push(text.to_vec()),
            Event::FileRefused { name, why, by_peer } => self.refused(name, *why, *by_peer),
            Event::FileCancelled { by_peer } => self.cancelled(*by_peer),
            Event::Completed { status } => {
                self.ui.event(Happened::Completed { status: *status });
                self.completed = Some(crate::transfer::host_commands::exit_code(*status));
            }
            Event::RolesReversed { receives } => {
                self.direction = if *receives { Direction::Receive } else { Direction::Send };
            }
            Event::Declined { what, kept } => self.declined(*what, *kept),
            Event::Message(text) => {
                let text = escaped(text);
                self.ui.event(Happened::Message { text: text.clone() });
                self.peer_said = Some(text);
                self.untold.set(Some(Instant::now()));
            }
            _ => {}
        }
    }

    fn command(&mut self) -> Option<Command> {
        if self.broken_limit.is_some() {
            return Some(Command::Abort);
        }
        self.keys.as_mut()?.command()
    }

    fn wake(&self) -> Option<Source<'_>> {
        self.keys.as_ref()?.wake()
    }

    fn port(&mut self, unsent_bytes: u64, asks: bool) {
        self.unsent = unsent_bytes;
        if let Some(waiting) = self.waiting.as_mut().filter(|_| asks) {
            waiting.asked(self.ui);
        }
    }

    fn news(&mut self, text: &str) {
        self.ui.say(Level::Note, &format!("({text})"));
    }

    fn progress(&mut self, stats: &Stats) {
        if self.untold.get().is_some_and(|came| came.elapsed() > LAST_WORDS) {
            self.tell();
        }
        if self.broken_limit.is_none() {
            self.broken_limit = self.guard.verdict(stats.file_bytes);
        }
        self.wait(stats);
        let Some(meter) = &mut self.meter else { return };
        let unsent = (self.direction == Direction::Send).then_some(self.unsent);
        let reading = meter.read(stats, unsent);
        // The line that says what is awaited has its place until something moves.
        if self.waiting.as_ref().is_none_or(Waiting::is_over) {
            self.progress.show(meter, &reading);
        }
        if self.ui.has_json() {
            self.ui.event(Happened::Progress(read(meter, &reading)));
        }
    }
}

fn wire_bytes(stats: &Stats) -> u64 {
    stats.wire_in_bytes + stats.wire_out_bytes
}

/// What a name is, as the events say it.
pub(super) fn entry_kind(entry: Entry) -> events::EntryKind {
    match entry {
        Entry::Directory => events::EntryKind::Directory,
        Entry::Link => events::EntryKind::Link,
        _ => events::EntryKind::File,
    }
}

fn file_started(info: &FileInfo<'_>, offset: u64) -> Happened {
    Happened::FileStarted {
        name: escaped(info.name),
        size: info.size,
        modified: info.modified,
        mode: info.mode,
        kind: match info.kind {
            FileKind::Text => events::FileKind::Text,
            FileKind::Binary => events::FileKind::Binary,
        },
        entry: entry_kind(info.entry),
        offset,
    }
}

fn read(meter: &Meter, reading: &Reading) -> events::Reading {
    events::Reading {
        name: meter.name.clone(),
        bytes: reading.bytes,
        size: meter.size,
        elapsed_s: reading.elapsed.as_secs_f64(),
        bytes_per_s: reading.bytes_per_s,
        efficiency: reading.efficiency,
        left_s: reading.left.map(|left| left.as_secs_f64()),
        retransmissions: reading.again,
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

impl Drop for Observer<'_> {
    fn drop(&mut self) {
        self.tell();
    }
}
