//! One end of a line: packets in, bytes out, and back.
//!
//! ```text
//! packet -> put -> [queue] -> compress -> frame -> transmit, transmitted -> line
//! packet <- receive <----- decompress <- frame <-------------------------- line
//! ```
//!
//! Header compression comes after the queue, so that its state follows the order of the line.
//! A packet is chosen only when the line has taken the previous one: an urgent packet that comes now
//! waits for at most one.

use super::compress::{Compressor, CompressorStats, Framed, make_whole};
use super::config::{BadConfig, Compression, Config, Parts};
use super::decompress::{Decompressor, DecompressorStats, HEADROOM, Refused};
use super::differential::{DifferentialCompressor, DifferentialDecompressor};
use super::frame::{Decoder, DecoderStats, Found, encode};
use super::options::take_out_timestamps;
use super::packet::{Shape, is_ip, is_sound_tcp, is_whole_ip};
use super::probe::Probe;
use super::queue::{ClassStats, NotQueued, Queue};
use crate::{Duration, Instant, Memory, MemoryTooSmall};

/// The handling of outgoing headers.
#[derive(Clone, Debug)]
enum Outgoing<M> {
    Plain,
    Compressed(Compressor<M>),
    Differential(DifferentialCompressor<M>),
}

/// The handling of incoming headers.
#[derive(Clone, Debug)]
enum Incoming<M> {
    Plain,
    Compressed(Decompressor<M>),
    Differential(DifferentialDecompressor<M>),
}

/// Counters of a link, besides those of its parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LinkStats {
    /// Packets taken completely by the line.
    pub sent: u64,
    /// Bytes of the line that it has taken.
    pub line_bytes: u64,
    /// Bytes that these packets had before compression and framing.
    pub sent_bytes: u64,
    /// Packets delivered.
    pub received: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// Outgoing packets that were not IP.
    pub not_ip: u64,
    /// Frames that gave no packet, tossed and wrongly rebuilt ones among them. Frames that were dropped by the framing are in
    /// [`DecoderStats`].
    pub refused: u64,
    /// Of these, frames that only CSLIP has, while compression is off here.
    pub compressed_refused: u64,
    /// Acknowledgements that were repeated to probe whether the peer compresses.
    pub probes: u64,
    /// SYNs, both ways, from which timestamps were removed.
    pub timestamps: u64,
}

/// One end of a SLIP line, without I/O.
///
/// Outgoing: [`Link::put`] queues a packet, [`Link::transmit`] lends bytes for the line and
/// [`Link::transmitted`] says how many it took. Incoming: [`Link::receive`] takes bytes of the line and delivers
/// one packet at a time. Time is passed in where it matters; [`Link::deadline`] is when to call again.
#[derive(Clone, Debug)]
pub struct Link<M> {
    config: Config,
    outgoing: Outgoing<M>,
    incoming: Incoming<M>,
    /// Output is compressed.
    compressing: bool,
    queue: Queue<M>,
    packet: M,
    wire: M,
    /// Bytes in `wire`, and how many of them the line has taken.
    wire_len: usize,
    wire_at: usize,
    /// Bytes of the packet in `wire`; 0 if it is only a probe.
    packet_len: usize,
    probe: Probe,
    decoder: Decoder,
    frame: M,
    /// When the line will have sent all it has taken.
    line_free: Instant,
    /// The line has not been idle since the last frame: its END starts the next.
    flowing: bool,
    stats: LinkStats,
}

impl<M: Memory> Link<M> {
    /// One end, in memory of the lengths that [`Config::memory`] says.
    pub fn new(config: Config, parts: Parts<M>) -> Result<Self, BadConfig> {
        config.check()?;
        let len = config.memory();
        for (part, needed) in
            [(&parts.packet, len.packet), (&parts.wire, len.wire), (&parts.frame, len.frame)]
        {
            let given = part.as_ref().len();
            if given < needed {
                return Err(MemoryTooSmall { needed, given }.into());
            }
        }
        let slots = config.slots;
        let (outgoing, incoming) = match config.compression {
            Compression::Off => (Outgoing::Plain, Incoming::Plain),
            Compression::On | Compression::Auto => (
                Outgoing::Compressed(Compressor::new(slots, config.omit_slot, parts.sent)?),
                Incoming::Compressed(Decompressor::new(slots, parts.received)?),
            ),
            Compression::Differential => (
                Outgoing::Differential(DifferentialCompressor::new(slots, parts.sent)?),
                Incoming::Differential(DifferentialDecompressor::new(slots, parts.received)?),
            ),
        };
        Ok(Self {
            config,
            outgoing,
            incoming,
            compressing: starts_compressed(config.compression),
            queue: Queue::new(config.queue, parts.queue)?,
            packet: parts.packet,
            wire: parts.wire,
            wire_len: 0,
            wire_at: 0,
            packet_len: 0,
            probe: Probe::new(),
            decoder: Decoder::new(),
            frame: parts.frame,
            line_free: Instant::ZERO,
            flowing: false,
            stats: LinkStats::default(),
        })
    }

    /// The line was reopened: the peer may know nothing. Queued packets stay queued, the frame that
    /// was being sent is lost, and so is one that was being received.
    pub fn reopened(&mut self) {
        match &mut self.outgoing {
            Outgoing::Plain => {}
            Outgoing::Compressed(compressor) => compressor.reset(),
            Outgoing::Differential(differ) => differ.reset(),
        }
        match &mut self.incoming {
            Incoming::Plain => {}
            Incoming::Compressed(decompressor) => decompressor.reset(),
            Incoming::Differential(undiffer) => undiffer.reset(),
        }
        self.compressing = starts_compressed(self.config.compression);
        self.probe = Probe::new();
        self.decoder.reset();
        self.wire_len = 0;
        self.wire_at = 0;
        self.flowing = false;
        self.line_free = Instant::ZERO;
    }

    /// Drops all queued packets, as after a long outage of the line.
    pub fn clear(&mut self) {
        self.queue.clear();
    }

    /// Queues a packet for the line.
    pub fn put(&mut self, now: Instant, packet: &[u8]) -> Result<(), NotQueued> {
        self.queue.put(now, packet)
    }

    /// The queue is empty, and the line has taken everything.
    pub fn is_idle(&self) -> bool {
        self.wire_at == self.wire_len && !self.waits()
    }

    /// Bytes for the line: what is left of one frame, the same until [`Link::transmitted`]. Empty if there
    /// are none, or not before [`Link::deadline`].
    pub fn transmit(&mut self, now: Instant) -> &[u8] {
        while self.wire_at == self.wire_len && self.may_choose(now) && self.choose(now) {}
        &self.wire.as_ref()[self.wire_at..self.wire_len]
    }

    /// The line has taken this many of the bytes lent.
    pub fn transmitted(&mut self, now: Instant, len: usize) {
        let len = len.min(self.wire_len - self.wire_at);
        self.wire_at += len;
        self.stats.line_bytes += len as u64;
        if let Some(rate) = self.config.rate {
            self.line_free = self.line_free.max(now) + rate.time(len);
        }
        if len > 0 && self.wire_at == self.wire_len {
            self.flowing = self.waits();
            if self.packet_len == 0 {
                self.stats.probes += 1;
            } else {
                self.stats.sent += 1;
                self.stats.sent_bytes += self.packet_len as u64;
            }
        }
    }

    /// When [`Link::transmit`] will have bytes although it has none now. `None`: when a packet comes.
    pub fn deadline(&self) -> Option<Instant> {
        let waits = self.wire_at == self.wire_len && self.waits();
        (waits && self.config.rate.is_some()).then(|| self.next_choice())
    }

    /// Bytes of the line came. Gives how many were used, and a packet if one has ended: then there may be
    /// more in the rest.
    pub fn receive(&mut self, bytes: &[u8]) -> (usize, Option<&mut [u8]>) {
        let room = &mut self.frame.as_mut()[HEADROOM..];
        let room_len = room.len().min(usize::from(self.config.mru));
        let (used, found) = self.decoder.next(&mut room[..room_len], bytes);
        let len = match found {
            None => return (used, None),
            Some(Found::Bad(_)) => {
                self.toss();
                return (used, None);
            }
            Some(Found::Frame(len)) => len,
        };
        let buffer = &mut self.frame.as_mut()[..HEADROOM + len];
        let restored = match &mut self.incoming {
            Incoming::Plain if is_whole_ip(&buffer[HEADROOM..]) => Ok(HEADROOM),
            Incoming::Plain => {
                self.stats.compressed_refused += u64::from(buffer[HEADROOM] >= 0x70);
                Err(Refused::Kind(buffer[HEADROOM]))
            }
            Incoming::Compressed(decompressor) => {
                let is_vj = buffer[HEADROOM] >= 0x70;
                let restored = decompressor.restore(buffer, HEADROOM);
                self.compressing |= is_vj && restored.is_ok();
                restored
            }
            Incoming::Differential(undiffer) => undiffer.restore(buffer, HEADROOM),
        };
        if let Ok(start) = restored {
            self.stats.received += 1;
            self.stats.received_bytes += (HEADROOM + len - start) as u64;
            let packet = &mut self.frame.as_mut()[start..HEADROOM + len];
            if self.config.takes_out_timestamps() {
                self.stats.timestamps += u64::from(take_out_timestamps(packet));
            }
            (used, Some(packet))
        } else {
            self.stats.refused += 1;
            (used, None)
        }
    }

    /// The port has lost or damaged bytes of what comes in (overrun, framing or parity error).
    pub fn line_error(&mut self) {
        self.decoder.line_error();
        self.toss();
    }

    /// How long the line will be busy with what it has taken; zero without [`Config::rate`].
    pub fn busy(&self, now: Instant) -> Duration {
        self.line_free.since(now)
    }

    /// Output is compressed: from the start, or since the peer was seen to compress.
    pub fn is_compressing(&self) -> bool {
        self.compressing
    }

    /// Counters of the link.
    pub fn stats(&self) -> &LinkStats {
        &self.stats
    }

    /// Counters of the incoming framing.
    pub fn decoder_stats(&self) -> &DecoderStats {
        self.decoder.stats()
    }

    /// Counters of each class, in the order of [`Class::ALL`](super::Class::ALL).
    pub fn queue_stats(&self) -> &[ClassStats; 3] {
        self.queue.stats()
    }

    /// Counters of outgoing header compression; `None` without one.
    pub fn compressor_stats(&self) -> Option<&CompressorStats> {
        match &self.outgoing {
            Outgoing::Plain => None,
            Outgoing::Compressed(compressor) => Some(compressor.stats()),
            Outgoing::Differential(differ) => Some(differ.stats()),
        }
    }

    /// Counters of incoming header decompression; `None` without one.
    pub fn decompressor_stats(&self) -> Option<&DecompressorStats> {
        match &self.incoming {
            Incoming::Plain => None,
            Incoming::Compressed(decompressor) => Some(decompressor.stats()),
            Incoming::Differential(undiffer) => Some(undiffer.stats()),
        }
    }

    fn toss(&mut self) {
        if let Incoming::Compressed(decompressor) = &mut self.incoming {
            decompressor.line_error();
        }
    }

    /// When the next packet may be chosen.
    fn next_choice(&self) -> Instant {
        let ahead = u64::try_from(self.config.ahead.as_nanos()).unwrap_or(u64::MAX);
        Instant(self.line_free.0.saturating_sub(ahead))
    }

    fn may_choose(&self, now: Instant) -> bool {
        self.config.rate.is_none() || now >= self.next_choice()
    }

    /// Something is queued for the wire.
    fn waits(&self) -> bool {
        !self.queue.is_empty() || self.probe.is_pending()
    }

    /// Puts the next queued packet on the wire; false if there is none.
    fn choose(&mut self, now: Instant) -> bool {
        if let Some(len) = self.probe.take() {
            return self.ask(len);
        }
        let room = self.packet.as_mut();
        let Some(taken) = self.queue.take(now, room) else { return false };
        let packet = &mut room[..taken.len];
        if self.config.takes_out_timestamps() {
            self.stats.timestamps += u64::from(take_out_timestamps(packet));
        }
        let asks = self.config.compression == Compression::Auto
            && !self.compressing
            && self.probe.is_due(now)
            && is_bare_ack(packet);
        if asks {
            self.probe.ask(now, taken.len);
        }
        let framed = match &mut self.outgoing {
            Outgoing::Compressed(compressor) if self.compressing => {
                compressor.compress(packet).ok()
            }
            Outgoing::Differential(differ) => differ.compress(packet).ok(),
            _ => is_ip(packet).then_some(Framed::IP),
        };
        let Some(framed) = framed else {
            self.stats.not_ip += 1;
            return true;
        };
        let frame = &packet[framed.start..];
        self.wire_at = 0;
        self.packet_len = taken.len;
        self.wire_len = encode(frame, !self.flowing, self.wire.as_mut()).unwrap_or(0);
        true
    }

    /// Puts the acknowledgement that has just continued the wire once more, whole with a slot. The compressor
    /// is not told, as it may not arrive.
    fn ask(&mut self, len: usize) -> bool {
        if !self.compressing {
            let packet = &mut self.packet.as_mut()[..len];
            make_whole(packet, 0);
            self.wire_at = 0;
            self.packet_len = 0;
            self.wire_len = encode(packet, !self.flowing, self.wire.as_mut()).unwrap_or(0);
        }
        true
    }
}

/// An acknowledgement without data that a compressor would give a slot.
fn is_bare_ack(packet: &[u8]) -> bool {
    Shape::of(packet).is_some_and(|shape| shape.data == packet.len() && is_sound_tcp(packet, shape))
}

fn starts_compressed(compression: Compression) -> bool {
    matches!(compression, Compression::On | Compression::Differential)
}
