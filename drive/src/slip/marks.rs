//! Parses termios marks (PARMRK, POSIX 11.2.2): damaged characters among the bytes of a serial port.
//!
//! ```text
//! FF FF    the byte FF
//! FF 00 c  the character c came with a framing or parity error; c is 00 for a break
//! ```

/// Parser state.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Marks(State);

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum State {
    #[default]
    Plain,
    /// After FF.
    Mark,
    /// After FF 00.
    Damage,
}

/// A part of the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Piece<'a> {
    /// Undamaged bytes.
    Bytes(&'a [u8]),
    /// A damaged character.
    Damaged,
}

impl Marks {
    /// The next part of these bytes, and how many it takes.
    pub(super) fn next<'a>(&mut self, bytes: &'a [u8]) -> (usize, Option<Piece<'a>>) {
        let Some(first) = bytes.first() else { return (0, None) };
        let (used, state, piece) = match (self.0, *first) {
            (State::Plain, 0xFF) => (1, State::Mark, None),
            (State::Plain, _) => {
                let len = bytes.iter().position(|byte| *byte == 0xFF).unwrap_or(bytes.len());
                (len, State::Plain, Some(Piece::Bytes(&bytes[..len])))
            }
            (State::Mark, 0xFF) => (1, State::Plain, Some(Piece::Bytes(&bytes[..1]))),
            (State::Mark, 0) => (1, State::Damage, None),
            // No driver sends this; an error in any case.
            (State::Mark | State::Damage, _) => (1, State::Plain, Some(Piece::Damaged)),
        };
        self.0 = state;
        (used, piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All bytes, with `None` where one was damaged.
    fn read(chunks: &[&[u8]]) -> Vec<Option<u8>> {
        let (mut marks, mut all) = (Marks::default(), Vec::new());
        for chunk in chunks {
            let mut rest = *chunk;
            while !rest.is_empty() {
                let (used, piece) = marks.next(rest);
                assert!(used > 0 && used <= rest.len());
                rest = &rest[used..];
                match piece {
                    Some(Piece::Bytes(bytes)) => all.extend(bytes.iter().map(|byte| Some(*byte))),
                    Some(Piece::Damaged) => all.push(None),
                    None => {}
                }
            }
        }
        all
    }

    #[test]
    fn marks_are_read_in_any_chunks() {
        let marked = [1, 0xFF, 0xFF, 0, 0xFF, 0, 0x41, 2, 0xFF, 0, 0, 0xFF, 0, 0xFF, 0xFF, 0xFF];
        let wanted = [Some(1), Some(0xFF), Some(0), None, Some(2), None, None, Some(0xFF)];
        assert_eq!(read(&[&marked]), wanted);
        for first in 0..marked.len() {
            for second in first..marked.len() {
                let chunks = [&marked[..first], &marked[first..second], &marked[second..]];
                assert_eq!(read(&chunks), wanted, "{first} {second}");
            }
        }
    }

    #[test]
    fn every_escaped_byte_round_trips() {
        let bytes: Vec<u8> = (0..=255).chain((0..=255).rev()).collect();
        let doubled: Vec<u8> =
            bytes.iter().flat_map(|byte| vec![*byte; 1 + usize::from(*byte == 0xFF)]).collect();
        assert_eq!(read(&[&doubled]), bytes.into_iter().map(Some).collect::<Vec<_>>());
    }
}
