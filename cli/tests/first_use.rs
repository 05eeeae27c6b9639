//! The key of a host that is not known: asked about at a terminal, refused in a script unless told, known again
//! by another line.

use crate::common;

use common::desktop::Desktop;
use common::friends::Friends;
use common::{Desk, Ran, Running, run};

/// Two people, and what moves between them.
struct Pair {
    friends: Friends,
    desk: Desk,
}

impl Pair {
    fn new() -> Self {
        Self { friends: Friends::new(), desk: Desk::new(100_000) }
    }

    fn listen(&self) -> (Running, String) {
        self.friends.listen(&self.desk.path("in"), &[])
    }

    fn send(&self, line: &str, flags: &[&str]) -> Ran {
        let file = self.desk.path("data.bin");
        run(self.friends.ours(&[&["send", &file, line][..], flags].concat()))
    }

    fn user(&self, line: &str) -> Desktop {
        let (file, config) = (self.desk.path("data.bin"), self.friends.ours.path().to_owned());
        Desktop::start_with(&["send", &file, line], |command| {
            command.env("XDG_CONFIG_HOME", config);
        })
    }

    fn fingerprint(&self) -> String {
        let shown = run(self.friends.theirs(&["key", "show"]));
        let said = shown.stderr.lines().find_map(|line| line.strip_prefix("fingerprint "));
        said.expect("a fingerprint").to_owned()
    }

    fn known(&self) -> String {
        run(self.friends.ours(&["key", "list"])).stdout
    }
}

#[test]
fn scripts_are_refused_with_advice() {
    let pair = Pair::new();
    let (receiver, line) = pair.listen();
    let refused = pair.send(&line, &[]);
    refused.expect(4);
    let fingerprint = pair.fingerprint();
    for part in [&line, &format!("--fingerprint {fingerprint}"), "--accept-new"] {
        assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
    }
    // Nothing was learned by it, and nothing sent.
    assert!(pair.known().is_empty() && pair.desk.names().is_empty());
    let wrong = "0123-4567-89ab-cdef-0123-4567-89ab-cdef";
    let refused = pair.send(&line, &["--fingerprint", wrong]);
    refused.expect(4);
    assert!(refused.stderr.contains(&format!("expected the key {wrong}")), "{}", refused.stderr);
    assert!(pair.known().is_empty());
    pair.send(&line, &["--fingerprint", &fingerprint]).expect(0);
    receiver.end().expect(0);
    pair.desk.arrived();
    assert!(pair.known().contains(&fingerprint), "{}", pair.known());
    // Known, it needs no flag; a fingerprint that is said counts all the same.
    let (place, into) = (line.replace("udp://", "udp-listen://"), pair.desk.path("in"));
    let receiver = Running::start(pair.friends.theirs(&["receive", &place, "-o", &into]));
    receiver.says("listening on ");
    pair.send(&line, &["--fingerprint", wrong]).expect(4);
    pair.send(&line, &[]).expect(0);
    receiver.end().expect(0);
}

#[test]
fn a_key_that_is_known_by_another_line_is_recognised() {
    let pair = Pair::new();
    let (receiver, line) = pair.listen();
    pair.send(&line, &["--accept-new"]).expect(0);
    receiver.end().expect(0);
    // Another port, and a name for the address.
    let (receiver, second) = pair.listen();
    let second = second.replace("127.0.0.1", "LOCALHOST");
    let sent = pair.send(&second, &["--json"]);
    sent.expect(0);
    assert!(sent.stderr.contains(&format!("known as that of {line}")), "{}", sent.stderr);
    let events = sent.events();
    let key = events.iter().find(|event| event["event"] == "host-key").expect("an event");
    assert_eq!((&key["new"], &key["known_as"][0]), (&false.into(), &line.as_str().into()));
    receiver.end().expect(0);
    // From now on it is known by that line too, however it is written, and another key there is refused.
    assert_eq!(pair.known().lines().count(), 2, "{}", pair.known());
    let other = Pair::new();
    let into = other.desk.path("in");
    let place = line.replace("udp://", "udp-listen://");
    let receiver = Running::start(other.friends.theirs(&["receive", &place, "-o", &into]));
    receiver.says("listening on ");
    let refused = pair.send(&line, &["--accept-new"]);
    refused.expect(4);
    assert!(refused.stderr.contains("expected the known key"), "{}", refused.stderr);
}

#[test]
fn a_new_key_is_confirmed_before_anything_is_sent() {
    let pair = Pair::new();
    let (receiver, line) = pair.listen();
    let mut user = pair.user(&line);
    user.until("the question", |user| user.screen().contains("Trust it? [yes/no] "));
    assert!(user.screen().contains(&pair.fingerprint()), "{}", user.screen());
    user.press(b"what?\n");
    user.until("it again", |user| user.screen().matches("Trust it?").count() == 2);
    user.press(b"no\n");
    assert_eq!(user.end().code(), Some(4), "{}", user.screen());
    user.until("its last words", |user| user.screen().contains("nothing was sent"));
    assert!(pair.known().is_empty() && pair.desk.names().is_empty());
    let mut user = pair.user(&line);
    user.until("the question", |user| user.screen().contains("Trust it? [yes/no] "));
    user.press(b"yes\n");
    assert!(user.end().success(), "{}", user.screen());
    receiver.end().expect(0);
    pair.desk.arrived();
    assert!(pair.known().contains(&pair.fingerprint()));
}

#[test]
fn ctrl_c_refuses_the_key() {
    let pair = Pair::new();
    let (receiver, line) = pair.listen();
    let mut user = pair.user(&line);
    user.until("the question", |user| user.screen().contains("Trust it? [yes/no] "));
    user.press(b"\x03");
    assert!(!user.end().success(), "{}", user.screen());
    assert!(pair.known().is_empty());
    drop(receiver);
}
