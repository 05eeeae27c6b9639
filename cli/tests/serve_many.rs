//! A server with many clients: at work, silent, too many, and who guesses passwords. And `wst users`.

use crate::peers;

use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use peers::serving::{server, stock};
use peers::{LIMIT, Running, Scene, same_bytes, wst};

/// A figure of a process, from its status, in kB or times.
fn figure(pid: u32, file: &str, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/{file}")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a line");
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse().expect("a number")
}

/// How often the threads of a process have gone to sleep.
fn sleeps(pid: u32) -> u64 {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("it runs").flatten();
    tasks
        .map(|task| {
            let task = task.file_name().into_string().expect("a number");
            figure(pid, &format!("task/{task}/status"), "voluntary_ctxt_switches")
        })
        .sum()
}

fn call(at: &str) -> TcpStream {
    let address: SocketAddr = at.parse().expect("an address");
    let stream = TcpStream::connect(address).expect("somebody listens");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
    stream
}

/// Whether the server takes no more of this one: what it says until it hangs up, if it does.
fn farewell(stream: &mut TcpStream) -> String {
    let mut said = Vec::new();
    let _ = stream.read_to_end(&mut said);
    String::from_utf8_lossy(&said).into_owned()
}

/// `wst get` in a directory of its own.
fn getting(scene: &Scene, at: &str, index: usize) -> Running {
    let into = scene.folder(&format!("in{index}")).display().to_string();
    let args = ["get", &format!("tcp://{at}"), "bin.dat", "-q", "-o", &into];
    scene.start("get", &mut wst(args)).unwrap()
}

#[test]
fn clients_at_once_get_the_same_bytes_in_bounded_memory() {
    const CLIENTS: usize = 20;
    let scene = Scene::new();
    let bytes = stock(&scene).repeat(14);
    scene.file("root/bin.dat", &bytes);
    let (server, at) = server(&scene, "tcp-listen", &[]).unwrap();
    let mut clients: Vec<_> = (0..CLIENTS).map(|index| getting(&scene, &at, index)).collect();
    for (index, client) in clients.iter_mut().enumerate() {
        let end = client.wait(LIMIT).unwrap();
        assert_eq!(end.code, 0, "{}", end.said);
        let got = fs::read(scene.path(&format!("in{index}/bin.dat"))).unwrap();
        same_bytes(&bytes, &got).unwrap();
    }
    let most = figure(server.id(), "status", "VmHWM");
    assert!(most < 60_000, "{most} kB for {CLIENTS} clients");
}

#[test]
fn silent_strangers_cost_a_place_for_a_while_and_no_wake_up() {
    const PLACES: usize = 40;
    const STRANGERS: usize = 600;
    let scene = Scene::new();
    stock(&scene);
    let flags = ["--unproved", "40", "--unproved-per-address", "40", "--grace", "6"];
    let (server, at) = server(&scene, "tcp-listen", &flags).unwrap();
    let pid = server.id();
    let began = Instant::now();
    let mut waiting: Vec<_> = (0..PLACES).map(|_| call(&at)).collect();
    thread::sleep(Duration::from_millis(500));
    for _ in PLACES..STRANGERS {
        let said = farewell(&mut call(&at));
        assert!(said.contains("Too many sessions from your address, try again later"), "{said:?}");
    }
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    // No wake-ups for waiting clients, once the last one is gone.
    thread::sleep(Duration::from_millis(300));
    let before = sleeps(pid);
    thread::sleep(Duration::from_secs(1));
    assert_eq!(sleeps(pid) - before, 0, "wake-ups within a second of silence");
    let most = figure(pid, "status", "VmHWM");
    assert!(most < 40_000, "{most} kB for {PLACES} who wait and {STRANGERS} who came");
    // Their time is over, and there is room again.
    for stream in &mut waiting {
        let said = farewell(stream);
        assert!(said.contains("No command within 6 s"), "{said:?}");
    }
    assert!(began.elapsed() >= Duration::from_secs(6), "{:?}", began.elapsed());
    drop(waiting);
    // The server waits a moment for the peer to hang up.
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        let end = getting(&scene, &at, 0).wait(LIMIT).unwrap();
        if end.code == 0 {
            break;
        }
        assert!(Instant::now() < until, "{}", end.said);
        thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn who_finds_no_place_is_told() {
    let scene = Scene::new();
    stock(&scene);
    let flags = ["--sessions", "1", "--per-address", "9"];
    let (_server, at) = server(&scene, "tcp-listen", &flags).unwrap();
    // One that has given a command has a place until it goes: REMOTE PWD.
    let mut first = call(&at);
    first.write_all(b"\x01$ GA/\r").expect("the server is there");
    assert!(first.read(&mut [0; 100]).expect("an answer") > 5);
    let end = getting(&scene, &at, 0).wait(LIMIT).unwrap();
    assert_ne!(end.code, 0);
    assert!(end.said.contains("Too many sessions here, try again later"), "{}", end.said);
    drop(first);
    // One from the same address is too many, too.
    let (_server, at) =
        server(&scene, "tcp-listen", &["--sessions", "9", "--per-address", "1"]).unwrap();
    let _first = call(&at);
    thread::sleep(Duration::from_millis(200));
    assert!(farewell(&mut call(&at)).contains("Too many sessions"));
}

fn users(scene: &Scene, args: &[&str], password: &str) -> (i32, String) {
    let mut command = wst(["users"]);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.current_dir(scene.folder("in")).spawn().unwrap();
    // One that refuses the name ends without reading the password, and the pipe may be closed first.
    match child.stdin.take().unwrap().write_all(password.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => panic!("{error}"),
        _ => {}
    }
    let out = child.wait_with_output().unwrap();
    let said = [out.stdout, out.stderr].concat();
    (out.status.code().unwrap_or(-1), String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn users_are_added_and_come_in() {
    use std::os::unix::fs::PermissionsExt;
    let scene = Scene::new();
    stock(&scene);
    let file = scene.path("users").display().to_string();
    assert_eq!(users(&scene, &["add", &file, "anna"], "secret\n").0, 0);
    assert_eq!(users(&scene, &["add", &file, "bert"], "other").0, 0);
    assert_eq!(users(&scene, &["add", &file, "anna"], "better\r\n").0, 0);
    let (code, said) = users(&scene, &["list", &file], "");
    assert_eq!((code, said.as_str()), (0, "bert\nanna\n"));
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.lines().all(|line| line.contains(":$argon2id$")) && !text.contains("better"));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(users(&scene, &["remove", &file, "bert"], "").0, 0);
    for (args, password, code) in [
        (&["remove", &file, "bert"][..], "", 2),
        (&["add", &file, "a:b"], "x\n", 2),
        (&["add", &file, "carl"], "", 2),
        (&["add", &file, "carl"], &"x".repeat(3000), 5),
        (&["list", "nowhere"], "", 5),
        (&["add", &scene.path("root/txt.dat").display().to_string(), "eve"], "x\n", 5),
    ] {
        let (got, said) = users(&scene, args, password);
        assert_eq!(got, code, "{args:?}: {said}");
    }
    // A name is shown so that a terminal does not act on it.
    let odd = "x\u{202e}y\u{9b}2J";
    assert_eq!(users(&scene, &["add", &file, odd], "x\n").0, 0);
    let (code, said) = users(&scene, &["list", &file], "");
    assert_eq!((code, said.as_str()), (0, "anna\nx\\u{202e}y\\u{9b}2J\n"));
    assert_eq!(users(&scene, &["remove", &file, odd], "").0, 0);
    // What is no file of users is left as it was.
    assert_eq!(fs::read(scene.path("root/txt.dat")).unwrap(), b"one\ntwo\n");
    assert!(!Path::new(&format!("{file}.new")).exists());
    let (_server, at) = server(&scene, "tcp-listen", &["--users", &file]).unwrap();
    for (name, password, code) in
        [("anna", "better", 0), ("anna", "secret", 4), ("bert", "other", 4)]
    {
        let mut command = wst(["remote", "--user", name, &format!("tcp://{at}"), "pwd"]);
        command.env("WETSTRING_PASSWORD", password);
        let end = scene.start("remote", &mut command).unwrap().wait(LIMIT).unwrap();
        assert_eq!(end.code, code, "{name} {password}: {}", end.said);
    }
}

/// Asks a server something, and what is said.
fn asked(scene: &Scene, at: &str, flags: &[&str], words: &[&str]) -> (i32, String) {
    let line = format!("tcp://{at}");
    let mut command = wst(["remote"]);
    command.args(flags).arg(line).args(words).env("WETSTRING_PASSWORD", "secret");
    let end = scene.start("remote", &mut command).unwrap().wait(LIMIT).unwrap();
    (end.code, end.said)
}

#[test]
fn who_shows_addresses_to_those_who_have_logged_in() {
    let scene = Scene::new();
    stock(&scene);
    let file = scene.path("users").display().to_string();
    assert_eq!(users(&scene, &["add", &file, "anna"], "secret\n").0, 0);
    let (_open, at) = server(&scene, "tcp-listen", &[]).unwrap();
    let (code, said) = asked(&scene, &at, &[], &["who"]);
    assert!(code == 0 && said.contains("client 1 "), "{code} {said}");
    assert!(!said.replace(&at, "").contains("127.0.0.1"), "{said}");
    let (_closed, at) = server(&scene, "tcp-listen", &["--users", &file]).unwrap();
    let (code, said) = asked(&scene, &at, &["--user", "anna"], &["who"]);
    assert!(code == 0 && said.replace(&at, "").contains("127.0.0.1:"), "{code} {said}");
}

/// Ends the server by SIGTERM once something is there, and says how long that took.
fn ended(scene: &Scene, server: &mut Running, sign: &str) -> Duration {
    let until = Instant::now() + Duration::from_secs(20);
    while !scene.path(sign).exists() {
        assert!(Instant::now() < until, "expected {sign}");
        thread::sleep(Duration::from_millis(5));
    }
    let pid = i32::try_from(server.id()).ok().and_then(rustix::process::Pid::from_raw);
    let began = Instant::now();
    rustix::process::kill_process(pid.unwrap(), rustix::process::Signal::TERM).unwrap();
    server.wait(LIMIT).unwrap();
    began.elapsed()
}

/// A child in the background keeps the output open. It ends with the server.
#[test]
fn a_command_of_the_host_does_not_hold_up_the_end() {
    let scene = Scene::new();
    stock(&scene);
    let (mut server, at) = server(&scene, "tcp-listen", &["--allow", "host"]).unwrap();
    let line = format!("tcp://{at}");
    let command = "sleep 60 & echo $! > child.new; mv child.new child";
    let _client = scene.start("remote", &mut wst(["remote", &line, "host", command])).unwrap();
    let took = ended(&scene, &mut server, "root/child");
    assert!(took < Duration::from_secs(5), "{took:?}");
    let child = fs::read_to_string(scene.path("root/child")).unwrap();
    let status = Path::new("/proc").join(child.trim()).join("stat");
    let is_gone = || fs::read_to_string(&status).map_or(true, |stat| stat.contains(") Z "));
    let until = Instant::now() + Duration::from_secs(5);
    while !is_gone() {
        assert!(Instant::now() < until, "the child in the background is still there");
        thread::sleep(Duration::from_millis(20));
    }
}

/// What is copied then is gone: half a copy is none.
#[test]
fn a_copy_of_a_large_file_does_not_hold_up_the_end() {
    let scene = Scene::new();
    stock(&scene);
    let large = fs::File::create(scene.path("root/large")).unwrap();
    large.set_len(1 << 36).unwrap();
    let (mut server, at) = server(&scene, "tcp-listen", &["--allow", "write"]).unwrap();
    let line = format!("tcp://{at}");
    let _client =
        scene.start("remote", &mut wst(["remote", &line, "copy", "large", "twin"])).unwrap();
    let took = ended(&scene, &mut server, "root/twin.part");
    assert!(took < Duration::from_secs(5), "{took:?}");
    assert!(["root/twin", "root/twin.part"].iter().all(|name| !scene.path(name).exists()));
}
