//! Bytes, times and names in readable form.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::time::Duration;
use wetstring_drive::os::files::WINDOWS_NAMES;

/// Text from the peer, safe to show: terminal control characters are escaped.
pub(crate) fn escaped(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' => out.push_str("\\\\"),
                c if acts(c) => out.extend(c.escape_default()),
                c => out.push(c),
            }
        }
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

/// A path on one line, as [`escaped`]; a backslash of Windows is a separator, and stands for itself.
pub(crate) fn shown(path: &OsStr) -> String {
    let text = escaped(path.as_encoded_bytes());
    if WINDOWS_NAMES { text.replace(r"\\", r"\") } else { text }
}

/// Text of several lines from the peer, safe to show: as [`escaped`], but its line ends, tabs and
/// backslashes stay.
pub(crate) fn safe(text: &[u8]) -> String {
    let mut out = String::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        let mut letters = chunk.valid().chars().peekable();
        while let Some(c) = letters.next() {
            match c {
                '\r' if letters.peek() == Some(&'\n') => {}
                c if acts(c) && !matches!(c, '\n' | '\t') => out.extend(c.escape_default()),
                c => out.push(c),
            }
        }
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

/// Whether a character controls a terminal, or changes how other text is displayed.
fn acts(c: char) -> bool {
    let turns =
        matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}');
    c.is_control() || turns || c == '\u{feff}'
}

/// A number of bytes with a unit: `999 B`, `1.5 kB`, `64.0 MB`.
pub(crate) fn size(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["B", "kB", "MB", "GB", "TB"] {
        if value < 999.95 || unit == "TB" {
            return if unit == "B" { format!("{bytes} B") } else { format!("{value:.1} {unit}") };
        }
        value /= 1000.0;
    }
    String::new()
}

/// A rate in bytes per second.
pub(crate) fn rate(bytes_per_s: f64) -> String {
    format!("{}/s", size(bytes_per_s.max(0.0) as u64))
}

/// A time: `0.4 s`, `12 s`, `3:05`, `2:10:00`.
pub(crate) fn time(time: Duration) -> String {
    let s = time.as_secs();
    match s {
        0..=9 => format!("{:.1} s", time.as_secs_f64()),
        10..=59 => format!("{s} s"),
        60..=3599 => format!("{}:{:02}", s / 60, s % 60),
        _ => format!("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60),
    }
}

/// A count with its noun: `1 file`, `3 files`.
pub(crate) fn count(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// `; did you mean X?`, if one of these resembles an unknown word; else empty.
pub(crate) fn did_you_mean<'w>(word: &str, known: impl Iterator<Item = &'w str>) -> String {
    // At most about one letter in three is mistyped.
    let most = word.chars().count() / 3 + 1;
    let near = known.map(|known| (distance(word, known), known)).min();
    match near {
        Some((far, known)) if far <= most => format!("; did you mean {known}?"),
        _ => String::new(),
    }
}

/// Edit distance between two words.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut before = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = before + usize::from(x != *y);
            before = row[j + 1];
            row[j + 1] = change.min(before + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_control_characters_are_escaped() {
        assert_eq!(escaped(b"plain name.txt"), "plain name.txt");
        assert_eq!(escaped("\u{e9}t\u{e9}".as_bytes()), "\u{e9}t\u{e9}");
        assert_eq!(escaped(b"\x1b[2Ja\x07\n"), "\\u{1b}[2Ja\\u{7}\\n");
        assert_eq!(escaped(b"a\xffb"), "a\\xffb");
        assert_eq!(escaped("\u{9b}x\u{202e}y".as_bytes()), "\\u{9b}x\\u{202e}y");
        assert_eq!(escaped(b"\\n"), "\\\\n");
        assert_eq!(safe(b"a\\b\r\n\tc\rd\n"), "a\\b\n\tc\\rd\n");
        assert_eq!(safe("\u{9b}x\u{202e}y\x1b[2J".as_bytes()), "\\u{9b}x\\u{202e}y\\u{1b}[2J");
        assert_eq!(safe(b"\x9b2J \xe9"), "\\x9b2J \\xe9");
    }

    #[test]
    fn similar_words_are_suggested() {
        let known = ["line", "set"];
        let meant = |word: &str| did_you_mean(word, known.into_iter());
        assert_eq!(meant("lien"), "; did you mean line?");
        assert_eq!(meant("sets"), "; did you mean set?");
        assert_eq!(meant("protocol"), "");
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!((distance("", "ab"), distance("ab", "")), (2, 2));
    }

    #[test]
    fn numbers_are_formatted() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(999), "999 B");
        assert_eq!(size(1000), "1.0 kB");
        assert_eq!(size(999_949), "999.9 kB");
        assert_eq!(size(999_960), "1.0 MB");
        assert_eq!(size(67_108_864), "67.1 MB");
        assert_eq!(rate(1500.0), "1.5 kB/s");
        assert_eq!(time(Duration::from_millis(440)), "0.4 s");
        assert_eq!(time(Duration::from_secs(59)), "59 s");
        assert_eq!(time(Duration::from_secs(185)), "3:05");
        assert_eq!(time(Duration::from_secs(7800)), "2:10:00");
        assert_eq!(count(1, "file"), "1 file");
        assert_eq!(count(0, "file"), "0 files");
    }
}
