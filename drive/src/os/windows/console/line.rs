//! A line that is typed, with what shows of it.

/// What a key did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// The line goes on.
    Goes,
    /// It is whole; with its end.
    Line(Vec<u8>),
    /// Ctrl-Z alone: the end of the input.
    End,
}

/// Ctrl-U and Esc remove all that was typed, Ctrl-Z ends the input, as in the system's own lines.
const CTRL_U: char = '\x15';
const ESCAPE: char = '\x1b';
const CTRL_Z: char = '\x1a';
/// What Ctrl-C is where it is no signal.
const CTRL_C: char = '\x03';

/// The line so far.
#[derive(Debug, Default)]
pub(super) struct Line(String);

impl Line {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Takes the characters of a key. `echo` gets what the screen is to show.
    pub(super) fn typed(&mut self, key: &[u8], processed: bool, echo: &mut String) -> Step {
        for char in String::from_utf8_lossy(key).chars() {
            match char {
                '\r' | '\n' => {
                    echo.push_str("\r\n");
                    let mut line = std::mem::take(&mut self.0);
                    if line.starts_with(CTRL_Z) {
                        return Step::End;
                    }
                    line.push('\n');
                    return Step::Line(line.into_bytes());
                }
                '\x08' | '\x7f' => self.rub_out(1, echo),
                CTRL_U | ESCAPE => self.rub_out(usize::MAX, echo),
                CTRL_C if processed => self.clear(),
                CTRL_Z => {
                    self.0.push(char);
                    echo.push_str("^Z");
                }
                '\t' => {
                    self.0.push(char);
                    echo.push(' ');
                }
                char if char.is_control() => {}
                char => {
                    self.0.push(char);
                    echo.push(char);
                }
            }
        }
        Step::Goes
    }

    fn rub_out(&mut self, count: usize, echo: &mut String) {
        for _ in 0..count {
            let Some(gone) = self.0.pop() else { return };
            // The second column of a wide character stays.
            let columns = if gone == CTRL_Z { 2 } else { 1 };
            (0..columns).for_each(|_| echo.push_str("\x08 \x08"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(keys: &str) -> (Vec<Step>, String) {
        let (mut line, mut echo) = (Line::default(), String::new());
        let steps = keys.chars().map(|key| {
            let key = key.to_string();
            line.typed(key.as_bytes(), true, &mut echo)
        });
        (steps.filter(|step| *step != Step::Goes).collect(), echo)
    }

    #[test]
    fn a_line_is_edited() {
        let line = |text: &str| Step::Line(text.as_bytes().to_vec());
        assert_eq!(typed("yes\r").0, [line("yes\n")]);
        assert_eq!(typed("\r").0, [line("\n")]);
        assert_eq!(typed("nx\x7fo\rgo\r").0, [line("no\n"), line("go\n")]);
        assert_eq!(typed("gone\x15here\r").0, [line("here\n")]);
        assert_eq!(typed("gone\x1bhere\r").0, [line("here\n")]);
        assert_eq!(typed("gone\x03here\r").0, [line("here\n")]);
        assert_eq!(typed("gr\u{F6}\u{DF}\x08\u{DF}e\r").0, [line("gr\u{F6}\u{DF}e\n")]);
        assert_eq!(typed("ab\x7f\x7f\x7f\r").1, "ab\x08 \x08\x08 \x08\r\n");
    }

    #[test]
    fn ctrl_z_alone_is_the_end() {
        assert_eq!(typed("\x1a\r").0, [Step::End]);
        assert_eq!(typed("\x1a\x7fx\r").0, [Step::Line(b"x\n".to_vec())]);
    }
}
