//! A boot loader that receives a program over the UART by XMODEM-CRC, YMODEM or Kermit, checks it, and starts it: with the engines,
//! which have every setting. `tiny.rs` is the same with the small receivers.
//!
//! ```text
//! UART -> engine -> flash: "WSTB", length, CRC-32, 0, the program -> check -> start
//! ```
//!
//! An image has a header of 16 bytes (little endian) before the program, so that what XMODEM adds to the last block is not
//! part of it. `cargo xtask boot` makes the image, runs the loader in QEMU, and sends to it by `wst`, lrzsz and C-Kermit.
#![no_std]
#![no_main]

mod image;
#[cfg_attr(target_arch = "arm", path = "microbit.rs")]
#[cfg_attr(target_arch = "riscv32", path = "virt.rs")]
mod machine;
mod report;

use image::{HEADER, Image};
use wetstring_proto::blocking::{Incoming, Piece, Wire, run};
use wetstring_proto::{Duration, Instant, NoTrace, Outcome, StoreError};

#[cfg(feature = "kermit")]
mod chosen {
    pub use wetstring_proto::kermit::{Config, Receiver};
    use wetstring_proto::{LineFacts, Span};

    /// Packets of 500 bytes with CRC-16, no windows.
    pub fn config() -> Config {
        Config {
            receive_length: 500,
            send_length: 94,
            window: 1,
            buffer_len: 512,
            digest: false,
            line: LineFacts { reliable: Some(false), ..Default::default() },
            linger: Span::from_millis(300),
            ..Config::default()
        }
    }

    /// What the configuration needs.
    pub const MEMORY: usize = 5 * 1024;
}

#[cfg(not(feature = "kermit"))]
mod chosen {
    use wetstring_proto::Span;
    use wetstring_proto::xymodem::Variant;
    pub use wetstring_proto::xymodem::{Config, Receiver};

    #[cfg(feature = "ymodem")]
    const VARIANT: Variant = Variant::Ymodem;
    #[cfg(not(feature = "ymodem"))]
    const VARIANT: Variant = Variant::XmodemCrc;

    /// Blocks are written as they come.
    pub fn config() -> Config {
        Config {
            variant: VARIANT,
            buffer_len: 128,
            linger: Span::from_millis(300),
            ..Config::default()
        }
    }

    /// What the configuration needs.
    #[cfg(feature = "ymodem")]
    pub const MEMORY: usize = 2 * 1024;
    #[cfg(not(feature = "ymodem"))]
    pub const MEMORY: usize = 256;
}

/// The UART and the clock.
struct Line;

/// It never fails.
enum Never {}

impl Wire for Line {
    type Error = Never;

    fn read(&mut self, into: &mut [u8], patience: Duration) -> Result<usize, Never> {
        let until = self.now() + patience;
        let mut len = 0;
        while let Some(room) = into.get_mut(len) {
            match machine::get() {
                Some(byte) => {
                    *room = byte;
                    len += 1;
                }
                None if len > 0 || self.now() >= until => break,
                None => {}
            }
        }
        Ok(len)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<usize, Never> {
        bytes.iter().copied().for_each(machine::put);
        Ok(bytes.len())
    }

    fn now(&mut self) -> Instant {
        Instant(machine::now_us() * 1000)
    }
}

/// What arrives goes into the flash.
fn take(image: &mut Image, piece: Piece<'_>) -> Result<(), StoreError> {
    let fits = match piece {
        Piece::Begin(_) => {
            image.erase();
            true
        }
        Piece::Data(bytes) => image.write(bytes),
        Piece::End { .. } => image.end(),
    };
    if fits { Ok(()) } else { Err(StoreError::NoSpace) }
}

/// What the machine does after its start.
fn main(memory: &mut [u8; chosen::MEMORY]) -> ! {
    report::paint();
    loop {
        let mut image = Image::default();
        let mut store = Incoming::new(|piece: Piece<'_>| take(&mut image, piece));
        let config = chosen::config();
        let needed = config.receiver_memory();
        let Ok(mut engine) = chosen::Receiver::new(config, &mut memory[..]) else {
            report::say("boot: memory ", needed);
            machine::halt();
        };
        let Ok(outcome) = run(&mut engine, &mut Line, &mut store, &mut NoTrace);
        match (outcome, image.check()) {
            (Outcome::Done, Some(len)) => {
                report::say("\r\nboot: bytes ", len);
                report::say("boot: memory ", needed);
                report::say("boot: stack ", report::used());
                machine::start(HEADER);
            }
            _ => report::say("\r\nboot: no program, of ", image.len()),
        }
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    machine::halt()
}
