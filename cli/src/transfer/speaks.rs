//! The protocol of a line: one, or one of two as the peer decides.

use crate::config::protocol::Protocol;
use crate::ui::ending::{Ending, usage};

/// The protocol of the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Speaks {
    /// This one.
    One(Protocol),
    /// A receiver: Kermit or ZMODEM, as the sender does.
    KermitOrZmodem,
    /// A sender: ZMODEM, or YMODEM to a receiver that asks for it.
    ZmodemOrYmodem,
    /// A receiver: ZMODEM, and YMODEM after a timeout.
    ZmodemThenYmodem,
    /// FTP on the ARPANET, by the form of the line.
    Ncp,
}

impl Speaks {
    /// Whether a sender can resume an interrupted transfer.
    pub(crate) fn resumes(self) -> bool {
        match self {
            Self::Ncp => false,
            Self::One(protocol) => protocol.resumes,
            Self::KermitOrZmodem | Self::ZmodemOrYmodem | Self::ZmodemThenYmodem => true,
        }
    }
}

/// Refuses --resume for a protocol without it.
pub(crate) fn may_resume(protocol: Protocol) -> Result<(), Ending> {
    if Speaks::One(protocol).resumes() {
        return Ok(());
    }
    let title = protocol.title;
    Err(usage(format!("expected no --resume with {title}, which starts every file at offset 0")))
}
