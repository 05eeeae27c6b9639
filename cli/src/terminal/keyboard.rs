//! The keyboard of a session, or a pipe in its place.

use std::time::Instant;

use std::io::ErrorKind;
use wetstring_drive::terminal::stdin;

use super::keys::{Action, Pressed};
use super::screen::Screen;
use super::{End, Session};
use crate::ui::ending::Ending;

/// Ctrl-D.
const END_OF_INPUT: u8 = 4;

impl Session<'_> {
    pub(super) fn read_keys(&mut self) -> Result<Option<End>, Ending> {
        let mut keys = [0; 1024];
        let len = match stdin::read(&mut keys) {
            Ok(len) => len,
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) =>
            {
                return Ok(None);
            }
            // The terminal has gone.
            Err(_) => 0,
        };
        if len == 0 {
            self.typing = false;
            self.last_heard = Instant::now();
            if self.options.wraps && !self.is_terminal {
                // What a terminal sends at the end of its input.
                self.outgoing.push(END_OF_INPUT);
            }
            return Ok(self.is_terminal.then_some(End::Quit));
        }
        self.typed(&keys[..len])
    }

    /// Typed bytes, or those of a pipe.
    fn typed(&mut self, keys: &[u8]) -> Result<Option<End>, Ending> {
        let mut rest = keys;
        while let Some(first) = rest.first() {
            if self.asking.is_some() {
                let taken = self.answer(rest)?;
                rest = &rest[taken..];
            } else if std::mem::take(&mut self.escaped) {
                rest = &rest[1..];
                match self.options.keys.pressed(*first) {
                    Pressed::Do(action) => {
                        if let Some(end) = self.act(action)? {
                            return Ok(Some(end));
                        }
                    }
                    Pressed::Literal => self.send(&[*first])?,
                    Pressed::Unknown => Screen::echo("\x07"),
                }
            } else {
                let escape = self.options.keys.escape.filter(|_| self.is_terminal);
                let at = rest.iter().position(|key| Some(*key) == escape);
                let plain = &rest[..at.unwrap_or(rest.len())];
                self.send(plain)?;
                self.escaped = at.is_some();
                rest = &rest[(plain.len() + usize::from(at.is_some()))..];
            }
        }
        Ok(None)
    }

    /// Sends typed bytes.
    fn send(&mut self, keys: &[u8]) -> Result<(), Ending> {
        if keys.is_empty() {
            return Ok(());
        }
        if self.port.is_none() {
            // Nothing would take them.
            if self.is_terminal {
                Screen::echo("\x07");
                return Ok(());
            }
        }
        if let Some(share) = &mut self.share {
            share.typed();
        }
        self.screen.maps.typed(keys, &mut self.outgoing);
        if self.options.echo { self.show(keys) } else { Ok(()) }
    }

    /// Does what a key stands for.
    fn act(&mut self, action: Action) -> Result<Option<End>, Ending> {
        match action {
            Action::Quit => Ok(Some(End::Quit)),
            Action::HangUp => Ok(Some(End::HangUp)),
            Action::Leave => Ok(Some(End::Leave)),
            Action::Nul => self.send(&[0]).map(|()| None),
            other => {
                self.do_here(other);
                Ok(None)
            }
        }
    }
}
