//! `wst-mini`: a Kermit receiver for systems that have none, small enough to be typed into their shell first.
//!
//! ```text
//! stty raw -echo; ./wst-mini 3> FILE
//! ```
//!
//! One file is taken, whatever its name, by long packets, windows and streaming as they are negotiated. Names, the settings of the
//! terminal and what follows a failure are the shell's. Exit codes: 0 the file is complete, 1 it is not, 2 the line
//! or the file failed, 3 a defect of this program.

#![no_std]
#![no_main]
#![cfg_attr(target_arch = "mips", feature(asm_experimental_arch))]

mod receive;
mod sys;
mod turn;

use wetstring_proto::kermit::{Config, Receiver};
use wetstring_proto::time::Span;

/// Memory for the engine: its window of long packets is the most of it.
const MEMORY: usize = 352 * 1024;
/// File data between the engine and the file.
const BUFFER: usize = 16 * 1024;

/// What the process does; returns its exit code.
fn main(_: u8) -> u8 {
    let mut memory = [0; MEMORY];
    let config = Config {
        buffer_len: BUFFER,
        // The shell's digest compares both files.
        digest: false,
        linger: Span::from_millis(300),
        ..Config::default()
    };
    match Receiver::new(config, &mut memory[..]) {
        Ok(mut engine) => receive::run(&mut engine),
        Err(_) => 3,
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    sys::exit(3)
}
