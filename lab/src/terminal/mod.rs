//! What stands between a terminal line and a host: a protocol converter that thinks in turns, and
//! a terminal server that has its own ideas of characters.

pub mod ibm7171;
pub mod telnet;

pub use ibm7171::{Ibm7171, Ibm7171Model};
pub use telnet::{TelnetModel, TelnetPath};
