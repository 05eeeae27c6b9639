//! Between a WebSocket and the line.
//!
//! One page has the line. A new one takes it over, as a reload does; the line stays open in between, so that a shell
//! or a board goes on. Nothing is lost meanwhile: what is not read waits in the line's own queue.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wetstring_drive::event::{Interest, wait};
use wetstring_drive::port::{OpenError, open, wrap_line};
use wetstring_drive::{LineSpec, Port, PortFacts, in_words};

use super::Site;
use super::frames::{Broken, Decoded, Frames, binary, close, text};
use crate::transfer::opening::why_not;

/// Bytes read at once.
const READ: usize = 64 * 1024;
/// Bytes that may wait on their way to the browser, or to the line.
const MOST_WAITING: usize = 256 * 1024;
/// How soon it is noticed that another page has come.
const TURN: Duration = Duration::from_millis(100);
/// How long a line may take for what a page has left to it.
const PARTING: Duration = Duration::from_secs(1);
/// Codes of the end (RFC 6455 7.4): the line has closed, the rules are broken, another page has the line.
const OVER: u16 = 1000;
const PROTOCOL_ERROR: u16 = 1002;
const TAKEN: u16 = 4001;

/// Runs it until the page or the line closes, or another page takes the line. `ahead` came with the handshake.
pub(super) fn run(site: &Site, socket: &mut dyn Port, ahead: &[u8]) {
    let turn = site.turn.fetch_add(1, Ordering::SeqCst) + 1;
    let mut line = site.line.lock().unwrap_or_else(PoisonError::into_inner);
    let mut bridge = Bridge {
        site,
        socket,
        turn,
        frames: Frames::default(),
        to_line: Vec::new(),
        to_page: Vec::new(),
        buffer: vec![0; READ],
    };
    let why = match bridge.opened(&mut line) {
        Ok(()) => bridge.until_over(&mut line, ahead),
        Err(why) => Over::Line(why),
    };
    if matches!(why, Over::Page | Over::Taken) {
        bridge.last_words(&mut line);
    }
    match why {
        Over::Page => return,
        Over::Line(why) => {
            *line = None;
            close(OVER, &why, &mut bridge.to_page);
        }
        Over::Taken => close(TAKEN, "another page has the line", &mut bridge.to_page),
        Over::Broken => close(PROTOCOL_ERROR, "", &mut bridge.to_page),
    }
    drop(line);
    bridge.farewell();
}

/// Why it is over.
enum Over {
    /// The page has gone.
    Page,
    /// The line has closed, or cannot be opened.
    Line(String),
    /// Another page has connected, or the program ends.
    Taken,
    /// The page does not keep to the rules.
    Broken,
}

struct Bridge<'a> {
    site: &'a Site,
    socket: &'a mut dyn Port,
    turn: u64,
    frames: Frames,
    to_line: Vec<u8>,
    /// Frames.
    to_page: Vec<u8>,
    buffer: Vec<u8>,
}

impl Bridge<'_> {
    /// Opens the line, if it is not, and says what is known of it.
    fn opened(&mut self, line: &mut Option<Box<dyn Port>>) -> Result<(), String> {
        if line.is_none() {
            let Some(spec) = &self.site.spec else { return Err("there is no line".to_owned()) };
            // What a user is to know: where it listens, for example.
            let mut notes = |note: &str| {
                text(&json!({ "note": note }).to_string(), &mut self.to_page);
                let sent = self.socket.write(&self.to_page);
                let sent = sent.ok().flatten().unwrap_or(0);
                self.to_page.drain(..sent);
            };
            let port = match spec {
                LineSpec::ExecPty(command) => wrap_line(command),
                spec => open(spec, Some(&self.site.signals), &mut notes),
            };
            *line = Some(port.map_err(|error: OpenError| why_not(spec, &error))?);
        }
        if let Some(port) = line.as_ref() {
            text(&facts(port.facts()).to_string(), &mut self.to_page);
        }
        Ok(())
    }

    fn until_over(&mut self, line: &mut Option<Box<dyn Port>>, ahead: &[u8]) -> Over {
        let Some(port) = line.as_mut() else { return Over::Taken };
        if let Err(over) = self.came(&mut **port, ahead) {
            return over;
        }
        loop {
            let taken = self.site.turn.load(Ordering::SeqCst) != self.turn;
            if taken || self.site.signals.last().is_some() {
                return Over::Taken;
            }
            match self.turn(&mut **port) {
                Ok(true) => {}
                Ok(false) => self.wait(&**port),
                Err(over) => return over,
            }
        }
    }

    /// Moves what can be moved. Whether anything was.
    fn turn(&mut self, port: &mut dyn Port) -> Result<bool, Over> {
        let mut moved = false;
        if self.to_line.len() < MOST_WAITING {
            let mut buffer = std::mem::take(&mut self.buffer);
            let read = self.socket.read(&mut buffer);
            let came = match read {
                Ok(None) => Ok(()),
                Ok(Some(len)) if len > 0 => {
                    moved = true;
                    self.came(port, &buffer[..len])
                }
                _ => Err(Over::Page),
            };
            self.buffer = buffer;
            came?;
        }
        while !self.to_line.is_empty() {
            let written = port.write(&self.to_line);
            match written.map_err(|error| Over::Line(in_words(&error)))? {
                Some(len) if len > 0 => {
                    self.to_line.drain(..len);
                    moved = true;
                }
                _ => break,
            }
        }
        if port.held() {
            port.flush().map_err(|error| Over::Line(in_words(&error)))?;
        }
        let over = self.read_line(port);
        // Bytes that arrived before the end go to the page.
        moved |= self.sent()?;
        Ok(over? || moved)
    }

    /// Reads what the line has; whether it had any. A terminal gives a page of memory at a time, a message takes more.
    fn read_line(&mut self, port: &mut dyn Port) -> Result<bool, Over> {
        if self.to_page.len() >= MOST_WAITING {
            return Ok(false);
        }
        let (mut filled, mut over) = (0, None);
        while over.is_none() && filled < READ {
            match port.read(&mut self.buffer[filled..]) {
                Ok(None) => break,
                Ok(Some(0)) => over = Some("the line has closed".to_owned()),
                Ok(Some(len)) => filled += len,
                Err(error) => over = Some(in_words(&error)),
            }
        }
        if filled > 0 {
            binary(&self.buffer[..filled], &mut self.to_page);
        }
        match over {
            Some(why) => Err(Over::Line(why)),
            None => Ok(filled > 0),
        }
    }

    /// Frames of the page.
    fn came(&mut self, port: &mut dyn Port, bytes: &[u8]) -> Result<(), Over> {
        let mut came = Decoded { bytes: std::mem::take(&mut self.to_line), ..Decoded::default() };
        let done = self.frames.feed(bytes, &mut came);
        self.to_line = came.bytes;
        self.to_page.extend_from_slice(&came.answers);
        for words in &came.texts {
            told(port, words);
        }
        if came.closed {
            let _ = self.sent();
            return Err(Over::Page);
        }
        done.map_err(|Broken| Over::Broken)
    }

    /// Writes to the page; whether it took any.
    fn sent(&mut self) -> Result<bool, Over> {
        let mut moved = false;
        while !self.to_page.is_empty() {
            match self.socket.write(&self.to_page) {
                Ok(Some(len)) if len > 0 => {
                    self.to_page.drain(..len);
                    moved = true;
                }
                Ok(_) => break,
                Err(_) => return Err(Over::Page),
            }
        }
        Ok(moved)
    }

    fn wait(&self, port: &dyn Port) {
        let blocked = !self.to_line.is_empty() || port.held();
        let rest = if blocked { port.rest() } else { Duration::ZERO };
        let sources = [
            (self.to_line.len() < MOST_WAITING).then(|| Interest::read(self.socket.read_source())),
            (!self.to_page.is_empty()).then(|| Interest::write(self.socket.write_source())),
            (self.to_page.len() < MOST_WAITING).then(|| Interest::read(port.read_source())),
            (blocked && rest.is_zero()).then(|| Interest::write(port.write_source())),
        ];
        let mut interests: Vec<_> = sources.into_iter().flatten().collect();
        let patience = if rest.is_zero() { TURN } else { rest.min(TURN) };
        let _ = wait(&mut interests, Some(patience));
    }

    /// What the page sent before it went is for the line: the end of a transfer, for example. At a reload it may not be read yet
    /// when the next page connects, or when a write fails since the browser has reset the connection.
    fn last_words(&mut self, line: &mut Option<Box<dyn Port>>) {
        let Some(port) = line.as_deref_mut() else { return };
        let mut buffer = std::mem::take(&mut self.buffer);
        while let Ok(Some(len @ 1..)) = self.socket.read(&mut buffer) {
            if self.came(port, &buffer[..len]).is_err() || self.to_line.len() >= MOST_WAITING {
                break;
            }
        }
        let until = Instant::now() + PARTING;
        while !self.to_line.is_empty() && Instant::now() < until {
            match port.write(&self.to_line) {
                Ok(Some(len @ 1..)) => drop(self.to_line.drain(..len)),
                // A port that is ready may be held to a rate.
                Ok(_) if !port.rest().is_zero() => std::thread::sleep(port.rest().min(TURN)),
                Ok(_) => drop(wait(&mut [Interest::write(port.write_source())], Some(TURN))),
                Err(_) => return,
            }
        }
        let _ = port.flush();
    }

    /// Gives the last frames a moment to leave.
    fn farewell(&mut self) {
        for _ in 0..20 {
            if self.sent().is_err() || self.to_page.is_empty() {
                return;
            }
            let _ = wait(&mut [Interest::write(self.socket.write_source())], Some(TURN / 4));
        }
    }
}

/// What the page says besides bytes: the size of its terminal.
fn told(port: &mut dyn Port, words: &str) {
    let Ok(said) = serde_json::from_str::<Value>(words) else { return };
    let size = |at: usize| said["size"][at].as_u64().and_then(|size| u16::try_from(size).ok());
    if let (Some(columns), Some(rows)) = (size(0), size(1)) {
        port.resize(columns, rows);
    }
}

/// What the page is to know of the line.
fn facts(facts: &PortFacts) -> Value {
    json!({
        "line": facts.name,
        "reliable": facts.reliable,
        "clear": facts.clear,
        "rate": facts.rate_bps,
    })
}
