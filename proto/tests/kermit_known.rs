//! What a sender finds out about its line, and what it does with what is known of it before.

use crate::common;
use common::{File, Pair, Sink, Source, assert_whole, random};
use wetstring_proto::kermit::Config;
use wetstring_proto::{Cx, Engine, Instant, Learned, NoTrace, Outcome};

common::protocol!(kermit, Config { buffer_len: 8192, ..Config::default() });

/// A control character that a careful sender prefixes, that is tried bare, and that a line may eat.
const SHIFT_IN: u8 = 15;

/// Sends enough for a verdict over a line that loses these codes; what was learned, and packets that were sent again.
fn send(settings: &[(&str, &str)], eats: &'static [u8]) -> (Learned, u64) {
    let settings = [&[("streaming", "off"), ("compress", "off")], settings].concat();
    let set = config(&settings);
    let (mut s, mut r) = (sender(&set), receiver(&set));
    let files = vec![File::new("one", &random(30_000, 1))];
    let (mut source, mut sink) = (Source::new(files.clone()), Sink::new());
    let mut pair = Pair::new(&mut s, &mut r, &mut source, &mut sink);
    pair.meddle = Box::new(move |_, bytes| bytes.retain(|byte| !eats.contains(byte)));
    let ends = pair.run();
    assert_eq!((ends.sender, ends.receiver), (Outcome::Done, Outcome::Done));
    assert_whole(&sink.files, &files, "over a line that eats codes");
    (s.learned(), s.stats().retransmissions)
}

#[test]
fn eaten_codes_are_found_out_and_not_tried_again() {
    for bundle in ["on", "off"] {
        let (learned, _) = send(&[("bundle", bundle)], &[]);
        assert_eq!((learned.codes, learned.hits), (Some(true), 0), "{bundle}");
        assert!(learned.carried > 30_000, "{bundle}: {learned:?}");

        let (learned, again) = send(&[("bundle", bundle)], &[SHIFT_IN]);
        assert!(again > 0, "{bundle}: the first try has to be lost");
        assert_ne!(learned.codes, Some(true), "{bundle}");
        let known = [("bundle", bundle), ("known-codes", "eaten")];
        let (learned, again) = send(&known, &[SHIFT_IN]);
        assert_eq!(again, 0, "{bundle}: nothing was tried");
        // What was not tried is no news: it would be remembered for good.
        assert_eq!(learned.codes, None, "{bundle}");
    }
    let (learned, _) = send(&[("bundle", "on")], &[SHIFT_IN]);
    assert_eq!(learned.codes, Some(false));
}

#[test]
fn a_known_round_trip_keeps_the_first_packet_from_being_repeated() {
    let waits = |known: &str| {
        let mut engine = sender(&config(&[("known-round-trip", known)]));
        let now = Instant(1_000_000);
        let mut trace = NoTrace;
        let mut cx = Cx { now, trace: &mut trace };
        let len = engine.transmit(&mut cx).len();
        engine.transmitted(&mut cx, len);
        (engine.deadline().expect("a timeout") - now).as_millis()
    };
    assert!(waits("0") < 2000, "{}", waits("0"));
    assert!((5900..8000).contains(&waits("4000")), "{}", waits("4000"));
    // Not longer than a packet is waited for at all.
    assert!(waits("600000") < 20_000, "{}", waits("600000"));
}
