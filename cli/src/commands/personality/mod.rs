//! `sz`, `rz` and the others: the program called by another name, with lrzsz's flags and exit codes.
//!
//! [`options`] reads command lines, [`flags`] lists the flags, [`plan`] turns them into settings of
//! the engines and the store. The transfer itself is that of `wst send` and `wst receive`.

mod flags;
mod options;
mod plan;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use wetstring_drive::Signals;

use crate::args::Common;
use crate::config::protocol::Protocol;
use crate::transfer::direction::Direction;
use crate::ui::ending::Ending;
use crate::ui::exit::Exit;
use crate::ui::output;
use crate::ui::output::{Level, Output};
use plan::Plan;

/// The names that select a personality.
pub(crate) const NAMES: [&str; 12] =
    ["sz", "rz", "sx", "rx", "sb", "rb", "lsz", "lrz", "lsx", "lrx", "lsb", "lrb"];

/// lrzsz's codes.
mod code {
    /// All done.
    pub(super) const DONE: u8 = 0;
    /// Some files were skipped or could not be read.
    pub(super) const SKIPPED: u8 = 1;
    /// The command line.
    pub(super) const USAGE: u8 = 2;
    /// The transfer failed. A signal is added to it.
    pub(super) const FAILED: u8 = 128;
}

/// The personality of the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Personality {
    /// The name it was called by, without directories and signs.
    name: String,
    direction: Direction,
    protocol: Protocol,
    /// Called with a `v` before its name.
    verbose: bool,
}

impl Personality {
    /// The personality for a program name, if it is not `wst`. Login shells put `-` before it, and an old
    /// custom puts `v` for a verbose one.
    pub(crate) fn of(argv0: &OsStr) -> Option<Self> {
        let name = Path::new(argv0).file_name()?.to_str()?;
        let name = name.strip_prefix('-').unwrap_or(name);
        let (verbose, name) = name.strip_prefix('v').map_or((false, name), |name| (true, name));
        let plain = NAMES.contains(&name).then(|| name.strip_prefix('l').unwrap_or(name))?;
        let (direction, kind) = plain.split_at(1);
        Some(Self {
            name: name.to_owned(),
            direction: if direction == "s" { Direction::Send } else { Direction::Receive },
            protocol: Protocol::named(match kind {
                "x" => "xmodem",
                "b" => "ymodem",
                _ => "zmodem",
            }),
            verbose,
        })
    }

    /// Runs the command line.
    pub(crate) fn run(&self, args: &[OsString]) -> ExitCode {
        let words = args.get(1..).unwrap_or_default();
        let plan = match Plan::read(self, words) {
            Ok(plan) => plan,
            Err(Stop::Help) => {
                output::print(&flags::help(self));
                return code::DONE.into();
            }
            Err(Stop::Version) => {
                output::print(&format!(
                    "{} (wetstring) {}\n",
                    self.name,
                    env!("CARGO_PKG_VERSION")
                ));
                return code::DONE.into();
            }
            Err(Stop::Usage(say)) => {
                eprintln!("{0}: {say}\n{0} --help lists the options", self.name);
                return code::USAGE.into();
            }
        };
        let common = Common {
            // Terminal programs call it with -vv, which lrzsz answers with a few lines.
            verbose: match plan.verbose.saturating_add(u8::from(self.verbose)) {
                0 => 0,
                1 | 2 => 1,
                _ => 2,
            },
            quiet: plan.quiet,
            ..Common::default()
        };
        let ui = Output::new(common.json, common.quiet, common.verbose, common.log.as_deref())
            .unwrap_or_else(|_| Output::bare(false));
        for note in &plan.notes {
            ui.say(Level::Note, &format!("{}: {note}", self.name));
        }
        std::thread::sleep(plan.delay);
        let forgiving = plan.forgiving;
        let unlink = plan.unlink;
        let mut ending = plan.run(&ui, &common).unwrap_or_else(|early| early);
        if !ending.message.is_empty() {
            let level = if ending.exit == Exit::Done { Level::Detail } else { Level::Error };
            ui.say(level, &format!("{}: {}", self.name, ending.message));
        }
        if unlink {
            ending.kept(crate::transfer::outgoing::delete_sent(
                &ui,
                &ending.tally.sent,
                &self.name,
            ));
        }
        code_of(&ending, forgiving).into()
    }
}

/// The exit code of lrzsz for an end. `forgiving`: the user asked for files to be
/// skipped.
fn code_of(ending: &Ending, forgiving: bool) -> u8 {
    match ending.exit {
        _ if ending.tally.completed.is_some_and(|status| status != 0) => {
            ending.tally.completed.unwrap_or_default()
        }
        Exit::Done => code::DONE,
        Exit::Skipped if ending.tally.cut => code::FAILED,
        Exit::Skipped if forgiving && ending.tally.unread == 0 => code::DONE,
        Exit::Skipped => code::SKIPPED,
        Exit::Usage => code::USAGE,
        Exit::Interrupted => {
            let signal = Signals::install().ok().and_then(|signals| signals.last());
            code::FAILED + signal.and_then(|signal| u8::try_from(signal).ok()).unwrap_or(0)
        }
        _ => code::FAILED,
    }
}

/// Why there is no transfer.
enum Stop {
    Help,
    Version,
    Usage(String),
}

impl From<String> for Stop {
    fn from(say: String) -> Self {
        Self::Usage(say)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn personality_follows_the_program_name() {
        let of = |name: &str| Personality::of(OsStr::new(name));
        let protocol = |name: &str| of(name).map(|p| (p.direction, p.protocol));
        let [xmodem, ymodem, zmodem] = ["xmodem", "ymodem", "zmodem"].map(Protocol::named);
        assert_eq!(protocol("sz"), Some((Direction::Send, zmodem)));
        assert_eq!(protocol("/usr/bin/lrz"), Some((Direction::Receive, zmodem)));
        assert_eq!(protocol("-rx"), Some((Direction::Receive, xmodem)));
        assert_eq!(protocol("lsb"), Some((Direction::Send, ymodem)));
        assert!(of("vrz").is_some_and(|p| p.verbose && p.name == "rz"));
        // A command pasted after the name, which lrzsz would run, selects no personality.
        for name in ["wst", "rzrmail", "z", "", "-", "lz", "rsz"] {
            assert_eq!(of(name), None, "{name}");
        }
    }
}
