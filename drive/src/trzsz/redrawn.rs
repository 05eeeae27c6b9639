//! Lines that the console of Windows has drawn: what a program wrote, between sequences that move the cursor.
//!
//! A line ends with `!` there, since the console makes what it likes of LF. Everything in a line is a letter, a digit
//! or one of `#:+/=`, so that all else is drawing. At the edge of the screen the console may draw the last character
//! once more after moving the cursor.

use super::line::is_letter;

const ESC: u8 = 0x1B;

/// Lines as they were written, of what comes in parts.
#[derive(Debug, Default)]
pub(super) struct Redrawn {
    /// The last byte of a sequence that has not ended.
    sequence: Option<u8>,
    /// The last letter, which the next one may replace.
    last: Option<u8>,
    /// The line has letters.
    begun: bool,
    /// The cursor was moved to a row and a column: the next letter may be the last one again.
    moved: bool,
    /// LF since the last letter.
    fed: bool,
    /// The cursor was put into the corner, since the last letter and before it.
    home: bool,
    home_before: bool,
}

impl Redrawn {
    /// What these bytes were, with LF for the end of a line.
    pub(super) fn push(&mut self, bytes: &[u8], into: &mut Vec<u8>) {
        for byte in bytes {
            self.byte(*byte, into);
        }
    }

    fn byte(&mut self, byte: u8, into: &mut Vec<u8>) {
        self.fed |= byte == b'\n';
        match byte {
            // It stands in no sequence: what was drawn is cut off here.
            b'!' => self.end(into),
            _ if self.sequence.is_some() => self.in_sequence(byte),
            ESC => self.sequence = Some(ESC),
            byte if is_letter(byte) => self.letter(byte, into),
            _ => {}
        }
    }

    fn in_sequence(&mut self, byte: u8) {
        let before = self.sequence.unwrap_or(ESC);
        let home = byte == b'H' && before == b'[';
        self.moved |= byte == b'H' && before.is_ascii_digit();
        self.home |= home;
        self.sequence = (!byte.is_ascii_alphabetic()).then_some(byte);
    }

    fn letter(&mut self, byte: u8, into: &mut Vec<u8>) {
        let again = std::mem::take(&mut self.moved)
            && self.fed
            && (self.last == Some(byte) || self.last.is_some() && self.home_before);
        if again {
            self.last = Some(byte);
            return;
        }
        into.extend(self.last.replace(byte));
        self.begun = true;
        self.home_before = std::mem::take(&mut self.home);
        self.fed = false;
    }

    fn end(&mut self, into: &mut Vec<u8>) {
        if self.begun && self.sequence.is_none() {
            into.extend(self.last);
            into.push(b'\n');
            *self = Self::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> String {
        let mut whole = Vec::new();
        Redrawn::default().push(bytes, &mut whole);
        for len in [1, 2, 5] {
            let (mut redrawn, mut parts) = (Redrawn::default(), Vec::new());
            bytes.chunks(len).for_each(|part| redrawn.push(part, &mut parts));
            assert_eq!(parts, whole, "in parts of {len}");
        }
        String::from_utf8(whole).expect("letters")
    }

    #[test]
    fn lines_come_out_of_what_is_drawn() {
        for (drawn, line) in [
            (&b"#SUCC:12!\n"[..], "#SUCC:12\n"),
            (b"\x1b[?25l\x1b[2;1H#SUCC:12!\x1b[?25h\r\n", "#SUCC:12\n"),
            // The last character of a row once more, in the words of the package.
            (b"#SUCC:8\r\n\x1b[25;119H89!", "#SUCC:89\n"),
            // Without a new row it is another character.
            (b"#SUCC:8\x1b[25;119H89!", "#SUCC:889\n"),
            (b"#SUCC:\x1b[H8\r\n\x1b[25;119H9!", "#SUCC:9\n"),
            (b"\x1b[1!;2H#NUM:1!", "#NUM:1\n"),
            (b"!! #NUM:1!#NUM:2!", "#NUM:1\n#NUM:2\n"),
        ] {
            assert_eq!(read(drawn), line, "{}", drawn.escape_ascii());
        }
    }
}
