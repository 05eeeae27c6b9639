//! What is spoken on a line: one protocol, or one of two as the peer decides.

use crate::config::protocol::Protocol;
use crate::ui::ending::{Ending, usage};

/// What is spoken on the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Speaks {
    /// This.
    One(Protocol),
    /// A receiver: Kermit or ZMODEM, as the sender does.
    KermitOrZmodem,
    /// A sender: ZMODEM, or YMODEM to a receiver that asks for it.
    ZmodemOrYmodem,
    /// A receiver: ZMODEM, and YMODEM if nobody answers.
    ZmodemThenYmodem,
    /// FTP on the ARPANET, by the line's own word.
    Ncp,
}

impl Speaks {
    /// Whether a sender can begin where an interrupted transfer ended.
    pub(crate) fn resumes(self) -> bool {
        match self {
            Self::Ncp => false,
            Self::One(protocol) => protocol.resumes,
            Self::KermitOrZmodem | Self::ZmodemOrYmodem | Self::ZmodemThenYmodem => true,
        }
    }
}

/// Refuses what a protocol cannot, before a file begins at its beginning after all.
pub(crate) fn may_resume(protocol: Protocol) -> Result<(), Ending> {
    if Speaks::One(protocol).resumes() {
        return Ok(());
    }
    let title = protocol.title;
    Err(usage(format!(
        "expected no --resume with {title}, which begins every file at its beginning"
    )))
}
