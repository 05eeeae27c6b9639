//! The terminal on a line: what `wst connect`, CONNECT of the Kermit language and the wrapper share.
//!
//! ```text
//! keyboard --> [escape key?] --> line ends --> line
//! screen  <--- hexadecimal, times, line ends <-- line --> log, pattern
//! ```
//!
//! Bytes pass unchanged unless told otherwise: what the peer draws is meant for the terminal that this program
//! runs in.

mod actions;
mod arrivals;
mod autostart;
pub(crate) mod editor;
mod keyboard;
pub(crate) mod keys;
pub(crate) mod log;
mod plugged;
mod questions;
pub(crate) mod screen;
pub(crate) mod share;
mod trailer;
mod transfers;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use regex::bytes::Regex;
use std::io::IsTerminal as _;
use wetstring_drive::event::{self, Interest};
use wetstring_drive::terminal::{Resizes, Restore, size_of, stdin, stdout};
use wetstring_drive::{LineSpec, Port, Signals, in_words};

use crate::args::Common;
use crate::args::session::{Autodownload, LogFormat};
use crate::config::Settings;
use crate::ui::ending::Ending;
use crate::ui::exit::Exit;
use crate::ui::output::Output;
use autostart::StartDetector;
use keys::Keys;
use log::Log;
use plugged::Plugged;
use questions::Asking;
use screen::Screen;
use share::Share;
use trailer::Trailer;

/// Bytes read before keyboard and signals are looked at.
const READ_LEN: usize = 32 * 1024;
/// The most that Linux gives of a terminal at once.
const TERMINAL_READ: usize = 4095;
/// Typed bytes that may wait for the line; more are left to the system.
const MOST_TYPED: usize = 4096;
/// Received bytes that wait while a question is on the screen.
const MOST_HELD: usize = 1 << 20;
/// The longest match of a pattern.
const WINDOW: usize = 8192;
/// Silence after the end of the input from a pipe, before the session ends.
const AFTER_INPUT: Duration = Duration::from_secs(1);

/// Time for typed bytes to leave at the end.
const LAST_WORDS: Duration = Duration::from_millis(150);

/// Runs a script on a port that is open; returns the port, bytes that it did not take, and a sentence.
pub(crate) type RunScript<'a> = &'a dyn Fn(
    Box<dyn Port>,
    Vec<u8>,
    &LineSpec,
    &std::path::Path,
) -> (Option<Box<dyn Port>>, Vec<u8>, String);

/// How a session is to be.
pub(crate) struct Options<'a> {
    /// Keys behind the escape key.
    pub(crate) keys: Keys,
    /// Typed bytes show at once.
    pub(crate) echo: bool,
    /// Ends when this is received.
    pub(crate) until: Option<Regex>,
    /// Ends after this much silence of the line.
    pub(crate) idle: Option<Duration>,
    /// Waits for a port that is not plugged in, or no more.
    pub(crate) waits: bool,
    /// Where received files are stored.
    pub(crate) into: PathBuf,
    /// Format of logs.
    pub(crate) log_format: LogFormat,
    /// What becomes of transfers that the peer starts.
    pub(crate) autodownload: Autodownload,
    /// The line is a command that was started here: its end is the session's.
    pub(crate) wraps: bool,
    /// Runs scripts, where there is such a thing.
    pub(crate) script: Option<RunScript<'a>>,
    /// Said once keys are read: sooner the terminal would echo them.
    pub(crate) greeting: Vec<String>,
    /// What the line sent before the session.
    pub(crate) ahead: Vec<u8>,
}

impl Options<'_> {
    /// The defaults with these keys.
    pub(crate) fn new(keys: Keys) -> Self {
        Self {
            keys,
            echo: false,
            until: None,
            idle: None,
            waits: false,
            into: PathBuf::from("."),
            log_format: LogFormat::Plain,
            autodownload: Autodownload::Off,
            wraps: false,
            script: None,
            greeting: Vec::new(),
            ahead: Vec::new(),
        }
    }
}

/// How a session ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// By a key.
    Quit,
    /// By a key that also closes the connection.
    HangUp,
    /// By a key that also ends the program.
    Leave,
    /// The peer closed, or the line failed with this error.
    Lost(Option<String>),
    /// The pattern was received.
    Matched,
    /// The line was silent.
    Idle,
    /// The input from a pipe has ended, and the line was silent.
    InputOver,
    /// A signal.
    Signal(i32),
}

/// Counters for the user.
#[derive(Clone, Copy, Debug)]
struct Counters {
    began: Instant,
    received: u64,
    sent: u64,
    reconnected: u32,
}

/// A terminal on a line.
pub(crate) struct Session<'a> {
    ui: &'a Output,
    common: &'a Common,
    settings: Settings,
    signals: &'a Signals,
    pub(crate) spec: LineSpec,
    /// `None` while the port is not plugged in.
    pub(crate) port: Option<Box<dyn Port>>,
    pub(crate) options: Options<'a>,
    pub(crate) screen: Screen,
    pub(crate) log: Option<Log>,
    /// Other programs at this session.
    pub(crate) share: Option<Share>,
    counters: Counters,
    plugged: Plugged,
    /// The question on the screen.
    asking: Option<Asking>,
    /// Looks for transfers that the peer starts.
    detector: StartDetector,
    /// Files for the receiver that was started at the peer's shell.
    uploading: Option<Vec<PathBuf>>,
    /// What is left of the last transfer on the line.
    trailer: Option<Trailer>,
    /// The last protocol of a transfer here.
    protocol: Option<&'static str>,
    resizes: Option<Resizes>,
    raw: Option<Restore>,
    is_terminal: bool,
    /// The keyboard, or the pipe in its place, has not ended.
    typing: bool,
    /// The escape key was pressed.
    escaped: bool,
    /// Bytes for the line.
    outgoing: Vec<u8>,
    /// Received while a question is on the screen.
    held: Vec<u8>,
    /// The last bytes received, for the pattern.
    recent: Vec<u8>,
    matched: bool,
    last_heard: Instant,
    buffer: Vec<u8>,
    /// The line may have something to read.
    readable: bool,
    /// Memory for what shows.
    shown: Vec<u8>,
}

impl<'a> Session<'a> {
    /// A session on a port, or on one that is to be plugged in.
    pub(crate) fn new(
        (ui, common): (&'a Output, &'a Common),
        settings: Settings,
        signals: &'a Signals,
        (spec, port): (LineSpec, Option<Box<dyn Port>>),
        options: Options<'a>,
    ) -> Self {
        let now = Instant::now();
        let plugged = Plugged::new(&spec);
        Self {
            ui,
            common,
            settings,
            signals,
            spec,
            port,
            options,
            screen: Screen::new(false),
            log: None,
            share: None,
            counters: Counters { began: now, received: 0, sent: 0, reconnected: 0 },
            plugged,
            asking: None,
            detector: StartDetector::default().and_trzsz(),
            uploading: None,
            trailer: None,
            protocol: None,
            resizes: Resizes::install().ok(),
            raw: None,
            is_terminal: std::io::stdin().is_terminal(),
            typing: true,
            escaped: false,
            outgoing: Vec::new(),
            held: Vec::new(),
            recent: Vec::new(),
            matched: false,
            last_heard: now,
            buffer: vec![0; READ_LEN],
            readable: true,
            shown: Vec::new(),
        }
    }

    /// Runs it to its end. The user's terminal is raw meanwhile, and as before afterwards.
    pub(crate) fn run(&mut self) -> Result<End, Ending> {
        self.take_terminal()?;
        for line in std::mem::take(&mut self.options.greeting) {
            self.screen.say(&line);
        }
        let ahead = std::mem::take(&mut self.options.ahead);
        self.heard(&ahead)?;
        self.last_heard = Instant::now();
        let end = loop {
            match self.turn() {
                Ok(None) => {}
                Ok(Some(end)) => break Ok(end),
                Err(error) => break Err(error),
            }
        };
        if matches!(end, Ok(End::Quit | End::HangUp | End::Leave | End::Matched)) {
            self.finish_sending();
        }
        if self.asking.take().is_some() {
            self.screen.answered();
        }
        let held = [self.detector.release(), std::mem::take(&mut self.held)].concat();
        self.show(&held)?;
        self.give_terminal_back();
        end
    }

    /// Makes the user's terminal raw.
    fn take_terminal(&mut self) -> Result<(), Ending> {
        if self.is_terminal {
            let raw = stdin::raw().map_err(|e| {
                let say = format!("could not set this terminal: {}", in_words(&e));
                Ending::early(Exit::Line, say)
            })?;
            self.raw = Some(raw);
            self.screen.raw = true;
        }
        Ok(())
    }

    /// Restores the user's terminal.
    fn give_terminal_back(&mut self) {
        self.raw = None;
        self.screen.raw = false;
    }

    /// Whether a user can be asked.
    fn has_user(&self) -> bool {
        self.is_terminal
    }

    fn turn(&mut self) -> Result<Option<End>, Ending> {
        if let Some(signal) = self.signals.last() {
            return Ok(Some(End::Signal(signal)));
        }
        self.look_for_port();
        if let Some(end) = self.receive()? {
            return Ok(Some(end));
        }
        self.look_for_start()?;
        if self.matched {
            return Ok(Some(End::Matched));
        }
        if let Some(end) = self.transmit() {
            return Ok(Some(end));
        }
        if let Some(end) = self.silent() {
            return Ok(Some(end));
        }
        if !self.wait() {
            return Ok(None);
        }
        let end = self.read_keys()?;
        // At once: an echo is waited for.
        Ok(if end.is_some() { end } else { self.transmit() })
    }

    /// Tells the peer's terminal about a new size of the user's.
    fn follow_size(&mut self) {
        let Some(resizes) = &self.resizes else { return };
        if !resizes.noticed() {
            return;
        }
        if let Some(port) = &mut self.port {
            port.follow_size();
        }
        if let Some(log) = &mut self.log {
            log.resize(size_of(stdout()));
        }
    }

    /// Reads what the line has.
    fn receive(&mut self) -> Result<Option<End>, Ending> {
        if !std::mem::take(&mut self.readable) {
            return Ok(None);
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        let (mut filled, mut end) = (0, None);
        // A terminal gives a page at a time: several are shown at once.
        while filled + TERMINAL_READ <= buffer.len() {
            let Some(port) = &mut self.port else { break };
            match port.read(&mut buffer[filled..]) {
                Ok(None) => break,
                Ok(Some(0)) => end = Some(None),
                Err(error) => end = Some(Some(in_words(&error))),
                Ok(Some(len)) => {
                    filled += len;
                    if len >= TERMINAL_READ {
                        continue;
                    }
                    // It is empty now: the next wait says when it is not.
                }
            }
            break;
        }
        let done = if filled > 0 { self.heard(&buffer[..filled]) } else { Ok(()) };
        self.buffer = buffer;
        done?;
        Ok(end.and_then(|why| self.lost(why)))
    }

    /// The line has failed. Ends the session unless the port may come again.
    fn lost(&mut self, error: Option<String>) -> Option<End> {
        if !self.may_return() {
            return Some(End::Lost(error));
        }
        self.unplugged();
        None
    }

    /// Bytes of the line.
    fn heard(&mut self, bytes: &[u8]) -> Result<(), Ending> {
        self.counters.received += bytes.len() as u64;
        self.last_heard = Instant::now();
        if let Some(share) = &mut self.share {
            share.say(bytes);
        }
        let bytes = self.without_trailer(bytes);
        // While a question is on the screen bytes are kept, and looked at later.
        let detects = self.detects_starts() && self.asking.is_none();
        if !detects || self.detector.passes(self.last_heard, bytes) {
            return self.show(bytes);
        }
        let mut shown = std::mem::take(&mut self.shown);
        shown.clear();
        self.detector.feed(self.last_heard, bytes, &mut shown);
        let done = self.show(&shown);
        self.shown = shown;
        done
    }

    /// Shows bytes and writes them to the log; holds them while a question is on the screen.
    fn show(&mut self, bytes: &[u8]) -> Result<(), Ending> {
        if self.asking.is_some() {
            self.held.extend_from_slice(bytes);
            return Ok(());
        }
        if let Some(log) = &mut self.log
            && let Err(error) = log.add(bytes)
        {
            let say =
                format!("could not write the log {}: {}", log.path.display(), in_words(&error));
            self.screen.say(&say);
        }
        self.screen.show(bytes).map_err(|error| {
            let say = format!("could not write to stdout: {}", in_words(&error));
            Ending::early(Exit::Store, say)
        })?;
        self.look_for_pattern(bytes);
        Ok(())
    }

    fn look_for_pattern(&mut self, bytes: &[u8]) {
        let Some(pattern) = &self.options.until else { return };
        self.recent.extend_from_slice(bytes);
        self.matched |= pattern.is_match(&self.recent);
        let surplus = self.recent.len().saturating_sub(WINDOW);
        self.recent.drain(..surplus);
    }

    /// Writes what is to be sent, as far as the line takes it.
    fn transmit(&mut self) -> Option<End> {
        let port = self.port.as_mut()?;
        if port.held() && port.flush().is_err() {
            return self.lost(None);
        }
        while !self.outgoing.is_empty() {
            match port.write(&self.outgoing) {
                Ok(Some(len)) => {
                    self.counters.sent += len as u64;
                    self.outgoing.drain(..len);
                }
                Ok(None) => break,
                Err(error) => return self.lost(Some(in_words(&error))),
            }
        }
        None
    }

    /// Gives typed bytes a moment to leave: a user who quits is not kept waiting by a line that is stalled.
    fn finish_sending(&mut self) {
        let until = Instant::now() + LAST_WORDS;
        while Instant::now() < until
            && self.transmit().is_none()
            && let Some(port) = self.port.as_ref().filter(|_| !self.outgoing.is_empty())
        {
            let _ = event::wait(&mut [Interest::write(port.write_source())], Some(LAST_WORDS / 8));
            std::thread::sleep(port.rest().min(LAST_WORDS / 8));
        }
    }

    /// When silence ends the session.
    fn silence_ends(&self) -> Option<Instant> {
        let over = !self.typing && self.outgoing.is_empty();
        let after_input = over && self.options.until.is_none() && !self.options.wraps;
        let silence = self.options.idle.or_else(|| after_input.then_some(AFTER_INPUT))?;
        Some(self.last_heard + silence)
    }

    fn silent(&self) -> Option<End> {
        self.silence_ends().filter(|at| Instant::now() >= *at)?;
        Some(if self.options.idle.is_some() { End::Idle } else { End::InputOver })
    }

    /// When something is due.
    fn deadline(&self, rest: Duration) -> Option<Instant> {
        let detector = self.detector.deadline().filter(|_| self.asking.is_none());
        let due = [
            self.silence_ends(),
            (!rest.is_zero()).then(|| Instant::now() + rest),
            self.port.is_none().then(|| self.plugged.next_look()),
            detector,
            self.share.as_ref().and_then(Share::deadline),
        ];
        due.into_iter().flatten().min()
    }

    /// Waits for line, keyboard, signals or time; returns whether a key was pressed.
    fn wait(&mut self) -> bool {
        let takes_keys = self.typing && self.outgoing.len() < MOST_TYPED;
        let rest = match &self.port {
            Some(port) if !self.outgoing.is_empty() || port.held() => port.rest(),
            _ => Duration::ZERO,
        };
        let timeout = self.deadline(rest).map(|at| at.saturating_duration_since(Instant::now()));
        let port = self.port.as_ref();
        let reads = port.filter(|_| self.held.len() < MOST_HELD);
        let writes =
            port.filter(|port| rest.is_zero() && (!self.outgoing.is_empty() || port.held()));
        let sources = [
            takes_keys.then(|| Interest::read(stdin::source())),
            reads.map(|port| Interest::read(port.read_source())),
            writes.map(|port| Interest::write(port.write_source())),
            port.and_then(|port| port.end_source()).map(Interest::read),
            self.resizes.as_ref().map(|resizes| Interest::read(resizes.source())),
        ];
        let mut interests = vec![Interest::read(self.signals.source())];
        interests.extend(sources.iter().flatten());
        let own = interests.len();
        if self.outgoing.len() < MOST_TYPED {
            interests.extend(self.share.iter().flat_map(Share::interests));
        }
        // An interrupted wait just leads to the next turn.
        let _ = event::wait(&mut interests, timeout);
        let mut waited = interests[1..own].iter();
        let mut ready = [false; 5];
        for (ready, source) in ready.iter_mut().zip(&sources) {
            *ready = source.is_some() && waited.next().is_some_and(Interest::is_ready);
        }
        let shares = interests[own..].iter().any(Interest::is_ready);
        let [key, readable, _, ended, resized] = ready;
        self.readable |= readable || ended;
        if resized {
            self.follow_size();
        }
        if shares {
            self.serve_clients();
        }
        key
    }

    /// Programs at the socket: what they write goes to the line.
    fn serve_clients(&mut self) {
        let Some(share) = &mut self.share else { return };
        for say in share.serve(&mut self.outgoing) {
            self.screen.say(&say);
        }
    }

    /// The question is answered: what was received meanwhile shows.
    fn resume_screen(&mut self) -> Result<(), Ending> {
        if self.asking.is_some() {
            return Ok(());
        }
        let held = std::mem::take(&mut self.held);
        if !self.detects_starts() {
            return self.show(&held);
        }
        let mut shown = Vec::new();
        self.detector.feed(Instant::now(), &held, &mut shown);
        self.show(&shown)
    }

    /// What was received while a question was on the screen: for a transfer that follows.
    fn take_held(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }
}
