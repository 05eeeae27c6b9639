//! A password, typed without echo or read as a line of stdin.

use std::io::{self, Write as _};

use std::io::stderr;
use wetstring_drive::Signals;
use wetstring_drive::event::{Interest, wait};
use wetstring_drive::terminal;

/// Asks a question at the terminal, without echoing the answer.
pub(crate) fn ask(question: &str) -> io::Result<Vec<u8>> {
    let signals = Signals::install()?;
    let silent = terminal::stdin::silent()?;
    stderr().write_all(question.as_bytes())?;
    let interrupted = loop {
        let mut interests =
            [Interest::read(terminal::stdin::source()), Interest::read(signals.source())];
        let ready = wait(&mut interests, None).is_ok();
        if signals.count() > 0 {
            break true;
        }
        if ready && interests[0].is_ready() {
            break false;
        }
    };
    let line = if interrupted { Err(io::ErrorKind::Interrupted.into()) } else { line() };
    drop(silent);
    stderr().write_all(b"\n")?;
    line
}

/// A line of stdin.
pub(crate) fn line() -> io::Result<Vec<u8>> {
    let mut line = terminal::stdin::line(LONGEST + 2)?;
    while line.last().is_some_and(|last| matches!(last, b'\n' | b'\r')) {
        line.pop();
    }
    if line.len() as u64 > LONGEST {
        let say = format!("expected a password of at most {LONGEST} bytes, got more");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, say));
    }
    Ok(line)
}

/// The longest password; longer input is more likely a file.
const LONGEST: u64 = 1024;
