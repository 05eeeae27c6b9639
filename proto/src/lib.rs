//! Protocol engines that do no I/O.
//!
//! Every protocol is an [`Engine`]: bytes go in, bytes are lent out, time is told to it, and files
//! are asked for through [`Request`]s. Nothing here reads a clock, opens a file or allocates while
//! a transfer runs, so the same engine serves a serial port, a socket, a bare-metal target, a
//! browser and the laboratory's virtual time.
//!
//! ```text
//! wire bytes -> frame -> packet -> sender/receiver -> Request to the store (and Event to the user)
//! wire bytes <- frame <- packet <- sender/receiver <- Reply from the store (and Command)
//! ```
//!
//! The rooms: [`engine`] is the contract, [`time`], [`trace`], [`mod@file`], [`stats`] and [`memory`]
//! are its companions, [`mod@line`] is what is known of the line, [`mod@settings`] is the one description of
//! a setting; [`arpanet`], [`kermit`], [`netblt`], [`uucp`], [`xymodem`] and [`zmodem`] are protocols that move
//! files, [`slip`] carries IP over the line, for whatever moves files there, [`telnet`] is what stands
//! between a protocol and a Telnet connection, and [`peer`] tells by its first words what the peer speaks.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

pub mod arpanet;
pub mod charset;
pub mod checksum;
pub mod crc;
pub mod engine;
mod event;
pub mod file;
pub mod kermit;
pub mod line;
mod machine;
pub mod memory;
pub mod netblt;
mod outcome;
pub mod peer;
mod reason;
pub mod registry;
mod session;
pub mod settings;
pub mod slip;
pub mod stats;
pub mod telnet;
pub mod time;
pub mod trace;
pub mod uucp;
pub mod xymodem;
pub mod zmodem;

pub use engine::{Blame, Command, Cx, Engine, Event, Failure, FailureKind, Outcome, Status, Wants};
pub use file::{
    DigestKind, FileInfo, FileKind, Left, Refusal, Reply, Request, Store, StoreError, Wish,
};
pub use line::LineFacts;
pub use memory::{Memory, MemoryTooSmall};
pub use session::states;
pub use stats::Stats;
pub use time::{BitRate, Duration, Instant, Span};
pub use trace::{Again, Load, NoTrace, Trace, TraceEvent, Wait};
