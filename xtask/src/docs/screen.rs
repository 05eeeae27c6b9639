//! A program in a terminal, and its screen as a picture.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::num::NonZeroU16;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use rustix::termios::{Winsize, tcsetwinsize};
use wetstring_testkit::terminal;

use super::svg::escaped;

/// Width and height of a character in the picture.
const CELL: (f64, f64) = (8.4, 18.0);
const EDGE: f64 = 16.0;
/// A terminal's paper, ink and sixteen colours, on light.
const LIGHT: [&str; 18] = [
    "#f4f5f6", "#24272c", "#24272c", "#b3202c", "#2f7d1d", "#8a6400", "#1f62b0", "#8a3fb0",
    "#0f7a7a", "#5b616a", "#666c74", "#c93440", "#2f8020", "#8a6400", "#2468bd", "#9c50c4",
    "#117a7a", "#000000",
];
/// The same on dark.
const DARK: [&str; 18] = [
    "#1c1e22", "#d7d9dd", "#3b3f46", "#e0646d", "#7fbf6a", "#d9b45b", "#6aa3e0", "#c38be0",
    "#5fc0c0", "#d7d9dd", "#8e949e", "#ff8088", "#9fdf8a", "#f0d07a", "#8abfff", "#dcaaff",
    "#80e0e0", "#ffffff",
];

/// The style of a terminal: classes `paper` and `ink`, and `cN` for its colours.
pub(super) fn style() -> String {
    let rules = |colours: &[&str; 18]| {
        let mut rules = format!(".paper{{fill:{}}}text{{fill:{}}}", colours[0], colours[1]);
        for (index, colour) in colours[2..].iter().enumerate() {
            // Writing to a string cannot fail.
            let _ = write!(rules, ".c{index}{{fill:{colour}}}");
        }
        rules
    };
    format!("{}\n@media (prefers-color-scheme:dark){{{}}}", rules(&LIGHT), rules(&DARK))
}

/// What the terminal of this size (columns, lines) shows when the program has ended well.
pub(super) fn last(mut command: Command, size: (u16, u16)) -> Result<vt100::Screen, String> {
    let failed = |e: std::io::Error| format!("the terminal: {e}");
    let part = |part| NonZeroU16::new(part).ok_or("expected a terminal with columns and lines");
    let (columns, lines) = (part(size.0)?, part(size.1)?);
    let pair = terminal().map_err(failed)?;
    let own = Winsize { ws_col: size.0, ws_row: size.1, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&pair.master, own).map_err(|e| failed(e.into()))?;
    let side = || pair.open().map(Stdio::from).map_err(failed);
    command.stdin(side()?).stdout(side()?).stderr(side()?).process_group(0);
    let mut child = command.spawn().map_err(failed)?;
    // It holds the program's side of the terminal.
    drop(command);
    let mut parser = vt100::Parser::new(lines, columns, 0);
    let mut master = File::from(pair.master);
    let mut bytes = [0; 4096];
    // A terminal that no process has any more is an error on Linux.
    while let Ok(count @ 1..) = master.read(&mut bytes) {
        parser.process(&bytes[..count]);
    }
    let status = child.wait().map_err(failed)?;
    if !status.success() {
        return Err(format!("the program: {status}\n{}", parser.screen().contents()));
    }
    Ok(parser.screen().clone())
}

/// How a run of characters looks: its attributes.
fn look(cell: &vt100::Cell) -> String {
    let mut look = match cell.fgcolor() {
        vt100::Color::Idx(index @ 0..16) => format!(" class=\"c{index}\""),
        vt100::Color::Rgb(r, g, b) => format!(" style=\"fill:#{r:02x}{g:02x}{b:02x}\""),
        vt100::Color::Default if cell.dim() => " class=\"c8\"".to_owned(),
        vt100::Color::Idx(_) | vt100::Color::Default => String::new(),
    };
    if cell.bold() {
        look.push_str(" font-weight=\"bold\"");
    }
    look
}

/// The runs of a line, as (first column, text, look), without blanks at its end.
fn runs(screen: &vt100::Screen, row: u16, columns: u16) -> Vec<(u16, String, String)> {
    let mut runs: Vec<(u16, String, String)> = Vec::new();
    for (column, cell) in (0..columns).filter_map(|at| Some((at, screen.cell(row, at)?))) {
        let text = if cell.has_contents() { cell.contents() } else { " " };
        let own = look(cell);
        match runs.last_mut() {
            Some((_, run, known)) if *known == own => run.push_str(text),
            _ => runs.push((column, text.to_owned(), own)),
        }
    }
    if let Some((_, text, _)) = runs.last_mut() {
        text.truncate(text.trim_end().len());
    }
    runs.retain(|(_, text, _)| !text.trim().is_empty());
    runs
}

/// A run of characters in a picture, in the line of this number. The length keeps columns in place whatever the font is.
fn text(column: u16, line: usize, run: &str, look: &str) -> String {
    let x = EDGE + f64::from(column) * CELL.0;
    let y = EDGE + (line as f64 + 0.8) * CELL.1;
    let wide = run.chars().count() as f64 * CELL.0;
    // Blanks are such that are never joined.
    let run = escaped(&run.replace(' ', "\u{a0}"));
    format!(
        "<text x=\"{x:.1}\" y=\"{y:.1}\" textLength=\"{wide:.1}\" lengthAdjust=\"spacingAndGlyphs\"{look}>{run}</text>"
    )
}

/// Each line of a screen as elements of a picture; the first of them stands in its line `first`.
pub(super) fn drawn(screen: &vt100::Screen, first: usize) -> Vec<String> {
    let (lines, columns) = screen.size();
    let line = |row: u16| {
        let at = first + usize::from(row);
        let runs = runs(screen, row, columns.get());
        runs.iter().map(|(column, run, look)| text(*column, at, run, look)).collect()
    };
    (0..lines.get()).map(line).collect()
}

/// A terminal with this size, in columns and lines, as a file.
pub(super) fn page(
    size: (u16, usize),
    title: &str,
    says: &str,
    more_style: &str,
    body: &str,
) -> String {
    let width = 2.0 * EDGE + f64::from(size.0) * CELL.0;
    let height = 2.0 * EDGE + size.1 as f64 * CELL.1;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" font-family=\"ui-monospace,'DejaVu Sans Mono',Consolas,Menlo,monospace\" font-size=\"14\" \
         role=\"img\" aria-labelledby=\"title says\">\n\
         <title id=\"title\">{}</title>\n<desc id=\"says\">{}</desc>\n<style>{}{more_style}</style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" class=\"paper\"/>\n{body}</svg>\n",
        escaped(title),
        escaped(says),
        style(),
    )
}

/// The screen as a picture. `title` is the command, which stands above it.
pub(super) fn svg(screen: &vt100::Screen, title: &str) -> String {
    let rows = drawn(screen, 2);
    let used = rows.iter().rposition(|row| !row.is_empty()).map_or(0, |last| last + 1);
    let mut body = text(0, 0, title, " class=\"c10\"");
    body.push('\n');
    for row in rows.iter().take(used).filter(|row| !row.is_empty()) {
        body.push_str(row);
        body.push('\n');
    }
    page((screen.size().1.get(), used + 2), title, &screen.contents(), "", &body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screen_is_drawn_as_it_stands() {
        let mut command = Command::new("sh");
        command.args(["-c", r"printf 'ab\r\033[31mc<\033[0m  d\n\n  e'"]);
        let screen = last(command, (20, 5)).unwrap();
        assert_eq!(screen.contents(), "c<  d\n\n  e");
        let picture = svg(&screen, "$ x & y");
        assert!(picture.contains("class=\"c1\">c&lt;</text>"), "{picture}");
        assert!(
            picture.contains(">\u{a0}\u{a0}d</text>")
                && picture.contains("$\u{a0}x\u{a0}&amp;\u{a0}y"),
            "{picture}"
        );
        assert!(last(Command::new("false"), (20, 5)).is_err());
    }
}
