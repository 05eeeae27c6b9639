//! The state tables: the action for each header in each state (xyzmodem.md §5, §6).
//!
//! The engines look up actions and next states here; `docs/reference/states.md` is generated from it.

use super::packet::kind::{
    ZABORT, ZACK, ZCHALLENGE, ZCOMMAND, ZCOMPL, ZCRC, ZDATA, ZEOF, ZFERR, ZFILE, ZFIN, ZFREECNT,
    ZNAK, ZRINIT, ZRPOS, ZRQINIT, ZSINIT, ZSKIP, ZSTDERR,
};
use crate::session::states;

states! {
    /// States of a sender, named by what it has sent or waits for.
    pub enum Sending {
        /// Nothing has been sent yet.
        Start = "start",
        /// ZRQINIT is sent.
        Init = "init",
        /// ZSINIT is sent.
        Attention = "attention",
        /// Requests the next file from the store.
        Next = "next",
        /// ZFILE is sent.
        File = "file",
        /// Data is in flight.
        Data = "data",
        /// ZEOF is sent.
        Eof = "eof",
        /// ZSKIP is sent: the local user has cancelled the file.
        Skip = "skip",
        /// ZCOMMAND is sent.
        Command = "command",
        /// Closes the file.
        Close = "close",
        /// ZFIN is sent.
        Finish = "finish",
        /// Only the last packet is still to be sent.
        End = "end",
    }
    /// Inputs of a sender.
    enum SenderInput {
        /// The engine is started.
        Opened,
        /// ZRINIT, and a ZSINIT is needed.
        Wishes,
        /// ZRINIT or ZACK, or the store has closed a file: on to the next.
        Ready,
        /// The receiver is ready, and a command is to be sent instead of files.
        ReadyForCommand,
        /// The store has a file.
        File,
        /// The store's file cannot be sent by this protocol.
        Unusable,
        /// There are no more files, or the batch was cancelled.
        NoMoreFiles,
        /// ZRPOS: the position to start from.
        Position,
        /// The data continues from somewhere else: ZRPOS, ZNAK or a timeout.
        Repositioned,
        /// The end of the data was sent.
        EndOfFile,
        /// ZSKIP.
        Skipped,
        /// ZRINIT in the middle: the receiver has restarted.
        Lost,
        /// ZRINIT after ZEOF: the receiver has the whole file.
        Whole,
        /// The local user cancels the file.
        GivenUp,
        /// The receiver has closed the cancelled file.
        Left,
        /// ZCOMPL.
        Completed,
        /// ZFIN, or the wait for it is over.
        Done,
        /// Either end aborts the session.
        Failed,
    }
    table {
        Start => { Opened => Init, }
        Init => { Wishes => Attention, Ready => Next, ReadyForCommand => Command, }
        Attention => { Ready => Next, ReadyForCommand => Command, }
        Next => { File => File, Unusable => Close, NoMoreFiles => Finish, }
        File => { Position => Data, Skipped => Close, }
        Data => {
            EndOfFile => Eof,
            Repositioned => Data,
            Skipped => Close,
            Lost => Close,
            Whole => Close,
            GivenUp => Skip,
        }
        Eof => { Repositioned => Data, Whole => Close, Skipped => Close, }
        Skip => { Left => Close, }
        Command => { Completed => Finish, }
        Close => { Ready => Next, NoMoreFiles => Finish, }
        Finish => { Done => End, }
        _ => { Failed => End, }
    }
}

states! {
    /// States of a receiver, named by what it waits for.
    pub enum Receiving {
        /// ZFILE, or ZFIN for the end.
        Init = "init",
        /// The store's decision on a file.
        Offer = "offer",
        /// The sender's ZCRC of the stored part.
        Check = "check",
        /// ZDATA, data, ZEOF.
        Data = "data",
        /// The sender's answer to a ZSKIP: ZFILE, or ZFIN.
        Skip = "skip",
        /// The store closes or drops the file.
        Close = "close",
        /// The sender's `OO`.
        Finish = "finish",
        /// The end.
        End = "end",
    }
    /// Inputs of a receiver.
    enum ReceiverInput {
        /// ZFILE, or the offer to the store is repeated.
        File,
        /// The file is refused.
        Refused,
        /// The sender's CRC is needed.
        Unsure,
        /// The store accepts the file, or the stored part matches.
        Accepted,
        /// The file is complete, or either end has cancelled it while it was open.
        FileOver,
        /// The sender has cancelled a file that was not open.
        LeftUnopened,
        /// The store has closed the file: the sender may continue.
        Closed,
        /// A header that shows that ZSKIP was received.
        SkipHeard,
        /// ZFIN.
        Done,
        /// Either end aborts the session.
        Failed,
    }
    table {
        Init => { File => Offer, Refused => Skip, Done => Finish, }
        Offer => { File => Offer, Accepted => Data, Unsure => Check, Refused => Skip, FileOver => Close, }
        Check => { File => Offer, Accepted => Data, FileOver => Close, LeftUnopened => Init, }
        Data => { FileOver => Close, }
        Skip => { File => Offer, Refused => Skip, SkipHeard => Init, Done => Finish, }
        Close => { Closed => Init, Refused => Skip, }
        _ => { Failed => End, }
    }
}

/// Actions of a sender for a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SenderStep {
    /// Apply the receiver's capabilities.
    Negotiate,
    /// Return the challenge.
    Challenge,
    /// Ask the store for a file.
    Next,
    /// Continue from a position.
    Position,
    /// Send a CRC of the file.
    Check,
    /// Count an acknowledgement.
    Acknowledged,
    /// The receiver refuses the file.
    Skipped,
    /// The receiver has restarted in the middle of a file.
    Lost,
    /// The file is complete at the receiver.
    Closed,
    /// The receiver has closed the file that was cancelled here.
    Left,
    /// The receiver has run the command.
    Completed,
    /// Send the last packet.
    Finish,
    /// The receiver has aborted.
    Failed,
    /// Retransmit the last packet.
    Repeat,
}

/// Actions of a receiver for a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReceiverStep {
    /// Send our capabilities.
    Announce,
    /// Take the sender's options, in data that follows.
    Attention,
    /// Take the returned challenge.
    Challenged,
    /// Take the file information, in data that follows.
    File,
    /// Take data, if the position is right.
    Data,
    /// Close the file, if the position is right.
    Eof,
    /// The end of a file that is closed already: acknowledge it again.
    Again,
    /// Compare the sender's CRC with ours.
    Compare,
    /// Retransmit the last packet.
    Repeat,
    /// The session is over.
    Finish,
    /// The sender has aborted in the middle of a file.
    Failed,
    /// The sender has cancelled this file, and continues with another.
    Skipped,
    /// The sender has started a new session in the middle of a file.
    Restarted,
    /// The sender does something else in the middle of a file: it is asked to retransmit it when
    /// the file is closed.
    Left,
    /// A command, in data that follows.
    Command,
    /// Report the free space.
    Free,
    /// A message, in data that follows.
    Message,
    /// Not a sender, but our own echo, or another receiver.
    Echo,
}

/// The sender: in this state, a header of one of these types causes this action.
pub const SENDER: &[(Sending, &[u8], SenderStep)] = &[
    (Sending::Init, &[ZRINIT], SenderStep::Negotiate),
    (Sending::Init, &[ZCHALLENGE], SenderStep::Challenge),
    (Sending::Init, &[ZNAK], SenderStep::Repeat),
    (Sending::Init, &[ZABORT, ZFERR], SenderStep::Failed),
    (Sending::Attention, &[ZACK], SenderStep::Next),
    (Sending::Attention, &[ZCHALLENGE], SenderStep::Challenge),
    (Sending::Attention, &[ZNAK], SenderStep::Repeat),
    (Sending::Attention, &[ZABORT, ZFERR, ZFIN], SenderStep::Failed),
    // The store is busy, and the receiver ends the session.
    (Sending::Next, &[ZABORT, ZFERR, ZFIN], SenderStep::Failed),
    (Sending::File, &[ZRPOS], SenderStep::Position),
    (Sending::File, &[ZCHALLENGE], SenderStep::Challenge),
    (Sending::File, &[ZCRC], SenderStep::Check),
    (Sending::File, &[ZSKIP], SenderStep::Skipped),
    (Sending::File, &[ZNAK], SenderStep::Repeat),
    (Sending::File, &[ZABORT, ZFERR, ZFIN], SenderStep::Failed),
    (Sending::Data, &[ZRPOS], SenderStep::Position),
    (Sending::Data, &[ZACK], SenderStep::Acknowledged),
    // The header of the data was damaged, and the receiver does not send its position.
    (Sending::Data, &[ZNAK], SenderStep::Repeat),
    (Sending::Data, &[ZCHALLENGE], SenderStep::Challenge),
    (Sending::Data, &[ZSKIP], SenderStep::Skipped),
    (Sending::Data, &[ZRINIT], SenderStep::Lost),
    (Sending::Data, &[ZABORT, ZFERR, ZFIN], SenderStep::Failed),
    (Sending::Eof, &[ZRPOS], SenderStep::Position),
    (Sending::Eof, &[ZRINIT], SenderStep::Closed),
    // It compares before it closes.
    (Sending::Eof, &[ZCRC], SenderStep::Check),
    (Sending::Eof, &[ZCHALLENGE], SenderStep::Challenge),
    (Sending::Eof, &[ZSKIP], SenderStep::Skipped),
    (Sending::Eof, &[ZNAK], SenderStep::Repeat),
    (Sending::Eof, &[ZABORT, ZFERR, ZFIN], SenderStep::Failed),
    (Sending::Skip, &[ZRINIT, ZSKIP], SenderStep::Left),
    (Sending::Skip, &[ZCHALLENGE], SenderStep::Challenge),
    (Sending::Skip, &[ZNAK, ZRPOS], SenderStep::Repeat),
    (Sending::Skip, &[ZABORT, ZFERR, ZFIN], SenderStep::Failed),
    (Sending::Command, &[ZCOMPL], SenderStep::Completed),
    (Sending::Command, &[ZCHALLENGE], SenderStep::Challenge),
    (Sending::Command, &[ZNAK], SenderStep::Repeat),
    (Sending::Command, &[ZSKIP, ZABORT, ZFERR, ZFIN], SenderStep::Failed),
    (Sending::Close, &[ZABORT, ZFERR, ZFIN], SenderStep::Failed),
    (Sending::Finish, &[ZFIN], SenderStep::Finish),
    (Sending::Finish, &[ZCHALLENGE], SenderStep::Challenge),
    (Sending::Finish, &[ZNAK, ZRINIT], SenderStep::Repeat),
    (Sending::Finish, &[ZABORT, ZFERR], SenderStep::Finish),
];

/// The receiver: in this state, a header of one of these types causes this action.
pub const RECEIVER: &[(Receiving, &[u8], ReceiverStep)] = &[
    (Receiving::Init, &[ZRQINIT, ZSKIP], ReceiverStep::Announce),
    (Receiving::Init, &[ZSINIT], ReceiverStep::Attention),
    (Receiving::Init, &[ZACK], ReceiverStep::Challenged),
    (Receiving::Init, &[ZFILE], ReceiverStep::File),
    (Receiving::Init, &[ZEOF], ReceiverStep::Again),
    (Receiving::Init, &[ZFIN], ReceiverStep::Finish),
    (Receiving::Init, &[ZNAK], ReceiverStep::Repeat),
    (Receiving::Init, &[ZCOMMAND], ReceiverStep::Command),
    (Receiving::Init, &[ZFREECNT], ReceiverStep::Free),
    (Receiving::Init, &[ZSTDERR], ReceiverStep::Message),
    (Receiving::Init, &[ZRINIT], ReceiverStep::Echo),
    (Receiving::Init, &[ZABORT, ZFERR], ReceiverStep::Failed),
    (Receiving::Check, &[ZCRC], ReceiverStep::Compare),
    (Receiving::Check, &[ZFILE, ZNAK], ReceiverStep::Repeat),
    (Receiving::Check, &[ZRQINIT], ReceiverStep::Restarted),
    (Receiving::Check, &[ZSINIT], ReceiverStep::Attention),
    (Receiving::Check, &[ZCOMMAND], ReceiverStep::Left),
    (Receiving::Check, &[ZFREECNT], ReceiverStep::Free),
    (Receiving::Check, &[ZSTDERR], ReceiverStep::Message),
    (Receiving::Check, &[ZSKIP], ReceiverStep::Skipped),
    (Receiving::Check, &[ZFIN, ZABORT, ZFERR], ReceiverStep::Failed),
    (Receiving::Data, &[ZFILE], ReceiverStep::File),
    (Receiving::Data, &[ZDATA], ReceiverStep::Data),
    (Receiving::Data, &[ZEOF], ReceiverStep::Eof),
    (Receiving::Data, &[ZNAK], ReceiverStep::Repeat),
    (Receiving::Data, &[ZRQINIT], ReceiverStep::Restarted),
    (Receiving::Data, &[ZSINIT], ReceiverStep::Attention),
    (Receiving::Data, &[ZCOMMAND], ReceiverStep::Left),
    (Receiving::Data, &[ZFIN, ZABORT, ZFERR], ReceiverStep::Failed),
    (Receiving::Data, &[ZFREECNT], ReceiverStep::Free),
    (Receiving::Data, &[ZSTDERR], ReceiverStep::Message),
    (Receiving::Data, &[ZSKIP], ReceiverStep::Skipped),
    (Receiving::Skip, &[ZFILE], ReceiverStep::File),
    (Receiving::Skip, &[ZDATA, ZEOF, ZNAK], ReceiverStep::Repeat),
    (Receiving::Skip, &[ZSKIP, ZRQINIT], ReceiverStep::Announce),
    // Senders in browsers send it before each file.
    (Receiving::Skip, &[ZSINIT], ReceiverStep::Attention),
    (Receiving::Skip, &[ZCOMMAND], ReceiverStep::Command),
    (Receiving::Skip, &[ZFREECNT], ReceiverStep::Free),
    (Receiving::Skip, &[ZSTDERR], ReceiverStep::Message),
    (Receiving::Skip, &[ZFIN], ReceiverStep::Finish),
    (Receiving::Skip, &[ZABORT, ZFERR], ReceiverStep::Failed),
];

/// What a header means to a sender in `state`; `None` is ignored.
pub fn at_sender(state: Sending, kind: u8) -> Option<SenderStep> {
    SENDER.iter().find(|(s, kinds, _)| *s == state && kinds.contains(&kind)).map(|(_, _, s)| *s)
}

/// What a header means to a receiver in `state`; `None` is ignored.
pub fn at_receiver(state: Receiving, kind: u8) -> Option<ReceiverStep> {
    RECEIVER.iter().find(|(s, kinds, _)| *s == state && kinds.contains(&kind)).map(|(_, _, s)| *s)
}
