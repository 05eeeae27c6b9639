//! Two servers on one object store (`moto_server` speaks S3), with our client and C-Kermit's.

use crate::peers;

use std::fs;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use peers::{LIMIT, Running, Scene, free_port, material, peer, same, wst};

/// A server that speaks S3, from the Python package `moto`.
fn moto() -> Option<PathBuf> {
    peer("moto_server", "none; pip install 'moto[server]'")
}

/// The S3 of this test.
struct Store {
    _running: Running,
    endpoint: String,
}

fn store(scene: &Scene) -> Store {
    let port = free_port();
    let mut command = Command::new("moto_server");
    command.args(["-H", "127.0.0.1", "-p", &port.to_string()]);
    let running = scene.start("moto", &mut command).unwrap();
    let until = Instant::now() + LIMIT;
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < until, "moto_server does not listen");
        std::thread::sleep(Duration::from_millis(50));
    }
    // A bucket is made by PUT on its name.
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let request = format!(
        "PUT /shelf HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
    let mut answer = String::new();
    std::io::Read::read_to_string(&mut stream, &mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    Store { _running: running, endpoint: format!("http://127.0.0.1:{port}") }
}

/// A server on the bucket, and the port that it says.
fn server(scene: &Scene, store: &Store, name: &str, root: &str) -> (Running, String) {
    let mut command =
        wst(["serve", "tcp-listen://127.0.0.1:0", "--root", root, "--allow", "write"]);
    command
        .env("AWS_ENDPOINT", &store.endpoint)
        .env("AWS_ALLOW_HTTP", "true")
        .env("AWS_REGION", "us-east-1")
        .env("AWS_ACCESS_KEY_ID", "testing")
        .env("AWS_SECRET_ACCESS_KEY", "testing");
    let mut running = scene.start(name, &mut command).unwrap();
    let at = running.line_after("listening on ").unwrap();
    (running, at)
}

fn ask(scene: &Scene, name: &str, args: &[&str]) -> String {
    let end = scene.start(name, &mut wst(args)).unwrap().wait(LIMIT).unwrap();
    assert_eq!(end.code, 0, "{args:?}: {end:?}");
    format!("{end:?}")
}

#[test]
fn two_servers_share_a_bucket() {
    let Some(_) = moto() else { return };
    let scene = Scene::new();
    let store = store(&scene);
    let (_one, one) = server(&scene, &store, "one", "s3://shelf/of/books");
    let (_two, two) = server(&scene, &store, "two", "s3://shelf/of/books");
    let (one, two) = (format!("tcp://{one}"), format!("tcp://{two}"));
    // More than one part of an object, and a short one.
    let long = scene.file("from/long.bin", &material::random(11_000_000, 5));
    let short = scene.file("from/short.txt", b"short\n");
    for file in [&long, &short] {
        ask(&scene, "put", &["put", &one, &file.display().to_string()]);
    }
    let into = scene.folder("in").display().to_string();
    ask(&scene, "get", &["get", &two, "long.bin", "short.txt", "-o", &into]);
    same(&long, &scene.path("in/long.bin")).unwrap();
    same(&short, &scene.path("in/short.txt")).unwrap();
    // What one server does the other sees.
    ask(&scene, "mkdir", &["remote", &two, "mkdir", "shelf"]);
    ask(&scene, "rename", &["remote", &two, "rename", "short.txt", "brief.txt"]);
    let list = ask(&scene, "directory", &["remote", &one, "directory"]);
    for name in ["long.bin", "brief.txt", "shelf"] {
        assert!(list.contains(name), "{name} in {list}");
    }
    assert!(!list.contains("short.txt"), "{list}");
    ask(&scene, "delete", &["remote", &one, "delete", "brief.txt"]);
    let list = ask(&scene, "directory", &["remote", &two, "directory"]);
    assert!(!list.contains("brief.txt"), "{list}");
    if peers::ckermit().is_some() {
        let port = two.rsplit(':').next().unwrap();
        let script = scene.file(
            "client.ksc",
            format!(
                "set quiet on\nset exit warning off\nset tcp reverse-dns-lookup off\n\
                 set file type binary\nset transfer mode manual\nset transfer display none\n\
                 cd {}\nset host 127.0.0.1 {port} /raw\nif fail exit 9\n\
                 get long.bin\nif fail exit 2\nsend {} again.txt\nif fail exit 3\n\
                 finish\nexit 0\n",
                scene.folder("kermit").display(),
                short.display(),
            )
            .as_bytes(),
        );
        let mut kermit = Command::new("kermit");
        let mut end = scene.start("kermit", kermit.arg("-Y").arg("+").arg(script)).unwrap();
        let end = end.wait(LIMIT).unwrap();
        assert_eq!(end.code, 0, "{end:?}");
        same(&long, &scene.path("kermit/long.bin")).unwrap();
        ask(&scene, "again", &["get", &one, "again.txt", "-o", &into]);
        assert_eq!(fs::read(scene.path("in/again.txt")).unwrap(), b"short\n");
    }
}

#[test]
fn a_bucket_that_is_not_there_is_said_at_once() {
    let Some(_) = moto() else { return };
    let scene = Scene::new();
    let store = store(&scene);
    let mut command = wst(["serve", "tcp-listen://127.0.0.1:0", "--root", "s3://nowhere/x"]);
    command
        .env("AWS_ENDPOINT", &store.endpoint)
        .env("AWS_ALLOW_HTTP", "true")
        .env("AWS_ACCESS_KEY_ID", "testing")
        .env("AWS_SECRET_ACCESS_KEY", "testing");
    let end = scene.start("server", &mut command).unwrap().wait(LIMIT).unwrap();
    assert_eq!(end.code, 5, "{end:?}");
    let said = format!("{end:?}");
    assert!(said.contains("could not serve s3://nowhere/x"), "{said}");
}
