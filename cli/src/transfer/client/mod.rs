//! What a client of a server needs: its commands, and what to believe of the answers.

pub(crate) mod answer;
pub(crate) mod remote;
pub(crate) mod requested;
