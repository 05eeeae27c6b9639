//! LAPM, the error control of V.42: numbered frames, acknowledgements, and recovery of lost ones.
//!
//! ```text
//! | address | control            | information, at most N401 |   FCS-16 and flags: see hdlc
//! |  1      | 2 (I, RR, RNR, REJ, SREJ) |  I frames only     |
//! ```
//!
//! | item | here | source |
//! |---|---|---|
//! | window k | 15 frames | V.42 9.2.2, default |
//! | N401 | 128 octets | V.42 9.2.3, default |
//! | T401 | 1 s, and two full frames and twice the delay of the line | V.42 9.2.1 leaves the value to the implementation; 1 s is spandsp's |
//! | N400 | 5 | spandsp; another implementation has 10 |
//! | T402 | 0: an acknowledgement goes as soon as the line is free and no I frame carries it | V.42 9.2.5: an acknowledgement may be delayed |
//! | T403 | none: an idle link sends nothing | V.42 9.2.6, optional |
//! | REJ | always | V.42 8.4.4 |
//! | SREJ | a setting | V.42 8.4.5, optional, agreed by XID |
//!
//! The link is established when a run begins: detection phase, XID and SABME are over. A station that has asked
//! N400 times without an answer gives up, and the link is down permanently.
//!
//! Not supported: UI and BRK frames, TEST, the 32 bit check, and re-establishing a link.

mod frame;
mod station;

pub use frame::{Frame, Kind, Role};
pub use station::{Counters, Params, Station};
