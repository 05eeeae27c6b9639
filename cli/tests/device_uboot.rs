//! `wst send FILE @uboot:LINE` on emulated boards: from reset to a checksum that U-Boot itself computed.

use crate::peers;

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use peers::uboot::{BOARDS, Board, crc32, listens, power_on_as};
use peers::{End, Scene, material, wst};
use wetstring_testkit::{Within, wait_until, within};

/// A board is emulated, and slow beside other tests.
const LIMIT: Duration = Duration::from_secs(300);

fn send(scene: &Scene, args: &[&str]) -> End {
    let mut wst = scene.start("wst", &mut wst(args)).expect("wst starts");
    wst.wait(LIMIT).expect("wst ends")
}

/// A line to a board without power: bytes from here are lost until the board counts down. An emulated 16550 takes
/// nothing more once a byte has come before U-Boot has set it up, which it does twice.
fn without_power(board: u16) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its number").port();
    let mut board = TcpStream::connect(("127.0.0.1", board)).expect("the board listens");
    board.set_nodelay(true).expect("no delay");
    board.set_read_timeout(Some(Duration::from_millis(20))).expect("a timeout");
    let counts = Arc::new(AtomicBool::new(false));
    thread::spawn(move || {
        for ours in listener.incoming() {
            let mut ours = ours.expect("a connection");
            let mut from = ours.try_clone().expect("a second handle");
            let mut to = board.try_clone().expect("a second handle");
            let counting = Arc::clone(&counts);
            let up = thread::spawn(move || {
                let mut bytes = [0; 4096];
                while let Ok(len @ 1..) = from.read(&mut bytes) {
                    if counting.load(Ordering::SeqCst) && to.write_all(&bytes[..len]).is_err() {
                        break;
                    }
                }
            });
            let (mut bytes, mut said) = ([0; 4096], Vec::new());
            while !up.is_finished() {
                match board.read(&mut bytes) {
                    Ok(0) => return,
                    Ok(len) => {
                        said.extend_from_slice(&bytes[..len]);
                        if String::from_utf8_lossy(&said).contains("Hit any key") {
                            counts.store(true, Ordering::SeqCst);
                        }
                        let _ = ours.write_all(&bytes[..len]);
                    }
                    Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                    Err(_) => return,
                }
            }
        }
    });
    port
}

/// A file by each protocol: the first after reset, the others to the board as it is then.
fn loads(board: &Board) {
    let scene = Scene::new();
    let Some((_board, port, _turn)) = power_on_as(&scene, board) else { return };
    listens(port);
    let port = if board.name == "riscv64" { without_power(port) } else { port };
    let line = format!("@uboot:tcp://127.0.0.1:{port}");
    let bytes = material::random(20_000, 7);
    let file = scene.file("kernel.bin", &bytes);
    let file = file.display().to_string();
    let sum = format!("crc32 {:08x}", crc32(&bytes));
    for (flags, command) in [
        (&[][..], "loady ${loadaddr}"),
        (&["-P", "kermit"], "loadb ${loadaddr}"),
        (&["-P", "xmodem-1k"], "loadx ${loadaddr}"),
    ] {
        let end = send(&scene, &[&["send", "-v"], flags, &[&file, &line]].concat());
        assert_eq!(end.code, 0, "{}: {end:?}", board.name);
        assert!(end.said.contains(&sum), "{}: expected {sum}: {end:?}", board.name);
        assert!(end.said.contains(command), "{}: {end:?}", board.name);
        let from_reset = end.said.contains("Hit any key");
        assert_eq!(from_reset, flags.is_empty(), "{}: {end:?}", board.name);
    }
}

#[test]
fn an_arm_board_is_loaded_from_reset() {
    loads(&BOARDS[0]);
}

#[test]
fn an_aarch64_board_is_loaded_from_reset() {
    loads(&BOARDS[1]);
}

#[test]
fn a_riscv64_board_is_loaded_from_reset() {
    loads(&BOARDS[2]);
}

/// U-Boot takes three or more 1A off the end of every block of XMODEM: only the checksum tells.
#[test]
fn a_file_that_the_board_damages_is_told() {
    let scene = Scene::new();
    let Some((_board, port, _turn)) = power_on_as(&scene, &BOARDS[0]) else { return };
    listens(port);
    let line = format!("@uboot:tcp://127.0.0.1:{port}");
    let mut bytes = material::random(391, 102);
    bytes[251..256].fill(0x1A);
    let file = scene.file("gap.bin", &bytes).display().to_string();
    // Its length differs as well, which would be told first.
    let own = scene.path("no-config/wetstring/profiles");
    std::fs::create_dir_all(&own).expect("a directory");
    let text = std::fs::read_to_string("../device/profiles/uboot.toml").expect("the profile");
    let without: Vec<&str> = text.lines().filter(|line| !line.starts_with("loaded")).collect();
    std::fs::write(own.join("mine.toml"), without.join("\n")).expect("a profile");
    let end = send(&scene, &["send", "-P", "xmodem-crc", &file, &line]);
    assert_eq!(end.code, 4, "{end:?}");
    assert!(end.said.contains("## Total Size"), "{end:?}");
    let end = send(&scene, &["send", "-P", "xmodem-crc", &file, &line.replace("uboot", "mine")]);
    assert_eq!(end.code, 6, "{end:?}");
    assert!(end.said.contains("what arrived differs"), "{end:?}");
}

/// The rate at a terminal of `wst line`, up for the transfer and back: also if the user has had enough in its midst, and
/// then the board is at its prompt. (U-Boot 2023.01 for arm hangs when it sets the rate of QEMU's serial port; the one
/// for riscv64 does as it says.)
#[test]
fn a_board_has_its_rate_again_whatever_happens() {
    let scene = Scene::new();
    let Some((_board, port, _turn)) = power_on_as(&scene, &BOARDS[2]) else { return };
    listens(port);
    let link = scene.path("board").display().to_string();
    let (near, far) = (format!("pty:{link}"), format!("tcp://127.0.0.1:{}", without_power(port)));
    let args = ["line", "115200,port=115200", "-a", &near, "-b", &far];
    let _line = scene.start("line", &mut wst(args)).expect("the line starts");
    wait_until("the terminal", || std::fs::symlink_metadata(&link).is_ok());
    let line = format!("@uboot:serial:{link}?baud=115200");
    let bytes = material::random(60_000, 8);
    let file = scene.file("kernel.bin", &bytes).display().to_string();
    let back = "## Switch baudrate to 115200 bps and press ESC ...";
    for (method, flags) in [("loady", &[][..]), ("loadb", &["-P", "kermit"])] {
        let all = [&["send", "-v", "--var", "baud=230400"], flags, &[&file, &line]].concat();
        let mut wst = scene.start("wst", &mut wst(all.iter().copied())).expect("wst starts");
        let begun = within(LIMIT, || wst.said().contains("kernel.bin: begins"));
        assert_eq!(begun, Within::Done, "{}", wst.said());
        wst.interrupt();
        let end = wst.wait(LIMIT).expect("wst ends");
        assert_eq!(end.code, 130, "{method}: {end:?}");
        for said in ["the rate is 230400 bit/s", "the rate is 115200 bit/s"] {
            let after = end.said.split(method).nth(1).unwrap_or_default();
            assert!(after.contains(said), "{method}: expected {said:?}: {end:?}");
        }
        // It is at its prompt, and a transfer goes both ways through the rates.
        let end = send(&scene, &all);
        assert_eq!(end.code, 0, "{method}: {end:?}");
        assert!(end.said.contains(back) && !end.said.contains("reset the board"), "{end:?}");
        assert!(end.said.contains(&format!("crc32 {:08x}", crc32(&bytes))), "{method}: {end:?}");
    }
}
