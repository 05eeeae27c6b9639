//! Which elements can be in series.
//!
//! A protocol converter and a terminal server have a computer on one side and a line on the other: nothing can
//! follow on the computer's side. A network of packets has a computer at both ends, with TCP or a program in
//! it, and stands alone.

/// Why these elements, from the sender to the receiver, cannot be in series: the one that does not fit, and the
/// reason. Invalid descriptions are not checked here.
pub(super) fn misfit(specs: &[String]) -> Option<(&str, &'static str)> {
    let last = specs.len().checked_sub(1)?;
    specs.iter().enumerate().find_map(|(index, spec)| {
        let say = match side(spec.trim())? {
            Side::Both if last > 0 => {
                "expected a network alone, its links joined with ` + `: there is a computer at both of its ends"
            }
            Side::Right if index < last => {
                "expected it as the last of the row: behind it is the computer that it belongs to"
            }
            Side::Left if index > 0 => {
                "expected it as the first of the row: before it is the computer that it belongs to"
            }
            _ => return None,
        };
        Some((spec.as_str(), say))
    })
}

/// Where an element has a computer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Side {
    Left,
    Right,
    Both,
}

fn side(spec: &str) -> Option<Side> {
    if let Some(other) = spec.strip_prefix("flip ") {
        return side(other.trim()).map(|side| match side {
            Side::Left => Side::Right,
            Side::Right => Side::Left,
            Side::Both => Side::Both,
        });
    }
    match spec.split_once(':').map(|(kind, _)| kind) {
        Some("7171" | "telnet") => Some(Side::Right),
        // Lines of the serial kind, which go anywhere.
        Some("modem" | "pep" | "interference" | "usb" | "ble" | "lora") | None => None,
        Some(_) => Some(Side::Both),
    }
}
