//! ZMODEM (Forsberg, "The ZMODEM Inter Application File Transfer Protocol", 14 October 1988, and
//! what its heirs made of it).
//!
//! ```text
//! ZPAD ZPAD ZDLE B  type d0 d1 d2 d3 crc16 CR LF [XON]           hex header
//! ZPAD ZDLE A|C     type d0 d1 d2 d3 crc16|crc32                 binary header
//! data... ZDLE end crc16|crc32                                   data subpacket, to 8192 bytes
//!
//! sender    ZRQINIT         ZFILE,info         ZDATA,data...  ZEOF          ZFIN       OO
//! receiver           ZRINIT             ZRPOS                       ZRINIT        ZFIN
//! ```
//!
//! The sender streams; the receiver only sends on errors (ZRPOS: continue from here) and
//! at an end. Reading order: [`escape`] is the coding of bytes, [`frame`] finds headers and data in
//! the stream, [`packet`] gives them types, [`info`] describes files, [`states`] is the whole
//! protocol on one screen, and [`Sender`] and [`Receiver`] are the two engines.
//!
//! Not here: LZW and encryption (files so coded are refused), sparse files, the 8th-bit escape
//! (defined nowhere), the receiver's window of variable headers (ZRRQWN), TIMESYNC.

// Headers and options are handed on by reference as the frames they came from are.
#![allow(clippy::trivially_copy_pass_by_ref)]

pub mod config;
pub mod escape;
pub mod frame;
mod governor;
pub mod info;
mod length;
mod link;
mod meter;
mod pace;
pub mod packet;
mod receiving;
mod registry;
pub mod rle;
mod scan;
mod sending;
mod sink;
mod source;
pub mod states;
mod timing;

pub use config::{Attention, Commands, Config};
pub use receiving::Receiver;
pub use sending::{BadCommand, Sender};

use frame::{Found, FrameReader};

/// The role of a ZMODEM peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PeerRole {
    /// A sender (ZRQINIT, or what follows ZRINIT at once): start a receiver.
    Sender,
    /// A receiver (ZRINIT, ZCHALLENGE): start a sender.
    Receiver,
}

/// Finds the first good header of a ZMODEM session in `bytes`, and returns its offset and the peer's
/// role. The check of the header has to be right, so that text which only displays the trigger
/// starts nothing.
pub fn recognise(bytes: &[u8]) -> Option<(usize, PeerRole)> {
    let mut at = 0;
    while at < bytes.len() {
        at += bytes[at..].iter().position(|byte| byte & 0x7F == packet::ZPAD)?;
        let mut reader = FrameReader::new(escape::Dropping::FlowControl);
        // Again from each ZPAD: a header is only a few bytes.
        let end = bytes.len().min(at + 2 * packet::MAX_HEADER);
        if let (_, Some(Found::Header(header))) = reader.next(&mut [], &bytes[at..end]) {
            match header.kind {
                packet::kind::ZRQINIT
                | packet::kind::ZFILE
                | packet::kind::ZSINIT
                | packet::kind::ZCOMMAND => return Some((at, PeerRole::Sender)),
                packet::kind::ZRINIT | packet::kind::ZCHALLENGE => {
                    return Some((at, PeerRole::Receiver));
                }
                _ => {}
            }
        }
        at += 1;
    }
    None
}
