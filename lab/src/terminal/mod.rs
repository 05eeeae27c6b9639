//! Devices between a terminal line and a host: a protocol converter with half duplex turns, and a terminal
//! server that interprets characters.

pub mod ibm7171;
pub mod telnet;

pub use ibm7171::{Ibm7171, Ibm7171Model};
pub use telnet::{TelnetModel, TelnetPath};
