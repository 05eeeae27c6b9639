//! One line of a trace: `TIME who word key=value...`.

use std::fmt;
use wetstring_proto::{Again, Wait};

/// The word for [`Wait::Peer`] in old traces.
const OLD_PEER: &str = "partner";

/// An unusable part of a trace, and its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadTrace {
    /// Line, counted from 1; `None` if the trace as a whole is unusable.
    pub line: Option<usize>,
    /// What was expected, and what was found.
    pub message: String,
}

impl fmt::Display for BadTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for BadTrace {}

/// The content of a line, as far as an account needs it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Record {
    Sent(Sent),
    Got {
        kind: char,
        number: u64,
        len: u64,
        data: u64,
        at: u64,
    },
    Left {
        total: u64,
        ago: u64,
    },
    Came {
        total: u64,
    },
    Waiting(Wait),
    Timeout,
    Damaged {
        len: u64,
    },
    Duplicate,
    /// The outcome; of a failure, whose fault it is and its kind.
    Settled(Option<(String, String)>),
    /// What the engine told the user: kind, text, whether the peer did it.
    Event {
        kind: String,
        text: Vec<u8>,
        by_peer: bool,
    },
    Stats(Counts),
    Value {
        name: String,
        value: u64,
    },
    Text {
        name: String,
        text: Vec<u8>,
    },
    /// Not relevant here.
    Other,
}

/// A packet handed to the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sent {
    pub(super) time: u64,
    pub(super) number: u64,
    pub(super) at: u64,
    pub(super) len: u64,
    pub(super) data: u64,
    pub(super) file: u64,
    pub(super) old: u64,
    pub(super) parity: u64,
    pub(super) again: u64,
    pub(super) why: Option<Again>,
}

/// An engine's counters at the end, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Counts {
    /// Of files.
    pub(super) file: u64,
    /// Of files, from older versions at the receiver.
    pub(super) known: u64,
    /// Before compression, and after it.
    pub(super) unpacked: u64,
    pub(super) packed: u64,
}

/// A line of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Line<'a> {
    pub(super) time: u64,
    pub(super) who: &'a str,
    pub(super) record: Record,
}

const EXPECTED: &str = "expected a line of a trace, such as `1.250000000 A sent D n=3 len=94`";

/// Parses a line with the number `index` + 1.
pub(super) fn line(index: usize, text: &str) -> Result<Line<'_>, BadTrace> {
    let bad = || {
        let mut got: String = text.chars().take(40).flat_map(char::escape_default).collect();
        if text.chars().count() > 40 {
            got.push_str("...");
        }
        BadTrace { line: Some(index + 1), message: format!("{EXPECTED}, got `{got}`") }
    };
    let mut words = text.splitn(4, ' ');
    let time = words.next().and_then(time).ok_or_else(bad)?;
    let who = words.next().filter(|who| !who.is_empty()).ok_or_else(bad)?;
    let word = words.next().filter(|word| !word.is_empty()).ok_or_else(bad)?;
    let rest = words.next().unwrap_or_default();
    let record = record(word, rest, time).ok_or_else(bad)?;
    Ok(Line { time, who, record })
}

/// Seconds with nine decimals, in nanoseconds.
fn time(text: &str) -> Option<u64> {
    let (seconds, nanos) = text.split_once('.')?;
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if nanos.len() != 9 || !digits(nanos) || !digits(seconds) {
        return None;
    }
    let seconds: u64 = seconds.parse().ok()?;
    seconds.checked_mul(1_000_000_000)?.checked_add(nanos.parse().ok()?)
}

/// The value of a key; `None` if it is not a number, or missing without a `default`.
fn number(rest: &str, key: &str, default: Option<u64>) -> Option<u64> {
    let mut pairs = rest.split(' ').filter_map(|pair| pair.split_once('='));
    match pairs.find(|(name, _)| *name == key) {
        None => default,
        Some((_, value)) => value.parse().ok(),
    }
}

/// The value of a key as text.
fn word_of<'a>(rest: &'a str, key: &str) -> Option<&'a str> {
    let mut pairs = rest.split(' ').filter_map(|pair| pair.split_once('='));
    pairs.find(|(name, _)| *name == key).map(|(_, value)| value)
}

fn record(word: &str, rest: &str, time: u64) -> Option<Record> {
    let must = |key| number(rest, key, None);
    let may = |key| number(rest, key, Some(0));
    Some(match word {
        "sent" => Record::Sent(Sent {
            time,
            number: must("n")?,
            at: must("at")?,
            len: must("len")?,
            data: may("data")?,
            file: may("file")?,
            old: may("old")?,
            parity: may("parity")?,
            again: may("again")?,
            why: rest.split_once("why=").and_then(|(_, why)| {
                Again::ALL.into_iter().find(|again| Some(again.as_str()) == why.split(' ').next())
            }),
        }),
        "got" => {
            let kind = rest.chars().next()?;
            Record::Got {
                kind,
                number: must("n")?,
                len: must("len")?,
                data: may("data")?,
                at: must("at")?,
            }
        }
        "left" => Record::Left { total: must("total")?, ago: may("ago")? },
        "came" => Record::Came { total: must("total")? },
        "waiting" => {
            // Traces of 0.1.0 before the schema have another word for the peer.
            let cause = match rest.strip_prefix("for=")? {
                OLD_PEER => Wait::Peer.as_str(),
                cause => cause,
            };
            Record::Waiting(Wait::ALL.into_iter().find(|wait| wait.as_str() == cause)?)
        }
        "timeout" => Record::Timeout,
        // Its reason may contain blanks; the length is last.
        "damaged" => Record::Damaged { len: must("len")? },
        "duplicate" => Record::Duplicate,
        "settled" => Record::Settled(match (word_of(rest, "blame"), word_of(rest, "kind")) {
            (Some(blame), Some(kind)) => Some((blame.to_owned(), kind.to_owned())),
            _ => None,
        }),
        "event" => Record::Event {
            kind: word_of(rest, "kind")?.to_owned(),
            // The text is last, and may contain blanks.
            text: rest.split_once("text=").map_or(Some(Vec::new()), |(_, text)| unescape(text))?,
            by_peer: word_of(rest, "by_peer") == Some("true"),
        },
        "stats" => Record::Stats(Counts {
            file: must("file")?,
            known: may("known")?,
            unpacked: may("unpacked")?,
            packed: may("packed")?,
        }),
        "value" => {
            let (name, value) = rest.split_once('=')?;
            Record::Value { name: name.to_owned(), value: value.parse().ok()? }
        }
        "text" => {
            let (name, text) = rest.split_once('=')?;
            Record::Text { name: name.to_owned(), text: unescape(text)? }
        }
        _ => Record::Other,
    })
}

/// Reverses [`slice::escape_ascii`].
pub(super) fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut bytes = text.bytes();
    let mut out = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        out.push(match bytes.next()? {
            b't' => b'\t',
            b'n' => b'\n',
            b'r' => b'\r',
            b'x' => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                let (high, low) = (digit(bytes.next()?)?, digit(bytes.next()?)?);
                u8::try_from(high * 16 + low).ok()?
            }
            other => other,
        });
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_round_trip() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(unescape(&all.escape_ascii().to_string()), Some(all));
        assert_eq!(unescape("a\\x4"), None);
        assert_eq!(unescape("\\"), None);
    }

    #[test]
    fn packets_are_parsed() {
        let text = "1.000000250 A sent D n=3 len=94 at=200 data=88 file=80 old=80 again=1 why=nak";
        let Ok(Line { time, who: "A", record: Record::Sent(sent) }) = line(0, text) else {
            panic!("expected a packet")
        };
        assert_eq!((time, sent.at, sent.len, sent.data), (1_000_000_250, 200, 94, 88));
        assert_eq!((sent.file, sent.old, sent.again, sent.why), (80, 80, 1, Some(Again::Nak)));
    }

    #[test]
    fn old_traces_are_read() {
        let text = format!("0.000000000 B waiting for={OLD_PEER}");
        let Ok(Line { record: Record::Waiting(wait), .. }) = line(0, &text) else {
            panic!("expected a wait")
        };
        assert_eq!(wait, Wait::Peer);
    }

    #[test]
    fn lines_that_are_no_trace_are_named() {
        for text in
            ["", "hello", "1.0 A sent D", "x.000000000 A state", "1.000000000 A", "1.000000000"]
        {
            let bad = line(6, text).unwrap_err();
            assert_eq!(bad.line, Some(7));
            assert!(bad.to_string().starts_with("line 7: expected a line of a trace"), "{bad}");
        }
        assert!(line(0, "1.000000000 A sent D n=3 len=x at=1").is_err());
        assert!(line(0, "1.000000000 A sent D n=3 len=4").is_err(), "where it stands is needed");
        assert!(
            line(0, "1.000000000 B event kind=file-done size=3 verified=false").is_ok(),
            "others may say more"
        );
    }
}
