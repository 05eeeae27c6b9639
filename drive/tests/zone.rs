//! Local time, in a zone that is told by `TZ`: the test runs itself again under one.

#[cfg(unix)]
use std::process::Command;
use wetstring_drive::zone::offset_at;

/// 2026-01-15 12:00 and 2026-07-15 12:00 UTC.
const WINTER_AND_SUMMER: [i64; 2] = [1_768_478_400, 1_784_116_800];

#[cfg(unix)]
#[test]
fn the_offset_includes_daylight_saving() {
    for (zone, offsets) in [
        ("America/New_York", [-5 * 3600, -4 * 3600]),
        ("Asia/Kolkata", [19_800, 19_800]),
        ("UTC", [0, 0]),
        // A rule instead of a name, as POSIX has it; west is positive there.
        ("CET-1CEST,M3.5.0,M10.5.0/3", [3600, 7200]),
    ] {
        let again = std::env::current_exe().expect("this program");
        let output = Command::new(again)
            .args(["--exact", "under_this_zone", "--nocapture"])
            .env("TZ", zone)
            .output()
            .expect("it runs again");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains(&format!("offsets {offsets:?}")), "{zone}: {said}");
    }
}

#[test]
fn under_this_zone() {
    println!("offsets {:?}", WINTER_AND_SUMMER.map(offset_at));
    // Dates that no calendar has.
    assert_eq!([i64::MIN, i64::MAX].map(offset_at), [0, 0]);
}
