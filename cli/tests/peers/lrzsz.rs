//! lrzsz as a peer: ways to join its programs, which talk on stdin and stdout, with ours.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{End, Running, Scene, WST, peer, wst};

/// lrzsz, from Debian's `lrzsz`.
pub fn lrzsz() -> Option<PathBuf> {
    for name in ["sz", "rz", "sb", "rb", "sx"] {
        peer(name, "lrzsz")?;
    }
    peer("rx", "lrzsz")
}

/// How lrzsz is joined to `wst`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Over {
    /// The pipes of `exec:`.
    Pipe,
    /// The PTY of `exec-pty:`.
    Pty,
    /// A TCP connection that lrzsz has as its stdin and stdout.
    Tcp,
}

pub const EVERYWHERE: [Over; 3] = [Over::Pipe, Over::Pty, Over::Tcp];

/// How a transfer ended.
#[derive(Debug)]
pub struct Done {
    pub wst: End,
    /// lrzsz's exit code.
    pub code: i32,
    pub took: Duration,
}

impl Done {
    /// Both ends report success.
    pub fn well(self) -> Result<Self, String> {
        if self.wst.code == 0 && self.code == 0 { Ok(self) } else { Err(format!("{self:?}")) }
    }
}

/// Runs `wst` with `args` and a line to `command`, a shell command that is started in `dir`.
pub fn run(
    scene: &Scene,
    over: Over,
    args: &[OsString],
    dir: &Path,
    command: &str,
    limit: Duration,
) -> Result<Done, String> {
    let began = Instant::now();
    let code = scene.path("lrzsz.code");
    let said = scene.path("lrzsz.said");
    let shell = format!(
        "cd {}; {command} 2>{}; echo $? > {}",
        dir.display(),
        said.display(),
        code.display()
    );
    let ours = |line: String| {
        let mut args = args.to_vec();
        args.push(line.into());
        scene.start("wst", &mut wst(args))
    };
    let (ended, _theirs) = match over {
        Over::Pipe => (ours(format!("exec:{shell}"))?.wait(limit), None),
        Over::Pty => (ours(format!("exec-pty:{shell}"))?.wait(limit), None),
        Over::Tcp => {
            let listener = TcpListener::bind("127.0.0.1:0").map_err(|e| e.to_string())?;
            let at = listener.local_addr().map_err(|e| e.to_string())?;
            let mut wst = ours(format!("tcp://{at}"))?;
            let (stream, _) = listener.accept().map_err(|e| e.to_string())?;
            let mut theirs = on_tcp(scene, stream, &shell)?;
            let ended = wst.wait(limit);
            theirs.wait(Duration::from_secs(20))?;
            (ended, Some(theirs))
        }
    };
    let theirs = fs::read_to_string(&said).unwrap_or_default();
    let wst = ended.map_err(|why| format!("{why}; lrzsz: {theirs}"))?;
    let code = fs::read_to_string(&code).map_err(|e| format!("lrzsz left no code: {e}; {wst:?}"));
    let code = code?.trim().parse().map_err(|e| format!("{e}"))?;
    let wst = End { said: format!("{}\nlrzsz: {theirs}", wst.said), ..wst };
    Ok(Done { wst, code, took: began.elapsed() })
}

/// Starts a shell command whose stdin and stdout are a TCP connection.
pub fn on_tcp(scene: &Scene, stream: TcpStream, shell: &str) -> Result<Running, String> {
    let io = |e: std::io::Error| e.to_string();
    let _ = stream.set_nodelay(true);
    let out = OwnedFd::from(stream.try_clone().map_err(io)?);
    let mut command = Command::new("sh");
    command.args(["-c", shell]);
    start(scene, "lrzsz", command, OwnedFd::from(stream).into(), out.into())
}

/// Starts a program on a stdin and stdout of its own; what it says on stderr is kept.
pub fn start(
    scene: &Scene,
    what: &str,
    mut command: Command,
    stdin: Stdio,
    stdout: Stdio,
) -> Result<Running, String> {
    let io = |e: std::io::Error| format!("{what}: {e}");
    let log = scene.fresh(what, "log");
    command.stdin(stdin).stdout(stdout).stderr(File::create(&log).map_err(io)?);
    command.env("XDG_CONFIG_HOME", scene.path("no-config")).env("HOME", scene.path("."));
    command.env("NO_COLOR", "1").env("TERM", "dumb").process_group(0);
    let child = command.spawn().map_err(io)?;
    Ok(Running { child, what: what.to_owned(), log, ended: false })
}

/// Our program under another name.
pub fn personality(scene: &Scene, name: &str) -> PathBuf {
    let link = scene.folder("links").join(name);
    if !link.exists() {
        symlink(WST, &link).expect("a link");
    }
    link
}

/// Joins a sender and a receiver by two pipes, runs them to their ends, and returns those.
pub fn join(
    scene: &Scene,
    sender: Command,
    receiver: Command,
    limit: Duration,
) -> Result<(End, End), String> {
    let io = |e: std::io::Error| e.to_string();
    let (from_sender, to_receiver) = std::io::pipe().map_err(io)?;
    let (from_receiver, to_sender) = std::io::pipe().map_err(io)?;
    let mut receiver = start(scene, "receiver", receiver, from_sender.into(), to_sender.into())?;
    let mut sender = start(scene, "sender", sender, from_receiver.into(), to_receiver.into())?;
    match (sender.wait(limit), receiver.wait(limit)) {
        (Ok(a), Ok(b)) => Ok((a, b)),
        (a, b) => Err(format!("sender {a:?}, receiver {b:?}")),
    }
}

/// Arguments from words and paths.
pub fn words<S: AsRef<OsStr>>(words: &[S]) -> Vec<OsString> {
    words.iter().map(|word| word.as_ref().to_owned()).collect()
}

/// Names that shells and character sets stumble over; the second is no UTF-8.
pub fn names() -> [OsString; 3] {
    [
        OsString::from("with  two spaces and a 'quote'.bin"),
        OsString::from_vec(b"d\xe9j\xe0 vu.bin".to_vec()),
        OsString::from("\u{20ac}\u{fc}.bin"),
    ]
}

/// Files with everything in them that could go wrong, and their contents.
pub fn batch(scene: &Scene, bytes: &[u8]) -> Vec<PathBuf> {
    let dir = scene.folder("from");
    let mut files = vec![
        (OsString::from("0.bin"), bytes.to_vec()),
        (OsString::from("1-empty.bin"), Vec::new()),
        (OsString::from("2-one.bin"), vec![0x18]),
    ];
    files.extend(names().into_iter().enumerate().map(|(n, name)| {
        let len = [1024, 128, 1025][n];
        (name, super::material::random(len, n as u64))
    }));
    files
        .into_iter()
        .map(|(name, bytes)| {
            let path = dir.join(name);
            fs::write(&path, bytes).expect("the file is written");
            path
        })
        .collect()
}

/// Every file has arrived, under its name and with its bytes.
pub fn arrived(files: &[PathBuf], into: &Path) -> Result<(), String> {
    for file in files {
        let name = file.file_name().unwrap_or_default();
        super::same(file, &into.join(name)).map_err(|why| {
            let there: Vec<OsString> = fs::read_dir(into)
                .map(|dir| dir.flatten().map(|entry| entry.file_name()).collect())
                .unwrap_or_default();
            format!("{}: {why}; there is {there:?}", name.as_bytes().escape_ascii())
        })?;
    }
    Ok(())
}

/// The file has arrived, and behind it nothing but the padding of XMODEM.
pub fn padded(sent: &Path, arrived: &Path) -> Result<(), String> {
    let read = |path: &Path| fs::read(path).map_err(|e| format!("{}: {e}", path.display()));
    let (sent, mut arrived) = (read(sent)?, read(arrived)?);
    let padding = arrived.split_off(sent.len().min(arrived.len()));
    super::same_bytes(&sent, &arrived)?;
    let whole = (sent.len() + padding.len()).is_multiple_of(128) && padding.len() < 1024;
    let right = padding.is_empty() || (whole && padding.iter().all(|byte| *byte == 0x1A));
    if right { Ok(()) } else { Err(format!("expected padding, got {padding:x?}")) }
}
