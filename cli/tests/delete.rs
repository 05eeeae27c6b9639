//! `--delete` deletes the file that was sent, and never another of its name or one that changed meanwhile.

use crate::common;

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::thread;

use common::{Desk, Running, run, wst};

fn server(desk: &Desk) -> (Running, String) {
    let root = desk.path("root");
    fs::create_dir(&root).expect("a directory");
    let server = Running::start(wst([
        "serve",
        "tcp-listen://127.0.0.1:0",
        "--root",
        &root,
        "--allow",
        "write",
    ]));
    let at = server.says("listening on ");
    (server, at)
}

/// A relay to a server that does something when the first F packet goes by: by then the file is open, and no
/// byte of it has been sent.
fn relay(at: String, when_open: impl Fn() + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let here = listener.local_addr().expect("an address");
    thread::spawn(move || {
        let (client, _) = listener.accept().expect("a client");
        let server = TcpStream::connect(at).expect("the server");
        let (back, forth) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        let when_open = &when_open;
        thread::scope(|scope| {
            scope.spawn(move || pass(client, forth, when_open));
            pass(server, back, when_open);
        });
    });
    format!("tcp://{here}")
}

fn pass(mut from: TcpStream, mut to: TcpStream, when_open: &impl Fn()) {
    let (mut chunk, mut seen, mut done) = ([0; 4096], Vec::new(), false);
    loop {
        let count = from.read(&mut chunk).unwrap_or(0);
        seen.extend_from_slice(&chunk[..count]);
        // Mark, length, sequence number, type.
        if !done && seen.windows(4).any(|packet| packet[0] == 1 && packet[3] == b'F') {
            done = true;
            when_open();
        }
        if count == 0 || to.write_all(&chunk[..count]).is_err() {
            let _ = to.shutdown(Shutdown::Both);
            return;
        }
    }
}

fn grow(path: &Path) {
    fs::OpenOptions::new().append(true).open(path).unwrap().write_all(b"more\n").unwrap();
}

fn replace(path: &Path) {
    let new = path.with_extension("new");
    fs::write(&new, "new\n").unwrap();
    fs::rename(new, path).unwrap();
}

/// Nothing but these is in a directory: no private name is left.
#[track_caller]
fn only(directory: &str, names: &[&str]) {
    let found = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
    let mut found: Vec<_> = found.map(|name| name.into_string().unwrap()).collect();
    found.sort();
    assert_eq!(found, names);
}

/// What happens to a file of `old` while it is sent, and what is left of it here.
type Case = (fn(&Path), &'static str);

const CASES: [Case; 2] = [(grow, "old\nmore\n"), (replace, "new\n")];

#[test]
fn put_keeps_changed_sources() {
    for (change, left) in CASES {
        let desk = Desk::new(1);
        let (_server, at) = server(&desk);
        fs::create_dir(desk.path("out")).unwrap();
        let path = desk.path("out/log");
        fs::write(&path, "old\n").unwrap();
        let named = path.clone();
        let line = relay(at.clone(), move || change(Path::new(&named)));
        let end = run(wst(["put", "--delete", &path, &line]));
        assert_eq!(end.code(), 1, "{}", end.stderr);
        assert!(end.stderr.contains("sent and not deleted"), "{}", end.stderr);
        assert_eq!(fs::read(&path).unwrap(), left.as_bytes());
        assert_eq!(fs::read(desk.path("root/log")).unwrap(), b"old\n");
        only(&desk.path("out"), &["log"]);
        // As it is now, it goes.
        let end = run(wst(["put", "--delete", &path, &format!("tcp://{at}")]));
        assert_eq!(end.code(), 0, "{}", end.stderr);
        only(&desk.path("out"), &[]);
    }
}

#[test]
fn a_server_keeps_changed_sources() {
    for (change, left) in CASES {
        let desk = Desk::new(1);
        let (_server, at) = server(&desk);
        let path = desk.path("root/log");
        fs::write(&path, "old\n").unwrap();
        let named = path.clone();
        let line = relay(at.clone(), move || change(Path::new(&named)));
        let inbox = desk.path("in");
        let end = run(wst(["get", "--delete", "log", &line, "-o", &inbox]));
        assert_eq!(end.code(), 1, "{}", end.stderr);
        assert!(end.stderr.contains("not deleted where it came from"), "{}", end.stderr);
        assert_eq!(fs::read(&path).unwrap(), left.as_bytes());
        assert_eq!(fs::read(desk.path("in/log")).unwrap(), b"old\n");
        only(&desk.path("root"), &["log"]);
        let end = run(wst(["get", "--delete", "log", &format!("tcp://{at}"), "-o", &inbox]));
        assert_eq!(end.code(), 0, "{}", end.stderr);
        only(&desk.path("root"), &[]);
    }
}

#[test]
fn a_changed_source_is_not_a_success() {
    let desk = Desk::new(1);
    let (_server, at) = server(&desk);
    for way in ["put", "get"] {
        let path = desk.path(if way == "put" { "log" } else { "root/log" });
        fs::write(&path, "old\n").unwrap();
        let named = path.clone();
        let line = relay(at.clone(), move || grow(Path::new(&named)));
        let name = if way == "put" { &path[..] } else { "log" };
        let mut command = wst([way, name, &line]);
        command.current_dir(desk.path("in"));
        let end = run(command);
        assert_eq!(end.code(), 1, "{way}: {}", end.stderr);
        assert!(end.stderr.contains("changed while"), "{way}: {}", end.stderr);
    }
}

#[test]
fn a_script_keeps_changed_sources() {
    for (change, left) in CASES {
        let desk = Desk::new(1);
        let (_server, at) = server(&desk);
        let path = desk.path("log");
        fs::write(&path, "old\n").unwrap();
        let named = path.clone();
        let line = relay(at, move || change(Path::new(&named)));
        let port = line.rsplit(':').next().unwrap();
        let script = format!("set host 127.0.0.1 {port} /raw\nsend /delete {path}\nexit\n");
        fs::write(desk.path("s.ksc"), script).unwrap();
        let end = run(wst(["kermit", &desk.path("s.ksc")]));
        assert!(end.stderr.contains("sent and not deleted"), "{}{}", end.stdout, end.stderr);
        assert_eq!(fs::read(&path).unwrap(), left.as_bytes());
    }
}
