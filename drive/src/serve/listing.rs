//! Text for a client's screen.

use super::tree::Entry;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// `2026-11-21 10:36:06` in local time.
pub(super) fn date(seconds: i64) -> String {
    let Ok(moment) = Timestamp::from_second(seconds) else { return "-".into() };
    moment.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

fn rights(entry: &Entry) -> String {
    let mut text = String::from(if entry.is_directory { "d" } else { "-" });
    let mode = entry.mode.unwrap_or(0o444);
    for bit in (0..9).rev() {
        text.push(if mode >> bit & 1 == 1 { char::from(b"xwr"[bit % 3]) } else { '-' });
    }
    text
}

/// A line of a directory listing, as C-Kermit writes them: rights, length, date, name.
pub(super) fn line(entry: &Entry, name: &[u8]) -> Vec<u8> {
    let date = entry.modified.map_or_else(|| "-".into(), date);
    let mut line = format!("{}{:>12} {date:<19} ", rights(entry), entry.size).into_bytes();
    // A name with a line end in it must not make another line.
    line.extend(name.iter().map(|byte| if byte.is_ascii_control() { b'?' } else { *byte }));
    if entry.is_directory {
        line.push(b'/');
    }
    line.push(b'\n');
    line
}
