//! `wst receive`.

use std::path::Path;

use wetstring_drive::disk::{PathRule, ReceiveOptions, Reserve};
use wetstring_drive::{LineSpec, SinkStore};

use crate::args::Common;
use crate::args::line_arg::There;
use crate::args::transfer::Receive;
use crate::config::Settings;
use crate::config::protocol::Protocol;
use crate::transfer::datagrams::{self, Setup};
use crate::transfer::direction::Direction;
use crate::transfer::filter::Filter;
use crate::transfer::inbox::{self, receive_options};
use crate::transfer::job::Job;
use crate::transfer::limits::Limits;
use crate::transfer::setup::prepare;
use crate::transfer::speaks::{Speaks, may_resume};
use crate::transfer::store::FileStore;
use crate::transfer::terminal_hint;
use crate::ui::ending::{Ending, usage};
use crate::ui::output::{Level, Output};

/// What XMODEM does not transfer, for the receiver.
const NAMELESS_COMES: &str = "XMODEM sends neither name, length nor time of the file";

const NAMELESS_PADDED: &str =
    "; the padding of its last block stays (--truncate-pad on removes every trailing 1A)";

/// `wst receive`.
pub(crate) fn run(
    ui: &Output,
    common: &Common,
    verb: &Receive,
    settings: &[(String, String)],
) -> Result<Ending, Ending> {
    let (mut all, spec) = prepare(
        common,
        settings,
        &verb.line,
        There::Sends(verb.transfer.protocol().map(|protocol| protocol.name)),
    )
    .map_err(usage)?;
    let protocol = verb.transfer.protocol();
    if protocol.is_some_and(|protocol| !protocol.tells_names) {
        if verb.name.is_none() && verb.output != Path::new("-") {
            let say = "expected --as NAME with XMODEM, which does not send the name of the file";
            return Err(usage(say.to_owned()));
        }
        let padding = if all.xymodem().truncate_pad { "" } else { NAMELESS_PADDED };
        ui.say(Level::Note, &format!("{NAMELESS_COMES}{padding}"));
    }
    let resumes = |(name, value): &(String, String)| name == "store.resume" && value != "never";
    if let Some(protocol) = protocol.filter(|_| settings.iter().any(resumes)) {
        may_resume(protocol)?;
    }
    if spec.has_datagrams() {
        if verb.transfer.code.is_some() && verb.sessions != 1 {
            let say = "expected --sessions 1 with --code, which accepts one peer";
            return Err(usage(say.to_owned()));
        }
        let open = || file_store(common, verb, &all, &spec);
        let kind = verb.text.then_some("--text");
        let job =
            Setup { ui, common, transfer: &verb.transfer, all: all.clone(), spec: spec.clone() };
        return datagrams::receive(job, (verb.sessions, verb.yes), &open, kind);
    }
    verb.transfer.only_keys(&spec)?;
    let file_store = file_store(common, verb, &all, &spec)?;
    terminal_hint::say(ui, Direction::Receive, protocol, &all, &spec);
    let speaks = match spec {
        LineSpec::Ncp(_) => Speaks::Ncp,
        _ => protocol.map_or(Speaks::KermitOrZmodem, Speaks::One),
    };
    let told = if verb.text { Some(true) } else { verb.binary.then_some(false) };
    all.zmodem_mut().receive_binary |= verb.binary;
    // Kermit's engines convert text themselves.
    let converts = speaks != Speaks::One(Protocol::default());
    let filter = Filter { text: told.filter(|_| converts), ..Filter::default() };
    let limits = Limits::default();
    let unnamed =
        verb.name.as_ref().map(|name| name.as_encoded_bytes().to_vec()).unwrap_or_default();
    Job {
        ui,
        common,
        direction: Direction::Receive,
        speaks,
        all,
        spec,
        file_store,
        filter,
        limits,
        unnamed,
        explain: verb.transfer.explain,
        pcap: verb.transfer.pcap.clone(),
        looks_out: true,
    }
    .run()
}

/// The store of received files.
fn file_store(
    common: &Common,
    verb: &Receive,
    all: &Settings,
    spec: &LineSpec,
) -> Result<FileStore, Ending> {
    Ok(if verb.output == Path::new("-") {
        if *spec == LineSpec::Stdio {
            return Err(usage("stdout cannot be both the output and the line".to_owned()));
        }
        if common.json {
            return Err(usage("stdout cannot be both the output and the JSON".to_owned()));
        }
        FileStore::Stream(SinkStore::new(std::io::stdout()))
    } else {
        let options = ReceiveOptions {
            paths: if verb.paths { PathRule::Relative } else { PathRule::LastOnly },
            name: verb.name.as_ref().map(|name| name.as_encoded_bytes().to_vec()),
            // Without encryption anybody may send an OPEN.
            reserve: if spec.has_datagrams() && verb.transfer.plain {
                Reserve::WithData
            } else {
                Reserve::Offered
            },
            ..receive_options(all)
        };
        FileStore::Disk(Box::new(inbox::receiving(&verb.output, options)?))
    })
}
