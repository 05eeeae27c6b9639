//! The state tables: the action for each packet in each state (\[KPM\] state tables, kermit.md §10).
//!
//! The engines look up actions and next states here; `docs/reference/states.md` is generated from it.

use crate::session::states;

states! {
    /// States of a sender, named by the packet it has sent or what it waits for.
    pub enum Sending {
        /// Nothing has been sent yet.
        Start = "start",
        /// S is out.
        Init = "init",
        /// Requests the next file from the store.
        Next = "next",
        /// F is out.
        File = "file",
        /// A is out.
        Attributes = "attributes",
        /// D packets are out.
        Data = "data",
        /// Requests a digest of the file from the store.
        Digest = "digest",
        /// Z is out.
        Eof = "eof",
        /// Closes the file.
        Close = "close",
        /// B is out.
        Break = "break",
        /// Nothing more will be sent.
        End = "end",
    }
    /// What moves a sender.
    enum SenderInput {
        /// The engine is called for the first time.
        Opened,
        /// S is acknowledged, or the file is closed: request the next file.
        Ready,
        /// The store has a file.
        File,
        /// The store has no more files, or the whole batch was cancelled.
        NoMoreFiles,
        /// F is acknowledged, and attributes were agreed on.
        Named,
        /// The receiver waits for data: A is acknowledged, or F where there is no A.
        Decided,
        /// All data is acknowledged, and its digest is needed.
        Digest,
        /// All data is acknowledged, and there is no digest to wait for.
        EndOfData,
        /// Z is acknowledged.
        Closed,
        /// B is acknowledged, or was sent often enough.
        Done,
        /// Either end gives up.
        Failed,
    }
    table {
        Start => { Opened => Init, }
        Init => { Ready => Next, }
        Next => { File => File, NoMoreFiles => Break, }
        File => { Named => Attributes, Decided => Data, }
        Attributes => { Decided => Data, }
        Data => { Digest => Digest, EndOfData => Eof, }
        Digest => { EndOfData => Eof, }
        Eof => { Closed => Close, }
        Close => { Ready => Next, NoMoreFiles => Break, }
        Break => { Done => End, }
        _ => { Failed => End, }
    }
}

states! {
    /// States of a receiver, named by what it waits for.
    pub enum Receiving {
        /// S.
        Init = "init",
        /// F, or B for the end.
        File = "file",
        /// A, or the first D, or Z.
        Attributes = "attributes",
        /// The store's decision on a file.
        Offer = "offer",
        /// D, or Z.
        Data = "data",
        /// The store, to make the file safe.
        Close = "close",
        /// Nothing more.
        End = "end",
    }
    /// What moves a receiver.
    enum ReceiverInput {
        /// S, and parameters are agreed on.
        Agreed,
        /// F or X.
        Named,
        /// The description of the file is complete.
        Described,
        /// The store accepts or refuses the file.
        Decided,
        /// Z.
        EndOfFile,
        /// The file is safe, or gone.
        Closed,
        /// B.
        Done,
        /// Either end gives up.
        Failed,
    }
    table {
        Init => { Agreed => File, }
        File => { Named => Attributes, Done => End, }
        Attributes => { Described => Offer, }
        Offer => { Decided => Data, }
        Data => { EndOfFile => Close, }
        Close => { Closed => File, }
        _ => { Failed => End, }
    }
}

states! {
    /// States of a client, named by what it has sent.
    pub enum Requesting {
        /// Nothing has been sent yet.
        Start = "start",
        /// I is out.
        Info = "info",
        /// The command is out.
        Command = "command",
        /// It is over, or a transfer has the line.
        Done = "done",
    }
    /// What moves a client.
    enum ClientInput {
        /// The engine is called for the first time.
        Opened,
        /// The answer to I.
        Introduced,
        /// A short reply.
        Replied,
        /// S: the server sends files.
        Files,
        /// Either end gives up.
        Failed,
    }
    table {
        Start => { Opened => Info, }
        Info => { Introduced => Command, }
        Command => { Replied => Done, Files => Done, }
        _ => { Failed => Done, }
    }
}

/// What a sender does with an acknowledgement of the packet its state is named after.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SenderStep {
    /// Take over the peer's parameters, ask the store for a file.
    Negotiate,
    /// Send A if attributes were agreed on, else open the window for D.
    Describe,
    /// Obey the reply: continue, continue from a position, or skip.
    Decide,
    /// Look for a cancel in the data; at the end of the file, continue to Z.
    Advance,
    /// The file is over at the peer too.
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
    /// End of file: write out, compare, close; acknowledge when it is durable.
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
    (Receiving::Attributes, b"DKZ", ReceiverStep::Offer),
    (Receiving::Data, b"DK", ReceiverStep::Store),
    (Receiving::Data, b"Z", ReceiverStep::Close),
    // More attributes after the decision change nothing, but must be acknowledged.
    (Receiving::Data, b"A", ReceiverStep::Describe),
];

/// What an acknowledgement means to a sender in `state`.
pub fn on_ack(state: Sending) -> Option<SenderStep> {
    SENDER.iter().find(|(s, _)| *s == state).map(|(_, step)| *step)
}

/// What a packet of type `kind` means to a receiver in `state`; `None` is a violation.
pub fn on_packet(state: Receiving, kind: u8) -> Option<ReceiverStep> {
    RECEIVER.iter().find(|(s, kinds, _)| *s == state && kinds.contains(&kind)).map(|(_, _, s)| *s)
}
