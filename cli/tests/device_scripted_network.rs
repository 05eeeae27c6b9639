//! Device profiles of network devices on consoles that follow a script, as `device_scripted.rs` has them.

use crate::peers;

use peers::device::Move::{Hears, Receives, Says};
use peers::device::{MD5, Move, send, sends};
use peers::{Scene, material, peer};

/// MD5 of "123456789" and 119 bytes 1A.
const MD5_PADDED: &str = "b42a83d49df3489b2324811d5ed28d76";

/// A router from the words before its prompt to the file in its flash, and what it says when its MD5 is asked for.
fn router(sum: &'static str) -> Vec<Move<'static>> {
    vec![
        Hears("\r"),
        Says("\r\nWould you like to enter the initial configuration dialog? [yes/no]: "),
        Hears("no\r"),
        Says("\r\n\r\nPress RETURN to get started!\r\n\r\n"),
        Hears("\r"),
        Says("Router#"),
        Hears("copy xmodem: flash:image.bin\r"),
        Says(
            "\t\t\t**** WARNING ****\r\nx/ymodem is a slow transfer protocol limited to the current",
        ),
        Says(
            " speed\r\nsettings of the auxiliary/console ports.\r\n\t\t\t---- ******* ----\r\n\r\n\r\n",
        ),
        Says("Proceed? [confirm]"),
        Hears("y"),
        Says("\r\nSource filename []? "),
        Hears("image.bin\r"),
        Says("Destination filename [image.bin]? "),
        Hears("image.bin\r"),
        Says("Erase flash: before copying? [confirm]"),
        Hears("n"),
        Says("\r\nUse crc block checksumming? [confirm]"),
        Hears("y"),
        Says("\r\nMax Retry Count [10]: "),
        Hears("\r"),
        Says("Perform image validation checks? [confirm]"),
        Hears("n"),
        Says("\r\nXmodem download using crc checksumming with NO image validation\r\n"),
        Says("Continue? [confirm]"),
        Hears("y"),
        Says("\r\nReady to receive file..........."),
        Receives("xmodem-crc"),
        Says("\r\n128 bytes copied in 28.304 secs (4 bytes/sec)\r\n\r\nRouter#"),
        Hears("verify /md5 flash:image.bin\r"),
        Says("..Done!\r\nverify /md5 (flash:image.bin) = "),
        Says(sum),
        Says("\r\n\r\n\r\nRouter#"),
    ]
}

#[test]
fn a_router_with_ios_from_its_first_question_to_an_equal_md5() {
    for sum in [MD5, MD5_PADDED] {
        let (end, got) = sends("ios", true, &[], router(sum));
        assert_eq!(end.code, 0, "{end:?}");
        assert!(end.said.contains("verify /md5 has the MD5 of the file"), "{end:?}");
        assert!(got.starts_with(b"123456789"));
    }
    let (end, _) = sends("ios", true, &[], router("6b61400490cfc9788148239053055bac"));
    assert_eq!(end.code, 6, "{end:?}");
    assert!(end.said.contains("what arrived differs"), "{end:?}");
    assert!(end.said.contains("6b61400490cfc9788148239053055bac"), "{end:?}");
}

#[test]
fn a_switch_with_ios_asks_only_for_the_name() {
    let (end, got) = sends(
        "ios",
        true,
        &["-P", "xmodem-1k", "--var", "verify="],
        vec![
            Hears("\r"),
            Says("\r\nSwitch(config-line)#"),
            Hears("end\r"),
            Says("Switch#"),
            Hears("copy xmodem: flash:image.bin\r"),
            Says("Destination filename [image.bin]? "),
            Hears("image.bin\r"),
            Says("Begin the Xmodem or Xmodem-1K transfer now...\r\n"),
            Receives("xmodem-1k"),
            Says("\r\n128 bytes copied in 2.304 secs (55 bytes/sec)\r\nSwitch#"),
        ],
    );
    assert_eq!(end.code, 0, "{end:?}");
    assert!(got.starts_with(b"123456789"));
}

#[test]
fn a_file_in_flash_is_replaced_only_on_request() {
    let question = "%Warning:There is a file already existing with this name \r\n\
        Do you want to over write? [confirm]";
    let copies = |rest: Vec<Move<'static>>| {
        let mut all = vec![
            Hears("\r"),
            Says("Router#"),
            Hears("copy xmodem: flash:image.bin\r"),
            Says("Destination filename [image.bin]? "),
            Hears("image.bin\r"),
            Says(question),
        ];
        all.extend(rest);
        all
    };
    let (end, got) = sends("ios", true, &[], copies(vec![Hears("n")]));
    assert_eq!(end.code, 4, "{end:?}");
    let say = "flash:image.bin is there already: --var overwrite=yes replaces it";
    assert!(end.said.contains(say) && got.is_empty(), "{end:?}");
    let rest = vec![
        Hears("y"),
        Says("\r\nBegin the Xmodem or Xmodem-1K transfer now...\r\n"),
        Receives("xmodem-crc"),
        Says("\r\n128 bytes copied in 2.304 secs (55 bytes/sec)\r\nRouter#"),
        Hears("verify /md5 flash:image.bin\r"),
        Says("      ^\r\n% Invalid input detected at '^' marker.\r\n\r\nRouter#"),
    ];
    let (end, _) = sends("ios", true, &["--var", "overwrite=yes"], copies(rest));
    assert_eq!(end.code, 4, "{end:?}");
    assert!(end.said.contains("this IOS has no verify /md5"), "{end:?}");
}

#[test]
fn who_is_not_in_enable_mode_is_told_at_once() {
    for (says, say) in [
        (
            "\r\nRouter>",
            "expected enable mode: type enable, in wst connect; the device says Router>",
        ),
        ("\r\nUser Access Verification\r\n\r\nPassword: ", "log in, in wst connect"),
        ("\r\nrommon 1 >", "@rommon loads it"),
        ("\r\nswitch: ", "@catalyst loads it"),
    ] {
        let (end, _) = sends("ios", true, &[], vec![Hears("\r"), Says(says)]);
        assert_eq!(end.code, 4, "{says}: {end:?}");
        assert!(end.said.contains(say), "{says}: {end:?}");
    }
}

/// An SRX from its power switch to the check sum that its boot loader computes.
fn srx(sum: &'static str) -> Vec<Move<'static>> {
    vec![
        Hears("\u{3}"),
        Says("\r\nU-Boot 1.1.6\r\n\r\nSRX_220 board revision major:1, minor:0\r\n"),
        Says("Press SPACE to abort autoboot in 1 seconds\r\n"),
        Hears(" "),
        Says("\r\n=> "),
        Hears("loadb 0x100000\r"),
        Says("## Ready for binary (kermit) download to 0x00100000 at 9600 bps...\r\n"),
        Receives("kermit"),
        Says("## Total Size      = 0x00000009 = 9 Bytes\r\n## Start Addr      = 0x00100000\r\n=> "),
        Hears("crc32 0x100000 0x9\r"),
        Says("CRC32 for 00100000 ... 00100008 ==> "),
        Says(sum),
        Says("\r\n=> "),
    ]
}

#[test]
fn a_juniper_from_reset_to_an_equal_check_sum() {
    let (end, got) = sends("juniper", true, &[], srx("cbf43926"));
    assert_eq!(end.code, 0, "{end:?}");
    assert!(end.said.contains("crc32 cbf43926"), "{end:?}");
    assert_eq!(got, b"123456789");
    let (end, _) = sends("juniper", true, &[], srx("cbf43927"));
    assert_eq!(end.code, 6, "{end:?}");
    assert!(end.said.contains("==> cbf43927"), "{end:?}");
}

#[test]
fn a_juniper_that_takes_no_file_is_told() {
    for (says, say) in [
        ("\r\nloader> ", "takes a file by TFTP or USB only"),
        ("\r\nEnter password: ", "some erase the flash after ten wrong ones"),
    ] {
        let (end, _) = sends("juniper", true, &[], vec![Hears("\u{3}"), Says(says)]);
        assert_eq!(end.code, 4, "{end:?}");
        assert!(end.said.contains(say), "{end:?}");
    }
    let moves = vec![
        Hears("\u{3}"),
        Says("\r\n=> "),
        Hears("loadb 0x2000000\r"),
        Says("Unknown command 'loadb' - try 'help'\r\n=> "),
    ];
    let (end, _) = sends("juniper", true, &["--var", "address=0x2000000"], moves);
    assert_eq!(end.code, 4, "{end:?}");
    assert!(end.said.contains("Unknown command 'loadb'"), "{end:?}");
}

/// A real shell behind the words of a start: it has no rx.
#[test]
fn a_router_with_openwrt_in_failsafe_mode() {
    let scene = Scene::new();
    let Some(busybox) = peer("busybox", "busybox") else { return };
    let bytes = material::random(20_001, 12);
    let file = scene.file("image.bin", &bytes).display().to_string();
    let folder = scene.folder("there");
    let line = format!(
        "@openwrt:exec-pty:stty sane; cd {}; echo 'Press the [f] key and hit [enter] to enter failsafe mode'; \
         while read -r key; do case $key in *f) break;; esac; done; PS1='root@(none):/# ' exec {} ash -i",
        folder.display(),
        busybox.display()
    );
    let there = format!("folder={}", folder.display());
    let end = send(&scene, &["send", "--var", &there, "--var", "then=echo over", &file, &line]);
    assert_eq!(end.code, 0, "{end:?}");
    assert!(end.said.contains("verified"), "{end:?}");
    assert!(end.said.contains("echo over: the device answers over"), "{end:?}");
    assert!(std::fs::read(folder.join("image.bin")).expect("the file") == bytes);
    let end = send(&scene, &["send", "--var", &there, &file, &line]);
    assert_eq!(end.code, 1, "{end:?}");
    assert!(end.said.contains("--var overwrite=yes replaces it"), "{end:?}");
    let again = ["send", "--var", &there, "--var", "overwrite=yes", &file, &line];
    assert_eq!(send(&scene, &again).code, 0);
    let end = send(&scene, &["send", "--explain", &file, &line]);
    assert_eq!(end.code, 2, "{end:?}");
    let login = vec![Hears("\r"), Says("\r\nOpenWrt login: ")];
    let (end, _) = sends("openwrt", true, &[], login);
    assert_eq!(end.code, 4, "{end:?}");
    assert!(end.said.contains("expected a root shell"), "{end:?}");
}
