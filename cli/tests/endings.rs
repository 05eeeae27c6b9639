//! How transfers end that do not end well: a user who interrupts, a source that stays silent, a
//! file that changes on its way.

use crate::common;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{Desk, Running, WST, run, wst};
use rustix::process::Signal;

/// From the signal to the end of the program.
const MOST: Duration = Duration::from_millis(1200);

/// Starts a program, interrupts it once it has had time to begin, and says how long it took to end.
#[track_caller]
fn interrupted(args: &[&str]) -> Duration {
    let before = Instant::now();
    let program = Running::start(wst(args));
    std::thread::sleep(Duration::from_millis(400));
    let until_signal = before.elapsed();
    program.signal(Signal::INT);
    let ran = program.end();
    ran.expect(130);
    // Its output may be held open by what a shell has left behind.
    ran.elapsed.saturating_sub(until_signal)
}

#[test]
fn ctrl_c_ends_within_a_second_on_every_kind_of_line_whose_peer_is_silent() {
    let desk = Desk::new(100_000);
    let data = desk.path("data.bin");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let tcp = format!("tcp://{}", listener.local_addr().expect("its address"));
    let far = wetstring_drive::open(&"pty:".parse().expect("a line"), None, &mut |_| {});
    let far = far.expect("a pty");
    let serial = format!("serial:{}", far.facts().name);
    for line in [
        "pty:",
        "exec:sleep 4; true",
        "exec:exec sleep 100",
        "exec-pty:exec sleep 100",
        &tcp,
        &serial,
    ] {
        // A peer that says nothing, and one that does not even hear.
        for args in [
            vec!["send", &data, line],
            vec!["receive", line, "-o", desk.dir.path().to_str().expect("UTF-8")],
        ] {
            let took = interrupted(&args);
            assert!(took <= MOST, "{args:?}: {took:?}");
        }
    }
}

/// The beginning of a pipe cannot be read again; a file can.
#[test]
fn an_interrupted_pipe_is_said_to_be_lost() {
    let desk = Desk::new(3000);
    let line = format!("exec:{WST} receive --quiet - -o {}", desk.path("in"));
    let mut source = Command::new("sh");
    source
        .args(["-c", r#"cat "$0"; exec sleep 60"#, &desk.path("data.bin")])
        .stdout(Stdio::piped());
    let mut source = source.spawn().expect("sh runs");
    let mut command = wst(["send", "-", "--as", "x", &line]);
    command.stdin(source.stdout.take().expect("a pipe"));
    let program = Running::start(command);
    std::thread::sleep(Duration::from_secs(1));
    program.signal(Signal::INT);
    let ran = program.end();
    source.kill().and_then(|()| source.wait()).expect("it ends");
    ran.expect(130);
    assert!(
        ran.stderr.contains("interrupted by signal 2; what was read from stdin"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("run the whole pipeline again"), "{}", ran.stderr);
}

/// YMODEM cannot leave out a file: a refusal ends the transfer, and is none of a user's interruptions.
#[test]
fn a_refused_file_of_ymodem_is_a_refusal() {
    let desk = Desk::new(1000);
    let (data, into) = (desk.path("data.bin"), desk.path("in"));
    std::fs::write(format!("{into}/data.bin"), b"other").expect("a file");
    let line = format!("exec:{WST} send -P ymodem {data} -");
    let reject = ["--set", "store.collision=reject"];
    let ran = run(wst([&["receive", "-P", "ymodem", "-o", &into, &line][..], &reject].concat()));
    ran.expect(1);
    assert!(ran.stderr.contains("cannot skip one"), "{}", ran.stderr);
    assert_eq!(std::fs::read(format!("{into}/data.bin")).expect("the file"), b"other");
}

fn fifo(path: &str) {
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0)
        .expect("a fifo");
}

#[test]
fn a_fifo_is_sent_completely() {
    let desk = Desk::new(200_000);
    let source = desk.path("fifo");
    fifo(&source);
    let (bytes, path) = (desk.bytes.clone(), source.clone());
    // A writer waits for a reader, and is ended when that goes: it opens once.
    let writer = std::thread::spawn(move || std::fs::write(path, bytes));
    std::thread::sleep(Duration::from_millis(100));
    let line = format!("exec:{WST} receive - -o {}", desk.path("in"));
    run(wst(["send", &source, "--as", "data.bin", &line])).expect(0);
    writer.join().expect("the writer ends").expect("all was written");
    desk.arrived();
}

#[test]
fn ctrl_c_ends_a_fifo_without_a_writer() {
    let desk = Desk::new(0);
    let source = desk.path("fifo");
    fifo(&source);
    let line = format!("exec:{WST} receive - -o {}", desk.path("in"));
    let took = interrupted(&["send", &source, &line]);
    assert!(took <= MOST, "{took:?}");
    assert!(desk.names().is_empty(), "{:?}", desk.names());
}

/// Carries bytes one way until the end; `act` is told the number of bytes before they are passed.
fn carry(mut from: TcpStream, mut to: TcpStream, mut act: impl FnMut(usize)) {
    let (mut buffer, mut all) = ([0; 4096], 0);
    while let Ok(len @ 1..) = from.read(&mut buffer) {
        all += len;
        act(all);
        if to.write_all(&buffer[..len]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Write);
}

#[test]
fn a_digest_mismatch_is_reported_by_both_ends_and_the_file_removed() {
    let desk = Desk::new(400_000);
    // The beginning is here already, and it is the right one.
    let part = desk.path("in/data.bin.part");
    std::fs::write(&part, &desk.bytes[..100_000]).expect("the file");
    // As an earlier run leaves it.
    let flags = rustix::fs::XattrFlags::empty();
    rustix::fs::setxattr(&part, "user.wetstring.part", b"data.bin", flags).expect("a mark");
    let into = desk.path("in");
    let receiver = Running::start(wst(["receive", "tcp-listen://127.0.0.1:0", "-o", &into]));
    let address = receiver.says("listening on ");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let line = format!("tcp://{}", listener.local_addr().expect("its address"));
    let data = desk.path("data.bin");
    let sender = Running::start(wst(["send", &data, "--resume", &line]));
    let near = common::accept(&listener);
    let far = TcpStream::connect(address).expect("the receiver");
    let (near_too, far_too) = (near.try_clone().expect("a copy"), far.try_clone().expect("a copy"));
    let back = std::thread::spawn(move || carry(far_too, near_too, |_| ()));
    let mut spoilt = false;
    carry(near, far, |all| {
        // The beginning was compared, and data moves.
        if all > 100_000 && !std::mem::replace(&mut spoilt, true) {
            let file = std::fs::File::options().write(true).open(&part).expect("the file");
            file.write_all_at(b"spoilt", 1000).expect("it is written");
        }
    });
    back.join().expect("the line ends");
    for ran in [sender.end(), receiver.end()] {
        ran.expect(6);
        assert!(ran.stderr.contains("do not use the file"), "{}", ran.stderr);
        assert!(!ran.stderr.contains("--resume"), "{}", ran.stderr);
    }
    assert!(spoilt && !Path::new(&part).exists(), "{:?}", desk.names());
    assert!(desk.names().is_empty(), "{:?}", desk.names());
}
