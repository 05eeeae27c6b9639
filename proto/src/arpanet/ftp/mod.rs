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
//! are passed over), renaming, deleting, mail.
//!
//! A file of octets is an image of bits, and what is left of its last byte of 36 bits is zeros: the length is told
//! by ALLO, and in the text of 250, and zeros beyond it are taken off (docs/decisions/072).

pub mod command;
pub(crate) mod data;
mod housed;
pub mod reply;
mod session;
pub(crate) mod states;
pub(crate) mod text;
mod user;

pub use command::{Form, Mode, Structure, Type};
pub use housed::{Client, Service};
pub(crate) use session::Session;
pub use session::{Asked, Denial, Granted};
pub(crate) use user::User;

use crate::time::Duration;

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

/// A text of some octets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Text<const N: usize> {
    octets: [u8; N],
    len: usize,
}

impl<const N: usize> Text<N> {
    /// No text.
    pub const EMPTY: Self = Self { octets: [0; N], len: 0 };

    /// A text; `None` if it is too long, or has something in it that ends a line.
    pub fn new(text: &[u8]) -> Option<Self> {
        let mut octets = [0; N];
        octets.get_mut(..text.len())?.copy_from_slice(text);
        let good = text.iter().all(|octet| !matches!(octet, b'\r' | b'\n' | 0 | 128..));
        good.then_some(Self { octets, len: text.len() })
    }

    /// Its octets.
    pub fn as_bytes(&self) -> &[u8] {
        &self.octets[..self.len]
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
    /// The name of the file, and what the other end said of it.
    pub(crate) name: &'a mut [u8],
    pub(crate) message: &'a mut [u8],
    /// Names of files that are to be retrieved.
    pub(crate) names: &'a mut [u8],
}

/// Lengths of the parts, with so many octets for the file.
pub(crate) fn lengths(buffer_len: usize) -> [usize; 6] {
    [LINE, SAY, buffer_len.max(4096), NAME, LINE, NAMES]
}

impl<'a> Mem<'a> {
    pub(crate) fn divide(buffer_len: usize, memory: &'a mut [u8]) -> Self {
        let [line, say, file, name, message, names] =
            crate::machine::split(memory, lengths(buffer_len));
        Self { line, say, file, name, message, names }
    }
}

/// Everything that may be chosen of a user's or a server's process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// How files are carried: a server takes what it is told.
    pub form: Form,
    /// Which RFC.
    pub dialect: Dialect,
    /// Who the user is.
    pub user: Text<64>,
    /// Its password.
    pub password: Text<64>,
    /// Its account.
    pub account: Text<64>,
    /// Where files go to at the server: a directory, ended by `/`, or the name of the one file.
    pub path: Text<128>,
    /// The first of a process's sockets, a multiple of 8.
    pub socket: u32,
    /// The socket of the server.
    pub server: u32,
    /// How long nothing may happen, in seconds.
    pub timeout_s: u16,
    /// Octets kept between a connection and the store, at least 4096.
    pub buffer_len: usize,
}

impl Default for Options {
    fn default() -> Self {
        let anonymous = Text::new(b"anonymous").unwrap_or(Text::EMPTY);
        Self {
            form: Form { kind: Type::Image, ..Form::default() },
            dialect: Dialect::Rfc542,
            user: anonymous,
            password: anonymous,
            account: Text::EMPTY,
            path: Text::EMPTY,
            socket: 0x100,
            server: crate::arpanet::icp::FTP,
            timeout_s: 120,
            buffer_len: 16 * 1024,
        }
    }
}

impl Options {
    pub(crate) fn timeout(&self) -> Duration {
        Duration::from_secs(u64::from(self.timeout_s))
    }
}
