//! U-Boot's `loadx` and `loady` in an emulated board, checked with U-Boot's own `crc32`.

use crate::peers;

use std::path::Path;

use peers::uboot::{ADDRESS, PROMPT, boot, crc32, send};
use peers::{Scene, material};

#[test]
fn loadx_and_loady_take_what_wst_sends() {
    let scene = Scene::new();
    let Some((_board, mut console)) = boot(&scene) else { return };

    let mut bytes: Vec<u8> = material::every_byte();
    bytes.extend(material::random(10_001, 100));
    let small = scene.file("small.bin", &bytes);
    let kernel = scene.file("kernel.bin", &material::random(60_000, 101));
    let one = scene.file("one.bin", b"\x8d");
    // XMODEM tells no length, but U-Boot takes the padding off.
    let jobs: &[(&str, &Path, &str)] = &[
        ("loadx", &small, "xmodem-crc"),
        ("loadx", &kernel, "xmodem-1k"),
        ("loadx", &small, "xmodem"),
        ("loadx", &one, "xmodem-1k"),
        ("loady", &small, "ymodem"),
        ("loady", &kernel, "ymodem"),
        ("loady", &one, "ymodem"),
        ("loady", &kernel, "ymodem-g"),
    ];
    for (command, file, protocol) in jobs {
        let what = format!("{command} {} {protocol}", file.display());
        let bytes = std::fs::read(file).expect("the file is there");
        console.ask(&format!("mw.b 0x{ADDRESS} 0xee 0x{:x}", bytes.len() + 2048));
        console.say(&format!("{command} 0x{ADDRESS}"));
        console.until("bps...");
        let end = send(&scene, &mut console, &["-P", protocol], file);
        assert_eq!(end.code, 0, "{what}: {end:?}");
        let said = console.until(PROMPT);
        let size = format!("0x{:08x}", bytes.len());
        assert!(said.contains(&size), "{what}: expected {size} in {said:?}");
        let sum = console.ask(&format!("crc32 0x{ADDRESS} 0x{:x}", bytes.len()));
        let wanted = format!("==> {:08x}", crc32(&bytes));
        assert!(sum.contains(&wanted), "{what}: expected {wanted} in {sum:?}");
        // The byte behind the file is untouched, and the prompt works as before.
        let behind = console.ask(&format!("md.b 0x{:x} 1", 0x4100_0000 + bytes.len()));
        assert!(behind.contains(": ee"), "{what}: {behind:?}");
    }

    // U-Boot takes three or more 1A off the end of every block of XMODEM, not only of the last: what
    // comes after them moves up. Nothing at our end can help; YMODEM does.
    let mut bytes = material::random(391, 102);
    bytes[251..256].fill(0x1A);
    let file = scene.file("gap.bin", &bytes);
    for (command, protocol, len) in [("loadx", "xmodem-crc", 386), ("loady", "ymodem", 391)] {
        console.say(&format!("{command} 0x{ADDRESS}"));
        console.until("bps...");
        let end = send(&scene, &mut console, &["-P", protocol], &file);
        assert_eq!(end.code, 0, "{command}: {end:?}");
        let said = console.until(PROMPT);
        let size = format!("0x{len:08x}");
        assert!(said.contains(&size), "{command}: expected {size} in {said:?}");
    }
}
