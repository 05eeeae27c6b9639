//! Names from a peer: what becomes of them stays below the directory, and patterns end.

use crate::Script;
use wetstring_drive::disk::names::{MAX_DEPTH, MAX_LEN, PathRule, confine};
use wetstring_drive::serve::tree::{matches, patterns, readings, unescaped, words};

/// Parts of names that are meant to escape the directory.
const PARTS: &[&[u8]] = &[
    b"..",
    b".",
    b"/",
    b"\\",
    b"C:",
    b"con",
    b"COM1",
    b"nul.",
    b" ",
    b"\0",
    b"\x9b",
    b"\xc2\x85",
    b"\xe2\x80\xae",
    b"*",
    b"?",
    b"[a-",
    b"]",
    b"{",
    b"}",
    b"\"",
    b"~",
    b".part",
];

/// A name of a script's choice.
fn name(script: &mut Script<'_>) -> Vec<u8> {
    let mut name = Vec::new();
    for _ in 0..script.byte() % 12 {
        match script.byte() % 4 {
            0 => name.extend_from_slice(script.bytes()),
            1 => name.extend(std::iter::repeat_n(script.byte(), usize::from(script.byte()))),
            _ => name.extend_from_slice(script.pick(PARTS)),
        }
    }
    name
}

/// Whether one component of a path is nothing but a name.
fn is_plain(part: &[u8]) -> bool {
    let separators = part.iter().any(|byte| matches!(byte, b'/' | b'\\' | 0..=31 | 127));
    !separators && !part.is_empty() && part != b"." && part != b".." && part.len() <= MAX_LEN
}

/// Names and lists of names. Gives how many were taken.
///
/// # Panics
///
/// If a name leads out of the directory, changes when it is made safe once more, or a list loses a name that
/// is in it alone.
pub fn names(bytes: &[u8]) -> usize {
    let mut script = Script::new(bytes);
    let mut taken = 0;
    while !script.is_over() {
        let wire = name(&mut script);
        for rule in [PathRule::LastOnly, PathRule::Relative] {
            let Ok(safe) = confine(&wire, rule) else { continue };
            taken += 1;
            assert!(is_plain(&safe.name), "{wire:?}: {safe:?}");
            assert!(safe.directories.iter().all(|part| is_plain(part)), "{wire:?}: {safe:?}");
            assert!(safe.directories.len() <= MAX_DEPTH, "{wire:?}");
            assert!(rule == PathRule::Relative || safe.directories.is_empty(), "{wire:?}");
            let again = confine(&safe.name, rule).unwrap_or_else(|bad| panic!("{wire:?}: {bad}"));
            assert_eq!((&again.name, again.rule), (&safe.name, None), "{wire:?}");
        }
        let other = name(&mut script);
        for word in words(&wire) {
            assert!(!word.is_empty());
            for pattern in patterns(word).iter().chain(&readings(word)) {
                matches(pattern, &other, true);
            }
        }
        assert!(unescaped(&wire).len() <= wire.len());
        assert!(matches(b"*", &wire, true), "{wire:?}");
    }
    taken
}
