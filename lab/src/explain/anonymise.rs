//! A trace without names and contents, so that it can be shared.
//!
//! Traces have no contents of files; what could give something away are their texts: names of files, paths, the
//! line, the peer's words. What stays of a text is listed here, everything else is replaced. Numbers, times and
//! the words of the program stay, so that an account of the new trace is that of the old one.

use super::failure::{FULL, OF_THE_LINE};
use super::line::{BadTrace, line, unescape};
use std::fmt::Write as _;
use toml::{Table, Value};
use wetstring_proto::settings::Range;
use wetstring_proto::trace::RECORDS;
use wetstring_protocols::{FAMILIES, Family};

/// What stands for a text of which nothing stays.
const REMOVED: &str = "(removed)";

/// The trace without names: each file has a number instead, the line only its kind, and of a peer's message only
/// what an account looks for stays. Paths are left out.
///
/// # Errors
///
/// A line that is not one of a trace, and a scenario whose files are named in it: they are part of the run.
pub fn anonymise<'a>(lines: impl Iterator<Item = &'a str>) -> Result<String, BadTrace> {
    let mut names = Names::default();
    let mut out = String::new();
    for (index, text) in lines.enumerate() {
        let bad = |message: String| BadTrace { line: Some(index + 1), message };
        line(index, text)?;
        let mut parts = text.splitn(4, ' ');
        let mut part = || parts.next().unwrap_or_default();
        let (time, who, word, rest) = (part(), part(), part(), part());
        if !RECORDS.iter().any(|record| record.word == word) {
            return Err(bad(format!(
                "expected the word of a record, got {}",
                word.escape_default()
            )));
        }
        let rest = match word {
            "text" => {
                let Some((name, value)) = rest.split_once('=') else { continue };
                if name == "scenario" && names_files(value) {
                    let say = "expected a scenario without files and traces of its own, which are part of the run";
                    return Err(bad(say.to_owned()));
                }
                let Some(value) = names.text(name, value) else { continue };
                format!("{name}={value}")
            }
            "event" => names.event(rest),
            _ => rest.to_owned(),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{}", format!("{time} {who} {word} {rest}").trim_end());
    }
    Ok(out)
}

/// The names that were replaced, in their order.
#[derive(Default)]
struct Names(Vec<String>);

impl Names {
    /// `file-1`, `file-2`: the same for the same name.
    fn number(&mut self, name: &str) -> String {
        let at = self.0.iter().position(|known| known == name).unwrap_or_else(|| {
            self.0.push(name.to_owned());
            self.0.len() - 1
        });
        format!("file-{}", at + 1)
    }

    /// What stays of a text of this name; `None` if its line is left out.
    fn text(&mut self, name: &str, value: &str) -> Option<String> {
        Some(match name {
            "way" | "protocol" | "carrier" | "scenario" | "lost_a" | "lost_b" => value.to_owned(),
            "set" => return is_of_no_text(value).then(|| value.to_owned()),
            "line" => kind_of_line(value),
            "path" | "directory" => return None,
            "file" => self.number(value),
            "message" => telling(value),
            _ => REMOVED.to_owned(),
        })
    }

    /// What stays of an event.
    fn event(&mut self, rest: &str) -> String {
        let Some((head, text)) = rest.split_once(" text=") else { return rest.to_owned() };
        let kind = head.split(' ').find_map(|word| word.strip_prefix("kind="));
        let text = match kind {
            // These are our own words.
            Some("negotiated") => text.to_owned(),
            Some("message" | "replied") => telling(text),
            _ => self.number(text),
        };
        format!("{head} text={text}")
    }
}

/// Whether a setting, `NAME=VALUE`, is one whose values are numbers or words of the program.
fn is_of_no_text(set: &str) -> bool {
    let name = set.split_once('=').map_or(set, |(name, _)| name);
    let mut rows = FAMILIES.iter().flat_map(Family::table);
    rows.any(|row| row.name == name && row.range != Range::Text)
}

/// The kind of a line: what stands before its first colon, if that is a word.
fn kind_of_line(line: &str) -> String {
    let kind = line.split_once(':').map(|(kind, _)| kind);
    let is_word = |kind: &&str| {
        !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
    };
    kind.filter(is_word).map_or_else(|| REMOVED.to_owned(), |kind| format!("{kind}:"))
}

/// What an account looks for in a peer's message.
fn telling(message: &str) -> String {
    let message = message.to_lowercase();
    let found: Vec<&str> =
        FULL.into_iter().chain(OF_THE_LINE).filter(|word| message.contains(word)).collect();
    if found.is_empty() { REMOVED.to_owned() } else { found.join(" ... ") }
}

/// Whether a scenario, escaped as in a trace, has files of its own: its content, or a trace of a network.
fn names_files(escaped: &str) -> bool {
    let text = unescape(escaped).and_then(|text| String::from_utf8(text).ok());
    let Some(table) = text.and_then(|text| text.parse::<Table>().ok()) else { return true };
    let has_path = table.get("file").is_some_and(|file| file.get("path").is_some());
    has_path || table.get("line").is_some_and(|line| strings(line).any(names_a_trace))
}

fn names_a_trace(line: &str) -> bool {
    line.contains("up=") || line.contains("down=")
}

/// The strings of a value: itself, or those in a list.
fn strings(value: &Value) -> impl Iterator<Item = &str> {
    let list = value.as_array().into_iter().flatten().filter_map(Value::as_str);
    value.as_str().into_iter().chain(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<String, String> {
        anonymise(text.lines()).map_err(|bad| bad.to_string())
    }

    #[test]
    fn texts_are_replaced_and_the_rest_stays() {
        let trace = "0.000000000 run text way=send\n\
            0.000000000 run text line=exec:ssh anna@secret wst receive -\n\
            0.000000000 run text line=/dev/secret\n\
            0.000000000 run value rate_bps=9600\n\
            0.000000000 run text set=kermit.window=4\n\
            0.000000000 run text set=ncp.user=secret\n\
            0.000000000 A text file=secret one.txt\n\
            1.250000000 A sent D n=3 len=94 at=310 data=80 file=74\n\
            1.300000000 A text file=secret two\n\
            1.310000000 A text file=secret one.txt\n\
            1.400000000 A damaged len=4 why=the check is wrong\n\
            2.000000000 A event kind=file-refused by_peer=true text=secret two\n\
            2.000000000 A event kind=message text=secret: Disk Full\n\
            2.000000000 A event kind=message text=secret\n\
            2.000000000 A text reply=secret\n\
            3.000000000 A settled outcome=failed blame=local kind=internal\n\
            3.000000000 run text path=/secret/one.txt\n";
        let want = "0.000000000 run text way=send\n\
            0.000000000 run text line=exec:\n\
            0.000000000 run text line=(removed)\n\
            0.000000000 run value rate_bps=9600\n\
            0.000000000 run text set=kermit.window=4\n\
            0.000000000 A text file=file-1\n\
            1.250000000 A sent D n=3 len=94 at=310 data=80 file=74\n\
            1.300000000 A text file=file-2\n\
            1.310000000 A text file=file-1\n\
            1.400000000 A damaged len=4 why=the check is wrong\n\
            2.000000000 A event kind=file-refused by_peer=true text=file-2\n\
            2.000000000 A event kind=message text=disk full ... full\n\
            2.000000000 A event kind=message text=(removed)\n\
            2.000000000 A text reply=(removed)\n\
            3.000000000 A settled outcome=failed blame=local kind=internal\n";
        assert_eq!(of(trace).as_deref(), Ok(want));
        // What is done once needs no second time.
        assert_eq!(of(want).as_deref(), Ok(want));
    }

    #[test]
    fn what_is_no_trace_is_not_passed_on() {
        assert!(of("1.000000000 A whisper secret\n").unwrap_err().contains("whisper"));
        assert!(of("secret\n").is_err());
    }

    #[test]
    fn scenarios_with_files_of_their_own_are_refused() {
        let run = |scenario: &str| {
            of(&format!("0.000000000 run text scenario={}\n", scenario.escape_default()))
        };
        assert!(run("line = '9600'\n[file]\nbytes = 4000\n").is_ok());
        for bad in [
            "line = '9600'\n[file]\npath = 'secret'\n",
            "line = 'udp over trace:up=secret'\n",
            "line = ['9600', 'trace:down=secret']\n",
        ] {
            assert!(run(bad).is_err(), "{bad}");
        }
    }
}
