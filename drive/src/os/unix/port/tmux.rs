//! tmux between this process and the user's terminal.
//!
//! tmux draws what is written in a pane again, in its own way, so a protocol does not pass; but what is written
//! to the terminal that tmux itself runs in does. What comes back is read by tmux as keys and reaches the pane,
//! if it is printable:
//!
//! ```text
//! this process --> terminal of the tmux client --> user's terminal
//!      ^-- pane <-- tmux <-- keys ----------------------'
//! ```
//!
//! What tmux draws meanwhile is noise on the line, and 8-bit characters do not come back: Kermit's business.

use rustix::fs::{Mode, OFlags, open};
use rustix::stdio::stdin;
use rustix::termios::{isatty, ttyname};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Time for tmux to draw what the shell wrote last.
const DRAWN: Duration = Duration::from_millis(300);

/// The terminal that tmux runs in.
#[derive(Debug)]
pub(super) struct Client {
    name: String,
}

/// The terminal that tmux runs in, and a descriptor to write to it, if stdin is a pane of tmux.
pub(super) fn client() -> Option<(Client, OwnedFd)> {
    std::env::var_os("TMUX").filter(|socket| !socket.is_empty())?;
    if !isatty(stdin()) {
        return None;
    }
    let target = std::env::var("TMUX_PANE").unwrap_or_default();
    let told = tmux(&["display-message", "-p", "-t", &target, "#{pane_tty} #{client_tty}"])?;
    let (pane, name) = told.trim().split_once(' ')?;
    // The variable outlives the pane in a terminal inside it.
    let own = ttyname(stdin(), Vec::new()).ok()?.into_string().ok()?;
    if pane != own || name.is_empty() {
        return None;
    }
    std::thread::sleep(DRAWN);
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let fd = open(name, flags, Mode::empty()).ok()?;
    Some((Client { name: name.to_owned() }, fd))
}

fn tmux(args: &[&str]) -> Option<String> {
    let mut command = Command::new("tmux");
    command.args(args).stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()
}

impl Drop for Client {
    /// tmux draws its window again.
    fn drop(&mut self) {
        let _ = tmux(&["refresh-client", "-t", &self.name]);
    }
}
