//! The program by the name `kermit`: C-Kermit's command line, against C-Kermit, G-Kermit and ourselves.

use crate::peers;

use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use peers::{End, LIMIT, Running, Scene, ckermit, free_port, gkermit, material, same, wst};

/// A place with our program by that name, and files to send.
struct Place {
    scene: Scene,
    ours: PathBuf,
}

impl Place {
    fn new() -> Self {
        let scene = Scene::new();
        let ours = scene.folder("bin").join("kermit");
        symlink(peers::WST, &ours).expect("a link");
        scene.file("from/a.bin", &material::random(70_000, 30));
        scene.file("from/b.bin", &material::runs());
        scene.file("from/t.txt", b"one\ntwo\n");
        scene.folder("in");
        Self { scene, ours }
    }

    fn kermit(&self, folder: &str, args: &[&str]) -> End {
        let mut command = Command::new(&self.ours);
        command.args(args).current_dir(self.scene.folder(folder)).stdin(Stdio::null());
        let mut running = self.scene.start("kermit", &mut command).expect("it starts");
        running.wait(LIMIT).expect("it ends")
    }

    #[track_caller]
    fn arrived(&self, names: &[&str]) {
        for name in names {
            let (from, to) = (format!("from/{name}"), format!("in/{name}"));
            same(&self.scene.path(&from), &self.scene.path(&to))
                .unwrap_or_else(|e| panic!("{name}: {e}"));
        }
    }

    /// A command of a shell in a folder.
    fn within(&self, folder: &str, command: &str) -> String {
        format!("cd {}; exec {command}", self.scene.folder(folder).display())
    }

    fn ours(&self) -> String {
        self.ours.display().to_string()
    }
}

/// C-Kermit as the local program, ours in its PTY.
fn ckermit_around(place: &Place, remote: &str, folder: &str, commands: &str) -> End {
    let starter = place.scene.file(&format!("remote-{folder}.sh"), b"");
    std::fs::write(&starter, format!("#!/bin/sh\n{remote}\n")).expect("a script");
    let script = format!(
        "set quiet on\nset exit warning off\nset delay 0\nset file display none\nset transfer mode manual\n\
         set file type binary\nset file names literal\ncd {}\nset network type pty\nset host sh {}\n\
         if fail exit 99\n{commands}\nexit 0\n",
        place.scene.folder(folder).display(),
        starter.display()
    );
    let script = place.scene.file("around.ksc", script.as_bytes());
    let mut command = Command::new("kermit");
    command.arg("-Y").arg("+").arg(script);
    let mut running = place.scene.start("C-Kermit", &mut command).expect("kermit starts");
    running.wait(LIMIT).expect("it ends")
}

#[test]
fn it_sends_to_and_receives_from_ckermit_as_the_remote_one() {
    let Some(_) = ckermit() else { return };
    let place = Place::new();
    let ours = place.ours();
    let remote = place.within("from", &format!("{ours} -Y -i -P -s a.bin b.bin"));
    let end = ckermit_around(&place, &remote, "in", "receive\nif fail exit 1");
    assert_eq!(end.code, 0, "{}", end.said);
    place.arrived(&["a.bin", "b.bin"]);
    let place = Place::new();
    let remote = place.within("in", &format!("{ours} -Y -i -r", ours = place.ours()));
    let end = ckermit_around(&place, &remote, "from", "send a.bin\nif fail exit 1");
    assert_eq!(end.code, 0, "{}", end.said);
    place.arrived(&["a.bin"]);
}

#[test]
fn it_is_a_server_of_ckermit() {
    let Some(_) = ckermit() else { return };
    let place = Place::new();
    let remote = place.within("from", &format!("{} -Y -i -P -x", place.ours()));
    let commands = "get a.bin\nif fail exit 1\nget *.bin\nif fail exit 2\nremote directory\n\
                    if fail exit 3\nrename a.bin c.bin\nsend c.bin\nif fail exit 4\nremote cd ..\n\
                    if success exit 5\nfinish\nif fail exit 6";
    let end = ckermit_around(&place, &remote, "in", commands);
    assert_eq!(end.code, 0, "{}", end.said);
    place.arrived(&["b.bin"]);
    for name in ["in/c.bin", "from/c.bin"] {
        same(&place.scene.path("from/a.bin"), &place.scene.path(name)).expect("the same bytes");
    }
}

#[test]
fn it_sends_to_and_receives_from_others_as_the_local_one() {
    let (c, g) = (ckermit().is_some(), gkermit().is_some());
    for (is_there, sends, receives) in [
        (c, "kermit -Y -q -i -P -s a.bin b.bin", "kermit -Y -q -i -r"),
        (g, "gkermit -q -i -P -s a.bin b.bin", "gkermit -q -i -r"),
        (true, "OURS -Y -q -P -s a.bin b.bin", "OURS -Y -q -r"),
    ] {
        if !is_there {
            continue;
        }
        let place = Place::new();
        let line = |folder: &str, command: &str| {
            let command = command.replace("OURS", &place.ours());
            format!("exec-pty:{}", place.within(folder, &command))
        };
        let sent = place
            .kermit("from", &["-Y", "-l", &line("in", receives), "-P", "-is", "a.bin", "b.bin"]);
        assert_eq!(sent.code, 0, "{receives}: {}", sent.said);
        place.arrived(&["a.bin", "b.bin"]);
        for name in ["in/a.bin", "in/b.bin"] {
            std::fs::remove_file(place.scene.path(name)).expect("it is there");
        }
        let got = place.kermit("in", &["-Y", "-ir", "-l", &line("from", sends)]);
        assert_eq!(got.code, 0, "{sends}: {}", got.said);
        place.arrived(&["a.bin", "b.bin"]);
    }
}

#[test]
fn it_goes_through_pipes_with_gkermit() {
    let Some(_) = gkermit() else { return };
    let place = Place::new();
    let line = format!("exec:{}", place.within("in", "gkermit -q -X -i -r"));
    let sent =
        place.kermit("from", &["-Y", "-P", "-v", "4", "-e", "1000", "-l", &line, "-s", "a.bin"]);
    assert_eq!(sent.code, 0, "{}", sent.said);
    place.arrived(&["a.bin"]);
    let line = format!("exec:{}", place.within("from", "gkermit -q -X -i -P -s b.bin"));
    let got = place.kermit("in", &["-Y", "-r", "-a", "other", "-l", &line]);
    assert_eq!(got.code, 0, "{}", got.said);
    same(&place.scene.path("from/b.bin"), &place.scene.path("in/other")).expect("the same bytes");
}

/// Our server of `from`.
fn server(place: &Place) -> (Running, String) {
    let root = place.scene.folder("from").display().to_string();
    let mut command =
        wst(["serve", "tcp-listen://127.0.0.1:0", "--root", &root, "--allow", "write"]);
    let mut running = place.scene.start("server", &mut command).expect("wst runs");
    let at = running.line_after("listening on ").expect("it listens");
    (running, at)
}

#[test]
fn it_is_a_client_of_a_server() {
    let place = Place::new();
    let (_server, at) = server(&place);
    let got = place.kermit("in", &["-Y", "-j", &at, "-g", "a.bin", "b.bin"]);
    assert_eq!(got.code, 0, "{}", got.said);
    place.arrived(&["a.bin", "b.bin"]);
    let mut command = Command::new(&place.ours);
    let out = command.args(["-Y", "-q", "-j", &at, "-G", "t.txt"]).stdin(Stdio::null()).output();
    assert_eq!(out.expect("it ran").stdout, b"one\ntwo\n");
    assert_eq!(place.kermit("in", &["-Y", "-j", &at, "-g", "nonesuch"]).code, 2);
    assert_eq!(place.kermit("in", &["-Y", "-j", &at, "-f"]).code, 0);
    let port = free_port();
    assert_eq!(place.kermit("in", &["-Y", "-j", &format!("127.0.0.1:{port}"), "-r"]).code, 1);
}

#[test]
fn a_tree_is_sent_with_its_names() {
    let place = Place::new();
    place.scene.file("from/tree/deep/x", b"deep");
    let line = format!("exec:{} ", place.within("in", &format!("{} -Y -q -L -r", place.ours())));
    let sent = place.kermit("from", &["-Y", "-L", "-l", &line, "-s", "tree"]);
    assert_eq!(sent.code, 0, "{}", sent.said);
    assert_eq!(std::fs::read(place.scene.path("in/tree/deep/x")).expect("it came"), b"deep");
}

#[test]
fn commands_come_from_files_and_from_the_line() {
    let place = Place::new();
    place.scene.file("in/t.ksc", b"echo file \\%1-\\%2\nif equal \"\\%1\" stop exit 7\n");
    place.scene.file("in/init", b"echo init\n");
    for (args, code, said) in [
        (&["t.ksc", "a", "b"][..], 0, "file a-b\n"),
        (&["t.ksc", "=", "a", "-x"], 0, "file a--x\n"),
        (&["+", "t.ksc", "-s", "b"], 0, "file -s-b\n"),
        (&["t.ksc", "stop"], 7, "file stop-\n"),
        (&["-y", "init", "-C", "echo one, exit 3"], 3, "init\none\n"),
        (&["-Y", "-e", "500", "-C", "echo \\v(packetlen), exit"], 0, "500\n"),
        (&["-Y", "-Z"], 1, "no such option: -Z"),
        (&["-Y", "-s", "nonesuch"], 1, "no such file: nonesuch"),
        (&["-Y", "-l", "/nonesuch", "-r"], 1, "command failed: set line"),
        (&["-h"], 0, "Usage: kermit [FILE] [OPTION]... [= ARG...]"),
        (&["--version"], 0, "kermit (wetstring)"),
    ] {
        let end = place.kermit("in", args);
        assert_eq!(end.code, code, "{args:?}: {}", end.said);
        assert!(end.said.contains(said), "{args:?}: {}", end.said);
    }
    std::fs::write(place.scene.path(".kermrc"), "echo the init file\n").expect("a file");
    let end = place.kermit("in", &["-C", "exit"]);
    assert!(end.said.contains("the init file"), "{}", end.said);
    assert!(!place.kermit("in", &["-Y", "-C", "exit"]).said.contains("the init file"));
}

#[test]
fn commands_from_a_pipe_are_not_a_line() {
    let place = Place::new();
    let mut child = Command::new(&place.ours)
        .args(["-Y", "-q"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .current_dir(place.scene.folder("from"))
        .spawn()
        .expect("it starts");
    child.stdin.take().expect("stdin").write_all(b"send a.bin\necho next\n").expect("it reads");
    let out = child.wait_with_output().expect("it ends");
    assert_eq!(out.stdout, b"next\n");
    assert!(String::from_utf8_lossy(&out.stderr).contains("no connection; SET LINE"));
}
