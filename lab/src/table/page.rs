//! A judged table as text for a terminal, and as Markdown.

use super::cell::{Cell, Report, Verdict};
use super::measure::tenths;
use super::score::Scoreboard;
use std::fmt::Write as _;

impl Report {
    /// For a terminal: one line for each cell, then the notes.
    pub fn text(&self) -> String {
        let mut page = format!("{}: {}\n", self.table, self.title);
        if !self.source.is_empty() {
            let _ = writeln!(page, "published in {}", self.source);
        }
        page.push('\n');
        let rows = if self.own { self.matrix() } else { self.list() };
        page.push_str(&aligned(&rows));
        for (number, reason) in self.reasons().iter().enumerate() {
            let _ = write!(page, "\n[{}] {reason}", number + 1);
        }
        for note in &self.notes {
            let _ = write!(page, "\n  * {note}");
        }
        for curve in &self.curves {
            let _ = write!(page, "\n\n{}\n\n{}", curve.title, aligned(&curve.rows()));
        }
        if !self.own {
            let _ = write!(page, "\n\n{}", self.summary());
            let _ = write!(page, "\n{}", Scoreboard::of([self]).text().trim_end());
        }
        page.push('\n');
        page
    }

    /// How many cells have which verdict.
    pub fn summary(&self) -> String {
        let mut parts = Vec::new();
        for verdict in [
            Verdict::Reproduced,
            Verdict::Chance,
            Verdict::Differs,
            Verdict::Open,
            Verdict::Unexplained,
            Verdict::Needless,
            Verdict::Slower,
        ] {
            let count = self.count(verdict);
            if count > 0 || verdict == Verdict::Reproduced {
                let several = count != 1 && verdict == Verdict::Differs;
                parts.push(if several {
                    format!("{count} differ")
                } else {
                    format!("{count} {verdict}")
                });
            }
        }
        format!("{}: {} cells: {}", self.table, self.cells.len(), parts.join(", "))
    }

    /// As a page in Markdown: how to make it again, the table, and the notes behind it.
    pub fn markdown(&self) -> String {
        let rows = if self.own { self.matrix() } else { self.list() };
        let mut page = format!("# {}\n\n", self.title);
        let _ = write!(page, "Made by `wst lab table {} --markdown`", self.table);
        let published = if self.source.is_empty() { "" } else { "; published in " };
        let _ = writeln!(page, "{published}{}.\n", self.source);
        page.push_str(&grid(&rows));
        for curve in &self.curves {
            let _ = write!(page, "\n{}\n\n{}", curve.title, grid(&curve.rows()));
        }
        for (number, reason) in self.reasons().iter().enumerate() {
            let _ = write!(page, "\n[{}] {reason}\n", number + 1);
        }
        if !self.notes.is_empty() {
            page.push('\n');
        }
        for note in &self.notes {
            let _ = writeln!(page, "* {note}");
        }
        page
    }

    /// The reasons, each once, in the order in which they come.
    fn reasons(&self) -> Vec<&str> {
        let mut reasons: Vec<&str> = Vec::new();
        for cell in &self.cells {
            for reason in [&cell.reason, &cell.slower] {
                if !reason.is_empty() && !reasons.contains(&reason.as_str()) {
                    reasons.push(reason);
                }
            }
        }
        reasons
    }

    fn list(&self) -> Vec<Vec<String>> {
        let head = [
            "row",
            "column",
            "published",
            "ours",
            "ratio",
            "verdict",
            "our defaults",
            "of the line",
        ];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        let reasons = self.reasons();
        for cell in &self.cells {
            let mark = |of: &str| {
                let number = reasons.iter().position(|reason| *reason == of);
                number.map_or_else(String::new, |number| format!(" [{}]", number + 1))
            };
            let slower = if cell.slower.is_empty() { "" } else { ", slower" };
            rows.push(vec![
                cell.row.clone(),
                cell.col.clone(),
                with_unit(&cell.published, cell.unit),
                among(with_unit(&cell.ours, cell.unit), &cell.range),
                cell.ratio(),
                format!("{}{}{}", cell.verdict, fitted(cell), mark(&cell.reason)),
                format!("{}{slower}{}", with_unit(&cell.defaults, cell.unit), mark(&cell.slower)),
                cell.efficiency.map_or_else(String::new, |share| format!("{} %", tenths(share))),
            ]);
        }
        rows
    }

    /// Rows and columns as they are in the file, one value in each place.
    fn matrix(&self) -> Vec<Vec<String>> {
        let mut rows = vec![vec![String::new()]];
        rows[0].extend(self.columns.iter().cloned());
        for cell in &self.cells {
            if rows.last().is_none_or(|row| row[0] != cell.row) {
                let mut row = vec![String::new(); 1 + self.columns.len()];
                row[0].clone_from(&cell.row);
                rows.push(row);
            }
            // A row may name some of the columns.
            let column = self.columns.iter().position(|column| *column == cell.col);
            if let (Some(row), Some(at)) = (rows.last_mut(), column) {
                row[1 + at].clone_from(&cell.ours);
            }
        }
        rows
    }
}

impl Cell {
    /// Ours divided by published, with two decimals; empty if there is none.
    pub fn ratio(&self) -> String {
        self.ratio_per_mille.map_or_else(String::new, |ratio| {
            let hundredths = (ratio + 5) / 10;
            format!("{}.{:02}", hundredths / 100, hundredths % 100)
        })
    }
}

/// What is no prediction.
fn fitted(cell: &Cell) -> &'static str {
    if cell.fitted { ", fitted" } else { "" }
}

/// Rows as a table in Markdown; the first one is its head.
fn grid(rows: &[Vec<String>]) -> String {
    let mut page = String::new();
    for (index, row) in rows.iter().enumerate() {
        let _ = writeln!(page, "| {} |", row.join(" | "));
        if index == 0 {
            let _ = writeln!(page, "|{}", "---|".repeat(row.len()));
        }
    }
    page
}

/// A value, and the range of our runs.
fn among(ours: String, range: &str) -> String {
    if range.is_empty() { ours } else { format!("{ours} ({range})") }
}

fn with_unit(value: &str, unit: &str) -> String {
    let number = value.bytes().next().is_some_and(|byte| byte.is_ascii_digit());
    if number && !unit.is_empty() { format!("{value} {unit}") } else { value.to_owned() }
}

/// Columns of equal width, two blanks apart; numbers to the right.
fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let mut page = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let number = cell.bytes().next().is_some_and(|byte| byte.is_ascii_digit());
            let _ = if number {
                write!(line, "{cell:>width$}  ")
            } else {
                write!(line, "{cell:<width$}  ")
            };
        }
        page.push_str(line.trim_end());
        page.push('\n');
    }
    page
}
