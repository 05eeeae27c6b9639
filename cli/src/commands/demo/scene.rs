//! The picture of the demonstration: two ends, the line between them, and the bytes on it.
//!
//! ```text
//! SENDER                                         RECEIVER
//! |>--------D14-----D13----x12x------D11----------------->|
//! |<-----Y09-------Y10-----------------------------------<|
//! [==============>                 ]  45 %
//! ```

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use console::Style;
use wetstring_lab::End;
use wetstring_proto::{Instant, TraceEvent};

use crate::ui::format;

/// Modulus of Kermit's sequence numbers on the wire.
const NUMBERS: u64 = 64;
/// How long a damaged packet stays visible at the end of the line.
const WRECK: Duration = Duration::from_millis(400);

/// A packet on the line.
#[derive(Clone, Copy, Debug)]
struct Flight {
    kind: char,
    number: u64,
    left: Instant,
    lands: Instant,
    again: bool,
    damaged: bool,
}

impl Flight {
    /// Until when it is visible: a damaged one stays a while where it was discarded.
    fn gone(&self) -> Instant {
        if self.damaged { self.lands + WRECK } else { self.lands }
    }
}

/// What is drawn.
pub(crate) struct Scene {
    /// Bits per second of the line, and bits of a character.
    rate_bps: u64,
    char_bits: u64,
    delay: Duration,
    flights: [VecDeque<Flight>; 2],
    outstanding: BTreeSet<u64>,
    /// Negotiated window slots, as far as observed.
    pub(crate) window: usize,
    longest: usize,
    /// Damaged packets that arrived, at both ends.
    pub(crate) damaged: u64,
    /// Retransmitted packets, at both ends.
    pub(crate) again: u64,
    last_len: usize,
}

/// Progress of the transfer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TransferProgress {
    /// Time on the line.
    pub(crate) now: Instant,
    /// File bytes done.
    pub(crate) bytes: u64,
    /// Total file bytes.
    pub(crate) size: u64,
}

impl Scene {
    /// An empty line.
    pub(crate) fn new(rate_bps: u64, char_bits: u64, delay: Duration) -> Self {
        Self {
            rate_bps: rate_bps.max(1),
            char_bits: char_bits.max(1),
            delay,
            flights: [VecDeque::new(), VecDeque::new()],
            outstanding: BTreeSet::new(),
            window: 1,
            longest: 0,
            damaged: 0,
            again: 0,
            last_len: 0,
        }
    }

    /// An engine at `end` did something.
    pub(crate) fn record(&mut self, end: End, at: Instant, event: &TraceEvent<'_>) {
        match *event {
            TraceEvent::Sent { kind, number, len, again, .. } => {
                let number = number % NUMBERS;
                let direction = self.flights[end.index()].back().map_or(at, |last| last.lands);
                let bits = len as u64 * self.char_bits;
                let time = Duration::from_nanos(bits * 1_000_000_000 / self.rate_bps);
                // A line carries one packet after the other.
                let left = at.max(Instant(direction.0.saturating_sub(nanos(self.delay))));
                let lands = left + time + self.delay;
                let again = again > 0;
                self.again += u64::from(again);
                self.flights[end.index()].push_back(Flight {
                    kind,
                    number,
                    left,
                    lands,
                    again,
                    damaged: false,
                });
                if end == End::A && kind == 'D' {
                    self.outstanding.insert(number);
                    self.window = self.window.max(self.outstanding.len());
                    self.last_len = len;
                    self.longest = self.longest.max(len);
                }
            }
            TraceEvent::Got { kind: 'Y', number, .. } if end == End::A => {
                self.outstanding.remove(&(number % NUMBERS));
            }
            TraceEvent::Damaged { .. } => self.damaged += 1,
            _ => {}
        }
    }

    /// The line did something to a character that arrives now: noise, a loss.
    pub(crate) fn record_line(&mut self, at: Instant, event: &TraceEvent<'_>) {
        let TraceEvent::Value { name, .. } = event else { return };
        let end = if name.ends_with("_fwd") { End::A } else { End::B };
        // It belongs to the first packet that has not landed.
        let hit = self.flights[end.index()].iter_mut().find(|flight| flight.lands >= at);
        if let Some(flight) = hit {
            flight.damaged = true;
        }
    }

    /// Share of the line's limit used by file bytes.
    pub(crate) fn efficiency(&self, score: &TransferProgress) -> f64 {
        let limit = self.rate_bps as f64 / self.char_bits as f64 * seconds(score.now);
        if limit > 0.0 { score.bytes as f64 / limit } else { 0.0 }
    }

    /// One line for a log.
    pub(crate) fn plain(&self, score: &TransferProgress) -> String {
        let percent = score.bytes as f64 * 100.0 / score.size.max(1) as f64;
        format!(
            "{percent:3.0} %  {} of {}  {}  {:.0} % of the line  {} damaged, {} retransmitted  {} on the line",
            format::size(score.bytes),
            format::size(score.size),
            format::rate(score.bytes as f64 / seconds(score.now).max(0.001)),
            self.efficiency(score) * 100.0,
            self.damaged,
            self.again,
            format::time(Duration::from_nanos(score.now.0)),
        )
    }

    /// The picture, for a terminal of this many columns.
    pub(crate) fn draw(
        &mut self,
        score: &TransferProgress,
        columns: usize,
        colour: bool,
    ) -> Vec<String> {
        for flights in &mut self.flights {
            flights.retain(|flight| flight.gone() > score.now);
        }
        let width = columns.clamp(40, 100) - 8;
        let gap = width.saturating_sub(10);
        let bar = width.saturating_sub(30);
        let done = score.bytes.min(score.size);
        let full = (done * bar as u64).checked_div(score.size).unwrap_or(bar as u64) as usize;
        let percent = done as f64 * 100.0 / score.size.max(1) as f64;
        let held = self.outstanding.len().min(self.window);
        let lines = [
            format!("  SENDER{:gap$}RECEIVER", ""),
            format!("  |>{}>|", self.row(End::A, score.now, width, colour)),
            format!("  |<{}<|", self.row(End::B, score.now, width, colour)),
            format!(
                "  [{:=<full$}{:bar$}] {percent:3.0} %  {} of {}",
                "",
                "",
                format::size(done),
                format::size(score.size),
                bar = bar.saturating_sub(full),
            ),
            format!(
                "  window {:#<held$}{:.<free$} {held} of {} packets of {} bytes in flight",
                "",
                "",
                self.window,
                self.last_len,
                free = self.window - held,
            ),
            format!(
                "  {}, {:.0} % of the line; {} damaged, {} retransmitted; {} on the line",
                format::rate(score.bytes as f64 / seconds(score.now).max(0.001)),
                self.efficiency(score) * 100.0,
                self.damaged,
                self.again,
                format::time(Duration::from_nanos(score.now.0)),
            ),
        ];
        // A wrapped line would take two rows, and the picture would creep up with every frame.
        let room = columns.saturating_sub(1);
        lines.iter().map(|line| console::truncate_str(line, room, "").into_owned()).collect()
    }

    /// One direction of the line.
    fn row(&self, end: End, now: Instant, width: usize, colour: bool) -> String {
        let mut cells: Vec<String> = vec!["-".to_owned(); width];
        for flight in &self.flights[end.index()] {
            if flight.left > now {
                continue;
            }
            let gone = now.since(flight.left).as_secs_f64();
            let whole = flight.lands.since(flight.left).as_secs_f64().max(0.001);
            let label = if flight.damaged {
                format!("x{:02}x", flight.number)
            } else {
                format!("{}{:02}", flight.kind, flight.number)
            };
            let room = width.saturating_sub(label.len());
            let at = ((gone / whole).clamp(0.0, 1.0) * room as f64) as usize;
            let at = if end == End::A { at } else { room - at };
            let style = style(flight, colour);
            for (cell, c) in cells[at..].iter_mut().zip(label.chars()) {
                *cell = style.apply_to(c).to_string();
            }
        }
        cells.concat()
    }
}

fn style(flight: &Flight, colour: bool) -> Style {
    let style = Style::new().force_styling(colour);
    match (colour, flight.damaged, flight.again) {
        (false, ..) => style,
        (_, true, _) => style.red(),
        (_, _, true) => style.yellow(),
        _ => style.green(),
    }
}

fn seconds(at: Instant) -> f64 {
    at.0 as f64 / 1e9
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wetstring_proto::Load;

    const MS: u64 = 1_000_000;

    fn scene() -> Scene {
        let mut scene = Scene::new(9600, 10, Duration::from_millis(250));
        let sent = |number| TraceEvent::Sent {
            kind: 'D',
            number,
            len: 96,
            again: 0,
            load: Load::default(),
        };
        scene.record(End::A, Instant(0), &sent(1));
        scene.record(End::A, Instant(0), &sent(2));
        scene
    }

    fn score(ms: u64) -> TransferProgress {
        TransferProgress { now: Instant(ms * MS), bytes: 48, size: 96 }
    }

    #[test]
    fn packets_move_from_left_to_right_and_land() {
        let mut scene = scene();
        let column =
            |scene: &mut Scene, ms, label: &str| scene.draw(&score(ms), 80, false)[1].find(label);
        let early = column(&mut scene, 50, "D01").unwrap();
        let late = column(&mut scene, 300, "D01").unwrap();
        assert!(early < late, "{early} {late}");
        // The second one follows the first, 100 ms later.
        assert_eq!(column(&mut scene, 150, "D02"), Some(early));
        // 100 ms of line and 250 ms of delay.
        assert!(column(&mut scene, 349, "D01").is_some());
        assert!(column(&mut scene, 351, "D01").is_none());
    }

    #[test]
    fn acknowledgements_move_back_and_free_the_window() {
        let mut scene = scene();
        assert_eq!(scene.outstanding.len(), 2);
        let load = Load::default();
        let ack = TraceEvent::Sent { kind: 'Y', number: 1, len: 9, again: 0, load };
        scene.record(End::B, Instant(350 * MS), &ack);
        let first = scene.draw(&score(360), 80, false)[2].find("Y01").unwrap();
        let then = scene.draw(&score(500), 80, false)[2].find("Y01").unwrap();
        assert!(first > then, "{first} {then}");
        let got = TraceEvent::Got { kind: 'Y', number: 1, len: 9, data: 0, at: 9 };
        scene.record(End::A, Instant(0), &got);
        assert_eq!(scene.outstanding.len(), 1);
    }

    #[test]
    fn damaged_packets_are_marked() {
        let mut scene = scene();
        let noise = TraceEvent::Value { name: "burst_fwd", value: 7 };
        scene.record_line(Instant(360 * MS), &noise);
        assert!(scene.draw(&score(400), 80, false)[1].contains("x02x"));
        assert!(scene.draw(&score(400), 80, true)[1].contains("\u{1b}[31m"));
        // A damaged packet stays visible a while after it lands.
        assert!(scene.draw(&score(500), 80, false)[1].contains("x02x"));
        assert!(!scene.draw(&score(900), 80, false)[1].contains('x'));
    }

    #[test]
    fn lines_fit_the_terminal() {
        let mut scene = scene();
        for columns in [20, 40, 60, 80, 100, 200] {
            for line in scene.draw(&score(200), columns, true) {
                assert!(console::measure_text_width(&line) < columns, "{line}");
            }
        }
    }

    #[test]
    fn efficiency_is_relative_to_the_line_rate() {
        // 48 bytes in half a second, of the 480 that the line could have carried.
        assert!((scene().efficiency(&score(500)) - 0.1).abs() < 1e-9);
    }
}
