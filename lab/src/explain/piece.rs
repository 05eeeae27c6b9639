//! Bytes of the stream by the packets that they belong to.

use super::budget::Part;
use super::line::Sent;
use super::log::Side;
use wetstring_proto::Again;

/// Bytes of the stream that belong to one packet, its line end included.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) sent: Sent,
    /// Bytes up to the next packet.
    pub(super) len: u64,
    /// What a repeat of it is.
    pub(super) again: Part,
}

impl Piece {
    pub(super) fn has_data(&self) -> bool {
        self.sent.file > 0
    }
}

/// The packets with the bytes that they take in the stream. What was dropped before it left is not
/// there: a packet ends where the next one begins.
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
    // Whatever left behind the last packet is its line end.
    let total = side.left.last().map_or(0, |(_, total)| *total);
    if let Some(last) = pieces.last_mut() {
        last.len = last.len.max(total.saturating_sub(last.sent.at));
    }
    pieces
}

/// Why something was sent again, as a part of the budget.
pub(super) const fn part_of(why: Option<Again>) -> Part {
    match why {
        Some(Again::Answer) => Part::Damage,
        Some(Again::Nak) => Part::Asked,
        Some(Again::Lost) => Part::Loss,
        Some(Again::GoBack) => Part::GoBack,
        _ => Part::Timeout,
    }
}
