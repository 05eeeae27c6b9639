//! The exported functions.
//!
//! `unsafe` stands only in the attribute that gives a function the name by which JavaScript calls it: no two
//! functions of a program may have the same.
#![allow(unsafe_code)]

use crate::{Talk, instant, milliseconds};
use std::cell::RefCell;

thread_local! {
    static TALK: RefCell<Talk> = RefCell::default();
}

fn with<R>(run: impl FnOnce(&mut Talk) -> R) -> R {
    TALK.with_borrow_mut(run)
}

/// Declares exports.
macro_rules! exports {
    ($( $(#[$about:meta])* fn $name:ident($talk:ident $(, $arg:ident: $Arg:ty)*) $(-> $Result:ty)? $body:block )+) => {
        $(
            $(#[$about])*
            #[unsafe(no_mangle)]
            pub extern "C" fn $name($($arg: $Arg),*) $(-> $Result)? {
                with(|$talk| $body)
            }
        )+
    };
}

exports! {
    /// The address of room for bytes from JavaScript.
    fn input(talk, len: usize) -> *mut u8 {
        talk.input.resize(len.max(talk.input.len()), 0);
        talk.input.as_mut_ptr()
    }
    /// The address of the output.
    fn output(talk) -> *const u8 {
        talk.output.as_ptr()
    }
    /// Its length.
    fn output_len(talk) -> usize {
        talk.output.len()
    }
    /// The profiles.
    fn list(talk) {
        talk.say(&Talk::list());
    }
    /// The next bytes of the file, for its digests.
    fn digest(talk, len: usize) {
        let Talk { input, digests, .. } = talk;
        digests.update(input.get(..len).unwrap_or_default());
    }
    /// Begins; 0 if that is not possible, and words for it.
    fn begin(talk, now_ms: f64, len: usize) -> u32 {
        let made = talk.begin(instant(now_ms), len);
        let is_made = made.is_ok();
        talk.say(&made.unwrap_or_else(|why| why));
        u32::from(is_made)
    }
    /// The device said this.
    fn heard(talk, now_ms: f64, len: usize) {
        let Talk { input, talk: Some(talk), .. } = talk else { return };
        talk.heard(input.get(..len).unwrap_or_default(), instant(now_ms));
    }
    /// The transfer is over; this was received after it.
    fn transferred(talk, now_ms: f64, done: u32, len: usize) {
        let Talk { input, talk: Some(talk), .. } = talk else { return };
        talk.transferred(done != 0, input.get(..len).unwrap_or_default(), instant(now_ms));
    }
    /// What is to be done.
    fn next(talk, now_ms: f64) -> u32 {
        talk.next(instant(now_ms))
    }
    /// The line has closed: 1 if that is no fault, since all was done.
    fn closed(talk, now_ms: f64) -> u32 {
        u32::from(talk.talk.as_mut().is_some_and(|talk| talk.closed(instant(now_ms))))
    }
    /// When it is due though nothing was heard.
    fn deadline(talk) -> f64 {
        milliseconds(talk.talk.as_ref().and_then(|talk| talk.deadline()))
    }
}
