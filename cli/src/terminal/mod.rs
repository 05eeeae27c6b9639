//! The terminal on a line: what `wst connect`, CONNECT of the Kermit language and the wrapper share.
//!
//! ```text
//! keyboard --> [escape key?] --> line ends --> line
//! screen  <--- hexadecimal, times, line ends <-- line --> log, pattern
//! ```
//!
//! Bytes pass unchanged unless told otherwise: what the peer draws is meant for the terminal that this program
//! runs in.

mod actions;
pub(crate) mod editor;
pub(crate) mod keys;
pub(crate) mod log;
mod plugged;
mod questions;
pub(crate) mod screen;
mod session;
mod transfers;

pub(crate) use plugged::is_missing;
pub(crate) use session::{End, Options, RunScript, Session};
