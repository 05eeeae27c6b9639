//! A user at a terminal: the keys of a transfer, and what is said before the line goes quiet.

use crate::common;
use crate::peers;

use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use common::desktop::Desktop;
use common::{Desk, Ran, Running, tame, wst};
use rustix::termios::LocalModes;

/// Two files on a line of 19,200 bps, on which each takes a minute; a key is pressed while the
/// first moves. How the sender ended, what it showed, how the receiver ended, what is there.
fn pressed(key: &[u8]) -> (ExitStatus, String, Ran, Vec<String>) {
    pressed_in("kermit", key, |into, line| {
        wst(["receive", "-o", into, &format!("serial:{line}?baud=19200")])
    })
}

/// The same with any protocol, and any receiver on a terminal.
fn pressed_in(
    protocol: &str,
    key: &[u8],
    receiver: impl Fn(&str, &str) -> Command,
) -> (ExitStatus, String, Ran, Vec<String>) {
    let desk = Desk::new(120_000);
    let second = desk.path("second");
    std::fs::write(&second, "short").expect("the file");
    let (a, b) = (desk.path("a"), desk.path("b"));
    let (end_a, end_b) = (format!("pty:{a}"), format!("pty:{b}"));
    let line = Running::start(wst(["line", "19200", "-a", &end_a, "-b", &end_b]));
    line.says("line 19200");
    let receiver = Running::start(receiver(&desk.path("in"), &b));
    let at_a = format!("serial:{a}?baud=19200");
    let data = desk.path("data.bin");
    let mut user = Desktop::start(&["send", "-P", protocol, &data, &second, &at_a]);
    user.until("the keys", |user| user.screen().contains("keys: x cancels this file"));
    assert!(!user.modes().intersects(LocalModes::ECHO | LocalModes::ICANON));
    assert!(user.modes().contains(LocalModes::ISIG), "Ctrl-C stays what it is");
    std::thread::sleep(Duration::from_millis(500));
    let began = Instant::now();
    user.press(key);
    let status = user.end();
    assert!(began.elapsed() < Duration::from_secs(12), "{:?}", began.elapsed());
    let there = receiver.end();
    line.signal(rustix::process::Signal::INT);
    line.end();
    (status, user.screen(), there, desk.names())
}

#[test]
fn x_cancels_the_file_and_the_next_one_comes() {
    let (status, screen, received, names) = pressed(b"?x");
    assert_eq!(status.code(), Some(1), "{screen}");
    assert!(screen.contains("data.bin: cancelled here"), "{screen}");
    assert!(screen.contains("second: sent 5 B"), "{screen}");
    assert_eq!(received.code(), 1, "{}", received.stderr);
    assert!(names.contains(&"second".to_owned()), "{names:?}");
}

/// ZMODEM's word for it is a ZSKIP from the sender, which lrzsz's `rz` understands too.
#[test]
fn x_cancels_a_file_of_zmodem() {
    let ours = |into: &str, line: &str| {
        wst(["receive", "-P", "zmodem", "-o", into, &format!("serial:{line}?baud=19200")])
    };
    let theirs = |into: &str, line: &str| {
        let mut command = Command::new("sh");
        let script = "cd \"$1\" && exec < \"$2\" > \"$2\" && stty raw -echo && exec rz -b";
        command.args(["-c", script, "sh", into, line]);
        tame(&mut command);
        command.stdin(std::process::Stdio::null());
        command
    };
    let check = |code: i32, (status, screen, received, names): (_, String, Ran, Vec<String>)| {
        let status: ExitStatus = status;
        assert_eq!(status.code(), Some(1), "{screen}");
        assert!(screen.contains("data.bin: cancelled here"), "{screen}");
        assert!(screen.contains("second: sent 5 B"), "{screen}");
        assert_eq!(received.code(), code, "{}", received.stderr);
        assert!(names.contains(&"second".to_owned()), "{names:?}");
    };
    check(1, pressed_in("zmodem", b"x", ours));
    if peers::peer("rz", "lrzsz").is_some() {
        check(0, pressed_in("zmodem", b"x", theirs));
    }
}

#[test]
fn z_cancels_all_that_follow() {
    let (status, screen, received, names) = pressed(b"z");
    assert_eq!(status.code(), Some(1), "{screen}");
    assert!(!screen.contains("second: sent"), "{screen}");
    assert_eq!(received.code(), 1, "{}", received.stderr);
    assert!(!names.contains(&"second".to_owned()), "{names:?}");
}

#[test]
fn e_ends_with_an_error_that_the_peer_hears() {
    let (status, screen, received, _) = pressed(b"e");
    assert_eq!(status.code(), Some(130), "{screen}");
    assert_eq!(received.code(), 4, "{}", received.stderr);
}

#[test]
fn ctrl_c_still_ends_and_the_terminal_comes_back() {
    let (status, screen, received, _) = pressed(b"\x03");
    assert_eq!(status.code(), Some(130), "{screen}");
    assert_eq!(received.code(), 4, "{}", received.stderr);
}

/// Packets that no peer has taken do not stay behind the last words.
#[test]
fn the_last_words_begin_a_clean_line() {
    let desk = Desk::new(10);
    let into = desk.path("in");
    for (term, clean) in [("xterm", "\r\u{1b}[Kwst: "), ("dumb", "\r\nwst: ")] {
        let mut user = Desktop::start_with(&["receive", "-", "-o", &into], |command| {
            command.env("TERM", term);
        });
        user.until("a packet", |user| user.screen().contains('\u{1}'));
        user.press(b"\x03\x03\x03");
        assert_eq!(user.end().code(), Some(130), "{}", user.screen());
        let screen = user.screen();
        let (_, last) = screen.split_once("by the receiver").expect("an Error packet");
        assert!(last.contains(clean), "{term}: {last:?}");
    }
}

/// What a command in a terminal says is shown, even right before the protocol, and is not written over.
#[test]
fn the_last_line_before_the_protocol_is_shown() {
    let desk = Desk::new(10);
    for (text, shown) in [
        ("a warning\\nrz waiting to receive.", "a warning\r\n"),
        ("a long line without its end'; sleep 1; printf '", "without its end\r\n"),
    ] {
        let start = format!(r"printf '{text}**\030B0100000023be50\r\n\021'");
        let line = format!("exec-pty:{start}; exec sleep 20");
        let mut user = Desktop::start(&["send", "-P", "zmodem", &desk.path("data.bin"), &line]);
        user.until(shown, |user| user.screen().contains(shown));
        user.press(b"\x03");
        user.end();
    }
}

#[test]
fn a_user_in_screen_is_told() {
    let desk = Desk::new(10);
    let said = "this is a window of screen, which lets no transfer pass";
    for (term, told) in [("screen", true), ("xterm", false)] {
        let mut user = Desktop::start_with(&["send", &desk.path("data.bin"), "-"], |command| {
            command.env("STY", "4242.pts-0.box").env("TERM", term).env_remove("TMUX");
        });
        user.until("the hint", |user| user.screen().contains("ready to send"));
        assert_eq!(user.screen().contains(said), told, "{}", user.screen());
        user.kill();
    }
}

#[test]
fn a_remote_user_is_told_how_to_continue_and_stop() {
    let desk = Desk::new(10);
    let (into, data) = (desk.path("in"), desk.path("data.bin"));
    for (args, say) in [
        (
            &["receive", "-", "-o", &into][..],
            "ready to receive: start sending in your terminal program",
        ),
        (&["receive", "-", "-P", "kermit", "-o", &into], "3 times ctrl-c stops"),
        (&["send", &data, "-"], "ready to send: start receiving in your terminal program"),
    ] {
        let mut user = Desktop::start(args);
        user.until(say, |user| user.screen().contains(say));
        // From now on keys are bytes of the line.
        user.until("a raw terminal", |user| !user.modes().contains(LocalModes::ISIG));
        std::thread::sleep(Duration::from_millis(100));
        user.press(b"\x03\x03\x03");
        let status = user.end();
        assert!(!status.success(), "{args:?}: {}", user.screen());
    }
}
