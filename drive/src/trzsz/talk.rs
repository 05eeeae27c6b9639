//! A conversation with `trz` or `tsz`: a line, and the line that answers it.

use super::line::{self, Unpacker, divided, unpacked};
use crate::run::Watch;
use crate::shell::{Broken, Counted, Report, Wire};
use std::time::{Duration, Instant};
use wetstring_proto::engine::Event;
use wetstring_proto::stats::Stats;

/// The longest line but those of a file's bytes.
const MOST_LINE: usize = 64 * 1024;
/// The longest value in one.
const MOST_VALUE: usize = 64 * 1024;
/// Characters of a message of the peer that are shown.
const MOST_SAID: usize = 200;
/// How often the user is asked.
const LOOK: Duration = Duration::from_millis(200);
/// Silence after which the peer is gone.
const SILENCE: Duration = Duration::from_secs(60);
/// The same after the peer was told to end; it waits for silence itself.
const ENDING: Duration = Duration::from_secs(3);
/// How long what it still sends then may take: lines that take a second and more get no longer.
const LATE: Duration = Duration::from_secs(10);
/// The last that it writes: its cursor shows again.
const LAST: &[u8] = b"\x1b[?25h";
/// How many bytes before it are kept, in case it does not arrive.
const KEPT: usize = 4096;
/// Characters of a file that are decoded at once.
const PART: usize = 4096;

/// A conversation with a peer that has started.
pub struct Talk<'a> {
    wire: &'a mut dyn Wire,
    pub(super) report: Report<'a>,
    received: Vec<u8>,
    /// Received bytes that were looked at.
    taken: usize,
    counts: Counts,
}

/// Takes the bytes of a file as they come.
pub(super) type Takes<'t> = dyn FnMut(&mut Talk<'_>, &[u8]) -> Result<(), Broken> + 't;

/// Bytes sent and received.
#[derive(Clone, Copy, Default)]
struct Counts {
    sent: u64,
    heard: u64,
}

impl Counted for Counts {
    fn counted(&self) -> (u64, u64) {
        (self.sent, self.heard)
    }
}

impl<'a> Talk<'a> {
    /// On this wire, to this watch. The counters are right after a failure, too.
    pub fn new(wire: &'a mut dyn Wire, watch: &'a mut dyn Watch, stats: &'a mut Stats) -> Self {
        let report = Report::new(watch, stats);
        Self { wire, report, received: Vec::new(), taken: 0, counts: Counts::default() }
    }

    pub(super) fn event(&mut self, event: &Event<'_>) {
        self.report.event(&self.counts, event);
    }

    /// Shows progress; an error if the user has cancelled.
    pub(super) fn go_on(&mut self) -> Result<(), Broken> {
        self.report.go_on(&self.counts)
    }

    pub(super) fn send(&mut self, line: &[u8]) -> Result<(), Broken> {
        self.counts.sent += line.len() as u64;
        self.wire.send(line)
    }

    /// Receives more.
    fn fill(&mut self, expected: &str) -> Result<(), Broken> {
        self.received.drain(..std::mem::take(&mut self.taken));
        let until = Instant::now() + SILENCE;
        let before = self.received.len();
        while self.received.len() == before {
            if Instant::now() >= until {
                return Err(Broken::Silence { expected: expected.to_owned(), got: Vec::new() });
            }
            self.wire.receive(LOOK, &mut self.received)?;
            self.go_on()?;
        }
        self.counts.heard += (self.received.len() - before) as u64;
        Ok(())
    }

    /// The next line, without its end.
    fn line(&mut self, expected: &str) -> Result<Vec<u8>, Broken> {
        let mut line = Vec::new();
        loop {
            let new = &self.received[self.taken..];
            let end = new.iter().position(|byte| *byte == b'\n');
            line.extend_from_slice(&new[..end.unwrap_or(new.len())]);
            self.taken += end.map_or(new.len(), |end| end + 1);
            if line.len() > MOST_LINE {
                return Err(unexpected(expected, &line));
            }
            if end.is_some() {
                return Ok(line.trim_ascii().to_vec());
            }
            self.fill(expected)?;
        }
    }

    /// The value of the next line, which is to be of this type.
    fn value(&mut self, kind: &str) -> Result<Vec<u8>, Broken> {
        let line = self.line(&format!("#{kind}:"))?;
        match divided(&line) {
            Some((one, value)) if one == kind.as_bytes() => Ok(value.to_vec()),
            Some((b"FAIL" | b"fail" | b"EXIT", value)) => Err(failed(value)),
            _ => Err(unexpected(&format!("#{kind}:"), &line)),
        }
    }

    pub(super) fn number(&mut self, kind: &str) -> Result<u64, Broken> {
        let value = self.value(kind)?;
        let digits = value.iter().all(u8::is_ascii_digit);
        let number =
            std::str::from_utf8(&value).ok().filter(|_| digits).and_then(|n| n.parse().ok());
        number.ok_or_else(|| unexpected(&format!("a number after #{kind}:"), &value))
    }

    pub(super) fn bytes(&mut self, kind: &str) -> Result<Vec<u8>, Broken> {
        let value = self.value(kind)?;
        unpacked(&value, MOST_VALUE).map_err(|why| bad(kind, why))
    }

    pub(super) fn json(&mut self, kind: &str) -> Result<serde_json::Value, Broken> {
        let bytes = self.bytes(kind)?;
        serde_json::from_slice(&bytes).map_err(|_| unexpected("JSON", &bytes))
    }

    /// The bytes of a line of a file, of which at most `most` are left; `to` gets them as they come. Returns how many.
    pub(super) fn data(&mut self, most: u64, to: &mut Takes<'_>) -> Result<u64, Broken> {
        let expected = "#DATA:";
        while self.received.len() - self.taken < expected.len() {
            self.fill(expected)?;
        }
        if !self.received[self.taken..].starts_with(expected.as_bytes()) {
            // What was received instead explains why.
            return Err(self.value("DATA").err().unwrap_or_else(|| bad("DATA", "a part of it")));
        }
        self.taken += expected.len();
        let (mut unpacker, mut bytes) = (Unpacker::new(), Vec::new());
        loop {
            let new = &self.received[self.taken..];
            let new = &new[..new.len().min(PART)];
            let end = new.iter().position(|byte| *byte == b'\n');
            let text = new[..end.unwrap_or(new.len())].trim_ascii_end();
            bytes.clear();
            unpacker.push(text, most, &mut bytes).map_err(|why| bad("DATA", why))?;
            self.taken += end.map_or(new.len(), |end| end + 1);
            if !bytes.is_empty() {
                to(self, &bytes)?;
            }
            if end.is_some() {
                unpacker.end().map_err(|why| bad("DATA", why))?;
                return Ok(unpacker.len);
            }
            if self.taken == self.received.len() {
                self.fill(expected)?;
            }
        }
    }

    /// Tells the peer the reason, unless the peer ended the transfer.
    pub fn stop(&mut self, why: &Broken) {
        self.wire.clean_up();
        let text = match why {
            Broken::Said(_) | Broken::Line(_) => return,
            Broken::Interrupted(_) => "Stopped".to_owned(),
            why => why.to_string(),
        };
        // It reads that where it expects an answer.
        let _ = self.send(&line::packed("fail", text.as_bytes()));
    }

    /// The bytes after the peer's last message.
    pub fn over(&mut self) -> Vec<u8> {
        self.wire.clean_up();
        self.received.drain(..std::mem::take(&mut self.taken));
        let until = Instant::now() + LATE;
        let mut silent = Instant::now() + ENDING;
        loop {
            let last = self.received.windows(LAST.len()).position(|part| part == LAST);
            if let Some(at) = last {
                return self.received.split_off(at + LAST.len());
            }
            let surplus = self.received.len().saturating_sub(KEPT);
            self.received.drain(..surplus);
            let before = self.received.len();
            let now = Instant::now();
            if now >= silent.min(until) || self.wire.receive(LOOK, &mut self.received).is_err() {
                return std::mem::take(&mut self.received);
            }
            if self.received.len() > before {
                silent = Instant::now() + ENDING;
            }
        }
    }
}

/// The peer's reason for ending.
fn failed(value: &[u8]) -> Broken {
    let text = unpacked(value, MOST_VALUE).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    // The last line of Python's tracebacks is the error.
    let last = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it has failed");
    Broken::Said(last.chars().take(MOST_SAID).collect::<String>())
}

pub(super) fn unexpected(expected: &str, got: &[u8]) -> Broken {
    let got = got[..got.len().min(MOST_SAID)].to_vec();
    Broken::Peer { expected: format!("{expected} of trzsz"), got }
}

/// A value that is wrong in this way.
pub(super) fn bad(kind: &str, why: &str) -> Broken {
    Broken::Peer { expected: format!("#{kind}: of trzsz"), got: why.as_bytes().to_vec() }
}
