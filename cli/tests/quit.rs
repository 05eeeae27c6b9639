//! The user of a terminal on a line quits at once, whatever the line sends.

use crate::common::desktop::Desktop;
use crate::turn;

use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use wetstring_testkit::terminal;

/// Bytes on the screen before the key.
const FLOOD: usize = 2_000_000;
/// How often; an odd number has a median.
const TIMES: usize = 9;

/// Floods a terminal and quits; the time from the key to the end of the program.
fn quits() -> Duration {
    let both = terminal().expect("a terminal");
    let held = both.open().expect("its other side");
    let mut user = Desktop::start(&["connect", &both.path]);
    user.until("the terminal", |user| user.screen().contains("connected to"));
    let over = Arc::new(AtomicBool::new(false));
    let until = over.clone();
    let mut master = File::from(both.master);
    let flood = thread::spawn(move || {
        let line = [b'x'; 4096];
        while !until.load(Ordering::SeqCst) && master.write_all(&line).is_ok() {}
        // The side that the program had is open still: it can be written to no more once that is closed.
    });
    user.until("the flood", |user| user.screen().len() > FLOOD);
    let began = Instant::now();
    user.press(b"\x14q");
    assert_eq!(user.end().code(), Some(0));
    let late = began.elapsed();
    over.store(true, Ordering::SeqCst);
    // What stands in the terminal is taken, so that the writer is not held.
    rustix::termios::tcflush(&held, rustix::termios::QueueSelector::IFlush)
        .expect("it is a terminal");
    flood.join().expect("the flood ends");
    late
}

#[test]
fn a_user_quits_within_200_ms_of_a_flood() {
    let _turn = turn();
    let mut all: Vec<Duration> = (0..TIMES).map(|_| quits()).collect();
    all.sort_unstable();
    assert!(all[TIMES / 2] < Duration::from_millis(200), "{all:?}");
}
