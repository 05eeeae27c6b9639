//! Memory is given to an engine at construction and never grows.

use core::fmt;

/// The memory of an engine: `&mut [u8]` on bare metal, `Vec<u8>` or `Box<[u8]>` elsewhere.
///
/// The configuration gives the required size (`Config::sender_memory()` and
/// `Config::receiver_memory()`).
pub trait Memory: AsRef<[u8]> + AsMut<[u8]> {}
impl<T: AsRef<[u8]> + AsMut<[u8]>> Memory for T {}

/// The memory given to an engine is less than its configuration needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryTooSmall {
    /// Bytes the configuration needs.
    pub needed: usize,
    /// Bytes that were given.
    pub given: usize,
}

impl fmt::Display for MemoryTooSmall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected at least {} bytes of memory, got {}", self.needed, self.given)
    }
}

impl core::error::Error for MemoryTooSmall {}
