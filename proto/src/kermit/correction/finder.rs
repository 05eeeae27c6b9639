//! Finds headers in the stream of characters. They have no mark, which noise could hit: any 22 characters that are
//! near enough to a header are one, and noise is never near enough.

use super::IS_BUILT;
use super::packet::{FIRST, HEADER, Header};

/// Programs without error correction keep none.
const ROOM: usize = if IS_BUILT { HEADER } else { 1 };

/// The last characters outside of packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finder {
    last: [u8; ROOM],
    held: usize,
}

impl Finder {
    pub(crate) const fn new() -> Self {
        Self { last: [0; ROOM], held: 0 }
    }

    /// What comes next has nothing to do with what came.
    pub(crate) fn forget(&mut self) {
        self.held = 0;
    }

    /// Whether this character may be the next of a header of which all that came is the beginning.
    pub(crate) fn may_continue(&self, character: u8) -> bool {
        if self.held == 0 { character == FIRST } else { self.held < HEADER }
    }

    /// The first header that ends in `input`: after how many characters, and what it says.
    pub(crate) fn look(&self, input: &[u8]) -> Option<(usize, Header)> {
        let (held, early) = (self.held, input.len().min(HEADER - 1));
        let mut joined = [0; 2 * HEADER];
        joined[..held].copy_from_slice(&self.last[HEADER - held..]);
        joined[held..held + early].copy_from_slice(&input[..early]);
        let across = joined[..held + early].windows(HEADER).enumerate();
        // One that ends before the input was looked at before.
        let across = across
            .map(|(at, window)| (at + HEADER - held, window))
            .skip_while(|(end, _)| *end == 0);
        let within = input.windows(HEADER).enumerate().map(|(at, window)| (at + HEADER, window));
        across.chain(within).find_map(|(end, window)| {
            let header = Header::read(window.try_into().ok()?)?;
            Some((end, header))
        })
    }

    /// These characters were taken.
    pub(crate) fn pass(&mut self, input: &[u8]) {
        let input = &input[input.len().saturating_sub(HEADER)..];
        self.last.copy_within(input.len().., 0);
        self.last[HEADER - input.len()..].copy_from_slice(input);
        self.held = (self.held + input.len()).min(HEADER);
    }
}

#[cfg(test)]
mod tests {
    use super::super::packet::{Form, write};
    use super::*;

    #[test]
    fn a_header_is_found_however_the_stream_is_cut() {
        let mut packet = [0; 400];
        let form = Form { letter: b't', parity: 4 };
        let total = write(b"T0123456789abcdefghij", 7, form, &mut packet).expect("room enough");
        let mut stream = [b'?'; 500];
        stream[50..50 + total].copy_from_slice(&packet[..total]);
        for noise in [false, true] {
            if noise {
                stream[50..58].fill(0);
            }
            for step in 1..90 {
                let mut finder = Finder::new();
                let mut at = 0;
                let found = stream.chunks(step).find_map(|part| {
                    let found = finder.look(part);
                    finder.pass(part);
                    at += part.len();
                    found.map(|(end, header)| (at - part.len() + end, header.seq))
                });
                assert_eq!(found, Some((50 + HEADER, 7)), "{step}");
            }
        }
    }
}
