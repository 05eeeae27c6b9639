//! Device profiles of old computers and calculators on consoles that follow a script, as `device_scripted.rs` has them.

use crate::peers;

use peers::Scene;
use peers::device::Move::{Hears, Receives, Says};
use peers::device::{Move, send, sends};

/// CP/M up to the command, and what that answers.
fn cpm(rest: Vec<Move<'static>>) -> Vec<Move<'static>> {
    let mut all = vec![Hears("\r"), Says("\r\nB>")];
    all.extend(rest);
    all
}

#[test]
fn cpm_by_xm() {
    let (end, got) = sends(
        "cpm",
        true,
        &[],
        cpm(vec![
            Hears("XM R image.bin\r"),
            Says("\r\nXMODEM v12.5 - 07/13/86\r\nRBC, 28-Aug-2019 [WBW], ASCI\r\n\r\n"),
            Says("Receiving: B0:IMAGE.BIN\r\n7312k available for uploads\r\n"),
            Says("File open - ready to receive\r\nTo cancel: Ctrl-X, pause, Ctrl-X\r\n"),
            Receives("xmodem-crc"),
            Says("\r\nThanks for the upload\r\n\r\nB>"),
        ]),
    );
    assert_eq!(end.code, 0, "{end:?}");
    assert_eq!(got.len(), 128);
    assert!(got.starts_with(b"123456789") && got.ends_with(&[0x1A]));
}

#[test]
fn cpm_by_another_program() {
    let command = "command=XMODEM %{name} /R";
    let (end, got) = sends(
        "cpm",
        true,
        &["--var", command, "--var", "ready=", "--var", "loaded=", "--var", "name=B:GAME.COM"],
        cpm(vec![
            Hears("XMODEM B:GAME.COM /R\r"),
            Says("\r\n"),
            Receives("xmodem-crc"),
            Says("\r\nB>"),
        ]),
    );
    assert_eq!(end.code, 0, "{end:?}");
    assert_eq!(got.len(), 128);
}

#[test]
fn cpm_by_kermit() {
    let (end, got) = sends(
        "cpm",
        true,
        &["-P", "kermit"],
        cpm(vec![
            Hears("KERMIT\r"),
            Says("\r\nKermit-80 v4.11 configured for Generic CP/M-80 with Generic (Dumb) CRT "),
            Says(
                "Terminal type\r\nFor help, type ? at any point in a command\r\n\r\nKermit-80   0B:>",
            ),
            Hears("SET FILE-MODE BINARY\r"),
            Says("\r\nKermit-80   0B:>"),
            Hears("RECEIVE\r"),
            Says("\r\n"),
            Receives("kermit"),
            Says("\r\nKermit-80   0B:>"),
        ]),
    );
    assert_eq!(end.code, 0, "{end:?}");
    assert_eq!(got, b"123456789");
}

#[test]
fn what_cpm_refuses_is_told() {
    for (flags, command, says, say) in [
        (
            &[][..],
            "XM R image.bin\r",
            "\r\nXMODEM v12.5 - 07/13/86\r\n++ File exists, use a different name ++\r\nB>",
            "++ File exists, use a different name ++",
        ),
        (&[], "XM R image.bin\r", "\r\nXM?\r\n\r\nB>", "got XM? / B>"),
        (&["-P", "kermit"], "KERMIT\r", "\r\nKERMIT?\r\n\r\nB>", "got KERMIT? / B>"),
    ] {
        let moves = cpm(vec![Hears(command), Says(says)]);
        let (end, got) = sends("cpm", true, flags, moves);
        assert_eq!(end.code, 4, "{says}: {end:?}");
        assert!(end.said.contains(say) && got.is_empty(), "{says}: {end:?}");
    }
    let scene = Scene::new();
    let file = scene.file("firmware-2.0.bin", b"1").display().to_string();
    let end = send(&scene, &["send", &file, "@cpm:pty:"]);
    assert_eq!(end.code, 2, "{end:?}");
    let say =
        "expected a name of CP/M, of at most 8 letters, a dot and 3 for name, got firmware-2.0.bin";
    assert!(end.said.contains(say), "{end:?}");
}

/// A packet of Kermit that ends a transfer, with a block check of one byte.
const NO_MEMORY: &str = "\u{1}6 EInsufficient Memory;\r";

#[test]
fn a_calculator_that_waits() {
    let (end, got) = sends("hp48", false, &[], vec![Receives("kermit")]);
    assert_eq!(end.code, 0, "{end:?}");
    assert!(end.said.contains("the calculator is to wait"), "{end:?}");
    assert_eq!(got, b"123456789");
    let (end, got) = sends("hp48", false, &["-P", "xmodem"], vec![Receives("xmodem")]);
    assert_eq!(end.code, 0, "{end:?}");
    assert!(got.starts_with(b"123456789"));
    let (end, _) = sends("hp48", false, &[], vec![Hears("\r"), Says(NO_MEMORY)]);
    assert_eq!(end.code, 4, "{end:?}");
    assert!(end.said.contains("Insufficient Memory"), "{end:?}");
}

#[test]
fn vms_by_kermit() {
    let (end, got) = sends(
        "vms",
        true,
        &[],
        vec![
            Hears("\r"),
            Says("\r\n$ "),
            Hears("KERMIT\r"),
            Says(
                "\r\nVMS Kermit-32 version 3.3.126\r\nDefault terminal for transfers is: _VTA1:\r\n",
            ),
            Says("\r\nKermit-32>"),
            Hears("SET FILE TYPE FIXED\r"),
            Says("\r\nKermit-32>"),
            Hears("RECEIVE\r"),
            Says("\r\n"),
            Receives("kermit"),
            Says("\r\nKermit-32>"),
        ],
    );
    assert_eq!(end.code, 0, "{end:?}");
    assert_eq!(got, b"123456789");
}

#[test]
fn vms_by_vaxmodem() {
    let ready = "\r\n%VAXMODEM-I-RCVREADY, Ready to receive, start uploading now.\r\n";
    for (protocol, command) in [
        ("ymodem", "VAXMODEM RECEIVE/BATCH/BINARY/CRC\r"),
        ("xmodem-crc", "VAXMODEM RECEIVE/BINARY/CRC image.bin\r"),
        ("xmodem", "VAXMODEM RECEIVE/BINARY image.bin\r"),
    ] {
        let moves = vec![
            Hears("\r"),
            Says("\r\n$ "),
            Hears(command),
            Says(ready),
            Receives(protocol),
            Says("\r\n$ "),
        ];
        let (end, got) = sends("vms", true, &["-P", protocol], moves);
        assert_eq!(end.code, 0, "{protocol}: {end:?}");
        assert!(got.starts_with(b"123456789"), "{protocol}");
    }
}

#[test]
fn what_vms_refuses_is_told() {
    let no = "\r\n%DCL-W-IVVERB, unrecognized command verb - check validity and spelling\r\n \\KERMIT\\\r\n$ ";
    let moves = vec![Hears("\r"), Says("\r\n$ "), Hears("KERMIT\r"), Says(no)];
    let (end, _) = sends("vms", true, &[], moves);
    assert_eq!(end.code, 4, "{end:?}");
    assert!(end.said.contains("expected Kermit-32>, got %DCL-W-IVVERB"), "{end:?}");
    let (end, _) = sends("vms", true, &[], vec![Hears("\r"), Says("\r\nUsername: ")]);
    assert_eq!(end.code, 4, "{end:?}");
    assert!(end.said.contains("log in, in wst connect"), "{end:?}");
}

#[test]
fn a_pdp11_by_kermit_11() {
    for (prompt, start) in [("\r\n.", "R KERMIT\r"), ("\r\n>", "KER\r"), ("\r\n$ ", "KERMIT\r")] {
        let (end, got) = sends(
            "pdp11",
            true,
            &[],
            vec![
                Hears("\r"),
                Says(prompt),
                Hears(start),
                Says("\r\nKermit-11 T3.60\r\n\r\nKermit-11>"),
                Hears("SET FILE BINARY\r"),
                Says("\r\nKermit-11>"),
                Hears("RECEIVE\r"),
                Says("\r\n"),
                Receives("kermit"),
                Says("\r\nKermit-11>"),
            ],
        );
        assert_eq!(end.code, 0, "{start}: {end:?}");
        assert_eq!(got, b"123456789");
    }
}

#[test]
fn a_pdp11_without_kermit_11_is_told() {
    for (prompt, start, says) in [
        ("\r\n.", "R KERMIT\r", "?KMON-F-File not found DK:KERMIT.SAV\r\n\r\n."),
        ("\r\n>", "KER\r", "MCR -- Task not in system\r\n>"),
    ] {
        let moves = vec![Hears("\r"), Says(prompt), Hears(start), Says(says)];
        let (end, _) = sends("pdp11", true, &[], moves);
        assert_eq!(end.code, 4, "{end:?}");
        assert!(end.said.contains("Kermit-11 does not start"), "{end:?}");
        let quoted = says.lines().next().unwrap_or_default();
        assert!(end.said.contains(quoted), "{end:?}");
    }
}
