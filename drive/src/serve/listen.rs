//! A server for all clients that connect: a thread and bounded memory for each, up to a limit.

use super::places::{Limits, NoPlace, Place, Places};
use super::proving::Proving;
use super::sandbox::{self, Sandbox};
use super::session::{Audit, Rules, Session};
use super::tree::Tree;
use crate::charset::{Sets, Translated};
use crate::event::Interest;
use crate::in_words;
use crate::port::{PATIENCE, Port};
use crate::run::{Ended, RunOptions, Watch, run};
use crate::signals::Signals;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use wetstring_proto::engine::{Blame, Command, Event, Failure, FailureKind, Outcome};
use wetstring_proto::kermit::check::Check;
use wetstring_proto::kermit::packet::{LONG_HEADER, finish};
use wetstring_proto::kermit::{Config, Server};
use wetstring_proto::line::LineFacts;
use wetstring_proto::stats::Stats;
use wetstring_proto::trace::NoTrace;

/// File data that one session buffers between the line and the disk.
const BUFFER: usize = 32 * 1024;
/// Bytes of a client's first packet that are read before it gets any memory.
const FIRST: usize = 2048;
/// Stack of a session; only touched pages take memory.
const STACK: usize = 2 * 1024 * 1024;
/// Open files of a session: its connection, its wake descriptor, a file, and directories on the path.
const FILES: usize = 8;
/// Open files of the whole program.
const FILES_BESIDE: usize = 64;
/// The longest farewell. No byte of it needs a prefix.
const FAREWELL: usize = 80;
/// The session's progress is not observed, so that an idle session does not wake up for it.
const NEVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// Shared by all sessions of a server.
pub struct Service {
    /// The files.
    pub tree: Arc<dyn Tree>,
    /// What clients may do.
    pub rules: Rules,
    /// The log.
    pub audit: Option<Arc<dyn Audit>>,
    /// The protocol's configuration.
    pub config: Config,
    /// Limits.
    pub limits: Limits,
    /// The session's thread is confined to the root, where the kernel supports it, and stays so.
    pub sandboxed: bool,
    /// Confinement has been logged.
    bound: AtomicBool,
    places: Arc<Places>,
}

impl Service {
    /// A service of these files.
    pub fn new(tree: Arc<dyn Tree>, rules: Rules, config: Config, limits: Limits) -> Self {
        let (sandboxed, bound) = (false, AtomicBool::new(false));
        let places = Places::new(limits);
        Self { tree, rules, audit: None, config, limits, sandboxed, bound, places }
    }

    /// Number of connected clients.
    pub fn count(&self) -> usize {
        self.places.count()
    }

    fn note(&self, line: &str) {
        if let Some(audit) = &self.audit {
            audit.note(line);
        }
    }

    /// Admits a client, or tells it why not.
    fn enter(
        &self,
        port: &mut dyn Port,
        address: Option<IpAddr>,
        stop: Signals,
    ) -> Result<Place, NoPlace> {
        let client = port.facts().name.clone();
        self.places.enter(&client, address, stop).inspect_err(|why| {
            let what = match why {
                NoPlace::Here => "too many sessions",
                NoPlace::FromThere => "too many sessions of its address",
            };
            self.note(&format!("{client} connect: refused, {what}"));
            disconnect(port, &why.to_string());
        })
    }

    fn session(
        self: &Arc<Self>,
        client: &str,
        address: Option<IpAddr>,
        signals: &Signals,
    ) -> Session {
        let roster = self.places.clone();
        let session = Session::new(self.tree.clone(), self.rules.clone(), client, address)
            .speaking(Sets::from(&self.config))
            .heeding(signals.clone())
            .knowing(Arc::new(move |known| roster.roster(known)));
        match &self.audit {
            Some(audit) => session.audited(audit.clone()),
            None => session,
        }
    }

    /// Confines the calling thread to the served files, if configured. Success is logged once, failure each
    /// time.
    fn bind(&self, client: &str) {
        let Some(root) = self.tree.root().filter(|_| self.sandboxed) else { return };
        match sandbox::enter(root, &self.rules) {
            Sandbox::Closed if self.bound.swap(true, Ordering::Relaxed) => {}
            Sandbox::Closed => self.note(&format!("{client} sandbox: done, Landlock")),
            Sandbox::Open(why) => self.note(&format!("{client} sandbox: none, {why}")),
        }
    }

    /// Waits for the client's first bytes, on a line where it need not be sent anything before: a silent client
    /// takes no memory. 0 bytes where the session begins without; an error if it has ended.
    fn first(
        &self,
        port: &mut dyn Port,
        place: &Place,
        signals: &Signals,
        into: &mut [u8],
    ) -> Result<usize, FailureKind> {
        let limits = [Some(self.limits.silence), self.limits.session, place.left()];
        let most = limits.into_iter().flatten().min().unwrap_or_default();
        let until = Instant::now() + most;
        while port.facts().reliable == Some(true) {
            if port.held() && port.flush().is_err() {
                return Err(FailureKind::Closed);
            }
            match port.read(into) {
                Ok(None) => {}
                Ok(Some(0)) | Err(_) => return Err(FailureKind::Closed),
                Ok(Some(len)) => return Ok(len),
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(FailureKind::Silence);
            }
            // Held data is rare and short: check again soon.
            let (soon, held) = (Duration::from_millis(100), port.held());
            let wait = if held { left.min(soon) } else { left };
            if !matches!(
                Signals::wait(Some(signals), Interest::read(port.read_source()), Some(wait)),
                Ok(Ok(_))
            ) {
                break;
            }
        }
        Ok(0)
    }

    /// Serves one client on an open line until it is done. A client without an address is not limited: the line
    /// leads to no other.
    pub fn serve(
        self: &Arc<Self>,
        port: &mut dyn Port,
        address: Option<IpAddr>,
        signals: &Signals,
    ) -> io::Result<Ended> {
        let place = self.enter(port, address, signals.clone());
        let place = place.map_err(|why| {
            io::Error::new(io::ErrorKind::QuotaExceeded, why.to_string().to_lowercase())
        })?;
        self.serve_at(&place, port, address, signals)
    }

    fn serve_at(
        self: &Arc<Self>,
        place: &Place,
        port: &mut dyn Port,
        address: Option<IpAddr>,
        signals: &Signals,
    ) -> io::Result<Ended> {
        let client = port.facts().name.clone();
        self.bind(&client);
        if let Err(error) = port.settle(Some(signals), &mut |_| {}) {
            self.note(&format!("{client} connect: failed, {}", in_words(&error)));
            return Err(io::Error::other(in_words(&error)));
        }
        self.note(&format!("{client} connect: done"));
        let mut start = [0; FIRST];
        let began = Instant::now();
        let came = match self.first(port, place, signals, &mut start) {
            Ok(came) if !place.is_dropped() => came,
            result => {
                let kind = result.err().unwrap_or(FailureKind::Silence);
                let ended = ended_before(kind, began.elapsed());
                return Ok(self.over(place, port, &client, ended));
            }
        };
        let config = Config {
            line: LineFacts {
                reliable: port.facts().reliable,
                clear: port.facts().clear,
                telnet: port.facts().telnet,
                rate_bps: port.facts().rate_bps.unwrap_or(0),
            },
            buffer_len: self.config.buffer_len.min(BUFFER),
            compressor: wetstring_lab::compressor::IS_BUILT,
            finds_blocks: true,
            ..self.config.clone()
        };
        let memory = vec![0; config.server_memory()];
        let mut server = Server::new(config, memory).map_err(io::Error::other)?;
        let session = self.session(&client, address, signals);
        let sets = session.sets();
        let mut session = Proving::new(session, place, self.rules.users.is_some());
        let mut trace = NoTrace;
        let mut options = RunOptions::new(&mut trace);
        options.signals = Some(signals);
        options.progress_every = NEVER;
        let limits = self.limits;
        options.before = &start[..came];
        options.read_len = BUFFER;
        let waited = began.elapsed();
        // A client that has sent nothing has used up part of both.
        options.silence = Some(match came {
            0 => limits.silence.saturating_sub(waited),
            _ => limits.silence,
        });
        options.longest = limits.session.map(|longest| longest.saturating_sub(waited));
        let left = || place.left();
        options.left = Some(&left);
        let mut store = Translated::following(&mut session, sets);
        let ended = run(&mut server, port, &mut store, &mut NoCommands, options);
        drop(session);
        Ok(self.over(place, port, &client, ended))
    }

    /// Hangs up, and logs the outcome.
    fn over(&self, place: &Place, port: &mut dyn Port, client: &str, ended: Ended) -> Ended {
        let silent = Outcome::Failed(Failure { blame: Blame::Line, kind: FailureKind::Silence });
        let too_late = ended.outcome == silent && place.left().is_some_and(|left| left.is_zero());
        let outcome = if place.is_dropped() {
            disconnect(port, &NoPlace::Here.to_string());
            "displaced, too many sessions".to_owned()
        } else if too_late {
            let wanted = if self.rules.users.is_some() { "login" } else { "command" };
            let seconds = self.limits.grace.as_secs();
            disconnect(port, &format!("No {wanted} within {seconds} s"));
            format!("no {wanted} within {seconds} s")
        } else {
            let _ = port.finish(PATIENCE);
            match ended.outcome {
                Outcome::Done => "done".to_owned(),
                // This is how most clients end; a file cut short by it is logged with its name.
                Outcome::Failed(Failure { kind: FailureKind::Closed, .. }) => {
                    "done, the client hung up".to_owned()
                }
                Outcome::Failed(failure) => failure.to_string(),
            }
        };
        self.note(&format!("{client} disconnect: {outcome}"));
        ended
    }

    /// Serves a client so that a panic ends its session and nothing else.
    fn serve_apart(
        self: &Arc<Self>,
        place: &Place,
        port: &mut dyn Port,
        address: IpAddr,
        stop: &Signals,
    ) {
        let client = port.facts().name.clone();
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _ = self.serve_at(place, port, Some(address), stop);
        }));
        if let Err(fault) = done {
            let text = fault.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| fault.downcast_ref::<&str>().copied()).unwrap_or("unknown");
            self.note(&format!("{client} disconnect: internal error, {text}"));
        }
    }

    /// Serves every client that connects, each in its own thread, until a signal arrives.
    pub fn serve_all(
        self: &Arc<Self>,
        listener: &crate::port::Listener,
        signals: &Signals,
    ) -> io::Result<()> {
        let mut threads = Vec::new();
        let sessions = self.limits.sessions + self.limits.unproved;
        crate::os::process::open_files((sessions.saturating_mul(FILES) + FILES_BESIDE) as u64);
        while let Some((mut port, peer)) = listener.accept(signals)? {
            threads.retain(|thread: &std::thread::JoinHandle<()>| !thread.is_finished());
            let service = self.clone();
            let client = port.facts().name.clone();
            let stop = match Signals::detached() {
                Ok(stop) => stop,
                // Too many open files: other sessions must not suffer.
                Err(error) => {
                    self.note(&format!("{client} connect: refused, {}", in_words(&error)));
                    disconnect(&mut *port, &NoPlace::Here.to_string());
                    continue;
                }
            };
            // Before there is a thread: silent strangers cost no more than the limit allows.
            let Ok(place) = self.enter(&mut *port, Some(peer.ip()), stop.clone()) else { continue };
            let spawned = std::thread::Builder::new().stack_size(STACK).spawn(move || {
                service.serve_apart(&place, &mut *port, peer.ip(), &stop);
            });
            match spawned {
                Ok(thread) => threads.push(thread),
                Err(error) => self.note(&format!("{client} connect: failed, {}", in_words(&error))),
            }
        }
        let signal = signals.last().unwrap_or(crate::os::process::INT);
        self.places.stop(signal);
        for thread in threads {
            let _ = thread.join();
        }
        Ok(())
    }
}

/// The end of a session in which nothing was received.
fn ended_before(kind: FailureKind, elapsed: Duration) -> Ended {
    Ended {
        outcome: Outcome::Failed(Failure { blame: Blame::Line, kind }),
        stats: Stats::default(),
        leftover: Vec::new(),
        elapsed,
        interrupted: None,
        error: None,
    }
}

/// Tells a client why it is disconnected, in a packet that every Kermit shows, and hangs up.
fn disconnect(port: &mut dyn Port, why: &str) {
    let len = why.len().min(FAREWELL);
    let mut packet = [0; LONG_HEADER + FAREWELL + 2];
    packet[LONG_HEADER..LONG_HEADER + len].copy_from_slice(&why.as_bytes()[..len]);
    let (start, end) = finish(&mut packet, len, 0, b'E', Check::Sum6, 1, false);
    // What does not fit into an empty connection is dropped.
    let _ = port.write(&[&packet[start..end], b"\r"].concat());
    let _ = port.finish(Duration::ZERO);
}

/// Observes nothing and has no commands.
struct NoCommands;

impl Watch for NoCommands {
    fn event(&mut self, _: &Event<'_>, _: &Stats) {}

    fn command(&mut self) -> Option<Command> {
        None
    }
}
