//! The sender's files: what the store says, what the client string says, and how a connection ends.

use super::{ClosedConnection, Core, File, Mem, Stage};
use crate::engine::{Blame, Cx, FailureKind, Outcome};
use crate::file::{Reply, StoreError};
use crate::netblt::config::{MAX_NAME, Role};
use crate::netblt::info::{ClientString, StringWriter};
use crate::netblt::link::ShortPacket;
use crate::netblt::packet::Ports;
use crate::netblt::ranges::Ranges;
use crate::netblt::source::TRAILER;
use crate::netblt::states::SenderInput;
use crate::session::{Ending, PendingRequest, QueuedEvent, Timer};

impl Core {
    /// The store's answer.
    pub(super) fn replied(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, reply: Reply<'_>) {
        let pending = self.pending.take();
        match (pending, reply) {
            (PendingRequest::Nothing, _) => {}
            (PendingRequest::Next, Reply::File(info)) => {
                let name_len = info.name.len().min(MAX_NAME);
                mem.name[..name_len].copy_from_slice(&info.name[..name_len]);
                self.file = File {
                    name_len,
                    size: info.size,
                    modified: info.modified,
                    mode: info.mode,
                    kind: info.kind,
                    resume: info.resume,
                    left: info.left,
                };
                self.open = true;
                if self.link.is_running() {
                    self.offer(cx);
                }
            }
            (PendingRequest::Next, Reply::NoMoreFiles) => self.no_more(cx),
            (PendingRequest::Read, Reply::Read(len)) => {
                if !self.source.filled(len) {
                    // Announced was more.
                    let say = b"the file became shorter";
                    self.link.fail(cx, Blame::Store, FailureKind::Store(StoreError::Changed), say);
                }
            }
            (PendingRequest::ReadAgain, Reply::Read(len)) => {
                if !self.source.patched(mem.patch, len) {
                    let say = b"the file became shorter";
                    self.link.fail(cx, Blame::Store, FailureKind::Store(StoreError::Changed), say);
                }
            }
            (PendingRequest::Digest { .. }, Reply::Digest(digest)) => {
                let ring = &mut mem.data[..self.ring_len()];
                self.source.set_digest(ring, Some(&digest[..16]));
            }
            // A store without digests can still send files.
            (PendingRequest::Digest { .. }, Reply::Failed(_)) => {
                let ring = &mut mem.data[..self.ring_len()];
                self.source.set_digest(ring, None);
            }
            (PendingRequest::Close { complete, verified }, reply) => {
                self.closed(cx, complete, verified, reply);
            }
            (_, Reply::Failed(error)) => {
                let say = b"the sender's store failed";
                self.link.fail(cx, Blame::Store, FailureKind::Store(error), say);
            }
            // An answer to another request; ours stands.
            (pending, _) => self.pending = pending,
        }
    }

    /// A file is there: the peer is told, or may ask.
    fn offer(&mut self, cx: &mut Cx<'_>) {
        if self.link.config.role == Role::Passive {
            return self.enter(cx, SenderInput::Await);
        }
        self.link.next_connection();
        let every = self.repeat_after();
        self.link.repeat(cx.now, ShortPacket::Open, every);
        self.enter(cx, SenderInput::Open);
    }

    /// There are no more files.
    fn no_more(&mut self, cx: &mut Cx<'_>) {
        if !self.link.is_running() {
            return;
        }
        let dally = (self.control_timer * 4).max(self.link.open_timeout() * 2);
        let tells = self.link.config.files && (self.ours || self.link.opened == 0);
        self.enter(cx, SenderInput::NoMoreFiles);
        let active = self.link.config.role == Role::Active;
        let wait = if active && tells {
            self.link.next_connection();
            let every = self.repeat_after();
            self.link.repeat(cx.now, ShortPacket::Open, every);
            every * u32::from(self.link.config.open_tries) + dally
        } else if active || self.link.opened > 0 {
            dally
        } else {
            // What is missing has not been requested yet.
            self.link.config.death.get()
        };
        self.link.linger(cx.now, Outcome::Done, wait);
        self.done();
    }

    /// The client string of OPEN or RESPONSE; its length.
    pub(super) fn client(&self, name: &[u8], room: &mut [u8]) -> usize {
        // The NUL and the padding are after it.
        let room_len = room.len() - 4;
        let room = &mut room[..room_len];
        let info = self.file.info(name);
        if !self.link.config.files {
            let len = info.name.len().min(room.len());
            room[..len].copy_from_slice(&info.name[..len]);
            return len;
        }
        let mut writing = StringWriter::new(room);
        if self.stage == Stage::Ending {
            writing.word(format_args!("end"));
        } else {
            let digest = self.link.config.digest;
            if self.link.config.is_automatic() {
                writing.word(format_args!("p"));
            }
            writing.file(&info, digest, info.resume && digest);
        }
        writing.finish()
    }

    /// A connection begins: what the receiver's string says decides what moves.
    pub(super) fn begin_file(&mut self, said: &ClientString<'_>) {
        let config = &self.link.config;
        self.paced = said.ours && said.paced && config.files && config.is_automatic();
        let size = self.file.size;
        let with_digest =
            said.ours && said.digest && self.link.config.files && self.link.config.digest;
        let allowed = with_digest && self.file.resume && size.is_some();
        let ranges = said.have.missing(size).filter(|_| allowed && !said.have.is_empty());
        self.source.begin(&ranges.unwrap_or(Ranges::whole(size)), with_digest);
    }

    /// The receiver has everything, and has put it in its place.
    pub(super) fn whole(&mut self, cx: &mut Cx<'_>) {
        let verified = self.source.has_digest();
        if self.source.with_digest {
            // The digest is no part of the file.
            let trailer = TRAILER as u64;
            self.link.stats.file_bytes = self.link.stats.file_bytes.saturating_sub(trailer);
            self.link.stats.current_file_bytes =
                self.link.stats.current_file_bytes.saturating_sub(trailer);
        }
        self.remember();
        // The last acknowledgement is sent from these ports, even if another connection opens.
        self.past.say = true;
        self.close(cx, true, verified);
    }

    /// The connection is over; its receiver may still ask for acknowledgements.
    fn remember(&mut self) {
        let (ports, high) = (self.link.ports, self.seen.high);
        self.past = ClosedConnection { ports, high, say: false, done: false };
    }

    /// DONE ends the dally (RFC 998, 5.3.1), unless one of ours is still to be told that there are no more files.
    pub(super) fn done(&mut self) {
        let told = self.stage == Stage::Ending && !self.ours && self.past.done;
        if let (Ending::Linger { outcome, .. }, true) = (self.link.ending, told) {
            self.link.ending = Ending::Over(outcome);
        }
    }

    /// The store closes the file.
    pub(super) fn close(&mut self, cx: &mut Cx<'_>, complete: bool, verified: bool) {
        self.link.timers.stop(Timer::Repeat);
        // What this connection has not said yet would be said from the ports of the next, and acknowledge
        // messages there that have not come.
        self.link.unsay(ShortPacket::NullAck);
        self.link.unsay(ShortPacket::KeepAlive);
        self.enter(cx, SenderInput::Over);
        // Other pending requests for the file are void.
        self.pending = PendingRequest::Close { complete, verified };
    }

    fn closed(&mut self, cx: &mut Cx<'_>, complete: bool, verified: bool, reply: Reply<'_>) {
        self.open = false;
        if !self.link.is_running() {
            return;
        }
        if let Reply::Failed(error) = reply {
            let say = b"the sender's store failed";
            return self.link.fail(cx, Blame::Store, FailureKind::Store(error), say);
        }
        if complete {
            self.link.stats.files_done += 1;
            let size = self.file.size.unwrap_or(self.source.file_len());
            self.link.notes.push(QueuedEvent::Done { size, verified });
        }
        if self.link.config.role == Role::Passive {
            // The next OPEN is awaited no longer than any other packet.
            self.link.heard = Some(cx.now);
            self.link.progress = cx.now;
            self.link.ports = Ports::default();
        }
        if self.stop {
            return self.no_more(cx);
        }
        self.pending = PendingRequest::Next;
        self.enter(cx, SenderInput::Closed);
    }

    /// The receiver refuses our OPEN.
    pub(super) fn refused(&mut self, cx: &mut Cx<'_>, why: &[u8]) {
        let said = ClientString::parse(why);
        match self.stage {
            Stage::Ending => {
                if let Ending::Linger { outcome, .. } = self.link.ending {
                    self.link.ending = Ending::Over(outcome);
                }
            }
            Stage::Opening if said.refused && said.ours => self.skipped(cx, said.why),
            Stage::Opening => {
                self.link.tell(why);
                self.link.fail(cx, Blame::Peer, FailureKind::PeerError, b"");
            }
            _ => {}
        }
    }

    fn skipped(&mut self, cx: &mut Cx<'_>, why: Option<crate::file::Refusal>) {
        self.ours = true;
        self.link.stats.files_skipped += 1;
        self.link.notes.push(QueuedEvent::Refused { why, by_peer: true });
        self.close(cx, false, false);
    }

    /// The receiver ends the connection.
    pub(super) fn quit(&mut self, cx: &mut Cx<'_>, why: &[u8]) {
        if self.stage != Stage::Moving {
            return;
        }
        let said = ClientString::parse(why);
        self.remember();
        if said.refused && said.ours {
            return self.skipped(cx, said.why);
        }
        if said.again && said.ours {
            return self.once_more(cx);
        }
        if said.ours && (said.cancel || said.cancel_batch) {
            self.stop |= said.cancel_batch;
            self.link.stats.files_skipped += 1;
            self.link.notes.push(QueuedEvent::Cancelled { by_peer: true });
            return self.close(cx, false, false);
        }
        self.link.tell(why);
        self.link.fail(cx, Blame::Peer, FailureKind::PeerError, b"");
    }

    /// The receiver wants another connection for the same file: what it had was of no use, or is
    /// to be told first.
    fn once_more(&mut self, cx: &mut Cx<'_>) {
        self.pending = PendingRequest::Nothing;
        if self.link.config.role == Role::Active {
            // What it has is not what we have.
            self.file.resume = false;
        } else {
            self.link.heard = Some(cx.now);
            self.link.progress = cx.now;
            self.link.ports = Ports::default();
        }
        self.offer(cx);
    }

    /// Our QUIT was answered, or will not be.
    pub(super) fn over(&mut self, cx: &mut Cx<'_>) {
        self.remember();
        self.close(cx, false, false);
    }
}
