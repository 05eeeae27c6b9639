//! Commands of a user: a word of up to four letters and an argument.

use super::reply::decimal;

/// Representation type.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Type {
    /// ASCII: lines.
    #[default]
    Ascii,
    /// Image: bits.
    Image,
    /// Logical bytes of N bits: handled as bits.
    Local(u8),
}

crate::choice! { for Type: "image" => Type::Image, "ascii" => Type::Ascii }

crate::choice! {
    /// Transfer mode.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum Mode {
        /// Bytes until the connection is closed.
        #[default]
        Stream = "stream",
        /// Blocks with headers.
        Block = "block",
    }
}

crate::choice! {
    /// File structure.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum Structure {
        /// None.
        #[default]
        File = "file",
        /// Records: lines.
        Record = "record",
    }
}

/// How a file is to be carried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Form {
    /// TYPE.
    pub kind: Type,
    /// BYTE: 1 to 255.
    pub byte: u8,
    /// MODE.
    pub mode: Mode,
    /// STRU.
    pub structure: Structure,
}

impl Default for Form {
    fn default() -> Self {
        Self { kind: Type::Ascii, byte: 8, mode: Mode::Stream, structure: Structure::File }
    }
}

impl Form {
    /// Whether it can be done here: lines and records are octets.
    pub const fn is_possible(&self) -> bool {
        let octets =
            matches!(self.kind, Type::Ascii) || matches!(self.structure, Structure::Record);
        self.byte == 8 || !octets
    }
}

/// What a user says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command<'a> {
    /// USER.
    User(&'a [u8]),
    /// PASS.
    Pass(&'a [u8]),
    /// ACCT.
    Acct(&'a [u8]),
    /// TYPE.
    Type(Type),
    /// BYTE.
    Byte(u8),
    /// MODE.
    Mode(Mode),
    /// STRU.
    Structure(Structure),
    /// SOCK: the host as in an old leader, if it is given, and the socket.
    Sock(Option<u8>, u32),
    /// RETR.
    Retr(&'a [u8]),
    /// STOR.
    Stor(&'a [u8]),
    /// APPE.
    Appe(&'a [u8]),
    /// ALLO.
    Allo(u64),
    /// REST, with an offset in octets.
    Rest(u64),
    /// LIST.
    List(&'a [u8]),
    /// NLST.
    Nlst(&'a [u8]),
    /// STAT.
    Stat,
    /// HELP.
    Help,
    /// NOOP.
    Noop,
    /// ABOR.
    Abor,
    /// BYE.
    Bye,
    /// REIN.
    Rein,
}

/// The numbers of the replies to what is no command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadCommand {
    /// No such word: 500.
    Unknown,
    /// A word of the protocol that is not done here: 506.
    Undone,
    /// Invalid argument: 501.
    Syntax,
    /// The argument is missing: 502.
    Missing,
    /// The argument is a value that is not done here: 402.
    Value,
}

impl BadCommand {
    /// The number of the reply.
    pub const fn number(self) -> u16 {
        match self {
            Self::Unknown => 500,
            Self::Syntax => 501,
            Self::Missing => 502,
            Self::Undone => 506,
            Self::Value => 402,
        }
    }

    /// Its text.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "expected a command, got no word of the protocol",
            Self::Syntax => "expected an argument of another form",
            Self::Missing => "expected an argument, got none",
            Self::Undone => "this command is not done here",
            Self::Value => "this value is not done here",
        }
    }
}

/// The words that are done.
pub const WORDS: &str = "USER PASS ACCT TYPE BYTE MODE STRU SOCK RETR STOR APPE ALLO REST LIST NLST STAT HELP NOOP ABOR REIN BYE";
/// Words of the protocol that are not.
const UNDONE: [&[u8]; 6] = [b"PASV", b"RNFR", b"RNTO", b"DELE", b"SITE", b"MAIL"];

impl<'a> Command<'a> {
    /// Reads a line.
    pub fn parse(line: &'a [u8]) -> Result<Self, BadCommand> {
        let line = line.trim_ascii();
        let end = line.iter().position(|octet| *octet == b' ').unwrap_or(line.len());
        let (word, rest) = line.split_at(end);
        let rest = rest.trim_ascii_start();
        let mut upper = [0; 4];
        let room = upper.get_mut(..word.len()).ok_or(BadCommand::Unknown)?;
        room.copy_from_slice(word);
        upper.make_ascii_uppercase();
        let upper = &upper[..word.len()];
        let needed = || if rest.is_empty() { Err(BadCommand::Missing) } else { Ok(rest) };
        let letter = || needed().map(|rest| (rest[0].to_ascii_uppercase(), rest[1..].trim_ascii()));
        Ok(match upper {
            b"USER" => Self::User(needed()?),
            b"PASS" => Self::Pass(rest),
            b"ACCT" => Self::Acct(needed()?),
            b"TYPE" => Self::Type(match letter()? {
                (b'A', b"" | b"N" | b"n") => Type::Ascii,
                (b'I', b"") => Type::Image,
                (b'L', size) => Type::Local(byte(size)?),
                (b'A' | b'E' | b'P' | b'F', _) => return Err(BadCommand::Value),
                _ => return Err(BadCommand::Syntax),
            }),
            b"BYTE" => Self::Byte(byte(needed()?)?),
            b"MODE" => Self::Mode(match letter()? {
                (b'S', b"") => Mode::Stream,
                (b'B', b"") => Mode::Block,
                (b'C' | b'T' | b'H', b"") => return Err(BadCommand::Value),
                _ => return Err(BadCommand::Syntax),
            }),
            b"STRU" => Self::Structure(match letter()? {
                (b'F', b"") => Structure::File,
                (b'R', b"") => Structure::Record,
                _ => return Err(BadCommand::Syntax),
            }),
            b"SOCK" => sock(needed()?)?,
            b"RETR" => Self::Retr(needed()?),
            b"STOR" => Self::Stor(needed()?),
            b"APPE" => Self::Appe(needed()?),
            b"ALLO" => {
                let first = needed()?.split(|octet| *octet == b' ').next().unwrap_or_default();
                Self::Allo(number(first)?)
            }
            b"REST" => Self::Rest(number(needed()?)?),
            b"LIST" => Self::List(rest),
            b"NLST" => Self::Nlst(rest),
            b"STAT" => Self::Stat,
            b"HELP" => Self::Help,
            b"NOOP" => Self::Noop,
            b"ABOR" => Self::Abor,
            b"BYE" => Self::Bye,
            b"REIN" => Self::Rein,
            word if UNDONE.contains(&word) => return Err(BadCommand::Undone),
            _ => return Err(BadCommand::Unknown),
        })
    }
}

fn number(text: &[u8]) -> Result<u64, BadCommand> {
    decimal_or_none(text).ok_or(BadCommand::Syntax)
}

fn decimal_or_none(text: &[u8]) -> Option<u64> {
    if text.is_empty() { None } else { decimal(text) }
}

fn byte(text: &[u8]) -> Result<u8, BadCommand> {
    let size = number(text)?;
    u8::try_from(size).ok().filter(|size| *size > 0).ok_or(BadCommand::Syntax)
}

fn sock(text: &[u8]) -> Result<Command<'_>, BadCommand> {
    let mut parts = text.split(|octet| *octet == b',').map(<[u8]>::trim_ascii);
    let (first, second) = (parts.next().unwrap_or_default(), parts.next());
    if parts.next().is_some() {
        return Err(BadCommand::Syntax);
    }
    let (host, socket) = match second {
        Some(socket) => (Some(number(first)?), socket),
        None => (None, first),
    };
    let host = host.map(u8::try_from).transpose().map_err(|_| BadCommand::Syntax)?;
    let socket = u32::try_from(number(socket)?).map_err(|_| BadCommand::Syntax)?;
    Ok(Command::Sock(host, socket))
}
