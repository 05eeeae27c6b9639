//! What `wst get` stores is what it asked for, whatever the server sends; and what does not come is said.

use crate::common;

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::thread;

use common::{Desk, Running, run, wst};

fn server(desk: &Desk) -> (Running, String) {
    let root = desk.path("root");
    let server = Running::start(wst(["serve", "tcp-listen://127.0.0.1:0", "--root", &root]));
    let at = server.says("listening on ");
    (server, at)
}

/// A relay to a server that gives `from`, as long as `to`, another name: F packets with a check of type 3.
fn relay(at: String, from: &'static [u8], to: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let here = listener.local_addr().expect("an address");
    thread::spawn(move || {
        let (client, _) = listener.accept().expect("a client");
        let server = TcpStream::connect(at).expect("the server");
        let (mut up, mut down) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        thread::spawn(move || std::io::copy(&mut up, &mut down));
        forge(server, client, from, to);
    });
    format!("tcp://{here}")
}

fn forge(mut server: TcpStream, mut client: TcpStream, from: &[u8], to: &[u8]) {
    let mut held = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let count = server.read(&mut chunk).unwrap_or(0);
        held.extend_from_slice(&chunk[..count]);
        // Packets end with a carriage return; what is behind the last one waits for its end.
        let whole = held.iter().rposition(|byte| *byte == b'\r').map_or(0, |at| at + 1);
        let mut out: Vec<u8> = held.drain(..if count == 0 { held.len() } else { whole }).collect();
        let header = [b"F", from].concat();
        if let Some(at) = out.windows(header.len()).position(|window| window == header) {
            let end = at + header.len();
            out[at + 1..end].copy_from_slice(to);
            let crc = crc_of(&out[at - 2..end]);
            let chars = [crc >> 12, crc >> 6 & 0x3F, crc & 0x3F].map(|six| six as u8 + 32);
            out[end..end + 3].copy_from_slice(&chars);
        }
        if count == 0 || client.write_all(&out).is_err() {
            let _ = client.shutdown(Shutdown::Both);
            return;
        }
    }
}

/// The check of type 3.
fn crc_of(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(
            crc ^ u16::from(*byte),
            |crc, _| {
                if crc & 1 == 1 { crc >> 1 ^ 0x8408 } else { crc >> 1 }
            },
        )
    })
}

#[test]
fn unrequested_names_are_not_stored() {
    let desk = Desk::new(1);
    fs::create_dir_all(desk.path("root/d")).unwrap();
    fs::write(desk.path("root/a.txt"), "text").unwrap();
    let inbox = desk.path("in");
    let stored = |at: &str| -> Vec<_> {
        let found = fs::read_dir(at).unwrap().map(|entry| entry.unwrap().file_name());
        found.map(|name| name.into_string().unwrap()).collect()
    };
    let get = |line: &str, asked: &str| {
        run(wst(["get", asked, line, "-o", &inbox, "--set", "kermit.check=3"]))
    };
    for (asked, to) in [("a.txt", b".bash"), ("a.txt", b"b.txt"), ("*", b".bash")] {
        let (_server, at) = server(&desk);
        let got = get(&relay(at, b"a.txt", to), asked);
        assert_eq!(got.code(), 1, "{asked}: {}", got.stderr);
        let named = String::from_utf8_lossy(to);
        let said = format!("not requested, so not stored: {named}; not received: {asked}");
        assert!(got.stderr.contains(&said), "{asked}: {}", got.stderr);
        assert!(stored(&inbox).is_empty(), "{:?}", stored(&inbox));
    }
    // The relay by itself does no harm.
    let (_server, at) = server(&desk);
    get(&relay(at, b"a.txt", b"a.txt"), "a.txt").expect(0);
    assert_eq!(stored(&inbox), ["a.txt"]);
}

#[test]
fn missing_files_are_reported() {
    let desk = Desk::new(1);
    fs::create_dir_all(desk.path("root/b")).unwrap();
    fs::write(desk.path("root/a"), "text").unwrap();
    let inbox = desk.path("in");
    // A directory is no file: the server sends the other.
    for (asked, left) in [(&["a", "b"][..], "b"), (&["a", "none*"], "none*")] {
        let (_server, at) = server(&desk);
        let mut words = vec!["get"];
        words.extend(asked);
        let line = format!("tcp://{at}");
        words.extend([&line[..], "-o", &inbox, "--set", "store.collision=replace"]);
        let got = run(wst(words));
        println!("{}", got.stderr);
        assert_ne!(got.code(), 0, "{}", got.stderr);
        assert!(got.stderr.contains(left), "{}", got.stderr);
    }
}

#[test]
fn hidden_files_below_a_requested_directory_are_not_stored() {
    let desk = Desk::new(1);
    fs::create_dir_all(desk.path("root/d")).unwrap();
    fs::write(desk.path("root/d/a.txt"), "text").unwrap();
    let inbox = desk.path("in");
    for asked in ["d", "*", "."] {
        let (_server, at) = server(&desk);
        let line = relay(at, b"d/a.txt", b"d/.bash");
        let got = run(wst(["get", "-r", asked, &line, "-o", &inbox, "--set", "kermit.check=3"]));
        assert_eq!(got.code(), 1, "{asked}: {}", got.stderr);
        let said = format!("not requested, so not stored: d/.bash; not received: {asked}");
        assert!(got.stderr.contains(&said), "{asked}: {}", got.stderr);
        assert!(!fs::exists(desk.path("in/d/.bash")).unwrap(), "{asked}");
    }
}

#[test]
fn kermit_and_scripts_store_only_requested_files() {
    let desk = Desk::new(1);
    fs::create_dir_all(desk.path("root")).unwrap();
    fs::write(desk.path("root/a.txt"), "text").unwrap();
    let inbox = desk.path("in");
    let stored = || fs::read_dir(&inbox).unwrap().count();
    let called = |line: &str, names: &[&str]| {
        let at = line.trim_start_matches("tcp://");
        let mut kermit = wst([&["-Y", "-j", at, "-g"], names].concat());
        kermit.arg0("kermit").current_dir(&inbox);
        run(kermit)
    };
    let (_server, at) = server(&desk);
    let got = called(&relay(at, b"a.txt", b".bash"), &["a.txt"]);
    assert_ne!(got.code(), 0, "{}", got.stderr);
    assert_eq!(stored(), 0, "{}", got.stderr);
    // Of two the second has no file.
    let (_server, at) = server(&desk);
    let got = called(&at, &["a.txt", "none*"]);
    assert_ne!(got.code(), 0, "{}", got.stderr);
    let (_server, at) = server(&desk);
    let (host, port) = at.split_once(':').unwrap();
    let script = format!("set host {host} {port}, mget a.txt none*, exit \\v(status)");
    let mut kermit = wst(["kermit", "-C", &script]);
    kermit.current_dir(&inbox);
    let got = run(kermit);
    assert_eq!(got.code(), 1, "{}", got.stderr);
    assert!(got.stderr.contains("not received: none*"), "{}", got.stderr);
}
