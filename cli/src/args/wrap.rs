//! The command line of the wrapper.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::session::{Autodownload, LogFormat, word};

/// `wst wrap`, `wst -- COMMAND`, `wst ssh`.
#[derive(Args, Debug)]
#[command(
    after_help = "Written shorter: wst -- COMMAND, and wst ssh HOST for wst wrap -- ssh HOST. Every key is the \
    command's, unless --escape says otherwise; the exit code is the command's, 128 and more if a signal ended it."
)]
pub(crate) struct Wrap {
    /// The command and its arguments
    #[arg(
        value_name = "COMMAND",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub(crate) command: Vec<OsString>,
    /// Transfers that the other side starts (sz, rz, kermit, tsz, trz): ask once, receive, or show their bytes
    #[arg(long, value_name = "WHETHER", default_value = "ask", value_parser = word::<Autodownload>())]
    pub(crate) autodownload: Autodownload,
    /// Store received files in this directory
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    pub(crate) output: PathBuf,
    /// An escape key, with the keys of wst connect behind it: ctrl-t, ^], a code
    #[arg(long, value_name = "KEY", default_value = "none")]
    pub(crate) escape: String,
    /// Write what shows to a file
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// Format of the log: plain has no control sequences, asciicast is for `asciinema play`
    #[arg(long, value_name = "FORMAT", default_value = "plain",
          value_parser = word::<LogFormat>())]
    pub(crate) log_format: LogFormat,
    /// Set any setting by its name, such as kermit.window=31 (see `wst show`)
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) sets: Vec<String>,
}

/// The command line with the short forms written out: `wst -- COMMAND`, `wst ssh HOST`.
pub(super) fn written_out(args: &[OsString]) -> Option<Vec<OsString>> {
    let [program, first, rest @ ..] = args else { return None };
    let words: Vec<_> = args[1..].iter().map(|word| word.to_str().unwrap_or_default()).collect();
    if let ["ssh", "--help" | "-h"] | ["help", "ssh"] = words[..] {
        return Some(vec![program.clone(), "wrap".into(), "--help".into()]);
    }
    let command: &[OsString] = match first.to_str() {
        Some("--") => rest,
        Some("ssh") => &args[1..],
        _ => return None,
    };
    let head = [program.clone(), "wrap".into(), "--".into()];
    Some(head.into_iter().chain(command.iter().cloned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_forms_are_written_out() {
        let out = |line: &str| {
            let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            written_out(&args).map(|args| args.join(&OsString::from(" ")).into_string().unwrap())
        };
        assert_eq!(out("wst -- sh -c x").as_deref(), Some("wst wrap -- sh -c x"));
        assert_eq!(out("wst ssh -v box").as_deref(), Some("wst wrap -- ssh -v box"));
        assert_eq!(out("wst ssh --help").as_deref(), Some("wst wrap --help"));
        assert_eq!(out("wst help ssh").as_deref(), Some("wst wrap --help"));
        assert_eq!(out("wst send -- ssh"), None);
        assert_eq!(out("wst"), None);
    }
}
