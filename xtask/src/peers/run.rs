//! Runs the programs: one transfer at a time, each from scratch.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Bench, plain};

/// How long any single transfer may take.
const LIMIT: Duration = Duration::from_secs(120);

/// A program that is ended at the latest when this value is.
pub(super) struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Program {
    pub(super) fn start(command: &mut Command) -> Result<Self, String> {
        let what = format!("{command:?}");
        command.spawn().map(Self).map_err(|e| format!("{what}: {e}"))
    }

    /// Its process.
    pub(super) fn id(&self) -> u32 {
        self.0.id()
    }

    /// Its output, once.
    pub(super) fn output(&mut self) -> Result<ChildStdout, String> {
        self.0.stdout.take().ok_or_else(|| "expected its output".to_owned())
    }

    /// Ends it now.
    pub(super) fn stop(&mut self) -> Result<(), String> {
        self.0.kill().and_then(|()| self.0.wait()).map(drop).map_err(|e| e.to_string())
    }

    /// Waits for a good end.
    pub(super) fn end(&mut self, what: &str) -> Result<(), String> {
        let until = Instant::now() + LIMIT;
        loop {
            match self.0.try_wait().map_err(|e| e.to_string())? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(format!("{what}: {status}")),
                None if Instant::now() > until => return Err(format!("{what} does not end")),
                None => thread::sleep(Duration::from_micros(500)),
            }
        }
    }
}

/// The settings of one transfer: flags of `wst`, commands of C-Kermit.
#[derive(Clone, Copy, Default)]
pub(super) struct Setting {
    pub(super) flags: &'static [&'static str],
    pub(super) commands: &'static [&'static str],
}

/// What one transfer gave.
#[derive(Clone, Copy)]
pub(super) struct Figure {
    /// Bytes of the file per second.
    pub(super) speed: f64,
    /// Bytes of the wire, both directions; 0 if not counted.
    pub(super) wire: f64,
    /// Seconds of the processor for each byte of the file, both ends; 0 if not counted.
    pub(super) cpu: f64,
}

impl Figure {
    pub(super) fn speed(speed: f64) -> Self {
        Self { speed, wire: 0.0, cpu: 0.0 }
    }
}

/// What processors do for the programs that are started, and have ended, from now on.
pub(super) struct Spent(f64);

impl Spent {
    pub(super) fn begin() -> Self {
        Self(Self::until_now())
    }

    /// Seconds since then, in steps of 10 ms.
    pub(super) fn seconds(&self) -> f64 {
        Self::until_now() - self.0
    }

    /// User and system time of the children that have been waited for, and of theirs.
    fn until_now() -> f64 {
        let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        // The name stands in brackets and may hold anything; cutime is the 14th word behind it.
        let words = text.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
        let ticks = words.skip(13).take(2).filter_map(|word| word.parse::<f64>().ok());
        ticks.sum::<f64>() / 100.0
    }
}

pub(super) fn port() -> Result<u16, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|e| e.to_string())?;
    Ok(listener.local_addr().map_err(|e| e.to_string())?.port())
}

/// Waits until somebody listens on a port, without connecting.
pub(super) fn listens(port: u16) -> Result<(), String> {
    let wanted = format!(":{port:04X} ");
    for _ in 0..2000 {
        let table = fs::read_to_string("/proc/net/tcp").unwrap_or_default();
        if table.lines().any(|line| line.contains(&wanted) && line.contains(" 0A ")) {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(5));
    }
    Err(format!("no listener on port {port}"))
}

pub(super) fn size(path: &Path) -> f64 {
    fs::metadata(path).map_or(0.0, |meta| meta.len() as f64)
}

/// The object that `wst --json` wrote for an event.
fn event(said: &str, name: &str) -> Result<Value, String> {
    let all = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut named = all.filter(|value| value["event"] == name);
    named.next().ok_or_else(|| format!("expected the event {name}, got {said}"))
}

fn wire(said: &str) -> Result<f64, String> {
    let end = event(said, "end")?;
    let count = |name: &str| end["stats"][name].as_f64().unwrap_or(0.0);
    Ok(count("wire_out_bytes") + count("wire_in_bytes"))
}

fn seconds(said: &str, name: &str) -> Option<f64> {
    said.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

/// Starts `wst receive` and returns where it listens.
pub(super) fn listener(
    mut command: Command,
) -> Result<(Program, String, BufReader<ChildStdout>), String> {
    let mut program = Program::start(command.arg("tcp-listen://127.0.0.1:0"))?;
    let mut lines = BufReader::new(program.0.stdout.take().ok_or("expected its output")?);
    let mut line = String::new();
    lines.read_line(&mut line).map_err(|e| e.to_string())?;
    let text = event(&line, "line")?["text"].as_str().unwrap_or_default().to_owned();
    let at = text.strip_prefix("listening on ").ok_or("expected where it listens")?.to_owned();
    Ok((program, at, lines))
}

impl Bench {
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    pub(super) fn fresh(&self) -> Result<PathBuf, String> {
        let into = self.path("in");
        let _ = fs::remove_dir_all(&into);
        fs::create_dir_all(&into).map_err(|e| e.to_string())?;
        Ok(into)
    }

    fn command(&self, verb: &str, setting: Setting) -> Command {
        let mut command = Command::new(&self.wst);
        command.arg(verb).arg("--json").args(setting.flags).stdin(Stdio::null());
        command.env("XDG_CONFIG_HOME", self.path("no-config"));
        command.env("XDG_STATE_HOME", "/dev/null/none");
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        command
    }

    pub(super) fn kermit(
        &self,
        name: &str,
        setting: Setting,
        lines: &[String],
    ) -> Result<Command, String> {
        let mut script = vec!["set quiet on".to_owned(), "set exit warning off".to_owned()];
        script.extend(
            ["set delay 0", "set tcp reverse-dns-lookup off", "set file type binary"]
                .map(String::from),
        );
        script.push("set transfer mode manual".to_owned());
        script.push("set send packet-length 9000".to_owned());
        script.push("set receive packet-length 9000".to_owned());
        script.push("set file collision overwrite".to_owned());
        script.extend(setting.commands.iter().map(|line| (*line).to_owned()));
        script.extend(lines.iter().cloned());
        let path = self.path(name);
        fs::write(&path, script.join("\n") + "\nexit 0\n").map_err(|e| e.to_string())?;
        let mut command = Command::new("kermit");
        command.arg("-Y").arg("+").arg(path).env("HOME", &self.dir);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        Ok(command)
    }

    /// C-Kermit as a server that listens.
    pub(super) fn server(
        &self,
        into: &Path,
        port: u16,
        setting: Setting,
    ) -> Result<Program, String> {
        let lines = [
            format!("cd {}", into.display()),
            format!("set host * {port} /raw"),
            "server".to_owned(),
        ];
        let server = Program::start(&mut self.kermit("server.ksc", setting, &lines)?)?;
        listens(port)?;
        Ok(server)
    }

    pub(super) fn same(&self, file: &Path) -> Result<(), String> {
        let into = self.path("in").join(file.file_name().unwrap_or_default());
        let read = |path: &Path| fs::read(path).map_err(|e| format!("{}: {e}", path.display()));
        if read(file)? == read(&into)? { Ok(()) } else { Err("the files differ".to_owned()) }
    }

    /// `wst` to `wst`.
    pub(super) fn own(&self, file: &Path, setting: Setting) -> Result<Figure, String> {
        let into = self.fresh()?;
        let mut receive = self.command("receive", setting);
        receive.arg("-o").arg(into);
        let (mut receiver, at, mut rest) = listener(receive)?;
        let mut send = self.command("send", setting);
        send.arg(file).arg(format!("tcp://{at}"));
        let told = said(&mut send, "wst send")?;
        rest.read_to_string(&mut String::new()).map_err(|e| e.to_string())?;
        receiver.end("wst receive")?;
        let speed = size(file) / took(&told, "end")?;
        self.same(file)?;
        Ok(Figure { wire: wire(&told)?, ..Figure::speed(speed) })
    }

    /// C-Kermit's commands that send a file of one byte and then the file itself, with the time.
    fn timed(&self, file: &Path, connect: String) -> Result<Vec<String>, String> {
        let one = self.path("one.bin");
        fs::write(&one, b"x").map_err(|e| e.to_string())?;
        let mut lines = vec![connect, "if fail exit 9".to_owned()];
        for (file, mark) in [(one.as_path(), "ONE"), (file, "ALL")] {
            lines.push(format!("echo {mark}-BEGAN \\v(ftime)"));
            lines.push(format!("send {}", file.display()));
            lines.push("if fail exit 8".to_owned());
            lines.push(format!("echo {mark}-ENDED \\v(ftime)"));
        }
        Ok(lines)
    }

    /// C-Kermit to C-Kermit.
    pub(super) fn ckermit_itself(&self, file: &Path, setting: Setting) -> Result<Figure, String> {
        let into = self.fresh()?;
        let port = port()?;
        let server = self.server(&into, port, setting)?;
        let lines = self.timed(file, format!("set host 127.0.0.1 {port} /raw"))?;
        let said = said(&mut self.kermit("client.ksc", setting, &lines)?, "kermit")?;
        drop(server);
        self.same(file)?;
        Ok(Figure::speed(size(file) / between(&said)?))
    }

    /// C-Kermit to `wst`.
    pub(super) fn ckermit_sends(&self, file: &Path, setting: Setting) -> Result<Figure, String> {
        let mut receive = self.command("receive", setting);
        receive.arg("-o").arg(self.fresh()?);
        let (mut receiver, at, mut rest) = listener(receive)?;
        let host = at.replace(':', " ");
        let lines = [
            format!("set host {host} /raw"),
            format!("send {}", file.display()),
            "if fail exit 8".to_owned(),
        ];
        let mut sender = Program::start(&mut self.kermit("client.ksc", setting, &lines)?)?;
        let mut told = String::new();
        rest.read_to_string(&mut told).map_err(|e| e.to_string())?;
        sender.end("kermit")?;
        receiver.end("wst receive")?;
        self.same(file)?;
        let speed = size(file) / took(&told, "file-done")?;
        Ok(Figure { wire: wire(&told)?, ..Figure::speed(speed) })
    }

    /// Bytes of the wire when C-Kermit sends to itself.
    pub(super) fn ckermit_wire(&self, file: &Path, setting: Setting) -> Result<Figure, String> {
        let into = self.fresh()?;
        let inner = port()?;
        let server = self.server(&into, inner, setting)?;
        let (outer, counting) = plain::counter(inner)?;
        let lines = [
            format!("set host 127.0.0.1 {outer} /raw"),
            format!("send {}", file.display()),
            "if fail exit 8".to_owned(),
        ];
        Program::start(&mut self.kermit("client.ksc", setting, &lines)?)?.end("kermit")?;
        drop(server);
        self.same(file)?;
        let wire = counting.join().map_err(|_| "the counter panicked")? as f64;
        Ok(Figure { wire, ..Figure::speed(0.0) })
    }

    /// `wst` to C-Kermit.
    pub(super) fn wst_sends_ckermit(
        &self,
        file: &Path,
        setting: Setting,
    ) -> Result<Figure, String> {
        let into = self.fresh()?;
        let mut send = self.command("send", setting);
        send.arg(file);
        let (mut sender, at, mut rest) = listener(send)?;
        let host = at.replace(':', " ");
        let lines = [
            format!("cd {}", into.display()),
            format!("set host {host} /raw"),
            "receive".to_owned(),
            "if fail exit 8".to_owned(),
        ];
        let mut receiver = Program::start(&mut self.kermit("client.ksc", setting, &lines)?)?;
        let mut told = String::new();
        rest.read_to_string(&mut told).map_err(|e| e.to_string())?;
        receiver.end("kermit")?;
        sender.end("wst send")?;
        self.same(file)?;
        let speed = size(file) / took(&told, "file-done")?;
        Ok(Figure { wire: wire(&told)?, ..Figure::speed(speed) })
    }

    /// `wst` to a command in a PTY, or on pipes; the command stands in the line.
    pub(super) fn wst_sends_command(
        &self,
        file: &Path,
        line: &str,
        flags: &'static [&'static str],
    ) -> Result<Figure, String> {
        let into = self.fresh()?;
        let mut send = self.command("send", Setting { flags, commands: &[] });
        send.arg(file).arg(line.replace("INTO", &into.display().to_string()));
        let told = said(&mut send, "wst send")?;
        self.same(file)?;
        Ok(Figure::speed(size(file) / took(&told, "file-done")?))
    }

    /// C-Kermit to C-Kermit in a PTY.
    pub(super) fn ckermit_pty(&self, file: &Path) -> Result<Figure, String> {
        let into = self.fresh()?;
        let receive = "receive".to_owned();
        let lines = [format!("cd {}", into.display()), receive.clone(), receive];
        self.kermit("remote.ksc", Setting::default(), &lines)?;
        let mut lines = vec!["set network type pty".to_owned()];
        let remote = self.path("remote.ksc");
        lines.extend(self.timed(file, format!("set host kermit -Y + {}", remote.display()))?);
        let told = said(&mut self.kermit("client.ksc", Setting::default(), &lines)?, "kermit")?;
        self.same(file)?;
        Ok(Figure::speed(size(file) / between(&told)?))
    }

    /// G-Kermit to G-Kermit on two pipes.
    pub(super) fn gkermit_pipes(&self, file: &Path) -> Result<Figure, String> {
        let one = self.path("one.bin");
        fs::write(&one, b"x").map_err(|e| e.to_string())?;
        let rest = self.gkermit_once(&one)?;
        Ok(Figure::speed(size(file) / (self.gkermit_once(file)? - rest)))
    }

    /// Seconds from the start of two G-Kermits to their end.
    fn gkermit_once(&self, file: &Path) -> Result<f64, String> {
        let into = self.fresh()?;
        let pipe = || std::io::pipe().map_err(|e| e.to_string());
        let ((from_a, to_b), (from_b, to_a)) = (pipe()?, pipe()?);
        let gkermit = |args: &[&str]| {
            let mut command = Command::new("gkermit");
            command.args(["-q", "-X", "-i", "-e", "9000"]).args(args).stderr(Stdio::null());
            command
        };
        let mut receive = gkermit(&["-r"]);
        let mut receiver = Program::start(receive.current_dir(&into).stdin(from_a).stdout(to_a))?;
        drop(receive);
        let mut send = gkermit(&["-P", "-s"]);
        let began = Instant::now();
        let mut sender = Program::start(send.arg(file).stdin(from_b).stdout(to_b))?;
        drop(send);
        // The one that ends later has no peer for its last blank; the file decides.
        let _ = (sender.end("gkermit"), receiver.end("gkermit"));
        let seconds = began.elapsed().as_secs_f64();
        self.same(file)?;
        Ok(seconds)
    }

    /// The most memory that `wst send` had in use, in bytes.
    pub(super) fn memory(&self, file: &Path) -> Result<f64, String> {
        let mut receive = self.command("receive", Setting::default());
        receive.arg("-o").arg(self.fresh()?);
        let (mut receiver, at, mut rest) = listener(receive)?;
        let drain = thread::spawn(move || rest.read_to_string(&mut String::new()).map(drop));
        let mut send = self.command("send", Setting::default());
        send.arg(file).arg(format!("tcp://{at}")).stdout(Stdio::null());
        let mut sender = Program::start(&mut send)?;
        let status = format!("/proc/{}/status", sender.0.id());
        let mut peak = 0.0_f64;
        while sender.0.try_wait().map_err(|e| e.to_string())?.is_none() {
            let text = fs::read_to_string(&status).unwrap_or_default();
            let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
            peak = peak.max(kib.unwrap_or(0.0) * 1024.0);
            thread::sleep(Duration::from_millis(5));
        }
        sender.end("wst send")?;
        receiver.end("wst receive")?;
        let _ = drain.join();
        Ok(peak)
    }
}

/// Runs a program to its good end, and returns what it wrote to stdout.
pub(super) fn said(command: &mut Command, what: &str) -> Result<String, String> {
    let mut program = Program::start(command)?;
    let mut told = String::new();
    let out = program.0.stdout.take().ok_or("expected its output")?;
    BufReader::new(out).read_to_string(&mut told).map_err(|e| e.to_string())?;
    program.end(what)?;
    Ok(told)
}

/// Seconds that `wst` gives in an event.
fn took(told: &str, name: &str) -> Result<f64, String> {
    event(told, name)?["elapsed_s"].as_f64().ok_or_else(|| format!("expected a time in {name}"))
}

/// Seconds that C-Kermit took for the file, less what it took for one byte.
fn between(told: &str) -> Result<f64, String> {
    let took = |mark: &str| {
        let time = |what: &str| seconds(told, &format!("{mark}-{what}"));
        // The clock starts again at midnight.
        Some((time("ENDED")? - time("BEGAN")?).rem_euclid(86_400.0))
    };
    let (one, all) =
        took("ONE").zip(took("ALL")).ok_or_else(|| format!("expected times: {told}"))?;
    Ok(all - one)
}
