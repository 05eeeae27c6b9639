//! Files through a shell that has no receiver: its own tools decode the lines that it is sent.
//!
//! ```text
//! here                                       the shell, at its prompt
//!  (w=4f1e09c2;...;while read -r l;do eval ...;done)    one line; from here on no echo, no prompt
//!                                 <--- @4f1e09c2 up tty
//! d(){ base64 -d;};...            --->                                what is there?
//!                                 <--- @4f1e09c2 ok
//! r 7 1                           --->
//! 7 lines of base64               --->   head -n 7 | base64 -d >> ./.wst-4f1e09c2
//!                                 <--- @4f1e09c2 1
//! ...
//! a $(k<"$t")                     --->   sha256sum
//!                                 <--- @4f1e09c2 9f86d081...  -
//! mv                              --->                                only now it has its name
//! exit                            --->                                echo as before, no temporary file
//!                                 <--- @4f1e09c2 bye
//! ```
//!
//! Each command begins with the marker, which the picture leaves out: data that follows a lost line is no command.
//! Everything else that the line shows is no answer, since the marker is random and no line that is sent
//! contains it. The data is printable ASCII in lines that any terminal in canonical mode takes. At most
//! [`Pace::unacknowledged`] bytes are on the way: if the shell stops reading, its terminal holds them.
//!
//! [`put`] and [`get`] take a [`Wire`] and a store and know nothing of ports, so that a test can be the shell.
//!
//! A large file goes by two stages ([`Fast`]): `wst-mini` goes first, and Kermit carries the rest.
//!
//! Not here: text conversion, resuming, and retransmission: a damaged line shows in the digest, and the file is
//! sent again as a whole.

mod blocks;
mod check;
mod coding;
mod fast;
mod get;
mod put;
mod quote;
mod report;
pub(crate) mod store;
mod talk;
mod wire;

pub use coding::{Decoder, Encoder, Lines};
pub use fast::{Fast, FindProgram, Role, Stages};
pub use get::get;
pub use put::{PutOptions, put};
pub(crate) use report::{Counted, Report};
pub use talk::{Pace, Talk, nonce};
pub use wire::{Broken, PortWire, Wire};
