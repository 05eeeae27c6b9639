//! One transfer: an engine on a line, with a store, an observer, a trace and a verdict.

use std::path::PathBuf;
use wetstring_events::{Event, Opened};
use wetstring_proto::{kermit, zmodem};

use std::io::{IsTerminal as _, stdin};
use wetstring_drive::charset::{Sets, Translated};
use wetstring_drive::port::{PATIENCE, Purpose, open_attended};
use wetstring_drive::{
    Ended, LineSpec, Lookout, Port, PortFacts, RunOptions, Signals, in_words, run,
};
use wetstring_proto::zmodem::Commands;
use wetstring_proto::{Engine, Failure, FailureKind, Outcome, TraceEvent, arpanet};

use super::ncp;
use super::speaks::Speaks;
use super::store::FileStore;
use super::verdict::say_lost;
use crate::args::Common;
use crate::config::Settings;
use crate::config::protocol::{Engines as _, Protocol};
use crate::config::remembered;
use crate::transfer::detect::{Choice, kermit_or_zmodem, zmodem_or_time, zmodem_or_ymodem};
use crate::transfer::direction::Direction;
use crate::transfer::filter::Filter;
use crate::transfer::host_commands::Commanded;
use crate::transfer::limits::Limits;
use crate::transfer::observer::Observer;
use crate::transfer::opening::{not_opened, signals};
use crate::transfer::port_facts;
use crate::transfer::tapped;
use crate::transfer::trace::Recorder;
use crate::transfer::verdict::Verdict;
use crate::transfer::waiting::{self, Waiting};
use crate::ui::ending::{Ending, usage};
use crate::ui::exit::{Exit, LineKind};
use crate::ui::output::{Level, Output, clean_line};

/// Timeouts (10 s, `rz -t`) during which a receiver offers ZMODEM before it tries YMODEM: as many as
/// lrzsz.
const OFFERS: u32 = 5;

/// A number unique to this process.
fn salt() -> u64 {
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    u64::from(time.map_or(0, |time| time.subsec_nanos())) ^ u64::from(std::process::id())
}

/// Everything a transfer needs.
pub(crate) struct Job<'a> {
    pub(crate) ui: &'a Output,
    pub(crate) common: &'a Common,
    pub(crate) direction: Direction,
    pub(crate) speaks: Speaks,
    pub(crate) all: Settings,
    pub(crate) spec: LineSpec,
    pub(crate) file_store: FileStore,
    pub(crate) filter: Filter,
    pub(crate) limits: Limits,
    /// The name for a file if the protocol sends none.
    pub(crate) unnamed: Vec<u8>,
    /// Whether to explain at the end where the time went.
    pub(crate) explain: bool,
    /// Where what passes the line is written.
    pub(crate) pcap: Option<PathBuf>,
    /// Whether to report what is awaited, and to detect the wrong kind of peer.
    pub(crate) looks_out: bool,
}

impl<'a> Job<'a> {
    /// Opens the line, transfers the files, and reports the result.
    pub(crate) fn run(mut self) -> Result<Ending, Ending> {
        let ui = self.ui;
        if self.spec == LineSpec::Stdio {
            ui.line_is_stdio();
        }
        let mut recorder = self.recorder()?;
        let signals = signals()?;
        let port = self.open(&signals)?;
        let mut port = tapped::port(port, self.pcap.as_deref())?;
        let (ended, mut observer) = self.transfer(&mut *port, &signals, None, &mut recorder)?;
        match port.finish(signals.patience(PATIENCE)) {
            Ok(Some(status)) => {
                ui.say(Level::Detail, &format!("the command ended: {status}"));
                observer.line_ended(&self.spec, status);
            }
            Ok(None) => {}
            Err(e) => {
                ui.say(Level::Detail, &format!("the line did not close well: {}", in_words(&e)));
            }
        }
        ui.line_is_over();
        if ended.outcome != Outcome::Done && self.spec == LineSpec::Stdio {
            clean_line();
        }
        Ok(self.conclude(recorder, &ended, &observer))
    }

    /// Transfers the files on a port that stays open. `before` was received already; also returns the bytes that
    /// belong to what follows.
    pub(crate) fn run_on(
        mut self,
        port: &mut dyn Port,
        signals: &Signals,
        before: &[u8],
    ) -> Result<(Ending, Vec<u8>), Ending> {
        let mut recorder = self.recorder()?;
        let (mut ended, observer) = self.transfer(port, signals, Some(before), &mut recorder)?;
        let leftover = std::mem::take(&mut ended.leftover);
        Ok((self.conclude(recorder, &ended, &observer), leftover))
    }

    fn recorder(&self) -> Result<Recorder<'a>, Ending> {
        let who = if self.direction == Direction::Send { "sender" } else { "receiver" };
        let recorder = Recorder::new(self.ui, who, self.common.trace.as_deref());
        Ok(recorder.map_err(|say| Ending::early(Exit::Store, say))?.keep(self.explain))
    }

    /// Runs the engine on the port to its end. `before`: the port stays open, and these bytes were received already.
    fn transfer(
        &mut self,
        port: &mut dyn Port,
        signals: &Signals,
        before: Option<&[u8]>,
        recorder: &mut Recorder<'a>,
    ) -> Result<(Ended, Observer<'a>), Ending> {
        let ui = self.ui;
        let zmodem = matches!(self.speaks, Speaks::One(one) if one.is::<zmodem::Config>());
        let stays = before.is_some() && zmodem;
        let fit = port_facts::fit(port.facts(), self.speaks).map_err(usage)?;
        self.speaks = fit.speaks;
        if let Some(note) = fit.note {
            ui.say(Level::Note, &note);
        }
        port_facts::apply(port.facts(), &mut self.all);
        let remembers = self.direction == Direction::Send
            && matches!(self.speaks, Speaks::One(one) if remembered::is_for(one));
        if remembers && let Some(words) = remembered::apply(&mut self.all, &self.spec) {
            ui.say(Level::Detail, &words);
        }
        self.all.kermit_mut().batch = self.file_store.batch();
        self.all.kermit_mut().entries = self.file_store.has_entries(self.direction);
        if port.carries_bps().is_none() {
            // Progress follows acknowledgements if the rate is unknown.
            self.all.zmodem_mut().line.rate_bps = 0;
        }
        let mut engine = self.engine().map_err(usage)?;
        let rate_bps = port.carries_bps();
        self.introduce(port.facts(), recorder);
        let free = self.spec != LineSpec::Stdio && !self.file_store.takes_stdin();
        let mut observer = Observer::new(ui, self.direction, rate_bps)
            .limit(self.limits.clone())
            .call(&self.unnamed)
            .guess_refusal(waiting::likely_refusal(self.direction, self.speaks))
            .listen(free);
        if self.looks_out {
            let (lookout, waiting) = self.look_out(engine, port.facts());
            engine = lookout;
            observer = observer.awaits(waiting);
        }
        let mut options = RunOptions::new(recorder);
        options.signals = Some(signals);
        options.before = before.unwrap_or_default();
        // On a port that stays open the peer's last bytes, such as OO, must not be taken for what follows.
        options.linger = stays.then_some(true);
        options.typed = self.spec == LineSpec::Stdio && stdin().is_terminal();
        let allowed = self.all.zmodem().commands == Commands::Run;
        let mut store = self.filter.before(self.file_store.store());
        let mut store = Commanded { store: &mut store, allowed };
        let kermit = match self.speaks {
            Speaks::One(protocol) => protocol.is::<kermit::Config>(),
            speaks => speaks == Speaks::KermitOrZmodem,
        };
        let sets = if kermit { Sets::from(self.all.kermit()) } else { Sets::AS_IS };
        let mut store = Translated::new(&mut store, sets);
        let ended = run(&mut *engine, port, &mut store, &mut observer, options);
        observer.finish();
        if let Err(error) = remembered::learn(&self.all, &self.spec, &engine.learned()) {
            let say = format!("could not remember what was learned: {}", in_words(&error));
            ui.say(Level::Detail, &say);
        }
        say_lost(ui, store.lost());
        Ok((ended, observer))
    }

    /// Reports the result.
    fn conclude(
        mut self,
        mut recorder: Recorder<'_>,
        ended: &Ended,
        observer: &Observer<'_>,
    ) -> Ending {
        let ui = self.ui;
        self.name_the_file(&mut recorder);
        recorder.outcome(ended.outcome, &ended.stats);
        let (lines, error) = recorder.finish();
        if let Some(why) = error {
            ui.say(Level::Error, &format!("wst: could not write the trace: {why}"));
        }
        let differs = matches!(
            ended.outcome,
            Outcome::Failed(Failure { kind: FailureKind::DigestDiffers, .. })
        );
        if differs {
            self.file_store.discard_partial();
        }
        let medium = LineKind::of(&self.spec);
        let verdict = Verdict {
            ui,
            direction: self.direction,
            file_store: &self.file_store,
            unnamed: &self.unnamed,
            medium,
        };
        let again = !differs && self.speaks.resumes();
        verdict.report_records(again, ended);
        if let Some(lines) = lines {
            crate::transfer::account::tell(ui, lines.iter().map(String::as_str));
        }
        let verdict = Verdict {
            ui,
            direction: self.direction,
            file_store: &self.file_store,
            unnamed: &self.unnamed,
            medium,
        };
        verdict.conclude(ended, observer)
    }

    /// Writes the parameters of this run to the head of the trace, so that it can be replayed.
    fn introduce(&self, facts: &PortFacts, recorder: &mut Recorder<'_>) {
        let direction = if self.direction == Direction::Send { "send" } else { "receive" };
        recorder.run(&TraceEvent::Text { name: "way", text: direction.as_bytes() });
        recorder.run(&TraceEvent::Text { name: "line", text: facts.name.as_bytes() });
        let rate = u64::from(facts.rate_bps.unwrap_or(0));
        recorder.run(&TraceEvent::Value { name: "rate_bps", value: rate });
        let reliable = u64::from(facts.reliable == Some(true));
        recorder.run(&TraceEvent::Value { name: "reliable", value: reliable });
        let Speaks::One(protocol) = self.speaks else { return };
        recorder.run(&TraceEvent::Text { name: "protocol", text: protocol.name.as_bytes() });
        for row in protocol.family().table() {
            let mut value = String::new();
            // Writing to a string cannot fail. The protocol itself is not repeated.
            let _ = self.all.show(row.name, &mut value);
            if value != row.default && protocol.preset.iter().all(|(name, _)| *name != row.name) {
                let set = format!("{}={value}", row.name);
                recorder.run(&TraceEvent::Text { name: "set", text: set.as_bytes() });
            }
        }
    }

    /// Writes the path of a single sent file, so that a replay can have the same content.
    fn name_the_file(&self, recorder: &mut Recorder<'_>) {
        if let ([record], Direction::Send) = (self.file_store.files(), self.direction)
            && let Some(path) = record.path.as_ref().and_then(|path| path.canonicalize().ok())
        {
            let text = path.as_os_str().as_encoded_bytes();
            recorder.run(&TraceEvent::Text { name: "path", text });
        }
    }

    /// Opens the line.
    pub(super) fn open(&self, signals: &Signals) -> Result<Box<dyn Port>, Ending> {
        let ui = self.ui;
        let mut notes = |text: &str| {
            ui.say(Level::Note, text);
            ui.event(Event::Line { text: text.to_owned(), end: None });
        };
        let opened = open_attended(&self.spec, Purpose::Transfer, Some(signals), &mut notes);
        let port = opened.map_err(|bad| not_opened(&self.spec, &bad))?;
        let facts = port.facts();
        ui.event(Event::Opened(Opened {
            line: facts.name.clone(),
            reliable: Some(facts.reliable),
            clear: Some(facts.clear),
            rate_bps: Some(facts.rate_bps),
            ..Opened::default()
        }));
        ui.say(Level::Detail, &format!("line: {}", facts.name));
        Ok(port)
    }

    /// Wraps the engine in one that detects the wrong peer, and the messages meanwhile.
    fn look_out(&self, engine: Box<dyn Engine>, facts: &PortFacts) -> (Box<dyn Engine>, Waiting) {
        let waiting =
            |finding| Waiting::new(self.direction, self.speaks, &self.spec, facts, finding);
        match waiting::expected(self.direction, self.speaks, &self.spec) {
            None => (engine, waiting(None)),
            Some(expected) => {
                let (lookout, finding) = Lookout::new(engine, expected, salt());
                (Box::new(lookout), waiting(Some(finding)))
            }
        }
    }

    /// An engine for a host of the ARPANET.
    fn ncp(&self) -> Result<Box<dyn Engine>, String> {
        let LineSpec::Ncp(spec) = &self.spec else { return Err("expected ncp:".to_owned()) };
        let config = ncp::config(self.all.ncp(), spec)?;
        let memory = vec![0; config.sender_memory()];
        if self.direction == Direction::Send {
            let sender = arpanet::Sender::new(config, memory).map_err(|bad| bad.to_string())?;
            return Ok(Box::new(sender));
        }
        let mut receiver = arpanet::Receiver::new(config, memory).map_err(|bad| bad.to_string())?;
        if !receiver.want(spec.path.as_bytes()) {
            return Err("expected the file to receive in the line, as in ncp://6/NAME".to_owned());
        }
        Ok(Box::new(receiver))
    }

    fn engine(&self) -> Result<Box<dyn Engine>, String> {
        let all = &self.all;
        let [zmodem, ymodem] = ["zmodem", "ymodem"].map(Protocol::named);
        Ok(match self.speaks {
            Speaks::Ncp => self.ncp()?,
            Speaks::One(protocol) if self.direction == Direction::Send => protocol.sender(all)?,
            Speaks::One(protocol) => protocol.receiver(all),
            Speaks::KermitOrZmodem => {
                // Its sender may wait for ZRINIT, as Kermit's may for the first NAK.
                let mut like = zmodem.receiver(all);
                let kermit = Protocol::default().receiver(all);
                let choice = Choice::new(kermit, zmodem.receiver(all), kermit_or_zmodem);
                Box::new(choice.offering(&mut *like))
            }
            Speaks::ZmodemOrYmodem => {
                Box::new(Choice::new(zmodem.sender(all)?, ymodem.sender(all)?, zmodem_or_ymodem))
            }
            Speaks::ZmodemThenYmodem => {
                let choice =
                    Choice::new(zmodem.receiver(all), ymodem.receiver(all), zmodem_or_time);
                Box::new(choice.or_after(all.zmodem().timeout.get() * OFFERS))
            }
        })
    }
}
