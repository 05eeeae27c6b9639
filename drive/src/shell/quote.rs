//! Names in commands.

use std::fmt::Write as _;

/// Bytes of a name in one command: in octal they take four times as many.
const PART: usize = 40;

/// Bytes that mean nothing to a shell or a terminal.
const fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'/' | b'_' | b'-' | b'+' | b',' | b'=')
}

/// A path that no tool takes for an option.
pub(super) fn path(name: &[u8]) -> Vec<u8> {
    if name.starts_with(b"/") { name.to_vec() } else { [b"./", name].concat() }
}

/// Commands, each a short line, that set a variable to these bytes. Bytes that a shell or a terminal may act on are
/// in octal: no quoting of a shell keeps Ctrl-C, a newline or a character of eight bits from the terminal before it.
pub(super) fn assign(variable: &str, bytes: &[u8]) -> Vec<String> {
    let mut all = vec![format!("{variable}=")];
    for part in bytes.chunks(PART) {
        if part.iter().all(|byte| is_plain(*byte)) {
            all.push(format!("{variable}=${variable}{}", String::from_utf8_lossy(part)));
            continue;
        }
        let mut octal = String::new();
        for byte in part {
            // Writing to a string cannot fail.
            let _ = write!(octal, "\\{byte:03o}");
        }
        // The dot keeps newlines at the end, which the shell would drop.
        all.push(format!("q=$(printf '{octal}.');{variable}=${variable}${{q%.}}"));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_neither_options_nor_commands() {
        assert_eq!(path(b"-rf"), b"./-rf");
        assert_eq!(path(b"/tmp/a"), b"/tmp/a");
        assert_eq!(assign("n", b"./a.bin"), ["n=", "n=$n./a.bin"]);
        assert_eq!(assign("n", b"a'b\n"), ["n=", "q=$(printf '\\141\\047\\142\\012.');n=$n${q%.}"]);
        let every: Vec<u8> = (1..=255).collect();
        for line in assign("n", &every) {
            assert!(line.len() < 240 && line.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
        }
    }
}
