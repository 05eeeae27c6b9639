//! `docs/reference/states.md`, written from the state tables of the engines.

use std::fmt::Write as _;
use wetstring_proto::states::{Diagram, Edge};
use wetstring_proto::{kermit, xymodem, zmodem};
use wetstring_protocols::FAMILIES;

const HEAD: &str = "# State tables\n
Written by `cargo xtask table --write` from the tables that the engines use (`states.rs` below `proto/src`); a test keeps the two equal.
An engine changes its state by an input alone: the first table says where each state leads, the second what each input means. Traces name both: `state from=init to=next
input=Ready`. Where a protocol's packets choose what an engine does, a third table says what each does in each state;
any other packet there is passed over, or a violation.\n
SLIP and Telnet move no files and have no such table. Of the ARPANET, the user's and the server's processes have one, the initial
connection between them, each NCP connection, and what is known of a host.
";

/// Every table: protocol, engine, table.
fn all() -> impl Iterator<Item = (&'static str, &'static str, Diagram)> {
    FAMILIES.iter().flat_map(|family| {
        family.states().iter().map(|(engine, table)| (family.title(), *engine, *table))
    })
}

/// The states on the left side of an edge, as traces name them; none where that is any.
fn origins<'a>(diagram: &'a Diagram, edge: &'a Edge) -> Vec<&'a str> {
    let names = edge.from.split(" | ").filter(|name| *name != "_");
    names.map(|name| named(diagram, name)).collect()
}

/// The name in traces of a state as the code spells it.
fn named<'a>(diagram: &'a Diagram, name: &str) -> &'a str {
    let state = diagram.states.iter().find(|state| state.0.eq_ignore_ascii_case(name));
    state.map_or("?", |state| state.0)
}

/// Where a state leads, by which input: `opened → init`.
fn leads(table: &Diagram, state: &str) -> String {
    let edges = table.edges.iter().filter(|edge| origins(table, edge).contains(&state));
    let mut by_target: Vec<(&str, Vec<&str>)> = Vec::new();
    for edge in edges {
        let to = named(table, edge.to);
        match by_target.iter_mut().find(|(target, _)| *target == to) {
            Some((_, inputs)) => inputs.push(edge.input),
            None => by_target.push((to, vec![edge.input])),
        }
    }
    let leads = by_target.iter().map(|(to, inputs)| format!("{} → `{to}`", inputs.join(", ")));
    leads.collect::<Vec<_>>().join("<br>")
}

fn diagram(page: &mut String, table: &Diagram) {
    for edge in table.edges.iter().filter(|edge| edge.from == "_") {
        let to = named(table, edge.to);
        // Writing to a string cannot fail.
        let _ = writeln!(page, "From any state, {} leads to `{to}`.\n", edge.input);
    }
    page.push_str("| state | meaning | leads, by input |\n|---|---|---|\n");
    for (name, meaning) in table.states {
        let _ = writeln!(page, "| `{name}` |{meaning} | {} |", leads(table, name));
    }
    page.push_str("\n| input | meaning |\n|---|---|\n");
    for (input, meaning) in table.inputs {
        let _ = writeln!(page, "| {input} |{meaning} |");
    }
    page.push('\n');
}

/// What packets do: rows of (state, packets, step).
fn steps(page: &mut String, what: &str, rows: impl Iterator<Item = [String; 3]>) {
    let _ = writeln!(page, "| state | {what} | step |\n|---|---|---|");
    for [state, packets, step] in rows {
        let _ = writeln!(page, "| `{}` | {packets} | {step} |", state.to_lowercase());
    }
    page.push('\n');
}

/// How a character of X/YMODEM is written.
fn word(word: u8) -> String {
    match word {
        6 => "ACK".to_owned(),
        0x15 => "NAK".to_owned(),
        other => char::from(other).to_string(),
    }
}

fn row<S: std::fmt::Debug, T: std::fmt::Debug>(
    (state, packets, step): &(S, &[u8], T),
    name: impl Fn(u8) -> String,
) -> [String; 3] {
    let packets: Vec<String> = packets.iter().map(|packet| name(*packet)).collect();
    [format!("{state:?}"), packets.join(" "), format!("{step:?}")]
}

/// What packets do in the states of this table, for the protocols that have a second one.
fn packets(page: &mut String, table: &Diagram) {
    let letter = |kind: u8| char::from(kind).to_string();
    let header = |kind: u8| zmodem::packet::kind::NAMES[usize::from(kind)].to_owned();
    if *table == kermit::states::Sending::DIAGRAM {
        let rows = kermit::states::SENDER.iter();
        let rows =
            rows.map(|(state, step)| [format!("{state:?}"), "Y".to_owned(), format!("{step:?}")]);
        steps(page, "packet", rows);
    } else if *table == kermit::states::Receiving::DIAGRAM {
        steps(page, "packet", kermit::states::RECEIVER.iter().map(|r| row(r, letter)));
    } else if *table == xymodem::states::Sending::DIAGRAM {
        steps(page, "character", xymodem::states::SENDER.iter().map(|r| row(r, word)));
    } else if *table == xymodem::states::Receiving::DIAGRAM {
        let rows = xymodem::states::RECEIVER.iter().map(|(state, place, step)| {
            [format!("{state:?}"), format!("{place:?}").to_lowercase(), format!("{step:?}")]
        });
        steps(page, "block, by its number", rows);
    } else if *table == zmodem::states::Sending::DIAGRAM {
        steps(page, "header", zmodem::states::SENDER.iter().map(|r| row(r, header)));
    } else if *table == zmodem::states::Receiving::DIAGRAM {
        steps(page, "header", zmodem::states::RECEIVER.iter().map(|r| row(r, header)));
    }
}

/// The page as it should be.
pub(crate) fn page() -> String {
    let mut page = HEAD.to_owned();
    for (protocol, engine, table) in all() {
        let _ = writeln!(page, "\n## {protocol}: {engine}\n");
        diagram(&mut page, &table);
        packets(&mut page, &table);
        page.truncate(page.trim_end().len());
        page.push('\n');
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_says_where_it_leads() {
        let (_, _, sender) = all().next().unwrap();
        assert_eq!(leads(&sender, "init"), "Ready → `next`");
        assert_eq!(leads(&sender, "next"), "File → `file`<br>NoMoreFiles → `break`");
        assert_eq!(leads(&sender, "end"), "");
    }

    /// Names in traces are what the code calls the states, so that an edge finds both its ends; no state is left
    /// out, and no input is without an edge.
    #[test]
    fn every_state_and_every_input_is_used() {
        for (protocol, engine, table) in all() {
            for edge in table.edges {
                assert!(origins(&table, edge).iter().all(|from| *from != "?"), "{edge:?}");
                assert_ne!(named(&table, edge.to), "?", "{edge:?}");
            }
            for (state, _) in table.states {
                let used = table.edges.iter().any(|edge| {
                    named(&table, edge.to) == *state || origins(&table, edge).contains(state)
                });
                assert!(used, "{protocol} {engine}: no edge touches {state}");
            }
            for (input, _) in table.inputs {
                let used = table.edges.iter().any(|edge| edge.input == *input);
                assert!(used, "{protocol} {engine}: {input} leads nowhere");
            }
        }
    }
}
