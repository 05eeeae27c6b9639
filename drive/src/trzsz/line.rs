//! Lines of trzsz: `#TYPE:` and a number, or base64 of a zlib stream.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZError, MZFlush, MZStatus};

/// Fast rather than small: the line is as slow as its answers.
const LEVEL: u8 = 3;
/// Characters that are decoded at once: what they can grow to is held.
const CHARACTERS: usize = 4096;

/// A line that carries bytes, without its end.
pub(super) fn packed(kind: &str, bytes: &[u8]) -> Vec<u8> {
    let text = STANDARD.encode(compress_to_vec_zlib(bytes, LEVEL));
    format!("#{kind}:{text}").into_bytes()
}

/// A line that carries a number, without its end.
pub(super) fn number(kind: &str, number: u64) -> Vec<u8> {
    format!("#{kind}:{number}").into_bytes()
}

/// Whether a byte stands in lines of text: in a name, in a number, in base64.
pub(super) const fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'#' | b':' | b'+' | b'/' | b'=')
}

/// Type and value of a line.
pub(super) fn divided(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    Some((line[..colon].strip_prefix(b"#")?, &line[colon + 1..]))
}

/// The bytes of a short value, at most this many.
pub(super) fn unpacked(value: &[u8], most: usize) -> Result<Vec<u8>, &'static str> {
    let (mut unpacker, mut bytes) = (Unpacker::new(), Vec::new());
    for part in value.chunks(CHARACTERS) {
        unpacker.push(part, most as u64, &mut bytes)?;
    }
    unpacker.end().map(|()| bytes)
}

/// Makes bytes of a value that comes in parts.
pub(super) struct Unpacker {
    /// Characters that are not four yet.
    open: Vec<u8>,
    inflate: Box<InflateState>,
    /// The stream has ended.
    over: bool,
    /// Bytes so far.
    pub(super) len: u64,
    /// Characters that may still come: empty blocks of zlib would never end.
    room: Option<u64>,
}

impl Unpacker {
    pub(super) fn new() -> Self {
        let inflate = InflateState::new_boxed(DataFormat::Zlib);
        Self { open: Vec::new(), inflate, over: false, len: 0, room: None }
    }

    /// The next characters; `into` gets what they mean. An error if that are more than `most` bytes in all.
    pub(super) fn push(
        &mut self,
        text: &[u8],
        most: u64,
        into: &mut Vec<u8>,
    ) -> Result<(), &'static str> {
        let room = self.room.unwrap_or_else(|| most.saturating_mul(2).saturating_add(4096));
        self.room =
            Some(room.checked_sub(text.len() as u64).ok_or("a longer line than its bytes")?);
        self.open.extend_from_slice(text);
        let whole: Vec<u8> = self.open.drain(..self.open.len() / 4 * 4).collect();
        let bytes = STANDARD.decode(whole).map_err(|_| "what is no base64")?;
        if self.over && !bytes.is_empty() {
            return Err("data after its end");
        }
        self.inflate(&bytes, most, into)
    }

    fn inflate(
        &mut self,
        mut bytes: &[u8],
        most: u64,
        into: &mut Vec<u8>,
    ) -> Result<(), &'static str> {
        let mut buffer = [0; 16 * 1024];
        loop {
            let done = inflate(&mut self.inflate, bytes, &mut buffer, MZFlush::None);
            bytes = &bytes[done.bytes_consumed..];
            self.len += done.bytes_written as u64;
            if self.len > most {
                return Err("more than was announced");
            }
            into.extend_from_slice(&buffer[..done.bytes_written]);
            match done.status {
                Ok(MZStatus::StreamEnd) => {
                    self.over = true;
                    return if bytes.is_empty() { Ok(()) } else { Err("data after its end") };
                }
                // It has taken all, and has no more to give.
                Err(MZError::Buf) if bytes.is_empty() => return Ok(()),
                Ok(_) if bytes.is_empty() && done.bytes_written < buffer.len() => return Ok(()),
                Ok(_) => {}
                Err(_) => return Err("what is no zlib"),
            }
        }
    }

    /// The line is over.
    pub(super) fn end(&self) -> Result<(), &'static str> {
        if self.over && self.open.is_empty() { Ok(()) } else { Err("a part of it") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Python 3.11 makes of it: `base64.b64encode(zlib.compress(b'{"confirm":false}'))`.
    const PYTHON: &[u8] = b"eJyrVkrOz0vLLMpVskpLzClOrQUAOKQGcA==";

    #[test]
    fn a_line_is_read_and_written() {
        assert_eq!(unpacked(PYTHON, 17), Ok(b"{\"confirm\":false}".to_vec()));
        let noise = wetstring_testkit::noise(1, 100_000);
        for bytes in [&b""[..], b"x", &[0; 10_000], &noise] {
            let line = packed("DATA", bytes);
            let (kind, value) = divided(&line).expect("both");
            assert_eq!((kind, unpacked(value, bytes.len())), (&b"DATA"[..], Ok(bytes.to_vec())));
        }
    }

    #[test]
    fn bytes_come_in_any_parts() {
        let bytes = wetstring_testkit::noise(2, 3000);
        let line = packed("DATA", &bytes);
        let value = &line[6..];
        for len in [1, 3, 7, 1000] {
            let (mut unpacker, mut came) = (Unpacker::new(), Vec::new());
            for part in value.chunks(len) {
                assert_eq!(unpacker.push(part, 3000, &mut came), Ok(()));
            }
            assert_eq!((unpacker.end(), came == bytes), (Ok(()), true), "{len}");
        }
    }

    #[test]
    fn a_bomb_ends_where_it_was_announced_to() {
        let bomb = packed("DATA", &vec![0; 20_000_000]);
        let (mut unpacker, mut came) = (Unpacker::new(), Vec::new());
        let mut parts = bomb[6..].chunks(CHARACTERS);
        let failed = parts.find_map(|part| unpacker.push(part, 10_000, &mut came).err());
        assert_eq!(failed, Some("more than was announced"));
        assert!(came.len() <= 10_000, "{}", came.len());
    }

    #[test]
    fn bad_values_are_errors() {
        let empty_blocks =
            STANDARD.encode([&[0x78, 1][..], &[0, 0, 0, 0xFF, 0xFF].repeat(3000)].concat());
        let after = [PYTHON, b"AAAA"].concat();
        for (value, why) in [
            (&b"!!!!"[..], "what is no base64"),
            (b"AAAAAAAA", "what is no zlib"),
            (&PYTHON[..8], "a part of it"),
            (&PYTHON[..11], "a part of it"),
            (&after, "what is no base64"),
            (empty_blocks.as_bytes(), "a longer line than its bytes"),
        ] {
            assert_eq!(unpacked(value, 100), Err(why), "{}", value.escape_ascii());
        }
        assert_eq!(divided(b"#SUCC"), None);
        assert_eq!(divided(b"x:1"), None);
    }
}
