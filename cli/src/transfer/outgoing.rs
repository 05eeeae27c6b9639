//! The files that the user names: a directory stands for everything below it.

use std::path::{Path, PathBuf};

use wetstring_drive::disk::{DiskStore, FileOutcome, FileRecord, Origin, SendOptions, Source};
use wetstring_events::Event;
use wetstring_proto::Entry;

use super::gather::Gathered;
use super::observer::entry_kind;
use crate::args::selection::Selection;
use crate::ui::ending::Ending;
use crate::ui::exit::Exit;
use crate::ui::format::{count, escaped, shown, size};
use crate::ui::output::{Level, Output};

/// A file, or with their directories all files below a directory. An unreadable one is reported
/// before the line is opened. `keeps`: the receiver is asked to keep directories. `has_entries`: it
/// may take empty ones, and links.
pub(crate) fn sources(
    ui: &Output,
    path: &Path,
    (keeps, has_entries): (bool, bool),
    which: &Selection,
) -> Result<Vec<Source>, Ending> {
    let mut gathered = Gathered::new(has_entries);
    if !path.is_dir() {
        if which.takes(path.file_name().map_or(path, Path::new), false) {
            gathered.add(path, path, which)?;
        }
        return Ok(gathered.files.iter().map(Source::path).collect());
    }
    // A named link is followed, one below a directory only if asked for; `.` and `..` are resolved to their names.
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let title = whole.file_name().map_or_else(PathBuf::new, PathBuf::from);
    gathered.add(&whole, &whole, which)?;
    let shown = shown(path.as_os_str());
    if let Some(left_out) = gathered.left_out() {
        ui.say(Level::Note, &format!("{shown}: {left_out}"));
    }
    let hint = if keeps { "" } else { "; wst receive -r keeps their directories" };
    let say = format!("{shown}: {}{hint}", count(gathered.files.len() as u64, "file"));
    if !gathered.files.is_empty() && !which.dry_run {
        ui.say(Level::Note, &say);
    }
    let named = |path: &Path| {
        let name = match path.strip_prefix(&whole) {
            Ok(below) if below.as_os_str().is_empty() => title.clone(),
            below => title.join(below.unwrap_or(path)),
        };
        Source::path(path).named(name.as_os_str().as_encoded_bytes())
    };
    let entries = |paths: &[PathBuf], entry| -> Vec<Source> {
        paths.iter().map(|path| named(path).as_entry(entry)).collect()
    };
    // A directory comes before its files, which would make it otherwise.
    let mut all = entries(&gathered.directories, Entry::Directory);
    all.extend(gathered.files.iter().map(|file| named(file)));
    all.extend(entries(&gathered.links_sent, Entry::Link));
    Ok(all)
}

/// Where the files are; stdin is nowhere.
fn paths(sources: &[Source]) -> Vec<Option<PathBuf>> {
    let path = |source: &Source| match &source.from {
        Origin::Path(path) => Some(path.clone()),
        Origin::Stdin => None,
    };
    sources.iter().map(path).collect()
}

/// Prints what would be sent by `--dry-run`, under the names that the peer would see.
pub(crate) fn planned(ui: &Output, sources: Vec<Source>, options: SendOptions) -> Ending {
    let paths = paths(&sources);
    let entries: Vec<Entry> = sources.iter().map(|source| source.entry).collect();
    let disk = outbox(ui, sources, options);
    let mut bytes = 0;
    let names = disk.unasked();
    for ((name, path), entry) in names.iter().zip(&paths).zip(&entries) {
        let metadata = path.as_ref().and_then(|path| std::fs::metadata(path).ok());
        let len = metadata.filter(std::fs::Metadata::is_file).map(|metadata| metadata.len());
        bytes += len.unwrap_or(0);
        let unknown = match entry {
            Entry::Directory => "directory",
            Entry::Link => "symbolic link",
            _ => "unknown",
        };
        let len = len.filter(|_| *entry == Entry::File);
        let (name, shown) = (escaped(name), len.map_or_else(|| unknown.to_owned(), size));
        if !ui.has_json() {
            ui.print(&format!("{name}: {shown}\n"));
        }
        let path = path.as_ref().map(|path| escaped(path.as_os_str().as_encoded_bytes()));
        ui.event(Event::Planned { path, name, size: len, entry: entry_kind(*entry) });
    }
    let of = |kind: Entry| entries.iter().filter(|entry| **entry == kind).count() as u64;
    let others = [
        (Entry::Directory, "directory", "directories"),
        (Entry::Link, "symbolic link", "symbolic links"),
    ];
    let others = others.map(|(kind, one, many)| match of(kind) {
        0 => String::new(),
        1 => format!(", 1 {one}"),
        n => format!(", {n} {many}"),
    });
    let all = count(of(Entry::File), "file") + &others.concat();
    Ending::early(Exit::Done, format!("would send {all}, {}; nothing was sent", size(bytes)))
}

/// Deletes sent files that have not changed since; returns the number of others.
pub(crate) fn delete_sent(ui: &Output, files: &[FileRecord], who: &str) -> u64 {
    let mut kept = 0;
    for file in files.iter().filter(|file| file.outcome == FileOutcome::Sent) {
        let Some(path) = &file.path else { continue };
        if let Err(why) = file.delete_sent() {
            let name = shown(path.as_os_str());
            ui.say(Level::Error, &format!("{who}: {name}: sent and not deleted: {why}"));
            kept += 1;
        }
    }
    kept
}

/// A store that sends these files. Renamed ones are reported.
pub(crate) fn outbox(ui: &Output, sources: Vec<Source>, options: SendOptions) -> DiskStore {
    let paths = paths(&sources);
    let store = DiskStore::sending(sources, options);
    for renamed in store.renamed() {
        let path = paths[renamed.index]
            .as_ref()
            .map_or(b"stdin".as_slice(), |p| p.as_os_str().as_encoded_bytes());
        let (path, own, wire) = (escaped(path), escaped(&renamed.own), escaped(&renamed.wire));
        ui.say(
            Level::Note,
            &format!("{path} is sent as {wire}: another file of this batch is called {own}"),
        );
        ui.event(Event::Renamed { path, own, name: wire });
    }
    store
}
