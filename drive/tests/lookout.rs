//! Detection of the wrong peer, in virtual time: who is reported, when, and who is not.

use std::time::Duration;

use wetstring_drive::{Expected, Lookout, Probes};
use wetstring_proto::peer::{Part, PeerProtocol};
use wetstring_proto::xymodem::frame::{Check, SHORT, finish};
use wetstring_proto::{
    Cx, Engine, FailureKind, Instant, LineFacts, NoTrace, Outcome, Status, kermit, xymodem,
};

fn kermit_sender() -> Box<dyn Engine> {
    let config = kermit::Config::default();
    let memory = vec![0; config.sender_memory()];
    Box::new(kermit::Sender::new(config, memory).expect("enough memory"))
}

fn kermit_receiver() -> Box<dyn Engine> {
    let config = kermit::Config::default();
    let memory = vec![0; config.receiver_memory()];
    Box::new(kermit::Receiver::new(config, memory).expect("enough memory"))
}

fn ymodem_receiver() -> Box<dyn Engine> {
    let config = xymodem::Config::default();
    let memory = vec![0; config.receiver_memory()];
    Box::new(xymodem::Receiver::new(config, memory).expect("enough memory"))
}

fn expected(ours: Part, fits: fn(PeerProtocol) -> bool, probes: Probes) -> Expected {
    Expected { ours, fits, probes }
}

fn kermit(protocol: PeerProtocol) -> bool {
    protocol == PeerProtocol::Kermit
}

/// The result.
#[derive(Debug)]
struct Seen {
    who: Option<(PeerProtocol, Part)>,
    /// Tenths of a second.
    named: Option<u64>,
    ended: Option<u64>,
    settled: bool,
}

/// Runs the engine for a minute with a peer that gets the engine's output in each tenth of a second, and
/// answers.
/// has said, and says something.
fn talk(
    engine: Box<dyn Engine>,
    expected: Expected,
    mut peer: impl FnMut(u64, &[u8]) -> Vec<u8>,
) -> Seen {
    let (mut lookout, finding) = Lookout::new(engine, expected, 12_345);
    let mut seen = Seen { who: None, named: None, ended: None, settled: false };
    for tick in 0..600 {
        let cx =
            &mut Cx { now: Instant(1) + Duration::from_millis(100 * tick), trace: &mut NoTrace };
        // Nothing may depend on more than the reported deadline.
        if lookout.deadline().is_some_and(|at| at <= cx.now) {
            lookout.tick(cx);
        }
        let mut said = Vec::new();
        loop {
            let bytes = lookout.transmit(cx).to_vec();
            if bytes.is_empty() {
                break;
            }
            lookout.transmitted(cx, bytes.len());
            said.extend(bytes);
        }
        let words = peer(tick, &said);
        if !words.is_empty() {
            lookout.receive(cx, &words);
        }
        if seen.named.is_none() && finding.wrong_peer().is_some() {
            seen.who = finding.wrong_peer();
            seen.named = Some(tick);
        }
        if let Status::Over(outcome) = lookout.status() {
            let wrong = |of: wetstring_proto::Failure| of.kind == FailureKind::WrongPeer;
            if matches!(outcome, Outcome::Failed(failure) if wrong(failure)) {
                seen.ended = Some(tick);
            }
            break;
        }
    }
    seen.settled = finding.is_settled();
    seen
}

const ZRINIT: &[u8] = b"**\x18B0100000023be50\r\x8a\x11";
const S: &[u8] = b"\x019 S~' @-#Y3~*!J*0+++J\"U1@O\r";
const NAK: &[u8] = b"\x01# N3\r";

fn at(when: u64, tick: u64, words: &[u8]) -> Vec<u8> {
    if when == tick { words.to_vec() } else { Vec::new() }
}

#[test]
fn a_kermit_sender_detects_a_zmodem_receiver_within_two_seconds() {
    let expected = expected(Part::Sender, kermit, Probes::All);
    let seen = talk(kermit_sender(), expected, |tick, _| at(3, tick, ZRINIT));
    assert_eq!(seen.who, Some((PeerProtocol::Zmodem, Part::Receiver)));
    assert!(seen.named.unwrap() <= 20 && seen.ended == seen.named, "{seen:?}");
}

#[test]
fn one_start_character_is_reported_and_the_second_ends_the_transfer() {
    let expected = expected(Part::Sender, kermit, Probes::All);
    let seen = talk(kermit_sender(), expected, |tick, _| at(0, tick % 110, b"C"));
    assert_eq!(seen.who, Some((PeerProtocol::Xymodem, Part::Receiver)));
    assert!(seen.named.unwrap() <= 30, "{seen:?}");
    assert!((110..150).contains(&seen.ended.unwrap()), "{seen:?}");
    // A glitch of the line is no peer.
    let seen = talk(kermit_sender(), expected, |tick, _| at(0, tick, b"C"));
    assert_eq!(seen.ended, None);
}

#[test]
fn an_echo_is_not_a_second_sender_or_receiver() {
    let sends = expected(Part::Sender, kermit, Probes::All);
    let receives = expected(Part::Receiver, kermit, Probes::All);
    let nameless =
        expected(Part::Receiver, |protocol| protocol == PeerProtocol::Ymodem, Probes::Nul);
    for (engine, expected) in
        [(kermit_sender(), sends), (kermit_receiver(), receives), (ymodem_receiver(), nameless)]
    {
        let seen = talk(engine, expected, |_, said| said.to_vec());
        assert_eq!((seen.who, seen.ended), (None, None), "{expected:?}");
    }
}

#[test]
fn a_second_sender_is_told_from_an_echo() {
    // It sends at once what we send, and does not return data that is not of its protocol.
    let twin = |mark: &'static [u8]| {
        move |_, said: &[u8]| {
            if said.starts_with(mark) { said.to_vec() } else { Vec::new() }
        }
    };
    let sends = expected(Part::Sender, kermit, Probes::All);
    let first = |engine: &mut dyn Engine| {
        let cx = &mut Cx { now: Instant(1), trace: &mut NoTrace };
        engine.transmit(cx)[..4].to_vec()
    };
    let mark: &'static [u8] = first(&mut *kermit_sender()).leak();
    let seen = talk(kermit_sender(), sends, twin(mark));
    assert_eq!(seen.who, Some((PeerProtocol::Kermit, Part::Sender)), "{seen:?}");
    assert!(seen.ended.unwrap() <= 100, "{seen:?}");
    let asks = expected(Part::Receiver, |protocol| protocol == PeerProtocol::Ymodem, Probes::Nul);
    let seen = talk(ymodem_receiver(), asks, twin(b"C"));
    assert_eq!(seen.who, Some((PeerProtocol::Xymodem, Part::Receiver)), "{seen:?}");
}

#[test]
fn silent_peers_are_probed_within_ten_seconds() {
    // A sender of XMODEM, which only answers.
    let mut block = [0x5A; SHORT + 5];
    let len = finish(&mut block, 1, SHORT, Check::Crc);
    let expected = expected(Part::Receiver, kermit, Probes::All);
    let seen = talk(kermit_receiver(), expected, |_, said| {
        if said.contains(&b'C') { block[..len].to_vec() } else { Vec::new() }
    });
    assert_eq!(seen.who, Some((PeerProtocol::Xmodem, Part::Sender)));
    assert!(seen.ended.unwrap() <= 100, "{seen:?}");
    // A Kermit receiver, which would wait for its own time to run out.
    let seen = talk(kermit_receiver(), expected, |_, said| {
        if said.starts_with(b"\x01#") { NAK.to_vec() } else { Vec::new() }
    });
    assert_eq!(seen.who, Some((PeerProtocol::Kermit, Part::Receiver)));
    assert!(seen.ended.unwrap() <= 100, "{seen:?}");
}

#[test]
fn passive_engines_send_no_probes() {
    let config = xymodem::Config::default();
    let memory = vec![0; config.sender_memory()];
    let sender = Box::new(xymodem::Sender::new(config, memory).expect("enough memory"));
    let expected =
        expected(Part::Sender, |protocol| protocol == PeerProtocol::Xymodem, Probes::None);
    let seen = talk(sender, expected, |_, said| {
        assert!(said.is_empty() || said[0] == 0x18, "{said:?}");
        Vec::new()
    });
    assert_eq!(seen.who, None);
}

#[test]
fn a_wrong_peer_that_has_gone_does_no_harm() {
    // The last packets of another program, still in a queue, and then the right one.
    let expected = expected(Part::Receiver, kermit, Probes::All);
    let seen = talk(kermit_receiver(), expected, |tick, _| match tick {
        0 => ZRINIT.to_vec(),
        10 => S.to_vec(),
        _ => Vec::new(),
    });
    assert!(seen.settled && seen.ended.is_none(), "{seen:?}");
}

#[test]
fn a_receiver_of_both_that_starts_later_is_no_wrong_peer() {
    // It has missed the first Send-Init, offers ZMODEM, and speaks Kermit once it hears any.
    let expected = expected(Part::Sender, kermit, Probes::All);
    // So slow a line that the sender itself repeats late.
    let line = LineFacts { rate_bps: 150, ..LineFacts::default() };
    let config = kermit::Config { line, ..kermit::Config::default() };
    let memory = vec![0; config.sender_memory()];
    let sender = Box::new(kermit::Sender::new(config, memory).expect("enough memory"));
    let seen = talk(sender, expected, |tick, said| match tick {
        5 => ZRINIT.to_vec(),
        6.. if said.windows(3).any(|three| three == b" S~") => NAK.to_vec(),
        _ => Vec::new(),
    });
    assert!(seen.settled && seen.ended.is_none(), "{seen:?}");
}
