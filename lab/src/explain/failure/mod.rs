//! Failed transfers: what failed, why, and what to do.
//!
//! The engine's own verdict (whose fault, and which kind) is refined by what else the trace shows: whether the
//! peer ever answered, whether packets without file data arrived and those with it did not, whether characters
//! are missing or changed. What to do is settings of the protocol in use and, for some, another protocol; a
//! test compares them with the registry, and another one with the flags of the command line.

mod steps;

pub use steps::Step;
pub(super) use steps::flags;

use super::Account;
use super::cause::Evidence;
use super::log::{Log, Side};
use wetstring_protocols::Protocol;

/// What was wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// Nothing was received from the peer.
    Unanswered,
    /// The peer answered, and then fell silent.
    FellSilent,
    /// All data was acknowledged, and the end of the file was not.
    EndUnanswered,
    /// Packets of file data did not arrive whole, and others did.
    DataDamaged,
    /// Packets of at least this length did not arrive.
    TooLong(u64),
    /// Characters were lost in front of a computer.
    Overrun,
    /// Too much was damaged or lost.
    Noise,
    /// Something was damaged on a line that was declared reliable.
    NotReliable,
    /// The peer ended with an error message.
    PeerGaveUp,
    /// The peer has no space for the file.
    PeerIsFull,
    /// The peer speaks another protocol, or violates this one.
    WrongProtocol,
    /// The peer lacks what was asked for.
    Unsupported,
    /// The peer cannot resume.
    CannotResume,
    /// The ends have different bytes.
    Differs,
    /// This end has no space.
    NoSpace,
    /// The quota of this end.
    Quota,
    /// This end may not read or write the file.
    Permission,
    /// This end's file is not there.
    NotFound,
    /// The store of this end failed in another way.
    Store,
    /// A file was refused.
    Refused,
    /// The peer cancelled it.
    CancelledByPeer,
    /// The user of this end cancelled it.
    CancelledHere,
    /// The same, and by then nothing had come from the peer.
    CancelledUnanswered,
    /// The connection or the port closed.
    Closed,
    /// The laboratory's limit, or the end of the trace, came first.
    Unfinished,
    /// A fault of this program.
    Internal,
}

impl Trouble {
    /// All of them, with an example of those that have a value.
    pub const ALL: [Self; 26] = [
        Self::Unanswered,
        Self::FellSilent,
        Self::EndUnanswered,
        Self::DataDamaged,
        Self::TooLong(300),
        Self::Overrun,
        Self::Noise,
        Self::NotReliable,
        Self::PeerGaveUp,
        Self::PeerIsFull,
        Self::WrongProtocol,
        Self::Unsupported,
        Self::CannotResume,
        Self::Differs,
        Self::NoSpace,
        Self::Quota,
        Self::Permission,
        Self::NotFound,
        Self::Store,
        Self::Refused,
        Self::CancelledByPeer,
        Self::CancelledHere,
        Self::CancelledUnanswered,
        Self::Closed,
        Self::Unfinished,
        Self::Internal,
    ];

    /// Why it failed, in a sentence.
    fn why(self) -> String {
        match self {
            Self::Unanswered => "nothing usable came from the peer".to_owned(),
            Self::FellSilent => {
                "the peer answered and then fell silent: it was stopped, or the line was cut"
                    .to_owned()
            }
            Self::EndUnanswered => {
                "every block was acknowledged, but not the end of the file; the peer may have all \
                 of it"
                    .to_owned()
            }
            Self::DataDamaged => {
                "packets of file data never arrived whole, and packets without any \
                 did: a line of 7 bits, something on the way that takes control characters for \
                 itself, or a buffer that is shorter than the packets"
                    .to_owned()
            }
            Self::TooLong(length) => format!(
                "no packet of {length} bytes or more arrived, and shorter ones did: a buffer at the \
                 peer is that short"
            ),
            Self::Overrun => {
                "characters were lost in front of a computer that did not read them in \
                 time; nothing told the sender to wait"
                    .to_owned()
            }
            Self::Noise => "too much was damaged or lost on the line".to_owned(),
            Self::NotReliable => {
                "something was damaged or lost on a line that was declared reliable".to_owned()
            }
            Self::PeerGaveUp => "the peer gave up".to_owned(),
            Self::PeerIsFull => "the peer has no space for the file".to_owned(),
            Self::WrongProtocol => {
                "the peer speaks another protocol, or not as its standard has it".to_owned()
            }
            Self::Unsupported => "the peer lacks what was asked for".to_owned(),
            Self::CannotResume => "the peer cannot resume a file".to_owned(),
            Self::Differs => "the bytes at the two ends differ".to_owned(),
            Self::NoSpace => "there is no space for the file here".to_owned(),
            Self::Quota => "the file is longer than the quota here".to_owned(),
            Self::Permission => "the file here may not be read or written".to_owned(),
            Self::NotFound => "the file or its directory is not here".to_owned(),
            Self::Store => "the file here could not be read or written".to_owned(),
            Self::Refused => "a file was refused, and this protocol cannot skip one".to_owned(),
            Self::CancelledByPeer => "the peer cancelled it".to_owned(),
            Self::CancelledHere => "it was cancelled at this end".to_owned(),
            Self::CancelledUnanswered => {
                "nothing usable came from the peer, until it was cancelled at this end".to_owned()
            }
            Self::Closed => "the line closed".to_owned(),
            Self::Unfinished => "the trace ends before the transfer does".to_owned(),
            Self::Internal => "this program has a fault".to_owned(),
        }
    }
}

/// A failed transfer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failed {
    /// What was wrong.
    pub trouble: Trouble,
    /// How far it came.
    pub what: String,
    /// Why it failed, as far as it is known.
    pub why: String,
    /// What to do, the most promising first.
    pub steps: Vec<Step>,
}

impl Failed {
    /// What to do about a trouble with this protocol.
    pub fn steps(trouble: Trouble, protocol: Protocol) -> Vec<Step> {
        steps::of(trouble, protocol)
    }
}

impl Account {
    /// What is known of a failure; `None` if the transfer ended well.
    pub fn failed(&self) -> Option<Failed> {
        let trouble = self.trouble()?;
        let protocol = self.protocol.as_deref().and_then(|name| Protocol::of_bytes_by(name).ok());
        let moved = if self.file_bytes > 0 {
            format!("after {} bytes of file data", self.file_bytes)
        } else {
            "before any file data".to_owned()
        };
        let what = format!(
            "the transfer failed {moved}, {} s after its start",
            super::budget::seconds(self.elapsed_ns)
        );
        let mut why = trouble.why();
        if let Some(said) = self.peer_said() {
            why = format!("{why}; it says: {said}");
        }
        let steps = protocol.map_or_else(Vec::new, |protocol| steps::of(trouble, protocol));
        Some(Failed { trouble, what, why, steps })
    }

    /// The peer's last message, if a side of this trace got one and the peer gave up.
    fn peer_said(&self) -> Option<&str> {
        let side = self.failing()?;
        let (_, kind) = side.failed.as_ref()?;
        let told = side.user_events.iter().rfind(|event| event.kind == "message")?;
        (kind == "peer-error" || kind == "closed").then_some(told.text.as_str())
    }

    /// The side whose failure explains more: the one that was not just told of it by its peer.
    fn failing(&self) -> Option<&Side> {
        let sides = || self.log.sender.iter().chain(&self.log.receiver);
        let failed = || sides().filter(|side| side.failed.is_some());
        let own = |side: &&Side| side.failed.as_ref().is_some_and(|(_, kind)| kind != "peer-error");
        failed().filter(own).min_by_key(|side| side.settled).or_else(|| failed().next())
    }

    fn trouble(&self) -> Option<Trouble> {
        let log = &self.log;
        let sides = || log.sender.iter().chain(&log.receiver);
        let Some(side) = self.failing() else {
            let is_open = sides().any(|side| side.settled.is_none());
            return is_open.then_some(Trouble::Unfinished);
        };
        let (blame, kind) = side.failed.as_ref()?;
        Some(match (kind.as_str(), blame.as_str()) {
            ("silence" | "too-many-retries", _) if self.end_unanswered(side) => {
                Trouble::EndUnanswered
            }
            ("silence", _) if side.got.is_empty() => Trouble::Unanswered,
            ("silence", _) => self.refined(side).unwrap_or(Trouble::FellSilent),
            ("too-many-retries", _) => self.refined(side).unwrap_or(Trouble::Noise),
            ("not-reliable", _) => Trouble::NotReliable,
            ("peer-error", _) if says_full(side) => Trouble::PeerIsFull,
            ("peer-error", _) if gave_up_on_line(side) => {
                self.refined(side).unwrap_or(Trouble::PeerGaveUp)
            }
            ("peer-error", _) => Trouble::PeerGaveUp,
            ("violation" | "wrong-peer" | "no-protocol" | "not-a-server", _) => {
                Trouble::WrongProtocol
            }
            ("unsupported", _) => Trouble::Unsupported,
            ("cannot-resume", _) => Trouble::CannotResume,
            ("digest-differs" | "length-differs", _) => Trouble::Differs,
            ("no-space", "peer") => Trouble::PeerIsFull,
            ("no-space", _) => Trouble::NoSpace,
            ("quota", _) => Trouble::Quota,
            ("permission", _) => Trouble::Permission,
            ("not-found" | "missing", _) => Trouble::NotFound,
            ("io" | "changed" | "kept" | "store-unsupported", _) => Trouble::Store,
            ("refused", _) => Trouble::Refused,
            ("aborted", "local") if !cancelled_by_peer(side) => {
                if self.is_unanswered() {
                    Trouble::CancelledUnanswered
                } else {
                    Trouble::CancelledHere
                }
            }
            ("aborted", _) => Trouble::CancelledByPeer,
            ("closed", _) => Trouble::Closed,
            _ => Trouble::Internal,
        })
    }

    /// Whether nothing usable came from the peer of the one end that is known.
    pub(super) fn is_unanswered(&self) -> bool {
        let heard = |side: &Side| !side.got.is_empty();
        match (&self.log.sender, &self.log.receiver) {
            (Some(side), None) | (None, Some(side)) => !heard(side),
            _ => false,
        }
    }

    /// Whether only the end of a file lacks its answer: XMODEM and YMODEM send it once all before is acknowledged.
    fn end_unanswered(&self, side: &Side) -> bool {
        // EOT is a single character, a cancellation several, and a header or a block more than a hundred.
        let end = side.sent.iter().rposition(|sent| sent.len == 1 || sent.len > 100);
        let Some(end) = end.map(|at| &side.sent[at]).filter(|sent| sent.len == 1) else {
            return false;
        };
        let data = side.sent.iter().find(|sent| sent.file > 0);
        // A stream is acknowledged at its end alone.
        let answered = |since: u64| {
            side.got.iter().any(|got| got.kind == 'Y' && (since..end.time).contains(&got.time))
        };
        self.waits_for_each() && data.is_some_and(|data| answered(data.time))
    }

    /// Whether the sender sends a block only once the one before is acknowledged.
    fn waits_for_each(&self) -> bool {
        let protocol = self.protocol.as_deref().and_then(Protocol::of);
        protocol.is_some_and(|protocol| protocol.stop_and_wait)
    }

    /// What the trace shows of a line that did not let enough through.
    fn refined(&self, side: &Side) -> Option<Trouble> {
        let evidence = Evidence::of(self);
        if evidence.is_overrun {
            return Some(Trouble::Overrun);
        }
        if let Some(length) = evidence.too_long {
            return Some(Trouble::TooLong(length));
        }
        if data_damaged(&self.log, self.waits_for_each()) {
            return Some(Trouble::DataDamaged);
        }
        if side.got.is_empty() {
            return Some(Trouble::Unanswered);
        }
        evidence.is_damaged.then_some(Trouble::Noise)
    }
}

/// Whether no file data arrived, although it was sent, and the ends had agreed on a file.
fn data_damaged(log: &Log, waits_for_each: bool) -> bool {
    /// Attempts of which something is concluded.
    const ENOUGH: usize = 3;
    match (&log.sender, &log.receiver) {
        (sender, Some(receiver)) => {
            let tried = receiver.damaged.len() >= ENOUGH
                || sender.as_ref().is_some_and(|side| attempts(side) >= ENOUGH);
            !receiver.got.is_empty() && tried && receiver.got.iter().all(|got| got.data == 0)
        }
        (Some(sender), None) => {
            // Only the first data packet was sent, repeatedly.
            let first = sender.sent.iter().find(|sent| sent.file > 0);
            let none_passed = first.is_some_and(|first| {
                sender.sent.iter().filter(|sent| sent.file > 0).all(|sent| {
                    sent.number == first.number
                        || sent.old == 0 && !waits_for_each && sender.value("window") != Some(1)
                })
            });
            !sender.got.is_empty() && none_passed && attempts(sender) >= ENOUGH
        }
        (None, None) => false,
    }
}

/// How often data was sent.
fn attempts(side: &Side) -> usize {
    side.sent.iter().filter(|sent| sent.file > 0).count()
}

/// Words of a message of a full disk.
pub(super) const FULL: [&str; 5] = ["no space", "disk full", "not enough space", "full", "quota"];
/// Words of a message of what the line does.
pub(super) const OF_THE_LINE: [&str; 5] = ["timed out", "timeout", "retr", "too many", "errors"];

/// Whether the peer's message is of a full disk.
fn says_full(side: &Side) -> bool {
    side.user_events.iter().filter(|event| event.kind == "message").any(|event| {
        let text = event.text.to_lowercase();
        FULL.iter().any(|word| text.contains(word))
    })
}

/// Whether the peer's message is of what the line does.
fn gave_up_on_line(side: &Side) -> bool {
    side.user_events.iter().filter(|event| event.kind == "message").any(|event| {
        let text = event.text.to_lowercase();
        OF_THE_LINE.iter().any(|word| text.contains(word))
    })
}

/// Whether the peer cancelled a file.
fn cancelled_by_peer(side: &Side) -> bool {
    side.user_events.iter().any(|event| event.kind == "file-cancelled" && event.by_peer)
}
