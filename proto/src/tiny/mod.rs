//! Receivers for boot loaders: XMODEM-CRC, YMODEM and Kermit in 1 to 3 kB of code each, without any other part of this crate.
//!
//! The engines of [`xymodem`](crate::xymodem) and [`kermit`](crate::kermit) have every setting at run time, both directions, traces and
//! statistics. These have nothing but what a device needs to receive a program over a UART. They do no I/O: a byte comes in by a
//! function, the time by a clock of milliseconds, and [`Step`] says what is to be done.
//!
//! ```
//! use wetstring_proto::tiny::{Limits, Step, Xmodem};
//!
//! # fn load(mut uart: impl FnMut() -> Option<u8>, mut put: impl FnMut(u8), mut clock_ms: impl FnMut() -> u32,
//! #     mut program_flash: impl FnMut(&[u8]) -> bool) -> bool {
//! let mut block = [0; 1024]; // 128 without XMODEM-1K
//! let mut receiver = Xmodem::new(&mut block, Limits::default());
//! let mut whole = false;
//! loop {
//!     match receiver.step(clock_ms(), &mut uart) {
//!         Step::Write(bytes) => bytes.iter().for_each(|byte| put(*byte)),
//!         Step::Data(bytes) => {
//!             if !program_flash(bytes) {
//!                 receiver.cancel();
//!             }
//!         }
//!         Step::End { complete } => whole = complete,
//!         Step::Done | Step::Failed(_) => break,
//!         Step::Wait | Step::Begin(_) | Step::Size(_) => {}
//!     }
//! }
//! # whole }
//! # assert!(!load(|| None, |_| {}, { let mut now = 0; move || { now += 1000; now } }, |_| true));
//! ```
//!
//! A block is acknowledged in the step after its data, so flash may take its time: the sender waits. There is no parity, no checksum
//! of eight bits in XMODEM, no window in Kermit.

mod kermit;
mod xymodem;

pub use kermit::Kermit;
pub use xymodem::{Xmodem, XyReceiver, Ymodem};

/// What the caller does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step<'a> {
    /// Nothing.
    Wait,
    /// Send these bytes.
    Write(&'a [u8]),
    /// A file begins: flash may be erased. XMODEM has no names, says so with its first block, and of an empty file not at all.
    Begin(&'a [u8]),
    /// The length of this file in bytes, if its sender says it: before its data.
    Size(u32),
    /// The next bytes of the file. They are undamaged.
    Data(&'a [u8]),
    /// The file has ended. Only Kermit has files that are not complete: their sender gave up.
    End {
        /// All of it has come.
        complete: bool,
    },
    /// The end: the sender has no more files.
    Done,
    /// The end. Files that had ended before are whole.
    Failed(Failure),
}

/// Why a transfer failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// No new block within [`Limits::patience_ms`], of which every block is asked for again.
    Silence,
    /// The peer cancelled.
    Cancelled,
    /// The caller did, by `cancel`.
    Aborted,
    /// The peer sent what may not come here.
    Violation,
    /// The file is longer or shorter than its sender said: with YMODEM, by a block or more.
    Length,
}

/// How long a receiver waits. All of its other times are constants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Milliseconds without a new block after which it fails: at the start, and later.
    pub patience_ms: u32,
    /// Milliseconds after the end during which a lost last acknowledgement is sent again. Senders ask for it after one to ten
    /// seconds; a device that must start at once leaves that to them.
    pub linger_ms: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { patience_ms: 60_000, linger_ms: 1000 }
    }
}

/// The decimal number that these bytes begin with; `None` if there is none, or if it is too large.
fn decimal(bytes: &[u8]) -> Option<u32> {
    let mut value = None;
    for byte in bytes {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        let before = value.unwrap_or(0);
        // One that may not fit is left out with the rest: `checked_mul` takes a product of 64 bits.
        if before >= u32::MAX / 10 {
            return None;
        }
        value = Some(before * 10 + u32::from(digit));
    }
    value
}

/// Milliseconds from one moment to another; the clock may turn over in between.
fn since(now: u32, then: u32) -> u32 {
    now.wrapping_sub(then)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_end_where_digits_do() {
        assert_eq!(decimal(b""), None);
        assert_eq!(decimal(b" 7"), None);
        assert_eq!(decimal(b"0"), Some(0));
        assert_eq!(decimal(b"6347 3314742513 100644"), Some(6347));
        assert_eq!(decimal(b"4294967289"), Some(4_294_967_289));
        assert_eq!(decimal(b"4294967296"), None);
        assert_eq!(decimal(b"99999999999999999999999"), None);
    }

    #[test]
    fn the_clock_turns_over() {
        assert_eq!(since(5, u32::MAX - 4), 10);
    }
}
