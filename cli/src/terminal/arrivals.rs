//! Transfers that the peer starts: asking, and refusing.

use std::path::PathBuf;
use std::time::Instant;

use wetstring_proto::kermit;
use wetstring_proto::kermit::packet::{LONG_HEADER, finish, kind};
use wetstring_proto::peer::{self, Part, PeerProtocol};

use super::Session;
use super::autostart::{SOH, Start};
use super::keys::Action;
use super::questions::Question;
use super::transfers::{Begun, REDRAWN};
use crate::args::session::Autodownload;
use crate::config::protocol::Protocol;
use crate::ui::ending::Ending;
use crate::ui::format::escaped;

/// A command line for any POSIX shell: the receiver that there is. The blank keeps it out of some histories.
const START_RECEIVER: &[u8] =
    b" if command -v rz >/dev/null; then rz; elif command -v wst >/dev/null; then \
wst receive -q -; elif command -v kermit >/dev/null; then kermit -r; elif command -v gkermit \
>/dev/null; then gkermit -r; else echo no-receiver'-'here; fi\r";
/// What the shell says then if there is none. Its echo has other characters in it.
const NO_RECEIVER: &[u8] = b"no-receiver-here";

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
        if self.uploading.is_some()
            && self.scout.has_line(NO_RECEIVER)
            && self.scout.is_at_prompt()
            && let Some(files) = self.uploading.take()
        {
            return self.send_by_shell(&files);
        }
        let mut shown = Vec::new();
        let start = self.scout.decide(Instant::now(), &mut shown);
        self.show(&shown)?;
        match start {
            None => Ok(()),
            Some(start) if start.part == Part::Sender => self.peer_sends(start),
            Some(start) => self.peer_receives(start),
        }
    }

    fn peer_receives(&mut self, start: Start) -> Result<(), Ending> {
        if let Some(files) = self.uploading.take() {
            return self.offered(&start, &files);
        }
        if !self.has_user() {
            // Nothing says what to send.
            return self.show(&start.bytes);
        }
        self.ask(Question::Offer(start));
        Ok(())
    }

    /// Whether the peer is a shell that waits for a command, as far as its last line tells.
    pub(super) fn is_at_prompt(&self) -> bool {
        self.scouts() && self.scout.is_at_prompt()
    }

    /// Starts a receiver at the peer's shell for these files.
    pub(super) fn upload(&mut self, files: Vec<PathBuf>) {
        if let Some(missing) = files.iter().find(|file| !file.exists()) {
            let name = escaped(missing.as_os_str().as_encoded_bytes());
            return self.screen.say(&format!("(no such file: {name})"));
        }
        self.uploading = Some(files);
        self.outgoing.extend_from_slice(START_RECEIVER);
    }

    fn peer_sends(&mut self, start: Start) -> Result<(), Ending> {
        match self.options.autodownload {
            Autodownload::On => self.receive_started(&start),
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
            return self.receive_started(&start);
        }
        if !is("no") {
            self.ask(Question::Consent(start));
            return Ok(());
        }
        self.refuse(&start);
        Ok(())
    }

    fn receive_started(&mut self, start: &Start) -> Result<(), Ending> {
        if self.is_redrawn() {
            self.screen.say(REDRAWN);
            self.refuse(start);
            return Ok(());
        }
        let by = engine(start);
        if !Protocol::named(by).tells_names {
            if self.has_user() {
                self.ask(Question::ReceiveAs(by));
            }
            return Ok(());
        }
        if self.receive_files(Begun::By(start.bytes.clone()), by, None)? {
            return Ok(());
        }
        self.refuse(start);
        Ok(())
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
    pub(super) fn refuse(&mut self, start: &Start) {
        if start.part == Part::Sender {
            self.options.autodownload = Autodownload::Off;
            let how = self.options.keys.how_to(Action::Receive);
            let how = how.unwrap_or_else(|| "what it starts from now on is text".to_owned());
            self.screen.say(&format!("(refused; {how})"));
        } else {
            self.screen.say("(cancelled)");
        }
        // What it sent again while the user was asked is for no one, other text is.
        if peer::recognise(&self.held, 0).is_some() {
            self.held.clear();
        }
        let words = refusal(start);
        self.outgoing.extend_from_slice(&words);
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
    let mut packet = [0; 64];
    packet[LONG_HEADER..][..text.len()].copy_from_slice(text);
    let check = kermit::check::Check::Sum6;
    let (from, to) = finish(&mut packet, text.len(), 0, kind::ERROR, check, SOH, false);
    [&packet[from..to], b"\r"].concat()
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
}
