//! A line typed inside a session: file names with completion by Tab, words, numbers.
//!
//! The terminal is raw, may be dumb and 40 columns wide: typed text shows, and is rubbed out by
//! backspaces.

use std::path::{Path, PathBuf, is_separator};

use crate::ui::format::escaped;

/// The longest line.
const LONGEST: usize = 4096;

/// What Tab completes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Completes {
    /// Nothing.
    Nothing,
    /// Names of files, the last of several.
    Paths,
    /// One of these words.
    Words(&'static [&'static str]),
}

/// How a line ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Typed {
    /// By Return.
    Line(String),
    /// By Ctrl-C, Ctrl-G or Esc.
    Cancelled,
}

/// A line that is being typed.
#[derive(Debug)]
pub(crate) struct Editor {
    completes: Completes,
    text: String,
    /// Bytes of a character that is not whole yet.
    partial: Vec<u8>,
    /// The last key was Tab.
    tabbed: bool,
    /// Inside a control sequence, such as that of an arrow key.
    sequence: bool,
}

impl Editor {
    pub(crate) fn new(completes: Completes) -> Self {
        let (text, partial) = (String::new(), Vec::new());
        Self { completes, text, partial, tabbed: false, sequence: false }
    }

    /// Takes typed bytes up to the end of the line; returns how many it took, and the end. `echo` gets what
    /// the terminal is to show.
    pub(crate) fn type_in(&mut self, keys: &[u8], echo: &mut String) -> (usize, Option<Typed>) {
        for (index, key) in keys.iter().enumerate() {
            let tabbed = std::mem::replace(&mut self.tabbed, *key == b'\t');
            if self.sequence {
                // Parameters are no letters, and neither is the bracket.
                self.sequence = !(key.is_ascii_alphabetic() || *key == b'~');
                continue;
            }
            match *key {
                b'\r' | b'\n' => {
                    return (index + 1, Some(Typed::Line(std::mem::take(&mut self.text))));
                }
                0x1B if keys.get(index + 1).is_some_and(|next| b"[O".contains(next)) => {
                    self.sequence = true;
                }
                3 | 7 | 0x1B => return (index + 1, Some(Typed::Cancelled)),
                8 | 127 => self.rub_out(1, echo),
                21 => self.rub_out(usize::MAX, echo),
                23 => {
                    let kept = self.text.trim_end();
                    let from = kept.rfind(' ').map_or(0, |blank| blank + 1);
                    self.rub_out(self.text[from..].chars().count(), echo);
                }
                b'\t' => self.complete(tabbed, echo),
                0..32 => {}
                byte => self.add(byte, echo),
            }
        }
        (keys.len(), None)
    }

    fn add(&mut self, byte: u8, echo: &mut String) {
        self.partial.push(byte);
        let Ok(text) = str::from_utf8(&self.partial) else {
            if self.partial.len() >= 4 {
                self.partial.clear();
            }
            return;
        };
        if self.text.len() < LONGEST {
            self.text.push_str(text);
            echo.push_str(text);
        }
        self.partial.clear();
    }

    fn rub_out(&mut self, count: usize, echo: &mut String) {
        for _ in 0..count {
            let Some(gone) = self.text.pop() else { return };
            let width = console::measure_text_width(gone.encode_utf8(&mut [0; 4]));
            for _ in 0..width {
                echo.push_str("\x08 \x08");
            }
        }
    }

    fn complete(&mut self, again: bool, echo: &mut String) {
        let (typed, mut found) = match self.completes {
            Completes::Nothing => return,
            Completes::Words(words) => {
                let fits = words.iter().filter(|word| word.starts_with(&self.text));
                (self.text.clone(), fits.map(|word| (*word).to_owned()).collect::<Vec<_>>())
            }
            Completes::Paths => {
                let last = last_word(&self.text);
                (last.to_owned(), paths(last))
            }
        };
        found.sort();
        let Some(first) = found.first() else { return echo.push('\x07') };
        let common = found.iter().fold(first.as_str(), |common, other| shared(common, other));
        if let Some(rest) = common.strip_prefix(&typed).filter(|rest| !rest.is_empty()) {
            self.text.push_str(rest);
            echo.push_str(rest);
        } else if found.len() > 1 && again {
            let names = found.iter().map(|name| escaped(name.as_bytes()));
            let list = names.collect::<Vec<_>>().join("  ");
            for part in ["\r\n", &list, "\r\n", &self.text] {
                echo.push_str(part);
            }
        } else if found.len() > 1 {
            echo.push('\x07');
        }
    }
}

/// What two words have in common at their beginning.
fn shared<'w>(a: &'w str, b: &str) -> &'w str {
    let len = a.chars().zip(b.chars()).take_while(|(x, y)| x == y).map(|(x, _)| x.len_utf8()).sum();
    &a[..len]
}

/// A backslash takes the meaning of the next character, unless it is between the parts of a path: there blanks are for
/// quotes.
const ESCAPES: bool = std::path::MAIN_SEPARATOR != '\\';

/// The last word of several names, as it is typed: with its quotes and backslashes.
fn last_word(text: &str) -> &str {
    let (mut from, mut quote, mut escape) = (0, None, false);
    for (at, c) in text.char_indices() {
        match (c, quote) {
            _ if escape => escape = false,
            ('\\', None) if ESCAPES => escape = true,
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            (' ', None) => from = at + 1,
            _ => {}
        }
    }
    &text[from..]
}

/// The files whose path begins with typed text, as they would be typed.
fn paths(typed: &str) -> Vec<String> {
    let plain = names(typed).into_iter().next().unwrap_or_default();
    let plain = plain.to_string_lossy().into_owned();
    // With the separator: the root has no other name.
    let after = plain.rfind(is_separator).map_or(0, |at| at + 1);
    let (folder, begin) = plain.split_at(after);
    // As typed, up to the last part.
    let head = typed.rfind(is_separator).map_or("", |slash| &typed[..=slash]);
    let at = if folder.is_empty() { Path::new(".") } else { Path::new(folder) };
    let Ok(entries) = std::fs::read_dir(at) else { return Vec::new() };
    let found = entries.flatten().filter_map(|entry| {
        // A name with control characters cannot be typed.
        let name =
            entry.file_name().into_string().ok().filter(|n| !n.chars().any(char::is_control))?;
        let hidden = name.starts_with('.') && !begin.starts_with('.');
        if hidden || !name.starts_with(begin) {
            return None;
        }
        let slash = if entry.path().is_dir() { "/" } else { "" };
        let special = |c: char| ESCAPES && " \\'\"".contains(c);
        let quoted: String =
            name.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c])).collect();
        Some(format!("{head}{quoted}{slash}"))
    });
    found.collect()
}

/// The files that a line names: several words, quoted as terminals do it with dropped files: `'a b'`, `a\ b`,
/// `file:///tmp/a%20b`.
pub(crate) fn names(line: &str) -> Vec<PathBuf> {
    let (mut words, mut word, mut quote, mut escape) = (Vec::new(), None::<String>, None, false);
    for c in line.chars() {
        match (c, quote) {
            (c, _) if escape => {
                word.get_or_insert_default().push(c);
                escape = false;
            }
            ('\\', None) if ESCAPES => escape = true,
            ('\'' | '"', None) => {
                word.get_or_insert_default();
                quote = Some(c);
            }
            (c, Some(open)) if c == open => quote = None,
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words.iter().map(|word| path_of(word)).collect()
}

/// The same, where a blank that is typed as it is may belong to the name: if only `one` is asked for, or if there is a file of
/// that name, and not of each word.
pub(crate) fn names_or_one(line: &str, one: bool) -> Vec<PathBuf> {
    let (words, whole) = (names(line), path_of(line));
    let quoted = line.contains(['\'', '"']) || ESCAPES && line.contains('\\');
    let is_one = || one || whole.exists() && !words.iter().all(|word| word.exists());
    if words.len() > 1 && !quoted && is_one() { vec![whole] } else { words }
}

/// A word as a path: `~/` is the home, `file://` the form of desktops.
fn path_of(word: &str) -> PathBuf {
    if let Some(rest) = word.strip_prefix("~/")
        && let Some(home) = std::env::home_dir()
    {
        return home.join(rest);
    }
    let Some(rest) = word.strip_prefix("file://") else { return PathBuf::from(word) };
    let rest = &rest[rest.find('/').unwrap_or(0)..];
    let mut bytes = Vec::new();
    let mut at = rest.bytes();
    while let Some(byte) = at.next() {
        let two = if byte == b'%' {
            rest.get(rest.len() - at.len()..).and_then(|r| r.get(..2))
        } else {
            None
        };
        match two.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(code) => {
                bytes.push(code);
                at.nth(1);
            }
            None => bytes.push(byte),
        }
    }
    PathBuf::from(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(completes: Completes, keys: &str) -> (Option<Typed>, String) {
        let (mut editor, mut echo) = (Editor::new(completes), String::new());
        let (taken, end) = editor.type_in(keys.as_bytes(), &mut echo);
        assert_eq!(taken, keys.len(), "{keys:?}");
        (end, echo)
    }

    fn line(keys: &str) -> String {
        match typed(Completes::Nothing, keys).0 {
            Some(Typed::Line(line)) => line,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_line_is_edited() {
        assert_eq!(line("kernex\x7fl.bin\r"), "kernel.bin");
        assert_eq!(line("one two\x17three\r"), "one three");
        assert_eq!(line("gone\x15stays\r"), "stays");
        assert_eq!(line("ar\x1b[A\x1b[1;5Drow\r"), "arrow");
        assert_eq!(line("größe\x7f\x7fße\r"), "größe");
        assert_eq!(typed(Completes::Nothing, "x\x03").0, Some(Typed::Cancelled));
        assert_eq!(typed(Completes::Nothing, "x\x1b").0, Some(Typed::Cancelled));
        assert_eq!(typed(Completes::Nothing, "ab\x08c").1, "ab\x08 \x08c");
    }

    #[test]
    fn tab_completes_words_and_files() {
        let words = Completes::Words(&["xmodem", "xmodem-1k", "zmodem"]);
        assert_eq!(typed(words, "z\t\r").0, Some(Typed::Line("zmodem".to_owned())));
        let (end, echo) = typed(words, "x\t\t\t\r");
        assert_eq!(end, Some(Typed::Line("xmodem".to_owned())));
        assert!(echo.contains("xmodem  xmodem-1k"), "{echo:?}");
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["kernel.bin", "kernel two.bin", ".hidden"] {
            std::fs::write(folder.path().join(name), "").expect("a file");
        }
        std::fs::create_dir(folder.path().join("boot")).expect("a folder");
        let at = folder.path().display();
        let completed = |text: &str| match typed(Completes::Paths, &format!("{at}/{text}\r")).0 {
            Some(Typed::Line(line)) => {
                names(&line)[0].strip_prefix(folder.path()).unwrap().to_owned()
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(completed("kernel.\t"), Path::new("kernel.bin"));
        assert_eq!(completed("kernel\\ \t"), Path::new("kernel two.bin"));
        assert_eq!(completed("b\t"), Path::new("boot/"));
        assert_eq!(completed("\t"), Path::new(""), "a hidden file is none of several");
        assert_eq!(completed(".h\t"), Path::new(".hidden"));
    }

    #[test]
    fn dropped_files_are_names() {
        let read =
            |line: &str| names(line).iter().map(|p| p.display().to_string()).collect::<Vec<_>>();
        assert_eq!(read("a b"), ["a", "b"]);
        assert_eq!(read("'/tmp/a b' /tmp/c\\ d "), ["/tmp/a b", "/tmp/c d"]);
        assert_eq!(read("file:///tmp/a%20b%"), ["/tmp/a b%"]);
        assert_eq!(read("file://host/tmp/x"), ["/tmp/x"]);
        assert_eq!(read("\"it's\""), ["it's"]);
        assert!(read("  ").is_empty());
    }

    #[test]
    fn a_blank_that_is_typed_may_belong_to_a_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().display();
        let [both, first] = [format!("{at}/my log.txt"), format!("{at}/my")];
        let read = |line: &str, one| names_or_one(line, one);
        assert_eq!(read(&both, true), [PathBuf::from(&both)]);
        assert_eq!(read("'my log' b", true).len(), 2, "quoted as several");
        assert_eq!(read(&both, false).len(), 2, "there is no such file");
        std::fs::write(&both, "").unwrap();
        assert_eq!(read(&both, false), [PathBuf::from(&both)]);
        // Two files that are there are two files.
        std::fs::write(&first, "").unwrap();
        assert_eq!(read(&format!("{first} {first}"), false).len(), 2);
        assert_eq!(read("a", true), [PathBuf::from("a")]);
    }
}
