//! Commands run for a client: their output as it is produced, limited in length and time.

use super::search::Heed;
use crate::event::{self, Interest};
use crate::os::process::{self, Piped};
use std::io;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Maximum bytes shown of a command's output, and its timeout.
const MOST_OUTPUT: usize = 1 << 20;
const LONGEST: Duration = Duration::from_secs(60);
/// How long the end of the server may go unnoticed.
const GLANCE: Duration = Duration::from_millis(50);
/// Bytes read at a time.
const PIECE: usize = 4096;

/// A running command. It ends when it and all that may write for it have ended; or with the session, its
/// timeout, or more output than is shown. Then its whole process group is killed.
pub(super) struct Output {
    child: Child,
    /// Until no process can write to it any more.
    pipe: Option<Piped>,
    heed: Heed,
    /// Remaining time. A client that reads the output slowly does not use it up.
    left: Duration,
    told: usize,
    over: bool,
}

impl Output {
    pub(super) fn of(mut command: Command, heed: Heed) -> io::Result<Self> {
        let (from_child, to_us) = io::pipe()?;
        command.stdin(Stdio::null()).stdout(to_us.try_clone()?).stderr(to_us);
        // Its own process group, so that all of it can be killed.
        let child = process::spawn_group(&mut command)?;
        // Closes our own ends of the pipe.
        drop(command);
        Ok(Self {
            child,
            pipe: Some(Piped::new(from_child)?),
            heed,
            left: LONGEST,
            told: 0,
            over: false,
        })
    }

    /// Appends new output; false if that was all.
    pub(super) fn more(&mut self, out: &mut Vec<u8>) -> io::Result<bool> {
        while !self.over {
            self.heed.step()?;
            if self.left.is_zero() || self.told >= MOST_OUTPUT {
                self.end();
                break;
            }
            let began = Instant::now();
            let more = self.listen(out);
            self.left = self.left.saturating_sub(began.elapsed());
            if more? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Waits briefly; returns whether there was output.
    fn listen(&mut self, out: &mut Vec<u8>) -> io::Result<bool> {
        let wait = self.left.min(GLANCE);
        let Some(pipe) = &mut self.pipe else {
            // A background child that has closed its output does not delay the end.
            if let Some(status) = self.child.try_wait()? {
                self.over = true;
                if self.told == 0 {
                    out.extend(format!("({status})\n").into_bytes());
                    return Ok(true);
                }
            } else {
                std::thread::sleep(wait.min(Duration::from_millis(5)));
            }
            return Ok(false);
        };
        if !event::wait(&mut [Interest::read(pipe.source())], Some(wait))? {
            return Ok(false);
        }
        let mut some = [0; PIECE];
        let len = pipe.read(&mut some[..PIECE.min(MOST_OUTPUT - self.told)])?;
        if len == 0 {
            self.pipe = None;
        }
        self.told += len;
        out.extend_from_slice(&some[..len]);
        Ok(len > 0)
    }

    /// Kills it and its children.
    fn end(&mut self) {
        if !std::mem::replace(&mut self.over, true) {
            process::kill_group(&mut self.child);
        }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        self.end();
    }
}
