//! INPUT, MINPUT, REINPUT: wait for text from the connection; OUTPUT and LINEOUT.

use std::time::Duration;

use crate::fields::Fields;
use crate::interp::Interp;
use crate::pattern::search;
use crate::text::{integer, lossy};
use crate::trouble::{Flow, Trouble};
use crate::world::{Heard, Screen, Signal};

/// Switches of INPUT.
#[derive(Clone, Copy, Debug, Default)]
struct Switches {
    clear: bool,
    /// Stops after this many bytes.
    count: Option<u64>,
    no_match: bool,
    no_wrap: bool,
}

/// An awaited text.
struct Target {
    text: Vec<u8>,
    pattern: bool,
}

/// The prefix that \fpattern() puts before a pattern for INPUT.
pub(crate) const PATTERN_MARK: &[u8] = b"\x01pattern:";
/// How far back a pattern is searched for.
const PATTERN_REACH: usize = 1024;

impl Interp<'_> {
    pub(crate) fn input(&mut self, fields: &mut Fields<'_>, many: bool) -> Result<Flow, Trouble> {
        let switches = self.input_switches(fields)?;
        let wait_s = self.input_time(fields)?;
        let wait_s = (wait_s as f64 * self.settings.input_scale) as i64;
        let targets = self.targets(fields, many)?;
        self.received.wait_s = wait_s;
        self.received.which = 0;
        self.received.matched.clear();
        self.received.count = 0;
        if switches.clear {
            self.received.buffer.clear();
        }
        let begin = self.now_ms();
        let status = self.wait_for(&targets, wait_s, switches)?;
        self.received.time_ms = self.now_ms() - begin;
        self.received.status = status;
        self.status = i64::from(status != 0);
        if status != 0 && self.settings.input_quit {
            return Ok(Flow::Stop);
        }
        Ok(Flow::Next)
    }

    fn input_switches(&mut self, fields: &mut Fields<'_>) -> Result<Switches, Trouble> {
        let mut switches = Switches::default();
        while let Some(word) = fields.peek().filter(|w| !w.grouped && w.text.starts_with(b"/")) {
            fields.field();
            let text = self.expand(word.text)?.to_ascii_lowercase();
            let at = text.iter().position(|b| *b == b':').unwrap_or(text.len());
            let value = text.get(at + 1..).unwrap_or_default();
            match &text[..at] {
                b"/clear" => switches.clear = true,
                b"/nomatch" => switches.no_match = true,
                b"/nowrap" => switches.no_wrap = true,
                b"/count" => switches.count = Some(u64::try_from(self.number(value)?).unwrap_or(0)),
                _ => {
                    let say = "expected /CLEAR, /COUNT:n, /NOMATCH or /NOWRAP";
                    return Err(Trouble::new(format!("{say}, got {}", lossy(&text))));
                }
            }
        }
        Ok(switches)
    }

    /// Seconds; negative is indefinitely.
    fn input_time(&mut self, fields: &mut Fields<'_>) -> Result<i64, Trouble> {
        let missing = || Trouble::new("expected a number of seconds, got nothing");
        let word = fields.field().ok_or_else(missing)?;
        let text = self.expand(word.text)?;
        if !text.contains(&b':') {
            return self.number(&text);
        }
        let shown = lossy(&text);
        let at = crate::calendar::time_of(&shown);
        let say = || Trouble::new(format!("expected seconds or hh:mm:ss, got {shown}"));
        let at = at.ok_or_else(say)?;
        Ok((at - self.local().second).rem_euclid(86_400))
    }

    fn targets(&mut self, fields: &mut Fields<'_>, many: bool) -> Result<Vec<Target>, Trouble> {
        let mut texts = Vec::new();
        if many {
            while let Some(word) = fields.field() {
                texts.push(self.expand(word.text)?);
            }
        } else {
            let text = crate::text::ungroup(fields.rest());
            texts.push(self.expand(text)?);
        }
        let target = |text: Vec<u8>| match text.strip_prefix(PATTERN_MARK) {
            Some(pattern) => Target { text: pattern.to_vec(), pattern: true },
            None => Target { text, pattern: false },
        };
        Ok(texts.into_iter().map(target).collect())
    }

    fn wait_for(
        &mut self,
        targets: &[Target],
        wait_s: i64,
        switches: Switches,
    ) -> Result<i64, Trouble> {
        let begin = self.now_ms();
        let ends = (wait_s >= 0).then(|| begin.saturating_add(wait_s.saturating_mul(1000)));
        let mut heard: Vec<u8> = Vec::new();
        let mut last = begin;
        loop {
            let now = self.now_ms();
            let silence = self.settings.input_silence as i64 * 1000;
            let quiet = (silence > 0).then(|| last + silence);
            let until = [ends, quiet].into_iter().flatten().min();
            let left = until.map_or(3_600_000, |until| (until - now).max(0));
            match self.world.hear(Duration::from_millis(left as u64)) {
                Heard::Byte(byte) => {
                    last = self.now_ms();
                    if byte == 0 {
                        continue;
                    }
                    if self.note(byte, switches.no_wrap) {
                        return Ok(6);
                    }
                    heard.push(byte);
                    if heard.len() > 4 * PATTERN_REACH {
                        heard.drain(..3 * PATTERN_REACH);
                    }
                    if switches.count.is_some_and(|count| self.received.count >= count) {
                        return Ok(0);
                    }
                    if !switches.no_match && switches.count.is_none() && self.ends(targets, &heard)
                    {
                        return Ok(0);
                    }
                }
                Heard::Silence => {
                    let now = self.now_ms();
                    if until.is_some_and(|until| now >= until) || left == 0 {
                        return Ok(1);
                    }
                }
                Heard::Interrupted => return Ok(2),
                Heard::Lost => return Ok(4),
            }
        }
    }

    /// Stores a byte; returns whether the buffer is full and may not wrap.
    fn note(&mut self, byte: u8, no_wrap: bool) -> bool {
        let most = self.settings.input_buffer.max(1);
        let received = &mut self.received;
        received.last = Some(byte);
        received.count += 1;
        if received.buffer.len() >= most {
            if no_wrap {
                return true;
            }
            let cut = received.buffer.len() - most + 1;
            received.buffer.drain(..cut);
        }
        received.buffer.push(byte);
        if self.settings.input_echo {
            self.world.say(Screen::Output, &[byte]);
        }
        false
    }

    /// Whether the input ends with one of the texts.
    fn ends(&mut self, targets: &[Target], heard: &[u8]) -> bool {
        let case = self.settings.input_case;
        for (index, target) in targets.iter().enumerate() {
            let found = if target.pattern {
                let from = heard.len().saturating_sub(PATTERN_REACH);
                search(&target.text, &heard[from..], 0, case)
                    .map(|(at, len)| &heard[from + at..][..len])
            } else {
                let len = target.text.len().max(1);
                let tail = heard.len().checked_sub(len).map(|at| &heard[at..]);
                tail.filter(|tail| {
                    target.text.is_empty()
                        || if case {
                            *tail == target.text
                        } else {
                            tail.eq_ignore_ascii_case(&target.text)
                        }
                })
            };
            if let Some(found) = found {
                self.received.matched = found.to_vec();
                self.received.which = index + 1;
                return true;
            }
        }
        false
    }

    pub(crate) fn reinput(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        self.input_time(fields)?;
        let targets = self.targets(fields, false)?;
        let buffer = self.received.buffer.clone();
        let case = self.settings.input_case;
        let target = &targets[0];
        let found = if target.pattern {
            search(&target.text, &buffer, 0, case).map(|(at, len)| buffer[at..at + len].to_vec())
        } else {
            let same = |part: &&[u8]| {
                if case { **part == *target.text } else { part.eq_ignore_ascii_case(&target.text) }
            };
            let len = target.text.len().max(1);
            buffer.windows(len).find(same).map(<[u8]>::to_vec)
        };
        self.status = i64::from(found.is_none());
        self.received.which = usize::from(found.is_some());
        self.received.matched = found.unwrap_or_default();
        Ok(Flow::Next)
    }

    /// OUTPUT: sends a text, with `\b`, `\l` and `\n` for BREAK and NUL.
    pub(crate) fn output(&mut self, text: &[u8], ends_line: bool) -> Result<Flow, Trouble> {
        let special = self.settings.special_escapes;
        let mut pieces: Vec<(Vec<u8>, Option<Option<Signal>>)> = vec![(Vec::new(), None)];
        let mut begin = 0;
        let mut at = 0;
        while special && at + 1 < text.len() {
            let piece = match (text[at], text[at + 1].to_ascii_lowercase()) {
                (b'\\', b'b') => Some(Some(Signal::Break)),
                (b'\\', b'l') => Some(Some(Signal::LongBreak)),
                (b'\\', b'n') => Some(None),
                (b'\\', _) => {
                    at += 2;
                    continue;
                }
                _ => {
                    at += 1;
                    continue;
                }
            };
            pieces.push((text[begin..at].to_vec(), piece));
            at += 2;
            begin = at;
        }
        pieces.push((text[begin..].to_vec(), None));
        for (raw, then) in pieces {
            let bytes = self.expand(&raw)?;
            self.transmit(&bytes)?;
            match then {
                Some(Some(signal)) => self.world.signal(signal)?,
                Some(None) => self.transmit(&[0])?,
                None => {}
            }
        }
        if ends_line {
            self.transmit(b"\r")?;
        }
        self.status = 0;
        Ok(Flow::Next)
    }

    fn transmit(&mut self, bytes: &[u8]) -> Result<(), Trouble> {
        let pause = Duration::from_millis(self.settings.output_pacing_ms);
        if pause.is_zero() {
            if !bytes.is_empty() {
                self.world.transmit(bytes)?;
            }
            return Ok(());
        }
        for byte in bytes {
            self.world.transmit(&[*byte])?;
            self.world.pause(pause, false);
        }
        Ok(())
    }

    /// PAUSE, SLEEP, WAIT in seconds, MSLEEP in milliseconds.
    pub(crate) fn pause(
        &mut self,
        fields: &mut Fields<'_>,
        unit_ms: i64,
        keys: bool,
    ) -> Result<Flow, Trouble> {
        let ms = if fields.is_over() {
            unit_ms
        } else if unit_ms == 1000 {
            self.input_time(fields)?.saturating_mul(1000)
        } else {
            let word = fields.field().map(|word| word.text).unwrap_or_default();
            let text = self.expand(word)?;
            integer(&text).map_or_else(|| self.number(&text), Ok)?
        };
        let time = Duration::from_millis(u64::try_from(ms).unwrap_or(0));
        let ended = self.world.pause(time, keys);
        self.status = i64::from(ended);
        Ok(Flow::Next)
    }
}
