//! The settings and the line of a transfer, from the file, its profiles and the flags.

use std::ffi::OsStr;
use std::path::Path;

use wetstring_drive::LineSpec;
use wetstring_drive::port::is_symbolic;

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
        // @new and @latest are ports, unless a profile has the name.
        Some(name) if is_port(line) && !file.profiles().iter().any(|known| known == name) => {
            (line.to_owned(), None)
        }
        Some(name) => (file.line(name)?, Some(name)),
        None => (line.to_owned(), None),
    };
    let mut all = Settings::default();
    file.apply(&mut all, common.profile.as_deref().or(by_line))?;
    all.set_all(settings, "command line")?;
    let spec = line_arg::line(&text, there)?;
    Ok((all, spec))
}

/// Whether this is one of the names of ports, with settings or without.
fn is_port(line: &str) -> bool {
    line.split('?').next().is_some_and(|name| is_symbolic(Path::new(name)))
}
