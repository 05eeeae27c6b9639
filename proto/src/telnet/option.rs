//! Option negotiation by the Q method [RFC 1143].

/// A supported Telnet option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TelnetOption {
    /// All 256 byte values pass, in one direction [RFC 856].
    Binary,
    /// The side that has it on echoes its input [RFC 857].
    Echo,
    /// No Go Ahead is sent: full duplex [RFC 858].
    SuppressGoAhead,
    /// The terminal type is sent on request [RFC 1091].
    TerminalType,
    /// A serial port behind the peer is set from here [RFC 2217].
    ComPort,
    /// The side that has it on has a Kermit server [RFC 2840].
    Kermit,
}

impl TelnetOption {
    /// All supported options.
    pub const ALL: [Self; 6] = [
        Self::Binary,
        Self::Echo,
        Self::SuppressGoAhead,
        Self::TerminalType,
        Self::ComPort,
        Self::Kermit,
    ];

    /// Its number on the wire.
    pub const fn code(self) -> u8 {
        match self {
            Self::Binary => 0,
            Self::Echo => 1,
            Self::SuppressGoAhead => 3,
            Self::TerminalType => 24,
            Self::ComPort => 44,
            Self::Kermit => 47,
        }
    }

    /// The option of a number.
    pub fn of(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|option| option.code() == code)
    }

    pub(super) const fn index(self) -> usize {
        self as usize
    }
}

/// A set of options.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options(u8);

impl Options {
    /// No option.
    pub const NONE: Self = Self(0);

    /// These options.
    pub const fn these(options: &[TelnetOption]) -> Self {
        let (mut bits, mut at) = (0, 0);
        while at < options.len() {
            bits |= 1 << options[at].index();
            at += 1;
        }
        Self(bits)
    }

    /// Whether an option is among them.
    pub const fn has(self, option: TelnetOption) -> bool {
        self.0 & 1 << option.index() != 0
    }

    /// Both sets together.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The state of one side of an option [RFC 1143 7].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum State {
    /// Off, and not requested.
    #[default]
    No,
    /// On.
    Yes,
    /// Off was requested; with `again`, on is requested when that is answered.
    WantNo { again: bool },
    /// On was requested; with `again`, off is requested when that is answered.
    WantYes { again: bool },
}

/// The message to send: on (WILL, DO) or off (WONT, DONT).
pub(super) type Say = Option<bool>;

impl State {
    /// The peer says on.
    pub(super) fn hear_on(&mut self, willing: bool) -> Say {
        let (next, say) = match *self {
            Self::No if willing => (Self::Yes, Some(true)),
            Self::No => (Self::No, Some(false)),
            Self::Yes => (Self::Yes, None),
            // The peer must not answer off with on; it is off regardless.
            Self::WantNo { again: false } => (Self::No, None),
            Self::WantNo { again: true } | Self::WantYes { again: false } => (Self::Yes, None),
            Self::WantYes { again: true } => (Self::WantNo { again: false }, Some(false)),
        };
        *self = next;
        say
    }

    /// The peer says off, which must be accepted.
    pub(super) fn hear_off(&mut self) -> Say {
        let (next, say) = match *self {
            Self::No | Self::WantNo { again: false } | Self::WantYes { .. } => (Self::No, None),
            Self::Yes => (Self::No, Some(false)),
            Self::WantNo { again: true } => (Self::WantYes { again: false }, Some(true)),
        };
        *self = next;
        say
    }

    /// This end requests it on.
    pub(super) fn want_on(&mut self) -> Say {
        let (next, say) = match *self {
            Self::No => (Self::WantYes { again: false }, Some(true)),
            Self::Yes => (Self::Yes, None),
            Self::WantNo { .. } => (Self::WantNo { again: true }, None),
            Self::WantYes { .. } => (Self::WantYes { again: false }, None),
        };
        *self = next;
        say
    }

    /// This end requests it off.
    pub(super) fn want_off(&mut self) -> Say {
        let (next, say) = match *self {
            Self::No => (Self::No, None),
            Self::Yes => (Self::WantNo { again: false }, Some(false)),
            Self::WantNo { .. } => (Self::WantNo { again: false }, None),
            Self::WantYes { .. } => (Self::WantYes { again: true }, None),
        };
        *self = next;
        say
    }

    /// Whether an answer is outstanding.
    pub(super) fn is_asking(self) -> bool {
        matches!(self, Self::WantNo { .. } | Self::WantYes { .. })
    }
}
