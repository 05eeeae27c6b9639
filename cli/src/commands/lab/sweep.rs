//! `wst lab sweep`: a scenario over ranges of its keys.
//!
//! Every result is written at once, so an interrupt loses only the runs
//! in progress; the same command continues where the file ends. When all points are done
//! they are sorted, so that the file does not depend on which shard made which point when.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Seek, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use wetstring_events::{Event, Summary, SweepSummary};
use wetstring_lab::Recorder;
use wetstring_lab::scenario::BadScenario;
use wetstring_lab::sweep::{Column, Format, Row, Sweep, merge};

use super::count::Count;
use super::pool::{PoolEvent, WorkerPool};
use super::run::{beside, read_text, store};
use crate::args::lab::SweepVerb;
use crate::transfer::opening::signals;
use crate::ui::ending::Ending;
use crate::ui::exit::Exit;
use crate::ui::output::{Level, Output};

/// Poll interval for interrupts.
const LOOK: Duration = Duration::from_millis(50);

type Load = Arc<dyn Fn(&str) -> Result<Vec<u8>, String> + Send + Sync>;

pub(super) fn run(ui: &Output, verb: &SweepVerb) -> Result<Ending, Ending> {
    let Some(path) = &verb.sweep else { return list(ui) };
    let load: Load = Arc::new(beside(path));
    let sweep = open(path, &*load)?;
    let paths = match (&verb.output[..], verb.shard) {
        ([], None) => vec![PathBuf::from(format!("{}.csv", sweep.name()))],
        ([], Some((index, of))) => vec![format!("{}.{index}-of-{of}.csv", sweep.name()).into()],
        (given, _) => given.to_vec(),
    };
    if !verb.merge.is_empty() {
        let rows = joined(&sweep, &verb.merge)?;
        return join(&sweep, rows, &mut Outputs::open(ui, &sweep, &paths)?);
    }
    let mut outputs = Outputs::open(ui, &sweep, &paths)?;
    let (index, of) = verb.shard.unwrap_or((1, 1));
    let points: Vec<usize> = sweep.shard(index, of).collect();
    make(ui, sweep, &points, load, &mut outputs)
}

/// A sweep by its name, or from a file.
pub(super) fn open(
    path: &Path,
    load: &dyn Fn(&str) -> Result<Vec<u8>, String>,
) -> Result<Sweep, Ending> {
    let usage = |bad: BadScenario| Ending::early(Exit::Usage, bad.to_string());
    let name = path.to_string_lossy();
    if let Some(sweep) = Sweep::named(&name) {
        return sweep.map_err(usage);
    }
    if path.extension().is_none_or(|end| end != "toml") {
        let names: Vec<&str> = Sweep::names().collect();
        let say = format!("expected a sweep ({}) or a TOML file, got {name}", names.join(", "));
        return Err(Ending::early(Exit::Usage, say));
    }
    let text = read_text(path, "could not read the sweep")?;
    let stem = path.file_stem().map_or(name.clone(), |stem| stem.to_string_lossy());
    Sweep::parse(&stem, &name, &text, load).map_err(usage)
}

fn list(ui: &Output) -> Result<Ending, Ending> {
    for name in Sweep::names() {
        let sweep = open(Path::new(name), &wetstring_lab::scenario::no_files)?;
        ui.event(Event::Sweep {
            sweep: name.to_owned(),
            title: sweep.title().to_owned(),
            points: sweep.count() as u64,
        });
        if !ui.has_json() {
            let (title, count) = (sweep.title(), sweep.count());
            crate::ui::output::print(&format!("{name:<18}  {title}: {count} points\n"));
        }
    }
    Ok(Ending::early(Exit::Done, ""))
}

/// Runs the missing points.
fn make(
    ui: &Output,
    sweep: Sweep,
    points: &[usize],
    load: Load,
    outputs: &mut Outputs<'_>,
) -> Result<Ending, Ending> {
    let signals = signals()?;
    let jobs: Vec<usize> =
        points.iter().copied().filter(|point| !outputs.rows.contains_key(point)).collect();
    let kept = points.len() - jobs.len();
    if kept > 0 {
        ui.say(Level::Note, &format!("{kept} of {} points are done already", points.len()));
    }
    outputs.expect(points);
    let mut count = Count::new(ui, "points", jobs.len());
    let mut crew = WorkerPool::start(jobs.len(), move |job| {
        let point = jobs[job];
        let scenario = sweep.scenario(point, &*load)?;
        Ok::<Row, BadScenario>(sweep.row(point, &scenario.run(&mut Recorder::off())))
    });
    loop {
        match crew.next(LOOK) {
            PoolEvent::Done(_, Ok(row)) => {
                outputs.add(row)?;
                count.add();
            }
            PoolEvent::Done(_, Err(bad)) => {
                return Err(Ending::early(Exit::Usage, bad.to_string()));
            }
            PoolEvent::Nothing => {}
            PoolEvent::Over => break,
        }
        if signals.count() > 0 {
            let there = points.iter().filter(|point| outputs.rows.contains_key(point)).count();
            let say = format!(
                "interrupted: {there} of {} points are done; the same command runs the rest",
                points.len()
            );
            return Ok(Ending::early(Exit::Interrupted, say));
        }
    }
    drop(count);
    outputs.finish()?;
    Ok(outputs.ending(points))
}

/// The results of all shards, each point once.
fn joined(sweep: &Sweep, files: &[PathBuf]) -> Result<Vec<Row>, Ending> {
    let mut parts = Vec::new();
    for path in files {
        parts.push((path.display().to_string(), read(sweep, path)?.0));
    }
    merge(sweep, &parts).map_err(|bad| Ending::early(Exit::Skipped, bad.to_string()))
}

/// Writes them.
fn join(sweep: &Sweep, rows: Vec<Row>, outputs: &mut Outputs<'_>) -> Result<Ending, Ending> {
    let points: Vec<usize> = (0..sweep.count()).collect();
    outputs.expect(&points);
    for row in rows {
        if !outputs.rows.contains_key(&row.point) {
            outputs.add(row)?;
        }
    }
    outputs.finish()?;
    Ok(outputs.ending(&points))
}

/// The results in a file, and how many bytes of it are whole lines.
fn read(sweep: &Sweep, path: &Path) -> Result<(Vec<Row>, usize), Ending> {
    let usage = |say: String| {
        let hint = "move it away or name another with -o";
        Ending::early(Exit::Usage, format!("{}: {say}; {hint}", path.display()))
    };
    let format = format_of(path)?;
    let text = read_text(path, "could not read the results")?;
    let records = format.read(&text).map_err(|bad| usage(bad.to_string()))?;
    let rows = records.of_sweep(sweep).map_err(|bad| usage(bad.to_string()))?;
    Ok((rows, records.whole_bytes))
}

fn format_of(path: &Path) -> Result<Format, Ending> {
    Format::of(&path.to_string_lossy()).ok_or_else(|| {
        let say = format!("expected a file of .csv or .ndjson, got {}", path.display());
        Ending::early(Exit::Usage, say)
    })
}

/// Where the results go.
struct Outputs<'a> {
    ui: &'a Output,
    columns: Vec<Column>,
    files: Vec<OutputFile>,
    /// Results also go to stdout as CSV.
    stdout: bool,
    /// All results so far, by point.
    rows: BTreeMap<usize, Row>,
    /// Points that stdout waits for, to be printed in order.
    waiting: BTreeSet<usize>,
}

/// One file of results.
struct OutputFile {
    path: PathBuf,
    format: Format,
    file: File,
    /// The points in it, in the order of its lines.
    points: Vec<usize>,
}

impl<'a> Outputs<'a> {
    /// Opens the files and reads what is in them.
    fn open(ui: &'a Output, sweep: &Sweep, paths: &[PathBuf]) -> Result<Self, Ending> {
        let columns = sweep.columns();
        let (mut files, mut rows, mut stdout) = (Vec::new(), BTreeMap::new(), false);
        for path in paths {
            if path.as_os_str() == "-" {
                stdout = true;
                continue;
            }
            let format = format_of(path)?;
            let (found, whole) = if path.exists() { read(sweep, path)? } else { (Vec::new(), 0) };
            let points = found.iter().map(|row| row.point).collect();
            rows.extend(found.into_iter().map(|row| (row.point, row)));
            let say = |error: std::io::Error| store(path, "could not write the results", &error);
            let mut file =
                File::options().create(true).write(true).truncate(false).open(path).map_err(say)?;
            // An incomplete last line is computed again.
            file.set_len(whole as u64).map_err(say)?;
            file.seek(SeekFrom::End(0)).map_err(say)?;
            if whole == 0 {
                file.write_all(format.header(&columns).as_bytes()).map_err(say)?;
            }
            files.push(OutputFile { path: path.clone(), format, file, points });
        }
        if stdout && !ui.has_json() {
            crate::ui::output::print(&Format::Csv.header(&columns));
        }
        let mut outputs = Self { ui, columns, files, stdout, rows, waiting: BTreeSet::new() };
        // Results missing from one of the files.
        for output in &mut outputs.files {
            let there: BTreeSet<usize> = output.points.iter().copied().collect();
            for row in outputs.rows.values().filter(|row| !there.contains(&row.point)) {
                output.append(&outputs.columns, row)?;
            }
        }
        Ok(outputs)
    }

    /// Sets the expected points, and prints those that are done already.
    fn expect(&mut self, points: &[usize]) {
        self.waiting = points.iter().copied().collect();
        self.tell();
    }

    /// Adds a result.
    fn add(&mut self, row: Row) -> Result<(), Ending> {
        for output in &mut self.files {
            output.append(&self.columns, &row)?;
        }
        self.rows.insert(row.point, row);
        self.tell();
        Ok(())
    }

    /// Prints what is next in order.
    fn tell(&mut self) {
        while let Some(row) = self.waiting.first().and_then(|point| self.rows.get(point)) {
            if self.ui.has_json() {
                let line = Format::Ndjson.line(&self.columns, row);
                let fields: Map<String, Value> = serde_json::from_str(&line).unwrap_or_default();
                self.ui.event(Event::Row(fields));
            } else if self.stdout {
                crate::ui::output::print(&Format::Csv.line(&self.columns, row));
            }
            self.waiting.pop_first();
        }
    }

    /// Puts the lines of the files into the order of the points.
    fn finish(&mut self) -> Result<(), Ending> {
        let rows: Vec<Row> = self.rows.values().cloned().collect();
        for output in &mut self.files {
            if output.points.iter().eq(self.rows.keys()) {
                continue;
            }
            let page = output.format.page(&self.columns, &rows);
            let mut beside = output.path.clone().into_os_string();
            beside.push(".new");
            let beside = PathBuf::from(beside);
            std::fs::write(&beside, page)
                .and_then(|()| std::fs::rename(&beside, &output.path))
                .map_err(|error| store(&output.path, "could not write the results", &error))?;
        }
        Ok(())
    }

    /// The end when all of these points are done.
    fn ending(&self, points: &[usize]) -> Ending {
        let done = Value::Bool(true).to_string();
        let at = self.columns.iter().position(|column| column.name == "done").unwrap_or(0);
        let rows = || points.iter().filter_map(|point| self.rows.get(point));
        let bad = rows().filter(|row| row.values[at] != done).count();
        let paths: Vec<String> =
            self.files.iter().map(|output| output.path.display().to_string()).collect();
        let into =
            if paths.is_empty() { String::new() } else { format!(" in {}", paths.join(", ")) };
        let failed = match bad {
            0 => String::new(),
            1 => "; 1 transfer failed, see `ending`".to_owned(),
            _ => format!("; {bad} transfers failed, see `ending`"),
        };
        let summary =
            SweepSummary { points: points.len() as u64, failed: bad as u64, files: paths };
        let summary = Some(Summary::Sweep(summary));
        let say = format!("{} points{into}{failed}", points.len());
        Ending { summary, ..Ending::early(Exit::Done, say) }
    }
}

impl OutputFile {
    /// Writes a row immediately, as an interrupt may come at any time.
    fn append(&mut self, columns: &[Column], row: &Row) -> Result<(), Ending> {
        let line = self.format.line(columns, row);
        self.file
            .write_all(line.as_bytes())
            .map_err(|error| store(&self.path, "could not write the results", &error))?;
        self.points.push(row.point);
        Ok(())
    }
}
