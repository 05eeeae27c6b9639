//! Our UUCP and `python_peers/uucp.py`, which hangs up, closes the protocol, or falls silent in any state.

use crate::peers;

use peers::uucp_python::{Peer, THREADS, expect_code, jobs, make, ready, run, told, words};
use peers::{Scene, all, same};
use serde_json::json;

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
