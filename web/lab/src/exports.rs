//! The exported functions. Those that make something return 1 and leave it in the output, or 0 and leave why not.
//!
//! `unsafe` stands only in the attribute that gives a function the name by which JavaScript calls it: no two
//! functions of a program may have the same.
#![allow(unsafe_code)]

use crate::Run;
use std::cell::RefCell;

thread_local! {
    static RUN: RefCell<Run> = RefCell::default();
}

fn made(make: impl FnOnce(&mut Run) -> Result<String, String>) -> u32 {
    RUN.with_borrow_mut(|run| {
        let made = make(run);
        let is_made = made.is_ok();
        run.output = made.unwrap_or_else(|why| why);
        u32::from(is_made)
    })
}

/// The address of room for text from JavaScript.
#[unsafe(no_mangle)]
pub extern "C" fn input(len: usize) -> *mut u8 {
    RUN.with_borrow_mut(|run| {
        run.input.resize(len, 0);
        run.input.as_mut_ptr()
    })
}

/// The address of the output.
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    RUN.with_borrow(|run| run.output.as_ptr())
}

/// Its length.
#[unsafe(no_mangle)]
pub extern "C" fn output_len() -> usize {
    RUN.with_borrow(|run| run.output.len())
}

/// What can be chosen.
#[unsafe(no_mangle)]
pub extern "C" fn list() -> u32 {
    made(|run| Ok(run.list()))
}

/// Runs what the input describes.
#[unsafe(no_mangle)]
pub extern "C" fn run(len: usize) -> u32 {
    made(|run| run.run(len))
}

/// Where its time went.
#[unsafe(no_mangle)]
pub extern "C" fn explain() -> u32 {
    made(Run::explain)
}

/// What would help.
#[unsafe(no_mangle)]
pub extern "C" fn advise() -> u32 {
    made(|run| run.advise())
}
