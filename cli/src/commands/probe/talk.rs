//! Messages over a port.

use std::time::{Duration, Instant};

use wetstring_drive::{Port, Signals};

use super::wire::{Message, Parser};
use crate::transfer::raw::{self, Heard};
use crate::ui::ending::Ending;
use crate::ui::exit::Exit;

/// A port, and the bytes received on it.
pub(super) struct Talk<'a> {
    pub(super) port: &'a mut dyn Port,
    pub(super) signals: &'a Signals,
    pub(super) parser: Parser,
    /// One of our requests was echoed.
    pub(super) echo: bool,
}

impl Talk<'_> {
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Ending> {
        let written = raw::write(self.port, self.signals, bytes);
        written.map_err(|e| raw::failed(self.signals, "write to", &e))
    }

    pub(super) fn say(&mut self, message: &Message) -> Result<(), Ending> {
        self.write(&message.bytes())
    }

    /// Reads what comes within this time; the number of bytes, in the parser.
    pub(super) fn read(&mut self, wait: Duration) -> Result<usize, Ending> {
        raw::go_on(self.signals)?;
        let mut buffer = [0; 4096];
        match raw::read(self.port, self.signals, wait, &mut buffer) {
            Ok(Heard::Bytes(len)) => {
                self.parser.heard(&buffer[..len]);
                Ok(len)
            }
            Ok(Heard::Nothing) => Ok(0),
            Ok(Heard::Closed) => Err(Ending::early(Exit::Line, "the connection is closed")),
            Err(e) => Err(raw::failed(self.signals, "read from", &e)),
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
