//! Two people and a code phrase: either side dials, typed or said, wrong phrases, and what the receiver agrees to.

use crate::common;

use std::process::Command;

use common::desktop::Desktop;
use common::{Desk, Ran, Running, noise, run, wst};

const RIGHT: &str = "7-walnut-compass";

/// Somebody without any keys.
fn alone(args: &[&str]) -> Command {
    let mut command = wst(args);
    command.env("XDG_CONFIG_HOME", "/nonexistent");
    command
}

fn listen(desk: &Desk, code: &str, flags: &[&str]) -> (Running, String) {
    let into = desk.path("in");
    let args = ["receive", "udp-listen://127.0.0.1:0", "-o", &into, "--code", code];
    let running = Running::start(alone(&[&args[..], flags].concat()));
    let line = format!("udp://{}", running.says("listening on "));
    assert_eq!(running.says("at the peer: wst send FILE "), format!("{line} --code {code}"));
    (running, line)
}

fn send(desk: &Desk, line: &str, code: &str) -> Ran {
    run(alone(&["send", &desk.path("data.bin"), line, "--code", code]))
}

#[test]
fn the_right_phrase_works_whichever_end_dials() {
    let desk = Desk::new(300_000);
    let (receiver, line) = listen(&desk, RIGHT, &["--yes"]);
    // As it is heard on the telephone.
    let sent = send(&desk, &line, "7 Walnut COMPASS");
    sent.expect(0);
    assert!(sent.stderr.contains(", verified"), "{}", sent.stderr);
    receiver.end().expect(0);
    desk.arrived();
    let desk = Desk::new(300_000);
    let file = desk.path("data.bin");
    let args = ["send", "--json", "--code", &file, "udp-listen://127.0.0.1:0"];
    let sender = Running::start(alone(&args));
    let phrase = sender.says("code phrase: ");
    let line = format!("udp://{}", sender.says("listening on "));
    assert_eq!(sender.says("at the peer: wst receive "), format!("{line} --code {phrase}"));
    let into = desk.path("in");
    run(alone(&["receive", &line, "--code", &phrase, "--yes", "-o", &into])).expect(0);
    let sent = sender.end();
    sent.expect(0);
    desk.arrived();
    let code = sent.events().into_iter().find(|event| event["event"] == "code");
    assert_eq!(code.expect("an event")["phrase"], phrase.as_str());
}

#[test]
fn a_wrong_phrase_is_refused_at_both_ends_and_three_end_the_listener() {
    let desk = Desk::new(1000);
    let (receiver, line) = listen(&desk, RIGHT, &["--yes"]);
    for wrong in ["8-walnut-compass", "7-compass-walnut", "7-walnut-walnut"] {
        let refused = send(&desk, &line, wrong);
        refused.expect(4);
        assert!(
            refused.stderr.contains("expected the code phrase of the listener"),
            "{}",
            refused.stderr
        );
    }
    let ended = receiver.end();
    ended.expect(4);
    assert!(ended.stderr.contains("it has another"), "{}", ended.stderr);
    assert!(ended.stderr.contains("3 wrong code phrases were received"), "{}", ended.stderr);
    assert!(desk.names().is_empty());
}

#[test]
fn the_right_phrase_works_after_two_wrong_ones() {
    let desk = Desk::new(1000);
    let (receiver, line) = listen(&desk, RIGHT, &["--yes"]);
    for _ in 0..2 {
        send(&desk, &line, "8-walnut-compass").expect(4);
    }
    send(&desk, &line, RIGHT).expect(0);
    receiver.end().expect(0);
    desk.arrived();
}

#[test]
fn an_end_that_dials_first_waits() {
    let desk = Desk::new(1000);
    let port =
        std::net::UdpSocket::bind("127.0.0.1:0").expect("a port").local_addr().expect("it").port();
    let (file, line) = (desk.path("data.bin"), format!("udp://127.0.0.1:{port}"));
    let sender = Running::start(alone(&["send", &file, &line, "--code"]));
    let phrase = sender.says("code phrase: ");
    let there = sender.says("at the peer: wst receive ");
    assert_eq!(there, format!("udp-listen://0.0.0.0:{port} --code {phrase}"));
    sender.says("waiting for the peer");
    let place = format!("udp-listen://127.0.0.1:{port}");
    run(alone(&["receive", &place, "-o", &desk.path("in"), "--yes", "--code", &phrase])).expect(0);
    sender.end().expect(0);
    desk.arrived();
}

/// A phrase that was given is told with the line, too, and the wait is told to go on.
#[test]
fn a_sender_without_a_peer_says_what_it_waits_for() {
    let desk = Desk::new(10);
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    let port = socket.local_addr().expect("its address").port();
    drop(socket);
    let line = format!("udp://127.0.0.1:{port}");
    let sender = Running::start(alone(&["send", &desk.path("data.bin"), &line, "--code", RIGHT]));
    let there = sender.says("at the peer: wst receive ");
    assert_eq!(there, format!("udp-listen://0.0.0.0:{port} --code {RIGHT}"));
    assert_eq!(sender.says("waiting for the peer "), format!("({line})"));
    let still = sender.says("still waiting for the peer ");
    assert!(still.starts_with(&format!("({line}): ")) && still.ends_with(" s"), "{still}");
}

#[test]
fn contradictory_flags_are_usage_errors() {
    let desk = Desk::new(10);
    let (file, into) = (desk.path("data.bin"), desk.path("in"));
    let place = "udp-listen://127.0.0.1:0";
    for (args, say) in [
        (vec!["receive", place, "-o", &into, "--code", RIGHT], "expected --yes with --code"),
        (
            vec!["receive", place, "--yes", "-o", &into, "--code"],
            "expected --code PHRASE, or a terminal",
        ),
        (vec!["receive", place, "--yes", "--code", "oops"], "such as 7-walnut-compass"),
        (vec!["send", &file, place, "--code", "7-walmut-compass"], "did you mean walnut?"),
        (vec!["receive", place, "--yes"], "--code"),
        (vec!["receive", place, "--yes", "--code", RIGHT, "--sessions", "2"], "--sessions 1"),
        (vec!["send", &file, "tcp://127.0.0.1:9", "--code"], "expected udp: or ip: with --code"),
        (vec!["receive", "exec:cat", "--accept-new"], "with --accept-new"),
        (vec!["receive", place, "--accept-new"], "expected a host to dial"),
        (vec!["receive", place, "--fingerprint", "0"], "expected a host to dial"),
    ] {
        let ran = run(alone(&args));
        ran.expect(2);
        assert!(ran.stderr.contains(say), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn a_code_and_a_key_are_told_apart() {
    let desk = Desk::new(10);
    let (receiver, line) = listen(&desk, RIGHT, &["--yes"]);
    let mut with_secret = alone(&["send", &desk.path("data.bin"), &line]);
    with_secret.env("WETSTRING_SECRET", "the shared secret of two");
    let refused = run(with_secret);
    refused.expect(4);
    assert!(refused.stderr.contains("both a code phrase (--code)"), "{}", refused.stderr);
    drop(receiver);
}

/// A receiver at a terminal, who has typed the phrase; it is asked for.
fn receiver_at(desk: &Desk, place: &str) -> Desktop {
    let into = desk.path("in");
    let mut user = Desktop::start(&["receive", place, "-o", &into, "--code"]);
    user.until("the question", |user| user.screen().contains("code phrase: "));
    // A slip costs nothing.
    user.press(b"7-wlanut-compass\n");
    user.until("it again", |user| user.screen().contains("did you mean walnut?"));
    user.press(b"7 walnut compass\n");
    user.until("the listener", |user| user.screen().contains("listening on "));
    user
}

fn line_of(user: &Desktop) -> String {
    let screen = user.screen();
    let (_, at) = screen.split_once("listening on ").expect("it listens");
    format!("udp://{}", at.split_whitespace().next().expect("where"))
}

#[test]
fn the_user_confirms_names_and_sizes_first() {
    let desk = Desk::new(123_456);
    std::fs::write(desk.path("second.bin"), noise(5, 1000)).expect("a file");
    let mut user = receiver_at(&desk, "udp-listen://127.0.0.1:0");
    let (data, second, line) = (desk.path("data.bin"), desk.path("second.bin"), line_of(&user));
    let sender = Running::start(alone(&["send", &data, &second, &line, "--code", RIGHT]));
    let question = "2 files, 124.5 kB; the first is data.bin, 123.5 kB. Take them? [yes/no/each] ";
    user.until("the question", |user| user.screen().contains(question));
    // Longer than a sender waits for others.
    std::thread::sleep(std::time::Duration::from_secs(14));
    assert!(desk.names().is_empty(), "{:?}", desk.names());
    user.press(b"yes\n");
    assert!(user.end().success(), "{}", user.screen());
    sender.end().expect(0);
    desk.arrived();
    assert_eq!(desk.names(), ["data.bin", "second.bin"]);
}

#[test]
fn the_user_can_refuse() {
    let desk = Desk::new(1000);
    let mut user = receiver_at(&desk, "udp-listen://127.0.0.1:0");
    let (data, line) = (desk.path("data.bin"), line_of(&user));
    let sender = Running::start(alone(&["send", &data, &line, "--code", RIGHT]));
    user.until("the question", |user| user.screen().contains("Take it? [yes/no/all] "));
    user.press(b"n\n");
    assert_eq!(user.end().code(), Some(1), "{}", user.screen());
    let sent = sender.end();
    assert_eq!(sent.code(), 1, "{}", sent.stderr);
    assert!(desk.names().is_empty());
}

#[test]
fn two_users_at_two_terminals() {
    let desk = Desk::new(50_000);
    let data = desk.path("data.bin");
    let mut sends = Desktop::start(&["send", &data, "udp-listen://127.0.0.1:0", "--code"]);
    sends.until("the phrase", |user| user.screen().contains("listening on "));
    let screen = sends.screen();
    let (_, phrase) = screen.split_once("code phrase: ").expect("a phrase");
    let phrase = phrase.lines().next().expect("a line").trim().to_owned();
    let (into, line) = (desk.path("in"), line_of(&sends));
    let mut receives = Desktop::start(&["receive", &line, "-o", &into, "--code"]);
    receives.until("the question", |user| user.screen().contains("code phrase: "));
    receives.press(format!("{phrase}\n").as_bytes());
    receives.until("the offer", |user| user.screen().contains("Take it? [yes/no/all] "));
    assert!(receives.screen().contains("data.bin, 50.0 kB"), "{}", receives.screen());
    assert!(desk.names().is_empty());
    receives.press(b"y\n");
    assert!(receives.end().success(), "{}", receives.screen());
    assert!(sends.end().success(), "{}", sends.screen());
    desk.arrived();
}
