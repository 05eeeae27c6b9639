//! The words of `wst remote`, and how answers are shown.

use std::borrow::Cow;
use std::io::Write as _;

use wetstring_events::{Event, ListedFile};
use wetstring_proto::kermit::command::{ServerCommand as C, code};

use crate::transfer::client::answer::quoted;
use crate::ui::format::{escaped, safe};
use crate::ui::output::Output;

/// Words as sent: where a server takes a pattern, C-Kermit's wildcards are quoted.
pub(crate) fn on_the_wire<'a>(words: &[&'a [u8]]) -> Vec<Cow<'a, [u8]>> {
    let verb = words.first().map(|verb| verb.to_ascii_lowercase()).unwrap_or_default();
    let patterns = matches!(&verb[..], b"delete" | b"directory" | b"dir" | b"ls");
    let word = |(index, word): (usize, &&'a [u8])| {
        if patterns && index > 0 { Cow::Owned(quoted(word)) } else { Cow::Borrowed(*word) }
    };
    words.iter().enumerate().map(word).collect()
}

/// The command that words stand for.
pub(crate) fn command<'a>(words: &[&'a [u8]]) -> Result<C<'a>, String> {
    let (verb, rest) = words.split_first().ok_or("expected a command, got none")?;
    let verb = std::str::from_utf8(verb).unwrap_or("").to_ascii_lowercase();
    let want = |least: usize, most: usize| match rest.len() {
        len if (least..=most).contains(&len) => Ok(()),
        len => Err(format!("expected {least} to {most} words after {verb}, got {len}")),
    };
    let word = |index: usize| rest.get(index).copied().unwrap_or_default();
    let (least, most) = match verb.as_str() {
        "pwd" | "cdup" | "status" | "logout" | "finish" | "bye" | "exit" => (0, 0),
        "cd" | "directory" | "dir" | "ls" | "list" | "who" | "help" | "space" => (0, 1),
        "type" | "delete" | "mkdir" | "rmdir" | "message" | "host" | "kermit" => (1, 1),
        "rename" | "copy" | "set" | "assign" => (2, 2),
        "query" => (1, 2),
        "login" => (1, 3),
        _ => {
            let got = escaped(words[0]);
            let line = got.contains([':', '/']);
            let hint = if line { "; the line stands before the command" } else { "" };
            return Err(format!("expected a command of a server (see --help), got {got}{hint}"));
        }
    };
    want(least, most)?;
    Ok(match verb.as_str() {
        "cd" => C::ChangeDirectory(word(0)),
        "cdup" => C::ChangeDirectory(b".."),
        "login" => C::Login([word(0), word(1), word(2)]),
        "logout" => C::Logout,
        "pwd" => C::WorkingDirectory,
        "directory" | "dir" | "ls" | "list" => C::Directory(word(0)),
        "type" => C::Type(word(0)),
        "delete" => C::Delete(word(0)),
        "rename" => C::Rename([word(0), word(1)]),
        "copy" => C::Copy([word(0), word(1)]),
        "mkdir" => C::MakeDirectory(word(0)),
        "rmdir" => C::RemoveDirectory(word(0)),
        "space" => C::Space(word(0)),
        "who" => C::Who([word(0), b""]),
        "status" => C::Status,
        "help" => C::Help(word(0)),
        "set" => setting(word(0), word(1))?,
        "query" if rest.len() == 1 => C::Query { kind: b'K', name: word(0) },
        "query" => {
            let kind = match word(0) {
                b"kermit" => b'K',
                b"system" => b'S',
                b"global" | b"user" => b'G',
                other => {
                    let got = escaped(other);
                    return Err(format!("expected kermit, system or global, got {got}"));
                }
            };
            C::Query { kind, name: word(1) }
        }
        "assign" => C::Assign { name: word(0), value: word(1) },
        "message" => C::Message(word(0)),
        "host" => C::Host(word(0)),
        "kermit" => C::Kermit(word(0)),
        "finish" => C::Finish,
        "bye" => C::Bye,
        _ => C::Exit,
    })
}

/// A setting of a server.
struct Setting {
    /// Its name here.
    name: &'static str,
    /// C-Kermit's keyword after REMOTE SET.
    ckermit: &'static str,
    code: u16,
    /// Names of values with their encoding; other values are sent unchanged.
    words: &'static [(&'static str, &'static str)],
}

const fn row(
    name: &'static str,
    ckermit: &'static str,
    code: u16,
    words: &'static [(&'static str, &'static str)],
) -> Setting {
    Setting { name, ckermit, code, words }
}

const ON_OFF: &[(&str, &str)] = &[("off", "0"), ("on", "1")];
const COLLISIONS: &[(&str, &str)] = &[
    ("rename", "0"),
    ("replace", "1"),
    ("overwrite", "1"),
    ("backup", "2"),
    ("append", "3"),
    ("discard", "4"),
    ("reject", "4"),
    ("ask", "5"),
    ("update", "6"),
];
const INCOMPLETES: &[(&str, &str)] =
    &[("discard", "0"), ("keep", "1"), ("auto", "2"), ("automatic", "2")];

/// Settings of a server by name, for `wst remote LINE set NAME VALUE` and for REMOTE SET.
const SETTINGS: &[Setting] = &[
    row("attributes", "attributes all", code::ATTRIBUTES, ON_OFF),
    row("attribute-length", "attributes length", 133, ON_OFF),
    row("attribute-type", "attributes type", 134, ON_OFF),
    row("attribute-date", "attributes date", 135, ON_OFF),
    row("attribute-encoding", "attributes encoding", 141, ON_OFF),
    row("attribute-disposition", "attributes disposition", 142, ON_OFF),
    row("attribute-system-id", "attributes system-id", 145, ON_OFF),
    row(
        "file-type",
        "file type",
        code::FILE_TYPE,
        &[("text", "0"), ("binary", "1"), ("labeled", "2")],
    ),
    row("file-names", "file names", code::FILE_NAMES, &[("converted", "0"), ("literal", "1")]),
    row("collision", "file collision", code::COLLISION, COLLISIONS),
    row("incomplete", "file incomplete", code::INCOMPLETE, INCOMPLETES),
    row("file-character-set", "file character-set", code::FILE_SET, &[]),
    row("match-dot-files", "match dotfile", code::DOT_FILES, ON_OFF),
    row("match-pipes", "match fifo", code::PIPES, ON_OFF),
    row("block-check", "block-check", code::CHECK, &[]),
    row("packet-length", "receive packet-length", code::LENGTH, &[]),
    row("timeout", "receive timeout", code::TIMEOUT, &[]),
    row("retries", "retry", code::RETRIES, &[]),
    row("server-timeout", "server timeout", code::SERVER_TIMEOUT, &[]),
    row("transfer-character-set", "transfer character-set", code::TRANSFER_SET, &[]),
    row("window", "window", code::WINDOW, &[]),
    row(
        "transfer-mode",
        "transfer mode",
        code::TRANSFER_MODE,
        &[("automatic", "0"), ("manual", "1")],
    ),
    row("cd-message", "server cd-message", code::CD_MESSAGE, ON_OFF),
];

/// A setting by its name, C-Kermit's keyword or its number, with its value by name or as sent.
fn setting<'a>(name: &[u8], value: &'a [u8]) -> Result<C<'a>, String> {
    let text = std::str::from_utf8(name).unwrap_or("").to_ascii_lowercase();
    let known = SETTINGS.iter().find(|row| row.name == text || row.ckermit == text);
    let code = known.map(|row| row.code).or_else(|| text.parse().ok());
    let code = code.ok_or_else(|| format!("expected the name of a setting, got {text}"))?;
    let small = value.to_ascii_lowercase();
    let words = known.map_or(ON_OFF, |row| row.words);
    let said = words.iter().find(|(word, _)| word.as_bytes() == small);
    Ok(C::Set { code, value: said.map_or(value, |(_, sent)| sent.as_bytes()) })
}

/// A line of a listing in C-Kermit's form or ours.
#[derive(PartialEq, Eq, Debug)]
struct Row<'a> {
    rights: &'a str,
    size: u64,
    date: String,
    name: &'a str,
}

fn listed(line: &str) -> Option<Row<'_>> {
    let (rights, rest) = line.trim_end().split_once(' ')?;
    if !matches!(rights.len(), 10 | 11) || !rights.starts_with(['-', 'd', 'l']) {
        return None;
    }
    let (size, rest) = rest.trim_start().split_once(' ')?;
    let (day, rest) = rest.trim_start().split_once(' ')?;
    let (time, name) = rest.trim_start().split_once(' ')?;
    let size = size.parse().ok()?;
    if !day.contains('-') || !time.contains(':') {
        return None;
    }
    Some(Row { rights, size, date: format!("{day} {time}"), name: name.trim_start() })
}

/// Prints an answer on stdout, or as an event.
pub(crate) fn show(ui: &Output, text: &[u8], table: bool, as_event: bool) {
    let safe = safe(text);
    let rows: Vec<Row<'_>> =
        if table { safe.lines().filter_map(listed).collect() } else { Vec::new() };
    let file = |row: &Row<'_>| ListedFile {
        name: row.name.to_owned(),
        size: row.size,
        date: row.date.clone(),
        rights: row.rights.to_owned(),
    };
    ui.event(Event::Reply { text: safe.clone(), files: rows.iter().map(file).collect() });
    if as_event || safe.is_empty() {
        return;
    }
    let shown = if rows.is_empty() { safe } else { tabled(&rows, &safe) };
    let mut out = std::io::stdout().lock();
    // A reader that closes the pipe is not a failure.
    let _ = out.write_all(shown.as_bytes());
}

/// Files in a table; other lines follow unchanged.
fn tabled(rows: &[Row<'_>], text: &str) -> String {
    use std::fmt::Write;
    let width = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0).clamp(4, 60);
    let digits = rows.iter().map(|row| row.size.to_string().len()).max().unwrap_or(0).max(5);
    let mut out = format!("{:width$}  {:>digits$}  {:<19}  rights\n", "name", "bytes", "changed");
    for Row { rights, size, date, name } in rows {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{name:width$}  {size:>digits$}  {date:<19}  {rights}");
    }
    for line in text.lines().filter(|line| !line.trim().is_empty() && listed(line).is_none()) {
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(words: &str) -> Result<String, String> {
        let words: Vec<&[u8]> = words.split(' ').map(str::as_bytes).collect();
        let command = command(&words)?;
        let mut out = [0; 200];
        let len = command.emit(&mut out).expect("it fits");
        Ok(format!("{}{}", char::from(command.kind()), out[..len].escape_ascii()))
    }

    #[test]
    fn words_become_commands() {
        for (words, wire) in [
            ("cd /srv", "GC$/srv"),
            ("cd", "GC"),
            ("ls *.c", "GD#*.c"),
            ("rename a b", "GR!a!b"),
            ("set collision replace", "GS#302!1"),
            ("set 401 1000", "GS#401$1000"),
            ("set match-dot-files on", "GS#330!1"),
            ("query version", "GV!Q!K\\'version"),
            ("query global x", "GV!Q!G!x"),
            ("cdup", "GC\\\".."),
            ("login user pass acct", "GI$user$pass$acct"),
            ("assign foo bar", "GV!S#foo#bar"),
            ("host ls", "Cls"),
            ("bye", "GL"),
        ] {
            assert_eq!(said(words).as_deref(), Ok(wire), "{words}");
        }
        for words in ["fly", "rename a", "pwd x", "set colour blue", "query moon x"] {
            assert!(said(words).is_err_and(|say| say.starts_with("expected")), "{words}");
        }
    }

    /// C-Kermit's keywords for the same, as in scripts.
    #[test]
    fn settings_have_ckermits_words_too() {
        for (words, wire) in [
            (["set", "file collision", "OVERWRITE"], "GS#302!1"),
            (["set", "receive packet-length", "1000"], "GS#401$1000"),
            (["set", "attributes date", "off"], "GS#135!0"),
            (["set", "file names", "literal"], "GS#301!1"),
        ] {
            let command = command(&words.map(str::as_bytes)).expect("a command");
            let mut out = [0; 200];
            let len = command.emit(&mut out).expect("it fits");
            assert_eq!(format!("G{}", out[..len].escape_ascii()), wire);
        }
    }

    #[test]
    fn listings_become_tables() {
        let text = "-rw-r--r--          12 2026-11-21 10:36:06 a b.txt\n\
                    drwxr-xr-x  4096 2026-11-21 10:36:06 sub/\n2 files, 12 bytes\n";
        let rows: Vec<_> = text.lines().filter_map(listed).collect();
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[0].name, rows[0].size), ("a b.txt", 12));
        let table = tabled(&rows, text);
        let lines: Vec<_> = table.lines().collect();
        assert!(lines[0].starts_with("name     "), "{table}");
        assert!(lines[1].starts_with("a b.txt     12  2026"), "{table}");
        assert_eq!(lines[3], "2 files, 12 bytes");
    }
}
