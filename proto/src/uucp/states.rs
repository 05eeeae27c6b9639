//! The state tables of a session (\[TUUCP\] 6.5), of the greeting before it, and of the packet driver below it. Both
//! ends have one table for a session, since the roles may change: one that sends starts as the master, with `next`, the
//! other one as the slave.

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
        RolesReversed,
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
        Hangup => { Agreed => Parting, RolesReversed => Slave, }
        Slave => { File => Weigh, Refused => Slave, NoMoreFiles => Farewell, RolesReversed => Next, }
        Weigh => { Accepted => Take, Refused => Slave, }
        Take => { EndOfFile => Keep, }
        Keep => { Stored => Slave, }
        _ => { Over => End, }
    }
}

states! {
    /// The messages before the packets: what is awaited.
    pub(crate) enum Greeting {
        /// Called: the caller's name.
        Name = "name",
        /// Called: its choice of a protocol.
        Choice = "choice",
        /// Caller: `Shere`.
        Here = "here",
        /// Caller: `ROK`.
        Welcome = "welcome",
        /// Caller: the protocols.
        Protocols = "protocols",
        /// Packets.
        Done = "done",
    }
    /// What moves the greeting.
    enum GreetingInput {
        /// `Shere`.
        Called,
        /// The caller's name, or the same again: our answer was lost.
        Named,
        /// `ROK`.
        Accepted,
        /// The protocol is chosen, or the caller's first packet shows that it was.
        Agreed,
    }
    table {
        Here | Welcome => { Called => Welcome, }
        Name | Choice => { Named => Choice, }
        Welcome => { Accepted => Protocols, }
        Choice | Welcome | Protocols => { Agreed => Done, }
    }
}

states! {
    /// The phase of the packet driver's start.
    pub(crate) enum Stage {
        /// Messages without packets are exchanged.
        Off = "off",
        /// INITA is awaited.
        A = "a",
        /// INITB is awaited.
        B = "b",
        /// INITC is awaited.
        C = "c",
        /// Packets are exchanged.
        Run = "run",
    }
    /// What moves the packet driver's start.
    enum StageInput {
        /// The protocol is agreed on.
        Started,
        /// The INIT that is awaited.
        Init,
        /// Data: the last INIT was lost, but the peer has received ours.
        Data,
    }
    table {
        Off => { Started => A, }
        A => { Init => B, }
        B => { Init => C, }
        C => { Init => Run, Data => Run, }
    }
}

impl Stage {
    /// Whether what `awaited` waits for has come already.
    pub(crate) const fn is_past(self, awaited: Self) -> bool {
        self as u8 > awaited as u8
    }
}
