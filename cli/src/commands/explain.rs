//! `wst explain`: where the time of a transfer went, from its trace.

use std::io::Read as _;
use std::path::Path;

use wetstring_drive::in_words;
use wetstring_lab::explain::{Account, BadTrace, anonymise};
use wetstring_lab::recording;

use crate::args::explain::Explain;
use crate::transfer::account::{advise, present};
use crate::ui::ending::Ending;
use crate::ui::exit::Exit;
use crate::ui::format::safe;
use crate::ui::output::Output;

/// Longest trace that is read, in bytes.
const MOST_BYTES: u64 = 1 << 30;

/// Reads a trace and reports where the time went.
pub(crate) fn run(ui: &Output, verb: &Explain) -> Result<Ending, Ending> {
    if let Some(more) = verb.more.first() {
        let more = more.display();
        let say = if verb.anonymise {
            format!("expected one trace, got {more}, too: --anonymise writes to stdout (> {more})")
        } else {
            format!("expected one trace, got {more}, too")
        };
        return Err(Ending::early(Exit::Usage, safe(say.as_bytes())));
    }
    let name = verb.trace.display();
    let text = read(&verb.trace).map_err(|error| {
        Ending::early(Exit::Store, format!("could not read {name}: {}", in_words(&error)))
    })?;
    let text = match recording::trace(&text) {
        Some(lines) => lines
            .map(|lines| lines.join("\n"))
            .map_err(|bad| Ending::early(Exit::Usage, safe(format!("{name}: {bad}").as_bytes())))?,
        None => String::from_utf8_lossy(&text).into_owned(),
    };
    let wrong =
        |bad: BadTrace| Ending::early(Exit::Usage, safe(format!("{name}: {bad}").as_bytes()));
    if verb.anonymise {
        if ui.has_json() {
            let say = "expected no --json with --anonymise, whose output is the trace";
            return Err(Ending::early(Exit::Usage, say));
        }
        crate::ui::output::print(&anonymise(text.lines()).map_err(wrong)?);
        return Ok(Ending::early(Exit::Done, ""));
    }
    // A character is ten bits on a line of eight bits, one start and one stop bit.
    let millicps = verb.rate.map(|bps| bps.saturating_mul(100));
    let account = Account::read(text.lines(), millicps).map_err(wrong)?;
    let advice = (!verb.no_replay).then(|| advise(&account));
    if let Some(path) = &verb.html {
        let command = "wst explain TRACE";
        let page = wetstring_lab::report::account_page(&account, advice.as_ref(), command);
        std::fs::write(path, page).map_err(|error| {
            let path = path.display();
            Ending::early(Exit::Store, format!("could not write {path}: {}", in_words(&error)))
        })?;
    }
    present(ui, &account, advice.as_ref());
    Ok(Ending::early(Exit::Done, ""))
}

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        std::io::stdin().lock().take(MOST_BYTES).read_to_end(&mut bytes)?;
    } else {
        std::fs::File::open(path)?.take(MOST_BYTES).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}
