//! Where the time of transfers went, as bars: the parts that `wst explain` gives.

use super::svg::{Anchor, Picture, WIDTH};
use serde_json::Value;
use std::fmt::Write as _;

/// The transfers, as (protocol, command); they are those of the lesson.
pub(super) const PROTOCOLS: [&str; 2] = ["zmodem", "kermit"];

/// The command that runs one, and explains it as JSON.
pub(super) fn command(protocol: &str) -> Vec<String> {
    let protocol = format!("protocol={protocol}");
    let words = ["lab", "run", "wet-string", "--set", &protocol, "--set", "file.bytes=20000"];
    words.map(str::to_owned).to_vec()
}

/// A part of a transfer's time.
struct Part {
    /// Its colour.
    class: &'static str,
    title: String,
    seconds: f64,
}

/// The colour of a part: the file, what was sent again, waiting, start and end, and what else is on the line.
fn class(part: &str) -> &'static str {
    match part {
        "payload" => "f0",
        "start_up" | "closing" => "f6",
        "encoding" | "parity" | "framing" => "f5",
        again if again.starts_with("retransmission_") => "f3",
        _ => "f1",
    }
}

/// A transfer's time.
struct Budget {
    name: String,
    whole: f64,
    parts: Vec<Part>,
}

/// Reads the event `explained`.
fn read(json: &str) -> Result<Budget, String> {
    let events = json.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let event = events.into_iter().find(|event| event["event"] == "explained");
    let event = event.ok_or("expected the event explained")?;
    let part = |part: &Value| {
        let title = part["title"].as_str()?.to_owned();
        let class = class(part["part"].as_str()?);
        Some(Part { class, title, seconds: part["ns"].as_f64()? / 1e9 })
    };
    let list = event["parts"].as_array().ok_or("expected parts")?;
    let parts: Option<Vec<Part>> = list.iter().map(part).collect();
    let mut parts = parts.ok_or("expected parts with a name, a title and a time")?;
    parts.retain(|part| part.seconds > 0.0);
    let whole = event["elapsed_ns"].as_f64().ok_or("expected a time")? / 1e9;
    let name = event["protocol"].as_str().unwrap_or("transfer").to_owned();
    Ok(Budget { name, whole, parts })
}

/// Height of a row, and where its bar begins.
const ROW: f64 = 25.0;
const BARS: f64 = 264.0;
/// What stands behind the longest bar.
const VALUES: f64 = 122.0;

/// The bars of all transfers, on one scale.
pub(super) fn draw(explained: &[String]) -> Result<String, String> {
    let budgets: Result<Vec<Budget>, String> = explained.iter().map(|json| read(json)).collect();
    let budgets = budgets?;
    let longest = budgets.iter().flat_map(|budget| &budget.parts).map(|part| part.seconds);
    let scale = (WIDTH - BARS - VALUES) / longest.fold(1e-9, f64::max);
    let mut picture = Picture::new();
    let mut y = 12.0;
    let mut says = String::from("Where the time of two transfers over the same line went.");
    for budget in &budgets {
        y += 22.0;
        let head = format!("{}: {:.1} s", budget.name, budget.whole);
        picture.text((16.0, y), Anchor::Start, "ink", &head);
        // Writing to a string cannot fail.
        let _ = write!(says, " {head}:");
        y += 10.0;
        for (index, part) in budget.parts.iter().enumerate() {
            let share = part.seconds / budget.whole * 100.0;
            let wide = (part.seconds * scale).max(1.0);
            picture.text((BARS - 10.0, y + 18.0), Anchor::End, "soft", &part.title);
            picture.rect((BARS, y + 4.0), (wide, ROW - 7.0), part.class);
            let value = format!("{:.1} s, {share:.0} %", part.seconds);
            picture.text((BARS + wide + 8.0, y + 18.0), Anchor::Start, "ink", &value);
            let separator = if index + 1 == budget.parts.len() { "." } else { "," };
            let _ = write!(says, " {} {:.1} s{separator}", part.title, part.seconds);
            y += ROW;
        }
        y += 10.0;
    }
    Ok(picture.chart(y + 8.0, "Where the time of two transfers went", &says))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_those_of_the_event() {
        let json = r#"{"event":"explained","protocol":"kermit","elapsed_ns":2000000000,"parts":[{"part":"payload","title":"a","ns":1500000000},{"part":"x","title":"b","ns":0},{"part":"retransmission_loss","title":"c <","ns":500000000}]}
{"event":"end"}"#;
        let picture = draw(&[json.to_owned()]).unwrap();
        assert!(
            picture.contains(">kermit: 2.0 s<") && picture.contains(">1.5 s, 75 %<"),
            "{picture}"
        );
        assert!(picture.contains(">c &lt;<") && !picture.contains(">b<"), "{picture}");
        assert!(draw(&["{}".to_owned()]).is_err());
    }
}
