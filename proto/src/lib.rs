//! Kermit, XMODEM, YMODEM, ZMODEM and others as engines that do no I/O and allocate nothing.
//!
//! To send and receive files over anything that is `Read` and `Write` (feature `std`; the same without it over a
//! [`blocking::Wire`]):
//!
//! ```
//! # #[cfg(feature = "std")] {
//! use wetstring_proto::blocking::{Incoming, Outgoing, Piece, Stream, run};
//! use wetstring_proto::xymodem::{Config, Receiver, Sender};
//! use wetstring_proto::{NoTrace, Outcome};
//! # use std::time::Duration;
//! # let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
//! # let port = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
//! # let peer = listener.accept().unwrap().0;
//! # port.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
//! # peer.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
//!
//! let sending = std::thread::spawn(move || {
//!     let config = Config::default(); // YMODEM
//!     let memory = vec![0; config.sender_memory()];
//!     let mut sender = Sender::new(config, memory).unwrap();
//!     let mut file = Outgoing::new(b"hello.txt", b"hello, world");
//!     run(&mut sender, &mut Stream::new(peer), &mut file, &mut NoTrace).unwrap()
//! });
//!
//! let config = Config { linger: Default::default(), ..Config::default() };
//! let memory = vec![0; config.receiver_memory()];
//! let mut receiver = Receiver::new(config, memory).unwrap();
//! let mut received = Vec::new();
//! let mut files = Incoming::new(|piece| {
//!     match piece {
//!         Piece::Begin(info) => assert_eq!(info.name, b"hello.txt"),
//!         Piece::Data(bytes) => received.extend_from_slice(bytes),
//!         Piece::End { complete } => assert!(complete),
//!     }
//!     Ok(())
//! });
//! let outcome = run(&mut receiver, &mut Stream::new(port), &mut files, &mut NoTrace).unwrap();
//! assert_eq!((outcome, sending.join().unwrap()), (Outcome::Done, Outcome::Done));
//! assert_eq!(received, b"hello, world");
//! # }
//! ```
//!
//! Other protocols have the same two engines: [`kermit`], [`zmodem`], and each is a feature. With
//! `default-features = false` XMODEM and YMODEM remain. The feature `tiny` is for boot loaders: the receivers of [`tiny`] take 1 to
//! 3 kB of code, where the engines take 20 to 50.
//!
//! # How it works
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
//! Modules: [`engine`] is the contract, [`blocking`] a loop that fulfils it, [`asynchronous`] the same for `async`, [`time`], [`trace`], [`mod@file`], [`stats`] and [`memory`]
//! belong to it, [`mod@line`] is what is known of the line, [`mod@settings`] is the one description of
//! a setting; [`arpanet`], [`kermit`], [`netblt`], [`uucp`], [`xymodem`] and [`zmodem`] are protocols that move
//! files, [`slip`] carries IP over the line, [`telnet`] is the layer between a protocol and a Telnet connection,
//! and [`peer`] detects the peer's protocol from its first bytes.
#![no_std]
#![forbid(unsafe_code)]
// What one protocol alone needs of the shared parts is unused without it.
#![cfg_attr(
    not(all(
        feature = "arpanet",
        feature = "kermit",
        feature = "netblt",
        feature = "slip",
        feature = "telnet",
        feature = "tiny",
        feature = "uucp",
        feature = "zmodem"
    )),
    allow(dead_code, unused_imports, unused_macros, rustdoc::broken_intra_doc_links)
)]

#[cfg(test)]
extern crate std;

#[cfg(feature = "arpanet")]
pub mod arpanet;
pub mod asynchronous;
pub mod blocking;
pub mod charset;
pub mod checksum;
pub mod crc;
pub mod difference;
pub mod engine;
mod event;
pub mod file;
#[cfg(feature = "kermit")]
pub mod kermit;
mod learned;
pub mod line;
mod machine;
pub mod memory;
#[cfg(feature = "netblt")]
pub mod netblt;
mod outcome;
#[cfg(all(feature = "kermit", feature = "zmodem"))]
pub mod peer;
mod reason;
pub mod registry;
mod session;
pub mod settings;
#[cfg(feature = "slip")]
pub mod slip;
pub mod stats;
#[cfg(feature = "telnet")]
pub mod telnet;
pub mod time;
#[cfg(feature = "tiny")]
pub mod tiny;
pub mod trace;
mod turn;
#[cfg(feature = "uucp")]
pub mod uucp;
pub mod xymodem;
#[cfg(feature = "zmodem")]
pub mod zmodem;

pub use engine::{
    Blame, Command, Cx, DeclinedJob, Engine, Event, Failure, FailureKind, Outcome, Status, Wants,
};
pub use file::{
    DigestKind, Entry, Extras, FileInfo, FileKind, KermitExtras, Left, Refusal, Remote,
    RemoteReply, Reply, Request, Store, StoreError, Wish, ZmodemExtras,
};
pub use learned::Learned;
pub use line::LineFacts;
pub use memory::{Memory, MemoryTooSmall};
pub use session::states;
pub use stats::Stats;
pub use time::{BitRate, Duration, Instant, Span};
pub use trace::{Again, Load, NoTrace, Trace, TraceEvent, Wait};
