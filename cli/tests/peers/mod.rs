//! What the tests against programs of other people share: finding them, giving them files and a
//! script, ending them in time, and comparing what arrived.
//!
//! Every transfer lives in a directory of its own, and every program in a process group of its
//! own, which is ended when the test is done with it. Ports are below the range from which the
//! system takes its own.
#![allow(dead_code, unreachable_pub)]

pub mod ckermit;
pub mod device;
pub mod lrzsz;
pub mod netblt_python;
pub mod ser2net;
pub mod serving;
pub mod sshd;
pub mod uboot;
pub mod uucp_python;
pub mod wired;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use wetstring_testkit::handle_terminal_signals;
pub use wetstring_testkit::material;

/// How long a transfer of the ordinary kind may take, its programs' start included.
pub const LIMIT: Duration = Duration::from_secs(60);

/// The program under test.
pub const WST: &str = env!("CARGO_BIN_EXE_wst");

/// Finds a peer, or says that it is missing; with `WETSTRING_REQUIRE_PEERS=1` that is a failure.
pub fn peer(program: &str, package: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|dir| dir.join(program)).find(|p| p.is_file());
    if found.is_none() {
        missing(&format!("{program} is not installed (Debian package {package})"));
    }
    found
}

/// Says that a peer is missing.
pub fn missing(what: &str) {
    let required = std::env::var_os("WETSTRING_REQUIRE_PEERS").is_some_and(|value| value == "1");
    assert!(!required, "expected every peer, but {what}");
    // Past the capture of the test harness, so that a run without peers cannot look like one with.
    let say = format!("NOT TESTED: {what}\n");
    let _ = rustix::io::write(rustix::stdio::stderr(), say.as_bytes());
}

/// C-Kermit, from Debian's `ckermit`.
pub fn ckermit() -> Option<PathBuf> {
    peer("kermit", "ckermit")
}

/// G-Kermit, from Debian's `gkermit`.
pub fn gkermit() -> Option<PathBuf> {
    peer("gkermit", "gkermit")
}

/// A directory of its own for one transfer; gone afterwards.
pub struct Scene {
    dir: tempfile::TempDir,
    count: AtomicUsize,
    zone: Option<&'static str>,
}

impl Scene {
    /// An empty one.
    pub fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("wst-peers-").tempdir();
        let dir = dir.expect("a temporary directory");
        Self { dir, count: AtomicUsize::new(0), zone: None }
    }

    /// The same, its programs in this time zone.
    pub fn zone(mut self, zone: &'static str) -> Self {
        self.zone = Some(zone);
        self
    }

    /// The path of something in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Makes a file; directories in its name too.
    pub fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a name has a directory")).expect("a directory");
        fs::write(&path, bytes).expect("the file is written");
        path
    }

    /// Makes a directory.
    pub fn folder(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(&path).expect("a directory");
        path
    }

    fn fresh(&self, what: &str, kind: &str) -> PathBuf {
        self.path(&format!("{what}.{}.{kind}", self.count.fetch_add(1, Ordering::Relaxed)))
    }

    /// Starts a program whose input is empty and whose output is kept.
    pub fn start(&self, what: &str, command: &mut Command) -> Result<Running, String> {
        handle_terminal_signals();
        let log = self.fresh(what, "log");
        let io = |e| format!("{what}: {e}");
        let out = File::create(&log).map_err(io)?;
        command.stdin(Stdio::null());
        command.stdout(out.try_clone().map_err(io)?).stderr(out);
        // Nothing of the user's own configuration may change a test.
        command.env("XDG_CONFIG_HOME", self.path("no-config")).env("HOME", self.dir.path());
        if let Some(zone) = self.zone {
            command.env("TZ", zone);
        }
        command.env("NO_COLOR", "1").env("TERM", "dumb").process_group(0);
        let child = command.spawn().map_err(io)?;
        Ok(Running { child, what: what.to_owned(), log, ended: false })
    }
}

/// A `wst` command line.
pub fn wst<I, S>(args: I) -> Command
where
    I: IntoIterator<Item = S>,
    S: AsRef<OsStr>,
{
    let mut command = Command::new(WST);
    command.args(args);
    command
}

/// A program that runs. It ends at the latest when this value does.
pub struct Running {
    child: Child,
    what: String,
    log: PathBuf,
    ended: bool,
}

/// How a program ended.
#[derive(Debug, Clone)]
pub struct End {
    /// Exit code, or 128 and the signal.
    pub code: i32,
    /// What it wrote to stdout and stderr.
    pub said: String,
}

impl Running {
    /// What it has written so far.
    pub fn said(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// The number of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    fn group(&self) -> Option<Pid> {
        Pid::from_raw(i32::try_from(self.child.id()).ok()?)
    }

    /// Waits until it has written `text`, and returns the rest of that line.
    pub fn line_after(&mut self, text: &str) -> Result<String, String> {
        let until = Instant::now() + LIMIT;
        loop {
            let said = self.said();
            let rest = said.split_once(text).and_then(|(_, rest)| rest.split_once('\n'));
            if let Some((line, _)) = rest {
                return Ok(line.trim().to_owned());
            }
            let over = self.child.try_wait().is_ok_and(|status| status.is_some());
            if over || Instant::now() > until {
                return Err(format!("{}: expected {text:?}, got {said:?}", self.what));
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits for its end; past the limit it is killed, which is a failure.
    pub fn wait(&mut self, limit: Duration) -> Result<End, String> {
        let until = Instant::now() + limit;
        let mut nap = Duration::from_millis(2);
        loop {
            if let Some(status) = self.child.try_wait().map_err(|e| e.to_string())? {
                self.ended = true;
                let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
                return Ok(End { code, said: self.said() });
            }
            if Instant::now() > until {
                let said = self.said();
                self.kill();
                return Err(format!("{} did not end within {limit:?}: {said}", self.what));
            }
            thread::sleep(nap);
            nap = (nap * 2).min(Duration::from_millis(20));
        }
    }

    /// Presses Ctrl-C.
    pub fn interrupt(&self) {
        if let Some(pid) = self.group() {
            let _ = kill_process(pid, Signal::INT);
        }
    }

    fn kill(&mut self) {
        if let Some(group) = self.group().filter(|_| !self.ended) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
        self.ended = true;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A unique TCP port of the loopback interface.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let start = (std::process::id() % 200) as u16 * 50;
    loop {
        let port = 20_000 + (start + NEXT.fetch_add(1, Ordering::Relaxed)) % 10_000;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// Does the jobs, `threads` at a time, and fails with the names of those that failed.
pub fn all<J: Sync + std::fmt::Debug>(
    jobs: &[J],
    threads: usize,
    job: impl Fn(&J) -> Result<(), String> + Sync,
) {
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..threads.min(jobs.len()) {
            scope.spawn(|| {
                while let Some(one) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(why) = job(one) {
                        let mut failures = failures.lock().unwrap_or_else(PoisonError::into_inner);
                        failures.push(format!("{one:?}: {why}"));
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap_or_else(PoisonError::into_inner);
    let some: Vec<_> = failures.iter().take(8).map(String::as_str).collect();
    assert!(some.is_empty(), "{} of {} failed:\n{}", failures.len(), jobs.len(), some.join("\n"));
}

/// Whether two files hold the same bytes.
pub fn same(sent: &Path, arrived: &Path) -> Result<(), String> {
    let read = |path: &Path| fs::read(path).map_err(|e| format!("{}: {e}", path.display()));
    same_bytes(&read(sent)?, &read(arrived)?)
}

/// Whether two files' bytes are the same, and if not, where they part.
pub fn same_bytes(sent: &[u8], arrived: &[u8]) -> Result<(), String> {
    if sent == arrived {
        return Ok(());
    }
    let at = sent.iter().zip(arrived).take_while(|(a, b)| a == b).count();
    let lens = (sent.len(), arrived.len());
    Err(format!("the files differ from byte {at} on (lengths {lens:?})"))
}

/// The last JSON object that `wst --json` wrote.
pub fn last_event(end: &End) -> Result<serde_json::Value, String> {
    let line = end.said.lines().rev().find(|line| line.starts_with('{'));
    serde_json::from_str(line.ok_or("expected JSON, got none")?).map_err(|e| e.to_string())
}
