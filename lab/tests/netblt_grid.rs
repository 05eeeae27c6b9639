//! NETBLT where queues are short, behind policers and on paths by chance, beside TCP with CUBIC and QUIC with BBR.
//! What those have stands in `lab/sweeps/results`: they are deterministic, and take long.
//!
//! The ordinary tests run a part of each set. All of it:
//! `WETSTRING_CELLS=all cargo test --release -p wetstring-lab netblt_grid:: -- --nocapture`.

use crate::netblt_cells;

use netblt_cells::{Cell, best, grid, long_queues, make_table, random, table};
use std::collections::BTreeMap;

fn wanted() -> String {
    std::env::var("WETSTRING_CELLS").unwrap_or_default()
}

fn kept(set: &str) -> BTreeMap<String, [u64; 2]> {
    let path = format!("{}/sweeps/results/{set}.tsv", env!("CARGO_MANIFEST_DIR"));
    table(&std::fs::read_to_string(&path).unwrap_or_else(|bad| panic!("{path}: {bad}")))
}

/// `WETSTRING_CELLS=tables` runs the comparators, which takes a while, and writes what they have.
#[test]
fn tables() {
    if wanted() != "tables" {
        return;
    }
    for (name, cells) in [("grid", grid()), ("random", random(1000))] {
        let path = format!("{}/sweeps/results/{name}.tsv", env!("CARGO_MANIFEST_DIR"));
        let made = std::fs::File::create(&path).and_then(|mut file| make_table(&cells, &mut file));
        made.unwrap_or_else(|bad| panic!("{path}: {bad}"));
    }
}

/// `WETSTRING_CELLS=show`, `WETSTRING_ONLY=text`, `WETSTRING_SET=random`: the cells with this text.
#[test]
fn show() {
    if wanted() != "show" {
        return;
    }
    let get = |name: &str, usual: &str| std::env::var(name).unwrap_or(usual.to_owned());
    let (only, set) = (get("WETSTRING_ONLY", "rate="), get("WETSTRING_SET", "grid"));
    let (cells, others) = (if set == "grid" { grid() } else { random(1000) }, kept(&set));
    for cell in cells.iter().filter(|cell| cell.line.contains(&only)) {
        println!("{}: {} beside {}", cell.line, cell.share("netblt"), best(&others, cell));
    }
}

/// `WETSTRING_CELLS=missed`: the cells that `missed.tsv` names, as they are now.
#[test]
fn show_missed() {
    if wanted() != "missed" {
        return;
    }
    let known = missed();
    for (set, cells) in [("grid", grid()), ("random", random(1000))] {
        let others = kept(set);
        for cell in cells.iter().filter(|cell| known.contains_key(&cell.key())) {
            let (was, share, best) =
                (known[&cell.key()], cell.share("netblt"), best(&others, cell));
            println!("{set}\t{}\t{was} -> {share}\tbeside {best}", cell.key());
        }
    }
}

/// The cells that run, and what each has: its share in thousandths, and that of the best comparator.
fn shares(set: &str, cells: Vec<Cell>, every: usize) -> Vec<(Cell, u64, u64)> {
    let others = kept(set);
    let all = wanted() == "all";
    let few = cells.into_iter().enumerate();
    let few = few.filter(|(at, cell)| all || (at % every == every / 2 && cell.packets <= 10_000));
    let share = |(_, cell): (usize, Cell)| {
        let (share, best) = (cell.share("netblt"), best(&others, &cell));
        (cell, share, best)
    };
    few.map(share).collect()
}

/// Cells that miss a bar yet, and what they have: `lab/sweeps/results/missed.tsv` names each of them.
fn missed() -> BTreeMap<String, u64> {
    let path = format!("{}/sweeps/results/missed.tsv", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|bad| panic!("{path}: {bad}"));
    let row = |line: &str| {
        let (key, share) = line.split_once('\t')?;
        Some((key.to_owned(), share.parse().ok()?))
    };
    text.lines().filter(|line| !line.starts_with('#')).filter_map(row).collect()
}

/// Cells that miss a bar: each has to be in the list, with the value there. Returns how many are not.
fn unnamed(what: &str, found: &[(Cell, u64, u64)], is: &dyn Fn(&Cell, u64, u64) -> bool) -> u32 {
    let known = missed();
    let mut worse = 0;
    for (cell, share, best) in found.iter().filter(|(cell, share, best)| is(cell, *share, *best)) {
        let as_known = known.get(&cell.key()).is_some_and(|known| share >= known);
        worse += u32::from(!as_known);
        println!("{what}\t{}\t{share}\t{best}{}", cell.key(), if as_known { "" } else { " *" });
    }
    worse
}

/// All bars are looked at before one of them fails.
fn assert_all_named(worse: &[u32]) {
    let worse: u32 = worse.iter().sum();
    assert_eq!(worse, 0, "cells marked * are not in missed.tsv, or have less than is said there");
}

/// Nine tenths of the best comparator in every cell; three quarters of the path where the file lasts 30 round trips,
/// 85 % where it lasts 100 and has 500 packets.
#[test]
fn short_queues_and_policers_are_filled() {
    let found = shares("grid", grid(), 29);
    println!("{} cells", found.len());
    let short = |cell: &Cell| cell.trips >= 29 && cell.packets < 500;
    let long = |cell: &Cell| cell.trips >= 96 && cell.packets >= 500;
    assert_all_named(&[
        unnamed("under half", &found, &|_, share, best| share * 2 < best),
        unnamed("under 0.9", &found, &|_, share, best| share * 10 < best * 9),
        unnamed("under 0.75", &found, &|cell, share, _| short(cell) && share < 750),
        unnamed("under 0.85", &found, &|cell, share, _| long(cell) && share < 850),
    ]);
}

/// A thousand paths by chance: none under half of the best comparator, nearly all ahead of it or within 3 %.
#[test]
fn paths_by_chance_are_filled() {
    let found = shares("random", random(1000), 19);
    println!("{} paths", found.len());
    assert_all_named(&[
        unnamed("under half", &found, &|_, share, best| share * 2 < best),
        unnamed("behind", &found, &|_, share, best| share * 100 < best * 97),
    ]);
}

/// Slow and quick policers, with small buckets and large ones: the rate is found whatever the first packets tell, and
/// what is repaired at the end does not go by the first rate.
#[test]
fn policers_of_all_kinds_are_filled() {
    let kinds = [
        "rate=640000,delay=300ms,queue=1000p,police=64k,bucket=3000,loss=1%",
        "rate=2560000,delay=1ms,queue=1000p,police=256k,bucket=3000,loss=0%",
        "rate=10000000,delay=10ms,queue=1000p,police=1M,bucket=3000,loss=1%",
        "rate=100000000,delay=10ms,queue=1000p,police=10M,bucket=100000,loss=1%",
        "rate=1000000000,delay=1ms,queue=1000p,police=100M,bucket=100000,loss=1%",
    ];
    let cells = grid();
    for kind in kinds {
        let is = |cell: &&Cell| cell.line == format!("udp over path:{kind}");
        let cell = cells.iter().find(is).expect("a cell of the grid");
        let share = cell.share("netblt");
        assert!(share >= 880, "{kind}: {share}");
    }
}

/// Where some packets in a hundred are lost, the end of a file takes no more round trips than one that loses none.
#[test]
fn the_end_of_a_file_is_repaired_within_a_round_trip_or_two() {
    let share = |loss: &str| {
        let line = format!("udp over path:rate=10M,delay=100ms,queue=170p,loss={loss}");
        Cell::new(line, 10_000_000, 200_000, 30, 500).share("netblt")
    };
    let (none, some) = (share("0%"), share("3%"));
    assert!(some * 100 >= none * 88, "{some} of {none}");
}

/// The queueing delay that NETBLT adds to a path is at most half of what TCP with CUBIC adds: the mean wait of a packet of
/// data in the bottleneck's queue, over a whole file of 100 round trips.
#[test]
fn half_of_the_queueing_delay_of_cubic_is_added_at_most() {
    let mut longer = 0;
    for cell in long_queues() {
        let [ours, cubic] = ["netblt", "tcp-cubic-v1"].map(|name| cell.queueing(name).as_micros());
        println!("{}: {ours} us, CUBIC {cubic} us", cell.line);
        longer += u32::from(ours * 2 > cubic);
    }
    assert_eq!(longer, 0, "paths with more than half of the queueing delay of CUBIC");
}
