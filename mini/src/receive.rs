//! The loop that runs an engine on the process's own descriptors.

use crate::sys;
use core::time::Duration;
use wetstring_proto::engine::{Cx, Engine, Outcome};
use wetstring_proto::file::{Refusal, Reply, Request, StoreError};
use wetstring_proto::time::Instant;
use wetstring_proto::trace::NoTrace;

/// Bytes read at once: what a terminal holds.
const READ: usize = 4096;
/// Longest wait if no timer runs.
const LONG: Duration = Duration::from_secs(60);

/// The file.
#[derive(Default)]
struct File {
    offered: bool,
    complete: bool,
    /// Position after what is written.
    at: u64,
    failed: bool,
}

impl File {
    fn answer(&mut self, request: &Request<'_>) -> Reply<'static> {
        match request {
            Request::Offer { .. } if !self.complete && self.at == 0 => {
                self.offered = true;
                Reply::Accept { offset: 0 }
            }
            Request::Offer { .. } => Reply::Refuse(Refusal::NotPermitted),
            Request::Write { offset, bytes } if *offset == self.at => self.write(bytes),
            Request::Close { complete, .. } => {
                self.complete |= *complete && self.offered;
                Reply::Done
            }
            _ => Reply::Failed(StoreError::Unsupported),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Reply<'static> {
        let mut written = 0;
        while written < bytes.len() {
            match sys::write(sys::FILE, &bytes[written..]) {
                Some(len) if len > 0 => written += len,
                _ => {
                    self.failed = true;
                    return Reply::Failed(StoreError::Io);
                }
            }
        }
        self.at += bytes.len() as u64;
        Reply::Done
    }
}

/// Runs the engine to its end; returns the exit code.
pub fn run(engine: &mut dyn Engine) -> u8 {
    let (mut file, mut trace) = (File::default(), NoTrace);
    let (mut input, mut from, mut to) = ([0; READ], 0, 0);
    loop {
        let mut cx = Cx { now: Instant(sys::now()), trace: &mut trace };
        while engine.event().is_some() {}
        if let Some(request) = engine.request() {
            let reply = file.answer(&request);
            engine.reply(&mut cx, reply);
            continue;
        }
        let bytes = engine.transmit(&mut cx);
        if !bytes.is_empty() {
            let Some(len) = sys::write(sys::OUT, bytes) else { return 2 };
            engine.transmitted(&mut cx, len);
            continue;
        }
        if let Some(outcome) = engine.status().outcome() {
            return match outcome {
                Outcome::Done if file.complete => 0,
                _ if file.failed => 2,
                _ => 1,
            };
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
                Some(len) if len > 0 => (from, to) = (0, len),
                _ => return 2,
            }
            continue;
        }
        engine.tick(&mut Cx { now: Instant(sys::now()), trace: &mut trace });
    }
}
