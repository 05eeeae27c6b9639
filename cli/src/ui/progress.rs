//! The progress line of a file, on a terminal or in a log.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io;
use std::time::{Duration, Instant};

use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};
use wetstring_proto::Stats;

use crate::ui::format;
use crate::ui::output::{Level, Output, can_redraw};

/// Interval of lines where there is no terminal.
const PLAIN_EVERY: Duration = Duration::from_secs(5);
/// Period of the rate used to estimate the remaining time.
const RECENT: Duration = Duration::from_secs(5);
/// How often a bar is drawn in a second, at most.
const FRAMES: u8 = 20;

/// One file in transfer.
pub(crate) struct Meter {
    /// Its name, safe to show.
    pub(crate) name: String,
    /// Its length, if known.
    pub(crate) size: Option<u64>,
    offset: u64,
    pub(crate) began: Instant,
    before: Stats,
    recent: VecDeque<(Instant, u64)>,
    rate_bps: Option<u32>,
}

/// A [`Meter`] at one moment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reading {
    /// Bytes of the file done, including the resumed part.
    pub(crate) bytes: u64,
    /// Time since the file began.
    pub(crate) elapsed: Duration,
    /// Those that the receiver had in an older version.
    pub(crate) known: u64,
    /// Bytes per second since then, without the resumed part and what was known.
    pub(crate) bytes_per_s: f64,
    /// Efficiency, if the rate is known. Text that compresses exceeds 1.
    pub(crate) efficiency: Option<f64>,
    /// Remaining time at the recent rate.
    pub(crate) left: Option<Duration>,
    /// Packets retransmitted or requested again since the file began.
    pub(crate) again: u64,
}

impl Meter {
    /// A file begins.
    pub(crate) fn new(
        name: String,
        size: Option<u64>,
        offset: u64,
        rate_bps: Option<u32>,
        stats: &Stats,
    ) -> Self {
        let began = Instant::now();
        let recent = VecDeque::from([(began, offset)]);
        Self { name, size, offset, began, before: *stats, recent, rate_bps }
    }

    /// Reads it now. `unsent`: bytes that have not left the port, at a sender.
    pub(crate) fn read(&mut self, stats: &Stats, unsent: Option<u64>) -> Reading {
        let now = Instant::now();
        let bytes = match (unsent, stats.current_acked_bytes) {
            (Some(_), Some(acked)) => acked,
            (Some(unsent), None) => self.left_by(now, stats, unsent),
            (None, _) => stats.current_file_bytes,
        };
        // Until the first acknowledgement it is an estimate: what was shown is not taken back before the end.
        let bytes = self.recent.back().map_or(bytes, |(_, shown)| bytes.max(*shown));
        self.read_at(now, bytes, stats)
    }

    /// Bytes of the file that can have arrived if nothing is acknowledged on the way: the same share
    /// as of the bytes of the wire since the file began.
    fn left_by(&self, now: Instant, stats: &Stats, unsent: u64) -> u64 {
        let written = stats.wire_out_bytes.saturating_sub(self.before.wire_out_bytes);
        let mut left = written.saturating_sub(unsent);
        if let Some(rate) = self.rate_bps {
            let carried = now.duration_since(self.began).as_secs_f64() * f64::from(rate) / 10.0;
            left = left.min(carried as u64);
        }
        let fresh = stats.current_file_bytes.saturating_sub(self.offset);
        let share = u128::from(fresh) * u128::from(left) / u128::from(written.max(1));
        self.offset + u64::try_from(share).unwrap_or(fresh)
    }

    /// Reads it at the end of the file, of `bytes` bytes.
    pub(crate) fn read_end(&mut self, bytes: u64, stats: &Stats) -> Reading {
        self.read_at(Instant::now(), bytes, stats)
    }

    fn read_at(&mut self, now: Instant, bytes: u64, stats: &Stats) -> Reading {
        self.recent.push_back((now, bytes));
        while self.recent.len() > 2 && now.duration_since(self.recent[0].0) > RECENT {
            self.recent.pop_front();
        }
        let elapsed = now.duration_since(self.began);
        let known = stats.known_bytes.saturating_sub(self.before.known_bytes);
        let bytes_per_s = per_s(bytes.saturating_sub(self.offset + known), elapsed);
        let (then, had) = self.recent[0];
        let lately = per_s(bytes.saturating_sub(had), now.duration_since(then));
        let left = match self.size {
            Some(size) if lately > 0.0 => {
                let s = size.saturating_sub(bytes) as f64 / lately;
                Duration::try_from_secs_f64(s).ok()
            }
            _ => None,
        };
        // A character is ten bits on a line of eight bits, one start and one stop bit.
        let limit = self.rate_bps.map(|rate| f64::from(rate) / 10.0).filter(|limit| *limit > 0.0);
        Reading {
            bytes,
            elapsed,
            known,
            bytes_per_s,
            efficiency: limit.map(|limit| bytes_per_s / limit),
            left,
            again: (stats.retransmissions - self.before.retransmissions)
                + (stats.naks_out - self.before.naks_out),
        }
    }

    /// The line without its name and bar.
    pub(crate) fn words(&self, reading: &Reading) -> String {
        let mut line = String::new();
        // Writing to a string cannot fail.
        if let Some(size) = self.size.filter(|size| *size > 0) {
            let percent = reading.bytes.min(size) as f64 * 100.0 / size as f64;
            let _ = write!(line, "{percent:3.0} %  ");
        }
        let _ = write!(line, "{}", format::size(reading.bytes));
        if let Some(size) = self.size {
            let _ = write!(line, " of {}", format::size(size));
        }
        let _ = write!(line, "  {}", format::rate(reading.bytes_per_s));
        if let Some(efficiency) = reading.efficiency {
            let _ = write!(line, "  {:.0} % of the line", efficiency * 100.0);
        }
        if let Some(left) = reading.left {
            let _ = write!(line, "  {} left", format::time(left));
        }
        if reading.again > 0 {
            let _ = write!(line, "  {} again", reading.again);
        }
        line
    }
}

fn per_s(bytes: u64, time: Duration) -> f64 {
    let s = time.as_secs_f64();
    if s > 0.0 { bytes as f64 / s } else { 0.0 }
}

/// Whether colours are enabled: `NO_COLOR` (no-color.org) is not set.
pub(crate) fn has_colour() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Columns of the terminal; `COLUMNS` overrides.
pub(crate) fn columns() -> usize {
    let set = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    set.filter(|n| *n >= 20).unwrap_or_else(|| usize::from(Term::stderr().size().1))
}

/// Shows the meters: a bar on a terminal, a plain line every few seconds elsewhere.
pub(crate) struct Progress<'a> {
    ui: &'a Output,
    bar: Option<ProgressBar>,
    redraw: bool,
    said: Instant,
}

impl<'a> Progress<'a> {
    /// Shows nothing yet.
    pub(crate) fn new(ui: &'a Output) -> Self {
        let redraw = can_redraw() && ui.shows_progress();
        Self { ui, bar: None, redraw, said: Instant::now() }
    }

    /// Shows a file in transfer.
    pub(crate) fn show(&mut self, meter: &Meter, reading: &Reading) {
        if !self.ui.shows_progress() {
            return;
        }
        let words = meter.words(reading);
        if !self.redraw {
            if self.said.elapsed() >= PLAIN_EVERY {
                self.said = Instant::now();
                self.ui.say(Level::Note, &format!("{}  {words}", meter.name));
            }
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let screen = ProgressDrawTarget::term_like_with_hz(Box::new(Narrow::stderr()), FRAMES);
            let bar = ProgressBar::with_draw_target(meter.size, screen);
            self.ui.beside(Some(bar.clone()));
            bar
        });
        let (template, text) = layout(columns(), meter, &words);
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_position(reading.bytes);
        bar.set_message(text);
    }

    /// The file is finished.
    pub(crate) fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
            self.ui.beside(None);
        }
        self.said = Instant::now();
    }
}

/// Stderr without its last column: a console of Windows begins the next line as soon as that is written, and a bar is
/// filled up with blanks.
#[derive(Debug)]
struct Narrow(Term);

impl Narrow {
    fn stderr() -> Self {
        Self(Term::buffered_stderr())
    }
}

impl TermLike for Narrow {
    fn width(&self) -> u16 {
        self.0.size().1.saturating_sub(1).max(1)
    }

    fn height(&self) -> u16 {
        self.0.size().0
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_up(n)
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_down(n)
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_right(n)
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_left(n)
    }

    fn write_line(&self, line: &str) -> io::Result<()> {
        self.0.write_line(line)
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.0.write_str(text)
    }

    fn clear_line(&self) -> io::Result<()> {
        self.0.clear_line()
    }

    fn flush(&self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Name, bar and words, fitted into this many columns: the bar is dropped first, then the name is cut.
fn layout(columns: usize, meter: &Meter, words: &str) -> (String, String) {
    let room = columns.saturating_sub(1);
    let rest = room.saturating_sub(console::measure_text_width(words) + 2);
    let name = console::truncate_str(&meter.name, rest.min(30), "...").into_owned();
    let rest = rest.saturating_sub(console::measure_text_width(&name) + 1);
    let text = format!("{name}  {words}");
    if rest < 8 || meter.size.is_none() {
        return ("{msg}".to_owned(), console::truncate_str(&text, room, "").into_owned());
    }
    let colour = if has_colour() { ".cyan" } else { "" };
    (format!("{{bar:{}{colour}}} {{msg}}", rest.min(30)), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter(size: Option<u64>, rate_bps: Option<u32>) -> Meter {
        Meter::new("a.bin".to_owned(), size, 200, rate_bps, &Stats::default())
    }

    #[test]
    fn rates_exclude_the_resumed_part() {
        let mut meter = meter(Some(2200), Some(9600));
        let mut stats = Stats::default();
        stats.retransmissions = 3;
        let reading = meter.read_at(meter.began + Duration::from_secs(2), 1200, &stats);
        assert!((reading.bytes_per_s - 500.0).abs() < 0.001);
        assert!((reading.efficiency.unwrap() - 500.0 / 960.0).abs() < 0.001);
        assert_eq!(reading.left, Some(Duration::from_secs(2)));
        assert_eq!(
            meter.words(&reading),
            " 55 %  1.2 kB of 2.2 kB  500 B/s  52 % of the line  2.0 s left  3 again"
        );
    }

    #[test]
    fn queued_bytes_do_not_count_as_arrived() {
        // The kernel has taken all of a file of 10,200 bytes, resumed at 200.
        let read = |stats: &Stats, unsent| meter(Some(10_200), None).read(stats, unsent).bytes;
        let mut stats = Stats::default();
        stats.current_file_bytes = 10_200;
        stats.wire_out_bytes = 20_000;
        assert_eq!(read(&stats, Some(0)), 10_200);
        assert_eq!(read(&stats, Some(15_000)), 2_700, "still in the queue");
        assert_eq!(read(&stats, None), 10_200, "this end receives");
        let mut shown = meter(Some(10_200), None);
        assert_eq!(shown.read(&stats, Some(15_000)).bytes, 2_700);
        stats.current_acked_bytes = Some(1_200);
        assert_eq!(read(&stats, Some(0)), 1_200, "acknowledged");
        assert_eq!(shown.read(&stats, Some(0)).bytes, 2_700, "what was shown is not taken back");
        assert_eq!(shown.read_end(1_200, &stats).bytes, 1_200, "but at the end");
        // No line carries more than its rate.
        let meter = meter(Some(10_200), Some(9_600));
        stats.current_acked_bytes = None;
        assert_eq!(meter.left_by(meter.began + Duration::from_secs(2), &stats, 0), 200 + 960);
    }

    #[test]
    fn a_file_of_unknown_or_no_length_has_no_percentage() {
        let mut unknown = meter(None, None);
        let reading = unknown.read_at(unknown.began, 200, &Stats::default());
        assert_eq!(unknown.words(&reading), "200 B  0 B/s");
        let mut empty = Meter::new("e".to_owned(), Some(0), 0, None, &Stats::default());
        let reading = empty.read_at(empty.began, 0, &Stats::default());
        assert_eq!(empty.words(&reading), "0 B of 0 B  0 B/s");
    }

    #[test]
    fn the_remaining_time_follows_the_recent_rate() {
        let mut meter = meter(Some(10_200), None);
        let stats = Stats::default();
        let at = |s| Duration::from_secs(s);
        let began = meter.began;
        meter.read_at(began + at(100), 1_200, &stats);
        meter.read_at(began + at(101), 2_200, &stats);
        let reading = meter.read_at(began + at(105), 6_200, &stats);
        assert_eq!(reading.left, Some(at(4)));
    }

    #[test]
    fn the_line_fits_the_terminal() {
        let mut meter = meter(Some(2200), Some(9600));
        let reading = meter.read_at(meter.began + Duration::from_secs(2), 1200, &Stats::default());
        let words = meter.words(&reading);
        for columns in [20, 40, 60, 79, 80, 120, 200] {
            let (template, text) = layout(columns, &meter, &words);
            let bar: usize = template
                .strip_prefix("{bar:")
                .and_then(|t| t.split(['}', '.']).next()?.parse().ok())
                .map_or(0, |n: usize| n + 1);
            let width = console::measure_text_width(&text) + bar;
            assert!(width < columns, "{width} columns on a terminal of {columns}");
        }
    }
}
