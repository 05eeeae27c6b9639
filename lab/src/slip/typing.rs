//! A user who types while a file is transferred, and the echo delay of each character.
//!
//! ```text
//! user -> key -> [TCP, port 23] -> line -> far host, which echoes it
//! user <- echo <- [TCP, port 23] <- line <-
//! ```
//!
//! One character at a time, with mean interval `every`: each interval is between half and one and a half of it,
//! randomly, so that keys are not in step with other traffic. The user does not wait for the echo. The far host
//! echoes at once; its `read` and `write` have the costs of its host.

use super::model::end_of;
use crate::element::{Element, End};
use crate::net::parse;
use crate::random::Random;
use crate::tcp::Tcp;
use std::collections::VecDeque;
use wetstring_proto::{Cx, Duration, Instant};

/// Parameters of the typing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TypingModel {
    /// Mean time from key to key.
    pub every: Duration,
    /// The end of the user.
    pub from: End,
}

impl TypingModel {
    /// One with these words: a time such as `1s`, and `sender` or `receiver`.
    ///
    /// # Errors
    ///
    /// What was expected, and what was given.
    pub fn of(every: &str, from: &str) -> Result<Self, String> {
        let time = parse::time(every).filter(|time| *time >= Duration::from_millis(10));
        let every = time.ok_or_else(|| {
            format!("expected every = a time from 10ms such as \"1s\", got {every}")
        })?;
        let from = end_of(from)
            .ok_or_else(|| format!("expected from = \"sender\" or \"receiver\", got {from}"))?;
        Ok(Self { every, from })
    }
}

/// Echo times of one run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EchoTimes {
    /// Keys.
    pub keys: u64,
    /// Of these, those echoed before the end.
    pub echoed: u64,
    /// Median, in nanoseconds.
    pub median_ns: u64,
    /// 90th percentile.
    pub p90_ns: u64,
    /// Maximum.
    pub longest_ns: u64,
}

/// The user, and the remote program.
pub(super) struct Typist {
    model: TypingModel,
    random: Random,
    next_key: Instant,
    /// Times of key presses: those that the connection has not accepted, and those whose echo is missing.
    waiting: u64,
    open: VecDeque<Instant>,
    /// Characters that the far program has read and not written yet.
    owed: usize,
    keys: u64,
    times: Vec<u64>,
}

/// The typed characters.
const KEY: u8 = b'x';

impl Typist {
    pub(super) fn new(model: TypingModel, seed: u64) -> Self {
        let mut random = Random::stream(seed, "typing", "keys");
        let next_key = Instant::ZERO + gap(model.every, &mut random);
        Self {
            model,
            random,
            next_key,
            waiting: 0,
            open: VecDeque::new(),
            owed: 0,
            keys: 0,
            times: Vec::new(),
        }
    }

    /// When the next key is pressed.
    pub(super) fn next(&self) -> Instant {
        self.next_key
    }

    /// Processes keys and echoes at this time; returns whether anything moved. `heard` gets each echo delay.
    pub(super) fn turn(
        &mut self,
        cx: &mut Cx<'_>,
        connection: &mut Tcp,
        mut heard: impl FnMut(u64),
    ) -> bool {
        while self.next_key <= cx.now {
            self.open.push_back(self.next_key);
            self.keys += 1;
            self.waiting += 1;
            self.next_key = self.next_key + gap(self.model.every, &mut self.random);
        }
        let (near, far) = (self.model.from, self.model.from.other());
        let mut moved = false;
        loop {
            let mut into = [0; 64];
            let keys = [KEY; 64];
            let waiting = self.waiting.min(64) as usize;
            let typed = if waiting > 0 { connection.offer(cx, near, &keys[..waiting]) } else { 0 };
            self.waiting -= typed as u64;
            let read = connection.emit(cx, far, &mut into);
            self.owed += read;
            let owed = self.owed.min(64);
            let said = if owed > 0 { connection.offer(cx, far, &keys[..owed]) } else { 0 };
            self.owed -= said;
            let echoes = connection.emit(cx, near, &mut into);
            for since in self.open.drain(..echoes.min(self.open.len())) {
                let ns = cx.now.as_nanos() - since.as_nanos();
                self.times.push(ns);
                heard(ns);
            }
            if typed + read + said + echoes == 0 {
                return moved;
            }
            moved = true;
        }
    }

    /// The result.
    pub(super) fn times(&self) -> EchoTimes {
        EchoTimes::of(self.keys, self.times.clone())
    }
}

impl EchoTimes {
    /// From the number of keys and the echo delays in nanoseconds.
    pub(crate) fn of(keys: u64, mut times: Vec<u64>) -> Self {
        times.sort_unstable();
        let at = |percent: usize| {
            let last = times.len().saturating_sub(1);
            times.get(last * percent / 100).copied().unwrap_or(0)
        };
        let (median_ns, p90_ns, longest_ns) = (at(50), at(90), at(100));
        Self { keys, echoed: times.len() as u64, median_ns, p90_ns, longest_ns }
    }
}

/// From one key to the next.
pub(crate) fn gap(every: Duration, random: &mut Random) -> Duration {
    let every = u64::try_from(every.as_nanos()).unwrap_or(u64::MAX / 4);
    Duration::from_nanos(every / 2 + random.below(every))
}
