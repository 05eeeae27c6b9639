//! The transport of a session with a shell, and its failures.

use crate::event::{self, Interest};
use crate::in_words;
use crate::last_line::last_line;
use crate::os::process::INT;
use crate::port::Port;
use crate::run::{Ended, RunOptions, Watch, run};
use crate::signals::Signals;
use std::fmt;
use std::time::{Duration, Instant};
use wetstring_proto::engine::{Command, Engine};
use wetstring_proto::file::Store;
use wetstring_proto::trace::NoTrace;

/// Why a conversation has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Broken {
    /// The line failed or closed.
    Line(String),
    /// The port was gone and is there again: what was on the way is lost, and the peer may wait.
    Lost,
    /// A timeout: what was expected, and the last bytes received instead.
    Silence {
        /// What was expected.
        expected: String,
        /// The last bytes received.
        got: Vec<u8>,
    },
    /// The shell answered something else than expected.
    Peer {
        /// What was expected.
        expected: String,
        /// What came.
        got: Vec<u8>,
    },
    /// Something is missing at the shell.
    Missing(String),
    /// The bytes at the two ends differ.
    Differs {
        /// What is compared, such as `sha256sum`.
        check: String,
        /// Ours.
        expected: String,
        /// The shell's.
        got: Vec<u8>,
    },
    /// The file is there, or its name cannot be taken.
    Refused(String),
    /// The peer has ended, and says why.
    Said(String),
    /// The local store failed.
    Store(String),
    /// A signal of this process, or the user.
    Interrupted(i32),
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |bytes: &[u8]| match bytes.trim_ascii() {
            b"" => "nothing".to_owned(),
            text => format!("'{}'", text.escape_ascii()),
        };
        match self {
            Self::Line(say) | Self::Missing(say) | Self::Refused(say) | Self::Store(say) => {
                f.write_str(say)
            }
            Self::Lost => f.write_str("the port was gone, and what was on the way is lost"),
            Self::Silence { expected, got } | Self::Peer { expected, got } => {
                write!(f, "expected {expected}, got {}", shown(got))
            }
            Self::Differs { check, expected, got } => {
                write!(f, "expected {check} {expected}, got {}", shown(got))
            }
            Self::Said(say) => write!(f, "the peer says: {}", shown(say.as_bytes())),
            Self::Interrupted(signal) => write!(f, "interrupted by signal {signal}"),
        }
    }
}

impl std::error::Error for Broken {}

/// Bytes to and from a shell.
pub trait Wire {
    /// Sends all of it; what arrives meanwhile is kept for [`Wire::receive`].
    ///
    /// # Errors
    ///
    /// If the line fails, or is stalled.
    fn send(&mut self, bytes: &[u8]) -> Result<(), Broken>;
    /// Appends what has arrived, or arrives within `patience`.
    ///
    /// # Errors
    ///
    /// If the line fails, or the user wants no more.
    fn receive(&mut self, patience: Duration, into: &mut Vec<u8>) -> Result<(), Broken>;
    /// Runs an engine on it, which first gets what was received before.
    ///
    /// # Errors
    ///
    /// If this wire cannot.
    fn run(
        &mut self,
        engine: &mut dyn Engine,
        store: &mut dyn Store,
        watch: &mut dyn Watch,
        before: &[u8],
    ) -> Result<Ended, Broken> {
        let _ = (engine, store, watch, before);
        Err(Broken::Missing("expected a line that carries a protocol".to_owned()))
    }
    /// From now on signals are not heeded: the shell is left as it was found.
    fn clean_up(&mut self) {}
}

/// How long a line may take nothing.
const STALL: Duration = Duration::from_secs(60);
/// Silence that the user is told about.
const SILENT: Duration = Duration::from_secs(5);
/// How often the user is asked.
const LOOK: Duration = Duration::from_millis(250);
/// Bytes kept of what was received last: a line of a terminal, or two.
const TAIL: usize = 200;

/// A port as a wire.
pub struct PortWire<'a> {
    port: &'a mut dyn Port,
    signals: Option<&'a Signals>,
    /// Received while sending.
    early: Vec<u8>,
    /// The end of what was received, for the message if the line closes.
    tail: Vec<u8>,
    heeds: bool,
    closed: bool,
    /// What says something to the user.
    tell: Option<&'a dyn Fn(&str)>,
    /// When something last moved; `None` once the user was told that nothing does.
    moved: Option<Instant>,
    /// How often the port had gone when that was last looked at.
    losses: u32,
}

impl<'a> PortWire<'a> {
    /// A port, and the signals that end the conversation.
    pub fn new(port: &'a mut dyn Port, signals: Option<&'a Signals>, before: &[u8]) -> Self {
        let (early, tail) = (before.to_vec(), before.to_vec());
        let losses = port.losses();
        Self {
            port,
            signals,
            early,
            tail,
            heeds: true,
            closed: false,
            tell: None,
            moved: Some(Instant::now()),
            losses,
        }
    }

    /// The user is told when the peer is silent, and what becomes of the port.
    pub fn telling(self, tell: &'a dyn Fn(&str)) -> Self {
        Self { tell: Some(tell), ..self }
    }

    /// Waits while the other side asks the user for something, such as a password. What comes afterwards is the
    /// shell's, and not shown.
    ///
    /// # Errors
    ///
    /// If the line fails, or the user wants no more.
    pub fn until_not_asked(&mut self, watch: &mut dyn Watch) -> Result<(), Broken> {
        // What looks like a prompt may be a part of what is being said: it counts once nothing has followed.
        let mut quiet = !self.port.asks();
        while !quiet {
            // The user thinks, and is no silent peer.
            self.moved = Some(Instant::now());
            watch.port(0, true);
            if matches!(watch.command(), Some(Command::Abort)) {
                return Err(Broken::Interrupted(INT));
            }
            let asked = self.port.asks();
            let mut early = std::mem::take(&mut self.early);
            let before = early.len();
            let heard = self.receive(LOOK, &mut early);
            quiet = !asked && early.len() == before && !self.port.asks();
            self.early = early;
            heard?;
        }
        self.port.answered();
        Ok(())
    }

    fn heed(&self) -> Result<(), Broken> {
        match self.signals.and_then(Signals::last).filter(|_| self.heeds) {
            Some(signal) => Err(Broken::Interrupted(signal)),
            None => Ok(()),
        }
    }

    /// Tells the user of a silent peer, once, and of the port. Returns whether it is there.
    ///
    /// # Errors
    ///
    /// If it was gone meanwhile; if it is gone, and is not waited for.
    fn look_at_port(&mut self) -> Result<bool, Broken> {
        if let Some(tell) = self.tell {
            while let Some(text) = self.port.news() {
                tell(&format!("({text})"));
            }
        }
        if self.port.is_gone() {
            self.moved = None;
            let gone = || Broken::Line("the port is not plugged in".to_owned());
            return if self.heeds { Ok(false) } else { Err(gone()) };
        }
        let losses = self.port.losses();
        if losses != self.losses {
            self.losses = losses;
            self.moved = Some(Instant::now());
            return Err(Broken::Lost);
        }
        if let Some(tell) = self.tell.filter(|_| self.heeds)
            && self.moved.is_some_and(|moved| moved.elapsed() >= SILENT)
        {
            self.moved = None;
            tell(&format!("no answer for {} s; Ctrl-C ends the transfer", SILENT.as_secs()));
        }
        Ok(true)
    }

    fn failed(error: &std::io::Error) -> Broken {
        Broken::Line(format!("the line failed: {}", in_words(error)))
    }

    /// The peer closed the line; its last words often say why.
    fn hung_up(&self) -> Broken {
        Broken::Line(match last_line(&self.tail) {
            None => "the line closed".to_owned(),
            Some(last) => format!("the line closed, after it wrote \"{last}\""),
        })
    }

    /// Reads what there is.
    fn take(&mut self, into: &mut Vec<u8>) -> Result<bool, Broken> {
        let mut buffer = [0; 4096];
        match self.port.read(&mut buffer) {
            Ok(None) => Ok(false),
            Ok(Some(0)) => {
                self.closed = true;
                Ok(false)
            }
            Ok(Some(len)) => {
                self.moved = Some(Instant::now());
                into.extend_from_slice(&buffer[..len]);
                self.tail.extend_from_slice(&buffer[..len]);
                self.tail.drain(..self.tail.len().saturating_sub(TAIL));
                Ok(true)
            }
            Err(error) => Err(Self::failed(&error)),
        }
    }

    /// Waits for the port or a signal.
    fn wait(&self, writes: bool, timeout: Duration) {
        let rest = self.port.rest();
        let polls = writes && rest.is_zero();
        let timeout = if writes && !rest.is_zero() { timeout.min(rest) } else { timeout };
        let mut interests = vec![Interest::read(self.port.read_source())];
        if polls {
            interests.push(Interest::write(self.port.write_source()));
        }
        if let Some(signals) = self.signals.filter(|_| self.heeds) {
            interests.push(Interest::read(signals.source()));
        }
        // An interrupted wait leads to the next turn.
        let _ = event::wait(&mut interests, Some(timeout));
    }
}

impl Wire for PortWire<'_> {
    fn send(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        let (mut sent, mut moved) = (0, Instant::now());
        let mut early = std::mem::take(&mut self.early);
        let done = loop {
            if sent == bytes.len() && !self.port.held() {
                break Ok(());
            }
            if let Err(broken) = self.heed() {
                break Err(broken);
            }
            match self.look_at_port() {
                Ok(true) => {}
                Ok(false) => moved = Instant::now(),
                Err(broken) => break Err(broken),
            }
            if self.port.held()
                && let Err(error) = self.port.flush()
            {
                break Err(Self::failed(&error));
            }
            match self.port.write(&bytes[sent..]) {
                Ok(Some(len)) if len > 0 => {
                    sent += len;
                    moved = Instant::now();
                    self.moved = Some(moved);
                    continue;
                }
                Err(error) => break Err(Self::failed(&error)),
                _ => {}
            }
            // The shell's output is read meanwhile, or both ends would wait for each other.
            match self.take(&mut early) {
                Err(broken) => break Err(broken),
                Ok(_) if self.closed => break Err(self.hung_up()),
                Ok(true) => continue,
                Ok(false) => {}
            }
            if moved.elapsed() > STALL {
                let say = format!("the line takes nothing for {} s", STALL.as_secs());
                break Err(Broken::Line(say));
            }
            self.wait(true, LOOK);
        };
        self.early = early;
        done
    }

    fn receive(&mut self, patience: Duration, into: &mut Vec<u8>) -> Result<(), Broken> {
        let until = Instant::now() + patience;
        if !self.early.is_empty() {
            into.append(&mut self.early);
            return Ok(());
        }
        loop {
            self.heed()?;
            let came = self.take(into)?;
            // A port that has gone may come again, however long that takes.
            let is_there = self.look_at_port()?;
            if came {
                return Ok(());
            }
            if self.closed {
                return Err(self.hung_up());
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() && is_there {
                return Ok(());
            }
            self.wait(self.port.held(), if is_there { left.min(LOOK) } else { LOOK });
            if self.port.held() {
                self.port.flush().map_err(|error| Self::failed(&error))?;
            }
        }
    }

    fn run(
        &mut self,
        engine: &mut dyn Engine,
        store: &mut dyn Store,
        watch: &mut dyn Watch,
        before: &[u8],
    ) -> Result<Ended, Broken> {
        let before = [before, &std::mem::take(&mut self.early)].concat();
        let mut trace = NoTrace;
        let mut options = RunOptions::new(&mut trace);
        options.signals = self.signals;
        options.before = &before;
        let ended = run(engine, self.port, store, watch, options);
        // A protocol repeats what was lost.
        self.losses = self.port.losses();
        self.moved = Some(Instant::now());
        Ok(ended)
    }

    fn clean_up(&mut self) {
        self.heeds = false;
    }
}
