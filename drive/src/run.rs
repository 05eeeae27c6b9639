//! The loop that runs an engine.
//!
//! A turn: answer the engine's requests until there are none, move its output to the port, read the port into
//! it (keeping what it does not accept), run its timers, report its events; when nothing moved, wait in `poll`
//! for the port, the deadline or a signal.
//!
//! Writes are tried before polling, and a short read is not repeated before `poll` says so: a busy line costs
//! one system call per block moved. Nothing is allocated while the loop runs, except once for longer reads.
//!
//! With a peer on the same machine that answers every block within microseconds the loop does not sleep at
//! once: waking a processor takes longer than the answer (see `SPIN`).

mod options;
mod waiting;

pub use options::{Ended, NoWatch, RunOptions, Watch};

use crate::port::Port;
use crate::signals::Signals;
use std::io;
use std::time::Duration;
use wetstring_lab::compressor::Compressor;
use wetstring_proto::engine::{
    Blame, Command, Cx, Engine, Failure, FailureKind, Outcome, Status, Wants,
};
use wetstring_proto::file::{Request, Store};
use wetstring_proto::time::Instant;

/// Bytes per read until one has filled the buffer: a peer that sends little takes little memory.
const FIRST_READ_LEN: usize = 4 * 1024;
/// Bytes written before the other direction is served.
const WRITE_TURN: usize = 256 * 1024;
/// Requests answered before the rest of the loop runs.
const REQUEST_TURN: usize = 1024;
/// Time for requests before what has become ready is sent: the peer works meanwhile.
const REQUEST_TIME: Duration = Duration::from_micros(500);
/// How long to poll repeatedly for the answer to written data before sleeping, on a line whose last answers all
/// arrived within this time. Peers of XMODEM and YMODEM answer every block: with sleeping, each answer costs
/// tens of microseconds more on an idle or virtual processor.
const SPIN: Duration = Duration::from_micros(100);
/// Maximum bytes of one read from a Linux terminal; then there may be more.
const TERMINAL_READ: usize = 4095;

/// A raw terminal's byte for Ctrl-C.
const CTRL_C: u8 = 3;
/// Silence before a typed Ctrl-C: no line is silent for this long within a packet.
const BEFORE_CTRL_C: Duration = Duration::from_secs(2);

const CLOSED: Outcome = Outcome::Failed(Failure { blame: Blame::Line, kind: FailureKind::Closed });
const SILENT: Outcome = Outcome::Failed(Failure { blame: Blame::Line, kind: FailureKind::Silence });
const ABORTED: Outcome =
    Outcome::Failed(Failure { blame: Blame::Local, kind: FailureKind::Aborted });

/// Runs `engine` until it ends, the port closes, or a second signal arrives.
///
/// When it returns, every request of the engine has been answered, and a file left open by a failure has been
/// closed as incomplete.
pub fn run(
    engine: &mut dyn Engine,
    port: &mut dyn Port,
    store: &mut dyn Store,
    watch: &mut dyn Watch,
    options: RunOptions<'_>,
) -> Ended {
    let start = options.clock.now();
    let linger = options.linger.unwrap_or(port.facts().reliable != Some(true));
    let mut input = vec![0; FIRST_READ_LEN.max(options.before.len())];
    input[..options.before.len()].copy_from_slice(options.before);
    let mut turning = Turning {
        fed: 0,
        filled: options.before.len(),
        input,
        is_behind: false,
        now: start,
        asked_from: start,
        next_progress: start + options.progress_every,
        input_ready: true,
        output_ready: true,
        hears: true,
        speaks: true,
        broken_since: None,
        ending_since: None,
        stirred: start,
        started: start,
        abort_by: None,
        signals_seen: 0,
        typed_interrupt: false,
        heard: None,
        error: None,
        linger,
        wrote: false,
        quick_answers: 0,
        // With one processor the peer could not answer while we poll.
        may_spin: std::thread::available_parallelism().is_ok_and(|n| n.get() > 1),
        engine,
        port,
        store,
        compressor: Compressor::new(),
        watch,
        options,
    };
    let outcome = turning.until_over();
    turning.settle(outcome);
    Ended {
        outcome,
        stats: *turning.engine.stats(),
        leftover: turning.input[turning.fed..turning.filled].to_vec(),
        elapsed: turning.options.clock.now().since(start),
        interrupted: turning.interrupted(),
        error: turning.error,
    }
}

struct Turning<'a, 'o> {
    engine: &'a mut dyn Engine,
    port: &'a mut dyn Port,
    store: &'a mut dyn Store,
    compressor: Compressor,
    watch: &'a mut dyn Watch,
    options: RunOptions<'o>,
    /// Bytes `fed..filled` have been read and not yet accepted by the engine.
    input: Vec<u8>,
    fed: usize,
    filled: usize,
    /// Input that came in time is not fed yet: its answers stop no timer.
    is_behind: bool,
    now: Instant,
    /// When the clock was last looked at for another reason than a request: since then requests have taken their time.
    asked_from: Instant,
    next_progress: Instant,
    /// The port may be readable.
    input_ready: bool,
    /// The port may be writable.
    output_ready: bool,
    /// The peer has not closed.
    hears: bool,
    /// Writes have not failed.
    speaks: bool,
    /// When one direction failed.
    broken_since: Option<Instant>,
    /// When the outcome was first seen fixed.
    ending_since: Option<Instant>,
    /// When the time for an abort ends.
    abort_by: Option<Instant>,
    /// When a byte was last sent or received.
    stirred: Instant,
    started: Instant,
    signals_seen: usize,
    /// The user has typed Ctrl-C on the line.
    typed_interrupt: bool,
    /// When a byte was last received.
    heard: Option<Instant>,
    error: Option<io::Error>,
    linger: bool,
    /// Something was written since the last wait.
    wrote: bool,
    /// Consecutive waits answered within [`SPIN`].
    quick_answers: u32,
    may_spin: bool,
}

impl Turning<'_, '_> {
    fn until_over(&mut self) -> Outcome {
        // What came before is heard before anything is sent: a receiver's NAK asks for the packet that leaves first.
        self.look_at_the_clock();
        self.answer();
        self.feed();
        loop {
            self.look_at_the_clock();
            let mut moved = self.exchange();
            moved |= self.read();
            if !self.is_behind {
                moved |= self.tick();
            }
            moved |= self.events();
            moved |= self.user_commands();
            if let Some(outcome) = self.over(moved) {
                return outcome;
            }
            if !moved {
                self.wait();
            }
        }
    }

    fn look_at_the_clock(&mut self) {
        self.now = self.options.clock.now();
        self.asked_from = self.now;
    }

    /// Requests and output, until there are none or the rest of the loop must run.
    fn exchange(&mut self) -> bool {
        let mut moved = false;
        let mut written = 0;
        loop {
            moved |= self.answer();
            if !(self.output_ready && self.speaks) {
                return moved;
            }
            if self.port.held() {
                if let Err(error) = self.port.flush() {
                    self.speaks = false;
                    self.broke(Some(error));
                    continue;
                }
                self.output_ready = !self.port.held();
                continue;
            }
            let mut cx = Cx { now: self.now, trace: &mut *self.options.trace };
            let bytes = self.engine.transmit(&mut cx);
            let len = bytes.len();
            if len == 0 {
                // Output that the engine has just found necessary must not wait for a timer.
                return self.answer() || moved;
            }
            match self.port.write(bytes) {
                Ok(Some(taken)) => {
                    self.look_at_the_clock();
                    let mut cx = Cx { now: self.now, trace: &mut *self.options.trace };
                    self.engine.transmitted(&mut cx, taken);
                    moved |= taken > 0;
                    self.wrote |= taken > 0;
                    if taken > 0 {
                        self.stirred = self.now;
                    }
                    self.output_ready = taken == len;
                    written += taken;
                }
                Ok(None) => self.output_ready = false,
                Err(error) => {
                    self.speaks = false;
                    self.broke(Some(error));
                }
            }
            if written >= WRITE_TURN {
                // The port accepts all we have: check for input without polling.
                self.input_ready = true;
                return moved;
            }
        }
    }

    fn answer(&mut self) -> bool {
        for answered in 0..REQUEST_TURN {
            // The next file's name would replace the one that these events are about.
            if self.engine.wants().contains(Wants::USER) {
                self.events();
            }
            let Some(request) = self.engine.request() else { return answered > 0 };
            let reply = match self.compressor.answer(request) {
                Ok(reply) => reply,
                Err(request) => self.store.answer(request),
            };
            // A slow disk is no silence of the peer.
            self.now = self.options.clock.now();
            let mut cx = Cx { now: self.now, trace: &mut *self.options.trace };
            self.engine.reply(&mut cx, reply);
            if self.is_late() {
                break;
            }
        }
        true
    }

    /// Whether this turn has taken its time for requests.
    fn is_late(&self) -> bool {
        self.now.since(self.asked_from) >= REQUEST_TIME
    }

    /// The data just read is a Ctrl-C that no protocol can have sent. A slow line delivers packets byte by byte: in
    /// one, others have just come.
    fn is_typed_interrupt(&self) -> bool {
        let stats = self.engine.stats();
        self.options.typed
            && self.input[..self.filled] == [CTRL_C]
            && self.heard.is_none_or(|heard| self.now.since(heard) >= BEFORE_CTRL_C)
            && stats.packets_in == 0
            && stats.file_bytes == 0
    }

    /// The signal that ended it, if any.
    fn interrupted(&self) -> Option<i32> {
        if self.signals_seen > 0 {
            return self.options.signals.and_then(Signals::last);
        }
        self.typed_interrupt.then_some(crate::os::process::INT)
    }

    /// Feeds pending input, and reads more once all of it was accepted.
    fn read(&mut self) -> bool {
        let mut moved = self.feed();
        if self.fed < self.filled || !self.input_ready || !self.hears || self.ended() {
            return moved;
        }
        match self.port.read(&mut self.input) {
            Ok(Some(0)) => {
                self.hears = false;
                self.broke(None);
            }
            Ok(Some(len)) => {
                self.fed = 0;
                self.filled = len;
                // A short read has emptied the port: poll before the next.
                self.input_ready = len == self.input.len() || len == TERMINAL_READ;
                let fills = len == self.input.len() && len < self.options.read_len;
                self.look_at_the_clock();
                self.stirred = self.now;
                moved = true;
                if self.is_typed_interrupt() {
                    self.fed = len;
                    self.typed_interrupt = true;
                    self.command(Command::Abort);
                }
                self.heard = Some(self.now);
                self.feed();
                if fills {
                    self.input.resize(self.options.read_len, 0);
                }
            }
            Ok(None) => self.input_ready = false,
            Err(error) => {
                self.hears = false;
                self.broke(Some(error));
            }
        }
        moved
    }

    /// Feeds pending input to the engine; answers its requests in between, as it often waits for them.
    fn feed(&mut self) -> bool {
        let mut moved = false;
        self.is_behind = false;
        while self.fed < self.filled && !self.ended() {
            let mut cx = Cx { now: self.now, trace: &mut *self.options.trace };
            let taken = self.engine.receive(&mut cx, &self.input[self.fed..self.filled]);
            self.fed += taken.min(self.filled - self.fed);
            let answered = self.answer();
            moved |= taken > 0 || answered;
            if taken == 0 && !answered {
                break;
            }
            if answered && self.is_late() {
                self.is_behind = true;
                break;
            }
        }
        moved
    }

    /// Whether the engine must get no more bytes: what follows is not for it.
    fn ended(&self) -> bool {
        match self.engine.status() {
            Status::Running => false,
            Status::Lingering(_) => !self.linger,
            Status::Over(_) => true,
        }
    }

    fn tick(&mut self) -> bool {
        let before = self.engine.deadline();
        if before.is_none_or(|deadline| deadline > self.now) {
            return false;
        }
        let mut cx = Cx { now: self.now, trace: &mut *self.options.trace };
        self.engine.tick(&mut cx);
        self.engine.deadline() != before
    }

    fn events(&mut self) -> bool {
        let mut moved = false;
        loop {
            let stats = *self.engine.stats();
            let Some(event) = self.engine.event() else { return moved };
            self.watch.event(&event, &stats);
            moved = true;
        }
    }

    /// Signals, progress and commands.
    fn user_commands(&mut self) -> bool {
        let mut moved = false;
        let came = self.options.signals.map_or(0, Signals::count);
        if came > self.signals_seen {
            if self.signals_seen == 0 {
                self.command(Command::Abort);
                moved = true;
            }
            self.signals_seen = came;
            self.options.signals.inspect(|signals| signals.noticed());
        }
        if self.now >= self.next_progress {
            self.next_progress = self.now + self.options.progress_every;
            while let Some(text) = self.port.news() {
                self.watch.news(&text);
            }
            self.watch.port(self.port.unsent(), self.port.asks());
            self.watch.progress(self.engine.stats());
            moved |= self.ask_person();
        }
        moved
    }

    fn ask_person(&mut self) -> bool {
        let Some(command) = self.watch.command() else { return false };
        self.command(command);
        true
    }

    fn command(&mut self, command: Command) {
        if command == Command::Abort && self.abort_by.is_none() {
            self.abort_by = Some(self.now + self.options.grace);
        }
        let mut cx = Cx { now: self.now, trace: &mut *self.options.trace };
        self.engine.command(&mut cx, command);
    }

    fn broke(&mut self, error: Option<io::Error>) {
        self.broken_since.get_or_insert(self.now);
        if let Some(error) = error {
            self.error.get_or_insert(error);
        }
    }

    /// Whether the run is over, and its result.
    fn over(&mut self, moved: bool) -> Option<Outcome> {
        let outcome = self.engine.status().outcome();
        if self.signals_seen >= 2 || self.abort_by.is_some_and(|by| self.now >= by) {
            return Some(outcome.unwrap_or(ABORTED));
        }
        if self.expires().is_some_and(|at| self.now >= at) {
            return Some(outcome.unwrap_or(SILENT));
        }
        if moved {
            return None;
        }
        let patient = |since: Instant, now: Instant| now.since(since) < self.options.grace;
        if let Some(since) = self.broken_since {
            // All input has been fed. Output that can still be sent may complete the engine; on a line that
            // only receives the peer's last packet may still arrive.
            let leaving = self.speaks && !self.output_ready;
            let worth_waiting = self.hears || leaving;
            if !worth_waiting || !patient(since, self.now) {
                return Some(self.engine.if_closed().unwrap_or(CLOSED));
            }
        }
        if outcome.is_some() && self.ended() {
            let since = *self.ending_since.get_or_insert(self.now);
            let mut cx = Cx { now: self.now, trace: &mut *self.options.trace };
            // Output held by the port is part of the end.
            let held = self.speaks && self.port.held();
            let silent = self.engine.transmit(&mut cx).is_empty() && !held;
            if silent || !self.speaks || !patient(since, self.now) {
                return outcome;
            }
        }
        None
    }

    /// Leaves the store in a clean state, and reports the remaining events.
    fn settle(&mut self, outcome: Outcome) {
        self.look_at_the_clock();
        if self.engine.status() == Status::Running {
            let mut cx = Cx { now: self.now, trace: &mut *self.options.trace };
            self.engine.command(&mut cx, Command::Abort);
        }
        for _ in 0..REQUEST_TURN {
            if !self.answer() {
                break;
            }
        }
        if outcome != Outcome::Done {
            // The engine did not close it, or believes it did. Closing twice is harmless.
            let _ = self.store.answer(Request::Close { complete: false, verified: false });
        }
        self.events();
    }
}
