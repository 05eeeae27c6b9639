//! The output queue.

use crate::session::Outbox;

/// Marks in the stream where packets end; as many packets may be queued at once.
const ENDS: usize = 64;

/// The output queue, with the ends of packets, so that what has not left can be
/// dropped without cutting a packet in two.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    out: Outbox,
    ends: [u64; ENDS],
    first: usize,
    count: usize,
    /// Stream position at which the packet begins that `taken` is in or before.
    begins: u64,
}

impl Output {
    pub(super) fn new() -> Self {
        Self { out: Outbox::default(), ends: [0; ENDS], first: 0, count: 0, begins: 0 }
    }

    pub(crate) fn pending(&self) -> usize {
        self.out.pending()
    }

    /// Where the stream ends.
    pub(crate) fn position(&self) -> u64 {
        self.out.position()
    }

    /// Bytes the port has taken.
    pub(crate) fn taken(&self) -> u64 {
        self.out.taken
    }

    pub(crate) fn lend<'a>(&self, out: &'a [u8]) -> &'a [u8] {
        self.out.lend(out)
    }

    /// The port took `len` bytes. Returns how many were really queued.
    pub(crate) fn take(&mut self, len: usize) -> usize {
        let len = self.out.take(len);
        while self.count > 0 && self.ends[self.first] <= self.out.taken {
            self.begins = self.ends[self.first];
            self.first = (self.first + 1) % ENDS;
            self.count -= 1;
        }
        len
    }

    /// Room after what is queued; moves the queue to the front if that is needed for `want`. The
    /// first `keep` bytes of the room stay as they are: a packet that is being built there.
    /// `None` if there is no room for `want` bytes or for another packet.
    pub(crate) fn room<'a>(
        &mut self,
        out: &'a mut [u8],
        want: usize,
        keep: usize,
    ) -> Option<&'a mut [u8]> {
        if self.count == ENDS {
            return None;
        }
        if self.out.pending() == 0 || self.out.room_len(out) < want {
            self.out.move_to_front(out, keep);
        }
        let room = self.out.room(out);
        (room.len() >= want).then_some(room)
    }

    /// The first `len` bytes of the room are a packet now. Returns where it ends in the stream.
    pub(crate) fn push(&mut self, len: usize) -> u64 {
        self.out.push(len);
        let position = self.out.position();
        self.ends[(self.first + self.count) % ENDS] = position;
        self.count += 1;
        position
    }

    /// Drops every packet that has not started to leave; returns where the stream ends now.
    pub(crate) fn drop_unsent(&mut self) -> u64 {
        let taken = self.out.taken;
        let keep =
            if self.count == 0 || self.begins == taken { taken } else { self.ends[self.first] };
        self.out.truncate((keep - taken) as usize);
        self.count = usize::from(keep > taken);
        keep
    }
}
