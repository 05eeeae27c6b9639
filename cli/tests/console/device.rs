//! What is behind the device in a session: U-Boot in QEMU, or a shell as on a console.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::MutexGuard;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

use super::stage::Stage;
use crate::common::Running;
use crate::peers::{self, Scene, uboot};

/// A board is emulated, and slow beside other tests.
const LIMIT: Duration = Duration::from_secs(240);

/// What U-Boot says before it counts down, and its prompt.
const COUNTS: &str = "Hit any key";
const PROMPT: &str = "\n=> ";

/// The line of the device. Behind it is a console with a shell.
pub(super) fn console(stage: &Stage) -> Running {
    line(stage, "exec-pty:console")
}

fn line(stage: &Stage, far: &str) -> Running {
    let command = format!("wst line 115200 -a pty:{} -b '{far}'", stage.tty(0));
    // A line that was killed leaves its name, and the terminal behind it may be another program's by now.
    let _ = std::fs::remove_file(stage.tty(0));
    let running = Running::start(stage.command("wire", &command));
    running.says("line ");
    running
}

/// A board on the line of the device.
pub(super) struct Board {
    _line: Running,
    power: Sender<()>,
    pub(super) is_on: bool,
    tty: String,
    // Before the next board has its turn, this one is off.
    _emulator: peers::Running,
    _scene: Scene,
    _turn: MutexGuard<'static, ()>,
}

/// Between the line and a board: what is sent to a board without power is lost.
fn carry(listener: &TcpListener, board: u16, power: &Receiver<()>) -> std::io::Result<()> {
    let (mut line, _) = listener.accept()?;
    line.set_read_timeout(Some(Duration::from_millis(20)))?;
    let mut bytes = [0; 4096];
    while power.try_recv().is_err() {
        match line.read(&mut bytes) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(e) => return Err(e),
        }
    }
    line.set_read_timeout(None)?;
    // The board runs once somebody is at its port.
    let mut board = TcpStream::connect(("127.0.0.1", board))?;
    board.set_nodelay(true)?;
    line.set_nodelay(true)?;
    let (mut from, mut to) = (board.try_clone()?, line.try_clone()?);
    thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to);
    });
    std::io::copy(&mut line, &mut board)?;
    Ok(())
}

impl Board {
    /// Without power.
    pub(super) fn off(stage: &Stage) -> Self {
        let scene = Scene::new();
        let (emulator, board, turn) = uboot::power_on(&scene).expect("there is a board");
        uboot::listens(board);
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("its number").port();
        let (power, on) = channel();
        thread::spawn(move || {
            // It ends with the line, or with the board.
            let _ = carry(&listener, board, &on);
        });
        Self {
            _line: line(stage, &format!("tcp://127.0.0.1:{port}")),
            power,
            is_on: false,
            tty: stage.tty(0),
            _emulator: emulator,
            _scene: scene,
            _turn: turn,
        }
    }

    /// Switches it on.
    pub(super) fn switch_on(&mut self) {
        self.power.send(()).expect("the board waits for power");
        self.is_on = true;
    }

    /// Switches it on, and stops it at its prompt.
    pub(super) fn boot(&mut self) {
        let mut user = self.user();
        self.switch_on();
        user.until("its countdown", |said| said.contains(COUNTS));
        user.interrupt();
    }

    /// The port in another terminal program, which is left before `wst` uses it.
    pub(super) fn user(&self) -> User {
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK;
        let port = rustix::fs::open(self.tty.as_str(), flags, Mode::empty()).expect("the port");
        let mut settings = tcgetattr(&port).expect("its settings");
        settings.make_raw();
        tcsetattr(&port, OptionalActions::Now, &settings).expect("settings");
        User { port: File::from(port), said: String::new() }
    }
}

/// Who types at the board.
pub(super) struct User {
    port: File,
    said: String,
}

impl User {
    #[track_caller]
    fn until(&mut self, what: &str, so: impl Fn(&str) -> bool) {
        let came = self.within(LIMIT, so);
        assert!(came, "expected {what} of the board, got {:?}", self.said);
    }

    /// Reads until something is so, or the time is over.
    fn within(&mut self, limit: Duration, so: impl Fn(&str) -> bool) -> bool {
        let end = Instant::now() + limit;
        while !so(&self.said) {
            if Instant::now() >= end {
                return false;
            }
            let mut bytes = [0; 4096];
            match self.port.read(&mut bytes) {
                Ok(len @ 1..) => self.said.push_str(&String::from_utf8_lossy(&bytes[..len])),
                Ok(0) => thread::sleep(Duration::from_millis(10)),
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    thread::sleep(Duration::from_millis(10));
                }
                Err(e) => panic!("the port of the board: {e}"),
            }
        }
        true
    }

    fn press(&mut self, keys: &str) {
        self.port.write_all(keys.as_bytes()).expect("the port");
    }

    /// Ctrl-C, which gives a prompt.
    fn interrupt(&mut self) {
        self.said.clear();
        self.press("\x03");
        self.until("its prompt", |said| said.ends_with(PROMPT));
    }

    /// Takes the board to its prompt, and reads all that it said before: a transfer that has just ended shows its prompt
    /// late, and a command that comes before it may be lost.
    fn settle(&mut self) {
        let end = Instant::now() + LIMIT;
        for nth in 0.. {
            assert!(Instant::now() < end, "expected the prompt of the board, got {:?}", self.said);
            self.said.clear();
            self.press(&format!("\x03echo here {nth}\r"));
            let answer = format!("\nhere {nth}\r{PROMPT}");
            if self.within(Duration::from_secs(5), |said| said.ends_with(&answer)) {
                return;
            }
        }
    }

    /// What it answers to a command, until its prompt or until it waits for a file.
    pub(super) fn ask(&mut self, command: &str) -> String {
        self.settle();
        self.said.clear();
        self.press(&format!("{command}\r"));
        self.until("an answer", |said| {
            said.ends_with(PROMPT) || said.contains("## Ready for") && said.contains("bps...\r\n")
        });
        let said = self.said.strip_suffix("=> ").unwrap_or(&self.said);
        // The character with which a receiver asks for blocks is no output.
        let said = said.trim_end_matches('C');
        said.split_once('\n').map_or_else(String::new, |(_, answer)| answer.to_owned())
    }
}
