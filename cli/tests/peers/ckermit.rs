//! C-Kermit as a peer: its commands for our settings, and the ways to join the two programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use super::{End, Running, Scene, WST, free_port, wst};

/// How the two programs are joined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Over {
    /// TCP; `wst` listens and C-Kermit connects, without Telnet.
    TcpToUs,
    /// TCP; C-Kermit listens and `wst` connects.
    TcpToThem,
    /// C-Kermit is the remote end, in a PTY that `wst` made.
    OurPty,
    /// `wst` is the remote end, in a PTY that C-Kermit made.
    TheirPty,
}

/// The settings of one transfer.
#[derive(Clone, Debug)]
pub struct Mode {
    /// `None`: each program's own default.
    pub streaming: Option<bool>,
    pub window: u8,
    pub length: u16,
    pub check: char,
    pub prefix: &'static str,
    /// Parity at both ends.
    pub parity: Option<&'static str>,
    /// Parity at C-Kermit's end only; ours has to sense it.
    pub their_parity: Option<&'static str>,
    pub shift: &'static str,
    pub text: bool,
    /// More flags for `wst`.
    pub flags: Vec<String>,
    /// More commands for C-Kermit.
    pub commands: Vec<String>,
}

impl Default for Mode {
    fn default() -> Self {
        Self {
            streaming: None,
            window: 31,
            length: 9024,
            check: '3',
            prefix: "auto",
            parity: None,
            their_parity: None,
            shift: "on",
            text: false,
            flags: Vec::new(),
            commands: Vec::new(),
        }
    }
}

fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

impl Mode {
    /// Flags of `wst send` or `wst receive`.
    pub fn flags(&self, send: bool) -> Vec<String> {
        let mut flags = vec![
            format!("--window={}", self.window),
            format!("--length={}", self.length),
            format!("--check={}", self.check),
            format!("--prefixing={}", self.prefix),
            format!("--locking-shift={}", self.shift),
        ];
        if let Some(on) = self.streaming {
            flags.push(format!("--streaming={}", on_off(on)));
        }
        if let Some(parity) = self.parity {
            flags.push(format!("--parity={parity}"));
        }
        if send && self.text {
            flags.push("--text".to_owned());
        }
        flags.extend(self.flags.iter().cloned());
        flags
    }

    /// C-Kermit's SET commands.
    fn commands(&self) -> Vec<String> {
        let check =
            if self.check == 'B' { "blank-free-2".to_owned() } else { self.check.to_string() };
        let kind = if self.text { "text" } else { "binary" };
        let mut commands = vec![
            "set quiet on".to_owned(),
            "set exit warning off".to_owned(),
            "set delay 0".to_owned(),
            "set tcp reverse-dns-lookup off".to_owned(),
            "set transfer mode manual".to_owned(),
            format!("set file type {kind}"),
            "set transfer character-set transparent".to_owned(),
            format!("set window {}", self.window),
            format!("set send packet-length {}", self.length),
            format!("set receive packet-length {}", self.length),
            format!("set block-check {check}"),
            format!("set transfer locking-shift {}", self.shift),
        ];
        if self.prefix != "auto" {
            // It has no AUTO; and a prefixing that was set is kept on a clear channel too.
            commands.push(format!("set prefixing {}", self.prefix));
        }
        if let Some(on) = self.streaming {
            commands.push(format!("set reliable {}", on_off(on)));
            commands.push(format!("set streaming {}", on_off(on)));
            if !on {
                // Otherwise it takes AUTO to mean that control characters need no prefix.
                commands.push("set clear-channel off".to_owned());
            }
        }
        if let Some(parity) = self.parity.or(self.their_parity) {
            commands.push(format!("set parity {parity}"));
        }
        commands.extend(self.commands.iter().cloned());
        commands
    }
}

/// How a transfer between the two programs ended.
#[derive(Debug)]
pub struct Transfer {
    pub wst: End,
    pub kermit: End,
    /// Where the receiver put the files.
    pub into: PathBuf,
}

impl Transfer {
    /// Both ends report success.
    pub fn well(self) -> Result<Self, String> {
        if self.wst.code == 0 && self.kermit.code == 0 {
            return Ok(self);
        }
        Err(format!("wst {:?}, kermit {:?}", self.wst, self.kermit))
    }
}

/// A session that has begun: what `wst` and C-Kermit are told, and where files go.
pub struct Session<'a> {
    pub scene: &'a Scene,
    pub over: Over,
    pub mode: &'a Mode,
    /// `wst` sends, C-Kermit receives; or the other way round.
    pub we_send: bool,
    /// What `wst send` is told before LINE: files and flags. Empty if it receives.
    pub files: Vec<PathBuf>,
    /// The transfer command of C-Kermit, such as `receive` or `send /tmp/x`.
    pub command: String,
    /// Where the receiver puts files.
    pub into: PathBuf,
    pub limit: Duration,
}

impl<'a> Session<'a> {
    /// `wst` sends files to C-Kermit.
    pub fn we_send(scene: &'a Scene, over: Over, mode: &'a Mode, files: &[PathBuf]) -> Self {
        let (files, command) = (files.to_vec(), "receive".to_owned());
        let into = scene.folder("in");
        Self { scene, over, mode, we_send: true, files, command, into, limit: super::LIMIT }
    }

    /// C-Kermit sends files to `wst`.
    pub fn they_send(scene: &'a Scene, over: Over, mode: &'a Mode, files: &[PathBuf]) -> Self {
        let names: Vec<String> = files.iter().map(|f| f.display().to_string()).collect();
        let command = if let [one] = &names[..] {
            format!("send {one}")
        } else {
            format!("msend {}", names.join(" "))
        };
        let (files, into) = (Vec::new(), scene.folder("in"));
        Self { scene, over, mode, we_send: false, files, command, into, limit: super::LIMIT }
    }

    /// The same with another transfer command for C-Kermit.
    pub fn command(mut self, command: impl Into<String>) -> Self {
        self.command = command.into();
        self
    }

    /// The arguments of `wst` for a line.
    fn ours(&self, line: &str) -> Vec<String> {
        let mut args = Vec::new();
        if self.we_send {
            args.push("send".to_owned());
            args.extend(self.mode.flags(true));
            args.extend(self.files.iter().map(|f| f.display().to_string()));
            args.push(line.to_owned());
        } else {
            args.push("receive".to_owned());
            args.extend(self.mode.flags(false));
            args.push(format!("--output={}", self.into.display()));
            args.push(line.to_owned());
        }
        args
    }

    /// Writes the script of C-Kermit.
    fn script(&self, name: &str, connect: &[String]) -> PathBuf {
        let mut lines = self.mode.commands();
        lines.push(format!("cd {}", self.into.display()));
        lines.extend(connect.iter().cloned());
        if !connect.is_empty() {
            lines.push("if fail exit 99 no line".to_owned());
        }
        lines.push(self.command.clone());
        lines.push("if fail exit 1".to_owned());
        lines.push("exit 0".to_owned());
        self.scene.file(name, (lines.join("\n") + "\n").as_bytes())
    }

    fn kermit(&self, script: &Path) -> Result<Running, String> {
        let mut command = Command::new("kermit");
        self.scene.start("kermit", command.arg("-Y").arg("+").arg(script))
    }

    /// Starts both programs. Where one is the child of the other, only the other is there.
    pub fn start(&self) -> Result<(Option<Running>, Option<Running>), String> {
        match self.over {
            Over::TcpToUs => {
                let mut ours =
                    self.scene.start("wst", &mut wst(self.ours("tcp-listen://127.0.0.1:0")))?;
                let at = ours.line_after("listening on ")?;
                let (host, port) = at.split_once(':').ok_or("expected HOST:PORT")?;
                let connect = [format!("set host {host} {port} /raw")];
                let kermit = self.kermit(&self.script("script.ksc", &connect))?;
                Ok((Some(ours), Some(kermit)))
            }
            Over::TcpToThem => {
                let port = free_port();
                let connect = [format!("set host * {port} /raw")];
                let kermit = self.kermit(&self.script("script.ksc", &connect))?;
                listens(port)?;
                let args = self.ours(&format!("tcp://127.0.0.1:{port}"));
                Ok((Some(self.scene.start("wst", &mut wst(args))?), Some(kermit)))
            }
            Over::OurPty => {
                let script = self.script("script.ksc", &[]);
                let line = format!(
                    "exec-pty:trap : HUP; kermit -Y + {}; echo $? > {}",
                    script.display(),
                    self.code_file().display()
                );
                Ok((Some(self.scene.start("wst", &mut wst(self.ours(&line)))?), None))
            }
            Over::TheirPty => {
                // C-Kermit splits at blanks, so a file does the rest. The end of the first
                // program hangs up on the second.
                let shell = format!(
                    "trap : HUP\n{WST} {} 2>{}\necho $? > {}\n",
                    self.ours("-").join(" "),
                    self.scene.path("wst.err").display(),
                    self.code_file().display()
                );
                let shell = self.scene.file("remote.sh", shell.as_bytes());
                let connect = [
                    "set network type pty".to_owned(),
                    format!("set host /bin/sh {}", shell.display()),
                ];
                Ok((None, Some(self.kermit(&self.script("script.ksc", &connect))?)))
            }
        }
    }

    fn code_file(&self) -> PathBuf {
        self.scene.path("code")
    }

    /// The end of the one that was the child of the other.
    fn child_end(&self) -> Result<End, String> {
        let until = Instant::now() + Duration::from_secs(40);
        let said = fs::read_to_string(self.scene.path("wst.err")).unwrap_or_default();
        loop {
            let code = fs::read_to_string(self.code_file()).unwrap_or_default();
            if let Ok(code) = code.trim().parse() {
                return Ok(End { code, said });
            }
            if Instant::now() > until {
                return Err(format!("the program in the PTY left no exit code: {said}"));
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits for both ends.
    pub fn finish(self, running: (Option<Running>, Option<Running>)) -> Result<Transfer, String> {
        let (mut ours, mut theirs) = running;
        let wait = |program: &mut Option<Running>| {
            program.as_mut().map(|program| program.wait(self.limit)).transpose()
        };
        let (ours, theirs) = match (wait(&mut ours), wait(&mut theirs)) {
            (Ok(a), Ok(b)) => (a, b),
            (a, b) => return Err(format!("{a:?} {b:?}")),
        };
        let ours = ours.map_or_else(|| self.child_end(), Ok)?;
        let theirs = theirs.map_or_else(|| self.child_end(), Ok)?;
        Ok(Transfer { wst: ours, kermit: theirs, into: self.into })
    }

    /// Runs the whole transfer.
    pub fn run(self) -> Result<Transfer, String> {
        let running = self.start()?;
        self.finish(running)
    }
}

/// Waits until somebody listens on a port, without connecting to it.
pub fn listens(port: u16) -> Result<(), String> {
    let until = Instant::now() + super::LIMIT;
    let wanted = format!(":{port:04X} ");
    while Instant::now() < until {
        let found = ["/proc/net/tcp", "/proc/net/tcp6"].iter().any(|table| {
            let table = fs::read_to_string(table).unwrap_or_default();
            table.lines().any(|line| line.contains(&wanted) && line.contains(" 0A "))
        });
        if found {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(10));
    }
    Err(format!("kermit does not listen on port {port}"))
}
