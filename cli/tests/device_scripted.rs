//! Device profiles on consoles that follow a script: what the device says is from the sources that the profile cites,
//! the receiver is `wst receive`. A shell is a real one.

use crate::peers;

use std::fs;

use peers::device::Move::{Hears, Receives, Says};
use peers::device::{MD5, Move, console, send, sends};
use peers::{Scene, material, peer};

fn barebox(sum: &'static str) -> Vec<Move<'static>> {
    vec![
        Hears("\u{3}"),
        Says("\r\nbarebox 2015.06.0 #1\r\n\r\nHit any key to stop autoboot:  3"),
        Hears("\u{3}"),
        Says("\r\n\u{1b}[1;32mbarebox@\u{1b}[1;36mBoard:/ \u{1b}[0m"),
        Hears("loady\r"),
        Says("## Ready for binary (ymodem) download at 115200 bps...\r\n"),
        Receives("ymodem"),
        Says("\r\n\u{1b}[1;32mbarebox@\u{1b}[1;36mBoard:/ \u{1b}[0m"),
        Hears("md5sum image.bin 0+9\r"),
        Says(sum),
        Says("  image.bin\t0x00000000 ... 0x00000009\r\nbarebox@Board:/ "),
    ]
}

#[test]
fn barebox_from_reset_to_an_equal_md5() {
    let (end, got) = sends("barebox", true, &[], barebox(MD5));
    assert_eq!(end.code, 0, "{end:?}");
    assert!(end.said.contains(&format!("md5 {MD5}")), "{end:?}");
    assert_eq!(got, b"123456789");
    let (end, _) = sends("barebox", true, &[], barebox("00f9e794323b453885f5181f1b624d0b"));
    assert_eq!(end.code, 6, "{end:?}");
}

#[test]
fn a_cisco_router_by_its_rom_monitor() {
    let (end, got) = sends(
        "rommon",
        true,
        &["--var", "name=c2600-is-mz.bin"],
        vec![
            Hears("\r"),
            Says("monitor: command \"\" not found\r\nrommon 2 > "),
            Hears("xmodem -c c2600-is-mz.bin\r"),
            Says("Do not start the sending program yet...\r\n"),
            Says("         File size           Checksum   File name\r\n"),
            Says("   9939820 bytes (0x97ab6c)   0x4991    c2600-is-mz.122-7a.bin\r\n\r\n"),
            Says("Warning: All existing data in bootflash will be lost!\r\n"),
            Says("Invoke this application only for disaster recovery.\r\n"),
            Says("Do you wish to continue? y/n  [n]:  "),
            Hears("y\r"),
            Says("Ready to receive file c2600-is-mz.bin ...\r\n"),
            Receives("xmodem-crc"),
            Says("Download Complete!\r\nprogram load complete, entry point: 0x80008000\r\n"),
        ],
    );
    assert_eq!(end.code, 0, "{end:?}");
    assert_eq!(got.len(), 128);
    assert!(got.starts_with(b"123456789"));
}

#[test]
fn a_catalyst_switch_by_its_boot_loader() {
    let (end, got) = sends(
        "catalyst",
        true,
        &[],
        vec![
            Hears("\r"),
            Says("switch: "),
            Hears("flash_init\r"),
            Says("Initializing Flash...\r\n...The flash is already initialized.\r\nswitch: "),
            Hears("load_helper\r"),
            Says("switch: "),
            Hears("copy xmodem: flash:image.bin\r"),
            Says("Begin the Xmodem or Xmodem-1K transfer now...\r\n"),
            Receives("xmodem-crc"),
            Says("\r\nFile \"xmodem:\" successfully copied to \"flash:image.bin\"\r\nswitch: "),
        ],
    );
    assert_eq!(end.code, 0, "{end:?}");
    assert!(got.starts_with(b"123456789"));
}

#[test]
fn a_microcontroller_by_the_menu_of_its_maker() {
    const MENU: &str = "\r\n=================== Main Menu ============================\r\n\n\
        Download image to the internal Flash ----------------- 1\r\n\n\
        Execute the loaded application ----------------------- 3\r\n\n\
        ==========================================================\r\n\n";
    let (end, got) = sends(
        "stm32-iap",
        false,
        &[],
        vec![
            Hears("x"),
            Says(MENU),
            Hears("1"),
            Says("Waiting for the file to be sent ... (press 'a' to abort)\n\r"),
            Receives("ymodem"),
            Says("\n\n\r Programming Completed Successfully!\n\r------\r\n Name: image.bin\n\r"),
            Says(" Size: 9 Bytes\r\n-------------------\n"),
            Says(MENU),
        ],
    );
    assert_eq!(end.code, 0, "{end:?}");
    assert_eq!(got, b"123456789");
}

#[test]
fn a_device_that_refuses_is_quoted() {
    let scene = Scene::new();
    let file = scene.file("image.bin", b"123456789").display().to_string();
    let (port, _console) = console(
        &scene,
        true,
        vec![
            Hears("\r"),
            Says("switch: "),
            Hears("flash_init\r"),
            Says("switch: "),
            Hears("load_helper\r"),
            Says("switch: "),
            Hears("copy xmodem: flash:image.bin\r"),
            Says("flash:image.bin: permission denied\r\n\r\nswitch: "),
        ],
    );
    let end = send(&scene, &["send", &file, &format!("@catalyst:tcp://127.0.0.1:{port}")]);
    assert_eq!(end.code, 4, "{end:?}");
    assert!(end.said.contains("flash:image.bin: permission denied"), "{end:?}");
}

/// A real shell: busybox has no rx in Debian, so that of lrzsz is taken. The profile takes the padding off.
#[test]
fn a_busybox_shell_with_rx() {
    let scene = Scene::new();
    let (Some(busybox), Some(_)) = (peer("busybox", "busybox"), peer("rx", "lrzsz")) else {
        return;
    };
    let bytes = material::random(20_001, 11);
    let file = scene.file("image.bin", &bytes).display().to_string();
    let folder = scene.folder("there");
    let line = format!(
        "@busybox:exec-pty:cd {} && PS1='box# ' exec {} ash -i",
        folder.display(),
        busybox.display()
    );
    let end = send(&scene, &["send", &file, &line]);
    assert_eq!(end.code, 0, "{end:?}");
    assert!(end.said.contains("md5 "), "{end:?}");
    assert!(fs::read(folder.join("image.bin")).expect("the file") == bytes);
}

#[test]
fn wrong_uses_are_told() {
    let scene = Scene::new();
    let file = scene.file("a", b"a").display().to_string();
    for (args, say) in [
        (vec!["send", &*file, "@ubot:pty:"], "did you mean uboot?"),
        (vec!["send", &*file, &*file, "@uboot:pty:"], "expected one file"),
        (vec!["send", "-P", "zmodem", &*file, "@uboot:pty:"], "expected one of ymodem"),
        (vec!["send", "--var", "adress=1", &*file, "@uboot:pty:"], "did you mean address?"),
        (vec!["send", "--var", "baud=9600", &*file, "@uboot:exec:cat"], "whose rate can be set"),
        (vec!["send", "--var", "baud=9600", &*file, "exec:cat"], "@uboot:LINE with --var"),
        (vec!["send", "--text", &*file, "@uboot:exec:cat"], "--text"),
        (vec!["show", "profiles", "ubot"], "device profiles: barebox, busybox"),
    ] {
        let end = send(&scene, &args);
        assert_eq!(end.code, 2, "{args:?}: {end:?}");
        assert!(end.said.contains(say), "{args:?}: {end:?}");
    }
    let end = send(&scene, &["show", "profiles"]);
    assert_eq!(end.code, 0, "{end:?}");
    assert!(end.said.contains("uboot = U-Boot"), "{end:?}");
}
