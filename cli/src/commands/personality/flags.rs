//! The flags of the `sz` and `rz` families, and their help.

use std::fmt::Write as _;

use super::Personality;
use super::options::{Spec, Takes};
use crate::transfer::direction::Direction;

const fn flag(short: u8, long: &'static str, help: &'static str) -> Spec {
    Spec { short, long, takes: Takes::Nothing, help }
}

const fn value(short: u8, long: &'static str, help: &'static str) -> Spec {
    Spec { short, long, takes: Takes::Value, help }
}

/// Flags accepted for old scripts, without effect.
const IGNORED: &str = "accepted, no effect";

/// Flags of both families.
const BOTH: &[Spec] = &[
    flag(b'a', "ascii", "text: convert line ends to those of the receiver"),
    flag(b'b', "binary", "binary: send bytes unchanged"),
    value(b'B', "bufsize", IGNORED),
    value(0, "delay-startup", "wait N seconds first"),
    flag(b'e', "escape", "escape all control characters (ZMODEM)"),
    flag(b'h', "help", "print this help"),
    value(b'm', "min-bps", "minimum rate in bytes per second..."),
    value(b'M', "min-bps-time", "...measured over N seconds (120)"),
    flag(b'O', "disable-timeouts", "raise timeouts to an hour"),
    flag(b'q', "quiet", "print only errors"),
    flag(b'R', "restricted", "confine names to this directory"),
    value(b's', "stop-at", "end at HH:MM, or in +N seconds"),
    flag(b'S', "timesync", IGNORED),
    Spec { short: 0, long: "syslog", takes: Takes::Maybe, help: IGNORED },
    value(b't', "timeout", "longest wait for an answer, in tenths of a second"),
    flag(0, "tcp-server", "listen on a TCP port instead of using stdin and stdout"),
    value(0, "tcp-client", "connect to ADDRESS:PORT instead of using stdin and stdout"),
    flag(b'U', "unrestrict", "undo -R; names stay confined"),
    flag(b'v', "verbose", "print more; three times: every packet"),
    flag(0, "version", "print the version"),
    value(b'w', "windowsize", "maximum unacknowledged bytes (ZMODEM)"),
    flag(b'X', "xmodem", "use XMODEM"),
    flag(0, "ymodem", "use YMODEM"),
    flag(b'Z', "zmodem", "use ZMODEM"),
];

/// Flags of `sz`, `sb`, `sx`.
const SEND: &[Spec] = &[
    flag(b'+', "append", "ask the receiver to append to an existing file (ZMODEM)"),
    flag(b'2', "twostop", IGNORED),
    flag(b'4', "try-4k", "subpackets of up to 4096 bytes (ZMODEM)"),
    flag(b'5', "start-4k", "the same"),
    flag(b'8', "try-8k", "subpackets of up to 8192 bytes (ZMODEM)"),
    flag(b'9', "start-8k", "the same"),
    value(b'c', "command", "run a command at the receiver instead of sending files (ZMODEM)"),
    value(b'i', "immediate-command", "the same, without waiting for its end"),
    value(b'C', "command-tries", "send the command at most N times (11)"),
    flag(b'd', "dot-to-slash", "send A.B as A/B"),
    flag(b'E', "rename", "ask the receiver to rename if the file exists (ZMODEM)"),
    flag(b'f', "full-path", "send the whole path, not only its last part"),
    flag(b'k', "1k", "blocks of 1024 bytes (XMODEM)"),
    value(b'L', "packetlen", "subpackets of at most N bytes (ZMODEM)"),
    value(b'l', "framelen", "wait for an acknowledgement every N bytes (ZMODEM)"),
    flag(b'n', "newer", "send if newer (ZMODEM; the receiver must allow it)"),
    flag(b'N', "newer-or-longer", "send if newer or longer (ZMODEM; the receiver must allow it)"),
    flag(b'o', "16-bit-crc", "CRC-16 instead of CRC-32 (ZMODEM)"),
    flag(b'p', "protect", "ask the receiver to keep an existing file (ZMODEM)"),
    flag(b'r', "resume", "resume an interrupted transfer (ZMODEM)"),
    flag(0, "tcp", IGNORED),
    flag(b'T', "turbo", "escape less (ZMODEM)"),
    flag(b'u', "unlink", "remove each file once it is sent completely"),
    flag(b'y', "overwrite", "ask the receiver to replace an existing file (ZMODEM)"),
    flag(b'Y', "overwrite-or-skip", "the same, and to skip files that do not exist there"),
];

/// Flags of `rz`, `rb`, `rx`.
const RECEIVE: &[Spec] = &[
    flag(b'+', "append", "append to existing files"),
    flag(b'c', "with-crc", "ask for CRCs (XMODEM)"),
    flag(b'C', "allow-remote-commands", "run the sender's commands: it may do anything"),
    flag(0, "allow-commands", "the same"),
    flag(b'D', "null", "discard received files"),
    flag(b'E', "rename", "NAME.0, NAME.1... if the name is taken"),
    value(0, "errors", IGNORED),
    flag(b'j', "junk-path", "use only the last part of names"),
    flag(0, "o-sync", "sync to disk before a file is acknowledged"),
    flag(b'p', "protect", "keep existing files (the default)"),
    flag(b'r', "resume", "resume partial files (ZMODEM)"),
    flag(b'u', "keep-uppercase", "keep names in capitals unchanged (YMODEM)"),
    flag(b'y', "overwrite", "replace existing files"),
];

/// The flags of a program of this direction.
pub(super) fn specs(direction: Direction) -> Vec<Spec> {
    let own = if direction == Direction::Send { SEND } else { RECEIVE };
    own.iter().chain(BOTH).copied().collect()
}

/// The help.
pub(super) fn help(who: &Personality) -> String {
    let (name, title) = (&who.name, who.protocol.title);
    let mut page = match (who.direction, who.protocol) {
        (Direction::Send, _) => {
            format!(
                "{name}: sends files by {title} over stdin and stdout\n\n{name} [OPTIONS] FILE...\n"
            )
        }
        (Direction::Receive, protocol) if !protocol.tells_names => {
            format!(
                "{name}: receives a file by {title} over stdin and stdout\n\n{name} [OPTIONS] FILE\n"
            )
        }
        (Direction::Receive, _) => {
            format!("{name}: receives files by {title} over stdin and stdout\n\n{name} [OPTIONS]\n")
        }
    };
    page += "\nThis is wetstring's wst under another name; docs/reference/lrzsz-names.md compares it with lrzsz.\n\n";
    let mut specs = specs(who.direction);
    specs.retain(|spec| !spec.help.is_empty());
    specs.sort_by_key(|spec| (spec.long.to_ascii_lowercase(), spec.long));
    for spec in specs {
        let short = match spec.short {
            0 => "   ".to_owned(),
            short => format!("-{},", char::from(short)),
        };
        let takes = match spec.takes {
            Takes::Nothing => "",
            Takes::Value => " N",
            Takes::Maybe => "[=off]",
        };
        let long = format!("--{}{takes}", spec.long);
        // Writing to a string cannot fail.
        let _ = writeln!(page, "  {short} {long:<24} {}", spec.help);
    }
    page += "\nExit codes: 0 all done, 1 some files skipped or unreadable, 2 usage, 128 the transfer failed,\n\
             128+N ended by signal N.\n";
    page
}
