//! The last word leaves before an engine ends, in every protocol, whichever end gives up, and however slowly
//! the port takes it: the peer is told, and does not have to find out by its timers.

use wetstring_lab::element::End;
use wetstring_lab::pair::{Act, Pair};
use wetstring_lab::scenario::Protocol;
use wetstring_lab::store::{Content, MemoryFile, MemorySink, MemorySource};
use wetstring_lab::swarm::protocols::ends;
use wetstring_lab::trace::Recorder;
use wetstring_lab::{LineModel, Random, Serial};
use wetstring_proto::{Blame, Command, Duration, Outcome};

const LINE: &str = "9600,delay=50ms";
const GIVES_UP: Duration = Duration::from_secs(8);
/// What a word takes on that line, with what is under way before it. No timer for silence is as short.
const TOLD_WITHIN: Duration = Duration::from_secs(8);

/// Runs a transfer; when each end had its outcome, and which.
fn run(
    name: &str,
    seed: u64,
    port: usize,
    act: Option<(End, Command)>,
) -> [(Outcome, Duration); 2] {
    let protocol = Protocol::named(name);
    let line: LineModel = LINE.parse().expect("a line");
    let mut made = ends(protocol, &mut Random::stream(seed, "last words", name), &line);
    let mut element = Serial::new(&line);
    let mut source = MemorySource::one(MemoryFile::made("f.bin", Content::Random(seed), 30_000));
    let mut sink = MemorySink::new();
    let mut pair = Pair::new(&mut element).port_buffer(port);
    if let Some((end, command)) = act {
        pair = pair.at(GIVES_UP, Act::Command(end, command));
    }
    let report = pair.run(
        (&mut *made.sender, &mut source),
        (&mut *made.receiver, &mut sink),
        &mut Recorder::off(),
    );
    assert!(!sink.broken_order(), "{name} {seed}");
    report.sides.map(|side| {
        let outcome = side.outcome.unwrap_or_else(|| panic!("{name} {seed}: no end"));
        (outcome, side.settled_at.expect("it was fixed").since(wetstring_proto::Instant::ZERO))
    })
}

#[test]
fn the_end_that_gives_up_tells_its_peer() {
    for name in Protocol::of_bytes().map(|protocol| protocol.name) {
        for (end, index) in [(End::A, 0), (End::B, 1)] {
            for seed in 0..6 {
                for port in [1, 4096] {
                    let of = run(name, seed, port, Some((end, Command::Abort)));
                    let said = format!("{name}, end {index}, seed {seed}, port {port}: {of:?}");
                    let (ours, theirs) = (of[index], of[1 - index]);
                    if ours.0 == Outcome::Done {
                        // It was over by then.
                        assert_eq!(theirs.0, Outcome::Done, "{said}");
                        continue;
                    }
                    let Outcome::Failed(failure) = theirs.0 else { panic!("{said}") };
                    assert_eq!(failure.blame, Blame::Peer, "{said}");
                    assert!(theirs.1 < GIVES_UP + TOLD_WITHIN, "{said}");
                }
            }
        }
    }
}

#[test]
fn the_end_of_a_transfer_is_sent_completely() {
    for name in Protocol::of_bytes().map(|protocol| protocol.name) {
        for seed in 0..6 {
            for port in [1, 4096] {
                let of = run(name, seed, port, None);
                let [(a, at), (b, bt)] = of;
                assert_eq!([a, b], [Outcome::Done; 2], "{name} {seed} {port}");
                let apart = at.abs_diff(bt);
                assert!(apart < TOLD_WITHIN, "{name} {seed} {port}: {of:?}");
            }
        }
    }
}
