//! The command lines of `wst send` and `wst receive`.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::Args;
use wetstring_drive::LineSpec;
use wetstring_drive::disk::StoreSettings;
use wetstring_proto::settings::Range;

use super::selection::Selection;
use crate::config::protocol::Protocol;
use crate::ui::ending::{Ending, usage};
use clap::builder::PossibleValuesParser;

/// What sending and receiving have in common.
#[derive(Args, Debug)]
pub(crate) struct Transfer {
    /// Protocol of the peer: kermit (C-Kermit, G-Kermit, U-Boot's loadb, another wst), zmodem (rz and sz,
    /// terminal programs), ymodem (U-Boot's loady), xmodem, xmodem-crc, xmodem-1k (routers, boot loaders),
    /// ymodem-g (reliable lines), uucp-g (uucico), netblt (another wst, udp: and ip: lines)
    /// [default: kermit; a receiver detects Kermit and ZMODEM]
    #[arg(short = 'P', long, value_parser = PossibleValuesParser::new(Protocol::chosen().map(|protocol| protocol.name)), hide_possible_values = true)]
    protocol: Option<String>,
    /// Set any setting by its name, such as kermit.window=31 (see `wst show`)
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) sets: Vec<String>,
    /// Print at the end where the time went, and which setting would help most
    #[arg(long)]
    pub(crate) explain: bool,
    /// Write what passes the line to a file that Wireshark reads (pcapng); of lines of bytes
    #[arg(long, value_name = "FILE")]
    pub(crate) pcap: Option<PathBuf>,
    /// No encryption: plain RFC 998. Required at both ends
    #[arg(long, help_heading = DATAGRAMS, conflicts_with = "secret_file", hide_short_help = true)]
    pub(crate) plain: bool,
    /// A secret that both ends share, instead of keys; also WETSTRING_SECRET
    #[arg(long, value_name = "FILE", help_heading = DATAGRAMS, hide_short_help = true)]
    pub(crate) secret_file: Option<PathBuf>,
    /// A phrase that two users share, instead of keys; without a value a sender generates one and a receiver asks
    /// for it
    #[arg(long, value_name = "PHRASE", help_heading = DATAGRAMS, hide_short_help = true, num_args = 0..=1,
          require_equals = true, default_missing_value = "", conflicts_with_all = ["plain", "secret_file"])]
    pub(crate) code: Option<String>,
    /// Accept and remember the key of an unknown host without asking
    #[arg(long, help_heading = DATAGRAMS, hide_short_help = true, conflicts_with_all = ["plain", "secret_file", "code"])]
    pub(crate) accept_new: bool,
    /// The fingerprint or key that the host must have; a new one is then remembered without asking
    #[arg(long, value_name = "KEY", help_heading = DATAGRAMS, hide_short_help = true, conflicts_with_all = ["plain", "secret_file", "code"])]
    pub(crate) fingerprint: Option<String>,
}

/// Heading of the flags for datagrams.
const DATAGRAMS: &str = "Lines of datagrams (udp:, ip:)";

impl Transfer {
    /// The requested protocol.
    pub(crate) fn protocol(&self) -> Option<Protocol> {
        self.protocol.as_deref().and_then(Protocol::of)
    }

    /// Refuses flags that have no effect on a line of bytes.
    pub(crate) fn only_keys(&self, spec: &LineSpec) -> Result<(), Ending> {
        let flag = [
            (self.code.is_some(), "--code"),
            (self.accept_new, "--accept-new"),
            (self.fingerprint.is_some(), "--fingerprint"),
        ];
        match flag.iter().find(|(is, _)| *is) {
            None => Ok(()),
            Some((_, flag)) => Err(usage(format!("expected udp: or ip: with {flag}, got {spec}"))),
        }
    }
}

const SEND_EXAMPLES: &str = "\
Examples:
  wst send kernel.bin /dev/ttyUSB0                      to U-Boot's loadb, or C-Kermit's receive
  wst send -P ymodem kernel.bin 'serial:/dev/ttyUSB0?baud=9600'
  wst send kernel.bin @uboot:/dev/ttyUSB0               into a board: reset, load, compare
  wst send photos ssh://box                             a directory, to wst at the host box
  wst send big.iso udp://box:9980                       to wst receive udp-listen://0.0.0.0:9980

Other lines: tcp://HOST:PORT, telnet://HOST, exec:COMMAND... (wst --help)
All settings, by protocol: wst send --help";

/// `wst send`.
#[derive(Args, Debug)]
#[command(override_usage = "wst send [OPTIONS] FILE... LINE", after_help = SEND_EXAMPLES)]
pub(crate) struct Send {
    /// Files and directories to send (- is stdin, and needs --as), and last the line to send them over
    #[arg(required = true, value_name = "FILE... LINE")]
    pub(super) things: Vec<OsString>,
    /// Include directories and everything below them; a directory among the files implies it
    #[arg(short, long)]
    pub(crate) recursive: bool,
    /// Text: convert line ends to those of the peer
    #[arg(long, conflicts_with = "binary")]
    pub(crate) text: bool,
    /// Binary: send bytes unchanged (the default)
    #[arg(long)]
    pub(crate) binary: bool,
    /// Resume an interrupted transfer of the same file
    #[arg(long)]
    pub(crate) resume: bool,
    /// Name of the (single) file at the receiver
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) name: Option<OsString>,
    /// Send whole paths as given, not only their last part
    #[arg(long)]
    pub(crate) paths: bool,
    /// What an ssh:// line's receiver does with a file that is there [its default: backup]; elsewhere wst receive
    /// --collision says so
    #[arg(long, value_name = "WORD", value_parser = collisions(), hide_short_help = true)]
    pub(crate) collision: Option<String>,
    /// Also receive what the peer has queued for us into this directory (UUCP, where a call goes both ways)
    #[arg(short, long, value_name = "DIR", hide_short_help = true)]
    pub(crate) output: Option<PathBuf>,
    /// Set a variable of the device profile, such as address=0x41000000 (wst show profiles)
    #[arg(long = "var", value_name = "NAME=VALUE")]
    pub(crate) vars: Vec<String>,
    /// Which files below directories.
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// What sending and receiving have in common.
    #[command(flatten)]
    pub(crate) transfer: Transfer,
}

/// The words of `--collision`.
fn collisions() -> PossibleValuesParser {
    let row = StoreSettings::TABLE.iter().find(|row| row.name == "store.collision");
    match row.map(|row| row.range) {
        Some(Range::Word(words)) => PossibleValuesParser::new(words),
        _ => PossibleValuesParser::new([""; 0]),
    }
}

impl Send {
    /// The files, and the line. Flags may come between them, so only the last operand tells which is which.
    pub(crate) fn files_and_line(&self) -> Option<(Vec<PathBuf>, &OsStr)> {
        let (line, files) = self.things.split_last()?;
        (!files.is_empty()).then(|| (files.iter().map(PathBuf::from).collect(), line.as_os_str()))
    }
}

const RECEIVE_EXAMPLES: &str = "\
Examples:
  wst receive /dev/ttyUSB0 -o backups                   from a Kermit or ZMODEM sender
  wst receive -P xmodem-crc --as flash.img /dev/ttyUSB0
  wst receive tcp-listen://0.0.0.0:1649 -o inbox        waits for a peer over TCP
  wst receive ssh://box/notes.txt                       from wst at the host box

Other lines: telnet://HOST, exec:COMMAND, pty:... (wst --help)
All settings, by protocol: wst receive --help";

/// `wst receive`.
#[derive(Args, Debug)]
#[command(after_help = RECEIVE_EXAMPLES)]
pub(crate) struct Receive {
    /// The line to receive from
    #[arg(value_name = "LINE")]
    pub(crate) line: OsString,
    /// Directory for the files; nothing is written outside it; - is stdout
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    pub(crate) output: PathBuf,
    /// Local name of the first file, whatever the sender calls it
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) name: Option<OsString>,
    /// Keep the directories of names, below the directory for the files
    #[arg(short = 'r', long, visible_alias = "recursive")]
    pub(crate) paths: bool,
    /// A listener ends after this many sessions; 0 runs until interrupted
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = DATAGRAMS, hide_short_help = true)]
    pub(crate) sessions: u64,
    /// With --code: accept what the sender offers without asking
    #[arg(short = 'y', long, requires = "code", help_heading = DATAGRAMS, hide_short_help = true)]
    pub(crate) yes: bool,
    /// Text, where the sender does not say
    #[arg(long, conflicts_with = "binary")]
    pub(crate) text: bool,
    /// Binary, where the sender does not say (the default)
    #[arg(long)]
    pub(crate) binary: bool,
    /// What sending and receiving have in common.
    #[command(flatten)]
    pub(crate) transfer: Transfer,
}
