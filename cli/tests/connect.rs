//! `wst connect`: a user at a terminal on a line, and scripts with pipes.

use crate::common;

use std::fs::File;
use std::io::{Read, Write};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use common::desktop::Desktop;
use common::{Desk, Ran, Running, run, wst};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, tcgetattr};
use wetstring_testkit::{Within, terminal, within};

/// A device at the other side of a port: what it heard, and what it says.
struct Device {
    path: String,
    master: File,
    heard: Arc<Mutex<Vec<u8>>>,
    /// The cable is out.
    unplugged: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
    /// While no program has the port open.
    _held: File,
}

impl Device {
    fn new() -> Self {
        let both = terminal().expect("a terminal");
        let held = both.open().expect("its other side");
        let master = File::from(both.master);
        let heard = Arc::new(Mutex::new(Vec::new()));
        let (mut source, told) = (master.try_clone().expect("a copy"), heard.clone());
        let unplugged = Arc::new(AtomicBool::new(false));
        let over = unplugged.clone();
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while !over.load(Ordering::SeqCst) {
                let mut fds = [PollFd::new(&source, PollFlags::IN)];
                let soon = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };
                if poll(&mut fds, Some(&soon)).unwrap_or(0) > 0
                    && let Ok(len) = source.read(&mut buffer)
                {
                    told.lock().expect("it").extend_from_slice(&buffer[..len]);
                }
            }
        });
        Self { path: both.path, master, heard, unplugged, reader: Some(reader), _held: held }
    }

    fn says(&mut self, bytes: &[u8]) {
        self.master.write_all(bytes).expect("it is written");
    }

    #[track_caller]
    fn hears(&self, bytes: &[u8]) {
        let so = || self.heard.lock().expect("it").windows(bytes.len()).any(|at| at == bytes);
        let came = within(Duration::from_secs(20), so);
        let heard = self.heard.lock().expect("it");
        assert_eq!(
            came,
            Within::Done,
            "expected {:?}, got {:?}",
            bytes.escape_ascii().to_string(),
            heard.escape_ascii().to_string()
        );
    }

    /// What was heard, from now on nothing.
    fn forget(&self) -> Vec<u8> {
        std::mem::take(&mut self.heard.lock().expect("it"))
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        self.unplugged.store(true, Ordering::SeqCst);
        let _ = self.reader.take().map(JoinHandle::join);
    }
}

/// A user connected to a device.
fn connected(more: &[&str]) -> (Desktop, Device) {
    let device = Device::new();
    let user = Desktop::start(&[&["connect", &device.path], more].concat());
    user.until("the terminal", |user| user.screen().contains("connected to"));
    assert!(!user.modes().contains(LocalModes::ISIG), "a key pressed now would not be ours");
    (user, device)
}

#[test]
fn bytes_pass_and_keys_behind_the_escape_key_do_not() {
    let (mut user, mut device) = connected(&[]);
    assert!(user.screen().contains("Ctrl-T q quits, Ctrl-T ? lists the keys"), "{}", user.screen());
    // Everything that a keyboard sends, except the escape key; twice it is one.
    let all: Vec<u8> = (0..=255).filter(|code| *code != 20).collect();
    user.press(&all);
    device.hears(&all);
    device.forget();
    user.press(b"a\x14\x14b");
    device.hears(b"a\x14b");
    device.says(b"\x1b[1mboot\x1b[0m\r\n=> ");
    user.until("the prompt", |user| user.screen().contains("\x1b[1mboot\x1b[0m\r\n=> "));
    device.forget();
    user.type_and_see(b"\x14?", "send files");
    user.until("all of the list", |user| user.screen().contains("Ctrl-T itself"));
    user.type_and_see(b"\x14i", "38400 bit/s, 8N1");
    user.until("the wires", |user| user.screen().contains("no modem wires here"));
    user.type_and_see(b"\x14=9600\r", "9600 bit/s, 8N1");
    user.type_and_see(b"\x14+", "19200 bit/s");
    user.type_and_see(b"\x14-", "9600 bit/s");
    let speed = tcgetattr(&device.master).expect("its settings").output_speed();
    assert_eq!(speed, 9600);
    user.type_and_see(b"\x14d", "could not change DTR");
    user.type_and_see(b"\x14b", "break");
    user.type_and_see(b"\x14v", "received");
    assert_eq!(device.forget(), b"", "nothing of this was for the device");
    user.press(b"\x14q");
    assert_eq!(user.end().code(), Some(0));
}

#[test]
fn the_view_can_be_changed() {
    let (mut user, mut device) = connected(&["-e", "--map", "ilfcrlf,ocrcrlf"]);
    user.type_and_see(b"ls\r", "ls\r");
    device.hears(b"ls\r\n");
    device.says(b"one\ntwo\n");
    user.until("both lines", |user| user.screen().contains("one\r\ntwo\r\n"));
    user.type_and_see(b"\x14m\x15none\r", "line ends: none");
    user.type_and_see(b"\x14e", "local echo off");
    user.type_and_see(b"\x14h", "hexadecimal on");
    device.says(b"Hi\x00\r\n");
    user.until("the codes", |user| user.screen().contains("48 69 00 0d 0a \r\n"));
    user.type_and_see(b"\x14h", "hexadecimal off");
    user.type_and_see(b"\x14t", "timestamps absolute");
    user.type_and_see(b"\x14t", "timestamps relative");
    device.says(b"three\r\n");
    user.until("a time", |user| user.screen().contains("] three\r\n"));
    user.press(b"\x14q");
    assert_eq!(user.end().code(), Some(0));
}

/// Output while a question is on the screen shows after it, whole.
#[test]
fn output_waits_while_a_question_is_answered() {
    let desk = Desk::new(1);
    let log = desk.path("session.log");
    let (mut user, mut device) = connected(&[]);
    user.type_and_see(b"\x14l", "Log to file: ");
    device.says(b"meanwhile\r\n");
    user.type_and_see(log.as_bytes(), "session.log");
    assert!(!user.screen().contains("meanwhile"), "{}", user.screen());
    user.type_and_see(b"\r", "meanwhile\r\n");
    device.says(b"\x1b[31mred\x1b[0m\r\n");
    user.until("it", |user| user.screen().contains("red"));
    user.type_and_see(b"\x14l", "closed)");
    user.type_and_see(b"\x14l\x03", "cancelled");
    user.press(b"\x14q");
    assert_eq!(user.end().code(), Some(0));
    assert_eq!(std::fs::read_to_string(log).expect("the log"), "meanwhile\nred\n");
}

#[test]
fn other_keys_are_those_of_other_programs() {
    for (layout, quit) in [("picocom", &b"\x01\x18"[..]), ("minicom", b"\x01X"), ("tio", b"\x14q")]
    {
        let (mut user, device) = connected(&["--keys", layout]);
        device.forget();
        user.press(quit);
        assert_eq!(user.end().code(), Some(0), "{layout}");
        assert_eq!(device.forget(), b"", "{layout}");
    }
    let (mut user, device) = connected(&["--escape", "^]"]);
    user.press(b"\x14q\x1d\x1dx");
    device.hears(b"\x14q\x1dx");
    user.press(b"\x1dq");
    assert_eq!(user.end().code(), Some(0));
}

/// A sender of ours in the session, and a receiver at the device's side.
#[test]
fn files_are_sent_and_received_without_leaving() {
    let desk = Desk::new(20_000);
    let (a, b) = (desk.path("a"), desk.path("b"));
    let (end_a, end_b) = (format!("pty:{a}"), format!("pty:{b}"));
    let line = Running::start(wst(["line", "1000000", "-a", &end_a, "-b", &end_b]));
    line.says("line 1000000");
    let mut user = Desktop::start(&["connect", &a, "-o", &desk.path("in")]);
    user.until("the terminal", |user| user.screen().contains("connected to"));
    let there = desk.path("there");
    std::fs::create_dir(&there).expect("a folder");
    for by in ["kermit", "zmodem", "ymodem"] {
        let peer = Running::start(wst(["receive", "-P", by, "-o", &there, &format!("serial:{b}")]));
        // Tab completes the name.
        let start = desk.path("data.b");
        user.type_and_see(format!("\x14s{start}\t").as_bytes(), "in");
        user.type_and_see(b"\r", "By protocol");
        user.type_and_see(format!("{by}\r").as_bytes(), "data.bin: sent 20.0 kB");
        peer.end().expect(0);
        let got = std::fs::read(format!("{there}/data.bin")).expect("it came");
        assert!(got == desk.bytes, "{by}");
        std::fs::remove_file(format!("{there}/data.bin")).expect("it goes");
        // Asked before the peer begins, which would be a question of its own.
        user.type_and_see(b"\x14r", "Receive by protocol");
        let peer =
            Running::start(wst(["send", "-P", by, &desk.path("data.bin"), &format!("serial:{b}")]));
        user.type_and_see(format!("{by}\r").as_bytes(), "data.bin: received 20.0 kB");
        peer.end().expect(0);
        desk.arrived();
        std::fs::remove_file(desk.path("in/data.bin")).expect("it goes");
        user.until("raw keys", |user| !user.modes().contains(LocalModes::ISIG));
    }
    user.press(b"\x14q");
    assert_eq!(user.end().code(), Some(0));
    line.signal(rustix::process::Signal::INT);
    line.end();
}

#[test]
fn a_script_runs_on_the_line() {
    let desk = Desk::new(1);
    let script = desk.path("hello.ksc");
    std::fs::write(&script, "output ver\\13\ninput 20 U-Boot\nif fail exit 4\n").expect("a script");
    let (mut user, mut device) = connected(&[]);
    user.press(format!("\x14x{script}\r").as_bytes());
    device.hears(b"ver\r");
    device.says(b"U-Boot 2026.10\r\n");
    user.until("its end", |user| user.screen().contains("hello.ksc: done"));
    user.until("raw keys", |user| !user.modes().contains(LocalModes::ISIG));
    device.says(b"=> ");
    user.until("the rest", |user| user.screen().contains("=> "));
    user.press(b"\x14q");
    assert_eq!(user.end().code(), Some(0));
}

/// A port that is plugged in later, goes, and comes again as another device.
#[test]
fn a_port_may_be_plugged_out_and_in() {
    let desk = Desk::new(1);
    let link = desk.path("port");
    let plug = |device: &Device| std::os::unix::fs::symlink(&device.path, &link).expect("a link");
    let mut user = Desktop::start(&["connect", &format!("serial:{link}?baud=9600")]);
    user.until("the wait", |user| user.screen().contains(&format!("(waiting for {link})")));
    for round in 0..3 {
        let mut device = Device::new();
        plug(&device);
        let times = round + 1;
        user.until("it", |user| user.screen().matches("(connected to").count() == times);
        device.says(b"here I am\r\n");
        user.until("its word", |user| user.screen().matches("here I am").count() == times);
        user.press(b"hello");
        device.hears(b"hello");
        if round == 2 {
            user.type_and_see(b"\x14v", "connected again 2 times");
            break;
        }
        std::fs::remove_file(&link).expect("it goes");
        drop(device);
        user.until("it is gone", |user| user.screen().matches("is gone; waiting").count() == times);
        if round == 0 {
            // Only what has come again counts.
            user.type_and_see(b"\x14v", " sent in ");
            assert!(!user.screen().contains("connected again"), "{}", user.screen());
        }
    }
    user.press(b"\x14q");
    assert_eq!(user.end().code(), Some(0));
    // A script wants to know at once.
    std::fs::remove_file(&link).expect("it goes");
    let ran = run(wst(["connect", "--no-wait", &format!("serial:{link}")]));
    ran.expect(3);
    assert!(ran.stderr.contains("could not open"), "{}", ran.stderr);
}

/// The cable is pulled in a transfer and while a question is on the screen: the session stays.
#[test]
fn a_pulled_cable_does_not_end_the_session() {
    let desk = Desk::new(50_000);
    let link = desk.path("port");
    let plug = |device: &Device| std::os::unix::fs::symlink(&device.path, &link).expect("a link");
    let mut device = Device::new();
    plug(&device);
    let mut user = Desktop::start(&["connect", &format!("serial:{link}")]);
    user.until("the terminal", |user| user.screen().contains("connected to"));
    let data = desk.path("data.bin");
    user.type_and_see(format!("\x14s{data}\r").as_bytes(), "By protocol");
    user.press(b"kermit\r");
    // The first packet of the sender.
    device.hears(b" S~");
    std::fs::remove_file(&link).expect("it goes");
    drop(device);
    user.until("the wait", |user| user.screen().contains("; the transfer continues if"));
    device = Device::new();
    plug(&device);
    user.until("the next", |user| user.screen().contains(" again)"));
    // The transfer continues; this device knows nothing of it.
    device.hears(b" S~");
    user.press(b"\x03");
    user.until("raw keys", |user| !user.modes().contains(LocalModes::ISIG));
    user.type_and_see(b"\x14l", "Log to file: ");
    std::fs::remove_file(&link).expect("it goes");
    drop(device);
    user.until("it", |user| user.screen().contains("is gone; waiting"));
    user.press(b"\x03");
    device = Device::new();
    plug(&device);
    user.until("the next", |user| user.screen().matches("(connected to").count() == 2);
    user.press(b"hello");
    device.hears(b"hello");
    user.press(b"\x14q");
    assert_eq!(user.end().code(), Some(0));
}

/// The program with its stdin from a pipe that has these bytes.
fn piped(args: &[&str], input: &'static [u8]) -> Running {
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    writer.write_all(input).expect("it fits");
    let mut command = wst(args);
    command.stdin(Stdio::from(reader));
    Running::start(command)
}

#[test]
fn pipes_and_patterns_make_it_usable_in_scripts() {
    let mut device = Device::new();
    let path = device.path.clone();
    let running = piped(&["connect", "--map", "olfcr", "--until", "^=> $", &path], b"printenv\n");
    device.hears(b"printenv\r");
    device.says(b"baudrate=115200\r\n=> ");
    let ran = running.end();
    ran.expect(0);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("baudrate=115200\r\n=> ", ""));
    // The escape key is none here.
    let running = piped(&["connect", "--idle", "300ms", &path], b"\x14q");
    device.hears(b"\x14q");
    running.end().expect(0);
    let ran = piped(&["connect", "--until", "login:", "--idle", "300ms", &path], b"").end();
    ran.expect(7);
    assert!(ran.stderr.contains("login: was not received"), "{}", ran.stderr);
    // Without either it ends a second after its input.
    let began = Instant::now();
    piped(&["connect", &path], b"x").end().expect(0);
    assert!(began.elapsed() >= Duration::from_secs(1));
    // A connection that is closed.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let to = format!("tcp://{}", listener.local_addr().expect("its address"));
    let host =
        std::thread::spawn(move || listener.accept().expect("it calls").0.write_all(b"bye\r\n"));
    let ran: Ran = run(wst(["connect", &to, "--until", "never"]));
    host.join().expect("the host").expect("it writes");
    ran.expect(3);
    assert_eq!(ran.stdout, "bye\r\n");
}

#[test]
fn a_log_is_what_the_line_sent() {
    let desk = Desk::new(1);
    for (format, wanted) in [
        ("plain", "red\nend\n"),
        ("raw", "\x1b[31mred\x1b[0m\r\nend\r\n"),
        ("timestamped", "] red\n"),
        ("asciicast", "\"version\":2"),
    ] {
        let mut device = Device::new();
        let log = desk.path(format);
        let args = [
            "connect",
            "-v",
            &device.path.clone(),
            "--until",
            "end\\r\\n",
            "--log",
            &log,
            "--log-format",
            format,
        ];
        let running = Running::start(wst(args));
        running.says("line: ");
        device.says(b"\x1b[31mred\x1b[0m\r\nend\r\n");
        running.end().expect(0);
        let text = std::fs::read_to_string(&log).expect("the log");
        let fits = if format == "plain" || format == "raw" {
            text == wanted
        } else {
            text.contains(wanted)
        };
        assert!(fits, "{format}: {text:?}");
    }
}

/// A flood of output does not make the keys late.
#[test]
fn a_key_is_heard_while_the_line_floods() {
    let (mut user, device) = connected(&[]);
    let mut writer = device.master.try_clone().expect("a copy");
    let flood = std::thread::spawn(move || {
        let line = [b'x'; 4096];
        while writer.write_all(&line).is_ok() {}
    });
    user.until("the flood", |user| user.screen().len() > 1_000_000);
    // How soon is measured in quit.rs.
    user.press(b"\x14q");
    assert_eq!(user.end().code(), Some(0));
    drop(device);
    let _ = flood;
}

/// A user, a log watcher and a script at one port.
#[test]
fn a_session_is_shared() {
    let (mut user, mut device) = connected(&["--share", "127.0.0.1:0"]);
    let screen = user.screen();
    let at = screen.split("shared at ").nth(1).and_then(|rest| rest.split_whitespace().next());
    let line = format!("tcp://{}", at.expect("an address"));
    let watcher = Running::start(wst(["connect", "--until", "booted", &line]));
    user.until("the watcher", |user| user.screen().contains("(client 1 has come)"));
    let script = piped(&["connect", "--map", "olfcr", "--until", "booted", &line], b"boot\n");
    device.hears(b"boot\r");
    user.until("the script", |user| user.screen().contains("(client 2 has come)"));
    device.says(b"kernel booted\r\n");
    for ran in [watcher.end(), script.end()] {
        ran.expect(0);
        assert_eq!(ran.stdout, "kernel booted\r\n");
    }
    user.until("both are gone", |user| user.screen().matches("has gone)").count() == 2);
    user.press(b"\x14q");
    assert_eq!(user.end().code(), Some(0));
}

/// The escape key acts while a question is on the screen, too: it cancels that, and is no part of the answer.
#[test]
fn the_escape_key_leaves_a_question() {
    let device = Device::new();
    let mut user = Desktop::start(&["connect", &device.path]);
    user.until("the terminal", |user| user.screen().contains("connected to"));
    user.press(b"\x14s");
    user.until("the question", |user| user.screen().contains("Send files:"));
    user.press(b"not");
    user.until("an answer", |user| user.screen().contains("Send files: not"));
    user.press(b"\x14q");
    assert_eq!(user.end().code(), Some(0));
    assert!(user.screen().contains("(cancelled)"), "{}", user.screen());
}
