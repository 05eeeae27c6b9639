//! Two stages: a small program of ours goes to the shell first, and Kermit carries the rest of the file.
//!
//! ```text
//! here                                       the shell
//! a $(uname -m)                   --->
//!                                 <--- @4f1e09c2 armv7l
//! lines of base64                 --->       wst-mini, to /tmp/.wst-4f1e09c2-m
//! stty raw; every byte            --->       does the line pass each?
//! q                               --->       stty raw; wst-mini 3>>.wst-4f1e09c2
//!                                 <--- @4f1e09c2 go
//! Kermit                          <-->       windows of long packets
//!                                 <--- @4f1e09c2 end 0
//! ```
//!
//! Whether that is faster is a sum: the program takes its time, too. The rate of the line is known, or
//! measured with the first bytes of the file.

use super::blocks::blocks;
use super::check::{Digest, Tool};
use super::coding::{Decoder, Lines};
use super::report::Report;
use super::talk::Talk;
use super::wire::Broken;
use crate::os::process::INT;
use crate::run::Watch;
use std::cell::RefCell;
use std::time::Duration;
use wetstring_proto::engine::{Blame, Command, Engine, Event, FailureKind, Outcome};
use wetstring_proto::file::{Reply, Request, Store, StoreError};
use wetstring_proto::stats::Stats;

/// What a program is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// It receives at the shell.
    Receiver,
    /// It sends from the shell.
    Sender,
}

/// When the program is sent first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Stages {
    /// If that is faster.
    #[default]
    Auto,
    /// Never.
    One,
    /// For every file.
    Two,
}

/// Finds the program for a processor, or says what is missing.
pub type FindProgram<'a> = &'a (dyn Fn(Role, &str) -> Result<Vec<u8>, String> + 'a);

/// The program, and the engine that speaks with it.
pub struct Fast<'a> {
    /// When it is used.
    pub stages: Stages,
    /// The program for a processor, or what is missing.
    pub program: FindProgram<'a>,
    /// Our end; whether each byte was seen to pass.
    pub engine: &'a dyn Fn(Role, bool) -> Result<Box<dyn Engine>, String>,
    /// What the user should know.
    pub note: &'a dyn Fn(&str),
    /// Nothing on the way acts on bytes: each may be tried.
    pub tries_bytes: bool,
    /// What is known of the program at the shell.
    pub(super) there: RefCell<There>,
}

/// The program at the shell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum There {
    /// Nothing was tried.
    #[default]
    Unknown,
    /// It runs; whether each byte was seen to pass.
    Runs(bool),
    /// It cannot be had.
    Not,
}

impl<'a> Fast<'a> {
    /// A relay that knows nothing about the shell yet.
    pub fn new(
        program: FindProgram<'a>,
        engine: &'a dyn Fn(Role, bool) -> Result<Box<dyn Engine>, String>,
        note: &'a dyn Fn(&str),
    ) -> Self {
        let there = RefCell::default();
        Self { stages: Stages::Auto, program, engine, note, tries_bytes: false, there }
    }

    fn is_there(&self) -> There {
        self.there.try_borrow().map_or(There::Not, |there| *there)
    }

    fn note_there(&self, now: There) {
        if let Ok(mut there) = self.there.try_borrow_mut() {
            *there = now;
        }
    }
}

/// Bytes of a program, before it is looked for.
const TYPICAL: u64 = 55_000;
/// The part of a line that Kermit's long packets fill with bytes of the file.
const KERMIT: f64 = 0.95;
/// Time for looking around, starting and ending.
const AROUND: Duration = Duration::from_secs(2);
/// Bytes of the file with which the rate is measured.
pub(super) const SAMPLE: u64 = 32 * 1024;
/// A smaller file is not worth measuring.
const LEAST: u64 = 4 * SAMPLE;
/// How long the shell may take to tell the digest of bytes that were tried.
const TRIED: Duration = Duration::from_secs(3);
/// Lets the bytes go if some were lost.
const FILLER: usize = 512;

/// Whether a program is worth its time: `rate` is that of one stage, in bytes of a file a second.
fn pays(rate: f64, left: u64, program: u64, lines: Lines) -> bool {
    let (left, program) = (left as f64, program as f64);
    let gain = (KERMIT / lines.share()).max(1.0);
    let two = program / rate + AROUND.as_secs_f64() + left / (rate * gain);
    two < left / rate
}

/// Whether the file is to be measured with.
pub(super) fn measures(fast: &Fast<'_>, talk: &Talk<'_>, size: u64) -> bool {
    fast.stages == Stages::Auto
        && fast.is_there() != There::Not
        && talk.pace().rate_bps.is_none()
        && size >= LEAST
}

/// Whether the rest of a file is for two stages, as far as is known. `measured` bytes took this time.
pub(super) fn worth(
    fast: &Fast<'_>,
    talk: &Talk<'_>,
    left: u64,
    (measured, took): (u64, Duration),
    lines: Lines,
) -> bool {
    let program = match fast.is_there() {
        There::Not => return false,
        There::Runs(_) => 0,
        There::Unknown => TYPICAL,
    };
    let rate = match talk.pace().rate_bps {
        Some(bps) => f64::from(bps) / 10.0 * lines.share(),
        None if measured > 0 => measured as f64 / took.as_secs_f64().max(1e-6),
        None => return fast.stages == Stages::Two && left > 0,
    };
    match fast.stages {
        Stages::One => false,
        Stages::Two => left > 0,
        Stages::Auto => pays(rate, left, program, lines),
    }
}

/// Makes the program available at the shell; false, with a message, if that is impossible.
pub(super) fn ready(
    talk: &mut Talk<'_>,
    report: &mut Report<'_>,
    fast: &Fast<'_>,
    role: Role,
    (decoder, check): (&Decoder, Option<&Tool>),
) -> Result<bool, Broken> {
    if let There::Runs(_) = fast.is_there() {
        return Ok(true);
    }
    let done = sent(talk, report, fast, role, (decoder, check))?;
    if let Err(say) = done {
        fast.note_there(There::Not);
        if fast.stages == Stages::Two {
            return Err(Broken::Missing(say));
        }
        (fast.note)(&format!("{say}; the shell's own tools take the file"));
        return Ok(false);
    }
    let passes = match check {
        Some(check) if fast.tries_bytes => each_byte_passes(talk, check)?,
        _ => false,
    };
    fast.note_there(There::Runs(passes));
    let what = if passes { "each byte passes" } else { "Kermit finds which bytes pass" };
    report.event(talk, &Event::Negotiated(&format!("wst-mini runs at the shell; {what}")));
    Ok(true)
}

/// The processor there, as the folders of programs are named.
fn processor(talk: &mut Talk<'_>) -> Result<String, Broken> {
    let said = talk.ask("a $(uname -m 2>/dev/null)", "the name of a processor")?;
    let said = String::from_utf8_lossy(&said).into_owned();
    Ok(match said.as_str() {
        "amd64" => "x86_64".to_owned(),
        "arm64" => "aarch64".to_owned(),
        // An older one lacks instructions that the program has.
        name if name.starts_with("armv7") || name.starts_with("armv8") => "arm".to_owned(),
        // Both orders of bytes have this name: the header of the shell's own program tells.
        "mips" => {
            let ask = "a x$(dd if=/proc/self/exe bs=1 skip=5 count=1 2>/dev/null)";
            let order = talk.ask(ask, "the order of bytes")?;
            if order == b"x\x01" { "mipsel".to_owned() } else { said }
        }
        _ => said,
    })
}

/// Sends the program; `Err` inside if it cannot be had.
fn sent(
    talk: &mut Talk<'_>,
    report: &mut Report<'_>,
    fast: &Fast<'_>,
    role: Role,
    (decoder, check): (&Decoder, Option<&Tool>),
) -> Result<Result<(), String>, Broken> {
    let processor = processor(talk)?;
    let program = match (fast.program)(role, &processor) {
        Ok(program) => program,
        Err(say) => return Ok(Err(say)),
    };
    // A script that ends with 7 tells whether programs may run from there.
    talk.tell(
        "y(){ m=$1/.wst-$w-m;(set -C;echo exit 7 >\"$m\")2>/dev/null&&chmod +x \"$m\"&&{ \"$m\" \
         2>/dev/null;[ $? = 7 ]&&return;};rm -f \"$m\" 2>/dev/null;m=;return 1;}",
    )?;
    talk.tell("for i in \"${TMPDIR:-/tmp}\" /dev/shm /var/tmp .;do y \"$i\"&&break;done")?;
    let ask = "[ \"$m\" ]&&: >\"$m\"&&a ok||a no";
    if talk.ask(ask, "a place for a program")? != b"ok" {
        let say = "no directory at the shell in which a program may run";
        return Ok(Err(say.to_owned()));
    }
    talk.tell("u=$m")?;
    let mut digest = Digest::new(check.map(|tool| tool.check));
    let mut memory = Memory(&program);
    let counts = std::mem::replace(&mut report.counts, false);
    let sent = blocks(talk, &mut memory, report, decoder, (&mut digest, u64::MAX));
    report.counts = counts;
    sent?;
    if check.is_some() {
        let got = talk.ask("a $(k <\"$m\")", "a digest")?;
        digest.compare(check, got)?;
    }
    // It ends with 2 where there is nothing to read.
    let ask = "\"$m\" </dev/null >/dev/null 2>&1 3</dev/null;a $?";
    let got = talk.ask(ask, "how a program ends")?;
    if got != b"2" {
        talk.tell("rm -f \"$m\";m=")?;
        let got = got.escape_ascii();
        return Ok(Err(format!("expected wst-mini to run on {processor}, it ended with {got}")));
    }
    Ok(Ok(()))
}

/// A program in memory as a store.
struct Memory<'a>(&'a [u8]);

impl Store for Memory<'_> {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        let Request::Read { offset, into } = request else {
            return Reply::Failed(StoreError::Unsupported);
        };
        let left = usize::try_from(offset).ok().and_then(|at| self.0.get(at..)).unwrap_or_default();
        let len = left.len().min(into.len());
        into[..len].copy_from_slice(&left[..len]);
        Reply::Read(len)
    }
}

/// Whether the line passes every byte in both directions, by the digest of each that the shell has got, and by
/// what it prints.
fn each_byte_passes(talk: &mut Talk<'_>, check: &Tool) -> Result<bool, Broken> {
    talk.tell("z(){ [ \"$s\" ]&&{ stty \"$s\";stty -echo icanon isig;};}")?;
    let ask = "[ \"$s\" ]&&stty raw -echo;a go;i=$(dd bs=1 count=256 2>/dev/null|k);z;a $i";
    if talk.ask(ask, "a terminal that passes each byte")? != b"go" {
        return Err(talk.unexpected("a terminal that passes each byte"));
    }
    // CR and ~ are apart, as are other sequences on which programs act.
    let every: Vec<u8> = (0..=255).collect();
    talk.send(&every)?;
    let got = match talk.answer_within("a digest of each byte", TRIED) {
        Err(Broken::Silence { .. }) => {
            // Some were lost: this one counts instead, and its rest is an empty line.
            talk.send(&[b'\n'; FILLER])?;
            talk.answer("a digest of each byte")?
        }
        got => got?,
    };
    let mut digest = Digest::new(Some(check.check));
    digest.add(&every);
    if digest.compare(Some(check), got).is_err() {
        return Ok(false);
    }
    talk.tell("v(){ for i in 0 1 2 3 4 5 6 7;do printf \"\\\\$1$i\";done;}")?;
    talk.tell("x(){ for o in 0 1 2 3 4 5 6 7;do v $1$o;done;}")?;
    let ask = "[ \"$s\" ]&&stty raw -echo;printf go;x 0;x 1;x 2;x 3;printf og;z;a end";
    talk.tell(ask)?;
    let all = [b"go", &every[..], b"og"].concat();
    Ok(talk.bytes_until_answer("each byte", all.len())? == all)
}

/// Runs the program at the shell and our engine. `command` is the one that runs it.
fn engine(
    talk: &mut Talk<'_>,
    report: &mut Report<'_>,
    (fast, role): (&Fast<'_>, Role),
    command: &str,
    store: &mut dyn Store,
) -> Result<(), Broken> {
    let passes = fast.is_there() == There::Runs(true);
    let mut engine = (fast.engine)(role, passes).map_err(Broken::Missing)?;
    if talk.ask(command, "wst-mini to start")? != b"go" {
        return Err(talk.unexpected("wst-mini to start"));
    }
    let mut relay = Relay { base: *report.stats, last: *report.stats, watch: &mut *report.watch };
    let ended = talk.run_engine(&mut *engine, store, &mut relay);
    let last = relay.last;
    *report.stats = last;
    let ended = ended?;
    report.stats.current_file_bytes = report.stats.current_file_bytes.max(last.current_file_bytes);
    if let Some(signal) = ended.interrupted {
        return Err(Broken::Interrupted(signal));
    }
    match ended.outcome {
        Outcome::Done => {}
        Outcome::Failed(failure) => {
            if let Some(error) = ended.error {
                let say = format!("the line failed: {}", crate::in_words(&error));
                return Err(Broken::Line(say));
            }
            if failure.kind == FailureKind::Aborted && failure.blame == Blame::Local {
                return Err(Broken::Interrupted(INT));
            }
            return Err(Broken::Peer {
                expected: "Kermit to carry the file".to_owned(),
                got: failure.to_string().into_bytes(),
            });
        }
    }
    let end = talk.program_ended(talk.pace().answer)?;
    if end == b"end 0" {
        return Ok(());
    }
    talk.say(&end);
    Err(talk.unexpected("wst-mini to end with 0"))
}

/// Defines `q`, which runs the program with this file as descriptor 3. It says that it has ended after another line:
/// what an engine hears in its last moment it may take for its own.
fn define(talk: &mut Talk<'_>, how: &str) -> Result<(), Broken> {
    talk.tell("z(){ [ \"$s\" ]&&{ stty \"$s\";stty -echo icanon isig;};}")?;
    talk.tell(&format!(
        "q(){{ [ \"$s\" ]&&stty raw -echo;a go;{how};e=$?;z;IFS= read -r l;a end $e;}}"
    ))
}

/// Sends the rest of a file. The digest has what was sent before, and then all.
pub(super) fn put(
    talk: &mut Talk<'_>,
    report: &mut Report<'_>,
    fast: &Fast<'_>,
    store: &mut dyn Store,
    digest: &mut Digest,
) -> Result<(), Broken> {
    define(talk, "\"$m\" 3>>\"$t\"")?;
    let base = digest.len();
    let mut one = Rest { store, digest, base, named: false, failed: None };
    let done = engine(talk, report, (fast, Role::Receiver), "q", &mut one);
    match one.failed {
        Some(why) => Err(Broken::Store(why.to_string())),
        None => done,
    }
}

/// Receives the rest of a file, `size` bytes in all.
pub(super) fn get(
    talk: &mut Talk<'_>,
    report: &mut Report<'_>,
    fast: &Fast<'_>,
    store: &mut dyn Store,
    (digest, size): (&mut Digest, u64),
) -> Result<(), Broken> {
    let base = digest.len();
    let skip = base / 1024;
    let how = format!("{{ dd bs=1024 count={skip} <&3 >/dev/null 2>&1;\"$m\" $1;}} 3<\"$n\"");
    define(talk, if skip > 0 { &how } else { "\"$m\" $1 3<\"$n\"" })?;
    let passes = fast.is_there() == There::Runs(true);
    let command = if passes { "q n" } else { "q" };
    let mut one = Arriving { store, digest, base, size, offered: false, failed: None };
    let done = engine(talk, report, (fast, Role::Sender), command, &mut one);
    if let Some(why) = one.failed {
        return Err(Broken::Store(why.to_string()));
    }
    done?;
    if digest.len() == size {
        return Ok(());
    }
    let got = format!("{} bytes", digest.len()).into_bytes();
    Err(Broken::Peer { expected: format!("{size} bytes"), got })
}

/// The rest of a file, as the only one of a store.
struct Rest<'a> {
    store: &'a mut dyn Store,
    digest: &'a mut Digest,
    base: u64,
    named: bool,
    failed: Option<StoreError>,
}

impl Store for Rest<'_> {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        match request {
            Request::Next if self.named => Reply::NoMoreFiles,
            Request::Next => {
                self.named = true;
                let info = wetstring_proto::file::FileInfo { name: b"f", ..Default::default() };
                Reply::File(info)
            }
            Request::Read { offset, into } => {
                let at = self.base + offset;
                match self.store.answer(Request::Read { offset: at, into: &mut *into }) {
                    Reply::Read(len) => {
                        // What is read again is in the digest already.
                        let known = usize::try_from(self.digest.len().saturating_sub(at));
                        let new = into[..len].get(known.unwrap_or(usize::MAX)..);
                        self.digest.add(new.unwrap_or_default());
                        Reply::Read(len)
                    }
                    Reply::Failed(why) => {
                        self.failed = Some(why);
                        Reply::Failed(why)
                    }
                    _ => Reply::Failed(StoreError::Unsupported),
                }
            }
            Request::Close { .. } => Reply::Done,
            _ => Reply::Failed(StoreError::Unsupported),
        }
    }
}

/// The rest of a file that arrives.
struct Arriving<'a> {
    store: &'a mut dyn Store,
    digest: &'a mut Digest,
    base: u64,
    size: u64,
    offered: bool,
    failed: Option<StoreError>,
}

impl Store for Arriving<'_> {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        match request {
            Request::Offer { .. } if !self.offered => {
                self.offered = true;
                Reply::Accept { offset: 0 }
            }
            Request::Write { offset, bytes }
                if self.base + offset == self.digest.len()
                    && self.digest.len() + bytes.len() as u64 <= self.size =>
            {
                match self.store.answer(Request::Write { offset: self.base + offset, bytes }) {
                    Reply::Done => {
                        self.digest.add(bytes);
                        Reply::Done
                    }
                    Reply::Failed(why) => {
                        self.failed = Some(why);
                        Reply::Failed(why)
                    }
                    _ => Reply::Failed(StoreError::Unsupported),
                }
            }
            Request::Close { .. } => Reply::Done,
            _ => Reply::Failed(StoreError::Unsupported),
        }
    }
}

/// Counters of the engine, behind what was counted before.
struct Relay<'a> {
    base: Stats,
    last: Stats,
    watch: &'a mut dyn Watch,
}

impl Relay<'_> {
    fn add(&mut self, stats: &Stats) {
        let base = self.base;
        let mut sum = *stats;
        sum.wire_out_bytes += base.wire_out_bytes;
        sum.wire_in_bytes += base.wire_in_bytes;
        sum.file_bytes += base.file_bytes;
        sum.current_file_bytes += base.current_file_bytes;
        let acked = |acked| acked + base.current_file_bytes;
        sum.current_acked_bytes = stats.current_acked_bytes.map(acked);
        sum.packets_out += base.packets_out;
        sum.packets_in += base.packets_in;
        sum.retransmissions += base.retransmissions;
        sum.files_done = base.files_done;
        sum.files_skipped = base.files_skipped;
        self.last = sum;
    }
}

impl Watch for Relay<'_> {
    /// The file has its own events.
    fn event(&mut self, _: &Event<'_>, stats: &Stats) {
        self.add(stats);
    }

    fn progress(&mut self, stats: &Stats) {
        self.add(stats);
        self.watch.progress(&self.last);
    }

    fn port(&mut self, unsent_bytes: u64, asks: bool) {
        self.watch.port(unsent_bytes, asks);
    }

    fn command(&mut self) -> Option<Command> {
        self.watch.command()
    }

    fn wake(&self) -> Option<crate::event::Source<'_>> {
        self.watch.wake()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_pays_for_large_files_only() {
        let base64 = Lines::Base64(189);
        // At 115,200 bit/s.
        assert!(!pays(8300.0, 200_000, 55_000, base64));
        assert!(pays(8300.0, 500_000, 55_000, base64));
        // Where a byte takes more characters it pays sooner, and where the line is fast, later.
        assert!(pays(5600.0, 200_000, 55_000, Lines::Hex));
        assert!(!pays(1e6, 2_000_000, 55_000, base64));
        assert!(pays(1e6, 20_000_000, 55_000, base64));
        // A program that is already installed.
        assert!(pays(8300.0, 100_000, 0, base64));
    }
}
