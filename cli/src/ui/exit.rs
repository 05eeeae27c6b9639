//! The exit codes, and how an end is mapped to one of them.

use std::process::ExitCode;

use wetstring_drive::LineSpec;
use wetstring_proto::{Blame, Failure, FailureKind, StoreError};

/// How the program ends. The numbers are part of the interface and never change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exit {
    /// Everything requested is done.
    Done = 0,
    /// Some files were skipped, refused or cancelled; the rest is done.
    Skipped = 1,
    /// The command line or the configuration is wrong.
    Usage = 2,
    /// The line cannot be opened, closed early, or damages too much.
    Line = 3,
    /// The peer failed or violates its protocol.
    Peer = 4,
    /// The store: not found, not permitted, full.
    Store = 5,
    /// The bytes at the two ends differ.
    Integrity = 6,
    /// Nothing usable was received in time.
    Timeout = 7,
    /// Interrupted by the user.
    Interrupted = 130,
}

/// One line for each code, for the help and the manual.
pub(crate) const TABLE: &str = "\
Exit codes:
    0  all done
    1  some files were skipped, refused or cancelled
    2  usage: the command line or the configuration
    3  the line: cannot be opened, closed early, damages too much
    4  the peer: failed, or violated its protocol
    5  the store: file not found, permissions, disk full
    6  integrity: the bytes at the two ends differ
    7  timeout: nothing usable received
  130  interrupted";

/// Every end, in the order of the numbers.
#[cfg(test)]
pub(crate) const ALL: [Exit; 9] = [
    Exit::Done,
    Exit::Skipped,
    Exit::Usage,
    Exit::Line,
    Exit::Peer,
    Exit::Store,
    Exit::Integrity,
    Exit::Timeout,
    Exit::Interrupted,
];

impl Exit {
    /// The name of this end in the JSON output.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Skipped => "skipped",
            Self::Usage => "usage",
            Self::Line => "line",
            Self::Peer => "peer",
            Self::Store => "store",
            Self::Integrity => "integrity",
            Self::Timeout => "timeout",
            Self::Interrupted => "interrupted",
        }
    }

    /// The exit code for a failure of an engine.
    pub(crate) const fn of(failure: Failure) -> Self {
        match (failure.kind, failure.blame) {
            (FailureKind::Aborted, Blame::Local) => Self::Interrupted,
            (FailureKind::Refused, _) => Self::Skipped,
            (FailureKind::DigestDiffers, _) => Self::Integrity,
            (FailureKind::Silence, _) => Self::Timeout,
            (FailureKind::Store(_), _) => Self::Store,
            (_, Blame::Peer) => Self::Peer,
            (_, Blame::Line) => Self::Line,
            (_, Blame::Store) => Self::Store,
            (_, Blame::Local) => Self::Usage,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// The kind of line, as far as advice depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LineKind {
    /// A serial port, or a terminal.
    Serial,
    /// A connection that delivers every byte.
    Connection,
    /// Datagrams.
    Datagrams,
    /// A program that we started, or the peer of this terminal session.
    Program,
}

impl LineKind {
    /// The kind of a line.
    pub(crate) const fn of(spec: &LineSpec) -> Self {
        match spec {
            LineSpec::Serial(_) | LineSpec::Rfc2217(..) | LineSpec::Pty(_) => Self::Serial,
            LineSpec::Udp(_)
            | LineSpec::UdpListen(_)
            | LineSpec::Ip(_)
            | LineSpec::IpListen(_)
            | LineSpec::Tun(_) => Self::Datagrams,
            LineSpec::Exec(_) | LineSpec::ExecPty(_) | LineSpec::Stdio => Self::Program,
            _ => Self::Connection,
        }
    }

    /// What to check when nothing was received.
    const fn unheard(self) -> &'static str {
        match self {
            Self::Serial => "is the peer started, and do both ends use the same speed and parity?",
            Self::Connection => {
                "the connection is open, but no peer speaks this protocol: is a transfer started there?"
            }
            Self::Datagrams => {
                "is the peer started at that address and port, does a firewall let its datagrams through, and have both ends --plain or neither?"
            }
            Self::Program => {
                "has the program started a transfer, and does it speak this protocol? Its messages are on stderr"
            }
        }
    }
}

/// Advice about a failure, in a sentence. `heard`: the peer answered before.
pub(crate) const fn advice(failure: Failure, line: LineKind, heard: bool) -> &'static str {
    match failure.kind {
        FailureKind::Silence if heard => {
            "the peer answered, and then fell silent: it was stopped, or the line was cut"
        }
        FailureKind::Silence => line.unheard(),
        FailureKind::TooManyRetries => match line {
            LineKind::Datagrams => {
                "the path loses what is sent: try --max-rate, or --datagram 1200"
            }
            _ => {
                "the line loses or changes what is sent: check speed, parity and flow control at both ends; with --trace FILE, wst explain FILE names the cause and the flags that help"
            }
        },
        FailureKind::NotReliable => "use --reliable off, so that damaged packets are retransmitted",
        FailureKind::PeerError => "the peer gave up; its message says why",
        FailureKind::Violation => "-v and --trace FILE show what it sent",
        FailureKind::CannotResume => "try again without --resume",
        FailureKind::NotAServer => "start a receiver or a sender at the peer, not a client",
        FailureKind::DigestDiffers => "do not use the file; send it again",
        FailureKind::LengthDiffers => {
            "the file changed while it was sent, or the line changed what it sent: send it again"
        }
        FailureKind::Store(StoreError::NoSpace) => {
            "free some space or choose another directory with -o"
        }
        FailureKind::Closed => "the peer may have been interrupted; try again",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_fits_the_line() {
        let silent = Failure { blame: Blame::Line, kind: FailureKind::Silence };
        let lost = Failure { blame: Blame::Line, kind: FailureKind::TooManyRetries };
        for (line, wanted) in [
            ("serial:/dev/ttyS0", "parity"),
            ("tcp://host:1", "connection"),
            ("udp://host:1", "firewall"),
            ("exec:true", "stderr"),
        ] {
            let kind = LineKind::of(&line.parse().expect("a line"));
            assert!(advice(silent, kind, false).contains(wanted), "{line}");
            assert!(advice(silent, kind, true).contains("the peer answered"), "{line}");
            for failure in [silent, lost] {
                let text = advice(failure, kind, false);
                assert!(kind != LineKind::Datagrams || !text.contains("parity"), "{line}: {text}");
            }
        }
    }

    #[test]
    fn free_space_is_advised_only_when_missing() {
        let told = |error| {
            let failure = Failure { blame: Blame::Store, kind: FailureKind::Store(error) };
            advice(failure, LineKind::Serial, true)
        };
        assert!(told(StoreError::NoSpace).contains("free some space"));
        for error in [StoreError::Permission, StoreError::NotFound, StoreError::Io] {
            assert_eq!(told(error), "", "{error}");
        }
    }

    #[test]
    fn failures_map_to_exit_codes() {
        let of = |blame, kind| Exit::of(Failure { blame, kind }) as u8;
        assert_eq!(of(Blame::Line, FailureKind::Closed), 3);
        assert_eq!(of(Blame::Line, FailureKind::TooManyRetries), 3);
        assert_eq!(of(Blame::Peer, FailureKind::PeerError), 4);
        assert_eq!(of(Blame::Peer, FailureKind::Aborted), 4);
        assert_eq!(of(Blame::Store, FailureKind::Store(StoreError::NoSpace)), 5);
        assert_eq!(of(Blame::Peer, FailureKind::DigestDiffers), 6);
        assert_eq!(of(Blame::Line, FailureKind::Silence), 7);
        assert_eq!(of(Blame::Peer, FailureKind::Silence), 7);
        assert_eq!(of(Blame::Local, FailureKind::Aborted), 130);
        assert_eq!(of(Blame::Local, FailureKind::Refused), 1);
    }

    #[test]
    fn the_help_names_every_code() {
        for exit in ALL {
            let number = format!("{:>3}  ", exit as u8);
            assert!(TABLE.contains(&number), "{exit:?}");
        }
    }
}
