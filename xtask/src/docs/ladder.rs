//! A time-sequence diagram: what two transfers of the same file over the same line had on it, beside each other.
//!
//! Time goes down. A packet leaves the sender's side and reaches the receiver's later by the line's delay.

use super::svg::{Anchor, Picture, WIDTH};

/// The delay of the line in each direction, in seconds; also in the command.
const DELAY: f64 = 0.25;
/// Units a second.
const SECOND: f64 = 46.0;
/// Above the diagram.
const TOP: f64 = 92.0;
/// Left and right of each ladder.
const LADDERS: [(f64, f64); 2] = [(58.0, 254.0), (304.0, 500.0)];

/// A window of this many packets, and what the diagram says of it.
pub(super) const WINDOWS: [(u32, &str); 2] = [(2, "too small"), (16, "fills the line")];

/// The command of one of the two.
pub(super) fn command(window: u32) -> Vec<String> {
    let keys = [
        "line=9600,delay=250ms".to_owned(),
        "file.bytes=2000".to_owned(),
        "both.receive-length=94".to_owned(),
        format!("both.window={window}"),
    ];
    let sets = keys.into_iter().flat_map(|key| ["--set".to_owned(), key]);
    ["lab", "run", "clean"].map(str::to_owned).into_iter().chain(sets).collect()
}

/// What a packet is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Data,
    /// Of the start and the end of the transfer.
    Other,
    Answer,
}

/// A packet on the line.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Packet {
    kind: Kind,
    from_sender: bool,
    /// When its last byte came, in seconds.
    came: f64,
    /// How long it takes on the line.
    takes: f64,
}

/// A transfer.
struct Run {
    packets: Vec<Packet>,
    /// When the outcome was fixed at both ends.
    done: f64,
    /// When the last packet came.
    end: f64,
}

/// The packets of a trace, as the ends got them.
fn read(trace: &str) -> Result<Run, String> {
    let mut rate = None;
    let (mut packets, mut end, mut done) = (Vec::new(), 0.0_f64, None);
    for line in trace.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let value = |key: &str| words.iter().find_map(|word| word.strip_prefix(key));
        let [time, who, word, kind, ..] = words[..] else { continue };
        let time: f64 = time.parse().map_err(|_| format!("expected a time, got {line}"))?;
        if let Some(millicps) = value("millicps=") {
            rate = millicps.parse().ok().map(|rate: f64| rate / 1000.0);
        }
        if word == "settled" {
            done = Some(time);
        }
        if word != "got" {
            continue;
        }
        let len = value("len=").and_then(|len| len.parse::<f64>().ok());
        let (Some(len), Some(rate)) = (len, rate) else {
            return Err(format!("expected a length, and a rate before it, got {line}"));
        };
        let kind = match kind {
            "D" => Kind::Data,
            "Y" => Kind::Answer,
            _ => Kind::Other,
        };
        packets.push(Packet { kind, from_sender: who == "B", came: time, takes: len / rate });
        end = end.max(time);
    }
    match done {
        Some(done) if !packets.is_empty() => Ok(Run { packets, done, end }),
        _ => Err("expected a trace with packets and an outcome".to_owned()),
    }
}

/// The diagram of both traces.
pub(super) fn draw(traces: &[String; 2]) -> Result<String, String> {
    let runs = [read(&traces[0])?, read(&traces[1])?];
    let longest = runs.iter().map(|run| run.end).fold(0.0, f64::max);
    let y = |time: f64| TOP + time * SECOND;
    let bottom = y(longest);
    let mut picture = Picture::new();
    for second in 0..=longest.floor() as u32 {
        let at = y(f64::from(second));
        picture.line((48.0, at), (WIDTH - 12.0, at), "grid");
        let unit = if second == 0 { " s" } else { "" };
        picture.text((42.0, at + 5.0), Anchor::End, "soft", &format!("{second}{unit}"));
    }
    for ((run, (window, word)), (left, right)) in runs.iter().zip(WINDOWS).zip(LADDERS) {
        let middle = f64::midpoint(left, right);
        picture.text((middle, 26.0), Anchor::Middle, "ink", &format!("window of {window}: {word}"));
        picture.text((left - 8.0, 78.0), Anchor::Start, "soft", "sender");
        picture.text((right + 8.0, 78.0), Anchor::End, "soft", "receiver");
        for packet in &run.packets {
            let (class, from, to) = match (packet.kind, packet.from_sender) {
                (Kind::Data, _) => ("f0", left, right),
                (Kind::Answer, false) => ("f3", right, left),
                (_, true) => ("f6", left, right),
                (_, false) => ("f6", right, left),
            };
            let came = y(packet.came);
            // What is short is seen, too.
            let thick = (packet.takes * SECOND - 0.6).max(1.0);
            let slope = DELAY * SECOND;
            let corners = [
                (from, came - slope - thick),
                (to, came - thick),
                (to, came),
                (from, came - slope),
            ];
            picture.path(&corners, class);
        }
        picture.line((left, TOP), (left, y(run.end)), "axis");
        picture.line((right, TOP), (right, y(run.end)), "axis");
        picture.text(
            (middle, y(run.end) + 22.0),
            Anchor::Middle,
            "ink",
            &format!("done after {:.1} s", run.done),
        );
    }
    let legend = bottom + 52.0;
    for (x, class, name) in
        [(48.0, "f0", "file data"), (176.0, "f3", "answers"), (300.0, "f6", "start and end")]
    {
        picture.rect((x, legend - 12.0), (14.0, 14.0), class);
        picture.text((x + 20.0, legend), Anchor::Start, "ink", name);
    }
    let says = format!(
        "Two time-sequence diagrams, time going down. With a window of {} packets the sender sends {}, and then the line is \
         empty until the answers have come back, half a second later, again and again; done after {:.1} s. With a window of {} \
         it sends packet after packet while the answers come back; done after {:.1} s.",
        WINDOWS[0].0, WINDOWS[0].0, runs[0].done, WINDOWS[1].0, runs[1].done
    );
    Ok(picture.chart(
        legend + 20.0,
        "A window that is too small, and one that fills the line",
        &says,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_where_the_ends_got_them() {
        let trace = "0.000000000 run value millicps=960000\n0.5 A sent D n=3 len=96 at=0\n\
                     0.850000000 B got D n=3 len=96 at=96 data=88\n1.200000000 A got Y n=3 len=48 at=48\n\
                     1.100000000 A settled outcome=done\n";
        let run = read(trace).unwrap();
        let data = Packet { kind: Kind::Data, from_sender: true, came: 0.85, takes: 0.1 };
        let answer = Packet { kind: Kind::Answer, from_sender: false, came: 1.2, takes: 0.05 };
        assert_eq!(run.packets, [data, answer]);
        assert!((run.end - 1.2).abs() < 1e-9 && (run.done - 1.1).abs() < 1e-9);
        assert!(read("0.0 A state from=a to=b\n").is_err());
        assert!(read("0.0 B got D n=3 len=96 at=96\n").is_err());
    }
}
