//! SLIP (RFC 1055, June 1988) and compressed SLIP (Van Jacobson, RFC 1144, February 1990): IP over a
//! serial line that stays interactive during file transfers.
//!
//! ```text
//! packet -> [queue: class, flow] -> compress -> END frame END -> line
//!
//! 4x ...  IP as it is    7x ...  TCP whole, with its slot    8x..Fx ...  TCP with 3 to 19 bytes of header
//! ```
//!
//! A [`Link`] is one end of a line, similar to an [`Engine`](crate::Engine): it does no I/O, is
//! told the time, lends bytes and is told how many the port took. Its parts are independent. Reading order:
//! [`mod@frame`] finds frames in bytes, [`packet`] reads headers, [`compress`] and
//! [`decompress`] are RFC 1144, [`class`] gives priorities and [`queue`] queues packets, [`mtu`]
//! is the arithmetic of latency, [`options`] removes TCP's timestamps, [`differential`] is a scheme for the
//! laboratory; docs/reference/slip-library.md is the page for users, docs/decisions/060 says what the standards leave open.
//!
//! Not here: negotiation (there is none), fragmentation (the caller keeps to the MTU), keep-alive
//! and outfill, the escapes of RFC 1055's successors (PPP).

mod blocks;
pub mod class;
pub mod compress;
pub mod config;
pub mod decompress;
pub mod differential;
pub mod frame;
pub mod link;
pub mod mtu;
pub mod options;
pub mod packet;
mod probe;
pub mod queue;
mod settings;
pub mod table;

pub use class::{Class, Rules};
pub use compress::{Compressor, CompressorStats, Framed, NotIp};
pub use config::{BadConfig, Compression, Config, Parts};
pub use decompress::{Decompressor, DecompressorStats, HEADROOM, Refused};
pub use frame::{Decoder, DecoderStats};
pub use link::{Link, LinkStats};
pub use mtu::Rate;
pub use queue::{ClassStats, Queue, QueueConfig};
pub use settings::{Ids, Settings, Timestamps};
pub use table::BadTable;
