//! The exported functions. Each is one of the session's.
//!
//! `unsafe` stands only in the attribute that gives a function the name by which JavaScript calls it: no two
//! functions of a program may have the same.
#![allow(unsafe_code)]

use std::cell::RefCell;

use crate::{Session, protocols};

thread_local! {
    static SESSION: RefCell<Session> = RefCell::default();
}

fn with<R>(run: impl FnOnce(&mut Session) -> R) -> R {
    SESSION.with_borrow_mut(run)
}

/// Declares exports.
macro_rules! exports {
    ($( $(#[$about:meta])* fn $name:ident($session:ident $(, $arg:ident: $Arg:ty)*) $(-> $Result:ty)? $body:block )+) => {
        $(
            $(#[$about])*
            #[unsafe(no_mangle)]
            pub extern "C" fn $name($($arg: $Arg),*) $(-> $Result)? {
                with(|$session| $body)
            }
        )+
    };
}

exports! {
    /// The address of the numbers.
    fn numbers(session) -> *const f64 {
        session.numbers.as_ptr()
    }
    /// The address of room for bytes from JavaScript.
    fn input(session, len: usize) -> *mut u8 {
        session.room(len)
    }
    /// Makes an engine; 0 if that is not possible, and words for it.
    fn create(session, sends: u32, len: usize) -> u32 {
        match session.create(sends != 0, len) {
            Ok(()) => 1,
            Err(why) => {
                session.say(&why);
                0
            }
        }
    }
    /// Bytes of the line.
    fn receive(session, now_ms: f64, from: usize, to: usize) -> usize {
        session.receive(now_ms, from, to)
    }
    /// Bytes for the line.
    fn transmit(session, now_ms: f64) -> usize {
        session.transmit(now_ms)
    }
    /// They have left.
    fn transmitted(session, now_ms: f64, len: usize) {
        session.transmitted(now_ms, len);
    }
    /// When a timer runs out.
    fn deadline(session) -> f64 {
        session.deadline()
    }
    /// Runs timers.
    fn tick(session, now_ms: f64) {
        session.tick(now_ms);
    }
    /// The request of the engine.
    fn request(session) -> u32 {
        session.request()
    }
    /// Its answer.
    fn reply(session, now_ms: f64, kind: u32, len: usize) {
        session.reply(now_ms, kind, len);
    }
    /// Bytes of a file for its digest.
    fn hash(session, len: usize) {
        session.hash(len);
    }
    /// The next event.
    fn event(session) -> u32 {
        session.event()
    }
    /// A command of the user.
    fn command(session, now_ms: f64, which: u32) {
        session.command(now_ms, which);
    }
    /// How it stands, or would if the line closed now.
    fn status(session, closed: u32) -> u32 {
        session.status(closed != 0)
    }
    /// Counters.
    fn stats(session) {
        session.stats();
    }
    /// The protocols: a line each, the name and the title.
    fn list(session) {
        let lines: Vec<_> = protocols().map(|(_, entry, _)| [entry.name, entry.title].join("\t")).collect();
        session.say(&lines.join("\n"));
    }
    /// Bytes that a terminal is to show.
    fn feed(session, now_ms: f64, len: usize) -> usize {
        session.feed(now_ms, len)
    }
    /// When to decide.
    fn due(session) -> f64 {
        session.due()
    }
    /// Is it a start?
    fn decide(session, now_ms: f64) -> u32 {
        session.decide(now_ms)
    }
    /// What is held back.
    fn release(session) -> usize {
        session.release()
    }
    /// The shell command that starts a receiver.
    fn receiver_command(session) {
        session.say(&String::from_utf8_lossy(wetstring_protocols::start::START_RECEIVER));
    }
}
