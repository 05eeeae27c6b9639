//! Two hosts of the ARPANET on loopback, each a whole program: echoes, files in every form, and what a server does not do.

use crate::common;

use common::{Ran, Running, noise, run, wst};
use std::fs;
use std::net::UdpSocket;
use std::path::Path;
use std::time::Duration;
use wetstring_testkit::wait_until;

/// A server of a directory, and where its one peer stands.
struct Server {
    dir: tempfile::TempDir,
    running: Running,
    /// The server's UDP port, and its peer's.
    ports: [u16; 2],
    /// What else its line says.
    line: &'static str,
}

/// A UDP port that is free now.
fn free() -> u16 {
    UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Server {
    fn new(more: &[&str], password: Option<&str>) -> Self {
        Self::with("", more, password)
    }

    fn with(line: &'static str, more: &[&str], password: Option<&str>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("root")).unwrap();
        fs::write(dir.path().join("secret"), b"not for you").unwrap();
        std::os::unix::fs::symlink("../secret", dir.path().join("root/link")).unwrap();
        let ports = [free(), free()];
        let said = format!("ncp://0.1?host=127.0.0.1:{}&port={}{line}", ports[1], ports[0]);
        let root = dir.path().join("root").display().to_string();
        let mut command = wst(["ncp", "serve", &said, "--root", &root]);
        command.args(more);
        command.envs(password.map(|word| ("WETSTRING_PASSWORD", word)));
        let running = Running::start(command);
        running.says("host up at UDP port");
        Self { dir, running, ports, line }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join(name)
    }

    /// The line to the server, for this name there.
    fn line(&self, name: &str) -> String {
        let [there, here] = self.ports;
        format!("ncp://0.2/{name}?imp=127.0.0.1:{there}&port={here}{}", self.line)
    }

    fn send(&self, file: &Path, settings: &[&str]) -> Ran {
        let mut command = wst(["send", file.to_str().unwrap(), &self.line("")]);
        for setting in settings {
            command.args(["--set", setting]);
        }
        run(command)
    }

    fn receive(&self, name: &str, into: &str, settings: &[&str]) -> Ran {
        let into = self.path(into).display().to_string();
        let mut command = wst(["receive", &self.line(name), "-o", &into]);
        for setting in settings {
            command.args(["--set", setting]);
        }
        run(command)
    }

    fn end(self) {
        self.running.signal(rustix::process::Signal::TERM);
        self.running.end();
    }
}

#[test]
fn echoes_come_back() {
    let server = Server::new(&[], None);
    let ran = run(wst(["ncp", "echo", &server.line(""), "--count", "2"]));
    ran.expect(0);
    assert!(ran.stderr.contains("2 of 2 echoes answered"), "{}", ran.stderr);
    server.end();
}

#[test]
fn files_go_to_and_fro_in_bytes_of_any_size() {
    let server = Server::new(&["--write"], None);
    let bytes = noise(7, 20_003);
    for settings in [
        &["ncp.byte=8"][..],
        &["ncp.byte=36"],
        &["ncp.byte=36", "ncp.buffers=small"],
        &["ncp.byte=8", "ncp.mode=block"],
    ] {
        let name = format!("file-{}.bin", settings.join("-").replace(['=', '.'], "-"));
        let file = server.path(&name);
        fs::write(&file, &bytes).unwrap();
        server.send(&file, settings).expect(0);
        let stored = fs::read(server.path("root").join(&name)).unwrap();
        assert!(stored == bytes, "{name}: {} bytes are stored", stored.len());
        let into = format!("in-{name}");
        fs::create_dir(server.path(&into)).unwrap();
        server.receive(&name, &into, settings).expect(0);
        let got = fs::read(server.path(&into).join(&name)).unwrap();
        assert!(got == bytes, "{name}: {} bytes came back", got.len());
    }
    server.end();
}

#[test]
fn lines_stay_lines() {
    let server = Server::new(&["--write"], None);
    let file = server.path("text");
    fs::write(&file, "one\ntwo\n\nfour\n").unwrap();
    server.send(&file, &["ncp.type=ascii"]).expect(0);
    assert_eq!(fs::read(server.path("root/text")).unwrap(), b"one\ntwo\n\nfour\n");
    server.end();
}

#[test]
fn nothing_outside_the_root_is_seen_and_nothing_is_stored_unless_allowed() {
    let server = Server::new(&[], None);
    fs::create_dir(server.path("in")).unwrap();
    for name in ["../secret", "link", "root/../../secret", "nothing"] {
        let ran = server.receive(name, "in", &[]);
        assert_ne!(ran.code(), 0, "{name}: {}", ran.stderr);
        assert!(fs::read_dir(server.path("in")).unwrap().next().is_none(), "{name}");
    }
    let file = server.path("new.bin");
    fs::write(&file, b"new").unwrap();
    let ran = server.send(&file, &[]);
    assert_ne!(ran.code(), 0, "{}", ran.stderr);
    assert!(!server.path("root/new.bin").exists());
    server.end();
}

#[test]
fn only_who_has_the_password_comes_in() {
    let server = Server::new(&["--user", "kanodia"], Some("multics"));
    fs::write(server.path("root/tape"), b"bits").unwrap();
    fs::create_dir(server.path("in")).unwrap();
    let fetch = |password: &str| {
        let into = server.path("in").display().to_string();
        let mut command = wst(["receive", &server.line("tape"), "-o", &into]);
        command.args(["--set", "ncp.user=kanodia"]).env("WETSTRING_PASSWORD", password);
        run(command)
    };
    let ran = fetch("unics");
    assert_ne!(ran.code(), 0, "{}", ran.stderr);
    assert!(!server.path("in/tape").exists());
    fetch("multics").expect(0);
    assert_eq!(fs::read(server.path("in/tape")).unwrap(), b"bits");
    server.end();
}

#[test]
fn guesses_are_further_and_further_apart() {
    let flags = ["--user", "kanodia", "--guess-delay", "400"];
    let server = Server::new(&flags, Some("multics"));
    fs::write(server.path("root/tape"), b"bits").unwrap();
    fs::create_dir(server.path("in")).unwrap();
    let fetch = |password: &str| {
        let into = server.path("in").display().to_string();
        let mut command = wst(["receive", &server.line("tape"), "-o", &into]);
        command.args(["--set", "ncp.user=kanodia"]).env("WETSTRING_PASSWORD", password);
        run(command)
    };
    let began = std::time::Instant::now();
    for _ in 0..4 {
        assert_ne!(fetch("unics").code(), 0);
    }
    // Judged after 0, 400, 1200 and 2800 ms, and answered 400 ms later.
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(3100), "{took:?}");
    fetch("multics").expect(0);
    assert_eq!(fs::read(server.path("in/tape")).unwrap(), b"bits");
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    server.end();
}

#[test]
fn garbage_at_the_interface_is_counted_and_ignored() {
    let server = Server::new(&[], None);
    fs::write(server.path("root/tape"), noise(3, 5000)).unwrap();
    fs::create_dir(server.path("in")).unwrap();
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    for seed in 0..500 {
        let mut datagram = noise(seed, (seed as usize * 37) % 1400);
        if seed % 2 == 0 && datagram.len() > 12 {
            // Looks like the interface's, but comes from somebody else.
            datagram[..4].copy_from_slice(b"H316");
        }
        stranger.send_to(&datagram, ("127.0.0.1", server.ports[0])).unwrap();
    }
    // A full queue of the socket would lose the peer's datagrams too, and the subnet of the ARPANET loses none.
    wait_until("the garbage is read", || queued(server.ports[0]) == Some(0));
    server.receive("tape", "in", &[]).expect(0);
    assert!(fs::read(server.path("in/tape")).unwrap() == noise(3, 5000));
    server.end();
}

/// Bytes that wait to be read at a UDP port.
fn queued(port: u16) -> Option<u64> {
    let sockets = fs::read_to_string("/proc/net/udp").expect("a table of sockets");
    let local = format!(":{port:04X}");
    let mut rows = sockets.lines().map(|row| row.split_whitespace().collect::<Vec<_>>());
    let row = rows.find(|row| row.get(1).is_some_and(|address| address.ends_with(&local)))?;
    let (_, received) = row.get(4)?.split_once(':')?;
    u64::from_str_radix(received, 16).ok()
}

#[test]
fn an_absent_peer_is_a_timeout() {
    let (there, here) = (free(), free());
    let line = format!("ncp://0.2/?imp=127.0.0.1:{there}&port={here}");
    let ran = run(wst(["ncp", "echo", &line, "--count", "1"]));
    ran.expect(7);
    assert!(
        ran.stderr.contains("expected a reply or a message of the IMP, timeout after"),
        "{}",
        ran.stderr
    );
}

/// The datagrams that came to a socket within this time, without their first twelve octets, and their flags.
fn messages(socket: &UdpSocket, time: Duration) -> Vec<(u8, Vec<u8>)> {
    socket.set_read_timeout(Some(time)).unwrap();
    let mut came = Vec::new();
    let mut datagram = [0; 1500];
    while let Ok(len) = socket.recv(&mut datagram) {
        assert!(len >= 12 && datagram.starts_with(b"H316"), "{:02x?}", &datagram[..len]);
        came.push((datagram[11], datagram[12..len].to_vec()));
    }
    came
}

#[test]
fn a_host_that_comes_up_says_so_in_its_form_of_leaders() {
    for (more, nop) in
        [("", vec![4, 0, 0, 0]), ("&leader=new", vec![15, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0])]
    {
        let imp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let line = format!(
            "ncp://0.2?imp=127.0.0.1:{}&port={}{more}",
            imp.local_addr().unwrap().port(),
            free()
        );
        let ran = run(wst(["ncp", "up", &line, "--seconds", "1"]));
        ran.expect(0);
        let came = messages(&imp, Duration::from_millis(200));
        // Ready; three NOPs, with no padding between leader and data; ready no more.
        let expected = [vec![(3, vec![])], vec![(3, nop); 3], vec![(1, vec![])]].concat();
        assert_eq!(came, expected, "{more}");
    }
}

#[test]
fn leaders_of_96_bits_at_both_ends() {
    let server = Server::with("&leader=new", &["--write"], None);
    let ran = run(wst(["ncp", "echo", &server.line(""), "--count", "2"]));
    ran.expect(0);
    assert!(ran.stderr.contains("2 of 2 echoes answered"), "{}", ran.stderr);
    let (bytes, file) = (noise(8, 20_003), server.path("tape"));
    fs::write(&file, &bytes).unwrap();
    fs::create_dir(server.path("in")).unwrap();
    for settings in [&["ncp.byte=8"][..], &["ncp.byte=36", "store.collision=replace"]] {
        server.send(&file, settings).expect(0);
        assert!(fs::read(server.path("root/tape")).unwrap() == bytes);
        server.receive("tape", "in", settings).expect(0);
        assert!(fs::read(server.path("in/tape")).unwrap() == bytes);
        fs::remove_file(server.path("root/tape")).unwrap();
    }
    server.end();
}

#[test]
fn ends_with_different_leaders_find_out() {
    let server = Server::new(&[], None);
    let line = format!("{}&leader=new", server.line(""));
    let ran = run(wst(["ncp", "echo", &line, "--count", "1"]));
    ran.expect(7);
    let say = "expected leaders of 96 bits, got some of 32";
    assert!(ran.stderr.contains(say), "{}", ran.stderr);
    assert!(ran.stderr.contains("0 of 1 echoes answered"), "{}", ran.stderr);
    server.end();
    // They do not tell each other indefinitely that they do not understand.
    let [imp, port] =
        [UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port(), free()];
    let host = UdpSocket::bind(("127.0.0.1", imp)).unwrap();
    let line = format!("ncp://0.1?host=127.0.0.1:{imp}&port={port}");
    let mut command = wst(["ncp", "up", &line]);
    command.args(["--seconds", "2"]);
    let running = Running::start(command);
    running.says("host up at UDP port");
    for sequence in 0..50_u8 {
        let new = [15, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0];
        let datagram = [&b"H316"[..], &[0, 0, 0, sequence, 0, 7, 0, 3], &new].concat();
        host.send_to(&datagram, ("127.0.0.1", port)).unwrap();
    }
    let came = messages(&host, Duration::from_millis(500));
    let errors = came.iter().filter(|(_, message)| message.first() == Some(&1)).count();
    assert_eq!(errors, 0, "{came:02x?}");
    let ran = running.end();
    assert!(ran.stderr.contains("the line needs leader=new"), "{}", ran.stderr);
}

#[test]
fn a_file_cannot_be_stored_from_its_middle_on() {
    let server = Server::new(&["--write"], None);
    let file = server.path("tape");
    fs::write(&file, b"bits").unwrap();
    let ran = run(wst(["send", "--resume", file.to_str().unwrap(), &server.line("")]));
    ran.expect(2);
    assert!(ran.stderr.contains("expected no --resume"), "{}", ran.stderr);
    server.end();
}

#[test]
fn what_is_no_place_is_a_usage_error() {
    for line in ["ncp://", "ncp://0.99?imp=127.0.0.1:1", "ncp://0.2", "tcp://127.0.0.1:1"] {
        let ran = run(wst(["ncp", "echo", line]));
        assert_eq!(ran.code(), 2, "{line}: {}", ran.stderr);
        assert!(ran.stderr.contains("expected"), "{line}: {}", ran.stderr);
    }
}
