//! Local time, as the person's clock on the wall shows it (`TZ`, or the system's setting).

use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::sync::OnceLock;

/// Seconds that local time is ahead of UTC at a moment, in seconds since 1970 UTC: the summer's in
/// summer. Zero where the system does not tell its zone.
pub fn offset_at(utc: i64) -> i32 {
    static ZONE: OnceLock<TimeZone> = OnceLock::new();
    let zone = ZONE.get_or_init(TimeZone::system);
    Timestamp::from_second(utc).map_or(0, |moment| zone.to_offset(moment).seconds())
}

/// Date and time now, in UTC, for the lines of a log: `2026-11-21T10:36:06Z`.
pub fn stamp() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
