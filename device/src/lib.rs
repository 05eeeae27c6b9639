//! A file for a device by its profile: to the prompt, the command, the transfer, the check, and out again.
//!
//! [`profile`] has the profiles, which are texts in TOML; [`script`] makes a list of operations of one and the [`vars`];
//! [`conversation`] does them, without I/O: whatever has a line runs it, the program on a port, the page in a
//! browser. Nothing here reads a clock.
#![forbid(unsafe_code)]

pub mod conversation;
pub mod profile;
pub mod script;
pub mod vars;
