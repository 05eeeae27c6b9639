//! Any bytes at any moment: no panic, no endless loop, no false success.

use crate::bench;
use crate::common;

use bench::Bench;
use common::{Dice, File, Pair, Sink, Source, failed, random};
use wetstring_proto::uucp::Config;
use wetstring_proto::uucp::frame::{Found, PacketReader, control, data_header, sum};
use wetstring_proto::uucp::packet::{Kind, complete, lead};
use wetstring_proto::{
    Blame, Cx, Duration, Engine, FailureKind, Instant, Outcome, Refusal, Status,
};
use wetstring_testkit::Edges;

common::protocol!(uucp, Config { buffer_len: 4096, ..Config::default() });

fn packet(sequence: u8, last: u8, bytes: &[u8]) -> Vec<u8> {
    let mut field = vec![0; 64];
    let begin = lead(64, bytes.len());
    field[begin..begin + bytes.len()].copy_from_slice(bytes);
    let short = complete(&mut field, bytes.len());
    let byte = Kind::Data { sequence, last, short }.byte();
    [&data_header(64, byte, sum(&field))[..], &field].concat()
}

/// A command, padded to a full packet.
fn says(sequence: u8, last: u8, text: &[u8]) -> Vec<u8> {
    let mut field = text.to_vec();
    field.resize(64, 0);
    packet(sequence, last, &field)
}

fn one(kind: Kind) -> Vec<u8> {
    control(kind.byte()).to_vec()
}

fn inits() -> Vec<u8> {
    [Kind::InitA(3), Kind::InitB(1), Kind::InitC(3)].map(|kind| control(kind.byte())).concat()
}

/// What a caller says up to the first packet.
fn greeting() -> Vec<u8> {
    [b"\x10Sus -N041\0\x10Ug\0".to_vec(), inits()].concat()
}

/// What one who is called says up to the first packet.
fn welcome() -> Vec<u8> {
    [b"\x10Shere=us\0\x10ROKN041\0\x10Pfg\0".to_vec(), inits()].concat()
}

fn contains(said: &[u8], what: &[u8]) -> bool {
    said.windows(what.len()).any(|window| window == what)
}

#[test]
fn random_bytes_and_random_packets_come_to_an_end() {
    for seed in 0..300u64 {
        let mut dice = Dice(seed);
        let set = config(&[("patience", "20"), ("timeout", "2"), ("retries", "3")]);
        for is_sender in [true, false] {
            let mut source = Source::new(vec![File::new("f", &[b'x'; 3000])]);
            let mut sink = Sink::new();
            let (mut s, mut r) = (sender(&set), receiver(&set));
            let mut bench = if is_sender {
                Bench::new(&mut s, &mut source)
            } else {
                Bench::new(&mut r, &mut sink)
            };
            if dice.roll(4) > 0 {
                bench.give(&if is_sender { welcome() } else { greeting() });
            }
            for _ in 0..400 {
                let (sequence, last) = (dice.roll(8) as u8, dice.roll(8) as u8);
                let commands: [&[u8]; 10] = [
                    b"S a b us - D.0 644\0",
                    b"SY\0",
                    b"SN2\0",
                    b"CN5\0",
                    b"HN\0",
                    b"R a b us -\0",
                    b"E a\0",
                    b"\0",
                    b"SY 0x7\0",
                    &[b'z'; 64],
                ];
                let bytes = match dice.roll(6) {
                    0 => random(1 + dice.roll(80), dice.roll(1 << 30) as u64),
                    1 => says(sequence, last, commands[dice.roll(10)]),
                    2 => packet(sequence, last, &random(dice.roll(65), seed)),
                    3 => one(Kind::parse(0x10 + dice.roll(48) as u8).unwrap_or(Kind::Close)),
                    4 => one(Kind::Ready(last)),
                    _ => one(Kind::Reject(last)),
                };
                bench.give(&bytes);
                if dice.roll(3) == 0 {
                    bench.wait(Duration::from_millis(dice.roll(5000) as u64));
                }
            }
            bench.wait(Duration::from_secs(300));
            assert!(matches!(bench.engine.status(), Status::Over(_)), "{seed} {is_sender}");
            if is_sender {
                let stats = bench.engine.stats();
                assert_eq!(stats.files_done, 0, "{seed}: nothing was confirmed");
                let done = bench.outcome() == Some(Outcome::Done);
                assert!(!done || stats.files_skipped == 1, "{seed}: all was refused");
            }
        }
    }
}

/// A line that gives back what is sent is no peer.
#[test]
fn an_echo_is_no_peer() {
    for role in ["call", "answer"] {
        let set = config(&[("role", role), ("patience", "30")]);
        common::assert_no_peer(&mut sender(&set), Duration::from_secs(400));
        common::assert_no_peer(&mut receiver(&set), Duration::from_secs(400));
    }
}

#[test]
fn no_peer_fails_after_the_patience() {
    let set = config(&[]);
    let (mut s, mut source) = (sender(&set), Source::new(vec![File::new("f", b"x")]));
    let mut bench = Bench::new(&mut s, &mut source);
    assert_eq!(bench.wait(Duration::from_secs(119)), b"", "the caller says nothing unasked");
    bench.wait(Duration::from_secs(10));
    assert_eq!(bench.outcome(), Some(failed(Blame::Peer, FailureKind::Silence)));
}

#[test]
fn a_refusal_to_talk_is_passed_on() {
    let set = config(&[]);
    for (said, kind) in [
        (&b"login: \x10Shere=us\0\x10RYou are unknown to me\0"[..], FailureKind::PeerError),
        (b"\x10Shere=us\0\x10ROK\0\x10Pfti\0", FailureKind::NoProtocol),
    ] {
        let (mut s, mut source) = (sender(&set), Source::new(vec![File::new("f", b"x")]));
        let mut bench = Bench::new(&mut s, &mut source);
        let answer = bench.give(said);
        bench.wait(Duration::from_secs(20));
        assert_eq!(bench.outcome(), Some(failed(Blame::Peer, kind)));
        assert_eq!(contains(&answer, b"\x10UN\0"), kind == FailureKind::NoProtocol);
    }
}

/// What a peer says, the answers of a sender and of a receiver, and whether it may continue.
type Case<'a> = (&'a [u8], &'a [u8], &'a [u8], bool);

/// The lines by which the other system would run something, fetch something or leave mail: a job stays
/// in its queue where the protocol has an answer that leaves it there (Taylor UUCP 1.07: 4, and 9 for R).
#[test]
fn unsupported_job_stays_in_the_queue() {
    let set = config(&[]);
    let all: [Case<'_>; 6] = [
        (b"R /etc/passwd ~/p us -\0", b"RN9\0", b"RN2\0", true),
        (b"X a b\0", b"XN\0", b"XN\0", false),
        (b"E D.1 D.1 us - D.1 666 \"\" 5 rm\0", b"EN4\0", b"EN4\0", true),
        (b"S D.1 X.1 us -C D.1 666\0", b"SN4\0", b"SN4\0", true),
        (b"S C.1 C.1 us -C D.1 666\0", b"SN4\0", b"SN4\0", true),
        (b"S /usr/me/notes D.2 us -C D.2 666\0", b"SN4\0", b"SN4\0", true),
    ];
    for taylor in [true, false] {
        let (mut r, mut sink) = (receiver(&set), Sink::new());
        let mut bench = Bench::new(&mut r, &mut sink);
        bench.give(&if taylor {
            greeting()
        } else {
            [b"\x10Sus\0\x10Ug\0".to_vec(), inits()].concat()
        });
        for (index, (command, answer, old, kept)) in all.into_iter().enumerate() {
            let number = index as u8;
            let said = bench.give(&says((number + 1) & 7, number & 7, command));
            let want = if taylor { answer } else { old };
            assert!(contains(&said, want), "{}: {}", command.escape_ascii(), said.escape_ascii());
            // A part of mail is mail.
            let what = if command[0] == b'S' { b'E' } else { command[0] };
            let kept = kept && (taylor || what != b'R');
            assert_eq!(bench.declined.last(), Some(&(what, kept)), "{}", command.escape_ascii());
        }
        assert_eq!(r.stats().files_skipped, 3);
        assert!(sink.files.is_empty());
    }
}

/// A sender whose turn is over is offered what the other system has for it: it stays there.
#[test]
fn sender_only_leaves_the_peers_queue_alone() {
    let offers: [(&[u8], Option<&[u8]>); 4] = [
        (b"S a ~/a us - D.0 644\0", Some(b"SN4\0")),
        (b"E D.1 D.1 us - D.1 666 \"\" 5 rmail\0", Some(b"EN4\0")),
        (b"R a ~/a us -\0", Some(b"RN9\0")),
        // There is no such answer to that: the end of the call leaves it where it is.
        (b"X a* b us -\0", None),
    ];
    for (offer, answer) in offers {
        let set = config(&[]);
        let (mut s, mut source) = (sender(&set), Source::new(vec![]));
        let mut bench = Bench::new(&mut s, &mut source);
        let said = [bench.give(&welcome()), bench.give(&one(Kind::Ready(1)))].concat();
        assert!(contains(&said, b"H\0"), "{}", said.escape_ascii());
        bench.give(&says(1, 1, b"HN\0"));
        let said = bench.give(&says(2, 1, offer));
        if let Some(answer) = answer {
            assert!(contains(&said, answer), "{}", said.escape_ascii());
            bench.give(&says(3, 2, b"H\0"));
        } else {
            assert!(contains(&said, &one(Kind::Close)), "{}", said.escape_ascii());
            assert!(!contains(&said, b"XN"));
        }
        bench.wait(Duration::from_secs(30));
        assert_eq!(bench.outcome(), Some(Outcome::Done));
        assert_eq!(bench.declined, [(offer[0], true)]);
    }
}

/// The caller's INITC is lost, and its first packet tells that it has ours.
#[test]
pub(crate) fn data_may_come_in_place_of_the_last_init() {
    let set = config(&[]);
    let (mut r, mut sink) = (receiver(&set), Sink::new());
    let mut bench = Bench::new(&mut r, &mut sink);
    let init = [Kind::InitA(3), Kind::InitB(1)].map(|kind| control(kind.byte())).concat();
    bench.give(&[b"\x10Sus -N041\0\x10Ug\0".to_vec(), init].concat());
    let said = bench.give(&says(1, 0, b"S a ~/a us - D.0 644\0"));
    assert!(contains(&said, b"SY\0"), "{}", said.escape_ascii());
}

/// A refusal for good deletes the job at the peer, be it Taylor UUCP, BSD or HDB; 4 keeps it with all
/// of them.
#[test]
pub(crate) fn job_refused_by_the_store_stays_in_the_queue() {
    for why in [Refusal::Exists, Refusal::NoSpace, Refusal::Declined] {
        let set = config(&[]);
        let (mut r, mut sink) = (receiver(&set), Sink::new());
        sink.refuse = Some(why);
        let mut bench = Bench::new(&mut r, &mut sink);
        bench.give(&greeting());
        let said = bench.give(&says(1, 0, b"S a ~/a us - D.0 644\0"));
        assert!(contains(&said, b"SN4\0"), "{why:?}: {}", said.escape_ascii());
        // Only what can never be is refused for good.
        let said = bench.give(&says(2, 1, b"S a ~/b\\0 us -q D.0 644\0"));
        assert!(contains(&said, b"SN2\0"), "{}", said.escape_ascii());
        // Nor is a command that was damaged on its way.
        let said = bench.give(&says(3, 2, b"S0a ~/c us - D.0 644\0"));
        assert!(contains(&said, b"SN4\0"), "{}", said.escape_ascii());
        assert_eq!(bench.declined, []);
        assert_eq!(r.stats().files_skipped, 3);
    }
}

/// All of it has arrived, and the peer could not put it in its place.
#[test]
pub(crate) fn file_not_stored_by_the_peer_is_skipped() {
    let set = config(&[("packet", "64")]);
    let (mut s, mut source) = (sender(&set), Source::new(vec![File::new("f", b"x")]));
    let mut bench = Bench::new(&mut s, &mut source);
    bench.give(&[welcome(), one(Kind::Ready(1))].concat());
    bench.give(&says(1, 1, b"SY\0"));
    bench.give(&one(Kind::Ready(3)));
    let said = bench.give(&says(2, 3, b"CN5\0"));
    assert!(contains(&said, b"H\0"), "{}", said.escape_ascii());
    bench.give(&says(3, 4, b"HY\0"));
    bench.wait(Duration::from_secs(30));
    assert_eq!(bench.outcome(), Some(Outcome::Done));
    assert_eq!((s.stats().files_done, s.stats().files_skipped), (0, 1));
    assert_eq!(source.closed, [(false, false)]);
}

/// HDB leaves without a word after a 4. All of ours has arrived by then, or nothing has.
#[test]
fn line_closing_after_confirmation_is_success() {
    let set = config(&[("packet", "64")]);
    let (mut s, mut source) = (sender(&set), Source::new(vec![File::new("f", b"x")]));
    let mut bench = Bench::new(&mut s, &mut source);
    bench.give(&[welcome(), one(Kind::Ready(1))].concat());
    bench.give(&says(1, 1, b"SY\0"));
    bench.give(&one(Kind::Ready(3)));
    assert_eq!(bench.engine.if_closed(), None, "CY has not come");
    bench.give(&says(2, 3, b"CY\0"));
    assert_eq!(bench.engine.if_closed(), Some(Outcome::Done), "H is said");
    bench.give(&says(3, 4, b"HN\0"));
    bench.give(&says(4, 4, b"S a ~/a us - D.0 644\0"));
    assert_eq!(bench.engine.if_closed(), Some(Outcome::Done), "SN4 is said");
    // The other way round: it calls, hears a 4, and goes before it was our turn.
    let set = config(&[("role", "answer")]);
    let (mut s, mut source) = (sender(&set), Source::new(vec![File::new("f", b"x")]));
    let mut bench = Bench::new(&mut s, &mut source);
    bench.give(&greeting());
    let said = bench.give(&says(1, 0, b"S a ~/a us - D.0 644\0"));
    assert!(contains(&said, b"SN4\0"), "{}", said.escape_ascii());
    assert_eq!(bench.engine.if_closed(), None, "nothing of ours was sent");
}

/// The caller may be gone before our last packets have left: it has said that all is done.
#[test]
fn line_closing_before_the_last_packets_is_success() {
    let set = config(&[]);
    let (mut r, mut sink) = (receiver(&set), Sink::new());
    let mut bench = Bench::new(&mut r, &mut sink);
    bench.give(&greeting());
    assert_eq!(bench.engine.if_closed(), None, "H has not come");
    bench.give(&says(1, 0, b"H\0"));
    assert_eq!(bench.engine.if_closed(), Some(Outcome::Done), "HY is said");
    let mut cx = Cx { now: bench.now, trace: &mut Edges::new() };
    let last = says(2, 1, b"HY\0");
    assert_eq!(bench.engine.receive(&mut cx, &last), last.len());
    assert!(!bench.engine.transmit(&mut cx).is_empty(), "CLOSE waits to be sent");
    assert_eq!(bench.engine.if_closed(), Some(Outcome::Done), "it was never sent");
}

#[test]
fn unterminated_command_is_dropped() {
    let set = config(&[]);
    let (mut r, mut sink) = (receiver(&set), Sink::new());
    let mut bench = Bench::new(&mut r, &mut sink);
    bench.give(&greeting());
    for index in 0..33u8 {
        bench.give(&packet((index + 1) & 7, 0, &[b'S'; 64]));
    }
    bench.wait(Duration::from_secs(10));
    assert_eq!(bench.outcome(), Some(failed(Blame::Peer, FailureKind::Violation)));
}

#[test]
fn wrong_length_is_failure() {
    for (size, blame) in [("0x3", Blame::Peer), ("0x5", Blame::Peer)] {
        let set = config(&[]);
        let (mut r, mut sink) = (receiver(&set), Sink::new());
        let mut bench = Bench::new(&mut r, &mut sink);
        bench.give(&greeting());
        let offer = format!("S a ~/a us - D.0 644 \"\" {size}\0");
        assert!(contains(&bench.give(&says(1, 0, offer.as_bytes())), b"SY\0"));
        bench.give(&packet(2, 1, b"four"));
        let said = bench.give(&packet(3, 1, b""));
        assert!(!contains(&said, b"CY\0"));
        bench.wait(Duration::from_secs(10));
        assert_eq!(bench.outcome(), Some(failed(blame, FailureKind::LengthDiffers)));
        assert!(!sink.files[0].complete);
    }
}

/// A receiver rejects once for a gap, and again when the same comes round again.
#[test]
fn one_rejection_for_one_loss() {
    let set = config(&[]);
    let (mut r, mut sink) = (receiver(&set), Sink::new());
    let mut bench = Bench::new(&mut r, &mut sink);
    bench.give(&greeting());
    bench.give(&says(1, 0, b"S a ~/a us - D.0 644\0"));
    let reject = one(Kind::Reject(1));
    assert!(contains(&bench.give(&packet(3, 1, b"3")), &reject));
    for sequence in [4, 5, 6, 7, 0] {
        assert!(!contains(&bench.give(&packet(sequence, 1, b"x")), &reject), "{sequence}");
    }
    assert!(contains(&bench.give(&packet(3, 1, b"3")), &reject), "it came round again");
    let mut damaged = packet(2, 1, b"2");
    damaged[20] ^= 1;
    assert!(contains(&bench.give(&damaged), &reject), "the one that is waited for");
    assert!(contains(&bench.give(&packet(2, 1, b"2")), &one(Kind::Ready(2))));
}

/// Each packet after a lost one may be rejected: they are not each answered with everything.
#[test]
fn many_rejections_mean_one_loss() {
    let set = config(&[("packet", "64")]);
    let (mut s, mut source) = (sender(&set), Source::new(vec![File::new("f", &[7; 1000])]));
    let mut bench = Bench::new(&mut s, &mut source);
    bench.give(&welcome());
    bench.give(&one(Kind::Ready(1)));
    let said = bench.give(&says(1, 1, b"SY\0"));
    // The acknowledgement of SY, and a window of three packets.
    assert_eq!(said.len(), 6 + 3 * 70);
    let again = bench.give(&one(Kind::Reject(1)));
    assert_eq!(again.len(), 3 * 70);
    assert_eq!(bench.give(&one(Kind::Reject(1))), b"");
    assert_eq!(bench.give(&one(Kind::Reject(1))), b"");
    bench.wait(Duration::from_millis(1500));
    assert!(bench.give(&one(Kind::Reject(1))).len() >= 70, "that one is about the repetition");
}

/// A position, or an acknowledgement, that cannot be.
#[test]
fn impossible_acknowledgement_is_ignored() {
    let set = config(&[("packet", "64")]);
    let (mut s, mut source) = (sender(&set), Source::new(vec![File::new("f", &[7; 1000])]));
    let mut bench = Bench::new(&mut s, &mut source);
    bench.give(&welcome());
    for last in [2, 3, 4, 5, 6, 7] {
        assert_eq!(bench.give(&one(Kind::Ready(last))), b"", "{last}");
    }
    bench.give(&one(Kind::Ready(1)));
    bench.give(&says(1, 1, b"SY 0x10\0"));
    bench.wait(Duration::from_secs(20));
    assert_eq!(bench.outcome(), Some(failed(Blame::Peer, FailureKind::Violation)));
}

/// Every single packet of a session lost once, in either direction: the files arrive.
#[test]
fn any_single_loss_is_recovered() {
    let files = [File::new("a", &random(700, 1)), File::new("b", &random(10, 2))];
    for from_sender in [true, false] {
        for which in 0..60 {
            let set = config(&[("packet", "64")]);
            let (mut s, mut r) = (sender(&set), receiver(&set));
            let (mut source, mut sink) = (Source::new(files.to_vec()), Sink::new());
            let mut pair = Pair::new(&mut s, &mut r, &mut source, &mut sink);
            let mut count = 0;
            pair.meddle = Box::new(move |is_sender, bytes| {
                if is_sender == from_sender && !bytes.is_empty() {
                    count += 1;
                    if count == which {
                        bytes.clear();
                    }
                }
            });
            let ends = pair.run();
            let label = format!("{from_sender} {which}");
            assert_eq!(ends.sender, Outcome::Done, "{label}");
            assert_eq!(ends.receiver, Outcome::Done, "{label}");
            common::assert_whole(&sink.files, &files, &label);
            assert!(ends.now < Instant(60_000_000_000), "{label}: {}", ends.now);
        }
    }
}

/// Damage of one bit of every tenth packet. Such damage as the check cannot see is taken back, and
/// counted: what is left is made good, so that nothing but the check is to blame for a wrong file.
#[test]
fn noise_is_recovered() {
    let files = [File::new("a", &random(20_000, 1))];
    let (mut hits, mut unseen) = (0u32, 0u32);
    for seed in 0..100u64 {
        let set = config(&[("packet", "64"), ("retries", "30")]);
        let (mut s, mut r) = (sender(&set), receiver(&set));
        let (mut source, mut sink) = (Source::new(files.to_vec()), Sink::new());
        let mut pair = Pair::new(&mut s, &mut r, &mut source, &mut sink);
        let (mut dice, mut chunks) = (Dice(seed), 0);
        pair.meddle = Box::new(|_, bytes| {
            chunks += 1;
            // The messages before the packets have no check.
            if chunks <= 8 || dice.roll(10) > 0 || bytes.is_empty() {
                return;
            }
            let bit = dice.roll(bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
            hits += 1;
            // An engine lends one packet at a time.
            let found = PacketReader::new(64).next(&mut [0; 64], bytes).1;
            if matches!(found, Some(Found::Data { .. } | Found::Control(_))) {
                bytes[bit / 8] ^= 1 << (bit % 8);
                unseen += 1;
            }
        });
        let ends = pair.run();
        assert_eq!((ends.sender, ends.receiver), (Outcome::Done, Outcome::Done), "{seed}");
        common::assert_whole(&sink.files, &files, &format!("{seed}"));
    }
    println!("{unseen} of {hits} wrong bits are not seen by the check");
    assert!(hits > 1000 && unseen > 0 && unseen < hits / 20, "{unseen} of {hits}");
}
