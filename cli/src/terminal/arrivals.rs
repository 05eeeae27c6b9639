//! Transfers that the peer starts: asking, refusing, and the end of their bytes.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use wetstring_proto::peer::{Part, PeerProtocol};
use wetstring_proto::{kermit, zmodem};

use super::Session;
use super::autostart::Start;
use super::questions::Question;
use super::transfers::Begun;
use crate::config::protocol::Protocol;
use crate::transfer::direction::Direction;
use crate::ui::ending::Ending;
use crate::ui::format::escaped;

/// What becomes of transfers that the peer starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Autodownload {
    /// The user is asked, once in a session.
    Ask,
    /// Files are received.
    On,
    /// They are text.
    Off,
}

impl Autodownload {
    /// Words for `--autodownload`.
    pub(crate) const WORDS: [&'static str; 3] = ["ask", "on", "off"];

    /// By its word.
    pub(crate) fn of(word: &str) -> Option<Self> {
        let all = [Self::Ask, Self::On, Self::Off];
        Self::WORDS.iter().zip(all).find_map(|(known, policy)| (*known == word).then_some(policy))
    }
}

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

    /// How many of these bytes belong to it; `None` once it is complete or something else came.
    fn take(mut self, bytes: &[u8], now: Instant) -> (usize, Option<Self>) {
        if now > self.until {
            return (0, None);
        }
        let len = bytes.iter().zip(self.rest).take_while(|(byte, wanted)| byte == wanted).count();
        self.rest = &self.rest[len..];
        let open = len == bytes.len() && !self.rest.is_empty();
        (len, open.then_some(self))
    }
}

/// The protocol in words.
pub(super) fn title(protocol: PeerProtocol) -> &'static str {
    match protocol {
        PeerProtocol::Kermit => "Kermit",
        PeerProtocol::Xmodem => "XMODEM",
        PeerProtocol::Ymodem | PeerProtocol::Xymodem => "YMODEM",
        PeerProtocol::YmodemG => "YMODEM-g",
        PeerProtocol::Zmodem => "ZMODEM",
        PeerProtocol::Uucp => "UUCP",
    }
}

/// The directory in words.
pub(super) fn into(directory: &Path) -> String {
    let shown = directory.canonicalize();
    let shown = shown.as_deref().unwrap_or(directory);
    escaped(shown.as_os_str().as_encoded_bytes())
}

/// The protocol of our engine.
fn engine(start: &Start) -> &'static str {
    match (start.protocol, start.part) {
        (PeerProtocol::Kermit, _) => "kermit",
        (PeerProtocol::Xmodem, Part::Sender) => "xmodem-crc",
        (PeerProtocol::Xmodem, _) => "xmodem",
        (PeerProtocol::YmodemG, _) => "ymodem-g",
        (PeerProtocol::Ymodem | PeerProtocol::Xymodem, _) => "ymodem",
        _ => "zmodem",
    }
}

impl Session<'_> {
    /// Whether starts are looked for.
    pub(super) fn scouts(&self) -> bool {
        match self.options.autodownload {
            Autodownload::Off => false,
            Autodownload::On => true,
            Autodownload::Ask => self.has_user(),
        }
    }

    /// Bytes without those that end the last transfer.
    pub(super) fn without_trailer<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let Some(trailer) = self.trailer.filter(|_| !bytes.is_empty()) else { return bytes };
        let (len, rest) = trailer.take(bytes, Instant::now());
        self.trailer = rest;
        &bytes[len..]
    }

    /// After silence: has the peer started a transfer?
    pub(super) fn look_for_start(&mut self) -> Result<(), Ending> {
        if !self.scouts() || self.asking.is_some() {
            return Ok(());
        }
        let mut shown = Vec::new();
        let start = self.scout.decide(Instant::now(), &mut shown);
        self.show(&shown)?;
        match start {
            None => Ok(()),
            Some(start) if start.part == Part::Sender => self.peer_sends(start),
            Some(start) if self.has_user() => {
                self.ask(Question::Offer(start));
                Ok(())
            }
            // Nothing says what to send.
            Some(start) => self.show(&start.bytes),
        }
    }

    fn peer_sends(&mut self, start: Start) -> Result<(), Ending> {
        match self.options.autodownload {
            Autodownload::On => self.receive_started(start),
            Autodownload::Ask => {
                self.ask(Question::Consent(start));
                Ok(())
            }
            Autodownload::Off => self.show(&start.bytes),
        }
    }

    /// The answer to the question whether to receive. It is for the rest of the session.
    pub(super) fn consented(&mut self, start: Start, answer: &str) -> Result<(), Ending> {
        let answer = answer.to_lowercase();
        let is = |word: &str| !answer.is_empty() && word.starts_with(&answer);
        if is("yes") {
            self.options.autodownload = Autodownload::On;
            return self.receive_started(start);
        }
        if !is("no") {
            self.ask(Question::Consent(start));
            return Ok(());
        }
        self.refuse(&start)
    }

    fn receive_started(&mut self, start: Start) -> Result<(), Ending> {
        let by = engine(&start);
        if !Protocol::named(by).tells_names {
            if self.has_user() {
                self.ask(Question::ReceiveAs(by));
            }
            return Ok(());
        }
        if self.receive_files(Begun::By(start.bytes.clone()), by, None)? {
            return Ok(());
        }
        self.refuse(&start)
    }

    /// Files for a peer that waits for them.
    pub(super) fn offered(&mut self, start: &Start, files: &[PathBuf]) -> Result<(), Ending> {
        if self.send_files(Begun::By(start.bytes.clone()), files, engine(start))? {
            return Ok(());
        }
        // Once more, with another name.
        self.ask(Question::Offer(start.clone()));
        Ok(())
    }

    /// The user does not want it: the peer is told, and asks no more by itself.
    pub(super) fn refuse(&mut self, start: &Start) -> Result<(), Ending> {
        if start.part == Part::Sender {
            self.options.autodownload = Autodownload::Off;
            self.screen.say("(refused; Ctrl-T r receives, such as when it is started again)");
        } else {
            self.screen.say("(cancelled)");
        }
        // What came meanwhile is for no one.
        self.take_held();
        let words = refusal(start);
        self.outgoing.extend_from_slice(&words);
        Ok(())
    }
}

/// What ends the peer's program.
fn refusal(start: &Start) -> Vec<u8> {
    if start.protocol == PeerProtocol::Kermit {
        // Boot loaders know Ctrl-C and no Error packet.
        return if start.bytes.is_empty() { vec![3] } else { error_packet() };
    }
    // Five CAN are enough; backspaces rub them out of a command line.
    [[0x18; 8], [8; 8]].concat()
}

/// Kermit's Error packet number 0.
fn error_packet() -> Vec<u8> {
    let text = b"refused by the user";
    let mut packet = vec![1, kermit::check::tochar(text.len() as u8 + 3), b' ', b'E'];
    packet.extend_from_slice(text);
    let sum: u32 = packet[1..].iter().map(|byte| u32::from(*byte)).sum();
    let check = ((sum + ((sum & 0xC0) >> 6)) & 0x3F) as u8;
    packet.extend_from_slice(&[kermit::check::tochar(check), b'\r']);
    packet
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_a_packet_that_kermit_understands() {
        let packet = error_packet();
        let body = &packet[1..packet.len() - 1];
        let parsed =
            kermit::packet::parse(body, kermit::check::Check::Sum6, false).expect("a packet");
        assert_eq!((parsed.kind, parsed.data), (b'E', &b"refused by the user"[..]));
    }

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
