//! What the review of text and of files called `.part` found, from one program to the other.

use crate::common;

use common::{Desk, Ran, Running, WST, names, run, wst};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// `sz` and `rz`, or their like, with pipes between them.
fn piped(desk: &Desk, send: &[&str], receive: &[&str]) -> (Ran, Ran) {
    let (from_sender, to_receiver) = std::io::pipe().expect("a pipe");
    let (from_receiver, to_sender) = std::io::pipe().expect("a pipe");
    let program = |words: &[&str], directory: &str, input: Stdio, output: Stdio| {
        let mut command = Command::new(WST);
        common::tame(&mut command);
        command.arg0(words[0]).args(&words[1..]).current_dir(desk.path(directory));
        command.env_remove("ZMODEM_RESTRICTED").env("SHELL", "/bin/sh");
        command.stdin(input).stdout(output);
        Running::start_as_is(command)
    };
    let sender = program(send, "", from_receiver.into(), to_receiver.into());
    let receiver = program(receive, "in", from_sender.into(), to_sender.into());
    (sender.end(), receiver.end())
}

fn read(desk: &Desk, name: &str) -> String {
    String::from_utf8_lossy(&std::fs::read(desk.path(name)).expect("the file")).into_owned()
}

/// \[Z88\]: the receiver's word beats the sender's, but ZCBIN beats a receiver that takes all for text.
#[test]
fn who_decides_what_is_text() {
    let (dos, unix, bytes) = ("a\r\nb\r\n", "a\nb\n", "a\r\nb\x1ac\r\n");
    for (send, receive, content, stored) in [
        ("-b", "-a", bytes, bytes),
        ("-b", "-b", bytes, bytes),
        ("-a", "-b", dos, dos),
        ("-a", "-a", dos, unix),
        ("-a", "-e", dos, unix),
        ("-e", "-a", bytes, "a\nb"),
        ("-e", "-b", bytes, bytes),
        ("-e", "-e", bytes, bytes),
    ] {
        let desk = Desk::new(0);
        std::fs::write(desk.path("f"), content).expect("the file");
        let (sent, received) = piped(&desk, &["sz", send, "f"], &["rz", receive]);
        let label = format!("sz {send} | rz {receive}: {}{}", sent.stderr, received.stderr);
        assert_eq!((sent.code(), received.code()), (0, 0), "{label}");
        assert_eq!(read(&desk, "in/f"), stored, "{label}");
    }
}

/// Text may continue across any end of a buffer.
#[test]
fn text_is_not_cut_off_where_a_buffer_is_full() {
    for protocol in ["xmodem-1k", "ymodem", "zmodem"] {
        let desk = Desk::new(0);
        let feeds = "\n".repeat(5000);
        std::fs::write(desk.path("f"), format!("x{feeds}")).expect("the file");
        let into = desk.path("in");
        let mut receiver = vec!["receive", "tcp-listen://127.0.0.1:0", "-P", protocol, "-o", &into];
        receiver.extend(protocol.starts_with('x').then_some(["--as", "f"]).into_iter().flatten());
        let receiver = Running::start(wst(&receiver));
        let line = format!("tcp://{}", receiver.says("listening on "));
        let file = desk.path("f");
        let mut sender = vec!["send", &file, &line, "-P", protocol, "--text"];
        sender.extend(["--set", "xymodem.buffer=1024"]);
        run(wst(&sender)).expect(0);
        receiver.end().expect(0);
        let got = read(&desk, "in/f");
        let text = if protocol == "zmodem" {
            format!("x{feeds}")
        } else {
            format!("x{}", "\r\n".repeat(5000))
        };
        assert_eq!(got.trim_end_matches('\x1a').len(), text.len(), "{protocol}");
        assert_eq!(got.trim_end_matches('\x1a'), text, "{protocol}");
    }
}

/// A sender removes nothing by sending files whose names with `.part` behind are those of others:
/// neither a user's nor what it has just sent.
#[test]
fn no_sender_removes_a_part_that_is_not_ours() {
    let ways: [(&[&str], &[&str]); 4] = [
        (&["sz", "a.part", "a", "b"], &["rz"]),
        (&["sz", "-y", "a.part", "a", "b"], &["rz", "-y"]),
        (&["sb", "a.part", "a", "b"], &["rb"]),
        (&["wst", "send", "a.part", "a", "b", "-"], &["wst", "receive", "-"]),
    ];
    for (send, receive) in ways {
        let desk = Desk::new(0);
        for name in ["a.part", "a", "b"] {
            std::fs::write(desk.path(name), name).expect("the file");
        }
        std::fs::write(desk.path("in/b.part"), "precious").expect("the file");
        let (sent, received) = piped(&desk, send, receive);
        let label = format!("{send:?}: {}{}", sent.stderr, received.stderr);
        assert_eq!((sent.code(), received.code()), (0, 0), "{label}");
        assert_eq!(names(&desk.dir.path().join("in")), ["a", "a.part", "b", "b.part"], "{label}");
        for name in ["a", "a.part", "b"] {
            assert_eq!(read(&desk, &format!("in/{name}")), name, "{label}");
        }
        assert_eq!(read(&desk, "in/b.part"), "precious", "{label}");
    }
}

/// A receiver that is killed leaves a part that is gone on with (Kermit, ZMODEM) or replaced
/// (YMODEM), beside a user's file of the name that it would have had.
#[test]
fn a_killed_receiver_resumes_beside_a_users_part() {
    for (protocol, user) in [
        ("kermit", true),
        ("zmodem", true),
        ("ymodem", true),
        ("kermit", false),
        ("zmodem", false),
        ("ymodem", false),
    ] {
        let desk = Desk::new(3_000_000);
        let ours = desk.path(if user { "in/data.bin.part.~1~" } else { "in/data.bin.part" });
        if user {
            std::fs::write(desk.path("in/data.bin.part"), "precious").expect("the file");
        }
        let there = killed_in_the_middle(&desk, protocol, &ours);
        let ended = sent_again(&desk, protocol);
        desk.arrived();
        let gone_on = ended.stderr.contains("resuming at");
        assert_eq!(gone_on, protocol != "ymodem", "{protocol} from {there}: {}", ended.stderr);
        let left: &[&str] = if user { &["data.bin", "data.bin.part"] } else { &["data.bin"] };
        assert_eq!(desk.names(), left, "{protocol}");
        assert!(!user || read(&desk, "in/data.bin.part") == "precious", "{protocol}");
    }
}

/// Sends the desk's file slowly until some of it is in `part`, and kills both ends. Returns how much is there.
fn killed_in_the_middle(desk: &Desk, protocol: &str, part: &str) -> u64 {
    let receiver = Running::start(receives(desk, protocol));
    let at = receiver.says("listening on ");
    // Half of it, slowly: through a process that is stopped in the middle.
    let stopper = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let near = format!("tcp://{}", stopper.local_addr().expect("its address"));
    let far = std::net::TcpStream::connect(at).expect("it listens");
    let sender = Running::start(sends(desk, protocol, &near));
    let near = common::accept(&stopper);
    let copies = (far.try_clone().expect("a copy"), near.try_clone().expect("a copy"));
    let back = std::thread::spawn(move || carry(copies.0, copies.1, u64::MAX));
    carry(near, far, 1_500_000);
    let begun = std::time::Instant::now();
    while std::fs::metadata(part).map_or(0, |found| found.len()) < 300_000 {
        assert!(begun.elapsed().as_secs() < 20, "{protocol}: nothing was written");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    receiver.signal(rustix::process::Signal::KILL);
    sender.signal(rustix::process::Signal::KILL);
    receiver.end();
    sender.end();
    back.join().expect("the line ends");
    std::fs::metadata(part).expect("the part").len()
}

/// Sends it again, to its end, and returns what the receiver said.
fn sent_again(desk: &Desk, protocol: &str) -> Ran {
    let receiver = Running::start(receives(desk, protocol));
    let line = format!("tcp://{}", receiver.says("listening on "));
    run(sends(desk, protocol, &line)).expect(0);
    let ended = receiver.end();
    ended.expect(0);
    ended
}

fn receives(desk: &Desk, protocol: &str) -> Command {
    wst(["receive", "tcp-listen://127.0.0.1:0", "-P", protocol, "-o", &desk.path("in")])
}

fn sends(desk: &Desk, protocol: &str, line: &str) -> Command {
    let mut command = wst(["send", &desk.path("data.bin"), "-P", protocol, line]);
    if protocol != "ymodem" {
        command.arg("--resume");
    }
    command
}

/// What is there is of the file as it was: the digest at the end would show that only when all of the rest had come.
#[test]
fn a_file_that_has_changed_since_is_sent_as_a_whole() {
    for protocol in ["kermit", "zmodem"] {
        let desk = Desk::new(3_000_000);
        killed_in_the_middle(&desk, protocol, &desk.path("in/data.bin.part"));
        let mut now = std::fs::read(desk.path("data.bin")).expect("the file");
        now[1000] ^= 1;
        std::fs::write(desk.path("data.bin"), &now).expect("the file");
        let file = std::fs::File::options().write(true).open(desk.path("data.bin")).expect("it");
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
        file.set_modified(later).expect("another date");
        let ended = sent_again(&desk, protocol);
        assert!(!ended.stderr.contains("resuming at"), "{protocol}: {}", ended.stderr);
        assert!(std::fs::read(desk.path("in/data.bin")).expect("the file") == now, "{protocol}");
    }
}

/// Carries at most this many bytes one way, and then holds the line open.
fn carry(mut from: std::net::TcpStream, mut to: std::net::TcpStream, most: u64) {
    use std::io::{Read, Write};
    let (mut buffer, mut all) = ([0; 4096], 0);
    while all < most {
        let Ok(len @ 1..) = from.read(&mut buffer) else { break };
        all += len as u64;
        if to.write_all(&buffer[..len]).is_err() {
            break;
        }
    }
}
