//! Text in other character sets, with C-Kermit: over the wire both ways, and table by table.

use crate::peers;

use std::fs;
use std::process::Command;
use std::slice::from_ref;

use peers::ckermit::{Mode, Over, Session, Transfer};
use peers::{LIMIT, Scene, all, ckermit};
use wetstring_drive::charset::{Form, Translator, Ucs2};
use wetstring_proto::kermit::Charset;

/// A text, the set that it is in on the wire, and its bytes in the set of C-Kermit's files.
struct Text {
    transfer: &'static str,
    utf8: &'static str,
    theirs: &'static str,
    bytes: &'static [u8],
}

/// Where C-Kermit's transfers lose a character that its TRANSLATE has (К from ISO 8859-5 to KOI8-R, Ł
/// from CP852 to Latin-2), the text is without it.
const TEXTS: &[Text] = &[
    Text {
        transfer: "latin1-iso",
        utf8: "Grüße ñ¿\nund mehr\n",
        theirs: "cp850",
        bytes: b"Gr\x81\xE1e \xA4\xA8\nund mehr\n",
    },
    Text {
        transfer: "latin2-iso",
        utf8: "x źódź\n\nx\n",
        theirs: "cp852",
        bytes: b"x \xAB\xA2d\xAB\n\nx\n",
    },
    Text {
        transfer: "cyrillic-iso", utf8: "x год\n", theirs: "koi8r", bytes: b"x \xC7\xCF\xC4\n"
    },
    Text {
        transfer: "greek-iso",
        utf8: "x Ωμέγα\n",
        theirs: "greek-iso",
        bytes: b"x \xD9\xEC\xDD\xE3\xE1\n",
    },
    Text {
        transfer: "hebrew-iso",
        utf8: "x שלום\n",
        theirs: "cp862",
        bytes: b"x \x99\x8C\x85\x8D\n",
    },
    Text {
        transfer: "latin9-iso", utf8: "x € Œ\n", theirs: "latin9-iso", bytes: b"x \xA4 \xBC\n"
    },
    Text {
        transfer: "euc-jp",
        utf8: "x 日本語\n",
        theirs: "shift-jis-kanji",
        bytes: b"x \x93\xFA\x96\x7B\x8C\xEA\n",
    },
    Text {
        transfer: "ucs2",
        utf8: "x é Ж\n\u{D0A}\u{A0D}\nz\n",
        theirs: "utf8",
        bytes: "x é Ж\n\u{D0A}\u{A0D}\nz\n".as_bytes(),
    },
    Text { transfer: "utf8", utf8: "x Жук\n", theirs: "cp1251", bytes: b"x \xC6\xF3\xEA\n" },
    Text { transfer: "ascii", utf8: "plain\n", theirs: "german", bytes: b"plain\n" },
];

#[test]
fn text_is_translated_at_both_ends() {
    let Some(_) = ckermit() else { return };
    let jobs: Vec<(&Text, bool)> =
        TEXTS.iter().flat_map(|text| [(text, true), (text, false)]).collect();
    let name = |(text, we_send): &(&Text, bool)| (text.transfer, *we_send);
    let jobs: Vec<_> = jobs.iter().map(|job| (name(job), job)).collect();
    for (label, (text, we_send)) in jobs {
        let commands = vec![
            format!("set file character-set {}", text.theirs),
            format!("set transfer character-set {}", text.transfer),
        ];
        let flags = if *we_send {
            vec![format!("--set=kermit.transfer-set={}", text.transfer)]
        } else {
            Vec::new()
        };
        let mode = Mode { text: true, commands, flags, ..Mode::default() };
        let scene = Scene::new();
        let (ours, theirs) = (text.utf8.as_bytes(), text.bytes);
        let (given, expected) = if *we_send { (ours, theirs) } else { (theirs, ours) };
        let file = scene.file("from/text.txt", given);
        let session = if *we_send {
            Session::we_send(&scene, Over::TcpToUs, &mode, from_ref(&file))
        } else {
            Session::they_send(&scene, Over::TcpToUs, &mode, from_ref(&file))
        };
        let done = session.run().and_then(Transfer::well);
        let done = done.unwrap_or_else(|say| panic!("{label:?}: {say}"));
        let got = fs::read(done.into.join("text.txt")).unwrap();
        let show = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(got, expected, "{label:?}: {} for {}", show(&got), show(expected));
    }
}

/// What C-Kermit has elsewhere than the standards, and we do not follow.
const DIFFERS: &[(&str, &[u8])] = &[
    ("hebrew-iso", &[0xAF, 0xFD, 0xFE]),
    ("greek-iso", &[0xA4, 0xA5, 0xAA]),
    ("cp855", &[0xF0, 0xFF]),
    ("cp1250", &[0xAD]),
    ("dec-multinational", &[0xDD, 0xFD]),
    ("dg-international", &[0xD7]),
    ("dutch", &[0x7C, 0x7E]),
    ("hp-roman8", &[0xA9, 0xAA, 0xAC, 0xEE, 0xF6, 0xFC]),
    ("hungarian", &[0x7E]),
    ("macintosh-latin", &[0xDB]),
    ("portuguese", b"[\\]{|}"),
    ("koi8u", &[0xAE, 0xBE]),
];

/// Each byte on a line of its own.
fn bytes() -> Vec<u8> {
    (0x20..=0xFF_u8).flat_map(|byte| [byte, b'\n']).collect()
}

fn ours(set: Charset) -> Vec<String> {
    let from = Form { set, wire: false, ucs2: Ucs2::default() };
    let to = Form { set: Charset::UTF8, wire: false, ucs2: Ucs2::default() };
    let mut out = Vec::new();
    let mut by = Translator::new(from, to).expect("a translation");
    by.translate(&bytes(), true, &mut out);
    String::from_utf8(out).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn the_tables_are_those_of_ckermit() {
    let Some(_) = ckermit() else { return };
    let several = ["ucs2", "utf8", "euc-jp", "dec-kanji", "iso2022jp-kanji", "jis7-kanji"];
    let is_single = |set: &Charset| {
        !several.contains(&set.name())
            && set.name() != "shift-jis-kanji"
            && *set != Charset::TRANSPARENT
    };
    let sets: Vec<&'static str> = Charset::all().filter(is_single).map(Charset::name).collect();
    all(&sets, 4, |name| {
        let scene = Scene::new();
        let from = scene.file("all.bin", &bytes());
        let to = scene.path("out.txt");
        let command = format!("translate {} {name} utf8 {}, exit", from.display(), to.display());
        let mut kermit = Command::new("kermit");
        scene.start("kermit", kermit.args(["-Y", "-H", "-C", &command]))?.wait(LIMIT)?;
        let theirs = fs::read(&to).map_err(|e| e.to_string())?;
        let theirs = String::from_utf8_lossy(&theirs).into_owned();
        let theirs: Vec<&str> = theirs.split('\n').collect();
        let set = Charset::named(name).ok_or("no set")?;
        let mut differs = Vec::new();
        for (byte, (ours, theirs)) in (0x20..=0xFF_u8).zip(ours(set).iter().zip(theirs)) {
            // Where there is no character, its words for that are several.
            if ours != theirs && ours != "\u{FFFD}" && !(0x7F..0xA0).contains(&byte) {
                differs.push(byte);
            }
        }
        let expected = DIFFERS.iter().find(|(own, _)| own == name).map_or(&[][..], |(_, b)| b);
        if differs == expected {
            Ok(())
        } else {
            Err(format!("expected {expected:02X?} to differ, got {differs:02X?}"))
        }
    });
}

#[test]
fn text_in_an_unknown_set_and_characters_without_a_place_are_said() {
    let Some(_) = ckermit() else { return };
    let commands =
        vec!["set file character-set utf8".into(), "set transfer character-set latin1-iso".into()];
    let flags = vec!["--set=kermit.file-set=ascii".to_owned()];
    let mode = Mode { text: true, commands, flags, ..Mode::default() };
    let scene = Scene::new();
    let file = scene.file("from/text.txt", "é\n".as_bytes());
    let session = Session::they_send(&scene, Over::TcpToUs, &mode, from_ref(&file));
    let done = session.run().unwrap();
    assert_eq!(fs::read(done.into.join("text.txt")).unwrap(), b"?\n");
    let said = format!("{:?}", done.wst);
    assert!(said.contains("1 character is not in the other character set"), "{said}");
}
