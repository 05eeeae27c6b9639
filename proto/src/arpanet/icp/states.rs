//! Where an initial connection stands, as data (RFC 165).

use crate::session::states;

states! {
    /// What an end of an initial connection waits for: the user and the server have the same states.
    pub(crate) enum Stage {
        /// The server's socket number: the server says it, the user hears it.
        Number = "number",
        /// The two connections.
        Both = "both",
        /// Nothing: there is a connection in each direction.
        Done = "done",
        /// Nothing: there is no connection.
        Failed = "failed",
    }
    /// What moves an end.
    enum Input {
        /// The socket number was said and its connection is over, or it was heard.
        Numbered,
        /// Both connections are open.
        Paired,
        /// A connection failed, or cannot be had.
        Broken,
    }
    table {
        Number => { Numbered => Both, }
        Both => { Paired => Done, }
        _ => { Broken => Failed, }
    }
}
