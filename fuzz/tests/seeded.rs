//! Every body with seeded bytes, and with every file that libFuzzer has found.
//!
//! `WETSTRING_FUZZ=1000000 cargo test -p wetstring-fuzz` runs more; a seed that fails is told, and
//! `WETSTRING_SEED=7` runs it alone.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use wetstring_fuzz::{
    arpanet, bundle, kermit, names, netblt, pair, script, session, slip, talk, telnet, trzsz,
};
use wetstring_proto::stats::Stats;
use wetstring_protocols::Protocol;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Bytes of a seed: mostly small values, as scripts are of small choices.
fn bytes(seed: u64) -> Vec<u8> {
    let mut numbers = wetstring_testkit::Star(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut next = || numbers.next() >> 24;
    let len = next() % 1500;
    let kind = next() % 3;
    (0..len)
        .map(|_| {
            let value = next();
            match kind {
                0 => value as u8,
                _ if value % 5 == 0 => (value >> 8) as u8,
                _ => (value >> 8) as u8 % 24,
            }
        })
        .collect()
}

fn body<T>(name: &str, count: u64, run: impl Fn(&[u8]) -> T) -> Vec<T> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    files.sort();
    for path in &files {
        let bytes = std::fs::read(path).expect("a file of the corpus");
        let ran = catch_unwind(AssertUnwindSafe(|| run(&bytes)));
        assert!(ran.is_ok(), "{name}: {}", path.display());
    }
    let only = number("WETSTRING_SEED");
    let count = number("WETSTRING_FUZZ").unwrap_or(count);
    let seeds = only.map_or(0..count, |seed| seed..seed + 1);
    let one = |seed: u64| {
        let ran = catch_unwind(AssertUnwindSafe(|| run(&bytes(seed))));
        ran.unwrap_or_else(|_| panic!("{name}: WETSTRING_SEED={seed}"))
    };
    seeds.map(one).collect()
}

/// Whether all seeds ran, so that what they reach can be judged.
fn is_whole() -> bool {
    number("WETSTRING_SEED").is_none() && number("WETSTRING_FUZZ").is_none_or(|count| count > 1000)
}

#[test]
fn netblt_packet() {
    body("netblt-packet", 20_000, netblt::packet);
}

#[test]
fn netblt_engine() {
    let reached = body("netblt-engine", 20_000, netblt::engine);
    let count = |what: fn(&Stats) -> u64| reached.iter().filter(|stats| what(stats) > 0).count();
    let data = count(|stats| stats.file_bytes);
    let (done, again) =
        (count(|stats| stats.files_done), count(|stats| stats.naks_in + stats.naks_out));
    println!(
        "{} scripts: {data} moved data, {again} asked again, {done} ended a file",
        reached.len()
    );
    if is_whole() {
        assert!(data > 100 && again > 20, "{data} {again}");
    }
}

#[test]
fn netblt_session() {
    let came = body("netblt-session", 4000, talk::session);
    let count = |what: fn(&Stats) -> bool| came.iter().filter(|stats| what(stats)).count();
    let (done, several) =
        (count(|stats| stats.files_done > 0), count(|stats| stats.files_done > 1));
    let again = count(|stats| stats.naks_out > 0);
    println!(
        "{} sessions: {done} ended a file, {several} several, {again} asked again",
        came.len()
    );
    if is_whole() {
        assert!(done * 2 > came.len() && several > 100 && again > 100, "{done} {several} {again}");
    }
}

#[test]
fn session_gate() {
    let inside = body("session-gate", 400, session::gate);
    let count = inside.iter().filter(|inside| **inside).count();
    println!("{} scripts, the true peer got in in {count}", inside.len());
    assert!(!is_whole() || count > 20, "{count}");
}

#[test]
fn session_gate_by_code() {
    let inside = body("session-gate-by-code", 400, session::gate_by_code);
    let count = inside.iter().filter(|inside| **inside).count();
    println!("{} scripts, the true peer got in in {count}", inside.len());
    assert!(!is_whole() || count > 20, "{count}");
}

#[test]
fn session_dialler() {
    body("session-dialler", 1000, session::dialler);
    body("session-dialler-by-code", 300, session::dialler_by_code);
}

#[test]
fn slip_lines() {
    let all = body("slip-link", 20_000, slip::link);
    if is_whole() {
        let sum = |of: fn(&slip::Seen) -> u64| all.iter().map(of).sum::<u64>();
        let reached = [sum(|s| s.came - s.after_damage), sum(|s| s.after_damage)];
        let more = [sum(|s| s.compressed), sum(|s| s.refused)];
        assert!(reached.iter().chain(&more).all(|count| *count > 1000), "{reached:?} {more:?}");
    }
}

#[test]
fn script_lines() {
    body("script-lines", 5000, script::lines);
}

#[test]
fn script_run() {
    let said = body("script-run", 1500, script::run);
    let some = said.iter().filter(|said| **said > 5).count();
    println!("{} scripts, {some} said something", said.len());
    assert!(!is_whole() || some > 100, "{some}");
}

#[test]
fn arpanet_leader() {
    body("arpanet-leader", 20_000, arpanet::leader);
}

#[test]
fn arpanet_ncp() {
    let reached = body("arpanet-ncp", 20_000, arpanet::ncp);
    let data = reached.iter().filter(|count| **count > 0).count();
    println!("{} scripts: {data} took data", reached.len());
    if is_whole() {
        assert!(data > 20, "the scripts get far enough: {data}");
    }
}

#[test]
fn arpanet_reply() {
    body("arpanet-reply", 20_000, arpanet::reply);
}

#[test]
fn names_of_a_peer() {
    let taken = body("names", 5000, names::names);
    assert!(!is_whole() || taken.iter().sum::<usize>() > 10_000);
}

#[test]
fn telnet_talk() {
    let reached = body("telnet-talk", 20_000, telnet::talk);
    let some = reached.iter().filter(|count| **count > 0).count();
    println!("{} scripts: {some} agreed on something", reached.len());
    if is_whole() {
        assert!(some > 100, "the scripts get far enough: {some}");
    }
}

#[test]
fn kermit_command() {
    let read = body("kermit-command", 50_000, kermit::command);
    assert!(!is_whole() || read.iter().sum::<u64>() > 1000);
}

#[test]
fn kermit_server() {
    let asked = body("kermit-server", 5000, kermit::server);
    let some = asked.iter().filter(|count| **count > 3).count();
    println!("{} scripts: {some} had the store asked", asked.len());
    assert!(!is_whole() || some > 200, "the scripts get far enough: {some}");
}

#[test]
fn kermit_bundle() {
    let came = body("kermit-bundle", 5000, bundle::receiver);
    let count = |what: fn(&Stats) -> u64| came.iter().filter(|stats| what(stats) > 0).count();
    let (unpacked, known) = (count(|stats| stats.unpacked_bytes), count(|stats| stats.known_bytes));
    println!("{} scripts: {unpacked} undid frames, {known} took blocks", came.len());
    if is_whole() {
        assert!(unpacked > 500 && known > 20, "the scripts get far enough: {unpacked} {known}");
    }
}

/// A pair of engines: enough of its scripts move files in spite of what they do.
fn pairs(name: &str, run: fn(&[u8]) -> pair::PairResult) -> Vec<pair::PairResult> {
    let came = body(name, 3000, run);
    let whole = came.iter().filter(|came| came.whole > 0).count();
    let both = came.iter().filter(|came| came.whole > 0 && came.forged > 0).count();
    println!("{} scripts: {whole} had a whole file, {both} with forged packets", came.len());
    assert!(!is_whole() || whole > 200 && both > 20, "the scripts get far enough: {whole} {both}");
    came
}

#[test]
fn every_protocol_of_the_list_by_its_defaults() {
    for protocol in Protocol::of_bytes() {
        let came = body(protocol.name, 300, |bytes| pair::any(protocol, bytes));
        let whole = came.iter().filter(|came| came.whole > 0).count();
        assert!(!is_whole() || whole > 20, "{protocol:?}: {whole}");
    }
}

#[test]
fn kermit_pair() {
    let came = pairs("kermit-pair", pair::kermit);
    let packed = came.iter().filter(|came| came.packed).count();
    let known = came.iter().filter(|came| came.known).count();
    println!("{packed} had compressed frames, {known} blocks of an older version");
    assert!(!is_whole() || packed > 200 && known > 50, "{packed} {known}");
}

#[test]
fn xymodem_pair() {
    pairs("xymodem-pair", pair::xymodem);
}

#[test]
fn zmodem_pair() {
    let came = pairs("zmodem-pair", pair::zmodem);
    let packed = came.iter().filter(|came| came.packed).count();
    println!("{packed} had compressed frames");
    assert!(!is_whole() || packed > 150, "{packed}");
}

#[test]
fn uucp_pair() {
    pairs("uucp-pair", pair::uucp);
}

#[test]
fn trzsz_talk() {
    let reached = body("trzsz-talk", 8000, trzsz::talk);
    let files = reached.iter().filter(|stats| stats.files_done > 0).count();
    let bytes = reached.iter().filter(|stats| stats.file_bytes > 0).count();
    println!("{} scripts: {bytes} moved data, {files} ended a file", reached.len());
    if is_whole() {
        assert!(bytes > 100 && files > 100, "{bytes} {files}");
    }
}
