//! The state tables: the action for each block or character in each state (\[XY88\] chapters 3,
//! 5, 7, 8).
//!
//! The engines look up actions and next states here; `docs/reference/states.md` is generated from it.

use super::frame::{ACK, NAK, WANT_CRC, WANT_STREAM};
use crate::session::states;

states! {
    /// States of a sender.
    pub enum Sending {
        /// Requests the next file from the store.
        Next = "next",
        /// Waits for a start character.
        Invite = "invite",
        /// YMODEM: block 0 is in flight.
        Header = "header",
        /// YMODEM: block 0 was accepted; waits for the start character for the data.
        Go = "go",
        /// A block is in flight.
        Data = "data",
        /// EOT is in flight.
        Eof = "eof",
        /// YMODEM: EOT was acknowledged; the next start character confirms it.
        Confirm = "confirm",
        /// Closes the file.
        Close = "close",
        /// YMODEM: the empty block 0 is in flight.
        Goodbye = "goodbye",
        /// Nothing more will be sent.
        End = "end",
    }
    /// Inputs of a sender.
    enum SenderInput {
        /// The store has a file.
        File,
        /// The store has no more files.
        NoMoreFiles,
        /// The store has closed the file.
        Closed,
        /// YMODEM: a start character, for a file.
        Start,
        /// YMODEM: a start character, and there are no more files.
        StartOfNone,
        /// The receiver is ready for block 1.
        Ready,
        /// The last block was acknowledged.
        LastBlock,
        /// ACK, of block 0 or of EOT.
        Acknowledged,
        /// NAK: the acknowledgement was noise.
        Refused,
        /// The receiver has the whole file.
        Whole,
        /// All is sent.
        Done,
        /// Either end aborts.
        Failed,
    }
    table {
        Next => { File => Invite, Closed => Next, NoMoreFiles => Invite, Done => End, }
        Invite => { Start => Header, StartOfNone => Goodbye, Ready => Data, Done => End, }
        Header => { Acknowledged => Go, Ready => Data, }
        Go => { Ready => Data, }
        Data => { LastBlock => Eof, }
        Eof => { Acknowledged => Confirm, Whole => Close, }
        Confirm => { Refused => Eof, Whole => Close, }
        Close => { Closed => Next, }
        Goodbye => { Done => End, }
        _ => { Failed => End, }
    }
}

/// Actions of a sender for a character.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SenderStep {
    /// Apply the requested check, start.
    Begin,
    /// The block, or the end, was accepted: continue.
    Advance,
    /// Retransmit.
    Repeat,
    /// A start character while something is in flight: retransmit, unless it is stale.
    Remind,
    /// Streaming was requested: there is no acknowledgement to wait for.
    Stream,
}

/// The sender: in this state, one of these characters causes this action. Others are noise.
pub const SENDER: &[(Sending, &[u8], SenderStep)] = &[
    // The peer may be ready before the store is.
    (Sending::Next, &[NAK, WANT_CRC, WANT_STREAM], SenderStep::Begin),
    (Sending::Invite, &[NAK, WANT_CRC, WANT_STREAM], SenderStep::Begin),
    (Sending::Header, &[ACK], SenderStep::Advance),
    (Sending::Header, &[NAK], SenderStep::Repeat),
    (Sending::Header, &[WANT_CRC], SenderStep::Remind),
    (Sending::Header, &[WANT_STREAM], SenderStep::Stream),
    (Sending::Go, &[NAK, WANT_CRC, WANT_STREAM], SenderStep::Begin),
    (Sending::Data, &[ACK], SenderStep::Advance),
    (Sending::Data, &[NAK], SenderStep::Repeat),
    (Sending::Data, &[WANT_CRC, WANT_STREAM], SenderStep::Remind),
    (Sending::Eof, &[ACK], SenderStep::Advance),
    (Sending::Eof, &[NAK], SenderStep::Repeat),
    // The acknowledgement was lost, the request for the next file was not.
    (Sending::Eof, &[WANT_CRC, WANT_STREAM], SenderStep::Remind),
    (Sending::Confirm, &[WANT_CRC, WANT_STREAM], SenderStep::Advance),
    // What looked like an acknowledgement of EOT was noise.
    (Sending::Confirm, &[NAK], SenderStep::Repeat),
    (Sending::Goodbye, &[ACK], SenderStep::Advance),
    (Sending::Goodbye, &[NAK], SenderStep::Repeat),
    (Sending::Goodbye, &[WANT_CRC, WANT_STREAM], SenderStep::Remind),
];

states! {
    /// States of a receiver.
    pub enum Receiving {
        /// YMODEM: requests block 0.
        Header = "header",
        /// The store's decision on a file.
        Offer = "offer",
        /// Blocks, or EOT.
        Data = "data",
        /// The store closes the file.
        Close = "close",
        /// The end.
        End = "end",
    }
    /// Inputs of a receiver.
    enum ReceiverInput {
        /// Block 0 of a file.
        File,
        /// The store accepts the file.
        Accepted,
        /// EOT, and nothing is missing.
        Whole,
        /// YMODEM: the file is durable, and another may follow.
        Closed,
        /// The batch is over, or XMODEM's only file is durable.
        Done,
        /// Either end aborts.
        Failed,
    }
    table {
        Header => { File => Offer, Done => End, }
        Offer => { Accepted => Data, }
        Data => { Whole => Close, }
        Close => { Closed => Header, Done => End, }
        _ => { Failed => End, }
    }
}

/// The position of a block, by its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// The one that is expected.
    Next,
    /// The one before: its acknowledgement was lost.
    Again,
    /// Any other.
    Elsewhere,
}

/// Actions of a receiver for a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReceiverStep {
    /// Block 0: offer the file to the store, or end if it is empty.
    Describe,
    /// Store, acknowledge.
    Store,
    /// Acknowledge only.
    Acknowledge,
    /// The two ends are out of step: cancel.
    Cancel,
}

/// The receiver: in this state, a block at this position causes this action.
pub const RECEIVER: &[(Receiving, Place, ReceiverStep)] = &[
    (Receiving::Header, Place::Next, ReceiverStep::Describe),
    (Receiving::Header, Place::Again, ReceiverStep::Acknowledge),
    (Receiving::Header, Place::Elsewhere, ReceiverStep::Cancel),
    (Receiving::Data, Place::Next, ReceiverStep::Store),
    (Receiving::Data, Place::Again, ReceiverStep::Acknowledge),
    (Receiving::Data, Place::Elsewhere, ReceiverStep::Cancel),
];

/// What a character means to a sender in `state`; `None` is noise.
pub fn on_word(state: Sending, word: u8) -> Option<SenderStep> {
    SENDER.iter().find(|(s, words, _)| *s == state && words.contains(&word)).map(|(_, _, s)| *s)
}

/// What a block means to a receiver in `state`.
pub fn on_block(state: Receiving, place: Place) -> Option<ReceiverStep> {
    RECEIVER.iter().find(|(s, p, _)| *s == state && *p == place).map(|(_, _, step)| *step)
}
