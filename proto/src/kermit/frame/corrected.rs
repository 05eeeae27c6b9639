//! Packets with error correction between the usual ones.

use super::{Found, FrameReader, LONGEST_SHORT};
use crate::kermit::correction::IS_BUILT;
use crate::kermit::correction::packet::{self, HEADER, Header};

impl FrameReader {
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
            return self.usual(buf, input);
        }
        let header = self.finder.look(input);
        let ahead = header.map_or(input.len(), |(end, _)| end);
        let (used, found) = self.usual(buf, &input[..ahead]);
        self.finder.pass(&input[..used]);
        if let Some(Found::Packet(_)) = found {
            self.finder.forget();
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
            (self.corrected, self.held) = (Some(header), 0);
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
        let seq = header.seq;
        let found = match packet::read(header, buf) {
            Ok(corrected) => {
                let data = &buf[..corrected.len];
                Found::Corrected { seq, data, worst: corrected.worst }
            }
            Err(why) => Found::Uncorrected { seq, why, len: HEADER + need },
        };
        (len, Some(found))
    }
}
