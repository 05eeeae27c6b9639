//! A user who types at one host, and the program at the other that echoes.

use super::SubnetModel;
use crate::element::End;
use crate::random::Random;
use crate::slip::{EchoTimes, TypingModel, gap};
use wetstring_proto::arpanet::icp::{Icp, Pair, TELNET};
use wetstring_proto::arpanet::ncp::Host;
use wetstring_proto::{Cx, Instant};

/// The first socket of the user's process, and of the program's.
const SOCKETS: [u32; 2] = [0x800, 0x900];

/// The user: when the next key is pressed, keys that wait for their echo, and the echo delays.
#[derive(Debug)]
pub(super) struct Typist {
    model: TypingModel,
    random: Random,
    next: Instant,
    keys: u64,
    waiting: Vec<Instant>,
    times: Vec<u64>,
}

impl Typist {
    pub(super) fn new(model: TypingModel, seed: u64) -> Self {
        let mut random = Random::stream(seed, "typing", "keys");
        let next = Instant::ZERO + gap(model.every, &mut random);
        Self { model, random, next, keys: 0, waiting: Vec::new(), times: Vec::new() }
    }

    /// When the next key is pressed.
    pub(super) const fn next(&self) -> Instant {
        self.next
    }

    /// Types a character if due, and reads the echo. Without a connection nothing is typed.
    pub(super) fn turn(&mut self, cx: &Cx<'_>, host: &mut Host<'_>, pair: Option<Pair>) -> bool {
        let mut moved = false;
        while self.next <= cx.now {
            if pair.is_some_and(|pair| host.write(pair.to, b"x", 8) == 8) {
                self.keys += 1;
                self.waiting.push(self.next);
                moved = true;
            }
            self.next = self.next + gap(self.model.every, &mut self.random);
        }
        let Some(pair) = pair else { return moved };
        let mut seen = [0; 16];
        let came = host.peek(pair.from, &mut seen) / 8;
        host.consume(pair.from, came * 8);
        for since in self.waiting.drain(..came.min(self.waiting.len())) {
            self.times.push(cx.now.as_nanos() - since.as_nanos());
        }
        moved || came > 0
    }

    /// Its echo delays.
    pub(super) fn times(self) -> EchoTimes {
        EchoTimes::of(self.keys, self.times)
    }
}

/// The other host echoes.
pub(super) fn echo(host: &mut Host<'_>, pair: Pair) -> bool {
    let mut seen = [0; 16];
    let came = host.peek(pair.from, &mut seen) / 8;
    let taken = host.write(pair.to, &seen[..came], came * 8) / 8 * 8;
    host.consume(pair.from, taken);
    taken > 0
}

/// A connection of the typing user, or of the echoing program: connecting, then open.
#[derive(Debug)]
pub(super) struct Terminal {
    calls: bool,
    icp: Option<Icp>,
    pub(super) pair: Option<Pair>,
}

impl Terminal {
    /// One end of it; `calls`: the user's.
    ///
    /// # Panics
    ///
    /// If there is no free listening slot.
    pub(super) fn new(host: &mut Host<'_>, calls: bool) -> Self {
        if !calls {
            host.listen(TELNET, TELNET).expect("a place to listen");
        }
        Self { calls, icp: None, pair: None }
    }

    /// Continues the initial connection. A failed one is retried, or waited for.
    pub(super) fn turn(&mut self, cx: &mut Cx<'_>, host: &mut Host<'_>, end: End) {
        if self.pair.is_some() {
            return;
        }
        if self.icp.is_none() {
            let with = SubnetModel::HOSTS[end.other().index()];
            self.icp = if self.calls {
                Icp::call(host, cx, with, TELNET, SOCKETS[0]).ok()
            } else {
                Icp::answer(host, cx, TELNET, SOCKETS[1]).and_then(Result::ok)
            };
        }
        let Some(icp) = &mut self.icp else { return };
        match icp.turn(host, cx) {
            Ok(pair) => self.pair = pair,
            Err(_) => self.icp = None,
        }
    }
}
