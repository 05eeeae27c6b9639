//! Text helpers. A value of the language is bytes, because data on a line is.

/// Whether a byte separates words.
pub(crate) fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t' || byte == b'\n' || byte == b'\r'
}

/// Trims blanks at both ends.
pub(crate) fn trim(text: &[u8]) -> &[u8] {
    trim_end(trim_start(text))
}

/// Trims leading blanks.
pub(crate) fn trim_start(text: &[u8]) -> &[u8] {
    let at = text.iter().position(|b| !is_blank(*b)).unwrap_or(text.len());
    &text[at..]
}

/// Trims trailing blanks.
pub(crate) fn trim_end(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|b| !is_blank(*b)).map_or(0, |at| at + 1);
    &text[..end]
}

/// Removes one pair of braces or quotes around the whole: the first byte and the last.
pub(crate) fn ungroup(text: &[u8]) -> &[u8] {
    match text {
        [b'{', inner @ .., b'}'] | [b'"', inner @ .., b'"'] => inner,
        _ => text,
    }
}

/// For messages.
pub(crate) fn lossy(text: &[u8]) -> String {
    let shown = String::from_utf8_lossy(text);
    let cut: String = shown.chars().take(80).collect();
    if cut.len() < shown.len() { format!("{cut}...") } else { cut }
}

/// In lower case.
pub(crate) fn lower(text: &[u8]) -> Vec<u8> {
    text.to_ascii_lowercase()
}

/// First position of `needle` at or after `from`.
pub(crate) fn find(text: &[u8], needle: &[u8], from: usize) -> Option<usize> {
    if needle.is_empty() || from > text.len() {
        return None;
    }
    text[from..].windows(needle.len()).position(|part| part == needle).map(|at| at + from)
}

/// Where the bracket that opens at `at` closes, if it does. A backslash quotes the next byte.
pub(crate) fn closing(text: &[u8], at: usize) -> Option<usize> {
    let open = *text.get(at)?;
    let close = match open {
        b'(' => b')',
        b'[' => b']',
        b'{' => b'}',
        _ => return None,
    };
    let mut depth = 0usize;
    let mut index = at;
    while index < text.len() {
        let byte = text[index];
        if byte == b'\\' {
            index += 1;
        } else if byte == open {
            depth += 1;
        } else if byte == close {
            depth -= 1;
            if depth == 0 {
                return Some(index);
            }
        }
        index += 1;
    }
    None
}

/// An integer with an optional sign, and nothing else.
pub(crate) fn integer(text: &[u8]) -> Option<i64> {
    let text = trim(text);
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    if digits.is_empty() || digits.len() > 19 {
        return None;
    }
    let mut value = 0i64;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        let digit = i64::from(digit - b'0');
        value = value.checked_mul(10)?.checked_add(digit)?;
    }
    Some(if negative { -value } else { value })
}

/// A number with optional fraction and exponent.
pub(crate) fn float(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(trim(text)).ok()?;
    let plain = |b: u8| b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'+' | b'e' | b'E');
    if text.is_empty() || !text.bytes().all(plain) {
        return None;
    }
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_close() {
        assert_eq!(closing(b"{a{b}c} d", 0), Some(6));
        assert_eq!(closing(b"{a\\}c} d", 0), Some(5));
        assert_eq!(closing(b"(a", 0), None);
    }

    #[test]
    fn integers_parse_only_as_a_whole() {
        assert_eq!(integer(b" -07 "), Some(-7));
        assert_eq!(integer(b"9223372036854775807"), Some(i64::MAX));
        assert_eq!(integer(b"9223372036854775808"), None);
        assert_eq!(integer(b"1.5"), None);
        assert_eq!(integer(b""), None);
        assert_eq!(float(b"1.50"), Some(1.5));
        assert_eq!(float(b"nan"), None);
    }
}
