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

/// These miss a bar: each has to be one of those that are named, and to have what is said there.
fn assert_named(what: &str, found: &[(Cell, u64, u64)], is: &dyn Fn(&Cell, u64, u64) -> bool) {
    let known = missed();
    let mut worse = 0;
    for (cell, share, best) in found.iter().filter(|(cell, share, best)| is(cell, *share, *best)) {
        let as_known = known.get(&cell.key()).is_some_and(|known| share >= known);
        worse += u32::from(!as_known);
        println!("{what}\t{}\t{share}\t{best}{}", cell.key(), if as_known { "" } else { " *" });
    }
    assert_eq!(
        worse, 0,
        "{what}: cells that are not in missed.tsv, or have less than is said there"
    );
}

/// Nine tenths of the best comparator in every cell; three quarters of the path where the file lasts 30 round trips,
/// 85 % where it lasts 100 and has 500 packets.
#[test]
fn short_queues_and_policers_are_filled() {
    let found = shares("grid", grid(), 29);
    println!("{} cells", found.len());
    assert_named("under half", &found, &|_, share, best| share * 2 < best);
    assert_named("under 0.9", &found, &|_, share, best| share * 10 < best * 9);
    assert_named("under 0.75", &found, &|cell, share, _| {
        cell.trips >= 29 && cell.packets < 500 && share < 750
    });
    assert_named("under 0.85", &found, &|cell, share, _| {
        cell.trips >= 96 && cell.packets >= 500 && share < 850
    });
}

/// A thousand paths by chance: none under half of the best comparator, nearly all ahead of it or within 3 %.
#[test]
fn paths_by_chance_are_filled() {
    let found = shares("random", random(1000), 19);
    println!("{} paths", found.len());
    assert_named("under half", &found, &|_, share, best| share * 2 < best);
    assert_named("behind", &found, &|_, share, best| share * 100 < best * 97);
}
