//! What to do about a failure: what its trouble says, and what the protocol's registry adds.

use super::Trouble;
use wetstring_proto::registry::{Remedy, Values};
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
        flags(self.protocol, &self.settings)
    }

    /// The same as a sentence.
    pub fn sentence(&self) -> String {
        let flags = self.flags().join(" ");
        if flags.is_empty() { self.text.clone() } else { format!("{}: {flags}", self.text) }
    }
}

/// The flags that choose a protocol and make settings.
pub(in super::super) fn flags(protocol: Option<&str>, settings: &[(&str, &str)]) -> Vec<String> {
    let mut flags = Vec::new();
    if let Some(protocol) = protocol {
        flags.extend(["-P".to_owned(), protocol.to_owned()]);
    }
    for (name, value) in settings {
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

impl From<&Remedy> for Step {
    fn from(remedy: &Remedy) -> Self {
        let settings = remedy.settings.to_vec();
        Self { text: remedy.text.to_owned(), settings, protocol: remedy.protocol }
    }
}

fn words(text: &str) -> Step {
    Step { text: text.to_owned(), settings: Vec::new(), protocol: None }
}

/// Steps that a protocol's registry has.
fn all(remedies: &[Remedy]) -> Vec<Step> {
    remedies.iter().map(Step::from).collect()
}

/// Settings that a protocol's registry has; if it has none, to try again.
fn set(text: &str, settings: Values) -> Step {
    if settings.is_empty() {
        return words("try again");
    }
    Step { settings: settings.to_vec(), ..words(text) }
}

/// What to do, the most promising first.
pub(super) fn of(trouble: Trouble, protocol: Protocol) -> Vec<Step> {
    let remedies = &protocol.remedies;
    match trouble {
        Trouble::Unanswered | Trouble::CancelledUnanswered => vec![
            words("start the peer, and see that one sends and the other receives"),
            words("use the same rate, parity and cable at both ends"),
            words("see which protocol the peer speaks (-P)"),
        ],
        Trouble::FellSilent => {
            let slow = "if the peer is only slow, wait longer for it";
            vec![words("start both ends again; -v shows what comes"), set(slow, remedies.patience)]
        }
        Trouble::EndUnanswered => vec![
            words("compare the file at the peer before sending it again"),
            words(
                "give the receiver pipes instead of a terminal: at their end rx and rb discard what their terminal has not sent",
            ),
        ],
        Trouble::DataDamaged => data_damaged(protocol),
        Trouble::TooLong(_) => all(remedies.shorter),
        Trouble::Overrun => {
            let flow =
                "switch on flow control (RTS/CTS) at both ends of the line, or lower its rate";
            [vec![words(flow)], all(remedies.shorter)].concat()
        }
        Trouble::Noise => {
            let mut steps = all(remedies.shorter);
            steps.push(set("allow more retransmissions", remedies.retries));
            steps
                .push(words("lower the rate of the line, or let its modems correct errors (V.42)"));
            steps
        }
        Trouble::NotReliable => {
            let flow = "switch on flow control (RTS/CTS) at both ends of the line";
            [all(remedies.unreliable), vec![words(flow)]].concat()
        }
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
        Trouble::Refused => {
            let beside = "if the name exists at the receiver, let it store the file beside (--collision rename)";
            [vec![words(beside)], all(remedies.refused)].concat()
        }
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
fn data_damaged(protocol: Protocol) -> Vec<Step> {
    let mut steps = all(protocol.remedies.escapes);
    if !protocol.passes_7_bits {
        let best = Protocol::default();
        let text =
            format!("{} gets through lines of 7 bits and past control characters", best.title);
        let settings = best.remedies.escapes.iter().flat_map(|remedy| remedy.settings);
        let settings = settings.copied().collect();
        steps.push(Step { text, settings, protocol: Some(best.name) });
    }
    steps.extend(all(protocol.remedies.shorter));
    steps
}
