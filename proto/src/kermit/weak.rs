//! Error packets under a weaker check than the one agreed on. Some Kermits always use type 1 for them,
//! which one damaged packet of 64 passes; and `D` is one bit from `E`. So on a line that has damaged
//! packets such an error is believed when nothing else follows.

use super::link::Link;
use super::packet::Packet;

impl Link {
    /// Takes the message of an error packet. False if the packet may have been another one: then it
    /// counts as damaged, until the peer has been silent.
    pub(crate) fn believes(&mut self, packet: &Packet<'_>) -> bool {
        let is_text = packet.data.iter().all(|byte| (b' '..=b'~').contains(byte));
        if !packet.weak || (is_text && self.stats.damaged == 0) {
            self.take_message(packet.data);
            return true;
        }
        self.weak_error.fill(|to| {
            let len = packet.data.len().min(to.len());
            to[..len].copy_from_slice(&packet.data[..len]);
            len
        });
        self.has_weak_error = true;
        false
    }

    /// A timeout. True if the last packet was a doubted error.
    pub(crate) fn was_an_error(&mut self) -> bool {
        if self.has_weak_error {
            let text = self.weak_error;
            self.take_message(text.as_bytes());
        }
        self.has_weak_error
    }
}
