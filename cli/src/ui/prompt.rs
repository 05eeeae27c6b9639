//! Questions answered by a line at the terminal.

use std::io::{self, Write as _};
use std::time::Duration;

use std::io::{IsTerminal as _, stderr, stdin};
use wetstring_drive::Signals;
use wetstring_drive::event::{Interest, wait};
use wetstring_drive::terminal;

/// The longest answer.
const LONGEST: u64 = 200;

/// The result of a question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    /// These words, in lower case.
    Words(String),
    /// End of input, a signal, or a timeout.
    Nothing,
}

impl Answer {
    /// Whether it is this word, or a prefix of it.
    pub(crate) fn is(&self, word: &str) -> bool {
        matches!(self, Self::Words(words) if !words.is_empty() && word.starts_with(words.as_str()))
    }
}

/// Whether there is a terminal to ask at.
pub(crate) fn can_ask() -> bool {
    stdin().is_terminal() && stderr().is_terminal()
}

/// Asks until the answer is one of `words` or a prefix of one; waits at most `patience`.
pub(crate) fn ask_for(question: &str, words: &[&str], patience: Option<Duration>) -> Answer {
    loop {
        let answer = ask(question, patience).unwrap_or(Answer::Nothing);
        if answer == Answer::Nothing || words.iter().any(|word| answer.is(word)) {
            return answer;
        }
    }
}

/// Asks once. The question is shown even with `--quiet`.
pub(crate) fn ask(question: &str, patience: Option<Duration>) -> io::Result<Answer> {
    stderr().write_all(question.as_bytes())?;
    let signals = Signals::install()?;
    let before = signals.count();
    let mut interests =
        [Interest::read(terminal::stdin::source()), Interest::read(signals.source())];
    let answered = wait(&mut interests, patience).is_ok() && interests[0].is_ready();
    if signals.count() > before || !answered {
        stderr().write_all(b"\n")?;
        return Ok(Answer::Nothing);
    }
    let line = terminal::stdin::line(LONGEST)?;
    if line.is_empty() {
        stderr().write_all(b"\n")?;
        return Ok(Answer::Nothing);
    }
    Ok(Answer::Words(String::from_utf8_lossy(&line).trim().to_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_of_words_are_accepted() {
        let said = |text: &str| Answer::Words(text.to_owned());
        assert!(said("y").is("yes") && said("yes").is("yes"));
        assert!(!said("").is("yes") && !said("yesno").is("yes") && !said("n").is("yes"));
        assert!(!Answer::Nothing.is("yes"));
    }
}
