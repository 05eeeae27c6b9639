//! A ZMODEM peer of a few lines, which says whatever a test wants it to say.
#![allow(dead_code, reason = "each test program uses a part of this")]

use std::io::{Read, Write};

/// CRC-16 of XMODEM and ZMODEM.
pub(crate) fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc: u16, byte| {
        (0..8).fold(crc ^ (u16::from(*byte) << 8), |crc, _| {
            if crc & 0x8000 != 0 { (crc << 1) ^ 0x1021 } else { crc << 1 }
        })
    })
}

/// A hex header.
pub(crate) fn hex(kind: u8, data: [u8; 4]) -> Vec<u8> {
    let mut body = vec![kind];
    body.extend_from_slice(&data);
    let crc = crc16(&body).to_be_bytes();
    body.extend_from_slice(&crc);
    let digit = |nibble: u8| b"0123456789abcdef"[usize::from(nibble)];
    let digits: Vec<u8> =
        body.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect();
    [b"**\x18B", &digits[..], b"\r\x8a\x11"].concat()
}

/// Bytes with the escapes of ZMODEM.
fn escaped(bytes: &[u8], out: &mut Vec<u8>) {
    for byte in bytes {
        match byte & 0x7F {
            0x10 | 0x11 | 0x13 | 0x18 | 0x0D => out.extend_from_slice(&[0x18, byte ^ 0x40]),
            _ => out.push(*byte),
        }
    }
}

/// A data subpacket with CRC-16, ended by `end` (`h` to `k`).
pub(crate) fn subpacket(data: &[u8], end: u8) -> Vec<u8> {
    let mut out = Vec::new();
    escaped(data, &mut out);
    out.extend_from_slice(&[0x18, end]);
    escaped(&crc16(&[data, &[end]].concat()).to_be_bytes(), &mut out);
    out
}

/// The types that tests use.
pub(crate) mod kind {
    pub(crate) const ZRQINIT: u8 = 0;
    pub(crate) const ZRINIT: u8 = 1;
    pub(crate) const ZFILE: u8 = 4;
    pub(crate) const ZSKIP: u8 = 5;
    pub(crate) const ZFIN: u8 = 8;
    pub(crate) const ZRPOS: u8 = 9;
    pub(crate) const ZDATA: u8 = 10;
    pub(crate) const ZEOF: u8 = 11;
    pub(crate) const ZCOMPL: u8 = 15;
    pub(crate) const ZCOMMAND: u8 = 18;
}

/// Reads up to the next hex header; its type and data.
pub(crate) fn answer(stream: &mut impl Read) -> Option<(u8, [u8; 4])> {
    let mut seen = Vec::new();
    let mut byte = [0];
    while matches!(stream.read(&mut byte), Ok(1)) {
        seen.push(byte[0]);
        let Some(at) = seen.windows(4).position(|window| window == b"**\x18B") else { continue };
        let digits = &seen[at + 4..];
        if digits.len() < 14 {
            continue;
        }
        let text = std::str::from_utf8(&digits[..10]).ok()?;
        let mut values = (0..5).map(|k| u8::from_str_radix(&text[2 * k..2 * k + 2], 16));
        let kind = values.next()?.ok()?;
        let mut data = [0; 4];
        for (slot, value) in data.iter_mut().zip(values) {
            *slot = value.ok()?;
        }
        return Some((kind, data));
    }
    None
}

/// Waits for an answer of one of these types, and returns it.
pub(crate) fn wait_for(stream: &mut impl Read, kinds: &[u8]) -> Option<(u8, [u8; 4])> {
    loop {
        let answer = answer(stream)?;
        if kinds.contains(&answer.0) {
            return Some(answer);
        }
    }
}

/// Offers a file, as a sender with `options` in ZF1 to ZF3 does, and returns the answer's type.
pub(crate) fn offer(
    stream: &mut (impl Read + Write),
    name: &[u8],
    info: &str,
    options: [u8; 4],
) -> Option<u8> {
    stream.write_all(&hex(kind::ZFILE, options)).ok()?;
    let data = [name, b"\0", info.as_bytes(), b"\0"].concat();
    stream.write_all(&subpacket(&data, b'k')).ok()?;
    wait_for(stream, &[kind::ZRPOS, kind::ZSKIP, kind::ZFIN]).map(|(kind, _)| kind)
}

/// Sends a small file under any name and information, and says goodbye. The answer to the offer.
pub(crate) fn send(
    stream: &mut (impl Read + Write),
    name: &[u8],
    info: &str,
    options: [u8; 4],
    data: &[u8],
) -> Option<u8> {
    stream.write_all(&hex(kind::ZRQINIT, [0; 4])).ok()?;
    wait_for(stream, &[kind::ZRINIT])?;
    let answer = offer(stream, name, info, options)?;
    if answer == kind::ZRPOS {
        stream.write_all(&hex(kind::ZDATA, [0; 4])).ok()?;
        stream.write_all(&subpacket(data, b'h')).ok()?;
        stream.write_all(&hex(kind::ZEOF, (data.len() as u32).to_le_bytes())).ok()?;
        wait_for(stream, &[kind::ZRINIT])?;
    }
    stream.write_all(&hex(kind::ZFIN, [0; 4])).ok()?;
    wait_for(stream, &[kind::ZFIN])?;
    stream.write_all(b"OO").ok()?;
    Some(answer)
}
