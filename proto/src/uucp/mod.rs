//! UUCP with the `g` protocol: Chesson's packet driver, and the part of the session layer above it that
//! file transfer needs (Taylor UUCP's manual, here \[TUUCP\]).
//!
//! ```text
//! called: DLE Shere=name NUL              DLE ROK NUL DLE Pg NUL
//! caller:                    DLE Sname NUL                       DLE Ug NUL, INITA INITB INITC
//!
//! DLE k check check c xor                 control packet: k is 9
//! DLE k check check c xor data[2^(k+4)]   data packet: k is 1 to 8, 32 to 4096 bytes
//!
//! master: S name ~/name user -d D.0 0644 "" 0x204       data ... (a short packet of none)      H
//! slave:                                          SY                                     CY      HY
//! ```
//!
//! The window is 1 to 7 packets, set by the receiver of each direction; after a loss
//! all is retransmitted from there. The check has 16 bits over the data and the control byte, 8 more
//! cover the header: of damaged packets about one in 65,000 is accepted, undetected by the
//! layers above (docs/decisions/061). `CY` says only that the peer has stored the file.
//!
//! Reading order: [`frame`] finds packets in the stream of bytes, [`packet`] decodes the control byte,
//! `driver` is the protocol `g`, [`command`] has messages and commands, `session`
//! has the roles, [`Sender`] and [`Receiver`] are the engines.
//!
//! Not here: requests to fetch (`R`), to run (`X`, `E`) and spooled files, which stay in the peer's
//! queue where the protocol has an answer for that; restart in the middle of a file; the protocols other than `g`; logging in.

pub mod command;
pub mod config;
mod driver;
pub mod frame;
mod link;
pub mod packet;
mod receiving;
mod registry;
mod sending;
mod session;
mod sink;
mod source;
pub(crate) mod states;

pub use config::{Config, Role, SystemName};
pub use receiving::Receiver;
pub use sending::Sender;
