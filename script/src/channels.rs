//! Open files: the one of OPEN READ, the one of OPEN WRITE, and the channels of FOPEN.

use std::collections::BTreeMap;

use crate::trouble::Trouble;
use crate::world::{Channel, Mode};

/// Maximum open channels.
pub(crate) const MOST: usize = 100;
/// Bytes read at once.
const CHUNK: usize = 8192;

/// An open file with its read-ahead buffer.
pub(crate) struct Stream {
    channel: Box<dyn Channel>,
    ahead: Vec<u8>,
    /// Position in `ahead`.
    at: usize,
    /// Offset of the next byte to be read or written.
    pub(crate) offset: u64,
    /// Lines read or written.
    pub(crate) lines: u64,
    pub(crate) eof: bool,
    pub(crate) mode: Mode,
    pub(crate) name: Vec<u8>,
}

/// All open files.
#[derive(Default)]
pub(crate) struct Channels {
    pub(crate) reading: Option<Stream>,
    pub(crate) writing: Option<Stream>,
    numbered: BTreeMap<i64, Stream>,
    /// Error of the last operation on a channel: 0, or one of those below.
    pub(crate) error: i64,
}

/// Errors of channels, as returned by \v(f_error) and \f_status().
pub(crate) const EOF: i64 = -1;
pub(crate) const NOT_OPEN: i64 = -4;
pub(crate) const NOT_FOR_THIS: i64 = -5;
pub(crate) const FAILED: i64 = -2;

/// The text of an error number.
pub(crate) fn error_text(error: i64) -> &'static str {
    match error {
        0 => "No error",
        EOF => "End of file",
        NOT_OPEN => "Channel not open",
        NOT_FOR_THIS => "Channel not open for this",
        _ => "Input or output failed",
    }
}

impl Stream {
    pub(crate) fn new(channel: Box<dyn Channel>, mode: Mode, name: Vec<u8>) -> Self {
        let (ahead, at, offset, lines, eof) = (Vec::new(), 0, 0, 0, false);
        Self { channel, ahead, at, offset, lines, eof, mode, name }
    }

    fn fill(&mut self) -> std::io::Result<bool> {
        if self.at < self.ahead.len() {
            return Ok(true);
        }
        self.ahead.resize(CHUNK, 0);
        self.at = 0;
        let len = self.channel.read(&mut self.ahead);
        self.ahead.truncate(*len.as_ref().unwrap_or(&0));
        self.eof = self.ahead.is_empty();
        Ok(len? > 0)
    }

    /// The next line without its end, or nothing at the end; an error if it is longer than `most`.
    pub(crate) fn line(&mut self, most: usize) -> Result<Option<Vec<u8>>, Trouble> {
        let mut line = Vec::new();
        let mut any = false;
        while self.fill().map_err(|e| Trouble::new(e.to_string()))? {
            any = true;
            let rest = &self.ahead[self.at..];
            let end = rest.iter().position(|b| *b == b'\n');
            line.extend_from_slice(&rest[..end.unwrap_or(rest.len())]);
            let used = end.map_or(rest.len(), |end| end + 1);
            self.at += used;
            self.offset += used as u64;
            if line.len() > most {
                return Err(Trouble::new(format!("a line of more than {most} bytes")));
            }
            if end.is_some() {
                break;
            }
        }
        if any {
            self.lines += 1;
            if line.last() == Some(&b'\r') {
                line.pop();
            }
        }
        Ok(any.then_some(line))
    }

    /// At most `most` bytes; none at the end.
    pub(crate) fn bytes(&mut self, count: usize) -> Result<Vec<u8>, Trouble> {
        let mut out = Vec::new();
        while out.len() < count && self.fill().map_err(|e| Trouble::new(e.to_string()))? {
            let rest = &self.ahead[self.at..];
            let take = rest.len().min(count - out.len());
            out.extend_from_slice(&rest[..take]);
            self.at += take;
            self.offset += take as u64;
        }
        Ok(out)
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Trouble> {
        self.channel.write(bytes).map_err(|e| Trouble::new(e.to_string()))?;
        self.offset += bytes.len() as u64;
        self.lines += bytes.iter().filter(|b| **b == b'\n').count() as u64;
        Ok(())
    }

    pub(crate) fn seek(&mut self, offset: u64) -> Result<(), Trouble> {
        self.channel.seek(offset).map_err(|e| Trouble::new(e.to_string()))?;
        self.at = 0;
        self.offset = offset;
        self.eof = false;
        self.ahead.clear();
        Ok(())
    }

    /// Skips past the line of this number, or to the end if there are fewer.
    pub(crate) fn seek_line(&mut self, number: u64, most: usize) -> Result<(), Trouble> {
        self.seek(0)?;
        self.lines = 0;
        while self.lines < number && self.line(most)?.is_some() {}
        Ok(())
    }

    pub(crate) fn flush(&mut self) -> Result<(), Trouble> {
        self.channel.flush().map_err(|e| Trouble::new(e.to_string()))
    }

    pub(crate) fn close(self) -> Result<Option<i32>, Trouble> {
        self.channel.close().map_err(|e| Trouble::new(e.to_string()))
    }
}

impl Channels {
    pub(crate) fn count(&self) -> usize {
        self.numbered.len()
    }

    /// Closes everything; data that cannot be written any more is lost with the program anyway.
    pub(crate) fn close_all(&mut self) {
        let streams = [self.reading.take(), self.writing.take()];
        let numbered = std::mem::take(&mut self.numbered);
        for stream in streams.into_iter().flatten().chain(numbered.into_values()) {
            drop(stream.close());
        }
    }

    /// Stores a channel under the lowest free number.
    pub(crate) fn keep(&mut self, stream: Stream) -> Result<i64, Trouble> {
        let free = (0..MOST as i64).find(|number| !self.numbered.contains_key(number));
        let say = || Trouble::new(format!("more than {MOST} files open at once"));
        let number = free.ok_or_else(say)?;
        self.numbered.insert(number, stream);
        Ok(number)
    }

    pub(crate) fn numbered(&mut self, number: i64) -> Option<&mut Stream> {
        self.error = if self.numbered.contains_key(&number) { 0 } else { NOT_OPEN };
        self.numbered.get_mut(&number)
    }

    pub(crate) fn remove(&mut self, number: i64) -> Option<Stream> {
        self.numbered.remove(&number)
    }

    pub(crate) fn numbers(&self) -> Vec<i64> {
        self.numbered.keys().copied().collect()
    }
}
