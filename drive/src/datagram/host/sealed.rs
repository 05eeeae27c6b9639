//! The session of one peer, and the length of its datagrams: bundles, pieces, probes.

use super::super::bundle::{self, Bundle, Pieces};
use super::super::endpoint::{Endpoint, Sent};
use super::super::outbox::Outbox;
use super::super::secure::{DATA_HEADER, OVERHEAD, Opened, Session, WORD_OVERHEAD};
use super::super::sizes::Sizes;
use std::net::SocketAddr;
use std::ops::Range;
use std::time::Duration;
use wetstring_proto::time::Instant;

/// Minimum time between two retransmissions of the last handshake message.
const FINISH_AGAIN: Duration = Duration::from_millis(250);

/// A session, with its outgoing and incoming packets.
pub(super) struct Sealed {
    pub(super) session: Session,
    /// What is sent before the first packets, and when next.
    finish: Option<(Vec<u8>, Instant)>,
    sizes: Sizes,
    bundle: Bundle,
    pieces: Pieces,
    /// The number of the next packet that is sent in pieces.
    number: u32,
    /// Control messages to send in the next turn.
    words: Vec<Vec<u8>>,
}

/// What a datagram contained for the engine.
pub(super) enum Received {
    /// Packets, in the buffer that they were opened into; several if it is a bundle.
    Packets(Range<usize>, bool),
    /// The peer ends the session.
    Closed(String),
    /// A control message: nothing for the engine, but from the peer.
    Control,
    /// Nothing.
    Nothing,
}

/// Result of queueing a packet.
pub(super) enum Put {
    /// Sent, or waiting to be bundled.
    Done,
    /// The outbox must be flushed first.
    Full,
    /// The keys have reached their limit.
    Spent,
}

impl Sealed {
    /// A new session; nothing in it is longer than `most`.
    pub(super) fn new(
        session: Session,
        finish: Option<(Vec<u8>, Instant)>,
        most: usize,
        now: Instant,
    ) -> Self {
        let sizes = Sizes::new(session.size(), most, now);
        Self {
            session,
            finish,
            sizes,
            bundle: Bundle::default(),
            pieces: Pieces::default(),
            number: 0,
            words: Vec::new(),
        }
    }

    /// Opens what was received under a nonce.
    pub(super) fn open(
        &mut self,
        now: Instant,
        nonce: u64,
        sealed: &[u8],
        into: &mut [u8],
    ) -> Received {
        let len = DATA_HEADER + sealed.len();
        let opened = self.session.open(nonce, sealed, into);
        if !matches!(opened, Opened::Bad) {
            self.finish = None;
        }
        let came = match opened {
            Opened::Packet(len) => Received::Packets(0..len, false),
            Opened::Bundle(packets) => Received::Packets(packets, true),
            Opened::Piece(piece) => match self.pieces.take(&into[piece]) {
                Some(packet) if packet.len() <= into.len() => {
                    into[..packet.len()].copy_from_slice(&packet);
                    Received::Packets(0..packet.len(), false)
                }
                _ => return Received::Control,
            },
            Opened::Probe => {
                let answer = self.sizes.asked(len).and_then(|len| self.session.probed(len));
                self.words.extend(answer);
                return Received::Control;
            }
            Opened::Probed(len) => {
                self.sizes.probed(len, now);
                return Received::Control;
            }
            Opened::Report(longest) => {
                self.sizes.reported(longest);
                return Received::Control;
            }
            Opened::Close(why) => return Received::Closed(why),
            Opened::Bad => return Received::Nothing,
        };
        if let Some(longest) = self.sizes.came(len, now) {
            self.words.extend(self.session.report(longest));
        }
        came
    }

    /// Queues a packet to be sent.
    pub(super) fn put(
        &mut self,
        now: Instant,
        packet: &[u8],
        outbox: &mut Outbox,
        (endpoint, to): (&Endpoint, SocketAddr),
    ) -> Put {
        let most = self.sizes.bundle().saturating_sub(WORD_OVERHEAD);
        if self.bundle.fits(packet.len(), most) {
            self.bundle.add(packet);
            return Put::Done;
        }
        if !self.bundle.is_empty() {
            // The packet is queued again, in an empty bundle.
            let put = self.close_bundle(now, outbox, endpoint);
            return if matches!(put, Put::Done) {
                self.put(now, packet, outbox, (endpoint, to))
            } else {
                put
            };
        }
        let len = packet.len() + OVERHEAD;
        if len > self.sizes.proven() && self.sizes.is_capable() {
            return self.put_pieces(now, packet, endpoint, to);
        }
        let Some(room) = outbox.room(len, endpoint.segments()) else { return Put::Full };
        let Some(put) = self.session.seal(packet, room) else { return Put::Spent };
        outbox.put(put);
        self.sizes.left(put, now);
        Put::Done
    }

    /// Closes this bundle.
    pub(super) fn close_bundle(
        &mut self,
        now: Instant,
        outbox: &mut Outbox,
        endpoint: &Endpoint,
    ) -> Put {
        if self.bundle.is_empty() {
            return Put::Done;
        }
        let alone = self.bundle.alone();
        let len = alone.map_or(self.bundle.len() + WORD_OVERHEAD, |packet| packet.len() + OVERHEAD);
        let Some(room) = outbox.room(len, endpoint.segments()) else { return Put::Full };
        let put = match alone {
            Some(packet) => self.session.seal(packet, room),
            None => self.session.bundle(self.bundle.all(), room),
        };
        self.bundle.clear();
        let Some(put) = put else { return Put::Spent };
        outbox.put(put);
        self.sizes.left(put, now);
        Put::Done
    }

    /// Whether nothing is queued.
    pub(super) fn is_empty(&self) -> bool {
        self.bundle.is_empty()
    }

    /// The path does not take a datagram as long as this packet.
    fn put_pieces(
        &mut self,
        now: Instant,
        packet: &[u8],
        endpoint: &Endpoint,
        to: SocketAddr,
    ) -> Put {
        let most = self.sizes.proven().saturating_sub(WORD_OVERHEAD);
        let Some(pieces) = bundle::pieces(self.number, packet, most) else { return Put::Done };
        self.number = self.number.wrapping_add(1);
        for piece in pieces {
            let Some(datagram) = self.session.piece(&piece) else { return Put::Spent };
            self.sizes.left(datagram.len(), now);
            // A packet for which there is no room is lost, as on any network.
            let _ = endpoint.send(to, &datagram, datagram.len());
        }
        Put::Done
    }

    /// Sends the session's own messages: the end of the handshake until the listener has been heard, control
    /// messages, and a probe when one is due. Returns whether anything was sent.
    pub(super) fn speak(&mut self, now: Instant, endpoint: &Endpoint, to: SocketAddr) -> bool {
        let mut spoke = !self.words.is_empty();
        for word in self.words.drain(..) {
            let _ = endpoint.send(to, &word, word.len());
        }
        if let Some(len) = self.sizes.probe(now)
            && let Some(probe) = self.session.probe(len)
        {
            spoke = true;
            self.put_finish(now, endpoint, to);
            if matches!(endpoint.send(to, &probe, probe.len()), Ok(Sent::TooLong)) {
                self.sizes.too_long(now);
            }
        }
        spoke
    }

    /// Until the listener has been heard, it may have missed the end of the handshake.
    pub(super) fn put_finish(&mut self, now: Instant, endpoint: &Endpoint, to: SocketAddr) {
        let Some((finish, next)) = &mut self.finish else { return };
        if now >= *next {
            *next = now + FINISH_AGAIN;
            let _ = endpoint.send(to, finish, finish.len());
        }
    }

    /// The interface, or a router, reports that a datagram was too long. Returns whether shorter ones may pass.
    pub(super) fn too_long(&mut self, now: Instant) -> bool {
        self.sizes.too_long(now)
    }

    /// When it next has something to send.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.sizes.deadline()
    }
}
