//! The Kermit file transfer protocol (Kermit Protocol Manual, 6th edition, and its extensions).
//!
//! ```text
//! MARK LEN SEQ TYPE                     DATA... CHECK [EOL]     short packet, LEN 3..94
//! MARK ' ' SEQ TYPE LENX1 LENX2 HCHECK  DATA... CHECK [EOL]     long packet, to 9024
//! ```
//!
//! Reading order: [`frame`] finds packets in the stream of bytes, [`check`] guards them, [`packet`]
//! gives them types, [`encode`] and [`decode`] are the data field, [`params`] is the negotiation,
//! [`attributes`] describes files, and `sender` and `receiver` are the two state machines.

pub mod check;
pub mod decode;
pub mod encode;
pub mod frame;
pub mod prefix;
