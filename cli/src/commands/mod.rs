//! The verbs, one file or folder each, and the personalities.

pub(crate) mod client;
pub(crate) mod completions;
pub(crate) mod connect;
pub(crate) mod demo;
pub(crate) mod explain;
pub(crate) mod install_links;
pub(crate) mod kermit;
pub(crate) mod key;
pub(crate) mod lab;
pub(crate) mod line;
pub(crate) mod man;
pub(crate) mod ncp;
pub(crate) mod personality;
pub(crate) mod ports;
pub(crate) mod probe;
pub(crate) mod receive;
#[cfg(test)]
mod reference;
pub(crate) mod send;
pub(crate) mod serve;
pub(crate) mod shell;
pub(crate) mod show;
pub(crate) mod slip;
pub(crate) mod users;
pub(crate) mod version;
pub(crate) mod web;
pub(crate) mod wrap;
