//! The command line: verbs, flags, and the flags that come from the table of settings.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, FromArgMatches, Parser, Subcommand};
use wetstring_drive::serve::{KeepFree, Quota};
use wetstring_drive::{LineSpec, in_words};
use wetstring_proto::FileKind;

use crate::code;
use crate::exit;
use crate::explain::Explain;
use crate::kermit::Kermit;
use crate::lab::Lab;
use crate::opening;
use crate::protocol::{self, Protocol};
use crate::slip::Slip;
use crate::transfer::{Ending, usage};

mod flags;

pub(crate) use flags::{command, complete};

use flags::{protocol_in, settings_of};

/// The verbs that will come, so that a person who types one learns so.
const LATER: &[&str] = &["connect"];

const EXAMPLES: &str = "\
Examples:
  wst demo                                        see it work, no hardware needed
  wst send firmware.bin /dev/ttyUSB0              to a Kermit receiver, such as U-Boot's loadb
  wst receive tcp-listen://0.0.0.0:1649 -o inbox  from a Kermit sender over TCP
  wst send notes.txt 'exec-pty:ssh box wst receive -'
  wst send -P xmodem-1k image.bin /dev/ttyUSB0    to a router's or boot loader's XMODEM
  wst send big.iso udp://box:998                  by NETBLT, encrypted, as fast as the path carries
  wst line 9600,delay=250ms,burst=8@2s            a bad line between any two programs

LINE is one of:
  /dev/ttyUSB0, serial:/dev/ttyUSB0?baud=9600&parity=even&flow=rtscts    (wst ports lists them)
  tcp://HOST:PORT, HOST:PORT, tcp-listen://HOST:PORT
  telnet://HOST[:PORT], telnet-listen://HOST:PORT, rfc2217://HOST:PORT?baud=9600    a serial port behind Telnet
  tls://HOST:PORT?fingerprint=SHA256, tls-listen://HOST:PORT?cert=FILE&key=FILE
  udp://HOST:PORT, udp-listen://HOST:PORT, ip://HOST, ip-listen://ADDRESS    NETBLT
  ssh://[USER@]HOST[/PATH]           wst at another host; PATH: the directory or file there
  exec:COMMAND, exec-pty:COMMAND     a program's stdin and stdout
  pty:[NAME]                         make a PTY and print, or link, its name
  -, fd:N                            this program's stdin and stdout; an open socket or terminal
  @PROFILE                           the line of a profile in the configuration file";

const SEND_EXAMPLES: &str = "\
Examples:
  wst send kernel.bin /dev/ttyUSB0                      to U-Boot's loadb, or C-Kermit's receive
  wst send -P ymodem kernel.bin 'serial:/dev/ttyUSB0?baud=9600'
  wst send photos ssh://box                             a directory, to wst at the host box
  wst send big.iso udp://box:998                        to wst receive udp-listen://0.0.0.0:998

Other lines: tcp://HOST:PORT, telnet://HOST, exec:COMMAND... (wst --help)
All settings, by protocol: wst send --help";

const RECEIVE_EXAMPLES: &str = "\
Examples:
  wst receive /dev/ttyUSB0 -o backups                   from a Kermit or ZMODEM sender
  wst receive -P xmodem-crc --as flash.img /dev/ttyUSB0
  wst receive tcp-listen://0.0.0.0:1649 -o inbox        waits for a peer over TCP
  wst receive ssh://box/notes.txt                       from wst at the host box

Other lines: telnet://HOST, exec:COMMAND, pty:... (wst --help)
All settings, by protocol: wst receive --help";

/// Moves files over any line, and knows why it is slow.
#[derive(Parser, Debug)]
#[command(name = "wst", version, max_term_width = 100, after_help = EXAMPLES, after_long_help = after())]
pub(crate) struct Cli {
    /// What every verb takes.
    #[command(flatten)]
    pub(crate) common: Common,
    /// What to do.
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

fn after() -> String {
    format!("{EXAMPLES}\n\n{}", exit::TABLE)
}

/// Flags of every verb.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct Common {
    /// Say more; twice: every packet
    #[arg(short, long, action = clap::ArgAction::Count, global = true, help_heading = "Common options")]
    pub(crate) verbose: u8,
    /// Say nothing but errors
    #[arg(short, long, global = true, help_heading = "Common options", conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Write one JSON object per event to stdout; the last one is the end
    #[arg(long, global = true, help_heading = "Common options")]
    pub(crate) json: bool,
    /// Append messages to a file
    #[arg(
        long,
        value_name = "FILE",
        global = true,
        help_heading = "Common options",
        hide_short_help = true
    )]
    pub(crate) log: Option<PathBuf>,
    /// Write every packet and timer to a file
    #[arg(
        long,
        value_name = "FILE",
        global = true,
        help_heading = "Common options",
        hide_short_help = true
    )]
    pub(crate) trace: Option<PathBuf>,
    /// Take settings from this profile of the configuration file
    #[arg(long, value_name = "NAME", global = true, help_heading = "Common options")]
    pub(crate) profile: Option<String>,
}

/// The verbs.
#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    /// Move a real file over a noisy emulated line, and watch
    Demo(Demo),
    /// Send files
    Send(Send),
    /// Receive files
    Receive(Receive),
    /// Get files from a Kermit server
    Get(Get),
    /// Give files to a Kermit server
    Put(Put),
    /// Have a Kermit server do something: list, delete, rename, show...
    Remote(Remote),
    /// Be a Kermit server for a directory
    Serve(Serve),
    /// Emulate a line in real time between two programs, until interrupted
    Line(Line),
    /// IP over a serial line: SLIP with VJ compression; interactive traffic is prioritized
    Slip(Slip),
    /// A host of the ARPANET at an emulated IMP: up, echo, serve
    Ncp(crate::ncp::Ncp),
    /// The Kermit command language: a script, or a prompt
    Kermit(Kermit),
    /// The laboratory: transfers in virtual time, and the published tables run again
    Lab(Lab),
    /// Say where the time of a transfer went, and which setting would help most
    Explain(Explain),
    /// Make links by which this program is sz, rz, sx, rx, sb, rb, lsz, lrz, lsx, lrx, lsb, lrb and kermit
    InstallLinks(InstallLinks),
    /// The keys by which hosts know each other on udp: and ip: lines
    Key(Key),
    /// The users that a server lets in: names and hashed passwords in a file
    Users(crate::users::Users),
    /// List the serial ports of this machine
    Ports,
    /// Show settings: their values, ranges and defaults
    Show {
        /// Names or beginnings of names; all if none
        names: Vec<String>,
    },
    /// Write a completion script for a shell
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// Write a manual page: of the program, or of one of its verbs
    Man {
        /// The verb, such as send
        verb: Option<String>,
        /// Write every page into this directory, such as ~/.local/share/man/man1
        #[arg(long, value_name = "DIR", conflicts_with = "verb")]
        all: Option<PathBuf>,
    },
}

/// `wst demo`.
#[derive(Args, Debug)]
pub(crate) struct Demo {
    /// The file to move; the source of the protocols themselves if none
    pub(crate) file: Option<PathBuf>,
    /// The line, as for `wst line`
    #[arg(long, value_name = "SPEC", default_value = crate::demo::LINE)]
    pub(crate) line: String,
    /// How much faster than the real line; unless given, so that it ends within 20 seconds
    #[arg(long, value_name = "FACTOR", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) faster: Option<u64>,
}

/// What sending and receiving share.
#[derive(Args, Debug)]
pub(crate) struct Transfer {
    /// Protocol of the peer: kermit (C-Kermit, G-Kermit, U-Boot's loadb, another wst), zmodem (rz and sz,
    /// terminal programs), ymodem (U-Boot's loady), xmodem, xmodem-crc, xmodem-1k (routers, boot loaders),
    /// ymodem-g (reliable lines), uucp-g (uucico), netblt (another wst, udp: and ip: lines)
    /// [default: kermit; a receiver recognises Kermit and ZMODEM by itself]
    #[arg(short = 'P', long, value_parser = protocol::NAMES, hide_possible_values = true)]
    protocol: Option<String>,
    /// Set any setting by its name, such as kermit.window=31 (see `wst show`)
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) sets: Vec<String>,
    /// Say at the end where the time went, and which setting would help most
    #[arg(long)]
    pub(crate) explain: bool,
    /// No encryption: RFC 998 as it stands. Both ends must say so
    #[arg(long, help_heading = DATAGRAMS, conflicts_with = "secret_file", hide_short_help = true)]
    pub(crate) plain: bool,
    /// The secret that both ends share, instead of their keys; WETSTRING_SECRET does the same
    #[arg(long, value_name = "FILE", help_heading = DATAGRAMS, hide_short_help = true)]
    pub(crate) secret_file: Option<PathBuf>,
    /// A phrase that two people tell each other, instead of keys; alone, a sender makes one and a receiver asks
    /// for it
    #[arg(long, value_name = "PHRASE", help_heading = DATAGRAMS, hide_short_help = true, num_args = 0..=1,
          require_equals = true, default_missing_value = "", conflicts_with_all = ["plain", "secret_file"])]
    pub(crate) code: Option<String>,
    /// Take and remember the key of a host that is not known, without a question
    #[arg(long, help_heading = DATAGRAMS, hide_short_help = true, conflicts_with_all = ["plain", "secret_file", "code"])]
    pub(crate) accept_new: bool,
    /// The fingerprint, or the key, that the host must have; a new one is then remembered without a question
    #[arg(long, value_name = "KEY", help_heading = DATAGRAMS, hide_short_help = true, conflicts_with_all = ["plain", "secret_file", "code"])]
    pub(crate) fingerprint: Option<String>,
}

/// What belongs to datagrams.
const DATAGRAMS: &str = "Lines of datagrams (udp:, ip:)";

/// How to come in at a server.
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

/// How files move between a server and here.
#[derive(Args, Debug)]
pub(crate) struct How {
    /// Go on where an earlier transfer of the same file stopped
    #[arg(long, alias = "recover")]
    pub(crate) resume: bool,
    /// Delete each file where it came from when it is whole at the other end
    #[arg(long)]
    pub(crate) delete: bool,
    /// Directories with all that is below them
    #[arg(short, long)]
    pub(crate) recursive: bool,
    /// Lines of text: line ends become those of the end that receives
    #[arg(long, conflicts_with = "binary")]
    pub(crate) text: bool,
    /// Bytes as they are
    #[arg(long)]
    pub(crate) binary: bool,
}

impl How {
    /// Text or bytes, if that was said.
    pub(crate) fn kind(&self) -> Option<FileKind> {
        if self.text { Some(FileKind::Text) } else { self.binary.then_some(FileKind::Binary) }
    }
}

/// `wst get`.
#[derive(Args, Debug)]
#[command(override_usage = "wst get [OPTIONS] NAME... LINE")]
pub(crate) struct Get {
    /// Files there (wildcards are the server's), and last the line to the server
    #[arg(required = true, value_name = "NAME... LINE")]
    things: Vec<OsString>,
    /// Directory to put them into
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    pub(crate) output: PathBuf,
    /// How the files move.
    #[command(flatten)]
    pub(crate) how: How,
    /// How to come in.
    #[command(flatten)]
    pub(crate) access: Access,
}

/// `wst put`.
#[derive(Args, Debug)]
#[command(override_usage = "wst put [OPTIONS] FILE... LINE")]
pub(crate) struct Put {
    /// Files here, and last the line to the server
    #[arg(required = true, value_name = "FILE... LINE")]
    things: Vec<OsString>,
    /// How the files move.
    #[command(flatten)]
    pub(crate) how: How,
    /// How to come in.
    #[command(flatten)]
    pub(crate) access: Access,
}

/// `wst remote`.
#[derive(Args, Debug)]
#[command(after_help = crate::remote::HELP)]
pub(crate) struct Remote {
    /// The line to the server
    pub(crate) line: OsString,
    /// What it shall do
    #[arg(required = true, value_name = "COMMAND")]
    pub(crate) words: Vec<OsString>,
    /// How to come in.
    #[command(flatten)]
    pub(crate) access: Access,
}

/// `wst serve`.
#[derive(Args, Debug)]
pub(crate) struct Serve {
    /// The line to serve; tcp-listen:, telnet-listen: and tls-listen: serve many clients at once
    pub(crate) line: OsString,
    /// The directory that clients see, nothing outside of which can be reached; or, where wst
    /// was built with it, object storage: s3://BUCKET/PREFIX, gs://, az:// (account and endpoint from the
    /// environment), memory:
    #[arg(long, value_name = "DIR")]
    pub(crate) root: PathBuf,
    /// What clients may do besides reading: change files; run commands of the host, or Kermit
    /// scripts (which can run commands too)
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_parser = ["write", "host", "kermit"])]
    pub(crate) allow: Vec<String>,
    /// Disable a command: get, send, cd, delete, space, finish... (`wst remote LINE help` lists them)
    #[arg(long, value_name = "COMMAND", value_delimiter = ',')]
    pub(crate) disable: Vec<String>,
    /// Let in only who is in this file, which wst users add makes: a line NAME:HASH for each, by argon2
    #[arg(long, value_name = "FILE")]
    pub(crate) users: Option<PathBuf>,
    /// With --users: take passwords in clear from other hosts, on tcp-listen: and telnet-listen:
    #[arg(long)]
    pub(crate) plain: bool,
    /// Append a line for each action to a file
    #[arg(long, value_name = "FILE")]
    pub(crate) audit: Option<PathBuf>,
    /// Clients at once
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=10_000))]
    pub(crate) sessions: usize,
    /// Clients at once from one address, or one /64 of IPv6 [default: a quarter]
    #[arg(long, value_name = "N", value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=10_000))]
    pub(crate) per_address: Option<usize>,
    /// Clients besides these that have not logged in, or without --users given no command
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=10_000))]
    pub(crate) unproved: usize,
    /// Of those that have not logged in, from one address [default: a quarter]
    #[arg(long, value_name = "N", value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=10_000))]
    pub(crate) unproved_per_address: Option<usize>,
    /// Login timeout: seconds after which a client that has not logged in is disconnected
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) grace: u64,
    /// From a wrong password to the next try; doubled by each, to 30 times as long
    #[arg(long, value_name = "MS", hide = true, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    pub(crate) guess_delay: u64,
    /// Idle timeout of a session, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=604_800))]
    pub(crate) silence: u64,
    /// Time limit of a session, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=604_800))]
    pub(crate) longest: Option<u64>,
    /// How much.
    #[command(flatten)]
    pub(crate) quotas: ServeQuotas,
    /// Set any setting by its name, such as kermit.window=31 (see `wst show`)
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) sets: Vec<String>,
}

/// How much clients of `wst serve` may move.
#[derive(Args, Debug)]
pub(crate) struct ServeQuotas {
    /// What a session may move both ways, or stored=SIZE, sent=SIZE; SIZE is bytes, or such as 500K, 20M, 3G
    #[arg(long, value_name = "QUOTA")]
    pub(crate) most_bytes: Option<Quota>,
    /// What a user may move in all his sessions since the server began; deleting gives nothing back.
    /// Without --users all clients together
    #[arg(long, value_name = "QUOTA")]
    pub(crate) user_quota: Option<Quota>,
    /// What uploads and copies leave free on the file system: SIZE, or such as 10%
    #[arg(long, value_name = "SIZE")]
    pub(crate) keep_free: Option<KeepFree>,
}

/// `wst send`.
#[derive(Args, Debug)]
#[command(override_usage = "wst send [OPTIONS] FILE... LINE", after_help = SEND_EXAMPLES)]
pub(crate) struct Send {
    /// Files and directories to send (- is stdin, and needs --as), and last the line to send them over
    #[arg(required = true, value_name = "FILE... LINE")]
    things: Vec<OsString>,
    /// Directories with all that is below them, which a directory among the files means anyway
    #[arg(short, long)]
    pub(crate) recursive: bool,
    /// Lines of text: line ends become those of the other end
    #[arg(long, conflicts_with = "binary")]
    pub(crate) text: bool,
    /// Bytes as they are (this is the default)
    #[arg(long)]
    pub(crate) binary: bool,
    /// Go on where an earlier transfer of the same file stopped
    #[arg(long)]
    pub(crate) resume: bool,
    /// Name of the (one) file at the other end
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) name: Option<OsString>,
    /// Send paths as they stand here, not only the last part of them
    #[arg(long)]
    pub(crate) paths: bool,
    /// Take what the peer has queued for us, too, into this directory (UUCP, where a call goes both ways)
    #[arg(short, long, value_name = "DIR", hide_short_help = true)]
    pub(crate) output: Option<PathBuf>,
    /// What sending and receiving share.
    #[command(flatten)]
    pub(crate) transfer: Transfer,
}

impl Transfer {
    /// The protocol that was asked for.
    pub(crate) fn protocol(&self) -> Option<Protocol> {
        self.protocol.as_deref().and_then(Protocol::of)
    }

    /// Refuses what means nothing on a line of bytes, before somebody believes that it does.
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
        [line, .., last] if opening::is_line(line) && !opening::is_line(last) => {
            (&things[1..], line)
        }
        [names @ .., line] => (names, line),
        [] => (&[], OsStr::new("")),
    }
}

impl Send {
    /// The files, and the line. Flags may stand between them, so only the end tells which is which.
    pub(crate) fn files_and_line(&self) -> Option<(Vec<PathBuf>, &OsStr)> {
        let (line, files) = self.things.split_last()?;
        (!files.is_empty()).then(|| (files.iter().map(PathBuf::from).collect(), line.as_os_str()))
    }
}

/// `wst receive`.
#[derive(Args, Debug)]
#[command(after_help = RECEIVE_EXAMPLES)]
pub(crate) struct Receive {
    /// The line to receive from
    #[arg(value_name = "LINE")]
    pub(crate) line: OsString,
    /// Directory for the files, and nothing is written outside it; - is stdout
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    pub(crate) output: PathBuf,
    /// Name of the first file here, whatever the sender calls it
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) name: Option<OsString>,
    /// Take the directories of a name too, below the directory for the files
    #[arg(short = 'r', long, visible_alias = "recursive")]
    pub(crate) paths: bool,
    /// A listener ends after this many sessions; 0 runs until interrupted
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = DATAGRAMS, hide_short_help = true)]
    pub(crate) sessions: u64,
    /// With --code: take what the sender offers without a question
    #[arg(short = 'y', long, requires = "code", help_heading = DATAGRAMS, hide_short_help = true)]
    pub(crate) yes: bool,
    /// Lines of text, where the sender does not say
    #[arg(long, conflicts_with = "binary")]
    pub(crate) text: bool,
    /// Bytes as they are, where the sender does not say (this is the default)
    #[arg(long)]
    pub(crate) binary: bool,
    /// What sending and receiving share.
    #[command(flatten)]
    pub(crate) transfer: Transfer,
}

/// `wst key`.
#[derive(Args, Debug)]
pub(crate) struct Key {
    /// What to do
    #[command(subcommand)]
    pub(crate) what: KeyVerb,
}

/// The verbs of `wst key`.
#[derive(Subcommand, Debug)]
pub(crate) enum KeyVerb {
    /// Show the key of this host and user; it is made when there is none
    Show,
    /// List the hosts that are known, and the keys that may send to listeners here
    List,
    /// Let a key send to listeners here
    Trust {
        /// The key, as wst key show writes it at the other end
        #[arg(value_name = "KEY")]
        key: String,
        /// Whose it is, for the list
        #[arg(value_name = "NAME", default_value = "")]
        name: String,
    },
    /// Let a key in no more
    Revoke {
        /// The key, as wst key list writes it
        #[arg(value_name = "KEY")]
        key: String,
    },
    /// Forget the key of a host that has changed it on purpose
    Forget {
        /// The line by which it was dialled, such as udp://box:998
        #[arg(value_name = "LINE")]
        host: String,
    },
    /// Write a new secret for --secret-file to stdout
    Secret,
}

/// `wst install-links`.
#[derive(Args, Debug)]
pub(crate) struct InstallLinks {
    /// The directory for the links
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// Replace what is there and is not ours
    #[arg(long)]
    pub(crate) force: bool,
}

/// `wst line`.
#[derive(Args, Debug)]
pub(crate) struct Line {
    /// The line: its rate in bit/s, then any of delay=250ms, bits=10, 7bit, parity=even, ber=1e-5,
    /// burst=8@2s, drop=1e-6, dup=1e-6, dir=fwd|rev|both, half=80ms, echo, buffer=64, seed=7. Or a
    /// network, between ends of datagrams: path:rate=200M,delay=50ms,loss=1%,queue=256K and others;
    /// or imp:1, the ARPANET's subnet
    #[arg(value_name = "SPEC")]
    pub(crate) spec: String,
    /// First end: any LINE, such as pty:NAME or tcp-listen://127.0.0.1:7001; of a network tun:NAME,
    /// udp-listen://HOST:PORT or udp://HOST:PORT; of imp: ncp://HOST?host=HOST:PORT&port=N
    #[arg(short, value_name = "LINE", default_value = "pty:")]
    pub(crate) a: OsString,
    /// Second end
    #[arg(short, value_name = "LINE", default_value = "pty:")]
    pub(crate) b: OsString,
    /// How much faster than real time
    #[arg(long, value_name = "FACTOR", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) faster: u32,
}

/// A command line that was understood.
pub(crate) struct Parsed {
    /// The flags and the verb.
    pub(crate) cli: Cli,
    /// Settings by flags of their own and by `--set`, the later ones last.
    pub(crate) settings: Vec<(String, String)>,
}

/// Reads a command line.
pub(crate) fn parse(args: &[OsString]) -> Result<Parsed, clap::Error> {
    let args = &*code::joined(args);
    let protocol = protocol_in(args);
    let matches = command(protocol).try_get_matches_from(args)?;
    let settings = settings_of(&matches);
    let cli = Cli::from_arg_matches(&matches)?;
    let mut parsed = Parsed { cli, settings };
    let things = match &parsed.cli.verb {
        Verb::Send(Send { things, .. })
        | Verb::Get(Get { things, .. })
        | Verb::Put(Put { things, .. }) => Some(things),
        _ => None,
    };
    if things.is_some_and(|things| things.len() < 2) {
        let say = "expected at least one file, and last the line, got only one of them";
        let mut whole = command(protocol);
        whole.build();
        let verb = matches.subcommand_name().and_then(|name| whole.find_subcommand_mut(name));
        let error =
            |command: &mut clap::Command| command.error(ErrorKind::MissingRequiredArgument, say);
        return Err(match verb {
            Some(verb) => error(verb),
            None => error(&mut command(protocol)),
        });
    }
    let (sets, kind) = match &parsed.cli.verb {
        Verb::Send(send) => (&send.transfer.sets, None),
        Verb::Receive(receive) => {
            let kind = if receive.text { Some("text") } else { receive.binary.then_some("binary") };
            (&receive.transfer.sets, kind)
        }
        Verb::Get(get) => (&get.access.sets, None),
        Verb::Put(put) => (&put.access.sets, None),
        Verb::Remote(remote) => (&remote.access.sets, None),
        Verb::Serve(serve) => (&serve.sets, None),
        Verb::Kermit(kermit) => (&kermit.sets, None),
        _ => return Ok(parsed),
    };
    parsed.settings.extend(kind.map(|k| ("kermit.receive-kind".to_owned(), k.to_owned())));
    for set in sets {
        let Some((name, value)) = set.split_once('=') else {
            let say = format!("expected --set NAME=VALUE, got {set}\n");
            return Err(command(protocol).error(ErrorKind::ValueValidation, say));
        };
        parsed.settings.push((name.trim().to_owned(), value.trim().to_owned()));
    }
    Ok(parsed)
}

/// What to say of a command line that was not understood: the sentence, and the whole text unless it is
/// clap's own.
pub(crate) fn explain(error: &clap::Error) -> (String, Option<String>) {
    let word = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(word)) => word.as_str(),
        _ => "",
    };
    if error.kind() == ErrorKind::InvalidSubcommand && LATER.contains(&word) {
        let say = format!(
            "{word} is not there yet; what works today: demo, send, receive, get, put, remote, serve, line, slip, lab, key, users, ports, show, install-links"
        );
        return (say.clone(), Some(format!("wst: {say}\n")));
    }
    let text = in_words(&error);
    (sentence(&text), None)
}

/// What clap says before it comes to tips and the usage, on one line.
fn sentence(text: &str) -> String {
    let lines = text.lines().map(str::trim).take_while(|line| !line.is_empty());
    let mut whole = String::new();
    for line in lines {
        // A list, such as of arguments that are missing, stands one to a line.
        let between = if whole.is_empty() {
            ""
        } else if whole.ends_with(':') || line.starts_with('[') {
            " "
        } else {
            ", "
        };
        whole.push_str(between);
        whole.push_str(line);
    }
    whole.strip_prefix("error: ").map_or(whole.clone(), str::to_owned)
}

/// Whether the JSON output was asked for, even if the rest of the line makes no sense.
pub(crate) fn wants_json(args: &[OsString]) -> bool {
    args.iter().take_while(|arg| *arg != OsStr::new("--")).any(|arg| arg == OsStr::new("--json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(line: &str) -> Vec<(String, String)> {
        let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        parse(&args).map_or_else(|e| panic!("{e}"), |parsed| parsed.settings)
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn the_command_is_consistent() {
        for name in protocol::NAMES {
            command(Protocol::of(name).unwrap()).debug_assert();
        }
    }

    #[test]
    fn the_last_word_is_the_line() {
        let args =
            ["wst", "send", "a", "--window", "4", "b", "--text", "/dev/tty"].map(OsString::from);
        let Ok(Parsed { cli: Cli { verb: Verb::Send(send), .. }, .. }) = parse(&args) else {
            panic!("expected send")
        };
        let (files, line) = send.files_and_line().unwrap();
        assert_eq!(files, [PathBuf::from("a"), PathBuf::from("b")]);
        assert_eq!(line, "/dev/tty");
    }

    #[test]
    fn flags_and_sets_become_settings() {
        assert_eq!(settings("wst send --window 4 f -"), [pair("kermit.window", "4")]);
        assert_eq!(settings("wst receive - --text"), [pair("kermit.receive-kind", "text")]);
        assert_eq!(settings("wst send f - --prefix all"), [pair("kermit.prefixing", "all")]);
        let both = [pair("kermit.send-length", "90"), pair("kermit.receive-length", "90")];
        assert_eq!(settings("wst send --length 90 f -"), both);
        // What is named in full comes last and wins.
        let netblt = [pair("netblt.burst", "5"), pair("netblt.interval", "55")];
        assert_eq!(settings("wst send --burst 5 --interval 55ms f udp://box:9"), netblt);
        let ceiling = [pair("netblt.max-rate", "200000000")];
        assert_eq!(settings("wst receive --max-rate 200M udp-listen://[::]:9"), ceiling);
        let zmodem = [pair("zmodem.window", "4096")];
        assert_eq!(settings("wst send -P zmodem --window 4096 f -"), zmodem);
        assert_eq!(settings("wst send --window=4096 f - --protocol=zmodem"), zmodem);
        assert_eq!(settings("wst receive -Pxmodem --pad 0 -"), [pair("xymodem.pad", "0")]);
        let last = [pair("kermit.window", "4"), pair("kermit.window", "9")];
        assert_eq!(settings("wst send --set kermit.window=9 --window 4 f -"), last);
    }

    #[test]
    fn a_verb_that_will_come_is_told_so() {
        for verb in LATER {
            let args = ["wst", verb].map(OsString::from);
            let Err(error) = parse(&args) else { panic!("{verb} exists") };
            let (say, _) = explain(&error);
            assert!(say.starts_with(&format!("{verb} is not there yet")), "{say}");
        }
    }
}
