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
//! on one screen, and [`Sender`] and [`Receiver`] are the two engines of a transfer. [`command`] is
//! what a client asks of a server, [`Server`] and [`Client`] are the two engines of that exchange;
//! they hand the line over to the other two and take it back. [`capability`] is what two of our own ends agree on, and
//! [`bundle`] how files go between them, `correction` how errors of the line are corrected.
//!
//! Not implemented: character sets, checkpointing (never deployed).

mod arrivals;
pub mod attributes;
pub mod bundle;
pub mod capability;
mod charset;
pub mod check;
pub mod command;
mod command_memory;
pub mod config;
mod correction;
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
mod reason;
mod receiving;
mod registry;
mod requesting;
mod scan;
mod sending;
mod serving;
mod sink;
mod source;
pub mod states;
mod timing;
mod weak;
mod zone;

pub use crate::charset::{Charset, Encoding};
pub use config::{BlockCheck, ByteOrder, Config, LineFacts, Names, Prefixing, Switch, UnknownSet};
pub use receiving::Receiver;
pub use requesting::Client;
pub use sending::{FILE_CHANGED, FILE_KEPT, FILE_MISSING, Sender};
pub use serving::Server;
pub use zone::Zone;
