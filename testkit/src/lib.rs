//! What the tests of all crates share.
//!
//! A development dependency: nothing that is installed contains it. The laboratory's own random numbers
//! (`wetstring_lab::Random`) and stores are part of the product, and are not here.
#![forbid(unsafe_code)]

mod bytes;
mod dice;
mod edges;
#[cfg(unix)]
pub mod kill;
pub mod material;
pub mod namespaces;
mod older;
mod pages;
#[cfg(unix)]
mod signals;
mod squeezer;
mod store;
#[cfg(unix)]
mod terminal;
mod vectors;
mod wait;
mod wrapped;

pub use bytes::{counted, digest, noise, pattern, random};
pub use dice::{Dice, Star};
pub use edges::{ELSEWHERE, Edges, Elsewhere, Taken, taken};
pub use older::Wanted;
pub use pages::compare_page;
#[cfg(unix)]
pub use signals::handle_terminal_signals;
pub use squeezer::Squeezer;
pub use store::{File, NoFiles, Sink, Source};
#[cfg(unix)]
pub use terminal::{Terminal, terminal};
pub use vectors::vectors;
pub use wait::{Within, wait_until, within};
pub use wrapped::{Picky, Shrinking};
