//! QUIC in the laboratory: two real peers over a network, together one element that carries bytes.
//!
//! ```text
//! engine | -> stream -> [quinn-proto] -> UDP, IP -> network -> [quinn-proto] -> stream -> | engine
//! ```
//!
//! The peers are quinn-proto's; all time and randomness are the laboratory's, and nothing is encrypted (see
//! `crypto.rs`, `clock.rs`). Each end writes one stream. The connection is established over the network, from
//! time 0 on. A packet on the network is 28 bytes longer than its datagram. Parameters, after `quic:`
//!
//! | parameter | meaning | default |
//! |---|---|---|
//! | `payload=1472` | bytes of a full datagram | 1472 |
//! | `window=4M` | receive windows of the connection and of its streams, and what a sender keeps | 4M |
//! | `cc=cubic` | `reno`, `cubic`, `bbr` | `cubic` |
//! | `seed=7` | connection identifiers and all other chance | 1 |
//!
//! The hosts at both ends take no time: their costs are modelled for TCP only. Notes on the library are in
//! `docs/decisions/058-comparators.md`.

#[cfg(feature = "quic")]
mod clock;
#[cfg(feature = "quic")]
mod connection;
#[cfg(feature = "quic")]
mod crypto;
mod model;
#[cfg(feature = "quic")]
mod peer;

#[cfg(feature = "quic")]
pub use connection::Quic;
pub use model::{QuicCongestion, QuicModel};

use crate::element::Element;

/// Whether there is QUIC in this program.
pub const IS_BUILT: bool = cfg!(feature = "quic");

/// A connection of this model over a network that carries datagrams.
///
/// # Panics
///
/// If the network carries bytes, or the program was built without QUIC, in which no model of it can be read.
pub fn element(model: &QuicModel, network: Box<dyn Element>) -> Box<dyn Element> {
    #[cfg(feature = "quic")]
    return Box::new(Quic::new(model, network));
    #[cfg(not(feature = "quic"))]
    {
        let _ = network;
        panic!("expected a program with QUIC for {model}");
    }
}
