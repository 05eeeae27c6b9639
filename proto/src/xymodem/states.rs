//! The protocol as data: which block or character in which state does what (\[XY88\] chapters 3,
//! 5, 7, 8).
//!
//! The engines look their next step up here; a snapshot test keeps it under review.

use super::frame::{ACK, NAK, WANT_CRC, WANT_STREAM};

/// States of a sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sending {
    /// The store is asked for the next file.
    Next,
    /// A start character is waited for.
    Invite,
    /// YMODEM: block 0 is out.
    Header,
    /// YMODEM: block 0 was taken; the start character for the data is waited for.
    Go,
    /// A block is out.
    Data,
    /// EOT is out.
    Eof,
    /// YMODEM: EOT was acknowledged; the next start character confirms it.
    Confirm,
    /// The store is told how the file ended.
    Close,
    /// YMODEM: the empty block 0 is out.
    Goodbye,
    /// Nothing more will be sent.
    End,
}

/// What a sender does with a character.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SenderStep {
    /// Take over the check that is wanted, begin.
    Begin,
    /// The block, or the end, was taken: go on.
    Advance,
    /// Send the same again.
    Repeat,
    /// A start character while something is out: send the same again, unless it is a stale one.
    Remind,
    /// A stream was asked for: there is no acknowledgement to wait for.
    Stream,
}

/// The sender: in this state, one of these characters leads to this step. Others are noise.
pub const SENDER: &[(Sending, &[u8], SenderStep)] = &[
    // The partner may be ready before the store is.
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
    // The acknowledgement was lost, the wish for the next file was not.
    (Sending::Eof, &[WANT_CRC, WANT_STREAM], SenderStep::Remind),
    (Sending::Confirm, &[WANT_CRC, WANT_STREAM], SenderStep::Advance),
    // What looked like an acknowledgement of EOT was noise.
    (Sending::Confirm, &[NAK], SenderStep::Repeat),
    (Sending::Goodbye, &[ACK], SenderStep::Advance),
    (Sending::Goodbye, &[NAK], SenderStep::Repeat),
    (Sending::Goodbye, &[WANT_CRC, WANT_STREAM], SenderStep::Remind),
];

/// States of a receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Receiving {
    /// YMODEM: block 0 is asked for.
    Header,
    /// The store's decision on a file.
    Offer,
    /// Blocks, or EOT.
    Data,
    /// The store, to make the file safe.
    Close,
    /// Nothing more.
    End,
}

/// Where a block stands, by its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// The one that is expected.
    Next,
    /// The one before: its acknowledgement was lost.
    Again,
    /// Any other.
    Elsewhere,
}

/// What a receiver does with a block.
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

/// The receiver: in this state, a block in this place leads to this step.
pub const RECEIVER: &[(Receiving, Place, ReceiverStep)] = &[
    (Receiving::Header, Place::Next, ReceiverStep::Describe),
    (Receiving::Header, Place::Again, ReceiverStep::Acknowledge),
    (Receiving::Header, Place::Elsewhere, ReceiverStep::Cancel),
    (Receiving::Data, Place::Next, ReceiverStep::Store),
    (Receiving::Data, Place::Again, ReceiverStep::Acknowledge),
    (Receiving::Data, Place::Elsewhere, ReceiverStep::Cancel),
];

impl Sending {
    /// The name used in traces.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Next => "next",
            Self::Invite => "invite",
            Self::Header => "header",
            Self::Go => "go",
            Self::Data => "data",
            Self::Eof => "eof",
            Self::Confirm => "confirm",
            Self::Close => "close",
            Self::Goodbye => "goodbye",
            Self::End => "end",
        }
    }
}

impl Receiving {
    /// The name used in traces.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Header => "header",
            Self::Offer => "offer",
            Self::Data => "data",
            Self::Close => "close",
            Self::End => "end",
        }
    }
}

/// What a character means to a sender in `state`; `None` is noise.
pub fn on_word(state: Sending, word: u8) -> Option<SenderStep> {
    SENDER.iter().find(|(s, words, _)| *s == state && words.contains(&word)).map(|(_, _, s)| *s)
}

/// What a block means to a receiver in `state`.
pub fn on_block(state: Receiving, place: Place) -> Option<ReceiverStep> {
    RECEIVER.iter().find(|(s, p, _)| *s == state && *p == place).map(|(_, _, step)| *step)
}
