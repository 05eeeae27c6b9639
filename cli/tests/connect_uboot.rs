//! `wst connect` on the serial port of a board that runs U-Boot: from reset to equal check sums.

use crate::common;
use crate::peers;

use std::time::Duration;

use common::Desk;
use common::desktop::Desktop;
use peers::Scene;
use peers::uboot::{ADDRESS, crc32, listens, power_on};
use wetstring_testkit::{Within, within};

/// Waits longer than for a program of this machine: the board is emulated.
#[track_caller]
fn shows(user: &Desktop, from: usize, text: &str) {
    let so = || user.screen().get(from..).is_some_and(|new| new.contains(text));
    let came = within(Duration::from_secs(120), so);
    assert_eq!(came, Within::Done, "expected {text:?}, got {}", user.screen());
}

#[test]
fn a_board_is_stopped_loaded_and_verified_in_one_session() {
    let scene = Scene::new();
    let Some((_board, port, _turn)) = power_on(&scene) else { return };
    listens(port);
    let desk = Desk::new(30_000);
    let data = desk.path("data.bin");
    let mut user = Desktop::start(&["connect", &format!("tcp://127.0.0.1:{port}")]);
    shows(&user, 0, "Hit any key");
    user.press(b"\x03");
    shows(&user, 0, "=> ");
    for (command, title) in [("loadb", "Kermit"), ("loady", "YMODEM"), ("loadx", "XMODEM")] {
        let from = user.screen().len();
        user.press(format!("{command} 0x{ADDRESS}\r").as_bytes());
        shows(&user, from, &format!("The peer receives files by {title}. Send: "));
        user.press(format!("{data}\r").as_bytes());
        shows(&user, from, "data.bin: sent 30.0 kB");
        shows(&user, from, "=> ");
        let from = user.screen().len();
        user.press(format!("crc32 0x{ADDRESS} 0x{:x}\r", desk.bytes.len()).as_bytes());
        shows(&user, from, &format!("==> {:08x}", crc32(&desk.bytes)));
        // A refusal brings the prompt back.
        let from = user.screen().len();
        user.press(format!("{command} 0x{ADDRESS}\r").as_bytes());
        shows(&user, from, ". Send: ");
        user.press(b"\x03");
        shows(&user, from, "\n=> ");
    }
    user.press(b"\x14q");
    assert_eq!(user.end().code(), Some(0));
}
