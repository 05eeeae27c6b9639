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

use crate::clock::Clock;
use crate::port::Port;
use crate::signals::Signals;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;
use wetstring_proto::engine::{
    Blame, Command, Cx, Engine, Event, Failure, FailureKind, Outcome, Status, Wants,
};
use wetstring_proto::file::{Remote, Request, Store};
use wetstring_proto::stats::Stats;
use wetstring_proto::time::Instant;
use wetstring_proto::trace::Trace;

/// Observes events, and returns the user's commands.
pub trait Watch {
    /// An event.
    fn event(&mut self, event: &Event<'_>, stats: &Stats) {
        let _ = (event, stats);
    }
    /// Progress; called at most every [`RunOptions::progress_every`].
    fn progress(&mut self, stats: &Stats) {
        let _ = stats;
    }
    /// Bytes that were written and have not left the port, as far as is known, and whether its other side asks
    /// the user something. Called before each [`Watch::progress`].
    fn port(&mut self, unsent_bytes: u64, asks: bool) {
        let _ = (unsent_bytes, asks);
    }
    /// The user's command, if any. Called at every progress and whenever [`Watch::wake`] is ready.
    fn command(&mut self) -> Option<Command> {
        None
    }
    /// A descriptor that becomes readable when [`Watch::command`] has something, such as the keyboard.
    /// [`Watch::command`] must then read it, or it stays ready.
    fn wake(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// Ignores events, has no commands.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoWatch;

impl Watch for NoWatch {}

/// Options of the loop.
pub struct RunOptions<'a> {
    /// Receives the engine's trace. `NoTrace` costs nothing.
    pub trace: &'a mut dyn Trace,
    /// Ctrl-C and the like: the first aborts the engine cleanly, the second ends at once.
    pub signals: Option<&'a Signals>,
    /// Minimum time between two calls of [`Watch::progress`]. Default 100 ms.
    pub progress_every: Duration,
    /// Time limit for the end: after an abort, to tell the peer; after the line has failed in one direction, to
    /// receive the rest. Default 1 s.
    pub grace: Duration,
    /// The clock; its zero is the trace's zero.
    pub clock: Clock,
    /// Bytes received before the engine was created (protocol detection, the previous engine's
    /// [`Ended::leftover`]); the engine gets them first.
    pub before: &'a [u8],
    /// How long to continue after the outcome is fixed, to retransmit a lost last acknowledgement: `None` lets
    /// the port decide (zero where it is reliable).
    pub linger: Option<bool>,
    /// Timeout after which a silent line is given up. `None` leaves that to the engine.
    pub silence: Option<Duration>,
    /// Time limit of the run.
    pub longest: Option<Duration>,
    /// Remaining time, if limited: it is read repeatedly, and may change. Whoever shortens it raises a signal,
    /// so that it is noticed.
    pub left: Option<&'a dyn Fn() -> Option<Duration>>,
    /// Maximum bytes per read. Default 256 KiB.
    pub read_len: usize,
    /// The line is a terminal at which a user may sit: a single Ctrl-C, before the peer has sent anything, is
    /// theirs. It acts like the signal, which a raw terminal does not send.
    pub typed: bool,
}

impl<'a> RunOptions<'a> {
    /// The defaults, with this trace.
    pub fn new(trace: &'a mut dyn Trace) -> Self {
        Self {
            trace,
            signals: None,
            progress_every: Duration::from_millis(100),
            grace: Duration::from_secs(1),
            clock: Clock::start(),
            before: &[],
            linger: None,
            silence: None,
            longest: None,
            left: None,
            read_len: READ_LEN,
            typed: false,
        }
    }
}

/// The result of a run.
#[derive(Debug)]
pub struct Ended {
    /// The engine's outcome, or the line's failure if the engine had none.
    pub outcome: Outcome,
    /// The engine's final statistics.
    pub stats: Stats,
    /// Bytes read from the port that the engine did not accept: they belong to the next protocol or to the
    /// shell's prompt.
    pub leftover: Vec<u8>,
    /// Duration.
    pub elapsed: Duration,
    /// The signal that ended it, if any.
    pub interrupted: Option<i32>,
    /// The system error of the port, if it failed.
    pub error: Option<io::Error>,
}

/// Bytes per read: at least half the receive window of a fast TCP connection, as the streaming draft advises.
const READ_LEN: usize = 256 * 1024;
/// Bytes per read until one has filled the buffer: a peer that sends little takes little memory.
const FIRST_READ_LEN: usize = 4 * 1024;
/// Bytes written before the other direction is served.
const WRITE_TURN: usize = 256 * 1024;
/// Requests answered before the rest of the loop runs.
const REQUEST_TURN: usize = 1024;
/// How long to poll repeatedly for the answer to written data before sleeping, on a line whose last answers all
/// arrived within this time. Peers of XMODEM and YMODEM answer every block: with sleeping, each answer costs
/// tens of microseconds more on an idle or virtual processor.
const SPIN: Duration = Duration::from_micros(100);
/// This many quick answers in a row enable it.
const QUICK_ANSWERS: u32 = 8;
/// Maximum bytes of one read from a Linux terminal; then there may be more.
const TERMINAL_READ: usize = 4095;
/// A deadline in the past must not make the loop spin.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);

/// A raw terminal's byte for Ctrl-C.
const CTRL_C: u8 = 3;

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
        now: start,
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
        error: None,
        linger,
        wrote: false,
        quick_answers: 0,
        // With one processor the peer could not answer while we poll.
        may_spin: std::thread::available_parallelism().is_ok_and(|n| n.get() > 1),
        engine,
        port,
        store,
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
    watch: &'a mut dyn Watch,
    options: RunOptions<'o>,
    /// Bytes `fed..filled` have been read and not yet accepted by the engine.
    input: Vec<u8>,
    fed: usize,
    filled: usize,
    now: Instant,
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
        loop {
            self.now = self.options.clock.now();
            let mut moved = self.exchange();
            moved |= self.read();
            moved |= self.tick();
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
                    self.now = self.options.clock.now();
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
            let takes_its_time = matches!(request, Request::Remote(Remote::Run { .. }));
            let reply = self.store.answer(request);
            if takes_its_time {
                self.now = self.options.clock.now();
            }
            let mut cx = Cx { now: self.now, trace: &mut *self.options.trace };
            self.engine.reply(&mut cx, reply);
        }
        true
    }

    /// The data just read is a Ctrl-C that no protocol can have sent.
    fn is_typed_interrupt(&self) -> bool {
        let stats = self.engine.stats();
        self.options.typed
            && self.input[..self.filled] == [CTRL_C]
            && stats.packets_in == 0
            && stats.file_bytes == 0
    }

    /// The signal that ended it, if any.
    fn interrupted(&self) -> Option<i32> {
        if self.signals_seen > 0 {
            return self.options.signals.and_then(Signals::last);
        }
        self.typed_interrupt.then_some(Signal::INT.as_raw())
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
                self.now = self.options.clock.now();
                self.stirred = self.now;
                moved = true;
                if self.is_typed_interrupt() {
                    self.fed = len;
                    self.typed_interrupt = true;
                    self.command(Command::Abort);
                }
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
        while self.fed < self.filled && !self.ended() {
            let mut cx = Cx { now: self.now, trace: &mut *self.options.trace };
            let taken = self.engine.receive(&mut cx, &self.input[self.fed..self.filled]);
            self.fed += taken.min(self.filled - self.fed);
            let answered = self.answer();
            moved |= taken > 0 || answered;
            if taken == 0 && !answered {
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

    /// Waits for the port, a deadline, a signal or the user.
    fn wait(&mut self) {
        let wants_input =
            self.hears && !self.input_ready && self.fed == self.filled && !self.ended();
        let blocked = self.speaks && (!self.output_ready || self.port.held());
        let rest = if blocked { self.port.rest() } else { Duration::ZERO };
        let wants_output = blocked && rest.is_zero();
        let timeout = self.timeout(rest);
        let mut ready = [PollFlags::empty(); 4];
        {
            let stand_in = self.port.read_fd();
            let sources = [
                wants_input.then(|| (self.port.read_fd(), PollFlags::IN)),
                wants_output.then(|| (self.port.write_fd(), PollFlags::OUT)),
                self.options.signals.map(|signals| (signals.fd(), PollFlags::IN)),
                self.watch.wake().map(|fd| (fd, PollFlags::IN)),
            ];
            let mut fds: [PollFd<'_>; 4] =
                std::array::from_fn(|_| PollFd::from_borrowed_fd(stand_in, PollFlags::empty()));
            let mut used = 0;
            for (fd, events) in sources.iter().flatten() {
                fds[used] = PollFd::from_borrowed_fd(*fd, *events);
                used += 1;
            }
            let began = self.options.clock.now();
            let mut now = began;
            let asks = std::mem::take(&mut self.wrote) && wants_input && !wants_output;
            let mut quiet = true;
            if asks && self.may_spin && self.quick_answers >= QUICK_ANSWERS {
                while quiet && now.since(began) < SPIN {
                    // The peer may need this very processor.
                    std::thread::yield_now();
                    quiet = poll(&mut fds[..used], Some(&Timespec::default())) == Ok(0);
                    now = self.options.clock.now();
                }
            }
            if quiet {
                // An interrupted or failed poll just leads to the next turn, which finds the error.
                let _ = poll(&mut fds[..used], Some(&timeout));
                now = self.options.clock.now();
            }
            let quick = asks && now.since(began) < SPIN;
            self.quick_answers = if quick { self.quick_answers.saturating_add(1) } else { 0 };
            let mut polled = fds[..used].iter();
            for (ready, source) in ready.iter_mut().zip(&sources) {
                if source.is_some() {
                    *ready = polled.next().map_or(PollFlags::empty(), PollFd::revents);
                }
            }
        }
        // An error or a hang-up counts as ready: the read or write will return it.
        self.input_ready |= !ready[0].is_empty();
        self.output_ready |= !ready[1].is_empty() || !rest.is_zero();
        if !ready[3].is_empty() {
            self.now = self.options.clock.now();
            self.ask_person();
        }
    }

    /// When the idle timeout or the time limit expires.
    fn expires(&self) -> Option<Instant> {
        let silence = self.options.silence.map(|silence| self.stirred + silence);
        let longest = self.options.longest.map(|longest| self.started + longest);
        let left = self.options.left.and_then(|left| left()).map(|left| self.now + left);
        [silence, longest, left].into_iter().flatten().min()
    }

    /// How long to wait: for the next deadline, and while the port has a `rest`, for that.
    fn timeout(&self, rest: Duration) -> Timespec {
        let grace = |since: Option<Instant>| since.map(|since| since + self.options.grace);
        let next = [
            self.engine.deadline(),
            self.abort_by,
            self.expires(),
            grace(self.broken_since),
            grace(self.ending_since),
        ]
        .into_iter()
        .flatten()
        .fold(self.next_progress, Instant::min);
        let wait = next.since(self.now);
        let wait = if rest.is_zero() { wait } else { wait.min(rest) }.max(SHORTEST_WAIT);
        Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) }
    }

    /// Leaves the store in a clean state, and reports the remaining events.
    fn settle(&mut self, outcome: Outcome) {
        self.now = self.options.clock.now();
        if self.engine.status() == Status::Running {
            let mut cx = Cx { now: self.now, trace: &mut *self.options.trace };
            self.engine.command(&mut cx, Command::Abort);
        }
        self.answer();
        if outcome != Outcome::Done {
            // The engine did not close it, or believes it did. Closing twice is harmless.
            let _ = self.store.answer(Request::Close { complete: false, verified: false });
        }
        self.events();
    }
}
