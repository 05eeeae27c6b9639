//! Messages over a port.

use std::time::{Duration, Instant};

use wetstring_drive::{Port, Signals, in_words};

use super::wire::{Message, Parser};
use crate::transfer::raw::{self, Heard};
use crate::ui::ending::Ending;
use crate::ui::exit::Exit;

/// A port and what was received.
pub(super) struct Talk<'a> {
    pub(super) port: &'a mut dyn Port,
    pub(super) signals: &'a Signals,
    pub(super) parser: Parser,
    /// A request of ours came back.
    pub(super) echo: bool,
}

impl Talk<'_> {
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Ending> {
        let written = raw::write(self.port, self.signals, bytes);
        written.map_err(|e| self.failed("write to", &e))
    }

    pub(super) fn say(&mut self, message: &Message) -> Result<(), Ending> {
        self.write(&message.bytes())
    }

    fn failed(&self, what: &str, error: &std::io::Error) -> Ending {
        if let Some(signal) = self.signals.last() {
            return Ending::early(Exit::Interrupted, format!("interrupted by signal {signal}"));
        }
        Ending::early(Exit::Line, format!("could not {what} the line: {}", in_words(error)))
    }

    /// Reads what comes within this time; the number of bytes, in the parser.
    pub(super) fn read(&mut self, wait: Duration) -> Result<usize, Ending> {
        if let Some(signal) = self.signals.last() {
            return Err(Ending::early(
                Exit::Interrupted,
                format!("interrupted by signal {signal}"),
            ));
        }
        let mut buffer = [0; 4096];
        match raw::read(self.port, self.signals, wait, &mut buffer) {
            Ok(Heard::Bytes(len)) => {
                self.parser.heard(&buffer[..len]);
                Ok(len)
            }
            Ok(Heard::Nothing) => Ok(0),
            Ok(Heard::Closed) => Err(Ending::early(Exit::Line, "the connection is closed")),
            Err(e) => Err(self.failed("read from", &e)),
        }
    }

    /// The next answer within this time; requests are an echo. Without one, what was unfinished is dropped.
    pub(super) fn hear(&mut self, wait: Duration) -> Result<Option<Message>, Ending> {
        let until = Instant::now() + wait;
        loop {
            match self.parser.next() {
                Some(
                    Message::Ping(_)
                    | Message::Items(_)
                    | Message::Down(..)
                    | Message::Burst(_)
                    | Message::Bye,
                ) => self.echo = true,
                Some(message) => return Ok(Some(message)),
                None => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        self.parser.silence();
                        return Ok(None);
                    }
                    self.read(left)?;
                }
            }
        }
    }
}
