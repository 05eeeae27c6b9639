//! Real ports, stores and loops.
//!
//! A protocol engine (`wetstring_proto::Engine`) does no I/O. This crate gives it a line, a disk, a clock and a
//! user:
//!
//! ```text
//! LineSpec --open--> Port --+
//!                           +-- run(engine, port, store, watch) --> Ended
//! DiskStore / SinkStore ----+
//! ```
//!
//! * [`event`] waits for ports, signals and the keyboard;
//! * [`mod@line`] parses the LINE argument (`/dev/ttyUSB0`, `tcp://host:port`, `exec:...`);
//! * [`mod@port`] opens it: non-blocking reads and writes, and what is known about the line;
//! * [`datagram`] is the same for protocols of datagrams: sockets, sessions, many peers;
//! * [`hex()`] writes bytes as digits;
//! * [`imp`] is the interface of an ARPANET host, in the format of emulated IMPs;
//! * [`live`] runs the laboratory's line in real time between two ports;
//! * [`lookout`] detects a peer of another protocol, or one in the same role;
//! * [`mod@run`] runs an engine until it ends;
//! * [`signals`] turns Ctrl-C and the like into a clean end, and a second one into an immediate one;
//! * [`disk`] stores files: names from a peer are confined, nothing is overwritten unless configured;
//! * [`charset`] translates text between the character sets of files and of the wire;
//! * [`serve`] is the other side of a Kermit server: its files, its rules, many clients at once;
//! * [`shell`] moves files through a shell that has no receiver;
//! * [`trzsz`] moves files to and from `trz` and `tsz`;
//! * [`sink`] writes to a stream, for `-o -`;
//! * [`zone`] is local time, which Kermit uses for dates.
//!
//! What differs between systems is in [`os`].

#![forbid(unsafe_code)]

pub mod charset;
pub mod clock;
pub mod datagram;
pub mod disk;
pub mod event;
mod hex;
pub mod imp;
mod last_line;
pub mod line;
pub mod live;
pub mod lookout;
pub mod os;
mod os_error;
mod page;
pub mod port;
pub mod run;
mod saved;
pub mod serve;
pub mod shell;
pub mod signals;
pub mod sink;
pub mod slip;
pub mod stack;
pub mod trzsz;
pub mod zone;

pub use disk::DiskStore;
pub use hex::hex;
pub use last_line::last_line;
pub use line::LineSpec;
pub use lookout::{Expected, Finding, Lookout, Probes};
pub use os::terminal;
pub use os_error::in_words;
pub use port::{Port, PortFacts, open};
pub use run::{Ended, RunOptions, Watch, run};
pub use signals::Signals;
pub use sink::SinkStore;
