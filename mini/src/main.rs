//! `wst-mini`: a receiver for systems that have none, which `wst put --shell` types to their shell.
//!
//! ```text
//! stty raw -echo; ./wst-mini [PROTOCOL] 3> FILE
//! ```
//!
//! PROTOCOL begins with `k` (Kermit, also without an argument), `y` (YMODEM) or `x` (XMODEM). One file is taken, whatever its name; names, terminal settings
//! and what comes after a failure are the shell's. Exit codes: 0 the file is complete, 1 it is not, 2 the line or
//! the file failed, 3 a defect of this program.

#![no_std]
#![no_main]

mod receive;
mod sys;

use wetstring_proto::time::Span;
use wetstring_proto::{kermit, xymodem};

/// Memory for the largest engine.
const MEMORY: usize = 448 * 1024;
/// File data between the engine and the file.
const BUFFER: usize = 16 * 1024;

/// What the process does; returns its exit code.
fn main(letter: u8) -> u8 {
    let mut memory = [0; MEMORY];
    match letter {
        b'x' | b'y' => {
            let variant = match letter {
                b'x' => xymodem::Variant::Xmodem1k,
                _ => xymodem::Variant::Ymodem,
            };
            let config = xymodem::Config { variant, ..xymodem::Config::default() };
            match xymodem::Receiver::new(config, &mut memory[..]) {
                Ok(mut engine) => receive::run(&mut engine),
                Err(_) => 3,
            }
        }
        _ => {
            let config = kermit::Config {
                buffer_len: BUFFER,
                // The shell's digest compares both files.
                digest: false,
                linger: Span::from_millis(300),
                ..kermit::Config::default()
            };
            match kermit::Receiver::new(config, &mut memory[..]) {
                Ok(mut engine) => receive::run(&mut engine),
                Err(_) => 3,
            }
        }
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    sys::exit(3)
}
