//! The loop that runs an engine on the process's own descriptors.

use crate::sys;
use core::time::Duration;
use wetstring_proto::engine::{Cx, Engine, Outcome};
use wetstring_proto::file::{Reply, Request};
use wetstring_proto::time::Instant;
use wetstring_proto::trace::NoTrace;

/// Bytes read at once: what a terminal holds.
const READ: usize = 4096;
/// Longest wait if no timer runs.
const LONG: Duration = Duration::from_secs(60);

/// What answers an engine's requests.
pub trait Files {
    /// The answer to one.
    fn answer(&mut self, request: Request<'_>) -> Reply<'static>;
}

/// How it ended.
pub enum End {
    /// As it should.
    Done,
    /// Otherwise.
    Failed,
    /// The line has failed.
    Line,
}

/// Runs the engine to its end.
pub fn run(engine: &mut dyn Engine, files: &mut dyn Files) -> End {
    let mut trace = NoTrace;
    let (mut input, mut from, mut to) = ([0; READ], 0, 0);
    loop {
        let mut cx = Cx { now: Instant(sys::now()), trace: &mut trace };
        while engine.event().is_some() {}
        if let Some(request) = engine.request() {
            let reply = files.answer(request);
            engine.reply(&mut cx, reply);
            continue;
        }
        let bytes = engine.transmit(&mut cx);
        if !bytes.is_empty() {
            let Some(len) = sys::write(sys::OUT, bytes) else { return End::Line };
            engine.transmitted(&mut cx, len);
            continue;
        }
        if let Some(outcome) = engine.status().outcome() {
            return if outcome == Outcome::Done { End::Done } else { End::Failed };
        }
        if from < to {
            let taken = engine.receive(&mut cx, &input[from..to]);
            from += taken;
            if taken > 0 {
                continue;
            }
        }
        let patience = engine.deadline().map_or(LONG, |at| at.since(cx.now));
        // What the engine does not take now it takes after a timer.
        if from == to && sys::readable(sys::IN, patience) {
            match sys::read(sys::IN, &mut input) {
                Some(len) if len > 0 => {
                    from = 0;
                    to = len;
                }
                _ => return End::Line,
            }
            continue;
        }
        engine.tick(&mut Cx { now: Instant(sys::now()), trace: &mut trace });
    }
}
