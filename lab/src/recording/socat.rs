//! What `socat -x` writes to stderr: a line for each transfer, and its bytes in hex.
//!
//! ```text
//! > 2026/11/27 11:00:58.738238  length=24 from=0 to=23
//!  72 7a 0d 2a 2a 18 42 30 30 30 30 30 30 30 30 30  rz.**.B000000000
//! ```
//!
//! The text beside it is there with `-v`. `>` goes from the first address to the second.

use super::{BadRecording, Piece, Side};

/// Some versions write microseconds with nine digits.
const MICROSECONDS: u64 = 1_000_000;

/// The end that is the first address; `None` if it is no such log.
pub(super) fn sides(file: &[u8]) -> Option<Result<Vec<Side>, BadRecording>> {
    let text = String::from_utf8_lossy(file);
    let mut transfers: Vec<Transfer> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if let Some(transfer) = header(line) {
            transfers.push(Transfer { line: index + 1, ..transfer });
        } else if let Some(last) = transfers.last_mut()
            && last.bytes.len() < last.len
        {
            last.bytes.extend(hex(line));
        }
    }
    if transfers.is_empty() {
        return None;
    }
    let is_micro = transfers.iter().all(|t| t.digits == 9 && t.fraction < MICROSECONDS);
    let pieces: Result<Vec<Piece>, BadRecording> = transfers
        .into_iter()
        .map(|transfer| {
            let Transfer { line, len, bytes, .. } = &transfer;
            if bytes.len() != *len {
                let got = bytes.len();
                let say = format!("socat: line {line}: expected {len} bytes after it, got {got}");
                return Err(BadRecording::new(say));
            }
            let at = transfer.at(is_micro);
            Ok(Piece { from: at, to: at, sent: transfer.sent, bytes: transfer.bytes })
        })
        .collect();
    Some(pieces.map(|pieces| vec![Side { pieces, ..Side::default() }]))
}

/// Bytes that socat passed on.
struct Transfer {
    line: usize,
    sent: bool,
    /// Days and seconds, and the fraction as it is written, with its number of digits.
    seconds: u64,
    fraction: u64,
    digits: usize,
    len: usize,
    bytes: Vec<u8>,
}

impl Transfer {
    fn at(&self, is_micro: bool) -> u64 {
        let digits = if is_micro { 6 } else { self.digits };
        self.seconds * 1_000_000_000 + self.fraction * 10u64.pow(9 - digits as u32)
    }
}

/// The line before the bytes of a transfer.
fn header(line: &str) -> Option<Transfer> {
    let mut words = line.split_ascii_whitespace();
    let sent = match words.next()? {
        ">" => true,
        "<" => false,
        _ => return None,
    };
    let date: Vec<u64> = words.next()?.split('/').map_while(|part| part.parse().ok()).collect();
    let [year, month, day] = date[..] else { return None };
    let (clock, fraction) = words.next()?.split_once('.')?;
    let clock: Vec<u64> = clock.split(':').map_while(|part| part.parse().ok()).collect();
    let [hours, minutes, seconds] = clock[..] else { return None };
    let digits = Some(fraction.len()).filter(|digits| *digits <= 9)?;
    let len = words.next()?.strip_prefix("length=")?.parse().ok()?;
    if !(1970..2300).contains(&year) || month > 12 || day > 31 || hours > 23 || minutes > 59 {
        return None;
    }
    // Only differences count: each month may have 31 days.
    let days = (year - 1970) * 372 + month * 31 + day;
    let seconds = ((days * 24 + hours) * 60 + minutes) * 60 + seconds.min(60);
    let fraction = fraction.parse().ok()?;
    Some(Transfer { line: 0, sent, seconds, fraction, digits, len, bytes: Vec::new() })
}

/// The bytes of a line: each is a blank and two digits; a text beside them is two blanks away.
fn hex(line: &str) -> impl Iterator<Item = u8> {
    let byte = |three: &[u8]| {
        let [b' ', digits @ ..] = three else { return None };
        let text = std::str::from_utf8(digits).ok()?;
        (text.len() == 2).then(|| u8::from_str_radix(text, 16).ok()).flatten()
    };
    line.as_bytes().chunks(3).map_while(byte)
}
