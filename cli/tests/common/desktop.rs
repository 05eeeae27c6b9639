//! A user at a terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{LocalModes, Termios, Winsize, tcgetattr, tcsetwinsize};

use super::{Desk, LIMIT, WST, tame};
use wetstring_testkit::{Within, within};

/// The program at a terminal of its own, as from a shell: it is in front there.
pub(crate) struct Desktop {
    child: Child,
    keyboard: File,
    terminal: File,
    before: Termios,
    screen: Arc<Mutex<Vec<u8>>>,
}

impl Desktop {
    pub(crate) fn start(args: &[&str]) -> Self {
        Self::start_with(args, |_| {})
    }

    /// The program under another name.
    pub(crate) fn start_called(name: &str, args: &[&str], more: impl FnOnce(&mut Command)) -> Self {
        let shell = ["bash", "-c", r#"exec -a "$0" "$@""#, name, WST];
        Self::begin(&[&shell[..], args].concat(), more)
    }

    /// The same, with something more done to the command.
    pub(crate) fn start_with(args: &[&str], more: impl FnOnce(&mut Command)) -> Self {
        Self::begin(&[&[WST], args].concat(), more)
    }

    /// A shell in the wrapper, in the folder `there` of a desk, with a prompt that is easy to find; files come into `in`.
    pub(crate) fn shell(desk: &Desk, more: &[&str]) -> Self {
        let there = desk.path("there");
        std::fs::create_dir_all(&there).expect("a folder");
        let into = desk.path("in");
        let args = [&["wrap", "-o", &into], more, &["--", "sh"]].concat();
        let user = Self::start_with(&args, |command| {
            command.env("PS1", "ready> ").env("ENV", "/nonexistent").current_dir(&there);
        });
        user.until("the prompt", |user| user.screen().contains("ready> "));
        user
    }

    fn begin(words: &[&str], more: impl FnOnce(&mut Command)) -> Self {
        let both = wetstring_testkit::terminal().expect("a terminal");
        let terminal = both.open().expect("the program's side");
        let master = both.master;
        let before = tcgetattr(&terminal).expect("its settings");
        // util-linux's, which gives the program a session with this terminal.
        let mut command = Command::new("setsid");
        command.arg("--ctty").args(words);
        tame(&mut command);
        more(&mut command);
        let copy = || terminal.try_clone().expect("a copy");
        command.stdin(copy()).stdout(copy()).stderr(copy());
        let child = command.spawn().expect("setsid starts");
        drop(command);
        let keyboard = File::from(master);
        let screen = Arc::new(Mutex::new(Vec::new()));
        let (mut reader, shown) = (keyboard.try_clone().expect("a copy"), screen.clone());
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(len @ 1..) = reader.read(&mut buffer) {
                shown.lock().expect("the screen").extend_from_slice(&buffer[..len]);
            }
        });
        Self { child, keyboard, terminal, before, screen }
    }

    pub(crate) fn screen(&self) -> String {
        String::from_utf8_lossy(&self.screen.lock().expect("the screen")).into_owned()
    }

    /// Waits until something is true.
    #[track_caller]
    pub(crate) fn until(&self, what: &str, mut so: impl FnMut(&Self) -> bool) {
        let came = within(LIMIT, || so(self));
        assert_eq!(came, Within::Done, "expected {what}, got {}", self.screen());
    }

    pub(crate) fn modes(&self) -> LocalModes {
        tcgetattr(&self.terminal).expect("its settings").local_modes
    }

    /// Gives the terminal another size.
    pub(crate) fn resize(&mut self, rows: u16, columns: u16) {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.keyboard, size).expect("the terminal is there");
    }

    /// Sends the program a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it runs");
    }

    /// Kills the program by signal 9.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it is killed");
        self.child.wait().expect("it ends");
        self.drain();
    }

    /// Waits until all that the program wrote is on the screen: what is written here comes behind it.
    #[track_caller]
    fn drain(&mut self) {
        const LAST: &[u8] = b"\0the end\0";
        self.terminal.write_all(LAST).expect("the terminal is there");
        let screen = self.screen.clone();
        let came = within(LIMIT, || {
            let mut screen = screen.lock().expect("the screen");
            let at = screen.windows(LAST.len()).rposition(|bytes| bytes == LAST);
            at.inspect(|at| drop(screen.drain(*at..*at + LAST.len()))).is_some()
        });
        assert_eq!(came, Within::Done, "expected all of its output, got {}", self.screen());
    }

    /// Whether the terminal has the settings it had at first.
    pub(crate) fn is_as_before(&self) -> bool {
        let now = tcgetattr(&self.terminal).expect("its settings");
        let of = |settings: &Termios| {
            (
                settings.local_modes,
                settings.input_modes,
                settings.output_modes,
                settings.control_modes,
            )
        };
        of(&now) == of(&self.before)
    }

    pub(crate) fn press(&mut self, keys: &[u8]) {
        self.keyboard.write_all(keys).expect("the terminal is there");
    }

    /// Presses keys, and waits until something is on the screen that was not there before.
    #[track_caller]
    pub(crate) fn type_and_see(&mut self, keys: &[u8], says: &str) {
        let before = self.screen().len();
        self.press(keys);
        self.until(says, |user| user.screen().get(before..).is_some_and(|new| new.contains(says)));
    }

    /// Waits for the end, and looks whether the terminal is as it was.
    #[track_caller]
    pub(crate) fn end(&mut self) -> ExitStatus {
        let end = Instant::now() + LIMIT;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("the child") {
                break status;
            }
            if Instant::now() > end {
                let _ = self.child.kill();
                let _ = self.child.wait();
                panic!("it did not end: {}", self.screen());
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        self.drain();
        let after = tcgetattr(&self.terminal).expect("its settings");
        assert_eq!(after.local_modes, self.before.local_modes, "{}", self.screen());
        assert_eq!(after.input_modes, self.before.input_modes, "{}", self.screen());
        status
    }
}
