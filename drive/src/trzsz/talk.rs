//! A conversation with `trz` or `tsz`: a line, and the line that answers it.

use super::Terms;
use super::escape::Escapes;
use super::line::{self, Unpacker, divided, is_letter, unpacked};
use super::redrawn::Redrawn;
use crate::run::Watch;
use crate::shell::{Broken, Counted, Report, Wire};
use std::time::{Duration, Instant};
use wetstring_proto::engine::Event;
use wetstring_proto::peer::Host;
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
/// What may be drawn before a line: some screens.
const MOST_DRAWN: usize = 1 << 20;
/// The longest mark of a line, but its last character.
const MARK: usize = 5;
/// Lines by which a peer ends the transfer.
const ENDS: [&str; 3] = ["FAIL", "fail", "EXIT"];
/// What ends a program of trzsz that waits for a line: its terminal is raw, and makes no signal of it.
const CTRL_C: u8 = 3;

/// A conversation with a peer that has started.
pub struct Talk<'a> {
    wire: &'a mut dyn Wire,
    pub(super) report: Report<'a>,
    pub(super) terms: Terms,
    /// The table of the binary form, once it is agreed upon.
    pub(super) binary: Option<Escapes>,
    /// The length of the last line of a file, if it has no answer.
    unanswered: usize,
    /// A part of it was sent.
    is_cut: bool,
    /// The last that the peer's program writes has come.
    is_over: bool,
    redrawn: Redrawn,
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
    pub fn new(
        wire: &'a mut dyn Wire,
        terms: Terms,
        (watch, stats): (&'a mut dyn Watch, &'a mut Stats),
    ) -> Self {
        let report = Report::new(watch, stats);
        Self {
            wire,
            report,
            terms,
            binary: None,
            unanswered: 0,
            is_cut: false,
            is_over: false,
            redrawn: Redrawn::default(),
            received: Vec::new(),
            taken: 0,
            counts: Counts::default(),
        }
    }

    pub(super) fn event(&mut self, event: &Event<'_>) {
        self.report.event(&self.counts, event);
    }

    /// Shows progress; an error if the user has cancelled.
    pub(super) fn go_on(&mut self) -> Result<(), Broken> {
        self.report.go_on(&self.counts)
    }

    /// Sends a line.
    pub(super) fn send(&mut self, mut line: Vec<u8>) -> Result<(), Broken> {
        line.extend_from_slice(self.terms.host.line_end());
        self.bytes_out(&line)
    }

    fn bytes_out(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        self.counts.sent += bytes.len() as u64;
        self.wire.send(bytes)
    }

    /// Sends bytes of a file, and waits until the peer has them.
    pub(super) fn send_data(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        let lines = match &self.binary {
            None => [line::packed("DATA", bytes), self.terms.host.line_end().to_vec()].concat(),
            Some(escapes) => {
                let raw = escapes.write(bytes);
                [format!("#DATA:{}\n", raw.len()).as_bytes(), &raw].concat()
            }
        };
        self.unanswered = lines.len();
        self.is_cut = true;
        self.bytes_out(&lines)?;
        self.is_cut = false;
        self.echoed(bytes.len() as u64)?;
        self.unanswered = 0;
        Ok(())
    }

    /// The peer has heard a number.
    pub(super) fn echoed(&mut self, sent: u64) -> Result<(), Broken> {
        let got = self.number("SUCC")?;
        if got == sent {
            Ok(())
        } else {
            Err(unexpected(&format!("#SUCC:{sent}"), got.to_string().as_bytes()))
        }
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
            self.counts.heard += (self.received.len() - before) as u64;
            if self.terms.host == Host::Windows {
                let drawn = self.received.split_off(before);
                self.redrawn.push(&drawn, &mut self.received);
            }
            self.go_on()?;
        }
        Ok(())
    }

    /// Where something is drawn between lines: leaves that out, up to a line of this type or the peer's last.
    fn arrive_at(&mut self, kind: &str) -> Result<(), Broken> {
        if self.terms.host == Host::Plain {
            return Ok(());
        }
        let marks: Vec<String> =
            ENDS.iter().chain([&kind]).map(|kind| format!("#{kind}:")).collect();
        let mut skipped = 0;
        loop {
            let new = &self.received[self.taken..];
            let is_mark =
                |at: &usize| marks.iter().any(|mark| new[*at..].starts_with(mark.as_bytes()));
            let at = (0..new.len()).find(is_mark);
            // The beginning of a mark may be there.
            let len = at.unwrap_or(new.len().saturating_sub(MARK));
            self.taken += len;
            if at.is_some() {
                return Ok(());
            }
            skipped += len;
            if skipped > MOST_DRAWN {
                return Err(unexpected(&format!("#{kind}:"), &self.received[self.taken..]));
            }
            self.fill(&format!("#{kind}:"))?;
        }
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
        self.arrive_at(kind)?;
        let mut line = self.line(&format!("#{kind}:"))?;
        if self.terms.host != Host::Plain {
            // What is drawn behind a line is no part of it.
            let len = line.iter().position(|byte| !is_letter(*byte)).unwrap_or(line.len());
            line.truncate(len);
        }
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
        self.arrive_at("DATA")?;
        let expected = "#DATA:";
        while self.received.len() - self.taken < expected.len() {
            self.fill(expected)?;
        }
        if !self.received[self.taken..].starts_with(expected.as_bytes()) {
            // What was received instead explains why.
            return Err(self.value("DATA").err().unwrap_or_else(|| bad("DATA", "a part of it")));
        }
        if let Some(escapes) = self.binary.take() {
            let done = self.raw(&escapes, most, to);
            self.binary = Some(escapes);
            return done;
        }
        self.taken += expected.len();
        self.text(most, to)
    }

    /// The same in the text form, behind the type.
    fn text(&mut self, most: u64, to: &mut Takes<'_>) -> Result<u64, Broken> {
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
                self.fill("#DATA:")?;
            }
        }
    }

    /// The same in the binary form: the type, the number of bytes, and these.
    fn raw(&mut self, escapes: &Escapes, most: u64, to: &mut Takes<'_>) -> Result<u64, Broken> {
        let announced = self.number("DATA")?;
        let longest = if escapes.is_empty() { most } else { most.saturating_mul(2) };
        if announced > longest {
            return Err(bad("DATA", "more than was announced"));
        }
        let (mut left, mut len, mut open, mut bytes) = (announced, 0, false, Vec::new());
        while left > 0 {
            if self.taken == self.received.len() {
                self.fill("the bytes of #DATA:")?;
            }
            let new = &self.received[self.taken..];
            let new = &new[..new.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
            bytes.clear();
            escapes.read(new, &mut open, &mut bytes).map_err(|why| bad("DATA", why))?;
            self.taken += new.len();
            left -= new.len() as u64;
            len += bytes.len() as u64;
            if len > most {
                return Err(bad("DATA", "more than was announced"));
            }
            to(self, &bytes)?;
        }
        if open { Err(bad("DATA", "a part of it")) } else { Ok(len) }
    }

    /// Tells the peer the reason, unless the peer ended the transfer.
    pub fn stop(&mut self, why: &Broken) {
        self.wire.clean_up();
        let text = match why {
            Broken::Said(_) | Broken::Line(_) => return,
            // It waits for the rest of a line, of which a reason would be a part; or for one that has gone.
            Broken::Lost => return self.interrupt(),
            _ if self.is_cut => return self.interrupt(),
            Broken::Interrupted(_) => "Stopped".to_owned(),
            why => why.to_string(),
        };
        // It reads that where it expects an answer.
        let _ = self.send(line::packed("fail", text.as_bytes()));
    }

    /// Ends the peer's program wherever it is. In the binary form it counts bytes first: NUL is no part of a line, if
    /// there are more than it waits for.
    fn interrupt(&mut self) {
        let open = if self.binary.is_some() { self.unanswered } else { 0 };
        let last = [vec![0; open], vec![CTRL_C]].concat();
        // A line that fails is the reason already.
        let _ = self.bytes_out(&last);
    }

    /// Whether the peer's program was seen to end, after [`Talk::over`]. Where its screen is drawn, that cannot be seen.
    pub fn peer_has_ended(&self) -> bool {
        self.is_over
    }

    /// The bytes after the peer's last message. Where that is drawn by something else it is all for the screen.
    pub fn over(&mut self) -> Vec<u8> {
        self.wire.clean_up();
        self.received.drain(..std::mem::take(&mut self.taken));
        if self.terms.host != Host::Plain {
            return std::mem::take(&mut self.received);
        }
        let until = Instant::now() + LATE;
        let mut silent = Instant::now() + ENDING;
        loop {
            let last = self.received.windows(LAST.len()).position(|part| part == LAST);
            if let Some(at) = last {
                self.is_over = true;
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
