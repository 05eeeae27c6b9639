//! The small Kermit receiver, for a processor with which the engine takes more than a slow line should have to carry: one packet at a
//! time, in a few kB.

use crate::sys;
use core::time::Duration;
use wetstring_proto::tiny::{Kermit, Limits, Step};

/// The longest packet of Kermit, and what some senders send beside it.
const PACKET: usize = 9100;
/// Bytes read at once: what a terminal holds.
const READ: usize = 4096;
/// How often the receiver looks at its timers.
const PATIENCE: Duration = Duration::from_millis(100);

/// Receives one file; returns the exit code.
pub fn run() -> u8 {
    let (mut memory, mut input) = ([0; PACKET], [0; READ]);
    let (mut from, mut to) = (0, 0);
    let (mut begun, mut whole) = (false, false);
    let limits = Limits { linger_ms: 300, ..Limits::default() };
    let mut kermit = Kermit::new(&mut memory, limits);
    loop {
        let now = (sys::now() / 1_000_000) as u32;
        let read = || {
            let byte = input[from..to].first().copied();
            from += usize::from(byte.is_some());
            byte
        };
        let written = match kermit.step(now, read) {
            Step::Write(bytes) => all(sys::OUT, bytes),
            Step::Data(bytes) => all(sys::FILE, bytes),
            // The shell has one file for it. Its sender is told in the next step.
            Step::Begin(_) if core::mem::replace(&mut begun, true) => {
                whole = false;
                kermit.cancel();
                true
            }
            Step::End { complete } => {
                whole = complete;
                true
            }
            Step::Done => return u8::from(!whole),
            Step::Failed(_) => return 1,
            Step::Wait if from == to && sys::readable(sys::IN, PATIENCE) => {
                from = 0;
                to = sys::read(sys::IN, &mut input).unwrap_or(0);
                if to == 0 && whole {
                    return 0;
                }
                to > 0
            }
            Step::Wait | Step::Begin(_) | Step::Size(_) => true,
        };
        if !written {
            return 2;
        }
    }
}

/// Writes all of it; whether that succeeded.
fn all(descriptor: usize, mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        match sys::write(descriptor, bytes) {
            Some(len) if len > 0 => bytes = bytes.get(len..).unwrap_or_default(),
            _ => return false,
        }
    }
    true
}
