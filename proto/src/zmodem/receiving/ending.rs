//! The end of a session, and the end of a file before it is complete.

use super::{AfterClose, Core, Expecting, Mem};
use crate::engine::{Blame, Cx, FailureKind, Outcome};
use crate::session::{Ending, QueuedEvent};
use crate::zmodem::packet::{Header, kind};
use crate::zmodem::states::{ReceiverInput, Receiving};

/// The message about a sender that ends when it is asked for a CRC.
const NO_CHECK: &[u8] =
    b"(it may not know ZCRC, which resuming asks for; zmodem.resume-check=off resumes without)";

/// How often a retransmitted ZFIN is answered.
const MOST_FINISH: u32 = 5;

/// A retransmitted ZFIN, as far as it is the same from every sender.
const FINISH: &[u8; 18] = b"**\x18B0800000000022d";

impl Core {
    pub(super) fn finish(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        self.link.question = None;
        self.link.say(cx, mem.out, &Header::hex(kind::ZFIN, 0));
        self.enter(cx, ReceiverInput::Done);
        self.link.end(cx, Outcome::Done);
    }

    pub(super) fn peer_failed(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, header: &Header) {
        let words: &[u8] = match header.kind {
            kind::ZFERR => b"the sender cannot read the file",
            kind::ZABORT => b"aborted by the sender",
            _ => b"the sender ended the session in the middle of a file",
        };
        self.peer_ended(words);
        self.link.say(cx, mem.out, &Header::hex(kind::ZFIN, 0));
        self.give_up(cx, Blame::Peer, FailureKind::PeerError);
    }

    /// The sender ended the session with this text. If it did so at our ZCRC, that is the message.
    pub(super) fn peer_ended(&mut self, words: &[u8]) {
        let at_check = self.state == Receiving::Check || self.unchecked > 0;
        let words = if at_check { NO_CHECK } else { words };
        if !words.is_empty() {
            self.link.take_message(words);
        }
    }

    /// After our ZFIN: `OO`, or the ZFIN again. Anything else belongs to the prompt, and is
    /// not taken, nor what may turn out to be.
    pub(super) fn linger_input(
        &mut self,
        cx: &mut Cx<'_>,
        mem: &mut Mem<'_>,
        bytes: &[u8],
    ) -> usize {
        let tail = self.link.reader.take_tail(bytes);
        let rest = &bytes[tail..];
        let begins = |pattern: &[u8]| {
            let len = rest.len().min(pattern.len());
            rest[..len] == pattern[..len]
        };
        let (Ending::Linger { outcome, .. } | Ending::LastPackets(outcome)) = self.link.ending
        else {
            return tail;
        };
        if rest.is_empty() {
            return tail;
        }
        if begins(b"OO") {
            if rest.len() < 2 {
                return tail;
            }
            if self.link.output.pending() == 0 {
                self.link.ending = Ending::Over(outcome);
            }
            return tail + 2;
        }
        if begins(FINISH) && self.finishes < MOST_FINISH {
            if rest.len() < FINISH.len() {
                return tail;
            }
            self.finishes += 1;
            self.link.stats.duplicates += 1;
            let (count, _) = self.link.reader.next(&mut [], &rest[..FINISH.len()]);
            self.link.say(cx, mem.out, &Header::hex(kind::ZFIN, 0));
            self.link.ending = Ending::LastPackets(outcome);
            self.link.port.moved = cx.now;
            return tail + count;
        }
        if let Ending::Linger { .. } = self.link.ending {
            self.link.ending = Ending::Over(outcome);
        }
        tail
    }

    /// The sender has cancelled the current file.
    pub(super) fn left_by_peer(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, after: AfterClose) {
        self.link.notes.push(QueuedEvent::Cancelled { by_peer: true });
        self.link.reader.hunt();
        self.held = None;
        self.after = after;
        if self.file.open {
            self.begin_close(cx, after);
        } else {
            self.closed(cx, mem, ReceiverInput::LeftUnopened, false);
        }
    }

    /// The local user cancels the current file.
    pub(super) fn skip_open(&mut self, cx: &mut Cx<'_>) {
        self.link.notes.push(QueuedEvent::Cancelled { by_peer: false });
        self.link.reader.hunt();
        self.expecting = Expecting::Nothing;
        self.held = None;
        self.begin_close(cx, AfterClose::Skip);
    }
}
