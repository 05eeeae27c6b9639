//! The command line: verbs, flags, and the flags generated from the tables of settings.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, FromArgMatches, Parser, Subcommand};
use wetstring_drive::in_words;

pub(crate) mod client;
mod code_phrase;
pub(crate) mod connect;
pub(crate) mod demo;
pub(crate) mod explain;
mod flags;
pub(crate) mod install_links;
pub(crate) mod kermit;
pub(crate) mod key;
pub(crate) mod lab;
pub(crate) mod lab_check;
pub(crate) mod lab_measure;
pub(crate) mod line;
pub(crate) mod line_arg;
pub(crate) mod ncp;
pub(crate) mod probe;
pub(crate) mod selection;
pub(crate) mod serve;
pub(crate) mod session;
pub(crate) mod slip;
pub(crate) mod transfer;
pub(crate) mod users;
pub(crate) mod web;
pub(crate) mod wrap;

pub(crate) use flags::{command, complete};

use client::{Get, Put, Remote};
use connect::Connect;
use demo::Demo;
use explain::Explain;
use flags::{by_set, of_another, protocol_in, settings_of};
use install_links::InstallLinks;
use kermit::Kermit;
use key::Key;
use lab::Lab;
use line::Line;
use ncp::Ncp;
use probe::Probe;
use serve::Serve;
use slip::Slip;
use transfer::{Receive, Send};
use users::Users;
use web::Web;
use wrap::Wrap;

use crate::config::protocol::Protocol;
use crate::ui::exit;

const EXAMPLES: &str = "\
Examples:
  wst demo                                        see it work, no hardware needed
  wst connect /dev/ttyUSB0                        a terminal on a serial port
  wst ssh box, wst -- docker exec -it box sh      any command; sz, rz and kermit there send and receive here
  wst send firmware.bin /dev/ttyUSB0              to a Kermit receiver, such as U-Boot's loadb
  wst receive tcp-listen://0.0.0.0:1649 -o inbox  from a Kermit sender over TCP
  wst send notes.txt 'exec-pty:ssh box wst receive -'
  wst send -P xmodem-1k image.bin /dev/ttyUSB0    to a router's or boot loader's XMODEM
  wst send big.iso udp://box:9980                 by NETBLT, encrypted, as fast as the path carries
  wst line 9600,delay=250ms,burst=8@2s            a bad line between any two programs

LINE is one of:
  /dev/ttyUSB0, serial:/dev/ttyUSB0?baud=9600&parity=even&flow=rtscts    (wst ports lists them)
  usb:SERIAL-NUMBER, @latest, @new   a serial port by its adapter; plugged in last; plugged in next
  tcp://HOST:PORT, HOST:PORT, tcp-listen://HOST:PORT
  telnet://HOST[:PORT], telnet-listen://HOST:PORT, rfc2217://HOST:PORT?baud=9600    a serial port behind Telnet
  tls://HOST:PORT?fingerprint=SHA256, tls-listen://HOST:PORT?cert=FILE&key=FILE
  udp://HOST:PORT, udp-listen://HOST:PORT, ip://HOST, ip-listen://ADDRESS    NETBLT
  ssh://[USER@]HOST[/PATH]           wst at another host; PATH: the directory or file there
  exec:COMMAND, exec-pty:COMMAND     a program's stdin and stdout
  unix:PATH                          a Unix-domain socket, such as the serial port of QEMU
  pty:[NAME]                         make a PTY and print, or link, its name
  -, fd:N                            this program's stdin and stdout; an open socket or terminal
  @PROFILE                           the line of a profile in the configuration file
  @DEVICE:LINE                       a board or other device that wst send brings a file into (wst show profiles)";

/// Transfers files over any line, and says why it is slow.
#[derive(Parser, Debug)]
#[command(name = "wst", version, disable_version_flag = true, max_term_width = 100, after_help = EXAMPLES, after_long_help = after())]
pub(crate) struct Cli {
    /// Flags of every verb.
    #[command(flatten)]
    pub(crate) common: Common,
    /// Print version; with --verbose also target, features and commit
    #[arg(short = 'V', long, action = clap::ArgAction::Version)]
    pub(crate) version: Option<bool>,
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
    /// Print more; twice: every packet
    #[arg(short, long, action = clap::ArgAction::Count, global = true, help_heading = "Common options")]
    pub(crate) verbose: u8,
    /// Print only errors
    #[arg(short, long, global = true, help_heading = "Common options", conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Write one JSON object per event to stdout; the last one is `end`
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
    /// Watch a real file cross a noisy emulated line
    Demo(Demo),
    /// A terminal on a line: type, look, send and receive files, log
    Connect(Connect),
    /// Run a command, such as ssh, in this terminal, with transfers that its other side starts
    Wrap(Wrap),
    /// Send files
    Send(Send),
    /// Receive files
    Receive(Receive),
    /// Get files from a Kermit server
    Get(Get),
    /// Send files to a Kermit server
    Put(Put),
    /// Run a command at a Kermit server: list, delete, rename, show...
    Remote(Remote),
    /// Serve a directory as a Kermit server
    Serve(Serve),
    /// Serve a page with a terminal and transfers to browsers on this machine, with a line behind it
    Web(Web),
    /// Emulate a line in real time between two programs, until interrupted
    Line(Line),
    /// IP over a serial line: SLIP with VJ compression; interactive traffic is prioritised
    Slip(Slip),
    /// A host of the ARPANET at an emulated IMP: up, echo, serve
    Ncp(Ncp),
    /// The Kermit command language: a script, or a prompt
    Kermit(Kermit),
    /// The laboratory: transfers in virtual time, and published tables reproduced
    Lab(Lab),
    /// Explain where the time of a transfer went, and which setting would help most
    Explain(Explain),
    /// Install links named sz, rz, sx, rx, sb, rb, lsz, lrz, lsx, lrx, lsb, lrb and kermit
    InstallLinks(InstallLinks),
    /// Manage the keys that authenticate hosts on udp: and ip: lines
    Key(Key),
    /// Manage the users of a server: names and hashed passwords in a file
    Users(Users),
    /// List the serial ports of this machine
    Ports {
        /// Also those that come and go, until Ctrl-C
        #[arg(short, long)]
        watch: bool,
    },
    /// Find what a line does to the bytes that pass it, with a peer that answers
    Probe(Probe),
    /// Show settings with their values, ranges and defaults
    Show {
        /// Names or prefixes of names [default: all]; profiles: the device profiles; profiles NAME: one of them
        names: Vec<String>,
        /// What is remembered of this line, and the settings that follow
        #[arg(long, value_name = "LINE", conflicts_with = "names")]
        line: Option<OsString>,
    },
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page of the program, or of one of its verbs
    Man {
        /// The verb, such as send
        verb: Option<String>,
        /// Write every page into this directory, such as ~/.local/share/man/man1
        #[arg(long, value_name = "DIR", conflicts_with = "verb")]
        all: Option<PathBuf>,
    },
}

/// A parsed command line.
pub(crate) struct Parsed {
    /// The flags and the verb.
    pub(crate) cli: Cli,
    /// Settings from flags and `--set`, in increasing priority.
    pub(crate) settings: Vec<(String, String)>,
}

/// Reads a command line.
pub(crate) fn parse(args: &[OsString]) -> Result<Parsed, clap::Error> {
    let wrapped = wrap::written_out(args);
    let args = wrapped.as_deref().unwrap_or(args);
    let args = &*code_phrase::joined(args);
    let protocol = protocol_in(args);
    let matches = command(protocol).try_get_matches_from(args);
    let matches = matches.map_err(|error| of_the_protocol(error, protocol, args))?;
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
        let verb = matches.subcommand_name();
        return Err(error_of(protocol, verb, ErrorKind::MissingRequiredArgument, say));
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
        Verb::Connect(connect) => (&connect.sets, None),
        Verb::Wrap(wrap) => (&wrap.sets, None),
        Verb::Kermit(kermit) => (&kermit.sets, None),
        Verb::Slip(slip) => (&slip.sets, None),
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

/// The error, or a better one where the flag is another protocol's, or stands elsewhere.
fn of_the_protocol(error: clap::Error, protocol: Protocol, args: &[OsString]) -> clap::Error {
    let unknown = (error.kind() == ErrorKind::UnknownArgument)
        .then(|| error.get(ContextKind::InvalidArg))
        .flatten();
    let Some(ContextValue::String(flag)) = unknown else { return error };
    let words = || args.iter().skip(1).filter_map(|word| word.to_str());
    let Some(verb) = words().find(|word| !word.starts_with('-')) else { return error };
    // Clap names the flag with its value.
    let flag = flag.split(['=', ' ']).next().unwrap_or_default();
    let better = match (verb, flag) {
        // Only these have the protocols' flags.
        ("send" | "receive", _) => of_another(protocol, flag),
        ("get" | "put" | "remote" | "serve", _) => by_set(verb, flag),
        ("connect", "-b" | "--baud" | "--baudrate") => Some(format!(
            "the rate is part of the line, such as '/dev/ttyUSB0?baud=9600', got {flag}"
        )),
        _ => None,
    };
    match better {
        Some(say) => error_of(protocol, Some(verb), ErrorKind::UnknownArgument, &say),
        None => error,
    }
}

/// An error with the usage of a verb, or of the program.
fn error_of(protocol: Protocol, verb: Option<&str>, kind: ErrorKind, say: &str) -> clap::Error {
    let mut whole = command(protocol);
    whole.build();
    match verb.and_then(|name| whole.find_subcommand_mut(name)) {
        Some(verb) => verb.error(kind, say),
        None => whole.error(kind, say),
    }
}

/// The message for an invalid command line: the sentence, and the whole text unless it is
/// clap's own.
pub(crate) fn explain(error: &clap::Error) -> (String, Option<String>) {
    let text = in_words(&error);
    (sentence(&text), None)
}

/// Clap's message without tips and usage, on one line.
fn sentence(text: &str) -> String {
    let lines = text.lines().map(str::trim).take_while(|line| !line.is_empty());
    let mut whole = String::new();
    for line in lines {
        // A list, such as missing arguments, has one item a line.
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

/// Whether JSON output is requested, even if the rest of the line is invalid.
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
        for protocol in Protocol::chosen() {
            command(protocol).debug_assert();
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
    fn a_flag_of_another_protocol_is_named_so() {
        let say = |line: &str| {
            let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            parse(&args).map(drop).expect_err("a flag that is not there").to_string()
        };
        let parity = say("wst send -P zmodem --parity even f -");
        let wanted = "error: ZMODEM has no --parity: it is a flag with -P kermit\n";
        assert!(parity.starts_with(wanted), "{parity}");
        assert!(parity.contains("Usage: wst send"), "{parity}");
        let window = say("wst send -P ymodem --window=4 f -");
        assert!(window.contains("has no --window: it is a flag with -P kermit"), "{window}");
        let length = say("wst receive -P zmodem --length 90 -");
        assert!(length.contains("ZMODEM has no --length: it is"), "{length}");
        let check = say("wst --quiet send -P xmodem --check 3 f -");
        assert!(check.starts_with("error: XMODEM has no --check: it is a flag with -P kermit"));
        assert!(check.contains("Usage: wst send"), "{check}");
        for line in ["wst connect --window 4 x", "wst put --truncate-pad on a x"] {
            assert!(say(line).contains("unexpected argument"), "{line}");
        }
        let put = say("wst put --window 4 a x");
        assert!(put.starts_with("error: wst put has no --window: write --set kermit.window=VALUE"));
        assert!(say("wst connect -b 9600 x").contains("the rate is part of the line"));
        assert!(say("wst send --wdow 4 f -").contains("unexpected argument"));
    }

    #[test]
    fn flags_and_sets_become_settings() {
        assert_eq!(settings("wst send --window 4 f -"), [pair("kermit.window", "4")]);
        assert_eq!(settings("wst receive - --text"), [pair("kermit.receive-kind", "text")]);
        assert_eq!(settings("wst send f - --prefix all"), [pair("kermit.prefixing", "all")]);
        let both = [pair("kermit.send-length", "90"), pair("kermit.receive-length", "90")];
        assert_eq!(settings("wst send --length 90 f -"), both);
        // A full name comes last and wins.
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
}
