//! What a user sees in the first five minutes: what the README says, and what is said of mistakes. The
//! texts are snapshots (`tests/snapshots/first-*.txt`): who changes one sees what a newcomer will read.

use crate::common;

use common::{Desk, Running, WST, run, snapshot, wst};

/// Runs each of these words by words in a directory with the file `notes.txt`, and gives a transcript.
fn transcript(desk: &Desk, commands: &[&[&str]]) -> String {
    let mut text = String::new();
    for words in commands {
        let mut command = wst(*words);
        command.current_dir(desk.dir.path());
        let ran = run(command);
        let quoted = words.iter().map(|word| {
            let plain = !word.contains(|c: char| " ?&*".contains(c));
            if plain { (*word).to_owned() } else { format!("'{word}'") }
        });
        let words: Vec<String> = quoted.collect();
        text.extend(["$ wst ", &words.join(" "), "\n", &ran.stdout, &ran.stderr]);
        text.extend(["[exit ", &ran.code().to_string(), "]\n\n"]);
    }
    text
}

fn desk() -> Desk {
    let desk = Desk::new(2000);
    std::fs::write(desk.path("notes.txt"), "some notes\n").expect("a file");
    std::fs::create_dir(desk.path("photos")).expect("a directory");
    desk
}

#[test]
fn invalid_lines_get_one_line_of_advice() {
    let desk = desk();
    let text = transcript(
        &desk,
        &[
            &["send", "notes.txt", "/dev/ttyUSB97"],
            &["send", "notes.txt", "ttyUSB0"],
            &["send", "notes.txt", "./modem"],
            &["send", "/dev/ttyUSB0", "notes.txt"],
            &["send", "notes.txt", "data.bin"],
            &["send", "notes.txt", "tcp:box:1649"],
            &["send", "notes.txt", "box:inbox"],
            &["send", "notes.txt", "./modem?baud=9600"],
            &["send", "notes.txt", "http://box/"],
            &["send", "notes.txt", "127.0.0.1:1"],
            &["send", "notes.txt", "serial:/dev/ttyUSB0?parity=sticky"],
            &["send", "notes.txt", "ssh://-oProxyCommand=x"],
            &["receive", "ssh://box"],
            &["receive", "nonsense"],
            &["get", "notes.txt", "nonsense"],
            &["send", "notes.txt", "photos"],
        ],
    );
    // One line each, beside the command and the code.
    for part in text.split("\n\n").filter(|part| !part.is_empty()) {
        assert_eq!(part.lines().count(), 3, "{part}");
    }
    snapshot("first-lines", &text);
}

#[test]
fn missing_files_and_directories_are_reported() {
    let desk = desk();
    let text = transcript(
        &desk,
        &[
            &["send", "note.txt", "tcp://127.0.0.1:1"],
            &["receive", "tcp://127.0.0.1:1", "-o", "none/inbox"],
            &["receive", "tcp://127.0.0.1:1", "-o", "notes.txt"],
            &["explain", "none.trace"],
        ],
    );
    snapshot("first-files", &text);
}

/// An `ssh` that is a shell here.
fn with_ssh(desk: &Desk, words: &[&str]) -> std::process::Command {
    use std::os::unix::fs::PermissionsExt;
    let bin = desk.path("bin");
    let _ = std::fs::create_dir(&bin);
    let script = format!("{bin}/ssh");
    std::fs::write(&script, "#!/bin/sh\n[ \"$1\" = box ] || exit 9\nshift\nexec sh -c \"$*\"\n")
        .expect("a script");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("executable");
    let _ = std::os::unix::fs::symlink(WST, format!("{bin}/wst"));
    let mut command = wst(words);
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{bin}:{path}")).current_dir(desk.dir.path());
    command
}

#[test]
fn a_host_by_ssh_is_a_line_for_every_verb() {
    let desk = desk();
    std::fs::create_dir(desk.path("there")).expect("a directory");
    std::fs::write(desk.path("there/a b.txt"), "far").expect("a file");
    let notes = |path: &str| std::fs::read(desk.path(path)).expect("the file");
    run(with_ssh(&desk, &["send", "notes.txt", "ssh://box/there"])).expect(0);
    assert_eq!(notes("there/notes.txt"), b"some notes\n");
    run(with_ssh(&desk, &["receive", "ssh://box/there/a b.txt", "-o", "in"])).expect(0);
    assert_eq!(notes("in/a b.txt"), b"far");
    run(with_ssh(&desk, &["get", "notes.txt", "ssh://box/there", "-o", "in"])).expect(0);
    assert_eq!(notes("in/notes.txt"), b"some notes\n");
    run(with_ssh(&desk, &["put", "data.bin", "ssh://box/there"])).expect(0);
    assert_eq!(notes("there/data.bin"), desk.bytes);
    run(with_ssh(&desk, &["send", "-P", "zmodem", "data.bin", "ssh://box/in"])).expect(0);
    assert_eq!(notes("in/data.bin"), desk.bytes);
}

/// The commands that need no wst there, with the ssh that was meant.
#[test]
fn a_host_without_wst_gets_advice() {
    let desk = desk();
    let absent = |words: &[&str]| {
        let mut command = with_ssh(&desk, words);
        std::fs::remove_file(desk.path("bin/wst")).expect("it was there");
        let path = desk.path("bin");
        command.env("PATH", format!("{path}:/usr/bin:/bin"));
        run(command)
    };
    let sent = absent(&["send", "notes.txt", "ssh://box"]);
    sent.expect(3);
    let received = absent(&["receive", "ssh://box/notes.txt", "-o", "in"]);
    received.expect(3);
    for (ran, advice) in [
        (&sent, "wst send -P zmodem FILE 'exec:ssh box rz'"),
        (&sent, "wst send FILE 'exec-pty:ssh -t box kermit -r'"),
        (&sent, "wst put --shell FILE 'exec-pty:ssh box'"),
        (&received, "wst receive -P zmodem 'exec:ssh box sz FILE'"),
        (&received, "wst receive 'exec-pty:ssh -t box kermit -s FILE'"),
        (&received, "wst get --shell FILE 'exec-pty:ssh box'"),
    ] {
        assert!(ran.stderr.contains("; a command was not found"), "{}", ran.stderr);
        assert!(ran.stderr.contains(advice), "{}", ran.stderr);
        assert!(!ran.stderr.contains("try again"), "{}", ran.stderr);
    }
    let here = run(wst(["send", &desk.path("notes.txt"), "exec:nonesuch"]));
    assert!(!here.stderr.contains("ssh"), "{}", here.stderr);
}

/// With every protocol that tells names, and a receiver that was told to keep directories.
#[test]
fn directories_are_sent_by_every_protocol_that_can() {
    let desk = desk();
    std::fs::create_dir_all(desk.path("photos/old")).expect("a directory");
    std::fs::write(desk.path("photos/a.jpg"), "a").expect("a file");
    std::fs::write(desk.path("photos/old/b c.jpg"), "b").expect("a file");
    for protocol in ["kermit", "ymodem", "zmodem", "uucp-g"] {
        let into = desk.path(protocol);
        let peer = format!("exec:{WST} receive --quiet -r -P {protocol} - -o {into}");
        let mut command = wst(["send", "-P", protocol, "photos", &peer]);
        command.current_dir(desk.dir.path());
        run(command).expect(0);
        for (name, text) in [("photos/a.jpg", "a"), ("photos/old/b c.jpg", "b")] {
            let got = std::fs::read_to_string(format!("{into}/{name}"));
            assert_eq!(got.ok().as_deref(), Some(text), "{protocol}: {name}");
        }
    }
}

#[test]
fn unsupported_requests_are_refused_before_the_line_is_opened() {
    let desk = desk();
    let text = transcript(
        &desk,
        &[
            &["send", "--resume", "-P", "ymodem", "notes.txt", "/dev/ttyUSB97"],
            &["send", "--resume", "-P", "xmodem", "notes.txt", "/dev/ttyUSB97"],
            &["send", "--resume", "-P", "uucp-g", "notes.txt", "/dev/ttyUSB97"],
            &["receive", "--resume", "-P", "ymodem", "/dev/ttyUSB97"],
            &["send", "-P", "xmodem", "photos", "/dev/ttyUSB97"],
            &["send", "-P", "zmodem", "photos", "/dev/ttyUSB97"],
            &["send", "notes.txt"],
        ],
    );
    snapshot("first-refusals", &text);
}

/// As `send` has it; the line before the names, as it once was, does too.
#[test]
fn get_and_put_take_the_line_last_or_first() {
    let desk = desk();
    std::fs::create_dir(desk.path("pub")).expect("a directory");
    let mut serve = wst(["serve", "tcp-listen://127.0.0.1:0", "--root", "pub", "--allow", "write"]);
    serve.current_dir(desk.dir.path());
    let server = Running::start(serve);
    let line = format!("tcp://{}", server.says("listening on "));
    let ran = |words: &[&str]| {
        let mut command = wst(words);
        command.current_dir(desk.dir.path());
        run(command)
    };
    ran(&["put", "notes.txt", "data.bin", &line]).expect(0);
    ran(&["get", "notes.txt", &line, "-o", "in"]).expect(0);
    ran(&["get", &line, "data.bin", "-o", "in", "--resume"]).expect(0);
    assert_eq!(desk.names(), ["data.bin", "notes.txt"]);
    // Without a scheme it is TCP.
    let bare = line.trim_start_matches("tcp://");
    ran(&["put", bare, "notes.txt"]).expect(0);
    server.signal(rustix::process::Signal::INT);
    // Who came and went is told, and that a client hangs up is no error.
    let said = server.end().stderr;
    assert_eq!(said.matches(" connect: done\n").count(), 4, "{said}");
    assert_eq!(said.matches(" disconnect: done").count(), 4, "{said}");
    assert!(!said.contains("line closed") && !said.contains("get "), "{said}");
}

/// The README's own line, with the links it makes as lines, and a directory that does not exist.
#[test]
fn the_readmes_line_carries_a_file_between_two_links() {
    let desk = desk();
    let (a, b) = (desk.path("a"), desk.path("b"));
    let ends = [format!("pty:{a}"), format!("pty:{b}")];
    let line = ["line", "9600,delay=250ms,burst=8@2s", "-a", &ends[0], "-b", &ends[1]];
    let line = Running::start(wst(line));
    line.says("line 9600,");
    // Another program does not take these names away from it.
    let second = run(wst(["line", "2400", "-a", &ends[1], "-b", "pty:"]));
    assert!(!second.status.success(), "{}", second.stderr);
    let held = format!("{b} is in use by another wst, whose PTY it leads to (/dev/pts/");
    assert!(second.stderr.contains(&held), "{}", second.stderr);
    let into = desk.path("inbox");
    let receiver = Running::start(wst(["receive", &b, "-o", &into]));
    run(wst(["send", &desk.path("notes.txt"), &a])).expect(0);
    receiver.end().expect(0);
    let came = std::fs::read(desk.path("inbox/notes.txt")).expect("the file");
    assert_eq!(came, b"some notes\n");
    // A killed one leaves its links, and they are in nobody's use.
    line.signal(rustix::process::Signal::KILL);
    line.end();
    assert!(std::path::Path::new(&a).is_symlink());
    let next = Running::start(wst(["line", "9600", "-a", &ends[0], "-b", &ends[1]]));
    next.says("line 9600 is up");
    next.signal(rustix::process::Signal::INT);
    next.end().expect(0);
}
