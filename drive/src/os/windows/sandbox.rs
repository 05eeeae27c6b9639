//! Confinement of a thread, which this system does not have.

use super::fs::BorrowedFd;
use std::io;

/// There is none.
pub(crate) fn bind(_: BorrowedFd<'_>, _: bool) -> io::Result<()> {
    Err(io::Error::other("only Linux has Landlock"))
}
