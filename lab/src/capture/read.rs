//! Reads pcapng files: sections of either byte order, interfaces, enhanced and simple packets. Other blocks are
//! skipped.

use super::write::{ENHANCED, EPB_FLAGS, IF_TSRESOL, INBOUND, INTERFACE, ORDER, OUTBOUND, SECTION};
use std::fmt;

/// Simple packets have no time of their own.
const SIMPLE: u32 = 3;
/// The flags' bits that say the direction.
const DIRECTION: u32 = 3;

/// A packet of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// Since 1970, in ns.
    pub at_ns: u64,
    /// The number of its interface in the file.
    pub interface: usize,
    /// The registered link type of that.
    pub link_type: u16,
    /// Whether it was sent there; `None` if the file does not say.
    pub sent: Option<bool>,
    /// What was captured, with the header of the link type.
    pub bytes: Vec<u8>,
}

/// Why a file cannot be read, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadCapture {
    /// Offset of the block.
    pub offset: usize,
    /// What is wrong with it.
    pub message: &'static str,
}

impl fmt::Display for BadCapture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pcapng: offset {}: expected {}", self.offset, self.message)
    }
}

impl std::error::Error for BadCapture {}

/// Numbers in a byte order.
#[derive(Clone, Copy, Debug)]
struct Order {
    big: bool,
}

impl Order {
    fn u32(self, bytes: &[u8], at: usize) -> Option<u32> {
        let word = bytes.get(at..)?.first_chunk().copied()?;
        Some(if self.big { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) })
    }

    fn u16(self, bytes: &[u8], at: usize) -> Option<u16> {
        let word = bytes.get(at..)?.first_chunk().copied()?;
        Some(if self.big { u16::from_be_bytes(word) } else { u16::from_le_bytes(word) })
    }

    /// The value of an option.
    fn option(self, mut options: &[u8], code: u16) -> Option<&[u8]> {
        loop {
            let (found, len) = (self.u16(options, 0)?, usize::from(self.u16(options, 2)?));
            if found == 0 {
                return None;
            }
            let value = options.get(4..4 + len)?;
            if found == code {
                return Some(value);
            }
            options = options.get(4 + len.next_multiple_of(4)..)?;
        }
    }
}

/// An interface: its link type, and its units of time in a second.
#[derive(Clone, Copy, Debug)]
struct Interface {
    link_type: u16,
    units: u128,
}

/// The packets of a pcapng file, in its order.
pub fn read(file: &[u8]) -> Result<Vec<Frame>, BadCapture> {
    let (mut offset, mut frames) = (0, Vec::new());
    let mut order = Order { big: false };
    let mut interfaces: Vec<Interface> = Vec::new();
    while offset < file.len() {
        let bad = |message| BadCapture { offset, message };
        let rest = &file[offset..];
        if rest.starts_with(&SECTION.to_le_bytes()) {
            order.big = match rest.get(8..12) {
                Some(word) if word == ORDER.to_be_bytes() => true,
                Some(word) if word == ORDER.to_le_bytes() => false,
                _ => return Err(bad("the byte order of a section")),
            };
            interfaces.clear();
        } else if offset == 0 {
            return Err(bad("the header of a section, 0a 0d 0d 0a"));
        }
        let kind = order.u32(rest, 0).ok_or(bad("the type of a block"))?;
        let len = order.u32(rest, 4).ok_or(bad("the length of a block"))? as usize;
        let block = rest.get(..len).filter(|_| len >= 12 && len.is_multiple_of(4));
        let body = &block.ok_or(bad("a whole block"))?[8..len - 4];
        match kind {
            INTERFACE => interfaces.push(interface(order, body).ok_or(bad("an interface"))?),
            ENHANCED => frames.push(enhanced(order, body, &interfaces).ok_or(bad("a packet"))?),
            SIMPLE => frames.push(simple(order, body, &interfaces).ok_or(bad("a packet"))?),
            _ => {}
        }
        offset += len;
    }
    Ok(frames)
}

fn interface(order: Order, body: &[u8]) -> Option<Interface> {
    let link_type = order.u16(body, 0)?;
    let resolution = order.option(body.get(8..)?, IF_TSRESOL).and_then(|value| value.first());
    let units = match resolution.copied().unwrap_or(6) {
        power if power & 0x80 == 0 => 10u128.checked_pow(u32::from(power))?,
        power => 1u128.checked_shl(u32::from(power & 0x7f))?,
    };
    Some(Interface { link_type, units })
}

fn enhanced(order: Order, body: &[u8], interfaces: &[Interface]) -> Option<Frame> {
    let number = order.u32(body, 0)? as usize;
    let interface = interfaces.get(number)?;
    let time = u128::from(order.u32(body, 4)?) << 32 | u128::from(order.u32(body, 8)?);
    let len = order.u32(body, 12)? as usize;
    let bytes = body.get(20..20usize.checked_add(len)?)?.to_vec();
    let options = body.get(20 + len.next_multiple_of(4)..).unwrap_or_default();
    let flags = order.option(options, EPB_FLAGS).and_then(|value| order.u32(value, 0));
    let sent = match flags.unwrap_or(0) & DIRECTION {
        INBOUND => Some(false),
        OUTBOUND => Some(true),
        _ => None,
    };
    let at_ns = u64::try_from(time * 1_000_000_000 / interface.units).ok()?;
    Some(Frame { at_ns, interface: number, link_type: interface.link_type, sent, bytes })
}

fn simple(order: Order, body: &[u8], interfaces: &[Interface]) -> Option<Frame> {
    let link_type = interfaces.first()?.link_type;
    let len = (order.u32(body, 0)? as usize).min(body.len() - 4);
    Some(Frame { at_ns: 0, interface: 0, link_type, sent: None, bytes: body[4..4 + len].to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::{Capture, Medium};
    use crate::element::End;

    #[test]
    fn what_is_written_is_read() {
        let capture = Capture::new();
        capture.note(1_500_000_000, End::A, true, b"hel");
        capture.note(1_501_000_000, End::A, true, b"lo");
        capture.note(1_600_000_123, End::B, false, b"hello");
        let frames = read(&capture.pcapng()).expect("a file");
        let seen = frames
            .iter()
            .map(|frame| (frame.at_ns, frame.interface, frame.sent, &frame.bytes[12..]));
        let expected = [
            (1_500_000_000, 0, Some(true), &b"hello"[..]),
            (1_600_000_123, 1, Some(false), b"hello"),
        ];
        assert_eq!(seen.collect::<Vec<_>>(), expected);
        assert_eq!(frames[0].bytes[..12], [0, 0, 0, 1, 0, 7, 161, 32, 1, 0, 0, 0]);
        // In pieces it is the same.
        assert_eq!([capture.header(), capture.drain()].concat().len(), {
            capture.note(1_500_000_000, End::A, true, b"hello");
            capture.note(1_600_000_123, End::B, false, b"hello");
            capture.pcapng().len()
        });
    }

    #[test]
    fn packets_keep_their_bounds_and_their_link_type() {
        for medium in [Medium::Ip, Medium::Bare] {
            let capture = Capture::new();
            capture.set_medium(medium);
            capture.note(5, End::A, true, &[0x45, 1]);
            capture.note(5, End::A, true, &[0x45, 2]);
            let frames = read(&capture.pcapng()).expect("a file");
            assert_eq!(frames.len(), 2);
            assert_eq!(frames[1].bytes, [0x45, 2]);
            assert_eq!(frames[1].link_type, medium.link_type());
        }
    }

    #[test]
    fn files_of_the_other_byte_order_and_in_microseconds_are_read() {
        let word = |value: u32| value.to_be_bytes();
        let block = |kind: u32, body: &[u8]| {
            let len = word(body.len() as u32 + 12);
            [&word(kind)[..], &len, body, &len].concat()
        };
        let section = block(SECTION, &[&word(ORDER)[..], &[0, 1, 0, 0], &[255; 8]].concat());
        let interface = block(INTERFACE, &[0, 101, 0, 0, 0, 0, 0, 0]);
        let packet =
            block(ENHANCED, &[word(0), word(0), word(7), word(1), word(1), [9, 0, 0, 0]].concat());
        let unknown = block(0x0BAD, &[1, 2, 3, 4]);
        let file = [section, interface, unknown, packet].concat();
        let frames = read(&file).expect("a file");
        assert_eq!(
            (frames[0].at_ns, frames[0].sent, &frames[0].bytes[..]),
            (7_000, None, &[9][..])
        );
        assert_eq!(read(&file[..file.len() - 1]).unwrap_err().message, "a whole block");
        assert_eq!(read(b"\xd4\xc3\xb2\xa1").unwrap_err().offset, 0);
    }
}
