//! `wst-mini`: a Kermit receiver for systems that have none, small enough to be typed into their shell first.
//!
//! ```text
//! stty raw -echo; ./wst-mini 3> FILE
//! ```
//!
//! One file is taken, whatever its name, by long packets, windows and streaming as they are negotiated; with MIPS by one long packet
//! after the other. Names, the settings of the
//! terminal and what follows a failure are the shell's. Exit codes: 0 the file is complete, 1 it is not, 2 the line
//! or the file failed, 3 a defect of this program.

#![no_std]
#![no_main]
#![cfg_attr(target_arch = "mips", feature(asm_experimental_arch))]

#[cfg(not(target_arch = "mips"))]
mod receive;
#[cfg(target_arch = "mips")]
mod small;
mod sys;
#[cfg(not(target_arch = "mips"))]
mod turn;

#[cfg(not(target_arch = "mips"))]
use wetstring_proto::kermit::{Config, Receiver};
#[cfg(not(target_arch = "mips"))]
use wetstring_proto::time::Span;

/// What the process does; returns its exit code. The instructions of MIPS have one length: with the engine it would have 105 kB.
#[cfg(target_arch = "mips")]
fn main(_: u8) -> u8 {
    small::run()
}

/// Memory for the engine: its window of long packets is the most of it.
#[cfg(not(target_arch = "mips"))]
const MEMORY: usize = 352 * 1024;
/// File data between the engine and the file.
#[cfg(not(target_arch = "mips"))]
const BUFFER: usize = 16 * 1024;

/// What the process does; returns its exit code.
#[cfg(not(target_arch = "mips"))]
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
