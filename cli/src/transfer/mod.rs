//! One way to run any engine on any line with any store.
//!
//! [`job`] runs an engine on a line of bytes, [`datagrams`] on a line of datagrams, [`client`] has what a client of
//! a server needs. The rest is what they share: [`opening`] a line, what is known of it ([`port_facts`]), the
//! files ([`outgoing`], [`inbox`]), what the user sees ([`observer`], [`waiting`]), and the report at the end
//! ([`verdict`]).

pub(crate) mod account;
pub(crate) mod captured;
pub(crate) mod cleartext;
pub(crate) mod client;
pub(crate) mod datagrams;
mod detect;
pub(crate) mod device;
pub(crate) mod direction;
pub(crate) mod filter;
pub(crate) mod gather;
mod host_commands;
pub(crate) mod inbox;
pub(crate) mod job;
pub(crate) mod limits;
mod mini;
pub(crate) mod ncp;
pub(crate) mod observer;
pub(crate) mod opening;
pub(crate) mod outgoing;
pub(crate) mod port_facts;
pub(crate) mod raw;
pub(crate) mod setup;
pub(crate) mod shell;
pub(crate) mod speaks;
pub(crate) mod store;
pub(crate) mod talked;
mod tapped;
pub(crate) mod terminal_hint;
pub(crate) mod trace;
pub(crate) mod trzsz;
pub(crate) mod verdict;
pub(crate) mod waiting;
