//! What a machine costs: time for every packet and for every byte that its program handles.
//!
//! `packet=13ms,byte=2us`. A machine does one thing at a time. While it is busy the bytes that
//! arrive wait in front of the program, and what the program would send waits too.

use std::str::FromStr;
use wetstring_proto::engine::{Command, Cx, Engine, Event, Status, Wants};
use wetstring_proto::file::{Reply, Request};
use wetstring_proto::{Instant, Stats};

/// The costs of a machine, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Host {
    /// For each good packet that arrives.
    pub packet_ns: u64,
    /// For each byte that arrives.
    pub byte_ns: u64,
}

impl Host {
    /// Whether it costs nothing.
    pub fn is_free(&self) -> bool {
        *self == Self::default()
    }
}

impl FromStr for Host {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut host = Self::default();
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            let time = crate::serial::time(key, value).map_err(|bad| bad.to_string());
            let nanos = || time.map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
            match key {
                "packet" => host.packet_ns = nanos()?,
                "byte" => host.byte_ns = nanos()?,
                _ => return Err(format!("expected packet=TIME or byte=TIME, got {word}")),
            }
        }
        Ok(host)
    }
}

/// An engine on such a machine.
pub(crate) struct Hosted {
    engine: Box<dyn Engine>,
    host: Host,
    busy_until: Instant,
}

impl Hosted {
    pub(crate) fn new(engine: Box<dyn Engine>, host: Host) -> Self {
        Self { engine, host, busy_until: Instant::ZERO }
    }

    fn busy(&self, now: Instant) -> bool {
        now < self.busy_until
    }
}

impl Engine for Hosted {
    fn receive(&mut self, cx: &mut Cx<'_>, bytes: &[u8]) -> usize {
        if self.busy(cx.now) {
            return 0;
        }
        let before = self.engine.stats().packets_in;
        let taken = self.engine.receive(cx, bytes);
        let packets = self.engine.stats().packets_in - before;
        let cost = packets * self.host.packet_ns + taken as u64 * self.host.byte_ns;
        self.busy_until = Instant(cx.now.as_nanos().saturating_add(cost));
        taken
    }

    fn transmit(&mut self, cx: &mut Cx<'_>) -> &[u8] {
        if self.busy(cx.now) { &[] } else { self.engine.transmit(cx) }
    }

    fn transmitted(&mut self, cx: &mut Cx<'_>, len: usize) {
        self.engine.transmitted(cx, len);
    }

    fn deadline(&self) -> Option<Instant> {
        // The end of the work is an event of its own: what waits goes on then.
        let work = (self.busy_until > Instant::ZERO).then_some(self.busy_until);
        self.engine.deadline().into_iter().chain(work).min()
    }

    fn tick(&mut self, cx: &mut Cx<'_>) {
        if !self.busy(cx.now) {
            self.busy_until = Instant::ZERO;
        }
        self.engine.tick(cx);
    }

    fn request(&mut self) -> Option<Request<'_>> {
        self.engine.request()
    }

    fn reply(&mut self, cx: &mut Cx<'_>, reply: Reply<'_>) {
        self.engine.reply(cx, reply);
    }

    fn event(&mut self) -> Option<Event<'_>> {
        self.engine.event()
    }

    fn command(&mut self, cx: &mut Cx<'_>, command: Command) {
        self.engine.command(cx, command);
    }

    fn wants(&self) -> Wants {
        self.engine.wants()
    }

    fn status(&self) -> Status {
        self.engine.status()
    }

    fn stats(&self) -> &Stats {
        self.engine.stats()
    }
}
