//! Files of Windows: names, what exists, what is left when the program dies.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

use crate::peers::{LIMIT, Scene, last_event, same, wst};
use crate::session::{Windows, between, listening, wine};
use wetstring_testkit::noise;

/// Names that no file of Windows can have, or that mean something else, and what they become.
const HOSTILE: [(&[u8], &str); 12] = [
    (b"CON", "_CON"),
    (b"aux.txt", "_aux.txt"),
    (b"nul .c", "_nul .c"),
    (b"LPT1.txt", "_LPT1.txt"),
    (b"COM\xC2\xB9", "_COM\u{b9}"),
    (b"trailing.", "trailing%2E"),
    (b"trailing ", "trailing%20"),
    (b"what?", "what%3F"),
    (b"stream:data", "stream%3Adata"),
    (b"<a>|\"b\"*", "%3Ca%3E%7C%22b%22%2A"),
    (b"caf\xE9", "caf%E9"),
    (b"50%25", "50%2525"),
];

#[test]
fn names_that_windows_cannot_have_are_stored_under_ones_that_say_them() {
    let Some(wine) = wine() else { return };
    for protocol in ["kermit", "zmodem", "ymodem"] {
        let scene = Scene::new();
        let (mut receiver, at) =
            listening(wine, &scene, Windows::Receives, "tcp", &["-P", protocol]).unwrap();
        let folder = scene.folder("out");
        let mut send = wst(["send", "-P", protocol]);
        for (name, _) in HOSTILE {
            let path = folder.join(std::ffi::OsStr::from_bytes(name));
            fs::write(&path, name).unwrap();
            send.arg(path);
        }
        send.arg(format!("tcp://{at}"));
        let sent = scene.start("send", &mut send).unwrap().wait(LIMIT).unwrap();
        let got = receiver.wait(LIMIT).unwrap();
        assert_eq!((sent.code, got.code), (0, 0), "{protocol}: {sent:?} {got:?}");
        let mut names: Vec<String> = fs::read_dir(scene.path("in"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let mut want: Vec<String> = HOSTILE.map(|(_, stored)| stored.to_owned()).to_vec();
        names.sort();
        want.sort();
        assert_eq!(names, want, "{protocol}");
        for (name, stored) in HOSTILE {
            // Each is told with its rule: none changes in silence.
            assert_eq!(fs::read(scene.path("in").join(stored)).unwrap(), name);
            assert!(got.said.contains(stored), "{stored}: {}", got.said);
        }
        assert!(got.said.contains("became %XX"), "{}", got.said);
    }
}

#[test]
fn an_existing_file_is_put_aside_and_dates_are_kept() {
    let Some(wine) = wine() else { return };
    let scene = Scene::new();
    let file = scene.file("notes.txt", b"new");
    let date = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    fs::File::options().write(true).open(&file).unwrap().set_modified(date).unwrap();
    scene.file("in/notes.txt", b"old");
    between(wine, &scene, Windows::Receives, "tcp", &[], &file).unwrap();
    assert_eq!(fs::read(scene.path("in/notes.txt")).unwrap(), b"new");
    assert_eq!(fs::read(scene.path("in/notes.txt.~1~")).unwrap(), b"old");
    let stored = fs::metadata(scene.path("in/notes.txt")).unwrap().modified().unwrap();
    assert_eq!(stored, date);
    assert_eq!(fs::read_dir(scene.path("in")).unwrap().count(), 2, "nothing else is left");
}

#[test]
fn a_killed_receiver_is_resumed() {
    let Some(wine) = wine() else { return };
    let scene = Scene::new();
    let file = scene.file("large.bin", &noise(1, 24_000_000));
    let (mut receiver, at) = listening(wine, &scene, Windows::Receives, "tcp", &[]).unwrap();
    let send = |at: &str| wst(["send", file.to_str().unwrap(), &format!("tcp://{at}")]);
    let mut sender = scene.start("send", &mut send(&at)).unwrap();
    let part = scene.path("in/large.bin.part");
    let until = Instant::now() + Duration::from_secs(20);
    while fs::metadata(&part).map_or(0, |part| part.len()) < 1_000_000 {
        assert!(Instant::now() < until, "expected a part of a megabyte: {}", receiver.said());
    }
    // With the process group, by signal 9.
    drop(std::mem::replace(&mut receiver, scene.start("none", &mut wst(["--version"])).unwrap()));
    assert_ne!(sender.wait(LIMIT).unwrap().code, 0);
    let kept = fs::metadata(&part).unwrap().len();
    assert!(kept < 24_000_000, "it had ended already");
    let (mut receiver, at) = listening(wine, &scene, Windows::Receives, "tcp", &[]).unwrap();
    let sent = scene.start("send", &mut send(&at)).unwrap().wait(LIMIT).unwrap();
    let got = receiver.wait(LIMIT).unwrap();
    assert_eq!((sent.code, got.code), (0, 0), "{sent:?} {got:?}");
    same(&file, &scene.path("in/large.bin")).unwrap();
    let end = last_event(&got).unwrap();
    assert!(end.to_string().contains("resumed"), "{end}");
}

#[test]
fn a_server_gives_and_takes_files() {
    let Some(wine) = wine() else { return };
    let scene = Scene::new();
    scene.file("root/there.txt", b"there\n");
    let ours = scene.file("ours.txt", b"ours\n");
    let root = scene.path("root").display().to_string();
    let args = ["serve", "--root", &root, "--allow", "write", "--json", "tcp-listen://127.0.0.1:0"];
    let mut server = scene.start("serve", &mut wine.wst(args)).unwrap();
    let line = server.line_after("listening on ").unwrap();
    let at = format!("tcp://{}", line.split(['"', ' ']).next().unwrap());
    let into = scene.folder("got").display().to_string();
    for command in [
        vec!["get", "there.txt", "-o", &into, &at],
        vec!["put", ours.to_str().unwrap(), &at],
        vec!["get", "ours.txt", "-o", &into, &at],
    ] {
        let end = scene.start("client", &mut wst(&command)).unwrap().wait(LIMIT).unwrap();
        assert_eq!(end.code, 0, "{command:?}: {end:?}");
    }
    assert_eq!(fs::read(scene.path("got/there.txt")).unwrap(), b"there\n");
    same(&ours, &scene.path("root/ours.txt")).unwrap();
    same(&ours, &scene.path("got/ours.txt")).unwrap();
    let outside = ["get", "../ours.txt", "-o", &into, &at];
    let end = scene.start("client", &mut wst(outside)).unwrap().wait(LIMIT).unwrap();
    assert_ne!(end.code, 0, "{end:?}");
}
