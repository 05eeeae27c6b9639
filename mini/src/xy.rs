//! `wst-mini-xy`: a receiver of YMODEM, or of XMODEM if its argument begins with `x`, for systems that have none.
//!
//! ```text
//! stty raw -echo; ./wst-mini-xy [x] 3> FILE
//! ```
//!
//! The rest is as with `wst-mini`. XMODEM fills its last block up; who started it cuts the file.

#![no_std]
#![no_main]
#![cfg_attr(target_arch = "mips", feature(asm_experimental_arch))]

mod receive;
mod sys;
mod turn;

use wetstring_proto::xymodem::{Config, Receiver, Variant};

/// Memory for the engine.
const MEMORY: usize = 32 * 1024;
/// File data between the engine and the file.
const BUFFER: usize = 16 * 1024;

/// What the process does; returns its exit code.
fn main(letter: u8) -> u8 {
    let mut memory = [0; MEMORY];
    let variant = if letter == b'x' { Variant::Xmodem1k } else { Variant::Ymodem };
    let config = Config { variant, buffer_len: BUFFER, ..Config::default() };
    match Receiver::new(config, &mut memory[..]) {
        Ok(mut engine) => receive::run(&mut engine),
        Err(_) => 3,
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    sys::exit(3)
}
