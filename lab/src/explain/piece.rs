//! Bytes of the stream by packet.

use super::budget::Part;
use super::line::Sent;
use super::log::Side;
use wetstring_proto::Again;

/// Bytes of one packet in the stream, including its line end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) sent: Sent,
    /// Bytes up to the next packet.
    pub(super) len: u64,
    /// Why it was retransmitted.
    pub(super) again: Part,
}

impl Piece {
    pub(super) fn has_data(&self) -> bool {
        self.sent.file > 0
    }
}

/// The packets with their ranges in the stream. Dropped output is not included: a packet ends where the next
/// one begins.
pub(super) fn pieces(side: &Side) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::with_capacity(side.sent.len());
    for sent in &side.sent {
        while let Some(last) = pieces.last_mut() {
            if last.sent.at < sent.at {
                last.len = sent.at - last.sent.at;
                break;
            }
            pieces.pop();
        }
        pieces.push(Piece { sent: *sent, len: sent.len, again: part_of(sent.why) });
    }
    // Bytes after the last packet are its line end.
    let total = side.left.last().map_or(0, |(_, total)| *total);
    if let Some(last) = pieces.last_mut() {
        last.len = last.len.max(total.saturating_sub(last.sent.at));
    }
    pieces
}

/// The reason of a retransmission, as a part of the budget.
pub(super) const fn part_of(why: Option<Again>) -> Part {
    match why {
        Some(Again::Answer) => Part::Damage,
        Some(Again::Nak) => Part::Asked,
        Some(Again::Lost) => Part::Loss,
        Some(Again::GoBack) => Part::GoBack,
        _ => Part::Timeout,
    }
}
