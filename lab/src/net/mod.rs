//! Networks: elements that carry datagrams, and the texts that describe them.
//!
//! | element | is |
//! |---|---|
//! | [`ethernet`] | a shared cable with carrier sense, collisions and the traffic of others |
//! | [`path`] | a routed path: bottleneck, queue, delay, jitter, loss, reordering |
//! | [`shared`] | a routed path that several connections share |
//! | [`slotted`] | a satellite hop with reservations |
//! | [`wideband`] | where the numbers of the Wideband network come from |
//! | [`nic`] | a network interface that is deaf while it is busy |
//! | [`ring`] | a token ring |
//! | [`trace`] | a link whose rate changes: mahimahi's traces, LTE, 5G, Starlink; `CoDel` and FQ |
//! | [`wifi`] | Wi-Fi with contention, aggregates and changes of the rate |
//! | [`headers`] | the headers of IP and UDP before each datagram |
//! | [`chain`] | several in a row |
//!
//! A whole network is one text (see [`Network`]):
//!
//! ```text
//! tcp:mss=1460,window=32K,nagle,delack=200ms over ethernet:10M,load=30% with host:send=300us+50ns
//! nic:3c500 + ethernet:10M + nic:3c500,flip
//! ```

pub mod chain;
pub(crate) mod chance;
pub mod ethernet;
pub(crate) mod flight;
pub mod headers;
pub mod nic;
pub(crate) mod parse;
pub mod path;
pub mod ring;
pub mod shared;
pub mod slotted;
mod spec;
mod station;
pub mod trace;
pub mod wideband;
pub mod wifi;

pub use chain::{DATAGRAM_MAX, NetChain};
pub use chance::Load;
pub use ethernet::{Ethernet, EthernetModel};
pub use headers::Headers;
pub use nic::{Nic, NicModel};
pub use parse::{BadNet, Cost, rate};
pub use path::{Path, PathModel, Queue, Reorder};
pub use ring::{Ring, RingModel};
pub use shared::Shared;
pub use slotted::{Slotted, SlottedModel};
pub use spec::{BadNetwork, Link, Network};
pub use trace::{TraceLink, TraceModel};
pub use wifi::{Wifi, WifiModel};
