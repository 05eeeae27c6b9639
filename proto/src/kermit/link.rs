//! What sender and receiver have in common: the queue towards the port, the agreement with the
//! peer, counters and the things to tell the user.

mod coding;
mod output;

use super::check::{Check, crc16};
use super::config::{BlockCheck, Codes, Config};
use super::decode::Decoder;
use super::encode::{Shift, encode_text};
use super::frame::{FrameReader, FrameSettings, Parity};
use super::packet::{BadPacket, LONG_HEADER, Packet, data_room, finish, kind};
use super::params::{self, Agreed, OWN_DIGEST, Params};
use super::probe::ProbeState;
use crate::engine::{Cx, Outcome};
use crate::session::{
    Ending, EventQueue, EventTexts, InputTrace, Port, QueuedEvent, Text, Timer, Timers, WaitTrace,
};
use crate::stats::Stats;
use crate::time::{Duration, Instant};
use crate::trace::{Load, TraceEvent};
use core::fmt::Write;

pub(crate) use output::Output;

/// The common part of both engines.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) config: Config,
    pub(crate) reader: FrameReader,
    pub(crate) output: Output,
    pub(crate) stats: Stats,
    pub(crate) notes: EventQueue,
    pub(crate) message: Text<160>,
    /// An error packet that may be a damaged other one, with its text.
    pub(crate) weak_error: Text<96>,
    pub(crate) has_weak_error: bool,
    pub(crate) agreement: Text<200>,
    /// The peer's parameters.
    pub(crate) theirs: Params,
    pub(crate) agreed: Agreed,
    /// Whether bare control characters pass the line.
    pub(crate) bare: ProbeState,
    /// Parity of what we send: configured, or as sensed from the peer.
    pub(crate) parity: Parity,
    pub(crate) ending: Ending,
    /// The line is listened to no longer than this, however long something comes.
    linger_latest: Instant,
    pub(crate) timers: Timers,
    pub(crate) port: Port,
    /// When the peer's last good packet came.
    pub(crate) spoke: Instant,
    last_nak: Option<Instant>,
    /// The traced cause of waiting.
    pub(crate) waits: WaitTrace,
    /// The trace of received bytes.
    pub(crate) comings: InputTrace,
    /// The last parameter string that looked damaged: its length and CRC.
    doubted: Option<(usize, u16)>,
}

/// Before negotiation: type-1 checks, nothing else.
pub(crate) const NOTHING_AGREED: Agreed = Agreed {
    check: Check::Sum6,
    forced_check: false,
    qbin: None,
    rept: None,
    other_rept: None,
    window: 1,
    send_long: None,
    attributes: false,
    resend: false,
    shift: Shift::Off,
    streaming: false,
    clear: false,
    own: None,
    bundle: false,
    correction: false,
    compress: false,
    difference: false,
    entries: false,
};

impl Link {
    pub(crate) fn new(config: Config) -> Self {
        let reader = FrameReader::new(FrameSettings {
            mark: config.mark,
            eol: config.eol,
            parity: config.parity,
            transparent: false,
            interrupt: config.interrupts,
            correction: false,
            max_len: usize::from(config.receive_length),
        });
        Self {
            reader,
            output: Output::new(),
            stats: Stats::default(),
            notes: EventQueue::new(),
            message: Text::new(),
            weak_error: Text::new(),
            has_weak_error: false,
            agreement: Text::new(),
            theirs: Params::default(),
            bare: match config.known_codes {
                Codes::Eaten => ProbeState::Failed,
                Codes::Unknown | Codes::Pass => ProbeState::Untried,
            },
            agreed: Agreed {
                forced_check: config.check == BlockCheck::Crc16Always,
                ..NOTHING_AGREED
            },
            parity: config.parity.unwrap_or(Parity::None),
            ending: Ending::No,
            linger_latest: Instant::ZERO,
            timers: Timers::default(),
            port: Port::default(),
            spoke: Instant::ZERO,
            last_nak: None,
            waits: WaitTrace::default(),
            comings: InputTrace::default(),
            doubted: None,
            config,
        }
    }

    /// Whether data bytes lose their high bit on this line.
    pub(crate) fn seven_bit(&self) -> bool {
        self.parity.is_seven_bit()
    }

    /// The longest wait for a packet.
    pub(crate) fn longest_wait(&self) -> Duration {
        self.config.timeout.get()
    }

    /// Unexplained silence ends the transfer after this.
    pub(crate) fn patience(&self) -> Duration {
        self.longest_wait() * u32::from(self.config.retries)
    }

    /// Takes over the parity of the peer's packets, once it is known.
    pub(crate) fn sense_parity(&mut self) {
        if let (None, Some(parity)) = (self.config.parity, self.reader.sensed())
            && !self.parity.is_seven_bit()
        {
            self.parity = parity;
        }
    }

    /// Whether a parameter string should be requested again. If an odd one comes twice
    /// it is genuine: no line damages two packets in the same way.
    pub(crate) fn doubts(&mut self, data: &[u8]) -> Option<BadPacket> {
        let why = params::doubt(data)?;
        let said = Some((data.len(), crc16(data)));
        (core::mem::replace(&mut self.doubted, said) != said).then_some(why)
    }

    /// The check of packets we send now. Parameter exchanges use type 1 unless 5 was requested.
    pub(crate) fn check_for(&self, kind: u8) -> Check {
        match kind {
            _ if self.agreed.forced_check => Check::Crc16,
            kind::SEND_INIT | kind::INFO => Check::Sum6,
            _ => self.agreed.check,
        }
    }

    /// Puts a copy of a finished packet into the queue, with padding, parity and terminator.
    /// `answered`: the line turns around after it. `None` if there is no room now.
    pub(crate) fn enqueue(
        &mut self,
        cx: &mut Cx<'_>,
        out: &mut [u8],
        packet: &[u8],
        answered: bool,
    ) -> Option<u64> {
        let copy = |room: &mut [u8]| {
            room.copy_from_slice(packet);
            Some(packet.len())
        };
        self.enqueue_made(cx, out, packet.len(), answered, copy).map(|(ends_at, _)| ends_at)
    }

    /// The same with a packet that `make` writes into room for `most` bytes, and of which it returns the length: where it
    /// ends in the stream, and that length. `None` also if `make` makes none.
    pub(crate) fn enqueue_made(
        &mut self,
        cx: &mut Cx<'_>,
        out: &mut [u8],
        most: usize,
        answered: bool,
        make: impl FnOnce(&mut [u8]) -> Option<usize>,
    ) -> Option<(u64, usize)> {
        let pad = usize::from(self.theirs.pad_count);
        let turn = answered && self.config.handshake != 0;
        let around = pad + 1 + usize::from(turn);
        let room = self.output.room(out, most + around, 0)?;
        let made = make(&mut room[pad..pad + most])?;
        let len = made + around;
        room[..pad].fill(self.theirs.pad);
        room[pad + made] = self.theirs.eol;
        if turn {
            room[len - 1] = self.config.handshake;
        }
        self.parity.apply(&mut room[..len]);
        self.port.given(cx.now, self.output.pending());
        self.stats.packets_out += 1;
        self.stats.longest_packet_bytes = self.stats.longest_packet_bytes.max(made as u64);
        Some((self.output.push(len), made))
    }

    /// Builds a packet without a slot (acknowledgements, NAKs, errors) and queues it. `data` is as
    /// it is on the wire.
    pub(crate) fn say(
        &mut self,
        cx: &mut Cx<'_>,
        out: &mut [u8],
        kind: u8,
        number: u64,
        data: &[u8],
        check: Check,
    ) {
        let mut buf = [0u8; 112];
        let data = &data[..data.len().min(90)];
        buf[LONG_HEADER..LONG_HEADER + data.len()].copy_from_slice(data);
        let (start, end) = finish(
            &mut buf,
            data.len(),
            (number % 64) as u8,
            kind,
            check,
            self.config.mark,
            self.seven_bit(),
        );
        // No room means that the port has stalled; the peer will ask again.
        if let Some(ends_at) = self.enqueue(cx, out, &buf[start..end], true) {
            let load = Load { at: self.begin_of(ends_at, end - start), ..Load::default() };
            trace_sent(cx, kind, number, end - start, 0, load);
            if kind == kind::NAK {
                self.stats.naks_out += 1;
                self.last_nak = Some(cx.now);
            }
        }
    }

    /// Encodes a text into a packet of any length that the peer takes, and queues it. False if the
    /// text is too long for that.
    pub(crate) fn say_text(
        &mut self,
        cx: &mut Cx<'_>,
        out: &mut [u8],
        kind: u8,
        number: u64,
        text: &[u8],
        check: Check,
    ) -> bool {
        let ours = usize::from(self.config.send_length);
        let short = usize::from(self.theirs.max_short).min(ours);
        let long = self.agreed.send_long.map(|long| usize::from(long).min(ours));
        let most = data_room(short, long, check);
        let (mark, seven_bit) = (self.config.mark, self.seven_bit());
        let coding = self.text_coding();
        let pad = usize::from(self.theirs.pad_count);
        let turn = usize::from(self.config.handshake != 0);
        // No room means that the port has stalled; the peer will ask again.
        let want = pad + LONG_HEADER + most + check.len() + 1 + turn;
        let Some(room) = self.output.room(out, want, 0) else { return true };
        let body = &mut room[pad..];
        let (used, data) = encode_text(&coding, text, &mut body[LONG_HEADER..LONG_HEADER + most]);
        if used < text.len() {
            return false;
        }
        let (start, end) = finish(body, data, (number % 64) as u8, kind, check, mark, seven_bit);
        body.copy_within(start..end, 0);
        let len = end - start;
        body[len] = self.theirs.eol;
        if turn > 0 {
            body[len + 1] = self.config.handshake;
        }
        room[..pad].fill(self.theirs.pad);
        self.parity.apply(&mut room[..pad + len + 1 + turn]);
        self.queued_in_place(cx, pad + len + 1 + turn, len);
        let at = self.output.taken() + (self.output.pending() - pad - len - 1 - turn) as u64;
        trace_sent(cx, kind, number, len, 0, Load { at, ..Load::default() });
        true
    }

    /// Undoes the peer's encoding of a text that is not file data; how much was used, and made.
    pub(crate) fn read_text(&self, data: &[u8], out: &mut [u8]) -> (usize, usize) {
        let Agreed { qbin, rept, .. } = self.agreed;
        Decoder::new(self.theirs.qctl, qbin, rept, Shift::Off, false).decode(data, out)
    }

    /// A transaction is over, and another may follow on the same line: what was negotiated about the
    /// encoding of text stays, everything else is to be agreed on again.
    pub(crate) fn begin_again(&mut self) {
        self.agreed = Agreed {
            qbin: self.agreed.qbin,
            rept: self.agreed.rept,
            other_rept: self.agreed.other_rept,
            send_long: self.agreed.send_long,
            forced_check: self.config.check == BlockCheck::Crc16Always,
            ..NOTHING_AGREED
        };
        self.reader.settings.transparent = false;
        self.reader.settings.correction = false;
        self.ending = Ending::No;
        self.doubted = None;
        self.timers.stop(Timer::Turn);
    }

    /// Sends an error packet with this text.
    pub(crate) fn say_error(&mut self, cx: &mut Cx<'_>, out: &mut [u8], number: u64, text: &str) {
        let mut data = [0u8; 90];
        let (_, len) = encode_text(&self.text_coding(), text.as_bytes(), &mut data);
        // Every Kermit knows the type in force by now or still is on type 1; both are tried.
        self.say(cx, out, kind::ERROR, number, &data[..len], self.agreed.check);
    }

    /// A failure: unsent output is dropped, and the peer gets the reason, if there is
    /// one. False if the session is ending already.
    pub(crate) fn last_words(
        &mut self,
        cx: &mut Cx<'_>,
        out: &mut [u8],
        number: u64,
        say: Option<&str>,
    ) -> bool {
        if self.ending != Ending::No {
            return false;
        }
        self.output.drop_unsent();
        if let Some(text) = say {
            self.say_error(cx, out, number, text);
        }
        true
    }

    /// Whether a damaged packet may be answered by a NAK now: a burst of noise is one event.
    pub(crate) fn may_nak(&self, now: Instant) -> bool {
        self.last_nak.is_none_or(|last| now - last >= Duration::from_millis(100))
    }

    /// Starts to end. The first reason counts.
    pub(crate) fn end(&mut self, cx: &mut Cx<'_>, outcome: Outcome) {
        if self.ending.begin(cx, outcome) {
            self.port.moved = cx.now;
        }
    }

    /// All is sent: lingers until it was quiet for `quiet`, up to a limit.
    pub(crate) fn linger(&mut self, cx: &Cx<'_>, outcome: Outcome, quiet: Duration) {
        self.linger_latest = cx.now + quiet * 6;
        self.ending.linger(&mut self.timers, cx.now, outcome, quiet);
    }

    /// All is sent: lingers for this long, regardless of input.
    pub(crate) fn linger_once(&mut self, cx: &Cx<'_>, outcome: Outcome, quiet: Duration) {
        self.linger_latest = cx.now + quiet;
        self.ending.linger(&mut self.timers, cx.now, outcome, quiet);
    }

    /// The write stall timeout.
    pub(crate) fn stalled_at(&self) -> Option<Instant> {
        self.port.stalled_at(self.output.pending(), self.patience())
    }

    /// The last packets have left, or never will.
    pub(crate) fn last_packets_are_out(&self, now: Instant) -> bool {
        self.port.last_packets_are_out(now, self.output.pending())
    }

    /// Whether the port is full enough that new packets had better wait.
    pub(crate) fn saturated(&self, out_len: usize) -> bool {
        let high = out_len - Config::queued_len(usize::from(self.config.send_length));
        self.timers.is_running(Timer::Turn)
            || self.output.pending() >= self.config.output_chunk().min(high)
    }

    /// Looks for the turn-around character; returns how many bytes of `bytes` to ignore.
    pub(crate) fn await_turn(&mut self, bytes: &[u8]) -> usize {
        if !self.timers.is_running(Timer::Turn) {
            return 0;
        }
        let mask = if self.seven_bit() { 0x7f } else { 0xff };
        match bytes.iter().position(|byte| byte & mask == self.config.handshake) {
            Some(at) => {
                self.timers.stop(Timer::Turn);
                at + 1
            }
            // A packet start means that the peer does not follow the rule.
            None => match bytes.iter().position(|byte| byte & 0x7f == self.config.mark) {
                Some(at) => {
                    self.timers.stop(Timer::Turn);
                    at
                }
                None => bytes.len(),
            },
        }
    }

    /// A packet came after which the line turns around: wait for the character, if there is one.
    pub(crate) fn turn_begins(&mut self, now: Instant) {
        if self.config.handshake != 0 {
            self.timers.set(Timer::Turn, now + Duration::from_secs(2));
        }
    }

    /// The port took bytes.
    pub(crate) fn sent(&mut self, cx: &mut Cx<'_>, len: usize) {
        let len = self.output.take(len);
        self.stats.wire_out_bytes += len as u64;
        if len > 0 {
            self.port.took(cx, self.stats.wire_out_bytes, self.output.pending());
        }
    }

    /// Where a packet of `len` bytes begins in the stream that ends, with its terminator and the
    /// turn-around character, at `ends_at`.
    pub(crate) fn begin_of(&self, ends_at: u64, len: usize) -> u64 {
        let turn = u64::from(self.config.handshake != 0);
        ends_at - (len as u64 + 1 + turn + u64::from(self.theirs.pad_count))
    }

    /// A packet was built in place in the room of the queue: `len` bytes with padding and
    /// terminator, `packet_len` without.
    pub(crate) fn queued_in_place(&mut self, cx: &Cx<'_>, len: usize, packet_len: usize) {
        self.port.given(cx.now, self.output.pending());
        self.output.push(len);
        self.stats.packets_out += 1;
        self.stats.longest_packet_bytes = self.stats.longest_packet_bytes.max(packet_len as u64);
    }

    /// The peer's error message, decoded, for the user.
    pub(crate) fn take_message(&mut self, data: &[u8]) {
        let (qbin, rept) = (self.agreed.qbin, self.agreed.rept);
        let mut decoder = Decoder::new(self.theirs.qctl, qbin, rept, Shift::Off, false);
        // The decoder stops before what might not fit, so the buffer is longer than the text.
        let mut text = [0u8; 352];
        let (_, len) = decoder.decode(data, &mut text);
        self.message.fill(|to| {
            let len = len.min(to.len());
            to[..len].copy_from_slice(&text[..len]);
            len
        });
        self.notes.push(QueuedEvent::Message);
    }

    /// What follows from an agreement for the line itself.
    pub(crate) fn settle(&mut self) {
        if self.agreed.qbin.is_some() && !self.parity.is_seven_bit() {
            // A peer that wants 8th-bit prefixing has a 7-bit line, parity or not.
            self.parity = Parity::Space;
            self.reader.settings.parity = Some(Parity::Space);
        }
        if self.config.handshake != 0 {
            self.agreed.window = 1;
        }
    }

    /// How many of these bytes belong to the last packet, of which `used` were read: its terminator may follow.
    pub(crate) fn with_terminator(&mut self, bytes: &[u8], used: usize) -> usize {
        let is_there = used > 0 && bytes.get(used).is_some_and(|byte| byte & 0x7f == b'\r');
        self.stats.wire_in_bytes += u64::from(is_there);
        used + usize::from(is_there)
    }

    /// Discards input at the end; returns how many bytes were taken.
    pub(crate) fn pass_over(&mut self, cx: &Cx<'_>, len: usize) -> usize {
        match self.ending {
            Ending::Over(_) | Ending::No => 0,
            Ending::LastPackets(_) => len,
            Ending::Linger { .. } => {
                let more = cx.now + (self.linger_latest - cx.now) / 6;
                let until = self.timers.get(Timer::Linger).map_or(more, |until| until.max(more));
                self.timers.set(Timer::Linger, until.min(self.linger_latest));
                len
            }
        }
    }

    pub(crate) fn ending_deadline(&self) -> Option<Instant> {
        self.ending.deadline(&self.timers, self.port.last_packets_until())
    }

    /// The texts that queued events refer to.
    pub(crate) fn event_texts(&self) -> EventTexts<'_> {
        let (agreement, message) = (self.agreement.as_str(), self.message.as_bytes());
        EventTexts { agreement, message, ..EventTexts::default() }
    }

    /// Writes the agreement in words.
    pub(crate) fn describe_agreement(&mut self, cx: &mut Cx<'_>) {
        let mut text = Text::<200>::new();
        let a = &self.agreed;
        let check = if a.forced_check { '5' } else { char::from(a.check.as_char()) };
        let long = a.send_long.map_or(u16::from(self.theirs.max_short), |long| long);
        let _ = write!(text, "window {}, packets to {long} bytes, check {check}", a.window);
        if cx.trace.enabled() {
            let (window, streaming) = (u64::from(a.window), u64::from(a.streaming));
            let values =
                [("window", window), ("packet", u64::from(long)), ("streaming", streaming)];
            let ours = [
                ("bundle", a.bundle),
                ("compress", a.compress),
                ("correction", a.correction),
                ("difference", a.difference),
            ];
            // What could be in force and is not is told, too.
            let ours = ours.into_iter().filter(|(_, on)| *on || a.bundle);
            let entries = a.entries.then_some(("entries", true));
            let ours = ours.chain(entries).map(|(name, on)| (name, u64::from(on)));
            for (name, value) in values.into_iter().chain(ours) {
                cx.trace.record(cx.now, &TraceEvent::Value { name, value });
            }
        }
        let mut also = |on: bool, word: &str| {
            if on {
                let _ = write!(text, ", {word}");
            }
        };
        also(a.streaming, "streaming");
        also(a.clear, "clear channel");
        also(a.qbin.is_some(), "8th-bit prefixing");
        also(a.shift != Shift::Off, "locking shifts");
        also(a.rept.is_some(), "repeat counts");
        also(a.attributes, "attributes");
        also(a.own.is_some_and(|own| own & OWN_DIGEST != 0), "whole-file digests");
        also(a.bundle, "files in one window");
        also(a.correction, "error correction");
        also(a.compress, "compression");
        also(a.difference, "differences");
        also(a.entries, "directories and links");
        self.agreement = text;
        self.notes.push(QueuedEvent::Negotiated);
    }
}

/// Traces a packet that was queued.
pub(crate) fn trace_sent(
    cx: &mut Cx<'_>,
    kind: u8,
    number: u64,
    len: usize,
    again: u32,
    load: Load,
) {
    if cx.trace.enabled() {
        let kind = char::from(kind);
        cx.trace.record(cx.now, &TraceEvent::Sent { kind, number, len, again, load });
    }
}

/// Traces a packet that came; `len` is its length, `at` where it ends in the stream.
pub(crate) fn trace_got(cx: &mut Cx<'_>, packet: &Packet<'_>, len: usize, at: u64) {
    if cx.trace.enabled() {
        let data = if kind::is_data(packet.kind) { packet.data.len() } else { 0 };
        let (kind, number) = (char::from(packet.kind), u64::from(packet.seq));
        cx.trace.record(cx.now, &TraceEvent::Got { kind, number, len, data, at });
    }
}
