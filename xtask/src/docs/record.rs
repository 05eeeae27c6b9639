//! Recordings of live sessions: a user, whose keys are here, at a shell in a terminal. What shows is written by the
//! program's own log, as asciicast, by a wrapper around the shell.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use rustix::termios::{Winsize, tcsetwinsize};
use wetstring_testkit::{Within, terminal, within};

/// The folder of the sessions, which is made and removed.
const DESK: &str = "/tmp/me";
/// Columns and lines: what can be read on a phone, and what the longest session takes.
const SIZE: (u16, u16) = (72, 40);
/// What the user waits for at most: a board is emulated.
const PATIENCE: Duration = Duration::from_secs(60);
const KEY: Duration = Duration::from_millis(70);
const THOUGHT: Duration = Duration::from_millis(900);

/// What a user does.
enum Step {
    /// Waits until this shows, after what was waited for before.
    See(&'static str),
    /// Types, key by key.
    Type(&'static str),
    /// Reads what is there.
    Think,
    /// Switches the board on.
    Switch,
}
use Step::{See, Switch, Think, Type};

/// A session.
pub(super) struct Session {
    /// Folder of the page, and name.
    place: (&'static str, &'static str),
    pub(super) title: &'static str,
    /// A line from `/tmp/board` to the program `device`, at this rate, and what that program is.
    device: Option<(&'static str, &'static str)>,
    /// What a shell does to make the user's files.
    files: &'static str,
    steps: &'static [Step],
}

impl Session {
    /// The recording (`cast`) or its picture (`svg`).
    pub(super) fn path(&self, end: &str) -> String {
        format!("docs/{}/{}.{end}", self.place.0, self.place.1)
    }
}

/// Every session.
pub(super) const SESSIONS: [Session; 3] = [
    Session {
        place: ("lessons", "board-cast"),
        title: "A file is loaded into a board at the prompt of U-Boot",
        device: Some((
            "115200",
            "qemu-system-arm -M virt -display none -serial stdio -nic none -bios /usr/lib/u-boot/qemu_arm/u-boot.bin",
        )),
        files: "mkdir .device; seq 500 > kernel.bin",
        steps: &[
            See("$ "),
            Type("wst connect /tmp/board\r"),
            See("lists the keys"),
            Switch,
            See("Hit any key"),
            Type("\r"),
            See("=> "),
            Think,
            Type("loadb 0x41000000\r"),
            See("Send: "),
            Think,
            Type("kernel.bin\r"),
            See("Start Addr"),
            See("=> "),
            Think,
            Type("crc32 0x41000000 ${filesize}\r"),
            See("==> "),
            See("=> "),
            Think,
            Type("\x14q"),
            See("$ "),
        ],
    },
    Session {
        place: ("howto", "terminal-cast"),
        title: "A file is received in a terminal on a serial port",
        device: Some(("9600", "sh -c 'stty sane; exec sh >&0 2>&0'")),
        files: "mkdir .device; seq 2000 > .device/data.csv",
        steps: &[
            See("$ "),
            Type("wst connect /tmp/board\r"),
            See("lists the keys"),
            Switch,
            See("board$ "),
            Type("ls\r"),
            See("board$ "),
            Type("sz data.csv\r"),
            See("[yes/no] "),
            Think,
            Type("yes\r"),
            See("received"),
            See("board$ "),
            Think,
            Type("\x14q"),
            See("$ "),
            Type("wc -l data.csv\r"),
            See("$ "),
        ],
    },
    Session {
        place: ("howto", "wrapper-cast"),
        title: "A file is received from a shell in the wrapper, by sz",
        device: None,
        files: "mkdir box; seq 500 > box/list.txt",
        steps: &[
            See("$ "),
            Type("wst -- sh\r"),
            See("$ "),
            Type("PS1='box$ '; cd box\r"),
            See("box$ "),
            See("box$ "),
            Type("sz list.txt\r"),
            See("[yes/no] "),
            Think,
            Type("yes\r"),
            See("received"),
            See("box$ "),
            Type("exit\r"),
            See("$ "),
            Type("cmp list.txt box/list.txt && echo the same\r"),
            See("the same\r\n"),
            See("$ "),
        ],
    },
];

/// Records every session.
pub(super) fn all(root: &Path, program: &Path) -> Result<(), String> {
    let program = program.canonicalize().map_err(|e| format!("{}: {e}", program.display()))?;
    for session in &SESSIONS {
        let path = session.path("cast");
        let made = in_folder(|| record(session, &program));
        let recording = made.map_err(|e| format!("{path}: {e}"))?;
        std::fs::write(root.join(&path), recording).map_err(|e| format!("{path}: {e}"))?;
        println!("{path}: recorded");
    }
    Ok(())
}

/// Does it in a fresh folder, which is removed afterwards.
fn in_folder(job: impl FnOnce() -> Result<String, String>) -> Result<String, String> {
    // If it is there, it is somebody's.
    std::fs::create_dir(DESK).map_err(|e| format!("{DESK}: {e}"))?;
    let done = job();
    let removed = std::fs::remove_dir_all(DESK).map_err(|e| format!("{DESK}: {e}"));
    done.and_then(|made| removed.map(|()| made))
}

/// A program of the session; it ends with it.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        // Each leads a group of its own.
        if let Ok(id) = i32::try_from(self.0.id())
            && let Some(id) = Pid::from_raw(id)
        {
            let _ = kill_process_group(id, Signal::TERM);
        }
        if within(Duration::from_secs(3), || self.0.try_wait().is_ok_and(|end| end.is_some()))
            == Within::Late
        {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}

/// A command that sees of this machine only what every user has.
fn command(name: &str) -> Command {
    let mut command = Command::new(name);
    command.env_clear().current_dir(DESK);
    command.env("PATH", format!("{DESK}/.bin:/usr/bin:/bin")).env("HOME", DESK);
    command.env("SHELL", "/bin/sh").env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
    command
}

/// Records one.
fn record(session: &Session, program: &Path) -> Result<String, String> {
    let failed = |e: std::io::Error| e.to_string();
    std::fs::create_dir(format!("{DESK}/.bin")).map_err(failed)?;
    symlink(program, format!("{DESK}/.bin/wst")).map_err(failed)?;
    let status = command("sh").args(["-c", session.files]).status().map_err(failed)?;
    if !status.success() {
        return Err(format!("{}: {status}", session.files));
    }
    let both = terminal().map_err(failed)?;
    let size = Winsize { ws_col: SIZE.0, ws_row: SIZE.1, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&both.master, size).map_err(|e| e.to_string())?;
    let side = || both.open().map(Stdio::from).map_err(failed);
    let mut line = None;
    if let Some((rate, device)) = session.device {
        // It waits for its switch.
        let device =
            format!("cd {DESK}; while [ ! -e .on ]; do sleep 0.1; done; cd .device; exec {device}");
        std::fs::write(format!("{DESK}/.bin/device"), device).map_err(failed)?;
        let mut carries = command("wst");
        carries.args(["line", rate, "-a", "pty:/tmp/board", "-b", "exec-pty:sh .bin/device"]);
        carries.env("PS1", "board$ ").process_group(0);
        carries.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        line = Some(Program(carries.spawn().map_err(failed)?));
        if within(PATIENCE, || Path::new("/tmp/board").exists()) == Within::Late {
            return Err("the line is not up".to_owned());
        }
    }
    // util-linux's, which gives the program a session with this terminal.
    let mut shell = command("setsid");
    shell.args([
        "--ctty",
        "wst",
        "wrap",
        "--autodownload",
        "off",
        "--log",
        ".log",
        "--log-format",
        "asciicast",
        "--",
        "sh",
    ]);
    shell.env("PS1", "$ ").stdin(side()?).stdout(side()?).stderr(side()?);
    let mut child = Program(shell.spawn().map_err(failed)?);
    // It holds the program's side of the terminal.
    drop(shell);
    let mut user = User::at(File::from(both.master)).map_err(failed)?;
    for step in session.steps {
        user.does(step)?;
    }
    std::thread::sleep(THOUGHT);
    user.keys.write_all(b"\x04").map_err(failed)?;
    if within(PATIENCE, || child.0.try_wait().is_ok_and(|end| end.is_some())) == Within::Late {
        return Err("the shell did not end".to_owned());
    }
    drop(line);
    std::fs::read_to_string(format!("{DESK}/.log")).map_err(failed)
}

/// Who types, and sees what shows.
struct User {
    keys: File,
    shown: Arc<Mutex<String>>,
    /// What was seen already.
    seen: usize,
}

impl User {
    fn at(keys: File) -> std::io::Result<Self> {
        let shown = Arc::new(Mutex::new(String::new()));
        let (mut screen, all) = (keys.try_clone()?, shown.clone());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = screen.read(&mut bytes) {
                let Ok(mut all) = all.lock() else { return };
                all.push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        Ok(Self { keys, shown, seen: 0 })
    }

    fn does(&mut self, step: &Step) -> Result<(), String> {
        match step {
            See(text) => self.sees(text),
            Think => {
                std::thread::sleep(THOUGHT);
                Ok(())
            }
            Switch => File::create(format!("{DESK}/.on")).map(drop).map_err(|e| e.to_string()),
            Type(keys) => {
                std::thread::sleep(THOUGHT / 2);
                for key in keys.bytes() {
                    self.keys.write_all(&[key]).map_err(|e| e.to_string())?;
                    std::thread::sleep(KEY);
                }
                Ok(())
            }
        }
    }

    fn sees(&mut self, text: &str) -> Result<(), String> {
        let mut end = None;
        let look = || {
            let Ok(all) = self.shown.lock() else { return false };
            end = all.get(self.seen..).and_then(|new| new.find(text));
            end.is_some()
        };
        let came = within(PATIENCE, look);
        if let (Within::Done, Some(at)) = (came, end) {
            self.seen += at + text.len();
            return Ok(());
        }
        let all = self.shown.lock().map(|all| all.clone()).unwrap_or_default();
        Err(format!("expected {text:?}, got {all}"))
    }
}
