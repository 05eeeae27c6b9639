//! The protocol as data: which block or character in which state does what (\[XY88\] chapters 3,
//! 5, 7, 8).
//!
//! The engines look up here what to do, and where that leads; `docs/reference/states.md` is drawn from it.

use super::frame::{ACK, NAK, WANT_CRC, WANT_STREAM};
use crate::session::states;

states! {
    /// States of a sender.
    pub enum Sending {
        /// The store is asked for the next file.
        Next = "next",
        /// A start character is waited for.
        Invite = "invite",
        /// YMODEM: block 0 is out.
        Header = "header",
        /// YMODEM: block 0 was taken; the start character for the data is waited for.
        Go = "go",
        /// A block is out.
        Data = "data",
        /// EOT is out.
        Eof = "eof",
        /// YMODEM: EOT was acknowledged; the next start character confirms it.
        Confirm = "confirm",
        /// The store is told how the file ended.
        Close = "close",
        /// YMODEM: the empty block 0 is out.
        Goodbye = "goodbye",
        /// Nothing more will be sent.
        End = "end",
    }
    /// What moves a sender.
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
        /// NAK: the acknowledgement was none.
        Refused,
        /// The receiver has the whole file.
        Whole,
        /// All is said.
        Done,
        /// Either end gives up.
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
    // The acknowledgement was lost, the wish for the next file was not.
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
        /// YMODEM: block 0 is asked for.
        Header = "header",
        /// The store's decision on a file.
        Offer = "offer",
        /// Blocks, or EOT.
        Data = "data",
        /// The store, to make the file safe.
        Close = "close",
        /// Nothing more.
        End = "end",
    }
    /// What moves a receiver.
    enum ReceiverInput {
        /// Block 0 of a file.
        File,
        /// The store takes the file.
        Accepted,
        /// EOT, and nothing is missing.
        Whole,
        /// YMODEM: the file is safe, and another may follow.
        Closed,
        /// The batch is over, or XMODEM's one file is safe.
        Done,
        /// Either end gives up.
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

/// What a character means to a sender in `state`; `None` is noise.
pub fn on_word(state: Sending, word: u8) -> Option<SenderStep> {
    SENDER.iter().find(|(s, words, _)| *s == state && words.contains(&word)).map(|(_, _, s)| *s)
}

/// What a block means to a receiver in `state`.
pub fn on_block(state: Receiving, place: Place) -> Option<ReceiverStep> {
    RECEIVER.iter().find(|(s, p, _)| *s == state && *p == place).map(|(_, _, step)| *step)
}
