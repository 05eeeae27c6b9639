//! `wst kermit` at a terminal: the prompt, CONNECT, and the settings of a serial line.

use crate::common;

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use common::desktop::Desktop;
use common::{Desk, Running, wst};
use rustix::process::Signal;
use rustix::termios::tcgetattr;
use wetstring_testkit::{Terminal, terminal};

/// A user at the prompt, whose history is in this folder.
fn at_prompt(state: &str) -> Desktop {
    let user = Desktop::start_with(&["kermit"], |command| {
        command.env("XDG_STATE_HOME", state).env("TERM", "xterm");
    });
    user.until("the prompt", |user| user.screen().contains("wst kermit> "));
    user
}

#[test]
fn the_prompt_completes_helps_and_remembers() {
    let desk = Desk::new(1);
    let state = desk.path("state");
    let mut user = at_prompt(&state);
    user.type_and_see(b"echo first\\45one\r", "first-one");
    // Tab: a word that can only become one, and what follows SET.
    user.type_and_see(b"statis\t", "statistics");
    user.type_and_see(b"\r", "no transfer yet");
    user.type_and_see(b"set stream\t", "set streaming ");
    user.type_and_see(b"on\r", "wst kermit> ");
    user.type_and_see(b"show streaming\r", "Streaming is offered on every connection");
    // `?`: what may follow, without a key for it on the line.
    user.type_and_see(b"remote ?", "directory");
    user.until("more of them", |user| user.screen().contains("rename"));
    user.press(b"\x15");
    user.type_and_see(b"echo who\\45is\\45it?\r", "who-is-it?");
    // A block goes over several lines, and Ctrl-C forgets one.
    user.type_and_see(b"if = 1 1 {\r", "  ... ");
    user.type_and_see(b"\x03", "wst kermit> ");
    user.type_and_see(b"for \\%i 1 2 1 {\r", "  ... ");
    user.type_and_see(b"echo n\\%i\r", "  ... ");
    user.type_and_see(b"}\r", "n2");
    // The line before, by the arrow.
    user.type_and_see(b"echo again\\45and\r", "again-and");
    user.type_and_see(b"\x1b[A\r", "again-and");
    user.type_and_see(b"nonesuch\r", "not a command or a macro: nonesuch");
    user.type_and_see(b"exit 5\r", "exit 5");
    assert_eq!(user.end().code(), Some(5));
    // The next one finds the history.
    let mut user = at_prompt(&state);
    user.type_and_see(b"\x1b[A\x1b[A\x1b[A\r", "again-and");
    user.press(b"\x04");
    assert!(user.end().code().is_some());
}

/// SIGINT is for the line or the command; a signal that ends the program does, as soon as a line or a command is over.
#[test]
fn of_the_signals_at_the_prompt_only_sigint_is_forgotten() {
    let desk = Desk::new(1);
    let mut user = at_prompt(&desk.path("state"));
    user.signal(Signal::INT);
    user.type_and_see(b"echo one\\45more", "more");
    user.type_and_see(b"\r", "one-more");
    user.signal(Signal::TERM);
    user.type_and_see(b"echo not\\45this", "this");
    user.press(b"\r");
    assert_eq!(user.end().code(), Some(130));
    assert!(!user.screen().contains("not-this"), "{}", user.screen());
    // While a command runs, too.
    let mut user = at_prompt(&desk.path("state"));
    user.type_and_see(b"if = 1 1 { echo it\\45waits, pause 60 }\r", "it-waits");
    user.signal(Signal::TERM);
    assert_eq!(user.end().code(), Some(130));
}

/// A file that comes unasked: the user is asked, and Ctrl-C is an answer, too.
#[test]
fn a_question_about_a_file_is_answered_at_the_terminal() {
    let desk = Desk::new(1);
    let (mine, theirs) = (desk.path("mine"), desk.path("theirs"));
    for folder in [&mine, &theirs] {
        std::fs::create_dir_all(folder).expect("a folder");
    }
    std::fs::write(format!("{theirs}/a.txt"), b"a").expect("a file");
    let script = desk.path("send.ksc");
    std::fs::write(&script, format!("cd {theirs}\nsend a.txt\n")).expect("a script");
    let mut user = at_prompt(&desk.path("state"));
    user.type_and_see(format!("cd {mine}\r").as_bytes(), "wst kermit> ");
    let here = format!("{mine}/a.txt");
    for (answer, comes) in [(&b"\x03"[..], false), (b"n\r", false), (b"y\r", true)] {
        let peer = format!("set host /network-type:pipe {} kermit {script}\r", common::WST);
        user.type_and_see(peer.as_bytes(), "wst kermit> ");
        user.type_and_see(b"receive\r", "Accept incoming file \"a.txt\"?");
        user.type_and_see(answer, "wst kermit> ");
        assert_eq!(std::path::Path::new(&here).exists(), comes, "{answer:?}: {}", user.screen());
        user.type_and_see(b"close\r", "wst kermit> ");
    }
    user.type_and_see(b"exit 0\r", "exit 0");
    assert_eq!(user.end().code(), Some(0));
}

#[test]
fn connect_is_a_terminal_and_comes_back() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its address").port();
    let host = std::thread::spawn(move || {
        let (mut host, _) = listener.accept().expect("somebody comes");
        host.write_all(b"login: ").expect("it hears");
        let mut heard = Vec::new();
        let mut buffer = [0; 64];
        while !heard.ends_with(b"bye\r") {
            let len = host.read(&mut buffer).expect("it speaks");
            assert!(len > 0, "closed after {heard:?}");
            heard.extend_from_slice(&buffer[..len]);
        }
        host.write_all(b"good bye\r\n").expect("it hears");
        heard
    });
    let desk = Desk::new(1);
    let log = desk.path("session.log");
    let mut user = at_prompt(&desk.path("state"));
    user.type_and_see(format!("log session {log}\r").as_bytes(), "wst kermit> ");
    let connect = format!("set host 127.0.0.1 {port} /raw /connect\r");
    user.type_and_see(connect.as_bytes(), "login: ");
    // Help, the escape character itself, and a word.
    user.type_and_see(b"\x1c?", "hang up");
    user.press(b"me\x1c\x1c\r");
    user.type_and_see(b"\x1cc", "(back at the commands)");
    user.type_and_see(b"echo is \\v(local)\r", "is 1");
    user.type_and_see(b"connect\r", "Connected to 127.0.0.1:");
    user.type_and_see(b"bye\r", "good bye");
    user.until("the end", |user| user.screen().contains("(the connection is closed)"));
    user.type_and_see(b"echo is \\v(local)\r", "is 0");
    user.type_and_see(b"exit\r", "exit");
    assert_eq!(user.end().code(), Some(0));
    assert_eq!(host.join().expect("the host"), b"me\x1c\rbye\r");
    let log = std::fs::read_to_string(log).expect("the log");
    assert!(log.contains("login: ") && log.contains("good bye"), "{log}");
}

#[test]
fn set_speed_acts_on_a_serial_line() {
    let Terminal { master, path: device } = terminal().expect("a terminal");
    let desk = Desk::new(1);
    let script = desk.path("speed.ksc");
    let text = format!(
        "set speed 9600\nset line {device}\nif fail exit 2\noutput one\nset input echo off\n\
         input 20 go\nif fail exit 3\nset speed 19200\nif fail exit 4\noutput two\ninput 20 go\n\
         if fail exit 5\nif not = \\v(speed) 19200 exit 6\nset speed 0\nif success exit 7\nexit 0\n"
    );
    std::fs::write(&script, text).expect("a script");
    let running = Running::start(wst(["kermit", &script]));
    let mut terminal = std::fs::File::from(master);
    let mut buffer = [0; 16];
    let mut speeds = Vec::new();
    for word in [&b"one"[..], b"two"] {
        let until = Instant::now() + Duration::from_secs(20);
        let mut heard = Vec::new();
        while heard != word {
            assert!(Instant::now() < until, "{heard:?}");
            // Between two openings the line has no peer.
            match terminal.read(&mut buffer) {
                Ok(len) => heard.extend_from_slice(&buffer[..len]),
                Err(_) => std::thread::sleep(Duration::from_millis(10)),
            }
        }
        speeds.push(tcgetattr(&terminal).expect("its settings").output_speed());
        terminal.write_all(b"go").expect("it hears");
    }
    let ran = running.end();
    assert_eq!((ran.code(), speeds), (0, vec![9600, 19200]), "{}", ran.stderr);
}
