//! What is said of lines on which others can read along. An address that is not this host's own is one of the
//! network 192.0.2.0/24, which does not exist, or 0.0.0.0, at which everybody may knock.

use crate::common;

use std::io::Write as _;
use std::process::Stdio;

use common::{Desk, Running, run, wst};
use rustix::process::Signal;

fn users(desk: &Desk) -> String {
    let users = desk.path("users");
    let mut add = wst(["users", "add", &users, "anna"]);
    let mut add = add.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    add.stdin.take().expect("its stdin").write_all(b"wonderland\n").expect("it reads");
    assert!(add.wait().expect("it ends").success());
    users
}

#[test]
fn a_server_with_users_that_others_reach_wants_tls_or_plain() {
    let desk = Desk::new(10);
    let (users, root) = (users(&desk), desk.path("in"));
    for line in ["tcp-listen://0.0.0.0:0", "telnet-listen://0.0.0.0:0", "tcp-listen://[::]:0"] {
        let refused = run(wst(["serve", line, "--root", &root, "--users", &users]));
        refused.expect(2);
        for word in ["tls-listen://", "--plain"] {
            assert!(refused.stderr.contains(word), "{line}: {}", refused.stderr);
        }
    }
    for (line, plain, says) in [
        ("tcp-listen://0.0.0.0:0", true, 1),
        ("tcp-listen://127.0.0.1:0", false, 0),
        ("telnet-listen://127.0.0.1:0", false, 0),
    ] {
        let mut args = vec!["serve", line, "--root", &root, "--users", &users, "--json"];
        args.extend(plain.then_some("--plain"));
        let server = Running::start(wst(args));
        server.says("listening on ");
        server.signal(Signal::INT);
        let ended = server.end();
        ended.expect(0);
        let said = ended.stderr.matches("the password and the files pass in clear").count();
        let events = ended.events();
        let events = events.iter().filter(|event| event["event"] == "in-clear");
        assert_eq!((said, events.count()), (says, says), "{line}: {}", ended.stderr);
    }
}

#[test]
fn a_client_is_warned_before_its_password_leaves() {
    let mut get = wst(["get", "--user", "anna", "a", "tcp://0.0.0.0:9", "--json"]);
    get.env("WETSTRING_PASSWORD", "wonderland");
    let ran = run(get);
    // There is no peer: the warning precedes any sending.
    ran.expect(3);
    assert_eq!(
        ran.stderr.matches("the password and the files pass in clear").count(),
        1,
        "{}",
        ran.stderr
    );
    let events = ran.events();
    let event = events.iter().find(|event| event["event"] == "in-clear").expect("an event");
    assert_eq!(event["what"], "password");
    let quiet = run(wst(["get", "--quiet", "--user", "anna", "a", "tcp://0.0.0.0:9"]));
    assert!(!quiet.stderr.contains("in clear"), "{}", quiet.stderr);
    let here = run(wst(["get", "--user", "anna", "a", "tcp://127.0.0.1:9"]));
    assert!(!here.stderr.contains("in clear"), "{}", here.stderr);
}

#[test]
fn files_in_clear_are_one_note() {
    let desk = Desk::new(1000);
    let data = desk.path("data.bin");
    for (line, says) in
        [("tcp://0.0.0.0:9", 1), ("telnet://0.0.0.0:9", 1), ("tcp://127.0.0.1:9", 0)]
    {
        let ran = run(wst(["send", &data, line]));
        ran.expect(3);
        assert_eq!(
            ran.stderr.matches("files pass in clear").count(),
            says,
            "{line}: {}",
            ran.stderr
        );
    }
    let receiver =
        Running::start(wst(["receive", "tcp-listen://0.0.0.0:0", "-o", &desk.path("in")]));
    let at = receiver.says("listening on ");
    let at = at.replace("0.0.0.0", "127.0.0.1");
    run(wst(["send", &data, &format!("tcp://{at}")])).expect(0);
    let received = receiver.end();
    received.expect(0);
    assert_eq!(received.stderr.matches("files pass in clear").count(), 1, "{}", received.stderr);
    desk.arrived();
}

#[test]
fn remote_login_of_a_script_is_warned_too() {
    let desk = Desk::new(10);
    let (users, root) = (users(&desk), desk.path("in"));
    let args = ["serve", "tcp-listen://0.0.0.0:0", "--root", &root, "--users", &users, "--plain"];
    let server = Running::start(wst(args));
    let at = server.says("listening on ");
    let port = at.rsplit(':').next().expect("a port");
    for (host, says) in [("0.0.0.0", 1), ("127.0.0.1", 0)] {
        let script = format!(
            "set host {host} {port} /raw, if fail exit 2, remote login anna wonderland, if fail exit 3, bye, exit 0"
        );
        let ran = run(wst(["kermit", "-C", &script]));
        ran.expect(0);
        let said = ran.stderr.matches("the password and the files pass in clear").count();
        assert_eq!(said, says, "{host}: {}", ran.stderr);
    }
    server.signal(Signal::INT);
    server.end().expect(0);
}
