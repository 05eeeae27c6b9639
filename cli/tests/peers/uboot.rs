//! U-Boot in an emulated board, and `wst` on its serial port.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use wetstring_testkit::wait_until;

use super::{LIMIT, Running, Scene, free_port, missing, peer, wst};

/// An emulated board.
pub struct Board {
    /// Its architecture, as QEMU names it.
    pub name: &'static str,
    qemu: &'static str,
    package: &'static str,
    image: &'static str,
    cpu: &'static [&'static str],
}

/// The board of most tests.
const ARM: Board = Board {
    name: "arm",
    qemu: "qemu-system-arm",
    package: "qemu-system-arm",
    image: "/usr/lib/u-boot/qemu_arm/u-boot.bin",
    cpu: &[],
};

/// Every board.
pub const BOARDS: [Board; 3] = [
    ARM,
    Board {
        name: "aarch64",
        qemu: "qemu-system-aarch64",
        package: "qemu-system-arm",
        image: "/usr/lib/u-boot/qemu_arm64/u-boot.bin",
        cpu: &["-cpu", "cortex-a57"],
    },
    Board {
        name: "riscv64",
        qemu: "qemu-system-riscv64",
        package: "qemu-system-misc",
        image: "/usr/lib/u-boot/qemu-riscv64/u-boot.bin",
        cpu: &[],
    },
];

/// Where the board has free memory.
pub const ADDRESS: &str = "41000000";
/// `crc32` writes an arrow too, but not at the beginning of a line.
pub const PROMPT: &str = "\n=> ";

/// CRC-32 as zlib has it.
pub fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 }
        })
    })
}

/// The board's serial port, as a user at a terminal has it.
pub struct Console {
    stream: TcpStream,
    seen: String,
    _turn: MutexGuard<'static, ()>,
}

/// One board at a time: each keeps a processor busy.
static TURN: Mutex<()> = Mutex::new(());

/// Whether nothing came within the time of a read, which a signal to this process may end early.
fn is_quiet(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

impl Console {
    /// Types a line.
    pub fn say(&mut self, line: &str) {
        self.stream.write_all(format!("{line}\r").as_bytes()).expect("the board listens");
    }

    /// Reads until `text`, and returns what came, with it. The board is emulated, and slow beside other tests.
    pub fn until(&mut self, text: &str) -> String {
        let until = Instant::now() + 2 * LIMIT;
        loop {
            if let Some(at) = self.seen.find(text) {
                let rest = self.seen.split_off(at + text.len());
                return std::mem::replace(&mut self.seen, rest);
            }
            assert!(Instant::now() < until, "expected {text:?}, got {:?}", self.seen);
            let mut bytes = [0; 4096];
            match self.stream.read(&mut bytes) {
                Ok(0) => panic!("the board is gone, after {:?}", self.seen),
                Ok(len) => self.seen.push_str(&String::from_utf8_lossy(&bytes[..len])),
                Err(e) if is_quiet(&e) => {}
                Err(e) => panic!("the board's serial port: {e}"),
            }
        }
    }

    /// What a command answers.
    pub fn ask(&mut self, command: &str) -> String {
        self.say(command);
        self.until(PROMPT)
    }
}

/// The emulator of a board, if that and its U-Boot are there.
fn emulator(board: &Board) -> Option<PathBuf> {
    let qemu = peer(board.qemu, board.package)?;
    if !Path::new(board.image).is_file() {
        missing(&format!("{} is not installed (Debian package u-boot-qemu)", board.image));
        return None;
    }
    Some(qemu)
}

/// Whether there is the board of most tests.
pub fn is_there() -> bool {
    emulator(&ARM).is_some()
}

/// The turn of one who starts a board by other means.
pub fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a board whose serial port is a TCP port that waits for one program; the turn is that of the caller.
/// Nothing if there is no U-Boot or no emulator.
pub fn power_on(scene: &Scene) -> Option<(Running, u16, MutexGuard<'static, ()>)> {
    power_on_as(scene, &ARM)
}

/// The same with another board.
pub fn power_on_as(
    scene: &Scene,
    board: &Board,
) -> Option<(Running, u16, MutexGuard<'static, ()>)> {
    let qemu = emulator(board)?;
    let turn = turn();
    let port = free_port();
    let serial = format!("tcp:127.0.0.1:{port},server=on,wait=on,nodelay=on");
    let mut emulator = Command::new(qemu);
    emulator.args(["-M", "virt", "-bios", board.image, "-m", "256", "-display", "none"]);
    emulator.args(board.cpu).args(["-monitor", "none", "-nic", "none", "-serial", &serial]);
    let running = scene.start("qemu", &mut emulator).expect("the board starts");
    Some((running, port, turn))
}

/// Starts a board, and stops it at its prompt. Nothing if there is no U-Boot or no emulator.
pub fn boot(scene: &Scene) -> Option<(Running, Console)> {
    let (board, port, turn) = power_on(scene)?;
    let stream = connect(port);
    stream.set_nodelay(true).expect("no delay");
    stream.set_read_timeout(Some(Duration::from_millis(20))).expect("a timeout");
    let mut console = Console { stream, seen: String::new(), _turn: turn };
    console.until("Hit any key");
    console.stream.write_all(b"\x03").expect("the board listens");
    console.until(PROMPT);
    Some((board, console))
}

/// Runs `wst send` on the board's serial port: its line is a TCP port of ours, whose bytes we
/// carry to and from the board, so that the console can be typed at before and after.
pub fn send(scene: &Scene, console: &mut Console, flags: &[&str], file: &Path) -> super::End {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its number").port();
    let mut args = vec!["send"];
    args.extend(flags);
    let (file, line) = (file.display().to_string(), format!("tcp://127.0.0.1:{port}"));
    args.extend([file.as_str(), line.as_str()]);
    let mut running = scene.start("wst", &mut wst(args)).expect("wst starts");
    let (mut ours, _) = listener.accept().expect("wst connects");
    ours.set_nodelay(true).expect("no delay");
    let carry = |mut from: TcpStream, mut to: TcpStream| {
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            let mut carried = Vec::new();
            loop {
                match from.read(&mut bytes) {
                    Ok(0) => return carried,
                    Ok(len) => {
                        carried.extend_from_slice(&bytes[..len]);
                        if to.write_all(&bytes[..len]).is_err() {
                            return carried;
                        }
                    }
                    Err(e) if is_quiet(&e) => {
                        // Nothing to carry; is the other side still there?
                        if to.write(&[]).is_err() || to.take_error().is_ok_and(|e| e.is_some()) {
                            return carried;
                        }
                    }
                    Err(_) => return carried,
                }
            }
        })
    };
    let up = carry(
        ours.try_clone().expect("a second handle"),
        console.stream.try_clone().expect("a second handle"),
    );
    // What comes from the board after the last packet is the console's again.
    let mut bytes = [0; 4096];
    let end = loop {
        match console.stream.read(&mut bytes) {
            Ok(0) => panic!("the board is gone"),
            Ok(len) => {
                console.seen.push_str(&String::from_utf8_lossy(&bytes[..len]));
                let _ = ours.write_all(&bytes[..len]);
            }
            Err(e) if is_quiet(&e) => {
                if up.is_finished() {
                    // It waits for us to hang up as well.
                    let _ = ours.shutdown(Shutdown::Both);
                    break running.wait(LIMIT);
                }
            }
            Err(e) => panic!("the board's serial port: {e}"),
        }
    };
    drop(ours);
    up.join().expect("the carrier ends");
    end.expect("wst ends")
}

/// Waits until a board's port listens. It takes one connection, so it cannot be tried.
pub fn listens(port: u16) {
    let listens = format!(":{port:04X} 00000000:0000 0A");
    wait_until("the board's port", || {
        std::fs::read_to_string("/proc/net/tcp").is_ok_and(|all| all.contains(&listens))
    });
}

fn connect(port: u16) -> TcpStream {
    let until = Instant::now() + LIMIT;
    loop {
        match TcpStream::connect(("127.0.0.1", port)) {
            Ok(stream) => return stream,
            Err(e) => assert!(Instant::now() < until, "the board does not listen: {e}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
