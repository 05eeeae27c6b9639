//! Detects the protocol of the peer while one engine is already running.
//!
//! A receiver that does not know the protocol must not only listen: a Kermit sender may wait for
//! the first NAK, an `sz` for ZRINIT. So [`Choice`] is an engine around two. Until it has decided,
//! the first engine may transmit, and received bytes are kept; then all of them go
//! to the chosen one. Nothing is lost, and no store request is made before.

use std::time::Duration;

use wetstring_proto::zmodem::{self, PeerRole};
use wetstring_proto::{
    Command, Cx, Engine, Event, FailureKind, Instant, Learned, NoTrace, Outcome, Reply, Request,
    Stats, Status, Wants,
};

/// The verdict on the bytes so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// Undecided.
    Unclear,
    /// The engine that started.
    First,
    /// The other one.
    Second,
}

/// Bytes kept before a decision; a longer prelude is the banner of a host, and is discarded from its
/// beginning on.
const MOST_KEPT: usize = 4096;

/// Silence after which a sender may be waiting for the other protocol's first word.
const SILENCE: Duration = Duration::from_secs(2);

/// The other protocol's initial message, sent while undecided. Some senders wait for it.
///
/// It is sent only during silence, at growing intervals, and not again once anything was received that
/// decides nothing: that may be a shell, which would take it for a command.
struct Offer {
    words: Vec<u8>,
    /// Number sent.
    said: usize,
    /// When it is due next; `None`: as soon as the line is free.
    at: Option<Instant>,
    wait: Duration,
    /// It was sent before.
    before: bool,
}

impl Offer {
    /// The port took this many bytes of it.
    fn took(&mut self, now: Instant, len: usize) {
        self.said += len;
        if self.said >= self.words.len() {
            self.said = 0;
            self.before = true;
            self.wait *= 2;
            self.at = Some(now + self.wait);
        }
    }

    /// Undecided bytes were received. False if it must not be sent again.
    fn heard(&mut self, now: Instant, bytes: &[u8]) -> bool {
        if self.before && bytes.iter().any(|byte| is_text(*byte)) {
            return false;
        }
        if let Some(at) = &mut self.at {
            *at = (*at).max(now + SILENCE);
        }
        true
    }
}

/// Two engines of which one will be used.
pub(crate) struct Choice {
    engine: Box<dyn Engine>,
    second: Option<Box<dyn Engine>>,
    rule: fn(&[u8]) -> Verdict,
    /// Switch to the second after this much time without a decision.
    patience: Option<Duration>,
    began: Option<Instant>,
    kept: Vec<u8>,
    decided: bool,
    offer: Option<Offer>,
    /// The lent bytes are the offer.
    offering: bool,
}

impl Choice {
    /// `first` starts; `rule` decides from the received bytes.
    pub(crate) fn new(
        first: Box<dyn Engine>,
        second: Box<dyn Engine>,
        rule: fn(&[u8]) -> Verdict,
    ) -> Self {
        Self {
            engine: first,
            second: Some(second),
            rule,
            patience: None,
            began: None,
            kept: Vec::with_capacity(MOST_KEPT),
            decided: false,
            offer: None,
            offering: false,
        }
    }

    /// Switches to the second engine after this time without a decision.
    pub(crate) fn or_after(mut self, patience: Duration) -> Self {
        self.patience = Some(patience);
        self
    }

    /// Sends the initial message of `like`, an engine of the second kind, after some silence.
    pub(crate) fn offering(mut self, like: &mut dyn Engine) -> Self {
        let cx = &mut Cx { now: Instant(1), trace: &mut NoTrace };
        let words = like.transmit(cx).to_vec();
        self.offer = Some(Offer { words, said: 0, at: None, wait: SILENCE, before: false });
        self
    }

    fn turn_at(&self) -> Option<Instant> {
        let wait = self.patience.filter(|_| !self.decided)?;
        Some(self.began? + wait)
    }

    fn decide(&mut self, cx: &mut Cx<'_>, second: bool) {
        self.decided = true;
        if second && let Some(engine) = self.second.take() {
            self.engine = engine;
            if self.offer.as_ref().is_some_and(|offer| offer.before) {
                // Its initial message was sent already, and some senders end at a second ZRINIT.
                let len = self.engine.transmit(cx).len();
                self.engine.transmitted(cx, len);
            }
        }
        self.second = None;
        self.feed(cx);
    }

    /// Feeds the kept bytes to the engine, as far as it accepts them.
    fn feed(&mut self, cx: &mut Cx<'_>) {
        while self.decided && !self.kept.is_empty() {
            let taken = self.engine.receive(cx, &self.kept).min(self.kept.len());
            self.kept.drain(..taken);
            if taken == 0 {
                break;
            }
        }
    }

    /// Whether the time of the first engine is up, or it gave up.
    fn look_at_clock(&mut self, cx: &mut Cx<'_>) {
        if self.decided {
            return self.feed(cx);
        }
        let begins = self.began.is_none();
        self.began.get_or_insert(cx.now);
        if let Some(offer) = &mut self.offer {
            if begins {
                offer.at = Some(cx.now + SILENCE);
            } else if offer.at.is_some_and(|at| at <= cx.now) {
                offer.at = None;
            }
        }
        let silent =
            |outcome| matches!(outcome, Outcome::Failed(f) if f.kind == FailureKind::Silence);
        let late = self.turn_at().is_some_and(|at| cx.now >= at);
        let given_up =
            self.patience.is_some() && self.engine.status().outcome().is_some_and(silent);
        if late || given_up {
            self.kept.clear();
            self.decide(cx, true);
        }
    }
}

impl Engine for Choice {
    fn receive(&mut self, cx: &mut Cx<'_>, bytes: &[u8]) -> usize {
        self.look_at_clock(cx);
        if self.decided {
            return if self.kept.is_empty() { self.engine.receive(cx, bytes) } else { 0 };
        }
        self.kept.extend_from_slice(bytes);
        match (self.rule)(&self.kept) {
            Verdict::First => self.decide(cx, false),
            Verdict::Second => self.decide(cx, true),
            Verdict::Unclear => {
                self.offer.take_if(|offer| offer.said == 0 && !offer.heard(cx.now, bytes));
                let surplus = self.kept.len().saturating_sub(MOST_KEPT);
                self.kept.drain(..surplus);
            }
        }
        bytes.len()
    }

    fn transmit(&mut self, cx: &mut Cx<'_>) -> &[u8] {
        self.look_at_clock(cx);
        let due = self.offer.as_ref().filter(|offer| !self.decided && offer.at.is_none());
        let begun = due.is_some_and(|offer| offer.said > 0);
        self.offering = due.is_some() && (begun || self.engine.transmit(cx).is_empty());
        match &self.offer {
            Some(offer) if self.offering => &offer.words[offer.said..],
            _ => self.engine.transmit(cx),
        }
    }

    fn transmitted(&mut self, cx: &mut Cx<'_>, len: usize) {
        match &mut self.offer {
            Some(offer) if self.offering => offer.took(cx.now, len),
            _ => self.engine.transmitted(cx, len),
        }
        self.offering = false;
        self.feed(cx);
    }

    fn deadline(&self) -> Option<Instant> {
        let offer = self.offer.as_ref().filter(|_| !self.decided).and_then(|offer| offer.at);
        [self.engine.deadline(), self.turn_at(), offer].into_iter().flatten().min()
    }

    fn tick(&mut self, cx: &mut Cx<'_>) {
        self.look_at_clock(cx);
        self.engine.tick(cx);
        self.look_at_clock(cx);
    }

    fn request(&mut self) -> Option<Request<'_>> {
        if self.decided { self.engine.request() } else { None }
    }

    fn reply(&mut self, cx: &mut Cx<'_>, reply: Reply<'_>) {
        self.engine.reply(cx, reply);
        self.feed(cx);
    }

    fn event(&mut self) -> Option<Event<'_>> {
        self.engine.event()
    }

    fn command(&mut self, cx: &mut Cx<'_>, command: Command) {
        // An abort by the user makes detection pointless.
        self.decided = true;
        self.kept.clear();
        self.engine.command(cx, command);
    }

    fn wants(&self) -> Wants {
        if self.decided { self.engine.wants() } else { Wants::INPUT.with(Wants::OUTPUT, true) }
    }

    fn status(&self) -> Status {
        self.engine.status()
    }

    fn stats(&self) -> &Stats {
        self.engine.stats()
    }

    fn learned(&self) -> Learned {
        self.engine.learned()
    }
}

/// ZPAD and ZDLE, with which every header of ZMODEM begins.
const HEADER: [u8; 2] = [b'*', 0x18];

const CTRL_C: u8 = 3;

/// Five of them cancel ZMODEM; users type them, too.
const CANCEL: [u8; 5] = [0x18; 5];

fn is_cancel(bytes: &[u8]) -> bool {
    bytes.windows(CANCEL.len()).any(|five| five == CANCEL)
}

/// Whether a byte is text that a user or a shell would write. The start of a header (or of
/// the echo of ours) is not.
fn is_text(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'$' | b'%' | b'>' | b'\n')
}

/// For a receiver: Kermit (first) or ZMODEM (second)?
pub(crate) fn kermit_or_zmodem(bytes: &[u8]) -> Verdict {
    if matches!(zmodem::recognise(bytes), Some((_, PeerRole::Sender))) || is_cancel(bytes) {
        return Verdict::Second;
    }
    if bytes.windows(3).any(|three| three == [CTRL_C; 3]) {
        // The user cancels, and Kermit handles that.
        return Verdict::First;
    }
    let plain = |byte: &u8| byte & 0x7F;
    // MARK, length, sequence number 0, and a Send-Init or an Error.
    for (at, byte) in bytes.iter().enumerate() {
        if byte & 0x7F != 1 {
            continue;
        }
        let rest: Vec<u8> = bytes[at + 1..].iter().take(3).map(plain).collect();
        let fits = [
            rest.first().is_none_or(|len| (b'#'..=b'~').contains(len) || *len == b' '),
            rest.get(1).is_none_or(|number| *number == b' '),
            rest.get(2).is_none_or(|kind| b"SIEN".contains(kind)),
        ];
        if fits.iter().all(|fits| *fits) {
            return if rest.len() == 3 { Verdict::First } else { Verdict::Unclear };
        }
    }
    Verdict::Unclear
}

/// For a sender: does the receiver speak ZMODEM (first), or does it request YMODEM's or
/// XMODEM's first block (second)?
pub(crate) fn zmodem_or_ymodem(bytes: &[u8]) -> Verdict {
    let header = bytes.windows(2).any(|window| window.iter().map(|byte| byte & 0x7F).eq(HEADER));
    if header || is_cancel(bytes) {
        return Verdict::First;
    }
    // Start characters come alone; in a sentence they are letters. The echo of the command that
    // started the receiver may precede them, on lines of its own.
    let last = bytes.rsplit(|byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or_default();
    match last {
        [] => Verdict::Unclear,
        _ if last.iter().all(|byte| *byte == 0x15) => Verdict::Second,
        _ if last.iter().all(|byte| *byte == b'C') => Verdict::Second,
        _ if last.iter().all(|byte| *byte == b'G') => Verdict::Second,
        _ => Verdict::Unclear,
    }
}

/// For a receiver that offers ZMODEM: is the sender ZMODEM (first)? YMODEM's sender sends
/// nothing unasked, so only a timeout decides.
pub(crate) fn zmodem_or_time(bytes: &[u8]) -> Verdict {
    let header = bytes.windows(2).any(|window| window.iter().map(|byte| byte & 0x7F).eq(HEADER));
    if header || is_cancel(bytes) { Verdict::First } else { Verdict::Unclear }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ZRQINIT: &[u8] = b"rz\r**\x18B00000000000000\r\x8a\x11";

    #[test]
    fn kermit_and_zmodem_are_told_apart_in_any_chunking() {
        let kermit: &[u8] = b"login banner\r\n\x01, S~/ @-#Y1~\r";
        for (bytes, verdict) in [(ZRQINIT, Verdict::Second), (kermit, Verdict::First)] {
            let decided = (0..=bytes.len())
                .map(|len| kermit_or_zmodem(&bytes[..len]))
                .find(|verdict| *verdict != Verdict::Unclear);
            assert_eq!(decided, Some(verdict));
        }
        // With even parity.
        let even = |byte: &u8| if byte.count_ones() % 2 == 1 { byte | 0x80 } else { *byte };
        let parity: Vec<u8> = kermit.iter().map(even).collect();
        assert_eq!(kermit_or_zmodem(&parity), Verdict::First);
        assert_eq!(kermit_or_zmodem(b"**\x18B0100000000"), Verdict::Unclear);
        assert_eq!(kermit_or_zmodem(b"\x01\x01\x01hello"), Verdict::Unclear);
        // A user at the keyboard.
        assert_eq!(kermit_or_zmodem(b"x\x03\x03"), Verdict::Unclear);
        assert_eq!(kermit_or_zmodem(b"x\x03\x03\x03"), Verdict::First);
    }

    /// A detecting receiver, and what it sends in these seconds.
    fn listen(script: &[(u64, &[u8])], seconds: u64) -> (Choice, Vec<(u64, Vec<u8>)>) {
        let kermit = wetstring_proto::kermit::Config::default();
        let zmodem = zmodem::Config::default();
        let memory = || vec![0; zmodem.receiver_memory()];
        let first = wetstring_proto::kermit::Receiver::new(
            kermit.clone(),
            vec![0; kermit.receiver_memory()],
        );
        let second = zmodem::Receiver::new(zmodem.clone(), memory()).expect("enough");
        let mut like = zmodem::Receiver::new(zmodem.clone(), memory()).expect("enough");
        let first = Box::new(first.expect("enough"));
        let mut choice = Choice::new(first, Box::new(second), kermit_or_zmodem).offering(&mut like);
        let mut said = Vec::new();
        for tick in 0..seconds * 10 {
            let cx = &mut Cx { now: Instant(tick * 100_000_000 + 1), trace: &mut NoTrace };
            for (at, bytes) in script.iter().filter(|(at, _)| *at == tick) {
                assert_eq!(choice.receive(cx, bytes), bytes.len(), "at {at}");
            }
            choice.tick(cx);
            let bytes = choice.transmit(cx).to_vec();
            choice.transmitted(cx, bytes.len());
            if !bytes.is_empty() {
                said.push((tick, bytes));
            }
        }
        (choice, said)
    }

    const ZRINIT: &[u8] = b"**\x18B01";

    fn offers(said: &[(u64, Vec<u8>)]) -> Vec<u64> {
        said.iter().filter(|(_, bytes)| bytes.starts_with(ZRINIT)).map(|(at, _)| *at).collect()
    }

    #[test]
    fn a_zmodem_sender_waiting_for_zrinit_gets_it() {
        // ZSINIT with an empty attention string, as senders in browsers begin.
        let zsinit: &[u8] = b"**\x18B0200000000e1c5\r\x8a\x11";
        let mut header = [0; 64];
        let len = zmodem::packet::Header::hex(zmodem::packet::kind::ZSINIT, 0)
            .put(&mut zmodem::escape::Escaper::new(zmodem::escape::Escaping::Normal), &mut header);
        assert_eq!(header[..8], zsinit[..8]);
        let (choice, said) = listen(&[(30, &header[..len])], 40);
        assert_eq!(offers(&said)[0], 20, "after two seconds");
        assert!(choice.decided && choice.second.is_none());
        assert_eq!(zmodem::recognise(&header[..len]), Some((0, PeerRole::Sender)));
    }

    #[test]
    fn offers_stop_when_text_is_received() {
        // No peer: growing intervals, and Kermit sends its NAKs too.
        let (_, said) = listen(&[], 60);
        assert_eq!(offers(&said), [20, 60, 140, 300]);
        assert!(said.iter().any(|(_, bytes)| bytes.starts_with(b"\x01#")), "{said:?}");
        // A banner delays it; a shell that answers it gets no more.
        let prompt: &[u8] = b"**0100000023be50: command not found\r\n$ ";
        let (_, said) = listen(&[(10, b"login banner\r\n$ "), (31, prompt)], 60);
        assert_eq!(offers(&said), [30]);
        // Kermit's sender, however late.
        let (choice, said) = listen(&[(35, b"\x01, S~/ @-#Y1~\r")], 60);
        assert!(choice.decided && offers(&said) == [20], "{said:?}");
        // An offer must not contain the start characters of XMODEM, or two CANs.
        let (_, said) = listen(&[], 3);
        let words = &said.iter().find(|(_, bytes)| bytes.starts_with(ZRINIT)).unwrap().1;
        assert!(!words.iter().any(|byte| matches!(byte, b'C' | b'G' | 0x15)));
        assert_eq!(words.split(|byte| *byte == 0x18).count(), 2);
    }

    #[test]
    fn a_start_character_is_not_a_letter_of_a_sentence() {
        assert_eq!(zmodem_or_ymodem(b"C"), Verdict::Second);
        assert_eq!(zmodem_or_ymodem(b"\x15"), Verdict::Second);
        assert_eq!(zmodem_or_ymodem(b"rz\r\nG"), Verdict::Second);
        assert_eq!(zmodem_or_ymodem(b"rz: Command not found"), Verdict::Unclear);
        assert_eq!(zmodem_or_ymodem(b"sh: C"), Verdict::Unclear);
        assert_eq!(zmodem_or_ymodem(b"C**\x18B01"), Verdict::First);
    }
}
