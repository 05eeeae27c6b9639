//! Names with blanks, braces, quotes, wildcards, dashes and backslashes between our client and C-Kermit's
//! server, C-Kermit's client and our server, and between two of us: each command means the one file
//! that it names, and no other. What a server does with every way to write a name is in `serve_names`.

use crate::peers;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use peers::ckermit::listens;
use peers::serving::{client, server};
use peers::{LIMIT, Running, Scene, ckermit, free_port, wst};

/// Names, and how C-Kermit's own client is told them: with braces around them.
const NAMES: [&str; 9] = [
    "one two",
    "file{one}.txt",
    "file {one} two.txt",
    "q\"x\".txt",
    "q \"x\" y",
    "-dash",
    "a*b",
    "[x]",
    "back\\slash",
];

/// What a wrong reading would find.
const DECOYS: [&str; 11] =
    ["one", "two", "fileone.txt", "two.txt", "qx.txt", "q", "y", "aXb", "x", "backslash", "dash"];

/// Which of them C-Kermit's servers cannot be asked for by this command, whatever the client does.
fn beyond_ckermit(verb: &str, name: &str) -> bool {
    let wild = matches!(name, "a*b" | "[x]");
    match verb {
        // Wildcards are wildcards there, though a file may be called so.
        "delete" | "directory" => wild,
        _ => false,
    }
}

fn fill(scene: &Scene) {
    for name in NAMES.iter().chain(&DECOYS) {
        scene.file(&format!("root/{name}"), format!("<{name}>").as_bytes());
    }
}

fn names(scene: &Scene) -> BTreeSet<String> {
    let entries = fs::read_dir(scene.path("root")).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// A server of `root`: ours, or C-Kermit's.
fn start(scene: &Scene, ours: bool) -> (Running, String) {
    if ours {
        let (running, at) = server(scene, "tcp-listen", &["--allow", "write"]).unwrap();
        return (running, format!("tcp://{at}"));
    }
    let port = free_port();
    let begin = format!(
        "set tcp reverse-dns-lookup off, enable delete, cd {}, set host * {port} /raw, server, exit",
        scene.path("root").display()
    );
    let mut command = Command::new("kermit");
    let running = scene.start("server", command.args(["-H", "-Y", "-C", &begin])).unwrap();
    listens(port).unwrap();
    (running, format!("tcp://127.0.0.1:{port}"))
}

/// Runs one verb of ours; what it says.
fn ours(scene: &Scene, args: &[&str]) -> (i32, String) {
    let mut command = wst(args);
    command.current_dir(scene.folder("in"));
    let end = scene.start("wst", &mut command).unwrap().wait(LIMIT).unwrap();
    (end.code, end.said)
}

fn our_client(with_ours: bool) {
    let verbs = ["get", "delete", "type", "directory", "copy", "rename"];
    for verb in verbs {
        for name in NAMES.into_iter().filter(|name| with_ours || !beyond_ckermit(verb, name)) {
            let scene = Scene::new();
            fill(&scene);
            let mut wanted = names(&scene);
            let (_server, line) = start(&scene, with_ours);
            let (code, said) = match verb {
                "get" => ours(&scene, &["get", &line, "--output", ".", "--", name]),
                "copy" | "rename" => ours(&scene, &["remote", &line, "--", verb, name, "new name"]),
                _ => ours(&scene, &["remote", &line, "--", verb, name]),
            };
            let context =
                format!("{verb} {name} of {}: {said}", if with_ours { "ours" } else { "theirs" });
            assert_eq!(code, 0, "{context}");
            match verb {
                "get" => {
                    let got: Vec<_> = fs::read_dir(scene.path("in")).unwrap().collect();
                    assert_eq!(got.len(), 1, "{context}");
                    let path = got[0].as_ref().unwrap().path();
                    assert_eq!(
                        fs::read(path).unwrap(),
                        format!("<{name}>").as_bytes(),
                        "{context}"
                    );
                }
                "type" => {
                    assert!(said.contains(&format!("<{name}>")), "{context}");
                    assert_eq!(said.matches('<').count(), 1, "{context}");
                }
                "directory" => {
                    assert!(said.contains(name) && !said.contains("fileone"), "{context}");
                }
                "copy" | "rename" => {
                    let new = fs::read(scene.path("root/new name")).expect(&context);
                    assert_eq!(new, format!("<{name}>").as_bytes(), "{context}");
                    wanted.insert("new name".into());
                }
                _ => {}
            }
            if matches!(verb, "delete" | "rename") {
                wanted.remove(name);
            }
            assert_eq!(names(&scene), wanted, "{context}");
        }
    }
}

#[test]
fn our_client_and_our_server() {
    our_client(true);
}

#[test]
fn our_client_and_ckermits_server() {
    if ckermit().is_some() {
        our_client(false);
    }
}

/// A name as it is typed to C-Kermit: every character that is special to it by its code.
fn typed(name: &str) -> String {
    let code = |c: char| match c {
        c if c.is_ascii_alphanumeric() || " .-".contains(c) => c.to_string(),
        c => format!("\\{{{}}}", u32::from(c)),
    };
    format!("{{{}}}", name.chars().map(code).collect::<String>())
}

/// One session for each command: C-Kermit takes a second to begin and to end.
#[test]
fn ckermits_client_and_our_server() {
    if ckermit().is_none() {
        return;
    }
    for verb in ["get", "mget", "remote delete", "remote type", "remote copy", "remote rename"] {
        let scene = Scene::new();
        fill(&scene);
        let mut wanted = names(&scene);
        let (_server, at) = server(&scene, "tcp-listen", &["--allow", "write"]).unwrap();
        let mut commands = String::new();
        for (index, name) in NAMES.iter().enumerate() {
            let behind = match verb {
                "mget" => "two".to_owned(),
                "remote copy" | "remote rename" => format!("{{new {index}}}"),
                _ => String::new(),
            };
            let _ = write!(commands, "{verb} {} {behind}\nif fail exit {index}\n", typed(name));
        }
        let before = "set file names literal\nset file collision overwrite\n";
        let end = client(&scene, &at, before, "/raw", &(commands + "finish")).unwrap();
        let context = format!("{verb}: {}", end.said);
        assert_eq!(end.code, 0, "{context}");
        let is = |path: String, name: &str| {
            let got = fs::read(scene.path(&path)).expect(&context);
            assert_eq!(got, format!("<{name}>").as_bytes(), "{path}: {context}");
        };
        let got = fs::read_dir(scene.path("in")).unwrap().count();
        let count = match verb {
            "get" => NAMES.len(),
            "mget" => NAMES.len() + 1,
            _ => 0,
        };
        assert_eq!(got, count, "{context}");
        for (index, name) in NAMES.into_iter().enumerate() {
            match verb {
                "get" | "mget" => is(format!("in/{name}"), name),
                "remote type" => assert_eq!(end.said.matches(&format!("<{name}>")).count(), 1),
                "remote delete" => assert!(wanted.remove(name)),
                _ => {
                    is(format!("root/new {index}"), name);
                    wanted.insert(format!("new {index}"));
                    if verb == "remote rename" {
                        wanted.remove(name);
                    }
                }
            }
        }
        if verb == "remote type" {
            assert_eq!(end.said.matches('<').count(), NAMES.len(), "{context}");
        }
        assert_eq!(names(&scene), wanted, "{context}");
    }
}
