//! A connection: one direction, from an odd socket to an even one.

use super::config::WINDOW;
use super::states::{Handshake, HandshakeInput};
use crate::arpanet::bits::Queue;
use crate::arpanet::leader::Dead;
use crate::engine::Cx;
use crate::session;
use crate::time::Instant;
use core::fmt;

/// A connection of an NCP. It stays what it is when its place is taken by another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Id {
    pub(super) slot: u8,
    pub(super) turn: u16,
}

/// Where a connection stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// The two requests have not met yet.
    Opening,
    /// Data may go.
    Open,
    /// Nothing more will come or go, and all of it went or was read.
    Ended,
    /// It could not be opened, or was not completed.
    Failed(Trouble),
}

/// Why a connection failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// The other host has refused it.
    Refused,
    /// The other host has not answered the request.
    NoAnswer,
    /// The other host has not answered the reset.
    NoReset,
    /// The other host was reset.
    Reset,
    /// The other host is dead.
    Dead(Dead),
    /// A message got no RFNM: whether it was delivered is not known.
    NoRfnm,
    /// A message was not delivered, and could not be sent again.
    Lost,
    /// The other host has sent no allocation in time.
    NoAllocation,
    /// The receiver closed it before all was sent.
    Closed,
    /// More came than was allowed.
    Overflow,
    /// Bytes of another size came.
    ByteSize,
    /// This end gave it up.
    Aborted,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refused => "the other host refused the connection",
            Self::NoAnswer => "expected a matching request for connection, none came",
            Self::NoReset => "expected a reset reply, none came",
            Self::Reset => "the other host was reset",
            Self::Dead(dead) => dead.as_str(),
            Self::NoRfnm => "expected a RFNM, none came",
            Self::Lost => "a message was not delivered",
            Self::NoAllocation => "expected an allocation, none came",
            Self::Closed => "the receiver closed the connection before its end",
            Self::Overflow => "more came than was allocated",
            Self::ByteSize => "bytes came of another size than was agreed on",
            Self::Aborted => "given up",
        })
    }
}

impl core::error::Error for Trouble {}

/// Which messages go first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Class {
    /// People typing: what there is goes at once, before others.
    #[default]
    Interactive,
    /// Files: messages are as long as may be, until the connection is closed or pushed.
    Bulk,
}

/// How much a sender is allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Allowance {
    /// As much as there is room for, again and again.
    #[default]
    Room,
    /// This many messages and bits, once.
    Once(u16, u32),
}

/// The parameters of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wanted {
    /// Our socket: odd sends, even receives.
    pub local: u32,
    /// The other's: odd if ours is even. `None` takes whichever asks.
    pub foreign: Option<u32>,
    /// Bits of a byte, of a connection that sends: 1 to 255.
    pub size: u8,
    /// Whether to wait for the peer's request before sending ours.
    pub passive: bool,
    /// Which messages go first, of a connection that sends.
    pub class: Class,
    /// How much the peer is allowed, of a connection that receives.
    pub allowance: Allowance,
}

impl Wanted {
    /// A connection that is asked for.
    pub const fn new(local: u32, foreign: u32) -> Self {
        let (class, allowance) = (Class::Interactive, Allowance::Room);
        Self { local, foreign: Some(foreign), size: 8, passive: false, class, allowance }
    }

    /// With this byte size in bits.
    pub const fn size(self, size: u8) -> Self {
        Self { size, ..self }
    }

    /// Only when the peer has asked.
    pub const fn passive(self) -> Self {
        Self { passive: true, ..self }
    }

    /// In long messages.
    pub const fn bulk(self) -> Self {
        Self { class: Class::Bulk, ..self }
    }

    /// With a fixed allocation.
    pub const fn once(self, messages: u16, bits: u32) -> Self {
        Self { allowance: Allowance::Once(messages, bits), ..self }
    }
}

/// A message in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Flight {
    pub(super) bits: u16,
    pub(super) id: u8,
    pub(super) large: bool,
    pub(super) tries: u8,
    pub(super) stage: Stage,
}

/// Where a message is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// It waits for the interface.
    Made,
    /// In the net; until when its RFNM must come.
    Flying(Instant),
    /// Not delivered; it goes again then.
    Again(Instant),
    /// Delivered, before one that is older.
    Done,
}

impl Flight {
    pub(super) const NONE: Self =
        Self { bits: 0, id: 0, large: false, tries: 0, stage: Stage::Done };
}

/// A connection, or a place for one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Connection {
    pub(super) used: bool,
    /// Whose id this is.
    pub(super) turn: u16,
    /// No user holds it; it is freed when its CLS is answered.
    pub(super) orphan: bool,
    pub(super) peer: u8,
    pub(super) local: u32,
    pub(super) foreign: Option<u32>,
    pub(super) passive: bool,
    pub(super) class: Class,
    pub(super) allowance: Allowance,
    /// Chosen by the receiver.
    pub(super) link: u8,
    /// Chosen by the sender.
    pub(super) size: u8,
    /// Which requests and CLSs were said and heard.
    pub(super) stands: Handshake,
    pub(super) owes_rfc: bool,
    /// A CLS is to be said as soon as the connection is ready for it.
    pub(super) closing: bool,
    pub(super) owes_interrupt: bool,
    pub(super) interrupted: bool,
    /// Sender: what is allowed; receiver: what is outstanding of what was allowed.
    pub(super) messages: u16,
    pub(super) bits: u32,
    /// Receiver: the allowance of [`Allowance::Once`] was given.
    pub(super) allowed: bool,
    /// Receiver: what is to be asked back, in 128ths.
    pub(super) owes_gvb: Option<(u8, u8)>,
    /// Sender: what is to be returned.
    pub(super) owes_ret: Option<(u16, u32)>,
    pub(super) push: bool,
    pub(super) queue: Queue,
    pub(super) flights: [Flight; WINDOW],
    pub(super) flying: usize,
    pub(super) next_id: u8,
    pub(super) trouble: Option<Trouble>,
    /// When waiting for a request, a CLS, or an allocation is over.
    pub(super) rfc_until: Option<Instant>,
    pub(super) cls_until: Option<Instant>,
    pub(super) all_until: Option<Instant>,
}

impl Connection {
    pub(super) const NONE: Self = Self {
        used: false,
        turn: 0,
        orphan: false,
        peer: 0,
        local: 0,
        foreign: None,
        passive: false,
        class: Class::Interactive,
        allowance: Allowance::Room,
        link: 0,
        size: 8,
        stands: Handshake::New,
        owes_rfc: false,
        closing: false,
        owes_interrupt: false,
        interrupted: false,
        messages: 0,
        bits: 0,
        allowed: false,
        owes_gvb: None,
        owes_ret: None,
        push: false,
        queue: Queue::EMPTY,
        flights: [Flight::NONE; WINDOW],
        flying: 0,
        next_id: 0,
        trouble: None,
        rfc_until: None,
        cls_until: None,
        all_until: None,
    };

    /// Odd sockets send.
    pub(super) const fn sends(&self) -> bool {
        self.local % 2 == 1
    }

    /// Takes an edge of the table. One that is not there is a fault of ours, and the connection is given up.
    pub(super) fn enter(&mut self, cx: &mut Cx<'_>, input: HandshakeInput) {
        if !session::enter(cx, &mut self.stands, input) {
            self.trouble.get_or_insert(Trouble::Aborted);
        }
    }

    /// Whether both ends have done with it, as far as they say anything.
    pub(super) fn is_over(&self) -> bool {
        self.stands == Handshake::Over && self.flying == 0
    }

    /// Bits that are in flight.
    pub(super) fn flying_bits(&self) -> usize {
        self.flights[..self.flying].iter().map(|flight| usize::from(flight.bits)).sum()
    }

    pub(super) fn state(&self) -> State {
        let stands = self.stands;
        match self.trouble {
            Some(trouble) => State::Failed(trouble),
            None if !stands.was_opened() => State::Opening,
            None if self.sends() && stands.has_said_cls() && self.flying == 0 => State::Ended,
            None if !self.sends() && stands.has_heard_cls() && self.queue.len() == 0 => {
                State::Ended
            }
            None => State::Open,
        }
    }

    /// The connection is abandoned. The peer is notified if it knows of it.
    pub(super) fn fail(&mut self, cx: &mut Cx<'_>, trouble: Trouble) {
        if self.trouble.is_none() && self.state() != State::Ended {
            self.trouble = Some(trouble);
        }
        self.rfc_until = None;
        self.all_until = None;
        self.owes_rfc = false;
        // A sender must have nothing in flight when it sends CLS.
        self.closing = true;
        if self.stands.is_unsaid() {
            self.enter(cx, HandshakeInput::Dropped);
        }
        self.settle();
    }

    /// The peer no longer knows of it.
    pub(super) fn forget(&mut self, cx: &mut Cx<'_>, trouble: Trouble) {
        self.fail(cx, trouble);
        self.flying = 0;
        self.owes_ret = None;
        self.owes_gvb = None;
        self.owes_interrupt = false;
        self.cls_until = None;
        if self.stands != Handshake::Over {
            self.enter(cx, HandshakeInput::Forgotten);
        }
    }
}
