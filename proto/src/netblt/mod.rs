//! NETBLT (RFC 998, March 1987, with the changes of RFC 1030, November 1987): bulk data in large
//! buffers over long and fast datagram networks, at a rate and not by a window.
//!
//! ```text
//! active                      passive
//! OPEN  ------------------>            sizes, burst values, client string
//!       <------------------  RESPONSE  the same or more restrictive
//! sender                      receiver
//!       <------------------  CONTROL   GO(1) GO(2)
//! DATA DATA LDATA  ------->            buffer 1, in bursts by the clock
//! DATA DATA ...    ------->            buffer 2
//!       <------------------  CONTROL   OK(1) GO(3): everything unacknowledged is retransmitted
//!       <------------------  CONTROL   RESEND(2: 7, 9)
//! ...                                  the last OK: the file is complete, verified and in place
//!       <------------------  DONE
//! ```
//!
//! Either end may open. The timers are the receiver's; the sender keeps a rate, which the receiver
//! measures and offers in its OK messages. A file is a connection; a batch is one after the other,
//! each with its own port and unique ID. Reading order: [`packet`] and [`control`] are the bytes,
//! [`checksum`] theirs, [`Config`] what a user may choose, [`Sender`] and [`Receiver`] the two
//! engines; docs/protocols/netblt.md §10 has the client string, docs/decisions/050 to 053 what RFC 998 leaves open.
//!
//! Not here: addresses and security, which belong to the port; fragmentation, which is never used.

mod bits;
pub mod config;
pub mod control;
mod info;
mod link;
mod messages;
pub mod packet;
mod ranges;
mod rate;
mod receiving;
mod registry;
mod sending;
mod sequence;
mod sink;
mod source;
pub(crate) mod states;
mod window;

pub use crate::checksum;
pub use config::{Config, Role};
pub use receiving::{Measured, Receiver};
pub use sending::Sender;
