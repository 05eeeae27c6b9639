//! Telnet over another port: removes its commands, negotiates options, escapes bytes; and serial ports behind
//! Telnet servers, which are configured from here [RFC 2217].

use super::{Controls, OpenError, PATIENCE, Port, PortFacts, Purpose, Wires};
use crate::event::{Interest, Source};
use crate::line::{Flow, Parity, Pin, SerialSpec};
use crate::signals::Signals;
use std::io;
use std::process::ExitStatus;
use std::time::{Duration, Instant};
use wetstring_proto::telnet::{Plan, Telnet, com_port};

/// Timeout for the negotiation, before the first byte of data.
const SETTLE: Duration = Duration::from_secs(2);
/// Bytes of data encoded at a time, each of which may become two.
const CHUNK: usize = 16 * 1024;
/// Maximum data received during the negotiation.
const EARLY: usize = 64 * 1024;

/// How often to check whether a serial port that has stopped us lets us continue.
const SUSPENDED: Duration = Duration::from_millis(20);

/// A Telnet connection.
pub(super) struct TelnetLine {
    inner: Box<dyn Port>,
    telnet: Telnet,
    facts: PortFacts,
    purpose: Purpose,
    /// Settings of the serial port behind the peer.
    serial: Option<SerialSpec>,
    /// DTR and RTS as they were set last.
    raised: [bool; 2],
    /// Encoded; the system has not accepted it yet.
    held: Vec<u8>,
    /// Data received during the negotiation.
    early: Vec<u8>,
    settled: bool,
    finished: bool,
}

impl TelnetLine {
    /// The role of this end, by its purpose and which end connected.
    pub(super) fn plan(purpose: Purpose, calls: bool) -> Plan {
        match (purpose, calls) {
            (Purpose::Server, _) => Plan::SERVER,
            (Purpose::Client, true) => Plan::CLIENT,
            (_, true) => Plan::CALL,
            (_, false) => Plan::ANSWER,
        }
    }

    /// Speaks Telnet over an open line. Nothing is sent before [`Port::settle`] or the first byte.
    pub(super) fn new(inner: Box<dyn Port>, plan: Plan, purpose: Purpose) -> Self {
        let facts = PortFacts { clear: false, telnet: true, ..inner.facts().clone() };
        let (held, early) = (Vec::new(), Vec::new());
        let telnet = Telnet::new(plan);
        Self {
            inner,
            telnet,
            facts,
            purpose,
            serial: None,
            // As its server opened it.
            raised: [true; 2],
            held,
            early,
            settled: false,
            finished: false,
        }
    }

    /// The same with a serial port behind the peer, which is set to `spec`.
    pub(super) fn serial(inner: Box<dyn Port>, spec: &SerialSpec) -> Self {
        let mut line = Self::new(inner, Plan::COM_PORT, Purpose::Transfer);
        line.facts = PortFacts {
            name: line.facts.name.clone(),
            telnet: true,
            ..super::serial::facts(String::new(), spec)
        };
        line.serial = Some(spec.clone());
        line
    }

    /// Sends the settings of the serial port, if any.
    fn set_serial(&mut self) -> Result<(), OpenError> {
        use com_port::Command as C;
        let Some(spec) = self.serial.clone() else { return Ok(()) };
        let mut commands = Vec::new();
        for (pin, command) in [(spec.dtr, C::Dtr as fn(bool) -> C), (spec.rts, C::Rts)] {
            if pin != Pin::Keep {
                commands.push(command(pin == Pin::On));
            }
        }
        // Data from before is not for us.
        commands.push(C::Purge { received: true, sent: true });
        let mut all = format(&spec).into_iter().chain(commands);
        if all.all(|command| self.telnet.set_com_port(command)) {
            return Ok(());
        }
        Err(self.no_serial("it has no COM-PORT-OPTION; telnet: works without".into()))
    }

    /// Sends these commands for the serial port.
    fn tell(&mut self, commands: &[com_port::Command]) -> io::Result<()> {
        let told = self.serial.is_some()
            && commands.iter().all(|command| self.telnet.set_com_port(*command));
        if !told {
            return Err(io::ErrorKind::Unsupported.into());
        }
        self.flush()
    }

    fn no_serial(&self, say: String) -> OpenError {
        let what = format!("set the serial port behind {}", self.facts.name);
        OpenError::io(what, io::Error::new(io::ErrorKind::Unsupported, say))
    }

    /// Whether the serial port has the settings.
    fn check_serial(&self) -> Result<(), OpenError> {
        let Some(spec) = &self.serial else { return Ok(()) };
        let port = self.telnet.com_port();
        let held = [
            ("baud", port.rate.map(u64::from), u64::from(spec.rate_bps())),
            ("databits", port.data_bits.map(u64::from), spec.data_bits.into()),
            ("stopbits", port.stop_bits.map(u64::from), spec.stop_bits.into()),
        ];
        for (name, got, wanted) in held {
            if got != Some(wanted) {
                let got = got.map_or("no answer".to_owned(), |got| got.to_string());
                return Err(self.no_serial(format!("{name}: expected {wanted}, got {got}")));
            }
        }
        Ok(())
    }

    /// Appends Telnet's output to the held data.
    fn gather(&mut self) {
        let replies = self.telnet.replies();
        self.held.extend_from_slice(replies);
        let len = replies.len();
        self.telnet.replied(len);
    }

    /// Waits until the line is readable, or writable if data is held.
    fn wait(&self, signals: Option<&Signals>, left: Duration) -> Result<(), OpenError> {
        let line = self.inner.read_source();
        let interest = Interest::read_and_write(line, !self.held.is_empty());
        match Signals::wait(signals, interest, Some(left)) {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(OpenError::io("wait for the peer's Telnet", error)),
            Err(signal) => Err(OpenError::Interrupted(signal)),
        }
    }

    /// Processes the peer's options; false at the end of its data.
    fn hear(&mut self) -> io::Result<bool> {
        let mut room = [0; 4096];
        while let Some(len) = self.inner.read(&mut room)? {
            if len == 0 {
                return Ok(false);
            }
            let data = self.telnet.receive(&mut room[..len]);
            self.early.extend_from_slice(&room[..data]);
            if self.early.len() >= EARLY {
                break;
            }
        }
        Ok(true)
    }
}

/// Rate and character format as commands.
fn format(spec: &SerialSpec) -> [com_port::Command; 5] {
    use com_port::Command as C;
    let parity = match spec.parity {
        Parity::None => com_port::Parity::None,
        Parity::Even => com_port::Parity::Even,
        Parity::Odd => com_port::Parity::Odd,
        Parity::Mark => com_port::Parity::Mark,
        Parity::Space => com_port::Parity::Space,
    };
    let flow = match spec.flow {
        Flow::None => com_port::Flow::None,
        Flow::RtsCts => com_port::Flow::Hardware,
        Flow::XonXoff => com_port::Flow::XonXoff,
    };
    [
        C::Rate(spec.rate_bps()),
        C::DataBits(spec.data_bits),
        C::Parity(parity),
        C::StopBits(spec.stop_bits),
        C::Flow(flow),
    ]
}

impl Controls for TelnetLine {
    fn send_break(&mut self, time: Duration) -> io::Result<()> {
        use com_port::Command::Break;
        if self.serial.is_none() {
            self.telnet.send_break();
            return self.flush();
        }
        self.tell(&[Break(true)])?;
        std::thread::sleep(time);
        self.tell(&[Break(false)])
    }

    fn set_dtr(&mut self, on: bool) -> io::Result<()> {
        self.tell(&[com_port::Command::Dtr(on)])?;
        self.raised[0] = on;
        Ok(())
    }

    fn set_rts(&mut self, on: bool) -> io::Result<()> {
        self.tell(&[com_port::Command::Rts(on)])?;
        self.raised[1] = on;
        Ok(())
    }

    fn wires(&self) -> io::Result<Wires> {
        let modem = self.telnet.com_port().modem.ok_or(io::ErrorKind::Unsupported)?;
        let is = |bit: u8| modem & bit != 0;
        let [dtr, rts] = self.raised;
        Ok(Wires { dtr, rts, cts: is(0x10), dsr: is(0x20), ri: is(0x40), cd: is(0x80) })
    }

    fn spec(&self) -> Option<SerialSpec> {
        self.serial.clone()
    }

    fn change(&mut self, spec: &SerialSpec) -> io::Result<()> {
        self.tell(&format(spec))?;
        let facts = super::serial::facts(self.facts.name.clone(), spec);
        self.facts = PortFacts { telnet: true, ..facts };
        self.serial = Some(spec.clone());
        Ok(())
    }
}

impl Port for TelnetLine {
    fn controls(&mut self) -> Option<&mut dyn Controls> {
        Some(self)
    }

    fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        if !self.early.is_empty() {
            let len = self.early.len().min(into.len());
            into[..len].copy_from_slice(&self.early[..len]);
            self.early.drain(..len);
            return Ok(Some(len));
        }
        loop {
            let len = match self.inner.read(into)? {
                Some(len) if len > 0 => len,
                other => return Ok(other),
            };
            let data = self.telnet.receive(&mut into[..len]);
            self.facts.clear = self.serial.is_none() && self.telnet.is_binary();
            // A closed peer is noticed by the next read.
            let _ = self.flush();
            if data > 0 {
                return Ok(Some(data));
            }
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<Option<usize>> {
        let mut taken = 0;
        if self.telnet.com_port().suspended {
            return Ok(None);
        }
        loop {
            self.flush()?;
            if !self.held.is_empty() || taken == bytes.len() {
                return Ok((taken > 0).then_some(taken));
            }
            let chunk = &bytes[taken..bytes.len().min(taken + CHUNK)];
            self.held.resize(2 * chunk.len(), 0);
            let done = self.telnet.encode(chunk, &mut self.held);
            self.held.truncate(done.written);
            taken += done.taken;
        }
    }

    fn held(&self) -> bool {
        !self.held.is_empty() || !self.telnet.replies().is_empty() || self.inner.held()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.gather();
        let mut from = 0;
        while from < self.held.len() {
            match self.inner.write(&self.held[from..]) {
                Ok(Some(len)) => from += len,
                Ok(None) => break,
                Err(error) => {
                    self.held.clear();
                    return Err(error);
                }
            }
        }
        self.held.drain(..from);
        self.inner.flush()
    }

    /// Negotiates: until every request has been answered, or for 2 s.
    fn settle(
        &mut self,
        signals: Option<&Signals>,
        notes: &mut dyn FnMut(&str),
    ) -> Result<(), OpenError> {
        self.inner.settle(signals, notes)?;
        if std::mem::replace(&mut self.settled, true) {
            return Ok(());
        }
        let until = Instant::now() + SETTLE;
        let mut asked = false;
        loop {
            let failed = |error| OpenError::io("negotiate Telnet's options", error);
            self.flush().map_err(failed)?;
            if !self.hear().map_err(failed)? || self.early.len() >= EARLY {
                break;
            }
            if self.telnet.is_settled() && !std::mem::replace(&mut asked, true) {
                if self.purpose == Purpose::Client {
                    self.telnet.request_server();
                }
                self.set_serial()?;
            }
            self.flush().map_err(failed)?;
            let left = until.saturating_duration_since(Instant::now());
            if self.telnet.is_settled() && !self.held() {
                break;
            }
            if left.is_zero() {
                notes("the peer does not answer Telnet options; is it a raw port (tcp:)?");
                break;
            }
            self.wait(signals, left)?;
        }
        if self.purpose == Purpose::Client && self.telnet.peer_serves() == Some(false) {
            notes("the peer's Kermit server is not active");
        }
        self.facts.clear = self.serial.is_none() && self.telnet.is_binary();
        self.check_serial()
    }

    fn rest(&self) -> Duration {
        if self.telnet.com_port().suspended { SUSPENDED } else { self.inner.rest() }
    }

    fn read_source(&self) -> Source<'_> {
        self.inner.read_source()
    }

    fn write_source(&self) -> Source<'_> {
        self.inner.write_source()
    }

    fn facts(&self) -> &PortFacts {
        &self.facts
    }

    fn finish(&mut self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        if !std::mem::replace(&mut self.finished, true) {
            // Only a server sends this; the peer may be gone already.
            self.telnet.stop_server();
            super::drain(self, patience);
        }
        self.inner.finish(patience)
    }
}

impl Drop for TelnetLine {
    fn drop(&mut self) {
        let _ = self.finish(PATIENCE);
    }
}
