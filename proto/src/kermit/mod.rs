//! The Kermit file transfer protocol (Kermit Protocol Manual, 6th edition, and its extensions).
//!
//! ```text
//! MARK LEN SEQ TYPE                     DATA... CHECK [EOL]     short packet, LEN 3..94
//! MARK ' ' SEQ TYPE LENX1 LENX2 HCHECK  DATA... CHECK [EOL]     long packet, to 9024
//! ```
//!
//! Reading order: [`frame`] finds packets in the stream of bytes, [`check`] guards them, [`packet`]
//! gives them types, [`encode`] and [`decode`] are the data field with [`prefix`] tables,
//! [`params`] is the negotiation, [`attributes`] describes files, [`states`] is the whole protocol
//! on one screen, and [`Sender`] and [`Receiver`] are the two engines.
//!
//! Not here: server mode and REMOTE commands, character sets, checkpointing (never deployed).

mod arrivals;
pub mod attributes;
pub mod check;
pub mod config;
pub mod decode;
pub mod encode;
mod flight;
pub mod frame;
mod length;
mod link;
pub mod names;
pub mod packet;
pub mod params;
pub mod prefix;
mod probe;
mod receiving;
mod scan;
mod sending;
mod sink;
mod source;
pub mod states;
mod timing;
mod zone;

pub use config::{Config, LineFacts, Prefixing, Switch};
pub use receiving::Receiver;
pub use sending::Sender;
pub use zone::Zone;
