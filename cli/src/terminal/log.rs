//! What is received, in a file.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use wetstring_drive::zone;

use crate::args::session::LogFormat;

/// An open log.
pub(crate) struct Log {
    file: BufWriter<File>,
    pub(crate) path: PathBuf,
    format: LogFormat,
    began: Instant,
    text: PlainText,
    at_line_start: bool,
    /// The beginning of a character whose rest is still to come.
    partial: Vec<u8>,
    /// Writing has failed, and that was said.
    failed: bool,
}

impl Log {
    /// Opens it: text is appended, an asciicast replaces what is there. `size` is that of the terminal, in
    /// columns and rows.
    pub(crate) fn open(path: &Path, format: LogFormat, size: (u16, u16)) -> io::Result<Self> {
        let fresh = format == LogFormat::Asciicast;
        let mut options = File::options();
        let file = options.create(true).write(true).append(!fresh).truncate(fresh).open(path)?;
        Ok(Self::on(file, path, format, size))
    }

    /// The same for a file that is open.
    pub(crate) fn on(
        file: File,
        path: &Path,
        format: LogFormat,
        (columns, rows): (u16, u16),
    ) -> Self {
        let mut log = Self {
            file: BufWriter::new(file),
            path: path.to_owned(),
            format,
            began: Instant::now(),
            text: PlainText::default(),
            at_line_start: true,
            partial: Vec::new(),
            failed: false,
        };
        if format == LogFormat::Asciicast {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
            // The two that players show.
            let env: serde_json::Map<_, _> = ["SHELL", "TERM"]
                .into_iter()
                .filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?.into())))
                .collect();
            let head = serde_json::json!({
                "version": 2, "width": columns, "height": rows, "timestamp": now, "env": env,
            });
            let written = writeln!(log.file, "{head}");
            log.failed |= written.is_err();
        }
        log
    }

    /// Adds received bytes. An error is returned once: a full disk does not end a session.
    pub(crate) fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.failed {
            return Ok(());
        }
        let done = self.write(bytes).and_then(|()| self.file.flush());
        self.failed = done.is_err();
        done
    }

    /// The terminal has another size now, in columns and rows. A full disk is reported by [`Log::add`].
    pub(crate) fn resize(&mut self, (columns, rows): (u16, u16)) {
        if self.format == LogFormat::Asciicast {
            let _ = self.event("r", &format!("{columns}x{rows}"));
        }
    }

    /// An event of an asciicast.
    fn event(&mut self, code: &str, data: &str) -> io::Result<()> {
        let at_s = self.began.elapsed().as_micros() as f64 / 1e6;
        writeln!(self.file, "{}", serde_json::json!([at_s, code, data]))
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.format {
            LogFormat::Raw => self.file.write_all(bytes),
            LogFormat::Plain => {
                let text = self.text.of(bytes);
                self.file.write_all(&text)
            }
            LogFormat::Timestamped => {
                let text = self.text.of(bytes);
                for line in text.split_inclusive(|byte| *byte == b'\n') {
                    if self.at_line_start {
                        write!(self.file, "[{}] ", zone::local_stamp())?;
                    }
                    self.file.write_all(line)?;
                    self.at_line_start = line.ends_with(b"\n");
                }
                Ok(())
            }
            LogFormat::Asciicast => {
                self.partial.extend_from_slice(bytes);
                let whole = whole_characters(&self.partial);
                let text: Vec<u8> = self.partial.drain(..whole).collect();
                if text.is_empty() {
                    return Ok(());
                }
                self.event("o", &String::from_utf8_lossy(&text))
            }
        }
    }
}

impl Drop for Log {
    /// The rest of a character did not come.
    fn drop(&mut self) {
        if !self.partial.is_empty() && !self.failed {
            let text = String::from_utf8_lossy(&std::mem::take(&mut self.partial)).into_owned();
            let _ = self.event("o", &text);
        }
    }
}

/// The length of the bytes without a character that is not whole yet.
fn whole_characters(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let byte = bytes[bytes.len() - back];
        let needs = match byte {
            0xC2..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF4 => 4,
            0x80..=0xBF => continue,
            _ => return bytes.len(),
        };
        return if needs > back { bytes.len() - back } else { bytes.len() };
    }
    bytes.len()
}

/// Removes CR and the control sequences of terminals.
#[derive(Default)]
struct PlainText {
    inside: Inside,
}

/// Which sequence the last byte belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Inside {
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// After ESC [.
    Control,
    /// In a string such as a title, up to BEL or ESC \.
    Long,
    /// After ESC in such a string.
    LongEscape,
}

impl PlainText {
    fn of(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len());
        for byte in bytes {
            self.inside = match (self.inside, *byte) {
                (Inside::Text, 0x1B) => Inside::Escape,
                (Inside::Text, b'\n' | b'\t' | b' '..=b'~' | 0x80..) => {
                    out.push(*byte);
                    Inside::Text
                }
                (Inside::Text, _) => Inside::Text,
                (Inside::Escape, b'[') => Inside::Control,
                (Inside::Escape, b']' | b'P' | b'_' | b'^' | b'X') => Inside::Long,
                (Inside::Escape, b' '..=b'/') => Inside::Escape,
                (Inside::Escape, _) => Inside::Text,
                (Inside::Control, b'@'..=b'~') => Inside::Text,
                // A line end in a sequence: it was none.
                (Inside::Control, b'\n') => {
                    out.push(b'\n');
                    Inside::Text
                }
                (Inside::Control, _) => Inside::Control,
                (Inside::Long, 7) => Inside::Text,
                (Inside::Long, 0x1B) => Inside::LongEscape,
                (Inside::Long, _) => Inside::Long,
                (Inside::LongEscape, b'\\') => Inside::Text,
                (Inside::LongEscape, _) => Inside::Long,
            };
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logged(format: LogFormat, chunks: &[&[u8]]) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let mut log = Log::open(&path, format, (80, 24)).expect("a log");
        for chunk in chunks {
            log.add(chunk).expect("it is written");
        }
        drop(log);
        std::fs::read_to_string(path).expect("the log")
    }

    #[test]
    fn plain_text_has_no_control_sequences_in_any_chunking() {
        let bytes =
            b"\x1b]0;title\x07\x1b[1;32mroot\x1b[0m:\xc3\xa9\r\n\x1b(B\x1bPq\x1b\\x\x07y\tz\r\n";
        for len in 1..bytes.len() {
            let chunks: Vec<&[u8]> = bytes.chunks(len).collect();
            assert_eq!(logged(LogFormat::Plain, &chunks), "root:é\nxy\tz\n");
        }
    }

    #[test]
    fn lines_have_their_time() {
        let text = logged(LogFormat::Timestamped, &[b"one\r\ntw", b"o\r\n", b"three"]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        for (line, word) in lines.iter().zip(["one", "two", "three"]) {
            let (stamp, rest) = line.split_once("] ").expect("a stamp");
            assert_eq!((rest, stamp.len()), (word, "[2026-11-21 11:36:06.250".len()), "{line}");
        }
    }

    #[test]
    fn an_asciicast_has_the_sizes_of_the_terminal() {
        let folder = tempfile::tempdir().expect("a folder");
        for (format, events) in [(LogFormat::Asciicast, 1), (LogFormat::Raw, 0)] {
            let path = folder.path().join("log");
            let mut log = Log::open(&path, format, (80, 24)).expect("a log");
            log.resize((132, 50));
            drop(log);
            let text = std::fs::read_to_string(&path).expect("the log");
            assert_eq!(text.matches(r#","r","132x50"]"#).count(), events, "{text}");
            std::fs::remove_file(path).expect("it was there");
        }
    }

    #[test]
    fn an_asciicast_is_a_header_and_events_of_whole_characters() {
        let chunks = [&b"\x1b[1mh\xc3"[..], b"\xa9\r\n", b"\xff", b"cut\xe2\x82"];
        let text = logged(LogFormat::Asciicast, &chunks);
        let mut lines =
            text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let head = lines.next().expect("a header");
        assert_eq!(
            (&head["version"], &head["width"], &head["height"]),
            (&2.into(), &80.into(), &24.into())
        );
        assert!(head["timestamp"].is_u64() && head["env"].is_object(), "{head}");
        let events: Vec<_> = lines.collect();
        assert!(events.iter().all(|event| event[0].is_f64() && event[1] == "o"));
        let said: Vec<_> = events.iter().map(|event| event[2].as_str().unwrap()).collect();
        assert_eq!(said, ["\x1b[1mh", "é\r\n", "\u{fffd}", "cut", "\u{fffd}"]);
    }
}
