//! Code functions: characters, checks, hexadecimal, Base64, addresses.

use super::{Arguments, FunctionError, Given, digits};
use crate::interp::Interp;
use crate::text::trim;

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

impl Interp<'_> {
    pub(super) fn code_function(&mut self, name: &str, a: &Arguments) -> Option<Given> {
        Some(match name {
            "code" => match a.text(0).first() {
                Some(byte) => digits(*byte),
                None => digits(0),
            },
            "character" => self.argument(a, 0, None).and_then(|code| {
                let byte = u8::try_from(code).map_err(|_| FunctionError::ArgOutOfRange)?;
                Ok(vec![byte])
            }),
            "hexify" => {
                Ok(a.text(0).iter().flat_map(|b| format!("{b:02x}").into_bytes()).collect())
            }
            "unhexify" => unhexify(a.text(0)),
            "decodehex" => decode_hex(a),
            "checksum" => digits(a.text(0).iter().map(|b| u64::from(*b)).sum::<u64>()),
            "crc16" => digits(crc16(a.text(0))),
            "b64encode" => Ok(encode(a.text(0))),
            "b64decode" => decode(a.text(0)),
            "ipaddress" => self.ip_address(a),
            "ip2hex" => ip_to_hex(a.text(0)),
            "hex2ip" => unhexify(a.text(0)).and_then(|bytes| match bytes.as_slice() {
                [a, b, c, d] => Ok(format!("{a}.{b}.{c}.{d}").into_bytes()),
                _ => Err(FunctionError::ArgBadFormat),
            }),
            "stringtype" => Ok(string_type(a.text(0)).as_bytes().to_vec()),
            "emailaddress" => Ok(email(a.text(0))),
            "function" => digits(i32::from(super::is_known(a.text(0)))),
            "errstring" => self.argument(a, 0, None).map(|number| {
                let number = i32::try_from(number).unwrap_or(-1);
                let text = std::io::Error::from_raw_os_error(number).to_string();
                text.split(" (os error").next().unwrap_or_default().as_bytes().to_vec()
            }),
            _ => return None,
        })
    }

    /// The first address in a text.
    fn ip_address(&mut self, a: &Arguments) -> Given {
        let text = a.text(0);
        let from = usize::try_from(self.argument(a, 1, Some(1))? - 1).unwrap_or(0);
        let rest = text.get(from..).unwrap_or_default();
        let pieces = rest.split(|b| !b.is_ascii_digit() && *b != b'.');
        let found = pieces.map(|piece| piece.strip_suffix(b".").unwrap_or(piece));
        Ok(found.into_iter().find(|piece| octets(piece).is_some()).unwrap_or_default().to_vec())
    }
}

fn octets(text: &[u8]) -> Option<[u8; 4]> {
    let parts: Option<Vec<u8>> =
        text.split(|b| *b == b'.').map(|p| std::str::from_utf8(p).ok()?.parse().ok()).collect();
    parts?.try_into().ok()
}

fn ip_to_hex(text: &[u8]) -> Given {
    let octets = octets(trim(text)).ok_or(FunctionError::ArgBadFormat)?;
    Ok(octets.iter().flat_map(|b| format!("{b:02x}").into_bytes()).collect())
}

fn unhexify(text: &[u8]) -> Given {
    let text = trim(text);
    if !text.len().is_multiple_of(2) {
        return Err(FunctionError::ArgBadHex);
    }
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    text.chunks(2).map(pair).collect::<Option<Vec<u8>>>().ok_or(FunctionError::ArgBadHex)
}

/// `%41`, or two digits after another mark.
fn decode_hex(a: &Arguments) -> Given {
    let text = a.text(0);
    let mark = if a.text(1).is_empty() { b"%" } else { a.text(1) };
    let mut out = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let digits = text.get(at + mark.len()..at + mark.len() + 2);
        let byte = digits
            .filter(|_| text[at..].starts_with(mark))
            .and_then(|d| std::str::from_utf8(d).ok().and_then(|d| u8::from_str_radix(d, 16).ok()));
        out.push(byte.unwrap_or(text[at]));
        at += byte.map_or(1, |_| mark.len() + 2);
    }
    Ok(out)
}

/// Kermit's block check type 3: CRC-CCITT, least significant bit first, from 0.
fn crc16(text: &[u8]) -> u16 {
    text.iter().fold(0u16, |crc, byte| {
        let mut crc = crc ^ u16::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0x8408 } else { crc >> 1 };
        }
        crc
    })
}

fn encode(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for part in text.chunks(3) {
        let word =
            part.iter().fold(0u32, |word, b| word << 8 | u32::from(*b)) << (8 * (3 - part.len()));
        for index in 0..4 {
            let digit = BASE64[(word >> (18 - 6 * index) & 63) as usize];
            out.push(if index <= part.len() { digit } else { b'=' });
        }
    }
    out
}

fn decode(text: &[u8]) -> Given {
    let mut out = Vec::new();
    let (mut word, mut bits) = (0u32, 0);
    for byte in trim(text).iter().filter(|b| **b != b'=') {
        let digit = BASE64.iter().position(|b| b == byte).ok_or(FunctionError::ArgBadFormat)?;
        word = word << 6 | digit as u32;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push((word >> bits) as u8);
            word &= (1 << bits) - 1;
        }
    }
    Ok(out)
}

fn string_type(text: &[u8]) -> &'static str {
    if text.is_ascii() {
        "7BIT"
    } else if std::str::from_utf8(text).is_ok() {
        "UTF8"
    } else if text.contains(&0) {
        "BINARY"
    } else {
        "8BIT"
    }
}

/// The address in `Some One <one@host>` or `one@host (Some One)`.
fn email(text: &[u8]) -> Vec<u8> {
    let open = text.iter().position(|b| *b == b'<');
    let close = text.iter().rposition(|b| *b == b'>');
    if let (Some(open), Some(close)) = (open, close)
        && open < close
    {
        return trim(&text[open + 1..close]).to_vec();
    }
    let words = text.split(|b| b.is_ascii_whitespace() || matches!(b, b'(' | b')' | b',' | b'"'));
    words.into_iter().find(|word| word.contains(&b'@')).unwrap_or_default().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_and_codes() {
        assert_eq!(crc16(b"123456789"), 0x2189);
        assert_eq!(encode(b"hello"), b"aGVsbG8=");
        assert_eq!(encode(b"hell"), b"aGVsbA==");
        assert_eq!(decode(b"aGVsbG8="), Ok(b"hello".to_vec()));
        assert_eq!(decode(b"*"), Err(FunctionError::ArgBadFormat));
        assert_eq!(unhexify(b"616"), Err(FunctionError::ArgBadHex));
        assert_eq!(email(b"Frank <fdc@kermit.org>"), b"fdc@kermit.org");
    }
}
