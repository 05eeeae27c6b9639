//! U-Boot's `loadb` in an emulated board, checked with U-Boot's own `crc32`.

use crate::peers;

use std::path::Path;

use peers::uboot::{ADDRESS, PROMPT, boot, crc32, send};
use peers::{Scene, material};

#[test]
fn loadb_takes_what_wst_sends() {
    let scene = Scene::new();
    let Some((_board, mut console)) = boot(&scene) else { return };

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

#[test]
fn the_check_value_of_crc_32() {
    assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
}
