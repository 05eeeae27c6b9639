//! `wst send` and `wst receive`.

use std::ffi::OsStr;
use std::io::{Sink, Stdout};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rustix::stdio::stdin;
use rustix::termios::isatty;
use wetstring_drive::charset::{Sets, Translated};
use wetstring_drive::disk::{
    DiskStore, FileRecord, Origin, PathRule, ReceiveOptions, Reserve, SendOptions, Source,
};
use wetstring_drive::port::{PATIENCE, Purpose, open_attended};
use wetstring_drive::{
    Ended, LineSpec, Lookout, Port, PortFacts, RunOptions, Signals, SinkStore, in_words, run,
};
use wetstring_events::{Event, Opened, Summary};
use wetstring_proto::xymodem::Variant;
use wetstring_proto::zmodem::Commands;
use wetstring_proto::{
    Engine, Failure, FailureKind, FileKind, Outcome, Store, TraceEvent, arpanet,
};

use crate::args::{Common, Receive, Send};
use crate::choice::{Choice, kermit_or_zmodem, zmodem_or_time, zmodem_or_ymodem};
use crate::commands::Commanded;
use crate::config::{Everything, File};
use crate::exit::{Exit, Medium};
use crate::facts;
use crate::filter::Filter;
use crate::hint;
use crate::inbox;
use crate::limits::Limits;
use crate::ncp;
use crate::netblt::{self, Ours};
use crate::opening::{self, There, not_opened, signals};
use crate::outgoing;
use crate::protocol::Protocol;
use crate::record::Recorder;
use crate::verdict::Verdict;
use crate::voice::{Level, Voice};
use crate::waiting::{self, Waiting};
use crate::watch::{Observer, Way};
use crate::words::{count, escaped};

/// How the program ends, with its last words and what the last event says besides.
pub(crate) struct Ending {
    /// The code.
    pub(crate) exit: Exit,
    /// A sentence; empty if everything is said.
    pub(crate) message: String,
    /// For the last event.
    pub(crate) summary: Option<Summary>,
    /// What became of the files.
    pub(crate) tally: Box<Tally>,
}

/// What became of the files, for those who act on it.
#[derive(Default)]
pub(crate) struct Tally {
    /// Files that could not be read or written, or changed meanwhile.
    pub(crate) unread: usize,
    /// Files that were sent whole.
    pub(crate) sent: Vec<FileRecord>,
    /// How the command ended that was sent to the other end.
    pub(crate) completed: Option<u8>,
    /// A file that was not wanted ended the transfer, and with it all that would have followed.
    pub(crate) cut: bool,
}

impl Ending {
    /// An end before anything has moved.
    pub(crate) fn early(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), summary: None, tally: Box::default() }
    }

    /// Files were to be deleted and are still there.
    pub(crate) fn kept(&mut self, files: u64) {
        if files == 0 {
            return;
        }
        if self.exit == Exit::Done {
            self.exit = Exit::Skipped;
        }
        // No one has asked for that to be forgiven.
        self.tally.unread += usize::try_from(files).unwrap_or(usize::MAX);
        let say = format!("{} not deleted", count(files, "file"));
        let before = std::mem::take(&mut self.message);
        self.message = if before.is_empty() { say } else { format!("{before}; {say}") };
    }
}

/// Turns a sentence into an end by a wrong command line or configuration.
pub(crate) fn usage(message: String) -> Ending {
    Ending::early(Exit::Usage, message)
}

/// What a transfer stores into, or takes from.
pub(crate) enum Keeper {
    /// Files.
    Disk(Box<DiskStore>),
    /// Stdout.
    Stream(SinkStore<Stdout>),
    /// Nobody keeps anything.
    Nowhere(SinkStore<Sink>),
}

impl Keeper {
    pub(crate) fn store(&mut self) -> &mut dyn Store {
        match self {
            Self::Disk(disk) => &mut **disk,
            Self::Stream(sink) => sink,
            Self::Nowhere(sink) => sink,
        }
    }

    pub(crate) fn files(&self) -> &[FileRecord] {
        match self {
            Self::Disk(disk) => disk.files(),
            Self::Stream(sink) => sink.files(),
            Self::Nowhere(sink) => sink.files(),
        }
    }

    pub(crate) fn takes_stdin(&self) -> bool {
        matches!(self, Self::Disk(disk) if disk.takes_stdin())
    }

    /// Files of which there is no record.
    pub(crate) fn unlisted(&self) -> u64 {
        if let Self::Disk(disk) = self { disk.unlisted() } else { 0 }
    }

    /// The names of files that were to be sent and whose turn never came.
    pub(crate) fn unasked(&self) -> Vec<Vec<u8>> {
        if let Self::Disk(disk) = self { disk.unasked() } else { Vec::new() }
    }

    /// What has come of the last file is wrong, and not to be continued.
    pub(crate) fn discard_partial(&mut self) {
        if let Self::Disk(disk) = self {
            disk.discard_partial();
        }
    }

    pub(crate) fn last_error(&self) -> Option<&str> {
        match self {
            Self::Disk(disk) => disk.last_error(),
            Self::Stream(sink) => sink.last_error(),
            Self::Nowhere(sink) => sink.last_error(),
        }
    }
}

/// What XMODEM loses, said to the one who sends.
const NAMELESS_SENT: &str = "XMODEM tells the other end neither name, length nor time; \
     its last block is filled up with 1A";
/// What XMODEM loses, said to the one who receives.
const NAMELESS_COMES: &str = "XMODEM tells neither name, length nor time of the file";
const NAMELESS_PADDED: &str =
    "; the padding of its last block stays at its end (--truncate-pad on takes off every last 1A)";

/// Says how many characters had no place in the other set.
pub(crate) fn say_lost(voice: &Voice, lost: u64) {
    if lost > 0 {
        let what = if lost == 1 { "character is" } else { "characters are" };
        let say = format!("{lost} {what} not in the other character set; ? stands for each");
        voice.say(Level::Note, &say);
    }
}

/// What the file and the flags set, and the line they name.
pub(crate) fn prepare(
    common: &Common,
    settings: &[(String, String)],
    line: &OsStr,
    there: There<'_>,
) -> Result<(Everything, LineSpec), String> {
    let file = File::load()?;
    let line = line.to_str().ok_or("expected a line in UTF-8, got other bytes")?;
    let (text, by_line) = match line.strip_prefix('@') {
        Some(name) => (file.line(name)?, Some(name)),
        None => (line.to_owned(), None),
    };
    let mut all = Everything::default();
    file.apply(&mut all, common.profile.as_deref().or(by_line))?;
    all.set_all(settings, "command line")?;
    let spec = opening::line(&text, there)?;
    Ok((all, spec))
}

/// `wst send`.
pub(crate) fn send(
    voice: &Voice,
    common: &Common,
    verb: &Send,
    settings: &[(String, String)],
) -> Result<Ending, Ending> {
    let (files, line) = verb.files_and_line().unwrap_or_default();
    let there = There::Receives(verb.transfer.protocol().map(Protocol::name));
    let (mut all, spec) = prepare(common, settings, line, there)
        .map_err(|say| usage(opening::swapped("send", &files, line).unwrap_or(say)))?;
    let is_ncp = matches!(spec, LineSpec::Ncp(_));
    let stream = !spec.has_datagrams() && !is_ncp;
    let protocol = verb.transfer.protocol().unwrap_or_default();
    let nameless = is_ncp || stream && protocol.is_nameless();
    let sources = sources(voice, verb, (&files, line), &spec, nameless)?;
    if verb.resume && stream {
        may_resume(protocol)?;
    }
    let options = SendOptions {
        paths: verb.paths,
        kind: if verb.text { FileKind::Text } else { FileKind::Binary },
        resume: verb.resume,
        common_names: stream && protocol == Protocol::Kermit && all.kermit.convert_names,
        ..SendOptions::default()
    };
    let count = sources.len();
    let disk = outbox(voice, sources, options);
    let both_ways = stream && protocol == Protocol::Uucp;
    let disk = and_taking(disk, verb.output.as_deref(), both_ways, &mut all)?;
    if spec.has_datagrams() {
        let keeper = Keeper::Disk(Box::new(disk));
        let kind = verb.text.then_some("--text");
        let ours = Ours { voice, common, transfer: &verb.transfer, all, spec };
        return netblt::send(ours, keeper, kind);
    }
    verb.transfer.only_keys(&spec)?;
    if is_ncp && verb.resume {
        let say = "expected no --resume: the FTP of 1973 begins in the middle of a file only to retrieve it";
        return Err(usage(say.to_owned()));
    }
    if protocol.is_nameless() && !is_ncp {
        if count > 1 {
            return Err(usage("expected one file with XMODEM, got several".to_owned()));
        }
        voice.say(Level::Note, NAMELESS_SENT);
    }
    hint::say(voice, Way::Send, Some(protocol), &all, &spec);
    let keeper = Keeper::Disk(Box::new(disk));
    let speaks = if is_ncp { Speaks::Ncp } else { Speaks::One(protocol) };
    let filter = Filter {
        expand: verb.text && matches!(protocol, Protocol::Xymodem(_)),
        ..Filter::default()
    };
    let (way, unnamed, explain) = (Way::Send, Vec::new(), verb.transfer.explain);
    Job {
        voice,
        common,
        way,
        speaks,
        all,
        spec,
        keeper,
        filter,
        limits: Limits::default(),
        unnamed,
        explain,
        looks_out: true,
    }
    .run()
}

/// A store that also takes what the peer has for us, where that is asked for.
fn and_taking(
    disk: DiskStore,
    output: Option<&Path>,
    both_ways: bool,
    all: &mut Everything,
) -> Result<DiskStore, Ending> {
    let Some(directory) = output else { return Ok(disk) };
    if !both_ways {
        let say = "expected -P uucp-g with --output: only in UUCP does a call go both ways";
        return Err(usage(say.to_owned()));
    }
    all.uucp.takes = true;
    inbox::make(directory)?;
    disk.and_receiving(directory, receive_options(all)).map_err(|e| inbox::no_place(directory, &e))
}

/// A store that sends these files. Those that had to get another name are said.
pub(crate) fn outbox(voice: &Voice, sources: Vec<Source>, options: SendOptions) -> DiskStore {
    let paths: Vec<Option<PathBuf>> = sources
        .iter()
        .map(|source| match &source.from {
            Origin::Path(path) => Some(path.clone()),
            Origin::Stdin => None,
        })
        .collect();
    let store = DiskStore::sending(sources, options);
    for renamed in store.renamed() {
        let path =
            paths[renamed.index].as_ref().map_or(b"stdin".as_slice(), |p| p.as_os_str().as_bytes());
        let (path, own, wire) = (escaped(path), escaped(&renamed.own), escaped(&renamed.wire));
        voice.say(
            Level::Note,
            &format!("{path} is sent as {wire}: another file of this batch is called {own}"),
        );
        voice.event(Event::Renamed { path, own, name: wire });
    }
    store
}

/// Refuses what a protocol cannot, before a file begins at its beginning after all.
fn may_resume(protocol: Protocol) -> Result<(), Ending> {
    if Speaks::One(protocol).resumes() {
        return Ok(());
    }
    let title = protocol.title();
    Err(usage(format!(
        "expected no --resume with {title}, which begins every file at its beginning"
    )))
}

/// The files to send. One that cannot be read is found out before the line is opened. `single`: only
/// one file can go, and no directory.
fn sources(
    voice: &Voice,
    verb: &Send,
    (files, line): (&[PathBuf], &OsStr),
    spec: &LineSpec,
    single: bool,
) -> Result<Vec<Source>, Ending> {
    // The receiver is told to keep directories.
    let keeps = line.as_encoded_bytes().starts_with(b"ssh://");
    if verb.name.is_some() && files.len() > 1 {
        return Err(usage("expected one file with --as, got several".to_owned()));
    }
    let mut all = Vec::new();
    for path in files {
        if path == Path::new("-") {
            if *spec == LineSpec::Stdio {
                return Err(usage("stdin cannot be both the file and the line".to_owned()));
            }
            let name = verb.name.as_ref().ok_or_else(|| {
                usage("expected --as NAME, to name what comes from stdin".to_owned())
            })?;
            all.push(Source::stdin(name.as_bytes()));
        } else if single || verb.name.is_some() {
            readable(path).map_err(|say| Ending::early(Exit::Store, say))?;
            all.push(Source::path(path));
        } else {
            all.extend(outgoing::sources(voice, path, keeps)?);
        }
    }
    if let (Some(name), [one]) = (&verb.name, &mut all[..]) {
        *one = one.clone().named(name.as_bytes());
    }
    if all.is_empty() {
        return Err(Ending::early(Exit::Store, "expected a file, got empty directories"));
    }
    Ok(all)
}

/// Whether a file can be read, as far as can be said without reading it.
pub(crate) fn readable(path: &Path) -> Result<(), String> {
    let name = escaped(path.as_os_str().as_bytes());
    let metadata =
        std::fs::metadata(path).map_err(|e| format!("could not read {name}: {}", in_words(&e)))?;
    let kind = metadata.file_type();
    if kind.is_fifo() {
        // To open it and let go would end its writer. It is opened once, to be sent.
        return Ok(());
    }
    if !kind.is_file() {
        let what = if kind.is_dir() { "the directory" } else { "the device or socket" };
        return Err(format!("expected a file, got {what} {name}"));
    }
    std::fs::File::open(path)
        .map(drop)
        .map_err(|e| format!("could not read {name}: {}", in_words(&e)))
}

/// `wst receive`.
pub(crate) fn receive(
    voice: &Voice,
    common: &Common,
    verb: &Receive,
    settings: &[(String, String)],
) -> Result<Ending, Ending> {
    let (mut all, spec) = prepare(
        common,
        settings,
        &verb.line,
        There::Sends(verb.transfer.protocol().map(Protocol::name)),
    )
    .map_err(usage)?;
    let protocol = verb.transfer.protocol();
    if protocol.is_some_and(Protocol::is_nameless) {
        if verb.name.is_none() && verb.output != Path::new("-") {
            let say = "expected --as NAME with XMODEM, which does not tell the name of its file";
            return Err(usage(say.to_owned()));
        }
        let padding = if all.xymodem.truncate_pad { "" } else { NAMELESS_PADDED };
        voice.say(Level::Note, &format!("{NAMELESS_COMES}{padding}"));
    }
    let resumes = |(name, value): &(String, String)| name == "store.resume" && value != "never";
    if let Some(protocol) = protocol.filter(|_| settings.iter().any(resumes)) {
        may_resume(protocol)?;
    }
    if spec.has_datagrams() {
        if verb.transfer.code.is_some() && verb.sessions != 1 {
            return Err(usage("expected --sessions 1 with --code, which lets in one".to_owned()));
        }
        let open = || keeper(common, verb, &all, &spec);
        let kind = verb.text.then_some("--text");
        let ours =
            Ours { voice, common, transfer: &verb.transfer, all: all.clone(), spec: spec.clone() };
        return netblt::receive(ours, (verb.sessions, verb.yes), &open, kind);
    }
    verb.transfer.only_keys(&spec)?;
    let keeper = keeper(common, verb, &all, &spec)?;
    hint::say(voice, Way::Receive, protocol, &all, &spec);
    let speaks = match spec {
        LineSpec::Ncp(_) => Speaks::Ncp,
        _ => protocol.map_or(Speaks::KermitOrZmodem, Speaks::One),
    };
    let told = if verb.text { Some(true) } else { verb.binary.then_some(false) };
    all.zmodem.receive_binary |= verb.binary;
    // Kermit's engines convert text themselves.
    let converts = !matches!(speaks, Speaks::One(Protocol::Kermit));
    let filter = Filter { text: told.filter(|_| converts), ..Filter::default() };
    let limits = Limits::default();
    let unnamed = verb.name.as_ref().map(|name| name.as_bytes().to_vec()).unwrap_or_default();
    let (way, explain) = (Way::Receive, verb.transfer.explain);
    Job {
        voice,
        common,
        way,
        speaks,
        all,
        spec,
        keeper,
        filter,
        limits,
        unnamed,
        explain,
        looks_out: true,
    }
    .run()
}

/// What is received is put there.
fn keeper(
    common: &Common,
    verb: &Receive,
    all: &Everything,
    spec: &LineSpec,
) -> Result<Keeper, Ending> {
    Ok(if verb.output == Path::new("-") {
        if *spec == LineSpec::Stdio {
            return Err(usage("stdout cannot be both the output and the line".to_owned()));
        }
        if common.json {
            return Err(usage("stdout cannot be both the output and the JSON".to_owned()));
        }
        Keeper::Stream(SinkStore::new(std::io::stdout()))
    } else {
        let options = ReceiveOptions {
            paths: if verb.paths { PathRule::Relative } else { PathRule::LastOnly },
            name: verb.name.as_ref().map(|name| name.as_bytes().to_vec()),
            // Without security an OPEN may come from anybody.
            reserve: if spec.has_datagrams() && verb.transfer.plain {
                Reserve::WithData
            } else {
                Reserve::Offered
            },
            ..receive_options(all)
        };
        Keeper::Disk(Box::new(inbox::receiving(&verb.output, options)?))
    })
}

/// What the settings say of files that come.
fn receive_options(all: &Everything) -> ReceiveOptions {
    ReceiveOptions {
        collision: all.collision,
        incomplete: all.incomplete,
        resume: all.resume,
        verify: all.verify,
        ..ReceiveOptions::default()
    }
}

/// What is spoken on the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Speaks {
    /// This.
    One(Protocol),
    /// A receiver: Kermit or ZMODEM, as the sender does.
    KermitOrZmodem,
    /// A sender: ZMODEM, or YMODEM to a receiver that asks for it.
    ZmodemOrYmodem,
    /// A receiver: ZMODEM, and YMODEM if nobody answers.
    ZmodemThenYmodem,
    /// FTP on the ARPANET, by the line's own word.
    Ncp,
}

impl Speaks {
    /// Whether a sender can begin where an interrupted transfer ended.
    const fn resumes(self) -> bool {
        !matches!(self, Self::Ncp | Self::One(Protocol::Xymodem(_) | Protocol::Uucp))
    }
}

/// How many time-outs (10 s, `rz -t`) a receiver offers ZMODEM before it tries YMODEM: as many as
/// lrzsz.
const OFFERS: u32 = 5;

/// A number that another process, or the next one, does not have.
fn salt() -> u64 {
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    u64::from(time.map_or(0, |time| time.subsec_nanos())) ^ u64::from(std::process::id())
}

/// Everything a transfer needs.
pub(crate) struct Job<'a> {
    pub(crate) voice: &'a Voice,
    pub(crate) common: &'a Common,
    pub(crate) way: Way,
    pub(crate) speaks: Speaks,
    pub(crate) all: Everything,
    pub(crate) spec: LineSpec,
    pub(crate) keeper: Keeper,
    pub(crate) filter: Filter,
    pub(crate) limits: Limits,
    /// The name of a file whose name the protocol does not tell.
    pub(crate) unnamed: Vec<u8>,
    /// Whether to say at the end where the time went.
    pub(crate) explain: bool,
    /// Whether to say what is awaited, and to look out for a peer that cannot be the right one.
    pub(crate) looks_out: bool,
}

impl Job<'_> {
    /// Opens the line, moves the files, and says how it went.
    pub(crate) fn run(mut self) -> Result<Ending, Ending> {
        let voice = self.voice;
        if self.spec == LineSpec::Stdio {
            voice.line_is_stdio();
        }
        let who = if self.way == Way::Send { "sender" } else { "receiver" };
        let mut recorder = Recorder::new(voice, who, self.common.trace.as_deref())
            .map_err(|say| Ending::early(Exit::Store, say))?
            .keep(self.explain);
        let signals = signals()?;
        let mut port = self.open(&signals)?;
        let fit = facts::fit(port.facts(), self.speaks).map_err(usage)?;
        self.speaks = fit.speaks;
        if let Some(note) = fit.note {
            voice.say(Level::Note, &note);
        }
        facts::apply(port.facts(), &mut self.all);
        if port.carries_bps().is_none() {
            // It goes by what is acknowledged where no rate is known.
            self.all.zmodem.line.rate_bps = 0;
        }
        let mut engine = self.engine().map_err(usage)?;
        let rate_bps = port.carries_bps();
        self.introduce(port.facts(), &mut recorder);
        let free = self.spec != LineSpec::Stdio && !self.keeper.takes_stdin();
        let mut observer = Observer::new(voice, self.way, rate_bps)
            .limit(self.limits.clone())
            .call(&self.unnamed)
            .listen(free);
        if self.looks_out {
            let (lookout, waiting) = self.look_out(engine, port.facts());
            engine = lookout;
            observer = observer.awaits(waiting);
        }
        let mut options = RunOptions::new(&mut recorder);
        options.signals = Some(&signals);
        options.typed = self.spec == LineSpec::Stdio && isatty(stdin());
        let allowed = self.all.zmodem.commands == Commands::Run;
        let mut store = self.filter.before(self.keeper.store());
        let mut store = Commanded { store: &mut store, allowed };
        let kermit = matches!(self.speaks, Speaks::One(Protocol::Kermit) | Speaks::KermitOrZmodem);
        let sets = if kermit { Sets::from(&self.all.kermit) } else { Sets::AS_IS };
        let mut store = Translated::new(&mut store, sets);
        let ended = run(&mut *engine, &mut *port, &mut store, &mut observer, options);
        observer.finish();
        say_lost(voice, store.lost());
        match port.finish(signals.patience(PATIENCE)) {
            Ok(Some(status)) => voice.say(Level::Detail, &format!("the command ended: {status}")),
            Ok(None) => {}
            Err(e) => {
                voice.say(Level::Detail, &format!("the line did not close well: {}", in_words(&e)));
            }
        }
        voice.line_is_over();
        Ok(self.conclude(recorder, &ended, &observer))
    }

    /// Says how it went.
    fn conclude(
        mut self,
        mut recorder: Recorder<'_>,
        ended: &Ended,
        observer: &Observer<'_>,
    ) -> Ending {
        let voice = self.voice;
        self.name_the_file(&mut recorder);
        recorder.outcome(ended.outcome, &ended.stats);
        let (lines, error) = recorder.finish();
        if let Some(why) = error {
            voice.say(Level::Error, &format!("wst: could not write the trace: {why}"));
        }
        let differs = matches!(
            ended.outcome,
            Outcome::Failed(Failure { kind: FailureKind::DigestDiffers, .. })
        );
        if differs {
            self.keeper.discard_partial();
        }
        let medium = Medium::of(&self.spec);
        let verdict =
            Verdict { voice, way: self.way, keeper: &self.keeper, unnamed: &self.unnamed, medium };
        let again = !differs && self.speaks.resumes();
        verdict.tell_records(again);
        if let Some(lines) = lines {
            crate::explain::tell(voice, lines.iter().map(String::as_str));
        }
        let verdict =
            Verdict { voice, way: self.way, keeper: &self.keeper, unnamed: &self.unnamed, medium };
        verdict.conclude(ended, observer)
    }

    /// Says at the head of the trace what this run is, so that it can be replayed.
    fn introduce(&self, facts: &PortFacts, recorder: &mut Recorder<'_>) {
        let way = if self.way == Way::Send { "send" } else { "receive" };
        recorder.run(&TraceEvent::Text { name: "way", text: way.as_bytes() });
        recorder.run(&TraceEvent::Text { name: "line", text: facts.name.as_bytes() });
        let rate = u64::from(facts.rate_bps.unwrap_or(0));
        recorder.run(&TraceEvent::Value { name: "rate_bps", value: rate });
        let reliable = u64::from(facts.reliable == Some(true));
        recorder.run(&TraceEvent::Value { name: "reliable", value: reliable });
        let Speaks::One(protocol) = self.speaks else { return };
        recorder.run(&TraceEvent::Text { name: "protocol", text: protocol.name().as_bytes() });
        for row in protocol.table() {
            let mut value = String::new();
            // Writing to a string cannot fail. The variant is the protocol.
            let _ = self.all.show(row.name, &mut value);
            if value != row.default && row.name != "xymodem.variant" {
                let set = format!("{}={value}", row.name);
                recorder.run(&TraceEvent::Text { name: "set", text: set.as_bytes() });
            }
        }
    }

    /// Says where the one file that was sent is, so that a replay can have the same content.
    fn name_the_file(&self, recorder: &mut Recorder<'_>) {
        if let ([record], Way::Send) = (self.keeper.files(), self.way)
            && let Some(path) = record.path.as_ref().and_then(|path| path.canonicalize().ok())
        {
            let text = path.as_os_str().as_bytes();
            recorder.run(&TraceEvent::Text { name: "path", text });
        }
    }

    fn open(&self, signals: &Signals) -> Result<Box<dyn Port>, Ending> {
        let voice = self.voice;
        let mut notes = |text: &str| {
            voice.say(Level::Note, text);
            voice.event(Event::Line { text: text.to_owned(), end: None });
        };
        let opened = open_attended(&self.spec, Purpose::Transfer, Some(signals), &mut notes);
        let port = opened.map_err(|bad| not_opened(&self.spec, &bad))?;
        let facts = port.facts();
        voice.event(Event::Opened(Opened {
            line: facts.name.clone(),
            reliable: Some(facts.reliable),
            clear: Some(facts.clear),
            rate_bps: Some(facts.rate_bps),
            ..Opened::default()
        }));
        voice.say(Level::Detail, &format!("line: {}", facts.name));
        Ok(port)
    }

    /// The engine with one around it that recognises the wrong peer, and what is said meanwhile.
    fn look_out(&self, engine: Box<dyn Engine>, facts: &PortFacts) -> (Box<dyn Engine>, Waiting) {
        let waiting = |finding| Waiting::new(self.way, self.speaks, &self.spec, facts, finding);
        match waiting::expected(self.way, self.speaks, &self.spec) {
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
        let config = ncp::config(&self.all.ncp, spec)?;
        let memory = vec![0; config.sender_memory()];
        if self.way == Way::Send {
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
        let (all, ymodem) = (&self.all, Protocol::Xymodem(Variant::Ymodem));
        Ok(match self.speaks {
            Speaks::Ncp => self.ncp()?,
            Speaks::One(protocol) if self.way == Way::Send => protocol.sender(all)?,
            Speaks::One(protocol) => protocol.receiver(all)?,
            Speaks::KermitOrZmodem => {
                let kermit = Protocol::Kermit.receiver(all)?;
                let zmodem = Protocol::Zmodem.receiver(all)?;
                // Its sender may wait for ZRINIT, as Kermit's may for the first NAK.
                let mut like = Protocol::Zmodem.receiver(all)?;
                Box::new(Choice::new(kermit, zmodem, kermit_or_zmodem).offering(&mut *like))
            }
            Speaks::ZmodemOrYmodem => {
                let zmodem = Protocol::Zmodem.sender(all)?;
                Box::new(Choice::new(zmodem, ymodem.sender(all)?, zmodem_or_ymodem))
            }
            Speaks::ZmodemThenYmodem => {
                let zmodem = Protocol::Zmodem.receiver(all)?;
                let choice = Choice::new(zmodem, ymodem.receiver(all)?, zmodem_or_time);
                let offer = std::time::Duration::from_secs(u64::from(all.zmodem.timeout_s));
                Box::new(choice.or_after(offer * OFFERS))
            }
        })
    }
}
