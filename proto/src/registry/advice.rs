//! What `wst explain` tries, by replaying a transfer with it.

/// Whether a protocol is proposed instead of another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Advised {
    /// It is not.
    Never,
    /// It is.
    Always,
    /// Only on a line known to be lossless.
    OnReliable,
}

/// Whose value of a setting applies, where the two ends differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InForce {
    /// The sender's.
    Sender,
    /// The receiver's.
    Receiver,
    /// The smaller number.
    Lesser,
}

/// Values that are tried of one setting, or of several at once, where the smallest number of them is the limit. Of words
/// each has to be the one that is tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trial {
    /// The settings by their full names.
    pub settings: &'static [(&'static str, InForce)],
    /// The values, which all of them take.
    pub values: &'static [&'static str],
    /// Only on a line known to be lossless.
    pub needs_reliable: bool,
}

impl Trial {
    /// Values of settings, of which the sender's apply.
    pub const fn of(
        settings: &'static [(&'static str, InForce)],
        values: &'static [&'static str],
    ) -> Self {
        Self { settings, values, needs_reliable: false }
    }

    /// Only on a line known to be lossless.
    #[must_use]
    pub const fn on_reliable(mut self) -> Self {
        self.needs_reliable = true;
        self
    }
}

/// A row of [`Trial`]s, of settings whose values at the sender apply.
macro_rules! trial {
    ($($name:literal)and+: $($value:literal),+) => {
        $crate::registry::Trial::of(
            &[$(($name, $crate::registry::InForce::Sender)),+],
            &[$($value),+],
        )
    };
}
pub(crate) use trial;
