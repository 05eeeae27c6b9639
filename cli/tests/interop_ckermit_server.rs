//! C-Kermit as client of our server, and as server of our client: every command, raw and by Telnet.

use crate::common::relay;
use crate::peers;

use std::fmt::Write as _;
use std::fs;

use relay::Relay;

use peers::serving::{against, client, server, stock};
use peers::{LIMIT, Scene, ckermit, same, wst};
use wetstring_testkit::wait_until;

#[test]
fn ckermit_gets_and_sends() {
    let Some(_) = ckermit() else { return };
    for streaming in ["on", "off"] {
        let scene = Scene::new();
        stock(&scene);
        let (_server, at) = server(&scene, "tcp-listen", &["--allow", "write"]).unwrap();
        scene.file("up.dat", &fs::read(scene.path("root/bin.dat")).unwrap()[..50_000]);
        let commands = format!(
            "set streaming {streaming}\n\
             get bin.dat\nif fail exit 1 get\n\
             get *.dat\nif fail exit 2 wildcards\n\
             send {}\nif fail exit 3 send\n\
             get /recursive sub\nif fail exit 4 recursive\n\
             get /delete txt.dat\nif fail exit 5 delete\n\
             get nothing-here\nif success exit 6 nothing\n\
             finish\nif fail exit 7 finish",
            scene.path("up.dat").display()
        );
        let end = client(&scene, &at, "", "/raw", &commands).unwrap();
        assert_eq!(end.code, 0, "streaming {streaming}: {}", end.said);
        for (ours, theirs) in [
            ("root/bin.dat", "in/bin.dat"),
            ("root/empty.dat", "in/empty.dat"),
            ("up.dat", "root/up.dat"),
            ("root/sub/inner.dat", "in/sub/inner.dat"),
        ] {
            same(&scene.path(ours), &scene.path(theirs))
                .unwrap_or_else(|e| panic!("{theirs}: {e}"));
        }
        assert_eq!(fs::read(scene.path("in/txt.dat")).unwrap(), b"one\ntwo\n");
        assert!(!scene.path("root/txt.dat").exists(), "GET /DELETE deletes");
    }
}

#[test]
fn ckermit_recovers() {
    let Some(_) = ckermit() else { return };
    let scene = Scene::new();
    let bytes = stock(&scene);
    let (_server, at) = server(&scene, "tcp-listen", &["--allow", "write"]).unwrap();
    scene.file("in/bin.dat", &bytes[..70_000]);
    scene.file("root/part.dat", &bytes[..60_000]);
    scene.file("in/part.dat", &bytes);
    let commands = "reget bin.dat\nif fail exit 1\nresend part.dat\nif fail exit 2\nbye";
    let end = client(&scene, &at, "", "/raw", commands).unwrap();
    assert_eq!(end.code, 0, "{}", end.said);
    assert!(fs::read(scene.path("in/bin.dat")).unwrap() == bytes);
    assert!(fs::read(scene.path("root/part.dat")).unwrap() == bytes);
}

/// What stands there of a file that has changed since is not its beginning, and C-Kermit compares nothing.
#[test]
fn ckermit_recovers_nothing_of_another_file() {
    let Some(_) = ckermit() else { return };
    for (changes, continues) in [(false, true), (true, false)] {
        let scene = Scene::new();
        let bytes = stock(&scene);
        let (_server, at) = server(&scene, "tcp-listen", &["--allow", "write"]).unwrap();
        scene.file("in/big.dat", &bytes);
        scene.file("root/old.dat", &bytes[..1000]);
        scene.file("in/old.dat", &bytes[1000..]);
        let relay = Relay::before(&at, 120_000);
        relay.cut();
        let end = client(&scene, &relay.at, "", "/raw", "send big.dat\nexit").unwrap();
        assert_ne!(end.code, 0, "{}", end.said);
        let part = scene.path("root/big.dat.part");
        wait_until("a part", || fs::metadata(&part).is_ok_and(|part| part.len() > 50_000));
        let had = fs::read(&part).unwrap();
        assert!(bytes.starts_with(&had));
        if changes {
            // As long as before, and of another date.
            let other: Vec<u8> = bytes.iter().map(|byte| byte ^ 0x55).collect();
            scene.file("in/big.dat", &other);
            let date = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
            fs::File::options()
                .write(true)
                .open(scene.path("in/big.dat"))
                .and_then(|file| file.set_modified(date))
                .unwrap();
        }
        let relay = Relay::before(&at, usize::MAX);
        let commands = "resend big.dat\nif fail exit 1\nbye";
        let end = client(&scene, &relay.at, "", "/raw", commands).unwrap();
        assert_eq!(end.code, 0, "{}", end.said);
        // A byte of noise takes at least one on the line.
        assert_eq!(relay.passed() < bytes.len(), continues, "{}", relay.passed());
        // Nor is a file of that name the beginning of the next.
        let commands = "resend old.dat\nif fail exit 2\nbye";
        let end = client(&scene, &at, "", "/raw", commands).unwrap();
        assert_eq!(end.code, 0, "{}", end.said);
        for name in ["big.dat", "old.dat"] {
            same(&scene.path(&format!("in/{name}")), &scene.path(&format!("root/{name}")))
                .unwrap_or_else(|e| panic!("{name}: {e}"));
        }
        assert_eq!(fs::read(scene.path("root/old.dat.~1~")).unwrap(), bytes[..1000]);
    }
}

/// The same raw and by Telnet.
#[test]
fn ckermit_asks_for_everything() {
    let Some(_) = ckermit() else { return };
    for (kind, switch) in [("tcp-listen", "/raw"), ("telnet-listen", "/telnet")] {
        everything_for_ckermit(kind, switch);
    }
}

fn everything_for_ckermit(kind: &str, switch: &str) {
    let scene = Scene::new();
    stock(&scene);
    let (_server, at) = server(&scene, kind, &["--allow", "write,host"]).unwrap();
    let good = [
        "remote pwd",
        "remote directory",
        "remote directory *.dat",
        "remote space",
        "remote help",
        "remote who",
        "remote mkdir new",
        "remote cd new",
        "remote cd",
        "remote rmdir new",
        "remote copy txt.dat copy.dat",
        "remote rename copy.dat moved.dat",
        "remote type moved.dat",
        "remote delete moved.dat",
        "remote host echo from the host",
        "remote set block-check 2",
        "remote set window 4",
        "remote set receive packet-length 500",
        "remote set file collision overwrite",
        "remote set file type binary",
        "remote set attributes date on",
        "remote set retry 5",
        "remote set file incomplete keep",
        "remote assign foo bar",
        "remote query global foo",
        "echo \\v(query)",
        "remote query kermit version",
        "get bin.dat",
    ];
    let bad = ["remote cd ..", "remote type nothing", "remote delete nothing", "remote kermit x"];
    let mut commands = String::new();
    for (index, command) in good.iter().enumerate() {
        let _ = write!(commands, "{command}\nif fail exit {} {command}\n", index + 1);
    }
    for (index, command) in bad.iter().enumerate() {
        let _ = write!(commands, "{command}\nif success exit {} {command}\n", index + 60);
    }
    commands.push_str("finish\nif fail exit 90 finish");
    let end = client(&scene, &at, "", switch, &commands).unwrap();
    assert_eq!(end.code, 0, "{kind}: {}", end.said);
    for text in ["from the host", "two", "150000", "bar"] {
        assert!(end.said.contains(text), "{text}: {}", end.said);
    }
    same(&scene.path("root/bin.dat"), &scene.path("in/bin.dat")).unwrap();
}

#[test]
fn ckermit_logs_in() {
    let Some(_) = ckermit() else { return };
    let scene = Scene::new();
    stock(&scene);
    let line = format!("anna:{}\n", wetstring_drive::serve::users::hash(b"secret").unwrap());
    let users = scene.file("users", line.as_bytes()).display().to_string();
    let audit = scene.path("audit").display().to_string();
    let (_server, at) =
        server(&scene, "tcp-listen", &["--users", &users, "--audit", &audit]).unwrap();
    let commands = "remote pwd\nif success exit 1\nremote login anna wrong\nif success exit 2\n\
                    remote login anna secret\nif fail exit 3\nremote pwd\nif fail exit 4\n\
                    get bin.dat\nif fail exit 5\nsend client.ksc\nif success exit 6\n\
                    remote logout\nremote pwd\nif success exit 7\nbye";
    scene.file("in/client.ksc", b"no");
    let end = client(&scene, &at, "", "/raw", commands).unwrap();
    assert_eq!(end.code, 0, "{}", end.said);
    let log = fs::read_to_string(audit).unwrap();
    assert!(log.contains("user=anna get /bin.dat: done, 150000 bytes"), "{log}");
    assert!(log.contains("login: refused") && !log.contains("secret"), "{log}");
}

#[test]
fn we_get_and_put() {
    let Some(_) = ckermit() else { return };
    let scene = Scene::new();
    let bytes = stock(&scene);
    scene.file("in/up.dat", &bytes[..60_000]);
    let calls: &[&[&str]] = &[
        &["get", "bin.dat"],
        &["get", "--recursive", "*"],
        &["put", "up.dat"],
        &["get", "--delete", "--output", "../second", "txt.dat"],
        &["get", "nothing-here"],
    ];
    scene.folder("second");
    let ends = against(&scene, "tcp", calls).unwrap();
    for (end, call) in ends.iter().zip(calls).take(4) {
        assert_eq!(end.code, 0, "{call:?}: {}", end.said);
    }
    assert_eq!(ends[4].code, 4, "{}", ends[4].said);
    same(&scene.path("root/bin.dat"), &scene.path("in/bin.dat")).unwrap();
    same(&scene.path("root/sub/inner.dat"), &scene.path("in/sub/inner.dat")).unwrap();
    same(&scene.path("in/up.dat"), &scene.path("root/up.dat")).unwrap();
    assert_eq!(fs::read(scene.path("second/txt.dat")).unwrap(), b"one\ntwo\n");
    assert!(!scene.path("root/txt.dat").exists());
}

#[test]
fn we_recover() {
    let Some(_) = ckermit() else { return };
    let scene = Scene::new();
    let bytes = stock(&scene);
    scene.file("in/bin.dat", &bytes[..70_000]);
    scene.file("in/part.dat", &bytes);
    scene.file("root/part.dat", &bytes[..50_000]);
    let calls: &[&[&str]] = &[&["get", "--recover", "bin.dat"], &["put", "--recover", "part.dat"]];
    for (end, call) in against(&scene, "tcp", calls).unwrap().iter().zip(calls) {
        assert_eq!(end.code, 0, "{call:?}: {}", end.said);
    }
    assert!(fs::read(scene.path("in/bin.dat")).unwrap() == bytes);
    assert!(fs::read(scene.path("root/part.dat")).unwrap() == bytes);
}

#[test]
fn we_ask_for_everything() {
    let Some(_) = ckermit() else { return };
    for kind in ["tcp", "telnet"] {
        everything_of_ckermit(kind);
    }
}

fn everything_of_ckermit(kind: &str) {
    let scene = Scene::new();
    stock(&scene);
    let calls: &[(&[&str], &str)] = &[
        (&["remote", "pwd"], "root"),
        (&["remote", "directory", "*.dat"], "bin.dat"),
        (&["remote", "space"], ""),
        (&["remote", "help"], "REMOTE"),
        (&["remote", "mkdir", "new"], "new"),
        (&["remote", "cd", "sub"], "sub"),
        (&["remote", "copy", "txt.dat", "copy.dat"], ""),
        (&["remote", "rename", "copy.dat", "moved.dat"], ""),
        (&["remote", "type", "moved.dat"], "two"),
        (&["remote", "delete", "moved.dat"], ""),
        (&["remote", "rmdir", "new"], ""),
        (&["remote", "host", "echo from the host"], "from the host"),
        (&["remote", "set", "block-check", "2"], ""),
        (&["remote", "set", "collision", "replace"], ""),
        (&["remote", "assign", "foo", "bar"], ""),
        (&["remote", "query", "version"], "00"),
        (&["remote", "who"], ""),
        (&["remote", "finish"], ""),
        (&["remote", "bye"], ""),
    ];
    let words: Vec<&[&str]> = calls.iter().map(|(words, _)| *words).collect();
    let ends = against(&scene, kind, &words).unwrap();
    let mut failed = Vec::new();
    for (end, (call, text)) in ends.iter().zip(calls) {
        // C-Kermit answers these by programs of the machine, and says by a Z with D that such a one failed.
        let by_program = matches!(call, ["remote", "space" | "who"]);
        if end.code > u8::from(by_program).into() || end.code < 0 || !end.said.contains(text) {
            failed.push(format!("{kind} {call:?}: {} {}", end.code, end.said));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(!scene.path("root/moved.dat").exists() && !scene.path("root/new").exists());
}

/// The server's files are in UTF-8, the client's in CP850, and on the wire is Latin-1.
#[test]
fn ckermit_sets_the_character_sets() {
    let Some(_) = ckermit() else { return };
    let scene = Scene::new();
    scene.file("root/text.txt", "Grüße €\n".as_bytes());
    scene.file("up.txt", b"Gr\x81\xE1e\n");
    let (_server, at) = server(&scene, "tcp-listen", &["--allow", "write"]).unwrap();
    let commands = format!(
        "set file type text\nset file character-set cp850\n\
         set transfer character-set latin1-iso\n\
         remote set transfer character-set latin1-iso\nif fail exit 1 transfer set\n\
         remote set file type text\nif fail exit 2 type\n\
         get text.txt\nif fail exit 3 get\n\
         send {}\nif fail exit 4 send",
        scene.path("up.txt").display()
    );
    let end = client(&scene, &at, "", "/raw", &commands).unwrap();
    assert_eq!(end.code, 0, "{end:?}");
    assert_eq!(fs::read(scene.path("in/text.txt")).unwrap(), b"Gr\x81\xE1e ?\n");
    assert_eq!(fs::read(scene.path("root/up.txt")).unwrap(), "Grüße\n".as_bytes());
    // And our own client, which names the set itself.
    let into = scene.folder("ours").display().to_string();
    let line = format!("tcp://{at}");
    let args =
        ["get", "--text", "--set", "kermit.file-set=latin1-iso", &line, "up.txt", "-o", &into];
    let set = ["remote", &line, "set", "transfer-character-set", "utf8"];
    for args in [&set[..], &args[..]] {
        let end = scene.start("wst", &mut wst(args)).unwrap().wait(LIMIT).unwrap();
        assert_eq!(end.code, 0, "{end:?}");
    }
}

/// K packets: what the server runs, and that it runs nothing unless it is told to.
#[test]
fn ckermit_gives_commands_in_its_language() {
    let Some(_) = ckermit() else { return };
    let scene = Scene::new();
    stock(&scene);
    let commands = "remote kermit echo [\\feval(6*7)]\nif fail exit 1";
    let (_server, at) = server(&scene, "tcp-listen", &[]).unwrap();
    let end = client(&scene, &at, "", "/raw", commands).unwrap();
    assert!(end.code == 1 && !end.said.contains("42"), "{end:?}");
    let (_server, at) = server(&scene, "tcp-listen", &["--allow", "kermit"]).unwrap();
    let end = client(&scene, &at, "", "/raw", commands).unwrap();
    assert!(end.code == 0 && end.said.contains("[42]"), "{end:?}");
    let line = format!("tcp://{at}");
    let ours = ["remote", &line, "kermit", "directory *.dat"];
    let end = scene.start("wst", &mut wst(ours)).unwrap().wait(LIMIT).unwrap();
    assert!(end.code == 0 && end.said.contains("bin.dat"), "{end:?}");
}
