//! Where the two ends stand, as data (RFC 998, 5). How a connection fails is no edge: the link fixes the outcome, and
//! lists what is left to send in each state.

use crate::session::states;

states! {
    /// Where a sender stands.
    pub(crate) enum Sending {
        /// The store is asked for a file.
        Next = "next",
        /// A file is there; passive: an OPEN is awaited.
        Waiting = "waiting",
        /// OPEN was sent.
        Opening = "opening",
        /// A connection carries data.
        Moving = "moving",
        /// A connection is over; the store closes the file.
        Closing = "closing",
        /// QUIT was sent.
        Quitting = "quitting",
        /// There are no more files: the peer is told, or tells us.
        Ending = "ending",
    }
    /// What moves a sender.
    enum SenderInput {
        /// Passive: there is a file, or the receiver wants another connection for it.
        Await,
        /// Active: the same, and OPEN is sent.
        Open,
        /// RESPONSE, or an OPEN that is answered.
        Begin,
        /// The connection, or the request for one, is over.
        Over,
        /// A user here gives up the file.
        GivenUp,
        /// The store has closed the file.
        Closed,
        /// There are no more files, or no more are wanted.
        NoMoreFiles,
    }
    table {
        Next => { Await => Waiting, Open => Opening, NoMoreFiles => Ending, }
        Waiting => { Begin => Moving, Over => Closing, }
        Opening => { Begin => Moving, Over => Closing, GivenUp => Quitting, }
        Moving => { Await => Waiting, Open => Opening, Over => Closing, GivenUp => Quitting, }
        Quitting => { Over => Closing, }
        Closing => { Closed => Next, NoMoreFiles => Ending, }
    }
}

states! {
    /// Where a receiver stands.
    pub(crate) enum Receiving {
        /// Passive: an OPEN is awaited.
        Waiting = "waiting",
        /// Active: OPEN was sent.
        Opening = "opening",
        /// The store is asked whether it takes the file.
        Offering = "offering",
        /// A connection carries data.
        Moving = "moving",
        /// Everything is here, or the file is given up: it is written, compared and closed.
        Checking = "checking",
        /// The last OK waits for its acknowledgement.
        Leaving = "leaving",
        /// QUIT was sent.
        Quitting = "quitting",
    }
    /// What moves a receiver.
    enum ReceiverInput {
        /// Passive: ready for the next connection.
        Await,
        /// Active: OPEN is sent.
        Open,
        /// OPEN or RESPONSE describes a file.
        File,
        /// The store takes the file, or has it open already.
        Begin,
        /// All buffers are here.
        Whole,
        /// The sender, or a user here, has given up the file.
        Dropped,
        /// The store has the file in its place.
        Closed,
        /// We end the connection.
        Quit,
    }
    table {
        Waiting => { File => Offering, }
        Opening => { Open => Opening, File => Offering, Begin => Moving, }
        Offering => { Begin => Moving, Await => Waiting, Dropped => Checking, Quit => Quitting, }
        Moving => { Whole => Checking, Dropped => Checking, Quit => Quitting, }
        Checking => {
            Dropped => Checking,
            Closed => Leaving,
            Quit => Quitting,
            Await => Waiting,
            Open => Opening,
        }
        Leaving => { Await => Waiting, Open => Opening, }
        Quitting => { Await => Waiting, Open => Opening, Dropped => Checking, }
    }
}
