//! A program in a terminal, and its screen as a picture.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::num::NonZeroU16;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use rustix::termios::{Winsize, tcsetwinsize};
use wetstring_testkit::terminal;

/// Width and height of a character in the picture.
const CELL: (f64, f64) = (8.4, 18.0);
const EDGE: f64 = 16.0;
const PAPER: &str = "#1c1e22";
const INK: &str = "#d7d9dd";
/// The sixteen colours of a terminal.
const COLOURS: [&str; 16] = [
    "#3b3f46", "#e0646d", "#7fbf6a", "#d9b45b", "#6aa3e0", "#c38be0", "#5fc0c0", "#d7d9dd",
    "#7c828c", "#ff8088", "#9fdf8a", "#f0d07a", "#8abfff", "#dcaaff", "#80e0e0", "#ffffff",
];

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

/// How a run of characters looks.
#[derive(Clone, PartialEq)]
struct Look {
    colour: String,
    bold: bool,
}

fn look(cell: &vt100::Cell) -> Look {
    let colour = match cell.fgcolor() {
        vt100::Color::Idx(index) => {
            COLOURS.get(usize::from(index)).map_or(INK, |known| known).to_owned()
        }
        vt100::Color::Rgb(r, g, b) => format!("#{r:02x}{g:02x}{b:02x}"),
        vt100::Color::Default if cell.dim() => COLOURS[8].to_owned(),
        vt100::Color::Default => INK.to_owned(),
    };
    Look { colour, bold: cell.bold() }
}

/// The runs of a line, as (first column, text, look), without blanks at its end.
fn runs(screen: &vt100::Screen, row: u16, columns: u16) -> Vec<(u16, String, Look)> {
    let mut runs: Vec<(u16, String, Look)> = Vec::new();
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

/// Blanks are such that are never joined.
fn escaped(text: &str) -> String {
    let text = text.replace(' ', "\u{a0}");
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The screen as a picture. `title` is the command, which stands above it.
pub(super) fn svg(screen: &vt100::Screen, title: &str) -> String {
    let (lines, columns) = screen.size();
    let (lines, columns) = (lines.get(), columns.get());
    let rows: Vec<_> = (0..lines).map(|row| runs(screen, row, columns)).collect();
    let used = rows.iter().rposition(|row| !row.is_empty()).map_or(0, |last| last + 1);
    let width = 2.0 * EDGE + f64::from(columns) * CELL.0;
    let height = 2.0 * EDGE + (used + 2) as f64 * CELL.1;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"ui-monospace,'DejaVu Sans Mono',Consolas,Menlo,monospace\" font-size=\"14\">\n\
         <title>{}</title>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{PAPER}\"/>\n",
        escaped(title)
    );
    let mut line = |x: f64, index: usize, text: &str, look: &Look| {
        let y = EDGE + (index as f64 + 0.8) * CELL.1;
        let wide = text.chars().count() as f64 * CELL.0;
        let weight = if look.bold { " font-weight=\"bold\"" } else { "" };
        // Writing to a string cannot fail. The length keeps columns in place whatever the font is.
        let _ = writeln!(
            out,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" textLength=\"{wide:.1}\" lengthAdjust=\"spacingAndGlyphs\" fill=\"{}\"{weight}>{}</text>",
            look.colour,
            escaped(text)
        );
    };
    line(EDGE, 0, title, &Look { colour: COLOURS[10].to_owned(), bold: false });
    for (index, row) in rows.iter().take(used).enumerate() {
        for (column, text, look) in row {
            line(EDGE + f64::from(*column) * CELL.0, index + 2, text, look);
        }
    }
    out.push_str("</svg>\n");
    out
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
        assert!(picture.contains("fill=\"#e0646d\">c&lt;</text>"), "{picture}");
        assert!(
            picture.contains(">\u{a0}\u{a0}d</text>")
                && picture.contains("$\u{a0}x\u{a0}&amp;\u{a0}y"),
            "{picture}"
        );
        assert!(last(Command::new("false"), (20, 5)).is_err());
    }
}
