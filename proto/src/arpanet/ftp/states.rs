//! Where the two processes stand, as data (RFC 354). The connections between them have tables of their own, in `ncp` and
//! `icp`.

use crate::session::states;

states! {
    /// What the process waits for.
    pub(crate) enum Stage {
        /// To be started.
        Idle = "idle",
        /// The initial connection.
        Call = "call",
        /// The server's first words.
        Greeting = "greeting",
        /// The reply to USER.
        User = "user",
        /// The reply to PASS.
        Pass = "pass",
        /// The reply to ACCT.
        Acct = "acct",
        /// The reply to TYPE.
        Type = "type",
        /// The reply to BYTE.
        Byte = "byte",
        /// The reply to MODE.
        Mode = "mode",
        /// The reply to STRU.
        Structure = "structure",
        /// The store's next file.
        Next = "next",
        /// The reply to ALLO.
        Allo = "allo",
        /// The reply to STOR or RETR.
        Start = "start",
        /// The store's word on a file that is offered.
        Offer = "offer",
        /// The file on its way, and the connection's end.
        Data = "data",
        /// The second reply.
        Result = "result",
        /// The store's word at the end of a file.
        Close = "close",
        /// The reply to BYE.
        Bye = "bye",
        /// The end is fixed: the connections are being closed.
        End = "end",
    }
    /// What moves the process.
    enum Input {
        /// It is turned for the first time.
        Opened,
        /// The pair of connections is there.
        Connected,
        /// The server is ready.
        Greeted,
        /// A password is needed.
        Password,
        /// An account is needed.
        Account,
        /// The server knows who we are.
        LoggedIn,
        /// The parameter is taken.
        Good,
        /// The store is asked for the next file.
        Ready,
        /// ALLO is sent.
        Allocate,
        /// STOR or RETR is sent.
        Start,
        /// The file cannot be sent, or the server does not take it.
        Refused,
        /// The server has begun to send; the store is asked.
        Offered,
        /// Data flows.
        Begun,
        /// The data connection is closed, or its data is not wanted.
        DataOver,
        /// The file is whole at both ends.
        Whole,
        /// There are no more files: BYE is sent.
        NoMoreFiles,
        /// The server has closed the session.
        Done,
        /// Either end gives up.
        Failed,
    }
    table {
        Idle => { Opened => Call, }
        Call => { Connected => Greeting, }
        Greeting => { Greeted => User, }
        User => { Password => Pass, Account => Acct, LoggedIn => Type, }
        Pass => { Account => Acct, LoggedIn => Type, }
        Acct => { LoggedIn => Type, }
        Type => { Good => Byte, }
        Byte => { Good => Mode, }
        Mode => { Good => Structure, }
        Structure => { Ready => Next, Start => Start, NoMoreFiles => Bye, }
        Next => { Allocate => Allo, Start => Start, Refused => Close, NoMoreFiles => Bye, }
        Allo => { Start => Start, }
        Start => { Begun => Data, Offered => Offer, Refused => Close, Start => Start, NoMoreFiles => Bye, }
        Offer => { Begun => Data, DataOver => Result, }
        Data => { DataOver => Result, }
        Result => { Whole => Close, Start => Start, NoMoreFiles => Bye, }
        Close => { Ready => Next, Start => Start, NoMoreFiles => Bye, }
        Bye => { Done => End, }
        _ => { Failed => End, }
    }
}

states! {
    /// What the server's process waits for.
    pub(crate) enum ServerStage {
        /// The initial connection.
        Call = "call",
        /// The next command.
        Ready = "ready",
        /// The program's or the store's answer to a command.
        Asked = "asked",
        /// The data connection.
        Opening = "opening",
        /// The file on its way.
        Data = "data",
        /// The store's word at the end of a file.
        Close = "close",
        /// The last reply to leave.
        Bye = "bye",
        /// Nothing more: the connections are being closed.
        Over = "over",
    }
    /// What moves the server's process.
    enum ServerInput {
        /// The pair of connections is there.
        Connected,
        /// A command needs an answer of the program or the store.
        Ask,
        /// It has one, and the reply is sent.
        Answered,
        /// The file may go: the data connection is opened.
        Granted,
        /// Data flows.
        Begun,
        /// The file is over, whole or not, or there is no data connection for it.
        DataOver,
        /// The store has closed the file, and the reply is sent.
        Closed,
        /// BYE is heard.
        LoggedOut,
        /// The last reply has left, the user has disconnected, or the user has timed out.
        HungUp,
    }
    table {
        Call => { Connected => Ready, }
        Ready => { Ask => Asked, LoggedOut => Bye, }
        Asked => { Answered => Ready, Granted => Opening, }
        Opening => { Begun => Data, DataOver => Close, }
        Data => { DataOver => Close, }
        Close => { Closed => Ready, }
        _ => { HungUp => Over, }
    }
}
