//! IP over a line: the loop that runs a SLIP link between a port and local IP.
//!
//! ```text
//! TUN interface, or    packets    [slip::Link]    bytes    Port <-> line
//! user-space stack  <---------->  queue, VJ    <-------->
//! ```
//!
//! One thread waits in `poll`. Local packets are taken as they come and wait in the link's queue, where urgent
//! ones overtake; the port's buffer is kept short where the rate is known. A line that is lost is reopened.

mod marks;
mod tun;

use crate::clock::Clock;
use crate::event::{self, Interest};
use crate::in_words;
use crate::port::{OpenError, PATIENCE, Port};
use crate::signals::Signals;
use crate::stack::{Answer, Stack};
use marks::{Marks, Piece};
use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;
use wetstring_proto::Instant;
use wetstring_proto::slip::{BadConfig, Config, Link};

pub use tun::{Net, Tun, TunConfig};

/// Bytes read from the port at a time.
const READ: usize = 4096;
/// Buffer for a local packet; none is longer than the MTU, which is at most 1500.
const PACKET: usize = 2048;
/// Most local packets in one turn, so that the line is served as well.
const PACKETS: usize = 64;
/// How long a port of a known rate is not polled after it had a few bytes: drivers wake us for each of them, at
/// 3 Mb/s ten thousand times a second. The delay is not noticeable.
const REST: Duration = Duration::from_millis(1);
/// Delay before a lost line is reopened: initial, and maximum.
const RETRY: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(10)];
/// After a longer outage the queued packets are stale.
const STALE: Duration = Duration::from_secs(5);

/// The local IP side.
#[derive(Debug)]
pub enum Inside {
    /// A network interface.
    Tun(Tun),
    /// Our own stack.
    Stack(Box<Stack>),
}

/// Pings to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ping {
    /// Destination.
    pub to: Ipv4Addr,
    /// How many; the run ends after them. `None`: unlimited.
    pub count: Option<u32>,
    /// Interval.
    pub every: Duration,
}

/// Options of a run.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// The link.
    pub link: Config,
    /// A signal ends it.
    pub signals: Option<&'a Signals>,
    /// Pings, with our own stack.
    pub ping: Option<Ping>,
    /// Interval of [`News::Statistics`].
    pub statistics: Option<Duration>,
}

/// Events.
#[derive(Debug)]
pub enum News<'a> {
    /// The line is open; reopened, if it was lost.
    Up {
        /// It had been lost.
        again: bool,
    },
    /// The line is lost, for this reason; it will be reopened.
    Lost(&'a str),
    /// Reopening failed.
    NotYet(&'a OpenError),
    /// The peer compresses, and so do we from now on.
    Compressing,
    /// A ping was answered.
    Pong(Answer),
    /// A connection could not be established: which, and why.
    Refused(&'a str),
    /// Statistics are due.
    Statistics(&'a Link<Vec<u8>>),
}

/// Why it ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// A signal arrived.
    Signal(i32),
    /// The last ping was sent and its timeout has passed.
    Done,
    /// The line has closed and cannot be reopened.
    Closed,
}

/// The result.
#[derive(Debug)]
pub struct Outcome {
    /// Why it ended.
    pub stop: Stop,
    /// The link with its statistics.
    pub link: Link<Vec<u8>>,
    /// Pings sent, and answers.
    pub pings: [u32; 2],
    /// Duration.
    pub elapsed: Duration,
}

/// A fatal error.
#[derive(Debug)]
pub enum Failure {
    /// The settings of the link.
    Config(BadConfig),
    /// The line could not be opened at the start.
    Line(OpenError),
    /// Waiting, or reading from the network interface.
    Io(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Carries IP between `inside` and the line that `open` opens, until the plan ends it.
///
/// `open` is called again when the line is lost; it returns `None` if that is not possible.
///
/// # Errors
///
/// See [`Failure`]. A line lost later is not an error.
pub fn run(
    plan: &Plan<'_>,
    inside: &mut Inside,
    open: &mut dyn FnMut() -> Option<Result<Box<dyn Port>, OpenError>>,
    news: &mut dyn FnMut(News<'_>),
) -> Result<Outcome, Failure> {
    let link =
        Link::new(plan.link, plan.link.parts(|len| vec![0; len])).map_err(Failure::Config)?;
    let mut run = Run {
        plan: *plan,
        inside,
        link,
        clock: Clock::start(),
        line: Line::Closed,
        marks: None,
        next_read: Duration::ZERO,
        pings: [0; 2],
        next_ping: Duration::ZERO,
        next_statistics: plan.statistics.unwrap_or(Duration::MAX),
        compressing: false,
        writable: true,
    };
    let stop = run.go(open, news)?;
    if let Line::Open(port) = &mut run.line {
        let _ = port.finish(plan.signals.map_or(PATIENCE, |signals| signals.patience(PATIENCE)));
    }
    let elapsed = run.elapsed();
    Ok(Outcome { stop, link: run.link, pings: run.pings, elapsed })
}

/// The open line.
enum Line {
    /// Not open yet, or cannot be reopened.
    Closed,
    Open(Box<dyn Port>),
    /// It was lost at that time; the next attempt is due at that time.
    Lost {
        since: Duration,
        retry: Duration,
        wait: Duration,
    },
}

struct Run<'a> {
    plan: Plan<'a>,
    inside: &'a mut Inside,
    link: Link<Vec<u8>>,
    clock: Clock,
    line: Line,
    /// The port marks damaged characters in its data.
    marks: Option<Marks>,
    /// The port is not read before this time.
    next_read: Duration,
    pings: [u32; 2],
    next_ping: Duration,
    next_statistics: Duration,
    compressing: bool,
    /// The port may be writable.
    writable: bool,
}

type Opener<'o> = &'o mut dyn FnMut() -> Option<Result<Box<dyn Port>, OpenError>>;

impl Run<'_> {
    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn elapsed(&self) -> Duration {
        self.now().since(Instant::ZERO)
    }

    fn go(&mut self, open: Opener<'_>, news: &mut dyn FnMut(News<'_>)) -> Result<Stop, Failure> {
        match open() {
            Some(Ok(port)) => self.opened(port),
            Some(Err(error)) => return Err(Failure::Line(error)),
            None => return Ok(Stop::Closed),
        }
        self.compressing = self.link.is_compressing();
        news(News::Up { again: false });
        loop {
            if let Some(signal) = self.plan.signals.and_then(Signals::last) {
                return Ok(Stop::Signal(signal));
            }
            if self.is_over() {
                return Ok(Stop::Done);
            }
            if !self.reopen(open, news) {
                return Ok(Stop::Closed);
            }
            let moved = self.turn(news)?;
            self.tell(news);
            self.wait(moved)?;
        }
    }

    /// The last ping was sent, and its timeout has passed.
    fn is_over(&self) -> bool {
        let now = self.elapsed();
        self.plan.ping.is_some_and(|ping| {
            let all = ping.count.is_some_and(|count| self.pings[0] >= count);
            all && (self.pings[1] >= self.pings[0] || now >= self.next_ping)
        })
    }

    /// Reopens a lost line, if due. False if that is no longer possible.
    fn reopen(&mut self, open: Opener<'_>, news: &mut dyn FnMut(News<'_>)) -> bool {
        let now = self.elapsed();
        let Line::Lost { since, retry, wait } = self.line else {
            return !matches!(self.line, Line::Closed);
        };
        if now < retry {
            return true;
        }
        match open() {
            None => return false,
            Some(Ok(port)) => {
                self.opened(port);
                self.link.reopened();
                if now.saturating_sub(since) > STALE {
                    self.link.clear();
                }
                self.compressing = self.link.is_compressing();
                news(News::Up { again: true });
            }
            Some(Err(error)) => {
                news(News::NotYet(&error));
                let wait = (wait * 2).min(RETRY[1]);
                self.line = Line::Lost { since, retry: self.elapsed() + wait, wait };
            }
        }
        true
    }

    fn opened(&mut self, mut port: Box<dyn Port>) {
        // A port that cannot report damage can still be used.
        self.marks = matches!(port.mark_damage(), Ok(true)).then(Marks::default);
        self.line = Line::Open(port);
        self.writable = true;
        self.next_read = Duration::ZERO;
    }

    fn lost(&mut self, why: &str, news: &mut dyn FnMut(News<'_>)) {
        let (now, wait) = (self.elapsed(), RETRY[0]);
        self.line = Line::Lost { since: now, retry: now + wait, wait };
        news(News::Lost(why));
    }

    /// Moves what can be moved; returns whether there may be more at once.
    fn turn(&mut self, news: &mut dyn FnMut(News<'_>)) -> io::Result<bool> {
        let came = self.read(news);
        let took = self.take()?;
        let went = self.write(news);
        Ok(came | took | went)
    }

    /// From the line to the inside. True if the port may have more at once.
    fn read(&mut self, news: &mut dyn FnMut(News<'_>)) -> bool {
        let now = self.elapsed();
        let Line::Open(port) = &mut self.line else { return false };
        if now < self.next_read {
            return false;
        }
        let mut room = [0; READ];
        let len = match port.read(&mut room) {
            Ok(None) => return false,
            Ok(Some(0)) => {
                self.lost("the peer has closed it", news);
                return true;
            }
            Ok(Some(len)) => len,
            Err(error) => {
                self.lost(&in_words(&error), news);
                return true;
            }
        };
        let is_full = len == READ;
        if let Some(rate) = self.plan.link.rate.filter(|_| !is_full) {
            self.next_read = now + rate.time(READ / 4).min(REST);
        }
        let mut rest = &room[..len];
        while !rest.is_empty() {
            let (used, piece) = match &mut self.marks {
                Some(marks) => marks.next(rest),
                None => (rest.len(), Some(Piece::Bytes(rest))),
            };
            rest = &rest[used..];
            match piece {
                Some(Piece::Bytes(bytes)) => self.came(bytes),
                Some(Piece::Damaged) => self.link.line_error(),
                None => {}
            }
        }
        is_full
    }

    /// Decodes bytes of the line into packets for the inside.
    fn came(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (used, packet) = self.link.receive(bytes);
            bytes = &bytes[used..];
            let Some(packet) = packet else { continue };
            match &mut *self.inside {
                Inside::Tun(tun) => tun.write(packet),
                Inside::Stack(stack) => {
                    let now = self.clock.now().since(Instant::ZERO);
                    stack.came(now, packet);
                    stack.turn(now);
                }
            }
        }
    }

    /// From the inside to the queue.
    fn take(&mut self) -> io::Result<bool> {
        let now = self.now();
        let elapsed = now.since(Instant::ZERO);
        match &mut *self.inside {
            Inside::Tun(tun) => {
                let mut room = [0; PACKET];
                for _ in 0..PACKETS {
                    let Some(len) = tun.read(&mut room)? else { return Ok(false) };
                    // The link counts dropped packets.
                    let _ = self.link.put(now, &room[..len]);
                }
                Ok(true)
            }
            Inside::Stack(stack) => {
                if let Some(ping) = self.plan.ping
                    && elapsed >= self.next_ping
                    && ping.count.is_none_or(|count| self.pings[0] < count)
                {
                    stack.ping_once(elapsed);
                    self.pings[0] += 1;
                    self.next_ping = elapsed + ping.every;
                }
                stack.turn(elapsed);
                let mut moved = false;
                while let Some(packet) = stack.leaves() {
                    let _ = self.link.put(now, &packet);
                    moved = true;
                }
                Ok(moved)
            }
        }
    }

    /// From the queue to the line.
    fn write(&mut self, news: &mut dyn FnMut(News<'_>)) -> bool {
        let now = self.now();
        let Line::Open(port) = &mut self.line else { return false };
        if self.writable
            && port.held()
            && let Err(error) = port.flush()
        {
            self.lost(&in_words(&error), news);
            return true;
        }
        while self.writable {
            let bytes = self.link.transmit(now);
            if bytes.is_empty() {
                return false;
            }
            match port.write(bytes) {
                Ok(Some(len)) => self.link.transmitted(now, len),
                Ok(None) => self.writable = false,
                Err(error) => {
                    self.lost(&in_words(&error), news);
                    return true;
                }
            }
        }
        false
    }

    fn tell(&mut self, news: &mut dyn FnMut(News<'_>)) {
        let elapsed = self.elapsed();
        if self.link.is_compressing() && !self.compressing {
            self.compressing = true;
            news(News::Compressing);
        }
        if let Inside::Stack(stack) = &mut *self.inside {
            while let Some(answer) = stack.answer(elapsed) {
                self.pings[1] += 1;
                news(News::Pong(answer));
            }
            while let Some(why) = stack.refusal() {
                news(News::Refused(&why));
            }
        }
        if elapsed >= self.next_statistics {
            self.next_statistics = elapsed + self.plan.statistics.unwrap_or(Duration::MAX);
            news(News::Statistics(&self.link));
        }
    }

    /// Time until the next internal event.
    fn rest(&mut self) -> Option<Duration> {
        let (now, elapsed) = (self.now(), self.elapsed());
        let until = |at: Duration| at.saturating_sub(elapsed);
        let stack = match &mut *self.inside {
            Inside::Stack(stack) => stack.due(elapsed),
            Inside::Tun(_) => None,
        };
        let line = match &self.line {
            Line::Lost { retry, .. } => Some(until(*retry)),
            Line::Open(port) if !self.writable => Some(port.rest()).filter(|rest| !rest.is_zero()),
            Line::Open(_) => self.link.deadline().map(|at| at.since(now)),
            Line::Closed => None,
        };
        let read = matches!(self.line, Line::Open(_)) && elapsed < self.next_read;
        let read = read.then(|| until(self.next_read));
        let ping = self.plan.ping.map(|_| until(self.next_ping));
        let statistics = self.plan.statistics.map(|_| until(self.next_statistics));
        [stack, line, read, ping, statistics].into_iter().flatten().min()
    }

    fn wait(&mut self, moved: bool) -> io::Result<()> {
        let rest = if moved { Some(Duration::ZERO) } else { self.rest() };
        let mut interests = Vec::with_capacity(8);
        let mut output = None;
        if let Line::Open(port) = &self.line {
            if self.elapsed() >= self.next_read {
                interests.push(Interest::read(port.read_source()));
            }
            if (!self.writable || port.held()) && port.rest().is_zero() {
                output = Some(interests.len());
                interests.push(Interest::write(port.write_source()));
            }
        }
        if let Some(signals) = self.plan.signals {
            interests.push(Interest::read(signals.source()));
        }
        match &*self.inside {
            Inside::Tun(tun) => interests.push(Interest::read(tun.source())),
            Inside::Stack(stack) => stack.wants(&mut interests),
        }
        event::wait(&mut interests, rest)?;
        // A port that paces by time is tried again after it.
        self.writable |= output.is_none_or(|at| interests[at].is_ready());
        Ok(())
    }
}
