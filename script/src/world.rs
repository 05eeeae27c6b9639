//! The interface to everything outside the language: console, clock, files, connection, transfers, settings.
//!
//! The language accesses nothing by itself. The program implements this with the real world, the laboratory in
//! virtual time, tests with one that records its calls.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::time::Duration;

use wetstring_proto::settings::Setting;

/// Why a call to the world failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// A message without a full stop: what was expected, what was found.
    pub text: String,
}

impl Fault {
    /// With this message.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into() }
    }

    /// Not supported in this world.
    pub fn absent(what: &str) -> Self {
        Self::new(format!("{what} is not supported"))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Fault {}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        // Users do not need the system's error number.
        let text = error.to_string();
        Self::new(text.split(" (os error").next().unwrap_or_default())
    }
}

/// Destination of text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Screen {
    /// Output of a script.
    Output,
    /// Errors.
    Error,
}

/// A time, and its UTC offset.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Moment {
    /// Nanoseconds since 1970, UTC.
    pub unix_ns: i64,
    /// UTC offset in seconds.
    pub offset_s: i32,
}

/// A question to the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Question {
    /// The prompt.
    pub prompt: Vec<u8>,
    /// Whether the answer is echoed.
    pub echo: bool,
    /// Timeout; indefinite if `None`.
    pub wait: Option<Duration>,
}

/// Attributes of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Facts {
    /// Bytes.
    pub len: u64,
    /// Seconds since 1970, UTC.
    pub modified_s: i64,
    /// Its kind.
    pub kind: Kind,
    /// Permission bits, such as 0o644.
    pub mode: u32,
    /// Whether we may read it.
    pub readable: bool,
    /// Whether we may write it.
    pub writeable: bool,
}

/// The kind of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A device, a pipe, a socket.
    Other,
}

/// How a file is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Mode {
    /// For reading.
    pub read: bool,
    /// For writing from the start; truncated unless it is also read.
    pub write: bool,
    /// For appending.
    pub append: bool,
}

/// An open file, or a pipe to or from a command.
pub trait Channel {
    /// Reads some bytes; 0 at the end.
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize>;
    /// Writes all of them.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Seeks.
    fn seek(&mut self, offset: u64) -> io::Result<()>;
    /// Flushes.
    fn flush(&mut self) -> io::Result<()>;
    /// Closes it; returns the status of the command if it is a pipe.
    fn close(self: Box<Self>) -> io::Result<Option<i32>>;
}

/// The file system. Names are in the user's form, relative to the current directory.
pub trait Files {
    /// Opens a file.
    fn open(&mut self, name: &[u8], mode: Mode) -> Result<Box<dyn Channel>, Fault>;
    /// Attributes of a name; with `follow`, of what a link leads to.
    fn facts(&mut self, name: &[u8], follow: bool) -> Option<Facts>;
    /// The names in a directory, without `.` and `..`, unsorted.
    fn list(&mut self, directory: &[u8]) -> Result<Vec<Vec<u8>>, Fault>;
    /// Renames a file.
    fn rename(&mut self, from: &[u8], to: &[u8]) -> Result<(), Fault>;
    /// Copies a file.
    fn copy(&mut self, from: &[u8], to: &[u8]) -> Result<(), Fault>;
    /// Deletes a file.
    fn delete(&mut self, name: &[u8]) -> Result<(), Fault>;
    /// Makes a directory.
    fn make_directory(&mut self, name: &[u8]) -> Result<(), Fault>;
    /// Removes an empty directory.
    fn remove_directory(&mut self, name: &[u8]) -> Result<(), Fault>;
    /// The current directory, absolute, without a slash at its end.
    fn directory(&mut self) -> Vec<u8>;
    /// Changes the current directory.
    fn change_directory(&mut self, to: &[u8]) -> Result<(), Fault>;
}

/// Input from the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Heard {
    /// A byte.
    Byte(u8),
    /// Timeout.
    Silence,
    /// The user wants to stop.
    Interrupted,
    /// There is no connection.
    Lost,
}

/// The target of a connection, as given to SET LINE and SET HOST.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Connection {
    /// A serial device.
    Line {
        /// Its name.
        device: Vec<u8>,
    },
    /// A network host, or any client that connects if the name is `*`.
    Host {
        /// Its name or address.
        host: Vec<u8>,
        /// A number or a service name; default Telnet's.
        port: Option<Vec<u8>>,
        /// The protocol over TCP.
        speaks: Speaks,
        /// Whether to become a server as soon as the connection is open.
        server: bool,
    },
    /// A program whose input and output are the line; in a PTY or not.
    Program {
        /// A shell command.
        command: Vec<u8>,
        /// Whether to run it in a PTY.
        terminal: bool,
    },
}

/// Protocols over TCP.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Speaks {
    /// By the port: Telnet on its own port, none elsewhere unless the peer begins.
    #[default]
    Unsaid,
    /// Raw.
    Raw,
    /// Telnet.
    Telnet,
    /// Telnet inside TLS.
    Tls,
}

/// Line signals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// BREAK, a quarter of a second.
    Break,
    /// BREAK, a second and a half.
    LongBreak,
}

/// Files to send.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sending {
    /// Names, wildcards already resolved.
    pub files: Vec<Vec<u8>>,
    /// The remote name of a single file.
    pub as_name: Option<Vec<u8>>,
    /// Text, binary, or by the settings.
    pub text: Option<bool>,
    /// Resume an earlier transfer.
    pub recover: bool,
    /// Delete each file that arrived.
    pub delete: bool,
    /// The files are those of a directory tree.
    pub recursive: bool,
    /// How much of their paths is sent; `None` follows SET SEND PATHNAMES, or relative names for a directory.
    pub paths: Option<Pathnames>,
    /// The files are mail or print jobs: `/MAIL:` or `/PRINT:` and its argument.
    pub disposition: Option<(char, Vec<u8>)>,
    /// Begin at this offset.
    pub start: u64,
    /// This many generated bytes instead of files.
    pub calibrate: Option<u64>,
}

/// Whether the user is asked before a file is stored: SET RECEIVE CONFIRM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Confirm {
    /// Never.
    Off,
    /// For files that were not requested.
    On,
    /// And for each file of a directory that was requested.
    All,
}

/// How much of a path is sent with a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pathnames {
    /// Its last component.
    Off,
    /// As given.
    Relative,
    /// The absolute path.
    Absolute,
}

/// Unrequested incoming files.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Receiving {
    /// The name for a single file.
    pub as_name: Option<Vec<u8>>,
    /// Whether to ask before files are stored, if the command has it.
    pub confirm: Option<Confirm>,
    /// Received data is counted and dropped.
    pub calibrate: bool,
}

/// A request to a server for files.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Getting {
    /// Remote names.
    pub files: Vec<Vec<u8>>,
    /// The local name of a single file.
    pub as_name: Option<Vec<u8>>,
    /// Text, binary, or as the server decides.
    pub text: Option<bool>,
    /// Resume the local file.
    pub recover: bool,
    /// The server deletes each file that arrived.
    pub delete: bool,
    /// With subdirectories.
    pub recursive: bool,
    /// Whether to ask before files are stored, if the command has it.
    pub confirm: Option<Confirm>,
    /// Received data is counted and dropped.
    pub calibrate: bool,
}

/// A request to a server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Remote {
    /// The REMOTE command, in lower case and in full.
    pub verb: String,
    /// Its arguments.
    pub arguments: Vec<Vec<u8>>,
}

/// A task for the part of the program that transfers files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Task {
    /// SEND and the like.
    Send(Sending),
    /// RECEIVE, with an optional name.
    Receive(Receiving),
    /// GET and the like.
    Get(Getting),
    /// RECEIVE, or GET of these names, with the files on stdout; no command of the language.
    ToStdout {
        /// Remote names, in the server's form.
        names: Option<Vec<u8>>,
    },
    /// REMOTE and FINISH, BYE, LOGOUT of a server.
    Remote(Remote),
    /// Be a server until a client ends it.
    Serve,
    /// CONNECT: the user talks to the peer.
    Terminal,
    /// TRANSMIT: a file, line by line.
    Transmit {
        /// Its name.
        file: Vec<u8>,
        /// With its line ends unchanged.
        binary: bool,
    },
    /// LOG: what to log, and where; no file ends it.
    Log {
        /// packets, session, transactions, debug, connections.
        what: String,
        /// A file.
        to: Option<Vec<u8>>,
        /// At its end.
        append: bool,
    },
    /// ENABLE or DISABLE a command of our server.
    Allow {
        /// The command, or `all`.
        what: String,
        /// For which clients.
        scope: Scope,
    },
    /// SET COMPATIBILITY: services are enabled as by default in that version of C-Kermit.
    AllowAsIn {
        /// 9, 10 or 11.
        version: u8,
    },
}

/// Which clients of our server a command is enabled for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// None.
    Disabled,
    /// Those on a connection that we opened.
    Local,
    /// Those that connected to us.
    Remote,
    /// All.
    Both,
}

/// Report of a transfer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Whether all arrived.
    pub done: bool,
    /// Whether any file was offered.
    pub begun: bool,
    /// The error, if any.
    pub message: String,
    /// Number of files transferred.
    pub files: u64,
    /// Bytes of all of them.
    pub bytes: u64,
    /// Bytes of the last one.
    pub last_bytes: u64,
    /// Name of the last one.
    pub name: Vec<u8>,
    /// From the first packet to the last.
    pub elapsed: Duration,
    /// Damaged packets received.
    pub damaged: u64,
    /// Timeouts.
    pub timeouts: u64,
    /// Retransmitted packets.
    pub repeated: u64,
    /// Whether streaming was used.
    pub streamed: bool,
    /// Negotiated window size.
    pub window: u32,
    /// Negotiated maximum packet length.
    pub packet_len: u32,
}

impl Report {
    /// Bytes per second, rounded down, as in \v(cps).
    pub fn cps(&self) -> u64 {
        let ns = self.elapsed.as_nanos().max(1);
        u64::try_from(u128::from(self.bytes) * 1_000_000_000 / ns).unwrap_or(u64::MAX)
    }
}

/// The result of a task.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Done {
    /// The report of a transfer.
    pub report: Option<Report>,
    /// A server's answer.
    pub text: Vec<u8>,
    /// A client's request to our server was refused.
    pub refused: bool,
    /// The program should end: a client sent EXIT, or the user chose it at CONNECT.
    pub over: bool,
}

/// A shell command's result.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ran {
    /// Its exit code.
    pub status: i32,
    /// Its output, if captured.
    pub output: Vec<u8>,
}

/// Settings of the language that are not in the program's table, by name.
pub type Kept = BTreeMap<String, Vec<u8>>;

/// Everything outside. Methods that a world does not support can be left out: they return a fault.
pub trait World {
    /// Shows text.
    fn say(&mut self, to: Screen, text: &[u8]);
    /// Asks the user for a line, without its end; nothing if there is no user, or at end of input.
    fn ask(&mut self, question: &Question) -> Option<Vec<u8>>;
    /// Waits for one key.
    fn key(&mut self, wait: Option<Duration>) -> Option<u8>;
    /// The current time.
    fn now(&mut self) -> Moment;
    /// The UTC offset at another time, in seconds since 1970.
    fn offset_at(&mut self, _unix_s: i64) -> i32 {
        self.now().offset_s
    }
    /// Waits; returns whether a key ended it, if allowed.
    fn pause(&mut self, time: Duration, keys: bool) -> bool;
    /// A random number.
    fn random(&mut self) -> u64;
    /// An environment variable.
    fn environment(&mut self, name: &[u8]) -> Option<Vec<u8>>;
    /// A built-in variable provided by the world: `host`, `userid`, `home`, `tmpdir`, `pid`, `osname`,
    /// `platform`, `cpu`, `terminal`, `line`, `speed`.
    fn fact(&mut self, name: &str) -> Option<Vec<u8>>;
    /// Whether the user wants to stop the script.
    fn interrupted(&mut self) -> bool {
        false
    }
    /// The files.
    fn files(&mut self) -> &mut dyn Files;
    /// Runs a shell command; `capture` keeps its output.
    fn run(&mut self, _command: &[u8], _capture: bool) -> Result<Ran, Fault> {
        Err(Fault::absent("a shell"))
    }
    /// A pipe to or from a command.
    fn pipe(&mut self, _command: &[u8], _to: bool) -> Result<Box<dyn Channel>, Fault> {
        Err(Fault::absent("a shell"))
    }

    /// Opens a connection, and closes the previous one.
    fn connect(&mut self, _to: &Connection) -> Result<(), Fault> {
        Err(Fault::absent("a connection"))
    }
    /// Ends the connection.
    fn hang_up(&mut self) -> Result<(), Fault> {
        Ok(())
    }
    /// Whether there is a connection.
    fn is_connected(&mut self) -> bool {
        false
    }
    /// Sends bytes over the connection.
    fn transmit(&mut self, _bytes: &[u8]) -> Result<(), Fault> {
        Err(Fault::absent("a connection"))
    }
    /// Sends a line signal.
    fn signal(&mut self, _signal: Signal) -> Result<(), Fault> {
        Err(Fault::absent("a connection"))
    }
    /// Waits for the next byte of the connection.
    fn hear(&mut self, _wait: Duration) -> Heard {
        Heard::Lost
    }

    /// Transfers files, or talks to a server.
    fn perform(&mut self, task: &Task, _kept: &Kept) -> Result<Done, Fault> {
        Err(Fault::absent(match task {
            Task::Send(_) => "SEND",
            Task::Receive(_) => "RECEIVE",
            Task::ToStdout { .. } => "RECEIVE to stdout",
            Task::Get(_) => "GET",
            Task::Remote(_) => "REMOTE",
            Task::Serve => "SERVER",
            Task::Terminal => "CONNECT",
            Task::Transmit { .. } => "TRANSMIT",
            Task::Log { .. } => "LOG",
            Task::Allow { .. } | Task::AllowAsIn { .. } => "ENABLE",
        }))
    }
    /// The rows of the program's table of settings: SET and SHOW have them by their names and by their keywords.
    fn rows(&self) -> Vec<&'static Setting>;
    /// Words after SET, SHOW and HELP SET for the settings of a protocol or of the store, and the prefix of their names.
    fn families(&self) -> Vec<(&'static str, &'static str)> {
        let prefixes = self.rows().into_iter().filter_map(|row| row.name.split('.').next());
        let mut families: Vec<_> = prefixes.map(|prefix| (prefix, prefix)).collect();
        families.dedup();
        families
    }
    /// Sets a row of the program's table of settings, in the table's notation.
    fn set(&mut self, name: &str, value: &str) -> Result<(), Fault>;
    /// Called for a setting that is not in the table, with the words after SET. A setting without effect is an
    /// error, unless there is nothing that it could affect.
    fn keep(&mut self, _name: &str, _value: &[u8]) -> Result<(), Fault> {
        Ok(())
    }
    /// The current value of a row of the program's table.
    fn shown(&mut self, name: &str) -> Option<String>;
}

/// A host and its port: C-Kermit takes both `HOST PORT` and `HOST:PORT`. An address of IPv6 has more colons.
pub(crate) fn with_service(host: Vec<u8>, port: Option<Vec<u8>>) -> (Vec<u8>, Option<Vec<u8>>) {
    let parts: Vec<&[u8]> = host.split(|byte| *byte == b':').collect();
    match (&parts[..], &port) {
        ([name, service], None) if !name.is_empty() && !service.is_empty() => {
            (name.to_vec(), Some(service.to_vec()))
        }
        _ => (host, port),
    }
}
