//! What can be typed for a session at a terminal, of `wst connect` and of the wrapper.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use wetstring_proto::choice;
use wetstring_proto::settings::Choice;

choice! {
    /// What becomes of transfers that the peer starts.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub(crate) enum Autodownload {
        /// The user is asked, once in a session.
        Ask = "ask",
        /// Files are received.
        On = "on",
        /// They are text.
        Off = "off",
    }
}

choice! {
    /// Which time stands before a line.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub(crate) enum Stamps {
        /// None.
        Off = "off",
        /// Local time.
        Absolute = "absolute",
        /// Since the session began.
        Relative = "relative",
        /// Since the line before.
        Delta = "delta",
    }
}

choice! {
    /// How a log is written.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub(crate) enum LogFormat {
        /// Text: without control sequences of terminals and without CR.
        Plain = "plain",
        /// Every byte as it is.
        Raw = "raw",
        /// As plain, each line with its local time.
        Timestamped = "timestamped",
        /// For `asciinema play`: asciicast, version 2.
        Asciicast = "asciicast",
    }
}

choice! {
    /// Which of the programs that share a session may write.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub(crate) enum Writers {
        /// One at a time.
        One = "one",
        /// All of them at once.
        All = "all",
        /// None: they only watch.
        None = "none",
    }
}

/// One of the words of a type.
pub(super) fn word<T: Choice + Send + Sync>() -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(T::WORDS).try_map(|word| T::named(&word).ok_or("no such word"))
}
