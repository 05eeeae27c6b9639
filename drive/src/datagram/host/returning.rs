//! A peer that disappeared and has returned.
//!
//! A sender that was killed sends nothing, and its session would last until the death timer expires
//! (`netblt.death`, a minute). Until then it would hold its `.part`, and a peer that returns to resume could
//! only start over. So an OPEN (WRITE) for a file that another session of the same peer is receiving replaces
//! that session if nothing authentic has been received from it for [`QUIET`]: it is closed cleanly, with its
//! block map, before the OPEN is passed on. If it was heard since, the OPEN waits: the sender retransmits it
//! two seconds later. By then either the old session was heard, as a live sender answers every CONTROL packet,
//! and there are two senders of files with one name, or it has been silent for long enough.
//!
//! The same peer is the same key, from any address; with a shared secret the same address; without security no
//! one, because anyone could end another's transfer.

use super::super::plain;
use super::Peer;
use wetstring_proto::time::{Duration, Instant};

/// A live sender is never silent for this long: CONTROL packets are sent at least every 3.75 s (a sixteenth of
/// the death timer), and it answers each.
pub(super) const QUIET: Duration = Duration::from_secs(5);

/// The file of a session.
#[derive(Debug, Default)]
pub(super) struct Subject {
    /// The file that its last OPEN offered, as in the client string.
    file: Option<Vec<u8>>,
    /// Since when an OPEN waits for the previous session.
    pub(super) waits: Option<Instant>,
}

impl Subject {
    /// This OPEN is passed to the engine.
    pub(super) fn opens(&mut self, packet: &[u8]) {
        if plain::is_open(packet) {
            self.file = plain::offered(packet).map(<[u8]>::to_vec);
            self.waits = None;
        }
    }

    /// Whether the session is receiving this file.
    pub(super) fn is(&self, file: &[u8]) -> bool {
        self.file.as_deref() == Some(file)
    }
}

/// Whether both are one peer, as far as that is proved.
pub(super) fn is_same(a: &Peer, b: &Peer) -> bool {
    let sealed = a.suite.is_some() && b.suite.is_some();
    let same = match (&a.key, &b.key) {
        (Some(a), Some(b)) => a == b,
        (None, None) => a.address.ip() == b.address.ip(),
        _ => false,
    };
    sealed && same
}

/// How to treat an OPEN for a file that another session has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stand {
    /// The other session is alive: this is another file of the same name.
    Beside,
    /// It may be gone: wait for the OPEN to be retransmitted.
    Wait,
    /// It is gone.
    Instead,
}

/// `heard`: when the other session was last heard. `waits`: since when this OPEN waits.
pub(super) fn judge(now: Instant, heard: Instant, waits: Option<Instant>) -> Stand {
    if now.since(heard) >= QUIET {
        Stand::Instead
    } else if waits.is_some_and(|since| heard > since) {
        Stand::Beside
    } else {
        Stand::Wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_session_is_replaced_and_a_live_one_is_not() {
        let at = |s: u64| Instant(s * 1_000_000_000);
        assert_eq!(judge(at(100), at(94), None), Stand::Instead);
        assert_eq!(judge(at(100), at(99), None), Stand::Wait);
        // OPEN at 100; silent since 99.
        assert_eq!(judge(at(102), at(99), Some(at(100))), Stand::Wait);
        assert_eq!(judge(at(104), at(99), Some(at(100))), Stand::Instead);
        // Heard at 101.
        assert_eq!(judge(at(102), at(101), Some(at(100))), Stand::Beside);
    }
}
