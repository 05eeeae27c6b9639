//! Questions inside a session, and what follows from the answers.

use std::path::PathBuf;
use std::sync::LazyLock;

use wetstring_drive::line::Parity;

use super::Session;
use super::autostart::{Start, into, title};
use super::editor::{Completes, Editor, Typed, names_or_one};
use super::screen::{Maps, Screen};
use super::transfers::Begun;
use crate::config::protocol::Protocol;
use crate::ui::ending::Ending;

/// Protocols for files, in the order of their use.
static PROTOCOLS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let mut offered: Vec<_> = Protocol::all().filter(|known| known.offered.is_some()).collect();
    offered.sort_by_key(|known| known.offered);
    offered.iter().map(|known| known.name).collect()
});

const PARITIES: &[&str] = &["none", "even", "odd", "mark", "space"];

const CONSENTS: &[&str] = &["yes", "no"];

const MAPS: &[&str] = &Maps::WORDS;

/// What is asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Question {
    /// Files to send.
    SendFiles,
    /// Files for a receiver that is started at the peer's shell.
    Upload,
    /// The protocol for them.
    SendBy(Vec<PathBuf>),
    /// The protocol to receive by.
    ReceiveBy,
    /// The name for a file of XMODEM.
    ReceiveAs(&'static str),
    /// A script.
    Script,
    /// A log.
    Log,
    /// A rate in bit/s.
    Baud,
    /// Parity.
    Parity,
    /// Line ends.
    Maps,
    /// Whether files that the peer sends are received.
    Consent(Start),
    /// Files for a peer that waits for them.
    Offer(Start),
}

/// A question on the screen, and the answer so far.
#[derive(Debug)]
pub(crate) struct Asking {
    question: Question,
    editor: Editor,
}

/// The protocol of this name among those for files.
fn protocol(name: &str) -> Option<&'static str> {
    PROTOCOLS.iter().find(|known| **known == name).copied()
}

impl Session<'_> {
    /// The protocol if only Return is typed.
    fn usual(&self) -> &'static str {
        self.protocol.unwrap_or(PROTOCOLS[0])
    }

    /// Asks, if there is a user.
    pub(super) fn ask(&mut self, question: Question) {
        if !self.has_user() {
            return;
        }
        let usual = self.usual();
        let (text, completes) = match &question {
            Question::SendFiles => ("Send files: ".to_owned(), Completes::Paths),
            Question::Upload => ("Upload files: ".to_owned(), Completes::Paths),
            Question::SendBy(_) => {
                (format!("By protocol [{usual}]: "), Completes::Words(&PROTOCOLS))
            }
            Question::ReceiveBy => {
                (format!("Receive by protocol [{usual}]: "), Completes::Words(&PROTOCOLS))
            }
            Question::ReceiveAs(_) => ("Store as: ".to_owned(), Completes::Paths),
            Question::Script => ("Run script: ".to_owned(), Completes::Paths),
            Question::Log => ("Log to file: ".to_owned(), Completes::Paths),
            Question::Baud => ("Rate in bit/s: ".to_owned(), Completes::Nothing),
            Question::Parity => {
                ("Parity (none, even, odd, mark, space): ".to_owned(), Completes::Words(PARITIES))
            }
            Question::Consent(start) => {
                let (by, to) = (title(start.protocol), into(&self.options.into));
                let text =
                    format!("The peer sends files by {by}. Receive them into {to}? [yes/no] ");
                (text, Completes::Words(CONSENTS))
            }
            Question::Offer(start) => {
                let by = title(start.protocol);
                (format!("The peer receives files by {by}. Send: "), Completes::Paths)
            }
            Question::Maps => ("Map line ends (Tab lists): ".to_owned(), Completes::Words(MAPS)),
        };
        self.screen.ask(&text);
        self.asking = Some(Asking { question, editor: Editor::new(completes) });
    }

    /// Typed bytes while a question is on the screen; returns how many belong to the answer. The escape key cancels the
    /// question, and acts as always.
    pub(super) fn answer(&mut self, keys: &[u8]) -> Result<usize, Ending> {
        let escape = self.options.keys.escape.filter(|_| self.is_terminal);
        let escaped = keys.iter().position(|key| Some(*key) == escape);
        let Some(asking) = &mut self.asking else { return Ok(0) };
        let mut echo = String::new();
        let (taken, typed) =
            asking.editor.type_in(&keys[..escaped.unwrap_or(keys.len())], &mut echo);
        Screen::echo(&echo);
        let Some(typed) = typed.or(escaped.map(|_| Typed::Cancelled)) else { return Ok(taken) };
        let question = self.asking.take().map(|asking| asking.question);
        self.screen.answered();
        match (question, typed) {
            (Some(question), Typed::Line(line)) => self.answered(question, line.trim())?,
            (Some(Question::Consent(start) | Question::Offer(start)), Typed::Cancelled) => {
                self.refuse(&start);
            }
            _ => self.screen.say("(cancelled)"),
        }
        self.resume_screen()?;
        Ok(taken)
    }

    fn answered(&mut self, question: Question, line: &str) -> Result<(), Ending> {
        let one = matches!(question, Question::Log | Question::Script | Question::ReceiveAs(_));
        let mut files = names_or_one(line, one);
        match question {
            Question::SendBy(sources) => match self.protocol_of(line) {
                Some(by) => return self.send_files(Begun::Held, &sources, by).map(drop),
                None => self.ask(Question::SendBy(sources)),
            },
            Question::ReceiveBy => match self.protocol_of(line) {
                Some(by) if Protocol::named(by).tells_names => {
                    return self.receive_files(Begun::Held, by, None).map(drop);
                }
                Some(by) => self.ask(Question::ReceiveAs(by)),
                None => self.ask(Question::ReceiveBy),
            },
            Question::Consent(start) => return self.consented(start, line),
            Question::Offer(start) if line.is_empty() => self.refuse(&start),
            Question::Offer(start) => return self.offered(&start, &files),
            _ if line.is_empty() => self.screen.say("(cancelled)"),
            Question::Upload => self.upload(files),
            Question::SendFiles => self.ask(Question::SendBy(files)),
            Question::ReceiveAs(by) => {
                return self.receive_files(Begun::Held, by, files.pop().as_deref()).map(drop);
            }
            Question::Script => return self.run_script(&files.swap_remove(0)),
            Question::Log => self.open_log(&files.swap_remove(0)),
            Question::Baud => match line.parse().ok().filter(|rate| *rate > 0) {
                Some(rate) => self.set_rate(rate),
                None => self.screen.say(&format!("(expected a rate such as 9600, got {line})")),
            },
            Question::Parity => match parity(line) {
                Some(parity) => self.change(|spec| spec.parity = parity),
                None => self.screen.say(&format!("(expected a parity, got {line})")),
            },
            Question::Maps => match Maps::parse(line) {
                Ok(maps) => {
                    self.screen.maps = maps;
                    self.screen.say(&format!("(line ends: {line})"));
                }
                Err(say) => self.screen.say(&format!("({say})")),
            },
        }
        Ok(())
    }

    /// The protocol of an answer; said if it is none.
    fn protocol_of(&mut self, line: &str) -> Option<&'static str> {
        if line.is_empty() {
            return Some(self.usual());
        }
        let found = protocol(line);
        if found.is_none() {
            self.screen.say(&format!("(expected one of {}, got {line})", PROTOCOLS.join(", ")));
        }
        found
    }
}

fn parity(word: &str) -> Option<Parity> {
    Some(match word {
        "none" | "n" => Parity::None,
        "even" | "e" => Parity::Even,
        "odd" | "o" => Parity::Odd,
        "mark" | "m" => Parity::Mark,
        "space" | "s" => Parity::Space,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocols_are_offered_in_the_order_of_their_use() {
        let offered = "kermit zmodem ymodem ymodem-g xmodem xmodem-crc xmodem-1k";
        assert_eq!(PROTOCOLS.join(" "), offered);
        assert_eq!(protocol("netblt"), None);
    }
}
