//! Transfers that are killed by signal 9 and started again: a short form of `cargo xtask kill`.

#[path = "../../xtask/src/kill/mod.rs"]
#[allow(dead_code, reason = "the chore reads a command line too")]
mod chore;

use std::path::Path;

use chore::{Wanted, run};

/// Every protocol, end and state is among them.
const KILLS: usize = 40;

#[test]
fn what_is_killed_and_started_again_is_whole() {
    let wanted = Wanted { kills: KILLS, seed: 19, only: None, case: None };
    let kills = run(Path::new(env!("CARGO_BIN_EXE_wst")), &wanted);
    let kills = kills.unwrap_or_else(|why| panic!("{why}"));
    assert!(kills >= KILLS, "{kills} hit");
}
