//! Which edges of the state tables the swarm takes. What it never does (refuse, resume, cancel, run commands, log in)
//! is in the test kit's list, edge by edge with the test that takes it: one that is new must be taken, or listed, and one
//! that is taken is listed no more.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use wetstring_lab::Recorder;
use wetstring_lab::swarm::Kind;
use wetstring_proto::states::Diagram;
use wetstring_protocols::{FAMILIES, Family, Protocol};
use wetstring_testkit::{ELSEWHERE, Taken};

/// Seeds of each kind.
const SEEDS: u64 = 100;

/// The family whose tables the engines of a kind use.
fn family(kind: Kind) -> Option<&'static Family> {
    Protocol::of(kind.name()).map(Protocol::family)
}

/// An edge, and who took it.
type Edge = (String, Taken);

/// Where an edge stands in the table of this engine. The swarm sends files from A to B.
fn position(engine: &str, table: &Diagram, (who, edge): &Edge) -> Option<usize> {
    let does = match engine {
        "sender" | "user" => who == "A",
        "receiver" | "server" => who == "B",
        _ => true,
    };
    edge.position(table).filter(|_| does)
}

/// What the engines of each protocol did, by who did it.
fn taken() -> BTreeMap<&'static str, BTreeSet<Edge>> {
    let mut taken: BTreeMap<&'static str, BTreeSet<Edge>> = BTreeMap::new();
    for kind in Kind::all() {
        let Some(family) = family(kind) else { continue };
        let edges = taken.entry(family.title()).or_default();
        for seed in 0..SEEDS {
            let mut recorder = Recorder::keep();
            // Whether the run is as it should be is for the swarm's own tests to say.
            let _ = kind.one(seed, &mut recorder);
            for line in recorder.lines() {
                let [_, who, "state", from, to, input] = line.split(' ').collect::<Vec<_>>()[..]
                else {
                    continue;
                };
                let [from, input, to] = [from, input, to]
                    .map(|word| word.split_once('=').map_or("", |word| word.1).to_owned());
                edges.insert((who.to_owned(), Taken { from, input, to, by: None }));
            }
        }
    }
    taken
}

#[test]
fn every_edge_is_taken_or_listed() {
    let taken = taken();
    let mut wrong = String::new();
    let tables = || {
        FAMILIES.iter().flat_map(|family| {
            family.states().iter().map(|(engine, table)| (family.title(), *engine, table))
        })
    };
    for (protocol, engine, table) in tables() {
        let taken: BTreeSet<usize> =
            taken[protocol].iter().filter_map(|edge| position(engine, table, edge)).collect();
        for (at, edge) in table.edges.iter().enumerate() {
            let key = format!("{} {}", edge.from, edge.input);
            let is_listed = ELSEWHERE.iter().any(|other| {
                (other.protocol, other.engine) == (protocol, engine)
                    && other.edges.iter().any(|(listed, _)| *listed == key)
            });
            if is_listed == taken.contains(&at) {
                let _ = writeln!(wrong, "    {protocol}, {engine}: {key}");
            }
        }
    }
    assert!(wrong.is_empty(), "taken and listed, or neither:\n{wrong}");
    // An engine's traced edges are in a table of its protocol, as are the ends of sessions.
    for (protocol, edges) in taken {
        let of = || tables().filter(|(name, _, _)| *name == protocol);
        for edge in edges.iter().filter(|(_, edge)| edge.from != "running") {
            let found = of().any(|(_, engine, table)| position(engine, table, edge).is_some());
            assert!(found, "{protocol}: {edge:?}");
        }
    }
}
