//! `trz` and `tsz` in memory in their other forms: binary, in tmux, on Windows.

use crate::trzsz::{Peer, config_of, file, packed};
use md5::{Digest as _, Md5};
use serde_json::json;
use wetstring_drive::run::NoWatch;
use wetstring_drive::shell::Broken;
use wetstring_drive::trzsz::{Talk, Terms, receive, send};
use wetstring_proto::peer::Host;
use wetstring_proto::stats::Stats;
use wetstring_testkit::{File, Sink, Source, noise};

const CLEAR: Terms = Terms { host: Host::Plain, clear: true };
const TMUX: Terms = Terms { host: Host::Tmux, clear: false };
const WINDOWS: Terms = Terms { host: Host::Windows, clear: true };

/// What comes of a `tsz` that says this, and what it heard.
fn received(terms: Terms, says: &[u8]) -> (Result<(), Broken>, Vec<u8>, Sink) {
    let mut peer = Peer::saying(says);
    let (mut watch, mut stats, mut store) = (NoWatch, Stats::default(), Sink::new());
    let mut talk = Talk::new(&mut peer, terms, (&mut watch, &mut stats));
    let result = receive(&mut talk, &mut store);
    if let Err(broken) = &result {
        talk.stop(broken);
    }
    (result, peer.heard, store)
}

/// What a `trz` that says this hears of a file.
fn sent(terms: Terms, says: &[u8], bytes: &[u8]) -> (Result<(), Broken>, Vec<u8>) {
    let mut peer = Peer::saying(says);
    let (mut watch, mut stats) = (NoWatch, Stats::default());
    let mut store = Source::new(vec![File::new("a.bin", bytes)]);
    let mut talk = Talk::new(&mut peer, terms, (&mut watch, &mut stats));
    let result = send(&mut talk, &mut store, 1);
    (result, peer.heard)
}

/// The answers of a `trz` to a file that comes at once.
fn answers(config: &str, bytes: &[u8]) -> String {
    let len = bytes.len();
    let digest = packed("SUCC", &Md5::digest(bytes));
    format!("{config}#SUCC:1\n{}#SUCC:{len}\n#SUCC:{len}\n{digest}", packed("SUCC", b"a.bin"))
}

/// That of `trz -b`.
fn table() -> serde_json::Value {
    json!([["\u{EE}", "\u{EE}\u{EE}"], ["~", "\u{EE}1"]])
}

/// The lines of a file in the binary form, which are as they stand.
fn raw(on_wire: &[u8], digest_of: &[u8]) -> Vec<u8> {
    let head = format!(
        "#NUM:1\n{}#SIZE:{}\n#DATA:{}\n",
        packed("NAME", b"a"),
        digest_of.len(),
        on_wire.len()
    );
    [head.as_bytes(), on_wire, packed("MD5", &Md5::digest(digest_of)).as_bytes()].concat()
}

#[test]
fn bytes_come_as_they_are_and_escaped() {
    let plain = config_of(&json!({"binary": true, "escape_chars": []}));
    let escaped = config_of(&json!({"binary": true, "escape_chars": table()}));
    let all: Vec<u8> = [noise(1, 5000), (0..=255).collect()].concat();
    let by_table: Vec<u8> = all
        .iter()
        .flat_map(|byte| match byte {
            0xEE => vec![0xEE, 0xEE],
            b'~' => vec![0xEE, b'1'],
            byte => vec![*byte],
        })
        .collect();
    for (config, on_wire) in [(plain, &all), (escaped, &by_table)] {
        let says = [config.as_bytes(), &raw(on_wire, &all)].concat();
        let (result, heard, store) = received(CLEAR, &says);
        assert_eq!(result, Ok(()));
        assert!(store.files[0].bytes == all && store.files[0].verified);
        let heard = String::from_utf8(heard).expect("text");
        assert!(heard.contains(&format!("#SUCC:{}\n", all.len())), "counted without escapes");
    }
}

#[test]
fn bytes_go_as_the_peer_wants_them() {
    let config = config_of(&json!({"binary": true, "escape_chars": table()}));
    let (result, heard) = sent(CLEAR, answers(&config, b"a~\xEE\n").as_bytes(), b"a~\xEE\n");
    assert_eq!(result, Ok(()));
    let line = b"#SIZE:4\n#DATA:6\na\xEE1\xEE\xEE\n#MD5:";
    assert!(heard.windows(line.len()).any(|part| part == line), "{}", heard.escape_ascii());
}

#[test]
fn what_cannot_be_in_the_binary_form_is_an_error() {
    let config = |table| config_of(&json!({"binary": true, "escape_chars": table}));
    let (none, some) = (config(json!([])), config(table()));
    for (terms, says, why) in [
        (Terms::default(), none.clone().into_bytes(), "which was declined"),
        (WINDOWS, none.replace('\n', "!\n").into_bytes(), "which was declined"),
        (CLEAR, config(json!([["~", "~~~"]])).into_bytes(), "cannot be undone"),
        (CLEAR, [none.as_bytes(), &raw(b"hello", b"hell")].concat(), "more than was announced"),
        (CLEAR, [some.as_bytes(), &raw(b"hello", b"hell")].concat(), "more than was announced"),
        (CLEAR, [some.as_bytes(), &raw(b"he\xEEz", b"he~")].concat(), "an unknown escape"),
        (CLEAR, [some.as_bytes(), &raw(b"he\xEE", b"he~")].concat(), "a part of it"),
        (CLEAR, [none.as_bytes(), &raw(b"", b"he~")].concat(), "nothing"),
    ] {
        let (result, heard, store) = received(terms, &says);
        let say = result.expect_err(why).to_string();
        assert!(say.contains(why), "{why}: {say}");
        assert!(String::from_utf8_lossy(&heard).contains("#fail:"), "{why}");
        assert!(store.files.iter().all(|file| !file.complete && file.bytes.len() <= 5), "{why}");
    }
    for number in ["-1", "99999999999999999999999", "", "1e3"] {
        let head = format!("{none}#NUM:1\n{}#SIZE:5\n#DATA:{number}\n", packed("NAME", b"a"));
        let say = received(CLEAR, head.as_bytes()).0.expect_err(number).to_string();
        assert!(say.contains("a number"), "{number}: {say}");
    }
}

/// What tmux draws stands before lines, and in no line: each is written at once.
#[test]
fn what_tmux_draws_is_no_part_of_a_line() {
    let status = "\x1bP=1s\x1b\\\x1b[30;1H[0] 0:tsz* #1 \"box\"\r\n\x1b[6;1H\x1bP=2s\x1b\\";
    let lines = [
        config_of(&json!({"tmux_output_junk": true})),
        "#NUM:2\n".to_owned(),
        file("a", &noise(3, 50_000), 20_000),
        file("b", b"", 1),
    ];
    let drawn: String = lines
        .concat()
        .lines()
        .map(|line| format!("{status}{line}\n"))
        .chain([status.to_owned()])
        .collect();
    let (result, heard, store) = received(TMUX, drawn.as_bytes());
    assert_eq!(result, Ok(()));
    assert!(store.files[0].bytes == noise(3, 50_000) && store.files[1].verified);
    // What the user sees last is what tsz writes into its window.
    let said = packed("EXIT", b"").len();
    let heard = String::from_utf8(heard).expect("text");
    assert!(heard.lines().last().is_some_and(|line| line.len() > said), "{heard}");
    let trz = answers(&config_of(&json!({})), b"hello").replace('\n', &format!("\n{status}"));
    assert_eq!(sent(TMUX, trz.as_bytes(), b"hello").0, Ok(()));
}

/// A line for a console of Windows has another end, and lines of it are drawn.
#[test]
fn lines_of_windows_are_read_out_of_what_is_drawn() {
    let lines =
        [config_of(&json!({})), "#NUM:1\n".to_owned(), file("a", &noise(3, 50_000), 20_000)];
    let drawn: String = lines
        .concat()
        .lines()
        .enumerate()
        .map(|(row, line)| {
            // Rows of the screen: the last character of each is drawn once more.
            let rows: Vec<&str> = (0..line.len())
                .step_by(119)
                .map(|at| &line[at..line.len().min(at + 119)])
                .collect();
            let mut shown = format!("\x1b[?25l\x1b[{row};1H{}", rows[0]);
            for (above, row) in rows.iter().zip(&rows[1..]) {
                let last = &above[above.len() - 1..];
                shown.extend(["\r\n\x1b[25;119H", last, row]);
            }
            shown + "!\x1b[?25h\r\n"
        })
        .collect();
    let (result, heard, store) = received(WINDOWS, drawn.as_bytes());
    assert_eq!(result, Ok(()));
    assert!(store.files[0].bytes == noise(3, 50_000) && store.files[0].verified);
    let heard = String::from_utf8(heard).expect("text");
    assert!(heard.lines().all(|line| line.ends_with('!')), "{heard}");
}

/// Nothing but drawing: it ends, and memory stays small.
#[test]
fn endless_drawing_ends() {
    for (terms, floods) in [(TMUX, "\x1b[H#SUC"), (TMUX, "#DATA:AAAA"), (WINDOWS, "#x")] {
        let mut peer = Peer::saying(config_of(&json!({})).replace('\n', "!\n").as_bytes());
        if terms == TMUX {
            peer = Peer::saying(config_of(&json!({})).as_bytes());
        }
        peer.floods = floods.into();
        let (mut watch, mut stats) = (NoWatch, Stats::default());
        let mut talk = Talk::new(&mut peer, terms, (&mut watch, &mut stats));
        let say = receive(&mut talk, &mut Sink::new()).expect_err(floods).to_string();
        assert!(say.contains("#NUM:") && say.len() < 2000, "{say}");
    }
}
