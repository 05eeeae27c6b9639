//! Line ends of text: LF here, CR LF on the line, as in every Kermit.

const CR: u8 = b'\r';
const LF: u8 = b'\n';

/// A receiver's side.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lines {
    /// A CR that may belong to a line end.
    waiting: bool,
}

impl Lines {
    /// Takes bytes of the line as far as there is room; returns how many were used and made.
    pub(crate) fn take(&mut self, from: &[u8], to: &mut [u8]) -> (usize, usize) {
        let (mut used, mut made) = (0, 0);
        for &byte in from {
            let both = self.waiting && byte != LF;
            if to.len() - made < usize::from(both) + 1 {
                break;
            }
            if both {
                to[made] = CR;
                made += 1;
            }
            self.waiting = byte == CR;
            if !self.waiting {
                to[made] = byte;
                made += 1;
            }
            used += 1;
        }
        (used, made)
    }

    /// The end: a CR that waited is none of a line end. Returns how many bytes were made.
    pub(crate) fn finish(&mut self, to: &mut [u8]) -> usize {
        match to.first_mut() {
            Some(room) if core::mem::take(&mut self.waiting) => {
                *room = CR;
                1
            }
            _ => 0,
        }
    }
}

/// How many bytes a sender makes of these.
pub(crate) fn len_on_line(bytes: &[u8]) -> usize {
    bytes.len() + bytes.split(|byte| *byte == LF).count() - 1
}
