//! A file for a device by its profile: to the prompt, the command, the transfer, the check, and out again.
//!
//! [`script`] makes a list of operations of the profile and the [`vars`]; [`conversation`] does them, without I/O;
//! [`live`] runs that on a port.

mod conversation;
mod live;
mod script;
mod vars;

pub(crate) use live::{Device, send};
pub(crate) use vars::Vars;
