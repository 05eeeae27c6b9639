//! TLS: C-Kermit as client, socat's TLS in front of a server, certificates right and wrong.

use crate::peers;

use std::process::Command;

use peers::ckermit::listens;
use peers::serving::{client, server_at, stock};
use peers::{End, LIMIT, Running, Scene, ckermit, free_port, peer, same, wst};

/// A certificate that has signed itself, and its key.
fn certificate(scene: &Scene, name: &str) -> Option<(String, String)> {
    let openssl = peer("openssl", "openssl")?;
    let path = |kind: &str| scene.path(&format!("{name}.{kind}")).display().to_string();
    let (cert, key) = (path("pem"), path("key"));
    let mut command = Command::new(openssl);
    command.args([
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
    ]);
    command.args(["-keyout", &key, "-out", &cert, "-days", "2", "-subj", "/CN=localhost"]);
    command.args(["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]);
    let end = scene.start("openssl", &mut command).unwrap().wait(LIMIT).unwrap();
    assert_eq!(end.code, 0, "{}", end.said);
    Some((cert, key))
}

/// Our server, its address, and the fingerprint that it tells.
fn serve(scene: &Scene, (cert, key): &(String, String)) -> (Running, String, String) {
    let line = format!("tls-listen://127.0.0.1:0?cert={cert}&key={key}");
    let (mut running, at) = server_at(scene, &line, &["--allow", "write"]).unwrap();
    let print = running.line_after("certificate ").unwrap();
    (running, at, print)
}

fn get(scene: &Scene, line: &str) -> End {
    let into = scene.folder("in").display().to_string();
    let args = ["get", line, "bin.dat", "-o", &into];
    scene.start("wst", &mut wst(args)).unwrap().wait(LIMIT).unwrap()
}

#[test]
fn who_is_trusted() {
    let scene = Scene::new();
    let Some(pair) = certificate(&scene, "right") else { return };
    let (other, _) = certificate(&scene, "other").expect("it was there");
    stock(&scene);
    let (_server, at, print) = serve(&scene, &pair);
    for (query, code, say) in [
        (format!("?fingerprint={print}"), 0, "verified"),
        (format!("?fingerprint={}", print.to_uppercase()), 0, "verified"),
        (format!("?ca={}", pair.0), 0, "verified"),
        // It is self-signed; the message says how to trust it.
        (String::new(), 3, "no authority"),
        (format!("?ca={other}"), 3, print.as_str()),
        (
            format!("?fingerprint={}", "0".repeat(64)),
            3,
            "expected a certificate with the fingerprint",
        ),
        ("?ca=no-such-file".to_owned(), 3, "could not read no-such-file"),
    ] {
        let _ = std::fs::remove_dir_all(scene.path("in"));
        let end = get(&scene, &format!("tls://{at}{query}"));
        assert!(end.code == code && end.said.contains(say), "{query}: {end:?}");
        if code == 0 {
            same(&scene.path("root/bin.dat"), &scene.path("in/bin.dat")).unwrap();
        }
    }
    // No TLS to a TLS port, and TLS to a port that has none.
    assert_eq!(get(&scene, &format!("tcp://{at}")).code, 3);
    let (_plain, at) = server_at(&scene, "tcp-listen://127.0.0.1:0", &[]).unwrap();
    let end = get(&scene, &format!("tls://{at}"));
    assert!(end.code == 3 && end.said.contains("agree on TLS"), "{end:?}");
}

#[test]
fn ckermit_asks_over_tls() {
    let Some(_) = ckermit() else { return };
    let scene = Scene::new();
    let Some(pair) = certificate(&scene, "right") else { return };
    stock(&scene);
    let (_server, at, _) = serve(&scene, &pair);
    scene.file("up.dat", &vec![255; 70_000]);
    let commands = format!(
        "get bin.dat\nif fail exit 1 get\nsend {}\nif fail exit 2 send\n\
         remote directory\nif fail exit 3 directory\nfinish\nif fail exit 4 finish",
        scene.path("up.dat").display()
    );
    let before = "set authentication tls verify no\n";
    let end = client(&scene, &at, before, "/tls-raw", &commands).unwrap();
    assert_eq!(end.code, 0, "{}", end.said);
    same(&scene.path("root/bin.dat"), &scene.path("in/bin.dat")).unwrap();
    same(&scene.path("up.dat"), &scene.path("root/up.dat")).unwrap();
}

#[test]
fn socat_has_the_tls() {
    let (Some(_), Some(socat)) = (ckermit(), peer("socat", "socat")) else { return };
    let scene = Scene::new();
    let Some((cert, key)) = certificate(&scene, "right") else { return };
    stock(&scene);
    // We call: its TLS, then C-Kermit's server.
    let (near, far) = (free_port(), free_port());
    let script = format!(
        "set quiet on\nset exit warning off\nset tcp reverse-dns-lookup off\ncd {}\n\
         set host /server * {far} /raw\nif fail exit 99\nserver\nexit 0\n",
        scene.path("root").display()
    );
    let script = scene.file("server.ksc", script.as_bytes());
    let mut command = Command::new("kermit");
    let _kermit = scene.start("kermit", command.arg("-Y").arg("+").arg(script)).unwrap();
    listens(far).unwrap();
    let listen =
        format!("OPENSSL-LISTEN:{near},reuseaddr,bind=127.0.0.1,cert={cert},key={key},verify=0");
    let mut command = Command::new(&socat);
    command.arg(listen).arg(format!("TCP:127.0.0.1:{far}"));
    let _socat = scene.start("socat", &mut command).unwrap();
    listens(near).unwrap();
    let end = get(&scene, &format!("tls://localhost:{near}?ca={cert}"));
    assert_eq!(end.code, 0, "{}", end.said);
    same(&scene.path("root/bin.dat"), &scene.path("in/bin.dat")).unwrap();
}

/// As ssh does it: what others on this machine can read is no private key.
#[test]
fn a_key_that_others_may_read_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let scene = Scene::new();
    let Some((cert, key)) = certificate(&scene, "open") else { return };
    stock(&scene);
    let line = format!("tls-listen://127.0.0.1:0?cert={cert}&key={key}");
    let root = scene.path("root").display().to_string();
    for (mode, refused) in [(0o644, true), (0o604, true), (0o620, true), (0o640, false)] {
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(mode)).unwrap();
        let mut server =
            scene.start("server", &mut wst(["serve", &line, "--root", &root])).unwrap();
        if refused {
            let end = server.wait(LIMIT).unwrap();
            assert_ne!(end.code, 0, "{mode:o}");
            let say = format!("{mode:04o} are too open");
            assert!(end.said.contains(&say) && end.said.contains("chmod 600"), "{}", end.said);
        } else {
            server.line_after("listening on ").unwrap();
        }
    }
}
