//! The table that measurements make.

use super::Bench;
use super::run::Figure;

pub(super) use wetstring_testkit::material;

/// One way to move a file, and its name in the table.
pub(super) type Contender<'a> = (&'static str, Box<dyn Fn() -> Result<Figure, String> + 'a>);

/// What a row is held against: the row, the least ratio to it, and where the number comes from.
pub(super) type Bar = (usize, usize, f64);

pub(super) fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Runs the rows in turn, and prints them.
pub(super) fn group(
    bench: &Bench,
    title: &str,
    rows: &[Contender<'_>],
    bars: &[Bar],
) -> Result<(), String> {
    let mut speeds = vec![Vec::new(); rows.len()];
    let mut cpus = vec![Vec::new(); rows.len()];
    for round in 0..=bench.rounds {
        for (row, (name, run)) in rows.iter().enumerate() {
            let figure = run().map_err(|why| format!("{title}: {name}: {why}"))?;
            if round > 0 {
                speeds[row].push(figure.speed / 1e6);
                cpus[row].push(figure.cpu * 1e9);
            }
        }
    }
    println!("{title}");
    let medians: Vec<f64> = speeds.iter().cloned().map(middle).collect();
    // A virtual machine disturbs in one direction only: it gives memory late, and takes time away.
    let fastest: Vec<f64> =
        speeds.iter().map(|speeds| speeds.iter().copied().fold(0.0, f64::max)).collect();
    for (row, (name, _)) in rows.iter().enumerate() {
        let low = speeds[row].iter().copied().fold(f64::INFINITY, f64::min);
        let (median, high) = (medians[row], fastest[row]);
        let ratio = median / medians[0];
        let cpu = middle(std::mem::take(&mut cpus[row]));
        let cpu = if cpu > 0.0 { format!("  {cpu:.2} s of CPU/GB") } else { String::new() };
        println!("  {name:<36} {median:>8.1} MB/s  ({low:.1} to {high:.1})  x{ratio:.2}{cpu}");
    }
    for &(row, base, least) in bars {
        let ratio = medians[row] / medians[base];
        let best = fastest[row] / fastest[base];
        let (name, other) = (rows[row].0, rows[base].0);
        if least > 0.0 {
            verdict(
                &format!("{name} / {other}"),
                &format!("{ratio:.2} (fastest rounds {best:.2})"),
                &format!("at least {least}"),
                ratio >= least,
            );
        } else {
            println!("    {name} / {other}: {ratio:.2}");
        }
    }
    println!();
    Ok(())
}

pub(super) fn verdict(what: &str, value: &str, bar: &str, met: bool) {
    println!("    {what}: {value}, bar {bar}: {}", if met { "met" } else { "NOT MET" });
}
