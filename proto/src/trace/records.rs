//! The lines of a trace, as a table: every event that a trace may have, and its keys.
//!
//! ```text
//! 1.250000000 A sent D n=3 len=94 at=310 data=80 file=74
//! TIME        WHO WORD LETTER KEY=VALUE...
//! ```
//!
//! `docs/reference/events.md` and the schema are written from [`RECORDS`], and [`check`] reads a line by it.

use core::fmt;

/// What a value may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A letter, without a key.
    Letter,
    /// A whole number, at most 2^64 - 1.
    Number,
    /// `true` or `false`.
    Flag,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A word without spaces.
    Name,
    /// The rest of the line, escaped as Rust escapes ASCII; always last.
    Text,
}

/// A key of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Key {
    /// The key; in capitals where any name may stand.
    pub name: &'static str,
    /// What its value is.
    pub kind: Kind,
    /// It is optional.
    pub optional: bool,
    /// What it means.
    pub doc: &'static str,
}

/// A kind of line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// The word after the writer's name.
    pub word: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// Its keys, in their order.
    pub keys: &'static [Key],
}

const fn key(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { name, kind, optional: false, doc }
}

const fn maybe(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { name, kind, optional: true, doc }
}

const KIND: Key = key("LETTER", Kind::Letter, "the packet's type, as the protocol writes it");
const NUMBER: Key = key("n", Kind::Number, "sequence number or position");
const FAILURE: &[&str] = &[
    "silence",
    "too-many-retries",
    "not-reliable",
    "peer-error",
    "violation",
    "unsupported",
    "cannot-resume",
    "no-protocol",
    "not-a-server",
    "wrong-peer",
    "digest-differs",
    "length-differs",
    "no-space",
    "permission",
    "not-found",
    "io",
    "changed",
    "missing",
    "kept",
    "quota",
    "store-unsupported",
    "refused",
    "aborted",
    "closed",
];
const BLAME: Key =
    maybe("blame", Kind::Word(&["peer", "line", "store", "local"]), "of `failed`: who is to blame");
const WHAT: Key = maybe("kind", Kind::Word(FAILURE), "of `failed`: the cause");
const HAPPENED: &[&str] = &[
    "negotiated",
    "file-started",
    "file-done",
    "file-refused",
    "file-cancelled",
    "completed",
    "turned",
    "declined",
    "message",
    "replied",
];

/// Every kind of line.
pub const RECORDS: &[Record] = &[
    Record {
        word: "sent",
        doc: "A packet was handed to the wire.",
        keys: &[
            KIND,
            NUMBER,
            key("len", Kind::Number, "bytes on the wire"),
            key("at", Kind::Number, "bytes handed to the wire before it"),
            maybe(
                "data",
                Kind::Number,
                "bytes of its data field, if that carries data of the file",
            ),
            maybe("file", Kind::Number, "bytes of the file that are encoded in the data field"),
            maybe("old", Kind::Number, "of those, bytes sent before"),
            maybe("parity", Kind::Number, "bytes of it that correct errors"),
            maybe("again", Kind::Number, "how often it was sent before"),
            maybe(
                "why",
                Kind::Word(&["timeout", "nak", "lost", "go-back", "answer"]),
                "why it is retransmitted",
            ),
        ],
    },
    Record {
        word: "got",
        doc: "A good packet arrived.",
        keys: &[
            KIND,
            NUMBER,
            key("len", Kind::Number, "bytes"),
            key("at", Kind::Number, "bytes that came before its end"),
            maybe(
                "data",
                Kind::Number,
                "bytes of its data field, if that carries data of the file",
            ),
        ],
    },
    Record {
        word: "left",
        doc: "The port took bytes.",
        keys: &[
            key("total", Kind::Number, "bytes since the start"),
            maybe(
                "ago",
                Kind::Number,
                "nanoseconds since the first of them that was not traced yet",
            ),
        ],
    },
    Record {
        word: "came",
        doc: "A receiver got bytes from the port.",
        keys: &[key("total", Kind::Number, "bytes since the start")],
    },
    Record {
        word: "waiting",
        doc: "What the engine waits for has changed.",
        keys: &[key(
            "for",
            Kind::Word(&["nothing", "window", "answer", "peer", "store", "turn", "pause"]),
            "what it waits for",
        )],
    },
    Record { word: "duplicate", doc: "The last packet was a duplicate.", keys: &[NUMBER] },
    Record {
        word: "damaged",
        doc: "A damaged or invalid packet arrived.",
        keys: &[
            key("len", Kind::Number, "bytes discarded"),
            key("why", Kind::Text, "the rule it violates"),
        ],
    },
    Record {
        word: "timeout",
        doc: "A timer expired.",
        keys: &[NUMBER, key("waiting_for", Kind::Text, "what was expected")],
    },
    Record {
        word: "state",
        doc: "The state of the protocol changed.",
        keys: &[
            key("from", Kind::Name, "the old state"),
            key("to", Kind::Name, "the new state"),
            key("input", Kind::Name, "what caused it, as the state table names it"),
        ],
    },
    Record {
        word: "value",
        doc: "A negotiated or changed value, and what elements of a line report.",
        keys: &[key("NAME", Kind::Number, "its value")],
    },
    Record {
        word: "text",
        doc: "A text, such as a file's name.",
        keys: &[key("NAME", Kind::Text, "the text")],
    },
    Record {
        word: "event",
        doc: "The engine reported an event to the user (laboratory only).",
        keys: &[
            key("kind", Kind::Word(HAPPENED), "what it was"),
            maybe("offset", Kind::Number, "of `file-started`: from which position"),
            maybe("size", Kind::Number, "of `file-started` and `file-done`: bytes"),
            maybe("verified", Kind::Flag, "of `file-done`: digests were compared"),
            maybe("by_peer", Kind::Flag, "of `file-refused` and `file-cancelled`: not here"),
            maybe("status", Kind::Number, "of `completed`: of the command"),
            maybe("receives", Kind::Flag, "of `turned`: this end receives now"),
            maybe("kept", Kind::Flag, "of `declined`: it stays in the peer's queue"),
            maybe("text", Kind::Text, "the file's name, or the peer's words"),
        ],
    },
    Record {
        word: "settled",
        doc: "The outcome of the transfer is fixed at this end.",
        keys: &[
            key("outcome", Kind::Word(&["done", "failed"]), "whether it succeeded"),
            BLAME,
            WHAT,
        ],
    },
    Record {
        word: "end",
        doc: "The run is over (laboratory only).",
        keys: &[
            key("outcome", Kind::Word(&["done", "failed", "open"]), "`open`: it was not fixed"),
            BLAME,
            WHAT,
        ],
    },
    Record {
        word: "stats",
        doc: "The counters at the end.",
        keys: &[
            key("file", Kind::Number, "bytes of files, each counted once"),
            key("encoded", Kind::Number, "bytes of data fields, each packet counted once"),
            maybe("known", Kind::Number, "bytes of files that came from older versions"),
            maybe("unpacked", Kind::Number, "bytes before compression"),
            maybe("packed", Kind::Number, "the same after it"),
        ],
    },
    Record {
        word: "act",
        doc: "An external action on the run (laboratory only).",
        keys: &[
            key(
                "what",
                Kind::Word(&["cancel-file", "cancel-batch", "abort", "calm"]),
                "a user's command; `calm`: the faults of the line stop",
            ),
            maybe("end", Kind::Word(&["A", "B"]), "whose command"),
        ],
    },
    Record {
        word: "stop",
        doc: "Why the run ended (laboratory only).",
        keys: &[key(
            "why",
            Kind::Word(&["over", "stalled", "time-limit", "event-limit", "storm", "measured"]),
            "the reason",
        )],
    },
];

/// Why a line is no record of [`RECORDS`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BadRecord {
    /// Its word is not one of a record.
    Word,
    /// This key is missing.
    Key(&'static str),
    /// The value of this key is not one.
    Value {
        /// The key.
        key: &'static str,
        /// What it should be.
        expected: &'static str,
    },
    /// Something follows the last key.
    Rest,
}

impl fmt::Display for BadRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word => f.write_str("expected the word of a record"),
            Self::Key(key) => write!(f, "expected the key {key}"),
            Self::Value { key, expected } => write!(f, "expected of the key {key}: {expected}"),
            Self::Rest => f.write_str("expected the end of the line"),
        }
    }
}

impl core::error::Error for BadRecord {}

/// Checks a line against [`RECORDS`], from the word on (without time and who).
pub fn check(line: &str) -> Result<(), BadRecord> {
    let (word, mut rest) = line.split_once(' ').unwrap_or((line, ""));
    let Some(record) = RECORDS.iter().find(|record| record.word == word) else {
        return Err(BadRecord::Word);
    };
    for key in record.keys {
        let last = key.kind == Kind::Text;
        let (part, after) = match rest.split_once(' ') {
            Some(parts) if !last => parts,
            _ => (rest, ""),
        };
        let value = match part.split_once('=') {
            _ if key.kind == Kind::Letter => part,
            Some((name, value)) if name == key.name || key.name == "NAME" => value,
            _ if key.optional => continue,
            _ => return Err(BadRecord::Key(key.name)),
        };
        let good = match key.kind {
            Kind::Letter => value.chars().count() == 1,
            Kind::Number => value.parse::<u64>().is_ok(),
            Kind::Flag => value == "true" || value == "false",
            Kind::Word(words) => words.contains(&value),
            Kind::Name => !value.is_empty(),
            Kind::Text => value.is_ascii(),
        };
        if !good {
            return Err(BadRecord::Value { key: key.name, expected: key.doc });
        }
        rest = after;
    }
    if rest.is_empty() { Ok(()) } else { Err(BadRecord::Rest) }
}
