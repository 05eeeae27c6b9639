//! Noise in real time: what it damages, what it makes out of nothing, and what protocols make of it.

use wetstring_lab::Recorder;
use wetstring_lab::element::{Element, End};
use wetstring_lab::scenario::{Ending, Outcome, Scenario, no_files};
use wetstring_lab::serial::interference::{Interference, InterferenceModel};
use wetstring_proto::{Cx, Instant, NoTrace};

fn noise(spec: &str) -> Interference {
    Interference::named(&spec.parse().unwrap(), "noise")
}

/// What comes out at end B by this time, in milliseconds, if a byte is offered every `every_ms`.
fn heard(element: &mut Interference, until_ms: u64, every_ms: Option<u64>) -> Vec<(u64, u8)> {
    let mut trace = NoTrace;
    let mut out = Vec::new();
    for ms in 0..until_ms {
        let mut cx = Cx { now: Instant(ms * 1_000_000), trace: &mut trace };
        if every_ms.is_some_and(|every| ms % every == 0) {
            assert_eq!(element.offer(&mut cx, End::A, b"U"), 1);
        }
        let mut buffer = [0; 64];
        let len = element.emit(&mut cx, End::B, &mut buffer);
        out.extend(buffer[..len].iter().map(|byte| (ms, *byte)));
    }
    out
}

#[test]
fn an_idle_line_hears_bursts_by_the_clock() {
    // A character is 10 ms at 1000 bit/s.
    let made = heard(&mut noise("interference:5@1s,rate=1000,seed=3"), 10_000, None);
    assert_eq!(made.len(), 50);
    for burst in made.chunks(5) {
        assert!(burst.windows(2).all(|pair| pair[1].0 - pair[0].0 == 10), "{burst:?}");
    }
    for (first, next) in made.iter().zip(&made[5..]) {
        assert_eq!(next.0 - first.0, 1000);
    }
}

#[test]
fn a_busy_line_is_damaged_and_nothing_is_added() {
    let mut element = noise("interference:5@1s,rate=1000,seed=3");
    let came = heard(&mut element, 10_000, Some(10));
    assert_eq!(came.len(), 1000);
    let damaged = came.iter().filter(|(_, byte)| *byte != b'U').count();
    assert!((50..=60).contains(&damaged), "{damaged}");
    assert_eq!(element.usage(End::A).damaged_bytes as usize, damaged);
    assert_eq!(element.usage(End::B).damaged_bytes, 0);
}

#[test]
fn the_other_direction_is_left_alone_and_calm_ends_it() {
    let mut element = noise("interference:5@1s,rate=1000,dir=rev");
    assert_eq!(heard(&mut element, 3000, None), []);
    assert_eq!(element.next(End::B), None);
    assert!(element.next(End::A).is_some());
    let mut element = noise("interference:5@1s,rate=1000");
    element.calm();
    assert_eq!(heard(&mut element, 3000, None), []);
}

#[test]
fn impossible_descriptions_are_refused() {
    for (spec, wanted) in [
        ("interference:8@2s", "rate: expected the rate of the line"),
        ("interference:8@2000,rate=9600", "interference: expected characters and a time"),
        ("interference:8@5ms,rate=9600", "interference: expected characters and a time longer"),
        ("interference:8@2s,rate=0", "rate: expected bit/s from 1"),
        ("interference:8@2s,rate=9600,dir=up", "dir: expected fwd or rev"),
        ("interference:8@2s,rate=9600,loud", "loud: expected one of rate, dir, seed"),
    ] {
        let bad = spec.parse::<InterferenceModel>().unwrap_err().to_string();
        assert!(bad.contains(wanted), "expected {wanted}\n got {bad}");
    }
}

fn run(protocol: &str, bytes: u32, settings: &str) -> Outcome {
    let text = format!(
        "protocol = '{protocol}'\n\
         line = ['9600,delay=120ms', 'interference:8@2s,rate=9600']\n\
         [file]\nbytes = {bytes}\n[both]\n{settings}"
    );
    let scenario =
        Scenario::parse("x.toml", &text, &no_files).unwrap_or_else(|bad| panic!("{bad}"));
    scenario.run(&mut Recorder::off())
}

/// Noise on the idle line between the last block and its EOT is no block that was lost.
#[test]
fn protocols_come_to_an_end_through_noise_on_an_idle_line() {
    for protocol in ["kermit", "xmodem-crc", "zmodem"] {
        let outcome = run(protocol, 12_000, "");
        assert_eq!(outcome.ending, Ending::Done, "{protocol}");
        assert!(outcome.retransmissions() > 0, "{protocol}");
    }
    // Between two bursts a second of silence, the question and 1.07 s of a block do not fit.
    assert!(!run("ymodem", 30_000, "adapt-block = 'off'").is_done());
}
