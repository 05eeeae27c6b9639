//! NETBLT between two of the program, over UDP on the loopback interface: whole files, keys, secrets,
//! peers that must not get in.

use crate::common;

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use common::{Desk, Ran, Running, WST, noise, run, tame, wst};
use rustix::process::Signal;

/// A user with a configuration folder of their own.
struct KeyOwner {
    dir: tempfile::TempDir,
}

impl KeyOwner {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a directory") }
    }

    fn wst(&self, args: &[&str]) -> Command {
        let mut command = wst(args);
        command.env("XDG_CONFIG_HOME", self.dir.path());
        command
    }

    fn key(&self) -> String {
        let shown = run(self.wst(&["key", "show"]));
        shown.expect(0);
        shown.stdout.trim().to_owned()
    }

    fn secret(&self, text: &str) -> String {
        let path = self.dir.path().join("secret");
        std::fs::write(&path, text).expect("the secret");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("its mode");
        path.to_str().expect("UTF-8").to_owned()
    }
}

/// Somebody who listens, and where.
fn listen(user: &KeyOwner, into: &str, flags: &[&str]) -> (Running, String) {
    let mut args = vec!["receive", "udp-listen://127.0.0.1:0", "-o", into];
    args.extend(flags);
    let running = Running::start(user.wst(&args));
    let line = format!("udp://{}", running.says("listening on "));
    (running, line)
}

/// Sends to any listener at that address: a new key is accepted.
fn send(user: &KeyOwner, file: &str, line: &str, flags: &[&str]) -> Ran {
    let mut args = vec!["send", file, line];
    if !flags.iter().any(|flag| ["--plain", "--secret-file"].contains(flag)) {
        args.push("--accept-new");
    }
    args.extend(flags);
    run(user.wst(&args))
}

#[test]
fn a_stranger_is_refused_and_a_friend_gets_in() {
    let (desk, ours, theirs) = (Desk::new(3_000_000), KeyOwner::new(), KeyOwner::new());
    let (file, into) = (desk.path("data.bin"), desk.path("in"));
    let (receiver, line) = listen(&theirs, &into, &[]);
    let refused = send(&ours, &file, &line, &[]);
    refused.expect(4);
    assert!(refused.stderr.contains("is new: its key "), "{}", refused.stderr);
    assert!(refused.stderr.contains("does not know the key"), "{}", refused.stderr);
    let advice = format!("wst key trust {}", ours.key());
    let told = receiver.says("127.0.0.1:");
    assert!(told.contains(&advice), "{told}");
    assert!(desk.names().is_empty());
    run(theirs.wst(&["key", "trust", &ours.key(), "a friend"])).expect(0);
    let sent = send(&ours, &file, &line, &[]);
    sent.expect(0);
    receiver.end().expect(0);
    desk.arrived();
    assert!(sent.stderr.contains(", verified"), "{}", sent.stderr);
    // It is known by now.
    assert!(!sent.stderr.contains("is new here"), "{}", sent.stderr);
    let listed = run(theirs.wst(&["key", "list"]));
    assert!(listed.stdout.contains("may send    a friend"), "{}", listed.stdout);
    run(theirs.wst(&["key", "revoke", &ours.key()])).expect(0);
    run(theirs.wst(&["key", "revoke", &ours.key()])).expect(2);
}

#[test]
fn a_key_that_has_changed_is_not_believed() {
    let (desk, ours, theirs, other) =
        (Desk::new(1000), KeyOwner::new(), KeyOwner::new(), KeyOwner::new());
    let (file, into) = (desk.path("data.bin"), desk.path("in"));
    let (receiver, line) = listen(&theirs, &into, &[]);
    send(&ours, &file, &line, &[]).expect(4);
    receiver.signal(Signal::INT);
    receiver.end().expect(130);
    // Somebody else answers at the same place.
    let port = line.rsplit(':').next().expect("a port");
    let place = format!("udp-listen://127.0.0.1:{port}");
    let receiver = Running::start(other.wst(&["receive", &place, "-o", &into]));
    receiver.says("listening on ");
    let refused = send(&ours, &file, &line, &[]);
    refused.expect(4);
    assert!(refused.stderr.contains("expected the known key"), "{}", refused.stderr);
    assert!(refused.stderr.contains(&format!("wst key forget {line}")), "{}", refused.stderr);
    run(ours.wst(&["key", "forget", &line])).expect(0);
    run(other.wst(&["key", "trust", &ours.key()])).expect(0);
    send(&ours, &file, &line, &[]).expect(0);
    receiver.end().expect(0);
    desk.arrived();
}

#[test]
fn a_secret_opens_and_a_wrong_one_does_not() {
    let (desk, ours, theirs) = (Desk::new(200_000), KeyOwner::new(), KeyOwner::new());
    let (file, into) = (desk.path("data.bin"), desk.path("in"));
    let (good, bad) =
        (ours.secret("the shared secret of two\n"), theirs.secret("something else again"));
    let (receiver, line) = listen(&theirs, &into, &["--secret-file", &good]);
    let wrong = send(&ours, &file, &line, &["--secret-file", &bad]);
    wrong.expect(4);
    assert!(wrong.stderr.contains("expected the secret of the listener"), "{}", wrong.stderr);
    let keys = send(&ours, &file, &line, &[]);
    keys.expect(4);
    assert!(keys.stderr.contains("--secret-file"), "{}", keys.stderr);
    assert!(desk.names().is_empty());
    // The environment does as well.
    let mut by_environment = ours.wst(&["send", &file, &line]);
    by_environment.env("WETSTRING_SECRET", "the shared secret of two");
    run(by_environment).expect(0);
    receiver.end().expect(0);
    desk.arrived();
    let short = ours.secret("short");
    let said = send(&ours, &file, &line, &["--secret-file", &short]);
    said.expect(2);
    assert!(said.stderr.contains("at least 16 bytes, got 5"), "{}", said.stderr);
}

#[test]
fn plain_needs_both_ends() {
    let (desk, ours, theirs) = (Desk::new(500_000), KeyOwner::new(), KeyOwner::new());
    let (file, into) = (desk.path("data.bin"), desk.path("in"));
    let (receiver, line) = listen(&theirs, &into, &[]);
    let refused = send(&ours, &file, &line, &["--plain"]);
    refused.expect(4);
    let told = "wst: the peer says: expected --plain off; leave out --plain here, or start the listener with it\n";
    assert!(refused.stderr.ends_with(told), "{}", refused.stderr);
    receiver.signal(Signal::INT);
    receiver.end().expect(130);
    let (receiver, line) = listen(&theirs, &into, &["--plain"]);
    let refused = send(&ours, &file, &line, &[]);
    assert!(refused.stderr.contains("or use --plain here too"), "{}", refused.stderr);
    refused.expect(4);
    assert!(refused.stderr.contains("started with --plain"), "{}", refused.stderr);
    assert!(desk.names().is_empty());
    send(&ours, &file, &line, &["--plain"]).expect(0);
    receiver.end().expect(0);
    desk.arrived();
}

#[test]
fn the_one_who_dials_may_receive() {
    let (desk, ours, theirs) = (Desk::new(1_000_000), KeyOwner::new(), KeyOwner::new());
    run(theirs.wst(&["key", "trust", &ours.key()])).expect(0);
    let file = desk.path("data.bin");
    let sender = Running::start(theirs.wst(&["send", &file, "udp-listen://127.0.0.1:0"]));
    let line = format!("udp://{}", sender.says("listening on "));
    run(ours.wst(&["receive", &line, "--accept-new", "-o", &desk.path("in")])).expect(0);
    sender.end().expect(0);
    desk.arrived();
}

#[test]
fn two_at_once_with_several_files_each() {
    let (desk, ours, theirs) = (Desk::new(2_000_000), KeyOwner::new(), KeyOwner::new());
    run(theirs.wst(&["key", "trust", &ours.key()])).expect(0);
    let (receiver, line) = listen(&theirs, &desk.path("in"), &["--sessions", "2"]);
    let mut senders = Vec::new();
    for index in 0..2_u64 {
        let mut args = vec!["send".to_owned(), "--accept-new".to_owned()];
        for (part, len) in [(0, 700_000), (1, 0), (2, 1), (3, 300_000)] {
            let path = desk.path(&format!("{index}-{part}.bin"));
            std::fs::write(&path, noise(index * 10 + part, len)).expect("a file");
            args.push(path);
        }
        args.push(line.clone());
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        senders.push(Running::start(ours.wst(&args)));
    }
    for sender in senders {
        sender.end().expect(0);
    }
    receiver.end().expect(0);
    assert_eq!(desk.names().len(), 8);
    for name in desk.names() {
        let (there, here) = (desk.path(&format!("in/{name}")), desk.path(&name));
        assert!(std::fs::read(there).expect("it came") == std::fs::read(here).expect("it is here"));
    }
}

#[test]
fn fixed_rates_and_ceilings_hold() {
    for flags in [&["--burst", "10", "--interval", "20ms"][..], &["--max-rate", "8M"]] {
        let (desk, ours, theirs) = (Desk::new(1_000_000), KeyOwner::new(), KeyOwner::new());
        let secret = ours.secret("the shared secret of two");
        let (receiver, line) =
            listen(&theirs, &desk.path("in"), &["--secret-file", &secret, "--datagram", "1400"]);
        let mut all = vec!["--secret-file", &secret, "--datagram", "1400", "--json"];
        all.extend(flags);
        let sent = send(&ours, &desk.path("data.bin"), &line, &all);
        sent.expect(0);
        receiver.end().expect(0);
        desk.arrived();
        let done = sent.events().into_iter().find(|e| e["event"] == "file-done").expect("an event");
        let rate = done["bytes_per_s"].as_f64().expect("a rate");
        // 10 packets of 1376 bytes in 20 ms; a megabyte a second.
        let most = if flags[0] == "--burst" { 688_000.0 } else { 1_000_000.0 };
        assert!(rate < most * 1.1 && rate > most * 0.4, "{flags:?}: {rate}");
    }
}

#[test]
fn a_disk_that_is_full_ends_both_ends() {
    let (desk, ours, theirs) = (Desk::new(3_000_000), KeyOwner::new(), KeyOwner::new());
    run(theirs.wst(&["key", "trust", &ours.key()])).expect(0);
    // A limit of 64 blocks on what may be written; the program is told, not killed.
    let mut limited = Command::new("sh");
    let receive = format!(
        "trap '' XFSZ; ulimit -f 64; exec {WST} receive udp-listen://127.0.0.1:0 -o {}",
        desk.path("in")
    );
    tame(limited.args(["-c", &receive]));
    limited.env("XDG_CONFIG_HOME", theirs.dir.path());
    let receiver = Running::start(limited);
    let line = format!("udp://{}", receiver.says("listening on "));
    let sent = send(&ours, &desk.path("data.bin"), &line, &[]);
    assert_ne!(sent.code(), 0, "{}", sent.stderr);
    let ended = receiver.end();
    assert_ne!(ended.code(), 0, "{}", ended.stderr);
    assert!(!desk.names().contains(&"data.bin".to_owned()), "{:?}", desk.names());
}

#[test]
fn a_transfer_that_was_cut_continues() {
    let (desk, ours, theirs) = (Desk::new(6_000_000), KeyOwner::new(), KeyOwner::new());
    run(theirs.wst(&["key", "trust", &ours.key()])).expect(0);
    let (file, into) = (desk.path("data.bin"), desk.path("in"));
    let (receiver, line) = listen(&theirs, &into, &[]);
    let slow = ["--max-rate", "16M", "--datagram", "1400"];
    let mut args = vec!["send", &file, &line, "-v", "--accept-new"];
    args.extend(slow);
    let sender = Running::start(ours.wst(&args));
    sender.says("data.bin: begins");
    std::thread::sleep(std::time::Duration::from_millis(1500));
    receiver.signal(Signal::INT);
    receiver.end().expect(130);
    assert_ne!(sender.end().code(), 0);
    assert_eq!(desk.names(), ["data.bin.part"]);
    let (receiver, line) = listen(&theirs, &into, &[]);
    let sent = send(&ours, &file, &line, &["--resume", "--json"]);
    sent.expect(0);
    receiver.end().expect(0);
    desk.arrived();
    let end = sent.events().pop().expect("an event");
    let moved = end["stats"]["wire_out_bytes"].as_u64().expect("a count");
    assert!(moved < 5_900_000, "all of it was sent again: {moved}");
}

#[test]
fn what_does_not_fit_is_a_usage_error() {
    let (desk, ours) = (Desk::new(10), KeyOwner::new());
    let file = desk.path("data.bin");
    for (args, say) in [
        (vec!["send", &file, "udp://127.0.0.1:9", "-P", "kermit"], "expected NETBLT on udp://"),
        (vec!["send", &file, "udp://127.0.0.1:9", "--text"], "expected no --text with NETBLT"),
        (vec!["send", &file, "udp://127.0.0.1"], "expected HOST:PORT"),
        (vec!["send", "-P", "netblt", &file, "exec:cat"], "expected udp: or ip:"),
        (vec!["key", "trust", "wst1-12"], "expected a key"),
    ] {
        let ran = run(ours.wst(&args));
        ran.expect(2);
        assert!(ran.stderr.contains(say), "{say}: {}", ran.stderr);
    }
    let absent = run(ours.wst(&["send", &file, "udp://127.0.0.1:9"]));
    absent.expect(3);
    assert!(absent.stderr.contains("nothing listens at that address"), "{}", absent.stderr);
}
