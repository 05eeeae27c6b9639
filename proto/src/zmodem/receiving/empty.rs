//! ZDATA followed directly by ZEOF: some senders send an empty file, or one that is complete
//! already, like this. The standard requires at least one subpacket there.
//!
//! Read as data such a header is the start of a subpacket that never ends. So what comes directly
//! after ZDATA is parsed both ways. If the announced length is reached a good ZEOF counts; if no
//! length was announced it may still be a file that starts with these bytes, and only silence
//! after them decides.

use super::{Core, Expecting, Mem};
use crate::engine::Cx;
use crate::zmodem::frame::{Found, FrameReader};
use crate::zmodem::packet::{Header, MAX_HEADER, kind};

/// Whether a ZEOF follows where data was announced.
#[derive(Clone, Debug)]
pub(super) enum Empty {
    No,
    /// Bytes after ZDATA that may be a header; the noise count before them.
    Perhaps(FrameReader, usize, u64),
    /// A ZEOF with only its line end after it. Silence confirms it.
    Unless(FrameReader, Header),
}

/// The line end of one header and all of another.
const LONGEST: usize = MAX_HEADER + 4;

impl Core {
    /// ZDATA has come: what follows may be a header.
    pub(super) fn doubt_data(&mut self) {
        let possible = self.file.info.size.is_none_or(|size| size == self.position);
        self.empty = Empty::No;
        if possible {
            // With the line end of ZDATA, which may be outstanding.
            let mut reader = self.link.reader.clone();
            reader.hunt();
            let noise = reader.noise_bytes();
            self.empty = Empty::Perhaps(reader, 0, noise);
        }
    }

    /// Examines data bytes. If a ZEOF ends in them without ambiguity: how
    /// many belong to it.
    pub(super) fn ends_at_once(&mut self, bytes: &[u8]) -> Option<(usize, Header)> {
        let position = self.position;
        match &mut self.empty {
            Empty::No => None,
            Empty::Unless(reader, _) => {
                if reader.take_tail(bytes) < bytes.len() {
                    self.empty = Empty::No;
                }
                None
            }
            Empty::Perhaps(reader, seen, noise) => {
                let part = bytes.len().min(LONGEST - *seen);
                let (used, found) = reader.next(&mut [], &bytes[..part]);
                *seen += used;
                let header = match found {
                    Some(Found::Header(header)) => Some(header),
                    None if *seen < LONGEST => return None,
                    _ => None,
                };
                let is_end = |header: &Header| {
                    header.kind == kind::ZEOF && u64::from(header.number()) == position
                };
                let header =
                    header.filter(|header| is_end(header) && reader.noise_bytes() == *noise);
                let Some(header) = header else {
                    self.empty = Empty::No;
                    return None;
                };
                if self.file.info.size.is_some() {
                    self.empty = Empty::No;
                    return Some((used, header));
                }
                let only = reader.take_tail(&bytes[used..]) == bytes.len() - used;
                self.empty = if only { Empty::Unless(reader.clone(), header) } else { Empty::No };
                None
            }
        }
    }

    /// Silence: a header followed ZDATA. False if it was not one.
    pub(super) fn ended_at_once(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) -> bool {
        let Empty::Unless(_, header) = core::mem::replace(&mut self.empty, Empty::No) else {
            return false;
        };
        if !matches!(self.expecting, Expecting::Data | Expecting::Runs | Expecting::Packed) {
            return false;
        }
        self.link.reader.hunt();
        self.on_header(cx, mem, &header);
        true
    }
}
