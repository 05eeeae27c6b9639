//! What a protocol says of itself to a user whose transfer fails, or is to be stopped.

/// Settings by their full names, with values.
pub type Values = &'static [(&'static str, &'static str)];

/// Something to do about a failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Remedy {
    /// What, in words.
    pub text: &'static str,
    /// The settings to change; of `protocol`, if that is given.
    pub settings: Values,
    /// The name of the protocol to use, if it is another one.
    pub protocol: Option<&'static str>,
}

impl Remedy {
    /// Settings of the protocol.
    pub const fn set(text: &'static str, settings: Values) -> Self {
        Self { text, settings, protocol: None }
    }

    /// Another protocol.
    pub const fn instead(text: &'static str, protocol: &'static str) -> Self {
        Self { text, settings: &[], protocol: Some(protocol) }
    }
}

/// What to do about each kind of failure, the most promising first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Remedies {
    /// The line changes bytes: fewer of them are sent as they are.
    pub escapes: &'static [Remedy],
    /// Long packets do not arrive: shorter ones, fewer at a time.
    pub shorter: &'static [Remedy],
    /// Packets are lost often: values for more retransmissions.
    pub retries: Values,
    /// The peer falls silent: values for longer waits.
    pub patience: Values,
    /// The line was taken for reliable, and is not.
    pub unreliable: &'static [Remedy],
    /// The receiver refuses a file.
    pub refused: &'static [Remedy],
    /// The likely reason of a receiver that refuses a file, where it cannot give one.
    pub likely_refusal: Option<&'static str>,
    /// What to try where retransmissions did not help. It continues a sentence, with its punctuation.
    pub noisy: Option<&'static str>,
}

impl Remedies {
    /// Nothing that only this protocol has.
    pub const NONE: Self = Self {
        escapes: &[],
        shorter: &[],
        retries: &[],
        patience: &[],
        unreliable: &[],
        refused: &[],
        likely_refusal: None,
        noisy: None,
    };
}

/// How a user at a terminal stops an engine that runs on this terminal's line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StopKeys {
    /// By no key.
    None,
    /// By a key, how often in words: `ctrl-x twice`.
    Fixed(&'static str),
    /// By a key as often as the setting of this full name says; 0 is never.
    Times {
        /// The key: `ctrl-c`.
        key: &'static str,
        /// The setting.
        setting: &'static str,
    },
}

/// How data packets and their acknowledgements are numbered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Numbers {
    /// By the position in the file.
    Position,
    /// By a count, in acknowledgements modulo this.
    Modulo(u16),
}
