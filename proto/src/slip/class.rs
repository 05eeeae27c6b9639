//! Packet priority: classes and flows.
//!
//! Rules, in this order:
//!
//! | packet | class |
//! |---|---|
//! | TCP without data: acknowledgements, SYN, FIN, RST | interactive |
//! | a mark: low delay (RFC 1349), AF2x, AF4x, CS2, CS4 to CS7, VOICE-ADMIT, EF | interactive |
//! | a mark: throughput (RFC 1349), LE, CS1, AF1x | bulk |
//! | ICMP | interactive |
//! | a port of [`Rules::interactive_ports`] at either end | interactive |
//! | a port of [`Rules::bulk_ports`] at either end | bulk |
//! | all else | normal |
//!
//! This is where a flow starts. One with too much queued is demoted
//! ([`queue`](super::queue)), which is how a file copied over SSH is told from typing.

use super::packet::{IP_HEADER, is_fragment, protocol, u16_at};

/// The urgency of a packet; lower is sent first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Class {
    /// A user waits for it: typing, echo, names, acknowledgements.
    Interactive,
    /// Unclassified.
    Normal,
    /// Files and news.
    Bulk,
}

impl Class {
    /// All of them, the most urgent first.
    pub const ALL: [Self; 3] = [Self::Interactive, Self::Normal, Self::Bulk];

    /// Its name in statistics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Interactive => "interactive",
            Self::Normal => "normal",
            Self::Bulk => "bulk",
        }
    }

    /// The next less urgent one.
    pub(super) const fn below(self) -> Option<Self> {
        match self {
            Self::Interactive => Some(Self::Normal),
            Self::Normal => Some(Self::Bulk),
            Self::Bulk => None,
        }
    }
}

/// What the classes depend on, besides protocols.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// The marks of packets (DSCP, TOS) are trusted.
    pub marks: bool,
    /// TCP and UDP ports of which at least one makes a packet interactive.
    pub interactive_ports: &'static [u16],
    /// TCP and UDP ports of which at least one makes a packet bulk.
    pub bulk_ports: &'static [u16],
}

impl Default for Rules {
    fn default() -> Self {
        Self { marks: true, interactive_ports: INTERACTIVE_PORTS, bulk_ports: BULK_PORTS }
    }
}

/// FTP's control, SSH, TELNET, DNS, DHCP, NTP, rlogin, rsh, DNS over TLS, TELNET over TLS, IRC, mosh.
pub const INTERACTIVE_PORTS: &[u16] =
    &[21, 22, 23, 53, 67, 68, 123, 513, 514, 853, 992, 6667, 6697, 60001];
/// FTP's data, SMTP, TFTP, NNTP, printing, UUCP, NNTP over TLS, submission, rsync, NFS.
pub const BULK_PORTS: &[u16] = &[20, 25, 69, 119, 515, 540, 563, 587, 873, 2049];

/// The initial class of a packet, and its flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sorted {
    /// Its class, unless its flow is in another already.
    pub class: Class,
    /// Stands for addresses, protocol and ports; acknowledgements without data are a flow of their own.
    /// Two flows have the same number by chance only, and then share a turn.
    pub flow: u64,
}

/// The fields of a packet that are examined.
struct Fields<'a> {
    mark: u8,
    protocol: u8,
    addresses: &'a [u8],
    /// Both ports, source first; not of fragments, as only the first has them.
    ports: Option<[u16; 2]>,
    /// TCP without data.
    bare: bool,
}

impl<'a> Fields<'a> {
    fn of(packet: &'a [u8]) -> Option<Self> {
        let (mark, protocol, addresses, body, whole) = match packet.first()? >> 4 {
            4 if packet.len() >= IP_HEADER => {
                let body = packet.get(usize::from(packet[0] & 0x0F) * 4..)?;
                let whole = !is_fragment(packet);
                (packet[1], packet[9], &packet[12..20], body, whole)
            }
            6 if packet.len() >= 40 => {
                let mark = packet[0] << 4 | packet[1] >> 4;
                (mark, packet[6], &packet[8..40], &packet[40..], true)
            }
            _ => return None,
        };
        let has_ports = matches!(protocol, protocol::TCP | protocol::UDP);
        let ports =
            (whole && has_ports && body.len() >= 4).then(|| [u16_at(body, 0), u16_at(body, 2)]);
        let bare = ports.is_some()
            && protocol == protocol::TCP
            && body.get(12).is_some_and(|byte| usize::from(byte >> 4) * 4 >= body.len());
        Some(Self { mark, protocol, addresses, ports, bare })
    }

    fn class(&self, rules: &Rules) -> Class {
        if self.bare {
            return Class::Interactive;
        }
        if rules.marks
            && let Some(class) = marked(self.mark)
        {
            return class;
        }
        if matches!(self.protocol, protocol::ICMP | protocol::ICMPV6) {
            return Class::Interactive;
        }
        let Some(ports) = self.ports else { return Class::Normal };
        let one_of = |list: &[u16]| ports.iter().any(|port| list.contains(port));
        if one_of(rules.interactive_ports) {
            Class::Interactive
        } else if one_of(rules.bulk_ports) {
            Class::Bulk
        } else {
            Class::Normal
        }
    }

    /// FNV-1a of 64 bits.
    fn flow(&self) -> u64 {
        let [source, destination] = self.ports.unwrap_or_default().map(u16::to_be_bytes);
        let rest = [self.protocol, u8::from(self.bare)];
        let parts = [self.addresses, &source, &destination, &rest];
        parts.into_iter().flatten().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3)
        })
    }
}

/// The class of a mark: the byte of the type of service, whose upper six bits are the DSCP.
fn marked(tos: u8) -> Option<Class> {
    match tos >> 2 {
        4 | 16 | 18 | 20 | 22 | 32 | 34 | 36 | 38 | 40 | 44 | 46 | 48 | 56 => {
            Some(Class::Interactive)
        }
        1 | 2 | 8 | 10 | 12 | 14 => Some(Class::Bulk),
        _ => None,
    }
}

/// The initial class and the flow of a packet. Non-IP bytes are normal, and one flow.
pub fn sort(packet: &[u8], rules: &Rules) -> Sorted {
    match Fields::of(packet) {
        Some(fields) => Sorted { class: fields.class(rules), flow: fields.flow() },
        None => Sorted { class: Class::Normal, flow: 0 },
    }
}
