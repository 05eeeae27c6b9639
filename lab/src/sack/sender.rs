//! The sending half: a scoreboard [RFC 6675], the timer [RFC 6298], congestion control.

use super::control::{Algorithm, Control};
use std::collections::VecDeque;

/// A segment that is not acknowledged by number.
#[derive(Clone, Copy, Debug)]
struct Sent {
    seq: u64,
    len: u64,
    at: u64,
    sacked: bool,
    lost: bool,
    /// It was sent again and may be under way; and it was at some time.
    resent: bool,
    ever_resent: bool,
}

impl Sent {
    /// Bytes of it that may be under way.
    fn pipe(&self) -> u64 {
        let first = u64::from(!self.sacked && !self.lost);
        let again = u64::from(!self.sacked && self.resent);
        self.len * (first + again)
    }
}

/// Round-trip times and the timeout.
#[derive(Clone, Copy, Debug)]
struct Timing {
    smoothed: u64,
    variance: u64,
    timeout: u64,
    least: u64,
}

/// The first timeout, and the longest [RFC 6298 §2.1, 2.5].
const FIRST_TIMEOUT: u64 = 1_000_000_000;
const MOST_TIMEOUT: u64 = 60_000_000_000;

impl Timing {
    fn sample(&mut self, rtt: u64) {
        if self.smoothed == 0 {
            self.smoothed = rtt.max(1);
            self.variance = rtt / 2;
        } else {
            self.variance = (3 * self.variance + self.smoothed.abs_diff(rtt)) / 4;
            self.smoothed = (7 * self.smoothed + rtt) / 8;
        }
        self.timeout = (self.smoothed + 4 * self.variance).clamp(self.least, MOST_TIMEOUT);
    }
}

/// What a program sends.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    pub(super) mss: u64,
    /// Bytes from `una` on, sent and unsent.
    buffer: VecDeque<u8>,
    limit: usize,
    una: u64,
    next: u64,
    board: VecDeque<Sent>,
    pipe: u64,
    /// The end of the highest segment that is acknowledged by SACK.
    high_sacked: u64,
    /// No segment below this one needs a retransmission.
    hint: u64,
    /// What the peer's window ends with.
    edge: u64,
    pub(super) control: Control,
    timing: Timing,
    timer: Option<u64>,
    backoff: u32,
    /// Recovery lasts until this is acknowledged.
    recovery: Option<u64>,
    /// So does what the timer has begun.
    after_timeout: Option<u64>,
    /// A segment that was not full ends here, and is not acknowledged.
    small: u64,
}

impl Sender {
    pub(super) fn new(algorithm: Algorithm, mss: u64, limit: usize, least_timeout: u64) -> Self {
        Self {
            mss,
            buffer: VecDeque::new(),
            limit,
            una: 0,
            next: 0,
            board: VecDeque::new(),
            pipe: 0,
            high_sacked: 0,
            hint: 0,
            edge: 0,
            control: Control::new(algorithm, mss),
            timing: Timing {
                smoothed: 0,
                variance: 0,
                timeout: FIRST_TIMEOUT,
                least: least_timeout,
            },
            timer: None,
            backoff: 0,
            recovery: None,
            after_timeout: None,
            small: 0,
        }
    }

    /// The number of the next new byte.
    pub(super) fn next_seq(&self) -> u64 {
        self.next
    }

    /// Takes bytes of the program; how many.
    pub(super) fn write(&mut self, bytes: &[u8]) -> usize {
        let len = bytes.len().min(self.limit.saturating_sub(self.buffer.len()));
        self.buffer.extend(&bytes[..len]);
        len
    }

    /// When the timer expires.
    pub(super) fn timer(&self) -> Option<u64> {
        self.timer
    }

    /// The connection stands: the peer's window, and a first round-trip time.
    pub(super) fn open(&mut self, window: u64, rtt: u64) {
        self.edge = window;
        self.timing.sample(rtt);
    }

    /// Changes a segment of the board and keeps count of what is under way.
    fn change(&mut self, index: usize, what: impl FnOnce(&mut Sent)) {
        let sent = &mut self.board[index];
        self.pipe -= sent.pipe();
        what(sent);
        self.pipe += sent.pipe();
    }

    fn index_of(&self, seq: u64) -> usize {
        self.board.partition_point(|sent| sent.seq < seq)
    }

    /// An acknowledgement has come.
    pub(super) fn acknowledged(&mut self, now: u64, ack: u64, window: u64, blocks: &[(u64, u64)]) {
        self.edge = self.edge.max(ack + window);
        if ack > self.next {
            return;
        }
        let newly = ack.saturating_sub(self.una);
        let was_recovering = self.recovery.is_some();
        let mut rtt = None;
        while let Some(first) =
            self.board.front().copied().filter(|sent| sent.seq + sent.len <= ack)
        {
            self.board.pop_front();
            self.pipe -= first.pipe();
            rtt = rtt.or((!first.ever_resent && !first.sacked).then_some(now - first.at));
        }
        self.una += newly;
        self.buffer.drain(..(newly as usize).min(self.buffer.len()));
        self.hint = self.hint.max(self.una);
        let una = self.una;
        for (left, right) in blocks.iter().filter(|(left, _)| *left >= una) {
            let last = self.index_of(*right);
            for index in self.index_of(*left)..last {
                if self.board[index].sacked {
                    continue;
                }
                let sent = self.board[index];
                rtt = rtt.or((!sent.ever_resent).then_some(now - sent.at));
                self.change(index, |sent| sent.sacked = true);
                self.high_sacked = self.high_sacked.max(sent.seq + sent.len);
            }
        }
        if let Some(rtt) = rtt {
            self.timing.sample(rtt);
            self.control.sample(rtt);
        }
        if newly > 0 {
            self.backoff = 0;
            self.after_timeout = self.after_timeout.filter(|point| ack < *point);
            self.recovery = self.recovery.filter(|point| ack < *point);
            self.restart(now);
        }
        let found = self.mark_lost();
        if found && self.recovery.is_none() && self.after_timeout.is_none() {
            self.recovery = Some(self.next);
            self.control.lost(self.next - self.una);
        } else if newly > 0 && !was_recovering && self.is_limited(newly) {
            self.control.acknowledged(now, newly, ack, self.next, self.timing.smoothed);
        }
    }

    /// Whether the congestion window is what limits, or half of it in slow start: else it is not made larger
    /// [RFC 9438 §4.2, RFC 7661].
    fn is_limited(&self, newly: u64) -> bool {
        let starts = self.control.window < self.control.threshold;
        let used = (self.pipe + newly) * if starts { 2 } else { 1 };
        used + 2 * self.mss >= self.control.window
    }

    /// Marks what is lost: more than two segments' worth beyond it is acknowledged [RFC 6675 §4, IsLost].
    fn mark_lost(&mut self) -> bool {
        let (mut beyond, mut count, mut found) = (0, 0, false);
        for index in (0..self.index_of(self.high_sacked)).rev() {
            let sent = self.board[index];
            if sent.sacked {
                beyond += sent.len;
                count += 1;
                continue;
            }
            if beyond <= 2 * self.mss && count < 3 {
                continue;
            }
            if sent.lost {
                // All below were seen when this one was marked, unless it was sacked since.
                break;
            }
            self.change(index, |sent| sent.lost = true);
            self.hint = self.hint.min(sent.seq);
            found = true;
        }
        found
    }

    fn restart(&mut self, now: u64) {
        let wait = (self.timing.timeout << self.backoff.min(16)).min(MOST_TIMEOUT);
        self.timer = (!self.board.is_empty()).then(|| now.saturating_add(wait));
    }

    /// The timer has expired: everything that is not acknowledged by SACK is lost [RFC 6298 §5].
    pub(super) fn timed_out(&mut self, now: u64) {
        let again = self.after_timeout.is_some_and(|_| self.backoff > 0);
        self.control.timed_out(self.next - self.una, again);
        for index in 0..self.board.len() {
            self.change(index, |sent| {
                sent.lost = true;
                sent.resent = false;
            });
        }
        self.hint = self.una;
        self.recovery = None;
        self.after_timeout = Some(self.next);
        self.backoff += 1;
        self.restart(now);
    }

    /// The next segment to send: its number and data, if the windows allow one [RFC 6675 §4, NextSeg].
    pub(super) fn send(&mut self, now: u64) -> Option<(u64, Vec<u8>)> {
        if self.pipe + self.mss > self.control.window && self.pipe > 0 {
            return None;
        }
        if let Some(index) = self.to_resend() {
            self.change(index, |sent| {
                sent.resent = true;
                sent.ever_resent = true;
                sent.at = now;
            });
            let Sent { seq, len, .. } = self.board[index];
            self.hint = seq + len;
            if self.timer.is_none() {
                self.restart(now);
            }
            return Some((seq, self.bytes(seq, len)));
        }
        let there = self.una + self.buffer.len() as u64 - self.next;
        let len = there.min(self.mss).min(self.edge.saturating_sub(self.next));
        // One small segment at a time [Minshall's form of RFC 896].
        if len == 0 || (len < self.mss && self.small > self.una) {
            return None;
        }
        let seq = self.next;
        if len < self.mss {
            self.small = seq + len;
        }
        let sent = Sent {
            seq,
            len,
            at: now,
            sacked: false,
            lost: false,
            resent: false,
            ever_resent: false,
        };
        self.pipe += sent.pipe();
        self.board.push_back(sent);
        self.next += len;
        if self.timer.is_none() {
            self.restart(now);
        }
        Some((seq, self.bytes(seq, len)))
    }

    /// The first lost segment that was not sent again.
    fn to_resend(&self) -> Option<usize> {
        let from = self.index_of(self.hint);
        let wanted = |sent: &Sent| sent.lost && !sent.resent && !sent.sacked;
        self.board.range(from..).position(wanted).map(|at| from + at)
    }

    fn bytes(&self, seq: u64, len: u64) -> Vec<u8> {
        let from = (seq - self.una) as usize;
        self.buffer.range(from..from + len as usize).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A sender of segments of 1000 bytes with these many sent.
    fn sent(count: u64) -> Sender {
        let mut sender = Sender::new(Algorithm::Reno, 1000, 1 << 20, 200 * MS);
        sender.open(1 << 20, 50 * MS);
        sender.control.window = 20_000;
        sender.write(&vec![7; 100_000]);
        for number in 0..count {
            assert_eq!(sender.send(0).map(|(seq, _)| seq), Some(number * 1000));
        }
        sender
    }

    #[test]
    fn three_segments_beyond_a_gap_make_it_lost_and_it_goes_once() {
        let mut sender = sent(20);
        assert_eq!((sender.pipe, sender.send(0)), (20_000, None));
        sender.acknowledged(50 * MS, 0, 1 << 20, &[(1000, 2000)]);
        sender.acknowledged(50 * MS, 0, 1 << 20, &[(1000, 3000)]);
        assert!(sender.recovery.is_none());
        sender.acknowledged(50 * MS, 0, 1 << 20, &[(1000, 4000)]);
        assert_eq!((sender.recovery, sender.control.window), (Some(20_000), 10_000));
        // 16 are under way, and 10 may be: the lost one has to wait until 9 are.
        assert_eq!(sender.send(51 * MS), None);
        sender.acknowledged(52 * MS, 0, 1 << 20, &[(1000, 11_000)]);
        assert_eq!(sender.pipe, 9000);
        assert_eq!(sender.send(52 * MS).map(|(seq, _)| seq), Some(0));
        assert_eq!(sender.send(52 * MS), None);
        // The retransmission is acknowledged; recovery continues until everything sent before it is.
        sender.acknowledged(99 * MS, 11_000, 1 << 20, &[]);
        assert!(sender.recovery.is_some());
        sender.acknowledged(100 * MS, 20_000, 1 << 20, &[]);
        assert_eq!((sender.recovery, sender.pipe, sender.control.window), (None, 0, 10_000));
    }

    #[test]
    fn many_gaps_are_repaired_in_one_round_trip() {
        let mut sender = sent(20);
        // Every second segment is lost.
        for upto in 0..10u64 {
            let blocks: Vec<(u64, u64)> =
                (0..=upto).rev().take(3).map(|n| (n * 2000 + 1000, n * 2000 + 2000)).collect();
            sender.acknowledged(50 * MS, 0, 1 << 20, &blocks);
        }
        let mut again = Vec::new();
        while let Some((seq, _)) = sender.send(50 * MS) {
            again.push(seq);
        }
        // The last gaps have fewer than three beyond them and are not known to be lost yet.
        assert_eq!(again[..5], [0, 2000, 4000, 6000, 8000]);
        assert!(sender.pipe <= sender.control.window, "{}", sender.pipe);
    }

    #[test]
    fn the_timer_takes_everything_for_lost_and_doubles() {
        let mut sender = sent(5);
        // 50 ms and four times 25.
        assert_eq!(sender.timer(), Some(200 * MS));
        sender.timed_out(200 * MS);
        assert_eq!(sender.control.window, 1000);
        assert_eq!(sender.send(200 * MS).map(|(seq, _)| seq), Some(0));
        assert_eq!((sender.send(200 * MS), sender.timer()), (None, Some(600 * MS)));
        sender.acknowledged(260 * MS, 1000, 1 << 20, &[]);
        assert_eq!(sender.control.window, 2000);
        assert_eq!(sender.send(260 * MS).map(|(seq, _)| seq), Some(1000));
    }

    #[test]
    fn a_closed_window_is_not_overrun() {
        let mut sender = Sender::new(Algorithm::Cubic, 1000, 1 << 20, 200 * MS);
        sender.open(2500, 50 * MS);
        sender.write(&vec![7; 10_000]);
        let lens: Vec<usize> =
            std::iter::from_fn(|| sender.send(0)).map(|(_, data)| data.len()).collect();
        assert_eq!(lens, [1000, 1000, 500]);
    }
}
