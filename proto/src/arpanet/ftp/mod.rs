//! File transfer: the FTP of RFC 354 (1972) and RFC 542 (1973) over connections of the host-host protocol.
//!
//! ```text
//! user   U+3 --> S    commands        USER x / PASS y / TYPE I / BYTE 36 / STOR name / BYE
//!        U+2 <-- S+1  replies         300, 330, 230, 200, 250, 257, 231
//! STOR   U+5 --> S+2  the file        opened by the server, closed by the sender
//! RETR   U+4 <-- S+3
//! ```
//!
//! Done: USER PASS ACCT, TYPE A I L, BYTE 1 to 255, MODE S B, STRU F R, SOCK, RETR STOR APPE ALLO REST, LIST NLST STAT HELP
//! NOOP ABOR REIN BYE; replies of both RFCs, on several lines of either style. Lines and records go in bytes of 8 bits only. REST
//! takes a position in octets. Not done: PASV and third hosts, MODE C and Hasp, TYPE E and P, restart by markers (those that come
//! are ignored), renaming, deleting, mail.
//!
//! A file of octets is an image of bits, and what is left of its last byte of 36 bits is zeros: the length is told
//! by ALLO, and in the text of 250, and zeros beyond it are taken off (docs/decisions/072).

pub mod command;
pub(crate) mod data;
mod processes;
pub mod reply;
mod session;
pub(crate) mod states;
pub(crate) mod text;
mod user;

pub use command::{Form, Mode, Structure, Type};
pub use processes::{Client, Service};
pub(crate) use session::Session;
pub use session::{Asked, Denial, Granted};
pub(crate) use user::User;

use crate::session::Text;
use crate::settings::{AsText, Range};
use crate::time::Span;
use core::fmt;

/// Which of the two RFCs a server follows where they differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Dialect {
    /// RFC 542, August 1973: reply 257, lines joined by hyphens.
    #[default]
    Rfc542,
    /// RFC 354, July 1972: reply 252, reply 255 with the data socket, lines joined by blanks.
    Rfc354,
}

/// Octets of a line.
pub(crate) const LINE: usize = 512;
/// Octets of a name.
pub(crate) const NAME: usize = 256;
/// Octets of names that wait.
pub(crate) const NAMES: usize = 2048;
/// Octets that wait to be said.
pub(crate) const SAY: usize = 1536;

/// An argument of a command: one line of ASCII.
#[derive(Clone, Copy, Debug)]
pub struct Argument<const N: usize>(Text<N>);

impl<const N: usize> Argument<N> {
    /// No text.
    pub const EMPTY: Self = Self(Text::new());

    /// An argument; `None` if it is too long, or has something in it that ends a line.
    pub fn new(text: &[u8]) -> Option<Self> {
        let good = text.iter().all(|octet| !matches!(octet, b'\r' | b'\n' | 0 | 128..));
        let mut argument = Self::EMPTY;
        argument.0.set(text);
        (good && text.len() <= N).then_some(argument)
    }

    /// Its octets.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl<const N: usize> PartialEq for Argument<N> {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl<const N: usize> Eq for Argument<N> {}

impl<const N: usize> AsText for Argument<N> {
    fn parse(text: &str) -> Option<Self> {
        Self::new(text.as_bytes())
    }

    fn show(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        out.write_str(core::str::from_utf8(self.as_bytes()).unwrap_or_default())
    }
}

/// The parts of memory of a process.
#[derive(Debug)]
pub(crate) struct Mem<'a> {
    /// The line that comes.
    pub(crate) line: &'a mut [u8],
    /// What is to be said.
    pub(crate) say: &'a mut [u8],
    /// Octets of the file.
    pub(crate) file: &'a mut [u8],
    /// The name of the file, and what the peer said of it.
    pub(crate) name: &'a mut [u8],
    pub(crate) message: &'a mut [u8],
    /// Names of files that are to be retrieved.
    pub(crate) names: &'a mut [u8],
}

/// Lengths of the parts, with this many octets for the file.
pub(crate) fn lengths(buffer_len: usize) -> [usize; 6] {
    [LINE, SAY, buffer_len.max(4096), NAME, LINE, NAMES]
}

impl<'a> Mem<'a> {
    pub(crate) fn divide(buffer_len: usize, memory: &'a mut [u8]) -> Self {
        crate::machine::split!(memory, lengths(buffer_len) => line, say, file, name, message, names);
        Self { line, say, file, name, message, names }
    }
}

crate::settings! {
    /// All settings of a user's or a server's process.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct Options {
        "ncp.user" user: Argument<64>[text Range::Text, ANONYMOUS, if is_user] = "anonymous",
            "USER for file transfer",
            "RFC 542";
        "ncp.account" account: Argument<64>[text Range::Text, Argument::EMPTY] = "",
            "ACCT for file transfer, where the server asks for it",
            "RFC 542";
        /// How files are carried: a server takes what it is told.
        "ncp.type" kind: Type[word] = "image",
            "TYPE for file transfer",
            "RFC 542";
        "ncp.byte" byte: u8[1..=255 "bits"] = 8,
            "BYTE for file transfer: 36 is what machines with words of 36 bits want",
            "RFC 542";
        "ncp.mode" mode: Mode[word] = "stream",
            "MODE for file transfer",
            "RFC 542";
        "ncp.structure" structure: Structure[word] = "file",
            "STRU for file transfer: records are lines",
            "RFC 542";
        "ncp.timeout" timeout: Span[1..=3600 seconds] = 120,
            "Longest silence of the peer's process",
            "Wetstring: RFC 542 has no timeouts";
    }
    also {
        /// Which RFC.
        dialect: Dialect = Dialect::Rfc542,
        /// The user's password.
        password: Argument<64> = ANONYMOUS,
        /// Where files go to at the server: a directory, ended by `/`, or the name of the one file.
        path: Argument<128> = Argument::EMPTY,
        /// The first of a process's sockets, a multiple of 8.
        socket: u32 = 0x100,
        /// The socket of the server.
        server: u32 = crate::arpanet::icp::FTP,
        /// Octets kept between a connection and the store, at least 4096.
        buffer_len: usize = 16 * 1024,
    }
}

/// Who a user is that says nothing else, and the password.
const ANONYMOUS: Argument<64> = Argument(Text::literal(b"anonymous"));

fn is_user(text: Argument<64>) -> bool {
    text != Argument::EMPTY
}

impl Options {
    /// How files are carried.
    pub const fn form(&self) -> Form {
        Form { kind: self.kind, byte: self.byte, mode: self.mode, structure: self.structure }
    }
}
