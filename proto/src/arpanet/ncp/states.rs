//! Where a connection stands, and what is known of a host, as data (RFC 54, RFC 55; NIC 8246).

use crate::session::states;

states! {
    /// Which requests and CLSs of a connection were said and heard.
    pub(crate) enum Handshake {
        /// Neither end has asked.
        New = "new",
        /// Our request is said.
        Asked = "asked",
        /// The peer's request is heard.
        Called = "called",
        /// The two requests have met.
        Open = "open",
        /// Our request was said, and taken back by a CLS.
        Withdrawn = "withdrawn",
        /// Our request was said, and the peer has answered it by a CLS.
        Refused = "refused",
        /// It was open; our CLS is said, and the peer's is awaited.
        Closing = "closing",
        /// It was open; the peer's CLS is heard, and ours is to be said.
        Ending = "ending",
        /// Nothing more is said or heard of it.
        Over = "over",
    }
    /// What moves a connection.
    enum HandshakeInput {
        /// Our RTS or STR is said.
        RfcSaid,
        /// The peer's RTS or STR is heard.
        RfcHeard,
        /// Our CLS is said.
        ClsSaid,
        /// The peer's CLS is heard.
        ClsHeard,
        /// The peer's CLS was awaited too long.
        ClsMissed,
        /// It is given up before our request was said. The peer's request is refused, if there is one.
        Dropped,
        /// The peer no longer knows of it: it is dead, was reset, or has complained of our request.
        Forgotten,
    }
    table {
        New => { RfcSaid => Asked, RfcHeard => Called, Dropped => Over, }
        Asked => { RfcHeard => Open, ClsSaid => Withdrawn, ClsHeard => Refused, }
        Called => { RfcSaid => Open, Dropped => Over, }
        Open => { ClsSaid => Closing, ClsHeard => Ending, }
        Withdrawn => { ClsHeard => Over, ClsMissed => Over, }
        Refused => { ClsSaid => Over, }
        Closing => { ClsHeard => Over, ClsMissed => Over, }
        Ending => { ClsSaid => Over, }
        _ => { Forgotten => Over, }
    }
}

impl Handshake {
    /// Whether our request is yet to be said.
    pub(super) const fn is_unsaid(self) -> bool {
        matches!(self, Self::New | Self::Called)
    }

    /// Whether the peer's request is yet to be heard, and would open it.
    pub(super) const fn awaits_rfc(self) -> bool {
        matches!(self, Self::New | Self::Asked)
    }

    /// Whether our request was said, and never met the peer's.
    pub(super) const fn is_unanswered(self) -> bool {
        matches!(self, Self::Asked | Self::Withdrawn | Self::Refused)
    }

    /// Whether the two requests have met. One that is over without [`Trouble`](super::Trouble) was open.
    pub(super) const fn was_opened(self) -> bool {
        matches!(self, Self::Open | Self::Closing | Self::Ending | Self::Over)
    }

    /// Whether the peer has asked, and not closed: it may say something of it by its link.
    pub(super) const fn is_with_peer(self) -> bool {
        matches!(self, Self::Called | Self::Open | Self::Closing)
    }

    /// Whether our CLS may be said: the peer has our request, and no CLS followed it.
    pub(super) const fn may_say_cls(self) -> bool {
        matches!(self, Self::Asked | Self::Refused | Self::Open | Self::Ending)
    }

    /// Whether our CLS was said, or need not be.
    pub(super) const fn has_said_cls(self) -> bool {
        matches!(self, Self::Withdrawn | Self::Closing | Self::Over)
    }

    /// Whether the peer's CLS was heard, or is not awaited.
    pub(super) const fn has_heard_cls(self) -> bool {
        matches!(self, Self::Refused | Self::Ending | Self::Over)
    }
}

states! {
    /// How a host was found.
    pub(crate) enum Life {
        /// Nothing has come from it.
        Unknown = "unknown",
        /// A RST is sent to it, and no RRP has come yet.
        Resetting = "resetting",
        /// It has sent something.
        Up = "up",
    }
    /// What is learned of a host.
    enum LifeInput {
        /// A control message of it comes.
        Heard,
        /// A RST is to be sent to it.
        Reset,
        /// It has answered the RST with a RRP.
        Answered,
        /// It is dead, or a RFNM or the RRP has not come in time.
        Lost,
    }
    table {
        Unknown => { Heard => Up, }
        Resetting => { Answered => Up, }
        _ => { Reset => Resetting, Lost => Unknown, }
    }
}
