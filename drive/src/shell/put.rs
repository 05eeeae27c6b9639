//! Files to a shell.

use super::blocks::blocks;
use super::check::{Digest, TOOLS, Tool, is_known};
use super::coding::{DECODERS, Decoder};
use super::fast::{self, Fast, Role, Stages};
use super::quote::{assign, path};
use super::report::Report;
use super::store;
use super::talk::Talk;
use super::wire::Broken;
use crate::run::Watch;
use std::time::Instant;
use wetstring_proto::engine::Event;
use wetstring_proto::file::{FileInfo, Store};
use wetstring_proto::stats::Stats;

/// How files are written at the shell.
#[derive(Default)]
pub struct PutOptions<'a> {
    /// Files that are there are replaced.
    pub overwrites: bool,
    /// How the user asks for that, for the error; `--overwrite` unless said.
    pub overwrites_by: Option<&'a str>,
    /// The path of the only file, if it is not its name in the shell's directory.
    pub name: Option<Vec<u8>>,
    /// A program that is uploaded first.
    pub fast: Option<&'a Fast<'a>>,
}

/// What is known of a file to send.
struct Wanted {
    name: Vec<u8>,
    size: Option<u64>,
    modified: Option<i64>,
    mode: Option<u32>,
}

impl Wanted {
    fn info(&self) -> FileInfo<'_> {
        let Self { size, modified, mode, .. } = *self;
        FileInfo { name: &self.name, size, modified, mode, ..FileInfo::default() }
    }
}

/// What is used at the shell.
pub(super) type Tools = (&'static Decoder, Option<&'static Tool>);

/// Sends the files of a store to a shell. The counters are right after a failure, too.
///
/// # Errors
///
/// The first failure; the shell then has no part of that file.
pub fn put(
    talk: &mut Talk<'_>,
    store: &mut dyn Store,
    (watch, stats): (&mut dyn Watch, &mut Stats),
    options: &PutOptions<'_>,
) -> Result<(), Broken> {
    if options.fast.is_some_and(|fast| fast.stages == Stages::Two) {
        talk.without_echo()?;
    }
    // A program needs a raw terminal.
    let fast = options.fast.filter(|_| !talk.echoes);
    let mut report = Report::new(watch, stats);
    let mut tools = None;
    loop {
        let Some(info) = store::next(store)? else { return Ok(()) };
        let wanted = Wanted {
            name: info.name.to_vec(),
            size: info.size,
            modified: info.modified,
            mode: info.mode,
        };
        let tools = match tools {
            Some(tools) => tools,
            None => *tools.insert(look_around(talk, &mut report)?),
        };
        let target = path(options.name.as_ref().unwrap_or(&wanted.name));
        let mut done = target_is_free(talk, &target, options);
        if done.is_ok() {
            report.stats.current_file_bytes = 0;
            let event = Event::FileStarted { info: wanted.info(), offset: 0 };
            report.event(talk, &event);
            let is_program = wanted.mode.is_some_and(|mode| mode & 0o111 != 0);
            let how = (wanted.size, fast);
            done = put_one(talk, store, &mut report, tools, how)
                .and_then(|proved| name_it(talk, is_program, options.overwrites).map(|()| proved));
        }
        let verified = done == Ok(true);
        store::close(store, done, verified)?;
        report.stats.files_done += 1;
        let size = report.stats.current_file_bytes;
        report.event(talk, &Event::FileDone { size, verified });
    }
}

/// The first decoder and check that work there.
pub(super) fn look_around(talk: &mut Talk<'_>, report: &mut Report<'_>) -> Result<Tools, Broken> {
    reader(talk)?;
    let Some(decoder) = decoder(talk)? else {
        let names: Vec<&str> = DECODERS.iter().map(|tool| tool.name).collect();
        let say = format!("expected one of {} at the shell, got none that works", names.join(", "));
        return Err(Broken::Missing(say));
    };
    let check = check(talk)?;
    let by = check.map_or("no digest", |check| check.name);
    let say = format!("shell: {}, {by}", decoder.name);
    report.event(talk, &Event::Negotiated(&say));
    Ok((decoder, check))
}

/// Defines `h N`, which passes N lines and reads nothing after them: in canonical mode a read returns one line. And
/// `r N NUMBER`, which appends what these lines mean to the file `$u`.
fn reader(talk: &mut Talk<'_>) -> Result<(), Broken> {
    talk.tell("r(){ if h $1|d>>\"$u\";then a $2;else a fail $2;fi;}")?;
    talk.tell(
        "h(){ i=$1;while [ $i -gt 0 ]&&IFS= read -r l;do printf '%s\\n' \"$l\";i=$((i-1));done;}",
    )?;
    if talk.at_terminal {
        talk.tell("[ \"$(echo hi|head -n 1 2>/dev/null)\" = hi ]&&h(){ head -n $1;}")?;
    }
    Ok(())
}

fn decoder(talk: &mut Talk<'_>) -> Result<Option<&'static Decoder>, Broken> {
    for decoder in DECODERS {
        for line in decoder.setup {
            talk.tell(line)?;
        }
        let lines = decoder.lines.write(b"hi");
        let sample: Vec<String> =
            lines.iter().map(|line| String::from_utf8_lossy(line).replace('\\', "\\\\")).collect();
        let sample = sample.join("\\n").replace('%', "%%").replace('\'', "'\\''");
        let ask = format!("[ \"$(printf '{sample}\\n'|d 2>/dev/null)\" = hi ]&&a yes||a no");
        if talk.ask(&ask, "whether a tool is there")? == b"yes" {
            return Ok(Some(decoder));
        }
    }
    Ok(None)
}

/// Finds a tool for digests and defines `k`.
pub(super) fn check(talk: &mut Talk<'_>) -> Result<Option<&'static Tool>, Broken> {
    for tool in TOOLS {
        talk.tell(&format!("k(){{ {};}}", tool.body))?;
        let said = talk.ask("a $(echo hi|k 2>/dev/null)", "a digest")?;
        if is_known(tool.check, &said) {
            return Ok(Some(tool));
        }
    }
    Ok(None)
}

/// Sets `n`, the path, and `t`, the temporary file beside it, which is made.
fn target_is_free(
    talk: &mut Talk<'_>,
    target: &[u8],
    options: &PutOptions<'_>,
) -> Result<bool, Broken> {
    for line in assign("n", target) {
        talk.tell(&line)?;
    }
    let shown = target.escape_ascii();
    let is = talk.ask(IS_THERE, "whether the file is there")?;
    match &is[..] {
        b"free" => {}
        b"file" if options.overwrites => {}
        b"file" => {
            let by = options.overwrites_by.unwrap_or("--overwrite");
            let say = format!("{shown} is at the shell already; {by} replaces it");
            return Err(Broken::Refused(say));
        }
        b"other" => {
            let say =
                format!("expected the name of a file, {shown} is something else at the shell");
            return Err(Broken::Refused(say));
        }
        _ => return Err(Broken::Peer { expected: "whether the file is there".into(), got: is }),
    }
    let made = talk.ask(
        "t=${n%/*}/.wst-$w;if (set -C;: >\"$t\");then a ok;else t=;a no;fi",
        "a temporary file",
    )?;
    if made == b"ok" { Ok(false) } else { Err(talk.unexpected("a temporary file at the shell")) }
}

const IS_THERE: &str =
    "if [ -f \"$n\" ];then a file;elif [ -e \"$n\" ]||[ -h \"$n\" ];then a other;else a free;fi";

/// Sends the bytes of a file; returns whether a digest has shown that they are the same.
fn put_one(
    talk: &mut Talk<'_>,
    store: &mut dyn Store,
    report: &mut Report<'_>,
    (decoder, check): Tools,
    (size, fast): (Option<u64>, Option<&Fast<'_>>),
) -> Result<bool, Broken> {
    talk.tell("u=$t")?;
    let mut digest = Digest::new(check.map(|tool| tool.check));
    let mut twice = false;
    if let (Some(fast), Some(size)) = (fast, size) {
        let began = Instant::now();
        if fast::measures(fast, talk, size) {
            blocks(talk, store, report, decoder, (&mut digest, fast::SAMPLE))?;
        }
        let (measured, took) = (digest.len(), began.elapsed());
        let left = size.saturating_sub(measured);
        twice = fast::worth(fast, talk, left, (measured, took), decoder.lines)
            && fast::ready(talk, report, fast, Role::Receiver, (decoder, check))?;
        talk.tell("u=$t")?;
        if twice {
            fast::put(talk, report, fast, store, &mut digest)?;
        }
    }
    if !twice {
        blocks(talk, store, report, decoder, (&mut digest, u64::MAX))?;
    }
    let got = match check {
        Some(_) => talk.ask("a $(k <\"$t\")", "a digest")?,
        None => talk.ask("a $(wc -c <\"$t\")", "a length")?,
    };
    digest.compare(check, got)?;
    Ok(check.is_some())
}

/// Gives the temporary file its name. A file that has come meanwhile is not replaced either.
fn name_it(talk: &mut Talk<'_>, is_program: bool, overwrites: bool) -> Result<(), Broken> {
    if is_program {
        talk.tell("chmod +x \"$t\"")?;
    }
    let ask = if overwrites {
        "if [ ! -d \"$n\" ]&&mv -f \"$t\" \"$n\";then t=;a ok;else a no;fi"
    } else {
        "if [ ! -e \"$n\" ]&&[ ! -h \"$n\" ]&&mv -f \"$t\" \"$n\";then t=;a ok;else a no;fi"
    };
    match &talk.ask(ask, "the file at its name")?[..] {
        b"ok" => Ok(()),
        _ => Err(talk.unexpected("the file at its name")),
    }
}
