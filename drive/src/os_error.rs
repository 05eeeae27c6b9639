//! System errors as text for users.

use std::fmt::Display;

/// The text of an error, without the number that the standard library appends to the system's message: `No such
/// file or directory`, not `No such file or directory (os error 2)`. Every report of an [`std::io::Error`] goes
/// through here, also where it is part of another error.
pub fn in_words(error: &impl Display) -> String {
    const NUMBER: &str = " (os error ";
    let text = error.to_string();
    let mut parts = text.split(NUMBER);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-');
        if let Some(rest) = rest.strip_prefix(')').filter(|_| rest.len() < part.len()) {
            out.push_str(rest);
        } else {
            out.push_str(NUMBER);
            out.push_str(part);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::in_words;
    use std::io;

    #[test]
    fn os_error_numbers_are_omitted() {
        let missing = io::Error::from_raw_os_error(2);
        assert!(missing.to_string().contains("os error"), "{missing}");
        // The words are the system's.
        let text = missing.to_string();
        let words = text.strip_suffix(" (os error 2)").unwrap();
        assert_eq!(in_words(&missing), words);
        let inside = io::Error::other(format!("read a.txt: {missing}; twice: {missing}"));
        assert_eq!(in_words(&inside), format!("read a.txt: {words}; twice: {words}"));
        assert_eq!(in_words(&"a (os error in words)"), "a (os error in words)");
        assert_eq!(in_words(&"own words"), "own words");
    }
}
