//! What a transfer has found out about its line is there for the next one: the file in the state directory, what is said
//! of it, and what harms nothing.

use crate::common;

use common::{Desk, Ran, Running, run, wst};
use rustix::process::Signal;
use std::fs;
use std::process::Command;
use std::time::Duration;

/// An error on this line comes every 5,000 bytes or so; it takes a second and a half for the file.
const NOISY: &str = "115200,delay=30ms,ber=2e-5,seed=5";
const LEN: usize = 16_000;

/// Two terminals with a line between them, and a state directory.
struct Bench {
    desk: Desk,
    line: Option<Running>,
}

impl Bench {
    fn new(line: &str) -> Self {
        let bench = Self { desk: Desk::new(LEN), line: None };
        bench.on(line)
    }

    /// The same terminals with another line.
    fn on(mut self, line: &str) -> Self {
        self.hang_up();
        let ends = ["a", "b"].map(|end| format!("pty:{}", self.desk.path(end)));
        let running = Running::start(wst(["line", line, "-a", &ends[0], "-b", &ends[1]]));
        running.says("line ");
        self.line = Some(running);
        self
    }

    fn hang_up(&mut self) {
        if let Some(line) = self.line.take() {
            line.signal(Signal::INT);
            line.end();
        }
    }

    /// The program with a state directory of the test's.
    fn wst(&self, args: &[&str]) -> Command {
        let mut command = wst(args);
        command.env("XDG_STATE_HOME", self.desk.path("state"));
        command
    }

    fn at_a(&self) -> String {
        format!("serial:{}", self.desk.path("a"))
    }

    fn file(&self) -> std::path::PathBuf {
        self.desk.dir.path().join("state/wetstring/lines.toml")
    }

    /// What the file has; empty if there is none.
    fn remembered(&self) -> String {
        fs::read_to_string(self.file()).unwrap_or_default()
    }

    /// Sends the file; what the sender said, in all detail.
    fn send(&self, flags: &[&str]) -> Ran {
        let at_b = format!("serial:{}", self.desk.path("b"));
        let into = self.desk.path("in");
        let replace = ["--set", "store.collision=replace"];
        let receive = ["receive", "-P", "kermit", &at_b, "-o", &into];
        let receiver = Running::start(wst([&receive[..], &replace].concat()));
        let (data, at_a) = (self.desk.path("data.bin"), self.at_a());
        let sent = run(self.wst(&[&["send", "-P", "kermit", "-v", &data, &at_a], flags].concat()));
        sent.expect(0);
        receiver.end().expect(0);
        self.desk.arrived();
        sent
    }

    /// Puts the file to a server; what was said, in all detail.
    fn put(&self) -> Ran {
        let at_b = format!("serial:{}", self.desk.path("b"));
        let into = self.desk.path("in");
        let serve = [
            "serve",
            "--root",
            &into,
            &at_b,
            "--allow",
            "write",
            "--set",
            "store.collision=replace",
        ];
        let server = Running::start(wst(serve));
        let (data, at_a) = (self.desk.path("data.bin"), self.at_a());
        let put = run(self.wst(&["put", "-v", &data, &at_a]));
        put.expect(0);
        server.signal(Signal::INT);
        server.end();
        self.desk.arrived();
        put
    }

    fn show(&self, flags: &[&str]) -> Ran {
        let ran = run(self.wst(&[&["show", "--line", &self.at_a()], flags].concat()));
        ran.expect(0);
        ran
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.hang_up();
    }
}

/// The number after `name = ` in the file.
fn number(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} = ")));
    line.and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("no {name} in {text}"))
}

#[test]
fn a_noisy_line_is_remembered_and_shown_and_used() {
    let bench = Bench::new(NOISY);
    assert_eq!(bench.show(&[]).stdout, format!("nothing is remembered of {}\n", bench.at_a()));
    let first = bench.send(&[]);
    assert!(!first.stderr.contains("remembered of this line"), "{}", first.stderr);
    let text = bench.remembered();
    assert!(text.contains(&format!("[\"{}\"]", bench.at_a())), "{text}");
    // Errors are 5,000 bytes apart on average, and the file has three times that.
    let spacing = number(&text, "error-spacing");
    assert!((800..=20_000).contains(&spacing), "{text}");
    assert!((60..2000).contains(&number(&text, "round-trip-ms")), "{text}");

    let shown = bench.show(&[]);
    let setting = format!("kermit.known-spacing = {spacing}\n");
    assert!(shown.stdout.contains(&setting), "{}", shown.stdout);
    let words = format!("an error in {spacing} bytes");
    assert!(shown.stdout.contains(&words), "{}", shown.stdout);
    let events = bench.show(&["--json"]).events();
    let event = events.iter().find(|event| event["event"] == "remembered").expect("the event");
    assert_eq!(event["error_spacing"], spacing, "{event}");
    assert!(event["age_s"].as_u64().is_some_and(|age| age < 60), "{event}");

    let trace = bench.desk.path("trace");
    let second = bench.send(&["--trace", &trace]);
    assert!(second.stderr.contains(&words), "{}", second.stderr);
    // So that a replay of the trace begins with the same.
    let trace = fs::read_to_string(&trace).expect("the trace");
    assert!(trace.contains(&format!("kermit.known-spacing={spacing}")), "{trace:.2000}");
}

/// What a file that was put to a server has found out helps the next one that is sent, and the other way round.
#[test]
fn what_is_put_to_a_server_is_remembered_too() {
    let bench = Bench::new(NOISY);
    let first = bench.put();
    assert!(!first.stderr.contains("remembered of this line"), "{}", first.stderr);
    number(&bench.remembered(), "error-spacing");
    for again in [bench.put(), bench.send(&[])] {
        assert!(again.stderr.contains("remembered of this line"), "{}", again.stderr);
    }
}

/// The user's own word counts more, and the switch leaves the file as it is.
#[test]
fn what_the_user_sets_stays_and_remembering_can_be_switched_off() {
    let bench = Bench::new(NOISY);
    bench.send(&["--set", "line.remember=off"]);
    assert_eq!(bench.remembered(), "");
    bench.send(&[]);
    let before = bench.remembered();
    assert!(before.contains("error-spacing"), "{before}");
    let off = bench.send(&["--set", "line.remember=off"]);
    assert!(!off.stderr.contains("remembered of this line"), "{}", off.stderr);
    assert_eq!(bench.remembered(), before);
    let trace = bench.desk.path("trace");
    bench.send(&["--set", "kermit.known-spacing=777", "--trace", &trace]);
    let trace = fs::read_to_string(&trace).expect("the trace");
    assert!(trace.contains("kermit.known-spacing=777"), "{trace:.2000}");
}

#[test]
fn a_damaged_file_harms_nothing_and_is_replaced() {
    let bench = Bench::new(NOISY);
    fs::create_dir_all(bench.file().parent().expect("a directory")).expect("it is made");
    let line = format!("[\"{}\"]\n", bench.at_a());
    for damaged in [
        b"\xff\xfe no text".to_vec(),
        b"[\"half".to_vec(),
        format!("{line}at = -1\nerror-spacing = \"x\"\n").into_bytes(),
        format!("{line}at = 9223372036854775807\nerror-spacing = 9223372036854775807\nround-trip-ms = 9223372036854775807\n").into_bytes(),
    ] {
        fs::write(bench.file(), &damaged).expect("it is written");
        bench.show(&[]);
    }
    bench.send(&[]);
    number(&bench.remembered(), "error-spacing");
    // Where no file can be, nothing is remembered, and that is no failure.
    fs::remove_dir_all(bench.desk.path("state")).expect("it is removed");
    fs::write(bench.desk.path("state"), "").expect("a file in the way");
    let sent = bench.send(&[]);
    assert!(sent.stderr.contains("could not remember"), "{}", sent.stderr);
}

/// A line that has become clean is believed to be better each time, and at last nothing is known of its errors.
#[test]
fn a_line_that_became_clean_is_followed() {
    let bench = Bench::new(NOISY);
    bench.send(&[]);
    let noisy = number(&bench.remembered(), "error-spacing");
    let bench = bench.on("115200,delay=30ms");
    bench.send(&[]);
    let clean = number(&bench.remembered(), "error-spacing");
    assert!(clean >= 2 * noisy, "{noisy} became {clean}");
}

#[test]
fn a_line_and_names_of_settings_are_not_shown_together() {
    let ran = run(wst(["show", "--line", "tcp://localhost:1", "window"]));
    ran.expect(2);
}

/// A long block that hardly ever comes through ends a transfer by YMODEM, which is remembered: the next one begins with
/// short blocks. ZMODEM begins with shorter subpackets.
#[test]
fn what_failed_by_ymodem_passes_the_next_time() {
    let bench = Bench::new("115200,ber=5e-4,seed=3");
    let (data, at_a) = (bench.desk.path("data.bin"), bench.at_a());
    let at_b = format!("serial:{}", bench.desk.path("b"));
    let (trace, into) = (bench.desk.path("trace"), bench.desk.path("in"));
    let sent = |protocol: &str| {
        let receives = ["receive", "-P", protocol, &at_b, "-o", &into];
        let replace = ["--set", "store.collision=replace"];
        let receiver = Running::start(wst([&receives[..], &replace].concat()));
        let send = bench.wst(&["send", "-P", protocol, "-v", "--trace", &trace, &data, &at_a]);
        // Each header that is hit costs seconds, and as many are hit as not.
        let sent = Running::start(send).end_within(Duration::from_secs(240));
        receiver.signal(Signal::INT);
        receiver.end();
        sent
    };
    let first = sent("ymodem");
    assert_ne!(first.code(), 0, "{}", first.stderr);
    assert!(bench.remembered().contains("error-spacing"), "{}", bench.remembered());
    let mut done = false;
    for _ in 0..3 {
        let again = sent("ymodem");
        assert!(again.stderr.contains("remembered of this line"), "{}", again.stderr);
        let traced = fs::read_to_string(&trace).expect("a trace");
        assert!(traced.contains("xymodem.known-spacing"), "{traced}");
        done |= again.code() == 0;
    }
    assert!(done, "not one of three came through");
    sent("zmodem");
    let traced = fs::read_to_string(&trace).expect("a trace");
    assert!(traced.contains("zmodem.known-spacing"), "{traced}");
}
