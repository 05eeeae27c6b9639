//! What a program prints in a terminal: by itself, in `wst wrap`, and in util-linux's `script`.
//!
//! Counted is from the start of the command to its last byte at the user's terminal, which does nothing but read.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

use wetstring_testkit::terminal;

use super::Bench;
use super::run::{Figure, Program};
use super::tables::{Contender, group};

/// Bytes of text that are printed.
const LEN: usize = 100_000_000;
const CHUNK: usize = 64 * 1024;

fn words(error: impl std::fmt::Display) -> String {
    format!("wrapper: {error}")
}

/// The group.
pub(super) fn all(bench: &Bench) -> Result<(), String> {
    let text = bench.path("printed.txt");
    let line = b"The quick brown fox jumps over the lazy dog, and over the next one as well.\n";
    let lines: Vec<u8> = line.iter().copied().cycle().take(LEN).collect();
    std::fs::write(&text, lines).map_err(words)?;
    let cat = format!("cat {}", text.display());
    let wrapped = format!("{} wrap -- {cat}", bench.wst);
    let scripted = format!("script -q -c '{cat}' /dev/null");
    let rows: Vec<Contender<'_>> = vec![
        ("cat in a terminal", Box::new(|| printed(bench, &cat))),
        ("cat in script in a terminal", Box::new(|| printed(bench, &scripted))),
        ("cat in wst wrap in a terminal", Box::new(|| printed(bench, &wrapped))),
    ];
    group(bench, "cat of 100 MB", &rows, &[(2, 0, 0.6), (2, 1, 1.2)])
}

/// Bytes per second of a command whose terminal this is.
fn printed(bench: &Bench, command: &str) -> Result<Figure, String> {
    let terminal = terminal().map_err(words)?;
    let side = || terminal.open().map(Stdio::from).map_err(words);
    let mut shell = Command::new("setsid");
    shell.args(["--ctty", "--wait", "sh", "-c", &format!("exec {command}")]);
    shell.stdin(side()?).stdout(side()?).stderr(side()?);
    shell.env("XDG_CONFIG_HOME", bench.path("no-config"));
    let mut master = File::from(terminal.master);
    let began = Instant::now();
    let mut program = Program::start(&mut shell)?;
    // What the command still holds open here would keep the terminal from ending.
    drop(shell);
    let reader = thread::spawn(move || -> std::io::Result<(usize, Instant)> {
        let (mut count, mut last, mut chunk) = (0, Instant::now(), vec![0; CHUNK]);
        loop {
            match master.read(&mut chunk) {
                Ok(len @ 1..) => {
                    count += len;
                    last = Instant::now();
                }
                // Linux says EIO once no program has it any more.
                Ok(0) => return Ok((count, last)),
                Err(e) if e.raw_os_error() == Some(5) => return Ok((count, last)),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    });
    program.end(command)?;
    let (count, last) =
        reader.join().map_err(|_| "wrapper: the reader panicked")?.map_err(words)?;
    if count < LEN {
        return Err(format!("{command}: expected {LEN} bytes, got {count}"));
    }
    Ok(Figure::speed(count as f64 / (last - began).as_secs_f64()))
}
