//! Packets of pcapng files, and of the older pcap files that tcpdump writes.

use super::BadRecording;
use crate::capture::{self, Frame};

/// The first four bytes of a pcapng file.
const PCAPNG: [u8; 4] = [0x0A, 0x0D, 0x0D, 0x0A];
/// Those of a pcap file with times in microseconds, and in nanoseconds, in the byte order of its writer.
const MICROSECONDS: u32 = 0xA1B2_C3D4;
const NANOSECONDS: u32 = 0xA1B2_3C4D;
/// Bytes before the first packet, and before each.
const FILE_HEADER: usize = 24;
const HEADER: usize = 16;

/// The packets; `None` if it is no such file.
pub(super) fn frames(file: &[u8]) -> Option<Result<Vec<Frame>, BadRecording>> {
    let magic = *file.first_chunk::<4>()?;
    if magic == PCAPNG {
        return Some(capture::read(file).map_err(|bad| BadRecording::new(bad.to_string())));
    }
    let is = |word: u32| [false, true].into_iter().find(|big| word_of(magic, *big) == word);
    let (big, units) =
        is(MICROSECONDS).map(|big| (big, 1000)).or(is(NANOSECONDS).map(|big| (big, 1)))?;
    let read = old(file, big, units);
    Some(
        read.ok_or_else(|| {
            BadRecording::new("pcap: expected whole packets, got the end of the file")
        }),
    )
}

fn word_of(bytes: [u8; 4], big: bool) -> u32 {
    if big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
}

fn old(file: &[u8], big: bool, units: u64) -> Option<Vec<Frame>> {
    let word = |at: usize| Some(word_of(*file.get(at..)?.first_chunk()?, big));
    // The upper bits may say something of a check that follows each packet.
    let link_type = (word(20)? & 0xFFFF) as u16;
    let (mut at, mut frames) = (FILE_HEADER, Vec::new());
    while at < file.len() {
        let (seconds, parts, len) = (word(at)?, word(at + 4)?, word(at + 8)? as usize);
        let bytes = file.get(at + HEADER..)?.get(..len)?.to_vec();
        let at_ns = u64::from(seconds) * 1_000_000_000 + u64::from(parts) * units;
        frames.push(Frame { at_ns, interface: 0, link_type, sent: None, bytes });
        at += HEADER + len;
    }
    Some(frames)
}
