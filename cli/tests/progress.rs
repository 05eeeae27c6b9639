//! What is shown of a transfer on its way is what has arrived, not what the kernel has taken; and what is
//! said while the peer is awaited.

use crate::common;

use std::os::unix::fs::PermissionsExt;

use common::{Desk, Running, noise, run, wst};

/// Characters per second of the line.
const CARRIES: f64 = 1920.0;

/// Sends a file over a line of 19200 bit/s between two PTYs, whose own rates say nothing.
fn slow(protocol: &str, more: &[&str]) -> Vec<serde_json::Value> {
    let dir = tempfile::tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name).to_str().expect("UTF-8").to_owned();
    let bytes = noise(7, 10_000);
    std::fs::write(path("f.bin"), &bytes).expect("the file");
    let (a, b) = (path("a"), path("b"));
    let ends = [format!("pty:{a}"), format!("pty:{b}")];
    let line = Running::start(wst(["line", "19200", "-a", &ends[0], "-b", &ends[1]]));
    line.says("end A: ");
    line.says("end B: ");
    let at = format!("serial:{b}?baud=300");
    let mut words = vec!["receive", &at, "-P", protocol];
    let out = path("out.bin");
    words.extend(["-o", dir.path().to_str().expect("UTF-8"), "--as", "out.bin"]);
    let receiver = Running::start(wst(&words));
    receiver.says("opened ");
    let file = path("f.bin");
    let at = format!("serial:{a}?baud=300");
    let words = [&["send", &file, &at, "-P", protocol, "--json"], more].concat();
    let sent = run(wst(&words));
    receiver.end().expect(0);
    line.signal(rustix::process::Signal::INT);
    line.end();
    sent.expect(0);
    assert!(std::fs::read(out).expect("the file arrived").starts_with(&bytes));
    sent.events()
}

#[test]
fn progress_is_what_the_line_can_have_carried() {
    let cases: [(&str, &[&str]); 4] =
        [("kermit", &[]), ("xmodem-1k", &[]), ("ymodem", &[]), ("zmodem", &[])];
    std::thread::scope(|scope| {
        for (protocol, more) in cases {
            scope.spawn(move || {
                let events = slow(protocol, more);
                let mut seen = 0;
                for event in events.iter().filter(|event| event["event"] == "progress") {
                    let number = |name: &str| event[name].as_f64().expect("a number");
                    let most = number("elapsed_s") * CARRIES * 1.1 + 3000.0;
                    assert!(number("bytes") <= most, "{protocol}: {event} with at most {most}");
                    assert!(event["efficiency"].is_null(), "{protocol}: {event}");
                    seen += usize::from(number("bytes") > 0.0);
                }
                assert!(seen > 5, "{protocol}: {seen} with anything");
                let done = events.iter().find(|event| event["event"] == "file-done");
                assert!(done.expect("the file is done")["efficiency"].is_null());
            });
        }
    });
}

/// What is on its way over a long path is not there: at each moment at most what left a round trip ago.
#[test]
fn progress_of_netblt_is_what_is_acknowledged() {
    let desk = Desk::new(400_000);
    let secret = desk.path("secret");
    std::fs::write(&secret, "a secret that is long enough\n").expect("the secret");
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600)).expect("its mode");
    let with_secret = |words: &[&str]| wst([words, &["--secret-file", &secret]].concat());
    let into = desk.path("in");
    let receiver =
        Running::start(with_secret(&["receive", "udp-listen://127.0.0.1:0", "-o", &into]));
    let to = format!("udp://{}", receiver.says("listening on "));
    let path = "path:rate=1M,delay=500ms,mtu=1400,queue=1M";
    let relay = Running::start(wst(["line", path, "-a", "udp-listen://127.0.0.1:0", "-b", &to]));
    let line = format!("udp://{}", relay.says("end A: listening on "));
    let sent = run(with_secret(&["send", &desk.path("data.bin"), &line, "--json"]));
    sent.expect(0);
    receiver.end().expect(0);
    relay.signal(rustix::process::Signal::INT);
    relay.end();
    desk.arrived();
    let events = sent.events();
    let number = |event: &serde_json::Value, name: &str| event[name].as_f64().expect("a number");
    let done = events.iter().find(|event| event["event"] == "file-done").expect("it is done");
    let done = number(done, "elapsed_s");
    let mut seen = 0;
    for event in events.iter().filter(|event| event["event"] == "progress") {
        let at = number(event, "elapsed_s");
        // 125,000 bytes a second, and a round trip of one until the first is known of.
        let most = (at - 1.0).max(0.0) * 125_000.0 + 2000.0;
        assert!(number(event, "bytes") <= most, "{event} with at most {most}");
        // The last packet left a second before its acknowledgement came.
        let is_over = number(event, "bytes") >= 400_000.0;
        assert!(!is_over || at > done - 0.3, "{event}, done at {done} s");
        seen += usize::from(number(event, "bytes") > 0.0);
    }
    assert!(seen > 3, "{seen} with anything");
}

#[test]
fn a_wait_is_said_at_once_counted_and_what_to_check_is_said() {
    std::thread::scope(|scope| {
        for protocol in ["kermit", "xmodem", "zmodem", "uucp-g"] {
            scope.spawn(move || {
                let words = ["receive", "exec:exec sleep 40", "-P", protocol, "--as", "x"];
                let running = Running::start(wst(words));
                let said = running.says("opened exec:exec sleep 40; waiting for ");
                let title = if protocol == "uucp-g" { "UUCP" } else { &protocol.to_uppercase() };
                assert!(said.to_uppercase().contains(title), "{protocol}: {said}");
                let check = running.says("nothing usable received for 5 s; ");
                assert!(check.contains("command"), "{protocol}: {check}");
                assert!(running.says("still waiting for ").ends_with("10 s"), "{protocol}");
                running.signal(rustix::process::Signal::INT);
                assert_eq!(running.end().code(), 130, "{protocol}");
            });
        }
    });
}
