//! Telnet: C-Kermit as client and as server, G-Kermit behind a login service, and our two ends.

use crate::peers;

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use peers::ckermit::listens;
use peers::serving::{against, client, server, stock};
use peers::{LIMIT, Running, Scene, ckermit, free_port, gkermit, peer, same, same_bytes, wst};

/// Every byte value, and what Telnet treats specially, in every combination of two.
fn special() -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..=255).collect();
    let hard = [0, 10, 13, 17, 19, 240, 250, 251, 255];
    bytes.extend(hard.into_iter().flat_map(|a| hard.into_iter().flat_map(move |b| [a, b])));
    bytes.extend([255; 999]);
    bytes.extend([13; 999]);
    bytes
}

#[test]
fn ckermit_asks_our_service() {
    let Some(_) = ckermit() else { return };
    for binary in ["requested", "refused"] {
        let scene = Scene::new();
        stock(&scene);
        scene.file("root/special.dat", &special());
        scene.file("up.dat", &special());
        let (_server, at) = server(&scene, "telnet-listen", &["--allow", "write"]).unwrap();
        let commands = format!(
            "remote pwd\nif fail exit 1 pwd\n\
             get bin.dat\nif fail exit 2 get\n\
             get special.dat\nif fail exit 3 special\n\
             send {}\nif fail exit 4 send\n\
             remote directory\nif fail exit 5 directory\n\
             remote delete txt.dat\nif fail exit 6 delete\n\
             finish\nif fail exit 7 finish",
            scene.path("up.dat").display()
        );
        let before = format!("set telnet debug on\nset telopt binary {binary} {binary}\n");
        let end = client(&scene, &at, &before, "/telnet", &commands).unwrap();
        assert_eq!(end.code, 0, "binary {binary}: {}", end.said);
        // It has been told that there is a server [RFC 2840].
        assert!(end.said.contains("RCVD SB KERMIT START"), "{}", end.said);
        for (ours, theirs) in [
            ("root/bin.dat", "in/bin.dat"),
            ("root/special.dat", "in/special.dat"),
            ("up.dat", "root/up.dat"),
        ] {
            same(&scene.path(ours), &scene.path(theirs))
                .unwrap_or_else(|e| panic!("binary {binary}, {theirs}: {e}"));
        }
        assert!(!scene.path("root/txt.dat").exists());
    }
}

#[test]
fn we_ask_ckermit() {
    let Some(_) = ckermit() else { return };
    let scene = Scene::new();
    stock(&scene);
    scene.file("root/special.dat", &special());
    scene.file("in/up.dat", &special());
    let calls: &[&[&str]] = &[
        &["get", "bin.dat", "special.dat"],
        &["put", "up.dat"],
        &["remote", "directory", "*.dat"],
        &["remote", "rename", "txt.dat", "moved.dat"],
        &["remote", "bye"],
    ];
    for (end, call) in against(&scene, "telnet", calls).unwrap().iter().zip(calls) {
        assert_eq!(end.code, 0, "{call:?}: {}", end.said);
        assert!(!end.said.contains("does not answer"), "{call:?}: {}", end.said);
    }
    for (theirs, ours) in [
        ("root/bin.dat", "in/bin.dat"),
        ("root/special.dat", "in/special.dat"),
        ("root/up.dat", "in/up.dat"),
    ] {
        same(&scene.path(theirs), &scene.path(ours)).unwrap_or_else(|e| panic!("{theirs}: {e}"));
    }
    assert!(scene.path("root/moved.dat").exists());
}

/// Debian's Telnet server for one call, with a program in place of the login; its port.
fn telnetd(scene: &Scene, commands: &str) -> Result<Option<(Running, u16)>, String> {
    let (Some(socat), Some(_)) = (peer("socat", "socat"), gkermit()) else { return Ok(None) };
    if !std::path::Path::new("/usr/sbin/telnetd").exists() {
        peers::missing("telnetd is not installed (Debian package inetutils-telnetd)");
        return Ok(None);
    }
    let folder = scene.folder("host");
    // A user's shell stays, too: telnetd throws away what a program wrote right before the last one ended.
    let text = format!("#!/bin/sh\ncd {} || exit 1\n{commands}\nsleep 5\n", folder.display());
    let script = scene.file("login.sh", text.as_bytes());
    let mut permissions = fs::metadata(&script).map_err(|e| e.to_string())?.permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
    fs::set_permissions(&script, permissions).map_err(|e| e.to_string())?;
    let port = free_port();
    let running = scene.start(
        "telnetd",
        Command::new(socat)
            .arg(format!("TCP-LISTEN:{port},reuseaddr,bind=127.0.0.1"))
            .arg(format!("EXEC:/usr/sbin/telnetd -h -E {}", script.display())),
    )?;
    listens(port)?;
    Ok(Some((running, port)))
}

#[test]
fn gkermit_behind_a_login_service() {
    let scene = Scene::new();
    scene.file("in/up.dat", &special());
    let Some((_telnetd, port)) = telnetd(&scene, "gkermit -r").unwrap() else { return };
    let up = scene.path("in/up.dat").display().to_string();
    let line = format!("telnet://127.0.0.1:{port}");
    let end = scene.start("wst", &mut wst(["send", &up, &line])).unwrap().wait(LIMIT).unwrap();
    assert_eq!(end.code, 0, "{}", end.said);
    let names: Vec<_> = fs::read_dir(scene.path("host")).unwrap().flatten().collect();
    assert_eq!(names.len(), 1, "{names:?}");
    same(&scene.path("in/up.dat"), &names[0].path()).unwrap();

    let scene = Scene::new();
    scene.file("host/down.dat", &special());
    let (_telnetd, port) =
        telnetd(&scene, "gkermit -i -s down.dat").unwrap().expect("it was there");
    let line = format!("telnet://127.0.0.1:{port}");
    let into = scene.folder("in").display().to_string();
    let end =
        scene.start("wst", &mut wst(["receive", &line, "-o", &into])).unwrap().wait(LIMIT).unwrap();
    assert_eq!(end.code, 0, "{}", end.said);
    let names: Vec<_> = fs::read_dir(scene.path("in")).unwrap().flatten().collect();
    assert_eq!(names.len(), 1, "{names:?}");
    same(&scene.path("host/down.dat"), &names[0].path()).unwrap();
}

#[test]
fn our_two_ends() {
    for protocol in ["kermit", "zmodem", "xmodem-1k"] {
        let scene = Scene::new();
        let up = scene.file("up.dat", &special()).display().to_string();
        let into = scene.folder("in").display().to_string();
        // XMODEM tells no name, and fills its last block.
        let (kind, name): (_, &[&str]) = match protocol {
            "xmodem-1k" => ("xmodem", &["--as", "up.dat"]),
            _ => (protocol, &[]),
        };
        let mut args = vec!["receive", "-P", kind, "telnet-listen://127.0.0.1:0", "-o", &into];
        args.extend_from_slice(name);
        let mut ours = scene.start("receive", &mut wst(args)).unwrap();
        let line = format!("telnet://{}", ours.line_after("listening on ").unwrap());
        let args = ["send", "-P", protocol, &up, &line];
        let end = scene.start("send", &mut wst(args)).unwrap().wait(LIMIT).unwrap();
        assert_eq!(end.code, 0, "{protocol}: {}", end.said);
        assert_eq!(ours.wait(LIMIT).unwrap().code, 0, "{protocol}");
        let got = fs::read(scene.path("in/up.dat")).unwrap();
        same_bytes(&special(), &got[..special().len()])
            .unwrap_or_else(|e| panic!("{protocol}: {e}"));
    }
}

#[test]
fn who_speaks_no_telnet_is_served_too() {
    let scene = Scene::new();
    stock(&scene);
    let (_server, at) = server(&scene, "telnet-listen", &[]).unwrap();
    let began = Instant::now();
    let line = format!("tcp://{at}");
    let into = scene.folder("in").display().to_string();
    let args = ["get", &line, "bin.dat", "-o", &into];
    let end = scene.start("wst", &mut wst(args)).unwrap().wait(LIMIT).unwrap();
    assert_eq!(end.code, 0, "{}", end.said);
    same(&scene.path("root/bin.dat"), &scene.path("in/bin.dat")).unwrap();
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}
