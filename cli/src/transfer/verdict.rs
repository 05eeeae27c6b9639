//! The report of a transfer at its end, and its exit code.

use std::collections::HashSet;

use wetstring_drive::disk::{FileOutcome, FileRecord};
use wetstring_drive::{Ended, in_words};
use wetstring_events::{FileResult, Summary, Transfer};
use wetstring_proto::{Entry, Failure, FailureKind, Outcome, Refusal};

use crate::transfer::direction::Direction;
use crate::transfer::observer::{Observer, counters, entry_kind};
use crate::transfer::store::FileStore;
use crate::transfer::waiting::Waiting;
use crate::ui::ending::{Ending, Tally};
use crate::ui::exit::{self, Exit, LineKind};
use crate::ui::format::{self, escaped, shown};
use crate::ui::output::{Level, Output};

/// Who takes symbolic links.
const TAKES_LINKS: &str = "receive -r --links inside takes those that lead nowhere outside";

/// A finished transfer, as seen by the store.
pub(crate) struct Verdict<'a> {
    pub(crate) ui: &'a Output,
    pub(crate) direction: Direction,
    pub(crate) file_store: &'a FileStore,
    /// The name for a file if the protocol sends none.
    pub(crate) unnamed: &'a [u8],
    pub(crate) medium: LineKind,
}

impl Verdict<'_> {
    /// Reports what only the store knows: where files are, which could not be read, and which were sent in part.
    pub(crate) fn report_records(&self, resumable: bool, ended: &Ended) {
        let passed = self.passed_over();
        if passed > 0 && self.direction == Direction::Receive {
            let say = format!("directories were not made ({passed}): -r makes them");
            self.ui.say(Level::Note, &say);
        } else if passed > 0 {
            let say =
                format!("directories and links were left out ({passed}): the receiver takes none");
            self.ui.say(Level::Note, &say);
        }
        let unsent = |record: &&FileRecord| {
            let over = matches!(record.outcome, FileOutcome::Sent | FileOutcome::PassedOver);
            record.entry == Entry::Link && !over
        };
        let unsent = self.file_store.files().iter().filter(unsent).count();
        if unsent > 0 && self.direction == Direction::Send {
            let say = format!("symbolic links were not taken ({unsent}): wst {TAKES_LINKS}");
            self.ui.say(Level::Note, &say);
        }
        for record in self.file_store.files() {
            let nameless = record.wire_name.is_empty();
            let name = escaped(if nameless { self.unnamed } else { &record.wire_name });
            let path = record.path.as_ref().map(|path| shown(path.as_os_str()));
            match (&record.outcome, &path) {
                (FileOutcome::Stored, Some(path)) => {
                    let rule = record.name_rule.map_or(String::new(), |rule| format!(" ({rule})"));
                    let same = path.rsplit('/').next() == Some(name.as_str()) && rule.is_empty();
                    let level = if same { Level::Detail } else { Level::Note };
                    self.ui.say(level, &format!("{name}: stored as {path}{rule}"));
                    if let Some(old) = &record.put_aside {
                        let old = shown(old.as_os_str());
                        let say = format!("{name}: the previous file is now {old}");
                        self.ui.say(Level::Note, &say);
                    }
                }
                (FileOutcome::Partial, Some(path)) if self.direction == Direction::Receive => {
                    let size = format::size(record.size);
                    let advice = if resumable { "; send it again with --resume" } else { "" };
                    let say = format!("{name}: {size} kept in {path}{advice}");
                    self.ui.say(Level::Note, &say);
                }
                (FileOutcome::Partial | FileOutcome::Open, Some(_))
                    if resumable && was_cut(ended) =>
                {
                    let say = format!(
                        "{name}: sent in part; --resume sends the rest, if the peer keeps what came"
                    );
                    self.ui.say(Level::Note, &say);
                }
                (FileOutcome::Skipped(why), _) => {
                    self.ui.say(Level::Error, &format!("{name}: skipped: {why}"));
                }
                (FileOutcome::Refused(Refusal::NotPermitted), _) if record.entry == Entry::Link => {
                    self.ui.say(
                        Level::Note,
                        &format!("{name}: refused, a symbolic link; {TAKES_LINKS}"),
                    );
                }
                (FileOutcome::Refused(why), _) => {
                    let rule = record.name_rule.map_or(String::new(), |rule| format!(" ({rule})"));
                    let say = format!("{name}: refused: {}{rule}", why.as_str());
                    self.ui.say(Level::Detail, &say);
                }
                _ => {}
            }
            if record.changed {
                self.ui.say(Level::Error, &format!("{name}: changed while it was sent"));
            }
        }
    }

    /// Directories and links that were not made, but for directories that their files make.
    fn passed_over(&self) -> u64 {
        let files = self.file_store.files();
        if !files.iter().any(is_passed_over) {
            return 0;
        }
        let mut made = HashSet::new();
        let sent = files.iter().filter(|record| record.outcome == FileOutcome::Sent);
        for record in sent {
            let name = &record.wire_name;
            let slashes = name.iter().enumerate().filter(|(_, byte)| **byte == b'/');
            made.extend(slashes.map(|(at, _)| &name[..at]));
        }
        let lost =
            |record: &&FileRecord| is_passed_over(record) && !made.contains(&record.wire_name[..]);
        files.iter().filter(lost).count() as u64
    }

    pub(crate) fn conclude(&self, ended: &Ended, observer: &Observer<'_>) -> Ending {
        let (exit, mut message) = self.verdict(ended, observer);
        if ended.outcome != Outcome::Done && self.sent_part_of_stdin() {
            message += "; what was read from stdin is gone, so this cannot be resumed: run the \
                        whole pipeline again, or send a file, which --resume continues";
        }
        observer.told_by(&message);
        if let Some(percent) =
            (ended.stats.packed_bytes * 100).checked_div(ended.stats.unpacked_bytes)
        {
            let all = format::size(ended.stats.unpacked_bytes);
            self.ui.say(Level::Note, &format!("{all} compressed to {percent} %"));
        }
        let transfer = Transfer {
            files: self.file_store.files().iter().map(file_result).collect(),
            unlisted: self.file_store.unlisted(),
            verified: observer.verified,
            unverified: observer.unverified,
            elapsed_s: ended.elapsed.as_secs_f64(),
            stats: counters(&ended.stats),
        };
        let records = self.file_store.files();
        let unread = |record: &&FileRecord| matches!(record.outcome, FileOutcome::Skipped(_));
        let sent = records.iter().filter(|record| record.outcome == FileOutcome::Sent);
        Ending {
            exit,
            message,
            summary: Some(Summary::Transfer(Box::new(transfer))),
            tally: Box::new(Tally {
                unread: records.iter().filter(|record| unread(record) || record.changed).count(),
                sent: sent.cloned().collect(),
                completed: observer.completed,
                cut: matches!(
                    ended.outcome,
                    Outcome::Failed(Failure { kind: FailureKind::Refused, .. })
                ),
            }),
        }
    }

    fn verdict(&self, ended: &Ended, observer: &Observer<'_>) -> (Exit, String) {
        // A signal after completion, such as the hang-up of a terminal, changes nothing.
        if let Some(signal) = ended.interrupted.filter(|_| ended.outcome != Outcome::Done) {
            return (Exit::Interrupted, format!("interrupted by signal {signal}"));
        }
        if let Some(limit) = observer.broken_limit.filter(|_| ended.outcome != Outcome::Done) {
            return (Exit::Timeout, limit.to_owned());
        }
        let failure = match ended.outcome {
            Outcome::Failed(failure) => failure,
            Outcome::Done => return self.done(observer),
        };
        if failure.kind == FailureKind::Refused {
            // Like a skipped file, except for the files that would have followed.
            let (exit, message) = self.done(observer);
            let exit = if exit == Exit::Done { Exit::Skipped } else { exit };
            return (exit, format!("{message}; {}", failure.kind));
        }
        let beginning = observer.beginning();
        if let (FailureKind::WrongPeer, Some(who)) =
            (failure.kind, beginning.and_then(Waiting::wrong_peer))
        {
            return (Exit::Peer, who);
        }
        let all = observer.all_acknowledged(&ended.stats);
        let guess = beginning.and_then(|beginning| beginning.guess(failure, &ended.stats, all));
        let exit = Exit::of(failure);
        let mut message = failure.to_string();
        if let (FailureKind::PeerError, Some(said)) = (failure.kind, &observer.peer_said) {
            // C-Kermit's server says so too.
            let login = said.eq_ignore_ascii_case("login required");
            let advice = if login { "; wst get or put with --user NAME logs in" } else { "" };
            return (exit, format!("the peer says: {said}{advice}{}", self.not_sent()));
        }
        let said_why = failure.kind == FailureKind::Closed && observer.peer_said.is_some();
        let detail = match exit {
            Exit::Store => self.file_store.last_error().map(str::to_owned),
            Exit::Peer => observer.peer_said.clone(),
            // A reason sent before the hang-up is shown.
            Exit::Line if said_why => observer.peer_said.clone(),
            // How its command ended says more than a broken pipe.
            Exit::Line if beginning.is_some_and(Waiting::command_has_ended) => None,
            _ => ended.error.as_ref().map(in_words),
        };
        let told = said_why || failure.kind == FailureKind::PeerError && detail.is_some();
        let heard = ended.stats.packets_in > 0;
        let advice = if told { "" } else { exit::advice(failure, self.medium, heard) };
        // The store's message has the path and the system's error.
        if let (Exit::Store, Some(detail)) = (exit, &detail) {
            message.clone_from(detail);
        }
        let detail = detail.filter(|detail| *detail != message);
        let advice = guess.as_deref().unwrap_or(advice);
        for more in [detail.as_deref().unwrap_or(""), advice] {
            if !more.is_empty() {
                message = format!("{message}; {more}");
            }
        }
        message += &self.not_sent();
        (exit, message)
    }

    /// Names the unsent files if none was started, since nothing else reports them.
    fn not_sent(&self) -> String {
        let unasked = self.file_store.unasked();
        let Some(first) = unasked.first().filter(|_| self.file_store.files().is_empty()) else {
            return String::new();
        };
        let more = match unasked.len() - 1 {
            0 => String::new(),
            more => format!(" and {}", format::count(more as u64, "other file")),
        };
        format!("; not sent: {}{more}", escaped(first))
    }

    /// Whether the transfer ended while stdin was sent, of which no other run gets the beginning.
    fn sent_part_of_stdin(&self) -> bool {
        let part = |record: &FileRecord| {
            let partial = matches!(record.outcome, FileOutcome::Partial | FileOutcome::Open);
            partial && record.path.is_none()
        };
        self.direction == Direction::Send && self.file_store.files().iter().any(part)
    }

    /// The end of a successful transaction, in which single files may be missing.
    fn done(&self, observer: &Observer<'_>) -> (Exit, String) {
        if let Some(status) = observer.completed.filter(|status| *status != 0) {
            let say = format!("the command ended at the peer with status {status}");
            return (Exit::Peer, say);
        }
        let records = self.file_store.files();
        let whole = |r: &&FileRecord| {
            // A link was asked for; an empty directory has nothing to lose.
            let passed = is_passed_over(r) && r.entry != Entry::Link;
            passed || matches!(r.outcome, FileOutcome::Stored | FileOutcome::Sent)
        };
        let unread = |r: &&FileRecord| matches!(r.outcome, FileOutcome::Skipped(_));
        let good = records.iter().filter(whole).count();
        let missed = (records.len() - good) as u64;
        if missed == 0 && observer.missed == 0 {
            let changed = records.iter().filter(|record| record.changed).count() as u64;
            if changed > 0 {
                let changed = format::count(changed, "file");
                return (Exit::Skipped, format!("{changed} changed while being sent"));
            }
            let nothing = !records.is_empty() && records.iter().all(is_passed_over);
            if nothing && self.direction == Direction::Send {
                return (Exit::Skipped, "nothing was sent".to_owned());
            }
            let none = good == 0 && self.direction == Direction::Receive;
            return (Exit::Done, if none { "no files received".to_owned() } else { String::new() });
        }
        let missed = format::count(missed.max(observer.missed), "file");
        let full = |r: &FileRecord| r.outcome == FileOutcome::Refused(Refusal::NoSpace);
        if records.iter().any(full) {
            let say = "not enough space here; free some space or choose another directory with -o";
            return (Exit::Store, format!("{missed} refused: {say}"));
        }
        let message = format!("{missed} skipped, refused or cancelled");
        // A name refused before it reached the store has no record.
        let only_unread = good == 0 && !records.is_empty() && records.iter().all(|r| unread(&r));
        (if only_unread { Exit::Store } else { Exit::Skipped }, message)
    }
}

/// Whether a transfer failed after a part of a file had come.
fn was_cut(ended: &Ended) -> bool {
    let came = ended.stats.current_acked_bytes.unwrap_or(ended.stats.current_file_bytes);
    ended.outcome != Outcome::Done && came > 0
}

fn is_passed_over(record: &FileRecord) -> bool {
    record.outcome == FileOutcome::PassedOver
}

fn file_result(record: &FileRecord) -> FileResult {
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
        path: record.path.as_ref().map(|path| shown(path.as_os_str())),
        put_aside: record.put_aside.as_ref().map(|path| shown(path.as_os_str())),
        size: record.size,
        resumed_from: record.resumed_from,
        outcome,
        why,
        name_rule: record.name_rule.map(|rule| rule.to_string()),
        verified: record.verified,
        changed: record.changed,
    }
}

/// Reports how many characters are missing in the other set.
pub(crate) fn say_lost(ui: &Output, lost: u64) {
    if lost > 0 {
        let what = if lost == 1 { "character is" } else { "characters are" };
        let say = format!("{lost} {what} not in the other character set; ? stands for each");
        ui.say(Level::Note, &say);
    }
}
