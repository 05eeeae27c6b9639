//! A store may take its time, as a slow disk does: that is no silence of the peer.
//!
//! The loop of each end stands still while its store works, as that of the drivers does. Then the end neither counts
//! a timeout nor refuses anything: senders of other people take a refusal on a line without errors for its failure.

use crate::two_ends::{End, Ran, Slow, run};
use wetstring_proto::LineFacts;
use wetstring_proto::engine::Outcome;
use wetstring_proto::time::Duration;
use wetstring_protocols::Protocol;
use wetstring_testkit::{File, Sink, Source, noise};

#[test]
fn a_slow_store_is_no_silence_of_the_peer() {
    let files = [File::new("one", &noise(1, 30_000)), File::new("two", &noise(2, 100))];
    let mut faults = Vec::new();
    let mut pauses = 0;
    // What it asks for again because the peer did is no fault of it.
    let refused = |at_sender: bool, [(_, sender), (_, receiver)]: &Ran| {
        let (own, peer) = if at_sender { (sender, receiver) } else { (receiver, sender) };
        (own.timeouts, if peer.retransmissions == 0 { own.naks_out } else { 0 })
    };
    for protocol in Protocol::of_bytes() {
        let of_sender = [Slow::Next, Slow::Read, Slow::Digest].map(|slow| (true, slow));
        let of_receiver = [Slow::Offer, Slow::Write, Slow::Digest, Slow::Close];
        let sides = of_sender.into_iter().chain(of_receiver.map(|slow| (false, slow)));
        for (at_sender, slow) in sides {
            for (seconds, reliable) in [(3, true), (3, false), (40, true), (40, false)] {
                let mut config = protocol.config();
                config.on_line(LineFacts {
                    reliable: Some(reliable),
                    clear: true,
                    rate_bps: 0,
                    telnet: false,
                });
                let files = if protocol.tells_names { &files[..] } else { &files[..1] };
                let ends = || {
                    let sender = End::new(config.sender(), Source::new(files.to_vec()));
                    (sender, End::new(config.receiver(), Sink::new()))
                };
                let (mut sender, mut receiver) = ends();
                let usual = refused(at_sender, &run(&mut sender, &mut receiver));
                let (mut sender, mut receiver) = ends();
                let takes = Some((slow, Duration::from_secs(seconds)));
                if at_sender {
                    sender.slow = takes;
                } else {
                    receiver.slow = takes;
                }
                let ran = run(&mut sender, &mut receiver);
                pauses += sender.pauses + receiver.pauses;
                let now = refused(at_sender, &ran);
                let what = format!(
                    "{protocol:?} reliable {reliable}, {slow:?} of the {} takes {seconds} s",
                    if at_sender { "sender" } else { "receiver" }
                );
                let outcomes = ran.map(|(outcome, _)| outcome);
                if outcomes != [Some(Outcome::Done); 2] {
                    faults.push(format!("{what}: {outcomes:?}"));
                } else if now.0 > usual.0 || now.1 > usual.1 {
                    faults.push(format!("{what}: timeouts and NAKs {now:?}, usually {usual:?}"));
                }
            }
        }
    }
    assert!(pauses > 100, "{pauses}");
    assert!(faults.is_empty(), "{} of them:\n{}", faults.len(), faults.join("\n"));
}
