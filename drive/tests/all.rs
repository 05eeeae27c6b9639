//! The tests of ports, stores and servers. One program, since linking each file by itself took minutes;
//! a file is a module here, and its tests are run by its name: `cargo test --workspace FILE::`.
//!
//! `disk`, `ports`, `signals` and `zone` are programs of their own: they start themselves again, under limits or with signals.

mod common;
mod pump;

mod code;
mod datagrams;
mod difference;
#[cfg(unix)]
mod disk_entries;
mod disk_sending;
mod doors;
mod line;
mod live;
mod live_elements;
mod lookout;
mod names;
mod orders;
mod parts;
mod pieces;
mod quotas;
mod returning;
mod run;
mod serve;
mod sessions;
mod slip;
mod stack;
mod stack_fragments;
mod stored;
mod trzsz;
mod trzsz_forms;
