//! What a trace shows beside where the time went.

use super::super::clock::Rate;
use super::super::line::Sent;
use super::super::log::{Log, Side};
use super::super::{Account, Ends};
use super::Facts;
use crate::scenario::Carrier;
use wetstring_proto::{Again, Wait};
use wetstring_protocols::Protocol;

/// Attempts of which something is concluded.
const ENOUGH: usize = 4;
/// Bytes of a packet's frame, about, beside its data.
const FRAME: u64 = 20;
/// From this time in milliseconds, what is queued is a cause.
const QUEUED_MS: u64 = 2000;

/// What a trace shows; each only if it does.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Evidence {
    pub(super) facts: Facts,
    /// Answers took about this many milliseconds each time, one or two beats of a latency timer.
    pub(super) latency_ms: Option<u64>,
    /// The peer accepts only packets of this length, and this end would send longer ones.
    pub(super) peer_length: Option<u64>,
    /// The eighth bit is sent as a prefix.
    pub(super) eighth_bit: bool,
    /// A host waited for its disk.
    pub(super) has_disk: bool,
    /// Characters were lost in front of a computer.
    pub(in super::super) is_overrun: bool,
    /// Nothing was damaged or lost, and something arrived twice.
    pub(super) nothing_harmed: bool,
    /// The receiver's computer was busy for much of the time.
    pub(super) receiver_is_busy: bool,
    /// Packets of at least this length never arrived, and shorter ones did.
    pub(in super::super) too_long: Option<u64>,
    /// How long, in milliseconds, bytes had been queued at a retransmission.
    pub(super) queued_ms: Option<u64>,
    /// Most of the waiting for answers was for few of them, which took much longer than the others.
    pub(super) slow_answers: bool,
    /// Something came damaged.
    pub(in super::super) is_damaged: bool,
    /// Packets were too long for the errors; this length suits them.
    pub(super) better_length: Option<u64>,
}

impl Evidence {
    /// That of an account's trace.
    pub(in super::super) fn of(account: &Account) -> Self {
        let log = &account.log;
        let mut found = Self {
            facts: Facts::of(log),
            peer_length: peer_length(log),
            is_overrun: log.marks.overrun > 0,
            ..Self::default()
        };
        let sides = || log.sender.iter().chain(&log.receiver);
        found.eighth_bit = found.facts.seven_bit || sides().any(says_eighth_bit);
        found.has_disk = sides().any(|side| !side.disk.is_empty());
        found.is_damaged = log.marks.damaged > 0 || sides().any(has_damage);
        if let Some(sender) = &log.sender {
            let attempts = attempts(sender);
            found.too_long = too_long(&attempts);
            found.better_length = better_length(&attempts).filter(|_| found.too_long.is_none());
            found.latency_ms = latency(account);
            found.is_damaged |= account.ends == Ends::Sender && account.estimate.errors > 0;
        }
        if let (Some(sender), Some(receiver)) = (&log.sender, &log.receiver) {
            let even = log.text("carrier").is_none_or(|carrier| carrier == Carrier::Even.as_str());
            let twice = receiver.got.iter().any(|got| got.duplicate);
            // Elements tell what they do to characters; a packet that was only taken for damaged was not.
            found.nothing_harmed = even && twice && log.marks.harmless();
            let busy: u64 = receiver.busy.iter().map(|(from, to)| to - from).sum();
            found.receiver_is_busy = busy > account.elapsed_ns / 4;
            let rate = Rate { millicps: account.millicps };
            found.queued_ms = queued(sender, receiver, rate).filter(|ms| *ms >= QUEUED_MS);
            found.slow_answers = slow_answers(sender);
        }
        found
    }
}

/// Whether an end found more damaged than a stray packet.
fn has_damage(side: &Side) -> bool {
    side.damaged.len() > 1 + side.got.len() / 50
}

/// Whether more than half of the time for which the sender waited for answers is above what the usual answer took.
fn slow_answers(sender: &Side) -> bool {
    let ends = sender.waits.iter().skip(1).map(|(time, _)| *time);
    let waits = sender.waits.iter().zip(ends);
    let waits = waits.filter(|((_, wait), _)| matches!(wait, Wait::Window | Wait::Answer));
    let mut waits: Vec<u64> = waits.map(|((from, _), to)| to - from).collect();
    waits.sort_unstable();
    let Some(usual) = waits.get(waits.len() / 4) else { return false };
    let above: u64 = waits.iter().map(|wait| wait.saturating_sub(*usual)).sum();
    above > waits.iter().sum::<u64>() / 2
}

/// The peer's limit of a packet's length, if it is what keeps packets short.
fn peer_length(log: &Log) -> Option<u64> {
    let sender = log.sender.as_ref()?;
    let agreed = sender.value("packet").filter(|length| *length > 0)?;
    let protocol = Protocol::of(log.text("protocol")?)?;
    let name = protocol.length_setting?;
    let mut default = String::new();
    protocol.config().show(name, &mut default).ok()?;
    let default = default.parse().ok()?;
    let set = log.texts.iter().filter(|(known, _)| known == "set");
    let set = set.filter_map(|(_, text)| std::str::from_utf8(text).ok()?.split_once('='));
    let ours = set.rev().find(|(known, _)| *known == name);
    let ours = ours.map_or(default, |(_, value)| value.parse().unwrap_or(default));
    (agreed < ours && agreed < 500).then_some(agreed)
}

/// Whether an end says that it agreed on prefixes for the eighth bit.
fn says_eighth_bit(side: &Side) -> bool {
    side.user_events
        .iter()
        .any(|event| event.kind == "negotiated" && event.text.contains("8th-bit"))
}

/// A data packet that was sent: its length, and whether it was retransmitted.
struct Attempt {
    len: u64,
    failed: bool,
}

/// All attempts to send data; those of a stream that only followed a failed one are left out.
fn attempts(sender: &Side) -> Vec<Attempt> {
    let data = |sent: &&Sent| sent.file > 0;
    let all: Vec<&Sent> = sender.sent.iter().filter(data).collect();
    let mut attempts: Vec<Attempt> =
        all.iter().map(|sent| Attempt { len: sent.len, failed: false }).collect();
    for (index, sent) in all.iter().enumerate() {
        let is_again = sent.again > 0 || sent.old > 0;
        if !is_again || matches!(sent.why, Some(Again::GoBack | Again::Timeout)) {
            continue;
        }
        if let Some(before) = all[..index].iter().rposition(|other| other.number == sent.number) {
            attempts[before].failed = true;
        }
    }
    let follows = all.iter().map(|sent| sent.why == Some(Again::GoBack));
    attempts.into_iter().zip(follows).filter(|(_, follows)| !follows).map(|(a, _)| a).collect()
}

/// The length from which no packet arrived, if shorter ones did, and well up to that length.
fn too_long(attempts: &[Attempt]) -> Option<u64> {
    let failed = || attempts.iter().filter(|attempt| attempt.failed);
    let limit = failed().map(|attempt| attempt.len).min()?;
    let passed = || attempts.iter().filter(|attempt| !attempt.failed);
    let longest = passed().map(|attempt| attempt.len).max()?;
    let near = passed().filter(|attempt| attempt.len >= limit / 2).count();
    (failed().count() >= ENOUGH && longest < limit && near >= 2 * ENOUGH).then_some(limit)
}

/// The length that suits the errors, if packets are more than twice as long: that at which what errors cost is
/// about what frames cost.
fn better_length(attempts: &[Attempt]) -> Option<u64> {
    let failed = attempts.iter().filter(|attempt| attempt.failed).count() as u64;
    let bytes: u64 = attempts.iter().map(|attempt| attempt.len).sum();
    if failed < ENOUGH as u64 {
        return None;
    }
    let mut lengths: Vec<u64> = attempts.iter().map(|attempt| attempt.len).collect();
    lengths.sort_unstable();
    let usual = lengths[lengths.len() / 2];
    // Errors are about that far apart; one packet has at most one that counts.
    let between = bytes / failed;
    let best = (between * FRAME).isqrt();
    (usual > 2 * best && usual > 256).then_some(best.max(64))
}

/// One or two beats of the latency timer of common USB adapters, if all answers come at it.
fn latency(account: &Account) -> Option<u64> {
    /// Of FTDI's, which others follow.
    const BEAT_MS: u64 = 16;
    account.log.value("rate_bps").filter(|rate| *rate >= 19_200)?;
    let (low, middle, high) = account.estimate.round_trips?;
    let ms = |ns: u64| (ns + 500_000) / 1_000_000;
    let beats = [1, 2].into_iter().find(|beats| ms(middle).abs_diff(beats * BEAT_MS) <= 2)?;
    let narrow = high - low <= BEAT_MS * 1_000_000 / 4;
    narrow.then_some(beats * BEAT_MS)
}

/// Average delay, in milliseconds, of bytes that were in transit when the receiver repeated its request, beyond that
/// of the path and a few packets.
fn queued(sender: &Side, receiver: &Side, rate: Rate) -> Option<u64> {
    let at = |steps: &[(u64, u64)], time: u64| {
        let index = steps.partition_point(|(at, _)| *at <= time);
        index.checked_sub(1).map_or(0, |index| steps[index].1)
    };
    let arrives = |bytes: u64| {
        let index = receiver.came.partition_point(|(_, total)| *total < bytes);
        receiver.came.get(index).map(|(at, _)| *at)
    };
    let ways = sender.left.iter();
    let way = ways.filter_map(|(at, total)| Some(arrives(*total)?.saturating_sub(*at))).min()?;
    let longest = sender.sent.iter().map(|sent| sent.len).max()?;
    let usual = 2 * way + 4 * rate.time(longest);
    let asked = sender.sent.iter().filter(|sent| sent.why == Some(Again::Nak));
    let under_way = asked.map(|sent| (sent.time, at(&sender.left, sent.time)));
    let waits: Vec<u64> = under_way
        .filter(|(time, left)| *left > at(&receiver.came, *time))
        .filter_map(|(time, left)| Some(arrives(left)?.saturating_sub(time)))
        .collect();
    let mean = waits.iter().sum::<u64>().checked_div(waits.len() as u64)?;
    (mean > usual).then_some(mean / 1_000_000)
}
