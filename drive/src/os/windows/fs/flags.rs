//! Flags of the calls, by the names of POSIX.

use std::ops::BitOr;

/// How a file is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OFlags(u32);

impl OFlags {
    pub(crate) const RDONLY: Self = Self(0);
    pub(crate) const WRONLY: Self = Self(1);
    pub(crate) const RDWR: Self = Self(2);
    pub(crate) const CREATE: Self = Self(4);
    pub(crate) const EXCL: Self = Self(8);
    pub(crate) const TRUNC: Self = Self(16);
    pub(crate) const APPEND: Self = Self(32);
    pub(crate) const DIRECTORY: Self = Self(64);
    pub(crate) const NOFOLLOW: Self = Self(128);
    /// Handles are not inherited here unless asked for.
    pub(crate) const CLOEXEC: Self = Self(0);
    /// No terminal becomes this process's by opening it.
    pub(crate) const NOCTTY: Self = Self(0);
    /// Files do not block, and streams have a thread.
    pub(crate) const NONBLOCK: Self = Self(0);

    pub(crate) const fn empty() -> Self {
        Self(0)
    }

    pub(crate) const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for OFlags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// How a name is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AtFlags(u32);

impl AtFlags {
    pub(crate) const SYMLINK_NOFOLLOW: Self = Self(1);
    pub(crate) const REMOVEDIR: Self = Self(2);

    pub(crate) const fn empty() -> Self {
        Self(0)
    }

    pub(crate) const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Permissions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Mode(u32);

impl Mode {
    pub(crate) const fn empty() -> Self {
        Self(0)
    }

    pub(crate) const fn from_raw_mode(bits: u32) -> Self {
        Self(bits)
    }

    pub(crate) const fn as_raw_mode(self) -> u32 {
        self.0
    }
}
