//! Our UUCP and a peer of another mind: `peers/uucp.py`, written from the Taylor UUCP manual alone.
//!
//! The peer's own line can damage, lose, double and delay what it sends and receives, and it can die in
//! every state. Its queue of jobs is treated as the manual says, so that a test sees which jobs an
//! answer of ours has cost it. Where Taylor's `uucico` is installed, the same is tried with it.

use crate::peers;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use peers::{End, Scene, all, material, same, wst};
use serde_json::{Value, json};
use wetstring_testkit::{Within, wait_until, within};

/// One run may take so long on a machine that does much else.
const LIMIT: Duration = Duration::from_secs(100);

/// How many runs are under way at once: most of them wait.
const THREADS: usize = 10;

/// The peer with what it is told, in its own directory.
struct Peer {
    told: PathBuf,
    result: PathBuf,
    dir: PathBuf,
}

impl Peer {
    /// Has `config`, and a directory for its files.
    fn new(scene: &Scene, mut config: Value) -> Self {
        let dir = scene.folder("theirs");
        let (told, result) = (scene.path("peer.json"), scene.path("result.json"));
        config["dir"] = json!(dir);
        config["result"] = json!(result);
        if config.get("limit").is_none() {
            config["limit"] = json!(90);
        }
        fs::write(&told, config.to_string()).expect("its configuration");
        Self { told, result, dir }
    }

    /// The line that runs it.
    fn line(&self) -> String {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python_peers/uucp.py");
        format!("exec:python3 -I -S {} {}", program.display(), self.told.display())
    }

    /// What it says of the conversation, once it has ended.
    fn said(&self) -> Result<Value, String> {
        if within(Duration::from_secs(5), || self.result.exists()) == Within::Late {
            return Err("the peer left no result".to_owned());
        }
        let text = fs::read_to_string(&self.result).map_err(|e| e.to_string())?;
        serde_json::from_str(&text).map_err(|e| e.to_string())
    }
}

/// Runs `wst` with these words, a line and quick timers.
fn run(scene: &Scene, words: &[&str], line: &str) -> Result<End, String> {
    let mut args = vec![words[0], "-P", "uucp-g", "--timeout=1"];
    args.extend(&words[1..]);
    args.push(line);
    scene.start("wst", &mut wst(args))?.wait(LIMIT)
}

/// The text of both ends for a message of failure.
fn told(end: &End, peer: &Peer) -> String {
    let said = peer.said().unwrap_or_default();
    format!("wst: {} {:?}; peer: {} {}", end.code, end.said, said["error"], said["log"])
}

fn expect_code(code: i32, end: &End, peer: &Peer) -> Result<(), String> {
    let what = || format!("expected exit {code}; {}", told(end, peer));
    if end.code == code { Ok(()) } else { Err(what()) }
}

/// Sizes at the borders of packets, and names that are hard on a command of words.
const FILES: &[(&str, usize)] = &[
    ("empty", 0),
    ("one byte.bin", 1),
    ("-dash", 31),
    ("quote\"and'both", 32),
    ("f\u{fc}r.txt", 64),
    ("percent%20&co", 65),
    ("D.0001", 4095),
    (".hidden", 4096),
    ("with#hash~tilde!bang", 4097),
    ("large.bin", 100_000),
];

fn make(scene: &Scene, files: &[(&str, usize)], noisy: bool) -> Vec<PathBuf> {
    let one = |(at, (name, len)): (usize, &(&str, usize))| {
        let mut bytes = material::random(*len, at as u64 + 7);
        // What looks like packets within packets, and the bytes that a terminal would take.
        for (byte, at) in [0x10, 9, 0xA2, 0xAA, 8, 9, 0x11, 0x13].into_iter().zip(64..) {
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
        }
        if noisy {
            // The sum has its second register folded in where a byte is zero, or an addition carries.
            // Without that it misses one flipped bit of thirty in packets of 32 bytes (nearly all of
            // them in the first byte), which no implementation can help; with this one of 10,000.
            bytes.iter_mut().skip(3).step_by(4).for_each(|byte| *byte = 0);
        }
        scene.file(&format!("from/{name}"), &bytes)
    };
    files.iter().enumerate().map(one).collect()
}

fn words(files: &[PathBuf]) -> Vec<String> {
    files.iter().map(|file| file.display().to_string()).collect()
}

/// The peer's jobs for these files.
fn jobs(files: &[PathBuf]) -> Value {
    let name = |file: &PathBuf| file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let job = |file| json!({"path": file, "to": format!("~/{}", name(file)), "spool": true});
    files.iter().map(job).collect()
}

fn arrived(files: &[PathBuf], into: &Path) -> Result<(), String> {
    files.iter().try_for_each(|file| same(file, &into.join(file.file_name().unwrap_or_default())))
}

fn merged(one: Value, two: &Value) -> Value {
    let mut all = one;
    for (key, value) in two.as_object().into_iter().flatten() {
        all[key] = value.clone();
    }
    all
}

/// The peer found nothing against the manual, and ended as it should.
fn content(end: &End, peer: &Peer) -> Result<(), String> {
    let said = peer.said()?;
    let well = said["finished"] == true && said["violations"] == json!([]);
    if well { Ok(()) } else { Err(format!("{}; {}", said["violations"], told(end, peer))) }
}

/// `wst` sends; it calls, or is called.
fn sends(
    calls: bool,
    flags: &[&str],
    files: &[(&str, usize)],
    config: &Value,
) -> Result<(), String> {
    let scene = Scene::new();
    let files = make(&scene, files, config.get("noise").is_some());
    let role = if calls { "answer" } else { "call" };
    let peer = Peer::new(&scene, merged(json!({ "role": role }), config));
    let names = words(&files);
    let mut args = vec!["send", if calls { "--role=call" } else { "--role=answer" }];
    args.extend(flags);
    args.push("--");
    args.extend(names.iter().map(String::as_str));
    let end = run(&scene, &args, &peer.line())?;
    expect_code(0, &end, &peer)?;
    arrived(&files, &peer.dir).map_err(|e| format!("{e}; {}", told(&end, &peer)))?;
    content(&end, &peer)
}

/// `wst` receives; it calls, or is called.
fn receives(
    calls: bool,
    flags: &[&str],
    files: &[(&str, usize)],
    config: &Value,
) -> Result<(), String> {
    let scene = Scene::new();
    let files = make(&scene, files, config.get("noise").is_some());
    let role = if calls { "answer" } else { "call" };
    let config = merged(json!({ "role": role, "sends": jobs(&files) }), config);
    let peer = Peer::new(&scene, config);
    let into = scene.folder("in");
    let output = into.display().to_string();
    let mut args =
        vec!["receive", if calls { "--role=call" } else { "--role=answer" }, "-o", &output];
    args.extend(flags);
    let end = run(&scene, &args, &peer.line())?;
    expect_code(0, &end, &peer)?;
    arrived(&files, &into).map_err(|e| format!("{e}; {}", told(&end, &peer)))?;
    if peer.said()?["queue"] != json!([]) {
        return Err(format!("jobs are left; {}", told(&end, &peer)));
    }
    content(&end, &peer)
}

/// In both directions, each end calling.
#[derive(Debug)]
struct Case {
    sends: bool,
    calls: bool,
    flags: Vec<String>,
    config: Value,
}

fn four(flags: &[&str], config: &Value) -> Vec<Case> {
    let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
    let case = |(sends, calls)| Case { sends, calls, flags: flags.clone(), config: config.clone() };
    [(true, true), (true, false), (false, true), (false, false)].map(case).into()
}

fn every(cases: &[Case], files: &[(&str, usize)]) {
    all(cases, THREADS, |case| {
        let flags: Vec<_> = case.flags.iter().map(String::as_str).collect();
        let go = if case.sends { sends } else { receives };
        go(case.calls, &flags, files, &case.config)
    });
}

/// Whether Python is there.
fn ready() -> bool {
    peers::peer("python3", "python3").is_some()
}

#[test]
fn windows_and_lengths_on_a_clean_line() {
    if !ready() {
        return;
    }
    let shapes: &[(u64, u64, &[&str])] = &[
        (7, 64, &[]),
        (3, 64, &["--window=3", "--packet=64"]),
        (1, 32, &["--window=1", "--packet=4096"]),
        (7, 4096, &["--window=1", "--packet=32"]),
        (2, 1024, &["--window=7", "--packet=256"]),
        (5, 512, &["--window=4", "--packet=2048"]),
    ];
    let case = |shape: &(u64, u64, &[&str])| {
        four(shape.2, &json!({ "window": shape.0, "packet": shape.1 }))
    };
    every(&shapes.iter().flat_map(case).collect::<Vec<_>>(), FILES);
}

/// Late packets only with small windows: a packet that comes when its number is due again is taken for
/// the new one, which is why the protocol is for lines that keep the order.
#[test]
fn bad_lines() {
    if !ready() {
        return;
    }
    let faults = [
        (7, json!({"noise": 0.0003})),
        (3, json!({"noise": 0.001, "packet": 32})),
        (7, json!({"drop": 0.0003})),
        (7, json!({"lose": 0.02})),
        (1, json!({"lose": 0.03, "packet": 512})),
        (7, json!({"double": 0.1})),
        (3, json!({"late": 0.03, "double": 0.03})),
        (2, json!({"late": 0.02, "double": 0.02, "lose": 0.02, "noise": 0.0001, "packet": 128})),
        (4, json!({"lose": 0.01, "noise": 0.0002, "packet": 1024})),
    ];
    let mut cases = Vec::new();
    for (seed, (window, fault)) in faults.iter().enumerate() {
        let config = json!({"window": window, "seed": seed + 1, "timeout": 0.4});
        let flag = format!("--window={window}");
        cases.extend(four(&[&flag, "--packet=128"], &merged(config, fault)));
    }
    every(&cases, &[("a", 0), ("b", 1), ("c", 10_000)]);
}

/// What systems differ in, as the manual tells it.
#[test]
fn manners_of_other_systems() {
    if !ready() {
        return;
    }
    let manners = [
        json!({"name": "", "features": null}),
        json!({"terminator": "\n"}),
        json!({"greeting": "\r\nWelcome to pyuucp\r\nlogin: uucp\r\n"}),
        json!({"features": null, "banner_options": " -R -U0x10000 -x0"}),
        json!({"features": 0o1}),
        json!({"protocols": "Gfgt"}),
        json!({"third_hy": true}),
        json!({"final": "six"}),
        json!({"final": "none"}),
        json!({"final": "noclose"}),
        json!({"short_commands": true}),
        json!({"small_packets": false, "packet": 4096}),
        json!({"ack_every": 3, "window": 3}),
        json!({"piggyback": false, "ack_every": 7}),
        json!({"cym": true}),
        json!({"bare_n": true}),
        json!({"dirty": true, "packet": 256}),
        json!({"ragged": true}),
        json!({"ragged": true, "packet": 4096}),
        json!({"inita_window": 7, "window": 1}),
        json!({"banner_options": " -Q0 -x9 -p0 -vgrade=Z -U0x100"}),
    ];
    let mut cases = Vec::new();
    for (at, manner) in manners.iter().enumerate() {
        // What only a called system says, to a `wst` that calls; of the others half and half.
        let called = ["name", "greeting", "protocols"].iter().any(|key| manner.get(key).is_some());
        let of_these = |case: &Case| {
            if called { case.calls } else { case.calls ^ case.sends == (at % 2 == 0) }
        };
        cases.extend(four(&[], manner).into_iter().filter(of_these));
    }
    // Acknowledgements that come late, towards small windows: what is to be said waits for them.
    for window in ["--window=1", "--window=2"] {
        cases.extend(four(&[window], &json!({"piggyback": false, "ack_every": 7})));
    }
    every(&cases, &[("plain", 0), ("other.bin", 2000)]);
}

/// As caller, the peer takes its time before it answers `Shere`, and takes what comes next for the answer
/// to its own message, as the manual's order has it.
#[test]
fn shere_is_said_once_to_a_slow_caller() {
    if ready() {
        let slow = json!({"wait": 2.5, "strict": true});
        let cases = [true, false].map(|sends| Case {
            sends,
            calls: false,
            flags: Vec::new(),
            config: slow.clone(),
        });
        every(&cases, &[("plain", 10)]);
    }
}

/// What a run with a peer in a certain mood is to come to: exit code, and a word that is said.
type Mood = (Value, i32, &'static str);

fn moods(moods: &[Mood]) {
    if !ready() {
        return;
    }
    all(moods, THREADS, |(config, code, word)| {
        let scene = Scene::new();
        let files = make(&scene, &[("a", 500)], false);
        let peer = Peer::new(&scene, merged(json!({"role": "answer"}), config));
        let end = run(&scene, &["send", &words(&files)[0]], &peer.line())?;
        expect_code(*code, &end, &peer)?;
        if end.said.contains(word) {
            return Ok(());
        }
        Err(format!("expected {word:?}; {}", told(&end, &peer)))
    });
}

/// Each by its own name, with the reason where the manual gives the number one, and the others continue.
#[test]
fn refused_files_are_said_by_their_names() {
    if !ready() {
        return;
    }
    let refused = |numbers: &[&str]| json!({ "answers": numbers });
    let cases = [
        (refused(&["SN2", "SN4", "", "SN6", "SN7", "SN9", "SN10"]), 6),
        (refused(&["SN", "", "SN", "", ""]), 2),
        (json!({"finals": ["CN5", "CY", "CN5", "CN5", "CY"]}), 3),
    ];
    all(&cases, THREADS, |(config, count)| {
        let scene = Scene::new();
        let names = ["a", "b", "c", "d", "e", "f", "g"];
        let files = make(&scene, &names.map(|name| (name, 100)), false);
        let peer = Peer::new(&scene, merged(json!({"role": "answer"}), config));
        let sent = words(&files);
        let args: Vec<_> = std::iter::once("send").chain(sent.iter().map(String::as_str)).collect();
        let end = run(&scene, &args, &peer.line())?;
        expect_code(1, &end, &peer)?;
        let mut wrong = 0;
        for (name, file) in names.iter().zip(&files) {
            let line = end.said.lines().find(|line| line.starts_with(&format!("{name}: refused")));
            let arrived = same(file, &peer.dir.join(name)).is_ok();
            let silent = line.is_some_and(|line| line.contains("no reason"));
            wrong += usize::from(line.is_some() == arrived);
            wrong += usize::from(silent && config["answers"][0] != "SN");
        }
        let lines = end.said.lines().filter(|line| line.contains(": refused")).count();
        if wrong == 0 && lines == *count { Ok(()) } else { Err(told(&end, &peer)) }
    });
}

#[test]
fn refused_calls_are_said() {
    moods(&[
        (json!({"rok": "RLCK"}), 4, "RLCK"),
        (json!({"rok": "RCB"}), 4, "RCB"),
        (json!({"rok": "RBADSEQ"}), 4, "RBADSEQ"),
        (json!({"rok": "RLOGIN"}), 4, "RLOGIN"),
        (json!({"rok": "RYou are unknown to me"}), 4, "You are unknown to me"),
        (json!({"protocols": "ft"}), 4, "ft"),
    ]);
}

/// An end of the peer before its time, in a state, and how.
#[derive(Debug)]
struct Death {
    sends: bool,
    calls: bool,
    state: &'static str,
    how: &'static str,
    code: i32,
}

/// The states in order for `wst send`, and for `wst receive`, as the peer goes through them: those in
/// which files are still to come or to go, and those in which all is done but the parting.
type States = (bool, bool, &'static [&'static str], &'static [&'static str]);

const BEGIN: &[&str] = &["shere", "system", "rok", "protocols", "use", "inita", "initb", "initc"];

const STATES: [States; 4] = [
    (
        true,
        true,
        &["command", "answer", "data", "data:5", "final", "command:2", "final:2"],
        &["h", "hy", "close", "final-handshake"],
    ),
    (
        true,
        false,
        &["h", "role", "command", "answer", "data:5", "final", "command:2", "final:2"],
        &["h:2", "hy", "close", "final-handshake"],
    ),
    (
        false,
        false,
        &["request", "data", "data:5", "eof", "sent", "request:2", "sent:2", "h"],
        &["hy", "close", "final-handshake"],
    ),
    (
        false,
        true,
        &["command", "h", "request", "data:5", "eof", "sent", "request:2", "sent:2", "h:2"],
        &["hy", "close", "final-handshake"],
    ),
];

/// With all the states before the g protocol runs where `begin` says so.
fn deaths(how: &'static str, code: i32, of: &[States], begin: &[States]) -> Vec<Death> {
    let death =
        |states: &States, state, code| Death { sends: states.0, calls: states.1, state, how, code };
    let mut deaths = Vec::new();
    for states in of {
        deaths.extend(states.2.iter().map(|state| death(states, *state, code)));
        deaths.extend(states.3.iter().map(|state| death(states, *state, 0)));
    }
    for states in begin {
        deaths.extend(BEGIN.iter().map(|state| death(states, *state, code)));
    }
    deaths
}

/// The exit code is the one that the README gives, something is said, and no part of a file has the
/// name of the whole.
fn die(death: &Death) -> Result<(), String> {
    let scene = Scene::new();
    let files = make(&scene, &[("one", 900), ("two", 400)], false);
    let role = if death.calls { "answer" } else { "call" };
    let mut config = json!({"role": role, "die": death.state, "how": death.how, "limit": 90});
    if !death.sends {
        config["sends"] = jobs(&files);
    }
    let peer = Peer::new(&scene, config);
    let into = scene.folder("in");
    let (output, names) = (into.display().to_string(), words(&files));
    let mut args = vec![if death.sends { "send" } else { "receive" }];
    args.push(if death.calls { "--role=call" } else { "--role=answer" });
    // Long enough for the start of a peer on a machine that does much else.
    let patience = if BEGIN.contains(&death.state) { "--patience=20" } else { "--patience=60" };
    args.extend(["--retries=2", patience, "--linger=300", "--packet=64"]);
    if death.sends {
        args.extend(names.iter().map(String::as_str));
    } else {
        args.extend(["-o", &output]);
    }
    let end = run(&scene, &args, &peer.line())?;
    let (state, nth) = death.state.split_once(':').unwrap_or((death.state, "1"));
    let states = peer.said()?["states"].as_array().cloned().unwrap_or_default();
    let times = states.iter().filter(|one| **one == state).count();
    if times < nth.parse().unwrap_or(1) {
        return Err(format!("the peer was not in that state; {}", told(&end, &peer)));
    }
    expect_code(death.code, &end, &peer)?;
    if end.code != 0 && !end.said.contains("wst: ") {
        return Err(format!("expected a message; {}", told(&end, &peer)));
    }
    let into = if death.sends { &peer.dir } else { &into };
    for file in &files {
        let there = into.join(file.file_name().unwrap_or_default());
        if there.exists() || (death.code == 0 && death.how != "silent") {
            same(file, &there).map_err(|e| format!("{e}; {}", told(&end, &peer)))?;
        }
    }
    Ok(())
}

#[test]
fn a_peer_that_hangs_up_in_any_state() {
    if ready() {
        all(&deaths("close", 3, &STATES, &STATES[1..3]), THREADS, die);
    }
}

#[test]
fn a_peer_that_closes_the_protocol_in_any_state() {
    if ready() {
        all(&deaths("closepacket", 4, &STATES[1..3], &[]), THREADS, die);
    }
}

#[test]
fn a_peer_that_falls_silent_in_any_state() {
    if ready() {
        all(&deaths("silent", 7, &[STATES[0], STATES[2]], &STATES[..1]), 30, die);
    }
}

/// What `wst receive` cannot keep is not refused for good: the peer's job is still there afterwards.
#[test]
fn what_cannot_be_stored_stays_with_the_peer() {
    if !ready() {
        return;
    }
    // Whether the store fills up, the file's size is not the one that was said, or what comes is not for
    // a directory: the shell that starts `wst`, the request, the exit code.
    let request = |to: &str, size: u32| format!("S first {to} root -C D.0001 0644 \"\" 0x{size:x}");
    let cases = [
        ("trap '' XFSZ; ulimit -f 16;", None, 5),
        ("", Some(request("~/first", 70_000)), 4),
        ("", Some(request("X.peer", 60_000)), 1),
        ("", Some(request("D.peer", 60_000)), 1),
        ("", Some(request("C.peer", 60_000)), 1),
        // Damage has made one word of two.
        ("", Some(request("~/first", 60_000).replacen("S ", "S0", 1)), 1),
    ];
    all(&cases, THREADS, |(shell, request, code)| {
        let scene = Scene::new();
        let files = make(&scene, &[("first", 60_000)], false);
        let mut sends = jobs(&files);
        if let Some(request) = request {
            sends[0]["request"] = json!(request);
        }
        let peer = Peer::new(&scene, json!({"role": "call", "sends": sends}));
        let into = scene.folder("in");
        let (script, line) = (format!("{shell} exec \"$@\""), peer.line());
        let mut command = Command::new("sh");
        command.args(["-c", &script, "sh", peers::WST, "receive", "-P", "uucp-g", "--timeout=1"]);
        command.arg("-o").arg(&into).arg(&line);
        let end = scene.start("wst", &mut command)?.wait(LIMIT)?;
        expect_code(*code, &end, &peer)?;
        let left = peer.said()?["queue"].as_array().map_or(0, Vec::len);
        if left == 1 && !into.join("first").exists() && !into.join("peer").exists() {
            return Ok(());
        }
        Err(format!("{left} jobs are left; {}", told(&end, &peer)))
    });
}

#[test]
fn ctrl_c_closes_the_protocol_and_leaves_the_job() {
    if !ready() {
        return;
    }
    let scene = Scene::new();
    let files = make(&scene, &[("first", 20_000_000)], false);
    let peer = Peer::new(&scene, json!({"role": "call", "sends": jobs(&files)}));
    let into = scene.folder("in");
    // A test harness may have been started with the signal ignored.
    let mut command = Command::new("env");
    command.args(["--default-signal=INT", peers::WST, "receive", "-P", "uucp-g", "-o"]);
    command.arg(&into).arg(peer.line());
    let mut running = scene.start("wst", &mut command).expect("it starts");
    let part = into.join("first.part");
    wait_until("a good deal of the file", || {
        fs::metadata(&part).is_ok_and(|part| part.len() > 100_000)
    });
    running.interrupt();
    let end = running.wait(LIMIT).expect("it ends");
    let said = peer.said().expect("a result");
    let what = told(&end, &peer);
    assert_eq!(end.code, 130, "{what}");
    assert_eq!(said["error"], "the peer closed the protocol", "{what}");
    assert_eq!(said["queue"].as_array().map_or(0, Vec::len), 1, "{what}");
    assert!(!into.join("first").exists(), "{what}");
}

/// Files that the peer has for us when we come to send one.
#[derive(Debug)]
struct Queued {
    calls: bool,
    /// With `-o`, so that they are taken.
    takes: bool,
    config: Value,
}

fn queue(case: &Queued) -> Result<(), String> {
    let scene = Scene::new();
    let ours = make(&scene, &[("ours", 3000)], false);
    let theirs = make(&scene, &[("first", 2000), ("second", 0), ("third", 100)], false);
    let role = if case.calls { "answer" } else { "call" };
    let config = merged(json!({"role": role, "sends": jobs(&theirs)}), &case.config);
    let peer = Peer::new(&scene, config);
    let into = scene.folder("in");
    let (output, names) = (into.display().to_string(), words(&ours));
    let mut args =
        vec!["send", if case.calls { "--role=call" } else { "--role=answer" }, &names[0]];
    if case.takes {
        args.extend(["-o", &output]);
    }
    let end = run(&scene, &args, &peer.line())?;
    let said = peer.said().map_err(|why| format!("{why}; {end:?}"))?;
    let left = said["queue"].as_array().map_or(0, Vec::len);
    let wanted = if case.takes { 0 } else { said["jobs"].as_array().map_or(0, Vec::len) };
    if left != wanted {
        return Err(format!("{left} jobs are left of {}; {}", said["jobs"], told(&end, &peer)));
    }
    // A caller that leaves at the first refusal, as HoneyDanBer's does, has given us no turn.
    if !case.calls && case.config["sn4"] == "drop" && !case.takes {
        let nonzero = end.code != 0 && end.said.contains("ours");
        return if nonzero { Ok(()) } else { Err(told(&end, &peer)) };
    }
    expect_code(0, &end, &peer)?;
    arrived(&ours, &peer.dir)?;
    if case.takes {
        return arrived(&theirs, &into);
    }
    let word = if case.config.get("requests").is_some() { "asks for files" } else { "wst receive" };
    let hint = end.said.lines().filter(|line| line.contains(word)).count();
    let nothing = fs::read_dir(&into).is_ok_and(|mut files| files.next().is_none());
    if hint == 1 && nothing { Ok(()) } else { Err(format!("no hint; {}", told(&end, &peer))) }
}

fn queues(takes: bool) {
    if !ready() {
        return;
    }
    let spooled = json!({});
    // A peer that does not know the numbers of Taylor UUCP, after `SN4` that says H, or drops the line.
    let ways = [
        spooled,
        json!({"sn4": "hangup", "features": null}),
        json!({"sn4": "drop", "features": null, "third_hy": true}),
        json!({"cym": true}),
        json!({"window": 1, "packet": 32, "lose": 0.02, "timeout": 0.4}),
    ];
    let mut cases = Vec::new();
    for config in ways {
        cases.extend([true, false].map(|calls| Queued { calls, takes, config: config.clone() }));
    }
    if !takes {
        let asks = json!({"sends": [], "requests": [{"from": "~/a", "to": "a"}]});
        cases.extend([true, false].map(|calls| Queued { calls, takes, config: asks.clone() }));
    }
    all(&cases, THREADS, queue);
}

#[test]
fn the_jobs_of_the_peer_stay_queued() {
    queues(false);
}

#[test]
fn the_jobs_of_the_peer_are_taken_where_a_directory_is_given() {
    queues(true);
}
