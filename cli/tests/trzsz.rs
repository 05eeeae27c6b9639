//! `tsz` and `trz` of trzsz, as PyPI has it, in a shell in the wrapper.

use crate::common;
use crate::peers;

use std::path::Path;

use common::Desk;
use common::desktop::Desktop;
use wetstring_testkit::noise;

/// A shell in the wrapper, if `trz` and `tsz` are there.
fn shell(desk: &Desk, autodownload: &str, more: &[&str]) -> Option<Desktop> {
    peers::peer("tsz", "none; pip install trzsz")?;
    Some(Desktop::shell(desk, &[&["--autodownload", autodownload], more].concat()))
}

/// Types, waits for what is new on the screen and then for the prompt; returns all that is new.
#[track_caller]
fn until_prompt(user: &mut Desktop, keys: &str, says: &str) -> String {
    let before = user.screen().len();
    typed(user, keys, says);
    user.until("the prompt", |user| user.screen().ends_with("\r\nready> "));
    let new = user.screen()[before..].to_owned();
    for part in ["TRZSZ", "#ACT", "#NUM", "#SUCC", "#EXIT", "#fail", "\x1b7", "\x1b8"] {
        assert!(!new.contains(part), "nothing of the protocol shows: {new:?}");
    }
    new
}

#[track_caller]
fn typed(user: &mut Desktop, keys: &str, says: &str) {
    user.type_and_see(keys.as_bytes(), says);
}

#[track_caller]
fn leave(mut user: Desktop) {
    user.press(b"exit 0\r");
    assert_eq!(user.end().code(), Some(0), "{}", user.screen());
}

#[track_caller]
fn same(path: &str, bytes: &[u8]) {
    assert!(std::fs::read(path).expect(path) == bytes, "{path}");
}

const SIZES: [(&str, usize); 4] =
    [("empty", 0), ("one", 1), ("with blank", 100_000), ("größe.bin", 3_000_000)];

#[test]
fn files_of_tsz_arrive_and_the_prompt_follows() {
    let desk = Desk::new(1);
    let Some(mut user) = shell(&desk, "ask", &[]) else { return };
    for (seed, (name, len)) in SIZES.iter().enumerate() {
        let path = desk.path("there");
        std::fs::write(Path::new(&path).join(name), noise(seed as u64, *len)).expect("a file");
    }
    typed(&mut user, "tsz empty one 'with blank' gr*\r", "The peer sends files by trzsz. Receive");
    let new = until_prompt(&mut user, "yes\r", "größe.bin: received 3.0 MB");
    assert!(new.ends_with(" verified\r\nready> "), "{new:?}");
    for (seed, (name, len)) in SIZES.iter().enumerate() {
        same(&desk.path(&format!("in/{name}")), &noise(seed as u64, *len));
    }
    // Asked once in a session, and what is there is put aside.
    // The binary form is declined, and base64 comes.
    let new = until_prompt(&mut user, "tsz -b one\r", "one: received 1 B");
    assert!(!new.contains("yes/no") && new.contains("the previous file is now"), "{new}");
    leave(user);
}

/// A directory by `-d`, both ways.
#[test]
fn directories_keep_their_names() {
    let desk = Desk::new(5000);
    let Some(mut user) = shell(&desk, "on", &[]) else { return };
    std::fs::create_dir_all(desk.path("there/photos/may")).expect("folders");
    std::fs::write(desk.path("there/photos/a.bin"), noise(1, 3000)).expect("a file");
    std::fs::write(desk.path("there/photos/may/b.bin"), noise(2, 4000)).expect("a file");
    until_prompt(&mut user, "tsz -d photos\r", "photos/a.bin: received 3.0 kB");
    same(&desk.path("in/photos/a.bin"), &noise(1, 3000));
    same(&desk.path("in/photos/may/b.bin"), &noise(2, 4000));
    std::fs::create_dir(desk.path("there/up")).expect("a folder");
    typed(&mut user, "trz -d up\r", "The peer receives files by trzsz. Send: ");
    until_prompt(
        &mut user,
        &format!("{}\r", desk.path("in/photos")),
        "photos/may/b.bin: sent 4.0 kB",
    );
    same(&desk.path("there/up/photos/a.bin"), &noise(1, 3000));
    same(&desk.path("there/up/photos/may/b.bin"), &noise(2, 4000));
    leave(user);
}

#[test]
fn files_are_sent_to_trz() {
    let desk = Desk::new(3_000_000);
    let Some(mut user) = shell(&desk, "ask", &[]) else { return };
    for (name, len) in [("empty", 0), ("with blank", 1), ("text", 100_000)] {
        std::fs::write(desk.path(name), vec![b'x'; len]).expect("a file");
    }
    typed(&mut user, "trz\r", "The peer receives files by trzsz. Send: ");
    let names = ["data.bin", "empty", "with\\ blank", "text"].map(|name| desk.path(name));
    let new = until_prompt(&mut user, &format!("{}\r", names.join(" ")), "text: sent 100.0 kB");
    assert!(new.ends_with(" verified\r\nready> "), "{new:?}");
    same(&desk.path("there/data.bin"), &desk.bytes);
    for (name, len) in [("empty", 0), ("with blank", 1), ("text", 100_000)] {
        same(&desk.path(&format!("there/{name}")), &vec![b'x'; len]);
    }
    // trz gives it another name, which the user is told.
    typed(&mut user, "trz\r", "Send: ");
    let new = until_prompt(&mut user, &format!("{}\r", names[1]), "empty: sent 0 B");
    assert!(new.contains("empty is stored as empty.0"), "{new}");
    leave(user);
}

/// What the user does not want ends the peer at once.
#[test]
fn a_refusal_ends_the_peer() {
    let desk = Desk::new(5000);
    let Some(mut user) = shell(&desk, "ask", &[]) else { return };
    typed(&mut user, &format!("tsz {}\r", desk.path("data.bin")), "The peer sends files by trzsz");
    let new = until_prompt(&mut user, "no\r", "(refused");
    assert!(new.ends_with("by Ctrl-C)\r\nready> "), "{new:?}");
    assert!(desk.names().is_empty());
    leave(user);
    let Some(mut user) = shell(&desk, "ask", &[]) else { return };
    typed(&mut user, "trz\r", "Send: ");
    until_prompt(&mut user, "\r", "(cancelled)");
    leave(user);
}

/// Ctrl-C and the key e in the middle: both ends are over, and the prompt is back.
#[test]
fn a_cancel_ends_both_ends() {
    let desk = Desk::new(60_000_000);
    let data = desk.path("data.bin");
    let Some(mut user) = shell(&desk, "on", &[]) else { return };
    typed(&mut user, &format!("tsz {data}\r"), "keys: x");
    cancelled(&mut user, &desk.path("in"), "\x03", "interrupted by signal 2");
    assert_eq!(desk.names(), ["data.bin.part"]);
    typed(&mut user, "trz\r", "Send: ");
    typed(&mut user, &format!("{data}\r"), "keys: x");
    cancelled(&mut user, &desk.path("there"), "e", "aborted");
    leave(user);
}

/// Cancels when some of the file is in the folder.
#[track_caller]
fn cancelled(user: &mut Desktop, folder: &str, key: &str, says: &str) {
    let some = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.and_then(|entry| entry.metadata()).is_ok_and(|file| file.len() > 100_000)
    };
    user.until("some of it", |_| std::fs::read_dir(folder).is_ok_and(|mut all| all.any(some)));
    let new = until_prompt(user, key, says);
    assert!(!new.contains("60.0 MB in"), "{new}");
}

/// What the peer says when it fails is the reason of the end.
#[test]
fn the_reason_of_the_peer_is_told() {
    let desk = Desk::new(5000);
    let Some(mut user) = shell(&desk, "on", &[]) else { return };
    std::fs::create_dir(desk.path("there/data.bin")).expect("a folder in the way");
    typed(&mut user, "trz -y\r", "Send: ");
    let data = desk.path("data.bin");
    let new = until_prompt(&mut user, &format!("{data}\r"), "the peer says: ");
    assert!(new.contains("Is a directory"), "{new}");
    leave(user);
}

/// A name that is there and is kept: that file is skipped, the next one comes.
#[test]
fn a_file_that_is_refused_here_does_not_end_the_others() {
    let desk = Desk::new(5000);
    std::fs::write(desk.path("in/data.bin"), "mine").expect("a file");
    std::fs::write(desk.path("next.bin"), noise(9, 9000)).expect("a file");
    let more = ["--set", "store.collision=reject"];
    let Some(mut user) = shell(&desk, "on", &more) else { return };
    let command = format!("tsz {} {}\r", desk.path("data.bin"), desk.path("next.bin"));
    let new = until_prompt(&mut user, &command, "next.bin: received 9.0 kB");
    assert!(new.contains("data.bin: refused here"), "{new}");
    same(&desk.path("in/data.bin"), b"mine");
    same(&desk.path("in/next.bin"), &noise(9, 9000));
    leave(user);
}

/// A host that says nothing more is told about before anything is given up, and Ctrl-C ends the wait.
#[test]
fn a_silent_host_is_told_about() {
    let desk = Desk::new(1);
    let mut user = Desktop::shell(&desk, &["--autodownload", "on"]);
    let line = r"\0337::TRZSZ:TRANSFER:S:1.1.7:6234567890100:40123\r\n";
    let began = std::time::Instant::now();
    typed(
        &mut user,
        &format!("stty raw; printf '{line}'; read -r l; stty sane\r"),
        "no answer for 5 s",
    );
    assert!(began.elapsed().as_secs_f64() < 10.0, "{:?}", began.elapsed());
    typed(&mut user, "\x03", "interrupted by signal 2");
}
