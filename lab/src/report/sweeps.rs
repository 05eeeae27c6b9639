//! A sweep on the page: lines over each range that is a number, and the numbers.

use super::{command, plot};
use crate::sweep::{Row, Sweep};
use maud::{Markup, html};
use std::collections::BTreeMap;

/// The result that is shown: the first of these that the sweep has.
const SHOWN: [(&str, &str); 3] = [
    ("echo_ms", "ms from a key to its echo, the median"),
    ("efficiency", "% of what the line can carry"),
    ("cps", "characters per second"),
];

/// One sweep.
pub(super) fn section(sweep: &Sweep, rows: &[Row]) -> Markup {
    let ranges: Vec<(&str, bool)> = sweep.ranges().collect();
    let table = Pivot::of(sweep, rows);
    let failed = failed(sweep, rows);
    html! {
        section id={ "sweep-" (sweep.name()) } {
            h2 { (sweep.title()) }
            p.source {
                (rows.len()) " transfers, " (table.words)
                @if failed > 0 { "; " (failed) " of them failed and have no value" }
                ". Where lines lie on each other, the last one is seen; the table has all values."
            }
            (command(&again(sweep)))
            @if let [a, b] = ranges[..] {
                div.pair {
                    @if b.1 { (table.figure(b.0, a, false)) }
                    @if a.1 { (table.figure(a.0, b, true)) }
                }
                (table.matrix(a.0, b.0))
            } @else if let [a] = ranges[..] {
                @if a.1 { (table.figure(a.0, ("", false), true)) }
            } @else {
                (Grid::of(sweep, rows).page())
            }
        }
    }
}

/// The command that makes the sweep again: by its name, or from the file that it came from.
fn again(sweep: &Sweep) -> String {
    let known = Sweep::names().any(|name| name == sweep.name());
    format!("wst lab sweep {}", if known { sweep.name() } else { sweep.path() })
}

fn failed(sweep: &Sweep, rows: &[Row]) -> usize {
    let done = sweep.columns().iter().position(|column| column.name == "done");
    let is_done = |row: &&Row| done.is_some_and(|at| row.values[at] == "true");
    rows.len() - rows.iter().filter(is_done).count()
}

/// The shown result by the values of the first and the second range.
struct Pivot {
    words: &'static str,
    /// Values of the ranges in their order.
    first: Vec<String>,
    second: Vec<String>,
    shown: BTreeMap<(String, String), String>,
}

impl Pivot {
    fn of(sweep: &Sweep, rows: &[Row]) -> Self {
        let columns = sweep.columns();
        let find = |name: &str| columns.iter().position(|column| column.name == name);
        let has = |(name, _): &&(&str, &str)| {
            find(name).is_some_and(|at| rows.iter().any(|row| !row.values[at].is_empty()))
        };
        let (name, words) = *SHOWN.iter().find(has).unwrap_or(&SHOWN[0]);
        let mut pivot =
            Self { words, first: Vec::new(), second: Vec::new(), shown: BTreeMap::new() };
        for row in rows {
            let values = sweep.values(row.point);
            let of = |index: usize| values.get(index).copied().unwrap_or_default().to_owned();
            let (a, b) = (of(0), of(1));
            for (list, value) in [(&mut pivot.first, &a), (&mut pivot.second, &b)] {
                if !list.contains(value) {
                    list.push(value.clone());
                }
            }
            let shown = find(name).map_or_else(String::new, |at| row.values[at].clone());
            pivot.shown.insert((a, b), shown);
        }
        pivot
    }

    fn value(&self, first: &str, second: &str) -> Option<&str> {
        let found = self.shown.get(&(first.to_owned(), second.to_owned()))?;
        (!found.is_empty()).then_some(found)
    }

    /// Lines over one range, a line for each value of the other. `first_is_x`: the axis is the
    /// first range.
    fn figure(&self, x: &str, (line, ordered): (&str, bool), first_is_x: bool) -> Markup {
        let (axis, lines) =
            if first_is_x { (&self.first, &self.second) } else { (&self.second, &self.first) };
        let series: Vec<plot::Series> = lines
            .iter()
            .map(|of| {
                let point = |value: &String| {
                    let (a, b) = if first_is_x { (value, of) } else { (of, value) };
                    Some((value.parse().ok()?, self.value(a, b)?.parse().ok()?))
                };
                let name = if line.is_empty() { x.to_owned() } else { format!("{line} {of}") };
                plot::Series { name, points: axis.iter().filter_map(point).collect() }
            })
            .collect();
        let label = format!("{} against {x}", self.words);
        html! {
            figure {
                figcaption {
                    "Throughput against " (x)
                    @if !line.is_empty() { ", a line for each " (line) }
                }
                (plot::lines(&plot::Axes { label: &label, x, y: self.words, ordered }, &series))
            }
        }
    }

    /// The numbers behind the lines.
    fn matrix(&self, first: &str, second: &str) -> Markup {
        // On a phone long names stand above their values.
        let long = self.first.iter().any(|name| name.len() > 5);
        let columns = format!("--columns:{}", self.second.len());
        html! {
            div.wide { table.plain.matrix.stacked[long] style=(columns) {
                thead {
                    tr { th { (first) " \\ " (second) } @for b in &self.second { th.n { (b) } } }
                }
                tbody {
                    @for a in &self.first {
                        tr {
                            th { (a) }
                            @for b in &self.second {
                                td.n { (self.value(a, b).map_or("-".to_owned(), short)) }
                            }
                        }
                    }
                }
            } }
        }
    }
}

/// A sweep of many ranges: a line and a column for each value of the last one.
struct Grid<'a> {
    ranges: Vec<(&'a str, bool)>,
    words: &'static str,
    /// Values of all ranges but the last, in their order.
    paths: Vec<Vec<String>>,
    last: Vec<String>,
    shown: BTreeMap<(Vec<String>, String), String>,
}

impl<'a> Grid<'a> {
    fn of(sweep: &'a Sweep, rows: &[Row]) -> Self {
        let columns = sweep.columns();
        let (name, words) = SHOWN[0];
        let at = columns.iter().position(|column| column.name == name);
        let (mut paths, mut last, mut shown) = (Vec::new(), Vec::new(), BTreeMap::new());
        for row in rows {
            let mut path: Vec<String> =
                sweep.values(row.point).into_iter().map(str::to_owned).collect();
            let Some(value) = path.pop() else { continue };
            if !paths.contains(&path) {
                paths.push(path.clone());
            }
            if !last.contains(&value) {
                last.push(value.clone());
            }
            let text = at.map_or_else(String::new, |at| row.values[at].clone());
            shown.insert((path, value), text);
        }
        Self { ranges: sweep.ranges().collect(), words, paths, last, shown }
    }

    fn value(&self, path: &[String], last: &str) -> Option<&str> {
        let found = self.shown.get(&(path.to_vec(), last.to_owned()))?;
        (!found.is_empty()).then_some(found)
    }

    /// A plot over the first range that is a number, for each combination of the others; then the
    /// numbers.
    fn page(&self) -> Markup {
        let x = self.ranges.iter().position(|range| range.1);
        let mut others: Vec<Vec<String>> = Vec::new();
        for path in &self.paths {
            let other = without(path, x);
            if !others.contains(&other) {
                others.push(other);
            }
        }
        html! {
            @if let Some(x) = x {
                div.pair { @for other in &others { (self.figure(x, other)) } }
            }
            div.wide { table.plain.matrix.stacked style={ "--columns:" (self.last.len()) } {
                thead {
                    tr {
                        th { (self.ranges.iter().map(|range| range.0).collect::<Vec<_>>().join(", ")) }
                        @for name in &self.last { th.n { (name) } }
                    }
                }
                tbody {
                    @for path in &self.paths {
                        tr {
                            th { (path.join(", ")) }
                            @for name in &self.last {
                                td.n { (self.value(path, name).map_or("-".to_owned(), short)) }
                            }
                        }
                    }
                }
            } }
        }
    }

    fn figure(&self, x: usize, other: &[String]) -> Markup {
        let on = |path: &&Vec<String>| without(path, Some(x)) == other;
        let series: Vec<plot::Series> = self
            .last
            .iter()
            .map(|name| {
                let point = |path: &Vec<String>| {
                    Some((path[x].parse().ok()?, self.value(path, name)?.parse().ok()?))
                };
                let points = self.paths.iter().filter(on).filter_map(point).collect();
                plot::Series { name: name.clone(), points }
            })
            .collect();
        let (name, what) = (self.ranges[x].0, other.join(", "));
        let label = format!("{} against {name}: {what}", self.words);
        html! {
            figure {
                figcaption { (what) ": against " (name) }
                (plot::lines(&plot::Axes { label: &label, x: name, y: self.words, ordered: false }, &series))
            }
        }
    }
}

/// The values without the one at this place.
fn without(path: &[String], place: Option<usize>) -> Vec<String> {
    path.iter()
        .enumerate()
        .filter(|(index, _)| Some(*index) != place)
        .map(|(_, value)| value.clone())
        .collect()
}

/// With at most one decimal.
fn short(text: &str) -> String {
    text.parse::<f64>().map_or_else(|_| text.to_owned(), |value| format!("{value:.1}"))
}
