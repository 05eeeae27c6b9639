//! What to do about a failure, by protocol.

use super::Trouble;
use wetstring_proto::settings::Setting;
use wetstring_protocols::Protocol;

/// Something to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// What, in words.
    pub text: String,
    /// The settings to change, by their names in `wst show`, with their values; of `protocol`.
    pub settings: Vec<(&'static str, &'static str)>,
    /// The protocol to use, if it is another one.
    pub protocol: Option<&'static str>,
}

impl Step {
    /// The flags of `wst send` and `wst receive` that do it.
    pub fn flags(&self) -> Vec<String> {
        let mut flags = Vec::new();
        if let Some(protocol) = self.protocol {
            flags.extend(["-P".to_owned(), protocol.to_owned()]);
        }
        for (name, value) in &self.settings {
            let row = Protocol::of_bytes().find_map(|p| Setting::find(p.family().table(), name));
            match (row, name.split_once('.')) {
                (Some(row), Some((_, flag))) if row.has_flag => {
                    flags.extend([format!("--{flag}"), (*value).to_owned()]);
                }
                _ => flags.extend(["--set".to_owned(), format!("{name}={value}")]),
            }
        }
        flags
    }

    /// The same as a sentence.
    pub fn sentence(&self) -> String {
        let flags = self.flags().join(" ");
        if flags.is_empty() { self.text.clone() } else { format!("{}: {flags}", self.text) }
    }
}

fn words(text: &str) -> Step {
    Step { text: text.to_owned(), settings: Vec::new(), protocol: None }
}

fn set(text: &str, settings: &[(&'static str, &'static str)]) -> Step {
    Step { settings: settings.to_vec(), ..words(text) }
}

fn other(text: &str, protocol: &'static str, settings: &[(&'static str, &'static str)]) -> Step {
    Step { protocol: Some(protocol), ..set(text, settings) }
}

/// What to do, the most promising first.
pub(super) fn of(trouble: Trouble, protocol: Protocol) -> Vec<Step> {
    let family = protocol.family().prefix();
    match trouble {
        Trouble::Unanswered => vec![
            words("start the peer, and see that one sends and the other receives"),
            words("use the same rate, parity and cable at both ends"),
            words("see which protocol the peer speaks (-P)"),
        ],
        Trouble::FellSilent => {
            vec![words("start both ends again; -v shows what comes"), patience(family)]
        }
        Trouble::EndUnanswered => vec![
            words("compare the file at the peer before sending it again"),
            words(
                "give the receiver pipes instead of a terminal: at their end rx and rb discard what their terminal has not sent",
            ),
        ],
        Trouble::DataDamaged => data_damaged(family),
        Trouble::TooLong(_) => short(family),
        Trouble::Overrun => {
            let flow =
                "switch on flow control (RTS/CTS) at both ends of the line, or lower its rate";
            [vec![words(flow)], short(family)].concat()
        }
        Trouble::Noise => {
            let mut steps = short(family);
            steps.push(retries(family));
            steps
                .push(words("lower the rate of the line, or let its modems correct errors (V.42)"));
            steps
        }
        Trouble::NotReliable => not_reliable(protocol, family),
        Trouble::PeerGaveUp => vec![words("its message says why; look at its side")],
        Trouble::PeerIsFull => {
            vec![words("free some space at the peer, or choose another directory there")]
        }
        Trouble::WrongProtocol => vec![
            words(
                "see which protocol the peer speaks (-P), and that one sends and the other receives",
            ),
            words("-v and --trace FILE show what it sent"),
        ],
        Trouble::Unsupported => vec![words("leave out the flag that the peer does not know")],
        Trouble::CannotResume => vec![words("send it again without --resume")],
        Trouble::Differs => vec![words("do not use the file; send it again")],
        Trouble::NoSpace => vec![words("free some space, or choose another directory (-o)")],
        Trouble::Quota => vec![words("raise the quota of this receiver")],
        Trouble::Permission => vec![words("see the permissions of the file and of its directory")],
        Trouble::NotFound => vec![words("see the name of the file and of its directory")],
        Trouble::Store => vec![words("see the disk of this end")],
        Trouble::Refused => refused(family),
        Trouble::CancelledByPeer => vec![words("ask the user at the peer; then send it again")],
        Trouble::CancelledHere => {
            vec![words("send it again; what has arrived may be kept (--resume)")]
        }
        Trouble::Closed => vec![words("connect again, and see why the peer hung up")],
        Trouble::Unfinished => vec![words("a trace of the whole transfer says more")],
        Trouble::Internal => vec![words("report it, with the trace")],
    }
}

/// For lines that change bytes of data.
fn data_damaged(family: &str) -> Vec<Step> {
    let kermit = "Kermit gets through lines of 7 bits and past control characters";
    let mut steps = match family {
        "kermit" => vec![
            set("if the line has 7 bits, say so at both ends", &[("kermit.parity", "even")]),
            set("prefix all control characters", &[("kermit.prefixing", "all")]),
        ],
        "zmodem" => vec![
            set("escape all control characters", &[("zmodem.escape", "controls")]),
            other(kermit, "kermit", &[("kermit.parity", "even"), ("kermit.prefixing", "all")]),
        ],
        _ => {
            vec![other(kermit, "kermit", &[("kermit.parity", "even"), ("kermit.prefixing", "all")])]
        }
    };
    steps.extend(short(family));
    steps
}

/// Shorter packets, fewer at a time.
fn short(family: &str) -> Vec<Step> {
    match family {
        "kermit" => {
            vec![set(
                "send short packets, one at a time",
                &[("kermit.send-length", "90"), ("kermit.window", "1")],
            )]
        }
        "xymodem" => vec![
            set("send short blocks", &[("xymodem.block", "128")]),
            set("pause before each block", &[("xymodem.pause", "50")]),
        ],
        "zmodem" => vec![set(
            "send short subpackets, with a window",
            &[("zmodem.send-length", "128"), ("zmodem.window", "1024")],
        )],
        "uucp" => {
            vec![set(
                "send short packets, one at a time",
                &[("uucp.packet", "64"), ("uucp.window", "1")],
            )]
        }
        "netblt" => vec![set("send shorter datagrams", &[("netblt.datagram", "600")])],
        _ => Vec::new(),
    }
}

/// More attempts.
fn retries(family: &str) -> Step {
    let text = "allow more retransmissions";
    match family {
        "kermit" => set(text, &[("kermit.retries", "94")]),
        "xymodem" => set(text, &[("xymodem.retries", "94")]),
        "zmodem" => set(text, &[("zmodem.retries", "255")]),
        "uucp" => set(text, &[("uucp.retries", "94")]),
        _ => words("try again"),
    }
}

/// Longer waits.
fn patience(family: &str) -> Step {
    let text = "if the peer is only slow, wait longer for it";
    match family {
        "kermit" => set(text, &[("kermit.timeout", "60"), ("kermit.retries", "94")]),
        "xymodem" => set(text, &[("xymodem.timeout", "60"), ("xymodem.patience", "600")]),
        "zmodem" => set(text, &[("zmodem.timeout", "60"), ("zmodem.patience", "600")]),
        "uucp" => set(text, &[("uucp.timeout", "60"), ("uucp.patience", "600")]),
        "netblt" => set(text, &[("netblt.death", "600")]),
        _ => words("try again"),
    }
}

fn not_reliable(protocol: Protocol, family: &str) -> Vec<Step> {
    let mut steps = match family {
        "kermit" => vec![set(
            "let damaged packets be retransmitted",
            &[("kermit.reliable", "off"), ("kermit.streaming", "off")],
        )],
        _ if protocol.name == "ymodem-g" => {
            vec![other("use a protocol that retransmits", "ymodem", &[])]
        }
        _ => Vec::new(),
    };
    steps.push(words("switch on flow control (RTS/CTS) at both ends of the line"));
    steps
}

fn refused(family: &str) -> Vec<Step> {
    let mut steps = vec![words(
        "if the name exists at the receiver, let it store the file beside (--collision rename)",
    )];
    if family == "xymodem" {
        steps.push(other("use a protocol that can skip a file", "zmodem", &[]));
    }
    steps
}
