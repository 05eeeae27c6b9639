//! Which edges of the state tables the swarm takes. What it never does (refuse, resume, cancel, run commands, log in)
//! is listed here edge by edge: one that is new must be taken, or listed, and one that is taken is listed no more.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use wetstring_lab::Recorder;
use wetstring_lab::swarm::Kind;
use wetstring_proto::states::Diagram;
use wetstring_protocols::{FAMILIES, Family, Protocol};

/// Seeds of each kind.
const SEEDS: u64 = 100;

/// Edges that a run without a user and with a willing store does not take: a state and an input. Of a row for any
/// state (`_`) one edge is enough. Tests of `proto` take those of Kermit, X/YMODEM, ZMODEM, UUCP and the ARPANET, as was
/// measured once, but for some that wait for a test: ZMODEM's command after ZSINIT, and a file that is left while its CRC is asked for and it is not open;
/// UUCP's `CN`; of the ARPANET's accounts all, a name that cannot be said, and a file that is not wanted here.
const ELSEWHERE: &[(&str, &str, &[&str])] = &[
    ("Kermit", "sender", &["Close NoMoreFiles", "_ Failed"]),
    ("Kermit", "receiver", &["_ Failed"]),
    (
        "Kermit",
        "client",
        &["Start Opened", "Info Introduced", "Command Replied", "Command Files", "_ Failed"],
    ),
    ("XMODEM and YMODEM", "sender", &["Next Closed", "Confirm Refused"]),
    (
        "ZMODEM",
        "sender",
        &[
            "Init ReadyForCommand",
            "Attention ReadyForCommand",
            "Next Unusable",
            "File Skipped",
            "Data Skipped",
            "Data Lost",
            "Data GivenUp",
            "Eof Skipped",
            "Skip Left",
            "Command Completed",
            "Close NoMoreFiles",
            "_ Failed",
        ],
    ),
    (
        "ZMODEM",
        "receiver",
        &[
            "Init Refused",
            "Offer File",
            "Offer Unsure",
            "Offer Refused",
            "Offer FileOver",
            "Check File",
            "Check Accepted",
            "Check FileOver",
            "Check LeftUnopened",
            "Skip File",
            "Skip Refused",
            "Skip SkipHeard",
            "Skip Done",
            "Close Refused",
            "_ Failed",
        ],
    ),
    (
        "UUCP",
        "either end",
        &["Next Refused", "Offer Refused", "Confirm Refused", "Slave Refused", "Weigh Refused"],
    ),
    ("UUCP", "packet driver", &["C Data"]),
    (
        "NETBLT",
        "sender",
        &[
            "Waiting Over",
            "Opening Over",
            "Opening GivenUp",
            "Moving Await",
            "Moving Open",
            "Moving GivenUp",
            "Quitting Over",
            "Closing NoMoreFiles",
        ],
    ),
    (
        "NETBLT",
        "receiver",
        &[
            "Offering Await",
            "Offering Dropped",
            "Offering Quit",
            "Moving Dropped",
            "Moving Quit",
            "Checking Dropped",
            "Checking Quit",
            "Checking Await",
            "Checking Open",
            "Leaving File",
            "Quitting Await",
            "Quitting Open",
            "Quitting Dropped",
            "Waiting Begin",
            "Opening Begin",
        ],
    ),
    (
        "FTP over NCP",
        "user",
        &[
            "User Password",
            "User Account",
            "Pass Account",
            "Pass LoggedIn",
            "Acct LoggedIn",
            "Structure Start",
            "Structure NoMoreFiles",
            "Next Start",
            "Next Refused",
            "Start Offered",
            "Start Refused",
            "Start Start",
            "Start NoMoreFiles",
            "Offer Begun",
            "Offer DataOver",
            "Result Start",
            "Result NoMoreFiles",
            "Close Start",
            "Close NoMoreFiles",
        ],
    ),
];

/// The family whose tables the engines of a kind use.
fn family(kind: Kind) -> Option<&'static Family> {
    Protocol::of(kind.name()).map(Protocol::family)
}

/// An edge as a trace has it: who, from, input, to.
type Edge = [String; 4];

/// Where an edge stands in the table of this engine; the trace spells states as the table does, but for capitals.
/// The swarm sends files from A to B.
fn position(engine: &str, table: &Diagram, [who, from, input, to]: &Edge) -> Option<usize> {
    let does = match engine {
        "sender" | "user" => who == "A",
        "receiver" | "server" => who == "B",
        _ => true,
    };
    let is_from = |names: &str| {
        names == "_" || names.split(" | ").any(|name| name.eq_ignore_ascii_case(from))
    };
    table.edges.iter().position(|edge| {
        does && edge.input == input && edge.to.eq_ignore_ascii_case(to) && is_from(edge.from)
    })
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
                let value = |word: &str| word.split_once('=').map_or("", |word| word.1).to_owned();
                edges.insert([who.to_owned(), value(from), value(input), value(to)]);
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
            let key = (protocol, engine, format!("{} {}", edge.from, edge.input));
            let is_listed = ELSEWHERE
                .iter()
                .any(|(p, e, keys)| (*p, *e) == (key.0, key.1) && keys.contains(&&*key.2));
            if is_listed == taken.contains(&at) {
                let _ = writeln!(wrong, "    ({:?}, {:?}, {:?}),", key.0, key.1, key.2);
            }
        }
    }
    assert!(wrong.is_empty(), "taken and listed, or neither:\n{wrong}");
    // An engine's traced edges are in a table of its protocol, as are the ends of sessions.
    for (protocol, edges) in taken {
        let of = || tables().filter(|(name, _, _)| *name == protocol);
        for edge in edges.iter().filter(|edge| edge[1] != "running") {
            let found = of().any(|(_, engine, table)| position(engine, table, edge).is_some());
            assert!(found, "{protocol}: {edge:?}");
        }
    }
}
