//! The client of a server: its commands, and which answers to trust.

pub(crate) mod answer;
pub(crate) mod remote;
pub(crate) mod requested;
