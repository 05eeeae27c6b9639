//! Transfers that are killed by signal 9 and started again: a short form of `cargo xtask kill`.

use std::path::Path;

use wetstring_testkit::kill::{Wanted, run};

/// Every protocol, end and state is among them.
const KILLS: usize = 40;

#[test]
fn what_is_killed_and_started_again_is_whole() {
    let kills = run(Path::new(env!("CARGO_BIN_EXE_wst")), &Wanted::new(KILLS, 19));
    let kills = kills.unwrap_or_else(|why| panic!("{why}"));
    assert!(kills >= KILLS, "{kills} hit");
}
