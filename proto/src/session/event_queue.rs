//! The queue of events for the user.

use crate::engine::{DeclinedJob, Event};
use crate::file::{FileInfo, Refusal};

/// A queued event. Names and texts are stored elsewhere: see [`EventTexts`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum QueuedEvent {
    Negotiated,
    Started {
        offset: u64,
    },
    Done {
        size: u64,
        verified: bool,
    },
    Refused {
        why: Option<Refusal>,
        by_peer: bool,
    },
    Cancelled {
        by_peer: bool,
    },
    /// The peer has run a command.
    Completed {
        status: u32,
    },
    /// UUCP: the roles have changed.
    RolesReversed {
        receives: bool,
    },
    /// UUCP: a command was declined.
    Declined {
        what: DeclinedJob,
        kept: bool,
    },
    Message,
    /// A server's short reply.
    Replied,
}

/// The texts that queued events refer to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EventTexts<'a> {
    /// The negotiated parameters.
    pub(crate) agreement: &'a str,
    /// The peer's last message.
    pub(crate) message: &'a [u8],
    /// A server's short reply.
    pub(crate) reply: &'a [u8],
}

impl QueuedEvent {
    /// The event as the user gets it; `info` is the current file.
    pub(crate) fn event<'a>(self, info: FileInfo<'a>, texts: EventTexts<'a>) -> Event<'a> {
        match self {
            Self::Negotiated => Event::Negotiated(texts.agreement),
            Self::Started { offset } => Event::FileStarted { info, offset },
            Self::Done { size, verified } => Event::FileDone { size, verified },
            Self::Refused { why, by_peer } => Event::FileRefused { name: info.name, why, by_peer },
            Self::Cancelled { by_peer } => Event::FileCancelled { by_peer },
            Self::Completed { status } => Event::Completed { status },
            Self::RolesReversed { receives } => Event::RolesReversed { receives },
            Self::Declined { what, kept } => Event::Declined { what, kept },
            Self::Message => Event::Message(texts.message),
            Self::Replied => Event::Replied(texts.reply),
        }
    }
}

/// A bounded queue of `N`. When it is full the newest event is dropped.
#[derive(Clone, Debug)]
pub(crate) struct EventQueue<const N: usize = 8> {
    ring: [QueuedEvent; N],
    first: u8,
    count: u8,
}

impl<const N: usize> EventQueue<N> {
    pub(crate) const fn new() -> Self {
        Self { ring: [QueuedEvent::Message; N], first: 0, count: 0 }
    }

    pub(crate) fn push(&mut self, event: QueuedEvent) {
        if self.len() < N {
            self.ring[(usize::from(self.first) + self.len()) % N] = event;
            self.count += 1;
        }
    }

    pub(crate) fn pop(&mut self) -> Option<QueuedEvent> {
        let first = usize::from(self.first);
        let event = (self.count > 0).then(|| self.ring[first])?;
        self.first = ((first + 1) % N) as u8;
        self.count -= 1;
        Some(event)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(crate) fn len(&self) -> usize {
        usize::from(self.count)
    }
}
