//! The settings and the line of a transfer, from the file, its profiles and the flags.

use std::ffi::OsStr;

use wetstring_drive::LineSpec;

use crate::args::Common;
use crate::args::line_arg::{self, There};
use crate::config::{File, Settings};

/// The settings of the file and the flags, and the line they name.
pub(crate) fn prepare(
    common: &Common,
    settings: &[(String, String)],
    line: &OsStr,
    there: There<'_>,
) -> Result<(Settings, LineSpec), String> {
    let file = File::load()?;
    let line = line.to_str().ok_or("expected a line in UTF-8, got other bytes")?;
    let (text, by_line) = match line.strip_prefix('@') {
        Some(name) => (file.line(name)?, Some(name)),
        None => (line.to_owned(), None),
    };
    let mut all = Settings::default();
    file.apply(&mut all, common.profile.as_deref().or(by_line))?;
    all.set_all(settings, "command line")?;
    let spec = line_arg::line(&text, there)?;
    Ok((all, spec))
}
