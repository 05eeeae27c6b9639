//! Sessions of a server that fail: each ends alone, and ends when it is told to.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use wetstring_drive::disk::ReceiveOptions;
use wetstring_drive::port::Listener;
use wetstring_drive::serve::Tree;
use wetstring_drive::serve::tree::{Found, Room, Step};
use wetstring_drive::serve::{Audit, Content, Entry, Limits, LocalTree, Rules, Service, Session};
use wetstring_drive::{LineSpec, Signals};
use wetstring_proto::kermit::Config;
use wetstring_proto::kermit::command::{Get, ServerCommand as C};
use wetstring_proto::{Remote, RemoteReply, Reply, Request, Store};

/// How many more names a stopped command may receive.
const AFTER_STOP: u64 = 1;
const STOP_AT: u64 = 1000;

/// A directory without an end, which is told to stop in the middle; `broken` breaks the program.
struct Endless {
    stop: Option<Signals>,
    told: AtomicU64,
}

impl Endless {
    fn new(stop: Option<Signals>) -> Self {
        Self { stop, told: AtomicU64::new(0) }
    }
}

impl Tree for Endless {
    fn entry(&self, place: &[Vec<u8>]) -> io::Result<Entry> {
        let name = place.last().cloned().unwrap_or_default();
        assert_ne!(name, b"broken", "a fault that a test has made");
        if name.is_empty() || name == b"sub" {
            return Ok(Entry { name, is_directory: true, size: 0, modified: None, mode: None });
        }
        Err(io::ErrorKind::NotFound.into())
    }

    fn names(&self, _: &[Vec<u8>], found: &mut Found<'_>) -> io::Result<()> {
        loop {
            let told = self.told.fetch_add(1, Ordering::Relaxed);
            if told == STOP_AT
                && let Some(stop) = &self.stop
            {
                stop.raise(15);
            }
            found(format!("f{}", told % 5000).as_bytes(), false)?;
        }
    }

    fn open(&self, _: &[Vec<u8>]) -> io::Result<(Entry, Box<dyn Content>)> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn receive(&self, _: &[Vec<u8>], _: ReceiveOptions) -> io::Result<Box<dyn Store + Send>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn remove(&self, _: &[Vec<u8>]) -> io::Result<()> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn rename(&self, _: &[Vec<u8>], _: &[Vec<u8>], _: &mut Step<'_>) -> io::Result<()> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn copy(&self, _: &[Vec<u8>], _: &[Vec<u8>], _: &mut Step<'_>) -> io::Result<()> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn make_directory(&self, _: &[Vec<u8>]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn remove_directory(&self, _: &[Vec<u8>]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn room(&self) -> io::Result<Option<Room>> {
        Ok(None)
    }
}

/// What a command is answered: whether it was done, and the text.
fn ask(session: &mut Session, command: &C<'_>) -> (bool, String) {
    let (mut words, mut answer) = ([0; 5000], [0; 2048]);
    let len = command.emit(&mut words).unwrap();
    let (kind, words) = (command.kind(), &words[..len]);
    let (done, len) = match session.answer(Request::Remote(Remote::Serve {
        kind,
        words,
        files: None,
        answer: &mut answer,
    })) {
        Reply::Remote(RemoteReply::Said(len)) => (true, len),
        Reply::Remote(RemoteReply::Denied(len)) => (false, len),
        Reply::Remote(RemoteReply::Follow { .. }) => (true, 0),
        other => panic!("{other:?}"),
    };
    (done, String::from_utf8_lossy(&answer[..len]).into_owned())
}

fn get(names: &[u8], recursive: bool) -> C<'_> {
    C::Get(Get { names, recursive, ..Get::default() })
}

#[test]
fn every_long_command_ends_with_its_session() {
    // What matches nothing goes through as many names as what matches all.
    for command in [
        get(b"none*", false),
        get(b"none*", true),
        get(b"none* none? sub", true),
        C::Directory(b"none*"),
        C::Directory(b"none* none*"),
        C::Delete(b"none*"),
        C::Type(b"none*"),
    ] {
        let stop = Signals::detached().unwrap();
        let tree = Arc::new(Endless::new(Some(stop.clone())));
        let rules = Rules { write: true, ..Rules::default() };
        let mut session = Session::new(tree.clone(), rules, "client", None).heeding(stop);
        let said = ask(&mut session, &command);
        assert_eq!(said, (false, "The server is ending".into()), "{command:?}");
        let told = tree.told.load(Ordering::Relaxed);
        assert!(told <= STOP_AT + 1 + AFTER_STOP, "{told} names for {command:?}");
    }
}

#[test]
fn names_and_files_per_command_are_limited() {
    let tree = Arc::new(Endless::new(None));
    let mut session = Session::new(tree, Rules::default(), "client", None);
    for (command, wanted) in [
        (get(b"*", false), "More than 100000 files"),
        (get(b"* *", false), "More than 5000 files for several names: request fewer at once"),
        (C::Directory(b"*"), "More than 100000 files"),
        (get(b"none*", false), "Too many names to look through"),
        (C::Directory(b"none*"), "Too many names to look through"),
    ] {
        assert_eq!(ask(&mut session, &command), (false, wanted.into()), "{command:?}");
    }
}

#[test]
fn an_aborted_copy_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a"), vec![7; 1 << 20]).unwrap();
    let tree = LocalTree::open(dir.path()).unwrap();
    let (from, to) = ([b"a".to_vec()], [b"b".to_vec()]);
    let mut steps = 0;
    let done = tree.copy(&from, &to, &mut |_| {
        steps += 1;
        if steps > 3 { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
    });
    assert_eq!(done.unwrap_err().kind(), io::ErrorKind::Interrupted);
    assert!(!dir.path().join("b").exists());
    tree.copy(&from, &to, &mut |_| Ok(())).unwrap();
    assert_eq!(std::fs::read(dir.path().join("b")).unwrap(), vec![7; 1 << 20]);
}

#[test]
fn large_directories_are_listed_sorted_and_once() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("m/n")).unwrap();
    let mut wanted = Vec::new();
    for index in 0..600 {
        // A page below another is shorter.
        for (front, count) in [("", 600), ("m/", 300), ("m/n/", 150)] {
            let name = format!("{front}f{index:04}{}", "x".repeat(200));
            if index < count {
                std::fs::File::create(dir.path().join(&name)).unwrap();
                wanted.push(name);
            }
        }
    }
    wanted.sort();
    let tree = Arc::new(LocalTree::open(dir.path()).unwrap());
    let mut session = Session::new(tree, Rules::default(), "client", None);
    assert!(ask(&mut session, &get(b"f*", true)).0);
    let mut names = Vec::new();
    while let Reply::File(info) = session.answer(Request::Next) {
        names.push(String::from_utf8_lossy(info.name).into_owned());
        session.answer(Request::Close { complete: true, verified: false });
    }
    assert_eq!(names, wanted);
    assert!(ask(&mut session, &C::Directory(b"*")).0);
    let Reply::File(_) = session.answer(Request::Next) else { panic!("no text") };
    let (mut text, mut buffer) = (Vec::new(), [0; 999]);
    while let Reply::Read(len @ 1..) =
        session.answer(Request::Read { offset: text.len() as u64, into: &mut buffer })
    {
        text.extend_from_slice(&buffer[..len]);
    }
    let text = String::from_utf8(text).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.pop(), Some("601 files, 0 bytes"));
    let listed: Vec<&str> = lines.iter().filter_map(|line| line.rsplit(' ').next()).collect();
    let mut wanted: Vec<&str> =
        wanted.iter().map(String::as_str).filter(|name| !name.contains('/')).collect();
    wanted.push("m/");
    assert_eq!(listed, wanted);
}

#[derive(Default)]
struct Lines(Mutex<Vec<String>>);

impl Audit for Lines {
    fn note(&self, line: &str) {
        self.0.lock().unwrap().push(line.to_owned());
    }
}

/// Asks for the current directory, and hangs up: what the server says until it does, too.
fn asks(at: std::net::SocketAddr, packet: &[u8]) -> String {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(packet).unwrap();
    let mut said = vec![0; 200];
    let len = stream.read(&mut said).unwrap_or(0);
    String::from_utf8_lossy(&said[..len]).into_owned()
}

#[test]
fn a_panic_ends_only_its_session() {
    let spec: LineSpec = "tcp-listen://127.0.0.1:0".parse().unwrap();
    let listener = Listener::of(&spec).unwrap().unwrap();
    let at = listener.address().unwrap();
    let log = Arc::new(Lines::default());
    let limits = Limits { sessions: 1, ..Limits::default() };
    let tree = Arc::new(Endless::new(None));
    let mut service = Service::new(tree, Rules::default(), Config::default(), limits);
    service.audit = Some(log.clone());
    let service = Arc::new(service);
    let signals = Signals::detached().unwrap();
    std::thread::scope(|scope| {
        let serving = scope.spawn(|| service.serve_all(&listener, &signals));
        let freed = || {
            let until = Instant::now() + Duration::from_secs(20);
            while service.count() > 0 {
                assert!(Instant::now() < until, "the place is still taken");
                std::thread::sleep(Duration::from_millis(5));
            }
        };
        // There is one place only: it is free after each.
        for _ in 0..3 {
            asks(at, &packet(b"Cbroken", b'G'));
            freed();
        }
        let said = asks(at, &packet(b"A", b'G'));
        assert!(said.contains('/'), "{said:?}");
        freed();
        signals.raise(15);
        serving.join().unwrap().unwrap();
    });
    let log = log.0.lock().unwrap();
    let faults = log.iter().filter(|line| line.contains("internal error")).count();
    assert_eq!(faults, 3, "{log:#?}");
    assert!(log.iter().any(|line| line.contains("a fault that a test has made")), "{log:#?}");
}

/// A tree with a hole in it: it reads what is named, inside and outside of its root.
struct Holed {
    local: LocalTree,
    names: BTreeMap<&'static str, PathBuf>,
    read: Mutex<BTreeMap<&'static str, bool>>,
}

impl Tree for Holed {
    fn entry(&self, place: &[Vec<u8>]) -> io::Result<Entry> {
        let name = String::from_utf8_lossy(place.last().map_or(b"", |name| name));
        if let Some((name, path)) = self.names.get_key_value(&*name) {
            self.read.lock().unwrap().insert(*name, std::fs::read(path).is_ok());
        }
        self.local.entry(place)
    }

    fn names(&self, place: &[Vec<u8>], found: &mut Found<'_>) -> io::Result<()> {
        self.local.names(place, found)
    }

    fn open(&self, place: &[Vec<u8>]) -> io::Result<(Entry, Box<dyn Content>)> {
        self.local.open(place)
    }

    fn receive(&self, at: &[Vec<u8>], o: ReceiveOptions) -> io::Result<Box<dyn Store + Send>> {
        self.local.receive(at, o)
    }

    fn remove(&self, place: &[Vec<u8>]) -> io::Result<()> {
        self.local.remove(place)
    }

    fn rename(&self, from: &[Vec<u8>], to: &[Vec<u8>], step: &mut Step<'_>) -> io::Result<()> {
        self.local.rename(from, to, step)
    }

    fn copy(&self, from: &[Vec<u8>], to: &[Vec<u8>], step: &mut Step<'_>) -> io::Result<()> {
        self.local.copy(from, to, step)
    }

    fn make_directory(&self, place: &[Vec<u8>]) -> io::Result<()> {
        self.local.make_directory(place)
    }

    fn remove_directory(&self, place: &[Vec<u8>]) -> io::Result<()> {
        self.local.remove_directory(place)
    }

    fn room(&self) -> io::Result<Option<Room>> {
        self.local.room()
    }

    fn root(&self) -> Option<wetstring_drive::os::fd::BorrowedFd<'_>> {
        self.local.root()
    }
}

/// What a session of a tree with a hole could read, and the log.
fn through_a_hole(sandboxed: bool) -> (BTreeMap<&'static str, bool>, Vec<String>) {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    std::fs::create_dir(at("root")).unwrap();
    std::fs::write(at("root/inside"), "for all").unwrap();
    std::fs::write(at("outside"), "secret").unwrap();
    let tree = Arc::new(Holed {
        local: LocalTree::open(&at("root")).unwrap(),
        names: [("inside", at("root/inside")), ("outside", at("outside"))].into(),
        read: Mutex::default(),
    });
    let spec: LineSpec = "tcp-listen://127.0.0.1:0".parse().unwrap();
    let listener = Listener::of(&spec).unwrap().unwrap();
    let address = listener.address().unwrap();
    let log = Arc::new(Lines::default());
    let (rules, limits) = (Rules::default(), Limits::default());
    let mut service = Service::new(tree.clone(), rules, Config::default(), limits);
    service.audit = Some(log.clone());
    service.sandboxed = sandboxed;
    let (service, signals) = (Arc::new(service), Signals::detached().unwrap());
    std::thread::scope(|scope| {
        let serving = scope.spawn(|| service.serve_all(&listener, &signals));
        for name in [&b"Cinside"[..], b"Coutside"] {
            asks(address, &packet(name, b'G'));
        }
        signals.raise(15);
        serving.join().unwrap().unwrap();
    });
    // This thread is none of a session's.
    assert!(std::fs::read(at("outside")).is_ok());
    let read = std::mem::take(&mut *tree.read.lock().unwrap());
    let log = std::mem::take(&mut *log.0.lock().unwrap());
    (read, log)
}

/// Each session's thread is bound to the root by the kernel, so that a fault in the code that looks at names opens
/// nothing outside.
#[test]
fn landlock_confines_a_session() {
    assert_eq!(through_a_hole(false).0, [("inside", true), ("outside", true)].into());
    let (read, log) = through_a_hole(true);
    let said = |what: &str| log.iter().filter(|line| line.contains(what)).count();
    if said("sandbox: none") > 0 {
        assert!(said("has no Landlock") + said("only Linux has") > 0, "{log:#?}");
        eprintln!("skipped: this system has no Landlock");
        return;
    }
    assert_eq!(said("sandbox: done, Landlock"), 1, "{log:#?}");
    assert_eq!(read, [("inside", true), ("outside", false)].into());
}

fn packet(data: &[u8], kind: u8) -> Vec<u8> {
    use wetstring_proto::kermit::check::Check;
    use wetstring_proto::kermit::packet::{LONG_HEADER, finish};
    let mut packet = vec![0; LONG_HEADER + data.len() + 8];
    let mut data = data.to_vec();
    if data.len() > 1 {
        // The argument's length.
        data.insert(1, b' ' + (data.len() - 1) as u8);
    }
    packet[LONG_HEADER..LONG_HEADER + data.len()].copy_from_slice(&data);
    let (start, end) = finish(&mut packet, data.len(), 0, kind, Check::Sum6, 1, false);
    [&packet[start..end], b"\r"].concat()
}
