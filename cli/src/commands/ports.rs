//! `wst ports`: the serial ports of this machine.

use std::fmt::Write as _;

use wetstring_drive::in_words;
use wetstring_drive::port::{PortInfo, ports};
use wetstring_events::{Event, Usb};

use crate::ui::exit::Exit;
use crate::ui::format::escaped;
use crate::ui::output::{Level, Output};

/// Lists them.
pub(crate) fn run(ui: &Output) -> Result<Exit, (Exit, String)> {
    let found =
        ports().map_err(|e| (Exit::Line, format!("could not list the ports: {}", in_words(&e))))?;
    for port in &found {
        if ui.has_json() {
            let usb = port.usb.as_ref().map(|usb| Usb {
                vendor_id: usb.vendor_id,
                product_id: usb.product_id,
                manufacturer: usb.manufacturer.clone(),
                product: usb.product.clone(),
                serial_number: usb.serial_number.clone(),
            });
            let (path, driver) = (port.path.to_string_lossy().into_owned(), port.driver.clone());
            ui.event(Event::Port { path, driver, usb });
        } else {
            crate::ui::output::print(&describe(port));
        }
    }
    if found.is_empty() {
        ui.say(Level::Note, "no serial ports found; wst line makes two PTYs that act as ones");
    }
    Ok(Exit::Done)
}

fn describe(port: &PortInfo) -> String {
    let mut line = port.path.display().to_string();
    // Writing to a string cannot fail.
    if let Some(driver) = &port.driver {
        let _ = write!(line, "  {driver}");
    }
    if let Some(usb) = &port.usb {
        let _ = write!(line, "  {:04x}:{:04x}", usb.vendor_id, usb.product_id);
        for text in [&usb.manufacturer, &usb.product, &usb.serial_number].into_iter().flatten() {
            let _ = write!(line, " {}", escaped(text.as_bytes()));
        }
    }
    line.push('\n');
    line
}
