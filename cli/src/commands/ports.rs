//! `wst ports`: the serial ports of this machine, and ports that appear and disappear.

use std::fmt::Write as _;
use std::time::Duration;

use wetstring_drive::event::{Interest, wait};
use wetstring_drive::in_words;
use wetstring_drive::port::{PortInfo, ports};
use wetstring_events::{Event, Usb};

use crate::transfer::opening::signals;
use crate::ui::exit::Exit;
use crate::ui::format::escaped;
use crate::ui::output::{Level, Output, print};

/// How often `--watch` looks.
const LOOK: Duration = Duration::from_millis(250);

/// Lists them; with `watch` also reports ports that appear and disappear, until a signal arrives.
pub(crate) fn run(ui: &Output, watch: bool) -> Result<Exit, (Exit, String)> {
    let mut found = listed()?;
    for port in &found {
        show(ui, port, None);
    }
    if !watch {
        if found.is_empty() {
            ui.say(Level::Note, "no serial ports found; wst line makes two PTYs that act as ones");
        }
        return Ok(Exit::Done);
    }
    let signals = signals().map_err(|ending| (ending.exit, ending.message))?;
    ui.say(Level::Note, "watching for ports; Ctrl-C ends");
    while signals.count() == 0 {
        // An interrupted wait is a short one.
        let _ = wait(&mut [Interest::read(signals.source())], Some(LOOK));
        let now = listed()?;
        for (port, came) in changes(&found, &now) {
            show(ui, port, Some(came));
        }
        found = now;
    }
    Ok(Exit::Done)
}

/// The ports of which a list has more than the other, and whether they came.
fn changes<'p>(before: &'p [PortInfo], now: &'p [PortInfo]) -> Vec<(&'p PortInfo, bool)> {
    // The same path may be another device by now.
    let same = |a: &PortInfo, b: &PortInfo| (&a.path, a.since) == (&b.path, b.since);
    let lacks = |list: &[PortInfo], port: &PortInfo| !list.iter().any(|other| same(other, port));
    let gone = before.iter().filter(|port| lacks(now, port)).map(|port| (port, false));
    let come = now.iter().filter(|port| lacks(before, port)).map(|port| (port, true));
    gone.chain(come).collect()
}

fn listed() -> Result<Vec<PortInfo>, (Exit, String)> {
    ports().map_err(|e| (Exit::Line, format!("could not list the ports: {}", in_words(&e))))
}

fn show(ui: &Output, port: &PortInfo, came: Option<bool>) {
    if !ui.has_json() {
        let sign = came.map_or("", |came| if came { "+ " } else { "- " });
        return print(&format!("{sign}{}", describe(port)));
    }
    let usb = port.usb.as_ref().map(|usb| Usb {
        vendor_id: usb.vendor_id,
        product_id: usb.product_id,
        manufacturer: usb.manufacturer.clone(),
        product: usb.product.clone(),
        serial_number: usb.serial_number.clone(),
        place: usb.place.clone(),
    });
    let (path, driver) = (port.path.to_string_lossy().into_owned(), port.driver.clone());
    ui.event(Event::Port { path, driver, usb, by_id: port.by_id.clone(), came });
}

fn describe(port: &PortInfo) -> String {
    let mut line = port.path.display().to_string();
    // Writing to a string cannot fail.
    if let Some(driver) = &port.driver {
        let _ = write!(line, "  {driver}");
    }
    if let Some(usb) = &port.usb {
        let _ = write!(line, "  {:04x}:{:04x}", usb.vendor_id, usb.product_id);
        for text in [&usb.manufacturer, &usb.product].into_iter().flatten() {
            let _ = write!(line, " {}", escaped(text.as_bytes()));
        }
        // The names by which it is found again.
        for name in [&usb.serial_number, &usb.place].into_iter().flatten() {
            let _ = write!(line, "  usb:{}", escaped(name.as_bytes()));
        }
    }
    if let Some(name) = &port.by_id {
        let _ = write!(line, "  usb:{}", escaped(name.as_bytes()));
    }
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    fn port(path: &str, since: SystemTime) -> PortInfo {
        PortInfo { path: path.into(), driver: None, usb: None, by_id: None, since: Some(since) }
    }

    #[test]
    fn a_device_that_is_plugged_in_again_went_and_came() {
        let (then, later) = (SystemTime::UNIX_EPOCH, SystemTime::now());
        let before = [port("/dev/ttyS0", then), port("/dev/ttyUSB0", then)];
        let now = [port("/dev/ttyS0", then), port("/dev/ttyUSB0", later)];
        let found: Vec<_> =
            changes(&before, &now).into_iter().map(|(p, came)| (&p.path, came)).collect();
        assert_eq!(found, [(&before[1].path, false), (&now[1].path, true)]);
        assert!(changes(&now, &now).is_empty());
    }
}
