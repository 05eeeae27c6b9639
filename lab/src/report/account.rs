//! One transfer as a page: what it did over time, and where the time went.

use super::budget::{TimeBudget, bars, numbers};
use super::chart::{self, Axes, Mark, Sequence, Series};
use super::document;
use crate::explain::{Account, Advice, NoAdvice, Part};
use maud::{Markup, html};

const OWN_STYLE: &str = include_str!("account.css");

/// Kinds of packets: sent for the first time, and each cause of a retransmission.
const KINDS: [&str; 6] = [
    "file data",
    "again: damaged",
    // The third colour is that of what is acknowledged.
    "",
    "again: timeout",
    "again: requested or lost",
    "again: follows a damaged packet",
];

/// The page of a transfer. `command` is what makes the account again.
pub fn account_page(
    account: &Account,
    advice: Option<&Result<Advice, NoAdvice>>,
    command: &str,
) -> String {
    let title = title(account);
    let body = html! {
        header { h1 { (title) } (words(account, advice)) }
        main { (pictures(account)) (budget(account, command)) }
        footer {
            p { "Made by the laboratory of Wetstring " (env!("CARGO_PKG_VERSION")) "." }
        }
    };
    document(&title, OWN_STYLE, &body)
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn title(account: &Account) -> String {
    let protocol = account.protocol.as_deref().unwrap_or("transfer");
    let time = seconds(account.elapsed_ns);
    format!("{protocol}: {} bytes in {time:.3} s", account.file_bytes)
}

/// The conclusions.
fn words(account: &Account, advice: Option<&Result<Advice, NoAdvice>>) -> Markup {
    let failed = account.failed();
    html! {
        dl {
            @if let Some(failed) = &failed {
                dt { "Failed" }
                dd.failed {
                    (failed.what) ": " (failed.why) "."
                    ul { @for step in &failed.steps { li { (step.sentence()) } } }
                }
            }
            @for sentence in account.acted() { dt { "Acted" } dd { (sentence) } }
            dt { "Bottleneck" }
            dd { (account.bottleneck()) }
            @if let Some(remedy) = account.remedy() { dt { "On the line" } dd { (remedy) } }
            @match advice {
                Some(Ok(advice)) => { dt { "What helps" } dd { (advice.sentence()) } },
                Some(Err(none)) => { dt { "What helps" } dd { (none) } },
                None => {},
            }
        }
    }
}

/// What the transfer did over time.
fn pictures(account: &Account) -> Markup {
    let picture = account.picture();
    if picture.packets.is_empty() {
        return html! { p { "No packet of file data is in the trace, so there is nothing to draw over time." } };
    }
    let kind = |again: Option<Part>| match again {
        None => 0,
        Some(Part::Damage) => 1,
        Some(Part::Timeout) => 3,
        Some(Part::GoBack) => 5,
        Some(_) => 4,
    };
    let mark = |packet: &crate::explain::Packet| Mark {
        at: seconds(packet.ns),
        bytes: (packet.bytes.0 as f64, packet.bytes.1 as f64),
        kind: kind(packet.again),
    };
    let marks: Vec<Mark> = picture.packets.iter().map(mark).collect();
    let point = |(ns, bytes): &(u64, u64)| (seconds(*ns), *bytes as f64);
    let known: Vec<(f64, f64)> = picture.known.iter().map(point).collect();
    let timeouts: Vec<f64> = picture.timeouts.iter().map(|ns| seconds(*ns)).collect();
    let label = "packets over time, by the bytes of the file that they carry";
    let sequence = Sequence {
        label,
        kinds: &KINDS,
        marks: &marks,
        known: (!known.is_empty()).then_some(("known to have arrived", known.as_slice())),
        timeouts: &timeouts,
        end: seconds(account.elapsed_ns),
    };
    let rate = |(ns, millicps): &(u64, u64)| (seconds(*ns), *millicps as f64 / 1000.0);
    let series = |name: &str, rates: &[(u64, u64)]| Series {
        name: name.to_owned(),
        points: rates.iter().map(rate).collect(),
    };
    let mut rates = vec![series("for the first time", &picture.rates[0])];
    if picture.packets.iter().any(|packet| packet.again.is_some()) {
        rates.push(series("again", &picture.rates[1]));
    }
    if let Some(line) = account.millicps {
        rates.push(series("what the line carries", &[(0, line), (account.elapsed_ns, line)]));
    }
    let label_of_rates = "bytes of the file per second over time";
    let axes = Axes { label: label_of_rates, x: "seconds", y: "bytes per second", ordered: false };
    html! {
        section #sequence {
            h2 { "Packets over time" }
            p { "Each packet of file data stands where its bytes are in the file: what is sent again stands lower." }
            figure { (chart::sequence(&sequence)) }
        }
        section #throughput {
            h2 { "Throughput" }
            p { "File bytes of the packets that were sent, or came, in each eightieth of the time." }
            figure { (chart::rates(&axes, &rates)) }
        }
    }
}

/// Where the time went.
fn budget(account: &Account, command: &str) -> Markup {
    let part = |part: Part| (part.title().to_owned(), account.budget.of(part));
    let budget = TimeBudget {
        group: "where the time went".to_owned(),
        name: "all of it".to_owned(),
        command: command.to_owned(),
        parts: Part::ALL.into_iter().map(part).filter(|(_, ns)| *ns > 0).collect(),
    };
    let names: Vec<String> = budget.parts.iter().map(|(name, _)| name.clone()).collect();
    html! {
        section #budget {
            h2 { "Where the time went" }
            figure { (bars("where the time went", &[&budget], &names)) }
            (numbers(&budget))
        }
    }
}
