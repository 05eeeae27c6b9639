//! What a seed of the swarm picks of a protocol.
//!
//! The order of the picks is part of a seed's meaning. A new pick goes to the end of its list, so that the seeds
//! that are known to have shown something still show it.

/// One pick.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pick {
    /// The rate that an end knows: that of the line, or sometimes none.
    Line,
    /// A setting, and the values among which to pick; a likelier one stands there more than once.
    Of(&'static str, &'static [&'static str]),
    /// A setting, and its value in every seed.
    Set(&'static str, &'static str),
    /// One of these values, in one seed of this many.
    OneIn(u64, &'static str, &'static [&'static str]),
    /// One of two values at one end, the other at the other.
    Opposite(&'static str, [&'static str; 2]),
    /// This value, on a half-duplex line.
    HalfDuplex(&'static str, &'static str),
    /// Of each row of the settings, sometimes a value of its range.
    Rows,
}

/// Picks, and for whom.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The same values for both ends.
    Both(&'static [Pick]),
    /// Values of its own for each end, first all for one, then all for the other.
    Each(&'static [Pick]),
}

/// What a seed picks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Picks {
    /// On all kinds of line.
    pub usual: &'static [Step],
    /// On lines of much noise.
    pub noisy: &'static [Step],
}

impl Picks {
    /// From the ranges of the rows.
    pub const ROWS: Self = Self::same(&[Step::Each(&[Pick::Line, Pick::Rows])]);

    /// The same on all lines.
    pub const fn same(steps: &'static [Step]) -> Self {
        Self { usual: steps, noisy: steps }
    }
}
