//! What a server is told of the kind of files that its client has set by hand, with C-Kermit as either of the two.

use crate::peers;

use std::process::{Command, Stdio};

use peers::ckermit::listens;
use peers::serving::server;
use peers::{End, LIMIT, Scene, ckermit, free_port, wst};

/// Runs commands of `-C` by one of the two.
fn run(scene: &Scene, ours: bool, at: &str, commands: &str) -> End {
    let (host, port) = at.split_once(':').expect("HOST:PORT");
    let list = format!("set host {host} {port} /raw-socket, set quiet on, {commands}");
    let mut command = if ours { wst(["kermit", "-C"]) } else { Command::new("kermit") };
    if !ours {
        command.args(["-Y", "-H", "-Q", "-C"]);
    }
    command.arg(&list).current_dir(scene.folder("in")).stdin(Stdio::null());
    let who = if ours { "wst" } else { "kermit" };
    scene.start(who, &mut command).expect("it starts").wait(LIMIT).expect("it ends")
}

/// Bytes that come from C-Kermit's server, which chooses by what is in a file unless it is told; a text is UTF-8 in the
/// file and on the wire.
fn got(kind: &str, name: &str) -> Vec<u8> {
    let (scene, port) = (Scene::new(), free_port());
    scene.file(&format!("root/{name}"), "Gr\u{fc}\u{df}e\n".as_bytes());
    let begin = format!(
        "set quiet on, set file character-set utf8, set file patterns on, \
         set host /server * {port} /raw-socket, server, exit"
    );
    let mut command = Command::new("kermit");
    let root = scene.path("root");
    command.args(["-Y", "-H", "-Q", "-C", &begin]).current_dir(root).stdin(Stdio::null());
    let _server = scene.start("kermit", &mut command).expect("it starts");
    listens(port).expect("it listens");
    let at = format!("127.0.0.1:{port}");
    let commands = format!("{kind}, get {name}, finish, exit");
    let end = run(&scene, true, &at, &commands);
    assert_eq!(end.code, 0, "{kind} {name}: {}", end.said);
    std::fs::read(scene.path("in").join(name)).expect("the file")
}

#[test]
fn a_server_is_told_which_kind_was_set() {
    if ckermit().is_none() {
        return;
    }
    let (utf8, cp850) = ("Gr\u{fc}\u{df}e\n".as_bytes(), b"Gr\x81\xe1e\n");
    let text = "set file type text, set file character-set cp850";
    assert_eq!(got(text, "greeting.exe"), cp850, "text, whatever its name");
    let nothing = "set file character-set cp850";
    assert_eq!(got(nothing, "greeting.txt"), utf8, "bytes, as long as nothing is said");
    assert_eq!(got("set file type binary", "greeting.txt"), utf8, "bytes, whatever is in it");
    let off = format!("{text}, set transfer translation off");
    assert_eq!(got(&off, "greeting.txt"), utf8, "as it stands on the wire");
}

/// C-Kermit says text by its own mode; our server would send bytes.
#[test]
fn our_server_heeds_the_mode_of_its_client() {
    if ckermit().is_none() {
        return;
    }
    let scene = Scene::new();
    scene.file("root/greeting", "Gr\u{fc}\u{df}e\n".as_bytes());
    let flags = ["--set", "kermit.transfer-set=latin1-iso"];
    let (_server, at) = server(&scene, "tcp-listen", &flags).expect("a server");
    let mode = "set transfer mode manual, set file type text, set file character-set cp850";
    let end = run(&scene, false, &at, &format!("{mode}, get greeting, exit"));
    assert_eq!(end.code, 0, "{}", end.said);
    assert_eq!(std::fs::read(scene.path("in/greeting")).expect("the file"), b"Gr\x81\xe1e\n");
}

#[test]
fn words_of_ckermit_are_known() {
    let scene = Scene::new();
    let commands = "lcd in, lpwd, set send character-set manual, set receive character-set automatic, \
                    set transfer translation on, exit";
    let mut command = wst(["kermit", "-C", commands]);
    scene.folder("in");
    command.current_dir(scene.path("")).stdin(Stdio::null());
    let end = scene.start("wst", &mut command).expect("it starts").wait(LIMIT).expect("it ends");
    assert_eq!(end.code, 0, "{}", end.said);
}
