//! What `wst --json` writes: one JSON object a line, each of them an [`Event`].
//!
//! ```text
//! {"v":1,"event":"file-done","name":"a.txt",...}
//! ```
//!
//! The program has no other way to write one. A field that is unknown is `null`;
//! a field that some events of a kind do not have is left out. Times are seconds, `_s`, unless the name says
//! otherwise. With the feature `schema` an event describes itself; `docs/reference/events.md` and its JSON Schema
//! are written from that.

#![forbid(unsafe_code)]

mod lab;
mod slip;
mod summary;
mod transfer;

pub use lab::{Account, Advice, Explained, Failure, Part, Step, Trial};
pub use lab::{
    Arrived, BenchRow, Cell, Checked, Echoes, FailedSeed, Interval, Latency, Ledger, Ledgers,
    Printed, Repeats, ScenarioResult, Score, Sides, SwarmSum, Within,
};
pub use slip::{Class, Compression, Fragments, LinkCounts, Received, Sent, StackCounts};
pub use summary::{
    Comparison, Demo, End, LineUsage, Pings, Session, Sessions, Shares, SlipSummary, Summary,
    SweepSummary, Transfer, Usage,
};
pub use transfer::{Counters, EntryKind, FileKind, FileResult, ListedFile, Opened, Reading, Usb};

use serde::Serialize;
use serde_json::{Map, Value};

/// The version of all events, their field `v`. It changes when a program that reads them has to.
pub const VERSION: u8 = 1;

/// An event.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The last event, exactly once, also after a usage error.
    End(Box<End>),
    /// A remark about the line.
    Line {
        /// A sentence.
        text: String,
        /// `A` or `B`, of `wst line`.
        #[serde(skip_serializing_if = "Option::is_none")]
        end: Option<String>,
    },
    /// The line is open.
    Opened(Opened),
    /// The line is not private: others can read it.
    InClear {
        /// `password` or `files`.
        what: String,
        /// The line.
        line: String,
    },
    /// Nothing has been received from the peer yet. Repeated until it is.
    Waiting {
        /// What is awaited.
        #[serde(rename = "for")]
        awaited: String,
        /// The line.
        line: String,
        /// Since the wait began.
        elapsed_s: f64,
    },
    /// The peer seems to run another program than expected.
    WrongPeer {
        /// A sentence.
        text: String,
    },
    /// Both ends have agreed on their parameters.
    Negotiated {
        /// The parameters, in the protocol's words.
        text: String,
    },
    /// A file begins.
    FileStarted {
        /// Its name, with control characters escaped.
        name: String,
        /// Bytes, if the sender announced them.
        size: Option<u64>,
        /// Modification time, in seconds since 1970, UTC.
        modified: Option<i64>,
        /// Its Unix permissions.
        mode: Option<u32>,
        /// Text or binary.
        kind: FileKind,
        /// A file, a directory or a link.
        entry: EntryKind,
        /// The position from which it is transferred; not 0 if it is resumed.
        offset: u64,
    },
    /// Progress of the current file.
    Progress(Reading),
    /// A file is complete.
    FileDone {
        /// The last progress.
        #[serde(flatten)]
        reading: Reading,
        /// Both ends have compared a digest of the whole file.
        verified: bool,
        /// Bytes that were not transferred, because the receiver had them in an older version of the file.
        known_bytes: u64,
    },
    /// A file was refused.
    FileRefused {
        /// Its name.
        name: String,
        /// The reason, if one was given.
        why: Option<String>,
        /// By the peer, not here.
        by_peer: bool,
    },
    /// A file was cancelled.
    FileCancelled {
        /// Its name; empty if it had not begun.
        name: String,
        /// By the peer, not here.
        by_peer: bool,
    },
    /// A file is sent under another name because two of the batch have the same.
    Renamed {
        /// The file.
        path: String,
        /// The name already used.
        own: String,
        /// The name under which it is sent.
        name: String,
    },
    /// A file that would be sent without `--dry-run`.
    Planned {
        /// The file; left out for stdin.
        #[serde(skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// The name under which it would be sent.
        name: String,
        /// Its length in bytes, if it has one.
        size: Option<u64>,
        /// A file, a directory or a link.
        entry: EntryKind,
    },
    /// The peer (UUCP) has a job that was declined.
    PeerHasWork {
        /// UUCP's letter: `S`, `R`, `X`, `E`, or another.
        command: String,
        /// It stays in the peer's queue.
        kept: bool,
    },
    /// A command that was sent to the peer (ZMODEM) has ended.
    Completed {
        /// Its status.
        status: u32,
    },
    /// A text from the peer, such as its error message.
    Message {
        /// The text, with control characters escaped.
        text: String,
    },
    /// A server's reply.
    Reply {
        /// The answer.
        text: String,
        /// The files of a directory listing.
        files: Vec<ListedFile>,
    },
    /// A server is up.
    Serving {
        /// The directory, and how it is served.
        root: String,
    },
    /// The user was asked whether to accept an offer.
    Asked {
        /// The question.
        question: String,
        /// The answer.
        yes: bool,
    },
    /// The code phrase of a transfer.
    Code {
        /// The command to type at the peer.
        phrase: String,
    },
    /// The key of a listener.
    HostKey {
        /// The host.
        host: String,
        /// The fingerprint of its key.
        fingerprint: String,
        /// The host was unknown.
        new: bool,
        /// Other hosts that have this key.
        #[serde(skip_serializing_if = "Option::is_none")]
        known_as: Option<Vec<String>>,
    },
    /// A sender was refused because its key is not trusted.
    KeyRefused {
        /// Its address.
        line: String,
        /// Its key.
        key: String,
        /// The fingerprint of its key.
        fingerprint: String,
    },
    /// A peer was refused before a session.
    Refused {
        /// Its address.
        line: String,
        /// The reason.
        why: String,
    },
    /// A peer that had gone silent continues in another session.
    CameBack {
        /// Its previous address.
        line: String,
    },
    /// Our public key (`wst key show`).
    Key {
        /// The key.
        key: String,
        /// Its fingerprint.
        fingerprint: String,
    },
    /// A new secret (`wst key secret`).
    Secret {
        /// The secret.
        secret: String,
    },
    /// A listener whose key is known (`wst key list`).
    KnownHost {
        /// The host.
        host: String,
        /// Its key.
        key: String,
        /// The fingerprint of the key.
        fingerprint: String,
    },
    /// A trusted sender (`wst key list`).
    AuthorizedKey {
        /// Its name.
        name: String,
        /// Its key.
        key: String,
        /// The fingerprint of the key.
        fingerprint: String,
    },
    /// The users of a server (`wst users list`).
    Users {
        /// Their names.
        names: Vec<String>,
    },
    /// A serial port (`wst ports`).
    Port {
        /// Its device.
        path: String,
        /// Its driver.
        driver: Option<String>,
        /// Its USB device.
        usb: Option<Usb>,
        /// Its name below `/dev/serial/by-id`.
        #[serde(skip_serializing_if = "Option::is_none")]
        by_id: Option<String>,
        /// With `--watch`: whether it came (true) or went.
        #[serde(skip_serializing_if = "Option::is_none")]
        came: Option<bool>,
    },
    /// A setting (`wst show`).
    Setting {
        /// Its name.
        name: &'static str,
        /// Its value.
        value: String,
        /// Its default.
        default: &'static str,
        /// The unit of the value.
        unit: &'static str,
        /// Possible values.
        range: String,
        /// What it does.
        doc: &'static str,
        /// Its source.
        source: &'static str,
    },
    /// What is remembered of a line (`wst show --line`).
    Remembered {
        /// The line.
        line: String,
        /// Seconds since the transfer that found it out; `null` if nothing is remembered.
        age_s: Option<u64>,
        /// Its round trip in seconds.
        round_trip_s: Option<f64>,
        /// Bytes between two errors; `null` if there was none.
        error_spacing: Option<u64>,
        /// Whether control characters pass as they are; `null` if that was not tried.
        codes_pass: Option<bool>,
        /// The settings that follow, as `NAME=VALUE`.
        settings: Vec<String>,
    },
    /// A link to this program (`wst install-links`).
    Installed {
        /// The name of the program.
        name: String,
        /// Where the link is.
        path: String,
    },
    /// The emulated line is up (`wst line`).
    LineUp {
        /// The line.
        line: String,
    },
    /// The UDP ports of the emulated IMPs (`wst line`).
    Imps {
        /// At A and at B.
        ports: [u16; 2],
    },
    /// The parameters of a SLIP link.
    Link {
        /// The longest packet, in bytes.
        mtu: u32,
        /// Transmission time of such a packet, if the rate is known.
        packet_s: Option<f64>,
        /// The configured header compression.
        compress: String,
    },
    /// The network interface of a SLIP link.
    Tun {
        /// Its name.
        name: String,
        /// Our address.
        local: String,
        /// The peer's address.
        remote: String,
    },
    /// A remark about the user-space stack of a SLIP link.
    Stack {
        /// A sentence.
        text: String,
    },
    /// A SLIP link is up.
    Up {
        /// It is up again after the line was lost.
        again: bool,
    },
    /// The line of a SLIP link is lost; it is being reopened.
    Lost {
        /// The reason.
        message: String,
    },
    /// The peer of a SLIP link compresses headers, and so do we.
    Compressing {},
    /// A ping reply.
    Pong {
        /// The address that replied.
        from: String,
        /// The number of the ping.
        number: u64,
        /// The round trip.
        s: f64,
    },
    /// The counters of a SLIP link, on request.
    Statistics(LinkCounts),
    /// The counters of a SLIP link, at its end.
    Carried(LinkCounts),
    /// An echo of an ARPANET host (`wst ncp echo`).
    Echo {
        /// The number of the echo.
        turn: u32,
        /// The last round trip that was measured, in nanoseconds.
        ns: Option<u64>,
        /// Echoes lost so far.
        lost: u32,
        /// A sentence.
        text: String,
    },
    /// A user of our ARPANET server has connected.
    User {
        /// A sentence.
        text: String,
    },
    /// A user of our ARPANET server has disconnected.
    Gone {
        /// A sentence.
        text: String,
    },
    /// A file of our ARPANET server is stored or retrieved.
    File {
        /// A sentence.
        text: String,
    },
    /// A request of the user of our ARPANET server succeeded.
    Done {
        /// A sentence.
        text: String,
    },
    /// A request of the user of our ARPANET server failed.
    NotDone {
        /// A sentence.
        text: String,
    },
    /// Where the time of a transfer went (`wst explain`, `--explain`).
    Explained(Box<Explained>),
    /// The result of a scenario (`wst lab run`).
    Result(Box<ScenarioResult>),
    /// Many runs of a scenario that differ in their seeds (`wst lab repeat`).
    Repeats(Box<Repeats>),
    /// A transfer in real time and in virtual time (`wst lab check`).
    Checked(Box<Checked>),
    /// A network measured with packets of one length (`wst lab bench`).
    Bench(Box<BenchRow>),
    /// An available table (`wst lab table --list`).
    Table {
        /// Its name.
        table: String,
        /// Its title.
        title: String,
    },
    /// A cell of a table (`wst lab table`).
    Cell(Box<Cell>),
    /// A line of the scoreboard (`wst lab table`, after all cells).
    Score(Box<Score>),
    /// An available sweep (`wst lab sweep --list`).
    Sweep {
        /// Its name.
        sweep: String,
        /// Its title.
        title: String,
        /// Number of runs.
        points: u64,
    },
    /// A result of a sweep: `point`, the parameters that the sweep varies, and the columns of `wst lab sweep`.
    Row(Map<String, Value>),
    /// The runs of a protocol (`wst lab swarm`).
    Protocol(Box<SwarmSum>),
    /// A seed that revealed a fault (`wst lab swarm`).
    Failure(Box<FailedSeed>),
    /// The report has been written (`wst lab report`).
    Report {
        /// The page.
        file: String,
        /// Number of tables.
        tables: u64,
        /// Number of values in them.
        cells: u64,
        /// Number of sweeps.
        sweeps: u64,
        /// Number of time budgets.
        budgets: u64,
    },
    /// Where two traces first differ (`wst lab diff`).
    Parting {
        /// The line, from 1.
        line: u64,
        /// Its text in A.
        a: Option<String>,
        /// Its text in B.
        b: Option<String>,
    },
    /// A kind of line whose count differs between two traces (`wst lab diff`).
    Count {
        /// The kind: who, and which event.
        of: String,
        /// Count in A.
        a: u64,
        /// Count in B.
        b: u64,
    },
    /// A result that differs (`wst lab diff`).
    Change {
        /// The parameters of the result.
        of: String,
        /// The fields that differ.
        changes: std::collections::BTreeMap<String, Sides>,
    },
    /// A result that only one file has (`wst lab diff`).
    Only {
        /// The parameters of the result.
        of: String,
        /// `a` or `b`.
        #[serde(rename = "in")]
        within: String,
    },
}

impl Event {
    /// The output line, without the line end.
    pub fn line(self) -> String {
        let mut object = Map::new();
        object.insert("v".to_owned(), VERSION.into());
        // Maps have strings as keys, and numbers that are not finite become null: nothing here fails.
        if let Ok(Value::Object(fields)) = serde_json::to_value(self) {
            object.extend(fields);
        }
        Value::Object(object).to_string()
    }
}

/// The JSON Schema of a line. A line has no fields beyond those in the schema.
#[cfg(feature = "schema")]
pub fn schema() -> Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
    let mut schema: Value = settings.into_generator().into_root_schema_for::<Event>().into();
    schema["title"] = "An event of wst --json".into();
    schema["description"] = "One line of the output.".into();
    let all = schema.get_mut("oneOf").and_then(Value::as_array_mut);
    for event in all.into_iter().flatten() {
        event["properties"]["v"] = serde_json::json!({ "const": VERSION });
        if let Some(required) = event["required"].as_array_mut() {
            required.push("v".into());
        }
        if event.get("additionalProperties").is_none() {
            event["unevaluatedProperties"] = false.into();
        }
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_begins_with_version_and_name() {
        let event = Event::WrongPeer { text: "it sends".to_owned() };
        assert_eq!(event.line(), r#"{"v":1,"event":"wrong-peer","text":"it sends"}"#);
        assert_eq!(Event::Compressing {}.line(), r#"{"v":1,"event":"compressing"}"#);
        let end = End { exit: 2, outcome: "usage", message: "no".into(), summary: None };
        let line = r#"{"v":1,"event":"end","exit":2,"outcome":"usage","message":"no"}"#;
        assert_eq!(Event::End(Box::new(end)).line(), line);
    }

    #[test]
    fn command_summary_is_flattened_into_the_end_event() {
        let sweep = SweepSummary { points: 3, failed: 0, files: Vec::new() };
        let summary = Some(Summary::Sweep(sweep));
        let end = End { exit: 0, outcome: "done", message: String::new(), summary };
        let line = Event::End(Box::new(end)).line();
        assert!(line.ends_with(r#""message":"","points":3,"failed":0,"files":[]}"#), "{line}");
    }
}
