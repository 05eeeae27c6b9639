//! Somebody who types at one host, and the program at the other that says everything again.

use super::SubnetModel;
use crate::element::End;
use crate::random::Random;
use crate::slip::{EchoTimes, TypingModel, gap};
use wetstring_proto::arpanet::icp::{Icp, Pair, TELNET};
use wetstring_proto::arpanet::ncp::Host;
use wetstring_proto::{Cx, Instant};

/// The first socket of the user's process, and of the program's.
const SOCKETS: [u32; 2] = [0x800, 0x900];

/// The user: when the next key is hit, keys that wait for their echo, and how long echoes took.
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

    /// When the next key is hit.
    pub(super) const fn next(&self) -> Instant {
        self.next
    }

    /// A character is typed when it is time, and the echo is seen. Nobody types without a connection.
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

    /// What came of it.
    pub(super) fn times(self) -> EchoTimes {
        EchoTimes::of(self.keys, self.times)
    }
}

/// The other host sends back what was typed.
pub(super) fn echo(host: &mut Host<'_>, pair: Pair) -> bool {
    let mut seen = [0; 16];
    let came = host.peek(pair.from, &mut seen) / 8;
    let taken = host.write(pair.to, &seen[..came], came * 8) / 8 * 8;
    host.consume(pair.from, taken);
    taken > 0
}

/// A connection of somebody who types, or of the program that answers: called, then there.
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
    /// If there is no place to listen.
    pub(super) fn new(host: &mut Host<'_>, calls: bool) -> Self {
        if !calls {
            host.listen(TELNET, TELNET).expect("a place to listen");
        }
        Self { calls, icp: None, pair: None }
    }

    /// Goes on with the initial connection. One that fails is tried again, or waited for.
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
