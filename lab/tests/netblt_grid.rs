//! NETBLT where queues are short, behind policers and on paths by chance, beside TCP with CUBIC and QUIC with BBR.
//! What those have stands in `lab/sweeps/results`: they are deterministic, and take long.
//!
//! The ordinary tests run a part of each set. All of it:
//! `WETSTRING_CELLS=all cargo test --release -p wetstring-lab --test netblt_grid -- --nocapture`.

mod netblt_cells;

use netblt_cells::{Cell, best, grid, make_table, random, table};
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

/// What is wrong with these, if too many.
fn assert_none(what: &str, bad: &[&(Cell, u64, u64)], most: usize) {
    for (cell, share, best) in bad {
        println!("{what}: {} {} bytes: {share} beside {best}", cell.line, cell.bytes);
    }
    assert!(bad.len() <= most, "{what}: {} cells, at most {most} expected", bad.len());
}

/// Nine tenths of the best comparator in every cell; three quarters of the path where the file lasts 30 round trips,
/// 85 % where it lasts 100 and has 500 packets.
#[test]
fn short_queues_and_policers_are_filled() {
    let found = shares("grid", grid(), 29);
    let bad = |is: &dyn Fn(&Cell, u64, u64) -> bool| -> Vec<&(Cell, u64, u64)> {
        found.iter().filter(|(cell, share, best)| is(cell, *share, *best)).collect()
    };
    println!("{} cells", found.len());
    // Policers whose line is quicker than two packets tell miss the bars yet.
    let few = found.len().div_ceil(50);
    assert_none("under half", &bad(&|_, share, best| share * 2 < best), 0);
    assert_none("under 0.9", &bad(&|_, share, best| share * 10 < best * 9), few);
    let short = |cell: &Cell, share, _| cell.trips >= 29 && cell.packets < 500 && share < 750;
    assert_none("under 0.75", &bad(&short), few);
    let long = |cell: &Cell, share, _| cell.trips >= 96 && cell.packets >= 500 && share < 850;
    assert_none("under 0.85", &bad(&long), few);
}

/// A thousand paths by chance: none under half of the best comparator, nearly all ahead of it or within 3 %.
#[test]
fn paths_by_chance_are_filled() {
    let found = shares("random", random(1000), 19);
    let behind: Vec<_> = found.iter().filter(|(_, share, best)| share * 100 < best * 97).collect();
    let half: Vec<_> = found.iter().filter(|(_, share, best)| share * 2 < *best).collect();
    println!("{} paths, {} behind by more than 3 %", found.len(), behind.len());
    for (cell, share, best) in &behind {
        println!("behind: {} {} bytes: {share} beside {best}", cell.line, cell.bytes);
    }
    assert_none("under half", &half, 0);
    assert_none("behind", &behind, found.len() / 10);
}
