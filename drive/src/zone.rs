//! Local time (`TZ`, or the system's setting).

use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::sync::OnceLock;

/// Offset of local time from UTC in seconds at a time in seconds since 1970 UTC, including daylight saving.
/// Zero where the system does not know its zone.
pub fn offset_at(utc: i64) -> i32 {
    static ZONE: OnceLock<TimeZone> = OnceLock::new();
    let zone = ZONE.get_or_init(TimeZone::system);
    Timestamp::from_second(utc).map_or(0, |moment| zone.to_offset(moment).seconds())
}

/// Current date and time in UTC, for log lines: `2026-11-21T10:36:06Z`.
pub fn stamp() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Local date and time to the millisecond: `2026-11-21 11:36:06.250`.
pub fn local_stamp() -> String {
    let now = Timestamp::now();
    let local = now.as_second() + i64::from(offset_at(now.as_second()));
    let ms = now.subsec_millisecond();
    Timestamp::from_second(local).map_or_else(
        |_| String::new(),
        |at| format!("{}.{ms:03}", at.strftime("%Y-%m-%d %H:%M:%S")),
    )
}
