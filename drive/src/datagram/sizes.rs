//! The length of a session's datagrams: the search of RFC 8899 (DPLPMTUD), without a socket or a clock.
//!
//! ```text
//! BASE (what the handshake proved) -- probe acknowledged --> longer steps, while the rate warrants them
//!   ^                                                             |
//!   +-- black hole: long ones no longer reported (5.2, 4.3) -------+      three probes lost: the step waits
//!   |
//! least: packets go in pieces, until the base passes again
//! ```
//!
//! Lengths are those of datagrams, including session headers but not UDP and IP. Probes are padding alone
//! (4.1), one at a time. A peer that never answers one runs an older version: its datagrams keep the length of
//! the handshake.

use wetstring_proto::time::{Duration, Instant};

/// Lengths that are probed, besides the base: the minimum (RFC 8899's MIN_PLPMTU, 5.1.2), below the IPv6
/// minimum, tunnels, Ethernet, then lengths where long datagrams save processor time: jumbo frames and
/// interfaces inside a machine.
const STEPS: [usize; 10] = [LEAST, 1000, 1200, 1400, 1452, 4000, 8952, 16_000, 32_000, 65_464];
/// Every path takes this.
pub(super) const LEAST: usize = 548;
/// Maximum probes of one length (MAX_PROBES).
const MAX_PROBES: u32 = 3;
/// Maximum transmissions of the first probe, which asks whether the peer supports probes.
const FIRST_PROBES: u32 = 8;
/// Minimum and maximum timeout of a probe (PROBE_TIMER).
const PROBE_TIMER: Duration = Duration::from_millis(500);
const LONGEST_TIMER: Duration = Duration::from_secs(8);
/// A length that failed is tried again after this time. RFC 8899's PMTU_RAISE_TIMER has 600 s.
const RAISE: Duration = Duration::from_secs(60);
/// If no datagram longer than the base is reported for at least this long, the path is a black hole.
const LOST_LONG: u32 = 4;
const SILENT_LONG: Duration = Duration::from_millis(500);
/// The same for those as long as the base: fewer of them are sent in a second.
const LOST_BASE: u32 = 8;
const SILENT_BASE: Duration = Duration::from_secs(2);
/// Received lengths are reported after this many datagrams, and at most this often.
const REPORT: u32 = 4;
const REPORT_EVERY: Duration = Duration::from_millis(100);
/// A datagram takes at most this time of the path at the present rate: on a slow path a long one would be a
/// burst, which overflows a short queue.
const SPAN: Duration = Duration::from_millis(1);
/// Averaging time of the rate.
const WINDOW: Duration = Duration::from_millis(16);

/// A probe under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Probe {
    len: usize,
    tries: u32,
    sent: Instant,
    due: Instant,
}

/// Datagrams sent that no report has covered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Unheard {
    since: Instant,
    count: u32,
}

/// The search of one session, at one end.
#[derive(Clone, Debug)]
pub(super) struct Sizes {
    /// Proved by the handshake.
    base: usize,
    /// Limits of the socket and the user, to send and to receive.
    most: usize,
    /// Known to pass (PLPMTU).
    proven: usize,
    /// The peer has answered a probe, or sent one.
    capable: bool,
    probe: Option<Probe>,
    first_tries: u32,
    next_first: Instant,
    rtt: Duration,
    /// This length and longer ones failed; when they are tried again.
    barred: Option<(usize, Instant)>,
    unheard: Option<Unheard>,
    /// Datagrams received since the last report: the number, and the longest.
    came: (u32, usize),
    reported: Instant,
    /// Bytes sent since, and bytes sent per [`SPAN`].
    left: (Instant, u64),
    in_span: usize,
}

impl Sizes {
    /// A session whose handshake passed with datagrams of `base` bytes; nothing is longer than `most`.
    pub(super) fn new(base: usize, most: usize, now: Instant) -> Self {
        Self {
            base,
            most: most.max(base),
            proven: base,
            capable: false,
            probe: None,
            first_tries: 0,
            next_first: now,
            rtt: Duration::ZERO,
            barred: None,
            unheard: None,
            came: (0, 0),
            reported: now,
            left: (now, 0),
            in_span: 0,
        }
    }

    /// The longest datagram that is known to pass.
    pub(super) fn proven(&self) -> usize {
        self.proven
    }

    /// Whether the peer supports bundles, pieces and probes.
    pub(super) fn is_capable(&self) -> bool {
        self.capable
    }

    /// Current maximum length of a bundle.
    pub(super) fn bundle(&self) -> usize {
        if self.capable { self.proven.min(self.in_span) } else { 0 }
    }

    fn timer(&self, tries: u32) -> Duration {
        (PROBE_TIMER.max(self.rtt * 4) * 2_u32.pow(tries.min(4))).min(LONGEST_TIMER)
    }

    /// The next length to probe.
    fn step(&self, now: Instant) -> Option<usize> {
        let steps = STEPS.into_iter().chain([self.base]);
        let next = steps.filter(|step| *step > self.proven && *step <= self.most).min()?;
        let barred = self.barred.is_some_and(|(len, until)| next >= len && now < until);
        (!barred && (next <= self.base || next <= self.in_span)).then_some(next)
    }

    /// A probe to send now: its length, or 0 for the shortest, which only asks whether the peer answers.
    pub(super) fn probe(&mut self, now: Instant) -> Option<usize> {
        if !self.capable {
            let due = self.first_tries < FIRST_PROBES && now >= self.next_first;
            if due {
                self.next_first = now + self.timer(self.first_tries);
                self.first_tries += 1;
                self.probe = Some(Probe { len: 0, tries: 1, sent: now, due: self.next_first });
            }
            return due.then_some(0);
        }
        if let Some(probe) = self.probe {
            if now < probe.due {
                return None;
            }
            if probe.tries < MAX_PROBES {
                let due = now + self.timer(probe.tries);
                self.probe = Some(Probe { tries: probe.tries + 1, sent: now, due, ..probe });
                return Some(probe.len);
            }
            self.refuse(probe.len, now);
        }
        let len = self.step(now)?;
        self.probe = Some(Probe { len, tries: 1, sent: now, due: now + self.timer(0) });
        Some(len)
    }

    /// When the probe is retransmitted.
    pub(super) fn deadline(&self) -> Option<Instant> {
        if self.capable {
            return self.probe.map(|probe| probe.due);
        }
        (self.first_tries < FIRST_PROBES).then_some(self.next_first)
    }

    /// A probe of this length failed for good.
    fn refuse(&mut self, len: usize, now: Instant) {
        self.probe = None;
        self.barred = Some((len, now + RAISE));
    }

    /// The peer acknowledged a probe of this length.
    pub(super) fn probed(&mut self, len: usize, now: Instant) {
        self.capable = true;
        let Some(probe) = self.probe else { return };
        if probe.len != 0 && probe.len != len {
            return;
        }
        if probe.tries == 1 {
            let rtt = now.since(probe.sent);
            self.rtt = if self.rtt.is_zero() { rtt } else { (self.rtt * 3 + rtt) / 4 };
        }
        self.probe = None;
        if probe.len > self.proven {
            self.proven = probe.len;
            // Longer datagrams are watched from here on.
            self.unheard = None;
        }
    }

    /// Fallback length if the current one no longer passes.
    fn fallback(&self) -> usize {
        if self.proven > self.base { self.base } else { LEAST.min(self.base) }
    }

    /// A data datagram was sent.
    pub(super) fn left(&mut self, len: usize, now: Instant) {
        self.left.1 += len as u64;
        let time = now.since(self.left.0);
        if time >= WINDOW {
            let bytes = u128::from(self.left.1) * SPAN.as_nanos() / time.as_nanos().max(1);
            self.in_span = usize::try_from(bytes).unwrap_or(usize::MAX);
            self.left = (now, 0);
        }
        if !self.capable || len <= self.fallback() {
            return;
        }
        let unheard = self.unheard.get_or_insert(Unheard { since: now, count: 0 });
        unheard.count += 1;
        let long = self.proven > self.base;
        let (lost, silent) = if long { (LOST_LONG, SILENT_LONG) } else { (LOST_BASE, SILENT_BASE) };
        if unheard.count >= lost && now.since(unheard.since) >= silent.max(self.rtt * 6) {
            self.hole(now);
        }
    }

    /// The path no longer carries datagrams of this length.
    fn hole(&mut self, now: Instant) {
        if self.proven > self.base {
            // Probes may pass where a stream of the same length does not.
            self.barred = Some((self.proven, now + RAISE));
        }
        self.proven = self.fallback();
        self.unheard = None;
        self.probe = None;
    }

    /// The interface, or a router, reports that a datagram was too long. Returns whether a shorter one is
    /// possible.
    pub(super) fn too_long(&mut self, now: Instant) -> bool {
        match self.probe {
            Some(probe) if probe.len > self.proven => self.refuse(probe.len, now),
            _ if self.capable && self.fallback() < self.proven => self.hole(now),
            _ => return false,
        }
        true
    }

    /// The peer received datagrams, the longest of this length.
    pub(super) fn reported(&mut self, longest: usize) {
        if longest > self.fallback() {
            self.unheard = None;
        }
    }

    /// The peer sent a probe; returns its length if it is acknowledged.
    pub(super) fn asked(&mut self, len: usize) -> Option<usize> {
        self.capable = true;
        (len <= self.most).then_some(len)
    }

    /// A data datagram was received; returns the longest recent length, if a report is due.
    pub(super) fn came(&mut self, len: usize, now: Instant) -> Option<usize> {
        if !self.capable || len <= LEAST {
            return None;
        }
        self.came = (self.came.0 + 1, self.came.1.max(len));
        if self.came.0 < REPORT || now.since(self.reported) < REPORT_EVERY {
            return None;
        }
        self.reported = now;
        Some(std::mem::take(&mut self.came).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    /// A packet of a connection whose handshake passed at 1200 bytes, sealed.
    const PACKET: usize = 1200;

    /// Both ends of a session over a path in virtual time. At each millisecond `takes` gives the longest datagram of
    /// the path, whose delay is 5 ms; one end sends this many bytes per millisecond.
    struct Path<F> {
        ends: [Sizes; 2],
        takes: F,
        bytes_per_ms: usize,
        ms: u64,
        probes: Vec<(u64, usize)>,
        came: u64,
        lost: u64,
        /// Bytes that may be sent now; negative if more were sent already.
        budget: i64,
        /// Reports and acknowledgements on their way back: when, type, length.
        back: Vec<(u64, bool, usize)>,
    }

    impl<F: FnMut(u64, usize) -> u32> Path<F> {
        fn new(base: usize, bytes_per_ms: usize, takes: F) -> Self {
            let end = Sizes::new(base, 65_464, Instant(0));
            let ends = [end.clone(), end];
            let (probes, back) = (Vec::new(), Vec::new());
            Self { ends, takes, bytes_per_ms, ms: 0, probes, came: 0, lost: 0, budget: 0, back }
        }

        fn run(&mut self, until_ms: u64) {
            while self.ms < until_ms {
                self.ms += 1;
                let now = Instant(self.ms * MS);
                let (due, later) = self.back.drain(..).partition(|(at, ..)| *at <= self.ms);
                self.back = later;
                for (_, probed, len) in Vec::from_iter::<Vec<_>>(due) {
                    if probed { self.ends[0].probed(len, now) } else { self.ends[0].reported(len) }
                }
                if let Some(len) = self.ends[0].probe(now) {
                    self.probes.push((self.ms, len));
                    let len = len.max(33);
                    for _ in 0..(self.takes)(self.ms, len) {
                        let answer = self.ends[1].asked(len);
                        self.back.extend(answer.map(|len| (self.ms + 10, true, len)));
                    }
                }
                self.budget += self.bytes_per_ms as i64;
                while self.budget > 0 {
                    let whole = self.ends[0].bundle().max(PACKET);
                    // In pieces where the packet is too long.
                    let len = if self.ends[0].is_capable() {
                        whole.min(self.ends[0].proven())
                    } else {
                        whole
                    };
                    self.ends[0].left(len, now);
                    let times = (self.takes)(self.ms, len);
                    *(if times > 0 { &mut self.came } else { &mut self.lost }) += len as u64;
                    for _ in 0..times {
                        let report = self.ends[1].came(len, now);
                        self.back.extend(report.map(|len| (self.ms + 10, false, len)));
                    }
                    self.budget -= len as i64;
                }
            }
        }

        fn proven(&self) -> usize {
            self.ends[0].proven
        }
    }

    fn up_to(most: usize) -> impl FnMut(u64, usize) -> u32 {
        move |_, len| u32::from(len <= most)
    }

    #[test]
    fn the_longest_passing_length_is_found() {
        for (most, expected) in
            [(1200, 1200), (1280, 1200), (1400, 1400), (1472, 1452), (9000, 8952), (65_507, 65_464)]
        {
            let mut path = Path::new(1200, 100_000, up_to(most));
            path.run(3000);
            assert_eq!(path.proven(), expected, "{most}");
            // The length that fails is tried three times, then not for a minute.
            let long = path.probes.iter().filter(|(_, len)| *len > most).count();
            assert!(long <= 3, "{most}: {:?}", path.probes);
            path.run(50_000);
            assert!(path.probes.len() <= STEPS.len() + 4, "{most}: {:?}", path.probes);
        }
    }

    #[test]
    fn a_slow_path_is_not_probed_for_long_datagrams() {
        // 20 Mbit/s: a millisecond is two packets of Ethernet.
        let mut path = Path::new(1200, 2500, up_to(65_507));
        path.run(20_000);
        assert!(path.proven() <= 1452 && path.ends[0].bundle() <= 2600, "{:?}", path.ends[0]);
        // 200 Mbit/s.
        let mut path = Path::new(1200, 25_000, up_to(65_507));
        path.run(20_000);
        assert_eq!(path.proven(), 16_000);
    }

    #[test]
    fn a_changing_path_mtu_is_followed_down_and_up() {
        for (before, after, low) in [(65_507, 9000, 8952), (9000, 1400, 1400), (1500, 1100, 1000)] {
            let takes = move |ms, len| {
                let most = if (3000..70_000).contains(&ms) { after } else { before };
                u32::from(len <= most)
            };
            let mut path = Path::new(1200, 100_000, takes);
            path.run(3000);
            let high = path.proven();
            assert!(high > low, "{before}");
            path.run(12_000);
            assert_eq!(path.proven(), low, "{before} to {after}");
            let (lost, came) = (path.lost, path.came);
            path.run(60_000);
            assert_eq!(path.lost, lost, "nothing that is too long leaves any more");
            assert!(path.came > came);
            // A minute after it failed a longer length is tried again.
            path.run(150_000);
            assert_eq!(path.proven(), high, "{after} to {before}: {:?}", path.probes);
            assert!(path.probes.len() < 60, "{:?}", path.probes);
        }
    }

    #[test]
    fn lost_and_duplicated_probes_and_reports_do_no_harm() {
        let mut dice = wetstring_testkit::Dice(3);
        let takes = move |_, len| {
            let draw = dice.below(10);
            if len > 9000 || draw < 3 { 0 } else { 1 + u32::from(draw == 9) }
        };
        let mut path = Path::new(1200, 100_000, takes);
        path.run(120_000);
        assert_eq!(path.proven(), 8952);
        assert!(path.probes.len() < 40, "{:?}", path.probes);
    }

    #[test]
    fn a_peer_without_probe_support_is_asked_a_few_times() {
        let mut sizes = Sizes::new(1452, 65_464, Instant(0));
        let mut probes = 0;
        for ms in 0..600_000 {
            let now = Instant(ms * MS);
            probes += u32::from(sizes.probe(now).is_some());
            sizes.left(1452, now);
        }
        assert_eq!((probes, sizes.proven(), sizes.bundle()), (FIRST_PROBES, 1452, 0));
        assert_eq!(sizes.deadline(), None);
        // A router's report does not help there.
        assert!(!sizes.too_long(Instant(600_000 * MS)));
    }

    #[test]
    fn an_error_of_the_interface_is_believed_at_once() {
        let mut sizes = Sizes::new(1200, 65_464, Instant(0));
        assert_eq!(sizes.probe(Instant(0)), Some(0));
        sizes.probed(33, Instant(MS));
        for ms in 1..100 {
            sizes.left(100_000, Instant(ms * MS));
        }
        assert_eq!(sizes.probe(Instant(100 * MS)), Some(1400));
        assert!(sizes.too_long(Instant(100 * MS)));
        assert_eq!((sizes.probe(Instant(101 * MS)), sizes.proven()), (None, 1200));
        // Not even the base: pieces.
        assert!(sizes.too_long(Instant(102 * MS)) && sizes.proven() == LEAST);
        assert!(!sizes.too_long(Instant(103 * MS)));
    }

    #[test]
    fn a_probe_longer_than_the_socket_buffer_is_not_acknowledged() {
        let mut sizes = Sizes::new(1452, 13_000, Instant(0));
        assert_eq!((sizes.asked(8952), sizes.asked(16_000)), (Some(8952), None));
    }
}
