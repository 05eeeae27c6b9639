//! An account as text of at most 80 columns.

use super::advice::{Advice, NoAdvice};
use super::bottleneck::percent;
use super::budget::{Part, seconds, share};
use super::{Account, Ends, Failed, RateSource};
use std::fmt::Write as _;

/// Columns of the page.
const COLUMNS: usize = 80;
/// Where a paragraph without a title begins.
const INDENT: &str = "            ";
/// Columns of the longest bar.
const BAR: u64 = 32;

impl Account {
    /// The account as text: a summary line, a bar for every part, the bottleneck.
    pub fn page(&self) -> String {
        let mut page = self.summary();
        page.push('\n');
        for part in Part::ALL.into_iter().filter(|part| self.budget.of(*part) > 0) {
            let ns = self.budget.of(part);
            let permille = self.budget.permille(part);
            let bar = "#".repeat((permille * BAR).div_ceil(1000) as usize);
            let percent = format!("{}.{} %", permille / 10, permille % 10);
            // Writing to a string cannot fail.
            let _ =
                writeln!(page, "{:<27} {bar:<32} {percent:>7} {:>9} s", part.title(), seconds(ns));
        }
        page.push('\n');
        for (index, sentence) in self.acted().iter().enumerate() {
            page.push_str(&wrapped(if index == 0 { "Acted:      " } else { INDENT }, sentence));
        }
        if let Some(failed) = self.failed() {
            page.push_str(&failed.page());
        }
        page.push_str(&wrapped("Bottleneck: ", &self.bottleneck()));
        if let Some(remedy) = self.remedy() {
            page.push_str(&wrapped("On the line: ", remedy));
        }
        page
    }

    fn summary(&self) -> String {
        let what = self.protocol.as_deref().unwrap_or("transfer");
        let rate = (u128::from(self.file_bytes) * 1_000_000_000)
            .checked_div(u128::from(self.elapsed_ns))
            .unwrap_or(0);
        let mut text = format!(
            "{what}: {} bytes in {} s, {rate} bytes/s",
            self.file_bytes,
            seconds(self.elapsed_ns)
        );
        if let Some(millicps) = self.millicps {
            let cps = (millicps + 500) / 1000;
            let of = share(u64::try_from(rate).unwrap_or(u64::MAX).saturating_mul(1000), millicps);
            let source = match self.rate_source {
                RateSource::Measured => " at best, as measured",
                RateSource::Given => " as given",
                RateSource::Port => "; the rate of the line behind it was not seen",
                RateSource::Told | RateSource::Unseen | RateSource::Unknown => "",
            };
            let whose = if self.rate_source == RateSource::Port { "port" } else { "line" };
            let _ = write!(text, "; {} of the {whose}'s {cps} bytes/s{source}", percent(of));
        } else if self.rate_source == RateSource::Unknown {
            text.push_str("; the line's rate is not known, and its time counts as waiting");
        } else if self.rate_source == RateSource::Unseen {
            text.push_str("; the line's own time is too short to measure");
        }
        let end = match self.ends {
            Ends::Both => "",
            Ends::Sender => "; seen from the sender's end",
            Ends::Receiver => "; seen from the receiver's end",
        };
        text.push_str(end);
        wrapped("", &text)
    }
}

impl Failed {
    /// What failed, why, and what to do.
    pub fn page(&self) -> String {
        let mut page = wrapped("Failed:     ", &format!("{}: {}.", self.what, self.why));
        for (index, step) in self.steps.iter().enumerate() {
            let title = if index == 0 { "Do:         " } else { "or:         " };
            page.push_str(&wrapped(title, &step.sentence()));
        }
        page
    }
}

impl Advice {
    /// The advice as text.
    pub fn page(&self) -> String {
        wrapped("What helps: ", &self.sentence())
    }
}

impl NoAdvice {
    /// The same as text.
    pub fn page(&self) -> String {
        wrapped("What helps: ", &self.0)
    }
}

/// A paragraph: the first line begins with `title`, the others are indented by its length.
pub(super) fn wrapped(title: &str, text: &str) -> String {
    let indent = " ".repeat(title.len());
    let (mut page, mut line) = (String::new(), title.to_owned());
    let mut fresh = true;
    for word in text.split_whitespace() {
        if !fresh && line.len() + 1 + word.len() > COLUMNS {
            page.push_str(&line);
            page.push('\n');
            line.clone_from(&indent);
            fresh = true;
        }
        if !fresh {
            line.push(' ');
        }
        line.push_str(word);
        fresh = false;
    }
    page.push_str(&line);
    page.push('\n');
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_fit() {
        let text = "word ".repeat(60);
        let page = wrapped("Bottleneck: ", &text);
        assert!(page.lines().all(|line| line.len() <= COLUMNS && line.trim_end() == line));
        assert!(page.lines().skip(1).all(|line| line.starts_with("            word")));
        assert_eq!(page.matches("word").count(), 60);
    }

    #[test]
    fn seconds_are_rounded() {
        assert_eq!(seconds(1_999_999_999), "2.000");
        assert_eq!(seconds(61_000_400_000), "61.000");
    }
}
