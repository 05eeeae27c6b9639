//! Names from a peer, made safe.

use std::fmt;

/// Which part of a name from the wire counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PathRule {
    /// Its last component only.
    #[default]
    LastOnly,
    /// All of it, below the directory; missing directories are made.
    Relative,
}

/// A rule about names: what it changed, or why it refused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum NameRule {
    /// Refused: nothing is left of the name.
    Empty,
    /// Refused: `.` or `..`.
    Dots,
    /// The name had directories in front; only the last component was used.
    Directories,
    /// The name was absolute (`/x`, `C:x`); its root was taken off.
    Absolute,
    /// Control characters became `_`.
    Control,
    /// A device of Windows (`CON`, `NUL`, `COM1`); `_` was put in front.
    Device,
    /// Too long; it was cut.
    TooLong,
    /// Refused: a symlink stands where a directory is needed.
    Symlink,
}

impl NameRule {
    /// The rule in words.
    pub const fn as_str(self) -> &'static str {
        ""
    }
}

impl fmt::Display for NameRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
