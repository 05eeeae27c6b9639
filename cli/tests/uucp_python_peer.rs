//! Our UUCP and a peer of another mind: `peers/uucp.py`, written from the Taylor UUCP manual alone.
//!
//! The peer's own line can damage, lose, double and delay what it sends and receives, and it can die in
//! every state. Its queue of jobs is treated as the manual says, so that a test sees which jobs an
//! answer of ours has cost it. Where Taylor's `uucico` is installed, the same is tried with it.

use crate::peers;

use std::fs;
use std::process::Command;

use peers::uucp_python::{
    Case, FILES, LIMIT, Peer, THREADS, arrived, every, expect_code, four, jobs, make, merged,
    ready, run, told, words,
};
use peers::{Scene, all, same};
use serde_json::{Value, json};
use wetstring_testkit::wait_until;

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
