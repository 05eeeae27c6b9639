//! A client's commands to a server: the data fields of R, J, H, V, W, O, G, C and K packets, decoded
//! (kermit.md §16).
//!
//! ```text
//! R J H V W   names                          GET, and its kinds
//! O           tag tochar(len) value ... '@ ' GET with options
//! G           letter [tochar(len) argument]  everything else that a server does itself
//! C K         text                           for the host's shell; for the server's own language
//! ```
//!
//! Arguments are at most 94 bytes long, but the last may be longer: its length is then a blank, and
//! it runs to the end.

use super::check::{tochar, unchar};
use crate::file::FileKind;
use core::fmt;

/// What a client asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ServerCommand<'a> {
    /// Receive files (an S packet without a command before it).
    Receive,
    /// To send files.
    Get(Get<'a>),
    /// Run a command in the host's shell, and show its output.
    Host(&'a [u8]),
    /// A command in the server's own language.
    Kermit(&'a [u8]),
    /// To let a user in: name, password, account.
    Login([&'a [u8]; 3]),
    /// To forget who the user is.
    Logout,
    /// To make another directory the current one; an empty name is the first one.
    ChangeDirectory(&'a [u8]),
    /// Report the current directory.
    WorkingDirectory,
    /// To list files.
    Directory(&'a [u8]),
    /// Report the free space.
    Space(&'a [u8]),
    /// To delete files.
    Delete(&'a [u8]),
    /// To give a file another name: from, to.
    Rename([&'a [u8]; 2]),
    /// To copy a file: from, to.
    Copy([&'a [u8]; 2]),
    /// To show files.
    Type(&'a [u8]),
    /// To make a directory.
    MakeDirectory(&'a [u8]),
    /// To remove an empty directory.
    RemoveDirectory(&'a [u8]),
    /// Report who is logged in: a user's name, options.
    Who([&'a [u8]; 2]),
    /// To tell the one at the server something.
    Message(&'a [u8]),
    /// Report the available commands.
    Help(&'a [u8]),
    /// To say how it goes.
    Status,
    /// To change a setting: one of the numbers in [`code`], and its value.
    Set {
        /// The setting.
        code: u16,
        /// The new value.
        value: &'a [u8],
    },
    /// Report the value of a variable.
    Query {
        /// Whose it is: `K` the Kermit program's, `S` the system's, `G` a global macro.
        kind: u8,
        /// Its name.
        name: &'a [u8],
    },
    /// To give a variable a value.
    Assign {
        /// Its name.
        name: &'a [u8],
        /// The value.
        value: &'a [u8],
    },
    /// To stop being a server.
    Finish,
    /// To stop, and to close the connection.
    Bye,
    /// To end the program.
    Exit,
}

/// A request for files.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Get<'a> {
    /// Which: names with wildcards, separated by blanks; `{a b}` is one name.
    pub names: &'a [u8],
    /// Delete files after sending.
    pub delete: bool,
    /// Directories with all that is below them.
    pub recursive: bool,
    /// Continue where an earlier transfer ended.
    pub recover: bool,
    /// The name is a command whose output is to be sent.
    pub is_command: bool,
    /// As lines or as bytes; `None` lets the server decide.
    pub kind: Option<FileKind>,
}

/// Numbers of settings in [`ServerCommand::Set`] (kermit.md §16.3).
pub mod code {
    /// All attributes that come; + 100 those that go.
    pub const ATTRIBUTES: u16 = 132;
    /// Text (0) or binary (1).
    pub const FILE_TYPE: u16 = 300;
    /// Names converted (0) or literal (1).
    pub const FILE_NAMES: u16 = 301;
    /// What happens to a file of the same name.
    pub const COLLISION: u16 = 302;
    /// Handling of incomplete files: discard (0), keep (1), auto (2).
    pub const INCOMPLETE: u16 = 310;
    /// Block size, record length, format, organisation and carriage control, to 315.
    pub const BLOCK_SIZE: u16 = 311;
    /// Character set of files.
    pub const FILE_SET: u16 = 320;
    /// Whether wildcards match names that begin with a dot.
    pub const DOT_FILES: u16 = 330;
    /// Whether wildcards match pipes.
    pub const PIPES: u16 = 331;
    /// Block check.
    pub const CHECK: u16 = 400;
    /// Longest packet to the server.
    pub const LENGTH: u16 = 401;
    /// The server's timeout in seconds.
    pub const TIMEOUT: u16 = 402;
    /// How often a packet may fail.
    pub const RETRIES: u16 = 403;
    /// Interval in seconds of an idle server's NAKs; 0 is never.
    pub const SERVER_TIMEOUT: u16 = 404;
    /// Character set on the line.
    pub const TRANSFER_SET: u16 = 405;
    /// Window slots.
    pub const WINDOW: u16 = 406;
    /// Whether the server detects text files (0) or uses FILE TYPE (1).
    pub const TRANSFER_MODE: u16 = 410;
    /// Whether the server describes a directory that it has changed to.
    pub const CD_MESSAGE: u16 = 420;

    /// The attribute (its tag) that a code from 133 to 148 or 233 to 248 is about.
    pub const fn attribute(code: u16) -> Option<u8> {
        match code % 100 {
            33..=38 if matches!(code / 100, 1 | 2) => Some((code % 100) as u8),
            39..=48 if matches!(code / 100, 1 | 2) => Some((code % 100) as u8 + 1),
            _ => None,
        }
    }
}

/// Why a command could not be understood.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadCommand {
    /// An unknown command.
    Unknown,
    /// An argument is truncated or invalid.
    Malformed,
}

impl fmt::Display for BadCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "Unimplemented server function",
            Self::Malformed => "Badly formed server command",
        })
    }
}

impl core::error::Error for BadCommand {}

/// The arguments after the letter of a G command.
struct Arguments<'a>(&'a [u8]);

impl<'a> Arguments<'a> {
    /// The next, perhaps followed by another; empty if there is none.
    fn next(&mut self) -> Result<&'a [u8], BadCommand> {
        let Some((&len, rest)) = self.0.split_first() else { return Ok(&[]) };
        let len =
            Some(len).filter(|len| matches!(len, b' '..=b'~')).ok_or(BadCommand::Malformed)?;
        let at = usize::from(unchar(len));
        let (argument, rest) = rest.split_at_checked(at).ok_or(BadCommand::Malformed)?;
        self.0 = rest;
        Ok(argument)
    }

    /// The last that the command takes: with a blank for its length it runs to the end.
    fn last(&mut self) -> Result<&'a [u8], BadCommand> {
        match self.0 {
            [b' ', rest @ ..] => Ok(rest),
            _ => self.next(),
        }
    }
}

fn number(text: &[u8]) -> Option<u16> {
    let text = core::str::from_utf8(text).ok()?;
    text.trim().parse().ok()
}

impl<'a> ServerCommand<'a> {
    /// Parses the command of a packet of type `kind`; `words` is its data field, decoded.
    pub fn parse(kind: u8, words: &'a [u8]) -> Result<Self, BadCommand> {
        let get = Get { names: words, ..Get::default() };
        Ok(match kind {
            b'S' => Self::Receive,
            b'R' => Self::Get(get),
            b'J' => Self::Get(Get { recover: true, ..get }),
            b'H' => Self::Get(Get { delete: true, ..get }),
            b'V' => Self::Get(Get { recursive: true, ..get }),
            b'W' => Self::Get(Get { recursive: true, delete: true, ..get }),
            b'O' => Self::Get(extended(words)?),
            b'C' => Self::Host(words),
            b'K' => Self::Kermit(words),
            b'G' => return generic(words),
            _ => return Err(BadCommand::Unknown),
        })
    }

    /// The type of packet in which it travels.
    pub fn kind(&self) -> u8 {
        match self {
            Self::Receive => b'S',
            Self::Get(get) => match (get.delete, get.recursive, get.recover) {
                _ if get.kind.is_some() || get.is_command => b'O',
                (false, false, false) => b'R',
                (false, false, true) => b'J',
                (true, false, false) => b'H',
                (false, true, false) => b'V',
                (true, true, false) => b'W',
                _ => b'O',
            },
            Self::Host(_) => b'C',
            Self::Kermit(_) => b'K',
            _ => b'G',
        }
    }

    /// Writes what is in its data field before that is encoded; `None` if it does not fit in
    /// `out`, or an argument other than the last is longer than 94 bytes.
    pub fn emit(&self, out: &mut [u8]) -> Option<usize> {
        let mut to = Writer { out, len: 0 };
        match self {
            Self::Receive => {}
            Self::Get(get) if self.kind() == b'O' => {
                let options = u8::from(get.delete)
                    | u8::from(get.recursive) << 1
                    | u8::from(get.recover) << 2
                    | u8::from(get.is_command) << 3;
                let digits = [b'0' + options / 10, b'0' + options % 10];
                to.tagged(b'O', if options < 10 { &digits[1..] } else { &digits })?;
                match get.kind {
                    Some(FileKind::Text) => to.tagged(b'M', b"0")?,
                    Some(FileKind::Binary) => to.tagged(b'M', b"1")?,
                    None => {}
                }
                to.tagged(b'F', get.names)?;
                to.put(b"@ ")?;
            }
            Self::Get(Get { names: text, .. }) | Self::Host(text) | Self::Kermit(text) => {
                to.put(text)?;
            }
            _ => self.emit_generic(&mut to)?,
        }
        Some(to.len)
    }

    fn emit_generic(&self, to: &mut Writer<'_>) -> Option<()> {
        let mut digits = [0; 20];
        match *self {
            // Nothing at all after the letter is a logout.
            Self::Login([b"", b"", b""]) => to.put(b"I "),
            Self::Login(words) => to.generic(b'I', &words),
            Self::Logout => to.generic(b'I', &[]),
            Self::ChangeDirectory(name) => to.generic(b'C', &[name]),
            Self::WorkingDirectory => to.generic(b'A', &[]),
            Self::Directory(spec) => to.generic(b'D', &[spec]),
            Self::Space(area) => to.generic(b'U', &[area]),
            Self::Delete(spec) => to.generic(b'E', &[spec]),
            Self::Rename(names) => to.generic(b'R', &names),
            Self::Copy(names) => to.generic(b'K', &names),
            Self::Type(spec) => to.generic(b'T', &[spec]),
            Self::MakeDirectory(name) => to.generic(b'm', &[name]),
            Self::RemoveDirectory(name) => to.generic(b'd', &[name]),
            Self::Who(words) => to.generic(b'W', &words),
            Self::Message(text) => to.generic(b'M', &[text]),
            Self::Help(topic) => to.generic(b'H', &[topic]),
            Self::Status => to.generic(b'Q', &[]),
            Self::Set { code, value } => {
                let code = super::attributes::format_decimal(u64::from(code), &mut digits);
                to.generic(b'S', &[code, value])
            }
            Self::Query { kind, name } => to.generic(b'V', &[b"Q", &[kind], name]),
            Self::Assign { name, value } => to.generic(b'V', &[b"S", name, value]),
            Self::Finish => to.generic(b'F', &[]),
            Self::Bye => to.generic(b'L', &[]),
            Self::Exit => to.generic(b'X', &[]),
            Self::Receive | Self::Get(_) | Self::Host(_) | Self::Kermit(_) => None,
        }
    }

    /// Whether the server ends with it.
    pub fn ends(&self) -> bool {
        matches!(self, Self::Finish | Self::Bye | Self::Exit)
    }
}

fn generic(words: &[u8]) -> Result<ServerCommand<'_>, BadCommand> {
    use ServerCommand as C;
    let (&letter, rest) = words.split_first().ok_or(BadCommand::Malformed)?;
    let mut a = Arguments(rest);
    Ok(match letter {
        b'I' if rest.is_empty() => C::Logout,
        b'I' => C::Login([a.next()?, a.next()?, a.last()?]),
        b'C' => C::ChangeDirectory(a.last()?),
        b'A' => C::WorkingDirectory,
        b'D' => C::Directory(a.last()?),
        b'U' => C::Space(a.last()?),
        b'E' => C::Delete(a.last()?),
        b'R' => C::Rename([a.next()?, a.last()?]),
        b'K' => C::Copy([a.next()?, a.last()?]),
        b'T' => C::Type(a.last()?),
        b'm' => C::MakeDirectory(a.last()?),
        b'd' => C::RemoveDirectory(a.last()?),
        b'W' => C::Who([a.next()?, a.last()?]),
        b'M' => C::Message(a.last()?),
        b'H' => C::Help(a.last()?),
        b'Q' => C::Status,
        b'S' => {
            let code = number(a.next()?).ok_or(BadCommand::Malformed)?;
            C::Set { code, value: a.last()? }
        }
        b'V' => match a.next()? {
            b"Q" => {
                let kind = a.next()?.first().copied().unwrap_or(b'G');
                C::Query { kind, name: a.last()? }
            }
            b"S" => C::Assign { name: a.next()?, value: a.last()? },
            _ => return Err(BadCommand::Malformed),
        },
        b'F' => C::Finish,
        b'L' => C::Bye,
        b'X' => C::Exit,
        _ => return Err(BadCommand::Unknown),
    })
}

/// Whether the fields of an O packet are all there, up to the one that ends them.
pub(crate) fn is_whole(words: &[u8]) -> bool {
    let mut rest = words;
    while let Some((tag, _, more)) = field(rest) {
        if tag == b'@' {
            return true;
        }
        rest = more;
    }
    false
}

/// One tagged field: tag, value, and what follows.
fn field(words: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (len, rest) = match words.get(1)? {
        0x16 => {
            let (high, low) = (unchar(*words.get(2)?), unchar(*words.get(3)?));
            (usize::from(high.min(94)) * 95 + usize::from(low.min(94)), &words[4..])
        }
        len => (usize::from(unchar(*len)), &words[2..]),
    };
    let (value, rest) = rest.split_at_checked(len)?;
    Some((words[0], value, rest))
}

fn extended(words: &[u8]) -> Result<Get<'_>, BadCommand> {
    let mut get = Get::default();
    let mut rest = words;
    loop {
        let (tag, value, more) = field(rest).ok_or(BadCommand::Malformed)?;
        rest = more;
        match tag {
            b'O' => {
                let options = number(value).ok_or(BadCommand::Malformed)?;
                get.delete = options & 1 != 0;
                get.recursive = options & 2 != 0;
                get.recover = options & 4 != 0;
                get.is_command = options & 8 != 0;
            }
            b'M' => {
                get.kind = match value {
                    b"0" => Some(FileKind::Text),
                    b"1" => Some(FileKind::Binary),
                    _ => None,
                };
            }
            b'F' => get.names = value,
            b'@' => return Ok(get),
            _ => {}
        }
    }
}

/// Writes fields into a buffer that may be too short.
struct Writer<'a> {
    out: &'a mut [u8],
    len: usize,
}

impl Writer<'_> {
    fn put(&mut self, bytes: &[u8]) -> Option<()> {
        self.out.get_mut(self.len..self.len + bytes.len())?.copy_from_slice(bytes);
        self.len += bytes.len();
        Some(())
    }

    fn tagged(&mut self, tag: u8, value: &[u8]) -> Option<()> {
        match value.len() {
            len @ 0..=94 => self.put(&[tag, tochar(len as u8)])?,
            len @ 95..=9024 => {
                self.put(&[tag, 0x16, tochar((len / 95) as u8), tochar((len % 95) as u8)])?;
            }
            _ => return None,
        }
        self.put(value)
    }

    /// A letter and its arguments; empty ones at the end are omitted.
    fn generic(&mut self, letter: u8, arguments: &[&[u8]]) -> Option<()> {
        self.put(&[letter])?;
        let count = arguments.iter().rposition(|a| !a.is_empty()).map_or(0, |last| last + 1);
        for (index, argument) in arguments[..count].iter().enumerate() {
            match argument.len() {
                len @ 0..=94 => self.put(&[tochar(len as u8)])?,
                _ if index + 1 == count => self.put(b" ")?,
                _ => return None,
            }
            self.put(argument)?;
        }
        Some(())
    }
}
