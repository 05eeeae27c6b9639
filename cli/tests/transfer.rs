//! Whole transfers by the program, between two of itself and with peers that misbehave.

use crate::common;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use common::{Desk, Ran, Running, WST, packet, run, send_as, tame, wait_for, wst};
use rustix::process::Signal;

/// Sends by one program and receives by another over TCP.
#[track_caller]
fn over_tcp(desk: &Desk, send_flags: &[&str], receive_flags: &[&str]) -> (Ran, Ran) {
    let into = desk.path("in");
    let mut args = vec!["receive", "tcp-listen://127.0.0.1:0", "-o", &into];
    args.extend(receive_flags);
    let receiver = Running::start(wst(&args));
    let line = format!("tcp://{}", receiver.says("listening on "));
    let data = desk.path("data.bin");
    let mut args = vec!["send", &data, &line];
    args.extend(send_flags);
    let sent = run(wst(&args));
    (sent, receiver.end())
}

#[test]
fn a_file_arrives_over_tcp() {
    let desk = Desk::new(300_000);
    let (sent, received) = over_tcp(&desk, &[], &[]);
    sent.expect(0);
    received.expect(0);
    desk.arrived();
    // Between two of us a digest of the whole file is compared, and only then it is said.
    assert!(sent.stderr.contains(": sent 300.0 kB in "), "{}", sent.stderr);
    assert!(sent.stderr.contains(", verified"), "{}", sent.stderr);
    assert!(received.stderr.contains(", verified"), "{}", received.stderr);
}

#[test]
fn without_a_digest_nothing_is_called_verified() {
    let desk = Desk::new(3000);
    let (sent, received) = over_tcp(&desk, &["--set", "kermit.digest=off"], &[]);
    sent.expect(0);
    received.expect(0);
    desk.arrived();
    for ran in [sent, received] {
        assert!(ran.stderr.contains(", not verified by the peer"), "{}", ran.stderr);
        assert!(!ran.stderr.contains(", verified"), "{}", ran.stderr);
    }
}

#[test]
fn settings_of_every_kind_work_together() {
    for settings in [
        &["--streaming", "off", "--window", "1", "--length", "94"][..],
        &["--streaming", "off", "--window", "31", "--length", "1000", "--check", "1"],
        &["--streaming", "on", "--reliable", "on", "--clear-channel", "on"],
        &["--prefix", "all", "--check", "B", "--repeat", "off"],
        &["--parity", "even", "--streaming", "off"],
        &["--parity", "mark", "--locking-shift", "off", "--attributes", "off"],
        &["--check", "5", "--length", "9024"],
    ] {
        let desk = Desk::new(40_000);
        let (sent, received) = over_tcp(&desk, settings, settings);
        assert_eq!(sent.code(), 0, "{settings:?}: {}", sent.stderr);
        assert_eq!(received.code(), 0, "{settings:?}: {}", received.stderr);
        desk.arrived();
    }
}

#[test]
fn a_file_arrives_through_a_program_and_through_its_terminal() {
    for kind in ["exec", "exec-pty"] {
        let desk = Desk::new(60_000);
        let line = format!("{kind}:{WST} receive - -o {}", desk.path("in"));
        let sent = run(wst(["send", &desk.path("data.bin"), &line]));
        assert_eq!(sent.code(), 0, "{kind}: {}", sent.stderr);
        desk.arrived();
        // And back: the program sends.
        let desk = Desk::new(60_000);
        let line = format!("{kind}:{WST} send {} -", desk.path("data.bin"));
        let received = run(wst(["receive", &line, "-o", &desk.path("in")]));
        assert_eq!(received.code(), 0, "{kind}: {}", received.stderr);
        desk.arrived();
    }
}

#[test]
fn a_file_arrives_over_a_pty() {
    let desk = Desk::new(60_000);
    let link = desk.path("port");
    let receiver = Running::start(wst(["receive", &format!("pty:{link}"), "-o", &desk.path("in")]));
    receiver.says("pty ");
    let sent = run(wst(["send", &desk.path("data.bin"), &format!("serial:{link}?baud=115200")]));
    sent.expect(0);
    receiver.end().expect(0);
    desk.arrived();
}

#[test]
fn two_programs_talk_over_crossed_pipes_and_keep_them_clean() {
    let desk = Desk::new(60_000);
    let (to_sender, from_receiver) = std::io::pipe().expect("a pipe");
    let (to_receiver, from_sender) = std::io::pipe().expect("a pipe");
    let mut send = wst(["send", &desk.path("data.bin"), "-"]);
    send.stdin(to_sender).stdout(from_sender);
    let mut receive = wst(["receive", "-", "-o", &desk.path("in"), "--json"]);
    receive.stdin(to_receiver).stdout(from_receiver);
    let (send, receive) = (Running::start_as_is(send), Running::start_as_is(receive));
    send.end().expect(0);
    let received = receive.end();
    received.expect(0);
    desk.arrived();
    // The line owns stdout, so the events went to stderr.
    let last = received.stderr.lines().rfind(|line| line.starts_with('{')).expect("an event");
    let end: serde_json::Value = serde_json::from_str(last).expect("JSON");
    assert_eq!(end["event"], "end");
    assert_eq!(end["exit"], 0);
}

#[test]
fn stdin_and_stdout_can_be_the_file() {
    let desk = Desk::new(20_000);
    let line = format!("exec:{WST} receive - -o {}", desk.path("in"));
    let mut send = wst(["send", "-", "--as", "data.bin", &line]);
    send.stdin(std::fs::File::open(desk.path("data.bin")).expect("the file"));
    run(send).expect(0);
    desk.arrived();
    let line = format!("exec:{WST} send {} -", desk.path("data.bin"));
    let mut receive = wst(["receive", &line, "-o", "-"]);
    let out = desk.path("out");
    receive.stdout(std::fs::File::create(&out).expect("the file"));
    Running::start_as_is(receive).end().expect(0);
    assert!(std::fs::read(&out).expect("the file") == desk.bytes);
}

#[test]
fn json_tells_the_whole_story() {
    let desk = Desk::new(50_000);
    let (sent, received) = over_tcp(&desk, &["--json"], &["--json"]);
    for (ran, outcome) in [(sent, "sent"), (received, "stored")] {
        ran.expect(0);
        let events = ran.events();
        let names: Vec<&str> = events.iter().filter_map(|e| e["event"].as_str()).collect();
        for name in ["opened", "negotiated", "file-started", "file-done", "end"] {
            assert_eq!(names.iter().filter(|n| **n == name).count(), 1, "{name}: {names:?}");
        }
        let end = events.last().expect("an event");
        assert_eq!(end["event"], "end");
        assert_eq!(end["files"][0]["outcome"], outcome, "{end}");
        assert_eq!(end["files"][0]["size"], 50_000, "{end}");
        assert_eq!(end["stats"]["files_done"], 1, "{end}");
        assert_eq!(end["verified"], 1, "{end}");
    }
}

#[test]
fn what_exists_is_not_overwritten_and_a_refusal_is_told() {
    let desk = Desk::new(1000);
    std::fs::write(desk.path("in/data.bin"), "old").expect("the file");
    let (sent, received) = over_tcp(&desk, &[], &["--collision", "reject"]);
    sent.expect(1);
    received.expect(1);
    assert!(sent.stderr.contains("refused by the peer"), "{}", sent.stderr);
    assert_eq!(std::fs::read(desk.path("in/data.bin")).expect("the file"), b"old");
    let (sent, received) = over_tcp(&desk, &[], &[]);
    sent.expect(0);
    received.expect(0);
    assert_eq!(desk.names(), ["data.bin", "data.bin.~1~"]);
    // As with C-Kermit the old file has the other name, and that is said.
    let told = format!("data.bin: the previous file is now {}\n", desk.path("in/data.bin.~1~"));
    assert!(received.stderr.contains(&told), "{}", received.stderr);
    desk.arrived();
    assert_eq!(std::fs::read(desk.path("in/data.bin.~1~")).expect("the file"), b"old");
    let (sent, received) = over_tcp(&desk, &[], &["--collision", "rename"]);
    sent.expect(0);
    received.expect(0);
    assert!(received.stderr.contains("data.bin: stored as "), "{}", received.stderr);
    assert!(std::fs::read(desk.path("in/data.bin.~2~")).expect("the file") == desk.bytes);
}

#[test]
fn the_trace_is_in_the_laboratorys_format() {
    let desk = Desk::new(1000);
    let trace = desk.path("trace");
    let log = desk.path("log");
    let (sent, _) = over_tcp(&desk, &["--trace", &trace, "--log", &log, "-v"], &[]);
    sent.expect(0);
    let text = std::fs::read_to_string(&trace).expect("the trace");
    assert!(text.lines().count() > 5, "{text}");
    for line in text.lines() {
        let (time, rest) = line.split_once(' ').expect("a time");
        assert!(time.parse::<f64>().is_ok(), "{line}");
        assert!(rest.starts_with("sender ") || rest.starts_with("run "), "{line}");
    }
    assert!(text.contains(" sender sent S n=0 "), "{text}");
    let log = std::fs::read_to_string(&log).expect("the log");
    assert!(log.contains("data.bin: sent 1.0 kB"), "{log}");
}

/// A peer on TCP that does what `act` says, and the program that talks to it.
fn with_peer(
    args: &[&str],
    act: impl FnOnce(TcpStream) + Send + 'static,
) -> (Running, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let line = format!("tcp://{}", listener.local_addr().expect("its address"));
    let mut all: Vec<&str> = args.to_vec();
    all.push(&line);
    let program = Running::start(wst(&all));
    let stream = common::accept(&listener);
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a limit");
    (program, std::thread::spawn(move || act(stream)))
}

#[test]
fn a_silent_peer_is_a_timeout() {
    let desk = Desk::new(100);
    let data = desk.path("data.bin");
    let (program, act) =
        with_peer(&["send", &data, "--timeout", "1", "--retries", "2"], |mut stream| {
            let mut sink = Vec::new();
            let _ = stream.read_to_end(&mut sink);
        });
    let ran = program.end();
    act.join().expect("the peer ends");
    ran.expect(7);
    assert!(ran.elapsed < Duration::from_secs(15), "{:?}", ran.elapsed);
    assert!(ran.stderr.contains("nothing usable came"), "{}", ran.stderr);
}

/// A receiver whose last answer is lost, as that of `rx` at a terminal of its own: what is known is said, here and in the
/// account of the trace.
#[test]
fn an_unanswered_end_is_told_from_an_unanswered_file() {
    let desk = Desk::new(300);
    let (data, trace) = (desk.path("data.bin"), desk.path("x.trace"));
    let args = ["send", "-P", "xmodem-crc", "--answer-timeout", "1", "--retries", "2", "--trace"];
    let (program, act) = with_peer(&[&args[..], &[&trace, &data]].concat(), |mut stream| {
        let mut block = [0; 133];
        for answer in [b"C", b"\x06", b"\x06", b"\x06"] {
            stream.write_all(answer).expect("it listens");
            if answer == b"C" || block[1] < 3 {
                stream.read_exact(&mut block).expect("a block");
            }
        }
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let ran = program.end();
    act.join().expect("the peer ends");
    ran.expect(7);
    assert!(ran.stderr.contains("but not the end of the file"), "{}", ran.stderr);
    for absent in ["parity", "still waiting"] {
        assert!(!ran.stderr.contains(absent), "{}", ran.stderr);
    }
    let told = run(wst(["explain", &trace]));
    told.expect(0);
    let page = told.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(page.contains("but not the end of the file"), "{page}");
    assert!(page.contains("compare the file at the peer"), "{page}");
}

#[test]
fn a_flood_is_survived_in_bounded_memory() {
    let desk = Desk::new(100);
    let into = desk.path("in");
    let args = ["receive", "-o", &into, "--timeout", "1", "--retries", "2"];
    let (program, act) = with_peer(&args, |mut stream| {
        // MARKs and noise, as fast as they are taken, for two seconds at least.
        let flood = common::noise(7, 1 << 16);
        let began = std::time::Instant::now();
        while began.elapsed() < Duration::from_secs(2) && stream.write_all(&flood).is_ok() {}
    });
    std::thread::sleep(Duration::from_millis(1500));
    let peak_kb = program.peak_kb();
    act.join().expect("the peer ends");
    let ran = program.end();
    assert!([3, 4, 7].contains(&ran.code()), "{}: {}", ran.code(), ran.stderr);
    assert!(peak_kb.is_none_or(|kb| kb < 40_000), "{peak_kb:?} kB");
    assert!(desk.names().is_empty(), "{:?}", desk.names());
}

#[test]
fn an_error_packet_is_shown_and_is_the_peers_fault() {
    let desk = Desk::new(100);
    let data = desk.path("data.bin");
    let (program, act) = with_peer(&["send", &data], |mut stream| {
        wait_for(&mut stream, b'S', Some(0));
        let _ = stream.write_all(&packet(b'E', 0, b"no room #[[2J here"));
        let mut sink = Vec::new();
        let _ = stream.read_to_end(&mut sink);
    });
    let ran = program.end();
    act.join().expect("the peer ends");
    ran.expect(4);
    assert!(ran.stderr.contains("no room \\u{1b}[2J here"), "{}", ran.stderr);
    assert!(!ran.stderr.contains('\u{1b}'), "{}", ran.stderr);
}

#[test]
fn a_line_that_closes_early_is_the_lines_fault() {
    let desk = Desk::new(100);
    let data = desk.path("data.bin");
    let (program, act) = with_peer(&["send", &data], |mut stream| {
        wait_for(&mut stream, b'S', Some(0));
    });
    act.join().expect("the peer ends");
    program.end().expect(3);
}

#[test]
fn ctrl_c_tells_the_peer_and_ends_within_a_second() {
    let desk = Desk::new(100);
    let data = desk.path("data.bin");
    let (send, told) = std::sync::mpsc::channel();
    let (ready, started) = std::sync::mpsc::channel();
    let (program, act) = with_peer(&["send", &data, "--json"], move |mut stream| {
        wait_for(&mut stream, b'S', Some(0));
        let _ = ready.send(());
        let _ = send.send(wait_for(&mut stream, b'E', None));
        let mut sink = Vec::new();
        let _ = stream.read_to_end(&mut sink);
    });
    started.recv_timeout(Duration::from_secs(10)).expect("the transfer begins");
    let began = std::time::Instant::now();
    program.signal(Signal::INT);
    let ran = program.end();
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert!(told.recv_timeout(Duration::from_secs(5)).expect("the peer ends"), "not told");
    act.join().expect("the peer ends");
    ran.expect(130);
    let events = ran.events();
    assert_eq!(events.last().expect("an event")["outcome"], "interrupted");
}

#[test]
fn ctrl_c_ends_the_wait_for_a_connection() {
    let desk = Desk::new(100);
    let into = desk.path("in");
    let program = Running::start(wst(["receive", "tcp-listen://127.0.0.1:0", "-o", &into]));
    program.says("listening on ");
    program.signal(Signal::INT);
    let ran = program.end();
    ran.expect(130);
    assert!(ran.elapsed < Duration::from_secs(5), "{:?}", ran.elapsed);
}

#[test]
fn a_full_disk_is_the_stores_fault() {
    let desk = Desk::new(200_000);
    let mut command = Command::new("sh");
    let script = format!(
        "ulimit -f 64; exec {WST} receive 'exec:{WST} send {} -' -o {}",
        desk.path("data.bin"),
        desk.path("in")
    );
    command.args(["-c", &script]);
    tame(&mut command);
    let ran = run(command);
    ran.expect(5);
    assert!(ran.stderr.contains("store"), "{}", ran.stderr);
    // What came is kept as a partial file, never under the name of a whole one.
    assert!(!desk.names().contains(&"data.bin".to_owned()), "{:?}", desk.names());
}

#[test]
fn names_from_the_peer_stay_in_the_directory() {
    for (name, here) in [
        (&b"../evil"[..], Some("evil")),
        (b"/tmp/wetstring-evil", Some("wetstring-evil")),
        (b"a/../../evil", Some("evil")),
        (b"plain", Some("plain")),
        (b"..", None),
        (b"", Some("NONAME")),
    ] {
        let desk = Desk::new(10);
        let into = desk.path("in");
        let before = common::names(desk.dir.path());
        let (program, act) = with_peer(&["receive", "-o", &into], move |mut stream| {
            send_as(&mut stream, name, b"payload");
        });
        let ran = program.end();
        act.join().expect("the peer ends");
        let shown = String::from_utf8_lossy(name).into_owned();
        assert_eq!(common::names(desk.dir.path()), before, "{shown}");
        assert!(!std::path::Path::new("/tmp/wetstring-evil").exists());
        if let Some(here) = here {
            assert_eq!(ran.code(), 0, "{shown}: {}", ran.stderr);
            assert_eq!(desk.names(), [here], "{shown}");
            let bytes = std::fs::read(desk.path(&format!("in/{here}"))).expect("the file");
            assert_eq!(bytes, b"payload");
        } else {
            assert_ne!(ran.code(), 0, "{shown}: {}", ran.stderr);
            assert!(desk.names().is_empty(), "{shown}: {:?}", desk.names());
        }
    }
}

#[test]
fn control_characters_in_a_name_reach_neither_terminal_nor_disk() {
    let desk = Desk::new(10);
    let into = desk.path("in");
    let (program, act) = with_peer(&["receive", "-o", &into, "-v"], |mut stream| {
        assert!(send_as(&mut stream, b"a\x1b[2J\x07b", b"payload"));
    });
    let ran = program.end();
    act.join().expect("the peer ends");
    ran.expect(0);
    assert!(!ran.stderr.contains(['\u{1b}', '\u{7}']), "{:?}", ran.stderr);
    assert!(ran.stderr.contains("a\\u{1b}[2J\\u{7}b"), "{}", ran.stderr);
    assert!(desk.names().iter().all(|name| !name.contains(char::is_control)), "{:?}", desk.names());
}

#[test]
fn the_child_of_a_line_does_not_outlive_it() {
    let desk = Desk::new(100);
    let ran = run({
        let mut command = wst(["send", &desk.path("data.bin"), "exec:exit 3"]);
        command.stdin(Stdio::null());
        command
    });
    ran.expect(3);
    assert!(ran.elapsed < Duration::from_secs(10), "{:?}", ran.elapsed);
}

#[test]
fn a_file_arrives_over_an_emulated_line_between_two_terminals() {
    let desk = Desk::new(3000);
    let (a, b) = (desk.path("a"), desk.path("b"));
    let line = Running::start(wst([
        "line",
        "19200,delay=50ms,parity=even,burst=4@2000",
        "-a",
        &format!("pty:{a}"),
        "-b",
        &format!("pty:{b}"),
        "--json",
    ]));
    line.says("line 19200,");
    let into = desk.path("in");
    let parity = ["--parity", "even"];
    let mut receive = vec!["receive", "-o", &into];
    let at_b = format!("serial:{b}?baud=19200");
    receive.extend(parity.iter().chain([&at_b.as_str()]));
    let receiver = Running::start(wst(&receive));
    let data = desk.path("data.bin");
    let at_a = format!("serial:{a}?baud=19200");
    let sent = run(wst(["send", &data, "--parity", "even", &at_a]));
    sent.expect(0);
    receiver.end().expect(0);
    desk.arrived();
    // A PTY has a rate that was set, and none at which it carries.
    assert!(!sent.stderr.contains("% of the line"), "{}", sent.stderr);
    // Three seconds of line at least: the emulation is in real time.
    assert!(sent.elapsed > Duration::from_millis(1500), "{:?}", sent.elapsed);
    line.signal(Signal::INT);
    let line = line.end();
    line.expect(0);
    let end = line.events().pop().expect("an event");
    assert!(end["a_to_b"]["damaged_bytes"].as_u64().is_some_and(|n| n > 0), "{end}");
}

/// Only the last part of a path is made: of a longer one the beginning is more likely a mistake.
#[test]
fn the_directory_to_receive_into_is_made_if_only_it_is_missing() {
    let desk = Desk::new(10);
    let inbox = desk.path("made");
    let ran = run(wst(["receive", "exec:true", "-o", &inbox]));
    assert_eq!(ran.code(), 3, "the line closed, nothing else: {}", ran.stderr);
    assert!(std::path::Path::new(&inbox).is_dir());
    let deeper = desk.path("none/deeper");
    let ran = run(wst(["receive", "exec:true", "-o", &deeper]));
    ran.expect(5);
    assert!(ran.stderr.contains("mkdir -p") && !ran.stderr.contains("os error"), "{}", ran.stderr);
    let file = desk.path("data.bin");
    let ran = run(wst(["receive", "exec:true", "-o", &file]));
    ran.expect(5);
    assert!(ran.stderr.contains("it is not a directory"), "{}", ran.stderr);
}
