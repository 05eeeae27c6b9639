//! Windows. Sockets can be waited for; everything else has a thread that rings a socket ([`pump`]).

mod console;
mod errno;
pub mod event;
pub mod files;
pub(crate) mod fs;
pub(crate) mod io;
mod mode;
pub(crate) mod net;
pub mod port;
pub mod process;
mod pump;
pub(crate) mod sandbox;
pub(crate) mod signals;
pub mod stream;
pub mod terminal;
pub(crate) mod tun;

/// Handles of files and directories, under the names that descriptors have.
pub mod fd {
    pub use super::fs::{AsFd, BorrowedFd, OwnedFd};
}
