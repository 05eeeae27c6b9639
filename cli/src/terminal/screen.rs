//! The user's screen: bytes of the line as they are, or with line ends changed, times, or in hexadecimal.

use std::fmt::Write as _;
use std::io;
use std::time::{Duration, Instant};

use wetstring_drive::terminal::{stderr, stdout, write_to};
use wetstring_drive::zone;
use wetstring_proto::settings::Choice as _;

use crate::args::session::Stamps;

/// What a line end is changed to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Maps {
    /// Received CR shows as CR LF.
    pub(crate) in_cr: bool,
    /// Received LF shows as CR LF.
    pub(crate) in_lf: bool,
    /// Return sends this instead of CR.
    pub(crate) out_cr: Option<&'static [u8]>,
    /// Typed LF sends this instead.
    pub(crate) out_lf: Option<&'static [u8]>,
    /// Backspace (8) and Del (127) change places when typed.
    pub(crate) swaps_del: bool,
}

impl Maps {
    /// Words for `--map`.
    pub(crate) const WORDS: [&'static str; 9] =
        ["none", "icrcrlf", "ilfcrlf", "ocrlf", "ocrcrlf", "olfcr", "olfcrlf", "odelbs", "obsdel"];

    /// Several words with commas between.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut maps = Self::default();
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            match word.to_ascii_lowercase().as_str() {
                "none" => maps = Self::default(),
                "icrcrlf" => maps.in_cr = true,
                "ilfcrlf" => maps.in_lf = true,
                "ocrlf" => maps.out_cr = Some(b"\n"),
                "ocrcrlf" => maps.out_cr = Some(b"\r\n"),
                "olfcr" => maps.out_lf = Some(b"\r"),
                "olfcrlf" => maps.out_lf = Some(b"\r\n"),
                "odelbs" | "obsdel" => maps.swaps_del = true,
                _ => return Err(format!("expected {}, got {word}", Self::WORDS.join(", "))),
            }
        }
        Ok(maps)
    }

    /// What is sent for typed bytes.
    pub(crate) fn typed(&self, keys: &[u8], to: &mut Vec<u8>) {
        for key in keys {
            match (*key, self.out_cr, self.out_lf) {
                (b'\r', Some(other), _) | (b'\n', _, Some(other)) => to.extend_from_slice(other),
                (127, ..) if self.swaps_del => to.push(8),
                (8, ..) if self.swaps_del => to.push(127),
                (key, ..) => to.push(key),
            }
        }
    }
}

/// Where the screen is, and how bytes are shown.
pub(crate) struct Screen {
    /// Hexadecimal.
    pub(crate) hex: bool,
    /// Times before lines.
    pub(crate) stamps: Stamps,
    /// Line ends.
    pub(crate) maps: Maps,
    /// The user's terminal is raw: our own lines need CR LF.
    pub(crate) raw: bool,
    began: Instant,
    /// When the last line began.
    before: Instant,
    at_line_start: bool,
    /// Bytes in the current line of hexadecimal.
    column: usize,
    drawn: Vec<u8>,
}

/// Bytes in a row of hexadecimal: with a time before it 40 columns are enough.
const HEX_ROW: usize = 8;

impl Screen {
    pub(crate) fn new(raw: bool) -> Self {
        let now = Instant::now();
        Self {
            hex: false,
            stamps: Stamps::Off,
            maps: Maps::default(),
            raw,
            began: now,
            before: now,
            at_line_start: true,
            column: 0,
            drawn: Vec::new(),
        }
    }

    /// Changes to the next form of times; its word.
    pub(crate) fn next_stamps(&mut self) -> &'static str {
        let all = Stamps::VALUES;
        let at = all.iter().position(|(_, stamps)| *stamps == self.stamps).unwrap_or_default();
        let (word, next) = all[(at + 1) % all.len()];
        self.stamps = next;
        word
    }

    /// Shows received bytes.
    pub(crate) fn show(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(last) = bytes.last() else { return Ok(()) };
        let as_is = !self.hex && self.stamps == Stamps::Off && !self.maps.in_cr && !self.maps.in_lf;
        if as_is {
            self.at_line_start = *last == b'\n';
            return write_to(stdout(), bytes);
        }
        let mut drawn = std::mem::take(&mut self.drawn);
        drawn.clear();
        self.draw(bytes, Instant::now(), &mut drawn);
        let shown = write_to(stdout(), &drawn);
        self.drawn = drawn;
        shown
    }

    /// What is shown for these bytes.
    fn draw(&mut self, bytes: &[u8], now: Instant, out: &mut Vec<u8>) {
        if self.hex {
            return self.draw_hex(bytes, now, out);
        }
        for byte in bytes {
            // An empty line gets its time, too.
            if self.at_line_start && *byte != b'\r' {
                self.stamp(now, out);
                self.at_line_start = false;
            }
            match *byte {
                b'\r' if self.maps.in_cr => out.extend_from_slice(b"\r\n"),
                b'\n' if self.maps.in_lf => out.extend_from_slice(b"\r\n"),
                byte => out.push(byte),
            }
            self.at_line_start |= *byte == b'\n' || (*byte == b'\r' && self.maps.in_cr);
        }
    }

    /// `48 65 6c 6c 6f 0d 0a`: eight bytes a row, or up to a line end.
    fn draw_hex(&mut self, bytes: &[u8], now: Instant, out: &mut Vec<u8>) {
        for byte in bytes {
            if self.column == 0 {
                self.stamp(now, out);
            }
            self.at_line_start = false;
            let mut text = String::new();
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x} ");
            out.extend_from_slice(text.as_bytes());
            self.column += 1;
            if self.column == HEX_ROW || *byte == b'\n' {
                out.extend_from_slice(b"\r\n");
                self.column = 0;
                self.at_line_start = true;
            }
        }
    }

    fn stamp(&mut self, now: Instant, out: &mut Vec<u8>) {
        let seconds = |time: Duration| format!("{:10.3}", time.as_secs_f64());
        let text = match self.stamps {
            Stamps::Off => return,
            Stamps::Absolute => zone::local_stamp(),
            Stamps::Relative => seconds(now - self.began),
            Stamps::Delta => seconds(now - self.before),
        };
        self.before = now;
        out.extend_from_slice(format!("[{text}] ").as_bytes());
    }

    /// What ends our own lines.
    fn line_end(&self) -> &'static str {
        if self.raw { "\r\n" } else { "\n" }
    }

    /// Shows a message of ours on lines of its own. It goes to stderr: stdout has only what the line sent.
    pub(crate) fn say(&mut self, text: &str) {
        let end = self.line_end();
        let mut lines = String::new();
        if !self.at_line_start || self.column > 0 {
            lines.push_str(end);
        }
        for line in text.lines() {
            lines.push_str(line);
            lines.push_str(end);
        }
        self.at_line_start = true;
        self.column = 0;
        // Without a screen there is no one to tell.
        let _ = write_to(stderr(), lines.as_bytes());
    }

    /// Ends the line, unless nothing is on it.
    pub(crate) fn fresh_line(&mut self) {
        self.say("");
    }

    /// Shows a question: the cursor stays behind it.
    pub(crate) fn ask(&mut self, text: &str) {
        let end = self.line_end();
        let begin = if self.at_line_start && self.column == 0 { "" } else { end };
        self.at_line_start = false;
        self.column = 0;
        let _ = write_to(stderr(), format!("{begin}{text}").as_bytes());
    }

    /// Shows the answer as it is typed.
    pub(crate) fn echo(text: &str) {
        let _ = write_to(stderr(), text.as_bytes());
    }

    /// The answer is complete.
    pub(crate) fn answered(&mut self) {
        let end = self.line_end();
        self.at_line_start = true;
        let _ = write_to(stderr(), end.as_bytes());
    }

    /// Clears it.
    pub(crate) fn clear(&mut self) {
        self.at_line_start = true;
        self.column = 0;
        let _ = write_to(stderr(), b"\x1b[H\x1b[2J");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(screen: &mut Screen, bytes: &[u8]) -> String {
        let mut out = Vec::new();
        let now = screen.began + Duration::from_millis(1500);
        screen.draw(bytes, now, &mut out);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn line_ends_are_changed() {
        let mut screen = Screen::new(true);
        screen.maps = Maps::parse("ilfcrlf").unwrap();
        assert_eq!(drawn(&mut screen, b"a\nb\n"), "a\r\nb\r\n");
        screen.maps = Maps::parse("icrcrlf").unwrap();
        assert_eq!(drawn(&mut screen, b"a\rb"), "a\r\nb");
        let sent = |words: &str, keys: &[u8]| {
            let mut out = Vec::new();
            Maps::parse(words).unwrap().typed(keys, &mut out);
            out
        };
        assert_eq!(sent("ocrcrlf", b"ls\r"), b"ls\r\n");
        assert_eq!(sent("ocrlf, odelbs", b"\x7f\r"), b"\x08\n");
        assert_eq!(sent("olfcr", b"a\n"), b"a\r");
        assert!(Maps::parse("crlf").unwrap_err().contains("icrcrlf"));
    }

    #[test]
    fn lines_get_times_and_bytes_get_codes() {
        let mut screen = Screen::new(true);
        screen.stamps = Stamps::Relative;
        assert_eq!(drawn(&mut screen, b"one\r\ntw"), "[     1.500] one\r\n[     1.500] tw");
        assert_eq!(drawn(&mut screen, b"o\r\n"), "o\r\n");
        screen.stamps = Stamps::Delta;
        assert_eq!(drawn(&mut screen, b"three"), "[     0.000] three");
        let mut screen = Screen::new(true);
        screen.hex = true;
        assert_eq!(drawn(&mut screen, b"Hi\r\n\x00"), "48 69 0d 0a \r\n00 ");
        assert_eq!(
            drawn(&mut screen, b"\x01\x02\x03\x04\x05\x06\x07\x08"),
            "01 02 03 04 05 06 07 \r\n08 "
        );
        screen.stamps = Stamps::Delta;
        screen.next_stamps();
        assert_eq!(screen.stamps, Stamps::Off);
    }
}
