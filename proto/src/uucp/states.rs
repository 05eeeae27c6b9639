//! The state table of a session (\[TUUCP\] 6.5). Both ends have one table, since the roles may change:
//! one that sends starts as the master, with `next`, the other one as the slave.

use crate::session::states;

states! {
    /// The states of a session.
    pub(crate) enum State {
        /// Master: requests the next file.
        Next = "next",
        /// Master: `S` is sent.
        Offer = "offer",
        /// Master: sends the file.
        Data = "data",
        /// Master: all of it is sent, waits for `CY`.
        Confirm = "confirm",
        /// Master: closes the file.
        Sent = "sent",
        /// Master: `H` is sent.
        Hangup = "hangup",
        /// Slave: waits for a command.
        Slave = "slave",
        /// Slave: the store's decision on a file.
        Weigh = "weigh",
        /// Slave: receives the file.
        Take = "take",
        /// Slave: all of it has arrived, the store closes it.
        Keep = "keep",
        /// Slave: `HY` is sent.
        Farewell = "farewell",
        /// Master: the last `HY` waits for the window.
        Parting = "parting",
        /// The end.
        End = "end",
    }
    /// The inputs of a session.
    enum Input {
        /// There is a file: `S` was sent or received.
        File,
        /// There are no more files: `H` was sent or received.
        NoMoreFiles,
        /// `SY` was received or sent.
        Accepted,
        /// The file was refused, by either end.
        Refused,
        /// The empty packet at the end of a file was sent or received.
        EndOfFile,
        /// `CY` was received, or the store has closed the file.
        Stored,
        /// The store has closed the file.
        Closed,
        /// `HN` was sent or received: the roles are reversed.
        Turned,
        /// `HY` was received.
        Agreed,
        /// The session is over, in good order or not.
        Over,
    }
    table {
        Next => { File => Offer, Refused => Sent, NoMoreFiles => Hangup, }
        Offer => { Accepted => Data, Refused => Sent, }
        Data => { EndOfFile => Confirm, }
        Confirm => { Stored => Sent, Refused => Sent, }
        Sent => { Closed => Next, }
        Hangup => { Agreed => Parting, Turned => Slave, }
        Slave => { File => Weigh, Refused => Slave, NoMoreFiles => Farewell, Turned => Next, }
        Weigh => { Accepted => Take, Refused => Slave, }
        Take => { EndOfFile => Keep, }
        Keep => { Stored => Slave, }
        _ => { Over => End, }
    }
}
