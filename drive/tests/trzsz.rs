//! `trz` and `tsz` in memory, which lie, flood and stop anywhere.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest as _, Md5};
use std::time::Duration;
use wetstring_drive::DiskStore;
use wetstring_drive::disk::{PathRule, ReceiveOptions};
use wetstring_drive::run::NoWatch;
use wetstring_drive::shell::{Broken, Wire};
use wetstring_drive::trzsz::{Talk, Terms, receive, send};
use wetstring_proto::stats::Stats;
use wetstring_proto::{Refusal, Store};
use wetstring_testkit::{File, Sink, Source, noise};

/// What a peer says, whatever it is told; then the line closes.
pub(crate) struct Peer {
    says: Vec<u8>,
    /// Said again and again after it.
    pub(crate) floods: Vec<u8>,
    pub(crate) heard: Vec<u8>,
}

impl Peer {
    pub(crate) fn saying(says: &[u8]) -> Self {
        Self { says: says.to_vec(), floods: Vec::new(), heard: Vec::new() }
    }
}

impl Wire for Peer {
    fn send(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        self.heard.extend_from_slice(bytes);
        Ok(())
    }

    fn receive(&mut self, _: Duration, into: &mut Vec<u8>) -> Result<(), Broken> {
        if self.says.is_empty() && self.floods.is_empty() {
            return Err(Broken::Line("the line closed".to_owned()));
        }
        if self.says.is_empty() {
            into.extend(self.floods.iter().cycle().take(4000));
        }
        into.extend(self.says.drain(..self.says.len().min(1000)));
        Ok(())
    }
}

pub(crate) fn packed(kind: &str, bytes: &[u8]) -> String {
    format!("#{kind}:{}\n", STANDARD.encode(miniz_oxide::deflate::compress_to_vec_zlib(bytes, 6)))
}

pub(crate) fn config_of(config: &serde_json::Value) -> String {
    packed("CFG", config.to_string().as_bytes())
}

fn config() -> String {
    packed("CFG", br#"{"lang":"py","timeout":20,"protocol":1}"#)
}

/// The lines of a file whose bytes are cut like this.
pub(crate) fn file(name: &str, bytes: &[u8], chunk: usize) -> String {
    let data: String = bytes.chunks(chunk).map(|part| packed("DATA", part)).collect();
    let head = packed("NAME", name.as_bytes());
    format!("{head}#SIZE:{}\n{data}{}", bytes.len(), packed("MD5", &Md5::digest(bytes)))
}

const LAST: &str = "\x1b8\x1b[0Jbye\r\n\x1b[?25h";

/// What comes of a `tsz` that says this; what it heard, and what is left for the terminal.
fn received(
    says: &str,
    floods: &str,
    store: &mut dyn Store,
) -> (Result<(), Broken>, String, Vec<u8>) {
    let says = [&config(), says].concat().into_bytes();
    let mut peer = Peer { says, floods: floods.into(), heard: Vec::new() };
    let (mut watch, mut stats) = (NoWatch, Stats::default());
    let mut talk = Talk::new(&mut peer, Terms::default(), (&mut watch, &mut stats));
    let result = receive(&mut talk, store);
    if let Err(broken) = &result {
        talk.stop(broken);
    }
    let rest = if floods.is_empty() { talk.over() } else { Vec::new() };
    (result, String::from_utf8(peer.heard).expect("text"), rest)
}

#[test]
fn files_come_whole_and_the_prompt_is_left() {
    let bytes = noise(1, 200_000);
    let all = ["#NUM:3\n", &file("a", &bytes, 70_000), &file("b", b"", 1), &file("c", &[0; 9], 9)];
    let mut store = Sink::new();
    let (result, heard, rest) =
        received(&[&all.concat(), "#NUM:1\nmore\n", LAST, "$ "].concat(), "", &mut store);
    assert_eq!((result, &rest[..]), (Ok(()), &b"$ "[..]));
    let came: Vec<_> = store.files.iter().map(|file| (&file.name[..], &file.bytes[..])).collect();
    assert_eq!(came, [(&b"a"[..], &bytes[..]), (b"b", b""), (b"c", &[0; 9])]);
    assert!(store.files.iter().all(|file| file.complete && file.verified));
    assert!(heard.contains("#SUCC:3\n") && heard.contains("#SUCC:70000\n"), "{heard}");
}

#[test]
fn a_file_that_is_refused_is_discarded_and_the_next_follows() {
    let mut store = Sink { refuse: Some(Refusal::Exists), ..Sink::new() };
    let all = ["#NUM:2\n", &file("a", &noise(1, 5000), 1000), &file("b", b"x", 1), LAST].concat();
    let (result, heard, _) = received(&all, "", &mut store);
    assert_eq!((result, store.files.len()), (Ok(()), 0));
    assert!(heard.contains("#EXIT:"));
}

/// The peer's digest is of something else: nothing gets the name.
#[test]
fn a_digest_that_differs_leaves_no_file() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut disk = DiskStore::receiving(dir.path(), ReceiveOptions::default()).expect("a store");
    let lie = file("a", b"hello", 5).replace(&packed("DATA", b"hello"), &packed("DATA", b"hellO"));
    let (result, heard, _) = received(&["#NUM:1\n", &lie].concat(), "", &mut disk);
    assert!(matches!(result, Err(Broken::Differs { .. })), "{result:?}");
    assert!(heard.contains("#fail:") && !heard.contains("#EXIT:"), "it is told");
    drop(disk);
    assert!(!dir.path().join("a").exists());
}

/// Each ends with an error that says what was wrong, and the peer is told.
#[test]
fn a_peer_that_lies_ends_the_transfer() {
    let one = |line: &str| format!("#NUM:1\n{}#SIZE:100\n{line}", packed("NAME", b"a"));
    let bomb = packed("DATA", &vec![0; 50_000_000]);
    let sized = |size: &str| format!("#NUM:1\n{}#SIZE:{size}\n", packed("NAME", b"a"));
    let endless = packed("DATA", &[1; 100]);
    let cases: [(String, &str); 19] = [
        ("#NUM:x\n".into(), "a number"),
        ("#NUM:-1\n".into(), "a number"),
        ("#NUM:99999999999999999999999\n".into(), "a number"),
        ("#NUM:\n".into(), "a number"),
        ("nonsense\n".into(), "#NUM:"),
        ("#SIZE:3\n".into(), "#NUM:"),
        (sized("1e9"), "a number"),
        (sized("-1"), "a number"),
        (sized("99999999999999999999"), "a number"),
        // As much as there is: no room is made before it comes.
        (sized("18446744073709551615") + &endless, "the line closed"),
        (sized("18446744073709551615") + &endless + "#DATA:!\n", "a part of it"),
        (format!("#NUM:1\n#NAME:{}\n", "A".repeat(70_000)), "#NAME:"),
        ("#NUM:1\n#NAME:!!!!\n".into(), "no base64"),
        (one(&bomb), "more than was announced"),
        (one(&packed("DATA", &[1; 101])), "more than was announced"),
        (one(&packed("DATA", b"")), "nothing"),
        (one("#DATA:eJw=\n"), "a part of it"),
        (one("#DATA:!!!!\n"), "no base64"),
        (one(&packed("MD5", &[0; 16])), "#DATA:"),
    ];
    for (says, why) in cases {
        let mut store = Sink::new();
        let (result, heard, _) = received(&says, "", &mut store);
        let say = result.expect_err(why).to_string();
        assert!(say.contains(why), "{why}: {say}");
        assert_eq!(heard.contains("#fail:"), why != "the line closed", "{why}");
        assert!(say.len() < 1500, "{}", say.len());
        assert!(store.files.iter().all(|file| !file.complete && file.bytes.len() <= 100), "{why}");
    }
}

/// Memory stays small, and it ends.
#[test]
fn a_flood_ends() {
    let one = format!("#NUM:1\n{}#SIZE:1000000000000\n#DATA:", packed("NAME", b"a"));
    let blocks = format!("#NUM:1\n{}#SIZE:10\n#DATA:eAEA", packed("NAME", b"a"));
    let block = STANDARD.encode([0, 0, 0xFF, 0xFF, 0].repeat(3));
    for (says, floods, why) in [
        ("", "#", "#NUM:"),
        ("#NUM:1\n", "\0", "#NAME:"),
        (&one, "A", "no zlib"),
        (&blocks, &block, "a longer line"),
    ] {
        let mut store = Sink { room: Some(1 << 20), refuse: Some(Refusal::Exists), ..Sink::new() };
        let say = received(says, floods, &mut store).0.expect_err(why).to_string();
        assert!(say.contains(why) && say.len() < 1000, "{why}: {say}");
    }
}

/// As many files as it says, each answered, until the line closes.
#[test]
fn a_billion_files_are_announced_and_three_come() {
    let few = file("a", b"x", 1).repeat(3);
    let mut store = Sink::new();
    let (result, _, _) = received(&["#NUM:1000000000\n", &few].concat(), "", &mut store);
    assert_eq!((result, store.files.len()), (Err(Broken::Line("the line closed".into())), 3));
}

/// Names stay below the directory, and a directory's entry makes nothing by itself.
#[test]
fn names_do_not_leave_the_directory() {
    let dir = tempfile::tempdir().expect("a directory");
    let into = dir.path().join("in");
    std::fs::create_dir(&into).expect("a directory");
    for name in ["../../x", "/x", "..", "a/../../x", "\x1b]0;x\x07", ""] {
        for keeps in [false, true] {
            let options = ReceiveOptions { paths: PathRule::Relative, ..ReceiveOptions::default() };
            let mut disk = DiskStore::receiving(&into, options).expect("a store");
            let mut says = file(name, b"hello", 5);
            if keeps {
                let entry =
                    serde_json::json!({"path_id": 0, "path_name": [name, name], "is_dir": false});
                let json = entry.to_string();
                says = says
                    .replace(&packed("NAME", name.as_bytes()), &packed("NAME", json.as_bytes()));
                let config = packed("CFG", br#"{"directory":true}"#);
                let mut peer = Peer {
                    says: [&config, "#NUM:1\n", &says, LAST].concat().into(),
                    floods: Vec::new(),
                    heard: Vec::new(),
                };
                let (mut watch, mut stats) = (NoWatch, Stats::default());
                receive(
                    &mut Talk::new(&mut peer, Terms::default(), (&mut watch, &mut stats)),
                    &mut disk,
                )
                .expect(name);
            } else {
                received(&["#NUM:1\n", &says, LAST].concat(), "", &mut disk).0.expect(name);
            }
        }
    }
    let outside: Vec<_> = std::fs::read_dir(dir.path()).expect("it").collect();
    assert_eq!(outside.len(), 1, "{outside:?}");
}

#[test]
fn the_peers_reason_is_the_error() {
    let trace = "Traceback:\n  File x\nOSError: \x1b[2J no space\n";
    for kind in ["FAIL", "fail", "EXIT"] {
        let (result, heard, rest) =
            received(&[&packed(kind, trace.as_bytes()), LAST, "$ "].concat(), "", &mut Sink::new());
        let say = result.expect_err(kind).to_string();
        assert_eq!(say, r"the peer says: 'OSError: \x1b[2J no space'");
        assert!(!heard.contains("#fail:"), "it has ended already");
        assert_eq!(rest, b"$ ");
    }
}

fn sent(says: &str, bytes: &[u8]) -> (Result<(), Broken>, Vec<u8>, Source) {
    let says = [&config(), says].concat().into_bytes();
    let mut peer = Peer { says, floods: Vec::new(), heard: Vec::new() };
    let (mut watch, mut stats) = (NoWatch, Stats::default());
    let mut store = Source::new(vec![File::new("d/a.bin", bytes)]);
    let mut talk = Talk::new(&mut peer, Terms::default(), (&mut watch, &mut stats));
    let result = send(&mut talk, &mut store, 1);
    if let Err(broken) = &result {
        talk.stop(broken);
    }
    (result, peer.heard, store)
}

#[test]
fn a_file_goes_to_trz_and_is_done_when_the_digests_agree() {
    let digest = packed("SUCC", &Md5::digest(b"hello"));
    let head = ["#SUCC:1\n", &packed("SUCC", b"a.bin"), "#SUCC:5\n#SUCC:5\n"].concat();
    let (result, heard, store) = sent(&[&head, &digest[..]].concat(), b"hello");
    assert_eq!((result, store.closed), (Ok(()), vec![(true, true)]));
    let heard = String::from_utf8(heard).expect("text");
    assert!(heard.contains("#NUM:1\n") && heard.contains("#SIZE:5\n#DATA:"), "{heard}");
    for (says, why) in [
        ("#SUCC:2\n".to_owned(), "#SUCC:1"),
        (head.replace("#SUCC:5\n#SUCC:5", "#SUCC:5\n#SUCC:4"), "#SUCC:5"),
        ([&head, &packed("SUCC", &[0; 16])[..]].concat(), "MD5"),
        ([&head, &packed("fail", b"disk full")[..]].concat(), "disk full"),
        (head, "the line closed"),
    ] {
        let (result, _, store) = sent(&says, b"hello");
        let say = result.expect_err(why).to_string();
        assert!(say.contains(why), "{why}: {say}");
        assert!(store.closed.iter().all(|closed| *closed == (false, false)), "{why}");
    }
}

/// The binary form was declined.
#[test]
fn a_peer_that_takes_the_binary_form_all_the_same_is_told() {
    let says = packed("CFG", br#"{"binary":true,"escape_chars":[]}"#).into_bytes();
    let mut peer = Peer { says, floods: Vec::new(), heard: Vec::new() };
    let (mut watch, mut stats) = (NoWatch, Stats::default());
    let mut talk = Talk::new(&mut peer, Terms::default(), (&mut watch, &mut stats));
    let say = receive(&mut talk, &mut Sink::new()).expect_err("binary").to_string();
    assert!(say.contains("the binary form"), "{say}");
}
