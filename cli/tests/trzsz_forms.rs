//! `trz` and `tsz` in their other forms: binary, in tmux, and as they are on Windows.

use crate::common;
use crate::peers;

use std::time::Duration;

use common::desktop::Desktop;
use common::tmux::Tmux;
use common::{Desk, noise};
use wetstring_testkit::{Within, within};

/// The program of PyPI as it is on Windows: what it asks its system is answered so, and its terminal is set as here.
const ON_WINDOWS: &str = "\
import platform, sys, termios, tty, types
platform.system = lambda: 'Windows'
wins = types.ModuleType('trzsz.libs.wins')
before = termios.tcgetattr(0)
wins.set_stdin_raw = lambda: tty.setraw(0, termios.TCSANOW)
wins.reset_stdin_tty = lambda: termios.tcsetattr(0, termios.TCSADRAIN, before)
wins.enable_virtual_terminal = lambda: None
wins.setup_console_output = lambda: sys.stdout.write('\\x1b[?1049h\\x1b[H\\x1b[2J TRZSZ!\\r\\n')
sys.modules['trzsz.libs.wins'] = wins
from trzsz.svr import recv, send
program = {'tsz': send, 'trz': recv}[sys.argv[1]]
sys.argv = sys.argv[1:]
program.main()
";

/// Whether `trz` and `tsz` are there.
fn has_trzsz() -> bool {
    peers::peer("tsz", "none; pip install trzsz").is_some()
}

#[track_caller]
fn until_prompt(user: &mut Desktop, keys: &str, says: &[&str]) -> String {
    let before = user.screen().len();
    user.press(keys.as_bytes());
    user.until("the end of a transfer", |user| {
        let screen = user.screen();
        let new = screen.get(before..).unwrap_or_default();
        says.iter().all(|one| new.contains(one)) && new.ends_with("ready> ")
    });
    user.screen()[before..].to_owned()
}

#[track_caller]
fn same(path: &str, bytes: &[u8]) {
    assert!(std::fs::read(path).expect(path) == bytes, "{path}");
}

/// Bytes of any value, each of them in turn, none, and one that is escaped.
fn files() -> [(&'static str, Vec<u8>); 4] {
    let each: Vec<u8> = (0..=255).cycle().take(60_000).collect();
    [("random", noise(3, 3_000_000)), ("each", each), ("empty", Vec::new()), ("one", vec![0xEE])]
}

/// Down, in one run; what is asked for is agreed upon.
#[track_caller]
fn binary_down(flags: &str) {
    let desk = Desk::new(1);
    let mut user = Desktop::shell(&desk, &["-v", "--autodownload", "on"]);
    for (name, bytes) in files() {
        std::fs::write(desk.path(&format!("there/{name}")), bytes).expect("a file");
    }
    let command = format!("tsz {flags} random each empty one\r");
    until_prompt(&mut user, &command, &["agreed: trzsz: binary, MD5", "one: received 1 B"]);
    for (name, bytes) in files() {
        same(&desk.path(&format!("in/{name}")), &bytes);
    }
    user.press(b"exit 0\r");
    assert_eq!(user.end().code(), Some(0), "{}", user.screen());
}

/// Up, likewise.
#[track_caller]
fn binary_up(flags: &str) {
    let desk = Desk::new(1);
    let mut user = Desktop::shell(&desk, &["-v", "--autodownload", "on"]);
    std::fs::create_dir(desk.path("from")).expect("a folder");
    for (name, bytes) in files() {
        std::fs::write(desk.path(&format!("from/{name}")), bytes).expect("a file");
    }
    user.type_and_see(format!("trz {flags}\r").as_bytes(), "Send: ");
    let names = ["random", "each", "empty", "one"].map(|name| desk.path(&format!("from/{name}")));
    let keys = format!("{}\r", names.join(" "));
    until_prompt(&mut user, &keys, &["agreed: trzsz: binary, MD5", "one: sent 1 B"]);
    for (name, bytes) in files() {
        same(&desk.path(&format!("there/{name}")), &bytes);
    }
    user.press(b"exit 0\r");
    assert_eq!(user.end().code(), Some(0), "{}", user.screen());
}

#[test]
fn files_of_tsz_come_in_the_binary_form() {
    if has_trzsz() {
        binary_down("-b");
        binary_down("-b -e -d");
    }
}

#[test]
fn files_go_to_trz_in_the_binary_form() {
    if has_trzsz() {
        binary_up("-b");
        binary_up("-b -e");
        binary_up("-b -d");
    }
}

/// Ctrl-C while bytes are on the way that `trz` counts: it ends, and the prompt is back.
#[test]
fn a_cancel_in_the_binary_form_ends_both_ends() {
    if !has_trzsz() {
        return;
    }
    let desk = Desk::new(60_000_000);
    let data = desk.path("data.bin");
    let mut user = Desktop::shell(&desk, &["--autodownload", "on"]);
    let some = |folder: String| {
        std::fs::read_dir(folder).is_ok_and(|mut all| {
            all.any(|entry| entry.is_ok_and(|file| file.metadata().is_ok_and(|is| is.len() > 9999)))
        })
    };
    user.type_and_see(b"trz -b\r", "Send: ");
    user.press(format!("{data}\r").as_bytes());
    user.until("some of it", |_| some(desk.path("there")));
    until_prompt(&mut user, "\x03", &["interrupted by signal 2"]);
    user.press(format!("tsz -b {data}\r").as_bytes());
    user.until("some of it", |_| some(desk.path("in")));
    until_prompt(&mut user, "\x03", &["interrupted by signal 2"]);
    user.type_and_see(b"echo still $((6 * 7))\r", "still 42");
}

/// The forms that Windows has: lines that end otherwise, and nothing binary. What the console drew stays the screen's.
#[test]
fn files_pass_as_with_a_host_of_windows() {
    if !has_trzsz() {
        return;
    }
    let desk = Desk::new(300_000);
    let mut user = Desktop::shell(&desk, &["-v", "--autodownload", "ask"]);
    let program = desk.path("windows.py");
    std::fs::write(&program, ON_WINDOWS).expect("a file");
    let tsz = peers::peer("tsz", "none; pip install trzsz").expect("it is there");
    let python = tsz.with_file_name("python3").display().to_string();
    let data = desk.path("data.bin");
    let command = format!("{python} {program} tsz -b {data}\r");
    user.type_and_see(command.as_bytes(), "The peer sends files by trzsz. Receive");
    let new = until_prompt(&mut user, "yes\r", &["received 300.0 kB", "1 of 1 received"]);
    assert!(new.contains("agreed: trzsz: base64 of zlib, MD5"), "{new}");
    assert!(new.contains("\x1b[?1049l"), "the screen of before is back: {new:?}");
    desk.arrived();
    user.type_and_see(format!("{python} {program} trz\r").as_bytes(), "Send: ");
    until_prompt(&mut user, &format!("{data}\r"), &["sent 300.0 kB", "Saved 1 file"]);
    same(&desk.path("there/data.bin"), &desk.bytes);
    // Refused in its own form, it ends at once.
    user.type_and_see(format!("{python} {program} trz\r").as_bytes(), "Send: ");
    until_prompt(&mut user, "\r", &["(cancelled)", "Cancelled"]);
    user.press(b"exit 0\r");
    assert_eq!(user.end().code(), Some(0), "{}", user.screen());
}

/// tmux at the other side, as it comes: `tsz` and `trz` in its window, of which the user sees what they say.
#[test]
fn ten_megabytes_pass_through_tmux_at_the_host() {
    let (Some(_), true) = (peers::peer("tmux", "tmux"), has_trzsz()) else { return };
    let desk = Desk::new(10_000_000);
    let there = desk.path("there");
    std::fs::create_dir(&there).expect("a folder");
    let tmux = Tmux::new(desk.path("tmux"));
    let into = desk.path("in");
    let line = ["tmux", "-S", &tmux.socket, "-f", "/dev/null", "new-session", "sh", "-i"];
    let args = [&["wrap", "--autodownload", "on", "-o", &into, "--"][..], &line].concat();
    let mut user = Desktop::start_with(&args, |command| {
        command.env("TERM", "xterm").env_remove("TMUX").env("PS1", "ready> ").current_dir(&there);
    });
    user.resize(30, 100);
    let shows = |user: &Desktop, what: &str, so: &dyn Fn(&str) -> bool| {
        let seen = || {
            let output = tmux.command(&["capture-pane", "-p"]).output();
            output.is_ok_and(|output| so(&String::from_utf8_lossy(&output.stdout)))
        };
        let came = within(Duration::from_secs(120), seen);
        assert_eq!(came, Within::Done, "expected {what}: {}\n{:?}", tmux.screen(), user.screen());
    };
    let is_idle = |screen: &str| screen.trim_end().ends_with("ready>");
    shows(&user, "the prompt", &is_idle);
    let data = desk.path("data.bin");
    tmux.types(&format!("tsz -b {data}"));
    shows(&user, "the file", &|screen| screen.contains("1 of 1 received") && is_idle(screen));
    desk.arrived();
    tmux.types("clear; trz");
    user.until("the question", |user| user.screen().contains("receives files by trzsz. Send: "));
    user.press(format!("{data}\r").as_bytes());
    let saved = |screen: &str| screen.contains("Saved 1 file/directory to") && is_idle(screen);
    shows(&user, "the file", &saved);
    same(&format!("{there}/data.bin"), &desk.bytes);
    tmux.types("echo still $((6 * 7))");
    shows(&user, "an answer", &|screen| screen.contains("still 42") && is_idle(screen));
    // What tmux draws is what the user sees.
    user.until("an answer", |user| user.screen().contains("still 42"));
    tmux.types("exit");
    assert_eq!(user.end().code(), Some(0));
}
