//! An asciicast as a picture that moves: the lines of the terminal, each for the time that it stands there. No scripts;
//! for readers who want no motion, and on paper, the last screen stands still.
//!
//! Only pauses are shortened, to [`PAUSE`]; everything else has the time that it took.

use super::screen;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Longest pause, in seconds.
const PAUSE: f64 = 1.5;
/// What comes within this time is seen at once.
const FRAME: f64 = 0.1;
/// How long the last screen stands, in seconds.
const REST: f64 = 6.0;

/// A recording.
struct Recording {
    /// Columns and lines.
    size: (u16, u16),
    /// Output, with its time in seconds.
    events: Vec<(f64, String)>,
}

/// Reads asciicast, version 2.
fn read(text: &str) -> Result<Recording, String> {
    let value =
        |line: &str| serde_json::from_str::<Value>(line).map_err(|e| format!("{e}: {line}"));
    let mut lines = text.lines();
    let head = value(lines.next().unwrap_or_default())?;
    let side = |name: &str| head[name].as_u64().and_then(|side| u16::try_from(side).ok());
    let (Some(columns @ 1..), Some(rows @ 1..), Some(2)) =
        (side("width"), side("height"), head["version"].as_u64())
    else {
        return Err(format!("expected version 2, a width and a height, got {head}"));
    };
    let mut events: Vec<(f64, String)> = Vec::new();
    for line in lines {
        let event = value(line)?;
        let (Some(at), Some(code), Some(data)) =
            (event[0].as_f64(), event[1].as_str(), event[2].as_str())
        else {
            return Err(format!("expected a time, a code and a text, got {line}"));
        };
        if at < events.last().map_or(0.0, |last| last.0) {
            return Err(format!("expected times in order, got {line}"));
        }
        match code {
            "o" => events.push((at, data.to_owned())),
            "i" | "m" => {}
            other => {
                return Err(format!(
                    "expected output, got {other}: a terminal of one size is drawn"
                ));
            }
        }
    }
    if events.is_empty() {
        return Err("expected a recording with output".to_owned());
    }
    Ok(Recording { size: (columns, rows), events })
}

/// A line of the terminal: its elements, and from when until when it stands there; none is to the end.
type Shown = (String, f64, Option<f64>);

/// What the terminal shows.
struct Shows {
    /// Lines that stand there for some time.
    lines: Vec<Shown>,
    /// The text of the last screen.
    last: String,
    /// The number of lines that were used.
    used: usize,
    /// The end, in seconds.
    end: f64,
}

/// Plays a recording.
fn play(recording: &Recording) -> Shows {
    let (columns, rows) = recording.size;
    let side = |side| std::num::NonZeroU16::new(side).unwrap_or(std::num::NonZeroU16::MIN);
    let mut parser = vt100::Parser::new(side(rows), side(columns), 0);
    let mut shows = Shows { lines: Vec::new(), last: String::new(), used: 0, end: 0.0 };
    let mut there: Vec<(String, f64)> = vec![(String::new(), 0.0); usize::from(rows)];
    let (mut now, mut before) = (0.0, recording.events[0].0);
    let mut frame = 0.0;
    for (index, (at, data)) in recording.events.iter().enumerate() {
        let pause = (at - before).min(PAUSE);
        now += pause;
        before = *at;
        parser.process(data.as_bytes());
        // What comes soon after belongs to the same frame.
        let next = recording.events.get(index + 1).map(|next| next.0);
        if next.is_some_and(|next| now + (next - at) < frame + FRAME) {
            continue;
        }
        for (row, (new, (content, since))) in
            screen::drawn(parser.screen(), 0).into_iter().zip(&mut there).enumerate()
        {
            if *content == new {
                continue;
            }
            if !new.is_empty() {
                shows.used = shows.used.max(row + 1);
            }
            let old = std::mem::replace(content, new);
            if !old.is_empty() {
                shows.lines.push((old, *since, Some(now)));
            }
            *since = now;
        }
        frame = now;
    }
    shows.last = parser.screen().contents();
    let still = there.into_iter().filter(|(content, _)| !content.is_empty());
    shows.lines.extend(still.map(|(content, since)| (content, since, None)));
    shows.end = now + REST;
    shows
}

/// The recording as a picture.
pub(super) fn draw(text: &str, title: &str) -> Result<String, String> {
    let recording = read(text)?;
    let shows = play(&recording);
    let percent = |at: f64| format!("{:.2}%", at / shows.end * 100.0);
    let mut style = format!(
        "\ng{{visibility:hidden;animation:{:.1}s step-end infinite}}g.z{{visibility:visible}}\n\
         @media print,(prefers-reduced-motion:reduce){{g{{animation:none!important}}}}\n",
        shows.end
    );
    let mut names: BTreeMap<(String, Option<String>), usize> = BTreeMap::new();
    let mut body = String::new();
    let mut lines = shows.lines;
    lines.sort_by(|a, b| a.1.total_cmp(&b.1));
    for (content, from, to) in &lines {
        let count = names.len();
        let name = *names.entry((percent(*from), to.map(percent))).or_insert(count);
        let still = if to.is_none() { " z" } else { "" };
        // Writing to a string cannot fail.
        let _ = writeln!(body, "<g class=\"k{name}{still}\">{content}</g>");
    }
    for ((from, to), name) in &names {
        let _ = write!(
            style,
            ".k{name}{{animation-name:k{name}}}@keyframes k{name}{{0%{{visibility:hidden}}"
        );
        let _ = write!(style, "{from}{{visibility:visible}}");
        if let Some(to) = to {
            let _ = write!(style, "{to}{{visibility:hidden}}");
        }
        style.push_str("}\n");
    }
    let says = format!("A recorded session; pauses are shortened to {PAUSE} s.\n{}", shows.last);
    Ok(screen::page((recording.size.0, shows.used), title, &says, &style, &body))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = r#"{"version":2,"width":20,"height":4,"timestamp":1,"env":{}}"#;

    #[test]
    fn lines_stand_for_their_time() {
        let text =
            format!("{HEAD}\n[1.0,\"o\",\"$ \"]\n[2.0,\"o\",\"a<\"]\n[62.0,\"o\",\"\\r\\nb\"]\n");
        let shows = play(&read(&text).unwrap());
        let times: Vec<_> = shows.lines.iter().map(|line| (line.1, line.2)).collect();
        // The pause of a minute is shortened.
        assert_eq!(times, [(0.0, Some(1.0)), (1.0, None), (2.5, None)]);
        assert_eq!((shows.used, shows.last.as_str()), (2, "$ a<\nb"));
        let picture = draw(&text, "t").unwrap();
        assert!(picture.contains("@keyframes") && picture.contains("a&lt;</text>"), "{picture}");
        assert!(!picture.contains("<script"), "{picture}");
    }

    #[test]
    fn what_comes_at_once_is_one_frame() {
        let text = format!("{HEAD}\n[0.0,\"o\",\"a\"]\n[0.01,\"o\",\"b\"]\n[0.02,\"o\",\"c\"]\n");
        let shows = play(&read(&text).unwrap());
        assert_eq!(shows.lines.len(), 1);
        assert!(shows.lines[0].0.contains(">abc<"), "{}", shows.lines[0].0);
    }

    #[test]
    fn what_is_no_recording_is_refused() {
        for bad in [
            "",
            "{\"version\":1,\"width\":2,\"height\":2}",
            HEAD,
            &format!("{HEAD}\n[1.0,\"o\",\"a\"]\n[0.5,\"o\",\"b\"]"),
            &format!("{HEAD}\n[1.0,\"r\",\"10x10\"]"),
            &format!("{HEAD}\n[1.0,\"o\"]"),
        ] {
            assert!(draw(bad, "t").is_err(), "{bad}");
        }
    }
}
