//! The files that a person names: a directory stands for all that is below it.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use wetstring_drive::disk::{FileOutcome, FileRecord, Source};

use crate::client::gather;
use crate::transfer::{Ending, readable};
use crate::words::{count, escaped};
use crate::{Exit, Level, Voice};

/// A file, or with their directories all files below a directory. One that cannot be read is found out
/// before the line is opened. `keeps`: the receiver is told to keep directories.
pub(crate) fn sources(voice: &Voice, path: &Path, keeps: bool) -> Result<Vec<Source>, Ending> {
    if !path.is_dir() {
        readable(path).map_err(|say| Ending::early(Exit::Store, say))?;
        return Ok(vec![Source::path(path)]);
    }
    // A link that was named is followed, one below is not; `.` and `..` have names of their own.
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let title = whole.file_name().map_or_else(PathBuf::new, PathBuf::from);
    let mut files = Vec::new();
    gather(&whole, true, &mut files)?;
    let shown = escaped(path.as_os_str().as_bytes());
    let hint = if keeps { "" } else { "; a wst there keeps their directories with receive -r" };
    let say = format!("{shown}: {}{hint}", count(files.len() as u64, "file"));
    if !files.is_empty() {
        voice.say(Level::Note, &say);
    }
    let named = files.into_iter().map(|file| {
        let below = file.strip_prefix(&whole).unwrap_or(&file);
        let name = title.join(below);
        Source::path(&file).named(name.as_os_str().as_bytes())
    });
    Ok(named.collect())
}

/// Deletes the files that were sent and are as they were sent; how many others there are.
pub(crate) fn delete_sent(voice: &Voice, files: &[FileRecord], who: &str) -> u64 {
    let mut kept = 0;
    for file in files.iter().filter(|file| file.outcome == FileOutcome::Sent) {
        let Some(path) = &file.path else { continue };
        if let Err(why) = file.delete_sent() {
            let name = escaped(path.as_os_str().as_bytes());
            voice.say(Level::Error, &format!("{who}: {name}: sent and not deleted: {why}"));
            kept += 1;
        }
    }
    kept
}
