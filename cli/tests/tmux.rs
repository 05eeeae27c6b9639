//! tmux as it comes, without a configuration: at the user's side of the wrapper, and at the other.

use crate::common;
use crate::peers;

use std::time::Duration;

use common::desktop::Desktop;
use common::tmux::Tmux;
use common::{Desk, WST};
use wetstring_testkit::{Within, within};

/// Bytes of the file.
const LEN: usize = 10_000_000;

/// The prompt is the last line of the screen.
fn at_prompt(screen: &str) -> bool {
    screen.trim_end().ends_with("ready>")
}

/// The user sits in tmux; the wrapper runs there.
#[test]
fn ten_megabytes_pass_where_the_user_is_in_tmux() {
    let (Some(_), Some(_)) = (peers::peer("tmux", "tmux"), peers::lrzsz::lrzsz()) else { return };
    let desk = Desk::new(LEN);
    let there = desk.path("there");
    std::fs::create_dir(&there).expect("a folder");
    let tmux = Tmux::new(desk.path("tmux"));
    let wrapper =
        format!("cd {there} && exec {WST} wrap --autodownload on -o {} -- sh", desk.path("in"));
    tmux.run(&["new-session", "-d", "-x", "100", "-y", "30", "sh", "-c", &wrapper]);
    tmux.until("the prompt", at_prompt);
    tmux.types(&format!("sz {}", desk.path("data.bin")));
    tmux.until("the file", |screen| screen.contains("received 10.0 MB"));
    tmux.until("the prompt", at_prompt);
    desk.arrived();
    tmux.types("rz");
    tmux.until("the question", |screen| screen.contains("receives files by ZMODEM. Send:"));
    tmux.types(&desk.path("data.bin"));
    tmux.until("the file", |screen| screen.contains("sent 10.0 MB"));
    tmux.until("the prompt", at_prompt);
    assert!(std::fs::read(format!("{there}/data.bin")).expect("it came") == desk.bytes);
    tmux.types("echo still $((6 * 7))");
    tmux.until("an answer", |screen| screen.contains("still 42"));
}

/// tmux runs in the wrapper, as it does on a host behind ssh, and `wst` in its window.
#[test]
fn ten_megabytes_pass_where_tmux_is_at_the_other_side() {
    let Some(_) = peers::peer("tmux", "tmux") else { return };
    let desk = Desk::new(LEN);
    let there = desk.path("there");
    std::fs::create_dir(&there).expect("a folder");
    let tmux = Tmux::new(desk.path("tmux"));
    let into = desk.path("in");
    let args =
        ["wrap", "--autodownload", "on", "-o", &into, "--", "tmux", "-S", &tmux.socket, "-f"];
    let mut user = Desktop::start_with(
        &[&args[..], &["/dev/null", "new-session", "sh", "-i"]].concat(),
        |command| {
            command
                .env("TERM", "xterm")
                .env_remove("TMUX")
                .env("PS1", "ready> ")
                .current_dir(&there);
        },
    );
    user.resize(30, 100);
    tmux_is_up(&tmux, &user);
    let data = desk.path("data.bin");
    tmux.types(&format!("{WST} send -q {data} -; echo ended $?"));
    let down = || within(Duration::from_secs(120), || tmux.screen().contains("ended 0"));
    assert_eq!(down(), Within::Done, "{}\n{}", tmux.screen(), user.screen());
    desk.arrived();
    tmux.types("clear");
    tmux.types(&format!("{WST} receive -q - -o {there}; echo ended $?"));
    user.until("the question", |user| user.screen().contains("receives files by Kermit. Send: "));
    user.press(format!("{data}\r").as_bytes());
    assert_eq!(down(), Within::Done, "{}\n{}", tmux.screen(), user.screen());
    assert!(std::fs::read(format!("{there}/data.bin")).expect("it came") == desk.bytes);
    tmux.types("exit");
    assert_eq!(user.end().code(), Some(0));
}

#[track_caller]
fn tmux_is_up(tmux: &Tmux, user: &Desktop) {
    let up = || {
        let output = tmux.command(&["capture-pane", "-p"]).output();
        output.is_ok_and(|output| at_prompt(&String::from_utf8_lossy(&output.stdout)))
    };
    assert_eq!(
        within(Duration::from_secs(20), up),
        Within::Done,
        "tmux has a window: {}",
        user.screen()
    );
}

/// The line that counts while a peer is awaited is gone from the screen, whatever is shorter and comes after it.
#[test]
fn status_lines_leave_nothing_on_the_screen() {
    let Some(_) = peers::peer("tmux", "tmux") else { return };
    let desk = Desk::new(1000);
    let tmux = Tmux::new(desk.path("tmux"));
    let late = format!("exec:sleep 3; exec {WST} receive --quiet - -o {}", desk.path("in"));
    let send =
        format!("{WST} send {} '{late}' && echo all && exec sleep 60", desk.path("data.bin"));
    tmux.run(&["new-session", "-d", "-x", "70", "-y", "30", "sh", "-c", &send]);
    tmux.until("the wait", |screen| screen.contains("waiting for a Kermit receiver: 2 s"));
    tmux.until("the end", |screen| screen.lines().any(|line| line == "all"));
    let screen = tmux.screen();
    assert!(!screen.contains("receiver: "), "{screen}");
    let last = screen.lines().rev().find(|line| !line.is_empty() && *line != "all");
    assert!(last.is_some_and(|line| line.ends_with("verified")), "{screen}");
}
