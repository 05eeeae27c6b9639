//! Two files of one name in one batch: every sender, whatever its protocol, sends them under two names
//! and says so. The receivers here overwrite what they have, so that nothing else keeps both.

use crate::common;

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use common::{Desk, Running, WST, names, run, wst};

/// `a/f`, `b/f` and `c/f`, and a file that has the name which the second would get.
const FILES: [&str; 4] = ["a/f", "b/f", "c/f.~1~", "c/f"];
const WANTED: [(&str, &str); 4] =
    [("f", "a/f"), ("f.~1~", "c/f.~1~"), ("f.~2~", "b/f"), ("f.~3~", "c/f")];

fn desk() -> Desk {
    let desk = Desk::new(1);
    for name in FILES {
        fs::create_dir_all(desk.path(name.rsplit_once('/').unwrap().0)).unwrap();
        // As long as one another: what is resumed is not found out by its length.
        fs::write(desk.path(name), format!("{name:9}").repeat(3000)).unwrap();
    }
    desk
}

#[track_caller]
fn all_arrived(desk: &Desk, sender: &str) {
    let wanted: Vec<&str> = WANTED.iter().map(|(name, _)| *name).collect();
    assert_eq!(names(desk.dir.path().join("in").as_path()), wanted, "{sender}");
    for (name, from) in WANTED {
        let got = fs::read(desk.path(&format!("in/{name}"))).unwrap();
        assert!(got == fs::read(desk.path(from)).unwrap(), "{sender}: {name} is not {from}");
    }
}

#[track_caller]
fn was_said(stderr: &str, sender: &str) {
    for (path, name) in [("b/f", "f.~2~"), ("c/f", "f.~3~")] {
        let say = format!("{path} is sent as {name}: another file of this batch is called f");
        assert!(stderr.contains(&say), "{sender}: {stderr}");
    }
}

/// A sender of the four files, in the directory where they are.
fn sender(desk: &Desk, program: &str, args: &[&str]) -> Command {
    let mut command = wst(args);
    if program != "wst" {
        let link = desk.path(program);
        symlink(WST, &link).unwrap();
        command = Command::new(link);
        command.args(args).env("XDG_CONFIG_HOME", desk.path("none"));
    }
    command.current_dir(desk.dir.path());
    command
}

#[test]
fn wst_send_by_every_protocol() {
    for protocol in ["kermit", "ymodem", "ymodem-g", "zmodem", "uucp-g", "netblt"] {
        let desk = desk();
        let into = desk.path("in");
        let line = if protocol == "netblt" { "udp" } else { "tcp" };
        let at = format!("{line}-listen://127.0.0.1:0");
        let mut args = vec!["receive", "-P", protocol, &at, "-o", &into, "--collision", "replace"];
        let plain: &[&str] = if line == "udp" { &["--plain"] } else { &[] };
        args.extend(plain);
        let receiver = Running::start(wst(&args));
        let at = receiver.says("listening on ");
        let to = format!("{line}://{}", at.rsplit(' ').next().unwrap());
        let mut args = vec!["send", "-P", protocol];
        args.extend(FILES);
        args.push(&to);
        args.extend(plain);
        let sent = run(sender(&desk, "wst", &args));
        let came = receiver.end();
        assert_eq!(sent.code(), 0, "{protocol}: {}", sent.stderr);
        assert_eq!(came.code(), 0, "{protocol}: {}", came.stderr);
        was_said(&sent.stderr, protocol);
        all_arrived(&desk, protocol);
    }
}

#[test]
fn converted_names_that_become_the_same() {
    let desk = Desk::new(1);
    let into = desk.path("in");
    for name in ["a b", "a_b"] {
        fs::write(desk.path(name), name).unwrap();
    }
    let args = ["receive", "tcp-listen://127.0.0.1:0", "-o", &into, "--collision", "replace"];
    let receiver = Running::start(wst(args));
    let to = format!("tcp://{}", receiver.says("listening on "));
    let args = ["send", "-P", "kermit", "--set", "kermit.names=converted", "a b", "a_b", &to];
    let sent = run(sender(&desk, "wst", &args));
    sent.expect(0);
    receiver.end().expect(0);
    assert!(sent.stderr.contains("a_b is sent as a_b.~1~"), "{}", sent.stderr);
    let names = names(desk.dir.path().join("in").as_path());
    assert_eq!(names, ["A_B", "A_B.-1-"]);
    assert_eq!(fs::read(desk.path("in/A_B.-1-")).unwrap(), b"a_b");
}

#[test]
fn sz_and_kermit_by_their_names() {
    for (program, flags, receiver) in [
        ("sz", &["--tcp-client"][..], "zmodem"),
        ("sz", &["--ymodem", "--tcp-client"], "ymodem"),
        ("kermit", &["-Y", "-i", "-j"], "kermit"),
    ] {
        let desk = desk();
        let into = desk.path("in");
        let at = "tcp-listen://127.0.0.1:0";
        let args = ["receive", "-P", receiver, at, "-o", &into, "--collision", "replace"];
        let receiver = Running::start(wst(args));
        let at = receiver.says("listening on ");
        let to = if program == "kermit" { at.replacen(':', " ", 1) } else { at };
        let mut args = flags.to_vec();
        if program == "kermit" {
            let commands = format!("set host {to} /raw, msend {}, exit", FILES.join(" "));
            let sent = run(sender(&desk, program, &["-Y", "-C", &commands]));
            assert_eq!(sent.code(), 0, "{program}: {}", sent.stderr);
            was_said(&sent.stderr, program);
        } else {
            args.push(&to);
            args.extend(FILES);
            let sent = run(sender(&desk, program, &args));
            assert_eq!(sent.code(), 0, "{program}: {}", sent.stderr);
            was_said(&sent.stderr, program);
        }
        receiver.end().expect(0);
        all_arrived(&desk, program);
    }
}

fn server(desk: &Desk, root: &str) -> (Running, String) {
    let root = desk.path(root);
    let args = ["serve", "tcp-listen://127.0.0.1:0", "--root", &root, "--allow", "write"];
    let server = Running::start(wst(args));
    let at = server.says("listening on ");
    (server, format!("tcp://{at}"))
}

#[test]
fn put_and_get() {
    let desk = desk();
    let (_server, line) = server(&desk, "in");
    let mut args = vec!["put"];
    args.push(&line);
    args.extend(FILES);
    let put = run(sender(&desk, "wst", &args));
    put.expect(0);
    was_said(&put.stderr, "put");
    all_arrived(&desk, "put");

    let desk = self::desk();
    let (_server, line) = server(&desk, ".");
    let into = desk.path("in");
    let mut args = vec!["get", &line];
    args.extend(FILES);
    args.extend(["-o", &into, "--set", "store.collision=replace"]);
    let got = run(wst(&args));
    got.expect(0);
    all_arrived(&desk, "the server");
}

#[test]
fn a_tree_keeps_its_directories() {
    let desk = Desk::new(1);
    for (name, text) in [("t/f1.txt", "1"), ("t/sub/f1.txt", "2"), ("t/sub/deep/f1.txt", "3")] {
        fs::create_dir_all(desk.path(name.rsplit_once('/').unwrap().0)).unwrap();
        fs::write(desk.path(name), text).unwrap();
    }
    let whole = ["f1.txt", "sub/deep/f1.txt", "sub/f1.txt"];
    for (what, wanted) in [
        ("/recursive *", &whole[..]),
        ("/recursive *.txt", &whole),
        ("/recursive .", &whole),
        ("/recursive sub", &whole[1..]),
        ("/recursive ../t/sub/*", &["t/sub/deep/f1.txt", "t/sub/f1.txt"]),
        ("/pathnames:relative sub/f1.txt", &["sub/f1.txt"]),
        ("/recursive /pathnames:off *", &["f1.txt", "f1.txt.~1~", "f1.txt.~2~"]),
    ] {
        let _ = fs::remove_dir_all(desk.path("in"));
        fs::create_dir(desk.path("in")).unwrap();
        let (_server, line) = server(&desk, "in");
        let to = line.trim_start_matches("tcp://").replacen(':', " ", 1);
        let commands = format!("set host {to} /raw, cd t, send {what}, finish, exit");
        let mut command = wst(["kermit", "-C", &commands]);
        command.current_dir(desk.dir.path());
        run(command).expect(0);
        let mut got = Vec::new();
        gather(&desk.path("in"), "", &mut got);
        got.sort();
        assert_eq!(got, wanted, "{what}");
    }
}

fn gather(place: &str, below: &str, names: &mut Vec<String>) {
    for entry in fs::read_dir(place).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{below}{}", entry.file_name().to_str().unwrap());
        if entry.path().is_dir() {
            gather(entry.path().to_str().unwrap(), &format!("{name}/"), names);
        } else {
            names.push(name);
        }
    }
}
