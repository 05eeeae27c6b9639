//! Frames of LAPM and their octets.

/// Which modem has called: it decides the C/R bit of the address [V.42 8.2.1.2].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// It has called. Its commands have C/R 1.
    Originator,
    /// It has answered. Its commands have C/R 0.
    Answerer,
}

/// The supervisory frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Receiver ready.
    Rr,
    /// Receiver not ready.
    Rnr,
    /// Send again from N(R) on.
    Rej,
    /// Send N(R) again.
    Srej,
}

impl Kind {
    const fn code(self) -> u8 {
        match self {
            Self::Rr => 0x01,
            Self::Rnr => 0x05,
            Self::Rej => 0x09,
            Self::Srej => 0x0d,
        }
    }
}

/// A frame. Numbers are modulo 128.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Frame {
    /// Information. Always a command.
    I {
        /// N(S), its own number.
        ns: u8,
        /// N(R), the number of the next frame that is expected.
        nr: u8,
        /// P: an answer is wanted.
        poll: bool,
        /// 1 to N401 octets.
        octets: Vec<u8>,
    },
    /// Supervisory.
    S {
        /// Which.
        kind: Kind,
        /// N(R).
        nr: u8,
        /// P of a command, F of a response.
        poll: bool,
        /// A command, or else a response.
        command: bool,
    },
}

/// EA, the only bit of the address beside C/R: DLCI 0.
const ADDRESS: u8 = 0x01;
/// The C/R bit.
const COMMAND: u8 = 0x02;

impl Frame {
    /// The address octet of what a station sends.
    const fn address(role: Role, command: bool) -> u8 {
        let originator = matches!(role, Role::Originator);
        if command == originator { ADDRESS | COMMAND } else { ADDRESS }
    }

    /// Address, control and information, as this station sends it.
    pub fn octets(&self, role: Role) -> Vec<u8> {
        match self {
            Self::I { ns, nr, poll, octets } => {
                let mut all = Vec::with_capacity(octets.len() + 3);
                all.extend([Self::address(role, true), ns << 1, nr << 1 | u8::from(*poll)]);
                all.extend(octets);
                all
            }
            Self::S { kind, nr, poll, command } => {
                vec![Self::address(role, *command), kind.code(), nr << 1 | u8::from(*poll)]
            }
        }
    }

    /// What the station that is not `role` has sent; `None` if it is none of these frames.
    pub fn parse(octets: &[u8], role: Role) -> Option<Self> {
        let peer = match role {
            Role::Originator => Role::Answerer,
            Role::Answerer => Role::Originator,
        };
        let [address, control, numbers, information @ ..] = octets else { return None };
        let command = *address == Self::address(peer, true);
        if !command && *address != Self::address(peer, false) {
            return None;
        }
        let (nr, poll) = (numbers >> 1, numbers & 1 == 1);
        if control & 1 == 0 {
            let octets = information.to_vec();
            return command.then_some(Self::I { ns: control >> 1, nr, poll, octets });
        }
        let kind = [Kind::Rr, Kind::Rnr, Kind::Rej, Kind::Srej]
            .into_iter()
            .find(|kind| kind.code() == *control)?;
        information.is_empty().then_some(Self::S { kind, nr, poll, command })
    }
}
