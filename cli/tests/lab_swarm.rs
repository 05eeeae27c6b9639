//! `wst lab swarm`: all protocols, the same sums on any number of cores, and replays.

use crate::common;

use common::{Desk, run, wst};

#[test]
fn every_protocol_is_tried_and_the_sums_are_the_same_twice() {
    let first = run(wst(["lab", "swarm", "--seeds", "40"]));
    first.expect(0);
    let names = [
        "kermit ",
        "xmodem ",
        "xmodem-crc ",
        "xmodem-1k ",
        "ymodem ",
        "ymodem-g ",
        "zmodem ",
        "uucp-g ",
        "netblt ",
        "ncp ",
        "slip ",
    ];
    for name in names {
        assert!(first.stdout.contains(name), "{name}: {}", first.stdout);
    }
    assert_eq!(first.stdout.matches("40 runs: ").count(), names.len(), "{}", first.stdout);
    assert_eq!(first.stdout.matches(", 0 broken;").count(), names.len(), "{}", first.stdout);
    let second = run(wst(["lab", "swarm", "--seeds", "40"]));
    assert_eq!(first.stdout, second.stdout);
    let other = run(wst(["lab", "swarm", "--seeds", "40", "--seed", "1000"]));
    assert_ne!(first.stdout, other.stdout);
}

#[test]
fn one_seed_is_replayed_with_its_trace() {
    let desk = Desk::new(10);
    let mut traces = Vec::new();
    for (name, seed) in [("a", "123"), ("b", "123"), ("c", "124")] {
        let trace = desk.path(name);
        let args = ["lab", "swarm", "--seed", seed, "--protocol", "zmodem", "--trace", &trace];
        let ran = run(wst(args));
        ran.expect(0);
        assert!(ran.stdout.starts_with("zmodem      1 runs: "), "{}", ran.stdout);
        traces.push(std::fs::read_to_string(&trace).unwrap());
    }
    assert!(traces[0].lines().count() > 10);
    assert_eq!(traces[0], traces[1]);
    assert_ne!(traces[0], traces[2]);
    let explained = run(wst(["explain", &desk.path("c")]));
    explained.expect(0);
    assert!(explained.stdout.starts_with("zmodem: "), "{}", explained.stdout);
    let ran = run(wst(["lab", "swarm", "--seed", "1", "--trace", &desk.path("d")]));
    ran.expect(2);
    assert!(
        ran.stderr.contains("expected --protocol and one --seed with --trace"),
        "{}",
        ran.stderr
    );
}

/// The checksum of XMODEM misses some errors, so it shows that the swarm finds one, that a seed is replayed, and what
/// bounds their number. What a swarm with too many of them says is a unit test of `lab::swarm`.
#[test]
fn what_a_check_lets_through_is_found_replayed_and_bounded() {
    let ran = run(wst(["lab", "swarm", "--seeds", "2000", "--protocol", "xmodem", "--json"]));
    ran.expect(0);
    let sums = &ran.events()[0];
    assert_eq!((&sums["event"], &sums["runs"]), (&"protocol".into(), &2000.into()));
    let fooled: Vec<u64> =
        sums["fooled"].as_array().unwrap().iter().filter_map(serde_json::Value::as_u64).collect();
    assert!(fooled.len() >= 2, "{fooled:?}");
    let seed = fooled[0].to_string();
    let ran = run(wst(["lab", "swarm", "--seed", &seed, "--protocol", "xmodem"]));
    ran.expect(0);
    assert!(
        ran.stderr.contains(&format!("seed {seed}: fooled, and no digest was compared: ")),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("picked: line "), "{}", ran.stderr);
    let replay = format!("replay: wst lab swarm --protocol xmodem --seed {seed} --trace FILE");
    assert!(ran.stderr.contains(&replay), "{}", ran.stderr);
    // What the check alone lets through on the same lines bounds it, and both are counted.
    let [alone, most] = ["check_alone", "fooled_at_most"].map(|name| sums[name].as_u64().unwrap());
    assert!(alone >= 2 && most > alone, "{sums}");
    assert!(fooled.len() as u64 <= most, "{sums}");
}

#[test]
fn a_wrong_protocol_is_usage() {
    let ran = run(wst(["lab", "swarm", "--protocol", "uucp"]));
    ran.expect(2);
    assert!(ran.stderr.contains("kermit, xmodem, xmodem-crc"), "{}", ran.stderr);
}
