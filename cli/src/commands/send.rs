//! `wst send`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use wetstring_proto::kermit::Names;
use wetstring_proto::{kermit, uucp, xymodem};

use wetstring_drive::LineSpec;
use wetstring_drive::disk::{DiskStore, SendOptions, Source};
use wetstring_proto::FileKind;

use crate::args::Common;
use crate::args::line_arg::{self, There};
use crate::args::transfer::Send;
use crate::config::protocol::Protocol;
use crate::config::{Settings, device};
use crate::transfer::datagrams::{self, Setup};
use crate::transfer::device::{self as by_profile, Device};
use crate::transfer::direction::Direction;
use crate::transfer::filter::Filter;
use crate::transfer::gather::readable;
use crate::transfer::inbox::{self, receive_options};
use crate::transfer::job::Job;
use crate::transfer::limits::Limits;
use crate::transfer::outgoing::{self, outbox};
use crate::transfer::setup::prepare;
use crate::transfer::speaks::{Speaks, may_resume};
use crate::transfer::store::FileStore;
use crate::transfer::terminal_hint;
use crate::ui::ending::{Ending, usage};
use crate::ui::exit::Exit;
use crate::ui::output::{Level, Output};

/// What XMODEM does not transfer, for the sender.
const NAMELESS_SENT: &str = "XMODEM sends neither name, length nor time; \
     its last block is padded with 1A";

/// `wst send`.
pub(crate) fn run(
    ui: &Output,
    common: &Common,
    verb: &Send,
    settings: &[(String, String)],
) -> Result<Ending, Ending> {
    let (files, line) = verb.files_and_line().unwrap_or_default();
    let there = there(verb, line)?;
    if let Some(named) = line_arg::device(line) {
        return to_device((ui, common), verb, settings, (&files, named));
    }
    if !verb.vars.is_empty() {
        return Err(usage("expected a device such as @uboot:LINE with --var".to_owned()));
    }
    let (mut all, spec) = prepare(common, settings, line, there)
        .map_err(|say| usage(line_arg::swapped("send", &files, line).unwrap_or(say)))?;
    let is_ncp = matches!(spec, LineSpec::Ncp(_));
    let stream = !spec.has_datagrams() && !is_ncp;
    let protocol = verb.transfer.protocol().unwrap_or_default();
    let nameless = is_ncp || stream && !protocol.tells_names;
    let tree = (nameless, stream && has_entries(protocol, &all));
    links_can_be_sent(verb, tree.1)?;
    let sources = sources(ui, verb, (&files, line), &spec, tree)?;
    if verb.resume && stream {
        may_resume(protocol)?;
    }
    let options = options(verb, stream && protocol.is::<kermit::Config>(), &all);
    if verb.selection.dry_run {
        return Ok(outgoing::planned(ui, sources, options));
    }
    let count = sources.len();
    let disk = outbox(ui, sources, options);
    let both_ways = stream && protocol.is::<uucp::Config>();
    let disk = and_taking(disk, verb.output.as_deref(), both_ways, &mut all)?;
    if spec.has_datagrams() {
        let file_store = FileStore::Disk(Box::new(disk));
        let kind = verb.text.then_some("--text");
        let ours = Setup { ui, common, transfer: &verb.transfer, all, spec };
        return datagrams::send(ours, file_store, kind);
    }
    verb.transfer.only_keys(&spec)?;
    not_of_1973(verb.resume && is_ncp)?;
    if !protocol.tells_names && !is_ncp {
        if count > 1 {
            return Err(usage("expected one file with XMODEM, got several".to_owned()));
        }
        ui.say(Level::Note, NAMELESS_SENT);
    }
    terminal_hint::say(ui, Direction::Send, Some(protocol), &all, &spec);
    let file_store = FileStore::Disk(Box::new(disk));
    let speaks = if is_ncp { Speaks::Ncp } else { Speaks::One(protocol) };
    let filter =
        Filter { expand: verb.text && protocol.is::<xymodem::Config>(), ..Filter::default() };
    Job {
        ui,
        common,
        direction: Direction::Send,
        speaks,
        all,
        spec,
        file_store,
        filter,
        limits: Limits::default(),
        unnamed: Vec::new(),
        explain: verb.transfer.explain,
        pcap: verb.transfer.pcap.clone(),
        looks_out: true,
    }
    .run()
}

/// What runs at the host of an `ssh://` line.
fn there<'a>(verb: &'a Send, line: &OsStr) -> Result<There<'a>, Ending> {
    let collision = verb.collision.as_deref();
    if collision.is_some() && !line.as_encoded_bytes().starts_with(b"ssh://") {
        let say = "expected --collision with an ssh:// line: elsewhere it is a flag of wst receive";
        return Err(usage(say.to_owned()));
    }
    let protocol = verb.transfer.protocol().map(|protocol| protocol.name);
    Ok(There::Receives { protocol, links: verb.selection.links, collision })
}

/// Refuses links that are asked for where the protocol has none.
fn links_can_be_sent(verb: &Send, has_entries: bool) -> Result<(), Ending> {
    if verb.selection.links && !has_entries {
        let say =
            "expected no --links: only Kermit sends links as such, unless its names are converted";
        return Err(usage(say.to_owned()));
    }
    Ok(())
}

/// Refuses to resume by the FTP of the ARPANET.
fn not_of_1973(resumes: bool) -> Result<(), Ending> {
    if resumes {
        let say = "expected no --resume: the FTP of 1973 can restart a file only to retrieve it";
        return Err(usage(say.to_owned()));
    }
    Ok(())
}

/// How files are sent.
fn options(verb: &Send, kermit: bool, all: &Settings) -> SendOptions {
    SendOptions {
        paths: verb.paths,
        kind: if verb.text { FileKind::Text } else { FileKind::Binary },
        resume: verb.resume,
        common_names: kermit && all.kermit().names == Names::Converted,
        ..SendOptions::default()
    }
}

/// Sends a file to a device by its profile.
fn to_device(
    (ui, common): (&Output, &Common),
    verb: &Send,
    settings: &[(String, String)],
    (files, (name, line)): (&[PathBuf], (&str, &str)),
) -> Result<Ending, Ending> {
    let profile = device::named(name).map_err(usage)?;
    let (settings, spec) =
        prepare(common, settings, OsStr::new(line), There::Talks).map_err(usage)?;
    if spec.has_datagrams() || matches!(spec, LineSpec::Stdio | LineSpec::Ncp(_)) {
        return Err(usage(format!("expected a line of bytes for a device, got {spec}")));
    }
    let flags = [
        (verb.text, "--text"),
        (verb.resume, "--resume"),
        (verb.name.is_some(), "--as"),
        (verb.output.is_some(), "--output"),
        (verb.selection.dry_run, "--dry-run"),
    ];
    if let Some((_, flag)) = flags.iter().find(|(is, _)| *is) {
        return Err(usage(format!("expected no {flag} with the device {name}")));
    }
    let [file] = files else {
        return Err(usage(format!("expected one file for the device {name}, got several")));
    };
    if !file.is_file() {
        readable(file).map_err(|say| Ending::early(Exit::Store, say))?;
        return Err(usage(format!(
            "expected a file for the device {name}, got {}",
            file.display()
        )));
    }
    let vars = by_profile::vars(&profile.vars, &verb.vars).map_err(usage)?;
    let transfer = &verb.transfer;
    let (explain, pcap) = (transfer.explain, transfer.pcap.clone());
    let protocol = transfer.protocol();
    let wanted = Device { profile, vars, protocol, settings, spec, explain, pcap };
    by_profile::send((ui, common), wanted, file)
}

/// A store that also receives what the peer has for us, if requested.
fn and_taking(
    disk: DiskStore,
    output: Option<&Path>,
    both_ways: bool,
    all: &mut Settings,
) -> Result<DiskStore, Ending> {
    let Some(directory) = output else { return Ok(disk) };
    if !both_ways {
        let say = "expected -P uucp-g with --output: only a UUCP call goes both ways";
        return Err(usage(say.to_owned()));
    }
    all.uucp_mut().takes = true;
    inbox::make(directory)?;
    disk.and_receiving(directory, receive_options(all)).map_err(|e| inbox::no_place(directory, &e))
}

/// Whether directories and links can be sent. Flattened names have no place for them, and links would lead elsewhere.
fn has_entries(protocol: Protocol, all: &Settings) -> bool {
    protocol.is::<kermit::Config>() && all.kermit().names != Names::Converted
}

/// The files to send. An unreadable one is reported before the line is opened. `single`: only
/// one file, and no directory.
fn sources(
    ui: &Output,
    verb: &Send,
    (files, line): (&[PathBuf], &OsStr),
    spec: &LineSpec,
    (single, has_entries): (bool, bool),
) -> Result<Vec<Source>, Ending> {
    // The receiver keeps directories.
    let keeps = line.as_encoded_bytes().starts_with(b"ssh://");
    let tree = (keeps, has_entries);
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
                usage("expected --as NAME, to name the data from stdin".to_owned())
            })?;
            all.push(Source::stdin(name.as_encoded_bytes()));
        } else if single || verb.name.is_some() {
            readable(path).map_err(|say| Ending::early(Exit::Store, say))?;
            all.push(Source::path(path));
        } else {
            all.extend(outgoing::sources(ui, path, tree, &verb.selection)?);
        }
    }
    if let (Some(name), [one]) = (&verb.name, &mut all[..]) {
        *one = one.clone().named(name.as_encoded_bytes());
    }
    if all.is_empty() {
        let what = if verb.selection.exclude.is_empty() {
            "expected a file, got directories without files, which only Kermit sends"
        } else {
            "expected a file, all are excluded"
        };
        return Err(Ending::early(Exit::Store, what));
    }
    Ok(all)
}
