//! `cargo xtask audit [FILE] [--write]`: recomputes the laboratory's scoreboard from the raw cells, by other code than the
//! laboratory's, and keeps the page of it.
//!
//! The cells are what `wst lab table --all --json` prints, from FILE or from a run of the release build. Of each cell its
//! kind, whether it is fitted, its verdict, the published numbers and ours are taken; verdicts of correlations, counts and
//! pairs are tested again (those by a table's tolerance are not), and everything is summed up. A line of the scoreboard that is not what comes out fails the audit, as
//! does a page (`docs/reference/scoreboard.md`) that says something else.

mod page;
mod test;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

/// A cell as the laboratory prints it.
#[derive(Clone, Debug)]
struct Cell {
    table: String,
    col: String,
    unit: String,
    verdict: String,
    kind: String,
    fitted: bool,
    group: [String; 3],
    numbers: Vec<f64>,
    values: Vec<f64>,
    of: Option<u64>,
}

/// What is said of a kind of cells.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Sum {
    count: u64,
    held: u64,
    distances: Vec<f64>,
    within: [u64; 3],
    sides: [u64; 2],
}

/// Names of the kinds for readers, as the scoreboard has them, in its order.
const KINDS: [(&str, &str); 14] = [
    ("rate", "times and rates of transfers"),
    ("processor", "processor times"),
    ("delay", "delays"),
    ("statistic", "rates of series"),
    ("amount", "other amounts"),
    ("spread", "deviations"),
    ("count", "counts"),
    ("extreme", "how many came to the extremes"),
    ("zero", "published zeros"),
    ("correlation", "correlations"),
    ("pairs", "wins, ties and losses; where the fastest are"),
    ("order", "orders"),
    ("words", "statements in words"),
    ("outcome", "success or failure"),
];

/// The kinds that are times and rates.
const TIMES: [&str; 4] = ["rate", "processor", "delay", "statistic"];

/// The audited sums: by what and whether fitted.
pub(crate) type Sums = BTreeMap<(String, bool), Sum>;

/// Audits a file, or a run.
pub(crate) fn run(root: &Path, args: &[String]) -> Result<(), String> {
    let write = args.iter().any(|arg| arg == "--write");
    let text = match args.iter().find(|arg| !arg.starts_with("--")) {
        Some(file) => std::fs::read_to_string(file).map_err(|e| format!("{file}: {e}"))?,
        None => tables(root)?,
    };
    let objects = read(&text)?;
    let (cells, sums) = audit(&objects)?;
    let path = root.join("docs/reference/scoreboard.md");
    let wanted = page::of(&cells, &sums);
    if write {
        std::fs::write(&path, wanted).map_err(|e| format!("{}: {e}", path.display()))?;
    } else if std::fs::read_to_string(&path).unwrap_or_default() != wanted {
        return Err(
            "docs/reference/scoreboard.md is no longer true; run cargo xtask audit --write".into(),
        );
    }
    println!("{} cells: the scoreboard is what they come to", cells.len());
    Ok(())
}

/// Runs all tables.
fn tables(root: &Path) -> Result<String, String> {
    let mut cargo = crate::building::cargo();
    cargo.args(["run", "--release", "--locked", "--", "lab", "table", "--all", "--json"]);
    let failed = |e: std::io::Error| format!("lab table --all: {e}");
    let output = cargo.current_dir(root).stderr(Stdio::inherit()).output().map_err(failed)?;
    if output.status.success() {
        return String::from_utf8(output.stdout).map_err(|e| e.to_string());
    }
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let bad = ["unexplained", "reason without a difference", "our defaults are slower"];
        if bad.iter().any(|verdict| line.contains(&format!("\"verdict\":\"{verdict}"))) {
            eprintln!("{line}");
        }
    }
    Err("some cells of the tables are not in order".into())
}

fn read(text: &str) -> Result<Vec<Value>, String> {
    let parse = |line: &str| serde_json::from_str(line).map_err(|e| format!("{line}: {e}"));
    text.lines().filter(|line| line.starts_with('{')).map(parse).collect()
}

fn text(object: &Value, key: &str) -> String {
    object[key].as_str().unwrap_or_default().to_owned()
}

fn numbers(object: &Value, key: &str) -> Vec<f64> {
    object[key].as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
}

impl Cell {
    fn of(object: &Value) -> Self {
        let kind = text(object, "kind");
        let zero = if kind == "zero" { "zero" } else { "" };
        let name = format!("{}: {}", text(object, "table"), text(object, "setting"));
        Self {
            table: text(object, "table"),
            col: text(object, "col"),
            unit: text(object, "unit"),
            verdict: text(object, "verdict"),
            group: [name, text(object, "quantity"), zero.into()],
            kind,
            fitted: object["fitted"].as_bool().unwrap_or_default(),
            numbers: numbers(object, "numbers"),
            values: numbers(object, "values"),
            of: object["of"].as_u64(),
        }
    }
}

/// Sums the cells up and compares that with what the laboratory said.
fn audit(objects: &[Value]) -> Result<(Vec<Cell>, Sums), String> {
    let of = |event: &'static str| objects.iter().filter(move |object| object["event"] == event);
    let cells: Vec<Cell> = of("cell").map(Cell::of).filter(|cell| cell.kind != "own").collect();
    if cells.is_empty() {
        return Err("expected cells of tables, got none".into());
    }
    let sums = sums(&cells);
    let mut said = 0;
    for line in of("score") {
        said += 1;
        let key = (text(line, "what"), line["fitted"].as_bool().unwrap_or_default());
        let sum = sums.get(&key).ok_or_else(|| format!("{key:?}: no cell is of this kind"))?;
        let found = sum.as_said();
        let wanted: Vec<f64> = ["count", "held", "ratios", "median"]
            .iter()
            .filter_map(|name| line[name].as_f64())
            .chain(numbers(line, "within"))
            .chain(numbers(line, "sides"))
            .collect();
        let same = found.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-9);
        if !same || found.len() != wanted.len() {
            return Err(format!("{key:?}: the laboratory says {wanted:?}, its cells {found:?}"));
        }
    }
    if said != sums.len() {
        return Err(format!("expected {} lines of the scoreboard, got {said}", sums.len()));
    }
    Ok((cells, sums))
}

/// Everything that is said of all tables.
fn sums(cells: &[Cell]) -> Sums {
    let mut groups: BTreeMap<&[String; 3], Vec<&Cell>> = BTreeMap::new();
    for cell in cells {
        groups.entry(&cell.group).or_default().push(cell);
    }
    let mut sums = Sums::new();
    for group in groups.values() {
        let fitted = group.iter().any(|cell| cell.fitted);
        let kind = finest(group)[0].kind.as_str();
        let name = KINDS.iter().find(|(of, _)| *of == kind).map_or("", |(_, words)| *words);
        sums.entry((name.to_owned(), fitted)).or_default().add(group);
        if TIMES.contains(&kind) {
            sums.entry(("times and rates, all".to_owned(), fitted)).or_default().add(group);
        }
    }
    sums
}

/// The cells of a group that count: those of the finest unit.
fn finest<'a>(group: &[&'a Cell]) -> Vec<&'a Cell> {
    for unit in ["Mb/s", "s", "cps", "bit/s", "ms", "%"] {
        let of: Vec<&Cell> = group.iter().copied().filter(|cell| cell.unit == unit).collect();
        if !of.is_empty() {
            return of;
        }
    }
    let unit = &group[0].unit;
    group.iter().copied().filter(|cell| cell.unit == *unit).collect()
}

impl Sum {
    fn add(&mut self, group: &[&Cell]) {
        let cells = finest(group);
        self.count += 1;
        self.held += u64::from(test::holds(group, &cells));
        let first = cells[0];
        let has_ratio =
            ["rate", "processor", "delay", "statistic", "amount", "spread"].contains(&&*first.kind);
        let published: Vec<f64> = cells.iter().flat_map(|cell| cell.numbers.clone()).collect();
        let (ours, published) = (test::middle(&first.values), test::middle(&published));
        let Some(published) = published.filter(|of| has_ratio && *of > 0.0) else { return };
        let Some(ours) = ours.filter(|ours| *ours > 0.0) else {
            // It failed: as far off as can be, on no side.
            return self.distances.push(f64::INFINITY);
        };
        let off = (ours / published).ln();
        self.distances.push(off.abs());
        for (count, limit) in self.within.iter_mut().zip([0.05, 0.1, 0.25]) {
            *count += u64::from(off.abs() <= limit);
        }
        self.sides[0] += u64::from(off > 0.0);
        self.sides[1] += u64::from(off < 0.0);
    }

    /// The median of the distances.
    fn median(&self) -> f64 {
        test::middle(&self.distances).unwrap_or_default()
    }

    fn as_said(&self) -> Vec<f64> {
        let mut list = vec![self.count as f64, self.held as f64, self.distances.len() as f64];
        list.push(self.median());
        list.extend(self.within.iter().chain(&self.sides).map(|count| *count as f64));
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(kind: &str, setting: &str, fitted: bool, number: f64, value: f64) -> String {
        format!(
            "{{\"event\":\"cell\",\"table\":\"t\",\"row\":\"r\",\"col\":\"c secs\",\"unit\":\"s\",\"verdict\":\"reproduced\",\
             \"kind\":\"{kind}\",\"fitted\":{fitted},\"setting\":\"{setting}\",\"quantity\":\"rate\",\
             \"numbers\":[{number}],\"values\":[{value}],\"of\":null}}\n"
        )
    }

    fn score(what: &str, count: u64, median: f64, within: &str) -> String {
        format!(
            "{{\"event\":\"score\",\"what\":\"{what}\",\"fitted\":false,\"count\":{count},\"held\":{count},\"ratios\":{count},\
             \"median\":{median},\"within\":{within},\"sides\":[1,1]}}\n"
        )
    }

    #[test]
    fn a_scoreboard_that_its_cells_do_not_come_to_is_found() {
        let cells = cell("rate", "a", false, 10.0, 10.3) + &cell("rate", "b", false, 10.0, 8.5);
        let median = f64::midpoint(1.03f64.ln(), -(0.85f64.ln()));
        let good = |median: f64, within: &str| {
            let lines = ["times and rates, all", "times and rates of transfers"];
            let lines: String = lines.iter().map(|what| score(what, 2, median, within)).collect();
            audit(&read(&format!("{cells}{lines}")).expect("JSON"))
        };
        let (_, sums) = good(median, "[1,1,2]").expect("the scoreboard of these cells");
        assert_eq!(sums.len(), 2);
        assert!(good(median, "[2,2,2]").is_err() && good(0.01, "[1,1,2]").is_err());
        // A line that is missing, and cells that are.
        assert!(audit(&read(&cells).expect("JSON")).is_err());
        assert!(audit(&[]).is_err());
    }

    #[test]
    fn runs_of_one_setting_are_one_and_fits_stand_apart() {
        let cells = cell("rate", "a", false, 10.0, 11.0)
            + &cell("rate", "a", false, 12.0, 11.0)
            + &cell("rate", "b", true, 10.0, 10.0);
        let cells: Vec<Cell> = read(&cells).expect("JSON").iter().map(Cell::of).collect();
        let sums = sums(&cells);
        let of = |fitted| &sums[&("times and rates of transfers".to_owned(), fitted)];
        assert_eq!((of(false).count, of(true).count), (1, 1));
        assert!(of(false).median() < 1e-12);
    }
}
