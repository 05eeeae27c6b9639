//! Protocol engines that do no I/O.
//!
//! Every protocol is an [`Engine`]: bytes go in, bytes are lent out, time is passed in, and files
//! are accessed through [`Request`]s. Nothing here reads a clock, opens a file or allocates while
//! a transfer runs, so the same engine serves a serial port, a socket, a bare-metal target, a
//! browser and the laboratory's virtual time.
//!
//! ```text
//! wire bytes -> frame -> packet -> sender/receiver -> Request to the store (and Event to the user)
//! wire bytes <- frame <- packet <- sender/receiver <- Reply from the store (and Command)
//! ```
//!
//! Modules: [`engine`] is the contract, [`time`], [`trace`], [`mod@file`], [`stats`] and [`memory`]
//! belong to it, [`mod@line`] is what is known of the line, [`mod@settings`] is the one description of
//! a setting; [`arpanet`], [`kermit`], [`netblt`], [`uucp`], [`xymodem`] and [`zmodem`] are protocols that move
//! files, [`slip`] carries IP over the line, [`telnet`] is the layer between a protocol and a Telnet connection,
//! and [`peer`] detects the peer's protocol from its first bytes.
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
    DigestKind, Extras, FileInfo, FileKind, KermitExtras, Left, Refusal, Remote, RemoteReply,
    Reply, Request, Store, StoreError, Wish, ZmodemExtras,
};
pub use line::LineFacts;
pub use memory::{Memory, MemoryTooSmall};
pub use session::states;
pub use stats::Stats;
pub use time::{BitRate, Duration, Instant, Span};
pub use trace::{Again, Load, NoTrace, Trace, TraceEvent, Wait};
