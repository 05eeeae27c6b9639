//! Keys that were read, until they are bytes for a reader: single ones, or lines.

use super::super::mode::{LINES, PROCESSED, SEQUENCES};
use super::keys::{Key, Keys};
use super::line::{Line, Step};
use std::collections::VecDeque;
use std::io::{self, Read as _};

/// Bytes for a reader, and what is not yet one.
#[derive(Debug, Default)]
pub(super) struct Input {
    keys: Keys,
    line: Line,
    ready: VecDeque<u8>,
    ended: bool,
}

impl Input {
    /// Forgets the line that is being typed.
    pub(super) fn clear_line(&mut self) {
        self.line.clear();
    }

    /// Takes a key in a mode of the console. `echo` gets what the screen is to show.
    pub(super) fn typed(&mut self, key: Key, mode: u32, echo: &mut String) {
        let mut bytes = Vec::new();
        self.keys.pressed(key, mode & SEQUENCES != 0, &mut bytes);
        if mode & LINES == 0 {
            self.line.clear();
            self.ready.extend(bytes);
            return;
        }
        match self.line.typed(&bytes, mode & PROCESSED != 0, echo) {
            Step::Goes => {}
            Step::Line(line) => self.ready.extend(line),
            Step::End => self.ended = true,
        }
    }

    /// Whether a reader has something to read: if not, more keys are needed.
    pub(super) fn has_some(&self) -> bool {
        self.ended || !self.ready.is_empty()
    }

    /// Whether the end was typed: keys after it are for a reader after that one.
    pub(super) fn is_at_end(&self) -> bool {
        self.ended
    }

    /// The bytes so far; 0 for the end, which comes after them, and once.
    pub(super) fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.ready.is_empty() {
            self.ended = false;
        }
        self.ready.read(into)
    }
}

/// Whether keys are a peer's, in this mode: then all that wait are read. Otherwise the next one may be for another
/// reader.
pub(super) fn is_raw(mode: u32) -> bool {
    mode & (LINES | PROCESSED) == 0
}

#[cfg(test)]
mod tests {
    use super::super::super::mode::ECHO;
    use super::super::keys::Held;
    use super::*;

    const COOKED: u32 = PROCESSED | LINES | ECHO;

    fn press(input: &mut Input, keys: &str, mode: u32) {
        for unit in keys.encode_utf16() {
            let key = Key { down: true, repeat: 1, code: 0, unit, held: Held::default() };
            input.typed(key, mode, &mut String::new());
        }
    }

    fn read(input: &mut Input) -> String {
        let mut bytes = [0; 64];
        let len = input.read(&mut bytes).expect("it reads");
        String::from_utf8_lossy(&bytes[..len]).into_owned()
    }

    #[test]
    fn the_end_comes_after_what_is_ready_and_once() {
        let mut input = Input::default();
        press(&mut input, "yes\r\x1a\r", COOKED);
        assert_eq!(read(&mut input), "yes\n");
        assert!(input.has_some());
        assert_eq!(read(&mut input), "");
        assert!(!input.has_some());
        press(&mut input, "more\r", COOKED);
        assert_eq!(read(&mut input), "more\n");
        assert!(!input.has_some());
    }

    #[test]
    fn a_line_is_ready_at_return_and_a_key_at_once() {
        let mut input = Input::default();
        press(&mut input, "ye", COOKED);
        assert!(!input.has_some());
        press(&mut input, "s\r", COOKED);
        assert_eq!(read(&mut input), "yes\n");
        // A line that has begun is no key.
        press(&mut input, "left", COOKED);
        press(&mut input, "k\r", PROCESSED);
        assert_eq!(read(&mut input), "k\r");
        press(&mut input, "\r", COOKED);
        assert_eq!(read(&mut input), "\n");
    }
}
