//! The last bytes of a protocol, which are not for the screen.

use std::time::{Duration, Instant};

use wetstring_proto::peer::{Host, PeerProtocol};
use wetstring_proto::{kermit, zmodem};

use super::autostart::Start;
use crate::config::protocol::Protocol;
use crate::transfer::direction::Direction;

/// How long the rest of a transfer may take to come.
const LATE: Duration = Duration::from_secs(2);

/// The last bytes of a protocol, which may come after its end: `OO` of lrzsz, CR after a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trailer {
    rest: &'static [u8],
    until: Instant,
}

impl Trailer {
    /// What may follow a transfer.
    pub(super) fn after(protocol: Protocol, direction: Direction) -> Self {
        let rest: &[u8] = match direction {
            Direction::Receive if protocol.is::<zmodem::Config>() => b"OO",
            _ if protocol.is::<kermit::Config>() => b"\r",
            _ => b"",
        };
        Self { rest, until: Instant::now() + LATE }
    }

    /// What a peer writes when it is refused and that is not for the screen. `trz` and `tsz` move the cursor back to
    /// where they began, and let it show again; their terminal makes CR CR LF of CR LF. Where something else draws
    /// that, it is for the screen.
    pub(super) fn after_refusing(start: &Start) -> Option<Self> {
        let rest = b"\x1b8\x1b[0JCancelled\r\r\n\x1b[?25h";
        let writes = start.protocol == PeerProtocol::Trzsz && start.host == Host::Plain;
        writes.then(|| Self { rest, until: Instant::now() + LATE })
    }

    /// How many of these bytes belong to it; `None` once it is complete or something else came.
    pub(super) fn take(mut self, bytes: &[u8], now: Instant) -> (usize, Option<Self>) {
        if now > self.until {
            return (0, None);
        }
        let len = bytes.iter().zip(self.rest).take_while(|(byte, wanted)| byte == wanted).count();
        self.rest = &self.rest[len..];
        let open = len == bytes.len() && !self.rest.is_empty();
        (len, open.then_some(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_protocol_is_not_shown() {
        let now = Instant::now();
        let trailer = |rest| Trailer { rest, until: now + LATE };
        let taken = |trailer: Trailer, bytes: &[u8], now| {
            let (len, rest) = trailer.take(bytes, now);
            (len, rest.map(|rest| rest.rest))
        };
        assert_eq!(taken(trailer(b"OO"), b"OO$ ", now), (2, None));
        assert_eq!(taken(trailer(b"OO"), b"O", now), (1, Some(&b"O"[..])));
        assert_eq!(taken(trailer(b"O"), b"O$", now), (1, None));
        assert_eq!(taken(trailer(b"OO"), b"$ OO", now), (0, None));
        assert_eq!(taken(trailer(b"OO"), b"OO", now + 2 * LATE), (0, None));
    }
}
