//! Charts as SVG, drawn at twice the size at which a phone shows them: the few shapes that the page of one transfer
//! needs, without the library of [`super::plot`], which asks a browser for its fonts.
//!
//! Colours are taken from Okabe and Ito (2008), which people see apart whatever their eyes.

mod sequence;

pub(super) use sequence::{Mark, Sequence, rates, sequence};

use maud::{Markup, html};
use std::fmt::Write as _;
use std::ops::Range;

/// Width of every chart in its own units; on a phone one unit is half a pixel.
pub(super) const WIDTH: u32 = 720;
/// Size of letters.
const LETTERS: u32 = 22;
/// The space of the axes: left, right, top, bottom.
const EDGES: [f64; 4] = [160.0, 24.0, 10.0, 86.0];

const INK: &str = "#222222";
const FAINT: &str = "#DDDDDD";

/// Red, green, blue.
pub(super) type Colour = (u8, u8, u8);

pub(super) const KINDS: [Colour; 8] = [
    (0x00, 0x72, 0xb2),
    (0xe6, 0x9f, 0x00),
    (0x00, 0x9e, 0x73),
    (0xd5, 0x5e, 0x00),
    (0xcc, 0x79, 0xa7),
    (0x56, 0xb4, 0xe9),
    (0x66, 0x66, 0x66),
    (0xb8, 0xa9, 0x00),
];

/// `#rrggbb`.
pub(super) fn hex((red, green, blue): Colour) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// What the colours mean.
pub(super) fn legend(entries: &[(String, Colour)]) -> Markup {
    html! {
        ul.legend {
            @for (name, colour) in entries {
                li { i style={ "background:" (hex(*colour)) } {} (name) }
            }
        }
    }
}

/// One line of a chart.
pub(super) struct Series {
    /// For the legend.
    pub(super) name: String,
    /// Its points, from left to right.
    pub(super) points: Vec<(f64, f64)>,
}

/// Axis labels.
pub(super) struct Axes<'a> {
    /// Description of the whole chart for readers who cannot see it.
    pub(super) label: &'a str,
    /// Beneath the horizontal axis.
    pub(super) x: &'a str,
    /// Beside the vertical axis.
    pub(super) y: &'a str,
    /// The series are steps of a number: asked by the plots of a report.
    #[cfg_attr(not(feature = "report"), expect(dead_code))]
    pub(super) ordered: bool,
}

/// One bar of [`stacks`].
pub(super) struct Stack {
    /// What it is of.
    pub(super) name: String,
    /// Parts, each an index of the legend and an amount.
    pub(super) parts: Vec<(usize, f64)>,
}

/// Bars of parts that add up, named by `names`, each as long as its whole in proportion to the longest.
pub(super) fn stacks(label: &str, names: &[String], stacks: &[Stack]) -> Markup {
    const NAME: i32 = 36;
    const BAR: i32 = 40;
    const GAP: i32 = 16;
    let height = (stacks.len() as i32 * (NAME + BAR + GAP)).max(1);
    let whole = |stack: &Stack| stack.parts.iter().map(|part| part.1).sum::<f64>();
    let most = stacks.iter().map(whole).fold(1e-9, f64::max);
    let colours = part_colours(names.len());
    let place = |amount: f64| (amount / most * f64::from(WIDTH)).round() as i32;
    // Where each part begins and ends, and its colour.
    let parts = |stack: &Stack| {
        let mut sum = 0.0;
        let mut bars = Vec::new();
        for (part, amount) in &stack.parts {
            let left = place(sum);
            sum += amount;
            bars.push((left, place(sum) - left, hex(colours[*part])));
        }
        bars
    };
    let is_shown = |index: usize| {
        stacks.iter().any(|stack| stack.parts.iter().any(|(part, _)| *part == index))
    };
    let entries = names.iter().cloned().zip(colours.iter().copied()).enumerate();
    let entries: Vec<(String, Colour)> =
        entries.filter(|(index, _)| is_shown(*index)).map(|(_, entry)| entry).collect();
    html! {
        svg viewBox={ "0 0 " (WIDTH) " " (height) } role="img" aria-label=(label) {
            @for (top, stack) in (0..).step_by((NAME + BAR + GAP) as usize).zip(stacks) {
                text x="0" y=(top + NAME / 2) dy="0.35em" font-size=(LETTERS) fill=(INK) { (stack.name) }
                @for (left, width, colour) in parts(stack) {
                    rect x=(left) y=(top + NAME) width=(width) height=(BAR) fill=(colour) {}
                }
            }
        }
        (legend(&entries))
    }
}

/// Colours of the parts of a budget: neighbours are easily told apart.
fn part_colours(count: usize) -> Vec<Colour> {
    (0..count)
        .map(|index| {
            let (r, g, b) = KINDS[index % KINDS.len()];
            // The second time around, lighter.
            let light = |value: u8| if index < KINDS.len() { value } else { 128 + value / 2 };
            (light(r), light(g), light(b))
        })
        .collect()
}

/// Axes that begin at 0, and what is drawn between them.
struct Frame {
    height: u32,
    end: f64,
    top: f64,
    drawn: Vec<Markup>,
}

impl Frame {
    /// One of this height, for numbers up to `end` and `top`.
    fn new(height: u32, end: f64, top: f64) -> Self {
        Self { height, end, top, drawn: Vec::new() }
    }

    fn x(&self, value: f64) -> f64 {
        let [left, right, ..] = EDGES;
        left + value / self.end * (f64::from(WIDTH) - left - right)
    }

    fn y(&self, value: f64) -> f64 {
        let [_, _, above, below] = EDGES;
        let height = f64::from(self.height) - above - below;
        above + height - value / self.top * height
    }

    /// A line through points.
    fn line(&mut self, points: &[(f64, f64)], colour: Colour, width: u32) {
        let mut text = String::new();
        for (x, y) in points {
            // Writing to a string cannot fail.
            let _ = write!(text, "{:.1},{:.1} ", self.x(*x), self.y(*y));
        }
        self.drawn.push(html! {
            polyline points=(text.trim_end()) fill="none" stroke=(hex(colour)) stroke-width=(width) {}
        });
    }

    /// Lines from the bottom to the top.
    fn uprights(&mut self, at: impl Iterator<Item = f64>, colour: Colour) {
        for x in at {
            let line = [(x, 0.0), (x, self.top)];
            self.line(&line, colour, 1);
        }
    }

    /// The chart.
    fn markup(self, axes: &Axes<'_>) -> Markup {
        let [left, right, above, below] = EDGES;
        let (width, height) = (f64::from(WIDTH), f64::from(self.height));
        let (end, bottom) = (width - right, height - below);
        let middle = |range: Range<f64>| one(f64::midpoint(range.start, range.end));
        let (across, beside) = (middle(left..end), middle(above..bottom));
        html! {
            svg viewBox={ "0 0 " (WIDTH) " " (self.height) } role="img" aria-label=(axes.label)
                font-size=(LETTERS) fill=(INK)
            {
                @for tick in ticks(self.end, 7) {
                    @let x = one(self.x(tick));
                    line x1=(x) y1=(above) x2=(x) y2=(bottom) stroke=(FAINT) {}
                    text x=(x) y=(bottom + 28.0) text-anchor="middle" { (round(tick)) }
                }
                @for tick in ticks(self.top, 6) {
                    @let y = one(self.y(tick));
                    line x1=(left) y1=(y) x2=(end) y2=(y) stroke=(FAINT) {}
                    text x=(left - 12.0) y=(y) dy="0.35em" text-anchor="end" { (round(tick)) }
                }
                text x=(across) y=(height - 16.0) text-anchor="middle" { (axes.x) }
                text x="24" y=(beside) text-anchor="middle" transform={ "rotate(-90 24 " (beside) ")" } { (axes.y) }
                @for shape in &self.drawn { (shape) }
                polyline points={ (left) "," (above) " " (left) "," (bottom) " " (end) "," (bottom) } fill="none" stroke=(INK) {}
            }
        }
    }
}

/// A coordinate with one decimal.
fn one(value: f64) -> String {
    format!("{value:.1}")
}

/// Round numbers from 0 up to `end`: at most `most` steps of one, two or five times a power of ten.
fn ticks(end: f64, most: u32) -> impl Iterator<Item = f64> {
    let least = (end / f64::from(most)).max(1e-9);
    let power = 10_f64.powf(least.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|by| by * power);
    let step = step.into_iter().find(|step| *step >= least * 0.999).unwrap_or(power * 10.0);
    (0..).map(move |index| f64::from(index) * step).take_while(move |tick| *tick <= end * 1.000_001)
}

/// A number as an axis label.
fn round(value: f64) -> String {
    if value.abs() >= 10.0 || (value - value.round()).abs() < 1e-6 {
        format!("{value:.0}")
    } else if value.abs() >= 0.1 {
        format!("{value:.1}")
    } else {
        format!("{value:.3}").trim_end_matches('0').to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_end_in_time() {
        let all = |end| ticks(end, 6).map(round).collect::<Vec<_>>();
        assert_eq!(all(100.0), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(all(71.0), ["0", "20", "40", "60"]);
        assert_eq!(all(0.05), ["0", "0.01", "0.02", "0.03", "0.04", "0.05"]);
        assert_eq!(all(1.3), ["0", "0.5", "1"]);
    }

    #[test]
    fn what_is_drawn_is_where_its_numbers_are() {
        let mut frame = Frame::new(400, 10.0, 1.0);
        frame.line(&[(0.0, 0.0), (10.0, 1.0)], KINDS[0], 2);
        let axes = Axes { label: "a <label>", x: "x", y: "y", ordered: false };
        let text = frame.markup(&axes).into_string();
        assert!(text.contains("points=\"160.0,314.0 696.0,10.0\""), "{text}");
        assert!(text.contains("aria-label=\"a &lt;label&gt;\""), "{text}");
    }
}
