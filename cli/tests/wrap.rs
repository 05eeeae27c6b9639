//! `wst -- COMMAND`: a user's commands in the wrapper, and transfers that they start.

use crate::common;
use crate::peers;

use std::process::Command;
use std::time::{Duration, Instant};

use common::desktop::Desktop;
use common::{Desk, run, tame, wst};
use rustix::termios::{LocalModes, tcgetattr};
use wetstring_testkit::{Within, terminal, within};

/// Types, and waits for what is new on the screen.
#[track_caller]
fn typed(user: &mut Desktop, keys: &str, says: &str) -> String {
    let before = user.screen().len();
    user.press(keys.as_bytes());
    user.until(says, |user| user.screen().get(before..).is_some_and(|new| new.contains(says)));
    user.screen()[before..].to_owned()
}

#[test]
fn a_command_has_the_users_terminal() {
    for (command, code) in [("exit 7", 7), ("kill -TERM $$", 143), ("true", 0)] {
        let mut user = Desktop::start(&["--", "sh", "-c", command]);
        assert_eq!(user.end().code(), Some(code), "{command}");
    }
    let mut user = Desktop::start(&["--", "/nonexistent/command"]);
    assert_eq!(user.end().code(), Some(127), "{}", user.screen());
    let desk = Desk::new(1);
    let mut user = Desktop::shell(&desk, &[]);
    typed(&mut user, "tty; stty size; test -t 0 && test -t 1 && echo ye''s\r", "yes");
    // Every key is the command's: the escape key of `connect`, and Ctrl-C, which interrupts there.
    // It is pressed once the command runs: a shell may lose a signal while it starts one.
    typed(&mut user, "sh -c 'echo sle\"\"eps; exec sleep 60'\r", "sleeps");
    typed(&mut user, "\x03", "ready> ");
    typed(&mut user, "echo o''n\r", "on\r\n");
    typed(
        &mut user,
        "stty -echo; printf 'Pass''word: '; read word; stty echo; echo got $word\r",
        "Password: ",
    );
    let after = typed(&mut user, "secret\r", "got secret");
    assert!(!after.split("got").next().expect("a part").contains("secret"), "no echo: {after}");
    typed(&mut user, "cat\r", "cat");
    user.press(b"\x14q\r");
    user.until("the keys", |user| {
        user.screen().matches("\u{14}q").count() + user.screen().matches("^Tq").count() >= 1
    });
    user.press(b"\x04");
    typed(&mut user, "exit 3\r", "exit");
    assert_eq!(user.end().code(), Some(3));
}

/// `stty` as a user types it before and inside: the settings are the same.
#[test]
fn settings_and_sizes_pass() {
    let desk = Desk::new(1);
    let both = terminal().expect("a terminal");
    let size = rustix::termios::Winsize { ws_row: 31, ws_col: 97, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(&both.master, size).expect("a size");
    let inside = both.open().expect("its side");
    let told = |args: &[&str]| {
        let mut command = Command::new("setsid");
        command.arg("--ctty").args(args);
        tame(&mut command);
        let copy = || inside.try_clone().expect("a copy");
        let out = std::fs::File::create(desk.path("out")).expect("a file");
        drop(out);
        command.stdin(copy()).stdout(copy()).stderr(copy());
        assert!(command.status().expect("it runs").success());
        std::fs::read_to_string(desk.path("out")).expect("its output")
    };
    let say = format!("stty -a > {}", desk.path("out"));
    let bare = told(&["sh", "-c", &say]);
    let wrapped = told(&[common::WST, "--", "sh", "-c", &say]);
    assert_eq!(bare, wrapped);
    assert!(wrapped.contains("rows 31; columns 97"), "{wrapped}");
    // A change reaches the command.
    let cast = desk.path("session.cast");
    let mut user = Desktop::shell(&desk, &["--log", &cast, "--log-format", "asciicast"]);
    user.resize(17, 61);
    // A signal and a key come by different ways: the first command may be told the size before.
    let is = |user: &mut Desktop| typed(user, "stty size\r", "ready> ").contains("17 61");
    assert_eq!(within(Duration::from_secs(20), || is(&mut user)), Within::Done);
    let log = std::fs::read_to_string(&cast).expect("the log");
    assert!(log.contains(r#","r","61x17"]"#), "{log}");
    // A storm of them, too.
    for row in 10..60 {
        user.resize(row, 80);
    }
    let so = |user: &mut Desktop| typed(user, "stty size\r", "ready> ").contains("59 80");
    assert_eq!(within(Duration::from_secs(20), || so(&mut user)), Within::Done);
    user.press(b"\x04");
    assert_eq!(user.end().code(), Some(0));
}

#[test]
fn a_killed_wrapper_leaves_the_terminal_as_it_was() {
    for verb in [&["--", "sleep", "60"][..], &["connect", "exec:sleep 60"]] {
        let mut user = Desktop::start(verb);
        user.until("raw", |user| !user.modes().intersects(LocalModes::ICANON | LocalModes::ECHO));
        user.kill();
        user.until("the settings", Desktop::is_as_before);
    }
}

/// Files by lrzsz from a shell in the wrapper, down and up; the prompt follows exactly.
#[test]
fn lrzsz_in_the_shell_sends_and_receives() {
    let Some(_) = peers::lrzsz::lrzsz() else { return };
    let desk = Desk::new(300_000);
    let mut user = Desktop::shell(&desk, &[]);
    let data = desk.path("data.bin");
    typed(&mut user, &format!("sz {data}\r"), "Receive them into");
    let after = typed(&mut user, "yes\r", "ready> ");
    assert!(after.contains("data.bin: received 300.0 kB"), "{after}");
    let end = after.rsplit("peer\r\n").next().expect("an end");
    assert_eq!(end, "ready> ", "{after:?}");
    desk.arrived();
    // Asked once in a session.
    std::fs::remove_file(desk.path("in/data.bin")).expect("it goes");
    let after = typed(&mut user, &format!("sz {data}\r"), "received 300.0 kB");
    assert!(!after.contains("yes/no"), "{after}");
    user.until("the prompt", |user| user.screen().ends_with("ready> "));
    desk.arrived();
    // Upwards: rz asks, and a name is typed with Tab.
    let before = user.screen().len();
    typed(&mut user, "rz\r", "The peer receives files by ZMODEM. Send: ");
    let stem = desk.path("data.b");
    typed(&mut user, &format!("{stem}\t\r"), "data.bin: sent 300.0 kB");
    user.until("the prompt", |user| user.screen().ends_with("ready> "));
    assert!(std::fs::read(desk.path("there/data.bin")).expect("it came") == desk.bytes);
    assert_eq!(user.screen()[before..].matches("ready> ").count(), 1);
    typed(&mut user, "exit 0\r", "exit");
    assert_eq!(user.end().code(), Some(0));
}

/// The prompt of `sx` is a start of XMODEM. (`rx` and `rb` discard what their terminal still holds when they end,
/// and with it, in half of all cases, their last acknowledgement: `docs/decisions/005`.)
#[test]
fn the_prompt_of_sx_is_a_start() {
    let Some(_) = peers::lrzsz::lrzsz() else { return };
    // Whole blocks: XMODEM pads the last one.
    let desk = Desk::new(128 * 100);
    let data = desk.path("data.bin");
    let came = |name: &str| std::fs::read(desk.path(name)).expect("it came") == desk.bytes;
    let mut user = Desktop::shell(&desk, &[]);
    typed(&mut user, &format!("sx {data}\r"), "The peer sends files by XMODEM");
    typed(&mut user, "y\r", "Store as: ");
    typed(&mut user, "named.bin\r", "received 12.8 kB");
    user.until("the prompt", |user| user.screen().ends_with("ready> "));
    assert!(came("in/named.bin"));
    typed(&mut user, "exit 0\r", "exit");
    assert_eq!(user.end().code(), Some(0));
}

/// Ctrl-T u: nothing is typed at the other side.
#[test]
fn a_file_is_uploaded_to_a_shell() {
    let Some(_) = peers::lrzsz::lrzsz() else { return };
    let desk = Desk::new(300_000);
    let mut user = Desktop::shell(&desk, &["--escape", "ctrl-t"]);
    typed(&mut user, "sleep 1; echo do''ne\r", "sleep");
    typed(&mut user, "\x14u", "no prompt of a shell");
    user.until("the prompt", |user| user.screen().contains("done\r\nready> "));
    typed(&mut user, "\x14u", "Upload files: ");
    typed(&mut user, &format!("{}\r", desk.path("data.bin")), "data.bin: sent 300.0 kB");
    user.until("the prompt", |user| user.screen().ends_with("ready> "));
    assert!(std::fs::read(desk.path("there/data.bin")).expect("it came") == desk.bytes);
    typed(&mut user, "exit 0\r", "exit");
    assert_eq!(user.end().code(), Some(0));
}

/// Ctrl-T u where there is no receiver: the shell's own tools take the file, and the prompt comes back.
#[test]
fn a_file_is_uploaded_to_a_shell_that_has_no_receiver() {
    let desk = Desk::new(100_000);
    let bin = desk.few_tools();
    let mut user = Desktop::shell(&desk, &["--escape", "ctrl-t"]);
    typed(&mut user, &format!("PATH={bin}\r"), "ready> ");
    for round in ["sent 100.0 kB", "is at the shell already"] {
        typed(&mut user, "\x14u", "Upload files: ");
        let after = typed(&mut user, &format!("{}\r", desk.path("data.bin")), round);
        assert!(after.contains("no-receiver-here\r\n"), "{after}");
        user.until("the prompt", |user| user.screen().ends_with("ready> "));
        assert!(std::fs::read(desk.path("there/data.bin")).expect("it came") == desk.bytes);
    }
    let there = std::fs::read_dir(desk.path("there")).expect("the folder").count();
    assert_eq!(there, 1, "nothing else is there");
    typed(&mut user, "exit 0\r", "exit");
    assert_eq!(user.end().code(), Some(0));
}

/// Kermit from a shell in the wrapper; a refusal ends the peer, and the terminal goes on.
#[test]
fn kermit_in_the_shell_is_received_or_refused() {
    let desk = Desk::new(50_000);
    let data = desk.path("data.bin");
    let send = format!("{} send -q -P kermit {data} -\r", common::WST);
    let mut user = Desktop::shell(&desk, &[]);
    typed(&mut user, &send, "sends files by Kermit");
    let after = typed(&mut user, "no\r", "ready> ");
    assert!(after.contains("(refused"), "{after}");
    assert!(desk.names().is_empty());
    typed(&mut user, "exit 0\r", "exit");
    assert_eq!(user.end().code(), Some(0));
    let mut user = Desktop::shell(&desk, &["--autodownload", "on"]);
    typed(&mut user, &send, "data.bin: received 50.0 kB");
    user.until("the prompt", |user| user.screen().ends_with("ready> "));
    desk.arrived();
    typed(&mut user, "exit 0\r", "exit");
    assert_eq!(user.end().code(), Some(0));
}

/// C-Kermit and G-Kermit, both ways: their first packets and their NAKs are starts.
#[test]
fn other_kermits_in_the_shell_send_and_receive() {
    let desk = Desk::new(20_000);
    let data = desk.path("data.bin");
    let kermits = [
        (peers::ckermit(), "kermit -Y -Q -i -s", "kermit -Y -i -r"),
        (peers::gkermit(), "gkermit -P -i -s", "gkermit -P -i -r"),
    ];
    for (found, send, receive) in kermits {
        if found.is_none() {
            continue;
        }
        let mut user = Desktop::shell(&desk, &["--autodownload", "on"]);
        typed(&mut user, &format!("{send} {data}\r"), "data.bin: received 20.0 kB");
        user.until("the prompt", |user| user.screen().ends_with("ready> "));
        desk.arrived();
        std::fs::remove_file(desk.path("in/data.bin")).expect("it goes");
        typed(&mut user, &format!("{receive}\r"), "receives files by Kermit. Send: ");
        typed(&mut user, &format!("{data}\r"), "data.bin: sent 20.0 kB");
        user.until("the prompt", |user| user.screen().ends_with("ready> "));
        let came = desk.path("there/data.bin");
        assert!(std::fs::read(&came).expect("it came") == desk.bytes, "{receive}");
        std::fs::remove_file(came).expect("it goes");
        typed(&mut user, "exit 0\r", "exit");
        assert_eq!(user.end().code(), Some(0));
    }
}

/// What only looks like a start shows, and nothing is asked.
#[test]
fn a_start_inside_a_file_is_text() {
    let desk = Desk::new(1);
    let trap = desk.path("trap.txt");
    let start = b"rz\r**\x18B00000000000000\r\x8a\x11";
    std::fs::write(&trap, [&b"a log:\n"[..], start, b"\nand its end\n"].concat()).expect("a file");
    let mut user = Desktop::shell(&desk, &["--autodownload", "on"]);
    let after = typed(&mut user, &format!("cat {trap}\r"), "and its end");
    assert!(after.contains("B00000000000000"), "{after:?}");
    user.until("the prompt", |user| user.screen().ends_with("ready> "));
    assert!(desk.names().is_empty());
    typed(&mut user, "exit 0\r", "exit");
    assert_eq!(user.end().code(), Some(0));
}

/// Without a terminal it is a pipe to the command and back.
#[test]
fn without_a_terminal_it_is_a_filter() {
    let ran = run(wst(["--", "sh", "-c", "printf 'one\\ntwo\\n'; exit 5"]));
    ran.expect(5);
    assert_eq!(ran.stdout, "one\r\ntwo\r\n");
    let began = Instant::now();
    let ran = run(wst(["--", "sh", "-c", "sleep 60 & echo done"]));
    ran.expect(0);
    assert!(
        began.elapsed() < Duration::from_secs(30),
        "what runs in the background is not waited for"
    );
    let both = terminal().expect("a terminal");
    assert!(tcgetattr(&both.master).is_ok());
}
