//! From the packets of a capture to the bytes of its ends.

use super::{BadRecording, Piece, Side, tcp};
use crate::capture::Frame;

/// Link types: bytes of a serial line with 12 bytes before them, of which the ninth says the event.
const SERIAL: u16 = 250;
const SERIAL_HEADER: usize = 12;
const EVENT: usize = 8;
const SENT: u8 = 1;
const RECEIVED: u8 = 2;

/// The ends that a capture shows: both of a serial line if it has both, one of a TCP connection.
pub(super) fn sides(frames: &[Frame]) -> Result<Vec<Side>, BadRecording> {
    let serial: Vec<&Frame> = frames.iter().filter(|frame| frame.link_type == SERIAL).collect();
    if serial.is_empty() {
        return tcp::side(frames).map(|side| vec![side]);
    }
    let mut sides: Vec<(usize, Side)> = Vec::new();
    for frame in serial {
        let sent = match frame.bytes.get(EVENT) {
            Some(&SENT) => true,
            Some(&RECEIVED) => false,
            // Other events carry no bytes.
            _ => continue,
        };
        let bytes = frame.bytes[SERIAL_HEADER.min(frame.bytes.len())..].to_vec();
        let piece = Piece { from: frame.at_ns, to: frame.at_ns, sent, bytes };
        match sides.iter_mut().find(|(interface, _)| *interface == frame.interface) {
            Some((_, side)) => side.pieces.push(piece),
            None => sides.push((frame.interface, Side { pieces: vec![piece], ..Side::default() })),
        }
    }
    if sides.is_empty() || sides.len() > 2 {
        let got = sides.len();
        let say = format!("expected one or two ends of a serial line with bytes, got {got}");
        return Err(BadRecording::new(say));
    }
    Ok(sides.into_iter().map(|(_, side)| side).collect())
}
