//! The transfers of trials: each as a point, over what was varied, and how many were how fast.

use super::plot::{self, Axes, Series};
use crate::table::{Report, Sample};
use maud::{Markup, html};

/// Bins over the range of rates, about as many as in the histograms of the source.
const BINS: usize = 24;

/// Plots of all trials of a table; nothing if it has none.
pub(super) fn figures(report: &Report) -> Markup {
    let mut trials: Vec<&str> = Vec::new();
    for sample in &report.samples {
        if !trials.contains(&sample.trial.as_str()) {
            trials.push(&sample.trial);
        }
    }
    html! {
        @for trial in trials {
            @let samples = report.samples.iter().filter(|sample| sample.trial == trial);
            (figure(&report.table, trial, &samples.collect::<Vec<_>>()))
        }
    }
}

fn figure(table: &str, trial: &str, samples: &[&Sample]) -> Markup {
    let mut names: Vec<&str> = Vec::new();
    for sample in samples {
        if !names.contains(&sample.series.as_str()) {
            names.push(&sample.series);
        }
    }
    let failed = samples.iter().filter(|sample| sample.cps.is_none()).count();
    let axes: Vec<&str> = samples
        .first()
        .map(|sample| sample.axes.iter().map(|(name, _)| name.as_str()).collect())
        .unwrap_or_default();
    let rates = |name: &&str| {
        let of = samples.iter().filter(|sample| sample.series == *name);
        ((*name).to_owned(), of.filter_map(|sample| Some(sample.cps? as f64)).collect())
    };
    let rates: Vec<(String, Vec<f64>)> = names.iter().map(rates).collect();
    html! {
        @for axis in &axes {
            figure.broad {
                figcaption {
                    (of(trial)) "every transfer by its " (axis) ", and the means; characters per second"
                }
                (by_axis(&format!("{table}: {}", of(trial)), axis, &names, samples))
            }
        }
        figure.broad {
            figcaption { (of(trial)) "how many of the " (samples.len() - failed) " transfers were how fast" }
            (plot::histogram(
                &Axes {
                    label: &format!("{table}: {}transfers by characters per second", of(trial)),
                    x: "characters per second",
                    y: "transfers",
                    ordered: false,
                },
                BINS,
                &rates,
            ))
        }
    }
}

/// The prefix with a trial's name; a table's only trial has none.
fn of(trial: &str) -> String {
    if trial.is_empty() { String::new() } else { format!("{trial}: ") }
}

fn by_axis(trial: &str, axis: &str, names: &[&str], samples: &[&Sample]) -> Markup {
    let point = |sample: &&Sample| {
        let (_, value) = sample.axes.iter().find(|(name, _)| name == axis)?;
        Some((*value as f64, sample.cps? as f64))
    };
    let series = |name: &&str| {
        let of = samples.iter().filter(|sample| sample.series == *name);
        Series { name: (*name).to_owned(), points: of.filter_map(point).collect() }
    };
    let series: Vec<Series> =
        names.iter().map(series).filter(|series| !series.points.is_empty()).collect();
    let label = format!("{trial}characters per second by {axis}");
    plot::scatter(&Axes { label: &label, x: axis, y: "cps", ordered: false }, &series)
}
