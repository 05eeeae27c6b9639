//! Questions answered by a line at the terminal.

use std::io::{self, BufRead as _, Read as _};
use std::time::Duration;

use rustix::stdio::{stderr, stdin};
use rustix::termios::isatty;
use wetstring_drive::Signals;
use wetstring_drive::event::{Interest, wait};

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
    isatty(stdin()) && isatty(stderr())
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
    rustix::io::write(stderr(), question.as_bytes())?;
    let signals = Signals::install()?;
    let before = signals.count();
    let mut interests = [Interest::read(stdin().into()), Interest::read(signals.source())];
    let answered = wait(&mut interests, patience).is_ok() && interests[0].is_ready();
    if signals.count() > before || !answered {
        rustix::io::write(stderr(), b"\n")?;
        return Ok(Answer::Nothing);
    }
    let mut line = Vec::new();
    if io::stdin().lock().take(LONGEST).read_until(b'\n', &mut line)? == 0 {
        rustix::io::write(stderr(), b"\n")?;
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
