//! The words and signs of a source file: as much of the grammar as the rules need.

/// A word or a sign, and the line it stands on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::tidy) struct Token {
    pub(in crate::tidy) text: String,
    pub(in crate::tidy) line: usize,
}

/// The words and signs of a text, without comments, texts and lifetimes.
pub(in crate::tidy) fn tokens(text: &str) -> Vec<Token> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let (mut at, mut line) = (0, 1);
    while at < bytes.len() {
        let rest = &text[at..];
        let len = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(len) = literal(rest) {
            len
        } else if is_word(bytes[at]) {
            let len = rest.bytes().position(|byte| !is_word(byte)).unwrap_or(rest.len());
            found.push(Token { text: rest[..len].to_owned(), line });
            len
        } else if rest.starts_with("::") {
            found.push(Token { text: "::".to_owned(), line });
            2
        } else {
            if !bytes[at].is_ascii_whitespace() && bytes[at].is_ascii() {
                found.push(Token { text: rest[..1].to_owned(), line });
            }
            rest.chars().next().map_or(1, char::len_utf8)
        };
        line += rest[..len].matches('\n').count();
        at += len;
    }
    found
}

pub(in crate::tidy) const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The length of a text, a character or a lifetime at the beginning of `rest`.
fn literal(rest: &str) -> Option<usize> {
    let body = rest.strip_prefix('b').unwrap_or(rest);
    if let Some(raw) = body.strip_prefix('r') {
        let marks = raw.bytes().take_while(|byte| *byte == b'#').count();
        if raw[marks..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(marks));
            let begin = rest.len() - raw.len() + marks + 1;
            return Some(rest[begin..].find(&end).map_or(rest.len(), |at| begin + at + end.len()));
        }
    }
    let begin = rest.len() - body.len() + 1;
    if body.starts_with('"') {
        let mut escaped = false;
        let end = rest[begin..].bytes().position(|byte| {
            let ends = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            ends
        });
        return Some(end.map_or(rest.len(), |end| begin + end + 1));
    }
    if !body.starts_with('\'') {
        return None;
    }
    let mut chars = rest[begin..].char_indices();
    let (_, first) = chars.next()?;
    if first == '\\' {
        let end = rest[begin + 2..].find('\'').map_or(rest.len(), |end| begin + 2 + end + 1);
        return Some(end);
    }
    match chars.next() {
        Some((at, '\'')) => Some(begin + at + 1),
        // A lifetime: its name is no word of the crate.
        _ => Some(begin + rest[begin..].bytes().position(|byte| !is_word(byte)).unwrap_or(0)),
    }
}
