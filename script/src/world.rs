//! Everything outside of the language: console, clock, files, connection, transfers, settings.
//!
//! The language asks for nothing by itself. The program gives it the real world, the laboratory one in
//! virtual time, a test one that writes down what it was asked.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::time::Duration;

/// Why the world did not do what it was asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// A sentence without a full stop: what was expected, what came.
    pub text: String,
}

impl Fault {
    /// With this sentence.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into() }
    }

    /// This world has no such thing.
    pub fn absent(what: &str) -> Self {
        Self::new(format!("{what} is not there in this program"))
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
        // The number of the system's error says nothing to a person.
        let text = error.to_string();
        Self::new(text.split(" (os error").next().unwrap_or_default())
    }
}

/// Where text goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Screen {
    /// What a script says.
    Output,
    /// What is wrong.
    Error,
}

/// A moment, and the offset of local time at it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Moment {
    /// Nanoseconds since 1970, UTC.
    pub unix_ns: i64,
    /// Seconds that local time is ahead of UTC.
    pub offset_s: i32,
}

/// A question to the person.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Question {
    /// What to show.
    pub prompt: Vec<u8>,
    /// Whether what is typed is seen.
    pub echo: bool,
    /// How long to wait; for ever if nothing.
    pub wait: Option<Duration>,
}

/// What is known of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Facts {
    /// Bytes.
    pub len: u64,
    /// Seconds since 1970, UTC.
    pub modified_s: i64,
    /// What it is.
    pub kind: Kind,
    /// Permission bits, such as 0o644.
    pub mode: u32,
    /// Whether it may be read by us.
    pub readable: bool,
    /// Whether it may be written by us.
    pub writeable: bool,
}

/// What a name leads to.
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
    /// To be read.
    pub read: bool,
    /// To be written from its beginning, emptied first unless it is also read.
    pub write: bool,
    /// To be written at its end.
    pub append: bool,
}

/// An open file, or a pipe to or from a command.
pub trait Channel {
    /// Reads some bytes; 0 at the end.
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize>;
    /// Writes all of them.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Goes to a place.
    fn seek(&mut self, offset: u64) -> io::Result<()>;
    /// Makes what was written visible to others.
    fn flush(&mut self) -> io::Result<()>;
    /// Closes it; the status of the command if it is a pipe.
    fn close(self: Box<Self>) -> io::Result<Option<i32>>;
}

/// The file system. Names are as a person writes them, relative to the current directory.
pub trait Files {
    /// Opens a file.
    fn open(&mut self, name: &[u8], mode: Mode) -> Result<Box<dyn Channel>, Fault>;
    /// What a name leads to; `follow` says whether a link is what it points to.
    fn facts(&mut self, name: &[u8], follow: bool) -> Option<Facts>;
    /// The names in a directory, without `.` and `..`, in any order.
    fn list(&mut self, directory: &[u8]) -> Result<Vec<Vec<u8>>, Fault>;
    /// Gives a file another name.
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
    /// Goes to another directory.
    fn change_directory(&mut self, to: &[u8]) -> Result<(), Fault>;
}

/// What came from the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Heard {
    /// A byte.
    Byte(u8),
    /// Nothing in this time.
    Silence,
    /// The person wants it to end.
    Interrupted,
    /// The connection is gone, or there never was one.
    Lost,
}

/// What is at the other end, as SET LINE and SET HOST say it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Connection {
    /// A serial device.
    Line {
        /// Its name.
        device: Vec<u8>,
    },
    /// A host of a network, or who calls us if the name is `*`.
    Host {
        /// Its name or address.
        host: Vec<u8>,
        /// A number or the name of a service; Telnet's unless said.
        port: Option<Vec<u8>>,
        /// What is spoken over TCP.
        speaks: Speaks,
        /// Whether we shall be a server as soon as there is a connection.
        server: bool,
    },
    /// A program whose input and output are the line; in a PTY or not.
    Program {
        /// As for the shell.
        command: Vec<u8>,
        /// Whether it shall think that it has a terminal.
        terminal: bool,
    },
}

/// How bytes travel over TCP.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Speaks {
    /// As the port says: Telnet on its own port, nothing elsewhere unless the other end begins.
    #[default]
    Unsaid,
    /// As they are.
    Raw,
    /// Telnet.
    Telnet,
    /// Telnet inside TLS.
    Tls,
}

/// What is sent beside characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// BREAK, a quarter of a second.
    Break,
    /// BREAK, a second and a half.
    LongBreak,
}

/// Files to be sent.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sending {
    /// Names, wildcards already resolved.
    pub files: Vec<Vec<u8>>,
    /// The name that the one file has at the other end.
    pub as_name: Option<Vec<u8>>,
    /// Text, binary, or as the settings say.
    pub text: Option<bool>,
    /// Go on where an earlier transfer stopped.
    pub recover: bool,
    /// Delete each file that arrived.
    pub delete: bool,
    /// The files are those of a directory and of all below it.
    pub recursive: bool,
    /// What of their paths goes with them; nothing is as SET SEND PATHNAMES says, or relative names
    /// for a directory.
    pub paths: Option<Pathnames>,
    /// The files are mail or paper: `/MAIL:` or `/PRINT:` and its argument.
    pub disposition: Option<(char, Vec<u8>)>,
    /// Begin at this offset.
    pub start: u64,
    /// This number of generated bytes instead of files.
    pub calibrate: Option<u64>,
}

/// Whether the person is asked before a file is stored: SET RECEIVE CONFIRM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Confirm {
    /// Never.
    Off,
    /// For files that were not asked for.
    On,
    /// And for each file of a directory that was asked for.
    All,
}

/// What of a path goes with a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pathnames {
    /// Its last part.
    Off,
    /// As it was said.
    Relative,
    /// All of it, from the root.
    Absolute,
}

/// Files that come of themselves.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Receiving {
    /// The name that the one file gets.
    pub as_name: Option<Vec<u8>>,
    /// Whether to ask before files are stored, where the command says so.
    pub confirm: Option<Confirm>,
    /// What comes is counted and dropped.
    pub calibrate: bool,
}

/// A request to a server for files.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Getting {
    /// Names at the other end.
    pub files: Vec<Vec<u8>>,
    /// The name that the one file gets here.
    pub as_name: Option<Vec<u8>>,
    /// Text, binary, or as the server decides.
    pub text: Option<bool>,
    /// Go on with what is here.
    pub recover: bool,
    /// The server deletes each file that arrived.
    pub delete: bool,
    /// With what is below.
    pub recursive: bool,
    /// Whether to ask before files are stored, where the command says so.
    pub confirm: Option<Confirm>,
    /// What comes is counted and dropped.
    pub calibrate: bool,
}

/// What a server is asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Remote {
    /// Which of the REMOTE commands, in lower case and in full.
    pub verb: String,
    /// Its arguments.
    pub arguments: Vec<Vec<u8>>,
}

/// What is asked of the part of the program that moves files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Task {
    /// SEND and its like.
    Send(Sending),
    /// RECEIVE, into a name if there is one.
    Receive(Receiving),
    /// GET and its like.
    Get(Getting),
    /// RECEIVE, or GET of these names, with the files on stdout; no command of the language.
    ToStdout {
        /// Names at the other end, as a server takes them.
        names: Option<Vec<u8>>,
    },
    /// REMOTE and FINISH, BYE, LOGOUT of a server.
    Remote(Remote),
    /// Be a server until told to end.
    Serve,
    /// CONNECT: the person talks to the other end.
    Terminal,
    /// TRANSMIT: a file as it is, line by line.
    Transmit {
        /// Its name.
        file: Vec<u8>,
        /// With its line ends as they are.
        binary: bool,
    },
    /// LOG: what to write down, and where to; nothing ends it.
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
        /// The command; `all`.
        what: String,
        /// Whose.
        scope: Scope,
    },
    /// SET COMPATIBILITY: what is enabled is as it is at first in that version of C-Kermit.
    AllowAsIn {
        /// 9, 10 or 11.
        version: u8,
    },
}

/// Which clients of our server a command is enabled for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// None.
    Nobody,
    /// Those at the other end of a connection that we made.
    Local,
    /// Those that have called us.
    Remote,
    /// All.
    Both,
}

/// What became of files.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Whether all arrived.
    pub done: bool,
    /// Whether any file was offered.
    pub begun: bool,
    /// Why not.
    pub message: String,
    /// How many were moved.
    pub files: u64,
    /// Bytes of all of them.
    pub bytes: u64,
    /// Bytes of the last one.
    pub last_bytes: u64,
    /// Name of the last one.
    pub name: Vec<u8>,
    /// From the first packet to the last.
    pub elapsed: Duration,
    /// Packets that came damaged.
    pub damaged: u64,
    /// Times that a wait ended without a packet.
    pub timeouts: u64,
    /// Packets that were sent again.
    pub repeated: u64,
    /// Whether packets were streamed.
    pub streamed: bool,
    /// Window slots that were agreed on.
    pub window: u32,
    /// Longest packet that was agreed on.
    pub packet_len: u32,
}

impl Report {
    /// Bytes per second, rounded down, as \v(cps) gives it.
    pub fn cps(&self) -> u64 {
        let ns = self.elapsed.as_nanos().max(1);
        u64::try_from(u128::from(self.bytes) * 1_000_000_000 / ns).unwrap_or(u64::MAX)
    }
}

/// What came of a task.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Done {
    /// What is known of files that moved.
    pub report: Option<Report>,
    /// What a server answered.
    pub text: Vec<u8>,
    /// Something that a client asked of our server was refused.
    pub refused: bool,
    /// The program shall end: a client said EXIT, the person said so at CONNECT.
    pub over: bool,
}

/// A command that was run in a shell.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ran {
    /// Its exit code.
    pub status: i32,
    /// What it wrote, if that was asked for.
    pub output: Vec<u8>,
}

/// Settings of the language that the program's table does not have, by name.
pub type Kept = BTreeMap<String, Vec<u8>>;

/// Everything outside. What a world does not have it need not write: the answer is then a fault.
pub trait World {
    /// Shows text.
    fn say(&mut self, to: Screen, text: &[u8]);
    /// Asks the person for a line, without its end; nothing if there is nobody, or no more.
    fn ask(&mut self, question: &Question) -> Option<Vec<u8>>;
    /// Waits for one key.
    fn key(&mut self, wait: Option<Duration>) -> Option<u8>;
    /// What time it is.
    fn now(&mut self) -> Moment;
    /// The offset of local time at another moment, in seconds since 1970.
    fn offset_at(&mut self, _unix_s: i64) -> i32 {
        self.now().offset_s
    }
    /// Waits; gives whether a key ended it, if keys may.
    fn pause(&mut self, time: Duration, keys: bool) -> bool;
    /// Any number.
    fn random(&mut self) -> u64;
    /// A variable of the environment.
    fn environment(&mut self, name: &[u8]) -> Option<Vec<u8>>;
    /// A built-in variable that only the world knows: `host`, `userid`, `home`, `tmpdir`, `pid`,
    /// `osname`, `platform`, `cpu`, `terminal`, `line`, `speed`.
    fn fact(&mut self, name: &str) -> Option<Vec<u8>>;
    /// Whether the person wants the script to end.
    fn interrupted(&mut self) -> bool {
        false
    }
    /// The files.
    fn files(&mut self) -> &mut dyn Files;
    /// Runs a command in a shell; `capture` keeps what it writes.
    fn run(&mut self, _command: &[u8], _capture: bool) -> Result<Ran, Fault> {
        Err(Fault::absent("a shell"))
    }
    /// A pipe to a command, or from it.
    fn pipe(&mut self, _command: &[u8], _to: bool) -> Result<Box<dyn Channel>, Fault> {
        Err(Fault::absent("a shell"))
    }

    /// Makes a connection, and ends the one that was.
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
    /// Sends what is no byte.
    fn signal(&mut self, _signal: Signal) -> Result<(), Fault> {
        Err(Fault::absent("a connection"))
    }
    /// Waits for the next byte of the connection.
    fn hear(&mut self, _wait: Duration) -> Heard {
        Heard::Lost
    }

    /// Moves files, or talks to a server.
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
    /// Sets a row of the program's table of settings, in the notation of the table.
    fn set(&mut self, name: &str, value: &str) -> Result<(), Fault>;
    /// Hears of a setting that the table does not have, with the words behind SET. What is not acted upon is an
    /// error, unless there is nothing that it could concern.
    fn keep(&mut self, _name: &str, _value: &[u8]) -> Result<(), Fault> {
        Ok(())
    }
    /// The present value of a row of the program's table.
    fn shown(&mut self, name: &str) -> Option<String>;
}
