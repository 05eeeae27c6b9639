//! What transfers have found out about lines, for the next one on the same line: `lines.toml` in the state directory.
//!
//! Nothing depends on it. A file that cannot be read or written is as good as none, and the program that wrote last has
//! its say.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use toml::{Table, Value};
use wetstring_drive::LineSpec;
use wetstring_drive::os::files;
use wetstring_drive::port::is_symbolic;
use wetstring_proto::Learned;

use super::protocol::Protocol;
use super::settings::Settings;
use super::state_directory;

/// Lines that are kept; those that were used last stay.
const MOST_LINES: usize = 200;
/// A line that was not used for that many seconds may be another one by now.
const OLD: u64 = 30 * 24 * 3600;
/// What was found of control characters is tried again after that many seconds.
const CODES_OLD: u64 = 7 * 24 * 3600;
/// Fewer bytes say nothing of a line, unless there were that many errors.
const LEAST_BYTES: u64 = 2000;
const LEAST_HITS: u64 = 3;
/// A shorter round trip needs no memory.
const SHORT: Duration = Duration::from_millis(50);

/// What is known of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Known {
    /// Unix time of the last transfer.
    pub(crate) at: u64,
    pub(crate) round_trip: Option<Duration>,
    /// Bytes between two errors; `None`: none was seen.
    pub(crate) spacing: Option<u64>,
    /// Whether control characters pass bare, and the Unix time at which that was tried.
    pub(crate) codes: Option<bool>,
    pub(crate) tried_at: u64,
}

impl Known {
    /// What a transfer has found out, unless it was too short for that.
    pub(crate) fn of(learned: &Learned, at: u64) -> Option<Self> {
        let is_little = learned.carried < LEAST_BYTES && learned.hits < LEAST_HITS;
        if learned.carried == 0 || is_little {
            return None;
        }
        Some(Self {
            at,
            round_trip: learned.round_trip,
            spacing: learned.carried.checked_div(learned.hits).map(|spacing| spacing.max(1)),
            codes: learned.codes,
            tried_at: at,
        })
    }

    /// Whether the next transfer is helped by it.
    fn matters(&self) -> bool {
        let long = self.round_trip.is_some_and(|round_trip| round_trip >= SHORT);
        long || self.spacing.is_some() || self.codes == Some(false)
    }

    /// With what was known before: half of it counts, so that one bad day is forgotten.
    fn after(self, before: Option<&Self>) -> Self {
        let Some(before) = before else { return self };
        let spacing = match (before.spacing, self.spacing) {
            (Some(before), Some(now)) => Some(u64::midpoint(before, now)),
            // Twice as good as it was; in the end no error is worth knowing.
            (Some(before), None) => Some(before * 2).filter(|spacing| *spacing < 1_000_000),
            (None, now) => now,
        };
        let round_trip = self.round_trip.or(before.round_trip);
        let codes = self.codes.or(before.codes);
        let tried_at = if self.codes.is_some() { self.tried_at } else { before.tried_at };
        Self { round_trip, spacing, codes, tried_at, ..self }
    }

    /// In words.
    pub(crate) fn words(&self) -> String {
        let mut all = Vec::new();
        if let Some(round_trip) = self.round_trip {
            all.push(format!("round trip {} ms", round_trip.as_millis()));
        }
        all.push(self.spacing.map_or_else(
            || "no errors".to_owned(),
            |spacing| format!("an error in {spacing} bytes"),
        ));
        match self.codes {
            Some(true) => all.push("control characters pass".to_owned()),
            Some(false) => all.push("control characters are lost or changed".to_owned()),
            None => {}
        }
        all.join(", ")
    }

    /// The settings that follow.
    pub(crate) fn settings(&self) -> Vec<(&'static str, String)> {
        let mut all = Vec::new();
        if let Some(round_trip) = self.round_trip {
            let millis = round_trip.as_millis().min(600_000);
            all.push(("kermit.known-round-trip", millis.to_string()));
        }
        if let Some(spacing) = self.spacing {
            let long = spacing.min(u32::MAX.into()).to_string();
            all.push(("kermit.known-spacing", long.clone()));
            all.push(("zmodem.known-spacing", long));
            all.push(("xymodem.known-spacing", spacing.min(u16::MAX.into()).to_string()));
        }
        if let Some(pass) = self.codes {
            let word = if pass { "pass" } else { "eaten" };
            all.push(("kermit.known-codes", word.to_owned()));
        }
        all
    }

    fn read(value: &Value) -> Option<Self> {
        let table = value.as_table()?;
        let number = |name: &str| u64::try_from(table.get(name)?.as_integer()?).ok();
        Some(Self {
            at: number("at")?,
            round_trip: number("round-trip-ms")
                .filter(|millis| *millis <= 600_000)
                .map(Duration::from_millis),
            spacing: number("error-spacing").filter(|n| (1..=u64::from(u32::MAX)).contains(n)),
            codes: table.get("codes-pass").and_then(Value::as_bool),
            tried_at: number("codes-tried-at").unwrap_or(0),
        })
    }
}

/// `5 minutes`
pub(crate) fn age(seconds: u64) -> String {
    let (n, unit) = match seconds {
        0..60 => return "less than a minute".to_owned(),
        60..3600 => (seconds / 60, "minute"),
        3600..86_400 => (seconds / 3600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    crate::ui::format::count(n, unit)
}

/// Now, as Unix time.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The lines that are remembered.
pub(crate) struct Lines {
    pub(crate) path: Option<PathBuf>,
    all: Vec<(String, Known)>,
}

impl Lines {
    /// Reads them.
    pub(crate) fn load() -> Self {
        let path = state_directory().map(|directory| directory.join("lines.toml"));
        let text = path.as_ref().and_then(|path| std::fs::read_to_string(path).ok());
        Self { path, all: parse(&text.unwrap_or_default(), now()) }
    }

    /// What is known of a line.
    pub(crate) fn get(&self, line: &LineSpec) -> Option<&Known> {
        let key = key(line)?;
        self.all.iter().find(|(line, _)| *line == key).map(|(_, known)| known)
    }

    /// Adds what was found out, and writes the file.
    pub(crate) fn add(&mut self, line: &LineSpec, found: Known) -> std::io::Result<()> {
        let (Some(key), Some(path)) = (key(line), &self.path) else { return Ok(()) };
        let known = found.after(self.get(line));
        let was_there = self.all.iter().any(|(line, _)| *line == key);
        if !known.matters() && !was_there {
            return Ok(());
        }
        self.all.retain(|(line, _)| *line != key);
        if known.matters() {
            self.all.push((key, known));
        }
        self.all.sort_by_key(|(_, known)| known.at);
        let surplus = self.all.len().saturating_sub(MOST_LINES);
        self.all.drain(..surplus);
        write(path, &text(&self.all))
    }
}

/// The name under which a line is remembered; `None` for lines that have no lasting one.
fn key(line: &LineSpec) -> Option<String> {
    match line {
        // Another peer each time.
        LineSpec::Stdio | LineSpec::Descriptor(_) | LineSpec::Pty(_) => None,
        line if line.listens() => None,
        // A command may hold a password.
        LineSpec::Exec(_) | LineSpec::ExecPty(_) => None,
        LineSpec::Serial(serial) if !is_symbolic(&serial.path) => {
            let mut serial = serial.clone();
            serial.path = std::path::absolute(&serial.path).unwrap_or(serial.path);
            Some(LineSpec::Serial(serial).to_string())
        }
        line => Some(line.to_string()).filter(|line| !line.contains(char::is_control)),
    }
}

fn parse(text: &str, now: u64) -> Vec<(String, Known)> {
    let table: Table = text.parse().unwrap_or_default();
    let known = table.iter().filter_map(|(line, value)| Some((line.clone(), Known::read(value)?)));
    // The clock may have been wrong: what is not yet is not old either.
    let known = known.filter(|(_, known)| now.saturating_sub(known.at) < OLD);
    // Lines are mended: what was eaten is tried again after a while.
    let is_old = |known: &Known| now.saturating_sub(known.tried_at) >= CODES_OLD;
    known
        .map(|(line, known)| {
            let codes = known.codes.filter(|_| !is_old(&known));
            (line, Known { codes, ..known })
        })
        .collect()
}

fn text(all: &[(String, Known)]) -> String {
    let mut text =
        "# Written by wst: what it has found out about lines. It may be deleted.\n".to_owned();
    for (line, known) in all {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\n[{}]\nat = {}", Value::String(line.clone()), known.at);
        if let Some(round_trip) = known.round_trip {
            let _ = writeln!(text, "round-trip-ms = {}", round_trip.as_millis());
        }
        if let Some(spacing) = known.spacing {
            let _ = writeln!(text, "error-spacing = {spacing}");
        }
        if let Some(pass) = known.codes {
            let _ = writeln!(text, "codes-pass = {pass}\ncodes-tried-at = {}", known.tried_at);
        }
    }
    text
}

/// Replaces the file as a whole: two programs may write at the same time.
fn write(path: &std::path::Path, text: &str) -> std::io::Result<()> {
    let directory = path.parent().ok_or(std::io::ErrorKind::InvalidInput)?;
    std::fs::create_dir_all(directory)?;
    let temporary = directory.join(format!("lines.toml.{}", std::process::id()));
    // Left by one that was killed and had the same number.
    let _ = std::fs::remove_file(&temporary);
    let written = files::create_private(&temporary)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| std::fs::rename(&temporary, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    written
}

/// Whether a sender of this protocol makes use of it.
pub(crate) fn is_for(protocol: Protocol) -> bool {
    let known = format!("{}.known-spacing", protocol.family().prefix());
    protocol.family().table().iter().any(|row| row.name == known)
}

/// Sets what is known of the line, unless the user has set it; returns the words for that.
pub(crate) fn apply(all: &mut Settings, line: &LineSpec) -> Option<String> {
    if !all.line.remember {
        return None;
    }
    let lines = Lines::load();
    let known = lines.get(line)?;
    for (name, value) in known.settings() {
        if !all.is_chosen(name) {
            // The values are in the rows' ranges.
            let _ = all.protocols.set(name, &value);
        }
    }
    let age = age(now().saturating_sub(known.at));
    Some(format!("remembered of this line, {age} ago: {}", known.words()))
}

/// Remembers what a transfer has found out.
pub(crate) fn learn(all: &Settings, line: &LineSpec, learned: &Learned) -> std::io::Result<()> {
    let Some(found) = Known::of(learned, now()).filter(|_| all.line.remember) else {
        return Ok(());
    };
    Lines::load().add(line, found)
}

/// Remembers what a probe has found.
pub(crate) fn found(
    all: &Settings,
    line: &LineSpec,
    round_trip: Duration,
    pass: bool,
) -> std::io::Result<()> {
    if !all.line.remember {
        return Ok(());
    }
    let mut lines = Lines::load();
    let spacing = lines.get(line).and_then(|known| known.spacing);
    let at = now();
    let known =
        Known { at, round_trip: Some(round_trip), spacing, codes: Some(pass), tried_at: at };
    lines.add(line, known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(at: u64, millis: u64, spacing: u64) -> Known {
        let round_trip = Some(Duration::from_millis(millis));
        let spacing = Some(spacing).filter(|n| *n > 0);
        Known { at, round_trip, spacing, codes: Some(true), tried_at: at }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let all = vec![
            ("/dev/serial/by-id/usb-\"x\"".to_owned(), known(1000, 512, 9800)),
            ("tcp://box:1".to_owned(), Known { at: 1001, ..Known::default() }),
        ];
        assert_eq!(parse(&text(&all), 1001), all);
        assert_eq!(parse(&text(&all), 1000 + OLD), all[1..], "the first is old");
        assert_eq!(parse("[a]\nat = -1\n[b]\nat = \"x\"\n[c]\n", 5), []);
        assert_eq!(parse("no file of ours", 5), []);
    }

    #[test]
    fn a_bad_day_fades() {
        let bad = known(0, 500, 1000);
        let mut line = bad;
        for _ in 0..12 {
            line = known(0, 400, 0).after(Some(&line));
        }
        assert_eq!((line.spacing, line.round_trip), (None, Some(Duration::from_millis(400))));
        assert_eq!(known(0, 1, 3000).after(Some(&bad)).spacing, Some(2000));
        assert!(
            !Known { round_trip: Some(Duration::from_millis(9)), ..Known::default() }.matters()
        );
    }

    #[test]
    fn a_short_transfer_says_nothing() {
        let learned = Learned { carried: 1999, hits: 1, ..Learned::default() };
        assert_eq!(Known::of(&learned, 7), None);
        // A block that never came through.
        let failed = Learned { carried: 1700, hits: 5, ..Learned::default() };
        assert_eq!(Known::of(&failed, 7).and_then(|known| known.spacing), Some(340));
        let learned = Learned { carried: 2000, ..learned };
        assert_eq!(Known::of(&learned, 7).and_then(|known| known.spacing), Some(2000));
    }

    #[test]
    fn settings_of_the_user_stay() {
        let mut all = Settings::default();
        all.set("kermit.known-spacing", "77").unwrap();
        for (name, value) in known(1, 700_000, 5_000_000_000).settings() {
            let mut fresh = Settings::default();
            assert_eq!(fresh.protocols.set(name, &value), Ok(()), "{name} {value}");
        }
        assert!(all.is_chosen("kermit.known-spacing"));
    }
}
