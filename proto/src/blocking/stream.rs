//! A wire of anything that is `Read` and `Write`.

// The clock and the sleep of a program: nothing in the engines uses this module.
#![allow(clippy::disallowed_methods)]

extern crate std;

use super::Wire;
use crate::time::{Duration, Instant};
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::vec::Vec;

/// A stream whose `read` has a timeout of its own, of a second or less: a `TcpStream` with `set_read_timeout`, a
/// serial port of the crate `serialport`, whose default is none and must be set.
///
/// A `read` that blocks until there is a byte works as long as the peer sends; timers then wait for it.
#[derive(Debug)]
pub struct Stream<S> {
    inner: S,
    start: std::time::Instant,
    left: Vec<u8>,
}

impl<S: Read + Write> Stream<S> {
    /// The wire that this stream is.
    pub fn new(inner: S) -> Self {
        Self { inner, start: std::time::Instant::now(), left: Vec::new() }
    }

    /// The stream again, and what was read from it and not by the protocol.
    pub fn into_inner(self) -> (S, Vec<u8>) {
        (self.inner, self.left)
    }
}

impl<S: Read + Write> Wire for Stream<S> {
    type Error = Error;

    fn read(&mut self, into: &mut [u8], patience: Duration) -> Result<usize> {
        let began = std::time::Instant::now();
        loop {
            match self.inner.read(into) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(len) => return Ok(len),
                Err(error) if waits(&error) && began.elapsed() >= patience => return Ok(0),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    // A stream without any timeout comes back at once.
                    std::thread::sleep(Duration::from_millis(1).min(patience));
                }
                Err(error) if waits(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        loop {
            match self.inner.write(bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(len) => {
                    self.inner.flush()?;
                    return Ok(len);
                }
                Err(error) if waits(&error) => std::thread::sleep(Duration::from_millis(1)),
                Err(error) => return Err(error),
            }
        }
    }

    fn now(&mut self) -> Instant {
        Instant(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn rest(&mut self, time: Duration) {
        std::thread::sleep(time);
    }

    fn unread(&mut self, bytes: &[u8]) {
        self.left.extend_from_slice(bytes);
    }
}

fn waits(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
