//! The code phrase: the exchange and the handshake after it, datagram by datagram, without a socket.

use std::net::SocketAddr;
use wetstring_drive::datagram::secure::{
    Answer, Frame, GOOD_FOR, GUESSES, Gate, GateOutput, HALVES, Initiator, OVERHEAD, Proved,
    RefusalReason, SHORTEST, Session,
};
use wetstring_drive::datagram::{Credentials, Phrase};
use wetstring_proto::{Duration, Instant};
use wetstring_testkit::Dice;

const BEGIN: Instant = Instant(1_000_000_000);
const WORD: &[u8] = b"the packet of an admitted peer";

fn code(text: &str) -> Credentials {
    Credentials::Code(text.parse::<Phrase>().unwrap())
}

fn right() -> Credentials {
    code("7-walnut-compass")
}

fn address(last: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, last], 998))
}

/// A listener, with the datagrams it sent to peers that are not admitted.
struct Door {
    gate: Gate,
    now: Instant,
    open: Vec<u8>,
    proved: Option<Proved>,
    refused: Option<RefusalReason>,
}

impl Door {
    fn new(credentials: Credentials) -> Self {
        let gate = Gate::new(credentials, BEGIN).unwrap();
        Self { gate, now: BEGIN, open: vec![0; 65_536], proved: None, refused: None }
    }

    fn hear(&mut self, from: SocketAddr, bytes: &[u8]) -> Option<Vec<u8>> {
        let frame = Frame::parse(bytes)?;
        match self.gate.hear(self.now, from, frame, bytes.len(), &mut self.open) {
            GateOutput::Nothing => None,
            GateOutput::Answer(answer) => {
                assert!(answer.len() <= bytes.len(), "{} for {}", answer.len(), bytes.len());
                Some(answer)
            }
            GateOutput::Refused(answer, why) => {
                self.refused = Some(why);
                Some(answer)
            }
            GateOutput::Proved(proved) => {
                self.proved = Some(*proved);
                None
            }
        }
    }
}

/// A dialer, and its state.
struct Caller<'c> {
    asking: Initiator<'c>,
    session: Option<Session>,
    refused: Option<&'static str>,
}

impl<'c> Caller<'c> {
    fn new(credentials: &'c Credentials) -> Self {
        let asking = Initiator::new(credentials, vec![1200, SHORTEST], BEGIN);
        Self { asking, session: None, refused: None }
    }

    /// What to send now.
    fn says(&mut self, now: Instant) -> Vec<Vec<u8>> {
        if let Some(session) = &mut self.session {
            let mut data = vec![0; WORD.len() + OVERHEAD];
            session.seal(WORD, &mut data).unwrap();
            return vec![data];
        }
        std::iter::from_fn(|| self.asking.ask(now).unwrap()).collect()
    }

    fn hears(&mut self, bytes: &[u8], now: Instant) {
        let Some(frame) = Frame::parse(bytes) else { return };
        match self.asking.hear(frame, now) {
            Answer::More => {}
            Answer::Refused(why) => self.refused = Some(why),
            Answer::Ready(agreed) => self.session = self.session.take().or(Some(agreed.session)),
        }
    }
}

/// Runs both ends for this many rounds. `change` gets every datagram before it is delivered: its number, and
/// whether
/// it is the caller's.
fn talk(
    door: &mut Door,
    caller: &mut Caller<'_>,
    rounds: usize,
    change: &mut dyn FnMut(usize, bool, &mut Vec<u8>),
) {
    let mut number = 0;
    let mut counted = |ours: bool, bytes: &mut Vec<u8>| {
        change(number, ours, bytes);
        number += 1;
    };
    for _ in 0..rounds {
        for mut said in caller.says(door.now) {
            counted(true, &mut said);
            if let Some(mut answer) = door.hear(address(1), &said) {
                counted(false, &mut answer);
                caller.hears(&answer, door.now);
            }
        }
        if door.proved.is_some() {
            return;
        }
    }
}

#[test]
fn the_right_phrase_is_accepted() {
    let ours = right();
    let (mut door, mut caller) = (Door::new(right()), Caller::new(&ours));
    talk(&mut door, &mut caller, 5, &mut |_, _, _| {});
    assert_eq!(door.proved.expect("it opens").packet, WORD);
    assert_eq!((door.gate.guesses(), door.gate.is_used()), (0, true));
    // It was for one peer: no one else is admitted, with any phrase.
    let mut other = Caller::new(&ours);
    door.proved = None;
    door.refused = None;
    let mut door = Door { proved: None, ..door };
    talk(&mut door, &mut other, 5, &mut |_, _, _| {});
    assert!(door.proved.is_none() && door.refused == Some(RefusalReason::Used));
    assert!(other.refused.is_some_and(|why| why.contains("still valid")), "{:?}", other.refused);
}

#[test]
fn three_wrong_phrases_end_the_exchange() {
    let mut door = Door::new(right());
    for wrong in 1..=GUESSES {
        let theirs = code(&format!("{wrong}-walnut-compass"));
        let mut caller = Caller::new(&theirs);
        talk(&mut door, &mut caller, 5, &mut |_, _, _| {});
        assert!(door.proved.is_none() && caller.session.is_none());
        assert_eq!(door.refused, Some(RefusalReason::Code));
        assert!(caller.refused.is_some_and(|why| why.contains("ours is another")));
        // The attacker has used up the one guess.
        for _ in 0..50 {
            door.now = door.now + Duration::from_secs(1);
            talk(&mut door, &mut caller, 1, &mut |_, _, _| {});
        }
        assert_eq!(door.gate.guesses(), wrong);
        assert_eq!(door.gate.is_over(door.now), wrong == GUESSES);
    }
    let ours = right();
    let mut late = Caller::new(&ours);
    talk(&mut door, &mut late, 9, &mut |_, _, _| {});
    assert!(late.session.is_none() && door.refused == Some(RefusalReason::Used));
}

/// Bytes of a datagram that say nothing: padding, and a cookie where none is needed.
fn is_idle(bytes: &[u8], at: usize) -> bool {
    match Frame::parse(bytes) {
        Some(Frame::CodeInit { .. }) => at >= 24 + 33,
        Some(Frame::Init { message, .. }) => at >= 28 + message.len() || (12..28).contains(&at),
        Some(Frame::Reply { message, .. }) => at >= 16 + message.len() || (14..16).contains(&at),
        _ => false,
    }
}

#[test]
fn changing_any_byte_is_detected() {
    // Ask, Ask, Init, Data: none is repeated.
    const ROUNDS: usize = 4;
    let ours = right();
    // How long each datagram of a good run is.
    let (mut lens, mut idle): (Vec<Vec<u8>>, usize) = (Vec::new(), 0);
    let (mut door, mut caller) = (Door::new(right()), Caller::new(&ours));
    // The longer Init of the round would be a whole handshake of its own.
    let short_only = |ours: bool, bytes: &mut Vec<u8>| {
        if ours && bytes.len() > SHORTEST && matches!(Frame::parse(bytes), Some(Frame::Init { .. }))
        {
            bytes.clear();
        }
    };
    talk(&mut door, &mut caller, ROUNDS, &mut |_, ours, bytes| {
        short_only(ours, bytes);
        lens.push(bytes.clone());
    });
    assert!(door.proved.is_some());
    let mut tried = 0;
    for (number, good) in lens.iter().enumerate() {
        for at in 0..good.len() {
            // Of the first Ask nothing but its index is heard: it is sent again with a cookie.
            if is_idle(good, at) || number == 0 && at >= 8 {
                idle += 1;
                continue;
            }
            let (mut door, mut caller) = (Door::new(right()), Caller::new(&ours));
            talk(&mut door, &mut caller, ROUNDS, &mut |now, is_ours, bytes| {
                short_only(is_ours, bytes);
                if now == number {
                    bytes[at] ^= 1;
                }
            });
            assert!(door.proved.is_none(), "datagram {number}, byte {at}");
            tried += 1;
        }
    }
    // Ask twice, Cookie, Told, Init, Reply, Data.
    assert!(tried > 300 && idle > 1000, "{tried} {idle}");
}

#[test]
fn a_man_in_the_middle_gets_one_guess_per_end() {
    let (ours, guess) = (right(), code("8-walnut-compass"));
    // To the dialer it is the listener, to the listener the dialer.
    let (mut door, mut caller) = (Door::new(right()), Caller::new(&ours));
    let (mut his_door, mut his_caller) = (Door::new(guess.clone()), Caller::new(&guess));
    talk(&mut his_door, &mut caller, 5, &mut |_, _, _| {});
    talk(&mut door, &mut his_caller, 5, &mut |_, _, _| {});
    assert!(door.proved.is_none() && his_door.proved.is_none());
    assert!(caller.session.is_none() && his_caller.session.is_none());
    assert_eq!((door.gate.guesses(), his_door.gate.guesses()), (1, 1));
    assert!(caller.asking.has_shown_code());
    // It answers again as if it were the first time, with another guess: the dialer has committed already.
    let mut again = Door::new(code("9-walnut-compass"));
    let mut asks = 0;
    for _ in 0..60 {
        again.now = again.now + Duration::from_secs(1);
        talk(&mut again, &mut caller, 1, &mut |_, ours, bytes| {
            asks += u32::from(ours && matches!(Frame::parse(bytes), Some(Frame::CodeInit { .. })));
        });
    }
    assert_eq!((asks, again.gate.guesses()), (0, 0));
}

#[test]
fn a_second_answer_is_ignored() {
    let ours = right();
    let (mut one, mut two) = (Door::new(right()), Door::new(right()));
    let mut caller = Caller::new(&ours);
    let mut told = Vec::new();
    for _ in 0..2 {
        for said in caller.says(BEGIN) {
            // Both have the same words; the second one's cookie is not the first one's.
            for (door, first) in [(&mut one, true), (&mut two, false)] {
                let Some(answer) = door.hear(address(1), &said) else { continue };
                if matches!(Frame::parse(&answer), Some(Frame::CodeReply { .. })) {
                    told.push(answer.clone());
                }
                if first {
                    caller.hears(&answer, BEGIN);
                }
            }
        }
    }
    assert_eq!(told.len(), 1);
    let Some(Frame::CodeReply { receiver, message, .. }) = Frame::parse(&told[0]) else { panic!() };
    let mut forged = told[0].clone();
    forged[8] ^= 1;
    assert_eq!(
        Frame::parse(&forged).map(|frame| matches!(frame, Frame::CodeReply { receiver: r, message: m, .. } if r == receiver && m == message)),
        Some(true)
    );
    caller.hears(&forged, BEGIN);
    talk(&mut one, &mut caller, 5, &mut |_, _, _| {});
    assert!(one.proved.is_some());
}

#[test]
fn loss_duplication_and_reordering_do_no_harm() {
    for seed in 1..=60_u64 {
        let ours = right();
        let (mut door, mut caller) = (Door::new(right()), Caller::new(&ours));
        let mut dice = Dice(seed);
        let mut draw = |of: u64| dice.below(of);
        // Who it is for, and the datagram; taken out anywhere.
        let mut way: Vec<(bool, Vec<u8>)> = Vec::new();
        for _ in 0..4000 {
            if door.proved.is_some() {
                break;
            }
            door.now = door.now + Duration::from_millis(20);
            if way.len() < 50 {
                let said = caller.says(door.now);
                way.extend(said.into_iter().map(|said| (true, said)));
            }
            if way.is_empty() || draw(10) < 3 {
                continue;
            }
            let at = draw(way.len() as u64) as usize;
            let (to_door, bytes) = if draw(10) < 2 { way[at].clone() } else { way.swap_remove(at) };
            if draw(10) < 3 {
                continue;
            }
            if to_door {
                let answer = door.hear(address(1), &bytes);
                way.extend(answer.map(|answer| (false, answer)));
            } else {
                caller.hears(&bytes, door.now);
            }
        }
        assert!(door.proved.is_some(), "seed {seed}");
        assert_eq!(door.gate.guesses(), 0, "seed {seed}");
    }
}

#[test]
fn strangers_are_cheap_and_cannot_amplify() {
    let mut door = Door::new(right());
    let (mut sent, mut got) = (0, 0);
    let theirs = code("1-walnut-compass");
    for number in 0..2000_u32 {
        let from = SocketAddr::from(([10, 1, (number >> 8) as u8, number as u8], 998));
        for said in Caller::new(&theirs).says(BEGIN) {
            sent += said.len();
            got += door.hear(from, &said).map_or(0, |answer| answer.len());
        }
    }
    // Without a cookie nothing is kept, and no key is made.
    assert_eq!(door.gate.waiting(), 0);
    assert!(got * 4 < sent, "{got} for {sent}");
    // With one: sixteen, four of an address.
    for last in 1..=40 {
        for _ in 0..6 {
            door.now = door.now + Duration::from_millis(10);
            let mut caller = Caller::new(&theirs);
            for said in [caller.says(BEGIN), Vec::new()].concat() {
                if let Some(answer) = door.hear(address(last), &said) {
                    caller.hears(&answer, BEGIN);
                }
            }
            for said in caller.says(BEGIN) {
                door.hear(address(last), &said);
            }
        }
        assert_eq!(door.gate.waiting(), (usize::from(last) * 4).min(16));
    }
    assert!(door.gate.waiting() <= HALVES);
    assert_eq!(door.gate.guesses(), 0, "no phrase was tried");
}

#[test]
fn a_phrase_expires() {
    let mut door = Door::new(right());
    door.now = BEGIN + GOOD_FOR.mul_f64(0.999);
    assert!(!door.gate.is_over(door.now));
    door.now = BEGIN + GOOD_FOR;
    assert!(door.gate.is_over(door.now));
    let ours = right();
    let mut late = Caller::new(&ours);
    talk(&mut door, &mut late, 5, &mut |_, _, _| {});
    assert!(late.session.is_none() && door.refused == Some(RefusalReason::Used));
}

#[test]
fn other_listeners_name_their_mode() {
    let secret = wetstring_drive::datagram::Secret::new(b"a long shared secret!!").unwrap();
    let ours = right();
    let mut caller = Caller::new(&ours);
    let mut door = Door::new(Credentials::Secret(secret.clone()));
    talk(&mut door, &mut caller, 2, &mut |_, _, _| {});
    assert!(caller.refused.is_some_and(|why| why.contains("--code")));
    let theirs = Credentials::Secret(secret);
    let mut caller = Caller::new(&theirs);
    talk(&mut Door::new(right()), &mut caller, 2, &mut |_, _, _| {});
    assert!(caller.refused.is_some_and(|why| why.contains("--code")));
}
