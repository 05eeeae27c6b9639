//! A deterministic laboratory of lines and hosts.
//!
//! The engines that move real files run here in virtual time over models of lines. Nothing reads a clock, an
//! operating system or a random device: a seed and a text such as `9600,delay=250ms,burst=8@2s` describe a run
//! completely, and running it twice gives the same trace, byte for byte.
//!
//! The modules: [`element`] is the interface of everything between two engines, [`serial`] is the basic
//! element, [`chain`] connects elements in series, [`pair`] runs two engines over an element, [`net`],
//! [`host`], [`tcp`], [`sack`] and [`quic`] are networks, computers, and TCP and QUIC between them, [`imp`] is the
//! ARPANET's subnet, [`today`] has USB, Bluetooth and LoRa, [`share`] lets several of them share one path,
//! [`slip`] carries packets over a serial line, [`store`] has files in memory, [`trace`] records events,
//! [`swarm`] looks for faults by seed, [`agenda`] orders time and [`random`] is the only source of randomness.
//!
//! Time is whole nanoseconds and rates are whole bits per second; remainders are carried, and no floating point
//! number affects a result.
#![forbid(unsafe_code)]

pub mod agenda;
pub mod bench;
pub mod capture;
pub mod chain;
pub mod compressor;
pub mod corpus;
pub mod digest;
pub mod element;
pub mod explain;
pub mod host;
pub mod imp;
pub mod modem;
pub mod net;
pub mod pair;
pub mod pattern;
pub mod quic;
pub mod random;
pub mod recording;
pub mod repeat;
pub mod report;
pub mod sack;
pub mod scenario;
pub mod serial;
pub mod share;
pub mod slip;
pub mod store;
pub mod swarm;
pub mod sweep;
pub mod table;
pub mod tcp;
pub mod terminal;
pub mod today;
pub mod trace;
pub mod window;

pub use element::{Element, End, Unit, Usage};
pub use pair::{Pair, PairReport, Standing};
pub use random::Random;
pub use serial::{LineModel, Serial};
pub use store::{MemoryFile, MemorySink, MemorySource};
pub use trace::Recorder;
pub use window::Window;
