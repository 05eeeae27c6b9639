//! The command line of `wst connect`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::session::{Autodownload, LogFormat, Stamps, Writers, word};
use super::slip::time;

const SHOWS: &str = "What shows";
const LOGS: &str = "Log";
const ENDS: &str = "The end";
const SHARES: &str = "Sharing";

/// `wst connect`.
#[derive(Args, Debug)]
#[command(
    after_help = "Keys behind the escape key, Ctrl-T unless told otherwise (Ctrl-T ? lists them): q quits, s sends \
    and r receives files, u uploads to a shell, x runs a script, b sends a break, d and f change DTR and RTS, = sets the rate, e echoes, \
    h shows hexadecimal, t timestamps, l logs. The escape key twice sends it."
)]
pub(crate) struct Connect {
    /// The line; a serial port may also be usb:SERIAL-NUMBER, @latest or @new (see `wst ports`)
    #[arg(value_name = "LINE")]
    pub(crate) line: OsString,

    /// The escape key: ctrl-t, ^], a code, or none
    #[arg(long, value_name = "KEY")]
    pub(crate) escape: Option<String>,
    /// The layout of the keys behind it; those of tio, picocom and minicom are for fingers that know them
    #[arg(long, value_name = "LAYOUT", default_value = "wst",
          value_parser = ["wst", "tio", "picocom", "minicom", "kermit"])]
    pub(crate) keys: String,
    /// Show typed characters at once
    #[arg(short, long, help_heading = SHOWS)]
    pub(crate) echo: bool,
    /// Change line ends: icrcrlf, ilfcrlf of what is received, ocrlf, ocrcrlf, olfcr, olfcrlf of typed text;
    /// odelbs swaps Backspace and Del; several with commas
    #[arg(short, long, value_name = "MAPS", default_value = "none", help_heading = SHOWS)]
    pub(crate) map: String,
    /// Show bytes in hexadecimal
    #[arg(long, help_heading = SHOWS)]
    pub(crate) hex: bool,
    /// Show a time before each line
    #[arg(short, long, value_name = "WHICH", num_args = 0..=1, require_equals = true, default_value = "off",
          default_missing_value = "absolute", help_heading = SHOWS, value_parser = word::<Stamps>())]
    pub(crate) timestamps: Stamps,

    /// Write what is received to a file; text is appended
    #[arg(long, value_name = "FILE", help_heading = LOGS)]
    pub(crate) log: Option<PathBuf>,
    /// Format of the log: plain has no control sequences, asciicast is for `asciinema play`
    #[arg(long, value_name = "FORMAT", default_value = "plain", help_heading = LOGS,
          value_parser = word::<LogFormat>())]
    pub(crate) log_format: LogFormat,

    /// End when this regular expression is received
    #[arg(long, value_name = "PATTERN", help_heading = ENDS)]
    pub(crate) until: Option<String>,
    /// End after this much silence of the line; exit code 7 if --until has not come [default: none; 1s after the
    /// end of input from a pipe]
    #[arg(long, value_name = "TIME", help_heading = ENDS, value_parser = time)]
    pub(crate) idle: Option<Duration>,
    /// Fail if the port is not plugged in, and end when it is plugged out
    #[arg(long, help_heading = ENDS)]
    pub(crate) no_wait: bool,

    /// Let other programs take part, at a Unix socket (a path) or at HOST:PORT
    #[arg(long, value_name = "SOCKET", help_heading = SHARES)]
    pub(crate) share: Option<String>,
    /// Which of them may write: one at a time, all, or none
    #[arg(long, value_name = "WHO", default_value = "one", value_parser = word::<Writers>(),
          help_heading = SHARES)]
    pub(crate) share_write: Writers,

    /// Transfers that the peer starts (sz, rz, kermit, U-Boot's loady): ask once, receive, or show their bytes
    #[arg(long, value_name = "WHETHER", default_value = "ask", value_parser = word::<Autodownload>())]
    pub(crate) autodownload: Autodownload,
    /// Store received files in this directory
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    pub(crate) output: PathBuf,
    /// Set any setting by its name, such as kermit.window=31 (see `wst show`)
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) sets: Vec<String>,
}
