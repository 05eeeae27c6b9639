//! `wst ssh` with the real ssh, to a server of its own on this machine.

use crate::common;
use crate::peers;

use std::path::PathBuf;

use common::Desk;
use common::desktop::Desktop;
use peers::sshd::{Server, sshd};

fn start(desk: &Desk, sshd: PathBuf, phrase: &str) -> Server {
    Server::start(desk.dir.path(), sshd, phrase, "")
}

/// A host that ssh does not know, its question, a shell there, and files both ways by lrzsz.
#[test]
fn a_session_by_ssh_sends_and_receives() {
    let (Some(sshd), Some(_)) = (sshd(), peers::lrzsz::lrzsz()) else { return };
    let desk = Desk::new(300_000);
    let server = start(&desk, sshd, "");
    let port = server.port.to_string();
    let known = format!("UserKnownHostsFile={}", desk.path("known"));
    let own = desk.path("own");
    let args = [
        "ssh",
        "-F",
        "none",
        "-p",
        &port,
        "-i",
        &own,
        "-o",
        &known,
        "-t",
        "127.0.0.1",
        "env PS1='ready> ' ENV= sh -i",
    ];
    let into = desk.path("in");
    let mut user = Desktop::start_with(&args, |command| {
        command.current_dir(&into);
    });
    user.until("the question of ssh", |user| user.screen().contains("(yes/no/[fingerprint])?"));
    user.press(b"yes\r");
    let at_prompt =
        |user: &Desktop| ["ready> ", "# ", "$ "].iter().any(|end| user.screen().ends_with(end));
    user.until("a shell", at_prompt);
    let there = desk.path("there");
    std::fs::create_dir(&there).expect("a folder");
    user.press(format!("cd {there}; sz {}\r", desk.path("data.bin")).as_bytes());
    user.until("the question", |user| user.screen().contains("The peer sends files by ZMODEM"));
    user.press(b"y\r");
    user.until("the file", |user| user.screen().contains("received 300.0 kB"));
    user.until("the prompt", at_prompt);
    desk.arrived();
    user.press(b"rz\r");
    user.until("the question", |user| user.screen().contains("receives files by ZMODEM. Send: "));
    user.press(format!("{}\r", desk.path("data.bin")).as_bytes());
    user.until("the file", |user| user.screen().contains("sent 300.0 kB"));
    user.until("the prompt", at_prompt);
    assert!(std::fs::read(format!("{there}/data.bin")).expect("it came") == desk.bytes);
    // trzsz likewise; what sshd starts does not find it by itself.
    if let Some(tsz) = peers::peer("tsz", "none; pip install trzsz") {
        std::fs::remove_file(desk.path("in/data.bin")).expect("it goes");
        user.press(format!("{} {}\r", tsz.display(), desk.path("data.bin")).as_bytes());
        user.until("the file", |user| user.screen().matches("received 300.0 kB").count() == 2);
        user.until("the prompt", at_prompt);
        desk.arrived();
    }
    user.press(b"exit 9\r");
    assert_eq!(user.end().code(), Some(9), "{}", user.screen());
}

/// What ssh asks before a transfer over `exec-pty:` reaches the user, and the answers reach ssh: an unknown host, and
/// a pass phrase, which does not show. Nothing that ssh says is missing.
#[test]
fn questions_of_ssh_are_answered_before_a_transfer() {
    let (Some(sshd), Some(_)) = (sshd(), peers::lrzsz::lrzsz()) else { return };
    let desk = Desk::new(100_000);
    let server = start(&desk, sshd, "wonderland");
    let (port, own, there) = (server.port, desk.path("own"), desk.path("there"));
    std::fs::create_dir(&there).expect("a folder");
    let data = desk.path("data.bin");
    for (verb, command) in [
        (&["send", "-P", "zmodem", &data][..], format!("cd {there}; rz -q")),
        (&["receive", "-P", "zmodem"], format!("sz -q {data}")),
    ] {
        let known = desk.path("known");
        let _ = std::fs::remove_file(&known);
        let line = format!(
            "exec-pty:ssh -F none -p {port} -i {own} -o UserKnownHostsFile={known} 127.0.0.1 '{command}'"
        );
        let into = desk.path("in");
        let args = [verb, &[&line]].concat();
        let mut user = Desktop::start_with(&args, |command| {
            command.current_dir(&into);
        });
        user.until("the question of ssh", |user| user.screen().contains("(yes/no/[fingerprint])?"));
        let screen = user.screen();
        assert!(screen.contains("The authenticity of host"), "its first words: {screen}");
        user.press(b"yes\r");
        user.until("the pass phrase", |user| user.screen().contains("Enter passphrase for key"));
        user.press(b"wonderland\r");
        let status = user.end();
        let screen = user.screen();
        assert!(status.success(), "{verb:?}: {screen}");
        assert!(!screen.contains("wonderland"), "{verb:?}: {screen}");
    }
    desk.arrived();
    assert!(std::fs::read(format!("{there}/data.bin")).expect("it came") == desk.bytes);
}

/// A file through a shell that ssh gives: once the host is known nothing is asked, and what the program and the shell
/// say to each other does not show.
#[test]
fn a_file_through_a_shell_of_ssh_takes_no_question() {
    let Some(sshd) = sshd() else { return };
    let desk = Desk::new(10_000);
    let server = start(&desk, sshd, "");
    let (port, own, known) = (server.port, desk.path("own"), desk.path("known"));
    let line = format!(
        "exec-pty:ssh -F none -p {port} -i {own} -o UserKnownHostsFile={known} -t 127.0.0.1 \
         'cd {}; env PS1=\"box$ \" ENV= sh -i'",
        desk.path("in")
    );
    let mut user = Desktop::start(&["put", "--shell", &desk.path("data.bin"), &line]);
    user.until("the question of ssh", |user| user.screen().contains("(yes/no/[fingerprint])?"));
    user.press(b"yes\r");
    let answered = std::time::Instant::now();
    let status = user.end();
    let screen = user.screen();
    assert!(status.success() && screen.contains("sent 10.0 kB"), "{screen}");
    assert!(!screen.contains("while IFS") && !screen.contains("bye"), "{screen}");
    // Alone it takes two seconds; waiting for a question took twenty.
    assert!(answered.elapsed() < std::time::Duration::from_secs(15), "{:?}", answered.elapsed());
    desk.arrived();
}
