//! Datagrams: the ports of NETBLT, from the socket to the engine.
//!
//! A [`Port`](crate::Port) is one byte stream to one peer. Datagrams differ: one socket carries them from and
//! to many peers, in batches, and a peer's identity must be proved before it is believed. So they have an
//! interface of their own:
//!
//! ```text
//! Engine <-> Association <-> Session (Noise) <-> Endpoint (UDP, or IP protocol 30) <-> others
//!            one per peer  or plain           one socket for all of them
//! ```
//!
//! * [`endpoint`] is the socket: batches, segmentation offload, never fragments (quinn-udp);
//! * [`keys`] are the files: this host's key pair, known hosts, keys that may come in;
//! * [`secure`] is the session: handshake, cookie, replay window, explicit nonces;
//! * [`host`] runs the engines of all peers: [`dial`] has one, a [`listen`]er several, each within its
//!   [`limits`].
//!
//! Why: `docs/decisions/055` to `057`.

mod bundle;
pub mod endpoint;
pub mod host;
pub mod keys;
pub mod limits;
mod outbox;
pub mod plain;
pub mod secure;
mod sizes;

pub use endpoint::Endpoint;
pub use host::{Acceptor, HostOptions, Peer, SessionHandler, dial, listen};
pub use keys::{Identity, PublicKey, Secret};
pub use limits::Limits;
pub use secure::{Credentials, Phrase};
