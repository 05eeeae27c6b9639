//! Runs of equal bytes in data records: after three of them stands how many more there are, 0 to 255.
//!
//! No count follows three that end the record. Random bytes grow by one in 65,536.

/// Equal bytes after which a count stands.
const SOME: u8 = 3;
/// The highest count.
const MOST: usize = 255;

/// Where a run is, at either end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Runs {
    last: u8,
    seen: u8,
    /// Copies that are still to be made.
    owed: usize,
}

impl Runs {
    fn see(&mut self, byte: u8) {
        self.seen = if self.seen > 0 && byte == self.last { self.seen + 1 } else { 1 };
        self.last = byte;
    }

    /// The next bytes to send of these, of which there is at least one: a count instead of a run of them, or a part
    /// of them as they are, at most `space`.
    pub(crate) fn next(&mut self, bytes: &[u8], space: usize) -> Next {
        if self.seen == SOME {
            self.seen = 0;
            let more = bytes.iter().take(MOST).take_while(|byte| **byte == self.last).count();
            return Next::Count(more);
        }
        let mut len = 0;
        for byte in bytes.iter().take(space) {
            self.see(*byte);
            len += 1;
            if self.seen == SOME {
                break;
            }
        }
        Next::Bytes(len)
    }

    /// Undoes it, for a record of which `left` bytes are to come: how many bytes were used, and made.
    pub(crate) fn undo(&mut self, from: &[u8], to: &mut [u8], left: usize) -> (usize, usize) {
        let (mut used, mut made) = (0, 0);
        let room = to.len().min(left);
        while made < room {
            if self.owed > 0 {
                let copies = self.owed.min(room - made);
                to[made..made + copies].fill(self.last);
                self.owed -= copies;
                made += copies;
                continue;
            }
            let Some(byte) = from.get(used) else { break };
            used += 1;
            if self.seen == SOME {
                self.seen = 0;
                self.owed = usize::from(*byte);
            } else {
                self.see(*byte);
                to[made] = *byte;
                made += 1;
            }
        }
        (used, made)
    }
}

/// What a sender puts next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// A byte with this value, in place of as many bytes.
    Count(usize),
    /// This number of bytes as they are.
    Bytes(usize),
}
