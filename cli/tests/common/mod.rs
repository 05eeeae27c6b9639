//! What the tests of the program share: running it with a limit of time, and peers to talk to.
//!
//! Every child is waited for, and killed by its own handle if it takes too long.
#![allow(dead_code, reason = "each test program uses a part of this")]

pub(crate) mod desktop;
pub(crate) mod friends;
pub(crate) mod relay;
pub(crate) mod schema;
pub(crate) mod scripted_peer;
pub(crate) mod tmux;
pub(crate) mod zmodem;

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use wetstring_testkit::handle_terminal_signals;
pub(crate) use wetstring_testkit::noise;

/// The program under test.
pub(crate) const WST: &str = env!("CARGO_BIN_EXE_wst");

/// Longer than anything here should take.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// The program with these arguments, in an environment that is the same everywhere.
pub(crate) fn wst<S: AsRef<std::ffi::OsStr>>(args: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(WST);
    command.args(args);
    tame(&mut command);
    command
}

/// Makes the environment of a command the same everywhere.
pub(crate) fn tame(command: &mut Command) {
    handle_terminal_signals();
    command
        .env("XDG_CONFIG_HOME", "/nonexistent")
        // Where nothing can be made, even by root.
        .env("XDG_STATE_HOME", "/dev/null/none")
        .env("COLUMNS", "100")
        .env("TERM", "dumb")
        .env("NO_COLOR", "1")
        .stdin(Stdio::null());
}

/// What came of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    /// How it ended.
    pub(crate) status: ExitStatus,
    /// What it wrote to stdout.
    pub(crate) stdout: String,
    /// What it wrote to stderr.
    pub(crate) stderr: String,
    /// How long it took.
    pub(crate) elapsed: Duration,
}

impl Ran {
    /// The exit code; -1 if a signal ended it.
    pub(crate) fn code(&self) -> i32 {
        self.status.code().unwrap_or(-1)
    }

    /// Fails the test with everything that was said, unless the code is this.
    #[track_caller]
    pub(crate) fn expect(&self, code: i32) -> &Self {
        assert_eq!(self.code(), code, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// The JSON events, each checked against the schema.
    #[track_caller]
    pub(crate) fn events(&self) -> Vec<serde_json::Value> {
        let parse = |line: &str| -> serde_json::Value {
            let value: serde_json::Value =
                serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
            assert_eq!(value["v"], 1, "{line}");
            schema::of_event(&value).unwrap_or_else(|bad| panic!("{bad}: {line}"));
            value
        };
        self.stdout.lines().map(parse).collect()
    }
}

/// A child whose output is gathered while it runs.
pub(crate) struct Running {
    child: Child,
    began: Instant,
    stdout: Option<JoinHandle<String>>,
    stderr: Option<JoinHandle<String>>,
    first_lines: std::sync::mpsc::Receiver<String>,
}

fn gather(stream: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = BufReader::new(stream).read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

impl Running {
    /// Starts it.
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Self::start_as_is(command)
    }

    /// Starts it without touching its stdout.
    pub(crate) fn start_as_is(mut command: Command) -> Self {
        command.stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        // The command holds the test's ends of pipes that were given to the child.
        drop(command);
        let stdout = child.stdout.take().map(gather);
        let (send, first_lines) = std::sync::mpsc::channel();
        let stderr = child.stderr.take().map(|stream| {
            std::thread::spawn(move || {
                let mut all = String::new();
                for line in BufReader::new(stream).split(b'\n') {
                    let Ok(line) = line else { break };
                    let line = String::from_utf8_lossy(&line).into_owned();
                    let _ = send.send(line.clone());
                    all.push_str(&line);
                    all.push('\n');
                }
                all
            })
        });
        Self { child, began: Instant::now(), stdout, stderr, first_lines }
    }

    /// The rest of the line on stderr that begins with `prefix`.
    #[track_caller]
    pub(crate) fn says(&self, prefix: &str) -> String {
        let end = Instant::now() + LIMIT;
        let mut said = Vec::new();
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let line = self.first_lines.recv_timeout(left);
            let line =
                line.unwrap_or_else(|e| panic!("waiting for {prefix:?}: {e}; it said {said:?}"));
            said.push(line.clone());
            if let Some(rest) = line.strip_prefix(prefix) {
                return rest.trim().to_owned();
            }
        }
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).expect("the child is there");
    }

    /// The most memory it has had so far, in kB.
    pub(crate) fn peak_kb(&self) -> Option<u64> {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.split_whitespace().next()?.parse().ok()
    }

    /// Hundredths of a second of processor time that it has taken.
    pub(crate) fn ticks(&self) -> Option<u64> {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).ok()?;
        let mut words = text.rsplit_once(')')?.1.split_whitespace().skip(11);
        Some(words.next()?.parse::<u64>().ok()? + words.next()?.parse::<u64>().ok()?)
    }

    /// Waits for its end.
    #[track_caller]
    pub(crate) fn end(self) -> Ran {
        self.end_within(LIMIT)
    }

    /// The same, of what may take longer.
    #[track_caller]
    pub(crate) fn end_within(mut self, time: Duration) -> Ran {
        let limit = Instant::now() + time;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("the child can be waited for") {
                break Some(status);
            }
            if Instant::now() > limit {
                break None;
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let elapsed = self.began.elapsed();
        if status.is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        let join = |stream: Option<JoinHandle<String>>| {
            stream.map_or_else(String::new, |s| s.join().unwrap_or_default())
        };
        let (stdout, stderr) = (join(self.stdout.take()), join(self.stderr.take()));
        let Some(status) = status else {
            panic!("did not end within {time:?}\nstdout:\n{stdout}\nstderr:\n{stderr}")
        };
        // What a user is told has words, wherever it comes from.
        assert!(!stderr.contains("(os error"), "the system's number is said:\n{stderr}");
        Ran { status, stdout, stderr, elapsed }
    }
}

impl Drop for Running {
    /// A test that fails leaves none behind.
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// An empty bucket in memory, if this program has object storage.
pub(crate) fn bucket(address: &str) -> Option<std::sync::Arc<dyn wetstring_drive::serve::Tree>> {
    #[cfg(feature = "objects")]
    {
        let tree = wetstring_objects::ObjectTree::open(address);
        assert!(tree.is_ok(), "expected a bucket in memory, got {:?}", tree.err());
        tree.ok().map(|tree| std::sync::Arc::new(tree) as _)
    }
    #[cfg(not(feature = "objects"))]
    {
        let _ = address;
        None
    }
}

/// The connection that comes.
#[track_caller]
pub(crate) fn accept(listener: &std::net::TcpListener) -> std::net::TcpStream {
    listener.set_nonblocking(true).expect("the listener can be asked");
    let end = Instant::now() + LIMIT;
    while Instant::now() < end {
        if let Ok((stream, _)) = listener.accept() {
            stream.set_nonblocking(false).expect("the stream can wait");
            return stream;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("no connection within {LIMIT:?}")
}

/// Runs a command to its end. A sweep computes for half a minute, and beside other tests for several.
#[track_caller]
pub(crate) fn run(command: Command) -> Ran {
    Running::start(command).end_within(LIMIT * 5)
}

/// A directory with a file of noise to send and an empty one to receive into.
pub(crate) struct Desk {
    /// The directory.
    pub(crate) dir: tempfile::TempDir,
    /// What is in the file.
    pub(crate) bytes: Vec<u8>,
}

impl Desk {
    /// A file of this length.
    pub(crate) fn new(len: usize) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let bytes = noise(len as u64 + 1, len);
        std::fs::write(dir.path().join("data.bin"), &bytes).expect("the file");
        std::fs::create_dir(dir.path().join("in")).expect("the directory");
        Self { dir, bytes }
    }

    /// A path in it.
    pub(crate) fn path(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().expect("a path in UTF-8").to_owned()
    }

    /// Fails the test unless the file has arrived whole.
    #[track_caller]
    pub(crate) fn arrived(&self) {
        let got = std::fs::read(self.dir.path().join("in/data.bin")).expect("the file arrived");
        assert_eq!(got.len(), self.bytes.len());
        assert!(got == self.bytes, "the bytes differ");
    }

    /// The names in the directory for received files, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        names(&self.dir.path().join("in"))
    }

    /// A directory for `PATH` with what a shell needs to take a file, and no program that receives one.
    #[cfg(unix)]
    pub(crate) fn few_tools(&self) -> String {
        let bin = self.path("bin");
        std::fs::create_dir(&bin).expect("a folder");
        for tool in ["base64", "chmod", "head", "mv", "rm", "sha256sum", "stty"] {
            let from = ["/usr/bin", "/bin"].map(|dir| format!("{dir}/{tool}"));
            let from = from.iter().find(|path| Path::new(path).exists());
            std::os::unix::fs::symlink(from.expect(tool), format!("{bin}/{tool}")).expect("a link");
        }
        bin
    }
}

/// The names in a directory, sorted.
pub(crate) fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).expect("the directory");
    let mut names: Vec<String> =
        entries.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// A short Kermit packet with block check 1.
pub(crate) fn packet(kind: u8, number: u8, data: &[u8]) -> Vec<u8> {
    let mut body = vec![data.len() as u8 + 3 + 32, number % 64 + 32, kind];
    body.extend_from_slice(data);
    let sum: u32 = body.iter().map(|byte| u32::from(*byte)).sum();
    let check = ((sum + ((sum & 0xC0) >> 6)) & 0x3F) as u8 + 32;
    let mut packet = vec![1];
    packet.extend_from_slice(&body);
    packet.extend_from_slice(&[check, b'\r']);
    packet
}

/// The data field of a name or text: control characters get their prefix.
pub(crate) fn encode(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for byte in text {
        match byte {
            0..=31 | 127 => out.extend_from_slice(&[b'#', byte ^ 64]),
            b'#' | b'&' | b'~' => out.extend_from_slice(&[b'#', *byte]),
            _ => out.push(*byte),
        }
    }
    out
}

/// Reads until a packet of this kind has come, or the stream ends. True if it came.
pub(crate) fn wait_for(stream: &mut impl Read, kind: u8, number: Option<u8>) -> bool {
    let mut seen: Vec<u8> = Vec::new();
    let mut buffer = [0; 1];
    while matches!(stream.read(&mut buffer), Ok(1)) {
        if buffer[0] == 1 {
            seen.clear();
            continue;
        }
        seen.push(buffer[0]);
        if let [_, seq, k, ..] = seen[..]
            && seen.len() == 3
            && k == kind
            && number.is_none_or(|number| seq == number % 64 + 32)
        {
            return true;
        }
    }
    false
}

/// A sender that sends one small file under any name, one packet after the other. Returns what the
/// receiver answered to the last packet: whether each packet was acknowledged.
pub(crate) fn send_as(stream: &mut (impl Read + Write), name: &[u8], data: &[u8]) -> bool {
    // MAXL, TIME, NPAD, PADC, EOL, QCTL, QBIN, CHKT: a peer with nothing special.
    let packets: [(u8, Vec<u8>); 5] = [
        (b'S', b"~* @-#N1".to_vec()),
        (b'F', encode(name)),
        (b'D', encode(data)),
        (b'Z', Vec::new()),
        (b'B', Vec::new()),
    ];
    for (number, (kind, data)) in packets.into_iter().enumerate() {
        if stream.write_all(&packet(kind, number as u8, &data)).is_err() {
            return false;
        }
        if !wait_for(stream, b'Y', Some(number as u8)) {
            return false;
        }
    }
    true
}

/// Compares with a file in `tests/snapshots`. `WETSTRING_UPDATE_SNAPSHOTS=1` writes it.
#[track_caller]
pub(crate) fn snapshot(name: &str, text: &str) {
    let path = format!("{}/tests/snapshots/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("WETSTRING_UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, text).expect("the snapshot can be written");
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(wanted == text, "{name} differs from its snapshot; it is now:\n{text}");
}
