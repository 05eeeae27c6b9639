//! Files from a shell.

use super::check::{Digest, Tool};
use super::coding::{ENCODERS, Encoder};
use super::fast::{self, Fast, Role};
use super::put::{check, look_around};
use super::quote::{assign, path};
use super::report::Report;
use super::store;
use super::talk::{Heard, Talk};
use super::wire::Broken;
use crate::run::Watch;
use std::time::{Duration, Instant};
use wetstring_proto::engine::Event;
use wetstring_proto::file::{FileInfo, Store};
use wetstring_proto::stats::Stats;

/// Bytes that are written at once.
const WRITE: usize = 16 * 1024;
/// Characters of a file's lines beyond twice its length, ends of lines and messages included.
const SURPLUS: u64 = 64 * 1024;

/// Receives files of a shell into a store. The counters are right after a failure, too.
///
/// # Errors
///
/// The first failure; the store then has that file as incomplete.
pub fn get(
    talk: &mut Talk<'_>,
    store: &mut dyn Store,
    (watch, stats): (&mut dyn Watch, &mut Stats),
    names: &[Vec<u8>],
    fast: Option<&Fast<'_>>,
) -> Result<(), Broken> {
    talk.without_echo()?;
    let mut report = Report::new(watch, stats);
    let Some(encoder) = encoder(talk)? else {
        let names: Vec<&str> = ENCODERS.iter().map(|tool| tool.name).collect();
        let say = format!("expected one of {} at the shell, got none that works", names.join(", "));
        return Err(Broken::Missing(say));
    };
    let check = check(talk)?;
    let say = format!("shell: {}, {}", encoder.name, check.map_or("no digest", |tool| tool.name));
    report.event(talk, &Event::Negotiated(&say));
    for name in names {
        get_one(talk, store, &mut report, (encoder, check, fast), name)?;
    }
    Ok(())
}

fn encoder(talk: &mut Talk<'_>) -> Result<Option<&'static Encoder>, Broken> {
    for encoder in ENCODERS {
        for line in encoder.setup {
            talk.tell(line)?;
        }
        let said = talk.ask("a $(printf 'hi\\n'|e 2>/dev/null)", "whether a tool is there")?;
        // uuencode's lines: the header has three words.
        let said = said.strip_prefix(b"begin-base64 644 x").unwrap_or(&said);
        let mut bytes = Vec::new();
        let mut words = said.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
        if words.all(|word| encoder.lines.read(word, &mut bytes).is_some()) && bytes == b"hi\n" {
            return Ok(Some(encoder));
        }
    }
    Ok(None)
}

/// The length of the file; `n` is its path.
fn length(talk: &mut Talk<'_>, name: &[u8]) -> Result<u64, Broken> {
    for line in assign("n", &path(name)) {
        talk.tell(&line)?;
    }
    let ask = "if [ -f \"$n\" ]&&[ -r \"$n\" ];then a $(wc -c <\"$n\");else a no;fi";
    let said = talk.ask(ask, "a length")?;
    if said == b"no" {
        let say = format!("{} cannot be read at the shell", name.escape_ascii());
        return Err(Broken::Refused(say));
    }
    let len = std::str::from_utf8(&said).ok().and_then(|said| said.parse().ok());
    len.ok_or_else(|| {
        talk.say(&said);
        talk.unexpected("the length of the file")
    })
}

fn get_one(
    talk: &mut Talk<'_>,
    store: &mut dyn Store,
    report: &mut Report<'_>,
    (encoder, check, fast): (&Encoder, Option<&Tool>, Option<&Fast<'_>>),
    name: &[u8],
) -> Result<(), Broken> {
    let size = length(talk, name)?;
    let info = FileInfo { name, size: Some(size), ..FileInfo::default() };
    if let Some(why) = store::offer(store, info)? {
        report.stats.files_skipped += 1;
        report.event(talk, &Event::FileRefused { name, why: Some(why), by_peer: false });
        return Ok(());
    }
    report.stats.current_file_bytes = 0;
    report.event(talk, &Event::FileStarted { info, offset: 0 });
    let how = (encoder, check, fast);
    let done = bytes(talk, store, report, how, size).and_then(|digest| {
        // As long as it was announced it is in any case.
        let Some(tool) = check else { return Ok(false) };
        let got = talk.ask("a $(k <\"$n\")", "a digest")?;
        digest.compare(Some(tool), got).map(|()| true)
    });
    // A file that differs must not be resumed.
    let verified = matches!(done, Ok(true) | Err(Broken::Differs { .. }));
    let verified = store::close(store, done, verified)?;
    report.stats.files_done += 1;
    report.event(talk, &Event::FileDone { size, verified });
    Ok(())
}

/// The bytes of a file, in one stage or two.
fn bytes(
    talk: &mut Talk<'_>,
    store: &mut dyn Store,
    report: &mut Report<'_>,
    (encoder, check, fast): (&Encoder, Option<&Tool>, Option<&Fast<'_>>),
    size: u64,
) -> Result<Digest, Broken> {
    let mut digest = Digest::new(check.map(|tool| tool.check));
    if let Some(fast) = fast {
        let mut measured = (0, Duration::ZERO);
        if fast::measures(fast, talk, size) && has_dd(talk)? {
            let began = Instant::now();
            let first = "if dd if=\"$n\" bs=1024 count=32 2>/dev/null|e;then a end;else a fail;fi";
            lines(talk, store, report, (encoder, first), (&mut digest, fast::SAMPLE))?;
            measured = (digest.len(), began.elapsed());
        }
        let left = size - digest.len();
        if fast::worth(fast, talk, left, measured, encoder.lines) {
            // The program goes there by what decodes.
            let (decoder, _) = look_around(talk, report)?;
            if fast::ready(talk, report, fast, Role::Sender, (decoder, check))? {
                fast::get(talk, report, fast, store, (&mut digest, size))?;
                return Ok(digest);
            }
        }
    }
    let rest = if digest.len() == 0 {
        "if e <\"$n\";then a end;else a fail;fi"
    } else {
        "if { dd bs=1024 count=32 >/dev/null 2>&1;e;} <\"$n\";then a end;else a fail;fi"
    };
    lines(talk, store, report, (encoder, rest), (&mut digest, size))?;
    Ok(digest)
}

/// Whether a part of a file can be had.
fn has_dd(talk: &mut Talk<'_>) -> Result<bool, Broken> {
    let ask = "dd if=/dev/null bs=1024 count=32 2>/dev/null&&a yes||a no";
    Ok(talk.ask(ask, "whether dd is there")? == b"yes")
}

/// The lines that a command prints of a file, as far as this length of it.
fn lines(
    talk: &mut Talk<'_>,
    store: &mut dyn Store,
    report: &mut Report<'_>,
    (encoder, command): (&Encoder, &str),
    (digest, size): (&mut Digest, u64),
) -> Result<(), Broken> {
    let (mut bytes, mut written) = (Vec::new(), digest.len());
    let most = size.saturating_mul(4).saturating_add(SURPLUS);
    let began = talk.heard;
    talk.tell(command)?;
    loop {
        let heard = talk.next("a line of the file")?;
        talk.on_the_way(0);
        let line = match &heard {
            Heard::Line(line) => line,
            Heard::Answer(_) => b"".as_slice(),
        };
        let len = bytes.len();
        if encoder.lines.read(line, &mut bytes).is_none() {
            bytes.truncate(len);
            talk.say(line);
            return Err(talk.unexpected(&format!("a line of {}", encoder.name)));
        }
        digest.add(&bytes[len..]);
        if digest.len() > size || talk.heard - began > most {
            let expected = format!("{size} bytes");
            let got = format!("{} bytes and more", digest.len()).into_bytes();
            return Err(Broken::Peer { expected, got });
        }
        let over = matches!(heard, Heard::Answer(_));
        if bytes.len() >= WRITE || over && !bytes.is_empty() {
            store::write(store, written, &bytes)?;
            written += bytes.len() as u64;
            bytes.clear();
        }
        report.stats.file_bytes += digest.len() - report.stats.current_file_bytes;
        report.stats.current_file_bytes = digest.len();
        report.go_on(talk)?;
        if let Heard::Answer(answer) = heard {
            if answer == b"end" && digest.len() == size {
                return Ok(());
            }
            let expected = format!("{size} bytes and the end");
            let got = format!("{} bytes and {}", digest.len(), answer.escape_ascii());
            return Err(Broken::Peer { expected, got: got.into_bytes() });
        }
    }
}
