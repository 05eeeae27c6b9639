//! What is killed where: the list by which the kills are shared out.

use crate::Dice;
use std::fmt;

/// A protocol in one of its modes, with the lines that it runs over.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Mode {
    KermitStreaming,
    KermitWindow,
    KermitStopAndWait,
    Xmodem,
    Ymodem,
    YmodemG,
    Zmodem,
    Uucp,
    Netblt,
    /// `wst put` to `wst serve`.
    Put,
    /// `wst get` from `wst serve`.
    Get,
}

impl Mode {
    pub(crate) const ALL: [Self; 11] = [
        Self::KermitStreaming,
        Self::KermitWindow,
        Self::KermitStopAndWait,
        Self::Xmodem,
        Self::Ymodem,
        Self::YmodemG,
        Self::Zmodem,
        Self::Uucp,
        Self::Netblt,
        Self::Put,
        Self::Get,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::KermitStreaming => "kermit-streaming",
            Self::KermitWindow => "kermit-window",
            Self::KermitStopAndWait => "kermit-stop-and-wait",
            Self::Xmodem => "xmodem",
            Self::Ymodem => "ymodem",
            Self::YmodemG => "ymodem-g",
            Self::Zmodem => "zmodem",
            Self::Uucp => "uucp-g",
            Self::Netblt => "netblt",
            Self::Put => "put",
            Self::Get => "get",
        }
    }

    /// Whether it can resume a partial file; the others start over.
    pub(crate) const fn resumes(self) -> bool {
        !matches!(self, Self::Xmodem | Self::Ymodem | Self::YmodemG | Self::Uucp)
    }

    /// Whether one end is `wst serve`.
    pub(crate) const fn has_server(self) -> bool {
        matches!(self, Self::Put | Self::Get)
    }

    /// What a user calls an end.
    pub(crate) const fn end(self, end: End) -> &'static str {
        match (self, end) {
            (_, End::Both) => "both",
            (Self::Put, End::Sender) | (Self::Get, End::Receiver) => "client",
            (Self::Put, End::Receiver) | (Self::Get, End::Sender) => "server",
            (_, End::Sender) => "sender",
            (_, End::Receiver) => "receiver",
        }
    }
}

/// Who is killed; the sender is who has the file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum End {
    Sender,
    Receiver,
    Both,
}

impl End {
    pub(crate) const ALL: [Self; 3] = [Self::Sender, Self::Receiver, Self::Both];
}

/// When.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum State {
    /// Both run, no byte of the sender has passed.
    Start,
    /// In the first packets.
    Offer,
    /// At 2 to 20 % of the sender's bytes.
    Early,
    /// At 35 to 65 %.
    Middle,
    /// At 80 to 97 %.
    Late,
    /// In the last 160 bytes: end of the file, of the batch, of the session.
    Close,
    /// While the whole file gets its name.
    Rename,
    /// The first of three files has its name.
    Between,
    /// At any moment of a slow line.
    Any,
    /// In the middle, and again in the run that resumes.
    Again,
}

impl State {
    pub(crate) const ALL: [Self; 10] = [
        Self::Start,
        Self::Offer,
        Self::Early,
        Self::Middle,
        Self::Late,
        Self::Close,
        Self::Rename,
        Self::Between,
        Self::Any,
        Self::Again,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Offer => "offer",
            Self::Early => "early",
            Self::Middle => "middle",
            Self::Late => "late",
            Self::Close => "close",
            Self::Rename => "rename",
            Self::Between => "between",
            Self::Any => "any",
            Self::Again => "again",
        }
    }
}

/// One transfer that is killed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) number: usize,
    pub(crate) mode: Mode,
    pub(crate) end: End,
    pub(crate) state: State,
    pub(crate) seed: u64,
}

impl Case {
    /// The case of a number. The counts of modes, ends and states have no common factor, so every combination
    /// has had its turn before one comes again.
    pub(crate) fn new(number: usize, seed: u64, only: Option<Mode>) -> Self {
        let mode = only.unwrap_or(Mode::ALL[number % Mode::ALL.len()]);
        let state = match State::ALL[number % State::ALL.len()] {
            // XMODEM moves one file.
            State::Between if mode == Mode::Xmodem => State::Close,
            state => state,
        };
        let end = End::ALL[number % End::ALL.len()];
        Self { number, mode, end, state, seed: Dice(seed ^ (number as u64) << 20).next() }
    }

    /// Kills in it.
    pub(crate) const fn kills(&self) -> usize {
        if matches!(self.state, State::Again) { 2 } else { 1 }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mode, end, state) = (self.mode.name(), self.mode.end(self.end), self.state.name());
        write!(f, "case {}: {mode}, {end} killed, {state}", self.number)
    }
}
