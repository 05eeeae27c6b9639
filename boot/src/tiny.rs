//! A boot loader that receives a program over the UART by XMODEM-CRC, YMODEM or Kermit, checks it, and starts it: with the small
//! receivers of `wetstring_proto::tiny`.
//!
//! ```text
//! UART -> receiver -> flash: "WSTB", length, CRC-32, 0, the program -> check -> start
//! ```
#![no_std]
#![no_main]

mod image;
#[cfg_attr(target_arch = "arm", path = "microbit.rs")]
#[cfg_attr(target_arch = "riscv32", path = "virt.rs")]
mod machine;
mod report;

use image::{HEADER, Image};
use wetstring_proto::tiny::{Limits, Step};

mod chosen {
    #[cfg(feature = "kermit")]
    pub use wetstring_proto::tiny::Kermit as Receiver;
    #[cfg(not(any(feature = "kermit", feature = "ymodem")))]
    pub use wetstring_proto::tiny::Xmodem as Receiver;
    #[cfg(feature = "ymodem")]
    pub use wetstring_proto::tiny::Ymodem as Receiver;

    /// The longest block, or packets of 1024 bytes with what some senders add to them.
    pub const MEMORY: usize = if cfg!(feature = "kermit") { 1040 } else { 1024 };
}

/// What the machine does after its start.
fn main(memory: &mut [u8; chosen::MEMORY]) -> ! {
    report::paint();
    loop {
        let mut image = Image::default();
        let complete = receive(&mut image, memory);
        match image.check() {
            Some(len) if complete => {
                report::say("\r\nboot: bytes ", len);
                report::say("boot: memory ", chosen::MEMORY);
                report::say("boot: stack ", report::used());
                machine::start(HEADER);
            }
            _ => report::say("\r\nboot: no program, of ", image.len()),
        }
    }
}

/// Writes what comes into the flash; whether all of it has come.
fn receive(image: &mut Image, memory: &mut [u8]) -> bool {
    let limits = Limits { linger_ms: 300, ..Limits::default() };
    let mut receiver = chosen::Receiver::new(memory, limits);
    let mut complete = false;
    loop {
        match receiver.step(machine::now_ms(), machine::get) {
            Step::Write(bytes) => bytes.iter().copied().for_each(machine::put),
            Step::Begin(_) => {
                complete = false;
                image.erase();
            }
            Step::Data(bytes) => {
                if !image.write(bytes) {
                    receiver.cancel();
                }
            }
            Step::End { complete: all } => complete = all && image.end(),
            Step::Done | Step::Failed(_) => return complete,
            Step::Wait | Step::Size(_) => {}
        }
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    machine::halt()
}
