//! The protocol as data: which header in which state does what (xyzmodem.md §5, §6).
//!
//! The engines look up here what to do, and where that leads; `docs/reference/states.md` is drawn from it.

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
        /// ZRQINIT is out.
        Init = "init",
        /// ZSINIT is out.
        Attention = "attention",
        /// The store is asked for the next file.
        Next = "next",
        /// ZFILE is out.
        File = "file",
        /// Data is under way.
        Data = "data",
        /// ZEOF is out.
        Eof = "eof",
        /// ZSKIP is out: the user here has given up the file.
        Skip = "skip",
        /// ZCOMMAND is out.
        Command = "command",
        /// The store is told how the file ended.
        Close = "close",
        /// ZFIN is out.
        Finish = "finish",
        /// Nothing more will be sent but the last word.
        End = "end",
    }
    /// What moves a sender.
    enum SenderInput {
        /// The engine is turned for the first time.
        Opened,
        /// ZRINIT, and there is something to say in ZSINIT.
        Wishes,
        /// ZRINIT or ZACK, or the store has closed a file: the next file, please.
        Ready,
        /// The receiver is ready, and a command is to be sent instead of files.
        ReadyForCommand,
        /// The store has a file.
        File,
        /// The store's file cannot be sent by this protocol.
        Unusable,
        /// There are no more files, or no more are wanted.
        NoMoreFiles,
        /// ZRPOS, where to start.
        Position,
        /// The data goes on from somewhere else: ZRPOS, ZNAK or a timeout.
        Repositioned,
        /// The end of the data was sent.
        EndOfFile,
        /// ZSKIP.
        Skipped,
        /// ZRINIT in the middle: the receiver has begun again.
        Lost,
        /// ZRINIT after ZEOF: the receiver has the whole file.
        Whole,
        /// A user here gives up the file.
        GivenUp,
        /// The receiver has put the file aside that was given up.
        Left,
        /// ZCOMPL.
        Completed,
        /// ZFIN, or it is not waited for any more.
        Done,
        /// Either end gives up the session.
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
        /// The sender's ZCRC of the part that is here.
        Check = "check",
        /// ZDATA, data, ZEOF.
        Data = "data",
        /// The sender's word after a ZSKIP: ZFILE, or ZFIN.
        Skip = "skip",
        /// The store, to make the file safe or to give it up.
        Close = "close",
        /// The sender's `OO`.
        Finish = "finish",
        /// Nothing more.
        End = "end",
    }
    /// What moves a receiver.
    enum ReceiverInput {
        /// ZFILE, or the offer is to be made to the store again.
        File,
        /// The file is not wanted.
        Refused,
        /// The sender's CRC is needed.
        Unsure,
        /// The store takes the file, or the part that is here is right.
        Accepted,
        /// The whole file is here, or either end has given it up while it was open.
        FileOver,
        /// The sender has given up a file that was not open.
        LeftUnopened,
        /// The store has closed the file: the sender may go on.
        Closed,
        /// A header that shows that ZSKIP was heard.
        SkipHeard,
        /// ZFIN.
        Done,
        /// Either end gives up the session.
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

/// What a sender does with a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SenderStep {
    /// Take over what the receiver can do.
    Negotiate,
    /// Give the number back.
    Challenge,
    /// Ask the store for a file.
    Next,
    /// Go on from a position.
    Position,
    /// Tell a CRC of the file.
    Check,
    /// Count an acknowledgement.
    Acknowledged,
    /// The receiver does not want the file.
    Skipped,
    /// The receiver has restarted in the middle of a file.
    Lost,
    /// The file is whole at the receiver.
    Closed,
    /// The receiver has put the file aside that was given up here.
    Left,
    /// The receiver has run the command.
    Completed,
    /// Say the last word.
    Finish,
    /// The receiver has given up.
    Failed,
    /// Say the last thing again.
    Repeat,
}

/// What a receiver does with a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReceiverStep {
    /// Tell what we can do.
    Announce,
    /// Take the sender's wishes, in data that follows.
    Attention,
    /// Take the number that comes back.
    Challenged,
    /// Take the file information, in data that follows.
    File,
    /// Take data, if the position is right.
    Data,
    /// Close the file, if the position is right.
    Eof,
    /// The end of a file that is closed already: say so again.
    Again,
    /// Compare the sender's CRC with ours.
    Compare,
    /// Say the last thing again.
    Repeat,
    /// The session is over.
    Finish,
    /// The sender has given up in the middle of a file.
    Failed,
    /// The sender has given up this file, and goes on with another.
    Skipped,
    /// The sender has begun a new session in the middle of a file.
    Restarted,
    /// The sender does something else in the middle of a file: it is asked to say it again when
    /// the file is closed.
    Left,
    /// A command, in data that follows.
    Command,
    /// Tell how much is free.
    Free,
    /// A message, in data that follows.
    Message,
    /// Not a sender, but our own echo, or another receiver.
    Echo,
}

/// The sender: in this state, a header of one of these types leads to this step.
pub const SENDER: &[(Sending, &[u8], SenderStep)] = &[
    (Sending::Init, &[ZRINIT], SenderStep::Negotiate),
    (Sending::Init, &[ZCHALLENGE], SenderStep::Challenge),
    (Sending::Init, &[ZNAK], SenderStep::Repeat),
    (Sending::Init, &[ZABORT, ZFERR], SenderStep::Failed),
    (Sending::Attention, &[ZACK], SenderStep::Next),
    (Sending::Attention, &[ZCHALLENGE], SenderStep::Challenge),
    (Sending::Attention, &[ZNAK], SenderStep::Repeat),
    (Sending::Attention, &[ZABORT, ZFERR, ZFIN], SenderStep::Failed),
    // The store is busy, and the receiver has had enough.
    (Sending::Next, &[ZABORT, ZFERR, ZFIN], SenderStep::Failed),
    (Sending::File, &[ZRPOS], SenderStep::Position),
    (Sending::File, &[ZCHALLENGE], SenderStep::Challenge),
    (Sending::File, &[ZCRC], SenderStep::Check),
    (Sending::File, &[ZSKIP], SenderStep::Skipped),
    (Sending::File, &[ZNAK], SenderStep::Repeat),
    (Sending::File, &[ZABORT, ZFERR, ZFIN], SenderStep::Failed),
    (Sending::Data, &[ZRPOS], SenderStep::Position),
    (Sending::Data, &[ZACK], SenderStep::Acknowledged),
    // The header of the data was damaged, and the receiver does not say where it stands.
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

/// The receiver: in this state, a header of one of these types leads to this step.
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
    // Senders in browsers say it before each file.
    (Receiving::Skip, &[ZSINIT], ReceiverStep::Attention),
    (Receiving::Skip, &[ZCOMMAND], ReceiverStep::Command),
    (Receiving::Skip, &[ZFREECNT], ReceiverStep::Free),
    (Receiving::Skip, &[ZSTDERR], ReceiverStep::Message),
    (Receiving::Skip, &[ZFIN], ReceiverStep::Finish),
    (Receiving::Skip, &[ZABORT, ZFERR], ReceiverStep::Failed),
];

/// What a header means to a sender in `state`; `None` is passed over.
pub fn at_sender(state: Sending, kind: u8) -> Option<SenderStep> {
    SENDER.iter().find(|(s, kinds, _)| *s == state && kinds.contains(&kind)).map(|(_, _, s)| *s)
}

/// What a header means to a receiver in `state`; `None` is passed over.
pub fn at_receiver(state: Receiving, kind: u8) -> Option<ReceiverStep> {
    RECEIVER.iter().find(|(s, kinds, _)| *s == state && kinds.contains(&kind)).map(|(_, _, s)| *s)
}
