//! Time-sequence diagrams: packets over time by the part of the file that they carry.

use super::{Axes, Colour, Frame, KINDS, Series, legend};
use maud::{Markup, html};

/// Packets that are drawn one by one; more are drawn as the spans that they cover.
const MARKS: usize = 3000;
/// Height of the diagram.
const HEIGHT: u32 = 640;
/// The colour of timers, which are behind all else.
const FAINT: Colour = (0xb8, 0xb8, 0xb8);

/// A packet: when it was sent or came, and which bytes it carries.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in super::super) struct Mark {
    /// Seconds.
    pub(in super::super) at: f64,
    /// Bytes from the start of all files.
    pub(in super::super) bytes: (f64, f64),
    /// Which of the kinds of packets it is.
    pub(in super::super) kind: usize,
}

/// A time-sequence diagram.
pub(in super::super) struct Sequence<'a> {
    /// Description for readers who cannot see the plot.
    pub(in super::super) label: &'a str,
    /// Names of the kinds of packets.
    pub(in super::super) kinds: &'a [&'static str],
    /// The packets in order of time.
    pub(in super::super) marks: &'a [Mark],
    /// What has been acknowledged, by time, if it is known: name, points.
    pub(in super::super) known: Option<(&'static str, &'a [(f64, f64)])>,
    /// When timers ran out, in seconds.
    pub(in super::super) timeouts: &'a [f64],
    /// The end, in seconds.
    pub(in super::super) end: f64,
}

/// Draws it.
pub(in super::super) fn sequence(of: &Sequence<'_>) -> Markup {
    let top = of.marks.iter().map(|mark| mark.bytes.1).fold(1.0, f64::max);
    let (unit, y) = if top >= 20_000.0 { (1000.0, "kB of the file") } else { (1.0, "bytes") };
    let axes = Axes { label: of.label, x: "seconds", y, ordered: false };
    let marks = thinned(of.marks, of.end, of.kinds.len());
    let colour = |kind: usize| KINDS[kind % KINDS.len()];
    let line = KINDS[2];
    // What is short is seen, too.
    let least = top / unit / f64::from(HEIGHT) * 4.0;
    let mut frame = Frame::new(HEIGHT, of.end.max(1e-6), top / unit * 1.03);
    frame.uprights(of.timeouts.iter().copied().take(MARKS), FAINT);
    if let Some((_, points)) = &of.known {
        frame.line(&steps(points, unit), line, 3);
    }
    for mark in &marks {
        let (from, to) =
            (mark.bytes.0 / unit, (mark.bytes.1 / unit).max(mark.bytes.0 / unit + least));
        frame.line(&[(mark.at, from), (mark.at, to)], colour(mark.kind), 3);
    }
    let plot = frame.markup(&axes);
    let shown = |kind: &usize| of.marks.iter().any(|mark| mark.kind == *kind);
    let kinds = (0..of.kinds.len()).filter(shown);
    let mut entries: Vec<(String, Colour)> =
        kinds.map(|kind| (of.kinds[kind].to_owned(), colour(kind))).collect();
    entries.extend(of.known.iter().map(|(name, _)| ((*name).to_owned(), line)));
    if !of.timeouts.is_empty() {
        entries.push(("a timer ran out".to_owned(), FAINT));
    }
    html! { (plot) (legend(&entries)) }
}

/// Lines of rates over time, without dots.
pub(in super::super) fn rates(axes: &Axes<'_>, series: &[Series]) -> Markup {
    let points = || series.iter().flat_map(|of| &of.points);
    let end = points().map(|point| point.0).fold(1e-6, f64::max);
    let top = points().map(|point| point.1).fold(1.0, f64::max) * 1.05;
    let colours = [KINDS[0], KINDS[3], KINDS[6]];
    let mut frame = Frame::new(420, end, top);
    for (of, colour) in series.iter().zip(colours) {
        frame.line(&of.points, colour, 3);
    }
    let plot = frame.markup(axes);
    let entries: Vec<(String, Colour)> =
        series.iter().map(|of| of.name.clone()).zip(colours).collect();
    html! { (plot) (legend(&entries)) }
}

/// Points joined by horizontal and vertical lines, at most as many as can be seen.
fn steps(points: &[(f64, f64)], unit: f64) -> Vec<(f64, f64)> {
    let every = points.len().div_ceil(MARKS).max(1);
    let mut line: Vec<(f64, f64)> = Vec::new();
    for (x, y) in points.iter().step_by(every).chain(points.last()) {
        if let Some((_, before)) = line.last().copied() {
            line.push((*x, before));
        }
        line.push((*x, y / unit));
    }
    line
}

/// The same with fewer marks: those of a kind that are close together are one.
fn thinned(marks: &[Mark], end: f64, kinds: usize) -> Vec<Mark> {
    if marks.len() <= MARKS {
        return marks.to_vec();
    }
    let width = (end / 700.0).max(1e-9);
    let mut thin: Vec<Mark> = Vec::new();
    let mut last: Vec<Option<usize>> = vec![None; kinds];
    for mark in marks {
        let near = last[mark.kind].filter(|index| mark.at - thin[*index].at < width);
        if let Some(index) = near {
            let of = &mut thin[index].bytes;
            *of = (of.0.min(mark.bytes.0), of.1.max(mark.bytes.1));
        } else {
            last[mark.kind] = Some(thin.len());
            thin.push(*mark);
        }
    }
    thin
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_marks_become_few_and_cover_the_same() {
        let mark = |index: u32| {
            let at = f64::from(index);
            Mark { at, bytes: (at * 10.0, at * 10.0 + 10.0), kind: (index % 2) as usize }
        };
        let marks: Vec<Mark> = (0..50_000).map(mark).collect();
        let thin = thinned(&marks, 50_000.0, 2);
        assert!(thin.len() <= 2 * 701, "{}", thin.len());
        let top = thin.iter().map(|mark| mark.bytes.1).fold(0.0, f64::max);
        assert!((top - 500_000.0).abs() < 1e-9, "{top}");
        assert_eq!(thinned(&marks[..10], 10.0, 2), marks[..10]);
    }
}
