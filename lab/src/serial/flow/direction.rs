//! One direction of a line with flow control: queued, on the wire, and held characters.

use super::{FlowControl, Stop};
use crate::serial::model::LineModel;
use crate::serial::timeline::{CharTime, Timeline};
use std::collections::VecDeque;

/// XON, DC1.
pub(crate) const XON: u8 = 0x11;
/// XOFF, DC3.
pub(crate) const XOFF: u8 = 0x13;

/// Parameters of a direction. Times in ns, lengths in characters.
#[derive(Clone, Debug)]
pub(crate) struct DirectionSpec {
    pub(crate) rate_bps: u64,
    /// Width, parity and bits of a character; the rest of it does not count.
    pub(crate) dress: LineModel,
    pub(crate) flow: FlowControl,
    /// From the signal at the sender to its effect.
    pub(crate) reaction: u64,
    /// What the sender takes ahead.
    pub(crate) tx_buffer: usize,
    /// Size of the receiver's buffer.
    pub(crate) rx_buffer: usize,
    /// The receiver stops the sender at this level, and restarts it at that one.
    pub(crate) high: usize,
    pub(crate) low: usize,
    /// The receiver's UART, if its interrupt is not served at once.
    pub(crate) fifo: usize,
    pub(crate) latency: u64,
}

/// One direction. Characters are in `bytes` in this order: held by the receiver, in its FIFO, on the wire,
/// queued at the sender.
#[derive(Clone, Debug)]
pub(crate) struct Direction {
    spec: DirectionSpec,
    wire: Timeline,
    bytes: VecDeque<u8>,
    held: usize,
    fifo: usize,
    waiting: usize,
    /// When the receiver began to hold something.
    held_since: u64,
    /// When the interrupt of what is in the FIFO is served.
    service_at: u64,
    /// The sender may send.
    allowed: bool,
    stopped_at: u64,
    /// The receiver has asked the sender to stop.
    choked: bool,
    /// Signals on their way to this direction's sender: when, and whether it may send.
    signals: VecDeque<(u64, bool)>,
    /// Indices, counted since creation, of characters that are XON or XOFF; and the index of the first in
    /// `bytes`.
    controls: VecDeque<u64>,
    first: u64,
    /// The last offer was cut short.
    short: bool,
    /// Counters.
    pub(crate) taken: u64,
    pub(crate) given: u64,
    pub(crate) sent: u64,
    pub(crate) lost: u64,
    pub(crate) stops: u64,
    pub(crate) stopped_ns: u64,
    /// Not yet traced: when the sender stopped or continued.
    pub(super) obeyed: Vec<(u64, bool)>,
    /// The trace is enabled.
    pub(super) listened: bool,
}

/// A signal of the receiver to the sender, or of a character on the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FlowSignal {
    /// The receiver holds too much, or enough room again.
    Level { go: bool },
    /// An XON or XOFF arrived.
    Control { go: bool },
}

impl Direction {
    pub(crate) fn new(spec: DirectionSpec) -> Self {
        Self {
            wire: Timeline::new(CharTime::new(spec.rate_bps, spec.dress.bits)),
            spec,
            bytes: VecDeque::new(),
            held: 0,
            fifo: 0,
            waiting: 0,
            held_since: 0,
            service_at: 0,
            allowed: true,
            stopped_at: 0,
            choked: false,
            signals: VecDeque::new(),
            controls: VecDeque::new(),
            first: 0,
            short: false,
            taken: 0,
            given: 0,
            sent: 0,
            lost: 0,
            stops: 0,
            stopped_ns: 0,
            obeyed: Vec::new(),
            listened: false,
        }
    }

    /// Characters that the receiver holds.
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// Since when.
    pub(crate) fn held_since(&self) -> u64 {
        self.held_since
    }

    /// Characters that have not left the sender.
    pub(crate) fn ahead(&self) -> usize {
        self.wire.len() as usize + self.waiting
    }

    /// Whether nothing is on the wire or waits for it.
    pub(crate) fn is_quiet(&self) -> bool {
        self.ahead() == 0
    }

    /// What the sender has room for.
    pub(crate) fn space(&self) -> usize {
        self.spec.tx_buffer.saturating_sub(self.ahead())
    }

    /// Accepts characters at the sender; returns how many.
    pub(crate) fn offer(&mut self, now: u64, bytes: &[u8]) -> usize {
        let len = bytes.len().min(self.space());
        self.short = len < bytes.len();
        if len == 0 {
            return 0;
        }
        let bytes = &bytes[..len];
        if self.spec.flow == FlowControl::XonXoff {
            let end = self.first + self.bytes.len() as u64;
            let indices = (end..).zip(bytes).filter(|(_, byte)| self.control(**byte).is_some());
            let indices: Vec<u64> = indices.map(|(index, _)| index).collect();
            self.controls.extend(indices);
        }
        if self.spec.dress.dresses() {
            self.bytes.extend(bytes.iter().map(|byte| self.spec.dress.dress(*byte)));
        } else {
            self.bytes.extend(bytes);
        }
        self.taken += len as u64;
        self.waiting += len;
        self.commit(now);
        len
    }

    /// Whether the receiver uses XON/XOFF.
    pub(super) fn is_xon_xoff(&self) -> bool {
        self.spec.flow == FlowControl::XonXoff
    }

    /// Whether this character means go or stop.
    fn control(&self, byte: u8) -> Option<bool> {
        let byte = if self.spec.dress.dresses() { byte & 0x7f } else { byte };
        match byte {
            _ if self.spec.flow != FlowControl::XonXoff => None,
            XON => Some(true),
            XOFF => Some(false),
            _ => None,
        }
    }

    /// Puts queued characters onto the wire.
    fn commit(&mut self, now: u64) {
        if self.allowed && self.waiting > 0 {
            self.wire.push(now, self.waiting as u64);
            self.sent += self.waiting as u64;
            self.waiting = 0;
        }
    }

    /// Removes the characters whose transmission has not begun at `at`.
    fn retract(&mut self, at: u64) {
        let count = self.wire.retract(at);
        self.sent -= count;
        self.waiting += count as usize;
    }

    /// The receiver's driver sends XON or XOFF, in front of everything that waits.
    pub(super) fn insert(&mut self, now: u64, go: bool) {
        self.retract(now);
        let place = self.bytes.len() - self.waiting;
        let byte = self.spec.dress.dress(if go { XON } else { XOFF });
        self.bytes.insert(place, byte);
        let index = self.first + place as u64;
        let behind = self.controls.partition_point(|control| *control < index);
        self.controls.range_mut(behind..).for_each(|control| *control += 1);
        self.controls.insert(behind, index);
        self.wire.push(now, 1);
        self.sent += 1;
        self.commit(now);
    }

    /// A signal for the sender is in transit.
    pub(super) fn signal(&mut self, now: u64, go: bool) {
        self.signals.push_back((now.saturating_add(self.spec.reaction), go));
    }

    /// Reads what the receiver holds; returns how many characters, and whether the sender may continue.
    pub(super) fn take(&mut self, into: &mut [u8]) -> (usize, Option<FlowSignal>) {
        let len = into.len().min(self.held);
        if len == 0 {
            return (0, None);
        }
        crate::serial::copy_out(&mut self.bytes, &mut into[..len]);
        self.held -= len;
        self.first += len as u64;
        self.given += len as u64;
        if self.choked && self.held <= self.spec.low {
            self.choked = false;
            return (len, Some(FlowSignal::Level { go: true }));
        }
        (len, None)
    }

    /// When the receiver will hold enough to stop the sender, if nothing changes.
    fn chokes_at(&self) -> Option<u64> {
        if self.choked || self.spec.flow == FlowControl::None || self.spec.latency > 0 {
            return None;
        }
        let more = self.spec.high.saturating_sub(self.held) as u64;
        if more > self.wire.len() { None } else { self.wire.nth(more.max(1)) }
    }

    /// When the next XON or XOFF arrives.
    fn control_at(&self) -> Option<u64> {
        if self.spec.latency > 0 {
            return None;
        }
        let place = self.controls.front()? - self.first - self.held as u64;
        if place < self.wire.len() { self.wire.nth(place + 1) } else { None }
    }

    /// When an interrupt is served that is not served at once.
    fn served_at(&self) -> Option<u64> {
        match (self.spec.latency, self.fifo) {
            (0, _) => None,
            (latency, 0) => Some(self.wire.next()?.saturating_add(latency)),
            _ => Some(self.service_at),
        }
    }

    /// When the next internal event other than an arrival is due.
    pub(crate) fn next_event(&self) -> u64 {
        let signal = self.signals.front().map(|(at, _)| *at);
        let events = [signal, self.chokes_at(), self.control_at(), self.served_at()];
        events.into_iter().flatten().min().unwrap_or(u64::MAX)
    }

    /// When the receiver will hold something, if it does not yet.
    pub(crate) fn arrives_at(&self) -> Option<u64> {
        if self.spec.latency > 0 { self.served_at() } else { self.wire.next() }
    }

    /// When the receiver will hold `n` more characters, or all that are on the wire.
    pub(crate) fn arrives_nth(&self, n: u64) -> Option<u64> {
        if self.spec.latency > 0 {
            return self.served_at();
        }
        self.wire.nth(n.clamp(1, self.wire.len().max(1)))
    }

    /// Whether the receiver has told the sender to stop.
    pub(crate) fn is_choked(&self) -> bool {
        self.choked
    }

    /// Whether the last offer was cut short.
    pub(crate) fn is_short(&self) -> bool {
        self.short
    }

    /// When half of what the sender takes ahead will have left.
    pub(crate) fn room(&self) -> Option<u64> {
        if !self.short || self.waiting > 0 {
            return None;
        }
        let low = (self.spec.tx_buffer / 2) as u64;
        match self.wire.len().saturating_sub(low) {
            0 => Some(0),
            n => self.wire.nth(n),
        }
    }

    /// Does what is due at `at`, the time of [`Direction::next_event`].
    pub(super) fn handle(&mut self, at: u64) -> [Option<FlowSignal>; 2] {
        if let Some((_, go)) = self.signals.front().copied().filter(|(due, _)| *due <= at) {
            self.signals.pop_front();
            self.obey(at, go);
            return [None, None];
        }
        if self.control_at() == Some(at) {
            self.sync(at.saturating_sub(1));
            self.wire.pass(at, 1);
            return [self.control_arrived(self.held), None];
        }
        if self.served_at() == Some(at) {
            let control = self.serve(at);
            return [control, self.choke()];
        }
        self.sync(at);
        [self.choke(), None]
    }

    /// Stops the sender if the receiver holds too much.
    fn choke(&mut self) -> Option<FlowSignal> {
        let too_much = self.held >= self.spec.high && self.spec.flow != FlowControl::None;
        (too_much && !self.choked).then(|| {
            self.choked = true;
            FlowSignal::Level { go: false }
        })
    }

    fn obey(&mut self, at: u64, go: bool) {
        if go == self.allowed {
            return;
        }
        self.allowed = go;
        if self.listened {
            self.obeyed.push((at, go));
        }
        if go {
            self.stopped_ns += at - self.stopped_at;
            self.commit(at);
        } else {
            self.stops += 1;
            self.stopped_at = at;
            self.retract(at);
        }
    }

    /// Takes the XON or XOFF at this place out of the line.
    fn control_arrived(&mut self, place: usize) -> Option<FlowSignal> {
        let byte = self.bytes.remove(place)?;
        self.controls.pop_front();
        self.controls.iter_mut().for_each(|control| *control -= 1);
        self.control(byte).map(|go| FlowSignal::Control { go })
    }

    /// The interrupt is served: the FIFO is emptied into the driver's buffer.
    fn serve(&mut self, at: u64) -> Option<FlowSignal> {
        self.sync(at);
        let mut word = None;
        let mut moved = std::mem::take(&mut self.fifo);
        while let Some(place) = self.controls.front().map(|index| (index - self.first) as usize)
            && place < self.held + moved
        {
            // Of several in one FIFO the last one counts.
            word = self.control_arrived(place);
            moved -= 1;
        }
        self.hold(at, moved);
        word
    }

    /// Takes note of what has arrived by `now`.
    pub(crate) fn sync(&mut self, now: u64) {
        if self.wire.len() == 0 {
            return;
        }
        let Some(next) = self.wire.next().filter(|next| *next <= now) else { return };
        let count = self.wire.pass(now, u64::MAX) as usize;
        if self.spec.latency == 0 {
            self.hold(next, count);
            return;
        }
        if self.fifo == 0 {
            self.service_at = next.saturating_add(self.spec.latency);
        }
        let room = self.spec.fifo - self.fifo;
        self.fifo += count.min(room);
        self.lose(self.held + self.fifo, count.saturating_sub(room));
    }

    /// The driver's buffer takes this many more characters, after those that it holds.
    fn hold(&mut self, since: u64, count: usize) {
        if self.held == 0 {
            self.held_since = since;
        }
        let room = self.spec.rx_buffer - self.held;
        self.held += count.min(room);
        self.lose(self.held, count.saturating_sub(room));
    }

    /// Characters lost because the buffer was full.
    fn lose(&mut self, place: usize, count: usize) {
        if count == 0 {
            return;
        }
        self.lost += count as u64;
        self.bytes.drain(place..place + count);
        let index = self.first + place as u64;
        let end = index + count as u64;
        self.controls.retain(|control| !(index..end).contains(control));
        for control in self.controls.iter_mut().filter(|control| **control >= end) {
            *control -= count as u64;
        }
    }

    /// How long the sender has been stopped by `now`, and how often.
    pub(crate) fn stop(&self, now: u64) -> Stop {
        let open = if self.allowed { 0 } else { now.saturating_sub(self.stopped_at) };
        Stop { count: self.stops, ns: self.stopped_ns + open }
    }
}
