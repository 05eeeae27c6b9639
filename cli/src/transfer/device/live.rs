//! The conversation with a device on a port.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use wetstring_device::conversation::{Act, Conversation, Fault};
use wetstring_device::profile::{Method, SHELL};
use wetstring_device::script;
use wetstring_device::vars::Vars;
use wetstring_drive::clock::Clock;
use wetstring_drive::disk::SendOptions;
use wetstring_drive::port::PATIENCE;
use wetstring_drive::{LineSpec, Port, Signals, in_words};

use super::vars::add_file;
use crate::args::Common;
use crate::args::selection::Selection;
use crate::config::Settings;
use crate::config::device;
use crate::config::protocol::Protocol;
use crate::transfer::direction::Direction;
use crate::transfer::filter::Filter;
use crate::transfer::job::Job;
use crate::transfer::limits::Limits;
use crate::transfer::opening::signals;
use crate::transfer::outgoing::{outbox, sources};
use crate::transfer::raw::{self, Heard};
use crate::transfer::shell::{ByShell, Minis, What};
use crate::transfer::speaks::Speaks;
use crate::transfer::store::FileStore;
use crate::transfer::tapped;
use crate::ui::ending::{Ending, usage};
use crate::ui::exit::{Exit, LineKind};
use crate::ui::format::escaped;
use crate::ui::output::{Level, Output};

/// Between looks at signals.
const LOOK: Duration = Duration::from_millis(500);
/// A signal this soon after another is the same.
const TWICE: Duration = Duration::from_millis(500);
/// The length of a pulse on a wire.
const PULSE: Duration = Duration::from_millis(100);

/// A device, and the user's options for it.
pub(crate) struct Device {
    pub(crate) profile: device::Device,
    pub(crate) vars: Vars,
    /// The protocol, if the user chose one.
    pub(crate) protocol: Option<Protocol>,
    pub(crate) settings: Settings,
    pub(crate) spec: LineSpec,
    pub(crate) explain: bool,
    pub(crate) pcap: Option<PathBuf>,
}

/// A conversation that is live.
struct Live<'a> {
    ui: &'a Output,
    signals: &'a Signals,
    port: Box<dyn Port>,
    pause: Duration,
    /// The rate of the line before.
    home: Option<u32>,
    /// The unfinished line of the device, for the user.
    line: Vec<u8>,
    clock: Clock,
}

/// The exit code of a trouble.
fn exit(fault: Fault) -> Exit {
    match fault {
        Fault::Timeout => Exit::Timeout,
        Fault::Peer => Exit::Peer,
        Fault::Integrity => Exit::Integrity,
    }
}

/// Sends one file to a device.
pub(crate) fn send(
    (ui, common): (&Output, &Common),
    mut wanted: Device,
    file: &Path,
) -> Result<Ending, Ending> {
    let chosen = wanted.protocol.map(|protocol| protocol.name);
    let (method, protocol) = wanted.profile.method_for(chosen).map_err(usage)?;
    let method = method.clone();
    let by_shell = protocol == SHELL;
    if by_shell && wanted.explain {
        let say = "expected no --explain: the file goes through a shell, which is not explained";
        return Err(usage(say.to_owned()));
    }
    // A second stage is by Kermit.
    let protocol = if by_shell { "kermit" } else { protocol.as_str() };
    let protocol = Protocol::of(protocol)
        .ok_or_else(|| usage(format!("the device profile has an unknown protocol {protocol}")))?;
    for (name, value) in &method.set {
        if !wanted.settings.is_chosen(name) {
            let at = "the device profile";
            wanted.settings.set_all(&[(name.clone(), value.clone())], at).map_err(usage)?;
        }
    }
    add_file(&mut wanted.vars, file).map_err(|say| Ending::early(Exit::Store, say))?;
    let rate = script::baud(&method, &wanted.vars).map_err(usage)?;
    let script = script::script(&wanted.profile, &method, &wanted.vars).map_err(usage)?;
    let at_shell = at_shell(&method, &wanted.vars).map_err(usage)?;
    let signals = signals()?;
    let job = job((ui, common), &wanted, protocol, file)?;
    let mut port = job.open(&signals)?;
    let home = port.controls().and_then(|controls| controls.spec()).map(|spec| spec.rate_bps());
    if rate.is_some() && home.is_none() {
        let say = format!("expected a line whose rate can be set with baud, got {}", wanted.spec);
        return Err(usage(say));
    }
    let pause = Duration::from_millis(wanted.profile.pause_ms);
    let port = tapped::port(port, wanted.pcap.as_deref())?;
    let mut live = Live {
        ui,
        signals: &signals,
        port,
        pause,
        home,
        line: Vec::new(),
        clock: Clock::default(),
    };
    live.pulse(&wanted.profile.reach.pulse)?;
    let ended = live.converse(script, (job, at_shell));
    // The device may have more to say than anyone reads.
    let _ = live.port.finish(signals.patience(PATIENCE));
    ended
}

/// What is done at the shell, if the file goes through one.
fn at_shell(method: &Method, vars: &Vars) -> Result<Option<What>, String> {
    let Some(path) = &method.path else { return Ok(None) };
    let by = method.replaces.as_ref();
    Ok(Some(What::Put {
        overwrites: by.is_some_and(|name| !vars.get(name).is_empty()),
        overwrites_by: by.map(|name| format!("--var {name}=yes")),
        name: Some(vars.fill(path)?.into_bytes()),
    }))
}

fn job<'a>(
    (ui, common): (&'a Output, &'a Common),
    wanted: &Device,
    protocol: Protocol,
    file: &Path,
) -> Result<Job<'a>, Ending> {
    let mut all = sources(ui, file, (false, false), &Selection::default())?;
    if !protocol.name.starts_with("xmodem") {
        // The device uses the name that it gets, and the commands have the one of the variable.
        all = all.into_iter().map(|one| one.named(wanted.vars.get("name"))).collect();
    }
    let disk = outbox(ui, all, SendOptions::default());
    Ok(Job {
        ui,
        common,
        direction: Direction::Send,
        speaks: Speaks::One(protocol),
        all: wanted.settings.clone(),
        spec: wanted.spec.clone(),
        file_store: FileStore::Disk(Box::new(disk)),
        filter: Filter::default(),
        limits: Limits::default(),
        unnamed: Vec::new(),
        explain: wanted.explain,
        pcap: wanted.pcap.clone(),
        looks_out: false,
    })
}

fn failed(what: &str, error: &std::io::Error) -> Ending {
    Ending::early(Exit::Line, format!("could not {what}: {}", in_words(error)))
}

impl Live<'_> {
    /// The transfer, by an engine or at the shell. Returns what came after it, too.
    fn transfer(
        &mut self,
        job: Job<'_>,
        at_shell: Option<What>,
        before: &[u8],
    ) -> (Ending, Vec<u8>) {
        let Some(what) = at_shell else {
            let done = job.run_on(&mut *self.port, self.signals, before);
            return done.unwrap_or_else(|end| (end, Vec::new()));
        };
        let mut by_shell = ByShell {
            ui: self.ui,
            signals: self.signals,
            medium: LineKind::of(&job.spec),
            file_store: job.file_store,
            what,
            minis: Minis::default(),
            all: job.all,
        };
        by_shell.run_on(&mut *self.port, before)
    }

    /// Does what the conversation wants, to its end.
    fn converse(
        &mut self,
        script: script::Script,
        (job, mut at_shell): (Job<'_>, Option<What>),
    ) -> Result<Ending, Ending> {
        let mut talk = Conversation::new(script, self.clock.now(), escaped);
        let mut job = Some(job);
        let mut ending: Option<Ending> = None;
        let (mut interrupted, mut first): (Option<Ending>, _) = (None, None);
        loop {
            if let Err(end) = raw::go_on(self.signals) {
                self.signals.reset();
                // A second one does not wait; the same may come twice, to the process and to its group.
                if first.is_some_and(|first: Instant| first.elapsed() < TWICE) {
                    continue;
                }
                if interrupted.is_some() || !talk.abandon(self.clock.now()) {
                    return Err(end);
                }
                interrupted = Some(end);
                first = Some(Instant::now());
                self.ui.say(Level::Note, "bringing the device back to its rate");
            }
            match talk.next(self.clock.now()) {
                None => self.listen(&mut talk)?,
                Some(Act::Type(bytes)) => self.say(&bytes)?,
                Some(Act::Break(time)) => self.send_break(time),
                Some(Act::Rate(rate)) => self.rate(rate)?,
                Some(Act::Tell(text)) => self.ui.say(Level::Note, &text),
                Some(Act::Transfer(before)) => {
                    let Some(job) = job.take() else { continue };
                    let (end, leftover) = self.transfer(job, at_shell.take(), &before);
                    let ok = end.exit == Exit::Done;
                    ending = Some(end);
                    self.show(&leftover);
                    talk.transferred(ok, &leftover, self.clock.now());
                }
                Some(Act::End(end)) => {
                    if let Some(interrupted) = interrupted {
                        return Err(interrupted);
                    }
                    let transfer =
                        ending.filter(|end| end.exit != Exit::Done || end.summary.is_some());
                    return match (end, transfer) {
                        (Ok(()), Some(ending)) => Ok(ending),
                        (Ok(()), None) => Ok(Ending::early(Exit::Done, "")),
                        // What the transfer failed at comes first.
                        (Err(_), Some(ending)) if ending.exit != Exit::Done => Ok(ending),
                        (Err(trouble), transfer) => {
                            let mut ending = Ending::early(exit(trouble.fault), trouble.say);
                            ending.summary = transfer.and_then(|end| end.summary);
                            Ok(ending)
                        }
                    };
                }
            }
        }
    }

    /// Waits for what the device says, or until something is due.
    fn listen(&mut self, talk: &mut Conversation) -> Result<(), Ending> {
        let now = self.clock.now();
        let due = talk.deadline().map_or(LOOK, |at| at.since(now));
        let mut buffer = [0; 4096];
        let heard = raw::read(&mut *self.port, self.signals, due, &mut buffer);
        let gone = matches!(heard, Err(_) | Ok(Heard::Closed)) && self.signals.last().is_none();
        if gone && talk.closed(now) {
            return Ok(());
        }
        match heard.map_err(|e| raw::failed(self.signals, "read from", &e))? {
            Heard::Nothing => {}
            Heard::Closed => return Err(Ending::early(Exit::Line, "the connection is closed")),
            Heard::Bytes(len) => {
                self.show(&buffer[..len]);
                talk.heard(&buffer[..len], self.clock.now());
            }
        }
        Ok(())
    }

    /// Shows whole lines of the device to a user who wants to see more.
    fn show(&mut self, bytes: &[u8]) {
        if !self.ui.hears(Level::Detail) {
            return;
        }
        for byte in bytes {
            if !matches!(byte, b'\r' | b'\n') {
                self.line.push(*byte);
            } else if !self.line.is_empty() {
                let line = std::mem::take(&mut self.line);
                self.ui.say(Level::Detail, &format!("  {}", escaped(&line)));
            }
        }
    }

    /// Types bytes.
    fn say(&mut self, bytes: &[u8]) -> Result<(), Ending> {
        let step = if self.pause.is_zero() { bytes.len().max(1) } else { 1 };
        for part in bytes.chunks(step) {
            self.write(part)?;
            std::thread::sleep(self.pause);
        }
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Ending> {
        let written = raw::write(&mut *self.port, self.signals, bytes);
        written.map_err(|e| raw::failed(self.signals, "write to", &e))
    }

    fn send_break(&mut self, time: Duration) {
        // A line without breaks has other ways to the prompt.
        let Some(controls) = self.port.controls() else { return };
        if let Err(e) = controls.send_break(time) {
            self.ui.say(Level::Detail, &format!("no break: {}", in_words(&e)));
        }
    }

    fn rate(&mut self, rate: Option<u32>) -> Result<(), Ending> {
        let home = self.home;
        let Some(controls) = self.port.controls() else { return Ok(()) };
        let Some(mut spec) = controls.spec() else { return Ok(()) };
        spec.baud = rate.or(home);
        controls.change(&spec).map_err(|e| failed("change the rate", &e))?;
        let shown = spec.baud.map_or_else(String::new, |baud| format!(" {baud} bit/s"));
        self.ui.say(Level::Detail, &format!("the rate is{shown}"));
        Ok(())
    }

    /// A pulse on the wire that resets the device.
    fn pulse(&mut self, wire: &str) -> Result<(), Ending> {
        if wire.is_empty() {
            return Ok(());
        }
        let Some(controls) = self.port.controls() else { return Ok(()) };
        let mut set = |on: bool| match wire {
            "dtr" => controls.set_dtr(on),
            _ => controls.set_rts(on),
        };
        set(false).map_err(|e| failed("move a wire", &e))?;
        std::thread::sleep(PULSE);
        set(true).map_err(|e| failed("move a wire", &e))
    }
}
