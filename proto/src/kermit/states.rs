//! The protocol as data: which packet in which state does what (\[KPM\] state tables, kermit.md §10).
//!
//! The engines look their next step up here; the documentation draws it from here; a snapshot test
//! keeps it under review.

/// States of a sender, named by the packet it has sent or what it waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sending {
    /// Nothing has been sent yet.
    Start,
    /// S is out.
    Init,
    /// The store is asked for the next file.
    Next,
    /// F is out.
    File,
    /// A is out.
    Attributes,
    /// D packets are out.
    Data,
    /// The store is asked for a digest of the file.
    Digest,
    /// Z is out.
    Eof,
    /// The store is told how the file ended.
    Close,
    /// B is out.
    Break,
    /// Nothing more will be sent.
    End,
}

/// States of a receiver, named by what it waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Receiving {
    /// S.
    Init,
    /// F, or B for the end.
    File,
    /// A, or the first D, or Z.
    Attributes,
    /// The store's decision on a file.
    Offer,
    /// D, or Z.
    Data,
    /// The store, to make the file safe.
    Close,
    /// Nothing more.
    End,
}

/// What a sender does with an acknowledgement of the packet its state is named after.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SenderStep {
    /// Take over the partner's parameters, ask the store for a file.
    Negotiate,
    /// Send A if attributes were agreed on, else open the window for D.
    Describe,
    /// Obey the reply: go on, go on from a position, or skip.
    Decide,
    /// Look for a cancel in the data; at the end of the file, go on to Z.
    Advance,
    /// The file is over at the partner too.
    Closed,
    /// The transaction is over.
    Finish,
}

/// What a receiver does with a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReceiverStep {
    /// Agree on parameters, acknowledge with ours.
    Negotiate,
    /// Take the name, acknowledge.
    Name,
    /// Add attributes; offer the file to the store when they are complete.
    Describe,
    /// Offer the file to the store with what is known, then treat the packet again.
    Offer,
    /// Decode, acknowledge.
    Store,
    /// End of file: write out, compare, close; acknowledge when it is safe.
    Close,
    /// End of transaction: acknowledge.
    Finish,
    /// A command for a server, which this engine is not.
    Refuse,
}

/// The sender: in this state, an acknowledgement leads to this step.
pub const SENDER: &[(Sending, SenderStep)] = &[
    (Sending::Init, SenderStep::Negotiate),
    (Sending::File, SenderStep::Describe),
    (Sending::Attributes, SenderStep::Decide),
    (Sending::Data, SenderStep::Advance),
    (Sending::Eof, SenderStep::Closed),
    (Sending::Break, SenderStep::Finish),
];

/// The receiver: in this state, a packet of one of these types leads to this step.
pub const RECEIVER: &[(Receiving, &[u8], ReceiverStep)] = &[
    (Receiving::Init, b"S", ReceiverStep::Negotiate),
    (Receiving::Init, b"IRJHVWOGCK", ReceiverStep::Refuse),
    (Receiving::File, b"FX", ReceiverStep::Name),
    (Receiving::File, b"B", ReceiverStep::Finish),
    (Receiving::Attributes, b"A", ReceiverStep::Describe),
    (Receiving::Attributes, b"DZ", ReceiverStep::Offer),
    (Receiving::Data, b"D", ReceiverStep::Store),
    (Receiving::Data, b"Z", ReceiverStep::Close),
    // More attributes after the decision change nothing, but must be acknowledged.
    (Receiving::Data, b"A", ReceiverStep::Describe),
];

impl Sending {
    /// The name used in traces.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Init => "init",
            Self::Next => "next",
            Self::File => "file",
            Self::Attributes => "attributes",
            Self::Data => "data",
            Self::Digest => "digest",
            Self::Eof => "eof",
            Self::Close => "close",
            Self::Break => "break",
            Self::End => "end",
        }
    }
}

impl Receiving {
    /// The name used in traces.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Init => "init",
            Self::File => "file",
            Self::Attributes => "attributes",
            Self::Offer => "offer",
            Self::Data => "data",
            Self::Close => "close",
            Self::End => "end",
        }
    }
}

/// What an acknowledgement means to a sender in `state`.
pub fn on_ack(state: Sending) -> Option<SenderStep> {
    SENDER.iter().find(|(s, _)| *s == state).map(|(_, step)| *step)
}

/// What a packet of type `kind` means to a receiver in `state`; `None` is a violation.
pub fn on_packet(state: Receiving, kind: u8) -> Option<ReceiverStep> {
    RECEIVER.iter().find(|(s, kinds, _)| *s == state && kinds.contains(&kind)).map(|(_, _, s)| *s)
}
