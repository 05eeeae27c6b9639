//! What comes right behind the last packet is not the protocol's: a shell's prompt comes in one read with it, and is shown.

use crate::two_ends::{End, run};
use wetstring_proto::engine::Outcome;
use wetstring_proto::{LineFacts, kermit, zmodem};
use wetstring_protocols::Protocol;
use wetstring_testkit::{File, Sink, Source, noise};

const PROMPT: &[u8] = b"ready> ";

#[test]
fn a_prompt_behind_the_last_packet_is_left() {
    let files = [File::new("one", &noise(1, 5_000)), File::new("two", &noise(2, 100))];
    let (mut faults, mut tried) = (Vec::new(), 0);
    for protocol in Protocol::of_bytes() {
        // A sender waits for the answer to its last packet, except ZMODEM's, whose last word is OO; EOT counts if nothing follows.
        let receives_last = protocol.is::<zmodem::Config>() || protocol.is::<kermit::Config>();
        for at_sender in [true, false].into_iter().filter(|at_sender| *at_sender || receives_last) {
            for reliable in [Some(true), Some(false), None] {
                let mut config = protocol.config();
                config.on_line(LineFacts { reliable, clear: true, rate_bps: 0, telnet: false });
                let files = if protocol.tells_names { &files[..] } else { &files[..1] };
                let ends = || {
                    let sender = End::new(config.sender(), Source::new(files.to_vec()));
                    (sender, End::new(config.receiver(), Sink::new()))
                };
                // Once to see how many bytes come, and once with more behind them.
                let (mut sender, mut receiver) = ends();
                run(&mut sender, &mut receiver);
                let came = if at_sender { sender.came } else { receiver.came };
                let (mut sender, mut receiver) = ends();
                let behind = Some((came, PROMPT));
                if at_sender {
                    sender.behind = behind;
                } else {
                    receiver.behind = behind;
                }
                let outcomes = run(&mut sender, &mut receiver).map(|(outcome, _)| outcome);
                let left = if at_sender { sender.inbox } else { receiver.inbox };
                let left: Vec<u8> = left.into_iter().map(|(_, byte)| byte).collect();
                tried += 1;
                if outcomes != [Some(Outcome::Done); 2] || !left.ends_with(PROMPT) {
                    let side = if at_sender { "sender" } else { "receiver" };
                    let left = String::from_utf8_lossy(&left).into_owned();
                    faults.push(format!(
                        "{protocol:?} {side} reliable {reliable:?}: {outcomes:?}, left {left:?}"
                    ));
                }
            }
        }
    }
    assert!(tried > 25, "{tried}");
    assert!(faults.is_empty(), "{} of {tried}:\n{}", faults.len(), faults.join("\n"));
}
