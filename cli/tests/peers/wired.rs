//! Our program by another name with lrzsz at the peer of a recorded wire. Ours has pipes, a
//! terminal or a TCP connection as its stdin and stdout, lrzsz has pipes.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Command;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::termios::{LocalModes, tcgetattr};

use super::lrzsz::{Over, personality, start};
use super::{End, Scene};

/// How a transfer ended, and all that was said.
#[derive(Debug)]
pub struct Wired {
    pub ours: End,
    pub theirs: End,
    pub from_ours: Vec<u8>,
    pub to_ours: Vec<u8>,
    pub took: Duration,
}

impl Wired {
    /// Both ends report success.
    pub fn well(self) -> Result<Self, String> {
        match (self.ours.code, self.theirs.code) {
            (0, 0) => Ok(self),
            codes => Err(format!("{codes:?}: {}\n{}", self.ours.said, self.theirs.said)),
        }
    }
}

/// Carries bytes until there are no more, calls `end`, and returns what it has carried.
fn relay(
    mut from: impl Read + Send + 'static,
    mut to: impl Write + Send + 'static,
    end: impl FnOnce() + Send + 'static,
) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let (mut all, mut buffer) = (Vec::new(), [0; 16_384]);
        let mut open = true;
        while let Ok(len @ 1..) = from.read(&mut buffer) {
            all.extend_from_slice(&buffer[..len]);
            // Bytes after the end are discarded, so that neither end blocks.
            open = open && to.write_all(&buffer[..len]).is_ok();
        }
        drop(to);
        end();
        all
    })
}

/// A terminal: our side, and the program's.
fn terminal() -> Result<(File, File), String> {
    let both = wetstring_testkit::terminal().map_err(|e| e.to_string())?;
    let slave = both.open().map_err(|e| e.to_string())?;
    Ok((File::from(both.master), slave))
}

/// Waits until a program has made its terminal raw, as one who types the next command does.
fn until_raw(slave: &File) -> Result<(), String> {
    let until = Instant::now() + super::LIMIT;
    while tcgetattr(slave).is_ok_and(|modes| modes.local_modes.contains(LocalModes::ICANON)) {
        if Instant::now() > until {
            return Err("expected a raw terminal, got none".to_owned());
        }
        thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

/// Runs both to their ends.
pub fn wired(
    scene: &Scene,
    over: Over,
    ours: Command,
    theirs: Command,
    limit: Duration,
) -> Result<Wired, String> {
    let io = |e: std::io::Error| e.to_string();
    let began = Instant::now();
    let (from_them, their_out) = std::io::pipe().map_err(io)?;
    let (their_in, to_them) = std::io::pipe().map_err(io)?;
    let begin_theirs =
        |theirs| start(scene, "lrzsz", theirs, OwnedFd::from(their_in).into(), their_out.into());
    let nothing = || ();
    let (mut a, mut b, out, back) = match over {
        Over::Pipe => {
            let (from_us, our_out) = std::io::pipe().map_err(io)?;
            let (our_in, to_us) = std::io::pipe().map_err(io)?;
            let a = start(scene, "ours", ours, OwnedFd::from(our_in).into(), our_out.into())?;
            let b = begin_theirs(theirs)?;
            (a, b, relay(from_us, to_them, nothing), relay(from_them, to_us, nothing))
        }
        Over::Pty => {
            let (master, slave) = terminal()?;
            let copy = || slave.try_clone().map_err(io);
            let a = start(scene, "ours", ours, copy()?.into(), copy()?.into())?;
            until_raw(&slave)?;
            drop(slave);
            let b = begin_theirs(theirs)?;
            let to_us = master.try_clone().map_err(io)?;
            (a, b, relay(master, to_them, nothing), relay(from_them, to_us, nothing))
        }
        Over::Tcp => {
            let listener = TcpListener::bind("127.0.0.1:0").map_err(io)?;
            let near = TcpStream::connect(listener.local_addr().map_err(io)?).map_err(io)?;
            let (far, _) = listener.accept().map_err(io)?;
            let _ = far.set_nodelay(true);
            let near_out = OwnedFd::from(near.try_clone().map_err(io)?);
            let a = start(scene, "ours", ours, OwnedFd::from(near).into(), near_out.into())?;
            let b = begin_theirs(theirs)?;
            let [to_us, last] = [far.try_clone().map_err(io)?, far.try_clone().map_err(io)?];
            let end = move || drop(last.shutdown(Shutdown::Write));
            (a, b, relay(far, to_them, nothing), relay(from_them, to_us, end))
        }
    };
    let (ours, theirs) = (a.wait(limit), b.wait(limit));
    let took = began.elapsed();
    let (ours, theirs) = match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => (ours, theirs),
        (a, b) => return Err(format!("ours {a:?}, lrzsz {b:?}")),
    };
    let joined = |thread: JoinHandle<Vec<u8>>| thread.join().map_err(|_| "a relay".to_owned());
    Ok(Wired { ours, theirs, from_ours: joined(out)?, to_ours: joined(back)?, took })
}

/// A command line, whose words are separated by blanks. Ours is found by its name, lrzsz's too.
pub fn line(scene: &Scene, ours: bool, line: &str, dir: &Path) -> Command {
    let mut words = line.split(' ');
    let name = words.next().unwrap_or_default();
    let mut command = if ours {
        Command::new(personality(scene, name))
    } else {
        Command::new(name.strip_prefix('l').unwrap_or(name))
    };
    command.args(words).current_dir(dir);
    command.env_remove("ZMODEM_RESTRICTED").env_remove("ONAME").env("SHELL", "/bin/sh");
    command
}
