//! XMODEM and YMODEM (Christensen 1982; Forsberg's reference of 1988, here \[XY88\]).
//!
//! ```text
//! SOH n 255-n data[128]  check      check: sum of the data, 1 byte, or CRC-16, high byte first
//! STX n 255-n data[1024] check      both sizes may be mixed; n is 1, 2, ... 255, 0, 1, ...
//! EOT                               after the last block
//! ```
//!
//! The receiver starts: NAK requests checksums, `C` CRCs, `G` streaming without
//! acknowledgements. It answers each block with ACK or NAK; CAN CAN ends everything. YMODEM puts a
//! block 0 with name, length, time and mode before each file, and an empty one after the last.
//!
//! | lost | XMODEM | YMODEM |
//! |---|---|---|
//! | name, time, mode | yes: the store is offered an empty name | no |
//! | length | yes: the last block's padding stays, unless `truncate-pad` is set | no |
//! | more than one file | yes: the others are refused | no |
//! | skipping one file | yes: a refusal or a cancel ends everything | yes, the same |
//!
//! Reading order: [`frame`] finds blocks in the stream of bytes, [`packet`] is the content of block
//! 0, [`states`] is the whole protocol on one screen, [`Sender`] and [`Receiver`] are the engines.
//!
//! Not here: as a receiver, the "CK" prefix and block counts of KMD and IMP, and the windowed
//! relatives (WXMODEM, SEAlink).

pub mod config;
pub mod frame;
mod length;
mod link;
mod pace;
pub mod packet;
mod receiving;
mod registry;
mod sending;
mod sink;
mod source;
pub mod states;

pub use config::{BlockLength, Config, FirstEot, Variant};
pub use receiving::Receiver;
pub use sending::Sender;
