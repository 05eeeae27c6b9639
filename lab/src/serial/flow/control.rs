//! Kinds of flow control.

/// Kinds of flow control.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FlowControl {
    /// None.
    #[default]
    None,
    /// RTS/CTS.
    RtsCts,
    /// XON/XOFF.
    XonXoff,
}

impl FlowControl {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::RtsCts => "rtscts",
            Self::XonXoff => "xonxoff",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::None, Self::RtsCts, Self::XonXoff].into_iter().find(|flow| flow.name() == name)
    }
}
