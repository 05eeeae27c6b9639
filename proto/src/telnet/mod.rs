//! Telnet for file transfer: RFC 854, with the options that matter for it.
//!
//! ```text
//! IAC IAC                 the byte 255              IAC WILL|WONT|DO|DONT option
//! IAC SB option ... IAC SE    a subnegotiation      IAC command                  NOP, AYT, ...
//! CR NUL                  a CR alone, and CR LF the end of a line, unless BINARY is on in that direction
//! ```
//!
//! A [`Telnet`] is between a protocol and the transport. It removes the commands from the
//! input, in place ([`Telnet::receive`]), escapes the output
//! ([`Telnet::encode`]), and negotiates: its own messages are in [`Telnet::replies`], which
//! are sent before what is encoded next. Options are negotiated by the Q method of RFC 1143, so negotiation
//! cannot loop; unknown options are refused.
//!
//! | option | use |
//! |---|---|
//! | BINARY, SUPPRESS-GO-AHEAD | requested in both directions |
//! | ECHO | accepted from a server: a terminal session stays in character mode |
//! | TERMINAL-TYPE | `UNKNOWN` |
//! | KERMIT [RFC 2840] | whether a Kermit server is there: see [`Plan::SERVER`] and [`Plan::CLIENT`] |
//! | COM-PORT-OPTION [RFC 2217] | the serial port behind the peer: see [`Plan::COM_PORT`] and [`com_port`] |
//!
//! Where BINARY is refused, NVT rules hold: every CR sent is followed by a NUL, and a NUL after a received CR
//! is dropped. So all bytes pass either way, if the peer follows the same rules.
//!
//! Not implemented: the urgent mark (Synch), authentication and encryption, LINEMODE, and FORWARD-X;
//! they are refused.

pub mod com_port;
mod option;

pub use option::{Options, TelnetOption};

use com_port::ComPort;
use option::{Say, State};

/// Telnet command bytes.
pub mod code {
    /// Interpret As Command: what follows is not data.
    pub const IAC: u8 = 255;
    /// Do not use an option, or: I do not want you to.
    pub const DONT: u8 = 254;
    /// Use an option, or: you may.
    pub const DO: u8 = 253;
    /// I do not use an option.
    pub const WONT: u8 = 252;
    /// I use an option, or: I would.
    pub const WILL: u8 = 251;
    /// A subnegotiation begins.
    pub const SB: u8 = 250;
    /// Are you there?
    pub const AYT: u8 = 246;
    /// Break.
    pub const BREAK: u8 = 243;
    /// Nothing.
    pub const NOP: u8 = 241;
    /// A subnegotiation ends.
    pub const SE: u8 = 240;

    /// The Kermit server is active [RFC 2840 3].
    pub const START_SERVER: u8 = 0;
    /// The Kermit server is no longer active.
    pub const STOP_SERVER: u8 = 1;
    /// Request to start a Kermit server.
    pub const REQ_START_SERVER: u8 = 2;
    /// Request to stop the Kermit server.
    pub const REQ_STOP_SERVER: u8 = 3;
    /// The start-of-packet byte of the sender.
    pub const SOP: u8 = 4;
    /// Response: the server is active.
    pub const RESP_START_SERVER: u8 = 8;
    /// Response: the server is not active.
    pub const RESP_STOP_SERVER: u8 = 9;
}

use code::{AYT, BREAK, DO, DONT, IAC, NOP, SB, SE, WILL, WONT};

const CR: u8 = 13;
const NUL: u8 = 0;
/// Kermit's MARK, as sent in SOP.
const SOH: u8 = 1;
/// TERMINAL-TYPE's IS and SEND.
const IS: u8 = 0;
const SEND: u8 = 1;

/// Bytes of a subnegotiation that are kept; the longest known has 6.
const SUB: usize = 64;
/// Bytes of pending replies. A peer that does not read gets no further answers.
const OWED: usize = 512;

/// What an end requests, and what it accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plan {
    /// Options that this end wants to use.
    pub ask_us: Options,
    /// Options that the peer is asked to use.
    pub ask_him: Options,
    /// Options that this end uses on request.
    pub allow_us: Options,
    /// Options that the peer may use.
    pub allow_him: Options,
}

use TelnetOption as O;

/// The options for any file transfer.
const CLEAN: Options = Options::these(&[O::Binary, O::SuppressGoAhead]);

impl Plan {
    /// A program that calls a host, and acts as a terminal there.
    pub const CALL: Self = Self {
        ask_us: CLEAN,
        ask_him: CLEAN,
        allow_us: Options::these(&[O::TerminalType]),
        allow_him: Options::these(&[O::Echo, O::Kermit]),
    };
    /// The same, for a client of a Kermit server.
    pub const CLIENT: Self =
        Self { ask_him: CLEAN.and(Options::these(&[O::Kermit])), ..Self::CALL };
    /// A program that is called. TERMINAL-TYPE is not requested: C-Kermit 10 would then wait for
    /// the subnegotiation.
    pub const ANSWER: Self =
        Self { ask_us: CLEAN, ask_him: CLEAN, allow_us: Options::NONE, allow_him: Options::NONE };
    /// The same, which is a Kermit server from the start.
    pub const SERVER: Self =
        Self { ask_us: CLEAN.and(Options::these(&[O::Kermit])), ..Self::ANSWER };
    /// A program that calls a serial port.
    pub const COM_PORT: Self = Self {
        ask_us: CLEAN.and(Options::these(&[O::ComPort])),
        ask_him: CLEAN,
        allow_us: Options::NONE,
        allow_him: Options::these(&[O::Echo, O::ComPort]),
    };
}

/// The state of the command parser.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum ReceiveState {
    #[default]
    Data,
    /// After a CR, where NVT rules hold.
    Cr,
    /// After IAC.
    Command,
    /// After WILL, WONT, DO or DONT.
    Option(u8),
    /// In a subnegotiation.
    Sub,
    /// After IAC in a subnegotiation.
    SubCommand,
}

/// Progress of encoding.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Encoded {
    /// Data bytes encoded.
    pub taken: usize,
    /// Bytes for the wire.
    pub written: usize,
}

/// One end of a Telnet connection.
#[derive(Clone, Debug)]
pub struct Telnet {
    plan: Plan,
    us: [State; TelnetOption::ALL.len()],
    him: [State; TelnetOption::ALL.len()],
    hearing: ReceiveState,
    sub: [u8; SUB],
    /// Bytes received, including those not kept.
    sub_len: usize,
    owed: [u8; OWED],
    owed_len: usize,
    /// Whether the peer's Kermit server is active, if known.
    serves: Option<bool>,
    /// Whether the answer to REQ-START-SERVER is outstanding.
    asked_server: bool,
    com_port: ComPort,
}

impl Telnet {
    /// A new connection; the requests of the plan are in [`Telnet::replies`].
    pub fn new(plan: Plan) -> Self {
        let mut new = Self {
            plan,
            us: Default::default(),
            him: Default::default(),
            hearing: ReceiveState::Data,
            sub: [0; SUB],
            sub_len: 0,
            owed: [0; OWED],
            owed_len: 0,
            serves: None,
            asked_server: false,
            com_port: ComPort::default(),
        };
        for option in TelnetOption::ALL {
            if plan.ask_us.has(option) {
                let say = new.us[option.index()].want_on();
                new.say_us(option.code(), say);
            }
            if plan.ask_him.has(option) {
                let say = new.him[option.index()].want_on();
                new.say_him(option.code(), say);
            }
        }
        new
    }

    /// This end's own messages. They are sent before what is encoded next.
    pub fn replies(&self) -> &[u8] {
        &self.owed[..self.owed_len]
    }

    /// Bytes of the replies that have left.
    pub fn replied(&mut self, len: usize) {
        let len = len.min(self.owed_len);
        self.owed.copy_within(len..self.owed_len, 0);
        self.owed_len -= len;
    }

    /// Processes input; its data is moved to the front, and its length is returned.
    pub fn receive(&mut self, bytes: &mut [u8]) -> usize {
        let (mut from, mut to) = (0, 0);
        while from < bytes.len() {
            if self.hearing == ReceiveState::Data {
                let nvt = !self.has_him(O::Binary);
                let special = |&byte: &u8| byte == IAC || (byte == CR && nvt);
                let rest = &bytes[from..];
                let plain = rest.iter().position(special).unwrap_or(rest.len());
                if from != to {
                    bytes.copy_within(from..from + plain, to);
                }
                from += plain;
                to += plain;
                let Some(&byte) = bytes.get(from) else { break };
                if byte == CR {
                    bytes[to] = CR;
                    to += 1;
                }
                self.hearing = if byte == CR { ReceiveState::Cr } else { ReceiveState::Command };
                from += 1;
                continue;
            }
            let byte = bytes[from];
            from += 1;
            if let Some(data) = self.hear(byte) {
                bytes[to] = data;
                to += 1;
                if data == CR && !self.has_him(O::Binary) {
                    self.hearing = ReceiveState::Cr;
                }
            }
        }
        to
    }

    /// A byte that is, or may be, part of a command; its data, if any.
    fn hear(&mut self, byte: u8) -> Option<u8> {
        let was = self.hearing;
        self.hearing = ReceiveState::Data;
        match (was, byte) {
            (ReceiveState::Data, _) => return Some(byte),
            (ReceiveState::Cr, NUL) => {}
            (ReceiveState::Cr, IAC) => self.hearing = ReceiveState::Command,
            (ReceiveState::Cr, _) => return Some(byte),
            (ReceiveState::Command, IAC) => return Some(IAC),
            (ReceiveState::Command, WILL | WONT | DO | DONT) => {
                self.hearing = ReceiveState::Option(byte);
            }
            (ReceiveState::Command, SB) => {
                self.hearing = ReceiveState::Sub;
                self.sub_len = 0;
            }
            // Any answer will do; an invisible one is best here.
            (ReceiveState::Command, AYT) => {
                self.owe(&[IAC, NOP]);
            }
            (ReceiveState::Command, _) => {}
            (ReceiveState::Option(verb), option) => self.negotiate(verb, option),
            (ReceiveState::Sub, IAC) => self.hearing = ReceiveState::SubCommand,
            (ReceiveState::Sub, _) | (ReceiveState::SubCommand, IAC) => {
                if let Some(place) = self.sub.get_mut(self.sub_len) {
                    *place = byte;
                }
                self.sub_len = self.sub_len.saturating_add(1);
                self.hearing = ReceiveState::Sub;
            }
            (ReceiveState::SubCommand, SE) => self.subnegotiate(),
            // It was truncated, and another command starts.
            (ReceiveState::SubCommand, _) => {
                self.hearing = ReceiveState::Command;
                return self.hear(byte);
            }
        }
        None
    }

    /// Escapes data. `wire` should have room for at least two bytes.
    pub fn encode(&self, data: &[u8], wire: &mut [u8]) -> Encoded {
        let nvt = !self.has_us(O::Binary);
        let mut done = Encoded::default();
        while done.taken < data.len() {
            let rest = &data[done.taken..];
            let room = wire.len() - done.written;
            let special = |&byte: &u8| byte == IAC || (byte == CR && nvt);
            let plain = rest.iter().take(room).position(special).unwrap_or(rest.len().min(room));
            wire[done.written..done.written + plain].copy_from_slice(&rest[..plain]);
            done.taken += plain;
            done.written += plain;
            let Some(&byte) = rest.get(plain) else { break };
            let Some(place) = wire.get_mut(done.written..done.written + 2) else { break };
            place[0] = byte;
            place[1] = if byte == IAC { IAC } else { NUL };
            done.taken += 1;
            done.written += 2;
        }
        done
    }

    /// Whether this end uses an option.
    pub fn has_us(&self, option: TelnetOption) -> bool {
        self.us[option.index()] == State::Yes
    }

    /// Whether the peer uses an option.
    pub fn has_him(&self, option: TelnetOption) -> bool {
        self.him[option.index()] == State::Yes
    }

    /// Whether all 256 byte values pass in both directions without NVT rules.
    pub fn is_binary(&self) -> bool {
        self.has_us(O::Binary) && self.has_him(O::Binary)
    }

    /// Whether all requests have been answered.
    pub fn is_settled(&self) -> bool {
        let asks = |state: &State| state.is_asking();
        let asked = self.us.iter().any(asks) || self.him.iter().any(asks);
        !asked && !self.asked_server && !self.com_port.is_asking()
    }

    /// Turns an option off, at this end or at the peer.
    pub fn leave(&mut self, option: TelnetOption, us: bool) {
        let state = if us { &mut self.us } else { &mut self.him };
        let say = state[option.index()].want_off();
        if us { self.say_us(option.code(), say) } else { self.say_him(option.code(), say) }
    }

    /// Whether the peer has an active Kermit server: `None` if the peer does not know the
    /// option.
    pub fn peer_serves(&self) -> Option<bool> {
        self.has_him(O::Kermit).then(|| self.serves.unwrap_or(false))
    }

    /// Requests a Kermit server, if the peer has an inactive one.
    pub fn request_server(&mut self) {
        if self.peer_serves() == Some(false) && !self.asked_server {
            self.asked_server = self.owe_sub(O::Kermit, &[code::REQ_START_SERVER]);
        }
    }

    /// Announces that this end's Kermit server is no longer active.
    pub fn stop_server(&mut self) {
        if self.has_us(O::Kermit) {
            self.owe_sub(O::Kermit, &[code::STOP_SERVER]);
        }
    }

    /// A break, as on a serial line.
    pub fn send_break(&mut self) {
        self.owe(&[IAC, BREAK]);
    }

    /// The serial port behind the peer.
    pub fn com_port(&self) -> &ComPort {
        &self.com_port
    }

    /// Sets the serial port behind the peer; false if there is none, or no room for the request.
    pub fn set_com_port(&mut self, command: com_port::Command) -> bool {
        if !(self.has_us(O::ComPort) || self.has_him(O::ComPort)) {
            return false;
        }
        let (bytes, len) = command.emit();
        let said = self.owe_sub(O::ComPort, &bytes[..len]);
        if said {
            self.com_port.asked(command);
        }
        said
    }

    fn negotiate(&mut self, verb: u8, option: u8) {
        let Some(known) = TelnetOption::of(option) else {
            // Unknown options are off, so only "on" needs an answer.
            match verb {
                WILL => self.say_him(option, Some(false)),
                DO => self.say_us(option, Some(false)),
                _ => {}
            }
            return;
        };
        let index = known.index();
        match verb {
            WILL => {
                let willing = self.plan.ask_him.has(known) || self.plan.allow_him.has(known);
                let before = self.him[index];
                let say = self.him[index].hear_on(willing);
                self.say_him(option, say);
                if before != State::Yes && self.him[index] == State::Yes {
                    self.begin_him(known);
                }
            }
            WONT => {
                let say = self.him[index].hear_off();
                self.say_him(option, say);
                if known == O::Kermit {
                    self.serves = None;
                    self.asked_server = false;
                }
            }
            DO => {
                let willing = self.plan.ask_us.has(known) || self.plan.allow_us.has(known);
                let before = self.us[index];
                let say = self.us[index].hear_on(willing);
                self.say_us(option, say);
                // C-Kermit 10 requests a server that is active, and waits for the response.
                let again = known == O::Kermit;
                if (before != State::Yes || again) && self.us[index] == State::Yes {
                    self.begin_us(known);
                }
            }
            _ => {
                let say = self.us[index].hear_off();
                self.say_us(option, say);
            }
        }
    }

    /// This end uses an option from now on.
    fn begin_us(&mut self, option: TelnetOption) {
        if option == O::Kermit {
            self.owe_sub(option, &[code::SOP, SOH]);
            self.owe_sub(option, &[code::START_SERVER]);
        }
    }

    /// The peer uses an option from now on.
    fn begin_him(&mut self, option: TelnetOption) {
        if option == O::Kermit {
            self.serves = Some(false);
            self.owe_sub(option, &[code::SOP, SOH]);
        }
    }

    fn subnegotiate(&mut self) {
        if self.sub_len > SUB {
            return;
        }
        let (sub, len) = (self.sub, self.sub_len);
        let Some((&option, words)) = sub[..len].split_first() else { return };
        match (TelnetOption::of(option), words) {
            (Some(O::TerminalType), [SEND]) if self.has_us(O::TerminalType) => {
                let mut answer = *b"\0UNKNOWN";
                answer[0] = IS;
                self.owe_sub(O::TerminalType, &answer);
            }
            (Some(O::Kermit), words) => self.kermit(words),
            (Some(O::ComPort), words) => self.com_port.hear(words),
            _ => {}
        }
    }

    fn kermit(&mut self, words: &[u8]) {
        use code::{
            REQ_START_SERVER, REQ_STOP_SERVER, RESP_START_SERVER, RESP_STOP_SERVER, START_SERVER,
            STOP_SERVER,
        };
        let Some(&word) = words.first() else { return };
        match word {
            START_SERVER | STOP_SERVER if self.has_him(O::Kermit) => {
                self.serves = Some(word == START_SERVER);
            }
            RESP_START_SERVER | RESP_STOP_SERVER if self.has_him(O::Kermit) => {
                self.serves = Some(word == RESP_START_SERVER);
                self.asked_server = false;
            }
            // Only a server: it ignores the request to stop.
            REQ_START_SERVER | REQ_STOP_SERVER if self.has_us(O::Kermit) => {
                self.owe_sub(O::Kermit, &[RESP_START_SERVER]);
            }
            _ => {}
        }
    }

    fn say_us(&mut self, option: u8, say: Say) {
        if let Some(on) = say {
            self.owe(&[IAC, if on { WILL } else { WONT }, option]);
        }
    }

    fn say_him(&mut self, option: u8, say: Say) {
        if let Some(on) = say {
            self.owe(&[IAC, if on { DO } else { DONT }, option]);
        }
    }

    /// A subnegotiation; whether there was room for it.
    fn owe_sub(&mut self, option: TelnetOption, words: &[u8]) -> bool {
        let mut whole = [0; 2 * SUB];
        let mut len = 0;
        let head = [IAC, SB, option.code()];
        // 255 is doubled here too.
        let body = words.iter().flat_map(|&byte| {
            let twice = (byte == IAC).then_some(byte);
            core::iter::once(byte).chain(twice)
        });
        for byte in head.into_iter().chain(body).chain([IAC, SE]) {
            let Some(place) = whole.get_mut(len) else { return false };
            *place = byte;
            len += 1;
        }
        self.owe(&whole[..len])
    }

    fn owe(&mut self, bytes: &[u8]) -> bool {
        let Some(place) = self.owed.get_mut(self.owed_len..self.owed_len + bytes.len()) else {
            return false;
        };
        place.copy_from_slice(bytes);
        self.owed_len += bytes.len();
        true
    }
}
