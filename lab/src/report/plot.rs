//! Plots as SVG, drawn at twice the size at which a phone shows them.
//!
//! Colours are taken from Okabe and Ito (2008), which people see apart whatever their eyes; where
//! the series are steps of a number, from dark to light.

pub(super) use super::chart::{Axes, Series};

use super::chart::{self, Colour, WIDTH, hex};
use maud::{Markup, PreEscaped, html};
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::error::Error;

/// Size of letters, in the library's measure: 22 units on the page.
const LETTERS: i32 = 28;

const INK: RGBColor = RGBColor(0x22, 0x22, 0x22);
const FAINT: RGBColor = RGBColor(0xdd, 0xdd, 0xdd);
const PUBLISHED: RGBColor = RGBColor(0xaa, 0xaa, 0xaa);
const OURS: RGBColor = RGBColor(0x00, 0x72, 0xb2);
const DEFAULTS: RGBColor = RGBColor(0x00, 0x9e, 0x73);
const DIFFERS: RGBColor = RGBColor(0xd5, 0x5e, 0x00);

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn Error>>;

/// A colour for each of this many series.
pub(super) fn colours(count: usize, ordered: bool) -> Vec<RGBColor> {
    let step = |index: usize| {
        // From a dark violet over blue-green to a yellow that is still seen on white.
        let part = index as f64 / (count.max(2) - 1) as f64;
        let mix = |from: f64, middle: f64, to: f64| {
            let value = if part < 0.5 {
                from + (middle - from) * part * 2.0
            } else {
                middle + (to - middle) * (part * 2.0 - 1.0)
            };
            value.round() as u8
        };
        RGBColor(mix(68.0, 33.0, 214.0), mix(1.0, 145.0, 178.0), mix(84.0, 140.0, 30.0))
    };
    let kind = |index: usize| rgb(chart::KINDS[index % chart::KINDS.len()]);
    (0..count).map(|index| if ordered { step(index) } else { kind(index) }).collect()
}

/// A colour of the charts for the library.
fn rgb((red, green, blue): Colour) -> RGBColor {
    RGBColor(red, green, blue)
}

/// And the other way round.
fn plain(RGBColor(red, green, blue): RGBColor) -> Colour {
    (red, green, blue)
}

/// What the colours of a plot mean.
pub(super) fn legend(entries: &[(String, RGBColor)]) -> Markup {
    let entries = entries.iter().map(|(name, colour)| (name.clone(), plain(*colour)));
    chart::legend(&entries.collect::<Vec<_>>())
}

/// What the colours of [`pairs`] mean.
pub(super) fn pair_colours() -> [(String, RGBColor); 3] {
    let entries = [("published", PUBLISHED), ("ours", OURS), ("ours with our defaults", DEFAULTS)];
    entries.map(|(name, colour)| (name.to_owned(), colour))
}

/// The same as a list of the page.
pub(super) fn pair_legend() -> Markup {
    legend(&pair_colours())
}

/// What the colours of [`ratios`] mean.
pub(super) fn ratio_legend() -> Markup {
    let entries = [("reproduced, or within chance", OURS), ("differs, with a reason", DIFFERS)];
    legend(&entries.map(|(name, colour)| (name.to_owned(), colour)))
}

/// Draws on a page of this height. `label` is what the plot says, for those who do not see it.
fn svg(label: &str, height: u32, draw: impl FnOnce(&Area<'_>) -> Drawn) -> Markup {
    let mut text = String::new();
    let area = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
    let drawn = draw(&area).and_then(|()| Ok(area.present()?));
    drawn.expect("drawing into memory does not fail");
    drop(area);
    // The library's own tag fixes the size, and names the format as files of their own have to.
    let inner = text.split_once('>').map_or("", |(_, rest)| rest);
    let inner = inner.trim_end().trim_end_matches("</svg>");
    html! {
        svg viewBox={ "0 0 " (WIDTH) " " (height) } role="img" aria-label=(label) {
            (PreEscaped(inner))
        }
    }
}

/// On dark paper ink is light, and the darkest colour of bars is lighter.
const DARK: &str = "@media (prefers-color-scheme:dark){.paper{fill:#16181b}text{fill:#e4e4e2}\
    [fill=\"#0072B2\"],[fill=\"#0072b2\"]{fill:#3a9bdc}}";

/// A plot as a file of its own: on white or dark paper, as the reader has it, with what its colours mean above it.
/// `title` is what it shows.
pub(super) fn file(title: &str, plot: &Markup, entries: &[(String, RGBColor)]) -> String {
    const EDGE: u32 = 20;
    const HEAD: u32 = 56;
    const EACH: u32 = 230;
    let text = plot.0.as_str();
    let height = text.split_once("viewBox=\"0 0 ").and_then(|(_, rest)| {
        let mut numbers = rest.split(['"', ' ']);
        numbers.nth(1)?.parse::<u32>().ok()
    });
    let height = height.unwrap_or(0);
    let (wide, high) = (WIDTH + 2 * EDGE, height + HEAD + EDGE);
    let inner = text.replacen(
        "<svg ",
        &format!("<svg x=\"{EDGE}\" y=\"{HEAD}\" width=\"{WIDTH}\" height=\"{height}\" "),
        1,
    );
    let of = html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (wide) " " (high) } width=(wide) height=(high) font-family="sans-serif" {
            title { (title) }
            style { (PreEscaped(DARK)) }
            rect.paper width="100%" height="100%" fill="#ffffff" {}
            @for (index, (name, colour)) in (0..).zip(entries) {
                @let x = EDGE + EACH * index;
                rect x=(x) y="18" width="18" height="18" fill=(hex(plain(*colour))) {}
                text x=(x + 26) y="34" font-size="20" fill=(hex(plain(INK))) { (name) }
            }
            (PreEscaped(inner))
        }
    };
    format!("{}\n", of.into_string())
}

fn letters() -> TextStyle<'static> {
    ("sans-serif", LETTERS).into_font().color(&INK)
}

fn at(h: HPos, v: VPos) -> TextStyle<'static> {
    letters().pos(Pos::new(h, v))
}

/// Lines over a number. The axis is logarithmic if the numbers span a factor of eight.
pub(super) fn lines(axes: &Axes<'_>, series: &[Series]) -> Markup {
    let xs = || series.iter().flat_map(|line| &line.points).map(|point| point.0);
    let ys = series.iter().flat_map(|line| &line.points).map(|point| point.1);
    let (low, high) = xs().fold((f64::MAX, f64::MIN), |(l, h), x| (l.min(x), h.max(x)));
    let top = ys.fold(1.0, f64::max) * 1.05;
    let is_log = low > 0.0 && high / low >= 8.0;
    let place = |x: f64| if is_log { x.log2() } else { x };
    let margin = (place(high) - place(low)).max(1e-9) * 0.03;
    let range = place(low) - margin..place(high) + margin;
    let colours = colours(series.len(), axes.ordered);
    let plot = svg(axes.label, 500, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(10)
            .margin_right(24)
            .x_label_area_size(76)
            .y_label_area_size(84)
            .build_cartesian_2d(range, 0.0..top)?;
        let x_label = |x: &f64| if is_log { round(x.exp2()) } else { round(*x) };
        chart
            .configure_mesh()
            .x_desc(axes.x)
            .y_desc(axes.y)
            .x_labels(7)
            .y_labels(6)
            .max_light_lines(0)
            .bold_line_style(FAINT)
            .axis_style(INK)
            .label_style(letters())
            .axis_desc_style(letters())
            .x_label_formatter(&x_label)
            .y_label_formatter(&|y: &f64| round(*y))
            .draw()?;
        for (line, colour) in series.iter().zip(&colours) {
            let points: Vec<(f64, f64)> =
                line.points.iter().map(|(x, y)| (place(*x), *y)).collect();
            chart.draw_series(LineSeries::new(points.clone(), colour.stroke_width(4)))?;
            chart
                .draw_series(points.iter().map(|point| Circle::new(*point, 6, colour.filled())))?;
        }
        Ok(())
    });
    let entries: Vec<(String, RGBColor)> =
        series.iter().map(|line| line.name.clone()).zip(colours).collect();
    html! { (plot) (legend(&entries)) }
}

/// Points over a number, and a line through the means of those that lie above each other.
pub(super) fn scatter(axes: &Axes<'_>, series: &[Series]) -> Markup {
    let all = || series.iter().flat_map(|of| &of.points);
    let low = all().map(|point| point.0).fold(f64::MAX, f64::min);
    let high = all().map(|point| point.0).fold(f64::MIN, f64::max);
    let top = all().map(|point| point.1).fold(1.0, f64::max) * 1.05;
    let margin = (high - low).max(1e-9) * 0.03;
    let colours = colours(series.len(), axes.ordered);
    let plot = svg(axes.label, 500, |area| {
        let mut chart = framed(area, axes, low - margin..high + margin, top)?;
        for (of, colour) in series.iter().zip(&colours) {
            let dot = |point: &(f64, f64)| Circle::new(*point, 4, colour.mix(0.25).filled());
            chart.draw_series(of.points.iter().map(dot))?;
        }
        for (of, colour) in series.iter().zip(&colours) {
            chart.draw_series(LineSeries::new(means(&of.points), colour.stroke_width(4)))?;
        }
        Ok(())
    });
    html! { (plot) (legend(&named(series, &colours))) }
}

/// How many values of each series lie in each of `bins` parts of the whole range: steps.
pub(super) fn histogram(axes: &Axes<'_>, bins: usize, series: &[(String, Vec<f64>)]) -> Markup {
    let most = series.iter().flat_map(|(_, values)| values).copied().fold(1.0, f64::max) * 1.02;
    let width = most / bins as f64;
    let count = |values: &[f64]| {
        let mut counts = vec![0_u32; bins];
        for value in values {
            counts[((value / width) as usize).min(bins - 1)] += 1;
        }
        counts
    };
    let steps = |(name, values): &(String, Vec<f64>)| {
        let edges = count(values).into_iter().enumerate().flat_map(|(bin, count)| {
            let (left, count) = (bin as f64 * width, f64::from(count));
            [(left, count), (left + width, count)]
        });
        Series { name: name.clone(), points: edges.collect() }
    };
    let series: Vec<Series> = series.iter().map(steps).collect();
    let top = series.iter().flat_map(|of| &of.points).map(|point| point.1).fold(1.0, f64::max);
    let colours = colours(series.len(), axes.ordered);
    let plot = svg(axes.label, 400, |area| {
        let mut chart = framed(area, axes, 0.0..most, top * 1.05)?;
        for (of, colour) in series.iter().zip(&colours) {
            let points = of.points.iter().copied();
            chart.draw_series(AreaSeries::new(points, 0.0, colour.mix(0.15)))?;
            let points = of.points.iter().copied();
            chart.draw_series(LineSeries::new(points, colour.stroke_width(4)))?;
        }
        Ok(())
    });
    html! { (plot) (legend(&named(&series, &colours))) }
}

fn named(series: &[Series], colours: &[RGBColor]) -> Vec<(String, RGBColor)> {
    series.iter().map(|of| of.name.clone()).zip(colours.iter().copied()).collect()
}

/// The mean of the points above each position, from left to right.
fn means(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    sorted
        .chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq())
        .map(|above| {
            (above[0].0, above.iter().map(|point| point.1).sum::<f64>() / above.len() as f64)
        })
        .collect()
}

type Chart<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// The axes of a plot from 0 up to `top`.
fn framed<'a>(
    area: &Area<'a>,
    axes: &Axes<'_>,
    range: std::ops::Range<f64>,
    top: f64,
) -> Result<Chart<'a>, Box<dyn Error>> {
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .margin_right(24)
        .x_label_area_size(76)
        .y_label_area_size(150)
        .build_cartesian_2d(range, 0.0..top)?;
    chart
        .configure_mesh()
        .x_desc(axes.x)
        .y_desc(axes.y)
        .x_labels(7)
        .y_labels(6)
        .max_light_lines(0)
        .bold_line_style(FAINT)
        .axis_style(INK)
        .label_style(letters())
        .axis_desc_style(letters())
        .x_label_formatter(&|x: &f64| round(*x))
        .y_label_formatter(&|y: &f64| round(*y))
        .draw()?;
    Ok(chart)
}

/// A number as an axis label.
fn round(value: f64) -> String {
    if value.abs() >= 10.0 || (value - value.round()).abs() < 1e-6 {
        format!("{value:.0}")
    } else {
        format!("{value:.1}")
    }
}

/// One pair of [`pairs`].
pub(super) struct PairOfBars {
    /// What was measured.
    pub(super) name: String,
    /// Its value, with the text beside the bar.
    pub(super) published: (f64, String),
    /// Ours.
    pub(super) ours: (f64, String),
    /// Ours with our defaults.
    pub(super) defaults: Option<(f64, String)>,
}

/// Bars beside each other: published, ours, our defaults.
pub(super) fn pairs(label: &str, pairs: &[PairOfBars]) -> Markup {
    const BAR: i32 = 24;
    const NAME: i32 = 36;
    const GAP: i32 = 14;
    let bars = |pair: &PairOfBars| 2 + i32::from(pair.defaults.is_some());
    let height: i32 = pairs.iter().map(|pair| NAME + bars(pair) * BAR + GAP).sum();
    let values = pairs.iter().flat_map(|pair| {
        [pair.published.0, pair.ours.0, pair.defaults.as_ref().map_or(0.0, |bar| bar.0)]
    });
    let most = values.fold(1e-9, f64::max);
    // Room for the value behind the longest bar.
    let scale = f64::from(WIDTH - 150) / most;
    svg(label, height.max(1) as u32, |area| {
        let mut top = 0;
        for pair in pairs {
            area.draw(&Text::new(
                pair.name.clone(),
                (0, top + NAME / 2),
                at(HPos::Left, VPos::Center),
            ))?;
            top += NAME;
            let some = [
                Some((&pair.published, PUBLISHED)),
                Some((&pair.ours, OURS)),
                pair.defaults.as_ref().map(|bar| (bar, DEFAULTS)),
            ];
            for ((value, text), colour) in some.into_iter().flatten() {
                let right = (value * scale).round() as i32;
                let corners = [(0, top), (right, top + BAR - 3)];
                area.draw(&Rectangle::new(corners, colour.filled()))?;
                area.draw(&Text::new(
                    text.clone(),
                    (right + 8, top + BAR / 2 - 1),
                    at(HPos::Left, VPos::Center),
                ))?;
                top += BAR;
            }
            top += GAP;
        }
        Ok(())
    })
}

/// A table's name, and ours divided by published for each of its values, with whether it is
/// reproduced or within chance.
pub(super) type Ratios = (String, Vec<(f64, bool)>);

/// One strip of points for each table: how near ours is to what was published.
pub(super) fn ratios(label: &str, tables: &[Ratios]) -> Markup {
    const STRIP: i32 = 78;
    let height = STRIP * tables.len() as i32 + 50;
    // A quarter to four times, in powers of two.
    let place = |ratio: f64| {
        let power = ratio.max(1e-9).log2().clamp(-2.0, 2.0);
        40 + ((power + 2.0) / 4.0 * f64::from(WIDTH - 80)).round() as i32
    };
    svg(label, height as u32, |area| {
        let bottom = height - 44;
        let marks =
            [(0.25, "1/4", 1), (0.5, "1/2", 1), (1.0, "1", 3), (2.0, "2", 1), (4.0, "4", 1)];
        for (ratio, text, width) in marks {
            let x = place(ratio);
            let line = vec![(x, 0), (x, bottom)];
            area.draw(&PathElement::new(line, PUBLISHED.stroke_width(width)))?;
            let below = at(HPos::Center, VPos::Center);
            area.draw(&Text::new(text, (x, bottom + 22), below))?;
        }
        for (index, (name, points)) in tables.iter().enumerate() {
            let top = STRIP * index as i32;
            let style = at(HPos::Left, VPos::Center);
            area.draw(&Text::new(name.clone(), (0, top + 18), style))?;
            for (number, (ratio, reproduced)) in points.iter().enumerate() {
                // Points of one value lie beneath each other.
                let (x, y) = (place(*ratio), top + 42 + (number % 5) as i32 * 6);
                let colour = if *reproduced { OURS } else { DIFFERS }.mix(0.7).filled();
                // Points beyond the strip are drawn as arrows.
                if (0.25..=4.0).contains(ratio) {
                    area.draw(&Circle::new((x, y), 6, colour))?;
                } else {
                    let tip = if *ratio > 4.0 { x + 14 } else { x - 14 };
                    area.draw(&Polygon::new(vec![(x, y - 7), (tip, y), (x, y + 7)], colour))?;
                }
            }
        }
        Ok(())
    })
}
