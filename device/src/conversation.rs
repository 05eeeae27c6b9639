//! The conversation with a device, without I/O: its input is received bytes and the time, its output actions.

use std::collections::VecDeque;
use std::time::Duration;

use wetstring_proto::Instant;

use crate::script::{Again, Await, Op, Response, Script};

/// Silence after a prompt: what only looks like one is followed by more.
const QUIET: Duration = Duration::from_millis(100);
/// The longest wait for the echo of a command. A device that echoes otherwise than expected is only slower.
const ECHO: Duration = Duration::from_secs(2);
/// The longest wait for what may have been heard by an engine that ended.
const MISSED: Duration = Duration::from_secs(3);
/// Time after which the user is told what to do.
const HINT: Duration = Duration::from_secs(3);
/// The most text that is kept.
const MOST: usize = 64 * 1024;
/// Lines of the device's last words that a message has.
const LAST_LINES: usize = 3;

/// What is to be done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Act {
    /// Type this.
    Type(Vec<u8>),
    /// Send a break of this length.
    Break(Duration),
    /// Change the rate; `None`: to what it was.
    Rate(Option<u32>),
    /// Tell the user.
    Tell(String),
    /// Transfer the file; this was received already. [`Conversation::transferred`] says how it ended.
    Transfer(Vec<u8>),
    /// It is over.
    End(Result<(), Trouble>),
}

/// Kinds of [`Trouble`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The device said nothing.
    Timeout,
    /// It said something else than expected.
    Peer,
    /// What arrived differs from the file.
    Integrity,
}

/// Why it did not succeed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trouble {
    /// Its kind.
    pub fault: Fault,
    /// A sentence.
    pub say: String,
}

/// A conversation.
#[derive(Debug)]
pub struct Conversation {
    script: Script,
    /// Makes what a device says safe to show.
    escaped: fn(&[u8]) -> String,
    /// The operation that is being done.
    index: usize,
    /// Since when.
    since: Instant,
    /// What the device said, and has not been used.
    text: Vec<u8>,
    /// What it said since the last command or the transfer.
    all: Vec<u8>,
    heard: Instant,
    /// The echo that is awaited, and since when.
    echo: Option<(Vec<u8>, Instant)>,
    /// When something is done again.
    again: Instant,
    hinted: bool,
    transferring: bool,
    failed: bool,
    /// What went wrong before the device is brought back.
    trouble: Option<Trouble>,
    /// The device has refused, or asks what the user has to answer.
    refused: Option<Trouble>,
    /// What is done at once.
    due: VecDeque<Act>,
}

impl Conversation {
    /// One that begins now. `escaped` makes what a device says safe to show, in messages.
    pub fn new(script: Script, now: Instant, escaped: fn(&[u8]) -> String) -> Self {
        Self {
            script,
            escaped,
            index: 0,
            since: now,
            text: Vec::new(),
            all: Vec::new(),
            heard: now,
            echo: None,
            again: now,
            hinted: false,
            transferring: false,
            failed: false,
            trouble: None,
            refused: None,
            due: VecDeque::new(),
        }
    }

    /// The device said this.
    pub fn heard(&mut self, bytes: &[u8], now: Instant) {
        self.heard = now;
        for all in [&mut self.text, &mut self.all] {
            all.extend_from_slice(bytes);
            let surplus = all.len().saturating_sub(MOST);
            all.drain(..surplus);
        }
    }

    /// The transfer is over; this was received after it.
    pub fn transferred(&mut self, done: bool, leftover: &[u8], now: Instant) {
        self.transferring = false;
        self.failed |= !done;
        self.all.clear();
        self.text.clear();
        self.step(now);
        self.heard(leftover, now);
    }

    /// The line has closed. Returns whether that is no fault: all was done, and the last command may have restarted the device.
    pub fn closed(&mut self, now: Instant) -> bool {
        !self.failed && self.show(now)
    }

    /// It is to end. Returns whether that takes more than hanging up: the device has another rate, and is brought back.
    pub fn abandon(&mut self, now: Instant) -> bool {
        self.transferring = false;
        self.due.clear();
        if !self.script.fast.contains(&self.index) {
            return false;
        }
        // Skips what is awaited only if nothing has failed.
        self.failed = true;
        self.since = now;
        true
    }

    /// The next action; `None`: none until more is received or at [`Conversation::deadline`].
    pub fn next(&mut self, now: Instant) -> Option<Act> {
        loop {
            if let Some(act) = self.due.pop_front() {
                return Some(act);
            }
            let Some((op, always)) = self.script.ops.get(self.index) else {
                return Some(Act::End(self.trouble.take().map_or(Ok(()), Err)));
            };
            let always = *always;
            if self.failed && !always {
                self.index += 1;
                continue;
            }
            match op {
                Op::Type(bytes) => {
                    let bytes = bytes.clone();
                    self.typed(&bytes, always, now);
                    return Some(Act::Type(bytes));
                }
                Op::Abort(_) if !self.failed => self.step(now),
                Op::Abort(bytes) => {
                    let bytes = bytes.clone();
                    self.step(now);
                    return Some(Act::Type(bytes));
                }
                Op::Rate(rate) => {
                    let rate = *rate;
                    self.step(now);
                    return Some(Act::Rate(rate));
                }
                Op::Pause(time) if now >= self.since + *time => self.step(now),
                Op::Transfer if !self.transferring => {
                    self.transferring = true;
                    return Some(Act::Transfer(std::mem::take(&mut self.text)));
                }
                Op::Tell(text) => {
                    let text = text.clone();
                    self.step(now);
                    return Some(Act::Tell(text));
                }
                Op::Await(_) => match self.refused.take().map_or_else(|| self.awaited(now), Err) {
                    Ok(true) => {}
                    Ok(false) => return None,
                    Err(trouble) if always || !self.script.fast.contains(&self.index) => {
                        return Some(Act::End(Err(self.trouble.take().unwrap_or(trouble))));
                    }
                    Err(trouble) => {
                        // It is at another rate, and is to be brought back first.
                        self.trouble = Some(trouble);
                        self.failed = true;
                    }
                },
                Op::Pause(_) | Op::Transfer => return None,
            }
        }
    }

    /// When [`Conversation::next`] is due though nothing was heard.
    pub fn deadline(&self) -> Option<Instant> {
        let (op, _) = self.script.ops.get(self.index)?;
        match op {
            Op::Pause(time) => Some(self.since + *time),
            Op::Await(wait) => {
                let mut at = self.since + wait.limit;
                if self.failed && wait.may_be_missed {
                    at = at.min(self.since + MISSED);
                }
                if let Some((_, typed)) = &self.echo {
                    at = at.min(*typed + ECHO);
                }
                let may_be_over = self.at_prompt()
                    || wait.answers.iter().any(|one| one.last && one.sees.is_match(&self.text));
                if self.echo.is_none() && may_be_over {
                    at = at.min(self.heard + QUIET);
                }
                if let Some(again) = &wait.again {
                    at = at.min(self.again_at(again));
                }
                if !wait.hint.is_empty() && !self.hinted {
                    at = at.min(self.since + HINT);
                }
                Some(at)
            }
            _ => None,
        }
    }

    /// To the next operation.
    fn step(&mut self, now: Instant) {
        self.index += 1;
        self.since = now;
        self.again = now;
    }

    fn typed(&mut self, bytes: &[u8], always: bool, now: Instant) {
        self.text.clear();
        if !always {
            self.all.clear();
        }
        let line = bytes.trim_ascii_end();
        let is_line = line.len() < bytes.len() && !line.is_empty();
        self.echo = (self.script.echo && is_line).then(|| (line.to_vec(), now));
        self.step(now);
    }

    fn at_prompt(&self) -> bool {
        self.script.prompt.as_ref().is_some_and(|prompt| prompt.is_match(&self.text))
    }

    /// Drops the echo of a command. False while it is awaited.
    fn past_echo(&mut self, now: Instant) -> bool {
        let Some((line, typed)) = &self.echo else { return true };
        let (line, typed) = (line.clone(), *typed);
        if let Some(at) = find(&self.text, &line) {
            self.text.drain(..at + line.len());
            // A device's echo must not be mistaken for its answer.
            if let Some(at) = find(&self.all, &line) {
                self.all.drain(..at + line.len());
            }
            self.echo = None;
            return true;
        }
        if now < typed + ECHO {
            return false;
        }
        self.echo = None;
        true
    }

    /// Whether there is an action: the awaited text has arrived, or something is due.
    fn awaited(&mut self, now: Instant) -> Result<bool, Trouble> {
        if !self.past_echo(now) {
            return Ok(false);
        }
        let quiet = now >= self.heard + QUIET;
        let prompts = self.at_prompt() && quiet;
        let Some((Op::Await(wait), _)) = self.script.ops.get(self.index) else { return Ok(false) };
        if wait.shows.is_some() && (prompts || now >= self.since + wait.limit) {
            self.show(now);
            return Ok(true);
        }
        if let Some((end, one)) = response(&wait.answers, &self.text, quiet) {
            if !one.types.is_empty() {
                self.due.push_back(Act::Type(one.types.clone()));
            }
            if let Some(fails) = &one.fails {
                let say = format!("{fails}; the device says {}", self.last_words());
                self.refused = Some(Trouble { fault: Fault::Peer, say });
            }
            self.text.drain(..end);
            return Ok(true);
        }
        match &wait.until {
            Some(until) => {
                if let Some(found) = until.find(&self.text) {
                    let end = found.end();
                    self.text.drain(..end);
                    self.step(now);
                    return Ok(true);
                }
                if prompts {
                    return Err(self.unlike(wait));
                }
            }
            None if prompts => {
                if wait.with.as_ref().is_some_and(|with| !self.failed && !with.is_match(&self.all))
                {
                    return Err(self.unlike(wait));
                }
                self.due.extend(wait.says.clone().map(Act::Tell));
                self.step(now);
                return Ok(true);
            }
            None => {}
        }
        if self.failed && wait.may_be_missed && now >= self.since + MISSED {
            self.step(now);
            return Ok(true);
        }
        if now >= self.since + wait.limit {
            let say = format!("expected {}, got {}", wait.what, self.last_words());
            let fault = if self.all.is_empty() { Fault::Timeout } else { Fault::Peer };
            return Err(Trouble { fault, say });
        }
        Ok(self.remind(now))
    }

    /// Shows what was answered to the last command. False if something else is awaited.
    fn show(&mut self, now: Instant) -> bool {
        let Some((Op::Await(wait), _)) = self.script.ops.get(self.index) else { return false };
        let Some(command) = wait.shows.clone() else { return false };
        let prompt = self.script.prompt.as_ref().and_then(|prompt| prompt.find(&self.all));
        self.all.truncate(prompt.map_or(self.all.len(), |prompt| prompt.start()));
        let said = self.last_words();
        self.due.push_back(Act::Tell(format!("{command}: the device answers {said}")));
        self.step(now);
        true
    }

    /// When something is done again.
    fn again_at(&self, again: &Again) -> Instant {
        let talked = again.in_silence && !self.all.is_empty();
        if talked { self.again.max(self.heard + again.every) } else { self.again }
    }

    /// What is done again, and the hint.
    fn remind(&mut self, now: Instant) -> bool {
        let Some((Op::Await(wait), _)) = self.script.ops.get(self.index) else { return false };
        if !wait.hint.is_empty() && !self.hinted && now >= self.since + HINT {
            self.hinted = true;
            self.due.push_back(Act::Tell(wait.hint.clone()));
        }
        if let Some(again) = &wait.again
            && now >= self.again_at(again)
        {
            self.again = now + again.every;
            if !again.sends_break.is_zero() {
                self.due.push_back(Act::Break(again.sends_break));
            }
            if !again.types.is_empty() {
                self.due.push_back(Act::Type(again.types.clone()));
            }
        }
        !self.due.is_empty()
    }

    /// The prompt came, and before it something else than expected.
    fn unlike(&self, wait: &Await) -> Trouble {
        let fault = if wait.verifies { Fault::Integrity } else { Fault::Peer };
        let say = match (&wait.with, wait.verifies) {
            (Some(with), true) => {
                format!("what arrived differs: expected {with}, got {}", self.last_words())
            }
            (Some(with), false) => {
                format!("{}: expected {with}, got {}", wait.what, self.last_words())
            }
            _ => format!("expected {}, got {}", wait.what, self.last_words()),
        };
        Trouble { fault, say }
    }

    /// The last lines of the device, on one line.
    fn last_words(&self) -> String {
        let text = escaped_lines(&self.all, self.escaped);
        if text.is_empty() { "nothing".to_owned() } else { text }
    }
}

/// What is done at this text, and where that ends.
fn response<'a>(all: &'a [Response], text: &[u8], quiet: bool) -> Option<(usize, &'a Response)> {
    let fits = |one: &&Response| quiet || !one.last;
    all.iter().filter(fits).find_map(|one| Some((one.sees.find(text)?.end(), one)))
}

fn escaped_lines(bytes: &[u8], escaped: fn(&[u8]) -> String) -> String {
    let lines = bytes.split(|byte| matches!(byte, b'\r' | b'\n'));
    let lines: Vec<&[u8]> = lines.map(<[u8]>::trim_ascii).filter(|line| !line.is_empty()).collect();
    let from = lines.len().saturating_sub(LAST_LINES);
    lines[from..].iter().map(|line| escaped(line)).collect::<Vec<_>>().join(" / ")
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

#[cfg(test)]
mod tests;
