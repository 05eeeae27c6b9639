//! Asks the user whether to accept what a sender with a code phrase offers.
//!
//! ```text
//! engine --Offer--> Consenting --yes--> store
//!                   names and sizes are shown for confirmation before anything is written
//! ```

use std::time::Duration;

use wetstring_events::Event;
use wetstring_proto::{FileInfo, Refusal, Reply, Request, Store};

use crate::transfer::store::FileStore;
use crate::ui::format::{self, count, escaped};
use crate::ui::output::{Level, Output};
use crate::ui::prompt::{Answer, ask_for};

/// Timeout of the question. The sender waits a minute longer.
const PATIENCE: Duration = Duration::from_secs(180);

/// Asks a question with these answers.
type Asker<'a> = Box<dyn FnMut(&str, &[&str]) -> Answer + 'a>;

/// What the user has accepted.
pub(crate) struct Consent<'a> {
    asker: Asker<'a>,
    /// Files and bytes accepted without another question: as announced by the sender.
    budget: (u64, u64),
    every: bool,
    none: bool,
    begun: bool,
    /// The file that is open: it may be offered twice.
    agreed: Option<Vec<u8>>,
}

impl<'a> Consent<'a> {
    /// Asks at the terminal.
    pub(crate) fn from_terminal(ui: &'a Output) -> Self {
        Self::new(Box::new(move |question, words| {
            let answer = ask_for(question, words, Some(PATIENCE));
            if answer == Answer::Nothing {
                ui.say(Level::Note, "no answer, so it is refused");
            }
            let yes = !answer.is("no") && answer != Answer::Nothing;
            ui.event(Event::Asked { question: question.trim().to_owned(), yes });
            answer
        }))
    }

    fn new(asker: Asker<'a>) -> Self {
        Self { asker, budget: (0, 0), every: false, none: false, begun: false, agreed: None }
    }

    fn may(&mut self, info: &FileInfo<'_>) -> bool {
        if self.every || self.agreed.as_deref() == Some(info.name) {
            return true;
        }
        let size = info.size.unwrap_or(u64::MAX);
        let (files, bytes) = self.budget;
        let may = if self.none {
            false
        } else if files > 0 && size <= bytes {
            self.budget = (files - 1, bytes - size);
            true
        } else {
            self.asks(info, size)
        };
        self.agreed = may.then(|| info.name.to_vec());
        may
    }

    fn asks(&mut self, info: &FileInfo<'_>, size: u64) -> bool {
        let first = !std::mem::replace(&mut self.begun, true);
        let name = escaped(info.name);
        let shown = info.size.map_or("of unknown size".to_owned(), format::size);
        let batch = info.left.filter(|left| first && left.files > 1);
        if let Some(left) = batch {
            let (files, bytes) = (count(u64::from(left.files), "file"), format::size(left.bytes));
            let question = format!(
                "the sender offers {files}, {bytes}; the first is {name}, {shown}. Take them? [yes/no/each] "
            );
            let answer = (self.asker)(&question, &["yes", "no", "each"]);
            if answer.is("yes") {
                let rest = u64::from(left.files) - 1;
                self.budget = (rest, left.bytes.saturating_sub(size));
                return true;
            }
            if !answer.is("each") {
                self.none = true;
                return false;
            }
        }
        let question = format!("the sender offers {name}, {shown}. Take it? [yes/no/all] ");
        let answer = (self.asker)(&question, &["yes", "no", "all"]);
        self.every = answer.is("all");
        self.none = answer == Answer::Nothing;
        self.every || answer.is("yes")
    }
}

/// A store that asks first, if required.
pub(crate) struct Consenting<'a> {
    pub(crate) file_store: FileStore,
    pub(crate) consent: Option<Consent<'a>>,
}

impl Store for Consenting<'_> {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        if let (Some(consent), Request::Offer { info }) = (&mut self.consent, &request)
            && !consent.may(info)
        {
            return Reply::Refuse(Refusal::Declined);
        }
        self.file_store.store().answer(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use wetstring_proto::Left;

    /// Which of these offers (name, size, files left, bytes left) are accepted with these answers; and the questions.
    fn taken(answers: &[&str], offers: &[(&str, u64, u32, u64)]) -> (Vec<bool>, Vec<String>) {
        let asked = RefCell::new(Vec::new());
        let mut answers = answers.iter();
        let asker = |question: &str, _: &[&str]| {
            asked.borrow_mut().push(question.to_owned());
            answers.next().map_or(Answer::Nothing, |word| Answer::Words((*word).to_owned()))
        };
        let mut consent = Consent::new(Box::new(asker));
        let mut may = |(name, size, files, bytes): &(&str, u64, u32, u64)| {
            let left = (*files > 0).then_some(Left { files: *files, bytes: *bytes });
            let info =
                FileInfo { name: name.as_bytes(), size: Some(*size), left, ..FileInfo::default() };
            consent.may(&info)
        };
        let taken = offers.iter().map(&mut may).collect();
        drop(consent);
        (taken, asked.into_inner())
    }

    #[test]
    fn one_answer_covers_only_what_was_announced() {
        let three = [("a", 10, 3, 60), ("b", 20, 2, 50), ("c", 30, 1, 30)];
        let (all, asked) = taken(&["yes"], &three);
        assert_eq!((all, asked.len()), (vec![true; 3], 1));
        assert!(asked[0].contains("3 files") && asked[0].contains("a, 10 B"), "{asked:?}");
        assert_eq!(taken(&["no"], &three).0, [false; 3]);
        assert_eq!(taken(&[], &three).0, [false; 3]);
        let (all, asked) = taken(&["each", "yes", "no", "yes"], &three);
        assert_eq!((all, asked.len()), (vec![true, false, true], 4));
        // A fourth file, and one longer than announced.
        let more = [three[0], three[1], three[2], ("d", 1, 1, 1)];
        assert_eq!(taken(&["yes", "no"], &more).0, [true, true, true, false]);
        let longer = [three[0], ("b", 20_000, 2, 50)];
        assert_eq!(taken(&["yes", "no"], &longer).0, [true, false]);
    }

    #[test]
    fn without_totals_each_file_is_confirmed_until_all() {
        let offers = [("a", 1, 0, 0), ("a", 1, 0, 0), ("b", 1, 0, 0), ("c", 1, 0, 0)];
        let (all, asked) = taken(&["yes", "all"], &offers);
        assert_eq!((all, asked.len()), (vec![true; 4], 2), "the second a is the same file");
        assert_eq!(taken(&["no", "no", "no", "no"], &offers).0, [false; 4]);
        let (_, asked) = taken(&["no"], &[("a\u{1b}[2J", 1, 1, 1)]);
        assert!(!asked[0].contains('\u{1b}'), "{asked:?}");
    }
}
