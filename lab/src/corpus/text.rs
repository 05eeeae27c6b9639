//! English prose with tables and headings, and C source.

use super::frequent;
use crate::random::Random;

/// Lines of the manual (Kermit News 5 (1993), line 67).
const MANUAL_LINES: usize = 2814;
/// Different words; a manual has a few thousand, and most of what is read are a few hundred.
const WORDS: usize = 2200;

/// Words of a language: the more frequent ones are shorter.
struct Vocabulary(Vec<Vec<u8>>);

impl Vocabulary {
    fn new(random: &mut Random, count: usize) -> Self {
        let syllable = |random: &mut Random, word: &mut Vec<u8>| {
            let pick = |random: &mut Random, list: &[u8]| list[frequent(random, list.len(), 2)];
            if !random.one_in(4) {
                word.push(pick(random, b"tnsrhldcmfpgwybvkjxqz"));
            }
            word.push(pick(random, b"eaoiuy"));
            if random.one_in(2) {
                word.push(pick(random, b"nrstldmcpkg"));
            }
        };
        let word = |rank: usize, random: &mut Random| {
            let longest = match rank {
                0..40 => 1,
                40..300 => 2,
                _ => 4,
            };
            let mut word = Vec::new();
            for _ in 0..random.between(1 + longest / 3, longest) {
                syllable(random, &mut word);
            }
            word
        };
        Self((0..count).map(|rank| word(rank, random)).collect())
    }

    fn word(&self, random: &mut Random) -> &[u8] {
        &self.0[frequent(random, self.0.len(), 3)]
    }

    /// A word as a programmer takes names: the frequent ones are less frequent than in prose.
    fn any(&self, random: &mut Random) -> &[u8] {
        &self.0[frequent(random, self.0.len(), 2)]
    }

    /// Words up to a width of `width` characters, exactly: the last one is cut.
    fn fill(&self, random: &mut Random, line: &mut Vec<u8>, width: usize) {
        while line.len() < width {
            let mark = random.below(100);
            let start = line.len();
            line.extend_from_slice(self.word(random));
            if mark < 4 {
                line[start].make_ascii_uppercase();
            }
            match mark {
                90..95 => line.extend_from_slice(b", "),
                95..99 => line.extend_from_slice(b". "),
                99 => line.extend_from_slice(b"'s "),
                _ => line.push(b' '),
            }
        }
        line.truncate(width);
        if line.last() == Some(&b' ') {
            line.pop();
            line.push(b'.');
        }
    }
}

fn blanks(line: &mut Vec<u8>, width: usize) {
    line.resize(line.len().max(width), b' ');
}

/// One line of a manual, without its end.
fn manual_line(words: &Vocabulary, random: &mut Random) -> Vec<u8> {
    let mut line = Vec::new();
    let width = |random: &mut Random, low, high| random.between(low, high) as usize;
    match random.below(100) {
        0..15 => {}
        15..60 => {
            let end = width(random, 60, 72);
            words.fill(random, &mut line, end);
        }
        60..71 => {
            let end = width(random, 8, 60);
            words.fill(random, &mut line, end);
        }
        // A table or a list of commands: a term, blanks to a column, an explanation.
        71..87 => {
            blanks(&mut line, 2);
            let (term, column, end) =
                (width(random, 6, 14), width(random, 18, 22), width(random, 45, 72));
            words.fill(random, &mut line, term);
            line.make_ascii_uppercase();
            blanks(&mut line, column);
            words.fill(random, &mut line, end);
        }
        // An example, indented.
        87..97 => {
            let (indent, end) = (width(random, 5, 10), width(random, 20, 50));
            blanks(&mut line, indent);
            words.fill(random, &mut line, end);
        }
        _ => line.resize(width(random, 20, 72), b'-'),
    }
    line
}

/// Makes the lines together exactly `target` characters long, by a few at the end of each line of
/// prose.
fn fit(lines: &mut [Vec<u8>], random: &mut Random, target: usize) {
    let mut total: usize = lines.iter().map(Vec::len).sum();
    while total != target {
        let line = &mut lines[random.below(MANUAL_LINES as u64) as usize];
        if !(30..76).contains(&line.len()) || line.last() == Some(&b'-') {
            continue;
        }
        if total > target {
            line.pop();
            total -= 1;
        } else {
            line.push(b'e');
            total += 1;
        }
    }
}

fn manual_lines(random: &mut Random, end: &[u8], len: usize) -> Vec<u8> {
    let words = Vocabulary::new(random, WORDS);
    let mut lines: Vec<Vec<u8>> = (0..MANUAL_LINES).map(|_| manual_line(&words, random)).collect();
    fit(&mut lines, random, len - MANUAL_LINES * end.len());
    lines.into_iter().flat_map(|line| line.into_iter().chain(end.iter().copied())).collect()
}

pub(super) fn manual(random: &mut Random, len: usize) -> Vec<u8> {
    manual_lines(random, b"\n", len)
}

pub(super) fn manual_crlf(random: &mut Random, len: usize) -> Vec<u8> {
    manual_lines(random, b"\r\n", len)
}

/// Statements of C, indented by blocks, with comments.
pub(super) fn c_source(random: &mut Random, len: usize) -> Vec<u8> {
    const FORMS: &[&str] = &[
        "if (@ == @) {",
        "if (@ < 0)",
        "@ = @;",
        "@(@, @);",
        "}",
        "return(@);",
        "@ = @(@);",
        "while (@ > 0) {",
        "} else {",
        "for (@ = 0; @ < @; @++)",
        "case @:",
        "break;",
        "int @, @;",
        "char *@;",
        "printf(\"@ %d\\n\", @);",
        "#ifdef @",
        "#endif /* @ */",
        "/* @ @ @ */",
        "debug(F101,\"@ @\",\"\",@);",
        "",
    ];
    let words = Vocabulary::new(random, 3000);
    let mut text = Vec::with_capacity(len + 100);
    let mut depth = 1usize;
    while text.len() < len {
        let form = FORMS[frequent(random, FORMS.len(), 1)];
        if form.starts_with('}') {
            depth = depth.saturating_sub(1).max(1);
        }
        if !form.is_empty() && !form.starts_with('#') {
            // Blocks are indented by four, as far as a tab, which stands for eight.
            text.extend(std::iter::repeat_n(b'\t', depth / 2));
            text.extend(std::iter::repeat_n(b' ', 4 * (depth % 2)));
        }
        for byte in form.bytes() {
            match byte {
                b'@' => text.extend_from_slice(words.any(random)),
                _ => text.push(byte),
            }
        }
        if form.ends_with('{') {
            depth = (depth + 1).min(4);
        }
        text.push(b'\n');
    }
    text.truncate(len - 1);
    text.push(b'\n');
    text
}
