//! Wildcards: `*`, `?`, `[a-z]`, `[^a-z]`, `{this,that}`, and a backslash as quote.

/// Maximum alternatives tried per pattern, so that every match terminates.
const MOST_TRIES: usize = 200_000;
/// Maximum nesting of alternatives.
const DEPTH: usize = 40;

/// Work done so far.
#[derive(Default)]
struct Effort {
    tries: usize,
    depth: usize,
}

/// Whether a whole text matches a pattern.
pub(crate) fn matches(pattern: &[u8], text: &[u8], case: bool) -> bool {
    let mut tries = Effort::default();
    fits(pattern, text, case, &mut tries)
}

/// Where a pattern first matches, at or after `from`, and the length of the shortest match; a trailing `*`
/// takes the rest.
pub(crate) fn search(
    pattern: &[u8],
    text: &[u8],
    from: usize,
    case: bool,
) -> Option<(usize, usize)> {
    let mut tries = Effort::default();
    let (pattern, starts) = match pattern {
        [b'^', rest @ ..] => (rest, from..=from.min(text.len())),
        _ => (pattern, from..=text.len()),
    };
    let (pattern, at_end) = match pattern {
        [rest @ .., b'$'] => (rest, true),
        _ => (pattern, false),
    };
    for start in starts {
        let ends = if at_end { text.len()..=text.len() } else { start..=text.len() };
        for end in ends {
            if end >= start && fits(pattern, &text[start..end], case, &mut tries) {
                return Some((start, end - start));
            }
        }
    }
    None
}

fn same(a: u8, b: u8, case: bool) -> bool {
    if case { a == b } else { a.eq_ignore_ascii_case(&b) }
}

fn fits(pattern: &[u8], text: &[u8], case: bool, tries: &mut Effort) -> bool {
    let (mut p, mut t) = (0, 0);
    // Where to continue if a star has to take one byte more.
    let mut star: Option<(usize, usize)> = None;
    loop {
        tries.tries += 1;
        if tries.tries > MOST_TRIES || tries.depth > DEPTH {
            return false;
        }
        if p == pattern.len() && t == text.len() {
            return true;
        }
        if pattern.get(p) == Some(&b'*') {
            star = Some((p + 1, t));
            p += 1;
            continue;
        }
        if let Some(close) = alternatives(pattern, p) {
            let rest = &pattern[close + 1..];
            tries.depth += 1;
            let found = split(&pattern[p + 1..close]).into_iter().any(|part| {
                let whole = [part, rest].concat();
                fits(&whole, &text[t..], case, tries)
            });
            tries.depth -= 1;
            if found {
                return true;
            }
        } else if let Some(len) = one(pattern, p, text.get(t).copied(), case) {
            p += len;
            t += 1;
            continue;
        }
        match &mut star {
            Some((after, taken)) if *taken < text.len() => {
                *taken += 1;
                p = *after;
                t = *taken;
            }
            _ => return false,
        }
    }
}

/// Whether the element of the pattern at `p` matches a byte, and the length of the element.
fn one(pattern: &[u8], p: usize, byte: Option<u8>, case: bool) -> Option<usize> {
    let byte = byte?;
    match *pattern.get(p)? {
        b'?' => Some(1),
        b'\\' if p + 1 < pattern.len() => same(pattern[p + 1], byte, case).then_some(2),
        b'[' => {
            let close = pattern[p + 1..].iter().skip(1).position(|b| *b == b']')? + p + 2;
            let inside = &pattern[p + 1..close];
            let (not, set) = match inside {
                [b'^', rest @ ..] => (true, rest),
                _ => (false, inside),
            };
            (in_set(set, byte, case) != not).then_some(close + 1 - p)
        }
        literal => same(literal, byte, case).then_some(1),
    }
}

fn in_set(set: &[u8], byte: u8, case: bool) -> bool {
    let within = |low: u8, high: u8, b: u8| (low..=high).contains(&b);
    let mut index = 0;
    while index < set.len() {
        let low = set[index];
        let high = match set.get(index + 1..index + 3) {
            Some([b'-', high]) => {
                index += 2;
                *high
            }
            _ => low,
        };
        index += 1;
        let folded = !case
            && (within(low, high, byte.to_ascii_lowercase())
                || within(low, high, byte.to_ascii_uppercase()));
        if folded || within(low, high, byte) {
            return true;
        }
    }
    false
}

/// Where the brace at `p` closes, if it holds a list.
fn alternatives(pattern: &[u8], p: usize) -> Option<usize> {
    if pattern.get(p) == Some(&b'{') { crate::text::closing(pattern, p) } else { None }
}

fn split(text: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    let (mut depth, mut begin) = (0usize, 0);
    for (index, byte) in text.iter().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                parts.push(&text[begin..index]);
                begin = index + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[begin..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_fit() {
        for (pattern, text, fit) in [
            ("a*f", "abcdef", true),
            ("b*", "abcdef", false),
            ("[a-c]?*", "abcdef", true),
            ("[^a-c]*", "abcdef", false),
            ("*.{txt,c}", "x.c", true),
            ("*.{txt,c}", "x.h", false),
            ("*a*b*", "xxaxxbxx", true),
            ("\\*", "*", true),
            ("\\*", "x", false),
            ("", "", true),
            ("*", "", true),
            ("?", "", false),
        ] {
            assert_eq!(matches(pattern.as_bytes(), text.as_bytes(), true), fit, "{pattern} {text}");
        }
        assert!(matches(b"ABC", b"abc", false) && !matches(b"ABC", b"abc", true));
    }

    #[test]
    fn patterns_are_found() {
        assert_eq!(search(b"n*", b"banana", 0, true), Some((2, 1)));
        assert_eq!(search(b"^ba", b"banana", 0, true), Some((0, 2)));
        assert_eq!(search(b"na$", b"banana", 0, true), Some((4, 2)));
        assert_eq!(search(b"x", b"banana", 0, true), None);
    }

    #[test]
    fn every_pattern_terminates() {
        let pattern = "{a,aa}".repeat(60) + "b";
        assert!(!matches(pattern.as_bytes(), &[b'a'; 100], true));
        assert!(!matches("{".repeat(100_000).as_bytes(), b"a", true));
        let nested = ["{".repeat(5000), "}".repeat(5000)].concat();
        assert!(!matches(nested.as_bytes(), b"a", true));
    }
}
