//! The table of `docs/reference/device-profiles.md`: the devices that the program knows.

use std::fmt::Write as _;

use super::{cell, code};
use crate::config::device::{BUILT_IN, Device};

/// A row for each device.
pub(super) fn table() -> String {
    let mut table = "| device | what it is | protocols | variables | tested against | sources |\n\
                     |---|---|---|---|---|---|\n"
        .to_owned();
    for (name, text) in BUILT_IN {
        let device = Device::parse(name, text).expect("a profile of the program");
        let protocols = device.method.iter().flat_map(|method| &method.protocols);
        let protocols: Vec<String> = protocols.map(|name| code(name)).collect();
        let variables = device.vars.iter().map(|(name, value)| code(&format!("{name}={value}")));
        let variables: Vec<String> = variables.collect();
        let sources = device.sources.iter().enumerate();
        let sources: Vec<String> =
            sources.map(|(index, address)| format!("[{}]({address})", index + 1)).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(
            table,
            "| `@{name}` | {} | {} | {} | {} | {} |",
            cell(&device.title),
            protocols.join(", "),
            variables.join(", "),
            cell(&device.tested),
            sources.join(" ")
        );
    }
    table
}
