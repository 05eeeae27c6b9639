//! File names in common form: what every system can store (kermit.md §20, C-Kermit's SET FILE NAMES
//! CONVERTED).

/// Writes the common form of the last component of `name` into `out`; returns its length.
///
/// Letters become upper case, `~` a hyphen, a space an underscore, characters that some systems reserve an
/// `X`, and all dots but the last underscores. A name that begins with a dot gets an `X` before it.
pub fn to_common(name: &[u8], out: &mut [u8]) -> usize {
    let leaf = name.rsplit(|byte| *byte == b'/').next().unwrap_or(name);
    let last_dot = leaf.iter().rposition(|byte| *byte == b'.');
    let hidden = leaf.first() == Some(&b'.');
    let prefix = hidden.then_some(b'X');
    let converted = leaf.iter().enumerate().map(|(at, byte)| match byte {
        b'.' if Some(at) == last_dot => b'.',
        b'.' | b' ' => b'_',
        b'~' => b'-',
        b'#' | b'*' | b'?' => b'X',
        byte if byte.is_ascii_control() => b'X',
        byte => byte.to_ascii_uppercase(),
    });
    let mut len = 0;
    for (to, byte) in out.iter_mut().zip(prefix.into_iter().chain(converted)) {
        *to = byte;
        len += 1;
    }
    len
}

/// Turns a name in common form into one that is usual on a system with two cases: lower case,
/// unless it has lower case letters already. In place.
pub fn from_common(name: &mut [u8]) {
    if !name.iter().any(u8::is_ascii_lowercase) {
        name.make_ascii_lowercase();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn common(name: &str) -> std::string::String {
        let mut out = [0; 64];
        let len = to_common(name.as_bytes(), &mut out);
        std::string::String::from_utf8(out[..len].to_vec()).unwrap()
    }

    #[test]
    fn the_digests_rules() {
        for (name, expected) in [
            ("seq.txt", "SEQ.TXT"),
            ("a.b.c", "A_B.C"),
            ("/cli/kermit/seq.txt", "SEQ.TXT"),
            (".profile", "X.PROFILE"),
            ("my file~1#.txt", "MY_FILE-1X.TXT"),
            ("a?b*c\u{7}d", "AXBXCXD"),
            ("", ""),
        ] {
            assert_eq!(common(name), expected);
        }
    }

    #[test]
    fn and_back() {
        for (name, expected) in [("SEQ.TXT", "seq.txt"), ("ReadMe", "ReadMe"), ("A1", "a1")] {
            let mut bytes = name.as_bytes().to_vec();
            from_common(&mut bytes);
            assert_eq!(bytes, expected.as_bytes());
        }
    }
}
