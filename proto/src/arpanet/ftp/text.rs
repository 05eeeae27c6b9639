//! Lines over the TELNET connections.

use crate::arpanet::ncp::{Host, Id};

/// Gathers a line. What is longer than its memory loses its end; codes of TELNET and NULs are ignored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Lines {
    len: usize,
    telnet: Telnet,
}

/// How far a command of the TELNET of 1973 has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Telnet {
    #[default]
    Nothing,
    /// IAC.
    Iac,
    /// WILL, WONT, DO or DONT: its option follows.
    Option,
}

impl Lines {
    /// Takes octets up to the end of a line: how many, and the length of the line if it has ended. LF ends one, a CR
    /// before it is no part of it.
    pub(crate) fn take(&mut self, line: &mut [u8], octets: &[u8]) -> (usize, Option<usize>) {
        for (at, octet) in octets.iter().enumerate() {
            let telnet = core::mem::take(&mut self.telnet);
            match *octet {
                _ if telnet == Telnet::Option => {}
                251..=254 if telnet == Telnet::Iac => self.telnet = Telnet::Option,
                _ if telnet == Telnet::Iac => {}
                255 => self.telnet = Telnet::Iac,
                b'\n' => {
                    let len = core::mem::take(&mut self.len);
                    return (at + 1, Some(len));
                }
                b'\r' | 0 | 128.. => {}
                octet => {
                    if let Some(room) = line.get_mut(self.len) {
                        *room = octet;
                        self.len += 1;
                    }
                }
            }
        }
        (octets.len(), None)
    }

    /// The next line of a connection, if it is here.
    pub(crate) fn next(&mut self, host: &mut Host<'_>, from: Id, line: &mut [u8]) -> Option<usize> {
        let mut some = [0; 64];
        loop {
            let count = host.peek(from, &mut some) / 8;
            if count == 0 {
                return None;
            }
            let (used, found) = self.take(line, &some[..count]);
            host.consume(from, used * 8);
            if found.is_some() {
                return found;
            }
        }
    }
}

/// Text that waits to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Say {
    len: usize,
}

impl Say {
    /// Appends text; what does not fit is lost, so callers ask for [`Say::room`] first.
    pub(crate) fn put(&mut self, memory: &mut [u8], text: &[u8]) {
        let room = &mut memory[self.len..];
        let len = text.len().min(room.len());
        room[..len].copy_from_slice(&text[..len]);
        self.len += len;
    }

    /// Octets that fit yet.
    pub(crate) fn room(self, memory: &[u8]) -> usize {
        memory.len() - self.len
    }

    /// Hands over what the connection takes.
    pub(crate) fn flush(&mut self, host: &mut Host<'_>, to: Id, memory: &mut [u8]) {
        if self.len == 0 {
            return;
        }
        let wrote = host.write(to, &memory[..self.len], self.len * 8) / 8;
        host.push(to);
        memory.copy_within(wrote..self.len, 0);
        self.len -= wrote;
    }

    pub(crate) fn is_empty(self) -> bool {
        self.len == 0
    }
}
