//! A partner that vanished and is there again.
//!
//! A sender that was killed says nothing, and its session would stand until the death timer has run out
//! (`netblt.death`, a minute). Until then it would have its `.part`, and who comes back to go on could
//! only begin anew. So an OPEN (WRITE) for a file that another session of the same partner is receiving
//! takes that session's place, if nothing authentic has come of it for [`QUIET`]: it is closed in good
//! order, with its block map, before the OPEN is handed on. If it was heard since, the OPEN waits: the
//! sender asks again two seconds later, and by then either the old session has spoken, as a live sender
//! answers every CONTROL packet, and there are two who send files of one name, or it has been silent for
//! long enough.
//!
//! The same partner is the same key, from wherever; with a shared secret the same address; without
//! security nobody, as anybody could end what others have begun.

use super::super::plain;
use super::Partner;
use wetstring_proto::time::{Duration, Instant};

/// A live sender is never silent for so long: CONTROL packets come at least every 3.75 s (a sixteenth of
/// the death timer), and it answers each.
pub(super) const QUIET: Duration = Duration::from_secs(5);

/// What a session is about.
#[derive(Debug, Default)]
pub(super) struct Subject {
    /// The file that its last OPEN offered, as it stood in the client string.
    file: Option<Vec<u8>>,
    /// Since when an OPEN waits for the session before it.
    pub(super) waits: Option<Instant>,
}

impl Subject {
    /// This OPEN is handed to the engine.
    pub(super) fn opens(&mut self, packet: &[u8]) {
        if plain::is_open(packet) {
            self.file = plain::offered(packet).map(<[u8]>::to_vec);
            self.waits = None;
        }
    }

    /// Whether this is what the session is receiving.
    pub(super) fn is(&self, file: &[u8]) -> bool {
        self.file.as_deref() == Some(file)
    }
}

/// Whether these are one partner, as far as that is proved.
pub(super) fn is_same(a: &Partner, b: &Partner) -> bool {
    let sealed = a.suite.is_some() && b.suite.is_some();
    let same = match (&a.key, &b.key) {
        (Some(a), Some(b)) => a == b,
        (None, None) => a.address.ip() == b.address.ip(),
        _ => false,
    };
    sealed && same
}

/// What is to be done with an OPEN for a file that another session has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stand {
    /// The other one is alive: this is another file of the same name.
    Beside,
    /// It may be gone: the OPEN comes again.
    Wait,
    /// It is gone.
    Instead,
}

/// `heard` is when something authentic came of the other session, `waits` since when this one asks.
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
    fn who_is_silent_makes_room_and_who_speaks_does_not() {
        let at = |s: u64| Instant(s * 1_000_000_000);
        assert_eq!(judge(at(100), at(94), None), Stand::Instead);
        assert_eq!(judge(at(100), at(99), None), Stand::Wait);
        // Asked at 100; silent since 99.
        assert_eq!(judge(at(102), at(99), Some(at(100))), Stand::Wait);
        assert_eq!(judge(at(104), at(99), Some(at(100))), Stand::Instead);
        // It spoke at 101.
        assert_eq!(judge(at(102), at(101), Some(at(100))), Stand::Beside);
    }
}
