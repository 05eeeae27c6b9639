//! Packets with error correction between the usual ones.

use super::{Found, FrameReader, FrameSettings, LONGEST_SHORT, MISPLACED};
use crate::kermit::correction::IS_BUILT;
use crate::kermit::correction::packet::{self, FIRST, HEADER, Header};

/// A terminator that is at most this many characters before the end of a packet shows that characters were lost.
const LONGEST_LOSS: usize = 64;

impl FrameReader {
    /// Whether characters were lost or added since this was asked: what no parity finds.
    pub(crate) fn take_misplaced(&mut self) -> bool {
        core::mem::take(&mut self.is_misplaced)
    }

    /// Looks for the terminator of the last packet.
    fn look_after(&mut self, input: &[u8]) {
        let FrameSettings { mark, eol, .. } = self.settings;
        for byte in input {
            let Some(after) = self.after else { return };
            self.is_misplaced |= *byte == eol && after > 0;
            let is_over = [mark, eol, FIRST].contains(byte) || after == MISPLACED;
            self.after = (!is_over).then_some(after + 1);
        }
    }

    /// What comes next is not the rest of a header.
    pub(crate) fn forget(&mut self) {
        self.finder.forget();
    }

    /// Whether this byte may be the next of a header, after no other bytes than those.
    pub(crate) fn may_be_header(&self, byte: u8) -> bool {
        IS_BUILT && self.settings.correction && self.finder.may_continue(byte)
    }

    /// The same as [`next`](Self::next), where both kinds of packets come.
    pub(super) fn next_of_both<'a>(
        &mut self,
        buf: &'a mut [u8],
        input: &'a [u8],
    ) -> (usize, Option<Found<'a>>) {
        if let Some(header) = self.corrected {
            return self.collect_corrected(header, buf, input);
        }
        // The header of a long packet has a check of its own: what follows is no header.
        if self.in_packet && self.need > LONGEST_SHORT {
            self.finder.forget();
            self.after = Some(0);
            return self.usual(buf, input);
        }
        // Nor is what follows a MARK that begins such a packet: it is not looked at before that is known.
        let mark = self.settings.mark;
        let next = input.iter().position(|byte| *byte == mark).filter(|_| !self.in_packet);
        let most = match next {
            Some(at) => at + HEADER,
            None if self.in_packet => HEADER,
            None => input.len(),
        };
        let input = &input[..input.len().min(most)];
        if !self.in_packet {
            self.look_after(input);
        }
        let header = self.finder.look(input);
        let ahead = header.map_or(input.len(), |(end, _)| end);
        let (used, found) = self.usual(buf, &input[..ahead]);
        self.finder.pass(&input[..used]);
        if let Some(Found::Packet(_)) = found {
            self.finder.forget();
            self.after = Some(0);
        }
        if found.is_some() || used < ahead {
            return (used, found);
        }
        if let Some((_, header)) = header {
            // What the header looked like is none of it.
            self.in_packet = false;
            self.courtesy = true;
            self.noise_bytes = self.noise_bytes.saturating_sub(HEADER as u64);
            self.finder.forget();
            self.corrected = Some(header);
            self.held = 0;
        }
        (used, None)
    }

    /// Collects the body of a packet with error correction.
    fn collect_corrected<'a>(
        &mut self,
        header: Header,
        buf: &'a mut [u8],
        input: &[u8],
    ) -> (usize, Option<Found<'a>>) {
        let need = header.body_len();
        let len = input.len().min(need - self.held);
        if let Some(room) = buf.get_mut(1 + self.held..1 + self.held + len) {
            room.copy_from_slice(&input[..len]);
        }
        self.held += len;
        if self.held < need {
            return (len, None);
        }
        self.corrected = None;
        self.courtesy = true;
        self.after = Some(0);
        let seq = header.seq;
        // No alphabet has the terminator. Noise makes one, too, but hardly ever there.
        let end = buf.get(1..=need).unwrap_or(&[]).iter().rev().take(LONGEST_LOSS);
        let is_short = end.into_iter().any(|byte| *byte == self.settings.eol);
        let found = match packet::read(header, buf) {
            Ok(corrected) => {
                let data = &buf[..corrected.len];
                Found::Corrected { seq, data, worst: corrected.worst }
            }
            Err(why) => Found::Uncorrected { seq, why, len: HEADER + need, is_short },
        };
        (len, Some(found))
    }
}
