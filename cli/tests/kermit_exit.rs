//! What EXIT says of what failed before it, and what ends the commands of `-C`: ours and C-Kermit's.

use crate::peers;

use std::process::{Command, Stdio};

use peers::ckermit::listens;
use peers::{LIMIT, Running, Scene, ckermit, free_port, wst};

/// Commands after SET HOST, and the code that the program ends with. The server may only be read.
const READ_ONLY: &[(&str, i32)] = &[
    ("get have, exit", 0),
    ("get nosuch, exit", 1),
    ("get nosuch, get have, exit", 1),
    ("get nosuch, exit 0", 0),
    ("get nosuch, set exit status 0, exit", 0),
    ("get nosuch, set exit status 5, exit", 5),
    ("get nosuch, close, exit", 1),
    ("get nosuch, echo x", 1),
    ("get nosuch, if fail exit 9", 9),
    ("send up, exit", 1),
    ("send up, remote pwd, exit", 1),
    ("remote cd nosuch, exit", 1),
    ("remote cd nosuch, remote pwd, exit", 1),
    ("remote delete have, exit", 1),
    // A mistake ends the list.
    ("send nosuch, exit", 1),
    ("send nosuch, exit 0", 1),
    ("nosuchcommand, exit 0", 1),
    ("set nosuch x, exit 0", 1),
    ("set window 99999, exit 0", 1),
    ("type nosuch, exit 0", 1),
    ("directory nosuch, exit 0", 1),
    ("rename nosuch x, exit 0", 1),
    ("take nosuch, exit 0", 1),
    ("define m {nosuchcommand}, m, exit 0", 1),
    ("if = 1 1 nosuchcommand, exit 0", 1),
    // In a file that is taken it does not.
    ("take mistake, exit", 0),
    ("exit 7 bye", 7),
];

/// Which program is run with `-C`.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Who {
    Ours,
    Theirs,
}

fn code(scene: &Scene, who: Who, commands: &str) -> i32 {
    let mut command = match who {
        Who::Ours => wst(["kermit"]),
        Who::Theirs => Command::new("kermit"),
    };
    if who == Who::Theirs {
        command.args(["-H", "-Y"]);
    }
    command.args(["-C", commands]).current_dir(scene.folder("here")).stdin(Stdio::null());
    scene.start("kermit", &mut command).unwrap().wait(LIMIT).unwrap().code
}

fn stock(scene: &Scene) {
    scene.file("root/have", b"have\n");
    scene.file("here/up", b"up\n");
    scene.file("here/mistake", b"nosuchcommand\n");
}

fn clients() -> Vec<Who> {
    if ckermit().is_some() { vec![Who::Ours, Who::Theirs] } else { vec![Who::Ours] }
}

#[test]
fn exit_says_what_failed() {
    let scene = Scene::new();
    stock(&scene);
    let root = scene.path("root").display().to_string();
    let mut serve = wst(["serve", "tcp-listen://127.0.0.1:0", "--root", &root]);
    let mut server = scene.start("server", &mut serve).unwrap();
    let at = server.line_after("listening on ").unwrap();
    let (_, port) = at.rsplit_once(':').unwrap();
    for who in clients() {
        for (commands, wanted) in READ_ONLY {
            let all = format!("set host 127.0.0.1 {port} /raw, {commands}");
            assert_eq!(code(&scene, who, &all), *wanted, "{who:?}: {commands}");
        }
    }
}

/// A server of C-Kermit's that refuses files which it has.
fn refusing(scene: &Scene, collision: &str) -> Option<(Running, u16)> {
    ckermit()?;
    let port = free_port();
    let begin = format!(
        "set tcp reverse-dns-lookup off, set file collision {collision}, cd {}, \
         set host * {port} /raw, server, exit",
        scene.path("root").display()
    );
    let mut command = Command::new("kermit");
    let running = scene.start("server", command.args(["-H", "-Y", "-C", &begin])).unwrap();
    listens(port).unwrap();
    Some((running, port))
}

#[test]
fn a_refused_file_is_two() {
    for who in clients() {
        for collision in ["discard", "reject"] {
            let scene = Scene::new();
            stock(&scene);
            scene.file("here/have", b"another\n");
            let Some((_server, port)) = refusing(&scene, collision) else { return };
            let commands = format!("set host 127.0.0.1 {port} /raw, send have, send up, exit");
            assert_eq!(code(&scene, who, &commands), 2, "{who:?}: {collision}");
        }
    }
}

/// An older file is refused where newer ones only are taken, and a name that leads out of the directory always: the
/// sender is told, whichever side is the server. What SET FILE COLLISION says holds where clients may delete nothing, too.
#[test]
fn a_file_that_is_not_taken_is_two() {
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(1_000_000);
    for (send, there) in [("send have", "have\n"), ("send /as-name:../up have", "have\n")] {
        for who in clients() {
            let scene = Scene::new();
            stock(&scene);
            let mine = scene.file("here/have", b"older\n");
            let mine = std::fs::File::options().write(true).open(mine).unwrap();
            mine.set_modified(old).unwrap();
            let root = scene.path("root").display().to_string();
            let script = format!("cd {root}\nset file collision update\nserver\n");
            let script = scene.file("serve.ksc", script.as_bytes());
            let pty =
                format!("set host /network-type:pty {} kermit {}", peers::WST, script.display());
            assert_eq!(code(&scene, who, &format!("{pty}, {send}, exit")), 2, "{who:?}: {send}");
            let files: Vec<_> = std::fs::read_dir(&root).unwrap().collect();
            assert_eq!(files.len(), 1, "{who:?}: {send}");
            assert_eq!(std::fs::read_to_string(scene.path("root/have")).unwrap(), there);
            assert!(!scene.path("up").exists());
        }
    }
}

/// An answer with an error to the first file is a refusal of it: here C-Kermit cannot make a directory where a file is.
#[test]
fn an_error_for_the_first_file_is_two() {
    let scene = Scene::new();
    stock(&scene);
    let root = scene.path("root");
    let script = format!("cd {}\nset receive pathnames relative\nserver\n", root.display());
    let script = scene.file("serve.ksc", script.as_bytes());
    for who in clients().into_iter().filter(|_| ckermit().is_some()) {
        let pty = format!("set host /network-type:pty kermit {}", script.display());
        let ends = code(&scene, who, &format!("{pty}, send /as-name:have/c up, send up, exit"));
        assert_eq!(ends, 2, "{who:?}");
    }
}

/// A peer that says nothing, and one that is gone.
#[test]
fn silence_is_one() {
    let scene = Scene::new();
    stock(&scene);
    let few = "set retry-limit 1, set send timeout 1";
    std::thread::scope(|scope| {
        for commands in ["receive", "get have", "send up"] {
            let scene = &scene;
            scope.spawn(move || {
                for peer in ["sleep 60", "true"] {
                    let all =
                        format!("{few}, set host /network-type:pipe {peer}, {commands}, exit");
                    assert_eq!(code(scene, Who::Ours, &all), 1, "{commands}: {peer}");
                }
            });
        }
    });
}

/// The log is made when LOG is said; what cannot be made is a mistake then, not at the first packet.
#[test]
fn logs_are_made_at_once() {
    let scene = Scene::new();
    stock(&scene);
    assert_eq!(
        code(
            &scene,
            Who::Ours,
            "log debug d.log, if not exist d.log exit 5, close debug-log, log packets p.log, exit"
        ),
        0
    );
    assert_eq!(code(&scene, Who::Ours, "log packets nosuch/p.log, exit 0"), 1);
    assert_eq!(code(&scene, Who::Ours, "log debug {|cat}, exit 0"), 1);
    assert_eq!(code(&scene, Who::Ours, "log debug d.log, log packets p.log, exit 0"), 1);
}
