//! Every edge of every state table is taken by some run of the swarm, but for those that are listed, with the test
//! that takes each: an edge that nobody takes is dead, or untested.

use std::collections::{BTreeMap, BTreeSet};
use wetstring_lab::Recorder;
use wetstring_lab::swarm::Kind;
use wetstring_proto::states::{ALL, Diagram};

/// Seeds of each kind.
const SEEDS: u64 = 200;

/// `from input to`, of one protocol.
type Edges = BTreeMap<&'static str, BTreeSet<String>>;

/// The protocol whose tables the engines of a kind use.
fn protocol(kind: Kind) -> Option<&'static str> {
    match kind.name() {
        "kermit" => Some("Kermit"),
        "zmodem" => Some("ZMODEM"),
        "uucp" => Some("UUCP"),
        "netblt" => Some("NETBLT"),
        "ncp" => Some("ARPANET FTP"),
        "slip" => None,
        _ => Some("XMODEM and YMODEM"),
    }
}

fn taken() -> Edges {
    let mut edges = Edges::new();
    for kind in Kind::all() {
        let Some(protocol) = protocol(kind) else { continue };
        let edges = edges.entry(protocol).or_default();
        for seed in 0..SEEDS {
            let mut recorder = Recorder::keep();
            let _ = kind.one(seed, &mut recorder);
            for line in recorder.lines() {
                let mut words = line.split(' ').skip(1);
                let (Some(who), Some("state")) = (words.next(), words.next()) else { continue };
                let word = |key| line.split(' ').find_map(|word| word.strip_prefix(key));
                let word = |key| word(key).unwrap_or_default();
                edges.insert(format!("{who} {} {} {}", word("from="), word("input="), word("to=")));
            }
        }
    }
    edges
}

#[test]
fn show() {
    for (protocol, edges) in taken() {
        for edge in edges {
            println!("{protocol}: {edge}");
        }
    }
}
