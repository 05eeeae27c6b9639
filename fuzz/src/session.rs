//! The session below NETBLT: what a listener and one who dials make of any datagrams.

use crate::Script;
use std::net::SocketAddr;
use wetstring_drive::datagram::secure::{
    Agreed, Answer, Frame, GUESSES, Gate, GateOutput, HALVES, Initiator, OVERHEAD, Opened, Proved,
    SHORTEST,
};
use wetstring_drive::datagram::{Credentials, Phrase, Secret};
use wetstring_proto::{Duration, Instant};

const BEGIN: Instant = Instant(1_000_000_000);
/// What the true peer puts into its first packet.
const WORD: &[u8] = b"the packet of somebody who may come in";

fn secret(text: &str) -> Credentials {
    Credentials::Secret(Secret::new(text.as_bytes()).expect("it is long enough"))
}

fn code(text: &str) -> Credentials {
    Credentials::Code(text.parse::<Phrase>().expect("a phrase"))
}

/// A listener, a true peer at one address, and everybody else.
struct Door {
    gate: Gate,
    now: Instant,
    open: Vec<u8>,
    /// Bytes that each address sent and got.
    sums: [(usize, usize); 4],
}

impl Door {
    fn new(credentials: Credentials) -> Self {
        let gate = Gate::new(credentials, BEGIN).expect("random bytes");
        Self { gate, now: BEGIN, open: vec![0; 65_536], sums: [(0, 0); 4] }
    }

    /// A peer's datagram; what goes back, and who got in.
    fn hear(&mut self, from: usize, bytes: &[u8]) -> (Option<Vec<u8>>, Option<Proved>) {
        let address = SocketAddr::from(([10, 0, 0, from as u8], 998));
        self.sums[from].0 += bytes.len();
        let Some(frame) = Frame::parse(bytes) else { return (None, None) };
        let heard = self.gate.hear(self.now, address, frame, bytes.len(), &mut self.open);
        assert!(self.gate.waiting() <= HALVES, "{} handshakes", self.gate.waiting());
        match heard {
            GateOutput::Nothing => (None, None),
            GateOutput::Answer(answer) | GateOutput::Refused(answer, _) => {
                assert!(answer.len() <= bytes.len(), "{} for {}", answer.len(), bytes.len());
                self.sums[from].1 += answer.len();
                assert!(self.sums[from].1 <= self.sums[from].0, "{:?}", self.sums);
                (Some(answer), None)
            }
            GateOutput::Proved(proved) => (None, Some(*proved)),
        }
    }
}

/// Dials until there is an answer, and comes in with it: the datagrams that it took.
fn dial(door: &mut Door, asking: &mut Initiator<'_>, from: usize) -> Option<Vec<Vec<u8>>> {
    let mut sent = Vec::new();
    for _ in 0..8 {
        let now = door.now;
        let Ok(Some(init)) = asking.ask(now) else {
            door.now = door.now + Duration::from_millis(500);
            continue;
        };
        let (answer, _) = door.hear(from, &init);
        sent.push(init);
        let Some(answer) = answer else { continue };
        let Some(frame) = Frame::parse(&answer) else { panic!("expected an answer that is one") };
        if let Answer::Ready(agreed) = asking.hear(frame, now) {
            let Agreed { mut session, finish, .. } = *agreed;
            sent.extend(finish);
            let mut data = vec![0; WORD.len() + OVERHEAD];
            session.seal(WORD, &mut data)?;
            sent.push(data);
            return Some(sent);
        }
    }
    None
}

/// A script of datagrams to a listener; whether the true peer got in at last.
///
/// # Panics
///
/// If more goes back than came, the table grows, or a peer gets in without the secret.
pub fn gate(bytes: &[u8]) -> bool {
    by(bytes, &secret("only the peer knows this"), &secret("what somebody guesses"))
}

/// The same with a code phrase.
///
/// # Panics
///
/// As [`gate`], or if more is guessed than a listener allows.
pub fn gate_by_code(bytes: &[u8]) -> bool {
    by(bytes, &code("7-walnut-compass"), &code("8-walnut-compass"))
}

/// The listener and its true peer have `ours`, a peer has `theirs`.
fn by(bytes: &[u8], ours: &Credentials, theirs: &Credentials) -> bool {
    let mut script = Script::new(bytes);
    let mut door = Door::new(ours.clone());
    let mut dialler = Initiator::new(ours, vec![1200, SHORTEST], BEGIN);
    let mut guesser = Initiator::new(theirs, vec![1200], BEGIN);
    let mut known: Vec<Vec<u8>> = Vec::new();
    let mut inside = None;
    while !script.is_over() {
        match script.byte() % 6 {
            0 => {
                let from = usize::from(script.byte()) % 4;
                assert!(door.hear(from, script.bytes()).1.is_none(), "anybody gets in");
            }
            1 => {
                let frame = made_up(&mut script);
                let from = usize::from(script.byte()) % 4;
                assert!(door.hear(from, &frame).1.is_none(), "anybody gets in");
            }
            2 if known.is_empty() => {
                known = dial(&mut door, &mut dialler, 0).unwrap_or_default();
            }
            2 => {
                // The true peer's datagrams, changed or from elsewhere.
                let mut bytes = known[usize::from(script.byte()) % known.len()].clone();
                let (at, flip) = (usize::from(script.short()), script.byte());
                let len = bytes.len();
                let padding = Frame::parse(&bytes)
                    .is_some_and(|frame| matches!(frame, Frame::Init { message, .. } if at % len >= 28 + message.len()));
                bytes[at % len] ^= flip;
                let from =
                    if flip == 0 || padding { 1 + usize::from(script.byte()) % 3 } else { 0 };
                assert!(door.hear(from, &bytes).1.is_none(), "a changed word opens");
            }
            3 => {
                let came = dial(&mut door, &mut guesser, 3);
                assert!(came.is_none(), "another secret opens");
            }
            4 if inside.is_none() => {
                // The last packet of the handshake, as it is.
                if let Some(word) = known.last().cloned() {
                    inside = door.hear(0, &word).1;
                    if let Some(proved) = &inside {
                        assert_eq!(proved.packet, WORD);
                    }
                }
            }
            _ => door.now = door.now + Duration::from_millis(u64::from(script.byte()) * 100),
        }
    }
    assert!(door.gate.guesses() <= GUESSES, "{} guesses", door.gate.guesses());
    if let Some(proved) = &mut inside {
        within(proved, &known);
    }
    inside.is_some()
}

/// In a session nothing comes in twice, and nothing that is made up.
fn within(proved: &mut Proved, known: &[Vec<u8>]) {
    let mut into = vec![0; 65_536];
    for bytes in known {
        for flip in [0, 1] {
            let mut bytes = bytes.clone();
            if let Some(last) = bytes.last_mut() {
                *last ^= flip;
            }
            if let Some(Frame::Data { nonce, sealed, .. }) = Frame::parse(&bytes) {
                assert_eq!(proved.session.open(nonce, sealed, &mut into), Opened::Bad);
            }
        }
    }
}

/// A datagram with the looks of one of ours.
fn made_up(script: &mut Script<'_>) -> Vec<u8> {
    let mut bytes = b"WN".to_vec();
    bytes.extend([script.byte() % 9, 1]);
    bytes.extend(script.word().to_be_bytes());
    bytes.extend([1 + script.byte() % 2, 1 + script.byte() % 3]);
    bytes.extend((u16::from(script.byte())).to_be_bytes());
    bytes.extend(script.bytes());
    bytes.resize(script.pick(&[16, 40, 511, 512, 1200]), script.byte());
    bytes
}

/// Datagrams to one who dials.
///
/// # Panics
///
/// If something makes a session that the listener did not say.
pub fn dialler(bytes: &[u8]) {
    calls(bytes, &secret("only the peer knows this"));
}

/// The same with a code phrase.
///
/// # Panics
///
/// As [`dialler`].
pub fn dialler_by_code(bytes: &[u8]) {
    calls(bytes, &code("7-walnut-compass"));
}

fn calls(bytes: &[u8], credentials: &Credentials) {
    let mut script = Script::new(bytes);
    let mut asking = Initiator::new(credentials, vec![1200, SHORTEST], BEGIN);
    let (mut now, mut index) = (BEGIN, None);
    let mut sent = 0;
    while !script.is_over() {
        match script.byte() % 4 {
            0 => {
                if let Ok(Some(init)) = asking.ask(now) {
                    assert!(init.len() <= 1200 && init.len() >= SHORTEST);
                    index = init.get(4..8).map(<[u8]>::to_vec);
                    sent += 1;
                }
            }
            1 => now = now + Duration::from_millis(u64::from(script.byte()) * 20),
            kind => {
                let mut bytes = made_up(&mut script);
                // Half of them for the current handshake.
                if let (3, Some(index)) = (kind, &index) {
                    bytes[4..8].copy_from_slice(index);
                }
                if let Some(frame) = Frame::parse(&bytes) {
                    let answer = asking.hear(frame, now);
                    assert!(!matches!(answer, Answer::Ready(_)), "anybody can be the listener");
                }
            }
        }
    }
    // A cookie lets it ask once more for each handshake; the rest is time.
    let elapsed = u64::try_from(now.since(BEGIN).as_millis()).unwrap_or(u64::MAX);
    assert!(sent <= 20 + elapsed / 500, "{sent} in {elapsed} ms");
}
