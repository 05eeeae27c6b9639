//! What differs between systems.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::{SYSTEM, mode, name, shell, shown};
#[cfg(windows)]
pub(crate) use windows::{SYSTEM, mode, name, shell, shown};
