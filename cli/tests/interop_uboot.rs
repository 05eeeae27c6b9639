//! U-Boot's `loadb` in an emulated board, checked with U-Boot's own `crc32`.

mod peers;

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use peers::{LIMIT, Scene, free_port, material, missing, peer, wst};

const IMAGE: &str = "/usr/lib/u-boot/qemu_arm/u-boot.bin";
/// Where the board has free memory.
const ADDRESS: &str = "41000000";
/// `crc32` writes an arrow too, but not at the beginning of a line.
const PROMPT: &str = "\n=> ";

/// CRC-32 as zlib has it.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 }
        })
    })
}

/// The board's serial port, as a person at a terminal has it.
struct Console {
    stream: TcpStream,
    seen: String,
}

impl Console {
    /// Types a line.
    fn say(&mut self, line: &str) {
        self.stream.write_all(format!("{line}\r").as_bytes()).expect("the board listens");
    }

    /// Reads until `text`, and returns what came, with it.
    fn until(&mut self, text: &str) -> String {
        let until = Instant::now() + Duration::from_secs(30);
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
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(e) => panic!("the board's serial port: {e}"),
            }
        }
    }

    /// What a command answers.
    fn ask(&mut self, command: &str) -> String {
        self.say(command);
        self.until(PROMPT)
    }
}

/// Runs `wst send` on the board's serial port: its line is a TCP port of ours, whose bytes we
/// carry to and from the board, so that the console can be typed at before and after.
fn send(scene: &Scene, console: &mut Console, flags: &[&str], file: &Path) -> peers::End {
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
                    Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
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
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
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

#[test]
fn loadb_takes_what_wst_sends() {
    let Some(qemu) = peer("qemu-system-arm", "qemu-system-arm") else { return };
    if !Path::new(IMAGE).is_file() {
        missing(&format!("{IMAGE} is not installed (Debian package u-boot-qemu)"));
        return;
    }
    let scene = Scene::new();
    let port = free_port();
    let serial = format!("tcp:127.0.0.1:{port},server=on,wait=on,nodelay=on");
    let mut board = Command::new(qemu);
    board.args(["-M", "virt", "-bios", IMAGE, "-m", "256", "-display", "none"]);
    board.args(["-monitor", "none", "-nic", "none", "-serial", &serial]);
    let _board = scene.start("qemu", &mut board).expect("the board starts");
    let stream = connect(port);
    stream.set_nodelay(true).expect("no delay");
    stream.set_read_timeout(Some(Duration::from_millis(20))).expect("a timeout");
    let mut console = Console { stream, seen: String::new() };
    console.until("Hit any key");
    console.stream.write_all(b"\x03").expect("the board listens");
    console.until(PROMPT);

    let mut bytes = material::runs();
    bytes.extend(material::random(20_000, 30));
    let small = scene.file("small.bin", &bytes);
    let kernel = scene.file("kernel.bin", &material::random(400_000, 31));
    let one = scene.file("one.bin", b"\x8d");
    // What U-Boot cannot do (windows, 8th-bit prefixes, repeat counts) is found out by itself.
    let jobs: &[(&Path, &[&str])] = &[
        (&small, &[]),
        (&kernel, &[]),
        (&small, &["--length=94"]),
        (&small, &["--check=2", "--length=1000", "--prefix=all"]),
        (&one, &[]),
    ];
    for (file, flags) in jobs {
        let bytes = std::fs::read(file).expect("the file is there");
        console.ask(&format!("mw.b 0x{ADDRESS} 0xee 0x{:x}", bytes.len() + 64));
        console.say(&format!("loadb 0x{ADDRESS}"));
        console.until("bps...");
        let end = send(&scene, &mut console, flags, file);
        assert_eq!(end.code, 0, "{file:?} {flags:?}: {end:?}");
        let said = console.until(PROMPT);
        let size = format!("0x{:08x}", bytes.len());
        assert!(said.contains(&size), "{file:?} {flags:?}: expected {size} in {said:?}");
        let sum = console.ask(&format!("crc32 0x{ADDRESS} 0x{:x}", bytes.len()));
        let wanted = format!("==> {:08x}", crc32(&bytes));
        assert!(sum.contains(&wanted), "{file:?} {flags:?}: expected {wanted} in {sum:?}");
        // The byte behind the file is untouched, and the prompt works as before.
        let behind = console.ask(&format!("md.b 0x{:x} 1", 0x4100_0000 + bytes.len()));
        assert!(behind.contains(": ee"), "{behind:?}");
    }
}

fn connect(port: u16) -> TcpStream {
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        match TcpStream::connect(("127.0.0.1", port)) {
            Ok(stream) => return stream,
            Err(e) => assert!(Instant::now() < until, "the board does not listen: {e}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_check_value_of_crc_32() {
    assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
}
