//! What a user is asked before a transfer: by the command of an `exec-pty:` line, such as `ssh`, by a
//! server that wants a password, and what is said where no line is set.

use crate::common;

use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

use common::desktop::Desktop;
use common::{Desk, Running, WST, wst};
use rustix::termios::LocalModes;

/// Asks as `ssh` does: at its terminal, the password without echo; then it runs something.
const ASK: &str = r#"printf 'are you sure (yes/no)? ' >/dev/tty
read ANSWER </dev/tty
stty -echo </dev/tty
printf "anna@box's password: " >/dev/tty
read PASSWORD </dev/tty
stty echo </dev/tty
echo >/dev/tty
[ "$ANSWER" = yes ] && [ "$PASSWORD" = wonderland ] || { echo 'Permission denied.'; exit 1; }
cd "$1"
shift
exec "$@"
"#;

/// Sends or receives over a line whose command asks first; what was on the screen.
fn through(desk: &Desk, args: &[&str], command: &str) -> String {
    let script = desk.path("ask.sh");
    std::fs::write(&script, ASK).expect("the script");
    let there = desk.path("there");
    std::fs::create_dir_all(&there).expect("a directory");
    let line = format!("exec-pty:sh {script} {there} {command}");
    let args = [args, &[&line]].concat();
    let into = desk.path("in");
    let mut user = Desktop::start_with(&args, |command| {
        command.current_dir(into);
    });
    user.until("the question", |user| user.screen().contains("(yes/no)? "));
    // Long enough for words of the protocol, which would be an answer.
    std::thread::sleep(Duration::from_millis(1500));
    user.press(b"yes\n");
    user.until("the password", |user| user.screen().contains("password: "));
    std::thread::sleep(Duration::from_millis(1500));
    user.press(b"wonderland\n");
    let status = user.end();
    let screen = user.screen();
    assert!(status.success(), "{command}: {screen}");
    assert!(screen.contains("(yes/no)? yes"), "the answer is echoed: {screen}");
    assert!(!screen.contains("wonderland"), "the password is not: {screen}");
    // None of the protocol's packets is shown.
    assert!(!screen.contains(['\u{1}', '\u{18}']), "{screen:?}");
    screen
}

/// Nothing answers: a client says so soon, and what it waits for.
#[test]
fn a_client_says_that_it_waits_for_a_server() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let line = format!("tcp://{}", listener.local_addr().expect("its address"));
    let desk = Desk::new(10);
    let file = desk.path("data.bin");
    let shell = "At a shell's prompt use --shell";
    for (args, says) in [
        (vec!["put", &file, &line], shell),
        (vec!["get", "data.bin", &line], shell),
        (vec!["remote", &line, "space"], "is a server started there (wst serve,"),
    ] {
        let client = Running::start(wst(&args));
        let held = common::accept(&listener);
        client.says("nothing usable received for 5 s");
        if args[0] == "put" {
            client.says("still waiting for a Kermit server: 10 s");
        }
        client.signal(rustix::process::Signal::INT);
        let ran = client.end();
        ran.expect(130);
        assert!(ran.stderr.contains(says), "{args:?}: {}", ran.stderr);
        drop(held);
    }
}

#[test]
fn questions_of_a_command_are_answered_before_the_protocol_starts() {
    let ours = [
        ("kermit", format!("{WST} receive -"), format!("{WST} send ../data.bin -")),
        (
            "ymodem",
            format!("{WST} receive - -P ymodem"),
            format!("{WST} send ../data.bin - -P ymodem"),
        ),
        (
            "zmodem",
            format!("{WST} receive - -P zmodem"),
            format!("{WST} send ../data.bin - -P zmodem"),
        ),
    ];
    std::thread::scope(|scope| {
        for (protocol, receives, sends) in &ours {
            scope.spawn(move || {
                let desk = Desk::new(5000);
                let data = desk.path("data.bin");
                through(&desk, &["send", "-P", protocol, &data], receives);
                let there = std::fs::read(desk.path("there/data.bin")).expect("it arrived");
                assert!(there == desk.bytes, "{protocol}");
            });
            scope.spawn(move || {
                let desk = Desk::new(5000);
                through(&desk, &["receive", "-P", protocol], sends);
                desk.arrived();
            });
        }
    });
}

/// One that calls another host takes longer than any other command to its first question.
#[test]
fn nothing_of_a_protocol_answers_a_slow_ssh() {
    let desk = Desk::new(5000);
    let (data, bin) = (desk.path("data.bin"), desk.path("bin"));
    std::fs::create_dir(&bin).expect("a directory");
    std::fs::write(format!("{bin}/ssh"), format!("sleep 4\n{ASK}")).expect("the script");
    std::fs::create_dir_all(desk.path("there")).expect("a directory");
    let there = desk.path("there");
    let line = format!("exec-pty:sh {bin}/ssh {there} {WST} receive - -P zmodem");
    let mut user = Desktop::start(&["send", "-P", "zmodem", &data, &line]);
    user.until("the question", |user| user.screen().contains("(yes/no)? "));
    user.press(b"yes\n");
    user.until("the password", |user| user.screen().contains("password: "));
    user.press(b"wonderland\n");
    let status = user.end();
    assert!(status.success(), "{}", user.screen());
    assert!(!user.screen().contains("wonderland"), "{}", user.screen());
    assert!(std::fs::read(desk.path("there/data.bin")).expect("it arrived") == desk.bytes);
}

#[test]
fn a_wrong_password_ends_the_transfer_with_the_commands_message() {
    let desk = Desk::new(10);
    let script = desk.path("ask.sh");
    std::fs::write(&script, ASK).expect("the script");
    let line = format!("exec-pty:sh {script} . true");
    let mut user = Desktop::start(&["receive", &line]);
    user.until("the question", |user| user.screen().contains("(yes/no)? "));
    user.press(b"no\n");
    user.until("the password", |user| user.screen().contains("password: "));
    assert!(!user.modes().contains(LocalModes::ECHO));
    user.press(b"x\n");
    let status = user.end();
    assert_eq!(status.code(), Some(3), "{}", user.screen());
    assert!(user.screen().contains("Permission denied."), "{}", user.screen());
}

#[test]
fn a_server_password_is_prompted_for_at_a_terminal() {
    let desk = Desk::new(300);
    let users = desk.path("users");
    let mut add = wst(["users", "add", &users, "anna"]);
    let mut add = add.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    add.stdin.take().expect("its stdin").write_all(b"wonderland\n").expect("it reads");
    assert!(add.wait().expect("it ends").success());
    let root = desk.path("in");
    let server = Running::start(wst([
        "serve",
        "tcp-listen://127.0.0.1:0",
        "--root",
        &root,
        "--allow",
        "write",
        "--users",
        &users,
    ]));
    let at = server.says("listening on ");
    let (data, line) = (desk.path("data.bin"), format!("tcp://{at}"));
    let mut user = Desktop::start(&["put", "--user", "anna", &line, &data]);
    user.until("the question", |user| user.screen().contains("password for anna: "));
    user.until("no echo", |user| !user.modes().contains(LocalModes::ECHO));
    user.press(b"wonderland\n");
    let status = user.end();
    server.signal(rustix::process::Signal::INT);
    let closing = server.end();
    assert!(status.success(), "{}\n{}", user.screen(), closing.stderr);
    assert!(!user.screen().contains("wonderland"), "{}", user.screen());
    desk.arrived();
}

#[test]
fn without_a_line_a_hint_precedes_the_first_packet() {
    let desk = Desk::new(10);
    let data = desk.path("data.bin");
    let mut user = Desktop::start(&["kermit", "-C", &format!("send {data}")]);
    let say = "no line is set (SET LINE and SET HOST set one)";
    user.until(say, |user| user.screen().contains(say));
    user.until("a packet", |user| user.screen().contains('\u{1}'));
    let screen = user.screen();
    let (before, _) = screen.split_once('\u{1}').expect("a packet");
    assert!(before.contains("start receiving in your terminal program"), "{screen}");
    user.press(b"\x03\x03\x03");
    assert!(!user.end().success());
}
