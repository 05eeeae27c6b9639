//! X, Y and ZMODEM on two pipes and in a PTY: `sz`, `rz` and their relatives, ours and lrzsz's.
//!
//! lrzsz waits for seconds before and after some transfers, so every time here is the time for the
//! file less the time for a file of one byte, both from the start of the programs to their end.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use super::Bench;
use super::run::{Figure, Program, size};
use super::tables::{Contender, group};

/// Whose program it is.
#[derive(Clone, Copy)]
enum Whose {
    Lrzsz,
    Ours,
}

/// A protocol by the names of its two programs, and their flags.
#[derive(Clone, Copy)]
struct Pair {
    send: (&'static str, &'static [&'static str]),
    receive: (&'static str, &'static [&'static str]),
    /// The receiver needs the name of the file as an argument.
    named: bool,
}

const XMODEM_1K: Pair = Pair { send: ("sx", &["-k"]), receive: ("rx", &["-c"]), named: true };
const YMODEM: Pair = Pair { send: ("sb", &["-k"]), receive: ("rb", &["-y"]), named: false };
const ZMODEM: Pair = Pair { send: ("sz", &[]), receive: ("rz", &["-y"]), named: false };

/// All the tables.
pub(super) fn all(bench: &Bench, file: &Path) -> Result<(), String> {
    for (program, package) in [("sz", "lrzsz"), ("rx", "lrzsz")] {
        if Command::new(program).arg("--version").output().is_err() {
            return Err(format!("{program} is not installed (Debian package {package})"));
        }
    }
    bench.links()?;
    let rows: Vec<Contender<'_>> = vec![
        ("lrzsz to lrzsz", Box::new(|| bench.pipes(file, ZMODEM, Whose::Lrzsz, Whose::Lrzsz))),
        ("wst to wst", Box::new(|| bench.pipes(file, ZMODEM, Whose::Ours, Whose::Ours))),
        ("wst to lrzsz", Box::new(|| bench.pipes(file, ZMODEM, Whose::Ours, Whose::Lrzsz))),
        ("lrzsz to wst", Box::new(|| bench.pipes(file, ZMODEM, Whose::Lrzsz, Whose::Ours))),
        ("cat to cat, one pipe", Box::new(|| bench.cat(file))),
    ];
    let title = "ZMODEM on pipes, random";
    group(bench, title, &rows, &[(1, 0, 4.0), (1, 4, 0.4)])?;
    for (title, pair) in
        [("XMODEM-1K on pipes, random", XMODEM_1K), ("YMODEM on pipes, random", YMODEM)]
    {
        let pipes = |from, to| move || bench.pipes(file, pair, from, to);
        let rows: Vec<Contender<'_>> = vec![
            ("lrzsz to lrzsz", Box::new(pipes(Whose::Lrzsz, Whose::Lrzsz))),
            ("wst to wst", Box::new(pipes(Whose::Ours, Whose::Ours))),
            ("wst to lrzsz", Box::new(pipes(Whose::Ours, Whose::Lrzsz))),
            ("lrzsz to wst", Box::new(pipes(Whose::Lrzsz, Whose::Ours))),
        ];
        group(bench, title, &rows, &[(1, 0, 3.0)])?;
    }
    let flags: &[&str] = &["-P", "zmodem"];
    let own = format!("exec-pty:{} receive -q -P zmodem -o INTO -", bench.wst);
    let rows: Vec<Contender<'_>> = vec![
        (
            "wst to lrzsz",
            Box::new(|| bench.wst_sends_command(file, "exec-pty:cd INTO; rz -q -y", flags)),
        ),
        ("wst to wst", Box::new(move || bench.wst_sends_command(file, &own, flags))),
        ("plain copy", Box::new(|| super::plain::pty(bench.len).map(Figure::speed))),
    ];
    group(bench, "ZMODEM in a PTY, random", &rows, &[(1, 0, 0.0), (1, 2, 1.0)])
}

impl Bench {
    /// Our program under the other names.
    fn links(&self) -> Result<(), String> {
        let dir = self.path("links");
        fs::create_dir_all(&dir).map_err(|e| e.to_string())?;
        let mut install = Command::new(&self.wst);
        install.arg("install-links").arg(dir).stdout(Stdio::null()).stderr(Stdio::null());
        Program::start(&mut install)?.end("wst install-links")
    }

    fn program(&self, whose: Whose, name: &str) -> Command {
        Command::new(match whose {
            Whose::Lrzsz => PathBuf::from(name),
            Whose::Ours => self.path("links").join(name),
        })
    }

    /// One protocol between two programs on two pipes.
    fn pipes(&self, file: &Path, pair: Pair, from: Whose, to: Whose) -> Result<Figure, String> {
        let one = self.path("one.bin");
        fs::write(&one, b"x").map_err(|e| e.to_string())?;
        let rest = self.pipes_once(&one, pair, from, to)?;
        let all = self.pipes_once(file, pair, from, to)?;
        self.same(file)?;
        Ok(Figure::speed(size(file) / (all - rest)))
    }

    /// Seconds from the start of the two programs to their end.
    fn pipes_once(&self, file: &Path, pair: Pair, from: Whose, to: Whose) -> Result<f64, String> {
        let into = self.fresh()?;
        let pipe = || std::io::pipe().map_err(|e| e.to_string());
        let ((from_a, to_b), (from_b, to_a)) = (pipe()?, pipe()?);
        let mut receive = self.program(to, pair.receive.0);
        receive.arg("-q").args(pair.receive.1).current_dir(&into).stderr(Stdio::null());
        if pair.named {
            receive.arg(file.file_name().unwrap_or_default());
        }
        let mut send = self.program(from, pair.send.0);
        send.arg("-q").args(pair.send.1).arg(file).stderr(Stdio::null());
        let began = Instant::now();
        let mut receiver = Program::start(receive.stdin(from_a).stdout(to_a))?;
        let mut sender = Program::start(send.stdin(from_b).stdout(to_b))?;
        // Their ends of the pipes are theirs alone, so that each sees when the other is gone.
        drop((receive, send));
        sender.end(pair.send.0)?;
        receiver.end(pair.receive.0)?;
        Ok(began.elapsed().as_secs_f64())
    }

    /// The file through one pipe between two `cat`.
    fn cat(&self, file: &Path) -> Result<Figure, String> {
        let into = self.fresh()?.join(file.file_name().unwrap_or_default());
        let (out, input) = std::io::pipe().map_err(|e| e.to_string())?;
        let sink = File::create(into).map_err(|e| e.to_string())?;
        let mut first = Command::new("cat");
        let mut second = Command::new("cat");
        let began = Instant::now();
        let mut sender = Program::start(first.arg(file).stdout(input))?;
        let mut receiver = Program::start(second.stdin(out).stdout(sink))?;
        drop((first, second));
        sender.end("cat")?;
        receiver.end("cat")?;
        let seconds = began.elapsed().as_secs_f64();
        self.same(file)?;
        Ok(Figure::speed(size(file) / seconds))
    }
}
