//! What a Kermit here does with files that come: SET RECEIVE CONFIRM, /CALIBRATE, the rights of ENABLE over
//! directories in names, text that is recognised, files of UCS-2; and a line that is an open descriptor.

use crate::peers;

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use peers::{End, LIMIT, Scene, wst};

/// Our Kermit in `in` runs these commands with a peer, a Kermit of ours in `root` that runs a script; stdin has the
/// answers.
fn with_peer(scene: &Scene, peer: &str, commands: &str, answers: &str) -> End {
    let root = scene.folder("root");
    let script = format!("cd {}\n{}\n", root.display(), peer.replace(", ", "\n"));
    let script = scene.file("peer.ksc", script.as_bytes());
    let answers = scene.file("answers", answers.as_bytes());
    let peer = format!("{} kermit {}", peers::WST, script.display());
    let commands =
        format!("set host /network-type:pipe {peer}, set file display none, {commands}, exit");
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$1\" kermit -C \"$2\" < \"$3\"", "sh", peers::WST, &commands]);
    command.arg(answers).current_dir(scene.folder("in"));
    scene.start("wst", &mut command).expect("it starts").wait(LIMIT).expect("it ends")
}

fn files(scene: &Scene, folder: &str) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(scene.folder(folder))
        .expect("a directory")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// RECEIVE with these commands before it and these answers: how it ended, what was asked, and what is there.
fn received(before: &str, receive: &str, answers: &str) -> (i32, usize, Vec<String>) {
    let scene = Scene::new();
    for name in ["a.txt", "b.txt", "c.txt"] {
        scene.file(&format!("root/{name}"), name.as_bytes());
    }
    let end = with_peer(&scene, "send *.txt", &format!("{before}, {receive}"), answers);
    let asked = end.said.matches("Accept incoming file").count();
    (end.code, asked, files(&scene, "in"))
}

#[test]
fn files_that_were_not_asked_for_are_asked_about() {
    let all = ["a.txt", "b.txt", "c.txt"];
    for (before, receive, answers, code, asked, there) in [
        ("set receive confirm on", "receive", "yes\nn\nok\n", 0, 3, &["a.txt", "c.txt"][..]),
        ("set receive confirm on", "receive", "go\n", 0, 1, &all),
        // What is no answer is asked once more.
        ("set receive confirm on", "receive", "perhaps\ngo\n", 0, 2, &all),
        ("set receive confirm on", "receive", "yes\nquit\n", 5, 2, &["a.txt"]),
        // No answer.
        ("set receive confirm on", "receive", "", 1, 1, &[]),
        ("set receive confirm off", "receive", "", 0, 0, &all),
        ("set receive confirm off", "receive /confirm:on", "go\n", 0, 1, &all),
        ("set receive confirm on", "receive /confirm:off", "", 0, 0, &all),
        // As version 11 is at first, and the ones before it.
        ("set quiet off", "receive", "go\n", 0, 1, &all),
        ("set compatibility 10", "receive", "", 0, 0, &all),
        // We have called, so we are LOCAL.
        ("set receive confirm on remote", "receive", "", 0, 0, &all),
        ("set receive confirm on both", "receive", "go\n", 0, 1, &all),
    ] {
        let got = received(before, receive, answers);
        let there: Vec<String> = there.iter().map(|name| (*name).to_owned()).collect();
        if code == 5 {
            assert_ne!(got.0, 0, "{before}, {receive}");
            assert_eq!((got.1, got.2), (asked, there), "{before}, {receive}: {answers:?}");
        } else {
            assert_eq!(
                (got.0 != 0, got.1, got.2),
                (code != 0, asked, there),
                "{before}, {receive}: {answers:?}"
            );
        }
    }
}

#[test]
fn what_was_asked_for_needs_no_question() {
    let scene = Scene::new();
    for name in ["one two", "f{g}.txt", "x.txt", "d/y"] {
        scene.file(&format!("root/{name}"), name.as_bytes());
    }
    let commands = "set receive confirm on, get x.txt, mget {one two} f{g}.txt, mget *.txt, get /recursive d/*, finish";
    let end = with_peer(&scene, "enable get both, enable cd both, server", commands, "");
    assert_eq!(end.code, 0, "{}", end.said);
    assert!(!end.said.contains("Accept incoming"), "{}", end.said);
    assert_eq!(std::fs::read(scene.path("in/one two")).expect("the file"), b"one two");
}

/// A command that asks reads the next line, and those behind it are still commands.
#[test]
fn commands_of_a_pipe_may_ask() {
    let scene = Scene::new();
    let input = scene.file("input", b"ask \\%a {Name? }\nEva\necho got \\%a\nexit 7\n");
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$1\" kermit < \"$2\"", "sh", peers::WST]).arg(input);
    let end = scene.start("wst", &mut command).expect("it starts").wait(LIMIT).expect("it ends");
    assert!(end.code == 7 && end.said.contains("got Eva"), "{}: {}", end.code, end.said);
}

#[test]
fn calibration_makes_data_and_drops_it() {
    let scene = Scene::new();
    scene.file("root/real.bin", &peers::material::random(50_000, 5));
    let commands = "send /calibrate:3, get /calibrate real.bin, echo TF=\\v(tfsize), finish";
    let peer = "enable get both, enable send both, server";
    let end = with_peer(&scene, peer, commands, "");
    assert!(end.code == 0 && end.said.contains("TF=50000"), "{}: {}", end.code, end.said);
    assert_eq!(files(&scene, "in"), [""; 0]);
    let made = std::fs::read(scene.path("root/CALIBRATION")).expect("the file");
    assert_eq!(made.len(), 3 * 1024);
    let different: std::collections::BTreeSet<&u8> = made.iter().collect();
    assert!(different.len() > 200, "only {} different bytes", different.len());
}

/// Two of ours on a pair of sockets that each was given as its stdin.
fn on_descriptors(scene: &Scene, server: &str, client: &str) -> (End, End) {
    let (a, b) = UnixStream::pair().expect("two sockets");
    let start = |name: &str, folder: &str, line: UnixStream, commands: &str| {
        let log = std::fs::File::create(scene.path(name)).expect("a log");
        let commands = format!("set line fd:0, set file display none, {commands}");
        wst(["kermit", "-C", &commands])
            .current_dir(scene.folder(folder))
            .env("XDG_CONFIG_HOME", scene.path("no-config"))
            .stdin(Stdio::from(OwnedFd::from(line)))
            .stdout(log.try_clone().expect("a log"))
            .stderr(log)
            .spawn()
            .expect("wst runs")
    };
    let mut serving = start("server.log", "root", a, server);
    let mut calling = start("client.log", "in", b, client);
    let mut ends = [&mut calling, &mut serving].map(|child| {
        let until = std::time::Instant::now() + LIMIT;
        let status = loop {
            match child.try_wait().expect("a child") {
                Some(status) => break status,
                None if std::time::Instant::now() > until => {
                    child.kill().expect("killed");
                    break child.wait().expect("it ends");
                }
                None => std::thread::sleep(std::time::Duration::from_millis(20)),
            }
        };
        End { code: status.code().unwrap_or(-1), said: String::new() }
    });
    for (end, name) in ends.iter_mut().zip(["client.log", "server.log"]) {
        end.said = std::fs::read_to_string(scene.path(name)).expect("a log");
    }
    let [client, server] = ends;
    (client, server)
}

/// On a line that we did not answer, LOCAL is the right that counts; CD is the right to directories in names, and MKDIR
/// to new ones.
#[test]
fn directories_in_names_need_the_rights_to_them() {
    for (rights, accepted) in [
        ("enable mkdir both", false),
        ("enable mkdir both, enable cd local", true),
        ("enable mkdir both, enable cd both", true),
        ("enable mkdir both, enable cd remote", false),
        ("enable cd both", false),
    ] {
        let scene = Scene::new();
        scene.file("in/payload", b"payload");
        let server = format!("enable send both, {rights}, server, exit");
        let client = "send /as-name:below/payload payload, finish, exit";
        let (client, server) = on_descriptors(&scene, &server, client);
        let there = scene.path("root/below/payload").exists();
        assert_eq!(there, accepted, "{rights}: {} / {}", client.said, server.said);
        assert_eq!(client.code == 0, accepted, "{rights}: {} / {}", client.said, server.said);
    }
}

/// A server in mode automatic looks at what a file has, as SEND does.
#[test]
fn a_server_recognises_text_in_mode_automatic() {
    for (mode, expected) in [("automatic", &b"one\r\ntwo\r\n"[..]), ("manual", b"one\ntwo\n")] {
        let scene = Scene::new();
        scene.file("root/t", b"one\ntwo\n");
        scene.file("root/b", b"one\ntwo\n\0\xFF");
        let peer = format!("set transfer mode {mode}\nenable get both\nserver");
        // Another system, whose lines end with CR LF.
        let commands = format!(
            "set transfer mode {mode}, set file system-id UN, set file end-of-line crlf, get t, get b, finish"
        );
        let end = with_peer(&scene, &peer, &commands, "");
        assert_eq!(end.code, 0, "{mode}: {}", end.said);
        let read = |name: &str| std::fs::read(scene.path("in").join(name)).expect("the file");
        assert_eq!(read("t"), expected, "{mode}");
        assert_eq!(read("b"), b"one\ntwo\n\0\xFF", "{mode}");
    }
}

/// Files in several sets one after the other, and every form of UCS-2, there and back.
#[test]
fn text_of_sixteen_bits_has_the_form_that_is_set() {
    let scene = Scene::new();
    let text = "n\u{f1}\n";
    for (name, bytes) in [
        ("le", &b"n\0\xF1\0\n\0"[..]),
        ("be", b"\0n\0\xF1\0\n"),
        ("marked", b"\xFE\xFF\0n\0\xF1\0\n"),
        ("latin", b"n\xF1\n"),
    ] {
        scene.file(&format!("in/{name}"), bytes);
    }
    let begin = "set file type text, set transfer character-set utf8, set receive confirm off";
    let send = "set file character-set ucs2, set file ucs bom off, set file ucs byte-order little-endian, send le, \
                set file ucs byte-order big-endian, send be, set file ucs byte-order little-endian, send marked, \
                set file character-set latin1-iso, send latin";
    let get = "set file character-set ucs2, get le le2, set file ucs byte-order big-endian, get le be2, \
               set file ucs bom on, get le marked2, finish";
    let peer = "set file type text\nset transfer character-set utf8\nset file character-set utf8\n\
                enable get both\nserver";
    let end = with_peer(&scene, peer, &format!("{begin}, {send}, {get}"), "");
    assert_eq!(end.code, 0, "{}", end.said);
    for name in ["le", "be", "marked", "latin"] {
        let there = std::fs::read(scene.path("root").join(name)).expect("the file");
        assert_eq!(there, text.as_bytes(), "{name}");
        if name != "latin" {
            let back = std::fs::read(scene.path("in").join(format!("{name}2"))).expect("the file");
            let as_sent = std::fs::read(scene.path("in").join(name)).expect("the file");
            assert_eq!(back, as_sent, "{name}");
        }
    }
}
