//! The command lines of `wst get`, `wst put` and `wst remote`.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::Args;
use wetstring_drive::shell::Stages;
use wetstring_proto::{FileKind, choice};

use super::line_arg::is_line;
use super::selection::Selection;
use super::session::word;

/// The commands, with their arguments, for the help.
pub(crate) const REMOTE_COMMANDS: &str = "\
Commands:
  cd [DIR]              change the server's directory (for this connection)
  pwd                   its directory
  directory [FILES]     list files, as a table
  type FILES            show files
  delete FILES          delete files
  rename FROM TO        rename a file
  copy FROM TO          copy a file
  mkdir DIR, rmdir DIR  make, remove a directory
  space                 free space
  who [USER]            who is logged in
  status, help          how it goes; what the server does
  set NAME VALUE        a setting: collision, incomplete, file-type, file-names, block-check,
                        packet-length, window, timeout, retries, server-timeout, attributes,
                        match-dot-files, transfer-mode, or a number
  query [KIND] NAME     a variable; KIND is kermit (default), system or global
  assign NAME VALUE     set a variable
  message TEXT          send a message to the operator of the server
  host COMMAND          run a command of the host
  kermit COMMAND        run a command of the server's own language
  finish, bye, exit     end the server; the connection; the program";

/// Flags that a shell has no use for.
const OF_A_SERVER: [&str; 5] = ["user", "directory", "resume", "recursive", "text"];
/// And those of `put`, besides.
const OF_TREES: [&str; 3] = ["exclude", "copy_links", "dry_run"];

/// How to log in to a server.
#[derive(Args, Debug)]
pub(crate) struct Access {
    /// Log in as this user; the password is taken from WETSTRING_PASSWORD, or asked for
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<OsString>,
    /// Change to this directory of the server first
    #[arg(long = "cd", value_name = "DIR")]
    pub(crate) directory: Option<OsString>,
    /// Set any setting by its name, such as kermit.window=31 (see `wst show`)
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) sets: Vec<String>,
}

/// How files are transferred between a server and here.
#[derive(Args, Debug)]
pub(crate) struct FileOptions {
    /// Resume an interrupted transfer of the same file
    #[arg(long, alias = "recover")]
    pub(crate) resume: bool,
    /// Delete each source file once the receiver has all of it
    #[arg(long)]
    pub(crate) delete: bool,
    /// Include directories and everything below them
    #[arg(short, long)]
    pub(crate) recursive: bool,
    /// Text: convert line ends to those of the receiver
    #[arg(long, conflicts_with = "binary")]
    pub(crate) text: bool,
    /// Binary: send bytes unchanged
    #[arg(long)]
    pub(crate) binary: bool,
}

impl FileOptions {
    /// Text or binary, if a flag chooses.
    pub(crate) fn kind(&self) -> Option<FileKind> {
        if self.text { Some(FileKind::Text) } else { self.binary.then_some(FileKind::Binary) }
    }
}

/// Whether a receiver or sender of ours goes to a shell first.
#[derive(Args, Debug)]
pub(crate) struct StagesOptions {
    /// Send wst-mini to the shell first, which speaks Kermit: if that is faster, never, or for every file
    #[arg(long, value_name = "WHEN", default_value = "auto", requires = "shell",
          value_parser = word::<When>())]
    pub(crate) stages: When,
    /// The folder with wst-mini for each processor, as PROCESSOR/wst-mini
    #[arg(long, value_name = "DIR", requires = "shell")]
    pub(crate) mini: Option<PathBuf>,
}

choice! {
    /// When wst-mini goes first.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub(crate) enum When {
        /// If that is faster.
        Auto = "auto",
        /// Never.
        One = "one",
        /// For every file.
        Two = "two",
    }
}

impl StagesOptions {
    /// When it does.
    pub(crate) fn when(&self) -> Stages {
        match self.stages {
            When::Auto => Stages::Auto,
            When::One => Stages::One,
            When::Two => Stages::Two,
        }
    }
}

/// `wst get`.
#[derive(Args, Debug)]
#[command(override_usage = "wst get [OPTIONS] NAME... LINE")]
pub(crate) struct Get {
    /// Files at the server (which expands wildcards), and last the line to the server
    #[arg(required = true, value_name = "NAME... LINE")]
    pub(super) things: Vec<OsString>,
    /// Directory to put them into
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    pub(crate) output: PathBuf,
    /// The line leads to a shell that has no sender: its own tools encode the files
    #[arg(long, conflicts_with_all = OF_A_SERVER)]
    pub(crate) shell: bool,
    /// What goes to a shell first.
    #[command(flatten)]
    pub(crate) stages: StagesOptions,
    /// How the files are transferred.
    #[command(flatten)]
    pub(crate) options: FileOptions,
    /// How to log in.
    #[command(flatten)]
    pub(crate) access: Access,
}

/// `wst put`.
#[derive(Args, Debug)]
#[command(override_usage = "wst put [OPTIONS] FILE... LINE")]
pub(crate) struct Put {
    /// Local files, and last the line to the server
    #[arg(required = true, value_name = "FILE... LINE")]
    pub(super) things: Vec<OsString>,
    /// The line leads to a shell that has no receiver: its own tools decode the files
    #[arg(long, conflicts_with_all = OF_A_SERVER.into_iter().chain(OF_TREES))]
    pub(crate) shell: bool,
    /// Path of the file at the shell, if not its name in the current directory there
    #[arg(long = "as", value_name = "PATH", requires = "shell")]
    pub(crate) name: Option<OsString>,
    /// Replace files that are at the shell already
    #[arg(long, requires = "shell")]
    pub(crate) overwrite: bool,
    /// What goes to a shell first.
    #[command(flatten)]
    pub(crate) stages: StagesOptions,
    /// How the files are transferred.
    #[command(flatten)]
    pub(crate) options: FileOptions,
    /// Which files below directories.
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// How to log in.
    #[command(flatten)]
    pub(crate) access: Access,
}

/// `wst remote`.
#[derive(Args, Debug)]
#[command(after_help = REMOTE_COMMANDS)]
pub(crate) struct Remote {
    /// The line to the server
    pub(crate) line: OsString,
    /// The command
    #[arg(required = true, value_name = "COMMAND")]
    pub(crate) words: Vec<OsString>,
    /// How to log in.
    #[command(flatten)]
    pub(crate) access: Access,
}

impl Get {
    /// The names, and the line.
    pub(crate) fn names_and_line(&self) -> (&[OsString], &OsStr) {
        of_a_server(&self.things)
    }
}

impl Put {
    /// The files, and the line.
    pub(crate) fn files_and_line(&self) -> (&[OsString], &OsStr) {
        of_a_server(&self.things)
    }
}

/// The line comes last, as for `wst send`; first, as it once was, if only the first is one.
fn of_a_server(things: &[OsString]) -> (&[OsString], &OsStr) {
    match things {
        [line, .., last] if is_line(line) && !is_line(last) => (&things[1..], line),
        [names @ .., line] => (names, line),
        [] => (&[], OsStr::new("")),
    }
}
