//! What sender and receiver have in common: the output queue, counters, how it ends and
//! events for the user.

use super::config::Config;
use super::escape::Escaper;
use super::frame::{BadFrame, FrameReader};
use super::meter::Meter;
use super::pace::Pace;
use super::packet::{CANCEL, Header, MAX_HEADER, letter};
use super::timing::QueryTimeout;
use crate::engine::{Cx, Outcome};
use crate::line::line_time;
use crate::session::{
    Ending, EventQueue, EventTexts, InputTrace, Outbox, Port, QueuedEvent, Text, Timer, Timers,
    WaitTrace,
};
use crate::stats::Stats;
use crate::time::{Duration, Instant};
use crate::trace::{Load, TraceEvent};

/// The length of an answer: a header, in hex.
const ANSWER: usize = 24;

/// Noise in place of a header after which no header is expected any longer: several of the longest.
const MISSED: u64 = 4 * MAX_HEADER as u64;

/// No port buffers more. One that seems to is on a line faster than announced.
const DEEPEST_PORT: usize = 256 * 1024;

/// The queue towards the port, with pauses in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Output {
    out: Outbox,
    /// Position in the stream at which to pause, and for how long.
    pause: Option<(u64, Duration)>,
    /// The port gets at most what the line carries.
    pace: Option<Pace>,
}

impl Output {
    pub(crate) fn pending(&self) -> usize {
        self.out.pending()
    }

    /// Bytes the port has taken.
    pub(crate) fn taken(&self) -> u64 {
        self.out.taken
    }

    /// Stream position after all queued bytes.
    pub(crate) fn position(&self) -> u64 {
        self.out.position()
    }

    /// Bytes to lend now: up to the next pause.
    fn ready(&self, timers: &Timers, now: Instant) -> usize {
        if timers.get(Timer::Pause).is_some_and(|until| now < until) {
            return 0;
        }
        let room = self.pace.map_or(usize::MAX, |pace| pace.room(now));
        match self.pause {
            Some((at, _)) => room.min(self.pending()).min((at - self.out.taken) as usize),
            None => room.min(self.pending()),
        }
    }

    /// The port took `len` bytes. Returns how many were really queued.
    fn take(&mut self, timers: &mut Timers, len: usize, now: Instant) -> usize {
        let len = self.out.take(len.min(self.ready(timers, now)));
        if let Some((at, pause)) = self.pause
            && self.out.taken == at
        {
            self.pause = None;
            timers.set(Timer::Pause, now + pause);
        }
        if let Some(more) = self.pace.as_mut().and_then(|pace| pace.took(now, len)) {
            let until = timers.get(Timer::Pause).map_or(more, |until| until.max(more));
            timers.set(Timer::Pause, until);
        }
        self.out.reuse();
        len
    }

    /// Room of at least `want` bytes after what is queued. Little data is moved to the front for that;
    /// much has to leave first.
    pub(crate) fn room<'a>(&mut self, out: &'a mut [u8], want: usize) -> Option<&'a mut [u8]> {
        if self.out.room_len(out) < want && self.pending() <= out.len() / 4 {
            self.out.move_to_front(out, 0);
        }
        let room = self.out.room(out);
        (room.len() >= want).then_some(room)
    }

    pub(crate) fn push(&mut self, len: usize) {
        self.out.push(len);
    }

    /// Drops everything that has not left; returns how much that was.
    pub(crate) fn drop_unsent(&mut self) -> usize {
        self.pause = None;
        self.out.clear()
    }
}

/// A packet that needs an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Query {
    /// Position in the stream after it.
    pub(crate) ends_at: u64,
    /// When the port took its last byte.
    pub(crate) left: Option<Instant>,
    /// When that byte has crossed the line, after all that the port held; if the rate of the
    /// line is known.
    pub(crate) through: Instant,
    /// How often it was sent.
    pub(crate) copies: u32,
    /// When it was first sent: queued, then through the line.
    pub(crate) since: Instant,
}

/// The common part of both engines.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) config: Config,
    pub(crate) reader: FrameReader,
    pub(crate) output: Output,
    pub(crate) escaper: Escaper,
    pub(crate) stats: Stats,
    pub(crate) notes: EventQueue,
    message: Text<160>,
    pub(crate) agreement: Text<160>,
    pub(crate) ending: Ending,
    pub(crate) timers: Timers,
    pub(crate) port: Port,
    /// When the last usable frame came.
    pub(crate) spoke: Instant,
    /// How many bytes had been noise then.
    noise_then: u64,
    /// When the line has transmitted all that the port took, if its rate is known.
    through: Instant,
    meter: Meter,
    /// The packet that the peer has to answer.
    pub(crate) question: Option<Query>,
    pub(crate) timing: QueryTimeout,
    /// The traced cause of waiting.
    pub(crate) waits: WaitTrace,
    /// The trace of received bytes.
    pub(crate) comings: InputTrace,
}

impl Link {
    pub(crate) fn new(config: Config, first_wait: Duration) -> Self {
        let ceiling = config.timeout.get();
        Self {
            question: None,
            timing: QueryTimeout::new(first_wait, ceiling),
            reader: FrameReader::new(config.dropping()),
            output: Output::default(),
            escaper: Escaper::new(config.escape),
            stats: Stats::default(),
            notes: EventQueue::new(),
            message: Text::new(),
            agreement: Text::new(),
            ending: Ending::No,
            timers: Timers::default(),
            port: Port::default(),
            spoke: Instant::ZERO,
            noise_then: 0,
            through: Instant::ZERO,
            meter: Meter::default(),
            waits: WaitTrace::default(),
            comings: InputTrace::default(),
            config,
        }
    }

    /// Unexplained silence ends the transfer after this.
    pub(crate) fn patience(&self) -> Duration {
        self.config.patience.get()
    }

    /// Queues a header. False if there is no room: the port has stalled.
    pub(crate) fn say(&mut self, cx: &mut Cx<'_>, out: &mut [u8], header: &Header) -> bool {
        let mut bytes = [0; MAX_HEADER];
        let len = header.put(&mut self.escaper, &mut bytes);
        let said = self.say_bytes(cx, out, &bytes[..len]);
        if said {
            self.stats.packets_out += 1;
            let load = Load { at: self.output.position() - len as u64, ..Load::default() };
            trace_sent(cx, letter(header.kind), u64::from(header.number()), len, load);
        }
        said
    }

    /// Queues raw bytes.
    pub(crate) fn say_bytes(&mut self, cx: &Cx<'_>, out: &mut [u8], bytes: &[u8]) -> bool {
        let Some(room) = self.output.room(out, bytes.len()) else { return false };
        room[..bytes.len()].copy_from_slice(bytes);
        self.queued(cx, bytes.len());
        true
    }

    /// This many bytes were put into the room of the queue.
    pub(crate) fn queued(&mut self, cx: &Cx<'_>, len: usize) {
        self.port.given(cx.now, self.output.pending());
        self.output.push(len);
    }

    /// The expected header was damaged: this many bytes since the last frame formed no header.
    pub(crate) fn missed_header(&self) -> bool {
        !self.reader.in_data() && self.reader.noise_bytes() - self.noise_then > MISSED
    }

    /// Sends a cancel to the peer.
    pub(crate) fn say_cancel(&mut self, cx: &Cx<'_>, out: &mut [u8]) {
        self.say_bytes(cx, out, CANCEL);
    }

    pub(crate) fn lend<'a>(&self, out: &'a [u8], now: Instant) -> &'a [u8] {
        &self.output.out.lend(out)[..self.output.ready(&self.timers, now)]
    }

    /// Inserts a pause after the queued bytes.
    pub(crate) fn pause(&mut self, now: Instant, pause: Duration) {
        if self.output.pending() == 0 {
            self.timers.set(Timer::Pause, now + pause);
        } else if self.output.pause.is_none() {
            self.output.pause = Some((self.output.position(), pause));
        }
    }

    /// Whether the port has enough for now.
    pub(crate) fn saturated(&self) -> bool {
        self.output.pending() >= self.config.output_chunk()
    }

    /// Drops everything of the stream that the port has not taken; returns how much that was.
    pub(crate) fn withdraw(&mut self) -> usize {
        self.meter.withdrawn();
        self.output.drop_unsent()
    }

    /// A loss: from now on the port gets its bytes only as fast as the line carries them, which may be slower than the
    /// port states.
    pub(crate) fn pace(&mut self, now: Instant) {
        let rate_bps = &mut self.config.line.rate_bps;
        if let Some((found_bps, held)) = self.meter.overstated(*rate_bps, now, self.output.taken())
        {
            *rate_bps = found_bps;
            let held = usize::try_from(held).unwrap_or(usize::MAX);
            self.through = now + line_time(found_bps, held);
            self.output.pace = None;
        }
        // A port that gets nothing for longer would be taken for one that takes nothing.
        let longest = now + self.config.patience.get() / 2;
        self.output.pace.get_or_insert(Pace::new(*rate_bps, self.through.min(longest)));
    }

    /// The port took bytes.
    pub(crate) fn sent(&mut self, cx: &mut Cx<'_>, len: usize) {
        let len = self.output.take(&mut self.timers, len, cx.now);
        self.stats.wire_out_bytes += len as u64;
        if len > 0 {
            let waits = self.output.ready(&self.timers, cx.now) > 0;
            let taken = self.output.taken();
            self.meter.took(cx.now, taken - len as u64, taken, waits);
            let rate_bps = self.config.line.rate_bps;
            let through = self.through.max(cx.now) + line_time(rate_bps, len);
            self.through = through.min(cx.now + line_time(rate_bps, DEEPEST_PORT));
            self.port.took(cx, self.stats.wire_out_bytes, self.output.pending());
        }
        if let Some(question) = &mut self.question
            && question.left.is_none()
            && question.ends_at <= self.output.taken()
        {
            question.left = Some(cx.now);
            question.through = self.through.max(cx.now);
            if question.copies == 1 {
                question.since = question.through;
            }
        }
    }

    /// Shorter than any answer takes to a packet that has arrived.
    pub(crate) fn soonest(&self) -> Duration {
        self.timing.soonest().max(line_time(self.config.line.rate_bps, ANSWER) / 4 * 3)
    }

    /// When what the port has taken will have crossed the line, or somewhat sooner: rates are not exact.
    pub(crate) fn arrival(&self, now: Instant) -> Instant {
        let held = self.through.max(now) - now;
        now + held / 4 * 3
    }

    /// The last queued packet needs an answer.
    pub(crate) fn expect_answer(&mut self, now: Instant, again: bool) {
        let before = self.question.filter(|_| again);
        let through = self.through.max(now);
        self.question = Some(Query {
            ends_at: self.output.position(),
            left: (self.output.pending() == 0).then_some(now),
            through,
            copies: before.map_or(0, |question| question.copies) + 1,
            since: before.map_or(through, |question| question.since),
        });
    }

    /// The answer came.
    pub(crate) fn answered(&mut self, now: Instant) {
        match self.question.take() {
            // What the port held before it is not part of the RTT.
            Some(Query { left: Some(left), through, copies: 1, .. }) => {
                self.timing.sample(now - if through < now { through } else { left });
            }
            _ => self.timing.answered(),
        }
        // All that was sent until then has arrived, regardless of the estimate.
        self.through = self.through.min(now);
    }

    /// Whether input now cannot be an answer to the last packet.
    pub(crate) fn too_soon(&self, now: Instant) -> bool {
        self.question.is_some_and(|question| match question.left {
            Some(left) => now - left < self.timing.soonest(),
            None => true,
        })
    }

    /// Whether the retry limit is reached without a usable answer.
    pub(crate) fn asked_enough(&self) -> bool {
        self.question.is_some_and(|question| question.copies > u32::from(self.config.retries))
    }

    /// Whether the last query left less than a second, or an RTT, ago.
    pub(crate) fn said_lately(&self, now: Instant) -> bool {
        self.question.is_some_and(|question| match question.left {
            Some(left) => now - left < self.timing.soonest().max(Duration::from_secs(1)),
            None => true,
        })
    }

    /// When the answer is overdue. What has not left yet is covered by the port's own
    /// limit.
    pub(crate) fn overdue(&self) -> Option<Instant> {
        let question = self.question?;
        let answer = line_time(self.config.line.rate_bps, ANSWER);
        Some(question.left?.max(question.through) + answer + self.timing.wait())
    }

    /// The port has stalled for too long.
    pub(crate) fn stalled_at(&self) -> Option<Instant> {
        self.port.stalled_at(self.output.pending(), self.patience())
    }

    /// Starts to end. The first reason counts.
    pub(crate) fn end(&mut self, cx: &mut Cx<'_>, outcome: Outcome) {
        if self.ending.begin(cx, outcome) {
            self.port.moved = cx.now;
        }
    }

    /// The last packets have left, or never will.
    pub(crate) fn last_packets_are_out(&self, now: Instant) -> bool {
        self.port.last_packets_are_out(now, self.output.pending())
    }

    /// All is sent; lingers this long for what may still come.
    pub(crate) fn linger(&mut self, cx: &Cx<'_>, outcome: Outcome, stay: Duration) {
        self.ending.linger(&mut self.timers, cx.now, outcome, stay);
    }

    pub(crate) fn ending_deadline(&self) -> Option<Instant> {
        self.ending.deadline(&self.timers, self.port.last_packets_until())
    }

    /// Counts a good frame from the peer, with `len` bytes of decoded data, of which `data` are
    /// the file's.
    pub(crate) fn heard(
        &mut self,
        cx: &mut Cx<'_>,
        kind: char,
        number: u64,
        len: usize,
        data: usize,
    ) {
        self.stats.packets_in += 1;
        self.spoke = cx.now;
        self.noise_then = self.reader.noise_bytes();
        if cx.trace.enabled() {
            let at = self.stats.wire_in_bytes;
            cx.trace.record(cx.now, &TraceEvent::Got { kind, number, len, data, at });
        }
    }

    /// Counts a frame that cannot be used.
    pub(crate) fn damaged(&mut self, cx: &mut Cx<'_>, why: BadFrame, len: usize) {
        self.stats.damaged += 1;
        cx.trace.record(cx.now, &TraceEvent::Damaged { why: why.as_str(), len });
    }

    /// A text message from the peer.
    pub(crate) fn take_message(&mut self, text: &[u8]) {
        self.message.set(text);
        self.notes.push(QueuedEvent::Message);
    }

    /// The texts that queued events refer to.
    pub(crate) fn event_texts(&self) -> EventTexts<'_> {
        let (agreement, message) = (self.agreement.as_str(), self.message.as_bytes());
        EventTexts { agreement, message, ..EventTexts::default() }
    }
}

/// Traces a header or subpacket that was queued.
pub(crate) fn trace_sent(cx: &mut Cx<'_>, kind: char, number: u64, len: usize, load: Load) {
    if cx.trace.enabled() {
        let event = TraceEvent::Sent { kind, number, len, again: load.why.is_some().into(), load };
        cx.trace.record(cx.now, &event);
    }
}
