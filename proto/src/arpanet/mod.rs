//! ARPANET hosts: the leaders between host and IMP (BBN Report 1822), the host-host protocol (NIC 8246, here \[HH\]),
//! and above it initial connection and file transfer.
//!
//! ```text
//! octet  0        1           2      3          4   5   6 7   8   9 ...
//!        flags    host 2      link   id 4       0   S   C     0   C bytes of S bits, a 1, zeros
//!        type     IMP 6              subtype
//!        `------- leader, 32 -------'           `- 40 bits -'     text, padding
//! ```
//!
//! A message goes into the net when its leader does, and its RFNM (ready for next message) comes back when the
//! other host has taken it. Link 0 carries the NCP's control commands, links 2 to 71 a connection each, in one
//! direction, by the number that the receiver has chosen.
//!
//! Reading order: [`leader`] is the header of every message, [`control`] what the hosts' NCPs say to each other,
//! [`word36`] has their words of 36 bits, [`ncp`] keeps the
//! connections, [`imp`] is what an IMP makes of a leader, [`icp`] makes a pair of connections of
//! a call, and [`ftp`] moves files over them; [`Sender`] and [`Receiver`] are engines of a host with
//! one such process.

mod bits;
pub mod config;
pub mod control;
pub mod ftp;
pub mod icp;
pub mod imp;
pub mod leader;
pub mod ncp;
mod registry;
mod transfer;
pub mod word36;

pub use config::Config;
pub use transfer::{Receiver, Sender};
