//! Where a session stands, as data (\[TUUCP\] 6.5). Both ends have one table, since the roles may change:
//! one that sends starts as the master, with `next`, the other one as the slave.

use crate::session::states;

states! {
    /// Where the session stands.
    pub(crate) enum State {
        /// Master: the next file is looked for.
        Next = "next",
        /// Master: `S` is said.
        Offer = "offer",
        /// Master: the file goes.
        Data = "data",
        /// Master: all of it is out, `CY` is waited for.
        Confirm = "confirm",
        /// Master: the store is told how the file ended.
        Sent = "sent",
        /// Master: `H` is said.
        Hangup = "hangup",
        /// Slave: a command is waited for.
        Slave = "slave",
        /// Slave: the store's decision on a file.
        Weigh = "weigh",
        /// Slave: the file comes.
        Take = "take",
        /// Slave: all of it is here, the store makes it safe.
        Keep = "keep",
        /// Slave: `HY` is said.
        Farewell = "farewell",
        /// Master: the last `HY` is to leave, as soon as the window lets it.
        Parting = "parting",
        /// Nothing more.
        End = "end",
    }
    /// What moves a session.
    enum Input {
        /// There is a file, and `S` is said or has come.
        File,
        /// There are no more files: `H` is said or has come.
        NoMoreFiles,
        /// `SY` has come or is said.
        Accepted,
        /// The file is not taken, by either end.
        Refused,
        /// The empty packet at the end of a file was sent or has come.
        EndOfFile,
        /// `CY` has come, or the store has made the file safe.
        Stored,
        /// The store knows how the file ended.
        Closed,
        /// `HN` is said or has come: the roles change.
        Turned,
        /// `HY` has come.
        Agreed,
        /// The conversation is over, in good order or not.
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
