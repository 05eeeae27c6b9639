//! A file for a device by its profile: to the prompt, the command, the transfer, the check, and out again.
//!
//! `wetstring-device` makes a list of operations of the profile and the [`mod@vars`], and a conversation without I/O;
//! [`live`] runs that on a port.

mod live;
mod vars;

pub(crate) use live::{Device, send};
pub(crate) use vars::vars;
