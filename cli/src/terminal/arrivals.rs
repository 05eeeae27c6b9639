//! Transfers that the peer starts: asking, and refusing.

use std::path::PathBuf;
use std::time::Instant;

use wetstring_proto::peer::{self, Part};
use wetstring_protocols::start::{NO_RECEIVER, START_RECEIVER};

use super::Session;
use super::autostart::Start;
use super::keys::Action;
use super::questions::Question;
use super::trailer::Trailer;
use super::transfers::REDRAWN;
use crate::args::session::Autodownload;
use crate::config::protocol::Protocol;
use crate::ui::ending::Ending;
use crate::ui::format::escaped;

impl Session<'_> {
    /// Whether starts are looked for.
    pub(super) fn detects_starts(&self) -> bool {
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
        if !self.detects_starts() || self.asking.is_some() {
            return Ok(());
        }
        if self.uploading.is_some()
            && self.detector.has_line(NO_RECEIVER)
            && self.detector.is_at_prompt()
            && let Some(files) = self.uploading.take()
        {
            return self.send_by_shell(&files);
        }
        let mut shown = Vec::new();
        let start = self.detector.decide(Instant::now(), &mut shown);
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
            // It is not known what to send.
            return self.show(&start.bytes);
        }
        self.ask(Question::Offer(start));
        Ok(())
    }

    /// Whether the peer is a shell that waits for a command, as far as its last line tells.
    pub(super) fn is_at_prompt(&self) -> bool {
        self.detects_starts() && self.detector.is_at_prompt()
    }

    /// Starts a receiver at the peer's shell for these files.
    pub(super) fn upload(&mut self, files: Vec<PathBuf>) {
        if let Some(missing) = files.iter().find(|file| !file.exists()) {
            let name = escaped(missing.as_os_str().as_encoded_bytes());
            return self.screen.say(&format!("(no such file: {name})"));
        }
        self.uploading = Some(files);
        self.detector.forget();
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
        if let Some(by) = start.engine().filter(|by| !Protocol::named(by).tells_names) {
            if self.has_user() {
                self.ask(Question::ReceiveAs(by));
            }
            return Ok(());
        }
        if !self.receive_from(start)? {
            self.refuse(start);
        }
        Ok(())
    }

    /// Files for a peer that waits for them.
    pub(super) fn offered(&mut self, start: &Start, files: &[PathBuf]) -> Result<(), Ending> {
        if !self.send_to(start, files)? {
            // Once more, with another name.
            self.ask(Question::Offer(start.clone()));
        }
        Ok(())
    }

    /// The user refuses: the peer is told, and stops asking.
    pub(super) fn refuse(&mut self, start: &Start) {
        if start.part == Part::Sender {
            self.options.autodownload = Autodownload::Off;
            let how = self.options.keys.how_to(Action::Receive);
            let how = how.unwrap_or_else(|| {
                "in this session later ones pass as text; sz ends by Ctrl-X five times, a Kermit by Ctrl-C".to_owned()
            });
            self.screen.say(&format!("(refused; {how})"));
        } else {
            self.screen.say("(cancelled)");
        }
        // Repeated requests that arrived while the user was asked are dropped; other text is kept.
        if peer::recognise(&self.held, 0).is_some() {
            self.held.clear();
        }
        self.trailer = Trailer::after_refusing(start).or(self.trailer);
        let words = start.refusal();
        self.outgoing.extend_from_slice(&words);
    }
}
