//! The command lines that scripts have, unchanged, with lrzsz at the peer.

use crate::common;
use crate::peers;

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use common::{Desk, Ran, Running, WST, tame};

/// One end of a transfer: a program and its words, in a directory.
struct End<'a> {
    program: PathBuf,
    name: &'a str,
    words: &'a [&'a str],
    directory: String,
}

/// Both ends over crossed pipes; the first is the sender.
fn cross(sender: &End<'_>, receiver: &End<'_>) -> (Ran, Ran) {
    let (to_sender, from_receiver) = std::io::pipe().expect("a pipe");
    let (to_receiver, from_sender) = std::io::pipe().expect("a pipe");
    let start = |end: &End<'_>, stdin: Stdio, stdout: Stdio| {
        let mut command = Command::new(&end.program);
        command.arg0(end.name).args(end.words).current_dir(&end.directory);
        tame(&mut command);
        command.env_remove("ZMODEM_RESTRICTED").env("SHELL", "/bin/sh");
        command.stdin(stdin).stdout(stdout);
        Running::start_as_is(command)
    };
    let send = start(sender, to_sender.into(), from_sender.into());
    let receive = start(receiver, to_receiver.into(), from_receiver.into());
    (send.end(), receive.end())
}

fn ours<'a>(name: &'a str, words: &'a [&'a str], directory: String) -> End<'a> {
    End { program: WST.into(), name, words, directory }
}

/// lrzsz's program of this name, if it is there.
fn theirs<'a>(name: &'a str, words: &'a [&'a str], directory: String) -> Option<End<'a>> {
    let program = peers::peer(name, "lrzsz")?;
    Some(End { program, name, words, directory })
}

/// Fails unless the file has arrived, with so much padding at most.
#[track_caller]
fn arrived(desk: &Desk, pads: bool) {
    let got = std::fs::read(desk.path("in/data.bin")).expect("the file arrived");
    let padding = if pads { desk.bytes.len().next_multiple_of(128) - desk.bytes.len() } else { 0 };
    assert!(got.starts_with(&desk.bytes), "the bytes differ");
    assert!(got.len() == desk.bytes.len() || got.len() == desk.bytes.len() + padding);
    assert!(got[desk.bytes.len()..].iter().all(|byte| *byte == 0x1A));
}

#[test]
fn labgrids_lines_work_with_lrzsz() {
    let desk = Desk::new(9000);
    let (root, into) = (desk.path(""), desk.path("in"));
    // lrz -X -y -c -b FILE, with sx.
    let Some(sx) = theirs("sx", &["-b", "data.bin"], root.clone()) else { return };
    let (_, received) =
        cross(&sx, &ours("lrz", &["-X", "-y", "-c", "-b", "data.bin"], into.clone()));
    received.expect(0);
    arrived(&desk, true);
    // rx FILE, with sx; what is there is put aside.
    let (_, received) = cross(&sx, &ours("rx", &["data.bin"], into.clone()));
    received.expect(0);
    arrived(&desk, true);
    assert_eq!(desk.names(), ["data.bin", "data.bin.~1~"]);
    // lsz -b -X -m 1200 -M 10 FILE, with rx.
    std::fs::remove_file(desk.path("in/data.bin")).expect("the file");
    let Some(rx) = theirs("rx", &["-c", "data.bin"], into) else { return };
    let words = ["-b", "-X", "-m", "1200", "-M", "10", "data.bin"];
    let (sent, received) = cross(&ours("lsz", &words, root), &rx);
    sent.expect(0);
    received.expect(0);
    arrived(&desk, true);
}

#[test]
fn zmodems_lines_work_with_lrzsz() {
    let desk = Desk::new(300_000);
    let (root, into) = (desk.path(""), desk.path("in"));
    let Some(rz) = theirs("rz", &["-y", "-E", "-r"], into.clone()) else { return };
    let (sent, received) = cross(&ours("sz", &["-vv", "-b", "-e", "data.bin"], root.clone()), &rz);
    sent.expect(0);
    received.expect(0);
    arrived(&desk, false);
    std::fs::remove_file(desk.path("in/data.bin")).expect("the file");
    let Some(sz) = theirs("sz", &["-vv", "-b", "-e", "data.bin"], root) else { return };
    let said = sent.stderr;
    let (sent, received) = cross(&sz, &ours("rz", &["-y", "-E", "-r"], into));
    sent.expect(0);
    received.expect(0);
    arrived(&desk, false);
    // picocom and minicom call sz so, and show what it says.
    let count = |text: &str| (text.lines().count(), text.len());
    let ((lines, bytes), (their_lines, their_bytes)) = (count(&said), count(&sent.stderr));
    println!("with -vv: {lines} lines, {bytes} bytes; lrzsz's {their_lines}, {their_bytes}");
    assert!(
        lines <= their_lines + 2 && bytes <= their_bytes * 2,
        "ours:\n{said}\nlrzsz's:\n{}",
        sent.stderr
    );
}

#[test]
fn ymodem_and_its_fallbacks_work_with_lrzsz() {
    let desk = Desk::new(5000);
    let (root, into) = (desk.path(""), desk.path("in"));
    let Some(rb) = theirs("rb", &[], into.clone()) else { return };
    let (sent, _) = cross(&ours("sb", &["data.bin"], root.clone()), &rb);
    sent.expect(0);
    desk.arrived();
    std::fs::remove_file(desk.path("in/data.bin")).expect("the file");
    // sz to a receiver that wants YMODEM.
    let (sent, _) = cross(&ours("sz", &["data.bin"], root.clone()), &rb);
    sent.expect(0);
    desk.arrived();
    std::fs::remove_file(desk.path("in/data.bin")).expect("the file");
    let Some(sb) = theirs("sb", &["data.bin"], root) else { return };
    let (_, received) = cross(&sb, &ours("rb", &[], into));
    received.expect(0);
    desk.arrived();
}

#[test]
fn a_file_in_part_is_continued_with_lrzsz() {
    let desk = Desk::new(100_000);
    let (root, into) = (desk.path(""), desk.path("in"));
    let part = &desk.bytes[..40_000];
    for (name, flags) in [("data.bin", &["-r"][..]), ("data.bin.part", &[])] {
        std::fs::write(desk.path(&format!("in/{name}")), part).expect("the part");
        let Some(sz) = theirs("sz", &["-r", "data.bin"], root.clone()) else { return };
        let (_, received) = cross(&sz, &ours("rz", flags, into.clone()));
        received.expect(0);
        desk.arrived();
        assert!(received.stderr.contains("resuming at 40.0 kB"), "{}", received.stderr);
        std::fs::remove_file(desk.path("in/data.bin")).expect("the file");
    }
    std::fs::write(desk.path("in/data.bin"), part).expect("the part");
    let Some(rz) = theirs("rz", &[], into) else { return };
    let (sent, _) = cross(&ours("sz", &["-r", "data.bin"], root), &rz);
    sent.expect(0);
    desk.arrived();
    assert!(sent.stderr.contains("resuming at "), "{}", sent.stderr);
}

#[test]
fn exit_codes_are_those_of_lrzsz() {
    let desk = Desk::new(1000);
    let (root, into) = (desk.path(""), desk.path("in"));
    let Some(rz) = theirs("rz", &[], into.clone()) else { return };
    // One that cannot be read, and one that can.
    let words = ["missing", "data.bin"];
    let (ours_ended, _) = cross(&ours("sz", &words, root.clone()), &rz);
    desk.arrived();
    std::fs::remove_file(desk.path("in/data.bin")).expect("the file");
    let Some(sz) = theirs("sz", &words, root.clone()) else { return };
    let (theirs_ended, _) = cross(&sz, &rz);
    assert_eq!(ours_ended.code(), theirs_ended.code());
    ours_ended.expect(1);
    // Every one of them is there already, and the sender has asked for that to be skipped.
    for _ in 0..20 {
        let words = ["-p", "data.bin", "data.bin", "data.bin"];
        let (sent, _) = cross(&ours("sz", &words, root.clone()), &rz);
        sent.expect(0);
        assert!(sent.elapsed.as_millis() < 900, "{:?}", sent.elapsed);
    }
    // Skipping was not requested: exit code 1, where lrzsz has 0.
    let (sent, _) = cross(&ours("sz", &["data.bin"], root.clone()), &rz);
    sent.expect(1);
    // -u removes what was sent whole, and only that.
    std::fs::write(desk.path("new.bin"), "new").expect("a file");
    let (sent, _) = cross(&ours("sz", &["-u", "data.bin", "new.bin"], root), &rz);
    sent.expect(1);
    assert!(std::path::Path::new(&desk.path("data.bin")).exists());
    assert!(!std::path::Path::new(&desk.path("new.bin")).exists());
}
