//! The last line of text among bytes, for a message.

/// Letters and digits of a line that says something.
const LEAST: usize = 4;

/// The last line that says something, without control sequences and unusual characters.
pub fn last_line(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let says = |line: &String| line.chars().filter(|c| c.is_alphanumeric()).count() >= LEAST;
    text.rsplit(['\r', '\n']).map(plain).find(says)
}

/// A line without control sequences and what else is not text.
fn plain(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' && chars.next() == Some('[') {
            // A sequence ends with a letter or the like.
            chars.find(|c| matches!(c, '@'..='~'));
        } else if c.is_alphanumeric() || c.is_ascii_graphic() || c == ' ' {
            out.push(c);
        }
    }
    out.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::last_line;

    #[test]
    fn the_last_line_that_says_something() {
        for (bytes, line) in [
            (&b"first\r\nno such container: c1\r\n"[..], Some("no such container: c1")),
            (b"denied\r\n\x1b[0m\r\n$ ", Some("denied")),
            (b"\x1b[31mdenied\x1b[0m", Some("denied")),
            ("Ger\u{e4}t fehlt, it's \u{202e}gone".as_bytes(), Some("Ger\u{e4}t fehlt, it's gone")),
            (b"\x06\x06C\r\n", None),
            (b"", None),
        ] {
            assert_eq!(last_line(bytes).as_deref(), line);
        }
    }
}
