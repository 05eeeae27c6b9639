//! The serial port behind a Telnet connection [RFC 2217].
//!
//! ```text
//! IAC SB 44 command value... IAC SE        from here; the answer has the command + 100 and the value in force
//! ```

/// Added to a command in the server's answers.
const ANSWER: u8 = 100;

/// A parameter of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    /// Line rate in bit/s.
    Rate(u32),
    /// Data bits, 5 to 8.
    DataBits(u8),
    /// Parity.
    Parity(Parity),
    /// Stop bits, 1 or 2.
    StopBits(u8),
    /// Flow control, in both directions.
    Flow(Flow),
    /// Data Terminal Ready.
    Dtr(bool),
    /// Request To Send.
    Rts(bool),
    /// The break condition.
    Break(bool),
    /// Discard received data not yet delivered, and outgoing data not yet sent.
    Purge {
        /// Received data.
        received: bool,
        /// Outgoing data.
        sent: bool,
    },
}

/// Parity of a serial port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parity {
    /// No parity bit.
    None,
    /// Odd.
    Odd,
    /// Even.
    Even,
    /// Always 1.
    Mark,
    /// Always 0.
    Space,
}

/// Flow control of a serial port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    /// None.
    None,
    /// XON and XOFF.
    XonXoff,
    /// RTS and CTS.
    Hardware,
}

const SET_BAUDRATE: u8 = 1;
const SET_DATASIZE: u8 = 2;
const SET_PARITY: u8 = 3;
const SET_STOPSIZE: u8 = 4;
const SET_CONTROL: u8 = 5;
const NOTIFY_MODEMSTATE: u8 = 7;
const FLOWCONTROL_SUSPEND: u8 = 8;
const FLOWCONTROL_RESUME: u8 = 9;
const PURGE_DATA: u8 = 12;

impl Command {
    /// The bytes of the subnegotiation, and their count.
    pub(super) fn emit(self) -> ([u8; 5], usize) {
        let one = |command, value| ([command, value, 0, 0, 0], 2);
        match self {
            Self::Rate(rate) => {
                let [a, b, c, d] = rate.to_be_bytes();
                ([SET_BAUDRATE, a, b, c, d], 5)
            }
            Self::DataBits(bits) => one(SET_DATASIZE, bits),
            Self::Parity(parity) => one(SET_PARITY, parity as u8 + 1),
            Self::StopBits(bits) => one(SET_STOPSIZE, bits),
            Self::Flow(flow) => one(SET_CONTROL, flow as u8 + 1),
            Self::Break(on) => one(SET_CONTROL, if on { 5 } else { 6 }),
            Self::Dtr(on) => one(SET_CONTROL, if on { 8 } else { 9 }),
            Self::Rts(on) => one(SET_CONTROL, if on { 11 } else { 12 }),
            Self::Purge { received, sent } => {
                one(PURGE_DATA, u8::from(received) | u8::from(sent) << 1)
            }
        }
    }

    /// Its bit among what is asked; nothing for what need not be waited for.
    fn subject(self) -> u8 {
        match self {
            Self::Rate(_) => 1,
            Self::DataBits(_) => 1 << 1,
            Self::Parity(_) => 1 << 2,
            Self::StopBits(_) => 1 << 3,
            Self::Flow(_) => 1 << 4,
            _ => 0,
        }
    }
}

/// What is known of a serial port behind the peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ComPort {
    /// Requests whose answers are outstanding.
    asked: u8,
    /// The rate in force, as answered.
    pub rate: Option<u32>,
    /// The data bits in force.
    pub data_bits: Option<u8>,
    /// The parity in force.
    pub parity: Option<Parity>,
    /// The stop bits in force; 3 is one and a half.
    pub stop_bits: Option<u8>,
    /// The flow control in force.
    pub flow: Option<Flow>,
    /// The modem's lines as in a 16550's MSR: CTS 0x10, DSR 0x20, RI 0x40, CD 0x80.
    pub modem: Option<u8>,
    /// The peer has suspended output.
    pub suspended: bool,
}

impl ComPort {
    /// Whether answers are outstanding.
    pub fn is_asking(&self) -> bool {
        self.asked != 0
    }

    pub(super) fn asked(&mut self, command: Command) {
        self.asked |= command.subject();
    }

    /// Processes an answer or a notification.
    pub(super) fn hear(&mut self, words: &[u8]) {
        let Some((&command, value)) = words.split_first() else { return };
        let Some(command) = command.checked_sub(ANSWER) else { return };
        match (command, value) {
            (SET_BAUDRATE, &[a, b, c, d]) => {
                self.rate = Some(u32::from_be_bytes([a, b, c, d]));
                self.answered(Command::Rate(0));
            }
            (SET_DATASIZE, &[bits]) => {
                self.data_bits = Some(bits);
                self.answered(Command::DataBits(0));
            }
            (SET_PARITY, &[value]) => {
                use Parity as P;
                let all = [P::None, P::Odd, P::Even, P::Mark, P::Space];
                self.parity = all.into_iter().find(|parity| *parity as u8 + 1 == value);
                self.answered(Command::Parity(P::None));
            }
            (SET_STOPSIZE, &[bits]) => {
                self.stop_bits = Some(bits);
                self.answered(Command::StopBits(0));
            }
            (SET_CONTROL, &[value @ 1..=3]) => {
                let all = [Flow::None, Flow::XonXoff, Flow::Hardware];
                self.flow = Some(all[usize::from(value) - 1]);
                self.answered(Command::Flow(Flow::None));
            }
            (NOTIFY_MODEMSTATE, &[state]) => self.modem = Some(state),
            (FLOWCONTROL_SUSPEND, _) => self.suspended = true,
            (FLOWCONTROL_RESUME, _) => self.suspended = false,
            _ => {}
        }
    }

    fn answered(&mut self, what: Command) {
        self.asked &= !what.subject();
    }
}
