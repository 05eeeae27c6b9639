//! Throughput against window, packet length and error rate, from two sweeps of the laboratory.

use super::svg::{Anchor, Picture, WIDTH};
use serde_json::Value;
use std::fmt::Write as _;

/// A plot of a sweep.
pub(super) struct Curves {
    /// Of the file.
    pub(super) name: &'static str,
    /// The sweep.
    pub(super) sweep: &'static str,
    /// The range below the axis, and what stands there.
    x: (&'static str, &'static str),
    /// The range that has a line for each of these values, and what stands before a value.
    line: (&'static str, &'static [&'static str], &'static str),
    title: &'static str,
}

/// Every plot.
pub(super) const CURVES: [Curves; 3] = [
    Curves {
        name: "throughput-window",
        sweep: "window-length",
        x: ("window", "packets in the window"),
        line: ("length", &["1000", "250", "94"], "length"),
        title: "Throughput against the window",
    },
    Curves {
        name: "throughput-length",
        sweep: "window-length",
        x: ("length", "bytes in a packet"),
        line: ("window", &["8", "2", "1"], "window"),
        title: "Throughput against the length of packets",
    },
    Curves {
        name: "throughput-errors",
        sweep: "noise-length",
        x: ("errors", "bits damaged, of all bits"),
        line: ("length", &["94", "400", "1000", "4000"], "length"),
        title: "Throughput against the error rate",
    },
];

/// A line of a plot.
struct Series {
    name: String,
    /// Value of the axis as it is in the sweep, bytes a second; none if the transfer failed.
    points: Vec<(String, Option<f64>)>,
}

/// The lines, and what the line of the transfers carries at most.
fn read(of: &Curves, results: &str) -> Result<(Vec<Series>, f64), String> {
    let rows: Result<Vec<Value>, _> = results.lines().map(serde_json::from_str).collect();
    let rows: Vec<Value> = rows.map_err(|e| format!("{}: {e}", of.sweep))?;
    let word = |row: &Value, key: &str| match &row[key] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let limit = rows.iter().find_map(|row| row["limit_cps"].as_f64());
    let limit = limit.ok_or_else(|| format!("{}: expected limit_cps", of.sweep))?;
    let (range, values, before) = of.line;
    let series = values.iter().map(|value| {
        let own = rows.iter().filter(|row| word(row, range) == *value);
        let point = |row: &Value| {
            let rate = row["cps"].as_f64().filter(|_| row["done"] == true);
            (word(row, of.x.0), rate)
        };
        Series { name: format!("{before} {value}"), points: own.map(point).collect() }
    });
    let series: Vec<Series> = series.collect();
    match series.iter().find(|of| of.points.len() < 2) {
        Some(short) => Err(format!("{}: expected points of {}", of.sweep, short.name)),
        None => Ok((series, limit)),
    }
}

/// The area of the plot: left, top, right, bottom.
const AREA: (f64, f64, f64, f64) = (62.0, 66.0, 386.0, 300.0);
const HEIGHT: f64 = 360.0;
/// Least distance of names behind the lines.
const NAMES: f64 = 20.0;

/// Where a value stands on a logarithmic axis; no errors at all stand one step before the least.
fn logarithm(value: &str, least: f64) -> f64 {
    let value = value.parse().unwrap_or(0.0_f64);
    if value > 0.0 { value.log10() } else { least.log10() - 1.0 }
}

/// Moves places apart that are nearer than they may be; they are in order.
fn apart(places: &mut [(f64, usize)]) {
    places.sort_by(|a, b| a.0.total_cmp(&b.0));
    for index in 1..places.len() {
        places[index].0 = places[index].0.max(places[index - 1].0 + NAMES);
    }
}

/// The plot of a sweep's results, in JSON lines.
pub(super) fn draw(of: &Curves, results: &str) -> Result<String, String> {
    let (series, limit) = read(of, results)?;
    let (left, top, right, bottom) = AREA;
    let values: Vec<&str> = series[0].points.iter().map(|(value, _)| value.as_str()).collect();
    let least = values.iter().filter_map(|value| value.parse::<f64>().ok());
    let least = least.filter(|value| *value > 0.0).fold(f64::MAX, f64::min);
    let place = |value: &str| logarithm(value, least);
    let (low, high) = (place(values[0]), place(values[values.len() - 1]));
    let x = |value: &str| left + 10.0 + (place(value) - low) / (high - low) * (right - left - 20.0);
    let y = |rate: f64| bottom - rate / (limit * 1.04) * (bottom - top);
    let mut picture = Picture::new();
    picture.text((16.0, 28.0), Anchor::Start, "ink", of.title);
    picture.text((16.0, 50.0), Anchor::Start, "soft", "bytes a second");
    for rate in (0..=limit as u32).step_by(200) {
        let at = y(f64::from(rate));
        picture.line((left, at), (right, at), "grid");
        picture.text((left - 8.0, at + 5.0), Anchor::End, "soft", &rate.to_string());
    }
    for value in &values {
        let text = if *value == "0" { "none" } else { value };
        picture.line((x(value), bottom), (x(value), bottom + 5.0), "axis");
        picture.text((x(value), bottom + 22.0), Anchor::Middle, "soft", text);
    }
    picture.line((left, bottom), (right, bottom), "axis");
    picture.text((f64::midpoint(left, right), bottom + 46.0), Anchor::Middle, "ink", of.x.1);
    picture.add("<g stroke-width=\"2\" stroke-dasharray=\"5 5\">");
    picture.line((left, y(limit)), (right, y(limit)), "l6");
    picture.add("</g>");
    picture.text(
        (right, y(limit) - 7.0),
        Anchor::End,
        "soft",
        &format!("the line carries {limit:.0}"),
    );
    let mut ends = Vec::new();
    let mut says = format!("Bytes a second by {}; the line carries {limit:.0}.", of.x.1);
    for (index, line) in series.iter().enumerate() {
        let known: Vec<(f64, f64)> =
            line.points.iter().filter_map(|(value, rate)| Some((x(value), y((*rate)?)))).collect();
        picture.add("<g stroke-width=\"3\">");
        picture.path(&known, &format!("l{index}"));
        picture.add("</g>");
        for (x, y) in &known {
            picture.add(&format!(
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4.5\" class=\"f{index}\"/>"
            ));
        }
        for (value, _) in line.points.iter().filter(|(_, rate)| rate.is_none()) {
            picture.text((x(value), bottom - 5.0), Anchor::Middle, "ink", "fails");
        }
        let of_last = known.last().map_or(bottom, |point| point.1);
        ends.push((of_last, index));
        let said = line.points.iter().map(|(value, rate)| {
            rate.map_or_else(|| format!("{value}: fails"), |rate| format!("{value}: {rate:.0}"))
        });
        // Writing to a string cannot fail.
        let _ = write!(says, " {}: {}.", line.name, said.collect::<Vec<_>>().join(", "));
    }
    apart(&mut ends);
    for (at, index) in ends {
        picture.rect((right + 8.0, at - 5.0), (10.0, 10.0), &format!("f{index}"));
        picture.text((right + 22.0, at + 5.0), Anchor::Start, "ink", &series[index].name);
    }
    debug_assert!(right + 22.0 < WIDTH);
    Ok(picture.chart(HEIGHT, of.title, &says))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_the_sweep() {
        let of = &CURVES[2];
        let row = |errors: &str, length: u32, done: bool, cps: f64| {
            let row = serde_json::json!({"errors": errors, "length": length, "done": done, "cps": cps, "limit_cps": 960});
            format!("{row}\n")
        };
        let mut results = String::new();
        for length in [94, 400, 1000, 4000, 150] {
            results += &row("0", length, true, 900.0);
            results += &row("1e-6", length, length < 4000, 450.0);
        }
        let (series, limit) = read(of, &results).unwrap();
        assert!((limit - 960.0).abs() < 1e-9);
        assert_eq!(series.len(), 4);
        assert_eq!(
            series[1].points,
            [("0".to_owned(), Some(900.0)), ("1e-6".to_owned(), Some(450.0))]
        );
        assert_eq!(series[3].points[1], ("1e-6".to_owned(), None));
        let picture = draw(of, &results).unwrap();
        assert_eq!(picture.matches(">fails<").count(), 1, "{picture}");
        assert!(draw(of, &row("0", 94, true, 900.0)).is_err());
    }

    #[test]
    fn names_do_not_cover_each_other() {
        let mut places = [(50.0, 0), (48.0, 1), (100.0, 2)];
        apart(&mut places);
        assert_eq!(places, [(48.0, 1), (68.0, 0), (100.0, 2)]);
    }
}
