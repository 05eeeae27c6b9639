//! `--code PHRASE`: the phrase may follow the flag as a separate word.

use std::ffi::OsString;

use super::line_arg::is_line;

/// Joins `--code` with a phrase that follows it. What follows may also be a file or the line: a phrase is a
/// number and two words, and a receiver takes no operand but its line.
pub(crate) fn joined(args: &[OsString]) -> Vec<OsString> {
    let receives = args.iter().skip(1).any(|arg| arg == "receive");
    let mut joined = Vec::with_capacity(args.len());
    let mut args = args.iter().peekable();
    while let Some(arg) = args.next() {
        if arg == "--" {
            joined.push(arg.clone());
            joined.extend(args.by_ref().cloned());
            break;
        }
        let phrase = args.peek().filter(|_| arg == "--code").and_then(|next| next.to_str());
        let phrase = phrase.filter(|next| is_phrase(next) || receives && is_word(next));
        if let Some(phrase) = phrase {
            joined.push(format!("--code={phrase}").into());
            args.next();
        } else {
            joined.push(arg.clone());
        }
    }
    joined
}

/// Whether this is meant as a phrase, mistyped or not.
fn is_phrase(text: &str) -> bool {
    let parts: Vec<&str> = text.split(['-', '_', ' ']).filter(|part| !part.is_empty()).collect();
    let digits = |part: &str| part.len() <= 2 && part.bytes().all(|byte| byte.is_ascii_digit());
    let letters = |part: &str| part.bytes().all(|byte| byte.is_ascii_alphabetic());
    matches!(parts[..], [number, one, two] if digits(number) && letters(one) && letters(two))
}

/// Whether this is neither a flag nor a line.
fn is_word(text: &str) -> bool {
    !text.starts_with('-') && !is_line(text.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_after_the_flag_is_the_phrase_if_it_looks_like_one() {
        let put = |line: &str| {
            let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let words: Vec<String> =
                joined(&args).iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
            words.join(" ")
        };
        for (line, is) in [
            ("wst send --code a.bin udp://b:1", "wst send --code a.bin udp://b:1"),
            ("wst send a.bin udp://b:1 --code", "wst send a.bin udp://b:1 --code"),
            ("wst send --code 7-a-b f udp://b:1", "wst send --code=7-a-b f udp://b:1"),
            ("wst send --code 2024-a-b f udp://b:1", "wst send --code 2024-a-b f udp://b:1"),
            ("wst receive --code udp://b:1", "wst receive --code udp://b:1"),
            ("wst receive udp://b:1 --code --yes", "wst receive udp://b:1 --code --yes"),
            ("wst receive udp://b:1 --code oops", "wst receive udp://b:1 --code=oops"),
            ("wst send -- --code 7-a-b", "wst send -- --code 7-a-b"),
        ] {
            assert_eq!(put(line), is);
        }
    }
}
