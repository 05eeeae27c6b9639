//! What server and client have in common: their memory, which the engine of a transfer shares
//! while it has the line.
//!
//! The [`Link`](super::link::Link) goes over to the engine of the transfer and comes back, with its
//! queue, its reader and its counters; so the queue and the unfinished packet stay where they are,
//! and only the working memory is divided again.

use super::config::{Config, MAX_NAME};
use super::{receiving, sending};
use crate::machine::split;

/// The longest command, decoded.
pub(super) const WORDS: usize = 4096;
/// The longest answer of a store that is not sent as a file.
pub(super) const ANSWER: usize = 2048;

/// The memory, divided.
pub(super) struct Mem<'a> {
    /// The queue towards the port.
    pub(super) out: &'a mut [u8],
    /// An unfinished packet.
    pub(super) frame: &'a mut [u8],
    /// The command, decoded.
    pub(super) words: &'a mut [u8],
    /// What is answered to it.
    pub(super) answer: &'a mut [u8],
    /// For a transfer.
    work: &'a mut [u8],
}

pub(super) type Lengths = [usize; 5];

pub(super) fn divide(lengths: Lengths, memory: &mut [u8]) -> Mem<'_> {
    split!(memory, lengths => out, frame, words, answer, work);
    Mem { out, frame, words, answer, work }
}

impl Config {
    /// The parts of the memory of a server; a client only receives.
    pub(super) fn command_lengths(&self, sends: bool) -> Lengths {
        let [source, queue, slots, _, _, names, chunk, packed] = self.sender_lengths();
        let [file, out, kept, frame, hold, _, next_name, unpacked] = self.receiver_lengths();
        let own = 2 * Self::queued_len(usize::from(self.send_length));
        let (queue, sending) =
            if sends { (queue, source + slots + names + chunk + packed) } else { (0, 0) };
        let work = sending.max(file + kept + hold + next_name + unpacked) + MAX_NAME;
        [own.max(queue).max(out), frame, WORDS, ANSWER, work]
    }

    /// Bytes of memory that a server needs with this configuration.
    pub fn server_memory(&self) -> usize {
        self.command_lengths(true).iter().sum()
    }

    /// Bytes of memory that a client needs with this configuration.
    pub fn client_memory(&self) -> usize {
        self.command_lengths(false).iter().sum()
    }
}

impl<'a> Mem<'a> {
    /// The same for a shorter time.
    pub(super) fn lend(&mut self) -> Mem<'_> {
        Mem {
            out: &mut *self.out,
            frame: &mut *self.frame,
            words: &mut *self.words,
            answer: &mut *self.answer,
            work: &mut *self.work,
        }
    }

    /// The memory of a sender; `config` is the one that it was made with.
    pub(super) fn sending(self, config: &Config) -> sending::Mem<'a> {
        let [source, _, slots, _, name, names, chunk, packed] = config.sender_lengths();
        split!(self.work, [source, slots, name, names, chunk, packed] => source, slots, name, names, chunk, packed);
        let (out, frame) = (self.out, self.frame);
        sending::Mem { source, out, slots, frame, name, names, chunk, packed }
    }

    /// The memory of a receiver; `config` is the one that it was made with.
    pub(super) fn receiving(self, config: &Config) -> receiving::Mem<'a> {
        let [file, _, slots, _, hold, name, next, unpacked] = config.receiver_lengths();
        split!(self.work, [file, slots, hold, name, next, unpacked] => file, slots, hold, name, next_name, unpacked);
        let (out, frame) = (self.out, self.frame);
        receiving::Mem { file, out, slots, frame, hold, name, next_name, unpacked }
    }
}
