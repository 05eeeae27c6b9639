//! Commands that are run for a client: what they write, to a bound of length and of time.

use super::search::Heed;
use std::io::{self, PipeReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Bytes that are kept of what a command writes, and how long it may take.
const MOST_OUTPUT: usize = 1 << 20;
const LONGEST: Duration = Duration::from_secs(60);
/// How long the end of the server may go unnoticed.
const GLANCE: Duration = Duration::from_millis(50);

/// What a command writes. It ends when it has ended, and with it everything that may write for it; or with
/// the session, with its time, or with more output than is kept. Then all of its group is ended.
pub(super) fn run(mut command: Command, heed: &mut Heed) -> io::Result<Vec<u8>> {
    let (from_child, to_us) = io::pipe()?;
    command.stdin(Stdio::null()).stdout(to_us.try_clone()?).stderr(to_us);
    // Its own group, so that all of it can be ended.
    let mut child = command.process_group(0).spawn()?;
    // With it go our own ends of the pipe.
    drop(command);
    let mut output = Vec::new();
    let status = listen(&mut child, from_child, &mut output, heed);
    if !matches!(status, Ok(Some(_))) {
        let group = rustix::process::Pid::from_child(&child);
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let status = match status? {
        Some(status) => status,
        None => child.wait()?,
    };
    if output.is_empty() {
        output = format!("({status})\n").into_bytes();
    }
    Ok(output)
}

/// Listens until the command has ended; no status if it is to be ended. A child in the background that
/// holds the pipe open, and has left the group, holds nobody up for longer.
fn listen(
    child: &mut Child,
    mut pipe: PipeReader,
    output: &mut Vec<u8>,
    heed: &mut Heed,
) -> io::Result<Option<ExitStatus>> {
    let until = Instant::now() + LONGEST;
    let (mut open, mut some) = (true, [0; 4096]);
    loop {
        heed.step()?;
        let left = until.saturating_duration_since(Instant::now()).min(GLANCE);
        if left.is_zero() || output.len() >= MOST_OUTPUT {
            output.truncate(MOST_OUTPUT);
            return Ok(None);
        }
        if !open {
            if let Some(status) = child.try_wait()? {
                return Ok(Some(status));
            }
            std::thread::sleep(left.min(Duration::from_millis(5)));
            continue;
        }
        let wait = Timespec::try_from(left).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(&pipe, PollFlags::IN)], Some(&wait)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let len = pipe.read(&mut some)?;
        open = len > 0;
        output.extend_from_slice(&some[..len]);
    }
}
